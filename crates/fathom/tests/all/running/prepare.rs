//! Files of storage definitions: made, extended, never truncated, never unlinked.
use crate::lab::{Lab, job};

const RUN: &str = "iorate=50,elapsed=2,interval=1";

/// A job that only reads, so that what a preparation left can be compared.
fn reading(size: &str) -> String {
    job(&format!("lun=disk,size={size}"), RUN).replace("rdpct=50", "rdpct=100")
}

#[test]
fn a_short_file_grows_and_keeps_what_it_holds() {
    let lab = Lab::new();
    lab.write("job", reading("2m"));
    lab.fathom(&["vdbench", "-f", "job"]).expect(0);
    let made = lab.bytes("disk");
    assert_eq!(made.len(), 2 << 20);
    assert!(made.iter().any(|byte| *byte != 0));
    lab.write("job", reading("3m"));
    lab.fathom(&["vdbench", "-f", "job"]).expect(0);
    let grown = lab.bytes("disk");
    assert_eq!(grown.len(), 3 << 20);
    assert_eq!(grown[..2 << 20], made);
    assert!(
        grown[2 << 20..]
            .chunks(4096)
            .all(|block| block.iter().any(|byte| *byte != 0))
    );

    // Longer than the job says: kept as it is.
    lab.write("job", reading("1m"));
    lab.fathom(&["vdbench", "-f", "job"]).expect(0);
    assert!(lab.bytes("disk") == grown);
}

/// Writes stay inside `size`, and the file keeps its length.
#[test]
fn a_long_file_is_written_up_to_the_size_of_the_job() {
    let lab = Lab::new();
    let mut content = vec![0; 2 << 20];
    let tail = b"somebody wrote this beyond the range of the job";
    let at = content.len() - tail.len();
    content[at..].copy_from_slice(tail);
    lab.write("disk", &content);
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=200,elapsed=2,interval=1"),
    );
    lab.fathom(&["vdbench", "-f", "job", "--overwrite", "disk"])
        .expect(0);
    let after = lab.bytes("disk");
    assert_eq!(after.len(), content.len());
    assert!(after[..1 << 20] != content[..1 << 20], "the job writes");
    assert!(after[1 << 20..] == content[1 << 20..]);
}

/// Extending writes from the last whole MiB on; what stands there is not ours.
#[test]
fn a_short_foreign_file_is_refused_and_intact() {
    let lab = Lab::new();
    lab.write("disk", "three words here\n");
    lab.write("job", reading("1m"));
    let before = lab.everything();
    let refused = lab.fathom(&["vdbench", "-f", "job"]).expect(3);
    assert!(!refused.all().contains("--overwrite"), "{refused}");
    refused.says(&["`sd1` (disk) has 17 B, but the job reads 1 MiB"]);
    assert_eq!(lab.everything(), before);
}

#[test]
fn no_file_is_made_that_does_not_fit() {
    let lab = Lab::new();
    lab.write("job", job("lun=disk,size=4000t", RUN));
    let before = lab.everything();
    for arguments in [
        ["vdbench", "-f", "job", "-o", "out"].as_slice(),
        &["run", "job", "-o", "out"],
    ] {
        let refused = lab.fathom(arguments).expect(3);
        let numbers = refused.err.matches("iB").count();
        assert!(numbers >= 2, "needed and there: {}", refused.err);
        assert_eq!(lab.everything(), before);
    }
}

#[test]
fn folders_of_a_path_are_not_made() {
    let lab = Lab::new();
    lab.write("job", job("lun=nowhere/disk,size=1m", RUN));
    let before = lab.everything();
    lab.fathom(&["run", "job", "-o", "out"])
        .expect(2)
        .says(&["nowhere/disk", "does not exist"]);
    assert_eq!(lab.everything(), before);
}

/// Every 4 KiB of a made file differs from every other.
#[test]
fn written_data_are_unique() {
    let lab = Lab::new();
    lab.write("job", reading("1m"));
    lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    let content = lab.bytes("disk");
    let blocks: std::collections::BTreeSet<&[u8]> = content.chunks(4096).collect();
    assert_eq!(blocks.len(), 256);
}
