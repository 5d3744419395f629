//! Called as `fio`: that tool's options, jobs in files and on the command line.
use crate::arguments::{Common, OnLoss, RepeatOptions, command_timeout};
use crate::exit::Exit;
use crate::fio_clients::{self, Client, Unread};
use crate::fio_report::FioStyle;
use crate::launch::{Findings, Launch, launch};
use crate::outputs::{self, Outputs};
use crate::printing::Channel;
use crate::seed::{self, Seeds};
use crate::trace::Topics;
use crate::{background, files, foreign_text, host_list, mistakes, render, self_tests, spans};
use host::Storage;
use host::text_file::read_whole;
use lang::fio::{
    Argument, Assignment, CommandWord, GeneralOption, Input, Reading, WordError, expand_profile,
    split_words,
};
use lang::{CommandLine, Language};
use plan::{
    Amount, Diagnostic, Label, Nanos, OpSource, Plan, RunKind, Severity, Steady, SteadyCriterion,
};
use report::fio::{FaceOptions, Formats, IdleProfile, TerseVersion};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const USAGE: &str = "\
usage: fio [options] [job options] FILE…

This mode follows fio 3.33. Options of later releases are listed in docs/reference/fio.md.

  FILE…                  job files, - is standard input; each begins when the one before has ended
  --name=NAME --OPTION=VALUE…
                         a job on the command line; options in front of the first name are
                         defaults of all jobs
  --section=NAME         run this section only; repeatable
  --parse-only           read and check, no I/O
  --showcmd              print the jobs as a command line
  --cmdhelp[=OPTION|all] --enghelp[=ENGINE[,OPTION]]
                         what options and engines there are, and how far they are supported
  --readonly             refuse jobs that write, trim or lay out a file
  --warnings-fatal       warnings end the command
  --version              print `fio-3.33`, the release that is followed, and Fathom's own
  --help                 print this
  --max-jobs=N           refuse more than N jobs, clones counted
  --alloc-size=KIB       read only: memory is taken as it is needed
  --debug=LIST           lines about what happens; --debug=? lists the subjects
  --output=FILE          where reports go
  --output-format=LIST   normal, terse, json, json+, separated by commas; --minimal is terse
  --append-terse         terse after the others
  --terse-version=N      layout of terse lines
  --eta=always|never|auto --eta-interval=TIME
                         the status line, by default on a terminal, each second
  --eta-newline=TIME     the status line goes on in a new line each time this has passed
  --status-interval=TIME a full report each time this has passed
  --bandwidth-log[=NAME] logs of all jobs together
  --idle-prof=system|percpu
                         how idle the CPUs of this machine were
  --aux-path=FOLDER      where the files of verify_dump and states of verify are
  --trigger-file=FILE    when it appears it is removed, all jobs end, and what they have written with
                         verify is saved; --trigger-timeout=TIME: when this has passed
  --trigger=COMMAND      what the shell is to run then
  --daemonize=FILE       run in the background, with the number of the process in FILE; use --output
  --inflate-log=FILE     print a log that log_store_compressed has written
  --client=[USER@]HOST FILE… --client=[USER@]HOST FILE…
                         each host does the jobs of the files after it; --client=FILE with a host in each line gives all of
                         them the same files. Hosts are reached by ssh, and no server runs there
  --remote-config=PATH   after a --client: a job file that is there
  --server --trigger-remote
                         refused: no server is needed
  --merge-blktrace-only --latency-log
                         refused with what to use in their place
  --profile=tiobench     built-in jobs in place of files, with --size=MIB --block=N --numruns=N
                         --dir=FOLDER --threads=N
  --profile=act --device-names=LIST
                         the same, with --load=N --test-duration=TIME --threads-per-queue=N
                         --read-req-num-512-blocks=N --large-block-op-kbytes=N --prep
  --crctest[=LIST]       how fast the sums of `verify` are made
  --cpuclock-test        whether the clock of a run is in order on all CPUs

of Fathom:
  --overwrite TARGET|@FILE   a target that may be overwritten although it holds something
  --result FOLDER            folder of result.fathom and report.html, as does the variable FATHOM_RESULT; %p in
                             it becomes the number of the process, %t date and time. Without either
                             nothing is kept
  --backend NAME --workers N --label KEY=VALUE --seed N
  --repeat N             all jobs N times, with median and spread of each figure at the end
  --command-timeout TIME  how long a command of the job may take (default 1h)
  --launcher COMMAND --host-timeout TIME --on-loss end|continue --no-keep
                         how hosts of --client are reached, as in `fathom run`
  --wait-until COMMAND --wait-limit TIME
                         before each run, wait until this command line succeeds (by default for 10
                         minutes at most)

