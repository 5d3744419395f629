//! Called as `vdbench`: that tool's options, console and output files.
mod parse_flat;

use crate::arguments::{Common, DEFAULT_OUTPUT, OnLoss, command_timeout};
use crate::exit::Exit;
use crate::face::Vdbench;
use crate::host_list;
use crate::launch::{Findings, Launch, launch};
use crate::resume::Earlier;
use crate::seed::Seeds;
use crate::{files, foreign_text, lints, mistakes, render, spans};
use lang::vdbench::{InputFile, Preparations, Reading};
use lang::{CommandLine, FormatOverride, LintSelection, Variable};
use plan::{Plan, SourceMap};
use report::vdbench::{FaceOptions, Megabyte, Release, RespColumns};
use std::path::{Path, PathBuf};

pub const USAGE: &str = "\
usage: vdbench -f FILE… [-o FOLDER] [options] [name=value…] [+run-overrides]

  -f FILE…        parameter files, read as one; - is standard input
  -o FOLDER       output folder (default `output`); FOLDER+ takes the first free number,
                  .tod in the name becomes date and time
  -e TIME -i TIME -w TIME  elapsed, interval and warm-up of every run: whole seconds, or such as 5m
  -m N            processes per host, as which reports show the one that does the work
  -mb             megabytes of 1000² bytes
  -s              list the runs and do nothing
  -t -t1 -t2 -td  a short test on a file in the temporary folder; -td writes it anew first
  -l [N[s|m|h]]   repeat all runs: N times, until so much time has passed, or without end
  -r NAME         begin with the run definition whose name starts so
  parseflat -i FLATFILE -c COLUMN… [-o FILE] [-a] [-f COLUMN VALUE …] [-q]
                  (as first word) chosen columns of a flat file as CSV; -a only averages, -f only
                  rows with that value
  name=value      a variable of the file: $name, !name
  +KEY=VALUE,…    added to every run definition
  -d 68           as -s; -d 1 is refused, and other numbers are noted: there are no such switches
  -p N -c -k      (noted: no port is opened, there are no trees of files, no counters of Solaris)
  -cy -cn -co     (noted: for trees of files)
  -v -j -tf       not built yet, and refused

of Fathom:
  --overwrite TARGET|@FILE   a target that may be overwritten although it holds something
  --backend NAME --workers N --label KEY=VALUE --seed N
  --command-timeout TIME  how long a command of the job may take (default 1h)
  --host-timeout TIME     how long a host may be silent (default 60s)
  --launcher COMMAND      reach hosts with COMMAND instead of `ssh`; {host} in it stands for the name of the host
  --on-loss end|continue  what a run does that loses a host (default end)
  --no-keep               leave no copy of this program on the hosts of a job
  --resume RESULT            go on with an interrupted result at its first run not finished;
                             -f can be left out
  --lint NAME=off|on|error   what becomes of a warning (docs/reference/lints.md)
  --layout 5.04.07             the columns of that release (default 5.04.06)
  --resp arrival             the resp columns show time from the intended arrival

Every parameter of a file: `fathom manual vdbench`. Problems of a file: `fathom check FILE`.
Exit codes: 0 fine, 1 run failed, 2 refused as written, 3 target protected, 4 stopped by the user.";

/// The built-in job of `-t`: small, mixed, paced.
const SELF_TEST: &str = "$generalsd=sd1,lun=$lun,size=40m$flags
wd=wd1,sd=sd1,xfersize=1k,rdpct=$rdpct
rd=rd1,wd=wd1,iorate=$iorate,elapsed=5,interval=1
";

/// The command line, read.
#[derive(Debug, Default)]
struct Options {
    files: Vec<String>,
    folder: Option<String>,
    simulate: bool,
    decimal_megabytes: bool,
    self_test: Option<String>,
    command_line: CommandLine,
    common: Common,
    arrival_columns: bool,
    release: Release,
}

/// Prints what the options are.
pub fn help() -> Exit {
    out!("{USAGE}\n");
    Exit::Fine
}

