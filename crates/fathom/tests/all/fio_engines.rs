//! Engines of fio jobs beside the installed fio: the same job has the same keys and counts.
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The document of a program for a job with these options; `None` where it is not there.
fn report(program: &str, arguments: &[&str], folder: &Path) -> Option<Value> {
    let ours = program != "fio";
    let options = arguments
        .iter()
        .map(|option| option.trim_start_matches('-'));
    let options: Vec<&str> = options.collect();
    let text = format!("[job]\nthread\n{}\n", options.join("\n"));
    std::fs::write(folder.join("job.fio"), text).unwrap();
    let output = Command::new(program)
        .args(ours.then_some("fio"))
        .args(["--output-format=json", "job.fio"])
        .current_dir(folder)
        .output();
    let Ok(output) = output else {
        println!("skipped: `{program}` is not installed");
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{program}: {text}");
    let document = &text[text.find('{').expect("a document")..];
    Some(serde_json::from_str(document).unwrap_or_else(|e| panic!("{e}:\n{text}")))
}

/// Ours and theirs, each in a folder that `prepare` has filled.
fn both(arguments: &[&str], prepare: impl Fn(&Path)) -> Option<(Value, Value)> {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    folders.iter().for_each(|folder| prepare(folder.path()));
    let theirs = report("fio", arguments, folders[0].path())?;
    let ours = report(env!("CARGO_BIN_EXE_fathom"), arguments, folders[1].path())?;
    Some((ours, theirs))
}

fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    if let Value::Object(object) = value {
        for (key, value) in object {
            let path = format!("{path}.{key}");
            keys(value, &path, found);
            found.insert(path);
        }
    }
}

/// Asserts that the first job of both has the same keys, and the same numbers where a job fixes them.
fn compare(ours: &Value, theirs: &Value, directions: &[&str]) {
    let tree = |report: &Value| {
        let mut found = BTreeSet::new();
        keys(&report["jobs"][0], "", &mut found);
        // Which percentiles of syncs there are depends on whether there were any in time.
        found.retain(|key| !key.contains(".percentile."));
        found
    };
    let (mine, other) = (tree(ours), tree(theirs));
    let different: Vec<&String> = mine.symmetric_difference(&other).collect();
    assert!(different.is_empty(), "{different:#?}");
    let (ours, theirs) = (&ours["jobs"][0], &theirs["jobs"][0]);
    for direction in directions {
        for key in ["total_ios", "io_bytes"] {
            assert_eq!(
                ours[direction][key], theirs[direction][key],
                "{direction} {key}"
            );
        }
        for latency in ["slat_ns", "clat_ns", "lat_ns"] {
            let count = |job: &Value| job[direction][latency]["N"].as_u64();
            assert_eq!(count(ours), count(theirs), "{direction} {latency}");
        }
    }
    assert_eq!(ours["error"], theirs["error"]);
}

#[test]
fn mapped_files_are_read_and_written() {
    for (more, directions) in [
        (&["--rw=read"][..], &["read"][..]),
        (&["--rw=randwrite", "--fsync=16"], &["write", "sync"]),
        (&["--rw=write", "--direct=1", "--nrfiles=2"], &["write"]),
        (
            &["--rw=randread", "--fadvise_hint=0", "--iodepth=8"],
            &["read"],
        ),
    ] {
        let job = ["--ioengine=mmap", "--size=1m", "--bs=4k", "--filename=data"];
        let Some((ours, theirs)) = both(&[&job, more].concat(), |_| ()) else {
            return;
        };
        compare(&ours, &theirs, directions);
    }
}

/// What was mapped is in the file, and a device behind it fails without a signal.
#[test]
fn mapped_writes_are_checked_by_calls() {
    let folder = tempfile::tempdir().unwrap();
    let job = ["--size=1m", "--bs=4k", "--filename=data", "--verify=crc32c"];
    let ours = env!("CARGO_BIN_EXE_fathom");
    let written = [
        &job[..],
        &["--ioengine=mmap", "--rw=randwrite", "--do_verify=0"],
    ]
    .concat();
    report(ours, &written, folder.path()).unwrap();
    let read = [&job[..], &["--ioengine=psync", "--rw=read"]].concat();
    let report = report(ours, &read, folder.path()).unwrap();
    assert_eq!(report["jobs"][0]["read"]["total_ios"], 256);
}

#[test]
fn huge_pages_are_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args([
            "fio",
            "--name=job",
            "--ioengine=mmap",
            "--thp=1",
            "--rw=write",
        ])
        .args(["--size=64k", "--filename=data", "--verify=md5"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("cannot be mapped into memory: Invalid argument") {
        println!("skipped: this kernel has no huge pages");
        return;
    }
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("`thp`: asked of the shared mapping"),
        "{told}"
    );
}

#[test]
fn an_unknown_error_is_refused_at_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args([
            "fio",
            "--parse-only",
            "--name=job",
            "--rw=write",
            "--size=1m",
        ])
        .args(["--filename=f", "--ignore_error=EIO:ENOWHERE"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`ENOWHERE` names no error"), "{said}");
    assert!(!output.status.success());
}
