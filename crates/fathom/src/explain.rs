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

/// Explains words that are no files; `None` if they name files.
fn explain_words(words: &[String]) -> Option<Exit> {
    let is_file = |word: &String| Path::new(word).exists();
    if words.iter().any(is_file) {
        return None;
    }
    let meanings: Option<Vec<String>> = words.iter().map(|word| codes::meaning(word)).collect();
    if let Some(meanings) = meanings {
        out!("{}\n", meanings.join("\n\n"));
        return Some(Exit::Fine);
    }
    let unknown = words.iter().find(|word| codes::meaning(word).is_none())?;
    let is_path = unknown.contains(['/', '.', '=']) || ["-", "stdin"].contains(&unknown.as_str());
    if is_path {
        return None;
    }
    let way_out = match codes::near(unknown) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`fathom manual vdbench` and `fathom manual fio` list all options".to_owned(),
    };
    let what = match codes::is_code(unknown) {
        true => format!("no diagnostic has the code `{unknown}`"),
        false => format!("`{unknown}`: no such file, and no option, code or verdict has this name"),
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
