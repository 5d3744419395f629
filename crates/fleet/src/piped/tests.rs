use super::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A line to a clock that is off and drifts; each way takes a time of its own.
struct Wire {
    now: Arc<AtomicU64>,
    offset_ns: i64,
    drift_ppm: i64,
    most_ns: u64,
    random: u64,
    /// The machine over there is too busy to answer before.
    busy_until_ns: u64,
    /// Answers by when they are here.
    coming: VecDeque<(u64, Vec<u8>)>,
}

impl Wire {
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) % below.max(1)
    }

    /// What the clock over there shows.
    fn theirs(&self, at_ns: u64) -> u64 {
        let drifted = at_ns as i64 * self.drift_ppm / 1_000_000;
        (at_ns as i64 + drifted + self.offset_ns) as u64
    }
}

impl Line for Wire {
    fn send(&mut self, content: Vec<u8>) {
        let Ok(Ask::Time { question }) = read(&content) else {
            return;
        };
        let there_ns = self.now.load(Relaxed) + self.draw(self.most_ns);
        let there_ns = there_ns.max(self.busy_until_ns);
        let back_ns = there_ns + self.draw(self.most_ns);
        let tell = Tell::Time {
            question,
            now_ns: self.theirs(there_ns),
        };
        self.coming.push_back((back_ns, written(&tell)));
    }

    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let now_ns = self.now.load(Relaxed);
        let is_here = self
            .coming
            .front()
            .is_some_and(|(at_ns, _)| *at_ns <= now_ns);
        Ok(is_here
            .then(|| self.coming.pop_front())
            .flatten()
            .map(|(_, content)| content))
    }

    fn wait(&mut self, at_most: Duration) {
        let now_ns = self.now.load(Relaxed);
        let latest_ns = now_ns + at_most.as_nanos() as u64;
        let next_ns = self.coming.front().map_or(latest_ns, |(at_ns, _)| *at_ns);
        self.now.store(next_ns.clamp(now_ns, latest_ns), Relaxed);
    }
}

/// A machine whose clock is off by up to ten seconds, and the clock of the execution.
fn far(seed: u64) -> (Arc<AtomicU64>, Piped<Wire>) {
    let now = Arc::new(AtomicU64::new(60_000_000_000));
    let mut wire = Wire {
        now: Arc::clone(&now),
        offset_ns: 0,
        drift_ppm: 0,
        most_ns: 0,
        random: seed,
        busy_until_ns: 0,
        coming: VecDeque::new(),
    };
    wire.offset_ns = wire.draw(20_000_000_000) as i64 - 10_000_000_000;
    wire.drift_ppm = wire.draw(201) as i64 - 100;
    wire.most_ns = 50_000 + wire.draw(25_000_000);
    let shown = Arc::clone(&now);
    let piped = Piped::new("far".into(), wire, Duration::from_secs(60));
    (now, piped.with_clock(move || shown.load(Relaxed)))
}

#[test]
fn a_start_is_never_further_off_than_is_said() {
    for seed in 0..2_000_u64 {
        let (now, mut piped) = far(seed);
        piped.compare_clocks();
        // Within the second after the lead time.
        let start_ns = now.load(Relaxed) + piped.line.draw(1_320_000_000);
        let off_ns = piped.theirs(start_ns).abs_diff(piped.line.theirs(start_ns));
        let bound_ns = piped.offset.unwrap().start_bound_ns();
        assert!(off_ns <= bound_ns, "seed {seed}: {off_ns} of {bound_ns}");
        assert!(bound_ns <= piped.line.most_ns + 1 + DRIFT_NS);
    }
}

#[test]
fn no_run_starts_by_a_clock_that_has_not_answered() {
    let (now, mut piped) = far(7);
    piped.line.busy_until_ns = now.load(Relaxed) + 3_000_000_000;
    piped.compare_clocks();
    piped.told.prepared = Some(Ok(Prepared::default()));
    assert!(matches!(piped.prepared(), Answer::NotYet));
    let mut asked = 0;
    let prepared = loop {
        asked += 1;
        assert!(asked < 1_000);
        match piped.prepared() {
            Answer::Told(prepared) => break prepared,
            Answer::NotYet => piped.line.wait(Duration::from_millis(20)),
            Answer::Never(error) => panic!("{error}"),
        }
    };
    let start_ns = now.load(Relaxed) + 1_000_000_000;
    let off_ns = piped.theirs(start_ns).abs_diff(piped.line.theirs(start_ns));
    assert!(prepared.start_bound_ns > 0 && off_ns <= prepared.start_bound_ns);
}

