//! The top of the page: what was tested and on what, and in words whatever makes its figures
//! doubtful.
use super::Page;
use super::record::{RunRecord, Told};
use super::scaling;
use super::text::{Escaped, Fact, Sentence, facts, has_value, moment};
use super::{evidence, happened, jobs};
use analysis::words::{counted, size, span};
use analysis::{Check, Seen, Verdict, Word};
use measure::{ExecutionStarted, FinishReason};
use plan::{Label, Severity};
use std::io::{self, Write};

/// Runs that are named under one reason; further ones are counted.
const NAMED_RUNS: usize = 3;

/// A sign in words, with its weight.
struct Sign {
    class: &'static str,
    word: String,
    /// Facts, a line each where there are several.
    texts: Vec<String>,
}

pub(super) fn write(page: &Page, verdict: Option<&Verdict>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<header>\n<p class=\"brand\">Fathom report</p>\n<h1>{}</h1>",
        Escaped(page.title())
    )?;
    if let Some(damage) = &page.damage {
        writeln!(
            out,
            "<p class=\"lead\" id=\"damage\"><strong>This result is damaged: {}.</strong></p>",
            Escaped(damage)
        )?;
    }
    scaling::write(&page.curves.scalings(), out)?;
    if let Some(verdict) = verdict {
        write_verdict(verdict, out)?;
    }
    happened::write(page, out)?;
    jobs::write(page, verdict.map(|verdict| verdict.lead), out)?;
    write_signs(page, verdict, out)?;
    writeln!(
        out,
        "<p class=\"lead\">{}</p><noscript><p>The charts need scripts; the tables do not.</p></noscript>",
        Escaped(subject(page))
    )?;
    write_labels(page, out)?;
    writeln!(out, "</header>")
}

/// The verdict as a list with a fact a line, and what the user has named as code.
fn write_verdict(verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let class = class(verdict.word);
    let (word, text) = (verdict.word.name(), verdict.text_of_word());
    writeln!(out, "<ul class=\"{class}\" id=\"verdict\">")?;
    if let Some(failure) = &verdict.failure {
        write_facts(failure, out)?;
    }
    for (place, fact) in facts(&text).into_iter().enumerate() {
        match fact.text.strip_prefix(word).filter(|_| place == 0) {
            Some(rest) => writeln!(out, "<li><b>{word}</b>{}</li>", Sentence(rest))?,
            None => write_fact(fact, out)?,
        }
    }
    writeln!(out, "</ul>")
}

fn write_facts(text: &str, out: &mut dyn Write) -> io::Result<()> {
    facts(text)
        .into_iter()
        .try_for_each(|fact| write_fact(fact, out))
}

fn write_fact(fact: Fact<'_>, out: &mut dyn Write) -> io::Result<()> {
    let class = if fact.is_first { "" } else { " class=\"more\"" };
    writeln!(out, "<li{class}>{}</li>", Sentence(fact.text))
}

/// How loud a word is shown.
fn class(word: Word) -> &'static str {
    match word {
        Word::Errors | Word::Failed | Word::NotReturned | Word::TooManyErrors => "bad",
        Word::Clean | Word::StorageBound | Word::ClosedLoop => "calm",
        _ if word.is_doubt() => "warn",
        _ => "note",
    }
}

fn subject(page: &Page) -> String {
    let Some(execution) = &page.execution else {
        return "The result holds no start of an execution: what ran and where is not known."
            .into();
    };
    let measured = page.runs.iter().filter(|run| run.measures).count();
    let preparing = match page.runs.len() - measured {
        0 => String::new(),
        _ => format!(" ({measured} of them measured)"),
    };
    let total_ns: u64 = page
        .runs
        .iter()
        .filter(|run| run.measures)
        .map(|run| (run.length_s.0 * 1e9) as u64)
        .sum();
    format!(
        "{} on {}: {}{preparing}, {} measured, with {}, started {} {}.",
        targets_words(execution),
        hosts_words(execution),
        counted(page.runs.len() as u64, "run"),
        span(total_ns),
        or_unknown(&execution.backend, "an unnamed backend"),
        moment(execution.unix_ns, execution.utc_offset_s),
        execution.time_zone,
    )
}

/// The host, or how many there are.
fn hosts_words(execution: &ExecutionStarted) -> String {
    match execution.hosts.len() {
        0 | 1 => or_unknown(&execution.host.name, "an unnamed host").to_owned(),
        several => counted(several as u64, "host"),
    }
}

