//! Rules over whole runs: what is measured, what ends a run, what comes after it.
use crate::plans::*;
use crate::story::simulate;
use engine::sim::Script;
use measure::{FinishReason, IntervalPhase};
use plan::*;

fn reads(runs: Vec<RunSpec>) -> BoundPlan {
    bind_unreal(plan(
        vec![simulated(64 * MIB)],
        &[4],
        vec![stream(0, 0, |_| {})],
        runs,
    ))
}

fn timed(change: impl FnOnce(&mut Timing)) -> RunSpec {
    let mut spec = flat_out(SECOND, 100 * MS);
    change(&mut spec.timing);
    spec
}

#[test]
fn warm_up_and_a_dropped_first_interval_stay_out_of_the_averages() {
    let dropped = timed(|timing| timing.first_interval = FirstInterval::Dropped);
    let warm = timed(|timing| {
        timing.first_interval = FirstInterval::Dropped;
        timing.warmup = Nanos(250 * MS);
    });
    let story = simulate(&reads(vec![dropped, warm]), &Script::default(), 2);
    for (run, (first, intervals, length_ms)) in [(2, 10, 900), (4, 13, 950)].into_iter().enumerate()
    {
        let (totals, finished) = (&story.totals[run], story.finished(run));
        assert_eq!(
            (finished.first_measured, finished.last_measured),
            (first, intervals)
        );
        assert_eq!(totals.length_ns, length_ms * MS);
        // Four slots at 100 µs; who comes back at the end of an interval belongs to the next.
        assert_eq!(totals.operations(), length_ms * 40);
        for interval in story.intervals(run as u32) {
            let is_measured = interval.number >= first;
            assert_eq!(interval.phase == IntervalPhase::Measured, is_measured);
        }
    }
}

#[test]
fn a_window_that_is_no_multiple_of_the_interval_ends_with_a_short_one() {
    let spec = timed(|timing| timing.interval = Nanos(300 * MS));
    let story = simulate(&reads(vec![spec]), &Script::default(), 2);
    let lengths: Vec<u64> = story
        .intervals(0)
        .iter()
        .map(|interval| interval.length_ns() / MS)
        .collect();
    assert_eq!(lengths, [300, 300, 300, 100]);
}

#[test]
fn a_pause_comes_between_runs_and_not_behind_the_last() {
    let spec = timed(|timing| timing.pause_after = Nanos(3 * SECOND));
    let story = simulate(&reads(vec![spec.clone(), spec]), &Script::default(), 2);
    let gap_ns = story.totals[1].started.unix_ns - story.finished(0).unix_ns;
    assert!(
        (3 * SECOND..3 * SECOND + 100 * MS).contains(&gap_ns),
        "{gap_ns}"
    );
    assert_eq!(story.remarks("pause"), 1);
}

#[test]
fn runs_of_whole_seconds_begin_on_one() {
    let spec = timed(|timing| {
        timing.start = StartAlign::WholeSecond;
        timing.window = Window::For(Nanos(1_300 * MS));
    });
    let story = simulate(&reads(vec![spec.clone(), spec]), &Script::default(), 2);
    for totals in &story.totals {
        assert_eq!(totals.started.unix_ns % SECOND, 0);
    }
}

#[test]
fn a_total_of_bytes_ends_the_run_one_interval_after() {
    let limit = 60 * MIB;
    let mut by_total = flat_out(10 * SECOND, 100 * MS);
    by_total.stop.total_bytes = Some(DataLimit::Bytes(limit));
    let mut by_reads = flat_out(10 * SECOND, 100 * MS);
    by_reads.stop.read_bytes = Some(DataLimit::Bytes(limit));
    by_reads.stop.written_bytes = Some(DataLimit::Bytes(limit));
    let plan = reads(vec![by_total.clone(), by_reads, by_total]);
    let mut plan = plan.plan;
    // As a multiple of what only binding knows.
    let whole = plan.targets.iter().map(|target| match target.size {
        SizeRule::Bytes(bytes) => bytes,
        _ => unreachable!("simulated targets have a size"),
    });
    let times = limit as f64 / whole.sum::<u64>() as f64;
    plan.runs[2].stop.total_bytes = Some(DataLimit::TimesTargets(times));
    let plan = bind_unreal(plan);
    let story = simulate(&plan, &Script::default(), 2);
    for run in 0..3 {
        assert_eq!(story.finished(run).reason, FinishReason::ReachedTotal);
        let bytes = |interval: &&measure::Interval| {
            interval
                .figures
                .iter()
                .map(|figure| figure.bytes)
                .sum::<u64>()
        };
        let all: Vec<u64> = story.intervals(run as u32).iter().map(bytes).collect();
        let before = |intervals: usize| all[..all.len() - intervals].iter().sum::<u64>();
        assert!(before(1) >= limit && before(2) < limit, "{all:?}");
        assert_eq!(story.totals[run].length_ns, all.len() as u64 * 100 * MS);
    }
    assert_eq!(story.remarks("total-reached"), 3);
}

fn with_errors(budget: ErrorBudget) -> (FinishReason, usize, u64) {
    let mut spec = flat_out(SECOND, 100 * MS);
    spec.stop.errors = budget;
    let script = Script {
        bad: vec![(0, 64 * KIB, 5)],
        ..Script::default()
    };
    let story = simulate(&reads(vec![spec.clone(), spec]), &script, 2);
    assert_eq!(
        story.outcome.errors,
        story
            .totals
            .iter()
            .map(|totals| totals.errors())
            .sum::<u64>()
    );
    assert_eq!(story.failures().len() as u64, story.outcome.errors);
    (
        story.outcome.reason,
        story.totals.len(),
        story.outcome.errors,
    )
}

