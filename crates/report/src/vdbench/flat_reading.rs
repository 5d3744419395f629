//! `flatfile.html` as the original and we write it, read back: the averages of its runs, by the names of columns.
use analysis::{ComparedRun, FigureKind, Loaded};

/// What stands for a rate that is not limited lies just below a power of ten; which one is a matter of the version, and how
/// far below one of the run. Larger ones are none that anybody asks for.
fn is_unlimited(rate: f64) -> bool {
    (999_900.0..1_000_000.0).contains(&rate) || rate >= 9_999_900.0
}

/// Runs that make what others use measure nothing, of storage and of file systems.
const PREPARATIONS: [&str; 2] = ["SD_format", "format_for_"];

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
    let has = |words: &[&str], name: &str| place_of(words, name).is_some();
    lines.find(|words| has(words, "Run") && has(words, "reqrate"))
}

/// File systems have capitals where storage has none, and versions differ in them.
fn place_of(header: &[&str], name: &str) -> Option<usize> {
    let is_it = |column: &&str| column.eq_ignore_ascii_case(name);
    header.iter().position(is_it)
}

/// The averages of the runs of a flat file.
///
/// # Errors
/// In words, where it has none.
pub fn runs_of_flatfile(text: &str) -> Result<Vec<ComparedRun>, String> {
    let header = header(text)
        .ok_or("it has no line with the names of columns: its run was aborted early")?;
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
        true => {
            Err("no run has come to its averages: it was aborted, or is still running".to_owned())
        }
        false => Ok(runs),
    }
}

/// Runs of a flat file with intervals and without averages, by name.
pub fn unfinished_of_flatfile(text: &str) -> Vec<String> {
    let header = header(text).unwrap_or_default();
    let places = ["Run", "Interval"].map(|name| place_of(&header, name));
    let [Some(name), Some(interval)] = places else {
        return Vec::new();
    };
    let (mut begun, mut ended) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(name), Some(interval)) = (words.get(name), words.get(interval)) else {
            continue;
        };
        let is_row = words.len() == header.len() && interval.parse::<u64>().is_ok();
        if is_row && !begun.contains(name) {
            begun.push(*name);
        } else if interval.starts_with("avg") {
            ended.push(*name);
        }
    }
    begun.retain(|name| !ended.contains(name));
    begun.into_iter().map(str::to_owned).collect()
}

struct Row<'a> {
    header: &'a [&'a str],
    words: &'a [&'a str],
}

impl Row<'_> {
    fn word(&self, name: &str) -> Option<&str> {
        self.words.get(place_of(self.header, name)?).copied()
    }

    /// `None` for what is not available.
    fn number(&self, name: &str) -> Option<f64> {
        let number: f64 = self.word(name)?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Of file systems from the rates of both.
    fn read_share(&self) -> f64 {
        if let Some(pct) = self.number("read%") {
            return pct / 100.0;
        }
        let [read, written] =
            ["Read_rate", "Write_rate"].map(|name| self.number(name).unwrap_or(0.0));
        read / (read + written).max(f64::MIN_POSITIVE)
    }

    /// The original writes user time alone into `cpu_used`.
    fn host_cpu(&self) -> Option<f64> {
        let parts = ["cpu_user", "cpu_kernel"].map(|name| self.number(name));
        let [user, system] = parts;
        Some((user? + system?) / 100.0).filter(|share| *share > 0.0)
    }

    /// `None` for an interval, and for what is no row.
    fn run(&self) -> Option<ComparedRun> {
        if self.words.len() != self.header.len() || !self.word("Interval")?.starts_with("avg") {
            return None;
        }
        let name = self.word("Run")?;
        if PREPARATIONS.iter().any(|front| name.starts_with(front)) {
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
            (FigureKind::HostCpu, self.host_cpu()),
        ] {
            values[kind as usize] = value;
        }
        let swept = SWEPT.iter();
        let swept = swept.filter_map(|(column, name)| {
            // What file systems call `Xfersize` is a mean of what was drawn, and no value of a sweep.
            self.header.contains(column).then_some(())?;
            // Storage definitions with other threads each.
            let value = self.number(column).filter(|value| *value >= 0.0)?;
            Some(((*name).to_owned(), value))
        });
        let each = bytes.unwrap_or(0.0) / rate.max(f64::MIN_POSITIVE);
        let of_files = self.number("Xfersize").filter(|bytes| *bytes > 0.0);
        Some(ComparedRun {
            name: name.to_owned(),
            loops: String::new(),
            load: Loaded {
                asked_per_s: asked.filter(|rate| *rate > 0.0),
                swept: swept.collect(),
                operation_bytes: self.number("bytes/io").or(of_files).unwrap_or(each),
                read_share: self.read_share(),
                operations: 0,
                random_pct: self.number("seekpct").filter(|pct| *pct >= 0.0),
                ..Loaded::default()
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
            + &row("avg_2-5", "9999988.0000", "512.0000", "0.6730").replace("rd1", "SD_format")
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
        assert_eq!(unfinished_of_flatfile(&text), [""; 0]);
        let cut = text.clone() + "\n" + &row("1", "5.0", "5.0", "0.1").replace("rd1", "rd2");
        assert_eq!(unfinished_of_flatfile(&cut), ["rd2"]);
        assert_eq!(runs_of_flatfile(&cut).unwrap().len(), 2);
        let aborted = runs_of_flatfile(HEADER).unwrap_err();
        assert!(aborted.contains("aborted"), "{aborted}");
    }

    #[test]
    fn columns_of_file_systems_are_read() {
        let text = "tod timestamp Run Interval ReqRate Rate Resp MB/sec Read_rate Write_rate Xfersize cpu_used cpu_user cpu_kernel\n\
            07:49:49.1 x format_for_rd1 avg_2-1 9999988.0 79.0 0.0863 1.0 0.0 79.0 13428 1 1 1\n\
            07:49:51.1 x rd1 avg_2-3 1000.0 1000.0 0.25 4.0 750.0 250.0 4096 3.0 3.0 4.5\n";
        assert!(is_flatfile(text));
        let runs = runs_of_flatfile(text).unwrap();
        let [run] = &*runs else { panic!("{runs:?}") };
        assert_eq!(
            (run.load.asked_per_s, run.load.read_share),
            (Some(1000.0), 0.75)
        );
        let mean_ns = run.values[FigureKind::ServiceMean as usize];
        assert_eq!(mean_ns, Some(250_000.0));
        // User time and that of the system.
        let cpu = run.values[FigureKind::HostCpu as usize];
        assert_eq!(cpu, Some(0.075));
        assert_eq!(
            (&*run.load.swept, run.load.operation_bytes),
            (&[][..], 4096.0)
        );
    }
}
