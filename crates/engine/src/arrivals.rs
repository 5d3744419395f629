//! The schedule of arrivals of one stream, and its feed to workers.
//!
//! [`Arrivals`] is the schedule itself: a pure sequence of times that depends on nothing that
//! happens. [`Feed`] deals it out: any idle worker may claim the next arrival once it is due, and
//! what is late is a cursor on the schedule, never a list.
use crate::pace::{Pace, Part, Rates};
use crate::random::{Draws, Purpose};
use crate::source::Source;
use plan::{ArrivalLaw, Nanos, Operation, RecordedOperations, Replay};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const CHUNK: u64 = 256;
const CHUNKS: usize = 4;
const SECOND: f64 = 1e9;

/// Later than any run ends, and such that a start can be added to it.
const NEVER_NS: u64 = u64::MAX >> 3;

/// Gaps longer than this are cut, as a rate near zero would never arrive.
const LONGEST_GAP_NS: f64 = 180.0 * SECOND;

/// Times in nanoseconds since the start of the run, in ascending order, without end. Arrivals of
/// several kinds are one sequence: of each kind the next is known, and the earliest is taken.
#[derive(Clone, Debug)]
pub struct Arrivals {
    kinds: Vec<Kind>,
    /// In place of kinds: times that were recorded.
    recorded: Option<RecordedOperations>,
    /// Draws what the stream will, where gaps follow what operations move: what one moves may depend on the places of
    /// those before it.
    rehearsal: Option<Box<Source>>,
    taken: u64,
}

/// The arrivals of one kind.
#[derive(Clone, Debug)]
struct Kind {
    operation: Option<Operation>,
    sequence: Sequence,
    next_ns: u64,
}

/// One arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// How many came before it.
    pub index: u64,
    /// Since the start of its stream.
    pub at_ns: u64,
    /// What it asks for; `None` where that is drawn.
    pub operation: Option<Operation>,
}

/// Arrivals at one rate, or at steps of it.
#[derive(Clone, Debug)]
struct Sequence {
    law: ArrivalLaw,
    rate: Rate,
    /// Where in its gap a law without chance begins, from 0 to 1.
    phase: f64,
    draws: Draws,
    index: u64,
    /// What gaps without chance follow, where that is not the number of arrivals.
    moved: Option<Moved>,
    /// Sum of the gaps so far: as an integer and a fraction, so that long runs keep precision.
    whole: u64,
    fraction: f64,
}

/// What arrivals move, each as much as its transfer will.
#[derive(Clone, Copy, Debug)]
struct Moved {
    mean_bytes: f64,
    bytes: u64,
}

/// From the distance between arrivals to time.
#[derive(Clone, Debug)]
enum Rate {
    /// Gaps are summed in nanoseconds.
    Constant { per_second: f64, mean_gap_ns: f64 },
    /// Gaps are summed in mean gaps, and each step turns them into time at its own rate.
    Steps(Steps),
}

/// Rates that follow each other, over and over, with the place that was reached.
#[derive(Clone, Debug)]
struct Steps {
    /// Those with arrivals.
    steps: Vec<Step>,
    cycle_ns: u64,
    arrivals_per_cycle: f64,
    cycles: u64,
    place: usize,
}

/// One rate for a span, counted from the start of its cycle.
#[derive(Clone, Copy, Debug)]
struct Step {
    per_second: f64,
    start_ns: u64,
    end_ns: u64,
    /// Arrivals of the cycle up to the start and to the end.
    before: f64,
    until: f64,
}

/// The schedule as workers share it.
#[derive(Debug)]
pub struct Feed {
    next: AtomicU64,
    chunks: [Chunk; CHUNKS],
    source: Mutex<Arrivals>,
}

#[derive(Debug)]
struct Chunk {
    /// Number of the chunk plus one; zero while it is empty or being written.
    ready: AtomicU64,
    /// Times with what they ask for, by [`pack`].
    times: Box<[AtomicU64]>,
}

