//! What happened in runs beside their I/O: phases, marks and targets that stood still, as tables.
use super::Page;
use super::text::{Escaped, Sentence};
use analysis::words::{latency, rate, span};
use analysis::{Again, Cycle, Happened, Phase};
use std::io::{self, Write};

/// After the sentence that leads, as it says more of the same.
pub(super) fn write(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    for (run, happened) in &page.happened {
        // Of several runs each is a line that unfolds: the charts are to be seen, too.
        let are_several = page.happened.len() > 1;
        if are_several {
            let (run, words) = (Escaped(run), Sentence(&happened.words()));
            writeln!(out, "<details><summary>{run}: {words}</summary>")?;
        }
        write_phases(&happened.phases, out)?;
        write_figures(happened, out)?;
        write_cycles(&happened.cycles, out)?;
        write_targets(happened, out)?;
        if are_several {
            writeln!(out, "</details>")?;
        }
    }
    match page.happened.is_empty() {
        true => Ok(()),
        false => write_timeouts(page, out),
    }
}

/// Settings that decide how long a path that is gone is waited for.
const TIMEOUTS: [&str; 4] = ["io_timeout", "timeout", "ctrl_loss_tmo", "recovery_tmo"];

fn write_timeouts(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let of_target = |target: &measure::ExecutionTarget| {
        let queue = target.identity.queue.iter();
        let known = queue.filter(|(name, _)| TIMEOUTS.contains(&name.as_str()));
        let known: Vec<String> = known
            .map(|(name, value)| format!("{name} {}", value.trim()))
            .collect();
        known.join(", ")
    };
    let mut told: Vec<String> = page.targets().iter().map(of_target).collect();
    told.retain(|text| !text.is_empty());
    told.sort();
    told.dedup();
    for text in told {
        writeln!(
            out,
            "<p class=\"lead\">Timeouts that decide: {}</p>",
            Escaped(text)
        )?;
    }
    Ok(())
}

pub(super) fn begin(heads: &[&str], out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<div class=\"scroll\"><table class=\"facts happened\"><thead><tr>"
    )?;
    for (place, head) in heads.iter().enumerate() {
        let class = if place == 0 { " class=\"text\"" } else { "" };
        write!(out, "<th{class}>{}</th>", Escaped(head))?;
    }
    writeln!(out, "</tr></thead><tbody>")
}

pub(super) fn row(name: &str, fields: &[String], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<tr><th scope=\"row\">{}</th>", Escaped(name))?;
    for field in fields {
        write!(out, "<td>{}</td>", Escaped(field))?;
    }
    writeln!(out, "</tr>")
}

pub(super) fn end(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "</tbody></table></div>")
}

const PHASES: [&str; 14] = [
    "Phase",
    "from, s",
    "to, s",
    "I/O/s",
    "response p50",
    "p99",
    "max",
    "> 1 s",
    "> 5 s",
    "> 10 s",
    "> 30 s",
    "> 60 s",
    "failed",
    "waiting",
];

fn write_phases(phases: &[Phase], out: &mut dyn Write) -> io::Result<()> {
    if phases.is_empty() {
        return Ok(());
    }
    begin(&PHASES, out)?;
    for phase in phases {
        let response = &phase.response;
        let percentiles = [
            response.percentile_ns(50.0),
            response.percentile_ns(99.0),
            response.max_ns,
        ];
        let percentiles = percentiles.map(|ns| match response.histogram.is_empty() {
            true => "-".to_owned(),
            false => latency(ns as f64),
        });
        let seconds = |ns: u64| format!("{:.1}", ns as f64 / 1e9);
        let mut fields = vec![
            seconds(phase.from_ns),
            seconds(phase.to_ns),
            rate(phase.rate),
        ];
        fields.extend(percentiles);
        fields.extend(phase.above.iter().map(u64::to_string));
        fields.extend([phase.errors, phase.backlog].map(|count| count.to_string()));
        row(phase.name, &fields, out)?;
    }
    end(out)
}

const FIGURES: [&str; 8] = [
    "Figure",
    "longest I/O",
    "answered again after",
    "caught up after",
    "as before after",
    "failed",
    "never answered",
    "never sent",
];

/// What the sentence tells, and what it has no room for; times since the mark, or since it began.
fn write_figures(happened: &Happened, out: &mut dyn Write) -> io::Result<()> {
    let Some(recovery) = &happened.recovery else {
        return Ok(());
    };
    let or_none = |value: Option<u64>| value.map_or("-".to_owned(), span);
    let still = happened.standstill.as_ref();
    let answered = still.and_then(|still| still.gap.to_ns.checked_sub(recovery.zero_ns));
    let normal = match recovery.again {
        Again::Normal { after_ns } => Some(after_ns),
        _ => None,
    };
    begin(&FIGURES, out)?;
    let times = [
        Some(recovery.longest_ns),
        answered,
        recovery.caught_up_ns,
        normal,
    ];
    let counts = [recovery.failed, recovery.unanswered, recovery.never_sent];
    let fields = times.map(or_none).into_iter();
    let fields: Vec<String> = fields
        .chain(counts.map(|count| count.to_string()))
        .collect();
    row("all targets", &fields, out)?;
    end(out)
}

/// What is as before so soon has not been otherwise, unless it stood still.
const SEEN_NS: u64 = 1_000_000_000;

fn write_cycles(cycles: &[Cycle], out: &mut dyn Write) -> io::Result<()> {
    if cycles.is_empty() {
        return Ok(());
    }
    let heads = ["Mark", "at, s", "stood still", "normal again", "failed"];
    begin(&heads, out)?;
    for cycle in cycles {
        let again = match cycle.again {
            Again::Normal { after_ns } if after_ns < SEEN_NS && cycle.still_ns.is_none() => {
                "stayed as before".to_owned()
            }
            Again::Normal { after_ns } => span(after_ns),
            Again::Degraded { rate, .. } if rate <= 0.0 => "never, nothing succeeded".to_owned(),
            Again::Degraded { median, .. } => format!("never, median × {median:.2}"),
            Again::Unknown(reason) => format!("- ({reason})"),
        };
        let fields = [
            format!("{:.1}", cycle.at_ns as f64 / 1e9),
            cycle.still_ns.map_or("-".to_owned(), span),
            again,
            cycle.failed.to_string(),
        ];
        row(&cycle.text, &fields, out)?;
    }
    end(out)
}

/// One alone stands in the sentence.
fn write_targets(happened: &Happened, out: &mut dyn Write) -> io::Result<()> {
    let targets = happened
        .standstill
        .as_ref()
        .map_or(&[][..], |still| &still.by_target);
    let [_, _, ..] = targets else { return Ok(()) };
    let heads = [
        "Target",
        "stood still",
        "from, s",
        "longest I/O",
        "failed",
        "never answered",
    ];
    begin(&heads, out)?;
    for target in targets {
        let gap = target.gap;
        let fields = [
            span(gap.to_ns - gap.from_ns),
            format!("{:.1}", gap.from_ns as f64 / 1e9),
            span(target.longest_ns),
            target.failed.to_string(),
            target.unanswered.to_string(),
        ];
        row(&target.name, &fields, out)?;
    }
    end(out)
}
