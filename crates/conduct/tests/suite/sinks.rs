//! Sinks that are slower than the intervals: none but the keeper holds anybody up, and what is skipped is said.
use crate::plans::*;
use crate::story::simulate;
use conduct::{Sink, SinkError, Sinks, Tempo};
use engine::sim::Script;
use measure::Event;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Told = Arc<Mutex<Vec<Arc<Event>>>>;

/// Takes down what it is told, after it was let go on.
struct Double {
    name: &'static str,
    told: Told,
    /// Waited for before each event, until nobody holds the other end.
    blocked: Option<Receiver<()>>,
    /// Slow at every event.
    slow: Option<Duration>,
    fails_at: Option<usize>,
}

impl Double {
    fn new(name: &'static str) -> (Self, Told) {
        let told = Told::default();
        let double = Self {
            name,
            told: Arc::clone(&told),
            blocked: None,
            slow: None,
            fails_at: None,
        };
        (double, told)
    }

    fn blocked(name: &'static str) -> (Self, Told, Sender<()>) {
        let (double, told) = Self::new(name);
        let (release, blocked) = channel();
        let double = Self {
            blocked: Some(blocked),
            ..double
        };
        (double, told, release)
    }
}

impl Sink for Double {
    fn name(&self) -> &str {
        self.name
    }

    fn take(&mut self, event: &Arc<Event>, _is_news: bool) -> Result<(), SinkError> {
        if let Some(blocked) = &self.blocked {
            let _ = blocked.recv();
        }
        if let Some(slow) = self.slow {
            std::thread::sleep(slow);
        }
        let mut told = self.told.lock().unwrap();
        if self.fails_at == Some(told.len()) {
            return Err(SinkError("no room".to_owned()));
        }
        told.push(Arc::clone(event));
        Ok(())
    }
}

fn events() -> Vec<Event> {
    let plan = plan(
        vec![simulated(64 * MIB)],
        &[4],
        vec![stream(0, 0, |_| {})],
        vec![flat_out(SECOND, 50 * MS)],
    );
    simulate(&bind_unreal(plan), &Script::default(), 1).events
}

fn intervals(events: &[Arc<Event>]) -> Vec<u32> {
    let number = |event: &Arc<Event>| match &**event {
        Event::Interval(interval) => Some(interval.number),
        _ => None,
    };
    events.iter().filter_map(number).collect()
}

fn remarks(events: &[Arc<Event>], code: &str) -> Vec<String> {
    let message = |event: &Arc<Event>| match &**event {
        Event::Remark(remark) if remark.code == code => Some(remark.message.clone()),
        _ => None,
    };
    events.iter().filter_map(message).collect()
}

fn ends(events: &[Arc<Event>]) -> (bool, bool) {
    let has = |of: fn(&Event) -> bool| events.iter().any(|event| of(event));
    (
        has(|event| matches!(event, Event::RunStarted(_))),
        has(|event| matches!(event, Event::ExecutionFinished(_))),
    )
}

#[test]
fn a_blocked_sink_holds_nobody_up_skips_intervals_and_says_so() {
    let (keeper, kept) = Double::new("the result file");
    let (quick, seen) = Double::new("the report");
    let (blocked, shown, release) = Double::blocked("the console");
    let mut sinks = Sinks::new(Tempo::Real)
        .with_room(8)
        .kept_by(Box::new(keeper));
    sinks.add(Box::new(quick)).unwrap();
    sinks.add(Box::new(blocked)).unwrap();
    // Would never come to an end if anybody waited for the console.
    for event in events() {
        sinks.take(&event, true).unwrap();
    }
    drop(release);
    let problems = sinks.finish();
    let all: Vec<u32> = (1..=20).collect();
    let (kept, seen, shown) = (
        kept.lock().unwrap(),
        seen.lock().unwrap(),
        shown.lock().unwrap(),
    );
    assert_eq!(intervals(&kept), all);
    let missed = all.len() - intervals(&shown).len();
    assert!(missed > 0);
    assert_eq!(ends(&shown), (true, true), "skips intervals alone");
    let told = remarks(&kept, "sink-slow");
    let text = format!("the console skipped {missed} intervals, being too slow");
    assert!(told.contains(&text), "{told:?}");
    assert_eq!(remarks(&shown, "sink-slow"), told);
    // The machine may be so busy that even the quick one had to skip, which it says then.
    let skipped_by_quick = all.len() - intervals(&seen).len();
    let is_said = told.iter().any(|text| text.starts_with("the report"));
    assert_eq!(skipped_by_quick > 0, is_said);
    assert!(problems.contains(&text), "{problems:?}");
}

