//! What a target holds decides, all of it: foreign files that would grow, and our own data whatever
//! they look like.
use crate::guard::held::loop_device;
use crate::lab::{Ended, Lab, STATE, has, must, skip};
use crate::running::stop::OnDrop;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

fn fio(lab: &Lab, words: &[&str]) -> Ended {
    let common = ["fio", "--name=j", "--ioengine=psync"];
    lab.fathom(&[&common[..], words].concat())
}

/// The first difference from what was there, or nothing.
fn is_same(lab: &Lab, name: &str, before: &[u8]) -> bool {
    lab.bytes(name) == before
}

/// Whoever reads a file does not want it overwritten.
#[test]
fn a_read_job_larger_than_its_file_offers_another_size_and_no_overwriting() {
    let lab = Lab::new();
    let before = b"letter\n".repeat(1 << 18);
    lab.write("disk", &before);
    lab.write("job.fio", "[j]\nfilename=disk\nsize=10g\nrw=read\n");
    let storage = "sd=sd1,lun=disk,size=10g\nwd=wd1,sd=sd1,rdpct=100\n";
    lab.write(
        "job.vdb",
        format!("{storage}rd=rd1,wd=wd1,iorate=10,elapsed=2,interval=1\n"),
    );
    let off = "all=off";
    for words in [
        &["run", "job.fio", "--lint", off][..],
        &["run", "job.vdb", "--lint", off],
        &["fio", "job.fio"],
        &["fio", "--name=j", "--filename=disk", "--size=10g"],
        &["vdbench", "-f", "job.vdb", "-o", "out"],
        &["curve", "disk", "--size", "10g"],
    ] {
        let refused = lab.fathom(words).expect(3).says(&[
            "has 1.75 MiB, but the job reads 10 GiB; Fathom does not extend",
            "(data of unknown kind",
            "lower the size to 1835008 bytes, or name a new file",
        ]);
        assert!(!refused.err.contains("overwrite"), "{words:?}: {refused:?}");
        assert!(is_same(&lab, "disk", &before), "{words:?}");
    }
    let writes = ["--filename=disk", "--size=10g", "--rw=randrw"];
    fio(&lab, &writes).expect(3).says(&["--overwrite disk"]);
    let exists = ["--filename=disk", "--size=10g", "--allow_file_create=0"];
    fio(&lab, &exists).expect(2).says(&[
        "`disk` asks for 10 GiB, and there are 1.75 MiB",
        "lower the size, or leave it out",
    ]);
}

/// What fits is what is left from the offset on. Where jobs share a file, the one that needs most is told.
#[test]
fn a_read_job_with_an_offset_is_told_what_is_left_from_there_on() {
    let lab = Lab::new();
    let before = b"letter\n".repeat(1 << 18);
    lab.write("disk", &before);
    for (size, more, range, left) in [
        ("1m", "offset=1m", "from 1 MiB to 2 MiB", 786_432),
        (
            "1m",
            "numjobs=2\noffset_increment=1m",
            "from 1 MiB to 2 MiB",
            786_432,
        ),
        (
            "2m",
            "numjobs=2\nfilesize=2m-2m\noffset=1m",
            "2 MiB",
            1_835_008,
        ),
        (
            "2m",
            "[k]\nfilename=disk\nsize=64k\noffset=1m",
            "2 MiB",
            1_835_008,
        ),
    ] {
        let job =
            |size| format!("[j]\nfilename=disk\nrw=read\nioengine=psync\nsize={size}\n{more}\n");
        lab.write("job.fio", job(size.to_owned()));
        for words in [&["fio", "job.fio"][..], &["run", "job.fio"]] {
            let reads = format!("has 1.75 MiB, but the job reads {range}; Fathom does");
            let way_out = format!("lower the size to {left} bytes, or name a new file");
            lab.fathom(words).expect(3).says(&[&reads, &way_out]);
        }
        if !more.contains("filesize") {
            lab.write("job.fio", job(left.to_string()));
            lab.fathom(&["fio", "job.fio"]).expect(0);
        }
        assert!(is_same(&lab, "disk", &before), "{more}");
    }
    fio(&lab, &["--filename=disk", "--size=64k", "--offset=1792k"])
        .expect(3)
        .says(&["begin before the end of the file, 1835008 bytes, or name a new file"]);
}

