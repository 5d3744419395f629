//! Runs of a raw job to a neutral plan. Each run definition becomes a template; what its loops
//! change becomes overrides, so that long lists of runs stay small.
//!
//! Labels of runs, for reports: `rd` (name of the definition), `loops`, `rate` (left out for the
//! points of a curve, whose rate is known only when they run), `elapsed`, and for the flat file, as
//! it prints them: `flat.xfersize`, `flat.threads`, `flat.rdpct`, `flat.rhpct`, `flat.whpct`,
//! `flat.seekpct`, `flat.lunsize`, `flat.compratio`, `flat.reqrate` (left out for points).
//! Labels of streams: `sd`, `wd`, and `group` where there are several of them (see
//! [`super::groups`]). Labels of the reporting: `host`, each followed by
//! how it is reached where it is another (`reach`), and by its `group`s.
use super::content;
use super::expand::{RawRate, RawRun};
use super::groups::Groups;
use super::labels::{run_labels, swept};
use super::lanes::{Lane, lanes, parts, sliced, slots_each};
use super::model::{
    FormatStorage, General, LoopKind, LoopValue, RunDefinition, Seek, Storage, StorageChoice,
    Workload,
};
use super::steering;
use plan::{
    AddressOrder, AlignRule, Bound, Coupling, DataLimit, DataSpec, DuplicatePoolId, Duplicates,
    FirstBlock, FirstInterval, Following, Generator, HitArea, Ledger, Load, LocalStop, Nanos,
    OpSource, OperationMix, Origin, Override, Pacing, PatternAnchor, PatternId, PatternMarks,
    PerDirection, Plan, Pool, PoolAdmission, PoolId, Preparation, RandomLaw, Region, RunId,
    RunKind, RunSpec, RunStop, RunTemplate, Search, SearchId, SequentialEnd, SequentialStart,
    SizeRule, StartAlign, StopSearch, Stream, Target, TargetId, TargetKind, TargetOrder,
    TemplateId, Timing, TransferSizes, Window, WritePattern,
};
use std::collections::HashMap;

/// A raw job with everything resolved.
pub(crate) struct Job<'a> {
    pub general: &'a General,
    pub groups: Groups<'a>,
    pub storages: &'a [Storage],
    pub definitions: &'a [RunDefinition],
    pub runs: &'a [RawRun],
    pub seed: u64,
}

/// The name of the run that makes or extends files.
pub(crate) const PREPARATION: &str = "SD_format";
/// Operations in flight per storage definition while files are made.
pub(crate) const PREPARATION_SLOTS: u32 = 2;

/// What stands for the storage definition where several are concatenated; none may have this name.
const CONCATENATION: &str = "concat";

const SECTOR: u64 = 512;

/// The plan of a raw job.
pub(crate) fn lower(job: &Job<'_>) -> Plan {
    let largest = largest_transfers(job);
    let (mut duplicate_pools, pool_of) = content::pools(job.storages, job.definitions);
    let patterns = patterns(job, &largest);
    let (targets, target_of) = targets(job);
    // What several hosts reach has one content on all of them.
    let mut further: Vec<_> = target_of.iter().map(|((at, _), id)| (*id, *at)).collect();
    further.retain(|(id, at)| id.index() != *at);
    further.sort_unstable();
    for (id, at) in further {
        let pool = pool_of[at].map(|pool| &mut duplicate_pools[pool]);
        pool.into_iter()
            .for_each(|pool: &mut plan::DuplicatePool| pool.targets.push(id));
    }
    let mut lowering = Lowering {
        job,
        largest,
        target_of,
        plan: Plan {
            targets,
            hosts: job.groups.plan_hosts(),
            seed: job.seed,
            reporting: plan::Reporting {
                labels: [job.groups.reporting(), job.general.details.clone()].concat(),
                handover: job.general.lists_addresses,
                operations: job.general.lists_addresses,
                address_lists: job.general.lists_addresses,
                counted_apart_max: None,
            },
            duplicate_pools,
            patterns,
            steering: job.general.steering.clone(),
            ..Plan::default()
        },
        pool_of,
        templates: HashMap::new(),
        contents: HashMap::new(),
        searches: HashMap::new(),
    };
    lowering.preparation();
    let mut runs_of = vec![Vec::new(); job.definitions.len()];
    for run in job.runs {
        runs_of[run.definition].push(RunId::at(lowering.plan.runs.len()));
        lowering.run(run);
    }
    let definitions = job.definitions.iter().zip(runs_of);
    lowering.plan.steering.around = definitions
        .filter_map(|(definition, runs)| steering::around(definition, runs))
        .collect();
    lowering.plan
}

