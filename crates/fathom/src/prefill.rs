//! `fathom prefill`: every byte of a target written for real, in parts. Behind each part the target
//! is flushed and the part recorded as done, so that an interrupted fill goes on behind the last.
use crate::arguments::PrefillOptions;
use crate::exit::Exit;
use crate::face::Neutral;
use crate::fill::{self, Fill};
use crate::launch::{Findings, Launch, launch};
use crate::resume::Earlier;
use crate::seed::Seeds;
use crate::{lints, machine, one_target, plan_file, render};
use host::Storage;
use host::guard::Overwrite;
use host::text_file::read_head;
use lang::CommandLine;
use plan::{
    AddressOrder, AlignRule, Bound, Coupling, DataSpec, Facts, FirstBlock, FoundKind, Generator,
    Ledger, LocalStop, Nanos, OpSource, OpenMode, OperationMix, Origin, Pacing, PerDirection, Plan,
    Pool, PoolId, Preparation, Region, RunSpec, RunTemplate, SequentialEnd, SequentialStart,
    SizeRule, SourceMap, Stream, Target, TargetId, TargetKind, TargetOrder, TemplateId,
    TransferSizes,
};
use std::path::Path;

/// Parts of one target at most, unless a length is asked for.
const PARTS: u64 = 64;
const PART_BYTES_MIN: u64 = 1 << 30;
/// Parts of all targets together: each is a stream of the plan.
const STREAMS_MAX: u64 = 16_384;
/// Devices are not touched below this, as runs spare their first block too. One that the user names with `--overwrite` is
/// written from its first byte: the old superblock there would have every later run refused.
const GRANULE: u64 = 4096;
/// No job file is longer.
const JOB_BYTES_MAX: u64 = 16 << 20;
/// Memory for writes in flight of all targets together.
const IN_FLIGHT_BYTES: u64 = 1 << 30;

/// What is to be filled, with what.
struct Job {
    targets: Vec<Target>,
    data: Vec<DataSpec>,
    sources: SourceMap,
    /// What the data refer to, and the seed; without runs.
    base: Plan,
}

/// One target in numbers.
struct Area {
    low: u64,
    end: u64,
    transfer: u64,
    granule: u64,
    first_block: FirstBlock,
}

pub fn main(options: &PrefillOptions, arguments: &[String]) -> Exit {
    if options.common.fleet.hosts.is_some() {
        // What was written is looked at again, which only the host that has it can do.
        errln!("error: `prefill` fills targets of this host; start it on each of the others");
        return Exit::Usage;
    }
    let job = match job(options) {
        Ok(job) => job,
        Err(exit) => return exit,
    };
    let facts = facts(&job);
    let areas = named(options, &job, &facts).and_then(|named| areas(options, &job, &facts, &named));
    let areas = match areas {
        Ok(areas) => areas,
        Err(message) => return refuse(&message),
    };
    let part_bytes = match part_bytes(options, &areas) {
        Ok(bytes) => bytes,
        Err(message) => return refuse(&message),
    };
    let slots = options.threads.unwrap_or_else(|| {
        let in_flight: u64 = areas.iter().map(|area| area.transfer).sum();
        (IN_FLIGHT_BYTES / in_flight.max(1)).clamp(1, 8) as u32
    });
    let fills: Vec<Fill> = job.fills(&areas);
    let plan = plan(&job, &areas, part_bytes, slots);
    let mut common = options.common.clone();
    if !options.restart {
        match earlier(&common.output, &plan, &fills) {
            Found::Whole => {
                errln!("nothing is left to write; `--restart` writes it all again");
                return judge(&fills, Exit::Fine);
            }
            Found::Part => common.resume = Some(common.output.clone()),
            Found::Nothing => {}
        }
    }
    let exit = launch(Launch {
        plan,
        sources: job.sources,
        arguments: arguments.to_vec(),
        folder: Some(common.output.clone()),
        common,
        face: Box::new(Neutral::default()),
        findings: Findings::default(),
    });
    match exit {
        Exit::Fine => judge(&fills, exit),
        Exit::Stopped => {
            errln!(
                "error: stopped by the user before all was filled; the same command goes on after the last part that is done"
            );
            exit
        }
        other => other,
    }
}

fn refuse(message: &str) -> Exit {
    errln!("error: {message}");
    Exit::Usage
}

fn judge(fills: &[Fill], exit: Exit) -> Exit {
    let found: Vec<_> = fills.iter().map(fill::found).collect();
    if fill::tell(&found) {
        exit
    } else {
        Exit::Failed
    }
}