#[test]
fn a_foreign_file_is_not_made_longer_without_being_named() {
    let lab = Lab::new();
    lab.write("hn", "hello!\n");
    lab.write("letter", "Dear reader,\n");
    must(
        "tar",
        &[
            "-cf",
            &lab.path("t").display().to_string(),
            "-C",
            &lab.path(".").display().to_string(),
            "letter",
        ],
    );
    let mut files = vec![("hn", "8k"), ("t", "1m")];
    if has("mkfs.ext4") {
        let image = lab.path("ext4").display().to_string();
        must("mkfs.ext4", &["-q", "-F", &image, "2m"]);
        files.push(("ext4", "3m"));
    }
    for (name, size) in files {
        let before = lab.bytes(name);
        let (file, size) = (format!("--filename={name}"), format!("--size={size}"));
        for rw in ["--rw=read", "--rw=randread", "--rw=write"] {
            for more in ["--fallocate=none", "--fallocate=keep", "--fallocate=posix"] {
                let refused = fio(&lab, &[rw, &size, &file, more]).expect(3);
                match rw {
                    "--rw=write" => refused.says(&[&format!("--overwrite {name}")]),
                    _ => refused.says(&["Fathom does not extend a file with data"]),
                };
                assert!(is_same(&lab, name, &before), "{name} {rw} {more}");
            }
        }
        // From behind its end on.
        let behind = format!("--offset={}", before.len().next_multiple_of(4096));
        fio(&lab, &["--rw=write", "--size=64k", &behind, &file]).expect(3);
        lab.write("job", format!("sd=s,lun={name},size=64m\nwd=w,sd=s,xfersize=4k,rdpct=100\nrd=r,wd=w,iorate=10,elapsed=2,interval=1\n"));
        lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(3);
        assert!(is_same(&lab, name, &before), "{name}");
        let blocks = fs::metadata(lab.path(name)).unwrap().blocks();
        assert!(
            blocks * 512 <= before.len() as u64 + 8192,
            "{name}: space was reserved"
        );
        // What is long enough is read and stays.
        if before.len() > 4096 {
            fio(&lab, &["--rw=read", "--size=4k", &file]).expect(0);
            assert!(is_same(&lab, name, &before), "{name}");
        }
    }
    fio(
        &lab,
        &[
            "--rw=read",
            "--size=8k",
            "--filename=hn",
            "--overwrite",
            "hn",
        ],
    )
    .expect(0);
    assert_eq!(lab.bytes("hn").len(), 8192);
}

/// Jobs whose data carry no mark, or not where it is looked for.
const UNMARKED: &[&[&str]] = &[
    &[
        "--rw=write",
        "--size=1m",
        "--bs=4k",
        "--buffer_pattern=0x12345678",
    ],
    &[
        "--rw=randwrite",
        "--size=1m",
        "--bs=8k",
        "--verify=pattern",
        "--verify_pattern=\"abcd\"",
    ],
    &[
        "--rw=write",
        "--size=1m",
        "--bs=4k",
        "--verify=crc32c",
        "--verify_offset=256",
    ],
    &["--rw=write", "--size=1m", "--bs=6k", "--offset=512"],
    &["--rw=randwrite", "--size=1m", "--bs=2k"],
    &[
        "--rw=randrw",
        "--size=1m",
        "--bs=4k",
        "--blockalign=512",
        "--scramble_buffers=0",
    ],
    &[
        "--rw=write",
        "--size=1m",
        "--bs=64k",
        "--buffer_compress_percentage=60",
        "--buffer_compress_chunk=16k",
        "--buffer_pattern=\"zz\"",
    ],
    &["--rw=read", "--size=70000", "--bs=1000"],
];

#[test]
fn our_own_data_pass_whatever_they_look_like() {
    for job in UNMARKED {
        let lab = Lab::new();
        let again = || fio(&lab, &[job, &["--filename=f"][..]].concat());
        for _ in 0..3 {
            again().expect(0);
        }
        assert!(!lab.path(STATE).exists(), "the file carries its record");
        // A larger job goes on with it.
        let longer = [&["--rw=write", "--size=2m", "--bs=64k", "--filename=f"][..]].concat();
        fio(&lab, &longer).expect(0);
        again().expect(0);
    }
}

