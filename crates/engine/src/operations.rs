//! Single operations on their way from workers to whoever logs them: blocks of fixed number and
//! size go round, so that memory is bounded and a worker does not allocate. Where all of them are full it waits: a log that
//! misses rows is worse than a slower run, and how long it waited is told.
use measure::OperationRecord;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Operations of a block.
const BLOCK: usize = 4096;

/// How long a worker waits for whoever logs before it goes on without: an output that hangs must not keep the run from
/// ending.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Blocks of a worker: 12 MiB at most, which a quarter of a million operations fill.
const BLOCKS: usize = 64;

pub(crate) type Block = Vec<OperationRecord>;

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
            measured_from_ns: 0,
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
