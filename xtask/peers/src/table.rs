//! What a comparison found, as one table, as JSON with every single window, and as a section of the benchmark page.
use crate::machine::Machine;
use crate::reading::Reading;
use crate::session::{Session, Settings};
use crate::statistics::{Bar, Ratio, Verdict, ratio};
use serde_json::{Value, json};

/// One line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub figure: u8,
    pub what: String,
    pub ours: String,
    pub peer: String,
    pub ratio: Option<Ratio>,
    pub bar: String,
    pub verdict: String,
}

/// Whether a check on every window held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub windows: usize,
    pub of: usize,
}

const HEADINGS: [&str; 8] = [
    "Figure", "What", "Fathom", "Peer", "Ratio", "95 %", "Bar", "Verdict",
];

impl Row {
    /// Fathom against a peer, by the ratio over pairs of rounds; `name` is the number that is compared.
    pub fn compared(
        figure: u8,
        what: &str,
        name: &str,
        ours: &[Reading],
        peer: (&str, &[Reading]),
        bar: Option<Bar>,
    ) -> Self {
        let pairs: Vec<(f64, f64)> = ours
            .iter()
            .zip(peer.1)
            .map(|(ours, peer)| (ours.get(name), peer.get(name)))
            .collect();
        let found = ratio(&pairs);
        let verdict = match (&found, bar) {
            (None, _) => "no ratio",
            (Some(_), None) => "for information",
            (Some(found), Some(bar)) => Bar::judge(bar, found).words(),
        };
        let mean =
            |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
        Self {
            figure,
            what: what.to_owned(),
            ours: shown(name, mean(|pair| pair.0)),
            peer: format!("{} ({})", shown(name, mean(|pair| pair.1)), peer.0),
            ratio: found,
            bar: bar.map(|bar| bar.to_string()).unwrap_or_default(),
            verdict: verdict.to_owned(),
        }
    }

    /// A ratio that was formed elsewhere.
    pub fn judged(
        figure: u8,
        what: &str,
        (ours, peer): (String, String),
        found: Option<Ratio>,
        bar: Bar,
    ) -> Self {
        let verdict = found
            .as_ref()
            .map_or("no ratio", |found| bar.judge(found).words());
        Self {
            figure,
            what: what.to_owned(),
            ours,
            peer,
            ratio: found,
            bar: bar.to_string(),
            verdict: verdict.to_owned(),
        }
    }

    /// Something that has to hold in every window.
    pub fn held(figure: u8, what: &str, ours: String, peer: String, bar: &str, held: Held) -> Self {
        let verdict = if held.windows == held.of && held.of > 0 {
            Verdict::Met.words().to_owned()
        } else {
            format!(
                "{} in {} of {}",
                Verdict::Missed.words(),
                held.of - held.windows,
                held.of
            )
        };
        Self {
            figure,
            what: what.to_owned(),
            ours,
            peer,
            ratio: None,
            bar: bar.to_owned(),
            verdict,
        }
    }

    /// Something to know beside the rest.
    pub fn told(figure: u8, what: &str, ours: String, peer: String) -> Self {
        Self {
            figure,
            what: what.to_owned(),
            ours,
            peer,
            ratio: None,
            bar: String::new(),
            verdict: "for information".to_owned(),
        }
    }

    /// What could not be measured here, or failed.
    pub fn without(figure: u8, what: &str, verdict: String) -> Self {
        Self {
            verdict,
            ..Self::told(figure, what, String::new(), String::new())
        }
    }

    fn cells(&self) -> [String; 8] {
        let (mean, interval) = match &self.ratio {
            Some(found) => (
                format!("{:.3}", found.mean),
                match found.pairs {
                    0 => "counted".to_owned(),
                    1 => "one pair".to_owned(),
                    _ => format!("{:.3}–{:.3}", found.low, found.high),
                },
            ),
            None => (String::new(), String::new()),
        };
        [
            self.figure.to_string(),
            self.what.clone(),
            self.ours.clone(),
            self.peer.clone(),
            mean,
            interval,
            self.bar.clone(),
            self.verdict.clone(),
        ]
    }
}

