//! The one loop of the engine: reap, record, draw, queue, stamp. A backend, a pace and a stop are
//! values here; there is no second loop.
//!
//! [`Worker::step`] does not block: it says until when and for how many completions its driver may
//! wait. On threads the driver is in [`crate::session`], in simulated time in [`crate::sim`].
use crate::arrivals::{Feed, Next};
use crate::backend::{Backend, Request};
use crate::check::{Checks, ReadBacks, Written};
use crate::data::{Filled, Write};
use crate::depth_search::Verdict;
use crate::notes::{HandoverNotes, Place, Stops};
use crate::op::{Cause, Drawn, Object, Op};
use crate::operations::OperationWriter;
use crate::priorities::Priorities;
use crate::rest::{self, Rest};
use crate::state::{AFTER_STOP, SharedRun, SharedStream, WARMUP};
use measure::{Failure, LATE_NS, Misfit, Sharing};
use plan::{Operation, PoolAdmission, RangeSync};
use std::ops::Deref;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};

const EAGAIN: i32 = 11;
const ENOSPC: i32 = 28;
const ENODATA: i32 = 61;
const ETIMEDOUT: i32 = 110;
const EDQUOT: i32 = 122;
/// What a read counts as that came back with other data than it should.
const EILSEQ: i32 = 84;

const HOLDS_READ: usize = 0;
const HOLDS_OWN: usize = 1;

/// A gated stream looks again after this time.
const GATE_RETRY_NS: u64 = 100_000;

/// Completions are waited for in groups where a group takes no longer than this to fill, so that the
/// first of a group does not wait for the last on a slow device. On a fast one the first waits for a
/// quarter of the service time at most, as a group is a quarter of what is in flight; in a closed
/// loop the mean stays slots ÷ rate however completions are taken.
const GROUP_FILL_NS: u64 = 400_000;

/// When a device falls silent, the completions of a group that has begun are seen this late at most.
/// A timer nearer than the next tick of the kernel costs more than a group saves: 3.5 µs per I/O
/// with 0.4 ms, 3.0 µs with 4 ms.
const GROUP_WAIT_NS: u64 = 4_000_000;

/// How many reaps the running mean of the time between completions looks back, and the unit in which
/// it counts completions, so that the division leaves something of small counts.
const RECENT_REAPS: u64 = 32;
const COMPLETION_UNIT: u64 = 1024;

/// After a group did not fill in time, this many waits are for a single completion.
const SINGLE_WAITS: u32 = 64;

/// A group is this share of the slots of a worker.
const GROUP_SHARE: u32 = 4;

/// How many arrivals of a stream a worker looks ahead for the sleep after the next, and how far.
const LOOK_AHEAD: u64 = 8;
const KNOWN_NS: u64 = 200_000;

/// How a worker waits that has nothing in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// By looking at the clock, where the moment is closer than a wake-up takes.
    Spin { until_ns: u64 },
    /// By a timer for `wake_ns`, which is `length_ns` from now; the sleep behind it is likely to end
    /// `beyond_ns` from now.
    Timer {
        wake_ns: u64,
        length_ns: u64,
        beyond_ns: u64,
    },
}

/// Where time comes from.
pub(crate) trait Time {
    fn now_ns(&self) -> u64;
    /// How often this thread has stood still. Takes a call of the system.
    fn stops(&self) -> Stops;
}

impl Time for sys::clock::Clock {
    #[inline]
    fn now_ns(&self) -> u64 {
        sys::clock::Clock::now_ns(self)
    }

    fn stops(&self) -> Stops {
        let used = sys::thread::thread_usage();
        Stops {
            waits: used.waits,
            preemptions: used.preemptions,
        }
    }
}

/// What a step leaves to its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Enter the backend: wait for `want` completions, at most until `until_ns`. With nothing in
    /// flight sleep until then, as [`Worker::plan_sleep`] says.
    Wait { want: u32, until_ns: u64 },
    /// Nothing is in flight and nothing will be issued.
    Done,
}

/// One worker with its slots. `S` is how it holds what the workers share: threads borrow it, as a
/// count of references would be one more cache line that they all write in each step.
pub(crate) struct Worker<B, T, S> {
    shared: S,
    pub(crate) backend: B,
    time: T,
    number: usize,
    shard: usize,
    sharing: Sharing,
    pools: Vec<WorkerPool>,
    /// Whether any pool has arrivals to wait for.
    has_schedule: bool,
    /// For each pool, the earliest time at which it may have something to issue.
    due_ns: Vec<u64>,
    pool_of_slot: Vec<u32>,
    /// What of a slot's buffer holds our own data rather than what was read.
    filled: Vec<Filled>,
    queued: Vec<u32>,
    /// What has come back, and how much of it was seen.
    completed: Vec<(u32, i32)>,
    seen: usize,
    in_flight: u32,
    /// By stream, numbers of operations claimed and not yet drawn: the next, and where they end.
    claimed: Vec<(u64, u64)>,
    interval: u64,
    interval_end_ns: u64,
    /// Which slab the present interval counts in.
    slab: usize,
    last_reap_ns: u64,
    rest: Rest,
    /// The next arrivals, while a sleep is planned.
    arrivals_ns: Vec<u64>,
    enters: u64,
    /// Completions waited for at once where no arrival is awaited.
    group: u32,
    single_waits: u32,
    /// Completions that its only stream wants to see at once; zero without such a rule.
    reap_least: u32,
    /// Completions seen by one look.
    reap_most: usize,
    /// Only for runs that ask for it.
    handover: Option<Box<HandoverNotes>>,
    /// Only for runs that read back while they write.
    read_backs: Option<Box<ReadBacks>>,
    /// Whether what the kernel asks to repeat is repeated; not where jobs want to hear of it.
    repeats_refused: bool,
    /// Only where single transfers have priorities.
    priorities: Option<Box<Priorities>>,
    /// Running sums over the last reaps of the time between them and of what they brought. Two
    /// sums, as completions come in bursts and a mean of quotients would count the small ones most.
    reap_gaps_ns: u64,
    reaped: u64,
    /// What happened in the last step, for drivers that step until nothing moves.
    pub(crate) moved: bool,
}

#[derive(Debug)]
struct WorkerPool {
    pool: usize,
    /// Free slots by what their buffers hold: what was read, and our own data. Reads prefer the
    /// former and writes the latter, so that buffers rarely have to be filled again.
    free: [Vec<u32>; 2],
    /// The most urgent one first where priority decides.
    streams: Vec<usize>,
    has_schedule: bool,
    /// Whether a stream of it does more than draw.
    has_flow: bool,
    /// Drawn, and waiting for something in flight that shares a byte with it.
    parked: Option<Parked>,
    /// Of operations in one submitting call.
    submit_most: u32,
    choice: Choice,
    /// Slots that came back in this step and are not yet given back to the pool: most go out again
    /// in the same step, and the count that all workers share is then left alone.
    owed: u32,
}

/// Which stream of a pool issues next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    InTurn,
    /// The earliest arrival that is due.
    ByArrival,
    ByPriority,
}

#[derive(Clone, Copy, Debug)]
struct Chosen {
    stream: usize,
    /// The intended arrival, absolute; `None` in a closed loop.
    arrival_ns: Option<u64>,
    /// What the arrival asks for; `None` where that is drawn.
    operation: Option<Operation>,
}

