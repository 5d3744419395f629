//! The reader of fio job files and of jobs on the command line.
//!
//! Text becomes sections of options with places ([`text`]), options typed by the declarations and
//! jobs with what they inherit ([`jobs`], [`declare`], [`tables`], [`engines`], [`value`]), values
//! that fit each other ([`resolve`]), and a neutral plan ([`lower`]). Begin with [`read`].

#[macro_use]
mod setting;

mod amounts;
pub(crate) mod codes;
mod command_line;
mod commands;
mod declare;
mod engines;
mod explain;
mod failures;
mod files;
mod flow;
mod forms;
mod jobs;
mod later;
mod layout;
mod lints;
mod listing;
mod lower;
mod names;
mod number;
mod places;
mod priorities;
mod profile;
mod record;
mod regions;
mod report;
mod requests;
mod resolve;
mod space;
mod state;
mod steps;
mod support;
mod tables;
mod text;
mod timing;
mod value;
mod verify;

pub use crate::parameter::TimeUnit;
pub use command_line::{
    Argument, CommandWord, GeneralOption, WordError, show_command, split as split_words,
};
pub use declare::{
    Chapter, Kind, Parameter, engine_help, help, names, options_of_engine, reference_markdown,
    takers, words,
};
pub use engines::Engine;
pub use explain::{JobPlace, JobsOfPlan, explain};
pub(crate) use lints::MACHINE_WORDS;
pub use profile::{Expanded, PROFILES, Profile, ProfileOption, expand_profile};
pub use report::{LogOptions, ReportOptions, Shown, Unified, WindowValue};
pub use state::{FIRST_WORDS as STATE_FIRST_WORDS, state_name, state_text};

use crate::sink::Sink;
use crate::vdbench::ListedRun;
use crate::{Environment, MemoryFiles};
use plan::{Diagnostic, Plan, Severity, SourceMap};

/// Something that holds jobs.
#[derive(Clone, Debug)]
pub enum Input {
    /// Read through [`Environment::files`].
    Path(String),
    /// Standard input, or a text that is built in.
    Text { name: String, bytes: Vec<u8> },
    /// What could not be read, and why.
    Unreadable { name: String, reason: String },
    /// Options of the command line, in order.
    Options(Vec<Assignment>),
}

/// An option of the command line, without its dashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: Option<String>,
}

/// What a reading yields.
#[derive(Clone, Debug)]
pub struct Reading {
    /// `None` when there are errors, and where an engine is not built.
    pub plan: Option<Plan>,
    /// Everything found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// What a run has to refuse before its first I/O, while checking goes on.
    pub run_blockers: Vec<Diagnostic>,
    pub sources: SourceMap,
    /// All runs in order, empty when there are errors.
    pub listing: Vec<ListedRun>,
    /// Whether some job wants other draws in every run; the seed of the plan is then to be replaced
    /// by one that nobody chose. Streams of jobs that repeat theirs keep a seed of their own.
    pub wants_fresh_seed: bool,
    /// The jobs in the words of the command line, one line each.
    pub commands: Vec<String>,
    /// Where each job stands in the plan.
    pub jobs: Vec<JobPlace>,
}

/// Reads jobs; `sections` names those that are to run, all where it is empty.
pub fn read(inputs: &[Input], sections: &[String], environment: &Environment<'_>) -> Reading {
    read_beside(inputs, sections, environment, SourceMap::default())
}