impl Arrivals {
    /// The pace must have arrivals. Streams without chance start `phase` of a gap after the run, so
    /// that several of them do not arrive at the same instants.
    pub fn new(pace: &Pace, phase: f64, seed: (u64, u64, u64)) -> Self {
        assert!(pace.has_arrivals(), "a schedule has a rate");
        let kinds = pace.parts().enumerate().map(|(place, part)| {
            let moved = part.mean_bytes.map(|mean_bytes| Moved {
                mean_bytes,
                bytes: 0,
            });
            // Streams are numbered far below this.
            let seed = (seed.0, seed.1, seed.2 | (place as u64) << 32);
            let phase = phase + place as f64 / pace.parts().count() as f64;
            let mut sequence = Sequence::new(part, pace.law, phase, seed);
            sequence.moved = moved;
            Kind {
                operation: part.operation,
                next_ns: sequence.next_ns(),
                sequence,
            }
        });
        Self {
            kinds: kinds.collect(),
            recorded: None,
            rehearsal: None,
            taken: 0,
        }
    }

    /// The times of a record; `None` where it does not ask for them.
    pub fn of_record(replay: &Replay) -> Option<Self> {
        replay.follows_times.then(|| Self {
            kinds: Vec::new(),
            recorded: Some(replay.operations.clone()),
            rehearsal: None,
            taken: 0,
        })
    }

    /// With gaps that follow what operations out of this source move, which nobody else draws from.
    pub(crate) fn rehearsing(mut self, source: Source) -> Self {
        self.rehearsal = Some(Box::new(source));
        self
    }

    /// How many arrivals were taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// The time of the next arrival, which is taken.
    pub fn next_ns(&mut self) -> u64 {
        self.take().at_ns
    }

    /// The next arrival.
    pub fn take(&mut self) -> Next {
        if let Some(recorded) = &self.recorded {
            let operation = recorded.get(self.taken as usize);
            let next = Next {
                index: self.taken,
                at_ns: operation.map_or(NEVER_NS, |operation| operation.at.0),
                operation: None,
            };
            self.taken += 1;
            return next;
        }
        let kind = self.kinds.iter_mut().min_by_key(|kind| kind.next_ns);
        let kind = kind.expect("a schedule has arrivals");
        let next = Next {
            index: self.taken,
            at_ns: kind.next_ns,
            operation: kind.operation,
        };
        if let Some(moved) = &mut kind.sequence.moved {
            let rehearsal = self.rehearsal.as_ref();
            let drawn = rehearsal.and_then(|source| source.next(self.taken, kind.operation));
            // Behind the end of the stream its schedule goes on, and nobody follows it.
            moved.bytes += drawn.map_or(moved.mean_bytes as u64, |drawn| drawn.length.into());
        }
        kind.next_ns = kind.sequence.next_ns();
        self.taken += 1;
        next
    }
}

impl Sequence {
    fn new(part: &Part, law: ArrivalLaw, phase: f64, seed: (u64, u64, u64)) -> Self {
        let rate = match &part.rates {
            Rates::Constant(per_second) => Rate::Constant {
                per_second: *per_second,
                mean_gap_ns: SECOND / per_second,
            },
            Rates::Steps(steps) => Rate::Steps(Steps::new(steps)),
        };
        Self {
            law,
            rate,
            phase: match law {
                ArrivalLaw::Deterministic => phase.fract(),
                _ => 0.0,
            },
            draws: Draws::new(seed.0, seed.1, seed.2, Purpose::Arrival),
            index: 0,
            moved: None,
            whole: 0,
            fraction: 0.0,
        }
    }

    fn next_ns(&mut self) -> u64 {
        let index = self.index;
        self.index += 1;
        // In mean gaps.
        let gap = match self.law {
            ArrivalLaw::Deterministic | ArrivalLaw::Spike => return self.even(index),
            ArrivalLaw::Exponential => -self.draws.unit(index).ln(),
            ArrivalLaw::Uniform => self.draws.unit(index) * 2.0,
        };
        let gap = match self.rate {
            Rate::Constant { mean_gap_ns, .. } => {
                (gap * mean_gap_ns).min(LONGEST_GAP_NS.max(mean_gap_ns))
            }
            Rate::Steps(_) => gap,
        };
        let sum = self.fraction + gap;
        self.whole += sum as u64;
        self.fraction = sum.fract();
        match &mut self.rate {
            Rate::Constant { .. } => self.whole,
            Rate::Steps(steps) => steps.time_ns(self.whole as f64 + self.fraction),
        }
    }

