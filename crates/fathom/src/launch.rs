//! Everything between a plan and its report: bind, guard, claim, record, conduct, write down.
use crate::address_list::AddressLists;
use crate::arguments::{Common, DEFAULT_OUTPUT};
use crate::exit::Exit;
use crate::fill::{self, Fill};
use crate::fio_report::{FioOperations, FioReport, FioStyle, is_fio, logs_operations};
use crate::outputs::{self, Outputs, Own};
use crate::progress::{Progress, duration};
use crate::records::Records;
use crate::resume::Earlier;
use crate::sinks::{Console, Sinks};
use crate::standing::{self, Passed};
use crate::trace::Topics;
use crate::trigger::Watched;
use crate::written_states::{self, WrittenStates};
use crate::{address_list, ending, lints, machine, removal, render, stop, stop_file};
use conduct::{
    CommandSettings, Control, Host, LocalHost, OperationSink, Outcome, SimulatedHost, SinkError,
    expected_bytes, go_on, planned_ns,
};
use door::{Door, Grants};
use engine::{BackendChoice, BackendKind, EngineConfig};
use host::guard::{Finding, Overwrite, Refusal, Refused};
use host::{Storage, SysRoot};
use measure::{Event, ExecutionStarted, ExecutionTarget, FinishReason, Remark, RunTotals};
use plan::{BoundPlan, Diagnostic, Label, Nanos, Plan, RunId, Severity, SourceMap, TargetId};
use report::Opening;
use report::fio::{Dumps, Logs, log_files};
use report::vdbench::{Face, FaceOptions};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What to carry out, and how to talk about it.
pub struct Launch {
    pub plan: Plan,
    pub sources: SourceMap,
    pub arguments: Vec<String>,
    pub common: Common,
    pub style: Style,
    pub findings: Findings,
}

/// What was found before, for the record, and what is only for the record.
#[derive(Default)]
pub struct Findings {
    /// Found while the job was read, and printed then.
    pub printed: Vec<Diagnostic>,
    /// Lints whose warnings stand in the report and are not printed.
    pub unprinted: &'static [&'static str],
}

/// Who is talked to.
pub enum Style {
    /// Progress on standard error, a table at the end.
    Summary,
    /// The console and the output files of Vdbench.
    Vdbench(FaceOptions),
    /// The reports and logs of fio.
    Fio(Box<FioStyle>),
}

/// What is settled before anything is written.
pub struct Settled {
    pub plan: BoundPlan,
    grants: Arc<Grants>,
    choice: BackendChoice,
    labels: Vec<Label>,
    records: Records,
    /// What lints found on this machine.
    found: Vec<Diagnostic>,
    passed: Passed,
}

/// Files that are locked for this process alone are so for the sake of other executions.
fn tell_unheld(door: &Door) {
    let unheld = door.unheld();
    if unheld > 0 {
        errln!(
            "note: {unheld} files that will be written are not kept locked against other executions: this process cannot keep more files open"
        );
    }
}

/// Runs a plan to its report.
pub fn launch(mut launch: Launch) -> Exit {
    let is_fio = is_fio(&launch.plan);
    // There a write up to the end is a measurement like any other, and a flush is asked for by name.
    if !is_fio {
        fill::sync_fills(&mut launch.plan);
    }
    let mut fills = Vec::new();
    let exit = carry_out(launch, is_fio, &mut fills);
    if exit == Exit::Fine && !is_fio {
        fill::tell(&fills);
    }
    exit
}

