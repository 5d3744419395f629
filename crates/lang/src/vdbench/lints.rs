//! What runs, but probably not as meant, as far as the text and the size of memory tell. Each finding
//! has a code and a name of its own; what needs a look at the machine stands in
//! [`crate::machine_lints`].
use super::codes;
use super::fields::Fields;
use super::lower::Job;
use super::model::{RateSpec, RunDefinition, Storage};
use super::sink::Sink;
use super::value::{self, Unit};
use crate::machine_lints::Words;
use plan::{Bytes, Diagnostic, ErrorBudget, Nanos};

/// I/Os that a 99th percentile needs: ten lie above it.
const SAMPLES_OF_P99: f64 = 1000.0;
/// A run at a fixed rate of this length watches for what happens meanwhile.
const FAILURE_TEST_S: u64 = 300;
/// What a failure is expected to last at least.
const FAILURE_S: f64 = 60.0;

/// What the findings of a look at the machine are called here.
pub(crate) const MACHINE_WORDS: Words = Words {
    same_device: codes::SAME_DEVICE,
    cached: codes::CACHED,
    has_judged_given_sizes: true,
    beyond_storage: codes::BEYOND_STORAGE,
    kernel_limits: codes::KERNEL_LIMITS,
    unwritten: codes::UNWRITTEN,
    results_on_storage: codes::RESULTS_ON_STORAGE,
    use_fewer: "use fewer `threads` or fewer storage definitions",
    use_smaller: "use fewer `threads`, or a smaller `xfersize`",
    open_direct: "add `openflags=o_direct`",
    write_first: "a run with `rdpct=0,seekpct=eof`, or `formatsds=yes`",
    move_results: "with `-o FOLDER`",
};

/// Looks at a raw job; `memory_bytes` is zero where it is not known or says nothing.
pub(crate) fn raw(job: &Job<'_>, general: &Fields, memory_bytes: u64, sink: &mut Sink) {
    same_device(job.storages, sink);
    for definition in job.definitions {
        long_warmup(definition, sink);
        odd_rates(definition, sink);
        few_samples(definition, sink);
    }
    small_budget(job, general, sink);
    beyond_storage(job, sink);
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
            "`elapsed` is counted after `warmup`; make it longer",
        );
    }
}

/// `10k` is a size, and points of a curve are whole percentages.
fn odd_rates(definition: &RunDefinition, sink: &mut Sink) {
    let rates = definition.fields.given("iorate");
    for word in rates.map_or(&[][..], |field| &field.words) {
        let is_suffixed = word.text.ends_with(|ch: char| ch.is_ascii_alphabetic());
        let (Some(rate), true) = (value::number(&word.text, Unit::Plain), is_suffixed) else {
            continue;
        };
        let digits = word
            .text
            .trim_end_matches(|ch: char| ch.is_ascii_alphabetic());
        if digits.parse::<f64>() == Ok(rate) {
            continue;
        }
        sink.warning(
            codes::ODD_RATE,
            word.span,
            format!("a rate of `{}` is {rate} I/Os per second", word.text),
            "suffixes count in powers of 1024",
            "write the number without a suffix",
        );
    }
    let points = definition.fields.get("curve");
    for point in points.map_or(&[][..], |field| &field.numbers) {
        let cut = point.value.trunc();
        if definition.rate == RateSpec::Curve && cut != point.value {
            let pct = point.value;
            sink.warning(
                codes::ODD_RATE,
                point.span,
                format!("the point at {pct} % of a curve runs at {cut} %"),
                "cut to a whole percentage",
                "use whole percentages, or a list of rates with `iorate=(…)`",
            );
        }
    }
}

/// A percentile is a statement about the I/Os beyond it.
fn few_samples(definition: &RunDefinition, sink: &mut Sink) {
    let RateSpec::Numbers(rates) = &definition.rate else {
        return;
    };
    let times = definition.times;
    // Without a warm-up the first interval is not counted.
    let uncounted_s = if times.warmup_s == 0 {
        times.interval_s
    } else {
        0
    };
    let counted_s = times.elapsed_s.saturating_sub(uncounted_s);
    let lowest = rates
        .iter()
        .copied()
        .filter(|rate| *rate > 0.0)
        .min_by(f64::total_cmp);
    let Some(lowest) = lowest else { return };
    let samples = lowest * counted_s as f64;
    if samples < SAMPLES_OF_P99 {
        let least = (SAMPLES_OF_P99 / lowest).ceil() as u64;
        let needed = least
            .saturating_add(uncounted_s)
            .checked_next_multiple_of(times.interval_s.max(1))
            .unwrap_or(u64::MAX);
        sink.warning(
            codes::FEW_SAMPLES,
            definition.fields.place("elapsed"),
            format!(
                "run `{}` has about {samples:.0} I/Os to tell a 99th percentile from",
                definition.name
            ),
            format!("{counted_s} s are counted, at {lowest} I/Os per second"),
            format!("a 99th percentile needs 1000 I/Os: use `elapsed={needed}`, or a higher rate"),
        );
    }
}

