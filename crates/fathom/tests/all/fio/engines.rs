//! Engines of fio jobs beside the installed fio: the same job has the same keys and counts.
use crate::lab::{Ended, FATHOM, Lab, skip, try_ended};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

const WORDS: [&str; 2] = ["--output-format=json", "job.fio"];

/// A file for a job of these options.
fn put(lab: &Lab, arguments: &[&str]) {
    let options = arguments
        .iter()
        .map(|option| option.trim_start_matches('-'));
    let options: Vec<&str> = options.collect();
    lab.write(
        "job.fio",
        format!("[job]\nthread\n{}\n", options.join("\n")),
    );
}

/// What becomes of a job with these options, which may fail.
fn done(lab: &Lab, arguments: &[&str]) -> Ended {
    put(lab, arguments);
    lab.fio(WORDS)
}

/// The same by the installed fio; `None` where it is not there.
fn reference(lab: &Lab, arguments: &[&str]) -> Option<Ended> {
    put(lab, arguments);
    lab.reference_fio(WORDS)
}

/// The document of a job that succeeds.
fn report(lab: &Lab, arguments: &[&str]) -> Value {
    done(lab, arguments).expect(0).json()
}

/// Ours and theirs, each in a lab that `prepare` has filled.
fn both(arguments: &[&str], prepare: impl Fn(&Lab)) -> Option<(Value, Value)> {
    let labs = [Lab::new(), Lab::new()];
    labs.iter().for_each(prepare);
    let theirs = reference(&labs[0], arguments)?.expect(0).json();
    Some((report(&labs[1], arguments), theirs))
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
    let lab = Lab::new();
    let job = ["--size=1m", "--bs=4k", "--filename=data", "--verify=crc32c"];
    let written = [
        &job[..],
        &["--ioengine=mmap", "--rw=randwrite", "--do_verify=0"],
    ]
    .concat();
    report(&lab, &written);
    let read = [&job[..], &["--ioengine=psync", "--rw=read"]].concat();
    let report = report(&lab, &read);
    assert_eq!(report["jobs"][0]["read"]["total_ios"], 256);
}

#[test]
fn huge_pages_are_a_note() {
    let lab = Lab::new();
    let fio = |first: &[&str]| {
        let job = ["--name=job", "--ioengine=mmap", "--thp=1", "--rw=write"];
        let file = ["--size=64k", "--filename=data", "--verify=md5"];
        lab.fio([first, &job, &file].concat())
    };
    let output = fio(&[]);
    if output
        .err
        .contains("cannot be mapped into memory: Invalid argument")
    {
        return skip("this kernel has no huge pages");
    }
    assert_eq!(output.expect(0).err, "");
    fio(&["--parse-only"]).says(&["`thp`: asked of the shared mapping"]);
}

#[test]
fn an_unknown_error_is_refused_at_its_place() {
    let lab = Lab::new();
    let job = ["--name=job", "--rw=write", "--size=1m", "--filename=f"];
    let wrong = ["--parse-only", "--ignore_error=EIO:ENOWHERE"];
    lab.fio(job.iter().chain(&wrong))
        .expect_failure()
        .says(&["no error by the name `ENOWHERE`"]);
}

/// As [`compare`], for engines without I/O of their own: theirs adds nothing to `lat_ns`.
fn compare_calls(ours: &Value, theirs: &Value, direction: &str) {
    let (ours, theirs) = (&ours["jobs"][0], &theirs["jobs"][0]);
    for key in ["total_ios", "io_bytes"] {
        assert_eq!(ours[direction][key], theirs[direction][key], "{key}");
    }
    let count = |job: &Value| job[direction]["clat_ns"]["N"].as_u64();
    assert_eq!(count(ours), count(theirs));
    assert_eq!(ours["error"], theirs["error"]);
}

fn files_in(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let names = lab.names(".").into_iter();
    names
        .filter(|name| name.starts_with("job.") && name != "job.fio")
        .map(|name| (name.clone(), lab.bytes(&name)))
        .collect()
}

