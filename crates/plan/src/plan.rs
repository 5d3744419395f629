//! A plan: targets, run templates, and the runs that point at them. It is factored, so that a
//! thousand targets times ten thousand runs stay small; [`Plan::run`] expands one at a time.
use crate::data::{DuplicatePool, WritePattern};
use crate::diagnostic::Diagnostic;
use crate::ids::{RunId, SearchId, TargetId, TemplateId};
use crate::method::IoMethod;
use crate::operation::{OperationMix, PerDirection};
use crate::origin::{Origin, PlanValue};
use crate::run::{
    Coupling, ErrorBudget, FirstInterval, Load, Pool, Run, RunKind, RunStop, StartAlign, Swept,
    Timing, Window,
};
use crate::steering::Steering;
use crate::stream::{
    AddressOrder, ArrivalLaw, Bound, Generator, HitArea, Label, OpSource, SequentialEnd,
    SequentialStart, Stream, TransferSizes,
};
use crate::target::{SizeRule, TargetKind};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Everything that one execution is to do, before the machine is looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub targets: Vec<Target>,
    pub templates: Vec<RunTemplate>,
    /// In the order in which they are carried out.
    pub runs: Vec<RunSpec>,
    pub searches: Vec<Search>,
    /// What streams write by address, see [`crate::Duplicates::ByAddress`].
    #[serde(default)]
    pub duplicate_pools: Vec<DuplicatePool>,
    #[serde(default)]
    pub patterns: Vec<WritePattern>,
    /// All random draws of an execution follow from this.
    pub seed: u64,
    /// By run, the number by which its draws are told from those of others; empty where that is its own. So a run draws the
    /// same whether or not others, which only prepare or check, lie before it.
    #[serde(default)]
    pub draw_numbers: Vec<u32>,
    pub reporting: Reporting,
    #[serde(default)]
    pub steering: Steering,
    pub labels: Vec<Label>,
    /// How I/O is to be done where a pool does not say it.
    #[serde(default)]
    pub method: Option<IoMethod>,
    #[serde(default)]
    pub fills: Fills,
    /// The hosts that reach the targets; none where there is only this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<PlanHost>,
    /// For `explain`.
    pub values: Vec<PlanValue>,
}

/// What a target of another host counts as whose size only that host knows.
const UNSEEN_BYTES: u64 = 1 << 40;

/// A host that carries out a part of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanHost {
    /// As [`Target::host`] and messages name it, unique in the plan.
    pub name: String,
    /// How it is reached; `None` for the host that leads.
    pub reach: Option<Reach>,
}

/// How a host is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reach {
    /// A name or an address.
    pub system: String,
    /// Whom it is to be reached as; `None` leaves that to whoever reaches it.
    pub user: Option<String>,
}

pub use crate::target::Target;

/// What runs of one kind have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTemplate {
    pub pools: Vec<Pool>,
    pub streams: Vec<Stream>,
    pub coupling: Coupling,
}

/// One run: a template, what differs from it, and what is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    pub name: String,
    pub kind: RunKind,
    pub template: TemplateId,
    pub overrides: Vec<Override>,
    /// Replaces the coupling of the template.
    pub coupling: Option<Coupling>,
    pub load: Load,
    pub law: ArrivalLaw,
    pub timing: Timing,
    pub stop: RunStop,
    pub labels: Vec<Label>,
    /// What a sweep varies from run to run, with the values of this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swept: Vec<Swept>,
    pub origin: Origin,
}

impl RunSpec {
    /// One that makes what others find: flat out until all is written, every interval of a second counted, and over
    /// with the first error.
    #[must_use]
    pub fn filling(name: String, template: TemplateId, origin: Origin) -> Self {
        Self {
            name,
            kind: RunKind::Prepare,
            template,
            overrides: Vec::new(),
            coupling: None,
            load: Load::FlatOut,
            law: ArrivalLaw::Deterministic,
            timing: Timing {
                start: StartAlign::AtOnce,
                warmup: Nanos(0),
                window: Window::UntilDone { at_most: None },
                interval: Nanos::from_secs(1),
                first_interval: FirstInterval::Counted,
                pause_after: Nanos(0),
            },
            stop: RunStop {
                errors: ErrorBudget::Count(1),
                ..RunStop::default()
            },
            labels: Vec::new(),
            swept: Vec::new(),
            origin,
        }
    }
}

/// A value that a run sets for all its streams or pools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Override {
    /// Slots of every pool.
    Slots(u32),
    TransferBytes(u64),
    ReadPct(f64),
    Order(AddressOrder),
    HitAreaBytes(u64),
    ReadHitPct(f64),
    WriteHitPct(f64),
    CompressionRatio(f64),
}

