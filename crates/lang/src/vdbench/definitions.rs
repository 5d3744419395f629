//! Pairs to definitions: which section a keyword opens, which parameter it means, whether its
//! values are of the right kind. Must not know what the values mean together.
use super::codes;
use super::declare::{Kind, Parameter, Section, unit};
use super::sink::Sink;
use super::token::{Pair, Word};
use super::value::{self, NotNumbers, Number, SECONDS_MAX};
use crate::nearest::{instead_of, nearest};
use plan::{Diagnostic, Span};

/// A definition with its parameters in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub section: Section,
    pub name: Word,
    pub fields: Vec<Field>,
}

/// A parameter with its values.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub parameter: &'static Parameter,
    pub words: Vec<Word>,
    /// For parameters that take numbers.
    pub numbers: Vec<Number>,
    pub starts_line: bool,
    pub span: Span,
    /// Whether the values are of the right kind; if not, that was reported.
    pub is_valid: bool,
}

/// Groups pairs to definitions; the first one holds the general parameters.
pub(crate) fn group(pairs: Vec<Pair>, sink: &mut Sink) -> Vec<Definition> {
    let nowhere = pairs.first().map_or(
        Span {
            source: plan::SourceId(0),
            start: 0,
            end: 0,
        },
        |pair| pair.span,
    );
    let mut grouping = Grouping {
        section: Section::General,
        definitions: vec![Definition {
            section: Section::General,
            name: Word {
                text: String::new(),
                span: nowhere,
            },
            fields: Vec::new(),
        }],
        skips_line: false,
        sink,
    };
    for pair in pairs {
        grouping.pair(pair);
    }
    grouping.definitions
}

struct Grouping<'a> {
    section: Section,
    definitions: Vec<Definition>,
    /// The rest of the line follows from an error and says nothing new.
    skips_line: bool,
    sink: &'a mut Sink,
}

/// What a keyword does in a section.
enum Role {
    Opens(Section),
    OpensTooLate(Section),
    Parameter,
}

