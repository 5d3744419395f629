//! What an option is: one value that parser, help, reference page and tests share. The values
//! themselves stand in [`super::tables`], engines and their private options in [`super::engines`].
use super::engines;
use super::number::TimeUnit;
use super::tables;
use crate::Status;

/// One option.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The first is the name that messages use.
    pub names: &'static [&'static str],
    pub kind: Kind,
    /// In the words of the language; empty where there is none.
    pub default: &'static str,
    pub status: Status,
    /// Values that ask for nothing, so that the status does not matter.
    pub inert: &'static [&'static str],
    pub doc: &'static str,
    /// The engines that know it; empty where all do.
    pub engines: &'static [&'static str],
    /// The option without which it asks for nothing; empty where there is none.
    pub part_of: &'static str,
}

/// What values an option takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text that may be left out together with its `=`.
    OptionalText,
    /// One of some words; a suffix behind `:` is read where it is used.
    Words(&'static [&'static str]),
    /// Given or not: bare, or 0 or 1.
    Flag,
    /// 0 or 1.
    Truth,
    /// A whole number, suffixes allowed.
    Number {
        min: i64,
        max: i64,
    },
    /// Up to three of them, for reads, writes and trims.
    Numbers {
        min: i64,
        max: i64,
    },
    /// A number of bytes, or a share of what is found, or zones.
    Size,
    Time(TimeUnit),
    /// One time, or a range of which each clone takes one.
    TimeRange(TimeUnit),
    /// Up to three ranges of bytes.
    Ranges,
    /// Numbers with decimals between two bounds, separated by `:`.
    Decimals {
        min: f64,
        max: f64,
        most: usize,
    },
    /// CPUs such as `0,2,8-15`.
    Cpus,
    /// A form of its own, read where it is used.
    Form(&'static str),
}

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

impl Parameter {
    /// The name that messages use.
    pub fn name(&self) -> &'static str {
        self.names[0]
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
            kind,
            default,
            status,
            inert: &[],
            doc,
            engines: &[],
            part_of: "",
        }
    }

    /// These values ask for nothing.
    pub(crate) const fn inert(mut self, values: &'static [&'static str]) -> Self {
        self.inert = values;
        self
    }

    /// Known by these engines only.
    pub(crate) const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.engines = engines;
        self
    }

    /// Asks for nothing without this option.
    pub(crate) const fn part_of(mut self, name: &'static str) -> Self {
        self.part_of = name;
        self
    }

    /// Whether it may stand without a value.
    pub fn may_be_bare(&self) -> bool {
        matches!(self.kind, Kind::Flag | Kind::OptionalText)
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
        out += &format!("  takes:   {}\n", kind_text(&parameter.kind));
        if !parameter.default.is_empty() {
            out += &format!("  default: {}\n", parameter.default);
        }
        if !parameter.engines.is_empty() {
            out += &format!("  engines: {}\n", parameter.engines.join(", "));
        }
        out += &format!("  support: {}\n", status_text(parameter));
    }
    Some(out)
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
        out += "| Option | Takes | Default | Support | |\n|---|---|---|---|---|\n";
        for parameter in chapter.parameters() {
            out += &row(parameter, &parameter.names.join("`, `"));
        }
    }
    out += &profiles();
    out += "\n## Engines\n\n| Engine | Support | |\n|---|---|---|\n";
    for engine in engines::ENGINES {
        let status = plain_status(engine.status);
        out += &format!("| `{}` | {status} | {} |\n", engine.name, engine.doc);
    }
    out += "\n## Options of single engines\n\n| Option | Takes | Default | Support | |\n|---|---|---|---|---|\n";
    for parameter in engines::PRIVATE {
        let names = parameter.names.join("`, `");
        let names = format!("{names}` of `{}", parameter.engines.join("`, `"));
        out += &row(parameter, &names);
    }
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

fn row(parameter: &Parameter, names: &str) -> String {
    format!(
        "| `{names}` | {} | {} | {} | {} |\n",
        kind_text(&parameter.kind),
        parameter.default,
        status_text(parameter),
        parameter.doc
    )
}

fn status_text(parameter: &Parameter) -> String {
    let inert = match parameter.inert {
        [] => String::new(),
        values => format!(" (but `{}` is honoured)", values.join("`, `")),
    };
    let part_of = match parameter.part_of {
        "" => String::new(),
        name => format!(" (matters with `{name}` only)"),
    };
    plain_status(parameter.status) + &inert + &part_of
}

fn plain_status(status: Status) -> String {
    match status {
        Status::Honoured => "honoured".to_owned(),
        Status::Translated(note) => format!("translated: {note}"),
        Status::CheckOnly => "check only".to_owned(),
        Status::Refused(reason) => format!("refused: {reason}"),
    }
}

/// What an option takes, in words.
pub(crate) fn kind_text(kind: &Kind) -> String {
    let bounds = |min: i64, max: i64| match (min, max) {
        (i64::MIN, _) => String::new(),
        (min, i64::MAX) => format!(", at least {min}"),
        (min, max) => format!(", {min} to {max}"),
    };
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Seconds => "time, seconds without a unit",
        TimeUnit::Microseconds => "time, microseconds without a unit",
    };
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::OptionalText => "text, or nothing".to_owned(),
        Kind::Words(words) => format!("`{}`", words.join("`, `")),
        Kind::Flag => "nothing, 0 or 1".to_owned(),
        Kind::Truth => "0 or 1".to_owned(),
        Kind::Number { min, max } => format!("number{}", bounds(*min, *max)),
        Kind::Numbers { min, max } => {
            format!("read[,write[,trim]]: numbers{}", bounds(*min, *max))
        }
        Kind::Size => "bytes, or `%`".to_owned(),
        Kind::Time(bare) => unit(bare).to_owned(),
        Kind::TimeRange(bare) => format!("{}, or a range of them", unit(bare)),
        Kind::Ranges => "read[,write[,trim]]: ranges of bytes".to_owned(),
        Kind::Decimals { min, max, most } => match most {
            1 => format!("number, {min} to {max}"),
            most => format!("up to {most} numbers, {min} to {max}, separated by `:`"),
        },
        Kind::Cpus => "CPUs such as `0,2,8-15`".to_owned(),
        Kind::Form(form) => (*form).to_owned(),
    }
}
