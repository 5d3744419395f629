//! Keeps streams of one group in the proportion of their weights: one that is ahead waits.
use plan::BoundRun;

/// How far one may be ahead, in operations of the group: as much as passes while it does not look.
const SLACK: f64 = 64.0;

/// One that is ahead looks again after this time at least.
const LEAST_RETRY_NS: u64 = 100_000;

/// The group of a stream, from where the stream stands.
#[derive(Debug)]
pub(crate) struct Balance {
    number: usize,
    /// Places and weights of all in the group.
    members: Vec<(usize, f64)>,
    retry_ns: u64,
}

impl Balance {
    /// Of stream `number` of a run; `None` where it is alone.
    pub(crate) fn of(run: &BoundRun, number: usize) -> Option<Box<Self>> {
        let streams = &run.run.streams;
        let own = streams[number].flow.balance?;
        let weight = |other: &plan::Stream| {
            let balance = other.flow.balance.filter(|one| one.group == own.group)?;
            Some(balance.weight)
        };
        let all = streams.iter().enumerate();
        let members = all.filter_map(|(place, other)| Some((place, weight(other)?)));
        let members: Vec<(usize, f64)> = members.collect();
        (members.len() > 1).then(|| {
            Box::new(Self {
                number,
                members,
                retry_ns: own.pause.0.max(LEAST_RETRY_NS),
            })
        })
    }

    /// Until when the stream has to wait. `progress` tells the operations of a stream so far, and nothing of those that
    /// do not count: those that have ended, and those that wait for the end of others.
    pub(crate) fn holds(
        &self,
        now_ns: u64,
        progress: impl Fn(usize) -> Option<u64>,
    ) -> Option<u64> {
        let (mut done, mut weights, mut own) = (0.0, 0.0, (0.0, 0.0));
        for (place, weight) in &self.members {
            let Some(operations) = progress(*place) else {
                continue;
            };
            let operations = operations as f64;
            done += operations;
            weights += weight;
            if *place == self.number {
                own = (operations, *weight);
            }
        }
        let (operations, weight) = own;
        let is_ahead = operations * weights > (done + SLACK) * weight;
        is_ahead.then(|| now_ns.saturating_add(self.retry_ns))
    }
}
