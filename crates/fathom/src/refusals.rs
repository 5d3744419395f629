//! What the guard refuses, in words of the user.
use crate::render;
use host::guard::{Finding, Refusal, Refused};
use plan::BoundPlan;

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
