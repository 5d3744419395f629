//! A way to ask for an execution and to be told of it, as a value. What differs between the verbs of Fathom, the console
//! of Vdbench and that of fio stands behind [`Face`]; `launch` knows none of them. What a job itself asks for, whoever
//! carries it out, is no matter of a face: see `job_files`.
mod neutral;
mod vdbench;

pub use neutral::Neutral;
pub use vdbench::Vdbench;

use crate::exit::Exit;
use crate::outputs::Outputs;
use crate::trace::Topics;
use crate::trigger::Trigger;
use conduct::{Filled, Outcome, SinkError};
use measure::{Event, ExecutionStarted};
use plan::{BoundPlan, Plan};
use report::Conclusion;
use std::path::Path;

/// An execution that is about to begin.
pub struct Job<'a> {
    pub plan: &'a BoundPlan,
    /// Of the result and the reports; `None` where none are kept.
    pub folder: Option<&'a Path>,
    pub outputs: &'a Outputs,
    /// Runs of an earlier execution that are not carried out again.
    pub runs_done: usize,
}

/// An execution that is over.
pub struct Ended<'a> {
    pub exit: Exit,
    pub plan: &'a Plan,
    pub folder: Option<&'a Path>,
    pub conclusion: &'a Conclusion,
    pub seed: u64,
    /// What the runs were to fill, and what was found of it; empty where that was not asked.
    pub fills: &'a [Filled],
    pub are_outputs_whole: bool,
}

/// What files of jobs need to know of the face.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Begins the names of logs of all jobs together, where they are asked for.
    pub bandwidth_log: Option<String>,
    /// Where files go that belong to no log; the working folder when left out.
    pub auxiliary: Option<std::path::PathBuf>,
    /// What is told of single operations.
    pub topics: Topics,
    /// What ends all jobs from outside.
    pub trigger: Trigger,
}

/// How an execution is prepared, who listens to it, and how it ends.
pub trait Face {
    /// Adds what it needs of the plan beyond what the job asks. Before the plan is bound.
    fn prepare(&self, plan: &mut Plan) {
        let _ = plan;
    }

    /// What the files that jobs ask for follow from.
    fn beside(&self) -> Beside {
        Beside::default()
    }

    /// Refuses what its own files would replace, before anything is written.
    ///
    /// # Errors
    /// The reason, in words with the path and the way out.
    fn check_outputs(&self, job: &Job<'_>, started: &ExecutionStarted) -> Result<(), String> {
        let _ = (job, started);
        Ok(())
    }

    /// Everyone who is told of the events, in this order.
    ///
    /// # Errors
    /// The reason, in words, when a file of its own cannot be made.
    fn listeners(&self, job: &Job<'_>) -> Result<Vec<Box<dyn Listener>>, String>;

    /// Whether findings and notes of Fathom are printed that the tool in whose manner it talks would not print. They
    /// are in the result in any case.
    fn tells_findings(&self) -> bool {
        true
    }

    /// Whether failures of operations mean that the execution has failed.
    fn has_failed(&self, outcome: &Outcome) -> bool {
        outcome.errors > 0 || outcome.streams_failed > 0
    }

    /// The code of an execution that has failed.
    fn exit_of_failures(&self, _: &Outcome) -> Exit {
        Exit::Failed
    }

    /// The option that names the directory for results.
    fn folder_option(&self) -> &'static str {
        "-o"
    }

    /// The code where nothing but rights on targets are missing, and nothing was begun.
    fn exit_without_rights(&self) -> Exit {
        Exit::Usage
    }

    /// The code where figures that cannot be believed count as a failure.
    fn judged(&self, exit: Exit, _: &Conclusion) -> Exit {
        exit
    }

    /// The last words, but for the reason of an exit code.
    fn conclude(&self, ended: &Ended<'_>);
}

/// Who is told of events as they should be shown: with steering characters made harmless. It is told on a thread of its
/// own; where it is slower than the intervals, it misses some.
pub trait Listener: Send {
    /// Takes an event. Returns what the console shows; of events that the result holds already nothing is shown.
    ///
    /// # Errors
    /// When what it writes cannot be written, which ends the execution.
    fn on_event(&mut self, event: &Event) -> Result<Vec<String>, SinkError>;

    /// Goes on after what the console shows was printed. Of events that the result holds already it is not called.
    ///
    /// # Errors
    /// As [`Listener::on_event`].
    fn on_shown(&mut self, event: &Event) -> Result<(), SinkError> {
        let _ = event;
        Ok(())
    }

    /// No event follows.
    ///
    /// # Errors
    /// What is not whole, in words.
    fn finish(self: Box<Self>) -> Result<(), String> {
        Ok(())
    }
}

/// A console of another tool has no word for why nothing happens, or that all figures are those of a warm-up.
pub fn tell_notes(event: &Event) {
    if let Event::Remark(remark) = event
        && matches!(remark.code.as_str(), "not-ready" | "never-warm")
    {
        errln!("note: {}", remark.message);
    }
}
