//! A machine whose answers come late, in part or never: what came is told as it was, and the rest is said to be missing.
use crate::plans::*;
use crate::story::{Story, carry_out, simulate};
use conduct::{
    Answer, Clock, CommandCall, CommandEnd, Commands, Control, Host, HostError, Prepared, SetPoint,
    SimulatedHost,
};
use engine::sim::Script;
use measure::{DataFigures, Ended, Event, Failures, FinishReason, HostInterval, Outstanding};
use plan::*;
use std::collections::BTreeMap;

/// How a line to a machine is.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// From a question to its answer.
    delay_ns: u64,
    /// An interval (from zero) whose counts never come, and nobody says so.
    silent_at: Option<u64>,
    /// An interval whose counts are known to be lost.
    lost_at: Option<u64>,
    /// Since the start of a run: from then on nothing comes any more.
    breaks_ns: Option<u64>,
    lacks_samples: bool,
    /// What is in flight is never told.
    hides_in_flight: bool,
}

/// A simulated machine at the other end of a line.
struct Distant {
    machine: SimulatedHost,
    line: Line,
    start_ns: u64,
    /// When each answer arrives, by what was asked.
    intervals: BTreeMap<u64, (u64, HostInterval)>,
    end: Option<(u64, Ended)>,
    /// A run that is on its way to the machine, and when it is set up there.
    asked: Option<(BoundPlan, BoundRun, SetPoint)>,
    prepared_ns: u64,
    /// Of a user who loses patience while a run is set up.
    impatient: Option<Control>,
}

impl Distant {
    fn new(line: Line) -> Self {
        Self {
            machine: SimulatedHost::new(Script::default(), 1),
            line,
            start_ns: u64::MAX,
            intervals: BTreeMap::new(),
            end: None,
            asked: None,
            prepared_ns: 0,
            impatient: None,
        }
    }

    fn is_broken(&self) -> bool {
        let breaks_ns = self.line.breaks_ns.unwrap_or(u64::MAX);
        self.now_ns() >= self.start_ns.saturating_add(breaks_ns)
    }
}

fn lost<T>() -> Answer<T> {
    Answer::Never(HostError::Lost("host `b` does not answer".to_owned()))
}

fn told<T>(answer: Answer<T>) -> T {
    match answer {
        Answer::Told(told) => told,
        _ => panic!("simulated machines answer at once"),
    }
}

impl Clock for Distant {
    fn now_ns(&self) -> u64 {
        self.machine.now_ns()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.machine.unix_ns(at_ns)
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        self.machine.wait_until(until_ns, control);
    }
}

impl Commands for Distant {
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        self.machine.command(call, control, said)
    }
}

impl Host for Distant {
    fn prepare(&mut self, plan: &BoundPlan, run: &BoundRun, point: &SetPoint) {
        self.asked = Some((plan.clone(), run.clone(), point.clone()));
        (self.start_ns, self.end) = (u64::MAX, None);
        self.intervals.clear();
        self.prepared_ns = self.now_ns() + self.line.delay_ns;
    }

    fn prepared(&mut self) -> Answer<Prepared> {
        if self.now_ns() < self.prepared_ns {
            if let Some(control) = self.impatient.take() {
                control.hurry();
            }
            return Answer::NotYet;
        }
        if let Some((plan, run, point)) = self.asked.take() {
            self.machine.prepare(&plan, &run, &point);
        }
        self.machine.prepared()
    }

    fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.machine.start(start_ns);
    }

    fn stop_at(&mut self, stop_ns: u64) {
        self.machine.stop_at(stop_ns);
    }

    fn is_done(&mut self) -> Answer<bool> {
        match self.is_broken() {
            true => lost(),
            false => self.machine.is_done(),
        }
    }

    fn fatal(&mut self) -> Option<HostError> {
        self.machine.fatal()
    }

    fn collect(&mut self, number: u64, end_ns: u64) -> Answer<HostInterval> {
        let now_ns = self.now_ns();
        // The machine counts in time, whenever it is heard.
        if !self.intervals.contains_key(&number) {
            let mut counts = told(self.machine.collect(number, end_ns));
            counts.sample = counts.sample.filter(|_| !self.line.lacks_samples);
            let arrival_ns = now_ns + self.line.delay_ns;
            self.intervals.insert(number, (arrival_ns, counts));
        }
        let (arrival_ns, counts) = &self.intervals[&number];
        if self.is_broken() || self.line.lost_at == Some(number) {
            return lost();
        }
        match now_ns < *arrival_ns || self.line.silent_at == Some(number) {
            true => Answer::NotYet,
            false => Answer::Told(counts.clone()),
        }
    }

    fn finish(&mut self, number: u64, end_ns: u64, control: &Control) -> Answer<Ended> {
        if self.is_broken() {
            return lost();
        }
        if self.end.is_none() {
            let ended = told(self.machine.finish(number, end_ns, control));
            self.end = Some((self.now_ns() + self.line.delay_ns, ended));
        }
        match &self.end {
            Some((arrival_ns, ended)) if *arrival_ns <= self.now_ns() => {
                Answer::Told(ended.clone())
            }
            _ => Answer::NotYet,
        }
    }

    fn failures(&mut self) -> Failures {
        self.machine.failures()
    }

    fn outstanding(&mut self) -> Answer<Vec<Outstanding>> {
        match self.line.hides_in_flight {
            true => Answer::NotYet,
            false => self.machine.outstanding(),
        }
    }

    fn data_written(&mut self) -> Answer<Vec<DataFigures>> {
        match self.is_broken() {
            true => lost(),
            false => self.machine.data_written(),
        }
    }

    fn retire(&mut self, streams: &[usize], have_failed: bool) {
        self.machine.retire(streams, have_failed);
    }
}