/// A device, or a file with a size, is a target; anything else is a job file.
fn job(options: &PrefillOptions) -> Result<Job, Exit> {
    let usage = |message: String| refuse(&message);
    let is_device = |path: &str| machine::is_device(Path::new(path));
    let size_bytes = options.size.as_deref();
    let size_bytes = size_bytes.map(|size| one_target::bytes("--size", size));
    let size_bytes = size_bytes.transpose().map_err(usage)?;
    match (options.inputs.as_slice(), size_bytes) {
        ([path], size_bytes) if size_bytes.is_some() || is_device(path) => {
            Ok(Job::of_target(path, size_bytes, options, is_device(path)))
        }
        (_, Some(_)) => Err(refuse("`--size` is for one target")),
        _ if options.buffered => Err(refuse(
            "`--buffered` is for one target; a job says so itself",
        )),
        ([path], None) if Path::new(path).is_dir() => Err(refuse(&format!(
            "`{path}` is a directory; name a file in it with its `--size`"
        ))),
        ([path], None) if is_data(path) => Err(refuse(&format!(
            "`{path}` is not a job file; to overwrite it, add its `--size`"
        ))),
        (inputs, None) => {
            let lints = lints::selection(&options.common.lints.words).map_err(usage)?;
            let line = CommandLine {
                lints,
                ..CommandLine::default()
            };
            let reading =
                plan_file::read(inputs, Seeds::fixed(&options.common), line).map_err(usage)?;
            let is_usable = reading.plan.is_some() && reading.run_blockers.is_empty();
            if !is_usable {
                errln!("note: nothing was written; to fill a file, give its `--size`");
            }
            render::print_briefly(&reading.diagnostics, &reading.sources);
            render::print(&reading.run_blockers, &reading.sources);
            let plan = reading.plan.filter(|_| is_usable).ok_or(Exit::Usage)?;
            Ok(Job::of_plan(plan, reading.sources))
        }
    }
}

/// A file that is to be written may be huge: only its beginning is read.
fn is_data(path: &str) -> bool {
    let is_large = std::fs::metadata(path).is_ok_and(|facts| facts.len() > JOB_BYTES_MAX);
    // What is no file is for the reader to refuse.
    let head = read_head(Path::new(path), 4096).unwrap_or_default();
    // Job files may be compressed.
    is_large || (head.contains(&0) && !head.starts_with(&[0x1f, 0x8b]))
}

impl Job {
    fn of_target(
        path: &str,
        size_bytes: Option<u64>,
        options: &PrefillOptions,
        is_device: bool,
    ) -> Self {
        let target = Target {
            name: path.to_owned(),
            host: "localhost".to_owned(),
            shared_from: None,
            path: path.into(),
            kind: if is_device {
                TargetKind::Device
            } else {
                TargetKind::File
            },
            size: size_bytes.map_or(SizeRule::AsFound, SizeRule::Bytes),
            size_from_bytes: 0,
            open: OpenMode {
                direct: !options.buffered,
                ..OpenMode::default()
            },
            preparation: Preparation::Rewrite,
            ledger: Ledger::None,
            origin: Origin::Argument(path.to_owned()),
        };
        Self {
            targets: vec![target],
            data: vec![DataSpec::default()],
            sources: SourceMap::default(),
            base: Plan {
                seed: Seeds::fixed(&options.common).draws,
                ..Plan::default()
            },
        }
    }

    /// All targets of a job, each with the data that the job writes to it.
    fn of_plan(plan: Plan, sources: SourceMap) -> Self {
        let of_target = |id: TargetId| {
            let streams = plan.templates.iter().flat_map(|one| &one.streams);
            let mut own = streams.filter(|stream| stream.targets.contains(&id));
            let writing = own.clone().find(|stream| stream.source.changes_data());
            writing.or_else(|| own.next()).map(|one| one.data)
        };
        let ids = (0..plan.targets.len()).map(TargetId::at);
        let data = ids.map(|id| of_target(id).unwrap_or_default()).collect();
        let mut targets = plan.targets;
        for target in &mut targets {
            target.preparation = Preparation::Rewrite;
        }
        Self {
            targets,
            data,
            sources,
            base: Plan {
                duplicate_pools: plan.duplicate_pools,
                patterns: plan.patterns,
                seed: plan.seed,
                ..Plan::default()
            },
        }
    }

    fn fills(&self, areas: &[Area]) -> Vec<Fill> {
        let all = self.targets.iter().zip(&self.data).zip(areas);
        all.map(|((target, data), area)| Fill {
            name: target.name.clone(),
            path: target.path.clone(),
            extent: (area.low, area.end),
            is_marked: data.compression_ratio == 1.0
                && data.duplicates.is_none()
                && data.pattern.is_none(),
        })
        .collect()
    }
}

