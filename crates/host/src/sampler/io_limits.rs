//! What control groups may do on a device: `io.max` of version 2, `blkio.throttle.*` of version 1. The smallest limit of all
//! levels holds.
use super::{GroupVersion, own_levels};
use crate::block::BlockDevice;
use crate::root::{SysRoot, read_text};
use measure::IoLimit;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The file of version 2, and those of version 1 with the words that it has for them.
const MAX: &str = "io.max";
const THROTTLES: [(&str, &str); 4] = [
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
];

/// Where limits are read, and of which devices they count. A look reads each file once, however many devices there are.
#[derive(Debug)]
pub(super) struct IoLimits {
    groups: Vec<(PathBuf, GroupVersion)>,
    /// Names by the numbers that the files have.
    devices: BTreeMap<String, String>,
}

impl IoLimits {
    pub(super) fn new(root: &SysRoot, devices: &[String]) -> Self {
        let is_there = |(level, version): &(PathBuf, GroupVersion)| match version {
            GroupVersion::One => level.join(THROTTLES[0].0).exists(),
            GroupVersion::Two => level.join(MAX).exists(),
        };
        let groups = own_levels(root, "blkio").into_iter().filter(is_there);
        let number = |name: &String| {
            let device = BlockDevice::by_name(root, name)?;
            Some((device.number.to_string(), name.clone()))
        };
        Self {
            groups: groups.collect(),
            devices: devices.iter().filter_map(number).collect(),
        }
    }

    /// The limits as they are now; a device without any is left out.
    pub(super) fn read(&self) -> Vec<IoLimit> {
        let mut limits = BTreeMap::new();
        for (level, version) in &self.groups {
            let files: &[(&str, &str)] = match version {
                GroupVersion::One => &THROTTLES,
                GroupVersion::Two => &[(MAX, "")],
            };
            for (file, word) in files {
                let text = read_text(&level.join(file)).unwrap_or_default();
                self.take(&text, word, &mut limits);
            }
        }
        let unlimited = |limit: &IoLimit| IoLimit {
            device: limit.device.clone(),
            ..IoLimit::default()
        };
        let limits = limits.into_values();
        limits.filter(|limit| *limit != unlimited(limit)).collect()
    }

    /// Takes the lines of a file in: of one limit, which `word` names, or of several with their words.
    fn take<'a>(&'a self, text: &str, word: &str, limits: &mut BTreeMap<&'a str, IoLimit>) {
        for (number, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            let Some(name) = self.devices.get(number) else {
                continue;
            };
            let known = limits.entry(name).or_insert_with(|| IoLimit {
                device: name.clone(),
                ..IoLimit::default()
            });
            match word {
                "" => value
                    .split(' ')
                    .filter_map(|pair| pair.split_once('='))
                    .for_each(|(word, value)| lower(known, word, value)),
                word => lower(known, word, value.trim()),
            }
        }
    }
}

/// Takes a limit in where it is smaller; `max` is none.
fn lower(limit: &mut IoLimit, word: &str, value: &str) {
    let known = match word {
        "riops" => &mut limit.reads_per_s,
        "wiops" => &mut limit.writes_per_s,
        "rbps" => &mut limit.read_bytes_per_s,
        "wbps" => &mut limit.written_bytes_per_s,
        _ => return,
    };
    *known = [*known, value.parse().ok()].into_iter().flatten().min();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::tests::write;

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
            "8:0 rbps=max wbps=1000 riops=500 wiops=max\n8:32 rbps=max wbps=max riops=max wiops=max\n",
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
        assert_eq!(IoLimits::new(&root, &devices).read(), [limit]);
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
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            IoLimits::new(&root, &names).read()
        };
        assert_eq!(of(&["sda"])[0].reads_per_s, Some(1000));
        assert_eq!(of(&[]), []);
    }
}
