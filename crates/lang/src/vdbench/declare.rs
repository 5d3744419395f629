//! What a parameter is: one value that parser, help, reference page and tests share.
//! The values themselves stand in [`super::tables`].
use super::tables;
use super::value::Unit;
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

/// One parameter of one section.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The first is the full name that messages use.
    pub names: &'static [&'static str],
    /// Whether abbreviations are not accepted.
    pub is_exact: bool,
    pub kind: Kind,
    /// In the words of the language; empty where there is none.
    pub default: &'static str,
    pub status: Status,
    /// Values that ask for nothing, so that the status does not matter.
    pub inert: &'static [&'static str],
    pub doc: &'static str,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// The name of the definition.
    Name,
    /// `least` to `most` numbers between `min` and `max`; ranges unfold.
    Numbers {
        is_time: bool,
        least: usize,
        most: usize,
        min: f64,
        max: f64,
    },
    /// One text.
    Text,
    /// One or more texts.
    Texts,
    /// Anything that starts with `y` is yes.
    YesNo,
    /// Words out of a list; prefixes count.
    Words(&'static [&'static str]),
    /// A form of its own, read where it is used.
    Form(&'static str),
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

impl Parameter {
    /// The full name.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    pub(crate) fn unit(&self) -> Unit {
        match self.kind {
            Kind::Numbers { is_time: true, .. } => Unit::Seconds,
            _ => Unit::Plain,
        }
    }

    pub(crate) const fn new(
        names: &'static [&'static str],
        kind: Kind,
        default: &'static str,
        status: Status,
        doc: &'static str,
    ) -> Self {
        Self {
            names,
            is_exact: false,
            kind,
            default,
            status,
            inert: &[],
            doc,
        }
    }

    /// Accepts no abbreviation.
    pub(crate) const fn exact(mut self) -> Self {
        self.is_exact = true;
        self
    }

    /// These values ask for nothing.
    pub(crate) const fn inert(mut self, values: &'static [&'static str]) -> Self {
        self.inert = values;
        self
    }
}

/// The parameters of a section as plain text, for terminals.
pub fn help(section: Section) -> String {
    let mut out = format!("{}\n", section.title());
    for parameter in section.parameters() {
        let names = parameter.names.join(", ");
        out += &format!("  {names:<28} {}", parameter.doc);
        if !parameter.default.is_empty() {
            out += &format!(" [default: {}]", parameter.default);
        }
        out += &format!(" ({})\n", status_text(parameter));
    }
    out
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
        out += "| Parameter | Takes | Default | Support | |\n|---|---|---|---|---|\n";
        for parameter in section.parameters() {
            let names: Vec<String> = parameter
                .names
                .iter()
                .map(|name| format!("`{name}`"))
                .collect();
            let exact = if parameter.is_exact { " *exact*" } else { "" };
            out += &format!(
                "| {}{exact} | {} | {} | {} | {} |\n",
                names.join(", "),
                kind_text(&parameter.kind),
                parameter.default,
                status_text(parameter),
                parameter.doc
            );
        }
    }
    out += "\n## Codes of diagnostics\n\n| Code | Meaning |\n|---|---|\n";
    for (code, meaning) in super::codes::ALL {
        out += &format!("| `{code}` |{meaning} |\n");
    }
    out
}

fn status_text(parameter: &Parameter) -> String {
    let inert = match parameter.inert {
        [] => String::new(),
        values => format!(" (but `{}` is honoured)", values.join("`, `")),
    };
    match parameter.status {
        Status::Honoured => "honoured".to_owned(),
        Status::Translated(note) => format!("translated: {note}"),
        Status::CheckOnly => format!("check only{inert}"),
        Status::Refused(reason) => format!("refused: {reason}"),
    }
}

/// What a parameter takes, in words.
pub(crate) fn kind_text(kind: &Kind) -> String {
    match kind {
        Kind::Name => "a name".to_owned(),
        Kind::Numbers {
            is_time,
            least,
            most,
            min,
            max,
        } => {
            let what = if *is_time {
                "seconds (`m`: minutes, `h`: hours)"
            } else {
                "number"
            };
            let count = match (*least, *most) {
                (1, 1) => String::new(),
                (1, usize::MAX) => ", list or range".to_owned(),
                (least, most) if least == most => format!(", {least} values"),
                (least, usize::MAX) => format!(", {least} values or more"),
                (least, most) => format!(", {least} to {most} values"),
            };
            let bounds = match (min.is_finite(), max.is_finite()) {
                (true, true) => format!(", {min} to {max}"),
                (true, false) => format!(", at least {min}"),
                _ => String::new(),
            };
            format!("{what}{count}{bounds}")
        }
        Kind::Text => "text".to_owned(),
        Kind::Texts => "text or list of texts".to_owned(),
        Kind::YesNo => "`yes` or `no`".to_owned(),
        Kind::Words(words) => format!("`{}`", words.join("`, `")),
        Kind::Form(form) => (*form).to_owned(),
    }
}
