//! What jobs do with their files as a whole, beside the installed fio where it says.
use crate::lab::{Ended, FATHOM, Lab, STATE, skip, try_ended};
use crate::support::fio::{FIO, has_fio, programs};
use std::process::Command;

/// `None`, said as a skip, where the program is not there.
fn run(lab: &Lab, program: &str, arguments: &[&str]) -> Option<Ended> {
    let words = ["--name=j", "--bs=4k", "--ioengine=psync"];
    (program == FATHOM || has_fio()).then(|| lab.fio_by(program, [&words, arguments].concat()))
}

fn ours(lab: &Lab, arguments: &[&str]) -> Ended {
    run(lab, FATHOM, arguments).expect("cargo has built it")
}

/// A file system of two MiB; `None` where none can be mounted.
fn small_file_system(lab: &Lab) -> Option<Mounted> {
    let at = lab.path("small");
    std::fs::create_dir(&at).unwrap();
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=2m", "none"])
        .arg(&at);
    if try_ended(&mut mount).is_ok_and(|mounted| mounted.code == Some(0)) {
        return Some(Mounted(at));
    }
    skip("a file system of its own needs root and `mount`");
    None
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_job_that_fills_ends_where_nothing_is_left() {
    for more in [
        &["--bs=64k"][..],
        &["--size=8m"],
        &["--nrfiles=3", "--bs=16k"],
        &["--ioengine=io_uring", "--iodepth=4"],
    ] {
        let lab = Lab::new();
        let Some(small) = small_file_system(&lab) else {
            return;
        };
        let clear = || {
            for entry in std::fs::read_dir(&small.0).unwrap() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
            }
        };
        let mut arguments = vec!["--directory=small", "--rw=write", "--fill_device=1"];
        arguments.extend(["--fallocate=none", "--output-format=json"]);
        arguments.extend(more);
        for program in programs() {
            let report = run(&lab, program, &arguments).unwrap().expect(0).json();
            let job = &report["jobs"][0];
            assert_eq!(job["error"], 0, "{program} {more:?}");
            assert_eq!(job["write"]["io_bytes"], 2 << 20, "{program} {more:?}");
            clear();
        }
        // Without the option it is a failure, and known before.
        ours(&lab, &["--directory=small", "--rw=write", "--size=8m"]).expect_failure();
    }
}

#[test]
fn appending_leaves_what_is_there() {
    for (rw, size) in [
        ("write", 5000),
        ("randwrite", 5000),
        ("read", 5000),
        ("write", 0),
    ] {
        let lab = Lab::new();
        let path = lab.path("data");
        let before: Vec<u8> = (0..size).map(|at: u32| (at % 251) as u8).collect();
        if size > 0 {
            std::fs::write(&path, &before).unwrap();
        }
        let rw = format!("--rw={rw}");
        let arguments = ["--filename=data", &rw, "--size=16k", "--file_append=1"];
        // Data of others do not grow unless they are named.
        let named = match size {
            0 => &[][..],
            _ => &["--overwrite", "data"][..],
        };
        ours(&lab, &[&arguments[..], named].concat()).expect(0);
        let after = std::fs::read(&path).unwrap();
        assert_eq!(after.len(), size as usize + 16_384, "{rw}");
        assert_eq!(after[..size as usize], before, "{rw}");
        let is_blank = |block: &[u8]| block.iter().all(|byte| *byte == 0);
        let added = &after[size as usize..];
        assert!(
            !added.chunks(4096).any(is_blank),
            "{rw}: a block was left out"
        );
    }
}

#[test]
fn files_can_be_made_and_nothing_else() {
    for rw in ["write", "randread"] {
        let lab = Lab::new();
        let rw = format!("--rw={rw}");
        let arguments = [
            &rw,
            "--size=64k",
            "--nrfiles=2",
            "--create_only=1",
            "--runtime=20",
        ];
        let output = ours(&lab, &[&arguments[..], &["--time_based"]].concat()).expect(0);
        for file in ["j.0.0", "j.0.1"] {
            let bytes = lab.length(file);
            assert_eq!(bytes, 32 << 10, "{file}");
        }
        let said = output.all();
        assert!(!said.contains("err="), "no job has done anything: {said}");
        let json = [&arguments[..], &["--output-format=json"]].concat();
        let report = ours(&lab, &json).json();
        assert_eq!(report["jobs"][0]["write"]["total_ios"], 0);
        assert_eq!(report["jobs"][0]["read"]["total_ios"], 0);
    }
}