impl Grouping<'_> {
    fn pair(&mut self, pair: Pair) {
        if pair.starts_line {
            self.skips_line = false;
        } else if self.skips_line {
            return;
        }
        let keyword = pair.keyword.text.to_ascii_lowercase();
        match self.role(&keyword, &pair) {
            Role::Opens(section) => self.open(section, pair),
            Role::OpensTooLate(section) => {
                self.report_too_late(section, &pair);
                self.open(section, pair);
            }
            Role::Parameter => self.parameter(&keyword, pair),
        }
    }

    fn role(&self, keyword: &str, pair: &Pair) -> Role {
        use Section::*;
        let opened = match keyword {
            "hd" | "host" => Host,
            "rg" => ReplayGroup,
            "sd" => Storage,
            "wd" => Workload,
            "fsd" => FileSystem,
            "fwd" => FileWorkload,
            "rd" => return Role::Opens(Run),
            _ => return Role::Parameter,
        };
        let is_file_side = |section| matches!(section, FileSystem | FileWorkload);
        if self.section <= opened
            || (is_file_side(self.section) && opened < FileSystem && opened > ReplayGroup)
        {
            return Role::Opens(opened);
        }
        if self.section.find(keyword).is_none() {
            return Role::OpensTooLate(opened);
        }
        // On a run, `wd=` on a line of its own is a second workload list or a late definition.
        let is_new = !self.may_refer(opened, pair);
        let is_late = match self.section {
            Run => self.has(keyword) || is_new,
            // A workload names its storage in a line of its own, too; a misspelt name is no definition.
            Workload if opened != Storage => false,
            FileWorkload if opened != FileSystem => false,
            Workload | FileWorkload => is_new && (self.has(keyword) || !self.defines(opened)),
            _ => false,
        };
        if pair.starts_line && is_late {
            Role::OpensTooLate(opened)
        } else {
            Role::Parameter
        }
    }

    /// Whether a definition of the section came before.
    fn defines(&self, section: Section) -> bool {
        self.definitions
            .iter()
            .any(|definition| definition.section == section)
    }

    /// Whether the definition at hand has the parameter.
    fn has(&self, keyword: &str) -> bool {
        self.definitions.last().is_some_and(|definition| {
            definition
                .fields
                .iter()
                .any(|field| field.parameter.name() == keyword)
        })
    }

    /// Whether the values can be references: a single new name is a definition that comes late.
    fn may_refer(&self, section: Section, pair: &Pair) -> bool {
        let [name] = pair.values.as_slice() else {
            return true;
        };
        let is_form = name.text.contains(['*', '-', '$', '!', '#'])
            || ["single", "range"].contains(&name.text.as_str())
            || name.text.starts_with("setsof");
        is_form
            || self.definitions.iter().any(|definition| {
                definition.section == section
                    && (definition.name.text == name.text
                        // Copies get numbers behind the name.
                        || name.text.starts_with(&definition.name.text))
            })
    }

    fn open(&mut self, section: Section, pair: Pair) {
        let Some(name) = pair.values.first().cloned() else {
            self.skips_line = true;
            return;
        };
        // `host=(address,label)` is an older form of `hd=label,system=address`.
        let is_older_host = section == Section::Host && pair.values.len() == 2;
        if pair.values.len() > 1 && !is_older_host {
            let what = section.title();
            self.sink.error(
                codes::VALUE_COUNT,
                pair.span,
                format!("a {what} has one name"),
                "more than one name",
                format!("write one `{}=` for each", section.keyword()),
            );
        }
        let mut definition = Definition {
            section,
            name: if is_older_host {
                pair.values[1].clone()
            } else {
                name.clone()
            },
            fields: Vec::new(),
        };
        if is_older_host {
            let system = Pair {
                values: vec![name],
                ..pair
            };
            let parameter = section.find("system").expect("a host has a system");
            definition.fields.push(field(parameter, system));
        }
        self.section = section;
        self.definitions.push(definition);
    }

    fn report_too_late(&mut self, section: Section, pair: &Pair) {
        let (what, here) = (section.phrase(), self.section.phrase());
        self.sink.error(
            codes::OUT_OF_ORDER,
            pair.span,
            format!("{what} after {here}"),
            "too late here",
            "the order is general, hd, rg, sd, wd, rd; or general, hd, fsd, fwd, rd",
        );
    }

    fn parameter(&mut self, keyword: &str, pair: Pair) {
        if keyword.chars().count() < 2 {
            self.sink.error(
                codes::SHORT_KEYWORD,
                pair.keyword.span,
                format!("keyword `{keyword}` is too short"),
                "two letters at least",
                "write the keyword in full",
            );
            return;
        }
        let Some(parameter) = self.section.find(keyword) else {
            self.unknown(keyword, pair);
            return;
        };
        if pair.values.is_empty() {
            return;
        }
        let definition = self.definitions.last_mut().expect("general comes first");
        let once = ["messagescan", "pattern"];
        let is_list_of_run =
            definition.section == Section::Run && ["wd", "fwd"].contains(&parameter.name());
        if (definition.section == Section::General && once.contains(&parameter.name()))
            || is_list_of_run
        {
            let first = definition
                .fields
                .iter()
                .find(|field| field.parameter.name() == parameter.name());
            if let Some(first) = first {
                let name = parameter.name();
                self.sink.push(
                    Diagnostic::error(codes::REPEATED, format!("`{name}` is given twice"))
                        .at(pair.span, "second time")
                        .with_related(first.span, "first set here")
                        .with_help("keep one of them; several names go into one list, `(a,b)`"),
                );
                return;
            }
        }
        definition.fields.push(field(parameter, pair));
    }

    fn unknown(&mut self, keyword: &str, pair: Pair) {
        let here = self.section.phrase();
        let names = self
            .section
            .parameters()
            .iter()
            .flat_map(|parameter| parameter.names.iter().copied());
        let shown = &pair.keyword.text;
        let elsewhere: Vec<&str> = Section::ALL
            .into_iter()
            .filter(|section| *section != self.section)
            .filter(|section| {
                section
                    .parameters()
                    .iter()
                    .any(|parameter| parameter.names.contains(&keyword))
            })
            .map(|section| match section {
                Section::General => "the general parameters at the start",
                other => other.keyword(),
            })
            .collect();
        if !elsewhere.is_empty() {
            self.sink.error(
                codes::OTHER_SECTION,
                pair.keyword.span,
                format!("`{shown}` is not a parameter of {here}"),
                "does not belong here",
                format!("it belongs to: {}", elsewhere.join(", ")),
            );
            return;
        }
        let near = nearest(keyword, names);
        let opened = pair
            .starts_line
            .then(|| misspelt_section(keyword))
            .flatten();
        let help = match (near, opened) {
            (_, Some(opened)) => format!("did you mean `{}=`?", opened.keyword()),
            (Some(near), _) => format!("did you mean `{near}`?"),
            _ => format!("`fathom help vdbench` lists the parameters of {here}"),
        };
        self.sink.error(
            codes::UNKNOWN_PARAMETER,
            pair.keyword.span,
            format!("unknown parameter `{shown}` in {here}"),
            "not known here",
            help,
        );
        if let Some(opened) = opened {
            self.open(opened, pair);
            return;
        }
        self.skips_line = pair.starts_line && near.is_none();
    }
}

