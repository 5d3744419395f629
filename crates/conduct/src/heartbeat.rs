//! Notes when this process did not run: it was stopped (SIGSTOP) or frozen, or its machine was paused. Storage answers
//! meanwhile and nobody sees it, so without these notes such a time looks like a stall of the storage.
use measure::Pause;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::clock::Clock;

/// How often the thread looks at the clock: 50 times a second cost about 0.03 % of a CPU.
const BEAT: Duration = Duration::from_millis(20);

/// A beat that comes later than this after the one before ends a pause. Scheduling alone delays a thread that wakes 50
/// times a second for far less, unless there are many programs for each CPU.
const PAUSE_NS_MIN: u64 = 100_000_000;

/// A thread that notes pauses while it lives.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    /// In the time of the clock, not of a run.
    pauses: Mutex<Vec<Pause>>,
}

impl Heartbeat {
    /// # Errors
    /// Why the thread cannot be started.
    pub(crate) fn start(clock: Clock) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let beating = Arc::clone(&shared);
        let thread = sys::thread::start("heartbeat", move || {
            let mut last_ns = clock.now_ns();
            while !beating.is_over.load(Relaxed) {
                std::thread::park_timeout(BEAT);
                let now_ns = clock.now_ns();
                beating.note(last_ns, now_ns);
                last_ns = now_ns;
            }
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// The pauses since the last call, in nanoseconds since `start_ns`; what was before that is left out.
    pub(crate) fn take(&self, start_ns: u64) -> Vec<Pause> {
        let pauses = std::mem::take(&mut *self.shared.lock());
        let in_run = pauses.into_iter().filter(|pause| pause.to_ns > start_ns);
        in_run
            .map(|pause| Pause {
                from_ns: pause.from_ns.saturating_sub(start_ns),
                to_ns: pause.to_ns - start_ns,
            })
            .collect()
    }
}

impl Shared {
    fn note(&self, last_ns: u64, now_ns: u64) {
        if now_ns.saturating_sub(last_ns) >= PAUSE_NS_MIN {
            self.lock().push(Pause {
                from_ns: last_ns,
                to_ns: now_ns,
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Pause>> {
        self.pauses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It neither panics nor waits for anything but its beat.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_told_once_and_by_the_start_of_the_run() {
        let shared = Shared::default();
        let ms = |ms: u64| ms * 1_000_000;
        shared.note(ms(1_000), ms(1_099));
        shared.note(ms(1_099), ms(1_199));
        shared.note(ms(2_000), ms(7_000));
        let heartbeat = Heartbeat {
            shared: Arc::new(shared),
            thread: None,
        };
        let pause = |from, to| Pause {
            from_ns: ms(from),
            to_ns: ms(to),
        };
        assert_eq!(heartbeat.take(ms(1_150)), [pause(0, 49), pause(850, 5_850)]);
        assert_eq!(heartbeat.take(0), []);
    }
}
