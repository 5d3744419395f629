//! What stays the same of a machine during an execution.

use measure::HostFacts;
use std::collections::BTreeMap;

use crate::root::{SysRoot, names_in, read_text};

/// The running machine.
#[must_use]
pub fn facts() -> HostFacts {
    facts_of(&SysRoot::real())
}

/// The same with the trees of `root`; name, kernel, memory and usable CPUs are always the running machine's, since
/// they come from system calls.
#[must_use]
pub fn facts_of(root: &SysRoot) -> HostFacts {
    let uname = rustix::system::uname();
    HostFacts {
        name: uname.nodename().to_string_lossy().into_owned(),
        kernel: format!(
            "{} {}",
            uname.release().to_string_lossy(),
            uname.machine().to_string_lossy()
        ),
        distribution: distribution(root),
        cpu_model: cpu_model(root),
        cpus: u32::try_from(sys::thread::available_cpus().len()).unwrap_or(u32::MAX),
        memory_bytes: sys::file::memory_bytes(),
        clock_source: attribute(
            root,
            "devices/system/clocksource/clocksource0/current_clocksource",
        ),
        virtualization: virtualization(root),
        fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
        details: details(root, &uname.version().to_string_lossy()),
        devices: Vec::new(),
    }
}

/// The CPUs of each node of the running machine.
#[must_use]
pub fn cpus_by_node() -> BTreeMap<u32, Vec<u32>> {
    cpus_by_node_of(&SysRoot::real())
}

/// The same with the trees of `root`. Nodes without CPUs are there, too; a kernel that knows of no nodes has one.
#[must_use]
pub fn cpus_by_node_of(root: &SysRoot) -> BTreeMap<u32, Vec<u32>> {
    let folder = root.sys.join("devices/system/node");
    let node = |name: &String| {
        let number = name.strip_prefix("node")?.parse().ok()?;
        let list = read_text(&folder.join(name).join("cpulist")).unwrap_or_default();
        Some((number, listed(&list)))
    };
    let nodes: BTreeMap<u32, Vec<u32>> = names_in(&folder).iter().filter_map(node).collect();
    if nodes.is_empty() {
        let online = read_text(&root.sys.join("devices/system/cpu/online")).unwrap_or_default();
        return BTreeMap::from([(0, listed(&online))]);
    }
    nodes
}

/// Numbers as the kernel lists them: `0-3,8`.
fn listed(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.trim().parse().ok()?..=high.trim().parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

fn attribute(root: &SysRoot, name: &str) -> String {
    read_text(&root.sys.join(name)).unwrap_or_default()
}

fn distribution(root: &SysRoot) -> String {
    let Some(text) = read_text(&root.etc.join("os-release")) else {
        return String::new();
    };
    let value = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_once('='))
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value.trim_matches(['"', '\'']).to_owned())
    };
    value("PRETTY_NAME")
        .or_else(|| value("NAME"))
        .unwrap_or_default()
}

/// Not all architectures name a model; then what tells the processor apart is put together.
fn cpu_model(root: &SysRoot) -> String {
    let text = read_text(&root.proc.join("cpuinfo")).unwrap_or_default();
    let value = |key: &str| cpuinfo_value(&text, key);
    value("model name")
        .or_else(|| value("cpu model"))
        .or_else(|| value("cpu"))
        .or_else(|| value("Processor"))
        .or_else(|| {
            let part = value("CPU part")?;
            Some(format!(
                "implementer {} part {part}",
                value("CPU implementer")?
            ))
        })
        .unwrap_or_default()
}

fn cpuinfo_value(text: &str, key: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, value)| name.trim() == key && !value.trim().is_empty())
        .map(|(_, value)| value.trim().to_owned())
}

/// `machine` signs first, then `container` signs; empty on bare metal as far as it shows.
fn virtualization(root: &SysRoot) -> String {
    let mut signs = Vec::new();
    if let Some(kind) = read_text(&root.sys.join("hypervisor/type")) {
        signs.push(kind);
    }
    let cpuinfo = read_text(&root.proc.join("cpuinfo")).unwrap_or_default();
    let is_guest = cpuinfo_value(&cpuinfo, "flags")
        .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let vendor = [
        attribute(root, "class/dmi/id/sys_vendor"),
        attribute(root, "class/dmi/id/product_name"),
    ]
    .join(" ");
    const MACHINES: &[&str] = &[
        "QEMU",
        "KVM",
        "VMware",
        "VirtualBox",
        "Xen",
        "Microsoft Corporation Virtual",
        "Amazon EC2",
        "Google Compute",
        "OpenStack",
        "Bochs",
        "Nutanix AHV",
    ];
    if MACHINES.iter().any(|name| vendor.contains(name)) {
        signs.push(vendor.trim().to_owned());
    } else if is_guest && signs.is_empty() {
        signs.push("virtual machine".to_owned());
    }
    if let Some(kind) = container(root) {
        signs.push(kind);
    }
    signs.join(", ")
}

/// As the container managers leave it: in the first process's control group, and on what the root is mounted.
fn container(root: &SysRoot) -> Option<String> {
    let groups = read_text(&root.proc.join("1/cgroup")).unwrap_or_default();
    for (part, name) in [
        ("kubepods", "Kubernetes container"),
        ("docker", "Docker container"),
        ("libpod", "Podman container"),
        ("/lxc", "LXC container"),
    ] {
        if groups.contains(part) {
            return Some(name.to_owned());
        }
    }
    let mounts = crate::mounts::own_mounts(root);
    let is_overlay = mounts
        .iter()
        .any(|mount| mount.point.as_os_str() == "/" && mount.kind == "overlay");
    is_overlay.then(|| "container".to_owned())
}

