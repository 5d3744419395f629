//! What the host was and did: once per execution, and per interval.
use serde::{Deserialize, Serialize};

/// What stays the same during an execution.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    pub name: String,
    pub kernel: String,
    pub distribution: String,
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpus: u32,
    pub memory_bytes: u64,
    pub clock_source: String,
    /// Virtual machine or container, as far as it shows.
    pub virtualization: String,
    pub fathom_version: String,
    /// Anything else worth keeping, by name.
    pub details: Vec<(String, String)>,
    /// Block devices whose counters are kept, with what they are made of.
    #[serde(default)]
    pub devices: Vec<DeviceFacts>,
}

/// A block device in its layer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    pub name: String,
    /// `disk`, `partition`, `multipath`, `mapper`, `raid`, `loop`, `nvme head` or `nvme path`.
    pub layer: String,
    /// What it is made of: the paths of a multipath device or NVMe head, the disk of a partition.
    pub members: Vec<String>,
    /// Limits of its queue by the file that tells them.
    pub limits: Vec<(String, String)>,
}

/// What a target is, as far as the machine tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetIdentity {
    pub path: String,
    /// The path with links resolved.
    pub real_path: String,
    /// `file`, `block device`, `missing`.
    pub kind: String,
    pub bytes: u64,
    /// The block device itself, or the one below the file; empty where there is none.
    pub device: String,
    /// Whole-disk names whose counters tell of this target.
    pub counted_devices: Vec<String>,
    pub model: String,
    pub vendor: String,
    pub serial: String,
    pub wwn: String,
    pub firmware: String,
    /// `nvme`, `sata`, `iscsi`, `fc`, `virtio` …, where readable.
    pub transport: String,
    pub rotational: Option<bool>,
    pub logical_block_bytes: u64,
    pub physical_block_bytes: u64,
    pub scheduler: String,
    /// Files of the queue directory by name.
    pub queue: Vec<(String, String)>,
    pub mount: Option<MountFacts>,
    /// Paths of a multipath device, or the devices that this one is made of.
    pub members: Vec<String>,
    /// Never leaves memory.
    pub ram_backed: bool,
    /// Devices below a page cache that lies below the target itself, as with a loop device over a file that it does not
    /// open for direct I/O: empty if nothing below counts. `None` without such a cache.
    #[serde(default)]
    pub cached_below: Option<Vec<String>>,
}

/// File systems whose files several hosts see.
const NETWORK_MOUNTS: [&str; 8] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "lustre",
    "gpfs",
    "glusterfs",
];

/// Whether several hosts may see the files of a file system of this kind.
pub fn is_network_mount(kind: &str) -> bool {
    NETWORK_MOUNTS.iter().any(|known| kind.ends_with(known))
}

impl TargetIdentity {
    /// Whether its file system is one of the network.
    pub fn is_on_network(&self) -> bool {
        let mount = self.mount.as_ref();
        mount.is_some_and(|mount| is_network_mount(&mount.kind))
    }

    /// What it is called on every host that reaches it: a number of the device, or a file of a server. `None` where nothing
    /// says that another host could.
    pub fn shared_name(&self) -> Option<String> {
        if let Some(mount) = self.mount.as_ref().filter(|_| self.kind != "block device") {
            let below = self.real_path.strip_prefix(&*mount.point)?;
            return self
                .is_on_network()
                .then(|| format!("{} {}", mount.source, below.trim_start_matches('/')));
        }
        let is_named = self.kind == "block device" && !self.wwn.is_empty();
        is_named.then(|| format!("{} of {} bytes", self.wwn, self.bytes))
    }
}

/// The mount that holds a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountFacts {
    pub point: String,
    pub source: String,
    pub kind: String,
    pub options: String,
}

/// CPU time of all CPUs together, in nanoseconds, since boot or in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    pub user_ns: u64,
    pub nice_ns: u64,
    pub system_ns: u64,
    pub idle_ns: u64,
    pub io_wait_ns: u64,
    pub irq_ns: u64,
    pub softirq_ns: u64,
    pub steal_ns: u64,
}

