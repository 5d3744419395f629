//! Whether a stream may issue: the one gate. What it would issue is not asked here, nor when its next arrival is due.
use crate::state::{SharedRun, SharedStream};
use std::sync::atomic::Ordering::Relaxed;

/// A stream that is ahead of the others of its run is looked at again after this time.
const GATE_RETRY_NS: u64 = 100_000;

/// Whether a stream may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    Now,
    /// Not before this time, at which it is worth looking again.
    At(u64),
    /// It has ended.
    Never,
}

/// Whether stream `number` may issue now.
#[inline(always)]
pub(crate) fn readiness(shared: &SharedRun, number: usize, now_ns: u64) -> Readiness {
    if shared.has_ended(number, now_ns) {
        return Readiness::Never;
    }
    let stream = &shared.streams[number];
    let open_ns = stream.open_ns(shared.start_ns.load(Relaxed), now_ns);
    if now_ns < open_ns {
        return Readiness::At(open_ns);
    }
    if let Some(until_ns) = held_until(shared, stream, now_ns) {
        return Readiness::At(until_ns);
    }
    let gate = shared.proportion.as_ref();
    if gate.is_some_and(|gate| !gate.allows(number, &shared.streams)) {
        return Readiness::At(now_ns + GATE_RETRY_NS);
    }
    Readiness::Now
}

/// Until when the rules of a stream hold it back, if they do.
#[inline]
fn held_until(shared: &SharedRun, stream: &SharedStream, now_ns: u64) -> Option<u64> {
    let flow = stream.flow.as_ref()?;
    let balance = stream.balance.as_ref();
    if let Some(until_ns) =
        balance.and_then(|own| own.holds(now_ns, |other| shared.streams[other].progress()))
    {
        return Some(until_ns);
    }
    let start_ns = || shared.start_ns.load(Relaxed);
    let on_found = || {
        if let Some(own) = &stream.lifetime {
            own.found(now_ns.saturating_sub(start_ns()));
        }
    };
    let due_ns = || {
        let feed = stream.feed.as_ref()?;
        Some(stream.arrival_ns(start_ns(), now_ns, feed.peek().at_ns))
    };
    flow.holds(now_ns, on_found, due_ns)
}
