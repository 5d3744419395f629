//! One written value to what it means, by the kind of its option. Every mistake is reported at its
//! place; must not know what an option is for.
use super::codes;
use super::declare::{Kind, Parameter};
use super::number::{self, Base, Number, NumberError};
use super::text::Words;
use crate::Environment;
use crate::nearest::instead_of;
use crate::parameter::TimeUnit;
use crate::sink::Sink;
use plan::{Diagnostic, Span};

/// What an option was set to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    /// One of the words, and what stands behind `:`.
    Word(&'static str, Option<String>),
    On(bool),
    Number(i64),
    /// Reads, writes, trims; missing ones are filled in by the rule of lists.
    Numbers([Option<i64>; 3]),
    Size(Size),
    Nanos(u64),
    NanosRange(u64, u64),
    Ranges([Option<(u64, u64)>; 3]),
    Decimals(Vec<f64>),
    Cpus(Vec<u32>),
}

/// An amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    Bytes(u64),
    Percent(f64),
}

/// What values are read in.
pub(crate) struct Context<'a, 'e> {
    pub environment: &'a Environment<'e>,
    pub base: Base,
    /// Whether the three words that stand for facts of the host are known here.
    pub knows_facts: bool,
}

/// One value being read.
struct Reader<'a, 'e> {
    parameter: &'static Parameter,
    /// As the user wrote the name.
    name: &'a str,
    context: &'a Context<'a, 'e>,
    span: Span,
    sink: &'a mut Sink,
}

/// The value of an option; `None` when it has none that can be used, which was reported.
pub(crate) fn read(
    parameter: &'static Parameter,
    name: &Words,
    written: Option<&Words>,
    context: &Context<'_, '_>,
    sink: &mut Sink,
) -> Option<Value> {
    let Some(written) = written else {
        return bare(parameter, name, sink);
    };
    let mut reader = Reader {
        parameter,
        name: &name.text,
        context,
        span: written.span,
        sink,
    };
    reader.value(&written.text)
}

/// What is to be said of a number whose unit the original does not see.
pub(crate) fn lost_unit(name: &str, text: &str, at: Span) -> Option<Diagnostic> {
    let body = text.trim_start();
    let is_number = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | 'x' | 'X' | '-' | '+');
    let digits = body
        .trim_end()
        .trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = body[digits.len()..].trim_end();
    let is_hidden = body.len() < text.len() || unit.starts_with([' ', '\t']);
    if unit.is_empty() || !is_hidden {
        return None;
    }
    let seen = digits.split(|c| !is_number(c)).next().unwrap_or(digits);
    let message = format!(
        "`{name}` is read as `{}{}`; fio reads `{seen}`, as of a blank it drops the unit",
        digits.trim_end(),
        unit.trim_start()
    );
    let warning = Diagnostic::warning(codes::LOST_UNIT, message);
    let help = "remove the blank beside the number";
    Some(
        warning
            .at(at, "a blank beside a number with a unit")
            .with_help(help),
    )
}

fn bare(parameter: &'static Parameter, name: &Words, sink: &mut Sink) -> Option<Value> {
    match parameter.kind {
        Kind::Flag => Some(Value::On(true)),
        Kind::OptionalText => Some(Value::Text(String::new())),
        _ => {
            sink.error(
                codes::NO_VALUE,
                name.span,
                format!("`{}` needs a value", name.text),
                "no value",
                format!("write `{}=…`: {}", name.text, parameter.kind.text()),
            );
            None
        }
    }
}

