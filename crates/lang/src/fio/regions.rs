//! The part of each file that a clone uses.
use super::names;
use super::resolve::{FileSize, Spec};
use super::value::Size;
use plan::{Bound, FirstBlock, IoMethod, Region, Trim};

/// Where the range of a clone begins: at a share of what is found, and so many bytes behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Begin {
    pct: f64,
    bytes: u64,
}

/// The begin of the range of a clone.
pub(crate) fn begin(spec: &Spec<'_>, clone: u32) -> Begin {
    let mut begin = Begin { pct: 0.0, bytes: 0 };
    let steps = u64::from(clone);
    for (size, times) in [(spec.offset, 1), (spec.offset_increment, steps)] {
        match size {
            Size::Bytes(bytes) => {
                begin.bytes = begin.bytes.saturating_add(bytes.saturating_mul(times));
            }
            Size::Percent(pct) => begin.pct += pct * times as f64,
        }
    }
    begin.pct = begin.pct.min(100.0);
    // Files of `null` are as long as the job says.
    if spec.method == Some(IoMethod::Nothing)
        && begin.pct > 0.0
        && let FileSize::Bytes(bytes) = spec.file_size
    {
        let at = (bytes as f64 * begin.pct / 100.0) as u64;
        begin.bytes = begin
            .bytes
            .saturating_add(at.next_multiple_of(rounding(spec)));
        begin.pct = 0.0;
    }
    begin
}

/// What the begin of a range in percent is rounded up to.
fn rounding(spec: &Spec<'_>) -> u64 {
    let align = spec.job.number("offset_align").filter(|align| *align > 0);
    align.map_or(spec.smallest, |align| align as u64)
}

impl Begin {
    /// In bytes, where the machine need not be asked.
    fn known(self) -> Option<u64> {
        (self.pct == 0.0).then_some(self.bytes)
    }
}

/// The bytes of the range of each file, where they are known without the machine.
pub(crate) fn known_width(file_size: FileSize, begin: Begin, smallest: u64) -> Option<u64> {
    let width = match file_size {
        FileSize::Bytes(bytes) => bytes,
        FileSize::Whole(bytes) => bytes.saturating_sub(begin.known()?),
        FileSize::Within { range, file } => file.saturating_sub(begin.known()?).min(range),
        _ => return None,
    };
    Some(width - width % smallest)
}

/// How long a file has to be for the range; `None` where it is taken as found.
pub(crate) fn file_bytes(file_size: FileSize, begin: Begin) -> Option<u64> {
    match file_size {
        FileSize::Whole(bytes) => Some(bytes),
        // What no job uses is not made.
        FileSize::Within { range, file } => Some(match begin.known() {
            Some(begin) => begin.saturating_add(range).min(file),
            None => file,
        }),
        FileSize::Bytes(bytes) => Some(bytes.saturating_add(begin.known()?)),
        _ => None,
    }
}

/// Where `size` begins to count in a file, in bytes: at the offset, where it is that of the range.
pub(crate) fn size_from_bytes(spec: &Spec<'_>, clone: u32) -> u64 {
    match spec.file_size {
        FileSize::Bytes(_) => begin(spec, clone).known().unwrap_or(0),
        _ => 0,
    }
}

/// The size of a file between two ends, in whole blocks: the same for a path however often it is asked.
pub(crate) fn drawn_bytes((low, high): (u64, u64), smallest: u64, seed: u64, path: &str) -> u64 {
    let mut mixed = seed;
    for byte in path.bytes() {
        mixed = (mixed ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^= mixed >> 29;
    }
    let bytes = low + mixed % (high - low).saturating_add(1).max(1);
    (bytes - bytes % smallest).max(smallest)
}

/// The region of a clone.
pub(crate) fn region(spec: &Spec<'_>, clone: u32) -> Region {
    if let FileSize::Appended(bytes) = spec.file_size {
        // Whatever offset is given.
        return Region {
            low: Bound::BehindPresent(0),
            high: Bound::BehindPresent(bytes - bytes % spec.smallest),
            ..Region::whole(1, FirstBlock::Used)
        };
    }
    if let Some(region) = names::region(spec) {
        return region;
    }
    let begin = begin(spec, clone);
    let whole = Region::whole(spec.smallest, FirstBlock::Used);
    // Where a gap leads, and how a zone is cut, depends on the exact end.
    let granule = match &spec.steps {
        Some(_) => 1,
        None => spec.smallest,
    };
    let width = known_width(spec.file_size, begin, granule);
    if let (Some(offset), Some(width)) = (begin.known(), width) {
        return Region {
            low: Bound::Bytes(offset),
            high: Bound::Bytes(offset.saturating_add(width)),
            granule_bytes: 1,
            ..whole
        };
    }
    let width = match spec.file_size {
        FileSize::Bytes(bytes) | FileSize::Within { range: bytes, .. } => Some(Bound::Bytes(bytes)),
        FileSize::Percent(pct) => Some(Bound::Percent(pct)),
        _ => None,
    };
    let trim = Trim {
        low_up_to: rounding(spec),
        width,
    };
    Region {
        low: Bound::Percent(begin.pct),
        offset_bytes: begin.bytes,
        trim: (begin.pct > 0.0 || width.is_some()).then_some(trim),
        ..whole
    }
}
