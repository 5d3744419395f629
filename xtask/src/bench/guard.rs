//! What the overwrite guard costs before a job: `fathom check` of a job that writes beside that of one that reads the
//! same targets, which the guard has no questions about. Makes its files and loop devices itself.
use super::{Folder, Table};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const SMALL_FILES: usize = 10_000;
const DEVICES: usize = 256;

/// One thing to measure: how often, and the bar in seconds.
struct Case {
    name: &'static str,
    rounds: usize,
    seconds_max: f64,
    targets: Vec<PathBuf>,
}

/// A folder and loop devices that go away.
struct Place {
    folder: Folder,
    devices: Vec<PathBuf>,
}

/// Measures what each case adds. Arguments are the program, and the folder below which the files are made.
pub fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let below = match arguments {
        [] | [_] => std::env::temp_dir(),
        [_, below] => super::absolute(below)?,
        _ => return Err("`bench guard` takes at most a program and a folder".to_owned()),
    };
    let program = super::program(root, arguments.first().copied())?;
    let mut place = Place {
        folder: Folder::below(&below, "guard")?,
        devices: Vec::new(),
    };
    let cases = cases(&mut place)?;
    let mut table = Table::begin();
    for case in &cases {
        let added_ms = super::rounds(case.rounds, |_| added_ms(&program, &place.folder.0, case))?;
        let what = format!("{}, ms", case.name);
        table.row(&what, added_ms, Some(case.seconds_max * 1000.0));
    }
    table.end()
}

/// All cases that can be made here; what needs root is told of and left out.
fn cases(place: &mut Place) -> Result<Vec<Case>, String> {
    let sparse = place.file("sparse", 64 * MIB)?;
    let written = place.file("written", 64 * MIB)?;
    let file = File::options().write(true).open(&written);
    let zeros = vec![0; MIB as usize];
    let file = file.map_err(|error| error.to_string())?;
    for mib in 0..64 {
        let wrote = file.write_all_at(&zeros, mib * MIB);
        wrote.map_err(|error| error.to_string())?;
    }
    let small = (0..SMALL_FILES).map(|number| {
        let path = place.folder.0.join(format!("small{number}"));
        let wrote = std::fs::write(&path, [0; 8192]);
        wrote.map(|()| path).map_err(|error| error.to_string())
    });
    let small = small.collect::<Result<Vec<_>, _>>()?;
    let case = |name, rounds, seconds_max, targets| Case {
        name,
        rounds,
        seconds_max,
        targets,
    };
    let mut cases = vec![
        case("a blank sparse file of 64 MiB", 20, 0.020, vec![sparse]),
        case("a file of 64 MiB of zeros", 20, 0.020, vec![written]),
        case("10 000 files of 8 KiB", 3, 2.0, small),
    ];
    let devices = large_device(place).and_then(|large| {
        let count = 0..DEVICES;
        let blank = count.map(|number| {
            let file = place.file(&format!("blank{number}"), 256 * MIB)?;
            place.device(&file)
        });
        Ok((large, blank.collect::<Result<Vec<_>, String>>()?))
    });
    match devices {
        Ok((large, blank)) => {
            cases.push(case("a blank sparse device of 8 TiB", 3, 2.0, vec![large]));
            cases.push(case("256 blank devices of 256 MiB", 1, 15.0, blank));
        }
        Err(error) => println!("without devices: {error} (loop devices require root)"),
    }
    Ok(cases)
}

fn large_device(place: &mut Place) -> Result<PathBuf, String> {
    let file = place.file("large", 8 * TIB)?;
    place.device(&file)
}

impl Place {
    fn file(&self, name: &str, bytes: u64) -> Result<PathBuf, String> {
        let path = self.folder.0.join(name);
        let made = File::create(&path).and_then(|file| file.set_len(bytes));
        made.map(|()| path.clone())
            .map_err(|error| format!("`{}`: {error}", path.display()))
    }

    fn device(&mut self, file: &Path) -> Result<PathBuf, String> {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file)
            .output()
            .map_err(|error| format!("losetup: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(said.trim().to_owned());
        }
        let device = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        self.devices.push(device.clone());
        Ok(device)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for device in &self.devices {
            let _ = Command::new("losetup").arg("--detach").arg(device).status();
        }
    }
}

/// Milliseconds that writing asks more than reading.
fn added_ms(program: &Path, folder: &Path, case: &Case) -> Result<f64, String> {
    let [read, write] = [100, 0].map(|read_pct| seconds(program, folder, case, read_pct));
    Ok((write? - read?) * 1000.0)
}

fn seconds(program: &Path, folder: &Path, case: &Case, read_pct: u32) -> Result<f64, String> {
    let targets = case.targets.iter().enumerate();
    let storages: String = targets
        .map(|(number, path)| {
            // No run takes a device without.
            let flags = match path.starts_with("/dev") {
                true => ",openflags=o_direct",
                false => "",
            };
            format!("sd=sd{number},lun={}{flags}\n", path.display())
        })
        .collect();
    let job = format!(
        "{storages}wd=wd1,sd=sd*,xfersize=4k,rdpct={read_pct}\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n"
    );
    std::fs::write(folder.join("job"), job).map_err(|error| error.to_string())?;
    let mut check = Command::new(program);
    check.args(["check", "job"]);
    check.env("XDG_STATE_HOME", folder.join("state"));
    let found = super::timed(&mut check, folder);
    found
        .map(|found| found.seconds)
        .map_err(|error| format!("{}: {error}", case.name))
}
