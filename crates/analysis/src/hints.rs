//! What advice on a run needs to know of it: names as a command takes them, and what kept it from the storage. Knows no word.
use measure::ExecutionTarget;

/// What advice on a run needs to know of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    /// What other programs took of the CPUs, where that was more than Fathom did.
    pub others: Option<String>,
    /// The one target on storage that it reached, as an argument of a command.
    pub target: Option<String>,
    /// The arguments of a command that fills what was read and holds nothing, and how many targets these are.
    pub fill: Option<(String, usize)>,
    /// Whether a target is in memory, which no flag changes.
    pub is_in_memory: bool,
    /// Whether all that was not checked takes is more time.
    pub lacks_time: bool,
    /// Whether it was not seen that the slots sufficed.
    pub lacks_slots: bool,
    /// Why the figures are of this machine.
    pub limit: Option<OwnLimit>,
}

impl Hints {
    /// What other programs took of the CPUs, where that may have kept Fathom from its work: neither a process that was
    /// stopped nor a throttled control group is the fault of others.
    pub(crate) fn others_to_blame(&self) -> Option<&String> {
        let is_theirs = matches!(
            self.limit,
            Some(OwnLimit::Stolen | OwnLimit::Cpu | OwnLimit::Late)
        );
        self.others.as_ref().filter(|_| is_theirs)
    }
}

/// What kept Fathom from measuring storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnLimit {
    /// Nothing that stores data was reached.
    NoStorage,
    /// The control group may not use the CPUs.
    Throttled,
    /// The hypervisor gave them to others.
    Stolen,
    /// Threads waited for a CPU.
    Cpu,
    /// Threads came late.
    Late,
    /// The process did not run.
    Paused,
}

/// The target with its size, as arguments of a command on this host.
pub(crate) fn with_size(target: &ExecutionTarget) -> Option<String> {
    let path = argument(target)?;
    Some(format!("{path} --size {}", size(target.bytes)))
}

/// The target as an argument of a command on this host.
pub(crate) fn argument(target: &ExecutionTarget) -> Option<String> {
    let path = target.path.as_str();
    let is_here = target.host == 0 && !path.is_empty();
    is_here.then(|| quoted(path))
}

/// As a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "/._-+:@%,=".contains(one);
    match path.chars().all(is_plain) {
        true => path.into(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// The shortest size that is exactly so many bytes.
fn size(bytes: u64) -> String {
    let units = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    let fits = |(shift, _): &&(u32, &str)| bytes > 0 && bytes.is_multiple_of(1 << shift);
    match units.iter().find(fits) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_exact_and_names_survive_a_shell() {
        let sizes = [1 << 40, 3 << 30, (1 << 30) + (1 << 20), 4096, 4097, 0].map(size);
        assert_eq!(sizes, ["1t", "3g", "1025m", "4k", "4097", "0"]);
        assert_eq!(quoted("/dev/sdx"), "/dev/sdx");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