/// How much of a file the page cache holds, in KiB; `None` where nothing tells.
fn cached_kib(lab: &Lab, name: &str) -> Option<u64> {
    let mut command = lab.command("fincore");
    command.args(["--bytes", "--noheadings", "--output=RES", name]);
    let told = try_ended(&mut command)
        .ok()
        .filter(|told| told.code == Some(0))?;
    Some(told.out.trim().parse::<u64>().ok()? >> 10)
}

#[test]
fn the_cache_is_filled_before_the_job_where_it_is_asked() {
    let lab = Lab::new();
    lab.write("data", vec![7; 4 << 20]);
    let file = std::fs::File::open(lab.path("data")).unwrap();
    file.sync_all().unwrap();
    let job = [
        "--filename=data",
        "--rw=randread",
        "--size=4m",
        "--number_ios=1",
    ];
    let job = [&job[..], &["--randseed=1"]].concat();
    ours(&lab, &job).expect(0);
    let Some(without) = cached_kib(&lab, "data") else {
        return skip("no `fincore` tells what the cache holds");
    };
    if without >= 4096 {
        return skip("nothing takes this file out of the cache");
    }
    let asked = [&job[..], &["--pre_read=1"]].concat();
    ours(&lab, &asked).expect(0);
    assert_eq!(cached_kib(&lab, "data"), Some(4096));
}

/// Where the I/O of a job on a file of 25 blocks went, as its own log tells.
fn logged(lab: &Lab, program: &str, arguments: &[&str]) -> Option<Vec<u64>> {
    lab.write("data", vec![7; 102_400]);
    let _ = std::fs::remove_file(lab.path("places.log"));
    let own = ["--filename=data", "--rw=read", "--write_iolog=places.log"];
    run(lab, program, &[arguments, &own].concat())?.expect(0);
    let text = lab.text("places.log");
    let offset = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "read")?;
        words.get(at + 1)?.parse().ok()
    };
    Some(text.lines().filter_map(offset).collect())
}

#[test]
fn shares_of_a_file_begin_and_end_where_they_do_there() {
    for arguments in [
        &["--size=32k", "--offset=10%"][..],
        &["--size=32k", "--offset=10%", "--offset_align=16k"],
        &["--size=50%", "--offset=10%"],
        &["--io_size=50%"],
        &["--io_size=50%", "--size=20%", "--offset=10%"],
        &["--size=20%", "--offset=8k", "--offset_increment=10%"],
    ] {
        let lab = Lab::new();
        let ours = logged(&lab, FATHOM, arguments).unwrap();
        let Some(theirs) = logged(&lab, FIO, arguments) else {
            return;
        };
        assert_eq!(ours, theirs, "{arguments:?}");
    }
}

/// The lines about files that are made before, and how long files are in the end.
fn made(program: &str, before: &[(&str, u64)], words: &[&str]) -> Option<(String, Vec<u64>)> {
    let lab = Lab::new();
    for (name, bytes) in before {
        let file = std::fs::File::create(lab.path(name)).unwrap();
        file.set_len(*bytes).unwrap();
    }
    let text = run(&lab, program, words)?.expect(0).all();
    let lines = text.lines().filter(|line| line.contains("Laying out"));
    let lines: Vec<&str> = lines.collect();
    let names = lab.names(".").into_iter();
    let files = names.filter(|name| !name.ends_with(STATE));
    let bytes = files.map(|name| lab.length(&name));
    Some((lines.join("\n"), bytes.collect()))
}

/// Files that are there, a job, and what is told of those that are made.
type Layout = (
    &'static [(&'static str, u64)],
    &'static [&'static str],
    &'static [&'static str],
);

const M: u64 = 1 << 20;
const ONE: &str = "j: Laying out IO file (1 file / 1MiB)";
const TWO: &str = "j: Laying out IO files (2 files / total 1MiB)";

