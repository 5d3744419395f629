//! `fathom check`: every problem at once, what would run and for how long, what may be overwritten.
mod text;

use crate::arguments::{CheckOptions, Common};
use crate::exit::{Exit, fail};
use crate::launch::{self, planned_seconds};
use crate::outputs::{self, Outputs};
use crate::plan_file::Reading;
use crate::seed::Seeds;
use crate::standing::{self, Passed};
use crate::{hosts, lints, machine, plan_file, refusals, render, stop};
use engine::WorkerRule;
use host::Storage;
use host::guard::{Finding, Overwrite, Refusal, Refused};
use lang::vdbench::{ListedKind, ListedRun, ListedTree};
use lang::{Language, LintSelection};
use plan::{
    BindError, BoundPlan, Diagnostic, Facts, FoundKind, Plan, Severity, SizeRule, SourceMap,
    TargetId, TargetKind, When,
};
use report::Opening;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Stands in for the size of a device that is not here.
const STAND_IN_BYTES: u64 = 1 << 40;

/// Targets that are told one by one. More of them are told by what they have in common.
const TARGETS_MAX: usize = 16;

#[derive(Serialize)]
struct CheckOutput<'a> {
    runs: Vec<RunOutput>,
    targets: Vec<TargetOutput<'a>>,
    diagnostics: Vec<DiagnosticOutput>,
    /// Seconds of all runs with pauses; absent when some end is a size.
    total_s: Option<u64>,
    /// Command lines of the job, in the order in which a run would call them.
    commands: Vec<CommandOutput>,
}

#[derive(Serialize)]
struct CommandOutput {
    /// When it is called, in words.
    when: String,
    command: String,
}

#[derive(Serialize)]
struct RunOutput {
    name: String,
    rate: String,
    loops: String,
    threads: u64,
    /// Absent when only a size ends the run.
    elapsed_s: Option<u64>,
    /// Whether the run ends earlier once its sequential streams reach their end.
    ends_at_size: bool,
    warmup_s: u64,
    interval_s: u64,
    pause_s: u64,
}

/// One target, or neighbours that differ in nothing but a number in their names and paths.
#[derive(Serialize)]
struct TargetOutput<'a> {
    name: Cow<'a, str>,
    path: Cow<'a, str>,
    /// How many they are.
    count: u64,
    /// The last of several.
    last: Option<NameOutput<'a>>,
    #[serde(flatten)]
    traits: Traits,
}

#[derive(Serialize)]
struct NameOutput<'a> {
    name: Cow<'a, str>,
    path: Cow<'a, str>,
}

/// All of a target but its name and path.
#[derive(Serialize, Clone, PartialEq, Eq)]
struct Traits {
    /// `file`, `block device`, `directory` or `missing`.
    found: &'static str,
    /// The size that runs use; absent when it is not known here.
    bytes: Option<u64>,
    /// Of a tree, how many files it has; absent for all else.
    files: Option<u64>,
    /// Whether runs make or extend the file.
    is_prepared: bool,
    is_written: bool,
    /// First byte that may be overwritten and the byte behind the last; absent when nothing is
    /// written, or when the size is not known here.
    overwrite: Option<(u64, u64)>,
    /// What the guard has against writing, if anything.
    refused: Vec<String>,
    /// The word for `--overwrite`, where one would help.
    overwrite_word: Option<String>,
    /// The word of the standing list that lets it be overwritten, where it needs one.
    standing_word: Option<String>,
}

#[derive(Serialize)]
struct DiagnosticOutput {
    code: String,
    severity: Severity,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    message: String,
    help: Option<String>,
}

/// Whether a target of the machine is what is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandIn {
    None,
    /// It is not here; its size is that of the text.
    Sized,
    /// It is not here, and neither is its size.
    Unsized,
}

/// What was found out about the machine.
#[derive(Default)]
struct Looked {
    plan: Option<Arc<BoundPlan>>,
    stand_ins: Vec<StandIn>,
    refused: Option<Refused>,
    /// By the standing list.
    passed: Passed,
    diagnostics: Vec<Diagnostic>,
}

/// What surrounds the runs: told of a plan that is given away to be bound, and of one that cannot be.
#[derive(Default)]
struct Around {
    commands: Vec<CommandOutput>,
    text: String,
}

