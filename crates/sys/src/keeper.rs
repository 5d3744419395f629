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