Every option of a job: docs/reference/fio.md. Exit codes: 0 fine, 1 run failed, 2 refused as
written, 3 target protected, 4 stopped by the user.";

/// Names the folder of results for scripts that cannot be changed.
const RESULT_VARIABLE: &str = "FATHOM_RESULT";

/// The release whose behaviour this face has.
const RELEASE: &str = "fio-3.33";

const fn general(name: &'static str, letter: Option<char>, argument: Argument) -> GeneralOption {
    GeneralOption {
        name,
        letter,
        argument,
    }
}

use Argument::{None as Bare, Optional, Required};

const GENERAL: &[GeneralOption] = &[
    general("help", Some('h'), Bare),
    general("version", Some('v'), Bare),
    general("section", Some('x'), Required),
    general("parse-only", Some('P'), Bare),
    general("showcmd", Some('s'), Bare),
    general("cmdhelp", Some('c'), Optional),
    general("enghelp", Some('i'), Optional),
    general("readonly", Some('r'), Bare),
    general("warnings-fatal", Some('w'), Bare),
    general("alloc-size", Some('a'), Required),
    general("max-jobs", Some('j'), Required),
    general("debug", Some('d'), Required),
    general("output", Some('o'), Required),
    general("output-format", Some('F'), Required),
    general("minimal", Some('m'), Bare),
    general("append-terse", Some('f'), Optional),
    general("terse-version", Some('V'), Required),
    general("bandwidth-log", Some('b'), Optional),
    general("eta", Some('e'), Required),
    general("eta-interval", Some('O'), Required),
    general("eta-newline", Some('E'), Required),
    general("status-interval", Some('L'), Required),
    general("client", Some('C'), Required),
    general("server", Some('S'), Optional),
    general("daemonize", Some('D'), Required),
    general("remote-config", Some('R'), Required),
    general("trigger-file", Some('W'), Required),
    general("trigger-timeout", Some('B'), Required),
    general("trigger", Some('H'), Required),
    general("trigger-remote", Some('J'), Required),
    general("idle-prof", Some('I'), Required),
    general("inflate-log", Some('X'), Required),
    general("merge-blktrace-only", Some('A'), Bare),
    general("cpuclock-test", Some('T'), Bare),
    general("crctest", Some('G'), Optional),
    general("aux-path", Some('K'), Required),
    general("latency-log", Some('l'), Required),
    general("overwrite-target", None, Required),
    general("result", None, Required),
    general("backend", None, Required),
    general("workers", None, Required),
    general("label", None, Required),
    general("seed", None, Required),
    general("repeat", None, Required),
    general("wait-until", None, Required),
    general("wait-limit", None, Required),
    general("command-timeout", None, Required),
    general("launcher", None, Required),
    general("host-timeout", None, Required),
    general("on-loss", None, Required),
    general("no-keep", None, Bare),
];

const NO_SERVER: &str = "no server is needed: `fathom fio --client=HOST FILE` reaches HOST by `ssh` and starts what it needs there. A key gets there by `ssh-copy-id HOST`; where there is no `ssh`, `--launcher` takes another command, such as 'kubectl exec -i {host} --'";

/// Options of the original that are known and not carried out, each with what to do.
const REFUSED: &[(&str, &str)] = &[
    ("server", NO_SERVER),
    (
        "trigger-remote",
        "run the command on the hosts yourself, or here with `--trigger`",
    ),
    (
        "merge-blktrace-only",
        "binary traces of block devices are not read; `read_iolog` takes records of version 2 and 3",
    ),
    (
        "latency-log",
        "it is gone in fio, too; use the job option `write_lat_log`",
    ),
];

/// The command line, read.
#[derive(Debug, Default)]
struct Options {
    inputs: Vec<Input>,
    /// Whose hosts do the jobs; this one where there are none.
    clients: Vec<Client>,
    /// Whether `--status-interval` stands in front of all of them.
    is_early_interval: bool,
    sections: Vec<String>,
    parse_only: bool,
    show_command: bool,
    readonly: bool,
    /// Clones of all jobs that are taken at most.
    max_jobs: Option<u64>,
    warnings_fatal: bool,
    /// The name of a built-in set of jobs.
    profile: Option<&'static str>,
    /// Runs in the background, with the number of the process in this file.
    pid_file: Option<PathBuf>,
    /// A compressed log that is printed in place of a run.
    packed_log: Option<PathBuf>,
    /// Done in place of a run.
    self_test: Option<SelfTest>,
    /// Printed in place of a run.
    text: Option<String>,
    has_seed: bool,
    /// Where the result and the report are kept; nowhere when left out.
    result: Option<String>,
    common: Common,
    repetition: RepeatOptions,
    style: FioStyle,
    formats: Option<Formats>,
    eta: Eta,
    eta_interval_ns: Option<u64>,
}

