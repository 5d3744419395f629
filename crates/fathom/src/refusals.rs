//! What the guard refuses, in words of the user.
use crate::exit::{Exit, fail};
use crate::render;
use host::guard::{Finding, Refusal, Refused};
use plan::{BoundPlan, Bytes, Preparation};

/// What becomes of words of `--overwrite` that name no target of a job: most likely they are mistyped.
pub enum UnusedWords {
    Refused,
    /// They may name a target of another job. `None` until the targets of this one were examined.
    Collected(Option<Vec<String>>),
}

impl UnusedWords {
    /// All of them, once the targets were examined.
    ///
    /// # Errors
    /// The exit code, after the first word was refused.
    pub fn take(&mut self, words: Vec<String>) -> Result<(), Exit> {
        match self {
            Self::Collected(collected) => *collected = Some(words),
            Self::Refused => {
                if let Some(word) = words.first() {
                    let message = format!("`--overwrite {word}` names no target of this job");
                    return Err(fail(Exit::Usage, &message));
                }
            }
        }
        Ok(())
    }
}

/// Says for each refused target what was found and what to do.
pub fn print_refusal(refused: &Refused, plan: &BoundPlan) {
    let mut kinds = render::Kinds::default();
    for refusal in &refused.refusals {
        let kind = match is_unusable(refusal) {
            true => "targets that cannot be used",
            false => {
                "refused targets; `fathom check --write-overwrite FILE` writes the words for all"
            }
        };
        let text = refusal_text(refusal, plan);
        if kinds.shows(kind, &text) {
            err!("{text}");
        }
    }
    for no_space in &refused.no_space {
        let text = format!("error: {no_space}");
        if kinds.shows("file systems without room", &text) {
            errln!("{text}");
        }
    }
    kinds.tell_left_out();
}

pub fn refusal_text(refusal: &Refusal, plan: &BoundPlan) -> String {
    let name = plan::target_text(&plan.plan.target(refusal.target).name, &refusal.path);
    if let Some(short) = short_file_text(refusal, plan) {
        return report::shown::message(&format!("error: {name} {short}")).into_owned() + "\n";
    }
    let verdict = if is_unusable(refusal) {
        "cannot be used"
    } else {
        "may not be overwritten"
    };
    let way_out = match &refusal.word {
        Some(word) => format!("; to overwrite it anyway, add --overwrite {}", quoted(word)),
        None if is_unusable(refusal) => String::new(),
        None => "; nothing overrides this".to_owned(),
    };
    // The error ends the message, so that the last line says what to do.
    let lines = match refusal.findings.as_slice() {
        [only] => vec![format!("error: {name} {verdict}: {only}{way_out}")],
        all => {
            let found = all.iter().map(|finding| format!("  - {finding}"));
            let first = std::iter::once(format!("found on {name}:"));
            let last = format!("error: {name} {verdict}{way_out}");
            first.chain(found).chain([last]).collect()
        }
    };
    let shown = lines.iter().map(|line| report::shown::message(line) + "\n");
    shown.collect()
}

/// The rest of the message if runs only read a file that is too short for them; `None` otherwise. Only a preparation
/// would write to it, so the way out is the size: who reads a file does not want it overwritten, and needs no right to
/// write to it.
fn short_file_text(refusal: &Refusal, plan: &BoundPlan) -> Option<String> {
    let (target, bound) = (
        plan.plan.target(refusal.target),
        &plan.targets[refusal.target.index()],
    );
    let (bytes_found, bytes_read) = (bound.facts.bytes, bound.bytes);
    let is_extended = bound.is_prepared && target.preparation == Preparation::MakeOrExtend;
    let (lacks, others): (Vec<&Finding>, Vec<&Finding>) = refusal
        .findings
        .iter()
        .partition(|finding| matches!(finding, Finding::NotWritable { .. }));
    let is_short =
        is_extended && bytes_found < bytes_read && (bytes_found > 0 || !lacks.is_empty());
    let is_overridable = others.iter().all(|finding| finding.is_overridable());
    if !(is_short && is_overridable && bound.is_read)
        || plan.is_changed_by_measurement(refusal.target)
    {
        return None;
    }
    let others: Vec<String> = others.iter().map(ToString::to_string).collect();
    let reason = match others.as_slice() {
        [] => String::new(),
        others => format!(
            "Fathom does not extend a file with data that it did not write ({}); ",
            others.join("; ")
        ),
    };
    let from_bytes = target.size_from_bytes;
    let begin = match from_bytes {
        0 => String::new(),
        _ => format!("from {} to ", Bytes(from_bytes)),
    };
    Some(format!(
        "has {}, but the job reads {begin}{}; {reason}{}, or name a new file, which Fathom writes before it reads",
        Bytes(bytes_found),
        Bytes(bytes_read),
        fitting(bytes_found, from_bytes),
    ))
}

/// How a job fits into a file that has less than it reads.
fn fitting(bytes_found: u64, size_from_bytes: u64) -> String {
    match bytes_found.saturating_sub(size_from_bytes) {
        0 if bytes_found == 0 => "name a file with data".to_owned(),
        0 => format!("begin before the end of the file, {bytes_found} bytes"),
        left => format!("lower the size to {left} bytes"),
    }
}

/// Whether the target is wrong, and not protected.
pub fn is_unusable(refusal: &Refusal) -> bool {
    let is_misfit = |finding: &Finding| {
        matches!(
            finding,
            Finding::Missing
                | Finding::FolderLacks { .. }
                | Finding::NotUsable { .. }
                | Finding::CannotExamine { .. }
                | Finding::NotWritable { .. }
        )
    };
    refusal.findings.iter().all(is_misfit)
}

/// As a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