impl Job<'_> {
    /// The storage of a workload in a run, in order.
    pub(crate) fn storages_of<'w>(
        &'w self,
        definition: &'w RunDefinition,
        choice: usize,
        workload: &'w Workload,
    ) -> &'w [usize] {
        match &definition.storage {
            StorageChoice::OfWorkloads => workload.storages.as_deref().unwrap_or(&[]),
            StorageChoice::These(list) => list,
            StorageChoice::Repeated(lists) => lists.get(choice).map_or(&[], |(_, list)| list),
        }
    }

    /// Every storage definition that a run uses, once, in order of use.
    pub(crate) fn storages_of_run(&self, definition: &RunDefinition, choice: usize) -> Vec<usize> {
        let mut out = Vec::new();
        let mut seen = vec![false; self.storages.len()];
        for workload in &definition.workloads {
            for index in self.storages_of(definition, choice, workload) {
                if !std::mem::replace(&mut seen[*index], true) {
                    out.push(*index);
                }
            }
        }
        out
    }
}

/// The largest transfer per storage definition over all runs; ends of ranges are multiples of it.
fn largest_transfers(job: &Job<'_>) -> Vec<u64> {
    let mut largest = vec![0; job.storages.len()];
    let mut seen = std::collections::HashSet::new();
    for run in job.runs {
        if !seen.insert((run.definition, run.choice)) {
            continue;
        }
        let definition = &job.definitions[run.definition];
        let swept = definition
            .loops
            .iter()
            .find(|found| found.kind == LoopKind::TransferSize)
            .map(|found| {
                let numbers = found.values.iter().map(|value| match value {
                    LoopValue::Number(number) => *number as u64,
                    _ => 0,
                });
                numbers.max().unwrap_or(0)
            });
        for workload in &definition.workloads {
            let bytes = swept.unwrap_or_else(|| workload.transfer.largest());
            for index in job.storages_of(definition, run.choice, workload) {
                largest[*index] = largest[*index].max(bytes);
            }
        }
    }
    largest
}

/// The pattern of the job. Its buffer has room for the largest transfer.
fn patterns(job: &Job<'_>, largest: &[u64]) -> Vec<WritePattern> {
    let largest = largest.iter().copied().max().unwrap_or(0);
    let pattern = job.general.pattern.iter();
    let pattern = pattern.map(|pattern| WritePattern {
        bytes: pattern.bytes.clone(),
        addresses: Vec::new(),
        restart_bytes: 0,
        anchor: PatternAnchor::Address {
            period_bytes: pattern.buffer_bytes.max(largest.next_multiple_of(1 << 20)),
        },
        marks: PatternMarks::EachBlock,
    });
    pattern.collect()
}

/// A target for each storage definition, at its place; then one more for each further host that uses it.
fn targets(job: &Job<'_>) -> (Vec<Target>, HashMap<(usize, usize), TargetId>) {
    let places: Vec<Vec<usize>> = job
        .storages
        .iter()
        .map(|storage| job.groups.places_of(storage))
        .collect();
    let firsts = places.iter().enumerate().map(|(at, of)| (at, of[0]));
    let others = places.iter().enumerate();
    let others = others.flat_map(|(at, of)| of[1..].iter().map(move |place| (at, *place)));
    let (mut targets, mut ids) = (Vec::new(), HashMap::new());
    for (at, place) in firsts.chain(others) {
        ids.insert((at, place), TargetId::at(targets.len()));
        let mut target = target(job, &job.storages[at], place, places[at].len() > 1);
        target.shared_from = (places[at][0] != place).then(|| TargetId::at(at));
        targets.push(target);
    }
    (targets, ids)
}

