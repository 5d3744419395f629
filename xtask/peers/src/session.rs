//! What all figures share: how long and how often, where things lie, and the record of what was run.
use crate::process::{self, Finished, owned};
use crate::reading::{Reading, STOLEN};
use host::{Sampler, SysRoot};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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

/// How often a disturbed window is measured anew.
const REPEATS_MAX: u32 = 2;

/// Between two rounds, for others that take the same locks.
const HANDOVER: Duration = Duration::from_millis(200);

/// A window with its place, for the record.
#[derive(Clone, Debug)]
pub struct Round {
    pub figure: u8,
    pub round: u32,
    pub contender: String,
    pub reading: Reading,
    /// Whether it counts; not where the host disturbed it and it was measured anew.
    pub counts: bool,
}

/// How often, and how much of the machine its host may have kept for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    pub count: u32,
    /// The CPU time that was stolen in a window over its length, at most; a window beyond it is measured anew, up to
    /// twice. Infinite where it does not matter.
    pub stolen_max: f64,
}

/// Rounds with their readings, in the order of the contenders, and how many more windows were disturbed and measured
/// anew.
#[derive(Debug, Default)]
pub struct Undisturbed {
    pub rounds: Vec<Vec<Reading>>,
    pub repeated: u32,
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

    /// As [`Session::rounds_below`], whatever the host takes.
    ///
    /// # Errors
    /// The first that a contender has.
    pub fn rounds(
        &mut self,
        figure: u8,
        count: u32,
        contenders: &[Contender<'_>],
    ) -> Result<Vec<Vec<Reading>>, String> {
        let times = Times {
            count,
            stolen_max: f64::INFINITY,
        };
        self.rounds_below(figure, times, contenders)
            .map(|found| found.rounds)
    }

    /// All contenders in turn, in order in even rounds and in reverse in odd ones (ABBA), so that drift of the machine
    /// hits all of them alike. The outer list is by round, the inner one in the order of `contenders` with all readings
    /// of each.
    ///
    /// # Errors
    /// The first that a contender has.
    pub fn rounds_below(
        &mut self,
        figure: u8,
        times: Times,
        contenders: &[Contender<'_>],
    ) -> Result<Undisturbed, String> {
        let mut found = Undisturbed::default();
        for round in 0..times.count {
            let _quiet = self.take_locks()?;
            let mut readings = vec![Vec::new(); contenders.len()];
            for place in order(round, contenders.len()) {
                let contender = &contenders[place];
                eprintln!(
                    "# figure {figure}, round {} of {}: {}",
                    round + 1,
                    times.count,
                    contender.name
                );
                for repeats in 0..=REPEATS_MAX {
                    let window = self.window(contender)?;
                    let is_disturbed = window.iter().any(|of| of.get(STOLEN) > times.stolen_max);
                    let counts = !is_disturbed || repeats == REPEATS_MAX;
                    self.rounds.extend(window.iter().map(|reading| Round {
                        figure,
                        round,
                        contender: contender.name.clone(),
                        reading: reading.clone(),
                        counts,
                    }));
                    if counts {
                        readings[place] = window;
                        break;
                    }
                    found.repeated += 1;
                }
            }
            found.rounds.push(readings.concat());
        }
        Ok(found)
    }

    /// Runs a contender, and adds to its readings what the host took meanwhile.
    fn window(&mut self, contender: &Contender<'_>) -> Result<Vec<Reading>, String> {
        let (begun, mut machine) = (Instant::now(), Sampler::new(&SysRoot::real(), &[]));
        let readings = (contender.run)(self)?;
        let stolen_ns = machine.sample().cpu.map_or(0, |cpu| cpu.steal_ns);
        let stolen = stolen_ns as f64 / begun.elapsed().as_nanos() as f64;
        let with_stolen = |reading: Reading| reading.with(STOLEN, stolen);
        Ok(readings.into_iter().map(with_stolen).collect())
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
    use super::*;

    #[test]
    fn two_contenders_meet_as_abba() {
        let places: Vec<usize> = (0..4).flat_map(|round| order(round, 2)).collect();
        assert_eq!(places, [0, 1, 1, 0, 0, 1, 1, 0]);
    }

    /// A session of which nothing is run.
    fn session(folder: &Path) -> Session {
        Session {
            settings: Settings::quick(),
            fathom: PathBuf::new(),
            folder: folder.to_owned(),
            results: folder.join("results"),
            locks: Vec::new(),
            rates: Vec::new(),
            commands: Vec::new(),
            rounds: Vec::new(),
        }
    }

    #[test]
    fn disturbed_windows_are_measured_anew_up_to_twice() {
        let folder = tempfile::tempdir().unwrap();
        let contender = || Contender {
            name: "nothing".to_owned(),
            run: Box::new(|_| Ok(vec![Reading::default()])),
        };
        // Nothing is below this.
        for (stolen_max, repeated) in [(f64::INFINITY, 0), (-1.0, 12)] {
            let times = Times {
                count: 3,
                stolen_max,
            };
            let mut session = session(folder.path());
            let found = session.rounds_below(18, times, &[contender(), contender()]);
            let found = found.unwrap();
            assert_eq!((found.rounds.len(), found.repeated), (3, repeated));
            assert!(found.rounds.iter().all(|round| round.len() == 2));
            let counting = session.rounds.iter().filter(|round| round.counts);
            assert_eq!(counting.count(), 6);
            assert_eq!(session.rounds.len(), 6 + repeated as usize);
            assert!(
                session
                    .rounds
                    .iter()
                    .all(|round| round.reading.get(STOLEN) >= 0.0)
            );
        }
    }
}