/// Also says what the runs were to fill.
fn carry_out(mut launch: Launch, is_fio: bool, fills: &mut Vec<Fill>) -> Exit {
    // Its reports show submission and completion apart, whoever reads them and when.
    launch.plan.reporting.handover |= is_fio;
    launch.plan.reporting.operations |=
        is_fio && (logs_operations(&launch.plan) || topics(&launch.style).has_operations());
    let earlier = match earlier(&mut launch) {
        Ok(earlier) => earlier,
        Err(exit) => return exit,
    };
    let storage = Storage::real();
    let mut settled = match settle(&launch, &storage) {
        Ok(settled) => settled,
        Err(exit) => return exit,
    };
    *fills = fills_of(&settled);
    let clock = sys::clock::Clock::calibrate();
    let mut started = execution_started(&launch, &settled, &storage, clock);
    if let Some(earlier) = &earlier {
        count_all(&mut started, earlier, &settled, &launch);
        let differences = earlier.machine_differences(&settled, &started);
        if !differences.is_empty() {
            return refuse_to_go_on(&launch, &differences);
        }
        // Runs keep their numbers, those of preparations too that nothing needs any more.
        settled.plan.runs = earlier.bound.runs.clone();
    }
    tell_unheld(settled.grants.door());
    let opened = settle_outputs(&launch, &settled.plan).and_then(|outputs| {
        let sinks = open_sinks(&launch, &settled.plan, earlier.as_ref(), &outputs)?;
        Ok((outputs, sinks))
    });
    let (outputs, mut sinks) = match opened {
        Ok(opened) => opened,
        Err(message) => return fail(Exit::Usage, &message),
    };
    let (control, trigger) = match watch(&launch, &settled.plan.plan, &outputs) {
        Ok(watched) => watched,
        Err(exit) => return exit,
    };
    let opening = match &earlier {
        Some(earlier) => earlier.remark(&started),
        None => Event::ExecutionStarted(started.clone()),
    };
    let done = earlier.map(|earlier| earlier.done).unwrap_or_default();
    let findings = launch.findings.printed.iter().chain(&settled.found);
    let opened = sinks
        .take(&opening)
        .and_then(|()| record(findings, &settled.passed, started.unix_ns, &mut sinks));
    let outcome = match opened {
        Ok(()) => {
            let around = (storage.root(), &outputs);
            let (mut host, states) = host(&launch, &settled, &started, clock, around);
            go_on(&settled.plan, done, host.as_mut(), &control, &mut |event| {
                sinks.take(event)?;
                end_run(event, states.as_ref(), &trigger);
                Ok(())
            })
        }
        Err(error) => Outcome::failed(error.to_string()),
    };
    leave(&settled, storage.root(), &outcome);
    // No run was going.
    trigger.carry_out();
    match conclude(&launch, sinks, &outcome, trigger.has_fired(), &outputs) {
        // The reason was printed: something else stands at a path than was examined.
        Exit::Failed if settled.grants.door().has_refused() => Exit::Guard,
        exit => exit,
    }
}

/// What the runs are to fill, where something is written.
fn fills_of(settled: &Settled) -> Vec<Fill> {
    match settled.grants.is_empty() {
        true => Vec::new(),
        false => fill::fills(&settled.plan),
    }
}

/// Removes what was made and is not to stay, and remembers what was written, for the next execution. Where that is not
/// possible, one line says so for all.
fn leave(settled: &Settled, root: &SysRoot, outcome: &Outcome) {
    if !outcome.left_outstanding {
        removal::remove_made(&settled.plan, &settled.grants);
    }
    let Err(failures) = settled.records.keep(root, &settled.grants, outcome) else {
        return;
    };
    if let Some((path, error)) = failures.first() {
        let more = match failures.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        errln!(
            "note: the next run asks about `{}`{more}: what was written cannot be recorded: {error}",
            path.display()
        );
    }
}

/// Begins to wait for everything that may end runs from outside.
fn watch(launch: &Launch, plan: &Plan, outputs: &Outputs) -> Result<(Control, Watched), Exit> {
    let control = Control::default();
    if let Err(error) = stop::watch(&control) {
        let message = format!("signals cannot be watched: {error}");
        return Err(fail(Exit::Failed, &message));
    }
    let refused = |message: String| fail(Exit::Usage, &message);
    stop_file::watch(plan, &control, outputs).map_err(refused)?;
    let trigger = match &launch.style {
        Style::Fio(style) => style.trigger.watch(plan, &control).map_err(refused)?,
        _ => Watched::default(),
    };
    Ok((control, trigger))
}

