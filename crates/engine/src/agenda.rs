//! What a worker issues next from a pool. Rules of its streams, what was drawn and had to wait, read-backs, and at last
//! what streams draw, with an arrival or without: the first that has something to do gives an operation.
//!
//! Nothing here takes a slot or reaches a backend. Who asks has a free slot.
use crate::admit::{Readiness, readiness};
use crate::arrivals::Next as Arrival;
use crate::check::{ReadBacks, Written};
use crate::op::{Cause, Object, Op};
use crate::state::{SharedRun, SharedStream};
use crate::time::Time;
use plan::{Operation, PoolAdmission};
use std::sync::atomic::Ordering::Relaxed;

/// Where an operation may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// Syncs after writes and at the end.
    Rules,
    /// Drawn before, and kept waiting by something in flight.
    Parked,
    ReadBacks,
    /// Arrivals and draws. They share a place, as the order of streams goes before which of the two it is.
    Streams,
}

/// The first that has something goes first.
const ORDER: [Entry; 4] = [
    Entry::Rules,
    Entry::Parked,
    Entry::ReadBacks,
    Entry::Streams,
];

/// What there is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    Issue(Due),
    /// Nothing before this time.
    Wait(u64),
    /// A stream was found at its end; another may have something.
    Ended,
}

/// An operation that may go out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub op: Op,
    /// Its number among those of its stream, of what streams draw.
    pub index: u64,
    /// The intended arrival, absolute; `None` in a closed loop.
    pub arrival_ns: Option<u64>,
}

/// When a worker asks, and in which run.
#[derive(Debug)]
pub(crate) struct Moment<'a, T> {
    pub shared: &'a SharedRun,
    pub time: &'a T,
    pub now_ns: u64,
    pub stop_ns: u64,
}

/// The agenda of one worker.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Of the worker.
    number: usize,
    pools: Vec<PoolAgenda>,
    /// By stream, numbers of operations claimed and not yet drawn: the next, and where they end.
    claimed: Vec<(u64, u64)>,
    /// Only for runs that read back while they write.
    pub read_backs: Option<Box<ReadBacks>>,
}

/// What it says of one pool.
#[derive(Debug)]
struct PoolAgenda {
    pool: usize,
    /// The most urgent one first where priority decides.
    streams: Vec<usize>,
    choice: Choice,
    /// Whether no stream of it has rules or reads back, so that no other entry has anything.
    only_draws: bool,
    parked: Option<Due>,
}

/// Which stream of a pool issues next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    InTurn,
    /// The earliest arrival that is due; streams without a schedule take what slots are left.
    ByArrival,
    /// The first in the order of priority that may.
    ByPriority,
}

#[derive(Clone, Copy, Debug)]
struct Chosen {
    stream: usize,
    arrival_ns: Option<u64>,
    /// What the arrival asks for, or the schedule leaves slots for; `None` where that is drawn.
    operation: Option<Operation>,
}

/// What streams of a pool could do now.
struct Candidates {
    /// The earliest that is due: when, of which stream.
    arrival: Option<(u64, usize, Arrival)>,
    /// The first stream that needs none: its place from where the turn is, and its number.
    draw: Option<(usize, usize)>,
    /// When it is worth looking again, where there is nothing.
    next_due: u64,
}

impl Agenda {
    /// Of a worker that serves these pools with so many slots in all.
    pub(crate) fn new(shared: &SharedRun, number: usize, pools: &[usize], slots: usize) -> Self {
        let backlogs = shared.streams.iter();
        let backlogs = backlogs.map(|stream| stream.backlog.as_deref());
        Self {
            number,
            pools: pools
                .iter()
                .map(|pool| PoolAgenda::new(*pool, shared))
                .collect(),
            claimed: vec![(0, 0); shared.streams.len()],
            read_backs: ReadBacks::of(backlogs, slots),
        }
    }

    /// The streams of all pools of the worker.
    pub(crate) fn streams(&self) -> impl Iterator<Item = usize> {
        self.pools.iter().flat_map(|pool| &pool.streams).copied()
    }