pub fn main(all: &[String], words: &[String]) -> Exit {
    if words.is_empty() {
        err!("{USAGE}\n");
        errln!("error: no parameter file is named; give it with `-f FILE`");
        return Exit::Usage;
    }
    if words
        .iter()
        .any(|word| matches!(word.as_str(), "-h" | "-?" | "--help"))
    {
        return help();
    }
    if let Some(exit) = function(words) {
        return exit;
    }
    let options = match parse(words) {
        Ok(options) => options,
        Err(message) => {
            mistakes::tell_word(&message, "`fathom help vdbench` lists the options");
            return Exit::Usage;
        }
    };
    if options.files.is_empty()
        && options.self_test.is_none()
        && let Some(result) = options.common.resume.clone()
    {
        return go_on(all, options, &result);
    }
    let reading = match lints::selection(&options.common.lints.words)
        .and_then(|lints| read(&options, lints))
    {
        Ok(reading) => reading,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    if options.simulate {
        simulate(&reading)
    } else {
        carry_out(all, options, reading)
    }
}

/// What the original does in place of a run when its name comes first. Only the parser of flat files is
/// here, too.
fn function(words: &[String]) -> Option<Exit> {
    let (name, rest) = words.split_first()?;
    if name.starts_with("parse") {
        return Some(parse_flat::main(rest));
    }
    let instead = match name.as_str() {
        "compare" => "`fathom report` shows runs of several results side by side",
        "print" | "printjournal" => "data validation of Vdbench and its journals are not supported",
        "rsh" | "SlaveJvm" => "Fathom works on this machine alone and listens on no port",
        "jstack" | "jmap" => "Fathom has no Java process to look into",
        "sds" => "`fathom check FILE` lists the targets of a file; definitions are written by hand",
        "showlba" => "plot the text files that `showlba=yes` leaves in the output folder",
        "edit" => "use any editor, and `fathom check FILE` to see what a file does",
        "csim" | "dsim" => "Fathom does not analyse how well existing data compress or repeat",
        "dvpost" => "Vdbench has removed it as well",
        _ => return None,
    };
    errln!("error: `vdbench {name}` is not supported: {instead}");
    Some(Exit::Usage)
}

fn parse(words: &[String]) -> Result<Options, String> {
    let mut options = Options {
        common: Common {
            command_timeout: command_timeout(),
            ..Common::default()
        },
        ..Options::default()
    };
    let mut rest = words.iter().map(String::as_str).peekable();
    let mut names_files = false;
    while let Some(word) = rest.next() {
        if let Some(overrides) = word.strip_prefix('+') {
            let text = if overrides.is_empty() {
                rest.next().unwrap_or("")
            } else {
                overrides
            };
            let so_far = options.command_line.run_overrides.take();
            options.command_line.run_overrides =
                Some(so_far.map_or(text.to_owned(), |old| format!("{old},{text}")));
        } else if word.starts_with('-') && word.len() > 1 {
            names_files = word.starts_with("-f");
            option(word, &mut rest, &mut options)?;
        } else if let Some((name, value)) =
            word.split_once('=').filter(|_| !Path::new(word).exists())
        {
            options.command_line.variables.push(Variable {
                name: name.to_owned(),
                value: value.to_owned(),
            });
        } else if names_files {
            options.files.push(word.to_owned());
        } else {
            return Err(format!("`{word}` belongs to no option"));
        }
    }
    let has_job = options.self_test.is_some() || options.common.resume.is_some();
    if options.files.is_empty() && !has_job {
        return Err("no parameter file is named; use `-f FILE`".to_owned());
    }
    Ok(options)
}

fn option<'a>(
    word: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    options: &mut Options,
) -> Result<(), String> {
    if let Some(long) = word.strip_prefix("--") {
        return long_option(long, rest, options);
    }
    match word {
        "-s" => options.simulate = true,
        "-mb" => options.decimal_megabytes = true,
        "-t" | "-t1" | "-t2" | "-td" => options.self_test = Some(word.to_owned()),
        "-cy" | "-cn" | "-co" => {
            options.command_line.format = Some(match word {
                "-cy" => FormatOverride::Yes,
                "-cn" => FormatOverride::No,
                _ => FormatOverride::Only,
            });
        }
        _ if word.starts_with("-v") => options.command_line.validate = true,
        _ if word.starts_with("-j") => options.command_line.journal = true,
        _ if word.starts_with("-l") => {
            let is_count = |next: &&str| lang::vdbench::repeat(next).is_some() && !next.is_empty();
            let text = match &word[2..] {
                "" => rest.next_if(is_count).unwrap_or(""),
                attached => attached,
            };
            if lang::vdbench::repeat(text).is_none() {
                return Err(format!(
                    "`{word}`: repeat by a number of times or a time, such as `-l 3` or `-l 90m`"
                ));
            }
            options.command_line.repeat = Some(text.to_owned());
        }
        "-c" => errln!("note: `-c` deletes trees of files, and has no meaning for storage"),
        "-k" => errln!("note: `-k` shows counters that only Solaris has, and changes nothing here"),
        "-tf" => {
            return Err(
                "`-tf` tests a file system, and such workloads are not built yet".to_owned(),
            );
        }
        _ => return value_option(word, rest, options),
    }
    Ok(())
}

