//! Everything between a plan and its report: settle with the machines, record, conduct, write down.
mod rehearsal;
mod settling;
mod times;

pub use rehearsal::{Rehearsal, rehearse};
pub use settling::asked;
pub use times::{planned_seconds, planned_text, sized_bytes, timed_seconds};

use crate::arguments::{Common, DEFAULT_OUTPUT};
use crate::at::Timetable;
use crate::exit::{Exit, fail};
use crate::face::{Beside, Ended, Face, Job};
use crate::job_files::{self, JobFiles};
use crate::marks::Inbox;
use crate::outputs::{self, Outputs};
use crate::refusals::{UnusedWords, quoted};
use crate::resume::Earlier;
use crate::sinks::Sinks;
use crate::trigger::Watched;
use crate::written_states::WrittenStates;
use crate::{ending, fill, hosts, printing, render, stop, stop_file};
use conduct::machine::States;
use conduct::{CommandSettings, Control, Filled, Left, Outcome, SinkError, Tempo, go_on};
use lang::Language;
use measure::{Event, ExecutionStarted, FinishReason, Remark};
use plan::{BoundPlan, Diagnostic, Fills, Plan, Severity, SourceMap};
use settling::{Settled, print_notes, settle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::clock::Clock;

/// What to carry out, and how to talk about it.
pub struct Launch {
    pub plan: Plan,
    pub sources: SourceMap,
    pub arguments: Vec<String>,
    pub common: Common,
    /// Of the result and the reports; `None` where none are kept.
    pub folder: Option<PathBuf>,
    pub face: Box<dyn Face>,
    pub findings: Findings,
}

/// What was found before, for the record, and what is only for the record.
#[derive(Default)]
pub struct Findings {
    /// Found while the job was read, and printed then.
    pub printed: Vec<Diagnostic>,
    /// Lints whose warnings stand in the report and are not printed.
    pub unprinted: &'static [&'static str],
    /// Of the job that is judged.
    pub language: Language,
}

/// What is known before the first file is made.
struct Begun {
    settled: Settled,
    started: ExecutionStarted,
    earlier: Option<Earlier>,
    clock: Clock,
}

/// Runs a plan to its report.
pub fn launch(mut launch: Launch) -> Exit {
    if let Err(exit) = complete_plan(&mut launch) {
        return exit;
    }
    match begin(&mut launch) {
        Ok(begun) => carry_out(&launch, begun),
        Err(exit) => exit,
    }
}

/// Adds to the plan what the command line and the face ask beyond the job.
fn complete_plan(launch: &mut Launch) -> Result<(), Exit> {
    match hosts::spread(&launch.plan, &launch.common.fleet) {
        Ok(None) => {}
        Ok(Some(spread)) => launch.plan = spread,
        Err(message) => return Err(fail(Exit::Usage, &message)),
    }
    launch.face.prepare(&mut launch.plan);
    if launch.plan.fills == Fills::Flushed {
        fill::sync_fills(&mut launch.plan);
    }
    Ok(())
}

/// Everything that may refuse, the execution that goes on included.
fn begin(launch: &mut Launch) -> Result<Begun, Exit> {
    let earlier = earlier(launch)?;
    check_targets(launch)?;
    let clock = Clock::calibrate();
    let bound = earlier
        .as_ref()
        .map(|earlier| Arc::new(earlier.bound.clone()));
    let settled = settle(launch, clock, bound, &mut UnusedWords::Refused)?;
    let started = execution_started(launch, &settled, clock);
    if let Some(earlier) = &earlier {
        let differences = earlier.machine_differences(&settled.plan, &started);
        if !differences.is_empty() {
            return Err(refuse_to_go_on(launch, earlier, &differences));
        }
    }
    Ok(Begun {
        settled,
        started,
        earlier,
        clock,
    })
}

/// Refuses targets in the directory for results. A result that is resumed has the job that made it.
fn check_targets(launch: &Launch) -> Result<(), Exit> {
    let folder = launch.folder.as_deref();
    let Some(folder) = folder.filter(|_| launch.common.resume.is_none()) else {
        return Ok(());
    };
    let option = launch.face.folder_option();
    outputs::check_targets_outside(&launch.plan, folder, option)
        .map_err(|message| fail(Exit::Usage, &message))
}

