//! `cargo xtask static`: the program with the C library in it, so that a host with an older one, or with none, starts it.
use crate::{command, workspace};
use std::path::Path;

/// What tells the compiler; what the environment says already is kept.
const FLAG: &str = "-C target-feature=+crt-static";

/// A program header that names the loader which brings in the C library of the host.
const PT_INTERP: u32 = 3;

/// Builds the program and prints where it is.
pub fn run(root: &Path) -> Result<(), String> {
    let triple = triple(root)?;
    let flags = match std::env::var("RUSTFLAGS") {
        Ok(own) if !own.is_empty() => format!("{own} {FLAG}"),
        _ => FLAG.to_owned(),
    };
    // With a target named, the flags are for the program alone: macros of the compiler cannot be static.
    let build = [
        "build",
        "--profile",
        "dist",
        "--locked",
        "--package",
        "fathom",
        "--target",
        &triple,
    ];
    command::run(root, &command::cargo(), &build, &[("RUSTFLAGS", &flags)])?;
    let program = workspace::target(root).join(triple).join("dist/fathom");
    let shown = program.display();
    let bytes = std::fs::read(&program).map_err(|error| format!("{shown}: {error}"))?;
    match has_loader(&bytes) {
        Some(false) => {
            println!("{shown}");
            Ok(())
        }
        Some(true) => Err(format!(
            "{shown} is not static: it names a loader, which brings in the C library of each host; is \
             `CARGO_ENCODED_RUSTFLAGS` set, so that `RUSTFLAGS` has no effect?"
        )),
        None => Err(format!("{shown} is no ELF file of 64 bits")),
    }
}

/// The machine for which this compiler builds when it is not told another.
fn triple(root: &Path) -> Result<String, String> {
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let told = command::output(root, &compiler, &["-vV"])?;
    let triple = told.lines().find_map(|line| line.strip_prefix("host: "));
    triple
        .map(str::to_owned)
        .ok_or_else(|| format!("`{compiler} -vV` names no host"))
}

/// Whether a program is started by a loader; `None` where the bytes are no ELF file of 64 bits.
fn has_loader(bytes: &[u8]) -> Option<bool> {
    // Words in the order of bytes of this machine, as the program is built for it.
    let half = |at: usize| Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    if !bytes.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let (headers, size, count) = (long(32)?, half(54)?, half(56)?);
    for place in 0..usize::from(count) {
        let at = usize::try_from(headers).ok()?;
        let at = at.checked_add(place * usize::from(size))?;
        if word(at)? == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one program header for each of these kinds.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02".to_vec();
        bytes.resize(64, 0);
        bytes[32..40].copy_from_slice(&64_u64.to_ne_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_ne_bytes());
        bytes[56..58].copy_from_slice(&(kinds.len() as u16).to_ne_bytes());
        for kind in kinds {
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(bytes.len() + 52, 0);
        }
        bytes
    }

    #[test]
    fn a_program_with_a_loader_is_not_static() {
        assert_eq!(has_loader(&program(&[1, 6, 2])), Some(false));
        assert_eq!(has_loader(&program(&[6, 1, PT_INTERP])), Some(true));
    }

    #[test]
    fn what_is_cut_off_or_no_program_is_neither() {
        assert_eq!(has_loader(b"#!/bin/sh\n"), None);
        let whole = program(&[1, PT_INTERP]);
        assert_eq!(has_loader(&whole[..64]), None);
        assert_eq!(has_loader(&whole[..20]), None);
    }
}