pub fn main(options: &CheckOptions) -> Exit {
    if let Err(error) = stop::watch_check() {
        return fail(Exit::Failed, &format!("signals cannot be watched: {error}"));
    }
    let read = read(options);
    let (mut reading, lints) = match read {
        Ok(read) => read,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    let joined = match (&reading.plan, options.connect) {
        (Some(plan), true) if plan.is_spread() && reading.run_blockers.is_empty() => {
            Some(connect(options, plan, &reading))
        }
        _ => None,
    };
    // Moved, not copied: a plan of a million files takes most of the memory.
    let plan = reading.plan.take();
    let around = plan.as_ref().map(Around::of).unwrap_or_default();
    let is_spread = plan.as_ref().is_some_and(Plan::is_spread);
    if is_spread && joined.is_none() && options.write_overwrite.is_some() {
        errln!(
            "note: other hosts have the targets of this job: with `--connect` they tell what is to be overwritten"
        );
    }
    let (joined, told) = match joined {
        None => (None, None),
        Some(Ok((exit, looked))) => (Some(exit), Some(looked)),
        Some(Err(exit)) => (Some(exit), Some(Looked::default())),
    };
    let looked = match (told, plan) {
        (Some(told), _) => Ok(told),
        (None, Some(plan)) => look(plan, &options.output, (&reading, &lints)),
        (None, None) => Ok(Looked::default()),
    };
    let looked = match looked {
        Ok(looked) => looked,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    let diagnostics = all_diagnostics(&reading, &looked);
    let has_errors = !diagnostics.iter().all(is_no_error) || looked.has_unusable();
    if let (Some(path), Some(refused), None) = (&options.write_overwrite, &looked.refused, &joined)
        && let Err(reason) = write_words(path, refused, &reading, looked.plan.as_deref())
    {
        errln!("error: {reason}");
        return Exit::Usage;
    }
    if options.json {
        let output = output(&reading, &looked, &diagnostics, around);
        out!(
            "{}\n",
            serde_json::to_string_pretty(&output).expect("plain data")
        );
    } else if joined.is_none_or(|exit| exit == Exit::Fine) {
        text::print(&reading, &looked, &diagnostics, &around);
    }
    // The process ends: giving back a million paths one by one would take longer than telling of them.
    std::mem::forget((reading, looked));
    match (has_errors, joined) {
        (_, Some(exit)) if exit != Exit::Fine => exit,
        (true, _) => Exit::Usage,
        (false, _) => Exit::Fine,
    }
}

fn read(options: &CheckOptions) -> Result<(Reading, LintSelection), String> {
    lints::selection(&options.lints.words).and_then(|lints| {
        let mut reading = plan_file::read(
            &options.inputs,
            Seeds::fixed(&Common::default()),
            options.times.command_line(lints.clone()),
        )?;
        if let Some(plan) = &reading.plan
            && let Some(spread) = hosts::spread(plan, &options.fleet)?
        {
            reading.plan = Some(spread);
        }
        Ok((reading, lints))
    })
}

impl Looked {
    /// What hosts have told of their targets.
    fn told(bound: Arc<BoundPlan>, diagnostics: Vec<Diagnostic>) -> Self {
        let hosts = plan::counted(bound.plan.hosts.len() as u64, "host");
        errln!("{hosts} told, and nothing stands against the job there");
        Self {
            stand_ins: vec![StandIn::None; bound.targets.len()],
            plan: Some(bound),
            diagnostics,
            ..Self::default()
        }
    }

    /// Whether some target cannot be used, whatever the user lets be overwritten.
    fn has_unusable(&self) -> bool {
        let refusals = self.refused.iter().flat_map(|refused| &refused.refusals);
        refusals.into_iter().any(refusals::is_unusable)
    }
}

/// Asks all hosts what stands against the job there, without any I/O.
fn connect(options: &CheckOptions, plan: &Plan, reading: &Reading) -> Result<(Exit, Looked), Exit> {
    let failed = |exit: Exit, message: String| fail(exit, &message);
    let sources = &reading.sources;
    outputs::check_targets_outside(plan, &options.output, "-o")
        .map_err(|message| failed(Exit::Usage, message))?;
    let common = Common {
        fleet: options.fleet.clone(),
        lints: options.lints.clone(),
        ..Common::default()
    };
    let asked = launch::asked(&common, reading.language(), Some(&options.output));
    let asked = asked.map_err(|message| failed(Exit::Usage, message))?;
    let machines = hosts::reach(plan, &common);
    let machines = machines.map_err(|message| failed(Exit::Failed, message))?;
    let refused = match fleet::settle::settle(plan, machines, &asked) {
        Ok(settled) => return Ok((Exit::Fine, Looked::told(settled.plan, settled.found))),
        Err(refused) => refused,
    };
    refusals::print(&refused, sources);
    let reasons = refused.reasons.iter();
    if let Some(path) = &options.write_overwrite {
        let words = reasons
            .clone()
            .filter_map(|(_, reason)| reason.word.as_ref());
        let text: String = words.map(|word| format!("{word}\n")).collect();
        let outputs = Outputs::beside(plan, outputs::inputs(sources, &[]));
        let written = outputs.check(path, Opening::Replace).and_then(|()| {
            let mut file = outputs.open_named(path, Opening::Replace)?;
            let written = file.write_all(text.as_bytes());
            written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
        });
        written.map_err(|message| failed(Exit::Usage, message))?;
    }
    // What was told already is for programs that read the rest.
    let told = reasons.map(|(host, reason)| {
        let text = refusals::reason_text(host.as_deref(), reason);
        let text = text.strip_prefix("error: ").unwrap_or(&text).to_owned();
        Diagnostic::error("fathom-0001", text)
    });
    let looked = Looked {
        diagnostics: refused.diagnostics.iter().cloned().chain(told).collect(),
        ..Looked::default()
    };
    Ok((refusals::exit(&refused, Exit::Usage), looked))
}

fn write_words(
    path: &Path,
    refused: &Refused,
    reading: &Reading,
    plan: Option<&BoundPlan>,
) -> Result<(), String> {
    let inputs = || outputs::inputs(&reading.sources, &[]);
    let outputs = plan.map(|bound| Outputs::beside(&bound.plan, inputs()));
    let outputs = outputs.unwrap_or_default();
    outputs.check(path, Opening::Replace)?;
    let file = outputs.open_named(path, Opening::Replace);
    let written = file?.write_all(refused.overwrite_file().as_bytes());
    written.map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
}

/// What a run would refuse is an error here, too.
fn all_diagnostics(reading: &Reading, looked: &Looked) -> Vec<Diagnostic> {
    let mut all = reading.diagnostics.clone();
    for blocker in &reading.run_blockers {
        let is_known = |known: &Diagnostic| {
            (&known.code, known.span) == (&blocker.code, blocker.span)
                && known.severity == blocker.severity
        };
        if !all.iter().any(is_known) {
            all.push(blocker.clone());
        }
    }
    all.extend(looked.diagnostics.iter().cloned());
    all
}

fn look(
    plan: Plan,
    output: &Path,
    (reading, lints): (&Reading, &LintSelection),
) -> Result<Looked, String> {
    let inside = outputs::check_targets_outside(&plan, output, "-o").err();
    let storage = Storage::real();
    let found = facts_here(&plan, &storage);
    let (facts, stand_ins) = with_stand_ins(&plan, found);
    let bound = match (machine::bind_to(plan, &facts), inside) {
        (Ok(bound), None) => bound,
        // The guard would ask for the directory that results would make.
        (bound, inside) => {
            let inside = inside.map(refused_output);
            return Ok(Looked {
                diagnostics: bound.err().into_iter().flatten().chain(inside).collect(),
                stand_ins,
                ..Looked::default()
            });
        }
    };
    let lints = (reading.language(), lints);
    let mut looked = look_at_bound(bound, stand_ins, output, (lints, &storage))?;
    if let Some(bound) = &looked.plan {
        let inputs = outputs::inputs(&reading.sources, &[]);
        let outputs = Outputs::in_folder(&bound.plan, output, inputs);
        let refused = outputs::check_folder(&outputs, output).err();
        looked.diagnostics.extend(refused.map(refused_output));
    }
    Ok(looked)
}

/// What a run would refuse of its output directory.
fn refused_output(message: String) -> Diagnostic {
    Diagnostic::error("fathom-0002", message)
}

/// Facts of the targets that this host reaches; those of others are not here.
fn facts_here(plan: &Plan, storage: &Storage) -> Facts {
    if !plan.is_spread() {
        return conduct::machine::facts(plan, storage);
    }
    let seen = plan.seen_from(None);
    let mut facts = conduct::machine::facts(&seen, storage);
    for (target, facts) in seen.targets.iter().zip(&mut facts.targets) {
        if !target.is_real() {
            (facts.found, facts.bytes) = (FoundKind::Missing, 0);
        }
    }
    facts
}

/// Folders of paths, as they are written.
#[derive(Default)]
struct Folders<'a> {
    all: HashSet<&'a OsStr>,
    last: Option<&'a OsStr>,
}

impl<'a> Folders<'a> {
    fn is_new(&mut self, path: &'a Path) -> bool {
        let folder = path.parent().map(Path::as_os_str);
        if self.last == folder && folder.is_some() {
            return false;
        }
        self.last = folder;
        folder.is_none_or(|folder| self.all.insert(folder))
    }
}

fn look_at_bound(
    bound: BoundPlan,
    stand_ins: Vec<StandIn>,
    output: &Path,
    (lints, storage): ((Language, &LintSelection), &Storage),
) -> Result<Looked, String> {
    // One missing file tells of the rights in its folder for all that are missing there.
    let mut folders = Folders::default();
    let looked_at: Vec<bool> = bound
        .targets
        .iter()
        .zip(&bound.plan.targets)
        .zip(&stand_ins)
        .map(|((target, planned), stand_in)| match target.facts.found {
            FoundKind::Missing => folders.is_new(&planned.path),
            _ => *stand_in == StandIn::None,
        })
        .collect();
    let mut examinations =
        conduct::machine::examine_some(&bound, storage.root(), &door::Door::looking(), |id| {
            looked_at[id.index()]
        });
    // Of what is missing, its folder is judged: a run makes the file there. What other hosts have is not looked at.
    examinations.retain(|one| {
        one.found != FoundKind::Missing || one.findings.iter().any(Finding::is_of_folder)
    });
    let mut overwrite = Overwrite::default();
    let passed = standing::let_pass(&bound.plan, &examinations, &mut overwrite)?;
    let refused = host::guard::judge(&examinations, &overwrite).err();
    let mut diagnostics = conduct::machine::not_built(&bound);
    diagnostics.extend(without_size(&bound, &stand_ins));
    match machine::backend(&bound, None) {
        Ok(choice) => {
            let (rule, cpus) = (WorkerRule::Automatic, host::facts().cpus);
            let needs = conduct::machine::needs(&bound, choice.backends(), rule, cpus);
            let workers = machine::workers_max(&needs);
            let seen = bound.plan.is_spread().then(|| BoundPlan {
                plan: bound.plan.seen_from(None),
                ..bound.clone()
            });
            let seen = seen.as_ref().unwrap_or(&bound);
            // A job that is refused writes no results.
            let is_refused = refused.is_some() || !diagnostics.iter().all(is_no_error);
            let output = (!is_refused).then_some(output);
            let found = lints::judge(seen, &choice, workers, output, lints, storage);
            diagnostics.extend(found);
        }
        Err(message) => diagnostics.push(Diagnostic::note("fathom-0001", message)),
    }
    Ok(Looked {
        plan: Some(Arc::new(bound)),
        stand_ins,
        refused,
        passed,
        diagnostics,
    })
}

fn is_no_error(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity != Severity::Error
}

/// Files that no run here can make, as nobody says how large. They may be on the host that the job is for, as devices may.
fn without_size(bound: &BoundPlan, stand_ins: &[StandIn]) -> Vec<Diagnostic> {
    let used = bound.plan.used_targets();
    let ids = (0..stand_ins.len()).map(TargetId::at);
    let lacks = |id: &TargetId| {
        let (at, kind) = (id.index(), bound.plan.target(*id).kind);
        used[at] && stand_ins[at] == StandIn::Unsized && kind == TargetKind::File
    };
    ids.filter(lacks)
        .map(|id| Diagnostic {
            severity: Severity::Warning,
            ..BindError::size_unknown(bound.plan.target(id)).diagnostic()
        })
        .collect()
}

/// Devices that are not here are taken as if they were, as large as the file says.
pub(crate) fn with_stand_ins(plan: &Plan, mut facts: Facts) -> (Facts, Vec<StandIn>) {
    let mut stand_ins = Vec::new();
    for (target, facts) in plan.targets.iter().zip(&mut facts.targets) {
        let missing = facts.found == FoundKind::Missing;
        // Nobody knows what another host has there.
        let is_device = target.kind == TargetKind::Device || plan.is_elsewhere(target);
        let sized = !matches!(target.size, SizeRule::AsFound | SizeRule::PercentOfFound(_));
        if !missing || (sized && !is_device) {
            stand_ins.push(StandIn::None);
            continue;
        }
        facts.found = if target.kind == TargetKind::Device {
            FoundKind::BlockDevice
        } else {
            FoundKind::File
        };
        facts.bytes = match target.size {
            SizeRule::Bytes(bytes) => bytes,
            _ => STAND_IN_BYTES,
        };
        stand_ins.push(if sized {
            StandIn::Sized
        } else {
            StandIn::Unsized
        });
    }
    (facts, stand_ins)
}

fn output<'a>(
    reading: &'a Reading,
    looked: &'a Looked,
    diagnostics: &[Diagnostic],
    around: Around,
) -> CheckOutput<'a> {
    CheckOutput {
        runs: listed(reading, looked).map(run_output).collect(),
        targets: folded(reading, looked),
        diagnostics: diagnostics
            .iter()
            .map(|diagnostic| diagnostic_output(diagnostic, &reading.sources))
            .collect(),
        total_s: total_seconds(reading, looked),
        commands: around.commands,
    }
}

