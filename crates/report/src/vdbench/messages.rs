//! Lines that are no table: titles of runs, failed I/O, the end. Texts that scripts look for are
//! the original's; all others are our own.
use analysis::GapCause;
use analysis::words::{bounded, percent};
use measure::{FinishReason, IoFailure, Outstanding};
use plan::Nanos;

/// The last lines of an execution.
#[derive(Debug, Default)]
pub struct Ending {
    pub console: Vec<String>,
    pub summary: Vec<String>,
    pub is_by_user: bool,
}

/// Sequential workloads ended a run.
pub const ENDED_AT_SIZE: [&str; 2] = [
    "All sequential workloads on all slaves are done.",
    "The run ends with them, whatever other workloads it has.",
];

/// The amount of data that a run was to move was moved.
pub fn reached_total(limit: &str, bytes: u64, run: &str) -> String {
    let size = lang::vdbench::short_number(bytes as f64);
    format!("Reached {limit}={size}. rd={run} shutting down after next interval.")
}

/// A point of a curve was slower than `stopcurve` allows, both in ms.
pub fn curve_ended(limit_ms: f64, observed_ms: f64) -> String {
    format!(
        "Vdbench terminating because of requested 'stopcurve={limit_ms}' with observed response time \
         of {observed_ms:.3} ms"
    )
}

/// What arrivals waited for.
pub fn cause(cause: &GapCause) -> String {
    match *cause {
        GapCause::Slots { exhausted_share } => format!(
            "cause: no thread was free for {} of the time; a run with more threads, or at a lower \
             rate, tells whether the device has room",
            percent(exhausted_share)
        ),
        GapCause::Device {
            longest_ns,
            is_bound,
        } => format!(
            "cause: the device, whose longest I/O took {}",
            bounded(is_bound, Nanos(longest_ns).to_string())
        ),
        GapCause::Lateness { lateness_ns_p99 } => format!(
            "cause: Fathom itself sent I/Os late, p99 {}, with threads free",
            Nanos(lateness_ns_p99)
        ),
        GapCause::Unsettled {
            exhausted_share,
            off_cpu_share,
        } => format!(
            "cause not settled: no thread was free for {} of the time, and Fathom was without a CPU for up to {}",
            percent(exhausted_share),
            percent(off_cpu_share)
        ),
        GapCause::Overhead => {
            "cause: Fathom itself, as nothing that stores data was reached".to_owned()
        }
    }
}

/// The mark of an interval whose rates are over less than its nominal length.
pub fn cut_short(number: u32, seconds: f64) -> String {
    format!(
        "*** interval {number} was cut short: its rates are over its true length, {seconds:.3} s ***"
    )
}

/// What takes the place of the averages, where the record of an execution ends in the middle.
pub fn broken_off(run: Option<&str>) -> String {
    match run {
        Some(run) => format!(
            "*** rd={run} was killed or is still running: its end was not recorded, and it has no averages ***"
        ),
        None => "*** the execution was killed or is still running: its end was not recorded ***"
            .to_owned(),
    }
}

/// The same where the end was recorded, if there was one, in a part of the result file that is lost.
pub fn end_lost(run: Option<&str>) -> String {
    match run {
        Some(run) => format!("*** the end of rd={run} is lost, and it has no averages ***"),
        None => "*** the end of the execution is lost ***".to_owned(),
    }
}

/// What a page says that was made of a damaged result file.
pub fn damaged(damage: &str) -> String {
    format!("*** this result is damaged: {damage}; averages are of what is left ***")
}

/// The title of a run on a page.
pub fn anchored(anchor: &str, line: &str) -> [String; 3] {
    let title = format!("<a name=\"{anchor}\"></a><i><b>{line}</b></i>");
    [String::new(), title, String::new()]
}

/// A failed I/O, with the fields of the original.
pub fn failure(failure: &IoFailure, path: &str) -> String {
    format!(
        "op: {:<6} lun: {path:<30} lba: {:>12} 0x{:08X} xfer: {:>8} errno: {}: '{}' ",
        failure.operation.name(),
        failure.offset,
        failure.offset,
        failure.length,
        errno_name(failure.errno).map_or(failure.errno.to_string(), String::from),
        failure.message,
    )
}

/// How many I/Os failed in a run.
pub fn error_count(errors: u64) -> Vec<String> {
    let count = format!("Total Data Validation or I/O error count: {errors}");
    vec!["*".to_string(), count, "*".to_string()]
}

