//! How a job orders its own I/O: what it does behind its writes, when it pauses, how it batches.
use super::codes;
use super::failures;
use super::jobs::{Given, Job};
use super::number::time;
use super::setting::Setting;
use super::support::push_once;
use super::value::Value;
use crate::nearest::meant;
use crate::parameter::TimeUnit;
use crate::sink::Sink;
use plan::{
    Amount, Balance, Batches, DepthSearch, Diagnostic, Floor, Flow, IoMethod, IoPriority,
    MemoryPolicy, Nanos, OperationMix, Owner, PerDirection, Placement, RangeSync, Steady,
    SteadyCriterion, Syncs, TargetLock, Think, ThinkCount,
};
use std::collections::BTreeMap;

/// The rules of the clones of a job.
pub(crate) fn flow(job: &Job, operations: &OperationMix, depth: u32, sink: &mut Sink) -> Flow {
    Flow {
        syncs: syncs(job, operations, sink),
        think: think(job, sink),
        batches: batches(job, depth),
        latency_most: latency_most(job, sink),
        floor: floor(job, operations, sink),
        placement: placement(job),
        steady: steady(job, sink),
        depth_search: depth_search(job),
        balance: balance(job),
        keeps_apart: job.is_on(on!("serialize_overlap")) && depth > 1,
        lock: lock(job, sink),
        tolerance: Some(failures::tolerance(job, sink)),
        held_memory_bytes: job.get(number!("lockmem")).max(0) as u64,
    }
}

/// The lock around each I/O of a job.
fn lock(job: &Job, sink: &mut Sink) -> Option<TargetLock> {
    let lock = match job.word_of(word!("lockfile")) {
        "exclusive" => TargetLock::Exclusive,
        "readwrite" => TargetLock::ReadWrite,
        _ => return None,
    };
    let method = job.engine().and_then(|engine| engine.method);
    if method != method_with(Some(lock), method) {
        let message =
            "`lockfile`: I/Os are plain calls, by a thread for each that `iodepth` allows";
        let note = Diagnostic::note(codes::TRANSLATED, message);
        sink.push(note.at(job.place_of("lockfile"), "done in another way"));
    }
    Some(lock)
}

/// How a job does its I/O: only threads that serve one I/O can wait for a lock.
pub(crate) fn method_with(lock: Option<TargetLock>, method: Option<IoMethod>) -> Option<IoMethod> {
    match method {
        Some(IoMethod::Ring | IoMethod::KernelQueue) if lock.is_some() => Some(IoMethod::Calls),
        method => method,
    }
}

/// Where a clone of the job runs, of several that split its CPUs.
pub(crate) fn cpus_of_clone(job: &Job, placement: &Placement, clone: u32) -> Vec<u32> {
    let are_named = job.given("numa_cpu_nodes").is_none();
    let splits = are_named && job.word_of(word!("cpus_allowed_policy")) == "split";
    let count = placement.cpus.len();
    match splits && count > 0 {
        true => vec![placement.cpus[clone as usize % count]],
        false => placement.cpus.clone(),
    }
}

/// The same on the CPUs of the nodes that the job names, and with memory of those that it names.
pub(crate) fn on_nodes(
    mut flow: Flow,
    job: &Job,
    known: &BTreeMap<u32, Vec<u32>>,
    blockers: &mut Vec<Diagnostic>,
) -> Flow {
    if let Some(given) = job.given("numa_cpu_nodes") {
        match cpus_of_nodes(given.text().trim(), known) {
            Ok(cpus) => flow.placement.cpus = cpus,
            Err(message) => push_once(blockers, of_nodes(message, given, known)),
        }
    }
    if let Some(given) = job.given("numa_mem_policy") {
        match memory(given.text().trim(), known) {
            Ok(memory) => flow.placement.memory = memory,
            Err(message) => push_once(blockers, of_nodes(message, given, known)),
        }
    }
    flow
}

fn of_nodes(message: String, given: &Given, known: &BTreeMap<u32, Vec<u32>>) -> Diagnostic {
    let numbers: Vec<String> = known.keys().map(u32::to_string).collect();
    let label = match numbers.as_slice() {
        [] => "the nodes of this host are not known".to_owned(),
        numbers => format!("this host has {}", numbers.join(", ")),
    };
    let help = "nodes are numbers and ranges such as `0,2-3`, or `all`; `cpus_allowed` names CPUs";
    Diagnostic::error(codes::OUT_OF_RANGE, message)
        .at(given.span(), label)
        .with_help(help)
}

fn cpus_of_nodes(text: &str, known: &BTreeMap<u32, Vec<u32>>) -> Result<Vec<u32>, String> {
    let nodes = nodes(text, known)?;
    let mut cpus: Vec<u32> = nodes
        .iter()
        .flat_map(|node| &known[node])
        .copied()
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    match cpus.is_empty() {
        true => Err(format!("the nodes `{text}` have no CPU")),
        false => Ok(cpus),
    }
}

