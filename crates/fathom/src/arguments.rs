//! The command line of the neutral verbs.
use crate::exit::Exit;
use crate::spans::{seconds, some_seconds, some_span, span};
use analysis::Word;
use clap::{Args, Parser, Subcommand, ValueEnum};
use engine::BackendKind;
use lang::{CommandLine, LintSelection};
use plan::{Nanos, Plan, Readiness, Repeat};
use report::Conclusion;
use std::path::PathBuf;
use std::time::Duration;

/// What a command of a job may take when nothing is said.
pub const COMMAND_TIMEOUT: &str = "1h";

/// The same, for what is not read by clap.
pub fn command_timeout() -> Duration {
    some_span(COMMAND_TIMEOUT).expect("a time as a user would write it")
}

/// Where results go when nothing is said.
pub const DEFAULT_OUTPUT: &str = "fathom-output";

/// Of the help of a verb: what few calls need, below what most of them need.
const FURTHER: &str = "Further options";

const CURVE_EXAMPLE: &str = "\
Examples:
  fathom curve /dev/sdX --elapsed 10s    read a device, at most 32 operations in flight
  fathom curve disk --size 1g --read 70  make a file of 1 GiB, with 30 % writes";

/// Storage I/O benchmark: runs Vdbench parameter files and fio job files, draws the latency curve,
/// and says what limited each number.
#[derive(Debug, Parser)]
#[command(name = "fathom", version = env!("FATHOM_VERSION"), max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a job file and leave a report.
    Run(RunOptions),
    /// Measure a latency curve of a device or file, without a job file.
    #[command(after_help = CURVE_EXAMPLE)]
    Curve(CurveOptions),
    /// Write every byte of a target, or of all targets of a job, and check that it is there.
    Prefill(PrefillOptions),
    /// Find every problem of a job file at once, and list what would run.
    Check(CheckOptions),
    /// Write every report again from a result file.
    Report(ReportOptions),
    /// Turn JSON that fio printed, of any version, into a result file and its reports.
    Import(ImportOptions),
    /// Show each value that a job uses and where it comes from, or what a code means.
    Explain(ExplainOptions),
    /// Take the options of Vdbench, print what it prints, write the files that it writes.
    #[command(disable_help_flag = true)]
    Vdbench {
        /// As `fathom help vdbench` lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Take the options of fio and its job files.
    #[command(disable_help_flag = true)]
    Fio {
        /// As `fathom help fio` lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Print the manual page, shell completions or a generated reference.
    Manual(ManualOptions),
}

/// What every verb that runs takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Folder for the result, the report and the tables.
    #[arg(short, long, value_name = "FOLDER", default_value = DEFAULT_OUTPUT)]
    pub output: PathBuf,

    /// How I/O is done: uring, aio, sync, null or sim. Chosen by the kind of the targets when left
    /// out.
    #[arg(long, help_heading = FURTHER)]
    pub backend: Option<String>,

    /// Worker threads; by default one per 16 slots and at most one per CPU. The sync backend has
    /// one per slot.
    #[arg(long, help_heading = FURTHER, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Option<u32>,

    /// Name a series in reports, such as transport=nvme-tcp. Repeatable.
    #[arg(long, help_heading = FURTHER, value_name = "KEY=VALUE")]
    pub label: Vec<String>,

    /// A target that may be overwritten although it holds something: by serial number, WWN or path;
    /// @FILE reads one per line. Repeatable.
    #[arg(long, help_heading = FURTHER, value_name = "TARGET|@FILE")]
    pub overwrite: Vec<String>,

    /// Seed of all random draws, which repeats those of an earlier execution. Without it each execution of `run` and
    /// `curve` draws other addresses and arrivals; the seed is printed and stored.
    #[arg(long, help_heading = FURTHER, value_name = "N")]
    pub seed: Option<u64>,

    /// How long a command of the job may take before it is ended and the job fails.
    #[arg(long, help_heading = FURTHER, value_name = "TIME", default_value = COMMAND_TIMEOUT, value_parser = some_span)]
    pub command_timeout: Duration,

    /// Go on with an interrupted result at its first run that is not finished, in its own folder.
    /// The job has to be the same.
    #[arg(long, help_heading = FURTHER, value_name = "RESULT")]
    pub resume: Option<PathBuf>,

    #[command(flatten, next_help_heading = FURTHER)]
    pub lints: LintOptions,
}

impl Common {
    /// Whether a backend is named that reaches no storage.
    pub fn reaches_no_storage(&self) -> bool {
        let named = self.backend.as_deref().map(str::parse::<BackendKind>);
        matches!(named, Some(Ok(BackendKind::Null | BackendKind::Sim)))
    }
}

/// How often the runs of a job are carried out, and what each waits for.
#[derive(Args, Clone, Debug, Default)]
pub struct RepeatOptions {
    /// Carry all runs out so many times, and say the median and the spread of each figure.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,

