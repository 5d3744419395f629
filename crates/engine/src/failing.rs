//! Streams that a failure ends, while those beside them go on.
use crate::state::SharedRun;
use measure::Failure;
use plan::Tolerance;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::mpsc::{Receiver, TrySendError};

impl SharedRun {
    /// Ends a stream that does not go on after this failure, and those that end with it. What has to
    /// be done at the end of a stream is not done.
    #[cold]
    pub(crate) fn note_failed(&self, failure: Failure) {
        let has_failed = self.end_after(&failure);
        let Err(TrySendError::Full(failure) | TrySendError::Disconnected(failure)) =
            self.failures.try_send(failure)
        else {
            return;
        };
        // How the whole job ended hangs on these, and no more come than are in flight when a stream ends.
        let kept = has_failed.then(|| self.failures_beyond.lock().ok());
        match kept.flatten() {
            Some(mut kept) => kept.push(failure),
            None => drop(self.failures_lost.fetch_add(1, Relaxed)),
        }
    }

    /// Returns whether the stream has failed.
    fn end_after(&self, failure: &Failure) -> bool {
        let stream = &self.streams[failure.stream as usize];
        let Some(tolerance) = &stream.tolerance else {
            return false;
        };
        if !tolerance.ends_after(failure.operation, failure.errno) {
            return false;
        }
        stream.cut_off_ns.store(failure.at_ns, Relaxed);
        stream.ended.store(true, Release);
        let has_failed = !tolerance.covers(failure.operation, failure.errno);
        if has_failed {
            self.end_with(tolerance, failure.at_ns);
        }
        has_failed
    }

    /// Failures since the last call, and how many found no room.
    pub(crate) fn take_failures(&self, listed: &Receiver<Failure>) -> (Vec<Failure>, u64) {
        let mut failures: Vec<Failure> = listed.try_iter().collect();
        if let Ok(mut beyond) = self.failures_beyond.lock() {
            failures.append(&mut beyond);
        }
        (failures, self.failures_lost.swap(0, Relaxed))
    }

    /// From now on these streams issue nothing; workers see it when they choose the next operation.
    /// They have failed where their tolerance says what ends with them.
    pub(crate) fn retire(&self, streams: &[usize], have_failed: bool, now_ns: u64) {
        for number in streams {
            let stream = &self.streams[*number];
            stream.cut_off_ns.store(now_ns, Relaxed);
            stream.ended.store(true, Release);
            if let Some(tolerance) = stream.tolerance.as_ref().filter(|_| have_failed) {
                self.end_with(tolerance, now_ns);
            }
            self.note_over(*number, now_ns);
        }
    }

    fn end_with(&self, tolerance: &Tolerance, now_ns: u64) {
        for other in &tolerance.ends {
            let stream = &self.streams[*other as usize];
            stream.cut_off_ns.store(now_ns, Relaxed);
            self.end_stream(*other as usize, now_ns);
        }
    }
}
