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
}

/// What the host did in an interval. A field that the machine does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    pub cpu: Option<CpuTimes>,
    pub fathom_user_ns: u64,
    pub fathom_system_ns: u64,
    pub fathom_memory_bytes: u64,
    /// Time during which the control group was throttled.
    pub throttled_ns: Option<u64>,
    pub throttled_periods: Option<u64>,
    pub devices: Vec<DeviceSample>,
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

impl HostSample {
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
            (&mut self.throttled_periods, other.throttled_periods),
        ] {
            if let Some(theirs) = theirs {
                *mine.get_or_insert(0) += theirs;
            }
        }
        for device in &other.devices {
            match self
                .devices
                .iter_mut()
                .find(|mine| mine.device == device.device)
            {
                Some(mine) => mine.counters.add(&device.counters),
                None => self.devices.push(device.clone()),
            }
        }
    }
}
