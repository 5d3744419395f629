//! The stop flag of an execution, set by signals and read by the conductor.
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

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

/// A shared stop flag.
#[derive(Clone, Debug, Default)]
pub struct Control {
    haste: Arc<AtomicU8>,
    /// One: the run is to end with its interval. Two: the execution is.
    ending: Arc<AtomicU8>,
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

    pub fn is_urgent(&self) -> bool {
        self.haste() == Haste::AtOnce
    }
}
