//! What is measured: a file that Fathom has really written, and a device in memory. Both tools get the same one.
use crate::bare::Random;
use crate::session::Session;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A target in memory for as long as this lives.
#[derive(Debug)]
pub struct Memory {
    pub path: PathBuf,
    pub bytes: u64,
    pub is_direct: bool,
    undo: Undo,
}

#[derive(Debug)]
enum Undo {
    ResetZram { marker: PathBuf },
    Remove,
}

const FILE_BYTES: u64 = 4 << 30;
const ZRAM: &str = "/sys/block/zram0";
const ZRAM_DEVICE: &str = "/dev/zram0";
const CHUNK_BYTES: usize = 1 << 20;

/// File systems in memory that ordinary users may write to; the last lies below `/dev`, where Vdbench takes every path
/// for a device.
const TMPFS: &[&str] = &["/run", "/tmp", "/dev/shm"];

/// A 4 GiB file of which every block was written, made by Fathom the first time and kept.
///
/// # Errors
/// A message when it cannot be made, or holds holes or unwritten extents: reads of those never reach the device.
pub fn written_file(session: &mut Session) -> Result<PathBuf, String> {
    let path = session.folder.join("written-4g");
    if fs::metadata(&path).map_or(0, |facts| facts.len()) < FILE_BYTES {
        let target = path.display().to_string();
        let output = session.results.join("prefill").display().to_string();
        let fathom = session.fathom.clone();
        let words = [
            "curve",
            &target,
            "--size",
            "4g",
            "--threads",
            "32",
            "--points",
            "50",
            "--warmup",
            "0",
            "--elapsed",
            "1",
            "-o",
            &output,
        ];
        session
            .run(fathom, &crate::process::owned(&words))?
            .successful("making the file")?;
    }
    let shown = path.display();
    let file = fs::File::open(&path).map_err(|error| format!("{shown}: {error}"))?;
    file.sync_all()
        .map_err(|error| format!("{shown}: {error}"))?;
    let bytes = file.metadata().map_or(0, |facts| facts.len());
    if bytes < FILE_BYTES {
        return Err(format!("{shown} has {bytes} bytes instead of {FILE_BYTES}"));
    }
    match sys::file::extents(&file) {
        Ok(extents) if extents.unwritten_bytes > 0 || extents.mapped_bytes < FILE_BYTES => {
            Err(format!(
                "{shown} is not written throughout: {} bytes mapped, {} of them unwritten; remove it",
                extents.mapped_bytes, extents.unwritten_bytes
            ))
        }
        Ok(_) => Ok(path),
        Err(error) => {
            eprintln!(
                "# {shown}: this file system does not tell what of a file is written ({error})"
            );
            Ok(path)
        }
    }
}

/// zram0 where this process may set it up and nobody uses it, else a file on tmpfs; filled with data that cannot be
/// compressed, so that reads have something to read.
///
/// # Errors
/// A message when neither can be had.
pub fn memory(session: &Session) -> Result<Memory, String> {
    let bytes = session.settings.memory_bytes;
    let marker = session.folder.join("zram0-was-set-up-by-compare-peers");
    match zram(&marker, bytes) {
        Ok(memory) => Ok(memory),
        Err(reason) => {
            eprintln!("# no zram0: {reason}; taking a file on tmpfs");
            tmpfs(bytes)
        }
    }
}

impl Memory {
    /// The parameters of a storage definition.
    pub fn storage(&self, slots: u32) -> String {
        let direct = if self.is_direct {
            ",openflags=o_direct"
        } else {
            ""
        };
        format!(
            "lun={},size={},threads={slots}{direct}",
            self.path.display(),
            self.bytes
        )
    }

    /// The same for fio.
    pub fn fio_options(&self) -> Vec<String> {
        vec![
            format!("--filename={}", self.path.display()),
            format!("--size={}", self.bytes),
            format!("--direct={}", u8::from(self.is_direct)),
        ]
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let outcome = match &self.undo {
            Undo::ResetZram { marker } => {
                fs::write(format!("{ZRAM}/reset"), "1").and_then(|()| remove_if_there(marker))
            }
            Undo::Remove => remove_if_there(&self.path),
        };
        if let Err(error) = outcome {
            eprintln!("# {} could not be given back: {error}", self.path.display());
        }
    }
}

