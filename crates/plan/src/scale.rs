//! A job done again and again with one quantity varied: what made it scale.
use crate::ids::{PoolId, TargetId, TemplateId};
use crate::plan::{Override, Plan, RunSpec, RunTemplate, apply};
use crate::run::{Load, Run, RunKind, Swept};
use crate::stream::{Bound, Label, OpSource, Region, Stream};
use crate::target::SizeRule;
use std::collections::BTreeSet;
use std::fmt;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// How many targets of the job are used, counted from the first.
    Files,
    /// Slots of each pool.
    Threads,
    /// The share in percent of what each target is worked on.
    Range,
    /// How many hosts, counted from the first.
    Hosts,
}

/// What stays the same in sum, although it would grow along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// As many slots as with the largest value.
    pub slots: bool,
    /// As many bytes as with the smallest value: regions shrink.
    pub bytes: bool,
}

/// How a job is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    pub quantity: Quantity,
    /// Ascending, each once, above zero.
    pub values: Vec<f64>,
    pub held: Held,
}

/// Why a job cannot be varied so.
#[derive(Clone, Debug, PartialEq)]
pub enum ScaleError {
    /// There are only so many.
    Beyond {
        quantity: Quantity,
        value: f64,
        there: usize,
    },
    /// No run reaches any of the first so many.
    Nothing {
        quantity: Quantity,
        value: f64,
    },
    /// The job runs on one host.
    WithoutHosts,
    /// Its name; it looks for rates by itself.
    Searches(String),
    /// What is varied is what was to be held.
    HoldsItself(Quantity),
    /// Of a stream: its region has ends that cannot be brought together, or it is not drawn.
    FixedRegion(String),
    NothingMeasures,
}

impl Quantity {
    pub const ALL: [Self; 4] = [Self::Files, Self::Threads, Self::Range, Self::Hosts];

    /// As users write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Threads => "threads",
            Self::Range => "range",
            Self::Hosts => "hosts",
        }
    }

    /// As [`Swept::name`].
    pub fn swept(self) -> &'static str {
        match self {
            Self::Range => "range_pct",
            other => other.word(),
        }
    }
}

impl fmt::Display for ScaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beyond {
                quantity: Quantity::Files,
                value,
                there,
            } => write!(
                f,
                "{value} files are asked for, and the job has {there}: each `sd=` of Vdbench and each file of `filename` of fio \
                 is one; lines that are commented out are none"
            ),
            Self::Beyond { value, there, .. } => {
                write!(
                    f,
                    "{value} hosts are asked for, and the job has {there}: name more of them, or ask for fewer"
                )
            }
            Self::Nothing { quantity, value } => write!(
                f,
                "no run of the job reaches the first {value} of its {}: put those that it uses first",
                quantity.word()
            ),
            Self::WithoutHosts => write!(
                f,
                "the job runs on this host alone: name hosts in the job, or with `--hosts`"
            ),
            Self::Searches(run) => write!(
                f,
                "`{run}` looks for a curve by itself, which ends elsewhere for each value: ask for the maximum or for a rate \
                 (`iorate=max`, `iorate=1000`)"
            ),
            Self::HoldsItself(quantity) => {
                let other = match quantity {
                    Quantity::Threads => "`bytes`",
                    _ => "`slots`",
                };
                write!(
                    f,
                    "`--vary {}` changes what `--hold` keeps: hold {other}, or nothing",
                    quantity.word()
                )
            }
            Self::FixedRegion(stream) => write!(
                f,
                "`{stream}` works on a part of its target that cannot be made smaller evenly: give both ends of its range in \
                 percent, or both in bytes"
            ),
            Self::NothingMeasures => write!(f, "no run of the job measures"),
        }
    }
}

impl Scaling {
    /// The plan with each of its runs for each value. What prepares targets comes first, and all repetitions of the plan have
    /// all values.
    ///
    /// # Errors
    /// Where the plan cannot be varied so.
    pub fn apply(&self, plan: &Plan) -> Result<Plan, ScaleError> {
        let is_measured = |spec: &&RunSpec| spec.kind == RunKind::Measure;
        let measured: Vec<&RunSpec> = plan.runs.iter().filter(is_measured).collect();
        self.check(plan, &measured)?;
        let mut scaled = Plan {
            runs: Vec::new(),
            draw_numbers: Vec::new(),
            ..plan.clone()
        };
        for spec in plan.runs.iter().filter(|spec| !is_measured(spec)) {
            self.add_prepared(plan, spec, &mut scaled);
        }
        for value in &self.values {
            let before = scaled.runs.len();
            for spec in &measured {
                self.add(plan, spec, *value, &mut scaled)?;
            }
            if scaled.runs.len() == before {
                return Err(ScaleError::Nothing {
                    quantity: self.quantity,
                    value: *value,
                });
            }
        }
        Ok(scaled)
    }