    /// Whether nothing more will come.
    pub(crate) fn is_over(&self, shared: &SharedRun) -> bool {
        let is_over = |number: &usize| shared.streams[*number].ended.load(Relaxed);
        let mut pools = self.pools.iter();
        pools.all(|pool| pool.parked.is_none() && pool.streams.iter().all(is_over))
    }

    /// What to do next in a pool, by its place among those of the worker.
    #[inline]
    pub(crate) fn next<T: Time>(&mut self, place: usize, at: &Moment<'_, T>) -> Next {
        if self.pools[place].only_draws
            && let Some(next) = self.draw(place, at)
        {
            return next;
        }
        self.next_in_order(place, at)
    }

    #[inline(never)]
    fn next_in_order<T: Time>(&mut self, place: usize, at: &Moment<'_, T>) -> Next {
        loop {
            let next = ORDER.into_iter().find_map(|entry| match entry {
                Entry::Rules => self.sync(place, at),
                Entry::Parked => self.parked(place, at),
                Entry::ReadBacks => self.read_back(place, at),
                Entry::Streams => self.draw(place, at),
            });
            if let Some(next) = next {
                return next;
            }
        }
    }

    /// The sync that a stream of the pool has to make.
    fn sync<T>(&self, place: usize, at: &Moment<'_, T>) -> Option<Next> {
        self.pools[place].streams.iter().find_map(|number| {
            let stream = &at.shared.streams[*number];
            let flow = stream.flow.as_ref()?;
            let sync = flow.take_sync(|| stream.is_spent(), || stream.is_resolved())?;
            Some(Next::Issue(Due::whole(Op {
                kind: sync.kind,
                cause: sync.cause,
                object: object(*number, sync.place),
                offset: 0,
                length: 0,
            })))
        })
    }

    /// What was drawn before, once nothing in flight holds it back; nothing where its stream is over by the clock.
    #[inline]
    fn parked<T: Time>(&mut self, place: usize, at: &Moment<'_, T>) -> Option<Next> {
        let due = self.pools[place].parked?;
        let number = due.op.object.stream as usize;
        let stream = &at.shared.streams[number];
        let flow = stream.flow.as_ref().expect("only a flow parks");
        let start_ns = at.shared.start_ns.load(Relaxed);
        let is_closed = at.now_ns >= stream.not_after_close(start_ns, u64::MAX);
        let patience_ns = || self.patience_ns(at, stream);
        if !is_closed && flow.has_to_wait(&due.op, patience_ns) {
            return Some(Next::Wait(flow.later(at.now_ns)));
        }
        self.pools[place].parked = None;
        if is_closed {
            // Drawn, and over by the clock before it could go out.
            at.shared.resolve(number, at.now_ns);
            return None;
        }
        Some(Next::Issue(due))
    }

    /// A read of what a stream of the pool has written, or its trim.
    fn read_back<T>(&mut self, place: usize, at: &Moment<'_, T>) -> Option<Next> {
        let own = self.read_backs.as_mut()?;
        let checks = at.shared.checks.as_ref()?;
        self.pools[place].streams.iter().find_map(|number| {
            if at.shared.has_ended(*number, at.now_ns) {
                return None;
            }
            let check = checks.of(*number)?;
            let backlog = at.shared.streams[*number].backlog.as_deref()?;
            let (written, kind) = own.next(*number, backlog, check)?;
            if kind == Operation::Trim {
                check.begin_discard(written);
            }
            let Written {
                place,
                offset,
                length,
                ..
            } = written;
            Some(Next::Issue(Due::whole(Op {
                kind,
                cause: Cause::ReadBack,
                object: object(*number, place),
                offset,
                length,
            })))
        })
    }

