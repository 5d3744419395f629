//! What a queue is made for, what it was granted, and the likely cause when the kernel refuses.

use std::fmt;
use std::fs;

use crate::requests::RequestMode;

/// The most slots of a queue, as of a ring.
pub(super) const SLOTS_MAX: u32 = 65_536;

/// What a queue is made for. Nothing is implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Requests that can be outstanding, each with its buffer: 1 to 65 536. All of them count against `fs.aio-max-nr`.
    pub slots: u32,
    /// Requests submitted in one call at most, from 1.
    pub batch: u32,
    /// Bytes of each slot's buffer.
    pub buffer_bytes: usize,
    /// Alignment of each buffer in memory, bytes: a power of two.
    pub buffer_align: usize,
    /// Take completions from the ring that the kernel shares, without a call, where its layout is known.
    pub reap_in_memory: bool,
    /// What each request asks for. Refused are polling and threads of the kernel, which only rings know.
    pub mode: RequestMode,
}

/// What the kernel granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueFeatures {
    /// Completions are taken without a call.
    pub reaps_in_memory: bool,
}

/// Why there is no queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRefused {
    /// As the kernel gave it.
    pub errno: i32,
    pub(super) step: Step,
    /// `fs.aio-max-nr` and `fs.aio-nr` at the time of the refusal, where they could be read.
    limit: Option<(u64, u64)>,
    slots: u32,
}

/// Where making a queue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Config,
    Buffers,
    Context,
}

impl fmt::Display for QueueFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.reaps_in_memory {
            "completions taken in memory"
        } else {
            "completions taken by calls"
        })
    }
}

impl QueueRefused {
    pub(super) fn new(step: Step, errno: i32, slots: u32) -> QueueRefused {
        let number = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/fs/{name}")).ok()?;
            text.trim().parse().ok()
        };
        QueueRefused {
            errno,
            step,
            limit: number("aio-max-nr").zip(number("aio-nr")),
            slots,
        }
    }

    fn likely_cause(&self) -> String {
        match (self.step, self.errno, self.limit) {
            (Step::Config, ..) => format!(
                "1 to {SLOTS_MAX} slots are possible, a batch from 1, and buffers above 0 bytes"
            ),
            (Step::Buffers, ..) => {
                format!(
                    "no memory for the buffers: {}",
                    crate::refused::limit_text()
                )
            }
            (_, libc::EAGAIN, Some((max, used))) => format!(
                "{} requests are more than `fs.aio-max-nr` = {max} leaves, of which {used} are in use; \
                 raise it with `sysctl fs.aio-max-nr=N`",
                self.slots
            ),
            (_, libc::EAGAIN, None) => format!(
                "{} requests are more than `fs.aio-max-nr` leaves; raise it with `sysctl fs.aio-max-nr=N`",
                self.slots
            ),
            (_, libc::ENOSYS, _) => {
                "this kernel has no native AIO, or a seccomp filter hides it, as containers do"
                    .to_owned()
            }
            (_, libc::EPERM | libc::EACCES, _) => {
                "forbidden by a seccomp filter, as containers have".to_owned()
            }
            (_, libc::ENOMEM, _) => "no memory for the queue".to_owned(),
            _ => "an unusual cause, see io_setup(2)".to_owned(),
        }
    }
}

impl fmt::Display for QueueRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.errno {
            libc::EAGAIN => "EAGAIN",
            libc::ENOSYS => "ENOSYS",
            libc::EPERM => "EPERM",
            libc::EACCES => "EACCES",
            libc::ENOMEM => "ENOMEM",
            libc::EINVAL => "EINVAL",
            other => {
                return write!(
                    f,
                    "native AIO refused (errno {other}): {}",
                    self.likely_cause()
                );
            }
        };
        write!(f, "native AIO refused ({name}): {}", self.likely_cause())
    }
}

impl std::error::Error for QueueRefused {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_likely_cause() {
        let text = |step, errno, limit| {
            QueueRefused {
                errno,
                step,
                limit,
                slots: 128,
            }
            .to_string()
        };
        assert_eq!(
            text(Step::Context, libc::EAGAIN, Some((64, 1))),
            "native AIO refused (EAGAIN): 128 requests are more than `fs.aio-max-nr` = 64 leaves, of which 1 are in \
             use; raise it with `sysctl fs.aio-max-nr=N`"
        );
        assert!(text(Step::Context, libc::EAGAIN, None).contains("fs.aio-max-nr"));
        assert!(text(Step::Context, libc::ENOSYS, None).contains("no native AIO"));
        assert!(text(Step::Context, libc::EPERM, None).contains("seccomp"));
        assert!(text(Step::Context, libc::EIO, None).starts_with("native AIO refused (errno 5)"));
        assert!(text(Step::Buffers, libc::ENOMEM, None).contains("buffers"));
        assert!(text(Step::Config, libc::EINVAL, None).contains("possible"));
    }
}
