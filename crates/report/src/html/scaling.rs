//! What made a job scale: a sentence and a table for each job that was done with one quantity varied.
use super::happened::{begin, end, row};
use super::text::Sentence;
use analysis::words::{latency, number, rate, size};
use analysis::{Axis, ScaledLevel, Scaling};
use std::io::{self, Write};

/// In front of all else: it is what was asked.
pub(super) fn write(all: &[Scaling], out: &mut dyn Write) -> io::Result<()> {
    for scaling in all {
        writeln!(
            out,
            "<p class=\"leading\">{}.</p>",
            Sentence(&scaling.words())
        )?;
        write_table(scaling, out)?;
    }
    Ok(())
}

fn write_table(scaling: &Scaling, out: &mut dyn Write) -> io::Result<()> {
    let axis = Axis::of(&scaling.quantity);
    let title = axis.title();
    let heads = [
        &title,
        "I/O/s",
        "gain",
        "in 95 of 100",
        "shape",
        "response p50",
        "p99",
        "slots",
        "in use",
        "workers",
        "worked on",
        "runs",
    ];
    begin(&heads, out)?;
    for level in &scaling.steps {
        row(&axis.text(level.value), &fields(scaling, level), out)?;
    }
    end(out)
}

fn fields(scaling: &Scaling, level: &ScaledLevel) -> Vec<String> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let gain = level.gain;
    let interval = gain.and_then(|gain| gain.interval);
    vec![
        rate(level.rate),
        or_none(gain.map(|gain| format!("× {:.2}", gain.ratio))),
        or_none(interval.map(|interval| format!("{:.2} to {:.2}", interval.from, interval.to))),
        or_none(scaling.shape.map(|shape| rate(shape.rate_at(level.value)))),
        latency(level.response_ns_p50),
        latency(level.response_ns_p99),
        number(level.slots),
        number(level.slots_busy),
        number(level.workers),
        or_none(level.bytes.map(|bytes| size(bytes as u64))),
        level.runs.to_string(),
    ]
}
