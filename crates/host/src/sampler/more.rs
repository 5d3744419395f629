//! What the host tells beside CPU time and device counters: pressure, softirq, networks, TCP, mounts of NFS, temperature.
//! What a file does not tell is `None`.
use crate::block::iscsi_session;
use crate::root::{SysRoot, read_text};
use measure::{HostSample, MountSample, NetworkSample, Pressure};
use std::collections::BTreeMap;
use std::path::Path;

/// Counters as they stand at one moment.
#[derive(Debug, Default)]
pub(super) struct More {
    /// By CPU.
    softirq_ns: Vec<u64>,
    pressure: Pressure,
    tcp: Option<(u64, u64)>,
    networks: BTreeMap<String, NetworkSample>,
    mounts: BTreeMap<String, MountSample>,
}

impl More {
    pub(super) fn read(root: &SysRoot, tick_ns: u64) -> Self {
        let of_proc = |name: &str| read_text(&root.proc.join(name)).unwrap_or_default();
        let pressure = |name: &str, word: &str| pressure_ns(&of_proc(name), word);
        Self {
            softirq_ns: softirqs(&of_proc("stat"), tick_ns),
            pressure: Pressure {
                cpu_some_ns: pressure("pressure/cpu", "some"),
                io_some_ns: pressure("pressure/io", "some"),
                io_full_ns: pressure("pressure/io", "full"),
                memory_some_ns: pressure("pressure/memory", "some"),
                memory_full_ns: pressure("pressure/memory", "full"),
            },
            tcp: tcp(&of_proc("net/snmp")),
            networks: networks(root),
            mounts: mounts(&of_proc("self/mountstats")),
        }
    }
}

/// Adds what happened between two looks, and what is so now.
pub(super) fn add(sample: HostSample, root: &SysRoot, earlier: &More, now: &More) -> HostSample {
    let softirqs = now.softirq_ns.iter().zip(&earlier.softirq_ns);
    let tcp = now.tcp.zip(earlier.tcp);
    let (was, is) = (&earlier.pressure, &now.pressure);
    let networks = now.networks.iter();
    let mounts = now.mounts.iter();
    HostSample {
        busiest_softirq_ns: softirqs.map(|(now, was)| now.saturating_sub(*was)).max(),
        pressure: Pressure {
            cpu_some_ns: since(is.cpu_some_ns, was.cpu_some_ns),
            io_some_ns: since(is.io_some_ns, was.io_some_ns),
            io_full_ns: since(is.io_full_ns, was.io_full_ns),
            memory_some_ns: since(is.memory_some_ns, was.memory_some_ns),
            memory_full_ns: since(is.memory_full_ns, was.memory_full_ns),
        },
        temperature_mc: temperature(root),
        tcp_sent: tcp.map(|(now, was)| now.0.saturating_sub(was.0)),
        tcp_retransmits: tcp.map(|(now, was)| now.1.saturating_sub(was.1)),
        networks: networks
            .filter_map(|(name, now)| Some(network_since(now, earlier.networks.get(name)?)))
            .collect(),
        mounts: mounts
            .filter_map(|(point, now)| Some(mount_since(now, earlier.mounts.get(point)?)))
            .collect(),
        ..sample
    }
}

/// A counter that went backwards, as after a device was made anew, tells nothing.
fn since(now: Option<u64>, earlier: Option<u64>) -> Option<u64> {
    now?.checked_sub(earlier?)
}

fn network_since(now: &NetworkSample, was: &NetworkSample) -> NetworkSample {
    NetworkSample {
        interface: now.interface.clone(),
        received_bytes: since(now.received_bytes, was.received_bytes),
        sent_bytes: since(now.sent_bytes, was.sent_bytes),
        received_drops: since(now.received_drops, was.received_drops),
        sent_drops: since(now.sent_drops, was.sent_drops),
        speed_mbit: now.speed_mbit,
    }
}

fn mount_since(now: &MountSample, was: &MountSample) -> MountSample {
    MountSample {
        point: now.point.clone(),
        read_bytes: since(now.read_bytes, was.read_bytes),
        written_bytes: since(now.written_bytes, was.written_bytes),
        server_read_bytes: since(now.server_read_bytes, was.server_read_bytes),
        server_written_bytes: since(now.server_written_bytes, was.server_written_bytes),
        operations: since(now.operations, was.operations),
        retransmits: since(now.retransmits, was.retransmits),
    }
}

/// proc_stat(5): a line for each CPU, softirq in the seventh column.
fn softirqs(text: &str, tick_ns: u64) -> Vec<u64> {
    let cpus = text.lines().filter_map(|line| line.strip_prefix("cpu"));
    let single = cpus.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let softirq = |rest: &str| rest.split_ascii_whitespace().nth(7)?.parse::<u64>().ok();
    single
        .map_while(softirq)
        .map(|ticks| ticks * tick_ns)
        .collect()
}

