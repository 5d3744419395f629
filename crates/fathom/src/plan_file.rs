//! From the words of a command line to a plan: which language, what it says.
use crate::files;
use lang::vdbench::{InputFile, ListedRun};
use lang::{CommandLine, LintSelection, fio, vdbench};
use plan::{Diagnostic, Plan, SourceMap};

/// A job in either language.
pub struct Reading {
    /// `None` when there are errors, or when a run of it is not built yet.
    pub plan: Option<Plan>,
    pub diagnostics: Vec<Diagnostic>,
    /// What a run has to refuse before its first I/O.
    pub run_blockers: Vec<Diagnostic>,
    pub sources: SourceMap,
    pub listing: Vec<ListedRun>,
}

/// Reads job files of the neutral verbs. The language is told by content.
pub fn read(words: &[String], seed: u64, lints: LintSelection) -> Result<Reading, String> {
    let (names, variables) = files::split_inputs(words);
    if names.is_empty() {
        return Err("no job file is named".to_owned());
    }
    let inputs = files::input_files(&names);
    let sections: Vec<bool> = inputs.iter().map(has_sections).collect();
    let has_sections = sections.contains(&true);
    let is_other = |(at, input): (usize, &InputFile)| {
        let is_text = matches!(input, InputFile::Text { .. });
        (is_text && !sections[at]).then_some(at)
    };
    if has_sections && let Some(at) = inputs.iter().enumerate().find_map(is_other) {
        return Err(format!(
            "`{}` is no fio job file, and others are: run them one by one",
            names[at]
        ));
    }
    let mut command_line = CommandLine {
        lints,
        ..CommandLine::default()
    };
    if !has_sections {
        command_line.variables = variables;
        let environment = files::environment(command_line, seed);
        return Ok(vdbench::read(&inputs, &environment).into());
    }
    let mut environment = files::environment(command_line, seed);
    let given = variables
        .into_iter()
        .map(|variable| (variable.name, variable.value));
    environment.process_variables.extend(given);
    let inputs: Vec<fio::Input> = inputs.into_iter().map(files::fio_input).collect();
    Ok(fio::read(&inputs, &[], &environment).into())
}

/// A text with `[section]` lines and no definition of the other language.
fn has_sections(input: &InputFile) -> bool {
    let InputFile::Text { bytes, .. } = input else {
        return false;
    };
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    fio::looks_like(text) && !vdbench::looks_like(text)
}

impl From<vdbench::Reading> for Reading {
    fn from(reading: vdbench::Reading) -> Self {
        Self {
            plan: reading.plan,
            diagnostics: reading.diagnostics,
            run_blockers: reading.run_blockers,
            sources: reading.sources,
            listing: reading.listing,
        }
    }
}

impl From<fio::Reading> for Reading {
    fn from(reading: fio::Reading) -> Self {
        Self {
            plan: reading.plan,
            diagnostics: reading.diagnostics,
            run_blockers: reading.run_blockers,
            sources: reading.sources,
            listing: reading.listing,
        }
    }
}
