//! Single operations on their way from workers to whoever logs them: blocks of fixed number and
//! size go round, so that memory is bounded and a worker does not allocate. Where all of them are full it waits: a log that
//! misses rows is worse than a slower run, and how long it waited is told.
use crate::shared::SharedRun;
use measure::OperationRecord;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Operations of a block.
const BLOCK: usize = 4096;

/// How long a worker waits for whoever logs before it goes on without: an output that hangs must not keep the run from
/// ending.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Blocks of a worker: 12 MiB at most, which a quarter of a million operations fill.
const BLOCKS: usize = 64;

type Block = Vec<OperationRecord>;

/// The end at a worker.
#[derive(Debug)]
pub(crate) struct OperationWriter {
    block: Block,
    patience: Duration,
    full: SyncSender<Block>,
    empty: Receiver<Block>,
}

/// What became of an operation that was to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    AtOnce,
    After(Duration),
    Lost,
}

/// The other end, for all workers of a run.
#[derive(Debug)]
pub struct OperationReader {
    shared: Arc<SharedRun>,
    ends: Vec<(Receiver<Block>, SyncSender<Block>)>,
}

/// A writer and what the reader needs of it. Slots beyond a quarter of the blocks make no sense of
/// more: a worker with one slot is slow.
pub(crate) fn pair(slots: usize) -> (OperationWriter, (Receiver<Block>, SyncSender<Block>)) {
    let blocks = if slots > 1 { BLOCKS } else { BLOCKS / 16 };
    let (full, full_end) = sync_channel(blocks);
    let (empty_end, empty) = sync_channel(blocks);
    for _ in 1..blocks {
        // There is room for all of them.
        let _ = empty_end.try_send(Vec::with_capacity(BLOCK));
    }
    let writer = OperationWriter {
        block: Vec::with_capacity(BLOCK),
        patience: WAIT_MAX,
        full,
        empty,
    };
    (writer, (full_end, empty_end))
}

impl OperationWriter {
    /// Keeps an operation, and waits for room where there is none.
    pub(crate) fn push(&mut self, record: OperationRecord) -> Kept {
        if self.block.len() < BLOCK {
            self.block.push(record);
            return Kept::AtOnce;
        }
        let (next, kept) = match self.empty.try_recv() {
            Ok(next) => (next, Kept::AtOnce),
            Err(_) => {
                let begun = Instant::now();
                let Ok(next) = self.empty.recv_timeout(self.patience) else {
                    // Who does not take within this time is not waited for again.
                    self.patience = Duration::ZERO;
                    return Kept::Lost;
                };
                (next, Kept::After(begun.elapsed()))
            }
        };
        self.patience = WAIT_MAX;
        let full = std::mem::replace(&mut self.block, next);
        // As many blocks go round as there is room for.
        let _ = self.full.try_send(full);
        self.block.push(record);
        kept
    }
}

impl Drop for OperationWriter {
    fn drop(&mut self) {
        let _ = self.full.try_send(std::mem::take(&mut self.block));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Operation, StreamId};

    fn record(offset: u64) -> OperationRecord {
        OperationRecord {
            priority: 0,
            stream: StreamId(0),
            target: plan::TargetId(0),
            operation: Operation::Read,
            offset,
            length: 512,
            seen_ns: 1,
            service_ns: 1,
            submission_ns: None,
            completion_ns: 1,
        }
    }

    #[test]
    fn a_full_writer_waits_and_loses_nothing() {
        let (mut writer, (full, empty)) = pair(1);
        let room = BLOCKS / 16 * BLOCK;
        let count = room as u64 * 3;
        let reader = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            let mut offsets = Vec::new();
            for mut block in full.iter() {
                offsets.extend(block.iter().map(|one: &OperationRecord| one.offset));
                block.clear();
                let _ = empty.try_send(block);
            }
            offsets
        });
        let kept: Vec<Kept> = (0..count).map(|at| writer.push(record(at))).collect();
        drop(writer);
        assert!(kept.iter().any(|one| matches!(one, Kept::After(_))));
        assert!(reader.join().unwrap().into_iter().eq(0..count));
    }

    #[test]
    fn nobody_is_waited_for_who_is_gone() {
        let (mut writer, ends) = pair(1);
        drop(ends);
        let kept = (0..100_000).map(|at| writer.push(record(at)));
        assert!(kept.last() == Some(Kept::Lost));
    }
}
