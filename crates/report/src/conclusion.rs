//! What an execution came to, for everything that is shown when it is over: one fold over its events feeds the page, the
//! table and the last line.
use crate::html::Page;
use crate::summary::Row;
use analysis::{EndedRun, Mark, Scaling, Verdict, Watch};
use measure::{Event, Remark, RunTotals};
use plan::Label;
use std::io::{self, Write};

/// Folds the events of an execution.
#[derive(Debug, Default)]
pub struct Conclusion {
    watch: Watch,
    /// Names of several hosts.
    hosts: Vec<String>,
    /// What the user called the result.
    labels: Vec<Label>,
    /// What I/O was issued by, and why.
    backend: (String, String),
    /// Where one is wanted.
    page: Option<Page>,
    /// What was marked of a run that is not over.
    marks: Vec<(Option<u32>, Mark)>,
    /// Of the runs that are over, in order.
    pub totals: Vec<RunTotals>,
    /// The same as lines of the summary.
    pub rows: Vec<Row>,
}

impl Conclusion {
    /// With a page.
    pub fn with_page() -> Self {
        Self {
            page: Some(Page::default()),
            ..Self::default()
        }
    }

    /// Takes the next event.
    pub fn on_event(&mut self, event: &Event) {
        if let Event::ExecutionStarted(started) = event {
            self.backend = (started.backend.clone(), started.backend_reason.clone());
            let hosts = started.hosts.iter();
            self.hosts = hosts.map(|host| host.name.clone()).collect();
            self.labels.clone_from(&started.labels);
        }
        if let Event::Remark(remark) = event
            && remark.is_mark()
        {
            self.add_mark(remark);
        }
        let ended = self.watch.on_event(event);
        // A run that lacks its end is over before the event that tells so.
        self.add(ended);
        if let Some(page) = &mut self.page {
            page.on_event(event);
        }
    }

    /// A run whose end has not been seen is over: after the last event.
    pub fn end(&mut self) {
        let ended = self.watch.end();
        self.add(ended);
    }

    /// The verdict on the runs that are over; `None` where none of them measures.
    pub fn verdict(&self) -> Option<Verdict> {
        self.watch.verdict()
    }

    /// `summary.json`.
    pub fn summary_json(&self) -> String {
        let (backend, reason) = &self.backend;
        crate::summary::json(&self.rows, self.verdict().as_ref(), (backend, reason))
    }

    /// What was varied in its runs, and what made them scale.
    pub fn scalings(&self) -> Vec<Scaling> {
        self.watch.scalings()
    }

    /// Says first on the page what of its result is lost.
    pub fn set_damage(&mut self, text: &str) {
        let page = self.page.iter_mut();
        page.for_each(|page| page.set_damage(text.to_owned()));
    }

    /// Writes the page, where one is wanted.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_page(&self, out: &mut dyn Write) -> io::Result<()> {
        let verdict = self.verdict();
        match &self.page {
            Some(page) => page.write(verdict.as_ref(), out),
            None => Ok(()),
        }
    }

    /// Commands around a run are marked before it begins and after it has ended.
    fn add_mark(&mut self, remark: &Remark) {
        let mark = Mark {
            unix_ns: remark.unix_ns,
            text: remark.message.clone(),
        };
        let mut over = self.rows.iter_mut().rev();
        match over.find(|row| Some(row.number) == remark.run) {
            Some(row) => row.add_event(mark),
            None => self.marks.push((remark.run, mark)),
        }
    }

    fn add(&mut self, ended: Option<EndedRun>) {
        let Some(mut run) = ended else {
            return;
        };
        let mut row = Row::new(&run);
        row.name_hosts(&self.hosts);
        row.add_labels(&self.labels);
        let is_own = |(run, _): &mut (Option<u32>, Mark)| *run == Some(row.number);
        let own: Vec<(Option<u32>, Mark)> = self.marks.extract_if(.., is_own).collect();
        own.into_iter().for_each(|(_, mark)| row.add_event(mark));
        if let Some(page) = &mut self.page {
            page.add_run(&run, &row);
        }
        self.rows.push(row);
        // No plan text is needed further on; many runs would keep many copies.
        let is_needed = |label: &Label| label.key == "loops" || label.key == Label::REPETITION;
        run.totals.started.labels.retain(is_needed);
        self.totals.push(run.totals);
    }
}
