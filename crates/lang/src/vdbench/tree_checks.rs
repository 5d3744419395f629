//! What the original refuses about trees, their workloads and their runs.
use super::codes;
use super::definitions::Field;
use super::fields::Fields;
use super::model::{Host, LoopKind, LoopValue};
use super::resolve::{conflict, open_mode};
use super::sink::Sink;
use super::storage::check_divisor;
use super::trees::{Tree, TreeRun, Values};
use super::value::{self, Unit};
use crate::nearest::instead_of;
use crate::parameter::Setting;
use plan::{Bytes, Diagnostic};

const OPERATIONS: [&str; 15] = [
    "read", "write", "mkdir", "rmdir", "create", "delete", "open", "close", "getattr", "setattr",
    "access", "copy", "move", "put", "get",
];

/// A tree by itself.
pub(crate) fn check_tree(fields: &Fields, sink: &mut Sink) {
    if let Some(field) = fields.get("files") {
        let files = field.numbers[0].value;
        let is_meant = files % 1e6 == 777.0;
        if files < 1.0 || (files > 1e7 && !is_meant) {
            sink.error(
                codes::OUT_OF_RANGE,
                field.span,
                "`files` is between 1 and 10 million per directory",
                "out of range",
                "spread more files over more directories with `depth` and `width`",
            );
        }
    }
    if let Some(field) = fields.get("sizes") {
        check_mix(field, true, sink);
    }
    if let Some(field) = fields.get("totalsize")
        && field.numbers[0].value < 0.0
    {
        sink.error(
            codes::OUT_OF_RANGE,
            field.span,
            "`totalsize` of a file system is bytes, not a percentage",
            "a percentage",
            "percentages are allowed on `rd=`, as `fortotalsize`",
        );
    }
    for name in ["totalsize", "wss"] {
        check_divisor(fields, name, sink);
    }
    let (width, depth) = (
        levels(fields, decimal!(FILE_SYSTEM, "width")),
        levels(fields, decimal!(FILE_SYSTEM, "depth")),
    );
    let directories: f64 = (1..=depth as u32)
        .map(|level| width.powi(level as i32))
        .sum();
    if directories >= f64::from(i32::MAX) {
        sink.error(
            codes::OUT_OF_RANGE,
            fields.name.span,
            format!("{directories:.0} directories"),
            "too many",
            "use a smaller `depth` or `width`",
        );
    }
    if let Some(field) = fields.get("openflags") {
        open_mode(field, sink);
    }
}

/// Levels are bounded so that the count of directories can be computed at once.
fn levels(fields: &Fields, setting: Setting<f64>) -> f64 {
    fields.number_of(setting).clamp(0.0, 1024.0)
}

/// Bytes, (bytes,percent,…), or for files (average,0).
fn check_mix(field: &Field, allows_average: bool, sink: &mut Sink) {
    let values: Vec<f64> = field.numbers.iter().map(|number| number.value).collect();
    if values.len() == 1 || (allows_average && values.len() == 2 && values[1] == 0.0) {
        return;
    }
    let total: f64 = values.iter().skip(1).step_by(2).sum();
    let name = field.parameter.name();
    if values.len() % 2 == 1 {
        sink.error(
            codes::VALUE_COUNT,
            field.span,
            format!("`{name}` is one value or (size,percent,…)"),
            "an odd count of values",
            "give each size its percentage",
        );
    } else if (total - 100.0).abs() > 0.01 && total.trunc() != 100.0 {
        sink.error(
            codes::SHARES,
            field.span,
            format!("the percentages of `{name}` add up to {total}, not 100"),
            "percentages are the second, fourth, … value",
            "make them add up to 100",
        );
    }
}

/// A workload by itself.
pub(crate) fn check_workload(fields: &Fields, sink: &mut Sink) {
    let name = &fields.name.text;
    if OPERATIONS.contains(&name.as_str()) {
        sink.error(
            codes::RESERVED_NAME,
            fields.name.span,
            format!("a file system workload cannot be named `{name}`"),
            "the name of an operation",
            "choose another name",
        );
    }
    if let Some(field) = fields.get("operation") {
        if field.words.len() > 1 {
            sink.error(
                codes::VALUE_COUNT,
                field.span,
                "`operation` of a workload is one operation",
                "a list",
                "lists belong to `rd=`, as `operations`; or define two workloads",
            );
        }
        check_operations(field, sink);
    }
    if let Some(field) = fields.get("xfersizes") {
        check_mix(field, false, sink);
    }
    if let Some(field) = fields.get("openflags") {
        open_mode(field, sink);
    }
    check_selection(fields, sink);
    let operation = fields
        .text("operation")
        .map_or(text!(FILE_WORKLOAD, "operation").default, |word| {
            word.text.as_str()
        });
    let copies = ["copy", "move"].contains(&operation);
    if fields.has("target") != copies {
        let (place, message) = if copies {
            (
                "operation",
                format!("`operation={operation}` without `target`"),
            )
        } else {
            (
                "target",
                "`target` without `operation=copy` or `move`".to_owned(),
            )
        };
        let help = "`target` names the file system definition that receives the files";
        sink.error(codes::CONFLICT, fields.place(place), message, "here", help);
    }
}

