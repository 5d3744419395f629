//! Jobs in the background: the program begins anew as a process without a terminal, before it has threads, and whoever
//! called goes on at once with the number of that process in a file.
use crate::outputs::Outputs;
use host::command::DETACHED_VARIABLE;
use host::text_file::read_whole;
use report::Opening;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A number and a line end have less.
const PID_FILE_BYTES_MAX: u64 = 64;

/// Whether this process is the one in the background; from now on it has a session of its own.
///
/// # Errors
/// When the kernel refuses that, in words.
pub fn is_here() -> Result<bool, String> {
    if std::env::var_os(DETACHED_VARIABLE).is_none() {
        return Ok(false);
    }
    let leader = rustix::process::setsid();
    leader.map_err(|error| format!("the session cannot be left: {error}"))?;
    Ok(true)
}

/// Begins the process with the same words, and writes its number to `pid_file`.
///
/// # Errors
/// When one whose number is there is alive, or when a process or the file cannot be made, in words.
pub fn begin(words: &[String], pid_file: &Path, outputs: &Outputs) -> Result<(), String> {
    if let Some(pid) = alive(pid_file) {
        let path = pid_file.display();
        return Err(format!("`{path}` exists, and its process {pid} is alive"));
    }
    outputs.check(pid_file, Opening::Replace)?;
    let mut file = outputs.open_named(pid_file, Opening::Replace)?;
    let program = std::env::current_exe();
    let program = program.map_err(|error| format!("the program is not found: {error}"))?;
    let (name, rest) = words.split_first().ok_or("the program has no name")?;
    let child = Command::new(program)
        .arg0(name)
        .args(rest)
        .env(DETACHED_VARIABLE, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = child.map_err(|error| format!("no process can be made: {error}"))?;
    let written = writeln!(file, "{}", child.id());
    written.map_err(|error| format!("`{}` cannot be written: {error}", pid_file.display()))
}

/// The process of a file of an earlier call, if it lives.
fn alive(pid_file: &Path) -> Option<u32> {
    let bytes = read_whole(pid_file, PID_FILE_BYTES_MAX).ok()?;
    let pid: u32 = String::from_utf8(bytes).ok()?.trim().parse().ok()?;
    let own = Path::new("/proc").join(pid.to_string());
    own.exists().then_some(pid)
}