fn target(job: &Job<'_>, storage: &Storage, place: usize, is_shared: bool) -> Target {
    let host = &job.groups.plan_host(place).name;
    let lun = job.groups.path_at(place, storage);
    Target {
        name: match is_shared {
            true => format!("{}@{host}", storage.name),
            false => storage.name.clone(),
        },
        host: host.clone(),
        shared_from: None,
        path: lun.text.clone().into(),
        kind: if storage.is_device() {
            TargetKind::Device
        } else {
            TargetKind::File
        },
        size: storage.bytes.map_or(SizeRule::AsFound, SizeRule::Bytes),
        size_from_bytes: 0,
        open: storage.open.unwrap_or_default(),
        preparation: preparation(storage, job.general.format_storage),
        ledger: Ledger::None,
        origin: Origin::Written(lun.span),
    }
}

fn preparation(storage: &Storage, rule: FormatStorage) -> Preparation {
    match rule {
        FormatStorage::Always => Preparation::Rewrite,
        FormatStorage::WhereNeeded if !storage.is_device() && storage.bytes.is_some() => {
            Preparation::MakeOrExtend
        }
        _ => Preparation::AsFound,
    }
}

/// Whether some run uses each storage definition.
pub(crate) fn used(job: &Job<'_>) -> Vec<bool> {
    let mut used = vec![false; job.storages.len()];
    let mut seen = std::collections::HashSet::new();
    for run in job.runs {
        if seen.insert((run.definition, run.choice)) {
            for index in job.storages_of_run(&job.definitions[run.definition], run.choice) {
                used[index] = true;
            }
        }
    }
    used
}

/// Whether a job may write storage before its first run, and which.
pub(crate) fn prepared(job: &Job<'_>) -> Vec<usize> {
    let used = used(job);
    (0..used.len())
        .filter(|index| used[*index])
        .filter(|index| {
            let rule = preparation(&job.storages[*index], job.general.format_storage);
            rule != Preparation::AsFound
        })
        .collect()
}

struct Lowering<'a> {
    job: &'a Job<'a>,
    largest: Vec<u64>,
    /// By storage definition and host of the plan.
    target_of: HashMap<(usize, usize), TargetId>,
    /// The pool of duplicates of each storage definition.
    pool_of: Vec<Option<usize>>,
    plan: Plan,
    /// By definition, repetition, the seek share where the order needs it, and the slots where they
    /// are dealt.
    templates: HashMap<(usize, usize, Option<u64>, Option<u32>), TemplateId>,
    contents: HashMap<TemplateKey, TemplateId>,
    searches: HashMap<usize, SearchId>,
}

/// What decides the content of a template.
#[derive(PartialEq, Eq, Hash)]
struct TemplateKey {
    /// Names with the storage that each uses.
    workloads: Vec<(String, Vec<usize>)>,
    seek: Option<u64>,
    slots: Option<u32>,
    sweeps_hits: bool,
    /// Open mode, coupling and law in text.
    manner: String,
}

