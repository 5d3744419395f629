//! Passes of a stream over its files. Where the page cache forgets a file as it is opened, it forgets it again before
//! each further pass: it would answer with what the pass before has read.
//!
//! The worker that begins a pass waits for that call, before it stamps what it sends.
use plan::{AddressOrder, BoundRegion, Generator, LocalStop, OperationMix, RandomLaw, Sequences};
use std::fs::File;
use std::ops::Range;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug)]
pub(crate) struct Passes {
    bytes_of_pass: u64,
    sent: AtomicU64,
    /// How many further passes have begun.
    begun: AtomicU64,
    parts: Vec<CachedPart>,
}

/// What a stream transfers of a file. Whoever opened the file closes it.
#[derive(Debug)]
pub(crate) struct CachedPart {
    pub file: Weak<File>,
    pub bytes: Range<u64>,
}

impl Passes {
    /// `None` where there is no second pass, or no cache is to be forgotten.
    pub(crate) fn of(
        laws: &Generator,
        regions: &[BoundRegion],
        stop: LocalStop,
        parts: Vec<CachedPart>,
    ) -> Option<Box<Self>> {
        let bytes_of_pass = bytes_of_pass(laws, regions);
        let is_one = stop.bytes.is_some_and(|bytes| bytes <= bytes_of_pass);
        (bytes_of_pass > 0 && !is_one && !parts.is_empty()).then(|| {
            Box::new(Self {
                bytes_of_pass,
                sent: AtomicU64::new(0),
                begun: AtomicU64::new(0),
                parts,
            })
        })
    }

    /// A transfer is about to be sent. Where it is the first of a further pass, `unmap` is called before the cache is dropped:
    /// what is mapped stays in it.
    #[inline]
    pub(crate) fn goes_out(&self, length: u32, unmap: impl FnOnce()) {
        if self.begins_with(length.into()) {
            unmap();
            self.forget();
        }
    }

    /// Whether it is the first of a further pass.
    #[inline]
    fn begins_with(&self, length: u64) -> bool {
        let pass = self.sent.fetch_add(length, Relaxed) / self.bytes_of_pass;
        let begun = self.begun.load(Relaxed);
        pass > begun
            && self
                .begun
                .compare_exchange(begun, pass, Relaxed, Relaxed)
                .is_ok()
    }

    #[cold]
    fn forget(&self) {
        for part in &self.parts {
            if let Some(file) = part.file.upgrade() {
                // It worked when the file was opened, and a cache that stays is no failure of a transfer.
                let _ = sys::file::drop_cache_of(&file, part.bytes.clone());
            }
        }
    }
}

/// What moves until all places of all regions were visited; 0 where no place waits for the others to be visited, and in
/// steps, which go on over their regions as fio does: without opening a file again.
fn bytes_of_pass(laws: &Generator, regions: &[BoundRegion]) -> u64 {
    let OperationMix {
        read_pct,
        write_pct,
        trim_pct,
    } = laws.operations;
    let used = [read_pct, write_pct, trim_pct].map(|pct| u64::from(pct > 0.0));
    let sequences = match (&laws.order, laws.sequences) {
        // Each of them goes over all of it.
        (AddressOrder::Sequential { .. }, Sequences::ByDirection) => used.iter().sum(),
        (AddressOrder::Sequential { .. }, Sequences::Shared) => 1,
        (AddressOrder::Random(RandomLaw::OncePerBlock(_)), _) => 1,
        _ => return 0,
    };
    let grain = laws.smallest_transfer().max(1);
    let of = |region: &BoundRegion| match laws.transfers_of(region) {
        Some(transfers) => transfers.saturating_mul(grain),
        None => region.width / grain * grain,
    };
    let bytes = regions.iter().map(of).fold(0, u64::saturating_add);
    bytes.saturating_mul(sequences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_pass_begins_once() {
        let passes = Passes {
            bytes_of_pass: 10_240,
            sent: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            parts: Vec::new(),
        };
        let begins: Vec<bool> = (0..9).map(|_| passes.begins_with(4096)).collect();
        let expected = [false, false, false, true, false, true, false, false, true];
        assert_eq!(begins, expected);
    }
}
