//! What a parameter of a job language is: one declaration for the reader, the help, the page of
//! reference and `explain`. The declarations stand in the tables of each language; nothing here
//! knows what a parameter is for. Begin with [`Parameter`].
use crate::Status;
use plan::Nanos;

/// One parameter of a language.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The first is the full name that messages use.
    pub names: &'static [&'static str],
    pub kind: Kind,
    /// What holds where it is not given. Readers have no other.
    pub default: DefaultValue,
    pub status: Status,
    /// Values that ask for nothing, so that the status does not matter.
    pub inert: &'static [&'static str],
    /// One line.
    pub doc: &'static str,
    /// Whether abbreviations are not accepted, in a language that has some.
    pub is_exact: bool,
    /// The engines that know it; empty where all do.
    pub engines: &'static [&'static str],
    /// The parameter without which it asks for nothing; empty where there is none.
    pub part_of: &'static str,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// The name of what is defined.
    Name,
    /// One text.
    Text,
    /// A text that may be left out together with its `=`.
    OptionalText,
    /// One or more texts.
    Texts,
    /// One of some words.
    Words(&'static [&'static str]),
    /// Anything that starts with `y` is yes.
    YesNo,
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
    /// `least` to `most` numbers with decimals between `min` and `max`; ranges unfold.
    List {
        is_time: bool,
        least: usize,
        most: usize,
        min: f64,
        max: f64,
    },
    /// Numbers with decimals between two bounds, separated by `:`.
    Decimals {
        min: f64,
        max: f64,
        most: usize,
    },
    /// A number of bytes, or a share of what is found, or zones.
    Size,
    Time(TimeUnit),
    /// One time, or a range of which each clone takes one.
    TimeRange(TimeUnit),
    /// Up to three ranges of bytes.
    Ranges,
    /// CPUs such as `0,2,8-15`.
    Cpus,
    /// A form of its own, read where it is used.
    Form(&'static str),
}

/// What a time without a unit is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Seconds,
    Microseconds,
}