impl Lowering<'_> {
    fn preparation(&mut self) {
        let prepared = prepared(self.job);
        if prepared.is_empty() {
            return;
        }
        let rewrites = self.job.general.format_storage == FormatStorage::Always;
        let mut template = RunTemplate {
            pools: Vec::new(),
            streams: Vec::new(),
            coupling: Coupling::Independent,
        };
        let groups = self.job.groups.one_each(self.job.storages, &prepared);
        let share_pct = 100.0 / groups.len() as f64;
        let mut transfers = Vec::with_capacity(groups.len());
        for (index, group) in groups {
            let storage = &self.job.storages[index];
            let transfer = preparation_transfer(storage, self.job.general);
            transfers.push(transfer);
            let start = if rewrites {
                SequentialStart::First
            } else {
                SequentialStart::PresentEnd {
                    rounded_to: 1 << 20,
                }
            };
            let lane = Lane::over(index, template.pools.len(), group);
            let generator = filling(storage, transfer, start);
            template
                .pools
                .push(Pool::new(storage.name.clone(), PREPARATION_SLOTS));
            let pool = PoolId::at(lane.pool);
            let workload = format!("{PREPARATION}_{}", storage.name);
            let stream = self.stream(&workload, &lane, pool, generator, share_pct);
            template.streams.push(stream);
        }
        self.plan.templates.push(template);
        let first = &self.job.definitions[self.job.runs[0].definition];
        self.plan.runs.push(RunSpec {
            name: PREPARATION.to_owned(),
            kind: RunKind::Prepare,
            template: TemplateId::at(0),
            overrides: Vec::new(),
            coupling: None,
            load: Load::FlatOut,
            law: plan::ArrivalLaw::Exponential,
            timing: Timing {
                start: StartAlign::WholeSecond,
                warmup: Nanos(0),
                window: Window::UntilDone { at_most: None },
                interval: Nanos::from_secs(first.times.interval_s),
                first_interval: FirstInterval::Dropped,
                pause_after: Nanos(0),
            },
            stop: RunStop {
                errors: self.job.general.errors,
                ..RunStop::default()
            },
            labels: super::labels::preparation_labels(&transfers, self.job),
            swept: Vec::new(),
            origin: Origin::Derived(
                "files that are missing or short are made before the first run".to_owned(),
            ),
        });
    }

    fn run(&mut self, run: &RawRun) {
        let definition = &self.job.definitions[run.definition];
        let template = self.template(run, definition);
        let until_end = self.ends_by_itself(run, definition);
        let load = self.load(run, definition);
        // Without a rate and without shares that are asked for, each does what it can.
        let is_flat_out = matches!(load, Load::FlatOut | Load::SearchBase { .. });
        let is_uncontrolled = is_flat_out && !super::expand::is_controlled(definition);
        let spec = RunSpec {
            name: run.name.clone(),
            kind: RunKind::Measure,
            template,
            overrides: overrides(run, definition, self.job.groups.are_several()),
            coupling: is_uncontrolled.then_some(Coupling::Independent),
            load,
            law: definition.law,
            timing: timing(definition, until_end),
            stop: self.stop(definition),
            labels: run_labels(self.job, run, definition),
            swept: swept(run),
            origin: Origin::Written(definition.fields.name.span),
        };
        self.plan.runs.push(spec);
    }

    /// Whether some stream stops at the end of its storage, which then ends the run.
    fn ends_by_itself(&self, run: &RawRun, definition: &RunDefinition) -> bool {
        match run
            .values
            .iter()
            .find(|(kind, _)| *kind == LoopKind::SeekPct)
        {
            Some((_, value)) => *value == LoopValue::Seek(Seek::UntilEnd),
            None => definition
                .workloads
                .iter()
                .any(|workload| workload.seek == Seek::UntilEnd),
        }
    }

    fn load(&mut self, run: &RawRun, definition: &RunDefinition) -> Load {
        match &run.rate {
            RawRate::Max => Load::FlatOut,
            RawRate::PerSecond(per_second) => Load::Rate {
                per_second: *per_second,
            },
            RawRate::PercentOfPrevious(pct) => Load::PercentOfPrevious { pct: *pct },
            RawRate::CurveBase(curve) => Load::SearchBase {
                search: self.search(*curve, definition),
            },
            RawRate::CurvePoint(curve, pct) => Load::SearchPoint {
                search: self.search(*curve, definition),
                pct: pct.trunc(),
            },
            RawRate::Steps(steps) => Load::Steps {
                steps: steps
                    .iter()
                    .map(|(rate, seconds)| (*rate, Nanos::from_secs_f64(*seconds)))
                    .collect(),
            },
        }
    }

    fn search(&mut self, curve: usize, definition: &RunDefinition) -> SearchId {
        let searches = &mut self.plan.searches;
        *self.searches.entry(curve).or_insert_with(|| {
            searches.push(Search {
                points_pct: definition.curve_pct.iter().map(|pct| pct.trunc()).collect(),
                stop: definition.stop_curve_ms.map(|ms| StopSearch {
                    service_above: Nanos::from_secs_f64(ms / 1e3),
                }),
            });
            SearchId::at(searches.len() - 1)
        })
    }

    fn stop(&self, definition: &RunDefinition) -> RunStop {
        let limits = definition.limits;
        RunStop {
            total_bytes: limits.total.map(data_limit),
            read_bytes: limits.read.map(data_limit),
            written_bytes: limits.written.map(data_limit),
            errors: self.job.general.errors,
        }
    }

    fn template(&mut self, run: &RawRun, definition: &RunDefinition) -> TemplateId {
        let seek = swept_seek(run);
        let is_spread = self.job.groups.are_several();
        let seek = seek.filter(|_| is_spread || needs_own_template(definition));
        let slots = swept_threads(run).filter(|_| is_spread);
        let seek_key = match seek {
            Some(Seek::Percent(pct)) => Some(pct.to_bits()),
            Some(_) => Some(u64::MAX),
            None => None,
        };
        let key = (run.definition, run.choice, seek_key, slots);
        if let Some(id) = self.templates.get(&key) {
            return *id;
        }
        // Definitions that differ in rate and times only share one.
        let content = self.template_key(run, definition, seek_key, slots);
        let id = match self.contents.get(&content) {
            Some(id) => *id,
            None => {
                let template = self.new_template(run, definition, seek);
                self.plan.templates.push(template);
                let id = TemplateId::at(self.plan.templates.len() - 1);
                self.contents.insert(content, id);
                id
            }
        };
        self.templates.insert(key, id);
        id
    }

    fn template_key(
        &self,
        run: &RawRun,
        definition: &RunDefinition,
        seek: Option<u64>,
        slots: Option<u32>,
    ) -> TemplateKey {
        let workloads = &definition.workloads;
        let storages = |workload| {
            self.job
                .storages_of(definition, run.choice, workload)
                .to_vec()
        };
        // One pool for the whole run is named after it.
        let is_shared = self.job.general.concatenates && swept_threads(run).is_some();
        let pools_key = if is_shared { &*definition.name } else { "" };
        let has_rates = workloads.iter().any(|workload| workload.rate.is_some());
        TemplateKey {
            workloads: workloads
                .iter()
                .map(|workload| (workload.name.clone(), storages(workload)))
                .collect(),
            seek,
            slots,
            sweeps_hits: sweeps_hits(definition),
            manner: format!(
                "{:?} {:?} {:?} {}",
                definition.open,
                self.coupling(definition),
                has_rates.then_some(definition.law),
                pools_key
            ),
        }
    }

    fn new_template(
        &self,
        run: &RawRun,
        definition: &RunDefinition,
        seek: Option<Seek>,
    ) -> RunTemplate {
        let workloads = &definition.workloads;
        let (mut pools, lanes) = lanes(self.job, run, definition);
        if workloads.iter().any(|found| found.priority.is_some()) {
            pools
                .iter_mut()
                .for_each(|pool| pool.admission = PoolAdmission::Priority);
        }
        let shares = shares(workloads);
        let parts = parts(&lanes);
        let stream = |(lane, count): (&Lane, f64)| {
            let workload = &workloads[lane.workload];
            let generator = self.generator(definition, workload, lane, seek);
            let share_pct = shares[lane.workload] / count;
            let pool = PoolId::at(lane.pool);
            let mut stream = self.stream(&workload.name, lane, pool, generator, share_pct);
            stream.open = definition.open.or(workload.open);
            stream.priority = workload.priority;
            if let Some(rate) = workload.rate {
                stream.pacing = Pacing::TotalRate {
                    per_second: rate / count,
                    law: definition.law,
                };
            }
            stream
        };
        let streams = lanes.iter().zip(parts).map(stream).collect();
        RunTemplate {
            pools,
            streams,
            coupling: self.coupling(definition),
        }
    }

    fn coupling(&self, definition: &RunDefinition) -> Coupling {
        let workloads = &definition.workloads;
        if workloads.iter().any(|workload| workload.priority.is_some()) {
            return Coupling::Priority;
        }
        Coupling::Proportional
    }

    fn stream(
        &self,
        workload: &str,
        lane: &Lane,
        pool: PoolId,
        generator: Generator,
        share_pct: f64,
    ) -> Stream {
        let (name, target_order) = if lane.is_concatenated {
            (CONCATENATION, TargetOrder::EndToEnd)
        } else {
            let name = &*self.job.storages[lane.storages[0]].name;
            (name, TargetOrder::RoundRobin)
        };
        let mut labels = vec![
            plan::Label::new("sd", name),
            plan::Label::new("wd", workload),
        ];
        labels.extend(self.job.groups.stream_label(lane.group));
        let place = self.job.groups.place_of(lane.group);
        let target = |storage: &usize| self.target_of[&(*storage, place)];
        Stream {
            name: sliced(&format!("{workload}.{name}"), lane.slice),
            targets: lane.storages.iter().map(target).collect(),
            target_order,
            pool,
            source: OpSource::Generator(generator),
            pacing: Pacing::FromRun,
            flow: plan::Flow::default(),
            share_pct,
            priority: None,
            data: DataSpec {
                compression_ratio: self.job.general.compression_ratio,
                duplicates: self.pool_of[lane.storages[0]]
                    .map(|pool| Duplicates::ByAddress(DuplicatePoolId::at(pool))),
                pattern: (!self.plan.patterns.is_empty()).then_some(PatternId(0)),
                seed: self.job.general.compression_seed,
                ..DataSpec::default()
            },
            open: None,
            stop: LocalStop::default(),
            start_delay: Nanos(0),
            seed: None,
            lifetime: None,
            labels,
        }
    }

    fn generator(
        &self,
        definition: &RunDefinition,
        workload: &Workload,
        lane: &Lane,
        swept: Option<Seek>,
    ) -> Generator {
        // What belongs to one storage definition excludes concatenation.
        let storage = &self.job.storages[lane.storages[0]];
        let largest = lane.storages.iter().map(|index| self.largest[*index]).max();
        let seek = swept.unwrap_or(workload.seek);
        let range = workload.hot_band.or(workload.range).or(storage.range);
        let mut region = region(range, largest.unwrap_or(0), storage.offset_bytes);
        region.slice = lane.slice;
        if seek == Seek::UntilEnd {
            // A stream that stops at the end has none to wrap around.
            if let Bound::Percent(pct) = &mut region.high {
                *pct = pct.min(100.0);
            }
        }
        let uses_hits = workload.read_hit_pct > 0.0 || workload.write_hit_pct > 0.0;
        Generator {
            operations: OperationMix::reads(workload.read_pct),
            transfer: PerDirection::all(workload.transfer.clone()),
            order: order(workload, seek),
            region,
            align: storage
                .align_bytes
                .map_or(AlignRule::Transfer, AlignRule::Bytes),
            sequences: plan::Sequences::Shared,
            redraws_sizes: false,
            hits: (uses_hits || sweeps_hits(definition)).then_some(HitArea {
                bytes: storage.hit_area_bytes,
                read_hit_pct: workload.read_hit_pct,
                write_hit_pct: workload.write_hit_pct,
            }),
        }
    }
}

