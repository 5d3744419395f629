//! What the kernel says of a file, device or file system: sizes, alignments, extents. Changes nothing, except that
//! [`extents`] writes back dirty pages first.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::stat;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatFs, Statx, StatxFlags};
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};

/// `_IOR(0x12, 114, size_t)`, linux/fs.h.
const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);
/// `_IO(0x12, 94)`, linux/fs.h; fills in an int.
const BLKROGET: Opcode = opcode::none(0x12, 94);
/// `_IOWR('f', 11, struct fiemap)`, linux/fs.h; the size counts the header only.
const FS_IOC_FIEMAP: Opcode = opcode::read_write::<FiemapHeader>(b'f', 11);

const FIEMAP_FLAG_SYNC: u32 = 0x1;
const FIEMAP_EXTENT_LAST: u32 = 0x1;
const FIEMAP_EXTENT_UNKNOWN: u32 = 0x2;
const FIEMAP_EXTENT_DATA_INLINE: u32 = 0x200;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;
const FIEMAP_BATCH: usize = 256;

/// linux/stat.h; since Linux 6.11.
const STATX_WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x1_0000);

/// Lengths of writes that are stored as a whole, bytes: powers of two from `min` to `max`, at multiples of themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeWrites {
    pub min: u32,
    pub max: u32,
}

/// What direct I/O asks of memory addresses and of file offsets and lengths, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    pub memory: u32,
    pub offset: u32,
}

/// The file system that holds a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// The magic number of `statfs(2)`.
    pub kind: u64,
    /// As in the mount table, else by the magic number, else the number in hexadecimal.
    pub name: String,
    /// Bytes that an ordinary user may still write.
    pub free_bytes: u64,
    pub total_bytes: u64,
    /// The data live in memory (tmpfs, ramfs, hugetlbfs): direct I/O means nothing there.
    pub ram_backed: bool,
}

/// How much of a file has places on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    pub count: u64,
    /// Bytes with a place on the device, unwritten ones included; may go beyond the end of the file.
    pub mapped_bytes: u64,
    /// The part of `mapped_bytes` that was allocated and never written: reads of it do not reach the device.
    pub unwritten_bytes: u64,
    /// The part of `mapped_bytes` that other files share (reflinks): the first write pays for a copy.
    pub shared_bytes: u64,
    /// Device address of the first extent that has one, bytes.
    pub first_physical: Option<u64>,
}

/// How much of the beginning of a file was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Extents that reach into it.
    pub extents: u64,
    /// Without a place on the device.
    pub hole_bytes: u64,
    /// Allocated and never written.
    pub unwritten_bytes: u64,
    /// The first byte that is a hole or was never written; none when all was written.
    pub first_missing: Option<u64>,
}

/// Size of a block device, bytes (BLKGETSIZE64).
///
/// # Errors
/// ENOTTY when it is no block device.
pub fn device_bytes(file: &File) -> io::Result<u64> {
    // The ioctl numbers of block devices mean other things to other drivers.
    require_block_device(file)?;
    // SAFETY: for block devices BLKGETSIZE64 writes one u64 to its argument, which `Getter` owns.
    Ok(unsafe { ioctl(file, Getter::<BLKGETSIZE64, u64>::new()) }?)
}

/// Whether a block device is set read-only (BLKROGET).
///
/// # Errors
/// ENOTTY when it is no block device.
pub fn is_read_only(file: &File) -> io::Result<bool> {
    require_block_device(file)?;
    // SAFETY: for block devices BLKROGET writes one int to its argument, which `Getter` owns.
    Ok(unsafe { ioctl(file, Getter::<BLKROGET, i32>::new()) }? != 0)
}

/// The smallest unit a block device addresses, bytes (BLKSSZGET).
///
/// # Errors
/// ENOTTY when it is no block device.
pub fn logical_block_bytes(file: &File) -> io::Result<u32> {
    require_block_device(file)?;
    Ok(rustix::fs::ioctl_blksszget(file)?)
}

/// The smallest unit a block device writes without reading first, bytes (BLKPBSZGET).
///
/// # Errors
/// ENOTTY when it is no block device.
pub fn physical_block_bytes(file: &File) -> io::Result<u32> {
    require_block_device(file)?;
    Ok(rustix::fs::ioctl_blkpbszget(file)?)
}

