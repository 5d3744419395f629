//! The schedule of arrivals of one stream, and its feed to workers.
//!
//! [`Arrivals`] is the schedule itself: a pure sequence of times that depends on nothing that
//! happens. [`Feed`] deals it out: any idle worker may claim the next arrival once it is due, and
//! what is late is a cursor on the schedule, never a list.
use crate::random::{Draws, Purpose};
use plan::ArrivalLaw;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const CHUNK: u64 = 256;
const CHUNKS: usize = 4;
const SECOND: f64 = 1e9;

/// Gaps longer than this are cut, as a rate near zero would never arrive.
const LONGEST_GAP_NS: f64 = 180.0 * SECOND;

/// Times in nanoseconds since the start of the run, in ascending order, without end.
#[derive(Clone, Debug)]
pub struct Arrivals {
    law: ArrivalLaw,
    mean_gap_ns: f64,
    offset_ns: f64,
    draws: Draws,
    index: u64,
    /// Sum of the gaps so far; as an integer and a fraction, so that long runs keep precision.
    whole_ns: u64,
    fraction_ns: f64,
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
    times: Box<[AtomicU64]>,
}

impl Arrivals {
    /// `per_second` must be above zero. Deterministic streams start `phase` of a gap after the run,
    /// so that several of them do not arrive at the same instants.
    pub fn new(law: ArrivalLaw, per_second: f64, phase: f64, seed: (u64, u64, u64)) -> Self {
        assert!(per_second > 0.0, "a schedule has a rate");
        let mean_gap_ns = SECOND / per_second;
        let offset_ns = if law == ArrivalLaw::Deterministic {
            phase.fract() * mean_gap_ns
        } else {
            0.0
        };
        Self {
            law,
            mean_gap_ns,
            offset_ns,
            draws: Draws::new(seed.0, seed.1, seed.2, Purpose::Arrival),
            index: 0,
            whole_ns: 0,
            fraction_ns: 0.0,
        }
    }

    /// How many arrivals were taken so far.
    pub fn taken(&self) -> u64 {
        self.index
    }

    /// The next arrival.
    pub fn next_ns(&mut self) -> u64 {
        let index = self.index;
        self.index += 1;
        match self.law {
            // By multiplication rather than by adding gaps: no error accumulates.
            ArrivalLaw::Deterministic => (self.offset_ns + index as f64 * self.mean_gap_ns) as u64,
            ArrivalLaw::Spike => (index as f64 * self.mean_gap_ns / SECOND) as u64 * SECOND as u64,
            ArrivalLaw::Exponential => {
                self.advance(-self.draws.unit(index).ln() * self.mean_gap_ns)
            }
            ArrivalLaw::Uniform => self.advance(self.draws.unit(index) * 2.0 * self.mean_gap_ns),
        }
    }

    fn advance(&mut self, gap_ns: f64) -> u64 {
        let sum = self.fraction_ns + gap_ns.min(LONGEST_GAP_NS.max(self.mean_gap_ns));
        self.whole_ns += sum as u64;
        self.fraction_ns = sum.fract();
        self.whole_ns
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

    /// Number and time of the next arrival that nobody has claimed.
    #[inline]
    pub fn peek(&self) -> (u64, u64) {
        loop {
            let index = self.next.load(Ordering::Acquire);
            let number = index / CHUNK + 1;
            let chunk = &self.chunks[(index / CHUNK) as usize % CHUNKS];
            if chunk.ready.load(Ordering::Acquire) == number {
                let time = chunk.times[(index % CHUNK) as usize].load(Ordering::Relaxed);
                if chunk.ready.load(Ordering::Acquire) == number {
                    return (index, time);
                }
            }
            self.fill(index / CHUNK);
        }
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
            time.store(source.next_ns(), Ordering::Relaxed);
        }
        chunk.ready.store(number + 1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arrivals(law: ArrivalLaw, rate: f64) -> Arrivals {
        Arrivals::new(law, rate, 0.0, (1, 2, 3))
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

    #[test]
    fn a_feed_deals_each_arrival_once_in_order() {
        let feed = Feed::new(arrivals(ArrivalLaw::Exponential, 1e6));
        let claimed: Vec<Vec<(u64, u64)>> = std::thread::scope(|scope| {
            let work = || {
                let mut mine = Vec::new();
                while mine.len() < 5_000 {
                    let (index, time) = feed.peek();
                    if feed.claim(index) {
                        mine.push((index, time));
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
