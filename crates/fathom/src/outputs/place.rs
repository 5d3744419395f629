//! Paths that the user names for files: where they lead, and how they are opened without touching what they must not.
use super::identity::Identity;
use crate::printing::Channel;
use host::rights::{Wanted, denial};
use report::Opening;
use rustix::fs::{
    Access, AtFlags, CWD, Mode, OFlags, RenameFlags, accessat, fcntl_setfl, renameat_with,
};
use rustix::io::Errno;
use std::fs::{File, FileType, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a pipe may take to get a reader.
const PIPE_PATIENCE: Duration = Duration::from_millis(1500);
const LINKS_MAX: usize = 16;

/// Character devices that hold nothing, by major number: memory devices, terminals, serial lines.
const HARMLESS: [u32; 5] = [1, 4, 5, 204, 229];
const TERMINALS: std::ops::RangeInclusive<u32> = 136..=143;

/// Refuses a target of the job, by what was found at the path.
pub type Spare<'a> = dyn Fn(Option<&Identity>) -> Result<(), String> + 'a;

/// A path as it is to be opened.
enum Place {
    /// A regular file, or nothing yet, under this very name.
    Name(PathBuf),
    /// A device or a pipe, maybe behind links: there is nothing to lose.
    Stream(PathBuf),
}

/// Refuses what [`open`] would refuse, but for targets.
pub fn check(path: &Path, opening: Opening) -> Result<(), String> {
    if is_descriptor(path) {
        let found = std::fs::metadata(path).map_err(words)?;
        return check_kind(&found, opening);
    }
    let place = match place(path)? {
        Place::Stream(_) => return Ok(()),
        Place::Name(place) => place,
    };
    let may_write = |path: &Path| {
        accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|errno| denial(path, Wanted::Write, &errno.into()))
    };
    match std::fs::symlink_metadata(&place) {
        Ok(found) => {
            check_kind(&found, opening)?;
            may_write(&place)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = folder_of(&place);
            match std::fs::metadata(&folder) {
                Ok(found) if found.is_dir() => may_write(&folder),
                Ok(_) => Err(format!("`{}` is not a folder", folder.display())),
                Err(error) => Err(format!(
                    "folder `{}`: {}",
                    folder.display(),
                    words_at(&folder, error)
                )),
            }
        }
        Err(error) => Err(words_at(&place, error)),
    }
}

/// Refuses a folder in which files cannot be made; changes nothing. What is missing of its path has to be possible. A link
/// may lead to it: of what stands there already, nothing but our own is replaced.
pub fn check_folder(folder: &Path) -> Result<(), String> {
    let absolute = std::path::absolute(folder).map_err(words)?;
    for part in absolute.ancestors() {
        let found = match std::fs::metadata(part) {
            Ok(found) => found,
            Err(error) => match error.kind() {
                ErrorKind::NotFound if std::fs::symlink_metadata(part).is_ok() => {
                    return Err(format!("link `{}` leads to nothing", part.display()));
                }
                // What it lies in tells.
                ErrorKind::NotFound | ErrorKind::NotADirectory => continue,
                _ => return Err(words_at(part, error)),
            },
        };
        let whose = match part == absolute {
            true => "it".to_owned(),
            false => format!("`{}`", part.display()),
        };
        if !found.is_dir() {
            let kind = kind_of(found.file_type());
            return Err(format!("{whose} is {kind}"));
        }
        let access = Access::WRITE_OK | Access::EXEC_OK;
        return accessat(CWD, part, access, AtFlags::EACCESS)
            .map_err(|errno| denial(part, Wanted::Write, &errno.into()))
            .map_err(|reason| format!("{whose} cannot be written: {reason}"));
    }
    Ok(())
}

/// Opens a path for writing. Nothing is truncated before it is known what was opened.
pub fn open(path: &Path, opening: Opening, spare: &Spare<'_>) -> Result<File, String> {
    if is_descriptor(path) {
        return open_descriptor(path, spare);
    }
    let place = match place(path)? {
        Place::Stream(path) => return open_stream(&path, spare),
        Place::Name(place) => place,
    };
    // By its name it may be a target that is to be made yet.
    spare(None)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = flags | OFlags::NOCTTY | OFlags::CLOEXEC | append_flag(opening);
    let file = rustix::fs::open(&place, flags, Mode::from_raw_mode(0o666));
    let file = File::from(file.map_err(|errno| words_at(&place, errno.into()))?);
    let found = file.metadata().map_err(words)?;
    spare(Some(&Identity::of(&found)))?;
    check_kind(&found, opening)?;
    if !found.is_file() {
        return Err("another file took its place".to_owned());
    }
    match opening {
        Opening::Append => Ok(file),
        // Under its other name, the content stays.
        Opening::Replace if found.nlink() > 1 => {
            let (temporary, file) = beside(&place).map_err(words)?;
            std::fs::rename(&temporary, &place).map_err(words)?;
            Ok(file)
        }
        Opening::Replace => {
            file.set_len(0).map_err(words)?;
            Ok(file)
        }
    }
}