#[test]
fn a_changed_replaced_or_cut_file_is_asked_about() {
    let lab = Lab::new();
    let job = [
        "--rw=write",
        "--size=1m",
        "--bs=4k",
        "--buffer_pattern=0x1234",
        "--filename=f",
    ];
    let again = || fio(&lab, &job);
    again().expect(0);
    let write = |at: u64, byte: &[u8]| {
        let file = fs::File::options().write(true).open(lab.path("f")).unwrap();
        file.write_all_at(byte, at).unwrap();
    };
    let before = lab.bytes("f");
    write(300_001, b"x");
    again()
        .expect(3)
        .says(&["data of unknown kind", "--overwrite f"]);
    write(300_001, &before[300_001..300_002]);
    again().expect(0);
    // A copy, with its attributes.
    let (from, to) = (
        lab.path("f").display().to_string(),
        lab.path("g").display().to_string(),
    );
    must("cp", &["-a", &from, &to]);
    fs::rename(lab.path("f"), lab.path("old")).unwrap();
    fs::rename(lab.path("g"), lab.path("f")).unwrap();
    again().expect(3);
    // The record moves with the file.
    fs::rename(lab.path("old"), lab.path("f")).unwrap();
    again().expect(0);
    let file = fs::File::options().write(true).open(lab.path("f")).unwrap();
    file.set_len(600_000).unwrap();
    again().expect(3);
}

#[test]
fn what_was_named_and_not_written_from_end_to_end_is_asked_about_again() {
    let lab = Lab::new();
    let foreign = || lab.write("f", "Dear reader,\n".repeat(100_000));
    foreign();
    let job = |rw| {
        [
            "--size=1m",
            "--bs=4k",
            "--buffer_pattern=0x1234",
            "--filename=f",
            rw,
        ]
    };
    let few = [&job("--rw=randwrite")[..], &["--io_size=64k"]].concat();
    fio(&lab, &[&few[..], &["--overwrite", "f"]].concat()).expect(0);
    fio(&lab, &few).expect(3);
    fs::remove_file(lab.path("f")).unwrap();
    lab.write("f", "Dear reader,\n".repeat(1000));
    fio(
        &lab,
        &[&job("--rw=write")[..], &["--overwrite", "f"]].concat(),
    )
    .expect(0);
    fio(&lab, &job("--rw=write")).expect(0);
}

#[test]
fn a_run_that_was_stopped_leaves_a_record_too() {
    let lab = Lab::new();
    let job = [
        "fio",
        "--name=j",
        "--rw=write",
        "--size=1m",
        "--buffer_pattern=0x77",
        "--filename=f",
        "--time_based",
        "--runtime=60",
        "--ioengine=psync",
    ];
    let going = lab.start(&job);
    let is_written = |path: &Path| fs::read(path).is_ok_and(|data| data.contains(&0x77));
    while !is_written(&lab.path("f")) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    going.signal("INT");
    let ended = going.end();
    assert!(ended.code.is_some_and(|code| code != 3), "{ended:?}");
    fio(&lab, &["--rw=write", "--size=1m", "--filename=f"]).expect(0);
}

#[test]
fn what_was_not_written_gets_no_record() {
    let lab = Lab::new();
    lab.write("f", "Dear reader,\n");
    let job = [
        "--rw=write",
        "--size=1m",
        "--buffer_pattern=0x77",
        "--filename=f",
    ];
    fio(&lab, &[&job[..], &["--backend", "null"]].concat()).expect(0);
    assert_eq!(lab.text("f"), "Dear reader,\n");
    assert!(!lab.path(STATE).exists());
    fio(&lab, &job).expect(3);
    // Removed again by the job itself.
    let made = [
        "--rw=write",
        "--size=1m",
        "--buffer_pattern=0x77",
        "--filename=g",
        "--unlink=1",
    ];
    fio(&lab, &made).expect(0);
    assert!(!lab.path("g").exists() && !lab.path(STATE).exists());
}

/// A job of the commonest kind: its data carry marks.
const MARKED: &[&str] = &["--rw=write", "--bs=64k", "--size=1m", "--filename=f"];

#[test]
fn jobs_that_end_inside_of_marked_blocks_leave_known_data() {
    let sizes = ["512", "1000", "1536", "3k"];
    let kinds: &[&[&str]] = &[
        &["--rw=write", "--buffer_pattern=0x1234"],
        &["--rw=randwrite", "--zero_buffers"],
        &["--rw=trim"],
        &["--rw=randtrim", "--offset=20k"],
    ];
    for bytes in sizes {
        let lab = Lab::new();
        let bytes = format!("--bs={bytes}");
        for kind in kinds {
            fio(&lab, MARKED).expect(0);
            let job = [kind, &[&bytes, "--size=6k", "--filename=f"][..]].concat();
            fio(&lab, &job).expect(0);
        }
        fio(&lab, MARKED).expect(0);
    }
}

