//! The tables of the page: runs, targets, host, plan, remarks and failures.
use super::hosts;
use super::record::RunRecord;
use super::text::{Escaped, Sentence, has_value, moment};
use super::{MAX_TARGET_ROWS, Page};
use crate::repetitions;
use analysis::Spread;
use analysis::words::{counted, latency, megabytes, percent, rate, size};
use measure::{ExecutionStarted, ExecutionTarget, Outstanding};
use plan::{Label, Severity, TargetId};
use std::io::{self, Write};

/// Characters of one input that are shown.
const MAX_INPUT: usize = 200_000;

/// Targets that are listed with their identity.
const MAX_TARGETS: usize = 1_000;

/// Rows of block devices over all runs.
const MAX_DEVICE_ROWS: usize = 3_000;

/// The table of all runs.
pub(super) fn write_runs(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    const HEAD: &[(&str, &str)] = &[
        ("Run", ""),
        ("Load", ""),
        ("Asked", "I/O/s"),
        ("Achieved", "I/O/s"),
        ("Data", "MB/s"),
        ("p50", "response"),
        ("p90", "response"),
        ("p99", "response"),
        ("p99.9", "response"),
        ("max", "response"),
        ("Service", "mean"),
        ("Busy", "of slots"),
        ("CPU", "per I/O"),
        ("Marks", ""),
    ];
    writeln!(
        out,
        "<div class=\"scroll\"><table class=\"runs\" id=\"table-runs\"><thead><tr><th>#</th>"
    )?;
    for (name, unit) in HEAD {
        let class = if matches!(*name, "Run" | "Load" | "Marks") {
            " class=\"text\""
        } else {
            ""
        };
        write!(out, "<th scope=\"col\"{class}>{name}")?;
        if !unit.is_empty() {
            write!(out, "<small>{unit}</small>")?;
        }
        write!(out, "</th>")?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for (index, run) in page.runs.iter().enumerate() {
        write_run(index, run, out)?;
    }
    writeln!(
        out,
        "</tbody></table></div><p>Figures cover the measured intervals; response counts from the intended arrival, service from just before the submitting call.</p>"
    )?;
    if page.target_rows > MAX_TARGET_ROWS {
        writeln!(
            out,
            "<p>Targets beside each other are kept for the first runs; the result file has those of all.</p>"
        )?;
    }
    writeln!(out, "</section>")
}

/// What tells a run from others of its name. What a language keeps of a run for pages of its own says
/// nothing that the other columns do not.
fn labels_shown(labels: &[(String, String)]) -> Vec<String> {
    let is_shown = |(key, value): &&(String, String)| {
        // The values of loops are in the name.
        !(Label::is_private_key(key) || key == "loops") && has_value(value)
    };
    let text = |(key, value): &(String, String)| format!("{key}={value}");
    labels.iter().filter(is_shown).map(text).collect()
}

fn write_run(index: usize, run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<tr data-run=\"{index}\"><td>{}</td><th scope=\"row\"><a href=\"#run\" data-run=\"{index}\">{}</a>",
        index + 1,
        Escaped(&run.name)
    )?;
    let labels = labels_shown(&run.labels);
    if !labels.is_empty() {
        write!(out, "<small>{}</small>", Escaped(labels.join(" ")))?;
    }
    let load = if run.measures {
        run.load.as_str()
    } else {
        "prepares targets"
    };
    write!(out, "</th><td class=\"text\">{}</td>", Escaped(load))?;
    write!(out, "<td>{}</td>", run.asked.map_or("–".into(), rate))?;
    write!(
        out,
        "<td><b>{}</b></td><td>{}</td>",
        rate(run.rate),
        megabytes(run.bytes)
    )?;
    for name in ["p50", "p90", "p99", "p999", "max"] {
        write!(out, "<td>{}</td>", run.response.words(name))?;
    }
    write!(out, "<td>{}</td>", run.service.words("mean"))?;
    let busy = match run.busy.0.is_finite() {
        true => format!("{:.1}", run.busy.0),
        false => "–".into(),
    };
    write!(out, "<td>{busy} / {}</td>", run.slots)?;
    let own = run.own_cpu.map_or(0.0, |own| own.0);
    write!(
        out,
        "<td>{}</td>",
        run.cpu.map_or("–".into(), |host| latency(host.0.max(own)))
    )?;
    write!(out, "<td class=\"text\">")?;
    for told in &run.findings {
        write!(
            out,
            "<span class=\"mark{}\" title=\"{}\">{}</span> ",
            if told.is_doubt { "" } else { " quiet" },
            Escaped(told.text.replace('`', "\"")),
            told.word
        )?;
    }
    writeln!(out, "</td></tr>")
}

