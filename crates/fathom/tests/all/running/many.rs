//! Many targets with many slots, and limits that are too low for them.
use crate::lab::{Ended, FATHOM, Lab, ended, has, is_root, must, skip};

const TARGETS: usize = 256;
const THREADS: usize = 32;

/// Files of ours with data, and a job that reads all of them.
fn lab(threads: usize) -> Lab {
    let lab = Lab::new();
    let mut block = vec![b'x'; 4096];
    block[..8].copy_from_slice(b"FATHOM\x01\x00");
    let mut job = format!("sd=default,threads={threads}\n");
    for number in 0..TARGETS {
        lab.write(&format!("f{number}"), block.repeat(4));
        job += &format!("sd=sd{number},lun=f{number},size=16k\n");
    }
    job += "wd=wd1,sd=sd*,xfersize=4k,rdpct=100\nrd=r,wd=wd1,iorate=max,elapsed=2,interval=1\n";
    lab.write("job", job);
    lab
}

fn run(lab: &Lab, backend: &str, limits: &str) -> Ended {
    let script = format!("{limits} exec {FATHOM} run job -o out-{backend} --backend {backend}");
    ended(lab.command("/bin/sh").args(["-c", &script]))
}

/// Threads that this machine lets us have, as far as the kernel says.
fn threads_allowed() -> u64 {
    let read = |path: &str| {
        std::fs::read_to_string(path)
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let limits = ["threads-max", "pid_max"].map(|name| read(&format!("/proc/sys/kernel/{name}")));
    limits.into_iter().flatten().min().unwrap_or(0)
}

#[test]
fn two_hundred_and_fifty_six_targets_of_thirty_two_threads() {
    // As many threads leave others no time.
    crate::lab::alone();
    let lab = lab(THREADS);
    // The soft limit of every login is raised by the program itself.
    let ran = run(&lab, "uring", "ulimit -Sn 200;");
    if ran.err.contains("io_uring refused") {
        skip("no io_uring here");
    } else {
        let ran = ran.expect(0);
        assert!(!ran.err.contains("vdb-0018"), "{}", ran.err);
        assert!(lab.text("out-uring/summary.csv").contains("8192"));
    }
    if threads_allowed() < 10_000 {
        return skip("too few threads are allowed");
    }
    let ran = run(&lab, "sync", "");
    if ran.err.contains("vdb-0018") {
        return skip("the limits of this machine are lower, and were named");
    }
    ran.expect(0);
    assert!(lab.text("out-sync/summary.csv").contains("8192"));
}

#[test]
fn a_hard_limit_ends_a_run_before_it_begins() {
    let lab = lab(1);
    run(&lab, "sync", "ulimit -n 200;").expect(2).says(&[
        "error: run `r` needs 1280 file descriptors for its I/Os in flight and their workers, and `ulimit -n` leaves room for",
        "raise it with `ulimit -n 1",
    ]);
    assert!(!lab.path("out-sync").exists());
    // Files that are written to are also claimed, which takes no further descriptors.
    let job = lab.text("job").replace("rdpct=100", "rdpct=0");
    lab.write("job", job);
    let all = run(&lab, "sync", "ulimit -n 330;").expect(0);
    assert!(!all.err.contains("not locked against"), "{}", all.err);
}

#[test]
fn hundreds_of_files_are_laid_out_and_told_of_as_one_job() {
    const FILES: usize = 600;
    let lab = Lab::new();
    let kept = [7; 8192];
    lab.write("j.0.1", kept);
    lab.write(
        "job.fio",
        format!("[j]\nrw=read\nbs=4k\nfilesize=8k\nnrfiles={FILES}\nioengine=psync\n"),
    );
    let arguments = ["fio", "job.fio", "--output-format=normal,json"];
    let first = lab.fathom(&arguments).expect(0);
    let reads = format!("\"total_ios\" : {}", 2 * FILES);
    for told in [
        "j: Laying out IO files (599 files / total 4MiB)",
        reads.as_str(),
    ] {
        assert!(first.out.contains(told), "{told}: {}", first.out);
    }
    for number in 0..FILES {
        assert_eq!(lab.bytes(&format!("j.0.{number}")).len(), 8192);
    }
    assert_eq!(lab.bytes("j.0.1"), kept);
    // All are there now, and what they hold is ours but for the one.
    let again = lab.fathom(&["fio", "job.fio"]).expect(0);
    assert!(!again.out.contains("Laying out"), "{}", again.out);
    let writing = lab.text("job.fio").replace("rw=read", "rw=write");
    lab.write("job.fio", writing);
    let refused = lab.fathom(&["run", "job.fio"]).expect(3);
    assert_eq!(
        refused.err.matches("may not be overwritten").count(),
        1,
        "{refused}"
    );
    assert_eq!(lab.bytes("j.0.1"), kept);
    lab.fathom(&["run", "job.fio", "--overwrite", "j.0.1"])
        .expect(0);
    assert_ne!(lab.bytes("j.0.1"), kept);
}

/// Root is held to none of these.
#[test]
fn limits_of_an_ordinary_user_are_named() {
    if !is_root() || !has("setpriv") || !has("prlimit") {
        return skip("limits of an ordinary user need root, `setpriv` and `prlimit`");
    }
    let lab = lab(THREADS);
    must(
        "chmod",
        &["-R", "777", &lab.path(".").display().to_string()],
    );
    std::fs::copy(FATHOM, lab.path("fathom")).unwrap();
    must("chmod", &["755", &lab.path("fathom").display().to_string()]);
    let as_user = |limits: &str, backend: &str| {
        let folder = format!("out-{backend}");
        let user = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
        ];
        let run = [
            "./fathom",
            "run",
            "job",
            "-o",
            &folder,
            "--backend",
            backend,
        ];
        ended(lab.command("prlimit").arg(limits).args(user).args(run))
    };
    as_user("--nproc=500", "sync").expect(1).says(&[
        "keeps 8192 I/Os in flight, and `ulimit -u`, with a thread for each, leaves room for",
        "raise it with `ulimit -u N`",
    ]);
    let locked = as_user("--memlock=65536", "uring");
    if locked.err.contains("io_uring refused") {
        return skip("no io_uring here");
    }
    // Without registered buffers it runs, and says that it costs.
    let said = "buffers are registered with the kernel (ENOMEM: raise RLIMIT_MEMLOCK, `ulimit -l`)";
    locked.expect(0).says(&[said]);
    assert!(
        lab.text("out-uring/report.html")
            .contains("buffers are registered")
    );
}

/// As with the original; the number that a refusal names suffices.
#[test]
fn one_file_needs_few_descriptors() {
    let lab = Lab::new();
    lab.write("data", vec![7; 1 << 20]);
    let job = "--name=a --filename=data --size=1m --rw=read --output=o";
    let limited = |limit: &str, more: &str| {
        let script = format!("ulimit -n {limit}; exec {FATHOM} fio {job} {more}");
        ended(lab.command("sh").args(["-c", &script]))
    };
    limited("64", "").expect(0);
    limited("64", "--ioengine=libaio --iodepth=32").expect(0);
    let many = "--filename=data --numjobs=20 --ioengine=psync";
    let refused = limited("40", many).expect(2);
    let (_, named) = refused.err.split_once("raise it with `ulimit -n ").unwrap();
    let (enough, _) = named.split_once('`').unwrap();
    limited(enough, many).expect(0);
}
