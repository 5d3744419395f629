//! Ends the FUSE daemon of a test, also when the test is killed while the daemon is stopped: otherwise everything that
//! touches the mount would hang, up to a `sync` of the whole machine. Tests of several crates take this file in.
use crate::named;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A shell that waits for the end of the test: its standard input ends when this value is dropped or the process that
/// has it dies, in whatever way.
pub struct Keeper {
    shell: Child,
}

/// Resumes first, so that I/O in flight gets its answer. The start time tells the daemon from a later process with its
/// number. A mount that came up after the first attempt goes with the second.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
is_it() { test "$(sed 's/.*) //' "/proc/$1/stat" | cut -d ' ' -f 20)" = "$2"; }
unmount() { fusermount3 -u -z "$1" || umount -l "$1"; }
read -r _
is_it "$1" "$2" && kill -s CONT "$1"
unmount "$3"
is_it "$1" "$2" && kill -s KILL "$1"
unmount "$3"
"#;

impl Keeper {
    /// Call it before anything waits for the daemon.
    pub fn of(daemon: &Child, mount: &Path) -> Self {
        let id = daemon.id();
        let begun = named::begun(id).unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", SCRIPT, "keeper", &id.to_string(), &begun.to_string()])
            .arg(mount)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What kills the group of the test does not reach it.
            .process_group(0);
        Self {
            shell: shell.spawn().unwrap(),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Closes the standard input first.
        let _ = self.shell.wait();
    }
}
