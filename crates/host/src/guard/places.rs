//! Where file systems stand when the table of partitions that told so is gone: the usual starts of partitions, and the
//! places of backup superblocks counted from these.

use super::content::{BLOCK_BYTES, Content, DataMap};
use super::signatures::{self, Family, Hit};

const MIB: u64 = 1 << 20;
/// Where partitions began while disks had cylinders.
const OLD_START: u64 = 63 * 512;
/// Each MiB up to this one.
const DENSE_MIB: u64 = 64;
/// What installers leave in front of a second or third partition, MiB.
const USUAL_MIB: &[u64] = &[
    100, 101, 117, 201, 250, 251, 300, 301, 351, 500, 501, 551, 600, 601, 1537, 1625, 1626, 3073,
];
/// What superblocks and most other signatures stand in, counted from a start.
const START_PIECES: &[(u64, u64)] = &[(0, 8192), (65_536, 4096)];

const EXT_MAGIC: &[u8] = b"\x53\xef";
const EXT_MAGIC_AT: usize = 56;
const EXT_REVISION_AT: usize = 76;
const EXT_GROUP_AT: usize = 90;
/// Groups that keep a copy: one, and powers of 3, 5 and 7.
const EXT_GROUPS: &[u16] = &[1, 3, 5, 7, 9, 25, 27];
const EXT_BLOCK_BYTES: &[u64] = &[1024, 2048, 4096];

const XFS_MAGIC: &[u8] = b"XFSB";
const XFS_BLOCK_BYTES: u64 = 4096;
/// What small file systems are cut into, and how large a part can be.
const XFS_PARTS: u64 = 4;
const XFS_PART_BYTES_MAX: u64 = 1 << 40;
/// Sectors of the second copy of a partition table, behind the last partition.
const TABLE_BYTES: u64 = 33 * 512;

const BTRFS_MAGIC: &[u8] = b"_BHRfS_M";
const BTRFS_MAGIC_AT: usize = 64;
const BTRFS_MIRRORS: &[u64] = &[64 * MIB, 256 << 30];

/// A place where a backup superblock may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Probe {
    pub offset: u64,
    of: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Ext { group: u16 },
    Xfs,
    Btrfs,
}

/// Everything that has a signature at a usual start of a partition, each name at its first place.
pub(crate) fn search_starts(content: &Content<'_>) -> Vec<Hit> {
    let mut hits: Vec<Hit> = Vec::new();
    let is_hole = |start: u64| {
        let pieces = || {
            START_PIECES
                .iter()
                .map(|(at, len)| (start + at, start + at + len))
        };
        let is_empty =
            |map: &DataMap| pieces().all(|(low, end)| map.within(low, end).areas.is_empty());
        content.told().is_some_and(is_empty)
    };
    for start in starts(content.bytes()) {
        if is_hole(start) {
            continue;
        }
        let window = content.pieces(start, START_PIECES);
        if window.is_kept_blank() {
            continue;
        }
        for hit in signatures::search(&window) {
            if !hits.iter().any(|known| known.name == hit.name) {
                hits.push(Hit {
                    offset: start + hit.offset,
                    ..hit
                });
            }
        }
    }
    hits
}

/// The usual starts of partitions but the beginning, in ascending order.
fn starts(bytes: u64) -> Vec<u64> {
    let dense = (1..=DENSE_MIB).map(|mib| mib * MIB);
    let powers = powers(bytes).flat_map(|power| [power, power + MIB]);
    let usual = USUAL_MIB.iter().map(|mib| mib * MIB);
    let all = dense.chain(powers).chain(usual).chain([OLD_START]);
    sorted(all.filter(|start| *start < bytes).collect())
}

/// The blocks in which anything of that stands.
pub(crate) fn blocks(bytes: u64) -> Vec<u64> {
    let block = |at: u64| at / BLOCK_BYTES * BLOCK_BYTES;
    let of_start = |start: u64| {
        let pieces = START_PIECES.iter();
        let ends = pieces.map(move |(at, len)| (block(start + at), start + at + len));
        ends.flat_map(|(low, end)| (low..end).step_by(BLOCK_BYTES as usize))
    };
    let starts = starts(bytes).into_iter().flat_map(of_start);
    let probes = probes(bytes).into_iter().map(|probe| block(probe.offset));
    sorted(starts.chain(probes).filter(|at| *at < bytes).collect())
}

/// Powers of two MiB.
fn powers(bytes: u64) -> impl Iterator<Item = u64> {
    (0..44)
        .map(|power| MIB << power)
        .filter(move |at| *at < bytes)
}

/// Every place of a backup superblock, in ascending order.
pub(crate) fn probes(bytes: u64) -> Vec<Probe> {
    let mut all = Vec::new();
    for start in [0, OLD_START].into_iter().chain(powers(bytes)) {
        for block in EXT_BLOCK_BYTES {
            // Where a block is no longer than the boot sector and superblock before it, blocks count from the second.
            let first = if *block == 1024 { 1024 } else { 0 };
            all.extend(EXT_GROUPS.iter().map(|group| Probe {
                offset: start + first + u64::from(*group) * 8 * block * block,
                of: Kind::Ext { group: *group },
            }));
        }
        all.extend(xfs_parts(start, bytes).map(|offset| Probe {
            offset,
            of: Kind::Xfs,
        }));
        all.extend(BTRFS_MIRRORS.iter().map(|mirror| Probe {
            offset: start + mirror,
            of: Kind::Btrfs,
        }));
    }
    all.retain(|probe| probe.offset < bytes);
    sorted(all)
}

/// Where parts begin of a file system from `start` to the usual ends of a last partition.
fn xfs_parts(start: u64, bytes: u64) -> impl Iterator<Item = u64> {
    let before_table = bytes.saturating_sub(TABLE_BYTES);
    let ends = [bytes, before_table, before_table / MIB * MIB];
    let parts = ends.into_iter().map(move |end| {
        let blocks = end.saturating_sub(start) / XFS_BLOCK_BYTES;
        blocks.div_ceil(XFS_PARTS) * XFS_BLOCK_BYTES
    });
    let parts = parts.map(|part| part.min(XFS_PART_BYTES_MAX));
    parts.flat_map(move |part| (1..XFS_PARTS).map(move |number| start + number * part))
}

fn sorted<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}

impl Probe {
    /// What stands there, if that is a superblock.
    pub(crate) fn search(&self, content: &Content<'_>) -> Option<Hit> {
        let head = content.get(self.offset, 128)?;
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
        let (name, magic_at) = match self.of {
            Kind::Ext { group } => {
                let is_one = head[EXT_MAGIC_AT..].starts_with(EXT_MAGIC)
                    && number(EXT_REVISION_AT) <= 1
                    && head[EXT_GROUP_AT..].starts_with(&group.to_le_bytes());
                let name = "ext2, ext3 or ext4 file system";
                is_one.then_some((name, EXT_MAGIC_AT))?
            }
            Kind::Xfs => head
                .starts_with(XFS_MAGIC)
                .then_some(("XFS file system", 0))?,
            Kind::Btrfs => head[BTRFS_MAGIC_AT..]
                .starts_with(BTRFS_MAGIC)
                .then_some(("btrfs file system", BTRFS_MAGIC_AT))?,
        };
        Some(Hit {
            family: Family::FileSystem,
            name,
            offset: self.offset + magic_at as u64,
        })
    }
}