/// The section that a short keyword at the start of a line was to open.
fn misspelt_section(keyword: &str) -> Option<Section> {
    if keyword.len() > 4 {
        return None;
    }
    let near = nearest(keyword, Section::ALL.map(Section::keyword))?;
    Section::ALL
        .into_iter()
        .find(|section| section.keyword() == near)
}

fn field(parameter: &'static Parameter, pair: Pair) -> Field {
    Field {
        parameter,
        words: pair.values,
        numbers: Vec::new(),
        starts_line: pair.starts_line,
        span: pair.span,
        is_valid: pair.is_valid,
    }
}

/// Repeats every definition that holds a host token for each host, and fills the tokens in.
pub(crate) fn replicate(definitions: Vec<Definition>, hosts: &[String]) -> Vec<Definition> {
    let mut out = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let takes_tokens = matches!(
            definition.section,
            Section::Storage | Section::Workload | Section::FileSystem | Section::FileWorkload
        );
        if !takes_tokens || !definition.texts().any(|text| text.contains("host")) {
            out.push(definition);
            continue;
        }
        let total = hosts.len().to_string();
        let definition = definition.map_texts(&|text| text.replace("#hosts", &total));
        let has_token = definition.texts().any(|text| {
            ["$host", "!host", "#host"]
                .iter()
                .any(|token| text.contains(token))
        });
        if !has_token {
            out.push(definition);
            continue;
        }
        for (index, host) in hosts.iter().enumerate() {
            out.push(definition.clone().map_texts(&|text| {
                text.replace("$host", host)
                    .replace("!host", host)
                    .replace("#host", &index.to_string())
            }));
        }
    }
    out
}

impl Definition {
    fn texts(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.text.as_str()).chain(
            self.fields
                .iter()
                .flat_map(|field| field.words.iter().map(|word| word.text.as_str())),
        )
    }

    fn map_texts(mut self, change: &dyn Fn(&str) -> String) -> Self {
        self.name.text = change(&self.name.text);
        for field in &mut self.fields {
            for word in &mut field.words {
                word.text = change(&word.text);
            }
        }
        self
    }

    /// Whether it sets defaults for those that follow.
    pub(crate) fn is_default(&self) -> bool {
        self.name.text == "default"
    }
}

/// Reads the values of every field by the kind of its parameter.
pub(crate) fn check_kinds(definitions: &mut [Definition], sink: &mut Sink) {
    for definition in definitions {
        for field in definition.fields.iter_mut().filter(|field| field.is_valid) {
            check_kind(field, sink);
        }
    }
}