/// Whether runs of a definition change the hit area.
fn sweeps_hits(definition: &RunDefinition) -> bool {
    definition.loops.iter().any(|found| {
        matches!(
            found.kind,
            LoopKind::HitArea | LoopKind::ReadHitPct | LoopKind::WriteHitPct
        )
    })
}

/// Up to 100 it is a multiple of the storage, a percentage is a share of it; above, it is bytes.
fn data_limit(limit: f64) -> DataLimit {
    match limit {
        percent if percent < 0.0 => DataLimit::TimesTargets(-percent / 100.0),
        times if times <= super::blockers::MULTIPLES_MAX => DataLimit::TimesTargets(times),
        bytes => DataLimit::Bytes(bytes as u64),
    }
}

/// Writes a storage definition from a start to its end.
fn filling(storage: &Storage, transfer: u64, start: SequentialStart) -> Generator {
    Generator {
        operations: OperationMix::reads(0.0),
        transfer: PerDirection::all(TransferSizes::Fixed(transfer)),
        order: AddressOrder::Sequential {
            start,
            end: SequentialEnd::Stop,
        },
        region: Region::whole(
            preparation_granule(storage, transfer),
            FirstBlock::SparedOnDevices,
        ),
        align: AlignRule::Transfer,
        sequences: plan::Sequences::Shared,
        redraws_sizes: false,
        hits: None,
    }
}

