//! One test for each entry of a list of things that trip over those who build what fio is: the
//! number in a name is that of the list. Where Fathom means to differ, `docs/differences.md` says
//! so, and the test holds the difference.
use crate::lab::{Ended, Lab};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

struct Bench(Lab);

impl Bench {
    fn new() -> Self {
        Self(Lab::new())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        self.0.write(name, text);
        self
    }

    fn fio(&self, arguments: &[&str]) -> Ended {
        self.0.fio(arguments)
    }

    fn text(&self, arguments: &[&str]) -> String {
        self.fio(arguments).expect(0).out
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let words = [&["--output-format=json"], arguments].concat();
        self.fio(&words).expect(0).json()
    }

    /// The report of a job file.
    fn job(&self, text: &str) -> Value {
        self.write("job.fio", text).json(&["job.fio"])
    }

    /// What standard error says of a command that is refused as written.
    fn refused(&self, arguments: &[&str]) -> String {
        self.fio(arguments).expect(2).err
    }

    /// Offsets of a record, in order.
    fn offsets(&self, record: &str) -> Vec<u64> {
        let text = self.0.text(record);
        let rows = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        rows.filter(|words| words.len() == 5 && words[2] == "read")
            .map(|words| words[3].parse().unwrap())
            .collect()
    }
}

/// Ten operations that reach no storage.
const TEN: &str = "ioengine=null\nsize=1m\nnumber_ios=10\n";

