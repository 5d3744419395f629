//! A thread that sleeps to the next moment of a schedule and notes how late it was: nothing on this machine that wakes
//! by a timer can be much better.
use super::Random;
use crate::reading::{LATENESS_MAX, LATENESS_P50, LATENESS_P99};
use clap::{Args, ValueEnum};
use measure::HistogramBuilder;
use rustix::time::{ClockId, Timespec};
use serde_json::{Value, json};

#[derive(Args, Clone, Copy, Debug)]
pub struct Options {
    /// Moments per second.
    #[arg(long)]
    pub rate: f64,
    /// Length of the measurement.
    #[arg(long)]
    pub seconds: u64,
    /// Before it.
    #[arg(long, default_value_t = 1)]
    pub warmup: u64,
    #[arg(long, value_enum, default_value_t = Law::Deterministic)]
    pub law: Law,
}

/// How moments follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Law {
    Deterministic,
    Exponential,
}

/// The intended moments, ns since the start.
#[derive(Debug)]
pub struct Schedule {
    law: Law,
    gap_ns: f64,
    count: u64,
    at_ns: f64,
    random: Random,
}

/// Runs the loop on this thread.
///
/// # Errors
/// A message for a rate that makes no schedule, or when the timer slack cannot be set.
pub fn run(options: &Options) -> Result<Value, String> {
    if !(options.rate > 0.0 && options.rate <= 1e7) {
        return Err("--rate is above 0 and at most 10000000".to_owned());
    }
    sys::thread::set_timer_slack_ns(1).map_err(|error| format!("timer slack: {error}"))?;
    let clock = sys::clock::Clock::calibrate();
    let mut schedule = Schedule::new(options.law, options.rate);
    let mut late = HistogramBuilder::default();
    let (mut moments, mut sleeps, mut late_ns_max) = (0_u64, 0_u64, 0_u64);
    let start_ns = clock.now_ns() + 1_000_000;
    let warm_ns = options.warmup * 1_000_000_000;
    let end_ns = warm_ns + options.seconds * 1_000_000_000;
    let mut cpu_ns = 0;
    loop {
        let at_ns = schedule.next_ns();
        if at_ns >= end_ns {
            break;
        }
        let due_ns = start_ns + at_ns;
        let mut now_ns = clock.now_ns();
        while now_ns < due_ns {
            sleep_until(due_ns);
            sleeps += 1;
            now_ns = clock.now_ns();
        }
        if at_ns < warm_ns {
            continue;
        }
        if moments == 0 {
            cpu_ns = sys::thread::thread_cpu_ns();
        }
        moments += 1;
        late.record(now_ns - due_ns);
        late_ns_max = late_ns_max.max(now_ns - due_ns);
    }
    let cpu_ns = sys::thread::thread_cpu_ns() - cpu_ns;
    let late = late.build();
    Ok(json!({
        "moments": moments,
        "sleeps": sleeps,
        "cpu_ns": cpu_ns,
        "window_ns": end_ns - warm_ns,
        LATENESS_P50: late.quantile_ns(0.5),
        LATENESS_P99: late.quantile_ns(0.99),
        LATENESS_MAX: late_ns_max,
    }))
}

impl Schedule {
    pub fn new(law: Law, rate: f64) -> Self {
        Self {
            law,
            gap_ns: 1e9 / rate,
            count: 0,
            at_ns: 0.0,
            random: Random::new(1),
        }
    }

    pub fn next_ns(&mut self) -> u64 {
        let at_ns = self.at_ns;
        self.count += 1;
        self.at_ns = match self.law {
            // From the count, so that rounding does not add up.
            Law::Deterministic => self.count as f64 * self.gap_ns,
            Law::Exponential => at_ns - self.random.share().ln() * self.gap_ns,
        };
        at_ns as u64
    }
}

fn sleep_until(due_ns: u64) {
    let due = Timespec {
        tv_sec: (due_ns / 1_000_000_000) as i64,
        tv_nsec: (due_ns % 1_000_000_000) as i64,
    };
    // Interrupted or early: the caller looks at the clock and comes again.
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &due);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_keep_their_rate() {
        for (law, tolerance) in [(Law::Deterministic, 1), (Law::Exponential, 500)] {
            let mut schedule = Schedule::new(law, 20_000.0);
            let moments: Vec<u64> = (0..20_001).map(|_| schedule.next_ns()).collect();
            assert!(moments.is_sorted());
            // Five deviations of a Poisson count: 5 × √20000 = 707 moments of 50 µs.
            let off_us = moments[20_000].abs_diff(1_000_000_000) / 1000;
            assert!(off_us <= tolerance * 71, "{law:?}: {off_us}");
        }
    }

    #[test]
    fn a_short_run_counts_every_moment_of_its_window() {
        let options = Options {
            rate: 1000.0,
            seconds: 1,
            warmup: 0,
            law: Law::Deterministic,
        };
        let found = run(&options).unwrap();
        assert_eq!(found["moments"], 1000);
        assert!(found[LATENESS_P50].as_u64() <= found[LATENESS_P99].as_u64());
        assert!(
            run(&Options {
                rate: 0.0,
                ..options
            })
            .is_err()
        );
    }
}
