//! Called as `fio`, what fio does not say is not said, and what scripts of fio ask for is there.
use crate::lab::{Ended, FATHOM, Lab, ended};
use serde_json::Value;

/// What scripts and guides ask for, each of which fio runs without a word on standard error.
const ORDINARY: &[&str] = &[
    "--ioengine=null --size=1m",
    "--ioengine=null --size=1m --rw=randread --thread",
    "--ioengine=null --size=1m --rw=randrw --rwmixread=70 --numjobs=4 --group_reporting",
    "--ioengine=null --size=1m --io_submit_mode=offload --iodepth=16",
    "--ioengine=null --size=1m --iodepth=4 --gtod_reduce=1 --norandommap",
    "--ioengine=null --size=1m --log_compression=10k --write_lat_log=x",
    "--ioengine=null --size=1m --log_entries=2048 --write_bw_log=y",
    "--ioengine=psync --iodepth=32 --size=64k --filename=f1",
    "--ioengine=posixaio --size=64k --filename=f2 --rw=write",
    "--ioengine=libaio --size=64k --filename=f3 --rw=randwrite --iodepth=8",
    "--ioengine=io_uring --size=64k --filename=f4 --rw=randrw",
    "--ioengine=sync --size=64k --filename=f5 --rw=write --verify=md5",
    "--ioengine=sync --size=64k --filename=f6 --rw=write --verify=crc32c --experimental_verify=1",
    "--ioengine=mmap --size=64k --filename=f7 --rw=read --invalidate=1",
    "--ioengine=sync --size=64k --filename=f8 --rw=write --fallocate=none --end_fsync=1",
    "--ioengine=null --size=65536) --bs=4k]",
    "--ioengine=null --filesize=1m --size=100%%",
    "--ioengine=null --filesize=1m --size=200%",
    "--ioengine=null --size=1m --bsrange=512/25:1k:25:2k:25:4k/25",
    "--ioengine=null --size=1m, --iodepth=4, --bs=4k-64k",
    "--ioengine=null --size=1m --random_generator=tausworthe64 --rw=randread --zero_buffers",
];

fn fio(lab: &Lab, words: &str) -> Ended {
    let common = ["--name=job", "--max-jobs=16", "--alloc-size=65536"];
    lab.fio(common.into_iter().chain(words.split_whitespace()))
}

fn json(lab: &Lab, words: &str) -> Value {
    fio(lab, &format!("{words} --output-format=json"))
        .expect(0)
        .json()
}

#[test]
fn ordinary_jobs_say_nothing_on_standard_error() {
    for words in ORDINARY {
        let lab = Lab::new();
        let printed = fio(&lab, words).expect(0);
        assert_eq!(printed.err, "", "{words}");
        let kept = lab.names("").into_iter();
        let kept: Vec<String> = kept.filter(|name| name.contains("fathom")).collect();
        assert!(kept.is_empty(), "{words}: {kept:?}");
    }
}

#[test]
fn a_working_folder_that_cannot_be_written_stops_nothing() {
    let lab = Lab::new();
    let mut command = lab.fio_command(FATHOM);
    command.args(["--name=job", "--ioengine=null", "--size=1m"]);
    let printed = ended(command.current_dir("/proc")).expect(0);
    assert_eq!(printed.err, "");
}

/// The state that fio writes beside a job with checks is asked for by nobody, and a job without it is whole.
#[test]
fn a_state_that_cannot_be_saved_does_not_fail_a_job() {
    let lab = Lab::new();
    let target = format!("--filename={}", lab.path("f").display());
    let mut command = lab.fio_command(FATHOM);
    command.args(["--name=job", "--rw=write", "--size=64k", "--verify=crc32c"]);
    let printed = ended(command.arg(target).current_dir("/proc")).expect(0);
    assert!(printed.err.contains("is not saved"), "{}", printed.err);
    assert!(!printed.err.contains("error:"), "{}", printed.err);
    assert_eq!(lab.bytes("f").len(), 64 << 10);
}