/// A test of the machine, or of what is built in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SelfTest {
    Clock,
    /// Of these sums, all where nothing is named.
    Sums(Option<String>),
}

/// When the status line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Eta {
    #[default]
    OnTerminals,
    Always,
    Never,
}

/// Prints what the options are.
pub fn help() -> Exit {
    out!("{USAGE}\n");
    Exit::Fine
}

pub fn main(all: &[String], words: &[String]) -> Exit {
    let options = match parse(words) {
        Ok(options) => options,
        Err(message) => {
            mistakes::tell_word(&message, "`fathom help fio` lists the options");
            return Exit::Usage;
        }
    };
    if let Some(text) = &options.text {
        out!("{}\n", text.trim_end());
        return Exit::Fine;
    }
    match &options.self_test {
        Some(SelfTest::Clock) => return self_tests::clock(),
        Some(SelfTest::Sums(list)) => return self_tests::sums(list.as_deref()),
        None => {}
    }
    if let Some(path) = &options.packed_log {
        return print_packed(path);
    }
    if options.inputs.is_empty() && options.clients.is_empty() {
        // Scripts find out like this which options are known.
        if options.parse_only {
            return Exit::Fine;
        }
        err!("{USAGE}\nerror: no job is defined\n");
        return Exit::Usage;
    }
    let reading = match read(&options) {
        Ok(reading) => reading,
        Err(Unread::Told(exit)) => return exit,
        Err(Unread::Message(message)) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    match goes_on_elsewhere(all, &options, &reading) {
        Ok(false) => {}
        Ok(true) => return Exit::Fine,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    }
    out!("{}", preamble(&options, words, &reading));
    if options.show_command {
        out!("{}\n", lang::fio::show_command(&reading.commands));
        return exit_of(&reading);
    }
    let is_fatal = options.warnings_fatal
        && reading
            .diagnostics
            .iter()
            .any(|found| found.severity == Severity::Warning);
    if options.parse_only || reading.has_errors() || is_fatal {
        render::print(&reading.diagnostics, &reading.sources);
        if is_fatal {
            errln!("error: warnings end the command (`--warnings-fatal`)");
            return Exit::Usage;
        }
        return exit_of(&reading);
    }
    carry_out(all, options, reading)
}

fn read(options: &Options) -> Result<Reading, Unread> {
    let aux = options.style.beside.auxiliary.as_ref();
    let command_line = CommandLine {
        auxiliary: aux.map(|folder| folder.display().to_string()),
        ..CommandLine::default()
    };
    foreign_text::refuse_of_fio(&options.inputs).map_err(Unread::Message)?;
    let mut environment = files::environment(command_line, Seeds::fixed(&options.common).content);
    if !options.has_seed {
        environment.fresh_seed = seed::drawn();
    }
    let sections = &options.sections;
    let mut reading = match options.clients.as_slice() {
        [] => lang::fio::read(&options.inputs, sections, &environment),
        clients => fio_clients::read(clients, sections, &mut environment, &options.common)?,
    };
    if let Some(plan) = reading.plan.as_mut().filter(|_| reading.wants_fresh_seed) {
        plan.seed = environment.fresh_seed;
    }
    Ok(reading)
}

/// Whether another process carries the jobs out, in the background. What is wrong with the jobs is told here.
fn goes_on_elsewhere(all: &[String], options: &Options, reading: &Reading) -> Result<bool, String> {
    let is_run = !options.parse_only && !options.show_command && !reading.has_errors();
    let Some(pid_file) = options.pid_file.as_ref().filter(|_| is_run) else {
        return Ok(false);
    };
    if background::is_here()? {
        return Ok(false);
    }
    let reads_input = |input: &Input| matches!(input, Input::Text { name, .. } if name == "-");
    if options.inputs.iter().any(reads_input) || all.iter().any(|word| word == "-") {
        return Err("jobs of standard input cannot go to the background".to_owned());
    }
    let outputs = reading.plan.as_ref().map(|plan| {
        let inputs = outputs::inputs(&reading.sources, &[]);
        Outputs::beside(plan, inputs)
    });
    background::begin(all, pid_file, &outputs.unwrap_or_default())?;
    Ok(true)
}

/// The longest compressed log that is printed.
const PACKED_BYTES_MAX: u64 = 4 << 30;

fn print_packed(path: &Path) -> Exit {
    let bytes = match read_whole(path, PACKED_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) => {
            errln!("error: `{}` cannot be read: {error}", path.display());
            return Exit::Usage;
        }
    };
    match report::fio::inflate_log(&*bytes, |line| out!("{line}")) {
        Ok(()) => Exit::Fine,
        Err(error) => {
            errln!(
                "error: `{}` is not a compressed log: {error}",
                path.display()
            );
            Exit::Usage
        }
    }
}

