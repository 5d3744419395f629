//! What host, process and devices did between two looks at the kernel's counters.

use std::path::{Path, PathBuf};

use measure::{CpuTimes, DeviceCounters, DeviceSample, HostSample};

use crate::mounts::{Mount, own_mounts};
use crate::root::{SysRoot, read_text};
use crate::sampler::io_limits::IoLimits;
use crate::sampler::more::More;

mod io_limits;
mod more;

/// Reads counters and gives differences. Made for one call a second: a look reads a handful of small files.
///
/// Host CPU times advance in clock ticks (10 ms where the kernel has 100 of them a second, as it has nearly
/// everywhere): over an interval of one second a figure may be off by one step per CPU. Fathom's own CPU time is exact
/// in total; its division into user and system time follows the same ticks. Device counters count milliseconds and
/// sectors of 512 bytes.
#[derive(Debug)]
pub struct Sampler {
    root: SysRoot,
    devices: Vec<String>,
    /// One cpu.stat per level of our control group, own level first.
    throttle_files: Vec<(PathBuf, ThrottleUnit)>,
    io_limits: IoLimits,
    last: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThrottleUnit {
    /// `throttled_time` of version 1.
    Nanoseconds,
    /// `throttled_usec` of version 2.
    Microseconds,
}

/// Counters as they stand at one moment. What cannot be read is `None`.
#[derive(Debug, Default)]
struct Counters {
    cpu: Option<CpuTimes>,
    own_user_ns: u64,
    own_system_ns: u64,
    own_io: Option<OwnIo>,
    throttle: Vec<Option<Throttle>>,
    devices: Vec<Option<DeviceCounters>>,
    more: More,
}

/// Bytes that this process had the storage layer read and write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OwnIo {
    read_bytes: u64,
    written_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Throttle {
    time_ns: u64,
    periods: u64,
}

impl Sampler {
    /// `devices` are names as in [`measure::TargetIdentity::counted_devices`]. The first interval begins here.
    #[must_use]
    pub fn new(root: &SysRoot, devices: &[String]) -> Self {
        let mut distinct: Vec<String> = devices.to_vec();
        distinct.sort();
        distinct.dedup();
        let mut sampler = Self {
            root: root.clone(),
            throttle_files: throttle_files(root),
            io_limits: IoLimits::new(root, &distinct),
            devices: distinct,
            last: Counters::default(),
        };
        sampler.last = sampler.read();
        sampler
    }

    /// What happened since the last call, or since [`Sampler::new`]. A device without counters is left out.
    #[must_use]
    pub fn sample(&mut self) -> HostSample {
        let now = self.read();
        let last = &self.last;
        let throttle = throttle_between(&last.throttle, &now.throttle);
        let own_io = now.own_io.zip(last.own_io);
        let own_bytes =
            |of: fn(OwnIo) -> u64| own_io.map(|(now, earlier)| of(now).saturating_sub(of(earlier)));
        let devices = self.devices.iter().zip(&last.devices).zip(&now.devices);
        let sample = HostSample {
            cpu: now
                .cpu
                .zip(last.cpu)
                .map(|(now, earlier)| now.since(&earlier)),
            fathom_user_ns: now.own_user_ns.saturating_sub(last.own_user_ns),
            fathom_system_ns: now.own_system_ns.saturating_sub(last.own_system_ns),
            fathom_memory_bytes: sys::memory::process_rss_bytes().unwrap_or(0),
            fathom_read_bytes: own_bytes(|io| io.read_bytes),
            fathom_written_bytes: own_bytes(|io| io.written_bytes),
            io_max: self.io_limits.read(),
            throttled_ns: throttle.map(|one| one.time_ns),
            throttled_periods: throttle.map(|one| one.periods),
            devices: devices
                .filter_map(|((device, earlier), now)| {
                    Some(DeviceSample {
                        device: device.clone(),
                        counters: now.as_ref()?.since(earlier.as_ref()?),
                        in_flight: more::in_flight(&self.root, device),
                        state: more::state(&self.root, device),
                    })
                })
                .collect(),
            ..HostSample::default()
        };
        let sample = more::add(sample, &self.root, &last.more, &now.more);
        self.last = now;
        sample
    }

