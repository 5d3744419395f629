//! `fathom explain`: each value that is used and where it comes from, or what a code means.
use crate::arguments::{Common, ExplainOptions};
use crate::check::{StandIn, with_stand_ins};
use crate::exit::Exit;
use crate::seed::Seeds;
use crate::{codes, machine, plan_file, render};
use host::Storage;
use lang::fio::JobsOfPlan;
use lang::{CommandLine, Explained};
use plan::{Origin, SourceMap, TargetId};
use report::shown;

pub fn main(options: &ExplainOptions) -> Exit {
    if let [word] = options.inputs.as_slice()
        && !std::path::Path::new(word).exists()
    {
        if let Some(text) = codes::explanation(word) {
            out!("{text}\n");
            return Exit::Fine;
        }
        if codes::is_code(word) {
            errln!("error: no diagnostic has the code `{word}`");
            return Exit::Usage;
        }
        if let Some(near) = codes::near(word) {
            errln!("error: `{word}` is neither a file nor a known word; did you mean `{near}`?");
            return Exit::Usage;
        }
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
