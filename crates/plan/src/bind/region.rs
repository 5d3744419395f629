//! Regions in bytes: which part of which target a stream may touch.
use super::{BoundRegion, BoundTarget, FoundKind};
use crate::ids::TargetId;
use crate::stream::{Bound, FirstBlock, Region};

/// A part of an address space: from `low`, `width` bytes, going on at `wrap_to` from `wrap_at`.
#[derive(Clone, Copy, Debug)]
struct Span {
    low: u64,
    width: u64,
    wrap_at: Option<u64>,
    wrap_to: u64,
}

/// The region on one target.
pub(crate) fn on_target(region: &Region, target: TargetId, bound: &BoundTarget) -> BoundRegion {
    let present = bound.facts.bytes;
    let span = span(region, first_byte(region, bound), bound.bytes, present);
    BoundRegion {
        target,
        low: span.low,
        width: span.width,
        wrap_at: span.wrap_at,
        wrap_to: span.wrap_to,
        start: 0,
    }
}

/// The region on several targets that form one address space: its parts in the order of addresses.
/// A target outside of it has none, and one in which it wraps may have two.
pub(crate) fn end_to_end(
    region: &Region,
    targets: &[(TargetId, &BoundTarget)],
) -> Vec<BoundRegion> {
    let granule = region.granule_bytes.max(1);
    let usable = |bound: &BoundTarget| {
        let first = first_byte(region, bound);
        (first, (bound.bytes - bound.bytes % granule).max(first))
    };
    let whole = targets
        .iter()
        .map(|(_, bound)| usable(bound))
        .map(|(first, end)| end - first)
        .sum();
    let span = span(region, 0, whole, whole);
    let mut parts = Vec::new();
    for (low, end) in span.pieces() {
        let mut start = 0;
        for (target, bound) in targets {
            let (first, last) = usable(bound);
            let from = low.max(start);
            let to = end.min(start + (last - first));
            if from < to {
                parts.push(BoundRegion {
                    target: *target,
                    low: first + (from - start),
                    width: to - from,
                    wrap_at: None,
                    wrap_to: 0,
                    start: 0,
                });
            }
            start += last - first;
        }
    }
    parts
}

/// The first byte that may be touched.
fn first_byte(region: &Region, bound: &BoundTarget) -> u64 {
    let spared = region.first_block == FirstBlock::SparedOnDevices
        && bound.facts.found == FoundKind::BlockDevice;
    if spared {
        region.granule_bytes.max(1)
    } else {
        0
    }
}

fn span(region: &Region, first: u64, bytes: u64, present: u64) -> Span {
    let granule = region.granule_bytes.max(1);
    let at = |limit: Bound| match limit {
        Bound::Percent(pct) => (bytes as f64 * pct / 100.0) as u64,
        Bound::Bytes(bytes) => bytes,
        Bound::BehindPresent(bytes) => present.saturating_add(bytes),
    };
    let down = |address: u64| address - address % granule;
    let low = match region.trim {
        Some(trim) => at(region.low).next_multiple_of(trim.low_up_to.max(1)),
        None => down(at(region.low)),
    };
    let mut low = low.max(first);
    let mut high = down(at(region.high));
    let wraps = high > bytes;
    if wraps {
        let ring = down(bytes).saturating_sub(first);
        high = high.saturating_add(first).min(low + ring);
    }
    low += region.offset_bytes;
    // The offset shifts all addresses; the last ones must not fall behind the end of the target.
    if !wraps && region.offset_bytes > 0 {
        let room = bytes.saturating_sub(low);
        high = high.min(low + down(room));
    }
    if let Some(width) = region.trim.and_then(|trim| trim.width).filter(|_| !wraps) {
        high = high.min(low.saturating_add(down(at(width))));
    }
    let wrap_at = wraps.then_some(down(bytes));
    let is_outside = wrap_at.is_some_and(|end| low >= end);
    let width = if is_outside {
        0
    } else {
        high.saturating_sub(low)
    };
    let span = Span {
        low,
        width,
        wrap_at,
        wrap_to: first,
    };
    span.slice(region)
}

impl Span {
    fn slice(mut self, region: &Region) -> Self {
        if let Some(slice) = region.slice {
            let granule = region.granule_bytes.max(1);
            let cut = |index: u32| {
                if index >= slice.count {
                    return self.width;
                }
                let share = u128::from(self.width) * u128::from(index) / u128::from(slice.count);
                share as u64 - share as u64 % granule
            };
            let (from, to) = (cut(slice.index), cut(slice.index + 1));
            self.low += from;
            self.width = to - from;
        }
        match self.wrap_at {
            Some(end) if self.low >= end => {
                self.low = self.wrap_to + (self.low - end);
                self.wrap_at = None;
            }
            Some(end) if self.low + self.width <= end => self.wrap_at = None,
            _ => {}
        }
        self
    }

