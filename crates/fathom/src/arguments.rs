//! The command line of the neutral verbs.
use crate::at::{self, At};
use crate::exit::Exit;
use crate::host_list::{self, HostList, Launcher};
use crate::limits::{self, Limit};
use crate::spans::{seconds, some_seconds, some_span, span};
use crate::vary::{self, Hold, Vary};
use analysis::{Bar, Word};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use engine::BackendKind;
use lang::{CommandLine, LintSelection};
use plan::{Nanos, Plan, Readiness, Repeat};
use report::Conclusion;
use std::path::PathBuf;
use std::time::Duration;

/// What a command of a job may take when nothing is said.
pub const COMMAND_TIMEOUT: &str = "1h";

/// How long a host may be silent when nothing is said.
pub const HOST_TIMEOUT: &str = "60s";

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
  fathom curve disk --size 1g            create a file of 1 GiB and read from it
  fathom curve disk --size 1g --read 70  the same with 30 % writes
  fathom curve /dev/sdX --elapsed 30s    read from a device, 30 s for each point";

const FAILOVER_EXAMPLE: &str = "Example:
  fathom failover /dev/sdX --rate 2000 --for 5m --at '2m=pull cable: ssh array pull 7' --limit 'stall<30s'";

const SCALE_EXAMPLE: &str = "\
Examples:
  fathom scale job.parm --vary files=1..10 -o files            1 to 10 of the files of a job
  fathom scale job.parm --vary files=1..10 --hold slots -o held  the same, with as many slots in all cases
  fathom scale job.fio --vary threads=1,2,4,8 --repeat 3       intervals from three repeats";

const COMPARE_EXAMPLE: &str = "\
Examples:
  fathom compare old new                     two results, run by run
  fathom compare old new -o both             the same, with a table and JSON in a folder
  fathom compare old new --fail-if 'p99>+10%'  exit with 6 if the p99 has risen by more
  fathom compare --run a.parm b.parm -o both  run two jobs in turn, five times each, and compare them";

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
    /// Run a job file and write a report.
    Run(RunOptions),
    /// Measure a latency curve of a device or file, without a job file.
    #[command(after_help = CURVE_EXAMPLE)]
    Curve(CurveOptions),
    /// Measure how long a target stands still while its storage fails, and when it is normal again.
    #[command(after_help = FAILOVER_EXAMPLE)]
    Failover(FailoverOptions),
    /// Run a job with one quantity varied, and say what made it scale.
    #[command(after_help = SCALE_EXAMPLE)]
    Scale(ScaleOptions),
    /// Fill a target, or all targets of a job, and verify that the data arrived.
    Prefill(PrefillOptions),
    /// Report every problem in a job file and list what would run, without any I/O.
    Check(CheckOptions),
    /// Write all reports again from a result file.
    Report(ReportOptions),
    /// Compare results: what is better, what is worse, and whether that can be told.
    #[command(after_help = COMPARE_EXAMPLE)]
    Compare(CompareOptions),
    /// Mark a moment of a run that is going, such as 'pulled cable 7', in its tables and charts.
    Mark(MarkOptions),
    /// Convert JSON output of any fio version into a result file and reports.
    Import(ImportOptions),
    /// Show every value that a job uses and where it comes from, or explain an option, code or word.
    Explain(ExplainOptions),
    /// Accept the options of Vdbench, and write its output and files.
    #[command(disable_help_flag = true)]
    Vdbench {
        /// As `fathom help vdbench` lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Accept the options and job files of fio, and write its output.
    #[command(disable_help_flag = true)]
    Fio {
        /// As `fathom help fio` lists them.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Do a part of a job that another host leads; started by it, over `ssh`.
    #[command(hide = true)]
    Agent,
    /// Print a manual page, shell completions or a reference.
    Manual(ManualOptions),
}

/// What every verb that runs takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// Folder for the result, the report and the tables.
    #[arg(short, long, value_name = "FOLDER", default_value = DEFAULT_OUTPUT)]
    pub output: PathBuf,

    /// I/O interface: uring, aio, sync, null or sim. By default the targets decide.
    #[arg(long, help_heading = FURTHER)]
    pub backend: Option<String>,

    /// Number of worker threads. The default is one per 16 I/Os in flight, at most one per CPU, and
    /// no more than jobs of a fio file; the sync backend uses one per I/O in flight.
    #[arg(long, help_heading = FURTHER, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Option<u32>,

    /// Name this result in reports, such as transport=nvme-tcp. Repeatable.
    #[arg(long, help_heading = FURTHER, value_name = "KEY=VALUE")]
    pub label: Vec<String>,

    /// Allow Fathom to overwrite this target although it holds data. Name it by serial number, WWN or
    /// path; @FILE reads one name per line. Repeatable.
    #[arg(long, help_heading = FURTHER, value_name = "TARGET|@FILE")]
    pub overwrite: Vec<String>,

    /// Repeat the random addresses and arrival times of an earlier run. By default every run draws new ones, and prints
    /// and stores its seed.
    #[arg(long, help_heading = FURTHER, value_name = "N")]
    pub seed: Option<u64>,

    /// Run COMMAND so long after the I/O of the first measured run has begun, and mark that moment in tables and charts, by
    /// NAME if there is one, as in --at '30s=pull cable: ssh array pull 7'. Repeatable.
    #[arg(long, help_heading = FURTHER, value_name = "TIME=[NAME: ]COMMAND", value_parser = at::parse)]
    pub at: Vec<At>,

    /// Kill a command of the job, and fail the job, after this time.
    #[arg(long, help_heading = FURTHER, value_name = "TIME", default_value = COMMAND_TIMEOUT, value_parser = some_span)]
    pub command_timeout: Duration,

    #[command(flatten, next_help_heading = FURTHER)]
    pub fleet: HostOptions,

    /// What to do when a host is lost: end the run, or continue with the others, whose figures are marked from then on.
    #[arg(long, help_heading = FURTHER, value_name = "WHAT", value_enum, default_value_t)]
    pub on_loss: OnLoss,

    /// Resume an interrupted result at its first unfinished run, in its own folder. The job must be
    /// unchanged.
    #[arg(long, help_heading = FURTHER, value_name = "RESULT")]
    pub resume: Option<PathBuf>,

    #[command(flatten, next_help_heading = FURTHER)]
    pub lints: LintOptions,
}

