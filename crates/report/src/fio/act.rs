//! The table behind the report of the profile `act`: how many of its small reads were slower than each of
//! three latencies, hour by hour.
use super::model::is_check;
use measure::{Event, ExecutionStarted, Histogram, Interval, IntervalPhase, RunStarted};
use plan::{BoundPlan, Label, Operation, RunKind};
use std::fmt::Write;

/// The job whose reads are judged.
const JUDGED: &str = "act-read";
const SLICE_NS: u64 = 3_600_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// A latency, and the share of reads that may be slower.
struct Limit {
    ms: u64,
    slower_pct: f64,
}

const LIMITS: [Limit; 3] = [
    Limit {
        ms: 1,
        slower_pct: 5.0,
    },
    Limit {
        ms: 8,
        slower_pct: 1.0,
    },
    Limit {
        ms: 64,
        slower_pct: 0.1,
    },
];

/// Folds events into the table.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    is_asked: bool,
    /// The streams of the present run that are judged.
    streams: Vec<usize>,
    /// By hour of measured time.
    slices: Vec<Slice>,
    measured_from_ns: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct Slice {
    reads: u64,
    slower: [u64; LIMITS.len()],
}

impl Verdict {
    pub(super) fn on_event(&mut self, event: &Event) {
        match event {
            Event::ExecutionStarted(started) => self.is_asked = asks(started),
            Event::RunStarted(run) if self.is_asked => self.begin(run),
            Event::Interval(interval) if interval.phase == IntervalPhase::Measured => {
                self.add(interval);
            }
            _ => {}
        }
    }

    fn begin(&mut self, run: &RunStarted) {
        let is_judged = run.kind == RunKind::Measure && !is_check(&run.labels);
        let streams = run.streams.iter().enumerate().filter(|_| is_judged);
        let judged = streams.filter(|(_, one)| Label::find(&one.labels, "job") == Some(JUDGED));
        self.streams = judged.map(|(place, _)| place).collect();
    }

    fn add(&mut self, interval: &Interval) {
        if self.streams.is_empty() {
            return;
        }
        let from_ns = *self.measured_from_ns.get_or_insert(interval.start_ns);
        let number = (interval.start_ns.saturating_sub(from_ns) / SLICE_NS) as usize;
        if self.slices.len() <= number {
            self.slices.resize_with(number + 1, Slice::default);
        }
        let mine = interval.figures.iter().filter(|figure| {
            let key = &figure.key;
            key.operation == Operation::Read && self.streams.contains(&key.stream.index())
        });
        for figure in mine {
            self.slices[number].add(&figure.service.histogram);
        }
    }

    /// The table; empty where no such profile was run, or nothing was read.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        if self.slices.iter().all(|slice| slice.reads == 0) {
            return out;
        }
        out.push_str("\nact: reads slower than so many ms, in percent, by hour\n slice");
        for limit in &LIMITS {
            let _ = write!(out, " {:>7}", limit.ms);
        }
        out.push('\n');
        for (number, slice) in self.slices.iter().enumerate() {
            let _ = write!(out, " {:>5}", number + 1);
            for pct in slice.slower_pct() {
                let _ = write!(out, " {pct:>7.2}");
            }
            let _ = writeln!(out, "  {}", word(slice.passes()));
        }
        let passes = self.slices.iter().all(Slice::passes);
        let _ = writeln!(out, "act: test complete: {}", word(passes));
        out
    }
}

impl Slice {
    fn add(&mut self, histogram: &Histogram) {
        let count = histogram.count();
        self.reads += count;
        for (slower, limit) in self.slower.iter_mut().zip(&LIMITS) {
            *slower += count - histogram.count_below(limit.ms * NS_PER_MS);
        }
    }

    fn slower_pct(&self) -> [f64; LIMITS.len()] {
        self.slower
            .map(|slower| slower as f64 * 100.0 / self.reads.max(1) as f64)
    }

    fn passes(&self) -> bool {
        let shares = self.slower_pct();
        self.reads > 0
            && shares
                .iter()
                .zip(&LIMITS)
                .all(|(pct, limit)| *pct < limit.slower_pct)
    }
}

fn asks(started: &ExecutionStarted) -> bool {
    let bound: Option<BoundPlan> = serde_json::from_str(&started.plan_json).ok();
    bound.is_some_and(|bound| Label::find(&bound.plan.labels, "profile") == Some("act"))
}

fn word(passes: bool) -> &'static str {
    if passes { "PASS" } else { "FAIL" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(reads: u64, slow: u64, slow_ms: u64) -> Slice {
        let quick = (0..reads - slow).map(|_| 200_000);
        let slow = (0..slow).map(|_| slow_ms * NS_PER_MS);
        let mut slice = Slice::default();
        slice.add(&quick.chain(slow).collect());
        slice
    }

    #[test]
    fn a_slice_passes_with_few_slow_reads() {
        for (slow, slow_ms, passes) in [
            (49, 2, true),
            (50, 2, false),
            (9, 20, true),
            (10, 20, false),
            (0, 0, true),
            (1, 100, false),
        ] {
            let slice = slice(1_000, slow, slow_ms);
            assert_eq!(slice.passes(), passes, "{slow} of {slow_ms} ms: {slice:?}");
        }
        assert!(!Slice::default().passes(), "nothing was read");
    }

    #[test]
    fn the_table_has_a_row_for_each_hour() {
        let verdict = Verdict {
            slices: vec![slice(1_000, 20, 2), slice(1_000, 20, 10)],
            ..Verdict::default()
        };
        let text = verdict.text();
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                " slice       1       8      64",
                "     1    2.00    0.00    0.00  PASS",
                "     2    2.00    2.00    0.00  FAIL",
                "act: test complete: FAIL",
            ]
        );
        assert_eq!(Verdict::default().text(), "");
    }
}