/// I/Os that did not come back.
pub fn outstanding(left: &[Outstanding], path: impl Fn(&Outstanding) -> String) -> Vec<String> {
    let line = |io: &Outstanding| {
        format!(
            "*** not returned: op: {:<6} lun: {:<30} lba: {:>12} 0x{:08X} xfer: {:>8} for {}",
            io.operation.name(),
            path(io),
            io.offset,
            io.offset,
            io.length,
            Nanos(io.age_ns),
        )
    };
    left.iter().map(line).collect()
}

/// One line on I/Os that came back a second after the end of their run, or later.
pub fn late(late: &[Outstanding]) -> Vec<String> {
    let after = late.iter().filter_map(|io| io.returned_after_ns);
    let after: Vec<u64> = after.filter(|ns| *ns >= 1_000_000_000).collect();
    let Some(longest) = after.iter().max() else {
        return Vec::new();
    };
    let count = after.len();
    let longest = Nanos(*longest);
    let text = match count {
        1 => format!(
            "1 I/O was outstanding at the end of the run and returned {longest} after it; it is not in the columns above"
        ),
        _ => format!(
            "{count} I/Os were outstanding at the end of the run and returned up to {longest} after it; they are not in the columns above"
        ),
    };
    vec![format!("*** {text} ***")]
}

/// The end, by its reason and by the failed I/Os of all runs.
pub fn ending(reason: &FinishReason, errors: u64, dir: &str) -> Ending {
    let done = "Vdbench execution completed successfully";
    let same = |lines: Vec<String>| Ending {
        console: lines.clone(),
        summary: lines,
        is_by_user: *reason == FinishReason::StoppedByUser,
    };
    let because = match reason {
        FinishReason::Complete | FinishReason::ReachedTotal => None,
        FinishReason::SearchEnded { message } => Some(message.clone()),
        FinishReason::TooManyErrors => {
            let line =
                "Vdbench terminating due to Data Validation or I/O errors. See errorlog.html.";
            return same(vec![line.to_string()]);
        }
        FinishReason::StoppedByUser => {
            return same(vec!["CTRL-C requested. vdbench terminating".to_string()]);
        }
        FinishReason::Failed { message } => {
            return same(vec![format!("Vdbench terminating: {message}")]);
        }
    };
    if errors > 0 {
        return ending(&FinishReason::TooManyErrors, errors, dir);
    }
    let with_end = |end: String| because.clone().into_iter().chain([end]).collect();
    Ending {
        console: with_end(format!("{done}. Output directory: {dir} ")),
        summary: with_end(done.to_string()),
        is_by_user: false,
    }
}

fn errno_name(errno: i32) -> Option<&'static str> {
    let name = match errno {
        5 => "EIO",
        6 => "ENXIO",
        9 => "EBADF",
        11 => "EAGAIN",
        12 => "ENOMEM",
        13 => "EACCES",
        14 => "EFAULT",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        27 => "EFBIG",
        28 => "ENOSPC",
        30 => "EROFS",
        52 => "EBADE",
        61 => "ENODATA",
        67 => "ENOLINK",
        84 => "EILSEQ",
        95 => "EOPNOTSUPP",
        107 => "ENOTCONN",
        110 => "ETIMEDOUT",
        116 => "ESTALE",
        121 => "EREMOTEIO",
        122 => "EDQUOT",
        123 => "ENOMEDIUM",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{Operation, StreamId, TargetId};

    #[test]
    fn a_failed_io_has_the_columns_of_the_reference() {
        let io = IoFailure {
            run: 0,
            unix_ns: 0,
            stream: StreamId(0),
            target: TargetId(0),
            operation: Operation::Read,
            offset: 40_960,
            length: 4096,
            errno: 5,
            message: "Input/output error".into(),
            misfit: None,
            host: 0,
            worker: None,
        };
        let expected = "op: read   lun: /dev/sdx                       lba:        40960 0x0000A000 xfer:     4096 errno: EIO: 'Input/output error' ";
        assert_eq!(failure(&io, "/dev/sdx"), expected);
    }

    #[test]
    fn success_is_only_claimed_without_errors() {
        let complete = ending(&FinishReason::Complete, 0, "/out");
        assert_eq!(
            complete.console,
            ["Vdbench execution completed successfully. Output directory: /out "]
        );
        assert_eq!(
            complete.summary,
            ["Vdbench execution completed successfully"]
        );
        let reasons = [
            (FinishReason::Complete, 1),
            (FinishReason::TooManyErrors, 50),
            (FinishReason::StoppedByUser, 0),
            (
                FinishReason::Failed {
                    message: "disk full".into(),
                },
                0,
            ),
        ];
        for (reason, errors) in reasons {
            let end = ending(&reason, errors, "/out");
            assert!(!end.console.concat().contains("successfully"), "{reason:?}");
            assert!(!end.summary.is_empty());
        }
    }
}
