//! What jobs of fio have written, kept in files for later runs that check only that.
use engine::Generations;
use lang::fio::{state_name, state_text};
use measure::Event;
use plan::{BoundPlan, Label, RunId, Stream};
use std::path::{Path, PathBuf};

/// Writes a file behind each run that has written with checks.
pub struct WrittenStates<'a> {
    plan: &'a BoundPlan,
    generations: Generations,
    folder: PathBuf,
}

impl<'a> WrittenStates<'a> {
    /// Files are made in `folder`.
    pub fn new(plan: &'a BoundPlan, generations: Generations, folder: &Path) -> Self {
        Self {
            plan,
            generations,
            folder: folder.to_path_buf(),
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
            let Some(path) = self.path(stream) else {
                continue;
            };
            let said = match self.generations.written(self.plan, &run, number) {
                Some(written) => save(&path, &state_text(&written), is_last_word),
                None => Err("too many blocks to remember which of them were written".to_owned()),
            };
            if let Err(reason) = said {
                let path = path.display();
                errln!("warning: the state `{path}` is not saved: {reason}");
            }
        }
    }

    fn path(&self, stream: &Stream) -> Option<PathBuf> {
        let job = Label::find(&stream.labels, "job")?;
        let clone: u32 = Label::find(&stream.labels, "clone")?.parse().ok()?;
        let name = state_name(job, clone.checked_sub(1)?);
        Some(self.folder.join(name))
    }
}

fn save(path: &Path, text: &str, is_synced: bool) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    std::fs::write(path, text).map_err(words)?;
    if is_synced {
        let file = std::fs::File::open(path).map_err(words)?;
        file.sync_all().map_err(words)?;
    }
    Ok(())
}
