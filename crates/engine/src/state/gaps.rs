//! Times without a success on a target while something was due or in flight. Each success compares with the last one that its
//! own cell has seen; only where that is long ago, it is looked who else had one.
use super::SharedRun;
use crate::op::{Cause, Op};
use measure::{FigureCell, GAP_NS, Gap, StillTimes};
use plan::TargetId;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Failures may come as fast as successes do, and are looked at one by one no more often.
const FAILURE_LOOK_NS: u64 = 500_000;

/// Of a target and interval, that many are told: the longest.
const TOLD: usize = 16;

/// Of a run: what of its targets is counted apart.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// In the order of their places.
    targets: Vec<GapsOfTarget>,
}

#[derive(Debug)]
struct GapsOfTarget {
    target: TargetId,
    /// Streams that reach it, and its place in each.
    users: Vec<(usize, usize)>,
    /// A success that was seen with a look at all; others may have been later.
    seen_ns: AtomicU64,
    /// When the first operation failed that did so since the last success, or was not back at the end; of no meaning where
    /// a success came after it.
    failed_ns: AtomicU64,
    /// When the first of all of these was due.
    failed_due_ns: AtomicU64,
    /// When one was looked at.
    failed_seen_ns: AtomicU64,
    /// That have ended and were not taken yet.
    ended: Mutex<Ended>,
}

#[derive(Debug)]
struct Ended {
    /// The longest.
    told: Vec<Gap>,
    /// Of all.
    times: StillTimes,
}

impl Gaps {
    /// Of the targets of streams, each with those that are counted apart.
    pub(crate) fn of<'a>(streams: impl Iterator<Item = &'a [TargetId]>) -> Self {
        let mut users: Vec<(TargetId, (usize, usize))> = Vec::new();
        for (stream, targets) in streams.enumerate() {
            let places = targets.iter().enumerate();
            users.extend(places.map(|(place, target)| (*target, (stream, place))));
        }
        users.sort_unstable();
        let of_target = |of: &[(TargetId, (usize, usize))]| GapsOfTarget {
            target: of[0].0,
            users: of.iter().map(|(_, user)| *user).collect(),
            seen_ns: AtomicU64::new(0),
            failed_ns: AtomicU64::new(0),
            failed_due_ns: AtomicU64::new(0),
            failed_seen_ns: AtomicU64::new(0),
            // Workers add to it, and they allocate nothing.
            ended: Mutex::new(Ended {
                told: Vec::with_capacity(TOLD),
                times: StillTimes::default(),
            }),
        };
        let targets = users.chunk_by(|one, other| one.0 == other.0);
        Self {
            targets: targets.map(of_target).collect(),
        }
    }

    fn of_target(&self, target: TargetId) -> Option<&GapsOfTarget> {
        let place = self.targets.binary_search_by_key(&target, |one| one.target);
        place.ok().map(|place| &self.targets[place])
    }
}

impl GapsOfTarget {
    /// The last success before `now_ns` that anybody had; the start of the run, where there was none.
    fn last_success_ns(&self, run: &SharedRun, now_ns: u64) -> u64 {
        let cells = self.users.iter().flat_map(|(stream, place)| {
            let stream = &run.streams[*stream];
            let kinds = stream.kinds.len();
            let slabs = stream.recorders.iter().flat_map(|one| &one.slabs);
            slabs.flat_map(move |slab| slab.cells.iter().skip(place * kinds).take(kinds))
        });
        // One that came meanwhile has told what it ended before it shows.
        let seen = cells.map(|cell| cell.last_success_ns.load(Relaxed).min(now_ns));
        seen.max().unwrap_or(0).max(run.start_ns.load(Relaxed))
    }

    /// When the last of the streams that reach it was ended by a failure; `None` while one may go on.
    fn abandoned_ns(&self, run: &SharedRun) -> Option<u64> {
        let streams = self.users.iter().map(|(stream, _)| &run.streams[*stream]);
        let times = streams.map(|stream| stream.cut_off_ns.load(Relaxed));
        times
            .map(|ns| Some(ns).filter(|ns| *ns > 0))
            .try_fold(0, |last, ns| Some(last.max(ns?)))
    }

    fn add(&self, gap: Gap) {
        let Ok(mut ended) = self.ended.lock() else {
            return;
        };
        let length = |gap: &Gap| gap.to_ns - gap.from_ns;
        ended.times.add(StillTimes {
            count: 1,
            sum_ns: length(&gap),
        });
        if ended.told.len() < TOLD {
            ended.told.push(gap);
        } else if let Some(shortest) = ended.told.iter_mut().min_by_key(|gap| length(gap))
            && length(shortest) < length(&gap)
        {
            *shortest = gap;
        }
    }
}

impl SharedRun {
    fn gaps_of(&self, op: &Op) -> Option<&GapsOfTarget> {
        let stream = &self.streams[op.object.stream as usize];
        let target = stream.target_counted(op.object.place as usize);
        self.gaps.of_target(target)
    }

