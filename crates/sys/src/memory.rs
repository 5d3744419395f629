//! Memory figures: the machine's, this process's, and how much of it may be locked.

use std::fs;

use rustix::process::{Resource, getrlimit};

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