    /// By multiplication rather than by adding gaps: no error accumulates.
    fn even(&mut self, index: u64) -> u64 {
        let before = match &self.moved {
            Some(moved) => moved.bytes as f64 / moved.mean_bytes,
            None => index as f64,
        };
        let position = before + self.phase;
        let at_ns = match &mut self.rate {
            // A quotient of whole numbers that is whole is exact, which a spike depends on.
            Rate::Constant { per_second, .. } if self.law == ArrivalLaw::Spike => {
                (position / *per_second) as u64 * SECOND as u64
            }
            Rate::Constant { mean_gap_ns, .. } => (position * *mean_gap_ns) as u64,
            Rate::Steps(steps) => steps.time_ns(position),
        };
        match self.law {
            ArrivalLaw::Spike => at_ns - at_ns % SECOND as u64,
            _ => at_ns,
        }
    }
}

impl Steps {
    fn new(spans: &[(f64, Nanos)]) -> Self {
        let (mut start_ns, mut before) = (0, 0.0);
        let mut steps = Vec::with_capacity(spans.len());
        for (per_second, span) in spans {
            let (end_ns, until) = (
                start_ns + span.0,
                before + per_second * span.0 as f64 / SECOND,
            );
            if until > before {
                steps.push(Step {
                    per_second: *per_second,
                    start_ns,
                    end_ns,
                    before,
                    until,
                });
            }
            (start_ns, before) = (end_ns, until);
        }
        Self {
            steps,
            cycle_ns: start_ns,
            arrivals_per_cycle: before,
            cycles: 0,
            place: 0,
        }
    }

    /// When so many arrivals have come; positions must not descend.
    fn time_ns(&mut self, position: f64) -> u64 {
        let cycles = (position / self.arrivals_per_cycle) as u64;
        if cycles != self.cycles {
            (self.cycles, self.place) = (cycles, 0);
        }
        let position = (position - cycles as f64 * self.arrivals_per_cycle).max(0.0);
        while position >= self.steps[self.place].until && self.place + 1 < self.steps.len() {
            self.place += 1;
        }
        let step = &self.steps[self.place];
        // Seconds first: a whole number of them stays one.
        let since_ns = ((position - step.before).max(0.0) / step.per_second * SECOND) as u64;
        let in_cycle_ns = step.start_ns.saturating_add(since_ns).min(step.end_ns - 1);
        cycles
            .saturating_mul(self.cycle_ns)
            .saturating_add(in_cycle_ns)
    }
}

/// 62 bits of time, which are 146 years, and two of what is asked for.
fn pack(next: Next) -> u64 {
    let operation = match next.operation {
        None => 0,
        Some(Operation::Read) => 1,
        Some(Operation::Write) => 2,
        Some(_) => 3,
    };
    next.at_ns.min(u64::MAX >> 2) << 2 | operation
}

#[inline]
fn unpack(index: u64, packed: u64) -> Next {
    let operation = match packed & 3 {
        0 => None,
        1 => Some(Operation::Read),
        2 => Some(Operation::Write),
        _ => Some(Operation::Trim),
    };
    Next {
        index,
        at_ns: packed >> 2,
        operation,
    }
}

impl Feed {
    pub fn new(arrivals: Arrivals) -> Self {
        let chunk = || Chunk {
            ready: AtomicU64::new(0),
            times: (0..CHUNK).map(|_| AtomicU64::new(0)).collect(),
        };
        let feed = Self {
            next: AtomicU64::new(0),
            chunks: [chunk(), chunk(), chunk(), chunk()],
            source: Mutex::new(arrivals),
        };
        feed.peek();
        feed
    }