/// What is to be told of the command line before anything happens.
fn preamble(options: &Options, words: &[String], reading: &Reading) -> String {
    let topics = &options.style.beside.topics;
    let profile = options.profile.and_then(|_| expand_profile(words).ok());
    let expanded = profile.map(|expanded| format!("stands for {}", expanded.words.join(" ")));
    let commands = reading.commands.iter().cloned();
    let rules = match steady_words(&options.inputs) {
        words if words.is_empty() => {
            let templates = reading.plan.iter().flat_map(|plan| &plan.templates);
            let streams = templates.flat_map(|template| &template.streams);
            let rules = streams.filter_map(|stream| stream.flow.steady.as_ref());
            rules.map(steady_text).collect()
        }
        words => words,
    };
    topics.opening()
        + &topics.tell("profile", expanded)
        + &topics.tell("parse", commands.chain(rules))
}

/// Limits of steady states on the command line, which fio tells even where no job follows.
fn steady_words(inputs: &[Input]) -> Vec<String> {
    let given = inputs.iter().filter_map(|input| match input {
        Input::Options(options) => Some(options),
        _ => None,
    });
    let named = given
        .flatten()
        .filter(|one| matches!(&*one.name, "ss" | "steadystate"));
    let told = named.filter_map(|one| {
        let (of, limit) = one.value.as_deref()?.split_once(':')?;
        let plain = limit.trim_end_matches('%');
        let rule = Steady {
            of: match of.starts_with("bw") {
                true => Amount::Bytes,
                false => Amount::Operations,
            },
            criterion: SteadyCriterion::Deviation,
            limit: plain.parse().ok()?,
            is_pct: plain.len() < limit.len(),
            samples: 1,
            every: Nanos(1_000_000_000),
            after: Nanos(0),
            group: None,
        };
        Some(steady_text(&rule))
    });
    told.collect()
}

/// How fio tells the limit of a steady state.
fn steady_text(rule: &Steady) -> String {
    match (rule.is_pct, rule.of) {
        (true, _) => format!("set steady state threshold to {:.6}%", rule.limit),
        (false, Amount::Bytes) => format!("set steady state BW threshold to {}", rule.limit),
        (false, _) => format!("set steady state IOPS threshold to {:.6}", rule.limit),
    }
}

fn exit_of(reading: &Reading) -> Exit {
    if reading.has_errors() {
        Exit::Usage
    } else {
        Exit::Fine
    }
}

fn carry_out(all: &[String], options: Options, reading: Reading) -> Exit {
    let told = reading
        .diagnostics
        .iter()
        .filter(|one| changes_figures(one));
    let told: Vec<Diagnostic> = told.cloned().collect();
    render::print(&told, &reading.sources);
    render::print(&reading.run_blockers, &reading.sources);
    let is_blocked = !reading.run_blockers.is_empty();
    let Some(mut plan) = reading.plan.filter(|_| !is_blocked) else {
        return Exit::Usage;
    };
    // The report of a profile may have a verdict of its own.
    let profile = options.profile.map(|name| Label::new("profile", name));
    plan.labels.extend(profile);
    if let Some(most) = options.max_jobs
        && clones(&plan) > most
    {
        errln!("error: the jobs have more than {most} clones, which `--max-jobs` refuses");
        return Exit::Usage;
    }
    if let Some(what) = options.readonly.then(|| write_of(&plan)).flatten() {
        errln!("error: a job {what}, which `--readonly` refuses");
        return Exit::Usage;
    }
    if options.repetition.wait_limit.is_some() && options.repetition.wait_until.is_none() {
        errln!("error: `--wait-limit` without `--wait-until` waits for nothing");
        return Exit::Usage;
    }
    if let Err(message) = options.repetition.apply(&mut plan) {
        errln!("error: {message}");
        return Exit::Usage;
    }
    let trigger = &options.style.beside.trigger;
    if trigger.command.is_some() && !trigger.is_set() {
        errln!(
            "note: `--trigger` is never run: neither `--trigger-file` nor `--trigger-timeout` says when"
        );
    }
    launch(Launch {
        plan,
        sources: reading.sources,
        arguments: all.to_vec(),
        folder: result_folder(options.result.as_deref()),
        face: Box::new(style(&options)),
        findings: Findings {
            printed: reading.diagnostics,
            unprinted: &[],
            language: Language::Fio,
        },
        common: options.common,
    })
}

