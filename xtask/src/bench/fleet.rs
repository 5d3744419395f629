//! What several hosts cost the one that leads: how soon eight hosts over real ssh do their first I/O, and what a hundred
//! agents take of the coordinator while they run.
mod hosts;

use super::{Folder, Table};
use hosts::Hosts;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HOSTS: usize = 8;
const ROUNDS: usize = 5;
const FIRST_IO_SECONDS_MAX: f64 = 3.0;

const AGENTS: usize = 100;
const TARGETS: usize = 8;
const RATE_PER_AGENT: usize = 100;
const SECONDS: u64 = 60;
const CPUS_MAX: f64 = 0.5;
const MEMORY_MB_MAX: f64 = 500.0;

/// Between two looks at the coordinator.
const LOOK: Duration = Duration::from_millis(100);

/// Of a run, the part in which nothing begins and nothing ends.
const STEADY: std::ops::Range<u64> = 5..SECONDS - 5;

/// Clock ticks of the times in `/proc`, which are hundredths of a second for every program.
const TICKS_PER_S: f64 = 100.0;

/// Measures both. An argument is the program.
pub fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    if arguments.len() > 1 {
        return Err("`bench fleet` takes at most a program".to_owned());
    }
    let program = super::program(root, arguments.first().copied())?;
    let mut table = Table::begin();
    match Hosts::new(&program, HOSTS) {
        Ok(hosts) => first_io(&hosts, &mut table)?,
        Err(error) => println!("without hosts over ssh: {error} (name spaces require root)"),
    }
    agents(&program, &mut table)?;
    table.end()
}

/// How a job of each language begins on hosts that have no program yet, and then on those that have it.
fn first_io(hosts: &Hosts, table: &mut Table) -> Result<(), String> {
    let begin = |job: &str, number: usize| -> Result<f64, String> {
        let mut command = hosts.fathom();
        let out = format!("out-{job}-{number}");
        command.args(["run", job, "-o", &out, "--hosts", &hosts.list()]);
        seconds_to_first_run(&mut command)
    };
    let jobs = [
        ("job.fio", "first I/O of a job of fio, s"),
        (
            "job.vdb",
            "first I/O of a job of Vdbench, which begins on a whole second, s",
        ),
    ];
    hosts.write_jobs()?;
    table.row(
        "the same where the program is copied to all hosts before, s",
        [begin("job.fio", 0)?],
        None,
    );
    for (job, what) in jobs {
        let seconds = super::rounds(ROUNDS, |round| begin(job, round + 1))?;
        table.row(what, seconds, Some(FIRST_IO_SECONDS_MAX));
    }
    Ok(())
}

/// From the start of the command until it says that its first run has begun.
fn seconds_to_first_run(command: &mut Command) -> Result<f64, String> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let begun = Instant::now();
    let mut child = Running::start(command.stderr(Stdio::piped()))?;
    let told = BufReader::new(child.0.stderr.take().expect("it is piped"));
    let mut seconds = None;
    let mut said = String::new();
    for line in told.lines().map_while(Result::ok) {
        if line.starts_with("run 1/") {
            seconds.get_or_insert(begun.elapsed().as_secs_f64());
        }
        said += &format!("{line}\n");
    }
    child.end(&said)?;
    seconds.ok_or_else(|| format!("no run began: {said}"))
}

/// Agents on this machine that reach no storage.
fn agents(program: &Path, table: &mut Table) -> Result<(), String> {
    let folder = Folder::below(&std::env::temp_dir(), "fleet-agents")?;
    let mut job = String::new();
    for target in 0..TARGETS {
        job += &format!("sd=sd{target},lun=target{target},size=1m,threads=4\n");
    }
    job += &format!(
        "wd=wd1,sd=sd*,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate={},elapsed={SECONDS},interval=1\n",
        AGENTS * RATE_PER_AGENT
    );
    let names: Vec<String> = (1..=AGENTS)
        .map(|number| format!("a{number:03}\n"))
        .collect();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.0.join(name), text).map_err(|error| error.to_string())
    };
    write("job", &job)?;
    write("hosts", &names.concat())?;
    let stderr = std::fs::File::create(folder.0.join("said")).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    let words = [
        "run",
        "job",
        "-o",
        "out",
        "--backend",
        "null",
        "--hosts",
        "@hosts",
    ];
    command
        .args(words)
        .args(["--launcher", "env FATHOM_HOST={host}"]);
    command
        .current_dir(&folder.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr);
    let mut child = Running::start(&mut command)?;
    let looks = child.looks();
    let said = std::fs::read_to_string(folder.0.join("said")).unwrap_or_default();
    child.end(&said)?;
    all_told(&folder.0, &said)?;
    let steady = steady(&looks).ok_or("the coordinator ended before it was looked at")?;
    let [cpus, bytes_per_s, peak_mb] = steady;
    let what = format!("coordinator of {AGENTS} agents: ");
    table.row(&format!("{what}CPUs"), [cpus], Some(CPUS_MAX));
    table.row(&format!("{what}memory, MB"), [peak_mb], Some(MEMORY_MB_MAX));
    table.row(
        "bytes per agent and second",
        [bytes_per_s / AGENTS as f64],
        None,
    );
    Ok(())
}