/// What direct I/O on `path` asks for; nothing when it is not supported there or the path cannot be looked at.
///
/// From `statx(2)` (STATX_DIOALIGN, Linux 6.1) where the file system tells; else the logical block size of the device
/// underneath; else, where an open with O_DIRECT succeeds (NFS), the page size.
#[must_use]
pub fn direct_io_alignment(path: &Path) -> Option<DirectAlignment> {
    let facts = statx(path, StatxFlags::BASIC_STATS | StatxFlags::DIOALIGN).ok()?;
    if facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0 {
        let alignment = DirectAlignment {
            memory: facts.stx_dio_mem_align,
            offset: facts.stx_dio_offset_align,
        };
        return (alignment.memory > 0 && alignment.offset > 0).then_some(alignment);
    }
    // A kernel or file system that does not tell: opening is the only question left.
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let block_bytes =
        logical_block_bytes_of_device(&facts).unwrap_or(rustix::param::page_size() as u32);
    Some(DirectAlignment {
        memory: block_bytes,
        offset: block_bytes,
    })
}

/// Which writes an open file can store as a whole or not at all; nothing where it tells of none.
///
/// From `statx(2)`: STATX_WRITE_ATOMIC, Linux 6.11.
///
/// # Errors
/// What `statx(2)` says.
pub fn whole_writes(file: &File) -> io::Result<Option<WholeWrites>> {
    let facts = stat::statx(file, c"", AtFlags::EMPTY_PATH, STATX_WRITE_ATOMIC)?;
    let limits = WholeWrites {
        min: facts.stx_atomic_write_unit_min,
        max: facts.stx_atomic_write_unit_max,
    };
    let tells = facts.stx_mask & STATX_WRITE_ATOMIC.bits() != 0;
    Ok((tells && limits.max > 0).then_some(limits))
}

/// The file system under `path`, which must exist: a file or a directory.
///
/// # Errors
/// `InvalidInput` for a device (its node's file system says nothing of it); what `statfs(2)` says otherwise.
pub fn file_system(path: &Path) -> io::Result<FileSystem> {
    let facts = statx(path, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
    require_stored(&facts)?;
    let sizes = rustix::fs::statfs(path)?;
    let (kind, known) = known_file_system(&sizes);
    let mounted = (facts.stx_mask & StatxFlags::MNT_ID.bits() != 0)
        .then(|| {
            mounted_type(
                &fs::read_to_string("/proc/self/mountinfo").ok()?,
                facts.stx_mnt_id,
            )
        })
        .flatten();
    let name = mounted
        .or(known.map(|known| known.1.to_owned()))
        .unwrap_or_else(|| format!("{kind:#x}"));
    let unit_bytes = sizes.f_frsize as u64;
    Ok(FileSystem {
        kind,
        name,
        free_bytes: sizes.f_bavail.saturating_mul(unit_bytes),
        total_bytes: sizes.f_blocks.saturating_mul(unit_bytes),
        ram_backed: known.is_some_and(|known| known.2),
    })
}

/// Whether the data below `path` live in memory, as [`FileSystem::ram_backed`] says, without a look at the mount table.
///
/// # Errors
/// As [`file_system`].
pub fn is_ram_backed(path: &Path) -> io::Result<bool> {
    require_stored(&statx(path, StatxFlags::TYPE)?)?;
    let (_, known) = known_file_system(&rustix::fs::statfs(path)?);
    Ok(known.is_some_and(|known| known.2))
}

fn require_stored(facts: &Statx) -> io::Result<()> {
    let file_type = FileType::from_raw_mode(u32::from(facts.stx_mode));
    if matches!(file_type, FileType::RegularFile | FileType::Directory) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "neither a file nor a directory",
    ))
}

/// Whether the time of the last change of an open file is evidence. File systems of programs (FUSE) may make one up each
/// time that they are asked; where nobody tells, it is none either.
#[must_use]
pub fn keeps_times(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|sizes| u64::from(sizes.f_type as u32) != FUSE_MAGIC)
}

/// What an ordinary user may still write on the file system of an open file, bytes; of one that tells no size, the most
/// there can be.
///
/// # Errors
/// What `fstatvfs(3)` says.
pub fn free_bytes(file: &File) -> io::Result<u64> {
    let sizes = rustix::fs::fstatvfs(file)?;
    if sizes.f_blocks == 0 {
        return Ok(u64::MAX);
    }
    Ok(sizes.f_bavail.saturating_mul(sizes.f_frsize))
}

/// File systems in user space, virtiofs among them.
const FUSE_MAGIC: u64 = 0x6573_5546;

/// The magic number of a file system, and its line in the table, if it has one.
fn known_file_system(sizes: &StatFs) -> (u64, Option<&'static (u64, &'static str, bool)>) {
    // Magic numbers have 32 bits; the field is signed and wider on some machines.
    let kind = u64::from(sizes.f_type as u32);
    let known = KNOWN_FILE_SYSTEMS.iter().find(|known| known.0 == kind);
    (kind, known)
}

