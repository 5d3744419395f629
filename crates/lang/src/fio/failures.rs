//! What failed I/Os of a job lead to: which of them it goes on after, by their numbers.
use super::codes;
use super::jobs::{Given, Job};
use crate::sink::Sink;
use plan::Tolerance;

/// What a job that goes on after errors goes on after, unless it names numbers: EIO and EILSEQ.
const USUAL: [i32; 2] = [5, 84];

/// Numbers of errors by their names, as Linux has them.
const NAMES: &[(&str, i32)] = &[
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("EWOULDBLOCK", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("ENOTBLK", 15),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOTTY", 25),
    ("ETXTBSY", 26),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EROFS", 30),
    ("EMLINK", 31),
    ("EPIPE", 32),
    ("ENOSYS", 38),
    ("ENODATA", 61),
    ("ETIME", 62),
    ("ENOLINK", 67),
    ("EPROTO", 71),
    ("EBADMSG", 74),
    ("EOVERFLOW", 75),
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
    ("ENOTSUP", 95),
    ("ENOBUFS", 105),
    ("ESHUTDOWN", 108),
    ("ETIMEDOUT", 110),
    ("EHOSTDOWN", 112),
    ("EHOSTUNREACH", 113),
    ("EALREADY", 114),
    ("ESTALE", 116),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
    ("EMEDIUMTYPE", 124),
    ("ECANCELED", 125),
];

/// Of a job; every other failure ends it.
pub(crate) fn tolerance(job: &Job, sink: &mut Sink) -> Tolerance {
    let words = job.text("continue_on_error").unwrap_or("none");
    let mut out = Tolerance::default();
    for word in words.split(',').map(str::trim) {
        let (reads, writes, checks) = match word {
            "read" => (true, false, false),
            "write" => (false, true, false),
            "io" => (true, true, false),
            "verify" => (false, false, true),
            "all" | "1" => (true, true, true),
            _ => (false, false, false),
        };
        let lists = [
            (&mut out.reads, reads),
            (&mut out.writes, writes),
            (&mut out.checks, checks),
        ];
        for (list, _) in lists.into_iter().filter(|(_, goes_on)| *goes_on) {
            *list = USUAL.to_vec();
        }
    }
    if let Some(given) = job.given("ignore_error") {
        let lists = [&mut out.reads, &mut out.writes, &mut out.checks];
        for (list, text) in lists.into_iter().zip(given.text().split(',')) {
            let numbers = numbers(given, text, sink);
            if !numbers.is_empty() {
                *list = numbers;
            }
        }
    }
    out.ends_at_other_data = job.is_on("verify_fatal", false);
    let of_all = job.word("exit_what").is_some_and(|(word, _)| word == "all");
    out.ends_execution = of_all && job.is_on("exitall_on_error", false);
    out
}

/// One list, of names and numbers.
fn numbers(given: &Given, text: &str, sink: &mut Sink) -> Vec<i32> {
    let words = text.split(':').map(str::trim);
    let number = |word: &str| {
        let named = NAMES.iter().find(|(name, _)| *name == word);
        let number = word.parse().ok().filter(|number| *number > 0);
        let number = named.map(|(_, number)| *number).or(number);
        if number.is_none() {
            let message = format!("`{word}` names no error");
            let help = "names such as `ENOSPC`, or their numbers: `ignore_error=EIO:ENODATA,ENOSPC` has those of reads and of writes";
            sink.error(codes::FORM, given.span(), message, "not understood", help);
        }
        number
    };
    words
        .filter(|word| !word.is_empty())
        .filter_map(number)
        .collect()
}