fn whole(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn real(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn trap_01_comments_cut_lines_of_files_and_never_words_of_the_command_line() {
    let bench = Bench::new();
    let report = bench.job(&format!("[j]\n{TEN}description=a#b;c\n"));
    assert_eq!(report["jobs"][0]["job options"]["description"], "a");
    let words = [
        "--name=j",
        "--ioengine=null",
        "--size=1m",
        "--number_ios=10",
    ];
    let report = bench.json(&[&words[..], &["--description=a#b;c"]].concat());
    assert_eq!(report["jobs"][0]["job options"]["description"], "a#b;c");
}

#[test]
fn trap_02_blanks_behind_the_equal_sign_belong_to_a_text_and_not_to_a_number() {
    let bench = Bench::new();
    let job = "[j]\nioengine=null\nsize=1m\nnumber_ios= 10\nfilename_format= x\n";
    let report = bench.job(job);
    assert_eq!(whole(&report["jobs"][0]["read"]["total_ios"]), 10);
    assert_eq!(report["jobs"][0]["job options"]["filename_format"], " x");
}

#[test]
fn trap_03_globals_hold_for_later_jobs_of_the_same_file() {
    let bench = Bench::new();
    let first = format!("[global]\n{TEN}bs=8k\n[a]\n[global of more]\nbs=16k\n[b]\n");
    bench
        .write("one.fio", &first)
        .write("two.fio", &format!("[c]\n{TEN}"));
    let report = bench.json(&["one.fio", "two.fio"]);
    let bytes = |place: usize| whole(&report["jobs"][place]["read"]["io_bytes"]) / 10;
    assert_eq!([bytes(0), bytes(1), bytes(2)], [8192, 16384, 4096]);
}

#[test]
fn trap_04_units_are_turned_round_and_decimals_are_read_as_meant() {
    let bench = Bench::new();
    for (bs, bytes) in [
        ("4k", 4096),
        ("4kib", 4000),
        ("4Ki", 4096),
        ("4kb", 4096),
        ("1.5k", 1536),
    ] {
        let report = bench.job(&format!("[j]\n{TEN}bs={bs}\n"));
        assert_eq!(
            whole(&report["jobs"][0]["read"]["io_bytes"]),
            bytes * 10,
            "{bs}"
        );
    }
    bench.write("job.fio", &format!("[j]\n{TEN}bs=1.5k\n"));
    bench.fio(&["job.fio"]).says(&["fio-0300"]);
}

#[test]
fn trap_05_bare_times_have_the_unit_of_their_option_and_unknown_units_are_refused() {
    let bench = Bench::new();
    let job =
        |rest: &str| format!("[j]\nioengine=null\nsize=1m\nrate_iops=100\ntime_based\n{rest}\n");
    let ms = |rest: &str| whole(&bench.job(&job(rest))["jobs"][0]["job_runtime"]);
    assert!(ms("runtime=1") >= 900, "seconds");
    assert!(ms("runtime=1500000us") >= 1400, "microseconds");
    bench.write("job.fio", &job("runtime=1min"));
    assert!(bench.refused(&["job.fio"]).contains("fio-0104"));
}

#[test]
fn trap_06_missing_members_copy_the_last_one_but_not_behind_a_comma() {
    let bench = Bench::new();
    for (bs, bytes) in [
        ("8k", 8192),
        ("8k,16k", 16384),
        ("8k,", 4096),
        (",16k", 16384),
    ] {
        let report = bench.job(&format!("[j]\n{TEN}rw=write\nbs={bs}\n"));
        assert_eq!(
            whole(&report["jobs"][0]["write"]["io_bytes"]),
            bytes * 10,
            "{bs}"
        );
    }
}

const FILES: &str = "ioengine=psync\nrw=write\nsize=8k\n";

#[test]
fn trap_07_apostrophes_in_names_of_files_stay() {
    let bench = Bench::new();
    bench.job(&format!(
        "[j]\n{FILES}filename_format=f'$jobnum'\nnumjobs=2\n"
    ));
    assert!(bench.path("f'0'").exists() && bench.path("f'1'").exists());
}

#[test]
fn trap_08_the_section_names_files_and_not_the_name() {
    let bench = Bench::new();
    let report = bench.job(&format!("[section]\nname=other\n{FILES}"));
    assert_eq!(report["jobs"][0]["jobname"], "other");
    assert!(bench.path("section.0.0").exists());
}

#[test]
fn trap_09_sizes_and_rates_are_those_of_a_clone_and_rates_those_of_a_direction() {
    let bench = Bench::new();
    let job = "[j]\nioengine=null\nsize=64k\nnumjobs=3\ngroup_reporting\n";
    assert_eq!(whole(&bench.job(job)["jobs"][0]["read"]["total_ios"]), 48);
    let job = "[j]\nioengine=null\nsize=1m\nrw=randrw\nrate_iops=200\ntime_based\nruntime=1\n";
    let report = bench.job(job);
    for direction in ["read", "write"] {
        let count = whole(&report["jobs"][0][direction]["total_ios"]);
        assert!((100..=201).contains(&count), "{direction}: {count}");
    }
}

#[test]
fn trap_10_readers_lay_files_out_and_what_a_short_one_holds_stays() {
    let bench = Bench::new();
    let job = "[j]\nioengine=psync\nrw=read\nsize=64k\nfilename=f\n";
    let shown = bench.write("job.fio", job).text(&["job.fio"]);
    assert!(shown.contains("Laying out IO file (1 file / "), "{shown}");
    assert_eq!(bench.0.length("f"), 64 << 10);
    bench.job(&job.replace("64k", "128k"));
    assert_eq!(bench.0.length("f"), 128 << 10);
    // What is not ours has to be named, and is extended to the byte then: nothing of it is made anew.
    bench.write("f", "precious").write("job.fio", job);
    bench.fio(&["job.fio"]).expect(3);
    assert_eq!(bench.0.bytes("f"), b"precious");
    bench.json(&["job.fio", "--overwrite", "f"]);
    let found = bench.0.bytes("f");
    assert_eq!(found.len(), 64 << 10);
    assert!(found.starts_with(b"precious"));
}

#[test]
fn trap_11_time_based_without_a_time_ends_with_the_size() {
    let bench = Bench::new();
    bench.write("job.fio", "[j]\nioengine=null\nsize=1m\ntime_based\n");
    let output = bench.fio(&["--output-format=json", "job.fio"]);
    let report = output.says(&["fio-0302"]).json();
    assert_eq!(whole(&report["jobs"][0]["read"]["total_ios"]), 256);
}

#[test]
fn trap_12_synchronous_engines_hold_one_and_tell_no_submission() {
    let bench = Bench::new();
    let job = "[j]\nioengine=psync\nrw=write\nsize=64k\nfilename=f\niodepth=32\n";
    bench
        .write("job.fio", job)
        .fio(&["--parse-only", "job.fio"])
        .says(&["fio-0303"]);
    let shown = bench.text(&["job.fio"]);
    assert!(shown.contains("ioengine=psync, iodepth=32"), "{shown}");
    assert!(
        shown.contains("IO depths    : 1=100.0%") && !shown.contains("slat ("),
        "{shown}"
    );
}

#[test]
fn trap_13_the_distribution_is_of_all_directions_together() {
    let bench = Bench::new();
    let report = bench.job("[j]\nioengine=null\nsize=1m\nrw=randrw\nnumber_ios=200\n");
    let job = &report["jobs"][0];
    assert!(whole(&job["read"]["total_ios"]) > 0 && whole(&job["write"]["total_ios"]) > 0);
    let classes = ["latency_ns", "latency_us", "latency_ms"];
    let shares = classes
        .iter()
        .flat_map(|class| job[class].as_object().unwrap().values());
    let sum: f64 = shares.map(real).sum();
    assert!((99.0..101.0).contains(&sum), "{sum}");
}

#[test]
fn trap_14_each_line_of_latencies_has_a_unit_of_its_own() {
    let bench = Bench::new();
    // Each I/O of the simulated device takes 100 µs: above the bounds for the least and the most,
    // but they do not differ, and so they are shown in the smaller unit.
    let job = "[j]\nioengine=io_uring\nfilename=f\nrw=write\nsize=1m\niodepth=2\n";
    let shown = bench
        .write("job.fio", job)
        .text(&["--backend", "sim", "job.fio"]);
    for line in [
        "slat (nsec): min=0,",
        "clat (nsec): min=99840, max=100000,",
        "clat percentiles (nsec):",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}

#[test]
fn trap_15_samples_of_a_group_are_sums_of_those_of_its_members() {
    let bench = Bench::new();
    let job = "[j]\nioengine=null\nsize=1m\nrate_iops=1000\ntime_based\nruntime=2\nnumjobs=2\n";
    let apart = bench.job(job);
    let together = bench.job(&format!("{job}group_reporting\n"));
    let mean = |report: &Value, place: usize| real(&report["jobs"][place]["read"]["iops_mean"]);
    let sum = mean(&apart, 0) + mean(&apart, 1);
    let group = mean(&together, 0);
    assert!((group - sum).abs() < sum / 4.0, "{group} {sum}");
    assert!(group > 1.5 * mean(&apart, 0), "{group}");
}

#[test]
fn trap_16_rates_of_a_group_are_over_its_longest_time() {
    let bench = Bench::new();
    let job = "[global]\nioengine=null\nsize=1m\ngroup_reporting\n[quick]\nnumber_ios=100\n\
               rate_iops=1000\n[slow]\nnumber_ios=100\nrate_iops=50\n";
    let report = bench.job(job);
    let read = &report["jobs"][0]["read"];
    assert_eq!(whole(&read["total_ios"]), 200);
    assert!(whole(&read["runtime"]) >= 1900, "{read:#}");
    assert!(
        real(&read["iops"]) < 110.0,
        "not the sum of both rates: {read:#}"
    );
}

#[test]
fn trap_17_percentiles_are_middles_of_buckets() {
    let bench = Bench::new();
    bench.write("job.fio", "[j]\nioengine=null\nsize=1m\nnumber_ios=500\n");
    let report = bench.fio(&["--output-format=json+", "job.fio"]).expect(0);
    let report = report.json();
    let latency = &report["jobs"][0]["read"]["clat_ns"];
    let bins: BTreeSet<&String> = latency["bins"].as_object().unwrap().keys().collect();
    for (name, value) in latency["percentile"].as_object().unwrap() {
        assert!(
            bins.contains(&value.to_string()),
            "{name}: {value} is no bucket"
        );
    }
}

#[test]
fn trap_18_terse_lines_have_121_fields_and_nine_more_for_a_disk() {
    let bench = Bench::new();
    bench.write("job.fio", &format!("[j]\n{TEN}"));
    let line = bench.text(&["--minimal", "job.fio"]);
    assert_eq!(line.trim_end().split(';').count(), 121, "{line}");
    bench.write("job.fio", &format!("[j]\n{FILES}"));
    let line = bench.text(&["--minimal", "job.fio"]);
    assert_eq!((line.trim_end().split(';').count() - 121) % 9, 0, "{line}");
}

#[test]
fn trap_19_json_leaves_flags_out_and_has_every_direction() {
    let bench = Bench::new();
    let job = "[j]\nioengine=null\nsize=1m\nrw=read\nstonewall\nnumber_ios=10\n";
    let report = bench.job(job);
    assert_eq!(whole(&report["jobs"][0]["write"]["total_ios"]), 0);
    assert!(report["jobs"][0]["job options"].get("stonewall").is_none());
    assert_eq!(report["jobs"][0]["job options"]["rw"], "read");
    assert!(report.get("disk_util").is_none(), "no disk was used");
}

fn is_refused(arguments: &[&str], says: &str) {
    let bench = Bench::new();
    bench.write("job.fio", &format!("[j]\n{TEN}"));
    let said = bench.refused(arguments);
    assert!(said.contains(says), "{arguments:?}: {said}");
    assert!(!bench.path("fathom-output").exists());
}

#[test]
fn trap_20_no_server_is_needed() {
    is_refused(&["--server"], "no server is needed");
}

#[test]
fn trap_21_a_client_without_a_file_is_refused() {
    is_refused(&["--client=a", "--client=b", "job.fio"], "has no job file");
    is_refused(&["--client=a", "--client=b"], "has no job file");
}

#[test]
fn trap_22_jobs_of_the_command_line_for_a_client_are_refused() {
    let words = ["--client=a", "--name=j", "--size=1m"];
    is_refused(&words, "jobs of `--client` come from files");
}

#[test]
fn trap_23_a_stonewall_begins_a_group_and_a_delay_counts_from_there() {
    let bench = Bench::new();
    let job = format!("[global]\n{TEN}[a]\n[b]\n[c]\nstonewall\nstartdelay=1\n");
    let begun = std::time::Instant::now();
    let report = bench.job(&job);
    assert!(begun.elapsed().as_secs_f64() >= 1.0);
    let groups: Vec<u64> = (0..3)
        .map(|place| whole(&report["jobs"][place]["groupid"]))
        .collect();
    assert_eq!(groups, [0, 0, 1]);
}

#[test]
fn trap_24_reports_in_between_count_from_the_start_and_bare_intervals_are_seconds() {
    let bench = Bench::new();
    bench.write(
        "job.fio",
        "[j]\nioengine=null\nsize=1m\nrate_iops=200\ntime_based\nruntime=3\n",
    );
    let arguments = [
        "--output-format=json",
        "--status-interval=1",
        "--eta-interval=1000",
        "job.fio",
    ];
    let text = bench.text(&arguments);
    let reports = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let counts: Vec<u64> = reports
        .map(|report| whole(&report.unwrap()["jobs"][0]["read"]["total_ios"]))
        .collect();
    assert!(counts.len() >= 3, "{counts:?}");
    assert!(
        counts.windows(2).all(|pair| pair[0] <= pair[1]),
        "{counts:?}"
    );
    assert!(
        bench
            .refused(&["--eta-interval=100ms", "job.fio"])
            .contains("250ms")
    );
}

#[test]
fn trap_25_the_same_job_has_the_same_offsets_and_clones_have_others() {
    let offsets = || {
        let bench = Bench::new();
        let job = "[global]\nioengine=null\nrw=randread\nsize=1m\nnumber_ios=50\nnorandommap\n\
                   [a]\nwrite_iolog=a.log\n[b]\nwrite_iolog=b.log\n";
        bench.job(job);
        (bench.offsets("a.log"), bench.offsets("b.log"))
    };
    let (first, second) = (offsets(), offsets());
    assert_eq!(first.0.len(), 50);
    assert_eq!(first, second);
    assert_ne!(first.0, first.1);
}

#[test]
fn trap_26_a_random_map_has_every_block_once_in_a_pass() {
    let bench = Bench::new();
    bench.job("[j]\nioengine=null\nrw=randread\nsize=1m\nloops=2\nwrite_iolog=r.log\n");
    let offsets = bench.offsets("r.log");
    let all: BTreeSet<u64> = (0..256).map(|block| block * 4096).collect();
    assert_eq!(offsets[..256].iter().copied().collect::<BTreeSet<_>>(), all);
    assert_eq!(offsets[256..].iter().copied().collect::<BTreeSet<_>>(), all);
    assert_ne!(offsets[..256], offsets[256..]);
}

#[test]
fn trap_27_latencies_of_fio_begin_behind_the_wait_for_a_rate_and_arrivals_are_told_apart() {
    let bench = Bench::new();
    let report = bench.job("[j]\nioengine=null\nsize=1m\nrate_iops=5\nnumber_ios=5\n");
    let latency = &report["jobs"][0]["read"]["lat_ns"];
    // Between two of them lie 200 ms.
    assert!(real(&latency["mean"]) < 50e6, "{latency:#}");
    let arrivals = &report["fathom"]["arrivals"][0];
    assert_eq!(whole(&arrivals["submitted"]), 5, "{arrivals:#}");
}

#[test]
fn trap_28_exit_codes_are_those_of_one_table() {
    let bench = Bench::new();
    bench.write("bad.fio", "[j]\nrw=raed\n");
    bench.fio(&["bad.fio"]).expect(2);
    bench.write(
        "job.fio",
        "[j]\nioengine=null\nsize=1m\nrate_iops=100\ntime_based\nruntime=60\n",
    );
    let going = bench.0.start(&[
        "fio",
        "--status-interval=500ms",
        "--result=fathom-output",
        "job.fio",
    ]);
    // Once results are there, the run is going and signals are heard.
    let result = bench.path("fathom-output/result.fathom");
    while !result.exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(700));
    going.signal("INT");
    // Stopped by the user.
    going.end().expect(4).prints(&["err= 0", "IOPS="]);
}