/// Counters of one block device, since boot or in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_ns: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub write_ns: u64,
    pub discards: u64,
    pub flushes: u64,
    /// Time with at least one I/O in flight.
    pub busy_ns: u64,
    /// Integral of I/Os in flight over time.
    pub weighted_ns: u64,
    /// Requests that were joined to another before they went to the device.
    pub read_merges: u64,
    pub write_merges: u64,
}

/// Counters of a device by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSample {
    pub device: String,
    pub counters: DeviceCounters,
    /// Requests that the device had at the end of the interval.
    #[serde(default)]
    pub in_flight: Option<u64>,
    /// `running`, `offline`, `live`, `connecting` …, as the kernel says.
    #[serde(default)]
    pub state: Option<String>,
}

/// Counters of a network interface in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSample {
    pub interface: String,
    pub received_bytes: Option<u64>,
    pub sent_bytes: Option<u64>,
    pub received_drops: Option<u64>,
    pub sent_drops: Option<u64>,
    /// In millions of bits per second, at the end of the interval.
    pub speed_mbit: Option<u64>,
}

/// What a mount of NFS did in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountSample {
    pub point: String,
    /// What programs read and wrote, past the page cache or through it.
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
    /// What went to and from the server.
    pub server_read_bytes: Option<u64>,
    pub server_written_bytes: Option<u64>,
    pub operations: Option<u64>,
    /// Transmissions beyond the first of each operation.
    pub retransmits: Option<u64>,
}

/// What a control group may do on one device (`io.max`, `blkio.throttle.*`), the smallest limit of all its levels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoLimit {
    pub device: String,
    pub reads_per_s: Option<u64>,
    pub writes_per_s: Option<u64>,
    pub read_bytes_per_s: Option<u64>,
    pub written_bytes_per_s: Option<u64>,
}

/// Time in which tasks waited for something, as the kernel's pressure files count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    pub cpu_some_ns: Option<u64>,
    pub io_some_ns: Option<u64>,
    pub io_full_ns: Option<u64>,
    pub memory_some_ns: Option<u64>,
    pub memory_full_ns: Option<u64>,
}

/// What the host did in an interval. A field that the machine does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    pub cpu: Option<CpuTimes>,
    pub fathom_user_ns: u64,
    pub fathom_system_ns: u64,
    pub fathom_memory_bytes: u64,
    /// Bytes that this process had the storage layer read, past the page cache or into it (`read_bytes` of
    /// /proc/self/io). `None` if the kernel does not account for I/O.
    #[serde(default)]
    pub fathom_read_bytes: Option<u64>,
    /// Bytes that this process had written or made dirty (`write_bytes` of the same).
    #[serde(default)]
    pub fathom_written_bytes: Option<u64>,
    /// Time during which the control group was throttled.
    pub throttled_ns: Option<u64>,
    pub throttled_periods: Option<u64>,
    pub devices: Vec<DeviceSample>,
    /// Time in softirq of the CPU that had most of it.
    #[serde(default)]
    pub busiest_softirq_ns: Option<u64>,
    #[serde(default)]
    pub pressure: Pressure,
    /// Limits of the control group on I/O to the devices that count; empty where there are none, or they cannot be read.
    #[serde(default)]
    pub io_max: Vec<IoLimit>,
    /// The hottest sensor, in thousandths of a degree Celsius.
    #[serde(default)]
    pub temperature_mc: Option<u64>,
    /// TCP segments of the whole host, and those sent again.
    #[serde(default)]
    pub tcp_sent: Option<u64>,
    #[serde(default)]
    pub tcp_retransmits: Option<u64>,
    #[serde(default)]
    pub networks: Vec<NetworkSample>,
    #[serde(default)]
    pub mounts: Vec<MountSample>,
}

impl CpuTimes {
    /// User, nice, system, irq and softirq.
    pub fn busy_ns(&self) -> u64 {
        self.user_ns + self.nice_ns + self.system_ns + self.irq_ns + self.softirq_ns
    }

    /// All of it, idle and stolen time too.
    pub fn total_ns(&self) -> u64 {
        self.busy_ns() + self.idle_ns + self.io_wait_ns + self.steal_ns
    }

