//! One time scale for stamps and deadlines: nanoseconds of CLOCK_MONOTONIC, read from the TSC where that is safe.
//!
//! Choosing by timing is deliberately absent: the kernel's own judgement of the TSC decides (constant, non-stop, and
//! the clock source in use). Read [`Clock`] first.

use std::fmt;
use std::fs;

use rustix::time::{ClockId, Timespec};

/// Fraction bits of the counter-to-nanoseconds factor: 2^-40 is an error of 1 ns in 18 minutes.
const FRACTION_BITS: u32 = 40;
/// Each of the two calibration spans. Reading error is below 50 ns, so a span pins the rate to about 2 ppm.
const SPAN_NS: i64 = 20_000_000;
/// Two spans that differ by more than this were disturbed (the machine was paused, or the TSC is not steady).
const SPANS_DIFFER_PPM_MAX: u64 = 30;
const CALIBRATION_ATTEMPTS: u32 = 4;
const ANCHOR_READS: u32 = 64;

/// A calibrated clock; copies give the same times, in all threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    base_counter: u64,
    base_ns: u64,
    /// Nanoseconds per count, with `FRACTION_BITS` fraction bits; 0 reads CLOCK_MONOTONIC instead.
    multiplier: u64,
    hz: u64,
    unix_offset_ns: u64,
}

/// What a [`Clock`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The time stamp counter of the CPU, at this measured rate.
    Tsc { hz: u64 },
    /// CLOCK_MONOTONIC, by the kernel's vDSO.
    Monotonic,
}

impl Clock {
    /// Measures the TSC against CLOCK_MONOTONIC (about 40 ms, at most 160 ms); falls back to CLOCK_MONOTONIC where
    /// the CPU or the kernel does not vouch for the TSC, or two measurements disagree.
    #[must_use]
    pub fn calibrate() -> Clock {
        let unix_offset_ns = unix_offset_ns();
        let measured = if tsc_is_vouched_for() {
            measure_tsc()
        } else {
            None
        };
        let (base, multiplier, hz) = match measured {
            Some(rate) => (rate.base, rate.multiplier, rate.hz),
            None => (Anchor { counter: 0, ns: 0 }, 0, 0),
        };
        Clock {
            base_counter: base.counter,
            base_ns: base.ns,
            multiplier,
            hz,
            unix_offset_ns,
        }
    }

    /// Nanoseconds on the CLOCK_MONOTONIC scale. A counter behind the calibration reads as the calibration moment.
    ///
    /// The read is not ordered against neighbouring instructions (some 10 ns either way); a system call orders it.
    /// Drift against the kernel's clock is that of the calibration (about 2 ppm) plus NTP slewing; see
    /// [`Clock::drift_ns`].
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        if self.multiplier == 0 {
            return monotonic_ns();
        }
        self.base_ns
            + counts_to_ns(
                read_counter().saturating_sub(self.base_counter),
                self.multiplier,
            )
    }

    /// What is read, for the record of a run.
    #[must_use]
    pub fn source(&self) -> ClockSource {
        if self.multiplier == 0 {
            ClockSource::Monotonic
        } else {
            ClockSource::Tsc { hz: self.hz }
        }
    }

    /// Unix time, ns, of a moment of this clock, by the wall clock as it stood at calibration: later steps of the
    /// wall clock do not show.
    #[inline]
    #[must_use]
    pub fn unix_ns(&self, mono_ns: u64) -> u64 {
        mono_ns.wrapping_add(self.unix_offset_ns)
    }

    /// How far this clock is ahead (positive) or behind CLOCK_MONOTONIC now, ns.
    #[must_use]
    pub fn drift_ns(&self) -> i64 {
        let before = monotonic_ns();
        let own = self.now_ns();
        let after = monotonic_ns();
        own.wrapping_sub(before + (after - before) / 2) as i64
    }

    /// Sleeps until `now_ns() >= deadline_ns`; signals do not shorten it, and a past deadline returns at once.
    pub fn sleep_until(&self, deadline_ns: u64) {
        loop {
            let now_ns = self.now_ns();
            if now_ns >= deadline_ns {
                return;
            }
            // The outcome does not matter: an early return, by a signal or by drift, comes round again.
            let _ = rustix::thread::clock_nanosleep_relative(
                ClockId::Monotonic,
                &timespec(deadline_ns - now_ns),
            );
        }
    }
}

