//! The reader of Vdbench parameter files.
//!
//! Text becomes a stream of characters with places ([`text`]), pairs ([`token`]), definitions typed
//! by the declarations ([`definitions`], [`declare`], [`tables`]), values with references resolved
//! ([`resolve`], [`storage`], [`workload`], [`runs`], [`trees`]), a list of runs ([`expand`]), and
//! a neutral plan ([`lower`]). Begin with [`read`] and [`Reading`].

#[macro_use]
mod setting;

mod blockers;
pub(crate) mod codes;
mod content;
mod declare;
mod definitions;
mod expand;
mod explain;
mod fields;
mod follow_ups;
mod groups;
mod hosts_given;
mod labels;
mod lanes;
mod lints;
mod listing;
mod lower;
mod model;
mod pages;
mod rates;
mod resolve;
mod runs;
mod steering;
mod storage;
mod tables;
mod text;
mod token;
mod tree_checks;
mod trees;
mod value;
mod values;
mod workload;

pub use declare::{
    Kind, Parameter, Section, Status, help, help_of, names, reference_markdown, takers,
};
pub use expand::{ListedKind, ListedRun, short_number};
pub use explain::explain;
pub use hosts_given::name_hosts;
pub(crate) use lints::MACHINE_WORDS;
pub use steering::repeat;
pub use trees::ListedTree;

use crate::sink;
use crate::{Environment, MemoryFiles, Variable, nearest};
use definitions::Definition;
use fields::Fields;
use plan::{Diagnostic, Plan, Severity, SourceMap};
use sink::Sink;

/// A parameter file.
#[derive(Clone, Debug)]
pub enum InputFile {
    /// Read through [`Environment::files`].
    Path(String),
    /// Standard input, or a text that is built in.
    Text { name: String, bytes: Vec<u8> },
    /// What could not be read, and why.
    Unreadable { name: String, reason: String },
}

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Storage and workloads.
    Raw,
    /// Trees of files.
    Files,
}

/// What a reading yields.
#[derive(Clone, Debug)]
pub struct Reading {
    /// `None` when there are errors, and for file-system jobs, which are not lowered yet.
    pub plan: Option<Plan>,
    /// Everything found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// What a run has to refuse before its first I/O, while checking and simulating go on.
    pub run_blockers: Vec<Diagnostic>,
    pub sources: SourceMap,
    /// All runs in order, empty when there are errors.
    pub listing: Vec<ListedRun>,
    /// The trees of files of a file-system job.
    pub trees: Vec<ListedTree>,
    pub mode: Mode,
}

/// Whether the run that makes files is among the lines; the original's simulation never shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparations {
    Shown,
    LeftOut,
}

/// Reads parameter files, which follow each other as if they were one.
pub fn read(files: &[InputFile], environment: &Environment<'_>) -> Reading {
    let mut sink = Sink::new(&environment.command_line.lints);
    let mut sources = SourceMap::default();
    let glyphs = text::scan(files, environment, &mut sources, &mut sink);
    let pairs = token::pairs(&glyphs, &mut sink);
    let mut definitions = definitions::group(pairs, &mut sink);
    definitions::check_kinds(&mut definitions, &mut sink);
    let hosts = resolve::hosts(&definitions, environment, &mut sink);
    let labels: Vec<String> = hosts.iter().map(|host| host.label.clone()).collect();
    let definitions = definitions::replicate(definitions, &labels);
    let (mode, is_mixed) = mode(&definitions, &mut sink);
    let general_fields = Fields {
        section: Section::General,
        name: definitions[0].name.clone(),
        all: definitions[0].fields.clone(),
        defaults: 0,
    };
    let general = resolve::general(&general_fields, environment, &mut sink);
    report_no_run(&definitions, &mut sink);
    runs::check_arguments(&environment.command_line, &mut sink);
    let blockers = blockers::find(&definitions, environment, &mut sink);
    let mut reading = Reading {
        plan: None,
        diagnostics: Vec::new(),
        run_blockers: blockers,
        sources,
        listing: Vec::new(),
        trees: Vec::new(),
        mode,
    };
    match mode {
        // What follows from a mixture of both, or from a missing file, says nothing new.
        _ if is_mixed || sink.has(codes::FILE) => {}
        Mode::Raw => {
            let input = RawInput {
                definitions: &definitions,
                hosts: &hosts,
                general: &general,
                general_fields: &general_fields,
            };
            raw(input, environment, &mut reading, &mut sink);
        }
        Mode::Files => {
            (reading.listing, reading.trees) =
                trees::list(&definitions, &hosts, environment, &mut sink);
        }
    }
    if sink.has_errors() {
        reading.plan = None;
        reading.listing.clear();
    }
    reading.diagnostics = sink.into_sorted();
    follow_ups::explain(&mut reading.diagnostics, &reading.sources);
    reading
}

impl Reading {
    /// Whether nothing runs before something in the text is resolved.
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// The lines that the original's simulation prints for a job, one per run.
pub fn simulate_lines(reading: &Reading, preparations: Preparations) -> Vec<String> {
    reading
        .listing
        .iter()
        .filter(|run| run.kind != ListedKind::Prepare || preparations == Preparations::Shown)
        .map(|run| format!("Simulating RD={}", run.simulated))
        .collect()
}

/// Whether a text looks like a parameter file of this language: some line opens a definition that
/// no other language has.
pub fn looks_like(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        ["rd=", "wd=", "sd=", "fsd=", "fwd="].iter().any(|start| {
            line.len() >= start.len()
                && line.is_char_boundary(start.len())
                && line[..start.len()].eq_ignore_ascii_case(start)
        })
    })
}