impl Around {
    fn of(plan: &Plan) -> Self {
        Self {
            commands: commands(plan),
            text: text::steering_text(plan),
        }
    }
}

fn commands(plan: &Plan) -> Vec<CommandOutput> {
    let all = plan.steering.commands().into_iter();
    let output = |(when, command): (When, &plan::Command)| CommandOutput {
        when: text::when_text(plan, when),
        command: command.text.clone(),
    };
    all.map(output).collect()
}

fn total_seconds(reading: &Reading, looked: &Looked) -> Option<u64> {
    match &looked.plan {
        Some(plan) => planned_seconds(plan),
        None => listed(reading, looked)
            .map(|run| Some(run.elapsed_s? + run.warmup_s + run.pause_s))
            .sum(),
    }
}

/// The runs that would be carried out: nothing is prepared where everything is there.
fn listed<'a>(reading: &'a Reading, looked: &Looked) -> impl Iterator<Item = &'a ListedRun> {
    let is_prepared = looked
        .plan
        .as_ref()
        .is_none_or(|plan| plan.targets.iter().any(|target| target.is_prepared));
    reading
        .listing
        .iter()
        .filter(move |run| is_prepared || run.kind != ListedKind::Prepare)
}

fn run_output(run: &ListedRun) -> RunOutput {
    RunOutput {
        name: run.name.clone(),
        rate: run.rate.clone(),
        loops: run.loops.clone(),
        threads: run.threads,
        elapsed_s: run.elapsed_s,
        ends_at_size: run.ends_at_size,
        warmup_s: run.warmup_s,
        interval_s: run.interval_s,
        pause_s: run.pause_s,
    }
}

