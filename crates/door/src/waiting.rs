//! Which targets are being waited for: a device that hangs keeps who looks at it in the kernel, and somebody else has to
//! say which one that is. Read [`on`] first.
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Calls on a target, of which the present one has not come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Tells it from other calls on the same target.
    pub number: u64,
    pub path: PathBuf,
    /// When the target answered last, or was asked first.
    pub since: Instant,
}

thread_local! {
    /// The innermost of the calls that this thread makes.
    static OWN: Cell<Option<u64>> = const { Cell::new(None) };
}

#[derive(Debug)]
struct Calls {
    made: u64,
    going: Vec<Waiting>,
}

static CALLS: Mutex<Calls> = Mutex::new(Calls {
    made: 0,
    going: Vec::new(),
});

/// Makes calls on a target of which others are to know while they last. Only what no run times is made so. Where they are
/// many, each that comes back says so with [`answered`].
pub fn on<T>(path: &Path, call: impl FnOnce() -> T) -> T {
    let _going = Going::new(path);
    call()
}

/// Notes that one of the calls of this thread within [`on`] came back: the target is slow at most.
pub fn answered() {
    let Some(number) = OWN.get() else {
        return;
    };
    let now = Instant::now();
    let mut calls = calls();
    let going = calls.going.iter_mut().find(|one| one.number == number);
    if let Some(one) = going {
        one.since = now;
    }
}

/// The calls of this thread, for other threads that make some of them.
#[derive(Clone, Copy, Debug)]
pub struct Shared(Option<u64>);

/// What [`Shared::within`] needs on the other threads.
pub fn shared() -> Shared {
    Shared(OWN.get())
}

impl Shared {
    /// Makes calls that are part of those of the first thread.
    pub fn within<T>(self, call: impl FnOnce() -> T) -> T {
        let before = OWN.replace(self.0);
        let result = call();
        OWN.set(before);
        result
    }
}

/// What has been waited for longest.
pub fn longest() -> Option<Waiting> {
    let calls = calls();
    calls.going.iter().min_by_key(|one| one.since).cloned()
}

struct Going {
    number: u64,
    outer: Option<u64>,
}

impl Going {
    fn new(path: &Path) -> Self {
        let mut calls = calls();
        calls.made += 1;
        let number = calls.made;
        calls.going.push(Waiting {
            number,
            path: path.to_path_buf(),
            since: Instant::now(),
        });
        Self {
            number,
            outer: OWN.replace(Some(number)),
        }
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        OWN.set(self.outer);
        calls().going.retain(|one| one.number != self.number);
    }
}

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both tests, and nothing else of this program, use the list.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn what_was_begun_first_is_waited_for_longest() {
        let _alone = ALONE.lock();
        let outer = on(Path::new("/a"), || {
            let before = longest().unwrap();
            on(Path::new("/b"), || assert_eq!(longest().unwrap(), before));
            before
        });
        assert_eq!(outer.path, Path::new("/a"));
        assert_eq!(longest(), None);
    }

    /// From any thread that makes some of its calls.
    #[test]
    fn a_target_that_answers_in_between_is_waited_for_from_then_on() {
        let _alone = ALONE.lock();
        on(Path::new("/a"), || {
            let since = || longest().unwrap().since;
            let first = since();
            answered();
            let second = since();
            assert!(second > first);
            let shared = shared();
            let elsewhere = || {
                answered();
                assert_eq!(since(), second, "no call of this thread");
                shared.within(answered);
            };
            std::thread::scope(|scope| {
                scope.spawn(elsewhere);
            });
            assert!(since() > second);
        });
        answered();
        assert_eq!(longest(), None);
    }
}
