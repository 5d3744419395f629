//! The normal report: what people read.
use super::model::{Arrivals, Direction, Disk, Entry, per_second};
use super::number::{Base, UnitStyle, amounts, rates, short};
use super::repeated;
use super::settings::{Kind, Settings, Unified};
use super::stat::{Classes, Latency, Samples};
use analysis::Settled;
use measure::LatencyFigures;
use plan::{Amount, IoPriority, SteadyCriterion};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The mark of a job whose run has no end.
const CUT: &str =
    "Fathom: killed or still running; what follows ends with the last interval that was recorded";

/// Latency extremes are at most this wide.
const LATENCY_WIDTH: usize = 6;

/// Width of a terminal line, as far as the lines of percentiles go.
const LINE_WIDTH: usize = 80;

pub(super) const SHORT_CLASSES: [&str; 10] = [
    "2", "4", "10", "20", "50", "100", "250", "500", "750", "1000",
];
pub(super) const LONG_CLASSES: [&str; 12] = [
    "2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000",
];
pub(super) const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
pub(super) const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

/// What is not the job's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surroundings<'a> {
    pub pid: u32,
    /// Local time of the report.
    pub time: &'a str,
}

/// All entries, groups, disks, and what arrivals saw.
pub(super) fn report(entries: &[Entry], disks: &[Disk], around: Surroundings<'_>) -> String {
    let mut out = String::new();
    out.push('\n');
    for one in entries.iter().filter(|one| one.is_told()) {
        entry(&mut out, one, entries, around);
    }
    groups(&mut out, entries);
    if entries.iter().all(|one| one.settings.shows_disks) {
        disk_lines(&mut out, disks);
    }
    arrival_line(&mut out, entries);
    out.push_str(&repeated::text(entries));
    out
}

/// `write!` into a string cannot fail.
macro_rules! put {
    ($out:expr, $($arguments:tt)*) => {
        let _ = writeln!($out, $($arguments)*);
    };
}

/// The block of all clients: fio writes its bandwidth without the unit.
pub(super) fn all(entry: &Entry, around: Surroundings<'_>) -> String {
    let mut out = String::new();
    let around = Surroundings { pid: 0, ..around };
    self::entry(&mut out, entry, std::slice::from_ref(entry), around);
    let mut told = String::new();
    for line in out
        .lines()
        .filter(|line| !line.trim_start().starts_with("latency   :"))
    {
        match line.split_once(", BW=") {
            Some((front, rate)) => {
                put!(told, "{front}, BW={}", rate.replacen("B/s", "", 2));
            }
            None => {
                put!(told, "{line}");
            }
        }
    }
    told
}

fn entry(out: &mut String, entry: &Entry, all: &[Entry], around: Surroundings<'_>) {
    head(out, entry, around);
    if entry.is_cut {
        put!(out, "  {CUT}");
        if !entry.did_something() {
            return;
        }
    }
    let names = ["read", "write", "trim"];
    if entry.settings.unified != Unified::Mixed {
        for (place, name) in names.into_iter().enumerate() {
            let total = group_bandwidth(all, entry.group, place);
            direction(out, entry, &entry.directions[place], name, total);
        }
    }
    if let Some(mixed) = &entry.mixed {
        let total = (0..3)
            .map(|place| group_bandwidth(all, entry.group, place))
            .sum();
        direction(out, entry, mixed, "mixed", total);
    }
    distribution(out, entry);
    sync(out, entry);
    footer(out, entry);
}

fn head(out: &mut String, entry: &Entry, around: Surroundings<'_>) {
    let error = match &entry.error {
        Some(fault) => format!("{:2} ({})", fault.errno, fault.details()),
        None => " 0".to_owned(),
    };
    put!(
        out,
        "{}: (groupid={}, jobs={}): err={error}: pid={}: {}",
        entry.name,
        entry.group,
        entry.members,
        around.pid,
        around.time
    );
    if let Some(text) = &entry.description {
        put!(out, "  Description  : [{text}]");
    }
}

