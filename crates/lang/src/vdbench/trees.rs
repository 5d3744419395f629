//! File-system jobs: trees of files, their workloads, formats, and the list of runs. All of it is
//! read, checked and listed; nothing is lowered yet.
use super::codes;
use super::declare::Section;
use super::definitions::Definition;
use super::expand::{
    ListedKind, ListedRun, combinations, loops_text, printed_rate, rate_text, report_too_many,
};
use super::fields::{Fields, with_defaults};
use super::listing::used_hosts;
use super::model::{Host, LoopKind, LoopValue, RateSpec, Times};
use super::rates::rate;
use super::resolve::{host_labels, open_mode, references, report_duplicates};
use super::runs::{curve, loops, missing_rate, run_fields, times};
use super::sink::Sink;
use super::storage::{copy_numbers, numbered_path};
use super::token::Word;
use super::tree_checks::{Shape, check_shared, check_totals, check_tree, check_workload, shape};
use crate::{Environment, FormatOverride};
use plan::Diagnostic;
use serde::{Deserialize, Serialize};

/// One tree as `check` shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedTree {
    pub name: String,
    /// The directory that holds it.
    pub anchor: String,
    pub directories: u64,
    pub files: u64,
    /// Of all files together, by the average of their sizes.
    pub bytes: u64,
    /// Whether some run makes, changes or removes something in it.
    pub is_written: bool,
}

/// A tree of files.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub fields: Fields,
    pub name: String,
    pub anchor: String,
    pub is_shared: bool,
}

/// What is done in trees.
#[derive(Clone, Debug)]
pub(crate) struct TreeWorkload {
    pub fields: Fields,
    pub name: String,
    /// Places in the list of trees.
    pub trees: Vec<usize>,
    /// Labels; empty means all.
    pub hosts: Vec<String>,
    pub threads: u64,
}

/// A run of a file-system job, before its loops are unfolded.
#[derive(Clone, Debug)]
pub(crate) struct TreeRun {
    pub fields: Fields,
    pub workloads: Vec<TreeWorkload>,
    /// Trees in place of those of the workloads.
    pub trees: Option<Vec<usize>>,
    pub rate: RateSpec,
    pub times: Times,
    pub format: Format,
}

/// What becomes of the tree before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    pub formats: bool,
    pub restarts: bool,
    pub is_only: bool,
    pub is_once: bool,
    pub is_limited: bool,
    pub is_complete: bool,
    pub says_yes: bool,
}

/// Loop values of one run.
pub(crate) type Values = Vec<(LoopKind, LoopValue)>;

const FORMAT_THREADS: u64 = 8;

/// What leaves a tree as it is.
const LOOKS: [&str; 5] = ["read", "open", "close", "getattr", "access"];

