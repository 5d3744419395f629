//! Making a ring: which features this kernel has, what the limits allow, and the likely cause when it refuses.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::sync::Arc;

use io_uring::{Builder, IoUring};

use super::Target;
use crate::buffer::AlignedBuffers;
use crate::requests::RequestMode;

/// `IORING_MAX_ENTRIES` and `IORING_MAX_CQ_ENTRIES` of the kernel.
const QUEUE_SLOTS_MAX: u32 = 32_768;
const SLOTS_MAX: u32 = 65_536;
/// `IORING_MAX_REG_BUFFERS` of the kernel.
const REGISTERED_BUFFERS_MAX: u32 = 16_384;
/// What the kernel takes where nothing is asked.
const SUBMITTER_SLEEPS_AFTER_MS: u32 = 1000;

/// What a ring is made for. Nothing is implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingConfig {
    /// Requests that can be outstanding, each with its buffer: 1 to 65 536.
    pub slots: u32,
    /// Requests submitted in one call at most: 1 to 32 768; rounded up to a power of two, and no more than needed for
    /// `slots`.
    pub batch: u32,
    /// Bytes of each slot's buffer.
    pub buffer_bytes: usize,
    /// Alignment of each buffer in memory, bytes: a power of two.
    pub buffer_align: usize,
    /// Register buffers with the kernel, as many as its limits allow.
    pub register_buffers: bool,
    /// Register the files with the kernel, if its limits allow.
    pub register_files: bool,
    /// What each request asks for.
    pub mode: RequestMode,
}

/// What the kernel granted of what was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingFeatures {
    /// The kernel counts on one submitting thread (Linux 6.0).
    pub single_issuer: bool,
    /// Completions are finished only inside `enter` (Linux 6.1).
    pub defer_taskrun: bool,
    /// Completions do not interrupt the thread (Linux 5.19; implied by `defer_taskrun`).
    pub coop_taskrun: bool,
    /// A request that fails at once does not hold up the rest of its batch (Linux 5.18).
    pub submit_all: bool,
    /// Submission without the index array (Linux 6.6).
    pub no_sqarray: bool,
    /// The device is polled for completions.
    pub is_polled: bool,
    /// A thread of the kernel takes the requests.
    pub has_submitter: bool,
    pub registered_files: bool,
    /// The first so many slots have registered buffers.
    pub registered_buffers: u32,
    /// Slots in all, to compare with.
    pub slots: u32,
    /// Why fewer buffers than slots are registered: the errno, 0 when there was none.
    pub buffers_errno: i32,
    /// Why the files are not registered: the errno, 0 when there was none.
    pub files_errno: i32,
}

/// Why there is no ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingRefused {
    /// As the kernel gave it.
    pub errno: i32,
    step: Step,
    /// `kernel.io_uring_disabled` at the time of the refusal, where it could be read.
    disabled_sysctl: Option<u32>,
}

impl fmt::Display for RingFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (self.single_issuer, "single issuer"),
            (self.defer_taskrun, "deferred task run"),
            (self.coop_taskrun, "cooperative task run"),
            (self.submit_all, "submit all"),
            (self.no_sqarray, "no index array"),
            (self.is_polled, "polled completions"),
            (
                self.has_submitter,
                "requests taken by a thread of the kernel",
            ),
            (self.registered_files, "registered files"),
        ];
        for (_, name) in named.iter().filter(|(granted, _)| *granted) {
            write!(f, "{name}, ")?;
        }
        write!(
            f,
            "{} of {} buffers registered",
            self.registered_buffers, self.slots
        )?;
        if self.buffers_errno != 0 {
            write!(
                f,
                " ({})",
                limit_cause(self.buffers_errno, "RLIMIT_MEMLOCK")
            )?;
        }
        if self.files_errno != 0 {
            write!(
                f,
                ", files not registered ({})",
                limit_cause(self.files_errno, "RLIMIT_NOFILE")
            )?;
        }
        Ok(())
    }
}