    /// A success was seen that counts in `cell`.
    #[inline]
    pub(crate) fn note_success(&self, cell: &FigureCell, op: &Op, now_ns: u64) {
        if cell.was_still(now_ns) {
            self.end_gap(op, now_ns);
        }
        cell.last_success_ns.store(now_ns, Relaxed);
    }

    /// A success came after its cell had none for long; notes what that ends, if nobody else had one.
    #[cold]
    #[inline(never)]
    fn end_gap(&self, op: &Op, now_ns: u64) {
        let Some(own) = self.gaps_of(op) else {
            return;
        };
        let seen_ns = own.seen_ns.fetch_max(now_ns, Relaxed);
        if seen_ns + GAP_NS > now_ns {
            return;
        }
        let last_ns = own.last_success_ns(self, now_ns);
        if last_ns + GAP_NS > now_ns {
            return;
        }
        if let Some(gap) = self.gap(own, last_ns, now_ns) {
            own.add(gap);
        }
    }

    /// An operation of that age has failed, or was not back at the end.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_no_success(&self, op: &Op, age_ns: u64, now_ns: u64) {
        let Some(own) = self.gaps_of(op) else {
            return;
        };
        let due_ns = now_ns.saturating_sub(age_ns);
        let looked_ns = own.failed_seen_ns.load(Relaxed);
        let known_ns = own.failed_due_ns.load(Relaxed);
        if looked_ns + FAILURE_LOOK_NS > now_ns && known_ns <= due_ns {
            return;
        }
        own.failed_seen_ns.store(now_ns, Relaxed);
        if own.failed_ns.load(Relaxed) <= own.last_success_ns(self, now_ns) {
            own.failed_ns.store(now_ns, Relaxed);
            own.failed_due_ns.store(due_ns, Relaxed);
        } else {
            own.failed_due_ns.fetch_min(due_ns, Relaxed);
        }
    }

    /// From the last success, or since something was due after it; since the start of the run. `None` for one that is too
    /// short.
    fn gap(&self, own: &GapsOfTarget, last_ns: u64, to_ns: u64) -> Option<Gap> {
        let start_ns = self.start_ns.load(Relaxed);
        let target = own.target;
        let has_failed = own.failed_ns.load(Relaxed) > last_ns;
        let failed_ns = has_failed.then(|| own.failed_due_ns.load(Relaxed));
        let due_ns = self.due_since_ns(target, to_ns);
        // Where a failure has ended all streams, nothing is due any more.
        let abandoned_ns = own.abandoned_ns(self).filter(|_| due_ns.is_none());
        let to_ns = abandoned_ns.map_or(to_ns, |ns| ns.min(to_ns));
        let from_ns = due_ns.into_iter().chain(failed_ns).min()?.max(last_ns);
        (to_ns.saturating_sub(from_ns) >= GAP_NS).then(|| Gap {
            target,
            from_ns: from_ns.saturating_sub(start_ns),
            to_ns: to_ns.saturating_sub(start_ns),
        })
    }

    /// Since when something is in flight to a target, or is due; `None` where nothing is.
    fn due_since_ns(&self, target: TargetId, now_ns: u64) -> Option<u64> {
        let views = self.workers.iter().flat_map(|worker| &worker.slots);
        let since = views.filter_map(|view| {
            let started_ns = view.started_ns.load(Relaxed);
            let op = view.op.load();
            let stream = self.streams.get(op.object.stream as usize)?;
            // What is dirty at the end of a job takes as long to write as it is much.
            let is_last_sync = matches!(op.cause, Cause::AtEnd | Cause::FileSystemRule);
            let is_it = started_ns > 0
                && !is_last_sync
                && started_ns <= now_ns
                && stream.target_counted(op.object.place as usize) == target;
            let arrival_ns = view.arrival_ns.load(Relaxed);
            is_it.then_some(match arrival_ns {
                0 => started_ns,
                arrival_ns => arrival_ns.min(started_ns),
            })
        });
        since.min()
    }

    /// Those that have ended since the last time, and those that go on at `now_ns`, by target; and of which targets there
    /// were how many.
    pub(crate) fn take_gaps(&self, now_ns: u64) -> (Vec<Gap>, Vec<(TargetId, StillTimes)>) {
        let (mut all, mut times) = (Vec::new(), Vec::new());
        for own in &self.gaps.targets {
            if let Ok(mut ended) = own.ended.lock() {
                all.append(&mut ended.told);
                if ended.times.count > 0 {
                    times.push((own.target, std::mem::take(&mut ended.times)));
                }
            }
            let last_ns = own.last_success_ns(self, now_ns);
            if last_ns + GAP_NS > now_ns {
                continue;
            }
            all.extend(self.gap(own, last_ns, now_ns));
        }
        all.sort_unstable_by_key(|gap| (gap.target, gap.from_ns));
        (all, times)
    }
}