/// Makes an empty file with a name of its own in the same folder.
pub fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = format!(".{name}.{}.tmp", std::process::id());
    let temporary = folder_of(path).join(name);
    // One that a killed process of this number has left.
    if std::fs::symlink_metadata(&temporary).is_ok_and(|found| found.is_file()) {
        std::fs::remove_file(&temporary)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).open(&temporary)?;
    Ok((temporary, file))
}

/// Gives a file a name that nothing has.
pub fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some network file systems know no such call.
        Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

/// Exchanges two names; says whether the file system can.
pub fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

pub fn kind_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_dir() => "a directory",
        kind if kind.is_block_device() => "a block device",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_fifo() => "a pipe",
        _ => "a regular file",
    }
}

/// Follows links as long as they stay in one folder.
fn place(path: &Path) -> Result<Place, String> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let found = match std::fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Place::Name(path)),
            Err(error) => return Err(words_at(&path, error)),
            Ok(found) => found,
        };
        let end = std::fs::metadata(&path).ok();
        let is_stream = |end: &Metadata| !end.is_file() && !end.is_dir();
        if let Some(end) = end.filter(is_stream) {
            check_kind(&end, Opening::Replace)?;
            return Ok(Place::Stream(path));
        }
        if !found.is_symlink() {
            return Ok(Place::Name(path));
        }
        let folder = folder_of(&path);
        let next = folder.join(std::fs::read_link(&path).map_err(words)?);
        let real = |folder: &Path| std::fs::canonicalize(folder).ok();
        if real(&folder_of(&next)).is_none_or(|there| real(&folder) != Some(there)) {
            return Err(format!(
                "it is a link into another folder, to `{}`",
                next.display()
            ));
        }
        path = next;
    }
    Err("it is a link to itself".to_owned())
}

fn check_kind(found: &Metadata, opening: Opening) -> Result<(), String> {
    let kind = found.file_type();
    let major = rustix::fs::major(found.rdev());
    let is_harmless = HARMLESS.contains(&major) || TERMINALS.contains(&major);
    if kind.is_file() && opening == Opening::Append && found.nlink() > 1 {
        return Err("the file has a second name (a hard link)".to_owned());
    }
    match kind.is_file() || kind.is_fifo() || kind.is_char_device() && is_harmless {
        true => Ok(()),
        false => Err(format!("it is {}; name a file", kind_of(kind))),
    }
}

fn open_stream(path: &Path, spare: &Spare<'_>) -> Result<File, String> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let begun = Instant::now();
    let file = loop {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => break File::from(file),
            Err(Errno::NXIO) if begun.elapsed() < PIPE_PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(Errno::NXIO) => return Err("nobody reads from this pipe".to_owned()),
            Err(errno) => return Err(words(errno.into())),
        }
    };
    let found = file.metadata().map_err(words)?;
    check_kind(&found, Opening::Replace)?;
    if found.is_file() {
        return Err("another file took its place".to_owned());
    }
    spare(Some(&Identity::of(&found)))?;
    // Whoever reads slowly is waited for.
    fcntl_setfl(&file, OFlags::empty()).map_err(|errno| words(errno.into()))?;
    Ok(file)
}

/// A name of something that is open already.
fn is_descriptor(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"];
    let names = ["/dev/stdout", "/dev/stderr"];
    names.iter().any(|name| path == Path::new(name))
        || folders
            .iter()
            .any(|folder| path.parent() == Some(Path::new(folder)))
}

/// What the shell has opened is written behind what is there, as it would be without a name.
fn open_descriptor(path: &Path, spare: &Spare<'_>) -> Result<File, String> {
    let name = path.file_name().unwrap_or_default();
    let copied = match name.to_str() {
        Some("stdout" | "1") => Some(Channel::Out.descriptor()),
        Some("stderr" | "2") => Some(Channel::Err.descriptor()),
        _ => None,
    };
    let file = match copied {
        Some(copied) => File::from(copied.map_err(words)?),
        None => {
            let found = std::fs::metadata(path).map_err(words)?;
            check_kind(&found, Opening::Replace)?;
            let mut options = std::fs::OpenOptions::new();
            options.append(true).open(path).map_err(words)?
        }
    };
    let found = file.metadata().map_err(words)?;
    if !found.file_type().is_socket() {
        check_kind(&found, Opening::Replace)?;
    }
    spare(Some(&Identity::of(&found)))?;
    Ok(file)
}

fn append_flag(opening: Opening) -> OFlags {
    match opening {
        Opening::Append => OFlags::APPEND,
        Opening::Replace => OFlags::empty(),
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn words(error: io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        _ => error.to_string(),
    }
}

/// The same of a path that was looked up to be written: a denial says which right is missing.
fn words_at(path: &Path, error: io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => denial(path, Wanted::Write, &error),
        _ => words(error),
    }
}