#[test]
fn more_parts_than_a_record_takes_are_known_all_the_same() {
    let lab = Lab::new();
    fio(&lab, MARKED).expect(0);
    for number in 0..30 {
        let offset = format!("--offset={}k", number * 32 + 1);
        let part = ["--rw=write", "--bs=512", "--size=3k", "--filename=f"];
        fio(
            &lab,
            &[&part[..], &["--buffer_pattern=0x1234", &offset]].concat(),
        )
        .expect(0);
    }
    fio(&lab, MARKED).expect(0);
}

#[test]
fn a_stranger_in_the_block_that_a_job_ends_in_is_seen() {
    let lab = Lab::new();
    lab.write("f", vec![0; 128 << 20]);
    let file = fs::File::options().write(true).open(lab.path("f")).unwrap();
    let at = 70_000_000 / 4096 * 4096;
    file.write_all_at(b"Dear reader,", at + 4000).unwrap();
    let [offset, size] = [format!("--offset={}", at - 1024), "--size=4k".to_owned()];
    fio(
        &lab,
        &["--rw=write", "--bs=1k", "--filename=f", &offset, &size],
    )
    .expect(3);
}

/// A loop device over a file, as long as the value lives.
fn attach(lab: &Lab, name: &str, offset: &str) -> (String, OnDrop<impl FnMut()>) {
    let path = lab.path(name).display().to_string();
    let device = must("losetup", &["-f", "--show", "-o", offset, &path]);
    let device = device.trim().to_owned();
    let detached = device.clone();
    let detach = OnDrop(move || drop(must("losetup", &["-d", &detached])));
    (device, detach)
}

#[test]
fn a_file_and_loop_devices_over_it_share_their_record() {
    let lab = Lab::new();
    if let Err(reason) = loop_device(&lab, "probe").map(|one| must("losetup", &["-d", &one])) {
        return skip(reason);
    }
    let write = |target: &str, more: &[&str]| {
        let target = format!("--filename={target}");
        fio(
            &lab,
            &[&["--rw=write", "--bs=64k", "--size=8m", &target], more].concat(),
        )
    };
    for offset in ["0", "512", "1048576"] {
        for more in [
            &[][..],
            &["--buffer_pattern=0x1234"],
            &["--buffer_pattern=0x53ef"],
        ] {
            for name in ["file", "loop"] {
                fs::File::create(lab.path(name))
                    .unwrap()
                    .set_len(16 << 20)
                    .unwrap();
            }
            write("file", more).expect(0);
            let (device, detach) = attach(&lab, "file", offset);
            write(&device, more).expect(0);
            write(&device, &[]).expect(0);
            drop(detach);
            write("file", more).expect(0);
            let (device, detach) = attach(&lab, "loop", offset);
            write(&device, more).expect(0);
            drop(detach);
            write("loop", &[]).expect(0);
            write("loop", more).expect(0);
            // The device that was before another file has no part in it.
            lab.write("letter", "Dear reader,\n".repeat(1 << 20));
            let before = lab.bytes("letter");
            let (other, _detach) = attach(&lab, "letter", offset);
            write(&other, more).expect(3);
            assert!(is_same(&lab, "letter", &before));
        }
    }
}

/// Patterns that look like file systems, encryption, and the like at each place.
const LIKE_SIGNATURES: &[&str] = &["0x53ef", "0x4c554b53babe0001", "0x58465342", "0x45464920"];

#[test]
fn patterns_that_look_like_signatures_are_ours_to_the_byte() {
    for pattern in LIKE_SIGNATURES {
        let lab = Lab::new();
        let pattern = format!("--buffer_pattern={pattern}");
        for size in ["--size=1m", "--size=2m"] {
            let job = ["--rw=write", "--bs=64k", "--filename=f", size, &pattern];
            fio(&lab, &job).expect(0);
            fio(&lab, &job).expect(0);
        }
        fio(&lab, MARKED).expect(0);
        // The same bytes of somebody else.
        let copy = lab.bytes("f");
        lab.write("g", copy);
        let other = [
            "--rw=write",
            "--bs=64k",
            "--filename=g",
            "--size=2m",
            &pattern,
        ];
        fio(&lab, &other).expect(3);
    }
}

