//! What is held or holds something is not written to. Loop devices, so as root only.
use crate::lab::{Ended, Lab, has, is_root, must, skip};
use crate::running::stop::OnDrop;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

/// A loop device over a file of the lab, or why there is none.
pub fn loop_device(lab: &Lab, name: &str) -> Result<String, &'static str> {
    if !is_root() {
        return Err("loop devices need root");
    }
    if !has("losetup") || !has("mkfs.ext4") || !has("mount") {
        return Err("`losetup`, `mkfs.ext4` or `mount` is missing");
    }
    let file = std::fs::File::create(lab.path(name)).unwrap();
    file.set_len(16 << 20).unwrap();
    let path = lab.path(name).display().to_string();
    let output = std::process::Command::new("losetup")
        .args(["-f", "--show", &path])
        .output();
    match output {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
        }
        _ => Err("no loop device is free"),
    }
}

pub fn write(lab: &Lab, device: &str, more: &[&str]) -> Ended {
    let text = format!(
        "sd=sd1,lun={device},threads=2,openflags=o_direct\nwd=wd1,sd=sd1,xfersize=4k,rdpct=50\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n"
    );
    lab.write("job", text);
    let mut words = vec!["vdbench", "-f", "job", "-o", "out"];
    words.extend(more);
    lab.fathom(&words)
}