#[test]
fn a_slow_keeper_loses_nothing_holds_up_and_that_is_said() {
    let (keeper, kept) = Double::new("the result file");
    let keeper = Double {
        slow: Some(Duration::from_millis(120)),
        ..keeper
    };
    let mut sinks = Sinks::new(Tempo::Real).kept_by(Box::new(keeper));
    for event in events().iter().take(4) {
        sinks.take(event, true).unwrap();
    }
    assert_eq!(sinks.finish(), Vec::<String>::new());
    let kept = kept.lock().unwrap();
    assert_eq!(intervals(&kept), [1, 2, 3]);
    let told = remarks(&kept, "keeper-slow");
    assert_eq!(told.len(), 1, "the rest is said at the end of the run");
    assert!(told[0].starts_with("the result file was slow: intervals waited for it 1 time, "));
}

/// A keeper whose disk answers, or does not for this time.
struct Unanswered(Told, Arc<AtomicU64>);

impl Sink for Unanswered {
    fn name(&self) -> &str {
        "the result file"
    }

    fn take(&mut self, event: &Arc<Event>, _is_news: bool) -> Result<(), SinkError> {
        self.0.lock().unwrap().push(Arc::clone(event));
        Ok(())
    }

    fn unanswered(&self) -> Duration {
        Duration::from_millis(self.1.load(Relaxed))
    }
}

#[test]
fn a_disk_that_does_not_answer_is_said_once_each_time() {
    let (told, time_ms) = (Told::default(), Arc::new(AtomicU64::new(0)));
    let keeper = Unanswered(Arc::clone(&told), Arc::clone(&time_ms));
    let mut sinks = Sinks::new(Tempo::Real).kept_by(Box::new(keeper));
    let times_ms = [0, 1_900, 2_100, 2_200, 3_000, 0, 500, 4_000];
    for (event, ms) in events().iter().zip(times_ms) {
        time_ms.store(ms, Relaxed);
        sinks.take(event, true).unwrap();
    }
    let told = remarks(&told.lock().unwrap(), "keeper-unanswered");
    let text = |seconds| {
        format!(
            "the disk of the result file has not answered for {seconds} s: what is measured meanwhile is kept in memory"
        )
    };
    assert_eq!(told, [text("2.1"), text("4.0")]);
}

#[test]
fn in_simulated_time_every_sink_is_waited_for() {
    let (slow, shown) = Double::new("the console");
    let slow = Double {
        slow: Some(Duration::from_millis(5)),
        ..slow
    };
    let mut sinks = Sinks::new(Tempo::Patient).with_room(1);
    sinks.add(Box::new(slow)).unwrap();
    let events = events();
    for event in &events {
        sinks.take(event, true).unwrap();
    }
    assert_eq!(sinks.finish(), Vec::<String>::new());
    let shown = shown.lock().unwrap();
    assert!(shown.iter().map(|event| &**event).eq(&events));
}

#[test]
fn a_sink_that_fails_ends_the_execution() {
    let (failing, _told) = Double::new("the console");
    let failing = Double {
        fails_at: Some(2),
        ..failing
    };
    let mut sinks = Sinks::new(Tempo::Real);
    sinks.add(Box::new(failing)).unwrap();
    let told = events().iter().try_for_each(|event| {
        sinks.take(event, true)?;
        sinks.settle()
    });
    assert_eq!(told, Err(SinkError("no room".to_owned())));
}
