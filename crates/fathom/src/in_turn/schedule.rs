//! What a comparison that is run in turn keeps on disk: its sides, the order of its blocks, and which runs are complete. So
//! it can be resumed, and its results are paired block by block. Read [`Schedule`] first.
use super::{Job, shuffled};
use crate::outputs::{Outputs, Own};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The file in the folder of the comparison.
pub const FILE: &str = "in-turn.json";

/// The layout of this file.
const LAYOUT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub struct Schedule {
    fathom_in_turn: u32,
    /// In the order of the sides.
    jobs: Vec<Job>,
    /// Options of each run, without `--overwrite`.
    options: Vec<String>,
    pub blocks: Vec<Block>,
}

/// All sides once. A side is its index.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Block {
    pub order: Vec<usize>,
    pub finished: Vec<usize>,
}

impl Block {
    /// Sides that have no complete run, in their order.
    pub fn left(&self) -> Vec<usize> {
        let is_left = |side: &&usize| !self.finished.contains(side);
        self.order.iter().filter(is_left).copied().collect()
    }
}

impl Schedule {
    /// Before the first block. Options are those without `--overwrite`.
    pub fn new(jobs: &[Job], options: Vec<String>) -> Self {
        Self {
            fathom_in_turn: LAYOUT,
            jobs: jobs.to_vec(),
            options,
            blocks: Vec::new(),
        }
    }

    /// The one in a folder; `None` if there is none.
    ///
    /// # Errors
    /// In words, if it cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join(FILE);
        let failed = |reason: String| format!("`{}` cannot be read: {reason}", path.display());
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error.to_string())),
            Ok(text) => text,
        };
        let read: Self = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        match read.fathom_in_turn {
            LAYOUT => Ok(Some(read)),
            other => Err(failed(format!("its layout {other} is not known"))),
        }
    }

    /// # Errors
    /// In words, with the path.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let text = serde_json::to_string(self).expect("a schedule is plain data");
        Outputs::default().replace_own(&folder.join(FILE), Own::InTurn, |out| {
            writeln!(out, "{text}")
        })
    }

    /// How many blocks were asked for; `None` before they are planned.
    pub fn repeat(&self) -> Option<u32> {
        (!self.blocks.is_empty()).then_some(self.blocks.len() as u32)
    }

    /// Draws the order of blocks until there are so many. None is taken away.
    pub fn plan_blocks(&mut self, repeat: u32) {
        let sides = self.jobs.len();
        while self.blocks.len() < repeat as usize {
            self.blocks.push(Block {
                order: shuffled(sides),
                finished: Vec::new(),
            });
        }
    }

    /// What keeps more runs of such jobs from belonging to those that are there; empty if nothing does.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let names = |one: &Self| one.jobs.iter().map(Job::name).collect::<Vec<_>>();
        let pairs = [
            ("the jobs", names(self), names(now)),
            (
                "the options after `--`",
                self.options.clone(),
                now.options.clone(),
            ),
        ];
        let listed = |words: &[String]| match words {
            [] => "none".to_owned(),
            words => format!("`{}`", words.join("`, `")),
        };
        let differing = pairs.into_iter().filter(|(_, then, now)| then != now);
        differing
            .map(|(what, then, now)| format!("{what} were {}, are {}", listed(&then), listed(&now)))
            .collect()
    }

    /// What a side is called.
    pub fn name(&self, side: usize) -> String {
        self.jobs.get(side).map_or_else(String::new, Job::name)
    }

    /// The only side that has a label of its own.
    pub fn side_with(&self, label: &str) -> Option<usize> {
        let has = |side: &usize| self.jobs[*side].labels.iter().any(|one| one == label);
        let mut sides = (0..self.jobs.len()).filter(has);
        sides.next().filter(|_| sides.next().is_none())
    }

    /// Takes runs for unfinished whose results are gone.
    pub fn forget_missing(&mut self, output: &Path) {
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let has_result = |side: &usize| {
                let folder = Job::run_folder(output, *side, index + 1);
                folder.join(crate::results::NAME).exists()
            };
            block.finished.retain(has_result);
        }
    }

    /// Whether no run is left.
    pub fn is_complete(&self) -> bool {
        self.blocks_left() == 0
    }

    /// How many blocks have runs that are left.
    pub fn blocks_left(&self) -> u64 {
        let blocks = self.blocks.iter();
        blocks.filter(|block| !block.left().is_empty()).count() as u64
    }

    /// How many runs of a side are left.
    pub fn left_of(&self, side: usize) -> u64 {
        let blocks = self.blocks.iter();
        blocks
            .filter(|block| !block.finished.contains(&side))
            .count() as u64
    }

    /// Numbers of the blocks, from 1 on, that each of these sides has finished.
    pub fn complete(&self, sides: &[usize]) -> Vec<usize> {
        let is_complete = |block: &Block| sides.iter().all(|side| block.finished.contains(side));
        let blocks = self.blocks.iter().enumerate();
        blocks
            .filter(|(_, block)| is_complete(block))
            .map(|(index, _)| index + 1)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_turn::tests::jobs;
    use crate::outputs::IN_TURN_HEAD;

    #[test]
    fn a_block_that_one_side_lacks_shifts_no_other() {
        let mut schedule = Schedule::new(&jobs("a b c").unwrap(), Vec::new());
        schedule.plan_blocks(3);
        for (block, finished) in [vec![0, 1, 2], vec![2, 0], vec![1, 0]]
            .into_iter()
            .enumerate()
        {
            schedule.blocks[block].finished = finished;
        }
        assert_eq!(schedule.complete(&[0, 1]), [1, 3]);
        assert_eq!(schedule.complete(&[0, 2]), [1, 2]);
        assert_eq!(schedule.complete(&[0, 1, 2]), [1]);
        assert_eq!(schedule.blocks[1].left(), [1]);
    }

    #[test]
    fn what_is_written_is_read_and_known_as_ours() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Schedule::read(folder.path()).unwrap().is_none());
        let jobs = jobs("a @k=1 @l=1 b @l=1").unwrap();
        let mut schedule = Schedule::new(&jobs, vec!["-e".to_owned()]);
        assert_eq!(
            [schedule.side_with("k=1"), schedule.side_with("l=1")],
            [Some(0), None]
        );
        schedule.plan_blocks(2);
        schedule.write(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(text.starts_with(IN_TURN_HEAD));
        let read = Schedule::read(folder.path()).unwrap().unwrap();
        assert_eq!(format!("{read:?}"), format!("{schedule:?}"));
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(Schedule::read(folder.path()).is_err() && schedule.write(folder.path()).is_err());
    }
}