/// Whether a figure would be taken for another one if nobody said it: the job is not what its text seems to say. What is
/// read just as fio reads it stands in the result and in `check`.
fn changes_figures(found: &Diagnostic) -> bool {
    found.severity != Severity::Note && !lang::fio::is_read_alike(&found.code)
}

/// Streams that are measured, as each clone of a job is one.
fn clones(plan: &Plan) -> u64 {
    let measured = plan.templates.iter().flat_map(|one| &one.streams);
    let is_check = |labels: &[Label]| Label::find(labels, "phase") == Some("check");
    let own = measured.filter(|stream| !is_check(&stream.labels));
    own.count() as u64
}

/// Where the result is kept: as the option or the environment says, with the number of this process for `%p` and the
/// time of day for `%t`, so that many at once have a folder each.
fn result_folder(given: Option<&str>) -> Option<PathBuf> {
    let of_environment = || std::env::var(RESULT_VARIABLE).ok();
    let name = given.map(str::to_owned).or_else(of_environment)?;
    if name.is_empty() {
        return None;
    }
    let time = jiff::Zoned::now().strftime("%y%m%d.%H%M%S").to_string();
    let pid = std::process::id().to_string();
    Some(name.replace("%p", &pid).replace("%t", &time).into())
}

fn style(options: &Options) -> FioStyle {
    const SECOND_NS: u64 = 1_000_000_000;
    let formats = options.formats.unwrap_or_default();
    let is_shown = match options.eta {
        Eta::Always => true,
        Eta::Never => false,
        Eta::OnTerminals => formats.normal && Channel::Out.is_terminal(),
    };
    FioStyle {
        face: FaceOptions {
            formats,
            pid: std::process::id(),
            status_line_ns: is_shown.then(|| options.eta_interval_ns.unwrap_or(SECOND_NS)),
            ..options.style.face
        },
        ..options.style.clone()
    }
}

/// What a plan changes, if anything: a file that is long enough is not laid out.
fn write_of(plan: &Plan) -> Option<&'static str> {
    let writes = |kind| {
        let of_kind = plan.runs.iter().filter(move |run| run.kind == kind);
        let templates = of_kind.map(|run| &plan.templates[run.template.index()]);
        let mut streams = templates.flat_map(|template| &template.streams);
        streams.any(|stream| OpSource::changes_data(&stream.source))
    };
    if writes(RunKind::Measure) {
        return Some("writes or trims");
    }
    if !writes(RunKind::Prepare) {
        return None;
    }
    let facts = conduct::machine::facts(plan, &Storage::real());
    // What does not fit is told of by the launch.
    let bound = plan::bind(plan.clone(), &facts).ok()?;
    let is_prepared = bound.targets.iter().any(|target| target.is_prepared);
    is_prepared.then_some("lays out a file that is missing or too short")
}