#[test]
fn three_at_once_in_one_folder_do_not_meet() {
    let lab = Lab::new();
    std::thread::scope(|scope| {
        let one = |number: usize| {
            let lab = &lab;
            let words = format!("--filename=file{number} --size=1m --rw=randwrite --bs=4k");
            scope.spawn(move || (0..4).for_each(|_| assert_eq!(fio(lab, &words).expect(0).err, "")))
        };
        let all: Vec<_> = (0..3).map(one).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn what_changes_a_figure_is_said() {
    let lab = Lab::new();
    let printed = fio(&lab, "--ioengine=null --size=1m --time_based").expect(0);
    assert!(printed.err.contains("`time_based`"), "{}", printed.err);
}

#[test]
fn more_clones_than_max_jobs_are_refused() {
    let lab = Lab::new();
    for (most, code) in [("3", 2), ("4", 0)] {
        let words = ["--name=a", "--ioengine=null", "--size=4k", "--numjobs=4"];
        let most = format!("--max-jobs={most}");
        let ours = lab.fio(words.iter().chain(&[&*most])).expect(code);
        assert_eq!(ours.err.contains("--max-jobs"), code != 0, "{}", ours.err);
    }
}

#[test]
fn what_fio_reads_over_is_remarked_by_a_check() {
    let lab = Lab::new();
    for (line, remark) in [
        ("size=65536)", "`)` follows the value"),
        ("size=1m,", "`,` follows the value"),
        ("size=50%%", "one `%` is enough"),
        ("size=200%", "more than 100 % is 100 %"),
        ("size=200%%", "more than 100 % is 100 %"),
        ("bs=4k-64k", "for reads, 65536 for writes and trims"),
        ("bsrange=512/25:1k:25", "is read as 512 to 1k"),
    ] {
        let lines = format!("[a]\nioengine=null\nfilesize=1m\nsize=1m\n{line}\n");
        lab.write("lenient.fio", lines);
        let check = lab.fathom(&["check", "lenient.fio"]).expect(0);
        assert!(
            check.err.contains(remark) || check.out.contains(remark),
            "{line}: {} {}",
            check.out,
            check.err
        );
    }
    for line in ["size=2x", "size=10z", "runtime=1min"] {
        lab.write(
            "strict.fio",
            format!("[a]\nioengine=null\nfilesize=1m\n{line}\n"),
        );
        lab.fathom(&["check", "strict.fio"]).expect(2);
    }
}

#[test]
fn a_log_of_single_operations_has_a_row_for_each_in_the_order_of_time() {
    let lab = Lab::new();
    let job = "--ioengine=null --size=4g --bs=4k --rw=randread --norandommap --iodepth=64 --write_lat_log=all";
    let told = json(&lab, job);
    let count = told["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    assert_eq!(count, 1 << 20);
    let log = lab.text("all_lat.1.log");
    assert_eq!(log.lines().count() as u64, count);
    let times_ms = log
        .lines()
        .map(|row| row.split(',').next().unwrap().parse::<u64>().unwrap());
    assert!(times_ms.is_sorted());
}

#[test]
fn a_steady_state_that_is_not_attained_has_arrays_of_the_window() {
    let lab = Lab::new();
    let job = "--ioengine=null --size=1g --runtime=1 --time_based --rate_iops=100 --ss_dur=5 --ss=iops:0.1% --ss_ramp=3";
    let told = json(&lab, job);
    let data = &told["jobs"][0]["steadystate"]["data"];
    for name in ["bw", "iops"] {
        assert_eq!(data[name].as_array().unwrap().len(), 5, "{data}");
    }
}

#[test]
fn limits_of_steady_states_are_told_in_the_words_of_fio() {
    let lab = Lab::new();
    for (rule, line) in [
        ("iops:10", "set steady state IOPS threshold to 10.000000"),
        ("iops:.1%", "set steady state threshold to 0.100000%"),
        ("bw:12", "set steady state BW threshold to 12"),
    ] {
        let words = format!("--parse-only --debug=parse --ss_dur=10s --ss={rule} --ss_ramp=5");
        let printed = fio(&lab, &words).expect(0);
        assert!(printed.out.contains(line), "{}", printed.out);
        // fio tells it of options that no job follows, too.
        let printed = lab.fio(words.split(' ')).expect(0);
        assert_eq!(printed.out.matches(line).count(), 1, "{}", printed.out);
    }
}

#[test]
fn scripts_may_ask_for_idle_cpus_and_whether_an_option_is_known() {
    let lab = Lab::new();
    let told = json(&lab, "--ioengine=null --size=1m --idle-prof=percpu");
    let idleness = told["cpu_idleness"].as_object().unwrap();
    assert!(idleness.contains_key("cpu-0"), "{idleness:?}");
    for pct in idleness.values().map(|pct| pct.as_f64().unwrap()) {
        assert!((0.0..=100.0).contains(&pct), "{pct}");
    }
    let of_all = json(&lab, "--ioengine=null --size=1m --idle-prof=system");
    assert_eq!(of_all["cpu_idleness"].as_object().unwrap().len(), 1);
    assert!(
        json(&lab, "--ioengine=null --size=1m")
            .get("cpu_idleness")
            .is_none()
    );
    lab.fio(["--idle-prof=calibrate"]).expect(2);
    let known = lab.fio(["--parse-only", "--output-format=json+"]).expect(0);
    assert_eq!((known.out, known.err), (String::new(), String::new()));
    lab.fio(["--parse-only", "--output-format=jsom"]).expect(2);
}

/// Two I/Os wait in the ramp for each that is served.
#[test]
fn what_waits_from_a_ramp_is_scheduled_submitted_or_unserved() {
    let lab = Lab::new();
    let slow = "--ioengine=null --size=1g --rate_iops=150 --thinktime=20ms --ramp_time=1 --runtime=1 --time_based";
    let told = json(&lab, slow);
    let arrivals = &told["fathom"]["arrivals"][0];
    let count = |of: &str| arrivals[of].as_u64().unwrap();
    assert_eq!(
        count("scheduled"),
        count("submitted") + count("unserved"),
        "{arrivals:#}"
    );
    let responses = arrivals["response_ns"]["N"].as_u64().unwrap();
    assert!(responses.abs_diff(count("scheduled")) <= 1, "{arrivals:#}");
    assert!(count("scheduled") > 200, "{arrivals:#}");
}
