//! What a worker sets on its own thread (timer slack, CPU, name) and what CPU time it has used.

use std::ffi::CString;
use std::io;
use std::num::NonZeroU64;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// How late, ns, the kernel may fire this thread's sleeps to save wake-ups; 0 restores the default (50 µs usually).
///
/// # Errors
/// What `prctl(PR_SET_TIMERSLACK)` says.
pub fn set_timer_slack_ns(slack_ns: u64) -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(
        slack_ns,
    ))?)
}

/// The timer slack of this thread, ns.
///
/// # Errors
/// What `prctl(PR_GET_TIMERSLACK)` says.
pub fn timer_slack_ns() -> io::Result<u64> {
    Ok(rustix::thread::current_timer_slack()?)
}

/// Lets this thread run on CPU `cpu` only.
///
/// # Errors
/// `InvalidInput` for a CPU that does not exist or that this process may not use.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("cpu {cpu} is beyond {}", CpuSet::MAX_CPU),
        ));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}

/// Lets this thread run on these CPUs only.
///
/// # Errors
/// `InvalidInput` for a CPU beyond those the kernel can name, or for none; what `sched_setaffinity(2)` says otherwise
/// (EINVAL: none of them is there for this process).
pub fn allow_cpus(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        if *cpu as usize >= CpuSet::MAX_CPU {
            let message = format!("cpu {cpu} is beyond {}", CpuSet::MAX_CPU);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        set.set(*cpu as usize);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// How urgently this thread gets a CPU: from −20, the most urgent, to 19.
///
/// # Errors
/// EACCES without the right to be more urgent than before.
pub fn set_nice(nice: i32) -> io::Result<()> {
    // Linux keeps it by thread, and zero names the calling one.
    Ok(rustix::process::setpriority_process(None, nice)?)
}

/// The priority of what this thread asks of storage, as `ioprio_set(2)` takes it: class 1 (real time), 2 (best effort)
/// or 3 (idle) in the three bits above thirteen, a hint in the ten above three, level 0 to 7 below.
///
/// # Errors
/// EPERM for real time without the right to it; EINVAL beyond the ranges, and for a hint before Linux 6.6.
pub fn set_io_priority(priority: u16) -> io::Result<()> {
    const WHO_PROCESS: libc::c_long = 1;
    let priority = libc::c_long::from(priority);
    // SAFETY: the call takes three numbers and touches no memory; zero names the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0_i64, priority) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Makes this thread work as another user and group from here to its end; all other threads stay who they are. Another
/// user keeps no supplementary group, and no right of root.
///
/// # Errors
/// EPERM without the right to it; what was taken by then stays taken, so that the thread is of no further use.
pub fn work_as(user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    let current = rustix::process::geteuid().as_raw();
    // The calls of the C library change all threads; these are the kernel's own, which change one.
    if user.is_some_and(|user| user != current) {
        let none = std::ptr::null::<libc::gid_t>();
        // SAFETY: the call reads no group of an empty list.
        checked(unsafe { libc::syscall(libc::SYS_setgroups, 0_i64, none) })?;
    }
    if let Some(group) = group {
        let group = libc::c_long::from(group);
        // SAFETY: the call takes three numbers and touches no memory.
        checked(unsafe { libc::syscall(libc::SYS_setresgid, group, group, group) })?;
    }
    if let Some(user) = user {
        let user = libc::c_long::from(user);
        // SAFETY: the call takes three numbers and touches no memory.
        checked(unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) })?;
    }
    Ok(())
}

fn checked(result: libc::c_long) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// How the nodes of [`set_memory_policy`] are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    /// The first of them as long as it has any.
    Prefer = 1,
    /// These and no others.
    Bind = 2,
    /// One after the other, page by page.
    Interleave = 3,
    /// None is named: the node of the CPU that asks.
    Local = 4,
}

