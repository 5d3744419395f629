//! The table of a summary, as wide as a terminal is. What does not fit is left out column by column, the least telling
//! first, and a line says which; the CSV has all of them. A run takes two lines at most.
use super::{Row, rate_text};
use analysis::Word;
use analysis::words::bounded;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, Width, presets,
};
use measure::DataFigures;

/// Columns of a terminal that tells none.
pub const WIDTH: u16 = 80;

/// What names of runs may take beside their figures; longer ones have a line of their own before them.
const NAME_WIDTH: u16 = 20;
const NARROW_NAME_WIDTH: u16 = 14;

/// Of the names.
const HEAD: &str = "run";

/// A run, or a job of one.
struct Line {
    /// The name, where it has no room beside the figures.
    above: Option<String>,
    /// The name beside the figures, its loop values below it.
    name: String,
    cells: [String; COLUMNS.len()],
    /// Why figures are doubtful; may be wider than names are.
    marks: Option<String>,
}

impl Line {
    fn height(&self) -> usize {
        self.name.lines().count().max(1)
    }
}

/// A column beside the names.
struct Column {
    head: &'static str,
    /// Where its head says nothing without its neighbours.
    name: &'static str,
    /// The first to go is 1.
    goes: u8,
}

const fn column(head: &'static str, name: &'static str, goes: u8) -> Column {
    Column { head, name, goes }
}

/// In the order in which they stand.
const COLUMNS: [Column; 14] = [
    column("asked\nI/O/s", "asked I/O/s", 9),
    column("reached\nI/O/s", "reached I/O/s", 14),
    column("MB/s\n10^6", "MB/s", 11),
    column("resp.\np50", "response p50", 12),
    column("ms\np90", "response p90", 2),
    column("\np99", "response p99", 13),
    column("\np99.9", "response p99.9", 5),
    column("\nmax", "response max", 7),
    column("service\nmean ms", "service mean", 10),
    column("depth", "depth", 1),
    column("slots\nbusy/of", "slots busy", 4),
    column("late\n%", "late", 6),
    column("CPU µs/IO\nhost/own", "CPU per I/O", 3),
    column("errors/\nunserved", "errors/unserved", 8),
];

