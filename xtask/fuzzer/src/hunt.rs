//! Runs one target over and over until its budget is spent or it panics.
use crate::mutate::Mutator;
use crate::targets::{Sight, Target};
use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Executions that may go into making a failing input smaller.
const SHRINK_EXECUTIONS: u64 = 2_000;

/// How many inputs are mutated further, the seeds not counted.
const POOL_INPUTS: usize = 4_000;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    Time(Duration),
    Executions(u64),
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Hunt {
    pub executions: u64,
    pub failure: Option<Failure>,
}

/// An input on which the target panics.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What the panic said.
    pub message: String,
    /// The input, made smaller.
    pub input: Vec<u8>,
    /// Where it is kept.
    pub path: PathBuf,
}

/// Feeds the target its seeds as they are, then mutated. An input that shows the target in a new light is mutated
/// further.
///
/// Each input is in `folder/current` while it is being executed, so that it can be found when the process dies of it.
///
/// # Errors
/// When the folder cannot be written.
pub fn hunt(
    target: &Target,
    seeds: &[Vec<u8>],
    budget: Budget,
    seed: u64,
    folder: &Path,
) -> std::io::Result<Hunt> {
    std::fs::create_dir_all(folder)?;
    let current = std::fs::File::create(folder.join("current"))?;
    let begin = Instant::now();
    let mut mutator = Mutator::new(seed, target.grain, target.words);
    let mut pool = Pool::default();
    let mut executions = 0;
    while !is_spent(budget, executions, begin) {
        let input = match seeds.get(executions as usize) {
            Some(seed) => seed.clone(),
            None => pool.next(&mut mutator),
        };
        current.set_len(0)?;
        current.write_all_at(&input, 0)?;
        executions += 1;
        match execute(target, &input) {
            Ok(sight) => pool.keep(input, sight, seeds.len()),
            Err(message) => {
                let failure = keep(target, input, message, folder)?;
                return Ok(Hunt {
                    executions,
                    failure: Some(failure),
                });
            }
        }
    }
    Ok(Hunt {
        executions,
        failure: None,
    })
}

/// What is mutated: the seeds, and what came out of them and looked new.
#[derive(Debug, Default)]
struct Pool {
    inputs: Vec<Vec<u8>>,
    /// Places of those that the target takes as sound: they lead furthest into it.
    sound: Vec<usize>,
    signatures: BTreeSet<u64>,
}

impl Pool {
    fn next(&self, mutator: &mut Mutator) -> Vec<u8> {
        if self.inputs.is_empty() {
            return mutator.next(&[], &[]);
        }
        let other = mutator.below(self.inputs.len());
        let mut at = mutator.below(self.inputs.len());
        if !self.sound.is_empty() && mutator.below(4) != 0 {
            at = self.sound[mutator.below(self.sound.len())];
        }
        mutator.next(&self.inputs[at], &self.inputs[other])
    }

    fn keep(&mut self, input: Vec<u8>, sight: Sight, seeds: usize) {
        let is_new = self.signatures.insert(sight.signature);
        if self.inputs.len() < seeds || is_new && self.inputs.len() < seeds + POOL_INPUTS {
            if sight.is_sound {
                self.sound.push(self.inputs.len());
            }
            self.inputs.push(input);
        }
    }
}

/// What the target shows of itself on an input, or what it panics with.
pub(crate) fn execute(target: &Target, input: &[u8]) -> Result<Sight, String> {
    // Nothing is shared between executions, so nothing is left half done.
    catch_unwind(AssertUnwindSafe(|| (target.execute)(input))).map_err(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "a panic without a text".to_owned())
    })
}

fn is_spent(budget: Budget, executions: u64, begin: Instant) -> bool {
    match budget {
        Budget::Time(time) => begin.elapsed() >= time,
        Budget::Executions(most) => executions >= most,
    }
}

fn keep(
    target: &Target,
    input: Vec<u8>,
    message: String,
    folder: &Path,
) -> std::io::Result<Failure> {
    let input = shrink(target, input);
    // FNV-1a: only a name that stays the same for the same input.
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder.join(format!("failure-{hash:016x}"));
    std::fs::write(&path, &input)?;
    Ok(Failure {
        message,
        input,
        path,
    })
}

/// Cuts out pieces, big ones first, as long as the target still panics.
fn shrink(target: &Target, mut input: Vec<u8>) -> Vec<u8> {
    let mut left = SHRINK_EXECUTIONS;
    let mut piece = input.len().div_ceil(2);
    while piece > 0 && left > 0 {
        let mut at = 0;
        while at < input.len() && left > 0 {
            let mut smaller = input.clone();
            smaller.drain(at..(at + piece).min(input.len()));
            left -= 1;
            if execute(target, &smaller).is_err() {
                input = smaller;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::{CANARY, RESULT_FILE, TARGETS, VDBENCH};

    fn hunt_for(target: &Target, executions: u64, seed: u64) -> (Hunt, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let seeds = (target.seeds)(&crate::targets::root()).unwrap();
        let found = hunt(
            target,
            &seeds,
            Budget::Executions(executions),
            seed,
            folder.path(),
        )
        .unwrap();
        (found, folder)
    }

    #[test]
    fn the_planted_panic_is_found_whatever_the_seed() {
        for seed in 1..=5 {
            let (found, _folder) = hunt_for(&CANARY, 200_000, seed);
            let failure = found.failure.expect("the canary is found");
            assert!(failure.message.contains("planted"), "{}", failure.message);
            assert_eq!(std::fs::read(&failure.path).unwrap(), failure.input);
            assert!(execute(&CANARY, &failure.input).is_err());
            assert!(failure.input.len() < 300, "{} bytes", failure.input.len());
        }
    }

    #[test]
    fn no_seed_makes_a_target_panic() {
        for target in TARGETS {
            let seeds = (target.seeds)(&crate::targets::root()).unwrap();
            assert!(!seeds.is_empty(), "{}", target.name);
            let count = seeds.len() as u64;
            let (found, _folder) = hunt_for(target, count, 1);
            assert!(
                found.failure.is_none(),
                "{}: {:?}",
                target.name,
                found.failure
            );
        }
    }

    #[test]
    fn the_readers_stand_a_short_hunt() {
        for (target, executions) in [(&VDBENCH, 300), (&RESULT_FILE, 100)] {
            let (found, _folder) = hunt_for(target, executions, 1);
            assert!(
                found.failure.is_none(),
                "{}: {:?}",
                target.name,
                found.failure
            );
            assert_eq!(found.executions, executions);
        }
    }

    #[test]
    fn mutated_inputs_get_past_the_first_checks() {
        for target in TARGETS {
            let seeds = (target.seeds)(&crate::targets::root()).unwrap();
            let mut pool = Pool::default();
            let mut mutator = Mutator::new(1, target.grain, target.words);
            for seed in &seeds {
                pool.keep(seed.clone(), execute(target, seed).unwrap(), seeds.len());
            }
            // One that fails is the business of the hunt.
            let sights = (0..200).filter_map(|_| execute(target, &pool.next(&mut mutator)).ok());
            let sound = sights.filter(|sight| sight.is_sound).count();
            assert!(
                (10..195).contains(&sound),
                "{}: {sound} of 200",
                target.name
            );
        }
    }
}
