//! What jobs of fio have written, kept in files for later runs that check only that.
use crate::outputs::{Outputs, Own};
use conduct::machine::{States, StatesOfRun};
use engine::Generations;
use lang::fio::{state_name, state_text};
use measure::Event;
use plan::{BoundPlan, BoundRun, Label, Plan, RunId, Stream};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What those streams of a run have written that keep it and are wanted.
pub fn written(
    generations: &Generations,
    plan: &BoundPlan,
    run: &BoundRun,
    is_wanted: impl Fn(&Stream) -> bool,
) -> StatesOfRun {
    let streams = run.run.streams.iter().enumerate();
    let saving = streams.filter(|(_, stream)| is_saved(stream) && is_wanted(stream));
    let text = |(number, _)| {
        let written = generations.written(plan, run, number);
        (number, written.map(|written| state_text(&written)))
    };
    saving.map(text).collect()
}

/// Whether what a stream has written is kept.
fn is_saved(stream: &Stream) -> bool {
    stream.data.check.is_some_and(|check| check.saves)
}

/// Writes a file behind each run that has written with checks.
pub struct WrittenStates<'a> {
    plan: &'a BoundPlan,
    states: States,
    folder: PathBuf,
    outputs: Outputs,
}

impl<'a> WrittenStates<'a> {
    /// Files are made in `folder`.
    pub fn new(plan: &'a BoundPlan, states: States, folder: &Path, outputs: &Outputs) -> Self {
        Self {
            plan,
            states,
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
        let run = self.plan.run(RunId(finished.run));
        let states = self.states.take();
        let streams = run.run.streams.iter().enumerate();
        for (number, stream) in streams.filter(|(_, stream)| is_saved(stream)) {
            let Some(path) = path_of(&self.plan.plan, stream, &self.folder) else {
                continue;
            };
            let said = match states.get(&number) {
                Some(Some(text)) => self.save(&path, text, is_last_word),
                Some(None) => {
                    Err("too many blocks to remember which of them were written".to_owned())
                }
                None => Err("its host has not told what was written".to_owned()),
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
    let saving = streams.filter(|stream| is_saved(stream));
    saving
        .filter_map(|stream| path_of(plan, stream, folder))
        .collect()
}

/// With the host in front where there are several, and with the one that `--client` names.
fn path_of(plan: &Plan, stream: &Stream, folder: &Path) -> Option<PathBuf> {
    let job = Label::find(&stream.labels, "job")?;
    let clone: u32 = Label::find(&stream.labels, "clone")?.parse().ok()?;
    let client = Label::find(&stream.labels, "client");
    let several = plan.hosts.len() > 1;
    let host = plan.host_of(stream).filter(|_| several);
    let host = client.or(host.map(|host| &*plan.hosts[host].name));
    let name = state_name(host.unwrap_or("local"), job, clone.checked_sub(1)?);
    Some(folder.join(name))
}