/// An operation that was drawn and cannot go out yet.
#[derive(Clone, Copy, Debug)]
struct Parked {
    chosen: Chosen,
    index: u64,
    drawn: Drawn,
}

impl<B: Backend, T: Time, S: Deref<Target = SharedRun> + Clone> Worker<B, T, S> {
    /// `group_max` bounds how many completions a wait without a deadline asks for at once.
    pub(crate) fn new(shared: S, number: usize, backend: B, time: T, group_max: u32) -> Self {
        let view = &shared.workers[number];
        let pool_of_slot = view.pool_of_slot.clone();
        let slots = pool_of_slot.len();
        let mut pools: Vec<WorkerPool> = Vec::new();
        let mut local = vec![0; slots];
        for (slot, pool) in pool_of_slot.iter().map(|pool| *pool as usize).enumerate() {
            let found = pools.iter().position(|mine| mine.pool == pool);
            let place = found.unwrap_or_else(|| {
                pools.push(WorkerPool::new(pool, &shared));
                pools.len() - 1
            });
            pools[place].free[HOLDS_READ].push(slot as u32);
            local[slot] = place as u32;
        }
        for pool in &mut pools {
            pool.free[HOLDS_READ].reverse();
            let room = pool.free[HOLDS_READ].len();
            pool.free[HOLDS_OWN].reserve(room);
        }
        let (shard, sharing) = (view.shard, view.sharing);
        let most = shared.streams.len().max(shared.pools.len());
        let handover = shared
            .notes_handover
            .then(|| Box::new(HandoverNotes::new(slots, most)));
        let reap_least = reap_least(&pools, &shared);
        let reap_most = reap_most(&pools, &shared);
        let sees_singly = reap_most.is_some() || searches_depth(&pools, &shared);
        let group_max = if sees_singly { 1 } else { group_max };
        let read_backs = read_backs(&shared, slots);
        let priorities = view.priorities.clone().map(Box::new);
        let repeats_refused = !view.never_waits;
        let start_ns = shared.start_ns.load(Relaxed);
        Self {
            due_ns: vec![0; pools.len()],
            interval_end_ns: start_ns + shared.interval_ns,
            last_reap_ns: start_ns,
            rest: Rest::default(),
            arrivals_ns: Vec::with_capacity(64),
            has_schedule: pools.iter().any(|pool| pool.has_schedule),
            pools,
            pool_of_slot: local,
            filled: vec![Filled::default(); slots],
            queued: Vec::with_capacity(slots),
            completed: Vec::with_capacity(slots),
            seen: 0,
            claimed: vec![(0, 0); shared.streams.len()],
            shared,
            backend,
            time,
            number,
            shard,
            sharing,
            in_flight: 0,
            interval: 0,
            slab: 0,
            enters: 0,
            group: (slots as u32 / GROUP_SHARE).clamp(1, group_max.max(1)),
            single_waits: 0,
            reap_least,
            reap_most: reap_most.unwrap_or(usize::MAX),
            handover,
            read_backs,
            repeats_refused,
            priorities,
            reap_gaps_ns: 0,
            reaped: 0,
            moved: false,
        }
    }

    /// Called once when the start of the run is known.
    pub(crate) fn begin(&mut self) {
        let start_ns = self.shared.start_ns.load(Relaxed);
        self.interval_end_ns = start_ns + self.shared.interval_ns;
        self.last_reap_ns = start_ns;
    }

    /// Reaps, records, and queues what is due; `may_issue` is false while another worker has the
    /// turn to issue. What is queued is submitted when the driver enters the backend.
    #[inline]
    pub(crate) fn step(&mut self, may_issue: bool) -> Wake {
        // What is below borrows it while the worker changes.
        let shared = self.shared.clone();
        let shared = &*shared;
        self.moved = false;
        let now_ns = self.reap(shared);
        let stop_ns = shared.stop_ns.load(Relaxed);
        let start_ns = shared.start_ns.load(Relaxed);
        if may_issue && now_ns < stop_ns && now_ns >= start_ns {
            for pool in 0..self.pools.len() {
                if self.due_ns[pool] <= now_ns {
                    self.fill(shared, pool, now_ns, stop_ns);
                }
            }
        }
        if !self.queued.is_empty() {
            self.stamp();
        }
        self.settle(shared, now_ns.min(stop_ns));
        self.next_wake(now_ns, start_ns, stop_ns)
    }

    /// Queues what is due in one pool of the run, for a driver that orders pools over all workers;
    /// whether there was anything.
    pub(crate) fn issue_from(&mut self, pool: usize) -> bool {
        let shared = self.shared.clone();
        let (now_ns, stop_ns) = (self.time.now_ns(), shared.stop_ns.load(Relaxed));
        let is_running = now_ns < stop_ns && now_ns >= shared.start_ns.load(Relaxed);
        let place = self.pools.iter().position(|mine| mine.pool == pool);
        self.moved = false;
        if let Some(place) = place.filter(|_| is_running) {
            self.fill(&shared, place, now_ns, stop_ns);
            self.stamp();
        }
        self.settle(&shared, now_ns);
        self.moved
    }

    /// Submits and waits as the step has said, but never longer than `look_ns`.
    #[inline]
    pub(crate) fn enter(&mut self, want: u32, until_ns: u64, look_ns: u64) -> std::io::Result<()> {
        if self.has_unseen() && self.backend.queued() == 0 {
            return Ok(());
        }
        let view = &self.shared.workers[self.number];
        self.enters += 1;
        bump(&view.wakeups, 1);
        if self.backend.queued() > 0 {
            bump(&view.submit_calls, 1);
            if self.handover.is_some() {
                self.hand_over()?;
            }
            if self.enters.is_multiple_of(B::SUBMIT_SAMPLE) && want > 0 {
                let before = self.time.now_ns();
                self.backend.enter(0, None)?;
                let spent = self.time.now_ns().saturating_sub(before);
                bump(
                    &self.shared.workers[self.number].submit_ns,
                    spent * B::SUBMIT_SAMPLE,
                );
            }
        }
        if self.has_unseen() {
            return self.backend.enter(0, None);
        }
        // Without a deadline no clock is read: this is the busy path.
        let timeout_ns = match until_ns {
            // A group is ours to give up; what a stream asks for is waited for.
            u64::MAX if want > 1 && self.reap_least == 0 => GROUP_WAIT_NS,
            u64::MAX => look_ns,
            _ => self.time_to(until_ns).min(look_ns),
        };
        if let Some(notes) = self.handover.as_mut().filter(|_| want > 0) {
            notes.forget_stops();
        }
        self.backend.enter(want, Some(timeout_ns))?;
        if want > 1 && self.backend.ready() < want {
            self.single_waits = SINGLE_WAITS;
        }
        Ok(())
    }

    /// Tells single operations to a log, where the run notes how they are handed over.
    pub(crate) fn log_to(&mut self, log: OperationWriter) {
        if let Some(notes) = &mut self.handover {
            notes.log_to(log);
        }
    }

    /// Hands over what is left of the log.
    pub(crate) fn end_log(&mut self) {
        if let Some(notes) = &mut self.handover {
            notes.end_log();
        }
    }