/// From which nodes pages come that this thread is the first to touch.
///
/// # Errors
/// What `set_mempolicy(2)` says: EINVAL where none of the nodes has memory that this process may use.
pub fn set_memory_policy(mode: MemoryMode, nodes: &[u32]) -> io::Result<()> {
    let most = nodes.iter().max().map_or(0, |most| *most as usize + 1);
    let mut mask = vec![0_u64; most.div_ceil(64)];
    for node in nodes {
        mask[*node as usize / 64] |= 1 << (node % 64);
    }
    // The kernel takes one bit less than it is told, and none is less than zero.
    let bits = mask.len() * 64 + 1;
    // SAFETY: the mask lives until the call returns, which reads no more than so many bits of it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_set_mempolicy,
            mode as libc::c_long,
            mask.as_ptr(),
            bits as libc::c_ulong,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The CPUs this thread may run on, ascending. Empty only where the kernel does not say.
#[must_use]
pub fn available_cpus() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU)
            .filter(|cpu| set.is_set(*cpu))
            .collect(),
        // More CPUs than the fixed mask holds; the standard library counts with a mask of the right size.
        Err(_) => {
            (0..std::thread::available_parallelism().map_or(0, |count| count.get())).collect()
        }
    }
}

/// Names this thread in `ps` and `top`; the kernel keeps the first 15 bytes, cut here at a character.
///
/// # Errors
/// `InvalidInput` for a name with a zero byte.
pub fn set_name(name: &str) -> io::Result<()> {
    let kept = (0..=name.len().min(15))
        .rev()
        .find(|end| name.is_char_boundary(*end))
        .expect("0 is a boundary");
    let name = CString::new(&name[..kept])?;
    Ok(rustix::thread::set_name(&name)?)
}

/// CPU time this thread has used, ns. Costs a system call (about 0.5 µs).
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    crate::clock::nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// What the kernel counts for a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Their sum is exact; its division follows clock ticks.
    pub user_ns: u64,
    pub system_ns: u64,
    /// How often it had nothing to do until something came, and how often its CPU went to another although it had.
    pub waits: u64,
    pub preemptions: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// What this thread has used, all zero where the kernel does not say. Costs a system call.
#[must_use]
pub fn thread_usage() -> Usage {
    let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `raw` is a whole rusage of ours that outlives the call.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, raw.as_mut_ptr()) };
    if result != 0 {
        return Usage::default();
    }
    // SAFETY: zeroed at first, which is valid for a struct of integers, and filled by the kernel.
    let raw = unsafe { raw.assume_init() };
    let nanoseconds = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
    };
    let count = |count: libc::c_long| u64::try_from(count).unwrap_or(0);
    Usage {
        user_ns: nanoseconds(raw.ru_utime),
        system_ns: nanoseconds(raw.ru_stime),
        waits: count(raw.ru_nvcsw),
        preemptions: count(raw.ru_nivcsw),
        minor_faults: count(raw.ru_minflt),
        major_faults: count(raw.ru_majflt),
    }
}

