//! JSON in fio's layout: two blanks per level, `"key" : value`, six decimals, keys in their order.
use super::clients::{self, Clients};
use super::idleness::Idleness;
use super::model::{Direction, Disk, Entry};
use super::repeated;
use super::settings::{Kind, Settings, Unified};
use super::stat::Latency;
use super::text::{
    BATCHES, DEPTHS, LONG_CLASSES, SHORT_CLASSES, classes_of, cpu_pct, depth_shares, share_of,
    shares,
};
use super::together;
use analysis::Settled;
use measure::LatencyFigures;
use plan::{Amount, SteadyCriterion};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A value whose keys keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Whole(u64),
    Real(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// What is not of one entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heading<'a> {
    pub program: &'a str,
    pub unix_ns: u64,
    pub time: &'a str,
    pub elapsed_s: u64,
    pub globals: &'a [(String, String)],
    pub idleness: Option<&'a Idleness>,
}

/// Whether the buckets of histograms are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bins {
    Hidden,
    Shown,
}

/// The document, with a newline at its end.
pub(super) fn report(
    entries: &[Entry],
    disks: &[Disk],
    clients: &Clients,
    heading: Heading<'_>,
    bins: Bins,
) -> String {
    let mut top = vec![
        pair("fio version", Json::Text(heading.program.to_owned())),
        pair("timestamp", Json::Whole(heading.unix_ns / 1_000_000_000)),
        pair("timestamp_ms", Json::Whole(heading.unix_ns / 1_000_000)),
        pair("time", Json::Text(heading.time.to_owned())),
    ];
    if !heading.globals.is_empty() {
        top.push(pair("global options", texts(heading.globals)));
    }
    let shows_disks = entries.iter().all(|one| one.settings.shows_disks);
    let used = match clients.are_some() {
        true => {
            let (stats, disks) = of_clients(entries, disks, clients, heading.elapsed_s, bins);
            top.push(pair("client_stats", stats));
            disks
        }
        false => {
            let jobs = entries.iter();
            let jobs = jobs.map(|one| Json::Object(job(one, entries, heading.elapsed_s, bins)));
            top.push(pair("jobs", Json::List(jobs.collect())));
            disks.iter().map(|one| Json::Object(disk(one))).collect()
        }
    };
    if shows_disks && !used.is_empty() {
        top.push(pair("disk_util", Json::List(used)));
    }
    top.extend(heading.idleness.map(idleness));
    let scheduled: Vec<&Entry> = entries
        .iter()
        .filter(|one| one.arrivals.is_scheduled)
        .collect();
    let mut own = Vec::new();
    if !scheduled.is_empty() {
        let jobs = scheduled.into_iter().map(arrivals).collect();
        own.push(pair("arrivals", Json::List(jobs)));
    }
    own.extend(lost_hosts(entries).map(|lost| pair("lost_hosts", lost)));
    own.extend(repeated::json(entries).map(|jobs| pair("repetitions", jobs)));
    let cut: Vec<Json> = entries
        .iter()
        .filter(|one| one.is_cut)
        .map(|one| {
            Json::Object(vec![
                pair("jobname", Json::Text(one.name.clone())),
                pair("groupid", Json::Whole(one.group.into())),
            ])
        })
        .collect();
    if !cut.is_empty() {
        own.push(pair("killed_or_running", Json::List(cut)));
    }
    if !own.is_empty() {
        top.push(pair("fathom", Json::Object(own)));
    }
    let mut out = String::new();
    Json::Object(top).write(&mut out, 0);
    out.push('\n');
    out
}

/// Each host that was lost, once for each group of jobs; `None` where none was.
fn lost_hosts(entries: &[Entry]) -> Option<Json> {
    let mut told = BTreeSet::new();
    let mut all = Vec::new();
    for entry in entries {
        let Some(loss) = &entry.loss else { continue };
        if told.insert((entry.group, &loss.host)) {
            all.push(Json::Object(vec![
                pair("hostname", Json::Text(loss.host.clone())),
                pair("groupid", Json::Whole(entry.group.into())),
                pair("interval", Json::Whole(loss.interval.into())),
                pair("at_msec", Json::Whole(loss.at_ms())),
            ]));
        }
    }
    (!all.is_empty()).then_some(Json::List(all))
}

