//! Real places for tests: files and a loop device, each with its content at hand.
use crate::named;
use crate::plans::*;
use crate::story::{Story, carry_out};
use conduct::{Control, LocalHost};
use door::Grants;
use engine::{BackendKind, EngineConfig, WorkerRule};
use plan::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// What stands in a place before a run.
pub const OLD: u8 = 0xa5;

pub struct Place {
    pub name: &'static str,
    pub path: PathBuf,
    pub kind: TargetKind,
    pub direct: bool,
    pub bytes: u64,
    loop_device: Option<String>,
    _folder: TempDir,
}

impl Place {
    fn file(name: &'static str, folder: TempDir, direct: bool, bytes: u64) -> Self {
        let path = folder.path().join("data");
        std::fs::write(&path, vec![OLD; bytes as usize]).unwrap();
        Self {
            name,
            path,
            kind: TargetKind::File,
            direct,
            bytes,
            loop_device: None,
            _folder: folder,
        }
    }

    pub fn buffered(bytes: u64) -> Self {
        Self::file(
            "buffered file",
            named::builder().tempdir().unwrap(),
            false,
            bytes,
        )
    }

    /// A file past the page cache, a file in memory and a block device, as far as they can be had.
    pub fn all(bytes: u64) -> Vec<Self> {
        let folder = named::builder().tempdir().unwrap();
        let mut places = Vec::new();
        let direct = Self::file("direct file", folder, true, bytes);
        match direct.open_direct() {
            Ok(_) => places.push(direct),
            Err(error) => {
                println!("skipped: no direct I/O in the folder for temporary files: {error}")
            }
        }
        match named::builder().tempdir_in("/dev/shm") {
            Ok(folder) => places.push(Self::file("file in memory", folder, false, bytes)),
            Err(error) => println!("skipped: no file system in memory: {error}"),
        }
        places.extend(Self::loop_device(bytes));
        places
    }

    fn loop_device(bytes: u64) -> Option<Self> {
        let folder = named::builder().tempdir().unwrap();
        let mut place = Self::file("loop device", folder, true, bytes);
        let attached = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(&place.path)
            .output();
        match attached {
            Ok(output) if output.status.success() => {
                let device = String::from_utf8(output.stdout).unwrap().trim().to_owned();
                place.path = PathBuf::from(&device);
                place.kind = TargetKind::Device;
                place.loop_device = Some(device);
                Some(place)
            }
            _ => {
                println!("skipped: no loop device to be had");
                None
            }
        }
    }

    fn open_direct(&self) -> std::io::Result<File> {
        let flags = sys::file::OpenFlags {
            read: true,
            write: false,
            create: false,
            direct: true,
            dsync: false,
            sync: false,
            exclusive: false,
            raw: 0,
        };
        sys::file::open(&self.path, &flags)
    }

    pub fn target(&self) -> Target {
        let mut target = target(&self.path, self.kind, self.bytes);
        target.open.direct = self.direct;
        target
    }

    /// What stands there now, past what the engine has done.
    pub fn content(&self) -> Vec<u8> {
        let file = File::open(&self.path).unwrap();
        file.sync_all().unwrap();
        let mut content = vec![0; self.bytes as usize];
        file.read_exact_at(&mut content, 0).unwrap();
        content
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(device) = &self.loop_device {
            let _ = Command::new("losetup").args(["--detach", device]).status();
        }
    }
}

pub fn facts(path: &Path, kind: TargetKind) -> TargetFacts {
    host::target_facts(&host::Storage::real(), path, kind).unwrap()
}

pub fn bind_real(plan: Plan) -> BoundPlan {
    let targets = plan.targets.iter().map(|t| facts(&t.path, t.kind));
    let facts = Facts {
        same: Vec::new(),
        targets: targets.collect(),
    };
    bind(plan, &facts).unwrap()
}

/// A machine that may do anything with the targets of a plan.
pub fn machine(plan: &BoundPlan, kind: BackendKind, workers: u32) -> LocalHost {
    let targets = plan.plan.targets.iter().enumerate();
    let grants = targets.map(|(number, target)| {
        let path = target.path.as_path();
        (TargetId::at(number), path, Access::Create)
    });
    let grants = Arc::new(Grants::unexamined(grants));
    let config = EngineConfig {
        backends: kind.into(),
        workers: WorkerRule::Exactly(workers),
        clock: sys::clock::Clock::calibrate(),
        cpus: 2,
        nonce: 7,
        reap_group_max: 16,
    };
    let root = host::SysRoot::real();
    LocalHost::new(config, grants, host::Sampler::new(&root, &[]))
}

pub fn run_on(plan: &BoundPlan, kind: BackendKind, workers: u32) -> Story {
    let mut host = machine(plan, kind, workers);
    let story = carry_out(plan, &mut host, &Control::default());
    story.check_accounts();
    story
}