/// Everything below the charts.
pub(super) fn write(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    write_repetitions(page, out)?;
    write_data(page, out)?;
    hosts::write(page, out)?;
    write_devices(page, out)?;
    if let Some(execution) = &page.execution {
        write_conditions(execution, out)?;
        write_targets(execution, out)?;
    }
    write_remarks(page, out)?;
    write_failures(page, out)?;
    write_unreturned(page, out)?;
    write_late(page, out)?;
    if let Some(execution) = &page.execution {
        write_inputs(execution, out)?;
    }
    out.write_all(include_str!("../../assets/reading.html").as_bytes())
}

/// What runs have in common with their repetitions.
fn write_repetitions(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let number = |run: &RunRecord| {
        let found = run.labels.iter().find(|(key, _)| key == Label::REPETITION);
        found.and_then(|(_, value)| value.parse().ok())
    };
    let groups = repetitions::groups(&page.runs, number, |run| run.is_whole);
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section id=\"repetitions\"><h2>Repetitions</h2><p>Each run over its repetitions that came to their end. Variation is the standard deviation (of a sample) in percent of the mean.</p><div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"text\">Run</th><th scope=\"col\">Times</th><th scope=\"col\" class=\"text\">Figure</th><th scope=\"col\">Median</th><th scope=\"col\">Least</th><th scope=\"col\">Most</th><th scope=\"col\">Variation<small>%</small></th></tr></thead><tbody>"
    )?;
    type Of = fn(&RunRecord) -> f64;
    let figures: [(&str, Of); 5] = [
        ("I/O per second", |run| run.rate),
        ("MB/s", |run| run.bytes / 1e6),
        ("response p50, µs", |run| run.response.p50.0),
        ("response p99, µs", |run| run.response.p99.0),
        ("service mean, µs", |run| run.service.mean.0),
    ];
    for group in groups {
        for (name, of) in figures {
            let Some(spread) = Spread::of(
                group
                    .iter()
                    .map(|run| of(run))
                    .filter(|one| one.is_finite()),
            ) else {
                continue;
            };
            writeln!(
                out,
                "<tr><td class=\"text\">{}</td><td>{}</td><td class=\"text\">{name}</td><td><b>{}</b></td><td>{}</td><td>{}</td><td>{}</td></tr>",
                Escaped(&group[0].name),
                spread.count,
                repetitions::digits(spread.median),
                repetitions::digits(spread.least),
                repetitions::digits(spread.most),
                spread
                    .variation_pct
                    .map_or("–".to_owned(), |pct| format!("{pct:.2}")),
            )?;
        }
    }
    writeln!(out, "</tbody></table></div></section>")
}

fn write_data(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    if page.runs.iter().all(|run| run.data.is_empty()) {
        return Ok(());
    }
    writeln!(
        out,
        "<section id=\"written\"><h2>What was written</h2><p>Measured on samples of what was sent, the warm-up included: size before ÷ after compression, and blocks ÷ different contents. What is asked of duplicates is there once every block was written.</p><div class=\"scroll\"><table><thead><tr><th scope=\"col\">#</th><th scope=\"col\" class=\"text\">Run</th><th scope=\"col\" class=\"text\">Streams</th><th scope=\"col\">Compression<small>asked</small></th><th scope=\"col\">Compression<small>sent</small></th><th scope=\"col\">Duplicates<small>asked</small></th><th scope=\"col\">Duplicates<small>sent</small></th></tr></thead><tbody>"
    )?;
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
    for (index, run) in page.runs.iter().enumerate() {
        for (streams, kind) in &run.data {
            writeln!(
                out,
                "<tr><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                index + 1,
                Escaped(&run.name),
                Escaped(streams),
                number(kind.asked_compression),
                number(kind.compression()),
                number(kind.asked_duplicates),
                number(kind.duplicates()),
            )?;
        }
    }
    writeln!(out, "</tbody></table></div></section>")
}

