//! Progress on a terminal: which run, how far, what it reaches, time left. Elsewhere a line a run.
use crate::printing;
use indicatif::{ProgressBar, ProgressStyle};
use measure::{Event, ExecutionStarted, Interval, RunStarted};
use plan::Bytes;
use report::shown;
use std::time::Duration;

/// The progress of an execution.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// The targets in words, until the first run begins.
    targets: Option<String>,
    started: Option<RunStarted>,
    moved_bytes: u64,
    /// Seconds of all runs that end by time with their pauses; and of those that are over.
    planned_s: u64,
    over_s: u64,
    /// Bytes of all runs that end with a size; and of those that are over, with their time.
    planned_bytes: u64,
    over_bytes: u64,
    over_sized_ns: u64,
    last_end_ns: u64,
}

/// Targets that are named at most.
const NAMED: usize = 3;

fn targets_text(started: &ExecutionStarted) -> String {
    let targets = &started.targets;
    let bytes: u64 = targets.iter().map(|target| target.bytes).sum();
    let named = targets.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|one| format!("`{}`", shown::name(&one.name)))
        .collect();
    let size = Bytes(bytes);
    match targets.len() {
        0 => "no target".to_owned(),
        1 => format!("{} ({size})", named[0]),
        count if count <= NAMED => format!("{} ({size} in all)", named.join(", ")),
        count => format!("{count} targets ({size} in all)"),
    }
}

/// How long a run is, after its name; nothing where nobody knows.
fn length_text(started: &RunStarted) -> String {
    match (started.window_ns, started.expected_bytes) {
        (Some(window_ns), _) => {
            let seconds = (window_ns + started.warmup_ns).div_ceil(1_000_000_000);
            format!(", {}", duration(seconds))
        }
        (None, Some(bytes)) => format!(", {}", Bytes(bytes)),
        (None, None) => String::new(),
    }
}

/// How long several runs take: the time of those that end by time, and what those move that end with a size; `None` where
/// there is neither.
pub fn total_text(timed_s: u64, sized_bytes: u64) -> Option<String> {
    let sized = (sized_bytes > 0).then(|| format!("{} of I/O", Bytes(sized_bytes)));
    let timed = (timed_s > 0).then(|| format!("about {}", duration(timed_s)));
    let totals: Vec<String> = timed.into_iter().chain(sized).collect();
    (!totals.is_empty()).then(|| totals.join(" plus "))
}

impl Progress {
    /// `planned_s` is the time of all runs that end by time, with their pauses; `planned_bytes` what
    /// all runs move that end with a size.
    pub fn new(planned_s: u64, planned_bytes: u64) -> Self {
        let bar = printing::progress_target().map(|target| {
            let bar = ProgressBar::with_draw_target(Some(1000), target);
            bar.set_style(
                ProgressStyle::with_template("{prefix} [{bar:24}] {msg}")
                    .expect("the template is ours")
                    .progress_chars("=> "),
            );
            bar
        });
        Self {
            bar,
            targets: None,
            started: None,
            moved_bytes: 0,
            planned_s,
            over_s: 0,
            planned_bytes,
            over_bytes: 0,
            over_sized_ns: 0,
            last_end_ns: 0,
        }
    }

    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::ExecutionStarted(started) => self.targets = Some(targets_text(started)),
            Event::RunStarted(started) => self.begin(started),
            Event::Interval(interval) => self.advance(interval),
            Event::RunFinished(_) => self.end(),
            // Of commands the log tells; nobody asked for it here.
            Event::Remark(remark) if remark.code == "command-log" => {}
            Event::Remark(remark) => self.line(&remark.message),
            Event::ExecutionFinished(_) => {
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, started: &RunStarted) {
        if let Some(targets) = self.targets.take() {
            self.line(&self.outset(started.runs, &targets));
        }
        (self.moved_bytes, self.last_end_ns) = (0, 0);
        let name = started.full_name();
        let name = shown::name(&name);
        let prefix = format!("run {}/{} {name}", started.run + 1, started.runs);
        match &self.bar {
            Some(bar) => {
                // Each of these may draw: what belongs to the run before goes first.
                bar.set_message("starting");
                bar.set_position(0);
                bar.set_prefix(prefix);
            }
            None => errln!("{prefix}{}", length_text(started)),
        }
        self.started = Some(started.clone());
    }

    /// What begins, on what, and for how long.
    fn outset(&self, runs: u32, targets: &str) -> String {
        let runs = plan::counted(u64::from(runs), "run");
        match total_text(self.planned_s, self.planned_bytes) {
            None => format!("{runs} on {targets}"),
            Some(total) => format!("{runs} on {targets}: {total}"),
        }
    }

    fn advance(&mut self, interval: &Interval) {
        self.moved_bytes += interval
            .figures
            .iter()
            .map(|figure| figure.bytes)
            .sum::<u64>();
        self.last_end_ns = interval.end_ns;
        let (Some(bar), Some(started)) = (&self.bar, &self.started) else {
            return;
        };
        let share = self.share_done(started, interval);
        bar.set_position((share * 1000.0) as u64);
        let left = self.seconds_left(started, interval, share);
        let left = left.map_or(String::new(), |seconds| {
            format!("  {} left", duration(seconds))
        });
        bar.set_message(format!("{}{left}", report::summary::live_line(interval)));
    }

    fn share_done(&self, started: &RunStarted, interval: &Interval) -> f64 {
        let done = match (started.window_ns, started.expected_bytes) {
            (Some(window_ns), _) => {
                interval.end_ns as f64 / (window_ns + started.warmup_ns).max(1) as f64
            }
            (None, Some(bytes)) => self.moved_bytes as f64 / bytes.max(1) as f64,
            (None, None) => 0.0,
        };
        done.min(1.0)
    }

    /// From the plan where the runs have planned times, from bytes where a run ends with a size.
    fn seconds_left(&self, started: &RunStarted, interval: &Interval, share: f64) -> Option<u64> {
        match started.window_ns {
            Some(_) => Some(
                self.planned_s
                    .saturating_sub(self.over_s + interval.end_ns / 1_000_000_000),
            ),
            None => {
                let expected = started.expected_bytes?;
                // A pace over all runs of this kind so far; what comes after them is planned.
                let moved = self.over_bytes + self.moved_bytes;
                let spent_s = (self.over_sized_ns + interval.end_ns) as f64 / 1e9;
                let all = self.planned_bytes.max(self.over_bytes + expected);
                let left_s = all.saturating_sub(moved) as f64 * spent_s / moved as f64;
                (share > 0.0).then(|| left_s as u64 + self.planned_s.saturating_sub(self.over_s))
            }
        }
    }

    fn end(&mut self) {
        let Some(started) = self.started.take() else {
            return;
        };
        match (started.window_ns, started.expected_bytes) {
            (Some(window_ns), _) => self.over_s += (window_ns + started.warmup_ns) / 1_000_000_000,
            (None, Some(bytes)) => {
                self.over_bytes += bytes;
                self.over_sized_ns += self.last_end_ns;
            }
            (None, None) => {}
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(shown::message(text)),
            None => errln!("{text}"),
        }
    }
}

/// `45 s`, `12 min 05 s`, `3 h 10 min`.
pub fn duration(seconds: u64) -> String {
    let whole = Duration::from_secs(seconds).as_secs();
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_read_in_the_unit_that_fits() {
        assert_eq!(duration(45), "45 s");
        assert_eq!(duration(725), "12 min 05 s");
        assert_eq!(duration(11_400), "3 h 10 min");
    }
}