    /// The next arrival that nobody has claimed.
    #[inline]
    pub fn peek(&self) -> Next {
        loop {
            let index = self.next.load(Ordering::Acquire);
            if let Some(next) = self.look(index) {
                return next;
            }
            self.fill(index / CHUNK);
        }
    }

    /// The arrival so many places behind the next one, where it is known yet.
    pub fn ahead(&self, places: u64) -> Option<Next> {
        self.look(self.next.load(Ordering::Acquire) + places)
    }

    /// The mean gap of the arrivals around the next one.
    pub fn gap_ns(&self) -> f64 {
        let first = self.peek().index / CHUNK * CHUNK;
        match (self.look(first), self.look(first + CHUNK - 1)) {
            (Some(first), Some(last)) => (last.at_ns - first.at_ns) as f64 / (CHUNK - 1) as f64,
            // Somebody has just dealt out the last of them.
            _ => f64::INFINITY,
        }
    }

    #[inline]
    fn look(&self, index: u64) -> Option<Next> {
        let number = index / CHUNK + 1;
        let chunk = &self.chunks[(index / CHUNK) as usize % CHUNKS];
        let is_ready = || chunk.ready.load(Ordering::Acquire) == number;
        if !is_ready() {
            return None;
        }
        let packed = chunk.times[(index % CHUNK) as usize].load(Ordering::Relaxed);
        is_ready().then(|| unpack(index, packed))
    }

