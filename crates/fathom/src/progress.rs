//! Progress on a terminal: which run, how far, what it reaches, time left. Elsewhere a line a run.
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::{Event, Interval, RunStarted};
use std::io::IsTerminal;
use std::time::Duration;

/// The progress of an execution.
pub struct Progress {
    bar: Option<ProgressBar>,
    started: Option<RunStarted>,
    moved_bytes: u64,
    /// Seconds of all runs that end by time with their pauses; and of those that are over.
    planned_s: u64,
    over_s: u64,
}

impl Progress {
    /// `planned_s` is the time of all runs that end by time, with their pauses.
    pub fn new(planned_s: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            bar.set_style(
                ProgressStyle::with_template("{prefix} [{bar:24}] {msg}")
                    .expect("the template is ours")
                    .progress_chars("=> "),
            );
            bar
        });
        Self {
            bar,
            started: None,
            moved_bytes: 0,
            planned_s,
            over_s: 0,
        }
    }

    pub fn on_event(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => self.begin(started),
            Event::Interval(interval) => self.advance(interval),
            Event::RunFinished(_) => self.end(),
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
        self.moved_bytes = 0;
        let prefix = format!("run {}/{} {}", started.run + 1, started.runs, started.name);
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(prefix);
                bar.set_position(0);
                bar.set_message("starting");
            }
            None => eprintln!("{prefix}"),
        }
        self.started = Some(started.clone());
    }

    fn advance(&mut self, interval: &Interval) {
        self.moved_bytes += interval
            .figures
            .iter()
            .map(|figure| figure.bytes)
            .sum::<u64>();
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
            None if share > 0.0 => {
                let spent_s = interval.end_ns as f64 / 1e9;
                Some((spent_s / share - spent_s) as u64)
            }
            _ => None,
        }
    }

    fn end(&mut self) {
        if let Some(RunStarted {
            window_ns: Some(window_ns),
            warmup_ns,
            ..
        }) = self.started.take()
        {
            self.over_s += (window_ns + warmup_ns) / 1_000_000_000;
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
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
