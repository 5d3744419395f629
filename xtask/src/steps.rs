//! The steps of a chore, with what each of them took.
use std::time::{Duration, Instant};

/// What one step took.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: &'static str,
    wall: Duration,
    /// Of everything that the step started and waited for, in user and system mode; `None` where the system does not tell.
    cpu: Option<Duration>,
}

/// Steps in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    rows: Vec<Row>,
}

impl Steps {
    /// Runs one step and keeps what it took, whether it succeeds or not.
    pub fn take<T>(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let (begun, before) = (Instant::now(), cpu());
        let outcome = step();
        let cpu = before.zip(cpu());
        self.rows.push(Row {
            name,
            wall: begun.elapsed(),
            cpu: cpu.map(|(before, after)| after.saturating_sub(before)),
        });
        outcome
    }

    /// A line for each step and one for all of them.
    pub fn table(&self) -> String {
        let total = Row {
            name: "total",
            wall: self.rows.iter().map(|row| row.wall).sum(),
            cpu: self.rows.iter().map(|row| row.cpu).sum(),
        };
        let mut text = format!("{:<14} {:>7} {:>7}\n", "step", "wall s", "CPU s");
        for row in self.rows.iter().chain([&total]) {
            let cpu = row.cpu.map(|cpu| format!("{:.1}", cpu.as_secs_f64()));
            let (wall, cpu) = (row.wall.as_secs_f64(), cpu.unwrap_or("-".to_owned()));
            text.push_str(&format!("{:<14} {wall:>7.1} {cpu:>7}\n", row.name));
        }
        text
    }
}

/// What this process and all that it has waited for have used so far.
fn cpu() -> Option<Duration> {
    of_stat(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

/// Fields 14 to 17 of `/proc/PID/stat`, in ticks of 10 ms: `USER_HZ` is 100 on every machine that Rust runs on.
fn of_stat(text: &str) -> Option<Duration> {
    // The name before may hold blanks and brackets.
    let (_, fields) = text.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(4).map(str::parse::<u64>);
    let ticks: Vec<u64> = ticks.collect::<Result<_, _>>().ok()?;
    (ticks.len() == 4).then(|| Duration::from_millis(ticks.iter().sum::<u64>() * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_the_process_and_its_children() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4 10 20 0 0 150 50 300 100 20 0 1 0";
        assert_eq!(of_stat(stat), Some(Duration::from_secs(6)));
        assert_eq!(of_stat("7 (a) S 1 7"), None);
    }

    #[test]
    fn a_step_that_fails_has_its_row_and_the_last_line_adds_up() {
        let row = |name, wall, cpu: Option<u64>| Row {
            name,
            wall: Duration::from_millis(wall),
            cpu: cpu.map(Duration::from_millis),
        };
        let mut steps = Steps::default();
        let failed: Result<(), String> = steps.take("tidy", || Err("no".to_owned()));
        assert_eq!((failed, steps.rows.len()), (Err("no".to_owned()), 1));
        steps.rows = vec![
            row("fmt", 1500, Some(2000)),
            row("tests", 60_000, Some(95_250)),
        ];
        let table = "step            wall s   CPU s\nfmt                1.5     2.0\n\
                     tests             60.0    95.2\ntotal             61.5    97.2\n";
        assert_eq!(steps.table(), table);
        steps.rows.push(row("docs", 0, None));
        assert!(steps.table().ends_with("total             61.5       -\n"));
    }
}
