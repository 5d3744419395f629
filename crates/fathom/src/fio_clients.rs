//! `--client`: jobs of a command line for other hosts, as one plan. Nothing listens there: hosts are reached by `ssh`.
use crate::arguments::Common;
use crate::files;
use crate::host_list;
use crate::hosts;
use fleet::joining;
use lang::Environment;
use lang::fio::{Input, Reading};
use plan::{Diagnostic, Label, Plan, PlanHost, RunKind, RunSpec, SourceMap};

/// A `--client` with what stands after it.
#[derive(Clone, Debug, Default)]
pub struct Client {
    hosts: Vec<PlanHost>,
    /// Job files of this machine.
    files: Vec<String>,
    /// Job files of the hosts.
    remote: Vec<String>,
}

impl Client {
    /// The word of a `--client`: a host as fio takes one, with or without a user; or a file with one in each line.
    ///
    /// # Errors
    /// In words, where it is none.
    pub fn of(word: &str) -> Result<Self, String> {
        let is_list = std::fs::metadata(word).is_ok_and(|facts| facts.is_file());
        let text = match is_list {
            false => word.to_owned(),
            true => std::fs::read_to_string(word)
                .map_err(|error| format!("`--client={word}` cannot be read: {error}"))?,
        };
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let hosts = lines.map(host).collect::<Result<Vec<_>, _>>();
        let hosts = hosts.map_err(|reason| format!("`--client={word}`: {reason}"))?;
        match hosts.is_empty() {
            true => Err(format!("`--client={word}` names no host")),
            false => Ok(Self {
                hosts,
                ..Self::default()
            }),
        }
    }

    pub fn add_file(&mut self, name: String) {
        self.files.push(name);
    }

    pub fn add_remote(&mut self, path: String) {
        self.remote.push(path);
    }
}

/// `ip:HOST,PORT` and the like; without a server, a port is of no use.
fn host(word: &str) -> Result<PlanHost, String> {
    if word.starts_with("sock:") {
        return Err("a socket reaches no host; name one, which is reached by `ssh`".to_owned());
    }
    let is_six = word.starts_with("ip6:");
    let kinds = ["ip:", "ip4:", "ip6:"];
    let plain = kinds.iter().find_map(|kind| word.strip_prefix(kind));
    let plain = plain.unwrap_or(word);
    let (plain, port) = match plain.split_once(',') {
        Some((plain, port)) => (plain, Some(port)),
        None => (plain, None),
    };
    if let Some(port) = port {
        port.parse::<u16>()
            .map_err(|_| format!("`{port}` is no port"))?;
        errln!("note: `{word}`: the port is not used, as hosts are reached by `ssh`");
    }
    if !is_six && plain.matches(':').count() == 1 {
        return Err(format!("`{plain}` is no host"));
    }
    let mut all = host_list::hosts(plain)?.0;
    match all.len() {
        1 => Ok(all.remove(0)),
        _ => Err(format!("`{plain}` names several hosts")),
    }
}

/// The jobs of one host.
struct OfHost {
    host: PlanHost,
    files: Vec<String>,
    remote: Vec<String>,
}

/// Each host once, with all of its files.
fn by_host(clients: &[Client]) -> Result<Vec<OfHost>, String> {
    let mut all: Vec<OfHost> = Vec::new();
    for client in clients {
        if client.files.is_empty() && client.remote.is_empty() {
            let names: Vec<&str> = client.hosts.iter().map(|host| host.name.as_str()).collect();
            return Err(format!(
                "`--client={}` has no job file: each file belongs to the `--client` in front of it; name the file after each, or give a file with all hosts, as in `--client=FILE_OF_HOSTS job.fio`",
                names.join(",")
            ));
        }
        for host in &client.hosts {
            let known = all.iter_mut().find(|known| known.host.name == host.name);
            let one = match known {
                Some(known) => known,
                None => {
                    all.push(OfHost {
                        host: host.clone(),
                        files: Vec::new(),
                        remote: Vec::new(),
                    });
                    all.last_mut().expect("it was just added")
                }
            };
            one.files.extend(client.files.iter().cloned());
            one.remote.extend(client.remote.iter().cloned());
        }
    }
    Ok(all)
}

