//! What a parameter holds in the end and where that comes from, as one line of `explain`. Each
//! language knows where its parameters stand in a bound plan; see `fio::explain` and
//! `vdbench::explain`.
use crate::Status;
use crate::parameter::{DefaultValue, Parameter, bytes_text};
use plan::{Nanos, Origin, PlanValue, TransferSizes};

/// A parameter with the value that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// What it belongs to, as the user named it.
    pub subject: String,
    pub name: &'static str,
    pub value: String,
    /// A default has the rule of its declaration, if it has one.
    pub origin: Origin,
    /// What has to be said of a value that is given.
    pub note: Option<String>,
}

impl Explained {
    /// Whether nobody wrote it.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.origin, Origin::Default(_) | Origin::Derived(_))
    }
}

/// Where a value comes from that no place says alone.
pub(crate) const OTHERS: &str = "other parameters of the job";

/// What a bound plan holds of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// This, in the words of the language.
    Value(String),
    /// This, which was found on the machine unless it is given.
    Found(String),
    /// Nothing: it has no effect on what is run.
    Nothing,
    /// It has no place of its own there: readers, reports or the preparation use it as it stands.
    AsSaid,
}

impl Held {
    pub(crate) fn value(value: impl ToString) -> Self {
        Held::Value(value.to_string())
    }

    /// A truth in the words of fio.
    pub(crate) fn on(on: bool) -> Self {
        Self::value(u8::from(on))
    }

    /// As it stands where that has an effect.
    pub(crate) fn said_if(has_effect: bool) -> Self {
        match has_effect {
            true => Held::AsSaid,
            false => Held::Nothing,
        }
    }
}

/// Whether a value was written, by whoever.
pub(crate) fn is_given(value: &PlanValue) -> bool {
    !matches!(value.origin, Origin::Default(_))
}

/// The line of one value, if it has an effect or was given.
pub(crate) fn explained(
    value: &PlanValue,
    parameter: &'static Parameter,
    held: Held,
) -> Option<Explained> {
    let line = |text: String, origin: Origin, note: Option<String>| Explained {
        subject: value.subject.clone(),
        name: parameter.name(),
        value: text,
        origin,
        note,
    };
    if is_given(value) {
        let origin = value.origin.clone();
        return Some(match held {
            Held::Value(used) | Held::Found(used) => line(used, origin, None),
            Held::Nothing => {
                let note = "has no effect on this job".to_owned();
                line(value.value.clone(), origin, Some(note))
            }
            Held::AsSaid => line(value.value.clone(), origin, note(parameter.status)),
        });
    }
    let default = Origin::Default(parameter.default_rule());
    match held {
        Held::Found(found) => Some(line(
            found,
            Origin::Derived("this machine".to_owned()),
            None,
        )),
        Held::Value(used) => {
            let is_default = parameter.default_rule() != "" || is_same(parameter, &used);
            let origin = match is_default {
                true => default,
                false => Origin::Derived(OTHERS.to_owned()),
            };
            Some(line(used, origin, None))
        }
        Held::AsSaid if !parameter.asks_for_nothing() => {
            let origin = Origin::Default(String::new());
            Some(line(parameter.default_text(), origin, None))
        }
        Held::Nothing | Held::AsSaid => None,
    }
}

fn note(status: Status) -> Option<String> {
    match status {
        Status::Honoured => None,
        Status::Translated(note) => Some(note.to_owned()),
        Status::CheckOnly => Some("read and checked only".to_owned()),
        Status::Refused(reason) => Some(format!("refused: {reason}")),
    }
}

/// Whether a value in the words of the language is the default.
fn is_same(parameter: &Parameter, used: &str) -> bool {
    match parameter.default {
        DefaultValue::Number(number) if number > 0 && used == bytes_text(number as u64) => true,
        DefaultValue::Nanos(nanos) if used == time_text(Nanos(nanos)) => true,
        _ => used == parameter.default_text(),
    }
}

