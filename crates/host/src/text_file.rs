//! Files that a user names to be read whole: regular files and pipes, up to a stated size, and within a limit of time.
//!
//! A name that was mistyped may be a device without an end or a pipe that nobody writes to; neither may fill the
//! memory nor wait for ever. Knows nothing of what is in the files. Read [`read_whole`] first.
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a pipe may take to deliver everything.
const PIPE_PATIENCE: Duration = Duration::from_millis(1500);

/// Major and minor number of `/dev/null`, which is an empty file by agreement.
const NULL_DEVICE: (u32, u32) = (1, 3);

/// What [`Unreadable::Kind`] holds of a block device.
pub const BLOCK_DEVICE: &str = "a block device";

/// Why a file was not read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unreadable {
    Missing,
    Denied,
    /// What it is, where that is neither a regular file nor a pipe.
    Kind(&'static str),
    /// It holds more than may be read.
    TooLarge {
        bytes_max: u64,
    },
    /// A pipe that did not end in time.
    Silent,
    Other(io::Error),
}

/// Reads a file whole.
///
/// # Errors
/// [`Unreadable`], within two seconds whatever the path is.
pub fn read_whole(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Unreadable> {
    if is_standard_input(path) {
        return read_standard_input(bytes_max);
    }
    // Opening a device can already change its state.
    let found = std::fs::metadata(path).map_err(Unreadable::of)?;
    check_kind(&found)?;
    // A pipe without a writer would keep an opener waiting.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty());
    let file = File::from(file.map_err(|errno| Unreadable::of(errno.into()))?);
    let found = file.metadata().map_err(Unreadable::of)?;
    check_kind(&found)?;
    if found.is_file() && found.len() > bytes_max {
        return Err(Unreadable::TooLarge { bytes_max });
    }
    read_to_end(&file, found.file_type(), bytes_max)
}

/// Reads the first bytes of a file, as [`read_whole`] would.
///
/// # Errors
/// [`Unreadable`], within two seconds whatever the path is. A pipe is refused: what was read would be gone.
pub fn read_head(path: &Path, bytes: usize) -> Result<Vec<u8>, Unreadable> {
    let found = std::fs::metadata(path).map_err(Unreadable::of)?;
    if !found.is_file() {
        return Err(Unreadable::Kind(kind_of(found.file_type())));
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty());
    let file = File::from(file.map_err(|errno| Unreadable::of(errno.into()))?);
    let mut head = Vec::new();
    let read = file.take(bytes as u64).read_to_end(&mut head);
    read.map_err(Unreadable::of)?;
    Ok(head)
}

/// Reads all of standard input, for as long as it takes.
///
/// # Errors
/// [`Unreadable`].
pub fn read_standard_input(bytes_max: u64) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    let input = io::stdin().lock();
    let read = input.take(bytes_max + 1).read_to_end(&mut bytes);
    read.map_err(Unreadable::of)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(Unreadable::TooLarge { bytes_max }),
        false => Ok(bytes),
    }
}

/// The other names that the kernel gives to standard input.
fn is_standard_input(path: &Path) -> bool {
    ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"]
        .iter()
        .any(|name| path == Path::new(name))
}

fn check_kind(found: &Metadata) -> Result<(), Unreadable> {
    let kind = found.file_type();
    let device = found.rdev();
    let number = (rustix::fs::major(device), rustix::fs::minor(device));
    let is_null = kind.is_char_device() && number == NULL_DEVICE;
    match kind.is_file() || kind.is_fifo() || is_null {
        true => Ok(()),
        false => Err(Unreadable::Kind(kind_of(kind))),
    }
}

fn kind_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a directory",
        kind if kind.is_block_device() => BLOCK_DEVICE,
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_fifo() => "a pipe",
        _ => "not a regular file",
    }
}

