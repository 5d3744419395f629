//! When streams begin and end, and what of them is counted where, by the time of the run or by one of their own.
use super::SharedRun;
use super::lifetime::{LOOK_NS, NEVER};
use super::stream::SharedStream;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

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
