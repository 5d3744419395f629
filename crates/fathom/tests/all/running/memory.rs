//! Memory that is refused: a message with a number, an exit code of ours, and an end. Limits are those of `ulimit -v`.
use crate::lab::{Ended, FATHOM, Lab, ended, job};

/// A verb on little memory, with or without traces of what goes wrong, which take memory themselves.
fn limited(lab: &Lab, mib: u32, traced: bool, words: &[&str]) -> Ended {
    let mut command = lab.command("sh");
    let script = format!("ulimit -c 0; ulimit -v {}; exec \"$@\"", mib << 10);
    command.args(["-c", &script, "sh", FATHOM]).args(words);
    command.env("RUST_BACKTRACE", if traced { "1" } else { "0" });
    ended(&mut command)
}

/// Either it ran, or the last line says how many bytes were refused by what. Whether it ran.
#[track_caller]
fn ran_or_said_why(lab: &Lab, mib: u32, traced: bool, words: &[&str]) -> bool {
    let ended = limited(lab, mib, traced, words);
    let last = ended.err.lines().last().unwrap_or_default();
    match ended.code {
        Some(0) => true,
        Some(1 | 2) => {
            let numbers = last.contains("`ulimit -v` allows");
            assert!(
                numbers && last.starts_with("error: "),
                "{mib} {words:?}: {}",
                ended.err
            );
            false
        }
        other => panic!("{mib} {words:?}: {other:?} {}", ended.err),
    }
}

#[test]
fn refused_memory_is_a_message_with_a_number() {
    let lab = Lab::new();
    lab.write("disk", vec![1; 1 << 20]);
    let reads = job("lun=disk", "iorate=50,elapsed=2,interval=1").replace("rdpct=50", "rdpct=100");
    lab.write("job", reads);
    let clones = |count: u32| {
        format!("[j]\nioengine=null\nsize=4m\nbs=4k\nnumber_ios=10\nnumjobs={count}\n")
    };
    lab.write("32.fio", clones(32));
    lab.write("1000.fio", clones(1000));
    let run = ["run", "job", "--lint", "all=off", "-o", "out"];
    let curve = [
        "curve",
        "disk",
        "--points",
        "50",
        "--warmup",
        "0",
        "--elapsed",
        "1",
        "-o",
        "curve",
    ];
    let mut ran = Vec::new();
    for (number, mib) in [100, 200, 400, 600, 1000].into_iter().enumerate() {
        let traced = number % 2 == 0;
        for words in [&run[..], &["fio", "32.fio"], &["fio", "1000.fio"], &curve] {
            let _ = std::fs::remove_dir_all(lab.path("out"));
            let _ = std::fs::remove_dir_all(lab.path("curve"));
            if ran_or_said_why(&lab, mib, traced, words) {
                ran.push((mib, words[1]));
            }
        }
    }
    assert!(!ran.contains(&(100, "32.fio")), "{ran:?}");
    assert!(ran.contains(&(1000, "job")), "{ran:?}");
    // The same of verbs that write, and of one that only looks.
    let fill = ["prefill", "new", "--size", "1m", "--lint", "all=off"];
    for traced in [false, true] {
        assert!(!ran_or_said_why(&lab, 90, traced, &fill));
        let vdbench = ["vdbench", "-f", "job", "--lint", "all=off"];
        assert!(!ran_or_said_why(&lab, 90, traced, &vdbench));
        assert!(ran_or_said_why(&lab, 60, traced, &["check", "job"]));
    }
}
