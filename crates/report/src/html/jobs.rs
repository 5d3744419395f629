//! The figures of each job, for runs in which several jobs ran side by side: a line per job, on the first screen.
use super::happened::{begin, end, row};
use super::record::JobRecord;
use super::text::Sentence;
use super::tiles::name_of;
use super::{MAX_JOB_ROWS, Page};
use analysis::words::{bounded, counted, latency, megabytes, rate};
use std::io::{self, Write};

const HEADS: [&str; 9] = [
    "Job",
    "I/O/s",
    "MB/s",
    "response p50",
    "response p99",
    "errors",
    "syncs/s",
    "sync p50",
    "sync p99",
];

/// Writes the jobs of the run that leads the verdict, and those of other runs folded.
pub(super) fn write(page: &Page, leading: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let with_jobs = (0..page.runs.len()).filter(|run| !page.runs[*run].jobs.is_empty());
    let with_jobs: Vec<usize> = with_jobs.collect();
    if with_jobs.is_empty() {
        return Ok(());
    }
    writeln!(out, "<div id=\"jobs\">")?;
    let leading = leading.filter(|run| with_jobs.contains(run));
    let first = leading.unwrap_or(with_jobs[0]);
    write_run(page, first, out)?;
    if with_jobs.len() > 1 {
        let others = counted(with_jobs.len() as u64 - 1, "other run");
        writeln!(out, "<details><summary>Jobs of {others}</summary>")?;
        for run in with_jobs.into_iter().filter(|run| *run != first) {
            write_run(page, run, out)?;
        }
        writeln!(out, "</details>")?;
    }
    if page.job_rows > MAX_JOB_ROWS {
        writeln!(out, "<p>The result file has the jobs of all runs.</p>")?;
    }
    writeln!(out, "</div>")
}

fn write_run(page: &Page, run: usize, out: &mut dyn Write) -> io::Result<()> {
    let jobs = &page.runs[run].jobs;
    let has_syncs = jobs.iter().any(|job| job.syncs.is_some());
    let name = name_of(page, run).replace('`', "'");
    writeln!(
        out,
        "<p class=\"caption\">{}</p>",
        Sentence(format!("Jobs of `{name}`"))
    )?;
    begin(if has_syncs { &HEADS } else { &HEADS[..6] }, out)?;
    for job in jobs {
        row(&job.name, &fields(job, has_syncs), out)?;
    }
    end(out)
}

fn fields(job: &JobRecord, has_syncs: bool) -> Vec<String> {
    let response = |value: Option<(u64, bool)>| match value {
        Some((ns, is_bound)) => bounded(is_bound, latency(ns as f64)),
        None => "–".into(),
    };
    let mut fields = vec![
        rate(job.rate),
        megabytes(job.bytes),
        response(job.response_p50),
        response(job.response_p99),
        job.errors.to_string(),
    ];
    match job.syncs {
        _ if !has_syncs => {}
        Some((per_second, p50, p99)) => {
            let known = |ns: Option<u64>| response(ns.map(|ns| (ns, false)));
            fields.extend([rate(per_second), known(p50), known(p99)])
        }
        None => fields.extend(["–".into(), "–".into(), "–".into()]),
    }
    fields
}

#[cfg(test)]
mod tests {
    use crate::Conclusion;
    use crate::testing::{IntervalShape, RunShape, Scenario, StreamShape, Work};
    use measure::Event;
    use plan::{Label, Operation};

    /// A second of two jobs side by side, with 100 and 300 reads, the second with syncs if asked.
    fn run(name: &str, reads: u64, has_syncs: bool) -> RunShape {
        let work = |stream: u32, operation: Operation, ns: u64, count: u64| Work {
            stream,
            operation,
            service: vec![(ns, count)],
            wait_ns: 0,
        };
        let mut all = vec![
            work(0, Operation::Read, 50_000, reads),
            work(1, Operation::Read, 2_000_000, 300),
        ];
        if has_syncs {
            all.push(work(1, Operation::Sync, 5_000_000, 20));
        }
        RunShape {
            name: name.into(),
            streams: vec![StreamShape::default(), StreamShape::default()],
            slots: 4,
            intervals: vec![IntervalShape {
                work: all,
                transfer_bytes: 4096,
                ..IntervalShape::default()
            }],
            ..RunShape::default()
        }
    }

    fn header(runs: Vec<RunShape>, names: [&str; 2]) -> String {
        let scenario = Scenario {
            targets: vec![("sd1".into(), "/dev/sdx".into(), 1 << 30)],
            runs,
            ..Scenario::default()
        };
        let mut conclusion = Conclusion::with_page();
        for mut event in scenario.events() {
            if let Event::RunStarted(started) = &mut event {
                for (stream, name) in started.streams.iter_mut().zip(names) {
                    stream.labels = vec![Label::new("job", name)];
                }
            }
            conclusion.on_event(&event);
        }
        conclusion.end();
        let mut html = Vec::new();
        conclusion.write_page(&mut html).unwrap();
        let html = String::from_utf8(html).unwrap();
        html.split("</header>").next().unwrap().to_owned()
    }

    #[test]
    fn each_job_has_a_line_above_the_first_chart() {
        let header = header(vec![run("both", 100, true)], ["quick", "<slow>"]);
        assert!(header.contains("Jobs of <code>both</code>"), "{header}");
        for row in [
            "<th scope=\"row\">quick</th><td>100</td><td>0.41</td><td>50 µs</td><td>50 µs</td><td>0</td><td>–</td><td>–</td><td>–</td>",
            "<th scope=\"row\">&lt;slow&gt;</th><td>300</td><td>1.31</td><td>2 ms</td><td>2 ms</td><td>0</td><td>20.00</td><td>5 ms</td><td>5 ms</td>",
        ] {
            assert!(header.contains(row), "{row} is not in {header}");
        }
    }

    #[test]
    fn jobs_without_syncs_have_no_columns_for_them() {
        let header = header(vec![run("both", 100, false)], ["quick", "slow"]);
        assert!(header.contains("Jobs of <code>both</code>"), "{header}");
        assert!(!header.contains("sync"), "{header}");
    }

    #[test]
    fn the_jobs_of_other_runs_are_folded() {
        let runs = vec![run("first", 100, false), run("second", 900, false)];
        let header = header(runs, ["quick", "slow"]);
        let places = [
            "Jobs of <code>second</code>",
            "Jobs of 1 other run",
            "Jobs of <code>first</code>",
        ];
        let places = places.map(|text| header.find(text).expect(text));
        assert!(places.is_sorted(), "{header}");
    }

    #[test]
    fn a_run_of_one_job_has_no_table_of_jobs() {
        let header = header(vec![run("one", 100, false)], ["same", "same"]);
        assert!(!header.contains("id=\"jobs\""), "{header}");
    }
}
