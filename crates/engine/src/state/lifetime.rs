//! Streams with a time of their own: when they begin, what of them is measured, when they end, and
//! which others begin or end with their end. Streams without one have none of this.
use super::slabs::{AFTER_STOP, SEARCH, WARMUP};
use plan::{BoundRun, Stream};
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Release},
};

/// A worker looks this often whether what its stream waits for has ended.
pub(super) const LOOK_NS: u64 = 2_000_000;

/// A time that is not known yet, or never comes.
pub(super) const NEVER: u64 = u64::MAX;

/// The time of one stream, in nanoseconds since the start of the run.
#[derive(Debug)]
pub(crate) struct Lifetime {
    delay_ns: u64,
    warmup_ns: u64,
    /// In place of that time, where an amount ends the warm-up.
    pub(super) filling: Option<Filling>,
    window_ns: u64,
    /// Whether it makes syncs when the clock has ended it, which are measured as well.
    syncs_at_end: bool,
    /// Streams that have to end before it begins.
    awaited: AtomicU32,
    pub(super) opens_ns: AtomicU64,
    pub(super) is_over: AtomicBool,
    pub(super) over_ns: AtomicU64,
    /// Of a stream that looks for its depth and is then measured with it: when it was found.
    found_ns: Option<AtomicU64>,
    /// Streams that wait for it.
    pub(super) releases: Vec<usize>,
    /// Streams that end with it.
    pub(super) ends: Vec<usize>,
}

/// A warm-up that ends with an amount.
#[derive(Debug)]
pub(super) struct Filling {
    /// The stream that counts for this one: itself, or the first of its group.
    pub(super) counts_in: usize,
    pub(super) warm_ns: AtomicU64,
    /// Of a stream that counts: bytes up to now, those with which it is warm, and who is warm then.
    pub(super) done: AtomicU64,
    pub(super) bytes: u64,
    pub(super) warms: Vec<usize>,
}

impl Filling {
    fn of(run: &BoundRun, number: usize) -> Option<Self> {
        let asked = |number: usize| run.run.streams[number].lifetime.as_ref()?.warmup_bytes;
        let own = asked(number)?;
        let is_with = |other: &usize| match own.group {
            None => *other == number,
            group => asked(*other).is_some_and(|asked| asked.group == group),
        };
        let warms: Vec<usize> = (0..run.run.streams.len()).filter(is_with).collect();
        let amounts = warms.iter().filter_map(|other| asked(*other));
        Some(Self {
            counts_in: *warms.first()?,
            warm_ns: AtomicU64::new(NEVER),
            done: AtomicU64::new(0),
            bytes: amounts.map(|asked| asked.bytes).max()?,
            warms,
        })
    }
}

impl Lifetime {
    /// Of stream `number` of a run, where it has one.
    pub(crate) fn of(run: &BoundRun, number: usize) -> Option<Box<Self>> {
        let stream = &run.run.streams[number];
        let own = stream.lifetime.as_ref()?;
        let waits = |other: &Stream| {
            let own = other.lifetime.as_ref();
            own.is_some_and(|own| own.after.contains(&(number as u32)))
        };
        let others = run.run.streams.iter().enumerate();
        let releases = others.filter(|(_, other)| waits(other));
        let delay_ns = stream.start_delay.0;
        Some(Box::new(Self {
            delay_ns,
            warmup_ns: own.warmup.0,
            filling: Filling::of(run, number),
            syncs_at_end: stream.flow.syncs.are_at_end(),
            window_ns: own.window.map_or(NEVER, |window| window.0),
            awaited: AtomicU32::new(own.after.len() as u32),
            opens_ns: AtomicU64::new(if own.after.is_empty() {
                delay_ns
            } else {
                NEVER
            }),
            is_over: AtomicBool::new(false),
            over_ns: AtomicU64::new(NEVER),
            found_ns: (stream.flow.depth_search)
                .filter(|search| !search.goes_on)
                .map(|_| AtomicU64::new(NEVER)),
            releases: releases.map(|(other, _)| other).collect(),
            ends: own.ends.iter().map(|other| *other as usize).collect(),
        }))
    }

    /// Its measured time up to `end_ns`, from and to, once it has begun; the latter once it is over.
    pub(crate) fn measured(&self, end_ns: u64) -> (Option<u64>, Option<u64>) {
        let known = |at_ns: u64| Some(at_ns).filter(|at_ns| *at_ns != NEVER);
        let from_ns = known(self.measured_from_ns(end_ns));
        let to_ns =
            known(self.over_ns.load(Acquire)).map(|over_ns| over_ns.min(self.measured_to_ns()));
        (from_ns, to_ns.filter(|_| from_ns.is_some()))
    }

