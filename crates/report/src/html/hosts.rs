//! The section *Hosts*, where several do the work: what each did in a run, which is slower, and in what they differ.
use super::Page;
use super::record::{HostRow, RunRecord};
use super::text::{Escaped, Sentence};
use analysis::words::{latency, megabytes, percent, rate, size};
use analysis::{SLOWER_RATE, SLOWER_RESPONSE, SlowerBy};
use measure::{HostFacts, HostId};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Rows over all runs.
const MAX_ROWS: usize = 3_000;

/// Facts that are of each machine alone.
const OWN: [&str; 1] = ["Machine"];

pub(super) fn write(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let facts = page.execution.as_ref().map_or(&[][..], |one| &one.hosts);
    let names = &|host: HostId| match facts.get(host as usize) {
        Some(facts) => facts.name.clone(),
        None => format!("host {}", host + 1),
    };
    let spread = page.runs.iter().enumerate();
    let spread: Vec<_> = spread.filter(|(_, run)| !run.hosts.is_empty()).collect();
    if spread.is_empty() && facts.len() < 2 {
        return Ok(());
    }
    writeln!(out, "<section id=\"hosts\"><h2>Hosts</h2>")?;
    let by_rate = |one: &&(usize, &RunRecord), other: &&(usize, &RunRecord)| {
        one.1.rate.total_cmp(&other.1.rate)
    };
    let measuring = spread.iter().filter(|(_, run)| run.measures);
    let leading = measuring
        .max_by(by_rate)
        .or_else(|| spread.iter().max_by(by_rate));
    if let Some(leading) = leading {
        writeln!(
            out,
            "<p>{}</p>",
            Sentence(sentence(leading.1, spread.len() == 1, names))
        )?;
        write_table(std::slice::from_ref(leading), names, out)?;
        let others = spread.iter().filter(|(index, _)| *index != leading.0);
        write_others(&others.copied().collect::<Vec<_>>(), names, out)?;
        writeln!(
            out,
            "<p>A host is called slower where its response p99 is {SLOWER_RESPONSE} times the median of the others or more, or else, where the same is asked of all, where its rate is more than {} below the mean of all. CPU is of all processors of the host.</p>",
            percent(SLOWER_RATE)
        )?;
    }
    write_differences(facts, out)?;
    writeln!(out, "</section>")
}

/// Which host of a run is slower, in words.
fn sentence(run: &RunRecord, is_only: bool, names: &impl Fn(HostId) -> String) -> String {
    let name = run.name.replace('`', "'");
    let which = match is_only {
        true => format!("In `{name}`,"),
        false => format!("In `{name}`, the run with the highest rate,"),
    };
    let Some(slowest) = run.slowest else {
        return format!("{which} no host is slower than the others.");
    };
    let how = match slowest.by {
        SlowerBy::Response { own_ns, others_ns } => format!(
            "its response p99 is {}, the median of the others {}",
            latency(own_ns as f64),
            latency(others_ns as f64)
        ),
        SlowerBy::Rate { own, mean } => format!(
            "it does {} I/O/s, {} less than the mean of {}",
            rate(own),
            percent(1.0 - own / mean),
            rate(mean)
        ),
    };
    let host = names(slowest.host).replace('`', "'");
    format!("{which} `{host}` is the slowest host: {how}.")
}

fn write_others(
    runs: &[(usize, &RunRecord)],
    names: &impl Fn(HostId) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    if runs.is_empty() {
        return Ok(());
    }
    let mut slow: BTreeMap<HostId, usize> = BTreeMap::new();
    for slowest in runs.iter().filter_map(|(_, run)| run.slowest) {
        *slow.entry(slowest.host).or_default() += 1;
    }
    let slow = slow.into_iter();
    let slow: Vec<String> = slow
        .map(|(host, count)| format!("{} slowest in {count}", names(host)))
        .collect();
    let note = match slow.is_empty() {
        true => "no host slower than the others in any".to_owned(),
        false => slow.join(", "),
    };
    let runs_text = match runs.len() {
        1 => "The other run".to_owned(),
        count => format!("The other {count} runs"),
    };
    writeln!(
        out,
        "<details><summary>{runs_text}: {}</summary>",
        Escaped(note)
    )?;
    let mut rows = 0;
    let fits = |(_, run): &&(usize, &RunRecord)| {
        rows += run.hosts.len();
        rows <= MAX_ROWS
    };
    let shown: Vec<_> = runs.iter().take_while(fits).copied().collect();
    write_table(&shown, names, out)?;
    if shown.len() < runs.len() {
        writeln!(
            out,
            "<p>{} more runs are in the result file.</p>",
            runs.len() - shown.len()
        )?;
    }
    writeln!(out, "</details>")
}

