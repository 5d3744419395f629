//! Events that wait for the disk of the result file. One thread puts them in, the recording thread takes them out. While
//! the disk answers, who puts in waits for room; while it does not, events are kept in memory, up to a limit of time.
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a disk may take to answer before it is given up, and with it the recording. Until then, all events are kept.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// How many events may wait before [`Queue::put`] waits for a disk that answers: a bound on memory for whoever puts in
/// faster than any disk takes.
const QUEUE_EVENTS: usize = 16;

/// How many events may wait for a disk that does not answer, or only slowly.
const UNANSWERED_EVENTS_MAX: usize = 16_384;

/// A disk that takes longer for one event holds up nobody.
const SLOW: Duration = Duration::from_millis(20);

/// Who was stopped itself finds every time-out over; the disk gets this time to answer then.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// The queue of a writer.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    timeout: Duration,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    /// When the recording thread began with what it has in hand; `None` while it has nothing to do.
    busy_since: Option<Instant>,
    is_closed: bool,
    /// The recording thread has ended.
    is_ended: bool,
}

/// Why nothing can be put in, or waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The disk has not answered for the time-out.
    Unanswered,
    /// The recording thread is gone.
    Ended,
}

impl<T> Queue<T> {
    /// A disk that does not answer for `timeout` is given up.
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                busy_since: None,
                is_closed: false,
                is_ended: false,
            }),
            changed: Condvar::new(),
            timeout,
        }
    }

    /// Hands one over. Waits while the queue is full and the disk answers.
    pub(crate) fn put(&self, message: T) -> Result<(), Refusal> {
        let mut state = self.lock();
        loop {
            if state.is_ended || state.is_closed {
                return Err(Refusal::Ended);
            }
            if state.unanswered() >= self.timeout {
                state = self.look_again(state)?;
            }
            let room = match state.unanswered() >= SLOW {
                true => UNANSWERED_EVENTS_MAX,
                false => QUEUE_EVENTS,
            };
            if state.waiting.len() < room {
                state.waiting.push_back(message);
                self.changed.notify_all();
                return Ok(());
            }
            state = self.wait(state, SLOW);
        }
    }

    /// Waits for the next; `None` when no more come. Who asks is done with the last one.
    pub(crate) fn next(&self) -> Option<T> {
        let mut state = self.lock();
        state.busy_since = None;
        self.changed.notify_all();
        loop {
            if let Some(message) = state.take() {
                return Some(message);
            }
            if state.is_closed {
                // What is left to do is the end of the file.
                state.busy_since = Some(Instant::now());
                return None;
            }
            state = self.wait(state, Duration::MAX);
        }
    }

    /// The next, if it is there already.
    pub(crate) fn try_next(&self) -> Option<T> {
        let mut state = self.lock();
        self.changed.notify_all();
        state.take()
    }

    /// No more is put in.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// The recording thread is gone.
    pub(crate) fn end(&self) {
        self.lock().is_ended = true;
        self.changed.notify_all();
    }

    /// For how long the disk has not answered what the recording thread has in hand, and how many more wait.
    pub(crate) fn unanswered(&self) -> (Duration, usize) {
        let state = self.lock();
        (state.unanswered(), state.waiting.len())
    }

    /// Waits until `is_over` says so or the recording thread is gone, and looks at both several times a second. `watch` is
    /// told each time for how long the disk has not answered.
    pub(crate) fn wait_for(
        &self,
        is_over: impl Fn() -> bool,
        mut watch: impl FnMut(Duration, usize),
    ) -> Result<(), Refusal> {
        let mut state = self.lock();
        while !state.is_ended && !is_over() {
            if state.unanswered() >= self.timeout {
                state = self.look_again(state)?;
            }
            let (time, count) = (state.unanswered(), state.waiting.len());
            drop(state);
            watch(time, count);
            state = self.lock();
            if !state.is_ended {
                state = self.wait(state, SLOW);
            }
        }
        Ok(())
    }

    fn look_again<'a>(
        &self,
        state: MutexGuard<'a, State<T>>,
    ) -> Result<MutexGuard<'a, State<T>>, Refusal> {
        let (begun, seen) = (Instant::now(), state.busy_since);
        let mut state = state;
        while begun.elapsed() < LAST_LOOK {
            state = self.wait(state, SLOW);
            if state.busy_since != seen {
                return Ok(state);
            }
        }
        Err(Refusal::Unanswered)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State<T>>,
        most: Duration,
    ) -> MutexGuard<'a, State<T>> {
        if most == Duration::MAX {
            let waited = self.changed.wait(state);
            return waited.unwrap_or_else(PoisonError::into_inner);
        }
        let waited = self.changed.wait_timeout(state, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl<T> State<T> {
    fn unanswered(&self) -> Duration {
        self.busy_since
            .map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn take(&mut self) -> Option<T> {
        let message = self.waiting.pop_front()?;
        self.busy_since = Some(Instant::now());
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn while_the_disk_does_not_answer_more_events_may_wait() {
        let queue = Queue::new(LONG);
        queue.put(0).unwrap();
        assert_eq!(queue.try_next(), Some(0));
        // It never comes back from writing that one.
        for number in 1..=1_000 {
            queue.put(number).unwrap();
        }
        let (time, count) = queue.unanswered();
        assert!(time >= SLOW && count == 1_000);
        let all: Vec<i32> = std::iter::from_fn(|| queue.try_next()).collect();
        assert!(all.into_iter().eq(1..=1_000));
    }

    #[test]
    fn nothing_is_lost_to_who_is_faster_than_the_disk() {
        let queue = Queue::new(LONG);
        std::thread::scope(|scope| {
            let recording = scope.spawn(|| {
                let mut taken = 0;
                while queue.next().is_some() {
                    taken += 1;
                }
                taken
            });
            (0..10_000).for_each(|number| queue.put(number).unwrap());
            queue.close();
            assert_eq!(recording.join().unwrap(), 10_000);
        });
    }

    #[test]
    fn a_disk_that_never_answers_is_given_up() {
        let queue = Queue::new(Duration::from_millis(50));
        queue.put(0).unwrap();
        assert_eq!(queue.try_next(), Some(0));
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(queue.put(1), Err(Refusal::Unanswered));
        let waited = queue.wait_for(|| false, |_, _| {});
        assert_eq!(waited, Err(Refusal::Unanswered));
        // It answers after all.
        assert_eq!(queue.try_next(), None);
        queue.close();
        assert_eq!(queue.next(), None);
        queue.end();
        assert_eq!(queue.wait_for(|| false, |_, _| {}), Ok(()));
        assert_eq!(queue.put(2), Err(Refusal::Ended));
    }
}
