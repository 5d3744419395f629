//! Two results beside each other: the table for the terminal, the same with all figures as CSV and JSON.
mod page;

pub use page::page;

use crate::summary::{csv_field, cut_name, wrapped};
use analysis::{Answer, Cell, ComparedFigure, Comparison, FigureKind, Unfit, change};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, presets};
use serde_json::{Value, json};

/// The form of the document. Members may be added to one; anything else is a new form.
const FORM: u32 = 1;

/// How the document begins.
const MARK: &str = "{\"fathom_comparison\":";

/// Longer names have a line of their own.
const NAME_WIDTH: usize = 18;

/// Which figures stand in tables and charts, in place of those that nobody tells.
#[derive(Clone, Copy, Debug)]
struct Columns {
    /// `None` where there are percentiles.
    mean: Option<FigureKind>,
    cpu: FigureKind,
}

impl Columns {
    fn of(comparisons: &[Comparison]) -> Self {
        let cells = || comparisons.iter().flat_map(|one| &one.cells);
        let is_told = |kind: &FigureKind| cells().any(|cell| cell.figure(*kind).is_some());
        let first = |kinds: &[FigureKind]| kinds.iter().copied().find(is_told);
        let has_percentiles = first(&[FigureKind::ResponseP50, FigureKind::ResponseP99]).is_some();
        let mean = first(&[FigureKind::ResponseMean, FigureKind::ServiceMean]);
        Self {
            mean: mean.filter(|_| !has_percentiles),
            cpu: first(&[FigureKind::CpuPerOperation, FigureKind::HostCpu])
                .unwrap_or(FigureKind::CpuPerOperation),
        }
    }

    fn has(self, kind: FigureKind) -> bool {
        match kind {
            FigureKind::ResponseMean | FigureKind::ServiceMean => self.mean == Some(kind),
            kind if kind.is_cpu() => kind == self.cpu,
            _ => true,
        }
    }

    fn heads(self) -> Vec<&'static str> {
        let mut heads = vec!["I/O/s\nbase", "\nother", "\nchange"];
        heads.extend(match self.mean {
            Some(_) => vec!["mean ms\nbase", "\nother", "\nchange"],
            None => vec!["p50 ms\nchange", "p99 ms\nbase", "\nother", "\nchange"],
        });
        heads.push(match self.cpu {
            FigureKind::HostCpu => "host\nCPU",
            _ => "CPU\nper I/O",
        });
        heads.push("runs");
        heads
    }
}

/// The table of a comparison and, below it, what it comes to.
pub fn text(comparison: &Comparison, width: u16) -> String {
    let mut text = conditions(comparison, width);
    if !comparison.cells.is_empty() {
        if comparison.cells.len() > 1 && !comparison.common.is_empty() {
            text += &(wrapped(&format!("all loads: {}", comparison.common), width) + "\n");
        }
        text += &table(comparison, width);
        text += &legend(comparison, width);
    }
    for (name, runs) in [
        (&comparison.base, &comparison.only_base),
        (&comparison.other, &comparison.only_other),
    ] {
        if !runs.is_empty() {
            text += &wrapped(&format!("only in `{name}`: {}", runs.join(", ")), width);
        }
    }
    text + "\n" + &wrapped(&comparison.sentence(), width)
}

/// A line for each load, and another one before it for a name that has no room there.
fn table(comparison: &Comparison, width: u16) -> String {
    let width_max = usize::from(width);
    let all = rows(comparison, NAME_WIDTH, width);
    let widest = all.lines().map(|line| line.chars().count()).max();
    let beyond = widest.unwrap_or(0).saturating_sub(width_max);
    let lengths = comparison.cells.iter();
    let lengths = lengths.map(|cell| cell.name.chars().count());
    let longest = lengths.filter(|length| *length <= NAME_WIDTH).max();
    let name_width = longest.unwrap_or(0).saturating_sub(beyond);
    let table = match beyond {
        0 => all,
        _ => rows(comparison, name_width, width),
    };
    let lines: Vec<&str> = table.lines().collect();
    let (head, rows) = lines.split_at(lines.len() - comparison.cells.len());
    let mut text: String = head.iter().map(|line| format!("{line}\n")).collect();
    for (row, cell) in rows.iter().zip(&comparison.cells) {
        if is_long(cell, name_width) {
            text += &(cut_name(&cell.name, width_max) + "\n");
        }
        text += &format!("{row}\n");
    }
    text
}

