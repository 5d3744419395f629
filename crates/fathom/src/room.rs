//! What of a target holds nothing when an execution begins: storage answers for such blocks without looking for them. Says
//! what it finds and judges nothing.
use measure::ExecutionTarget;
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

const BLOCK: NonZeroU64 = NonZeroU64::new(4096).expect("not zero");

/// Blocks that are read as a sample, of one target and of all together.
const SAMPLES: u64 = 64;
const SAMPLES_OF_ALL: u64 = 1024;

/// Adds what is known of the room that a target takes; of one that cannot be looked at, nothing. Takes the number of targets,
/// as many are sampled more thinly.
pub fn add(target: &mut ExecutionTarget, path: &Path, targets: usize) {
    let samples = (SAMPLES_OF_ALL / targets.max(1) as u64).min(SAMPLES);
    let bytes = target.bytes;
    if let Ok((holes, sample)) = door::waiting::on(path, || look(path, bytes, samples)) {
        target.hole_bytes = holes;
        (target.sampled_blocks, target.zero_blocks) = sample.unzip();
    }
}

/// Bytes without room, where a map tells; blocks that were sampled, and those among them that hold only zeros.
type Found = (Option<u64>, Option<(u64, u64)>);

fn look(path: &Path, bytes: u64, samples: u64) -> io::Result<Found> {
    let file = door::look(path)?;
    let metadata = file.metadata()?;
    let is_device = metadata.file_type().is_block_device();
    // What lies behind the end of a file is made when it is needed.
    let end = if is_device {
        bytes
    } else {
        bytes.min(metadata.len())
    };
    let coverage = (!is_device).then(|| sys::file::coverage(&file, end).ok());
    let holes = coverage
        .flatten()
        .map(|one| one.hole_bytes + one.unwritten_bytes);
    Ok((holes, sample(&file, end, samples)?))
}

/// Reads blocks that are spread evenly, and leaves none of them in the page cache.
fn sample(file: &File, end: u64, samples: u64) -> io::Result<Option<(u64, u64)>> {
    let blocks = end / BLOCK;
    if blocks == 0 || samples == 0 {
        return Ok(None);
    }
    let step = (blocks / samples).max(1);
    let _ = fadvise(file, 0, None, Advice::Random);
    let (mut sampled, mut zeros) = (0, 0);
    let mut block = vec![0; BLOCK.get() as usize];
    for number in (0..blocks).step_by(step as usize).take(samples as usize) {
        let at = number * BLOCK.get();
        file.read_exact_at(&mut block, at)?;
        let _ = fadvise(file, at, Some(BLOCK), Advice::DontNeed);
        sampled += 1;
        zeros += u64::from(block.iter().all(|byte| *byte == 0));
    }
    Ok(Some((sampled, zeros)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_and_zeros_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let of = |path: &Path| {
            let bytes = 1 << 20;
            let mut target = ExecutionTarget {
                bytes,
                ..ExecutionTarget::default()
            };
            add(&mut target, path, 1);
            (target.hole_bytes, target.sampled_blocks, target.zero_blocks)
        };
        assert_eq!(of(&path), (None, None, None));
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        assert_eq!(of(&path).1, Some(64));
        assert_eq!(of(&path).2, Some(0));
        let half = [vec![7; 512 << 10], vec![0; 512 << 10]].concat();
        std::fs::write(&path, half).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        assert_eq!(of(&path).2, Some(32));
        let holes = File::create(&path).unwrap();
        holes.set_len(1 << 20).unwrap();
        let (bytes, sampled, zeros) = of(&path);
        assert_eq!((sampled, zeros), (Some(64), Some(64)));
        // Not every file system has a map.
        assert!(bytes.is_none_or(|bytes| bytes == 1 << 20), "{bytes:?}");
    }
}
