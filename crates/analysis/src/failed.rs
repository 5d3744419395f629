//! What failed in a run: on which targets, with which errors, how often and from when on.
use crate::words::{counted, span};
use measure::{Interval, IoFailure};
use plan::TargetId;

/// Kinds of failures that are told apart; further ones count alone.
const KINDS_MAX: usize = 64;

/// Kinds that a sentence names.
const NAMED: usize = 2;

/// Failed I/Os of a run, those of its warm-up among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailedIos {
    pub count: u64,
    /// Of those that are known one by one, by target and error, in the order of their first.
    kinds: Vec<FailedKind>,
    /// Streams that a failure ended.
    streams_ended: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FailedKind {
    target: TargetId,
    errno: i32,
    message: String,
    first_unix_ns: u64,
    count: u64,
}

impl FailedIos {
    pub(crate) fn add(&mut self, failure: &IoFailure) {
        let key = (failure.target, failure.errno);
        let mut kinds = self.kinds.iter_mut();
        if let Some(kind) = kinds.find(|kind| (kind.target, kind.errno) == key) {
            kind.count += 1;
            kind.first_unix_ns = kind.first_unix_ns.min(failure.unix_ns);
        } else if self.kinds.len() < KINDS_MAX {
            self.kinds.push(FailedKind {
                target: failure.target,
                errno: failure.errno,
                message: text_of(failure),
                first_unix_ns: failure.unix_ns,
                count: 1,
            });
        }
    }

    pub(crate) fn count(&mut self, interval: &Interval) {
        let errors = interval.figures.iter().map(|figure| figure.errors);
        self.count += errors.sum::<u64>();
    }

    pub(crate) fn end_stream(&mut self) {
        self.streams_ended += 1;
    }

    /// Where, with which error and when first, and how many of all `streams` ended early; empty where no failure is known by
    /// itself.
    pub(crate) fn text(
        &self,
        begun_unix_ns: u64,
        streams: usize,
        name: &dyn Fn(TargetId) -> String,
    ) -> String {
        let mut kinds: Vec<&FailedKind> = self.kinds.iter().collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        let text = |kind: &&FailedKind| {
            let first_ns = kind.first_unix_ns.saturating_sub(begun_unix_ns);
            format!(
                "`{}`: {}, first after {}",
                name(kind.target),
                kind.message,
                span(first_ns)
            )
        };
        let told: Vec<String> = kinds.iter().take(NAMED).map(text).collect();
        let more = match kinds.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {}", counted(more as u64, "other kind")),
        };
        let early = match (self.streams_ended, streams) {
            (0, _) => String::new(),
            (_, 1) => "; the job ended early".to_owned(),
            (ended, all) => format!("; {ended} of {all} jobs ended early"),
        };
        told.join("; ") + &more + &early
    }
}

/// The name of an error and what it means: `EIO (Input/output error)`.
fn text_of(failure: &IoFailure) -> String {
    if failure.misfit.is_some() {
        return "read other data than were written".to_owned();
    }
    let message = failure.message.split(" (os error").next();
    let message = message.unwrap_or_default();
    match errno_name(failure.errno) {
        Some(name) => format!("{name} ({message})"),
        None => message.to_owned(),
    }
}

/// errno(3), on Linux; of those that storage answers with.
fn errno_name(errno: i32) -> Option<&'static str> {
    const NAMES: [(i32, &str); 24] = [
        (1, "EPERM"),
        (5, "EIO"),
        (6, "ENXIO"),
        (9, "EBADF"),
        (11, "EAGAIN"),
        (12, "ENOMEM"),
        (13, "EACCES"),
        (14, "EFAULT"),
        (16, "EBUSY"),
        (19, "ENODEV"),
        (22, "EINVAL"),
        (27, "EFBIG"),
        (28, "ENOSPC"),
        (30, "EROFS"),
        (52, "EBADE"),
        (61, "ENODATA"),
        (67, "ENOLINK"),
        (84, "EILSEQ"),
        (95, "EOPNOTSUPP"),
        (107, "ENOTCONN"),
        (110, "ETIMEDOUT"),
        (116, "ESTALE"),
        (121, "EREMOTEIO"),
        (122, "EDQUOT"),
    ];
    let known = NAMES.iter().find(|(number, _)| *number == errno);
    known.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Operation, StreamId};

    #[test]
    fn the_most_frequent_kinds_are_told_with_their_first() {
        let failure = |target: u32, errno: i32, seconds: u64| IoFailure {
            run: 0,
            unix_ns: seconds * 1_000_000_000,
            stream: StreamId(0),
            target: TargetId(target),
            operation: Operation::Read,
            offset: 0,
            length: 4096,
            errno,
            message: format!("text of {errno} (os error {errno})"),
            misfit: None,
            host: 0,
            worker: None,
        };
        let mut failed = FailedIos::default();
        let name = |target: TargetId| format!("t{}", target.0);
        assert_eq!(failed.text(0, 1, &name), "");
        failed.add(&failure(0, 999, 13));
        for second in [12, 11, 14] {
            failed.add(&failure(1, 5, second));
        }
        assert_eq!(
            failed.text(10_000_000_000, 1, &name),
            "`t1`: EIO (text of 5), first after 1 s; `t0`: text of 999, first after 3 s"
        );
        failed.add(&failure(2, 28, 15));
        assert!(failed.text(0, 1, &name).ends_with("; and 1 other kind"));
        failed.end_stream();
        assert!(
            failed
                .text(0, 1, &name)
                .ends_with("kind; the job ended early")
        );
        assert!(
            failed
                .text(0, 3, &name)
                .ends_with("kind; 1 of 3 jobs ended early")
        );
    }
}
