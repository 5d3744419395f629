//! What the caller's standing list lets pass: found before a run, told, and kept with the result.
use host::SysRoot;
use host::guard::{Examination, LetPass, Overwrite, Standing, StandingPlaces};
use plan::{Plan, TargetId};
use std::collections::BTreeMap;

/// Targets that a line on the console names.
const TARGETS_PRINTED: usize = 4;

/// Lines of a list that are kept with a result, and targets named for each.
const LINES_KEPT: usize = 64;
const TARGETS_KEPT: usize = 16;

/// What a list let pass; empty where there is none, or where nothing needed it.
#[derive(Debug, Default)]
pub struct Passed {
    list: String,
    lines: Vec<PassedLine>,
    /// A line that most likely means another thing than it says.
    doubt: Option<String>,
}

#[derive(Debug)]
struct PassedLine {
    word: LetPass,
    /// A name with what was found.
    targets: Vec<(TargetId, String)>,
}

/// Adds what the list of the caller names to what may be overwritten.
///
/// # Errors
/// In words, when the list cannot be used.
pub fn let_pass(
    plan: &Plan,
    examinations: &[Examination],
    overwrite: &mut Overwrite,
) -> Result<Passed, String> {
    let places = StandingPlaces::of_process();
    let standing = Standing::read(&places, &SysRoot::real()).map_err(|error| error.to_string())?;
    let Some(standing) = standing else {
        return Ok(Passed::default());
    };
    let named = |place: &usize| {
        let one = &examinations[*place];
        let name = &plan.target(one.request.target).name;
        let path = &one.request.path;
        let found = one.findings.first().map(ToString::to_string);
        let found = found.unwrap_or_default();
        let shown = path.display().to_string();
        let (name, shown) = (name.escape_debug(), shown.escape_debug());
        let text = match path.ends_with(name.to_string()) {
            true => format!("`{shown}` ({found})"),
            false => format!("`{name}` ({shown}: {found})"),
        };
        (one.request.target, text)
    };
    let lines = standing.let_pass(examinations, overwrite).into_iter();
    Ok(Passed {
        doubt: doubt(&standing),
        list: standing.path.display().to_string(),
        lines: lines
            .map(|word| PassedLine {
                targets: word.examinations.iter().map(named).collect(),
                word,
            })
            .collect(),
    })
}

/// A file is named by its whole path. An id that no device has is silent, but one that is the name of a file here
/// deserves a word.
fn doubt(standing: &Standing) -> Option<String> {
    let folder = std::env::current_dir().ok()?;
    let (line, word) = *standing.file_names_in(&folder).first()?;
    Some(format!(
        "line {line} of the standing list `{}`, `{}`, names a device by its id; to name the file, write `{}`",
        standing.path.display().to_string().escape_debug(),
        word.escape_debug(),
        folder.join(word).display().to_string().escape_debug()
    ))
}

impl Passed {
    /// What stands in the list and most likely means another thing.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// For people, one line whatever the number of targets.
    pub fn told(&self) -> Option<String> {
        let all: Vec<&str> = self.targets().map(|(_, text)| text).collect();
        let what = match all.len() {
            0 => return None,
            1 => "a target that holds".to_owned(),
            count => format!("{count} targets that hold"),
        };
        let list = self.list.escape_debug();
        Some(format!(
            "the standing list `{list}` allows overwriting {what} something: {}",
            listed(&all, TARGETS_PRINTED)
        ))
    }

    /// The word of the list for each target.
    pub fn words(&self) -> BTreeMap<TargetId, &str> {
        let of = |line: &PassedLine| line.targets.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let pairs = self
            .lines
            .iter()
            .map(|line| (of(line), line.word.word.as_str()));
        pairs
            .flat_map(|(ids, word)| ids.into_iter().map(move |id| (id, word)))
            .collect()
    }

    /// For whoever reads the result later and has not seen the list.
    pub fn messages(&self) -> Vec<String> {
        let message = |line: &PassedLine| {
            let targets: Vec<&str> = line.targets.iter().map(|(_, text)| text.as_str()).collect();
            format!(
                "line {} of the standing list `{}`, `{}`, allowed overwriting {}",
                line.word.line,
                self.list.escape_debug(),
                line.word.word.escape_debug(),
                listed(&targets, TARGETS_KEPT)
            )
        };
        let mut messages: Vec<String> = self.lines.iter().take(LINES_KEPT).map(message).collect();
        let left_out = self.lines.get(LINES_KEPT..).unwrap_or_default();
        let targets: usize = left_out.iter().map(|line| line.targets.len()).sum();
        if targets > 0 {
            messages.push(format!(
                "{} more lines of the standing list `{}` allowed overwriting {targets} targets",
                left_out.len(),
                self.list.escape_debug()
            ));
        }
        messages
    }

    fn targets(&self) -> impl Iterator<Item = (TargetId, &str)> {
        let all = self.lines.iter().flat_map(|line| &line.targets);
        all.map(|(id, text)| (*id, text.as_str()))
    }
}

fn listed(all: &[&str], most: usize) -> String {
    let shown = all.len().min(most);
    let more = match all.len() - shown {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("{}{more}", all[..shown].join(", "))
}
