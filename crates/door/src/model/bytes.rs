//! What a file of a model holds: pages that were written, and holes.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

const PAGE: usize = 4096;

type Page = Box<[u8; PAGE]>;

/// Bytes with holes, which read as zeros.
#[derive(Clone, Default)]
pub struct Bytes {
    length: u64,
    pages: BTreeMap<u64, Page>,
}

impl Bytes {
    #[must_use]
    pub fn blank(length: u64) -> Self {
        Self {
            length,
            pages: BTreeMap::new(),
        }
    }

    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether all of it is zero.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        let mut bytes = self.pages.values().flat_map(|page| page.iter());
        bytes.all(|byte| *byte == 0)
    }

    /// Reads up to the end; how much.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let left = self.length.saturating_sub(offset);
        let bytes = left.min(buffer.len() as u64) as usize;
        for (at, part) in parts(offset, bytes) {
            let to = &mut buffer[part];
            match self.pages.get(&(at / PAGE as u64)) {
                Some(page) => {
                    let begin = (at % PAGE as u64) as usize;
                    to.copy_from_slice(&page[begin..begin + to.len()]);
                }
                None => to.fill(0),
            }
        }
        bytes
    }

    /// Writes, and grows where it has to.
    pub fn write(&mut self, data: &[u8], offset: u64) {
        for (at, part) in parts(offset, data.len()) {
            let page = self.pages.entry(at / PAGE as u64);
            let page = page.or_insert_with(|| Box::new([0; PAGE]));
            let begin = (at % PAGE as u64) as usize;
            page[begin..begin + part.len()].copy_from_slice(&data[part]);
        }
        self.length = self.length.max(offset + data.len() as u64);
    }

    /// Makes a hole; the length stays.
    pub fn discard(&mut self, offset: u64, bytes: u64) {
        let end = offset.saturating_add(bytes);
        self.pages.retain(|number, page| {
            let low = number * PAGE as u64;
            let from = offset.clamp(low, low + PAGE as u64) - low;
            let to = end.clamp(low, low + PAGE as u64) - low;
            page[from as usize..to as usize].fill(0);
            to - from < PAGE as u64
        });
    }

    /// Cuts, or grows by a hole.
    pub fn set_length(&mut self, length: u64) {
        self.discard(length, u64::MAX);
        self.length = length;
    }
}

impl From<&[u8]> for Bytes {
    fn from(data: &[u8]) -> Self {
        let mut bytes = Self::default();
        bytes.write(data, 0);
        bytes
    }
}

impl fmt::Debug for Bytes {
    /// The beginning of each page that holds something.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.length)?;
        for (number, page) in &self.pages {
            let begin = String::from_utf8_lossy(&page[..16]);
            write!(f, ", {:?} at {}", begin, number * PAGE as u64)?;
        }
        Ok(())
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        let hole = [0; PAGE];
        let page = |of: &Self, number| *of.pages.get(&number).map_or(&hole, |page| page) == hole;
        let numbers: BTreeSet<u64> = self
            .pages
            .keys()
            .chain(other.pages.keys())
            .copied()
            .collect();
        let is_same = |number: &u64| match (self.pages.get(number), other.pages.get(number)) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => page(self, *number) && page(other, *number),
        };
        self.length == other.length && numbers.iter().all(is_same)
    }
}

/// A range, page by page: where each part begins, and its place in the whole.
fn parts(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let room = PAGE - (at % PAGE as u64) as usize;
        let part = done..(done + room).min(bytes);
        done = part.end;
        (!part.is_empty()).then_some((at, part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &Bytes) -> Vec<u8> {
        let mut all = vec![1; bytes.length() as usize];
        assert_eq!(bytes.read(&mut all, 0), all.len());
        all
    }

    #[test]
    fn bytes_are_as_a_plain_array_has_them() {
        let mut bytes = Bytes::default();
        let mut plain: Vec<u8> = Vec::new();
        let mut state = 7_u64;
        for step in 0..2_000_u64 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(step);
            let (offset, length) = ((state >> 33) % 20_000, (state >> 20) % 9_000);
            let (from, to) = (offset as usize, (offset + length) as usize);
            match state >> 62 {
                0 => {
                    bytes.set_length(offset);
                    plain.resize(from, 0);
                }
                1 => {
                    bytes.discard(offset, length);
                    let end = plain.len();
                    plain[from.min(end)..to.min(end)].fill(0);
                }
                _ if length > 0 => {
                    bytes.write(&vec![step as u8; length as usize], offset);
                    plain.resize(plain.len().max(to), 0);
                    plain[from..to].fill(step as u8);
                }
                _ => {}
            }
            assert_eq!(bytes.length(), plain.len() as u64);
            assert_eq!(all(&bytes), plain, "step {step}");
        }
    }

    #[test]
    fn a_hole_is_as_good_as_zeros() {
        let mut zeros = Bytes::from(&[0; 5_000][..]);
        assert!(zeros == Bytes::blank(5_000) && zeros.is_blank());
        zeros.write(b"x", 4_999);
        assert!(zeros != Bytes::blank(5_000) && !zeros.is_blank());
        assert!(Bytes::blank(1) != Bytes::blank(2));
    }
}
