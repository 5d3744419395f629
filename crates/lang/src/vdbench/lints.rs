//! What runs, but probably not as meant. Each finding has a code of its own.
use super::codes;
use super::lower::Job;
use super::model::{RunDefinition, Storage};
use super::sink::Sink;
use plan::{Bytes, Severity};

/// Looks at a raw job; `memory_bytes` is zero where it is not known.
pub(crate) fn raw(job: &Job<'_>, memory_bytes: u64, sink: &mut Sink) {
    for definition in job.definitions {
        long_warmup(definition, sink);
    }
    if memory_bytes > 0 {
        cached(job, memory_bytes, sink);
    }
}

fn long_warmup(definition: &RunDefinition, sink: &mut Sink) {
    let times = definition.times;
    if times.warmup_s > times.elapsed_s {
        let (warmup, elapsed) = (times.warmup_s, times.elapsed_s);
        sink.warning(
            codes::LONG_WARMUP,
            definition.fields.place("warmup"),
            format!(
                "run `{}` measures for a shorter time than it warms up",
                definition.name
            ),
            format!("{warmup} s, then {elapsed} s are measured"),
            "`elapsed` is counted behind `warmup`; make it longer",
        );
    }
}

/// Files without direct I/O that fit in twice the memory are read from memory.
fn cached(job: &Job<'_>, memory_bytes: u64, sink: &mut Sink) {
    for definition in job.definitions {
        let is_direct = |storage: &Storage| {
            let by_workload = definition
                .workloads
                .iter()
                .all(|workload| workload.open.is_some_and(|open| open.direct));
            definition.open.map_or(by_workload, |open| open.direct)
                || storage.open.is_some_and(|open| open.direct)
        };
        let buffered: Vec<&Storage> = job
            .storages_of_run(definition, 0)
            .into_iter()
            .map(|index| &job.storages[index])
            .filter(|storage| !is_direct(storage))
            .collect();
        let total = buffered
            .iter()
            .map(|storage| storage.bytes)
            .try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?)));
        let (Some(first), Some(total)) = (buffered.first(), total) else {
            continue;
        };
        if total < memory_bytes.saturating_mul(2) {
            let (total, memory) = (Bytes(total), Bytes(memory_bytes));
            sink.warning(
                codes::CACHED,
                first.lun.span,
                format!(
                    "run `{}` uses {total} through the page cache of a host with {memory}",
                    definition.name
                ),
                "memory may answer for the storage",
                "add `openflags=o_direct`, or use more than twice the memory",
            );
            // One run says it for all.
            return;
        }
    }
}

/// Every code that can be switched off by name, with its meaning.
pub fn lints() -> impl Iterator<Item = (&'static str, &'static str)> {
    let warnings = [
        codes::LOST_TEXT,
        codes::DOWNWARD_RANGE,
        codes::MAYBE_VARIABLE,
        codes::SAME_DEVICE,
        codes::SURPRISING_VALUE,
        codes::LONG_WARMUP,
        codes::CACHED,
    ];
    codes::ALL
        .iter()
        .filter(move |(code, _)| warnings.contains(code))
        .map(|(code, meaning)| (*code, meaning.trim()))
}

/// Whether a finding is one of them.
pub fn is_lint(diagnostic: &plan::Diagnostic) -> bool {
    diagnostic.severity == Severity::Warning && lints().any(|(code, _)| code == diagnostic.code)
}