fn write_devices(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let rows: usize = page.runs.iter().map(|run| run.devices.len()).sum();
    if rows == 0 {
        return Ok(());
    }
    let mut left = MAX_DEVICE_ROWS;
    writeln!(
        out,
        "<section id=\"devices\"><h2>What the block devices counted</h2><p>The kernel's own counters of the devices below the targets. Where a device moved far fewer bytes than the run asked for, a cache answered.</p><details><summary>Table of {}</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"text\">Run</th><th scope=\"col\">Asked of all targets<small>MB/s</small></th><th scope=\"col\" class=\"text\">Device</th><th scope=\"col\">Reads<small>/s</small></th><th scope=\"col\">Read<small>MB/s</small></th><th scope=\"col\">Writes<small>/s</small></th><th scope=\"col\">Written<small>MB/s</small></th><th scope=\"col\">Busy</th><th scope=\"col\">In flight<small>mean</small></th></tr></thead><tbody>",
        counted(rows as u64, "row")
    )?;
    for run in &page.runs {
        for device in run.devices.iter().take(left) {
            writeln!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1}</td></tr>",
                Escaped(&run.name),
                megabytes(run.bytes),
                Escaped(&device.device),
                rate(device.read_rate),
                megabytes(device.read_bytes),
                rate(device.write_rate),
                megabytes(device.written_bytes),
                percent(device.busy_share),
                device.depth
            )?;
        }
        left = left.saturating_sub(run.devices.len());
    }
    writeln!(out, "</tbody></table></div>")?;
    if rows > MAX_DEVICE_ROWS {
        writeln!(
            out,
            "<p>The result file has {} more.</p>",
            counted((rows - MAX_DEVICE_ROWS) as u64, "row")
        )?;
    }
    writeln!(out, "</details></section>")
}

fn write_conditions(execution: &ExecutionStarted, out: &mut dyn Write) -> io::Result<()> {
    let host = &execution.host;
    let memory = size(host.memory_bytes);
    let started = format!(
        "{} {}",
        moment(execution.unix_ns, execution.utc_offset_s),
        execution.time_zone
    );
    let (cpus, workers, seed) = (
        host.cpus.to_string(),
        execution.workers.to_string(),
        execution.seed.to_string(),
    );
    let command = execution.arguments.join(" ");
    let names: Vec<&str> = execution.hosts.iter().map(|host| &*host.name).collect();
    let (names, of_machine) = match names.len() {
        0 | 1 => (String::new(), "Host"),
        _ => (names.join(", "), "Machine that leads"),
    };
    let mut rows: Vec<(&str, &str)> = vec![
        ("Started", &started),
        ("Command", &command),
        ("Fathom", &execution.fathom_version),
        ("Backend", &execution.backend),
        ("Backend chosen because", &execution.backend_reason),
        ("Workers", &workers),
        ("Clock of the measurement", &execution.clock),
        ("Seed", &seed),
        ("Hosts", &names),
        (of_machine, &host.name),
        ("Distribution", &host.distribution),
        ("Kernel", &host.kernel),
        ("CPU", &host.cpu_model),
        ("CPUs usable", &cpus),
        ("Memory", &memory),
        ("Virtualization", &host.virtualization),
        ("Clock source of the kernel", &host.clock_source),
    ];
    rows.extend(
        host.details
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    let labels = execution.labels.iter().chain(&execution.reporting);
    rows.extend(labels.map(|label| (label.key.as_str(), label.value.as_str())));
    writeln!(
        out,
        "<section id=\"conditions\"><h2>Host and versions</h2><table class=\"facts\"><tbody>"
    )?;
    for (name, value) in rows.into_iter().filter(|(_, value)| has_value(value)) {
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td></tr>",
            Escaped(name),
            Escaped(value)
        )?;
    }
    writeln!(out, "</tbody></table></section>")
}