fn targets_words(execution: &ExecutionStarted) -> String {
    let targets = &execution.targets;
    let mut kinds: Vec<&str> = targets
        .iter()
        .map(|one| one.identity.kind.as_str())
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let kind = match kinds.as_slice() {
        [kind] if !kind.is_empty() && *kind != "missing" => kind,
        _ => "target",
    };
    let bytes: u64 = targets.iter().map(|target| target.bytes).sum();
    let mut models: Vec<&str> = targets
        .iter()
        .map(|target| target.identity.model.trim())
        .filter(|model| !model.is_empty())
        .collect();
    models.sort_unstable();
    models.dedup();
    let models = match models.as_slice() {
        [] => String::new(),
        [model] => format!(", {model}"),
        many => format!(", {} models", many.len()),
    };
    let count = counted(targets.len() as u64, kind);
    format!("{count} ({} in all{models})", size(bytes))
}

fn or_unknown<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn write_labels(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let labels = page.execution.as_ref().map_or(&[][..], |one| &one.labels);
    let labels: Vec<&Label> = labels.iter().filter(|one| has_value(&one.value)).collect();
    if labels.is_empty() {
        return Ok(());
    }
    write!(out, "<p class=\"labels\">")?;
    for label in labels {
        write!(
            out,
            "<span class=\"label\"><b>{}</b> {}</span> ",
            Escaped(&label.key),
            Escaped(&label.value)
        )?;
    }
    writeln!(out, "</p>")
}

fn write_signs(page: &Page, verdict: Option<&Verdict>, out: &mut dyn Write) -> io::Result<()> {
    let mut signs = execution_signs(page);
    signs.extend(run_signs(page));
    signs.extend(seen_good(
        page,
        signs.iter().all(|sign| sign.class == "note"),
    ));
    signs.extend(limits_of_evidence(page));
    // Where no sentence leads, this does.
    let open = if verdict.is_none() { " open" } else { "" };
    let loud = signs.iter().filter(|sign| sign.class != "note");
    let loud: Vec<String> = loud.map(|sign| uncapitalized(&sign.word)).collect();
    let loud = match loud.is_empty() {
        true => String::new(),
        false => format!(": {}", loud.join(", ")),
    };
    writeln!(
        out,
        "<details class=\"signs\"{open}><summary>Evidence for the verdict{}</summary>",
        Escaped(loud)
    )?;
    evidence::write(page, out)?;
    writeln!(out, "<ul>")?;
    for sign in signs {
        let (class, word) = (sign.class, Escaped(sign.word));
        match sign.texts.as_slice() {
            [text] => writeln!(
                out,
                "<li class=\"{class}\"><b>{word}</b>: {}</li>",
                Sentence(text)
            )?,
            texts => {
                writeln!(out, "<li class=\"{class}\"><b>{word}</b>:<ul>")?;
                for text in texts {
                    writeln!(out, "<li>{}</li>", Sentence(text))?;
                }
                writeln!(out, "</ul></li>")?;
            }
        }
    }
    writeln!(out, "</ul></details>")
}

/// A word of a sign within a line. Abbreviations such as *CPU* and *I/Os* keep their capitals.
fn uncapitalized(word: &str) -> String {
    let mut characters = word.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().to_string() + &word[first.len_utf8()..]
        }
        _ => word.to_owned(),
    }
}

/// The checks that were made of all runs and found good; nothing without one.
fn seen_good(page: &Page, has_no_doubt: bool) -> Option<Sign> {
    let judged = page.runs.iter().filter(|run| !run.evidence.is_empty());
    let judged: Vec<&RunRecord> = judged.collect();
    let is_good = |check: &Check| {
        let mut rows = judged.iter().flat_map(|run| &run.evidence);
        rows.all(|one| one.check != *check || one.seen == Seen::Good)
    };
    let good: Vec<Check> = Check::ALL.into_iter().filter(is_good).collect();
    let is_all = has_no_doubt && good.len() == Check::ALL.len();
    // Of a closed loop another sign tells how the slots are to be read.
    let is_open = judged.iter().all(|run| run.open);
    let told = good.into_iter();
    let told = told.filter(|check| is_open || *check != Check::QueueDepth);
    let texts: Vec<&str> = told.map(Check::statement).collect();
    let is_told = !judged.is_empty() && !texts.is_empty();
    is_told.then(|| Sign {
        class: if is_all { "calm" } else { "note" },
        word: if is_all {
            "All checks passed"
        } else {
            "Seen good"
        }
        .into(),
        // The table has them in lines.
        texts: vec![texts.join(", ")],
    })
}