fn parse(words: &[String]) -> Result<Options, String> {
    let mut options = Options {
        common: Common {
            command_timeout: command_timeout(),
            ..Common::default()
        },
        ..Options::default()
    };
    let expanded = expand_profile(words)?;
    options.profile = expanded.profile;
    // `--overwrite TARGET` is an option of Fathom, `--overwrite=0|1` one of jobs.
    let words = told_apart(&expanded.words);
    let mut jobs: Vec<Assignment> = Vec::new();
    let mut names = Vec::new();
    for word in split_words(&words, GENERAL).map_err(|error| word_error(&error))? {
        match word {
            CommandWord::Job(assignment) => jobs.push(assignment),
            CommandWord::File(name) => match options.clients.last_mut() {
                Some(client) => client.add_file(name),
                None => names.push(name),
            },
            CommandWord::General { name, value } => {
                general_option(name, value.as_deref(), &mut options)?;
            }
        }
    }
    if let Some(profile) = options.profile.filter(|_| !names.is_empty()) {
        return Err(format!(
            "`--profile={profile}` stands for all jobs; leave job files out"
        ));
    }
    if !options.clients.is_empty() {
        // There fio keeps it for jobs of its own, and only what follows goes to the servers.
        if std::mem::take(&mut options.is_early_interval) {
            options.style.face.status_interval_ns = None;
            errln!(
                "note: `--status-interval` in front of the first `--client` has no effect, as in fio; put it after that"
            );
        }
        if let Some(job) = jobs.first() {
            return Err(format!(
                "`--{}` is an option of a job, and jobs of `--client` come from files; write it there",
                job.name
            ));
        }
        if let Some(name) = names.first() {
            return Err(format!(
                "`{name}` stands in front of the first `--client`; each file belongs to the `--client` in front of it"
            ));
        }
    }
    if !jobs.is_empty() {
        options.inputs.push(Input::Options(jobs));
    }
    options.inputs.extend(files::fio_inputs(&names));
    Ok(options)
}

/// A target to overwrite is never 0 or 1, which is what the option of jobs takes.
fn told_apart(words: &[String]) -> Vec<String> {
    let mut out = Vec::with_capacity(words.len());
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let is_switch = |value: &str| matches!(value, "0" | "1");
        match word.strip_prefix("--overwrite") {
            Some("") if rest.peek().is_some_and(|value| !is_switch(value)) => {
                out.push("--overwrite-target".to_owned());
            }
            Some(value) if value.starts_with('=') && !is_switch(&value[1..]) => {
                out.push(format!("--overwrite-target{value}"));
            }
            _ => out.push(word.clone()),
        }
    }
    out
}

fn general_option(name: &str, value: Option<&str>, options: &mut Options) -> Result<(), String> {
    let text = || value.unwrap_or_default().to_owned();
    let number = || {
        text()
            .parse::<u64>()
            .map_err(|_| format!("`--{name} {}` is not a number", text()))
    };
    let common = &mut options.common;
    match name {
        "help" => options.text = Some(USAGE.to_owned()),
        "version" => {
            options.text = Some(format!("{RELEASE} (fathom {})", env!("CARGO_PKG_VERSION")));
        }
        "client" => options.clients.push(Client::of(&text())?),
        "remote-config" => match options.clients.last_mut() {
            Some(client) => client.add_remote(text()),
            None => {
                return Err(
                    "`--remote-config` is a file of the `--client` in front of it".to_owned(),
                );
            }
        },
        "section" => options.sections.push(text()),
        "parse-only" => options.parse_only = true,
        "showcmd" => options.show_command = true,
        "readonly" => options.readonly = true,
        "warnings-fatal" => options.warnings_fatal = true,
        "cpuclock-test" => options.self_test = Some(SelfTest::Clock),
        "crctest" => options.self_test = Some(SelfTest::Sums(value.map(str::to_owned))),
        "cmdhelp" => options.text = Some(option_help(value)?),
        "enghelp" => options.text = Some(engine_help(value)?),
        // Memory is taken as it is needed, so no pool can be too small.
        "alloc-size" => drop(number()?),
        "max-jobs" => {
            let most = number()?;
            if most == 0 {
                return Err("`--max-jobs` is a number above zero".to_owned());
            }
            options.max_jobs = Some(most);
        }
        "overwrite-target" => common.overwrite.push(text()),
        "command-timeout" => {
            let text = text();
            let time = spans::some_span(&text);
            common.command_timeout =
                time.map_err(|reason| format!("`--{name} {text}`: {reason}"))?;
        }
        "launcher" | "host-timeout" | "on-loss" | "no-keep" => {
            return fleet_option(name, &text(), common);
        }
        "result" => options.result = Some(text()),
        "backend" => common.backend = Some(text()),
        "label" => common.label.push(text()),
        "workers" => {
            let workers = u32::try_from(number()?).ok().filter(|workers| *workers > 0);
            common.workers = Some(workers.ok_or("`--workers` is a number above zero")?);
        }
        "seed" => {
            common.seed = Some(number()?);
            options.has_seed = true;
        }
        "repeat" | "wait-until" | "wait-limit" => {
            return repeat_option(name, &text(), &mut options.repetition);
        }
        "debug" if matches!(&*text(), "?" | "help") => options.text = Some(Topics::help()),
        "debug" => return options.style.beside.topics.add(&text()),
        _ => return report_option(name, value, options),
    }
    Ok(())
}

