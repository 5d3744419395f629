//! Copying many bytes quickly where the compiler's baseline processor has narrower registers than this one.

/// Copies `from` to `to`, which have one length, combining each 16 bytes with `key` by exclusive or.
///
/// # Panics
/// When the lengths differ.
#[inline]
pub fn masked_copy(to: &mut [u8], from: &[u8], key: [u64; 2]) {
    assert_eq!(to.len(), from.len(), "one length");
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has what the function was compiled for.
        unsafe { wide(to, from, key) };
        return;
    }
    plain(to, from, key);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide(to: &mut [u8], from: &[u8], key: [u64; 2]) {
    plain(to, from, key);
}

/// Whole groups first, in a shape that compilers turn into vectors.
#[inline(always)]
fn plain(to: &mut [u8], from: &[u8], key: [u64; 2]) {
    const GROUP: usize = 128;
    let mut mask = [0_u8; GROUP];
    for half in mask.chunks_exact_mut(16) {
        half[..8].copy_from_slice(&key[0].to_le_bytes());
        half[8..].copy_from_slice(&key[1].to_le_bytes());
    }
    let (to_groups, to_rest) = to.as_chunks_mut::<GROUP>();
    let (from_groups, from_rest) = from.as_chunks::<GROUP>();
    for (to, from) in to_groups.iter_mut().zip(from_groups) {
        for place in 0..GROUP {
            to[place] = from[place] ^ mask[place];
        }
    }
    for ((to, from), mask) in to_rest.iter_mut().zip(from_rest).zip(&mask) {
        *to = from ^ mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_masked_to_its_last_byte_and_the_same_on_any_processor() {
        let from: Vec<u8> = (0..700_u32).map(|at| (at * 7) as u8).collect();
        let key: [u64; 2] = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210];
        let bytes: Vec<u8> = key.iter().flat_map(|half| half.to_le_bytes()).collect();
        for length in 0..from.len() {
            let mut to = vec![0; length];
            masked_copy(&mut to, &from[..length], key);
            let mut narrow = vec![0; length];
            plain(&mut narrow, &from[..length], key);
            assert_eq!(to, narrow);
            let expected: Vec<u8> = from[..length]
                .iter()
                .enumerate()
                .map(|(at, byte)| byte ^ bytes[at % 16])
                .collect();
            assert_eq!(to, expected);
        }
    }
}
