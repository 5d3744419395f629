//! From the bytes of a file to the text that a reader sees: which bytes are a text, and how much of it is read.
//! Must not know what the text says.
use std::io::Read;

/// The longest text of a job, also unpacked. A plan of 10 000 definitions has about 1 MB.
pub const TEXT_BYTES_MAX: u64 = 4 << 20;
/// All texts of one reading together: an include may stand in many places.
pub(crate) const TEXTS_BYTES_MAX: usize = 16 << 20;
/// The longest file of data that a text names: records of I/O, states, patterns.
pub const DATA_BYTES_MAX: u64 = 256 << 20;

/// How far the kind of a file is told by.
const HEAD_BYTES: usize = 4096;
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
const GZIP_MARK: &[u8] = b"\x1f\x8b";

/// The text in some bytes, without the mark at its start. What is no UTF-8 becomes U+FFFD: comments of old files hold
/// other encodings.
///
/// # Errors
/// In words, when the bytes are no text.
pub(crate) fn text_of(bytes: &[u8]) -> Result<String, &'static str> {
    if bytes.starts_with(GZIP_MARK) {
        return Err("it is compressed (gzip); unpack it first");
    }
    if UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) || looks_like_utf16(bytes) {
        return Err("it is UTF-16; save it as UTF-8");
    }
    if looks_binary(bytes) {
        return Err("it is not a text file");
    }
    let bytes = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// What compressed bytes expand to.
///
/// # Errors
/// In words, when they are damaged or expand to more than a text may have.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes)
        .take(TEXT_BYTES_MAX + 1)
        .read_to_end(&mut out)
        .map_err(|error| error.to_string())?;
    match out.len() as u64 > TEXT_BYTES_MAX {
        true => Err(format!(
            "it expands to more than {} MiB, the limit here",
            TEXT_BYTES_MAX >> 20
        )),
        false => Ok(out),
    }
}

/// Letters of most languages leave every second byte zero.
fn looks_like_utf16(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let zeros = |from: usize| {
        head.iter()
            .skip(from)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let half = head.len() / 2;
    half > 4 && (even.max(odd) * 10 > half * 8) && even.min(odd) * 10 < half
}

/// A few odd characters may stand in a comment; one in twelve is no text of anybody.
fn looks_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let is_odd = |byte: &&u8| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127);
    // Zeros at the end are what a crash leaves of a file that was being written.
    let end = head
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    let odd = head[..end].iter().filter(is_odd).count();
    odd > 2 && odd * 12 > end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_old_files_are_read_and_a_mark_is_skipped() {
        assert_eq!(text_of(b"\xef\xbb\xbfsd=sd1").unwrap(), "sd=sd1");
        assert_eq!(
            text_of(b"* caf\xe9\nsd=sd1").unwrap(),
            "* caf\u{fffd}\nsd=sd1"
        );
        assert_eq!(text_of(b"").unwrap(), "");
        assert_eq!(text_of(b"[a]\nrw=read\n\0\0\0\0\0\0").unwrap().len(), 18);
        assert_eq!(text_of(b"sd=di\0sk").unwrap(), "sd=di\0sk");
    }

    #[test]
    fn what_is_no_text_is_told_apart() {
        let wide: Vec<u8> = "sd=sd1,lun=/dev/sdb\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let turned: Vec<u8> = wide.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
        for bytes in [&wide[..], &turned, b"\xff\xfes\0d\0"] {
            assert!(text_of(bytes).unwrap_err().contains("UTF-16"), "{bytes:?}");
        }
        let noise: Vec<u8> = (0..4000_u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        assert!(text_of(&noise).unwrap_err().contains("not a text"));
        assert!(text_of(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").is_err());
        assert!(text_of(b"\x1f\x8b\x08").unwrap_err().contains("gzip"));
    }

    #[test]
    fn compressed_texts_expand_up_to_the_limit() {
        use std::io::Write;
        let packed = |length: usize| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(&vec![b'*'; length]).unwrap();
            out.finish().unwrap()
        };
        let limit = TEXT_BYTES_MAX as usize;
        assert_eq!(unpacked(&packed(limit)).unwrap().len(), limit);
        assert!(
            unpacked(&packed(limit + 1))
                .unwrap_err()
                .contains("expands to more")
        );
        assert!(unpacked(b"\x1f\x8b\x08 and nothing").is_err());
    }
}