/// How hosts are reached.
fn fleet_option(name: &str, text: &str, options: &mut Common) -> Result<(), String> {
    let failed = |reason: String| format!("`--{name} {text}`: {reason}");
    match name {
        "launcher" => {
            options.fleet.launcher = Some(host_list::launcher(text).map_err(failed)?);
        }
        "on-loss" => options.on_loss = OnLoss::of(text)?,
        "host-timeout" => options.fleet.host_timeout = spans::some_span(text).map_err(failed)?,
        _ => options.fleet.no_keep = true,
    }
    Ok(())
}

/// Options of repetition.
fn repeat_option(name: &str, text: &str, options: &mut RepeatOptions) -> Result<(), String> {
    match name {
        "repeat" => {
            let times = text.parse().ok().filter(|times| *times > 0);
            options.repeat = Some(times.ok_or("`--repeat` is a number above zero")?);
        }
        "wait-until" => options.wait_until = Some(text.to_owned()),
        _ => {
            let limit = spans::some_span(text);
            let limit = limit.map_err(|reason| format!("`--{name} {text}`: {reason}"))?;
            options.wait_limit = Some(limit);
        }
    }
    Ok(())
}

fn idle_profile(word: &str) -> Result<IdleProfile, String> {
    IdleProfile::parse(word).ok_or_else(|| match word {
        "calibrate" => {
            "`--idle-prof=calibrate` is refused: nothing here burns CPU to measure what is \
                        idle, so that there is nothing to calibrate"
                .to_owned()
        }
        _ => {
            let help = lang::instead_of(word, IdleProfile::NAMES);
            format!("`--idle-prof` does not know `{word}`; {help}")
        }
    })
}

/// Options of the reports.
fn report_option(name: &str, value: Option<&str>, options: &mut Options) -> Result<(), String> {
    let text = || value.unwrap_or_default().to_owned();
    match name {
        "daemonize" => options.pid_file = Some(PathBuf::from(text())),
        "inflate-log" => options.packed_log = Some(PathBuf::from(text())),
        "aux-path" => options.style.beside.auxiliary = Some(PathBuf::from(text())),
        "trigger-file" => options.style.beside.trigger.file = Some(PathBuf::from(text())),
        "trigger" => options.style.beside.trigger.command = Some(text()),
        "trigger-timeout" => {
            let nanos = time(name, &text())?;
            options.style.beside.trigger.after = Some(Duration::from_nanos(nanos));
        }
        "output" => options.style.output = Some(PathBuf::from(text())),
        "output-format" => {
            let formats = Formats::parse(&text()).map_err(|word| {
                let help = lang::instead_of(&word, Formats::NAMES);
                format!("`--output-format` does not know `{word}`; {help}")
            });
            options.formats = Some(formats?);
        }
        "idle-prof" => options.style.idle_profile = Some(idle_profile(&text())?),
        "minimal" => options.formats = Some(Formats::parse("terse")?),
        "append-terse" => {
            let formats = options.formats.get_or_insert_default();
            formats.terse = true;
        }
        "terse-version" => {
            let version = text().parse().ok().and_then(TerseVersion::from_number);
            options.style.face.terse_version =
                version.ok_or("`--terse-version` is 2, 3, 4 or 5")?;
        }
        "bandwidth-log" => {
            options.style.beside.bandwidth_log = Some(value.unwrap_or("agg").to_owned());
        }
        "status-interval" => {
            options.style.face.status_interval_ns = Some(time(name, &text())?);
            options.is_early_interval = options.clients.is_empty();
        }
        "eta-newline" => options.style.newline_ns = Some(time(name, &text())?),
        "eta-interval" => {
            let nanos = time(name, &text())?;
            if nanos < ETA_LEAST_NS {
                return Err("`--eta-interval` is at least 250ms".to_owned());
            }
            options.eta_interval_ns = Some(nanos);
        }
        "eta" => {
            options.eta = match &*text() {
                "always" => Eta::Always,
                "never" => Eta::Never,
                "auto" => Eta::OnTerminals,
                other => {
                    let help = lang::instead_of(other, ["always", "never", "auto"]);
                    return Err(format!("`--eta` does not know `{other}`; {help}"));
                }
            };
        }
        _ => {
            let refused = REFUSED.iter().find(|(refused, _)| *refused == name);
            let reason = refused.map_or("it is not known", |(_, reason)| reason);
            return Err(format!("`--{name}` is refused: {reason}"));
        }
    }
    Ok(())
}