fn zram(marker: &Path, bytes: u64) -> Result<Memory, String> {
    let state = |name: &str| fs::read_to_string(format!("{ZRAM}/{name}"));
    let size = state("disksize").map_err(|error| error.to_string())?;
    if size.trim() != "0" {
        give_back_ours(marker)?;
    }
    if is_in_use()? {
        return Err("it is in use".to_owned());
    }
    // A word that nobody else writes, on the device and in the marker: what a killed comparison left behind is known.
    let word = format!("compare-peers {} {}\n", std::process::id(), boot_id());
    fs::write(marker, &word).map_err(|error| error.to_string())?;
    if let Err(error) = fs::write(format!("{ZRAM}/disksize"), bytes.to_string()) {
        let _ = remove_if_there(marker);
        return Err(error.to_string());
    }
    let memory = Memory {
        path: PathBuf::from(ZRAM_DEVICE),
        bytes,
        is_direct: true,
        undo: Undo::ResetZram {
            marker: marker.to_owned(),
        },
    };
    let file = OpenOptions::new()
        .write(true)
        .open(&memory.path)
        .map_err(|error| error.to_string())?;
    fill(file, &word, bytes).map_err(|error| format!("filling it: {error}"))?;
    Ok(memory)
}

/// Resets a device that a killed comparison left behind, and no other.
fn give_back_ours(marker: &Path) -> Result<(), String> {
    let in_use = || "it is set up by somebody else".to_owned();
    let word = fs::read_to_string(marker).map_err(|_| in_use())?;
    let mut head = vec![0; word.len()];
    let read = fs::File::open(ZRAM_DEVICE).and_then(|mut device| device.read_exact(&mut head));
    if read.is_err() || head != word.as_bytes() || is_in_use()? {
        return Err(in_use());
    }
    fs::write(format!("{ZRAM}/reset"), "1")
        .and_then(|()| remove_if_there(marker))
        .map_err(|error| error.to_string())
}

fn is_in_use() -> Result<bool, String> {
    let table = |name: &str| fs::read_to_string(name).map_err(|error| format!("{name}: {error}"));
    let tables = table("/proc/swaps")? + &table("/proc/self/mounts")?;
    let is_listed = tables.lines().any(|line| line.starts_with(ZRAM_DEVICE));
    let holders = fs::read_dir(format!("{ZRAM}/holders"));
    let is_held = holders.is_ok_and(|mut entries| entries.next().is_some());
    Ok(is_listed || is_held)
}

fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

fn tmpfs(bytes: u64) -> Result<Memory, String> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let is_tmpfs = |folder: &&&str| {
        mounts.lines().any(|line| {
            let mut words = line.split(' ').skip(1);
            words.next() == Some(**folder) && words.next() == Some("tmpfs")
        })
    };
    let mut reason = "no tmpfs is mounted".to_owned();
    for folder in TMPFS.iter().filter(is_tmpfs) {
        let path = Path::new(folder).join(format!("fathom-peers-{}.data", std::process::id()));
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = match made {
            Ok(file) => file,
            Err(error) => {
                reason = format!("{}: {error}", path.display());
                continue;
            }
        };
        let mut memory = Memory {
            path,
            bytes,
            is_direct: false,
            undo: Undo::Remove,
        };
        if let Err(error) = fill(file, "", bytes) {
            reason = format!("{}: {error}", memory.path.display());
            continue;
        }
        let direct = sys::file::OpenFlags {
            read: true,
            direct: true,
            ..sys::file::OpenFlags::default()
        };
        memory.is_direct = sys::file::open(&memory.path, &direct).is_ok();
        return Ok(memory);
    }
    Err(reason)
}

/// Writes `word` and then random data up to `bytes`.
fn fill(mut file: fs::File, word: &str, bytes: u64) -> std::io::Result<()> {
    let mut random = Random::new(bytes);
    let mut chunk = vec![0_u8; CHUNK_BYTES];
    let mut written = 0;
    while written < bytes {
        for part in chunk.chunks_exact_mut(8) {
            part.copy_from_slice(&random.next().to_ne_bytes());
        }
        if written == 0 {
            chunk[..word.len()].copy_from_slice(word.as_bytes());
        }
        let length = (bytes - written).min(CHUNK_BYTES as u64);
        file.write_all(&chunk[..length as usize])?;
        written += length;
    }
    file.sync_all()
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_filled_to_its_end_with_no_two_chunks_alike() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let bytes = 2 * CHUNK_BYTES as u64 + 4096;
        fill(fs::File::create(&path).unwrap(), "mine\n", bytes).unwrap();
        let data = fs::read(&path).unwrap();
        assert_eq!(data.len() as u64, bytes);
        assert!(data.starts_with(b"mine\n"));
        assert_ne!(data[8..4096], data[CHUNK_BYTES + 8..CHUNK_BYTES + 4096]);
        assert!(data[bytes as usize - 4096..].iter().any(|byte| *byte != 0));
    }
}
