//! Which targets are being waited for: a device that hangs keeps who looks at it in the kernel, and somebody else has to
//! say which one that is. Read [`on`] first.
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A call on a target that has not come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Tells it from other calls on the same target.
    pub number: u64,
    pub path: PathBuf,
    pub since: Instant,
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

/// Makes calls on a target of which others are to know while they last. Only what no run times is made so.
pub fn on<T>(path: &Path, call: impl FnOnce() -> T) -> T {
    let _going = Going::new(path);
    call()
}

/// What has been waited for longest.
pub fn longest() -> Option<Waiting> {
    calls().going.first().cloned()
}

struct Going(u64);

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
        Self(number)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        calls().going.retain(|one| one.number != self.0);
    }
}

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alone in its use of the list within this program.
    #[test]
    fn what_was_begun_first_is_waited_for_longest() {
        let outer = on(Path::new("/a"), || {
            let before = longest().unwrap();
            on(Path::new("/b"), || assert_eq!(longest().unwrap(), before));
            before
        });
        assert_eq!(outer.path, Path::new("/a"));
        assert_eq!(longest(), None);
    }
}