    /// Submits apart from any wait, so that the time of the call is known.
    #[cold]
    fn hand_over(&mut self) -> std::io::Result<()> {
        let place = self.place();
        let is_single = self.backend.queued() == 1;
        self.backend.enter(0, None)?;
        let now_ns = self.time.now_ns();
        let Some(mut notes) = self.handover.take() else {
            return Ok(());
        };
        let went_out_then = notes.was_quick(now_ns)
            || (notes.has_only_waited(self.time.stops()) && is_single && !self.is_back(&notes));
        notes.handed_over(&self.shared, place, now_ns, went_out_then);
        self.handover = Some(notes);
        Ok(())
    }

    /// Whether what is being handed over is back already, so that it was done within the call. What has come back is
    /// kept for the next look.
    fn is_back(&mut self, notes: &HandoverNotes) -> bool {
        if !self.has_unseen() {
            self.completed.clear();
            self.seen = 0;
        }
        let known = self.completed.len();
        let completed = &mut self.completed;
        self.backend
            .reap(|slot, result| completed.push((slot, result)));
        let mut fresh = self.completed[known..].iter();
        fresh.any(|(slot, _)| notes.is_handing(*slot))
    }

    #[cold]
    fn note_stamped(&mut self, now_ns: u64) {
        let place = self.place();
        if let Some(notes) = &mut self.handover {
            notes.stamped(&self.shared, place, now_ns, &self.queued);
        }
    }

    #[cold]
    fn note_seen(&mut self, shared: &SharedRun, now_ns: u64, completed: &[(u32, i32)]) {
        let (place, interval) = (self.place(), self.interval);
        if let Some(notes) = &mut self.handover {
            let priorities = self.priorities.as_deref();
            notes.seen(shared, place, (interval, now_ns), completed, priorities);
        }
    }

    fn place(&self) -> Place {
        Place {
            worker: self.number,
            shard: self.shard,
            slab: self.slab,
            now_ns: self.last_reap_ns,
        }
    }

    /// How to wait where nothing is in flight, for `look_ns` at most.
    pub(crate) fn plan_sleep(&mut self, until_ns: u64, look_ns: u64) -> Sleep {
        if let Some(notes) = &mut self.handover {
            notes.forget_stops();
        }
        let now_ns = self.time.now_ns();
        let limit_ns = now_ns + look_ns;
        let start_ns = self.shared.start_ns.load(Relaxed);
        let is_arrival = until_ns > start_ns && until_ns < limit_ns;
        let (end_ns, beyond_ns, lead_ns) = if is_arrival {
            let gap_ns = self.gap_ns();
            self.know_arrivals(start_ns, until_ns);
            let (end_ns, beyond_ns) = self.rest.next(&self.arrivals_ns, gap_ns);
            (end_ns, beyond_ns, self.rest.lead_ns())
        } else {
            (until_ns.min(limit_ns), limit_ns, 0)
        };
        if end_ns <= now_ns + lead_ns {
            return Sleep::Spin { until_ns: end_ns };
        }
        bump(&self.shared.workers[self.number].wakeups, 1);
        let wake_ns = end_ns - lead_ns;
        Sleep::Timer {
            wake_ns,
            length_ns: wake_ns - now_ns,
            beyond_ns: beyond_ns.min(limit_ns).saturating_sub(lead_ns + now_ns),
        }
    }

    /// Looks at the clock until a moment, which is closer than a wake-up takes.
    pub(crate) fn spin(&self, until_ns: u64) {
        while self.time.now_ns() < until_ns {
            std::hint::spin_loop();
        }
    }

    /// The thread is awake again after a timer for `wake_ns`.
    pub(crate) fn note_wake_up(&mut self, wake_ns: u64) {
        self.rest.note(self.time.now_ns().saturating_sub(wake_ns));
    }

    /// An I/O kept the thread from the next arrival for so long.
    pub(crate) fn note_io(&mut self, ns: u64) {
        self.rest.note_io(ns);
    }

    /// Gathers what is known of arrivals from `until_ns` on, in their order; that moment is the first of them.
    fn know_arrivals(&mut self, start_ns: u64, until_ns: u64) {
        let mut times = std::mem::take(&mut self.arrivals_ns);
        times.clear();
        times.push(until_ns);
        let horizon_ns = until_ns + KNOWN_NS;
        for (stream, feed) in self.feeds() {
            for next in (0..LOOK_AHEAD).map_while(|places| feed.ahead(places)) {
                let at_ns = stream.arrival_ns(start_ns, self.last_reap_ns, next.at_ns);
                if at_ns > until_ns {
                    times.push(at_ns);
                }
                if at_ns > horizon_ns {
                    break;
                }
            }
        }
        times.sort_unstable();
        self.arrivals_ns = times;
    }

    /// The mean gap between the arrivals that this worker may take.
    pub(crate) fn gap_ns(&self) -> f64 {
        let per_ns = self.feeds().map(|(_, feed)| 1.0 / feed.gap_ns());
        1.0 / per_ns.sum::<f64>()
    }

    fn feeds(&self) -> impl Iterator<Item = (&SharedStream, &Feed)> {
        let numbers = self.pools.iter().flat_map(|pool| &pool.streams);
        numbers.filter_map(|number| {
            let stream = &self.shared.streams[*number];
            Some((stream, stream.feed.as_ref()?))
        })
    }

    /// The time left until an arrival; never so short that close arrivals cannot share a wake-up.
    fn time_to(&self, until_ns: u64) -> u64 {
        let left_ns = until_ns.saturating_sub(self.time.now_ns());
        let is_running = until_ns > self.shared.start_ns.load(Relaxed);
        if is_running {
            left_ns.max(rest::APART_NS)
        } else {
            left_ns
        }
    }

    /// The worker's CPU time so far and what its thread used in the run, as its driver knows them.
    pub(crate) fn note_cpu(&self, cpu_ns: u64, used: &measure::ThreadUsage) {
        let view = &self.shared.workers[self.number];
        view.cpu_ns.store(cpu_ns, Relaxed);
        for (cell, value) in [
            (&view.usage.user_ns, used.user_ns),
            (&view.usage.system_ns, used.system_ns),
            (&view.usage.context_switches, used.context_switches),
            (&view.usage.minor_faults, used.minor_faults),
            (&view.usage.major_faults, used.major_faults),
        ] {
            cell.store(value, Relaxed);
        }
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) fn interval(&self) -> u64 {
        self.interval
    }

    /// Looks at what has come back; when.
    #[inline]
    fn reap(&mut self, shared: &SharedRun) -> u64 {
        if !self.has_unseen() {
            let completed = &mut self.completed;
            completed.clear();
            self.seen = 0;
            self.backend
                .reap(|slot, result| completed.push((slot, result)));
        }
        // Behind the look: this thread may stand still in between, and what came back meanwhile did not take less time.
        let now_ns = self.time.now_ns();
        if self.in_flight > 0 {
            self.note_gap(now_ns);
        }
        let gap_ns = now_ns.saturating_sub(self.last_reap_ns);
        self.last_reap_ns = now_ns;
        let unseen = self.completed.len() - self.seen;
        if unseen == 0 {
            return now_ns;
        }
        let count = unseen.min(self.reap_most);
        self.reap_gaps_ns = self.reap_gaps_ns - self.reap_gaps_ns / RECENT_REAPS + gap_ns;
        self.reaped = self.reaped - self.reaped / RECENT_REAPS + COMPLETION_UNIT * count as u64;
        self.moved = true;
        self.advance_interval(now_ns);
        let completed = std::mem::take(&mut self.completed);
        let seen = &completed[self.seen..self.seen + count];
        if self.handover.is_some() {
            self.note_seen(shared, now_ns, seen);
        }
        for (slot, result) in seen {
            self.complete(shared, *slot, *result, now_ns);
        }
        self.seen += count;
        // What was to be repeated may have gone out, and others come back with it.
        let later = std::mem::replace(&mut self.completed, completed);
        self.completed.extend(later);
        now_ns
    }

