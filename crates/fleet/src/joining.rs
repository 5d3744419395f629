//! How a host joins: `ssh` with the configuration of the user starts an agent of this build there, which is copied before
//! where there is none.
mod copy;
mod end;
mod image;
mod process;
mod watch;

use crate::line::{MARK, PipeLine};
use conduct::machine::Refusal;
use copy::{LACKS_AGENT, fits, script};
use end::End;
use plan::{PlanHost, Reach};
use process::{Begun, begin};
use std::io::Read;
use std::process::{Child, Command};

pub use image::Image;

/// How often `ssh` asks a host whether it is there before it gives up.
const ALIVE_ASKED: u32 = 3;

/// How hosts are reached.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The words of a command, with `{host}` for the name of the host; `None` for `ssh`.
    pub launcher: Option<Vec<String>>,
    /// Whether a copy of this program stays on a host.
    pub keeps: bool,
    /// How long `ssh` waits for a host that does not answer, in seconds.
    pub patience_s: u64,
}

/// The line to an agent, and the process that carries it.
pub struct Joined {
    pub line: PipeLine,
    /// None where that is the agent itself.
    pub carrier: Option<Child>,
}

/// Starts the agent of a host, with its place in the plan, and gives the line to it.
pub fn join(
    (place, host): (usize, &PlanHost),
    image: &Image,
    way: &Way,
) -> Result<Joined, Refusal> {
    let refused = |text: String| Refusal::misfit(text);
    let Some(reach) = &host.reach else {
        let mut command = Command::new("/proc/self/exe");
        command.arg("agent");
        let begun = begin(command, way)
            .and_then(|begun| begun.wait(&[MARK], "its start").map(|(line, _)| line));
        return begun
            .and_then(Begun::lead)
            .map(|joined| Joined {
                carrier: None,
                ..joined
            })
            .map_err(|end| refused(end.text("the agent")));
    };
    check(reach).map_err(refused)?;
    // Hosts may share a home: one that goes away again is for one of them.
    let copy_name = match way.keeps {
        true => image.digest.clone(),
        false => format!("{}-{}-{place}", image.digest, std::process::id()),
    };
    let command = over_there(reach, way);
    let called = called(&command);
    let failed = |end: End| refused(end.reached(reach, way, &called));
    let begun = begin(command, way).map_err(failed)?;
    let script = script(image, &copy_name, way.keeps);
    let begun = begun.say(|to| to.write_all(script.as_bytes()));
    let (mut begun, mark) = begun
        .wait(&[MARK, LACKS_AGENT], "its shell")
        .map_err(failed)?;
    if mark == 0 {
        return begun.lead().map_err(failed);
    }
    fits(&begun.line()).map_err(refused)?;
    let begun = begun.say(|to| image.write_to(to));
    let (begun, _) = begun
        .wait(&[MARK], "the copy of this program there")
        .map_err(failed)?;
    begun.lead().map_err(failed)
}

/// What is asked of a host before its part is known.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Files that are read there, with the rights of the login.
    files: Vec<String>,
}

/// The answer.
#[derive(Debug, Default)]
pub struct Told {
    /// At which it was reached by `ssh`; empty where it was reached otherwise.
    pub address: String,
    /// Each file with its path.
    pub files: Vec<(String, Vec<u8>)>,
}

/// More than a job file has.
const FILE_BYTES_MAX: u64 = 16 << 20;

const ADDRESS: &[u8] = b"\x01fathom address\x02";
const FILE: &[u8] = b"\x01fathom file\x02";

impl Question {
    pub fn new(files: &[String]) -> Self {
        Self {
            files: files.to_vec(),
        }
    }

    /// Each file comes with its length in front.
    fn script(&self) -> String {
        let file = |path: &String| {
            let path = path.replace('\'', r"'\''");
            format!(
                "f='{path}'; [ -f \"$f\" ] && n=$(wc -c <\"$f\") || {{ echo \"$f: no such file\" >&2; exit 1; }}; \
                 printf '\\001fathom file\\002%s\\n' $n; head -c $n \"$f\" || exit 1; "
            )
        };
        let files: String = self.files.iter().map(file).collect();
        format!(
            "{{ set -- $SSH_CONNECTION; printf '\\001fathom address\\002%s\\n' \"$3\"; {files}exit 0; }}\n"
        )
    }
}

/// Asks a host.
pub fn ask(host: &PlanHost, question: &Question, way: &Way) -> Result<Told, Refusal> {
    let refused = |text: String| Refusal::misfit(text);
    let Some(reach) = &host.reach else {
        return Ok(Told::default());
    };
    check(reach).map_err(refused)?;
    let command = over_there(reach, way);
    let called = called(&command);
    let failed = |end: End| refused(end.reached(reach, way, &called));
    let script = question.script();
    let begun = begin(command, way).map_err(failed)?;
    let begun = begun.say(|to| to.write_all(script.as_bytes()));
    let (mut begun, _) = begun.wait(&[ADDRESS], "its shell").map_err(failed)?;
    let mut told = Told {
        address: begun.line(),
        files: Vec::new(),
    };
    for path in &question.files {
        let unread = |end: End| refused(end.text(&format!("`{path}` cannot be read there")));
        (begun, _) = begun.wait(&[FILE], "the file").map_err(unread)?;
        let length = begun.line().parse::<u64>().unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        let part = (&mut begun.reader).take(length.min(FILE_BYTES_MAX));
        let read = { part }.read_to_end(&mut bytes);
        if read.is_err() || bytes.len() as u64 != length {
            return Err(refused(format!("`{path}` is no job file, or came in part")));
        }
        told.files.push((path.clone(), bytes));
    }
    let _ = begun.child.wait();
    Ok(told)
}

/// A name that `ssh` would take for something else reaches nobody.
fn check(reach: &Reach) -> Result<(), String> {
    let is_odd = |text: &str| {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        text.is_empty() || text.starts_with('-') || text.contains(odd)
    };
    for name in [Some(&reach.system), reach.user.as_ref()]
        .into_iter()
        .flatten()
    {
        if is_odd(name) {
            return Err(format!(
                "`{}` is no name of a host or a user",
                name.escape_debug()
            ));
        }
    }
    Ok(())
}

/// A shell on a host, which reads from its input what it is to do.
fn over_there(reach: &Reach, way: &Way) -> Command {
    let mut command = match &way.launcher {
        Some(words) => {
            let mut words = words
                .iter()
                .map(|word| word.replace("{host}", &reach.system));
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words);
            command
        }
        None => {
            let mut command = Command::new("ssh");
            command.args(["-T", "-o", "BatchMode=yes"]);
            command.args(["-o", &format!("ConnectTimeout={}", way.patience_s.max(1))]);
            // A link that goes down later is found by `ssh` itself, too.
            let alive = way.patience_s.div_ceil(u64::from(ALIVE_ASKED)).max(1);
            command.args(["-o", &format!("ServerAliveInterval={alive}")]);
            command.args(["-o", &format!("ServerAliveCountMax={ALIVE_ASKED}")]);
            if let Some(user) = &reach.user {
                command.args(["-l", user]);
            }
            command.args(["--", &reach.system]);
            command
        }
    };
    command.arg("sh");
    command
}

/// A command as it would be typed.
fn called(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
