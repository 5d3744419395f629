//! Under which conditions results came about, and in which of them two sides differ.
use crate::curve::STOLEN_SHARE;
use crate::watch::EndedRun;
use measure::{ExecutionStarted, ExecutionTarget};
use plan::Label;
use std::collections::BTreeMap;

/// More values of one condition than a line has room for.
const VALUES_MAX: usize = 4;

/// What a result was measured on and with, by the name of each condition. Several results of a side may have several values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions(BTreeMap<Condition, Vec<String>>);

/// In the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Condition {
    Verdict,
    Stolen,
    Fathom,
    Backend,
    Hosts,
    Kernel,
    Distribution,
    Cpus,
    Memory,
    Virtualization,
    Target,
    Bytes,
    Device,
    Firmware,
    Transport,
    Scheduler,
    QueueLimits,
    Mount,
    OpenMode,
    Options,
    Seed,
}

/// Options of fio that name things, or say how much is told of them.
const NAMES: [&str; 8] = [
    "name",
    "description",
    "filename",
    "filename_format",
    "directory",
    "group_reporting",
    "per_job_logs",
    "log_avg_msec",
];

/// A condition in which two sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub name: &'static str,
    pub base: String,
    pub other: String,
}

impl Condition {
    fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Stolen => "time that a hypervisor took",
            Self::Fathom => "version of Fathom",
            Self::Backend => "backend",
            Self::Hosts => "hosts",
            Self::Kernel => "kernel",
            Self::Distribution => "distribution",
            Self::Cpus => "CPUs",
            Self::Memory => "memory",
            Self::Virtualization => "virtualization",
            Self::Target => "kinds of targets",
            Self::Bytes => "bytes of targets",
            Self::Device => "device",
            Self::Firmware => "firmware",
            Self::Transport => "transport",
            Self::Scheduler => "scheduler",
            Self::QueueLimits => "queue limits",
            Self::Mount => "mount",
            Self::OpenMode => "opened",
            Self::Options => "options of fio",
            Self::Seed => "seed",
        }
    }
}

impl Conditions {
    /// Adds those of a result.
    pub fn add(&mut self, started: &ExecutionStarted) {
        let hosts = match started.hosts.is_empty() {
            true => std::slice::from_ref(&started.host),
            false => &started.hosts,
        };
        self.note(Condition::Fathom, &started.fathom_version);
        self.note(Condition::Backend, &started.backend);
        self.note(Condition::Hosts, &hosts.len().to_string());
        // What an import does not know is zero.
        let known = |value: u64, text: String| if value > 0 { text } else { String::new() };
        self.note(
            Condition::Seed,
            &known(started.seed, started.seed.to_string()),
        );
        for host in hosts {
            self.note(Condition::Kernel, &host.kernel);
            self.note(Condition::Distribution, &host.distribution);
            let cpus = format!("{} × {}", host.cpus, host.cpu_model);
            self.note(Condition::Cpus, &known(u64::from(host.cpus), cpus));
            let memory = crate::words::size(host.memory_bytes);
            self.note(Condition::Memory, &known(host.memory_bytes, memory));
            self.note(Condition::Virtualization, &host.virtualization);
        }
        let bytes: u64 = started.targets.iter().map(|target| target.bytes).sum();
        self.note(Condition::Bytes, &known(bytes, crate::words::size(bytes)));
        started
            .targets
            .iter()
            .for_each(|target| self.add_target(target));
    }

    /// Adds what a run of it says of itself.
    pub fn add_run(&mut self, run: &EndedRun) {
        self.note(Condition::Verdict, run.judged.headline().name());
        let stolen = run.totals.stolen_share();
        let text = |share: f64| match share >= STOLEN_SHARE {
            true => "1 % or more",
            false => "less than 1 %",
        };
        self.note(Condition::Stolen, stolen.map_or("", text));
        let streams = run.totals.started.streams.iter();
        streams.for_each(|stream| self.add_options(&stream.labels));
    }

    /// Adds the options of jobs of fio among labels.
    pub fn add_options(&mut self, labels: &[Label]) {
        for label in labels {
            let name = ["option.", "global."]
                .iter()
                .find_map(|front| label.key.strip_prefix(front));
            let Some(name) =
                name.filter(|name| !NAMES.contains(name) && !name.starts_with("write_"))
            else {
                continue;
            };
            let text = match label.value.is_empty() {
                true => name.to_owned(),
                false => format!("{name}={}", label.value),
            };
            self.note(Condition::Options, &text);
        }
    }

    fn add_target(&mut self, target: &ExecutionTarget) {
        let identity = &target.identity;
        // What was missing is a file by now.
        let kind = match &*identity.kind {
            "missing" => "file",
            kind => kind,
        };
        self.note(Condition::Target, kind);
        let device = format!("{} {}", identity.vendor, identity.model);
        self.note(Condition::Device, device.trim());
        self.note(Condition::Firmware, &identity.firmware);
        self.note(Condition::Transport, &identity.transport);
        self.note(Condition::Scheduler, &identity.scheduler);
        for (name, value) in &identity.queue {
            self.note(Condition::QueueLimits, &format!("{name} {value}"));
        }
        if let Some(mount) = &identity.mount {
            self.note(
                Condition::Mount,
                &format!("{} {}", mount.kind, mount.options),
            );
        }
        self.note(
            Condition::OpenMode,
            target.open_mode.as_deref().unwrap_or(""),
        );
    }

    /// What nobody told is no value.
    fn note(&mut self, condition: Condition, value: &str) {
        let values = self.0.entry(condition).or_default();
        if !value.is_empty() && !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }

    /// In what another side differs; of several values those that only one side has.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let none = Vec::new();
        let mut found = Vec::new();
        for (condition, base) in &self.0 {
            let other = other.0.get(condition).unwrap_or(&none);
            let only = |mine: &[String], theirs: &[String]| -> Vec<String> {
                let mine = mine.iter().filter(|value| !theirs.contains(value));
                mine.cloned().collect()
            };
            let (left, right) = (only(base, other), only(other, base));
            // What one side does not tell is no difference.
            let is_known = !base.is_empty() && !other.is_empty();
            if is_known && (!left.is_empty() || !right.is_empty()) {
                found.push(Difference {
                    name: condition.name(),
                    base: shown(&left),
                    other: shown(&right),
                });
            }
        }
        found
    }
}

fn shown(values: &[String]) -> String {
    match values.len() {
        0 => "-".to_owned(),
        count if count > VALUES_MAX => {
            let more = count - VALUES_MAX;
            format!("{} and {more} more", values[..VALUES_MAX].join(", "))
        }
        _ => values.join(", "),
    }
}
