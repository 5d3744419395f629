//! Logs that are kept compressed, in fio's own layout: samples of fixed size in streams of zlib, one after another. What
//! an option named for them prints again as text.
use super::logs::{Row, Wants};
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::fs::File;
use std::io::{self, BufRead, BufWriter, Read, Write};

const SAMPLE_BYTES: usize = 32;
/// Of the sample with an offset behind it.
const SAMPLE_BYTES_MAX: usize = SAMPLE_BYTES + 8;

/// In the word of the direction.
const HAS_OFFSET: u32 = 1 << 31;
const HAS_PRIORITY: u32 = 1 << 30;

const NS_PER_MS: u64 = 1_000_000;

/// A file of samples; one without any stays empty.
#[derive(Debug)]
pub(super) struct Packed {
    /// Until the first sample, and between two streams.
    file: Option<BufWriter<File>>,
    stream: Option<ZlibEncoder<BufWriter<File>>>,
}

impl Packed {
    pub(super) fn new(file: File) -> Self {
        Self {
            file: Some(BufWriter::new(file)),
            stream: None,
        }
    }

    pub(super) fn put(&mut self, row: Row, value: u64, wants: &Wants) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            self.stream = Some(ZlibEncoder::new(file, Compression::default()));
        }
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let has_offset = wants.logs.has_offset;
        let (flags, priority) = match wants.logs.has_priority {
            true => (HAS_PRIORITY, row.priority),
            false => (0, u16::from(row.is_real_time())),
        };
        let flags = flags | if has_offset { HAS_OFFSET } else { 0 };
        let mut sample = [0; SAMPLE_BYTES_MAX];
        sample[0..8].copy_from_slice(&(row.at_ns / NS_PER_MS).to_le_bytes());
        sample[8..16].copy_from_slice(&value.to_le_bytes());
        sample[16..20].copy_from_slice(&(row.direction as u32 | flags).to_le_bytes());
        sample[20..22].copy_from_slice(&priority.to_le_bytes());
        sample[24..32].copy_from_slice(&u64::from(row.length).to_le_bytes());
        sample[32..40].copy_from_slice(&row.offset.to_le_bytes());
        let length = if has_offset {
            SAMPLE_BYTES_MAX
        } else {
            SAMPLE_BYTES
        };
        stream.write_all(&sample[..length])
    }

    /// Ends the stream; a later sample begins another.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if let Some(stream) = self.stream.take() {
            self.file = Some(stream.finish()?);
        }
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

/// Hands over each row of a compressed log as a line of text.
///
/// # Errors
/// When the bytes are no such log, or end in the middle of one.
pub fn inflate_log(mut packed: impl BufRead, mut take: impl FnMut(&str)) -> io::Result<()> {
    while !packed.fill_buf()?.is_empty() {
        let mut stream = ZlibDecoder::new(&mut packed);
        let mut sample = [0; SAMPLE_BYTES];
        while fills(&mut stream, &mut sample)? {
            let word = |at: usize| {
                let bytes = sample[at..at + 8].try_into().expect("eight bytes");
                u64::from_le_bytes(bytes)
            };
            let (flags, priority) = (word(16) as u32, (word(16) >> 32) as u16);
            let direction = flags & !(HAS_OFFSET | HAS_PRIORITY);
            let mut line = format!("{}, {}, {direction}, {}", word(0), word(8), word(24));
            if flags & HAS_OFFSET != 0 {
                let mut offset = [0; 8];
                stream.read_exact(&mut offset)?;
                line += &format!(", {}", u64::from_le_bytes(offset));
            }
            match flags & HAS_PRIORITY {
                0 => line += &format!(", {priority}\n"),
                _ => line += &format!(", {priority:#06x}\n"),
            }
            take(&line);
        }
    }
    Ok(())
}

/// Whether there was another sample.
fn fills(stream: &mut impl Read, sample: &mut [u8; SAMPLE_BYTES]) -> io::Result<bool> {
    let begun = stream.read(sample)?;
    if begun > 0 {
        stream.read_exact(&mut sample[begun..])?;
    }
    Ok(begun > 0)
}
