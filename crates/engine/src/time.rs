//! Where time comes from, and what a thread tells of how it stood still.

/// How often a thread has waited, and how often it was made to while it had something to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stops {
    pub waits: u64,
    pub preemptions: u64,
}

/// The clock of a worker. In simulated time another one takes its place.
pub(crate) trait Time {
    fn now_ns(&self) -> u64;
    /// How often this thread has stood still. Takes a call of the system.
    fn stops(&self) -> Stops;
}

impl Time for sys::clock::Clock {
    #[inline]
    fn now_ns(&self) -> u64 {
        sys::clock::Clock::now_ns(self)
    }

    fn stops(&self) -> Stops {
        let used = sys::thread::thread_usage();
        Stops {
            waits: used.waits,
            preemptions: used.preemptions,
        }
    }
}
