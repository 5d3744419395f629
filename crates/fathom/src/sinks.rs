//! Where events go: the result file first, then everything that people look at.
use crate::fio_report::FioReport;
use crate::outputs::{Outputs, Own};
use crate::progress::Progress;
use crate::status;
use conduct::SinkError;
use measure::{Event, RunFold, RunTotals};
use plan::Label;
use report::fio::{Dumps, Logs};
use report::html::Page;
use report::shown;
use report::summary::Row;
use report::vdbench::Face;
use std::path::Path;
use store::Writer;

/// All receivers of one execution.
pub struct Sinks {
    writer: Option<Writer>,
    page: Page,
    fold: RunFold,
    totals: Vec<RunTotals>,
    face: Option<Console>,
    logs: Option<Logs>,
    dumps: Option<Dumps>,
    progress: Option<Progress>,
    outputs: Outputs,
}

/// A console in the manner of another tool.
pub enum Console {
    Vdbench(Box<Face>),
    Fio(Box<FioReport>),
}

impl Sinks {
    pub fn new(writer: Writer, face: Option<Console>, progress: Option<Progress>) -> Self {
        Self {
            writer: Some(writer),
            page: Page::default(),
            fold: RunFold::default(),
            totals: Vec::new(),
            face,
            logs: None,
            dumps: None,
            progress,
            outputs: Outputs::default(),
        }
    }

    /// Writes its files as these allow.
    #[must_use]
    pub fn with_outputs(mut self, outputs: &Outputs) -> Self {
        self.outputs = outputs.clone();
        self
    }

    /// Writes logs over time too.
    #[must_use]
    pub fn with_logs(mut self, logs: Option<Logs>) -> Self {
        self.logs = logs;
        self
    }

    /// Writes the contents of blocks that were wrong into files too.
    #[must_use]
    pub fn with_dumps(mut self, dumps: Option<Dumps>) -> Self {
        self.dumps = dumps;
        self
    }

    /// Takes an event that the user knows already: it is written down and not shown.
    ///
    /// # Errors
    /// When the result file or the output folder cannot take it.
    pub fn take_quietly(&mut self, event: &Event) -> Result<(), SinkError> {
        self.keep(event).map(drop)
    }

    /// Takes an event.
    ///
    /// # Errors
    /// When the result file or the output folder cannot take it.
    pub fn take(&mut self, event: &Event) -> Result<(), SinkError> {
        let lines = self.keep(event)?;
        print_lines(&lines);
        if let Some(dumps) = &mut self.dumps {
            err!("{}", dumps.on_event(event));
        }
        status::on_event(event);
        if let Some(Console::Fio(report)) = &mut self.face {
            report.show_status();
            // The last event brings the whole report anyway.
            if status::takes_question() && !matches!(event, Event::ExecutionFinished(_)) {
                report
                    .show_now()
                    .map_err(|error| SinkError(format!("output folder: {error}")))?;
            }
        }
        match &mut self.progress {
            Some(progress) => progress.on_event(event),
            None => tell_waiting(event),
        }
        Ok(())
    }

    /// Writes an event down. Returns what the console would show.
    fn keep(&mut self, event: &Event) -> Result<Vec<String>, SinkError> {
        if let Some(writer) = &self.writer {
            let failed = |error: store::StoreError| SinkError(error.to_string());
            writer.append(event).map_err(failed)?;
        }
        self.replay(event)
    }

    /// Takes an event that the result file holds already. Returns what the console would show.
    ///
    /// # Errors
    /// When the output folder cannot take it.
    pub fn replay(&mut self, event: &Event) -> Result<Vec<String>, SinkError> {
        // A log that cannot be written is no reason to lose the measurement.
        if let Some(logs) = &mut self.logs
            && let Err(error) = logs.on_event(event)
        {
            self.outputs.tell(&format!("log files end here: {error}"));
            self.logs = None;
        }
        let event = &*shown::event(event);
        self.page.on_event(event);
        if let Some(mut totals) = self.fold.fold(event) {
            // The summary needs no plan text; many runs would keep many copies.
            totals
                .started
                .labels
                .retain(|label| label.key == "loops" || label.key == Label::REPETITION);
            self.totals.push(totals);
        }
        let Some(face) = &mut self.face else {
            return Ok(Vec::new());
        };
        match face {
            Console::Vdbench(face) => face.on_event(event),
            Console::Fio(report) => report.on_event(event),
        }
        .map_err(|error| SinkError(format!("output folder: {error}")))
    }

    /// Closes the result file and writes the report and the tables. Returns the totals of the runs. What could not be
    /// written is told.
    pub fn finish(mut self, folder: &Path) -> (Vec<RunTotals>, Vec<Row>) {
        let stored = self
            .writer
            .take()
            .map_or(Ok(()), Writer::finish)
            .map_err(|error| error.to_string());
        let faced = match self.face.take() {
            Some(Console::Vdbench(face)) => face.finish().map_err(|error| error.to_string()),
            Some(Console::Fio(_)) | None => Ok(()),
        };
        let rows = report::summary::rows(&self.totals);
        let reported = write_reports(&self.outputs, &mut self.page, &rows, folder);
        if let Err(reason) = stored.and(faced).and(reported) {
            self.outputs.tell(&reason);
        }
        (self.totals, rows)
    }
}

/// Writes `report.html` and `summary.csv`, each as far as the other allows.
///
/// # Errors
/// What could not be written, in words.
pub fn write_reports(
    outputs: &Outputs,
    page: &mut Page,
    rows: &[Row],
    folder: &Path,
) -> Result<(), String> {
    let html = folder.join("report.html");
    let paged = outputs.replace_own(&html, Own::Page, |out| page.write(out));
    let csv = report::summary::csv(rows);
    let table = folder.join("summary.csv");
    let tabled = outputs.replace_own(&table, Own::Table, |out| out.write_all(csv.as_bytes()));
    paged.and(tabled)
}

/// A console of another tool has no word for it, and nothing else shows why nothing happens.
fn tell_waiting(event: &Event) {
    if let Event::Remark(remark) = event
        && remark.code == "not-ready"
    {
        errln!("note: {}", remark.message);
    }
}

fn print_lines(lines: &[String]) {
    if !lines.is_empty() {
        out!("{}\n", lines.join("\n"));
    }
}