/// Runs that look for something together: a base, then points that depend on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Percentages of the base rate, in the order in which they run.
    pub points_pct: Vec<f64>,
    pub stop: Option<StopSearch>,
}

/// When a search ends before its last point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StopSearch {
    /// A point whose mean service time exceeds this ends the whole execution.
    pub service_above: Nanos,
}

/// What becomes of streams that write their one target whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fills {
    /// They are flushed at the end of their run, and what they wrote is looked at afterwards.
    #[default]
    Flushed,
    /// They are writes like any other: a flush is asked for by name.
    AsWritten,
}

/// What the reports of the execution were asked to show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reporting {
    pub labels: Vec<Label>,
    /// Whether submission and completion are told apart, and depths and batch sizes are counted:
    /// one more system call and clock reading per submission.
    #[serde(default)]
    pub handover: bool,
    /// Whether each operation is told to whoever logs them; only together with `handover`.
    #[serde(default)]
    pub operations: bool,
    /// Whether each address that was touched is listed in files beside the result; only together with `operations`.
    #[serde(default)]
    pub address_lists: bool,
    /// Targets of a stream that are counted apart, at most. The counts of a stream with more are those of all its
    /// targets together and stand under the first of them; failures keep their own. `None` counts all apart.
    #[serde(default)]
    pub counted_apart_max: Option<u32>,
}

impl Plan {
    /// The place of the host that carries out a stream: that of its targets. The first where there is only one.
    pub fn host_of(&self, stream: &Stream) -> Option<usize> {
        let name = &self.target(*stream.targets.first()?).host;
        match self.hosts.is_empty() {
            true => Some(0),
            false => self.hosts.iter().position(|host| host.name == *name),
        }
    }

    /// The plan as one of its hosts sees it, the one that leads for `None`: targets of others are nothing to it.
    #[must_use]
    pub fn seen_from(&self, host: Option<usize>) -> Self {
        let mut seen = self.clone();
        let mine = match host {
            Some(host) => self.hosts.get(host),
            None => self.hosts.iter().find(|one| one.reach.is_none()),
        };
        if self.hosts.is_empty() {
            return seen;
        }
        let is_mine = |target: &Target| mine.is_some_and(|mine| mine.name == target.host);
        seen.hide(|target| !is_mine(target));
        seen
    }

    /// Lets targets be nothing, which fits whatever is asked of them.
    pub fn hide(&mut self, is_hidden: impl Fn(&Target) -> bool) {
        for target in self.targets.iter_mut().filter(|target| is_hidden(target)) {
            target.kind = TargetKind::Nothing;
            if !matches!(target.size, SizeRule::Bytes(_)) {
                target.size = SizeRule::Bytes(UNSEEN_BYTES);
            }
        }
    }

    /// Whether a target is on a host that has to be reached.
    #[must_use]
    pub fn is_elsewhere(&self, target: &Target) -> bool {
        let mut hosts = self.hosts.iter();
        hosts.any(|host| host.name == target.host && host.reach.is_some())
    }

    /// Whether another host than the one that leads has a part.
    pub fn is_spread(&self) -> bool {
        self.hosts.iter().any(|host| host.reach.is_some())
    }

    /// Of each target, whether any run uses it.
    pub fn used_targets(&self) -> Vec<bool> {
        let mut used = vec![false; self.targets.len()];
        for spec in &self.runs {
            for stream in &self.templates[spec.template.index()].streams {
                let targets = stream.targets.iter();
                targets.for_each(|target| used[target.index()] = true);
            }
        }
        used
    }

    pub fn target(&self, id: TargetId) -> &Target {
        &self.targets[id.index()]
    }

    pub fn search(&self, id: SearchId) -> &Search {
        &self.searches[id.index()]
    }

    /// Runs in order with their ids.
    pub fn run_ids(&self) -> impl Iterator<Item = RunId> + use<> {
        (0..self.runs.len()).map(RunId::at)
    }

    pub fn spec(&self, id: RunId) -> &RunSpec {
        &self.runs[id.index()]
    }

    /// The number of a run in a pass of a repetition (from zero), so that each pass has its own.
    pub fn in_pass(&self, id: RunId, pass: u64) -> RunId {
        RunId(id.0 + pass as u32 * self.runs.len() as u32)
    }

    /// The run that has a number by [`Plan::in_pass`].
    pub fn of_any_pass(&self, id: RunId) -> RunId {
        RunId(id.0 % self.runs.len() as u32)
    }

