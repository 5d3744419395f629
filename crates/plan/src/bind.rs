//! From a plan and what was found on the machine to a [`BoundPlan`], in which every value that the
//! engine needs is a number.
mod makers;
mod misfit;
mod names;
mod region;
mod rounds;

use crate::ids::{PoolId, RunId, TargetId, TemplateId};
use crate::origin::Origin;
use crate::plan::{Override, Plan};
use crate::run::{DataLimit, Run, RunKind};
use crate::steering::Repeat;
use crate::stream::{
    AddressOrder, FirstBlock, Generator, LocalStop, OpSource, Replay, SequentialStart, Stream,
    TargetOrder,
};
use crate::target::{Preparation, SizeRule, Target, TargetKind, target_text};
use crate::units::Bytes;
pub use names::Harm;
use names::not_ours;
pub use rounds::ZoneSpan;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// What was found of one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    pub found: FoundKind,
    /// Present size; zero where nothing is.
    pub bytes: u64,
    pub alignment: Alignment,
    /// The data never leaves memory (RAM disk, zram, tmpfs).
    pub ram_backed: bool,
}

/// What stands at the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    Missing,
    File,
    BlockDevice,
    Directory,
    /// A character device, socket or the like.
    Other,
}

/// What direct I/O asks of addresses and of memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alignment {
    pub offset: u64,
    pub memory: u64,
}

/// Facts of all targets of a plan, in the order of [`Plan::targets`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub targets: Vec<TargetFacts>,
    /// Of a plan on several hosts: a name for what stands at the path of each target. Hosts that give the same name see the
    /// same thing. Empty where nothing is known.
    #[serde(default)]
    pub same: Vec<String>,
}

/// A plan whose every symbolic size is resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundPlan {
    pub plan: Plan,
    pub targets: Vec<BoundTarget>,
    /// The runs to carry out, in order; preparations that nothing needs are left out.
    pub runs: Vec<RunId>,
    /// Of each target, the one of another host that is made in its stead; empty of a plan without hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makers: Vec<Option<TargetId>>,
}

/// A target with its size and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundTarget {
    pub facts: TargetFacts,
    /// The size that runs use, once prepared.
    pub bytes: u64,
    /// Whether a preparation run writes to it.
    pub is_prepared: bool,
    /// The first byte that runs may change and the byte behind the last; `None` when it is only
    /// read.
    pub write_extent: Option<(u64, u64)>,
    /// Whether runs that measure read it.
    #[serde(default)]
    pub is_read: bool,
}

/// A run with the regions of its streams in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundRun {
    pub id: RunId,
    pub run: Run,
    /// One per stream of the run, in order.
    pub streams: Vec<BoundStream>,
}

/// What a stream may touch: one region per target of the stream, in order. Of targets end to end,
/// the parts of their one region in the order of addresses; the stream keeps the targets that have
/// one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundStream {
    pub regions: Vec<BoundRegion>,
    /// What its draws follow from, together with its place.
    pub seed: u64,
    /// Among the streams of the whole run, of which a host may have a part, and how many those are.
    pub place: u32,
    pub of: u32,
}

/// Addresses from `low` up to `low + width`; from `wrap_at` they go on at `wrap_to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundRegion {
    pub target: TargetId,
    pub low: u64,
    pub width: u64,
    pub wrap_at: Option<u64>,
    pub wrap_to: u64,
    /// Where a sequential stream begins, relative to `low`.
    pub start: u64,
}

impl BoundRun {
    /// Bytes of targets that its streams work on, each byte once.
    #[must_use]
    pub fn worked_on_bytes(&self) -> u64 {
        let regions = self.streams.iter().flat_map(|stream| &stream.regions);
        let mut spans: Vec<(TargetId, u64, u64)> = regions
            .map(|one| (one.target, one.low, one.low + one.width))
            .collect();
        spans.sort_unstable();
        let (mut sum, mut seen) = (0, None);
        for (target, low, high) in spans {
            let from = match seen {
                Some((known, until)) if known == target => low.max(until),
                _ => low,
            };
            sum += high.saturating_sub(from);
            seen = Some((target, high.max(from)));
        }
        sum
    }
}

