//! The one loop of the engine: reap, record, draw, queue, stamp. A backend, a pace and a stop are
//! values here; there is no second loop.
//!
//! [`Worker::step`] does not block: it says until when and for how many completions its driver may
//! wait. On threads the driver is in [`crate::session`], in simulated time in [`crate::sim`].
use crate::account::Back;
use crate::agenda::{Agenda, Due, Moment, Next};
use crate::backend::{Backend, Request};
use crate::data::{Filled, Write};
use crate::free_slots::FreeSlots;
use crate::grouping::Grouping;
use crate::notes::{HandoverNotes, Place};
use crate::op::{Cause, Op};
use crate::operations::OperationWriter;
use crate::priorities::Priorities;
use crate::sleep::{Sleep, SleepPlan, time_to};
use crate::state::{AFTER_STOP, SharedRun, SharedStream, WARMUP};
use crate::time::Time;
use crate::zeros;
use measure::{LatencyCell, Misfit, Sharing};
use plan::{Operation, RangeSync};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const EAGAIN: i32 = 11;
/// What fio reports for a transfer that moves nothing, as past the end of a file. ENODATA is what a disk reports for a block
/// that it cannot read.
const EIO: i32 = 5;
/// What a read counts as that came back with other data than it should.
const EILSEQ: i32 = 84;

/// A submitting call that took longer has waited for the device, and the next one takes a single operation.
const SLOW_SUBMISSION_NS: u64 = 10_000_000;

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
    /// Which of them issued first in the last step. They take turns: where a call does all of the work, what is first is all
    /// that a step submits.
    first: usize,
    /// What to issue next.
    agenda: Agenda,
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
    interval: u64,
    interval_end_ns: u64,
    /// Which slab the present interval counts in.
    slab: usize,
    last_reap_ns: u64,
    sleep: SleepPlan,
    enters: u64,
    grouping: Grouping,
    /// Whether the last submitting call waited, or none was made that would have told.
    submits_slowly: bool,
    /// Only for runs that ask for it.
    handover: Option<Box<HandoverNotes>>,
    /// Whether what the kernel asks to repeat is repeated; not where jobs want to hear of it.
    repeats_refused: bool,
    /// Only where single transfers have priorities.
    priorities: Option<Box<Priorities>>,
    /// Whether buffers hold what was read.
    brings_data: bool,
    /// What happened in the last step, for drivers that step until nothing moves.
    pub(crate) moved: bool,
}

#[derive(Debug)]
struct WorkerPool {
    free: FreeSlots,
    /// Of operations in one submitting call.
    submit_most: u32,
}

