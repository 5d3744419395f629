//! Header and rows of the interval report, in the widths of release 5.04.06 (reference 10.4).
use super::tally::{CpuShares, Values};

/// Headers are repeated after so many intervals.
const HEADER_EVERY: u32 = 30;

/// What a megabyte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Megabyte {
    #[default]
    Binary,
    Decimal,
}

impl Megabyte {
    pub fn bytes(self) -> f64 {
        match self {
            Megabyte::Binary => 1_048_576.0,
            Megabyte::Decimal => 1e6,
        }
    }

    pub fn heading(self) -> &'static str {
        match self {
            Megabyte::Binary => "1024**2",
            Megabyte::Decimal => "1000**2",
        }
    }
}

/// The release whose columns are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    #[default]
    V50406,
    V50407,
}

impl Release {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Release::V50406 => "5.04.06",
            Release::V50407 => "5.04.07",
        }
    }

    /// The release of a name.
    pub fn of(name: &str) -> Option<Self> {
        [Release::V50406, Release::V50407]
            .into_iter()
            .find(|release| release.name() == name)
    }
}

/// What columns look like.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    pub megabyte: Megabyte,
    pub release: Release,
}

/// The headings of the columns from the rate to the queue depth.
const HEADINGS_06: [&str; 2] = [
    "       i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue ",
    "i/o    pct     time     resp     resp      max   stddev depth ",
];
const HEADINGS_07: [&str; 2] = [
    "       i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue ",
    "i/o    pct     time     resp     resp      max      max   stddev  depth ",
];

fn headings(look: Look) -> [String; 2] {
    let [first, second] = match look.release {
        Release::V50406 => HEADINGS_06,
        Release::V50407 => HEADINGS_07,
    };
    let second = format!("{:>10}  {}     {second}", "rate", look.megabyte.heading());
    [first.to_string(), second]
}

/// How wide the label of a row is.
fn label_width(look: Look) -> usize {
    match look.release {
        Release::V50406 => 10,
        Release::V50407 => 12,
    }
}

/// Whether interval `number` (from one) is preceded by the header.
pub fn has_header(number: u32) -> bool {
    number % HEADER_EVERY == 1
}

/// An empty line and the two lines of headings; `date` is 12 characters wide.
pub fn header(date: &str, look: Look) -> [String; 3] {
    let [first, second] = headings(look);
    let width = label_width(look);
    [
        String::new(),
        format!("{date:<12}{:>width$} {first} cpu%  cpu%", "interval"),
        format!("{:12}{:width$} {second}sys+u   sys", "", ""),
    ]
}

/// One row; `label` is the number of the interval or the name of the averages.
pub fn row(time: &str, label: &str, values: &Values, cpu: Option<CpuShares>, look: Look) -> String {
    let used = cpu.map_or(f64::NAN, |cpu| cpu.used());
    let system = cpu.map_or(f64::NAN, |cpu| cpu.system);
    let figures = figures(values, look);
    let width = label_width(look);
    format!("{time}{label:>width$} {figures}{used:>5.1} {system:>5.1}")
}

/// The headings of a table without times and CPU: `kind` names the first column.
pub fn table_header(kind: &str, width: usize, look: Look) -> [String; 2] {
    let [first, second] = headings(look);
    [
        format!("{:width$} {first}", ""),
        format!("{kind:<width$} {second}"),
    ]
}

/// A row of such a table; ends with a blank.
pub fn table_row(name: &str, width: usize, values: &Values, look: Look) -> String {
    format!("{name:<width$} {}", figures(values, look))
}

fn figures(values: &Values, look: Look) -> String {
    let megabytes = values.bytes_per_second / look.megabyte.bytes();
    if look.release == Release::V50407 {
        return format!(
            "{:>10.1} {megabytes:>8.2} {:>7} {:>6.2} {:>8.3} {:>8.3} {:>8.3} {:>8.2} {:>8.2} {:>8.3} {:>6.1} ",
            values.rate,
            values.bytes_per_io,
            values.read_pct,
            values.resp_ms,
            values.read_resp_ms,
            values.write_resp_ms,
            values.read_max_ms,
            values.write_max_ms,
            values.resp_stddev_ms,
            values.queue_depth,
        );
    }
    format!(
        "{:>10.2} {megabytes:>8.2} {:>7} {:>6.2} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>5.1} ",
        values.rate,
        values.bytes_per_io,
        values.read_pct,
        values.resp_ms,
        values.read_resp_ms,
        values.write_resp_ms,
        values.resp_max_ms,
        values.resp_stddev_ms,
        values.queue_depth,
    )
}

/// Lines in a box of stars with a lone star above and below.
pub fn boxed(lines: &[String]) -> Vec<String> {
    let width = lines
        .iter()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0);
    let edge = "*".repeat(width + 4);
    let inner = lines.iter().map(|line| format!("* {line:<width$} *"));
    let mut boxed = vec!["*".to_string(), edge.clone()];
    boxed.extend(inner);
    boxed.extend([edge, "*".to_string()]);
    boxed
}

/// `4294967296` as `4,294,967,296`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_has_the_widths_of_the_reference() {
        let values = Values {
            rate: 1234.0,
            bytes_per_second: 1234.0 * 8192.0,
            bytes_per_io: 8192,
            read_pct: 70.02,
            resp_ms: 0.512,
            read_resp_ms: 0.561,
            write_resp_ms: 0.398,
            resp_max_ms: 12.345,
            read_max_ms: 12.345,
            write_max_ms: 9.1,
            resp_stddev_ms: 0.21,
            queue_depth: 0.6,
            ..Values::default()
        };
        let cpu = CpuShares {
            user: 2.3,
            system: 1.9,
            wait: 0.0,
            idle: 95.8,
        };
        let expected = "09:00:01.050         1    1234.00     9.64    8192  70.02    0.512    0.561    0.398   12.345    0.210   0.6   4.2   1.9";
        assert_eq!(
            row("09:00:01.050", "1", &values, Some(cpu), Look::default()),
            expected
        );
        assert!(row("", "1", &values, None, Look::default()).ends_with("  0.6   NaN   NaN"));
        let [_, first, second] = header("Jan 05, 2024", Look::default());
        assert_eq!(
            (first.len(), second.len()),
            (expected.len(), expected.len())
        );
        let newer = Look {
            release: Release::V50407,
            ..Look::default()
        };
        let lines = [
            "Jan 05, 2024    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%",
            "                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys",
            "09:00:01.050           1     1234.0     9.64    8192  70.02    0.512    0.561    0.398    12.35     9.10    0.210    0.6   4.2   1.9",
        ];
        let [_, first, second] = header("Jan 05, 2024", newer);
        let row = row("09:00:01.050", "1", &values, Some(cpu), newer);
        assert_eq!([first, second, row], lines);
    }

    #[test]
    fn thousands_are_grouped() {
        let texts: Vec<String> = [0, 999, 1000, 4_294_967_296].map(grouped).into();
        assert_eq!(texts, ["0", "999", "1,000", "4,294,967,296"]);
    }

    #[test]
    fn headers_come_every_thirty_intervals() {
        let with: Vec<u32> = (1..=70).filter(|number| has_header(*number)).collect();
        assert_eq!(with, [1, 31, 61]);
    }
}
