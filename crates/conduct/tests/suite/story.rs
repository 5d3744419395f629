//! What an execution told, and what must hold of the accounts of any.
use conduct::{Control, Crew, Outcome, SimulatedHost, execute};
use engine::sim::Script;
use measure::{Event, Interval, IoFailure, RunFinished, RunFold, RunTotals, StreamSample};
use plan::BoundPlan;

pub struct Story {
    pub events: Vec<Event>,
    pub totals: Vec<RunTotals>,
    pub outcome: Outcome,
}

pub fn carry_out(plan: &BoundPlan, host: &mut dyn Crew, control: &Control) -> Story {
    carry_out_watched(plan, host, control, |_| {})
}

/// The same, while `watch` sees each event first, and holds up the execution for as long as it looks.
pub fn carry_out_watched(
    plan: &BoundPlan,
    host: &mut dyn Crew,
    control: &Control,
    watch: impl Fn(&Event),
) -> Story {
    let (mut events, mut totals, mut fold) = (Vec::new(), Vec::new(), RunFold::default());
    let outcome = execute(plan, host, control, &mut |event| {
        watch(event);
        totals.extend(fold.fold(event));
        events.push(event.clone());
        Ok(())
    });
    Story {
        events,
        totals,
        outcome,
    }
}

pub fn simulate(plan: &BoundPlan, script: &Script, workers: u32) -> Story {
    let mut host = SimulatedHost::new(script.clone(), workers);
    let story = carry_out(plan, &mut host, &Control::default());
    story.check_accounts();
    story
}

impl Story {
    pub fn intervals(&self, run: u32) -> Vec<&Interval> {
        let mut intervals = Vec::new();
        for event in &self.events {
            if let Event::Interval(interval) = event
                && interval.run == run
            {
                intervals.push(interval);
            }
        }
        intervals
    }

    pub fn failures(&self) -> Vec<&IoFailure> {
        let mut failures = Vec::new();
        for event in &self.events {
            if let Event::IoFailure(failure) = event {
                failures.push(failure);
            }
        }
        failures
    }

    pub fn remarks(&self, code: &str) -> usize {
        let has_code = |event: &&Event| matches!(event, Event::Remark(r) if r.code == code);
        self.events.iter().filter(has_code).count()
    }

    pub fn finished(&self, run: usize) -> &RunFinished {
        self.totals[run]
            .finished
            .as_ref()
            .expect("every run of a story has finished")
    }

    /// Sums over all intervals of a run, measured or not.
    pub fn sum(&self, run: usize, of: impl Fn(&StreamSample) -> u64) -> u64 {
        let intervals = self.intervals(run as u32);
        let samples = intervals
            .iter()
            .flat_map(|interval| &interval.engine.streams);
        samples.map(of).sum()
    }

    /// Successes and failures over all intervals of a run, measured or not, but no syncs.
    pub fn completed(&self, run: usize) -> u64 {
        let intervals = self.intervals(run as u32);
        let figures = intervals.iter().flat_map(|interval| &interval.figures);
        figures
            .filter(|figure| !figure.key.operation.is_sync())
            .map(|figure| figure.operations + figure.errors)
            .sum()
    }

    /// Two routes to every count.
    pub fn check_accounts(&self) {
        for (run, totals) in self.totals.iter().enumerate() {
            self.check_run(run, totals);
        }
    }

    fn check_run(&self, run: usize, totals: &RunTotals) {
        let (finished, intervals) = (self.finished(run), self.intervals(run as u32));
        assert_eq!(finished.scheduled, finished.submitted + finished.unsent);
        assert_eq!(finished.scheduled, self.sum(run, |stream| stream.scheduled));
        let mut streams = totals.started.streams.iter();
        let is_paced = streams.all(|stream| stream.asked_rate.is_some());
        let submitted = self.sum(run, |stream| stream.submitted);
        let last = intervals.last().expect("a run has an interval");
        assert_eq!(
            submitted,
            self.completed(run) + u64::from(last.engine.in_flight)
        );
        let is_whole = totals.started.unmeasured_intervals == 0;
        if is_paced && is_whole {
            assert_eq!(finished.scheduled, submitted + totals.unserved());
        }
        self.check_intervals(&intervals);
        let unserved: u64 = totals
            .streams
            .iter()
            .map(|s| s.unserved.histogram.count())
            .sum();
        // What never came back or came late is no completion, and is in service and response, once.
        let served = totals.operations() + (totals.unreturned.len() + totals.late.len()) as u64;
        let both = totals.streams.iter().map(|s| s.in_flight.histogram.count());
        let response = totals.response(None).histogram.count();
        assert_eq!(response, served + unserved - both.sum::<u64>());
        assert_eq!(totals.service(None).histogram.count(), served);
        let is_whole = totals.started.unmeasured_intervals == 0 && self.failures().is_empty();
        if is_paced {
            assert_eq!(finished.submitted, submitted);
        }
        if is_paced && is_whole {
            assert_eq!(response, finished.scheduled);
        }
    }

    fn check_intervals(&self, intervals: &[&Interval]) {
        let mut end_ns = 0;
        for (place, interval) in intervals.iter().enumerate() {
            assert_eq!(interval.number as usize, place + 1);
            assert_eq!(interval.start_ns, end_ns);
            end_ns = interval.end_ns;
            for figure in &interval.figures {
                // The response of an operation may be read an interval later than the rest of it.
                assert_eq!(figure.service.histogram.count(), figure.operations);
            }
            for pool in &interval.engine.pools {
                let most_ns = u64::from(pool.slots) * interval.length_ns();
                assert!(pool.exhausted_ns <= interval.length_ns().max(1), "{pool:?}");
                assert!(pool.busy_ns <= most_ns, "{pool:?} in {most_ns}");
            }
        }
    }
}
