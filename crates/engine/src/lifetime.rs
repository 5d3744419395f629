//! Streams with a time of their own: when they begin, what of them is measured, when they end, and
//! which others begin or end with their end. Streams without one have none of this.
use crate::shared::{AFTER_STOP, SEARCH, SharedRun, SharedStream, WARMUP};
use plan::{BoundRun, Stream};
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// A worker looks this often whether what its stream waits for has ended.
const LOOK_NS: u64 = 2_000_000;

/// A time that is not known yet, or never comes.
const NEVER: u64 = u64::MAX;

/// The time of one stream, in nanoseconds since the start of the run.
#[derive(Debug)]
pub(crate) struct Lifetime {
    delay_ns: u64,
    warmup_ns: u64,
    /// In place of that time, where an amount ends the warm-up.
    filling: Option<Filling>,
    window_ns: u64,
    /// Streams that have to end before it begins.
    awaited: AtomicU32,
    opens_ns: AtomicU64,
    is_over: AtomicBool,
    over_ns: AtomicU64,
    /// Of a stream that looks for its depth and is then measured with it: when it was found.
    found_ns: Option<AtomicU64>,
    /// Streams that wait for it.
    releases: Vec<usize>,
    /// Streams that end with it.
    ends: Vec<usize>,
}

/// A warm-up that ends with an amount.
#[derive(Debug)]
struct Filling {
    /// The stream that counts for this one: itself, or the first of its group.
    counts_in: usize,
    warm_ns: AtomicU64,
    /// Of a stream that counts: bytes up to now, those with which it is warm, and who is warm then.
    done: AtomicU64,
    bytes: u64,
    warms: Vec<usize>,
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
        let to_ns = known(self.over_ns.load(Acquire)).map(|over_ns| over_ns.min(self.closing_ns()));
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
        found_ns.unwrap_or_else(|| match self.warm_ns() {
            // Behind all that is looked at; not known before the stream begins.
            NEVER => self.opens_ns.load(Acquire).max(end_ns),
            warm_ns => warm_ns,
        })
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

    /// Whether the clock ends it, or may still do so.
    fn ends_by_clock(&self) -> bool {
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
            _ if since_ns >= self.closing_ns() => AFTER_STOP,
            _ if self.has_search() && !self.has_found(since_ns) => SEARCH,
            slab => slab,
        }
    }

    fn release(&self, since_ns: u64) {
        if self.awaited.fetch_sub(1, AcqRel) == 1 {
            self.opens_ns.store(since_ns.max(self.delay_ns), Release);
        }
    }
}

impl SharedStream {
    /// When it begins, or, while it waits for others, when it is worth looking again.
    #[inline]
    pub(crate) fn open_ns(&self, start_ns: u64, now_ns: u64) -> u64 {
        match &self.lifetime {
            None => start_ns + self.start_delay_ns,
            Some(own) => own.open_ns(start_ns, now_ns),
        }
    }

    /// Whether it begins with the end of others, and that has not come.
    pub(crate) fn waits_for_others(&self) -> bool {
        let own = self.lifetime.as_ref();
        own.is_some_and(|own| own.opens_ns.load(Acquire) == NEVER)
    }

    /// Whether what its schedule has still to come means something.
    pub(crate) fn follows_schedule(&self) -> bool {
        let own = self.lifetime.as_ref();
        !self.ended.load(Relaxed) || own.is_some_and(|own| own.ends_by_clock())
    }

    /// How far its schedule has come `end_ns` after the start of the run, from its own begin.
    pub(crate) fn scheduled_until_ns(&self, end_ns: u64) -> u64 {
        let (opens_ns, end_ns) = self.scheduled_span_ns(end_ns);
        end_ns.saturating_sub(opens_ns)
    }

    /// The same for what of it lies in its own warm-up.
    pub(crate) fn warm_until_ns(&self, end_ns: u64) -> u64 {
        let own = self.lifetime.as_ref();
        let from_ns = own.map_or(0, |own| own.measured_from_ns(end_ns));
        self.scheduled_until_ns(end_ns.min(from_ns))
    }

