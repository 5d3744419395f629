//! What the streams of a run have to reach, looked at when an interval ends.
use super::{Conductor, Going, SinkError};
use analysis::SettleWatch;
use measure::{FinishReason, Interval};
use plan::{Amount, BoundRun, Floor, Operation, Severity};

/// No floor holds before this time of a run.
const GRACE_NS: u64 = 2_000_000_000;

/// The goals of a run.
#[derive(Debug, Default)]
pub(crate) struct Goals {
    floors: Vec<FloorWatch>,
    settling: Vec<Settling>,
    /// How many streams the run has.
    streams: usize,
}

/// Streams that end together once their rate has settled.
#[derive(Debug)]
struct Settling {
    streams: Vec<usize>,
    watch: SettleWatch,
    is_settled: bool,
    is_told: bool,
}

#[derive(Debug)]
struct FloorWatch {
    stream: usize,
    floor: Floor,
    /// When the stream begins.
    opens_ns: u64,
    /// Of the present cycle.
    length_ns: u64,
    done: [u64; 3],
    /// What of the last cycle was too little.
    missed: Option<String>,
    /// It has ended its stream.
    is_over: bool,
}

impl Goals {
    pub(crate) fn of(run: &BoundRun) -> Self {
        let streams = run.run.streams.iter().enumerate();
        let floors = streams.filter_map(|(number, stream)| {
            Some(FloorWatch {
                stream: number,
                floor: stream.flow.floor?,
                opens_ns: stream.start_delay.0,
                length_ns: 0,
                done: [0; 3],
                missed: None,
                is_over: false,
            })
        });
        Self {
            floors: floors.collect(),
            settling: settling(run),
            streams: run.run.streams.len(),
        }
    }

    /// Takes what an interval brought.
    pub(crate) fn add(&mut self, interval: &Interval) {
        for watch in &mut self.floors {
            watch.add(interval);
        }
        for one in &mut self.settling {
            let streams = &one.streams;
            one.is_settled = one.watch.add(interval, |number| streams.contains(&number));
        }
    }
}

/// By group; a stream without one is alone.
fn settling(run: &BoundRun) -> Vec<Settling> {
    let mut found: Vec<(Option<u32>, Settling)> = Vec::new();
    for (number, stream) in run.run.streams.iter().enumerate() {
        let Some(rule) = stream.flow.steady else {
            continue;
        };
        let known =
            |(group, _): &&mut (Option<u32>, Settling)| group.is_some() && *group == rule.group;
        match found.iter_mut().find(known) {
            Some((_, one)) => one.streams.push(number),
            None => {
                let one = Settling {
                    streams: vec![number],
                    watch: SettleWatch::new(rule),
                    is_settled: false,
                    is_told: false,
                };
                found.push((rule.group, one));
            }
        }
    }
    found.into_iter().map(|(_, one)| one).collect()
}

impl FloorWatch {
    fn add(&mut self, interval: &Interval) {
        if self.is_over || interval.start_ns < self.opens_ns + GRACE_NS {
            return;
        }
        self.length_ns += interval.length_ns();
        let mine = |figure: &&measure::Figure| figure.key.stream.index() == self.stream;
        for figure in interval.figures.iter().filter(mine) {
            let place = match figure.key.operation {
                Operation::Read => 0,
                Operation::Write => 1,
                Operation::Trim => 2,
                _ => continue,
            };
            self.done[place] += match self.floor.of {
                Amount::Operations => figure.operations,
                Amount::Bytes => figure.bytes,
            };
        }
        if self.length_ns >= self.floor.cycle.0 {
            self.judge();
            (self.length_ns, self.done) = (0, [0; 3]);
        }
    }

    fn judge(&mut self) {
        let floors = &self.floor.per_second;
        let unit = match self.floor.of {
            Amount::Operations => "operations",
            Amount::Bytes => "bytes",
        };
        let directions = [
            ("read", floors.read),
            ("write", floors.write),
            ("trim", floors.trim),
        ];
        for ((name, floor), done) in directions.into_iter().zip(self.done) {
            let got = done as f64 * 1e9 / self.length_ns as f64;
            if let Some(floor) = floor.filter(|floor| got < *floor) {
                let text =
                    format!("{got:.0} {name} {unit} per second, and {floor:.0} are the least");
                self.missed.get_or_insert(text);
            }
        }
    }
}

impl Conductor<'_> {
    /// Ends streams whose rate has settled, and the run where those are all.
    fn check_settled(&mut self, going: &mut Going<'_>) -> Result<Option<FinishReason>, SinkError> {
        let mut ended = Vec::new();
        for one in going.goals.settling.iter_mut().filter(|one| one.is_settled) {
            if !std::mem::replace(&mut one.is_told, true) {
                ended.push(one.streams.clone());
            }
        }
        for streams in ended {
            self.host.retire(&streams, false);
            let name = &going.run.run.streams[streams[0]].name;
            let text = format!("the rate of `{name}` has settled");
            self.remark(Some(going.number), Severity::Note, "settled", text)?;
        }
        let told = going.goals.settling.iter().filter(|one| one.is_told);
        let settled: usize = told.map(|one| one.streams.len()).sum();
        let is_slow = |watch: &&FloorWatch| {
            let has_settled = |one: &Settling| one.is_told && one.streams.contains(&watch.stream);
            watch.is_over && !going.goals.settling.iter().any(has_settled)
        };
        let over = settled + going.goals.floors.iter().filter(is_slow).count();
        Ok((over > 0 && over == going.goals.streams).then_some(FinishReason::Complete))
    }

    /// Ends streams that are below their floors, or whose rate has settled, and the run with the last.
    pub(crate) fn check_goals(
        &mut self,
        going: &mut Going<'_>,
    ) -> Result<Option<FinishReason>, SinkError> {
        let mut missed = Vec::new();
        for watch in &mut going.goals.floors {
            if let Some(text) = watch.missed.take() {
                watch.is_over = true;
                missed.push((watch.stream, text));
            }
        }
        for (stream, text) in missed {
            self.host.retire(&[stream], true);
            let failed = &going.run.run.streams[stream];
            self.stream_failed(failed);
            let name = &failed.name;
            let message = format!("`{name}` did {text}");
            self.remark(Some(going.number), Severity::Error, "below-floor", message)?;
        }
        self.check_settled(going)
    }
}