const LAYOUTS: &[Layout] = &[
    (&[], &["--rw=randwrite", "--size=1m"], &[ONE]),
    (
        &[],
        &["--rw=write", "--size=1m", "--fallocate=none"],
        &[ONE],
    ),
    (&[], &["--rw=randrw", "--size=1m"], &[ONE]),
    (&[], &["--rw=write", "--size=1m", "--create_on_open=1"], &[]),
    (
        &[],
        &["--rw=read", "--size=1m", "--numjobs=2", "--nrfiles=2"],
        &[TWO, TWO],
    ),
    (
        &[],
        &["--rw=write", "--size=1m", "--numjobs=2", "--nrfiles=2"],
        &[TWO, TWO],
    ),
    (
        &[],
        &["--rw=write", "--size=1m", "--numjobs=2", "--filename=f"],
        &[ONE],
    ),
    (
        &[("f", M)],
        &["--rw=read", "--size=1m", "--filename=f"],
        &[],
    ),
    (
        &[("f", M)],
        &["--rw=write", "--size=1m", "--filename=f"],
        &[],
    ),
    (
        &[("f", M / 2)],
        &["--rw=randwrite", "--size=1m", "--filename=f"],
        &[ONE],
    ),
    (
        &[("f", M)],
        &["--rw=write", "--size=2m", "--filename=f:g"],
        &[ONE],
    ),
    (
        &[],
        &["--rw=write", "--size=1m", "--offset=1m"],
        &["j: Laying out IO file (1 file / 2MiB)"],
    ),
    (
        &[],
        &["--rw=write", "--size=64k"],
        &["j: Laying out IO file (1 file / 0MiB)"],
    ),
    (
        &[],
        &["--rw=write", "--size=10m", "--nrfiles=3"],
        &["j: Laying out IO files (3 files / total 9MiB)"],
    ),
    (
        &[],
        &[
            "--rw=write",
            "--size=1m",
            "--name=k",
            "--rw=read",
            "--size=1m",
            "--ioengine=psync",
        ],
        &[ONE, "k: Laying out IO file (1 file / 1MiB)"],
    ),
    (&[], &["--ioengine=null", "--size=1m"], &[]),
];

#[test]
fn files_that_are_made_before_are_told_of_by_clone_whatever_the_job_does() {
    for (before, words, lines) in LAYOUTS {
        let ours = made(FATHOM, before, words).unwrap();
        assert_eq!(ours.0, lines.join("\n"), "{words:?}");
        if let Some(theirs) = made(FIO, before, words) {
            assert_eq!(ours, theirs, "{words:?}");
        }
    }
}