/// In the order of the job. Not all at once: there may be a million.
fn targets<'a>(
    reading: &'a Reading,
    looked: &'a Looked,
) -> impl Iterator<Item = TargetOutput<'a>> + 'a {
    let of_plan = looked.plan.iter().flat_map(|plan| of_plan(plan, looked));
    reading.trees.iter().map(tree_output).chain(of_plan)
}

/// The same for programs: where they are many, neighbours that are numbered are told by the first and the last.
fn folded<'a>(reading: &'a Reading, looked: &'a Looked) -> Vec<TargetOutput<'a>> {
    let of_plan = looked.plan.as_ref().map_or(0, |plan| plan.targets.len());
    if reading.trees.len() + of_plan <= TARGETS_MAX {
        return targets(reading, looked).collect();
    }
    let mut out: Vec<TargetOutput> = Vec::new();
    for target in targets(reading, looked) {
        match out.last_mut() {
            Some(before) if before.goes_on_with(&target) => {
                before.count += 1;
                before.last = Some(NameOutput {
                    name: target.name,
                    path: target.path,
                });
            }
            _ => out.push(target),
        }
    }
    out
}

impl TargetOutput<'_> {
    fn goes_on_with(&self, next: &Self) -> bool {
        let (name, path) = match &self.last {
            Some(last) => (&last.name, &last.path),
            None => (&self.name, &self.path),
        };
        follows(name, &next.name) && follows(path, &next.path) && self.traits == next.traits
    }
}

