//! Locks on targets: an operation waits for its turn before it goes out. Streams without that rule have none of this.
//!
//! Only threads that serve one operation at a time wait here, so that nobody holds what he waits for. Others ask, and
//! come again.
use plan::{BoundRun, Operation, TargetId, TargetLock};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// How often one who waits looks whether he may go on waiting.
const LOOK: Duration = Duration::from_millis(10);

/// So many can wait for a target without asking for memory.
const MOST_WAITING: usize = 64;

/// The locks of the targets of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Locks {
    rule: TargetLock,
    of_place: Box<[Arc<Lock>]>,
}

/// The lock of one target.
#[derive(Debug)]
pub(crate) struct Lock {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Operations that share the lock.
    shared_by: u32,
    is_owned: bool,
    /// In the order in which they came.
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    thread: Thread,
    shares: bool,
}

impl Locks {
    /// Of each stream of a run, where it has the rule.
    pub(crate) fn of_run(run: &BoundRun) -> Vec<Option<Self>> {
        let mut known: BTreeMap<TargetId, Arc<Lock>> = BTreeMap::new();
        let mut lock = |target: &TargetId| {
            let lock = known.entry(*target);
            Arc::clone(lock.or_insert_with(|| Arc::new(Lock::new())))
        };
        let streams = run.run.streams.iter();
        let of = streams.map(|stream| {
            let rule = stream.flow.lock?;
            let of_place = stream.targets.iter().map(&mut lock).collect();
            Some(Self { rule, of_place })
        });
        of.collect()
    }

    /// Takes the lock for an operation at a place of the stream, and waits for it while `patience_ns` is above zero;
    /// whether it was taken.
    pub(crate) fn enter(
        &self,
        place: u32,
        operation: Operation,
        patience_ns: impl Fn() -> u64,
    ) -> bool {
        self.of_place[place as usize].enter(self.shares(operation), patience_ns)
    }

    /// An operation that has entered is back.
    pub(crate) fn leave(&self, place: u32, operation: Operation) {
        self.of_place[place as usize].leave(self.shares(operation));
    }

    fn shares(&self, operation: Operation) -> bool {
        self.rule == TargetLock::ReadWrite && operation == Operation::Read
    }
}

impl Lock {
    fn new() -> Self {
        Self {
            state: Mutex::new(State {
                shared_by: 0,
                is_owned: false,
                waiting: VecDeque::with_capacity(MOST_WAITING),
            }),
        }
    }

    fn enter(&self, shares: bool, patience_ns: impl Fn() -> u64) -> bool {
        let mut state = self.state();
        if state.waiting.is_empty() && state.admits(shares) {
            state.take(shares);
            return true;
        }
        if patience_ns() == 0 {
            return false;
        }
        let thread = std::thread::current();
        let me = thread.id();
        state.waiting.push_back(Waiting { thread, shares });
        loop {
            // Looked at before the lock is taken: nothing may go out behind the end of a run.
            let patience_ns = patience_ns();
            let is_next = (state.waiting.front()).is_some_and(|first| first.thread.id() == me);
            let takes = is_next && patience_ns > 0 && state.admits(shares);
            if takes || patience_ns == 0 {
                state.waiting.retain(|waiting| waiting.thread.id() != me);
                if takes {
                    state.take(shares);
                }
                state.wake_next();
                return takes;
            }
            drop(state);
            std::thread::park_timeout(LOOK.min(Duration::from_nanos(patience_ns)));
            state = self.state();
        }
    }

    fn leave(&self, shares: bool) {
        let mut state = self.state();
        match shares {
            true => state.shared_by -= 1,
            false => state.is_owned = false,
        }
        state.wake_next();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn admits(&self, shares: bool) -> bool {
        !self.is_owned && (shares || self.shared_by == 0)
    }

    fn take(&mut self, shares: bool) {
        match shares {
            true => self.shared_by += 1,
            false => self.is_owned = true,
        }
    }

    fn wake_next(&self) {
        if let Some(first) = self.waiting.front()
            && self.admits(first.shares)
        {
            first.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

    const AT_ONCE: fn() -> u64 = || 0;
    const EVER: fn() -> u64 = || u64::MAX;

    fn until(is_so: impl Fn() -> bool) {
        while !is_so() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn one_at_a_time_or_many_that_share() {
        let lock = Lock::new();
        assert!(lock.enter(true, AT_ONCE) && lock.enter(true, AT_ONCE));
        assert!(!lock.enter(false, AT_ONCE));
        lock.leave(true);
        assert!(!lock.enter(false, AT_ONCE));
        lock.leave(true);
        assert!(lock.enter(false, AT_ONCE));
        assert!(!lock.enter(false, AT_ONCE) && !lock.enter(true, AT_ONCE));
        lock.leave(false);
        assert!(lock.enter(true, AT_ONCE));
    }

    #[test]
    fn whoever_waits_longest_is_next() {
        let lock = Lock::new();
        let waiting = |count: usize| lock.state().waiting.len() == count;
        assert!(lock.enter(true, AT_ONCE));
        let writer_has_it = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(lock.enter(false, EVER));
                writer_has_it.store(true, SeqCst);
                until(|| waiting(1));
                lock.leave(false);
            });
            until(|| waiting(1));
            // It could share, and does not pass one who has come before.
            assert!(!lock.enter(true, AT_ONCE));
            scope.spawn(|| {
                assert!(lock.enter(true, EVER));
                assert!(writer_has_it.load(SeqCst));
                lock.leave(true);
            });
            until(|| waiting(2));
            lock.leave(true);
        });
        assert!(lock.enter(false, AT_ONCE));
    }

    #[test]
    fn who_loses_patience_holds_up_nobody() {
        let lock = Lock::new();
        assert!(lock.enter(true, AT_ONCE));
        let gives_up = AtomicBool::new(false);
        let patience = || u64::from(!gives_up.load(SeqCst)) << 40;
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| lock.enter(false, patience));
            until(|| lock.state().waiting.len() == 1);
            let reader = scope.spawn(|| lock.enter(true, EVER));
            until(|| lock.state().waiting.len() == 2);
            gives_up.store(true, SeqCst);
            assert!(!writer.join().unwrap());
            assert!(reader.join().unwrap());
        });
    }

    #[test]
    fn nothing_is_done_twice_at_a_time() {
        let lock = Lock::new();
        let (inside, done) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (lock, inside, done) = (&lock, &inside, &done);
                scope.spawn(move || {
                    for turn in 0..200 {
                        let shares = (turn + thread) % 3 == 0;
                        assert!(lock.enter(shares, EVER));
                        let before = inside.fetch_add(if shares { 1 } else { 100 }, SeqCst);
                        assert!(before == 0 || shares && before < 100, "{before}");
                        inside.fetch_sub(if shares { 1 } else { 100 }, SeqCst);
                        lock.leave(shares);
                        done.fetch_add(1, SeqCst);
                    }
                });
            }
        });
        assert_eq!(done.load(SeqCst), 1_600);
    }
}