/// The table with units in its head, at most `width` columns wide where four columns allow it.
pub fn table(rows: &[Row], width: u16) -> String {
    let name_max = match width < 100 {
        true => NARROW_NAME_WIDTH,
        false => NAME_WIDTH,
    };
    let lines = lines(rows, name_max);
    let named = lines.iter().flat_map(|line| line.name.lines());
    let name_width = match named.map(|line| line.chars().count()).max() {
        Some(named) => (named as u16).clamp(6, name_max),
        None => HEAD.len() as u16,
    };
    let beside = width.saturating_sub(name_width);
    let shown = fitting(&lines, beside.saturating_sub(room_for(&lines, width)));
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING.header_separator(LineStyle::none().fill('-').junction('-')))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.max(name_width));
    let heads = shown.iter().map(|place| COLUMNS[*place].head);
    table.set_header(std::iter::once(HEAD).chain(heads));
    for line in &lines {
        let cells = shown.iter().map(|place| line.cells[*place].as_str());
        table.add_row(std::iter::once(line.name.as_str()).chain(cells));
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        // The style puts a blank between columns.
        column.set_padding((0, 0));
        if place == 0 {
            let bounds = ColumnConstraint::Boundaries {
                lower: Width::Fixed(name_width),
                upper: Width::Fixed(name_max),
            };
            column.set_constraint(bounds);
        } else {
            column.set_constraint(ColumnConstraint::ContentWidth);
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = with_marks(&table.trim_fmt(), &lines, width);
    text += &left_out(&shown, width);
    text += &sync_lines(rows, width);
    text += &data_lines(rows);
    text
}

/// What syncs cost, of each run and job that made any.
fn sync_lines(rows: &[Row], width: u16) -> String {
    let all = rows.iter().flat_map(|row| {
        let jobs = row
            .parts
            .iter()
            .map(|job| format!("{}, {}", row.run, job.run));
        let names = std::iter::once(row.run.clone()).chain(jobs);
        names.zip(std::iter::once(row).chain(&row.parts))
    });
    let line = |(name, row): (String, &Row)| {
        let (rate, syncs) = row.syncs?;
        let [p50, p99] =
            [syncs.p50, syncs.p99].map(|ns| ns.map_or("-".to_owned(), |ns| millis_text(ns as f64)));
        let text = format!(
            "syncs of {name}: {}/s, p50 {p50} ms, p99 {p99} ms",
            rate_text(rate)
        );
        Some(wrapped(&text, width))
    };
    all.filter_map(line).collect()
}

/// Jobs that went on side by side stand below their run.
fn lines(rows: &[Row], name_max: u16) -> Vec<Line> {
    // A character beyond ASCII may take two columns.
    let columns = |text: &str| {
        text.chars()
            .map(|one| if one.is_ascii() { 1 } else { 2 })
            .sum::<usize>()
    };
    let is_long = |text: &str, more: usize| columns(text) + more > usize::from(name_max);
    let has_loops = |row: &Row| !row.loops.is_empty();
    let is_wide = |row: &Row| has_loops(row) && (is_long(&row.run, 0) || is_long(&row.loops, 1));
    // Names with loop values stand in one place for all runs.
    let are_wide = rows.iter().any(is_wide);
    let mut lines = Vec::new();
    for row in rows {
        let (whole, short, is_above) = match has_loops(row) {
            true => (
                format!("{} ({})", row.run, row.loops),
                format!("{}\n {}", row.run, row.loops),
                are_wide,
            ),
            false => (row.run.clone(), row.run.clone(), is_long(&row.run, 0)),
        };
        lines.push(line(row, whole, short, is_above));
        for part in &row.parts {
            let name = format!("- {}", part.run);
            let is_above = is_long(&name, 0);
            lines.push(line(part, name.clone(), name, is_above));
        }
    }
    lines
}

fn line(row: &Row, whole: String, short: String, is_above: bool) -> Line {
    let (above, name) = match is_above {
        true => (Some(whole), String::new()),
        false => (None, short),
    };
    Line {
        above,
        name,
        cells: cells(row),
        marks: (row.doubts > 0).then(|| format!("! {}", doubts(row).join(", "))),
    }
}

/// What was not checked is no news beside what was seen.
fn doubts(row: &Row) -> Vec<&str> {
    let doubts = row.marks[..row.doubts].iter().map(String::as_str);
    let is_told = |word: &&str| row.doubts == 1 || *word != Word::NotChecked.name();
    doubts.filter(is_told).collect()
}

/// The table with the names that have a line of their own, and with marks where a row or such a line has room for them.
fn with_marks(table: &str, lines: &[Line], width: u16) -> String {
    let width = usize::from(width);
    let rendered: Vec<&str> = table.lines().collect();
    let height: usize = lines.iter().map(Line::height).sum();
    let (head, mut rest) = rendered.split_at(rendered.len().saturating_sub(height));
    let mut shown: Vec<String> = head.iter().map(|line| (*line).to_owned()).collect();
    for line in lines {
        let (own, after) = rest.split_at(line.height().min(rest.len()));
        rest = after;
        let mut own: Vec<String> = own.iter().map(|line| (*line).to_owned()).collect();
        if let Some(name) = &line.above {
            own.insert(0, cut_name(name, width));
        }
        if let Some(marks) = &line.marks {
            add_marks(&mut own, marks, line.above.as_deref(), width);
        }
        shown.extend(own);
    }
    shown.join("\n") + "\n"
}

/// At the end of the name or of the figures; where they fit nowhere they are cut, and a name leaves them a third of its line.
fn add_marks(own: &mut Vec<String>, marks: &str, above: Option<&str>, width: usize) {
    let has_room = |line: &String| line.chars().count() + 1 + marks.chars().count() <= width;
    // Loop values below a name have more room than the figures beside it.
    let place = match above {
        Some(_) => own.iter().position(has_room),
        None => own
            .len()
            .checked_sub(1)
            .filter(|last| has_room(&own[*last])),
    };
    if let Some(place) = place {
        own[place] += &format!(" {marks}");
        return;
    }
    match (above, own.len()) {
        (Some(name), _) => {
            let room = width.saturating_sub(marks.chars().count() + 1);
            let name = cut_name(name, room.max(width * 2 / 3));
            own[0] = cut(&format!("{name} {marks}"), width);
        }
        (None, 2) => own[1] = cut(&format!("{} {marks}", own[1]), width),
        (None, _) => own.push(cut(marks, width)),
    }
}

/// Without its end where it is longer than that.
fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}

/// Without its middle where it is longer than that: names of a sweep differ at their end.
pub(crate) fn cut_name(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let end = kept / 2;
    let start = name.chars().take(kept - end).chain(['…']);
    start.chain(name.chars().skip(length - end)).collect()
}

/// What marks take of a row of one line: all of them where that is no more than a third. A further line has room.
fn room_for(lines: &[Line], width: u16) -> u16 {
    let is_alone = |line: &&Line| line.above.is_none() && line.height() == 1;
    let marks = lines
        .iter()
        .filter(is_alone)
        .filter_map(|line| line.marks.as_ref());
    let longest = marks.map(|marks| marks.chars().count() as u16 + 1);
    longest.filter(|long| *long <= width / 3).max().unwrap_or(0)
}

