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

    fn heading(self) -> &'static str {
        match self {
            Megabyte::Binary => "1024**2",
            Megabyte::Decimal => "1000**2",
        }
    }
}

/// Whether interval `number` (from one) is preceded by the header.
pub fn has_header(number: u32) -> bool {
    number % HEADER_EVERY == 1
}

/// An empty line and the two lines of headings; `date` is 12 characters wide.
pub fn header(date: &str, megabyte: Megabyte) -> [String; 3] {
    let first = "interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%";
    let second = "i/o    pct     time     resp     resp      max   stddev depth sys+u   sys";
    [
        String::new(),
        format!("{date:<12}  {first}"),
        format!("{:>33}  {}     {second}", "rate", megabyte.heading()),
    ]
}

/// One row; `label` is the number of the interval or the name of the averages.
pub fn row(
    time: &str,
    label: &str,
    values: &Values,
    cpu: Option<CpuShares>,
    megabyte: Megabyte,
) -> String {
    let used = cpu.map_or(f64::NAN, |cpu| cpu.used());
    let system = cpu.map_or(f64::NAN, |cpu| cpu.system);
    let figures = figures(values, megabyte);
    format!("{time}{label:>10} {figures}{used:>5.1} {system:>5.1}")
}

/// The headings of a table without times and CPU: `kind` names the first column.
pub fn table_header(kind: &str, width: usize, megabyte: Megabyte) -> [String; 2] {
    let first =
        "       i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue ";
    let second = "i/o    pct     time     resp     resp      max   stddev depth ";
    [
        format!("{:width$} {first}", ""),
        format!(
            "{kind:<width$} {:>10}  {}     {second}",
            "rate",
            megabyte.heading()
        ),
    ]
}

/// A row of such a table; ends with a blank.
pub fn table_row(name: &str, width: usize, values: &Values, megabyte: Megabyte) -> String {
    format!("{name:<width$} {}", figures(values, megabyte))
}

fn figures(values: &Values, megabyte: Megabyte) -> String {
    format!(
        "{:>10.2} {:>8.2} {:>7} {:>6.2} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>5.1} ",
        values.rate,
        values.bytes_per_second / megabyte.bytes(),
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
            resp_stddev_ms: 0.21,
            queue_depth: 0.6,
        };
        let cpu = CpuShares {
            user: 2.3,
            system: 1.9,
            wait: 0.0,
            idle: 95.8,
        };
        let expected = "09:00:01.050         1    1234.00     9.64    8192  70.02    0.512    0.561    0.398   12.345    0.210   0.6   4.2   1.9";
        assert_eq!(
            row("09:00:01.050", "1", &values, Some(cpu), Megabyte::Binary),
            expected
        );
        assert!(row("", "1", &values, None, Megabyte::Decimal).ends_with("  0.6   NaN   NaN"));
        let [_, first, second] = header("Jan 05, 2024", Megabyte::Binary);
        assert_eq!(
            (first.len(), second.len()),
            (expected.len(), expected.len())
        );
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