/// What holds where a parameter is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// It asks for nothing.
    Nothing,
    On(bool),
    Number(i64),
    Decimal(f64),
    Decimals(&'static [f64]),
    Percent(f64),
    Bytes(u64),
    Nanos(u64),
    /// One of the words of its kind.
    Word(&'static str),
    Text(&'static str),
    /// The value of another parameter.
    SameAs(&'static str),
    /// That of something else that is defined.
    Inherited(&'static str),
    /// What is found at the target.
    FromTarget,
    /// Another one for each execution.
    Drawn,
    /// It follows from other values, by this rule.
    Computed(&'static str),
}

impl Parameter {
    /// The full name.
    pub const fn name(&self) -> &'static str {
        self.names[0]
    }

    pub(crate) const fn new(
        names: &'static [&'static str],
        kind: Kind,
        default: DefaultValue,
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
            is_exact: false,
            engines: &[],
            part_of: "",
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

    /// Known by these engines only.
    pub(crate) const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.engines = engines;
        self
    }

    /// Asks for nothing without this parameter.
    pub(crate) const fn part_of(mut self, name: &'static str) -> Self {
        self.part_of = name;
        self
    }

    /// Whether it may stand without a value.
    pub fn may_be_bare(&self) -> bool {
        matches!(self.kind, Kind::Flag | Kind::OptionalText)
    }

    /// The default in the words of the language; empty where there is none.
    pub fn default_text(&self) -> String {
        let list = |numbers: &[f64], between: &str| {
            let texts: Vec<String> = numbers.iter().map(f64::to_string).collect();
            texts.join(between)
        };
        match self.default {
            DefaultValue::Nothing => String::new(),
            DefaultValue::On(on) => match (self.kind, on) {
                (Kind::YesNo, true) => "yes".to_owned(),
                (Kind::YesNo, false) => "no".to_owned(),
                (_, on) => u8::from(on).to_string(),
            },
            DefaultValue::Number(number) => number.to_string(),
            DefaultValue::Decimal(number) => number.to_string(),
            DefaultValue::Decimals(numbers) => match self.kind {
                Kind::Decimals { .. } => list(numbers, ":"),
                _ => format!("({})", list(numbers, ",")),
            },
            DefaultValue::Percent(share) => format!("{share}%"),
            DefaultValue::Bytes(bytes) => bytes_text(bytes),
            DefaultValue::Nanos(nanos) => {
                let unit = match self.kind {
                    Kind::Time(unit) | Kind::TimeRange(unit) => unit,
                    _ => TimeUnit::Seconds,
                };
                (nanos / unit.nanos()).to_string()
            }
            DefaultValue::Word(text) | DefaultValue::Text(text) => text.to_owned(),
            DefaultValue::SameAs(name) => format!("that of `{name}`"),
            DefaultValue::Inherited(from) => format!("that of {from}"),
            DefaultValue::FromTarget => "as found".to_owned(),
            DefaultValue::Drawn => "another one for each execution".to_owned(),
            DefaultValue::Computed(rule) => rule.to_owned(),
        }
    }

    /// Where a default that is no value of its own comes from; empty for one that is.
    pub(crate) fn default_rule(&self) -> String {
        match self.default {
            DefaultValue::SameAs(_)
            | DefaultValue::Inherited(_)
            | DefaultValue::FromTarget
            | DefaultValue::Drawn
            | DefaultValue::Computed(_) => self.default_text(),
            _ => String::new(),
        }
    }

    /// Whether nothing comes of its default.
    pub(crate) fn asks_for_nothing(&self) -> bool {
        let is_nothing = match self.default {
            DefaultValue::Nothing | DefaultValue::On(false) => true,
            DefaultValue::Number(0) | DefaultValue::Bytes(0) | DefaultValue::Nanos(0) => true,
            DefaultValue::Decimal(number) => number == 0.0,
            DefaultValue::Word(text) | DefaultValue::Text(text) => {
                ["none", "no", "0"].contains(&text)
            }
            _ => false,
        };
        is_nothing || self.inert.contains(&self.default_text().as_str())
    }

    /// How far it is supported, in words.
    pub fn support_text(&self) -> String {
        let status = self.status.to_string();
        let inert = match (self.status, self.inert) {
            (Status::Honoured, _) | (_, []) => String::new(),
            (_, values) => format!(" (but `{}` is honoured)", values.join("`, `")),
        };
        let part_of = match self.part_of {
            "" => String::new(),
            name => format!(" (matters with `{name}` only)"),
        };
        status + &inert + &part_of
    }

    /// What it takes, its default and how far it is supported, each on a line, as plain text.
    pub(crate) fn details(&self) -> String {
        let mut out = format!("  takes:   {}\n", self.kind.text());
        let default = self.default_text();
        if !default.is_empty() {
            out += &format!("  default: {default}\n");
        }
        if !self.engines.is_empty() {
            out += &format!("  engines: {}\n", self.engines.join(", "));
        }
        out + &format!("  support: {}\n", self.support_text())
    }

    /// Whether its declaration names this word as a value.
    pub(crate) fn takes(&self, word: &str) -> bool {
        match self.kind {
            Kind::Words(words) => words.contains(&word),
            Kind::Form(form) => form.contains(&format!("`{word}`")),
            _ => false,
        }
    }

    /// The words that it takes, where it takes nothing else.
    pub(crate) fn words(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Words(words) => words,
            _ => &[],
        }
    }

    /// Its row on a page of reference; `names` may say more than the names.
    pub(crate) fn reference_row(&self, names: &str) -> String {
        format!(
            "| {names} | {} | {} | {} | {} |\n",
            self.kind.text(),
            self.default_text(),
            self.support_text(),
            self.doc
        )
    }

    /// Its names for a page of reference.
    pub(crate) fn reference_names(&self) -> String {
        format!("`{}`", self.names.join("`, `"))
    }
}

/// The head of a table of reference.
pub(crate) fn reference_head(what: &str) -> String {
    format!("| {what} | Takes | Default | Support | |\n|---|---|---|---|---|\n")
}

/// Bytes in the units that both languages share.
pub(crate) fn bytes_text(bytes: u64) -> String {
    match bytes {
        0 => "0".to_owned(),
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

/// A parameter with its declared default. Readers have no other way to a default, and this one
/// is gone when they are compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<T> {
    pub name: &'static str,
    pub default: T,
}

/// The default of the parameter with this full name, in the first table that has one.
///
/// # Panics
/// Where none is declared; at compile time where the name is known then.
pub(crate) const fn declared_among(tables: &[&[Parameter]], name: &str) -> DefaultValue {
    let mut table = 0;
    while table < tables.len() {
        let mut place = 0;
        while place < tables[table].len() {
            if is_same(tables[table][place].names[0], name) {
                return tables[table][place].default;
            }
            place += 1;
        }
        table += 1;
    }
    panic!("no parameter is declared by this name")
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

macro_rules! settings {
    ($($type:ty: $function:ident from $variant:ident($value:ident) => $held:expr;)*) => {
        $(
            impl Setting<$type> {
                pub(crate) const fn $function(name: &'static str, default: DefaultValue) -> Self {
                    match default {
                        DefaultValue::$variant($value) => Self { name, default: $held },
                        _ => panic!("the declared default is of another type, or there is none"),
                    }
                }
            }
        )*
    };
}

settings! {
    bool: on from On(on) => on;
    i64: number from Number(number) => number;
    f64: decimal from Decimal(number) => number;
    f64: percent from Percent(share) => share;
    u64: bytes from Bytes(bytes) => bytes;
    Nanos: nanos from Nanos(nanos) => Nanos(nanos);
    &'static str: word from Word(word) => word;
    &'static str: text from Text(text) => text;
    &'static [f64]: decimals from Decimals(numbers) => numbers;
}

impl TimeUnit {
    /// In nanoseconds.
    pub(crate) const fn nanos(self) -> u64 {
        match self {
            TimeUnit::Seconds => 1_000_000_000,
            TimeUnit::Microseconds => 1_000,
        }
    }
}

impl Kind {
    /// What it takes, in words.
    pub fn text(&self) -> String {
        let unit = |unit: &TimeUnit| match unit {
            TimeUnit::Seconds => "time, seconds without a unit",
            TimeUnit::Microseconds => "time, microseconds without a unit",
        };
        match self {
            Kind::Name => "a name".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::OptionalText => "text, or nothing".to_owned(),
            Kind::Texts => "text or list of texts".to_owned(),
            Kind::Words(words) => format!("`{}`", words.join("`, `")),
            Kind::YesNo => "`yes` or `no`".to_owned(),
            Kind::Flag => "nothing, 0 or 1".to_owned(),
            Kind::Truth => "0 or 1".to_owned(),
            Kind::Number { min, max } => format!("number{}", whole_bounds(*min, *max)),
            Kind::Numbers { min, max } => {
                format!("read[,write[,trim]]: numbers{}", whole_bounds(*min, *max))
            }
            Kind::List {
                is_time,
                least,
                most,
                min,
                max,
            } => {
                let what = match is_time {
                    true => "seconds (`m`: minutes, `h`: hours)",
                    false => "number",
                };
                format!("{what}{}{}", count(*least, *most), bounds(*min, *max))
            }
            Kind::Decimals { min, max, most } => match most {
                1 => format!("number, {min} to {max}"),
                most => format!("up to {most} numbers, {min} to {max}, separated by `:`"),
            },
            Kind::Size => "bytes, or `%`".to_owned(),
            Kind::Time(bare) => unit(bare).to_owned(),
            Kind::TimeRange(bare) => format!("{}, or a range of them", unit(bare)),
            Kind::Ranges => "read[,write[,trim]]: ranges of bytes".to_owned(),
            Kind::Cpus => "CPUs such as `0,2,8-15`".to_owned(),
            Kind::Form(form) => (*form).to_owned(),
        }
    }
}

fn whole_bounds(min: i64, max: i64) -> String {
    match (min, max) {
        (i64::MIN, _) => String::new(),
        (min, i64::MAX) => format!(", at least {min}"),
        (min, max) => format!(", {min} to {max}"),
    }
}

fn bounds(min: f64, max: f64) -> String {
    match (min.is_finite(), max.is_finite()) {
        (true, true) => format!(", {min} to {max}"),
        (true, false) => format!(", at least {min}"),
        _ => String::new(),
    }
}

fn count(least: usize, most: usize) -> String {
    match (least, most) {
        (1, 1) => String::new(),
        (1, usize::MAX) => ", list or range".to_owned(),
        (least, most) if least == most => format!(", {least} values"),
        (least, usize::MAX) => format!(", {least} values or more"),
        (least, most) => format!(", {least} to {most} values"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Whether a default is a value that could be given.
    pub(crate) fn fits(parameter: &Parameter) -> bool {
        let whole = |min: i64, max: i64, number: i64| (min..=max).contains(&number);
        let listed = |min: f64, max: f64, number: f64| (min..=max).contains(&number);
        match (parameter.kind, parameter.default) {
            (Kind::Name, default) => default == DefaultValue::Nothing,
            (
                _,
                DefaultValue::Nothing
                | DefaultValue::SameAs(_)
                | DefaultValue::Inherited(_)
                | DefaultValue::FromTarget
                | DefaultValue::Drawn
                | DefaultValue::Computed(_),
            ) => true,
            (Kind::Flag | Kind::Truth | Kind::YesNo, DefaultValue::On(_)) => true,
            (
                Kind::Number { min, max } | Kind::Numbers { min, max },
                DefaultValue::Number(number),
            ) => whole(min, max, number),
            (
                Kind::Number { min, max } | Kind::Numbers { min, max },
                DefaultValue::Bytes(bytes),
            ) => whole(min, max, bytes as i64),
            (
                Kind::List { min, max, .. } | Kind::Decimals { min, max, .. },
                DefaultValue::Decimal(number),
            ) => listed(min, max, number),
            (Kind::List { min, max, .. }, DefaultValue::Bytes(bytes)) => {
                listed(min, max, bytes as f64)
            }
            (
                Kind::List { min, max, .. } | Kind::Decimals { min, max, .. },
                DefaultValue::Decimals(numbers),
            ) => numbers.iter().all(|number| listed(min, max, *number)),
            (Kind::List { .. }, DefaultValue::Percent(_)) => true,
            (Kind::Size, DefaultValue::Bytes(_)) => true,
            (Kind::Time(unit) | Kind::TimeRange(unit), DefaultValue::Nanos(nanos)) => {
                nanos.is_multiple_of(unit.nanos())
            }
            (Kind::Words(words), DefaultValue::Word(word)) => words.contains(&word),
            (Kind::Text | Kind::Texts | Kind::Form(_), DefaultValue::Text(_)) => true,
            (Kind::Form(_), DefaultValue::Number(_) | DefaultValue::Decimal(_)) => true,
            _ => false,
        }
    }

    #[test]
    fn a_default_that_could_not_be_given_does_not_fit() {
        let parameter = |kind, default| Parameter::new(&["x"], kind, default, Status::Honoured, "");
        let number = Kind::Number { min: 1, max: 9 };
        assert!(fits(&parameter(number, DefaultValue::Number(9))));
        assert!(!fits(&parameter(number, DefaultValue::Number(0))));
        assert!(!fits(&parameter(number, DefaultValue::Word("9"))));
        assert!(!fits(&parameter(
            Kind::Words(&["a"]),
            DefaultValue::Word("b")
        )));
    }

    #[test]
    fn what_is_honoured_says_nothing_of_single_values() {
        let parameter = |status| {
            Parameter::new(&["x"], Kind::Truth, DefaultValue::On(false), status, "").inert(&["0"])
        };
        assert_eq!(parameter(Status::Honoured).support_text(), "honoured");
        assert_eq!(
            parameter(Status::CheckOnly).support_text(),
            "check only (but `0` is honoured)"
        );
    }
}
