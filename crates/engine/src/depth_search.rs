//! The search for the most operations in flight with which a stream keeps a latency: doubled until a
//! window fails, halved between that and the last that succeeded.
use plan::DepthSearch;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// After so many windows at the depth below a failed one, a deeper one is tried again.
const STABLE_WINDOWS: u32 = 3;

/// No window has begun.
const NEVER: u64 = u64::MAX;

/// A search and where it stands. Workers that come while another decides go on without a decision.
#[derive(Debug)]
pub(crate) struct SharedSearch {
    rules: DepthSearch,
    /// No depth is above it.
    most: u32,
    depth: AtomicU32,
    /// The deepest that succeeded, and the shallowest that failed.
    low: AtomicU32,
    high: AtomicU32,
    has_failed: AtomicBool,
    stable_windows: AtomicU32,
    window_from_ns: AtomicU64,
    /// Of the present window.
    back: AtomicU64,
    missed: AtomicU64,
    is_taken: AtomicBool,
    /// What is in flight comes back before the next window begins.
    is_draining: AtomicBool,
    /// The depth is found, and its own window runs.
    is_last: AtomicBool,
}

/// What an operation that came back leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    GoesOn,
    /// No depth keeps the latency.
    Hopeless,
    /// The window of the depth that was found is over.
    Over,
}

impl SharedSearch {
    pub(crate) fn new(rules: DepthSearch, most: u32) -> Self {
        let most = most.max(1);
        Self {
            rules,
            most,
            depth: AtomicU32::new(1),
            low: AtomicU32::new(1),
            high: AtomicU32::new(most),
            has_failed: AtomicBool::new(false),
            stable_windows: AtomicU32::new(0),
            window_from_ns: AtomicU64::new(NEVER),
            back: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            is_taken: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            is_last: AtomicBool::new(false),
        }
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth.load(Relaxed)
    }

    /// Whether nothing may be issued now; `on_found` is told once measurement may begin.
    pub(crate) fn holds(&self, in_flight: u64, now_ns: u64, on_found: impl FnOnce()) -> bool {
        if self.is_draining.load(Acquire) {
            if in_flight > 0 || self.is_taken.swap(true, Acquire) {
                return true;
            }
            // Another worker may have ended it in between.
            if self.is_draining.load(Relaxed) {
                if self.is_last.load(Relaxed) {
                    on_found();
                }
                self.begin_window(now_ns);
                self.is_draining.store(false, Release);
            }
            self.is_taken.store(false, Release);
        }
        if self.window_from_ns.load(Relaxed) == NEVER {
            self.window_from_ns.store(now_ns, Relaxed);
        }
        in_flight >= u64::from(self.depth())
    }

    /// Takes the service time of an operation; not of one in a warm-up.
    pub(crate) fn is_back(&self, service_ns: u64, now_ns: u64) -> Verdict {
        if self.is_draining.load(Acquire) {
            return Verdict::GoesOn;
        }
        let is_missed = service_ns > self.rules.latency.0;
        self.back.fetch_add(1, Relaxed);
        self.missed.fetch_add(u64::from(is_missed), Relaxed);
        let is_strict = self.rules.within_pct >= 100.0;
        let from_ns = self.window_from_ns.load(Relaxed);
        let is_due = now_ns >= from_ns.saturating_add(self.rules.window.0);
        if !(is_due || is_strict && is_missed) || self.is_taken.swap(true, Acquire) {
            return Verdict::GoesOn;
        }
        let verdict = if is_strict && is_missed {
            self.fail(now_ns)
        } else {
            self.judge(now_ns)
        };
        self.is_taken.store(false, Release);
        verdict
    }

    fn begin_window(&self, now_ns: u64) {
        self.window_from_ns.store(now_ns, Relaxed);
        self.back.store(0, Relaxed);
        self.missed.store(0, Relaxed);
    }

    fn judge(&self, now_ns: u64) -> Verdict {
        let (back, missed) = (self.back.load(Relaxed), self.missed.load(Relaxed));
        let kept_pct = 100.0 * back.saturating_sub(missed) as f64 / back.max(1) as f64;
        match kept_pct >= self.rules.within_pct {
            true => self.succeed(now_ns),
            false => self.fail(now_ns),
        }
    }

    fn succeed(&self, now_ns: u64) -> Verdict {
        let depth = self.depth();
        let mut high = self.high.load(Relaxed);
        let has_failed = self.has_failed.load(Relaxed);
        self.low.store(depth, Relaxed);
        if has_failed && depth + 1 == high {
            let stable = self.stable_windows.load(Relaxed) + 1;
            let tries_again = stable >= STABLE_WINDOWS;
            high += u32::from(tries_again);
            self.high.store(high, Relaxed);
            let stable = if tries_again { 0 } else { stable };
            self.stable_windows.store(stable, Relaxed);
        }
        let next = match has_failed {
            true => depth.midpoint(high),
            false => depth.saturating_mul(2),
        };
        self.depth.store(next.min(self.most), Relaxed);
        if self.depth() != depth || self.rules.goes_on {
            self.begin_window(now_ns);
            return Verdict::GoesOn;
        }
        // Behind the end as well, nothing that comes back changes the depth.
        self.is_draining.store(true, Release);
        match self.is_last.swap(true, Relaxed) {
            true => Verdict::Over,
            false => Verdict::GoesOn,
        }
    }

    fn fail(&self, now_ns: u64) -> Verdict {
        let depth = self.depth();
        if depth == 1 {
            self.begin_window(now_ns);
            // fio: only the strict rule ends a job here; the others go on with one in flight.
            let is_strict = self.rules.within_pct >= 100.0;
            self.is_draining.store(is_strict, Release);
            return match is_strict {
                true => Verdict::Hopeless,
                false => Verdict::GoesOn,
            };
        }
        self.has_failed.store(true, Relaxed);
        self.high.store(depth, Relaxed);
        let low = self.low.load(Relaxed);
        let low = if low >= depth { depth - 1 } else { low };
        self.low.store(low, Relaxed);
        self.depth.store(depth.midpoint(low), Relaxed);
        self.stable_windows.store(0, Relaxed);
        self.is_draining.store(true, Release);
        Verdict::GoesOn
    }
}
