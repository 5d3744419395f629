//! Everything between a plan and its report: bind, guard, claim, record, conduct, write down.
mod rehearsal;

pub use rehearsal::{Rehearsal, rehearse};

use crate::arguments::{Common, DEFAULT_OUTPUT, OnLoss};
use crate::at::Timetable;
use crate::descriptors::{self, Descriptors};
use crate::exit::{Exit, fail};
use crate::face::{Beside, Ended, Face, Job};
use crate::fill::{self, Fill};
use crate::hosts::{self, Fleet, Judging};
use crate::job_files::{self, JobFiles};
use crate::marks::Inbox;
use crate::outputs::{self, Outputs};
use crate::progress::duration;
use crate::records::Records;
use crate::refusals::{UnusedWords, is_unusable, print_refusal, quoted};
use crate::resume::Earlier;
use crate::sinks::Sinks;
use crate::standing::{self, Passed};
use crate::trigger::Watched;
use crate::written_states::{Source, WrittenStates};
use crate::{ending, lints, machine, printing, removal, render, stop, stop_file};
use conduct::machine::Approach;
use conduct::{
    CommandSettings, Control, Crew, Left, LocalHost, LocalLead, Outcome, SimulatedHost, SinkError,
    Tempo, expected_bytes, go_on, planned_ns,
};
use door::{Door, Grants};
use engine::{BackendChoice, BackendKind};
use host::guard::{Finding, Overwrite, Refused};
use host::{Storage, SysRoot};
use lang::Language;
use measure::{Event, ExecutionStarted, FinishReason, Remark};
use plan::{BoundPlan, Diagnostic, Fills, Label, Plan, RunId, RunKind, Severity, SourceMap};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// What is settled before anything is written.
pub struct Settled {
    pub plan: BoundPlan,
    grants: Arc<Grants>,
    choice: BackendChoice,
    labels: Vec<Label>,
    records: Records,
    descriptors: Descriptors,
    /// The hosts that do the work, where it is spread over several.
    fleet: Option<Fleet>,
    /// What lints found on this machine.
    found: Vec<Diagnostic>,
    passed: Passed,
}

/// Files that are locked for this process alone are so for the sake of other executions.
fn tell_unheld(launch: &Launch, door: &Door) {
    let unheld = door.unheld();
    if unheld > 0 && launch.face.tells_findings() {
        errln!(
            "note: {unheld} files are not locked against other Fathom processes: too many open files"
        );
    }
}

/// What is known before the first file is made.
struct Begun {
    settled: Settled,
    started: ExecutionStarted,
    earlier: Option<Earlier>,
    clock: sys::clock::Clock,
}

