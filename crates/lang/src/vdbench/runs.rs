//! What run definitions of raw and of file-system jobs share, and those of raw jobs: rates, times,
//! loops, the choice of storage.
use super::codes;
use super::declare::Section;
use super::definitions::{Definition, Field};
use super::fields::{Fields, with_defaults};
use super::model::{
    DataLimits, General, Host, Loop, LoopKind, LoopValue, RateSpec, RunDefinition, Seek, Storage,
    StorageChoice, Times, Workload,
};
use super::rates::{distribution, rate, steps};
use super::resolve::{open_mode, references, report_duplicates};
use super::sink::Sink;
use super::value::{self, Number, SECONDS_MAX, Unit};
use super::workload::{part_of_sector, seek, workload_of_run};
use crate::parameter::Setting;
use crate::{CommandLine, Environment};
use plan::{Diagnostic, Span};

/// Everything that raw run definitions refer to.
pub(crate) struct Raw<'a> {
    pub definitions: &'a [Definition],
    pub storages: &'a [Storage],
    pub workloads: &'a [Workload],
    /// Collected once for all runs that name no workload.
    pub workload_defaults: Vec<Field>,
    pub hosts: &'a [Host],
    pub general: &'a General,
}

/// All run definitions with their defaults, checked for names.
pub(crate) fn run_fields(definitions: &[Definition], sink: &mut Sink) -> Vec<Fields> {
    let all = with_defaults(definitions, Section::Run);
    report_duplicates(
        all.iter().map(|fields| &fields.name),
        Section::Run,
        false,
        sink,
    );
    let defaults = definitions
        .iter()
        .filter(|definition| definition.section == Section::Run && definition.is_default());
    for field in defaults.flat_map(|definition| &definition.fields) {
        if field.parameter.name() == "format" {
            sink.error(
                codes::NOT_ON_DEFAULT,
                field.span,
                "`format` on `rd=default`",
                "not allowed on defaults",
                "set `format` on each run definition that needs it",
            );
        }
    }
    all
}

