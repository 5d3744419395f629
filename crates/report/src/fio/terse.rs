//! One line per entry, fields by their index.
use super::model::{Direction, Disk, Entry};
use super::settings::Unified;
use super::stat::Latency;
use super::text::{classes_of, cpu_pct, depth_shares, share_of, shares};
use measure::LatencyFigures;
use std::fmt::Write;

/// Places for percentiles, used or not.
const SLOTS: usize = 20;

/// The layouts that there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TerseVersion {
    V2,
    #[default]
    V3,
    V4,
    V5,
}

impl TerseVersion {
    /// By its number.
    pub fn from_number(number: u32) -> Option<Self> {
        match number {
            2 => Some(TerseVersion::V2),
            3 => Some(TerseVersion::V3),
            4 => Some(TerseVersion::V4),
            5 => Some(TerseVersion::V5),
            _ => None,
        }
    }
}

/// `write!` into a string cannot fail.
macro_rules! put {
    ($out:expr, $($arguments:tt)*) => {
        let _ = write!($out, $($arguments)*);
    };
}

/// All lines.
pub(super) fn report(
    entries: &[Entry],
    disks: &[Disk],
    version: TerseVersion,
    program: &str,
) -> String {
    let mut out = String::new();
    for entry in entries {
        match version {
            TerseVersion::V2 => {
                put!(out, "2;{};{};{}", entry.name, entry.group, entry.errno());
            }
            TerseVersion::V3 | TerseVersion::V4 | TerseVersion::V5 => {
                let number = version as u32 + 2;
                let (name, group) = (&entry.name, entry.group);
                put!(out, "{number};{program};{name};{group};{}", entry.errno());
            }
        }
        directions(&mut out, entries, entry, version);
        tail(&mut out, entry);
        if version != TerseVersion::V2 && entry.settings.shows_disks {
            disks.iter().for_each(|disk| disk_fields(&mut out, disk));
        }
        if entry.settings.goes_on_after_errors {
            put!(out, ";{};{}", entry.errors, entry.first_errno());
        }
        if let Some(text) = &entry.description {
            match version {
                TerseVersion::V2 => {
                    put!(out, "\n;{text}");
                }
                _ => {
                    put!(out, ";{text}");
                }
            }
        }
        out.push('\n');
    }
    out
}

/// The line of the disks of a client, where it has some.
pub(super) fn disks(disks: &[Disk]) -> String {
    let mut out = String::new();
    disks.iter().for_each(|disk| disk_fields(&mut out, disk));
    match disks.is_empty() {
        true => out,
        false => out + "\n",
    }
}

fn directions(out: &mut String, all: &[Entry], entry: &Entry, version: TerseVersion) {
    let count = if version == TerseVersion::V3 { 2 } else { 3 };
    for place in 0..count {
        let is_mixed = entry.settings.unified == Unified::Mixed;
        match (&entry.mixed, place) {
            (Some(mixed), 0) if is_mixed => {
                let share = (0..3)
                    .map(|place| share_of(all, entry, place))
                    .fold(0.0, f64::max);
                direction(out, entry, mixed, share, version);
            }
            (Some(_), _) if is_mixed => {
                direction(out, entry, &Direction::default(), 0.0, version);
            }
            _ => {
                let share = share_of(all, entry, place);
                direction(out, entry, &entry.directions[place], share, version);
            }
        }
    }
    if let Some(mixed) = entry
        .mixed
        .as_ref()
        .filter(|_| entry.settings.unified == Unified::Both)
    {
        direction(out, entry, mixed, 100.0, version);
    }
}

fn direction(
    out: &mut String,
    entry: &Entry,
    direction: &Direction,
    share_pct: f64,
    version: TerseVersion,
) {
    put!(
        out,
        ";{};{};{};{}",
        direction.bytes >> 10,
        direction.bytes_per_second() >> 10,
        direction.operations_per_second() as u64,
        direction.runtime_ms
    );
    latency(out, &direction.submission);
    latency(out, &direction.completion);
    let settings = &entry.settings;
    let (figures, is_listed) = match settings.total.has_percentiles {
        true => (&direction.total, true),
        false => (&direction.completion, settings.completion.has_percentiles),
    };
    let list: &[f64] = if is_listed {
        &settings.percentiles
    } else {
        &[]
    };
    let values = Latency::of(figures).percentiles(list);
    for slot in 0..SLOTS {
        match (list.get(slot), values.get(slot)) {
            (Some(percentile), Some(value_ns)) => {
                put!(out, ";{percentile:.6}%={}", value_ns / 1_000);
            }
            _ => out.push_str(";0%=0"),
        }
    }
    latency(out, &direction.total);
    let bandwidth = &direction.bandwidth;
    put!(
        out,
        ";{};{};{:.6}%;{:.6};{:.6}",
        bandwidth.min,
        bandwidth.max,
        if bandwidth.count > 0 { share_pct } else { 0.0 },
        bandwidth.mean,
        bandwidth.deviation()
    );
    if version == TerseVersion::V5 {
        let rate = &direction.rate;
        put!(
            out,
            ";{};{};{};{:.6};{:.6};{}",
            bandwidth.count,
            rate.min,
            rate.max,
            rate.mean,
            rate.deviation(),
            rate.count
        );
    }
}

fn latency(out: &mut String, figures: &LatencyFigures) {
    let latency = Latency::of(figures);
    put!(
        out,
        ";{};{};{:.6};{:.6}",
        latency.min_ns / 1_000,
        latency.max_ns / 1_000,
        latency.mean_ns / 1_000.0,
        latency.deviation_ns / 1_000.0
    );
}

fn tail(out: &mut String, entry: &Entry) {
    let (user, system) = cpu_pct(entry);
    put!(
        out,
        ";{user:.6}%;{system:.6}%;{:.0};{:.0};{:.0}",
        entry.context_switches,
        entry.major_faults,
        entry.minor_faults
    );
    for share in depth_shares(entry)[0] {
        put!(out, ";{share:3.1}%");
    }
    let (mut classes, total) = (classes_of(entry), entry.operations());
    classes.us[0] += classes.ns.iter().sum::<u64>();
    for share in shares(&classes.us, total, 0.01) {
        put!(out, ";{share:3.2}%");
    }
    for share in shares(&classes.ms, total, 0.01) {
        put!(out, ";{share:3.2}%");
    }
}

fn disk_fields(out: &mut String, disk: &Disk) {
    let (counters, ms) = (&disk.counters, |ns: u64| ns / 1_000_000);
    put!(
        out,
        ";{};{};{};{};{};{};{};{};{:3.2}%",
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