    /// Before each run, wait until this command line succeeds (ends with code 0); it is tried again
    /// each second.
    #[arg(long, value_name = "COMMAND")]
    pub wait_until: Option<String>,

    /// How long --wait-until waits before each run; then the execution fails.
    #[arg(long, value_name = "TIME", requires = "wait_until", value_parser = some_span)]
    pub wait_limit: Option<Duration>,
}

/// How long a command is waited for when nothing is said.
const WAIT_LIMIT: Duration = Duration::from_secs(600);

impl RepeatOptions {
    /// Puts them into a plan.
    ///
    /// # Errors
    /// When the job says how often it is carried out, and says something else.
    pub fn apply(&self, plan: &mut Plan) -> Result<(), String> {
        let steering = &mut plan.steering;
        if let Some(times) = self.repeat {
            let repeat = match times {
                1 => Repeat::Once,
                times => Repeat::Times(times),
            };
            if steering.repeat != Repeat::Once && steering.repeat != repeat {
                return Err(format!(
                    "the job repeats its runs by itself (`loop`); `--repeat {times}` says something else"
                ));
            }
            steering.repeat = repeat;
        }
        if let Some(command) = &self.wait_until {
            steering.readiness = Some(Readiness {
                command: command.clone(),
                at_most: nanos(self.wait_limit.unwrap_or(WAIT_LIMIT)),
            });
        }
        Ok(())
    }
}

/// Of the command line, whose times end long before they overflow.
pub fn nanos(span: Duration) -> Nanos {
    Nanos(span.as_nanos() as u64)
}

/// Times in place of those that the job gives to its runs.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeOptions {
    /// Length of each measurement, in place of that of the job: `elapsed` of Vdbench, `runtime` with
    /// `time_based` of fio. These three are whole seconds: a number with s, m, h or d, or without.
    #[arg(short, long, value_name = "TIME", value_parser = some_seconds)]
    pub elapsed: Option<u64>,

    /// Length of an interval.
    #[arg(short, long, value_name = "TIME", value_parser = some_seconds)]
    pub interval: Option<u64>,

    /// Before each measurement, and not measured: `warmup` of Vdbench, `ramp_time` of fio.
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    pub warmup: Option<u64>,
}

impl TimeOptions {
    /// For the reader of a job.
    pub fn command_line(self, lints: LintSelection) -> CommandLine {
        CommandLine {
            elapsed_s: self.elapsed,
            interval_s: self.interval,
            warmup_s: self.warmup,
            lints,
            ..CommandLine::default()
        }
    }
}

/// What becomes of warnings about a job that probably does not do what was meant.
#[derive(Args, Clone, Debug, Default)]
pub struct LintOptions {
    /// What becomes of a lint, by its name or code: `off`, `on` (warn) or `error` (refuse); `all`
    /// stands for every other. Repeatable. `fathom explain NAME` tells what one finds.
    #[arg(long = "lint", value_name = "NAME=LEVEL")]
    pub words: Vec<String>,
}

/// Whether a number that cannot be believed is a failure.
#[derive(Args, Clone, Debug, Default)]
pub struct StrictOptions {
    /// End with code 5 where the verdict leads with a word that makes figures doubtful. Words that are named pass; `fathom
    /// explain WORD` explains one.
    #[arg(long, value_name = "WORD,…", num_args = 0..=1, require_equals = true, value_delimiter = ',', value_parser = word)]
    pub strict: Option<Vec<Word>>,
}

impl StrictOptions {
    /// The code that takes the place of one where all is fine otherwise.
    pub fn exit(&self, exit: Exit, conclusion: &Conclusion) -> Exit {
        let word = conclusion.verdict().map(|verdict| verdict.word);
        let is_doubtful = |passed: &Vec<Word>| {
            word.is_some_and(|word| word.is_doubt() && !passed.contains(&word))
        };
        match self.strict.as_ref().is_some_and(is_doubtful) {
            true if exit == Exit::Fine => Exit::Doubtful,
            _ => exit,
        }
    }
}

fn word(name: &str) -> Result<Word, String> {
    let mut words = Word::ALL.into_iter();
    words.find(|word| word.name() == name).ok_or_else(|| {
        let names = Word::ALL.into_iter().filter(|word| word.is_doubt());
        let names: Vec<&str> = names.map(Word::name).collect();
        format!("there are: {}", names.join(", "))
    })
}

#[derive(Args, Debug)]
pub struct RunOptions {
    /// Job files, read as one; `-` is standard input. `name=value` sets a variable of the file.
    /// With --resume they can be left out.
    #[arg(required_unless_present = "resume", value_name = "FILE|NAME=VALUE")]
    pub inputs: Vec<String>,

    #[command(flatten)]
    pub times: TimeOptions,

    #[command(flatten)]
    pub repetition: RepeatOptions,

