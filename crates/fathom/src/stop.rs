//! Ctrl-C: before the first run it ends the program; then the first drains, and the second stops at once. None of them
//! needs a device to answer. A check, which only looks, does not wait for one either. Read [`watch`] first.
use crate::exit::Exit;
use crate::printing;
use conduct::{Control, Haste};
use door::waiting::{self, Waiting};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A target that takes longer is named, and ends a check.
const SLOW: Duration = Duration::from_secs(5);

/// How long a target may keep the program after one Ctrl-C and after two.
const PATIENCE: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(2)];

/// How often a thread looks for a target that does not answer. The calls that it looks for are those between runs, and a
/// look reads one list in memory: ten a second cost a few microseconds, and no call has to wake another thread.
const LOOK: Duration = Duration::from_millis(100);

/// Of the execution, once there is one.
static CONTROL: OnceLock<Control> = OnceLock::new();

/// Watches for signals, and for targets that do not answer, for as long as the process lives.
pub fn watch() -> std::io::Result<()> {
    watch_with(name_slow_target, "before the first run")
}

/// The same for a check, which ends when a target does not answer: nothing is lost, and it can be repeated.
pub fn watch_check() -> std::io::Result<()> {
    watch_with(give_up_slow_target, "during the check")
}

/// `when` is said where no execution has begun.
fn watch_with(on_slow: fn(&Path), when: &'static str) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    start("waiting", move || follow_slow_targets(on_slow))?;
    start("signals", move || {
        for _ in signals.forever() {
            on_signal(when);
        }
    })
}

/// From now on signals steer an execution.
pub fn steer(control: &Control) {
    let first = CONTROL.set(control.clone());
    first.expect("a process carries out one plan");
    printing::begin_execution();
}

/// Ends the program where it stands: a device that hangs would keep who closes a file of it.
pub fn leave(exit: Exit) -> ! {
    let exit = printing::end(exit);
    // Without a keeper everything is said and written as well, and only the end of the process comes late.
    let _ = sys::keeper::keep_after_exit();
    std::process::exit(exit.code().into())
}

fn on_signal(when: &str) {
    if let Some(exit) = printing::ending() {
        std::process::exit(exit.code().into());
    }
    let Some(control) = CONTROL.get() else {
        errln!("error: stopped by the user {when}{}", awaited());
        leave(Exit::Stopped);
    };
    let was_urgent = control.is_urgent();
    match control.hurry() {
        Haste::Drain => errln!(
            "\nstopping: waiting for what is in flight (30 s at most); once more to stop at once"
        ),
        _ if !was_urgent => errln!("\nstopping at once; once more to leave without reports"),
        // Something does not let go: the result file is safe up to its last interval.
        _ => leave(Exit::Stopped),
    }
    if let Some(patience) = PATIENCE.get(usize::from(!was_urgent && control.is_urgent())) {
        // Without a thread for it, the third signal ends the program.
        let _ = start("patience", move || leave_slow_target(*patience));
    }
}

/// The target whose answer is waited for. It may be slow and healthy: an examination is many reads.
fn awaited() -> String {
    waiting::longest().map_or(String::new(), |one| {
        format!(", while waiting for `{}`", one.path.display())
    })
}

/// Ends the program when a target keeps it too long: nothing else gives up calls that are made between runs.
fn leave_slow_target(patience: Duration) {
    let asked = Instant::now();
    loop {
        std::thread::sleep(LOOK);
        let Some(slow) = waiting::longest() else {
            continue;
        };
        if slow.since.max(asked).elapsed() >= patience {
            errln!(
                "error: stopped by the user; `{}` does not answer, and the reports are not written",
                slow.path.display()
            );
            leave(Exit::Stopped);
        }
    }
}

/// Hands over each target once that takes long.
fn follow_slow_targets(on_slow: fn(&Path)) {
    let mut handed_over = None;
    loop {
        std::thread::sleep(LOOK);
        let slow = waiting::longest().filter(|one| one.since.elapsed() >= SLOW);
        if let Some(Waiting { number, path, .. }) = slow
            && handed_over.replace(number) != Some(number)
        {
            on_slow(&path);
        }
    }
}

fn name_slow_target(path: &Path) {
    errln!(
        "note: `{}` has not answered for {} s; Fathom waits for it, Ctrl-C stops",
        path.display(),
        SLOW.as_secs()
    );
}

fn give_up_slow_target(path: &Path) {
    errln!(
        "error: `{}` has not answered for {} s; see that its storage is there, and check again",
        path.display(),
        SLOW.as_secs()
    );
    leave(Exit::Usage);
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    sys::thread::start(name, work).map(drop)
}