#[test]
fn files_are_looked_at() {
    for (more, direction) in [
        (&["--rw=read"][..], "read"),
        (&["--rw=randwrite", "--stat_type=lstat"], "write"),
        (&["--loops=5", "--stat_type=statx", "--openfiles=1"], "read"),
        (&["--number_ios=7"], "read"),
    ] {
        let job = ["--ioengine=filestat", "--nrfiles=10", "--filesize=4k"];
        let Some((ours, theirs)) = both(&[&job, more].concat(), |_| ()) else {
            return;
        };
        compare_calls(&ours, &theirs, direction);
    }
}

/// A file is one call, whatever its size; what is missing is made first.
#[test]
fn large_files_are_looked_at_once() {
    let lab = Lab::new();
    let job = ["--ioengine=filestat", "--nrfiles=3", "--filesize=64k"];
    let report = report(&lab, &job);
    assert_eq!(report["jobs"][0]["read"]["total_ios"], 3);
    let sizes: Vec<usize> = files_in(&lab).iter().map(|(_, data)| data.len()).collect();
    assert_eq!(sizes, [65536; 3]);
}

#[test]
fn files_are_made_and_what_is_there_is_kept() {
    for more in [
        &["--openfiles=1"][..],
        &["--rw=write", "--loops=3"],
        &["--create_on_open=1", "--fallocate=none", "--filesize=64k"],
    ] {
        let job = ["--ioengine=filecreate", "--nrfiles=10", "--filesize=4k"];
        let lab = Lab::new();
        lab.write("job.0.3", "of others");
        let job = [&job, more].concat();
        report(&lab, &job);
        let files = files_in(&lab);
        assert_eq!(files.len(), 10, "{files:?}");
        for (name, data) in &files {
            let expected: &[u8] = match name.as_str() {
                "job.0.3" => b"of others",
                _ => b"",
            };
            assert_eq!(data, expected, "{name}");
        }
    }
}

#[test]
fn making_files_counts_as_in_fio() {
    for (more, direction) in [
        (&["--openfiles=1"][..], "read"),
        (&["--rw=write", "--loops=3"], "write"),
    ] {
        let job = ["--ioengine=filecreate", "--nrfiles=10", "--filesize=4k"];
        let Some((ours, theirs)) = both(&[&job, more].concat(), |_| ()) else {
            return;
        };
        compare_calls(&ours, &theirs, direction);
    }
}

#[test]
fn files_that_were_laid_out_are_removed() {
    for (more, direction) in [
        (&["--rw=read"][..], "read"),
        (&["--rw=write", "--unlink=0"], "write"),
    ] {
        let job = ["--ioengine=filedelete", "--nrfiles=10", "--filesize=4k"];
        let Some((ours, theirs)) = both(&[&job, more].concat(), |_| ()) else {
            return;
        };
        compare_calls(&ours, &theirs, direction);
        let lab = Lab::new();
        let job = [&job, more].concat();
        report(&lab, &job);
        assert_eq!(files_in(&lab), []);
    }
}

/// Whatever its length is, and whatever the other files are.
#[test]
fn files_of_others_are_not_removed() {
    let job = ["--nrfiles=10", "--filesize=4k"];
    for content in [&b"of others"[..], &[7; 8192], b""] {
        let lab = Lab::new();
        lab.write("job.0.3", content);
        lab.fio(["--name=job", "--ioengine=filedelete"].iter().chain(&job))
            .expect(2)
            .says(&["bind-0009", "`job.0.3` was there before"]);
        assert_eq!(files_in(&lab), [("job.0.3".to_owned(), content.to_vec())]);
    }
}

/// The files of a folder by name, each with its length and the bytes that its data take. What else a file takes is up to
/// the file system: ext4 needs a block more where the data lie in more than four pieces.
fn spaces_in(lab: &Lab) -> Vec<(String, u64, u64)> {
    const BEYOND: u64 = 1 << 30;
    let spaces = files_in(lab).into_iter().map(|(name, _)| {
        let file = std::fs::File::open(lab.path(&name)).unwrap();
        let found = file.metadata().unwrap();
        let bytes = match sys::file::coverage(&file, BEYOND) {
            Ok(coverage) => BEYOND - coverage.hole_bytes,
            // No map is told here.
            Err(_) => found.blocks() * 512,
        };
        (name, found.len(), bytes)
    });
    spaces.collect()
}