impl Common {
    /// What is to be run at its time, and how long it may take.
    pub fn timed(&self) -> (&[At], Duration) {
        (&self.at, self.command_timeout)
    }

    /// Whether a backend is named that reaches no storage.
    pub fn reaches_no_storage(&self) -> bool {
        let named = self.backend.as_deref().map(str::parse::<BackendKind>);
        matches!(named, Some(Ok(BackendKind::Null | BackendKind::Sim)))
    }
}

/// The hosts of a job, and how they are reached.
#[derive(Args, Clone, Debug)]
pub struct HostOptions {
    /// Do the same work on each of these hosts, on targets of its own. Ranges are taken as in node[01-16]; @FILE reads names
    /// from its lines.
    #[arg(long, value_name = "HOST,...|@FILE", value_parser = host_list::hosts)]
    pub hosts: Option<HostList>,

    /// Reach hosts with COMMAND instead of `ssh`, such as 'srun -N1 -w {host}' or 'kubectl exec -i {host} --'. {host} stands
    /// for the name of the host; a shell is started with it, which has to take its input.
    #[arg(long, value_name = "COMMAND", value_parser = host_list::launcher)]
    pub launcher: Option<Launcher>,

    /// End a run with a host that has been silent for this time. Until then, the host goes on and keeps its intervals. While
    /// it joins, a host is waited for as long, and for 10 s at least.
    #[arg(long, value_name = "TIME", default_value = HOST_TIMEOUT, value_parser = some_span)]
    pub host_timeout: Duration,

    /// Leave no copy of this program on the hosts of a job, in `~/.cache/fathom` there.
    #[arg(long)]
    pub no_keep: bool,
}

/// What becomes of a run that loses a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnLoss {
    #[default]
    End,
    Continue,
}

impl OnLoss {
    /// For what is not read by clap.
    ///
    /// # Errors
    /// In words, where it is neither.
    pub fn of(word: &str) -> Result<Self, String> {
        Self::from_str(word, false)
            .map_err(|_| format!("`--on-loss {word}` is neither `end` nor `continue`"))
    }
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            hosts: None,
            launcher: None,
            host_timeout: some_span(HOST_TIMEOUT).expect("a time as a user would write it"),
            no_keep: false,
        }
    }
}

/// How often the runs of a job are carried out, and what each waits for.
#[derive(Args, Clone, Debug, Default)]
pub struct RepeatOptions {
    /// Repeat all runs N times and report the median and spread.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,

