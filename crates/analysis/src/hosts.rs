//! What each of several hosts did in a run, and which of them is slower than the others.
use measure::{CpuTimes, HostId, LatencyFigures, RunTotals};
use std::collections::BTreeSet;

/// A host whose response p99 is this many times the median of the others, the higher of two in the middle, is slower.
pub const SLOWER_RESPONSE: f64 = 1.25;

/// A host whose rate is below the mean of all by this share is slower, where the same is asked of all.
pub const SLOWER_RATE: f64 = 0.1;

/// Responses below which a p99 is the longest of them.
const RESPONSES_LEAST: u64 = 100;

/// One host in a run, over the time of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPoint {
    pub host: HostId,
    /// Successful operations per second.
    pub rate: f64,
    pub bytes_per_s: f64,
    /// From the intended arrival.
    pub response: LatencyFigures,
    /// From which value on response times are lower bounds.
    pub response_bound_ns: Option<u64>,
    /// Of all its CPUs, 0 to 1; `None` where it does not tell.
    pub cpu_busy: Option<f64>,
    /// Busy time of its CPUs per operation.
    pub cpu_ns_per_operation: Option<f64>,
    /// The arrivals that are asked of it, else its slots.
    asked: f64,
}

/// The host that is slower than the others, and by what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowest {
    pub host: HostId,
    pub by: SlowerBy,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowerBy {
    /// Its p99, and the median of the others.
    Response { own_ns: u64, others_ns: u64 },
    /// Its rate, and the mean of all.
    Rate { own: f64, mean: f64 },
}

/// The hosts of a run by their places; none where the run has only one.
pub fn host_points(totals: &RunTotals) -> Vec<HostPoint> {
    let hosts = totals.started.streams.iter().map(|stream| stream.host);
    let hosts: BTreeSet<HostId> = hosts.collect();
    if hosts.len() < 2 || totals.length_ns == 0 {
        return Vec::new();
    }
    let hosts = hosts.into_iter();
    hosts.filter_map(|host| point(totals, host)).collect()
}

fn point(totals: &RunTotals, host: HostId) -> Option<HostPoint> {
    let own = totals.on_host(host)?;
    let streams = own.started.streams.iter();
    let asked: Option<f64> = streams.map(|stream| stream.asked_rate).sum();
    let cpu = own.host.cpu.as_ref().filter(|cpu| cpu.total_ns() > 0);
    let busy = |cpu: &CpuTimes| cpu.busy_ns() as f64 / cpu.total_ns() as f64;
    Some(HostPoint {
        host,
        rate: own.rate(),
        bytes_per_s: own.bytes_per_second(),
        response: own.response(None),
        response_bound_ns: own.response_bound_ns(),
        cpu_busy: cpu.map(busy),
        cpu_ns_per_operation: own.host_cpu_ns_per_operation(),
        asked: asked.unwrap_or_else(|| f64::from(own.slots())),
    })
}

/// The slowest host, where one differs: first by response, then by rate.
pub fn slowest(points: &[HostPoint]) -> Option<Slowest> {
    by_response(points).or_else(|| by_rate(points))
}

fn by_response(points: &[HostPoint]) -> Option<Slowest> {
    let is_enough = |figures: &LatencyFigures| figures.histogram.count() >= RESPONSES_LEAST;
    let p99 = |figures: &LatencyFigures| figures.percentile_ns(99.0);
    let counted = points.iter().filter(|point| is_enough(&point.response));
    let slow = counted.max_by_key(|point| p99(&point.response))?;
    let counted = points.iter().filter(|point| is_enough(&point.response));
    let others = counted.filter(|point| point.host != slow.host);
    let mut others: Vec<u64> = others.map(|point| p99(&point.response)).collect();
    others.sort_unstable();
    let (own_ns, others_ns) = (p99(&slow.response), *others.get(others.len() / 2)?);
    let is_slower = own_ns as f64 >= SLOWER_RESPONSE * others_ns as f64;
    is_slower.then_some(Slowest {
        host: slow.host,
        by: SlowerBy::Response { own_ns, others_ns },
    })
}

fn by_rate(points: &[HostPoint]) -> Option<Slowest> {
    let first = points.first()?.asked;
    let is_alike = |point: &HostPoint| (point.asked - first).abs() <= 0.01 * first;
    if !points.iter().all(is_alike) {
        return None;
    }
    let mean = points.iter().map(|point| point.rate).sum::<f64>() / points.len() as f64;
    let least = |one: &&HostPoint, other: &&HostPoint| one.rate.total_cmp(&other.rate);
    let slow = points.iter().min_by(least)?;
    (slow.rate < (1.0 - SLOWER_RATE) * mean).then_some(Slowest {
        host: slow.host,
        by: SlowerBy::Rate {
            own: slow.rate,
            mean,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(host: HostId, rate: f64, response_ns: u64) -> HostPoint {
        HostPoint {
            host,
            rate,
            bytes_per_s: rate * 4096.0,
            response: LatencyFigures::of(&[response_ns; 200]),
            response_bound_ns: None,
            cpu_busy: None,
            cpu_ns_per_operation: None,
            asked: 8.0,
        }
    }

    #[test]
    fn hosts_that_are_alike_have_no_slowest() {
        let alike = [host(0, 1000.0, 100_000), host(1, 950.0, 110_000)];
        assert_eq!(slowest(&alike), None);
        assert_eq!(slowest(&[]), None);
    }

    #[test]
    fn response_counts_before_rate() {
        let hosts = [
            host(0, 500.0, 100_000),
            host(1, 1000.0, 400_000),
            host(2, 1000.0, 100_000),
        ];
        let found = slowest(&hosts).unwrap();
        assert_eq!(found.host, 1);
        assert!(matches!(found.by, SlowerBy::Response { own_ns, others_ns }
            if own_ns > 3 * others_ns));
    }

    #[test]
    fn one_of_two_that_are_slow_alike_among_three_is_not_named() {
        let hosts = [
            host(0, 1000.0, 100_000),
            host(1, 1000.0, 390_000),
            host(2, 1000.0, 400_000),
        ];
        assert_eq!(slowest(&hosts), None);
    }

    #[test]
    fn a_rate_counts_where_the_same_is_asked() {
        let mut hosts = [host(0, 500.0, 100_000), host(1, 1000.0, 100_000)];
        let by = SlowerBy::Rate {
            own: 500.0,
            mean: 750.0,
        };
        assert_eq!(slowest(&hosts), Some(Slowest { host: 0, by }));
        hosts[0].asked = 4.0;
        assert_eq!(slowest(&hosts), None);
    }
}
