//! Tests of the guard: every signature in files, users in a faked machine, words, and real loop devices.

mod devices;
mod files;
mod machine;
mod table;
mod words;

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
        bytes,
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
