//! What people trip over in job files: one test for each trap that the reader decides.
use lang::fio::{self, Input, Reading};
use lang::{Environment, MemoryFiles};
use plan::{
    LocalStop, OpSource, Pacing, Plan, Preparation, SizeRule, Stream, TransferSizes, Window,
};

pub(crate) fn read(text: &str) -> Reading {
    let files = MemoryFiles::default();
    let mut environment = Environment::bare(&files);
    environment.memory_bytes = 8 << 30;
    environment.cpus = 4;
    environment.cpu_nodes = [(0, vec![0, 1]), (1, vec![2, 3]), (2, vec![])].into();
    let input = Input::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    fio::read(&[input], &[], &environment)
}

pub(crate) fn plan(text: &str) -> Plan {
    let reading = read(text);
    reading
        .plan
        .unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
}

pub(crate) fn streams(plan: &Plan) -> Vec<Stream> {
    let measured = plan
        .runs
        .iter()
        .filter(|run| run.kind == plan::RunKind::Measure);
    measured
        .flat_map(|run| plan.templates[run.template.index()].streams.clone())
        .collect()
}

fn has(reading: &Reading, code: &str) -> bool {
    reading.diagnostics.iter().any(|found| found.code == code)
}

#[test]
fn comment_marks_cut_a_line_anywhere() {
    let plan = plan("[j]\nfilename=/d/foo#bar\nsize=1m ; all\n");
    assert_eq!(plan.targets[0].path.to_str(), Some("/d/foo"));
}

#[test]
fn later_globals_hold_for_later_jobs_only() {
    let plan = plan("[global]\nbs=8k\n[a]\nsize=1m\n[global]\nbs=16k\n[b]\nsize=1m\n");
    let sizes: Vec<u64> = streams(&plan)
        .iter()
        .map(|stream| match &stream.source {
            OpSource::Generator(generator) => generator.transfer.read.largest(),
            _ => 0,
        })
        .collect();
    assert_eq!(sizes, [8192, 16384]);
}

#[test]
fn missing_members_copy_the_last_and_a_comma_stops_that() {
    let of = |bs: &str| match &streams(&plan(&format!("[j]\nsize=1m\nbs={bs}\n")))[0].source {
        OpSource::Generator(generator) => generator.transfer.clone(),
        _ => unreachable!("jobs draw their I/O"),
    };
    assert_eq!(of("8k,32k").trim, TransferSizes::Fixed(32 << 10));
    assert_eq!(of("8k,32k,").trim, TransferSizes::Fixed(4096));
    assert_eq!(of(",8k").read, TransferSizes::Fixed(4096));
}

#[test]
fn apostrophes_stay_and_the_section_names_files() {
    let plan = plan("[s]\nname=n\nsize=1m\nnumjobs=2\nfilename_format=$jobname'$jobnum'\n");
    let paths: Vec<&str> = plan
        .targets
        .iter()
        .filter_map(|t| t.path.to_str())
        .collect();
    assert_eq!(paths, ["s'0'", "s'1'"]);
}

#[test]
fn sizes_and_rates_are_per_clone_and_rates_per_direction() {
    let plan = plan("[j]\nrw=randrw\nsize=1m\nnumjobs=2\nrate=8m\nbs=4k\n");
    for stream in streams(&plan) {
        assert_eq!(stream.stop.bytes, Some(1 << 20));
        let Pacing::Rate { per_second, .. } = stream.pacing else {
            panic!("{:?}", stream.pacing)
        };
        assert_eq!(
            (per_second.read, per_second.write),
            (Some(2048.0), Some(2048.0))
        );
    }
}

#[test]
fn readers_are_laid_out_and_writers_are_not() {
    let of = |rw: &str| plan(&format!("[j]\nrw={rw}\nsize=1m\n")).targets[0].preparation;
    assert_eq!(of("randread"), Preparation::MakeOrExtend);
    assert_eq!(of("write"), Preparation::AsFound);
}

#[test]
fn a_time_that_is_missing_leaves_the_amount() {
    let reading = read("[j]\nrw=write\nsize=4m\ntime_based\n");
    assert!(has(&reading, "fio-0302"));
    let plan = reading.plan.unwrap();
    assert_eq!(
        plan.runs[0].timing.window,
        Window::UntilDone { at_most: None }
    );
    assert_eq!(streams(&plan)[0].stop.bytes, Some(4 << 20));
}

#[test]
fn synchronous_engines_hold_one() {
    let reading = read("[j]\nioengine=sync\niodepth=32\nsize=1m\n");
    assert!(has(&reading, "fio-0303"));
    assert_eq!(reading.plan.unwrap().templates[0].pools[0].slots, 1);
}

#[test]
fn a_device_without_a_size_is_done_once() {
    let plan = plan("[/dev/sdx]\nrw=read\nloops=3\n");
    assert_eq!(plan.targets[0].size, SizeRule::AsFound);
    let stop = LocalStop {
        passes: Some(3),
        rounds: Some(plan::Rounds {
            count: 3,
            until_done: false,
        }),
        ..LocalStop::default()
    };
    assert_eq!(streams(&plan)[0].stop, stop);
}