/// Who holds a rate for minutes and counts errors waits for a failure, which must not end the run.
fn small_budget(job: &Job<'_>, general: &Fields, sink: &mut Sink) {
    let (Some(field), ErrorBudget::Count(allowed)) =
        (general.get("data_errors"), job.general.errors)
    else {
        return;
    };
    // Who stops at the first error means it.
    if allowed <= 1 {
        return;
    }
    let fixed = job.definitions.iter().find_map(|definition| {
        let RateSpec::Numbers(rates) = &definition.rate else {
            return None;
        };
        let highest = rates.iter().copied().filter(|rate| rate.is_finite());
        let highest = highest.max_by(f64::total_cmp)?;
        let is_long = definition.times.elapsed_s >= FAILURE_TEST_S;
        (is_long && allowed as f64 / highest < FAILURE_S && highest > 0.0)
            .then_some((definition, highest))
    });
    if let Some((definition, rate)) = fixed {
        let time = Nanos::from_secs_f64(allowed as f64 / rate);
        sink.warning(
            codes::SMALL_BUDGET,
            field.span,
            format!(
                "run `{}` ends {time} after its storage begins to fail",
                definition.name
            ),
            format!("{allowed} failed I/Os are allowed, {rate} are asked for in a second"),
            "to measure a failure and the recovery from it, allow more, such as `data_errors=1000000`",
        );
    }
}

/// A given size bounds what is used, whatever the device holds.
fn beyond_storage(job: &Job<'_>, sink: &mut Sink) {
    for storage in job.storages {
        let Some(bytes) = storage.bytes else { continue };
        if let Some(range) = storage.range {
            range_beyond(&storage.fields, "range", range, storage, bytes, sink);
        }
        if storage.offset_bytes >= bytes {
            sink.warning(
                codes::BEYOND_STORAGE,
                storage.fields.place("offset"),
                format!("`{}` begins after its end", storage.name),
                format!("its size is {}", Bytes(bytes)),
                "use a smaller `offset`, or a larger `size`",
            );
        }
    }
    for workload in job
        .definitions
        .iter()
        .flat_map(|definition| &definition.workloads)
    {
        for index in workload.storages.iter().flatten() {
            let storage = &job.storages[*index];
            let Some(bytes) = storage.bytes else { continue };
            for (name, range) in [("range", workload.range), ("hotband", workload.hot_band)] {
                if let Some(range) = range {
                    range_beyond(&workload.fields, name, range, storage, bytes, sink);
                }
            }
        }
    }
}

fn range_beyond(
    fields: &Fields,
    name: &str,
    (_, high): (f64, f64),
    storage: &Storage,
    bytes: u64,
    sink: &mut Sink,
) {
    // Up to 200 it is a percentage.
    if high > 200.0 && high > bytes as f64 {
        let (end, size) = (Bytes(high as u64), Bytes(bytes));
        sink.warning(
            codes::BEYOND_STORAGE,
            fields.place(name),
            format!("`{name}` ends at {end}, and `{}` at {size}", storage.name),
            "beyond the storage",
            "end it within the storage, or write percentages",
        );
    }
}

/// Storage definitions of one path that share a part of it.
fn same_device(storages: &[Storage], sink: &mut Sink) {
    let mut groups: std::collections::BTreeMap<(String, &[String]), Vec<&Storage>> =
        std::collections::BTreeMap::new();
    for storage in storages {
        let key = (plain_path(&storage.lun.text), storage.hosts.as_slice());
        groups.entry(key).or_default().push(storage);
    }
    for ((path, _), mut group) in groups {
        if group.len() < 2 {
            continue;
        }
        // Parts that do not touch each other may share a path. In order of their starts, each is
        // compared with the one that reaches furthest.
        let is_apart = group.iter().all(|storage| part(storage).is_some());
        if is_apart {
            group.sort_by(|one, other| start(one).total_cmp(&start(other)));
        }
        let mut furthest = group[0];
        for storage in &group[1..] {
            let touches = !is_apart || start(storage) < end(furthest);
            if touches {
                let (first, second) = in_order(furthest, storage);
                report_same(first, second, &path, sink);
            }
            if end(storage) > end(furthest) {
                furthest = storage;
            }
        }
    }
}

/// The part of its device that a definition is confined to, in percent, within the whole.
fn part(storage: &Storage) -> Option<(f64, f64)> {
    storage
        .range
        .filter(|(low, high)| *low <= 100.0 && *high <= 100.0)
}

fn start(storage: &Storage) -> f64 {
    part(storage).map_or(0.0, |(low, _)| low)
}

fn end(storage: &Storage) -> f64 {
    part(storage).map_or(100.0, |(_, high)| high)
}

fn in_order<'a>(one: &'a Storage, other: &'a Storage) -> (&'a Storage, &'a Storage) {
    let place = |storage: &Storage| (storage.lun.span.source.0, storage.lun.span.start);
    if place(other) < place(one) {
        (other, one)
    } else {
        (one, other)
    }
}

fn report_same(first: &Storage, second: &Storage, path: &str, sink: &mut Sink) {
    sink.push(
        Diagnostic::warning(
            codes::SAME_DEVICE,
            format!(
                "`{}` and `{}` are the same `{path}`",
                first.name, second.name
            ),
        )
        .at(second.lun.span, "again here")
        .with_related(first.lun.span, "first here")
        .with_help("give each its own device or file, or its own `range`"),
    );
}

/// Without what names nothing: `.` and doubled slashes. What lies behind `..` only the machine knows.
fn plain_path(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
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

#[cfg(test)]
mod tests {
    use super::plain_path;

    #[test]
    fn names_of_one_path_are_one() {
        assert_eq!(plain_path("/data//./a"), "/data/a");
        assert_eq!(plain_path("./a"), plain_path("a"));
        assert_ne!(plain_path("/a"), plain_path("a"));
        assert_ne!(plain_path("/data/../a"), plain_path("/a"));
    }
}
