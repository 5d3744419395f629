//! What follows for a stream from an operation that is back: its rules hear of it, its end may have come, and streams
//! that wait for that end begin.
use crate::depth_search::Verdict;
use crate::op::{Cause, Op};
use crate::state::{AFTER_STOP, SharedRun, SharedStream};
use measure::{Failure, LATE_NS, Misfit};
use plan::Operation;
use std::sync::atomic::Ordering::{Relaxed, Release};

const ENOSPC: i32 = 28;
const ETIMEDOUT: i32 = 110;
const EDQUOT: i32 = 122;

/// An operation that is back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Back<'a> {
    pub op: &'a Op,
    pub now_ns: u64,
    pub service_ns: u64,
    /// In which slab of the run what is seen now counts.
    pub slab: usize,
    pub worker: u32,
}

impl SharedRun {
    /// Counts an operation of a stream with rules or an end as back.
    #[inline(always)]
    pub(crate) fn settle_account(&self, back: Back<'_>) {
        let number = back.op.object.stream as usize;
        let stream = &self.streams[number];
        if stream.flow.is_some() && back.op.is_ruled() {
            self.note_rules(back);
        }
        match back.op.cause {
            Cause::Drawn | Cause::Recorded => {
                if stream.ends {
                    self.resolve(number, back.now_ns);
                }
            }
            Cause::Rule | Cause::AtEnd | Cause::FileSystemRule => {
                self.sync_is_back(number, back.now_ns)
            }
            Cause::ReadBack => self.read_back_is_over(number, back.now_ns),
        }
    }

    /// Tells the rules of its stream that an operation is back.
    #[inline(never)]
    fn note_rules(&self, back: Back<'_>) {
        let Back { op, now_ns, .. } = back;
        let number = op.object.stream as usize;
        let stream = &self.streams[number];
        let flow = stream.flow.as_ref().expect("the caller has looked");
        flow.leaves(op);
        if let Some(own) = stream.lifetime.as_ref().filter(|_| flow.depth().is_some()) {
            let since_ns = now_ns.saturating_sub(self.start_ns.load(Relaxed));
            let verdict = match since_ns >= own.warm_ns() {
                true => flow.verdict(back.service_ns, now_ns),
                false => Verdict::GoesOn,
            };
            if verdict != Verdict::GoesOn && back.slab != AFTER_STOP {
                self.end_stream(number, now_ns);
            }
            if verdict == Verdict::Hopeless && back.slab != AFTER_STOP {
                self.report_failure(op, ETIMEDOUT, (now_ns, back.worker), None);
            }
        }
        if flow.is_back(op.kind, back.service_ns) && back.slab != AFTER_STOP {
            stream.ended.store(true, Relaxed);
            self.report_failure(op, ETIMEDOUT, (now_ns, back.worker), None);
        }
    }

    #[cold]
    fn read_back_is_over(&self, number: usize, now_ns: u64) {
        let backlog = self.streams[number].backlog.as_ref();
        backlog.expect("only a backlog is read back").is_back();
        self.note_over(number, now_ns);
    }

    #[cold]
    fn sync_is_back(&self, number: usize, now_ns: u64) {
        let stream = &self.streams[number];
        let flow = stream.flow.as_ref().expect("only a flow makes syncs");
        if flow.sync_is_back() {
            // Whoever sees the end sees what came before it.
            stream.ended.store(true, Release);
        }
        self.note_over(number, now_ns);
    }

    #[cold]
    pub(crate) fn report_failure(
        &self,
        op: &Op,
        errno: i32,
        (at_ns, worker): (u64, u32),
        misfit: Option<Box<Misfit>>,
    ) {
        self.note_failed(Failure {
            at_ns,
            stream: op.object.stream,
            place: op.object.place,
            operation: op.kind,
            offset: op.offset,
            length: op.length,
            errno,
            misfit,
            worker: Some(worker),
            denial: None,
        });
    }

    /// When a stream stopped to be counted.
    pub(crate) fn end_of(&self, stream: usize) -> u64 {
        let start_ns = self.start_ns.load(Relaxed);
        let stop_ns = self.stop_ns.load(Relaxed);
        self.streams[stream].not_after_close(start_ns, stop_ns)
    }

    /// Keeps what came back well after the end; all that came after it where the plan asks how operations come back.
    #[cold]
    pub(crate) fn note_late(&self, (worker, slot): (usize, u32), now_ns: u64, end_ns: u64) {
        let worker = &self.workers[worker];
        let (view, late) = (&worker.slots[slot as usize], &worker.late[slot as usize]);
        let after_ns = now_ns.saturating_sub(end_ns).max(1);
        let started_ns = view.started_ns.load(Relaxed);
        let is_late = after_ns >= LATE_NS && started_ns < end_ns;
        if !is_late && !self.notes_handover {
            return;
        }
        late.age_ns.store(now_ns - started_ns, Relaxed);
        late.op.store(&view.op.load());
        late.after_ns.store(after_ns, Relaxed);
    }
}

impl SharedStream {
    /// Nothing more is drawn; what a stream does at its end may still come.
    #[cold]
    pub(crate) fn end_drawing(&self) {
        if !self.flow.as_ref().is_some_and(|flow| flow.is_drawn()) {
            self.ended.store(true, Relaxed);
        }
    }

    /// Whether a failed operation is what the stream ends with.
    #[cold]
    pub(crate) fn found_no_room(&self, op: &Op, result: i32) -> bool {
        let is_full = matches!(-result, ENOSPC | EDQUOT);
        is_full && op.kind == Operation::Write && self.source.ends_when_full()
    }
}
