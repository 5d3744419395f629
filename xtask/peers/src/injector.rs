//! A file whose reads fall silent when told to, and a log of its own of when they came and were answered: the nbdkit
//! plugin `xtask/assets/stalling_disk.py` behind nbdfuse. Knows nothing of who reads it.
use crate::process;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The file while it is there.
#[derive(Debug)]
pub struct Injector {
    pub file: PathBuf,
    log: PathBuf,
    control: PathBuf,
    server: Child,
}

/// A read, as the log has it; times on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub arrived_ns: u64,
    pub answered_ns: u64,
    pub offset: u64,
    pub bytes: u64,
}

pub const FILE_BYTES: u64 = 64 << 20;

/// How long the file system may take to come and to go.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there can be no injector here; nothing when there can.
pub fn missing(fuse: &Path) -> Option<String> {
    if !fuse.exists() {
        return Some(format!("{} is not there", fuse.display()));
    }
    let programs = [
        ("nbdkit", "nbdkit"),
        ("nbdfuse", "libnbd-bin"),
        ("fusermount3", "fuse3"),
    ];
    let absent = |(program, package): &(&str, &str)| {
        process::version(program)
            .is_none()
            .then(|| format!("{program} is not installed (Debian: {package})"))
    };
    programs.iter().find_map(absent).or_else(|| {
        let has_python = Command::new("nbdkit")
            .args(["python", "--version"])
            .stdin(Stdio::null())
            .output()
            .is_ok_and(|output| output.status.success());
        (!has_python).then(|| "the Python plugin of nbdkit is not installed".to_owned())
    })
}

impl Injector {
    /// Mounts the file in `folder`; `commands` takes what was run.
    ///
    /// # Errors
    /// A message when it does not come.
    pub fn start(plugin: &Path, folder: &Path, commands: &mut Vec<String>) -> Result<Self, String> {
        let file = folder.join("stalling-disk");
        let (log, control) = (
            folder.join("stalling-disk.log"),
            folder.join("stalling-disk.json"),
        );
        // A comparison that was killed leaves its mount behind.
        let _ = unmount(&file);
        let prepared = fs::write(&file, "")
            .and_then(|()| fs::write(&log, ""))
            .and_then(|()| match fs::remove_file(&control) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            });
        prepared.map_err(|error| format!("{}: {error}", folder.display()))?;
        let words = [
            file.display().to_string(),
            "--command".to_owned(),
            "nbdkit".to_owned(),
            "-s".to_owned(),
            "--threads=64".to_owned(),
            "python".to_owned(),
            plugin.display().to_string(),
            format!("size={FILE_BYTES}"),
            format!("log={}", log.display()),
            format!("control={}", control.display()),
        ];
        let shown = format!("nbdfuse {}", words.join(" "));
        eprintln!("$ {shown}");
        commands.push(shown);
        let server = Command::new("nbdfuse")
            .args(&words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("nbdfuse does not start: {error}"))?;
        let mut injector = Self {
            file,
            log,
            control,
            server,
        };
        injector.wait_until_there()?;
        Ok(injector)
    }

    /// Empties the log, and orders a stall by the time that has passed since the first read from now on.
    ///
    /// # Errors
    /// A message when the files cannot be written.
    pub fn order_stall(&self, after: Duration, length: Duration) -> Result<(), String> {
        let order = serde_json::json!({
            "after_ns": after.as_nanos() as u64,
            "for_ns": length.as_nanos() as u64,
        });
        let new = self.control.with_extension("new");
        fs::write(&self.log, "")
            .and_then(|()| fs::write(&new, order.to_string()))
            .and_then(|()| fs::rename(&new, &self.control))
            .map_err(|error| format!("{}: {error}", self.control.display()))
    }

    /// The reads since the last order.
    ///
    /// # Errors
    /// A message when the log is not as the plugin writes it.
    pub fn answers(&self) -> Result<Vec<Answer>, String> {
        let text = fs::read_to_string(&self.log)
            .map_err(|error| format!("{}: {error}", self.log.display()))?;
        read_log(&text)
    }

    fn wait_until_there(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if fs::metadata(&self.file).is_ok_and(|facts| facts.len() == FILE_BYTES) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.server.try_wait() {
                return Err(format!("nbdfuse ended with {status}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("nbdfuse did not bring the file".to_owned())
    }
}

impl Drop for Injector {
    fn drop(&mut self) {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if unmount(&self.file).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        while begin.elapsed() < PATIENCE {
            if let Ok(Some(_)) = self.server.try_wait() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Ok(None) = self.server.try_wait() {
            // It is our own child; its mount has been given up, or could not be.
            let _ = self
                .server
                .kill()
                .and_then(|()| self.server.wait().map(drop));
        }
        for file in [&self.file, &self.log, &self.control] {
            let _ = fs::remove_file(file);
        }
    }
}

fn unmount(file: &Path) -> Result<(), String> {
    let output = Command::new("fusermount3")
        .arg("-u")
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn read_log(text: &str) -> Result<Vec<Answer>, String> {
    let answer = |line: &str| {
        let numbers: Option<Vec<u64>> = line.split(' ').map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[arrived_ns, answered_ns, offset, bytes]) => Ok(Answer {
                arrived_ns,
                answered_ns,
                offset,
                bytes,
            }),
            _ => Err(format!("the log of the injector holds `{line}`")),
        }
    };
    text.lines().map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_read_and_anything_else_refused() {
        let answers = read_log("10 25 4096 512\n30 31 0 4096\n").unwrap();
        let first = Answer {
            arrived_ns: 10,
            answered_ns: 25,
            offset: 4096,
            bytes: 512,
        };
        assert_eq!((answers.len(), answers[0]), (2, first));
        assert_eq!(read_log(""), Ok(Vec::new()));
        assert!(read_log("10 25 4096\n").is_err() && read_log("a b c d\n").is_err());
    }

    #[test]
    fn without_fuse_the_reason_is_said() {
        let reason = missing(Path::new("/nonexistent/fuse")).unwrap();
        assert_eq!(reason, "/nonexistent/fuse is not there");
    }
}
