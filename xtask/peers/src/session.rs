//! What all figures share: how long and how often, where things lie, and the record of what was run.
use crate::process::{self, Finished, owned};
use crate::reading::Reading;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    pub pairs: u32,
    pub window_s: u64,
    /// Before each window, in either tool.
    pub ramp_s: u64,
    /// Length of a run that only chooses between configurations, and how many of each.
    pub choosing_s: u64,
    pub choosing_rounds: u32,
    /// Bytes of the RAM-backed target.
    pub memory_bytes: u64,
    pub is_quick: bool,
}

/// One comparison from beginning to end.
#[derive(Debug)]
pub struct Session {
    pub settings: Settings,
    /// The binary that is compared.
    pub fathom: PathBuf,
    /// For what is kept between comparisons: the file that was written, parameter files.
    pub folder: PathBuf,
    /// For results: in memory where possible, so that recording does not disturb the storage that is measured.
    pub results: PathBuf,
    /// Files that are locked for each round.
    pub locks: Vec<PathBuf>,
    /// Rates of figure 18 to measure; all of them where there is none.
    pub rates: Vec<u32>,
    pub commands: Vec<String>,
    pub rounds: Vec<Round>,
}

/// Between two rounds, for others that take the same locks.
const HANDOVER: Duration = Duration::from_millis(200);

/// A window with its place, for the record.
#[derive(Clone, Debug)]
pub struct Round {
    pub figure: u8,
    pub round: u32,
    pub contender: String,
    pub reading: Reading,
}

/// Somebody who takes part in a comparison.
pub struct Contender<'a> {
    pub name: String,
    pub run: Turn<'a>,
}

/// One window of a contender: as many readings as programs that it runs side by side.
pub type Turn<'a> = Box<dyn Fn(&mut Session) -> Result<Vec<Reading>, String> + 'a>;

impl Settings {
    pub fn full() -> Self {
        Self {
            pairs: 10,
            window_s: 30,
            ramp_s: 3,
            choosing_s: 10,
            choosing_rounds: 3,
            memory_bytes: 4 << 30,
            is_quick: false,
        }
    }

    /// Shows that everything works; says nothing of speed.
    pub fn quick() -> Self {
        Self {
            pairs: 2,
            window_s: 3,
            ramp_s: 1,
            choosing_s: 2,
            choosing_rounds: 1,
            memory_bytes: 1 << 30,
            is_quick: true,
        }
    }
}

impl Session {
    /// # Errors
    /// A message when the folders cannot be made.
    pub fn new(settings: Settings, fathom: PathBuf, folder: PathBuf) -> Result<Self, String> {
        let memory = Path::new("/dev/shm");
        let results = if memory.is_dir() {
            memory.join(format!("fathom-peers-{}", std::process::id()))
        } else {
            folder.join("results")
        };
        for place in [&folder, &results] {
            std::fs::create_dir_all(place)
                .map_err(|error| format!("{}: {error}", place.display()))?;
        }
        let folder =
            std::fs::canonicalize(&folder).map_err(|error| format!("{folder:?}: {error}"))?;
        Ok(Self {
            settings,
            fathom,
            folder,
            results,
            locks: Vec::new(),
            rates: Vec::new(),
            commands: Vec::new(),
            rounds: Vec::new(),
        })
    }

    /// # Errors
    /// When the program does not start.
    pub fn run(
        &mut self,
        program: impl AsRef<std::ffi::OsStr>,
        arguments: &[String],
    ) -> Result<Finished, String> {
        process::run(&mut self.commands, program, arguments)
    }

    /// Runs a bare loop of this program, and takes the JSON that it prints.
    ///
    /// # Errors
    /// When it fails.
    pub fn bare(&mut self, arguments: &[&str]) -> Result<serde_json::Value, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let finished = self.run(own, &owned(arguments))?.successful(arguments[0])?;
        serde_json::from_str(&finished.stdout).map_err(|error| format!("{}: {error}", arguments[0]))
    }

    /// One for a program that runs at the same time as this session's.
    ///
    /// # Errors
    /// A message when its folder for results cannot be made.
    pub fn beside(&self, name: &str) -> Result<Self, String> {
        let results = self.results.join(name);
        std::fs::create_dir_all(&results)
            .map_err(|error| format!("{}: {error}", results.display()))?;
        Ok(Self {
            settings: self.settings,
            fathom: self.fathom.clone(),
            folder: self.folder.clone(),
            results,
            locks: Vec::new(),
            rates: Vec::new(),
            commands: Vec::new(),
            rounds: Vec::new(),
        })
    }

    /// Locks that hold until they are dropped.
    fn take_locks(&self) -> Result<Vec<File>, String> {
        if !self.locks.is_empty() {
            // Whoever waited through the last round comes first: a lock that is free goes to the thread that runs.
            std::thread::sleep(HANDOVER);
        }
        let take = |path: &PathBuf| {
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(path)?;
            file.lock()?;
            Ok(file)
        };
        let named = |path: &PathBuf| {
            take(path).map_err(|error: std::io::Error| format!("{}: {error}", path.display()))
        };
        self.locks.iter().map(named).collect()
    }

    /// Each contender once, for a target that was made a moment ago: what the host still does about its memory is in
    /// no round.
    ///
    /// # Errors
    /// The first that a contender has.
    pub fn settle(&mut self, figure: u8, contenders: &[Contender<'_>]) -> Result<(), String> {
        let _quiet = self.take_locks()?;
        for contender in contenders {
            eprintln!(
                "# figure {figure}, a round that does not count: {}",
                contender.name
            );
            (contender.run)(self)?;
        }
        Ok(())
    }

    /// All contenders in turn, in order in even rounds and in reverse in odd ones (ABBA), so that drift of the machine
    /// hits all of them alike. The outer list is by round, the inner one in the order of `contenders` with all readings
    /// of each.
    ///
    /// # Errors
    /// The first that a contender has.
    pub fn rounds(
        &mut self,
        figure: u8,
        count: u32,
        contenders: &[Contender<'_>],
    ) -> Result<Vec<Vec<Reading>>, String> {
        let mut rounds = Vec::new();
        for round in 0..count {
            let _quiet = self.take_locks()?;
            let mut readings = vec![Vec::new(); contenders.len()];
            for place in order(round, contenders.len()) {
                let contender = &contenders[place];
                eprintln!(
                    "# figure {figure}, round {} of {count}: {}",
                    round + 1,
                    contender.name
                );
                readings[place] = (contender.run)(self)?;
                self.rounds
                    .extend(readings[place].iter().map(|reading| Round {
                        figure,
                        round,
                        contender: contender.name.clone(),
                        reading: reading.clone(),
                    }));
            }
            rounds.push(readings.concat());
        }
        Ok(rounds)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What stays behind is only in the way.
        let _ = std::fs::remove_dir_all(&self.results);
    }
}

fn order(round: u32, contenders: usize) -> Vec<usize> {
    let forwards = 0..contenders;
    if round.is_multiple_of(2) {
        forwards.collect()
    } else {
        forwards.rev().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn two_contenders_meet_as_abba() {
        let places: Vec<usize> = (0..4).flat_map(|round| order(round, 2)).collect();
        assert_eq!(places, [0, 1, 1, 0, 0, 1, 1, 0]);
    }
}
