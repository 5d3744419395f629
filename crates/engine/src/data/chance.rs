//! Duplicates by chance: a share of the writes of a stream repeats an earlier content.
use crate::random::{Draws, Purpose, fold, mix, share_limit};
use plan::DuplicateSource;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Which writes of a stream are duplicates, and of what.
#[derive(Debug)]
pub(super) struct ChanceLaw {
    limit: u64,
    is_duplicate: Draws,
    member: Draws,
    source: DuplicateSource,
    /// Of the contents of a working set.
    set_key: u64,
    writes: AtomicU64,
}

impl ChanceLaw {
    /// `place` is the run and the stream.
    pub(super) fn new(pct: f64, source: DuplicateSource, seed: u64, place: (u64, u64)) -> Self {
        let draws = |purpose| Draws::new(seed, place.0, place.1, purpose);
        let owner = match source {
            DuplicateSource::WorkingSet {
                is_shared: false, ..
            } => place.1 + 1,
            _ => 0,
        };
        Self {
            limit: share_limit(pct),
            is_duplicate: draws(Purpose::Duplicate),
            member: draws(Purpose::Member),
            source,
            set_key: fold(mix(seed), owner),
            writes: AtomicU64::new(0),
        }
    }

    /// The key of the next write; `stream_key` makes unique ones unlike those of other streams.
    pub(super) fn key(&self, stream_key: u64) -> u64 {
        let number = self.writes.fetch_add(1, Relaxed);
        match self.source {
            _ if !self.repeats(number) => fold(stream_key, number),
            DuplicateSource::Previous => fold(stream_key, self.last_unique(number)),
            DuplicateSource::WorkingSet { contents, .. } => {
                fold(self.set_key, self.member.below(number, contents.max(1)))
            }
        }
    }

    fn repeats(&self, number: u64) -> bool {
        self.limit == u64::MAX || self.is_duplicate.at(number) < self.limit
    }

    /// The first write of all stands in where there was no unique one before.
    fn last_unique(&self, number: u64) -> u64 {
        if self.limit == u64::MAX {
            return 0;
        }
        let unique = (0..number).rev().find(|earlier| !self.repeats(*earlier));
        unique.unwrap_or(0)
    }
}
