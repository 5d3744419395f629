//! Signatures of what a device or file may hold, each by its documented magic and place, and the search for them.
//!
//! A magic of four bytes or more counts by itself. A shorter one counts only with further fields in their documented
//! ranges, so that random data do not raise an alarm; what looks like neither is caught as data of unknown kind.

mod checks;
mod table;

use super::content::Content;

pub(crate) use table::SIGNATURES;

/// What a signature stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    PartitionTable,
    FileSystem,
    Volume,
    Raid,
    Encryption,
    Swap,
    Storage,
    DiskImage,
    Data,
}

/// A documented mark of some format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub family: Family,
    pub name: &'static str,
    pub magic: &'static [u8],
    pub places: &'static [Place],
    pub fields: &'static [Field],
    pub check: Option<Check>,
}

/// What a magic and fields cannot say: content, and where the magic was found.
pub(crate) type Check = fn(&Content<'_>, u64) -> bool;

/// Where a magic stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Bytes from the beginning.
    At(u64),
    /// Bytes before the end.
    End(u64),
    /// Bytes before the end rounded down to a multiple of `unit`.
    EndOf { unit: u64, before: u64 },
    /// `count` places from `first` on.
    Each { first: u64, step: u64, count: u64 },
}

/// A number beside a magic that must lie in a range, ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bytes from the start of the magic.
    pub from_magic: i64,
    pub form: Form,
    pub low: u32,
    pub high: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Byte,
    Little16,
    Big16,
    Little32,
    Big32,
}

/// A signature that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub family: Family,
    pub name: &'static str,
    /// Of the magic.
    pub offset: u64,
}

/// Every signature in `content`, each name once, at its first place.
pub(crate) fn search(content: &Content<'_>) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    for signature in SIGNATURES {
        if hits.iter().any(|hit| hit.name == signature.name) {
            continue;
        }
        if let Some(offset) = signature.find(content) {
            hits.push(Hit {
                family: signature.family,
                name: signature.name,
                offset,
            });
        }
    }
    hits.sort_by_key(|hit| (hit.family, hit.offset));
    hits
}

impl Signature {
    fn find(&self, content: &Content<'_>) -> Option<u64> {
        self.places
            .iter()
            .flat_map(|place| place.offsets(content.bytes()))
            .find(|offset| self.is_at(content, *offset))
    }

    fn is_at(&self, content: &Content<'_>, offset: u64) -> bool {
        content
            .get(offset, self.magic.len())
            .is_some_and(|found| *found == *self.magic)
            && self
                .fields
                .iter()
                .all(|field| field.is_satisfied(content, offset))
            && self.check.is_none_or(|check| check(content, offset))
    }
}

impl Place {
    /// The places in content of this size.
    pub(crate) fn offsets(self, bytes: u64) -> impl Iterator<Item = u64> {
        let (first, step, count) = match self {
            Place::At(offset) => (Some(offset), 1, 1),
            Place::End(before) => (bytes.checked_sub(before), 1, 1),
            Place::EndOf { unit, before } => ((bytes / unit * unit).checked_sub(before), 1, 1),
            Place::Each { first, step, count } => (Some(first), step, count),
        };
        first
            .into_iter()
            .flat_map(move |first| (0..count).map(move |index| first + index * step))
    }
}

impl Field {
    fn is_satisfied(&self, content: &Content<'_>, magic_at: u64) -> bool {
        let value = magic_at
            .checked_add_signed(self.from_magic)
            .and_then(|offset| {
                let bytes = content.get(offset, self.form.len())?;
                Some(self.form.value(&bytes))
            });
        value.is_some_and(|value| (self.low..=self.high).contains(&value))
    }
}

impl Form {
    pub(crate) fn len(self) -> usize {
        match self {
            Form::Byte => 1,
            Form::Little16 | Form::Big16 => 2,
            Form::Little32 | Form::Big32 => 4,
        }
    }

    fn value(self, bytes: &[u8]) -> u32 {
        let fold = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
        match self {
            Form::Byte | Form::Big16 | Form::Big32 => bytes.iter().fold(0, fold),
            Form::Little16 | Form::Little32 => bytes.iter().rev().fold(0, fold),
        }
    }
}

impl Family {
    /// For messages.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Family::PartitionTable => "partition table",
            Family::FileSystem => "file system",
            Family::Volume => "volume",
            Family::Raid => "RAID member",
            Family::Encryption => "encrypted volume",
            Family::Swap => "swap",
            Family::Storage => "storage software",
            Family::DiskImage => "disk image",
            Family::Data => "data",
        }
    }
}
