//! Passes over files through the page cache: each of them reads from the device, as with fio.
use crate::lab::{Ended, FATHOM, Lab, ended, has, skip};
use crate::support::fio::programs;
use std::process::Command;

const BYTES: u64 = 4 << 20;

/// How often a program drops the page cache of the file, and what it reads from the device.
fn drops_and_bytes(lab: &Lab, program: &str, more: &[&str]) -> (usize, u64, Ended) {
    let words = [
        "--name=a",
        "--filename=data",
        "--size=4m",
        "--bs=4k",
        "--ioengine=psync",
        "--eta=never",
    ];
    let job = lab.fio_command(program);
    // The shell is asked for what its children have read.
    let script = "\"$@\" && grep ^read_bytes: /proc/$$/io >counts";
    let mut shell: Command = lab.command("sh");
    shell.args(["-c", script, "sh", "strace", "-f", "-e", "trace=fadvise64"]);
    shell.args(["-o", "calls"]).arg(job.get_program());
    let output = ended(shell.args(job.get_args()).args(words).args(more)).expect(0);
    let drops = lab.text("calls").matches("POSIX_FADV_DONTNEED").count();
    let counts = lab.text("counts");
    let bytes = counts.split_whitespace().last().unwrap();
    (drops, bytes.parse().unwrap(), output)
}

#[test]
fn each_pass_over_a_file_reads_it_from_the_device() {
    if !has("strace") {
        return skip("`strace` is not installed");
    }
    let lab = Lab::new();
    lab.write("data", vec![7; BYTES as usize]);
    std::fs::File::open(lab.path("data"))
        .unwrap()
        .sync_all()
        .unwrap();
    for (more, drops, passes) in [
        (&["--rw=randread", "--loops=3"][..], 3, 3),
        (&["--rw=read", "--io_size=12m"], 3, 3),
        (&["--rw=randread", "--loops=3", "--bsrange=2k-8k"], 3, 3),
        (
            &[
                "--rw=read",
                "--io_size=12m",
                "--ioengine=libaio",
                "--iodepth=8",
            ],
            3,
            3,
        ),
        (&["--rw=read", "--loops=1"], 1, 1),
        // Nothing ends a pass.
        (&["--rw=randread", "--norandommap", "--loops=3"], 1, 0),
        (&["--rw=read:4k", "--io_size=12m"], 1, 1),
        (&["--rw=randread", "--loops=3", "--invalidate=0"], 0, 0),
    ] {
        for program in programs() {
            let (found, bytes, _) = drops_and_bytes(&lab, program, more);
            assert_eq!(found, drops, "{program} {more:?}");
            // Some file systems read from no device.
            let has_device = drops_and_bytes(&lab, FATHOM, &["--rw=read"]).1 >= BYTES;
            if has_device && passes > 0 {
                assert!(bytes >= passes * BYTES, "{program} {more:?}: {bytes}");
                assert!(bytes < (passes + 1) * BYTES, "{program} {more:?}: {bytes}");
            }
        }
    }
    // What is mapped stays in the cache, so that it is let go of first. The original keeps it mapped, and what a kernel
    // drops of that differs.
    for (more, drops) in [
        (&["--loops=3"][..], 3),
        (&["--loops=3", "--invalidate=0"], 0),
    ] {
        let mapped = [&["--rw=read", "--ioengine=mmap"], more].concat();
        let (found, bytes, _) = drops_and_bytes(&lab, FATHOM, &mapped);
        assert_eq!(found, drops, "{more:?}");
        let has_device = drops_and_bytes(&lab, FATHOM, &["--rw=read"]).1 >= BYTES;
        if has_device && drops > 0 {
            assert!(bytes >= 3 * BYTES, "{more:?}: {bytes}");
        }
    }
    for program in programs() {
        let timed = ["--rw=randread", "--time_based", "--runtime=1"];
        let (found, _, output) = drops_and_bytes(&lab, program, &timed);
        let text = output.all();
        let reads = text.split("issued rwts: total=").nth(1).unwrap();
        let reads: usize = reads.split(',').next().unwrap().parse().unwrap();
        let passes = reads.div_ceil(1024);
        // The end may come between two passes.
        assert!(
            (passes..=passes + 1).contains(&found),
            "{program}: {found}: {text}"
        );
    }
}