/// Asserts that both programs do the same I/Os and leave the same files; false where theirs is not there.
fn leaves_the_same(arguments: &[&str], directions: &[&str]) -> bool {
    let labs = [Lab::new(), Lab::new()];
    let Some(theirs) = reference(&labs[0], arguments) else {
        return false;
    };
    let ours = report(&labs[1], arguments);
    compare(&ours, &theirs.expect(0).json(), directions);
    let [theirs, ours] = labs.each_ref().map(spaces_in);
    assert!(!ours.is_empty());
    assert_eq!(ours, theirs, "{arguments:?}");
    true
}

#[test]
fn space_is_given_and_taken_as_in_fio() {
    for (more, directions) in [
        (&["--rw=read"][..], &["read"][..]),
        (&["--rw=write"], &["write"]),
        (&["--rw=randwrite", "--loops=2"], &["write"]),
        (
            &["--rw=write", "--fallocate=none", "--nrfiles=2"],
            &["write"],
        ),
        (
            &["--rw=write", "--fallocate=none", "--io_size=16k"],
            &["write"],
        ),
        (&["--rw=trim"], &["trim"]),
        (&["--rw=trim", "--io_size=32k"], &["trim"]),
        (&["--rw=randtrim"], &["trim"]),
    ] {
        let job = ["--ioengine=falloc", "--size=64k", "--bs=4k"];
        if !leaves_the_same(&[&job, more].concat(), directions) {
            return;
        }
    }
}

#[test]
fn lengths_are_set_as_in_fio() {
    for more in [
        &["--rw=write"][..],
        &["--rw=write", "--loops=2"],
        &["--rw=write", "--offset=16k"],
        &["--rw=write", "--io_size=16k", "--direct=1"],
        &["--rw=write", "--overwrite=1"],
        &["--rw=write", "--create_on_open=1"],
        &["--rw=write", "--nrfiles=4"],
    ] {
        let job = ["--ioengine=ftruncate", "--size=64k", "--bs=4k"];
        if !leaves_the_same(&[&job, more].concat(), &["write"]) {
            return;
        }
    }
}

/// Files that one group has laid out may be cut by the next.
#[test]
fn what_an_earlier_group_has_made_is_cut() {
    let lab = Lab::new();
    let text = "[global]\nfilename=job.data\nsize=64k\nbs=4k\n[makes]\nrw=write\n\
                [cuts]\nstonewall\nioengine=ftruncate\nrw=write\nio_size=16k\n";
    lab.write("job.fio", text);
    lab.fio(["job.fio"]).expect(0);
    assert_eq!(lab.length("job.data"), 12 << 10);
}

/// What a job says that is to harm a file of somebody else, and how it ends; the file stays as it is.
fn harms_nothing(arguments: &[&str]) -> Ended {
    let lab = Lab::new();
    let content: Vec<u8> = (0..256 << 10).map(|at| (at % 251) as u8 | 1).collect();
    lab.write("job.0.0", &content);
    let ended = lab.fio([&["--name=job", "--size=256k"], arguments].concat());
    let kept = files_in(&lab);
    assert!(kept == [("job.0.0".to_owned(), content)], "{ended}");
    ended
}

#[test]
fn files_of_others_keep_their_length_and_their_space() {
    for more in [&["--rw=write"][..], &["--rw=randwrite", "--overwrite=1"]] {
        harms_nothing(&[&["--ioengine=ftruncate"], more].concat())
            .expect(2)
            .says(&["bind-0009", "cuts files, and `job.0.0` was there"]);
    }
    // No word makes it ours.
    let named = [
        "--ioengine=ftruncate",
        "--rw=write",
        "--overwrite",
        "job.0.0",
    ];
    harms_nothing(&named).expect(2);
    for rw in ["--rw=trim", "--rw=write", "--rw=read"] {
        harms_nothing(&["--ioengine=falloc", rw]).expect(3);
    }
}

