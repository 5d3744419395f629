//! What targets are built on, on a faked machine: LVM, multipath, RAID, encryption, and loop devices between them.

use std::fs;

use super::machine::{Machine, assert_never, is_held, is_mounted, is_swap};
use super::noise;
use crate::guard::Finding;

const GROUP: &str = "G0G0G0G0G0G0G0G0G0G0G0G0G0G0G0G0";
const OTHER_GROUP: &str = "H1H1H1H1H1H1H1H1H1H1H1H1H1H1H1H1";

/// The identifier of a logical volume as the device mapper knows it.
fn volume(group: &str, letter: char, layer: &str) -> String {
    format!("LVM-{group}{}{layer}", letter.to_string().repeat(32))
}

impl Machine {
    /// A device of the mapper, `dm-INDEX`, on `members`: each a name, that of a partition after its disk and a slash.
    fn mapping(&self, index: u32, uuid: &str, members: &[&str]) {
        let name = format!("dm-{index}");
        if !self.path(&format!("sys/block/{name}")).exists() {
            self.device(&name, "", &format!("253:{index}"));
        }
        self.block(&format!("{name}/dm/uuid"), uuid);
        self.block(&format!("{name}/dm/name"), &format!("map{index}"));
        self.join(&name, members);
    }

    /// A device that is neither a partition nor one of the mapper.
    fn whole(&self, name: &str, number: &str, members: &[&str]) {
        self.device(name, "", number);
        self.join(name, members);
    }

    fn join(&self, name: &str, members: &[&str]) {
        for member in members {
            let own_name = member.rsplit('/').next().unwrap();
            for link in [
                format!("{member}/holders/{name}"),
                format!("{name}/slaves/{own_name}"),
            ] {
                fs::create_dir_all(self.path(&format!("sys/devices/block/{link}"))).unwrap();
            }
        }
    }

    fn loop_over(&self, index: u32, path: &str) {
        self.device(&format!("loop{index}"), "", &format!("7:{index}"));
        self.block(&format!("loop{index}/loop/backing_file"), path);
    }

    fn swap_on(&self, path: &str) {
        let table = format!("Filename Type Size Used Priority\n{path}\n");
        self.file("proc/swaps", &table);
    }

    fn is_free(&self, name: &str) {
        assert_eq!(self.examine(name).findings, [], "{name}");
    }
}

fn mount_of(number: &str) -> String {
    format!("30 1 {number} / /data rw - ext4 /dev/whatever rw\n")
}

/// Whether a finding is one of a layer, and of the kind asked for.
fn below(is_it: fn(&Finding) -> bool) -> impl Fn(&Finding) -> bool {
    move |finding| matches!(finding, Finding::Below { finding, .. } if is_it(finding))
}

fn backs_loop(finding: &Finding) -> bool {
    matches!(finding, Finding::BacksLoop { .. })
}

/// `dm-0` and `dm-1` are volumes of one group on `sda2`.
fn two_volumes() -> Machine {
    let machine = Machine::new();
    machine.mapping(0, &volume(GROUP, 'a', ""), &["sda/sda2"]);
    machine.mapping(1, &volume(GROUP, 'b', ""), &["sda/sda2"]);
    machine
}

#[test]
fn a_volume_beside_a_mounted_one_passes() {
    let machine = two_volumes();
    machine.mounts(&format!("{}{}", mount_of("253:0"), mount_of("8:1")));
    machine.swap_on("/dev/dm-0 partition 9 0 -2");
    machine.is_free("dm-1");
    assert_never(&machine.examine("dm-0"), is_mounted);
    assert_never(&machine.examine("sda2"), is_held);
}

#[test]
fn use_of_the_device_below_a_volume_counts() {
    let machine = two_volumes();
    for number in ["8:2", "8:0"] {
        machine.mounts(&mount_of(number));
        let examination = machine.examine("dm-1");
        assert_never(&examination, below(is_mounted));
        let told = examination.findings[0].to_string();
        assert!(
            told.starts_with("`dm-1 (map1)` is built on `sda2`: `sda"),
            "{told}"
        );
        assert!(told.ends_with("is mounted at /data"), "{told}");
    }
    machine.mounts("");
    machine.swap_on("/dev/sda2 partition 9 0 -2");
    assert_never(&machine.examine("dm-1"), below(is_swap));
    machine.swap_on("");
    machine.loop_over(3, "/dev/sda2");
    assert_never(&machine.examine("dm-1"), below(backs_loop));
}