fn facts(job: &Job) -> Facts {
    let plan = Plan {
        targets: job.targets.clone(),
        ..Plan::default()
    };
    conduct::machine::facts(&plan, &Storage::real())
}

/// Which targets are devices that the user names for being overwritten.
fn named(options: &PrefillOptions, job: &Job, facts: &Facts) -> Result<Vec<bool>, String> {
    let words = &options.common.overwrite;
    let overwrite = Overwrite::from_arguments(words).map_err(|error| error.to_string())?;
    let paths: Vec<&Path> = job.targets.iter().map(|one| one.path.as_path()).collect();
    let named = host::guard::are_named(Storage::real().root(), &paths, &overwrite);
    let all = named.into_iter().zip(&facts.targets);
    Ok(all
        .map(|(is_named, facts)| is_named && facts.found == FoundKind::BlockDevice)
        .collect())
}

fn areas(
    options: &PrefillOptions,
    job: &Job,
    facts: &Facts,
    named: &[bool],
) -> Result<Vec<Area>, String> {
    let asked = one_target::bytes("--bs", &options.bs)?;
    if asked == 0 || !asked.is_multiple_of(GRANULE) {
        return Err(format!(
            "`--bs {}` is not a multiple of {GRANULE} bytes",
            options.bs
        ));
    }
    let area = |((target, found), is_named): ((&Target, &plan::TargetFacts), &bool)| {
        let bytes = target.size.of_found(found.bytes);
        let is_spared = found.found == FoundKind::BlockDevice && !is_named;
        let granule = match is_spared || bytes.is_multiple_of(GRANULE) {
            true => GRANULE,
            false => 512,
        };
        let end = bytes - bytes % granule;
        let (low, first_block) = match is_spared {
            true => (granule, FirstBlock::SparedOnDevices),
            false => (0, FirstBlock::Used),
        };
        if end <= low {
            return Err(format!(
                "{} has no size, or too small a one, to be filled",
                plan::target_text(&target.name, &target.path)
            ));
        }
        // What is smaller than one transfer is written with one of its own size.
        let transfer = asked.min(end - low);
        Ok(Area {
            low,
            end,
            transfer,
            granule,
            first_block,
        })
    };
    let targets = job.targets.iter().zip(&facts.targets);
    targets.zip(named).map(area).collect()
}

/// The length of a part, the same for all targets.
fn part_bytes(options: &PrefillOptions, areas: &[Area]) -> Result<u64, String> {
    let transfer = areas.iter().map(|area| area.transfer).max().unwrap_or(1);
    let largest = areas.iter().map(|area| area.end).max().unwrap_or(0);
    let asked = match &options.sync_every {
        Some(text) => one_target::bytes("--sync-every", text)?,
        None => (largest / PARTS).max(PART_BYTES_MIN),
    };
    let most = (STREAMS_MAX / areas.len() as u64).max(1);
    let least = largest.div_ceil(most);
    Ok(asked
        .max(least)
        .max(1)
        .next_multiple_of(transfer.next_multiple_of(GRANULE)))
}

/// The parts of an area; the last one takes what would be less than a transfer.
fn parts(area: &Area, part_bytes: u64) -> Vec<(u64, u64)> {
    let mut parts = Vec::new();
    let mut low = area.low;
    while low < area.end {
        let next = (low / part_bytes + 1) * part_bytes;
        // The first part of a device lacks the block that is spared.
        let next = match next - low < area.transfer {
            true => next + part_bytes,
            false => next,
        };
        let end = match area.end.saturating_sub(next) < area.transfer {
            true => area.end,
            false => next,
        };
        parts.push((low, end));
        low = end;
    }
    parts
}

fn plan(job: &Job, areas: &[Area], part_bytes: u64, slots: u32) -> Plan {
    let parts: Vec<Vec<(u64, u64)>> = areas.iter().map(|area| parts(area, part_bytes)).collect();
    let count = parts.iter().map(Vec::len).max().unwrap_or(0);
    let mut plan = Plan {
        targets: job.targets.clone(),
        ..job.base.clone()
    };
    for number in 0..count {
        let mut template = RunTemplate {
            pools: Vec::new(),
            streams: Vec::new(),
            coupling: Coupling::Independent,
        };
        for (index, area) in areas.iter().enumerate() {
            let Some((low, end)) = parts[index].get(number) else {
                continue;
            };
            let (target, data) = (&job.targets[index], &job.data[index]);
            template.pools.push(Pool::new(target.name.clone(), slots));
            let pool = PoolId::at(template.pools.len() - 1);
            let region = (*low, *end);
            let stream = stream(target, TargetId::at(index), pool, area, region, data);
            template.streams.push(stream);
        }
        let share_pct = 100.0 / template.streams.len() as f64;
        for stream in &mut template.streams {
            stream.share_pct = share_pct;
        }
        plan.templates.push(template);
        plan.runs.push(run(number, count));
    }
    plan
}

