//! What one machine tells of a run: the counts of an interval, how its part ended, and what failed on it. Parts of
//! several machines merge into that of the whole run, in whatever order they come; a single one is the whole.
use crate::event::{
    DataFigures, EngineSample, Figure, HostStart, Outstanding, PoolSample, StreamSample,
    StreamSpan, WorkerSample,
};
use crate::evidence::HostId;
use crate::facts::HostSample;
use plan::{Operation, StreamId};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// What one interval amounts to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    pub figures: Vec<Figure>,
    pub engine: EngineSample,
}

/// What a machine tells of an interval: what was counted, and what the machine did meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostInterval {
    pub collected: Collected,
    /// `None` where the machine does not tell.
    pub sample: Option<HostSample>,
    /// Hosts whose part is not in it.
    #[serde(default)]
    pub silent: Vec<HostId>,
    /// Whether the others go on without them, so that what these did counts.
    #[serde(default)]
    pub goes_on: bool,
    /// Hosts that stood still, and for how long after the end of the interval, in nanoseconds: what they did until they went
    /// on is in it.
    #[serde(default)]
    pub stood_still: Vec<(HostId, u64)>,
    /// Hosts of which nothing was heard before this was told, and for how long, in nanoseconds: they went on meanwhile, and
    /// nothing is missing.
    #[serde(default)]
    pub was_silent: Vec<(HostId, u64)>,
}

/// How the drain ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drained {
    pub drain_ns: u64,
    /// What was given up, oldest first.
    pub outstanding: Vec<Outstanding>,
    /// What came back well after the end of the window, longest first.
    pub late: Vec<Outstanding>,
    /// Workers that sit in a call to the kernel: one of an operation, or one that opens or closes a file.
    pub stuck_workers: u32,
    /// The files of the run could not be closed in time.
    pub is_unclosed: bool,
}

/// How a run ended on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The counts of the last interval.
    pub last: HostInterval,
    pub drained: Drained,
    /// Arrivals of the schedule over the whole run, and operations that were submitted for them.
    pub scheduled: u64,
    pub submitted: u64,
    /// How often workers opened a file, as not all of them could stay open.
    pub openings: u64,
    pub log_waits: LogWaits,
    /// The stream that could not keep up with its arrivals, so that those of the others waited to stay in proportion.
    #[serde(default)]
    pub held_back_by: Option<StreamId>,
    /// Streams that were over before they were warm, in order.
    #[serde(default)]
    pub never_warm: Vec<StreamId>,
    /// How it started, and where, in the order of hosts.
    #[serde(default)]
    pub starts: Vec<HostStart>,
}

/// How often workers waited for a log of single operations, and how long in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogWaits {
    pub count: u64,
    pub sum_ns: u64,
}

/// A failed operation as a worker saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub at_ns: u64,
    pub stream: u32,
    /// Of the target among those of the stream.
    pub place: u32,
    pub operation: Operation,
    pub offset: u64,
    pub length: u32,
    pub errno: i32,
    /// Of a read that came back with other data than it should.
    pub misfit: Option<Box<crate::Misfit>>,
    #[serde(default)]
    pub worker: Option<u32>,
    /// Whose right was missing to open the file again: only the machine that has the file can tell.
    #[serde(default)]
    pub denial: Option<String>,
}

/// Failed operations of some time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    pub listed: Vec<Failure>,
    /// How many more there were.
    pub unlisted: u64,
}

impl Collected {
    /// Adds what another machine counted in the same interval. Figures are in the order of their keys then; streams and
    /// pools are those of one plan, and have their places in it.
    pub fn merge(&mut self, other: &Collected) {
        self.figures.extend(other.figures.iter().cloned());
        self.figures.sort_by_key(|figure| figure.key);
        self.figures.dedup_by(|later, kept| {
            let is_same = later.key == kept.key;
            if is_same {
                kept.merge(later);
            }
            is_same
        });
        self.engine.merge(&other.engine);
    }
}

impl Drained {
    /// Whether the drain has given up. From then on every call on a target may block for as long as the process lives,
    /// even one that closes a descriptor.
    pub fn has_given_up(&self) -> bool {
        self.is_unclosed || self.stuck_workers > 0 || !self.outstanding.is_empty()
    }

    /// Adds the drain of another machine, which went on beside this one.
    pub fn merge(&mut self, other: &Drained) {
        self.drain_ns = self.drain_ns.max(other.drain_ns);
        for (mine, theirs) in [
            (&mut self.outstanding, &other.outstanding),
            (&mut self.late, &other.late),
        ] {
            mine.extend(theirs.iter().cloned());
            mine.sort_by_key(longest_first);
        }
        self.stuck_workers += other.stuck_workers;
        self.is_unclosed |= other.is_unclosed;
    }
}

impl Ended {
    /// Adds the end on another machine. What a machine did meanwhile is of that machine alone and is left out.
    pub fn merge(&mut self, other: &Ended) {
        self.last.collected.merge(&other.last.collected);
        self.last.sample = None;
        self.drained.merge(&other.drained);
        self.scheduled += other.scheduled;
        self.submitted += other.submitted;
        self.openings += other.openings;
        self.log_waits.count += other.log_waits.count;
        self.log_waits.sum_ns += other.log_waits.sum_ns;
        let held_back_by = [self.held_back_by, other.held_back_by];
        self.held_back_by = held_back_by.into_iter().flatten().min();
        self.never_warm.extend(&other.never_warm);
        self.never_warm.sort_unstable();
        self.never_warm.dedup();
        self.starts.extend(&other.starts);
        self.starts.sort_unstable_by_key(|start| start.host);
    }
}

