//! Jobs side by side with times of their own.
use crate::fio_traps::{plan, read, streams};
use plan::{Lifetime, Nanos, Plan, Stream, WarmupBytes, Window};

const SECOND: u64 = 1_000_000_000;

fn life(stream: &Stream) -> &Lifetime {
    stream.lifetime.as_ref().expect("it has its own time")
}

fn window(plan: &Plan) -> Window {
    plan.runs.last().expect("a run").timing.window
}

fn warmup(plan: &Plan) -> Nanos {
    plan.runs.last().expect("a run").timing.warmup
}

#[test]
fn jobs_of_the_same_time_have_that_of_their_run() {
    let plan = plan("[global]\nrw=write\nsize=1m\nruntime=9\nramp_time=2\ntime_based\n[a]\n[b]\n");
    assert!(
        streams(&plan)
            .iter()
            .all(|stream| stream.lifetime.is_none())
    );
    let window = window(&plan);
    assert_eq!(window, Window::For(Nanos::from_secs(9)));
    assert_eq!(warmup(&plan), Nanos::from_secs(2));
}

#[test]
fn each_job_has_its_own_ramp_and_end() {
    let plan = plan(
        "[global]\nrw=write\nsize=1m\n[a]\nruntime=4\nramp_time=3\ntime_based\n[b]\nruntime=7\nstartdelay=2\n",
    );
    let streams = streams(&plan);
    let of = |stream: &Stream| (stream.start_delay, life(stream).warmup, life(stream).window);
    let seconds = Nanos::from_secs;
    let expected = (seconds(0), seconds(3), Some(seconds(4)));
    assert_eq!(of(&streams[0]), expected);
    let expected = (seconds(2), seconds(0), Some(seconds(7)));
    assert_eq!(of(&streams[1]), expected);
    // What no job measures is the warm-up of the run, and it ends with the last of them.
    assert_eq!(warmup(&plan), seconds(2));
    let at_most = Some(Nanos(7 * SECOND));
    assert_eq!(window(&plan), Window::UntilDone { at_most });
    assert_eq!(streams[1].stop.bytes, Some(1 << 20));
    assert_eq!(streams[0].stop.bytes, None);
}

#[test]
fn a_ramp_and_a_delay_follow_each_other() {
    let plan = plan("[a]\nrw=write\nsize=1m\nstartdelay=5\nramp_time=2\nruntime=3\ntime_based\n");
    let stream = &streams(&plan)[0];
    assert_eq!(life(stream).warmup, Nanos::from_secs(2));
    assert_eq!(warmup(&plan), Nanos::from_secs(7));
    let at_most = Some(Nanos::from_secs(3));
    assert_eq!(window(&plan), Window::UntilDone { at_most });
}

#[test]
fn a_job_waits_for_all_clones_of_another_while_others_go_on() {
    let plan = plan(
        "[global]\nrw=write\nsize=1m\n[a]\nnumjobs=2\n[b]\nwait_for=a\n[c]\nruntime=9\ntime_based\n",
    );
    assert_eq!(plan.runs.len(), 1);
    let streams = streams(&plan);
    assert_eq!(life(&streams[2]).after, [0, 1]);
    assert!(life(&streams[3]).after.is_empty());
    assert_eq!(window(&plan), Window::UntilDone { at_most: None });
}

#[test]
fn jobs_that_wait_for_all_before_them_are_runs_of_their_own() {
    let plan = plan("[global]\nrw=write\nsize=1m\n[a]\n[b]\nwait_for=a\n[c]\nwait_for=b\n");
    assert_eq!(plan.runs.len(), 3);
    assert!(
        streams(&plan)
            .iter()
            .all(|stream| stream.lifetime.is_none())
    );
}

#[test]
fn the_end_of_one_clone_ends_its_group_or_all() {
    let text = "[global]\nrw=write\nsize=1m\n[a]\nexitall\nnumjobs=2\n[b]\nnew_group\n";
    let group = streams(&plan(text));
    assert_eq!(life(&group[0]).ends, [1]);
    assert_eq!(life(&group[1]).ends, [0]);
    assert!(life(&group[2]).ends.is_empty());
    let all = streams(&plan(
        &text.replace("exitall\n", "exitall\nexit_what=stonewall\n"),
    ));
    assert_eq!(life(&all[0]).ends, [1, 2]);
}