/// Walks the extent map (FIEMAP). Dirty pages are written back first, since data without a place yet would be missed.
///
/// # Errors
/// EOPNOTSUPP or ENOTTY where the file system has no extent map (tmpfs, most network file systems).
pub fn extents(file: &File) -> io::Result<Extents> {
    let mut sum = Extents::default();
    walk_extents(file, |extent| sum.add(extent))?;
    Ok(sum)
}

/// How much of the first `end` bytes of a file was written, by the extent map (FIEMAP), after dirty pages were written
/// back.
///
/// # Errors
/// As [`extents`].
pub fn coverage(file: &File, end: u64) -> io::Result<Coverage> {
    let mut coverage = Coverage::default();
    let mut reached = 0;
    walk_extents(file, |extent| coverage.add(extent, &mut reached, end))?;
    if reached < end {
        coverage.miss(reached, end - reached, false);
    }
    Ok(coverage)
}

/// Where the first hole of a file begins, by `lseek(2)` with SEEK_HOLE; `None` when there is none before its end. File
/// systems that do not look answer so, too.
///
/// # Errors
/// What `lseek(2)` says.
pub fn first_hole(file: &File) -> io::Result<Option<u64>> {
    let end = file.metadata()?.len();
    if end == 0 {
        return Ok(None);
    }
    let hole = rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(0))?;
    Ok((hole < end).then_some(hole))
}

fn walk_extents(file: &File, mut each: impl FnMut(&FiemapExtent)) -> io::Result<()> {
    let mut request = Box::new(FiemapRequest::new());
    let mut start = 0;
    loop {
        request.header = FiemapHeader {
            start,
            length: u64::MAX - start,
            flags: FIEMAP_FLAG_SYNC,
            mapped_extents: 0,
            extent_count: FIEMAP_BATCH as u32,
            reserved: 0,
        };
        // SAFETY: FIEMAP reads the header and writes it and at most `extent_count` extents behind it, all of which
        // lie in `request`, which is borrowed for the call.
        unsafe {
            ioctl(
                file,
                Updater::<FS_IOC_FIEMAP, FiemapRequest>::new(&mut request),
            )
        }?;
        let found = &request.extents[..(request.header.mapped_extents as usize).min(FIEMAP_BATCH)];
        found.iter().for_each(&mut each);
        let Some(last) = found
            .last()
            .filter(|last| last.flags & FIEMAP_EXTENT_LAST == 0)
        else {
            return Ok(());
        };
        start = last.logical.saturating_add(last.length);
    }
}

impl Coverage {
    fn add(&mut self, extent: &FiemapExtent, reached: &mut u64, end: u64) {
        let begin = extent.logical.min(end);
        let behind = extent.logical.saturating_add(extent.length).min(end);
        if begin > *reached {
            self.miss(*reached, begin - *reached, false);
        }
        if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 && behind > begin {
            self.miss(begin, behind - begin, true);
        }
        self.extents += u64::from(behind > begin);
        *reached = (*reached).max(behind);
    }

    fn miss(&mut self, at: u64, bytes: u64, is_allocated: bool) {
        self.first_missing.get_or_insert(at);
        if is_allocated {
            self.unwritten_bytes += bytes;
        } else {
            self.hole_bytes += bytes;
        }
    }
}

impl Extents {
    fn add(&mut self, extent: &FiemapExtent) {
        self.count += 1;
        self.mapped_bytes += extent.length;
        if extent.flags & FIEMAP_EXTENT_UNWRITTEN != 0 {
            self.unwritten_bytes += extent.length;
        }
        if extent.flags & FIEMAP_EXTENT_SHARED != 0 {
            self.shared_bytes += extent.length;
        }
        if extent.flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DATA_INLINE) == 0 {
            self.first_physical.get_or_insert(extent.physical);
        }
    }
}

/// `struct fiemap`, linux/fiemap.h, without its trailing array.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapHeader {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent`, linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct FiemapRequest {
    header: FiemapHeader,
    extents: [FiemapExtent; FIEMAP_BATCH],
}

const _: () = assert!(size_of::<FiemapHeader>() == 32 && size_of::<FiemapExtent>() == 56);

impl FiemapRequest {
    fn new() -> FiemapRequest {
        FiemapRequest {
            header: FiemapHeader::default(),
            extents: [FiemapExtent::default(); FIEMAP_BATCH],
        }
    }
}

