//! Where events go: the result file first, then everything that people look at, each behind a queue of its own.
use crate::face::Listener;
use crate::job_files::{BlockDumps, JobFiles, LogFiles};
use crate::outputs::{Outputs, Own};
use crate::status;
use conduct::{Sink, SinkError, Tempo, UNANSWERED};
use measure::Event;
use report::{Conclusion, shown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{ANSWER_TIMEOUT, StoreError, Writer};

/// All receivers of one execution.
pub struct Sinks {
    all: conduct::Sinks,
    conclusion: Arc<Mutex<Conclusion>>,
    outputs: Outputs,
    is_given_up: Arc<AtomicBool>,
}

/// The result file.
struct Kept {
    writer: Writer,
    /// Set when its disk was given up: nothing more is written to its folder.
    is_given_up: Arc<AtomicBool>,
}

/// Folds events for the reports.
struct Reports(Arc<Mutex<Conclusion>>);

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
        // Without a result file there is no page.
        let conclusion = writer.as_ref().map(|_| Conclusion::with_page());
        let conclusion = Arc::new(Mutex::new(conclusion.unwrap_or_default()));
        let mut all = conduct::Sinks::new(tempo);
        let is_given_up = Arc::new(AtomicBool::new(false));
        if let Some(writer) = writer {
            let is_given_up = Arc::clone(&is_given_up);
            all = all.kept_by(Box::new(Kept {
                writer,
                is_given_up,
            }));
        }
        let (logs, dumps) = files.map(JobFiles::apart).unzip();
        if let Some(logs) = logs {
            all.add(Box::new(logs))?;
        }
        all.add(Box::new(Reports(Arc::clone(&conclusion))))?;
        all.add(Box::new(Console { listeners, dumps }))?;
        Ok(Self {
            all,
            conclusion,
            outputs: outputs.clone(),
            is_given_up,
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

    /// Closes the result file and writes the report and the tables, where they are kept. Returns what the runs came to.
    /// What could not be written is told.
    pub fn finish(self, folder: Option<&Path>) -> Conclusion {
        let problems = self.all.finish();
        let mut conclusion = std::mem::take(&mut *lock(&self.conclusion));
        conclusion.end();
        // To write there would wait for a disk that does not answer.
        let folder = folder.filter(|_| !self.is_given_up.load(Relaxed));
        let reported = folder.map_or(Ok(()), |folder| {
            write_reports(&self.outputs, &conclusion, folder)
        });
        if let Some(reason) = problems.into_iter().chain(reported.err()).next() {
            self.outputs.tell(&reason);
        }
        conclusion
    }
}

impl Sink for Kept {
    fn name(&self) -> &'static str {
        "the result file"
    }

    fn take(&mut self, event: &Arc<Event>, _is_news: bool) -> Result<(), SinkError> {
        let taken = self.writer.append_shared(Arc::clone(event));
        taken.map_err(|error| SinkError(told(&error, &self.is_given_up)))
    }

    fn unanswered(&self) -> Duration {
        self.writer.unanswered().0
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        let mut is_told = false;
        let path = self.writer.path().display().to_string();
        let finished = self.writer.finish_watched(|time, waiting| {
            if time >= UNANSWERED && !std::mem::replace(&mut is_told, true) {
                let most = ANSWER_TIMEOUT.as_secs();
                errln!(
                    "waiting for the disk of result file `{path}`, at most {most} s: it does not answer, and {} not written yet",
                    match waiting + 1 {
                        1 => "1 event is".to_owned(),
                        count => format!("{count} events are"),
                    }
                );
            }
        });
        finished.map_err(|error| told(&error, &self.is_given_up))
    }
}

/// In words; notes whether its disk was given up.
fn told(error: &StoreError, is_given_up: &AtomicBool) -> String {
    if matches!(error, StoreError::Unanswered { .. }) {
        is_given_up.store(true, Relaxed);
    }
    error.to_string()
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
        lock(&self.0).on_event(event);
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

fn lock(conclusion: &Mutex<Conclusion>) -> MutexGuard<'_, Conclusion> {
    conclusion.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes `report.html`, `summary.csv` and `summary.json`, each as far as the others allow.
///
/// # Errors
/// What could not be written, in words.
pub fn write_reports(
    outputs: &Outputs,
    conclusion: &Conclusion,
    folder: &Path,
) -> Result<(), String> {
    let html = folder.join("report.html");
    let paged = outputs.replace_own(&html, Own::Page, |out| conclusion.write_page(out));
    let csv = report::summary::csv(&conclusion.rows);
    let table = folder.join("summary.csv");
    let tabled = outputs.replace_own(&table, Own::Table, |out| out.write_all(csv.as_bytes()));
    let json = conclusion.summary_json();
    let document = folder.join("summary.json");
    let told = outputs.replace_own(&document, Own::Json, |out| out.write_all(json.as_bytes()));
    paged.and(tabled).and(told)
}

fn print_lines(lines: &[String]) {
    if !lines.is_empty() {
        out!("{}\n", lines.join("\n"));
    }
}
