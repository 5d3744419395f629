//! From the words of a command line to a plan: which language, what it says.
use crate::seed::Seeds;
use crate::{files, foreign_text};
use lang::vdbench::{InputFile, ListedRun, ListedTree};
use lang::{CommandLine, Language, fio, vdbench};
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
    /// Of jobs on trees of files.
    pub trees: Vec<ListedTree>,
    /// Of fio.
    pub jobs: Option<Vec<fio::JobPlace>>,
}

/// Reads job files of the neutral verbs. The language is told by content; variables come from among the words.
pub fn read(
    words: &[String],
    seeds: Seeds,
    mut command_line: CommandLine,
) -> Result<Reading, String> {
    let (names, variables) = files::split_inputs(words);
    if names.is_empty() {
        return Err("no job file is named".to_owned());
    }
    let inputs = files::input_files(&names);
    foreign_text::refuse(&inputs)?;
    let sections: Vec<bool> = inputs.iter().map(has_sections).collect();
    let has_sections = sections.contains(&true);
    let is_other = |(at, input): (usize, &InputFile)| {
        let is_text = matches!(input, InputFile::Text { .. });
        (is_text && !sections[at]).then_some(at)
    };
    if has_sections && let Some(at) = inputs.iter().enumerate().find_map(is_other) {
        return Err(format!(
            "`{}` is not a fio job file, but others are: run them one by one",
            names[at]
        ));
    }
    if !has_sections {
        command_line.variables = variables;
        let environment = files::environment(command_line, seeds.draws);
        return Ok(vdbench::read(&inputs, &environment).into());
    }
    command_line.draws_anew = true;
    let mut environment = files::environment(command_line, seeds.content);
    environment.fresh_seed = seeds.draws;
    let given = variables
        .into_iter()
        .map(|variable| (variable.name, variable.value));
    environment.process_variables.extend(given);
    let inputs: Vec<fio::Input> = inputs.into_iter().map(files::fio_input).collect();
    let mut reading = fio::read(&inputs, &[], &environment);
    let wants_fresh = reading.wants_fresh_seed;
    if let Some(plan) = reading.plan.as_mut().filter(|_| wants_fresh) {
        plan.seed = seeds.draws;
    }
    Ok(reading.into())
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

impl Reading {
    /// Which of the readers it comes from.
    pub fn language(&self) -> Language {
        match self.jobs {
            Some(_) => Language::Fio,
            None => Language::Vdbench,
        }
    }

    /// Jobs that ask for the same addresses in every execution, each once.
    pub fn repeating_jobs(&self) -> Vec<&str> {
        let jobs = self.jobs.iter().flatten();
        let mut names: Vec<&str> = jobs.filter_map(fio::JobPlace::repeating).collect();
        names.dedup();
        names
    }
}

/// The language of texts that were read before.
pub fn language_of(sources: &SourceMap) -> Language {
    let mut files = sources.files().iter();
    let is_fio = |text: &str| fio::looks_like(text) && !vdbench::looks_like(text);
    match files.any(|file| file.text.starts_with("--") || is_fio(&file.text)) {
        true => Language::Fio,
        false => Language::Vdbench,
    }
}

impl From<vdbench::Reading> for Reading {
    fn from(reading: vdbench::Reading) -> Self {
        Self {
            jobs: None,
            plan: reading.plan,
            diagnostics: reading.diagnostics,
            run_blockers: reading.run_blockers,
            sources: reading.sources,
            listing: reading.listing,
            trees: reading.trees,
        }
    }
}

impl From<fio::Reading> for Reading {
    fn from(reading: fio::Reading) -> Self {
        Self {
            jobs: Some(reading.jobs),
            plan: reading.plan,
            diagnostics: reading.diagnostics,
            run_blockers: reading.run_blockers,
            sources: reading.sources,
            listing: reading.listing,
            trees: Vec::new(),
        }
    }
}