/// A number with the unit that its name ends in.
pub fn shown(name: &str, value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if name.contains("_ns") {
        return match value.abs() {
            below if below < 1e4 => format!("{value:.1} ns"),
            below if below < 1e7 => format!("{:.2} µs", value / 1e3),
            _ => format!("{:.2} ms", value / 1e6),
        };
    }
    let per = if name.ends_with("_per_s") || name.ends_with("_cpu_s") {
        "/s"
    } else {
        ""
    };
    match value.abs() {
        below if below < 1e3 => format!("{value:.1}{per}"),
        below if below < 1e6 => format!("{:.1} k{per}", value / 1e3),
        _ => format!("{:.2} M{per}", value / 1e6),
    }
}

/// A table that reads well on a terminal and is Markdown as well.
pub fn table(rows: &[Row]) -> String {
    let mut lines: Vec<[String; 8]> = vec![HEADINGS.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| {
        lines
            .iter()
            .map(|cells| cells[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let mut text = String::new();
    for (number, cells) in lines.iter().enumerate() {
        for (cell, width) in cells.iter().zip(&widths) {
            let missing = width - cell.chars().count();
            text.push_str(&format!("| {cell}{} ", " ".repeat(missing)));
        }
        text.push_str("|\n");
        if number == 0 {
            let rule = widths
                .iter()
                .map(|width| format!("|{}", "-".repeat(width + 2)));
            text.push_str(&rule.collect::<String>());
            text.push_str("|\n");
        }
    }
    text
}

/// What was measured how, in sentences.
pub fn methods(settings: &Settings) -> String {
    let Settings {
        pairs,
        window_s,
        ramp_s,
        ..
    } = settings;
    let caveat = if settings.is_quick {
        "\n**A quick run: it shows that everything works and says nothing of speed.**\n"
    } else {
        ""
    };
    format!(
        "{caveat}
- Rounds of all contenders in turn, the order reversed in every second round (ABBA): {pairs} rounds, windows of \
{window_s} s after {ramp_s} s of ramp.
- Ratio: geometric mean over the rounds of Fathom ÷ peer; 95 %: Student's t over the logarithms. The columns Fathom and \
Peer are arithmetic means.
- CPU of Fathom: all threads of the process in the measured intervals, by the process clock, from its result file. CPU \
of fio: user and system time of its jobs from the end of the ramp, from its JSON; its main and helper threads are left \
out. Interrupts and kernel threads are in neither, but for what runs in the threads' own time. The CPU time of the whole \
process, start and end included, is in the JSON record as `process_cpu_ns`.
- Figure 16, by short runs: of Fathom that configuration which is fastest, for CPU as well as for the rate; of fio for \
CPU that which is cheapest among those within 3 % of its best rate.
- Figure 18: up to 10 000/s both laws run at once, two processes of Fathom, then two bare timers; beyond that each by \
itself. Behind the fill of the device is a round that does not count, and a window of which the host took more than \
0.5 % of a CPU (steal) is measured anew, up to twice. In a quick run one round, windows of 2 s.
- Verdict: the mean against the bar; \"interval crosses\" where the 95 % interval has the bar inside.
"
    )
}

/// A section for the page of benchmarks.
pub fn markdown(session: &Session, machine: &Machine, rows: &[Row]) -> String {
    let mut text = format!(
        "## {}\n\n{}{}\n{}\n<details><summary>Commands</summary>\n\n```text\n",
        machine.line(),
        methods(&session.settings),
        if session.settings.is_quick { "" } else { "\n" },
        table(rows),
    );
    let mut seen = std::collections::BTreeSet::new();
    for command in &session.commands {
        if seen.insert(command) {
            text.push_str(&general(session, command));
            if !command.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    text.push_str("```\n\n</details>\n");
    text
}

/// Everything, with every single window.
pub fn record(session: &Session, machine: &Machine, rows: &[Row]) -> Value {
    let row = |row: &Row| {
        json!({
            "figure": row.figure,
            "what": row.what,
            "fathom": row.ours,
            "peer": row.peer,
            "ratio": row.ratio.map(|found| json!({
                "mean": found.mean,
                "low": found.low,
                "high": finite(found.high),
                "pairs": found.pairs,
            })),
            "bar": row.bar,
            "verdict": row.verdict,
        })
    };
    let windows = session.rounds.iter().map(|round| {
        let mut object = json!({
            "figure": round.figure,
            "round": round.round,
            "contender": round.contender,
            "counts": round.counts,
        });
        for (name, value) in round.reading.values() {
            object[name] = finite(value);
        }
        object
    });
    let settings = &session.settings;
    json!({
        "machine": machine.json(),
        "settings": {
            "pairs": settings.pairs,
            "window_s": settings.window_s,
            "ramp_s": settings.ramp_s,
            "is_quick": settings.is_quick,
        },
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
        "windows": windows.collect::<Vec<_>>(),
        "commands": session.commands.iter().map(|command| general(session, command)).collect::<Vec<_>>(),
    })
}

/// A command without the folders of one machine.
fn general(session: &Session, command: &str) -> String {
    let root = format!("{}/", crate::root().display());
    command
        .replace(&session.folder.display().to_string(), "DIR")
        .replace(&session.results.display().to_string(), "RESULTS")
        .replace(&root, "")
}

fn finite(value: f64) -> Value {
    if value.is_finite() {
        json!(value)
    } else {
        Value::Null
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::CPU;

    fn readings(values: &[f64]) -> Vec<Reading> {
        values
            .iter()
            .map(|value| Reading::default().with(CPU, *value))
            .collect()
    }

    #[test]
    fn a_row_compares_round_by_round() {
        let (ours, peer) = (readings(&[80.0, 160.0]), readings(&[100.0, 200.0]));
        let row = Row::compared(
            16,
            "CPU",
            CPU,
            &ours,
            ("fio", &peer),
            Some(Bar::AtMost(0.85)),
        );
        assert_eq!(
            (row.ours.as_str(), row.peer.as_str()),
            ("120.0 ns", "150.0 ns (fio)")
        );
        assert_eq!((row.bar.as_str(), row.verdict.as_str()), ("≤ 0.85", "met"));
        assert!((row.ratio.unwrap().mean - 0.8).abs() < 1e-9);
        let missing = Row::compared(16, "CPU", "other", &ours, ("fio", &peer), None);
        assert_eq!(
            (missing.verdict.as_str(), missing.ratio),
            ("no ratio", None)
        );
    }

    #[test]
    fn what_has_to_hold_always_is_missed_once() {
        let row = |windows, of| {
            Row::held(
                18,
                "x",
                String::new(),
                String::new(),
                "exact",
                Held { windows, of },
            )
            .verdict
        };
        assert_eq!(row(4, 4), "met");
        assert_eq!(row(3, 4), "missed in 1 of 4");
        assert_eq!(row(0, 0), "missed in 0 of 0");
    }

    #[test]
    fn numbers_carry_their_unit() {
        assert_eq!(shown("cpu_ns_per_operation", 46.25), "46.2 ns");
        assert_eq!(shown("lateness_ns_p99", 15_250.0), "15.25 µs");
        assert_eq!(shown("lateness_ns_max", 1.5e9), "1500.00 ms");
        assert_eq!(shown("operations_per_s", 85_000.0), "85.0 k/s");
        assert_eq!(shown("operations_per_cpu_s", 9.4e6), "9.40 M/s");
        assert_eq!(shown("slots_busy", 1.3), "1.3");
        assert_eq!(shown("x", f64::NAN), "–");
    }

    #[test]
    fn the_table_is_markdown_with_even_columns() {
        let rows = [
            Row::told(15, "a", "1 µs".to_owned(), String::new()),
            Row::without(18, "arrivals", "skipped: no timer".to_owned()),
        ];
        let text = table(&rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        let length = lines[0].chars().count();
        assert!(
            lines.iter().all(|line| line.chars().count() == length),
            "{text}"
        );
        assert!(lines[1].starts_with("|--------|-") && lines[3].contains("skipped: no timer"));
    }
}