#[test]
fn the_end_of_one_job_ends_those_that_come_behind_it_too() {
    let text = "[global]\nrw=write\nsize=1m\n[a]\nexitall\nexit_what=all\n[b]\n[c]\nstonewall\n";
    let found = plan(text);
    assert_eq!(streams(&found).len(), 2);
    assert_eq!(life(&streams(&found)[0]).ends, [1]);
    let all = plan(&text.replace("exit_what=all", "exit_what=stonewall"));
    assert_eq!(all.templates.len(), found.templates.len() + 1);
}

#[test]
fn the_failure_of_one_job_keeps_those_behind_it_from_beginning_where_that_is_asked() {
    let text =
        "[global]\nrw=write\nsize=1m\n[a]\nexitall_on_error\nexit_what=all\n[b]\n[c]\nstonewall\n";
    let ends = |text: &str| -> Vec<bool> {
        let found = plan(text);
        let streams = found.templates.iter().flat_map(|one| &one.streams);
        let tolerance = |stream: &plan::Stream| stream.flow.tolerance.clone().unwrap();
        streams
            .map(|stream| tolerance(stream).ends_execution)
            .collect()
    };
    assert_eq!(ends(text), [true, false, false]);
    let stonewall = text.replace("exit_what=all", "exit_what=stonewall");
    assert_eq!(ends(&stonewall), [false; 3]);
    assert_eq!(ends(&text.replace("exitall_on_error\n", "")), [false; 3]);
}

#[test]
fn a_steady_state_is_looked_for_each_time_an_interval_has_passed() {
    let job = "[a]\nrw=read\nsize=1m\nruntime=60\ntime_based\nss_dur=6\n";
    let steady = |more: &str| {
        let plan = plan(&format!("{job}{more}"));
        let steady = streams(&plan)[0].flow.steady.expect("a rule");
        (
            steady.samples,
            steady.every,
            plan.runs.last().unwrap().timing.interval,
        )
    };
    let half = Nanos(SECOND / 2);
    assert_eq!(steady(""), (6, Nanos(SECOND), half));
    assert_eq!(steady("ss_interval=3\n"), (2, Nanos(3 * SECOND), half));
    // Intervals end where samples do.
    let third = Nanos(1_500_000_000 / 4);
    let uneven = steady("ss_interval=1500ms\nbwavgtime=400\n");
    assert_eq!(uneven, (4, Nanos(1_500_000_000), third));
    for (more, code) in [
        ("ss_interval=500ms\n", "fio-0105"),
        ("ss_interval=4\n", "fio-0130"),
        ("ss_interval=7\n", "fio-0130"),
    ] {
        let found = read(&format!("{job}{more}")).diagnostics;
        let codes: Vec<&str> = found.iter().map(|one| one.code.as_ref()).collect();
        assert!(codes.contains(&code), "{more}: {found:?}");
    }
}

#[test]
fn a_ramp_may_be_an_amount() {
    let job = "[a]\nrw=write\nsize=1m\nruntime=9\ntime_based\nnumjobs=2\nramp_size=64k\n";
    let ramp = |group| {
        Some(WarmupBytes {
            bytes: 64 << 10,
            group,
        })
    };
    let apart = plan(job);
    for stream in streams(&apart) {
        assert_eq!(life(&stream).warmup_bytes, ramp(None));
        assert_eq!(life(&stream).window, Some(Nanos::from_secs(9)));
    }
    // Nobody knows when it is over.
    assert_eq!(warmup(&apart), Nanos(0));
    assert_eq!(window(&apart), Window::UntilDone { at_most: None });
    let together = plan(&format!("{job}group_reporting\n"));
    let all = streams(&together);
    assert!(
        all.iter()
            .all(|stream| life(stream).warmup_bytes == ramp(Some(0)))
    );
    let both = read(&format!("{job}ramp_time=1\n")).diagnostics;
    assert!(both.iter().any(|one| one.code == "fio-0130"), "{both:?}");
    assert!(!read(&format!("{job}ramp_time=0\n")).has_errors());
}