    /// The number by which the draws of a run, in any pass, are told from those of others.
    pub fn draw_number(&self, id: RunId) -> u64 {
        let first = self.of_any_pass(id);
        match self.draw_numbers.get(first.index()) {
            Some(number) => u64::from(*number) + u64::from(id.0 - first.0),
            None => u64::from(id.0),
        }
    }

    /// Whether a run reads back what is known to have been written by the run before it: the record
    /// of that lives as long as the process that made it.
    pub fn reads_records(&self, id: RunId) -> bool {
        let template = &self.templates[self.spec(id).template.index()];
        let sources = template.streams.iter().map(|stream| &stream.source);
        sources.into_iter().any(|source| {
            matches!(source, OpSource::Generator(generator) if generator.order == AddressOrder::AsRecorded)
        })
    }

    /// A run in full, with the overrides applied in order.
    pub fn run(&self, id: RunId) -> Run {
        self.run_of(self.spec(id))
    }

    pub(crate) fn run_of(&self, spec: &RunSpec) -> Run {
        let template = &self.templates[spec.template.index()];
        let mut run = Run {
            name: spec.name.clone(),
            kind: spec.kind,
            pools: template.pools.clone(),
            streams: template.streams.clone(),
            coupling: spec.coupling.unwrap_or(template.coupling),
            load: spec.load.clone(),
            law: spec.law,
            timing: spec.timing,
            stop: spec.stop.clone(),
            labels: spec.labels.clone(),
            swept: spec.swept.clone(),
        };
        for change in &spec.overrides {
            apply(change, &mut run);
        }
        run
    }

    /// Checks what every reader must uphold; for tests and assertions.
    pub fn inconsistencies(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for spec in &self.runs {
            let Some(template) = self.templates.get(spec.template.index()) else {
                found.push(Diagnostic::error(
                    "plan-0001",
                    format!("run `{}` has no template", spec.name),
                ));
                continue;
            };
            for stream in &template.streams {
                let whole = stream.pool.index() < template.pools.len()
                    && stream
                        .targets
                        .iter()
                        .all(|target| target.index() < self.targets.len())
                    && !stream.targets.is_empty();
                if !whole {
                    let message = format!("stream `{}` points outside of the plan", stream.name);
                    found.push(Diagnostic::error("plan-0002", message));
                }
            }
        }
        found
    }
}

pub(crate) fn apply(change: &Override, run: &mut Run) {
    if let Override::Slots(slots) = change {
        run.pools.iter_mut().for_each(|pool| pool.slots = *slots);
        return;
    }
    for stream in &mut run.streams {
        if let Override::CompressionRatio(ratio) = change {
            stream.data.compression_ratio = *ratio;
        } else if let OpSource::Generator(generator) = &mut stream.source {
            apply_to_generator(change, generator);
        }
    }
}

fn apply_to_generator(change: &Override, generator: &mut Generator) {
    let hits = || HitArea {
        bytes: 1 << 20,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
    };
    match change {
        Override::TransferBytes(bytes) => {
            generator.transfer = PerDirection::all(TransferSizes::Fixed(*bytes))
        }
        Override::ReadPct(pct) => generator.operations = crate::OperationMix::reads(*pct),
        Override::Order(order) => generator.order = order.clone(),
        Override::HitAreaBytes(bytes) => {
            if let Some(area) = &mut generator.hits {
                area.bytes = *bytes;
            }
        }
        Override::ReadHitPct(pct) => generator.hits.get_or_insert_with(hits).read_hit_pct = *pct,
        Override::WriteHitPct(pct) => generator.hits.get_or_insert_with(hits).write_hit_pct = *pct,
        Override::Slots(_) | Override::CompressionRatio(_) => {}
    }
}

impl Generator {
    /// Whether a run with these overrides writes all of the target once, from its beginning to its end.
    pub fn fills(&self, overrides: &[Override]) -> bool {
        let (mut operations, mut order) = (self.operations, &self.order);
        for change in overrides {
            match change {
                Override::ReadPct(pct) => operations = OperationMix::reads(*pct),
                Override::Order(other) => order = other,
                _ => {}
            }
        }
        let to_the_end = AddressOrder::Sequential {
            start: SequentialStart::First,
            end: SequentialEnd::Stop,
        };
        let is_whole = self.region.low == Bound::Percent(0.0)
            && matches!(self.region.high, Bound::Percent(pct) if pct >= 100.0);
        operations.write_pct == 100.0 && is_whole && *order == to_the_end
    }
}