fn stream(
    target: &Target,
    id: TargetId,
    pool: PoolId,
    area: &Area,
    (low, end): (u64, u64),
    data: &DataSpec,
) -> Stream {
    let generator = Generator {
        operations: OperationMix::reads(0.0),
        transfer: PerDirection::all(TransferSizes::Fixed(area.transfer)),
        order: AddressOrder::Sequential {
            start: SequentialStart::First,
            end: SequentialEnd::Stop,
        },
        region: Region {
            low: Bound::Bytes(low),
            high: Bound::Bytes(end),
            granule_bytes: area.granule,
            offset_bytes: 0,
            first_block: area.first_block,
            trim: None,
            slice: None,
        },
        align: AlignRule::Transfer,
        sequences: plan::Sequences::Shared,
        hits: None,
        redraws_sizes: false,
    };
    Stream {
        name: format!("fill {}", target.name),
        targets: vec![id],
        target_order: TargetOrder::RoundRobin,
        pool,
        source: OpSource::Generator(generator),
        pacing: Pacing::None,
        flow: plan::Flow::default(),
        share_pct: 100.0,
        priority: None,
        data: *data,
        // One flush behind a part in place of one with every write.
        open: Some(OpenMode {
            direct: target.open.direct,
            sync_on_close: true,
            ..OpenMode::default()
        }),
        stop: LocalStop::default(),
        start_delay: Nanos(0),
        seed: None,
        lifetime: None,
        labels: Vec::new(),
    }
}

fn run(number: usize, count: usize) -> RunSpec {
    let name = format!("fill {} of {count}", number + 1);
    let origin = Origin::Default("fathom prefill".to_owned());
    RunSpec::filling(name, TemplateId::at(number), origin)
}

/// What an earlier fill has left.
enum Found {
    Nothing,
    Part,
    Whole,
}

/// Looks at the result of an earlier fill, and whether what it says was done is there.
fn earlier(output: &Path, plan: &Plan, fills: &[Fill]) -> Found {
    let Ok(earlier) = Earlier::read(output) else {
        return Found::Nothing;
    };
    let done = earlier.done.runs() as usize;
    if !earlier.plan_differences(plan).is_empty() || done == 0 {
        return Found::Nothing;
    }
    let written = written(&earlier, done, fills);
    let bytes: u64 = written.iter().map(|one| one.extent.1 - one.extent.0).sum();
    for one in &written {
        let found = fill::look(one);
        if !found.is_whole() {
            let name = plan::target_text(&one.name, &one.path);
            errln!("note: an earlier fill is not used: of what it wrote to {name}, {found}");
            return Found::Nothing;
        }
    }
    if done == plan.runs.len() {
        return Found::Whole;
    }
    let bytes = plan::Bytes(bytes);
    errln!("going on after {bytes} that an earlier fill wrote; a look at them found no fault");
    Found::Part
}

/// What the parts that are done have written.
fn written(earlier: &Earlier, done: usize, fills: &[Fill]) -> Vec<Fill> {
    let mut ends: Vec<Option<u64>> = vec![None; fills.len()];
    for id in &earlier.bound.runs[..done] {
        for stream in earlier.bound.run(*id).streams {
            for region in stream.regions {
                let end = &mut ends[region.target.index()];
                *end = Some(end.unwrap_or(0).max(region.extent().1));
            }
        }
    }
    let all = fills.iter().zip(ends);
    all.filter_map(|(fill, end)| {
        Some(Fill {
            extent: (fill.extent.0, end?),
            ..fill.clone()
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::{Area, parts};

    #[test]
    fn parts_meet_and_none_is_less_than_a_transfer() {
        let area = |low, end| Area {
            low,
            end,
            transfer: 10,
            granule: 1,
            first_block: super::FirstBlock::Used,
        };
        assert_eq!(parts(&area(0, 100), 40), [(0, 40), (40, 80), (80, 100)]);
        assert_eq!(parts(&area(4, 85), 40), [(4, 40), (40, 85)]);
        assert_eq!(parts(&area(4, 30), 40), [(4, 30)]);
        assert_eq!(parts(&area(4, 40), 10), [(4, 20), (20, 30), (30, 40)]);
        assert_eq!(parts(&area(0, 80), 40), [(0, 40), (40, 80)]);
    }
}
