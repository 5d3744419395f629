//! What is read and checked but cannot be carried out yet, refused parameters, and notes about
//! what is done in another way.
use super::codes;
use super::declare::{Section, Status};
use super::definitions::{Definition, Field};
use super::lower::Job;
use super::model::Storage;
use super::sink::Sink;
use super::steering;
use super::token::Word;
use crate::Environment;
use plan::{Diagnostic, Span};
use std::collections::HashSet;

/// Goes through every parameter of the text: refusals and notes go to the sink, the rest comes
/// back. One finding per parameter, at its first place.
pub(crate) fn find(
    definitions: &[Definition],
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> Vec<Diagnostic> {
    let mut blockers = of_command_line(environment);
    let mut seen: HashSet<(Section, &str)> = HashSet::new();
    let mut seen_sections: HashSet<Section> = HashSet::new();
    let has_trees = definitions
        .iter()
        .any(|definition| definition.section == Section::FileSystem);
    note_command_line(environment, has_trees, sink);
    for definition in definitions {
        let section = definition.section;
        let is_unbuilt = matches!(
            section,
            Section::FileSystem | Section::FileWorkload | Section::ReplayGroup
        );
        if is_unbuilt && section != Section::FileWorkload && seen_sections.insert(section) {
            let what = section.phrase();
            blockers.push(not_built(&what, definition.name.span));
        }
        for field in definition.fields.iter().filter(|field| field.is_valid) {
            let name = field.parameter.name();
            match status(field) {
                Status::Honoured => {}
                // The section says it once for all of its parameters.
                Status::CheckOnly if is_unbuilt => {}
                Status::CheckOnly if has_trees && section == Section::Run => {}
                Status::CheckOnly => {
                    if seen.insert((section, name)) {
                        blockers.push(not_built(&format!("`{name}`"), field.span));
                    }
                }
                Status::Translated(note) => {
                    if seen.insert((section, name)) {
                        let message = format!("`{name}`: {note}");
                        sink.push(
                            Diagnostic::note(codes::TRANSLATED, message)
                                .at(field.span, "done in another way"),
                        );
                    }
                }
                Status::Refused(reason) => sink.error(
                    codes::REFUSED,
                    field.span,
                    format!("`{name}` is refused: {reason}"),
                    "refused",
                    "remove it",
                ),
            }
        }
    }
    blockers
}

/// The status of a parameter for the values that it has.
fn status(field: &Field) -> Status {
    match field.parameter.name() {
        "openflags"
            if field
                .words
                .iter()
                .any(|word| word.text.eq_ignore_ascii_case("o_sync")) =>
        {
            Status::Translated("`o_sync` means O_DSYNC, as in the original on Linux")
        }
        _ => field.status(),
    }
}

fn not_built(what: &str, span: Span) -> Diagnostic {
    Diagnostic::error(codes::NOT_BUILT, format!("{what} is not built yet"))
        .at(span, "read and checked, but cannot be run yet")
        .with_help("remove it to run the file; `vdbench -s` still simulates it")
}

fn of_command_line(environment: &Environment<'_>) -> Vec<Diagnostic> {
    let line = &environment.command_line;
    [
        (line.validate, "data validation (`-v`)"),
        (line.journal, "a journal (`-j`)"),
    ]
    .into_iter()
    .filter(|(is_asked, _)| *is_asked)
    .map(|(_, what)| {
        Diagnostic::error(codes::NOT_BUILT, format!("{what} is not built yet"))
            .with_help("remove the option")
    })
    .collect()
}

fn note_command_line(environment: &Environment<'_>, has_trees: bool, sink: &mut Sink) {
    if environment.command_line.format.is_some() && !has_trees {
        let message = "`-cy`, `-cn` and `-co`: there is no tree of files to format";
        sink.push(Diagnostic::note(codes::TRANSLATED, message));
    }
}

/// Up to here an amount of data is a multiple of the storage.
pub(crate) const MULTIPLES_MAX: f64 = 100.0;

/// What only shows once everything is resolved.
pub(crate) fn of_runs(job: &Job<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    out.extend(of_storages(job));
    out.extend(super::groups::problems(job));
    let mut seen = HashSet::new();
    out.retain(|diagnostic| seen.insert((diagnostic.message.clone(), diagnostic.span)));
    out
}

/// Amounts of data that mean something else in the later release.
pub(crate) fn note_multiples(job: &Job<'_>, sink: &mut Sink) {
    for definition in job.definitions {
        let limits = definition.limits;
        let named = [
            ("maxdata", limits.total),
            ("maxdataread", limits.read),
            ("maxdatawritten", limits.written),
        ];
        for (name, limit) in named {
            let Some(limit) = limit.filter(|limit| (0.0..=MULTIPLES_MAX).contains(limit)) else {
                continue;
            };
            let message = format!(
                "`{name}={limit}` is {limit} times the storage of the run, as in 5.04.06; 5.04.07 \
                 took it for {limit} %"
            );
            let help = format!("write `{name}={limit}%` for that");
            sink.push(
                Diagnostic::note(codes::TRANSLATED, message)
                    .at(definition.fields.place(name), "a multiple")
                    .with_help(help),
            );
        }
    }
}

/// Says of commands of runs that they run on one host, where the original runs them on all.
pub(crate) fn note_commands(job: &Job<'_>, sink: &mut Sink) {
    if job.groups.plan_hosts().is_empty() {
        return;
    }
    let mut told = Vec::new();
    for definition in job.definitions {
        for name in ["startcmd", "endcmd"] {
            let Some(field) = definition.fields.get(name) else {
                continue;
            };
            let mut words = field.words.iter();
            let says_where = words.any(|word| steering::says_where(&word.text));
            if says_where || told.contains(&field.span) {
                continue;
            }
            told.push(field.span);
            let message =
                format!("`{name}` runs on this host only; the original runs it on each host");
            sink.push(
                Diagnostic::note(codes::TRANSLATED, message)
                    .at(field.span, "runs here")
                    .with_help("add `slave` to run it on each host, or `master` to keep it here"),
            );
        }
    }
}

/// Paths that cannot be used on this host. The original looks at them when it runs, not when it
/// simulates.
fn of_storages(job: &Job<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for storage in job.storages {
        let path = &storage.lun;
        if let Some((_, another)) = two_paths(job, storage) {
            let what = format!("several paths of `{}` on one host", storage.name);
            out.push(not_built(&what, another.span));
        }
        if path.text.contains('\\') {
            out.push(
                Diagnostic::error(
                    codes::FOREIGN_PATH,
                    format!("`{}` is a path of Windows", path.text),
                )
                .at(path.span, "holds a backslash")
                .with_help("use the path as this host knows it"),
            );
        }
        let is_given_elsewhere = job.definitions.iter().all(|definition| {
            definition.open.is_some()
                || definition
                    .workloads
                    .iter()
                    .all(|workload| workload.open.is_some())
        });
        if storage.is_device() && storage.open.is_none() && !is_given_elsewhere {
            out.push(
                Diagnostic::error(
                    codes::NO_OPEN_FLAGS,
                    format!("device `{}` has no `openflags`", path.text),
                )
                .at(path.span, "would be measured through the page cache")
                .with_help("add `openflags=o_direct`"),
            );
        }
    }
    out
}

/// A second path of a storage for hosts that are in one place.
fn two_paths<'s>(job: &Job<'_>, storage: &'s Storage) -> Option<&'s (String, Word)> {
    let mut luns = storage.luns.iter();
    luns.find(|(label, lun)| {
        let place = job.groups.place_named(label);
        place.is_some_and(|place| job.groups.path_at(place, storage).text != lun.text)
    })
}