/// Bytes per second of a direction over the whole group.
fn group_bandwidth(all: &[Entry], group: u32, place: usize) -> u64 {
    let members = all.iter().filter(|one| one.group == group);
    let (mut bytes, mut runtime_ms) = (0, 0);
    for direction in members.map(|one| &one.directions[place]) {
        bytes += direction.bytes;
        runtime_ms = runtime_ms.max(direction.runtime_ms);
    }
    per_second(bytes, runtime_ms)
}

/// The share of a member in its group's bandwidth, at most all of it.
pub(super) fn group_share_pct(bandwidth: &Samples, group_bytes_per_second: u64) -> f64 {
    match group_bytes_per_second {
        0 => 0.0,
        total => (bandwidth.mean * 100.0 / (total as f64 / 1024.0)).min(100.0),
    }
}

/// The same for one entry of all, by the place of the direction.
pub(super) fn share_of(all: &[Entry], entry: &Entry, place: usize) -> f64 {
    let bandwidth = &entry.directions[place].bandwidth;
    group_share_pct(bandwidth, group_bandwidth(all, entry.group, place))
}

fn direction(out: &mut String, entry: &Entry, direction: &Direction, name: &str, group: u64) {
    if direction.operations == 0 {
        return;
    }
    let settings = &entry.settings;
    let per_second = direction.operations_per_second() as u64;
    let iops = short(per_second, settings.units.width, Base::Decimal, "");
    let (rate, other_rate) = rates(direction.bytes_per_second(), settings.units);
    let (amount, _) = amounts(direction.bytes, settings.units);
    let resets = if name == "write" {
        "; 0 zone resets"
    } else {
        ""
    };
    put!(
        out,
        "  {name}: IOPS={iops}, BW={rate} ({other_rate})({amount}/{}msec){resets}",
        direction.runtime_ms
    );
    let kinds = [
        ("slat", &direction.submission, settings.submission),
        ("clat", &direction.completion, settings.completion),
        (" lat", &direction.total, settings.total),
    ];
    for (label, figures, _) in kinds {
        latency_line(out, label, figures);
    }
    let by_priority = direction.by_priority(settings);
    let told = if settings.total.has_percentiles {
        "lat"
    } else {
        "clat"
    };
    for (priority, figures) in &by_priority {
        latency_line(out, &named(told, *priority), figures);
    }
    for (label, figures, kind) in kinds {
        percentile_block(out, label.trim(), figures, kind, settings);
        if label.trim() != told {
            continue;
        }
        for (priority, figures) in &by_priority {
            let share = figures.histogram.count() as f64 * 100.0 / direction.operations as f64;
            let label = format!("{} ({share:.2}% of IOs)", named(told, *priority));
            percentile_block(out, &label, figures, kind, settings);
        }
    }
    samples(out, direction, group, settings.units.first);
}

/// A priority in front of its latencies; without a hint, as versions write it that know none.
fn named(label: &str, priority: IoPriority) -> String {
    let IoPriority { class, level, hint } = priority;
    match hint {
        0 => format!("{label} prio {class}/{level}"),
        _ => format!("{label} prio {class}/{level}/{hint}"),
    }
}

fn latency_line(out: &mut String, label: &str, figures: &LatencyFigures) {
    let latency = Latency::of(figures);
    if latency.count == 0 {
        return;
    }
    let exceeds = |min, max, deviation: f64| {
        latency.min_ns > min && latency.max_ns > max && latency.deviation_ns > deviation
    };
    let (unit, scale) = if exceeds(2_000_000, 99_999_999, 1_000_000.0) {
        ("msec", 1_000_000)
    } else if exceeds(2_000, 99_999, 1_000.0) {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    };
    let number = |value: u64| short(value / scale, LATENCY_WIDTH, Base::Decimal, "");
    put!(
        out,
        "    {label} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        number(latency.min_ns),
        number(latency.max_ns),
        latency.mean_ns / scale as f64,
        latency.deviation_ns / scale as f64
    );
}