#[test]
fn what_calls_on_space_cannot_do_is_refused() {
    for (more, said) in [
        (
            &["--ioengine=ftruncate", "--rw=rw"][..],
            "`ioengine=ftruncate` does nothing but write",
        ),
        (
            &["--ioengine=ftruncate", "--rw=randtrim"],
            "does nothing but write",
        ),
        (
            &["--ioengine=falloc", "--rw=write", "--verify=md5"],
            "`verify` and `ioengine=falloc`",
        ),
        (
            &["--ioengine=falloc", "--rw=trim", "--filename=/dev/null1"],
            "and not on devices",
        ),
    ] {
        harms_nothing(more).expect(2).says(&[said]);
    }
}

const CACHED: &[&str] = &["--filename=data", "--size=256k", "--bs=4k", "--rw=randread"];

fn with_data(lab: &Lab) {
    lab.write("data", vec![1; 256 << 10]);
    let file = std::fs::File::open(lab.path("data")).unwrap();
    file.sync_all().unwrap();
}

/// What a job of cached reads comes to in both, ours first; `None` where theirs is not there.
fn both_of_cached(arguments: &[&str]) -> Option<(Value, Value)> {
    let labs = [Lab::new(), Lab::new()];
    labs.iter().for_each(with_data);
    let arguments = [CACHED, arguments].concat();
    let theirs = reference(&labs[0], &arguments)?.json();
    let ours = done(&labs[1], &arguments).json();
    Some((ours["jobs"][0].clone(), theirs["jobs"][0].clone()))
}

/// A job that ends with the same error in both; `None` where theirs is not there.
fn fails_alike(arguments: &[&str]) -> Option<(Value, Value)> {
    let (ours, theirs) = both_of_cached(arguments)?;
    assert_eq!(ours["error"], theirs["error"], "{arguments:?}");
    Some((ours, theirs))
}

/// A read that would wait still brings its block closer, and finds it there where the machine is held up between the
/// two: how many fail, and whether any does, is luck in both. One try in which they fail is asked for.
#[test]
fn what_would_wait_fails_as_in_fio() {
    for engine in ["pvsync2", "io_uring", "libaio"] {
        let engine = format!("--ioengine={engine}");
        let job = [engine.as_str(), "--nowait=1", "--ignore_error=EAGAIN"];
        let (mut ours_failed, mut theirs_failed) = (false, false);
        for _ in 0..20 {
            let Some((ours, theirs)) = both_of_cached(&job) else {
                return;
            };
            for (job, seen) in [(&ours, &mut ours_failed), (&theirs, &mut theirs_failed)] {
                let failed = job["total_err"].as_u64().unwrap();
                assert_eq!(job["error"], if failed > 0 { 11 } else { 0 }, "{engine}");
                *seen |= failed > 0;
            }
            if ours_failed && theirs_failed {
                break;
            }
        }
        if !theirs_failed {
            return skip("nothing waits on this file system");
        }
        assert!(ours_failed, "{engine}");
        let (ours, _) = fails_alike(&[engine.as_str(), "--nowait=0"]).unwrap();
        assert_eq!(ours["error"], 0);
    }
}

/// A device without a queue that is polled says so, as it does to fio.
#[test]
fn polling_fails_or_works_as_in_fio() {
    for more in [
        &["--ioengine=io_uring", "--hipri", "--direct=1"][..],
        &["--ioengine=io_uring", "--hipri"],
        &["--ioengine=pvsync2", "--hipri", "--direct=1"],
        &[
            "--ioengine=pvsync2",
            "--hipri",
            "--hipri_percentage=50",
            "--direct=1",
        ],
    ] {
        if fails_alike(more).is_none() {
            return;
        }
    }
}

