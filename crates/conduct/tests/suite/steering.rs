//! What surrounds and steers runs: commands, repetition, an end that somebody asks for, and what
//! failures lead to.
use crate::plans::*;
use crate::story::simulate;
use conduct::{Control, Done, SimulatedHost, go_on};
use engine::sim::Script;
use measure::{Event, FinishReason};
use plan::*;

fn short() -> RunSpec {
    flat_out(500 * MS, 100 * MS)
}

fn steered(runs: usize, change: impl FnOnce(&mut Steering)) -> BoundPlan {
    let mut plan = plan(
        vec![simulated(64 * MIB)],
        &[4],
        vec![stream(0, 0, |_| {})],
        vec![short(); runs],
    );
    change(&mut plan.steering);
    bind_unreal(plan)
}

fn command(text: &str, output: CommandOutput) -> Command {
    Command {
        text: text.to_owned(),
        output,
        on_hosts: false,
    }
}

/// Commands and runs in the order in which they were told.
fn order(events: &[Event]) -> Vec<String> {
    let told = |event: &Event| match event {
        Event::RunStarted(started) => Some(format!("run {}", started.run)),
        Event::RunFinished(finished) => Some(format!("end {}", finished.run)),
        Event::Remark(remark) if remark.message.starts_with("Cmd: ") => {
            let text = remark.message.trim_start_matches("Cmd: simulated: ");
            Some(format!("{text} ({})", remark.code))
        }
        _ => None,
    };
    events.iter().filter_map(told).collect()
}

#[test]
fn commands_surround_the_execution_and_its_runs() {
    let plan = steered(2, |steering| {
        steering.before = vec![command("first", CommandOutput::Log)];
        steering.after = vec![command("last", CommandOutput::Console)];
        steering.around = vec![Around {
            runs: vec![RunId(1)],
            before: vec![command("on", CommandOutput::Summary)],
            after: vec![command("off", CommandOutput::Log)],
        }];
    });
    let story = simulate(&plan, &Script::default(), 1);
    let expected = [
        "first (command-log)",
        "run 0",
        "end 0",
        "on (command-summary)",
        "run 1",
        "end 1",
        "off (command-log)",
        "last (command-console)",
    ];
    assert_eq!(order(&story.events), expected);
}

/// Runs a plan and lets `watch` see each event with the control.
fn watched(
    plan: &BoundPlan,
    done: Done,
    watch: impl Fn(&Event, &Control),
) -> (FinishReason, Vec<Event>) {
    let (mut events, control) = (Vec::new(), Control::default());
    let mut host = SimulatedHost::new(Script::default(), 1);
    let outcome = go_on(plan, done, &mut host, &control.clone(), &mut |event| {
        watch(event, &control);
        events.push(event.clone());
        Ok(())
    });
    (outcome.reason, events)
}

#[test]
fn what_comes_last_comes_behind_a_failure_and_not_behind_the_user() {
    let plan = steered(2, |steering| {
        steering.after = vec![command("last", CommandOutput::Log)];
    });
    let (reason, events) = watched(&plan, Done::default(), |event, control| {
        if matches!(event, Event::Interval(interval) if interval.number == 2) {
            control.hurry();
        }
    });
    assert_eq!(reason, FinishReason::StoppedByUser);
    assert_eq!(order(&events), ["run 0", "end 0"]);
    let mut failing = steered(2, |steering| {
        steering.after = vec![command("last", CommandOutput::Log)];
    });
    failing.plan.runs[0].stop.errors = ErrorBudget::Count(1);
    let script = Script {
        bad: vec![(0, 64 * MIB, 5)],
        ..Script::default()
    };
    let story = simulate(&failing, &script, 1);
    assert_eq!(story.outcome.reason, FinishReason::TooManyErrors);
    assert_eq!(
        order(&story.events),
        ["run 0", "end 0", "last (command-log)"]
    );
}

#[test]
fn repetitions_number_their_runs_on_and_draw_anew() {
    let plan = steered(2, |steering| steering.repeat = Repeat::Times(3));
    let story = simulate(
        &plan,
        &Script {
            jitter_ns: 30_000,
            ..Script::default()
        },
        2,
    );
    assert_eq!(story.totals.len(), 6);
    for (number, totals) in story.totals.iter().enumerate() {
        assert_eq!(
            (totals.started.run, totals.started.runs),
            (number as u32, 6)
        );
    }
    // The law of addresses is the same, and the addresses are not.
    let latencies = |run: usize| story.totals[run].service(None).histogram;
    assert_ne!(latencies(0), latencies(2));
    assert_eq!(story.remarks("repeated"), 1);
}

#[test]
fn a_repetition_by_time_ends_with_the_pass_in_which_it_is_over() {
    // A pass takes 1.04 s: two runs of half a second, and their starts.
    let plan = steered(2, |steering| {
        steering.repeat = Repeat::For(Nanos(2 * SECOND))
    });
    let story = simulate(&plan, &Script::default(), 1);
    assert_eq!(story.totals.len(), 4);
    let known: Vec<u32> = story
        .totals
        .iter()
        .map(|totals| totals.started.runs)
        .collect();
    assert_eq!(known, [2, 2, 4, 4]);
    // What went before an interruption counts.
    let mut done = Done::default();
    done.add(&plan, &story.totals[0], 0);
    let (reason, events) = watched(&plan, done, |_, _| {});
    assert_eq!(reason, FinishReason::Complete);
    assert_eq!(order(&events).len(), 6, "three of four runs");
}