    fn read(&self) -> Counters {
        let (own_user_ns, own_system_ns) = own_times(&self.last);
        Counters {
            cpu: read_text(&self.root.proc.join("stat"))
                .and_then(|text| parse_cpu(&text, nanoseconds_per_tick())),
            own_user_ns,
            own_system_ns,
            own_io: read_text(&self.root.proc.join("self/io")).and_then(|text| parse_own_io(&text)),
            throttle: self
                .throttle_files
                .iter()
                .map(|(path, unit)| parse_throttle(&read_text(path)?, *unit))
                .collect(),
            devices: self.devices.iter().map(|name| self.device(name)).collect(),
            more: More::read(&self.root, nanoseconds_per_tick()),
        }
    }

    fn device(&self, name: &str) -> Option<DeviceCounters> {
        let place = self.root.sys.join("class/block").join(name).join("stat");
        let text = read_text(&place)
            .or_else(|| read_text(&self.root.sys.join("block").join(name).join("stat")));
        match text {
            Some(text) => parse_device(text.split_ascii_whitespace()),
            None => {
                let table = read_text(&self.root.proc.join("diskstats"))?;
                table
                    .lines()
                    .map(|line| line.split_ascii_whitespace().skip(2))
                    .find_map(|mut words| {
                        (words.next() == Some(name)).then(|| parse_device(words))?
                    })
            }
        }
    }
}

fn nanoseconds_per_tick() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// The process clock is exact; /proc divides the same time into user and system by ticks. Both parts never shrink.
fn own_times(last: &Counters) -> (u64, u64) {
    let total = sys::thread::process_cpu_ns();
    let system = read_text(Path::new("/proc/self/stat"))
        .and_then(|text| parse_own_system_ticks(&text))
        .map_or(0, |ticks| ticks * nanoseconds_per_tick())
        .clamp(
            last.own_system_ns,
            total
                .saturating_sub(last.own_user_ns)
                .max(last.own_system_ns),
        );
    (total.saturating_sub(system).max(last.own_user_ns), system)
}

/// proc_pid_stat(5): stime is field 15; the name in field 2 may hold blanks and parentheses.
fn parse_own_system_ticks(text: &str) -> Option<u64> {
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(12)?.parse().ok()
}

/// proc_pid_io(5); all threads together, also those that have ended.
fn parse_own_io(text: &str) -> Option<OwnIo> {
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
    };
    Some(OwnIo {
        read_bytes: value("read_bytes")?,
        written_bytes: value("write_bytes")?,
    })
}

/// CPU time of each CPU that is on since boot, in the order of their numbers; empty if the kernel does not tell.
pub fn cpu_times_each(root: &SysRoot) -> Vec<CpuTimes> {
    let text = std::fs::read_to_string(root.locate(Path::new("/proc/stat"))).unwrap_or_default();
    let tick_ns = nanoseconds_per_tick();
    let is_each = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let each = text.lines().filter(is_each);
    each.filter_map(|line| cpu_of(line, tick_ns)).collect()
}

/// proc_stat(5), first line.
fn parse_cpu(text: &str, tick_ns: u64) -> Option<CpuTimes> {
    let mut lines = text.lines();
    cpu_of(lines.find(|line| line.starts_with("cpu "))?, tick_ns)
}

/// Guest time is part of user time already.
fn cpu_of(line: &str, tick_ns: u64) -> Option<CpuTimes> {
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .skip(1)
        .map_while(|word| word.parse().ok())
        .collect();
    if ticks.len() < 4 {
        return None;
    }
    let time = |index: usize| ticks.get(index).map_or(0, |ticks| ticks * tick_ns);
    Some(CpuTimes {
        user_ns: time(0),
        nice_ns: time(1),
        system_ns: time(2),
        idle_ns: time(3),
        io_wait_ns: time(4),
        irq_ns: time(5),
        softirq_ns: time(6),
        steal_ns: time(7),
    })
}

/// Fields as in the kernel's Documentation/block/stat.rst; discards since 4.18, flushes since 5.5.
fn parse_device<'a>(words: impl Iterator<Item = &'a str>) -> Option<DeviceCounters> {
    let fields: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
    if fields.len() < 11 {
        return None;
    }
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    let milliseconds = |index: usize| field(index).wrapping_mul(1_000_000);
    Some(DeviceCounters {
        reads: field(0),
        read_bytes: field(2).wrapping_mul(512),
        read_ns: milliseconds(3),
        writes: field(4),
        written_bytes: field(6).wrapping_mul(512),
        write_ns: milliseconds(7),
        busy_ns: milliseconds(9),
        weighted_ns: milliseconds(10),
        discards: field(11),
        flushes: field(15),
        read_merges: field(1),
        write_merges: field(5),
    })
}

