//! Single operations on their way from workers to whoever logs them: blocks of fixed number and
//! size go round, so that memory is bounded and a worker neither waits nor allocates. What finds
//! no block is counted as lost.
use crate::shared::SharedRun;
use measure::OperationRecord;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Operations of a block.
const BLOCK: usize = 4096;

/// Blocks of a worker: 12 MiB at most, which a quarter of a million operations fill.
const BLOCKS: usize = 64;

type Block = Vec<OperationRecord>;

/// The end at a worker.
#[derive(Debug)]
pub(crate) struct OperationWriter {
    block: Block,
    full: SyncSender<Block>,
    empty: Receiver<Block>,
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
        full,
        empty,
    };
    (writer, (full_end, empty_end))
}

impl OperationWriter {
    /// Keeps an operation; whether there was room.
    pub(crate) fn push(&mut self, record: OperationRecord) -> bool {
        if self.block.len() == BLOCK {
            let Ok(next) = self.empty.try_recv() else {
                return false;
            };
            let full = std::mem::replace(&mut self.block, next);
            // As many blocks go round as there is room for.
            let _ = self.full.try_send(full);
        }
        self.block.push(record);
        true
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

    #[test]
    fn a_full_writer_loses_and_goes_on_when_there_is_room() {
        let record = OperationRecord {
            priority: 0,
            stream: StreamId(0),
            target: plan::TargetId(0),
            operation: Operation::Read,
            offset: 0,
            length: 512,
            seen_ns: 1,
            service_ns: 1,
            submission_ns: None,
        };
        let (mut writer, (full, empty)) = pair(1);
        let room = BLOCKS / 16 * BLOCK;
        let kept = (0..room + 10).filter(|_| writer.push(record)).count();
        assert_eq!(kept, room);
        let mut block = full.recv().unwrap();
        assert_eq!(block.len(), BLOCK);
        block.clear();
        empty.try_send(block).unwrap();
        assert!(writer.push(record));
        drop(writer);
        assert_eq!(
            full.iter().map(|block| block.len()).sum::<usize>(),
            room - BLOCK + 1
        );
    }
}