#[test]
fn threads_of_the_kernel_take_requests_as_in_fio() {
    for more in [
        &["--sqthread_poll", "--iodepth=4"][..],
        &["--sqthread_poll", "--sqthread_poll_cpu=0", "--direct=1"],
        &["--force_async=2", "--iodepth=4"],
    ] {
        let job = [CACHED, &["--ioengine=io_uring"], more].concat();
        let Some((ours, theirs)) = both(&job, with_data) else {
            return;
        };
        compare(&ours, &theirs, &["read"]);
    }
    let lab = Lab::new();
    with_data(&lab);
    let poll = ["--name=job", "--ioengine=io_uring", "--sqthread_poll"];
    lab.fio([&poll[..], &["--sqthread_poll_cpu=4000"], CACHED].concat())
        .expect(2)
        .says(&["this host has no CPU 4000"]);
}

/// What was read is gone from the page cache, so that reading it without waiting fails.
#[test]
fn what_is_uncached_leaves_the_page_cache() {
    let failures_behind = |more: &[&str]| {
        let lab = Lab::new();
        with_data(&lab);
        let read = [CACHED, more].concat();
        let first = done(&lab, &read).json();
        let look = ["--ioengine=pvsync2", "--invalidate=0", "--nowait=1"];
        let look = [CACHED, &look, &["--ignore_error=EAGAIN"]].concat();
        let second = done(&lab, &look).json();
        let number = |document: &Value, key: &str| document["jobs"][0][key].as_u64();
        (number(&first, "error"), number(&second, "total_err"))
    };
    for engine in ["--ioengine=pvsync2", "--ioengine=io_uring"] {
        let (error, uncached) = failures_behind(&[engine, "--uncached=1"]);
        if error == Some(95) {
            return skip("not on this kernel or file system");
        }
        let (_, cached) = failures_behind(&[engine]);
        // A page that the kernel has taken back in between is read from the device in either case.
        assert_eq!(error, Some(0), "{engine}");
        assert!(
            cached.is_some_and(|failed| failed < 8),
            "{engine} {cached:?}"
        );
        assert!(
            uncached.is_some_and(|failed| failed > 32),
            "{engine} {uncached:?}"
        );
    }
}

#[test]
fn a_backend_that_cannot_do_what_is_asked_says_so() {
    let lab = Lab::new();
    with_data(&lab);
    let asked = ["--backend", "sync", "--name=job", "--ioengine=io_uring"];
    lab.fio([&asked[..], &["--force_async=2"], CACHED].concat())
        .expect_failure()
        .says(&["the backend `sync` cannot leave requests to threads of the kernel"]);
}

/// Class and level of each priority that was told of a direction, and all of their I/Os.
fn priorities(job: &Value, direction: &str) -> (Vec<(u64, u64)>, u64) {
    let told = job[direction]["prios"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let number = |one: &Value, key: &str| one[key].as_u64().unwrap();
    let names = told
        .iter()
        .map(|one| (number(one, "prioclass"), number(one, "prio")));
    let count = told.iter().map(|one| number(&one["clat_ns"], "N")).sum();
    (names.collect(), count)
}

#[test]
fn priorities_are_told_of_the_whole_latency_where_its_percentiles_are_asked_for() {
    let lab = Lab::new();
    let job = [
        "--filename=data",
        "--size=1m",
        "--bs=4k",
        "--rw=randread",
        "--ioengine=libaio",
        "--cmdprio_percentage=50",
        "--cmdprio_class=2",
        "--cmdprio=3",
        "--lat_percentiles=1",
        "--clat_percentiles=1",
    ];
    let document = done(&lab, &job).json();
    let read = &document["jobs"][0]["read"];
    let told = read["prios"].as_array().unwrap();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|one| one.get("clat_ns").is_none()));
    let of = |key: &str| -> Vec<f64> {
        let values = told.iter().map(|one| one["lat_ns"][key].as_f64());
        values.map(|value| value.unwrap()).collect()
    };
    let whole = |key: &str| read["lat_ns"][key].as_f64().unwrap();
    assert_eq!(of("N").iter().sum::<f64>(), whole("N"));
    assert_eq!(of("min").into_iter().fold(f64::MAX, f64::min), whole("min"));
    assert_eq!(of("max").into_iter().fold(0.0, f64::max), whole("max"));
}