    /// The time since `earlier`; a counter that went backwards counts as zero.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            nice_ns: self.nice_ns.saturating_sub(earlier.nice_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            idle_ns: self.idle_ns.saturating_sub(earlier.idle_ns),
            io_wait_ns: self.io_wait_ns.saturating_sub(earlier.io_wait_ns),
            irq_ns: self.irq_ns.saturating_sub(earlier.irq_ns),
            softirq_ns: self.softirq_ns.saturating_sub(earlier.softirq_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
        }
    }

    /// Adds the time of another interval.
    pub fn add(&mut self, other: &Self) {
        self.user_ns += other.user_ns;
        self.nice_ns += other.nice_ns;
        self.system_ns += other.system_ns;
        self.idle_ns += other.idle_ns;
        self.io_wait_ns += other.io_wait_ns;
        self.irq_ns += other.irq_ns;
        self.softirq_ns += other.softirq_ns;
        self.steal_ns += other.steal_ns;
    }
}

impl DeviceCounters {
    /// The counts since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads.wrapping_sub(earlier.reads),
            read_bytes: self.read_bytes.wrapping_sub(earlier.read_bytes),
            read_ns: self.read_ns.wrapping_sub(earlier.read_ns),
            writes: self.writes.wrapping_sub(earlier.writes),
            written_bytes: self.written_bytes.wrapping_sub(earlier.written_bytes),
            write_ns: self.write_ns.wrapping_sub(earlier.write_ns),
            discards: self.discards.wrapping_sub(earlier.discards),
            flushes: self.flushes.wrapping_sub(earlier.flushes),
            busy_ns: self.busy_ns.wrapping_sub(earlier.busy_ns),
            weighted_ns: self.weighted_ns.wrapping_sub(earlier.weighted_ns),
            read_merges: self.read_merges.wrapping_sub(earlier.read_merges),
            write_merges: self.write_merges.wrapping_sub(earlier.write_merges),
        }
    }

    /// Adds the counts of another interval.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.read_ns += other.read_ns;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
        self.write_ns += other.write_ns;
        self.discards += other.discards;
        self.flushes += other.flushes;
        self.busy_ns += other.busy_ns;
        self.weighted_ns += other.weighted_ns;
        self.read_merges += other.read_merges;
        self.write_merges += other.write_merges;
    }
}

impl TargetIdentity {
    /// Names of all devices whose counters tell of this target.
    pub fn devices(&self) -> impl Iterator<Item = &String> {
        let below = self.cached_below.iter().flatten();
        self.counted_devices.iter().chain(below)
    }

    /// With the names that its devices have among those of several hosts, as in [`HostSample::of_host`].
    #[must_use]
    pub fn of_host(mut self, host: &str) -> Self {
        let below = self.cached_below.iter_mut().flatten();
        let devices = self.counted_devices.iter_mut().chain(below);
        devices.for_each(|device| qualify(host, device));
        self
    }
}

impl HostSample {
    /// With names that are those of one host among several: each has a device `sda`.
    #[must_use]
    pub fn of_host(mut self, host: &str) -> Self {
        let devices = self.devices.iter_mut().map(|one| &mut one.device);
        let networks = self.networks.iter_mut().map(|one| &mut one.interface);
        let mounts = self.mounts.iter_mut().map(|one| &mut one.point);
        let limits = self.io_max.iter_mut().map(|one| &mut one.device);
        let names = devices.chain(networks).chain(mounts).chain(limits);
        names.for_each(|name| qualify(host, name));
        self
    }

    /// Adds another interval: times and counts add up, memory is the larger one.
    pub fn add(&mut self, other: &HostSample) {
        if let Some(cpu) = &other.cpu {
            self.cpu.get_or_insert_default().add(cpu);
        }
        self.fathom_user_ns += other.fathom_user_ns;
        self.fathom_system_ns += other.fathom_system_ns;
        self.fathom_memory_bytes = self.fathom_memory_bytes.max(other.fathom_memory_bytes);
        for (mine, theirs) in [
            (&mut self.throttled_ns, other.throttled_ns),
            (&mut self.fathom_read_bytes, other.fathom_read_bytes),
            (&mut self.fathom_written_bytes, other.fathom_written_bytes),
            (&mut self.throttled_periods, other.throttled_periods),
            (&mut self.busiest_softirq_ns, other.busiest_softirq_ns),
            (&mut self.tcp_sent, other.tcp_sent),
            (&mut self.tcp_retransmits, other.tcp_retransmits),
        ] {
            add_told(mine, theirs);
        }
        self.pressure.add(&other.pressure);
        self.temperature_mc = self.temperature_mc.max(other.temperature_mc);
        for limit in &other.io_max {
            self.io_max.retain(|known| known.device != limit.device);
            self.io_max.push(limit.clone());
        }
        self.add_networks(&other.networks);
        self.add_mounts(&other.mounts);
        for device in &other.devices {
            match self
                .devices
                .iter_mut()
                .find(|mine| mine.device == device.device)
            {
                Some(mine) => {
                    mine.counters.add(&device.counters);
                    mine.in_flight = device.in_flight;
                    mine.state.clone_from(&device.state);
                }
                None => self.devices.push(device.clone()),
            }
        }
    }