fn read_to_end(file: &File, kind: FileType, bytes_max: u64) -> Result<Vec<u8>, Unreadable> {
    let begun = Instant::now();
    let mut bytes = Vec::new();
    let mut waits = kind.is_fifo();
    loop {
        if waits {
            wait(file, PIPE_PATIENCE.saturating_sub(begun.elapsed()))?;
        }
        // One byte more than is allowed tells that there are too many.
        let left = (bytes_max + 1).saturating_sub(bytes.len() as u64);
        let read = file.take(left.min(1 << 20)).read_to_end(&mut bytes);
        if bytes.len() as u64 > bytes_max {
            return Err(Unreadable::TooLarge { bytes_max });
        }
        match read {
            Ok(0) => return Ok(bytes),
            Ok(_) => waits = kind.is_fifo(),
            // Some files of the kernel block like pipes.
            Err(error) if error.kind() == ErrorKind::WouldBlock => waits = true,
            Err(error) => return Err(Unreadable::of(error)),
        }
    }
}

/// Waits for data or for the end: a pipe that nobody has opened for writing yet looks empty.
fn wait(file: &File, patience: Duration) -> Result<(), Unreadable> {
    let begun = Instant::now();
    loop {
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(Unreadable::Silent);
        }
        let timeout = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(file, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => return Err(Unreadable::Silent),
            Ok(_) => return Ok(()),
            // A signal that asks how far it is.
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Unreadable::of(errno.into())),
        }
    }
}

impl Unreadable {
    fn of(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::PermissionDenied => Self::Denied,
            _ => Self::Other(error),
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "no such file"),
            Self::Denied => write!(f, "permission denied"),
            Self::Kind(kind) => write!(f, "it is {kind}; name a regular file or a pipe"),
            Self::TooLarge { bytes_max } => {
                write!(f, "it is larger than {}, the limit here", size(*bytes_max))
            }
            Self::Silent => write!(
                f,
                "it did not end within {} s; use standard input (`-`) for slow writers",
                PIPE_PATIENCE.as_secs_f64()
            ),
            Self::Other(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unreadable {}

fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 => format!("{} MiB", bytes >> 20),
        bytes => format!("{} KiB", bytes >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn fifo(path: &Path) {
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
    }

    #[test]
    fn files_are_read_up_to_the_limit_and_not_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, [b'x'; 100]).unwrap();
        assert_eq!(read_whole(&path, 100).unwrap().len(), 100);
        let refused = read_whole(&path, 99).unwrap_err();
        assert!(matches!(refused, Unreadable::TooLarge { bytes_max: 99 }));
        assert_eq!(read_head(&path, 8).unwrap(), b"xxxxxxxx");
        // The kernel gives no length for these.
        assert!(
            !read_whole(Path::new("/proc/self/status"), 1 << 20)
                .unwrap()
                .is_empty()
        );
        assert!(read_whole(Path::new("/proc/self/status"), 9).is_err());
        assert!(read_whole(Path::new("/dev/null"), 9).unwrap().is_empty());
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        fifo(&path);
        let to = path.clone();
        let writer = std::thread::spawn(move || {
            let mut file = std::fs::OpenOptions::new().write(true).open(to).unwrap();
            file.write_all(&[b'y'; 200_000]).unwrap();
        });
        assert_eq!(read_whole(&path, 1 << 20).unwrap().len(), 200_000);
        writer.join().unwrap();
    }

    #[test]
    fn what_never_ends_or_never_begins_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        fifo(&path);
        assert!(matches!(read_whole(&path, 9), Err(Unreadable::Silent)));
        let open = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path);
        let _writer = open.unwrap();
        assert!(matches!(read_whole(&path, 9), Err(Unreadable::Silent)));
        assert!(matches!(
            read_head(&path, 9),
            Err(Unreadable::Kind("a pipe"))
        ));
        for (path, kind) in [
            (Path::new("/dev/zero"), "a character device"),
            (folder.path(), "a directory"),
        ] {
            let refused = read_whole(path, 9).unwrap_err().to_string();
            assert!(refused.contains(kind), "{refused}");
        }
    }
}
