//! What the parameters of each definition hold in the bound plan, for `explain`.
use super::declare::Section;
use super::labels::DEFINITION;
use crate::explain::{Explained, Held, OTHERS, explained, is_given, several, sizes_text};
use crate::parameter::bytes_text;
use plan::{
    AddressOrder, AlignRule, Bound, BoundPlan, BoundRun, DuplicatePool, ErrorBudget, Generator,
    Label, OpSource, Origin, PlanValue, Repeat, ReplacePolicy, RunKind, RunSpec, SequentialEnd,
    SequentialStart, SetCount, Stream, TargetId, TargetOrder, Window,
};
use std::collections::BTreeMap;

/// Runs that are looked at one by one; of longer sweeps one of each kind is.
const RUNS_MAX: usize = 256;
/// Streams that are looked at for one definition.
const STREAMS_MAX: usize = 256;

/// Each parameter that was given or has an effect, with the value that is used. `is_known` says
/// whether the size of a target is known here.
pub fn explain(bound: &BoundPlan, is_known: &dyn Fn(TargetId) -> bool) -> Vec<Explained> {
    let job = Job::of(bound);
    let line = |value: &PlanValue| {
        let (keyword, name) = value.subject.split_once('=').unwrap_or(("", ""));
        let section = Section::ALL
            .into_iter()
            .find(|one| one.keyword() == keyword)?;
        let parameter = section.parameters().iter();
        let parameter = parameter.clone().find(|one| one.name() == value.name)?;
        let asked = Asked {
            name: parameter.name(),
            is_given: is_given(value),
        };
        let held = match section {
            Section::General => job.general(asked),
            Section::Storage => job.storage(asked, name, is_known),
            Section::Workload => job.workload(asked, name),
            Section::Run => job.run(asked, name),
            _ => Held::AsSaid,
        };
        explained(value, parameter, held).map(|line| by_others(value, line))
    };
    bound.plan.values.iter().filter_map(line).collect()
}

/// A number that is written and in no run used was set by another parameter.
fn by_others(value: &PlanValue, line: Explained) -> Explained {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let used: Option<Vec<f64>> = line.value.split(", ").map(number).collect();
    let (Some(written), Some(used)) = (number(&value.value), used) else {
        return line;
    };
    // Shares are shown rounded.
    let is_used = used.iter().any(|used| (used - written).abs() < 0.01);
    if is_used || !is_given(value) {
        return line;
    }
    Explained {
        origin: Origin::Derived(OTHERS.to_owned()),
        note: Some(format!("`{}` is written", value.value)),
        ..line
    }
}

/// A parameter of a definition.
#[derive(Clone, Copy)]
struct Asked {
    name: &'static str,
    is_given: bool,
}

/// A stream of a run.
type Place = (usize, usize);

/// The runs of the plan, and where each definition is used.
struct Job<'a> {
    bound: &'a BoundPlan,
    runs: Vec<BoundRun>,
    of_storage: BTreeMap<TargetId, Vec<Place>>,
    of_workload: BTreeMap<String, Vec<Place>>,
}

impl<'a> Job<'a> {
    fn of(bound: &'a BoundPlan) -> Self {
        let ids = match bound.runs.len() {
            ..=RUNS_MAX => bound.runs.clone(),
            _ => bound.distinct_runs(),
        };
        let runs: Vec<BoundRun> = ids.into_iter().map(|id| bound.run(id)).collect();
        let mut job = Self {
            bound,
            runs: Vec::new(),
            of_storage: BTreeMap::new(),
            of_workload: BTreeMap::new(),
        };
        for (at, run) in runs.iter().enumerate() {
            if run.run.kind != RunKind::Measure {
                continue;
            }
            for (place, stream) in run.run.streams.iter().enumerate() {
                let workload = Label::find(&stream.labels, "wd").unwrap_or_default();
                let of_workload = job.of_workload.entry(workload.to_owned()).or_default();
                let of_storages = stream.targets.iter().copied();
                if of_workload.len() < STREAMS_MAX {
                    of_workload.push((at, place));
                }
                for target in of_storages {
                    let places = job.of_storage.entry(target).or_default();
                    if places.len() < STREAMS_MAX {
                        places.push((at, place));
                    }
                }
            }
        }
        job.runs = runs;
        job
    }

    fn stream(&self, place: &Place) -> &Stream {
        &self.runs[place.0].run.streams[place.1]
    }

    fn generators<'p>(&'p self, places: &'p [Place]) -> impl Iterator<Item = &'p Generator> {
        let all = places.iter().map(|place| self.stream(place));
        all.filter_map(|stream| match &stream.source {
            OpSource::Generator(generator) => Some(generator),
            _ => None,
        })
    }