    /// From and to, in the order of addresses.
    fn pieces(&self) -> Vec<(u64, u64)> {
        let end = self.low + self.width;
        match self.wrap_at {
            Some(seam) => vec![
                (self.low, seam),
                (self.wrap_to, self.wrap_to + (end - seam)),
            ],
            None => vec![(self.low, end)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Alignment, TargetFacts};
    use super::*;
    use crate::stream::Slice;

    const KIB: u64 = 1 << 10;

    fn target(found: FoundKind, bytes: u64) -> BoundTarget {
        BoundTarget {
            facts: TargetFacts {
                found,
                bytes,
                alignment: Alignment {
                    offset: 512,
                    memory: 512,
                },
                ram_backed: false,
            },
            bytes,
            is_prepared: false,
            write_extent: None,
            is_read: false,
        }
    }

    fn percent(low: f64, high: f64) -> Region {
        Region {
            low: Bound::Percent(low),
            high: Bound::Percent(high),
            ..Region::whole(4 * KIB, FirstBlock::SparedOnDevices)
        }
    }

    fn parts(region: &Region, targets: &[BoundTarget]) -> Vec<(u32, u64, u64)> {
        let numbered: Vec<_> = (0..).map(TargetId).zip(targets).collect();
        end_to_end(region, &numbered)
            .iter()
            .map(|part| (part.target.0, part.low, part.width))
            .collect()
    }

    #[test]
    fn a_wrapped_region_goes_on_behind_the_spared_block() {
        let device = target(FoundKind::BlockDevice, 100 * KIB);
        let region = on_target(&percent(50.0, 150.0), TargetId(0), &device);
        assert_eq!((region.low, region.width), (48 * KIB, 96 * KIB));
        assert_eq!((region.wrap_at, region.wrap_to), (Some(100 * KIB), 4 * KIB));
        assert_eq!(region.extent(), (4 * KIB, 100 * KIB));
        let file = target(FoundKind::File, 100 * KIB);
        let region = on_target(&percent(50.0, 120.0), TargetId(0), &file);
        assert_eq!((region.low, region.width), (48 * KIB, 72 * KIB));
        assert_eq!(region.wrap_to, 0);
    }

    #[test]
    fn slices_cover_their_region_without_overlap() {
        let device = target(FoundKind::BlockDevice, 1_000 * KIB);
        for (low, high) in [(0.0, 100.0), (13.0, 77.0), (60.0, 150.0)] {
            let whole = on_target(&percent(low, high), TargetId(0), &device);
            let mut at = whole.low;
            let mut sum = 0;
            for index in 0..7 {
                let slice = Some(Slice { index, count: 7 });
                let region = Region {
                    slice,
                    ..percent(low, high)
                };
                let part = on_target(&region, TargetId(0), &device);
                assert_eq!(part.low, at);
                assert_eq!(part.low % (4 * KIB), 0);
                at += part.width;
                if let Some(end) = whole.wrap_at.filter(|end| at >= *end) {
                    at = whole.wrap_to + (at - end);
                }
                sum += part.width;
            }
            assert_eq!(sum, whole.width, "{low} to {high}");
        }
    }

    #[test]
    fn targets_end_to_end_spare_the_first_block_of_each_device() {
        let targets = [
            target(FoundKind::BlockDevice, 41 * KIB),
            target(FoundKind::File, 22 * KIB),
            target(FoundKind::BlockDevice, 44 * KIB),
        ];
        assert_eq!(
            parts(&percent(0.0, 100.0), &targets),
            [
                (0, 4 * KIB, 36 * KIB),
                (1, 0, 20 * KIB),
                (2, 4 * KIB, 40 * KIB)
            ]
        );
        // 96 KiB together: from 48 to 72 KiB.
        assert_eq!(
            parts(&percent(50.0, 75.0), &targets),
            [(1, 12 * KIB, 8 * KIB), (2, 4 * KIB, 16 * KIB)]
        );
    }

    #[test]
    fn a_region_over_the_end_of_all_targets_goes_on_in_the_first() {
        let targets = [
            target(FoundKind::File, 40 * KIB),
            target(FoundKind::File, 40 * KIB),
        ];
        assert_eq!(
            parts(&percent(25.0, 115.0), &targets),
            [(0, 20 * KIB, 20 * KIB), (1, 0, 40 * KIB), (0, 0, 12 * KIB)]
        );
        let slice = Some(Slice { index: 1, count: 2 });
        let half = Region {
            slice,
            ..percent(0.0, 100.0)
        };
        assert_eq!(parts(&half, &targets), [(1, 0, 40 * KIB)]);
    }
}
