//! Runs other programs of the tool chain and takes what they print.
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The standard output of a program that has to succeed.
pub fn output(root: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let shown = shown(program, arguments);
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("`{shown}` does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{shown}` ended with {}", output.status));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("`{shown}` printed something else than UTF-8"))
}

/// Runs a program that prints for itself, with additions to its environment.
pub fn run(
    root: &Path,
    program: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Result<(), String> {
    let shown = shown(program, arguments);
    eprintln!("== {shown}");
    let status = Command::new(program)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("`{shown}` does not start: {error}"))?;
    outcome(&shown, status)
}

/// An error unless the program succeeded.
pub fn outcome(shown: &str, status: ExitStatus) -> Result<(), String> {
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{shown}` ended with {status}"))
    }
}

/// What somebody would type: the program by its name alone.
fn shown(program: &str, arguments: &[&str]) -> String {
    let name = Path::new(program)
        .file_name()
        .map_or(program.into(), |name| name.to_string_lossy());
    format!("{name} {}", arguments.join(" "))
}

/// The `cargo` that started this program.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
