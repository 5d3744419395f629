//! Streams that are held in the proportion of their shares: those without a schedule by what they did, and those with one
//! by how far they are in it.
use super::stream::SharedStream;
use crate::pace::Pace;
use plan::{BoundRun, Coupling};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How far a stream without a schedule may run ahead of the slowest one, in operations of the run.
const WINDOW: f64 = 256.0;

/// How late arrivals of a stream may be before those of the others wait for them: this long, or as long as so many of its
/// arrivals take. A stream that stands still for less holds back nobody.
const LEAST_PATIENCE_NS: f64 = 50e6;
const LEAST_PATIENCE_ARRIVALS: f64 = 64.0;

/// Keeps the streams of a run in the proportion of their shares.
#[derive(Debug)]
pub(crate) struct Proportion {
    by_stream: Vec<Member>,
    /// A lower bound of the slowest stream's progress, as bits of an f64.
    slowest: AtomicU64,
    /// Up to when arrivals may be submitted, nanoseconds of the schedule; a lower bound, too.
    until_ns: AtomicU64,
}

#[derive(Debug)]
enum Member {
    /// Neither holds back others nor is held back.
    Free,
    /// Operations of the run that go with each of its own.
    PerShare(f64),
    Scheduled {
        patience_ns: u64,
        /// How often another waited for it.
        waits: AtomicU64,
    },
}

impl Proportion {
    /// `None` where nothing holds the streams of the run together.
    pub(crate) fn of(
        run: &BoundRun,
        shares_pct: Option<&[f64]>,
        paces: &[Option<Pace>],
    ) -> Option<Self> {
        let member = |(number, pace): (usize, &Option<Pace>)| match (run.run.coupling, pace) {
            (Coupling::Proportional, Some(pace)) if pace.has_arrivals() => Member::Scheduled {
                patience_ns: patience_ns(pace),
                waits: AtomicU64::new(0),
            },
            (Coupling::Proportional | Coupling::Priority, None) => {
                let own_pct = run.run.streams[number].share_pct;
                let share_pct = shares_pct.map_or(own_pct, |shares| shares[number]);
                Member::PerShare(1.0 / share_pct.max(1e-9) * 100.0)
            }
            _ => Member::Free,
        };
        let by_stream: Vec<Member> = paces.iter().enumerate().map(member).collect();
        let members = by_stream.iter().filter(|one| !matches!(one, Member::Free));
        (members.count() > 1).then(|| Self {
            by_stream,
            slowest: AtomicU64::new(0.0_f64.to_bits()),
            until_ns: AtomicU64::new(0),
        })
    }

    /// Whether stream `number` may issue now without leaving the slowest too far behind.
    #[inline]
    pub(crate) fn allows(&self, number: usize, streams: &[SharedStream]) -> bool {
        match &self.by_stream[number] {
            Member::Free => true,
            Member::PerShare(per_share) => {
                let done = streams[number].next_index.load(Relaxed) as f64 * per_share;
                done <= f64::from_bits(self.slowest.load(Relaxed)) + WINDOW
                    || done <= self.slowest_now(streams) + WINDOW
            }
            Member::Scheduled { .. } => {
                let next_ns = next_arrival_ns(&streams[number]);
                next_ns <= self.until_ns.load(Relaxed) || next_ns <= self.until_now_ns(streams)
            }
        }
    }

    fn slowest_now(&self, streams: &[SharedStream]) -> f64 {
        let active = self.by_stream.iter().zip(streams);
        let active = active.filter(|(_, stream)| !stream.ended.load(Relaxed));
        let progress = active.filter_map(|(member, stream)| match member {
            Member::PerShare(per_share) => Some(stream.next_index.load(Relaxed) as f64 * per_share),
            _ => None,
        });
        let slowest = progress.fold(f64::INFINITY, f64::min);
        if slowest.is_finite() {
            self.slowest.store(slowest.to_bits(), Relaxed);
        }
        slowest
    }

    /// The latest arrival that may go out, by the stream that is behind most.
    fn until_now_ns(&self, streams: &[SharedStream]) -> u64 {
        let active = self.by_stream.iter().zip(streams);
        let active = active.filter(|(_, stream)| !stream.ended.load(Relaxed));
        let bounds = active.filter_map(|(member, stream)| match member {
            Member::Scheduled { patience_ns, waits } => {
                let until_ns = next_arrival_ns(stream).saturating_add(*patience_ns);
                Some((until_ns, waits))
            }
            _ => None,
        });
        let Some((until_ns, waits)) = bounds.min_by_key(|(until_ns, _)| *until_ns) else {
            return u64::MAX;
        };
        if until_ns == self.until_ns.swap(until_ns, Relaxed) {
            // It did not move since somebody looked last.
            waits.fetch_add(1, Relaxed);
        }
        until_ns
    }

    /// The stream for whose arrivals those of others waited most often.
    pub(crate) fn held_back_by(&self) -> Option<usize> {
        let waits = |member: &Member| match member {
            Member::Scheduled { waits, .. } => waits.load(Relaxed),
            _ => 0,
        };
        let by_stream = self.by_stream.iter().map(waits).enumerate();
        let most = by_stream.max_by_key(|(_, waits)| *waits);
        most.filter(|(_, waits)| *waits > 0)
            .map(|(number, _)| number)
    }
}

/// In nanoseconds since its stream began.
#[inline]
fn next_arrival_ns(stream: &SharedStream) -> u64 {
    let feed = stream.feed.as_ref();
    feed.map_or(u64::MAX, |feed| feed.peek().at_ns)
}

fn patience_ns(pace: &Pace) -> u64 {
    let gap_ns = 1e9 / pace.fastest();
    (LEAST_PATIENCE_ARRIVALS * gap_ns).max(LEAST_PATIENCE_NS) as u64
}