fn write_targets(execution: &ExecutionStarted, out: &mut dyn Write) -> io::Result<()> {
    let targets = &execution.targets;
    if targets.is_empty() {
        return Ok(());
    }
    let open = if targets.len() <= 12 { " open" } else { "" };
    writeln!(
        out,
        "<section id=\"targets\"><h2>Targets</h2><details{open}><summary>{} with identity and settings</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"text\">Name</th><th scope=\"col\" class=\"text\">Path</th><th scope=\"col\" class=\"text\">Kind</th><th scope=\"col\">Size used</th><th scope=\"col\">Written</th><th scope=\"col\" class=\"text\">Device</th><th scope=\"col\" class=\"text\">Identity</th><th scope=\"col\" class=\"text\">Settings</th></tr></thead><tbody>",
        counted(targets.len() as u64, "target")
    )?;
    for target in targets.iter().take(MAX_TARGETS) {
        let identity = &target.identity;
        let kind = if identity.ram_backed {
            format!("{}, memory-backed", identity.kind)
        } else if identity.kind == "missing" {
            "file, made by this job".to_owned()
        } else {
            identity.kind.clone()
        };
        writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td><td class=\"text long\">{}</td><td class=\"text long\"><details><summary>settings</summary>{}</details></td></tr>",
            Escaped(&target.name),
            Escaped(&target.path),
            Escaped(kind),
            size(target.bytes),
            if target.is_written { "yes" } else { "no" },
            Escaped(joined(&[
                ("", &identity.device),
                ("", &identity.transport),
                ("members ", &identity.members.join(", ")),
            ])),
            Escaped(identity_words(target)),
            Escaped(settings_words(target)),
        )?;
    }
    writeln!(out, "</tbody></table></div>")?;
    if targets.len() > MAX_TARGETS {
        writeln!(
            out,
            "<p>The result file has {} more.</p>",
            targets.len() - MAX_TARGETS
        )?;
    }
    writeln!(out, "</details></section>")
}

fn identity_words(target: &ExecutionTarget) -> String {
    let identity = &target.identity;
    joined(&[
        ("", identity.vendor.trim()),
        ("", identity.model.trim()),
        ("serial ", identity.serial.trim()),
        ("WWN ", identity.wwn.trim()),
        ("firmware ", identity.firmware.trim()),
    ])
}

fn settings_words(target: &ExecutionTarget) -> String {
    let identity = &target.identity;
    let block = match (identity.logical_block_bytes, identity.physical_block_bytes) {
        (0, 0) => String::new(),
        (logical, physical) => format!("{logical} / {physical} bytes"),
    };
    let rotational = match identity.rotational {
        Some(true) => "rotational",
        Some(false) => "not rotational",
        None => "",
    };
    let mount = identity.mount.as_ref().map_or(String::new(), |mount| {
        format!("{} on {} ({})", mount.kind, mount.point, mount.options)
    });
    let queue: Vec<String> = identity
        .queue
        .iter()
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    joined(&[
        ("scheduler ", &identity.scheduler),
        ("blocks ", &block),
        ("", rotational),
        ("mount ", &mount),
        ("", &queue.join(", ")),
    ])
}

fn joined(parts: &[(&str, &str)]) -> String {
    let known = parts.iter().filter(|(_, value)| !value.is_empty());
    let words: Vec<String> = known
        .map(|(name, value)| format!("{name}{value}"))
        .collect();
    words.join(", ")
}

fn write_remarks(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    if page.remarks.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section id=\"remarks\"><h2>Remarks</h2><div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"text\">Time</th><th scope=\"col\" class=\"text\">Run</th><th scope=\"col\" class=\"text\">Weight</th><th scope=\"col\" class=\"text\">Remark</th></tr></thead><tbody>"
    )?;
    for remark in &page.remarks {
        let (class, weight) = match remark.severity {
            Severity::Note => ("note", "note"),
            Severity::Warning => ("warn", "warning"),
            Severity::Error => ("bad", "error"),
        };
        writeln!(
            out,
            "<tr class=\"{class}\"><td>{}</td><td class=\"text\">{}</td><td class=\"text\">{weight}</td><td class=\"text long\">{} <small>{}</small></td></tr>",
            moment(remark.unix_ns, page.utc_offset_s()),
            Escaped(run_name(page, remark.run)),
            Sentence(&remark.message),
            Escaped(&remark.code)
        )?;
    }
    writeln!(out, "</tbody></table></div>")?;
    if page.remarks_left_out > 0 {
        writeln!(
            out,
            "<p>The result file has {} more.</p>",
            page.remarks_left_out
        )?;
    }
    writeln!(out, "</section>")
}

