//! Words of a command line in the manner of fio: long options with one dash or two, prefixes that
//! mean one option only, values behind `=` or in the next word.
use super::Assignment;
use super::declare::{Kind, Parameter, common};
use super::engines;
use super::text::{Line, Place, Section};

/// An option of the command itself.
#[derive(Clone, Copy, Debug)]
pub struct GeneralOption {
    pub name: &'static str,
    pub letter: Option<char>,
    pub argument: Argument,
}

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    None,
    Required,
    /// Behind `=` only.
    Optional,
}

/// A word of the command line, or two, with what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandWord {
    General {
        name: &'static str,
        value: Option<String>,
    },
    Job(Assignment),
    File(String),
}

/// Why the words cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WordError {
    /// The second is the closest option, if one is close.
    Unknown(String, Option<String>),
    Ambiguous(String, Vec<String>),
    NeedsValue(String),
    TakesNoValue(String),
}

/// A long option, of the command or of a job.
#[derive(Clone, Copy)]
enum Long {
    General(&'static str, Argument),
    Job(&'static Parameter),
}

/// Tells options of the command, options of jobs and files apart.
///
/// # Errors
/// The first word that is none of them.
pub fn split(words: &[String], general: &[GeneralOption]) -> Result<Vec<CommandWord>, WordError> {
    let mut out = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            out.extend(rest.map(|word| CommandWord::File(word.clone())));
            break;
        }
        if !word.starts_with('-') || word == "-" {
            out.push(CommandWord::File(word.clone()));
            continue;
        }
        let body = word.trim_start_matches('-');
        let has_two = word.starts_with("--");
        let short = (!has_two).then(|| short(body, general)).flatten();
        if let Some((option, attached)) = &short
            && body.chars().count() == 1
        {
            out.push(general_word(option, attached.clone(), word, &mut rest)?);
            continue;
        }
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (body, None),
        };
        match (long(name, general), short) {
            (Ok((written, long)), _) => out.push(long_word(written, long, attached, &mut rest)?),
            (Err(_), Some((option, attached))) => {
                out.push(general_word(option, attached, word, &mut rest)?);
            }
            (Err(error), None) => return Err(error),
        }
    }
    Ok(out)
}

fn short<'g>(
    body: &str,
    general: &'g [GeneralOption],
) -> Option<(&'g GeneralOption, Option<String>)> {
    let letter = body.chars().next()?;
    let option = general
        .iter()
        .find(|option| option.letter == Some(letter))?;
    let attached = body[letter.len_utf8()..].to_owned();
    Some((option, Some(attached).filter(|text| !text.is_empty())))
}

fn general_word<'w>(
    option: &GeneralOption,
    attached: Option<String>,
    word: &str,
    rest: &mut impl Iterator<Item = &'w String>,
) -> Result<CommandWord, WordError> {
    let value = match (option.argument, attached) {
        (Argument::None, Some(_)) => return Err(WordError::TakesNoValue(word.to_owned())),
        (Argument::Required, None) => Some(
            rest.next()
                .cloned()
                .ok_or_else(|| WordError::NeedsValue(word.to_owned()))?,
        ),
        (_, attached) => attached,
    };
    Ok(CommandWord::General {
        name: option.name,
        value,
    })
}

fn long_word<'w>(
    name: &str,
    long: Long,
    attached: Option<String>,
    rest: &mut impl Iterator<Item = &'w String>,
) -> Result<CommandWord, WordError> {
    match long {
        Long::General(name, argument) => {
            let option = GeneralOption {
                name,
                letter: None,
                argument,
            };
            general_word(&option, attached, &format!("--{name}"), rest)
        }
        Long::Job(parameter) => {
            let value = match attached {
                Some(value) => Some(value),
                None if parameter.kind == Kind::Flag => None,
                None => Some(
                    rest.next()
                        .cloned()
                        .ok_or_else(|| WordError::NeedsValue(format!("--{name}")))?,
                ),
            };
            Ok(CommandWord::Job(Assignment {
                name: name.to_owned(),
                value,
            }))
        }
    }
}

/// The option that a name means, in full; prefixes count where they mean one option only.
fn long<'n>(name: &'n str, general: &[GeneralOption]) -> Result<(&'n str, Long), WordError> {
    let generals = general
        .iter()
        .map(|option| (option.name, Long::General(option.name, option.argument)));
    let jobs = common().flat_map(|parameter| {
        parameter
            .names
            .iter()
            .map(move |name| (*name, Long::Job(parameter)))
    });
    let all: Vec<(&'static str, Long)> = generals.chain(jobs).collect();
    if let Some((full, long)) = all.iter().find(|(full, _)| *full == name) {
        return Ok((full, *long));
    }
    let private = engines::PRIVATE
        .iter()
        .find(|parameter| parameter.names.contains(&name));
    if let Some(parameter) = private {
        return Ok((name, Long::Job(parameter)));
    }
    let begun: Vec<&(&'static str, Long)> = all
        .iter()
        .filter(|(full, _)| full.starts_with(name))
        .collect();
    match begun.as_slice() {
        [] => {
            let near = crate::nearest::nearest(name, all.iter().map(|(full, _)| *full));
            Err(WordError::Unknown(
                format!("--{name}"),
                near.map(|near| format!("--{near}")),
            ))
        }
        [(full, long), others @ ..] => {
            let is_one = others.iter().all(|(_, other)| is_same(long, other));
            if is_one {
                return Ok((full, *long));
            }
            let names = begun.iter().map(|(full, _)| format!("--{full}")).collect();
            Err(WordError::Ambiguous(format!("--{name}"), names))
        }
    }
}

fn is_same(one: &Long, other: &Long) -> bool {
    match (one, other) {
        (Long::Job(one), Long::Job(other)) => std::ptr::eq(*one, *other),
        _ => false,
    }
}

/// The jobs as one command line of fio, what is global written out for each.
pub(crate) fn commands(sections: &[Section]) -> Vec<String> {
    let mut globals: Vec<String> = Vec::new();
    let mut place = None;
    let mut out = Vec::new();
    for section in sections {
        if place != Some(section.place) {
            globals.clear();
            place = Some(section.place);
        }
        let is_name =
            |line: &&Line| section.place == Place::CommandLine && line.name.text == "name";
        let lines = section.lines.iter().filter(|line| !is_name(line));
        let own = lines.map(|line| match &line.value {
            Some(value) => format!("--{}={}", line.name.text, quoted(&value.text)),
            None => format!("--{}", line.name.text),
        });
        if section.name.text.starts_with("global") {
            globals.extend(own);
            continue;
        }
        let name = format!("--name={}", quoted(&section.name.text));
        let words: Vec<String> = std::iter::once(name)
            .chain(globals.clone())
            .chain(own)
            .collect();
        out.push(words.join(" "));
    }
    out
}

/// One command line of all jobs.
pub fn show_command(commands: &[String]) -> String {
    format!("fio {}", commands.join(" "))
}

/// A text as a shell reads it back.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+,=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
