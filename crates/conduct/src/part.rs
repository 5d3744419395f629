//! The part of a run that one of several hosts carries out, under the names that the whole run has for it.
use crate::{
    Answer, Clock, CommandCall, CommandEnd, Commands, Control, Host, HostError, Left, Prepared,
    SetPoint,
};
use measure::{
    Collected, DataFigures, Ended, EngineSample, Failures, HostId, HostInterval, Outstanding,
    PoolSample, StreamSample,
};
use plan::{BoundPlan, BoundRun, Load, PoolId, Stream, StreamId};

/// A machine that carries out the streams of one host. What it is asked and what it tells has the places of the whole run.
pub struct Part<H> {
    machine: H,
    host: HostId,
    places: Places,
}

/// Which streams and pools of a run a host has.
#[derive(Clone, Debug, Default)]
struct Places {
    streams: Vec<usize>,
    pools: Vec<usize>,
    /// Of the whole run.
    stream_count: usize,
    pool_count: usize,
}

/// Whether a host has a stream of the run.
pub fn has_part(plan: &BoundPlan, run: &BoundRun, host: HostId) -> bool {
    let mut streams = run.run.streams.iter();
    streams.any(|stream| is_of(plan, stream, host))
}

/// Places in the whole run that the streams of a host have, in their order on the host.
pub fn places_of_streams(plan: &BoundPlan, run: &BoundRun, host: HostId) -> Vec<usize> {
    let all = run.run.streams.iter().enumerate();
    let mine = all.filter(|(_, stream)| is_of(plan, stream, host));
    mine.map(|(place, _)| place).collect()
}

fn is_of(plan: &BoundPlan, stream: &Stream, host: HostId) -> bool {
    plan.plan.host_of(stream) == Some(host as usize)
}

impl<H> Part<H> {
    pub fn new(machine: H, host: HostId) -> Self {
        Self {
            machine,
            host,
            places: Places::default(),
        }
    }
}

impl Places {
    fn of(plan: &BoundPlan, run: &BoundRun, host: HostId) -> Self {
        let streams = places_of_streams(plan, run, host);
        let pool = |place: &usize| run.run.streams[*place].pool.index();
        let mut pools: Vec<usize> = streams.iter().map(pool).collect();
        pools.sort_unstable();
        pools.dedup();
        Self {
            streams,
            pools,
            stream_count: run.run.streams.len(),
            pool_count: run.run.pools.len(),
        }
    }

    /// The run without the streams of others, and what is to be taken off its rate: streams of others with a rate of their
    /// own take theirs out of it.
    fn cut(&self, run: &BoundRun) -> (BoundRun, f64) {
        let whole = &run.run;
        let streams = self.streams.iter().map(|place| {
            let mut stream = whole.streams[*place].clone();
            let pool = stream.pool.index();
            let pool = self.pools.binary_search(&pool);
            stream.pool = PoolId::at(pool.expect("a host has the pools of its streams"));
            if let Some(lifetime) = &mut stream.lifetime {
                for places in [&mut lifetime.after, &mut lifetime.ends] {
                    *places = places
                        .iter()
                        .filter_map(|place| self.mine(*place))
                        .collect();
                }
            }
            stream
        });
        let mut part = run.clone();
        part.run.streams = streams.collect();
        let pools = self.pools.iter();
        part.run.pools = pools.map(|place| whole.pools[*place].clone()).collect();
        let bound = self.streams.iter();
        part.streams = bound.map(|place| run.streams[*place].clone()).collect();
        let others = engine::own_rates(&whole.streams) - engine::own_rates(&part.run.streams);
        if let Load::Steps { steps } = &mut part.run.load {
            steps.iter_mut().for_each(|(rate, _)| *rate -= others);
        }
        (part, others)
    }

    fn mine(&self, whole: u32) -> Option<u32> {
        let place = self.streams.binary_search(&(whole as usize)).ok()?;
        Some(place as u32)
    }

    fn stream(&self, id: StreamId) -> StreamId {
        StreamId::at(self.streams[id.index()])
    }

    fn collected(&self, host: HostId, collected: &mut Collected) {
        for figure in &mut collected.figures {
            figure.key.stream = self.stream(figure.key.stream);
        }
        let engine = &mut collected.engine;
        self.engine(engine);
        for evidence in &mut engine.hosts {
            evidence.host = host;
            for slow in &mut evidence.slow {
                slow.stream = self.stream(slow.stream);
            }
        }
    }