fn execution_signs(page: &Page) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut sign = |class, word: &str, text: String| {
        signs.push(Sign {
            class,
            word: word.into(),
            texts: vec![text],
        });
    };
    match page.finished.as_ref().map(|finished| &finished.reason) {
        None => sign(
            "bad",
            "Unfinished result",
            "the end of the execution was not recorded; what follows covers what was written until then".into(),
        ),
        Some(FinishReason::Failed { message }) => sign("bad", "Execution failed", message.clone()),
        Some(FinishReason::StoppedByUser) => {
            sign("warn", "Stopped", "the user stopped the execution".into());
        }
        Some(FinishReason::TooManyErrors) => {
            sign("bad", "Too many errors", "the execution ended early".into());
        }
        Some(FinishReason::Complete | FinishReason::ReachedTotal | FinishReason::SearchEnded { .. }) => {}
    }
    let loud = |severity| {
        page.remarks
            .iter()
            .filter(move |one| one.severity == severity)
            .count() as u64
    };
    for (severity, class, word) in [
        (Severity::Error, "bad", "error"),
        (Severity::Warning, "warn", "warning"),
    ] {
        let count = loud(severity);
        if count > 0 {
            let text = format!("{}, listed below", counted(count, word));
            sign(class, "Remarks", text);
        }
    }
    signs
}

/// One sign per word, naming the runs that have it.
fn run_signs(page: &Page) -> Vec<Sign> {
    let mut words: Vec<(&Told, Vec<String>)> = Vec::new();
    for (index, run) in page.runs.iter().enumerate() {
        for told in &run.findings {
            // Names repeat in loops; the number is the one of the table.
            let text = format!("run {}, {}: {}", index + 1, run.name, told.text);
            match words.iter_mut().find(|(first, _)| first.word == told.word) {
                Some((_, runs)) => runs.push(text),
                None => words.push((told, vec![text])),
            }
        }
    }
    words.sort_by_key(|(told, _)| !told.is_doubt);
    let sign = |(told, mut runs): (&Told, Vec<String>)| {
        let more = runs.len().saturating_sub(NAMED_RUNS) as u64;
        if more > 0 {
            runs.truncate(NAMED_RUNS);
            runs.push(counted(more, "more run"));
        }
        let (first, rest) = told.word.split_at(1);
        Sign {
            class: match class(told.finding) {
                "calm" => "note",
                class => class,
            },
            word: first.to_ascii_uppercase() + rest,
            texts: runs,
        }
    };
    words.into_iter().map(sign).collect()
}

/// What was not looked at, so that silence is not read as praise.
fn limits_of_evidence(page: &Page) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut sign = |word: &str, text: String| {
        signs.push(Sign {
            class: "note",
            word: word.into(),
            texts: vec![text],
        });
    };
    let measured: Vec<&RunRecord> = page.runs.iter().filter(|run| run.measures).collect();
    if !measured.is_empty() && measured.iter().all(|run| !run.is_steal_known) {
        sign(
            "CPU not known",
            "the host did not tell its CPU times, so steal could not be checked".into(),
        );
    }
    let memory = page
        .targets()
        .iter()
        .filter(|one| one.identity.ram_backed)
        .count() as u64;
    if memory > 0 {
        sign(
            "Memory, not storage",
            format!("{} never left memory", counted(memory, "target")),
        );
    }
    let few: Vec<&&RunRecord> = measured
        .iter()
        .filter(|run| run.response.count > 0 && run.response.count < 10_000)
        .collect();
    if let Some(run) = few.iter().min_by_key(|run| run.response.count) {
        sign(
            "Few samples",
            format!(
                "p99.9 wants some 10 000 I/Os; {} had fewer, {} only {}",
                counted(few.len() as u64, "run"),
                run.name,
                run.response.count
            ),
        );
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::uncapitalized;

    #[test]
    fn abbreviations_keep_their_capitals_within_a_line() {
        assert_eq!(uncapitalized("Failed I/Os"), "failed I/Os");
        assert_eq!(uncapitalized("CPU undercounted"), "CPU undercounted");
        assert_eq!(uncapitalized("I/O errors"), "I/O errors");
        assert_eq!(uncapitalized(""), "");
    }
}