/// Whether every agent is in every interval and did its part.
fn all_told(folder: &Path, said: &str) -> Result<(), String> {
    let lacks = ["in no average", "is lost", "stood still"];
    if let Some(line) = said
        .lines()
        .find(|line| lacks.iter().any(|words| line.contains(words)))
    {
        return Err(format!("an interval lacks an agent: {line}"));
    }
    let text = std::fs::read_to_string(folder.join("out/summary.json"));
    let text = text.map_err(|error| format!("summary.json: {error}"))?;
    let told: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let hosts = told["runs"]
        .as_array()
        .and_then(|runs| runs.last()?["hosts"].as_array());
    let did = |host: &&serde_json::Value| {
        let rate = host["achieved_rate_per_s"].as_f64().unwrap_or(0.0);
        (rate / RATE_PER_AGENT as f64 - 1.0).abs() < 0.2
    };
    let count = hosts.map_or(0, |hosts| hosts.iter().filter(did).count());
    match count == AGENTS {
        true => Ok(()),
        false => Err(format!("{count} of {AGENTS} agents did their part")),
    }
}

/// What the coordinator had taken by a moment of its life.
#[derive(Clone, Copy)]
struct Look {
    at_s: f64,
    cpu_s: f64,
    bytes: f64,
    peak_mb: f64,
}

/// CPUs and bytes per second in the middle of the run, and the most memory. The run is the last of what it does.
fn steady(looks: &[Look]) -> Option<[f64; 3]> {
    let last = looks.last()?;
    let begun_s = last.at_s - SECONDS as f64;
    let at = |second: u64| {
        let at_s = begun_s + second as f64;
        looks.iter().find(|look| look.at_s >= at_s)
    };
    let (from, to) = (at(STEADY.start)?, at(STEADY.end)?);
    let seconds = to.at_s - from.at_s;
    Some([
        (to.cpu_s - from.cpu_s) / seconds,
        (to.bytes - from.bytes) / seconds,
        last.peak_mb,
    ])
}

/// A program that does not outlive this one's interest in it.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Result<Self, String> {
        let shown = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn();
        child
            .map(Self)
            .map_err(|error| format!("`{shown}` does not run: {error}"))
    }

    /// Looks at it until it ends.
    fn looks(&mut self) -> Vec<Look> {
        let (mut looks, begun) = (Vec::new(), Instant::now());
        while let Ok(None) = self.0.try_wait() {
            looks.extend(look(self.0.id(), begun));
            std::thread::sleep(LOOK);
        }
        looks
    }

    fn end(&mut self, said: &str) -> Result<(), String> {
        let status = self.0.wait().map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("the coordinator ended with {status}: {said}")),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn look(process: u32, begun: Instant) -> Option<Look> {
    let read = |name: &str| {
        let mut text = String::new();
        let file = std::fs::File::open(format!("/proc/{process}/{name}"));
        file.ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    };
    let stat = read("stat")?;
    // The name of the program may hold blanks.
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    let number = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse::<f64>().ok()
    };
    Some(Look {
        at_s: begun.elapsed().as_secs_f64(),
        cpu_s: (ticks(11)? + ticks(12)?) / TICKS_PER_S,
        bytes: number(&read("io")?, "rchar:")?,
        peak_mb: number(&read("status")?, "VmHWM:")? * 1024.0 / 1e6,
    })
}