/// At the end of a run: keeps what it has written, before a trigger may take the machine away.
fn end_run(event: &Event, states: Option<&WrittenStates<'_>>, trigger: &Watched) {
    if !matches!(event, Event::RunFinished(_)) {
        return;
    }
    let has_fired = trigger.has_fired();
    if let Some(states) = states {
        states.on_event(event, has_fired);
    }
    if has_fired {
        trigger.carry_out();
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
            "note: every run of `{}` is finished; there is nothing to go on with",
            result.display()
        );
        return Err(Exit::Fine);
    }
    let differences = earlier.plan_differences(&launch.plan);
    if !differences.is_empty() {
        return Err(refuse_to_go_on(launch, &differences));
    }
    let folder = earlier.folder();
    let output = &launch.common.output;
    if *output != Path::new(DEFAULT_OUTPUT) && !is_same_folder(output, &folder) {
        let message = format!(
            "the result goes on in its own folder `{}`, not in `{}`; leave out -o",
            folder.display(),
            output.display()
        );
        return Err(fail(Exit::Usage, &message));
    }
    launch.common.output = folder;
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
fn settle(launch: &Launch, storage: &Storage) -> Result<Settled, Exit> {
    let refuse = |diagnostics: &[Diagnostic]| {
        render::print(diagnostics, &launch.sources);
        Exit::Usage
    };
    let facts = machine::facts(&launch.plan, storage);
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
    let selection = lints::selection(&launch.common.lints.words)
        .map_err(|message| fail(Exit::Usage, &message))?;
    let rule = machine::worker_rule(launch.common.workers);
    let folder = &launch.common.output;
    let found = lints::judge(&plan, &choice, rule, folder, &selection, storage);
    let unprinted = launch.findings.unprinted;
    let is_unprinted = |one: &Diagnostic| {
        let mut lints = lang::vdbench::lints().iter();
        lints.any(|lint| lint.code == one.code && unprinted.contains(&lint.name))
    };
    let is_printed = |one: &&Diagnostic| one.severity == Severity::Error || !is_unprinted(one);
    let printed: Vec<Diagnostic> = found.iter().filter(is_printed).cloned().collect();
    render::print(&printed, &launch.sources);
    if found.iter().any(|one| one.severity == Severity::Error) {
        return Err(Exit::Usage);
    }
    machine::check_demands(&plan, choice.kind, storage.root())
        .map_err(|message| fail(Exit::Usage, &message))?;
    let is_real = !matches!(choice.kind, BackendKind::Null | BackendKind::Sim);
    let (grants, records, passed) = approach(launch, &plan, storage, is_real)?;
    Ok(Settled {
        plan,
        grants: Arc::new(grants),
        choice,
        labels,
        records,
        found,
        passed,
    })
}

/// Claims and examines the targets, and grants what may be done with them.
fn approach(
    launch: &Launch,
    plan: &BoundPlan,
    storage: &Storage,
    is_real: bool,
) -> Result<(Grants, Records, Passed), Exit> {
    let mut overwrite = Overwrite::from_arguments(&launch.common.overwrite)
        .map_err(|error| fail(Exit::Usage, &error.to_string()))?;
    if !is_real {
        return Ok((Grants::none(), Records::default(), Passed::default()));
    }
    let files_left =
        machine::files_left(plan, storage.root()).map_err(|message| fail(Exit::Usage, &message))?;
    let door = Arc::new(Door::new(files_left));
    let examinations = machine::examine(plan, storage.root(), &door);
    if let Some(word) = host::guard::unused_words(&examinations, &overwrite).first() {
        let message = format!("`--overwrite {word}` names no target of this job");
        return Err(fail(Exit::Usage, &message));
    }
    let passed = standing::for_run(&plan.plan, &examinations, &mut overwrite, &launch.style)?;
    let grants = machine::judge(&examinations, &overwrite).map_err(|refused| {
        print_refusal(&refused, plan);
        refusal_exit(&refused)
    })?;
    let records = Records::of(plan, &examinations);
    Ok((Grants::new(door, grants), records, passed))
}

/// Whoever reads the report later has not seen the console.
fn record<'a>(
    findings: impl Iterator<Item = &'a Diagnostic>,
    passed: &Passed,
    unix_ns: u64,
    sinks: &mut Sinks,
) -> Result<(), SinkError> {
    for finding in findings.filter(|finding| finding.severity == Severity::Warning) {
        sinks.take_quietly(&Event::Remark(Remark {
            run: None,
            unix_ns,
            severity: finding.severity,
            code: finding.code.to_string(),
            message: finding.message.clone(),
        }))?;
    }
    passed.record(unix_ns, sinks)
}

