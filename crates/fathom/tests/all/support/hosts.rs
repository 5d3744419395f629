//! Hosts that a test reaches by ssh: network namespaces of this machine, each with an sshd of its own, and a clock that began
//! at another time where the kernel has that. They share its kernel and its files, but for the folder `own` of the lab: each
//! sees one of its own there.
use crate::lab::{Ended, FATHOM, Going, Lab, ended, has};
use crate::named;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Hosts for as long as this lives.
pub struct Hosts {
    all: Vec<One>,
    /// A folder with an `ssh` that finds them comes first in it.
    path: String,
}

struct One {
    name_space: String,
    /// The near end of its cable.
    cable: String,
    address: String,
    daemon: Child,
}

const SSHD: &str = "/usr/sbin/sshd";

/// The hosts that this process has made.
static MADE: AtomicU8 = AtomicU8::new(0);

impl Hosts {
    /// An error says what is missing here.
    pub fn new(lab: &Lab, count: usize) -> Result<Self, String> {
        if !(has("ip") && has("ssh") && has("ssh-keygen") && has("setpriv") && has(SSHD)) {
            return Err("`ip`, `ssh`, `sshd` or `setpriv` is missing".to_owned());
        }
        std::fs::create_dir_all("/run/sshd").map_err(|error| format!("/run/sshd: {error}"))?;
        for key in ["key", "hostkey"] {
            let mut command = lab.command("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f", key]);
            ended(&mut command).expect(0);
        }
        std::fs::copy(lab.path("key.pub"), lab.path("authorized")).unwrap();
        let folder = lab.path("bin");
        std::fs::create_dir(&folder).unwrap();
        lab.write("ssh.conf", client(lab));
        lab.write(
            "bin/ssh",
            format!(
                "#!/bin/sh\necho a greeting >&2\nexec {} -F {} \"$@\"\n",
                place_of("ssh"),
                lab.path("ssh.conf").display()
            ),
        );
        let mut make = Command::new("chmod");
        ended(make.args(["755".as_ref(), lab.path("bin/ssh").as_os_str()])).expect(0);
        let path = std::env::var("PATH").unwrap_or_default();
        let mut hosts = Self {
            all: Vec::new(),
            path: format!("{}:{path}", folder.display()),
        };
        for _ in 0..count {
            let one = One::new(lab)?;
            hosts.all.push(one);
        }
        hosts.wait()?;
        Ok(hosts)
    }

    pub fn address(&self, place: usize) -> &str {
        &self.all[place].address
    }

    fn command(&self, lab: &Lab, arguments: &[&str]) -> Command {
        let mut command = lab.command(FATHOM);
        command.args(arguments).env("PATH", &self.path);
        command
    }

    /// Runs `fathom` to its end, where it finds the hosts.
    pub fn fathom(&self, lab: &Lab, arguments: &[&str]) -> Ended {
        ended(&mut self.command(lab, arguments))
    }

    pub fn start(&self, lab: &Lab, arguments: &[&str]) -> Going {
        Going::of(self.command(lab, arguments))
    }

    /// Pulls the cable of a host, or puts it back.
    pub fn set_cable(&self, place: usize, is_in: bool) {
        let state = if is_in { "up" } else { "down" };
        call(&["ip", "link", "set", &self.all[place].cable, state]).unwrap();
    }

    /// Has the cable to a host take less, in bits a second; an error says what is missing here.
    pub fn narrow(&self, place: usize, rate: &str) -> Result<(), String> {
        let cable = &self.all[place].cable;
        let words = ["tc", "qdisc", "add", "dev", cable, "root", "tbf"];
        call(
            &[
                &words[..],
                &["rate", rate, "burst", "4kb", "latency", "50ms"],
            ]
            .concat(),
        )
    }

    /// The agent on a host.
    pub fn agent(&self, place: usize) -> Option<u32> {
        let listed = Command::new("ip")
            .args(["netns", "pids", &self.all[place].name_space])
            .output()
            .ok()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let is_agent = |id: &u32| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(b"agent")
        };
        let mut ids = listed.lines().filter_map(|line| line.parse().ok());
        ids.find(is_agent)
    }

    /// Stops the agent on a host.
    #[track_caller]
    pub fn stop(&self, place: usize) -> Stopped {
        Stopped::of(self.agent(place).expect("an agent is there"))
    }

    /// Waits until no agent goes on; the lines to them may.
    #[track_caller]
    pub fn wait_until_stopped(&self) {
        let since = Instant::now();
        while let Some(agent) = (0..self.all.len()).find_map(|place| self.agent(place)) {
            let is_late = since.elapsed() > Duration::from_secs(20);
            assert!(!is_late, "agent {agent} goes on");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until nothing of a job is left: no agent, and no line to one.
    #[track_caller]
    pub fn wait_until_left(&self) {
        let since = Instant::now();
        let is_line = |line: &[u8]| {
            let mut words = line.split(|byte| *byte == 0);
            let is_ssh = words.next().is_some_and(|word| word.ends_with(b"ssh"));
            let is_of = |word| {
                let mut hosts = self.all.iter();
                hosts.any(|one| one.address.as_bytes() == word)
            };
            is_ssh && words.any(is_of)
        };
        loop {
            let agent = (0..self.all.len()).find_map(|place| self.agent(place));
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            let mut lines = all.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
            let line = lines.find(|line| is_line(line));
            if agent.is_none() && line.is_none() {
                return;
            }
            let line = line.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
            let is_late = since.elapsed() > Duration::from_secs(20);
            assert!(!is_late, "agent {agent:?} and line {line:?} go on");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn wait(&mut self) -> Result<(), String> {
        let since = Instant::now();
        for one in &mut self.all {
            while std::net::TcpStream::connect((one.address.as_str(), 22)).is_err() {
                if since.elapsed() > Duration::from_secs(10) {
                    return Err("an sshd did not come up".to_owned());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

/// A process that stands still until this is dropped, or the test has died in whatever way.
pub struct Stopped {
    /// Lets it go on once its standard input ends.
    shell: Child,
}

impl Stopped {
    #[track_caller]
    pub fn of(id: u32) -> Self {
        // A later process may have its number, and not its start.
        let script = "trap '' HUP INT TERM; begun() { sed 's/.*) //' \"/proc/$1/stat\" | cut -d ' ' -f 20; }; \
            b=$(begun \"$1\"); kill -s STOP \"$1\"; echo; read -r _; test \"$(begun \"$1\")\" = \"$b\" && kill -s CONT \"$1\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "stopped", &id.to_string()]);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        // What kills the group of the test does not reach it.
        let mut shell = shell
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let told = shell.stdout.as_mut().unwrap().read(&mut [0; 1]);
        assert_eq!(told.unwrap(), 1, "process {id} is not stopped");
        Self { shell }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // Closes the standard input first.
        let _ = self.shell.wait();
    }
}

impl One {
    fn new(lab: &Lab) -> Result<Self, String> {
        let number = MADE.fetch_add(1, Relaxed) % 250 + 1;
        let id = std::process::id();
        // Names of interfaces have 15 characters at most.
        let (near, far) = (format!("fl{id}-{number}"), "eth0");
        let net = format!("10.{}.{}", 96 + id / 250 % 32, id % 250);
        let (leader, address) = (format!("{net}.254"), format!("{net}.{number}"));
        let name_space = format!("{}host-{number}", named::prefix());
        call(&["ip", "netns", "add", &name_space])?;
        let begin = || -> Result<Child, String> {
            let in_it = ["ip", "-n", &name_space];
            let inside = |words: &[&str]| call(&[&in_it, words].concat());
            call(&[
                "ip",
                "link",
                "add",
                &near,
                "type",
                "veth",
                "peer",
                "name",
                far,
                "netns",
                &name_space,
            ])?;
            call(&["ip", "addr", "add", &leader, "peer", &address, "dev", &near])?;
            call(&["ip", "link", "set", &near, "up"])?;
            inside(&["addr", "add", &address, "peer", &leader, "dev", far])?;
            inside(&["link", "set", far, "up"])?;
            inside(&["link", "set", "lo", "up"])?;
            let config = format!("sshd-{number}.conf");
            lab.write(&config, server(lab, &address));
            let mount = own_folder(lab, &address)?;
            // It ends with the thread of the test.
            let mut words = vec![
                "netns",
                "exec",
                &name_space,
                "sh",
                "-c",
                &mount,
                "setpriv",
                "--pdeathsig",
                "KILL",
            ];
            let since_start = format!("{}", u32::from(number) * 1_000);
            if has_time_name_spaces() {
                let apart = ["unshare", "--time", "--monotonic", &since_start];
                words.extend(apart.into_iter().chain(["--fork", "--kill-child=KILL"]));
            }
            words.extend([SSHD, "-D", "-f"]);
            let mut daemon = lab.command("ip");
            daemon.args(words).arg(lab.path(&config));
            daemon.stdout(Stdio::null()).stderr(Stdio::null());
            daemon.spawn().map_err(|error| error.to_string())
        };
        match begin() {
            Ok(daemon) => Ok(Self {
                name_space,
                cable: near,
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

impl Drop for One {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        let _ = call(&["ip", "netns", "delete", &self.name_space]);
    }
}

/// What a shell does first: the name space of the network comes with one of mounts.
fn own_folder(lab: &Lab, address: &str) -> Result<String, String> {
    let (all, own) = (lab.path("own"), lab.path(&format!("own-{address}")));
    for folder in [&all, &own] {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    let (all, own) = (all.display(), own.display());
    Ok(format!(
        "mount --bind '{own}' '{all}' && exec \"$0\" \"$@\""
    ))
}

/// Whether hosts can have clocks that began at different times.
fn has_time_name_spaces() -> bool {
    call(&["unshare", "--time", "--monotonic", "1", "--fork", "true"]).is_ok()
}

fn server(lab: &Lab, address: &str) -> String {
    let of = |name: &str| lab.path(name).display().to_string();
    format!(
        "ListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
         PermitRootLogin prohibit-password\nPasswordAuthentication no\n\
         SetEnv XDG_STATE_HOME={} FATHOM_LAB={}\n",
        of("hostkey"),
        of("authorized"),
        of(crate::lab::STATE),
        named::prefix()
    )
}

fn client(lab: &Lab) -> String {
    let key = lab.path("key").display().to_string();
    format!(
        "IdentityFile {key}\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
    )
}

fn place_of(program: &str) -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut places = path.split(':').map(|folder| format!("{folder}/{program}"));
    let found = places.find(|place| Path::new(place).exists());
    found.unwrap_or_else(|| program.to_owned())
}

fn call(words: &[&str]) -> Result<(), String> {
    let output = Command::new(words[0]).args(&words[1..]).output();
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
