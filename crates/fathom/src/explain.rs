//! `fathom explain`: each value and where it comes from, or what a code means.
use crate::arguments::ExplainOptions;
use crate::exit::Exit;
use crate::{codes, plan_file, render};
use lang::LintSelection;
use plan::{Origin, SourceMap};

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
    }
    let reading = match plan_file::read(&options.inputs, 1, LintSelection::default()) {
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
    let mut subject = String::new();
    for value in &plan.values {
        if value.subject != subject {
            outln!("{}", value.subject);
            subject.clone_from(&value.subject);
        }
        outln!(
            "  {:<14} {:<24} {}",
            value.name,
            value.value,
            origin(&value.origin, &reading.sources)
        );
    }
    Exit::Fine
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
        Origin::Default(rule) => format!("default: {rule}"),
        Origin::Derived(rule) => format!("derived: {rule}"),
    }
}