fn carry_out(launch: &Launch, begun: Begun) -> Exit {
    let Begun {
        settled,
        started,
        earlier,
        clock,
    } = begun;
    let outputs = outputs(launch, &settled.plan);
    let beside = launch.face.beside();
    let job = Job {
        plan: &settled.plan,
        folder: launch.folder.as_deref(),
        outputs: &outputs,
        runs_done: earlier.as_ref().map_or(0, |one| one.done.runs() as usize),
    };
    let opened = settle_outputs(launch, &job, &started, &beside)
        .and_then(|()| open_sinks(launch, &settled, &job, &beside, earlier.as_ref()));
    let mut sinks = match opened {
        Ok(sinks) => sinks,
        Err(message) => return fail(Exit::Usage, &message),
    };
    let (control, trigger) = match watch(&beside, &job) {
        Ok(watched) => watched,
        Err(exit) => return exit,
    };
    print_warnings(launch, &settled.found);
    let opening = earlier.as_ref().map(|earlier| earlier.remark(&started));
    let opening = opening.unwrap_or_else(|| Event::ExecutionStarted(started.clone()));
    let done = earlier.map(|earlier| earlier.done).unwrap_or_default();
    let opened = sinks
        .take(&opening)
        .and_then(|()| record(launch, &settled, started.unix_ns, &mut sinks))
        .and_then(|()| sinks.settle());
    let states = States::default();
    let written = (settled.reaches_storage()).then(|| {
        let auxiliary = job_files::auxiliary(&beside);
        WrittenStates::new(&settled.plan, states.clone(), auxiliary, &outputs)
    });
    let (outcome, left) = match opened {
        Ok(()) => {
            let operations = job_files::operation_sink(&job, &beside);
            let leading = (clock, launch.common.on_loss);
            let commands = commands(launch, &job);
            let mut crew = settled
                .workers
                .into_crew(leading, commands, operations, &states);
            let mut timetable = Timetable::new(launch.common.timed(), &control);
            let outcome = go_on(&settled.plan, done, crew.as_mut(), &control, &mut |event| {
                sinks.take(event)?;
                timetable.on_event(event);
                end_run(event, written.as_ref(), &trigger, &mut sinks)
            });
            let left = crew.leave(is_whole(&outcome));
            (outcome, left)
        }
        Err(error) => (Outcome::failed(error.to_string()), Left::default()),
    };
    let outcome = settle_sinks(outcome, &mut sinks);
    print_notes(launch, &left.notes);
    // No run was going.
    trigger.carry_out();
    let ended = (&outcome, trigger.has_fired());
    let exit = conclude(launch, sinks, ended, &left.fills, &outputs);
    let exit = guarded(exit, &outcome, left);
    // Who does not want to wait for operations does not want to wait for files to close either.
    if outcome.left_outstanding || control.is_urgent() {
        stop::leave(exit);
    }
    exit
}

/// Files of an execution, which are none of its inputs and targets.
fn outputs(launch: &Launch, plan: &BoundPlan) -> Outputs {
    let inputs = outputs::inputs(&launch.sources, &launch.common.overwrite);
    Outputs::beside(&plan.plan, inputs)
}

/// Whether all that was to be written was.
fn is_whole(outcome: &Outcome) -> bool {
    outcome.reason == FinishReason::Complete
        && outcome.errors == 0
        && outcome.streams_failed == 0
        && !outcome.left_outstanding
}

/// The exit code where something else stands at a path than was examined.
fn guarded(exit: Exit, outcome: &Outcome, left: Left) -> Exit {
    match (exit, left.refused, left.displaced) {
        // Nothing was looked at.
        _ if outcome.left_outstanding => exit,
        // Failures of operations are what followed from it.
        (Exit::Failed | Exit::JobsFailed(_), Some(reason), _) => {
            match printing::ends_with(&reason) {
                false => fail(Exit::Guard, &reason),
                true => Exit::Guard,
            }
        }
        (Exit::Fine, _, Some(reason)) => fail(Exit::Guard, &reason),
        _ => exit,
    }
}

/// Begins to wait for everything that may end runs from outside.
fn watch(beside: &Beside, job: &Job<'_>) -> Result<(Control, Watched), Exit> {
    let (plan, outputs) = (&job.plan.plan, job.outputs);
    let control = Control::default();
    stop::steer(&control);
    let refused = |message: String| fail(Exit::Usage, &message);
    let inbox = |folder| Inbox::open(folder, outputs, &control);
    let inbox = job.folder.map(inbox).transpose().map_err(refused)?;
    stop_file::watch(plan, &control, outputs, inbox).map_err(refused)?;
    let trigger = beside.trigger.watch(plan, &control).map_err(refused)?;
    Ok((control, trigger))
}