fn is_long(cell: &Cell, name_width: usize) -> bool {
    cell.name.chars().count() > name_width
}

/// Without long names.
fn rows(comparison: &Comparison, name_width: usize, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING.header_separator(LineStyle::none().fill('-').junction('-')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    let columns = Columns::of(std::slice::from_ref(comparison));
    table.set_header(std::iter::once("load").chain(columns.heads()));
    for cell in &comparison.cells {
        let name = if is_long(cell, name_width) {
            ""
        } else {
            &*cell.name
        };
        table.add_row(std::iter::once(name.to_owned()).chain(cells(cell, columns)));
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 0));
        column.set_constraint(ColumnConstraint::ContentWidth);
        if place > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// What else differs, which comes first: it may be why figures do.
fn conditions(comparison: &Comparison, width: u16) -> String {
    let differences = comparison.differences.iter();
    let lines = differences.map(|one| {
        wrapped(
            &format!("differs: {}: {} / {}", one.name, one.base, one.other),
            width,
        )
    });
    let text: String = lines.collect();
    match text.is_empty() {
        true => text,
        false => text + "\n",
    }
}

/// What marks in the table mean, and which sides are doubtful.
fn legend(comparison: &Comparison, width: u16) -> String {
    let mut text = String::new();
    let figures = || comparison.cells.iter().flat_map(|cell| &cell.figures);
    if figures().any(|figure| figure.unfit.is_some()) {
        let line = "(...): not compared: fixed by the load, or too few samples";
        text += &wrapped(line, width);
    }
    text + &doubtful(comparison, width)
}

/// Loads that are named with the words that make them doubtful; further ones are counted.
const NAMED: usize = 3;

/// The words that make sides doubtful, each once, with the loads that have them.
fn doubtful(comparison: &Comparison, width: u16) -> String {
    let mut loads: Vec<(String, Vec<String>)> = Vec::new();
    for cell in &comparison.cells {
        let [base, other] = [0, 1].map(|side| cell.doubts_of(side));
        let sides = match base == other {
            true => vec![(base, String::new())],
            false => vec![
                (base, format!(" of `{}`", comparison.base)),
                (other, format!(" of `{}`", comparison.other)),
            ],
        };
        for (doubts, of_side) in sides.into_iter().filter(|(doubts, _)| !doubts.is_empty()) {
            let name = format!("{}{of_side}", cell.name);
            match loads.iter_mut().find(|(known, _)| *known == doubts) {
                Some((_, names)) => names.push(name),
                None => loads.push((doubts, vec![name])),
            }
        }
    }
    let line = |(doubts, names): (String, Vec<String>)| {
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = names
            .iter()
            .take(NAMED)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        wrapped(&format!("! {doubts}: {named}{more}"), width)
    };
    loads.into_iter().map(line).collect()
}

fn cells(cell: &Cell, columns: Columns) -> Vec<String> {
    let of = |kind: FigureKind, text: &dyn Fn(&ComparedFigure) -> String| {
        cell.figure(kind).map_or("-".to_owned(), text)
    };
    let mut kinds = cell.figures.iter().map(|figure| figure.kind);
    let rate = kinds.find(|kind| kind.is_of_curve());
    let rate = rate.unwrap_or(FigureKind::Rate);
    let base = |figure: &ComparedFigure| value_text(figure.kind, figure.base);
    let other = |figure: &ComparedFigure| value_text(figure.kind, figure.other);
    let all = |kind| [of(kind, &base), of(kind, &other), of(kind, &changed)];
    let mut texts = Vec::from(all(rate));
    if columns.mean.is_none() {
        texts.push(of(FigureKind::ResponseP50, &changed));
    }
    texts.extend(all(columns.mean.unwrap_or(FigureKind::ResponseP99)));
    texts.push(of(columns.cpu, &changed));
    let [one, two] = cell.runs;
    texts.push(format!("{one}/{two}"));
    texts
}

/// With the mark of its answer.
fn changed(figure: &ComparedFigure) -> String {
    let mark = match figure.answer {
        Answer::Better => " +",
        Answer::Worse => " !",
        Answer::CannotTell { .. } => " ?",
        Answer::Same | Answer::DiffersLess => " =",
        Answer::TooFew => "",
    };
    match figure.unfit {
        Some(_) => format!("({})", change(figure.ratio)),
        None => format!("{}{mark}", change(figure.ratio)),
    }
}

/// In the unit that tables have.
fn value_text(kind: FigureKind, value: f64) -> String {
    let value = in_unit(kind, value);
    match kind.is_latency() {
        true => format!("{value:.3}"),
        false if value >= 1000.0 => format!("{value:.0}"),
        false => format!("{value:.1}"),
    }
}

/// Rates per second, MB/s, milliseconds, and microseconds of CPU time.
fn in_unit(kind: FigureKind, value: f64) -> f64 {
    match kind {
        FigureKind::Rate | FigureKind::Knee | FigureKind::Saturation => value,
        FigureKind::Throughput => value / 1e6,
        FigureKind::CpuPerOperation => value / 1e3,
        FigureKind::HostCpu => value * 100.0,
        _ => value / 1e6,
    }
}

fn unit(kind: FigureKind) -> &'static str {
    match kind {
        FigureKind::Rate | FigureKind::Knee | FigureKind::Saturation => "per_s",
        FigureKind::Throughput => "mb_per_s",
        FigureKind::CpuPerOperation => "us",
        FigureKind::HostCpu => "pct",
        _ => "ms",
    }
}