fn memory(text: &str, known: &BTreeMap<u32, Vec<u32>>) -> Result<Option<MemoryPolicy>, String> {
    let (word, list) = text.split_once(':').unwrap_or((text, ""));
    let listed = || nodes(list.trim(), known);
    Ok(Some(match word.trim() {
        "default" => return Ok(None),
        "local" => MemoryPolicy::Local,
        "prefer" => match listed()?.as_slice() {
            [node] => MemoryPolicy::Prefer(*node),
            _ => return Err(format!("`{text}` prefers one node")),
        },
        "bind" => MemoryPolicy::Bind(listed()?),
        "interleave" => MemoryPolicy::Interleave(listed()?),
        _ => {
            let forms = "`default`, `local`, `prefer:N`, `bind:LIST` or `interleave:LIST`";
            return Err(format!("`{text}` is none of {forms}"));
        }
    }))
}

/// Nodes that are there.
fn nodes(text: &str, known: &BTreeMap<u32, Vec<u32>>) -> Result<Vec<u32>, String> {
    let nodes: Vec<u32> = match text {
        "all" => known.keys().copied().collect(),
        _ => {
            let ranges: Option<Vec<_>> = text.split(',').map(between).collect();
            let ranges = ranges.ok_or_else(|| format!("`{text}` is no list of nodes"))?;
            ranges.into_iter().flatten().collect()
        }
    };
    match nodes.iter().find(|node| !known.contains_key(node)) {
        Some(missing) => Err(format!("this host has no node {missing}")),
        None => Ok(nodes),
    }
}

/// A number, or two and all between; no more than hosts have of anything.
fn between(text: &str) -> Option<std::ops::RangeInclusive<u32>> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high && high <= 65_535).then_some(low..=high)
}

/// Whether files are flushed when they are closed, also by a job that was stopped.
pub(crate) fn flushes_on_close(job: &Job) -> bool {
    job.is_on(on!("fsync_on_close"))
}

fn think(job: &Job, sink: &mut Sink) -> Option<Think> {
    let pause = job.nanos("thinktime").filter(|pause| *pause > 0)?;
    if job.nanos("thinktime_spin").is_some_and(|spin| spin > 0) {
        let place = job.place_of("thinktime_spin");
        let message = "`thinktime_spin`: the pause is as long, and burns no CPU";
        let note = Diagnostic::note(codes::TRANSLATED, message);
        sink.push(note.at(place, "done in another way"));
    }
    let every = job.nanos("thinktime_iotime").filter(|every| *every > 0);
    // fio: with a time, a count that nobody asked for does not apply.
    let applies = every.is_none() || job.given("thinktime_blocks").is_some();
    let after = applies.then(|| job.get(number!("thinktime_blocks")).max(1) as u64);
    Some(Think {
        pause: Nanos(pause),
        after,
        counts: match job.word_of(word!("thinktime_blocks_type")) {
            "issue" => ThinkCount::Issued,
            _ => ThinkCount::Completed,
        },
        every: every.map(Nanos),
        moves_schedule: job.is_on(on!("rate_ignore_thinktime")),
    })
}

fn batches(job: &Job, depth: u32) -> Batches {
    if depth == 1 {
        return Batches::default();
    }
    let count = |name: &str| {
        let count = job.number(name).filter(|count| *count > 0)?;
        Some(count.min(i64::from(depth)) as u32)
    };
    let count_of = |setting: Setting<i64>| count(setting.name).unwrap_or(setting.default as u32);
    let least = count_of(number!("iodepth_batch_complete_min"));
    let most = count("iodepth_batch_complete_max").map_or(least, |most| most.max(least));
    let reap_least = Some(least).filter(|least| *least > 1);
    // None, and more than `iodepth`, are as many as there are.
    let together = match job.number("iodepth_batch") {
        Some(0) => depth,
        _ => count_of(number!("iodepth_batch")),
    };
    // Once full, so many have to come back at least, and what is left may not be above the low mark.
    let left = reap_least.map(|least| depth - least);
    let low = count("iodepth_low").filter(|low| *low < depth);
    Batches {
        submit_most: Some(together),
        refill_at: left.into_iter().chain(low).min(),
        reap_least,
        reap_most: Some(most).filter(|most| *most < depth),
    }
}

