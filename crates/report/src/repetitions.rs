//! Runs that were carried out several times, each beside its like: median and spread.
use crate::summary::Row;
use analysis::Spread;
use plan::Label;
use std::collections::BTreeMap;
use std::fmt::Write;

/// One run over its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    pub name: String,
    /// Figures with their names and units, in the order in which they are shown.
    pub figures: Vec<(&'static str, Spread)>,
}

/// The number of the repetition that a run is, from 1.
pub(crate) fn number(labels: &[Label]) -> Option<u32> {
    Label::find(labels, Label::REPETITION)?.parse().ok()
}

/// What takes the same place in each repetition, where there are two at least. `is_whole` tells what
/// may be compared: what was cut short may not.
pub(crate) fn groups<T>(
    all: &[T],
    number: impl Fn(&T) -> Option<u32>,
    is_whole: impl Fn(&T) -> bool,
) -> Vec<Vec<&T>> {
    let mut places: BTreeMap<u32, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for one in all {
        let Some(number) = number(one) else { continue };
        let place = places.entry(number).or_insert(0);
        if *place == groups.len() {
            groups.push(Vec::new());
        }
        if is_whole(one) {
            groups[*place].push(one);
        }
        *place += 1;
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// The runs that have repetitions, in order.
pub fn repeated(rows: &[Row]) -> Vec<Repeated> {
    groups(rows, |row| row.repetition, |row| row.is_whole)
        .into_iter()
        .map(of_rows)
        .collect()
}

/// A text of the same; empty when nothing was repeated.
pub fn text(rows: &[Row]) -> String {
    let mut out = String::new();
    for run in repeated(rows) {
        let count = run.figures.first().map_or(0, |(_, spread)| spread.count);
        let _ = writeln!(out, "{} repeated {count} times:", run.name);
        for (name, spread) in &run.figures {
            let _ = writeln!(out, "  {name:<20} {}", words(spread));
        }
    }
    out
}

/// `median 12.3, 12.1 to 12.9, variation 1.2 %`.
pub(crate) fn words(spread: &Spread) -> String {
    let variation = spread
        .variation_pct
        .map_or(String::new(), |pct| format!(", variation {pct:.2} %"));
    format!(
        "median {}, {} to {}{variation}",
        digits(spread.median),
        digits(spread.least),
        digits(spread.most)
    )
}

/// Four digits at least.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        large if large >= 1000.0 => 0,
        large if large >= 100.0 => 1,
        large if large >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn of_rows(rows: Vec<&Row>) -> Repeated {
    let spread =
        |of: &dyn Fn(&Row) -> Option<f64>| Spread::of(rows.iter().filter_map(|row| of(row)));
    let response_ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
    let first = rows[0];
    let name = match first.loops.is_empty() {
        true => first.run.clone(),
        false => format!("{} ({})", first.run, first.loops),
    };
    let figures = [
        ("I/O/s", spread(&|row| row.rate)),
        (
            "MB/s (10^6)",
            spread(&|row| Some(row.bytes_per_second? / 1e6)),
        ),
        (
            "response p50 ms",
            spread(&|row| response_ms(row.response_ns.p50)),
        ),
        (
            "response p99 ms",
            spread(&|row| response_ms(row.response_ns.p99)),
        ),
        (
            "service mean ms",
            spread(&|row| Some(row.service_mean_ns? / 1e6)),
        ),
    ];
    let known = figures.into_iter();
    Repeated {
        name,
        figures: known
            .filter_map(|(name, spread)| Some((name, spread?)))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(run: &str, repetition: u32, rate: f64, is_whole: bool) -> Row {
        Row {
            run: run.to_owned(),
            repetition: Some(repetition),
            rate: Some(rate),
            is_whole,
            ..Row::default()
        }
    }

    #[test]
    fn runs_are_compared_with_their_like_and_only_whole_ones() {
        let rows = [
            row("prepare", 0, 1.0, true),
            row("a", 1, 10.0, true),
            row("a", 1, 100.0, true),
            row("a", 2, 20.0, true),
            row("a", 2, 100.0, true),
            row("a", 3, 30.0, true),
            row("a", 3, 5.0, false),
        ];
        let mut rows = rows.to_vec();
        rows[0].repetition = None;
        let found = repeated(&rows);
        let medians: Vec<(usize, f64)> = found
            .iter()
            .map(|run| (run.figures[0].1.count, run.figures[0].1.median))
            .collect();
        assert_eq!(medians, [(3, 20.0), (2, 100.0)]);
        let text = text(&rows);
        assert!(
            text.starts_with("a repeated 3 times:\n  I/O/s                median 20.00, 10.00 to 30.00, variation 50.00 %\n"),
            "{text}"
        );
        assert_eq!(super::text(&rows[..3]), "");
    }
}