fn parse_throttle(text: &str, unit: ThrottleUnit) -> Option<Throttle> {
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(name, _)| *name == key)
            .and_then(|(_, value)| value.trim().parse::<u64>().ok())
    };
    let time_ns = match unit {
        ThrottleUnit::Nanoseconds => value("throttled_time")?,
        ThrottleUnit::Microseconds => value("throttled_usec")? * 1000,
    };
    Some(Throttle {
        time_ns,
        periods: value("nr_throttled")?,
    })
}

/// The level that was held back most: levels are throttled at the same time, so that their sum would count twice.
fn throttle_between(earlier: &[Option<Throttle>], now: &[Option<Throttle>]) -> Option<Throttle> {
    earlier
        .iter()
        .zip(now)
        .filter_map(|(earlier, now)| {
            let (earlier, now) = ((*earlier)?, (*now)?);
            Some(Throttle {
                time_ns: now.time_ns.saturating_sub(earlier.time_ns),
                periods: now.periods.saturating_sub(earlier.periods),
            })
        })
        .max_by_key(|one| (one.time_ns, one.periods))
}

/// Which interface a hierarchy of control groups has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupVersion {
    One,
    Two,
}

/// The levels of our own control group, own level first, in each hierarchy that has this controller of version 1, and in that
/// of version 2. cgroups(7): /proc/self/cgroup names our group in each hierarchy, the mount table where a hierarchy is seen.
fn own_levels(root: &SysRoot, controller: &str) -> Vec<(PathBuf, GroupVersion)> {
    let groups = read_text(&root.proc.join("self/cgroup")).unwrap_or_default();
    let mounts = own_mounts(root);
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (version, mount) = match controllers.split(',').any(|name| name == controller) {
            true => (
                GroupVersion::One,
                hierarchy(&mounts, "cgroup", Some(controller)),
            ),
            false if controllers.is_empty() => {
                (GroupVersion::Two, hierarchy(&mounts, "cgroup2", None))
            }
            false => continue,
        };
        let levels = mount.map_or_else(Vec::new, |mount| levels(root, mount, group));
        found.extend(levels.into_iter().map(|level| (level, version)));
    }
    found
}

fn throttle_files(root: &SysRoot) -> Vec<(PathBuf, ThrottleUnit)> {
    let file = |(level, version): (PathBuf, GroupVersion)| {
        let unit = match version {
            GroupVersion::One => ThrottleUnit::Nanoseconds,
            GroupVersion::Two => ThrottleUnit::Microseconds,
        };
        (level.join("cpu.stat"), unit)
    };
    let mut files: Vec<_> = own_levels(root, "cpu").into_iter().map(file).collect();
    files.retain(|(path, unit)| {
        read_text(path).is_some_and(|text| parse_throttle(&text, *unit).is_some())
    });
    files
}

fn hierarchy<'a>(mounts: &'a [Mount], kind: &str, controller: Option<&str>) -> Option<&'a Mount> {
    mounts.iter().find(|mount| {
        mount.kind == kind
            && controller.is_none_or(|name| mount.options.split(',').any(|option| option == name))
    })
}