/// At the end of a run: keeps what it has written, before a trigger may take the machine away.
fn end_run(
    event: &Event,
    states: Option<&WrittenStates<'_>>,
    trigger: &Watched,
    sinks: &mut Sinks,
) -> Result<(), SinkError> {
    if !matches!(event, Event::RunFinished(_)) {
        return Ok(());
    }
    let has_fired = trigger.has_fired();
    if let Some(states) = states {
        states.on_event(event, has_fired);
    }
    if has_fired {
        // What it prints comes after what was printed of the run.
        sinks.settle()?;
        trigger.carry_out();
    }
    Ok(())
}

/// What a sink could not take of the last events fails an execution as it does in its middle.
fn settle_sinks(outcome: Outcome, sinks: &mut Sinks) -> Outcome {
    match sinks.settle() {
        Err(SinkError(message)) if outcome.reason == FinishReason::Complete => Outcome {
            reason: FinishReason::Failed { message },
            ..outcome
        },
        _ => outcome,
    }
}

/// The execution that is to go on, if one is. What is not said again is as it was then.
fn earlier(launch: &mut Launch) -> Result<Option<Earlier>, Exit> {
    let Some(result) = &launch.common.resume else {
        return Ok(None);
    };
    let earlier = Earlier::read(result).map_err(|message| fail(Exit::Usage, &message))?;
    let differences = earlier.plan_differences(&launch.plan);
    if !differences.is_empty() {
        return Err(refuse_to_go_on(launch, &earlier, &differences));
    }
    let folder = earlier.folder();
    let given = launch.folder.as_deref();
    if let Some(output) = given.filter(|path| *path != Path::new(DEFAULT_OUTPUT))
        && !is_same_folder(output, &folder)
    {
        let message = format!(
            "a result is resumed in its own folder `{}`, not in `{}`; leave out -o",
            folder.display(),
            output.display()
        );
        return Err(fail(Exit::Usage, &message));
    }
    if earlier.is_over() {
        errln!(
            "note: every run of `{}` is finished; there is nothing to resume",
            result.display()
        );
        return Err(Exit::Fine);
    }
    launch.folder = Some(folder);
    if launch.common.label.is_empty() {
        let words = earlier.started.labels.iter();
        launch.common.label = words
            .map(|label| format!("{}={}", label.key, label.value))
            .collect();
    }
    let backend = &mut launch.common.backend;
    backend.get_or_insert_with(|| earlier.started.backend.clone());
    if earlier.done.runs() == 0 {
        errln!(
            "note: no run of `{}` is finished; it begins anew",
            result.display()
        );
        return Ok(None);
    }
    Ok(Some(earlier))
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    let absolute = |path: &Path| std::fs::canonicalize(path).ok();
    absolute(one).is_some_and(|path| absolute(other) == Some(path))
}

fn refuse_to_go_on(launch: &Launch, earlier: &Earlier, differences: &[String]) -> Exit {
    let result = launch.common.resume.as_deref().unwrap_or(Path::new(""));
    errln!("error: `{}` was made by another job:", result.display());
    for difference in differences {
        errln!("  - {difference}");
    }
    match earlier.is_over() {
        true => errln!(
            "  help: every run of it is finished; leave out `--resume`, and use `-o` with another folder"
        ),
        false => errln!(
            "  help: `fathom run --resume {}` takes the job from the result itself; a changed job needs a result of its own (-o)",
            quoted(&result.display().to_string())
        ),
    }
    Exit::Usage
}

/// Prints the warnings of lints, except those for which the report is enough. A run that is refused says why, and nothing
/// else, so this comes after everything that may refuse.
fn print_warnings(launch: &Launch, found: &[Diagnostic]) {
    if !launch.face.tells_findings() {
        return;
    }
    let unprinted = launch.findings.unprinted;
    let is_printed = |one: &&Diagnostic| {
        let mut lints = lang::lints().iter();
        !lints.any(|lint| lint.is_called(&one.code) && unprinted.contains(&lint.name))
    };
    let printed: Vec<Diagnostic> = found.iter().filter(is_printed).cloned().collect();
    render::print(&printed, &launch.sources);
}

/// Whoever reads the report later has not seen the console.
fn record(
    launch: &Launch,
    settled: &Settled,
    unix_ns: u64,
    sinks: &mut Sinks,
) -> Result<(), SinkError> {
    let findings = launch.findings.printed.iter().chain(&settled.found);
    for finding in findings.filter(|finding| finding.severity == Severity::Warning) {
        sinks.take_quietly(&Event::Remark(Remark {
            run: None,
            unix_ns,
            severity: finding.severity,
            code: finding.code.to_string(),
            message: finding.message.clone(),
        }))?;
    }
    for message in &settled.passed {
        sinks.take_quietly(&Event::Remark(Remark {
            run: None,
            unix_ns,
            severity: Severity::Note,
            code: "standing-overwrite".to_owned(),
            message: message.clone(),
        }))?;
    }
    Ok(())
}