/// A workload that a run uses; the original does not look at the others.
pub(crate) fn check_used(fields: &Fields, sink: &mut Sink) {
    let says = |name: &str, start: &str| {
        fields.get(name).is_some_and(|field| {
            field
                .words
                .iter()
                .any(|word| word.text.to_ascii_lowercase().starts_with(start))
        })
    };
    let is_random = says("fileio", "rand");
    if fields.has("rdpct") && !is_random {
        let label = if fields.has("fileio") {
            "sequential here"
        } else {
            "sequential by default"
        };
        let error = Diagnostic::error(
            codes::CONFLICT,
            "`rdpct` and sequential file I/O exclude each other",
        )
        .at(fields.place("rdpct"), "mixes reads and writes")
        .with_related(fields.place("fileio"), label)
        .with_help("add `fileio=random`");
        sink.push(error);
    }
    if says("fileio", "shared") && says("fileselect", "rand") {
        conflict(fields, "fileio", "fileselect", sink);
    }
    if (says("fileio", "delete") || says("fileio", "seqdelete")) && fields.has("rdpct") {
        conflict(fields, "fileio", "rdpct", sink);
    }
}

fn check_selection(fields: &Fields, sink: &mut Sink) {
    let Some(field) = fields.get("fileselect") else {
        return;
    };
    let known = [
        "random",
        "sequential",
        "seqnz",
        "once",
        "poisson",
        "skewed",
        "full",
        "empty",
        "notfull",
    ];
    for word in &field.words {
        let lower = word.text.to_ascii_lowercase();
        let is_known = known
            .iter()
            .any(|known| known.starts_with(&lower) || lower == *known)
            || lower.starts_with("midpoint=")
            || value::number(&lower, Unit::Plain).is_some();
        if !is_known {
            let help = instead_of(&lower, known);
            sink.error(
                codes::UNKNOWN_WORD,
                word.span,
                format!("`{}` is not a value of `fileselect`", word.text),
                "not known",
                help,
            );
        }
    }
}

fn check_operations(field: &Field, sink: &mut Sink) {
    for word in &field.words {
        let lower = word.text.to_ascii_lowercase();
        if !OPERATIONS.contains(&lower.as_str()) {
            let help = instead_of(&lower, OPERATIONS);
            sink.error(
                codes::UNKNOWN_WORD,
                word.span,
                format!("unknown operation `{}`", word.text),
                "not known",
                help,
            );
        }
    }
}

/// A run by itself.
pub(crate) fn check_run(fields: &Fields, sink: &mut Sink) {
    for name in ["operations", "foroperations"] {
        if let Some(field) = fields.get(name) {
            check_operations(field, sink);
        }
    }
    for name in ["maxdata", "maxdataread", "maxdatawritten"] {
        if fields.number(name).is_some_and(|limit| limit < 100.0) {
            sink.error(
                codes::OUT_OF_RANGE,
                fields.place(name),
                format!("`{name}` of a file-system job is 100 bytes or more"),
                "multiples are for storage definitions",
                "write the amount in bytes",
            );
        }
    }
}

/// A tree that several hosts use is declared shared, and then not formatted by `yes`.
pub(crate) fn check_shared(run: &TreeRun, trees: &[Tree], hosts: &[Host], sink: &mut Sink) {
    for (index, tree) in trees.iter().enumerate() {
        let is_used_by = |host: &Host| {
            run.workloads.iter().any(|workload| {
                let list = run.trees.as_ref().unwrap_or(&workload.trees);
                list.contains(&index)
                    && (workload.hosts.is_empty() || workload.hosts.contains(&host.label))
            })
        };
        let count = hosts.iter().filter(|host| is_used_by(host)).count();
        if count > 1 && !tree.is_shared {
            sink.error(
                codes::CONFLICT,
                tree.fields.name.span,
                format!("{count} hosts use `{}`, which is not shared", tree.name),
                "not shared",
                "add `shared=yes`, or give each host its own with `host=` on `fwd=`",
            );
        }
        if count > 0 && tree.is_shared && run.format.says_yes && !run.format.restarts {
            sink.error(
                codes::CONFLICT,
                run.fields.place("format"),
                format!("`format=yes` of the shared tree `{}`", tree.name),
                "not possible for shared trees",
                "use `format=(clean,only)` in one run and `format=(restart,only)` in the next",
            );
        }
    }
}