impl Json {
    fn write(&self, out: &mut String, level: usize) {
        match self {
            Json::Whole(value) => put(out, format_args!("{value}")),
            Json::Real(value) => put(out, format_args!("{value:.6}")),
            Json::Text(text) => quote(out, text),
            Json::List(values) => {
                out.push('[');
                for (place, value) in values.iter().enumerate() {
                    begin_line(out, place, level + 1);
                    value.write(out, level + 1);
                }
                end_of_list(out, level, ']');
            }
            Json::Object(pairs) => {
                out.push('{');
                for (place, (key, value)) in pairs.iter().enumerate() {
                    begin_line(out, place, level + 1);
                    quote(out, key);
                    out.push_str(" : ");
                    value.write(out, level + 1);
                }
                end_of_list(out, level, '}');
            }
        }
    }
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(arguments);
}

fn begin_line(out: &mut String, place: usize, level: usize) {
    out.push_str(if place > 0 { ",\n" } else { "\n" });
    put(out, format_args!("{:1$}", "", level * 2));
}

fn end_of_list(out: &mut String, level: usize, bracket: char) {
    put(out, format_args!("\n{:1$}{bracket}", "", level * 2));
}

/// Control characters are escaped, which fio forgets: its document is then no JSON.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => put(out, format_args!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn pair(key: &str, value: Json) -> (String, Json) {
    (key.to_owned(), value)
}

fn texts(pairs: &[(String, String)]) -> Json {
    let text = |(key, value): &(String, String)| pair(key, Json::Text(value.clone()));
    Json::Object(pairs.iter().map(text).collect())
}

fn named(names: &[&str], values: &[f64]) -> Json {
    let one = |(name, value): (&&str, &f64)| pair(name, Json::Real(*value));
    Json::Object(names.iter().zip(values).map(one).collect())
}

/// What clients did and what all of them did, and their disks: each with its host.
fn of_clients(
    entries: &[Entry],
    disks: &[Disk],
    clients: &Clients,
    elapsed_s: u64,
    bins: Bins,
) -> (Json, Vec<Json>) {
    let of_host = |mut pairs: Vec<(String, Json)>, name: &str| {
        pairs.push(pair("hostname", Json::Text(name.to_owned())));
        pairs.push(pair("port", Json::Whole(clients::PORT)));
        Json::Object(pairs)
    };
    let (mut stats, mut used) = (Vec::new(), Vec::new());
    for (name, own, disks) in together::each(clients, entries, disks) {
        let jobs = own.iter().map(|one| job(one, &own, elapsed_s, bins));
        stats.extend(jobs.map(|pairs| of_host(pairs, name)));
        used.extend(disks.iter().map(|one| of_host(disk(one), name)));
    }
    if let (Some(all), Some(last)) = (together::all(entries), clients.names.last()) {
        let whole = [all];
        stats.push(of_host(job(&whole[0], &whole, elapsed_s, bins), last));
    }
    (Json::List(stats), used)
}

fn job(entry: &Entry, all: &[Entry], elapsed_s: u64, bins: Bins) -> Vec<(String, Json)> {
    let settings = &entry.settings;
    let mut pairs = vec![
        pair("jobname", Json::Text(entry.name.clone())),
        pair("groupid", Json::Whole(u64::from(entry.group))),
        pair(
            "error",
            Json::Whole(u64::from(entry.errno().unsigned_abs())),
        ),
        pair("eta", Json::Whole(0)),
        pair("elapsed", Json::Whole(elapsed_s)),
    ];
    if !entry.own_options.is_empty() {
        pairs.push(pair("job options", texts(&entry.own_options)));
    }
    let mixed = || {
        let share = (0..3)
            .map(|place| share_of(all, entry, place))
            .fold(0.0, f64::max);
        entry
            .mixed
            .as_ref()
            .map(|mixed| pair("mixed", direction(mixed, settings, share, bins)))
    };
    if settings.unified == Unified::Mixed {
        pairs.extend(mixed());
    } else {
        for (place, name) in ["read", "write", "trim"].into_iter().enumerate() {
            let share = share_of(all, entry, place);
            let value = direction(&entry.directions[place], settings, share, bins);
            pairs.push(pair(name, value));
        }
    }
    if settings.unified != Unified::Mixed {
        pairs.push(sync(entry, bins));
    }
    if settings.unified == Unified::Both {
        pairs.extend(mixed());
    }
    tail(&mut pairs, entry);
    pairs
}