/// The same beside texts that were read before.
pub fn read_beside(
    inputs: &[Input],
    sections: &[String],
    environment: &Environment<'_>,
    mut sources: SourceMap,
) -> Reading {
    let mut sink = Sink::new(&environment.command_line.lints);
    let found = text::sections(inputs, environment, &mut sources, &mut sink);
    let commands = command_line::commands(&found);
    let jobs = jobs::read(&found, sections, environment, &mut sink);
    let mut reading = Reading {
        plan: None,
        diagnostics: Vec::new(),
        run_blockers: Vec::new(),
        sources,
        listing: Vec::new(),
        wants_fresh_seed: false,
        commands,
        jobs: Vec::new(),
    };
    reading.run_blockers = support::judge(&jobs.jobs, &mut sink);
    if jobs.jobs.is_empty() && !sink.has_errors() {
        report_no_job(
            !found.is_empty(),
            sections,
            &mut reading.run_blockers,
            &mut sink,
        );
    }
    let specs = resolve::specs(
        &jobs.jobs,
        environment,
        &mut reading.run_blockers,
        &mut sink,
    );
    amounts::check_appended(&specs, &mut reading.run_blockers);
    if !sink.has_errors() {
        let mut notes = Vec::new();
        let groups = timing::groups(&specs, &mut notes);
        notes.into_iter().for_each(|note| sink.push(note));
        reading.listing = listing::list(&specs, &groups);
        let is_whole = !specs.is_empty() && specs.iter().all(|spec| spec.method.is_some());
        if is_whole {
            let (plan, places) = lower::lower(&specs, &groups, &jobs.globals, environment);
            debug_assert!(plan.inconsistencies().is_empty());
            reading.plan = Some(plan);
            reading.wants_fresh_seed = places.iter().any(|job| !job.repeats);
            reading.jobs = places;
        }
    }
    reading.diagnostics = sink.into_sorted();
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

/// Whether a warning is about what the original reads in the same way: the jobs are the same, with or without it.
pub fn is_read_alike(code: &str) -> bool {
    [codes::SURPRISING_VALUE, codes::SECTION_LINE].contains(&code)
}

/// A time of the command line in nanoseconds; seconds where it has no unit.
pub fn time_nanos(text: &str) -> Option<u64> {
    let number = number::time(text, TimeUnit::Seconds).ok()?;
    u64::try_from(number.value).ok()
}

/// Whether a text looks like a job file of this language: some line opens a section.
pub fn looks_like(text: &str) -> bool {
    text.lines().any(|line| {
        let end = line.find([';', '#']).unwrap_or(line.len());
        let line = line[..end].trim();
        line.starts_with('[') && line.ends_with(']')
    })
}

/// Reads any bytes and uses everything that comes out; for fuzzing. The text before a NUL is a
/// file that can be included as `i`, the rest is the job file.
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
    let variable = ("v".to_owned(), "4k,${v}$ncpus".to_owned());
    environment.process_variables.insert(variable.0, variable.1);
    let input = Input::Text {
        name: "fuzz".to_owned(),
        bytes: main.to_vec(),
    };
    let reading = read(&[input], &[], &environment);
    for diagnostic in reading.diagnostics.iter().chain(&reading.run_blockers) {
        if let Some(span) = diagnostic.span {
            let _ = reading.sources.position(span);
            let _ = reading.sources.text(span);
        }
    }
    if let Some(plan) = &reading.plan {
        assert!(plan.inconsistencies().is_empty(), "a plan is consistent");
        plan.run_ids().for_each(|id| drop(plan.run(id)));
    }
    let words: Vec<String> = String::from_utf8_lossy(main)
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let _ = split_words(&words, &[]);
}

/// A file of global sections only can be checked, but not run.
fn report_no_job(
    has_sections: bool,
    wanted: &[String],
    blockers: &mut Vec<Diagnostic>,
    sink: &mut Sink,
) {
    let error = match wanted {
        [] => Diagnostic::error(codes::NO_JOB, "no job is defined")
            .with_help("add a section that is not `[global]`, such as `[job]`"),
        names => Diagnostic::error(
            codes::NO_JOB,
            format!("no section is named `{}`", names.join("` or `")),
        )
        .with_help("`--section` takes the name between the brackets"),
    };
    if has_sections && wanted.is_empty() {
        blockers.push(error);
    } else {
        sink.push(error);
    }
}
