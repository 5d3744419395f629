//! `fathom prefill`: whole, synced, guarded, and going on where it was interrupted.
use crate::guard::held::{loop_device, write};
use crate::lab::{Going, Lab, must, skip};
use crate::running::stop::OnDrop;
use std::fs::File;
use std::os::unix::fs::FileExt;

const MARK: &[u8] = b"FATHOM\x01\x00";
const MIB: usize = 1 << 20;

/// Small parts, of which many take a while.
fn words(more: &[&'static str]) -> Vec<&'static str> {
    let mut words = vec!["prefill", "disk", "--size", "192m", "--sync-every", "1m"];
    words.extend(["-o", "out", "--lint", "all=off"]);
    words.extend(more);
    words
}

/// Every 4 KiB from `low` on carries our mark.
fn assert_marked(bytes: &[u8], low: usize) {
    for (number, block) in bytes[low..].chunks(4096).enumerate() {
        assert!(block.starts_with(MARK), "block {number} from {low}");
    }
}

#[test]
fn a_file_is_written_whole_and_said_to_be() {
    let lab = Lab::new();
    // A whole number of neither transfers nor parts.
    let fill = ["prefill", "disk", "--size", "5000k", "--sync-every", "2m"];
    let ended = lab.fathom(&fill).expect(0).says(&["filled: `disk`"]);
    assert!(ended.err.contains("run 2/2 fill 2 of 2"), "{}", ended.err);
    let first = lab.bytes("disk");
    assert_eq!(first.len(), 5000 << 10);
    assert_marked(&first, 0);
    // Once more there is nothing to do, unless asked.
    lab.fathom(&fill)
        .expect(0)
        .says(&["nothing is left to write", "filled: `disk`"]);
    assert_eq!(lab.bytes("disk"), first);
    lab.fathom(&[&fill[..], &["--restart"]].concat()).expect(0);
    let second = lab.bytes("disk");
    assert_marked(&second, 0);
    assert!(first[..MIB] != second[..MIB], "written again with new data");
    // What was damaged since is noticed, and all of it is written.
    let file = File::options().write(true).open(lab.path("disk")).unwrap();
    file.write_all_at(&vec![9; 5000 << 10], 0).unwrap();
    lab.fathom(&[&fill[..], &["--overwrite", "disk"]].concat())
        .expect(0)
        .says(&["an earlier fill is not used", "holds other data"]);
    assert_marked(&lab.bytes("disk"), 0);
}

#[test]
fn foreign_files_are_guarded_and_sizes_are_demanded() {
    let lab = Lab::new();
    let words = "somebody's words\n".repeat(1 << 17);
    lab.write("disk", [words.as_bytes(), &[0; 9]].concat());
    lab.write("data", [7, 0, 7, 7]);
    let before = lab.everything();
    lab.fathom(&["prefill", "disk", "--size", "1m"])
        .expect(3)
        .says(&["--overwrite"]);
    lab.fathom(&["prefill", "data"])
        .expect(2)
        .says(&["`data` is not a job file", "add its `--size`"]);
    lab.fathom(&["prefill", "other", "--size", "lots"])
        .expect(2)
        .says(&["`--size lots` is not a size"]);
    lab.fathom(&["prefill", "a", "b", "--size", "1m"])
        .expect(2)
        .says(&["`--size` is for one target"]);
    lab.fathom(&["prefill", "a", "--buffered"])
        .expect(2)
        .says(&["`--buffered` is for one target"]);
    // A name of a device that was mistyped is no file to be made.
    let mistyped = "/dev/fathom-none";
    for verb in ["prefill", "curve"] {
        lab.fathom(&[verb, mistyped, "--size", "1m"]).expect(2);
        assert!(!std::path::Path::new(mistyped).exists());
    }
    assert_eq!(lab.everything(), before);
}

/// Waits until some parts are over, and returns how many runs are done at least.
fn some_parts(going: &mut Going) {
    going.hear_until(|line| line.starts_with("run 9/192"));
}

#[test]
fn a_killed_fill_goes_on_behind_what_is_there() {
    let lab = Lab::new();
    let mut going = lab.start(&words(&[]));
    some_parts(&mut going);
    going.signal("KILL");
    going.end();
    let before = lab.bytes("disk");
    assert!(before.len() >= 8 * MIB && before.len() < 192 * MIB);
    let ended = lab.fathom(&words(&[])).expect(0);
    let kept = ended.err.lines().find_map(|line| {
        let rest = line.strip_prefix("going on after ")?;
        rest.split(" MiB").next()?.parse::<usize>().ok()
    });
    let kept = kept.unwrap_or_else(|| panic!("{}", ended.err));
    // One part may have been finished and not yet recorded.
    assert!(kept >= 7, "{kept} MiB");
    let after = lab.bytes("disk");
    assert_eq!(after.len(), 192 * MIB);
    assert_marked(&after, 0);
    assert!(before[..kept * MIB] == after[..kept * MIB], "written twice");
    assert!(!ended.err.contains("run 1/192 "), "{}", ended.err);
}

#[test]
fn an_interrupted_fill_is_not_believed_where_its_data_are_gone() {
    let lab = Lab::new();
    let mut going = lab.start(&words(&[]));
    some_parts(&mut going);
    going.signal("INT");
    going
        .end()
        .expect(4)
        .says(&["the same command goes on after the last part"]);
    let before = lab.bytes("disk");
    // As if the file system had lost a part of it.
    let file = File::create(lab.path("disk")).unwrap();
    file.write_all_at(&before[..3 * MIB], 0).unwrap();
    file.write_all_at(&before[4 * MIB..], 4 * MIB as u64)
        .unwrap();
    file.sync_all().unwrap();
    let ended = lab.fathom(&words(&[])).expect(0);
    let told = ended.err.lines().any(|line| {
        line.starts_with("note: an earlier fill is not used")
            && (line.contains("were not written, the first at byte 3145728")
                || line.contains("nothing but zeros"))
    });
    assert!(told, "{}", ended.err);
    assert_marked(&lab.bytes("disk"), 0);
}

#[test]
fn all_storage_of_a_job_is_filled() {
    let lab = Lab::new();
    lab.write(
        "job",
        "sd=sd1,lun=one,size=3m\nsd=sd2,lun=two,size=100k\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n",
    );
    lab.fathom(&["prefill", "job", "--lint", "all=off"])
        .expect(0)
        .says(&["filled: `sd1` (one): 3 MiB", "filled: `sd2` (two): 100 KiB"]);
    assert_eq!(lab.bytes("one").len(), 3 * MIB);
    assert_eq!(lab.bytes("two").len(), 100 << 10);
    assert_marked(&lab.bytes("one"), 0);
    assert_marked(&lab.bytes("two"), 0);
}

#[test]
fn a_device_is_filled_behind_its_first_block() {
    let lab = Lab::new();
    let device = match loop_device(&lab, "image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &device])));
    let fill = ["prefill", &device, "--sync-every", "4m"];
    lab.fathom(&fill)
        .expect(0)
        .says(&["a device has no map of extents; all of"]);
    let image = lab.bytes("image");
    assert_eq!(image.len(), 16 * MIB);
    assert!(image[..4096].iter().all(|byte| *byte == 0));
    assert_marked(&image, 4096);
    lab.fathom(&fill)
        .expect(0)
        .says(&["nothing is left to write"]);
    // A file system on it is somebody's.
    must("mkfs.ext4", &["-q", "-F", &device]);
    lab.fathom(&[&fill[..], &["--restart"]].concat()).expect(3);
}

/// Fills a named device, on which it makes something first, and runs on it without the name.
fn assert_named_device_is_ours_afterwards(bytes: u64, make: impl Fn(&str)) {
    let lab = Lab::new();
    let device = match loop_device(&lab, "image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &device])));
    let image = File::options().write(true).open(lab.path("image")).unwrap();
    image.set_len(bytes).unwrap();
    must("losetup", &["-c", &device]);
    make(&device);
    let before = lab.bytes("image");
    let fill = ["prefill", &device, "--sync-every", "4m", "-o", "filled"];
    lab.fathom(&fill).expect(3);
    assert!(lab.bytes("image") == before, "a refusal writes nothing");
    lab.fathom(&[&fill[..], &["--overwrite", &device]].concat())
        .expect(0)
        .says(&[&format!("filled: `{device}`")]);
    assert_marked(&lab.bytes("image"), 0);
    write(&lab, &device, &[]).expect(0);
}

#[test]
fn a_named_device_is_filled_from_its_first_byte() {
    assert_named_device_is_ours_afterwards(16 << 20, |device| {
        must("mkfs.ext4", &["-q", "-F", device]);
    });
}

#[test]
fn a_named_device_with_partitions_is_filled_to_its_last_sector() {
    // A table of partitions at both ends, the second one in the last 512 bytes.
    assert_named_device_is_ours_afterwards((16 << 20) + 512, |device| {
        let file = File::options().write(true).open(device).unwrap();
        for at in [512, 16 << 20] {
            file.write_all_at(b"EFI PART\0\0\x01\0\x5c\0\0\0", at)
                .unwrap();
        }
        file.write_all_at(&[0x55, 0xaa], 510).unwrap();
        file.sync_all().unwrap();
    });
}

/// Naming one device of a job says nothing of the others.
#[test]
fn the_first_block_of_a_device_that_is_not_named_is_spared() {
    let lab = Lab::new();
    let (one, two) = match (loop_device(&lab, "one"), loop_device(&lab, "two")) {
        (Ok(one), Ok(two)) => (one, two),
        (Err(reason), _) | (_, Err(reason)) => return skip(reason),
    };
    let _detach = OnDrop(|| {
        must("losetup", &["-d", &one]);
        must("losetup", &["-d", &two]);
    });
    must("mkfs.ext4", &["-q", "-F", &one]);
    lab.write(
        "job",
        format!(
            "sd=default,openflags=o_direct\nsd=sd1,lun={one}\nsd=sd2,lun={two}\nwd=wd1,sd=sd*\n\
             rd=r,wd=wd1,iorate=max\n"
        ),
    );
    // By another path to it.
    std::os::unix::fs::symlink(&one, lab.path("link")).unwrap();
    let link = lab.path("link").display().to_string();
    let fill = ["prefill", "job", "--lint", "all=off", "--overwrite"];
    lab.fathom(&[&fill[..], &[&two]].concat()).expect(3);
    assert!(lab.bytes("two").iter().all(|byte| *byte == 0));
    lab.fathom(&[&fill[..], &[&link]].concat()).expect(0);
    assert_marked(&lab.bytes("one"), 0);
    let two = lab.bytes("two");
    assert!(two[..4096].iter().all(|byte| *byte == 0));
    assert_marked(&two, 4096);
}

/// A write run to the end of its storage was meant to fill it.
#[test]
fn a_write_run_up_to_the_end_is_looked_at() {
    let lab = Lab::new();
    let job = |elapsed: &str, rate: &str| {
        format!(
            "formatsds=no\nsd=sd1,lun=disk,size=8m,threads=2\n\
             wd=wd1,sd=sd1,xfersize=64k,rdpct=0,seekpct=eof\n\
             rd=rd1,wd=wd1,iorate={rate},elapsed={elapsed},interval=1\n"
        )
    };
    lab.write("disk", b"");
    lab.write("job", job("100", "max"));
    let common = ["run", "job", "--lint", "all=off", "--overwrite", "disk"];
    lab.fathom(&common[..4])
        .expect(0)
        .says(&["filled: `sd1` (disk): 8 MiB, synced"]);
    assert_marked(&lab.bytes("disk"), 0);
    // Ended by time, it is not filled, and that is said.
    std::fs::remove_file(lab.path("disk")).unwrap();
    lab.write("job", job("2", "10"));
    lab.fathom(&common[..4])
        .expect(0)
        .says(&["warning: `sd1` (disk) is not filled"]);
}