    /// What a stream draws; nothing where that has to wait for something in flight.
    #[inline]
    fn draw<T: Time>(&mut self, place: usize, at: &Moment<'_, T>) -> Option<Next> {
        let chosen = match self.pools[place].choose(at) {
            Ok(chosen) => chosen,
            Err(due_ns) => return Some(Next::Wait(due_ns)),
        };
        let stream = &at.shared.streams[chosen.stream];
        let index = self.claim_index(chosen.stream, stream);
        let Some(drawn) = stream.source.next(index, chosen.operation) else {
            stream.end_drawing();
            at.shared.resolve(chosen.stream, at.now_ns);
            return Some(Next::Ended);
        };
        if index == stream.last_index {
            stream.end_drawing();
        }
        let due = Due {
            op: Op {
                kind: drawn.operation,
                cause: stream.cause,
                object: object(chosen.stream, drawn.place),
                offset: drawn.offset,
                length: drawn.length,
            },
            index,
            arrival_ns: chosen.arrival_ns,
        };
        if let Some(flow) = &stream.flow
            && flow.has_to_wait(&due.op, || self.patience_ns(at, stream))
        {
            self.pools[place].parked = Some(due);
            return None;
        }
        Some(Next::Issue(due))
    }

    /// The number of the next operation.
    #[inline]
    fn claim_index(&mut self, number: usize, stream: &SharedStream) -> u64 {
        if stream.claimed_at_once == 1 {
            return stream.claim();
        }
        let (next, end) = &mut self.claimed[number];
        if next == end {
            *next = stream.claim();
            *end = *next + stream.claimed_at_once;
        }
        *next += 1;
        *next - 1
    }

    /// How long what was drawn may wait for others; not at all where this thread may have something else to do.
    #[cold]
    fn patience_ns<T: Time>(&self, at: &Moment<'_, T>, stream: &SharedStream) -> u64 {
        let serves_one = at.shared.workers[self.number].kind.has_thread_per_slot();
        if !serves_one || at.shared.abandon.load(Relaxed) {
            return 0;
        }
        let start_ns = at.shared.start_ns.load(Relaxed);
        // Asked again, as time passes while others are waited for.
        let stop_ns = at.shared.stop_ns.load(Relaxed);
        let end_ns = stream.not_after_close(start_ns, stop_ns);
        end_ns.saturating_sub(at.time.now_ns())
    }
}

impl PoolAgenda {
    fn new(pool: usize, shared: &SharedRun) -> Self {
        let all = shared.streams.iter().enumerate();
        let mine = all.filter(|(_, stream)| stream.pool == pool);
        let mut streams: Vec<usize> = mine.map(|(number, _)| number).collect();
        let of = |number: &usize| &shared.streams[*number];
        let has_schedule = streams.iter().any(|number| of(number).feed.is_some());
        let choice = match (shared.pools[pool].admission, has_schedule) {
            (PoolAdmission::Priority, _) => Choice::ByPriority,
            (_, true) => Choice::ByArrival,
            (_, false) => Choice::InTurn,
        };
        if choice == Choice::ByPriority {
            streams.sort_by_key(|number| of(number).priority);
        }
        Self {
            pool,
            only_draws: (streams.iter())
                .all(|number| of(number).flow.is_none() && of(number).backlog.is_none()),
            streams,
            choice,
            parked: None,
        }
    }

    /// The stream to issue from, or the time at which it is worth looking again.
    #[inline]
    fn choose<T>(&self, at: &Moment<'_, T>) -> Result<Chosen, u64> {
        match self.choice {
            Choice::InTurn => self.choose_in_turn(at),
            Choice::ByArrival | Choice::ByPriority => self.choose_scheduled(at),
        }
    }

    #[inline]
    fn choose_in_turn<T>(&self, at: &Moment<'_, T>) -> Result<Chosen, u64> {
        let mut next_due = u64::MAX;
        let first = self.turn(at.shared);
        let (later, sooner) = self.streams.split_at(first);
        for (ahead, number) in sooner.iter().chain(later).enumerate() {
            match readiness(at.shared, *number, at.now_ns) {
                Readiness::Never => {}
                Readiness::At(at_ns) => next_due = next_due.min(at_ns),
                Readiness::Now => {
                    self.pass_turn(at.shared, first + ahead);
                    return Ok(Chosen {
                        stream: *number,
                        arrival_ns: None,
                        operation: None,
                    });
                }
            }
        }
        Err(next_due)
    }

