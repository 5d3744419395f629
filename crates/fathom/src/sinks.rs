//! Where events go: the result file first, then everything that people look at.
use crate::face::Listener;
use crate::job_files::JobFiles;
use crate::outputs::{Outputs, Own};
use crate::status;
use conduct::SinkError;
use measure::{Event, RunFold, RunTotals};
use plan::Label;
use report::html::Page;
use report::shown;
use report::summary::Row;
use std::path::Path;
use store::Writer;

/// All receivers of one execution.
pub struct Sinks {
    writer: Option<Writer>,
    page: Page,
    fold: RunFold,
    totals: Vec<RunTotals>,
    listeners: Vec<Box<dyn Listener>>,
    files: Option<JobFiles>,
    outputs: Outputs,
}

impl Sinks {
    /// Without a writer nothing is kept; without files of jobs, what jobs ask for is not made.
    pub fn new(
        writer: Option<Writer>,
        listeners: Vec<Box<dyn Listener>>,
        files: Option<JobFiles>,
        outputs: &Outputs,
    ) -> Self {
        Self {
            writer,
            page: Page::default(),
            fold: RunFold::default(),
            totals: Vec::new(),
            listeners,
            files,
            outputs: outputs.clone(),
        }
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
        if let Some(files) = &mut self.files {
            err!("{}", files.dump(event));
        }
        status::on_event(event);
        let mut listeners = self.listeners.iter_mut();
        listeners.try_for_each(|listener| listener.on_shown(event))
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
        if let Some(files) = &mut self.files {
            files.on_event(event);
        }
        let event = &*shown::event(event);
        if self.writer.is_some() {
            self.page.on_event(event);
        }
        if let Some(mut totals) = self.fold.fold(event) {
            // The summary needs no plan text; many runs would keep many copies.
            totals
                .started
                .labels
                .retain(|label| label.key == "loops" || label.key == Label::REPETITION);
            self.totals.push(totals);
        }
        let mut lines = Vec::new();
        for listener in &mut self.listeners {
            lines.extend(listener.on_event(event)?);
        }
        Ok(lines)
    }

    /// Closes the result file and writes the report and the tables, where they are kept. Returns the totals of the
    /// runs. What could not be written is told.
    pub fn finish(mut self, folder: Option<&Path>) -> (Vec<RunTotals>, Vec<Row>) {
        let stored = self
            .writer
            .take()
            .map_or(Ok(()), Writer::finish)
            .map_err(|error| error.to_string());
        let finished = self.listeners.into_iter().map(|listener| listener.finish());
        let told = finished.fold(Ok(()), Result::and);
        let rows = report::summary::rows(&self.totals);
        let reported = folder.map_or(Ok(()), |folder| {
            write_reports(&self.outputs, &mut self.page, &rows, folder)
        });
        if let Err(reason) = stored.and(told).and(reported) {
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

fn print_lines(lines: &[String]) {
    if !lines.is_empty() {
        out!("{}\n", lines.join("\n"));
    }
}