fn percentile_block(
    out: &mut String,
    label: &str,
    figures: &LatencyFigures,
    kind: Kind,
    settings: &Settings,
) {
    let latency = Latency::of(figures);
    if !kind.has_percentiles || latency.count == 0 {
        return;
    }
    let list = &settings.percentiles;
    let values = latency.percentiles(list);
    let (least, most) = (values[0], values[values.len() - 1]);
    let (unit, scale) = if least > 2_000_000 && most > 99_999_999 {
        ("msec", 1_000_000)
    } else if least > 2_000 && most > 99_999 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    };
    let decimals = list
        .iter()
        .map(|value| decimals_of(*value))
        .max()
        .unwrap_or(0);
    let width = most.div_ceil(scale).to_string().len().max(5);
    let per_line = ((LINE_WIDTH - 7) / (decimals + 10 + width)).max(1);
    put!(out, "    {label} percentiles ({unit}):");
    for (percentiles, values) in list.chunks(per_line).zip(values.chunks(per_line)) {
        let cells: Vec<String> = percentiles
            .iter()
            .zip(values)
            .map(|(percentile, value)| {
                let label = format!("{percentile:.decimals$}");
                let label_width = decimals + 3;
                format!(
                    " {label:>label_width$}th=[{:>width$}]",
                    value.div_ceil(scale)
                )
            })
            .collect();
        let is_last = percentiles.last() == list.last();
        put!(
            out,
            "     |{}{}",
            cells.join(","),
            if is_last { "" } else { "," }
        );
    }
}

fn decimals_of(value: f64) -> usize {
    let text = format!("{value:.6}");
    let fraction = text.split('.').nth(1).unwrap_or("");
    fraction.trim_end_matches('0').len()
}