#[test]
fn an_error_budget_ends_everything() {
    // A thousandth of the blocks is bad: some forty in a second.
    let (reason, runs, errors) = with_errors(ErrorBudget::Count(10));
    assert_eq!((reason, runs), (FinishReason::TooManyErrors, 1));
    assert!((10..20).contains(&errors), "{errors}");
    let (reason, runs, _) = with_errors(ErrorBudget::Count(1_000));
    assert!(matches!(reason, FinishReason::Failed { .. }));
    assert_eq!(runs, 1);
    let (reason, runs, _) = with_errors(ErrorBudget::Unlimited);
    assert_eq!((reason, runs), (FinishReason::Complete, 2));
}

#[test]
fn a_run_until_done_ends_when_all_who_end_have_ended() {
    let streams = vec![stream(0, 0, fill), stream(1, 0, |_| {})];
    let runs = vec![until_done(100 * MS)];
    let plan = plan(vec![simulated(64 * MIB)], &[4, 1], streams, runs);
    let story = simulate(&bind_unreal(plan), &Script::default(), 2);
    let totals = &story.totals[0];
    let written: u64 = totals
        .figures
        .iter()
        .filter(|figure| figure.key.operation == Operation::Write)
        .map(|figure| figure.bytes)
        .sum();
    assert_eq!(written, 64 * MIB);
    // 16 384 blocks, four at a time, 100 µs each; looked at every 20 ms.
    let exact_ns = 16_384 / 4 * 100_000;
    let length_ns = totals.length_ns;
    assert!(
        (exact_ns..=exact_ns + 20 * MS).contains(&length_ns),
        "{length_ns}"
    );
}

#[test]
fn a_run_until_done_ends_at_its_limit() {
    let mut spec = until_done(100 * MS);
    spec.timing.window = Window::UntilDone {
        at_most: Some(Nanos(350 * MS)),
    };
    let plan = plan(
        vec![simulated(64 * MIB)],
        &[4],
        vec![stream(0, 0, fill)],
        vec![spec],
    );
    let story = simulate(&bind_unreal(plan), &Script::default(), 2);
    assert_eq!(story.totals[0].length_ns, 350 * MS);
    assert_eq!(story.totals[0].operations(), 350 * 40 - 4);
}

/// The second target takes 100 I/Os per second with its one slot; it is asked for 500.
#[test]
fn missed_shares_end_the_execution_where_the_job_says_so() {
    let carried_out = |distance_pct_max: Option<f64>, rate: f64| {
        let targets = vec![simulated(64 * MIB), simulated(64 * MIB)];
        let streams = vec![stream(0, 0, |_| {}), stream(1, 1, |_| {})];
        let run = at_rate(rate, ArrivalLaw::Deterministic, 2 * SECOND, SECOND);
        let mut plan = plan(targets, &[64, 1], streams, vec![run.clone(), run]);
        plan.templates[0].coupling = Coupling::Independent;
        for (stream, name) in plan.templates[0].streams.iter_mut().zip(["quick", "slow"]) {
            stream.share_pct = 50.0;
            stream.labels = vec![Label::new("wd", name)];
        }
        plan.steering.shares = distance_pct_max.map(|distance_pct_max| ShareRule {
            distance_pct_max,
            label: "wd".to_owned(),
        });
        let script = Script {
            service_ns: 10 * MS,
            servers: 64,
            ..Script::default()
        };
        simulate(&bind_unreal(plan), &script, 1)
    };
    assert_eq!(carried_out(None, 1_000.0).totals.len(), 2);
    assert_eq!(carried_out(Some(5.0), 100.0).totals.len(), 2);
    assert_eq!(carried_out(Some(40.0), 1_000.0).totals.len(), 2);
    let ended = carried_out(Some(5.0), 1_000.0);
    assert_eq!(ended.totals.len(), 1);
    let FinishReason::Failed { message } = &ended.outcome.reason else {
        panic!("{:?}", ended.outcome);
    };
    assert!(
        message.contains("`slow` took 16.") && message.contains("50.00 % was asked"),
        "{message}"
    );
}

#[test]
fn an_operation_that_does_not_return_ends_the_execution_where_the_job_says_so() {
    let carried_out = |hang: Option<HangRule>, vanishes_at_ns: Option<u64>| {
        let mut plan = reads(vec![
            flat_out(10 * SECOND, SECOND),
            flat_out(SECOND, SECOND),
        ]);
        plan.plan.steering.hang = hang;
        let script = Script {
            vanishes_at_ns,
            ..Script::default()
        };
        simulate(&plan, &script, 1)
    };
    let rule = || HangRule {
        after: Nanos(3 * SECOND),
        command: Some("look at $lun".to_owned()),
    };
    assert_eq!(carried_out(Some(rule()), None).totals.len(), 2);
    let ended = carried_out(Some(rule()), Some(2 * SECOND));
    assert_eq!(ended.totals.len(), 1);
    // Seen three seconds later, within the second in which it is looked at.
    let last = ended.finished(0).last_measured;
    assert!((5..=6).contains(&last), "{last}");
    let FinishReason::Failed { message } = &ended.outcome.reason else {
        panic!("{:?}", ended.outcome);
    };
    assert!(message.contains("has not returned for"), "{message}");
    assert_eq!(ended.remarks("hang"), 1);
    assert_eq!(ended.remarks("command-console"), 1);
}