fn sync(entry: &Entry, bins: Bins) -> (String, Json) {
    let settings = &entry.settings;
    let kind = Kind {
        is_shown: true,
        has_percentiles: settings.completion.has_percentiles || settings.total.has_percentiles,
    };
    pair(
        "sync",
        Json::Object(vec![
            pair("total_ios", Json::Whole(entry.syncs)),
            pair("lat_ns", latency(&entry.sync, kind, settings, bins)),
        ]),
    )
}

fn direction(direction: &Direction, settings: &Settings, share_pct: f64, bins: Bins) -> Json {
    let (bandwidth, rate) = (&direction.bandwidth, &direction.rate);
    let share_pct = if bandwidth.count > 0 { share_pct } else { 0.0 };
    let mut pairs = vec![
        pair("io_bytes", Json::Whole(direction.bytes)),
        pair("io_kbytes", Json::Whole(direction.bytes >> 10)),
        pair("bw_bytes", Json::Whole(direction.bytes_per_second())),
        pair("bw", Json::Whole(direction.bytes_per_second() >> 10)),
        pair("iops", Json::Real(direction.operations_per_second())),
        pair("runtime", Json::Whole(direction.runtime_ms)),
        pair("total_ios", Json::Whole(direction.operations)),
        pair("short_ios", Json::Whole(direction.short)),
        pair("drop_ios", Json::Whole(0)),
        pair(
            "slat_ns",
            latency(&direction.submission, settings.submission, settings, bins),
        ),
        pair(
            "clat_ns",
            latency(&direction.completion, settings.completion, settings, bins),
        ),
        pair(
            "lat_ns",
            latency(&direction.total, settings.total, settings, bins),
        ),
    ];
    pairs.extend(priorities(direction, settings, bins));
    pairs.extend([
        pair("bw_min", Json::Whole(bandwidth.min)),
        pair("bw_max", Json::Whole(bandwidth.max)),
        pair("bw_agg", Json::Real(share_pct)),
        pair("bw_mean", Json::Real(bandwidth.mean)),
        pair("bw_dev", Json::Real(bandwidth.deviation())),
        pair("bw_samples", Json::Whole(bandwidth.count)),
        pair("iops_min", Json::Whole(rate.min)),
        pair("iops_max", Json::Whole(rate.max)),
        pair("iops_mean", Json::Real(rate.mean)),
        pair("iops_stddev", Json::Real(rate.deviation())),
        pair("iops_samples", Json::Whole(rate.count)),
    ]);
    Json::Object(pairs)
}

/// Latencies by priority, where I/Os had several.
fn priorities(direction: &Direction, settings: &Settings, bins: Bins) -> Option<(String, Json)> {
    // Of one latency, and of the whole where its percentiles are asked for.
    let (name, kind) = match settings.total.has_percentiles {
        true => ("lat_ns", settings.total),
        false => ("clat_ns", settings.completion),
    };
    let told = direction.by_priority(settings);
    // The release whose layout this is knows no hints.
    let has_hints = told.iter().any(|(priority, _)| priority.hint > 0);
    let each = told.iter().map(|(priority, figures)| {
        let hint = || pair("priohint", Json::Whole(u64::from(priority.hint)));
        let mut pairs = vec![
            pair("prioclass", Json::Whole(u64::from(priority.class))),
            pair("prio", Json::Whole(u64::from(priority.level))),
        ];
        pairs.extend(has_hints.then(hint));
        pairs.push(pair(name, latency(figures, kind, settings, bins)));
        Json::Object(pairs)
    });
    let each: Vec<Json> = each.collect();
    (!each.is_empty()).then(|| pair("prios", Json::List(each)))
}