    /// Whether something has come back that a later look sees.
    #[inline]
    pub(crate) fn has_unseen(&self) -> bool {
        self.seen < self.completed.len()
    }

    #[inline]
    fn note_gap(&self, now_ns: u64) {
        // Threads with one slot see each completion as it comes back.
        if self.filled.len() == 1 {
            return;
        }
        let view = &self.shared.workers[self.number];
        bump(&view.reaps, 1);
        let gap = now_ns.saturating_sub(self.last_reap_ns);
        view.reap_gaps
            .record(gap, self.interval, Sharing::OneWriter);
    }

    #[inline]
    fn advance_interval(&mut self, now_ns: u64) {
        if now_ns >= self.interval_end_ns || now_ns >= self.shared.stop_ns.load(Relaxed) {
            self.begin_interval(now_ns);
        }
    }

    #[cold]
    fn begin_interval(&mut self, now_ns: u64) {
        let start_ns = self.shared.start_ns.load(Relaxed);
        let length_ns = self.shared.interval_ns;
        if now_ns >= self.shared.stop_ns.load(Relaxed) {
            self.slab = AFTER_STOP;
            self.interval = self.interval.max((now_ns - start_ns) / length_ns);
            self.interval_end_ns = u64::MAX;
            return;
        }
        self.interval = (now_ns - start_ns) / length_ns;
        self.slab = (self.interval & 1) as usize;
        self.interval_end_ns = start_ns + (self.interval + 1) * length_ns;
    }

    #[inline]
    fn complete(&mut self, shared: &SharedRun, slot: u32, result: i32, now_ns: u64) {
        let view = &shared.workers[self.number].slots[slot as usize];
        let op = view.op.load();
        let stream = op.object.stream as usize;
        let started_ns = view.started_ns.load(Relaxed);
        if result == -EAGAIN && self.repeats_refused {
            // Ours to repeat; the clock runs on from the first submission.
            self.push(slot, &op);
            return;
        }
        if now_ns < started_ns {
            bump(&shared.workers[self.number].clamped, 1);
        }
        // What comes back after the stop was unserved at the stop: it is counted with its age there.
        let own_slab = shared.streams[stream].slab(shared, now_ns, self.slab);
        let (seen_ns, tag) = match own_slab {
            AFTER_STOP => (now_ns.min(end_of(shared, stream)), u64::MAX),
            _ => (now_ns, self.interval),
        };
        let service_ns = seen_ns.saturating_sub(started_ns);
        let response_ns = seen_ns.saturating_sub(view.arrival_ns.load(Relaxed));
        let slab = &shared.streams[stream].recorders[self.shard].slabs[own_slab];
        let cell = &slab.cells[shared.streams[stream].cell(&op)];
        let moved = moved_bytes(&op, result);
        let misfit = match &shared.checks {
            None => None,
            Some(checks) => self.look_at(checks, slot, &op, result),
        };
        let mut has_failed = true;
        if misfit.is_some() {
            cell.failed();
            self.report_failure(&op, EILSEQ, now_ns, misfit);
        } else if result < 0 && found_no_room(&shared.streams[stream], &op, result) {
            end(&shared.streams[stream]);
        } else if result < 0 || (moved == 0 && op.length > 0) {
            cell.failed();
            let errno = if result < 0 { -result } else { ENODATA };
            self.report_failure(&op, errno, now_ns, None);
        } else {
            has_failed = false;
            cell.succeeded(u64::from(moved), service_ns, response_ns, tag, self.sharing);
            if own_slab == AFTER_STOP {
                note_late(shared, (self.number, slot), now_ns, seen_ns);
            }
            if moved < op.length {
                cell.was_short();
            }
            if own_slab == WARMUP && op.is_drawn() {
                shared.count_warm(stream, u64::from(moved), now_ns);
            }
        }
        if has_failed {
            let pool = &shared.pools[shared.streams[stream].pool];
            pool.failed_ns[own_slab].fetch_add(service_ns, Relaxed);
        }
        view.started_ns.store(0, Relaxed);
        self.settle_account(shared, &op, now_ns, service_ns);
        self.give_back(slot);
    }

    /// The slot is free for the next operation of its pool.
    #[inline]
    fn give_back(&mut self, slot: u32) {
        self.in_flight -= 1;
        let place = self.pool_of_slot[slot as usize] as usize;
        self.due_ns[place] = 0;
        let pool = &mut self.pools[place];
        let kind = usize::from(self.filled[slot as usize].bytes > 0);
        pool.free[kind].push(slot);
        pool.owed += 1;
    }

    /// Counts an operation of a stream with rules or an end as back.
    #[inline]
    fn settle_account(&self, shared: &SharedRun, op: &Op, now_ns: u64, service_ns: u64) {
        let number = op.object.stream as usize;
        let stream = &shared.streams[number];
        if stream.flow.is_some() && op.is_ruled() {
            self.note_rules(shared, op, now_ns, service_ns);
        }
        match op.cause {
            Cause::Drawn | Cause::Recorded => {
                if stream.ends {
                    shared.resolve(number, now_ns);
                }
            }
            Cause::Rule | Cause::FileSystemRule => sync_is_back(shared, number, now_ns),
            Cause::ReadBack => read_back_is_over(shared, number, now_ns),
        }
    }

    /// Tells the rules of its stream that an operation is back.
    fn note_rules(&self, shared: &SharedRun, op: &Op, now_ns: u64, service_ns: u64) {
        let number = op.object.stream as usize;
        let stream = &shared.streams[number];
        let flow = stream.flow.as_ref().expect("the caller has looked");
        flow.leaves(op);
        if let Some(own) = stream.lifetime.as_ref().filter(|_| flow.depth().is_some()) {
            let since_ns = now_ns.saturating_sub(shared.start_ns.load(Relaxed));
            let verdict = match since_ns >= own.warm_ns() {
                true => flow.verdict(service_ns, now_ns),
                false => Verdict::GoesOn,
            };
            if verdict != Verdict::GoesOn && self.slab != AFTER_STOP {
                shared.end_stream(number, now_ns);
            }
            if verdict == Verdict::Hopeless && self.slab != AFTER_STOP {
                self.report_failure(op, ETIMEDOUT, now_ns, None);
            }
        }
        if flow.is_back(op.kind, service_ns) && self.slab != AFTER_STOP {
            stream.ended.store(true, Relaxed);
            self.report_failure(op, ETIMEDOUT, now_ns, None);
        }
    }

    /// Gives slots back that came back and did not go out again.
    #[inline]
    fn settle(&mut self, shared: &SharedRun, now_ns: u64) {
        for pool in &mut self.pools {
            if pool.owed > 0 {
                shared.pools[pool.pool].give_back(pool.owed, now_ns);
                pool.owed = 0;
            }
        }
    }

