//! A process that keeps the files and the memory of one that ends. The kernel closes the files of a process before
//! anybody may know that it has ended, and flushes each; where a device hangs, that takes as long as the device, and no
//! signal ends it. With a keeper beside it the process is not the last that has its files, and ends at once.
use std::io;
use std::os::fd::AsRawFd;

const STACK_BYTES: usize = 64 << 10;

/// What runs in the keeper: until the process has ended, and then to its own end, for which nobody waits.
extern "C" fn keep(process: *mut libc::c_void) -> libc::c_int {
    let look = libc::timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    // SAFETY: takes and changes no memory. The parent is this process until its last thread is gone.
    while unsafe { libc::getppid() } as usize == process as usize {
        // SAFETY: reads a value of its own stack, and nothing is to be written.
        unsafe { libc::nanosleep(&raw const look, std::ptr::null_mut()) };
    }
    // SAFETY: ends this process and runs nothing of ours, as the memory is that of another program's run.
    unsafe { libc::_exit(0) }
}

/// Lets a new process keep all open files and mappings of this one, which then has to end. The standard streams
/// are closed for both: whoever reads from them is not to wait for the keeper.
///
/// # Errors
/// When the kernel gives no process. The end of this one then waits for devices.
pub fn keep_after_exit() -> io::Result<()> {
    silence();
    // It is used until the memory goes with its last process.
    let stack = Box::leak(vec![0_u8; STACK_BYTES].into_boxed_slice());
    let top = stack.as_mut_ptr_range().end as usize & !15;
    let flags = libc::CLONE_VM | libc::CLONE_FILES;
    // SAFETY: writes a value of this stack, which is then read by the calls after it.
    let process = unsafe {
        let mut all = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut all);
        // Handlers must not run in two processes over the same memory; the keeper takes this mask over.
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        libc::getpid()
    };
    // SAFETY: `top` is the end of memory that nothing else uses and nothing gives back, and `keep` makes calls that
    // allocate nothing and take no locks: it may run beside this program in its memory.
    let made = unsafe {
        libc::clone(
            keep,
            top as *mut libc::c_void,
            flags,
            process as usize as *mut libc::c_void,
        )
    };
    match made {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Puts nothing in the place of the standard streams.
fn silence() {
    let Ok(nothing) = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
    else {
        return;
    };
    for stream in 0..=2 {
        // SAFETY: puts another file in the place of a stream; who writes to the stream writes to nothing from then on.
        unsafe { libc::dup2(nothing.as_raw_fd(), stream) };
    }
}

#[cfg(test)]
mod tests {
    use super::keep_after_exit;
    use std::io::Read;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    /// Tells the program of these tests to be the process that gets a keeper, and where its files are.
    const FOLDER: &str = "FATHOM_KEEPER_TEST";

    /// Until something is so; longer only where it never will be.
    #[track_caller]
    fn wait_until(what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..6_000 {
            if is_so() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{what}");
    }

    /// State and parent of a process; nothing once it is gone.
    fn stat(process: &str) -> Option<(String, String)> {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut words = text.rsplit_once(") ")?.1.split(' ').map(str::to_owned);
        Some((words.next()?, words.next()?))
    }

    fn children_of(parent: u32) -> Vec<String> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_child = |name: &String| stat(name).is_some_and(|(_, of)| of == parent.to_string());
        names.filter(is_child).collect()
    }

    fn holds(process: &str, file: &Path) -> bool {
        let files = std::fs::read_dir(format!("/proc/{process}/fd"));
        let mut files = files.into_iter().flatten().flatten();
        files.any(|entry| std::fs::read_link(entry.path()).is_ok_and(|leads_to| leads_to == file))
    }

    /// What the other test starts; by itself it does nothing.
    #[test]
    fn a_process_with_a_keeper() {
        let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
            return;
        };
        let _held = std::fs::File::create(folder.join("held")).unwrap();
        keep_after_exit().unwrap();
        wait_until("nobody says when to end", || folder.join("end").exists());
        std::process::exit(7);
    }

    #[test]
    fn a_keeper_has_the_files_of_a_process_frees_its_streams_and_ends_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let held = folder.path().canonicalize().unwrap().join("held");
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "keeper::tests::a_process_with_a_keeper"])
            .args(["--nocapture", "--test-threads", "1"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The stream ends while both go on.
        let mut said = String::new();
        let mut stdout = process.stdout.take().unwrap();
        stdout.read_to_string(&mut said).unwrap();
        assert_eq!(process.try_wait().unwrap(), None, "{said}");
        wait_until("no keeper came", || !children_of(process.id()).is_empty());
        let keepers = children_of(process.id());
        let [keeper] = &keepers[..] else {
            panic!("{keepers:?}");
        };
        assert!(holds(keeper, &held));
        std::fs::write(folder.path().join("end"), "").unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(7));
        // It may stay as the entry of a process that has ended, where nobody asks for its end.
        wait_until("the keeper stays", || {
            stat(keeper).is_none_or(|(state, _)| state == "Z")
        });
    }
}
