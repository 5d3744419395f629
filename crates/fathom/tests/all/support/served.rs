//! A disk of which a test decides how it answers: a network block device behind FUSE.
use crate::keeper::Keeper;
use crate::lab::{Lab, has};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Of every disk.
pub const BYTES: u64 = 16 << 20;

/// A file named `disk` in a folder of the lab, for as long as this lives.
pub struct Served {
    server: Child,
    keeper: Option<Keeper>,
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
        let server = lab
            .command("nbdfuse")
            .args([&path, "--command", "nbdkit", "-s"])
            .args(plugin)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let served = Self {
            keeper: Some(Keeper::of(&server, Path::new(&path))),
            server,
            path,
        };
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
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Of the process that answers.
    pub fn id(&self) -> u32 {
        self.server.id()
    }

    /// To the process that answers.
    pub fn signal(&self, name: &str) {
        let id = self.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.keeper = None;
        let _ = self.server.wait();
    }
}
