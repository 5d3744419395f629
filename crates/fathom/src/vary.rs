//! `--vary files=1..10 --hold slots`: what a job is done with.
use plan::Quantity;

/// Values that one sweep may have.
const VALUES_MAX: usize = 1000;

/// What is to stay the same in sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Hold {
    Slots,
    Bytes,
}

/// What is varied, and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    pub quantity: Quantity,
    /// Ascending, each once.
    pub values: Vec<f64>,
    /// As it was written.
    pub text: String,
}

/// # Errors
/// In words, where it has another form.
pub fn parse(text: &str) -> Result<Vary, String> {
    const FORM: &str = "write `files=1..10`, `threads=1,2,4,8`, `range=10%,100%` or `hosts=1..4`";
    let (name, list) = text
        .split_once('=')
        .ok_or_else(|| format!("there is no `=`; {FORM}"))?;
    let mut known = Quantity::ALL.into_iter();
    let quantity = known
        .find(|one| one.word() == name.trim())
        .ok_or_else(|| format!("`{name}` is nothing that can be varied; {FORM}"))?;
    let mut values = Vec::new();
    for part in list.split(',') {
        values.extend(span(quantity, part.trim()).ok_or_else(|| {
            let most = match quantity {
                Quantity::Range => "a percentage above 0 and at most 100",
                _ => "a whole number above zero, or two with `..` between, the smaller first",
            };
            format!("`{part}` is not {most}; {FORM}")
        })?);
        if values.len() > VALUES_MAX {
            return Err(format!("these are more than {VALUES_MAX} values"));
        }
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    match values.len() {
        1 => Err("one value says nothing about scaling: name two and more".to_owned()),
        _ => Ok(Vary {
            quantity,
            values,
            text: text.to_owned(),
        }),
    }
}

/// One value, or all from one to another.
fn span(quantity: Quantity, part: &str) -> Option<Vec<f64>> {
    if quantity == Quantity::Range {
        let number = part.strip_suffix('%').unwrap_or(part).trim();
        let value: f64 = number.parse().ok()?;
        return (value > 0.0 && value <= 100.0).then(|| vec![value]);
    }
    let number = |text: &str| {
        text.trim()
            .parse::<u32>()
            .ok()
            .filter(|value| (1..=65_536).contains(value))
    };
    let (from, to) = match part.split_once("..") {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(part)?, number(part)?),
    };
    let all = (from..=to).take(VALUES_MAX + 1).map(f64::from);
    Some(all.collect()).filter(|all: &Vec<f64>| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_lists_and_spans() {
        let values = |text: &str| parse(text).unwrap().values;
        assert_eq!(values("files=1..4"), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(values("threads=8,1,2,2"), [1.0, 2.0, 8.0]);
        assert_eq!(values("range=12.5%, 100"), [12.5, 100.0]);
        for wrong in [
            "files",
            "files=",
            "files=0..3",
            "files=3",
            "files=4..2",
            "lanes=1,2",
            "range=0,200%",
            "threads=1.5,2",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
