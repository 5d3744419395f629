//! What one window yields, whoever ran it: named numbers, so that the record of a comparison holds them all.
use std::collections::BTreeMap;

/// Successful operations per second.
pub const RATE: &str = "operations_per_s";
/// CPU time of the process in the measured window, by operation, ns.
pub const CPU: &str = "cpu_ns_per_operation";
/// Operations per second of CPU time.
pub const PER_CPU: &str = "operations_per_cpu_s";
/// CPU time of the whole process from its start to its end, ns: what the window leaves out shows here.
pub const PROCESS_CPU: &str = "process_cpu_ns";
/// From the intended moment to just before the system call (or to being awake), ns.
pub const LATENESS_P50: &str = "lateness_ns_p50";
pub const LATENESS_P99: &str = "lateness_ns_p99";
pub const LATENESS_MAX: &str = "lateness_ns_max";
/// CPU time of this machine that went to others on its host while the program ran, over that time; of two CPUs up to 2.
pub const STOLEN: &str = "stolen_cpu_share";

/// The numbers of one window by name; the unit is in the name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    values: BTreeMap<&'static str, f64>,
}

/// What a window consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    pub operations: u64,
    pub window_ns: u64,
    pub cpu_ns: u64,
}

impl Reading {
    pub fn with(mut self, name: &'static str, value: f64) -> Self {
        self.values.insert(name, value);
        self
    }

    /// The number of that name; not a number when the window has none, which no ratio accepts.
    pub fn get(&self, name: &str) -> f64 {
        self.values.get(name).copied().unwrap_or(f64::NAN)
    }

    pub fn values(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.values.iter().map(|(name, value)| (*name, *value))
    }
}

impl Window {
    /// The three numbers that every window has.
    pub fn reading(self) -> Reading {
        let operations = self.operations as f64;
        let cpu_ns = self.cpu_ns as f64;
        Reading::default()
            .with(RATE, operations * 1e9 / self.window_ns as f64)
            .with(CPU, cpu_ns / operations)
            .with(PER_CPU, operations * 1e9 / cpu_ns)
    }
}
