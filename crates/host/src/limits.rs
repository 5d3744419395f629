//! What the kernel allows this process: files, threads, memory. Every limit comes with its name and how it is raised,
//! since the same shortage has many causes.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::root::{SysRoot, read_bytes, read_number, read_text};

/// The mappings of a thread: its stack, the guard below it, its buffer and its share of the allocator.
const MAPPINGS_PER_THREAD: u64 = 4;

/// One limit, less what is in use already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How much more may be used, and how much is.
    pub left: u64,
    pub used: u64,
    /// What limits it, such as `ulimit -n`.
    pub name: String,
    /// How it is raised, as a clause in the imperative.
    pub raise: String,
}

/// The limits that bind; nothing where no limit is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessLimits {
    /// Files open at a time.
    pub open_files: Option<Limit>,
    pub threads: Option<Limit>,
    /// Requests of native AIO outstanding at a time.
    pub aio_requests: Option<Limit>,
    /// Bytes of memory.
    pub memory_bytes: Option<Limit>,
}

/// What of its limits a process may raise by itself: the soft limits for open files, processes and locked memory up to
/// the hard ones.
pub fn raise_own_limits() {
    for resource in [Resource::Nofile, Resource::Nproc, Resource::Memlock] {
        let limit = getrlimit(resource);
        if limit.current != limit.maximum {
            let raised = Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            };
            // A refusal leaves the limit as it was, and the limits are read again.
            let _ = setrlimit(resource, raised);
        }
    }
}

/// The limits of this process as they are now.
#[must_use]
pub fn process_limits(root: &SysRoot) -> ProcessLimits {
    ProcessLimits {
        open_files: least(open_files(root)),
        threads: least(threads(root)),
        aio_requests: aio_requests(root),
        memory_bytes: least(memory(root)),
    }
}

fn least(limits: Vec<Option<Limit>>) -> Option<Limit> {
    limits.into_iter().flatten().min_by_key(|limit| limit.left)
}

fn limit(max: Option<u64>, used: u64, name: &str, raise: &str) -> Option<Limit> {
    Some(Limit {
        left: max?.saturating_sub(used),
        used,
        name: name.to_owned(),
        raise: raise.to_owned(),
    })
}

fn open_files(root: &SysRoot) -> Vec<Option<Limit>> {
    let used = std::fs::read_dir(root.proc.join("self/fd")).map_or(0, |entries| entries.count());
    let own = getrlimit(Resource::Nofile);
    // The system-wide table has no bound for root.
    let counts = read_text(&root.proc.join("sys/fs/file-nr")).unwrap_or_default();
    let counts: Vec<u64> = counts
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let table = match counts.as_slice() {
        [used, _, max] if !is_privileged() => limit(
            Some(*max),
            *used,
            "`fs.file-max`",
            "raise it with `sysctl fs.file-max=N`",
        ),
        _ => None,
    };
    vec![
        limit(
            own.current,
            used as u64,
            "`ulimit -n`",
            "raise it with `ulimit -n N`, or for good in /etc/security/limits.conf or with `LimitNOFILE=`",
        ),
        table,
    ]
}

fn threads(root: &SysRoot) -> Vec<Option<Limit>> {
    let number = |name: &str| read_number(&root.proc.join("sys").join(name));
    let running = tasks(root).unwrap_or(0);
    let own = getrlimit(Resource::Nproc).current;
    let mut all = vec![
        limit(
            number("kernel/threads-max"),
            running,
            "`kernel.threads-max`",
            "raise it with `sysctl kernel.threads-max=N`",
        ),
        limit(
            number("kernel/pid_max"),
            running,
            "`kernel.pid_max`",
            "raise it with `sysctl kernel.pid_max=N`",
        ),
        limit(
            number("vm/max_map_count").map(|maps| maps / MAPPINGS_PER_THREAD),
            0,
            "`vm.max_map_count`",
            "raise it with `sysctl vm.max_map_count=N`",
        ),
    ];
    // Who may do everything is not held to this one.
    if !is_privileged() {
        all.push(limit(
            own,
            threads_of_user(root),
            "`ulimit -u`",
            "raise it with `ulimit -u N`, or for good in /etc/security/limits.conf or with `LimitNPROC=`",
        ));
    }
    for group in control_groups(root, "pids") {
        let used = read_number(&group.join("pids.current")).unwrap_or(0);
        all.push(limit(
            read_number(&group.join("pids.max")),
            used,
            &format!("`pids.max` of the control group `{}`", group.display()),
            "raise it there, or with `TasksMax=` or `--pids-limit`",
        ));
    }
    all
}

fn aio_requests(root: &SysRoot) -> Option<Limit> {
    let number = |name: &str| read_number(&root.proc.join("sys/fs").join(name));
    limit(
        number("aio-max-nr"),
        number("aio-nr").unwrap_or(0),
        "`fs.aio-max-nr`",
        "raise it with `sysctl fs.aio-max-nr=N`",
    )
}

