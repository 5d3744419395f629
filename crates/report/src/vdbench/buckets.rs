//! The text histograms: fixed limits in milliseconds, counts, shares and a bar (reference 10.7).
use super::columns::grouped;
use super::tally::Tally;
use measure::Histogram;

/// Upper limits in microseconds; the last bucket has none.
const LIMITS_US: [u64; 26] = [
    20, 40, 60, 80, 100, 200, 400, 600, 800, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000,
    40_000, 60_000, 80_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000, 2_000_000,
];

/// The histograms of one run: of all, of reads and of writes, or of the only direction that ran.
pub fn lines(whole: &Tally) -> Vec<String> {
    let reads = &whole.read.latency.histogram;
    let writes = &whole.write.latency.histogram;
    match (reads.is_empty(), writes.is_empty()) {
        (true, true) => vec!["No statistics generated for this run.".to_string()],
        (false, true) => table("Only reads done for this workload:", reads),
        (true, false) => table("Only writes done for this workload:", writes),
        (false, false) => {
            let mut both = reads.clone();
            both.merge(writes);
            let mut lines = table("Reads and writes:", &both);
            lines.extend(table("Reads:", reads));
            lines.extend(table("Writes:", writes));
            lines
        }
    }
}

/// A value in the 0.4 % of a step that a limit cuts is counted above the limit.
fn table(title: &str, histogram: &Histogram) -> Vec<String> {
    let legend = "'+': Individual%; '+-': Cumulative%";
    let headings = format!(
        " {:>8} <  {:>10}   {:>10} {:>8} {:>8}  {legend}",
        "min(ms)", "max(ms)", "count", "%%", "cum%%"
    );
    let mut lines = vec![title.to_string(), headings, String::new()];
    let total = histogram.count();
    let share = |count: u64| count as f64 * 100.0 / total as f64;
    let (mut low, mut below) = (0, 0);
    for limit in LIMITS_US.iter().copied().map(Some).chain([None]) {
        let up_to = limit.map_or(total, |limit_us| histogram.count_below(limit_us * 1_000));
        let count = up_to - below;
        let high = limit.map_or("max".to_string(), milliseconds);
        let (pct, cumulative) = (share(count), share(up_to));
        lines.push(format!(
            " {:>8} < {high:>11} {:>12} {pct:>8.4} {cumulative:>8.4}  {}{}",
            milliseconds(low),
            grouped(count),
            "+".repeat((pct / 2.0) as usize),
            "-".repeat(((cumulative - pct) / 2.0) as usize),
        ));
        (low, below) = (limit.unwrap_or(low), up_to);
    }
    lines.push(String::new());
    lines
}

fn milliseconds(us: u64) -> String {
    let mut text = format!("{:.3}", us as f64 / 1e3);
    text.truncate(8);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_shares_and_bars() {
        let values = [
            vec![90_000; 12],
            vec![150_000; 430],
            vec![300_000; 550],
            vec![3_000_000_000; 8],
        ];
        let histogram: Histogram = values.concat().into_iter().collect();
        let lines = table("Reads:", &histogram);
        assert_eq!(
            lines[1],
            "  min(ms) <     max(ms)        count       %%    cum%%  '+': Individual%; '+-': Cumulative%"
        );
        assert_eq!(
            lines[7],
            "    0.080 <       0.100           12   1.2000   1.2000  "
        );
        assert_eq!(
            lines[8],
            "    0.100 <       0.200          430  43.0000  44.2000  +++++++++++++++++++++"
        );
        assert!(
            lines[29].starts_with(" 2000.000 <         max            8   0.8000 100.0000  -----")
        );
        assert_eq!(lines[30], "");
    }

    #[test]
    fn a_limit_belongs_to_the_bucket_above_it() {
        let histogram: Histogram = [19_900, 20_000].into_iter().collect();
        let lines = table("Reads:", &histogram);
        assert!(lines[3].contains("  1  50.0000"), "{}", lines[3]);
        assert!(lines[4].contains("  1  50.0000 100.0000"), "{}", lines[4]);
    }
}