#[test]
fn a_mounted_device_is_never_written() {
    let lab = Lab::new();
    let device = match loop_device(&lab, "image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &device])));
    must("mkfs.ext4", &["-q", "-F", &device]);
    std::fs::create_dir(lab.path("mnt")).unwrap();
    let mount = lab.path("mnt").display().to_string();
    must("mount", &[&device, &mount]);
    let unmount = OnDrop(|| drop(must("umount", &[&mount])));
    for more in [&[][..], &["--overwrite", &device]] {
        let refused = write(&lab, &device, more).expect(3);
        let refused = refused.says(&["is mounted at", "nothing overrides this"]);
        assert!(!refused.err.contains("--overwrite"), "{}", refused.err);
        assert!(!lab.path("out").exists());
    }
    // The file behind the device neither, under its own name.
    let image = lab.path("image").display().to_string();
    lab.fathom(&[
        "curve",
        &image,
        "--read",
        "0",
        "--overwrite",
        &image,
        "-o",
        "out",
    ])
    .expect(3)
    .says(&["nothing overrides this"]);
    assert!(!lab.path("out").exists());
    drop(unmount);
    must("fsck.ext4", &["-n", "-f", &device]);
}

#[test]
fn a_device_with_a_signature_has_to_be_named() {
    let lab = Lab::new();
    let device = match loop_device(&lab, "image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &device])));
    // Blank: nothing to ask.
    write(&lab, &device, &[]).expect(0);
    // Ours.
    write(&lab, &device, &[]).expect(0);
    must("mkfs.ext4", &["-q", "-F", &device]);
    let before = lab.bytes("image");
    let refused = write(&lab, &device, &[]).expect(3);
    let refused = refused.says(&["ext4", &format!("--overwrite {device}")]);
    assert_eq!(refused.out, "");
    assert!(lab.bytes("image") == before);
    // Reading is free.
    lab.fathom(&[
        "curve",
        &device,
        "--elapsed",
        "1",
        "--warmup",
        "0",
        "--points",
        "50",
        "-o",
        "read",
    ])
    .expect(0);
    assert!(lab.bytes("image") == before);
    write(&lab, &device, &["--overwrite", &device]).expect(0);
    assert!(lab.bytes("image") != before);
}

#[test]
fn what_a_loop_device_stands_for_is_protected_with_it() {
    let lab = Lab::new();
    let lower = match loop_device(&lab, "image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &lower])));
    let upper = must("losetup", &["-f", "--show", "-o", "4096", &lower]);
    let upper = upper.trim().to_owned();
    let _detach_upper = OnDrop(|| drop(must("losetup", &["-d", &upper])));
    must("mkfs.ext4", &["-q", "-F", &lower]);
    std::fs::create_dir(lab.path("mnt")).unwrap();
    let mount = lab.path("mnt").display().to_string();
    must("mount", &[&lower, &mount]);
    let unmount = OnDrop(|| drop(must("umount", &[&mount])));
    for more in [&[][..], &["--overwrite", &upper, "--overwrite", &lower]] {
        let refused = write(&lab, &upper, more).expect(3);
        refused.says(&["is built on", "is mounted at", "nothing overrides this"]);
        assert!(!lab.path("out").exists());
    }
    drop(unmount);
    // Its own part holds nothing that is known, but what it leaves out does.
    // What goes through two loop devices waits in the cache of the lower one.
    let written = || {
        must("sync", &[&lower]);
        lab.bytes("image")
    };
    let before = written();
    let refused = write(&lab, &upper, &[]).expect(3);
    refused.says(&["is built on", "ext4", &format!("--overwrite {upper}")]);
    assert!(written() == before);
    write(&lab, &upper, &["--overwrite", &upper]).expect(0);
    assert!(written() != before);
}

#[test]
fn a_file_is_not_written_through_two_loop_devices_or_beside_one() {
    let lab = Lab::new();
    let first = match loop_device(&lab, "image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach = OnDrop(|| drop(must("losetup", &["-d", &first])));
    write(&lab, &first, &[]).expect(0);
    // The name that the kernel shows is gone, the file is not.
    std::fs::rename(lab.path("image"), lab.path("old")).unwrap();
    std::fs::hard_link(lab.path("old"), lab.path("new")).unwrap();
    std::fs::remove_file(lab.path("old")).unwrap();
    let file = lab.path("new").display().to_string();
    lab.fathom(&[
        "curve",
        &file,
        "--read",
        "0",
        "--overwrite",
        &file,
        "-o",
        "curve",
    ])
    .expect(3)
    .says(&["nothing overrides this"]);
    let second = must("losetup", &["-f", "--show", &file]);
    let second = second.trim().to_owned();
    let detach_second = OnDrop(|| drop(must("losetup", &["-d", &second])));
    for device in [&first, &second] {
        let refused = write(&lab, device, &["--overwrite", device]).expect(3);
        refused.says(&["is built on", "nothing overrides this"]);
    }
    drop(detach_second);
    write(&lab, &first, &[]).expect(0);
}

/// Locks a part of the file whose name follows, says so and waits: for all of the process, or for the open file alone.
const OF_PROCESS: &str = "import fcntl,struct,sys; f=open(sys.argv[1],'r+b'); \
    fcntl.fcntl(f, fcntl.F_SETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 7, 1, 0)); print('held', flush=True); input()";
const OF_OPEN_FILE: &str = "import fcntl,struct,sys; f=open(sys.argv[1],'rb'); \
    fcntl.fcntl(f, 37, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 100, 1, 0)); print('held', flush=True); input()";

struct Holder(std::process::Child);

impl Holder {
    /// A Python program that says when it holds the file.
    fn new(lab: &Lab, script: &str) -> Self {
        let mut command = lab.command("python3");
        command.args(["-c", script, "image"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut said).unwrap();
        assert_eq!(said, "held\n");
        Self(child)
    }

    /// The program that serves images of virtual machines, once it serves this one.
    fn of_images(lab: &Lab) -> Self {
        let mut command = lab.command("qemu-storage-daemon");
        command.args(["--pidfile", "opened", "--blockdev"]);
        command.arg("driver=file,node-name=f,filename=image,locking=on");
        command.args(["--nbd-server", "addr.type=unix,addr.path=socket"]);
        command.args(["--export", "type=nbd,id=e,node-name=f,writable=on"]);
        let child = command.spawn().unwrap();
        while lab.text_if_there("opened").is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_another_program_has_locked_is_not_written() {
    let lab = Lab::new();
    if !has("python3") {
        return skip("`python3` is missing");
    }
    let device = loop_device(&lab, "image");
    let _detach = OnDrop(|| {
        drop(
            device
                .as_ref()
                .map(|device| must("losetup", &["-d", device])),
        )
    });
    if let Err(reason) = &device {
        skip(reason);
        lab.write("image", vec![0; 16 << 20]);
    }
    let is_kept = |who: &str| {
        for target in device.as_deref().into_iter().chain(["image"]) {
            let refused = write(&lab, target, &["--overwrite", target]).expect(3);
            refused.says(&[who, "nothing overrides this"]);
        }
        assert!(lab.bytes("image").iter().all(|&byte| byte == 0));
    };
    let holder = Holder::new(&lab, OF_PROCESS);
    is_kept(&format!("process {}", holder.0.id()));
    drop(holder);
    let holder = Holder::new(&lab, OF_OPEN_FILE);
    is_kept("by another program");
    // Reading is free.
    lab.fathom(&[
        "fio",
        "--name=a",
        "--filename=image",
        "--rw=read",
        "--bs=1m",
    ])
    .expect(0);
    drop(holder);
    match has("qemu-storage-daemon") {
        true => {
            let _serving = Holder::of_images(&lab);
            is_kept("by another program");
        }
        false => skip("`qemu-storage-daemon` is missing"),
    }
    if let Ok(device) = &device {
        write(&lab, device, &[]).expect(0);
        assert!(lab.bytes("image").iter().any(|&byte| byte != 0));
    }
}