fn latency(figures: &LatencyFigures, kind: Kind, settings: &Settings, bins: Bins) -> Json {
    let latency = Latency::of(figures);
    let mut pairs = moments_of(&latency);
    if kind.has_percentiles && latency.count > 0 {
        let values = latency.percentiles(&settings.percentiles);
        let named = settings.percentiles.iter().zip(values);
        let percentiles =
            named.map(|(name, value)| pair(&format!("{name:.6}"), Json::Whole(value)));
        pairs.push(pair("percentile", Json::Object(percentiles.collect())));
        if bins == Bins::Shown {
            let bins = latency.bins.iter();
            let bins = bins.map(|(middle, count)| pair(&middle.to_string(), Json::Whole(*count)));
            pairs.push(pair("bins", Json::Object(bins.collect())));
        }
    }
    Json::Object(pairs)
}

fn idleness(idleness: &Idleness) -> (String, Json) {
    let each = idleness.each_pct().enumerate();
    let each = each.map(|(number, pct)| pair(&format!("cpu-{number}"), Json::Real(pct)));
    let system = pair("system", Json::Real(idleness.system_pct()));
    let all = [system].into_iter().chain(each).collect();
    pair("cpu_idleness", Json::Object(all))
}

fn moments_of(latency: &Latency) -> Vec<(String, Json)> {
    vec![
        pair("min", Json::Whole(latency.min_ns)),
        pair("max", Json::Whole(latency.max_ns)),
        pair("mean", Json::Real(latency.mean_ns)),
        pair("stddev", Json::Real(latency.deviation_ns)),
        pair("N", Json::Whole(latency.count)),
    ]
}

fn tail(pairs: &mut Vec<(String, Json)>, entry: &Entry) {
    let settings = &entry.settings;
    let (user, system) = cpu_pct(entry);
    let whole = |value: f64| Json::Whole(value.round() as u64);
    let [depths, submitted, seen] = depth_shares(entry);
    let (classes, total) = (classes_of(entry), entry.operations());
    pairs.extend([
        pair("job_runtime", Json::Whole(entry.runtime_ms)),
        pair("usr_cpu", Json::Real(user)),
        pair("sys_cpu", Json::Real(system)),
        pair("ctx", whole(entry.context_switches)),
        pair("majf", whole(entry.major_faults)),
        pair("minf", whole(entry.minor_faults)),
        pair("iodepth_level", named(&DEPTHS, &depths)),
        pair("iodepth_submit", named(&BATCHES, &submitted)),
        pair("iodepth_complete", named(&BATCHES, &seen)),
        pair(
            "latency_ns",
            named(&SHORT_CLASSES, &shares(&classes.ns, total, 0.01)),
        ),
        pair(
            "latency_us",
            named(&SHORT_CLASSES, &shares(&classes.us, total, 0.01)),
        ),
        pair(
            "latency_ms",
            named(&LONG_CLASSES, &shares(&classes.ms, total, 0.01)),
        ),
    ]);
    if settings.goes_on_after_errors {
        let first = entry.first_errno().unsigned_abs();
        pairs.push(pair("total_err", Json::Whole(entry.errors)));
        pairs.push(pair("first_error", Json::Whole(u64::from(first))));
    }
    pairs.extend([
        pair("latency_depth", Json::Whole(u64::from(settings.depth))),
        pair("latency_target", Json::Whole(settings.latency_target_ns)),
        pair(
            "latency_percentile",
            Json::Real(settings.latency_percentile),
        ),
        pair("latency_window", Json::Whole(settings.latency_window_us)),
    ]);
    if let Some(text) = &entry.description {
        pairs.push(pair("desc", Json::Text(text.clone())));
    }
    if let Some(settled) = &entry.settled {
        pairs.push(pair("steadystate", steady(settled)));
    }
}