#[test]
fn other_mappings_of_the_same_device_count() {
    for uuid in [&*volume(OTHER_GROUP, 'c', ""), "CRYPT-LUKS2-abc", ""] {
        let machine = two_volumes();
        machine.mapping(2, uuid, &["sda/sda2"]);
        assert_never(&machine.examine("dm-1"), below(is_held));
    }
    // The disk as a whole, and the other way round a part of it.
    let machine = two_volumes();
    machine.mapping(2, "", &["sda"]);
    assert_never(&machine.examine("dm-1"), below(is_held));
    assert_never(&machine.examine("dm-2"), below(is_held));
}

#[test]
fn a_snapshot_is_written_beside_its_origin_but_not_the_other_way_round() {
    let machine = Machine::new();
    machine.mapping(0, &volume(GROUP, 'a', "-real"), &["sda/sda2"]);
    machine.mapping(1, &volume(GROUP, 's', "-cow"), &["sda/sda2"]);
    machine.mapping(2, &volume(GROUP, 'a', ""), &["dm-0"]);
    machine.is_free("dm-2");
    machine.mapping(3, &volume(GROUP, 's', ""), &["dm-0", "dm-1"]);
    machine.mounts(&mount_of("253:2"));
    machine.is_free("dm-3");
    machine.mounts(&mount_of("253:3"));
    // Writes to the origin take room in the snapshot, which is lost without it.
    assert_never(&machine.examine("dm-2"), below(is_held));
}

#[test]
fn thin_volumes_of_a_pool_pass_beside_each_other() {
    let machine = Machine::new();
    machine.mapping(0, &volume(GROUP, 'p', "-tdata"), &["sda/sda2"]);
    machine.mapping(1, &volume(GROUP, 'p', "-tmeta"), &["sda/sda2"]);
    machine.mapping(2, &volume(GROUP, 'p', "-tpool"), &["dm-0", "dm-1"]);
    for (index, letter) in [(3, 'a'), (4, 'b')] {
        machine.mapping(index, &volume(GROUP, letter, ""), &["dm-2"]);
    }
    machine.mounts(&mount_of("253:4"));
    machine.is_free("dm-3");
    assert_never(&machine.examine("dm-2"), is_held);
}

#[test]
fn a_multipath_device_passes_and_its_paths_do_not() {
    let machine = Machine::new();
    machine.device("sdc", "", "8:32");
    machine.mapping(0, "mpath-3600", &["sdb", "sdc"]);
    machine.is_free("dm-0");
    assert_never(&machine.examine("sdb"), is_held);
    machine.loop_over(3, "/dev/sdc");
    assert_never(&machine.examine("dm-0"), below(backs_loop));
    machine.block("loop3/loop/backing_file", "/dev/sda1");
    machine.mounts(&mount_of("8:32"));
    assert_never(&machine.examine("dm-0"), below(is_mounted));
    machine.mounts("");
    machine.mapping(1, "part1-mpath-3600", &["dm-0"]);
    machine.mapping(2, "part2-mpath-3600", &["dm-0"]);
    machine.mounts(&mount_of("253:1"));
    machine.is_free("dm-2");
    assert_never(&machine.examine("dm-0"), is_held);
    machine.mounts(&mount_of("253:0"));
    assert_never(&machine.examine("dm-2"), below(is_mounted));
}

#[test]
fn a_raid_passes_and_its_members_do_not() {
    let machine = Machine::new();
    machine.whole("md0", "9:0", &["sda/sda1", "sdb"]);
    machine.block("md0/md/metadata_version", "1.2");
    machine.device("md0p1", "md0/", "259:1");
    machine.device("md0p2", "md0/", "259:2");
    machine.is_free("md0");
    for member in ["sda1", "sda", "sdb"] {
        assert_never(&machine.examine(member), is_held);
    }
    machine.mounts(&format!("{}{}", mount_of("259:1"), mount_of("8:2")));
    machine.is_free("md0p2");
    assert_never(&machine.examine("md0"), is_mounted);
    machine.mounts(&mount_of("8:16"));
    for target in ["md0", "md0p2"] {
        assert_never(&machine.examine(target), below(is_mounted));
    }
}

#[test]
fn volumes_of_a_container_pass_beside_each_other() {
    let machine = Machine::new();
    machine.device("sdc", "", "8:32");
    let disks = ["sdb", "sdc"];
    for (name, number, version) in [
        ("md127", "9:127", "external:imsm"),
        ("md126", "9:126", "external:/md127/0"),
        ("md125", "9:125", "external:-md127/1"),
    ] {
        machine.whole(name, number, &disks);
        machine.block(&format!("{name}/md/metadata_version"), version);
    }
    machine.mounts(&mount_of("9:126"));
    machine.is_free("md125");
    machine.whole("md3", "9:3", &disks);
    machine.block("md3/md/metadata_version", "external:/md9/0");
    assert_never(&machine.examine("md125"), below(is_held));
}