impl<B: Backend, T: Time, S: Deref<Target = SharedRun> + Clone> Worker<B, T, S> {
    /// `group_max` bounds how many completions a wait without a deadline asks for at once.
    pub(crate) fn new(shared: S, number: usize, backend: B, time: T, group_max: u32) -> Self {
        let view = &shared.workers[number];
        let pool_of_slot = view.pool_of_slot.clone();
        let slots = pool_of_slot.len();
        let mut slots_of_pool: Vec<(usize, Vec<u32>)> = Vec::new();
        let mut local = vec![0; slots];
        for (slot, pool) in pool_of_slot.iter().map(|pool| *pool as usize).enumerate() {
            let found = slots_of_pool.iter().position(|(mine, _)| *mine == pool);
            let place = found.unwrap_or_else(|| {
                slots_of_pool.push((pool, Vec::new()));
                slots_of_pool.len() - 1
            });
            slots_of_pool[place].1.push(slot as u32);
            local[slot] = place as u32;
        }
        let numbers: Vec<usize> = slots_of_pool.iter().map(|(pool, _)| *pool).collect();
        let agenda = Agenda::new(&shared, number, &numbers, slots);
        let streams: Vec<usize> = agenda.streams().collect();
        let pools = slots_of_pool.into_iter();
        let (shard, sharing) = (view.shard, view.sharing);
        let most = shared.streams.len().max(shared.pools.len());
        let handover = shared
            .notes_handover
            .then(|| Box::new(HandoverNotes::new(slots, most)));
        let priorities = view.priorities.clone().map(Box::new);
        let repeats_refused = !view.never_waits;
        let start_ns = shared.start_ns.load(Relaxed);
        Self {
            due_ns: vec![0; numbers.len()],
            interval_end_ns: start_ns + shared.interval_ns,
            last_reap_ns: start_ns,
            pools: pools
                .map(|(pool, slots)| WorkerPool::new(pool, slots, &shared))
                .collect(),
            first: 0,
            agenda,
            pool_of_slot: local,
            filled: vec![Filled::default(); slots],
            queued: Vec::with_capacity(slots),
            completed: Vec::with_capacity(slots),
            seen: 0,
            grouping: Grouping::new(&shared, &streams, slots, group_max),
            sleep: SleepPlan::new(streams),
            shared,
            brings_data: backend.brings_data(),
            backend,
            time,
            number,
            shard,
            sharing,
            in_flight: 0,
            interval: 0,
            slab: 0,
            enters: 0,
            submits_slowly: B::SUBMIT_SAMPLE == 1,
            handover,
            repeats_refused,
            priorities,
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
        let mut now_ns = self.reap(shared);
        let mut stop_ns = shared.stop_ns.load(Relaxed);
        let start_ns = shared.start_ns.load(Relaxed);
        if may_issue && now_ns >= start_ns {
            self.first = self.next_pool(self.first);
            let mut pool = self.first;
            for _ in 0..self.pools.len() {
                if now_ns < stop_ns && self.due_ns[pool] <= now_ns {
                    (now_ns, stop_ns) = self.fill(shared, pool, now_ns, stop_ns);
                }
                pool = self.next_pool(pool);
            }
        }
        if !self.queued.is_empty() {
            self.stamp();
        }
        self.settle(shared, now_ns.min(stop_ns));
        self.next_wake(now_ns, start_ns, stop_ns)
    }

    /// The pool whose turn comes next; without a division, as each step asks.
    #[inline]
    fn next_pool(&self, pool: usize) -> usize {
        if pool + 1 < self.pools.len() {
            pool + 1
        } else {
            0
        }
    }

    /// Queues what is due in one pool of the run, for a driver that orders pools over all workers;
    /// whether there was anything.
    pub(crate) fn issue_from(&mut self, pool: usize) -> bool {
        let shared = self.shared.clone();
        let (now_ns, stop_ns) = (self.time.now_ns(), shared.stop_ns.load(Relaxed));
        let is_running = now_ns < stop_ns && now_ns >= shared.start_ns.load(Relaxed);
        let place = self.pools.iter().position(|mine| mine.free.pool == pool);
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
                self.submits_slowly = B::SUBMIT_SAMPLE == 1 && spent >= SLOW_SUBMISSION_NS;
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
            u64::MAX => self.grouping.patience_ns(want, look_ns),
            _ => time_to(&self.shared, self.time.now_ns(), until_ns).min(look_ns),
        };
        if let Some(notes) = self.handover.as_mut().filter(|_| want > 0) {
            notes.forget_stops();
        }
        self.backend.enter(want, Some(timeout_ns))?;
        self.grouping.waited(want, || self.backend.ready());
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

    /// Submits apart from any wait, so that the time of the call is known; when it came back.
    #[cold]
    fn hand_over(&mut self) -> std::io::Result<u64> {
        let place = self.place();
        let is_single = self.backend.queued() == 1;
        self.backend.enter(0, None)?;
        let now_ns = self.time.now_ns();
        let Some(mut notes) = self.handover.take() else {
            return Ok(now_ns);
        };
        // `enter` times the calls of runs without notes, and finds nothing queued here.
        let spent_ns = notes.since_stamped_ns(now_ns);
        bump(&self.shared.workers[self.number].submit_ns, spent_ns);
        let went_out_then = notes.was_quick(now_ns)
            || (notes.has_only_waited(self.time.stops()) && is_single && !self.is_back(&notes));
        notes.handed_over(&self.shared, place, now_ns, went_out_then);
        self.handover = Some(notes);
        Ok(now_ns)
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
        let times_ns = (self.time.now_ns(), self.last_reap_ns);
        let sleep = self.sleep.plan(&self.shared, times_ns, until_ns, look_ns);
        if matches!(sleep, Sleep::Timer { .. }) {
            bump(&self.shared.workers[self.number].wakeups, 1);
        }
        sleep
    }

    /// Looks at the clock until a moment, which is closer than a wake-up takes.
    pub(crate) fn spin(&self, until_ns: u64) {
        while self.time.now_ns() < until_ns {
            std::hint::spin_loop();
        }
    }

    /// The thread is awake again after a timer for `wake_ns`.
    pub(crate) fn note_wake_up(&mut self, wake_ns: u64) {
        let after_ns = self.time.now_ns().saturating_sub(wake_ns);
        self.sleep.note_wake_up(after_ns);
    }

    /// An I/O kept the thread from the next arrival for so long.
    pub(crate) fn note_io(&mut self, ns: u64) {
        self.sleep.note_io(ns);
    }

    /// The mean gap between the arrivals that this worker may take.
    pub(crate) fn gap_ns(&self) -> f64 {
        self.sleep.gap_ns(&self.shared)
    }

    /// When the next arrival of any stream of this worker is due; zero when one without a
    /// schedule could issue at once.
    pub(crate) fn next_arrival_ns(&self) -> u64 {
        self.sleep.next_arrival_ns(&self.shared, self.last_reap_ns)
    }

    /// The worker's CPU time so far and what its thread used in the run, as its driver knows them.
    pub(crate) fn note_cpu(&self, cpu_ns: u64, used: &measure::ThreadUsage) {
        self.shared.workers[self.number].note_cpu(cpu_ns, used);
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
        let count = self.grouping.seen(unseen, gap_ns);
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
        self.slab = self.shared.interval_slabs.claim(self.interval);
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
            AFTER_STOP => (now_ns.min(shared.end_of(stream)), u64::MAX),
            _ => (now_ns, self.interval),
        };
        let service_ns = seen_ns.saturating_sub(started_ns);
        let response_ns = seen_ns.saturating_sub(view.arrival_ns.load(Relaxed));
        let slab = &shared.streams[stream].recorders[self.shard].slabs[own_slab];
        let cell = &slab.cells[shared.streams[stream].cell(&op)];
        let moved = moved_bytes(&op, result);
        let misfit = match &shared.checks {
            None => None,
            Some(_) => self.look_at(shared, slot, &op, result),
        };
        let mut has_failed = true;
        if misfit.is_some() {
            cell.failed();
            shared.report_failure(&op, EILSEQ, (now_ns, self.number as u32), misfit);
        } else if result < 0 && shared.streams[stream].found_no_room(&op, result) {
            shared.streams[stream].end_drawing();
        } else if result < 0 || (moved == 0 && op.length > 0) {
            cell.failed();
            let errno = if result < 0 { -result } else { EIO };
            shared.report_failure(&op, errno, (now_ns, self.number as u32), None);
        } else {
            has_failed = false;
            cell.succeeded(u64::from(moved), service_ns, response_ns, tag, self.sharing);
            match own_slab {
                AFTER_STOP => shared.note_late((self.number, slot), now_ns, seen_ns),
                _ => shared.note_success(cell, &op, now_ns),
            }
            if moved < op.length {
                cell.was_short();
            }
            self.sample(shared, slot, &op, moved);
            if own_slab == WARMUP && op.is_drawn() {
                shared.count_warm(stream, u64::from(moved), now_ns);
            }
        }
        if has_failed || own_slab == AFTER_STOP {
            shared.note_no_success(&op, response_ns.max(service_ns), seen_ns);
        }
        if has_failed {
            shared.pool_of(&op).failed_ns[own_slab].fetch_add(service_ns, Relaxed);
        }
        view.started_ns.store(0, Relaxed);
        shared.settle_account(Back {
            op: &op,
            now_ns,
            service_ns,
            slab: self.slab,
            worker: self.number as u32,
        });
        self.give_back(slot);
    }

