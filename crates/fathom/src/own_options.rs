//! What the options of Fathom itself do: the help of its verbs, and of the two faces, whose words clap does not read. Begin
//! with [`help`].
use crate::arguments::Arguments;
use crate::{fio_face, vdbench_face};
use clap::{Arg, Command, CommandFactory};

/// Verbs with a help text of their own.
const FACES: [(&str, &str); 2] = [("vdbench", vdbench_face::USAGE), ("fio", fio_face::USAGE)];

/// Stands in the help of a face above what the other verbs have, too.
const OWN: &str = "\nof Fathom:\n";

/// Where an option is named in the help of a face.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// In front of the text.
    First,
    /// In the text of another option as well.
    Anywhere,
}

/// What the verbs say of an option, with or without its dashes; of several texts, each with the verbs that have it.
pub fn help(word: &str) -> Option<String> {
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    let mut command = Arguments::command();
    command.build();
    for verb in shown_verbs(&command) {
        for option in verb
            .get_arguments()
            .filter(|option| is_called(option, word))
        {
            let (text, name) = (text(option), verb.get_name().to_owned());
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, verbs)) => verbs.push(name),
                None => texts.push((text, vec![name])),
            }
        }
    }
    if let Some((_, verbs)) = texts.first_mut() {
        let with_it = FACES
            .iter()
            .filter(|(_, usage)| entry(own_part(usage), word, Named::First).is_some());
        verbs.extend(with_it.map(|(face, _)| (*face).to_owned()));
    }
    let texts: Vec<String> = texts
        .iter()
        .map(|(text, verbs)| format!("{text}\n  verbs:   {}", verbs.join(", ")))
        .collect();
    (!texts.is_empty()).then(|| format!("Fathom option\n\n{}", texts.join("\n\n")))
}

/// What the help of the faces says of an option of their own.
pub fn help_of_faces(word: &str, named: Named) -> Option<String> {
    let texts: Vec<String> = FACES
        .iter()
        .filter_map(|(face, usage)| {
            let entry = entry(original_part(usage), word, named)?;
            Some(format!("Option of `fathom {face}`\n\n{entry}"))
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The long names of all options of the verbs.
pub fn names() -> Vec<String> {
    let mut command = Arguments::command();
    command.build();
    let options = shown_verbs(&command).flat_map(Command::get_arguments);
    let names = options.filter(|option| is_shown(option));
    names
        .filter_map(|option| option.get_long().map(str::to_owned))
        .collect()
}

fn shown_verbs(command: &Command) -> impl Iterator<Item = &Command> {
    let verbs = command.get_subcommands();
    verbs.filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

/// clap answers `--help` itself.
fn is_shown(option: &Arg) -> bool {
    !option.is_hide_set() && option.get_id() != "help"
}

/// Letters are told apart by their case, names are not.
fn is_called(option: &Arg, word: &str) -> bool {
    let is_long = |name: &str| {
        let long = option.get_long();
        long.is_some_and(|long| long.eq_ignore_ascii_case(name))
    };
    let is_short = |name: &str| {
        let mut letters = name.chars();
        option.get_short().is_some()
            && option.get_short() == letters.next()
            && letters.next().is_none()
    };
    if !is_shown(option) {
        return false;
    }
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(name), _) => is_long(before_value(name)),
        (None, Some(letter)) => is_short(letter),
        (None, None) => is_long(word) || is_short(word),
    }
}

/// As the options of the job languages are explained.
fn text(option: &Arg) -> String {
    let short = option.get_short().filter(|_| option.get_long().is_some());
    let short = short.map_or(String::new(), |letter| format!("-{letter}, "));
    let help = option.get_long_help().or(option.get_help());
    let help = help.map_or(String::new(), ToString::to_string);
    let mut text = format!("{short}{option}: {}", help.trim());
    if option.get_action().takes_values() {
        let takes = option.get_possible_values();
        let takes: Vec<&str> = takes
            .iter()
            .map(clap::builder::PossibleValue::get_name)
            .collect();
        if !takes.is_empty() {
            text += &format!("\n  takes:   {}", takes.join(", "));
        }
        let defaults = option.get_default_values();
        let defaults: Vec<_> = defaults
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        if !defaults.is_empty() {
            text += &format!("\n  default: {}", defaults.join(", "));
        }
    }
    text
}

fn own_part(usage: &'static str) -> &'static str {
    usage.split_once(OWN).map_or("", |(_, own)| own)
}

fn original_part(usage: &'static str) -> &'static str {
    usage
        .split_once(OWN)
        .map_or(usage, |(original, _)| original)
}

/// The lines of a help text on an option, as they stand there.
fn entry(usage: &str, word: &str, named: Named) -> Option<String> {
    let is_first = |line: &&str| line.starts_with("  -");
    let lines: Vec<&str> = usage.lines().collect();
    let starts = (0..lines.len()).filter(|at| is_first(&lines[*at]));
    let entries = starts.map(|at| {
        let further = lines[at + 1..].iter();
        let further = further.take_while(|line| line.starts_with("   "));
        at..at + 1 + further.count()
    });
    let names_it = |text: &str| text.split_whitespace().any(|part| is_same(part, word));
    let mut entries = entries.map(|range| &lines[range]);
    let found = entries.find(|entry| match named {
        Named::First => {
            let head = entry[0].trim_start().split("  ").next();
            head.is_some_and(names_it)
        }
        Named::Anywhere => entry.iter().any(|line| names_it(line)),
    });
    found.map(|entry| entry.join("\n"))
}

/// Whether a part of a help text is this option, given with or without its dashes and without a value.
fn is_same(part: &str, word: &str) -> bool {
    let (part, word) = (before_value(part), before_value(word));
    let bare = part.trim_start_matches('-');
    bare != part && (part == word || bare == word && bare.len() > 1)
}

/// `--name` of `--name=VALUE`.
fn before_value(word: &str) -> &str {
    word.split(['=', '[', ':', ',', ';']).next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::{Named, help, help_of_faces, names};

    #[test]
    fn every_option_is_explained_with_and_without_dashes() {
        let names = names();
        assert!(names.len() > 40);
        for name in names {
            let text = help(&format!("--{name}")).unwrap_or_else(|| panic!("{name}"));
            assert!(text.contains(&format!("--{name}")), "{text}");
            assert!(text.contains("\n  verbs:   "), "{text}");
            assert_eq!(help(&name), Some(text));
        }
    }

    #[test]
    fn verbs_and_faces_that_have_an_option_are_named() {
        let text = help("--repeat=3").unwrap();
        assert!(
            text.contains("verbs:   run") && text.contains(", fio"),
            "{text}"
        );
        let text = help("-o").unwrap();
        assert!(text.contains("-o, --output <FOLDER>: "), "{text}");
        assert!(help("on-loss").unwrap().contains("takes:   end, continue"));
        assert_eq!(help("-O"), None);
        assert_eq!(help("--kubernetes"), None);
    }

    #[test]
    fn options_of_the_faces_are_explained_from_their_help() {
        let of = |word| help_of_faces(word, Named::First);
        assert!(
            of("--parse-only")
                .unwrap()
                .contains("read and check, no I/O")
        );
        assert!(of("-m").unwrap().starts_with("Option of `fathom vdbench`"));
        assert_eq!(of("--minimal"), None);
        let text = help_of_faces("--minimal", Named::Anywhere).unwrap();
        assert!(text.contains("--minimal is terse"), "{text}");
    }
}
