//! Jobs that were carried out several times: median and spread of their figures, behind what fio
//! itself would print.
use super::json::Json;
use super::model::{Direction, Entry};
use crate::repetitions::{groups, words};
use analysis::Spread;
use std::fmt::Write;

/// One direction of one job over its repetitions.
struct Figures {
    name: &'static str,
    /// Names in JSON, in text, the divisor for text, and the values.
    all: Vec<(&'static str, &'static str, f64, Spread)>,
}

/// Lines for the normal report; empty when nothing was repeated.
pub(super) fn text(entries: &[Entry]) -> String {
    let mut out = String::new();
    for group in of_jobs(entries) {
        if out.is_empty() {
            out.push_str("\nRepetitions (median, least to most, variation):\n");
        }
        let first = group[0];
        let _ = writeln!(
            out,
            "{}: (groupid={}, jobs={}): {} times",
            first.name,
            first.group,
            first.members,
            group.len()
        );
        for figures in directions(&group) {
            for (place, (_, title, divisor, spread)) in figures.all.iter().enumerate() {
                let name = if place == 0 { figures.name } else { "" };
                let shown = Spread {
                    median: spread.median / divisor,
                    least: spread.least / divisor,
                    most: spread.most / divisor,
                    ..*spread
                };
                let _ = writeln!(out, "  {name:<5} {title:<15} {}", words(&shown));
            }
        }
    }
    out
}

/// The same as a list for JSON; `None` when nothing was repeated.
pub(super) fn json(entries: &[Entry]) -> Option<Json> {
    let text = |text: &str| Json::Text(text.to_owned());
    let jobs: Vec<Json> = of_jobs(entries)
        .iter()
        .map(|group| {
            let mut pairs = vec![
                ("jobname".to_owned(), text(&group[0].name)),
                ("groupid".to_owned(), Json::Whole(u64::from(group[0].group))),
                ("repetitions".to_owned(), Json::Whole(group.len() as u64)),
            ];
            for figures in directions(group) {
                let all = figures.all.iter();
                let values = all.map(|(key, .., spread)| ((*key).to_owned(), spread_json(spread)));
                pairs.push((figures.name.to_owned(), Json::Object(values.collect())));
            }
            Json::Object(pairs)
        })
        .collect();
    (!jobs.is_empty()).then_some(Json::List(jobs))
}

fn of_jobs(entries: &[Entry]) -> Vec<Vec<&Entry>> {
    groups(entries, |one| one.repetition, |one| one.is_whole)
}

fn directions(group: &[&Entry]) -> Vec<Figures> {
    let mut found = Vec::new();
    for (place, name) in ["read", "write", "trim"].into_iter().enumerate() {
        let all: Vec<&Direction> = group.iter().map(|one| &one.directions[place]).collect();
        if all.iter().all(|direction| direction.operations == 0) {
            continue;
        }
        let spread = |of: &dyn Fn(&Direction) -> f64| {
            Spread::of(all.iter().map(|direction| of(direction))).expect("a group is not empty")
        };
        let latency = |pct: f64| spread(&|one| one.total.percentile_ns(pct) as f64);
        let mut figures = vec![
            (
                "iops",
                "IOPS",
                1.0,
                spread(&|one| one.operations_per_second()),
            ),
            (
                "bw_bytes",
                "BW MiB/s",
                1_048_576.0,
                spread(&|one| one.bytes_per_second() as f64),
            ),
        ];
        // Switched off by `disable_lat`.
        if all.iter().any(|one| one.total.histogram.count() > 0) {
            figures.extend([
                (
                    "lat_ns_mean",
                    "lat mean usec",
                    1_000.0,
                    spread(&|one| one.total.mean_ns()),
                ),
                ("lat_ns_p50", "lat p50 usec", 1_000.0, latency(50.0)),
                ("lat_ns_p99", "lat p99 usec", 1_000.0, latency(99.0)),
                ("lat_ns_p99.9", "lat p99.9 usec", 1_000.0, latency(99.9)),
            ]);
        }
        found.push(Figures { name, all: figures });
    }
    found
}

fn spread_json(spread: &Spread) -> Json {
    let mut pairs = vec![
        ("median".to_owned(), Json::Real(spread.median)),
        ("min".to_owned(), Json::Real(spread.least)),
        ("max".to_owned(), Json::Real(spread.most)),
    ];
    let variation = spread.variation_pct.map(Json::Real);
    pairs.extend(variation.map(|value| ("cv_pct".to_owned(), value)));
    Json::Object(pairs)
}
