//! What of a target holds nothing when an execution begins: file systems answer for holes without looking for them. Says what
//! it finds and judges nothing. Reads no data: a device that hangs would keep the read, and with it the process.
use std::io;
use std::path::Path;

/// Of the bytes that runs use, those of a file without a place on its storage, and those that were never written there. `None`
/// where no map of the file is told, and of devices.
pub fn hole_bytes(path: &Path, bytes: u64) -> Option<u64> {
    door::waiting::on(path, || look(path, bytes)).ok().flatten()
}

fn look(path: &Path, bytes: u64) -> io::Result<Option<u64>> {
    let file = door::look(path)?;
    let metadata = file.metadata()?;
    // What lies behind the end of a file is made when it is needed.
    let end = bytes.min(metadata.len());
    let coverage = metadata
        .is_file()
        .then(|| sys::file::coverage(&file, end).ok());
    Ok(coverage
        .flatten()
        .map(|one| one.hole_bytes + one.unwritten_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn holes_are_told_as_far_as_the_file_is_used() {
        const BYTES: usize = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let holes = |bytes: usize| hole_bytes(&path, bytes as u64);
        assert_eq!(holes(BYTES), None);
        std::fs::write(&path, vec![7; BYTES]).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.sync_all().unwrap();
        if holes(BYTES).is_none() {
            return println!("skipped: this file system tells no map");
        }
        assert_eq!(holes(BYTES), Some(0));
        file.set_len(2 * BYTES as u64).unwrap();
        assert_eq!(holes(BYTES), Some(0));
        assert_eq!(holes(2 * BYTES), Some(BYTES as u64));
        assert_eq!(hole_bytes(Path::new("/dev/null"), 1), None);
    }
}