/// 128 KiB, or one sector where the file is no multiple of that; a given size wins.
fn preparation_transfer(storage: &Storage, general: &General) -> u64 {
    let usual = bytes!(GENERAL, "formatxfersize").default;
    let asked = general.format_transfer_bytes.unwrap_or(usual);
    match storage.bytes {
        Some(bytes) if bytes < asked => SECTOR,
        Some(bytes) if general.format_transfer_bytes.is_none() && !bytes.is_multiple_of(usual) => {
            SECTOR
        }
        _ => asked,
    }
}

/// A file is written to its last sector; of a device, the first transfer stays spared.
fn preparation_granule(storage: &Storage, transfer: u64) -> u64 {
    if storage.is_device() {
        transfer
    } else {
        SECTOR
    }
}

/// The share of each workload; those without one share the rest.
fn shares(workloads: &[Workload]) -> Vec<f64> {
    let given: f64 = workloads
        .iter()
        .filter_map(|workload| workload.skew_pct)
        .sum();
    let without = workloads
        .iter()
        .filter(|workload| workload.skew_pct.is_none() && workload.rate.is_none())
        .count();
    let rest = (100.0 - given).max(0.0) / without.max(1) as f64;
    workloads
        .iter()
        .map(|workload| match (workload.skew_pct, workload.rate) {
            (Some(pct), _) => pct,
            (None, Some(_)) => 0.0,
            (None, None) => rest,
        })
        .collect()
}

