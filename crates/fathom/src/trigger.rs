//! What ends jobs of fio from outside, as was planned before: a file that appears, or a time. What is
//! then done: the states of what was written are saved, and a command is run.
use conduct::{Control, News};
use host::command::DETACHED_VARIABLE;
use plan::{OpSource, Plan};
use std::cell::Cell;
use std::fs::symlink_metadata;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// What to wait for, and what to run then.
#[derive(Clone, Debug, Default)]
pub struct Trigger {
    /// It is removed when it has been seen.
    pub file: Option<PathBuf>,
    /// Since the start of the execution.
    pub after: Option<Duration>,
    pub command: Option<String>,
}

/// A trigger that is waited for.
#[derive(Debug, Default)]
pub struct Watched {
    has_fired: Arc<AtomicBool>,
    command: Option<String>,
    is_run: Cell<bool>,
}

/// How often the file is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// A file that holds more was not made for this.
const BYTES_MAX: u64 = 4096;

impl Trigger {
    /// Whether there is something to wait for.
    pub fn is_set(&self) -> bool {
        self.file.is_some() || self.after.is_some()
    }

    /// Lets every job that writes with checks keep what it has written, whatever the job says: a later
    /// run is to find it.
    pub fn prepare(&self, plan: &mut Plan) {
        if !self.is_set() {
            return;
        }
        for stream in plan.templates.iter_mut().flat_map(|one| &mut one.streams) {
            let writes = OpSource::changes_data(&stream.source);
            if let Some(check) = stream.data.check.as_mut().filter(|_| writes) {
                check.saves = true;
            }
        }
    }

    /// Begins to wait, for as long as the process lives.
    ///
    /// # Errors
    /// In words, when the file may not be removed, or nobody can wait for it.
    pub fn watch(&self, plan: &Plan, control: &Control) -> Result<Watched, String> {
        let watched = Watched {
            has_fired: Arc::default(),
            command: self.command.clone(),
            is_run: Cell::new(false),
        };
        if let Some(file) = &self.file {
            check_file(file, plan)?;
        }
        if !self.is_set() {
            return Ok(watched);
        }
        let (this, control) = (self.clone(), control.clone());
        let has_fired = Arc::clone(&watched.has_fired);
        let begun = Instant::now();
        let started = sys::thread::start("trigger", move || {
            while !this.is_due(begun.elapsed()) {
                let left = this
                    .after
                    .map(|after| after.saturating_sub(begun.elapsed()));
                std::thread::sleep(left.map_or(LOOK, |left| left.min(LOOK)));
            }
            control.tell(News::mark(this.words()));
            has_fired.store(true, SeqCst);
            control.hurry();
        });
        started
            .map(|_| watched)
            .map_err(|error| format!("the trigger cannot be waited for: {error}"))
    }

    /// As the mark of the moment has it.
    fn words(&self) -> String {
        match &self.command {
            Some(command) => format!("trigger: {command}"),
            None => "trigger".to_owned(),
        }
    }

    fn is_due(&self, elapsed: Duration) -> bool {
        self.after.is_some_and(|after| elapsed >= after)
            || self.file.as_deref().is_some_and(takes_file)
    }
}

impl Watched {
    pub fn has_fired(&self) -> bool {
        self.has_fired.load(SeqCst)
    }

    /// Runs the command if its time has come, once. It talks to the terminal as this process does, and
    /// is waited for.
    pub fn carry_out(&self) {
        let Some(command) = self.command.as_ref().filter(|_| self.has_fired()) else {
            return;
        };
        if self.is_run.replace(true) {
            return;
        }
        let mut shell = Command::new("sh");
        shell.env_remove(DETACHED_VARIABLE);
        let said = match shell.arg("-c").arg(command).status() {
            Ok(status) if status.success() => return,
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("cannot be started: {error}"),
        };
        errln!("warning: the command of the trigger `{command}` {said}");
    }
}

/// Whether the file is there; it is removed then.
fn takes_file(path: &Path) -> bool {
    let Ok(facts) = symlink_metadata(path) else {
        return false;
    };
    let shown = path.display();
    let is_ours = facts.is_symlink() || facts.is_file() && facts.len() <= BYTES_MAX;
    if !is_ours {
        errln!("warning: the file of the trigger `{shown}` holds something, and stays");
    } else if let Err(error) = std::fs::remove_file(path) {
        errln!("warning: the file of the trigger `{shown}` cannot be removed: {error}");
    }
    true
}

/// What is there already and holds something was not made for this.
fn check_file(path: &Path, plan: &Plan) -> Result<(), String> {
    let shown = path.display();
    let real = |path: &Path| {
        let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        std::fs::canonicalize(path).unwrap_or_else(|_| absolute())
    };
    let own = real(path);
    let mut targets = plan.targets.iter().filter(|target| target.is_real());
    if targets.any(|target| real(&target.path) == own) {
        return Err(format!("`--trigger-file={shown}` is a target of a job"));
    }
    match symlink_metadata(path) {
        Ok(facts) if !facts.is_file() || facts.len() > 0 => Err(format!(
            "`--trigger-file={shown}` is there and holds something; it would be removed"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_away_once_it_is_there_unless_it_holds_much() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("now");
        assert!(!takes_file(&path));
        std::fs::write(&path, "go").unwrap();
        assert!(takes_file(&path));
        assert!(!path.exists());
        std::fs::write(&path, vec![0; 5000]).unwrap();
        assert!(takes_file(&path));
        assert!(path.exists());
    }
}
