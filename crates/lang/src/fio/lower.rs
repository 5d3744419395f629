//! Jobs to a neutral plan: jobs that run side by side become one run, each clone a stream with a
//! pool of its own.
//!
//! Labels of streams, for reports: `job` (name of the job), `clone` (from 1), `group` (number of
//! the group for reports, from 0), `group_reporting` (`1` where it is asked), `log_windows` (`operations` where
//! windows of logs are shorter than intervals can be), `option.NAME` for each
//! option of the job's own section, with its value as given, `files` (how many there are, where they are counted
//! together). Labels of the plan: `face` (`fio`), `global.NAME` for
//! each global option, as given.
use super::commands;
use super::explain::JobPlace;
use super::files::is_device;
use super::flow;
use super::jobs::Given;
use super::layout::{self, Layout};
use super::places::{Seeks, directions, seeks};
use super::record::Record;
use super::regions;
use super::report::{self, LogOptions};
use super::requests;
use super::resolve::{Amount, FileSize, Spec};
use super::timing::{self, Ends, Group};
use super::verify;
use crate::Environment;
use plan::{
    AddressOrder, ArrivalLaw, Coupling, DataSpec, ErrorBudget, Fills, FirstInterval, Flow,
    Generator, IoMethod, Label, Ledger, Lifetime, Load, LocalStop, Nanos, OpSource, Origin, Pacing,
    PatternAnchor, PatternId, PatternMarks, Plan, PlanValue, Pool, PoolId, Preparation, RandomLaw,
    Region, RunKind, RunSpec, RunStop, RunTemplate, Sequences, SequentialEnd, SequentialStart,
    SizeRule, StartAlign, Stream, Target, TargetId, TargetKind, TemplateId, Timing, TransferSizes,
    WarmupBytes, WritePattern,
};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// Files of a clone that are counted apart, at most: reports tell of jobs, and the counts of a file take some 20 KiB.
const COUNTED_APART_MAX: u32 = 256;

/// Numbers of draws of runs that jobs do not name: what a job draws does not depend on whether they are there.
const DRAWS_ASIDE: u32 = 1 << 30;