    /// Before each run, retry COMMAND every second until it exits with 0.
    #[arg(long, value_name = "COMMAND")]
    pub wait_until: Option<String>,

    /// Fail if COMMAND has not succeeded within this time [default: 10m].
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
    /// Measure each run for TIME, whatever the job says (`elapsed` in Vdbench, `runtime` with `time_based` in fio). Whole
    /// seconds, such as 90, 90s or 5m.
    #[arg(short, long, value_name = "TIME", value_parser = some_seconds)]
    pub elapsed: Option<u64>,

    /// Report figures for every TIME (whole seconds).
    #[arg(short, long, value_name = "TIME", value_parser = some_seconds)]
    pub interval: Option<u64>,

    /// Run for TIME before each measurement (`warmup` in Vdbench, `ramp_time` in fio; whole seconds).
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
    /// Set the level of a lint, by name or code: `off`, `on` (warn) or `error` (refuse). The name `all` sets all others.
    /// Repeatable. `fathom explain NAME` explains a lint.
    #[arg(long = "lint", value_name = "NAME=LEVEL")]
    pub words: Vec<String>,
}

/// Whether a number that cannot be believed is a failure.
#[derive(Args, Clone, Debug, Default)]
pub struct StrictOptions {
    /// Exit with 5 if the verdict says that the figures cannot be believed. The listed words pass. `fathom explain WORD`
    /// explains a word.
    #[arg(long, value_name = "WORD,…", num_args = 0..=1, require_equals = true, value_delimiter = ',', value_parser = word)]
    pub strict: Option<Vec<Word>>,
}

impl StrictOptions {
    /// The code that takes the place of one where all is fine otherwise.
    pub fn exit(&self, exit: Exit, conclusion: &Conclusion) -> Exit {
        let doubts = conclusion
            .verdict()
            .map_or_else(Vec::new, |verdict| verdict.doubts);
        let is_doubtful = |passed: &Vec<Word>| doubts.iter().any(|word| !passed.contains(word));
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
        lang::instead_of(name, names.map(Word::name))
    })
}

#[derive(Args, Debug)]
pub struct ScaleOptions {
    /// What to vary, and its values: the first files (`files=1..10`) or hosts (`hosts=1..4`) of the job, threads
    /// (`threads=1,2,4,8`), or how much of each target is worked on (`range=10%,50%,100%`).
    #[arg(long, value_name = "NAME=VALUES", value_parser = vary::parse)]
    pub vary: Vary,

    /// Keep the sum of slots, as many as with the largest value, or of the bytes that are worked on, as with the smallest.
    /// Repeatable.
    #[arg(long, value_delimiter = ',')]
    pub hold: Vec<Hold>,

    #[command(flatten)]
    pub run: RunOptions,
}

#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Job files, read as one; `-` reads standard input. `NAME=VALUE` sets a variable of the file.
    /// Not needed with --resume.
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

/// One target and what is done to it.
#[derive(Args, Clone, Debug)]
pub struct TargetOptions {
    /// Device or file. Fathom creates a missing file if --size is given.
    pub target: PathBuf,

    /// Size of the file to create, or how much of the target to use.
    #[arg(long, value_name = "BYTES")]
    pub size: Option<String>,

    /// Transfer size.
    #[arg(long, value_name = "BYTES", default_value = "4k")]
    pub bs: String,

    /// Percentage of reads. Below 100 Fathom writes to the target, and refuses one that holds data
    /// until you allow it with --overwrite.
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    pub read: f64,

    /// Use the page cache. The default is direct I/O if the file system supports it.
    #[arg(long, help_heading = FURTHER)]
    pub buffered: bool,
}

#[derive(Args, Debug)]
pub struct FailoverOptions {
    #[command(flatten)]
    pub on: TargetOptions,

    /// I/Os per second. It is held whatever the storage does: what cannot be sent waits, with its age.
    #[arg(long, value_name = "N")]
    pub rate: f64,

    /// How long to run. What comes after a failure is compared with 30 s and more before it, and has to be as before for 10 s.
    #[arg(long = "for", value_name = "TIME", default_value = "10m", value_parser = some_span)]
    pub length: Duration,

    /// How many times to do what --at does, --every TIME.
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: Option<u32>,

    /// From one cycle to the next.
    #[arg(long, value_name = "TIME", requires = "cycles", value_parser = some_span)]
    pub every: Option<Duration>,

    /// The longest stall to have slots for: twice the arrivals of such a time, 4096 at most.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_span)]
    pub stall: Duration,

