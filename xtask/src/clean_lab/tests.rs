//! Made-up tables with known answers, and real things of a dead owner.
use super::find::{Left, MARK, Machine, STAGES};
use super::{clean, own_prefix};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{}{name}", own_prefix()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn process(&self, id: u32, state: char, begun: u64, environment: &str) {
        let zeros = " 0".repeat(18);
        let stat = format!("{id} (a) b) {state}{zeros} {begun} 0 0\n");
        self.write(&format!("proc/{id}/stat"), &stat);
        self.write(&format!("proc/{id}/comm"), "nbdfuse\n");
        self.write(&format!("proc/{id}/environ"), environment);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn found(machine: &Machine) -> Vec<String> {
    let stages = STAGES.iter().flat_map(|stage| stage(machine));
    stages.map(|left| left.to_string()).collect()
}

/// Process 10 lives since 100, 11 waits to be waited for, 12 has a number that a dead one had.
#[test]
fn only_what_belongs_to_the_dead_alone_is_found_and_in_the_right_order() {
    let made = Folder::new("tables");
    let of = |owner: &str| format!("A=1\0FATHOM_LAB=fathom-lab-{owner}-\0PWD=/");
    made.process(10, 'S', 100, "PWD=/tmp/fathom-lab-9-90-x");
    made.process(11, 'Z', 110, "");
    made.process(12, 'S', 120, &of("10-100"));
    made.process(13, 'T', 130, &of("9-90"));
    made.process(14, 'Z', 140, &of("9-90"));
    made.write(
        "proc/mounts",
        "/dev/vda / ext4 rw 0 0\n\
         none /tmp/fathom-lab-9-90-a\\040b/mnt tmpfs rw 0 0\n\
         none /tmp/fathom-lab-10-100-x/mnt tmpfs rw 0 0\n\
         disk /tmp/fathom-lab-9-90-a\\040b/mnt/disk fuse.nbdfuse rw 0 0\n\
         none /tmp/fathom-lab-10-100-x/fathom-lab-9-90-y tmpfs rw 0 0\n\
         /dev/loop1p2 /somewhere ext4 rw 0 0\n\
         /dev/loop12 /elsewhere ext4 rw 0 0\n\
         none /my-fathom-lab-9-90-x tmpfs rw 0 0\n\
         none /tmp/fathom-lab-9-x tmpfs rw 0 0\n",
    );
    made.write(
        "proc/swaps",
        "Filename Type Size Used Priority\n/tmp/fathom-lab-11-110-x/swap file 1 0 -2\n/swap file 1 0 -3\n",
    );
    for (name, file) in [
        ("loop0", "/dev/loop1"),
        ("loop1", "/tmp/fathom-lab-12-119-x/image (deleted)"),
        ("loop12", "/tmp/fathom-lab-10-100-x/image"),
        ("loop13", "/dev/loop12"),
        ("loop14", "/images/own"),
    ] {
        made.write(
            &format!("sys/block/{name}/loop/backing_file"),
            &format!("{file}\n"),
        );
    }
    for name in ["fathom-lab-9-90-n", "fathom-lab-10-100-n", "own"] {
        made.write(&format!("run/netns/{name}"), "");
    }
    for name in [
        "fathom-lab-9-90-a b",
        "fathom-lab-10-100-x",
        "fathom-lab-x",
        "own",
    ] {
        made.write(&format!("tmp/{name}/file"), "");
    }
    let machine = Machine {
        root: made.0.clone(),
        folders: vec![made.0.join("tmp")],
    };
    let expected = [
        "process 13 (nbdfuse)",
        "swap /tmp/fathom-lab-11-110-x/swap",
        "network namespace fathom-lab-9-90-n",
        "mount /somewhere",
        "mount /tmp/fathom-lab-9-90-a b/mnt/disk",
        "mount /tmp/fathom-lab-9-90-a b/mnt",
        "loop device /dev/loop0 over /dev/loop1",
        "loop device /dev/loop1 over /tmp/fathom-lab-12-119-x/image (deleted)",
        &format!("{}/tmp/fathom-lab-9-90-a b", made.0.display()),
    ];
    assert_eq!(found(&machine), expected);
}

fn works(words: &[&str]) -> Option<String> {
    let output = Command::new(words[0]).args(&words[1..]).output().ok()?;
    let is_done = output.status.success();
    is_done.then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// Makes a loop device over a file of a folder, if that is possible here.
fn attach(folder: &Path) -> Option<String> {
    let image = folder.join("image");
    std::fs::File::create(&image)
        .unwrap()
        .set_len(1 << 20)
        .unwrap();
    works(&["losetup", "--find", "--show", image.to_str().unwrap()])
}

#[test]
fn what_a_dead_owner_left_goes_and_what_a_living_one_has_stays() {
    let real = Machine::real();
    let mut owner = Command::new("sleep").arg("60").spawn().unwrap();
    let begun = real.begun(owner.id()).unwrap();
    let name = format!("{MARK}{}-{begun}-", owner.id());
    let dead = Folder(std::env::temp_dir().join(format!("{name}dead")));
    std::fs::create_dir_all(dead.0.join("mnt")).unwrap();
    let mut left = Command::new("sleep");
    let mut left = left.arg("60").env("FATHOM_LAB", &name).spawn().unwrap();
    let stopped = left.id().to_string();
    works(&["kill", "-s", "STOP", &stopped]).unwrap();
    let living = Folder::new("living");
    let devices = [attach(&dead.0), attach(&living.0)];
    let at = dead.0.join("mnt").display().to_string();
    let is_mounted = works(&["mount", "-t", "tmpfs", "none", &at]).is_some();
    // What a living owner has stays, also where it is stopped.
    clean(&real);
    assert!(left.try_wait().unwrap().is_none() && dead.0.exists());
    owner.kill().unwrap();
    owner.wait().unwrap();
    clean(&real);
    left.wait().unwrap();
    assert!(!dead.0.exists() && living.0.join("image").exists());
    assert!(!real.mount_points().any(|mounted| mounted == at));
    // Another test may have the device by now, with a file of its own.
    let attached = |(device, folder): (&Option<String>, &Path)| {
        let folder = folder.display().to_string();
        let told = works(&["losetup", device.as_ref()?]);
        Some(told.is_some_and(|text| text.contains(&folder)))
    };
    let are_there = [(&devices[0], &*dead.0), (&devices[1], &*living.0)].map(attached);
    if let Some(device) = &devices[1] {
        works(&["losetup", "--detach", device]).unwrap();
    }
    if !is_mounted || devices[0].is_none() {
        return println!("skipped: mounts and loop devices need root");
    }
    assert_eq!(are_there, [Some(false), Some(true)]);
}

#[test]
fn what_cannot_be_removed_is_counted_and_left() {
    let made = Folder::new("refused");
    made.write("run/netns/fathom-lab-9-90-no-such-namespace", "");
    made.process(1, 'S', 1, "");
    let machine = Machine {
        root: made.0.clone(),
        folders: Vec::new(),
    };
    assert_eq!(clean(&machine), (0, 1));
    let name = "fathom-lab-9-90-no-such-namespace".to_owned();
    assert_eq!(STAGES[2](&machine), [Left::NameSpace(name)]);
}
