//! The columns of processors: of all hosts together, and of each where hosts tell their own.
use super::places::Places;
use super::tally::CpuShares;
use measure::{CpuTimes, HostId, Interval, IntervalPhase, RunStarted};

/// The columns of an interval or a run.
#[derive(Clone, Debug, Default)]
pub struct CpuColumns {
    pub all: Option<CpuShares>,
    /// By the places of hosts; empty where none tells its own.
    hosts: Vec<Option<CpuShares>>,
}

/// The processors of the hosts in a run.
#[derive(Clone, Debug)]
pub struct Processors {
    hosts: Vec<HostCpu>,
    /// Whether hosts tell their own.
    are_told: bool,
}

#[derive(Clone, Debug, Default)]
struct HostCpu {
    /// `None` where the run has no stream on it.
    id: Option<HostId>,
    now: Option<CpuTimes>,
    measured: Option<CpuTimes>,
    whole: Option<CpuTimes>,
}

impl CpuColumns {
    /// Those of a page, by the place of its host.
    pub fn of(&self, host: Option<usize>) -> Option<CpuShares> {
        let own = host.and_then(|host| self.hosts.get(host));
        own.copied().unwrap_or(self.all)
    }
}

impl Processors {
    pub fn of(started: &RunStarted, places: &Places) -> Self {
        let mut hosts = vec![HostCpu::default(); places.hosts.len()];
        for stream in &started.streams {
            let slave = &places.slaves[places.slave_of(&stream.labels)];
            hosts[slave.host].id = Some(stream.host);
        }
        Self {
            hosts,
            are_told: false,
        }
    }

    pub fn add(&mut self, interval: &Interval) {
        let told = &interval.engine.hosts;
        self.are_told |= told.iter().any(|host| host.sample.is_some());
        let is_measured = interval.phase == IntervalPhase::Measured;
        for cpu in &mut self.hosts {
            let mut own = told.iter().filter(|host| Some(host.host) == cpu.id);
            cpu.now = own.find_map(|host| host.sample.as_ref()?.cpu);
            let Some(now) = &cpu.now else { continue };
            cpu.whole.get_or_insert_default().add(now);
            if is_measured {
                cpu.measured.get_or_insert_default().add(now);
            }
        }
    }

    /// Takes all that was told for measured.
    pub fn measure_all(&mut self) {
        for host in &mut self.hosts {
            host.measured = host.whole;
        }
    }

    /// Of the interval that was added last.
    pub fn now(&self, all: Option<&CpuTimes>) -> CpuColumns {
        self.columns(all, |host| host.now.as_ref())
    }

    pub fn measured(&self, all: Option<&CpuTimes>) -> CpuColumns {
        self.columns(all, |host| host.measured.as_ref())
    }

    fn columns(
        &self,
        all: Option<&CpuTimes>,
        of: impl Fn(&HostCpu) -> Option<&CpuTimes>,
    ) -> CpuColumns {
        let hosts = self.hosts.iter().filter(|_| self.are_told);
        CpuColumns {
            all: CpuShares::of(all),
            hosts: hosts.map(|host| CpuShares::of(of(host))).collect(),
        }
    }
}
