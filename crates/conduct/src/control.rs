//! What is said to an execution from outside, and read by the conductor: that it is to end, and what happens beside it.
use measure::Remark;
use plan::Severity;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How soon the execution is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Haste {
    /// As planned.
    None,
    /// End the run now, wait for what is in flight.
    Drain,
    /// Do not wait.
    AtOnce,
}

/// What happened beside the I/O, for the record of the execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    pub unix_ns: u64,
    pub severity: Severity,
    /// As [`measure::Remark::code`].
    pub code: &'static str,
    pub message: String,
}

impl News {
    /// A moment that is named now.
    pub fn mark(message: String) -> Self {
        Self::now(Severity::Note, Remark::MARK, message)
    }

    /// What happens now.
    pub fn now(severity: Severity, code: &'static str, message: String) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            unix_ns: now.unwrap_or_default().as_nanos() as u64,
            severity,
            code,
            message,
        }
    }
}

/// A shared stop flag, and an inbox.
#[derive(Clone, Debug, Default)]
pub struct Control {
    haste: Arc<AtomicU8>,
    /// One: the run is to end with its interval. Two: the execution is.
    ending: Arc<AtomicU8>,
    news: Arc<Mutex<Vec<News>>>,
}

impl Control {
    /// The first call asks for a drain, the second for an end at once.
    pub fn hurry(&self) -> Haste {
        let before = self.haste.load(SeqCst);
        self.haste.store(before.saturating_add(1).min(2), SeqCst);
        self.haste()
    }

    pub fn haste(&self) -> Haste {
        match self.haste.load(SeqCst) {
            0 => Haste::None,
            1 => Haste::Drain,
            _ => Haste::AtOnce,
        }
    }

    pub fn is_stopping(&self) -> bool {
        self.haste() > Haste::None
    }

    /// Asks for the end of the run with the interval that is going, as if it had been planned so.
    pub fn end_run(&self) {
        self.ending.fetch_max(1, SeqCst);
    }

    /// The same for the execution.
    pub fn end_all(&self) {
        self.ending.fetch_max(2, SeqCst);
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.ending.load(SeqCst) > 0
    }

    /// Takes what was asked for the run that has ended; whether the execution is to end.
    pub(crate) fn takes_end_of_all(&self) -> bool {
        self.ending.swap(0, SeqCst) == 2
    }

    /// Puts something on record: with the run that is going when it is read, a few milliseconds later.
    pub fn tell(&self, news: News) {
        let mut all = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(news);
    }

    pub(crate) fn take_news(&self) -> Vec<News> {
        let mut all = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *all)
    }

    pub fn is_urgent(&self) -> bool {
        self.haste() == Haste::AtOnce
    }
}