/// Says for each refused target what was found and what to do.
pub fn print_refusal(refused: &Refused, plan: &BoundPlan) {
    for refusal in &refused.refusals {
        let name = &plan.plan.target(refusal.target).name;
        let verdict = if is_unusable(refusal) {
            "cannot be used"
        } else {
            "may not be overwritten"
        };
        errln!("error: `{name}` ({}) {verdict}:", refusal.path.display());
        for finding in &refusal.findings {
            errln!("  - {finding}");
        }
        match &refusal.word {
            Some(word) => errln!(
                "  to overwrite it all the same: --overwrite {}",
                quoted(word)
            ),
            None if is_unusable(refusal) => {}
            None => errln!("  nothing overrides this"),
        }
    }
    for no_space in &refused.no_space {
        errln!("error: {no_space}");
    }
}

/// Whether the target is wrong, and not protected.
fn is_unusable(refusal: &Refusal) -> bool {
    let is_misfit = |finding: &Finding| {
        matches!(
            finding,
            Finding::Missing
                | Finding::NotUsable { .. }
                | Finding::CannotExamine { .. }
                | Finding::NotWritable { .. }
        )
    };
    refusal.findings.iter().all(is_misfit)
}

fn refusal_exit(refused: &Refused) -> Exit {
    let is_mistake = refused.no_space.is_empty() && refused.refusals.iter().all(is_unusable);
    if is_mistake { Exit::Usage } else { Exit::Guard }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
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
    let mut told = BTreeSet::new();
    let mut identity_of = |target: &plan::Target| {
        let mut identity = host::target_identity(storage, &target.path);
        // The settings of a device are told with its first target: there may be thousands.
        if !identity.device.is_empty() && !told.insert(identity.device.clone()) {
            identity.queue.clear();
        }
        identity
    };
    let target = |(number, target): (usize, &plan::Target)| ExecutionTarget {
        name: target.name.clone(),
        path: target.path.display().to_string(),
        bytes: plan
            .expected_bytes(TargetId::at(number))
            .unwrap_or(plan.targets[number].facts.bytes),
        is_written: plan.targets[number].is_written(),
        identity: if target.is_real() {
            identity_of(target)
        } else {
            Default::default()
        },
    };
    let rule = machine::worker_rule(launch.common.workers);
    let (backend, backend_reason) = machine::backends_used(plan, &settled.choice);
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
        targets: plan.plan.targets.iter().enumerate().map(target).collect(),
        backend,
        backend_reason,
        workers: machine::workers_max(plan, settled.choice.backends(), rule, facts.cpus),
        clock: clock.source().to_string(),
        labels: settled.labels.clone(),
        reporting: plan.plan.reporting.labels.clone(),
        host: facts,
    }
}

/// Refuses, before anything is made, what the files of this execution would replace.
fn settle_outputs(launch: &Launch, plan: &BoundPlan) -> Result<Outputs, String> {
    let folder = &launch.common.output;
    let outputs = Outputs::beside(&plan.plan);
    outputs::check_folder(&outputs, folder)?;
    if !is_fio(&plan.plan) {
        let lists = address_list::files(&plan.plan, folder);
        let mut lists = lists.iter();
        lists.try_for_each(|path| outputs.check_own(path, Own::Addresses))?;
        if let Style::Vdbench(_) = launch.style {
            outputs::check_pages(&plan.plan, folder)?;
        }
        return Ok(outputs);
    }
    let (output, whole) = match &launch.style {
        Style::Fio(style) => (style.output.clone(), style.bandwidth_log.as_deref()),
        _ => (None, None),
    };
    let output = output.map(|path| (path, Opening::Replace));
    let named = output.into_iter().chain(log_files(plan, whole));
    outputs::check_named(&outputs, named)?;
    let states = written_states::files(&plan.plan, auxiliary(launch));
    let mut states = states.iter();
    states.try_for_each(|path| outputs.check_own(path, Own::State))?;
    Ok(outputs)
}

