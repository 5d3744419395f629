//! The status line: who is running, how far, how fast, how long still.
use super::number::{Base, UnitStyle, rates, short};
use super::opening::{Cast, Current, Part};
use measure::{Figure, Interval, IntervalPhase};
use plan::Operation;

const SECOND_NS: u64 = 1_000_000_000;

impl Cast {
    /// The line after an interval, without its end.
    pub(super) fn status_line(&self, interval: &Interval) -> String {
        let now = Some(self.finished);
        let mine = |part: &&Part| Some(part.run) == now || part.check_run == now;
        let running = self.parts.iter().filter(mine);
        let is_running = self.current.is_some();
        let (jobs, files) =
            running.fold((0, 0), |(jobs, files), part| (jobs + 1, files + part.files));
        let (jobs, files) = if is_running { (jobs, files) } else { (0, 0) };
        let mut line = format!("Jobs: {jobs} (f={files})");
        let asked = self.current.as_ref().and_then(|current| current.asked_rate);
        if let Some(per_second) = asked {
            line.push_str(&format!(", 0-{} IOPS", per_second as u64));
        }
        line.push_str(&format!(": [{}]", self.states(interval.phase)));
        let left_ns = self.left_ns(interval.unix_ns);
        let elapsed_ns = interval.unix_ns.saturating_sub(self.begun_unix_ns);
        match left_ns {
            Some(left_ns) => {
                let share = elapsed_ns as f64 * 100.0 / (elapsed_ns + left_ns).max(1) as f64;
                line.push_str(&format!("[{share:3.1}%]"));
            }
            None => line.push_str("[-.-%]"),
        }
        line.push_str(&speeds(interval));
        if let Some(left_ns) = left_ns {
            line.push_str(&format!("[eta {}]", duration(left_ns.div_ceil(SECOND_NS))));
        }
        line
    }

    /// A letter per clone, runs of equal letters counted.
    fn states(&self, phase: IntervalPhase) -> String {
        let letter = |part: &Part| {
            if self.current.is_some() && part.check_run == Some(self.finished) {
                'V'
            } else if part.run < self.finished {
                '_'
            } else if part.run > self.finished || self.current.is_none() {
                'P'
            } else if phase == IntervalPhase::Warmup {
                '/'
            } else {
                pattern_letter(&part.pattern)
            }
        };
        let mut counted: Vec<(char, usize)> = Vec::new();
        for letter in self.parts.iter().map(letter) {
            match counted.last_mut() {
                Some((last, count)) if *last == letter => *count += 1,
                _ => counted.push((letter, 1)),
            }
        }
        let texts: Vec<String> = counted
            .iter()
            .map(|(letter, count)| format!("{letter}({count})"))
            .collect();
        texts.join(",")
    }

    /// Of this run and of those behind it; `None` when a run ends with a size and its rate says
    /// nothing yet.
    fn left_ns(&self, now_unix_ns: u64) -> Option<u64> {
        let current = self
            .current
            .as_ref()
            .map_or(Some(0), |run| run.left_ns(now_unix_ns))?;
        let next = self.finished + usize::from(self.current.is_some());
        let later = self.planned_ns.get(next..).unwrap_or_default();
        let sum = |runs: &[Option<u64>]| runs.iter().copied().sum::<Option<u64>>();
        let repeated = match self.repetitions_left {
            0 => 0,
            left => sum(&self.planned_ns)? * u64::from(left),
        };
        Some(current + sum(later)? + repeated)
    }
}

impl Current {
    fn left_ns(&self, now_unix_ns: u64) -> Option<u64> {
        let elapsed_ns = now_unix_ns.saturating_sub(self.started_unix_ns);
        if let Some(planned_ns) = self.planned_ns {
            return Some(planned_ns.saturating_sub(elapsed_ns));
        }
        let left_bytes = self.expected_bytes?.saturating_sub(self.bytes);
        (self.bytes > 0).then(|| (left_bytes as f64 / self.bytes as f64 * elapsed_ns as f64) as u64)
    }
}

fn pattern_letter(pattern: &str) -> char {
    let word = pattern.split(':').next().unwrap_or(pattern);
    let letter = match word.trim_start_matches("rand") {
        "read" => 'R',
        "write" => 'W',
        "trim" | "trimwrite" => 'D',
        _ => 'M',
    };
    if word.starts_with("rand") {
        letter.to_ascii_lowercase()
    } else {
        letter
    }
}

/// `[r=…,w=…][r=…,w=… IOPS]` of the directions that did anything.
fn speeds(interval: &Interval) -> String {
    let seconds = interval.length_ns() as f64 / SECOND_NS as f64;
    let (mut bandwidths, mut iops) = (Vec::new(), Vec::new());
    for (operation, letter) in [
        (Operation::Read, 'r'),
        (Operation::Write, 'w'),
        (Operation::Trim, 't'),
    ] {
        let mine = |figure: &&Figure| figure.key.operation == operation;
        let figures = interval.figures.iter().filter(mine);
        let (count, bytes) = figures.fold((0, 0), |(count, bytes), figure| {
            (count + figure.operations, bytes + figure.bytes)
        });
        if count > 0 && seconds > 0.0 {
            let per_second = |amount: u64| (amount as f64 / seconds) as u64;
            let (rate, _) = rates(per_second(bytes), UnitStyle::default());
            bandwidths.push(format!("{letter}={rate}"));
            iops.push(format!(
                "{letter}={}",
                short(per_second(count), 4, Base::Decimal, "")
            ));
        }
    }
    match bandwidths.is_empty() {
        true => String::new(),
        false => format!("[{}][{} IOPS]", bandwidths.join(","), iops.join(",")),
    }
}

/// `[DDd:][HHh:]MMm:SSs`.
fn duration(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    if days > 0 {
        text.push_str(&format!("{days:02}d:"));
    }
    if days > 0 || hours > 0 {
        text.push_str(&format!("{hours:02}h:"));
    }
    text.push_str(&format!("{minutes:02}m:{seconds:02}s"));
    text
}
