//! What failed I/Os of a job lead to: which of them it goes on after, by their numbers.
use super::codes;
use super::jobs::{Given, Job};
use crate::nearest::instead_of;
use crate::sink::Sink;
use plan::Tolerance;

/// What a job that goes on after errors goes on after, unless it names numbers: EIO and EILSEQ.
const USUAL: [i32; 2] = [5, 84];

/// fio knows the names of the errors up to this number alone, and asks for the number of any other.
const LAST_NAMED: i32 = 34;

/// fio keeps so many lists: of reads, of writes, of checks.
const LISTS: usize = 3;

/// Numbers of errors by their names, as Linux has them.
const NAMES: &[(&str, i32)] = &[
    ("EPERM", 1),
    ("ENOENT", 2),
    ("ESRCH", 3),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("ENOEXEC", 8),
    ("EBADF", 9),
    ("ECHILD", 10),
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
    ("EDOM", 33),
    ("ERANGE", 34),
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

/// Of a job; every other failure ends it. The two options are read in their order: `continue_on_error` says anew for which
/// kinds of I/O the job goes on, `ignore_error` adds those that it has a list for.
pub(crate) fn tolerance(job: &Job, sink: &mut Sink) -> Tolerance {
    let mut goes_on = kinds(job.text_of(text!("continue_on_error")));
    let mut named: [Vec<i32>; LISTS] = Default::default();
    let given = job.all();
    let counting = given.filter(|given| {
        let name = given.parameter.name();
        name == "ignore_error" || name == "continue_on_error"
    });
    for given in counting {
        if given.parameter.name() == "continue_on_error" {
            check_kinds(given, sink);
            goes_on = kinds(given.text());
            continue;
        }
        if given.text().split(',').count() > LISTS {
            let message =
                format!("`ignore_error` has {LISTS} lists: of reads, of writes, of checks");
            let help = "part the errors of one list with `:`";
            sink.error(codes::FORM, given.span(), message, "too many lists", help);
        }
        for (place, text) in given.text().split(',').enumerate().take(LISTS) {
            let numbers = numbers(given, text, sink);
            if !numbers.is_empty() {
                (named[place], goes_on[place]) = (numbers, true);
            }
        }
    }
    let mut lists = named.into_iter().zip(goes_on).map(|(named, goes_on)| {
        let list = if named.is_empty() {
            USUAL.to_vec()
        } else {
            named
        };
        if goes_on { list } else { Vec::new() }
    });
    let mut next = || lists.next().unwrap_or_default();
    let mut out = Tolerance {
        reads: next(),
        writes: next(),
        checks: next(),
        ..Tolerance::default()
    };
    out.ends_at_other_data = job.is_on(on!("verify_fatal"));
    let of_all = job.word_of(word!("exit_what")) == "all";
    out.ends_execution = of_all && job.is_on(on!("exitall_on_error"));
    out
}

/// Reads, writes and checks, as `continue_on_error` names them.
fn kinds(text: &str) -> [bool; LISTS] {
    let mut out = [false; LISTS];
    for word in text.split(',').map(str::trim) {
        let named = match word {
            "read" => [true, false, false],
            "write" => [false, true, false],
            "io" => [true, true, false],
            "verify" => [false, false, true],
            "all" | "1" => [true; LISTS],
            _ => [false; LISTS],
        };
        out.iter_mut()
            .zip(named)
            .for_each(|(out, named)| *out |= named);
    }
    out
}

/// fio looks at the first word alone.
fn check_kinds(given: &Given, sink: &mut Sink) {
    let first = given.text().split(',').next().unwrap_or("").trim();
    let known = ["none", "read", "write", "io", "verify", "all", "0", "1"];
    if !known.contains(&first) {
        let message = format!("`continue_on_error` cannot be `{first}`");
        let help = instead_of(first, known);
        sink.error(codes::FORM, given.span(), message, "not understood", help);
    }
}

/// One list, of names and numbers.
fn numbers(given: &Given, text: &str, sink: &mut Sink) -> Vec<i32> {
    let words = text.split(':').filter(|word| !word.is_empty());
    let number = |word: &str| {
        let number = number(word);
        if number.is_none() {
            let known = NAMES.iter().find(|(name, _)| *name == word.trim());
            let help = match known {
                Some((_, number)) => format!("write its number: `{number}`"),
                None => "give names such as `ENOSPC`, or numbers: `ignore_error=EIO:61,ENOSPC` has those of reads and of writes"
                    .to_owned(),
            };
            let message = format!("fio knows no error by the name `{word}`");
            sink.error(codes::FORM, given.span(), message, "not understood", &help);
        }
        number
    };
    words.filter_map(number).collect()
}

/// A name that fio knows, or a number that ends where its digits do. The sign of a number has no meaning.
fn number(word: &str) -> Option<i32> {
    if word.starts_with('E') {
        let is_known = |(name, number): &&(&str, i32)| {
            *name == word && *number <= LAST_NAMED && *name != "EWOULDBLOCK"
        };
        return NAMES.iter().find(is_known).map(|(_, number)| *number);
    }
    let digits = word.trim_start().trim_start_matches(['-', '+']);
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let digits = &digits[..end.unwrap_or(digits.len())];
    // More than any error has; nothing is covered by it.
    let number = match digits.parse() {
        Err(_) if !digits.is_empty() => i32::MAX,
        parsed => parsed.ok()?,
    };
    (number != 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn names_and_numbers_are_those_of_fio() {
        for (word, expected) in [
            ("EIO", Some(5)),
            ("ERANGE", Some(34)),
            ("EILSEQ", None),
            ("ENODATA", None),
            ("EWOULDBLOCK", None),
            ("eio", None),
            ("EIO ", None),
            ("84", Some(84)),
            ("-28", Some(28)),
            ("+5", Some(5)),
            ("5k", Some(5)),
            ("5.5", Some(5)),
            ("0", None),
            ("0x5", None),
            ("99999999999", Some(i32::MAX)),
            ("", None),
        ] {
            assert_eq!(number(word), expected, "{word}");
        }
    }
}
