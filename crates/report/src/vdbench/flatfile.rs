//! `flatfile.html`: one line per interval and per average, in columns split by blanks
//! (reference 10.6). The older release fills its columns up and has four decimals; the newer one
//! has one blank between values, and no zeros at the end of decimals.
use super::columns::{Look, Release};
use super::tally::{CpuShares, Values};
use measure::RunStarted;
use plan::Label;

/// What stands for a value that is not there, or that differs between workloads.
const MISSING: &str = "n/a";

/// What the original prints as requested rate of a run without one, and of a curve's first run.
const MAX_RATE: f64 = 9_999_988.0;
const CURVE_RATE: f64 = 9_999_977.0;

/// Those of 5.04.06; the newer release has [`NEWER`] among them.
const COLUMNS: [(&str, &str); 28] = [
    ("Run", "the run, by its rd= name"),
    ("Interval", "number of the interval, or avg_first-last"),
    ("reqrate", "rate asked for, I/Os per second"),
    ("rate", "rate reached, I/Os per second"),
    ("MB/sec", "megabytes per second, as in the reports"),
    ("bytes/io", "mean size of a transfer"),
    ("read%", "share of reads"),
    ("resp", "mean time of an I/O in ms"),
    ("read_resp", "mean time of a read in ms"),
    ("write_resp", "mean time of a write in ms"),
    ("resp_max", "longest time in ms"),
    ("resp_std", "standard deviation in ms"),
    ("xfersize", "transfer size asked for"),
    ("threads", "threads asked for"),
    ("rdpct", "share of reads asked for"),
    ("rhpct", "share of read hits asked for"),
    ("whpct", "share of write hits asked for"),
    ("seekpct", "share of seeks asked for"),
    ("lunsize", "size of all devices of the run in GB of 1024**3"),
    ("version", "not used"),
    ("compratio", "compression ratio asked for"),
    ("dedupratio", "deduplication ratio asked for"),
    ("queue_depth", "mean number of I/Os in flight"),
    ("cpu_used", "processor share, user and system"),
    ("cpu_user", "processor share, user"),
    ("cpu_kernel", "processor share, system"),
    ("cpu_wait", "processor share, idle with I/O outstanding"),
    ("cpu_idle", "processor share, idle"),
];

/// What the newer release has behind these columns, one by one.
const NEWER: [(&str, [(&str, &str); 2]); 2] = [
    (
        "resp_max",
        [
            ("read_max", "longest time of a read in ms"),
            ("write_max", "longest time of a write in ms"),
        ],
    ),
    (
        "resp_std",
        [
            ("read_std", "standard deviation of reads in ms"),
            ("write_std", "standard deviation of writes in ms"),
        ],
    ),
];

fn columns(release: Release) -> Vec<(&'static str, &'static str)> {
    let mut columns = Vec::new();
    for column in COLUMNS {
        columns.push(column);
        let newer = NEWER.into_iter().find(|(behind, _)| *behind == column.0);
        let newer = newer.filter(|_| release == Release::V50407);
        columns.extend(newer.into_iter().flat_map(|(_, columns)| columns));
    }
    columns
}

/// Columns that stay the same during a run.
#[derive(Debug, Default)]
pub struct RunColumns {
    run: String,
    asked: String,
    /// In the interval at hand, where it changes in the course of the run.
    pub asked_now: Option<f64>,
    xfersize: String,
    threads: String,
    /// rdpct to seekpct.
    shares: [String; 4],
    lunsize: String,
    ratios: [String; 2],
}

/// Comment lines and the line of column names.
pub fn header(release: Release) -> Vec<String> {
    let mut lines: Vec<String> = [
        "*",
        "* This file holds what the reports hold as columns, for spreadsheets and scripts. ",
        "* The first line that is no comment names the columns, a word for each. ",
        "* Every following line has a word for each of them, for an interval or for the averages of a run. ",
        "* Read it by splitting at blanks, since a long name widens its line; ",
        "* a column whose value is not known, or not the same in all workloads ",
        "* of a run, holds 'n/a'. ",
        "* Rates and shares are over the nominal length of an interval. ",
        "*",
    ]
    .map(String::from)
    .into();
    let columns = columns(release);
    let described = columns.iter();
    lines.extend(described.map(|(name, meaning)| format!("* {name:<16}: {meaning}")));
    lines.push(format!("* {:<16}: no value, or several", "'n/a'"));
    lines.push("* ".to_string());
    let names = columns.iter().map(|(name, _)| (*name).to_owned());
    let names = joined(names, release);
    lines.push(format!("{:>12} {:>23} {names}", "tod", "timestamp"));
    lines
}

