//! This program as hosts get it: what a loader maps, without the sections and names after it, which are most of the file.
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

/// A program that hosts get. Nothing of it is held in memory but its first bytes: nobody can write a file that runs.
pub struct Image {
    file: File,
    /// What stands at its start in place of what the file has there.
    head: Vec<u8>,
    pub bytes: u64,
    /// SHA-256 of what is sent, in hexadecimal digits.
    pub digest: String,
}

/// What is read and sent at a time.
const PART_BYTES: usize = 1 << 18;

impl Image {
    /// This program, read once for all hosts.
    ///
    /// # Errors
    /// In words, when it cannot be read.
    pub fn own() -> Result<&'static Self, String> {
        static OWN: OnceLock<Result<Image, String>> = OnceLock::new();
        // The file that runs, also where another has taken its name.
        let read = || {
            let image = File::open("/proc/self/exe").and_then(Self::of);
            image.map_err(|error| format!("this program cannot be read: {error}"))
        };
        OWN.get_or_init(read).as_ref().map_err(String::clone)
    }

    pub fn of(file: File) -> io::Result<Self> {
        let whole_bytes = file.metadata()?.len();
        let (head, bytes) = match loaded(&file, whole_bytes) {
            Some(bytes) => (head_without_sections(&file)?, bytes),
            None => (Vec::new(), whole_bytes),
        };
        let mut image = Self {
            file,
            head,
            bytes,
            digest: String::new(),
        };
        let mut hash = Sha256::new();
        image.parts(|part| {
            hash.update(part);
            Ok(())
        })?;
        let digest = hash.finalize();
        image.digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(image)
    }

    /// # Errors
    /// When it cannot be read, or is not taken.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        self.parts(|part| to.write_all(part))
    }

    fn parts(&self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        take(&self.head)?;
        let mut at = self.head.len() as u64;
        let mut part = vec![0; PART_BYTES];
        while at < self.bytes {
            let count = (self.bytes - at).min(PART_BYTES as u64) as usize;
            self.file.read_exact_at(&mut part[..count], at)?;
            take(&part[..count])?;
            at += count as u64;
        }
        Ok(())
    }
}

/// The header of an ELF file of 64 bits, and the places of what is read of it (elf(5)).
const HEADER_BYTES: usize = 64;
const SEGMENTS_AT: Range<usize> = 32..40;
const SECTIONS_AT: Range<usize> = 40..48;
const SEGMENT_BYTES: Range<usize> = 54..56;
const SEGMENT_COUNT: Range<usize> = 56..58;
const SECTION_COUNT_AND_NAMES: Range<usize> = 60..64;

/// The same of what it says about a segment.
const ENTRY_BYTES: usize = 56;
const ENTRY_OFFSET: Range<usize> = 8..16;
const ENTRY_LENGTH: Range<usize> = 32..40;

/// ELF, 64 bits, little-endian, version 1.
const IS_READ: &[u8] = b"\x7fELF\x02\x01\x01";

/// So many segments that their number stands in a section.
const TOO_MANY: u64 = 0xffff;

/// Where what a loader maps of a program ends; `None` for a file that is not understood, or whose segments are not all in it.
fn loaded(file: &File, whole_bytes: u64) -> Option<u64> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0).ok()?;
    if !header.starts_with(IS_READ) || number(&header, SEGMENT_BYTES) != ENTRY_BYTES as u64 {
        return None;
    }
    let (at, count) = (number(&header, SEGMENTS_AT), number(&header, SEGMENT_COUNT));
    if count == 0 || count == TOO_MANY {
        return None;
    }
    let mut table = vec![0; count as usize * ENTRY_BYTES];
    file.read_exact_at(&mut table, at).ok()?;
    let mut end = at.checked_add(table.len() as u64)?;
    for entry in table.chunks_exact(ENTRY_BYTES) {
        let offset = number(entry, ENTRY_OFFSET);
        end = end.max(offset.checked_add(number(entry, ENTRY_LENGTH))?);
    }
    (HEADER_BYTES as u64..=whole_bytes)
        .contains(&end)
        .then_some(end)
}

fn head_without_sections(file: &File) -> io::Result<Vec<u8>> {
    let mut header = vec![0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    header[SECTIONS_AT].fill(0);
    header[SECTION_COUNT_AND_NAMES].fill(0);
    Ok(header)
}

fn number(bytes: &[u8], place: Range<usize>) -> u64 {
    let bytes = bytes[place].iter().rev();
    bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::time::Duration;

    fn sent(image: &Image) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.write_to(&mut bytes).unwrap();
        bytes
    }

    fn of(bytes: &[u8]) -> Image {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(bytes, 0).unwrap();
        Image::of(file).unwrap()
    }

    fn start_of_own() -> Vec<u8> {
        sent(Image::own().unwrap())[..4096].to_vec()
    }

    #[test]
    fn the_image_of_this_program_is_smaller_and_runs() {
        let image = Image::own().unwrap();
        let whole_bytes = std::fs::metadata("/proc/self/exe").unwrap().len();
        assert!(image.bytes < whole_bytes, "{} {whole_bytes}", image.bytes);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        std::fs::write(&path, sent(image)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        // A test beside this one may just start a program, which has the file open until it does.
        let told = loop {
            match Command::new(&path).arg("--list").output() {
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                told => break told.unwrap(),
            }
        };
        let told = String::from_utf8(told.stdout).unwrap();
        assert!(told.contains("the_image_of_this_program_is_smaller_and_runs"));
        let told = Command::new("sha256sum").arg(&path).output().unwrap();
        assert!(told.stdout.starts_with(image.digest.as_bytes()));
    }

    #[test]
    fn an_image_has_an_image_of_its_own() {
        let image = Image::own().unwrap();
        let again = of(&sent(image));
        assert_eq!((again.bytes, &again.digest), (image.bytes, &image.digest));
    }

    #[test]
    fn what_is_not_understood_is_sent_as_it_is() {
        let whole = |bytes: &[u8]| assert_eq!(sent(&of(bytes)), bytes);
        whole(b"");
        whole(b"#!/bin/sh\n");
        // Its segments are not all there.
        whole(&start_of_own());
        let changed = |place: Range<usize>, by: &[u8]| {
            let mut bytes = sent(Image::own().unwrap());
            bytes.extend(b"more than a loader maps");
            bytes[place].copy_from_slice(by);
            whole(&bytes);
        };
        changed(4..5, b"\x01");
        changed(5..6, b"\x02");
        changed(SEGMENT_COUNT, &[0, 0]);
        changed(SEGMENT_COUNT, &[0xff, 0xff]);
        changed(SEGMENT_BYTES, &[32, 0]);
        changed(SEGMENTS_AT, &[0xff; 8]);
        let entry = number(&start_of_own(), SEGMENTS_AT) as usize;
        let length = entry + ENTRY_LENGTH.start..entry + ENTRY_LENGTH.end;
        changed(length.clone(), &[0xff; 8]);
        changed(length, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
    }
}
