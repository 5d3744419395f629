//! Limits and neighbours that the kernel tells of: what a control group may do, and devices that others use as well.
use super::Scene;
use crate::words::{megabytes, percent, rate};
use measure::{DeviceCounters, IoLimit};
use plan::{CacheMode, Operation};

/// From this share of a limit on, it was reached.
const REACHED_SHARE: f64 = 0.95;

impl Scene<'_> {
    /// A limit of the control group that a device has reached.
    pub(super) fn capped(&self) -> Option<String> {
        let seconds = self.totals.length_ns as f64 / 1e9;
        if seconds <= 0.0 || self.is_part || self.totals.lost.devices.intervals > 0 {
            return None;
        }
        // The limit is that of our group; who else uses a device does not count in it.
        let own = [
            self.own_share(|one| one.read_bytes, self.totals.host.fathom_read_bytes),
            self.own_share(
                |one| one.written_bytes,
                self.totals.host.fathom_written_bytes,
            ),
        ];
        let of_device = |limit: &IoLimit| {
            let mut devices = self.totals.host.devices.iter();
            let device = devices.find(|one| one.device == limit.device)?;
            limit_reached(limit, &device.counters, own, seconds)
        };
        let reached: Vec<String> = self
            .totals
            .host
            .io_max
            .iter()
            .filter_map(of_device)
            .collect();
        (!reached.is_empty()).then(|| reached.join("; "))
    }

    /// Of what devices with a limit moved, what this process did; one where it is not known.
    fn own_share(&self, of: fn(&DeviceCounters) -> u64, own_bytes: Option<u64>) -> f64 {
        let host = &self.totals.host;
        let limited = |name: &str| host.io_max.iter().any(|limit| limit.device == *name);
        let devices = host.devices.iter().filter(|one| limited(&one.device));
        let moved: u64 = devices.map(|one| of(&one.counters)).sum();
        let share = own_bytes.map(|own| own as f64 / moved.max(1) as f64);
        share.unwrap_or(1.0).min(1.0)
    }

    /// Devices that moved at least twice what this process asked of them.
    pub(super) fn shared(&self) -> Option<String> {
        if self.totals.lost.devices.intervals > 0 || self.is_part || !self.measures() {
            return None;
        }
        let bytes = |operation: Operation| {
            let figures = self.totals.figures.iter();
            let such = figures.filter(|one| one.key.operation == operation);
            such.map(|one| one.bytes).sum::<u64>()
        };
        let host = &self.totals.host;
        let read = bytes(Operation::Read).max(host.fathom_read_bytes?);
        let written = bytes(Operation::Write).max(host.fathom_written_bytes?);
        let mut names: Vec<&str> = Vec::new();
        for view in self.targets {
            let devices = view.target.identity.counted_devices.iter();
            names.extend(devices.map(String::as_str));
        }
        names.sort_unstable();
        names.dedup();
        let devices = host.devices.iter();
        let devices = devices.filter(|one| names.contains(&&*one.device));
        let counters: Vec<&DeviceCounters> = devices.map(|one| &one.counters).collect();
        let sum = |of: fn(&DeviceCounters) -> u64| counters.iter().map(|one| of(one)).sum::<u64>();
        let others_read = sum(|one| one.read_bytes).saturating_sub(read);
        let others_written = sum(|one| one.written_bytes).saturating_sub(written);
        // Journals, parity and mirrors write more than was asked for, and read back for that.
        let is_exact = self.are_raw_and_direct();
        let others = match is_exact || bytes(Operation::Write) == 0 {
            true => others_read + others_written,
            false => others_read,
        };
        let asked = bytes(Operation::Read) + bytes(Operation::Write);
        (asked > 0 && others >= asked).then(|| {
            format!(
                "others moved {} of the bytes on `{}`: something else uses the storage",
                percent(others as f64 / (others + asked) as f64),
                names.join("`, `")
            )
        })
    }

    /// Whether all targets are devices that are opened past the page cache: each byte that they move was asked for.
    fn are_raw_and_direct(&self) -> bool {
        let mut targets = self.targets.iter();
        let mut streams = self.totals.started.streams.iter();
        targets.all(|view| view.target.identity.kind == "block device")
            && streams.all(|stream| stream.cache_mode == Some(CacheMode::Direct))
    }
}

fn limit_reached(
    limit: &IoLimit,
    counters: &DeviceCounters,
    [read, written]: [f64; 2],
    seconds: f64,
) -> Option<String> {
    let limits = [
        ("read", "I/O/s", limit.reads_per_s, counters.reads, read),
        (
            "write",
            "I/O/s",
            limit.writes_per_s,
            counters.writes,
            written,
        ),
        (
            "read",
            "bytes/s",
            limit.read_bytes_per_s,
            counters.read_bytes,
            read,
        ),
        (
            "write",
            "bytes/s",
            limit.written_bytes_per_s,
            counters.written_bytes,
            written,
        ),
    ];
    type Limited<'a> = (&'a str, &'a str, Option<u64>, u64, f64);
    let reached = |(direction, unit, limit_per_s, count, share): Limited<'_>| {
        let limit_per_s = limit_per_s?;
        let is_reached = share * count as f64 / seconds >= REACHED_SHARE * limit_per_s as f64;
        let text = match unit {
            "bytes/s" => format!("{} MB/s", megabytes(limit_per_s as f64)),
            unit => format!("{} {unit}", rate(limit_per_s as f64)),
        };
        is_reached.then(|| {
            format!(
                "the control group limits `{}` to {text} ({direction}), and that was reached",
                limit.device
            )
        })
    };
    limits.into_iter().find_map(reached)
}
