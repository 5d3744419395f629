//! Streams that a failure ends, while those beside them go on.
use crate::shared::SharedRun;
use plan::{Operation, Tolerance};
use std::sync::atomic::Ordering::Release;

impl SharedRun {
    /// Ends a stream that does not go on after this failure, and those that end with it. What has to
    /// be done at the end of a stream is not done.
    #[cold]
    pub(crate) fn note_failed(&self, number: usize, operation: Operation, errno: i32, now_ns: u64) {
        let Some(tolerance) = &self.streams[number].tolerance else {
            return;
        };
        if tolerance.covers(operation, errno) {
            return;
        }
        self.streams[number].ended.store(true, Release);
        self.end_with(tolerance, now_ns);
    }

    /// From now on these streams issue nothing; workers see it when they choose the next operation.
    /// They have failed where their tolerance says what ends with them.
    pub(crate) fn retire(&self, streams: &[usize], have_failed: bool, now_ns: u64) {
        for number in streams {
            let stream = &self.streams[*number];
            stream.ended.store(true, Release);
            if let Some(tolerance) = stream.tolerance.as_ref().filter(|_| have_failed) {
                self.end_with(tolerance, now_ns);
            }
            self.note_over(*number, now_ns);
        }
    }

    fn end_with(&self, tolerance: &Tolerance, now_ns: u64) {
        for other in &tolerance.ends {
            self.end_stream(*other as usize, now_ns);
        }
    }
}