    fn check(&self, plan: &Plan, measured: &[&RunSpec]) -> Result<(), ScaleError> {
        if measured.is_empty() {
            return Err(ScaleError::NothingMeasures);
        }
        let is_search =
            |load: &Load| matches!(load, Load::SearchBase { .. } | Load::SearchPoint { .. });
        if let Some(spec) = measured.iter().find(|spec| is_search(&spec.load)) {
            return Err(ScaleError::Searches(spec.name.clone()));
        }
        let quantity = self.quantity;
        let holds_itself = match quantity {
            Quantity::Threads => self.held.slots,
            Quantity::Range => self.held.bytes,
            _ => false,
        };
        if holds_itself {
            return Err(ScaleError::HoldsItself(quantity));
        }
        let there = match quantity {
            Quantity::Files => plan.targets.len(),
            Quantity::Hosts if plan.hosts.is_empty() => return Err(ScaleError::WithoutHosts),
            Quantity::Hosts => plan.hosts.len(),
            Quantity::Threads | Quantity::Range => return Ok(()),
        };
        let beyond = self.values.iter().find(|value| **value > there as f64);
        beyond.map_or(Ok(()), |value| {
            Err(ScaleError::Beyond {
                quantity,
                value: *value,
                there,
            })
        })
    }

    fn add(
        &self,
        plan: &Plan,
        spec: &RunSpec,
        value: f64,
        scaled: &mut Plan,
    ) -> Result<(), ScaleError> {
        let most = self.values.iter().copied().fold(value, f64::max);
        let least = self.values.iter().copied().fold(value, f64::min);
        let mut run = self.at(plan, spec, value);
        // Others of the job may reach what there is.
        if run.streams.is_empty() {
            return Ok(());
        }
        if self.held.slots {
            let slots = |run: &Run| run.pools.iter().map(|pool| pool.slots).sum::<u32>();
            deal(slots(&self.at(plan, spec, most)), &mut run);
        }
        let part = match (self.quantity, self.held.bytes) {
            (Quantity::Range, _) => value / 100.0,
            (_, true) => least_share(plan, &self.at(plan, spec, least), &run),
            _ => 1.0,
        };
        for stream in run.streams.iter_mut().filter(|_| part < 1.0) {
            shrink(stream, part)?;
        }
        let labels = self.labels(spec, value);
        let mut swept = spec.swept.clone();
        swept.retain(|one| one.name != self.quantity.swept());
        swept.insert(0, Swept::new(self.quantity.swept(), value));
        let is_same = |other: &RunSpec| {
            let template = &scaled.templates[other.template.index()];
            other.name == spec.name
                && (&other.swept, &other.load) == (&swept, &spec.load)
                && (&template.pools, &template.streams) == (&run.pools, &run.streams)
        };
        // A loop of the job over what is varied is replaced.
        if self.quantity == Quantity::Threads && scaled.runs.iter().any(is_same) {
            return Ok(());
        }
        let spec = RunSpec {
            labels,
            swept,
            ..spec.clone()
        };
        push(run, spec, scaled);
        Ok(())
    }

    /// What no value reaches is not made.
    fn add_prepared(&self, plan: &Plan, spec: &RunSpec, scaled: &mut Plan) {
        let run = match self.quantity {
            Quantity::Files | Quantity::Hosts => {
                let most = self.values.iter().copied().fold(1.0, f64::max);
                self.at(plan, spec, most)
            }
            Quantity::Threads | Quantity::Range => plan.run_of(spec),
        };
        if !run.streams.is_empty() {
            push(run, spec.clone(), scaled);
        }
    }

    fn labels(&self, spec: &RunSpec, value: f64) -> Vec<Label> {
        let word = self.quantity.word();
        let text = match self.quantity {
            Quantity::Range => format!("{word}={value}%"),
            _ => format!("{word}={value}"),
        };
        let mut labels = spec.labels.clone();
        let others = Label::find(&labels, "loops").filter(|loops| *loops != "None");
        // A loop over what is varied is replaced.
        let is_own = |text: &&str| text.starts_with(&format!("{word}="));
        let others = others
            .unwrap_or_default()
            .split(' ')
            .filter(|one| !is_own(one));
        let loops: Vec<&str> = std::iter::once(&*text).chain(others).collect();
        let loops = loops.join(" ").trim_end().to_owned();
        labels.retain(|label| label.key != "loops");
        labels.extend([
            Label::new("loops", loops),
            Label::new(Label::SCALED, self.quantity.swept()),
        ]);
        let held = [(self.held.slots, "slots"), (self.held.bytes, "bytes")];
        let held: Vec<&str> = held
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, name)| name)
            .collect();
        if !held.is_empty() {
            labels.push(Label::new(Label::HELD, held.join(" ")));
        }
        labels
    }

    /// A run with a value, whatever is held.
    fn at(&self, plan: &Plan, spec: &RunSpec, value: f64) -> Run {
        let mut run = plan.run_of(spec);
        let count = value as usize;
        match self.quantity {
            Quantity::Files => keep(&mut run, |target| target.index() < count),
            Quantity::Hosts => keep(&mut run, |target| {
                let host = &plan.target(target).host;
                plan.hosts[..count].iter().any(|one| one.name == *host)
            }),
            Quantity::Threads => {
                apply(&Override::Slots(value as u32), &mut run);
            }
            Quantity::Range => {}
        }
        run
    }
}

