//! Memory figures: the machine's, this process's, and how much of it may be locked; and memory that is locked.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::ptr::{self, NonNull};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mlock, mmap_anonymous, munmap};
use rustix::process::{Resource, getrlimit};

/// Memory that nobody else has, and that is not swapped out, until this is dropped. Nothing reads or writes it.
#[derive(Debug)]
pub struct LockedMemory {
    address: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: the mapping has one owner and no contents that anybody reaches.
unsafe impl Send for LockedMemory {}

impl LockedMemory {
    /// Takes that many bytes, every page of them, which takes about a second for 4 GiB.
    ///
    /// # Errors
    /// `InvalidInput` for none; what `mmap(2)` and `mlock(2)` say: ENOMEM, EPERM or EAGAIN where [`memlock_limit`] or
    /// the memory does not suffice.
    pub fn new(bytes: u64) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(|_| Errno::NOMEM)?;
        // SAFETY: a private mapping at an address that the kernel chooses touches no memory of ours.
        let address = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }?;
        let address = NonNull::new(address).expect("nothing is mapped at zero");
        // From here on it is unmapped whatever happens.
        let memory = Self { address, bytes };
        // The kernel writes to each page of a private mapping that it locks.
        // SAFETY: the whole of the mapping above, which has no contents; locking changes none.
        unsafe { mlock(memory.address.as_ptr(), memory.bytes) }?;
        Ok(memory)
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's own, and nobody has an address within it.
        let unmapped = unsafe { munmap(self.address.as_ptr(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "the range was mapped as a whole");
    }
}

/// Memory of this machine in bytes, as the kernel manages it; a container's limit does not show.
#[must_use]
pub fn memory_bytes() -> u64 {
    let facts = rustix::system::sysinfo();
    facts.totalram as u64 * u64::from(facts.mem_unit)
}

/// Bytes of a page of memory.
#[must_use]
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Resident memory of this process, bytes; nothing where `/proc` is not there.
#[must_use]
pub fn process_rss_bytes() -> Option<u64> {
    resident_pages(&fs::read_to_string("/proc/self/statm").ok()?)
        .map(|pages| pages * rustix::param::page_size() as u64)
}

/// Bytes an ordinary user may lock (soft RLIMIT_MEMLOCK); nothing when unlimited. A process with CAP_IPC_LOCK, such
/// as root's, is not held to it.
#[must_use]
pub fn memlock_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

/// Bytes of addresses that this process may have (soft RLIMIT_AS); nothing when unlimited.
#[must_use]
pub fn address_limit() -> Option<u64> {
    getrlimit(Resource::As).current
}

fn resident_pages(statm: &str) -> Option<u64> {
    statm.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_grows_by_what_is_touched() {
        if !crate::testing::is_alone("memory::tests::resident_memory_grows_by_what_is_touched") {
            return;
        }
        let before = process_rss_bytes().unwrap();
        let buffers = crate::buffer::AlignedBuffers::new(1, 64 << 20, 4096).unwrap();
        let after = process_rss_bytes().unwrap();
        assert!(after >= before + (63 << 20), "{before} -> {after}");
        assert_eq!(buffers.len(), 1);
        assert!(after < memory_bytes());
    }

    #[test]
    fn locked_memory_is_taken_and_given_back() {
        if !crate::testing::is_alone("memory::tests::locked_memory_is_taken_and_given_back") {
            return;
        }
        const BYTES: u64 = 1 << 20;
        let locked = || {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmLck:"));
            let kib = line.unwrap().trim().trim_end_matches(" kB").parse::<u64>();
            kib.unwrap() << 10
        };
        let before = (locked(), process_rss_bytes().unwrap());
        let memory = match LockedMemory::new(BYTES) {
            Ok(memory) => memory,
            Err(error) => return println!("skipped: nothing may be locked here: {error}"),
        };
        assert_eq!(memory.bytes(), BYTES);
        assert_eq!(locked(), before.0 + BYTES);
        assert!(process_rss_bytes().unwrap() >= before.1 + BYTES / 2);
        drop(memory);
        assert_eq!(locked(), before.0);
        assert!(LockedMemory::new(0).is_err());
        assert!(LockedMemory::new(1 << 60).is_err());
    }

    #[test]
    fn statm_second_word_is_the_resident_size() {
        assert_eq!(resident_pages("100 25 3 1 0 9 0\n"), Some(25));
        assert_eq!(resident_pages(""), None);
    }

    #[test]
    fn memlock_limit_is_the_shells() {
        let shell = std::process::Command::new("sh")
            .args(["-c", "ulimit -l"])
            .output()
            .unwrap();
        let shell = String::from_utf8(shell.stdout).unwrap();
        let expected = shell.trim().parse::<u64>().ok().map(|kib| kib * 1024);
        assert_eq!(memlock_limit().map(|bytes| bytes / 1024 * 1024), expected);
    }
}