/// The run definitions of a raw job.
pub(crate) fn raw_runs(
    raw: &Raw<'_>,
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> Vec<RunDefinition> {
    run_fields(raw.definitions, sink)
        .into_iter()
        .map(|fields| raw_run(fields, raw, environment, sink))
        .collect()
}

fn raw_run(
    fields: Fields,
    raw: &Raw<'_>,
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> RunDefinition {
    report_file_parameters(&fields, sink);
    super::steering::check(&fields, sink);
    let storage = storage_choice(&fields, raw, sink);
    let workloads = workloads_of(&fields, raw, &storage, sink);
    check_shares(&fields, &workloads, sink);
    check_priorities(&fields, &workloads, sink);
    let times = times(&fields, &environment.command_line, sink);
    let arrivals = distribution(&fields, sink);
    let rate = match fields.given("iorate") {
        Some(field) if arrivals.are_stepped => steps(field, times, sink),
        Some(field) => rate(field, sink),
        None => {
            // A rate for file systems was reported already.
            if !fields
                .own()
                .iter()
                .any(|field| field.parameter.name() == "fwdrate")
            {
                missing_rate(&fields, "iorate", sink);
            }
            RateSpec::Max
        }
    };
    check_streams(&fields, &workloads, &rate, sink);
    RunDefinition {
        name: fields.name.text.clone(),
        workloads,
        storage,
        rate,
        law: arrivals.law,
        curve_pct: curve(&fields),
        stop_curve_ms: fields.number("stopcurve"),
        times,
        limits: DataLimits {
            total: fields.number("maxdata"),
            read: fields.number("maxdataread"),
            written: fields.number("maxdatawritten"),
        },
        loops: loops(&fields, sink),
        open: fields.get("openflags").map(|field| open_mode(field, sink)),
        fields,
    }
}

fn report_file_parameters(fields: &Fields, sink: &mut Sink) {
    for name in [
        "fwd",
        "fsd",
        "fwdrate",
        "format",
        "operations",
        "foroperations",
    ] {
        // Defaults may serve another kind of job; what nobody uses is no mistake of this run.
        if let Some(field) = fields
            .own()
            .iter()
            .find(|field| field.parameter.name() == name)
        {
            sink.error(
                codes::CONFLICT,
                field.span,
                format!(
                    "`{name}` belongs to file-system jobs, and this one defines no file system"
                ),
                "no `fsd=` and `fwd=` in this job",
                "define `fsd=` and `fwd=`, or use `wd=` and `iorate=`",
            );
        }
    }
}

fn workloads_of(
    fields: &Fields,
    raw: &Raw<'_>,
    storage: &StorageChoice,
    sink: &mut Sink,
) -> Vec<Workload> {
    let Some(field) = fields.given("wd") else {
        if *storage == StorageChoice::OfWorkloads && !fields.has("sd") && !fields.has("fwd") {
            sink.error(
                codes::MISSING,
                fields.name.span,
                format!("run definition `{}` names no workload", fields.name.text),
                "neither `wd` nor `sd`",
                "add `wd=WORKLOAD`, or `sd=STORAGE` to use the defaults of `wd=default`",
            );
        }
        return vec![workload_of_run(fields, raw, sink)];
    };
    let names: Vec<&str> = raw
        .workloads
        .iter()
        .map(|workload| workload.name.as_str())
        .collect();
    let found: Vec<Workload> = references(field, &names, Section::Workload, sink)
        .into_iter()
        .map(|index| raw.workloads[index].clone())
        .collect();
    for workload in &found {
        if workload.storages.is_none()
            && *storage == StorageChoice::OfWorkloads
            && !fields.has("sd")
        {
            let name = &workload.name;
            sink.error(
                codes::MISSING,
                workload.fields.name.span,
                format!("workload `{name}` names no storage, and neither does its run"),
                "no `sd`",
                "add `sd=STORAGE` here or on `rd=`",
            );
        }
    }
    found
}

fn storage_choice(fields: &Fields, raw: &Raw<'_>, sink: &mut Sink) -> StorageChoice {
    let Some(field) = fields.given("sd") else {
        return StorageChoice::OfWorkloads;
    };
    let names: Vec<&str> = raw
        .storages
        .iter()
        .map(|storage| storage.name.as_str())
        .collect();
    let word = field.words[0].text.to_ascii_lowercase();
    let is_form = field.words.len() == 1 && !names.contains(&field.words[0].text.as_str());
    let every: Vec<usize> = (0..names.len()).collect();
    if is_form && word == "single" {
        let singles = every
            .iter()
            .map(|index| (names[*index].to_owned(), vec![*index]));
        return StorageChoice::Repeated(singles.collect());
    }
    if is_form && word == "range" {
        let first = names.first().copied().unwrap_or("");
        let ranges = every.iter().map(|last| {
            (
                format!("{first}-{}", names[*last]),
                every[..=*last].to_vec(),
            )
        });
        return StorageChoice::Repeated(ranges.collect());
    }
    if let Some(size) = word.strip_prefix("setsof").filter(|_| is_form) {
        return sets_of(size, field, &names, sink);
    }
    StorageChoice::These(references(field, &names, Section::Storage, sink))
}

/// Shuffled with a fixed seed and cut; sets of one keep the order of definition.
fn sets_of(size: &str, field: &Field, names: &[&str], sink: &mut Sink) -> StorageChoice {
    let Some(size) = size.parse::<usize>().ok().filter(|size| *size > 0) else {
        sink.error(
            codes::NOT_A_NUMBER,
            field.span,
            "`setsof` without a number",
            "how many in a set?",
            "write `sd=setsof4`",
        );
        return StorageChoice::These(Vec::new());
    };
    let mut order: Vec<usize> = (0..names.len()).collect();
    if size > 1 {
        let mut state: u64 = 0x5eed;
        for last in (1..order.len()).rev() {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            order.swap(last, (state >> 33) as usize % (last + 1));
        }
    }
    let sets = order.chunks(size).map(|set| {
        let text: Vec<&str> = set.iter().map(|index| names[*index]).collect();
        (text.join("_"), set.to_vec())
    });
    StorageChoice::Repeated(sets.collect())
}

/// Shares of workloads without a rate of their own add up to 100, or leave a rest to share.
pub(crate) fn check_shares(fields: &Fields, workloads: &[Workload], sink: &mut Sink) {
    let sharing: Vec<&Workload> = workloads
        .iter()
        .filter(|workload| workload.rate.is_none())
        .collect();
    let given: Vec<f64> = sharing
        .iter()
        .filter_map(|workload| workload.skew_pct)
        .collect();
    if given.is_empty() {
        return;
    }
    let total: f64 = given.iter().sum();
    let leaves_rest = given.len() < sharing.len() && total <= 100.0001;
    if leaves_rest || (total - 100.0).abs() <= 0.0001 {
        return;
    }
    let last = sharing
        .iter()
        .rev()
        .find(|workload| workload.skew_pct.is_some());
    let mut error = Diagnostic::error(
        codes::SHARES,
        format!(
            "the `skew` of the workloads of run `{}` adds up to {total}, not 100",
            fields.name.text
        ),
    )
    .at(
        fields
            .given("wd")
            .map_or(fields.name.span, |field| field.span),
        "these workloads",
    )
    .with_help("make them add up to 100, or leave `skew` out of one, which then takes the rest");
    if let Some(workload) = last {
        error = error.with_related(workload.fields.place("skew"), "last share set here");
    }
    sink.push(error);
}

fn check_priorities(fields: &Fields, workloads: &[Workload], sink: &mut Sink) {
    let any = workloads.iter().any(|workload| workload.priority.is_some());
    if !any {
        return;
    }
    let mut priorities: Vec<u32> = workloads
        .iter()
        .filter_map(|workload| workload.priority)
        .collect();
    priorities.sort_unstable();
    let is_complete = priorities.len() == workloads.len()
        && priorities
            .iter()
            .zip(1..)
            .all(|(priority, expected)| *priority == expected);
    if !is_complete {
        sink.error(
            codes::CONFLICT,
            fields.place("wd"),
            "priorities of the workloads of a run are 1, 2, 3, … without gaps",
            "one is missing, twice or skipped",
            "give each workload of this run its own `priority`",
        );
    }
    let last_with_rate = workloads
        .iter()
        .filter(|workload| workload.rate.is_some())
        .filter_map(|workload| workload.priority)
        .max();
    let first_without = workloads
        .iter()
        .filter(|workload| workload.rate.is_none())
        .filter_map(|workload| workload.priority)
        .min();
    if let (Some(with), Some(without)) = (last_with_rate, first_without)
        && with > without
    {
        sink.error(
            codes::CONFLICT,
            fields.place("wd"),
            "workloads with a rate of their own come first in priority",
            "one comes after a workload without a rate",
            "give lower numbers to the workloads with `iorate`",
        );
    }
}

fn check_streams(fields: &Fields, workloads: &[Workload], rate: &RateSpec, sink: &mut Sink) {
    let Some(workload) = workloads.iter().find(|workload| workload.streams.is_some()) else {
        return;
    };
    let place = workload.fields.place("streams");
    if workloads.len() > 1 {
        sink.error(
            codes::CONFLICT,
            place,
            "`streams` allows one workload in a run",
            format!("run `{}` has {}", fields.name.text, workloads.len()),
            "run the workloads one after the other",
        );
    }
    if *rate != RateSpec::Max {
        sink.error(
            codes::CONFLICT,
            place,
            "`streams` needs `iorate=max`",
            format!("run `{}` asks for another rate", fields.name.text),
            "use `iorate=max`, or remove `streams`",
        );
    }
}

pub(crate) fn missing_rate(fields: &Fields, name: &str, sink: &mut Sink) {
    if let Some(other) = fields.given("iorate").filter(|_| name == "fwdrate") {
        let words: Vec<&str> = other.words.iter().map(|word| word.text.as_str()).collect();
        let value = match words.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("({})", many.join(",")),
        };
        sink.error(
            codes::CONFLICT,
            other.span,
            "`iorate` is the rate of storage workloads, and this run uses file systems",
            "no rate for `fwd=`",
            format!("write `fwdrate={value}`"),
        );
        return;
    }
    sink.error(
        codes::MISSING,
        fields.name.span,
        format!("run definition `{}` has no `{name}`", fields.name.text),
        "no rate",
        format!("add `{name}=max`, `{name}=curve` or a number"),
    );
}

pub(crate) fn curve(fields: &Fields) -> Vec<f64> {
    fields.get("curve").map_or_else(
        || decimals!(RUN, "curve").default.to_vec(),
        |field| field.numbers.iter().map(|number| number.value).collect(),
    )
}

/// Times with the overrides of the command line.
pub(crate) fn times(fields: &Fields, line: &CommandLine, sink: &mut Sink) -> Times {
    let whole = |setting: Setting<f64>, argument: Option<u64>| {
        argument.map_or_else(
            || fields.number_of(setting) as u64,
            // Beyond that it is reported where the arguments are read.
            |seconds| seconds.min(SECONDS_MAX),
        )
    };
    let elapsed_s = whole(decimal!(RUN, "elapsed"), line.elapsed_s);
    let mut interval_s = whole(decimal!(RUN, "interval"), line.interval_s);
    if interval_s == 0 {
        interval_s = (elapsed_s / 2).clamp(1, 60);
    }
    let times = Times {
        elapsed_s,
        interval_s,
        warmup_s: whole(decimal!(RUN, "warmup"), line.warmup_s),
        pause_s: whole(decimal!(RUN, "pause"), None),
    };
    // What follows from a value that was not understood says nothing new.
    let is_understood = ["elapsed", "interval", "warmup"]
        .iter()
        .all(|name| fields.given(name).is_none_or(|field| field.is_valid));
    if !fields.has("replay") && is_understood {
        check_times(fields, times, sink);
    }
    times
}

/// Times of the command line have no place in the text.
pub(crate) fn check_arguments(line: &CommandLine, sink: &mut Sink) {
    let arguments = [
        ("-e", line.elapsed_s),
        ("-i", line.interval_s),
        ("-w", line.warmup_s),
    ];
    for (option, seconds) in arguments {
        if let Some(seconds) = seconds.filter(|seconds| *seconds > SECONDS_MAX) {
            sink.push(
                Diagnostic::error(
                    codes::OUT_OF_RANGE,
                    format!("`{option} {seconds}` is out of range"),
                )
                .with_help(format!("times end at ten years, {SECONDS_MAX} s")),
            );
        }
    }
}

fn check_times(fields: &Fields, times: Times, sink: &mut Sink) {
    let Times {
        elapsed_s,
        interval_s,
        warmup_s,
        ..
    } = times;
    let mut report = |name: &str, message: String, label: String, help: String| {
        sink.error(codes::TIMES, fields.place(name), message, label, help);
    };
    if elapsed_s < 2 * interval_s {
        let least = 2 * interval_s;
        report(
            "elapsed",
            format!("a run of {elapsed_s} s has fewer than two intervals of {interval_s} s"),
            "too short".to_owned(),
            format!("use `elapsed={least}` or more, or a shorter `interval`"),
        );
    } else if !elapsed_s.is_multiple_of(interval_s) {
        let near = elapsed_s.next_multiple_of(interval_s);
        report(
            "elapsed",
            format!("`elapsed={elapsed_s}` is not a multiple of `interval={interval_s}`"),
            "does not end with an interval".to_owned(),
            format!("use `elapsed={near}`"),
        );
    }
    if !warmup_s.is_multiple_of(interval_s) {
        let near = warmup_s.next_multiple_of(interval_s);
        report(
            "warmup",
            format!("`warmup={warmup_s}` is not a multiple of `interval={interval_s}`"),
            "does not end with an interval".to_owned(),
            format!("use `warmup={near}`"),
        );
    }
}

/// The loops of a run in order of appearance. A repetition within the definition replaces the values
/// in place; one that overrides a default takes its own place.
pub(crate) fn loops(fields: &Fields, sink: &mut Sink) -> Vec<Loop> {
    let mut out: Vec<(bool, Loop)> = Vec::new();
    for (at, field) in fields.all.iter().enumerate() {
        let is_default = at < fields.defaults;
        let Some(found) = field.is_valid.then(|| loop_of(field, sink)).flatten() else {
            continue;
        };
        let known = out.iter().position(|(_, known)| known.kind == found.kind);
        match known {
            Some(place) if out[place].0 == is_default => out[place].1 = found,
            Some(place) => {
                out.remove(place);
                out.push((is_default, found));
            }
            None => out.push((is_default, found)),
        }
    }
    out.into_iter().map(|(_, found)| found).collect()
}

fn loop_of(field: &Field, sink: &mut Sink) -> Option<Loop> {
    let name = field.parameter.name();
    if name == "fwdrate" {
        // One rate is no loop.
        let numbers = super::rates::listed(&field.words)
            .ok()
            .filter(|numbers| numbers.len() > 1)?;
        let values = numbers.iter().map(|number| LoopValue::Number(number.value));
        let kind = LoopKind::FileRate;
        return Some(Loop {
            kind,
            values: values.collect(),
        });
    }
    let kind = LoopKind::of_parameter(name)?;
    let values = match kind {
        LoopKind::Operation => field
            .words
            .iter()
            .map(|word| LoopValue::Word(word.text.clone()))
            .collect(),
        LoopKind::SeekPct => seek_values(field, sink)?,
        LoopKind::CompressionRatio => ratios(field),
        _ => field
            .numbers
            .iter()
            .map(|number| LoopValue::Number(number.value))
            .collect(),
    };
    if kind == LoopKind::TransferSize {
        check_sizes(field, sink);
    }
    Some(Loop { kind, values })
}

fn ratios(field: &Field) -> Vec<LoopValue> {
    let value = |number: &Number| {
        // The older form says how many percent remain.
        let is_percent = field.parameter.name() == "compression" && number.value > 0.0;
        let ratio = if is_percent {
            100.0 / number.value
        } else {
            number.value
        };
        LoopValue::Ratio(ratio, number.value)
    };
    field.numbers.iter().map(value).collect()
}

fn check_sizes(field: &Field, sink: &mut Sink) {
    let mut numbers = field.numbers.iter();
    let Some(number) = numbers.find(|number| number.value % 512.0 != 0.0) else {
        return;
    };
    if field.numbers.len() > 1 && number.value <= 100.0 {
        sink.error(
            codes::OUT_OF_RANGE,
            number.span,
            "a transfer size is a multiple of 512 bytes",
            format!("{} bytes", number.value),
            "a list on `rd=` loops over sizes; mixes with percentages belong to `wd=`",
        );
    } else {
        part_of_sector(field, number, sink);
    }
}

fn seek_values(field: &Field, sink: &mut Sink) -> Option<Vec<LoopValue>> {
    let numbers = value::numbers(&field.words, Unit::Plain);
    if let Ok(numbers) = numbers
        && numbers.len() > 1
    {
        let mut values = Vec::new();
        for number in numbers {
            let is_known = (0.0..=100.0).contains(&number.value) || number.value == -1.0;
            if !is_known {
                out_of_seek_range(number.span, sink);
                return None;
            }
            let one = if number.value < 0.0 {
                Seek::UntilEnd
            } else {
                Seek::Percent(number.value)
            };
            values.push(LoopValue::Seek(one));
        }
        return Some(values);
    }
    Some(vec![LoopValue::Seek(seek(field, sink)?)])
}

fn out_of_seek_range(span: Span, sink: &mut Sink) {
    sink.error(
        codes::OUT_OF_RANGE,
        span,
        "`seekpct` is between 0 and 100",
        "out of range",
        "0 is sequential, 100 is random",
    );
}
