//! What fio says of I/Os that fail and of data that are not what was written. Its words, as programs
//! look for them.
use super::faults::plain_error;
use measure::{IoFailure, Misfit, MisfitKind};
use plan::{CheckMethod, Operation};
use std::fmt::Write;

/// The lines of one failure.
pub(super) fn failure(failure: &IoFailure, file: &str) -> String {
    let Some(misfit) = &failure.misfit else {
        return failed(failure, file);
    };
    let Misfit {
        block_offset,
        block_bytes,
        expected,
        found,
        ..
    } = misfit.as_ref();
    let hexadecimal = |number: &str| format!("{:x}", number.parse::<u64>().unwrap_or(0));
    let place = format!(
        "at file {file} offset {block_offset}, length {block_bytes} (requested block: offset={}, length={}",
        failure.offset, failure.length
    );
    let header = |what: String| format!("verify: {what} {place})\n");
    match misfit.what {
        MisfitKind::Magic => header(format!(
            "bad magic header {}, wanted {}",
            hexadecimal(found),
            hexadecimal(expected)
        )),
        MisfitKind::Length => header(format!("bad header length {found}, wanted {expected}")),
        MisfitKind::Address => header(format!("bad header offset {found}, wanted {expected}")),
        MisfitKind::HeaderSum => header(format!(
            "bad header crc {}, calculated {}",
            hexadecimal(found),
            hexadecimal(expected)
        )),
        MisfitKind::OtherWrite => header(format!(
            "bad header rand_seed {found}, wanted {expected} (of another write)"
        )),
        MisfitKind::Method => header(format!(
            "verify type mismatch ({found} media, {expected} given)"
        )),
        MisfitKind::Data => {
            let method = name(misfit.method);
            let mut out = format!("{method}: verify failed {place}, flags=8)\n");
            let _ = writeln!(out, "       Expected CRC: {expected}");
            let _ = writeln!(out, "       Received CRC: {found}");
            out
        }
        MisfitKind::Pattern { at } => {
            let bits = |text: &str| u8::from_str_radix(text, 16).unwrap_or(0);
            let wrong = (bits(expected) ^ bits(found)).count_ones();
            let at = at.saturating_sub(misfit.method.header_bytes() as u64);
            format!(
                "fio: got pattern '{found}', wanted '{expected}'. Bad bits {wrong}\n\
                 fio: bad pattern block offset {at}\n\
                 {}: verify failed {place}, flags=8)\n",
                name(misfit.method)
            )
        }
        MisfitKind::NotZero { at } => {
            let (offset, length) = (failure.offset, failure.length);
            let behind = block_offset.saturating_sub(offset) + at;
            format!(
                "trim: verify failed at file {file} offset {offset}, length {length}, block offset {behind}\n"
            )
        }
    }
}

fn failed(failure: &IoFailure, file: &str) -> String {
    let what = match failure.operation {
        Operation::Read | Operation::Write | Operation::Trim => failure.operation.name(),
        _ => "sync",
    };
    let error = plain_error(&failure.message);
    let (offset, length) = (failure.offset, failure.length);
    format!("fio: io_u error on file {file}: {error}: {what} offset={offset}, buflen={length}\n")
}

/// The word by which fio tells the method.
fn name(method: CheckMethod) -> &'static str {
    match method {
        CheckMethod::Nothing => "null",
        CheckMethod::Pattern | CheckMethod::HeaderAndPattern => "pattern",
        CheckMethod::HeaderOnly => "meta",
        CheckMethod::Crc7 => "crc7",
        CheckMethod::Crc16 => "crc16",
        CheckMethod::Crc32 => "crc32",
        CheckMethod::Crc32c => "crc32c",
        CheckMethod::Crc64 => "crc64",
        CheckMethod::Md5 => "md5",
        CheckMethod::Sha1 => "sha1",
        CheckMethod::Sha256 => "sha256",
        CheckMethod::Sha512 => "sha512",
        CheckMethod::Sha3Of224 => "sha3-224",
        CheckMethod::Sha3Of256 => "sha3-256",
        CheckMethod::Sha3Of384 => "sha3-384",
        CheckMethod::Sha3Of512 => "sha3-512",
        CheckMethod::Xxh32 => "xxhash",
    }
}
