//! `--limit 'stall<30s'`: what a failover may cost.
use report::summary::Row;
use std::time::Duration;

/// What a user does not bear.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// As it was written.
    pub text: String,
    figure: Figure,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// The longest time without a success is shorter.
    Stall(Duration),
    /// No more fail.
    Errors(u64),
    /// It is normal again before.
    Normal(Duration),
}

const FORM: &str = "write `stall<30s`, `errors=0`, `errors<10` or `normal<60s`";

/// # Errors
/// In words, where it is no limit.
pub fn parse(text: &str) -> Result<Limit, String> {
    let place = text.find(['<', '=']);
    let place = place.ok_or_else(|| format!("there is no `<`; {FORM}"))?;
    let (name, sign, value) = (
        text[..place].trim(),
        &text[place..=place],
        text[place + 1..].trim(),
    );
    let time = || crate::spans::some_span(value).map_err(|error| format!("{error}; {FORM}"));
    let count = || {
        value
            .parse::<u64>()
            .map_err(|_| format!("`{value}` is no number; {FORM}"))
    };
    let figure = match (name, sign) {
        ("stall", "<") => Figure::Stall(time()?),
        ("normal", "<") => Figure::Normal(time()?),
        ("errors", "=") => Figure::Errors(count()?),
        ("errors", "<") => Figure::Errors(
            count()?
                .checked_sub(1)
                .ok_or("fewer than no errors cannot be: write `errors=0`")?,
        ),
        ("stall" | "normal" | "errors", _) => {
            return Err(format!("`{text}` has no such sign; {FORM}"));
        }
        _ => return Err(format!("`{name}` is no figure; {FORM}")),
    };
    Ok(Limit {
        text: text.to_owned(),
        figure,
    })
}

impl Limit {
    /// How a run is beyond it; `None` where it is not.
    pub fn beyond(&self, row: &Row) -> Option<String> {
        let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
        let is_above = |ns: u64, most: Duration| u128::from(ns) >= most.as_nanos();
        match self.figure {
            Figure::Stall(most) => {
                let (ns, name) = row.still.as_ref()?;
                is_above(*ns, most)
                    .then(|| format!("I/O to `{name}` stood still for {}", seconds(*ns)))
            }
            Figure::Errors(most) => {
                (row.errors > most).then(|| format!("{} I/Os failed", row.errors))
            }
            Figure::Normal(most) => match row.normal_again_ns {
                Some(ns) => {
                    is_above(ns, most).then(|| format!("it was normal again after {}", seconds(ns)))
                }
                None if row.has_event() => Some("it was not seen to be normal again".to_owned()),
                None => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_others_refused() {
        let stall = Figure::Stall(Duration::from_secs(30));
        assert_eq!(parse("stall<30s").unwrap().figure, stall);
        assert_eq!(parse("errors=0").unwrap().figure, Figure::Errors(0));
        assert_eq!(parse("errors<10").unwrap().figure, Figure::Errors(9));
        for wrong in [
            "stall",
            "stall=3s",
            "stall<soon",
            "errors<0",
            "latency<3s",
            "errors=-1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