/// Magic number (linux/magic.h and the file systems' own headers), name, and whether the data live in memory.
const KNOWN_FILE_SYSTEMS: &[(u64, &str, bool)] = &[
    (0x0102_1994, "tmpfs", true),
    (0x8584_58f6, "ramfs", true),
    (0x9584_58f6, "hugetlbfs", true),
    (0x0000_ef53, "ext", false),
    (0x5846_5342, "xfs", false),
    (0x9123_683e, "btrfs", false),
    (0xf2f5_2010, "f2fs", false),
    (0xca45_1a4e, "bcachefs", false),
    (0x2fc1_2fc1, "zfs", false),
    (0x794c_7630, "overlay", false),
    (0x6573_5546, "fuse", false),
    (0x0000_6969, "nfs", false),
    (0xff53_4d42, "cifs", false),
    (0xfe53_4d42, "smb2", false),
    (0x0102_1997, "9p", false),
    (0x00c3_6400, "ceph", false),
    (0x0bd0_0bd0, "lustre", false),
    (0x4750_4653, "gpfs", false),
    (0x0116_1970, "gfs2", false),
    (0x7461_636f, "ocfs2", false),
    (0x2011_bab0, "exfat", false),
    (0x0000_4d44, "vfat", false),
];

fn require_block_device(file: &File) -> io::Result<()> {
    let facts = rustix::fs::fstat(file)?;
    if FileType::from_raw_mode(facts.st_mode) == FileType::BlockDevice {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(libc::ENOTTY))
}

fn statx(path: &Path, mask: StatxFlags) -> io::Result<Statx> {
    let path = stat::name(path.as_os_str())?;
    stat::statx(CWD, &path, AtFlags::empty(), mask)
}

fn logical_block_bytes_of_device(facts: &Statx) -> Option<u32> {
    let (major, minor) = match FileType::from_raw_mode(u32::from(facts.stx_mode)) {
        FileType::BlockDevice => (facts.stx_rdev_major, facts.stx_rdev_minor),
        _ => (facts.stx_dev_major, facts.stx_dev_minor),
    };
    // A partition has no queue of its own; its directory lies inside its disk's.
    ["queue", "../queue"].iter().find_map(|queue| {
        let path = format!("/sys/dev/block/{major}:{minor}/{queue}/logical_block_size");
        fs::read_to_string(path).ok()?.trim().parse().ok()
    })
}

/// proc(5): the first word is the mount's number; the file system type follows the separator ` - `.
fn mounted_type(mountinfo: &str, mount_id: u64) -> Option<String> {
    let line = mountinfo
        .lines()
        .find(|line| line.split(' ').next().and_then(|word| word.parse().ok()) == Some(mount_id))?;
    line.split_once(" - ")?
        .1
        .split(' ')
        .next()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_table_is_read_by_number() {
        let table = "21 1 254:0 / / rw - ext4 /dev/root rw\n\
                     22 21 0:5 /a\\040-\\040b /dev rw shared:2 - devtmpfs none rw\n";
        assert_eq!(mounted_type(table, 22).as_deref(), Some("devtmpfs"));
        assert_eq!(mounted_type(table, 21).as_deref(), Some("ext4"));
        assert_eq!(mounted_type(table, 2), None);
    }

    #[test]
    fn coverage_finds_what_is_missing_up_to_the_end() {
        let extent = |logical, length, flags| FiemapExtent {
            logical,
            length,
            flags,
            ..FiemapExtent::default()
        };
        let cover = |extents: &[FiemapExtent], end| {
            let (mut coverage, mut reached) = (Coverage::default(), 0);
            for one in extents {
                coverage.add(one, &mut reached, end);
            }
            if reached < end {
                coverage.miss(reached, end - reached, false);
            }
            coverage
        };
        let whole = cover(&[extent(0, 100, 0), extent(100, 200, 0)], 250);
        assert_eq!((whole.extents, whole.first_missing), (2, None));
        let gap = cover(&[extent(0, 100, 0), extent(120, 200, 0)], 250);
        assert_eq!((gap.hole_bytes, gap.first_missing), (20, Some(100)));
        let unwritten = cover(&[extent(0, 300, FIEMAP_EXTENT_UNWRITTEN)], 250);
        assert_eq!(
            (unwritten.unwritten_bytes, unwritten.first_missing),
            (250, Some(0))
        );
        let short = cover(&[extent(0, 100, 0), extent(300, 10, 0)], 250);
        assert_eq!((short.hole_bytes, short.first_missing), (150, Some(100)));
        assert_eq!(cover(&[], 10).hole_bytes, 10);
    }

    #[test]
    fn extents_add_up_by_kind() {
        let extent = |physical, length, flags| FiemapExtent {
            physical,
            length,
            flags,
            ..FiemapExtent::default()
        };
        let mut sum = Extents::default();
        sum.add(&extent(0, 10, FIEMAP_EXTENT_DATA_INLINE));
        sum.add(&extent(4096, 100, FIEMAP_EXTENT_UNWRITTEN));
        sum.add(&extent(8192, 1000, FIEMAP_EXTENT_SHARED));
        let expected = Extents {
            count: 3,
            mapped_bytes: 1110,
            unwritten_bytes: 100,
            shared_bytes: 1000,
            first_physical: Some(4096),
        };
        assert_eq!(sum, expected);
    }
}