/// Options with a value, attached or behind.
fn value_option<'a>(
    word: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    options: &mut Options,
) -> Result<(), String> {
    if !word.is_char_boundary(2) {
        return Err(format!("`{word}` is not an option"));
    }
    let (name, attached) = word.split_at(2);
    if !matches!(
        name,
        "-f" | "-o" | "-e" | "-i" | "-w" | "-m" | "-r" | "-p" | "-d"
    ) {
        return Err(format!("`{word}` is not an option"));
    }
    let value = match attached {
        "" => rest
            .next()
            .ok_or_else(|| format!("`{word}` needs a value"))?,
        attached => attached,
    };
    let seconds = || spans::seconds(value).map_err(|reason| format!("`{name} {value}`: {reason}"));
    match name {
        "-f" => options.files.push(value.to_owned()),
        "-o" => options.folder = Some(value.to_owned()),
        "-e" => options.command_line.elapsed_s = Some(seconds()?),
        "-i" => options.command_line.interval_s = Some(seconds()?),
        "-w" => options.command_line.warmup_s = Some(seconds()?),
        "-m" => options.command_line.processes = Some(count(name, value)?),
        "-r" => options.command_line.first_run = Some(value.to_owned()),
        "-d" => debug(value, options)?,
        _ => errln!("note: `{name} {value}` has no meaning here and changes nothing"),
    }
    Ok(())
}

/// Switches of the original's own code. Those that a user may lean on do what they say, or are
/// refused; the others only change what the original's processes say and how they talk.
fn debug(text: &str, options: &mut Options) -> Result<(), String> {
    for number in text.split(',') {
        match number.trim() {
            "1" => {
                return Err(
                    "`-d 1`: there is no run that only pretends to write; use `-s`".to_owned(),
                );
            }
            "68" => options.simulate = true,
            number if number.parse::<u32>().is_ok() => {
                errln!(
                    "note: `-d {number}` is a switch of the original's own code and changes nothing"
                );
            }
            other => return Err(format!("`-d {other}` is not a number")),
        }
    }
    Ok(())
}

/// A number of things that are each a part of this process.
fn count(name: &str, text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("`{name} {text}` is not a whole number above zero"))
}

fn long_option<'a>(
    long: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    options: &mut Options,
) -> Result<(), String> {
    let (name, attached) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let mut value = || {
        attached
            .or_else(|| rest.next())
            .ok_or_else(|| format!("`--{name}` needs a value"))
    };
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("`--{name} {text}` is not a number"))
    };
    match name {
        "overwrite" => options.common.overwrite.push(value()?.to_owned()),
        "lint" => options.common.lints.words.push(value()?.to_owned()),
        "label" => options.common.label.push(value()?.to_owned()),
        "backend" => options.common.backend = Some(value()?.to_owned()),
        "workers" => options.common.workers = Some(count("--workers", value()?)?),
        "seed" => options.common.seed = Some(number(value()?)?),
        "command-timeout" => {
            let text = value()?;
            let time = spans::some_span(text);
            options.common.command_timeout =
                time.map_err(|reason| format!("`--{name} {text}`: {reason}"))?;
        }
        "host-timeout" => {
            let text = value()?;
            let time = spans::some_span(text);
            options.common.fleet.host_timeout =
                time.map_err(|reason| format!("`--{name} {text}`: {reason}"))?;
        }
        "no-keep" => options.common.fleet.no_keep = true,
        "on-loss" => options.common.on_loss = OnLoss::of(value()?)?,
        "launcher" => {
            let text = value()?;
            let launcher = host_list::launcher(text);
            options.common.fleet.launcher =
                Some(launcher.map_err(|reason| format!("`--{name} {text}`: {reason}"))?);
        }
        "resume" => options.common.resume = Some(value()?.into()),
        "layout" => {
            let name = value()?;
            options.release = Release::of(name).ok_or_else(|| {
                format!("`--layout` does not know `{name}`; use `5.04.06` or `5.04.07`")
            })?;
        }
        "resp" => match value()? {
            "arrival" => options.arrival_columns = true,
            "service" => {}
            other => {
                let help = lang::instead_of(other, ["service", "arrival"]);
                return Err(format!("`--resp` does not know `{other}`; {help}"));
            }
        },
        _ => return Err(format!("`--{name}` is not an option")),
    }
    Ok(())
}

