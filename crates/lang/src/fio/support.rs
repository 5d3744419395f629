//! What becomes of each option and engine of a job: nothing to say, a note, a refusal, or a run
//! that has to wait until more is built.
use super::codes;
use super::jobs::{EngineChoice, Given, Job};
use super::value::Value;
use crate::Status;
use crate::nearest::meant;
use crate::sink::Sink;
use plan::{Diagnostic, IoMethod, Span};

/// Said of the method whose sum is none.
const NO_DIGEST: &str = "the original stores no digest with it, only the last bytes of each block, \
                         and so does this; `sha3-512` or `xxhash` see every byte";

/// Said of engines with a call for each file.
const NONE_OPEN: &str = "each file takes one call with this engine, and none stays open";

/// Reports what is refused or done in another way; gives back what a run has to refuse.
pub(crate) fn judge(jobs: &[Job], sink: &mut Sink) -> Vec<Diagnostic> {
    let mut blockers = Vec::new();
    let mut noted = Vec::new();
    for job in jobs {
        engine(job, &mut blockers, sink);
        let is_refused = job.engine().is_none();
        for given in job.effective() {
            if is_refused && !given.parameter.engines.is_empty() {
                continue;
            }
            let name = &given.name.text;
            match status(given, job) {
                Status::Honoured => {}
                Status::Translated(note) => {
                    if !noted.contains(&given.parameter.name()) {
                        noted.push(given.parameter.name());
                        let message = format!("`{name}`: {note}");
                        // Writes of later loops find space that is allocated, and are faster for it.
                        let found = match name == "unlink_each_loop" && makes_files_anew(job) {
                            true => Diagnostic::warning(codes::TRANSLATED, message),
                            false => Diagnostic::note(codes::TRANSLATED, message),
                        };
                        sink.push(found.at(given.name.span, "done in another way"));
                    }
                }
                Status::CheckOnly => {
                    push_once(&mut blockers, not_built(&written(given), given.name.span));
                }
                Status::Refused(reason) => sink.error(
                    codes::REFUSED,
                    given.name.span,
                    format!("`{name}` is refused: {reason}"),
                    "refused",
                    "remove it",
                ),
            }
        }
    }
    blockers
}

/// Whether the original would remove and make files between loops.
fn makes_files_anew(job: &Job) -> bool {
    job.is_on(on!("unlink_each_loop")) && job.get(number!("loops")) > 1
}

/// As the user wrote it, without what belongs to it only by accident.
fn written(given: &Given) -> String {
    match given.text().trim() {
        "" => format!("`{}`", given.name.text),
        text if text.len() <= 40 => format!("`{}={text}`", given.name.text),
        _ => format!("`{}`", given.name.text),
    }
}

/// A refusal by a run, and by nothing else.
fn not_built(what: &str, span: Span) -> Diagnostic {
    let help = "`check` and `--parse-only` go on; a run needs a file without it";
    refused(what, "it is not built yet", help, span)
}

/// A refusal of what has no meaning, with the nearest thing that has.
pub(crate) fn refused(what: &str, reason: &str, help: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::REFUSED, format!("{what} is refused: {reason}"))
        .at(span, "refused")
        .with_help(help)
}

pub(crate) fn push_once(out: &mut Vec<Diagnostic>, diagnostic: Diagnostic) {
    let is_known = out
        .iter()
        .any(|known| known.message == diagnostic.message && known.span == diagnostic.span);
    if !is_known {
        out.push(diagnostic);
    }
}