/// The kernel's Documentation/accounting/psi.rst: microseconds in all behind `total=`.
fn pressure_ns(text: &str, word: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find(|line| line.split(' ').next() == Some(word))?;
    let total = line.rsplit_once("total=")?.1.trim();
    total.parse::<u64>().ok()?.checked_mul(1_000)
}

/// Segments sent, and sent again: a line of names and one of values.
fn tcp(text: &str) -> Option<(u64, u64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let names = lines.next()?.split_ascii_whitespace();
    let values: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let places: BTreeMap<&str, usize> = names.enumerate().map(|(n, name)| (name, n)).collect();
    let value = |name: &str| values.get(*places.get(name)?)?.parse::<u64>().ok();
    Some((value("OutSegs")?, value("RetransSegs")?))
}

/// Interfaces but the loopback.
fn networks(root: &SysRoot) -> BTreeMap<String, NetworkSample> {
    let Ok(entries) = std::fs::read_dir(root.sys.join("class/net")) else {
        return BTreeMap::new();
    };
    let mut found = BTreeMap::new();
    for entry in entries.flatten() {
        let Ok(interface) = entry.file_name().into_string() else {
            continue;
        };
        let number = |name: &str| number(&entry.path().join(name));
        if interface == "lo" || number("statistics/rx_bytes").is_none() {
            continue;
        }
        let sample = NetworkSample {
            interface: interface.clone(),
            received_bytes: number("statistics/rx_bytes"),
            sent_bytes: number("statistics/tx_bytes"),
            received_drops: number("statistics/rx_dropped"),
            sent_drops: number("statistics/tx_dropped"),
            // Virtual ones tell -1, or refuse.
            speed_mbit: number("speed").filter(|speed| *speed > 0),
        };
        found.insert(interface, sample);
    }
    found
}

fn number(path: &Path) -> Option<u64> {
    read_text(path)?.trim().parse().ok()
}

/// /proc/self/mountstats: of each NFS mount bytes (programs by plain and direct calls, then the server), and operations with
/// their transmissions.
fn mounts(text: &str) -> BTreeMap<String, MountSample> {
    let mut found = BTreeMap::new();
    for part in text
        .split("\ndevice ")
        .flat_map(|part| part.strip_prefix("device ").or(Some(part)))
    {
        let mut words = part
            .lines()
            .next()
            .unwrap_or("")
            .split(' ')
            .skip_while(|word| *word != "on");
        let (Some(point), Some("with")) = (words.nth(1), words.next()) else {
            continue;
        };
        if !words.any(|word| word == "nfs" || word == "nfs4") {
            continue;
        }
        let bytes = part
            .lines()
            .find_map(|line| line.trim().strip_prefix("bytes:"));
        let bytes: Vec<u64> = numbers(bytes.unwrap_or(""));
        let sum = |one: usize, other: usize| bytes.get(one)?.checked_add(*bytes.get(other)?);
        let per_operation = part.split_once("per-op statistics").map(|(_, rest)| rest);
        let counts = per_operation.map(|rest| {
            let lines = rest.lines().filter_map(|line| line.split_once(':'));
            let counts = lines
                .map(|(_, rest)| numbers(rest))
                .filter(|counts| counts.len() > 1);
            counts.fold((0, 0), |(all, again), counts| {
                (all + counts[0], again + counts[1].saturating_sub(counts[0]))
            })
        });
        let sample = MountSample {
            point: point.to_owned(),
            read_bytes: sum(0, 2),
            written_bytes: sum(1, 3),
            server_read_bytes: bytes.get(4).copied(),
            server_written_bytes: bytes.get(5).copied(),
            operations: counts.map(|(all, _)| all),
            retransmits: counts.map(|(_, again)| again),
        };
        found.insert(point.to_owned(), sample);
    }
    found
}

fn numbers(text: &str) -> Vec<u64> {
    let words = text.split_ascii_whitespace();
    words.map_while(|word| word.parse().ok()).collect()
}

/// Of all sensors the hottest.
fn temperature(root: &SysRoot) -> Option<u64> {
    let entries = std::fs::read_dir(root.sys.join("class/thermal")).ok()?;
    let zones = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("thermal_zone")
    });
    zones
        .filter_map(|zone| number(&zone.path().join("temp")))
        .max()
}

/// Requests that a device has: reads and writes.
pub(super) fn in_flight(root: &SysRoot, device: &str) -> Option<u64> {
    let text = read_text(&root.sys.join("class/block").join(device).join("inflight"))?;
    let counts = numbers(&text);
    (counts.len() == 2).then(|| counts[0] + counts[1])
}