fn open_sinks(
    launch: &Launch,
    plan: &BoundPlan,
    earlier: Option<&Earlier>,
    outputs: &Outputs,
) -> Result<Sinks, String> {
    let folder = &launch.common.output;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("folder `{}` cannot be made: {error}", folder.display()))?;
    let done = earlier.map_or(0, |earlier| earlier.done.runs() as usize);
    let sinks = |writer| {
        let (face, progress) = match &launch.style {
            Style::Summary => (None, Some(progress(plan, done))),
            Style::Vdbench(options) => {
                let face = Face::create(folder, options.clone())
                    .map_err(|error| format!("folder `{}`: {error}", folder.display()))?;
                (Some(Console::Vdbench(Box::new(face))), None)
            }
            Style::Fio(style) => {
                let report = FioReport::create(style, outputs)?;
                (Some(Console::Fio(Box::new(report))), None)
            }
        };
        let whole = match &launch.style {
            Style::Fio(style) => style.bandwidth_log.as_deref(),
            _ => None,
        };
        let logs = is_fio(&launch.plan)
            .then(|| Logs::new(Path::new(""), whole).with_opener(Arc::new(outputs.clone())));
        let dumps = is_fio(&launch.plan)
            .then(|| Dumps::new(auxiliary(launch)).with_opener(Arc::new(outputs.clone())));
        Ok(Sinks::new(writer, face, progress)
            .with_outputs(outputs)
            .with_logs(logs)
            .with_dumps(dumps))
    };
    match earlier {
        Some(earlier) => earlier.reopen(sinks),
        None => {
            let writer = store::Writer::create(folder.join("result.fathom"));
            sinks(writer.map_err(|error| error.to_string())?)
        }
    }
}

fn progress(plan: &BoundPlan, but_first: usize) -> Progress {
    let left = plan.runs.iter().skip(but_first);
    let is_sized = |id: &&RunId| planned_ns(&plan.plan.spec(**id).timing).is_none();
    let sized = left.filter(is_sized).map(|id| plan.run(*id));
    let bytes = sized.filter_map(|run| expected_bytes(&run)).sum();
    Progress::new(timed_seconds(plan, but_first), bytes)
}

/// The time of all runs that end by time, but the first few, with the pauses behind them.
pub fn timed_seconds(plan: &BoundPlan, but_first: usize) -> u64 {
    run_seconds(plan).skip(but_first).flatten().sum()
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
        let timing = plan.plan.spec(id).timing;
        let pause_ns = if number + 1 == count {
            0
        } else {
            timing.pause_after.0
        };
        Some(planned_ns(&timing).map(|ns| (ns + pause_ns) / 1_000_000_000))
    })
}

/// Where files go that belong to no result.
fn auxiliary(launch: &Launch) -> &Path {
    match &launch.style {
        Style::Fio(style) => style.aux.as_deref().unwrap_or(Path::new("")),
        _ => Path::new(""),
    }
}

/// What carries out the plan, and what keeps what it has written for later executions.
fn host<'a>(
    launch: &Launch,
    settled: &'a Settled,
    started: &ExecutionStarted,
    clock: sys::clock::Clock,
    (root, outputs): (&SysRoot, &Outputs),
) -> (Box<dyn Host>, Option<WrittenStates<'a>>) {
    let devices: BTreeSet<&String> = started
        .targets
        .iter()
        .flat_map(|target| &target.identity.counted_devices)
        .collect();
    let devices: Vec<String> = devices.into_iter().cloned().collect();
    if settled.choice.kind == BackendKind::Sim {
        let script = engine::sim::Script::default();
        let host = SimulatedHost::new(script, launch.common.workers.unwrap_or(1));
        return (Box::new(host), None);
    }
    let config = EngineConfig {
        backends: settled.choice.backends(),
        workers: machine::worker_rule(launch.common.workers),
        clock,
        cpus: started.host.cpus,
        // Also of what goes on with a result: its data must not repeat.
        nonce: started.unix_ns ^ u64::from(std::process::id()) << 40,
        reap_group_max: 8,
    };
    let folder = &launch.common.output;
    let output = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
    let commands = CommandSettings {
        variables: vec![("output", output.display().to_string())],
        limit: Duration::from_secs(launch.common.command_timeout),
    };
    let sampler = host::Sampler::new(root, &devices);
    let host = LocalHost::new(config, Arc::clone(&settled.grants), sampler).with_commands(commands);
    let plan = &settled.plan;
    let is_stored = settled.choice.kind != BackendKind::Null;
    let states = (is_fio(&plan.plan) && is_stored)
        .then(|| WrittenStates::new(plan, host.generations(), auxiliary(launch), outputs));
    if !plan.plan.reporting.operations {
        return (Box::new(host), states);
    }
    let sink: Box<dyn OperationSink> = if is_fio(&plan.plan) {
        let topics = topics(&launch.style);
        Box::new(FioOperations::new(plan, Path::new(""), &topics, outputs))
    } else {
        let goes_on = launch.common.resume.is_some();
        Box::new(AddressLists::new(plan, folder, goes_on, outputs))
    };
    (Box::new(host.with_operations(sink)), states)
}

