//! What control groups may do on a device: `io.max` of version 2, `blkio.throttle.*` of version 1. The smallest limit of all
//! levels holds.
use super::{hierarchy, levels};
use crate::mounts::own_mounts;
use crate::root::{SysRoot, read_text};
use measure::IoLimit;
use std::path::{Path, PathBuf};

/// cgroups(7): the levels of our own group, in whichever hierarchy limits I/O.
pub(super) fn groups(root: &SysRoot) -> Vec<PathBuf> {
    let groups = read_text(&root.proc.join("self/cgroup")).unwrap_or_default();
    let mounts = own_mounts(root);
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
            continue;
        };
        let mount = match controllers.split(',').any(|name| name == "blkio") {
            true => hierarchy(&mounts, "cgroup", Some("blkio")),
            false if controllers.is_empty() => hierarchy(&mounts, "cgroup2", None),
            false => None,
        };
        if let Some(mount) = mount {
            found.extend(levels(root, mount, group));
        }
    }
    found.retain(|level| {
        let is_there = |name: &str| level.join(name).exists();
        is_there("io.max") || is_there("blkio.throttle.read_iops_device")
    });
    found
}

/// The limits on these devices; a device without any is left out.
pub(super) fn read(root: &SysRoot, groups: &[PathBuf], devices: &[String]) -> Vec<IoLimit> {
    if groups.is_empty() {
        return Vec::new();
    }
    let of_device = |device: &String| {
        let number = read_text(&root.sys.join("class/block").join(device).join("dev"));
        let number = number.or_else(|| read_text(&root.sys.join("block").join(device).join("dev")));
        let number = number?.trim().to_owned();
        let mut limit = IoLimit {
            device: device.clone(),
            ..IoLimit::default()
        };
        groups
            .iter()
            .for_each(|group| add(&mut limit, group, &number));
        let is_limited = limit
            != IoLimit {
                device: device.clone(),
                ..IoLimit::default()
            };
        is_limited.then_some(limit)
    };
    devices.iter().filter_map(of_device).collect()
}

fn add(limit: &mut IoLimit, group: &Path, number: &str) {
    let line = |name: &str| {
        let text = read_text(&group.join(name))?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines
            .find(|(of, _)| *of == number)
            .map(|(_, rest)| rest.trim().to_owned())
    };
    let all = line("io.max").unwrap_or_default();
    let value = |key: &str| {
        let mut words = all.split(' ').filter_map(|word| word.split_once('='));
        words
            .find(|(known, _)| *known == key)?
            .1
            .parse::<u64>()
            .ok()
    };
    let of_file = |name: &str| line(name)?.parse::<u64>().ok();
    let limits = [
        (
            &mut limit.reads_per_s,
            "riops",
            "blkio.throttle.read_iops_device",
        ),
        (
            &mut limit.writes_per_s,
            "wiops",
            "blkio.throttle.write_iops_device",
        ),
        (
            &mut limit.read_bytes_per_s,
            "rbps",
            "blkio.throttle.read_bps_device",
        ),
        (
            &mut limit.written_bytes_per_s,
            "wbps",
            "blkio.throttle.write_bps_device",
        ),
    ];
    for (known, key, file) in limits {
        let own = value(key).or_else(|| of_file(file));
        *known = [*known, own].into_iter().flatten().min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write(directory: &Path, name: &str, text: &str) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_smallest_limit_of_all_levels_holds() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        write(directory, "proc/self/cgroup", "0::/pod/own\n");
        let mount = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        write(directory, "proc/self/mountinfo", mount);
        let max = "sys/fs/cgroup/pod/io.max";
        write(
            directory,
            max,
            "8:0 rbps=max wbps=1000 riops=500 wiops=max\n8:16 rbps=1 wbps=1 riops=1 wiops=1\n",
        );
        let own = "sys/fs/cgroup/pod/own/io.max";
        write(
            directory,
            own,
            "8:0 rbps=max wbps=5000 riops=400 wiops=max\n",
        );
        write(directory, "sys/class/block/sda/dev", "8:0\n");
        write(directory, "sys/class/block/sdc/dev", "8:32\n");
        let root = SysRoot::under(directory);
        let devices = ["sda", "sdc"].map(str::to_owned);
        let limit = IoLimit {
            device: "sda".to_owned(),
            reads_per_s: Some(400),
            written_bytes_per_s: Some(1000),
            ..IoLimit::default()
        };
        assert_eq!(read(&root, &groups(&root), &devices), [limit]);
    }

    #[test]
    fn version_one_has_a_file_for_each_limit() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        write(directory, "proc/self/cgroup", "4:blkio:/lab\n");
        let mount = "32 31 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n";
        write(directory, "proc/self/mountinfo", mount);
        let file = "sys/fs/cgroup/blkio/lab/blkio.throttle.read_iops_device";
        write(directory, file, "8:0 1000\n");
        write(directory, "sys/class/block/sda/dev", "8:0\n");
        let root = SysRoot::under(directory);
        let limits = read(&root, &groups(&root), &["sda".to_owned()]);
        assert_eq!(limits[0].reads_per_s, Some(1000));
        assert_eq!(read(&root, &groups(&root), &[]), []);
    }
}
