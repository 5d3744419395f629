//! Counts of one line of a report: what a device, a workload or the whole run did in an interval
//! or in all of them, and the figures that the columns show.
use super::RespColumns;
use measure::{CpuTimes, Figure, LatencyFigures};
use plan::Operation;

/// Operations of one direction.
#[derive(Clone, Debug, Default)]
pub struct Side {
    pub operations: u64,
    pub bytes: u64,
    /// Service or response, as the columns were asked to show.
    pub latency: LatencyFigures,
}

/// Both directions; anything but reads and writes (trims count as writes) has no column.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub read: Side,
    pub write: Side,
    /// Arrivals that were never served, with their age; only where columns show response.
    unserved: LatencyFigures,
    /// The queue depth is the integral of operations in flight.
    in_flight_ns: f64,
}

/// The values of one line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Values {
    pub rate: f64,
    pub bytes_per_second: f64,
    pub bytes_per_io: u64,
    pub read_pct: f64,
    pub resp_ms: f64,
    pub read_resp_ms: f64,
    pub write_resp_ms: f64,
    pub resp_max_ms: f64,
    pub read_max_ms: f64,
    pub write_max_ms: f64,
    pub resp_stddev_ms: f64,
    pub read_stddev_ms: f64,
    pub write_stddev_ms: f64,
    pub queue_depth: f64,
}

/// Shares of the time of all CPUs, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuShares {
    pub user: f64,
    pub system: f64,
    pub wait: f64,
    pub idle: f64,
}

impl Side {
    fn merge(&mut self, other: &Side) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
    }
}

impl Tally {
    pub fn add_figure(&mut self, figure: &Figure, columns: RespColumns) {
        let side = match figure.key.operation {
            Operation::Read => &mut self.read,
            Operation::Write | Operation::Trim => &mut self.write,
            _ => return,
        };
        side.operations += figure.operations;
        side.bytes += figure.bytes;
        side.latency.merge(match columns {
            RespColumns::Service => &figure.service,
            RespColumns::Arrival => &figure.response,
        });
    }

    /// Adds arrivals that were still waiting at the end of the window.
    pub fn add_unserved(&mut self, ages: &LatencyFigures) {
        self.unserved.merge(ages);
    }

    /// Adds time that operations were out, whether they came back or not.
    pub fn add_in_flight(&mut self, ns: f64) {
        self.in_flight_ns += ns;
    }

    pub fn merge(&mut self, other: &Tally) {
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.unserved.merge(&other.unserved);
        self.in_flight_ns += other.in_flight_ns;
    }

    pub fn operations(&self) -> u64 {
        self.read.operations + self.write.operations
    }

    /// The latencies of reads, writes and unserved arrivals together.
    pub fn all(&self) -> LatencyFigures {
        let mut all = self.read.latency.clone();
        all.merge(&self.write.latency);
        all.merge(&self.unserved);
        all
    }

    /// The columns over `seconds`; everything is zero over no time at all.
    pub fn values(&self, seconds: f64) -> Values {
        let operations = self.operations();
        if seconds <= 0.0 {
            return Values::default();
        }
        let all = self.all();
        let [read, write] = [&self.read.latency, &self.write.latency];
        let bytes = self.read.bytes + self.write.bytes;
        let read_share = self.read.operations as f64 / operations.max(1) as f64;
        Values {
            rate: operations as f64 / seconds,
            bytes_per_second: bytes as f64 / seconds,
            bytes_per_io: bytes.checked_div(operations).unwrap_or(0),
            read_pct: read_share * 100.0,
            resp_ms: all.mean_ns() / 1e6,
            read_resp_ms: read.mean_ns() / 1e6,
            write_resp_ms: write.mean_ns() / 1e6,
            resp_max_ms: all.max_ns as f64 / 1e6,
            read_max_ms: read.max_ns as f64 / 1e6,
            write_max_ms: write.max_ns as f64 / 1e6,
            resp_stddev_ms: all.histogram.standard_deviation_ns() / 1e6,
            read_stddev_ms: read.histogram.standard_deviation_ns() / 1e6,
            write_stddev_ms: write.histogram.standard_deviation_ns() / 1e6,
            queue_depth: self.in_flight_ns / (seconds * 1e9),
        }
    }
}

impl CpuShares {
    /// `None` when nothing was recorded.
    pub fn of(times: Option<&CpuTimes>) -> Option<Self> {
        let times = times?;
        let total = times.total_ns();
        let share = |part_ns: u64| part_ns as f64 * 100.0 / total as f64;
        (total > 0).then(|| Self {
            user: share(times.user_ns + times.nice_ns),
            system: share(times.system_ns + times.irq_ns + times.softirq_ns),
            wait: share(times.io_wait_ns),
            idle: share(times.idle_ns),
        })
    }

    pub fn used(&self) -> f64 {
        self.user + self.system
    }
}