fn memory(root: &SysRoot) -> Vec<Option<Limit>> {
    let text = read_text(&root.proc.join("meminfo")).unwrap_or_default();
    let available = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .map(|kib| kib << 10);
    let mut all = vec![limit(
        available,
        0,
        "the free memory of this host",
        "add memory",
    )];
    for group in control_groups(root, "memory") {
        let used = read_number(&group.join("memory.current")).unwrap_or(0);
        // Pages of files are given back when others need them.
        let cached = read_text(&group.join("memory.stat"))
            .unwrap_or_default()
            .lines()
            .find_map(|line| line.strip_prefix("file ")?.parse().ok())
            .unwrap_or(0);
        all.push(limit(
            read_number(&group.join("memory.max")),
            used.saturating_sub(cached),
            &format!("`memory.max` of the control group `{}`", group.display()),
            "raise it there, or with `MemoryMax=` or `--memory`",
        ));
    }
    let own = getrlimit(Resource::As).current;
    all.push(limit(own, 0, "`ulimit -v`", "raise it with `ulimit -v N`"));
    all
}

/// The running control group and those above it, with version 2 or with the controller's own hierarchy of version 1.
fn control_groups(root: &SysRoot, controller: &str) -> Vec<PathBuf> {
    let text = read_bytes(&root.proc.join("self/cgroup")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut groups = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let base = root.sys.join("fs/cgroup");
        let base = match controllers {
            "" => base,
            some if some.split(',').any(|one| one == controller) => base.join(controller),
            _ => continue,
        };
        let mut group = base.join(path.trim_start_matches('/'));
        while group.starts_with(&base) {
            groups.push(group.clone());
            if !group.pop() {
                break;
            }
        }
    }
    groups
}

/// All threads of the machine, from the fourth field of loadavg: `running/all`.
fn tasks(root: &SysRoot) -> Option<u64> {
    let text = read_text(&root.proc.join("loadavg"))?;
    text.split(' ').nth(3)?.split_once('/')?.1.parse().ok()
}

/// The kernel counts the threads of a user, not of a process.
fn threads_of_user(root: &SysRoot) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::getuid().as_raw();
    let threads_of = |process: &Path| {
        let status = read_text(&process.join("status"))?;
        let count = status
            .lines()
            .find_map(|line| line.strip_prefix("Threads:"))?;
        count.trim().parse::<u64>().ok()
    };
    let Ok(entries) = std::fs::read_dir(&root.proc) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter(|entry| entry.metadata().is_ok_and(|facts| facts.uid() == user))
        .filter_map(|entry| threads_of(&entry.path()))
        .sum()
}

fn is_privileged() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, SysRoot) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = SysRoot::under(folder.path());
        (folder, root)
    }

    #[test]
    fn the_tightest_limit_is_named() {
        let (_folder, root) = machine(&[
            ("proc/loadavg", "0.1 0.2 0.3 2/400 1234\n"),
            ("proc/sys/kernel/threads-max", "30000\n"),
            ("proc/sys/kernel/pid_max", "32768\n"),
            ("proc/sys/vm/max_map_count", "65530\n"),
            ("proc/self/cgroup", "0::/a.slice/b.scope\n"),
            ("sys/fs/cgroup/a.slice/pids.max", "500\n"),
            ("sys/fs/cgroup/a.slice/pids.current", "120\n"),
            ("sys/fs/cgroup/a.slice/b.scope/pids.max", "max\n"),
            ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:  2048 kB\n"),
        ]);
        let limits = process_limits(&root);
        let threads = limits.threads.unwrap();
        assert_eq!(threads.left, 380);
        assert!(threads.name.contains("a.slice`"), "{}", threads.name);
        assert_eq!(limits.memory_bytes.unwrap().left, 2 << 20);
    }

    #[test]
    fn without_a_group_the_kernel_limits() {
        let (_folder, root) = machine(&[
            ("proc/loadavg", "0.1 0.2 0.3 2/400 1234\n"),
            ("proc/sys/kernel/threads-max", "3000\n"),
            ("proc/sys/vm/max_map_count", "4000\n"),
        ]);
        let threads = process_limits(&root).threads.unwrap();
        assert_eq!(
            (threads.left, threads.name.as_str()),
            (1000, "`vm.max_map_count`")
        );
    }

    #[test]
    fn requests_of_other_programs_count_against_the_limit() {
        let (_folder, root) = machine(&[
            ("proc/sys/fs/aio-max-nr", "65536\n"),
            ("proc/sys/fs/aio-nr", "60000\n"),
        ]);
        let requests = process_limits(&root).aio_requests.unwrap();
        assert_eq!(
            (requests.left, requests.name.as_str()),
            (5_536, "`fs.aio-max-nr`")
        );
        assert_eq!(process_limits(&machine(&[]).1).aio_requests, None);
    }

    #[test]
    fn this_process_can_raise_what_it_may() {
        raise_own_limits();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        let files = process_limits(&SysRoot::real()).open_files;
        assert!(
            limit.current.is_none()
                || files.is_some_and(|files| files.left < limit.current.unwrap())
        );
    }
}
