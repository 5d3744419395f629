//! What jobs of fio have written, kept in files for later runs that check only that.
use crate::outputs::{Outputs, Own};
use engine::Generations;
use lang::fio::{state_name, state_text};
use measure::Event;
use plan::{BoundPlan, Label, Plan, RunId, Stream};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file behind each run that has written with checks.
pub struct WrittenStates<'a> {
    plan: &'a BoundPlan,
    generations: Generations,
    folder: PathBuf,
    outputs: Outputs,
}

impl<'a> WrittenStates<'a> {
    /// Files are made in `folder`.
    pub fn new(
        plan: &'a BoundPlan,
        generations: Generations,
        folder: &Path,
        outputs: &Outputs,
    ) -> Self {
        Self {
            plan,
            generations,
            folder: folder.to_path_buf(),
            outputs: outputs.clone(),
        }
    }

    /// Files of earlier executions are written over. One that cannot be written is told of, and the
    /// measurement goes on. `is_last_word` is said where the machine may end now: what is saved is then
    /// synced.
    pub fn on_event(&self, event: &Event, is_last_word: bool) {
        let Event::RunFinished(finished) = event else {
            return;
        };
        let run = self
            .plan
            .run(self.plan.plan.of_any_pass(RunId(finished.run)));
        for (number, stream) in run.run.streams.iter().enumerate() {
            if !stream.data.check.is_some_and(|check| check.saves) {
                continue;
            }
            let Some(path) = path_of(stream, &self.folder) else {
                continue;
            };
            let said = match self.generations.written(self.plan, &run, number) {
                Some(written) => self.save(&path, &state_text(&written), is_last_word),
                None => Err("too many blocks to remember which of them were written".to_owned()),
            };
            if let Err(reason) = said {
                // Nobody has named it, and the measurement is whole without it.
                errln!(
                    "warning: the state `{}` is not saved: {reason}",
                    path.display()
                );
            }
        }
    }

    fn save(&self, path: &Path, text: &str, is_synced: bool) -> Result<(), String> {
        let write = |out: &mut dyn Write| out.write_all(text.as_bytes());
        self.outputs.replace_own(path, Own::State, write)?;
        if is_synced {
            let synced = File::open(path).and_then(|file| file.sync_all());
            synced.map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// The files that a plan asks for.
pub fn files(plan: &Plan, folder: &Path) -> BTreeSet<PathBuf> {
    let streams = plan.templates.iter().flat_map(|template| &template.streams);
    let saving = streams.filter(|stream| stream.data.check.is_some_and(|check| check.saves));
    saving
        .filter_map(|stream| path_of(stream, folder))
        .collect()
}

fn path_of(stream: &Stream, folder: &Path) -> Option<PathBuf> {
    let job = Label::find(&stream.labels, "job")?;
    let clone: u32 = Label::find(&stream.labels, "clone")?.parse().ok()?;
    let name = state_name(job, clone.checked_sub(1)?);
    Some(folder.join(name))
}
