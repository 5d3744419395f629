//! What is settled before `main`: between the start of a program and its first line lie milliseconds in which pages are
//! read and the runtime is set up, and a signal that nobody handles yet ends it.

/// From now on a question for progress (SIGUSR1) ends nothing, though nobody answers it yet. The program calls this first;
/// by then it was done already, as the loader calls it before anything else of the program.
/// A file that grows beyond the limit of the process is an error of the write (`EFBIG`), and ends nothing without a word.
pub fn settle() {
    ignore_questions();
    // SAFETY: SIG_IGN runs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    #[cfg(target_env = "gnu")]
    if crate::memory::address_limit().is_some() {
        // Each thread has a heap of 64 MiB of addresses otherwise, of which it uses next to nothing.
        // SAFETY: a number is set, before there is a second thread.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

extern "C" fn ignore_questions() {
    // SAFETY: SIG_IGN runs no code of ours, and whoever handles the signal later replaces it.
    unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
}

// SAFETY: what stands in this section is called as functions once, before `main` and with nothing beside it. This one
// makes a system call and needs nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = ignore_questions;

#[cfg(test)]
mod tests {
    /// Nothing in this program has called it.
    #[test]
    fn questions_end_nothing_before_main() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = u64::from_str_radix(ignored.unwrap().trim(), 16).unwrap();
        assert_ne!(ignored & 1 << (libc::SIGUSR1 - 1), 0, "{ignored:x}");
    }
}