    /// When it begins, or when it is worth looking again.
    pub(crate) fn open_ns(&self, start_ns: u64, now_ns: u64) -> u64 {
        match self.opens_ns.load(Acquire) {
            NEVER => now_ns + LOOK_NS,
            opens_ns => start_ns + opens_ns,
        }
    }

    /// When it ends by the clock, of the clock.
    pub(crate) fn close_ns(&self, start_ns: u64) -> u64 {
        self.closing_ns().saturating_add(start_ns)
    }

    /// The end of its warm-up since the start of the run.
    pub(crate) fn warm_ns(&self) -> u64 {
        let opens_ns = self.opens_ns.load(Acquire);
        match &self.filling {
            None => opens_ns.saturating_add(self.warmup_ns),
            Some(filling) => filling.warm_ns.load(Acquire).max(opens_ns),
        }
    }

    /// Where its measurement begins, as it is known `end_ns` after the start of the run: with its
    /// depth, once that is found.
    pub(crate) fn measured_from_ns(&self, end_ns: u64) -> u64 {
        let found_ns = self.found_ns.as_ref().map(|found| found.load(Acquire));
        let found_ns = found_ns.filter(|found_ns| *found_ns <= end_ns);
        if self.is_over_cold(end_ns) {
            return self.opens_ns.load(Acquire);
        }
        found_ns.unwrap_or_else(|| match self.warm_ns() {
            // Behind all that is looked at; not known before the stream begins.
            NEVER => self.opens_ns.load(Acquire).max(end_ns),
            warm_ns => warm_ns,
        })
    }

    /// The run ends: what has begun and is not warm is over.
    pub(crate) fn end_cold(&self, end_ns: u64) {
        if self.over_ns.load(Acquire) == NEVER
            && self.opens_ns.load(Acquire) <= end_ns
            && end_ns < self.warm_ns()
        {
            self.over_ns.store(end_ns, Release);
        }
    }

    /// Whether it was over by then, and before it was warm: all that it did is measured, as nothing else would tell of it.
    pub(crate) fn is_over_cold(&self, end_ns: u64) -> bool {
        let over_ns = self.over_ns.load(Acquire);
        over_ns <= end_ns && over_ns < self.warm_ns()
    }

    /// Whether it has a search behind which measurement begins.
    pub(crate) fn has_search(&self) -> bool {
        self.found_ns.is_some()
    }

    /// Whether the depth was found by `end_ns` after the start of the run.
    pub(crate) fn has_found(&self, end_ns: u64) -> bool {
        let found_ns = self.found_ns.as_ref().map(|found| found.load(Acquire));
        found_ns.is_some_and(|found_ns| found_ns <= end_ns)
    }

    /// The depth was found; measurement begins.
    pub(crate) fn found(&self, since_ns: u64) {
        if let Some(found_ns) = &self.found_ns {
            found_ns.store(since_ns, Release);
        }
    }

    /// Its end by the clock since the start of the run.
    pub(crate) fn closing_ns(&self) -> u64 {
        self.warm_ns().saturating_add(self.window_ns)
    }

    /// What comes later is not measured.
    pub(crate) fn measured_to_ns(&self) -> u64 {
        match self.syncs_at_end {
            true => NEVER,
            false => self.closing_ns(),
        }
    }

    /// Whether the clock ends it, or may still do so.
    pub(super) fn ends_by_clock(&self) -> bool {
        let to_ns = self.closing_ns();
        to_ns != NEVER && self.over_ns.load(Acquire) >= to_ns
    }

    /// Whether it has ended by the clock `end_ns` after the start of the run.
    pub(crate) fn is_closed(&self, end_ns: u64) -> bool {
        end_ns >= self.closing_ns()
    }

    /// Where something counts that a worker sees at `now_ns` and would count in `slab`.
    pub(crate) fn slab(&self, start_ns: u64, now_ns: u64, slab: usize) -> usize {
        let since_ns = now_ns.saturating_sub(start_ns);
        match slab {
            AFTER_STOP => AFTER_STOP,
            _ if since_ns < self.warm_ns() => WARMUP,
            _ if since_ns >= self.measured_to_ns() => AFTER_STOP,
            _ if self.has_search() && !self.has_found(since_ns) => SEARCH,
            slab => slab,
        }
    }

    pub(super) fn release(&self, since_ns: u64) {
        if self.awaited.fetch_sub(1, AcqRel) == 1 {
            self.opens_ns.store(since_ns.max(self.delay_ns), Release);
        }
    }
}