fn two_runs() -> Plan {
    plan(
        vec![simulated(64 * MIB)],
        &[4],
        vec![stream(0, 0, |_| {})],
        vec![
            at_rate(1_000.0, ArrivalLaw::Uniform, SECOND, 100 * MS),
            flat_out(SECOND, 100 * MS),
        ],
    )
}

fn over(line: Line) -> Story {
    let plan = bind_unreal(two_runs());
    carry_out(&plan, &mut Distant::new(line), &Control::default())
}

fn near() -> Story {
    simulate(&bind_unreal(two_runs()), &Script::default(), 1)
}

/// Of a run: the numbers of its intervals with what was counted in each.
fn counted(story: &Story, run: u32) -> Vec<(u32, u64, u64, u64)> {
    let of = |interval: &&measure::Interval| {
        let operations = interval.figures.iter().map(|figure| figure.operations);
        let (start_ns, end_ns) = (interval.start_ns, interval.end_ns);
        (interval.number, start_ns, end_ns, operations.sum())
    };
    story.intervals(run).iter().map(of).collect()
}

fn messages<'a>(story: &'a Story, code: &str) -> Vec<&'a str> {
    let message = |event: &'a Event| match event {
        Event::Remark(remark) if remark.code == code => Some(remark.message.as_str()),
        _ => None,
    };
    story.events.iter().filter_map(message).collect()
}

#[test]
fn late_answers_are_told_as_they_were() {
    let near = near();
    let late = over(Line {
        delay_ns: 250 * MS,
        ..Line::default()
    });
    late.check_accounts();
    assert_eq!(late.outcome, near.outcome);
    for run in [0, 1] {
        assert_eq!(counted(&late, run), counted(&near, run));
        let (late, near) = (late.finished(run as usize), near.finished(run as usize));
        assert_eq!(late.scheduled, near.scheduled);
        assert_eq!(late.submitted, near.submitted);
    }
    assert_eq!(late.remarks("interval-missing"), 0);
}

#[test]
fn an_interval_that_never_comes_is_missing_and_the_rest_is_there() {
    let near = near();
    for line in [
        Line {
            silent_at: Some(3),
            ..Line::default()
        },
        Line {
            lost_at: Some(3),
            ..Line::default()
        },
    ] {
        let story = over(line);
        assert_eq!(story.outcome.reason, FinishReason::Complete, "{line:?}");
        for run in [0, 1] {
            let mut expected = counted(&near, run);
            expected.remove(3);
            assert_eq!(counted(&story, run), expected, "{line:?}");
        }
        let told = messages(&story, "interval-missing");
        assert_eq!(told.len(), 2);
        assert!(told[0].starts_with("interval 4 is missing: "), "{told:?}");
        // What the other nine tell is over their time.
        assert_eq!(story.totals[0].length_ns, 900 * MS);
        let rate = story.totals[0].rate();
        assert!((rate - 1_000.0).abs() < 20.0, "{rate}");
    }
}

#[test]
fn a_machine_that_is_lost_ends_the_run_and_leaves_its_intervals() {
    let near = near();
    let story = over(Line {
        breaks_ns: Some(450 * MS),
        ..Line::default()
    });
    assert_eq!(counted(&story, 0), counted(&near, 0)[..4]);
    let reason = FinishReason::Failed {
        message: "host `b` does not answer".to_owned(),
    };
    assert_eq!(story.finished(0).reason, reason);
    assert_eq!(story.finished(0).last_measured, 4);
    assert_eq!(story.outcome.reason, reason);
    // Who knows what is still in flight.
    assert!(story.outcome.left_outstanding);
    assert_eq!(story.totals.len(), 1, "no run follows");
    assert_eq!(story.remarks("end-missing"), 1);
    assert_eq!(story.remarks("data-missing"), 1);
    assert!(matches!(
        story.events.last(),
        Some(Event::ExecutionFinished(_))
    ));
}

#[test]
fn what_a_machine_does_not_tell_of_itself_is_said_once_a_run() {
    let story = over(Line {
        lacks_samples: true,
        ..Line::default()
    });
    assert_eq!(story.outcome.reason, FinishReason::Complete);
    assert_eq!(story.remarks("no-sample"), 2);
    assert!(story.totals[0].host.cpu.is_none());
}

#[test]
fn a_rule_that_could_not_look_is_said_to_have_judged_nothing() {
    for (hides_in_flight, remarks) in [(false, 0), (true, 2)] {
        let mut plan = two_runs();
        plan.steering.hang = Some(HangRule {
            after: Nanos::from_secs(1),
            command: None,
        });
        let line = Line {
            hides_in_flight,
            ..Line::default()
        };
        let plan = bind_unreal(plan);
        let story = carry_out(&plan, &mut Distant::new(line), &Control::default());
        assert_eq!(story.outcome.reason, FinishReason::Complete);
        assert_eq!(story.remarks("hang-not-checked"), remarks);
    }
}

#[test]
fn nobody_waits_for_a_machine_that_the_user_gave_up() {
    let plan = bind_unreal(two_runs());
    let mut host = Distant::new(Line {
        delay_ns: u64::MAX / 4,
        ..Line::default()
    });
    let control = Control::default();
    host.impatient = Some(control.clone());
    let story = carry_out(&plan, &mut host, &control);
    assert_eq!(story.outcome.reason, FinishReason::StoppedByUser);
    assert!(story.totals.is_empty());
}