/// Why jobs are not read.
pub enum Unread {
    /// In words.
    Message(String),
    /// It was told.
    Told(crate::exit::Exit),
}

/// Reads the jobs of all hosts, which are reached before for what only they know; gives one reading of them all.
///
/// # Errors
/// In words, or told by host.
pub fn read(
    clients: &[Client],
    sections: &[String],
    environment: &mut Environment<'_>,
    common: &Common,
) -> Result<Reading, Unread> {
    let all = by_host(clients).map_err(Unread::Message)?;
    let asked = all
        .iter()
        .map(|one| (one.host.clone(), joining::Question::new(&one.remote)));
    let told = hosts::ask_before(&asked.collect::<Vec<_>>(), common).map_err(Unread::Told)?;
    let mut sources = SourceMap::default();
    let (mut parts, mut whole) = (Vec::<Plan>::new(), None::<Reading>);
    let mut seen: Vec<&OfHost> = Vec::new();
    for (one, told) in all.iter().zip(told) {
        environment.client_address = Some(match told.address.is_empty() {
            true => one.host.name.clone(),
            false => told.address,
        });
        let mut inputs = files::fio_inputs(&one.files);
        inputs.extend(told.files.into_iter().map(|(path, bytes)| Input::Text {
            name: format!("{}:{path}", one.host.name),
            bytes,
        }));
        let mut reading = lang::fio::read_beside(&inputs, sections, environment, sources);
        sources = std::mem::take(&mut reading.sources);
        if let Some(mut plan) = reading.plan.take() {
            if reading.wants_fresh_seed {
                plan.seed = environment.fresh_seed;
            }
            give_names(&mut plan, &one.host.name);
            parts.push(plan.on_hosts(vec![one.host.clone()]));
        }
        let is_told = seen
            .iter()
            .any(|known| known.files == one.files && one.remote.is_empty());
        seen.push(one);
        match &mut whole {
            None => whole = Some(reading),
            Some(_) if is_told => {}
            Some(whole) => {
                whole.diagnostics.extend(reading.diagnostics);
                whole.run_blockers.extend(reading.run_blockers);
                whole.commands.extend(reading.commands);
            }
        }
    }
    let mut whole = whole.expect("some host has jobs");
    whole.run_blockers.extend(refused(&parts));
    whole.wants_fresh_seed = false;
    whole.sources = sources;
    if parts.len() == all.len() {
        whole.plan = Some(Plan::side_by_side(&parts).map_err(Unread::Message)?);
    }
    Ok(whole)
}

/// Logs carry the name of the host, and are counted on each from one.
fn give_names(plan: &mut Plan, host: &str) {
    let mut number = 0;
    let runs = plan.runs.iter();
    let is_logged = |run: &&RunSpec| {
        run.kind == RunKind::Measure && Label::find(&run.labels, "phase") != Some("check")
    };
    let logged: Vec<usize> = runs
        .filter(is_logged)
        .map(|run| run.template.index())
        .collect();
    for template in logged {
        for stream in &mut plan.templates[template].streams {
            number += 1;
            stream.labels.push(Label::new("client", host));
            stream
                .labels
                .push(Label::new("log_number", number.to_string()));
        }
    }
}

/// What is not carried out over there.
fn refused(parts: &[Plan]) -> Option<Diagnostic> {
    // Whoever may do I/O on a host by ssh could run any command there; but a job file may come from others.
    let commands = parts.iter().any(|part| !part.steering.around.is_empty());
    let text = "`exec_prerun` and `exec_postrun` are refused with `--client`: run the commands on the hosts yourself";
    commands.then(|| Diagnostic::error("fathom-0001", text))
}