/// From the group itself up to the root of what is mounted.
fn levels(root: &SysRoot, mount: &Mount, group: &str) -> Vec<PathBuf> {
    let top = root.locate(&mount.point);
    // In a container the mount may show a part of the hierarchy only, whose name starts every group below it.
    let below = group.strip_prefix(mount.root.as_str()).unwrap_or(group);
    let group = top.join(below.trim_start_matches('/'));
    group
        .ancestors()
        .take_while(|directory| directory.starts_with(&top))
        .map(Path::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    pub(super) fn write(directory: &Path, name: &str, text: &str) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn machine(directory: &Path, cpu: &str, sda: &str, throttled: &str) {
        write(directory, "proc/stat", cpu);
        write(directory, "sys/block/sda/stat", sda);
        write(
            directory,
            "sys/fs/cgroup/pod/own/cpu.stat",
            "usage_usec 5\nnr_throttled 1\nthrottled_usec 7\n",
        );
        write(directory, "sys/fs/cgroup/pod/cpu.stat", throttled);
    }

    #[test]
    fn differences_of_a_faked_machine() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        write(directory, "proc/self/cgroup", "0::/pod/own\n");
        write(
            directory,
            "proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        );
        machine(
            directory,
            "cpu  10 1 5 100 3 1 2 4 9 0\ncpu0 1 1 1 1\n",
            "10 0 80 4 20 0 160 6 0 7 8 1 0 0 0 2 0",
            "nr_throttled 2\nthrottled_usec 1000\n",
        );
        write(
            directory,
            "proc/diskstats",
            "   8       0 sdz 1 0 8 1 0 0 0 0 0 1 1\n",
        );
        let names = ["sda", "sdz", "gone"].map(str::to_owned);
        let mut sampler = Sampler::new(&SysRoot::under(directory), &names);
        machine(
            directory,
            "cpu  110 1 25 200 3 1 4 14 9 0\ncpu0 1 1 1 1\n",
            "11 0 88 5 22 0 176 8 0 9 18 3 0 0 0 3 0",
            "nr_throttled 5\nthrottled_usec 41000\n",
        );
        write(
            directory,
            "proc/diskstats",
            "   8       0 sdz 4 0 32 1 0 0 0 0 0 1 1\n",
        );
        let sample = sampler.sample();
        let tick = nanoseconds_per_tick();
        let cpu = sample.cpu.unwrap();
        assert_eq!(
            (
                cpu.user_ns,
                cpu.system_ns,
                cpu.idle_ns,
                cpu.softirq_ns,
                cpu.steal_ns
            ),
            (100 * tick, 20 * tick, 100 * tick, 2 * tick, 10 * tick)
        );
        assert_eq!(
            (sample.throttled_ns, sample.throttled_periods),
            (Some(40_000_000), Some(3))
        );
        let expected = DeviceCounters {
            reads: 1,
            read_bytes: 8 * 512,
            read_ns: 1_000_000,
            writes: 2,
            written_bytes: 16 * 512,
            write_ns: 2_000_000,
            busy_ns: 2_000_000,
            weighted_ns: 10_000_000,
            read_merges: 0,
            write_merges: 0,
            discards: 2,
            flushes: 1,
        };
        assert_eq!(sample.devices.len(), 2);
        assert_eq!(sample.devices[0].counters, expected);
        assert_eq!(sample.devices[1].counters.reads, 3);
        assert_eq!(sampler.sample().cpu.unwrap().total_ns(), 0);
    }

    #[test]
    fn what_the_kernel_accounts_to_this_process_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let io = |read: u64, written: u64| {
            let text = format!("rchar: 9\nread_bytes: {read}\nwrite_bytes: {written}\n");
            write(directory, "proc/self/io", &text);
        };
        io(4096, 100);
        let mut sampler = Sampler::new(&SysRoot::under(directory), &[]);
        io(12_288, 100);
        let sample = sampler.sample();
        assert_eq!(
            (sample.fathom_read_bytes, sample.fathom_written_bytes),
            (Some(8192), Some(0))
        );
        let empty = tempfile::tempdir().unwrap();
        let mut silent = Sampler::new(&SysRoot::under(empty.path()), &[]);
        assert_eq!(silent.sample().fathom_read_bytes, None);
    }

    #[test]
    fn version_one_groups_in_a_container() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        write(
            directory,
            "proc/self/cgroup",
            "3:cpuset:/x\n2:cpu,cpuacct:/docker/abc\n",
        );
        write(
            directory,
            "proc/self/mountinfo",
            "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n",
        );
        let stat = |time: u64| format!("nr_periods 9\nnr_throttled 4\nthrottled_time {time}\n");
        write(directory, "sys/fs/cgroup/cpu/cpu.stat", &stat(5));
        let mut sampler = Sampler::new(&SysRoot::under(directory), &[]);
        write(directory, "sys/fs/cgroup/cpu/cpu.stat", &stat(50));
        assert_eq!(sampler.sample().throttled_ns, Some(45));
    }

    #[test]
    fn an_empty_machine_still_tells_of_this_process() {
        let directory = tempfile::tempdir().unwrap();
        let mut sampler = Sampler::new(&SysRoot::under(directory.path()), &["sda".to_owned()]);
        let before = sys::thread::process_cpu_ns();
        while sys::thread::process_cpu_ns() - before < 30_000_000 {}
        let sample = sampler.sample();
        assert_eq!(
            (sample.cpu, sample.throttled_ns, sample.devices.len()),
            (None, None, 0)
        );
        assert!(sample.fathom_user_ns + sample.fathom_system_ns >= 30_000_000);
        assert!(sample.fathom_memory_bytes > 0);
    }

    #[test]
    fn a_process_name_may_hold_anything() {
        let text = "12 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 77 0 0";
        assert_eq!(parse_own_system_ticks(text), Some(77));
    }
}
