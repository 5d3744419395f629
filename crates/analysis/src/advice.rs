//! What is to be done about a word, as a command that works where there is one. Knows of a run only what a command needs.
use crate::hints::{Hints, OwnLimit};
use crate::verdict::Word;

/// What the measured runs of an execution have compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    Nothing,
    Rates,
    Slots,
}

/// What is to be done about a word.
pub(crate) fn next(word: Word, hints: &Hints, (compared, is_failover): (Compared, bool)) -> String {
    let text = match word {
        Word::DepthBound if is_failover => "ask for more slots with a longer `--stall`",
        Word::Errors | Word::Changed | Word::Unsteady | Word::Uneven if is_failover => {
            "look at that time in report.html and in the system log"
        }
        Word::Clean if is_failover => "make its storage fail meanwhile, as with `--at`",
        Word::Failed => "fix what the message names, and run it again",
        Word::TooManyErrors | Word::Errors => {
            "see in report.html which I/Os failed, fix the cause, and run it again"
        }
        Word::Stopped | Word::Unfinished => "use `--resume` to do the missing runs",
        Word::NothingMeasured => "ask for more time than the warm-up takes",
        Word::LostFigures => "run it again if the lost part matters",
        Word::NotReturned => "look for the device in the system log at the time of the run",
        Word::ShortTransfers => "make sure that the target is as large as the job says",
        Word::CacheSuspect if hints.is_in_memory => "name a target that is on storage",
        Word::CacheSuspect => "use more data than memory holds, or direct I/O",
        Word::Sparse | Word::Zeros => return filling(hints),
        Word::GeneratorBound => unlimited(hints),
        Word::SubmissionBlocks => {
            "run it with `--backend sync`, which has a thread for each I/O in flight"
        }
        Word::Shared => "stop what else uses the storage, and run it again",
        Word::Capped => "raise the limit of the control group, or compare with a run outside of it",
        Word::Stalled => "look at that time in report.html and in the system log",
        Word::DepthBound => "run it again with twice as many slots",
        Word::Unstable | Word::RateMissed | Word::Unserved => {
            return match curve(hints, compared) {
                Some(curve) => {
                    format!("ask for a lower rate, or let {curve} find where latency rises")
                }
                None => "ask for a lower rate".into(),
            };
        }
        Word::Changed | Word::Unsteady => {
            "warm up and measure for longer, until rate and latency are steady"
        }
        Word::Uneven => "look at that target and the way to it, and measure it by itself",
        Word::TooFewSamples => "run it for longer",
        Word::NotChecked if hints.lacks_time => "measure for longer",
        Word::NotChecked if hints.lacks_slots => "run it again with twice as many slots",
        Word::NotChecked => "read in docs/concepts/verdict.md what such a target can show",
        Word::StorageBound => {
            "run it with another transfer size to tell the storage from a limit in front of it"
        }
        Word::CameLate | Word::Undercounted | Word::Waited | Word::ClosedLoop | Word::Clean => {
            return match (curve(hints, compared), compared) {
                (Some(curve), _) => {
                    format!("run {curve} to see the latency at every rate up to the maximum")
                }
                (None, Compared::Nothing) => {
                    "measure several rates to see the latency at each of them".into()
                }
                (None, _) => "repeat it on another day to see how far the figures vary".into(),
            };
        }
    };
    text.into()
}

/// A curve of the target, which has not been measured just now.
fn curve(hints: &Hints, compared: Compared) -> Option<String> {
    let target = hints.target.as_ref();
    let target = target.filter(|_| compared == Compared::Nothing)?;
    Some(format!("`fathom curve {target}`"))
}

fn filling(hints: &Hints) -> String {
    match &hints.fill {
        Some((fill, 1)) => format!("fill it with `fathom prefill {fill}`, and run it again"),
        Some((fill, _)) => {
            format!("fill each of them as with `fathom prefill {fill}`, and run it again")
        }
        None => "fill it on its own host, and run it again".into(),
    }
}

fn unlimited(hints: &Hints) -> &'static str {
    match hints.limit {
        Some(OwnLimit::NoStorage) => {
            "name a target that stores data, without the backends `null` and `sim`"
        }
        Some(OwnLimit::Paused) => "run it where nothing stops Fathom or its machine",
        Some(OwnLimit::Throttled) => "raise the CPU limit of the control group, and run it again",
        Some(OwnLimit::Stolen) => "run it where the hypervisor leaves the CPUs to this machine",
        Some(OwnLimit::Cpu | OwnLimit::Late) if hints.others.is_none() => {
            "ask for a lower rate or fewer slots, or use a machine with more free CPUs"
        }
        _ => "stop other programs that use the CPUs, and run it again",
    }
}