/// Whether a name is another one with a number in it that is one higher.
fn follows(before: &str, name: &str) -> bool {
    let same = before.bytes().zip(name.bytes());
    let mut from = same.take_while(|(one, other)| one == other).count();
    // Of 19 and 20 all digits are looked at, as are those of 10 and 11.
    let is_digit = |at: usize| before.as_bytes()[at].is_ascii_digit();
    while from > 0 && is_digit(from - 1) {
        from -= 1;
    }
    let cut = |text: &str| -> Option<(u64, usize)> {
        let digits = text.as_bytes()[from..].iter();
        let to = from + digits.take_while(|byte| byte.is_ascii_digit()).count();
        Some((text.get(from..to)?.parse().ok()?, to))
    };
    let (Some((low, low_end)), Some((high, high_end))) = (cut(before), cut(name)) else {
        return false;
    };
    low.checked_add(1) == Some(high) && before[low_end..] == name[high_end..]
}

fn of_plan<'a>(
    plan: &'a BoundPlan,
    looked: &'a Looked,
) -> impl Iterator<Item = TargetOutput<'a>> + 'a {
    let refusals = looked.refused.iter().flat_map(|refused| &refused.refusals);
    let refusals: BTreeMap<TargetId, &Refusal> =
        refusals.map(|refusal| (refusal.target, refusal)).collect();
    let passed = looked.passed.words();
    (0..plan.targets.len()).map(move |number| {
        let id = TargetId::at(number);
        let (target, bound) = (plan.plan.target(id), &plan.targets[number]);
        let stand_in = looked.stand_ins[number];
        let known = stand_in != StandIn::Unsized;
        let refusal = refusals.get(&id);
        let traits = Traits {
            found: match bound.facts.found {
                _ if stand_in != StandIn::None => "missing",
                FoundKind::File => "file",
                FoundKind::BlockDevice => "block device",
                _ => "missing",
            },
            bytes: plan.expected_bytes(id).filter(|_| known),
            files: None,
            is_prepared: bound.is_prepared,
            is_written: bound.is_written(),
            overwrite: plan.write_extent(id).filter(|_| known),
            refused: refusal.map_or_else(Vec::new, |r| {
                r.findings.iter().map(ToString::to_string).collect()
            }),
            overwrite_word: refusal.and_then(|refusal| refusal.word.clone()),
            standing_word: passed.get(&id).map(|word| (*word).to_owned()),
        };
        let (name, path) = (target.name.as_str(), target.path.to_string_lossy());
        traits.of(name.into(), path)
    })
}

