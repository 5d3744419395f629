//! What the reader of the command line says: help, the version, or a mistake of the user. A mistake ends with one line that
//! says what is wrong and what to do, so that the last line is the reason. Read [`tell`] first.
use crate::arguments::Arguments;
use crate::exit::Exit;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

pub fn tell(mut error: clap::Error) -> Exit {
    offer_verb(&mut error);
    let text = error.render().to_string();
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_help || !error.use_stderr() {
        out!("{text}");
        return Exit::Fine;
    }
    let Mistake { usage, line } = Mistake::of(&text);
    if let Some(line) = misplaced(&error, usage.as_deref()) {
        errln!("error: {line}");
        return Exit::Usage;
    }
    if let Some(usage) = usage {
        errln!("usage: {usage}");
    }
    errln!("error: {line}");
    Exit::Usage
}

/// Verbs of other tools, and ours.
const OTHER_VERBS: &[(&[&str], &str)] = &[
    (&["man"], "`fathom manual man` prints the manual page"),
    (
        &["completion", "completions"],
        "`fathom manual bash`, `zsh` or `fish` prints the completions",
    ),
    (&["version"], "use `fathom --version`"),
    (&["validate", "lint", "parse"], "use `fathom check FILE`"),
    (&["diff"], "use `fathom compare`"),
    (&["sweep"], "use `fathom scale` or `fathom curve`"),
    (&["plot", "graph"], "use `fathom report RESULT`"),
    (
        &["fill", "format", "precondition"],
        "use `fathom prefill TARGET`",
    ),
];

/// Options of other verbs and tools for `run`, which the job file decides.
const OPTIONS_OF_JOBS: &[(&[&str], &str)] = &[
    (
        &["threads", "depth", "iodepth", "numjobs", "queue-depth"],
        "the job file sets `threads=` (Vdbench) or `iodepth=` and `numjobs=` (fio); \
         without a job file, use `fathom curve TARGET --threads N`",
    ),
    (
        &["bs", "blocksize", "block-size", "xfersize"],
        "the job file sets `xfersize=` (Vdbench) or `bs=` (fio); \
         without a job file, use `fathom curve TARGET --bs BYTES`",
    ),
    (
        &["rw", "readwrite", "read", "write", "rdpct", "rwmixread"],
        "the job file sets `rdpct=` (Vdbench) or `rw=` (fio); \
         without a job file, use `fathom curve TARGET --read PERCENT`",
    ),
    (
        &["size"],
        "the job file sets `size=`; without a job file, use `fathom curve TARGET --size BYTES`",
    ),
    (
        &["filename", "directory", "lun", "target"],
        "the job file names its targets; without a job file, use `fathom curve TARGET`",
    ),
    (
        &["iorate", "rate", "rate-iops", "iops"],
        "the job file sets `iorate=` (Vdbench) or `rate_iops=` (fio)",
    ),
    (&["runtime", "time", "duration"], "use `--elapsed TIME`"),
];

/// The same for `curve`.
const OPTIONS_OF_CURVES: &[(&[&str], &str)] = &[
    (
        &[
            "write",
            "rw",
            "readwrite",
            "rdpct",
            "rwmixread",
            "rwmixwrite",
        ],
        "use `--read PERCENT`: `--read 0` only writes, `--read 70` reads 70 % and writes 30 %",
    ),
    (
        &["depth", "iodepth", "queue-depth", "numjobs"],
        "use `--threads N`, the most I/Os in flight",
    ),
    (&["blocksize", "block-size", "xfersize"], "use `--bs BYTES`"),
    (&["runtime", "time", "duration"], "use `--elapsed TIME`"),
    (
        &["iorate", "rate", "rate-iops", "iops"],
        "use `--points PERCENT,…`, in percent of the maximum rate",
    ),
];

