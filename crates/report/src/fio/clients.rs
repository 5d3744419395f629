//! The hosts of jobs that run on others, and what is printed of them before the reports.
use measure::ExecutionStarted;
use plan::Plan;
use std::fmt::Write;

/// The port that fio writes of each host.
pub(super) const PORT: u64 = 8765;

/// The hosts of an execution; none where the jobs run on this one.
#[derive(Debug, Default)]
pub(super) struct Clients {
    /// As they were named.
    pub names: Vec<String>,
    /// What they call themselves.
    machines: Vec<String>,
}

impl Clients {
    pub(super) fn of(started: &ExecutionStarted, plan: &Plan) -> Self {
        let names: Vec<String> = plan.hosts.iter().map(|host| host.name.clone()).collect();
        let machine = |place: usize| {
            let facts = started.hosts.get(place)?;
            let mut details = facts.details.iter();
            let own = details.find(|(name, _)| name == "Machine");
            own.map(|(_, machine)| machine.clone())
        };
        let machines = names.iter().enumerate();
        let machines = machines.map(|(place, name)| machine(place).unwrap_or_else(|| name.clone()));
        Self {
            machines: machines.collect(),
            names,
        }
    }

    pub(super) fn are_some(&self) -> bool {
        !self.names.is_empty()
    }

    /// A line for each, as fio probes them.
    pub(super) fn probes(&self) -> String {
        let mut out = String::new();
        for machine in &self.machines {
            let _ = writeln!(
                out,
                "hostname={machine}, be={}, 64-bit, os=Linux, arch={}, fio={}, flags=1",
                u8::from(cfg!(target_endian = "big")),
                std::env::consts::ARCH.replace('_', "-"),
                super::LAYOUT_VERSION
            );
        }
        out
    }

    /// Lines that a host says.
    pub(super) fn said(&self, client: usize, lines: &str) -> String {
        let machine = self.machines.get(client).map_or("", String::as_str);
        let line = |line: &str| format!("<{machine}> {line}\n");
        lines.lines().map(line).collect()
    }
}
