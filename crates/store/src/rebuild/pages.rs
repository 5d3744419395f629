//! Rows of an SQLite file from its pages, one by one: whatever leads to a page may be lost, and each page that is left
//! still tells its rows (SQLite file format, sections 1.5 and 1.6). Believes nothing. Read [`Pages`].
use rusqlite::types::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;

const HEADER_BYTES: usize = 100;
const DEPTH_MAX: usize = 32;
/// No table of ours has as many.
const VALUES_MAX: usize = 64;
/// The page size of files that this program writes.
const OWN_PAGE_BYTES: usize = 4096;
/// Bytes on overflow pages that are read, for each byte of the file: chains may be shared in a file that is made for it.
const OVERFLOW_FACTOR: u64 = 4;

/// The pages of a file.
#[derive(Debug)]
pub(super) struct Pages {
    file: File,
    page_bytes: usize,
    usable_bytes: usize,
    pub(super) count: u32,
    /// First page of the list of free pages; zero for none.
    first_free: u32,
    overflow_budget: u64,
}

/// What stands on one page.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) kind: Option<Kind>,
    pub(super) rows: Vec<PageRow>,
    /// Pages below, in order.
    children: Vec<u32>,
    /// Whether something on it could not be read.
    pub(super) is_torn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    TableLeaf,
    TableInterior,
    IndexLeaf,
    IndexInterior,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PageRow {
    /// `None` where the first columns are the key.
    pub(super) rowid: Option<i64>,
    pub(super) values: Vec<Value>,
}

/// A tree of pages, as far as it could be walked.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) pages: BTreeSet<u32>,
    /// Nothing of it is lost.
    pub(super) is_whole: bool,
    /// Nothing is lost after the last row that was found.
    pub(super) has_end: bool,
}

impl Pages {
    pub(super) fn open(file: File) -> std::io::Result<Self> {
        let bytes = file.metadata()?.len();
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        let told = usize::from(u16::from_be_bytes([header[16], header[17]]));
        let told = if told == 1 { 65_536 } else { told };
        let page_bytes = match told.is_power_of_two() && (512..=65_536).contains(&told) {
            true => told,
            false => OWN_PAGE_BYTES,
        };
        let reserved = usize::from(header[20]);
        let usable_bytes = match page_bytes - reserved.min(page_bytes) {
            usable @ 480.. if told == page_bytes => usable,
            _ => page_bytes,
        };
        Ok(Self {
            file,
            page_bytes,
            usable_bytes,
            // A page of which a part is left would be taken for a whole one.
            count: u32::try_from(bytes / page_bytes as u64).unwrap_or(u32::MAX),
            first_free: number(&header, 32).unwrap_or(0),
            overflow_budget: bytes.saturating_mul(OVERFLOW_FACTOR),
        })
    }

