//! What this build cannot carry out.
use crate::check;
use crate::op::LENGTH_LIMIT;
use crate::pace::{self, Pace};
use crate::source;
use plan::{BoundRun, Load, OpSource};

/// The fastest schedule, in arrivals per second: beyond what any host submits, and counting it
/// would take longer than the run.
const FASTEST_SCHEDULE: f64 = 1e8;

const TOO_FAST: &str = "more than 100 million arrivals per second";

/// What of a load this build cannot carry out, if anything.
pub fn unsupported_load(load: &Load) -> Option<String> {
    match load {
        Load::Rate { per_second } if *per_second > FASTEST_SCHEDULE => Some(TOO_FAST.to_owned()),
        _ => None,
    }
}

/// What of a run this build cannot carry out, in words; empty when all of it can be.
pub fn unsupported(run: &BoundRun) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |what: String| {
        if !found.contains(&what) {
            found.push(what);
        }
    };
    unsupported_load(&run.run.load)
        .into_iter()
        .for_each(&mut add);
    let paces = pace::paces(run, None, None);
    let is_too_fast = |pace: &Pace| pace.fastest() > FASTEST_SCHEDULE;
    if paces.iter().flatten().any(is_too_fast) {
        add(TOO_FAST.to_owned());
    }
    check::unsupported(run).into_iter().for_each(&mut add);
    for stream in &run.run.streams {
        match &stream.source {
            OpSource::Generator(generator) => {
                if let Some(what) = source::unsupported(generator) {
                    add(what.to_owned());
                }
                if generator.largest_transfer() >= LENGTH_LIMIT {
                    add("transfers of 256 MiB or more".to_owned());
                }
            }
            OpSource::Replay(replay) => {
                if !replay.is_whole() {
                    add(format!(
                        "replay of `{}` without the file of the job",
                        replay.name
                    ));
                }
                if replay.envelope.largest_transfer() >= LENGTH_LIMIT {
                    add("transfers of 256 MiB or more".to_owned());
                }
            }
            OpSource::Tree { .. } => add("trees of files".to_owned()),
            OpSource::Verify => add("verification".to_owned()),
        }
        if stream.flow.depth_search.is_some() && stream.lifetime.is_none() {
            add("a search of the depth by a stream without a time of its own".to_owned());
        }
        if pace::leaves_several_unpaced(stream) {
            add("a rate for one direction of a mix and none for two others".to_owned());
        }
    }
    found
}
