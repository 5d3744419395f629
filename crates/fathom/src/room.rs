//! What of the targets holds nothing when an execution begins: storage answers for such blocks without looking for them. Says
//! what it finds and judges nothing.
use measure::ExecutionTarget;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use sys::buffer::AlignedBuffers;

const BLOCK: usize = 4096;

/// Blocks that are read as a sample, of one target and of all together.
const SAMPLES: u64 = 64;
const SAMPLES_OF_ALL: u64 = 1024;

/// A storage that takes longer to answer keeps no run from beginning, and nothing is known of the rest.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is to be looked at: its place among the targets, and the bytes that runs use.
pub struct Asked {
    pub place: usize,
    pub path: PathBuf,
    pub bytes: u64,
}

/// What was found of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Room {
    /// Without a place on the storage, or never written there; `None` without a map.
    hole_bytes: Option<u64>,
    /// Blocks that were sampled, and those among them that hold only zeros; `None` past the page cache only.
    sample: Option<(u64, u64)>,
}

/// Adds what is known of the room that targets take.
pub fn add(targets: &mut [ExecutionTarget], asked: Vec<Asked>) {
    for (place, room) in rooms(asked) {
        let target = &mut targets[place];
        target.hole_bytes = room.hole_bytes;
        (target.sampled_blocks, target.zero_blocks) = room.sample.unzip();
    }
}

/// What is found in time. A look that hangs in the kernel stays with its thread.
fn rooms(asked: Vec<Asked>) -> Vec<(usize, Room)> {
    if asked.is_empty() {
        return Vec::new();
    }
    let samples = (SAMPLES_OF_ALL / asked.len() as u64).min(SAMPLES);
    let (found, rooms): (SyncSender<(usize, Room)>, Receiver<_>) = sync_channel(0);
    let until = Instant::now() + PATIENCE;
    let look_at_all = move || {
        for one in asked {
            let room = look(&one, samples, until).unwrap_or_default();
            if found.send((one.place, room)).is_err() {
                return;
            }
        }
    };
    // Without a thread nothing is known.
    let _ = std::thread::Builder::new().spawn(look_at_all);
    let left = || until.saturating_duration_since(Instant::now());
    std::iter::from_fn(|| rooms.recv_timeout(left()).ok()).collect()
}

fn look(asked: &Asked, samples: u64, until: Instant) -> io::Result<Room> {
    let file = door::look(&asked.path)?;
    let metadata = file.metadata()?;
    let is_device = metadata.file_type().is_block_device();
    // What lies behind the end of a file is made when it is needed.
    let end = match is_device {
        true => asked.bytes,
        false => asked.bytes.min(metadata.len()),
    };
    let coverage = (!is_device).then(|| sys::file::coverage(&file, end).ok());
    let hole_bytes = coverage.flatten();
    let hole_bytes = hole_bytes.map(|one| one.hole_bytes + one.unwritten_bytes);
    let is_direct = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags | OFlags::DIRECT));
    let blocks = end / BLOCK as u64;
    let mut room = Room {
        hole_bytes,
        sample: None,
    };
    // Who reads through the page cache would change what is in it.
    if is_direct.is_err() || blocks == 0 || samples == 0 {
        return Ok(room);
    }
    let mut buffer = AlignedBuffers::new(1, BLOCK, BLOCK)?;
    let step = (blocks / samples).max(1);
    let (mut sampled, mut zeros) = (0, 0);
    for number in (0..blocks).step_by(step as usize).take(samples as usize) {
        if Instant::now() >= until {
            break;
        }
        file.read_exact_at(buffer.get_mut(0), number * BLOCK as u64)?;
        sampled += 1;
        zeros += u64::from(buffer.get(0).iter().all(|byte| *byte == 0));
    }
    room.sample = (sampled > 0).then_some((sampled, zeros));
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::path::Path;

    const BYTES: u64 = 1 << 20;

    fn room(path: &Path) -> Room {
        let asked = Asked {
            place: 3,
            path: path.to_owned(),
            bytes: BYTES,
        };
        let found = rooms(vec![asked]);
        assert_eq!((found.len(), found[0].0), (1, 3));
        found[0].1
    }

    #[test]
    fn holes_and_zeros_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(room(&path), Room::default());
        let zeros = |zeros: usize| {
            let bytes = [vec![7; BYTES as usize - zeros], vec![0; zeros]].concat();
            std::fs::write(&path, bytes).unwrap();
            File::open(&path).unwrap().sync_all().unwrap();
            room(&path)
        };
        let whole = zeros(0);
        if whole.sample.is_none() {
            return println!("skipped: no direct I/O here");
        }
        assert_eq!(whole.sample, Some((64, 0)));
        assert!(whole.hole_bytes.is_none_or(|bytes| bytes == 0), "{whole:?}");
        assert_eq!(zeros(BYTES as usize / 2).sample, Some((64, 32)));
        File::create(&path).unwrap().set_len(BYTES).unwrap();
        let empty = room(&path);
        assert_eq!(empty.sample, Some((64, 64)));
        // Not every file system has a map.
        assert!(
            empty.hole_bytes.is_none_or(|bytes| bytes == BYTES),
            "{empty:?}"
        );
    }
}