    /// Of runs that check data: notes what was written, and what is wrong with what was read.
    #[inline(never)]
    fn look_at(&mut self, checks: &Checks, slot: u32, op: &Op, result: i32) -> Option<Box<Misfit>> {
        let (stream, place) = (op.object.stream as usize, op.object.place as usize);
        let (offset, length) = (op.offset, op.length);
        let check = checks.of(stream)?;
        let buffer = &mut self.backend.buffer_mut(slot)[..length as usize];
        match op.kind {
            Operation::Write => {
                let tag = check.wrote(place, offset, length, result, buffer)?;
                let place = place as u32;
                let written = Written {
                    place,
                    offset,
                    length,
                    tag,
                };
                if let Some(own) = &mut self.read_backs
                    && let Some(backlog) = &self.shared.streams[stream].backlog
                {
                    own.wrote(stream, backlog, written);
                }
            }
            Operation::Read if op.cause == Cause::ReadBack => {
                let own = self.read_backs.as_ref()?;
                let written = own.in_slot(slot, place, offset, length);
                let buffer = &mut buffer[..result.max(0) as usize];
                let found = checks.misfit_of_read_back(stream, written, buffer);
                check.was_read_back(written);
                return found.map(Box::new);
            }
            Operation::Read if result > 0 => {
                let found = check.misfit(place, offset, &mut buffer[..result as usize]);
                return found.map(Box::new);
            }
            Operation::Trim if op.cause == Cause::ReadBack => {
                check.discarded(place, offset, length, result);
            }
            Operation::Trim => check.trimmed(place, offset, length),
            _ => {}
        }
        None
    }

    #[cold]
    fn report_failure(&self, op: &Op, errno: i32, at_ns: u64, misfit: Option<Box<Misfit>>) {
        self.shared.note_failed(Failure {
            at_ns,
            stream: op.object.stream,
            place: op.object.place,
            operation: op.kind,
            offset: op.offset,
            length: op.length,
            errno,
            misfit,
            worker: Some(self.number as u32),
        });
    }

    /// Issues from a pool until it has no free slot or nothing is due.
    fn fill(&mut self, shared: &SharedRun, place: usize, now_ns: u64, stop_ns: u64) {
        let mut next_due = u64::MAX;
        let submit_most = self.pools[place].submit_most;
        while self.pools[place].has_free() {
            if self.queued.len() >= submit_most as usize {
                self.hand_over_queued();
            }
            if self.pools[place].has_flow && self.issue_sync(shared, place, now_ns) {
                continue;
            }
            if self.pools[place].parked.is_some() {
                if let Some(due_ns) = self.issue_parked(shared, place, now_ns) {
                    next_due = due_ns;
                    break;
                }
                continue;
            }
            if self.read_backs.is_some() && self.issue_read_back(shared, place, now_ns) {
                continue;
            }
            match self.choose(shared, place, now_ns, stop_ns) {
                Ok(chosen) => self.issue(shared, place, chosen, now_ns),
                Err(due_ns) => {
                    next_due = due_ns;
                    break;
                }
            }
        }
        if submit_most < u32::MAX && !self.queued.is_empty() {
            // What other pools have to submit goes on its own.
            self.hand_over_queued();
        }
        self.due_ns[place] = next_due;
    }

    #[cold]
    fn hand_over_queued(&mut self) {
        self.stamp();
        bump(&self.shared.workers[self.number].submit_calls, 1);
        // A refusal by the kernel shows again at the next enter, which the driver reports.
        let _ = match self.handover {
            Some(_) => self.hand_over(),
            None => self.backend.enter(0, None),
        };
    }

    /// The stream to issue from, or the time at which it is worth looking again.
    #[inline]
    fn choose(
        &mut self,
        shared: &SharedRun,
        place: usize,
        now_ns: u64,
        stop_ns: u64,
    ) -> Result<Chosen, u64> {
        match self.pools[place].choice {
            Choice::InTurn => {}
            Choice::ByArrival => return self.choose_scheduled(place, now_ns, stop_ns),
            Choice::ByPriority => return self.choose_by_priority(place, now_ns, stop_ns),
        }
        let start_ns = shared.start_ns.load(Relaxed);
        let pool = &self.pools[place];
        let count = pool.streams.len();
        let shared_turn = &shared.pools[pool.pool].turn;
        let first = if count > 1 {
            shared_turn.load(Relaxed)
        } else {
            0
        };
        let mut next_due = u64::MAX;
        for ahead in 0..count {
            let turn = if first + ahead >= count {
                first + ahead - count
            } else {
                first + ahead
            };
            let number = pool.streams[turn];
            let stream = &shared.streams[number];
            if shared.has_ended(number, now_ns) {
                continue;
            }
            let open_ns = stream.open_ns(start_ns, now_ns);
            if now_ns < open_ns {
                next_due = next_due.min(open_ns);
                continue;
            }
            if let Some(until_ns) = held_until(&self.shared, stream, now_ns) {
                next_due = next_due.min(until_ns);
                continue;
            }
            let gated = shared
                .proportion
                .as_ref()
                .is_some_and(|gate| !gate.allows(number, &shared.streams));
            if gated {
                next_due = next_due.min(now_ns + GATE_RETRY_NS);
                continue;
            }
            if count > 1 {
                shared_turn.store(if turn + 1 == count { 0 } else { turn + 1 }, Relaxed);
            }
            return Ok(Chosen {
                stream: number,
                arrival_ns: None,
                operation: None,
            });
        }
        Err(next_due)
    }

    /// Among scheduled streams the earliest arrival that is due; streams without a schedule take
    /// what slots are left.
    fn choose_scheduled(&mut self, place: usize, now_ns: u64, stop_ns: u64) -> Result<Chosen, u64> {
        let start_ns = self.shared.start_ns.load(Relaxed);
        loop {
            let mut best: Option<(u64, usize, Next)> = None;
            let mut unpaced = None;
            let mut opens_ns = u64::MAX;
            let pool = &self.pools[place];
            let turn = &self.shared.pools[pool.pool].turn;
            let (later, sooner) = pool.streams.split_at(turn.load(Relaxed));
            for number in sooner.iter().chain(later) {
                let stream = &self.shared.streams[*number];
                if self.shared.has_ended(*number, now_ns) {
                    continue;
                }
                if let Some(until_ns) = held_until(&self.shared, stream, now_ns) {
                    opens_ns = opens_ns.min(until_ns);
                    continue;
                }
                let Some(feed) = &stream.feed else {
                    let open_ns = stream.open_ns(start_ns, now_ns);
                    if now_ns >= open_ns {
                        unpaced = unpaced.or(Some(*number));
                    } else {
                        opens_ns = opens_ns.min(open_ns);
                    }
                    continue;
                };
                let next = feed.peek();
                let at_ns = stream.arrival_ns(start_ns, now_ns, next.at_ns);
                if best.is_none_or(|(earliest, ..)| at_ns < earliest) {
                    best = Some((at_ns, *number, next));
                }
                if stream.fills.is_some() && now_ns >= stream.open_ns(start_ns, now_ns) {
                    unpaced = unpaced.or(Some(*number));
                }
            }
            match best {
                Some((at_ns, number, next)) if at_ns <= now_ns && at_ns < stop_ns => {
                    let feed = self.shared.streams[number]
                        .feed
                        .as_ref()
                        .expect("chosen for its schedule");
                    if feed.claim(next.index) {
                        return Ok(Chosen {
                            stream: number,
                            arrival_ns: Some(at_ns),
                            operation: next.operation,
                        });
                    }
                }
                other => {
                    if let Some(number) = unpaced {
                        let after = pool.streams.iter().position(|mine| *mine == number);
                        turn.store(after.map_or(0, |at| (at + 1) % pool.streams.len()), Relaxed);
                        return Ok(Chosen {
                            stream: number,
                            arrival_ns: None,
                            operation: self.shared.streams[number].fills,
                        });
                    }
                    return Err(other.map_or(opens_ns, |(at_ns, ..)| at_ns.min(opens_ns)));
                }
            }
        }
    }

