//! `fathom run`.
use crate::arguments::RunOptions;
use crate::exit::Exit;
use crate::launch::{Findings, Launch, Style, launch};
use crate::resume::Earlier;
use crate::{lints, plan_file, render};
use plan::Severity;
use std::path::Path;

pub fn main(options: &RunOptions, arguments: &[String]) -> Exit {
    if let (true, Some(result)) = (options.inputs.is_empty(), &options.common.resume) {
        return go_on(result, options, arguments);
    }
    let reading = lints::selection(&options.common.lints.words)
        .and_then(|lints| plan_file::read(&options.inputs, options.common.seed, lints));
    let reading = match reading {
        Ok(reading) => reading,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    let blocked = !reading.run_blockers.is_empty();
    render::print_briefly(&reading.diagnostics, &reading.sources);
    render::print(&reading.run_blockers, &reading.sources);
    let Some(mut plan) = reading.plan.filter(|_| !blocked) else {
        let errors = reading
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count();
        errln!(
            "nothing was run: {} to resolve first",
            count(errors + reading.run_blockers.len())
        );
        return Exit::Usage;
    };
    if let Err(message) = options.repetition.apply(&mut plan) {
        errln!("error: {message}");
        return Exit::Usage;
    }
    launch(Launch {
        plan,
        sources: reading.sources,
        arguments: arguments.to_vec(),
        common: options.common.clone(),
        style: Style::Summary,
        findings: Findings {
            printed: reading.diagnostics,
            unprinted: &[],
        },
    })
}

/// Without a job file, the job is that of the result.
fn go_on(result: &Path, options: &RunOptions, arguments: &[String]) -> Exit {
    let read = Earlier::read(result).and_then(|earlier| {
        let mut plan = earlier.bound.plan.clone();
        options.repetition.apply(&mut plan)?;
        Ok((plan, earlier.sources()))
    });
    match read {
        Ok((plan, sources)) => launch(Launch {
            plan,
            sources,
            arguments: arguments.to_vec(),
            common: options.common.clone(),
            style: Style::Summary,
            findings: Findings::default(),
        }),
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

fn count(problems: usize) -> String {
    if problems == 1 {
        "one problem".to_owned()
    } else {
        format!("{problems} problems")
    }
}