fn syncs(job: &Job, operations: &OperationMix, sink: &mut Sink) -> Syncs {
    let every = |name: &str| {
        let count = job.number(name).filter(|count| *count > 0)?;
        Some(count as u64)
    };
    let (range, range_every) = range(job, sink);
    let at_end = |setting: Setting<bool>| job.is_on(setting) && operations.changes_data();
    let (is_full, is_whole) = (at_end(on!("end_fsync")), at_end(on!("end_syncfs")));
    // What is written to files until they are closed belongs to the time of the job, too.
    let is_closing = at_end(on!("fsync_on_close"));
    Syncs {
        full_every: every("fsync"),
        data_every: every("fdatasync"),
        range_every,
        range,
        at_end: is_full || is_closing,
        file_systems_at_end: is_whole,
    }
}

/// What `sync_file_range` does, and every how many writes.
fn range(job: &Job, sink: &mut Sink) -> (RangeSync, Option<u64>) {
    let mut range = RangeSync::default();
    let Some(given) = job.given("sync_file_range") else {
        return (range, None);
    };
    let (words, count) = match given.text().split_once(':') {
        Some((words, count)) => (words, count.trim().parse::<u64>().ok()),
        None => (given.text(), Some(1)),
    };
    for word in words.split(',').map(str::trim) {
        match word {
            "wait_before" => range.waits_before = true,
            "write" => range.writes = true,
            "wait_after" => range.waits_after = true,
            _ => {
                let message = format!("`{word}` is not a part of `sync_file_range`");
                let known = ["wait_before", "write", "wait_after"];
                let help = meant(word, known).unwrap_or_else(|| "use `wait_before`, `write` or `wait_after`, several with commas, such as `write:8`".to_owned());
                sink.error(codes::FORM, given.span(), message, "in this list", help);
                return (range, None);
            }
        }
    }
    if count.is_none() {
        let message = "`sync_file_range` ends with a number of writes";
        let help = "write `sync_file_range=write:8`";
        sink.error(codes::FORM, given.span(), message, "no number", help);
    }
    (range, count.filter(|count| *count > 0))
}

fn latency_most(job: &Job, sink: &mut Sink) -> PerDirection<Option<Nanos>> {
    let Some(given) = job.given("max_latency") else {
        return PerDirection::default();
    };
    let mut limits = Vec::new();
    for text in given.text().split(',') {
        let nanos = time(text, TimeUnit::Microseconds).ok();
        let nanos = nanos.and_then(|number| u64::try_from(number.value).ok());
        let Some(nanos) = nanos.filter(|_| limits.len() < 3) else {
            let message = "`max_latency` takes up to three times, for reads, writes and trims";
            let help = "write `max_latency=10ms`";
            sink.error(codes::FORM, given.span(), message, "no such list", help);
            return PerDirection::default();
        };
        limits.push((nanos > 0).then_some(Nanos(nanos)));
    }
    // The last one given stands for those that are not.
    let of = |place: usize| limits.get(place).or(limits.last()).copied().flatten();
    PerDirection {
        read: of(0),
        write: of(1),
        trim: of(2),
    }
}

fn balance(job: &Job) -> Option<Balance> {
    let weight = job.number("flow").filter(|weight| *weight > 0)?;
    let group = job.get(number!("flow_id"));
    Some(Balance {
        group: u32::try_from(group).unwrap_or(u32::MAX),
        weight: weight as f64,
        pause: job.get(nanos!("flow_sleep")),
    })
}

fn depth_search(job: &Job) -> Option<DepthSearch> {
    let latency = job.nanos("latency_target").filter(|target| *target > 0)?;
    Some(DepthSearch {
        latency: Nanos(latency),
        within_pct: job.get(decimal!("latency_percentile")),
        window: job.get(nanos!("latency_window")),
        goes_on: job.is_on(on!("latency_run")),
    })
}

fn floor(job: &Job, operations: &OperationMix, sink: &mut Sink) -> Option<Floor> {
    let least = |name: &str| {
        let numbers = job.numbers(name)?;
        let is_positive = |number: &Option<i64>| number.is_some_and(|number| number > 0);
        numbers.iter().any(is_positive).then_some(numbers)
    };
    let (name, rate, of, numbers) = match (least("rate_min"), least("rate_iops_min")) {
        (Some(numbers), _) => ("rate_min", "rate", Amount::Bytes, numbers),
        (None, Some(numbers)) => ("rate_iops_min", "rate_iops", Amount::Operations, numbers),
        (None, None) => return None,
    };
    let rates = job.numbers(rate).unwrap_or([None; 3]);
    let is_above = |(least, most): (&Option<i64>, &Option<i64>)| matches!((least, most), (Some(least), Some(most)) if *most > 0 && least > most);
    if numbers.iter().zip(&rates).any(is_above) {
        let message = format!("`{name}` is larger than `{rate}`");
        let error = Diagnostic::error(codes::CONFLICT, message)
            .at(job.place_of(name), "the least")
            .with_related(job.place_of(rate), "the most")
            .with_help("no job can hold both");
        sink.push(error);
    }
    let shares = [
        operations.read_pct,
        operations.write_pct,
        operations.trim_pct,
    ];
    let of_direction = |place: usize| {
        let number = numbers[place].filter(|number| *number > 0 && shares[place] > 0.0)?;
        Some(number as f64)
    };
    let cycle = number!("rate_cycle");
    let cycle_ms = job.number(cycle.name).filter(|cycle| *cycle > 0);
    Some(Floor {
        per_second: PerDirection {
            read: of_direction(0),
            write: of_direction(1),
            trim: of_direction(2),
        },
        of,
        cycle: Nanos(cycle_ms.unwrap_or(cycle.default) as u64 * 1_000_000),
    })
}