impl RunColumns {
    /// `run` and `rate` as printed; `target_bytes` is the size of all devices of the run.
    pub fn new(run: &str, rate: &str, started: &RunStarted, target_bytes: u64) -> Self {
        let label = |key| Label::find(&started.labels, key).unwrap_or(MISSING);
        let asked = match (
            Label::find(&started.labels, "flat.reqrate"),
            started.asked_rate,
        ) {
            (Some(label), _) => label.to_string(),
            (None, Some(asked)) => fixed(asked),
            (None, None) if rate.ends_with("curve") => fixed(CURVE_RATE),
            (None, None) => fixed(MAX_RATE),
        };
        Self {
            run: run.to_string(),
            asked,
            asked_now: None,
            xfersize: label("flat.xfersize").to_string(),
            threads: label("flat.threads").to_string(),
            shares: ["flat.rdpct", "flat.rhpct", "flat.whpct", "flat.seekpct"]
                .map(|key| decimal(label(key))),
            lunsize: fixed(target_bytes as f64 / (1_u64 << 30) as f64),
            ratios: ["flat.compratio", "flat.dedupratio"].map(|key| decimal(label(key))),
        }
    }

    /// A line; `time` and `stamp` are its first two columns.
    pub fn line(
        &self,
        [time, stamp]: [&str; 2],
        interval: &str,
        values: &Values,
        cpu: Option<CpuShares>,
        look: Look,
    ) -> String {
        let share =
            |of: fn(&CpuShares) -> f64| cpu.as_ref().map_or(MISSING.into(), |cpu| fixed(of(cpu)));
        let [rdpct, rhpct, whpct, seekpct] = self.shares.clone();
        let [compratio, dedupratio] = self.ratios.clone();
        let newer = |columns: [f64; 2]| {
            let columns = columns.map(fixed).into_iter();
            columns.filter(|_| look.release == Release::V50407)
        };
        let mut cells = vec![
            self.run.clone(),
            interval.to_string(),
            self.asked_now.map_or(self.asked.clone(), fixed),
            fixed(values.rate),
            fixed(values.bytes_per_second / look.megabyte.bytes()),
            values.bytes_per_io.to_string(),
            fixed(values.read_pct),
            fixed(values.resp_ms),
            fixed(values.read_resp_ms),
            fixed(values.write_resp_ms),
            fixed(values.resp_max_ms),
        ];
        cells.extend(newer([values.read_max_ms, values.write_max_ms]));
        cells.push(fixed(values.resp_stddev_ms));
        cells.extend(newer([values.read_stddev_ms, values.write_stddev_ms]));
        cells.extend([
            self.xfersize.clone(),
            self.threads.clone(),
            rdpct,
            rhpct,
            whpct,
            seekpct,
            self.lunsize.clone(),
            MISSING.to_string(),
            compratio,
            dedupratio,
            fixed(values.queue_depth),
            share(CpuShares::used),
            share(|cpu| cpu.user),
            share(|cpu| cpu.system),
            share(|cpu| cpu.wait),
            share(|cpu| cpu.idle),
        ]);
        if look.release == Release::V50407 {
            let figures = cells.iter_mut().skip(2);
            figures.for_each(|cell| *cell = without_zeros(cell));
            if is_average(interval) {
                cells[1].insert(0, ' ');
            }
        }
        let cells = joined(cells.into_iter(), look.release);
        format!("{time:>12} {stamp:>23} {cells}")
    }
}

fn is_average(interval: &str) -> bool {
    interval.starts_with("avg")
}

fn joined(cells: impl Iterator<Item = String>, release: Release) -> String {
    let width = match release {
        Release::V50406 => 10,
        Release::V50407 => 0,
    };
    cells.map(|cell| format!("{cell:>width$} ")).collect()
}

/// A number without the zeros after its last decimal.
fn without_zeros(cell: &str) -> String {
    match cell.contains('.') {
        true => cell.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => cell.to_owned(),
    }
}

fn fixed(value: f64) -> String {
    format!("{value:.4}")
}

/// A number with four decimals; anything else as it is.
fn decimal(label: &str) -> String {
    label.parse().map_or(label.to_string(), fixed)
}