fn write_table(
    runs: &[(usize, &RunRecord)],
    names: &impl Fn(HostId) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">#</th><th scope=\"col\" class=\"text\">Run</th><th scope=\"col\" class=\"text\">Host</th><th scope=\"col\">Achieved<small>I/O/s</small></th><th scope=\"col\">Data<small>MB/s</small></th><th scope=\"col\">p50<small>response</small></th><th scope=\"col\">p99<small>response</small></th><th scope=\"col\">CPU<small>busy</small></th><th scope=\"col\">CPU<small>per I/O</small></th></tr></thead><tbody>"
    )?;
    for (index, run) in runs {
        for row in &run.hosts {
            let is_slowest = run.slowest.is_some_and(|one| one.host == row.host);
            write_row(*index, run, row, (&names(row.host), is_slowest), out)?;
        }
    }
    writeln!(out, "</tbody></table></div>")
}

fn write_row(
    index: usize,
    run: &RunRecord,
    row: &HostRow,
    (host, is_slowest): (&str, bool),
    out: &mut dyn Write,
) -> io::Result<()> {
    let mark = match is_slowest {
        true => " <span class=\"mark quiet\">slowest</span>",
        false => "",
    };
    writeln!(
        out,
        "<tr><td>{}</td><td class=\"text\">{}</td><th scope=\"row\">{}{mark}</th><td><b>{}</b></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        index + 1,
        Escaped(&run.name),
        Escaped(host),
        rate(row.rate),
        megabytes(row.bytes),
        row.response.words("p50"),
        row.response.words("p99"),
        row.cpu_busy.map_or("–".into(), percent),
        row.cpu.map_or("–".into(), latency),
    )
}

/// Facts by name, in the order in which the first host that has one tells them.
fn compared(facts: &[HostFacts]) -> Vec<(String, Vec<String>)> {
    let fixed = |one: &HostFacts| {
        let named = [
            ("Distribution", one.distribution.clone()),
            ("Kernel", one.kernel.clone()),
            ("CPU", one.cpu_model.clone()),
            ("CPUs usable", one.cpus.to_string()),
            ("Memory", size(one.memory_bytes)),
            ("Virtualization", one.virtualization.clone()),
            ("Clock source of the kernel", one.clock_source.clone()),
            ("Fathom", one.fathom_version.clone()),
        ];
        let fixed = named.map(|(name, value)| (name.to_owned(), value));
        let details = one.details.iter();
        let details = details.filter(|(name, _)| !OWN.contains(&name.as_str()));
        fixed
            .into_iter()
            .chain(details.cloned())
            .collect::<Vec<_>>()
    };
    let all: Vec<_> = facts.iter().map(fixed).collect();
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (place, one) in all.iter().enumerate() {
        for (name, value) in one {
            let row = match rows.iter().position(|(known, _)| known == name) {
                Some(row) => &mut rows[row],
                None => {
                    rows.push((name.clone(), vec![String::new(); facts.len()]));
                    rows.last_mut().expect("one was pushed")
                }
            };
            row.1[place].clone_from(value);
        }
    }
    rows
}