fn placement(job: &Job) -> Placement {
    let cpus = match job
        .last_of(&["cpus_allowed", "cpumask"])
        .map(|given| &given.value)
    {
        Some(Value::Cpus(cpus)) => cpus.clone(),
        Some(Value::Number(mask)) => (0..63).filter(|cpu| mask >> cpu & 1 == 1).collect(),
        _ => Vec::new(),
    };
    Placement {
        cpus,
        nice: job.get(number!("nice")) as i32,
        io_priority: io_priority(job),
        memory: None,
        owner: owner(job),
    }
}

/// Of all I/O of a job that has none of its own.
pub(super) fn io_priority(job: &Job) -> Option<IoPriority> {
    let class = job.number("prioclass").filter(|class| *class > 0);
    let level = job.number("prio");
    let hint = job.number("priohint").filter(|hint| *hint > 0);
    let is_any = class.is_some() || level.is_some() || hint.is_some();
    is_any.then(|| IoPriority {
        // fio: without a class, best effort.
        class: class.unwrap_or(number!("prioclass").default) as u8,
        level: level.unwrap_or(number!("prio").default) as u8,
        hint: hint.unwrap_or(number!("priohint").default) as u16,
    })
}

fn owner(job: &Job) -> Option<Owner> {
    let of = |name: &str| job.number(name).map(|number| number as u32);
    let (user, group) = (of("uid"), of("gid"));
    (user.is_some() || group.is_some()).then_some(Owner { user, group })
}

fn steady(job: &Job, sink: &mut Sink) -> Option<Steady> {
    let window = job
        .nanos("steadystate_duration")
        .filter(|window| *window > 0)?;
    let text = job.text_of(text!("steadystate")).trim();
    let (words, limit) = text.split_once(':').unwrap_or((text, ""));
    let kind = match words.trim() {
        "iops" => Some((Amount::Operations, SteadyCriterion::Deviation)),
        "iops_slope" => Some((Amount::Operations, SteadyCriterion::Slope)),
        "bw" => Some((Amount::Bytes, SteadyCriterion::Deviation)),
        "bw_slope" => Some((Amount::Bytes, SteadyCriterion::Slope)),
        _ => None,
    };
    let number = limit.trim().trim_end_matches('%').trim().parse::<f64>();
    let limit_of = number
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0);
    let (Some((of, criterion)), Some(number)) = (kind, limit_of) else {
        let given = job.given("steadystate")?;
        let message = format!("`{text}` is no criterion of a steady state");
        let help = "write `iops:5%`, `iops_slope:0.1%`, `bw:5%` or `bw_slope:0.1%`";
        sink.error(codes::FORM, given.span(), message, "not one of them", help);
        return None;
    };
    let every = steady_interval(job, window, sink)?;
    Some(Steady {
        of,
        criterion,
        limit: number,
        is_pct: limit.contains('%'),
        samples: window.div_ceil(every) as u32,
        every: Nanos(every),
        after: job.get(nanos!("steadystate_ramp_time")),
        group: None,
    })
}

/// The time between looks at what has to be steady, in nanoseconds.
fn steady_interval(job: &Job, window: u64, sink: &mut Sink) -> Option<u64> {
    const SECOND: u64 = 1_000_000_000;
    let every = job.get(nanos!("steadystate_check_interval")).0;
    if job.given("steadystate_check_interval").is_none() {
        return Some(every);
    }
    let place = job.place_of("steadystate_check_interval");
    if every < SECOND {
        let message = "`steadystate_check_interval` is at least a second";
        let help = "write `steadystate_check_interval=1`, or leave it out";
        sink.error(codes::OUT_OF_RANGE, place, message, "too short", help);
        return None;
    }
    if !window.is_multiple_of(every) {
        let message = "`steadystate_duration` is no multiple of `steadystate_check_interval`";
        let error = Diagnostic::error(codes::CONFLICT, message)
            .at(place, "a look each time this has passed")
            .with_related(job.place_of("steadystate_duration"), "the window")
            .with_help("let the window be a whole number of looks, of several");
        sink.push(error);
        return None;
    }
    Some(every)
}