#[test]
fn a_run_that_a_host_cannot_go_on_with_is_not_waited_for() {
    let (_, mut piped) = far(7);
    assert!(matches!(piped.is_done(), Answer::Told(false)));
    let late = HostError::Refused("the word to start came 25 ms late".to_owned());
    piped.take(Tell::Fatal(late));
    assert!(matches!(piped.is_done(), Answer::Never(_)));
    assert!(matches!(piped.collect(0, 0), Answer::Never(_)));
    assert!(piped.fatal().is_some());
}

/// A line that brings what is put on it.
struct Told(Arc<Mutex<VecDeque<Tell>>>);

impl Line for Told {
    fn send(&mut self, _content: Vec<u8>) {}

    fn receive(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let next = self.0.lock().unwrap().pop_front();
        Ok(next.map(|tell| written(&tell)))
    }

    fn wait(&mut self, _at_most: Duration) {}
}

/// A host `far` that may be silent for ten seconds, what it tells, and the clock, which begins at a second.
fn telling() -> (Piped<Told>, Arc<Mutex<VecDeque<Tell>>>, Arc<AtomicU64>) {
    let told = Arc::new(Mutex::new(VecDeque::new()));
    let now = Arc::new(AtomicU64::new(1_000_000_000));
    let shows = Arc::clone(&now);
    let line = Told(Arc::clone(&told));
    let piped = Piped::new("far".to_owned(), line, Duration::from_secs(10))
        .with_clock(move || shows.load(Relaxed));
    (piped, told, now)
}

fn interval(number: u64) -> Tell {
    let told = Box::default();
    Tell::Interval { number, told }
}

#[test]
fn intervals_that_are_none_of_the_run_are_those_of_a_broken_host() {
    for wrong in [1, 1_000_000_000_000] {
        let (mut piped, told, _) = telling();
        told.lock().unwrap().push_back(interval(wrong));
        let Answer::Never(HostError::Lost(text)) = piped.collect(0, 1) else {
            panic!("interval {wrong} is taken");
        };
        assert!(
            text.contains("`far`") && text.contains("interval"),
            "{text}"
        );
    }
    let (mut piped, told, _) = telling();
    told.lock().unwrap().extend([interval(0), interval(2)]);
    assert!(matches!(piped.collect(0, 1), Answer::Told(_)));
    assert!(matches!(piped.collect(1, 2), Answer::Never(_)));
}

#[test]
fn a_host_that_is_there_and_tells_no_interval_is_a_broken_one() {
    let (mut piped, told, now) = telling();
    for second in 1..=10 {
        told.lock().unwrap().push_back(Tell::Alive);
        assert!(matches!(piped.collect(0, 1), Answer::NotYet), "{second}");
        now.fetch_add(1_000_000_000, Relaxed);
    }
    told.lock().unwrap().push_back(Tell::Alive);
    piped.collect(0, 1);
    let Answer::Never(HostError::Lost(text)) = piped.collect(0, 1) else {
        panic!("it is waited for");
    };
    assert!(
        text.contains("does not tell interval 1 within 10 s"),
        "{text}"
    );
}

#[test]
fn a_line_that_was_silent_and_came_back_is_marked_once() {
    let (mut piped, told, now) = telling();
    let wait = |piped: &mut Piped<Told>, looks: u64| {
        for _ in 0..looks {
            now.fetch_add(20_000_000, Relaxed);
            assert!(matches!(piped.collect(0, 1), Answer::NotYet));
        }
    };
    // Who leads stands still itself.
    wait(&mut piped, 1);
    let bring = |piped: &mut Piped<Told>, tell| {
        told.lock().unwrap().push_back(tell);
        piped.collect(0, 1)
    };
    bring(&mut piped, Tell::Alive);
    wait(&mut piped, 200);
    let Answer::Told(one) = bring(&mut piped, interval(0)) else {
        panic!("it came");
    };
    assert_eq!(one.was_silent, [(0, 4_000_000_000)]);
    told.lock().unwrap().push_back(interval(1));
    let Answer::Told(next) = piped.collect(1, 2) else {
        panic!("it came");
    };
    assert!(next.was_silent.is_empty());
    // The clock goes no further, and a farewell would be waited for.
    told.lock().unwrap().push_back(Tell::Left(Left::default()));
}

#[test]
fn notes_of_a_host_are_bounded() {
    let note = |text: String| (Severity::Note, text);
    let few = vec![note("a".to_owned()), note("b".to_owned())];
    assert_eq!(bounded(few.clone()), few);
    let many = (0..1_000).map(|number| note(format!("note number {number} of a host")));
    let kept = bounded(many.collect());
    let bytes: usize = kept.iter().map(|(_, text)| text.len()).sum();
    assert!(bytes < NOTES_BYTES + 100, "{bytes}");
    assert!(kept.last().unwrap().1.contains("more notes"), "{kept:?}");
    let long = bounded(vec![note("ä".repeat(5_000))]);
    assert!(long[0].1.len() < NOTES_BYTES + 10);
}
