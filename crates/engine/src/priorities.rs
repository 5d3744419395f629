//! Priorities of single transfers: drawn as they go out, and kept by slot for those who count by them.
use crate::op::Op;
use crate::random::Draws;
use plan::{Direction, Operation, Pool};

/// Of one pool that gives shares of its transfers a priority. The slots of the pool belong to one worker.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    shares: Vec<Share>,
    draws: Draws,
    drawn: u64,
    /// By slot, the place among the words of the pool and the word; of what has none, no place and zero.
    of_slot: Vec<(Option<u8>, u16)>,
}

#[derive(Clone, Copy, Debug)]
struct Share {
    kind: Operation,
    length: Option<u64>,
    /// Draws below this, of 100, and not below the shares of the same transfers before it.
    pct_to: u64,
    place: u8,
    word: u16,
}

/// The priorities that shares of a pool have, each once.
pub(crate) fn words_of(pool: &Pool) -> Vec<u16> {
    let mut words = Vec::new();
    for share in &pool.priorities {
        let word = share.priority.word();
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

impl Priorities {
    /// Of a pool, where it has any.
    pub(crate) fn of(pool: &Pool, draws: Draws) -> Option<Self> {
        let words = words_of(pool);
        let mut shares: Vec<Share> = Vec::new();
        for share in &pool.priorities {
            let kind = match share.direction {
                Direction::Read => Operation::Read,
                Direction::Write => Operation::Write,
                Direction::Trim => continue,
            };
            let length = share.length_bytes;
            let same = |known: &&Share| (known.kind, known.length) == (kind, length);
            let before = shares
                .iter()
                .rev()
                .find(same)
                .map_or(0, |known| known.pct_to);
            let word = share.priority.word();
            let place = words.iter().position(|known| *known == word);
            shares.push(Share {
                kind,
                length,
                pct_to: before + u64::from(share.pct),
                place: place.expect("it is among those of the pool") as u8,
                word,
            });
        }
        (!shares.is_empty()).then(|| Self {
            shares,
            draws,
            drawn: 0,
            of_slot: vec![(None, 0); pool.slots as usize],
        })
    }

    /// Draws the priority of what goes out by a slot; zero for none of its own.
    pub(crate) fn choose(&mut self, slot: u32, op: &Op) -> u16 {
        let draw = self.draws.below(self.drawn, 100);
        self.drawn += 1;
        let share = self.shares.iter().find(|share| {
            op.is_drawn()
                && share.kind == op.kind
                && share
                    .length
                    .is_none_or(|bytes| bytes == u64::from(op.length))
                && draw < share.pct_to
        });
        let chosen = share.map_or((None, 0), |share| (Some(share.place), share.word));
        self.of_slot[slot as usize] = chosen;
        chosen.1
    }

    /// Among [`words_of`] its pool, where what came back by a slot has a priority of its own.
    pub(crate) fn place_of(&self, slot: u32) -> Option<usize> {
        self.of_slot[slot as usize].0.map(usize::from)
    }

    pub(crate) fn word_of(&self, slot: u32) -> u16 {
        self.of_slot[slot as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Cause, Object};
    use crate::random::Purpose;
    use plan::{IoPriority, PriorityShare};

    fn share(direction: Direction, length: Option<u64>, pct: u8, level: u8) -> PriorityShare {
        PriorityShare {
            direction,
            length_bytes: length,
            pct,
            priority: IoPriority {
                class: 2,
                level,
                hint: 0,
            },
        }
    }

    fn drawn(shares: Vec<PriorityShare>, kind: Operation, length: u32) -> [usize; 3] {
        let pool = Pool {
            priorities: shares,
            ..Pool::new("", 1)
        };
        let draws = Draws::new(1, 0, 0, Purpose::Priority);
        let mut priorities = Priorities::of(&pool, draws).unwrap();
        let object = Object {
            stream: 0,
            place: 0,
        };
        let op = Op {
            kind,
            cause: Cause::Drawn,
            object,
            offset: 0,
            length,
        };
        let mut counts = [0; 3];
        for _ in 0..10_000 {
            let word = priorities.choose(0, &op);
            assert_eq!(word, priorities.word_of(0));
            assert_eq!(word > 0, priorities.place_of(0).is_some());
            counts[priorities.place_of(0).unwrap_or(2)] += 1;
        }
        counts
    }

    #[test]
    fn shares_are_drawn_by_direction_and_length() {
        let all = || {
            vec![
                share(Direction::Read, Some(4096), 30, 3),
                share(Direction::Read, Some(4096), 20, 0),
                share(Direction::Write, None, 100, 0),
            ]
        };
        let [third, fifth, none] = drawn(all(), Operation::Read, 4096);
        assert!(third.abs_diff(3000) < 200, "{third}");
        assert!(fifth.abs_diff(2000) < 200, "{fifth}");
        assert_eq!(third + fifth + none, 10_000);
        assert_eq!(drawn(all(), Operation::Read, 8192), [0, 0, 10_000]);
        assert_eq!(drawn(all(), Operation::Write, 8192), [0, 10_000, 0]);
        assert_eq!(drawn(all(), Operation::Trim, 4096), [0, 0, 10_000]);
    }
}
