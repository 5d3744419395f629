//! Which of the threads of a pool waits for the next arrival.
//!
//! With a thread per slot, waking another thread for each arrival would cost more than most of the
//! I/O it starts. So one thread holds the turn: it waits, claims and, where I/O is fast and nothing
//! else is due, does the I/O itself without giving up the turn. Where I/O takes longer than the gap
//! to the next arrival it hands the turn over first. A standby looks every five milliseconds whether
//! the holder is stuck in its I/O and takes the turn from it, so a stall holds up no arrival for
//! longer than six.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::Thread;
use std::time::Duration;

const NOBODY: usize = usize::MAX;
const STALL_NS: u64 = 1_000_000;
const STANDBY_LOOKS: Duration = Duration::from_millis(5);
const PARK: Duration = Duration::from_secs(1);

/// I/O shorter than this is done in turn rather than by waking another thread, which costs more.
const SHORT_IO_NS: u64 = 20_000;

/// What short and longer I/O may cost the next arrival in lateness before another thread is woken.
const TOLERATED_SHORT_NS: u64 = 150_000;
const TOLERATED_LONG_NS: u64 = 20_000;

/// A thread whose short I/Os take half of the gap between arrivals at most catches up by itself with
/// what has become late, up to this much; to wake others for it would take longer.
const TOLERATED_ALONE_NS: u64 = 2_000_000;

/// One I/O counts as so many times the mean at most, as a thread may lose its CPU within it.
const OUTLIER: u64 = 8;

/// The turn of one pool.
#[derive(Debug)]
pub(crate) struct Gate {
    holder: AtomicUsize,
    standby: AtomicUsize,
    /// When the holder began the I/O that it does without handing over; zero outside of it.
    inline_since_ns: AtomicU64,
    /// A running mean of service times.
    service_ns: AtomicU64,
    threads: Vec<OnceLock<Thread>>,
    /// A bit per thread that is parked.
    parked: Vec<AtomicU64>,
}

