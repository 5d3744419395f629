//! What surrounds the runs of a job: commands, repetition, the monitor file, and what failed I/Os
//! lead to.
use super::codes;
use super::fields::Fields;
use super::model::RunDefinition;
use super::sink::Sink;
use super::token::Word;
use super::value::{Unit, number};
use crate::Environment;
use plan::{
    Around, Command, CommandOutput, ErrorBudget, FailureRule, HangRule, Nanos, Repeat, RunId,
    ShareRule, Steering,
};

/// With `remove_device` a job goes on for this many failed I/Os.
const REMOVING_BUDGET: u64 = 10_000;

/// What the general parameters and the command line ask for.
pub(crate) fn general(fields: &Fields, environment: &Environment<'_>, sink: &mut Sink) -> Steering {
    let (_, failures) = failures(fields, sink);
    Steering {
        before: commands(fields, "startcmd", sink),
        after: commands(fields, "endcmd", sink),
        around: Vec::new(),
        repeat: repetition(fields, environment, sink),
        stop_file: fields.text("monitor").map(|word| word.text.clone().into()),
        failures,
        readiness: None,
        shares: shares(fields),
        hang: hang(fields, sink),
        remove_made: Vec::new(),
    }
}

/// Workloads whose shares are missed end the job.
fn shares(fields: &Fields) -> Option<ShareRule> {
    let distance_pct_max = fields.number("abort_failed_skew")?;
    let label = "wd".to_owned();
    Some(ShareRule {
        distance_pct_max,
        label,
    })
}

/// Seconds, and what is called then.
fn hang(fields: &Fields, sink: &mut Sink) -> Option<HangRule> {
    let field = fields.get("timeout")?;
    let word = &field.words[0];
    let seconds = number(&word.text, Unit::Plain).filter(|seconds| *seconds >= 1.0);
    if seconds.is_none() || field.words.len() > 2 {
        sink.error(
            codes::NOT_A_NUMBER,
            field.span,
            "`timeout` is a number of seconds, at least 1, and a command",
            "not understood",
            "write `timeout=(60,\"command\")`",
        );
    }
    Some(HangRule {
        after: Nanos::from_secs_f64(seconds?),
        command: field.words.get(1).map(|word| word.text.clone()),
    })
}

/// The commands of a run definition; `None` when it has none.
pub(crate) fn around(definition: &RunDefinition, runs: Vec<RunId>) -> Option<Around> {
    // A list that holds no command was reported when the definition was read.
    let quiet = &mut Sink::new(&Default::default());
    let around = Around {
        runs,
        before: commands(&definition.fields, "startcmd", quiet),
        after: commands(&definition.fields, "endcmd", quiet),
    };
    (!around.before.is_empty() || !around.after.is_empty()).then_some(around)
}

/// Reports lists of a run definition that hold no command.
pub(crate) fn check(fields: &Fields, sink: &mut Sink) {
    commands(fields, "startcmd", sink);
    commands(fields, "endcmd", sink);
}

/// The commands of a list; some words of it say where their output goes and who runs them.
fn commands(fields: &Fields, name: &str, sink: &mut Sink) -> Vec<Command> {
    let Some(field) = fields.get(name) else {
        return Vec::new();
    };
    let mut output = CommandOutput::Log;
    let mut texts = Vec::new();
    for word in &field.words {
        match word.text.as_str() {
            "cons" => output = CommandOutput::Console,
            "sum" => output = CommandOutput::Summary,
            "log" => output = CommandOutput::Log,
            // Both are this process.
            "master" | "slave" => {}
            text => texts.push(text.to_owned()),
        }
    }
    if texts.is_empty() {
        sink.error(
            codes::MISSING,
            field.span,
            format!("`{name}` has no command"),
            "only words that say where output goes",
            format!("write `{name}=(\"command\",log)`"),
        );
    }
    let command = |text| Command {
        text,
        output,
        on_hosts: false,
    };
    texts.into_iter().map(command).collect()
}