#[test]
fn facts_of_the_host_are_computed_with() {
    let plan = plan("[j]\nrw=write\nsize=2*$mb_memory*1024*1024/$ncpus\nnumjobs=$ncpus\n");
    assert_eq!(plan.targets.len(), 4);
    assert_eq!(plan.targets[0].size, SizeRule::Bytes(4 << 30));
}

#[test]
fn a_stonewall_parts_runs_and_groups_and_a_new_group_parts_groups() {
    let plan = plan("[a]\nsize=1m\n[b]\nnew_group\nsize=1m\n[c]\nstonewall\nsize=1m\n");
    let groups: Vec<String> = streams(&plan)
        .iter()
        .filter_map(|stream| plan::Label::find(&stream.labels, "group").map(str::to_owned))
        .collect();
    assert_eq!(groups, ["0", "1", "2"]);
    let measured = plan
        .runs
        .iter()
        .filter(|run| run.kind == plan::RunKind::Measure);
    assert_eq!(measured.count(), 2);
}

#[test]
fn no_engine_stands_in_for_another() {
    use plan::IoMethod::{Calls, KernelQueue, Nothing, Ring};
    let methods = |second: &str| {
        let text = format!("[a]\nsize=1m\nioengine=psync\n[b]\nsize=1m\nioengine={second}\n");
        let reading = read(&text);
        assert!(reading.run_blockers.is_empty());
        let plan = reading.plan.unwrap();
        let measured = plan.runs.last().unwrap().template;
        let pools = plan.templates[measured.index()].pools.iter();
        pools.map(|pool| pool.method.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(methods("io_uring"), [Calls, Ring]);
    assert_eq!(methods("libaio"), [Calls, KernelQueue]);
    assert_eq!(methods("null"), [Calls, Nothing]);
    assert_eq!(methods("sync"), [Calls, Calls]);
}

#[test]
fn windows_of_logs_end_with_an_interval() {
    let ms = |options: &str| {
        let reading = read(&format!("[j]\nsize=1m\n{options}\n"));
        assert!(reading.run_blockers.is_empty(), "{options}");
        reading.plan.unwrap().runs.pop().unwrap().timing.interval.0 as f64 / 1e6
    };
    assert_eq!(ms("log_avg_msec=20"), 500.0);
    assert_eq!(ms("write_bw_log\nlog_avg_msec=20"), 20.0);
    assert_eq!(ms("write_bw_log\nlog_avg_msec=750"), 375.0);
    assert_eq!(ms("write_bw_log\nlog_avg_msec=1000\nbwavgtime=100"), 100.0);
    assert_eq!(
        ms("write_lat_log\nlog_avg_msec=200\nwrite_hist_log\nlog_hist_msec=300"),
        100.0
    );
    assert_eq!(ms("write_bw_log\nlog_avg_msec=7"), 500.0);
}

#[test]
fn windows_of_logs_that_are_too_short_for_intervals_need_single_operations() {
    let folds = |options: &str| {
        let text =
            format!("[global]\nsize=1m\nwrite_bw_log\n[j]\n{options}\n[k]\nlog_avg_msec=25\n");
        let folds = |stream: &plan::Stream| {
            plan::Label::find(&stream.labels, "log_windows") == Some("operations")
        };
        let streams = streams(&plan(&text));
        assert_eq!(folds(&streams[0]), folds(&streams[1]));
        folds(&streams[0])
    };
    assert!(!folds("log_avg_msec=50"));
    assert!(folds("log_avg_msec=7"));
    // Each alone is long enough, and they end together every 5 ms.
    assert!(folds("log_avg_msec=20"));
}

#[test]
fn a_log_of_histograms_needs_a_window() {
    let warned = |options: &str| {
        let reading = read(&format!("[j]\nsize=1m\nwrite_hist_log=h\n{options}\n"));
        assert!(reading.run_blockers.is_empty() && reading.plan.is_some());
        has(&reading, "fio-0131")
    };
    assert!(warned(""));
    assert!(!warned("log_hist_msec=1000\nlog_hist_coarseness=2"));
}

/// Sizes of files and delays are drawn while a plan is made: the same again unless the job says otherwise.
#[test]
fn what_a_plan_draws_follows_the_seed_that_its_job_names() {
    let drawn = |options: &str, fresh_seed: u64| {
        let files = MemoryFiles::default();
        let mut environment = Environment::bare(&files);
        environment.fresh_seed = fresh_seed;
        let text = format!("[j]\nnrfiles=3\nfilesize=4k:4m\nstartdelay=1:900\n{options}\n");
        let input = Input::Text {
            name: "job".to_owned(),
            bytes: text.into_bytes(),
        };
        let plan = fio::read(&[input], &[], &environment).plan.unwrap();
        let sizes: Vec<SizeRule> = plan.targets.iter().map(|target| target.size).collect();
        (sizes, streams(&plan)[0].start_delay, plan.seed)
    };
    for repeated in [
        "",
        "allrandrepeat=0",
        "allrandrepeat=1\nrandrepeat=0",
        "randrepeat=0\nrandseed=7",
    ] {
        assert_eq!(drawn(repeated, 5), drawn(repeated, 6), "{repeated}");
    }
    assert_eq!(drawn("", 5), drawn("allrandrepeat=0", 5));
    let (first, other) = (drawn("randrepeat=0", 5), drawn("randrepeat=0", 6));
    assert!(first.0 != other.0 && first.1 != other.1, "{first:?}");
}