#[test]
fn single_transfers_have_priorities_as_in_fio() {
    for more in [
        &["--rw=randread", "--cmdprio_percentage=50"][..],
        &[
            "--rw=randrw",
            "--cmdprio_percentage=30,60",
            "--cmdprio_class=2,3",
            "--cmdprio=3,1",
        ],
        &[
            "--rw=randrw",
            "--cmdprio_percentage=100",
            "--cmdprio_class=2",
            "--cmdprio=3",
        ],
        &["--rw=randrw", "--cmdprio_bssplit=4k/30/2/3:4k/30/3/0"],
        &[
            "--rw=randread",
            "--cmdprio_bssplit=8k/70,4k/50",
            "--cmdprio_class=2",
        ],
        &[
            "--rw=randread",
            "--prioclass=2",
            "--prio=4",
            "--cmdprio_percentage=50",
        ],
        &["--rw=randread", "--cmdprio=4", "--cmdprio_class=2"],
    ] {
        for engine in ["--ioengine=libaio", "--ioengine=io_uring"] {
            let job = [
                "--filename=data",
                "--size=1m",
                "--bs=4k",
                "--direct=1",
                engine,
            ];
            let job = [&job[..], &["--iodepth=4", "--randseed=7"], more].concat();
            let Some((ours, theirs)) = both(&job, |_| ()) else {
                return;
            };
            for direction in ["read", "write"] {
                let (ours, theirs) = (&ours["jobs"][0], &theirs["jobs"][0]);
                let (mine, count) = priorities(ours, direction);
                assert_eq!(mine, priorities(theirs, direction).0, "{job:?} {direction}");
                if !mine.is_empty() {
                    assert_eq!(Some(count), ours[direction]["total_ios"].as_u64());
                }
            }
        }
    }
}

/// A file system on a file, mounted at `mounted` as long as it lives.
struct Mounted {
    lab: Lab,
}

impl Mounted {
    fn new(make: &[&str]) -> Option<Self> {
        let lab = Lab::new();
        let image = std::fs::File::create(lab.path("image")).unwrap();
        image.set_len(400 << 20).unwrap();
        std::fs::create_dir(lab.path("mounted")).unwrap();
        let works = |program: &str, arguments: &[&str]| {
            let mut command = lab.command(program);
            try_ended(command.args(arguments)).is_ok_and(|done| done.code == Some(0))
        };
        if !works(make[0], &[&make[1..], &["image"]].concat())
            || !works("mount", &["-o", "loop", "image", "mounted"])
        {
            skip(&format!("no file system can be made here by {}", make[0]));
            return None;
        }
        Some(Self { lab })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = self.lab.command("umount").arg("mounted").status();
    }
}

#[test]
fn atomic_writes_are_refused_where_there_are_none() {
    let lab = Lab::in_memory();
    for engine in ["psync", "io_uring", "libaio"] {
        let engine = format!("--ioengine={engine}");
        let job = ["--filename=data", "--size=1m", "--rw=write", "--atomic=1"];
        let output = lab.fio([&["--name=job", &engine][..], &job].concat());
        let output = output.expect_failure();
        let direct = output.err.contains("direct I/O");
        let none = output.err.contains("has no atomic writes");
        assert!(direct || none, "{output}");
    }
}