    /// Claims arrival `index`, as [`Feed::peek`] gave it; false when somebody was faster.
    #[inline]
    pub fn claim(&self, index: u64) -> bool {
        self.next
            .compare_exchange(index, index + 1, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// How many arrivals were claimed.
    pub fn claimed(&self) -> u64 {
        self.next.load(Ordering::Acquire)
    }

    #[cold]
    fn fill(&self, number: u64) {
        // Whoever comes second spins for the few microseconds that a chunk takes.
        let Ok(mut source) = self.source.try_lock() else {
            std::hint::spin_loop();
            return;
        };
        let chunk = &self.chunks[number as usize % CHUNKS];
        if chunk.ready.load(Ordering::Acquire) > number || source.taken() != number * CHUNK {
            return;
        }
        chunk.ready.store(0, Ordering::Release);
        for time in &chunk.times {
            time.store(pack(source.take()), Ordering::Relaxed);
        }
        chunk.ready.store(number + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals(law: ArrivalLaw, rate: f64) -> Arrivals {
        Arrivals::new(&Pace::constant(rate, law), 0.0, (1, 2, 3))
    }

    #[test]
    fn a_poisson_count_is_within_four_sigma() {
        let mut schedule = arrivals(ArrivalLaw::Exponential, 20_000.0);
        let count = std::iter::from_fn(|| Some(schedule.next_ns()))
            .take_while(|t| *t < 10_000_000_000)
            .count();
        assert!(
            (count as f64 - 200_000.0).abs() < 4.0 * 200_000_f64.sqrt(),
            "{count}"
        );
    }

    #[test]
    fn exponential_gaps_pass_kolmogorov_smirnov() {
        let mut schedule = arrivals(ArrivalLaw::Exponential, 1_000.0);
        let mut last = 0;
        let mut gaps: Vec<f64> = (0..10_000)
            .map(|_| {
                let time = schedule.next_ns();
                let gap = (time - last) as f64 / 1e6;
                last = time;
                gap
            })
            .collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| ((1.0 - (-gap).exp()) - (i as f64 + 0.5) / n).abs())
            .fold(0.0, f64::max);
        // 1.95 ÷ √n is the 99.9 % point.
        assert!(distance < 1.95 / n.sqrt(), "{distance}");
    }

    /// The arrivals of each of these spans, in nanoseconds.
    fn counts(mut schedule: Arrivals, spans: impl Iterator<Item = u64>) -> Vec<u64> {
        let (mut end_ns, mut next_ns) = (0, schedule.next_ns());
        let count = spans.map(|span_ns| {
            end_ns += span_ns;
            let mut count = 0;
            while next_ns < end_ns {
                (count, next_ns) = (count + 1, schedule.next_ns());
            }
            count
        });
        count.collect()
    }

    fn steps(law: ArrivalLaw, phase: f64, steps: &[(f64, u64)]) -> Arrivals {
        let steps = steps.iter().map(|(rate, span)| (*rate, Nanos(*span)));
        Arrivals::new(&Pace::steps(steps.collect(), law), phase, (1, 2, 3))
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn each_step_has_exactly_its_arrivals_cycle_after_cycle() {
        let spans = [(1_000.0, 2_000 * MS), (0.0, 500 * MS), (5_000.0, 250 * MS)];
        for law in [ArrivalLaw::Deterministic, ArrivalLaw::Spike] {
            for phase in [0.0, 0.5, 0.999] {
                let schedule = steps(law, phase, &spans);
                let cycle = spans.iter().map(|(_, span)| *span);
                let found = counts(schedule, cycle.cycle().take(300));
                // A spike comes at the start of its second, which may be one of the step before.
                let sum = |place: usize| found[place..].iter().step_by(3).sum::<u64>();
                assert_eq!(sum(0) + sum(1) + sum(2), 100 * (2_000 + 1_250));
                if law == ArrivalLaw::Deterministic {
                    let expected = [2_000, 0, 1_250].into_iter().cycle().take(300);
                    assert_eq!(found, expected.collect::<Vec<u64>>(), "{phase}");
                }
            }
        }
    }

    #[test]
    fn a_spike_brings_a_whole_second_at_its_start() {
        let spans = [(7.0, 3_000 * MS), (30.0, 1_000 * MS)];
        let mut schedule = steps(ArrivalLaw::Spike, 0.0, &spans);
        let mut constant = arrivals(ArrivalLaw::Spike, 3.0);
        for second in 0..4_000 {
            let expected = if second % 4 == 3 { 30 } else { 7 };
            for _ in 0..expected {
                assert_eq!(schedule.next_ns(), second * 1_000 * MS);
            }
            for _ in 0..3 {
                assert_eq!(constant.next_ns(), second * 1_000 * MS);
            }
        }
    }

    #[test]
    fn poisson_counts_of_steps_pass_chi_square() {
        let spans = [(2_000.0, 100 * MS), (500.0, 100 * MS), (8_000.0, 50 * MS)];
        let schedule = steps(ArrivalLaw::Exponential, 0.0, &spans);
        let cycle = spans.iter().map(|(_, span)| *span);
        let found = counts(schedule, cycle.cycle().take(3 * 400));
        let expected = [200.0, 50.0, 400.0];
        let terms = found.iter().zip(expected.iter().cycle());
        let chi_square: f64 = terms
            .map(|(count, mean)| (*count as f64 - mean).powi(2) / mean)
            .sum();
        // 1200 counts of known mean and the same variance: 1200 ± 4 √2400.
        assert!(
            (chi_square - 1_200.0).abs() < 4.0 * 2_400_f64.sqrt(),
            "{chi_square}"
        );
    }

    #[test]
    fn uniform_gaps_pass_kolmogorov_smirnov_at_any_rate() {
        let constant = arrivals(ArrivalLaw::Uniform, 1_000.0);
        let spans = [(1_000.0, 700 * MS), (1_000.0, 300 * MS)];
        for mut schedule in [constant, steps(ArrivalLaw::Uniform, 0.0, &spans)] {
            let mut last = 0;
            let mut gaps: Vec<f64> = (0..10_000)
                .map(|_| {
                    let time = schedule.next_ns();
                    (time - std::mem::replace(&mut last, time)) as f64 / 2e6
                })
                .collect();
            gaps.sort_by(f64::total_cmp);
            let n = gaps.len() as f64;
            let distances = gaps.iter().enumerate();
            let distance = distances
                .map(|(i, gap)| (gap - (i as f64 + 0.5) / n).abs())
                .fold(0.0, f64::max);
            assert!(distance < 1.95 / n.sqrt(), "{distance}");
        }
    }

    #[test]
    fn kinds_of_arrivals_keep_their_own_rates_in_one_sequence() {
        use Operation::{Read, Write};
        let pace = Pace::by_operation([(Read, 600.0), (Write, 50.0)], ArrivalLaw::Deterministic);
        let mut schedule = Arrivals::new(&pace, 0.0, (1, 2, 3));
        let (mut last, mut counts) = (0, [0; 2]);
        for index in 0..6_500 {
            let next = schedule.take();
            assert_eq!(next.index, index);
            assert!(next.at_ns >= last && next.at_ns < 10_000 * MS);
            last = next.at_ns;
            assert_eq!(unpack(index, pack(next)), next);
            counts[usize::from(next.operation == Some(Write))] += 1;
        }
        assert_eq!(counts, [6_000, 500]);
    }

    /// Reads and writes of a share of small and a share of large blocks, each block once: the bytes of each kind before
    /// an arrival are those that its rate allows, whatever sizes were drawn and however the places cut them.
    #[test]
    fn gaps_may_follow_the_bytes_of_each_arrival() {
        use Operation::{Read, Write};
        let source = once_per_block();
        let mean_bytes = 108_544.0;
        let rates = [(Read, 10.0 * 1e6), (Write, 1e6)];
        let arrivals = rates.map(|(kind, bytes)| (kind, bytes / mean_bytes));
        let pace = Pace::by_operation(arrivals, ArrivalLaw::Deterministic);
        let pace = pace.in_bytes(|_| mean_bytes);
        let mut schedule = Arrivals::new(&pace, 0.0, (1, 2, 3)).rehearsing(source.clone());
        let (mut moved, mut phases) = ([0_u64; 2], [None; 2]);
        for index in 0..5_000 {
            let next = schedule.take();
            let kind = usize::from(next.operation == Some(Write));
            let phase = next.at_ns as f64 - moved[kind] as f64 / rates[kind].1 * SECOND;
            let first: f64 = *phases[kind].get_or_insert(phase);
            assert!((phase - first).abs() < 100.0, "{index}: {phase} {first}");
            let drawn = source.next(index, next.operation).unwrap();
            moved[kind] += u64::from(drawn.length);
        }
        assert!(moved[1] > 0 && moved[0] > 8 * moved[1], "{moved:?}");
        // The places cut most of what was drawn.
        let mean_moved = (moved[0] + moved[1]) as f64 / 5_000.0;
        assert!(mean_moved < mean_bytes / 2.0, "{mean_moved}");
        // A copy goes on as the schedule itself does.
        let mut copy = schedule.clone();
        assert!((0..1_000).all(|_| copy.take() == schedule.take()));
    }

    fn once_per_block() -> Source {
        use plan::{AddressOrder, AlignRule, PerDirection, RandomLaw, SequentialEnd};
        let share = |bytes, pct| plan::SizeShare { bytes, pct };
        let sizes = vec![share(4096, 90.0), share(1 << 20, 10.0)];
        let region = plan::Region::whole(4096, plan::FirstBlock::Used);
        let laws = plan::Generator {
            operations: plan::OperationMix::reads(50.0),
            transfer: PerDirection::all(plan::TransferSizes::Mix(sizes)),
            order: AddressOrder::Random(RandomLaw::OncePerBlock(SequentialEnd::Wrap)),
            region,
            align: AlignRule::Bytes(4096),
            sequences: plan::Sequences::Shared,
            hits: None,
            redraws_sizes: false,
        };
        let region = plan::BoundRegion {
            target: plan::TargetId(0),
            low: 0,
            width: 20 << 20,
            wrap_at: None,
            wrap_to: 0,
            start: 0,
        };
        let ground = crate::source::Ground {
            targets: &[plan::TargetId(0)],
            order: plan::TargetOrder::RoundRobin,
            regions: &[region],
        };
        Source::of_laws(&laws, &ground, plan::LocalStop::default(), (1, 2, 3))
    }

    #[test]
    fn a_feed_deals_each_arrival_once_in_order() {
        let feed = Feed::new(arrivals(ArrivalLaw::Exponential, 1e6));
        let claimed: Vec<Vec<(u64, u64)>> = std::thread::scope(|scope| {
            let work = || {
                let mut mine = Vec::new();
                while mine.len() < 5_000 {
                    let next = feed.peek();
                    if feed.claim(next.index) {
                        mine.push((next.index, next.at_ns));
                    }
                }
                mine
            };
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut all: Vec<(u64, u64)> = claimed.into_iter().flatten().collect();
        all.sort_unstable();
        let mut schedule = arrivals(ArrivalLaw::Exponential, 1e6);
        for (index, time) in all {
            assert_eq!(index, schedule.taken());
            assert_eq!(time, schedule.next_ns());
        }
    }

    #[test]
    fn what_lies_ahead_is_what_comes() {
        let feed = Feed::new(arrivals(ArrivalLaw::Exponential, 1e6));
        let mut foreseen = None;
        for _ in 0..3 * CHUNK {
            let next = feed.peek();
            assert!(foreseen.is_none_or(|at_ns| at_ns == next.at_ns));
            foreseen = feed.ahead(1).map(|next| next.at_ns);
            assert_eq!(foreseen.is_none(), next.index % CHUNK == CHUNK - 1);
            assert!(feed.claim(next.index));
        }
    }

    #[test]
    fn the_gap_is_that_of_the_schedule() {
        let feed = Feed::new(arrivals(ArrivalLaw::Deterministic, 20_000.0));
        for _ in 0..2 * CHUNK {
            let next = feed.peek();
            assert!((feed.gap_ns() - 50_000.0).abs() < 1.0);
            assert!(feed.claim(next.index));
        }
        // Four deviations of a mean of 255 gaps.
        let feed = Feed::new(arrivals(ArrivalLaw::Exponential, 20_000.0));
        assert!((feed.gap_ns() - 50_000.0).abs() < 4.0 * 50_000.0 / 255_f64.sqrt());
    }

    proptest! {
        #[test]
        fn even_spacing_holds_over_any_window(rate in 1.0_f64..1e6, from in 0_u64..1_000, length in 1_u64..1_000) {
            let mut schedule = arrivals(ArrivalLaw::Deterministic, rate);
            let (start, end) = (from * 1_000_000, (from + length) * 1_000_000);
            let mut count = 0_u64;
            loop {
                let time = schedule.next_ns();
                if time >= end { break; }
                count += u64::from(time >= start);
                if schedule.taken() > 3_000_000 { return Ok(()); }
            }
            let expected = rate * length as f64 / 1e3;
            prop_assert!((count as f64 - expected).abs() <= 1.0 + expected * 1e-9, "{count} for {expected}");
        }

        #[test]
        fn even_steps_hold_over_any_window(
            rates in proptest::collection::vec((0.0_f64..20_000.0, 1_u64..2_000), 1..5),
            from in 0_u64..5_000,
            length in 1_u64..3_000,
        ) {
            let spans: Vec<(f64, u64)> = rates.iter().map(|(rate, ms)| (*rate, ms * MS)).collect();
            prop_assume!(spans.iter().any(|(rate, _)| *rate > 1.0));
            let found = counts(
                steps(ArrivalLaw::Deterministic, 0.3, &spans),
                [from * MS, length * MS].into_iter(),
            );
            let named: Vec<(f64, Nanos)> = spans.iter().map(|(rate, span)| (*rate, Nanos(*span))).collect();
            let mean = plan::mean_of_steps(&named, from * MS, (from + length) * MS);
            let expected = mean * length as f64 / 1e3;
            prop_assert!((found[1] as f64 - expected).abs() <= 1.0 + expected * 1e-9, "{found:?} for {expected}");
        }

        #[test]
        fn every_law_ascends(law_number in 0_usize..4, rate in 0.1_f64..1e7) {
            let laws = [ArrivalLaw::Exponential, ArrivalLaw::Uniform, ArrivalLaw::Deterministic, ArrivalLaw::Spike];
            let mut schedule = arrivals(laws[law_number], rate);
            let mut last = 0;
            for _ in 0..2_000 {
                let time = schedule.next_ns();
                prop_assert!(time >= last);
                last = time;
            }
        }
    }
}
