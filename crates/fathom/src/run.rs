//! `fathom run`.
use crate::arguments::{RunOptions, TimeOptions};
use crate::exit::{Exit, fail};
use crate::face::Neutral;
use crate::launch::{Findings, Launch, launch};
use crate::resume::Earlier;
use crate::seed::Seeds;
use crate::{lints, plan_file, render};
use plan::{Diagnostic, Plan, Severity};
use report::shown;
use std::path::Path;

/// Jobs that a note names.
const JOBS_NAMED_MAX: usize = 5;

pub fn main(options: &RunOptions, arguments: &[String]) -> Exit {
    if let (true, Some(result)) = (options.inputs.is_empty(), &options.common.resume) {
        return go_on(result, options, arguments);
    }
    carry_out(options, arguments, Ok)
}

/// What is said while a job is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    Everything,
    ErrorsOnly,
}

/// A job of files, changed first.
pub fn carry_out(
    options: &RunOptions,
    arguments: &[String],
    change: impl FnOnce(Plan) -> Result<Plan, String>,
) -> Exit {
    match read(options, arguments, change, Telling::Everything) {
        Ok(job) => launch(job),
        Err(exit) => exit,
    }
}

/// Reads a job of files, changed.
///
/// # Errors
/// The exit code, after what is wrong was printed.
pub fn read(
    options: &RunOptions,
    arguments: &[String],
    change: impl FnOnce(Plan) -> Result<Plan, String>,
    telling: Telling,
) -> Result<Launch, Exit> {
    let refused = |message: String| fail(Exit::Usage, &message);
    // Told before anything is said of the job.
    let seeds = Seeds::of_execution(&options.common).map_err(refused)?;
    let reading = lints::selection(&options.common.lints.words).and_then(|lints| {
        let mut line = options.times.command_line(lints);
        line.reaches_no_storage = options.common.reaches_no_storage();
        plan_file::read(&options.inputs, seeds, line)
    });
    let mut reading = reading.map_err(refused)?;
    let blocked = !reading.run_blockers.is_empty();
    if telling == Telling::ErrorsOnly {
        let is_error = |one: &Diagnostic| one.severity == Severity::Error;
        reading.diagnostics.retain(is_error);
    }
    render::print_briefly(&reading.diagnostics, &reading.sources);
    render::print(&reading.run_blockers, &reading.sources);
    let language = reading.language();
    let repeated = repeated_addresses(&reading.repeating_jobs());
    let plan = reading.plan.filter(|_| !blocked).ok_or(Exit::Usage)?;
    let changed = change(plan).and_then(|mut plan| {
        options.repetition.apply(&mut plan)?;
        Ok(plan)
    });
    let plan = changed.map_err(refused)?;
    if let Some(note) = repeated.filter(|_| telling == Telling::Everything) {
        errln!("{note}");
    }
    let face = match telling {
        Telling::Everything => Neutral::strict(&options.strict),
        Telling::ErrorsOnly => Neutral::without_notes(),
    };
    Ok(Launch {
        plan,
        sources: reading.sources,
        arguments: arguments.to_vec(),
        folder: Some(options.common.output.clone()),
        common: options.common.clone(),
        face: Box::new(face),
        findings: Findings {
            language,
            printed: reading.diagnostics,
            unprinted: &[],
        },
    })
}

/// Without a job file, the job is that of the result.
fn go_on(result: &Path, options: &RunOptions, arguments: &[String]) -> Exit {
    if options.times != TimeOptions::default() {
        errln!("error: -e, -i and -w change the job, which is that of the result; leave them out");
        return Exit::Usage;
    }
    let read = Earlier::read(result).and_then(|earlier| {
        let mut plan = earlier.bound.plan.clone();
        options.repetition.apply(&mut plan)?;
        let sources = earlier.sources();
        Ok((plan, plan_file::language_of(&sources), sources))
    });
    match read {
        Ok((plan, language, sources)) => launch(Launch {
            plan,
            sources,
            arguments: arguments.to_vec(),
            folder: Some(options.common.output.clone()),
            common: options.common.clone(),
            face: Box::new(Neutral::strict(&options.strict)),
            findings: Findings {
                language,
                ..Findings::default()
            },
        }),
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

/// What is to be known before figures of a second execution are believed.
fn repeated_addresses(jobs: &[&str]) -> Option<String> {
    let (first, others) = jobs.split_at_checked(JOBS_NAMED_MAX).unwrap_or((jobs, &[]));
    let mut named = first.join(", ");
    if !others.is_empty() {
        named += &format!(" and {} more", others.len());
    }
    let repeat = match jobs {
        [] => return None,
        [_] => "repeats its",
        _ => "repeat their",
    };
    let reason = "what an earlier one has read may be answered from caches";
    Some(format!(
        "note: {} {repeat} addresses in every execution (`randrepeat` or `randseed`): {reason}",
        shown::text(&named)
    ))
}