impl RingFeatures {
    /// What was tried, could not be had and costs CPU with every request, with the cause; none when all was granted.
    #[must_use]
    pub fn shortfall(&self) -> Option<String> {
        let mut missing = Vec::new();
        if self.registered_buffers < self.slots && self.buffers_errno != 0 {
            missing.push(format!(
                "only {} of {} buffers are registered with the kernel ({})",
                self.registered_buffers,
                self.slots,
                limit_cause(self.buffers_errno, "raise RLIMIT_MEMLOCK, `ulimit -l`")
            ));
        }
        if self.files_errno != 0 {
            missing.push(format!(
                "files are not registered with the kernel ({})",
                limit_cause(self.files_errno, "raise RLIMIT_NOFILE, `ulimit -n`")
            ));
        }
        (!missing.is_empty()).then(|| missing.join(", and "))
    }
}

impl fmt::Display for RingRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "io_uring refused ({}): {}",
            errno_name(self.errno),
            self.likely_cause()
        )
    }
}

impl std::error::Error for RingRefused {}

impl RingRefused {
    fn new(step: Step, errno: i32) -> RingRefused {
        let disabled_sysctl = fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
        let disabled_sysctl = disabled_sysctl
            .ok()
            .and_then(|text| text.trim().parse().ok());
        RingRefused {
            errno,
            step,
            disabled_sysctl,
        }
    }

    fn likely_cause(&self) -> String {
        match (self.step, self.errno) {
            (Step::Config, _) => {
                format!("1 to {SLOTS_MAX} slots and a batch of 1 to {QUEUE_SLOTS_MAX} are possible, and buffers above 0 bytes")
            }
            (Step::Buffers, _) => {
                format!("no memory for the buffers: {}", crate::refused::limit_text())
            }
            (Step::Files, _) => "a file could not be looked at".to_owned(),
            (Step::Features, _) => "this kernel is too old, 5.11 is the first that can wait with a time limit".to_owned(),
            (Step::Ring, libc::EPERM | libc::EACCES) => match self.disabled_sysctl {
                Some(value @ 1..) => format!("disabled by sysctl kernel.io_uring_disabled = {value}"),
                _ => "forbidden by a seccomp filter, as containers have, or by a security module".to_owned(),
            },
            (Step::Ring, libc::ENOSYS) => {
                "this kernel has no io_uring, or a seccomp filter hides it, as containers do".to_owned()
            }
            (Step::Ring, libc::ENOMEM) => {
                "no memory for the ring; before Linux 5.12 it counts against RLIMIT_MEMLOCK (ulimit -l)".to_owned()
            }
            (Step::Ring, libc::EMFILE) => "this process has too many open files (ulimit -n)".to_owned(),
            (Step::Ring, libc::ENFILE) => "this machine has too many open files".to_owned(),
            (Step::Ring, libc::EINVAL) => "this kernel is too old, 5.11 is needed".to_owned(),
            (Step::Ring, _) => "an unusual cause, see io_uring_setup(2)".to_owned(),
        }
    }
}

/// Where making a ring ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Config,
    Buffers,
    Files,
    Ring,
    Features,
}

/// A ring ready for use, before slots are counted.
pub(super) struct Parts {
    pub ring: IoUring,
    pub buffers: AlignedBuffers,
    pub targets: Vec<Target>,
    pub features: RingFeatures,
}

pub(super) fn build(config: &RingConfig, files: &[Arc<File>]) -> Result<Parts, RingRefused> {
    if !(1..=SLOTS_MAX).contains(&config.slots) || !(1..=QUEUE_SLOTS_MAX).contains(&config.batch) {
        return Err(RingRefused::new(Step::Config, libc::EINVAL));
    }
    let (ring, mut features) =
        make_ring(config).map_err(|error| RingRefused::new(Step::Ring, errno_of(&error)))?;
    if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
        return Err(RingRefused::new(Step::Features, libc::EOPNOTSUPP));
    }
    let buffers = AlignedBuffers::new(
        config.slots as usize,
        config.buffer_bytes,
        config.buffer_align,
    )
    .map_err(|error| {
        let step = if error.kind() == io::ErrorKind::InvalidInput {
            Step::Config
        } else {
            Step::Buffers
        };
        RingRefused::new(step, errno_of(&error))
    })?;
    features.slots = config.slots;
    if config.register_files && !files.is_empty() {
        match register_files(&ring, files) {
            Ok(()) => features.registered_files = true,
            Err(error) => features.files_errno = errno_of(&error),
        }
    }
    // The kernel refuses (EINVAL) a write from registered memory that is to be stored as a whole.
    if config.register_buffers && !config.mode.writes_whole {
        (features.registered_buffers, features.buffers_errno) = register_buffers(&ring, &buffers);
    }
    let targets = targets(files, features.registered_files)
        .map_err(|error| RingRefused::new(Step::Files, errno_of(&error)))?;
    Ok(Parts {
        ring,
        buffers,
        targets,
        features,
    })
}