/// Why a plan does not fit the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindError {
    DeviceMissing {
        target: String,
        path: String,
        origin: Origin,
    },
    DeviceTooSmall {
        target: String,
        asked: u64,
        found: u64,
        origin: Origin,
    },
    SizeUnknown {
        target: String,
        path: String,
        origin: Origin,
    },
    NotUsable {
        target: String,
        path: String,
        found: FoundKind,
        origin: Origin,
    },
    RegionTooSmall {
        target: String,
        stream: String,
        width: u64,
        transfer: u64,
        origin: Origin,
    },
    OutsideTarget {
        target: String,
        stream: String,
        end: u64,
        bytes: u64,
        origin: Origin,
    },
    Misaligned {
        target: String,
        stream: String,
        /// What the stream does with the bytes: transfers, begins at, aligns to.
        what: &'static str,
        bytes: u64,
        alignment: u64,
        origin: Origin,
    },
    TooManyHotSets {
        target: String,
        counts: HotSetCounts,
        origin: Origin,
    },
    /// A stream would take away what was there before.
    NotOurs {
        target: String,
        stream: String,
        harm: Harm,
        origin: Origin,
    },
}

/// Hot sets that were asked for, and the sets that they would be some of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotSetCounts {
    pub hot_sets: u64,
    pub sets: u64,
}

