//! What a job has written, kept in a file for a later run that checks only that
//! (`verify_state_save`, `verify_state_load`).
//!
//! The first line is `fathom verify state 1, parts: N`, and each of the `N` lines behind it a part:
//! the number of the file among those of the job from zero, the offset, and the length in bytes.
//! What fio 3.33 has saved is read too, as far as the job is sequential: its states of jobs at
//! random continue its own generators.
use super::codes;
use super::jobs::Job;
use super::resolve::Spec;
use super::support::{push_once, refused};
use super::value::Size;
use super::verify::Phase;
use crate::environment::Environment;
use plan::{Diagnostic, Extent, TransferSizes};
use std::fmt::Write;

/// Begins what is saved here; the version is its end.
pub const FIRST_WORDS: &str = "fathom verify state 1, parts: ";
/// How a state of fio 3.33 begins.
const FIO_VERSION: u64 = 3;
/// Bytes of a state of fio in front of its sum's range, and in front of the last writes.
const FIO_FRONT_BYTES: usize = 24;
const FIO_HEAD_BYTES: usize = 0xb0;
/// Where the generator of fio stood: zeros for jobs that draw no places.
const FIO_GENERATOR: std::ops::Range<usize> = 0x38..0x70;

/// The name that the state of a clone (from zero) has on a host, which is `local` where that is this one; that of fio.
pub fn state_name(host: &str, job: &str, clone: u32) -> String {
    format!(
        "{}-{}-{clone}-verify.state",
        host.replace('/', "."),
        job.replace('/', ".")
    )
}

/// What a state says of these parts.
pub fn state_text(written: &[Extent]) -> String {
    let mut text = format!("{FIRST_WORDS}{}\n", written.len());
    for part in written {
        let _ = writeln!(text, "{} {} {}", part.place, part.offset, part.bytes);
    }
    text
}

/// The job with what it is to read, where it loads states; their mistakes go to the blockers.
pub(crate) fn load<'a>(
    mut spec: Spec<'a>,
    environment: &Environment<'_>,
    blockers: &mut Vec<Diagnostic>,
) -> Spec<'a> {
    let job: &Job = spec.job;
    let Some(verify) = spec.verify.as_ref() else {
        return spec;
    };
    if !job.is_on(on!("verify_state_load")) || spec.is_nowhere() {
        return spec;
    }
    let place = job.place_of("verify_state_load");
    if verify.phase != Phase::Reads || spec.operations.read_pct < 100.0 {
        let what = "`verify_state_load` in a job that does not only read";
        let reason = "a job that writes checks what it writes itself";
        let help = "use `rw=read` or `verify_only` for what was written before";
        push_once(blockers, refused(what, reason, help, place));
        return spec;
    }
    let folder = environment.command_line.auxiliary.as_deref();
    for clone in 0..spec.clones {
        let name = state_name("local", job.name(), clone);
        let path = match folder {
            Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
            None => name,
        };
        let bytes = environment.files.read_data(&path);
        let found = bytes.map_err(|reason| format!("cannot be read: {reason}"));
        match found.and_then(|bytes| parts(&bytes, &spec, clone)) {
            Ok(parts) => spec.written.push(parts),
            Err(reason) => {
                let error = Diagnostic::error(codes::STATE, format!("the state `{path}` {reason}"));
                let error = error.at(place, "to be loaded");
                push_once(blockers, error.with_help(HELP));
                return spec;
            }
        }
    }
    // It is done when all parts are read.
    spec.times.is_time_based = false;
    // A job that was cut short leaves a short file; to make it longer would write over its data.
    spec.lays_out = false;
    spec
}

const HELP: &str = "a job with `verify` and the same name that writes saves one; without \
                    `verify_state_load` all of the range is checked";

impl Spec<'_> {
    /// Whether nothing is stored that could be read back.
    fn is_nowhere(&self) -> bool {
        self.method == Some(plan::IoMethod::Nothing)
    }
}