/// Runs a plan to its report.
pub fn launch(mut launch: Launch) -> Exit {
    if let Err(exit) = complete_plan(&mut launch) {
        return exit;
    }
    let storage = Storage::real();
    match begin(&mut launch, &storage) {
        Ok(begun) => carry_out(&launch, begun, &storage),
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
fn begin(launch: &mut Launch, storage: &Storage) -> Result<Begun, Exit> {
    let earlier = earlier(launch)?;
    let mut settled = settle(launch, storage, &mut UnusedWords::Refused)?;
    let clock = sys::clock::Clock::calibrate();
    let mut started = execution_started(launch, &settled, storage, clock);
    if let Some(earlier) = &earlier {
        count_all(&mut started, earlier, &settled, launch);
        let differences = earlier.machine_differences(&settled, &started);
        if !differences.is_empty() {
            return Err(refuse_to_go_on(launch, &differences));
        }
        // Runs keep their numbers, those of preparations too that nothing needs any more.
        settled.plan.runs = earlier.bound.runs.clone();
    }
    tell_unheld(launch, settled.grants.door());
    if launch.face.tells_findings() {
        settled.descriptors.tell();
    }
    Ok(Begun {
        settled,
        started,
        earlier,
        clock,
    })
}

fn carry_out(launch: &Launch, begun: Begun, storage: &Storage) -> Exit {
    let Begun {
        settled,
        started,
        earlier,
        clock,
    } = begun;
    let inputs = outputs::inputs(&launch.sources, &launch.common.overwrite);
    let outputs = Outputs::beside(&settled.plan.plan, inputs);
    let beside = launch.face.beside();
    let job = Job {
        plan: &settled.plan,
        folder: launch.folder.as_deref(),
        outputs: &outputs,
        runs_done: earlier.as_ref().map_or(0, |one| one.done.runs() as usize),
    };
    let opened = settle_outputs(launch, &job, &started, &beside)
        .and_then(|()| open_sinks(launch, settled.choice.kind, &job, &beside, earlier.as_ref()));
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
    let (outcome, left) = match opened {
        Ok(()) => {
            settled.records.announce(storage.root(), &settled.grants);
            let (mut host, states) = host(launch, &settled, &started, clock, (&job, &beside));
            let mut timetable = Timetable::new(launch.common.timed(), &control);
            let outcome = go_on(&settled.plan, done, host.as_mut(), &control, &mut |event| {
                sinks.take(event)?;
                timetable.on_event(event);
                end_run(event, states.as_ref(), &trigger, &mut sinks)
            });
            (outcome, host.leave())
        }
        Err(error) => (Outcome::failed(error.to_string()), Left::default()),
    };
    let outcome = settle_sinks(outcome, &mut sinks);
    let fills = fills_of(&settled);
    let are_there = match outcome.left_outstanding {
        true => Ok(()),
        false => fill::are_in_place(&settled.plan, &fills, &settled.grants),
    };
    leave(launch, &settled, storage.root(), &outcome);
    let refused = refused_by(&settled, left);
    // No run was going.
    trigger.carry_out();
    let is_shown = are_there.is_ok() && !outcome.left_outstanding;
    let shown = if is_shown { fills.as_slice() } else { &[] };
    let ended = (&outcome, trigger.has_fired());
    let exit = conclude(launch, sinks, ended, shown, &outputs);
    let exit = guarded(exit, &outcome, are_there, refused);
    // Who does not want to wait for operations does not want to wait for files to close either.
    if outcome.left_outstanding || control.is_urgent() {
        stop::leave(exit);
    }
    exit
}

/// Says what machines had to say at the end, and gives why a target was refused in mid-run, here or on one of them.
fn refused_by(settled: &Settled, left: Left) -> Option<String> {
    left.notes.iter().for_each(|note| errln!("{note}"));
    let here = settled.grants.door().refused();
    here.map(str::to_owned).or(left.refused)
}

/// The exit code where something else stands at a path than was examined.
fn guarded(
    exit: Exit,
    outcome: &Outcome,
    are_there: Result<(), String>,
    refused: Option<String>,
) -> Exit {
    match (exit, are_there) {
        // Nothing was looked at.
        _ if outcome.left_outstanding => exit,
        // Failures of operations are what followed from it.
        (Exit::Failed | Exit::JobsFailed(_), _) if let Some(reason) = refused => {
            match printing::ends_with(&reason) {
                false => fail(Exit::Guard, &reason),
                true => Exit::Guard,
            }
        }
        (Exit::Fine, Err(reason)) => fail(Exit::Guard, &reason),
        (exit, _) => exit,
    }
}

/// What the runs are to fill and to flush, where something is written.
fn fills_of(settled: &Settled) -> Vec<Fill> {
    let is_asked = settled.plan.plan.fills == Fills::Flushed;
    match settled.grants.is_empty() || !is_asked {
        true => Vec::new(),
        false => fill::fills(&settled.plan),
    }
}

/// Removes what was made and is not to stay, and remembers what was written, for the next execution. Where that is not
/// possible, one line says so for all.
fn leave(launch: &Launch, settled: &Settled, root: &SysRoot, outcome: &Outcome) {
    if outcome.left_outstanding {
        tell_unfinished(launch, settled);
        return;
    }
    let told = removal::remove_made(&settled.plan, &settled.grants);
    told.iter().for_each(|line| errln!("{line}"));
    let Err(failures) = settled.records.keep(root, &settled.grants, outcome) else {
        return;
    };
    let told = launch.face.tells_findings().then(|| failures.first());
    if let Some((path, error)) = told.flatten() {
        let more = match failures.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        errln!(
            "note: cannot record what was written to `{}`{more}: {error}; the next run will ask before it overwrites that",
            path.display()
        );
    }
}

/// Says what is not done any more where targets no longer answer.
fn tell_unfinished(launch: &Launch, settled: &Settled) {
    let steering = &settled.plan.plan.steering;
    let skipped = [
        (
            !steering.remove_made.is_empty(),
            "files that this run created are not removed",
        ),
        (
            !settled.records.is_empty(),
            "what was written is not recorded",
        ),
        (
            !fills_of(settled).is_empty(),
            "what was filled is not read back",
        ),
    ];
    let skipped = skipped.into_iter().filter(|(is_due, _)| *is_due);
    let skipped: Vec<_> = skipped.map(|(_, what)| what).collect();
    if !skipped.is_empty() && launch.face.tells_findings() {
        errln!(
            "note: the storage does not answer, so Fathom no longer touches the targets: {}",
            skipped.join("; ")
        );
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
    if earlier.is_over() {
        errln!(
            "note: every run of `{}` is finished; there is nothing to resume",
            result.display()
        );
        return Err(Exit::Fine);
    }
    let differences = earlier.plan_differences(&launch.plan);
    if !differences.is_empty() {
        return Err(refuse_to_go_on(launch, &differences));
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

/// Preparations that are done may have had more workers than all the runs that are left, and other
/// runs backends of their own.
fn count_all(
    started: &mut ExecutionStarted,
    earlier: &Earlier,
    settled: &Settled,
    launch: &Launch,
) {
    if settled.fleet.is_some() {
        // Each host has said so of the runs that are left.
        started.workers = earlier.started.workers;
        return;
    }
    let rule = machine::worker_rule(launch.common.workers);
    let (backends, cpus) = (settled.choice.backends(), started.host.cpus);
    started.workers = machine::workers_max(&earlier.bound, backends, rule, cpus);
    (started.backend, _) = machine::backends_used(&earlier.bound, &settled.choice);
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    let absolute = |path: &Path| std::fs::canonicalize(path).ok();
    absolute(one).is_some_and(|path| absolute(other) == Some(path))
}

fn refuse_to_go_on(launch: &Launch, differences: &[String]) -> Exit {
    let result = launch.common.resume.as_deref().unwrap_or(Path::new(""));
    errln!("error: `{}` was made by another job:", result.display());
    for difference in differences {
        errln!("  - {difference}");
    }
    errln!(
        "  help: `fathom run --resume {}` takes the job from the result itself; a changed job needs a result of its own (-o)",
        quoted(&result.display().to_string())
    );
    Exit::Usage
}

/// Everything that may refuse, before the first file is made.
fn settle(launch: &Launch, storage: &Storage, unused: &mut UnusedWords) -> Result<Settled, Exit> {
    let refuse = |diagnostics: &[Diagnostic]| {
        render::print(diagnostics, &launch.sources);
        Exit::Usage
    };
    if launch.plan.is_spread() {
        return settle_spread(launch, unused);
    }
    let facts = conduct::machine::facts(&launch.plan, storage);
    let plan = machine::bind_to(launch.plan.clone(), &facts).map_err(|found| refuse(&found))?;
    let missing = machine::not_built(&plan);
    if !missing.is_empty() {
        return Err(refuse(&missing));
    }
    if plan.runs.is_empty() {
        return Err(fail(Exit::Usage, "there is nothing to run"));
    }
    let labels = labels(&launch.common.label).map_err(|message| fail(Exit::Usage, &message))?;
    let choice = machine::backend(&plan, launch.common.backend.as_deref())
        .map_err(|message| fail(Exit::Usage, &message))?;
    if choice.kind == BackendKind::Sim && !launch.common.at.is_empty() {
        let message = "`--at` waits for a time, and simulated storage has a time of its own: name a real target";
        return Err(fail(Exit::Usage, message));
    }
    let selection = lints::selection(&launch.common.lints.words)
        .map_err(|message| fail(Exit::Usage, &message))?;
    let rule = machine::worker_rule(launch.common.workers);
    let folder = launch.folder.as_deref();
    let found = lints::judge(
        &plan,
        &choice,
        rule,
        folder,
        (launch.findings.language, &selection),
        storage,
    );
    let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
    let errors: Vec<Diagnostic> = found.iter().filter(is_error).cloned().collect();
    if !errors.is_empty() {
        return Err(refuse(&errors));
    }
    conduct::machine::check_demands(&plan, choice.kind, storage.root())
        .map_err(|message| fail(Exit::Usage, &message))?;
    let descriptors = match choice.kind {
        BackendKind::Null | BackendKind::Sim => None,
        _ => Some(descriptors::share_out(&plan, &choice, rule, storage.root())),
    };
    let descriptors = descriptors.transpose();
    let descriptors = descriptors.map_err(|message| fail(Exit::Usage, &message))?;
    let (grants, records, passed) = approach(launch, &plan, (storage, descriptors), unused)?;
    Ok(Settled {
        plan,
        grants: Arc::new(grants),
        choice,
        labels,
        records,
        descriptors: descriptors.unwrap_or(Descriptors::UNLIMITED),
        fleet: None,
        found,
        passed,
    })
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

/// The same where other hosts do the work: what is here is not touched.
fn settle_spread(launch: &Launch, unused: &mut UnusedWords) -> Result<Settled, Exit> {
    let labels = labels(&launch.common.label).map_err(|message| fail(Exit::Usage, &message))?;
    let judging = Judging {
        language: launch.findings.language,
        results: launch.folder.as_deref(),
    };
    let judging = (judging, unused);
    let settled = hosts::settle(&launch.plan, &launch.common, &launch.sources, judging);
    let (plan, mut fleet) = settled.map_err(|refused| refused.exit)?;
    let found = std::mem::take(&mut fleet.found);
    Ok(Settled {
        plan,
        grants: Arc::new(Grants::none()),
        choice: BackendChoice {
            kind: fleet.kind,
            overrules: false,
            reason: fleet.backend.1.clone(),
        },
        labels,
        records: Records::default(),
        descriptors: Descriptors::UNLIMITED,
        fleet: Some(fleet),
        found,
        passed: Passed::default(),
    })
}

/// Claims and examines the targets, and grants what may be done with them. Without descriptors, no storage is reached.
fn approach(
    launch: &Launch,
    plan: &BoundPlan,
    (storage, descriptors): (&Storage, Option<Descriptors>),
    unused: &mut UnusedWords,
) -> Result<(Grants, Records, Passed), Exit> {
    let mut overwrite = Overwrite::from_arguments(&launch.common.overwrite)
        .map_err(|error| fail(Exit::Usage, &error.to_string()))?;
    let Some(descriptors) = descriptors else {
        unused.take(Vec::new())?;
        return Ok((Grants::none(), Records::default(), Passed::default()));
    };
    let approach = Approach::new(plan, storage.root(), descriptors.for_claims);
    let examinations = &approach.examinations;
    unused.take(host::guard::unused_words(examinations, &overwrite))?;
    let passed = standing::for_run(
        &plan.plan,
        examinations,
        &mut overwrite,
        launch.face.tells_findings(),
    )?;
    let grants = approach.grants(&overwrite).map_err(|refused| {
        print_refusal(&refused, plan);
        refusal_exit(&refused, launch.face.as_ref())
    })?;
    // What is borne is all that is left of them.
    for shortage in host::guard::shortages(examinations) {
        errln!("warning: {shortage}");
    }
    let records = Records::of(plan, examinations);
    Ok((grants, records, passed))
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
    settled.passed.record(unix_ns, sinks)
}

fn refusal_exit(refused: &Refused, face: &dyn Face) -> Exit {
    let is_mistake = refused.no_space.is_empty() && refused.refusals.iter().all(is_unusable);
    let mut findings = refused.refusals.iter().flat_map(|one| &one.findings);
    match is_mistake {
        true if findings.all(Finding::is_lack_of_right) => face.exit_without_rights(),
        true => Exit::Usage,
        false => Exit::Guard,
    }
}

fn labels(words: &[String]) -> Result<Vec<Label>, String> {
    let label = |word: &String| {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("`--label {word}` has no `=`; give it as key=value"))?;
        Ok(Label::new(key, value))
    };
    words.iter().map(label).collect()
}

fn execution_started(
    launch: &Launch,
    settled: &Settled,
    storage: &Storage,
    clock: sys::clock::Clock,
) -> ExecutionStarted {
    let plan = &settled.plan;
    let now = jiff::Zoned::now();
    let facts = host::facts();
    let reaches_storage = !launch.common.reaches_no_storage();
    let targets = match &settled.fleet {
        Some(fleet) => fleet.targets.clone(),
        None => machine::targets_told(plan, storage, reaches_storage),
    };
    let rule = machine::worker_rule(launch.common.workers);
    let (backend, backend_reason) = match &settled.fleet {
        Some(fleet) => fleet.backend.clone(),
        None => machine::backends_used(plan, &settled.choice),
    };
    ExecutionStarted {
        unix_ns: clock.unix_ns(clock.now_ns()),
        utc_offset_s: now.offset().seconds(),
        time_zone: now.strftime("%Z").to_string(),
        fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments: launch.arguments.clone(),
        inputs: launch
            .sources
            .files()
            .iter()
            .map(|file| (file.name.clone(), file.text.clone()))
            .collect(),
        plan_json: serde_json::to_string(plan).expect("a plan is plain data"),
        seed: plan.plan.seed,
        targets,
        backend,
        backend_reason,
        workers: match &settled.fleet {
            Some(fleet) => fleet.workers,
            None => machine::workers_max(plan, settled.choice.backends(), rule, facts.cpus),
        },
        clock: clock.source().to_string(),
        labels: settled.labels.clone(),
        reporting: plan.plan.reporting.labels.clone(),
        host: facts,
        hosts: settled
            .fleet
            .as_ref()
            .map_or_else(Vec::new, |fleet| fleet.facts.clone()),
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
    kind: BackendKind,
    job: &Job<'_>,
    beside: &Beside,
    earlier: Option<&Earlier>,
) -> Result<Sinks, String> {
    // Simulated intervals come as fast as they can be taken.
    let tempo = match kind {
        BackendKind::Sim => Tempo::Patient,
        _ => Tempo::Real,
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

/// The time of all runs that end by time, but the first few, with the pauses behind them.
pub fn timed_seconds(plan: &BoundPlan, but_first: usize) -> u64 {
    run_seconds(plan).skip(but_first).flatten().sum()
}

/// What the runs of such kinds move that end with a size, but the first few.
pub fn sized_bytes(
    plan: &BoundPlan,
    but_first: usize,
    is_counted: impl Fn(RunKind) -> bool,
) -> u64 {
    let left = plan.runs.iter().skip(but_first);
    let is_sized = |id: &&RunId| {
        let spec = plan.plan.spec(**id);
        planned_ns(&spec.timing).is_none() && is_counted(spec.kind)
    };
    let sized = left.filter(is_sized).map(|id| plan.run(*id));
    sized.filter_map(|run| expected_bytes(&run)).sum()
}

/// The time of all runs with the pauses between them; `None` when some end is a size.
pub fn planned_seconds(plan: &BoundPlan) -> Option<u64> {
    run_seconds(plan).sum()
}

/// Each run with the pause behind it, of the first pass where nothing but time ends the passes.
/// Nothing waits behind the last.
fn run_seconds(plan: &BoundPlan) -> impl Iterator<Item = Option<u64>> {
    let count = plan.run_count().unwrap_or(plan.runs.len() as u64);
    (0..count).map_while(move |number| {
        let (id, _) = plan.numbered(number)?;
        let spec = plan.plan.spec(id);
        let timing = spec.timing;
        let streams = &plan.plan.templates[spec.template.index()].streams;
        let by_clock = || {
            let mut ends = streams.iter().map(plan::Stream::clock_end_ns);
            ends.try_fold(0, |last, end| Some(last.max(end?)))
        };
        let pause_ns = if number + 1 == count {
            0
        } else {
            timing.pause_after.0
        };
        let end_ns = planned_ns(&timing).or_else(by_clock);
        Some(end_ns.map(|ns| (ns + pause_ns) / 1_000_000_000))
    })
}

/// What carries out the plan, and what keeps what it has written for later executions.
fn host<'a>(
    launch: &Launch,
    settled: &'a Settled,
    started: &ExecutionStarted,
    clock: sys::clock::Clock,
    (job, beside): (&Job<'_>, &Beside),
) -> (Box<dyn Crew>, Option<WrittenStates<'a>>) {
    let devices: BTreeSet<&String> = started
        .targets
        .iter()
        .flat_map(|target| target.identity.devices())
        .collect();
    let devices: Vec<String> = devices.into_iter().cloned().collect();
    if settled.choice.kind == BackendKind::Sim {
        let script = engine::sim::Script::default();
        let host = SimulatedHost::new(script, launch.common.workers.unwrap_or(1));
        return (Box::new(host), None);
    }
    let config = machine::engine_config(
        &settled.choice,
        launch.common.workers,
        clock,
        // Also of what goes on with a result: its data must not repeat.
        started.unix_ns ^ u64::from(std::process::id()) << 40,
    );
    let output = job.folder.unwrap_or(Path::new(""));
    let output = std::fs::canonicalize(output).unwrap_or_else(|_| output.to_owned());
    let commands = CommandSettings {
        variables: vec![("output", output.display().to_string())],
        limit: launch.common.command_timeout,
    };
    if let Some(fleet) = &settled.fleet {
        let lead = LocalLead::new(config, commands);
        let goes_on = launch.common.on_loss == OnLoss::Continue;
        let several = fleet.several(lead, job_files::operation_sink(job, beside));
        let source = Source::Hosts(fleet.states.clone());
        let states =
            (!launch.common.reaches_no_storage()).then(|| kept(settled, source, job, beside));
        return (Box::new(several.going_on(goes_on)), states);
    }
    let sampler = host::Sampler::new(&SysRoot::real(), &devices);
    let host = LocalHost::new(config, Arc::clone(&settled.grants), sampler)
        .with_commands(commands)
        .with_descriptors(settled.descriptors.for_runs);
    let is_stored = settled.choice.kind != BackendKind::Null;
    let source = || Source::Here(host.generations());
    let states = is_stored.then(|| kept(settled, source(), job, beside));
    match job_files::operation_sink(job, beside) {
        Some(sink) => (Box::new(host.with_operations(sink)), states),
        None => (Box::new(host), states),
    }
}

fn kept<'a>(
    settled: &'a Settled,
    source: Source,
    job: &Job<'_>,
    beside: &Beside,
) -> WrittenStates<'a> {
    let auxiliary = job_files::auxiliary(beside);
    WrittenStates::new(&settled.plan, source, auxiliary, job.outputs)
}

fn conclude(
    launch: &Launch,
    sinks: Sinks,
    (outcome, is_planned): (&Outcome, bool),
    fills: &[Fill],
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

/// For `check`: the planned time in words. `timed_s` is that of the runs whose end is a time.
pub fn planned_text(seconds: Option<u64>, timed_s: u64) -> String {
    match seconds {
        Some(seconds) => duration(seconds),
        None if timed_s > 0 => format!(
            "{} and the time that runs take which end with a size",
            duration(timed_s)
        ),
        None => "not known before, as runs end with a size".to_owned(),
    }
}