    /// As [`PoolAgenda::choose`], where arrivals count.
    #[inline(never)]
    fn choose_scheduled<T>(&self, at: &Moment<'_, T>) -> Result<Chosen, u64> {
        loop {
            let Candidates {
                arrival,
                draw,
                next_due,
            } = self.candidates(at);
            if let Some((at_ns, number, next)) = arrival {
                let feed = at.shared.streams[number].feed.as_ref();
                if feed.expect("chosen for its schedule").claim(next.index) {
                    return Ok(Chosen {
                        stream: number,
                        arrival_ns: Some(at_ns),
                        operation: next.operation,
                    });
                }
                // Another worker was faster; the next arrival may be due as well.
                continue;
            }
            let Some((turn, number)) = draw else {
                return Err(next_due);
            };
            if self.choice == Choice::ByArrival {
                self.pass_turn(at.shared, turn);
            }
            return Ok(Chosen {
                stream: number,
                arrival_ns: None,
                operation: at.shared.streams[number].fills,
            });
        }
    }

    /// What the streams of the pool have now; the first that has something where priority decides.
    #[inline]
    fn candidates<T>(&self, at: &Moment<'_, T>) -> Candidates {
        let is_ordered = self.choice == Choice::ByPriority;
        let start_ns = at.shared.start_ns.load(Relaxed);
        let first = if is_ordered { 0 } else { self.turn(at.shared) };
        let mut found = Candidates {
            arrival: None,
            draw: None,
            next_due: u64::MAX,
        };
        let (later, sooner) = self.streams.split_at(first);
        for (ahead, number) in sooner.iter().chain(later).enumerate() {
            match readiness(at.shared, *number, at.now_ns) {
                Readiness::Never => continue,
                Readiness::At(at_ns) => {
                    found.next_due = found.next_due.min(at_ns);
                    continue;
                }
                Readiness::Now => {}
            }
            let stream = &at.shared.streams[*number];
            let mut draws = true;
            if let Some(feed) = &stream.feed {
                let next = feed.peek();
                let at_ns = stream.arrival_ns(start_ns, at.now_ns, next.at_ns);
                let is_due = at_ns <= at.now_ns && at_ns < at.stop_ns;
                if !is_due {
                    found.next_due = found.next_due.min(at_ns);
                } else if found.arrival.is_none_or(|(earliest, ..)| at_ns < earliest) {
                    found.arrival = Some((at_ns, *number, next));
                }
                draws = stream.fills.is_some();
            }
            if draws && found.draw.is_none() {
                found.draw = Some((first + ahead, *number));
            }
            if is_ordered && (found.arrival.is_some() || found.draw.is_some()) {
                break;
            }
        }
        found
    }

    /// The stream that is next, by its place.
    #[inline]
    fn turn(&self, shared: &SharedRun) -> usize {
        match self.streams.len() {
            1 => 0,
            _ => shared.pools[self.pool].turn.load(Relaxed),
        }
    }

    /// The stream after the one whose turn it was is next. Its place may be counted on from the first one's.
    #[inline]
    fn pass_turn(&self, shared: &SharedRun, turn: usize) {
        let count = self.streams.len();
        if count == 1 {
            return;
        }
        let next = turn + 1;
        let next = if next < count { next } else { next - count };
        shared.pools[self.pool].turn.store(next, Relaxed);
    }
}

impl Due {
    /// An operation that is no arrival and draws nothing.
    fn whole(op: Op) -> Self {
        Self {
            op,
            index: 0,
            arrival_ns: None,
        }
    }
}

#[inline]
fn object(stream: usize, place: u32) -> Object {
    Object {
        stream: stream as u32,
        place,
    }
}
