//! `fathom explain`: each value that is used and where it comes from, or what a word means.
use crate::arguments::{Common, ExplainOptions};
use crate::check::{StandIn, with_stand_ins};
use crate::exit::{Exit, fail};
use crate::seed::Seeds;
use crate::{codes, machine, plan_file, render};
use host::Storage;
use lang::fio::JobsOfPlan;
use lang::{CommandLine, Explained};
use plan::{Origin, SourceMap, TargetId};
use report::shown;
use std::path::Path;

pub fn main(options: &ExplainOptions) -> Exit {
    if let Some(exit) = explain_words(&options.inputs) {
        return exit;
    }
    let reading = match plan_file::read(
        &options.inputs,
        Seeds::fixed(&Common::default()),
        CommandLine::default(),
    ) {
        Ok(reading) => reading,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    render::print(&reading.diagnostics, &reading.sources);
    let Some(plan) = reading.plan else {
        return Exit::Usage;
    };
    let (facts, stand_ins) =
        with_stand_ins(&plan, conduct::machine::facts(&plan, &Storage::real()));
    let bound = match machine::bind_to(plan, &facts) {
        Ok(bound) => bound,
        Err(misfits) => {
            render::print(&misfits, &reading.sources);
            return Exit::Usage;
        }
    };
    let is_known = |id: TargetId| stand_ins[id.index()] != StandIn::Unsized;
    let lines = match &reading.jobs {
        None => lang::vdbench::explain(&bound, &is_known),
        Some(jobs) => lang::fio::explain(&JobsOfPlan {
            bound: &bound,
            jobs,
            is_known: &is_known,
        }),
    };
    print(&lines, &reading.sources);
    Exit::Fine
}

/// Explains words that are no files; `None` if they name files. Several words may be one term, as a shell passes it
/// without quotes.
fn explain_words(words: &[String]) -> Option<Exit> {
    let is_file = |word: &String| Path::new(word).exists();
    let whole = words.join(" ");
    // A file named `time` does not hide what `service time` means.
    let is_term = words.len() > 1 && !words.iter().all(is_file) && codes::meaning(&whole).is_some();
    if words.iter().any(is_file) && !is_term {
        return None;
    }
    let each = || words.iter().map(|word| codes::meaning(word)).collect();
    let meanings: Option<Vec<String>> = match codes::meaning(&whole) {
        Some(meaning) => Some(vec![meaning]),
        None => each(),
    };
    if let Some(meanings) = meanings {
        out!("{}\n", meanings.join("\n\n"));
        return Some(Exit::Fine);
    }
    let unknown = words.iter().find(|word| codes::meaning(word).is_none())?;
    let is_option = unknown.starts_with('-') && unknown.len() > 1;
    let is_path = unknown.contains(['/', '.', '=']) || ["-", "stdin"].contains(&unknown.as_str());
    if is_path && !is_option {
        return None;
    }
    let (unknown, near) = match codes::near(&whole) {
        Some(near) => (&whole, Some(near)),
        None => (unknown, codes::near(unknown)),
    };
    let what = match codes::is_code(unknown) {
        true => format!("no diagnostic has the code `{unknown}`"),
        false if is_option => format!("`{unknown}`: no verb has this option"),
        false => {
            format!(
                "`{unknown}`: no such file, and no option, value, code, verdict or term has this name"
            )
        }
    };
    let way_out = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if is_option => "`fathom VERB --help` lists the options of a verb".to_owned(),
        None => "`fathom manual vdbench` and `fathom manual fio` list all options".to_owned(),
    };
    Some(fail(Exit::Usage, &format!("{what}; {way_out}")))
}

fn print(lines: &[Explained], sources: &SourceMap) {
    let mut subject = "";
    for line in lines {
        let owner = if line.subject.is_empty() {
            "-"
        } else {
            &line.subject
        };
        if owner != subject {
            outln!("{}", shown::text(owner));
            subject = owner;
        }
        let note = line.note.as_ref().map(|note| format!(" ({note})"));
        outln!(
            "  {:<20} {:<24} {}{}",
            line.name,
            shown::text(&line.value),
            origin(&line.origin, sources),
            note.unwrap_or_default()
        );
    }
}

fn origin(origin: &Origin, sources: &SourceMap) -> String {
    match origin {
        Origin::Written(span) => {
            let at = sources.position(*span);
            format!(
                "{}:{}:{}",
                sources.file(span.source).name,
                at.line,
                at.column
            )
        }
        Origin::Argument(argument) => format!("argument `{argument}`"),
        Origin::Default(rule) if rule.is_empty() => "default".to_owned(),
        Origin::Default(rule) => format!("default: {rule}"),
        Origin::Derived(rule) => rule.clone(),
    }
}