impl Reader<'_, '_> {
    fn value(&mut self, written: &str) -> Option<Value> {
        let (text, has_facts) = if self.context.knows_facts {
            number::with_facts(written, self.context.environment)
        } else {
            (written.to_owned(), false)
        };
        if text.trim().is_empty() && !matches!(self.parameter.kind, Kind::Flag | Kind::OptionalText)
        {
            self.error(codes::NO_VALUE, "needs a value", "nothing after `=`");
            return None;
        }
        let is_text = matches!(
            self.parameter.kind,
            Kind::Text | Kind::OptionalText | Kind::Form(_) | Kind::Words(_) | Kind::Cpus
        );
        let is_read_to_end = is_text && !matches!(self.parameter.kind, Kind::Form(_));
        let text = match is_read_to_end {
            true => text,
            false => self.without_comment(&text).to_owned(),
        };
        if !is_text && number::is_arithmetic(&text, has_facts) {
            return self.computed(&text);
        }
        if !is_text || matches!(self.parameter.kind, Kind::Cpus) {
            self.blank_before_number(text.split([',', ':']));
        }
        match self.parameter.kind {
            Kind::Text | Kind::OptionalText => Some(self.text(text)),
            Kind::Form(_) => self.form(&text).map(Value::Text),
            Kind::Words(words) => self.word(&text, words),
            Kind::Flag => self.flag(&text),
            Kind::Truth => self.truth(&text),
            Kind::Number { min, max } => self.number(&text, min, max).map(Value::Number),
            Kind::Numbers { min, max } => self.numbers(&text, min, max),
            Kind::Size => self.size(&text),
            Kind::Time(bare) => self.time(&text, bare).map(Value::Nanos),
            Kind::TimeRange(bare) => self.time_range(&text, bare),
            Kind::Ranges => self.ranges(&text),
            Kind::Decimals { min, max, most } => self.decimals(&text, min, max, most),
            Kind::Cpus => self.cpus(&text),
            Kind::Name | Kind::Texts | Kind::YesNo | Kind::List { .. } => {
                unreachable!("the tables of this language hold none: a test looks at each")
            }
        }
    }

    fn error(&mut self, code: &str, what: &str, label: &str) {
        let message = format!("`{}` {what}", self.name);
        let help = format!("it takes: {}", self.parameter.kind.text());
        self.sink.error(code, self.span, message, label, help);
    }

    /// The value as a text; a leading blank belongs to it, as in the original.
    fn text(&mut self, text: String) -> Value {
        if text.starts_with([' ', '\t']) {
            let message = format!("the value of `{}` begins with a blank", self.name);
            let help = "the blank belongs to the value; remove it unless it is meant";
            self.sink.warning(
                codes::SURPRISING_VALUE,
                self.span,
                message,
                "blanks after `=` are kept",
                help,
            );
        }
        Value::Text(text)
    }

    /// A text of a form of its own, which has its own reader.
    fn form(&mut self, text: &str) -> Option<String> {
        let text = self.without_blanks(text);
        self.closed_up(text)?;
        if !text.contains(['"', '\'']) {
            self.blank_before_number(text.split([':', ',', '/']).skip(1));
        }
        // Behind a comma, a split has the sizes of the next direction.
        let has_more = text.ends_with(',') && text.contains('/');
        Some(match has_more || text.contains(['"', '\'']) {
            true => text.to_owned(),
            false => self.without_closing(text).to_owned(),
        })
    }

    /// The original knows no word with a blank before its `:`; `None` where there is one, which was reported.
    fn closed_up(&mut self, text: &str) -> Option<()> {
        let Some((head, rest)) = text.split_once(':') else {
            return Some(());
        };
        let word = head.trim();
        let is_word = word.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
        if !is_word || !head.ends_with([' ', '\t']) {
            return Some(());
        }
        let message = format!(
            "`{}` does not know `{word}` with a blank before `:`",
            self.name
        );
        let help = format!("write `{}={word}:{}`", self.name, rest.trim());
        let label = "fio refuses it, too";
        self.sink
            .error(codes::UNKNOWN_WORD, self.span, message, label, help);
        None
    }