    /// The first stream in the order of priority that has something to issue: an arrival that is due,
    /// or anything where it follows no schedule and its proportion allows it.
    fn choose_by_priority(
        &mut self,
        place: usize,
        now_ns: u64,
        stop_ns: u64,
    ) -> Result<Chosen, u64> {
        let shared = &self.shared;
        let start_ns = shared.start_ns.load(Relaxed);
        let mut next_due = u64::MAX;
        let mut place_in_order = 0;
        let streams = &self.pools[place].streams;
        while let Some(number) = streams.get(place_in_order).copied() {
            place_in_order += 1;
            let stream = &shared.streams[number];
            if shared.has_ended(number, now_ns) {
                continue;
            }
            if let Some(until_ns) = held_until(&self.shared, stream, now_ns) {
                next_due = next_due.min(until_ns);
                continue;
            }
            let open_ns = stream.open_ns(start_ns, now_ns);
            let Some(feed) = &stream.feed else {
                let gate = shared.proportion.as_ref();
                if now_ns < open_ns {
                    next_due = next_due.min(open_ns);
                } else if gate.is_some_and(|gate| !gate.allows(number, &shared.streams)) {
                    next_due = next_due.min(now_ns + GATE_RETRY_NS);
                } else {
                    return Ok(Chosen {
                        stream: number,
                        arrival_ns: None,
                        operation: None,
                    });
                }
                continue;
            };
            let next = feed.peek();
            let at_ns = stream.arrival_ns(start_ns, now_ns, next.at_ns);
            if at_ns > now_ns || at_ns >= stop_ns {
                next_due = next_due.min(at_ns);
                if stream.fills.is_some() && now_ns >= open_ns {
                    return Ok(Chosen {
                        stream: number,
                        arrival_ns: None,
                        operation: stream.fills,
                    });
                }
            } else if feed.claim(next.index) {
                return Ok(Chosen {
                    stream: number,
                    arrival_ns: Some(at_ns),
                    operation: next.operation,
                });
            } else {
                // Another worker was faster; the next arrival of this stream may be due as well.
                place_in_order -= 1;
            }
        }
        Err(next_due)
    }

    #[inline]
    fn issue(&mut self, shared: &SharedRun, place: usize, chosen: Chosen, now_ns: u64) {
        let stream = &shared.streams[chosen.stream];
        let index = self.claim_index(chosen.stream, stream);
        let Some(drawn) = stream.drawer.draw_as(index, chosen.operation) else {
            end(stream);
            shared.resolve(chosen.stream, now_ns);
            self.moved = true;
            return;
        };
        if index == stream.last_index {
            end(stream);
        }
        if let Some(flow) = &stream.flow
            && flow.has_to_wait(&drawn, || self.patience_ns(shared, stream))
        {
            self.pools[place].parked = Some(Parked {
                chosen,
                index,
                drawn,
            });
            return;
        }
        self.send(shared, place, (chosen, index, drawn), now_ns);
    }

    /// How long what was drawn may wait for others; not at all where this thread may have something else to do.
    #[cold]
    fn patience_ns(&self, shared: &SharedRun, stream: &SharedStream) -> u64 {
        let serves_one = shared.workers[self.number].kind.has_thread_per_slot();
        if !serves_one || shared.abandon.load(Relaxed) {
            return 0;
        }
        let (start_ns, stop_ns) = (shared.start_ns.load(Relaxed), shared.stop_ns.load(Relaxed));
        let end_ns = stream.not_after_close(start_ns, stop_ns);
        end_ns.saturating_sub(self.time.now_ns())
    }

    /// Issues what was drawn before, once nothing in flight shares a byte with it; until when it has
    /// to wait otherwise.
    #[cold]
    fn issue_parked(&mut self, shared: &SharedRun, place: usize, now_ns: u64) -> Option<u64> {
        let parked = self.pools[place].parked?;
        let stream = &shared.streams[parked.chosen.stream];
        let flow = stream.flow.as_ref().expect("only a flow parks");
        let start_ns = shared.start_ns.load(Relaxed);
        let is_closed = now_ns >= stream.not_after_close(start_ns, u64::MAX);
        let patience_ns = || self.patience_ns(shared, stream);
        if !is_closed && flow.has_to_wait(&parked.drawn, patience_ns) {
            return Some(flow.later(now_ns));
        }
        self.pools[place].parked = None;
        if is_closed {
            // Drawn, and over by the clock before it could go out.
            shared.resolve(parked.chosen.stream, now_ns);
            return None;
        }
        let Parked {
            chosen,
            index,
            drawn,
        } = parked;
        self.send(shared, place, (chosen, index, drawn), now_ns);
        None
    }

    #[inline]
    fn send(
        &mut self,
        shared: &SharedRun,
        place: usize,
        (chosen, index, drawn): (Chosen, u64, Drawn),
        now_ns: u64,
    ) {
        let stream = &shared.streams[chosen.stream];
        let slot = self.take_slot(shared, place, drawn.operation, now_ns);
        let op = Op {
            kind: drawn.operation,
            cause: stream.cause,
            object: Object {
                stream: chosen.stream as u32,
                place: drawn.place,
            },
            offset: drawn.offset,
            length: drawn.length,
        };
        if op.kind == Operation::Write {
            let write = Write {
                stream: chosen.stream,
                place: drawn.place as usize,
                offset: drawn.offset,
                index,
                at_ns: now_ns,
            };
            let buffer = &mut self.backend.buffer_mut(slot)[..drawn.length as usize];
            let stamp = |buffer: &mut [u8], key: u64| {
                let checks = shared.checks.as_ref();
                if let Some(check) = checks.and_then(|checks| checks.of(chosen.stream)) {
                    check.stamp(buffer, write, key);
                }
            };
            let filled = &mut self.filled[slot as usize];
            shared.data.fill(buffer, filled, write, stamp);
            if let Some(flow) = &stream.flow {
                flow.wrote(drawn.place);
            }
        }
        if let Some(flow) = &stream.flow
            && op.is_ruled()
        {
            flow.goes_out();
        }
        if op.kind == Operation::Read {
            self.filled[slot as usize] = Filled::default();
        }
        self.queue(shared, slot, &op, chosen.arrival_ns);
    }