/// How often all runs are carried out. The file wins over the command line.
fn repetition(fields: &Fields, environment: &Environment<'_>, sink: &mut Sink) -> Repeat {
    if let Some(word) = fields.text("loop") {
        return repeat(&word.text).unwrap_or_else(|| {
            sink.error(
                codes::NOT_A_NUMBER,
                word.span,
                format!("`loop={}` is no number of times and no time", word.text),
                "not understood",
                "write `loop=3`, or a time such as `loop=90m`, with `s`, `m` or `h`",
            );
            Repeat::Once
        });
    }
    // What the command line says was checked where it was read.
    let line = environment.command_line.repeat.as_deref();
    let line = line.or(Some(text!(GENERAL, "loop").default));
    line.and_then(repeat).unwrap_or(Repeat::Once)
}

/// `3` is a number of times, `90s`, `10m` and `8h` are times, nothing is without end.
pub fn repeat(text: &str) -> Option<Repeat> {
    if text.is_empty() {
        return Some(Repeat::Endless);
    }
    let (digits, seconds) = match text.char_indices().last()? {
        (at, 's' | 'S') => (&text[..at], 1),
        (at, 'm' | 'M') => (&text[..at], 60),
        (at, 'h' | 'H') => (&text[..at], 3600),
        _ => (text, 0),
    };
    let count: u32 = digits.parse().ok().filter(|count| *count > 0)?;
    Some(match (seconds, count) {
        (0, 1) => Repeat::Once,
        (0, times) => Repeat::Times(times),
        (seconds, count) => Repeat::For(Nanos::from_secs(u64::from(count) * seconds)),
    })
}

/// How many failed I/Os end the execution, and what else they do.
pub(crate) fn failures(fields: &Fields, sink: &mut Sink) -> (ErrorBudget, FailureRule) {
    let mut rule = FailureRule::default();
    let usual = ErrorBudget::Count(number!(GENERAL, "data_errors").default as u64);
    let Some(field) = fields.get("data_errors") else {
        return (usual, rule);
    };
    let word = &field.words[0];
    let is = |text: &str| word.text.eq_ignore_ascii_case(text);
    let most = if number(&word.text, Unit::Plain).is_some() {
        2
    } else {
        1
    };
    if field.words.len() > most {
        sink.error(
            codes::VALUE_COUNT,
            field.span,
            "`data_errors` has too many values",
            "a number, with seconds after it; or one word or command",
            "write `data_errors=(50,10)`, or put the command into quotes",
        );
    }
    let budget = if let Some(count) = number(&word.text, Unit::Plain) {
        rule.quiet = field.words.get(1).and_then(|word| seconds(word, sink));
        ErrorBudget::Count(at_least_one(count, word, sink))
    } else if is("stop") {
        ErrorBudget::Count(1)
    } else if is("remove_device") {
        rule.drops_target = true;
        ErrorBudget::Count(REMOVING_BUDGET)
    } else {
        rule.command = Some(word.text.clone());
        usual
    };
    (budget, rule)
}

fn at_least_one(count: f64, word: &Word, sink: &mut Sink) -> u64 {
    if count < 1.0 {
        sink.error(
            codes::OUT_OF_RANGE,
            word.span,
            "`data_errors` is at least 1",
            "out of range",
            "the run ends when this many I/Os have failed",
        );
    }
    count.max(1.0) as u64
}

fn seconds(word: &Word, sink: &mut Sink) -> Option<Nanos> {
    let seconds = number(&word.text, Unit::Plain).filter(|seconds| *seconds > 0.0);
    if seconds.is_none() {
        sink.error(
            codes::NOT_A_NUMBER,
            word.span,
            format!("`{}` is no number of seconds", word.text),
            "seconds after the last failed I/O",
            "write `data_errors=(50,10)`",
        );
    }
    seconds.map(Nanos::from_secs_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_counts_or_times() {
        for (text, expected) in [
            ("", Some(Repeat::Endless)),
            ("1", Some(Repeat::Once)),
            ("3", Some(Repeat::Times(3))),
            ("90s", Some(Repeat::For(Nanos::from_secs(90)))),
            ("2H", Some(Repeat::For(Nanos::from_secs(7200)))),
            ("0", None),
            ("m", None),
            ("3d", None),
            ("-1", None),
            ("99999999999", None),
        ] {
            assert_eq!(repeat(text), expected, "{text}");
        }
    }
}
