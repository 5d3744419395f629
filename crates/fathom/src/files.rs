//! Real files for the readers of job languages.
use host::SysRoot;
use host::rights::{Wanted, denial};
use host::text_file::{BLOCK_DEVICE, Unreadable, read_standard_input, read_whole};
use lang::vdbench::InputFile;
use lang::{CommandLine, Environment, Files, Variable};
use lang::{DATA_BYTES_MAX, NO_SUCH_FILE, TEXT_BYTES_MAX};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Files by path, as the process sees them.
pub struct RealFiles;

impl Files for RealFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        read_whole(Path::new(path), TEXT_BYTES_MAX).map_err(|error| reason(path, &error))
    }

    fn read_data(&self, path: &str) -> Result<Vec<u8>, String> {
        read_whole(Path::new(path), DATA_BYTES_MAX).map_err(|error| reason(path, &error))
    }

    fn below(&self, folder: &str) -> Result<Vec<(String, u64)>, String> {
        let look = || host::files_below(Path::new(folder));
        let found = door::waiting::on(Path::new(folder), look).map_err(|(path, error)| {
            let reason = match error.kind() {
                ErrorKind::NotFound => "no such folder".to_owned(),
                ErrorKind::NotADirectory => "it is no folder".to_owned(),
                ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            };
            match path == Path::new(folder) {
                true => reason,
                false => format!("`{}`: {reason}", path.display()),
            }
        })?;
        let text = |(path, bytes): (PathBuf, u64)| {
            let text = path.into_os_string().into_string();
            let text = text.map_err(|name| format!("{name:?} is no UTF-8"))?;
            Ok((text, bytes))
        };
        found.into_iter().map(text).collect()
    }
}

fn reason(path: &str, error: &Unreadable) -> String {
    match error {
        Unreadable::Denied => {
            let denied = std::io::Error::from(rustix::io::Errno::ACCESS);
            denial(Path::new(path), Wanted::Read, &denied)
        }
        Unreadable::Missing => NO_SUCH_FILE.to_owned(),
        Unreadable::Kind(BLOCK_DEVICE) => {
            format!("it is {BLOCK_DEVICE}; to measure it, use `fathom curve {path}`")
        }
        error => error.to_string(),
    }
}

/// Splits words of the command line into files and `name=value`.
pub fn split_inputs(words: &[String]) -> (Vec<String>, Vec<Variable>) {
    let mut files = Vec::new();
    let mut variables = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((name, value)) if !Path::new(word).exists() => {
                variables.push(Variable {
                    name: name.to_owned(),
                    value: value.to_owned(),
                });
            }
            _ => files.push(word.clone()),
        }
    }
    (files, variables)
}

/// The inputs of a reading; `-` is standard input. Each is read once: a pipe gives its text once.
pub fn input_files(names: &[String]) -> Vec<InputFile> {
    let input = |name: &String| {
        let (name, read) = match name.as_str() {
            "-" | "stdin" => ("standard input", read_standard_input(TEXT_BYTES_MAX)),
            path => (path, read_whole(Path::new(path), TEXT_BYTES_MAX)),
        };
        let name = name.to_owned();
        match read {
            Ok(bytes) => InputFile::Text { name, bytes },
            Err(error) => InputFile::Unreadable {
                reason: reason(&name, &error),
                name,
            },
        }
    };
    names.iter().map(input).collect()
}

/// The job files of a command line; `-` is standard input, read once.
pub fn fio_inputs(names: &[String]) -> Vec<lang::fio::Input> {
    input_files(names).into_iter().map(fio_input).collect()
}

/// The same input for the other reader.
pub fn fio_input(input: InputFile) -> lang::fio::Input {
    match input {
        InputFile::Path(path) => lang::fio::Input::Path(path),
        InputFile::Text { name, bytes } => lang::fio::Input::Text { name, bytes },
        InputFile::Unreadable { name, reason } => lang::fio::Input::Unreadable { name, reason },
    }
}

/// The name and the addresses of this machine.
fn own_names(name: String) -> Vec<String> {
    let mut names = host::own_addresses(&SysRoot::real());
    names.push(name);
    names
}

/// The environment that a text is read in.
pub fn environment(command_line: CommandLine, seed: u64) -> Environment<'static> {
    let facts = host::facts();
    Environment {
        files: &RealFiles,
        cpus: facts.cpus,
        cpu_nodes: host::cpus_by_node(),
        memory_bytes: facts.memory_bytes,
        page_bytes: sys::memory::page_bytes(),
        process_variables: std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect(),
        host_names: own_names(facts.name),
        client_address: None,
        seed,
        fresh_seed: seed,
        command_line,
    }
}