    /// The bytes of a page; zeros where the file ends.
    fn bytes(&self, page: u32) -> Option<Vec<u8>> {
        if page == 0 || page > self.count {
            return None;
        }
        let mut bytes = vec![0; self.page_bytes];
        let start = u64::from(page - 1) * self.page_bytes as u64;
        let mut done = 0;
        while done < bytes.len() {
            match self.file.read_at(&mut bytes[done..], start + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                // A place that cannot be read is as lost as one that is cut off.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        bytes.truncate(self.usable_bytes);
        Some(bytes)
    }

    /// What stands on a page; nothing where it is not part of a tree.
    pub(super) fn page(&mut self, page: u32) -> Page {
        let Some(bytes) = self.bytes(page) else {
            return Page::default();
        };
        let start = if page == 1 { HEADER_BYTES } else { 0 };
        let kind = match bytes[start] {
            0x0d => Kind::TableLeaf,
            0x05 => Kind::TableInterior,
            0x0a => Kind::IndexLeaf,
            0x02 => Kind::IndexInterior,
            _ => return Page::default(),
        };
        self.cells(&bytes, start, kind).unwrap_or_default()
    }

    fn cells(&mut self, bytes: &[u8], start: usize, kind: Kind) -> Option<Page> {
        let is_interior = matches!(kind, Kind::TableInterior | Kind::IndexInterior);
        let first = start + if is_interior { 12 } else { 8 };
        let count = usize::from(u16::from_be_bytes([bytes[start + 3], bytes[start + 4]]));
        let places = bytes.get(first..first + 2 * count)?;
        let mut page = Page {
            kind: Some(kind),
            ..Page::default()
        };
        let mut seen = BTreeSet::new();
        for place in places.chunks_exact(2) {
            let at = usize::from(u16::from_be_bytes([place[0], place[1]]));
            let is_new = at >= first + places.len() && seen.insert(at);
            let read = is_new.then(|| self.cell(bytes, at, kind, &mut page));
            page.is_torn |= read.flatten().is_none();
        }
        if is_interior {
            page.children.push(number(bytes, start + 8)?);
        }
        Some(page)
    }

    fn cell(&mut self, bytes: &[u8], mut at: usize, kind: Kind, page: &mut Page) -> Option<()> {
        if matches!(kind, Kind::TableInterior | Kind::IndexInterior) {
            page.children.push(number(bytes, at)?);
            at += 4;
        }
        if kind == Kind::TableInterior {
            return Some(());
        }
        let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
        let rowid = match kind {
            Kind::TableLeaf => Some(varint(bytes, &mut at)?.cast_signed()),
            _ => None,
        };
        let payload = self.payload(bytes, at, length, rowid.is_some())?;
        page.rows.push(PageRow {
            rowid,
            values: record(&payload)?,
        });
        Some(())
    }

    /// The payload of a cell with all that stands on overflow pages.
    fn payload(
        &mut self,
        bytes: &[u8],
        at: usize,
        length: usize,
        of_table: bool,
    ) -> Option<Vec<u8>> {
        let usable = self.usable_bytes;
        let most = match of_table {
            true => usable - 35,
            false => (usable - 12) * 64 / 255 - 23,
        };
        if length <= most {
            return bytes.get(at..at + length).map(<[u8]>::to_vec);
        }
        if length as u64 > self.overflow_budget {
            return None;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let local = least + (length - least) % (usable - 4);
        let local = if local <= most { local } else { least };
        let mut payload = bytes.get(at..at + local)?.to_vec();
        let mut next = number(bytes, at + local)?;
        while payload.len() < length {
            self.overflow_budget = self.overflow_budget.checked_sub(usable as u64)?;
            let more = self.bytes(next)?;
            let wanted = (length - payload.len()).min(usable - 4);
            payload.extend(&more[4..4 + wanted]);
            next = number(&more, 0)?;
        }
        Some(payload)
    }

    /// Walks the tree below a page.
    pub(super) fn tree(&mut self, root: u32) -> Tree {
        let mut tree = Tree {
            is_whole: true,
            has_end: true,
            ..Tree::default()
        };
        self.walk(root, 0, true, &mut tree);
        tree
    }

    fn walk(&mut self, number: u32, depth: usize, is_last: bool, tree: &mut Tree) {
        let page = match depth < DEPTH_MAX && tree.pages.insert(number) {
            true => self.page(number),
            false => Page::default(),
        };
        // No tree has empty leaves, and an empty table may be one in whose place another page stands.
        let is_empty = page.rows.is_empty() && page.children.is_empty();
        let is_good = page.kind.is_some() && !page.is_torn && !is_empty;
        tree.is_whole &= is_good;
        tree.has_end &= is_good || !is_last;
        let last = page.children.len().saturating_sub(1);
        for (place, child) in page.children.iter().enumerate() {
            self.walk(*child, depth + 1, is_last && place == last, tree);
        }
    }

    /// The first pages of tables and indexes by name, as far as the list of them is left.
    pub(super) fn roots(&mut self) -> BTreeMap<String, u32> {
        let mut roots = BTreeMap::new();
        for page in self.tree(1).pages {
            for row in self.page(page).rows {
                let [
                    Value::Text(kind),
                    Value::Text(name),
                    _,
                    Value::Integer(root),
                    ..,
                ] = &row.values[..]
                else {
                    continue;
                };
                if let (true, Ok(root)) = (kind == "table" || kind == "index", u32::try_from(*root))
                {
                    roots.insert(name.clone(), root);
                }
            }
        }
        roots
    }

    /// Pages that hold nothing any more, as far as their list is left.
    pub(super) fn free(&self) -> BTreeSet<u32> {
        let (mut free, mut next) = (BTreeSet::new(), self.first_free);
        while next != 0 && free.insert(next) {
            let Some(bytes) = self.bytes(next) else { break };
            let count = number(&bytes, 4).unwrap_or(0) as usize;
            let leaves = (0..count).map_while(|place| number(&bytes, 8 + 4 * place));
            free.extend(leaves);
            next = number(&bytes, 0).unwrap_or(0);
        }
        free
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0_u64;
    for place in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if place == 8 {
            return Some(value << 8 | u64::from(byte));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

/// The values of a record.
fn record(payload: &[u8]) -> Option<Vec<Value>> {
    let mut at = 0;
    let header_bytes = usize::try_from(varint(payload, &mut at)?).ok()?;
    let header = payload.get(..header_bytes)?;
    let (mut body, mut values) = (header_bytes, Vec::new());
    while at < header_bytes {
        let kind = varint(header, &mut at)?;
        values.push(value(payload, &mut body, kind)?);
        if values.len() > VALUES_MAX {
            return None;
        }
    }
    Some(values)
}

fn value(payload: &[u8], body: &mut usize, kind: u64) -> Option<Value> {
    let mut take = |length: usize| {
        let taken = payload.get(*body..body.checked_add(length)?)?;
        *body += length;
        Some(taken)
    };
    let whole = |bytes: &[u8]| {
        let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1_i64 };
        bytes
            .iter()
            .fold(sign, |value, byte| value << 8 | i64::from(*byte))
    };
    Some(match kind {
        0 => Value::Null,
        1..=4 => Value::Integer(whole(take(kind as usize)?)),
        5 => Value::Integer(whole(take(6)?)),
        6 => Value::Integer(whole(take(8)?)),
        7 => Value::Real(f64::from_be_bytes(take(8)?.try_into().ok()?)),
        8 | 9 => Value::Integer(i64::from(kind == 9)),
        10 | 11 => return None,
        _ => {
            let bytes = take(usize::try_from((kind - 12) / 2).ok()?)?;
            match kind % 2 {
                0 => Value::Blob(bytes.to_vec()),
                _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
            }
        }
    })
}