    /// What goes out next by a slot.
    #[inline]
    fn queue(&mut self, shared: &SharedRun, slot: u32, op: &Op, arrival_ns: Option<u64>) {
        let view = &shared.workers[self.number].slots[slot as usize];
        view.op.store(op);
        view.arrival_ns.store(arrival_ns.unwrap_or(0), Relaxed);
        self.in_flight += 1;
        self.moved = true;
        self.queued.push(slot);
        self.push(slot, op);
    }

    #[inline]
    fn take_slot(
        &mut self,
        shared: &SharedRun,
        place: usize,
        operation: Operation,
        now_ns: u64,
    ) -> u32 {
        let pool = &mut self.pools[place];
        let slot = pool.take_slot(operation);
        if pool.owed > 0 {
            pool.owed -= 1;
        } else {
            shared.pools[pool.pool].take(now_ns);
        }
        slot
    }

    /// Issues a sync that a stream of the pool has to make; whether there was one.
    fn issue_sync(&mut self, shared: &SharedRun, place: usize, now_ns: u64) -> bool {
        let due = self.pools[place].streams.iter().find_map(|number| {
            let stream = &shared.streams[*number];
            let flow = stream.flow.as_ref()?;
            let sync = flow.take_sync(|| stream.is_spent(), || stream.is_resolved())?;
            Some((*number, sync))
        });
        let Some((number, sync)) = due else {
            return false;
        };
        let slot = self.take_slot(shared, place, sync.kind, now_ns);
        let op = Op {
            kind: sync.kind,
            cause: sync.cause,
            object: Object {
                stream: number as u32,
                place: sync.place,
            },
            offset: 0,
            length: 0,
        };
        self.queue(shared, slot, &op, None);
        true
    }

    /// Issues a read of what a stream of the pool has written, or its trim; whether one was due.
    #[inline(never)]
    fn issue_read_back(&mut self, shared: &SharedRun, place: usize, now_ns: u64) -> bool {
        let (Some(checks), Some(own)) = (&shared.checks, &mut self.read_backs) else {
            return false;
        };
        let due = self.pools[place].streams.iter().find_map(|number| {
            if shared.has_ended(*number, now_ns) {
                return None;
            }
            let check = checks.of(*number)?;
            let backlog = shared.streams[*number].backlog.as_deref()?;
            let (written, kind) = own.next(*number, backlog, check)?;
            if kind == Operation::Trim {
                check.begin_discard(written);
            }
            Some((*number, written, kind))
        });
        let Some((number, written, kind)) = due else {
            return false;
        };
        let slot = self.take_slot(shared, place, kind, now_ns);
        if let Some(own) = &mut self.read_backs {
            own.goes_out(slot, written);
        }
        if kind == Operation::Read {
            self.filled[slot as usize] = Filled::default();
        }
        let op = Op {
            kind,
            cause: Cause::ReadBack,
            object: Object {
                stream: number as u32,
                place: written.place,
            },
            offset: written.offset,
            length: written.length,
        };
        self.queue(shared, slot, &op, None);
        true
    }

    /// The number of the next operation.
    #[inline]
    fn claim_index(&mut self, number: usize, stream: &SharedStream) -> u64 {
        if stream.claimed_at_once == 1 {
            return stream.claim();
        }
        let (next, end) = &mut self.claimed[number];
        if next == end {
            *next = stream.claim();
            *end = *next + stream.claimed_at_once;
        }
        *next += 1;
        *next - 1
    }

    #[inline]
    fn push(&mut self, slot: u32, op: &Op) {
        if self.backend.is_full() {
            self.stamp();
            // A refusal by the kernel shows again at the next enter, which the driver reports.
            let _ = match self.handover {
                Some(_) => self.hand_over(),
                None => self.backend.enter(0, None),
            };
        }
        let stream = &self.shared.streams[op.object.stream as usize];
        let kind = op.request(|| range_of(stream));
        let priority = match &mut self.priorities {
            Some(priorities) => priorities.choose(slot, op),
            None => 0,
        };
        let file = stream.files[op.object.place as usize];
        self.backend.push(
            slot,
            Request {
                kind,
                file,
                offset: op.offset,
                length: op.length,
                priority,
            },
        );
    }

    /// One clock reading for all that is about to be submitted: before the call, as a completion may
    /// be there before the call returns.
    #[inline]
    fn stamp(&mut self) {
        let now_ns = self.time.now_ns();
        self.advance_interval(now_ns);
        if self.handover.is_some() {
            self.note_stamped(now_ns);
        }
        for slot in self.queued.drain(..) {
            let view = &self.shared.workers[self.number].slots[slot as usize];
            let op = view.op.load();
            if !op.is_drawn() {
                // No arrival, and not among what was submitted of them.
                view.arrival_ns.store(now_ns, Relaxed);
                view.started_ns.store(now_ns, Relaxed);
                continue;
            }
            let own = &self.shared.streams[op.object.stream as usize];
            let slab = own.slab(&self.shared, now_ns, self.slab);
            let slab = &own.recorders[self.shard].slabs[slab];
            match self.sharing {
                Sharing::OneWriter => bump(&slab.submitted, 1),
                Sharing::ManyWriters => {
                    slab.submitted.fetch_add(1, Relaxed);
                }
            }
            if own.fills.is_some_and(|fills| op.kind == fills) {
                slab.unscheduled.fetch_add(1, Relaxed);
            }
            match view.arrival_ns.load(Relaxed) {
                0 => view.arrival_ns.store(now_ns, Relaxed),
                arrival_ns => {
                    slab.lateness.record(
                        now_ns.saturating_sub(arrival_ns),
                        self.interval,
                        self.sharing,
                    );
                }
            }
            view.started_ns.store(now_ns, Relaxed);
        }
    }

    #[inline]
    fn next_wake(&mut self, now_ns: u64, start_ns: u64, stop_ns: u64) -> Wake {
        if now_ns < start_ns {
            return Wake::Wait {
                want: 1,
                until_ns: start_ns,
            };
        }
        let stopped = now_ns >= stop_ns;
        let due_ns = if stopped {
            u64::MAX
        } else {
            self.due_ns.iter().copied().min().unwrap_or(u64::MAX)
        };
        if self.in_flight == 0 {
            let ended = self.pools.iter().all(|pool| {
                pool.parked.is_none()
                    && pool
                        .streams
                        .iter()
                        .all(|number| self.shared.streams[*number].ended.load(Relaxed))
            });
            if stopped || ended {
                return Wake::Done;
            }
            return Wake::Wait {
                want: 1,
                until_ns: due_ns.min(stop_ns),
            };
        }
        if stopped {
            return Wake::Wait {
                want: 1,
                until_ns: u64::MAX,
            };
        }
        let want = self.wanted(due_ns);
        let until_ns = if due_ns == u64::MAX {
            u64::MAX
        } else {
            due_ns.min(stop_ns)
        };
        Wake::Wait { want, until_ns }
    }

    /// How many completions to wait for. Where there is a schedule a single one must not wait for
    /// company, as arrivals may be waiting for its slot.
    #[inline]
    fn wanted(&mut self, due_ns: u64) -> u32 {
        if self.reap_least > 0 && due_ns == u64::MAX {
            return self.reap_least.min(self.in_flight);
        }
        let fill_ns = self
            .reap_gaps_ns
            .saturating_mul(u64::from(self.group) * COMPLETION_UNIT);
        let fills_soon = fill_ns <= GROUP_FILL_NS * self.reaped;
        if due_ns != u64::MAX || !fills_soon || self.has_schedule || self.group == 1 {
            return 1;
        }
        if self.single_waits > 0 {
            self.single_waits -= 1;
            return 1;
        }
        self.group.min(self.in_flight)
    }

