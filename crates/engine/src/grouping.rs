//! For how many completions a worker waits at once.
use crate::state::SharedRun;

/// Completions are waited for in groups where a group takes no longer than this to fill, so that the
/// first of a group does not wait for the last on a slow device. On a fast one the first waits for a
/// quarter of the service time at most, as a group is a quarter of what is in flight; in a closed
/// loop the mean stays slots ÷ rate however completions are taken.
const GROUP_FILL_NS: u64 = 400_000;

/// When a device falls silent, the completions of a group that has begun are seen this late at most.
/// A timer nearer than the next tick of the kernel costs more than a group saves: 3.5 µs per I/O
/// with 0.4 ms, 3.0 µs with 4 ms.
const GROUP_WAIT_NS: u64 = 4_000_000;

/// How many reaps the running mean of the time between completions looks back, and the unit in which
/// it counts completions, so that the division leaves something of small counts.
const RECENT_REAPS: u64 = 32;
const COMPLETION_UNIT: u64 = 1024;

/// After a group did not fill in time, this many waits are for a single completion.
const SINGLE_WAITS: u32 = 64;

/// A group is this share of the slots of a worker.
const GROUP_SHARE: u32 = 4;

#[derive(Debug)]
pub(crate) struct Grouping {
    /// Completions waited for at once where no arrival is awaited.
    group: u32,
    single_waits: u32,
    /// Completions that the only stream wants to see at once; zero without such a rule.
    least: u32,
    /// Completions seen by one look.
    most: usize,
    /// Running sums over the last reaps of the time between them and of what they brought. Two
    /// sums, as completions come in bursts and a mean of quotients would count the small ones most.
    gaps_ns: u64,
    reaped: u64,
}

impl Grouping {
    /// For a worker of these streams, which asks for `group_max` completions at most.
    pub(crate) fn new(shared: &SharedRun, streams: &[usize], slots: usize, group_max: u32) -> Self {
        let of = |number: &usize| &shared.streams[*number];
        let most = streams
            .iter()
            .filter_map(|number| of(number).batches.reap_most)
            .min();
        // A depth that follows latencies must not wait for company either.
        let mut flows = streams.iter().filter_map(|number| of(number).flow.as_ref());
        let sees_singly = most.is_some() || flows.any(|flow| flow.depth().is_some());
        let has_schedule = streams.iter().any(|number| of(number).feed.is_some());
        // Arrivals may be waiting for the slot of a single completion.
        let group_max = match sees_singly || has_schedule {
            true => 1,
            false => group_max.max(1),
        };
        let least = match streams {
            [only] => of(only).batches.reap_least.unwrap_or(0),
            _ => 0,
        };
        Self {
            group: (slots as u32 / GROUP_SHARE).clamp(1, group_max),
            single_waits: 0,
            least,
            most: most.map_or(usize::MAX, |most| most as usize),
            gaps_ns: 0,
            reaped: 0,
        }
    }

    /// How many of those that are there are seen now, `gap_ns` after the last look.
    #[inline]
    pub(crate) fn seen(&mut self, there: usize, gap_ns: u64) -> usize {
        let count = there.min(self.most);
        self.gaps_ns = self.gaps_ns - self.gaps_ns / RECENT_REAPS + gap_ns;
        self.reaped = self.reaped - self.reaped / RECENT_REAPS + COMPLETION_UNIT * count as u64;
        count
    }

    /// How many completions to wait for, with an arrival at `due_ns`.
    #[inline]
    pub(crate) fn wanted(&mut self, due_ns: u64, in_flight: u32) -> u32 {
        if self.least > 0 && due_ns == u64::MAX {
            return self.least.min(in_flight);
        }
        let fill_ns = self
            .gaps_ns
            .saturating_mul(u64::from(self.group) * COMPLETION_UNIT);
        let fills_soon = fill_ns <= GROUP_FILL_NS * self.reaped;
        if due_ns != u64::MAX || !fills_soon || self.group == 1 {
            return 1;
        }
        if self.single_waits > 0 {
            self.single_waits -= 1;
            return 1;
        }
        self.group.min(in_flight)
    }

    /// How long to wait for so many where nothing else is awaited, and `look_ns` is the most.
    #[inline]
    pub(crate) fn patience_ns(&self, want: u32, look_ns: u64) -> u64 {
        match want > 1 && self.least == 0 {
            // A group is ours to give up; what a stream asks for is waited for.
            true => GROUP_WAIT_NS,
            false => look_ns,
        }
    }

    /// A wait for so many has ended with `ready`.
    #[inline]
    pub(crate) fn waited(&mut self, want: u32, ready: impl FnOnce() -> u32) {
        if want > 1 && ready() < want {
            self.single_waits = SINGLE_WAITS;
        }
    }
}
