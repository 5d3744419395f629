//! `flatfile.html` as the original and we write it, read back: the averages of its runs, by the names of columns.
use analysis::{ComparedRun, FigureKind, Loaded};

/// What stands for a rate that is not limited lies just below a power of ten; which one is a matter of the version, and how
/// far below one of the run. Larger ones are none that anybody asks for.
fn is_unlimited(rate: f64) -> bool {
    (999_900.0..1_000_000.0).contains(&rate) || rate >= 9_999_900.0
}

/// The run that makes files measures nothing.
const PREPARATION: &str = "SD_format";

/// Columns by which loads are told apart, and the names that sweeps of ours give them.
const SWEPT: [(&str, &str); 6] = [
    ("xfersize", "transfer_size_bytes"),
    ("threads", "threads"),
    ("rdpct", "read_pct"),
    ("rhpct", "read_hit_pct"),
    ("whpct", "write_hit_pct"),
    ("seekpct", "seek_pct"),
];

/// Whether a text is such a file, of block storage or of a file system.
pub fn is_flatfile(text: &str) -> bool {
    header(text).is_some()
}

fn header(text: &str) -> Option<Vec<&str>> {
    let lines = text.lines().map(|line| line.split_whitespace().collect());
    let mut lines = lines.filter(|words: &Vec<&str>| words.first() == Some(&"tod"));
    lines.find(|words| words.contains(&"Run") && words.contains(&"reqrate"))
}

/// The averages of the runs of a flat file.
///
/// # Errors
/// In words, where it has none.
pub fn runs_of_flatfile(text: &str) -> Result<Vec<ComparedRun>, String> {
    let header = header(text).ok_or("it has no line with the names of columns")?;
    let runs = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let row = Row {
            header: &header,
            words: &words,
        };
        row.run()
    });
    let runs: Vec<ComparedRun> = runs.collect();
    match runs.is_empty() {
        true => Err("no run has come to its averages".to_owned()),
        false => Ok(runs),
    }
}

struct Row<'a> {
    header: &'a [&'a str],
    words: &'a [&'a str],
}

impl Row<'_> {
    fn word(&self, name: &str) -> Option<&str> {
        let place = self.header.iter().position(|column| *column == name)?;
        self.words.get(place).copied()
    }

    /// `None` for what is not available.
    fn number(&self, name: &str) -> Option<f64> {
        let number: f64 = self.word(name)?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// `None` for an interval, and for what is no row.
    fn run(&self) -> Option<ComparedRun> {
        if self.words.len() != self.header.len() || !self.word("Interval")?.starts_with("avg") {
            return None;
        }
        if self.word("Run") == Some(PREPARATION) {
            return None;
        }
        let rate = self.number("rate")?;
        let asked = self.number("reqrate").filter(|rate| !is_unlimited(*rate));
        let bytes = self.number("MB/sec").map(|mib| mib * f64::from(1 << 20));
        let mut values = [None; FigureKind::ALL.len()];
        for (kind, value) in [
            (FigureKind::Rate, Some(rate)),
            (FigureKind::Throughput, bytes),
            // The original counts from the submission.
            (
                FigureKind::ServiceMean,
                self.number("resp").map(|ms| ms * 1e6),
            ),
        ] {
            values[kind as usize] = value;
        }
        let swept = SWEPT.iter();
        let swept = swept.filter_map(|(column, name)| {
            // Storage definitions with other threads each.
            let value = self.number(column).filter(|value| *value >= 0.0)?;
            Some(((*name).to_owned(), value))
        });
        let each = bytes.unwrap_or(0.0) / rate.max(f64::MIN_POSITIVE);
        Some(ComparedRun {
            name: self.word("Run")?.to_owned(),
            loops: String::new(),
            load: Loaded {
                asked_per_s: asked.filter(|rate| *rate > 0.0),
                swept: swept.collect(),
                operation_bytes: self.number("bytes/io").unwrap_or(each),
                read_share: self.number("read%").unwrap_or(0.0) / 100.0,
                operations: 0,
                random_pct: self.number("seekpct").filter(|pct| *pct >= 0.0),
                slots: None,
                is_knee: false,
            },
            values,
            samples: 0,
            doubts: Vec::new(),
            is_closed_loop: asked.is_none(),
            curve: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "* Run : Name of run from RD=\n\
         tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp xfersize threads rdpct seekpct version\n";

    fn row(interval: &str, asked: &str, rate: &str, resp: &str) -> String {
        format!(
            "07:49:49.1 11/21/2026-07:49:49-UTC rd1 {interval} {asked} {rate} 7.8125 4096 70.1000 {resp} 4096 2 70.0000 100.0000 n/a\n"
        )
    }

    #[test]
    fn averages_are_read_by_the_names_of_columns() {
        let text = HEADER.to_owned()
            + &row("1", "2000.0000", "1834.0000", "0.0507")
            + &row("avg_2-5", "2000.0000", "2000.0000", "0.0491")
            + &row("avg_2-5", "9999988.0000", "2946.3800", "0.6730")
            + &row("avg_2-5", "9999988.0000", "512.0000", "0.6730").replace("rd1", PREPARATION)
            + "a line that was cut";
        assert!(is_flatfile(&text) && !is_flatfile("tod is a word"));
        let runs = runs_of_flatfile(&text).unwrap();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0].load.asked_per_s, Some(2000.0));
        assert_eq!(
            runs[0].values[FigureKind::ServiceMean as usize],
            Some(49_100.0)
        );
        assert_eq!(
            runs[0].values[FigureKind::Throughput as usize],
            Some(8_192_000.0)
        );
        assert_eq!(runs[1].load.asked_per_s, None);
        let named: Vec<&str> = runs[1].load.swept.iter().map(|one| &*one.0).collect();
        assert_eq!(
            named,
            ["transfer_size_bytes", "threads", "read_pct", "seek_pct"]
        );
        assert!(runs_of_flatfile(HEADER).is_err());
    }
}