fn check_kind(field: &mut Field, sink: &mut Sink) {
    match field.parameter.kind {
        Kind::List {
            least,
            most,
            min,
            max,
            ..
        } => {
            let read = if most == 1 && field.words.len() > 1 {
                None
            } else {
                Some(value::numbers(&field.words, unit(field.parameter)))
            };
            match read {
                None => one_number(field, sink),
                Some(Err(problem)) => {
                    field.is_valid = false;
                    report_not_numbers(field, problem, sink);
                }
                Some(Ok(numbers)) if numbers.len() < least || numbers.len() > most => {
                    let takes = field.parameter.kind.text();
                    wrong_count(field, &takes, sink);
                }
                Some(Ok(numbers)) => {
                    field.is_valid = check_bounds(&numbers, field, (min, max), sink);
                    warn_downward(field, sink);
                    field.numbers = numbers;
                }
            }
        }
        Kind::Name | Kind::Text => {
            if field.words.len() > 1 {
                wrong_count(field, "one value", sink);
            }
        }
        Kind::Words(known) => check_words(field, known, sink),
        Kind::YesNo => check_yes_no(field, sink),
        Kind::Texts | Kind::Form(_) => {}
        _ => unreachable!("the tables of this language hold no others: a test looks at each"),
    }
}

fn check_bounds(numbers: &[Number], field: &Field, bounds: (f64, f64), sink: &mut Sink) -> bool {
    let name = field.parameter.name();
    let (min, max) = bounds;
    let is_outside = |number: &&Number| number.value < min || number.value > max;
    let mut is_valid = true;
    for number in numbers.iter().filter(is_outside) {
        is_valid = false;
        let mut help = if max == SECONDS_MAX as f64 {
            format!("`{name}` is between {min} and {max} seconds, which are ten years")
        } else if max.is_finite() {
            format!("`{name}` is between {min} and {max}")
        } else {
            format!("`{name}` is at least {min}")
        };
        // A percentage is kept as a negative number.
        let mut words = field.words.iter().filter(|word| word.span == number.span);
        if let Some(bare) = words.find_map(|word| word.text.strip_suffix('%')) {
            help += &format!(": write `{bare}`, without `%`");
        } else if name == "streams" && number.value == 1.0 {
            help += ": remove it for one stream";
        }
        sink.error(
            codes::OUT_OF_RANGE,
            number.span,
            format!("`{name}` is out of range"),
            "out of range",
            help,
        );
    }
    is_valid
}

/// Several values of a parameter that takes one.
fn one_number(field: &mut Field, sink: &mut Sink) {
    let mut takes = field.parameter.kind.text();
    if field.parameter.name() == "streams" {
        let count = &field.words[0].text;
        takes += &format!("; write `streams={count}`: the slices are equal parts of `range`");
    }
    wrong_count(field, &takes, sink);
}

fn wrong_count(field: &mut Field, takes: &str, sink: &mut Sink) {
    field.is_valid = false;
    let name = field.parameter.name();
    let count = field.words.len();
    sink.error(
        codes::VALUE_COUNT,
        field.span,
        format!("`{name}` has the wrong count of values"),
        format!("{count} given"),
        format!("it takes: {takes}"),
    );
}

