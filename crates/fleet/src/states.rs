//! What streams on several hosts have written in a run, until whoever leads keeps it.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// By the place of a stream in the run; `None` for one of too many blocks.
pub type StatesOfRun = BTreeMap<usize, Option<String>>;

/// Shared by the near ends of all lines. They come before the end of their run does.
#[derive(Clone, Debug, Default)]
pub struct States(Arc<Mutex<StatesOfRun>>);

impl States {
    pub(crate) fn add(&self, states: StatesOfRun) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(states);
    }

    /// Those of the run that has ended.
    #[must_use]
    pub fn take(&self) -> StatesOfRun {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
