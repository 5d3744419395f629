//! The list of runs of a raw job, and the checks that need the whole job.
use super::codes;
use super::content::check_duplicates;
use super::expand::{ListedKind, ListedRun, RawRate, RawRun};
use super::lanes::{concatenated_threads, threads_of_run};
use super::lower::{Job, PREPARATION, PREPARATION_SLOTS, prepared};
use super::model::{
    General, Host, LoopKind, LoopValue, RunDefinition, Seek, Storage, StorageChoice,
};
use super::sink::Sink;
use plan::Diagnostic;

/// The runs in order, the one that makes files first.
pub(crate) fn raw(job: &Job<'_>) -> Vec<ListedRun> {
    let mut out: Vec<ListedRun> = preparation(job).into_iter().collect();
    out.extend(job.runs.iter().map(|run| listed(job, run)));
    out
}

fn preparation(job: &Job<'_>) -> Option<ListedRun> {
    let count = prepared(job).len() as u64;
    let first = &job.definitions[job.runs.first()?.definition];
    (count > 0).then(|| {
        let loops = format!("threads={PREPARATION_SLOTS} iorate=max");
        ListedRun {
            name: PREPARATION.to_owned(),
            kind: ListedKind::Prepare,
            rate: "Uncontrolled MAX".to_owned(),
            simulated: format!(
                "{PREPARATION}; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: {loops}"
            ),
            loops,
            threads: count * u64::from(PREPARATION_SLOTS),
            elapsed_s: None,
            ends_at_size: true,
            warmup_s: 0,
            interval_s: first.times.interval_s,
            pause_s: 0,
        }
    })
}

fn listed(job: &Job<'_>, run: &RawRun) -> ListedRun {
    let definition = &job.definitions[run.definition];
    let times = definition.times;
    let rate = match &run.rate {
        RawRate::PerSecond(rate) => super::expand::rate_text(*rate),
        RawRate::PercentOfPrevious(pct) => format!("{pct}%"),
        RawRate::Max => format!("{} MAX", super::expand::control(definition)),
        RawRate::CurvePoint(_, pct) => format!("{}%", pct.trunc()),
        _ => run.simulated_rate.clone(),
    };
    let warmup = match times.warmup_s {
        0 => String::new(),
        seconds => format!(" warmup={seconds}"),
    };
    let elapsed = times.elapsed_s;
    ListedRun {
        name: run.name.clone(),
        kind: ListedKind::Measure,
        rate,
        loops: run.loops_text.clone(),
        threads: slots(job, run, definition),
        elapsed_s: Some(elapsed),
        ends_at_size: ends_by_itself(run, definition),
        warmup_s: times.warmup_s,
        interval_s: times.interval_s,
        pause_s: times.pause_s,
        simulated: format!(
            "{}; I/O rate: {}; elapsed={elapsed}{warmup}; For loops: {}",
            run.name, run.simulated_rate, run.loops_text
        ),
    }
}

fn ends_by_itself(run: &RawRun, definition: &RunDefinition) -> bool {
    let swept = run
        .values
        .iter()
        .find(|(kind, _)| *kind == LoopKind::SeekPct);
    match swept {
        Some((_, value)) => *value == LoopValue::Seek(Seek::UntilEnd),
        None => definition
            .workloads
            .iter()
            .any(|workload| workload.seek == Seek::UntilEnd),
    }
}

fn slots(job: &Job<'_>, run: &RawRun, definition: &RunDefinition) -> u64 {
    let swept = run.values.iter().find_map(|(kind, value)| match value {
        LoopValue::Number(threads) if *kind == LoopKind::Threads => Some(*threads as u64),
        _ => None,
    });
    if job.general.concatenates {
        return concatenated_threads(definition, swept.map(|threads| threads as u32));
    }
    job.storages_of_run(definition, run.choice)
        .iter()
        .map(|index| swept.unwrap_or(u64::from(job.storages[*index].threads)))
        .sum()
}

/// What the original refuses about a raw job as a whole. The hosts that it uses.
pub(crate) fn check_raw(
    definitions: &[RunDefinition],
    storages: &[Storage],
    hosts: &[Host],
    general: &General,
    sink: &mut Sink,
) -> Vec<Host> {
    let used = hosts_in_use(definitions, storages, hosts, sink);
    check_alignment(definitions, storages, sink);
    check_duplicates(definitions, storages, sink);
    for definition in definitions {
        if general.concatenates {
            check_concatenation_threads(definition, sink);
        } else {
            check_stream_threads(definition, storages, sink);
        }
    }
    used
}

