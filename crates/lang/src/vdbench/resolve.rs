//! What every kind of definition shares: names, references, hosts, open flags, general parameters.
use super::codes;
use super::content::{self, Duplicates};
use super::declare::Section;
use super::definitions::{Definition, Field};
use super::fields::{Fields, is_yes, with_defaults};
use super::model::{FormatStorage, General, Host};
use super::sink::Sink;
use super::steering;
use super::token::Word;
use super::value;
use crate::Environment;
use crate::nearest::{meant, nearest};
use plan::{Diagnostic, Label, OpenMode, SyncMode};

/// Reports names that are defined twice in a section.
pub(crate) fn report_duplicates<'a>(
    names: impl IntoIterator<Item = &'a Word>,
    section: Section,
    ignores_case: bool,
    sink: &mut Sink,
) {
    let mut seen: std::collections::HashMap<String, &Word> = std::collections::HashMap::new();
    for name in names {
        let key = if ignores_case {
            name.text.to_lowercase()
        } else {
            name.text.clone()
        };
        if let Some(first) = seen.get(&key) {
            let what = section.title();
            sink.push(
                Diagnostic::error(
                    codes::DUPLICATE,
                    format!("{what} `{}` is defined twice", name.text),
                )
                .at(name.span, "second definition")
                .with_related(first.span, "first defined here")
                .with_help("rename one of them"),
            );
        } else {
            seen.insert(key, name);
        }
    }
}

/// The places in `known` that a list of references means; what matches nothing is reported.
pub(crate) fn references(
    field: &Field,
    known: &[&str],
    section: Section,
    sink: &mut Sink,
) -> Vec<usize> {
    let is_name = |text: &str| known.contains(&text);
    let mut out: Vec<usize> = Vec::new();
    let mut is_named = vec![false; known.len()];
    for word in value::names(&field.words, is_name) {
        let found: Vec<usize> = match word.text.strip_suffix('*') {
            Some(prefix) => (0..known.len())
                .filter(|index| known[*index].starts_with(prefix))
                .collect(),
            None => known
                .iter()
                .position(|name| *name == word.text)
                .into_iter()
                .collect(),
        };
        if found.is_empty() {
            report_unknown_reference(field, &word, known, section, sink);
        }
        for index in found {
            if std::mem::replace(&mut is_named[index], true) {
                let keyword = section.keyword();
                sink.error(
                    codes::REPEATED,
                    word.span,
                    format!("{keyword} `{}` is named twice", known[index]),
                    "named again",
                    "name each once",
                );
            } else {
                out.push(index);
            }
        }
    }
    out
}

fn report_unknown_reference(
    field: &Field,
    word: &Word,
    known: &[&str],
    section: Section,
    sink: &mut Sink,
) {
    let what = section.title();
    let keyword = section.keyword();
    let text = &word.text;
    let is_pattern = text.ends_with('*');
    let message = if is_pattern {
        format!("no {what} has a name that matches `{text}`")
    } else {
        format!("no {what} is named `{text}`")
    };
    let bare = text.trim_end_matches('*');
    let help = if field.starts_line && field.section_is_run() {
        format!("definitions of `{keyword}=` stand before the first `rd=`")
    } else if let Some(near) = nearest(bare, known.iter().copied()) {
        format!("did you mean `{near}`?")
    } else if known.is_empty() {
        format!("define it with `{keyword}={bare},…`")
    } else {
        let shown: Vec<&str> = known.iter().copied().take(8).collect();
        let more = if known.len() > 8 { ", …" } else { "" };
        format!("defined: {}{more}", shown.join(", "))
    };
    sink.error(
        codes::UNKNOWN_REFERENCE,
        word.span,
        message,
        "not defined",
        help,
    );
}

impl Field {
    /// Whether it is the parameter of a run that lists workloads or storage.
    fn section_is_run(&self) -> bool {
        Section::Run
            .parameters()
            .iter()
            .any(|parameter| std::ptr::eq(parameter, self.parameter))
    }
}