/// What a state says, or what is wrong with it.
fn parts(bytes: &[u8], spec: &Spec<'_>, clone: u32) -> Result<Vec<Extent>, String> {
    if number_at(bytes, 0) == Some(FIO_VERSION) {
        return of_fio(bytes, spec, clone);
    }
    let text = std::str::from_utf8(bytes).ok();
    let count_and_parts = text.and_then(|text| text.strip_prefix(FIRST_WORDS));
    let (count, lines) = count_and_parts
        .and_then(|rest| rest.split_once('\n'))
        .ok_or("is none of this program or of fio 3.33")?;
    let parts: Option<Vec<Extent>> = lines.lines().map(part).collect();
    let parts = parts.ok_or("has a line that is not understood")?;
    match count.parse() == Ok(parts.len()) {
        true => Ok(parts),
        false => Err("is cut short".to_owned()),
    }
}

fn part(line: &str) -> Option<Extent> {
    let mut words = line.split(' ');
    let part = Extent {
        place: words.next()?.parse().ok()?,
        offset: words.next()?.parse().ok()?,
        bytes: words.next()?.parse().ok()?,
    };
    words.next().is_none().then_some(part)
}

/// What a state of fio says of a sequential job: all writes but the last ones, of which it names
/// those that were complete.
fn of_fio(bytes: &[u8], spec: &Spec<'_>, clone: u32) -> Result<Vec<Extent>, String> {
    let damaged = || "of fio is damaged".to_owned();
    let length = number_at(bytes, 8).ok_or_else(damaged)?;
    let rest = bytes.get(FIO_FRONT_BYTES..).ok_or_else(damaged)?;
    let sum = number_at(bytes, 16).ok_or_else(damaged)?;
    if rest.len() as u64 != length || u64::from(crc32c(rest)) != sum {
        return Err(damaged());
    }
    let generator = bytes.get(FIO_GENERATOR).ok_or_else(damaged)?;
    let is_sequential = generator.iter().all(|byte| *byte == 0) && !spec.is_random;
    let begins = [spec.offset, spec.offset_increment].map(|size| match size {
        Size::Bytes(bytes) => Some(bytes),
        Size::Percent(_) => None,
    });
    let ([Some(offset), Some(increment)], true, TransferSizes::Fixed(block), 1, None) = (
        begins,
        is_sequential,
        &spec.transfer.read,
        spec.naming.count(),
        &spec.steps,
    ) else {
        return Err(
            "is of fio, and continues its own generators: of those, only jobs that go through \
             one file in order with one `bs` can be loaded"
                .to_owned(),
        );
    };
    let begin = offset.saturating_add(increment.saturating_mul(clone.into()));
    let depth = number_at(bytes, 32).ok_or_else(damaged)? & u64::from(u32::MAX);
    let writes = number_at(bytes, 40).ok_or_else(damaged)?;
    let part = |offset, bytes| Extent {
        place: 0,
        offset,
        bytes,
    };
    let surely = writes.saturating_sub(depth).saturating_mul(*block);
    let mut parts = vec![part(begin, surely)];
    let complete = number_at(bytes, 24).ok_or_else(damaged)?.min(writes);
    let (last, _) = bytes
        .get(FIO_HEAD_BYTES..)
        .ok_or_else(damaged)?
        .as_chunks::<16>();
    for pair in last.iter().take(complete as usize) {
        parts.push(part(number_at(pair, 8).ok_or_else(damaged)?, *block));
    }
    Ok(parts)
}

fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// As fio sums its states: Castagnoli's polynomial from all ones on, and not turned at the end.
fn crc32c(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ (0x82f6_3b78 & (sum & 1).wrapping_neg())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again_and_nothing_that_is_cut() {
        let part = |place, offset, bytes| Extent {
            place,
            offset,
            bytes,
        };
        let written = vec![part(0, 4096, 8192), part(1, 0, 1 << 40)];
        let text = state_text(&written);
        let read = |text: &str| {
            let (count, lines) = text
                .strip_prefix(FIRST_WORDS)
                .unwrap()
                .split_once('\n')
                .unwrap();
            let parts: Option<Vec<Extent>> = lines.lines().map(super::part).collect();
            (count.parse::<usize>().unwrap(), parts)
        };
        assert_eq!(read(&text), (2, Some(written)));
        assert_eq!(read("fathom verify state 1, parts: 1\n0 4096"), (1, None));
        assert_eq!(state_name("local", "a/b", 1), "local-a.b-1-verify.state");
    }

    #[test]
    fn the_sum_is_that_of_fio() {
        // The check value of the polynomial, before it is turned.
        assert_eq!(crc32c(b"123456789"), !0xe306_9283);
    }
}