/// The shortest time between two status lines, as in fio.
const ETA_LEAST_NS: u64 = 250_000_000;

/// A time, in seconds where it has no unit.
fn time(name: &str, text: &str) -> Result<u64, String> {
    lang::fio::time_nanos(text)
        .filter(|nanos| *nanos > 0)
        .ok_or_else(|| format!("`--{name} {text}` is not a time such as `5` or `500ms`"))
}

fn option_help(name: Option<&str>) -> Result<String, String> {
    let name = name.filter(|name| *name != "all");
    lang::fio::help(name).ok_or_else(|| {
        let name = name.unwrap_or_default();
        let help = lang::meant(name, lang::fio::names().collect::<Vec<_>>());
        let help = help.unwrap_or_else(|| "`--cmdhelp` lists all".to_owned());
        format!("no option is named `{name}`; {help}")
    })
}

/// All engines; one with the options that belong to it; or one of these.
pub fn engine_help(name: Option<&str>) -> Result<String, String> {
    let all = lang::fio::engine_help();
    let Some(name) = name else { return Ok(all) };
    let (engine, option) = match name.split_once(',') {
        Some((engine, option)) => (engine, Some(option)),
        None => (name, None),
    };
    let is_named = |line: &&str| line.split_whitespace().next() == Some(engine);
    let line = all.lines().find(is_named);
    let line = line.ok_or_else(|| {
        let names = all
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let help = lang::meant(engine, names);
        let help = help.unwrap_or_else(|| "`--enghelp` lists all".to_owned());
        format!("no engine is named `{engine}`; {help}")
    })?;
    let own = lang::fio::options_of_engine(engine);
    let Some(option) = option else {
        return Ok(format!("{line}\n{own}"));
    };
    let is_own = own
        .lines()
        .any(|line| line.split([',', ' ']).any(|word| word == option));
    let help = lang::fio::help(Some(option)).filter(|_| is_own);
    help.ok_or_else(|| format!("no option of `{engine}` is named `{option}`"))
}

fn word_error(error: &WordError) -> String {
    match error {
        WordError::Unknown(word, Some(near)) => {
            format!("unknown option `{word}`; did you mean `{near}`?")
        }
        WordError::Unknown(word, None) => format!("unknown option `{word}`"),
        WordError::Ambiguous(word, names) => {
            format!("`{word}` begins several options: {}", names.join(", "))
        }
        WordError::NeedsValue(word) => format!("`{word}` needs a value"),
        WordError::TakesNoValue(word) => format!("`{word}` takes no value"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_target_to_overwrite_is_told_from_the_switch_of_jobs() {
        let told = told_apart(&words(
            "--overwrite /dev/x --overwrite=1 --overwrite 0 --overwrite=@f",
        ));
        assert_eq!(
            told,
            words("--overwrite-target /dev/x --overwrite=1 --overwrite 0 --overwrite-target=@f")
        );
    }

    #[test]
    fn every_option_of_the_command_is_in_its_help() {
        for option in GENERAL {
            let is_named = USAGE.contains(&format!("--{}", option.name));
            let is_ours = option.name == "overwrite-target";
            assert!(is_named || is_ours, "{}", option.name);
        }
    }

    #[test]
    fn every_option_of_the_command_does_something_or_says_why_not() {
        let own = |name: &str| match name {
            "output-format" => Some("json"),
            "terse-version" => Some("4"),
            "idle-prof" => Some("percpu"),
            "eta" => Some("never"),
            "cmdhelp" => Some("rw"),
            "enghelp" => Some("libaio,userspace_reap"),
            "debug" => Some("io,process"),
            "launcher" => Some("srun -w {host}"),
            "on-loss" => Some("continue"),
            _ => Some("10"),
        };
        for option in GENERAL {
            let mut options = Options::default();
            options.clients.push(Client::default());
            let carried_out = general_option(option.name, own(option.name), &mut options);
            let refused = REFUSED.iter().find(|(name, _)| *name == option.name);
            match refused {
                None => assert_eq!(carried_out, Ok(()), "{}", option.name),
                Some((_, reason)) => {
                    let message = carried_out.unwrap_err();
                    assert!(message.contains(reason), "{message}");
                }
            }
        }
        assert!(engine_help(Some("libaio")).unwrap().contains("nowait"));
        assert!(engine_help(Some("libaio,rw")).is_err());
        assert!(engine_help(Some("nothing")).is_err());
    }
}