/// Reads any bytes and uses everything that comes out; for fuzzing. The text before a NUL is a
/// file that can be included as `i`, the rest is the parameter file.
///
/// # Panics
/// When the reader is wrong: never on input alone.
pub fn fuzz_one(data: &[u8]) {
    let (included, main) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (&[][..], data),
    };
    let mut files = MemoryFiles::default();
    files.0.insert("i".to_owned(), included.to_vec());
    let mut environment = Environment::bare(&files);
    environment.command_line.variables.push(Variable {
        name: "v".to_owned(),
        value: "sd1,x=\"$v".to_owned(),
    });
    let input = InputFile::Text {
        name: "fuzz".to_owned(),
        bytes: main.to_vec(),
    };
    let reading = read(&[input], &environment);
    for diagnostic in &reading.diagnostics {
        if let Some(span) = diagnostic.span {
            let _ = reading.sources.position(span);
        }
    }
    if let Some(plan) = &reading.plan {
        assert!(plan.inconsistencies().is_empty(), "a plan is consistent");
    }
    let _ = simulate_lines(&reading, Preparations::Shown);
}

/// What a raw job is made of.
struct RawInput<'a> {
    definitions: &'a [Definition],
    hosts: &'a [model::Host],
    general: &'a model::General,
    general_fields: &'a Fields,
}

fn raw(input: RawInput<'_>, environment: &Environment<'_>, reading: &mut Reading, sink: &mut Sink) {
    let RawInput {
        definitions,
        hosts,
        general,
        ..
    } = input;
    let storages = storage::storages(definitions, hosts, general, sink);
    let workloads = workload::workloads(definitions, &storages, hosts, general, sink);
    let raw = runs::Raw {
        definitions,
        storages: &storages,
        workloads: &workloads,
        workload_defaults: workload::defaults(definitions),
        hosts,
        general,
    };
    let run_definitions = runs::raw_runs(&raw, environment, sink);
    let run_definitions = from_first(run_definitions, environment, sink);
    let used = listing::check_raw(&run_definitions, &storages, hosts, general, sink);
    if sink.has_errors() {
        return;
    }
    let all = expand::expand(&run_definitions, sink);
    if sink.has_errors() {
        return;
    }
    let job = lower::Job {
        general,
        groups: groups::Groups::new(&used),
        storages: &storages,
        definitions: &run_definitions,
        runs: &all,
        seed: environment.seed,
    };
    blockers::note_multiples(&job, sink);
    blockers::note_commands(&job, sink);
    reading.run_blockers.extend(blockers::of_runs(&job));
    let memory_bytes = match environment.command_line.reaches_no_storage {
        true => 0,
        false => environment.memory_bytes,
    };
    lints::raw(&job, input.general_fields, memory_bytes, sink);
    reading.listing = listing::raw(&job);
    let mut plan = lower::lower(&job);
    plan.values = values::all(input.general_fields, &job, &workloads, environment);
    debug_assert!(plan.inconsistencies().is_empty());
    pages::check(&job, &workloads, &plan, sink);
    reading.plan = Some(plan);
}

/// Leaves out the runs in front of the one that the command line names.
fn from_first(
    definitions: Vec<model::RunDefinition>,
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> Vec<model::RunDefinition> {
    let Some(first) = &environment.command_line.first_run else {
        return definitions;
    };
    let found = definitions
        .iter()
        .position(|run| run.name.starts_with(first.as_str()));
    match found {
        Some(at) => definitions.into_iter().skip(at).collect(),
        None => {
            let message = format!("no run definition has a name that starts with `{first}`");
            let names: Vec<&str> = definitions.iter().map(|run| run.name.as_str()).collect();
            let help = nearest::nearest(first, names.iter().copied()).map_or_else(
                || format!("defined: {}", names.join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            sink.push(Diagnostic::error(codes::UNKNOWN_REFERENCE, message).with_help(help));
            definitions
        }
    }
}

/// File definitions make a file-system job; both kinds in one job exclude each other. Also says
/// whether both are there.
fn mode(definitions: &[Definition], sink: &mut Sink) -> (Mode, bool) {
    let first = |sections: [Section; 2]| {
        definitions
            .iter()
            .find(|definition| sections.contains(&definition.section))
    };
    let raw = first([Section::Storage, Section::Workload]);
    let files = first([Section::FileSystem, Section::FileWorkload]);
    if let (Some(raw), Some(files)) = (raw, files) {
        let error = Diagnostic::error(
            codes::CONFLICT,
            "storage and file-system definitions exclude each other in one job",
        )
        .at(files.name.span, "file-system definition")
        .with_related(raw.name.span, "storage or workload definition")
        .with_help("make two jobs of it");
        sink.push(error);
    }
    let mode = if files.is_some() {
        Mode::Files
    } else {
        Mode::Raw
    };
    (mode, raw.is_some() && files.is_some())
}

fn report_no_run(definitions: &[Definition], sink: &mut Sink) {
    let has_run = definitions
        .iter()
        .any(|definition| definition.section == Section::Run && !definition.is_default());
    if has_run || sink.has_errors() {
        return;
    }
    let last = definitions
        .last()
        .filter(|last| last.section != Section::General);
    let mut error = Diagnostic::error(codes::NO_RUN, "no run is defined")
        .with_help("add a run definition, such as `rd=rd1,wd=wd1,iorate=max,elapsed=60`");
    if let Some(last) = last {
        error = error.at(last.name.span, "the text ends after this definition");
    }
    sink.push(error);
}