pub(crate) fn report_not_numbers(field: &Field, problem: NotNumbers, sink: &mut Sink) {
    let name = field.parameter.name();
    let (code, word, message, help) = match problem {
        NotNumbers::Text(word) => {
            let help = number_help(field, &word.text);
            let message = format!("`{}` is not a number, as `{name}` needs", word.text);
            (codes::NOT_A_NUMBER, word, message, help)
        }
        NotNumbers::Mixed(word) => {
            let message = format!("`{name}` mixes numbers and text");
            let help = "all values of a list are numbers, or none; a range that doubles is written `(1-64,d)`";
            (codes::MIXED_LIST, word, message, help.to_owned())
        }
        NotNumbers::NoStep(word) => {
            let message = format!("range `{}` has no step", word.text);
            let help = format!(
                "write `({},STEP)`, or `({},d)` to double",
                word.text, word.text
            );
            (codes::VALUE_COUNT, word, message, help)
        }
        NotNumbers::BadStep(word) => {
            let message = format!("`{}` cannot be the step of a range", word.text);
            let help = "a step is a number above zero, or `d` to double or halve above zero";
            (codes::OUT_OF_RANGE, word, message, help.to_owned())
        }
        NotNumbers::TooMany(word) => {
            let message = format!("`{name}` has more than 10240 values");
            let help = "use a larger step, or several definitions";
            (codes::VALUE_COUNT, word, message, help.to_owned())
        }
        NotNumbers::TooLarge(word) => {
            let message = format!("`{}` is too large for `{name}`", word.text);
            let help = match unit(field.parameter) {
                value::Unit::Seconds => format!("times end at ten years, {SECONDS_MAX} s"),
                value::Unit::Plain => "numbers end at 2^62; as bytes, that is 4 EiB".to_owned(),
            };
            (codes::OUT_OF_RANGE, word, message, help)
        }
    };
    sink.error(code, word.span, message, "here", help);
}

fn number_help(field: &Field, text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let unit = unit(field.parameter);
    let digits = lower.trim_end_matches(|ch: char| ch.is_ascii_alphabetic());
    let suffix: String = lower[digits.len()..].chars().take(1).collect();
    if suffix == "s" && value::number(digits, unit).is_some() {
        return format!("there is no suffix `s`: write `{digits}`");
    }
    // `kib`, `kbyte`, `min`, `hours`: the first letter is the suffix of the language.
    let short = format!("{digits}{suffix}");
    if value::number(&short, unit).is_some() {
        return format!("write `{short}`");
    }
    format!("it takes: {}", field.parameter.kind.text())
}

fn warn_downward(field: &Field, sink: &mut Sink) {
    let unit = unit(field.parameter);
    for pair in field.words.windows(2) {
        let Some((low, high)) = value::range(&pair[0].text, unit) else {
            continue;
        };
        if value::number(&pair[0].text, unit).is_none()
            && low > high
            && !pair[1].text.eq_ignore_ascii_case("d")
        {
            sink.warning(
                codes::DOWNWARD_RANGE,
                pair[0].span,
                "a range with a step runs upward only",
                "yields its first value only",
                match pair[0].text.split_once('-') {
                    Some((first, last)) => {
                        format!(
                            "write the values as a list, or upward: `({last}-{first},{})`",
                            pair[1].text
                        )
                    }
                    None => "write the values as a list".to_owned(),
                },
            );
        }
    }
}

fn check_words(field: &mut Field, known: &'static [&'static str], sink: &mut Sink) {
    for word in &field.words {
        let lower = word.text.to_ascii_lowercase();
        if known.iter().any(|known| known.starts_with(&lower)) {
            continue;
        }
        // Numbers belong to `distribution=variable` and the like, which look at them themselves.
        field.is_valid = false;
        let name = field.parameter.name();
        let help = instead_of(&lower, known.iter().copied());
        sink.error(
            codes::UNKNOWN_WORD,
            word.span,
            format!("`{}` is not a value of `{name}`", word.text),
            "not known",
            help,
        );
    }
}

fn check_yes_no(field: &mut Field, sink: &mut Sink) {
    for word in &field.words {
        let first = word.text.chars().next().unwrap_or(' ').to_ascii_lowercase();
        if first != 'y' && first != 'n' {
            let name = field.parameter.name();
            sink.warning(
                codes::SURPRISING_VALUE,
                word.span,
                format!("`{}` is neither yes nor no", word.text),
                "read as `no`",
                format!("write `{name}=yes` or `{name}=no`"),
            );
        }
    }
}
