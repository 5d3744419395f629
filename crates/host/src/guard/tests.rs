//! Tests of the guard: every signature in files, users in a faked machine, words, and real loop devices.

mod devices;
mod files;
mod holes;
mod loops;
mod machine;
mod stack;
mod standing;
mod table;
mod words;
mod zapped;

use std::path::Path;

use plan::{Access, TargetId, TargetKind};

use super::{Examination, Finding, Overwrite, Refused, Request, examine, guard};
use crate::root::SysRoot;

/// A request to write all of what stands at `path`.
fn write_to(path: &Path, kind: TargetKind, bytes: u64) -> Request {
    Request {
        target: TargetId(0),
        path: path.to_path_buf(),
        kind,
        access: Access::Write,
        extent: (0, bytes),
        takes: (0, bytes),
        bears_full: false,
        is_ours: false,
    }
}

fn write_to_file(path: &Path) -> Request {
    let bytes = std::fs::metadata(path).map_or(0, |facts| facts.len());
    write_to(path, TargetKind::File, bytes)
}

fn words(words: &[&str]) -> Overwrite {
    Overwrite {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        ..Overwrite::default()
    }
}

fn examine_file(path: &Path) -> Examination {
    examine(&SysRoot::real(), &[write_to_file(path)]).remove(0)
}

fn refused(requests: &[Request], overwrite: &Overwrite) -> Refused {
    guard(&SysRoot::real(), requests, overwrite).expect_err("must be refused")
}

fn is_granted(request: &Request, overwrite: &Overwrite) -> bool {
    guard(&SysRoot::real(), std::slice::from_ref(request), overwrite).is_ok()
}

fn names(findings: &[Finding]) -> Vec<&'static str> {
    findings
        .iter()
        .filter_map(|finding| match finding {
            Finding::Signature { name, .. } => Some(*name),
            _ => None,
        })
        .collect()
}

/// Bytes that are neither blank nor ours, the same each time.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    (0..len.div_ceil(8))
        .flat_map(|_| next().to_le_bytes())
        .take(len)
        .collect()
}

/// What the engine writes: a mark at the start of each 4 KiB, random data behind it.
fn our_data(len: usize, seed: u64) -> Vec<u8> {
    let mut data = noise(len, seed);
    for block in data.chunks_mut(4096) {
        let mark = &super::DATA_MARK[..super::DATA_MARK.len().min(block.len())];
        block[..mark.len()].copy_from_slice(mark);
    }
    data
}

/// Blocks as fio writes them for `verify`, each with its header, and filled from the seed in it.
fn checked_data(len: usize, block_bytes: usize, method: u16) -> Vec<u8> {
    let mut data = Vec::new();
    for number in 0..len.div_ceil(block_bytes) {
        let seed = 0x00a4_cc01_c509_543c_u64.wrapping_mul(number as u64 * 2 + 1);
        let mut group = seed;
        let block = data.len();
        while data.len() < block + block_bytes {
            for factor in [1, 2, 3, 5] {
                data.extend(group.wrapping_mul(factor).to_le_bytes());
            }
            group = group.wrapping_mul(0x61c8_8646_80b5_83eb);
        }
        data.truncate(block + block_bytes);
        let length = block_bytes as u32;
        data[block..block + 2].copy_from_slice(&[0xca, 0xac]);
        data[block + 2..block + 4].copy_from_slice(&method.to_le_bytes());
        data[block + 4..block + 8].copy_from_slice(&length.to_le_bytes());
        data[block + 8..block + 16].copy_from_slice(&seed.to_le_bytes());
        data[block + 16..block + 24].copy_from_slice(&(block as u64).to_le_bytes());
        data[block + 24..block + 36].copy_from_slice(&[7; 12]);
        seal(&mut data[block..block + 40]);
    }
    data.truncate(len);
    data
}

/// Gives a changed header the sum that it ought to have.
fn seal(header: &mut [u8]) {
    let sum = header[..36].iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 }
        })
    });
    header[36..40].copy_from_slice(&sum.to_le_bytes());
}

/// A program that another test starts has all that is open for the moment until it executes.
pub(super) fn until_let_go(is_free: impl Fn() -> bool) {
    let since = std::time::Instant::now();
    while !is_free() {
        assert!(since.elapsed().as_secs() < 10, "it stays claimed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