fn write_failures(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    if page.failures.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section id=\"failures\"><h2>Failed I/Os</h2><div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"text\">Run</th><th scope=\"col\" class=\"text\">Target</th><th scope=\"col\" class=\"text\">Operation</th><th scope=\"col\" class=\"text\">Error</th><th scope=\"col\">Count</th><th scope=\"col\">First at</th><th scope=\"col\">First offset<small>bytes</small></th><th scope=\"col\">Length<small>bytes</small></th></tr></thead><tbody>"
    )?;
    for (key, failures) in &page.failures {
        let target = target_name(page, key.target);
        writeln!(
            out,
            "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{} ({})</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            Escaped(run_name(page, Some(key.run))),
            Escaped(target),
            key.operation.name().replace('_', " "),
            Escaped(&failures.first.message),
            key.errno,
            failures.count,
            moment(failures.first.unix_ns, page.utc_offset_s()),
            failures.first.offset,
            failures.first.length
        )?;
    }
    writeln!(out, "</tbody></table></div>")?;
    if page.failures_left_out > 0 {
        writeln!(
            out,
            "<p>The result file has {} more.</p>",
            page.failures_left_out
        )?;
    }
    writeln!(out, "</section>")
}

fn write_unreturned(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let head = "<section id=\"unreturned\"><h2>I/Os that never came back</h2><p>Each entered service and response of its run with this age, which is a lower bound (≥). None of them counts as a completion.</p>";
    write_out_at_end(page, head, &page.unreturned, page.unreturned_left_out, out)
}

fn write_late(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let head = "<section id=\"late\"><h2>I/Os that came back after the end of their run</h2><p>They were out at the end of the window and came back 100 ms after it or later. Each entered service and response of its run with its true time. None of them counts as a completion.</p>";
    write_out_at_end(page, head, &page.late, page.late_left_out, out)
}

/// A table of what was out at the end of a run.
fn write_out_at_end(
    page: &Page,
    head: &str,
    all: &[(u32, Outstanding)],
    left_out: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "{head}<div class=\"scroll\"><table><thead><tr><th scope=\"col\" class=\"text\">Run</th><th scope=\"col\" class=\"text\">Target</th><th scope=\"col\" class=\"text\">Operation</th><th scope=\"col\">Offset<small>bytes</small></th><th scope=\"col\">Length<small>bytes</small></th><th scope=\"col\">Age</th></tr></thead><tbody>"
    )?;
    for (run, one) in all {
        let bound = match one.returned_after_ns {
            None => "≥ ",
            Some(_) => "",
        };
        writeln!(
            out,
            "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{bound}{}</td></tr>",
            Escaped(run_name(page, Some(*run))),
            Escaped(target_name(page, one.target)),
            one.operation.name().replace('_', " "),
            one.offset,
            one.length,
            latency(one.age_ns as f64)
        )?;
    }
    writeln!(out, "</tbody></table></div>")?;
    if left_out > 0 {
        writeln!(out, "<p>The result file has {left_out} more.</p>")?;
    }
    writeln!(out, "</section>")
}

fn target_name(page: &Page, target: TargetId) -> String {
    let named = page.targets().get(target.index());
    named.map_or_else(
        || format!("target {}", target.0 + 1),
        |one| one.name.clone(),
    )
}

fn run_name(page: &Page, run: Option<u32>) -> String {
    match run {
        None => String::new(),
        Some(run) => page
            .run_names
            .get(&run)
            .cloned()
            .unwrap_or_else(|| format!("run {}", run + 1)),
    }
}

fn write_inputs(execution: &ExecutionStarted, out: &mut dyn Write) -> io::Result<()> {
    if execution.inputs.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section id=\"plan\"><h2>Plan as it was read</h2>")?;
    for (name, text) in &execution.inputs {
        let end = (0..=text.len().min(MAX_INPUT))
            .rev()
            .find(|end| text.is_char_boundary(*end))
            .unwrap_or(0);
        writeln!(
            out,
            "<h3>{}</h3><pre tabindex=\"0\">{}</pre>",
            Escaped(name),
            Escaped(&text[..end])
        )?;
        if end < text.len() {
            writeln!(
                out,
                "<p>{} more bytes are in the result file.</p>",
                text.len() - end
            )?;
        }
    }
    writeln!(out, "</section>")
}

#[cfg(test)]
mod tests {
    use super::labels_shown;

    #[test]
    fn labels_for_other_pages_are_not_shown() {
        let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let labels = [
            ("vdbench.rd", "rd1"),
            ("loops", "threads=4"),
            ("vdbench.rate", "max"),
            ("vdbench.elapsed", "30"),
            ("flat.rdpct", "50.0000"),
            ("mtu", "9000"),
        ];
        assert_eq!(labels_shown(&labels.map(pair)), ["mtu=9000"]);
        assert_eq!(labels_shown(&[pair(("loops", "None"))]), [""; 0]);
        assert_eq!(labels_shown(&[pair(("threads", "None"))]), [""; 0]);
    }
}