/// Files that exist with their lengths, words of a job, and the lengths that its files have in the end.
type Share<'a> = (&'a [(&'a str, u64)], &'a [&'a str], &'a [u64]);

#[test]
fn a_share_of_a_file_size_makes_files_as_long_as_their_use() {
    let cases: &[Share<'_>] = &[
        (&[], &["--rw=write"], &[3 * M]),
        (&[], &["--rw=read"], &[3 * M]),
        (&[], &["--rw=write", "--nrfiles=2"], &[3 * M, 3 * M]),
        (&[], &["--rw=read", "--offset=1m"], &[4 * M]),
        (&[], &["--rw=write", "--offset=9m"], &[10 * M]),
        (
            &[],
            &[
                "--rw=write",
                "--numjobs=2",
                "--filename=f",
                "--offset_increment=1m",
            ],
            &[4 * M],
        ),
        (&[("f", 20 * M)], &["--rw=write", "--filename=f"], &[20 * M]),
        (&[("f", 5 * M)], &["--rw=read", "--filename=f"], &[5 * M]),
        (&[], &["--rw=read", "--io_size=50%"], &[3 * M]),
        (
            &[],
            &[
                "--rw=write",
                "--name=k",
                "--ioengine=psync",
                "--bs=4k",
                "--rw=write",
                "--filesize=4m",
                "--size=50%",
            ],
            &[3 * M, 2 * M],
        ),
    ];
    for (before, words, bytes) in cases {
        let words = [&["--filesize=10m", "--size=30%"], *words].concat();
        let ours = made(FATHOM, before, &words).unwrap();
        assert_eq!(ours.1, *bytes, "{words:?}");
        if let Some(theirs) = made(FIO, before, &words) {
            assert_eq!(ours, theirs, "{words:?}");
        }
    }
}

#[test]
fn sizes_of_files_are_drawn_between_two_ends() {
    for (more, most) in [(&[][..], u64::MAX), (&["--size=64k"], 16)] {
        let lab = Lab::new();
        let arguments = ["--rw=read", "--filesize=16k-64k", "--nrfiles=8"];
        let arguments = [&arguments[..], more, &["--output-format=json"]].concat();
        let output = ours(&lab, &arguments).expect(0);
        let size = |number: u32| lab.length(&format!("j.0.{number}"));
        let sizes: Vec<u64> = (0..8).map(size).collect();
        let is_right =
            |bytes: &u64| (16_384..=65_536).contains(bytes) && bytes.is_multiple_of(4096);
        assert!(sizes.iter().all(is_right), "{sizes:?}");
        assert!(sizes.iter().any(|bytes| *bytes != sizes[0]), "{sizes:?}");
        let blocks = sizes.iter().sum::<u64>() / 4096;
        let done = output.json()["jobs"][0]["read"]["total_ios"]
            .as_u64()
            .unwrap();
        assert_eq!(done, blocks.min(most));
    }
}

/// Length, and whether blocks are reserved for all of it, after a single write.
#[test]
fn space_is_reserved_as_the_job_says() {
    use std::os::unix::fs::MetadataExt;
    for mode in ["native", "posix", "keep", "truncate", "none"] {
        let option = format!("--fallocate={mode}");
        let shape = |program: &str| {
            let lab = Lab::new();
            let words = ["--filename=f", "--rw=write", "--size=1m", "--number_ios=1"];
            run(&lab, program, &[&words[..], &[&option]].concat())?.expect(0);
            let metadata = lab.path("f").metadata().unwrap();
            Some((metadata.len(), metadata.blocks() * 512 >= 1 << 20))
        };
        let ours = shape(FATHOM).unwrap();
        let reserves = ["native", "posix", "keep"].contains(&mode);
        assert_eq!(ours.1, reserves, "{mode}");
        if let Some(theirs) = shape(FIO) {
            assert_eq!(ours, theirs, "{mode}");
        }
    }
}

#[test]
fn all_files_below_a_folder_are_the_files_of_a_job() {
    let lab = Lab::new();
    let at = |name: &str| lab.path(name);
    std::fs::create_dir_all(at("tree/deep/er")).unwrap();
    for (name, bytes) in [
        ("b", 8192),
        ("a:a", 4096),
        ("deep/er/c", 16384),
        ("none", 0),
        ("short", 99),
    ] {
        std::fs::write(at("tree").join(name), vec![b'x'; bytes]).unwrap();
    }
    std::fs::write(at("outside"), vec![b'y'; 1 << 20]).unwrap();
    std::os::unix::fs::symlink(at("outside"), at("tree/link")).unwrap();
    let read = ["--opendir=tree", "--rw=read", "--output-format=json"];
    for (more, bytes) in [
        (&[][..], 28672),
        (&["--filename=outside"], 28672 + (1 << 20)),
        (&["--opendir=tree/deep"], 28672 + 16384),
        // The first by name.
        (&["--nrfiles=1"], 4096),
    ] {
        let output = ours(&lab, &[&read, more].concat()).expect(0);
        let issued = &output.json()["jobs"][0]["read"]["io_bytes"];
        assert_eq!(issued, bytes, "{more:?}");
        if more != ["--nrfiles=1"]
            && let Some(output) = run(&lab, FIO, &[&read, more].concat())
        {
            assert_eq!(output.json()["jobs"][0]["read"]["io_bytes"], bytes);
        }
    }
    // What others made is asked about, whether a job names it or finds it.
    ours(&lab, &["--opendir=tree", "--rw=write"]).expect(3);
    let kept = std::fs::read(at("tree/deep/er/c")).unwrap();
    assert!(kept.iter().all(|byte| *byte == b'x'));
}

#[test]
fn names_add_up_whoever_gives_them() {
    let lab = Lab::new();
    let job = "[global]\nfilename=a\nrw=write\nsize=16k\n[j]\nfilename=b:c\nfilename=d\n";
    lab.write("j.fio", job);
    lab.fio(["j.fio"]).expect(0);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(lab.bytes(name).len(), 4096, "{name}");
    }
    // Each of them is asked about.
    lab.write("a", [b'x'; 4096]);
    let words = ["--rw=write", "--size=16k", "--filename=a", "--filename=e"];
    ours(&lab, &words).expect(3);
}

#[test]
fn a_folder_that_holds_nothing_is_told_of_before_a_run() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("empty")).unwrap();
    lab.write("file", "");
    for (name, reason) in [
        ("none", "no such folder"),
        ("empty", "holds no file"),
        ("file", "it is no folder"),
    ] {
        let option = format!("--opendir={name}");
        let output = ours(&lab, &[&option, "--rw=read"]);
        output.expect(2).tells(&["fio-0136", reason]);
    }
    lab.write("j.fio", "[j]\nopendir=none\nrw=read\n");
    lab.fathom(&["check", "j.fio"]).tells(&["no such folder"]);
}
