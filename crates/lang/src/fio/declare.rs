//! The chapters of the language with their options, which stand in [`super::tables`], engines and
//! their private options in [`super::engines`]; help and reference.
use super::engines;
use super::tables;
use crate::Status;
use crate::parameter::reference_head;
pub use crate::parameter::{Kind, Parameter};

/// Where an option stands on the page of reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chapter {
    Jobs,
    Time,
    Pattern,
    Files,
    Queue,
    Rate,
    Data,
    Verification,
    Measurement,
    Replay,
    Process,
    Special,
}

impl Chapter {
    pub const ALL: [Chapter; 12] = [
        Chapter::Jobs,
        Chapter::Time,
        Chapter::Pattern,
        Chapter::Files,
        Chapter::Queue,
        Chapter::Rate,
        Chapter::Data,
        Chapter::Verification,
        Chapter::Measurement,
        Chapter::Replay,
        Chapter::Process,
        Chapter::Special,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Chapter::Jobs => "Jobs",
            Chapter::Time => "Time",
            Chapter::Pattern => "Pattern of I/O",
            Chapter::Files => "Files",
            Chapter::Queue => "Engine and queue",
            Chapter::Rate => "Rate, think time, goals for latency",
            Chapter::Data => "Written data",
            Chapter::Verification => "Verification",
            Chapter::Measurement => "Measurement and logs",
            Chapter::Replay => "Replay",
            Chapter::Process => "CPU and process",
            Chapter::Special => "Special hardware and newer releases",
        }
    }

    /// Its options.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Chapter::Jobs => tables::JOBS,
            Chapter::Time => tables::TIME,
            Chapter::Pattern => tables::PATTERN,
            Chapter::Files => tables::FILES,
            Chapter::Queue => tables::QUEUE,
            Chapter::Rate => tables::RATE,
            Chapter::Data => tables::DATA,
            Chapter::Verification => tables::VERIFICATION,
            Chapter::Measurement => tables::MEASUREMENT,
            Chapter::Replay => tables::REPLAY,
            Chapter::Process => tables::PROCESS,
            Chapter::Special => tables::SPECIAL,
        }
    }
}

/// Options that every engine knows.
pub(crate) fn common() -> impl Iterator<Item = &'static Parameter> {
    Chapter::ALL
        .into_iter()
        .flat_map(|chapter| chapter.parameters())
}

/// The option with this name that every engine knows.
pub(crate) fn find(name: &str) -> Option<&'static Parameter> {
    common().find(|parameter| parameter.names.contains(&name))
}

/// The private option of an engine with this name.
pub(crate) fn find_private(name: &str, engine: &str) -> Option<&'static Parameter> {
    private(name).find(|parameter| parameter.engines.contains(&engine))
}

/// All private options with this name.
pub(crate) fn private(name: &str) -> impl Iterator<Item = &'static Parameter> {
    engines::PRIVATE
        .iter()
        .filter(move |parameter| parameter.names.contains(&name))
}

/// The options with what they take, as plain text; one of them, or all.
pub fn help(name: Option<&str>) -> Option<String> {
    let shown: Vec<&Parameter> = match name {
        None => common().collect(),
        Some(name) => common()
            .chain(engines::PRIVATE)
            .filter(|parameter| parameter.names.contains(&name))
            .collect(),
    };
    if shown.is_empty() {
        return None;
    }
    let mut out = String::new();
    for parameter in shown {
        if name.is_none() {
            out += &format!("{:<32} {}\n", parameter.names.join(", "), parameter.doc);
            continue;
        }
        out += &format!("{}: {}\n", parameter.names.join(", "), parameter.doc);
        out += &parameter.details();
    }
    Some(out)
}

/// The names of all options, those of single engines and the engines themselves included.
pub fn names() -> impl Iterator<Item = &'static str> {
    let options = common().chain(engines::PRIVATE);
    let options = options.flat_map(|parameter| parameter.names.iter().copied());
    options.chain(engines::ENGINES.iter().map(|engine| engine.name))
}

/// The full names of the options that take this word as a value, those of single engines included.
pub fn takers(word: &str) -> impl Iterator<Item = &'static str> {
    let options = common().chain(engines::PRIVATE);
    let takers = options.filter(move |parameter| parameter.takes(word));
    takers.map(|parameter| parameter.names[0])
}

