//! What the guard refuses, in words of the user.
use crate::exit::Exit;
use crate::render;
use conduct::machine::{self, Reason, ReasonKind};
use fleet::settle::Refused;
use host::guard::{self, Finding, Refusal};
use plan::{BoundPlan, Bytes, Preparation, SourceMap};

/// What becomes of words of `--overwrite` that name no target of a job: most likely they are mistyped.
pub enum UnusedWords {
    Refused,
    /// They may name a target of another job. `None` until the targets of this one were examined.
    Collected(Option<Vec<String>>),
}

/// What the guard of one machine refuses. A word has the host in front where there are several.
pub fn reasons(refused: &guard::Refused, plan: &BoundPlan, host: Option<&str>) -> Vec<Reason> {
    let targets = refused.refusals.iter().map(|one| {
        let mut one = one.clone();
        if let (Some(host), Some(word)) = (host, &mut one.word) {
            *word = format!("{host}:{word}");
        }
        let mut findings = one.findings.iter();
        Reason {
            kind: match is_unusable(&one) {
                true if findings.all(Finding::is_lack_of_right) => ReasonKind::LacksRight,
                true => ReasonKind::Unusable,
                false => ReasonKind::Protected,
            },
            text: refusal_text(&one, plan).trim_end().to_owned(),
            word: one.word,
        }
    });
    let rooms = refused.no_space.iter().map(|one| Reason {
        kind: ReasonKind::NoRoom,
        text: format!("error: {one}"),
        word: None,
    });
    targets.chain(rooms).collect()
}

/// Says what the guard of this machine refuses.
pub fn print_refusal(refused: &guard::Refused, plan: &BoundPlan) {
    let reasons = reasons(refused, plan, None).into_iter();
    print_reasons(&reasons.map(|reason| (None, reason)).collect::<Vec<_>>());
}

/// Says everything that stands against a job on its machines.
pub fn print(refused: &Refused, sources: &SourceMap) {
    render::print(&refused.diagnostics, sources);
    print_reasons(&refused.reasons);
}

/// Says what keeps hosts from being asked, and gives the code.
pub fn told(refusals: &[(String, machine::Refusal)]) -> Exit {
    let reasons = refusals.iter().flat_map(|(host, refusal)| {
        let reasons = refusal.reasons.iter();
        reasons.map(|reason| (Some(host.clone()), reason.clone()))
    });
    print_reasons(&reasons.collect::<Vec<_>>());
    Exit::Usage
}

fn print_reasons(reasons: &[(Option<String>, Reason)]) {
    let mut kinds = render::Kinds::default();
    for (host, reason) in reasons {
        let kind = match reason.kind {
            ReasonKind::Misfit => "reasons",
            ReasonKind::Unusable | ReasonKind::LacksRight => "targets that cannot be used",
            ReasonKind::Protected => {
                "refused targets; `fathom check --write-overwrite FILE` writes the words for all"
            }
            ReasonKind::NoRoom => "file systems without room",
        };
        let text = reason_text(host.as_deref(), reason);
        if kinds.shows(kind, &text) {
            err!("{text}\n");
        }
    }
    kinds.tell_left_out();
}

/// With the host in each line that begins a sentence. The last one is the error.
pub fn reason_text(host: Option<&str>, reason: &Reason) -> String {
    let host = host.map_or_else(String::new, |host| format!("host `{host}`: "));
    let count = reason.text.lines().count();
    let line = |(number, line): (usize, &str)| match line.strip_prefix("error: ") {
        Some(rest) => format!("error: {host}{rest}"),
        None if count == 1 => format!("error: {host}{line}"),
        None if number == 0 => format!("{host}{line}"),
        None => line.to_owned(),
    };
    let lines: Vec<String> = reason.text.lines().enumerate().map(line).collect();
    lines.join("\n")
}

/// The code of a job that is refused: one that the guard refuses counts more than one that does not fit. `without_rights`
/// where nothing but rights is lacking.
pub fn exit(refused: &Refused, without_rights: Exit) -> Exit {
    let mut kinds = refused.reasons.iter().map(|(_, reason)| reason.kind);
    if kinds.clone().any(ReasonKind::is_guard) {
        return Exit::Guard;
    }
    let lacks_rights = !refused.reasons.is_empty() && refused.diagnostics.is_empty();
    match lacks_rights && kinds.all(|kind| kind == ReasonKind::LacksRight) {
        true => without_rights,
        false => Exit::Usage,
    }
}

fn refusal_text(refusal: &Refusal, plan: &BoundPlan) -> String {
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