    /// From its begin to its end, as far as `end_ns` after the start of the run.
    pub(crate) fn scheduled_span_ns(&self, end_ns: u64) -> (u64, u64) {
        match &self.lifetime {
            None => (self.start_delay_ns + self.moved_ns(), end_ns),
            Some(own) => {
                let opens_ns = own.opens_ns.load(Acquire).saturating_add(self.moved_ns());
                (opens_ns, end_ns.min(own.closing_ns()))
            }
        }
    }

    /// The slab that counts what is seen now, given that of the run.
    #[inline]
    pub(crate) fn slab(&self, shared: &SharedRun, now_ns: u64, slab: usize) -> usize {
        match &self.lifetime {
            None => slab,
            Some(own) => own.slab(shared.start_ns.load(Relaxed), now_ns, slab),
        }
    }

    /// When to look at its next arrival: `at_ns` after it has begun, or at its end by the clock.
    #[inline]
    pub(crate) fn arrival_ns(&self, start_ns: u64, now_ns: u64, at_ns: u64) -> u64 {
        let at_ns = at_ns + self.moved_ns();
        match &self.lifetime {
            None => start_ns + self.start_delay_ns + at_ns,
            Some(own) => match own.opens_ns.load(Acquire) {
                NEVER => now_ns + LOOK_NS,
                opens_ns => (start_ns + opens_ns + at_ns).min(own.close_ns(start_ns)),
            },
        }
    }

    /// A time of the clock, or its own end where that comes first.
    #[inline]
    pub(crate) fn not_after_close(&self, start_ns: u64, at_ns: u64) -> u64 {
        match &self.lifetime {
            None => at_ns,
            Some(own) => at_ns.min(own.close_ns(start_ns)),
        }
    }
}

impl SharedRun {
    /// Whether a stream issues nothing any more.
    #[inline]
    pub(crate) fn has_ended(&self, number: usize, now_ns: u64) -> bool {
        let stream = &self.streams[number];
        if stream.ended.load(Relaxed) {
            return true;
        }
        match &stream.lifetime {
            None => false,
            Some(own) => {
                now_ns >= own.close_ns(self.start_ns.load(Relaxed))
                    && self.end_stream(number, now_ns)
            }
        }
    }

    /// One more number of a stream that ends came back, or lies beyond its end.
    #[inline]
    pub(crate) fn resolve(&self, number: usize, now_ns: u64) {
        let stream = &self.streams[number];
        stream.resolved.fetch_add(1, Release);
        if stream.lifetime.is_some() {
            self.note_over(number, now_ns);
        }
    }

    /// Counts what a stream has done in its warm-up, where that ends it.
    #[cold]
    pub(crate) fn count_warm(&self, number: usize, bytes: u64, now_ns: u64) {
        let filling = |number: usize| self.streams[number].lifetime.as_ref()?.filling.as_ref();
        let Some(counter) = filling(number).and_then(|own| filling(own.counts_in)) else {
            return;
        };
        let before = counter.done.fetch_add(bytes, AcqRel);
        if before >= counter.bytes || before + bytes < counter.bytes {
            return;
        }
        let since_ns = now_ns.saturating_sub(self.start_ns.load(Relaxed));
        for own in counter.warms.iter().filter_map(|other| filling(*other)) {
            own.warm_ns.store(since_ns, Release);
        }
    }

    /// Carries out what the end of a stream leads to, once nothing of it is in flight.
    pub(crate) fn note_over(&self, number: usize, now_ns: u64) {
        let stream = &self.streams[number];
        let Some(own) = &stream.lifetime else { return };
        if !stream.is_done() || own.is_over.swap(true, AcqRel) {
            return;
        }
        let since_ns = now_ns.saturating_sub(self.start_ns.load(Relaxed));
        own.over_ns.store(since_ns, Release);
        for other in own.releases.iter().map(|other| &self.streams[*other]) {
            if let Some(waiting) = &other.lifetime {
                waiting.release(since_ns);
            }
        }
        for other in &own.ends {
            self.end_stream(*other, now_ns);
        }
    }

    /// Ends a stream, or lets it do what it has to do at its end; whether it has ended.
    #[cold]
    pub(crate) fn end_stream(&self, number: usize, now_ns: u64) -> bool {
        let stream = &self.streams[number];
        if stream.flow.as_ref().is_some_and(|flow| flow.is_drawn()) {
            return false;
        }
        stream.ended.store(true, Release);
        self.note_over(number, now_ns);
        true
    }
}