    #[command(flatten)]
    pub strict: StrictOptions,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct CurveOptions {
    /// A device or a file. A missing file is made only with --size.
    pub target: PathBuf,

    /// Size of a file to make, or the part of the target to use.
    #[arg(long, value_name = "BYTES")]
    pub size: Option<String>,

    /// Transfer size.
    #[arg(long, value_name = "BYTES", default_value = "4k")]
    pub bs: String,

    /// Share of reads in percent. Below 100 the target is written to, and the overwrite guard looks
    /// at it first.
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    pub read: f64,

    /// Operations in flight at most; a list such as 1,2,4,8 makes a sweep of flat-out runs instead
    /// of a curve.
    #[arg(long, value_name = "N[,N…]", default_value = "32")]
    pub threads: String,

    /// Points of the curve, in percent of the maximum.
    #[arg(long, value_name = "PERCENT,…", default_value = "10,30,50,70,80,90")]
    pub points: String,

    /// Length of each measurement.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = some_span)]
    pub elapsed: Duration,

    /// Before each measurement.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = span)]
    pub warmup: Duration,

    /// Through the page cache. The default is past it, where the file system can.
    #[arg(long, help_heading = FURTHER)]
    pub buffered: bool,

    #[command(flatten)]
    pub strict: StrictOptions,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct PrefillOptions {
    /// Job files, whose targets are all filled with the data that the job writes (`name=value` sets a
    /// variable of the file); or one device, or one file with its --size. An interrupted fill goes on
    /// when the same command is given again.
    #[arg(required = true, value_name = "FILE|NAME=VALUE|TARGET")]
    pub inputs: Vec<String>,

    /// Size of a file to make or to write, or the part of a device.
    #[arg(long, value_name = "BYTES")]
    pub size: Option<String>,

    /// Transfer size.
    #[arg(long, value_name = "BYTES", default_value = "1m")]
    pub bs: String,

    /// Writes in flight for each target; by default 8, or fewer where there are many targets.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub threads: Option<u32>,

    /// Flush each target behind so many bytes of it and record them as done; by default a 64th, and
    /// 1 GiB at least.
    #[arg(long, value_name = "BYTES")]
    pub sync_every: Option<String>,

    /// Through the page cache, for one target. Jobs say so themselves, and refuse this.
    #[arg(long)]
    pub buffered: bool,

    /// Begin anew, whatever an earlier fill has left.
    #[arg(long)]
    pub restart: bool,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct CheckOptions {
    /// Job files, read as one; `-` is standard input. `name=value` sets a variable of the file.
    #[arg(required = true, value_name = "FILE|NAME=VALUE")]
    pub inputs: Vec<String>,

    /// As JSON, for programs; the schema is in docs/reference/check-json.md.
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub times: TimeOptions,

    /// Write the words for targets that would be refused to this file, for --overwrite @FILE.
    #[arg(long, value_name = "FILE")]
    pub write_overwrite: Option<PathBuf>,

    /// The folder that a run would write its results to.
    #[arg(short, long, value_name = "FOLDER", default_value = DEFAULT_OUTPUT)]
    pub output: PathBuf,

    #[command(flatten)]
    pub lints: LintOptions,
}

#[derive(Args, Debug)]
pub struct ReportOptions {
    /// A result file, or the folder that holds one.
    pub result: PathBuf,

    /// Folder for the reports; by default beside the result.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// Also write the Vdbench output files there.
    #[arg(long)]
    pub vdbench: bool,

    /// Print what fio prints instead of the table: normal, terse, json or json+, or several of them.
    #[arg(long, value_name = "FORMAT[,FORMAT…]")]
    pub fio: Option<String>,

    #[command(flatten)]
    pub strict: StrictOptions,
}

#[derive(Args, Debug)]
pub struct ImportOptions {
    /// JSON of fio; text around the document is skipped, of several documents the last one counts.
    pub file: PathBuf,

    /// Folder for the result, the report and the table.
    #[arg(short, long, value_name = "FOLDER", default_value = DEFAULT_OUTPUT)]
    pub output: PathBuf,
}

#[derive(Args, Debug)]
pub struct ExplainOptions {
    /// Job files, read as one; `name=value` sets a variable of the file. Or one code of a
    /// diagnostic, such as vdb-0013, or the name of a lint.
    #[arg(required = true, value_name = "FILE|NAME=VALUE|CODE")]
    pub inputs: Vec<String>,
}

#[derive(Args, Debug)]
pub struct ManualOptions {
    pub what: ManualPart,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ManualPart {
    /// The manual page, in roff.
    Man,
    /// The reference of Vdbench parameters, in Markdown.
    Vdbench,
    /// The reference of fio options, in Markdown.
    Fio,
    /// The reference of this command line, in Markdown.
    Commands,
    Bash,
    Zsh,
    Fish,
}