/// The words that options take as values.
pub fn words() -> impl Iterator<Item = &'static str> {
    let options = common().chain(engines::PRIVATE);
    options.flat_map(|parameter| parameter.words().iter().copied())
}

/// The engines as plain text.
pub fn engine_help() -> String {
    let mut out = String::new();
    for engine in engines::ENGINES {
        let status = match engine.status {
            Status::Honoured => String::new(),
            Status::Translated(note) => format!(" ({note})"),
            Status::CheckOnly => " (not built yet)".to_owned(),
            Status::Refused(reason) => format!(" (refused: {reason})"),
        };
        out += &format!("{:<14} {}{status}\n", engine.name, engine.doc);
    }
    out
}

/// The options that belong to an engine, as plain text.
pub fn options_of_engine(engine: &str) -> String {
    let own = engines::PRIVATE
        .iter()
        .filter(|parameter| parameter.engines.contains(&engine));
    own.map(|parameter| format!("  {:<30} {}\n", parameter.names.join(", "), parameter.doc))
        .collect()
}

/// The page of reference: every option with what it takes and how far it is supported.
pub fn reference_markdown() -> String {
    let mut out = String::from(
        "# fio options\n\n\
         Generated from the declarations that the reader itself uses. Every option is one of:\n\n\
         - **honoured**: does what it says;\n\
         - **translated**: understood and done in another way, as noted;\n\
         - **check only**: read and checked by `check` and `fathom fio --parse-only`; a run refuses it before the first I/O;\n\
         - **refused**: refused by every command, with the reason.\n\n\
         Numbers take the units of fio: `k` is 1024 and `KiB` is 1000 unless `kb_base=1000` swaps them.\n",
    );
    for chapter in Chapter::ALL {
        out += &format!("\n## {}\n\n", chapter.title());
        out += &reference_head("Option");
        for parameter in chapter.parameters() {
            out += &parameter.reference_row(&parameter.reference_names());
        }
    }
    out += &profiles();
    out += "\n## Engines\n\n| Engine | Support | |\n|---|---|---|\n";
    for engine in engines::ENGINES {
        let status = engine.status;
        out += &format!("| `{}` | {status} | {} |\n", engine.name, engine.doc);
    }
    out += "\n## Options of single engines\n\n";
    out += &reference_head("Option");
    for parameter in engines::PRIVATE {
        let names = parameter.reference_names();
        let names = format!("{names} of `{}`", parameter.engines.join("`, `"));
        out += &parameter.reference_row(&names);
    }
    let of_option = |name: &str| {
        let found = find(name).or_else(|| private(name).next());
        found.map(|parameter| parameter.status)
    };
    out += &super::later::markdown(of_option);
    out += "\n## Codes of diagnostics\n\n| Code | Meaning |\n|---|---|\n";
    for (code, meaning) in super::codes::ALL {
        out += &format!("| `{code}` |{meaning} |\n");
    }
    out
}

/// The built-in sets of jobs with their options.
fn profiles() -> String {
    let mut out = String::from(
        "\n## Profiles\n\n`--profile=NAME` stands for jobs; `--showcmd` beside it shows them. Other options of \
         jobs on the same line are their defaults.\n\n| Option | Default | |\n|---|---|---|\n",
    );
    for profile in super::PROFILES {
        out += &format!("| `--profile={}` | | {} |\n", profile.name, profile.doc);
        for option in profile.options {
            let (name, default) = (option.name, option.default);
            out += &format!("| `--{name}` | {default} | {} |\n", option.doc);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::DefaultValue;
    use crate::parameter::tests::fits;

    #[test]
    fn defaults_could_be_given_and_kinds_are_those_of_the_language() {
        for parameter in common().chain(engines::PRIVATE) {
            let name = parameter.name();
            assert!(fits(parameter), "{name}");
            let is_foreign = matches!(
                parameter.kind,
                Kind::Name | Kind::Texts | Kind::YesNo | Kind::List { .. }
            );
            assert!(!is_foreign && !parameter.is_exact, "{name}");
            if let DefaultValue::SameAs(other) = parameter.default {
                assert!(find(other).is_some(), "{name}");
            }
            if !parameter.part_of.is_empty() {
                let is_known = find(parameter.part_of).or(private(parameter.part_of).next());
                assert!(is_known.is_some(), "{name}");
            }
        }
    }
}