/// One line for a verb or option that newcomers look for in the wrong place; `None` for other mistakes.
fn misplaced(error: &clap::Error, usage: Option<&str>) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let find = |table: &'static [(&[&str], &'static str)], word: &str| {
        let mut rows = table.iter();
        rows.find(|(names, _)| names.contains(&word))
            .map(|(_, way_out)| *way_out)
    };
    if let Some(word) = text(ContextKind::InvalidSubcommand) {
        let way_out = find(OTHER_VERBS, word)?;
        return Some(format!("`{word}` is not a command of Fathom; {way_out}"));
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let word = text(ContextKind::InvalidArg)?;
    let verb = usage?.split_whitespace().nth(1)?;
    let table = match verb {
        "run" => OPTIONS_OF_JOBS,
        "curve" => OPTIONS_OF_CURVES,
        _ => return None,
    };
    let way_out = find(table, word.strip_prefix("--")?)?;
    Some(format!("`fathom {verb}` has no option `{word}`; {way_out}"))
}

/// clap offers no verb for one of two letters.
fn offer_verb(error: &mut clap::Error) {
    let verbs = Arguments::command();
    let verbs = verbs.get_subcommands().map(clap::Command::get_name);
    if error.get(ContextKind::SuggestedSubcommand).is_none()
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(near) = lang::nearest(word, verbs)
    {
        let near = ContextValue::Strings(vec![near.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
}

/// Of a face whose words clap does not read.
pub fn tell_word(message: &str, help: &str) {
    errln!("error: {}", joined(&[message.to_owned(), help.to_owned()]));
}

#[derive(Debug, PartialEq, Eq)]
struct Mistake {
    usage: Option<String>,
    line: String,
}

impl Mistake {
    /// Of the text that clap lays out in paragraphs: what is wrong, tips, how the verb is called, where help is.
    fn of(text: &str) -> Self {
        let mut usage = None;
        let mut parts = Vec::new();
        for paragraph in text.trim().split("\n\n") {
            let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
            if let Some(rest) = paragraph.strip_prefix("Usage: ") {
                let verb = rest.split_whitespace().take_while(|word| is_verb(word));
                let verb: Vec<&str> = verb.collect();
                parts.push(format!("see `{} --help`", verb.join(" ")));
                usage = Some(lines.join(" ").replacen("Usage: ", "", 1));
            } else if !paragraph.starts_with("For more information") {
                parts.extend(said(&lines));
            }
        }
        Self {
            usage,
            line: joined(&parts),
        }
    }
}

/// What is wrong with the details below it as one part, and each tip as another. How to pass an option as a file name
/// helps nobody who mistyped it.
fn said(lines: &[&str]) -> Vec<String> {
    let (tips, wrong): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| line.starts_with("tip: "));
    let wrong = wrong.join(" ");
    let wrong = wrong.strip_prefix("error: ").unwrap_or(&wrong);
    let tips = tips.into_iter().filter(|tip| !tip.contains("-- --"));
    let tips = tips.map(|tip| tip.replacen("tip: ", "", 1));
    let wrong = (!wrong.is_empty()).then(|| wrong.to_owned());
    wrong.into_iter().chain(tips).collect()
}

/// A part that asks the user something ends by itself.
fn joined(parts: &[String]) -> String {
    parts.join("; ").replace("`?; ", "`? ")
}

fn is_verb(word: &str) -> bool {
    !word.starts_with(['[', '<', '-'])
}

#[cfg(test)]
mod tests {
    use super::Mistake;

    #[test]
    fn a_mistake_is_one_line_below_the_usage() {
        let text = "error: unexpected argument '--sise' found\n\n  tip: a similar argument exists: '--size'\n\n\
            Usage: fathom curve --size <BYTES> <TARGET>\n\nFor more information, try '--help'.\n";
        let mistake = Mistake::of(text);
        assert_eq!(
            mistake.usage.as_deref(),
            Some("fathom curve --size <BYTES> <TARGET>")
        );
        assert_eq!(
            mistake.line,
            "unexpected argument '--sise' found; a similar argument exists: '--size'; see `fathom curve --help`"
        );
    }

    #[test]
    fn what_is_missing_stands_in_the_line() {
        let text = "error: the following required arguments were not provided:\n  <FILE>\n\n\
            Usage: fathom run <FILE>\n\nFor more information, try '--help'.\n";
        assert_eq!(
            Mistake::of(text).line,
            "the following required arguments were not provided: <FILE>; see `fathom run --help`"
        );
    }
}