    /// Looks at what some reads have brought.
    #[inline]
    fn sample(&mut self, shared: &SharedRun, slot: u32, op: &Op, moved: u32) {
        if self.brings_data && op.kind == Operation::Read && zeros::is_sampled(op) {
            let data = &self.backend.buffer_mut(slot)[..moved as usize];
            let stream = &shared.streams[op.object.stream as usize];
            stream.sample_of(op).look(data);
        }
    }

    /// The slot is free for the next operation of its pool.
    #[inline]
    fn give_back(&mut self, slot: u32) {
        self.in_flight -= 1;
        let place = self.pool_of_slot[slot as usize] as usize;
        self.due_ns[place] = 0;
        let holds_own = self.filled[slot as usize].bytes > 0;
        self.pools[place].free.give_back(slot, holds_own);
    }

    /// Gives slots back that came back and did not go out again.
    #[inline]
    fn settle(&mut self, shared: &SharedRun, now_ns: u64) {
        for pool in &mut self.pools {
            pool.free.settle(&shared.pools, now_ns);
        }
    }

    /// Of runs that check data: notes what was written, and what is wrong with what was read.
    #[inline(never)]
    fn look_at(
        &mut self,
        shared: &SharedRun,
        slot: u32,
        op: &Op,
        result: i32,
    ) -> Option<Box<Misfit>> {
        let buffer = &mut self.backend.buffer_mut(slot)[..op.length as usize];
        let backlog = shared.streams[op.object.stream as usize].backlog.as_deref();
        let own = self.agenda.read_backs.as_deref_mut();
        let checks = shared.checks.as_ref()?;
        checks.look_at((op, result), slot, buffer, (own, backlog))
    }