#[test]
fn a_file_system_that_came_to_our_pattern_is_refused() {
    if !has("mkfs.ext4") {
        return skip("`mkfs.ext4` is missing");
    }
    let lab = Lab::new();
    let job = [
        "--rw=write",
        "--bs=1m",
        "--size=200m",
        "--filename=f",
        "--buffer_pattern=0x53ef",
    ];
    let small = lab.path("small").display().to_string();
    must("mkfs.ext4", &["-q", "-F", &small, "4m"]);
    let small = lab.bytes("small");
    fio(&lab, &job).expect(0);
    fio(&lab, &job).expect(0);
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(lab.path("f"))
        .unwrap();
    for number in 0..12 {
        let at = (5 + number * 16) << 20;
        let mut before = vec![0; small.len()];
        file.read_exact_at(&mut before, at).unwrap();
        file.write_all_at(&small, at).unwrap();
        fio(&lab, &job).expect(3);
        file.write_all_at(&before, at).unwrap();
    }
    fio(&lab, &job).expect(0);
    must(
        "mkfs.ext4",
        &["-q", "-F", &lab.path("f").display().to_string()],
    );
    fio(&lab, &job).expect(3);
}

#[test]
fn patterns_of_an_execution_that_was_killed_are_known() {
    let jobs: &[&[&str]] = &[
        &["--rw=write", "--bs=64k", "--buffer_pattern=0x1234"],
        &["--rw=randwrite", "--bs=4k", "--buffer_pattern=0x53ef"],
        &["--rw=randwrite", "--bs=1000", "--buffer_pattern=0x123456"],
        &[
            "--rw=write",
            "--bs=8k",
            "--verify=pattern",
            "--verify_pattern=\"abc\"",
            "--do_verify=0",
        ],
    ];
    for job in jobs {
        let lab = Lab::new();
        let whole = [job, &["--size=4m", "--filename=f"][..]].concat();
        let kill = || {
            let endless = [
                "fio",
                "--name=j",
                "--ioengine=psync",
                "--time_based",
                "--runtime=60",
            ];
            // A file that is not there is made, and one that is there is changed.
            let before = lab.path("f").exists().then(|| lab.bytes("f"));
            let going = lab.start(&[&endless[..], &whole].concat());
            let is_written = || {
                let now = fs::read(lab.path("f")).unwrap_or_default();
                now.iter().any(|byte| *byte != 0) && Some(now) != before
            };
            while !is_written() {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            going.signal("KILL");
            assert_eq!(going.end().code, None);
        };
        kill();
        fio(&lab, MARKED).expect(0);
        if job.contains(&"--bs=1000") {
            // Pieces of marked blocks that were left between are nobody's.
            continue;
        }
        kill();
        fio(&lab, &whole).expect(0);
        fio(&lab, MARKED).expect(0);
        kill();
        let file = fs::File::options().write(true).open(lab.path("f")).unwrap();
        file.write_all_at(b"Dear reader,", 3_000_000).unwrap();
        fio(&lab, MARKED).expect(3);
    }
}

#[test]
fn data_of_ours_on_a_device_are_known_by_what_it_is_built_on() {
    let lab = Lab::new();
    let device = match loop_device(&lab, "image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &device])));
    let file = format!("--filename={device}");
    let job = ["--rw=write", "--bs=64k", "--buffer_pattern=0x1234", &file];
    for _ in 0..3 {
        fio(&lab, &job).expect(0);
    }
    let disk = fs::File::options().write(true).open(&device).unwrap();
    disk.write_all_at(b"x", 5_000_000).unwrap();
    disk.sync_all().unwrap();
    fio(&lab, &job).expect(3);
    disk.write_all_at(b"\x12", 5_000_000).unwrap();
    disk.sync_all().unwrap();
    fio(&lab, &job).expect(0);
    // The record is lost with whatever carries it.
    let _ = fs::remove_dir_all(lab.path(STATE));
    if has("setfattr") {
        let image = lab.path("image").display().to_string();
        let removed = std::process::Command::new("setfattr")
            .args(["-x", "user.fathom.written", &image])
            .status();
        assert!(removed.is_ok());
        fio(&lab, &job).expect(3).says(&["data of unknown kind"]);
    }
}