    fn add_networks(&mut self, others: &[NetworkSample]) {
        for theirs in others {
            let networks = &mut self.networks;
            let place = networks
                .iter()
                .position(|mine| mine.interface == theirs.interface);
            let Some(mine) = place.map(|place| &mut networks[place]) else {
                networks.push(theirs.clone());
                continue;
            };
            add_told(&mut mine.received_bytes, theirs.received_bytes);
            add_told(&mut mine.sent_bytes, theirs.sent_bytes);
            add_told(&mut mine.received_drops, theirs.received_drops);
            add_told(&mut mine.sent_drops, theirs.sent_drops);
            mine.speed_mbit = theirs.speed_mbit;
        }
    }

    fn add_mounts(&mut self, others: &[MountSample]) {
        for theirs in others {
            let mounts = &mut self.mounts;
            let place = mounts.iter().position(|mine| mine.point == theirs.point);
            let Some(mine) = place.map(|place| &mut mounts[place]) else {
                mounts.push(theirs.clone());
                continue;
            };
            add_told(&mut mine.read_bytes, theirs.read_bytes);
            add_told(&mut mine.written_bytes, theirs.written_bytes);
            add_told(&mut mine.server_read_bytes, theirs.server_read_bytes);
            add_told(&mut mine.server_written_bytes, theirs.server_written_bytes);
            add_told(&mut mine.operations, theirs.operations);
            add_told(&mut mine.retransmits, theirs.retransmits);
        }
    }
}

impl Pressure {
    /// Adds another interval.
    pub fn add(&mut self, other: &Self) {
        add_told(&mut self.cpu_some_ns, other.cpu_some_ns);
        add_told(&mut self.io_some_ns, other.io_some_ns);
        add_told(&mut self.io_full_ns, other.io_full_ns);
        add_told(&mut self.memory_some_ns, other.memory_some_ns);
        add_told(&mut self.memory_full_ns, other.memory_full_ns);
    }
}

fn qualify(host: &str, name: &mut String) {
    *name = format!("{host}:{name}");
}

/// What one side does not tell adds nothing.
fn add_told(mine: &mut Option<u64>, theirs: Option<u64>) {
    if let Some(theirs) = theirs {
        *mine.get_or_insert(0) += theirs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_has_one_name_on_all_hosts_that_reach_it() {
        let lun = |kind: &str, wwn: &str| TargetIdentity {
            kind: kind.to_owned(),
            wwn: wwn.to_owned(),
            bytes: 1 << 30,
            ..TargetIdentity::default()
        };
        let file = |kind: &str, point: &str| TargetIdentity {
            kind: "file".to_owned(),
            real_path: format!("{point}/a/file"),
            wwn: "naa.5000".to_owned(),
            mount: Some(MountFacts {
                point: point.to_owned(),
                source: "server:/export".to_owned(),
                kind: kind.to_owned(),
                options: String::new(),
            }),
            ..TargetIdentity::default()
        };
        assert!(lun("block device", "naa.5000").shared_name().is_some());
        assert_eq!(lun("block device", "").shared_name(), None);
        let (here, there) = (file("nfs4", "/mnt"), file("nfs4", "/srv/data"));
        assert_eq!(here.shared_name().unwrap(), "server:/export a/file");
        assert_eq!(here.shared_name(), there.shared_name());
        // Each host has a disk of its own below it.
        assert_eq!(file("ext4", "/mnt").shared_name(), None);
    }
}