/// The runs of a file-system job in order, and the trees that they use.
pub(crate) fn list(
    definitions: &[Definition],
    hosts: &[Host],
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> (Vec<ListedRun>, Vec<ListedTree>) {
    let trees = trees(definitions, sink);
    let (workloads, format_threads) = workloads(definitions, &trees, hosts, sink);
    let runs: Vec<TreeRun> = run_fields(definitions, sink)
        .into_iter()
        .map(|fields| run(fields, &trees, &workloads, environment, sink))
        .collect();
    let runs = from_first(runs, environment, sink);
    check_hosts(&runs, hosts, sink);
    let mut out = Vec::new();
    for run in &runs {
        check_shared(run, &trees, hosts, sink);
        unfold(run, &trees, format_threads, &mut out, sink);
    }
    (out, listed_trees(&trees, &runs))
}

/// The trees that runs use, by their definitions: loops may change their shape.
fn listed_trees(trees: &[Tree], runs: &[TreeRun]) -> Vec<ListedTree> {
    let uses = |run: &TreeRun, at: usize| match &run.trees {
        Some(trees) => trees.contains(&at),
        None => run.workloads.iter().any(|one| one.trees.contains(&at)),
    };
    let listed = |(at, tree): (usize, &Tree)| {
        let mut users = runs.iter().filter(|run| uses(run, at)).peekable();
        users.peek()?;
        let Shape {
            directories,
            files,
            bytes,
        } = shape(&tree.fields);
        Some(ListedTree {
            name: tree.name.clone(),
            anchor: tree.anchor.clone(),
            directories: directories as u64,
            files: files as u64,
            bytes: bytes as u64,
            is_written: users.any(changes_trees),
        })
    };
    trees.iter().enumerate().filter_map(listed).collect()
}

fn changes_trees(run: &TreeRun) -> bool {
    let given = |fields: &Fields, name: &str| {
        let words = fields.get(name).map_or(&[][..], |field| &field.words);
        let mut words = words.iter().map(|word| word.text.to_ascii_lowercase());
        words.any(|word| !LOOKS.contains(&word.as_str()))
    };
    let reads_less = |fields: &Fields| fields.number("rdpct").is_some_and(|share| share < 100.0);
    let of_workload =
        |one: &TreeWorkload| reads_less(&one.fields) || given(&one.fields, "operation");
    run.format.formats
        || reads_less(&run.fields)
        || given(&run.fields, "operations")
        || given(&run.fields, "foroperations")
        || run.workloads.iter().any(of_workload)
}

fn trees(definitions: &[Definition], sink: &mut Sink) -> Vec<Tree> {
    let mut out: Vec<Tree> = Vec::new();
    for fields in with_defaults(definitions, Section::FileSystem) {
        check_tree(&fields, sink);
        let name = fields.name.text.clone();
        let anchor = fields.text("anchor").map(|word| word.text.clone());
        if anchor.is_none() {
            sink.error(
                codes::MISSING,
                fields.name.span,
                format!("file system definition `{name}` has no `anchor`"),
                "no directory",
                "add `anchor=DIRECTORY`",
            );
        }
        // A place to stand, so that references to it are no mistakes.
        let anchor = anchor.unwrap_or_else(|| name.clone());
        let is_shared = fields.is_yes(on!(FILE_SYSTEM, "shared"));
        let numbers = copy_numbers(&fields, out.len(), sink);
        let tree = Tree {
            name: name.clone(),
            anchor: anchor.clone(),
            is_shared,
            fields,
        };
        match numbers {
            None => out.push(tree),
            Some(numbers) => out.extend(numbers.map(|number| Tree {
                name: format!("{name}{number}"),
                anchor: numbered_path(&anchor, number),
                ..tree.clone()
            })),
        }
    }
    let names: Vec<_> = out
        .iter()
        .map(|tree| super::token::Word {
            text: tree.name.clone(),
            span: tree.fields.name.span,
        })
        .collect();
    report_duplicates(&names, Section::FileSystem, true, sink);
    check_anchors(&out, sink);
    out
}

/// One anchor inside another would have each format destroy the other's tree.
fn check_anchors(trees: &[Tree], sink: &mut Sink) {
    let mut sorted: Vec<(String, &Tree)> = trees
        .iter()
        .map(|tree| (format!("{}/", tree.anchor.trim_end_matches('/')), tree))
        .collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    for pair in sorted.windows(2) {
        let ((outer, first), (inner, second)) = (&pair[0], &pair[1]);
        if inner != outer && inner.starts_with(outer.as_str()) {
            sink.push(
                Diagnostic::error(
                    codes::CONFLICT,
                    format!(
                        "the anchor of `{}` lies inside that of `{}`",
                        second.name, first.name
                    ),
                )
                .at(second.fields.place("anchor"), "inside the other")
                .with_related(first.fields.place("anchor"), "the other")
                .with_help("use directories beside each other"),
            );
        }
    }
}

fn workloads(
    definitions: &[Definition],
    trees: &[Tree],
    hosts: &[Host],
    sink: &mut Sink,
) -> (Vec<TreeWorkload>, u64) {
    let all = with_defaults(definitions, Section::FileWorkload);
    let mut format_threads = FORMAT_THREADS;
    let mut out = Vec::new();
    for fields in all {
        if fields.name.text == "format" {
            let own = fields
                .own()
                .iter()
                .rev()
                .find(|field| field.parameter.name() == "threads");
            let threads = own.and_then(|field| field.numbers.first());
            format_threads = threads.map_or(format_threads, |number| number.value as u64);
            continue;
        }
        out.push(workload(fields, trees, hosts, sink));
    }
    let names: Vec<_> = out
        .iter()
        .map(|workload: &TreeWorkload| workload.fields.name.clone())
        .collect();
    report_duplicates(&names, Section::FileWorkload, true, sink);
    (out, format_threads)
}

fn workload(fields: Fields, trees: &[Tree], hosts: &[Host], sink: &mut Sink) -> TreeWorkload {
    check_workload(&fields, sink);
    let names: Vec<&str> = trees.iter().map(|tree| tree.name.as_str()).collect();
    let name = fields.name.text.clone();
    let used = match fields.given("fsd") {
        Some(field) => references(field, &names, Section::FileSystem, sink),
        None => {
            sink.error(
                codes::MISSING,
                fields.name.span,
                format!("file system workload `{name}` names no file system"),
                "no `fsd`",
                "add `fsd=NAME`",
            );
            Vec::new()
        }
    };
    if let Some(field) = fields.get("openflags") {
        open_mode(field, sink);
    }
    TreeWorkload {
        trees: used,
        hosts: fields
            .given("host")
            .map(|field| host_labels(field, hosts, sink))
            .unwrap_or_default(),
        threads: fields.number_of(decimal!(FILE_WORKLOAD, "threads")) as u64,
        name,
        fields,
    }
}

fn run(
    fields: Fields,
    trees: &[Tree],
    workloads: &[TreeWorkload],
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> TreeRun {
    let names: Vec<&str> = workloads
        .iter()
        .map(|workload| workload.name.as_str())
        .collect();
    let used = match fields.given("fwd") {
        Some(field) => references(field, &names, Section::FileWorkload, sink),
        None => {
            sink.error(
                codes::MISSING,
                fields.name.span,
                format!("run definition `{}` names no workload", fields.name.text),
                "no `fwd`",
                "add `fwd=WORKLOAD`",
            );
            Vec::new()
        }
    };
    let tree_names: Vec<&str> = trees.iter().map(|tree| tree.name.as_str()).collect();
    let replaced = fields
        .given("fsd")
        .map(|field| references(field, &tree_names, Section::FileSystem, sink));
    let asked = match fields.given("fwdrate") {
        Some(field) => rate(field, sink),
        None => {
            missing_rate(&fields, "fwdrate", sink);
            RateSpec::Max
        }
    };
    if fields.has("operations") && fields.has("foroperations") {
        super::resolve::conflict(&fields, "operations", "foroperations", sink);
    }
    super::tree_checks::check_run(&fields, sink);
    for index in &used {
        super::tree_checks::check_used(&workloads[*index].fields, sink);
    }
    TreeRun {
        workloads: used
            .into_iter()
            .map(|index| workloads[index].clone())
            .collect(),
        trees: replaced,
        rate: asked,
        times: times(&fields, &environment.command_line, sink),
        format: format(&fields, environment.command_line.format, sink),
        fields,
    }
}

fn format(fields: &Fields, forced: Option<FormatOverride>, sink: &mut Sink) -> Format {
    let (mut format, mut says_no) = (Format::default(), false);
    for word in fields.get("format").map_or(&[][..], |field| &field.words) {
        let lower = word.text.to_ascii_lowercase();
        // The declaration has checked that each is the start of a known word.
        match lower.as_str() {
            "restart" => (format.formats, format.restarts) = (true, true),
            "clean" | "only" => (format.formats, format.is_only) = (true, true),
            "once" => (format.formats, format.is_once) = (true, true),
            "limited" => format.is_limited = true,
            "complete" => format.is_complete = true,
            _ if lower.starts_with('y') => (format.formats, format.says_yes) = (true, true),
            _ if lower.starts_with('d') => format.formats = true,
            _ if lower.starts_with('n') => says_no = true,
            _ => not_whole(word, sink),
        }
    }
    if says_no {
        format = Format {
            is_complete: format.is_complete,
            ..Format::default()
        };
    }
    let place = fields.place("format");
    if format.is_limited && !format.is_only {
        sink.error(
            codes::CONFLICT,
            place,
            "`format=limited` without `only`",
            "set here",
            "write `format=(only,limited)`",
        );
    }
    if format.is_complete && format.formats {
        sink.error(
            codes::CONFLICT,
            place,
            "`format=complete` together with a format",
            "set here",
            "write `format=(no,complete)`",
        );
    }
    match forced {
        Some(FormatOverride::Yes) => Format {
            formats: true,
            says_yes: true,
            ..Format::default()
        },
        Some(FormatOverride::No) => Format::default(),
        Some(FormatOverride::Only) => Format {
            formats: true,
            is_only: true,
            ..Format::default()
        },
        None => format,
    }
}

/// Only `yes`, `no` and `directories` may be cut short.
fn not_whole(word: &Word, sink: &mut Sink) {
    let known = ["restart", "only", "clean", "once", "limited", "complete"];
    let lower = word.text.to_ascii_lowercase();
    let meant = known.into_iter().find(|known| known.starts_with(&lower));
    sink.error(
        codes::UNKNOWN_WORD,
        word.span,
        format!("`{}` is not a value of `format`", word.text),
        "only `yes`, `no` and `directories` may be abbreviated",
        format!("write `{}` in full", meant.unwrap_or("it")),
    );
}

fn from_first(runs: Vec<TreeRun>, environment: &Environment<'_>, sink: &mut Sink) -> Vec<TreeRun> {
    let Some(first) = &environment.command_line.first_run else {
        return runs;
    };
    let found = runs
        .iter()
        .position(|run| run.fields.name.text.starts_with(first.as_str()));
    match found {
        Some(at) => runs.into_iter().skip(at).collect(),
        None => {
            let message = format!("no run definition has a name that starts with `{first}`");
            sink.push(Diagnostic::error(codes::UNKNOWN_REFERENCE, message));
            runs
        }
    }
}

fn check_hosts(runs: &[TreeRun], hosts: &[Host], sink: &mut Sink) {
    if sink.has_errors() || runs.is_empty() {
        return;
    }
    let is_used = |label: &str| {
        runs.iter().flat_map(|run| &run.workloads).any(|workload| {
            workload.hosts.is_empty() || workload.hosts.iter().any(|host| host == label)
        })
    };
    used_hosts(hosts, is_used, sink);
}

/// The runs of one definition: loops, and a format in front of each where asked.
fn unfold(
    run: &TreeRun,
    trees: &[Tree],
    format_threads: u64,
    out: &mut Vec<ListedRun>,
    sink: &mut Sink,
) {
    const RUNS_MAX: usize = 200_000;
    let loops = loops(&run.fields, sink);
    let all = combinations(&loops);
    let per_combination = match run.rate {
        RateSpec::Curve => curve(&run.fields).len() + 2,
        _ => 2,
    };
    if all.len().saturating_mul(per_combination) + out.len() > RUNS_MAX {
        report_too_many(run.fields.name.span, sink);
        return;
    }
    let mut before: Option<&Values> = None;
    for values in &all {
        check_totals(run, trees, values, sink);
        if is_formatted(run.format, before, values) {
            out.push(format_run(run, format_threads));
        }
        before = Some(values);
        if !run.format.is_only {
            measured(run, values, out);
        }
    }
}

/// Every combination is formatted, unless the first was enough.
fn is_formatted(format: Format, before: Option<&Values>, values: &Values) -> bool {
    let Some(before) = before else {
        return format.formats;
    };
    if format.is_once {
        return false;
    }
    if format.says_yes && format.restarts {
        let of_tree = |values: &Values| -> Values {
            values
                .iter()
                .filter(|(kind, _)| kind.changes_tree())
                .cloned()
                .collect()
        };
        return of_tree(before) != of_tree(values);
    }
    format.formats
}

fn format_run(run: &TreeRun, threads: u64) -> ListedRun {
    let name = format!("format_for_{}", run.fields.name.text);
    ListedRun {
        simulated: name.clone(),
        name,
        kind: ListedKind::Format,
        rate: "max".to_owned(),
        loops: "None".to_owned(),
        threads,
        elapsed_s: run.format.is_limited.then_some(run.times.elapsed_s),
        ends_at_size: true,
        warmup_s: 0,
        interval_s: run.times.interval_s,
        pause_s: 0,
    }
}

fn measured(run: &TreeRun, values: &Values, out: &mut Vec<ListedRun>) {
    let name = &run.fields.name.text;
    let rate = values.iter().find_map(|(kind, value)| match value {
        LoopValue::Number(rate) if *kind == LoopKind::FileRate => Some(*rate),
        _ => None,
    });
    match (&run.rate, rate) {
        (_, Some(rate)) => out.push(listed(run, name.clone(), &rate_text(rate), values)),
        (RateSpec::Numbers(rates), None) => {
            let rate = rate_text(rates.first().copied().unwrap_or(0.0));
            out.push(listed(run, name.clone(), &rate, values));
        }
        (RateSpec::Curve, None) => {
            out.push(listed(run, name.clone(), "curve", values));
            for pct in curve(&run.fields) {
                let rate = rate_text(super::expand::simulated_point(pct));
                out.push(listed(
                    run,
                    format!("{name}_({}%)", pct.trunc()),
                    &rate,
                    values,
                ));
            }
        }
        _ => out.push(listed(run, name.clone(), "max", values)),
    }
}

fn listed(run: &TreeRun, name: String, rate: &str, values: &Values) -> ListedRun {
    let loops = match loops_text(values) {
        text if text.is_empty() => "None".to_owned(),
        text => text,
    };
    let swept = values.iter().find_map(|(kind, value)| match value {
        LoopValue::Number(threads) if *kind == LoopKind::Threads => Some(*threads as u64),
        _ => None,
    });
    let times = run.times;
    let warmup = match times.warmup_s {
        0 => String::new(),
        seconds => format!(" warmup={seconds}"),
    };
    // The original ends a word with a full stop and a number with a semicolon.
    let end = if ["max", "curve"].contains(&rate) {
        "."
    } else {
        ";"
    };
    let number: Result<f64, _> = rate.parse();
    let printed = number.map_or(rate.to_owned(), |rate| printed_rate(rate, ""));
    ListedRun {
        simulated: format!(
            "{name}; elapsed={}{warmup}; fwdrate={printed}{end} For loops: {loops}",
            times.elapsed_s
        ),
        name,
        kind: ListedKind::Measure,
        rate: rate.to_owned(),
        loops,
        threads: run
            .workloads
            .iter()
            .map(|workload| swept.unwrap_or(workload.threads))
            .sum(),
        elapsed_s: Some(times.elapsed_s),
        ends_at_size: false,
        warmup_s: times.warmup_s,
        interval_s: times.interval_s,
        pause_s: times.pause_s,
    }
}
