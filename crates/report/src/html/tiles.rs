//! Tiles with the main figures of one run, the one that leads the verdict. Each tile names its run.
use super::record::RunRecord;
use super::text::Escaped;
use super::{Page, PageData};
use analysis::words::{latency, megabytes, rate};
use std::io::{self, Write};

/// Writes the tiles; none where no I/O succeeded.
pub(super) fn write(page: &Page, data: &PageData<'_>, out: &mut dyn Write) -> io::Result<()> {
    let run = data.leading.and_then(|index| page.runs.get(index));
    let Some((index, run)) = data.leading.zip(run).filter(|(_, run)| run.operations > 0) else {
        return Ok(());
    };
    let name = run_words(page, index);
    writeln!(out, "<div class=\"cards\">")?;
    write_rate(run, &name, out)?;
    if run.bytes > 0.0 {
        card(out, "Throughput", &megabytes(run.bytes), "MB/s", &name)?;
    }
    let (value, unit) = value_and_unit(&run.response.words("p50"));
    let note = format!("{name}, p99 {}", run.response.words("p99"));
    card(out, "Median response", &value, &unit, &note)?;
    write_knee(page, data, out)?;
    if let (Some(host), Some(own)) = (run.cpu, run.own_cpu) {
        write_cpu(&name, host.0, own.0, out)?;
    }
    writeln!(out, "</div>")
}

/// The name of a run, with its number in the table of all runs where the name is not unique.
pub(super) fn name_of(page: &Page, index: usize) -> String {
    let name = &page.runs[index].name;
    match has_unique_name(page, index) {
        true => name.clone(),
        false => format!("{name} (run {})", index + 1),
    }
}

/// The same within a line of figures, where a name such as `80 %` alone would read as one of them.
fn run_words(page: &Page, index: usize) -> String {
    let name = &page.runs[index].name;
    match has_unique_name(page, index) {
        true => format!("run {name}"),
        false => format!("run {}, {name}", index + 1),
    }
}

fn has_unique_name(page: &Page, index: usize) -> bool {
    let name = &page.runs[index].name;
    page.runs.iter().filter(|run| run.name == *name).count() == 1
}

fn write_rate(run: &RunRecord, name: &str, out: &mut dyn Write) -> io::Result<()> {
    // Only a run without a target rate shows the most that the storage does, and only if it is credible.
    let title = match run.is_believed() && !run.is_throttled {
        true => "Highest rate, flat out",
        false => "Rate reached",
    };
    let asked = run
        .asked
        .map_or(String::new(), |asked| format!("{} asked, ", rate(asked)));
    let busy = match run.busy.0.is_finite() {
        true => format!(", {:.1} of {} slots busy", run.busy.0, run.slots),
        false => String::new(),
    };
    let note = format!("{name}, {asked}p99 {}{busy}", run.response.words("p99"));
    card(out, title, &rate(run.rate), "I/O/s", &note)
}

/// The knee belongs to the whole curve; the tile names the point.
fn write_knee(page: &Page, data: &PageData<'_>, out: &mut dyn Write) -> io::Result<()> {
    let knees = data.curves.iter().filter_map(|curve| curve.knee);
    let is_credible = |knee: &usize| page.runs.get(*knee).is_some_and(RunRecord::is_believed);
    let rate_of = |knee: usize| page.runs[knee].rate;
    let knees = knees.filter(is_credible);
    let highest = knees.max_by(|one, other| rate_of(*one).total_cmp(&rate_of(*other)));
    let Some(knee) = highest else {
        return Ok(());
    };
    let title = match data.curves.len() {
        1 => "Knee of the curve",
        _ => "Highest knee",
    };
    let p99 = page.runs[knee].response.words("p99");
    let note = format!("{}, p99 {p99}", run_words(page, knee));
    card(out, title, &rate(rate_of(knee)), "I/O/s", &note)
}

/// CPU time of the host and of Fathom itself, in nanoseconds per I/O.
fn write_cpu(run: &str, host: f64, own: f64, out: &mut dyn Write) -> io::Result<()> {
    // The whole is no less than its part: counters that show less have not seen all of it.
    let (larger, whose) = if own > host {
        let whose = format!(
            "of Fathom itself in {run}; the counters of the host saw {}",
            latency(host)
        );
        (own, whose)
    } else {
        let whose = format!("of the host in {run}; Fathom itself {}", latency(own));
        (host, whose)
    };
    let (value, unit) = value_and_unit(&latency(larger));
    card(out, "CPU per I/O", &value, &unit, &whose)
}

fn value_and_unit(text: &str) -> (String, String) {
    let (value, unit) = text.split_once(' ').unwrap_or((text, ""));
    (value.into(), unit.into())
}

fn card(out: &mut dyn Write, title: &str, value: &str, unit: &str, note: &str) -> io::Result<()> {
    writeln!(
        out,
        "<div class=\"card\"><h2>{title}</h2><p class=\"value\">{value} <span>{unit}</span></p><p>{}</p></div>",
        Escaped(note)
    )
}
