//! What runs will take of the space of file systems, by what they write: not by how long files become.
use plan::{BoundPlan, OpSource, Preparation, Stream};

/// ENOSPC.
const FULL: i32 = 28;

/// Of one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// First byte of what is written, where the file may have no space yet, and the byte after the last.
    pub takes: (u64, u64),
    /// Whether whoever writes it goes on where there is no space left.
    pub bears_full: bool,
}

/// Of each target of a plan, in their order.
pub fn of_targets(plan: &BoundPlan) -> Vec<Room> {
    let mut rooms: Vec<Room> = plan
        .targets
        .iter()
        .zip(&plan.plan.targets)
        .map(|(bound, target)| {
            let found = bound.facts.bytes;
            let prepared = match target.preparation {
                _ if !bound.is_prepared => (0, 0),
                Preparation::Rewrite => (0, bound.bytes),
                _ => (found.min(bound.bytes), bound.bytes),
            };
            Room {
                takes: prepared,
                bears_full: true,
            }
        })
        .collect();
    let mut fills = vec![false; rooms.len()];
    let streams = plan.plan.templates.iter().flat_map(|one| &one.streams);
    for stream in streams {
        for target in &stream.targets {
            let room = &mut rooms[target.index()];
            fills[target.index()] |= stream.stop.when_full;
            if only_discards(stream) {
                continue;
            }
            if let Some(written) = plan.write_extent(*target) {
                room.takes = joined(room.takes, written);
                room.bears_full &= bears_full(stream) || !stream.source.changes_data();
            }
        }
    }
    for (room, (bound, fills)) in rooms.iter_mut().zip(plan.targets.iter().zip(fills)) {
        // What fills a file system stops where it is full.
        if fills {
            room.takes = (0, 0);
        }
        // Nobody is asked whether files that are laid out first may stay short.
        room.bears_full &= !bound.is_prepared;
    }
    rooms
}

/// Discards give space back.
fn only_discards(stream: &Stream) -> bool {
    match &stream.source {
        OpSource::Generator(generator) => {
            let mix = generator.operations;
            mix.trim_pct > 0.0 && mix.write_pct <= 0.0
        }
        _ => false,
    }
}

fn bears_full(stream: &Stream) -> bool {
    let tolerance = stream.flow.tolerance.as_ref();
    tolerance.is_some_and(|tolerance| tolerance.writes.contains(&FULL))
}

fn joined(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    match one.0 < one.1 {
        true => (one.0.min(other.0), one.1.max(other.1)),
        false => other,
    }
}