/// How long this thread was ready to run and had no CPU, ns; `None` where the kernel does not tell. Reads a file of
/// the kernel (some microseconds).
#[must_use]
pub fn thread_cpu_wait_ns() -> Option<u64> {
    let mut file = std::fs::File::open("/proc/thread-self/schedstat").ok()?;
    // Three numbers: on a CPU, waiting for one, times on one.
    let mut text = [0; 80];
    let length = std::io::Read::read(&mut file, &mut text).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// CPU time all threads of this process have used, ns; kernel I/O workers started for its rings are among them.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    crate::clock::nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Starts a thread.
///
/// # Errors
/// When the system has none for us, with the limit of memory: a stack that is refused is the cause as a rule.
pub fn start<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<std::thread::JoinHandle<T>> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(|error| {
        let text = format!("{error}; {}", crate::refused::limit_text());
        std::io::Error::new(error.kind(), text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Affinity and slack are a thread's own; the test harness's threads stay as they are.
    fn on_own_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    #[test]
    fn timer_slack_is_what_was_set() {
        on_own_thread(|| {
            let default_ns = timer_slack_ns().unwrap();
            set_timer_slack_ns(1234).unwrap();
            assert_eq!(timer_slack_ns().unwrap(), 1234);
            set_timer_slack_ns(0).unwrap();
            assert_eq!(timer_slack_ns().unwrap(), default_ns);
        });
    }

    #[test]
    fn memory_comes_from_where_the_thread_says() {
        on_own_thread(|| {
            let path = "/proc/thread-self/numa_maps";
            if std::fs::read_to_string(path).is_err() {
                return println!("skipped: the kernel shows no nodes");
            }
            let shown = || std::fs::read_to_string(path).unwrap();
            for (mode, nodes, expected) in [
                (MemoryMode::Bind, &[0][..], " bind:0 "),
                (MemoryMode::Interleave, &[0], " interleave:0 "),
                (MemoryMode::Prefer, &[0], " prefer"),
                (MemoryMode::Local, &[], " local "),
            ] {
                set_memory_policy(mode, nodes).unwrap();
                assert!(shown().contains(expected), "{mode:?}: {}", shown());
            }
            assert!(set_memory_policy(MemoryMode::Bind, &[900]).is_err());
        });
    }

    #[test]
    fn a_thread_works_as_another_user_and_the_others_do_not() {
        let own = rustix::process::geteuid().as_raw();
        on_own_thread(move || {
            // Who one is, one may become.
            work_as(Some(own), None).unwrap();
            if own != 0 {
                let error = work_as(Some(own + 1), None).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EPERM));
                return println!("skipped: root alone becomes somebody else");
            }
            work_as(Some(65_533), Some(65_532)).unwrap();
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            assert!(
                status.contains("Uid:\t65533\t65533\t65533\t65533"),
                "{status}"
            );
            assert!(
                status.contains("Gid:\t65532\t65532\t65532\t65532"),
                "{status}"
            );
            assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
            let groups = status.lines().find_map(|line| line.strip_prefix("Groups:"));
            assert_eq!(groups.unwrap().trim(), "");
            assert!(work_as(Some(0), None).is_err());
        });
        assert_eq!(rustix::process::geteuid().as_raw(), own);
    }

    #[test]
    fn pinning_leaves_one_cpu() {
        on_own_thread(|| {
            let cpu = *available_cpus().last().unwrap();
            pin_to_cpu(cpu).unwrap();
            assert_eq!(available_cpus(), [cpu]);
            assert!(pin_to_cpu(CpuSet::MAX_CPU).is_err());
            assert!(pin_to_cpu(CpuSet::MAX_CPU - 1).is_err(), "no such cpu here");
        });
    }

    #[test]
    fn names_are_cut_at_a_character() {
        on_own_thread(|| {
            for (name, kept) in [
                ("worker-3", "worker-3"),
                ("0123456789abcdéx", "0123456789abcd"),
                ("", ""),
            ] {
                set_name(name).unwrap();
                assert_eq!(rustix::thread::name().unwrap().to_str().unwrap(), kept);
            }
            assert!(set_name("a\0b").is_err());
        });
    }

    #[test]
    fn usage_counts_faults_and_switches() {
        on_own_thread(|| {
            let before = thread_usage();
            let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
            std::thread::sleep(std::time::Duration::from_millis(1));
            let after = thread_usage();
            assert!(pages[0] == 1 && after.minor_faults > before.minor_faults);
            assert!(after.waits > before.waits);
            assert!(after.preemptions >= before.preemptions);
            assert!(after.user_ns + after.system_ns >= before.user_ns + before.system_ns);
        });
    }

    #[test]
    fn waiting_for_a_cpu_is_told_where_the_kernel_counts_it() {
        on_own_thread(|| {
            let before = thread_cpu_wait_ns();
            std::thread::sleep(std::time::Duration::from_millis(1));
            let after = thread_cpu_wait_ns();
            assert_eq!(before.is_some(), after.is_some());
            assert!(after >= before);
            let is_counted = std::path::Path::new("/proc/thread-self/schedstat").exists();
            assert_eq!(after.is_some(), is_counted);
        });
    }

    #[test]
    fn cpu_time_grows_with_work() {
        on_own_thread(|| {
            // In this order the process's span encloses the thread's.
            let process_before = process_cpu_ns();
            let thread_before = thread_cpu_ns();
            while thread_cpu_ns() < thread_before + 2_000_000 {
                std::hint::black_box([0_u8; 4096]);
            }
            assert!(process_cpu_ns() >= process_before + 2_000_000);
        });
    }
}