/// Each entry adds to the ones after it what the next newer kernel brought; the first that is taken wins.
fn ladder() -> [RingFeatures; 6] {
    let plain = RingFeatures::default();
    let submit_all = RingFeatures {
        submit_all: true,
        ..plain
    };
    let cooperative = RingFeatures {
        coop_taskrun: true,
        ..submit_all
    };
    let single = RingFeatures {
        single_issuer: true,
        ..cooperative
    };
    let deferred = RingFeatures {
        single_issuer: true,
        defer_taskrun: true,
        ..submit_all
    };
    let newest = RingFeatures {
        no_sqarray: true,
        ..deferred
    };
    [newest, deferred, single, cooperative, submit_all, plain]
}

fn make_ring(config: &RingConfig) -> io::Result<(IoUring, RingFeatures)> {
    let mut refused = io::Error::from_raw_os_error(libc::EINVAL);
    for features in ladder() {
        match builder(config, &features).build(queue_slots(config)) {
            Ok(ring) => {
                let features = RingFeatures {
                    is_polled: ring.params().is_setup_iopoll(),
                    has_submitter: ring.params().is_setup_sqpoll(),
                    ..features
                };
                return Ok((ring, features));
            }
            // EINVAL is how a kernel says that it does not know a flag.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = error,
            Err(error) => return Err(error),
        }
    }
    Err(refused)
}

fn queue_slots(config: &RingConfig) -> u32 {
    // What the kernel's thread has not yet taken stays in the queue, of a batch or not.
    let batch = match config.mode.submitter {
        Some(_) => config.slots.min(QUEUE_SLOTS_MAX),
        None => config.batch,
    };
    batch.min(config.slots).next_power_of_two()
}

fn builder(config: &RingConfig, features: &RingFeatures) -> Builder {
    let mut builder = IoUring::builder();
    // Room for every slot: the completion queue can never run over.
    builder.setup_cqsize(config.slots.max(queue_slots(config)));
    if features.single_issuer {
        builder.setup_single_issuer();
    }
    if features.defer_taskrun {
        builder.setup_defer_taskrun();
    }
    if features.coop_taskrun {
        builder.setup_coop_taskrun();
    }
    if features.submit_all {
        builder.setup_submit_all();
    }
    if features.no_sqarray {
        builder.setup_no_sqarray();
    }
    if config.mode.is_polled {
        builder.setup_iopoll();
    }
    if let Some(submitter) = config.mode.submitter {
        builder.setup_sqpoll(SUBMITTER_SLEEPS_AFTER_MS);
        if let Some(cpu) = submitter.cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
    }
    builder
}

fn register_files(ring: &IoUring, files: &[Arc<File>]) -> io::Result<()> {
    let descriptors: Vec<i32> = files.iter().map(|file| file.as_raw_fd()).collect();
    ring.submitter().register_files(&descriptors)
}

/// Registers the buffers of as many first slots as the kernel takes; returns how many, and the errno of one more.
fn register_buffers(ring: &IoUring, buffers: &AlignedBuffers) -> (u32, i32) {
    let most = buffers.len().min(REGISTERED_BUFFERS_MAX as usize);
    let vectors: Vec<libc::iovec> = (0..most)
        .map(|slot| libc::iovec {
            iov_base: buffers.pointer(slot).cast(),
            iov_len: buffers.bytes_each(),
        })
        .collect();
    let try_first = |count: usize| {
        // SAFETY: the buffers outlive the ring: `Ring` drops the ring first, or leaks both.
        unsafe { ring.submitter().register_buffers(&vectors[..count]) }
    };
    let beyond_errno = if most < buffers.len() {
        libc::EINVAL
    } else {
        0
    };
    let Err(error) = try_first(most) else {
        return (most as u32, beyond_errno);
    };
    let errno = errno_of(&error);
    // Only a limit can be met with fewer. What others of this user have locked counts too, so it must be tried.
    let (mut taken, mut refused) = (0, most);
    while errno == libc::ENOMEM && refused - taken > 1 {
        let middle = taken + (refused - taken) / 2;
        match try_first(middle) {
            Ok(()) if ring.submitter().unregister_buffers().is_ok() => taken = middle,
            Ok(()) => return (middle as u32, errno),
            Err(_) => refused = middle,
        }
    }
    // Another ring may have taken the room meanwhile; then fewer do.
    while taken > 0 && try_first(taken).is_err() {
        taken /= 2;
    }
    (taken as u32, errno)
}