/// What is to be told while it happens.
fn topics(style: &Style) -> Topics {
    match style {
        Style::Fio(style) => style.topics.clone(),
        _ => Topics::default(),
    }
}

fn conclude(
    launch: &Launch,
    sinks: Sinks,
    outcome: &Outcome,
    is_planned: bool,
    outputs: &Outputs,
) -> Exit {
    let folder = &launch.common.output;
    let (totals, rows) = sinks.finish(folder);
    let exit = exit_of(outcome, is_planned, &launch.style);
    if let Style::Summary = launch.style {
        let absolute = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        out!("{}\n", report::summary::table(&rows));
        out!("{}", report::repetitions::text(&rows));
        print_gap(&totals);
        if !outputs.has_failed() {
            outln!("report:  {}", absolute.join("report.html").display());
        }
        outln!("result:  {}", absolute.join("result.fathom").display());
    }
    if !matches!(launch.style, Style::Vdbench(_)) {
        ending::tell_unreturned(&totals, &launch.plan);
    }
    if outputs.has_failed() && exit == Exit::Fine {
        let message = "some files of this run are missing or not whole; the reasons stand above";
        return fail(Exit::Failed, message);
    }
    ending::tell_reason(outcome, exit);
    exit
}

/// Service times alone would tell another story. The widest gap stands for all.
fn print_gap(all: &[RunTotals]) {
    let gaps: Vec<_> = all
        .iter()
        .filter_map(|totals| Some((analysis::response_gap(totals)?, &totals.started.name)))
        .collect();
    let widest = gaps.iter().max_by(|(one, _), (other, _)| {
        let ratios =
            [one, other].map(|gap| gap.response_ns_p99 as f64 / gap.service_ns_p99.max(1) as f64);
        ratios[0].total_cmp(&ratios[1])
    });
    let Some((gap, name)) = widest else { return };
    // Nothing may have been served at all.
    let service = match gap.ratio() {
        Some(_) => Nanos(gap.service_ns_p99).to_string(),
        None => "-".to_owned(),
    };
    let response = Nanos(gap.response_ns_p99);
    let others = match gaps.len() {
        1 => String::new(),
        count => format!("; also in {} more of {} runs", count - 1, all.len()),
    };
    outln!(
        "arrivals waited: in `{name}` response p99 is {response}, service p99 is {service}{others}"
    );
}

/// A stop that the job has planned is the end of the job.
fn exit_of(outcome: &Outcome, is_planned: bool, style: &Style) -> Exit {
    // A job of fio says itself which failures it bears; another one has ended its stream.
    let is_failed = match style {
        Style::Fio(_) => outcome.streams_failed > 0,
        _ => outcome.errors > 0 || outcome.streams_failed > 0,
    };
    match outcome.reason {
        FinishReason::StoppedByUser if !is_planned => Exit::Stopped,
        FinishReason::Failed { .. } | FinishReason::TooManyErrors => Exit::Failed,
        _ if is_failed || outcome.left_outstanding => Exit::Failed,
        _ => Exit::Fine,
    }
}

fn fail(exit: Exit, message: &str) -> Exit {
    errln!("error: {message}");
    exit
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