/// The plan of all jobs.
pub(crate) fn lower(
    specs: &[Spec<'_>],
    groups: &[Group],
    globals: &[Given],
    environment: &Environment<'_>,
) -> (Plan, Vec<JobPlace>) {
    let seeds = repeated_seeds(specs, environment);
    let common = common_seed(&seeds);
    let mut lowering = Lowering {
        specs,
        seeds: &seeds,
        common,
        default_seed: environment.seed,
        fresh_seed: environment.fresh_seed,
        plan: Plan::default(),
        targets: Known::default(),
        layouts: Vec::new(),
        names: HashSet::new(),
    };
    let mut runs: Vec<RunSpec> = Vec::new();
    let mut draws: Vec<u32> = Vec::new();
    let mut streams = vec![None; specs.len()];
    for (number, group) in (0..).zip(groups) {
        let run = lowering.run(group);
        let places = places_of_members(group, specs);
        for ((index, _), places) in group.members.iter().zip(places) {
            streams[*index] = Some((run.template, places.start as usize));
        }
        runs.push(run);
        runs.extend(lowering.check(&runs[runs.len() - 1]));
        draws.push(number);
        draws.resize(runs.len(), DRAWS_ASIDE + number);
    }
    let layout = lowering.layout();
    let mut plan = lowering.plan;
    plan.draw_numbers = layout.iter().map(|_| DRAWS_ASIDE).chain(draws).collect();
    plan.seed = common.unwrap_or(environment.seed);
    plan.method = specs.iter().filter_map(|spec| spec.method).find(|method| {
        !matches!(
            method,
            IoMethod::Nothing | IoMethod::Mapping | IoMethod::Names(_) | IoMethod::Space(_)
        )
    });
    plan.steering.around = commands::around(groups, specs, usize::from(layout.is_some()));
    plan.runs = layout.into_iter().chain(runs).collect();
    plan.reporting.counted_apart_max = Some(COUNTED_APART_MAX);
    plan.labels = vec![Label::new("face", "fio")];
    let global = globals
        .iter()
        .map(|given| option_label(report::GLOBAL, given));
    plan.labels.extend(global);
    plan.fills = Fills::AsWritten;
    // Reports show submission and completion apart, whoever reads them and when.
    plan.reporting.handover = true;
    plan.reporting.operations = logs_operations(&plan);
    let mut places = Vec::new();
    for ((spec, stream), seed) in specs.iter().zip(streams).zip(&seeds) {
        let from = plan.values.len();
        plan.values.extend(values(spec));
        places.push(JobPlace {
            subject: subject(spec),
            engine: spec.job.engine().map_or("", |engine| engine.name),
            values: from..plan.values.len(),
            stream,
            clones: spec.clones,
            repeats: seed.is_some(),
        });
    }
    (plan, places)
}

/// Whether some job logs single operations.
fn logs_operations(plan: &Plan) -> bool {
    let mut streams = plan.templates.iter().flat_map(|template| &template.streams);
    streams.any(|stream| LogOptions::of(&stream.labels, &plan.labels).wants_operations())
}

/// Of each job.
fn repeated_seeds(specs: &[Spec<'_>], environment: &Environment<'_>) -> Vec<Option<u64>> {
    let seed = |spec: &Spec<'_>| repeated_seed(spec.job, environment);
    specs.iter().map(seed).collect()
}

/// The seed of a job that has the same draws in each execution.
fn repeated_seed(job: &super::jobs::Job, environment: &Environment<'_>) -> Option<u64> {
    if let Some(seed) = job.number("randseed") {
        return Some(seed as u64);
    }
    if job.is_on(on!("allrandrepeat")) {
        return Some(environment.seed);
    }
    let repeat = on!("randrepeat");
    let is_unsaid = job.given(repeat.name).is_none();
    let is_anew = is_unsaid && environment.command_line.draws_anew;
    (job.is_on(repeat) && !is_anew).then_some(environment.seed)
}

/// The seed that all jobs repeat, which then is that of the execution.
fn common_seed(seeds: &[Option<u64>]) -> Option<u64> {
    let first = *seeds.first()?;
    first.filter(|_| seeds.iter().all(|seed| *seed == first))
}

/// The names of the jobs of a group.
pub(crate) fn group_name(group: &Group, specs: &[Spec<'_>]) -> String {
    let names: Vec<&str> = group
        .members
        .iter()
        .map(|(index, _)| specs[*index].job.name())
        .collect();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        [one, two] => format!("{one}, {two}"),
        [one, .., last] => format!("{one} … {last}"),
        [] => String::new(),
    }
}

struct Lowering<'s, 'j> {
    specs: &'s [Spec<'j>],
    /// By job; `None` where its draws are those of the execution.
    seeds: &'s [Option<u64>],
    /// The seed of the execution, where it is that of all jobs.
    common: Option<u64>,
    default_seed: u64,
    fresh_seed: u64,
    plan: Plan,
    targets: Known,
    layouts: Vec<Layout>,
    /// Of streams, so that each is there once.
    names: HashSet<String>,
}

impl Lowering<'_, '_> {
    fn run(&mut self, group: &Group) -> RunSpec {
        let mut template = RunTemplate {
            pools: Vec::new(),
            streams: Vec::new(),
            coupling: Coupling::Independent,
        };
        for (index, report_group) in &group.members {
            let spec = &self.specs[*index];
            for clone in 0..spec.clones {
                let name = self.stream_name(spec, clone);
                template.pools.push(Pool {
                    method: spec.method,
                    requests: requests::mode(spec.job),
                    priorities: spec.priorities.clone(),
                    has_one_submitter: true,
                    ..Pool::new(&name, spec.depth)
                });
                let pool = PoolId::at(template.pools.len() - 1);
                let mut stream = self.stream(spec, clone, *report_group, name, pool);
                stream.seed = self.seeds[*index].filter(|_| self.common.is_none());
                template.streams.push(stream);
            }
        }
        give_lifetimes(group, self.specs, &mut template.streams);
        give_ends_of_failures(group, self.specs, &mut template.streams);
        if group.has_short_windows {
            let label = || Label::new(report::WINDOWS_LABEL.0, report::WINDOWS_LABEL.1);
            let streams = template.streams.iter_mut();
            streams.for_each(|stream| stream.labels.push(label()));
        }
        let share_pct = 100.0 / template.streams.len().max(1) as f64;
        template
            .streams
            .iter_mut()
            .for_each(|stream| stream.share_pct = share_pct);
        self.plan.templates.push(template);
        let first = &self.specs[group.members[0].0];
        RunSpec {
            name: group_name(group, self.specs),
            kind: RunKind::Measure,
            template: TemplateId::at(self.plan.templates.len() - 1),
            overrides: Vec::new(),
            coupling: None,
            load: Load::PerStream,
            law: ArrivalLaw::Deterministic,
            timing: Timing {
                start: StartAlign::AtOnce,
                warmup: group.warmup,
                window: group.window,
                interval: group.interval,
                first_interval: FirstInterval::Counted,
                pause_after: Nanos(0),
            },
            stop: RunStop {
                // Each stream ends by its own tolerance.
                errors: ErrorBudget::Unlimited,
                ..RunStop::default()
            },
            labels: Vec::new(),
            swept: Vec::new(),
            origin: Origin::Written(first.job.section.span),
        }
    }

    /// The run that reads back what a run has written, where its jobs ask for it.
    fn check(&mut self, run: &RunSpec) -> Option<RunSpec> {
        let written = &self.plan.templates[run.template.index()];
        let template = verify::reading_back(written)?;
        self.plan.templates.push(template);
        let template = TemplateId::at(self.plan.templates.len() - 1);
        Some(verify::check_run(run, template))
    }

    fn stream_name(&mut self, spec: &Spec<'_>, clone: u32) -> String {
        let job = spec.job.name();
        let plain = match spec.clones {
            1 => job.to_owned(),
            _ => format!("{job}.{}", clone + 1),
        };
        let mut name = plain.clone();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{plain}#{number}");
            number += 1;
        }
        name
    }

    fn stream(
        &mut self,
        spec: &Spec<'_>,
        clone: u32,
        report_group: u32,
        name: String,
        pool: PoolId,
    ) -> Stream {
        let region = regions::region(spec, clone);
        let (targets, source) = match spec.records.get(clone as usize % spec.records.len().max(1)) {
            Some(record) => self.replay(spec, clone, record),
            None => {
                let alike = self.alike(spec, clone);
                let paths = spec.naming.paths(clone);
                self.plan.targets.reserve(paths.len());
                self.targets.places.reserve(paths.len());
                let paths = paths.into_iter();
                let targets = paths.map(|path| self.target(spec, &alike, path)).collect();
                (targets, generator(spec, clone, region))
            }
        };
        Stream {
            targets,
            target_order: spec.file_order,
            pool,
            source,
            pacing: pacing(spec),
            flow: clone_flow(spec, clone, report_group),
            share_pct: 0.0,
            priority: None,
            data: self.data(spec),
            open: Some(spec.open),
            stop: stop(spec, clone),
            start_delay: self.start_delay(spec, &name),
            seed: None,
            lifetime: None,
            labels: labels(spec, clone, report_group),
            name,
        }
    }

    /// Of what is drawn while the plan is made: the same in each execution, unless the job says that it draws anew.
    fn content_seed(&self, spec: &Spec<'_>) -> u64 {
        let job = spec.job;
        let is_anew = !job.is_on(on!("randrepeat")) && !job.is_on(on!("allrandrepeat"));
        match job.number("randseed") {
            Some(seed) => seed as u64,
            None if is_anew => self.fresh_seed,
            None => self.default_seed,
        }
    }

    /// Between the two ends of a range, by seed and name.
    fn start_delay(&self, spec: &Spec<'_>, name: &str) -> Nanos {
        let (low, high) = spec.times.delay;
        if low == high {
            return Nanos(low);
        }
        let mut mixed = self.content_seed(spec);
        for byte in name.bytes() {
            mixed = (mixed ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^= mixed >> 29;
        }
        Nanos(low + mixed % (high - low + 1))
    }

    /// What is written, with its pattern among those of the plan.
    fn data(&mut self, spec: &Spec<'_>) -> DataSpec {
        let mut data = spec.data;
        data.check = spec.verify.as_ref().map(|verify| verify.check);
        let of_check = spec
            .verify
            .as_ref()
            .and_then(|verify| verify.pattern.as_ref());
        if of_check.is_some() {
            // All that is written is the pattern, or it could not be checked.
            data.compression_ratio = 1.0;
        }
        if let Some(pattern) = of_check.or(spec.pattern.as_ref()) {
            let pattern = WritePattern {
                bytes: pattern.bytes.clone(),
                addresses: pattern.addresses.clone(),
                restart_bytes: pattern.restart_bytes,
                anchor: PatternAnchor::Transfer,
                marks: PatternMarks::None,
            };
            let patterns = &mut self.plan.patterns;
            let known = patterns.iter().position(|known| *known == pattern);
            let at = known.unwrap_or_else(|| {
                patterns.push(pattern);
                patterns.len() - 1
            });
            data.pattern = Some(PatternId::at(at));
            if let Some(check) = data.check.as_mut().filter(|_| of_check.is_some()) {
                check.pattern = data.pattern;
            }
        }
        data
    }

    /// The files that a record names are targets like any other.
    fn replay(
        &mut self,
        spec: &Spec<'_>,
        clone: u32,
        record: &Record,
    ) -> (Vec<TargetId>, OpSource) {
        let directory = spec.naming.directory(clone);
        let alike = self.alike(spec, clone);
        let targets = record.files.iter().zip(&record.replay.places);
        let targets = targets.map(|(file, place)| {
            let path = format!("{directory}{file}");
            let recorded = Spec {
                file_size: FileSize::Whole(place.end),
                lays_out: match spec.method {
                    Some(IoMethod::Mapping) => true,
                    Some(IoMethod::Nothing) => false,
                    _ => place.is_read,
                },
                ..spec.clone()
            };
            self.target(&recorded, &alike, path)
        });
        let targets = targets.collect();
        (targets, OpSource::Replay(record.replay.clone()))
    }

    /// How large a job needs its target.
    fn size_rule(&self, spec: &Spec<'_>, clone: u32, kind: TargetKind, path: &str) -> SizeRule {
        let bytes = match spec.file_size {
            FileSize::Drawn(low, high) => Some(regions::drawn_bytes(
                (low, high),
                spec.smallest,
                self.content_seed(spec),
                path,
            )),
            size => regions::file_bytes(size, regions::begin(spec, clone)),
        };
        match (kind, spec.file_size, bytes) {
            (TargetKind::Device, ..) => SizeRule::AsFound,
            (_, FileSize::Appended(bytes), _) => SizeRule::BeyondFound(bytes),
            (TargetKind::File, FileSize::UntilFull, _) => SizeRule::Unlimited,
            (_, _, Some(bytes)) => SizeRule::Bytes(bytes),
            (TargetKind::Nothing, ..) => SizeRule::Bytes(0),
            _ => SizeRule::AsFound,
        }
    }

    /// What the files of a clone have in common; there may be a million of them.
    fn alike(&mut self, spec: &Spec<'_>, clone: u32) -> Alike {
        Alike {
            clone,
            data: self.data(spec),
            is_made: spec.job.is_on(on!("allow_file_create")),
            is_removed: spec.job.is_on(on!("unlink")),
        }
    }

    fn target(&mut self, spec: &Spec<'_>, alike: &Alike, path: String) -> TargetId {
        let is_nothing = spec.method == Some(IoMethod::Nothing);
        let kind = match () {
            () if is_nothing => TargetKind::Nothing,
            () if is_device(&path) => TargetKind::Device,
            () => TargetKind::File,
        };
        let size = self.size_rule(spec, alike.clone, kind, &path);
        let id = self.targets.id(&self.plan.targets, &path, is_nothing);
        let size_from_bytes = regions::size_from_bytes(spec, alike.clone);
        if id.index() == self.plan.targets.len() {
            self.plan.targets.push(Target {
                name: path.clone(),
                host: "localhost".to_owned(),
                shared_from: None,
                path: path.into(),
                kind,
                size,
                size_from_bytes,
                open: spec.open,
                preparation: Preparation::AsFound,
                ledger: Ledger::None,
                origin: Origin::Written(spec.naming.place),
            });
        }
        let target = &mut self.plan.targets[id.index()];
        // Jobs that share a file: it is as long as the longest of them needs.
        let longest = match (target.size, size) {
            (SizeRule::Unlimited, _) | (_, SizeRule::AsFound) => target.size,
            (SizeRule::Bytes(known), SizeRule::Bytes(bytes)) => SizeRule::Bytes(known.max(bytes)),
            _ => size,
        };
        if longest != target.size {
            (target.size, target.size_from_bytes) = (longest, size_from_bytes);
        }
        if kind == TargetKind::File && !alike.is_made {
            target.preparation = Preparation::MustExist;
        }
        if kind == TargetKind::File && alike.is_removed {
            self.plan.steering.remove_made.push(id);
        }
        let is_known = target.preparation != Preparation::AsFound;
        let is_sized = matches!(size, SizeRule::Bytes(_) | SizeRule::BeyondFound(_));
        if spec.lays_out && kind == TargetKind::File && is_sized && !is_known {
            target.preparation = Preparation::MakeOrExtend;
            self.layouts.push(Layout {
                target: id,
                // What is laid out stands for data of others, which nobody has marked.
                data: DataSpec {
                    check: None,
                    ..alike.data
                },
                job: spec.job.name().to_owned(),
                owner: spec.flow.placement.owner,
            });
        }
        id
    }

    /// The run that makes or extends what jobs read, in front of all others.
    fn layout(&mut self) -> Option<RunSpec> {
        let template = layout::template(&self.layouts, &self.plan.targets)?;
        self.plan.templates.push(template);
        let template = TemplateId::at(self.plan.templates.len() - 1);
        Some(layout::run(template))
    }
}

/// Which paths are targets already. There may be a million of them, whose names stand in the plan and are not kept here
/// again.
#[derive(Default)]
struct Known {
    /// By hash; of paths whose hashes meet, the later ones stand at the next numbers that are free.
    places: HashMap<u64, TargetId>,
    hashes: RandomState,
}

impl Known {
    /// The target of a path among those that there are, or the next one. Paths that are only named are targets apart.
    fn id(&mut self, targets: &[Target], path: &str, is_nothing: bool) -> TargetId {
        let mut place = self.hashes.hash_one((path, is_nothing));
        loop {
            let id = *self
                .places
                .entry(place)
                .or_insert_with(|| TargetId::at(targets.len()));
            let is_it = |known: &Target| {
                known.name == path && (known.kind == TargetKind::Nothing) == is_nothing
            };
            if targets.get(id.index()).is_none_or(is_it) {
                return id;
            }
            place = place.wrapping_add(1);
        }
    }
}

/// Of the files of one clone.
struct Alike {
    clone: u32,
    data: DataSpec,
    is_made: bool,
    is_removed: bool,
}

/// The places of the streams of each member: in the order of the members, and clone by clone.
fn places_of_members(group: &Group, specs: &[Spec<'_>]) -> Vec<std::ops::Range<u32>> {
    let mut places: Vec<std::ops::Range<u32>> = Vec::new();
    for (index, _) in &group.members {
        let from = places.last().map_or(0, |before| before.end);
        places.push(from..from + specs[*index].clones);
    }
    places
}

/// Which streams end where a failure ends another.
fn give_ends_of_failures(group: &Group, specs: &[Spec<'_>], streams: &mut [Stream]) {
    let places = places_of_members(group, specs);
    for (member, (index, report_group)) in group.members.iter().enumerate() {
        let ended = |other: &usize| match timing::ends_on_error(specs[*index].job) {
            Ends::Nothing => false,
            Ends::Group => group.members[*other].1 == *report_group,
            Ends::All => true,
        };
        let ended = (0..group.members.len()).filter(ended);
        let ended: Vec<u32> = ended.flat_map(|other| places[other].clone()).collect();
        for place in places[member].clone() {
            let others = ended.iter().copied().filter(|other| *other != place);
            if let Some(tolerance) = &mut streams[place as usize].flow.tolerance {
                tolerance.ends = others.collect();
            }
        }
    }
}

/// The times of streams that are not those of their run.
fn give_lifetimes(group: &Group, specs: &[Spec<'_>], streams: &mut [Stream]) {
    let places = places_of_members(group, specs);
    for (member, life) in group.lives.iter().enumerate() {
        let Some(life) = life else { continue };
        let report_group = group.members[member].1;
        let is_ended = |other: &usize| match life.ends {
            Ends::Nothing => false,
            Ends::Group => group.members[*other].1 == report_group,
            Ends::All => true,
        };
        let all = || 0..group.members.len();
        let awaited = all().filter(|other| Some(group.members[*other].0) == life.after);
        let after: Vec<u32> = awaited.flat_map(|other| places[other].clone()).collect();
        let ended = all().filter(is_ended);
        let ended: Vec<u32> = ended.flat_map(|other| places[other].clone()).collect();
        let counts_together = specs[group.members[member].0]
            .job
            .is_on(on!("group_reporting"));
        for place in places[member].clone() {
            streams[place as usize].lifetime = Some(Lifetime {
                warmup: life.warmup,
                warmup_bytes: life.warmup_bytes.map(|bytes| WarmupBytes {
                    bytes,
                    group: counts_together.then_some(report_group),
                }),
                window: life.window,
                after: after.clone(),
                ends: ended
                    .iter()
                    .copied()
                    .filter(|other| *other != place)
                    .collect(),
            });
        }
    }
}

/// Where places are trimmed and then written, the rate is that of the writes, and the trims come between
/// them.
fn pacing(spec: &Spec<'_>) -> Pacing {
    let Some(pace) = &spec.pace else {
        return Pacing::None;
    };
    let pairs = spec.steps.as_ref().is_some_and(|steps| steps.trims_first);
    match pace.per_second.write.or(pace.per_second.trim) {
        Some(rate) if pairs => Pacing::TotalRate {
            per_second: rate * 2.0,
            law: pace.law,
        },
        _ => Pacing::Rate {
            per_second: pace.per_second,
            law: pace.law,
            in_bytes: pace.in_bytes,
        },
    }
}

fn generator(spec: &Spec<'_>, clone: u32, region: Region) -> OpSource {
    let mut generator = laws(spec, region);
    if let Some(written) = spec.written.get(clone as usize) {
        generator.order = AddressOrder::Listed(written.clone());
    } else if let Some(writes) = &spec.rehearsed
        // One that goes on for a time reads for that time.
        && !spec.times.is_time_based
    {
        let mut writing = spec.clone();
        writing.operations = writes.operations;
        writing.transfer = writes.transfer.clone();
        generator.order = AddressOrder::Rehearsed(Box::new(laws(&writing, region)));
    }
    OpSource::Generator(generator)
}

fn laws(spec: &Spec<'_>, region: Region) -> Generator {
    Generator {
        operations: spec.operations,
        transfer: spec.transfer.clone(),
        order: order(spec),
        region,
        align: spec.align,
        sequences: sequences(spec),
        hits: None,
        redraws_sizes: true,
    }
}

/// As in fio, reads of a mix go on behind reads, and writes behind writes.
fn sequences(spec: &Spec<'_>) -> Sequences {
    let is_paired = spec.steps.as_ref().is_some_and(|steps| steps.trims_first);
    match directions(&spec.operations) {
        // A write goes where the trim before it went.
        _ if is_paired => Sequences::Shared,
        ..=1 => Sequences::Shared,
        _ => Sequences::ByDirection,
    }
}

fn order(spec: &Spec<'_>) -> AddressOrder {
    if let Some(steps) = &spec.steps {
        return AddressOrder::Stepped(steps.clone());
    }
    let end = end_of_pass(spec);
    match seeks(&spec.operations, &spec.random_pct) {
        Seeks::Always if spec.is_random && spec.following.every <= 1 => {
            AddressOrder::Random(match &spec.law {
                RandomLaw::OncePerBlock(_) => RandomLaw::OncePerBlock(end),
                law => law.clone(),
            })
        }
        often if !spec.is_random || (often == Seeks::Never && !spec.following.repeats) => {
            AddressOrder::Sequential {
                start: SequentialStart::First,
                end,
            }
        }
        _ => AddressOrder::Mixed {
            random_pct: spec.random_pct,
            law: spec.law.clone(),
            following: spec.following.clone(),
        },
    }
}

/// A pass in which sizes leave places out moves less than the file holds, and its end is that of a job of one pass.
fn end_of_pass(spec: &Spec<'_>) -> SequentialEnd {
    let transfer = &spec.transfer;
    let mut sizes = [&transfer.read, &transfer.write, &transfer.trim].into_iter();
    let leaves_out = sizes.any(|sizes| matches!(sizes, TransferSizes::Capped { .. }));
    let is_one_pass = spec.amount.bytes.is_some()
        && spec.job.given("io_size").is_none()
        && spec.job.get(number!("loops")) <= 1
        && spec.naming.count() == 1;
    match leaves_out && is_one_pass && !spec.times.is_time_based {
        true => SequentialEnd::Stop,
        false => SequentialEnd::Wrap,
    }
}

fn stop(spec: &Spec<'_>, clone: u32) -> LocalStop {
    if !spec.records.is_empty() {
        // A record ends by itself, whatever sizes are given.
        return LocalStop {
            operations: spec.amount.operations,
            ..LocalStop::default()
        };
    }
    let Amount {
        bytes,
        passes,
        pass_millionths,
        operations,
        rounds,
    } = spec.amount;
    // A range that begins later in the file may be shorter for this clone.
    let is_cut = matches!(spec.file_size, FileSize::Whole(_) | FileSize::Within { .. })
        && spec.job.given("io_size").is_none();
    let begin = regions::begin(spec, clone);
    let width = regions::known_width(spec.file_size, begin, 1).filter(|_| is_cut);
    let trims = spec.steps.as_ref().is_some_and(|steps| steps.trims_first);
    let width = width.map(|width| {
        let loops = spec.job.get(number!("loops")).max(1) as u64;
        width
            .saturating_mul(spec.naming.count())
            .saturating_mul(loops)
            .saturating_mul(if trims { 2 } else { 1 })
    });
    LocalStop {
        bytes: bytes.map(|bytes| width.map_or(bytes, |width| bytes.min(width))),
        operations,
        passes,
        pass_millionths,
        rounds,
        whole: false,
        when_full: spec.job.is_on(on!("fill_device")),
    }
}

fn clone_flow(spec: &Spec<'_>, clone: u32, report_group: u32) -> Flow {
    let mut flow = spec.flow.clone();
    if let Some(steady) = &mut flow.steady {
        let is_reported_together = spec.job.is_on(on!("group_reporting"));
        steady.group = is_reported_together.then_some(report_group);
    }
    flow.placement.cpus = flow::cpus_of_clone(spec.job, &flow.placement, clone);
    flow
}

fn labels(spec: &Spec<'_>, clone: u32, report_group: u32) -> Vec<Label> {
    let mut labels = vec![
        Label::new("job", spec.job.name()),
        Label::new("clone", (clone + 1).to_string()),
        Label::new("group", report_group.to_string()),
    ];
    if spec.job.is_on(on!("group_reporting")) {
        labels.push(Label::new("group_reporting", "1"));
    }
    if spec.naming.count() > u64::from(COUNTED_APART_MAX) {
        labels.push(Label::new("files", spec.naming.count().to_string()));
    }
    let own = spec.job.own.iter();
    labels.extend(own.map(|given| option_label(report::OWN, given)));
    labels
}

/// An option under the first of its names, which is the one that fio's outputs have.
fn option_label(front: &str, given: &Given) -> Label {
    Label::new(format!("{front}{}", given.parameter.name()), given.text())
}

/// For `explain`: what was given.
fn values(spec: &Spec<'_>) -> Vec<PlanValue> {
    let value = |given: &&Given| PlanValue {
        subject: subject(spec),
        name: given.parameter.name().to_owned(),
        value: match given.written {
            Some(_) => given.text().to_owned(),
            None => "1".to_owned(),
        },
        origin: Origin::Written(given.span()),
    };
    spec.job.effective().iter().map(value).collect()
}

fn subject(spec: &Spec<'_>) -> String {
    format!("[{}]", spec.job.section.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str, kind: TargetKind) -> Target {
        Target {
            name: path.to_owned(),
            host: String::new(),
            shared_from: None,
            path: path.into(),
            kind,
            size: SizeRule::AsFound,
            size_from_bytes: 0,
            open: plan::OpenMode::default(),
            preparation: Preparation::AsFound,
            ledger: Ledger::None,
            origin: Origin::Default(String::new()),
        }
    }

    #[test]
    fn a_path_is_told_from_others_whose_hash_is_the_same() {
        let targets = [
            target("a", TargetKind::File),
            target("b", TargetKind::File),
            target("a", TargetKind::Nothing),
        ];
        let mut known = Known::default();
        let place = known.hashes.hash_one(("a", false));
        known.places.insert(place, TargetId(1));
        known.places.insert(place.wrapping_add(1), TargetId(2));
        known.places.insert(place.wrapping_add(2), TargetId(0));
        assert_eq!(known.id(&targets, "a", false), TargetId(0));
        // Of one that is new, the next number; then it is known.
        let mut targets = targets.to_vec();
        assert_eq!(known.id(&targets, "c", false), TargetId(3));
        targets.push(target("c", TargetKind::File));
        assert_eq!(known.id(&targets, "c", false), TargetId(3));
        assert_eq!(known.id(&targets, "c", true), TargetId(4));
    }
}