impl fmt::Display for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockSource::Tsc { hz } => {
                write!(f, "tsc at {}.{:06} MHz", hz / 1_000_000, hz % 1_000_000)
            }
            ClockSource::Monotonic => f.write_str("CLOCK_MONOTONIC"),
        }
    }
}

#[derive(Clone, Copy)]
struct Anchor {
    counter: u64,
    ns: u64,
}

struct Rate {
    base: Anchor,
    multiplier: u64,
    hz: u64,
}

fn measure_tsc() -> Option<Rate> {
    for _ in 0..CALIBRATION_ATTEMPTS {
        let anchors = [take_anchor(), pause_and_anchor(), pause_and_anchor()];
        if let Some(rate) = rate_of(anchors) {
            return Some(rate);
        }
    }
    None
}

fn rate_of([first, middle, last]: [Anchor; 3]) -> Option<Rate> {
    let early_hz = hz_between(first, middle)?;
    let late_hz = hz_between(middle, last)?;
    if early_hz.abs_diff(late_hz) > early_hz / 1_000_000 * SPANS_DIFFER_PPM_MAX {
        return None;
    }
    let counts = last.counter - first.counter;
    let multiplier = (u128::from(last.ns - first.ns) << FRACTION_BITS) / u128::from(counts);
    Some(Rate {
        base: last,
        multiplier: u64::try_from(multiplier).ok()?,
        hz: hz_between(first, last)?,
    })
}

/// Counts per second; nothing when a clock ran backwards or the rate is outside what any TSC has (100 MHz to 20 GHz).
fn hz_between(from: Anchor, to: Anchor) -> Option<u64> {
    let counts = u128::from(to.counter.checked_sub(from.counter)?);
    let ns = u128::from(to.ns.checked_sub(from.ns)?);
    let hz = u64::try_from((counts * 1_000_000_000).checked_div(ns)?).ok()?;
    (100_000_000..=20_000_000_000).contains(&hz).then_some(hz)
}

fn pause_and_anchor() -> Anchor {
    // An early wake-up is harmless: the span is measured, not assumed.
    let _ = rustix::thread::clock_nanosleep_relative(
        ClockId::Monotonic,
        &Timespec {
            tv_sec: 0,
            tv_nsec: SPAN_NS,
        },
    );
    take_anchor()
}

/// The tightest of several counter-clock-counter readings: a preempted one is wide and loses.
fn take_anchor() -> Anchor {
    let mut width_best = u64::MAX;
    let mut best = Anchor { counter: 0, ns: 0 };
    for _ in 0..ANCHOR_READS {
        let before = read_counter();
        let ns = monotonic_ns();
        let width = read_counter().saturating_sub(before);
        if width < width_best {
            width_best = width;
            best = Anchor {
                counter: before + width / 2,
                ns,
            };
        }
    }
    best
}