    /// The original passes over blanks before a number. Where it loses a unit by them, that is told elsewhere.
    fn blank_before_number<'t>(&mut self, mut parts: impl Iterator<Item = &'t str> + Clone) {
        let is_blank = |part: &str| {
            let number = part.trim_start();
            number.len() < part.len() && number.starts_with(|c: char| c.is_ascii_digit())
        };
        let reads_units = !matches!(self.parameter.kind, Kind::Form(_) | Kind::Words(_))
            || self.parameter.name() == "bssplit";
        let loses = |part: &str| lost_unit(self.name, part, self.span).is_some();
        if parts.clone().any(is_blank) && !(reads_units && parts.any(loses)) {
            self.leniency("a blank stands before a number");
        }
    }

    /// The original keeps blanks behind `=` and knows few words that begin with one; none that differ in nothing else.
    fn without_blanks<'t>(&mut self, text: &'t str) -> &'t str {
        let trimmed = text.trim();
        if text.trim_end().len() > trimmed.len() {
            self.leniency("a blank stands after `=`, which it may refuse");
        }
        trimmed
    }

    fn word(&mut self, text: &str, words: &'static [&'static str]) -> Option<Value> {
        let text = self.without_blanks(text);
        let text = self.without_comma(text);
        self.closed_up(text)?;
        self.blank_before_number(text.split(':').skip(1));
        let end = text.find([',', ':']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let word = word.trim_end();
        let Some(found) = words.iter().find(|known| **known == word) else {
            self.unknown_word(word, words);
            return None;
        };
        if rest.starts_with(',') {
            self.error(
                codes::VALUE_COUNT,
                "takes one word",
                "the original reads the first and drops the rest",
            );
            return None;
        }
        let suffix = rest.strip_prefix(':').map(str::to_owned);
        Some(Value::Word(found, suffix))
    }

    fn unknown_word(&mut self, word: &str, words: &[&str]) {
        let help = instead_of(word, words.iter().copied());
        let message = format!("`{}` does not know `{word}`", self.name);
        self.sink
            .error(codes::UNKNOWN_WORD, self.span, message, "unknown", help);
    }

    fn flag(&mut self, text: &str) -> Option<Value> {
        match self.without_closing(text).trim() {
            "" | "1" => Some(Value::On(true)),
            "0" => Some(Value::On(false)),
            other if other.parse::<i64>().is_ok() => {
                let message = format!("`{}` is a switch; `{other}` means on", self.name);
                let help = "write it without a value; the count of clones is `numjobs`";
                self.sink.warning(
                    codes::SURPRISING_VALUE,
                    self.span,
                    message,
                    "not a count",
                    help,
                );
                Some(Value::On(true))
            }
            other => {
                self.error(
                    codes::UNKNOWN_WORD,
                    &format!("does not know `{other}`"),
                    "not 0 or 1",
                );
                None
            }
        }
    }

    fn truth(&mut self, text: &str) -> Option<Value> {
        match self.without_closing(text).trim() {
            "0" => Some(Value::On(false)),
            "1" => Some(Value::On(true)),
            other => {
                let number = other.parse::<i64>();
                let (code, label) = if number.is_ok() {
                    (codes::OUT_OF_RANGE, "there are 0 and 1")
                } else {
                    (codes::NOT_A_NUMBER, "not 0 or 1")
                };
                if !self.is_placeholder(other) {
                    self.error(code, "is 0 or 1", label);
                }
                None
            }
        }
    }

    /// The value of an expression, as the kind of the option wants it.
    fn computed(&mut self, text: &str) -> Option<Value> {
        let Some(value) = number::calculate(text, self.context.base) else {
            let message = format!("`{text}` cannot be computed");
            let help = "whole numbers with `+ - * /` and parentheses";
            self.sink
                .error(codes::ARITHMETIC, self.span, message, "no result", help);
            return None;
        };
        let nanos = |unit: TimeUnit| {
            u64::try_from(value)
                .ok()
                .and_then(|v| v.checked_mul(unit.nanos()))
        };
        let positive = u64::try_from(value).ok();
        let result = match self.parameter.kind {
            Kind::Number { min, max } => self.bounded(value, min, max).map(Value::Number),
            Kind::Numbers { min, max } => {
                let value = self.bounded(value, min, max)?;
                Some(Value::Numbers([Some(value); 3]))
            }
            Kind::Size => positive.map(|bytes| Value::Size(Size::Bytes(bytes))),
            Kind::Time(unit) | Kind::TimeRange(unit) => nanos(unit).map(Value::Nanos),
            Kind::Ranges => positive
                .filter(|bytes| *bytes > 0)
                .map(|bytes| Value::Ranges([Some((bytes, bytes)); 3])),
            _ => None,
        };
        if result.is_none() {
            self.error(
                codes::OUT_OF_RANGE,
                &format!("cannot be {value}"),
                "computed",
            );
        }
        result
    }

    fn quantity(&mut self, text: &str) -> Option<i128> {
        if self.is_placeholder(text) {
            return None;
        }
        let text = self.without_closing(text);
        match number::quantity(text, self.context.base) {
            Ok(number) => {
                self.lost_unit(text);
                Some(self.plain(text, &number))
            }
            Err(error) => {
                self.not_a_number(text, &error, "k m g t p, and `b` may follow");
                None
            }
        }
    }

    /// The original reads no further than a bracket or a comma that was left from a call in a script or from a list.
    fn without_closing<'t>(&mut self, text: &'t str) -> &'t str {
        let trimmed = text.trim_end();
        let rest = trimmed.trim_end_matches([')', ']', '}', ',', '"']);
        if rest.len() < trimmed.len() && !rest.contains(['(', '[', '{', '"']) {
            self.leniency(&format!("`{}` follows the value", &trimmed[rest.len()..]));
            return rest;
        }
        text
    }

    /// The original reads a number no further than its unit, so that people write comments of other languages after one.
    fn without_comment<'t>(&mut self, text: &'t str) -> &'t str {
        let mut found = ["//", "/*"].into_iter().filter_map(|begin| {
            let (front, _) = text.split_once(begin)?;
            let is_number = front
                .trim_start()
                .starts_with(|c: char| c.is_alphanumeric());
            (is_number && front.ends_with([' ', '\t'])).then(|| (front.trim_end(), begin))
        });
        let Some((front, begin)) = found.next() else {
            return text;
        };
        self.leniency(&format!("what follows `{begin}` has no effect"));
        front
    }

    /// A remark about what fio passes over, and what cannot change a magnitude.
    fn leniency(&mut self, what: &str) {
        let message = format!("`{}` is read as fio reads it: {what}", self.name);
        let note = Diagnostic::note(codes::TRANSLATED, message);
        self.sink.push(note.at(self.span, "has no effect"));
    }

    /// The original reads a number up to the first blank that stands before its unit, or in front of both.
    fn lost_unit(&mut self, text: &str) {
        if let Some(warning) = lost_unit(self.name, text, self.span) {
            self.sink.push(warning);
        }
    }

    /// Says where the original reads another number than the one that was meant.
    fn plain(&mut self, text: &str, number: &Number) -> i128 {
        if number.is_decimal {
            let message = format!("`{}` is read as {}", text.trim(), number.value);
            self.sink.warning(
                codes::DECIMAL,
                self.span,
                message,
                "fio drops all from the point on, with the unit",
                "write a whole number of a smaller unit",
            );
        }
        if number.is_swapped {
            let (means, other) = match self.context.base {
                Base::Binary => ("a power of 1000", "Ki"),
                Base::Decimal => ("a power of 1024", "k"),
            };
            let message = format!("the unit of `{}` is {means} here", text.trim());
            let help =
                format!("as in fio; write it without `iB` (`k`, `{other}`) if the other is meant");
            self.sink.warning(
                codes::SURPRISING_VALUE,
                self.span,
                message,
                format!("{} bytes", number.value),
                help,
            );
        }
        number.value
    }

    fn not_a_number(&mut self, text: &str, error: &NumberError, units: &str) {
        let computed = format!("({})", text.trim());
        let is_computed = number::is_arithmetic(text, true)
            && number::calculate(&computed, self.context.base).is_some();
        let (label, help) = match error {
            NumberError::NoDigits => ("no digits".to_owned(), None),
            NumberError::Unit(_) if is_computed => (
                "fio reads the first number only".to_owned(),
                Some(format!(
                    "write `{}={computed}` to have it computed",
                    self.name
                )),
            ),
            NumberError::Unit(unit) if unit.starts_with('%') => (
                "fio takes it for another number".to_owned(),
                Some(format!(
                    "write `{}={}`",
                    self.name,
                    text.trim().trim_end_matches('%').trim_end()
                )),
            ),
            NumberError::Unit(unit) => (
                format!("`{unit}` is no unit"),
                Some(format!("units are {units}")),
            ),
            NumberError::TooLarge => ("beyond 64 bits".to_owned(), None),
        };
        let help = help.unwrap_or_else(|| format!("it takes: {}", self.parameter.kind.text()));
        let message = format!("`{}` cannot be `{}`", self.name, text.trim());
        self.sink
            .error(codes::NOT_A_NUMBER, self.span, message, label, help);
    }

    /// Words in angle brackets come from a guide and stand for numbers of the reader's own.
    fn is_placeholder(&mut self, text: &str) -> bool {
        let is_bracketed = text.contains('<') && text.contains('>');
        if !is_bracketed && !text.contains("{{") {
            return false;
        }
        let cpus = self.context.environment.cpus;
        let is_size = matches!(self.parameter.kind, Kind::Size | Kind::Ranges);
        let help = if is_size && text.to_ascii_lowercase().contains("ram") {
            format!(
                "write `{}=2*$mb_memory*1024*1024/$ncpus`, twice the memory over all CPUs",
                self.name
            )
        } else if text.to_ascii_lowercase().contains("cpu")
            || text.to_ascii_lowercase().contains("core")
        {
            format!(
                "this host has {cpus} CPUs: write `{}={cpus}`, or `{}=$ncpus`",
                self.name, self.name
            )
        } else {
            format!("it takes: {}", self.parameter.kind.text())
        };
        let message = format!("`{}` still holds a placeholder", self.name);
        self.sink.error(
            codes::PLACEHOLDER,
            self.span,
            message,
            "to be replaced by a number",
            help,
        );
        true
    }

    fn bounded(&mut self, value: i128, min: i64, max: i64) -> Option<i64> {
        let narrow = i64::try_from(value).ok();
        let inside = narrow.filter(|value| (min..=max).contains(value));
        if inside.is_none() {
            let label = format!("{value} is out of range");
            let what = match (min, max) {
                (min, i64::MAX) => format!("is at least {min}"),
                (min, max) => format!("is {min} to {max}"),
            };
            self.error(codes::OUT_OF_RANGE, &what, &label);
        }
        inside
    }

    fn number(&mut self, text: &str, min: i64, max: i64) -> Option<i64> {
        let text = self.without_comma(text);
        if text.contains(',') {
            self.error(codes::VALUE_COUNT, "takes one number", "several values");
            return None;
        }
        if let Some(value) = self.share_as_meant(text) {
            return Some(value);
        }
        let value = self.quantity(text)?;
        self.bounded(value, min, max)
    }

    /// The original takes a share with `%` for a number beyond all, and so for reads alone: where that is what is
    /// written, it does what it says.
    fn share_as_meant(&mut self, text: &str) -> Option<i64> {
        let value = match (self.parameter.name(), text.trim()) {
            ("rwmixread", "100%") => 100,
            ("rwmixwrite", "0%") => 0,
            _ => return None,
        };
        self.leniency("a number without `%` is enough");
        Some(value)
    }

    fn without_comma<'t>(&mut self, text: &'t str) -> &'t str {
        match text.trim_end().strip_suffix(',') {
            Some(rest) if !rest.contains(',') => {
                self.leniency("a comma follows the value");
                rest
            }
            _ => text,
        }
    }

    /// Up to three members; the outer `None` is a mistake.
    fn triple<T: Copy>(
        &mut self,
        text: &str,
        mut one: impl FnMut(&mut Self, &str) -> Option<T>,
    ) -> Option<[Option<T>; 3]> {
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 && !(parts.len() == 4 && parts[3].trim().is_empty()) {
            self.error(
                codes::VALUE_COUNT,
                "takes up to three values, for reads, writes and trims",
                "too many",
            );
            return None;
        }
        let mut out = [None; 3];
        let is_last = |index: usize| index > 0 && index + 1 == parts.len();
        for (index, part) in parts.iter().take(3).enumerate() {
            if is_last(index) && part.trim().trim_end_matches([')', ']', '}']).is_empty() {
                self.without_closing(part);
            } else if !part.trim().is_empty() {
                out[index] = Some(one(self, part)?);
            }
        }
        // Missing ones at the end copy the last; a comma at the end stops that.
        let last = parts.len().min(3) - 1;
        for index in last + 1..3 {
            out[index] = out[last];
        }
        Some(out)
    }

    fn numbers(&mut self, text: &str, min: i64, max: i64) -> Option<Value> {
        let pair = text.split_once(['-', ':']).filter(|(low, high)| {
            let starts = |part: &str| part.trim().starts_with(|c: char| c.is_ascii_digit());
            !text.contains(',') && starts(low) && starts(high)
        });
        if let Some((low, high)) = pair {
            let low = self.number(low, min, max)?;
            let high = self.number(high, min, max)?;
            let message = format!(
                "`{}` is read as fio reads it: {low} for reads, {high} for writes and trims",
                self.name
            );
            let warning = Diagnostic::warning(codes::SURPRISING_VALUE, message);
            let warning = warning.at(self.span, "no range here");
            self.sink
                .push(warning.with_help("write `bsrange` for sizes between two bounds"));
            return Some(Value::Numbers([Some(low), Some(high), Some(high)]));
        }
        self.triple(text, |reader, part| reader.number(part, min, max))
            .map(Value::Numbers)
    }

    fn size(&mut self, text: &str) -> Option<Value> {
        let text = self.without_closing(text);
        let trimmed = text.trim();
        if let Some(percent) = trimmed.strip_suffix('%') {
            let single = percent.trim_end_matches('%');
            let is_doubled = single.len() < percent.len();
            self.lost_unit(text);
            let Ok(percent) = single.trim().parse::<f64>() else {
                self.error(
                    codes::NOT_A_NUMBER,
                    "is no percentage",
                    "no number before `%`",
                );
                return None;
            };
            if percent.is_nan() || percent < 0.0 {
                self.error(codes::OUT_OF_RANGE, "is 0 to 100 %", "out of range");
                return None;
            }
            // Whether a job may have more than all of its files is seen when they are known.
            if percent > 100.0 && self.parameter.name() != "size" {
                let message = format!("`{}` is 0 to 100 %", self.name);
                let help = match self.parameter.name() {
                    "io_size" => "give bytes, or go over all of it again with `loops`",
                    _ => "give a share of at most 100 %, or bytes",
                };
                self.sink.error(
                    codes::OUT_OF_RANGE,
                    self.span,
                    message,
                    "out of range",
                    help,
                );
                return None;
            }
            if is_doubled && percent <= 100.0 {
                self.leniency("one `%` is enough");
            }
            return Some(Value::Size(Size::Percent(percent)));
        }
        let is_zones =
            trimmed.ends_with(['z', 'Z']) && trimmed[..trimmed.len() - 1].parse::<u64>().is_ok();
        if is_zones {
            let message = format!(
                "`{}` in zones is refused: zoned devices are not supported",
                self.name
            );
            self.sink.error(
                codes::REFUSED,
                self.span,
                message,
                "a count of zones",
                "give bytes or a percentage",
            );
            return None;
        }
        let value = self.quantity(text)?;
        let bytes = self.bounded(value, 0, i64::MAX)?;
        Some(Value::Size(Size::Bytes(bytes as u64)))
    }

    fn time(&mut self, text: &str, bare: TimeUnit) -> Option<u64> {
        if self.is_placeholder(text) {
            return None;
        }
        let text = self.without_closing(text);
        match number::time(text, bare) {
            Ok(number) => {
                self.lost_unit(text);
                if number.is_decimal {
                    let message = format!(
                        "`{}` is read as {} ms",
                        text.trim(),
                        number.value / 1_000_000
                    );
                    let help = "write a whole number of a smaller unit";
                    self.sink.warning(
                        codes::DECIMAL,
                        self.span,
                        message,
                        "fio drops the decimals",
                        help,
                    );
                }
                self.bounded(number.value, 0, i64::MAX)
                    .map(|value| value as u64)
            }
            Err(error) => {
                self.not_a_number(text, &error, "d h m s ms us; fio takes any other for µs");
                None
            }
        }
    }

    fn time_range(&mut self, text: &str, bare: TimeUnit) -> Option<Value> {
        let range = text
            .trim()
            .split_once(['-', ':'])
            .filter(|(low, _)| !low.is_empty());
        let Some((low, high)) = range else {
            return self.time(text, bare).map(Value::Nanos);
        };
        let (low, high) = (self.time(low, bare)?, self.time(high, bare)?);
        Some(Value::NanosRange(low.min(high), low.max(high)))
    }

    fn ranges(&mut self, text: &str) -> Option<Value> {
        self.triple(text, |reader, part| {
            let (low, high) = part.split_once(['-', ':']).unwrap_or((part, part));
            let (low, high) = reader.without_shares(part, low, high);
            let low = reader.quantity(low)?;
            let low = reader.bounded(low, 1, i64::MAX)? as u64;
            let high = reader.quantity(high)?;
            let high = reader.bounded(high, 1, i64::MAX)? as u64;
            Some((low.min(high), low.max(high)))
        })
        .map(Value::Ranges)
    }

    /// The bounds of a range behind which something like the shares of `bssplit` follows: the original reads two numbers
    /// and no further.
    fn without_shares<'t>(
        &mut self,
        part: &'t str,
        low: &'t str,
        high: &'t str,
    ) -> (&'t str, &'t str) {
        let until_share = |text: &'t str| text.split(['/', ':', '-']).next().unwrap_or(text);
        let short = (until_share(low), until_share(high));
        if short != (low, high) {
            let message = format!(
                "`{}` takes two bounds: `{}` is read as {} to {}, as in fio",
                self.name,
                part.trim(),
                short.0.trim(),
                short.1.trim()
            );
            let warning = Diagnostic::warning(codes::SURPRISING_VALUE, message);
            let warning = warning.at(self.span, "shares have no effect here");
            self.sink
                .push(warning.with_help("use `bssplit` for sizes with shares"));
        }
        short
    }

    fn decimals(&mut self, text: &str, min: f64, max: f64, most: usize) -> Option<Value> {
        let mut out = Vec::new();
        let text = self.without_closing(text).trim_end();
        let kept = text.trim_end_matches(':');
        if kept.len() < text.len() && !kept.is_empty() {
            self.leniency("`:` follows the value");
        }
        for part in kept.split([':', ',']).map(str::trim) {
            match part.parse::<f64>() {
                Ok(number) if (min..=max).contains(&number) => out.push(number),
                Ok(number) => {
                    let what = format!("is {min} to {max}");
                    self.error(
                        codes::OUT_OF_RANGE,
                        &what,
                        &format!("{number} is out of range"),
                    );
                    return None;
                }
                Err(_) => {
                    if !self.is_placeholder(part) {
                        let what = format!("cannot be `{part}`");
                        self.error(codes::NOT_A_NUMBER, &what, "no number");
                    }
                    return None;
                }
            }
        }
        if out.len() > most {
            let what = format!("takes up to {most} numbers");
            self.error(codes::VALUE_COUNT, &what, &format!("{} numbers", out.len()));
            return None;
        }
        Some(Value::Decimals(out))
    }

    fn cpus(&mut self, text: &str) -> Option<Value> {
        let mut out = Vec::new();
        let text = self.without_closing(text);
        for part in text.trim().split(',').map(str::trim) {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (Ok(low), Ok(high)) = (low.trim().parse::<u32>(), high.trim().parse::<u32>())
            else {
                self.error(codes::NOT_A_NUMBER, "is a list of CPUs", "not a CPU");
                return None;
            };
            if high > 65_535 || low > high {
                self.error(codes::OUT_OF_RANGE, "is a list of CPUs", "out of range");
                return None;
            }
            out.extend(low..=high);
        }
        Some(Value::Cpus(out))
    }
}