    /// Exit with 6 where the run is beyond it: `stall<30s`, `errors=0`, `normal<60s`. Repeatable.
    #[arg(long, value_name = "LIMIT", value_parser = limits::parse)]
    pub limit: Vec<Limit>,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct CurveOptions {
    #[command(flatten)]
    pub on: TargetOptions,

    /// I/Os in flight at most. A list such as 1,2,4,8 measures the maximum rate at each instead of a
    /// curve.
    #[arg(long, value_name = "N[,N…]", default_value = "32")]
    pub threads: String,

    /// Rates to measure, in percent of the maximum.
    #[arg(long, value_name = "PERCENT,…", default_value = "10,30,50,70,80,90")]
    pub points: String,

    /// Measure each point for TIME.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = some_span)]
    pub elapsed: Duration,

    /// Run for TIME before each measurement.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = span)]
    pub warmup: Duration,

    #[command(flatten)]
    pub strict: StrictOptions,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct PrefillOptions {
    /// Job files, to fill all their targets with the data that the job writes (`NAME=VALUE` sets a
    /// variable of the file); or one device; or one file, with --size. Repeat the command to resume an
    /// interrupted fill.
    #[arg(required = true, value_name = "FILE|NAME=VALUE|TARGET")]
    pub inputs: Vec<String>,

    /// Size of the file to create or fill, or how much of the device to fill.
    #[arg(long, value_name = "BYTES")]
    pub size: Option<String>,

    /// Transfer size.
    #[arg(long, value_name = "BYTES", default_value = "1m")]
    pub bs: String,

    /// Writes in flight per target. The default is 8, or fewer if there are many targets.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub threads: Option<u32>,

    /// Flush each target, and record the progress, every BYTES. The default is 1/64 of the target, at
    /// least 1 GiB.
    #[arg(long, value_name = "BYTES")]
    pub sync_every: Option<String>,

    /// Use the page cache. Only for a single target; a job file says so itself.
    #[arg(long)]
    pub buffered: bool,

    /// Start again from the beginning, even if an earlier fill was interrupted.
    #[arg(long)]
    pub restart: bool,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct CheckOptions {
    /// Job files, read as one; `-` reads standard input. `NAME=VALUE` sets a variable of the file.
    #[arg(required = true, value_name = "FILE|NAME=VALUE")]
    pub inputs: Vec<String>,

    /// Print JSON (schema: docs/reference/check-json.md).
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub times: TimeOptions,

    /// Reach the hosts of the job, too, and tell what stands against it on any of them.
    #[arg(long)]
    pub connect: bool,

    #[command(flatten)]
    pub fleet: HostOptions,

    /// Write the names of targets that hold data to FILE, for --overwrite @FILE.
    #[arg(long, value_name = "FILE")]
    pub write_overwrite: Option<PathBuf>,

    /// Folder where `fathom run` would write its results.
    #[arg(short, long, value_name = "FOLDER", default_value = DEFAULT_OUTPUT)]
    pub output: PathBuf,

    #[command(flatten)]
    pub lints: LintOptions,
}

#[derive(Args, Debug)]
pub struct ReportOptions {
    /// Result file, or the folder that holds it.
    pub result: PathBuf,

    /// Folder for the reports. The default is the folder of the result.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// Write the Vdbench output files, too.
    #[arg(long)]
    pub vdbench: bool,

    /// Print fio output instead of the table: normal, terse, json, json+, or several of them.
    #[arg(long, value_name = "FORMAT[,FORMAT…]")]
    pub fio: Option<String>,

    #[command(flatten)]
    pub strict: StrictOptions,
}

#[derive(Args, Debug)]
pub struct MarkOptions {
    /// What happens now, in one line.
    #[arg(required = true, value_name = "TEXT")]
    pub text: Vec<String>,

    /// Output folder of the run.
    #[arg(short, long, value_name = "FOLDER", default_value = DEFAULT_OUTPUT)]
    pub output: PathBuf,
}

#[derive(Args, Debug)]
pub struct CompareOptions {
    /// Results: their folders or files, or JSON output of fio. The first is the base of the others. The results in the
    /// folders of one are repeats; RESULTS@NAME=VALUE takes those with that label.
    #[arg(required_unless_present = "run", num_args = 2.., value_names = ["BASE", "OTHER"])]
    pub results: Vec<PathBuf>,

    /// Run these job files in turn, each --repeat times, and compare them. NAME=VALUE sets a variable of the file before it.
    /// Options of `run` may follow after `--`.
    #[arg(long, value_name = "FILE|NAME=VALUE", num_args = 1.., conflicts_with = "results", requires = "output")]
    pub run: Vec<String>,

    /// With --run: name the side of the job before it, such as --run FILE x=1 --label transport=tcp. Repeatable. After `--`, a
    /// label names the results of all sides.
    #[arg(long, value_name = "KEY=VALUE", requires = "run")]
    pub label: Vec<String>,

    /// With --run: how many blocks are run, each of which has all jobs once, in random order [default: 5].
    #[arg(long, value_name = "N", requires = "run", value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,

    /// With --run: resume the interrupted comparison in the folder of -o. Complete runs are kept; the jobs must be unchanged.
    #[arg(long, requires = "run")]
    pub resume: bool,

    /// Options for each run.
    #[arg(last = true, requires = "run", value_name = "OPTION")]
    pub further: Vec<String>,

    /// Write comparison.html, comparison.csv and comparison.json to this folder; with --run the results, too.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,

    /// Exit with 6 if a figure has changed by more, such as 'p99>+10%' or 'rate<-5%'. Figures: rate, knee, saturation,
    /// throughput, p50, p90, p99, p99.9, mean, cpu, and service-p50 and so on. Repeatable.
    #[arg(long, value_name = "BAR", value_parser = bar)]
    pub fail_if: Vec<(String, Bar)>,

    /// Exit with 7 if it cannot be told whether a figure has changed by more.
    #[arg(long, requires = "fail_if")]
    pub fail_if_unsure: bool,

    /// Call two values the same within this many percent. The default is 5 for rates and CPU time, 10 for latencies, and 20
    /// from p99 on.
    #[arg(long, value_name = "PERCENT", value_parser = margin)]
    pub margin: Option<f64>,

    /// Compare runs of one name whatever their load is.
    #[arg(long)]
    pub force: bool,
}

/// A word of `--run` or `--label`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideWord {
    /// A job file, or the value of one of its variables.
    Job(String),
    Label(String),
}

impl SideWord {
    /// Those of a command line of `compare`, in their order, which says what belongs to which job.
    pub fn all_of(arguments: &[String]) -> Vec<Self> {
        let matches = Arguments::command().try_get_matches_from(arguments).ok();
        let matches = matches.as_ref().and_then(|all| all.subcommand());
        let Some((_, compare)) = matches else {
            return Vec::new();
        };
        let mut all: Vec<(usize, Self)> = Vec::new();
        for (name, word) in [
            ("run", Self::Job as fn(String) -> Self),
            ("label", Self::Label),
        ] {
            let indices = compare.indices_of(name).into_iter().flatten();
            let words = compare.get_many::<String>(name).into_iter().flatten();
            all.extend(indices.zip(words.cloned().map(word)));
        }
        all.sort_by_key(|(index, _)| *index);
        all.into_iter().map(|(_, word)| word).collect()
    }
}

fn bar(text: &str) -> Result<(String, Bar), String> {
    Ok((text.to_owned(), Bar::parse(text)?))
}

/// As a share.
fn margin(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').trim().parse().ok();
    let share = number.map(|percent| percent / 100.0);
    let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "give a number of percent above 0, at most 100".to_owned())
}

#[derive(Args, Debug)]
pub struct ImportOptions {
    /// JSON output of fio. Fathom skips other text and reads the last document.
    pub file: PathBuf,

    /// Folder for the result, the report and the table.
    #[arg(short, long, value_name = "FOLDER", default_value = DEFAULT_OUTPUT)]
    pub output: PathBuf,
}

#[derive(Args, Debug)]
pub struct ExplainOptions {
    /// Job files, read as one; `NAME=VALUE` sets a variable of the file. Or a word: an option of Fathom, Vdbench or fio
    /// such as --repeat or bssplit, a value such as randread, a diagnostic code such as vdb-0013, the name of a lint, a word
    /// of a verdict, or a term such as knee.
    #[arg(
        required = true,
        value_name = "FILE|NAME=VALUE|WORD",
        allow_hyphen_values = true
    )]
    pub inputs: Vec<String>,
}

#[derive(Args, Debug)]
pub struct ManualOptions {
    pub what: ManualPart,

    /// With `man`: print the page of this verb.
    #[arg(value_name = "VERB")]
    pub verb: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ManualPart {
    /// The manual page, in roff, with the options of every verb; with VERB, its own page.
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
