//! The sections of the language with their parameters, which stand in [`super::tables`]; help and
//! reference.
use super::tables;
use super::value::Unit;
use crate::parameter::reference_head;
pub use crate::parameter::{Kind, Parameter};
pub use crate::status::Status;

/// The kinds of definitions of the language, in the order in which they may follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    General,
    Host,
    ReplayGroup,
    Storage,
    Workload,
    FileSystem,
    FileWorkload,
    Run,
}

impl Section {
    pub const ALL: [Section; 8] = [
        Section::General,
        Section::Host,
        Section::ReplayGroup,
        Section::Storage,
        Section::Workload,
        Section::FileSystem,
        Section::FileWorkload,
        Section::Run,
    ];

    /// The keyword that opens a definition; empty for general parameters.
    pub fn keyword(self) -> &'static str {
        match self {
            Section::General => "",
            Section::Host => "hd",
            Section::ReplayGroup => "rg",
            Section::Storage => "sd",
            Section::Workload => "wd",
            Section::FileSystem => "fsd",
            Section::FileWorkload => "fwd",
            Section::Run => "rd",
        }
    }

    /// The section in words.
    pub fn title(self) -> &'static str {
        match self {
            Section::General => "general parameters",
            Section::Host => "host definition",
            Section::ReplayGroup => "replay group",
            Section::Storage => "storage definition",
            Section::Workload => "workload definition",
            Section::FileSystem => "file system definition",
            Section::FileWorkload => "file system workload definition",
            Section::Run => "run definition",
        }
    }

    /// The section in a sentence.
    pub(crate) fn phrase(self) -> String {
        match self {
            Section::General => "the general parameters".to_owned(),
            other => format!("a {}", other.title()),
        }
    }

    /// Its parameters in the order in which abbreviations are tried.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Section::General => tables::GENERAL,
            Section::Host => tables::HOST,
            Section::ReplayGroup => tables::REPLAY_GROUP,
            Section::Storage => tables::STORAGE,
            Section::Workload => tables::WORKLOAD,
            Section::FileSystem => tables::FILE_SYSTEM,
            Section::FileWorkload => tables::FILE_WORKLOAD,
            Section::Run => tables::RUN,
        }
    }

    /// The parameter that a typed keyword means: the first in order whose name starts with it.
    pub fn find(self, keyword: &str) -> Option<&'static Parameter> {
        let keyword = keyword.to_ascii_lowercase();
        self.parameters().iter().find(|parameter| {
            parameter
                .names
                .iter()
                .any(|name| *name == keyword || (!parameter.is_exact && name.starts_with(&keyword)))
        })
    }
}

/// The unit that numbers of a parameter have.
pub(crate) fn unit(parameter: &Parameter) -> Unit {
    match parameter.kind {
        Kind::List { is_time: true, .. } => Unit::Seconds,
        _ => Unit::Plain,
    }
}

/// The parameters of a section as plain text, for terminals.
pub fn help(section: Section) -> String {
    let mut out = format!("{}\n", section.title());
    for parameter in section.parameters() {
        let names = parameter.names.join(", ");
        out += &format!("  {names:<28} {}", parameter.doc);
        let default = parameter.default_text();
        if !default.is_empty() {
            out += &format!(" [default: {default}]");
        }
        out += &format!(" ({})\n", parameter.support_text());
    }
    out
}

/// What the parameters of this name take, in each section that has one, as plain text.
pub fn help_of(name: &str) -> Option<String> {
    let mut out = String::new();
    for section in Section::ALL {
        let mut parameters = section.parameters().iter();
        let Some(parameter) = parameters.find(|one| one.names.contains(&name)) else {
            continue;
        };
        let names = parameter.names.join(", ");
        out += &format!("{names}, in {}: {}\n", section.phrase(), parameter.doc);
        out += &parameter.details();
    }
    (!out.is_empty()).then_some(out)
}

/// The names of all parameters; one of several sections comes several times.
pub fn names() -> impl Iterator<Item = &'static str> {
    let sections = Section::ALL.into_iter();
    let parameters = sections.flat_map(|section| section.parameters());
    parameters.flat_map(|parameter| parameter.names.iter().copied())
}

/// The full names of the parameters that take this word as a value; one of several sections comes several times.
pub fn takers(word: &str) -> impl Iterator<Item = &'static str> {
    let sections = Section::ALL.into_iter();
    let parameters = sections.flat_map(|section| section.parameters());
    let takers = parameters.filter(move |parameter| parameter.takes(word));
    takers.map(|parameter| parameter.names[0])
}

/// The reference page: every parameter with what it takes and how far it is supported.
pub fn reference_markdown() -> String {
    let mut out = String::from(
        "# Vdbench parameters\n\n\
         Generated from the declarations that the reader itself uses. Every parameter is one of:\n\n\
         - **honoured**: does what it says;\n\
         - **translated**: understood and done in another way, as noted;\n\
         - **check only** (read-only-in-check): fully read, checked and listed by `check` and `-s`; `run` refuses it\n\
           before the first I/O;\n\
         - **refused**: refused by every command, with the reason.\n\n\
         Abbreviations take the first parameter, in the order of these tables, whose name starts with\n\
         what was typed. Those marked *exact* are not abbreviated.\n",
    );
    for section in Section::ALL {
        let title = section.title();
        let keyword = section.keyword();
        out += &match keyword {
            "" => format!("\n## {}{}\n\n", &title[..1].to_uppercase(), &title[1..]),
            _ => format!("\n## `{keyword}=`: {title}\n\n"),
        };
        out += &reference_head("Parameter");
        for parameter in section.parameters() {
            let exact = if parameter.is_exact { " *exact*" } else { "" };
            let names = parameter.reference_names() + exact;
            out += &parameter.reference_row(&names);
        }
    }
    out += "\n## Codes of diagnostics\n\n| Code | Meaning |\n|---|---|\n";
    for (code, meaning) in super::codes::ALL {
        out += &format!("| `{code}` |{meaning} |\n");
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
        for section in Section::ALL {
            for parameter in section.parameters() {
                let name = parameter.name();
                assert!(fits(parameter), "{section:?} {name}");
                let is_own = matches!(
                    parameter.kind,
                    Kind::Name
                        | Kind::Text
                        | Kind::Texts
                        | Kind::Words(_)
                        | Kind::YesNo
                        | Kind::List { .. }
                        | Kind::Form(_)
                );
                assert!(is_own, "{section:?} {name}");
                assert!(parameter.engines.is_empty() && parameter.part_of.is_empty());
                if let DefaultValue::SameAs(other) = parameter.default {
                    let mut all = Section::ALL.iter().flat_map(|one| one.parameters());
                    assert!(all.any(|known| known.names.contains(&other)), "{name}");
                }
            }
        }
    }
}
