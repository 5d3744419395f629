//! The part of each file that a clone uses.
use super::resolve::{FileSize, Spec};
use super::value::Size;
use plan::{Bound, FirstBlock, Region};

/// Where the range of a clone begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Begin {
    Bytes(u64),
    Percent(f64),
}

/// The begin of the range of a clone; `None` where bytes and percent are mixed.
pub(crate) fn begin(spec: &Spec<'_>, clone: u32) -> Option<Begin> {
    let steps = u64::from(clone);
    match (spec.offset, spec.offset_increment) {
        (Size::Bytes(offset), Size::Bytes(step)) => Some(Begin::Bytes(
            offset.saturating_add(step.saturating_mul(steps)),
        )),
        (Size::Percent(offset), Size::Percent(step)) => {
            Some(Begin::Percent((offset + step * steps as f64).min(100.0)))
        }
        (Size::Percent(offset), Size::Bytes(0)) => Some(Begin::Percent(offset)),
        (Size::Bytes(0), Size::Percent(step)) => {
            Some(Begin::Percent((step * steps as f64).min(100.0)))
        }
        _ => None,
    }
}

/// The bytes of the range of each file, where they are known without the machine.
pub(crate) fn known_width(file_size: FileSize, begin: Begin, smallest: u64) -> Option<u64> {
    let width = match (file_size, begin) {
        (FileSize::Bytes(bytes), _) => bytes,
        (FileSize::Whole(bytes), Begin::Bytes(offset)) => bytes.saturating_sub(offset),
        _ => return None,
    };
    Some(width - width % smallest)
}

/// How long a file has to be for the range; `None` where it is taken as found.
pub(crate) fn file_bytes(file_size: FileSize, begin: Begin) -> Option<u64> {
    match (file_size, begin) {
        (FileSize::Whole(bytes), _) => Some(bytes),
        (FileSize::Bytes(bytes), Begin::Bytes(offset)) => Some(bytes.saturating_add(offset)),
        _ => None,
    }
}

/// The region of a clone; `None` where bytes and percent are mixed.
pub(crate) fn region(spec: &Spec<'_>, clone: u32) -> Option<Region> {
    if let FileSize::Appended(bytes) = spec.file_size {
        // Whatever offset is given.
        return Some(Region {
            low: Bound::BehindPresent(0),
            high: Bound::BehindPresent(bytes - bytes % spec.smallest),
            ..Region::whole(1, FirstBlock::Used)
        });
    }
    let begin = begin(spec, clone)?;
    let whole = Region {
        first_block: FirstBlock::Used,
        ..Region::whole(spec.smallest, FirstBlock::Used)
    };
    let region = match (spec.file_size, begin) {
        (FileSize::Bytes(_) | FileSize::Whole(_), Begin::Bytes(offset)) => {
            let width = known_width(spec.file_size, begin, spec.smallest)?;
            Region {
                low: Bound::Bytes(offset),
                high: Bound::Bytes(offset.saturating_add(width)),
                granule_bytes: 1,
                ..whole
            }
        }
        (FileSize::AsFound | FileSize::UntilFull, Begin::Bytes(offset_bytes)) => Region {
            offset_bytes,
            ..whole
        },
        (FileSize::AsFound | FileSize::Whole(_), Begin::Percent(low)) => Region {
            low: Bound::Percent(low),
            ..whole
        },
        (FileSize::Percent(pct), Begin::Percent(low)) => Region {
            low: Bound::Percent(low),
            high: Bound::Percent((low + pct).min(100.0)),
            ..whole
        },
        (FileSize::Percent(pct), Begin::Bytes(0)) => Region {
            high: Bound::Percent(pct),
            ..whole
        },
        _ => return None,
    };
    Some(region)
}