#[test]
fn a_run_or_all_end_with_the_interval_in_which_somebody_asks() {
    for is_all in [false, true] {
        let plan = steered(3, |_| {});
        let (reason, events) = watched(&plan, Done::default(), |event, control| {
            let Event::Interval(interval) = event else {
                return;
            };
            if (interval.run, interval.number) == (1, 2) {
                if is_all {
                    control.end_all();
                } else {
                    control.end_run();
                }
            }
        });
        assert_eq!(reason, FinishReason::Complete);
        let lengths = |run: u32| {
            let mine = events
                .iter()
                .filter(|event| matches!(event, Event::Interval(i) if i.run == run));
            mine.count()
        };
        let runs = if is_all { 0 } else { 5 };
        assert_eq!([lengths(0), lengths(1), lengths(2)], [5, 3, runs]);
        let whole = events.iter().all(|event| match event {
            Event::Interval(interval) => interval.length_ns() == 100 * MS,
            _ => true,
        });
        assert!(whole, "no interval is cut");
    }
}

/// The second half of a larger target is bad; the smaller one has no such addresses.
fn with_bad_target(change: impl FnOnce(&mut Plan)) -> (BoundPlan, Script) {
    let mut plan = plan(
        vec![simulated(16 * MIB), simulated(64 * MIB)],
        &[4, 4],
        vec![stream(0, 0, |_| {}), stream(1, 1, |_| {})],
        vec![short(), short()],
    );
    change(&mut plan);
    let script = Script {
        bad: vec![(32 * MIB, 64 * MIB, 5)],
        ..Script::default()
    };
    (bind_unreal(plan), script)
}

#[test]
fn a_failing_target_is_dropped_and_the_others_go_on() {
    let (plan, script) = with_bad_target(|plan| {
        plan.steering.failures.drops_target = true;
        plan.runs[0].stop.errors = ErrorBudget::Count(10_000);
    });
    let story = simulate(&plan, &script, 2);
    assert_eq!(story.remarks("target-dropped"), 1);
    assert_eq!(story.intervals(0).len(), 5, "the run goes on");
    let of = |target: u32, interval: usize| -> u64 {
        let figures = story.intervals(0)[interval].figures.iter();
        let mine = figures.filter(|figure| figure.key.target == TargetId(target));
        mine.map(|figure| figure.operations + figure.errors).sum()
    };
    assert!(of(1, 0) > 0);
    assert_eq!([of(1, 2), of(1, 3), of(1, 4)], [0, 0, 0]);
    assert!((1..5).all(|interval| of(0, interval) == 4_000));
    assert!(matches!(story.outcome.reason, FinishReason::Failed { .. }));
}

#[test]
fn a_quiet_time_after_the_last_failure_ends_everything() {
    // One failure in the first interval, then none, as the target is gone.
    let (plan, script) = with_bad_target(|plan| {
        plan.steering.failures.drops_target = true;
        plan.steering.failures.quiet = Some(Nanos(200 * MS));
        plan.runs[0].stop.errors = ErrorBudget::Count(10_000);
    });
    let story = simulate(&plan, &script, 2);
    assert_eq!(story.outcome.reason, FinishReason::TooManyErrors);
    assert_eq!(story.remarks("failures-over"), 1);
    // Failures reach until the second interval; the end of the fourth is 200 ms behind them.
    let length_ns = story.totals[0].length_ns;
    assert!((300 * MS..500 * MS).contains(&length_ns), "{length_ns}");
}

#[test]
fn a_command_for_failures_runs_once_and_ends_everything() {
    let (plan, script) = with_bad_target(|plan| {
        plan.steering.failures.command = Some("note $lun $lba $size".to_owned());
        plan.runs[0].stop.errors = ErrorBudget::Count(10_000);
    });
    let story = simulate(&plan, &script, 2);
    assert_eq!(story.outcome.reason, FinishReason::TooManyErrors);
    let is_call = |event: &&Event| matches!(event, Event::Remark(remark) if remark.message == "simulated: note $lun $lba $size");
    assert_eq!(story.events.iter().filter(is_call).count(), 1);
    assert_eq!(story.totals.len(), 1);
}

/// With an interval of ten seconds, a budget does not wait for its end.
#[test]
fn failures_count_in_the_middle_of_a_long_interval() {
    let (plan, script) = with_bad_target(|plan| {
        plan.runs[0].stop.errors = ErrorBudget::Count(100);
        plan.runs[0].timing.interval = Nanos(10 * SECOND);
        plan.runs[0].timing.window = Window::For(Nanos(20 * SECOND));
    });
    let story = simulate(&plan, &script, 2);
    assert_eq!(story.outcome.reason, FinishReason::TooManyErrors);
    let length_ns = story.totals[0].length_ns;
    assert!((SECOND..2 * SECOND).contains(&length_ns), "{length_ns}");
}