/// Each slice has the same number of threads.
fn check_stream_threads(definition: &RunDefinition, storages: &[Storage], sink: &mut Sink) {
    let sliced = definition.workloads.iter().find_map(|workload| {
        let streams = workload.streams.filter(|streams| *streams >= 2)?;
        Some((workload, streams))
    });
    let Some((workload, streams)) = sliced else {
        return;
    };
    let of_loops = definition
        .loops
        .iter()
        .find(|found| found.kind == LoopKind::Threads);
    let threads: Vec<(String, u32)> = match of_loops {
        Some(found) => {
            let numbers = found.values.iter().filter_map(|value| match value {
                LoopValue::Number(threads) => Some(*threads as u32),
                _ => None,
            });
            let name = format!("run `{}`", definition.name);
            numbers.map(|threads| (name.clone(), threads)).collect()
        }
        None => {
            let all: Vec<usize> = (0..storages.len()).collect();
            let list: &[usize] = match &definition.storage {
                StorageChoice::OfWorkloads => workload.storages.as_deref().unwrap_or(&[]),
                StorageChoice::These(list) => list,
                StorageChoice::Repeated(_) => &all,
            };
            let each = list.iter().map(|index| &storages[*index]);
            each.map(|storage| (format!("`{}`", storage.name), storage.threads))
                .collect()
        }
    };
    let misfit = threads
        .iter()
        .find(|(_, threads)| !threads.is_multiple_of(streams));
    if let Some((name, threads)) = misfit {
        sink.error(
            codes::CONFLICT,
            workload.fields.place("streams"),
            format!("{streams} `streams` cannot share the {threads} threads of {name} equally"),
            "each stream has the same number of threads",
            format!(
                "set `threads` to a multiple of {streams}, for example {}",
                threads.next_multiple_of(streams)
            ),
        );
    }
}

/// The threads of concatenated storage belong to the run, or to each of its workloads.
fn check_concatenation_threads(definition: &RunDefinition, sink: &mut Sink) {
    if threads_of_run(definition).is_some() {
        return;
    }
    for workload in &definition.workloads {
        if workload.threads.is_none() {
            sink.error(
                codes::MISSING,
                definition.fields.name.span,
                format!(
                    "run `{}` has no `threads` for workload `{}`",
                    definition.name, workload.name
                ),
                "with `concatenatesds`, threads belong to the run or to the workload",
                "add `threads=N` to `rd=`, or to each `wd=`",
            );
        }
    }
}

fn hosts_in_use(
    definitions: &[RunDefinition],
    storages: &[Storage],
    hosts: &[Host],
    sink: &mut Sink,
) -> Vec<Host> {
    if sink.has_errors() || definitions.is_empty() {
        return hosts.to_vec();
    }
    let mut used = std::collections::HashSet::new();
    let all: Vec<usize> = (0..storages.len()).collect();
    for definition in definitions {
        for workload in &definition.workloads {
            let list: &[usize] = match &definition.storage {
                StorageChoice::OfWorkloads => workload.storages.as_deref().unwrap_or(&[]),
                StorageChoice::These(list) => list,
                StorageChoice::Repeated(_) => &all,
            };
            for index in list {
                for host in hosts {
                    let by_storage = &storages[*index].hosts;
                    let is_used = (by_storage.is_empty() || by_storage.contains(&host.label))
                        && (workload.hosts.is_empty() || workload.hosts.contains(&host.label));
                    if is_used {
                        used.insert(host.label.as_str());
                    }
                }
            }
        }
    }
    used_hosts(hosts, |label| used.contains(label), sink)
}

/// Hosts that workloads use; says which ones they do not.
pub(crate) fn used_hosts(
    hosts: &[Host],
    is_used: impl Fn(&str) -> bool,
    sink: &mut Sink,
) -> Vec<Host> {
    let (used, unused): (Vec<&Host>, Vec<&Host>) =
        hosts.iter().partition(|host| is_used(&host.label));
    for host in unused {
        if let Some(span) = host.span {
            let message = format!("no workload uses host `{}`: it is not reached", host.label);
            sink.push(
                Diagnostic::note(codes::UNUSED_HOST, message)
                    .at(span, "not used")
                    .with_help("to use it, name it in a definition of storage or workload"),
            );
        }
    }
    used.into_iter().cloned().collect()
}

fn check_alignment(definitions: &[RunDefinition], storages: &[Storage], sink: &mut Sink) {
    for workload in definitions
        .iter()
        .flat_map(|definition| &definition.workloads)
    {
        let plan::TransferSizes::Uniform { step, .. } = workload.transfer else {
            continue;
        };
        for index in workload.storages.iter().flatten() {
            let storage = &storages[*index];
            if storage.align_bytes.is_some_and(|align| align != step) {
                sink.error(
                    codes::CONFLICT,
                    workload.fields.place("xfersize"),
                    format!(
                        "the step of the transfer sizes differs from `align` of `{}`",
                        storage.name
                    ),
                    "third value is the step",
                    "make both equal",
                );
            }
        }
    }
}