fn steady(settled: &Settled) -> Json {
    let rule = &settled.rule;
    let unit = if rule.is_pct { "%" } else { "" };
    let is_slope = rule.criterion == SteadyCriterion::Slope;
    let name = match (rule.of, is_slope) {
        (Amount::Operations, false) => "iops",
        (Amount::Operations, true) => "iops_slope",
        (Amount::Bytes, false) => "bw",
        (Amount::Bytes, true) => "bw_slope",
    };
    // Without a share of the mean: what the criterion is made of.
    let mean = match rule.of {
        Amount::Operations => settled.rate_mean,
        Amount::Bytes => settled.bandwidth_mean,
    };
    let plain = match rule.is_pct {
        true => settled.value * mean / 100.0,
        false => settled.value,
    };
    let (deviation, slope) = if is_slope { (0.0, plain) } else { (plain, 0.0) };
    let whole = |value: f64| Json::Whole(value as u64);
    // fio prints a window of fixed length, with zeros for samples that are still to come.
    let list = |of: fn(&(f64, f64)) -> f64| {
        let taken = settled.samples.iter().map(of);
        let all = taken.chain(std::iter::repeat(0.0));
        let count = settled.samples.len().max(rule.samples as usize);
        Json::List(all.take(count).map(whole).collect())
    };
    Json::Object(vec![
        pair("ss", Json::Text(format!("{name}:{:.6}{unit}", rule.limit))),
        pair("duration", whole(rule.window().as_secs_f64())),
        pair("attained", Json::Whole(u64::from(settled.is_settled))),
        pair(
            "criterion",
            Json::Text(format!("{:.6}{unit}", settled.value)),
        ),
        pair("max_deviation", Json::Real(deviation)),
        pair("slope", Json::Real(slope)),
        pair(
            "data",
            Json::Object(vec![
                pair("bw_mean", whole(settled.bandwidth_mean)),
                pair("iops_mean", whole(settled.rate_mean)),
                pair("iops", list(|sample| sample.0)),
                pair("bw", list(|sample| sample.1)),
            ]),
        ),
    ])
}

fn disk(disk: &Disk) -> Vec<(String, Json)> {
    let (counters, ms) = (&disk.counters, |ns: u64| Json::Whole(ns / 1_000_000));
    vec![
        pair("name", Json::Text(disk.name.clone())),
        pair("read_ios", Json::Whole(counters.reads)),
        pair("write_ios", Json::Whole(counters.writes)),
        pair("read_merges", Json::Whole(counters.read_merges)),
        pair("write_merges", Json::Whole(counters.write_merges)),
        pair("read_ticks", ms(counters.read_ns)),
        pair("write_ticks", ms(counters.write_ns)),
        pair("in_queue", ms(counters.weighted_ns)),
        pair("util", Json::Real(disk.busy_pct)),
    ]
}

fn arrivals(entry: &Entry) -> Json {
    let arrivals = &entry.arrivals;
    let latency = |figures| own_latency(figures, &entry.settings);
    Json::Object(vec![
        pair("jobname", Json::Text(entry.name.clone())),
        pair("groupid", Json::Whole(u64::from(entry.group))),
        pair("scheduled", Json::Whole(arrivals.scheduled())),
        pair("submitted", Json::Whole(arrivals.submitted)),
        pair("unserved", Json::Whole(arrivals.unserved)),
        pair("response_ns", latency(&arrivals.response)),
        pair("lateness_ns", latency(&arrivals.lateness)),
    ])
}

/// In the layout of the original, with percentiles of our own histogram: the buckets of the original end at 17 s, which a
/// response may well take.
fn own_latency(figures: &LatencyFigures, settings: &Settings) -> Json {
    let moments = Latency::of(figures);
    let named = settings.percentiles.iter().map(|percent| {
        let value = figures.percentile_ns(*percent);
        pair(&format!("{percent:.6}"), Json::Whole(value))
    });
    let percentiles = Json::Object(named.collect());
    let mut pairs = moments_of(&moments);
    pairs.extend((moments.count > 0).then(|| pair("percentile", percentiles)));
    Json::Object(pairs)
}
