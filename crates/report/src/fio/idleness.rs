//! How idle the CPUs were, where a user asks for it (`--idle-prof`). The original measures it by a thread of low priority on
//! each CPU and tells how long a piece of its work takes; here the kernel's own counts tell, and no such work is done.
use measure::CpuTimes;
use std::fmt::Write;

/// What is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleProfile {
    /// All CPUs together.
    System,
    /// Each CPU too.
    PerCpu,
}

/// CPU time since the start of an execution, as the kernel counts it.
#[derive(Clone, Debug)]
pub struct Idleness {
    pub profile: IdleProfile,
    /// By the number of the CPU.
    pub cpus: Vec<CpuTimes>,
}

impl IdleProfile {
    /// The words for them.
    pub const NAMES: [&str; 2] = ["system", "percpu"];

    /// `None` where the word names none.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "system" => Some(Self::System),
            "percpu" => Some(Self::PerCpu),
            _ => None,
        }
    }
}

impl Idleness {
    /// In percent; waiting for I/O is idle, as a CPU that does so has nothing else to do.
    pub(super) fn system_pct(&self) -> f64 {
        let idle_ns: u64 = self.cpus.iter().map(idle_ns).sum();
        let total_ns: u64 = self.cpus.iter().map(CpuTimes::total_ns).sum();
        pct(idle_ns, total_ns)
    }

    /// Of each CPU, where that is told.
    pub(super) fn each_pct(&self) -> impl Iterator<Item = f64> {
        let told = match self.profile {
            IdleProfile::System => &[],
            IdleProfile::PerCpu => self.cpus.as_slice(),
        };
        told.iter().map(|cpu| pct(idle_ns(cpu), cpu.total_ns()))
    }

    pub(super) fn text(&self) -> String {
        let mut out = format!("\nCPU idleness:\n  system: {:.2}%\n", self.system_pct());
        let each: Vec<String> = self.each_pct().map(|pct| format!("{pct:.2}%")).collect();
        if !each.is_empty() {
            let _ = writeln!(out, "  percpu: {}", each.join(", "));
        }
        out
    }
}

fn idle_ns(cpu: &CpuTimes) -> u64 {
    cpu.idle_ns + cpu.io_wait_ns
}

/// 0 where no time has passed.
fn pct(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_told_of_all_and_of_each() {
        let cpu = |user_ns, idle_ns, io_wait_ns| CpuTimes {
            user_ns,
            idle_ns,
            io_wait_ns,
            ..CpuTimes::default()
        };
        let mut idleness = Idleness {
            profile: IdleProfile::PerCpu,
            cpus: vec![cpu(75, 20, 5), cpu(10, 290, 0)],
        };
        let expected = "\nCPU idleness:\n  system: 78.75%\n  percpu: 25.00%, 96.67%\n";
        assert_eq!(idleness.text(), expected);
        idleness.profile = IdleProfile::System;
        assert_eq!(idleness.text(), "\nCPU idleness:\n  system: 78.75%\n");
    }
}