/// What is asked of a file system that has them reaches it: what it takes works, and an offset that it does
/// not take is a failed I/O, as it is of no other write.
#[test]
fn atomic_writes_are_sent_as_such() {
    let Some(mounted) = Mounted::new(&["mkfs.xfs", "-q"]) else {
        return;
    };
    let lab = &mounted.lab;
    let file = std::fs::File::create(lab.path("mounted/probe")).unwrap();
    let Some(limits) = sys::file::whole_writes(&file).unwrap() else {
        return skip("XFS of this kernel has no atomic writes without a device that has them");
    };
    drop(file);
    assert!(limits.min <= 4096 && limits.max >= 8192, "{limits:?}");
    let run = |more: &[&str]| {
        let job = [
            "--filename=mounted/data",
            "--size=1m",
            "--rw=randrw",
            "--overwrite=1",
        ];
        let job = [&job[..], &["--bs=8k", "--atomic=1"], more].concat();
        let document = done(lab, &job).json();
        document["jobs"][0].clone()
    };
    for engine in [
        "--ioengine=psync",
        "--ioengine=pvsync2",
        "--ioengine=io_uring",
        "--ioengine=libaio",
    ] {
        let job = run(&[engine]);
        assert_eq!(job["error"], 0, "{engine}");
        let counts = ["read", "write"].map(|of| job[of]["total_ios"].as_u64().unwrap());
        assert_eq!(counts.iter().sum::<u64>(), 128, "{engine}");
        // Half a transfer further, which only an atomic write minds.
        let job = run(&[
            engine,
            "--offset=4k",
            "--size=512k",
            "--ignore_error=,EINVAL",
        ]);
        assert_eq!(job["write"]["total_ios"], 0, "{engine}");
        assert!(job["total_err"].as_u64().unwrap() > 8, "{engine}");
        assert!(job["read"]["total_ios"].as_u64().unwrap() > 8, "{engine}");
    }
    let job = ["--name=job", "--filename=mounted/data", "--size=1m"];
    let odd = ["--rw=write", "--atomic=1", "--bsrange=4k-12k"];
    lab.fio(job.iter().chain(&odd))
        .expect_failure()
        .says(&["cannot store a write of 12288 bytes as a whole"]);
}

/// The installed version knows no hints, and the priorities beside them are the same in it.
#[test]
fn single_transfers_have_hints() {
    let lab = Lab::new();
    let run = |more: &[&str]| {
        let job = [
            "--filename=data",
            "--size=1m",
            "--bs=4k",
            "--direct=1",
            "--rw=randread",
            "--ioengine=io_uring",
            "--iodepth=4",
        ];
        let job = [&job[..], more].concat();
        let document = done(&lab, &job).json();
        document["jobs"][0].clone()
    };
    let hints = |job: &Value| {
        let told = job["read"]["prios"].as_array().cloned().unwrap_or_default();
        let words =
            |one: &Value| ["prioclass", "prio", "priohint"].map(|key| one[key].as_u64().unwrap());
        let mut words: Vec<_> = told.iter().map(words).collect();
        words.sort_unstable();
        words
    };
    let shares = run(&["--cmdprio_bssplit=4k/30/2/3/5:4k/30/2/3"]);
    if shares["error"] != 0 {
        return skip(&format!("this kernel knows no hints: {}", shares["error"]));
    }
    assert_eq!(hints(&shares), [[0, 0, 0], [2, 3, 0], [2, 3, 5]]);
    let job = [
        "--cmdprio_percentage=50",
        "--cmdprio_class=2",
        "--cmdprio_hint=2",
        "--priohint=1",
        "--prio=4",
    ];
    assert_eq!(hints(&run(&job)), [[2, 0, 2], [2, 4, 1]]);
    let wrong = [
        "--ioengine=libaio",
        "--rw=randread",
        "--cmdprio_bssplit=4k/30/2/3/1024",
    ];
    harms_nothing(&wrong)
        .expect(2)
        .says(&["is no size with a share and a priority"]);
}

