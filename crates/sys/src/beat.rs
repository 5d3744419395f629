//! Sleeping time and again, to moments that are known one ahead.
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;

/// Two timers that take turns.
///
/// Whoever sets a timer that becomes the next one of its CPU has the hardware programmed, which takes a virtual machine
/// 10 µs or more. Setting one behind it takes half a microsecond, and the interrupt of the first programs the hardware
/// for both. So before a thread sleeps on one timer, the other is set to the end of the sleep that will follow.
#[derive(Debug)]
pub struct Beat {
    timers: [OwnedFd; 2],
    /// The timer that is waited for next, and the moment that it was set to beforehand, ns of the monotonic clock.
    next: usize,
    next_ns: u64,
}

/// A timer that was set beforehand is left as it is where it is off by this at most.
const TOLERANCE_NS: u64 = 2_000;

impl Beat {
    /// # Errors
    /// When there is no descriptor for a timer.
    pub fn new() -> io::Result<Self> {
        let timer = || timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC);
        Ok(Self {
            timers: [timer()?, timer()?],
            next: 0,
            next_ns: 0,
        })
    }

    /// Sleeps for `length_ns`. The sleep behind it is expected to end `beyond_ns` from now; where it does, it costs
    /// less. A signal ends a sleep early.
    ///
    /// # Errors
    /// What the kernel says to a timer; it has no reason to refuse one.
    pub fn sleep(&mut self, length_ns: u64, beyond_ns: u64) -> io::Result<()> {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64;
        let end_ns = now_ns + length_ns;
        let (this, other) = (self.next, 1 - self.next);
        if self.next_ns.abs_diff(end_ns) > TOLERANCE_NS {
            set(&self.timers[this], end_ns)?;
        }
        self.next_ns = now_ns + beyond_ns.max(length_ns);
        set(&self.timers[other], self.next_ns)?;
        self.next = other;
        wait(&self.timers[this])
    }
}

const SECOND_NS: u64 = 1_000_000_000;

/// Also forgets that the timer has ended before.
fn set(timer: &OwnedFd, at_ns: u64) -> io::Result<()> {
    let moment = |ns: u64| Timespec {
        tv_sec: (ns / SECOND_NS) as i64,
        tv_nsec: (ns % SECOND_NS) as _,
    };
    let end = Itimerspec {
        it_interval: moment(0),
        it_value: moment(at_ns),
    };
    timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &end)?;
    Ok(())
}

fn wait(timer: &OwnedFd) -> io::Result<()> {
    match rustix::io::read(timer, &mut [0; 8]) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const MS: u64 = 1_000_000;

    #[test]
    fn no_sleep_is_too_short_whatever_was_expected_of_it() {
        let mut beat = Beat::new().unwrap();
        // As expected, longer, shorter, and with an expectation in the past.
        for (length_ms, beyond_ms) in [(2, 4), (2, 3), (4, 30), (1, 1), (3, 0), (2, 9)] {
            let begun = Instant::now();
            beat.sleep(length_ms * MS, beyond_ms * MS).unwrap();
            let least = Duration::from_nanos(length_ms * MS - TOLERANCE_NS);
            assert!(begun.elapsed() >= least, "{length_ms} ms, {beyond_ms} ms");
        }
    }

    #[test]
    fn a_moment_that_has_passed_ends_at_once() {
        let mut beat = Beat::new().unwrap();
        for _ in 0..3 {
            beat.sleep(0, 0).unwrap();
        }
    }
}