fn engine(job: &Job, blockers: &mut Vec<Diagnostic>, sink: &mut Sink) {
    let place = job.place_of("ioengine");
    let refuse = |message: String, help: String, sink: &mut Sink| {
        let mut error = Diagnostic::error(codes::REFUSED_ENGINE, message)
            .at(place, "this engine")
            .with_help(help);
        let belonging = job
            .all()
            .filter(|given| !given.parameter.engines.is_empty());
        for given in belonging.take(4) {
            error = error.with_related(given.name.span, "belongs to it");
        }
        sink.push(error);
    };
    let known = match &job.engine {
        EngineChoice::Known(engine) => engine,
        EngineChoice::Foreign(name) => {
            let names = super::engines::ENGINES.iter().map(|engine| engine.name);
            let (message, help) = if super::engines::is_external(name) {
                (
                    format!("engine `{name}` is refused: no code of others is loaded"),
                    "use io_uring or libaio on a block device or file".to_owned(),
                )
            } else {
                let help = meant(name, names)
                    .unwrap_or_else(|| "`fathom fio --enghelp` lists the engines".to_owned());
                (format!("unknown engine `{name}`"), help)
            };
            refuse(message, help, sink);
            return;
        }
    };
    match known.status {
        Status::Honoured => {}
        Status::Translated(note) => sink.push(
            Diagnostic::note(codes::TRANSLATED, format!("`{}`: {note}", known.name))
                .at(place, "done in another way"),
        ),
        Status::CheckOnly => {
            let what = format!("engine `{}`", known.name);
            push_once(blockers, not_built(&what, place));
        }
        Status::Refused(reason) => {
            let message = format!("engine `{}` is refused", known.name);
            refuse(message, reason.to_owned(), sink);
        }
    }
}

/// Whether the engine of a job makes, looks at or removes files.
fn names_files(job: &Job) -> bool {
    let method = job.engine().and_then(|engine| engine.method);
    matches!(method, Some(IoMethod::Names(_)))
}

/// Whether an option asks for nothing.
fn is_inert(given: &Given, job: &Job) -> bool {
    let parameter = given.parameter;
    if given.value == Value::On(false) && !parameter.inert.contains(&"1") {
        return true;
    }
    let text = given.text().trim();
    let is_listed = |text: &str| parameter.inert.contains(&text);
    if is_listed(text) && (given.written.is_some() || parameter.may_be_bare()) {
        return true;
    }
    // All members of a triple, and numbers written in another way, such as `0s`.
    let is_nothing = match &given.value {
        Value::Number(number) => is_listed(&number.to_string()),
        Value::Numbers(numbers) => numbers
            .iter()
            .flatten()
            .all(|number| is_listed(&number.to_string())),
        Value::Nanos(0) => is_listed("0"),
        Value::Word(word, None) => is_listed(word),
        _ => false,
    };
    is_nothing || (!parameter.part_of.is_empty() && !is_active(parameter.part_of, job))
}

/// Whether an option asks for something.
fn is_active(name: &str, job: &Job) -> bool {
    job.given(name).is_some_and(|given| !is_inert(given, job))
}

/// Whether an option is done as it is asked.
fn is_carried_out(name: &str, job: &Job) -> bool {
    job.given(name)
        .is_some_and(|given| matches!(status(given, job), Status::Honoured | Status::Translated(_)))
}

/// The status of an option for the value that it has.
pub(crate) fn status(given: &Given, job: &Job) -> Status {
    let parameter = given.parameter;
    if is_inert(given, job) {
        return Status::Honoured;
    }
    // What it is a part of says it already, unless that is done and this is not.
    if !parameter.part_of.is_empty() && !is_carried_out(parameter.part_of, job) {
        return Status::Honoured;
    }
    match (parameter.name(), &given.value) {
        ("zonemode", Value::Word("zbd", _)) => {
            return Status::Refused("zoned block devices are not supported");
        }
        ("iodepth_low", Value::Number(low)) if Some(*low) == job.number("iodepth") => {
            return Status::Honoured;
        }
        ("openfiles", _) if names_files(job) => return Status::Translated(NONE_OPEN),
        ("openfiles", Value::Number(open))
            if *open == 0 || *open >= job.get(number!("nrfiles")) =>
        {
            return Status::Honoured;
        }
        ("verify", Value::Word("sha512", _)) => return Status::Translated(NO_DIGEST),
        ("continue_on_error", Value::Text(text)) if text == "none" || text == "0" => {
            return Status::Honoured;
        }
        ("random_distribution", Value::Text(text)) if text.contains(',') => {
            return Status::Refused(
                "fio 3.33 reads one law for all directions; two jobs on one target have one each",
            );
        }
        _ => {}
    }
    parameter.status
}