/// The word of the driver on a device, and that of the session by which it is reached, where there is one.
pub(super) fn state(root: &SysRoot, device: &str) -> Option<String> {
    let place = root.sys.join("class/block").join(device);
    let session = iscsi_session(&place).map(|session| session.join("state"));
    let files = std::iter::once(place.join("device/state")).chain(session);
    let words: Vec<String> = files.filter_map(|path| read_text(&path)).collect();
    let words: Vec<&str> = words.iter().map(|word| word.trim()).collect();
    let words = words.join(", ");
    (!words.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::tests::write;

    fn mountstats(bytes: &str, read: &str) -> String {
        format!(
            "device proc mounted on /proc with fstype proc\n\
             device filer:/v mounted on /mnt/v with fstype nfs4 statvers=1.1\n\topts:\trw\n\tbytes:\t{bytes}\n\
             \tper-op statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n\t        READ: {read} 0 1 1 1 1 1 0\n"
        )
    }

    #[test]
    fn what_a_faked_machine_did() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let root = SysRoot::under(directory);
        let psi = |total: u64| format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\n");
        let snmp = |out: u64, again: u64| {
            format!("Tcp: InSegs OutSegs RetransSegs\nTcp: 1 {out} {again}\n")
        };
        write(
            directory,
            "proc/stat",
            "cpu  1 1 1 1 1 1 30 1\ncpu0 1 1 1 1 1 1 10 1\ncpu1 1 1 1 1 1 1 20 1\n",
        );
        write(directory, "proc/pressure/io", &psi(5));
        write(directory, "proc/net/snmp", &snmp(100, 1));
        write(
            directory,
            "proc/self/mountstats",
            &mountstats("10 20 1 2 30 40 0 0", "5 6"),
        );
        write(directory, "sys/class/net/lo/statistics/rx_bytes", "5\n");
        write(directory, "sys/class/net/eth0/statistics/rx_bytes", "100\n");
        write(directory, "sys/class/net/eth0/statistics/tx_dropped", "1\n");
        write(directory, "sys/class/net/eth0/speed", "-1\n");
        let earlier = More::read(&root, 10);
        write(
            directory,
            "proc/stat",
            "cpu  1 1 1 1 1 1 35 1\ncpu0 1 1 1 1 1 1 14 1\ncpu1 1 1 1 1 1 1 21 1\n",
        );
        write(directory, "proc/pressure/io", &psi(12));
        write(directory, "proc/net/snmp", &snmp(150, 4));
        write(
            directory,
            "proc/self/mountstats",
            &mountstats("15 20 1 3 70 40 0 0", "9 13"),
        );
        write(directory, "sys/class/net/eth0/statistics/rx_bytes", "350\n");
        write(directory, "sys/class/net/eth0/statistics/tx_dropped", "0\n");
        let sample = add(
            HostSample::default(),
            &root,
            &earlier,
            &More::read(&root, 10),
        );
        assert_eq!(sample.busiest_softirq_ns, Some(40));
        assert_eq!(sample.pressure.io_some_ns, Some(7_000));
        // What is not told, or ran backwards, is no zero.
        assert_eq!(sample.pressure.io_full_ns, None);
        assert_eq!(
            (sample.tcp_sent, sample.tcp_retransmits),
            (Some(50), Some(3))
        );
        let network = NetworkSample {
            interface: "eth0".to_owned(),
            received_bytes: Some(250),
            ..NetworkSample::default()
        };
        assert_eq!(sample.networks, [network]);
        let mount = MountSample {
            point: "/mnt/v".to_owned(),
            read_bytes: Some(5),
            written_bytes: Some(1),
            server_read_bytes: Some(40),
            server_written_bytes: Some(0),
            operations: Some(4),
            retransmits: Some(3),
        };
        assert_eq!(sample.mounts, [mount]);
    }

    #[test]
    fn devices_and_sensors_tell_how_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let root = SysRoot::under(directory);
        write(directory, "sys/class/thermal/thermal_zone0/temp", "41000\n");
        assert_eq!(temperature(&root), Some(41_000));
        let of_device = |name: &str, text: &str| {
            write(directory, &format!("sys/class/block/sda/{name}"), text);
        };
        of_device("inflight", "       3        4\n");
        of_device("device/state", "running\n");
        assert_eq!(in_flight(&root, "sda"), Some(7));
        assert_eq!(state(&root, "sda"), Some("running".to_owned()));
        assert_eq!(in_flight(&root, "sdb"), None);
        let session = "sys/devices/platform/host3/session1";
        let disk = format!("{session}/target3:0:0/3:0:0:1/block/sdc");
        write(directory, &format!("{disk}/device/state"), "running\n");
        let of_session = format!("{session}/iscsi_session/session1/state");
        write(directory, &of_session, "FAILED\n");
        let link = directory.join("sys/class/block/sdc");
        std::os::unix::fs::symlink(directory.join(&disk), link).unwrap();
        assert_eq!(state(&root, "sdc"), Some("running, FAILED".to_owned()));
    }

    #[test]
    fn an_empty_machine_tells_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let root = SysRoot::under(directory.path());
        let nothing = More::read(&root, 10);
        let sample = add(
            HostSample::default(),
            &root,
            &nothing,
            &More::read(&root, 10),
        );
        assert_eq!(sample, HostSample::default());
    }
}
