//! Where events go: the result file first, then everything that people look at.
use crate::progress::Progress;
use conduct::SinkError;
use measure::{Event, RunFold, RunTotals};
use plan::{ArrivalLaw, BoundPlan};
use report::html::Page;
use report::summary::Row;
use report::vdbench::Face;
use std::io::{BufWriter, Write};
use std::path::Path;
use store::Writer;

/// All receivers of one execution.
pub struct Sinks {
    writer: Option<Writer>,
    page: Page,
    fold: RunFold,
    totals: Vec<RunTotals>,
    face: Option<Face>,
    progress: Option<Progress>,
    judge: Judge,
}

impl Sinks {
    pub fn new(writer: Writer, face: Option<Face>, progress: Option<Progress>) -> Self {
        Self {
            writer: Some(writer),
            page: Page::default(),
            fold: RunFold::default(),
            totals: Vec::new(),
            face,
            progress,
            judge: Judge::default(),
        }
    }

    /// Takes an event.
    ///
    /// # Errors
    /// When the result file or the output folder cannot take it.
    pub fn take(&mut self, event: &Event) -> Result<(), SinkError> {
        let failed = |error: &dyn std::fmt::Display| SinkError(error.to_string());
        if let Some(writer) = &self.writer {
            writer.append(event).map_err(|error| failed(&error))?;
        }
        self.page.on_event(event);
        self.judge.on_event(event);
        if let Some(mut totals) = self.fold.fold(event) {
            // The summary needs no plan text; many runs would keep many copies.
            totals.started.labels.retain(|label| label.key == "loops");
            self.totals.push(totals);
        }
        if let Some(face) = &mut self.face {
            let lines = face
                .on_event(event)
                .map_err(|error| failed(&format!("output folder: {error}")))?;
            print_lines(&lines);
        }
        if let Some(progress) = &mut self.progress {
            progress.on_event(event);
        }
        Ok(())
    }

    /// Closes the result file and writes the report and the tables. Returns the totals of the runs.
    ///
    /// # Errors
    /// What could not be written, in words.
    pub fn finish(mut self, folder: &Path) -> Result<(Vec<RunTotals>, Vec<Row>), String> {
        let stored = self
            .writer
            .take()
            .map_or(Ok(()), Writer::finish)
            .map_err(|error| error.to_string());
        let faced = self
            .face
            .take()
            .map_or(Ok(()), Face::finish)
            .map_err(|error| error.to_string());
        write_report(&mut self.page, folder)?;
        let rows = report::summary::rows(&self.totals, |totals| self.judge.law(totals));
        write_file(&folder.join("summary.csv"), |out| {
            out.write_all(report::summary::csv(&rows).as_bytes())
        })?;
        stored.and(faced)?;
        Ok((self.totals, rows))
    }
}

/// Writes `report.html`.
pub fn write_report(page: &mut Page, folder: &Path) -> Result<(), String> {
    write_file(&folder.join("report.html"), |out| page.write(out))
}

/// Knows the law of arrivals of each run, which the plan tells.
#[derive(Default)]
pub struct Judge {
    laws: Vec<ArrivalLaw>,
    run_is_open: bool,
}

impl Judge {
    pub fn on_event(&mut self, event: &Event) {
        if let Event::ExecutionStarted(started) = event {
            // Runs are numbered as they are carried out: what binding left out has no number.
            let bound: Option<BoundPlan> = serde_json::from_str(&started.plan_json).ok();
            let law = |bound: &BoundPlan, id: &plan::RunId| bound.plan.spec(*id).law;
            self.laws = bound
                .map(|bound| bound.runs.iter().map(|id| law(&bound, id)).collect())
                .unwrap_or_default();
        }
    }

    pub fn run_is_open(&mut self, is_open: bool) {
        self.run_is_open = is_open;
    }

    pub fn has_open_run(&self) -> bool {
        self.run_is_open
    }

    /// The law of the arrivals of a run.
    pub fn law(&self, totals: &RunTotals) -> ArrivalLaw {
        self.laws
            .get(totals.started.run as usize)
            .copied()
            .unwrap_or(ArrivalLaw::Exponential)
    }
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("`{}` cannot be written: {error}", path.display());
    let mut out = BufWriter::new(std::fs::File::create(path).map_err(fail)?);
    let written = write(&mut out).and_then(|()| out.flush());
    if written.is_err() {
        // A part of a report looks like a whole one.
        let _ = std::fs::remove_file(path);
    }
    written.map_err(fail)
}

/// A closed pipe must not end a measurement.
fn print_lines(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::Judge;
    use measure::{Event, ExecutionStarted, HostFacts};
    use plan::ArrivalLaw::{Deterministic, Exponential};

    /// A job whose file is there already: binding leaves its first run out.
    fn started(text: &str) -> ExecutionStarted {
        let files = lang::MemoryFiles::default();
        let input = lang::vdbench::InputFile::Text {
            name: "job".to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        let reading = lang::vdbench::read(&[input], &lang::Environment::bare(&files));
        let plan = reading.plan.expect("the text has no mistake");
        assert_eq!(plan.runs.len(), 3);
        let facts = plan::Facts {
            targets: vec![plan::TargetFacts {
                found: plan::FoundKind::File,
                bytes: 1 << 20,
                alignment: plan::Alignment {
                    offset: 1,
                    memory: 1,
                },
                ram_backed: false,
            }],
        };
        let bound = plan::bind(plan, &facts).expect("the file fits");
        assert_eq!(bound.runs.len(), 2);
        ExecutionStarted {
            unix_ns: 0,
            utc_offset_s: 0,
            time_zone: String::new(),
            fathom_version: String::new(),
            arguments: Vec::new(),
            inputs: Vec::new(),
            plan_json: serde_json::to_string(&bound).expect("plain data"),
            seed: 1,
            targets: Vec::new(),
            backend: String::new(),
            backend_reason: String::new(),
            workers: 1,
            clock: String::new(),
            labels: Vec::new(),
            reporting: Vec::new(),
            host: HostFacts::default(),
        }
    }

    #[test]
    fn laws_follow_the_runs_that_are_carried_out() {
        let text = "sd=sd1,lun=/data/file,size=1m\nwd=wd1,sd=sd1\n\
                    rd=rd1,wd=wd1,iorate=10,distribution=d,elapsed=10,interval=1\n\
                    rd=rd2,wd=wd1,iorate=10,elapsed=10,interval=1\n";
        let mut judge = Judge::default();
        judge.on_event(&Event::ExecutionStarted(started(text)));
        assert_eq!(judge.laws, [Deterministic, Exponential]);
    }
}
