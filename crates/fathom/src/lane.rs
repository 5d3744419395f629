//! A stream that text goes to while somebody reads it, and that nobody waits for otherwise: a full pipe, or a terminal that
//! was stopped, must delay neither a run nor its end. A thread of its own writes. Who prints waits for it as long as it
//! gets on, so that lines of both streams keep their order. Read [`Lane::print`] first.
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long who prints waits for a reader that takes nothing. From then on nobody waits until all was read.
const PATIENCE: Duration = Duration::from_millis(200);
/// Text that waits for a reader. What is more is dropped and counted.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Written at a time: what a pipe with room takes as a whole.
const PIECE_BYTES: usize = 4096;

/// One stream.
pub struct Lane {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    is_served: bool,
    texts: VecDeque<String>,
    waiting_bytes: usize,
    /// Bytes that were taken.
    taken: u64,
    is_stuck: bool,
    dropped: u64,
    /// The first error of a write that was not the reader's own wish.
    failure: Option<io::Error>,
}

impl Lane {
    pub const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                is_served: false,
                texts: VecDeque::new(),
                waiting_bytes: 0,
                taken: 0,
                is_stuck: false,
                dropped: 0,
                failure: None,
            }),
            changed: Condvar::new(),
        }
    }

    /// From now on a thread writes. Without one, everybody writes for himself.
    pub fn serve(&'static self, open: fn() -> Box<dyn Write>) {
        let started = sys::thread::start("printing", move || self.write_all(open));
        self.lock().is_served = started.is_ok();
    }

    /// Hands text over, and waits until it was written or nobody reads. False where no thread serves.
    pub fn print(&self, text: &str) -> bool {
        let mut state = self.lock();
        if !state.is_served {
            return false;
        }
        if state.waiting_bytes + text.len() > WAITING_BYTES_MAX {
            state.dropped += 1;
            return true;
        }
        state.waiting_bytes += text.len();
        state.texts.push_back(text.to_owned());
        self.changed.notify_all();
        if !state.is_stuck {
            self.wait(state, PATIENCE);
        }
        true
    }

    /// Whether anything of it was ever taken.
    pub fn was_read(&self) -> bool {
        self.lock().taken > 0
    }

    /// Keeps the first error of the stream. A reader that has left, as `head` does, wants no more text, and that is no error.
    pub fn note(&self, written: io::Result<()>) {
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lock().failure.get_or_insert(error);
        }
    }

    /// Why text of the stream is lost, in words; `None` if no write failed.
    pub fn failure(&self) -> Option<String> {
        self.lock().failure.as_ref().map(io::Error::to_string)
    }

    /// Waits until all was written, or the reader has taken nothing for so long.
    pub fn drain(&self, patience: Duration) {
        self.wait(self.lock(), patience);
    }

    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>, patience: Duration) {
        while state.waiting_bytes > 0 {
            let before = state.taken;
            let waited = self.changed.wait_timeout(state, patience);
            let (next, time) = waited.unwrap_or_else(PoisonError::into_inner);
            state = next;
            if time.timed_out() && state.taken == before {
                state.is_stuck = true;
                return;
            }
        }
    }

    fn write_all(&self, open: fn() -> Box<dyn Write>) {
        let mut stream = open();
        let mut state = self.lock();
        loop {
            let Some(text) = state.texts.pop_front() else {
                state.is_stuck = false;
                let dropped = std::mem::take(&mut state.dropped);
                if dropped > 0 {
                    let text = format!("note: {dropped} messages were not printed: nobody read\n");
                    state.waiting_bytes += text.len();
                    state.texts.push_back(text);
                    continue;
                }
                let woken = self.changed.wait(state);
                state = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            for piece in text.as_bytes().chunks(PIECE_BYTES) {
                // What cannot be written is lost, as everywhere; the end of the program says so.
                self.note(stream.write_all(piece).and_then(|()| stream.flush()));
                let mut state = self.lock();
                state.taken += piece.len() as u64;
                state.waiting_bytes -= piece.len();
                self.changed.notify_all();
            }
            state = self.lock();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