fn execution_started(launch: &Launch, settled: &Settled, clock: Clock) -> ExecutionStarted {
    let (plan, whole) = (&*settled.plan, &settled.whole);
    let now = jiff::Zoned::now();
    let inputs = launch.sources.files().iter();
    ExecutionStarted {
        unix_ns: clock.unix_ns(clock.now_ns()),
        utc_offset_s: now.offset().seconds(),
        time_zone: now.strftime("%Z").to_string(),
        fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: launch.arguments.clone(),
        inputs: inputs
            .map(|file| (file.name.clone(), file.text.clone()))
            .collect(),
        plan_json: serde_json::to_string(plan).expect("a plan is plain data"),
        seed: plan.plan.seed,
        targets: whole.targets.clone(),
        backend: whole.backend.clone(),
        backend_reason: whole.backend_reason.clone(),
        workers: whole.workers,
        clock: clock.source().to_string(),
        labels: settled.labels.clone(),
        reporting: plan.plan.reporting.labels.clone(),
        host: host::facts(),
        hosts: whole.facts.clone(),
    }
}

/// Refuses, before anything is made, what the files of this execution would replace.
fn settle_outputs(
    launch: &Launch,
    job: &Job<'_>,
    started: &ExecutionStarted,
    beside: &Beside,
) -> Result<(), String> {
    if let Some(folder) = job.folder {
        outputs::check_folder(job.outputs, folder)?;
    }
    launch.face.check_outputs(job, started)?;
    job_files::check(job, beside)
}

fn open_sinks(
    launch: &Launch,
    settled: &Settled,
    job: &Job<'_>,
    beside: &Beside,
    earlier: Option<&Earlier>,
) -> Result<Sinks, String> {
    // Simulated intervals come as fast as they can be taken.
    let tempo = match settled.is_simulated() {
        true => Tempo::Patient,
        false => Tempo::Real,
    };
    let sinks = |writer| {
        let listeners = launch.face.listeners(job)?;
        let files = JobFiles::new(beside, job.outputs);
        Sinks::new(tempo, writer, listeners, Some(files), job.outputs)
    };
    let Some(folder) = job.folder else {
        return sinks(None);
    };
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("folder `{}` cannot be made: {error}", folder.display()))?;
    match earlier {
        Some(earlier) => earlier.reopen(|writer| sinks(Some(writer))),
        None => {
            let writer = store::Writer::create(folder.join("result.fathom"));
            sinks(Some(writer.map_err(|error| error.to_string())?))
        }
    }
}

/// What commands of the job get, and how long they may take.
fn commands(launch: &Launch, job: &Job<'_>) -> CommandSettings {
    let output = job.folder.unwrap_or(Path::new(""));
    let output = std::fs::canonicalize(output).unwrap_or_else(|_| output.to_owned());
    CommandSettings {
        variables: vec![("output", output.display().to_string())],
        limit: launch.common.command_timeout,
    }
}

fn conclude(
    launch: &Launch,
    sinks: Sinks,
    (outcome, is_planned): (&Outcome, bool),
    fills: &[Filled],
    outputs: &Outputs,
) -> Exit {
    let folder = launch.folder.as_deref();
    let conclusion = sinks.finish(folder);
    let exit = exit_of(outcome, is_planned, launch.face.as_ref());
    let exit = launch.face.judged(exit, &conclusion);
    let failure = outputs.failure();
    launch.face.conclude(&Ended {
        exit,
        seed: launch.plan.seed,
        plan: &launch.plan,
        folder,
        conclusion: &conclusion,
        fills,
        are_outputs_whole: failure.is_none(),
    });
    if let Some(reason) = failure.filter(|_| exit == Exit::Fine) {
        let message = format!("some files of this run are missing or not whole: {reason}");
        return fail(Exit::Failed, &message);
    }
    ending::tell_reason(outcome, exit);
    exit
}

/// A stop that the job has planned is the end of the job.
fn exit_of(outcome: &Outcome, is_planned: bool, face: &dyn Face) -> Exit {
    match outcome.reason {
        FinishReason::StoppedByUser if !is_planned => Exit::Stopped,
        FinishReason::Failed { .. } | FinishReason::TooManyErrors => face.exit_of_failures(outcome),
        _ if face.has_failed(outcome) || outcome.left_outstanding => face.exit_of_failures(outcome),
        _ => Exit::Fine,
    }
}