/// Without the rights for it, those and no others fail that are to be of the class of real time.
#[test]
fn a_priority_that_is_not_allowed_fails_its_transfer() {
    let lab = Lab::new();
    with_data(&lab);
    for (class, most) in [("1", 64), ("2", 0)] {
        let mut command = lab.command("setpriv");
        command.args(["--inh-caps=-all", "--bounding-set=-sys_nice,-sys_admin"]);
        command.args([FATHOM, "fio", "--output-format=json", "--name=job"]);
        command.args(["--ioengine=io_uring", "--direct=1", "--iodepth=4"]);
        command.args(["--cmdprio_percentage=50", "--ignore_error=EPERM"]);
        command.arg(format!("--cmdprio_class={class}")).args(CACHED);
        let ended = try_ended(&mut command).ok();
        let Some(ended) = ended.filter(|ended| ended.out.contains('{')) else {
            return skip("`setpriv` is not there or may not take rights away");
        };
        let document = ended.json();
        let failed = document["jobs"][0]["total_err"].as_u64().unwrap();
        assert!(
            failed <= most && (failed > 8 || most == 0),
            "{class}: {failed}"
        );
        assert!(failed < 56, "{failed}");
    }
}

/// Logs hold the priority of the job where an I/O has none of its own; 3.33 knows no hints.
#[test]
fn the_priority_of_a_job_stands_in_logs_and_no_hint_where_none_is_given() {
    let lab = Lab::new();
    with_data(&lab);
    let run = |more: &[&str]| {
        let words = ["--write_lat_log=log", "--log_prio=1", "--ioengine=libaio"];
        let job = [CACHED, &words, more].concat();
        let document = done(&lab, &job).json();
        let log = lab.text("log_clat.1.log");
        let marks = log.lines().filter_map(|line| line.rsplit(", ").next());
        let mut marks: Vec<String> = marks.map(str::to_owned).collect();
        marks.sort();
        marks.dedup();
        (document["jobs"][0]["read"]["prios"].clone(), marks)
    };
    for (options, mark) in [
        (&["--prioclass=2", "--prio=3"][..], "0x4003"),
        (&["--prio=3"], "0x4003"),
        (&["--prioclass=3"], "0x6000"),
        (&[], "0x0000"),
    ] {
        assert_eq!(run(options), (Value::Null, vec![mark.to_owned()]));
    }
    let shares = [
        "--cmdprio_percentage=50",
        "--cmdprio_class=2",
        "--cmdprio=3",
        "--prio=5",
    ];
    let (told, marks) = run(&shares);
    assert_eq!(marks, ["0x4003", "0x4005"]);
    let first = told[0].as_object().unwrap();
    assert!(first.contains_key("prioclass") && first.contains_key("prio"));
    assert!(!first.contains_key("priohint"), "{first:?}");
}

#[test]
fn priorities_stand_in_text_and_logs() {
    let lab = Lab::new();
    with_data(&lab);
    let shares = [
        "--cmdprio_percentage=50",
        "--cmdprio_class=2",
        "--cmdprio=3",
    ];
    let job = ["--name=job", "--ioengine=libaio", "--direct=1"];
    let log = ["--write_lat_log=log", "--log_prio=1"];
    lab.fio([&job[..], &shares, &log, CACHED].concat())
        .prints(&[
            "clat prio 0/0 (",
            "clat prio 2/3 (",
            "% of IOs) percentiles (",
        ]);
    let log = lab.text("log_clat.1.log");
    let with = |mark: &str| log.lines().filter(|line| line.ends_with(mark)).count();
    assert_eq!(with(", 0x0000") + with(", 0x4003"), 64, "{log}");
    assert!(with(", 0x4003") > 8 && with(", 0x0000") > 8, "{log}");
}

#[test]
fn shares_of_priorities_that_make_no_sense_are_refused() {
    for (more, said) in [
        (
            &["--cmdprio_percentage=50", "--cmdprio_bssplit=4k/30"][..],
            "exclude each other",
        ),
        (&["--cmdprio_bssplit=4k/70:4k/40"], "are more than 100 %"),
        (
            &["--cmdprio_bssplit=4k/70/5/0"],
            "is no size with a share and a priority",
        ),
        (
            &["--cmdprio_bssplit=4k/70/2"],
            "is no size with a share and a priority",
        ),
    ] {
        let job = [&["--ioengine=libaio", "--rw=randread"], more].concat();
        harms_nothing(&job).expect(2).says(&[said]);
    }
}