    /// Issues from a pool until it has no free slot or nothing is due. Returns the time and the end of the run
    /// as they are then: a submitting call may have waited, and nothing begins after the end.
    fn fill(
        &mut self,
        shared: &SharedRun,
        place: usize,
        mut now_ns: u64,
        mut stop_ns: u64,
    ) -> (u64, u64) {
        let mut next_due = u64::MAX;
        let submit_most = self.pools[place].submit_most;
        while !self.pools[place].free.is_empty() {
            if self.queued.len() >= submit_most as usize {
                now_ns = self.hand_over_queued();
                stop_ns = shared.stop_ns.load(Relaxed);
                if now_ns >= stop_ns {
                    break;
                }
            } else if submit_most == u32::MAX && self.goes_alone() {
                next_due = 0;
                break;
            }
            let at = Moment {
                shared,
                time: &self.time,
                now_ns,
                stop_ns,
            };
            match self.agenda.next(place, &at) {
                Next::Issue(due) => self.issue(shared, place, &due, now_ns),
                Next::Ended => self.moved = true,
                Next::Wait(due_ns) => {
                    next_due = due_ns;
                    break;
                }
            }
        }
        if submit_most < u32::MAX && !self.queued.is_empty() {
            // What other pools have to submit goes on its own.
            now_ns = self.hand_over_queued();
        }
        self.due_ns[place] = next_due;
        (now_ns, stop_ns)
    }

    /// Whether what is queued is to be submitted before more of it is drawn: where the submitting call waits for
    /// each operation, the later ones of a call would begin later than their stamps say, and after the end of a run.
    #[inline]
    fn goes_alone(&self) -> bool {
        self.backend.waits_in_submission() || (self.submits_slowly && self.backend.queued() > 0)
    }

    /// Submits what is queued; when that was done.
    #[cold]
    fn hand_over_queued(&mut self) -> u64 {
        self.stamp();
        bump(&self.shared.workers[self.number].submit_calls, 1);
        let handed = match self.handover {
            Some(_) => self.hand_over(),
            None => self.backend.enter(0, None).map(|()| self.time.now_ns()),
        };
        // A refusal by the kernel shows again at the next enter, which the driver reports.
        handed.unwrap_or_else(|_| self.time.now_ns())
    }

    /// Sends an operation out by a free slot of a pool, whatever it is for.
    #[inline]
    fn issue(&mut self, shared: &SharedRun, place: usize, due: &Due, now_ns: u64) {
        let op = &due.op;
        let stream = &shared.streams[op.object.stream as usize];
        let slot = self.pools[place].free.take(op.kind, shared, now_ns);
        match op.kind {
            Operation::Write => self.fill_buffer(shared, slot, due, now_ns),
            Operation::Read => self.filled[slot as usize] = Filled::default(),
            _ => {}
        }
        if let Some(passes) = &stream.passes
            && op.cause == Cause::Drawn
        {
            passes.goes_out(op.length, || self.backend.unmap());
        }
        if let Some(flow) = &stream.flow
            && op.is_ruled()
        {
            flow.goes_out(op);
        }
        if op.cause == Cause::ReadBack
            && let Some(own) = &mut self.agenda.read_backs
        {
            own.goes_out(slot);
        }
        self.queue(shared, slot, op, due.arrival_ns);
    }

    /// What a write writes.
    #[inline]
    fn fill_buffer(&mut self, shared: &SharedRun, slot: u32, due: &Due, now_ns: u64) {
        let op = &due.op;
        let (stream, place) = (op.object.stream as usize, op.object.place as usize);
        let write = Write {
            stream,
            place,
            offset: op.offset,
            index: due.index,
            at_ns: now_ns,
        };
        let buffer = &mut self.backend.buffer_mut(slot)[..op.length as usize];
        let stamp = |buffer: &mut [u8], key: u64| {
            let checks = shared.checks.as_ref();
            if let Some(check) = checks.and_then(|checks| checks.of(stream)) {
                check.stamp(buffer, write, key);
            }
        };
        let filled = &mut self.filled[slot as usize];
        shared.data.fill(buffer, filled, write, stamp);
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
    fn push(&mut self, slot: u32, op: &Op) {
        if self.backend.is_full() {
            self.stamp();
            // A refusal by the kernel shows again at the next enter, which the driver reports.
            let _ = match self.handover {
                Some(_) => self.hand_over().map(drop),
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
                    let late_ns = now_ns.saturating_sub(arrival_ns);
                    let record =
                        |cell: &LatencyCell| cell.record(late_ns, self.interval, self.sharing);
                    record(&slab.lateness);
                    if self.shared.pools[own.pool].was_free_at(arrival_ns) {
                        record(&slab.free_lateness);
                    }
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
            if stopped || self.agenda.is_over(&self.shared) {
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
        let want = self.grouping.wanted(due_ns, self.in_flight);
        let until_ns = if due_ns == u64::MAX {
            u64::MAX
        } else {
            due_ns.min(stop_ns)
        };
        Wake::Wait { want, until_ns }
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
    fn new(pool: usize, slots: Vec<u32>, shared: &SharedRun) -> Self {
        let streams = shared.streams.iter().filter(|stream| stream.pool == pool);
        let most = streams.filter_map(|stream| stream.batches.submit_most);
        Self {
            free: FreeSlots::new(pool, slots),
            submit_most: most.min().unwrap_or(u32::MAX),
        }
    }
}