fn targets(files: &[Arc<File>], registered: bool) -> io::Result<Vec<Target>> {
    files
        .iter()
        .enumerate()
        .map(|(index, file)| {
            let number = if registered {
                index as i32
            } else {
                file.as_raw_fd()
            };
            Ok(Target {
                number,
                block_device: file.metadata()?.file_type().is_block_device(),
            })
        })
        .collect()
}

fn errno_of(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EINVAL)
}

fn limit_cause(errno: i32, limit: &str) -> String {
    match errno {
        libc::ENOMEM | libc::EMFILE => format!("{}: {limit}", errno_name(errno)),
        _ => errno_name(errno),
    }
}

fn errno_name(errno: i32) -> String {
    let name = match errno {
        libc::EPERM => "EPERM",
        libc::EACCES => "EACCES",
        libc::ENOSYS => "ENOSYS",
        libc::ENOMEM => "ENOMEM",
        libc::EMFILE => "EMFILE",
        libc::ENFILE => "ENFILE",
        libc::EINVAL => "EINVAL",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        _ => return format!("errno {errno}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_likely_cause() {
        let text = |step, errno, disabled_sysctl| {
            RingRefused {
                errno,
                step,
                disabled_sysctl,
            }
            .to_string()
        };
        assert_eq!(
            text(Step::Ring, libc::EPERM, Some(2)),
            "io_uring refused (EPERM): disabled by sysctl kernel.io_uring_disabled = 2"
        );
        assert!(text(Step::Ring, libc::EPERM, Some(0)).contains("seccomp"));
        assert!(text(Step::Ring, libc::EPERM, None).contains("seccomp"));
        assert!(text(Step::Ring, libc::ENOSYS, None).contains("no io_uring"));
        assert!(text(Step::Ring, libc::ENOMEM, None).contains("RLIMIT_MEMLOCK"));
        assert!(text(Step::Ring, libc::EMFILE, None).contains("ulimit -n"));
        assert!(text(Step::Ring, libc::EINVAL, None).contains("too old"));
        assert!(text(Step::Features, libc::EOPNOTSUPP, None).contains("too old"));
        assert!(text(Step::Ring, 5, None).starts_with("io_uring refused (errno 5)"));
    }

    #[test]
    fn features_say_what_is_missing_and_why() {
        let features = RingFeatures {
            single_issuer: true,
            registered_buffers: 3,
            slots: 8,
            buffers_errno: libc::ENOMEM,
            ..RingFeatures::default()
        };
        assert_eq!(
            features.to_string(),
            "single issuer, 3 of 8 buffers registered (ENOMEM: RLIMIT_MEMLOCK)"
        );
        assert_eq!(
            features.shortfall().as_deref(),
            Some(
                "only 3 of 8 buffers are registered with the kernel (ENOMEM: raise RLIMIT_MEMLOCK, `ulimit -l`)"
            )
        );
        let whole = RingFeatures {
            registered_buffers: 8,
            buffers_errno: 0,
            ..features
        };
        assert_eq!(whole.shortfall(), None);
        let unregistered = RingFeatures {
            files_errno: libc::EMFILE,
            ..whole
        };
        assert!(unregistered.shortfall().unwrap().contains("ulimit -n"));
    }

    #[test]
    fn every_rung_of_the_ladder_makes_a_ring_that_works() {
        let config = RingConfig {
            slots: 3,
            batch: 2,
            buffer_bytes: 512,
            buffer_align: 512,
            register_buffers: false,
            register_files: false,
            mode: RequestMode::default(),
        };
        for features in ladder() {
            let ring = match builder(&config, &features).build(queue_slots(&config)) {
                Ok(ring) => ring,
                Err(error) => {
                    println!("skipped: {features}: {error}");
                    continue;
                }
            };
            assert_eq!(ring.params().sq_entries(), 2);
            assert_eq!(ring.params().cq_entries(), 4);
            assert_eq!(
                ring.params().is_setup_single_issuer(),
                features.single_issuer
            );
        }
    }
}
