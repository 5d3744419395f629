//! Where events go: the result file first, then everything that people look at, each behind a queue of its own.
use crate::face::Listener;
use crate::job_files::{BlockDumps, JobFiles, LogFiles};
use crate::outputs::{Outputs, Own};
use crate::status;
use conduct::{Sink, SinkError, Tempo};
use measure::{Event, RunFold, RunTotals};
use plan::Label;
use report::html::Page;
use report::shown;
use report::summary::Row;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Writer;

/// All receivers of one execution.
pub struct Sinks {
    all: conduct::Sinks,
    folded: Arc<Mutex<Folded>>,
    outputs: Outputs,
}

/// What the reports are made from when all is over.
#[derive(Default)]
struct Folded {
    page: Page,
    /// Without a result file there is no page.
    has_page: bool,
    fold: RunFold,
    totals: Vec<RunTotals>,
}

/// The result file.
struct Kept(Writer);

/// Folds events for the reports.
struct Reports(Arc<Mutex<Folded>>);

/// Whatever people see while it goes on.
struct Console {
    listeners: Vec<Box<dyn Listener>>,
    dumps: Option<BlockDumps>,
}

impl Sinks {
    /// Without a writer nothing is kept; without files of jobs, what jobs ask for is not made.
    ///
    /// # Errors
    /// When there are no threads for them, in words.
    pub fn new(
        tempo: Tempo,
        writer: Option<Writer>,
        listeners: Vec<Box<dyn Listener>>,
        files: Option<JobFiles>,
        outputs: &Outputs,
    ) -> Result<Self, String> {
        let folded = Arc::new(Mutex::new(Folded {
            has_page: writer.is_some(),
            ..Folded::default()
        }));
        let mut all = conduct::Sinks::new(tempo);
        if let Some(writer) = writer {
            all = all.kept_by(Box::new(Kept(writer)));
        }
        let (logs, dumps) = files.map(JobFiles::apart).unzip();
        // What keeps a thread from being started is memory, as a rule.
        let told = |error| format!("{error}; {}", sys::refused::limit_text());
        if let Some(logs) = logs {
            all.add(Box::new(logs)).map_err(told)?;
        }
        all.add(Box::new(Reports(Arc::clone(&folded))))
            .map_err(told)?;
        all.add(Box::new(Console { listeners, dumps }))
            .map_err(told)?;
        Ok(Self {
            all,
            folded,
            outputs: outputs.clone(),
        })
    }

    /// Takes an event that the user knows already: it is written down and not shown.
    ///
    /// # Errors
    /// As [`Sinks::take`].
    pub fn take_quietly(&mut self, event: &Event) -> Result<(), SinkError> {
        self.all.take(event, false)
    }

    /// Takes an event.
    ///
    /// # Errors
    /// When the result file or the output folder cannot take it, or an earlier one.
    pub fn take(&mut self, event: &Event) -> Result<(), SinkError> {
        self.all.take(event, true)
    }

    /// Takes an event that the result file holds already, and shows nothing.
    ///
    /// # Errors
    /// When the output folder cannot take it.
    pub fn replay(&mut self, event: Event) -> Result<(), SinkError> {
        self.all.replay(event)
    }

    /// Waits until everything is written and shown.
    ///
    /// # Errors
    /// As [`Sinks::take`].
    pub fn settle(&mut self) -> Result<(), SinkError> {
        self.all.settle()
    }

    /// Closes the result file and writes the report and the tables, where they are kept. Returns the totals of the
    /// runs. What could not be written is told.
    pub fn finish(self, folder: Option<&Path>) -> (Vec<RunTotals>, Vec<Row>) {
        let problems = self.all.finish();
        let mut folded = lock(&self.folded);
        let totals = std::mem::take(&mut folded.totals);
        let rows = report::summary::rows(&totals);
        let reported = folder.map_or(Ok(()), |folder| {
            write_reports(&self.outputs, &mut folded.page, &rows, folder)
        });
        if let Some(reason) = problems.into_iter().chain(reported.err()).next() {
            self.outputs.tell(&reason);
        }
        (totals, rows)
    }
}

impl Sink for Kept {
    fn name(&self) -> &'static str {
        "the result file"
    }

    fn take(&mut self, event: &Arc<Event>, _is_news: bool) -> Result<(), SinkError> {
        let taken = self.0.append_shared(Arc::clone(event));
        taken.map_err(|error| SinkError(error.to_string()))
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        self.0.finish().map_err(|error| error.to_string())
    }
}

impl Sink for LogFiles {
    fn name(&self) -> &'static str {
        "the log files"
    }

    fn take(&mut self, event: &Arc<Event>, _is_news: bool) -> Result<(), SinkError> {
        self.on_event(event);
        Ok(())
    }
}

impl Sink for Reports {
    fn name(&self) -> &'static str {
        "the report"
    }

    fn take(&mut self, event: &Arc<Event>, _is_news: bool) -> Result<(), SinkError> {
        let event = &*shown::event(event);
        let folded = &mut *lock(&self.0);
        if folded.has_page {
            folded.page.on_event(event);
        }
        if let Some(mut totals) = folded.fold.fold(event) {
            // The summary needs no plan text; many runs would keep many copies.
            totals
                .started
                .labels
                .retain(|label| label.key == "loops" || label.key == Label::REPETITION);
            folded.totals.push(totals);
        }
        Ok(())
    }
}

impl Sink for Console {
    fn name(&self) -> &'static str {
        "the console"
    }

    fn take(&mut self, event: &Arc<Event>, is_news: bool) -> Result<(), SinkError> {
        let raw = event;
        let event = &*shown::event(event);
        let mut lines = Vec::new();
        for listener in &mut self.listeners {
            lines.extend(listener.on_event(event)?);
        }
        if !is_news {
            return Ok(());
        }
        print_lines(&lines);
        if let Some(dumps) = &mut self.dumps {
            err!("{}", dumps.on_event(raw));
        }
        status::on_event(raw);
        let mut listeners = self.listeners.iter_mut();
        listeners.try_for_each(|listener| listener.on_shown(raw))
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        let finished = self.listeners.into_iter().map(|listener| listener.finish());
        finished.fold(Ok(()), Result::and)
    }
}

fn lock(folded: &Mutex<Folded>) -> MutexGuard<'_, Folded> {
    folded.lock().unwrap_or_else(PoisonError::into_inner)
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