/// All hosts; one named `localhost` where none is defined.
pub(crate) fn hosts(
    definitions: &[Definition],
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> Vec<Host> {
    let all = with_defaults(definitions, Section::Host);
    report_duplicates(
        all.iter().map(|fields| &fields.name),
        Section::Host,
        false,
        sink,
    );
    let mut out = Vec::new();
    for fields in &all {
        let label = fields.name.text.clone();
        let system = fields.text("system").cloned();
        let shown = system
            .as_ref()
            .map_or(label.as_str(), |word| word.text.as_str());
        let is_local = label == "localhost" || is_this_host(shown, environment);
        check_host(fields, system.as_ref(), is_local, sink);
        let reach = (!is_local).then(|| plan::Reach {
            system: shown.to_owned(),
            user: fields.text("user").map(|user| user.text.clone()),
        });
        let clients = fields.number_of(decimal!(HOST, "clients")) as u32;
        let asked = environment.command_line.processes;
        let processes = asked.unwrap_or_else(|| fields.number_of(decimal!(HOST, "jvms")) as u32);
        let processes = processes.max(1);
        if clients <= 1 {
            out.push(Host {
                label,
                span: Some(fields.name.span),
                reach,
                processes,
            });
            continue;
        }
        out.extend((0..clients).map(|index| Host {
            label: format!("{label}_cl{index}"),
            span: Some(fields.name.span),
            reach: reach.clone(),
            processes,
        }));
    }
    if out.is_empty() {
        out.push(Host {
            label: "localhost".to_owned(),
            span: None,
            reach: None,
            processes: (environment.command_line.processes)
                .unwrap_or(decimal!(HOST, "jvms").default as u32)
                .max(1),
        });
    }
    out
}

fn check_host(fields: &Fields, system: Option<&Word>, is_local: bool, sink: &mut Sink) {
    if let Some(system) = system
        && system.text.starts_with(['$', '!'])
    {
        let name = &system.text;
        sink.error(
            codes::UNSET_VARIABLE,
            system.span,
            format!("variable `{name}` is not set"),
            "not set",
            format!("add `{}=VALUE` to the command line", &name[1..]),
        );
    }
    if let Some(folder) = fields.text("vdbench")
        && !folder.text.contains(['/', '\\'])
    {
        sink.error(
            codes::UNKNOWN_WORD,
            folder.span,
            format!("`{}` is not a folder", folder.text),
            "no slash",
            "give the full path of the installation on that host",
        );
    }
    if let Some(shell) = fields.given("shell").or(None) {
        let is_builtin = shell
            .words
            .first()
            .is_some_and(|word| "vdbench".starts_with(&word.text.to_ascii_lowercase()));
        if !is_builtin && !is_local && !fields.has("user") {
            sink.error(
                codes::MISSING,
                fields.name.span,
                format!("host `{}` has no `user`", fields.name.text),
                "reached by a shell that needs a login",
                "add `user=NAME`",
            );
        }
    }
}

fn is_this_host(name: &str, environment: &Environment<'_>) -> bool {
    ["localhost", "127.0.0.1", "::1"].contains(&name)
        || environment.host_names.iter().any(|known| known == name)
}

/// The labels that a `host=` parameter means.
pub(crate) fn host_labels(field: &Field, hosts: &[Host], sink: &mut Sink) -> Vec<String> {
    let known: Vec<&str> = hosts.iter().map(|host| host.label.as_str()).collect();
    references(field, &known, Section::Host, sink)
        .into_iter()
        .map(|index| hosts[index].label.clone())
        .collect()
}

/// The open mode that a list of flags asks for.
pub(crate) fn open_mode(field: &Field, sink: &mut Sink) -> OpenMode {
    // open(2) of Linux on x86-64; the bit means the same wherever the language is used.
    const O_DIRECT: i32 = 0x4000;
    let mut mode = OpenMode::default();
    for word in &field.words {
        let lower = word.text.to_ascii_lowercase();
        match lower.as_str() {
            "o_direct" | "directio" => mode.direct = true,
            "o_sync" | "o_dsync" | "o_rsync" => mode.sync = SyncMode::Data,
            "fsync" => mode.sync_on_close = true,
            hex if hex.starts_with("0x") => match i32::from_str_radix(&hex[2..], 16) {
                Ok(bits) => {
                    mode.direct |= bits & O_DIRECT != 0;
                    mode.raw_flags |= bits & !O_DIRECT;
                }
                Err(_) => unknown_flag(word, sink),
            },
            _ => unknown_flag(word, sink),
        }
    }
    mode
}

fn unknown_flag(word: &Word, sink: &mut Sink) {
    let known = [
        "o_direct", "directio", "o_sync", "o_dsync", "o_rsync", "fsync",
    ];
    let help = meant(&word.text, known)
        .unwrap_or_else(|| format!("known on Linux: {}, or bits as 0x…", known.join(", ")));
    sink.error(
        codes::UNKNOWN_WORD,
        word.span,
        format!("unknown open flag `{}`", word.text),
        "not known",
        help,
    );
}

/// The general parameters.
pub(crate) fn general(fields: &Fields, environment: &Environment<'_>, sink: &mut Sink) -> General {
    let format_transfer_bytes = fields.number("formatxfersize").map(|bytes| bytes as u64);
    if let Some(bytes) = format_transfer_bytes {
        check_sector_multiple(bytes as f64, fields, "formatxfersize", sink);
    }
    let format_storage = match fields.text("formatsds") {
        None => FormatStorage::WhereNeeded,
        Some(word) if is_yes(&word.text) => FormatStorage::Always,
        Some(_) => FormatStorage::Never,
    };
    let compression_ratio = match (fields.number("compratio"), fields.number("compression")) {
        (Some(ratio), _) => ratio,
        (None, Some(percent)) if percent > 0.0 => 100.0 / percent,
        _ => decimal!(GENERAL, "compratio").default,
    };
    let is_on = |name: &str| fields.get(name).is_some_and(|field| !field.is_inert());
    if is_on("concatenatesds") && format_storage == FormatStorage::Always {
        conflict(fields, "concatenatesds", "formatsds", sink);
    }
    for other in ["validate", "journal", "dedupratio"] {
        if is_on("concatenatesds") && is_on(other) {
            conflict(fields, "concatenatesds", other, sink);
        }
    }
    let duplicates = Duplicates::read(fields, sink);
    duplicates.pool(&Duplicates::default(), fields, sink);
    General {
        // What is wrong with it is reported with the rest of the steering.
        errors: steering::failures(fields, &mut Sink::new(&Default::default())).0,
        steering: steering::general(fields, environment, sink),
        format_transfer_bytes,
        format_storage,
        compression_ratio,
        compression_seed: compression_seed(fields, environment.seed, sink),
        duplicates,
        pattern: content::pattern(fields, environment, sink),
        concatenates: fields.is_yes(on!(GENERAL, "concatenatesds")),
        lists_addresses: fields.is_yes(on!(GENERAL, "showlba")),
        details: details(fields),
        validates: is_on("validate") || is_on("journal") || environment.command_line.validate,
    }
}

/// The pages that `report=` asks for or does without; a beginning of a word is enough.
fn details(fields: &Fields) -> Vec<Label> {
    let words = fields.get("report").map_or(&[][..], |field| &field.words);
    let known = [
        ("host_detail", "host"),
        ("slave_detail", "slave"),
        ("no_sd_detail", "no_sd"),
    ];
    let label = |(name, label): &(&str, &str)| {
        let is_meant = |word: &Word| name.starts_with(&word.text.to_ascii_lowercase());
        words
            .iter()
            .any(is_meant)
            .then(|| Label::new("detail", *label))
    };
    known.iter().filter_map(label).collect()
}

fn compression_seed(fields: &Fields, time_of_day: u64, sink: &mut Sink) -> u64 {
    let default = number!(GENERAL, "compressionseed").default as u64;
    let Some(word) = fields.text("compressionseed") else {
        return default;
    };
    if word.text.eq_ignore_ascii_case("tod") {
        return time_of_day;
    }
    word.text.parse().unwrap_or_else(|_| {
        sink.error(
            codes::NOT_A_NUMBER,
            word.span,
            "`compressionseed` is neither a number nor `tod`",
            "not a whole number",
            "write a number, or `tod` for another seed each time",
        );
        default
    })
}

pub(crate) fn conflict(fields: &Fields, one: &str, other: &str, sink: &mut Sink) {
    let error = Diagnostic::error(
        codes::CONFLICT,
        format!("`{one}` and `{other}` exclude each other"),
    )
    .at(fields.place(one), "set here")
    .with_related(fields.place(other), "and this here")
    .with_help("remove one of them");
    sink.push(error);
}

/// Sizes of blocks are multiples of 512; whether this one is.
pub(crate) fn check_sector_multiple(
    bytes: f64,
    fields: &Fields,
    name: &str,
    sink: &mut Sink,
) -> bool {
    let is_multiple = bytes >= 0.0 && bytes % 512.0 == 0.0;
    if !is_multiple {
        sink.error(
            codes::OUT_OF_RANGE,
            fields.place(name),
            format!("`{name}` is not a multiple of 512 bytes"),
            format!("{bytes} bytes"),
            "use a multiple of 512",
        );
    }
    is_multiple
}