fn order(workload: &Workload, seek: Seek) -> AddressOrder {
    let law = if workload.hot_band.is_some() {
        RandomLaw::HotBand
    } else {
        RandomLaw::Uniform
    };
    if let (Some((min, max)), Seek::Percent(random_pct)) = (workload.stride, seek)
        && random_pct > 0.0
    {
        return AddressOrder::Stride {
            min,
            max,
            random_pct,
        };
    }
    plain_order(seek, law)
}

fn plain_order(seek: Seek, law: RandomLaw) -> AddressOrder {
    let sequential = |start, end| AddressOrder::Sequential { start, end };
    match seek {
        Seek::Percent(pct) if pct >= 100.0 => AddressOrder::Random(law),
        Seek::Percent(pct) if pct <= 0.0 => sequential(SequentialStart::First, SequentialEnd::Wrap),
        Seek::Percent(pct) => AddressOrder::Mixed {
            random_pct: PerDirection::all(pct),
            law,
            following: Following::default(),
        },
        Seek::SequentialFromRandom => sequential(SequentialStart::RandomBlock, SequentialEnd::Wrap),
        Seek::UntilEnd => sequential(SequentialStart::First, SequentialEnd::Stop),
        Seek::Poisson(midpoint) => AddressOrder::Random(RandomLaw::Poisson { midpoint }),
    }
}