impl DataFigures {
    /// Whether the same was asked of both.
    pub fn is_like(&self, other: &Self) -> bool {
        let asked = |one: &Self| (one.asked_compression, one.asked_duplicates, one.block_bytes);
        asked(self) == asked(other)
    }

    /// Adds what another machine has sent of the same kind. Duplicates are the same on all machines, and their samples tell
    /// which; all else differs. Nothing is known of the contents where samples cannot be laid together.
    pub fn merge(&mut self, other: &Self) {
        self.streams.extend(&other.streams);
        self.streams.sort_unstable();
        self.blocks += other.blocks;
        let both = Option::zip(self.contents, other.contents);
        let (mine, theirs) = (&mut self.sample, &other.sample);
        if self.asked_duplicates.is_none() {
            self.contents = both.map(|(one, two)| one + two);
            self.sampled_contents += other.sampled_contents;
        } else {
            mine.hashes.extend(&theirs.hashes);
            mine.hashes.sort_unstable();
            mine.hashes.dedup();
            self.sampled_contents = mine.hashes.len() as u64;
            let whole = (self.sampled_contents * mine.classes) as f64;
            let is_known = both.is_some() && mine.classes == theirs.classes;
            self.contents = is_known.then_some(whole.min(self.blocks));
        }
        self.sampled_bytes += other.sampled_bytes;
        self.compressed_bytes += other.compressed_bytes;
    }
}

impl Failures {
    /// Adds those of another machine, whose times are those of the same clock.
    pub fn merge(&mut self, other: Failures) {
        self.listed.extend(other.listed);
        let place = |one: &Failure| (one.at_ns, one.stream, one.place, one.operation, one.offset);
        let rest = |one: &Failure| (one.length, one.errno, one.worker);
        self.listed.sort_by_key(|one| (place(one), rest(one)));
        self.unlisted += other.unlisted;
    }
}

impl EngineSample {
    /// Adds the sample of another machine.
    pub fn merge(&mut self, other: &EngineSample) {
        let streams = self.streams.len().max(other.streams.len());
        self.streams.resize_with(streams, StreamSample::default);
        for (mine, theirs) in self.streams.iter_mut().zip(&other.streams) {
            mine.merge(theirs);
        }
        let pools = self.pools.len().max(other.pools.len());
        self.pools.resize(pools, PoolSample::default());
        for (mine, theirs) in self.pools.iter_mut().zip(&other.pools) {
            mine.merge(theirs);
        }
        let workers = self.workers.workers + other.workers.workers;
        self.workers.add(&other.workers);
        self.workers = WorkerSample {
            workers,
            ..self.workers
        };
        self.oldest_in_flight_ns = self.oldest_in_flight_ns.max(other.oldest_in_flight_ns);
        self.in_flight += other.in_flight;
        self.hosts.extend(other.hosts.iter().cloned());
        self.hosts.sort_by_key(|host| host.host);
    }
}

impl StreamSample {
    /// Adds the part of the same stream on another machine.
    fn merge(&mut self, other: &StreamSample) {
        self.scheduled += other.scheduled;
        self.submitted += other.submitted;
        self.backlog += other.backlog;
        self.lateness.merge(&other.lateness);
        self.unserved.merge(&other.unserved);
        if let Some(theirs) = &other.free_lateness {
            self.free_lateness.get_or_insert_default().merge(theirs);
        }
        if let Some(theirs) = &other.handover {
            let mine = self.handover.get_or_insert_default();
            mine.merge(theirs);
            mine.parts
                .sort_by_key(|part| (part.operation, part.priority));
        }
        self.span = both(self.span, other.span, StreamSpan::merge);
        self.depth = both(self.depth, other.depth, |mine, theirs| mine + theirs);
    }
}

impl StreamSpan {
    /// Measured once all parts are, and for as long as one of them goes on.
    fn merge(self, other: Self) -> Self {
        Self {
            from_ns: self.from_ns.max(other.from_ns),
            to_ns: self
                .to_ns
                .zip(other.to_ns)
                .map(|(mine, theirs)| mine.max(theirs)),
        }
    }
}

impl PoolSample {
    /// Adds the slots of another machine. Beside each other, the longest time without a free slot is what is known of
    /// that of all.
    fn merge(&mut self, other: &PoolSample) {
        self.slots += other.slots;
        self.busy_ns += other.busy_ns;
        self.exhausted_ns = self.exhausted_ns.max(other.exhausted_ns);
    }
}

/// Of what either side may lack.
fn both<T>(mine: Option<T>, theirs: Option<T>, merge: impl FnOnce(T, T) -> T) -> Option<T> {
    match (mine, theirs) {
        (Some(mine), Some(theirs)) => Some(merge(mine, theirs)),
        (mine, theirs) => mine.or(theirs),
    }
}

/// Total, so that parts may come in any order.
fn longest_first(one: &Outstanding) -> impl Ord + use<> {
    let place = (one.stream, one.target, one.offset);
    let what = (one.operation, one.length, one.returned_after_ns);
    (Reverse(one.age_ns), place, what)
}

#[cfg(test)]
mod tests;
