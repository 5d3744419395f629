//! Runs one target over and over until its budget is spent or it panics.
use crate::mutate::Mutator;
use crate::targets::Target;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Executions that may go into making a failing input smaller.
const SHRINK_EXECUTIONS: u64 = 2_000;

/// How many inputs of earlier rounds are mutated further.
const POOL_INPUTS: usize = 64;

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

/// Feeds the target its seeds as they are, then mutated.
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
    // What stands behind the seeds drifts away from them, round by round.
    let mut inputs = seeds.to_vec();
    inputs.push(Vec::new());
    let originals = inputs.len();
    let mut executions = 0;
    while !is_spent(budget, executions, begin) {
        let input = match inputs
            .get(executions as usize)
            .filter(|_| executions < originals as u64)
        {
            Some(seed) => seed.clone(),
            None => mutator.next(&inputs),
        };
        current.set_len(0)?;
        current.write_all_at(&input, 0)?;
        executions += 1;
        if let Some(message) = panic_of(target, &input) {
            let failure = keep(target, input, message, folder)?;
            return Ok(Hunt {
                executions,
                failure: Some(failure),
            });
        }
        if mutator.below(16) == 0 {
            if inputs.len() < originals + POOL_INPUTS {
                inputs.push(input);
            } else {
                inputs[originals + mutator.below(POOL_INPUTS)] = input;
            }
        }
    }
    Ok(Hunt {
        executions,
        failure: None,
    })
}

/// What the target panics with on an input, if it does.
pub(crate) fn panic_of(target: &Target, input: &[u8]) -> Option<String> {
    // Nothing is shared between executions, so nothing is left half done.
    let payload = catch_unwind(AssertUnwindSafe(|| (target.execute)(input))).err()?;
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    Some(text.unwrap_or_else(|| "a panic without a text".to_owned()))
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
            if panic_of(target, &smaller).is_some() {
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
            assert!(panic_of(&CANARY, &failure.input).is_some());
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
            assert_eq!(found.executions, executions);
            assert!(
                found.failure.is_none(),
                "{}: {:?}",
                target.name,
                found.failure
            );
        }
    }
}