fn region(range: Option<(f64, f64)>, granule_bytes: u64, offset_bytes: u64) -> Region {
    let whole = decimals!(STORAGE, "range").default;
    let (low, high) = range.unwrap_or((whole[0], whole[1]));
    // Up to 100 the lower end is a percentage, up to 200 the upper one; above, both are bytes.
    let bound = |value: f64, percent_max: f64| {
        if value <= percent_max {
            Bound::Percent(value)
        } else {
            Bound::Bytes(value as u64)
        }
    };
    Region {
        low: bound(low, 100.0),
        high: bound(high, 200.0),
        granule_bytes,
        offset_bytes,
        first_block: FirstBlock::SparedOnDevices,
        trim: None,
        slice: None,
    }
}

pub(crate) fn swept_seek(run: &RawRun) -> Option<Seek> {
    run.values.iter().find_map(|(_, value)| match value {
        LoopValue::Seek(seek) => Some(*seek),
        _ => None,
    })
}

/// The threads of each storage that a loop of the run sets.
pub(crate) fn swept_threads(run: &RawRun) -> Option<u32> {
    run.values.iter().find_map(|(kind, value)| match value {
        LoopValue::Number(threads) if *kind == LoopKind::Threads => Some((*threads as u32).max(1)),
        _ => None,
    })
}

/// Whether a seek share means something else for each of the workloads, so that one override for
/// all of them cannot say it.
fn needs_own_template(definition: &RunDefinition) -> bool {
    definition
        .workloads
        .iter()
        .any(|workload| workload.stride.is_some() || workload.hot_band.is_some())
}

/// Where work is spread over groups, slots and order decide how, and stand in the template.
fn overrides(run: &RawRun, definition: &RunDefinition, is_spread: bool) -> Vec<Override> {
    let is_in_template = is_spread || needs_own_template(definition);
    let number = |value: &LoopValue| match value {
        LoopValue::Number(number) | LoopValue::Ratio(number, _) => *number,
        _ => 0.0,
    };
    run.values
        .iter()
        .filter_map(|(kind, value)| {
            Some(match kind {
                LoopKind::TransferSize => Override::TransferBytes(number(value) as u64),
                LoopKind::Threads if is_spread => return None,
                LoopKind::Threads => Override::Slots(slots_each(definition, number(value) as u32)),
                LoopKind::ReadPct => Override::ReadPct(number(value)),
                LoopKind::ReadHitPct => Override::ReadHitPct(number(value)),
                LoopKind::WriteHitPct => Override::WriteHitPct(number(value)),
                LoopKind::HitArea => Override::HitAreaBytes(number(value) as u64),
                LoopKind::CompressionRatio => Override::CompressionRatio(number(value)),
                LoopKind::SeekPct if !is_in_template => match value {
                    LoopValue::Seek(seek) => {
                        Override::Order(plain_order(*seek, RandomLaw::Uniform))
                    }
                    _ => return None,
                },
                _ => return None,
            })
        })
        .collect()
}

fn timing(definition: &RunDefinition, until_end: bool) -> Timing {
    let times = definition.times;
    let elapsed = Nanos::from_secs(times.elapsed_s);
    Timing {
        start: StartAlign::WholeSecond,
        warmup: Nanos::from_secs(times.warmup_s),
        window: if until_end {
            Window::UntilDone {
                at_most: Some(elapsed),
            }
        } else {
            Window::For(elapsed)
        },
        interval: Nanos::from_secs(times.interval_s),
        first_interval: if times.warmup_s == 0 {
            FirstInterval::Dropped
        } else {
            FirstInterval::Counted
        },
        pause_after: Nanos::from_secs(times.pause_s),
    }
}