/// Adds a run with a template of its own; what a run sets for all is in it.
fn push(run: Run, spec: RunSpec, scaled: &mut Plan) {
    scaled.templates.push(RunTemplate {
        pools: run.pools,
        streams: run.streams,
        coupling: run.coupling,
    });
    scaled.runs.push(RunSpec {
        template: TemplateId::at(scaled.templates.len() - 1),
        overrides: Vec::new(),
        ..spec
    });
}

/// Leaves some targets, and the streams and pools that reach them.
fn keep(run: &mut Run, is_kept: impl Fn(TargetId) -> bool) {
    for stream in &mut run.streams {
        stream.targets.retain(|target| is_kept(*target));
    }
    let is_left: Vec<bool> = run
        .streams
        .iter()
        .map(|one| !one.targets.is_empty())
        .collect();
    let new_place = |old: usize| is_left[..old].iter().filter(|is| **is).count() as u32;
    run.streams.retain(|stream| !stream.targets.is_empty());
    let move_all = |places: &mut Vec<u32>| {
        places.retain(|place| is_left[*place as usize]);
        places
            .iter_mut()
            .for_each(|place| *place = new_place(*place as usize));
    };
    for lifetime in run
        .streams
        .iter_mut()
        .filter_map(|stream| stream.lifetime.as_mut())
    {
        move_all(&mut lifetime.after);
        move_all(&mut lifetime.ends);
    }
    let all: f64 = run.streams.iter().map(|stream| stream.share_pct).sum();
    for stream in run.streams.iter_mut().filter(|_| all > 0.0) {
        stream.share_pct *= 100.0 / all;
    }
    let used: BTreeSet<usize> = run
        .streams
        .iter()
        .map(|stream| stream.pool.index())
        .collect();
    for stream in &mut run.streams {
        let place = used.range(..stream.pool.index()).count();
        stream.pool = PoolId::at(place);
    }
    let mut place = 0;
    run.pools.retain(|_| {
        place += 1;
        used.contains(&(place - 1))
    });
}

/// Deals slots out to the pools, evenly in proportion to what they have.
fn deal(slots: u32, run: &mut Run) {
    let before: u64 = run.pools.iter().map(|pool| u64::from(pool.slots)).sum();
    let (mut given, mut seen) = (0, 0);
    for pool in &mut run.pools {
        seen += u64::from(pool.slots);
        let until = (u64::from(slots) * seen / before.max(1)) as u32;
        pool.slots = until - given;
        given = until;
    }
}

/// Of so many targets' regions, the part that makes them as large in sum as those of fewer. Targets whose sizes the job does
/// not tell count as equal.
fn least_share(plan: &Plan, least: &Run, run: &Run) -> f64 {
    let targets = |run: &Run| {
        let all = run.streams.iter().flat_map(|stream| &stream.targets);
        all.copied().collect::<BTreeSet<TargetId>>()
    };
    let sizes = |of: &BTreeSet<TargetId>| -> Option<f64> {
        let size = |target: &TargetId| match plan.target(*target).size {
            SizeRule::Bytes(bytes) => Some(bytes as f64),
            _ => None,
        };
        of.iter().map(size).sum()
    };
    let (few, all) = (targets(least), targets(run));
    match sizes(&few).zip(sizes(&all)) {
        Some((few, all)) if all > 0.0 => few / all,
        _ => few.len() as f64 / all.len().max(1) as f64,
    }
}

/// Leaves the first part of what a stream works on.
fn shrink(stream: &mut Stream, part: f64) -> Result<(), ScaleError> {
    let region = match &mut stream.source {
        OpSource::Generator(generator) => Some(&mut generator.region),
        _ => None,
    };
    region
        .and_then(|region| shorter(region, part))
        .ok_or_else(|| ScaleError::FixedRegion(stream.name.clone()))
}

fn shorter(region: &mut Region, part: f64) -> Option<()> {
    if region.slice.is_some() {
        return None;
    }
    if let Some(width) = region.trim.as_mut().and_then(|trim| trim.width.as_mut()) {
        *width = match *width {
            Bound::Percent(pct) => Bound::Percent(pct * part),
            Bound::Bytes(bytes) => Bound::Bytes((bytes as f64 * part) as u64),
            Bound::BehindPresent(_) => return None,
        };
        return Some(());
    }
    region.high = match (region.low, region.high) {
        (Bound::Percent(low), Bound::Percent(high)) => Bound::Percent(low + (high - low) * part),
        (Bound::Bytes(low), Bound::Bytes(high)) => {
            Bound::Bytes(low + (high.saturating_sub(low) as f64 * part) as u64)
        }
        // Nothing in percent is nothing in bytes.
        (Bound::Percent(0.0), Bound::Bytes(high)) => Bound::Bytes((high as f64 * part) as u64),
        _ => return None,
    };
    Some(())
}