const CSV_HEADER: [&str; 30] = [
    "base",
    "other",
    "load",
    "asked_rate_per_s",
    "figure",
    "unit",
    "base_runs",
    "other_runs",
    "base_value",
    "other_value",
    "ratio",
    "ratio_from",
    "ratio_to",
    "answer",
    "not_compared",
    "runs_far_off",
    "ratio_without_them",
    "base_marks",
    "other_marks",
    "margin",
    "repeats_that_would_tell",
    "text",
    "transfer_size_bytes",
    "read_pct",
    "random_pct",
    "job_queue_depth",
    "jobs",
    "queue_depth",
    "engine",
    "page_cache",
];

/// A line for each figure of each load; an empty field is a value that there is not.
pub fn csv(comparisons: &[Comparison]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |record: &[String]| {
        let written = writer.write_record(record.iter().map(|field| csv_field(field)));
        written.expect("a record of as many fields as the first, into memory");
    };
    write(&CSV_HEADER.map(String::from));
    for comparison in comparisons {
        for cell in &comparison.cells {
            for figure in &cell.figures {
                write(&record(comparison, cell, figure));
            }
        }
    }
    let bytes = writer.into_inner().expect("memory takes every byte");
    String::from_utf8(bytes).expect("every field is a string")
}

fn record(
    comparison: &Comparison,
    cell: &Cell,
    figure: &ComparedFigure,
) -> [String; CSV_HEADER.len()] {
    let six = |value: f64| format!("{value:.6}");
    let or_empty = |value: Option<f64>| value.map_or(String::new(), six);
    let in_unit = |value: f64| six(in_unit(figure.kind, value));
    let load = cell.load();
    let count = |value: Option<u32>| value.map_or(String::new(), |value| value.to_string());
    let name = |value: &Option<String>| value.clone().unwrap_or_default();
    [
        comparison.base.clone(),
        comparison.other.clone(),
        cell.name.clone(),
        or_empty(cell.load().asked_per_s),
        figure.kind.name().to_owned(),
        unit(figure.kind).to_owned(),
        cell.runs[0].to_string(),
        cell.runs[1].to_string(),
        in_unit(figure.base),
        in_unit(figure.other),
        six(figure.ratio),
        or_empty(figure.interval.map(|interval| interval.from)),
        or_empty(figure.interval.map(|interval| interval.to)),
        answer_name(figure).to_owned(),
        figure
            .unfit
            .map_or(String::new(), |one| unfit_name(one).to_owned()),
        figure
            .without
            .map_or(String::new(), |without| without.runs.to_string()),
        or_empty(figure.without.map(|without| without.ratio)),
        cell.doubts_of(0),
        cell.doubts_of(1),
        six(figure.margin),
        repeats_that_would_tell(figure).map_or(String::new(), |repeats| repeats.to_string()),
        comparison.sentence(),
        format!("{:.0}", load.operation_bytes),
        six(load.read_share * 100.0),
        or_empty(load.random_pct),
        name(&load.job_depth),
        count(load.jobs),
        count(load.slots),
        name(&load.engine),
        name(&load.page_cache),
    ]
}

/// Why not stands beside it.
const NOT_COMPARED: &str = "not compared";