fn details(root: &SysRoot, kernel_version: &str) -> Vec<(String, String)> {
    let mut all = vec![("Kernel version".to_owned(), kernel_version.to_owned())];
    let mut keep = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            all.push((name.to_owned(), value));
        }
    };
    let cpu = root.sys.join("devices/system/cpu");
    keep("CPUs online", read_text(&cpu.join("online")));
    keep(
        "CPU governor",
        read_text(&cpu.join("cpu0/cpufreq/scaling_governor")),
    );
    keep("SMT", read_text(&cpu.join("smt/control")));
    let nodes = names_in(&root.sys.join("devices/system/node"))
        .iter()
        .filter(|name| {
            name.strip_prefix("node")
                .is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
        })
        .count();
    keep("NUMA nodes", (nodes > 0).then(|| nodes.to_string()));
    keep(
        "io_uring disabled (kernel.io_uring_disabled)",
        read_text(&root.proc.join("sys/kernel/io_uring_disabled")),
    );
    keep(
        "AIO requests at most",
        read_text(&root.proc.join("sys/fs/aio-max-nr")),
    );
    keep(
        "Lockable memory",
        sys::memory::memlock_limit().map(|bytes| plan::Bytes(bytes).to_string()),
    );
    keep(
        "NVMe multipath",
        attribute_option(root, "module/nvme_core/parameters/multipath"),
    );
    all
}

fn attribute_option(root: &SysRoot, name: &str) -> Option<String> {
    read_text(&root.sys.join(name))
}

/// The addresses of this machine, as it sees itself.
pub fn own_addresses(root: &SysRoot) -> Vec<String> {
    let read =
        |name: &str| std::fs::read_to_string(root.proc.join("net").join(name)).unwrap_or_default();
    // An address stands on the line before the one that says whose it is.
    let four = read("fib_trie");
    let mut before = "";
    let mut own = Vec::new();
    for line in four.lines() {
        if line.trim() == "/32 host LOCAL" && !own.iter().any(|known| known == before) {
            own.push(before.to_owned());
        }
        before = line.trim().trim_start_matches("|-- ");
    }
    let six = read("if_inet6");
    let addresses = six.lines().filter_map(|line| {
        let digits = line.split_whitespace().next()?;
        let number = u128::from_str_radix(digits, 16).ok()?;
        Some(std::net::Ipv6Addr::from(number).to_string())
    });
    own.extend(addresses);
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, SysRoot) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = SysRoot::under(directory.path());
        (directory, root)
    }

    #[test]
    fn nodes_have_their_cpus() {
        let (_keep, root) = tree(&[
            ("sys/devices/system/node/node0/cpulist", "0-2,8\n"),
            ("sys/devices/system/node/node10/cpulist", "\n"),
            ("sys/devices/system/node/has_cpu", "0"),
        ]);
        let expected = BTreeMap::from([(0, vec![0, 1, 2, 8]), (10, vec![])]);
        assert_eq!(cpus_by_node_of(&root), expected);
    }

    #[test]
    fn a_kernel_without_nodes_has_one() {
        let (_keep, root) = tree(&[("sys/devices/system/cpu/online", "0-2\n")]);
        let expected = BTreeMap::from([(0, vec![0, 1, 2])]);
        assert_eq!(cpus_by_node_of(&root), expected);
    }

    #[test]
    fn a_faked_machine_is_read() {
        let (_keep, root) = tree(&[
            (
                "etc/os-release",
                "NAME=\"Some\"\nPRETTY_NAME=\"Some Linux 9\"\n",
            ),
            (
                "proc/cpuinfo",
                "processor : 0\nmodel name\t: A CPU @ 3 GHz\nflags : sse hypervisor\n",
            ),
            ("proc/1/cgroup", "0::/kubepods/burstable/pod1\n"),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "tsc\n",
            ),
            ("sys/devices/system/node/node0/cpulist", "0-3"),
            ("sys/devices/system/node/node1/cpulist", "4-7"),
        ]);
        let facts = facts_of(&root);
        assert_eq!(facts.distribution, "Some Linux 9");
        assert_eq!(facts.cpu_model, "A CPU @ 3 GHz");
        assert_eq!(facts.clock_source, "tsc");
        assert_eq!(
            facts.virtualization,
            "virtual machine, Kubernetes container"
        );
        assert!(
            facts
                .details
                .contains(&("NUMA nodes".to_owned(), "2".to_owned()))
        );
    }

    #[test]
    fn this_machine_tells_of_itself() {
        let facts = facts();
        assert!(!facts.kernel.is_empty() && facts.cpus >= 1 && facts.memory_bytes > 1 << 20);
        assert_eq!(facts.fathom_version, env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn an_empty_machine_gives_empty_facts() {
        let (_keep, root) = tree(&[]);
        let facts = facts_of(&root);
        assert_eq!(
            (
                facts.distribution.as_str(),
                facts.cpu_model.as_str(),
                facts.virtualization.as_str()
            ),
            ("", "", "")
        );
    }
}
