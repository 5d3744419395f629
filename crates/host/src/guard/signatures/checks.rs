//! Checks that are more than a number in a range: entries and sums. Each makes a short magic trustworthy.

use crate::guard::content::Content;

/// Four entries of 16 bytes before the magic at byte 510: the boot flag is 0 or 0x80 in all of them, and one entry or
/// more has a type and a length.
pub(super) fn has_mbr_entry(content: &Content<'_>, magic_at: u64) -> bool {
    let Some(entries) = magic_at.checked_sub(64).and_then(|at| content.get(at, 64)) else {
        return false;
    };
    let mut entries = entries.chunks_exact(16).peekable();
    let all: Vec<&[u8]> = entries.by_ref().collect();
    all.iter().all(|entry| matches!(entry[0], 0 | 0x80))
        && all
            .iter()
            .any(|entry| entry[4] != 0 && entry[12..16].iter().any(|byte| *byte != 0))
}

/// The 16-bit words of the label's 512 bytes, exclusive-or'ed, give zero. The magic stands at byte 508.
pub(super) fn has_sun_sum(content: &Content<'_>, magic_at: u64) -> bool {
    let Some(label) = magic_at
        .checked_sub(508)
        .and_then(|at| content.get(at, 512))
    else {
        return false;
    };
    let sum = label
        .chunks_exact(2)
        .fold(0, |sum, word| sum ^ u16::from_be_bytes([word[0], word[1]]));
    sum == 0
}

/// Byte 50 is the sum of the bytes before it.
pub(super) fn has_via_sum(content: &Content<'_>, magic_at: u64) -> bool {
    let Some(block) = content.get(magic_at, 51) else {
        return false;
    };
    let sum = block[..50]
        .iter()
        .fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    sum == block[50]
}

/// The 16-bit words of the first 128 bytes add up to 0 or 1.
pub(super) fn has_jmicron_sum(content: &Content<'_>, magic_at: u64) -> bool {
    let Some(block) = content.get(magic_at, 128) else {
        return false;
    };
    let sum = block.chunks_exact(2).fold(0_u16, |sum, word| {
        sum.wrapping_add(u16::from_le_bytes([word[0], word[1]]))
    });
    sum <= 1
}
