//! Everything that may refuse a job, without any I/O to its targets: for a caller that runs several jobs and begins none of
//! them while another would be refused.
use super::{
    Job, Launch, check_targets, complete_plan, execution_started, outputs, settle, settle_outputs,
    sized_bytes, timed_seconds,
};
use crate::exit::{Exit, fail};
use crate::refusals::UnusedWords;
use plan::{Plan, RunKind};
use sys::clock::Clock;

/// What a job will do that nothing refuses.
#[derive(Debug)]
pub struct Rehearsal {
    pub plan: Plan,
    /// Seconds of the runs that end by time, with the pauses after them.
    pub timed_s: u64,
    /// What the other runs move.
    pub sized_bytes: u64,
    /// What is written before the first run, to targets that later executions find.
    pub prepared_bytes: u64,
}

/// Settles a job and lets go of its targets. Words of `--overwrite` that name none of them go to `unused`.
///
/// # Errors
/// The exit code that the job would end with, after the reason was printed.
pub fn rehearse(mut launch: Launch, unused: &mut UnusedWords) -> Result<Rehearsal, Exit> {
    complete_plan(&mut launch)?;
    check_targets(&launch)?;
    let clock = Clock::calibrate();
    let settled = settle(&launch, clock, None, unused)?;
    let started = execution_started(&launch, &settled, clock);
    let outputs = outputs(&launch, &settled.plan);
    let job = Job {
        plan: &settled.plan,
        folder: launch.folder.as_deref(),
        outputs: &outputs,
        runs_done: 0,
    };
    settle_outputs(&launch, &job, &started, &launch.face.beside())
        .map_err(|message| fail(Exit::Usage, &message))?;
    Ok(Rehearsal {
        timed_s: timed_seconds(&settled.plan, 0),
        sized_bytes: sized_bytes(&settled.plan, 0, |kind| kind != RunKind::Prepare),
        prepared_bytes: sized_bytes(&settled.plan, 0, |kind| kind == RunKind::Prepare),
        plan: launch.plan,
    })
}
