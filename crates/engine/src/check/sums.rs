//! Sums of blocks as the header of a block holds them, byte by byte as fio 3.33 writes them, so that
//! each of the two programs checks what the other wrote. The forms were found from what fio writes.
//!
//! Two are not what their name says: for [`CheckMethod::Sha256`] the length that ends the message is
//! in the wrong order of bytes and eight bytes of the digest are kept, and for
//! [`CheckMethod::Sha512`] nothing but the last part of the block is kept, with no digest at all.
use crc::{Algorithm, CRC_7_MMC, CRC_16_ARC, CRC_32_ISCSI, CRC_64_REDIS, Crc, Table};
use md5::{Digest, Md5};
use plan::CheckMethod;
use sha1::Sha1;
use sha2::block_api::compress256;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use twox_hash::XxHash32;

/// The longest sum.
pub(super) const SUM_BYTES_MAX: usize = 128;

/// The polynomial of CRC-32 without reflection, start value or complement.
const CRC_32_PLAIN: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0x04c1_1db7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89a1_897f,
    residue: 0,
};

static CRC7: Crc<u8, Table<1>> = Crc::<u8, Table<1>>::new(&CRC_7_MMC);
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_PLAIN);
static CRC32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

const XXH32_SEED: u32 = 1;

/// A block of SHA-256, and where its length stands.
const SHA256_BLOCK: usize = 64;
const SHA256_LENGTH_AT: usize = 56;
const SHA256_START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
const SHA512_BLOCK: usize = 128;

/// A sum, of which the first bytes count that the method has.
pub(super) type Sum = [u8; SUM_BYTES_MAX];

/// The sum of what stands behind a header.
pub(super) fn sum(method: CheckMethod, data: &[u8]) -> Sum {
    let mut out = [0; SUM_BYTES_MAX];
    match method {
        CheckMethod::Nothing
        | CheckMethod::Pattern
        | CheckMethod::HeaderOnly
        | CheckMethod::HeaderAndPattern => {}
        CheckMethod::Crc7 => put(&mut out, &[CRC7.checksum(data)]),
        CheckMethod::Crc16 => put(&mut out, &CRC16.checksum(data).to_le_bytes()),
        CheckMethod::Crc32 => put(&mut out, &CRC32.checksum(data).to_le_bytes()),
        CheckMethod::Crc32c => put(&mut out, &crc32c(data).to_le_bytes()),
        CheckMethod::Crc64 => put(&mut out, &CRC64.checksum(data).to_le_bytes()),
        CheckMethod::Md5 => put(&mut out, &Md5::digest(data)),
        CheckMethod::Sha1 => {
            put(&mut out, &Sha1::digest(data));
            out[..20].chunks_exact_mut(4).for_each(<[u8]>::reverse);
        }
        CheckMethod::Sha256 => sha256(data, &mut out),
        CheckMethod::Sha512 => sha512(data, &mut out),
        CheckMethod::Sha3Of224 => put(&mut out, &Sha3_224::digest(data)),
        CheckMethod::Sha3Of256 => put(&mut out, &Sha3_256::digest(data)),
        CheckMethod::Sha3Of384 => put(&mut out, &Sha3_384::digest(data)),
        CheckMethod::Sha3Of512 => put(&mut out, &Sha3_512::digest(data)),
        CheckMethod::Xxh32 => put(&mut out, &XxHash32::oneshot(XXH32_SEED, data).to_le_bytes()),
    }
    out
}

/// CRC-32C without the complement at the end.
#[inline]
pub(super) fn crc32c(data: &[u8]) -> u32 {
    !CRC32C.checksum(data)
}

fn put(out: &mut Sum, bytes: &[u8]) {
    out[..bytes.len()].copy_from_slice(bytes);
}

fn sha256(data: &[u8], out: &mut Sum) {
    let mut state = SHA256_START;
    let (whole, tail) = data.as_chunks::<SHA256_BLOCK>();
    compress256(&mut state, whole);
    let mut last = [0; SHA256_BLOCK];
    last[..tail.len()].copy_from_slice(tail);
    last[tail.len()] = 0x80;
    if tail.len() >= SHA256_LENGTH_AT {
        compress256(&mut state, &[last]);
        last = [0; SHA256_BLOCK];
    }
    let bits = data.len() as u64 * 8;
    last[SHA256_LENGTH_AT..].copy_from_slice(&bits.to_le_bytes());
    compress256(&mut state, &[last]);
    put(out, &last);
    for (kept, word) in out.iter_mut().zip(state) {
        *kept = word as u8;
    }
}

fn sha512(data: &[u8], out: &mut Sum) {
    let (_, tail) = data.as_chunks::<SHA512_BLOCK>();
    put(out, &data[..data.len().min(SHA512_BLOCK)]);
    put(out, tail);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_sums() {
        // The values of the catalogue of CRCs for these nine digits, and those of the standards for
        // three letters.
        let digits = b"123456789";
        assert_eq!(sum(CheckMethod::Crc7, digits)[0], 0x75);
        assert_eq!(
            sum(CheckMethod::Crc16, digits)[..2],
            0xbb3d_u16.to_le_bytes()
        );
        assert_eq!(
            sum(CheckMethod::Crc32, digits)[..4],
            0x89a1_897f_u32.to_le_bytes()
        );
        assert_eq!(
            sum(CheckMethod::Crc32c, digits)[..4],
            (!0xe306_9283_u32).to_le_bytes()
        );
        assert_eq!(
            sum(CheckMethod::Crc64, digits)[..8],
            0xe9c6_d914_c4b8_d9ca_u64.to_le_bytes()
        );
        assert_eq!(sum(CheckMethod::Md5, b"abc")[..4], [0x90, 0x01, 0x50, 0x98]);
        assert_eq!(
            sum(CheckMethod::Sha1, b"abc")[..4],
            [0x36, 0x3e, 0x99, 0xa9]
        );
        assert_eq!(
            sum(CheckMethod::Sha3Of256, b"abc")[..4],
            [0x3a, 0x98, 0x5d, 0xa7]
        );
    }

    #[test]
    fn a_changed_byte_changes_every_sum_but_the_one_that_has_none() {
        let data: Vec<u8> = (0..4000_u32).map(|n| ((n * 7) >> 3) as u8).collect();
        let mut changed = data.clone();
        changed[1000] ^= 1;
        for method in [
            CheckMethod::Crc7,
            CheckMethod::Crc16,
            CheckMethod::Crc32,
            CheckMethod::Crc32c,
            CheckMethod::Crc64,
            CheckMethod::Md5,
            CheckMethod::Sha1,
            CheckMethod::Sha256,
            CheckMethod::Sha3Of224,
            CheckMethod::Sha3Of256,
            CheckMethod::Sha3Of384,
            CheckMethod::Sha3Of512,
            CheckMethod::Xxh32,
        ] {
            assert_ne!(sum(method, &data), sum(method, &changed), "{method:?}");
        }
        assert_eq!(
            sum(CheckMethod::Sha512, &data),
            sum(CheckMethod::Sha512, &changed)
        );
    }
}