    /// When the next arrival of any stream of this worker is due; zero when one without a
    /// schedule could issue at once.
    pub(crate) fn next_arrival_ns(&self) -> u64 {
        let start_ns = self.shared.start_ns.load(Relaxed);
        let now_ns = self.last_reap_ns;
        let streams = self
            .pools
            .iter()
            .flat_map(|pool| &pool.streams)
            .map(|number| &self.shared.streams[*number]);
        let live = streams.filter(|stream| !stream.ended.load(Relaxed));
        let due = live.map(|stream| match &stream.feed {
            Some(feed) => stream.arrival_ns(start_ns, now_ns, feed.peek().at_ns),
            None => 0,
        });
        due.min().unwrap_or(u64::MAX)
    }
}

/// What an operation has moved, by what the kernel says.
#[inline]
fn moved_bytes(op: &Op, result: i32) -> u32 {
    match op.kind {
        Operation::Trim => op.length,
        _ => result.max(0) as u32,
    }
}

/// When a stream stopped to be counted.
fn end_of(shared: &SharedRun, stream: usize) -> u64 {
    let start_ns = shared.start_ns.load(Relaxed);
    let stop_ns = shared.stop_ns.load(Relaxed);
    shared.streams[stream].not_after_close(start_ns, stop_ns)
}

/// Keeps what came back well after the end; all that came after it where the plan asks how operations come back.
#[cold]
fn note_late(shared: &SharedRun, (worker, slot): (usize, u32), now_ns: u64, end_ns: u64) {
    let worker = &shared.workers[worker];
    let (view, late) = (&worker.slots[slot as usize], &worker.late[slot as usize]);
    let after_ns = now_ns.saturating_sub(end_ns).max(1);
    let started_ns = view.started_ns.load(Relaxed);
    let is_late = after_ns >= LATE_NS && started_ns < end_ns;
    if !is_late && !shared.notes_handover {
        return;
    }
    late.age_ns.store(now_ns - started_ns, Relaxed);
    late.op.store(&view.op.load());
    late.after_ns.store(after_ns, Relaxed);
}

/// Until when the rules of a stream hold it back, if they do.
#[inline]
fn held_until(shared: &SharedRun, stream: &SharedStream, now_ns: u64) -> Option<u64> {
    let flow = stream.flow.as_ref()?;
    let balance = stream.balance.as_ref();
    if let Some(until_ns) =
        balance.and_then(|own| own.holds(now_ns, |other| shared.streams[other].progress()))
    {
        return Some(until_ns);
    }
    flow.holds(now_ns, || {
        if let Some(own) = &stream.lifetime {
            own.found(now_ns.saturating_sub(shared.start_ns.load(Relaxed)));
        }
    })
}

/// Whether the depth of a stream of these pools follows latencies, which must not wait for company.
fn searches_depth(pools: &[WorkerPool], shared: &SharedRun) -> bool {
    let streams = pools.iter().flat_map(|pool| &pool.streams);
    let mut flows = streams.filter_map(|number| shared.streams[*number].flow.as_ref());
    flows.any(|flow| flow.depth().is_some())
}

/// What a worker with so many slots may read back.
fn read_backs(shared: &SharedRun, slots: usize) -> Option<Box<ReadBacks>> {
    let streams = shared.streams.iter();
    ReadBacks::of(streams.map(|stream| stream.backlog.as_deref()), slots)
}

fn reap_least(pools: &[WorkerPool], shared: &SharedRun) -> u32 {
    let [pool] = pools else { return 0 };
    let [stream] = pool.streams.as_slice() else {
        return 0;
    };
    shared.streams[*stream].batches.reap_least.unwrap_or(0)
}

fn reap_most(pools: &[WorkerPool], shared: &SharedRun) -> Option<usize> {
    let streams = pools.iter().flat_map(|pool| &pool.streams);
    let most = streams.filter_map(|number| shared.streams[*number].batches.reap_most);
    most.min().map(|most| most as usize)
}

/// Nothing more is drawn; what a stream does at its end may still come.
#[cold]
fn end(stream: &SharedStream) {
    if !stream.flow.as_ref().is_some_and(|flow| flow.is_drawn()) {
        stream.ended.store(true, Relaxed);
    }
}

/// Whether a failed operation is what its stream ends with.
#[cold]
fn found_no_room(stream: &SharedStream, op: &Op, result: i32) -> bool {
    let is_full = matches!(-result, ENOSPC | EDQUOT);
    is_full && op.kind == Operation::Write && stream.drawer.ends_when_full()
}

#[cold]
fn sync_is_back(shared: &SharedRun, number: usize, now_ns: u64) {
    let stream = &shared.streams[number];
    let flow = stream.flow.as_ref().expect("only a flow makes syncs");
    if flow.sync_is_back() {
        stream.ended.store(true, Release);
    }
    shared.note_over(number, now_ns);
}

fn read_back_is_over(shared: &SharedRun, number: usize, now_ns: u64) {
    let backlog = shared.streams[number].backlog.as_ref();
    backlog.expect("only a backlog is read back").is_back();
    shared.note_over(number, now_ns);
}

#[cold]
fn range_of(stream: &SharedStream) -> RangeSync {
    let flow = stream.flow.as_ref().expect("only a flow makes syncs");
    flow.range()
}

/// For counters that only their worker writes.
#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}

impl WorkerPool {
    fn new(pool: usize, shared: &SharedRun) -> Self {
        let mine = |stream: &&usize| shared.streams[**stream].pool == pool;
        let numbers: Vec<usize> = (0..shared.streams.len()).collect();
        let mut streams: Vec<usize> = numbers.iter().filter(mine).copied().collect();
        let has_schedule = streams
            .iter()
            .any(|stream| shared.streams[*stream].feed.is_some());
        let choice = match (shared.pools[pool].admission, has_schedule) {
            (PoolAdmission::Priority, _) => Choice::ByPriority,
            (_, true) => Choice::ByArrival,
            (_, false) => Choice::InTurn,
        };
        if choice == Choice::ByPriority {
            streams.sort_by_key(|stream| shared.streams[*stream].priority);
        }
        Self {
            pool,
            free: [Vec::new(), Vec::new()],
            has_schedule,
            parked: None,
            has_flow: streams
                .iter()
                .any(|stream| shared.streams[*stream].flow.is_some()),
            submit_most: streams
                .iter()
                .filter_map(|stream| shared.streams[*stream].batches.submit_most)
                .min()
                .unwrap_or(u32::MAX),
            streams,
            choice,
            owed: 0,
        }
    }

    #[inline]
    fn has_free(&self) -> bool {
        !self.free[HOLDS_READ].is_empty() || !self.free[HOLDS_OWN].is_empty()
    }

    #[inline]
    fn take_slot(&mut self, operation: Operation) -> u32 {
        let first = if operation == Operation::Write {
            HOLDS_OWN
        } else {
            HOLDS_READ
        };
        let slot = self.free[first]
            .pop()
            .or_else(|| self.free[1 - first].pop());
        slot.expect("the caller has checked for a free slot")
    }
}