#[test]
fn devices_that_share_a_cache_or_a_place_for_metadata_pass() {
    for kind in ["bcache", "drbd"] {
        let machine = Machine::new();
        machine.device("sdc", "", "8:32");
        machine.whole(&format!("{kind}0"), "250:0", &["sda/sda1", "sdc"]);
        machine.whole(&format!("{kind}1"), "250:1", &["sdb", "sdc"]);
        machine.mounts(&mount_of("250:1"));
        machine.is_free(&format!("{kind}0"));
        machine.mapping(2, "CRYPT-PLAIN-x", &["sdc"]);
        assert_never(&machine.examine(&format!("{kind}0")), below(is_held));
    }
}

#[test]
fn the_whole_stack_is_walked() {
    let machine = Machine::new();
    let image = machine.path("image");
    fs::write(&image, [0; 4096]).unwrap();
    let image = image.to_str().unwrap();
    machine.loop_over(5, image);
    machine.whole("md0", "9:0", &["loop5", "sdb"]);
    machine.mapping(0, "CRYPT-LUKS2-abc", &["md0"]);
    machine.mapping(1, &volume(GROUP, 'a', ""), &["dm-0"]);
    machine.is_free("dm-1");
    machine.loop_over(6, image);
    let examination = machine.examine("dm-1");
    assert_never(&examination, below(backs_loop));
    let told = examination.findings[0].to_string();
    assert!(told.starts_with("`loop5` is built on `/"), "{told}");
    // Both halves of a RAID in one file are no strangers to each other.
    machine.join("md0", &["loop6"]);
    machine.is_free("dm-1");
    machine.swap_on(&format!("{image} file 9 0 -2"));
    assert_never(&machine.examine("dm-1"), below(is_swap));
}

#[test]
fn what_lies_outside_of_a_member_is_no_concern() {
    let machine = Machine::new();
    let image = machine.path("image");
    fs::write(&image, noise(8192, 1)).unwrap();
    machine.loop_over(5, image.to_str().unwrap());
    machine.block("loop5/loop/offset", "4096");
    machine.mapping(0, &volume(GROUP, 'a', ""), &["loop5"]);
    machine.is_free("dm-0");
    fs::remove_dir(machine.path("sys/devices/block/loop5/holders/dm-0")).unwrap();
    let examination = machine.examine("loop5");
    let is_unknown = below(|one| matches!(one, Finding::UnknownData { .. }));
    assert!(
        examination.findings.iter().any(is_unknown),
        "{examination:?}"
    );
}

#[test]
fn a_loop_device_is_used_by_the_users_of_its_device() {
    let machine = Machine::new();
    machine.loop_over(3, "/dev/sda");
    machine.loop_over(4, "/dev/loop3");
    machine.device("loop3p1", "loop3/", "259:1");
    machine.is_free("loop4");
    for number in ["8:0", "8:2"] {
        machine.mounts(&mount_of(number));
        for target in ["loop3p1", "loop4"] {
            assert_never(&machine.examine(target), below(is_mounted));
        }
    }
    machine.mounts(&mount_of("259:1"));
    assert_never(&machine.examine("loop4"), below(is_mounted));
    machine.mounts("");
    machine.mapping(0, "", &["sda/sda1"]);
    assert_never(&machine.examine("loop4"), below(is_held));
    assert_never(&machine.examine("loop3"), backs_loop);
}

#[test]
fn a_loop_device_on_a_free_partition_or_volume_passes() {
    let machine = two_volumes();
    machine.loop_over(3, "/dev/sda1");
    machine.loop_over(4, "/dev/dm-1");
    machine.mounts(&format!("{}{}", mount_of("253:0"), mount_of("8:2")));
    machine.is_free("loop3");
    machine.mounts(&mount_of("253:0"));
    machine.is_free("loop4");
    machine.loop_over(5, "/dev/dm-1");
    assert_never(&machine.examine("loop4"), below(backs_loop));
    machine.block("loop5/loop/backing_file", "/dev/dm-0");
    machine.is_free("loop4");
    assert_never(&machine.examine("loop5"), below(is_mounted));
}

#[test]
fn a_member_that_the_kernel_does_not_show_is_refused() {
    let machine = two_volumes();
    fs::remove_file(machine.path("sys/class/block/sda2")).unwrap();
    assert_never(&machine.examine("dm-1"), |finding| {
        matches!(finding, Finding::CannotExamine { .. })
    });
}
