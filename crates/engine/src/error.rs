//! Why a run could not be carried out, in words.
use crate::kind::BackendKind;
use std::fmt;
use std::io;

/// Of the thread of a worker.
pub(crate) const WORKER_STACK_BYTES: usize = 256 << 10;

/// Why a run could not be carried out.
#[derive(Debug)]
#[non_exhaustive]
pub enum EngineError {
    QueueRefused(String),
    Memory(io::Error),
    Thread(io::Error),
    Submit(io::Error),
    /// A worker cannot run where, or as urgently as, its stream asks for.
    Placement {
        what: String,
        error: io::Error,
    },
    /// A stream asks for memory to be held, and it cannot be had.
    HeldMemory {
        bytes: u64,
        error: io::Error,
    },
    /// A target cannot be mapped, or not as far as it is to be used.
    Mapping(io::Error),
    /// A pool asks for what the backend cannot do.
    Unserved {
        kind: BackendKind,
        what: &'static str,
    },
    WorkerDied,
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::QueueRefused(text) => write!(f, "{text}; use `--backend sync`"),
            EngineError::Memory(error) => write!(f, "no memory for buffers of {error}"),
            EngineError::Thread(error) => {
                write!(
                    f,
                    "a worker thread with a stack of {WORKER_STACK_BYTES} bytes cannot be started: {error} (see `ulimit -u`; {}; or ask for fewer slots)",
                    sys::refused::limit_text()
                )
            }
            EngineError::Submit(error) => write!(f, "the kernel no longer takes requests: {error}"),
            EngineError::Placement { what, error } => {
                let right = match error.raw_os_error() {
                    Some(1 | 13) => " (requires root)",
                    _ => "",
                };
                write!(f, "a worker cannot have {what}: {error}{right}")
            }
            EngineError::HeldMemory { bytes, error } => {
                write!(f, "{bytes} bytes of memory cannot be held: {error}")?;
                match sys::memory::memlock_limit() {
                    Some(limit) if limit < *bytes => write!(
                        f,
                        " (`ulimit -l` lets a user without `CAP_IPC_LOCK` lock {} KiB)",
                        limit >> 10
                    ),
                    _ => write!(f, " (no such memory is free)"),
                }
            }
            EngineError::Mapping(error) => write!(
                f,
                "a target cannot be mapped into memory: {error} (another engine reaches it by calls)"
            ),
            EngineError::Unserved { kind, what } => write!(
                f,
                "the backend `{kind}` cannot {what}, as the job asks (without `--backend`, jobs have the backends that they name)"
            ),
            EngineError::WorkerDied => write!(
                f,
                "a worker thread ended and gave no reason; this is a defect of Fathom"
            ),
        }
    }
}

impl std::error::Error for EngineError {}
