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

/// Whether a word in a list of commands says on which hosts they run.
pub(crate) fn says_where(word: &str) -> bool {
    matches!(word, "master" | "slave")
}

/// The commands of a list; some words of it say where their output goes and who runs them.
fn commands(fields: &Fields, name: &str, sink: &mut Sink) -> Vec<Command> {
    let Some(field) = fields.get(name) else {
        return Vec::new();
    };
    let mut output = CommandOutput::Log;
    let mut on_hosts = false;
    let mut texts = Vec::new();
    for word in &field.words {
        match word.text.as_str() {
            "cons" => output = CommandOutput::Console,
            "sum" => output = CommandOutput::Summary,
            "log" => output = CommandOutput::Log,
            "master" => on_hosts = false,
            "slave" => on_hosts = true,
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
        on_hosts,
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

    /// Where commands run by the plan of a text, and the places of what is said of them.
    fn where_they_run(lists: &str, hosts: &str) -> (Vec<(String, bool)>, Vec<String>) {
        let files = crate::MemoryFiles::default();
        let text = format!(
            "startcmd=(general,slave)\nendcmd=last\n{hosts}sd=sd1,lun=/dev/a,openflags=o_direct\n\
             wd=wd1,sd=sd1\nrd=default,endcmd=usual\nrd=r1,wd=wd1,iorate=9{lists}\nrd=r2,wd=wd1,iorate=9\n"
        );
        let input = crate::vdbench::InputFile::Text {
            name: "job".to_owned(),
            bytes: text.into_bytes(),
        };
        let reading = crate::vdbench::read(&[input], &Environment::bare(&files));
        let steering = &reading.plan.as_ref().expect("the job is right").steering;
        let around = steering.around.iter();
        let all = steering.before.iter().chain(&steering.after);
        let all = all.chain(around.flat_map(|one| one.before.iter().chain(&one.after)));
        let all = all.map(|one| (one.text.clone(), one.on_hosts)).collect();
        let told = reading.diagnostics.iter();
        let told = told.filter(|one| one.code == codes::TRANSLATED);
        (all, told.map(|one| one.message.clone()).collect())
    }

    #[test]
    fn commands_run_on_hosts_that_a_word_asks_for() {
        let expected = |both: [(&str, bool); 5]| both.map(|(text, on)| (text.to_owned(), on));
        let two = "hd=a,system=a\nhd=b,system=b\n";
        let (commands, told) = where_they_run(",startcmd=(\"one two\",slave,log)", two);
        let all = [
            ("general", true),
            ("last", false),
            ("one two", true),
            ("usual", false),
            ("usual", false),
        ];
        assert_eq!(commands, expected(all));
        let usual = "`endcmd` runs on this host only; the original runs it on each host";
        assert_eq!(told, [usual]);
        let (commands, told) = where_they_run(",startcmd=(x,master)", two);
        assert_eq!(commands[2], ("x".to_owned(), false));
        assert_eq!(told, [usual]);
        let (_, told) = where_they_run(",startcmd=x", two);
        assert_eq!(told.len(), 2, "{told:?}");
        let (_, told) = where_they_run(",startcmd=x", "");
        assert_eq!(told, [""; 0]);
    }

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