    fn general(&self, asked: Asked) -> Held {
        let plan = &self.bound.plan;
        let is_written = self.bound.targets.iter().any(|target| target.is_written());
        let is_prepared = self.runs.iter().any(|run| run.run.kind == RunKind::Prepare);
        let streams = || self.runs.iter().flat_map(|run| &run.run.streams);
        match asked.name {
            "compratio" if !is_written => Held::Nothing,
            "compratio" => {
                several(streams().map(|stream| stream.data.compression_ratio.to_string()))
            }
            "compressionseed" if !is_written => Held::Nothing,
            "compressionseed" => several(streams().map(|stream| stream.data.seed.to_string())),
            "data_errors" => match self.runs.first().map(|run| run.run.stop.errors) {
                Some(ErrorBudget::Count(count)) if !asked.is_given => Held::value(count),
                _ => Held::AsSaid,
            },
            "formatxfersize" => Held::said_if(is_prepared),
            "loop" => match plan.steering.repeat {
                Repeat::Times(times) => Held::value(times),
                _ => Held::AsSaid,
            },
            "pattern_buffer" => Held::said_if(!plan.patterns.is_empty()),
            name if name.starts_with("dedup") => {
                let has_own = |target: &TargetId| self.names_own(*target, name);
                let pools = plan.duplicate_pools.iter();
                let pools = pools.filter(|pool| !pool.targets.iter().all(has_own));
                duplicates(name, pools)
            }
            _ => Held::AsSaid,
        }
    }

    /// Whether a storage definition has a parameter of its own.
    fn names_own(&self, target: TargetId, name: &str) -> bool {
        let subject = format!("sd={}", self.bound.plan.targets[target.index()].name);
        let mut values = self.bound.plan.values.iter();
        values.any(|value| value.subject == subject && value.name == name && is_given(value))
    }

    fn storage(&self, asked: Asked, name: &str, is_known: &dyn Fn(TargetId) -> bool) -> Held {
        let targets = &self.bound.plan.targets;
        let Some(at) = targets.iter().position(|target| target.name == name) else {
            return Held::Nothing;
        };
        let id = TargetId::at(at);
        let Some(places) = self.of_storage.get(&id) else {
            return Held::Nothing;
        };
        let concatenates = |place| self.stream(place).target_order == TargetOrder::EndToEnd;
        let is_joined = places.iter().any(concatenates);
        match asked.name {
            "lun" => Held::value(targets[at].path.display()),
            "size" if is_known(id) => Held::Found(bytes_text(self.bound.targets[at].bytes)),
            "size" => Held::Found("as found".to_owned()),
            "threads" if is_joined => Held::Nothing,
            "threads" => several(
                self.slots(places)
                    .into_iter()
                    .map(|slots| slots.to_string()),
            ),
            "hitarea" => {
                let hits = self.generators(places).filter_map(|one| one.hits);
                several(hits.map(|hits| bytes_text(hits.bytes)))
            }
            "offset" => {
                let offsets = self.generators(places).map(|one| one.region.offset_bytes);
                match asked.is_given {
                    true => several(offsets.map(bytes_text)),
                    false => Held::Nothing,
                }
            }
            "align" => several(self.generators(places).map(align_text)),
            "range" => several(self.generators(places).map(range_text)),
            name if name.starts_with("dedup") => {
                let pools = self.bound.plan.duplicate_pools.iter();
                duplicates(name, pools.filter(|pool| pool.targets.contains(&id)))
            }
            _ => Held::AsSaid,
        }
    }

    /// Slots of the pools that serve these streams, by run.
    fn slots(&self, places: &[Place]) -> Vec<u32> {
        let mut pools: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for place in places {
            let of_run = pools.entry(place.0).or_default();
            let pool = self.stream(place).pool.index();
            if !of_run.contains(&pool) {
                of_run.push(pool);
            }
        }
        let slots = |(run, pools): (usize, Vec<usize>)| {
            let pools = pools
                .iter()
                .map(|pool| self.runs[run].run.pools[*pool].slots);
            pools.sum()
        };
        pools.into_iter().map(slots).collect()
    }

    fn workload(&self, asked: Asked, name: &str) -> Held {
        let Some(places) = self.of_workload.get(name) else {
            return Held::Nothing;
        };
        let generators = || self.generators(places);
        match asked.name {
            "xfersize" => several(generators().map(|one| sizes_text(&one.transfer.read))),
            "rdpct" => several(generators().map(|one| one.operations.read_pct.to_string())),
            "writepct" if asked.is_given => {
                several(generators().map(|one| (100.0 - one.operations.read_pct).to_string()))
            }
            "writepct" => Held::Nothing,
            "seekpct" => several(generators().map(|one| seek_text(&one.order))),
            "range" if asked.is_given => several(generators().map(range_text)),
            "range" | "openflags" if !asked.is_given => Held::Nothing,
            "rhpct" => hits(generators().map(|one| one.hits.map(|hits| hits.read_hit_pct))),
            "whpct" => hits(generators().map(|one| one.hits.map(|hits| hits.write_hit_pct))),
            "skew" => {
                let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
                for place in places {
                    *shares.entry(place.0).or_default() += self.stream(place).share_pct;
                }
                let rounded = |share: f64| ((share * 100.0).round() / 100.0).to_string();
                // One with a rate of its own has no share.
                let shares = shares.into_values();
                let shares = shares.filter(|share| asked.is_given || *share > 0.0);
                several(shares.map(rounded))
            }
            _ => Held::AsSaid,
        }
    }

