//! The end at which single operations are taken over from the workers of a run.
use crate::operations::Block;
use crate::state::SharedRun;
use measure::OperationRecord;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// The end for all workers of a run.
#[derive(Debug)]
pub struct OperationReader {
    shared: Arc<SharedRun>,
    ends: Vec<(Receiver<Block>, SyncSender<Block>)>,
}

impl OperationReader {
    pub(crate) fn new(
        shared: Arc<SharedRun>,
        ends: Vec<(Receiver<Block>, SyncSender<Block>)>,
    ) -> Self {
        Self { shared, ends }
    }

    /// Hands over operations until all workers have ended, or `is_over` says so and none is left.
    /// Those of one worker come in the order in which they were seen.
    pub fn run(self, mut take: impl FnMut(&[OperationRecord]), is_over: impl Fn() -> bool) {
        let mut ends: Vec<Option<(Receiver<Block>, SyncSender<Block>)>> =
            self.ends.into_iter().map(Some).collect();
        loop {
            let mut found = false;
            for end in &mut ends {
                let Some((full, empty)) = end else { continue };
                match full.recv_timeout(Duration::ZERO) {
                    Ok(mut block) => {
                        take(&block);
                        block.clear();
                        let _ = empty.try_send(block);
                        found = true;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => *end = None,
                }
            }
            if ends.iter().all(Option::is_none) || (!found && is_over()) {
                return;
            }
            if !found {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// A count of operations that were lost so far, to be asked later.
    pub fn lost(&self) -> impl Fn() -> u64 + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.operations_lost.load(Relaxed)
    }

    /// How often workers had to wait so far, and for how many nanoseconds in all, to be asked later.
    pub fn waits(&self) -> impl Fn() -> (u64, u64) + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move || {
            let (count, sum_ns) = (&shared.operation_waits, &shared.operation_waits_ns);
            (count.load(Relaxed), sum_ns.load(Relaxed))
        }
    }

    /// The start of the run on the clock; zero before it is known.
    pub fn start(&self) -> impl Fn() -> u64 + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.start_ns.load(Relaxed)
    }
}