/// Resolves the plan against the facts; reports every misfit at once.
///
/// # Errors
/// All reasons why runs of this plan could not be carried out on these targets.
pub fn bind(plan: Plan, facts: &Facts) -> Result<BoundPlan, Vec<BindError>> {
    assert_eq!(
        plan.targets.len(),
        facts.targets.len(),
        "facts of every target of the plan"
    );
    let mut errors = Vec::new();
    let used = plan.used_targets();
    let makers = makers::of(&plan, facts);
    let mut targets = Vec::with_capacity(plan.targets.len());
    for (target, found) in plan.targets.iter().zip(&facts.targets) {
        let in_use = used[targets.len()];
        let is_made = makers.get(targets.len()).is_none_or(Option::is_none);
        match bind_target(target, found, in_use, is_made) {
            Ok(bound) => targets.push(bound),
            Err(error) => {
                errors.push(error);
                let bytes = found.bytes;
                targets.push(BoundTarget {
                    facts: found.clone(),
                    bytes,
                    is_prepared: false,
                    write_extent: None,
                    is_read: false,
                });
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut bound = BoundPlan {
        runs: Vec::new(),
        plan,
        targets,
        makers,
    };
    bound.runs = bound
        .plan
        .run_ids()
        .filter(|id| bound.is_needed(*id))
        .collect();
    bound.check_duplicates(&mut errors);
    bound.bind_runs(&mut errors);
    if errors.is_empty() {
        Ok(bound)
    } else {
        Err(errors)
    }
}

impl BoundPlan {
    /// One run with its regions.
    ///
    /// # Panics
    /// When the plan did not come from [`bind`], which has checked every region.
    pub fn run(&self, id: RunId) -> BoundRun {
        let run = self.bound_run(self.plan.of_any_pass(id));
        BoundRun {
            id,
            ..run.expect("bind has checked every run")
        }
    }

    /// The run, if it fits: of a consistent plan that was read from a file, nobody has checked that.
    pub fn try_run(&self, id: RunId) -> Option<BoundRun> {
        self.bound_run(id).ok()
    }

    /// How many runs the execution has with its repetitions; `None` when time or the user ends them.
    pub fn run_count(&self) -> Option<u64> {
        let (first, again) = (self.runs.len() as u64, self.repeated() as u64);
        match self.plan.steering.repeat {
            Repeat::Once => Some(first),
            Repeat::Times(times) => Some(first + again * u64::from(times.saturating_sub(1))),
            Repeat::For(_) | Repeat::Endless if again == 0 => Some(first),
            Repeat::For(_) | Repeat::Endless => None,
        }
    }

    /// The run that is carried out as number `number` (from zero), and how often all were before.
    pub fn numbered(&self, number: u64) -> Option<(RunId, u64)> {
        let first = self.runs.len() as u64;
        if number < first {
            return Some((self.runs[number as usize], 0));
        }
        let again = self.repeated() as u64;
        if again == 0 || self.run_count().is_some_and(|count| number >= count) {
            return None;
        }
        let place = (number - first) % again + (first - again);
        Some((self.runs[place as usize], (number - first) / again + 1))
    }

    /// Runs that a repetition has: all behind the preparations, which come first.
    fn repeated(&self) -> usize {
        let is_measure = |id: &&RunId| self.plan.spec(**id).kind == RunKind::Measure;
        self.runs.iter().rev().take_while(is_measure).count()
    }

    /// The target of another host that is the same thing as this one, and is made there alone.
    pub fn made_as(&self, target: TargetId) -> Option<TargetId> {
        self.makers.get(target.index()).copied().flatten()
    }

    /// The first and the end byte that runs may change on a target.
    pub fn write_extent(&self, target: TargetId) -> Option<(u64, u64)> {
        self.targets[target.index()].write_extent
    }

    /// Whether a run that measures may change the target; a preparation does not count.
    pub fn is_changed_by_measurement(&self, target: TargetId) -> bool {
        let measures = |id: &RunId| self.plan.spec(*id).kind == RunKind::Measure;
        self.distinct_runs().into_iter().filter(measures).any(|id| {
            let run = self.plan.run(id);
            let mut streams = run.streams.iter();
            streams.any(|stream| {
                stream.targets.contains(&target) && self.may_change(&run, stream, target)
            })
        })
    }

    /// How large a target becomes, in bytes; `None` where only its file system decides.
    pub fn expected_bytes(&self, target: TargetId) -> Option<u64> {
        let is_limited = self.plan.target(target).size != SizeRule::Unlimited;
        is_limited.then_some(self.targets[target.index()].bytes)
    }

    /// One run for all that have the same operations, sizes, orders and regions: they differ in
    /// rates, times, labels, the number of slots and shares of reads between none and all. It is the
    /// one with most slots. Long sweeps have few of them.
    pub fn distinct_runs(&self) -> Vec<RunId> {
        let mut places = BTreeMap::new();
        let mut found: Vec<(u32, RunId)> = Vec::new();
        for id in self.runs.iter().copied() {
            let slots = self.slots(id);
            let place = *places.entry(self.kind_of_run(id)).or_insert(found.len());
            match found.get_mut(place) {
                None => found.push((slots, id)),
                Some(widest) if widest.0 < slots => *widest = (slots, id),
                Some(_) => {}
            }
        }
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// What tells runs apart that are not looked at one by one.
    fn kind_of_run(&self, id: RunId) -> (TemplateId, String) {
        let spec = self.plan.spec(id);
        let mut kind = format!("{:?}", spec.coupling);
        for change in &spec.overrides {
            kind += &match change {
                Override::Slots(_) => continue,
                Override::ReadPct(pct) if *pct > 0.0 && *pct < 100.0 => "mixed".to_owned(),
                other => format!("{other:?}"),
            };
        }
        (spec.template, kind)
    }

    /// Slots of all pools of a run together.
    fn slots(&self, id: RunId) -> u32 {
        let spec = self.plan.spec(id);
        let pools = &self.plan.templates[spec.template.index()].pools;
        let each = spec.overrides.iter().rev().find_map(|change| match change {
            Override::Slots(slots) => Some(*slots),
            _ => None,
        });
        match each {
            Some(slots) => slots.saturating_mul(pools.len() as u32),
            None => pools.iter().map(|pool| pool.slots).sum(),
        }
    }

    fn is_needed(&self, id: RunId) -> bool {
        let spec = self.plan.spec(id);
        spec.kind == RunKind::Measure
            || self.plan.templates[spec.template.index()]
                .streams
                .iter()
                .any(|stream| {
                    stream
                        .targets
                        .iter()
                        .any(|target| self.targets[target.index()].is_prepared)
                })
    }

    /// Hot sets are some of the sets, whose number may be a share of blocks.
    fn check_duplicates(&self, errors: &mut Vec<BindError>) {
        for pool in &self.plan.duplicate_pools {
            let blocks_of = |id: &TargetId| self.targets[id.index()].bytes / pool.unit_bytes;
            let all: u64 = pool.targets.iter().map(blocks_of).sum();
            let least = pool.targets.iter().map(blocks_of).min().unwrap_or(0);
            let sets = pool.sets.of(if pool.across_targets { all } else { least });
            let hot_sets: u64 = pool.hot_sets.iter().map(|(sets, _)| sets).sum();
            if hot_sets >= sets
                && hot_sets > 0
                && let Some(first) = pool.targets.first()
            {
                let target = self.plan.target(*first);
                errors.push(BindError::TooManyHotSets {
                    target: target.name.clone(),
                    counts: HotSetCounts { hot_sets, sets },
                    origin: target.origin.clone(),
                });
            }
        }
    }

    /// Checks the regions of all runs, and notes what they write.
    fn bind_runs(&mut self, errors: &mut Vec<BindError>) {
        for id in self.distinct_runs() {
            match self.bound_run(id) {
                Ok(run) => {
                    self.check_harm(&run.run, errors);
                    self.note_reads(&run);
                    self.note_writes(&run);
                }
                Err(error) if errors.contains(&error) => {}
                Err(error) => errors.push(error),
            }
        }
    }

    fn note_reads(&mut self, run: &BoundRun) {
        let streams = run.run.streams.iter();
        for stream in
            streams.filter(|stream| run.run.kind == RunKind::Measure && stream.source.reads())
        {
            for target in &stream.targets {
                self.targets[target.index()].is_read = true;
            }
        }
    }

    fn note_writes(&mut self, run: &BoundRun) {
        let streams = run.run.streams.iter().zip(&run.streams);
        for (stream, bound) in streams {
            for (place, region) in bound.regions.iter().enumerate() {
                if !self.may_change(&run.run, stream, region.target) {
                    continue;
                }
                let written = match stream.source.replay() {
                    Some(replay) => replay.places[place].written,
                    None => Some(region.written_extent()),
                };
                let Some((low, end)) = written else { continue };
                let extent = &mut self.targets[region.target.index()].write_extent;
                let so_far = extent.unwrap_or((low, end));
                *extent = Some((so_far.0.min(low), so_far.1.max(end)));
            }
        }
    }

    fn bound_run(&self, id: RunId) -> Result<BoundRun, BindError> {
        let mut run = self.plan.run(id);
        if run.kind == RunKind::Prepare {
            self.keep_prepared(&mut run);
        }
        self.resolve_limits(&mut run);
        let of = run.streams.len() as u32;
        let mut streams = Vec::with_capacity(run.streams.len());
        for stream in &mut run.streams {
            let regions = self.regions(stream)?;
            // Elsewhere each target has a region.
            if stream.target_order == TargetOrder::EndToEnd {
                let parts: BTreeSet<TargetId> =
                    regions.iter().map(|region| region.target).collect();
                stream.targets.retain(|id| parts.contains(id));
            }
            streams.push(BoundStream {
                regions,
                seed: stream.seed.unwrap_or(self.plan.seed),
                place: streams.len() as u32,
                of,
            });
        }
        for (stream, bound) in run.streams.iter_mut().zip(&streams) {
            let laws = stream.source.laws();
            let grain = laws.map_or(1, Generator::smallest_transfer).max(1);
            bound.settle_passes(&mut stream.stop, grain);
            if let Some(laws) = laws {
                let ends = bound.regions.iter().map(|region| {
                    let bytes = self.targets[region.target.index()].bytes;
                    bytes.max(region.low + region.width)
                });
                let ends: Vec<u64> = ends.collect();
                rounds::settle(&mut stream.stop, laws, &bound.regions, &ends);
            }
        }
        Ok(BoundRun { id, run, streams })
    }

    /// Amounts as multiples of the targets become bytes.
    fn resolve_limits(&self, run: &mut Run) {
        let limits = [
            &mut run.stop.total_bytes,
            &mut run.stop.read_bytes,
            &mut run.stop.written_bytes,
        ];
        for limit in limits.into_iter().flatten() {
            if let DataLimit::TimesTargets(_) = limit {
                let targets = run.streams.iter().flat_map(|stream| &stream.targets);
                let used: BTreeSet<usize> = targets.map(|target| target.index()).collect();
                let sizes = used.into_iter().map(|target| self.targets[target].bytes);
                let whole = sizes.fold(0, u64::saturating_add);
                *limit = DataLimit::Bytes(limit.of_targets(whole));
            }
        }
    }

    fn keep_prepared(&self, run: &mut Run) {
        run.streams.retain(|stream| {
            stream
                .targets
                .iter()
                .any(|target| self.targets[target.index()].is_prepared)
        });
        let mut pools = Vec::new();
        for stream in &mut run.streams {
            if stream.target_order != TargetOrder::EndToEnd {
                let is_prepared = |id: &TargetId| self.targets[id.index()].is_prepared;
                stream.targets.retain(is_prepared);
            }
            pools.push(run.pools[stream.pool.index()].clone());
            stream.pool = PoolId::at(pools.len() - 1);
        }
        run.pools = pools;
        let share_pct = 100.0 / run.streams.len().max(1) as f64;
        run.streams
            .iter_mut()
            .for_each(|stream| stream.share_pct = share_pct);
    }

    fn regions(&self, stream: &Stream) -> Result<Vec<BoundRegion>, BindError> {
        if let OpSource::Replay(replay) = &stream.source {
            self.check_record(stream, replay)?;
        }
        let OpSource::Generator(generator) = &stream.source else {
            let whole = |id: &TargetId| BoundRegion {
                target: *id,
                low: 0,
                width: self.targets[id.index()].bytes,
                wrap_at: None,
                wrap_to: 0,
                start: 0,
            };
            return Ok(stream.targets.iter().map(whole).collect());
        };
        let bound = |id: &TargetId| (*id, &self.targets[id.index()]);
        if stream.target_order == TargetOrder::EndToEnd {
            let targets: Vec<_> = stream.targets.iter().map(bound).collect();
            let parts = region::end_to_end(&generator.region, &targets);
            let width = parts.iter().map(|part| part.width).sum();
            self.check_width(stream, stream.targets[0], generator, width)?;
            for part in &parts {
                self.check_region(stream, part, generator)?;
            }
            return Ok(parts);
        }
        // There may be a million targets; a collection of results does not know how many come.
        let mut all = Vec::with_capacity(stream.targets.len());
        for id in &stream.targets {
            let mut region = region::on_target(&generator.region, *id, bound(id).1);
            self.check_width(stream, *id, generator, region.width)?;
            self.check_region(stream, &region, generator)?;
            region.start = self.start(&region, generator);
            all.push(region);
        }
        Ok(all)
    }

    /// Whether what was recorded fits what was found.
    fn check_record(&self, stream: &Stream, replay: &Replay) -> Result<(), BindError> {
        for (id, place) in stream.targets.iter().zip(&replay.places) {
            let target = self.plan.target(*id);
            let bound = &self.targets[id.index()];
            if !target.is_real() {
                continue;
            }
            if place.end > bound.bytes {
                return Err(BindError::OutsideTarget {
                    target: target.name.clone(),
                    stream: stream.name.clone(),
                    end: place.end,
                    bytes: bound.bytes,
                    origin: target.origin.clone(),
                });
            }
            let is_direct = stream.open_mode(target).direct;
            let alignment = bound.facts.alignment.offset.max(1);
            if is_direct && !replay.grain_bytes.is_multiple_of(alignment) {
                return Err(BindError::Misaligned {
                    target: target.name.clone(),
                    stream: stream.name.clone(),
                    what: "replays multiples of",
                    bytes: replay.grain_bytes,
                    alignment,
                    origin: target.origin.clone(),
                });
            }
        }
        Ok(())
    }

    /// Where a stream begins that goes on behind what its target holds.
    fn start(&self, region: &BoundRegion, generator: &Generator) -> u64 {
        let (target, bound) = (
            self.plan.target(region.target),
            &self.targets[region.target.index()],
        );
        match generator.order {
            AddressOrder::Sequential {
                start: SequentialStart::PresentEnd { rounded_to },
                ..
            } if target.preparation == Preparation::MakeOrExtend => {
                let present = bound.facts.bytes - bound.facts.bytes % rounded_to.max(1);
                present.saturating_sub(region.low).min(region.width)
            }
            _ => 0,
        }
    }

    fn check_width(
        &self,
        stream: &Stream,
        id: TargetId,
        generator: &Generator,
        width: u64,
    ) -> Result<(), BindError> {
        let transfer = generator.largest_transfer();
        let is_in_order = matches!(
            generator.order,
            AddressOrder::Sequential { .. }
                | AddressOrder::AsRecorded
                | AddressOrder::Listed(_)
                | AddressOrder::Rehearsed(_)
        );
        // Who never draws the first block has to find another one.
        let is_any = generator.region.first_block == FirstBlock::Used;
        let blocks_needed = if is_in_order || is_any { 1 } else { 2 };
        if transfer > 0 && width >= transfer * blocks_needed {
            return Ok(());
        }
        let target = self.plan.target(id);
        Err(BindError::RegionTooSmall {
            target: target.name.clone(),
            stream: stream.name.clone(),
            width,
            transfer,
            origin: target.origin.clone(),
        })
    }

    fn check_region(
        &self,
        stream: &Stream,
        region: &BoundRegion,
        generator: &Generator,
    ) -> Result<(), BindError> {
        let target = self.plan.target(region.target);
        let bound = &self.targets[region.target.index()];
        let (_, end) = region.extent();
        if end > bound.bytes && target.is_real() {
            return Err(BindError::OutsideTarget {
                target: target.name.clone(),
                stream: stream.name.clone(),
                end,
                bytes: bound.bytes,
                origin: target.origin.clone(),
            });
        }
        let open = stream.open_mode(target);
        let alignment = bound.facts.alignment.offset.max(1);
        if !open.direct || !target.is_real() {
            return Ok(());
        }
        let mut asked = vec![
            ("transfers", generator.grain_bytes()),
            ("begins at", region.low),
        ];
        let aligned = generator.align.bytes();
        asked.extend(aligned.into_iter().map(|bytes| ("aligns to", bytes)));
        let misfit = asked
            .into_iter()
            .find(|(_, bytes)| !bytes.is_multiple_of(alignment));
        misfit.map_or(Ok(()), |(what, bytes)| {
            Err(BindError::Misaligned {
                target: target.name.clone(),
                stream: stream.name.clone(),
                what,
                bytes,
                alignment,
                origin: target.origin.clone(),
            })
        })
    }
}

impl BoundTarget {
    /// Whether any run may change it.
    pub fn is_written(&self) -> bool {
        self.write_extent.is_some()
    }
}

impl BoundStream {
    /// Its place as a share of the whole run: arrivals of equal gaps begin apart from those of other streams.
    pub fn phase(&self) -> f64 {
        f64::from(self.place) / f64::from(self.of)
    }

    /// Turns an end after so many passes into one after so many bytes.
    fn settle_passes(&self, stop: &mut LocalStop, grain: u64) {
        let Some(passes) = stop.passes.take() else {
            return;
        };
        let whole: u64 = self.regions.iter().map(|region| region.width).sum();
        let pass = match stop.pass_millionths.take() {
            Some(part) => {
                let part = u128::from(whole) * u128::from(part) / 1_000_000;
                (part as u64).next_multiple_of(grain)
            }
            None => whole,
        };
        let bytes = pass.saturating_mul(passes);
        stop.bytes = Some(stop.bytes.map_or(bytes, |asked| asked.min(bytes)));
    }
}

impl BoundRegion {
    /// The same of what is written: a stream that begins within its region wraps nowhere.
    fn written_extent(&self) -> (u64, u64) {
        let (low, end) = self.extent();
        (low + self.start, end)
    }

    /// The first and the end byte that may be touched.
    pub fn extent(&self) -> (u64, u64) {
        match self.wrap_at {
            Some(end) if self.low + self.width > end => (self.wrap_to.min(self.low), end),
            _ => (self.low, self.low + self.width),
        }
    }
}

fn bind_target(
    target: &Target,
    found: &TargetFacts,
    in_use: bool,
    is_made: bool,
) -> Result<BoundTarget, BindError> {
    // Only what goes wrong is told, and there may be a million targets.
    let (name, origin) = (|| target.name.clone(), || target.origin.clone());
    let path = || target.path.display().to_string();
    let bound = |bytes, is_prepared| BoundTarget {
        facts: found.clone(),
        bytes,
        is_prepared,
        write_extent: None,
        is_read: false,
    };
    if !target.is_real() {
        let (SizeRule::Bytes(bytes) | SizeRule::BeyondFound(bytes)) = target.size else {
            return Err(BindError::size_unknown(target));
        };
        return Ok(bound(bytes, false));
    }
    let must_exist = target.preparation == Preparation::MustExist;
    match (target.kind, found.found) {
        (kind, FoundKind::Missing) if in_use && (kind == TargetKind::Device || must_exist) => {
            return Err(BindError::DeviceMissing {
                target: name(),
                path: path(),
                origin: origin(),
            });
        }
        (_, FoundKind::Directory | FoundKind::Other) => {
            return Err(BindError::NotUsable {
                target: name(),
                path: path(),
                found: found.found,
                origin: origin(),
            });
        }
        _ => {}
    }
    let asked = target.size.of_found(found.bytes);
    if asked == 0 && in_use {
        return Err(BindError::size_unknown(target));
    }
    let is_fixed = found.found == FoundKind::BlockDevice || (must_exist && in_use);
    if is_fixed && asked > found.bytes {
        return Err(BindError::DeviceTooSmall {
            target: name(),
            asked,
            found: found.bytes,
            origin: origin(),
        });
    }
    let is_prepared = in_use && is_made && needs_preparation(target.preparation, found, asked);
    Ok(bound(asked, is_prepared))
}

fn needs_preparation(preparation: Preparation, found: &TargetFacts, asked: u64) -> bool {
    match preparation {
        Preparation::AsFound | Preparation::MustExist => false,
        Preparation::MakeOrExtend => found.found != FoundKind::BlockDevice && found.bytes < asked,
        Preparation::Rewrite => true,
    }
}

impl BindError {
    /// Of a target that no run can make, as nothing says how large.
    pub fn size_unknown(target: &Target) -> Self {
        Self::SizeUnknown {
            target: target.name.clone(),
            path: target.path.display().to_string(),
            origin: target.origin.clone(),
        }
    }

    /// The name of the target that does not fit.
    pub fn target(&self) -> Option<&str> {
        match self {
            BindError::DeviceMissing { target, .. }
            | BindError::DeviceTooSmall { target, .. }
            | BindError::SizeUnknown { target, .. }
            | BindError::NotUsable { target, .. }
            | BindError::RegionTooSmall { target, .. }
            | BindError::OutsideTarget { target, .. }
            | BindError::Misaligned { target, .. }
            | BindError::TooManyHotSets { target, .. } => Some(target),
            BindError::NotOurs { .. } => None,
        }
    }

    /// Where in the user's words the cause stands.
    pub fn origin(&self) -> &Origin {
        match self {
            BindError::DeviceMissing { origin, .. }
            | BindError::DeviceTooSmall { origin, .. }
            | BindError::SizeUnknown { origin, .. }
            | BindError::NotUsable { origin, .. }
            | BindError::RegionTooSmall { origin, .. }
            | BindError::OutsideTarget { origin, .. }
            | BindError::Misaligned { origin, .. }
            | BindError::TooManyHotSets { origin, .. }
            | BindError::NotOurs { origin, .. } => origin,
        }
    }

    /// A stable code for documents and scripts.
    pub fn code(&self) -> &'static str {
        match self {
            BindError::DeviceMissing { .. } => "bind-0001",
            BindError::DeviceTooSmall { .. } => "bind-0002",
            BindError::SizeUnknown { .. } => "bind-0003",
            BindError::NotUsable { .. } => "bind-0004",
            BindError::RegionTooSmall { .. } => "bind-0005",
            BindError::OutsideTarget { .. } => "bind-0006",
            BindError::Misaligned { .. } => "bind-0007",
            BindError::TooManyHotSets { .. } => "bind-0008",
            BindError::NotOurs { .. } => "bind-0009",
        }
    }
}

/// A name after `before`, or `same` where it was just said.
fn unless_same(said: &str, name: &str, same: &str, before: &str) -> String {
    match said == name {
        true => same.to_owned(),
        false => format!("{before}`{name}`"),
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::DeviceMissing { target, path, .. } => {
                let name = target_text(target, Path::new(path));
                write!(f, "{name} does not exist, or may not be read")
            }
            BindError::DeviceTooSmall {
                target,
                asked,
                found,
                ..
            } => {
                let (asked, found) = (Bytes(*asked), Bytes(*found));
                write!(f, "`{target}` asks for {asked}, and there are {found}")
            }
            BindError::SizeUnknown { target, path, .. } => write!(
                f,
                "size of `{target}` is unknown: {} does not exist or is empty, and no size is given",
                unless_same(target, path, "it", "")
            ),
            BindError::NotUsable {
                target,
                path,
                found,
                ..
            } => {
                let (name, what) = (target_text(target, Path::new(path)), found.unusable_text());
                write!(f, "{name} is {what}; name a regular file or a block device")
            }
            BindError::RegionTooSmall {
                target,
                stream,
                width,
                transfer,
                ..
            } => {
                let (width, transfer) = (Bytes(*width), Bytes(*transfer));
                let place = unless_same(stream, target, "", " on ");
                write!(
                    f,
                    "`{stream}` has {width} to use{place}, too little for transfers of {transfer}"
                )
            }
            BindError::OutsideTarget {
                target,
                stream,
                end,
                bytes,
                ..
            } => {
                let (end, bytes) = (Bytes(*end), Bytes(*bytes));
                write!(
                    f,
                    "`{stream}` reaches up to {end} on `{target}`, which has {bytes}"
                )
            }
            BindError::Misaligned {
                target,
                stream,
                what,
                bytes,
                alignment,
                ..
            } => write!(
                f,
                "`{stream}` {what} {} directly on `{target}`, whose addresses must be multiples of {alignment} B",
                Bytes(*bytes)
            ),
            BindError::TooManyHotSets { target, counts, .. } => counts.fmt_on(target, f),
            BindError::NotOurs { .. } => not_ours(self, f),
        }
    }
}

impl std::error::Error for BindError {}

impl HotSetCounts {
    fn fmt_on(self, target: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hot_sets, sets } = self;
        write!(
            f,
            "{hot_sets} hot sets of {sets} sets of duplicates on `{target}` and what shares them"
        )
    }
}

impl FoundKind {
    fn unusable_text(self) -> &'static str {
        if self == FoundKind::Directory {
            "a directory"
        } else {
            "neither file nor block device"
        }
    }
}

impl Facts {
    /// Facts for targets that do not exist in the real world, and for tests.
    pub fn of_unreal(plan: &Plan) -> Self {
        let fact = |target: &Target| TargetFacts {
            found: FoundKind::File,
            bytes: match target.size {
                SizeRule::Bytes(bytes) => bytes,
                _ => 0,
            },
            alignment: Alignment {
                offset: 1,
                memory: 1,
            },
            ram_backed: false,
        };
        Self {
            same: Vec::new(),
            targets: plan.targets.iter().map(fact).collect(),
        }
    }
}

impl BoundRun {
    /// Slots of all pools together.
    pub fn slots(&self) -> u32 {
        self.run.pools.iter().map(|pool| pool.slots).sum()
    }
}