/// The parts of a tree that are asked for are not larger than the tree.
pub(crate) fn check_totals(run: &TreeRun, trees: &[Tree], values: &Values, sink: &mut Sink) {
    let swept = |kind: LoopKind| {
        values.iter().find_map(|(found, value)| match value {
            LoopValue::Number(number) if *found == kind => Some(*number),
            _ => None,
        })
    };
    for workload in &run.workloads {
        for index in run.trees.as_ref().unwrap_or(&workload.trees) {
            let fields = &trees[*index].fields;
            let total = swept(LoopKind::TotalSize).or(divided(fields, "totalsize"));
            let Some(total) = total.filter(|total| *total >= 1.0) else {
                continue;
            };
            let whole = tree_bytes(fields, &swept);
            if total > whole * 1.01 {
                let (asked, found) = (Bytes(total as u64), Bytes(whole as u64));
                let place = if swept(LoopKind::TotalSize).is_some() {
                    run.fields.place("totalsize")
                } else {
                    fields.place("totalsize")
                };
                sink.error(
                    codes::OUT_OF_RANGE,
                    place,
                    format!(
                        "`totalsize` of {asked} is more than the tree `{}` holds, {found}",
                        trees[*index].name
                    ),
                    "larger than the tree",
                    "use more or larger files, or a smaller `totalsize`",
                );
            }
            let visited = swept(LoopKind::WorkingSet).or(divided(fields, "wss"));
            if visited.is_some_and(|visited| visited > total) {
                sink.error(
                    codes::OUT_OF_RANGE,
                    run.fields.name.span,
                    format!(
                        "the working set of `{}` is larger than its `totalsize`",
                        trees[*index].name
                    ),
                    "in this run",
                    "make it smaller",
                );
            }
        }
    }
}

/// A value, or (value,divisor).
fn divided(fields: &Fields, name: &str) -> Option<f64> {
    let numbers = &fields.get(name)?.numbers;
    let divisor = numbers.get(1).map_or(1.0, |number| number.value);
    Some(numbers[0].value / divisor).filter(|value| value.is_finite())
}

fn tree_bytes(fields: &Fields, swept: &dyn Fn(LoopKind) -> Option<f64>) -> f64 {
    swept_shape(fields, swept).bytes
}

/// What a tree is made of.
pub(crate) struct Shape {
    pub directories: f64,
    pub files: f64,
    /// Of all files together.
    pub bytes: f64,
}

/// That of a definition by itself.
pub(crate) fn shape(fields: &Fields) -> Shape {
    swept_shape(fields, &|_| None)
}

fn swept_shape(fields: &Fields, swept: &dyn Fn(LoopKind) -> Option<f64>) -> Shape {
    let value = |kind: LoopKind, setting| swept(kind).unwrap_or_else(|| fields.number_of(setting));
    let width = value(LoopKind::Width, decimal!(FILE_SYSTEM, "width")).clamp(0.0, 1e6);
    let depth = value(LoopKind::Depth, decimal!(FILE_SYSTEM, "depth")).clamp(0.0, 1024.0);
    let per_directory = value(LoopKind::Files, decimal!(FILE_SYSTEM, "files"));
    let holds_everywhere = fields
        .text("distribution")
        .is_some_and(|word| word.text.eq_ignore_ascii_case("all"));
    let directories: f64 = (1..=depth as u32)
        .map(|level| width.powi(level as i32))
        .sum();
    let holders = match holds_everywhere {
        true => directories,
        false => width.powi(depth as i32),
    };
    let files = holders * per_directory;
    Shape {
        directories,
        files,
        bytes: files * swept(LoopKind::Sizes).unwrap_or_else(|| mean_size(fields)),
    }
}

fn mean_size(fields: &Fields) -> f64 {
    let Some(field) = fields.get("sizes") else {
        return decimal!(FILE_SYSTEM, "sizes").default;
    };
    let values: Vec<f64> = field.numbers.iter().map(|number| number.value).collect();
    match values.as_slice() {
        [one] | [one, 0.0] => *one,
        pairs => pairs
            .chunks_exact(2)
            .map(|pair| pair[0] * pair[1] / 100.0)
            .sum(),
    }
}