/// The unit follows `kb_base`; the number stays in KiB, as in fio.
fn samples(out: &mut String, direction: &Direction, group: u64, base: Base) {
    let bandwidth = &direction.bandwidth;
    if bandwidth.count == 0 {
        return;
    }
    let share = group_share_pct(bandwidth, group);
    let (unit, step) = match base {
        Base::Binary => ("KiB", 1024),
        Base::Decimal => ("kB", 1000),
    };
    let is_large = bandwidth.mean > (step * step) as f64;
    let (unit, scale): (_, u64) = if is_large { ("MiB", step) } else { (unit, 1) };
    put!(
        out,
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={share:3.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
        bandwidth.min / scale,
        bandwidth.max / scale,
        bandwidth.mean / scale as f64,
        bandwidth.deviation() / scale as f64,
        bandwidth.count
    );
    let rate = &direction.rate;
    put!(
        out,
        "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
        rate.min,
        rate.max,
        rate.mean,
        rate.deviation(),
        rate.count
    );
}

/// Shares in percent; what is there at all shows as at least `least`.
pub(super) fn shares<const N: usize>(counts: &[u64; N], total: u64, least: f64) -> [f64; N] {
    counts.map(|count| match (count, total) {
        (0, _) | (_, 0) => 0.0,
        _ => (count as f64 * 100.0 / total as f64).max(least),
    })
}

/// Completion latencies of all directions in classes.
pub(super) fn classes_of(entry: &Entry) -> Classes {
    let mut classes = Classes::default();
    for direction in &entry.directions {
        classes.add(&direction.completion);
    }
    classes
}

fn distribution(out: &mut String, entry: &Entry) {
    let (classes, total) = (classes_of(entry), entry.operations());
    class_lines(
        out,
        "nsec",
        &SHORT_CLASSES,
        &shares(&classes.ns, total, 0.01),
    );
    class_lines(
        out,
        "usec",
        &SHORT_CLASSES,
        &shares(&classes.us, total, 0.01),
    );
    class_lines(
        out,
        "msec",
        &LONG_CLASSES,
        &shares(&classes.ms, total, 0.01),
    );
}

fn class_lines(out: &mut String, unit: &str, names: &[&str], shares: &[f64]) {
    let cells: Vec<String> = names
        .iter()
        .zip(shares)
        .filter(|(_, share)| **share > 0.0)
        .map(|(name, share)| format!("{name}={share:3.2}%"))
        .collect();
    for line in cells.chunks(5) {
        put!(out, "  lat ({unit})   : {}", line.join(", "));
    }
}

fn sync(out: &mut String, entry: &Entry) {
    if entry.syncs == 0 {
        return;
    }
    put!(out, "  fsync/fdatasync/sync_file_range:");
    latency_line(out, "sync", &entry.sync);
    let (completion, total) = (entry.settings.completion, entry.settings.total);
    let has_percentiles = completion.has_percentiles || total.has_percentiles;
    let kind = Kind {
        is_shown: true,
        has_percentiles,
    };
    percentile_block(out, "sync", &entry.sync, kind, &entry.settings);
}

/// User and system time in percent of the run times of all members together.
pub(super) fn cpu_pct(entry: &Entry) -> (f64, f64) {
    let runtime_ns = entry.runtime_ms as f64 * 1e6;
    if runtime_ns == 0.0 {
        return (0.0, 0.0);
    }
    (
        entry.user_ns * 100.0 / runtime_ns,
        entry.system_ns * 100.0 / runtime_ns,
    )
}

/// Depths in percent of reads, writes and trims; batches in percent of their calls.
pub(super) fn depth_shares(entry: &Entry) -> [[f64; 7]; 3] {
    let sum = |counts: &[u64; 7]| counts.iter().sum();
    [
        shares(&entry.depths, entry.operations(), 0.1),
        shares(&entry.submitted, sum(&entry.submitted), 0.1),
        shares(&entry.seen, sum(&entry.seen), 0.1),
    ]
}

fn footer(out: &mut String, entry: &Entry) {
    let (user, system) = cpu_pct(entry);
    put!(
        out,
        "  cpu          : usr={user:3.2}%, sys={system:3.2}%, ctx={:.0}, majf={:.0}, minf={:.0}",
        entry.context_switches,
        entry.major_faults,
        entry.minor_faults
    );
    let list = |names: &[&str; 7], shares: &[f64; 7]| {
        let cells: Vec<String> = names
            .iter()
            .zip(shares)
            .map(|(name, share)| format!("{name}={share:3.1}%"))
            .collect();
        cells.join(", ")
    };
    let [depths, submitted, seen] = depth_shares(entry);
    put!(out, "  IO depths    : {}", list(&DEPTHS, &depths));
    put!(out, "     submit    : {}", list(&BATCHES, &submitted));
    put!(out, "     complete  : {}", list(&BATCHES, &seen));
    let [read, write, trim] = &entry.directions;
    put!(
        out,
        "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
        read.operations,
        write.operations,
        trim.operations,
        entry.syncs,
        read.short,
        write.short,
        trim.short
    );
    if entry.settings.goes_on_after_errors {
        let first = entry.first_counted.as_ref();
        put!(
            out,
            "     errors    : total={}, first_error={}/<{}>",
            entry.errors,
            entry.first_errno(),
            first.map_or("Success", |fault| fault.text.as_str())
        );
    }
    let settings = &entry.settings;
    put!(
        out,
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
        settings.latency_target_ns,
        settings.latency_window_us,
        settings.latency_percentile,
        settings.depth
    );
    if let Some(settled) = &entry.settled {
        steady(out, settled, settings);
    }
}

fn steady(out: &mut String, settled: &Settled, settings: &Settings) {
    let rule = &settled.rule;
    let attained = if settled.is_settled { "yes" } else { "no" };
    let (rate, other) = rates(settled.bandwidth_mean as u64, settings.units);
    let mean = settled.rate_mean as u64;
    let operations = short(mean, settings.units.width, Base::Decimal, "");
    let of = match rule.of {
        Amount::Operations => "iops",
        Amount::Bytes => "bw",
    };
    let criterion = match rule.criterion {
        SteadyCriterion::Slope => "slope",
        SteadyCriterion::Deviation => "mean dev",
    };
    let unit = if rule.is_pct { "%" } else { "" };
    put!(
        out,
        "  steadystate  : attained={attained}, bw={rate} ({other}), iops={operations}, {of} {criterion}={:.3}{unit}",
        settled.value
    );
}

/// One direction of one group.
#[derive(Clone, Copy, Debug, Default)]
struct GroupLine {
    bytes: u64,
    least: Option<u64>,
    most: u64,
    shortest_ms: Option<u64>,
    longest_ms: u64,
}

fn groups(out: &mut String, entries: &[Entry]) {
    let mut groups: BTreeMap<u32, (UnitStyle, [GroupLine; 4])> = BTreeMap::new();
    for entry in entries.iter().filter(|one| one.did_something()) {
        let default = || (entry.settings.units, Default::default());
        let (_, lines) = groups.entry(entry.group).or_insert_with(default);
        if entry.settings.unified != Unified::Mixed {
            for (line, direction) in lines.iter_mut().zip(&entry.directions) {
                line.add(direction);
            }
        }
        if let Some(mixed) = &entry.mixed {
            lines[3].add(mixed);
        }
    }
    for (group, (units, lines)) in &groups {
        put!(out, "\nRun status group {group} (all jobs):");
        for (name, line) in ["READ", "WRITE", "TRIM", "MIXED"].into_iter().zip(lines) {
            if line.longest_ms > 0 {
                line.print(out, name, *units);
            }
        }
    }
}

impl GroupLine {
    fn add(&mut self, direction: &Direction) {
        if direction.operations == 0 {
            return;
        }
        let rate = direction.bytes_per_second();
        let runtime_ms = direction.runtime_ms;
        self.bytes += direction.bytes;
        self.least = Some(self.least.map_or(rate, |least| least.min(rate)));
        self.most = self.most.max(rate);
        let shortest = self.shortest_ms.map_or(runtime_ms, |ms| ms.min(runtime_ms));
        self.shortest_ms = Some(shortest);
        self.longest_ms = self.longest_ms.max(runtime_ms);
    }

    fn print(&self, out: &mut String, name: &str, units: UnitStyle) {
        let (rate, other_rate) = rates(per_second(self.bytes, self.longest_ms), units);
        let (least, other_least) = rates(self.least.unwrap_or(0), units);
        let (most, other_most) = rates(self.most, units);
        let (amount, other_amount) = amounts(self.bytes, units);
        put!(
            out,
            "{name:>7}: bw={rate} ({other_rate}), {least}-{most} ({other_least}-{other_most}), io={amount} ({other_amount}), run={}-{}msec",
            self.shortest_ms.unwrap_or(0),
            self.longest_ms
        );
    }
}

fn disk_lines(out: &mut String, disks: &[Disk]) {
    if disks.is_empty() {
        return;
    }
    put!(out, "\nDisk stats (read/write):");
    for disk in disks {
        let counters = &disk.counters;
        let ms = |ns: u64| ns / 1_000_000;
        put!(
            out,
            "  {}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={:3.2}%",
            disk.name,
            counters.reads,
            counters.writes,
            counters.read_merges,
            counters.write_merges,
            ms(counters.read_ns),
            ms(counters.write_ns),
            ms(counters.weighted_ns),
            disk.busy_pct
        );
    }
}

/// All jobs with a schedule together.
pub(super) fn all_arrivals(entries: &[Entry]) -> Arrivals {
    let mut all = Arrivals::default();
    entries.iter().for_each(|one| all.join(&one.arrivals));
    all
}

fn arrival_line(out: &mut String, entries: &[Entry]) {
    let all = all_arrivals(entries);
    if !all.is_scheduled {
        return;
    }
    let us = |ns: f64| match all.response.histogram.is_empty() {
        true => "-".to_owned(),
        false => format!("{:.2}", ns / 1_000.0),
    };
    let percentile = |percent: f64| us(all.response.percentile_ns(percent) as f64);
    let verdict = match all.fell_behind() {
        true => "; the target did not keep up, so the rate was asked and not reached",
        false => "",
    };
    put!(
        out,
        "\nArrivals: scheduled={}, unserved={}, response (usec): avg={}, p50={}, p99={}, max={}{verdict}",
        all.scheduled(),
        all.unserved,
        us(all.response.mean_ns()),
        percentile(50.0),
        percentile(99.0),
        us(all.response.max_ns as f64)
    );
}