/// A time with its unit, exactly.
pub(crate) fn time_text(time: Nanos) -> String {
    let (count, unit) = match time.0 {
        nanos if nanos.is_multiple_of(1_000_000_000) => (nanos / 1_000_000_000, "s"),
        nanos if nanos.is_multiple_of(1_000_000) => (nanos / 1_000_000, "ms"),
        nanos if nanos.is_multiple_of(1_000) => (nanos / 1_000, "us"),
        nanos => (nanos, "ns"),
    };
    format!("{count}{unit}")
}

/// Sizes as lists of sizes with their shares, or two ends with a step.
pub(crate) fn sizes_text(sizes: &TransferSizes) -> String {
    match sizes {
        TransferSizes::Fixed(bytes) => bytes_text(*bytes),
        TransferSizes::Mix(shares) => {
            let share =
                |share: &plan::SizeShare| format!("{}/{}", bytes_text(share.bytes), share.pct);
            shares.iter().map(share).collect::<Vec<_>>().join(":")
        }
        TransferSizes::Uniform { min, max, step } => {
            let [min, max, step] = [min, max, step].map(|bytes| bytes_text(*bytes));
            format!("{min}-{max} by {step}")
        }
        TransferSizes::Capped { min, max, step } => {
            let [min, max, step] = [min, max, step].map(|bytes| bytes_text(*bytes));
            format!("{min}-{max} by {step}, {max} for what is above")
        }
    }
}

/// More values than these are not listed one by one.
const LISTED_MAX: usize = 6;

/// Each of several values once; nothing where there is none.
pub(crate) fn several(texts: impl Iterator<Item = String>) -> Held {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    match found.as_slice() {
        [] => Held::Nothing,
        [first, .., last] if found.len() > LISTED_MAX => {
            Held::Value(format!("{first} … {last} ({} values)", found.len()))
        }
        _ => Held::Value(found.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Kind;

    static DEPTH: Parameter = Parameter::new(
        &["depth"],
        Kind::Number { min: 1, max: 9 },
        DefaultValue::Number(1),
        Status::Honoured,
        "",
    );

    fn line(origin: Origin, held: Held) -> Option<Explained> {
        let value = PlanValue {
            subject: "[a]".to_owned(),
            name: "depth".to_owned(),
            value: "8".to_owned(),
            origin,
        };
        explained(&value, &DEPTH, held)
    }

    #[test]
    fn the_value_that_is_used_stands_before_the_one_that_is_written() {
        let given = || Origin::Argument("--depth=8".to_owned());
        let used = line(given(), Held::value(1)).unwrap();
        assert_eq!((used.value.as_str(), used.origin), ("1", given()));
        let idle = line(given(), Held::Nothing).unwrap();
        assert_eq!(idle.value, "8");
        assert!(idle.note.unwrap().contains("no effect"));
    }

    #[test]
    fn a_default_is_told_from_what_others_and_the_machine_make_of_it() {
        let default = || Origin::Default("anything".to_owned());
        let of = |held| line(default(), held).map(|line| (line.value, line.origin));
        let declared = Origin::Default(String::new());
        assert_eq!(of(Held::value(1)), Some(("1".to_owned(), declared.clone())));
        assert_eq!(of(Held::AsSaid), Some(("1".to_owned(), declared)));
        let others = Origin::Derived("other parameters of the job".to_owned());
        assert_eq!(of(Held::value(3)), Some(("3".to_owned(), others)));
        let machine = Origin::Derived("this machine".to_owned());
        assert_eq!(
            of(Held::Found("4".to_owned())),
            Some(("4".to_owned(), machine))
        );
        assert_eq!(of(Held::Nothing), None);
    }

    #[test]
    fn times_are_exact_and_many_values_are_counted() {
        assert_eq!(time_text(Nanos(90_000_000_000)), "90s");
        assert_eq!(time_text(Nanos(1_500_000)), "1500us");
        let numbers = |count: u32| several((0..count).map(|number| number.to_string()));
        assert_eq!(numbers(0), Held::Nothing);
        assert_eq!(numbers(2), Held::value("0, 1"));
        assert_eq!(numbers(9), Held::value("0 … 8 (9 values)"));
    }
}