fn answer_name(figure: &ComparedFigure) -> &'static str {
    match figure.answer {
        _ if figure.unfit.is_some() => NOT_COMPARED,
        Answer::Better => "better",
        Answer::Worse => "worse",
        Answer::Same => "same",
        Answer::DiffersLess => "differs by less",
        Answer::CannotTell { .. } => "cannot tell",
        Answer::TooFew => "too few runs",
    }
}

/// Why a figure is not compared, in a few words.
pub fn unfit_name(unfit: Unfit) -> &'static str {
    match unfit {
        Unfit::RateAsked => "the rate was asked for",
        Unfit::FlatOut => "flat out",
        Unfit::FewSamples => "too few values",
        Unfit::OtherRates => "other rates",
    }
}

/// The same for programs.
pub fn json(comparisons: &[Comparison]) -> String {
    let all: Vec<Value> = comparisons.iter().map(document).collect();
    let mut text = format!("{MARK}{FORM},\"comparisons\":");
    text += &serde_json::to_string(&all).expect("names are texts");
    text + "}\n"
}

fn document(comparison: &Comparison) -> Value {
    let loads: Vec<Value> = comparison.cells.iter().map(load).collect();
    let differences = comparison.differences.iter();
    let differences: Vec<Value> = differences
        .map(|one| json!({"condition": one.name, "base": one.base, "other": one.other}))
        .collect();
    json!({
        "base": comparison.base,
        "other": comparison.other,
        "text": comparison.sentence(),
        "differences": differences,
        "common": comparison.common,
        "all_loads": comparison.overall.iter().map(overall).collect::<Vec<_>>(),
        "loads": loads,
        "only_base": comparison.only_base,
        "only_other": comparison.only_other,
    })
}

fn repeats_that_would_tell(figure: &ComparedFigure) -> Option<u32> {
    match figure.answer {
        Answer::CannotTell { repeats } if figure.unfit.is_none() => Some(repeats),
        _ => None,
    }
}

fn overall(figure: &ComparedFigure) -> Value {
    json!({
        "figure": figure.kind.name(),
        "ratio": figure.ratio,
        "ratio_from": figure.interval.map(|interval| interval.from),
        "ratio_to": figure.interval.map(|interval| interval.to),
    })
}

fn load(cell: &Cell) -> Value {
    let figure = |figure: &ComparedFigure| {
        let repeats = repeats_that_would_tell(figure);
        json!({
            "figure": figure.kind.name(),
            "unit": unit(figure.kind),
            "base": in_unit(figure.kind, figure.base),
            "other": in_unit(figure.kind, figure.other),
            "ratio": figure.ratio,
            "ratio_from": figure.interval.map(|interval| interval.from),
            "ratio_to": figure.interval.map(|interval| interval.to),
            "answer": answer_name(figure),
            "margin": figure.margin,
            "repeats_that_would_tell": repeats,
            "not_compared": figure.unfit.map(unfit_name),
            "runs_far_off": figure.without.map(|without| without.runs),
            "ratio_without_them": figure.without.map(|without| without.ratio),
        })
    };
    let marks = |side: usize| -> Vec<&str> {
        let words = cell.doubts[side].iter();
        words.map(|word| word.name()).collect()
    };
    let figures: Vec<Value> = cell.figures.iter().map(figure).collect();
    let load = cell.load();
    let swept = load.swept.iter();
    let swept = swept.map(|(name, value)| (name.clone(), json!(value)));
    let options = load.options.iter();
    let options = options.map(|(name, value)| (name.clone(), json!(value)));
    json!({
        "load": cell.name,
        "asked_rate_per_s": load.asked_per_s,
        "transfer_size_bytes": load.operation_bytes.round(),
        "read_pct": load.read_share * 100.0,
        "random_pct": load.random_pct,
        "job_queue_depth": load.job_depth,
        "jobs": load.jobs,
        "queue_depth": load.slots,
        "engine": load.engine,
        "page_cache": load.page_cache,
        "swept": swept.collect::<serde_json::Map<String, Value>>(),
        "options": options.collect::<serde_json::Map<String, Value>>(),
        "base_runs": cell.runs[0],
        "other_runs": cell.runs[1],
        "base_marks": marks(0),
        "other_marks": marks(1),
        "figures": figures,
    })
}

/// Whether a file with this start is such a table.
pub fn is_csv(head: &[u8]) -> bool {
    head.starts_with(CSV_HEADER[..4].join(",").as_bytes())
}

/// Whether a file with this start is such a document.
pub fn is_json(head: &[u8]) -> bool {
    head.starts_with(MARK.as_bytes())
}
