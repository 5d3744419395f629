//! From the words of a command line to a plan: which language, what it says.
use crate::files;
use lang::vdbench::{InputFile, Reading};
use lang::{CommandLine, LintSelection};

/// Reads job files of the neutral verbs. The language is told by content.
pub fn read(words: &[String], seed: u64, lints: LintSelection) -> Result<Reading, String> {
    let (names, variables) = files::split_inputs(words);
    if names.is_empty() {
        return Err("no job file is named".to_owned());
    }
    let inputs = files::input_files(&names);
    if let Some(name) = inputs.iter().find_map(other_language) {
        return Err(format!(
            "`{name}` looks like a fio job file; fio job files are not built yet, Vdbench parameter files are"
        ));
    }
    let command_line = CommandLine {
        variables,
        lints,
        ..CommandLine::default()
    };
    Ok(lang::vdbench::read(
        &inputs,
        &files::environment(command_line, seed),
    ))
}

/// A text with `[section]` lines and no definition of ours.
fn other_language(input: &InputFile) -> Option<String> {
    let (name, bytes) = match input {
        InputFile::Path(path) => (path.clone(), std::fs::read(path).ok()?),
        InputFile::Text { name, bytes } => (name.clone(), bytes.clone()),
    };
    let text = String::from_utf8_lossy(&bytes);
    let has_section = text
        .lines()
        .map(str::trim)
        .any(|line| line.starts_with('[') && line.ends_with(']'));
    (has_section && !lang::vdbench::looks_like(&text)).then_some(name)
}