    fn engine(&self, engine: &mut EngineSample) {
        let mut streams = vec![StreamSample::default(); self.stream_count];
        for (place, sample) in self.streams.iter().zip(engine.streams.drain(..)) {
            streams[*place] = sample;
        }
        engine.streams = streams;
        let mut pools = vec![PoolSample::default(); self.pool_count];
        for (place, sample) in self.pools.iter().zip(engine.pools.drain(..)) {
            pools[*place] = sample;
        }
        engine.pools = pools;
    }

    fn outstanding(&self, mut outstanding: Vec<Outstanding>) -> Vec<Outstanding> {
        for one in &mut outstanding {
            one.stream = self.stream(one.stream);
        }
        outstanding
    }
}

impl<T> Answer<T> {
    /// What was told, in another form.
    pub fn map<U>(self, form: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Answer::Told(told) => Answer::Told(form(told)),
            Answer::NotYet => Answer::NotYet,
            Answer::Never(error) => Answer::Never(error),
        }
    }
}

impl<H: Host> Host for Part<H> {
    fn prepare(&mut self, plan: &BoundPlan, run: &BoundRun, point: &SetPoint) {
        self.places = Places::of(plan, run, self.host);
        let (part, others) = self.places.cut(run);
        let shares = point.shares_pct.as_ref();
        let mine = |shares: &Vec<f64>| self.places.streams.iter().map(|at| shares[*at]).collect();
        let point = SetPoint {
            rate: point.rate.map(|rate| rate - others),
            shares_pct: shares.map(mine),
        };
        self.machine.prepare(plan, &part, &point);
    }

    fn prepared(&mut self) -> Answer<Prepared> {
        self.machine.prepared()
    }

    fn start(&mut self, start_ns: u64) {
        self.machine.start(start_ns);
    }

    fn stop_at(&mut self, stop_ns: u64) {
        self.machine.stop_at(stop_ns);
    }

    fn is_done(&mut self) -> Answer<bool> {
        self.machine.is_done()
    }

    fn fatal(&mut self) -> Option<HostError> {
        self.machine.fatal()
    }

    fn collect(&mut self, number: u64, end_ns: u64) -> Answer<HostInterval> {
        self.machine.collect(number, end_ns).map(|mut told| {
            self.places.collected(self.host, &mut told.collected);
            told
        })
    }

    fn finish(&mut self, number: u64, end_ns: u64, control: &Control) -> Answer<Ended> {
        let places = &self.places;
        self.machine
            .finish(number, end_ns, control)
            .map(|mut ended| {
                places.collected(self.host, &mut ended.last.collected);
                let drained = &mut ended.drained;
                for list in [&mut drained.outstanding, &mut drained.late] {
                    *list = places.outstanding(std::mem::take(list));
                }
                for start in &mut ended.starts {
                    start.host = self.host;
                }
                ended.held_back_by = ended.held_back_by.map(|stream| places.stream(stream));
                for stream in &mut ended.never_warm {
                    *stream = places.stream(*stream);
                }
                ended
            })
    }

    fn failures(&mut self) -> Failures {
        let mut failures = self.machine.failures();
        for failure in &mut failures.listed {
            failure.stream = self.places.streams[failure.stream as usize] as u32;
        }
        failures
    }

    fn outstanding(&mut self) -> Answer<Vec<Outstanding>> {
        let outstanding = self.machine.outstanding();
        outstanding.map(|outstanding| self.places.outstanding(outstanding))
    }

    fn data_written(&mut self) -> Answer<Vec<DataFigures>> {
        let places = &self.places;
        self.machine.data_written().map(|mut kinds| {
            for stream in kinds.iter_mut().flat_map(|kind| &mut kind.streams) {
                *stream = places.stream(*stream);
            }
            kinds
        })
    }

    fn retire(&mut self, streams: &[usize], have_failed: bool) {
        let mine = |whole: &usize| Some(self.places.mine(*whole as u32)? as usize);
        let mine: Vec<usize> = streams.iter().filter_map(mine).collect();
        if !mine.is_empty() {
            self.machine.retire(&mine, have_failed);
        }
    }

    fn leave(&mut self, is_whole: bool) -> Left {
        self.machine.leave(is_whole)
    }
}

impl<H: Commands> Commands for Part<H> {
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        self.machine.command(call, control, said)
    }
}

impl<H: Clock> Clock for Part<H> {
    fn now_ns(&self) -> u64 {
        self.machine.now_ns()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.machine.unix_ns(at_ns)
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        self.machine.wait_until(until_ns, control);
    }
}