fn tree_output(tree: &ListedTree) -> TargetOutput<'_> {
    let traits = Traits {
        found: match Path::new(&tree.anchor).is_dir() {
            true => "directory",
            false => "missing",
        },
        bytes: Some(tree.bytes),
        files: Some(tree.files),
        is_prepared: false,
        is_written: tree.is_written,
        overwrite: None,
        refused: Vec::new(),
        overwrite_word: None,
        standing_word: None,
    };
    traits.of(tree.name.as_str().into(), tree.anchor.as_str().into())
}

impl Traits {
    fn of<'a>(self, name: Cow<'a, str>, path: Cow<'a, str>) -> TargetOutput<'a> {
        TargetOutput {
            name,
            path,
            count: 1,
            last: None,
            traits: self,
        }
    }
}

fn diagnostic_output(diagnostic: &Diagnostic, sources: &SourceMap) -> DiagnosticOutput {
    let position = diagnostic.span.map(|span| sources.position(span));
    DiagnosticOutput {
        code: diagnostic.code.clone(),
        severity: diagnostic.severity,
        file: diagnostic
            .span
            .map(|span| sources.file(span.source).name.clone()),
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        message: render::shortened(&diagnostic.message).into_owned(),
        help: diagnostic
            .help
            .as_deref()
            .map(|help| render::shortened(help).into_owned()),
    }
}
