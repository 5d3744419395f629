//! Files that end a run or the execution from outside: the one that a job names, and the one that
//! scripts for the original write into the folder for temporary files.
use crate::marks::Inbox;
use crate::outputs::Outputs;
use conduct::Control;
use host::text_file::read_whole;
use plan::Plan;
use report::Opening;
use std::path::Path;
use std::time::Duration;

/// How often they are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// A file that holds more was not made for this.
const BYTES_MAX: u64 = 4096;

/// Watches the file of a plan, if it names one, and the one for this process, as long as the
/// process lives, and looks for marks. The file is made, or emptied of what an earlier use left.
///
/// # Errors
/// In words, when the file holds something else or cannot be written.
pub fn watch(
    plan: &Plan,
    control: &Control,
    outputs: &Outputs,
    mut marks: Option<Inbox>,
) -> Result<(), String> {
    let named = plan.steering.stop_file.clone();
    if let Some(path) = &named {
        empty(path, plan, outputs)?;
    }
    let name = format!("vdbench.shutdown.{}", std::process::id());
    let for_process = std::env::temp_dir().join(name);
    let (control, outputs) = (control.clone(), outputs.clone());
    let started = sys::thread::start("stop-file", move || {
        loop {
            std::thread::sleep(LOOK);
            if let Some(marks) = &mut marks {
                marks.take();
            }
            if for_process.exists() {
                control.end_all();
            }
            if let Some(path) = &named {
                obey(path, &control, &outputs);
            }
        }
    });
    started
        .map(drop)
        .map_err(|error| format!("the monitor file cannot be watched: {error}"))
}

/// What the first line of a file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    EndRun,
    EndAll,
}

fn word(text: &str) -> Option<Word> {
    match text.lines().next()?.trim() {
        "shutdown" | "end_rd" => Some(Word::EndRun),
        "terminate" | "end_vdbench" => Some(Word::EndAll),
        _ => None,
    }
}

/// A word counts once: it is taken out of the file.
fn obey(path: &Path, control: &Control, outputs: &Outputs) {
    let Some(word) = text(path).and_then(|text| word(&text)) else {
        return;
    };
    // Asked twice, a run is ended once too often at worst; that the file cannot be emptied now is
    // no reason to go on.
    let _ = outputs.open_named(path, Opening::Replace);
    match word {
        Word::EndRun => control.end_run(),
        Word::EndAll => control.end_all(),
    }
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(read_whole(path, BYTES_MAX).ok()?).ok()
}

fn empty(path: &Path, plan: &Plan, outputs: &Outputs) -> Result<(), String> {
    let shown = path.display();
    let is_target = plan.targets.iter().any(|target| {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        target.is_real() && real(&target.path) == real(path)
    });
    if is_target {
        return Err(format!("`monitor={shown}` is a target of the job"));
    }
    if let Ok(facts) = std::fs::metadata(path) {
        let text = match facts.is_file() && facts.len() <= BYTES_MAX {
            true => text(path),
            false => None,
        };
        let is_ours = text.is_some_and(|text| text.trim().is_empty() || word(&text).is_some());
        if !is_ours {
            return Err(format!(
                "`monitor={shown}` holds something else than words for a monitor file, and is not emptied"
            ));
        }
    }
    outputs
        .open_named(path, Opening::Replace)
        .map(drop)
        .map_err(|reason| format!("`monitor={shown}` cannot be used: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::{Word, word};

    #[test]
    fn the_first_line_says_it() {
        assert_eq!(word("end_rd\n"), Some(Word::EndRun));
        assert_eq!(word(" shutdown"), Some(Word::EndRun));
        assert_eq!(word("terminate\nend_rd"), Some(Word::EndAll));
        assert_eq!(word("end_vdbench"), Some(Word::EndAll));
        assert_eq!(word("\nend_rd"), None);
        assert_eq!(word(""), None);
    }
}