    fn run(&self, asked: Asked, name: &str) -> Held {
        let plan = &self.bound.plan;
        let specs = self.bound.runs.iter().map(|id| plan.spec(*id));
        let is_it = |spec: &&RunSpec| {
            spec.kind == RunKind::Measure && Label::find(&spec.labels, DEFINITION) == Some(name)
        };
        let Some(spec) = specs.clone().find(is_it) else {
            return Held::Nothing;
        };
        let timing = spec.timing;
        let seconds = |time: plan::Nanos| Held::value(time.0 / 1_000_000_000);
        match asked.name {
            "elapsed" => match timing.window {
                Window::For(window) => seconds(window),
                Window::UntilDone { at_most } => at_most.map_or(Held::AsSaid, seconds),
            },
            "interval" => seconds(timing.interval),
            "warmup" | "pause" if asked.is_given => match asked.name {
                "warmup" => seconds(timing.warmup),
                _ => seconds(timing.pause_after),
            },
            "warmup" | "pause" => Held::Nothing,
            "curve" => {
                let is_search = |spec: &RunSpec| {
                    matches!(
                        spec.load,
                        plan::Load::SearchBase { .. } | plan::Load::SearchPoint { .. }
                    )
                };
                Held::said_if(specs.clone().filter(is_it).any(is_search))
            }
            "distribution" => {
                let is_paced = |spec: &RunSpec| {
                    !matches!(
                        spec.load,
                        plan::Load::FlatOut | plan::Load::SearchBase { .. }
                    )
                };
                let is_paced = specs.clone().filter(is_it).any(is_paced);
                Held::said_if(asked.is_given || is_paced)
            }
            // Those of the workloads and of the storage stand there.
            "sd" | "openflags" if !asked.is_given => Held::Nothing,
            _ => Held::AsSaid,
        }
    }
}

/// What pools of duplicates hold of a parameter.
fn duplicates<'p>(name: &str, pools: impl Iterator<Item = &'p DuplicatePool>) -> Held {
    let text = |pool: &DuplicatePool| match name {
        "dedupratio" => pool.ratio.to_string(),
        "dedupunit" => bytes_text(pool.unit_bytes),
        "dedupsets" => match pool.sets {
            SetCount::Count(count) => count.to_string(),
            SetCount::Percent(pct) => format!("{pct}%"),
        },
        "deduphotsets" => {
            let pairs = pool.hot_sets.iter();
            let texts: Vec<String> = pairs
                .map(|(sets, blocks)| format!("{sets},{blocks}"))
                .collect();
            match texts.as_slice() {
                [] => String::new(),
                _ => format!("({})", texts.join(",")),
            }
        }
        "dedupflipflop" => match pool.replace {
            ReplacePolicy::SameContent => "no",
            ReplacePolicy::Alternate => "yes",
            ReplacePolicy::AlternateHotOnly => "hotsets",
        }
        .to_owned(),
        "dedupacross" => match pool.across_targets {
            true => "yes",
            false => "no",
        }
        .to_owned(),
        _ => String::new(),
    };
    match several(pools.map(text).filter(|text| !text.is_empty())) {
        // What has no place in a pool is used as it stands.
        Held::Nothing if name == "dedupmaxkey" => Held::AsSaid,
        held => held,
    }
}

fn hits(shares: impl Iterator<Item = Option<f64>>) -> Held {
    several(shares.flatten().map(|share| share.to_string()))
}

fn align_text(generator: &Generator) -> String {
    match generator.align {
        AlignRule::Transfer => sizes_text(&generator.transfer.read),
        other => {
            let texts: Vec<String> = other.bytes().into_iter().map(bytes_text).collect();
            texts.join(",")
        }
    }
}

fn range_text(generator: &Generator) -> String {
    let text = |bound: Bound| match bound {
        Bound::Percent(pct) => pct.to_string(),
        Bound::Bytes(bytes) => bytes_text(bytes),
        Bound::BehindPresent(bytes) => format!("end+{}", bytes_text(bytes)),
    };
    let region = &generator.region;
    format!("({},{})", text(region.low), text(region.high))
}

fn seek_text(order: &AddressOrder) -> String {
    match order {
        AddressOrder::Sequential { start, end } => match (start, end) {
            (_, SequentialEnd::Stop) => "eof",
            (SequentialStart::RandomBlock, _) => "seqnz",
            _ => "0",
        }
        .to_owned(),
        AddressOrder::Mixed { random_pct, .. } => random_pct.read.to_string(),
        AddressOrder::Stride { random_pct, .. } => random_pct.to_string(),
        AddressOrder::Random(plan::RandomLaw::Poisson { midpoint }) => {
            format!("(poisson,{midpoint})")
        }
        _ => "100".to_owned(),
    }
}