impl Gate {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            holder: AtomicUsize::new(NOBODY),
            standby: AtomicUsize::new(NOBODY),
            inline_since_ns: AtomicU64::new(0),
            service_ns: AtomicU64::new(0),
            threads: (0..threads).map(|_| OnceLock::new()).collect(),
            parked: (0..threads.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        }
    }

    /// Makes the calling thread known as number `me`.
    pub(crate) fn enrol(&self, me: usize) {
        let _ = self.threads[me].set(std::thread::current());
    }

    pub(crate) fn is_holder(&self, me: usize) -> bool {
        self.holder.load(SeqCst) == me
    }

    /// Waits for the turn, for a bounded time; true when it is ours.
    pub(crate) fn wait_for_turn(&self, me: usize, now_ns: impl Fn() -> u64) -> bool {
        if self.is_holder(me) || self.take(NOBODY, me) {
            return true;
        }
        if self
            .standby
            .compare_exchange(NOBODY, me, SeqCst, SeqCst)
            .is_ok()
        {
            let won = self.stand_by(me, now_ns);
            let _ = self.standby.compare_exchange(me, NOBODY, SeqCst, SeqCst);
            return won;
        }
        self.set_parked(me, true);
        // Whoever gave up the turn before it could see us parked has left it for the taking.
        if !self.take(NOBODY, me) {
            std::thread::park_timeout(PARK);
        }
        self.set_parked(me, false);
        self.is_holder(me) || self.take(NOBODY, me)
    }

    /// Before an I/O: whether to keep the turn during it. Hands it over otherwise. Arrivals are
    /// `gap_ns` apart in the mean.
    pub(crate) fn begin_io(&self, me: usize, now_ns: u64, next_due_ns: u64, gap_ns: u64) -> bool {
        let service_ns = self.service_ns.load(SeqCst);
        let ends_ns = now_ns + service_ns;
        let tolerated_ns = match service_ns < SHORT_IO_NS {
            true if service_ns * 2 <= gap_ns => TOLERATED_ALONE_NS,
            true => TOLERATED_SHORT_NS,
            false => TOLERATED_LONG_NS,
        };
        let delays_next = next_due_ns.saturating_add(tolerated_ns) < ends_ns;
        if service_ns == 0 || delays_next || service_ns > STALL_NS / 4 {
            self.hand_over(me);
            return false;
        }
        if self.standby.load(SeqCst) == NOBODY {
            self.wake_one();
        }
        self.inline_since_ns.store(now_ns, SeqCst);
        true
    }

    pub(crate) fn end_io(&self, kept: bool, spent_ns: u64) {
        if kept {
            self.inline_since_ns.store(0, SeqCst);
        }
        let mean = self.service_ns.load(SeqCst);
        let spent_ns = match mean {
            0 => spent_ns.max(1),
            _ => spent_ns.clamp(1, mean * OUTLIER),
        };
        self.service_ns
            .store((mean * 7 + spent_ns).div_ceil(8), SeqCst);
    }

    /// Gives up the turn and sees to it that somebody takes it.
    pub(crate) fn hand_over(&self, me: usize) {
        if self
            .holder
            .compare_exchange(me, NOBODY, SeqCst, SeqCst)
            .is_err()
        {
            return;
        }
        let standby = self.standby.load(SeqCst);
        match self.threads.get(standby).and_then(OnceLock::get) {
            Some(thread) => thread.unpark(),
            None => self.wake_one(),
        }
    }

    /// Wakes everybody, for the end of a run.
    pub(crate) fn wake_all(&self) {
        self.threads
            .iter()
            .filter_map(OnceLock::get)
            .for_each(Thread::unpark);
    }

    fn take(&self, from: usize, me: usize) -> bool {
        self.holder
            .compare_exchange(from, me, SeqCst, SeqCst)
            .is_ok()
    }

    fn stand_by(&self, me: usize, now_ns: impl Fn() -> u64) -> bool {
        std::thread::park_timeout(STANDBY_LOOKS);
        if self.take(NOBODY, me) {
            return true;
        }
        let holder = self.holder.load(SeqCst);
        let since_ns = self.inline_since_ns.load(SeqCst);
        let stuck = since_ns > 0 && now_ns().saturating_sub(since_ns) > STALL_NS;
        if stuck && holder != NOBODY && self.take(holder, me) {
            self.inline_since_ns.store(0, SeqCst);
            // What follows may well be stuck in the same way.
            self.service_ns.fetch_max(STALL_NS, SeqCst);
            return true;
        }
        false
    }

    fn set_parked(&self, me: usize, parked: bool) {
        let (word, bit) = (&self.parked[me / 64], 1 << (me % 64));
        if parked {
            word.fetch_or(bit, SeqCst);
        } else {
            word.fetch_and(!bit, SeqCst);
        }
    }

    fn wake_one(&self) {
        for (number, word) in self.parked.iter().enumerate() {
            let bits = word.load(SeqCst);
            if bits == 0 {
                continue;
            }
            let bit = bits.trailing_zeros() as usize;
            word.fetch_and(!(1 << bit), SeqCst);
            if let Some(thread) = self.threads[number * 64 + bit].get() {
                thread.unpark();
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const NOW_NS: u64 = 1_000_000 * US;

    /// A gate whose first thread has the turn, after I/Os that took so long.
    fn gate(services_ns: &[u64]) -> Gate {
        let gate = Gate::new(2);
        assert!(gate.wait_for_turn(0, || NOW_NS));
        services_ns.iter().for_each(|ns| gate.end_io(false, *ns));
        gate
    }

    fn keeps_turn(gate: &Gate, late_us: u64, gap_us: u64) -> bool {
        gate.begin_io(0, NOW_NS, NOW_NS - late_us * US, gap_us * US)
    }

    #[test]
    fn short_io_is_done_in_turn_as_long_as_one_thread_can_catch_up() {
        let short = [4 * US; 8];
        assert!(keeps_turn(&gate(&short), 1_000, 20));
        assert!(!keeps_turn(&gate(&short), 3_000, 20));
        // One thread is too few for these.
        assert!(!keeps_turn(&gate(&short), 1_000, 5));
        assert!(keeps_turn(&gate(&short), 100, 5));
    }

    #[test]
    fn io_of_unknown_or_long_time_hands_the_turn_over() {
        assert!(!keeps_turn(&gate(&[]), 0, 20));
        assert!(!keeps_turn(&gate(&[100 * US; 8]), 0, 20));
    }

    #[test]
    fn one_long_io_among_short_ones_changes_little() {
        let mut services = vec![4 * US; 8];
        services.push(5_000 * US);
        assert!(keeps_turn(&gate(&services), 1_000, 20));
        services.extend([5_000 * US; 8]);
        assert!(!keeps_turn(&gate(&services), 0, 20));
    }
}