fn read(options: &Options, lints: LintSelection) -> Result<Reading, String> {
    let command_line = CommandLine {
        lints,
        reaches_no_storage: options.common.reaches_no_storage(),
        ..options.command_line.clone()
    };
    let environment = files::environment(command_line, Seeds::of_execution(&options.common)?.draws);
    let inputs = match &options.self_test {
        Some(kind) => vec![self_test(kind)?],
        None => files::input_files(&options.files),
    };
    foreign_text::refuse(&inputs)?;
    Ok(lang::vdbench::read(&inputs, &environment))
}

fn self_test(kind: &str) -> Result<InputFile, String> {
    let path = std::env::temp_dir().join("fathom-self-test.data");
    let path = path
        .to_str()
        .ok_or("the name of the temporary folder is no text")?;
    let general = if kind == "-td" { "formatsds=yes\n" } else { "" };
    let (read_pct, rate, flags) = match kind {
        "-t1" => ("50", "100", ",openflags=(o_direct,o_sync)"),
        "-t2" => ("0", "max", ""),
        _ => ("50", "100", ""),
    };
    let text = SELF_TEST
        .replace("$general", general)
        .replace("$lun", path)
        .replace("$flags", flags)
        .replace("$rdpct", read_pct)
        .replace("$iorate", rate);
    Ok(InputFile::Text {
        name: format!("the built-in job of `{kind}`"),
        bytes: text.into_bytes(),
    })
}

fn simulate(reading: &Reading) -> Exit {
    render::print(&reading.diagnostics, &reading.sources);
    if reading.has_errors() {
        return Exit::Usage;
    }
    let stamp = || jiff::Zoned::now().strftime("%H:%M:%S.%3f").to_string();
    for line in lang::vdbench::simulate_lines(reading, Preparations::LeftOut) {
        outln!("{} {line}", stamp());
    }
    outln!("{} Vdbench simulation completed successfully", stamp());
    Exit::Fine
}

fn carry_out(all: &[String], options: Options, reading: Reading) -> Exit {
    render::print_briefly(&reading.diagnostics, &reading.sources);
    render::print(&reading.run_blockers, &reading.sources);
    let blocked = !reading.run_blockers.is_empty();
    let Some(plan) = reading.plan.filter(|_| !blocked) else {
        return Exit::Usage;
    };
    let given = options.folder.as_deref();
    let folder = match options.common.resume {
        Some(_) => Ok(PathBuf::from(given.unwrap_or(DEFAULT_OUTPUT))),
        None => folder(given.unwrap_or("output")),
    };
    let folder = match folder {
        Ok(folder) => folder,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    let findings = Findings {
        printed: reading.diagnostics,
        unprinted: &[],
        language: lang::Language::Vdbench,
    };
    start(all, options, folder, plan, reading.sources, findings)
}

/// Without a parameter file, the job is that of the result.
fn go_on(all: &[String], options: Options, result: &Path) -> Exit {
    if options.command_line != CommandLine::default() || options.simulate {
        errln!("error: options that change the job need its parameter file (-f)");
        return Exit::Usage;
    }
    let folder = PathBuf::from(options.folder.as_deref().unwrap_or(DEFAULT_OUTPUT));
    match Earlier::read(result) {
        Ok(earlier) => {
            let (plan, sources) = (earlier.bound.plan.clone(), earlier.sources());
            start(all, options, folder, plan, sources, Findings::default())
        }
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

fn start(
    all: &[String],
    options: Options,
    folder: PathBuf,
    plan: Plan,
    sources: SourceMap,
    findings: Findings,
) -> Exit {
    let face = FaceOptions {
        megabyte: if options.decimal_megabytes {
            Megabyte::Decimal
        } else {
            Megabyte::default()
        },
        columns: if options.arrival_columns {
            RespColumns::Arrival
        } else {
            RespColumns::Service
        },
        release: options.release,
    };
    launch(Launch {
        plan,
        sources,
        arguments: all.to_vec(),
        folder: Some(folder),
        common: options.common,
        face: Box::new(Vdbench(face)),
        findings,
    })
}

/// `name+` is the first of `name001` … `name998` that is free; `.tod` becomes the time of day.
fn folder(name: &str) -> Result<PathBuf, String> {
    if let Some(stem) = name.strip_suffix(".tod") {
        return Ok(PathBuf::from(format!(
            "{stem}.{}",
            jiff::Zoned::now().strftime("%y%m%d.%H%M%S")
        )));
    }
    let Some(stem) = name.strip_suffix('+') else {
        return Ok(PathBuf::from(name));
    };
    let numbered = |number: u32| PathBuf::from(format!("{stem}{number:03}"));
    let free = (1..=998).map(numbered).find(|path| !path.exists());
    free.ok_or_else(|| format!("`{stem}001` to `{stem}998` all exist"))
}
