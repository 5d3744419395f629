//! A disk of which a test decides how it answers: a network block device behind FUSE.
use crate::lab::{Lab, has};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Of every disk.
pub const BYTES: u64 = 16 << 20;

/// A file named `disk` in a folder of the lab, for as long as this lives.
pub struct Served {
    server: Child,
    path: String,
}

impl Served {
    /// `plugin` are words of `nbdkit`. An error says what is missing here.
    pub fn new(lab: &Lab, folder: &str, plugin: &[&str]) -> Result<Self, String> {
        if !(has("nbdfuse") && has("nbdkit") && has("fusermount3")) {
            return Err("`nbdfuse`, `nbdkit` or `fusermount3` is missing".to_owned());
        }
        if std::fs::File::open("/dev/fuse").is_err() {
            return Err("/dev/fuse cannot be opened".to_owned());
        }
        std::fs::create_dir(lab.path(folder)).unwrap();
        let disk = format!("{folder}/disk");
        lab.write(&disk, "");
        let path = lab.path(&disk).display().to_string();
        let server = Command::new("nbdfuse")
            .args([&path, "--command", "nbdkit", "-s"])
            .args(plugin)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let served = Self { server, path };
        let since = Instant::now();
        while std::fs::metadata(&served.path).map_or(0, |facts| facts.len()) != BYTES {
            if since.elapsed() > Duration::from_secs(10) {
                return Err("the device did not come up".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(served)
    }
}

impl Served {
    /// To the process that answers.
    pub fn signal(&self, name: &str) {
        let id = self.server.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The server would first wait for reads that hang; without it, the mount goes at once.
        let _ = Command::new("fusermount3")
            .args(["-u", "-z", &self.path])
            .status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
