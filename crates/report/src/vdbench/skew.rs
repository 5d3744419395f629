//! `skew.html`: how the load was spread over devices and workloads (reference 10.9).
use super::columns::{self, Look};
use super::tally::{CpuShares, Tally};

/// Below this difference in percentage points, none is shown.
const SHOWN_DELTA: f64 = 0.1;

/// A line of a table.
pub struct Part<'a> {
    pub name: &'a str,
    /// Among all of its kind, whether a run uses them or not.
    pub place: usize,
    pub tally: &'a Tally,
    /// The share that was asked for, in percent.
    pub asked_pct: f64,
}

/// How the tables are laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub width: usize,
    pub seconds: f64,
    pub look: Look,
}

pub const PREAMBLE: [&str; 9] = [
    "Workload skew report",
    "",
    "A run has tables here where there is something to compare:",
    " - workloads (WD), when the run has more than one",
    " - devices (SD), when the run has more than one or the job has several hosts",
    " - hosts, when the job has more than one",
    " - slaves of each host, when the job has more than one",
    "A run without any of these has none.",
    "",
];

/// A table of devices or slaves.
pub fn plain(kind: &str, parts: &[Part<'_>], layout: Layout) -> Vec<String> {
    let mut lines: Vec<String> = columns::table_header(kind, layout.width, layout.look).into();
    lines.extend(parts.iter().map(|part| row(part.name, part.tally, layout)));
    lines.push(row("Total", &total(parts), layout));
    lines
}

/// The table of hosts, with the processors of each and of all.
pub fn hosts(
    parts: &[Part<'_>],
    (own, all): (&[Option<CpuShares>], Option<CpuShares>),
    layout: Layout,
) -> Vec<String> {
    let [first, second] = columns::table_header("Host:", layout.width, layout.look);
    let mut lines = vec![
        format!("{first} cpu%  cpu%"),
        format!("{second}sys+u   sys"),
    ];
    let with_cpu = |row: String, cpu: Option<CpuShares>| {
        let used = cpu.map_or(f64::NAN, |cpu| cpu.used());
        let system = cpu.map_or(f64::NAN, |cpu| cpu.system);
        format!("{row}{used:>5.1} {system:>5.1}")
    };
    let each = parts.iter().zip(own);
    lines.extend(each.map(|(part, cpu)| with_cpu(row(part.name, part.tally, layout), *cpu)));
    lines.push(with_cpu(row("Total", &total(parts), layout), all));
    lines
}

/// The table of workloads, with asked and observed shares.
pub fn workloads(parts: &[Part<'_>], layout: Layout) -> Vec<String> {
    let total = total(parts);
    let [first, second] = columns::table_header("WD:", layout.width, layout.look);
    let mut lines = vec![
        "Skew as asked and as observed, in percent of all I/O (a delta is shown from 0.10 on)."
            .to_string(),
        "A run of uncontrolled rate has no skew to keep.".to_string(),
        String::new(),
        format!("{first}{:>10}{:>9}{:>8} ", "skew", "skew", "skew"),
        format!(
            "{second}{:>10}{:>9}{:>8} ",
            "requested", "observed", "delta"
        ),
    ];
    for part in parts {
        let observed = observed_pct(part, &total);
        let row = row(part.name, part.tally, layout);
        let mut line = format!("{row}{:>9.2}%{observed:>8.2}%", part.asked_pct);
        let delta = part.asked_pct - observed;
        if delta.abs() > SHOWN_DELTA {
            line.push_str(&format!("{delta:>7.2}%"));
        }
        lines.push(line);
    }
    let asked: f64 = parts.iter().map(|part| part.asked_pct).sum();
    let all = if total.operations() > 0 { 100.0 } else { 0.0 };
    lines.push(format!(
        "{}{asked:>9.2}%{all:>8.2}%",
        row("Total", &total, layout)
    ));
    lines
}

/// Workloads whose share is off by more than a percentage point: name, asked, observed.
pub fn missed<'a>(parts: &[Part<'a>]) -> Vec<(&'a str, f64, f64)> {
    let total = total(parts);
    if total.operations() == 0 {
        return Vec::new();
    }
    let with = |part: &Part<'a>| (part.name, part.asked_pct, observed_pct(part, &total));
    let is_off = |(_, asked, observed): &(&str, f64, f64)| (asked - observed).abs() > 1.0;
    parts.iter().map(with).filter(is_off).collect()
}

fn observed_pct(part: &Part<'_>, total: &Tally) -> f64 {
    part.tally.operations() as f64 * 100.0 / total.operations().max(1) as f64
}

fn row(name: &str, tally: &Tally, layout: Layout) -> String {
    columns::table_row(
        name,
        layout.width,
        &tally.values(layout.seconds),
        layout.look,
    )
}

fn total(parts: &[Part<'_>]) -> Tally {
    let mut total = Tally::default();
    parts.iter().for_each(|part| total.merge(part.tally));
    total
}
