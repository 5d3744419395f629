//! The only unsafe code of the workspace: rings, native AIO, aligned buffers, mapped files, ioctls, affinity and clocks behind a safe API.
//!
//! Nothing here knows of plans, runs or reports. Everything is Linux; a figure that the kernel does not give is an
//! `Option` or an error, never a guess. Read [`ring::Ring`] first.

pub mod aio;
pub mod allocations;
pub mod beat;
pub mod buffer;
pub mod bytes;
pub mod clock;
pub mod early;
pub mod file;
pub mod keeper;
pub mod loopdev;
pub mod mapping;
pub mod memory;
#[cfg(test)]
#[path = "../tests/lab/named.rs"]
mod named;
pub mod refused;
pub mod requests;
pub mod ring;
mod slots;
pub mod thread;

#[cfg(test)]
mod testing {
    use std::process::Command;

    /// Whether this process runs the named test only. If not, a child process does so now, and must succeed: for
    /// tests of what a whole process holds, which the tests beside them would disturb.
    pub fn is_alone(test: &str) -> bool {
        const MARK: &str = "SYS_TEST_ALONE";
        if std::env::var_os(MARK).is_some_and(|name| name == test) {
            return true;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture"])
            .env(MARK, test)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        println!("{printed}{}", String::from_utf8_lossy(&output.stderr));
        assert!(
            output.status.success() && printed.contains("1 passed"),
            "{test}, alone"
        );
        false
    }
}
