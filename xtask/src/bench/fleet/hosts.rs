//! Hosts on this machine: name spaces with an sshd each, in which this program is not yet.
use super::super::Folder;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SSHD: &str = "/usr/sbin/sshd";

/// How long an sshd may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Hosts {
    folder: Folder,
    all: Vec<One>,
}

struct One {
    name_space: String,
    address: String,
    daemon: Child,
}

impl Hosts {
    /// An error says what is missing here.
    pub fn new(program: &Path, count: usize) -> Result<Self, String> {
        let folder = Folder::below(&std::env::temp_dir(), "fleet-hosts")?;
        let path = |name: &str| folder.0.join(name);
        let made = |error: std::io::Error| format!("`{}`: {error}", folder.0.display());
        for name in ["near", "empty", "bin", "data"] {
            std::fs::create_dir_all(path(name)).map_err(made)?;
        }
        std::fs::create_dir_all("/run/sshd").map_err(made)?;
        std::fs::copy(program, path("near/fathom")).map_err(made)?;
        for key in ["key", "hostkey"] {
            let file = path(key).display().to_string();
            call(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &file])?;
        }
        let config = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n",
            path("key").display()
        );
        std::fs::write(path("ssh.conf"), config).map_err(made)?;
        let ssh = place_of("ssh").ok_or("`ssh` is missing")?;
        let script = format!(
            "#!/bin/sh\nexec {ssh} -F {} \"$@\"\n",
            path("ssh.conf").display()
        );
        std::fs::write(path("bin/ssh"), script).map_err(made)?;
        call(&["chmod", "755", &path("bin/ssh").display().to_string()])?;
        let mut hosts = Self {
            folder,
            all: Vec::new(),
        };
        for number in 1..=count {
            let one = One::new(&hosts.folder.0, number)?;
            hosts.all.push(one);
        }
        hosts.wait()?;
        Ok(hosts)
    }

    /// The program, as somebody starts it who may log in on all of them.
    pub fn fathom(&self) -> Command {
        let mut command = Command::new(self.folder.0.join("near/fathom"));
        let path = std::env::var("PATH").unwrap_or_default();
        let own = self.folder.0.join("bin").display().to_string();
        command
            .current_dir(&self.folder.0)
            .env("PATH", format!("{own}:{path}"));
        command
    }

    pub fn list(&self) -> String {
        let all: Vec<&str> = self.all.iter().map(|one| &*one.address).collect();
        all.join(",")
    }

    /// A job of each language over files that each host has for itself.
    pub fn write_jobs(&self) -> Result<(), String> {
        let file = self.folder.0.join("data/file");
        let file = file.display();
        let fio = format!(
            "[j]\nfilename={file}\nsize=4m\nrw=randread\nbs=4k\niodepth=4\ntime_based\nruntime=1\n"
        );
        let vdbench = format!(
            "sd=sd1,lun={file},size=4m,threads=4\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\n\
             rd=rd1,wd=wd1,iorate=1000,elapsed=2,interval=1\n"
        );
        for (name, text) in [("job.fio", fio), ("job.vdb", vdbench)] {
            let written = std::fs::write(self.folder.0.join(name), text);
            written.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), String> {
        let begun = Instant::now();
        for one in &self.all {
            while std::net::TcpStream::connect((one.address.as_str(), 22)).is_err() {
                if begun.elapsed() > PATIENCE {
                    return Err(format!("no sshd listens on {}", one.address));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

impl One {
    fn new(folder: &Path, number: usize) -> Result<Self, String> {
        let id = std::process::id();
        let (near, net) = (
            format!("fb{id}-{number}"),
            format!("10.{}.{}", 160 + id / 250 % 32, id % 250),
        );
        let (leader, address) = (format!("{net}.254"), format!("{net}.{number}"));
        let name_space = format!("{}bench-{number}", crate::clean_lab::own_prefix());
        call(&["ip", "netns", "add", &name_space])?;
        let begin = || -> Result<Child, String> {
            let inside = |words: &[&str]| call(&[&["ip", "-n", &name_space], words].concat());
            let far = ["type", "veth", "peer", "name", "eth0", "netns", &name_space];
            call(&[&["ip", "link", "add", &near], &far[..]].concat())?;
            call(&["ip", "addr", "add", &leader, "peer", &address, "dev", &near])?;
            call(&["ip", "link", "set", &near, "up"])?;
            inside(&["addr", "add", &address, "peer", &leader, "dev", "eth0"])?;
            inside(&["link", "set", "eth0", "up"])?;
            inside(&["link", "set", "lo", "up"])?;
            daemon(folder, &name_space, &address, number)
        };
        match begin() {
            Ok(daemon) => Ok(Self {
                name_space,
                address,
                daemon,
            }),
            Err(error) => {
                let _ = call(&["ip", "netns", "delete", &name_space]);
                Err(error)
            }
        }
    }
}

/// An sshd with a home and data of its own, where the program of the coordinator is not.
fn daemon(folder: &Path, name_space: &str, address: &str, number: usize) -> Result<Child, String> {
    let of = |name: &str| folder.join(name).display().to_string();
    let (home, data) = (of(&format!("home-{number}")), of(&format!("data-{number}")));
    for folder in [&home, &data] {
        std::fs::create_dir_all(folder).map_err(|error| format!("`{folder}`: {error}"))?;
    }
    let config = format!("sshd-{number}.conf");
    let text = format!(
        "ListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
         PermitRootLogin prohibit-password\nPasswordAuthentication no\n",
        of("hostkey"),
        of("key.pub"),
    );
    std::fs::write(folder.join(&config), text).map_err(|error| format!("`{config}`: {error}"))?;
    let mounts = [
        (of("empty"), of("near")),
        (home, "/root".to_owned()),
        (data, of("data")),
    ];
    let mounts = mounts.map(|(from, to)| format!("mount --bind '{from}' '{to}'"));
    let script = format!("{} && exec \"$0\" \"$@\"", mounts.join(" && "));
    let mut command = Command::new("ip");
    command.args(["netns", "exec", name_space, "sh", "-c", &script]);
    // It ends with this program.
    command.args([
        "setpriv",
        "--pdeathsig",
        "KILL",
        SSHD,
        "-D",
        "-f",
        &of(&config),
    ]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().map_err(|error| format!("ip: {error}"))
}

impl Drop for One {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = call(&["ip", "netns", "delete", &self.name_space]);
    }
}

fn place_of(program: &str) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut places = path
        .split(':')
        .map(|folder| PathBuf::from(folder).join(program));
    places
        .find(|place| place.exists())
        .map(|place| place.display().to_string())
}

fn call(words: &[&str]) -> Result<(), String> {
    let output = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("`{}`: {error}", words[0]))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "`{}`: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}