fn write_differences(facts: &[HostFacts], out: &mut dyn Write) -> io::Result<()> {
    if facts.len() < 2 {
        return Ok(());
    }
    let rows = compared(facts);
    let differs = |(_, values): &&(String, Vec<String>)| values.iter().any(|one| *one != values[0]);
    let rows: Vec<_> = rows.iter().filter(differs).collect();
    if rows.is_empty() {
        return writeln!(
            out,
            "<p id=\"differences\">All hosts are alike: in kernel, processors, memory and all else that they tell.</p>"
        );
    }
    writeln!(
        out,
        "<h3>What differs among the hosts</h3><div class=\"scroll\"><table id=\"differences\"><thead><tr><th></th>"
    )?;
    for one in facts {
        write!(
            out,
            "<th scope=\"col\" class=\"text\">{}</th>",
            Escaped(&one.name)
        )?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for (name, values) in rows {
        write!(out, "<tr><th scope=\"row\">{}</th>", Escaped(name))?;
        for value in values {
            let value = if value.is_empty() { "–" } else { value };
            write!(out, "<td class=\"text\">{}</td>", Escaped(value))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

#[cfg(test)]
mod tests {
    use crate::Conclusion;
    use crate::testing::{IntervalShape, RunShape, Scenario, StreamShape, Work};
    use measure::{CpuTimes, Event, HostEvidence, HostFacts, HostSample};
    use plan::Operation;

    /// Three hosts of two processors; the second has these service times, and half of the memory.
    fn events(second_ns: u64) -> Vec<Event> {
        let stream = |host: u32| StreamShape {
            workload: "wd1".into(),
            host,
            ..StreamShape::default()
        };
        let work = |stream: u32| Work {
            stream,
            operation: Operation::Read,
            service: vec![(if stream == 1 { second_ns } else { 100_000 }, 1_000)],
            wait_ns: 0,
        };
        let second = IntervalShape {
            work: (0..3).map(work).collect(),
            transfer_bytes: 4096,
            ..IntervalShape::default()
        };
        let scenario = Scenario {
            targets: vec![("sd1".into(), "/dev/sdx".into(), 1 << 30)],
            runs: vec![RunShape {
                name: "rd1".into(),
                streams: (0..3).map(stream).collect(),
                slots: 3,
                intervals: vec![second.clone(), second],
                ..RunShape::default()
            }],
            ..Scenario::default()
        };
        let mut events = scenario.events();
        events.iter_mut().for_each(tell);
        events
    }

    fn tell(event: &mut Event) {
        let sample = |host: u64| HostSample {
            cpu: Some(CpuTimes {
                user_ns: (host + 1) * 250_000_000,
                idle_ns: 1_000_000_000 - (host + 1) * 250_000_000,
                ..CpuTimes::default()
            }),
            ..HostSample::default()
        };
        match event {
            Event::ExecutionStarted(started) => {
                let memory = [1 << 30, 1 << 29, 1 << 30];
                let facts = |(name, memory_bytes): (&str, u64)| HostFacts {
                    name: name.into(),
                    kernel: "6.12".into(),
                    memory_bytes,
                    ..HostFacts::default()
                };
                let named = ["alpha", "beta", "gamma"].into_iter().zip(memory);
                started.hosts = named.map(facts).collect();
            }
            Event::Interval(interval) => {
                let evidence = |host: u32| HostEvidence {
                    host,
                    sample: Some(sample(host.into())),
                    ..HostEvidence::default()
                };
                interval.engine.hosts = (0..3).map(evidence).collect();
                let whole = HostEvidence::together(&interval.engine.hosts);
                interval.host = whole.unwrap();
            }
            _ => {}
        }
    }

    fn conclude(events: &[Event]) -> (String, Conclusion) {
        let mut conclusion = Conclusion::with_page();
        events.iter().for_each(|event| conclusion.on_event(event));
        conclusion.end();
        let mut html = Vec::new();
        conclusion.write_page(&mut html).unwrap();
        let html = String::from_utf8(html).unwrap();
        let section = html.split("<section id=\"hosts\">").nth(1);
        let section = section.map_or("", |rest| rest.split("</section>").next().unwrap());
        (section.to_owned(), conclusion)
    }

    #[test]
    fn the_slow_one_of_three_hosts_is_named_with_its_figures() {
        let (section, conclusion) = conclude(&events(400_000));
        let mut html = Vec::new();
        conclusion.write_page(&mut html).unwrap();
        let html = String::from_utf8(html).unwrap();
        assert!(html.contains(" on 3 hosts: ") && html.contains("alpha, beta, gamma"));
        for words in [
            "<code>beta</code> is the slowest host: its response p99 is 4",
            "the median of the others 1",
            "beta <span class=\"mark quiet\">slowest</span></th><td><b>1\u{202f}000</b></td><td>4.10</td>",
            // A quarter of a second of processors for a thousand I/Os, and half of one.
            "<td>25 %</td><td>250 µs</td>",
            "<td>50 %</td><td>500 µs</td>",
            "<th scope=\"row\">Memory</th><td class=\"text\">1 GiB</td><td class=\"text\">512 MiB</td>",
        ] {
            assert!(section.contains(words), "{words}\n{section}");
        }
        assert!(!section.contains("6.12"), "what is alike: {section}");
        let json = crate::summary::json(&conclusion.rows, None, ("", ""));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let hosts = json["runs"][0]["hosts"].as_array().unwrap();
        let names: Vec<_> = hosts.iter().map(|host| &host["host"]).collect();
        assert_eq!(names, ["alpha", "beta", "gamma"]);
        assert_eq!(hosts[1]["is_slowest"], true);
        assert_eq!(hosts[2]["cpu_busy_pct"], 75.0);
    }

    #[test]
    fn of_hosts_that_are_alike_none_is_named() {
        let mut events = events(100_000);
        if let Event::ExecutionStarted(started) = &mut events[0] {
            started.hosts[1].memory_bytes = 1 << 30;
        }
        let (section, _) = conclude(&events);
        assert!(section.contains("no host is slower"), "{section}");
        assert!(section.contains("All hosts are alike"), "{section}");
    }

    #[test]
    fn one_host_has_no_section() {
        let mut events = events(100_000);
        for event in &mut events {
            match event {
                Event::ExecutionStarted(started) => started.hosts.clear(),
                Event::RunStarted(started) => {
                    started.streams.iter_mut().for_each(|one| one.host = 0);
                }
                Event::Interval(interval) => interval.engine.hosts.clear(),
                _ => {}
            }
        }
        assert_eq!(conclude(&events).0, "");
    }
}