/// The columns that fit beside the names. Failures are shown before anything else, once there are any.
fn fitting(lines: &[Line], width: u16) -> Vec<usize> {
    let chars = |text: &str| text.lines().map(|line| line.chars().count()).max();
    let width_of = |place: usize| {
        let cells = lines.iter().filter_map(|line| chars(&line.cells[place]));
        let widest = cells.chain(chars(COLUMNS[place].head)).max();
        widest.unwrap_or(0) + 1
    };
    let failures = COLUMNS.len() - 1;
    let has_failures = lines.iter().any(|line| line.cells[failures] != "0/0");
    let goes = |place: &usize| match *place == failures && has_failures {
        true => u8::MAX,
        false => COLUMNS[*place].goes,
    };
    let mut shown: Vec<usize> = (0..COLUMNS.len()).collect();
    let mut taken: usize = shown.iter().map(|place| width_of(*place)).sum();
    while taken > usize::from(width) && shown.len() > 1 {
        let first = shown.iter().copied().min_by_key(goes);
        let first = first.expect("one is left at least");
        taken -= width_of(first);
        shown.retain(|place| *place != first);
    }
    shown
}

fn left_out(shown: &[usize], width: u16) -> String {
    let names = (0..COLUMNS.len()).filter(|place| !shown.contains(place));
    let names: Vec<&str> = names.map(|place| COLUMNS[place].name).collect();
    if names.is_empty() {
        return String::new();
    }
    let named = format!(
        "left out for width: {}; summary.csv has all",
        names.join(", ")
    );
    wrapped(&named, width)
}

/// The text in lines that are no longer than that where its words are not; further lines are set in.
pub fn wrapped(text: &str, width: u16) -> String {
    let mut lines = Vec::new();
    text.split(' ')
        .for_each(|word| add_word(&mut lines, word, width));
    lines.join("\n") + "\n"
}

fn add_word(lines: &mut Vec<String>, word: &str, width: u16) {
    match lines.last_mut() {
        Some(line) if line.chars().count() + 1 + word.chars().count() <= usize::from(width) => {
            line.push(' ');
            line.push_str(word);
        }
        Some(_) => lines.push(format!("  {word}")),
        None => lines.push(word.to_owned()),
    }
}

/// What was sent, asked and measured side by side, where a job asks for other data than those that nothing makes
/// smaller.
fn data_lines(rows: &[Row]) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    let mut text = String::new();
    for row in rows {
        for kind in row.data.iter().filter(|kind| is_asked(kind)) {
            text += &format!(
                "written by {}{}:\n  compression {} asked, {} sent; duplicates {} asked, {} sent\n",
                row.run,
                if row.loops.is_empty() {
                    String::new()
                } else {
                    format!(" ({})", row.loops)
                },
                number(kind.asked_compression),
                number(kind.compression()),
                number(kind.asked_duplicates),
                number(kind.duplicates()),
            );
        }
    }
    text
}

/// Whether compression or duplicates were asked of it.
pub(crate) fn is_asked(kind: &DataFigures) -> bool {
    let asked = [kind.asked_compression, kind.asked_duplicates];
    asked.into_iter().flatten().any(|ratio| ratio != 1.0)
}

pub(super) fn cells(row: &Row) -> [String; COLUMNS.len()] {
    let or_dash = |text: Option<String>| text.unwrap_or("-".to_string());
    let us = |ns: Option<f64>| or_dash(ns.map(|ns| digits(ns / 1e3, 2)));
    let one = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.1}")));
    let [p50, p90, p99, p99_9, max] = row
        .responses_ns()
        .map(|ns| or_dash(ns.map(|ns| bounded(row.is_response_bound(ns), millis_text(ns as f64)))));
    [
        row.asked_rate.map_or("max".to_string(), rate_text),
        or_dash(row.rate.map(rate_text)),
        or_dash(row.bytes_per_second.map(|bytes| rate_text(bytes / 1e6))),
        p50,
        p90,
        p99,
        p99_9,
        max,
        or_dash(
            row.service_mean_ns
                .map(|ns| bounded(row.service_bound_ns.is_some(), millis_text(ns))),
        ),
        one(row.queue_depth),
        format!("{}/{}", one(row.slots_busy), row.slots),
        row.late
            .map_or("-".to_string(), |late| format!("{:.2}", late.share * 100.0)),
        format!("{}/{}", us(row.host_cpu_ns), us(row.own_cpu_ns)),
        if row.has_sample() {
            format!("{}/{}", row.errors, row.unserved)
        } else {
            "-".to_owned()
        },
    ]
}

fn millis_text(ns: f64) -> String {
    digits(ns / 1e6, 3)
}

/// So many decimals below 10, one fewer for each further digit.
fn digits(value: f64, decimals: usize) -> String {
    let fewer = match value {
        value if value < 10.0 => 0,
        value if value < 100.0 => 1,
        value if value < 1000.0 => 2,
        _ => 3,
    };
    format!("{value:.*}", decimals.saturating_sub(fewer))
}
