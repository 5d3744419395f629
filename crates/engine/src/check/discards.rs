//! Discarding part of what a stream has written while it goes on writing: which transfers, and when.
use crate::random::{Draws, Purpose, share_limit};
use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Where one stream stands.
#[derive(Debug)]
pub(super) struct Discards {
    rule: plan::Discards,
    draws: Draws,
    limit: u64,
    /// Transfers so far.
    written: AtomicU64,
    /// Of those, what is remembered.
    kept: AtomicU64,
    /// Of the batch that is due.
    owed: AtomicU64,
}

impl Discards {
    /// With the seed, the run and the stream that draws follow from.
    pub(super) fn new(rule: plan::Discards, (seed, run, stream): (u64, u64, u64)) -> Self {
        Self {
            rule,
            draws: Draws::new(seed, run, stream, Purpose::Discard),
            limit: share_limit(rule.pct),
            written: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            owed: AtomicU64::new(0),
        }
    }

    /// How many transfers may wait at once.
    pub(super) fn room(&self) -> u64 {
        self.rule.after.max(self.rule.batch)
    }

    /// A transfer was written; whether it is one of those to be discarded.
    pub(super) fn comes(&self) -> bool {
        let kept = self.kept.fetch_add(1, AcqRel) + 1;
        if kept.is_multiple_of(self.rule.after.max(1)) {
            self.owed.store(self.rule.batch, Release);
        }
        let number = self.written.fetch_add(1, Relaxed);
        self.limit == u64::MAX || self.draws.at(number) < self.limit
    }

    pub(super) fn is_owed(&self) -> bool {
        self.owed.load(Acquire) > 0
    }

    /// One of the batch is discarded by the caller; false when another worker took the last.
    pub(super) fn take(&self) -> bool {
        let less = |owed: u64| owed.checked_sub(1);
        let is_ours = self.owed.fetch_update(AcqRel, Relaxed, less).is_ok();
        if is_ours && !self.rule.reads_zeros {
            self.kept.fetch_sub(1, AcqRel);
        }
        is_ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes and discards as they follow each other: `w` and `d`.
    fn story(pct: f64, after: u64, batch: u64, reads_zeros: bool) -> String {
        let rule = plan::Discards {
            pct,
            after,
            batch,
            reads_zeros,
        };
        let discards = Discards::new(rule, (1, 0, 0));
        let (mut story, mut waiting) = (String::new(), 0);
        for _ in 0..12 {
            waiting += u64::from(discards.comes());
            story.push('w');
            while waiting > 0 && discards.is_owed() && discards.take() {
                waiting -= 1;
                story.push('d');
            }
        }
        story
    }

    #[test]
    fn a_batch_is_discarded_when_so_many_are_remembered() {
        assert_eq!(story(100.0, 4, 4, true), "wwwwdddd".repeat(3));
        assert_eq!(story(100.0, 4, 2, true), "wwwwdd".repeat(3));
        // What is forgotten makes the next batch come later.
        assert_eq!(story(100.0, 4, 2, false), "wwwwddwwddwwddwwddwwdd");
    }

    #[test]
    fn the_share_is_drawn() {
        let rule = plan::Discards {
            pct: 30.0,
            after: 8,
            batch: 8,
            reads_zeros: true,
        };
        let discards = Discards::new(rule, (1, 0, 0));
        let picked = (0..10_000).filter(|_| discards.comes()).count();
        // Four standard deviations.
        assert!((2817..=3183).contains(&picked), "{picked}");
    }
}