#[inline]
fn counts_to_ns(counts: u64, multiplier: u64) -> u64 {
    ((u128::from(counts) * u128::from(multiplier)) >> FRACTION_BITS) as u64
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_counter() -> u64 {
    // SAFETY: every x86_64 CPU has the instruction; it reads a register and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn read_counter() -> u64 {
    0
}

fn tsc_is_vouched_for() -> bool {
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let clocksource =
        fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap_or_default();
    tsc_is_steady(&cpuinfo, &clocksource)
}

/// Every CPU must say that its TSC neither changes rate nor stops, and the kernel must trust it itself.
fn tsc_is_steady(cpuinfo: &str, clocksource: &str) -> bool {
    let mut flag_lines = cpuinfo
        .lines()
        .filter(|line| line.starts_with("flags"))
        .peekable();
    let has = |line: &str, flag: &str| line.split_ascii_whitespace().any(|word| word == flag);
    flag_lines.peek().is_some()
        && flag_lines.all(|line| has(line, "constant_tsc") && has(line, "nonstop_tsc"))
        && clocksource.trim() == "tsc"
}

#[inline]
fn monotonic_ns() -> u64 {
    kernel_ns(libc::CLOCK_MONOTONIC)
}

/// A clock of the kernel. The C library finds the vDSO in a static program, too, where `rustix` makes a system call of each
/// reading.
#[inline]
fn kernel_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` alone, which outlives it.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    debug_assert_eq!(outcome, 0, "the kernel has this clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Wall clock less monotonic clock, from the tightest of several readings.
fn unix_offset_ns() -> u64 {
    let mut width_best = u64::MAX;
    let mut offset_ns = 0;
    for _ in 0..ANCHOR_READS {
        let before = monotonic_ns();
        let unix = kernel_ns(libc::CLOCK_REALTIME);
        let width = monotonic_ns() - before;
        if width < width_best {
            width_best = width;
            offset_ns = unix.wrapping_sub(before + width / 2);
        }
    }
    offset_ns
}

#[inline]
pub(crate) fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn timespec(duration_ns: u64) -> Timespec {
    Timespec {
        tv_sec: (duration_ns / 1_000_000_000) as i64,
        tv_nsec: (duration_ns % 1_000_000_000) as _,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_backwards_and_within_a_millisecond_of_the_kernel_for_200_ms() {
        let clock = Clock::calibrate();
        let end_ns = monotonic_ns() + 200_000_000;
        let mut previous = 0;
        loop {
            // Bracketed, so that being preempted between the reads cannot fail the test.
            let before = monotonic_ns();
            let own = clock.now_ns();
            let after = monotonic_ns();
            assert!(own >= previous, "{own} after {previous}");
            assert!(
                own + 1_000_000 >= before && own <= after + 1_000_000,
                "{before} <= {own} <= {after}"
            );
            previous = own;
            if after > end_ns {
                break;
            }
        }
        assert!(clock.drift_ns().abs() < 1_000_000_000);
    }

    #[test]
    fn source_follows_what_the_machine_says() {
        let clock = Clock::calibrate();
        match clock.source() {
            ClockSource::Tsc { hz } => {
                assert!(tsc_is_vouched_for());
                assert!((100_000_000..=20_000_000_000).contains(&hz));
            }
            ClockSource::Monotonic => println!("skipped: no trusted TSC here"),
        }
        assert_eq!(
            ClockSource::Tsc { hz: 2_100_000_042 }.to_string(),
            "tsc at 2100.000042 MHz"
        );
        assert_eq!(ClockSource::Monotonic.to_string(), "CLOCK_MONOTONIC");
    }

    #[test]
    fn the_tsc_needs_both_flags_on_every_cpu_and_the_kernels_trust() {
        let good = "flags\t\t: fpu constant_tsc nonstop_tsc\n";
        let stops = "flags\t\t: fpu constant_tsc\n";
        assert!(tsc_is_steady(good, "tsc\n"));
        assert!(!tsc_is_steady(good, "kvm-clock\n"));
        assert!(!tsc_is_steady(stops, "tsc\n"));
        assert!(!tsc_is_steady(&format!("{good}{stops}"), "tsc\n"));
        assert!(!tsc_is_steady("", "tsc"));
        assert!(!tsc_is_steady("flags : constant_tscx nonstop_tsc", "tsc"));
    }

    #[test]
    fn rate_and_conversion_are_exact_on_made_up_anchors() {
        let at = |counter, ns| Anchor { counter, ns };
        let rate = rate_of([
            at(1000, 50),
            at(1000 + 60_000_000, 20_000_050),
            at(1000 + 120_000_000, 40_000_050),
        ])
        .unwrap();
        assert_eq!(rate.hz, 3_000_000_000);
        let hour_ns = 3_600_000_000_000_u64;
        assert!(counts_to_ns(hour_ns * 3, rate.multiplier).abs_diff(hour_ns) < 10);
        // 100 ppm apart, backwards, standing still.
        assert!(
            rate_of([
                at(0, 0),
                at(60_000_000, 20_000_000),
                at(120_006_000, 40_000_000)
            ])
            .is_none()
        );
        assert!(rate_of([at(10, 0), at(5, 20_000_000), at(20, 40_000_000)]).is_none());
        assert!(rate_of([at(0, 0), at(0, 20_000_000), at(0, 40_000_000)]).is_none());
    }

    #[test]
    fn sleep_until_is_never_early_and_a_past_deadline_returns() {
        let clock = Clock::calibrate();
        for wait_ns in [1, 1_000, 300_000, 3_000_000] {
            let deadline_ns = clock.now_ns() + wait_ns;
            clock.sleep_until(deadline_ns);
            assert!(clock.now_ns() >= deadline_ns);
        }
        clock.sleep_until(0);
        clock.sleep_until(clock.now_ns().saturating_sub(1));
    }

    #[test]
    fn unix_time_agrees_with_the_wall_clock() {
        let clock = Clock::calibrate();
        let before = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        let unix_ns = clock.unix_ns(clock.now_ns());
        let after = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        // Loose, because the wall clock may be slewed meanwhile.
        assert!(unix_ns + 10_000_000 >= before && unix_ns <= after + 10_000_000);
    }
}
