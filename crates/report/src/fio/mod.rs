//! What fio prints, from our events: normal text, terse lines, JSON, and the status line. Begin
//! with [`Face`]; the figures are put together in `model`, and `docs/reference/fio-output.md` says
//! which field is made of what.
mod act;
mod clients;
mod document;
mod doubts;
mod dumps;
mod faults;
mod idleness;
mod import;
mod iolog;
mod json;
mod layout;
mod logs;
mod losses;
mod messages;
mod model;
pub mod number;
mod opening;
mod repeated;
mod samples;
mod settings;
mod stat;
mod status;
mod terse;
mod text;
mod together;
mod windows;

pub use document::ImportError;
pub use dumps::Dumps;
pub use idleness::{IdleProfile, Idleness};
pub(crate) use import::holds_back;
pub use import::{DAMAGED, import};
pub use logs::{Logs, OperationLogs, log_files};
pub use samples::inflate_log;
pub use terse::TerseVersion;

use faults::Fault;
use jiff::Timestamp;
use jiff::tz::Offset;
use json::{Bins, Heading};
use losses::Loss;
use measure::Event;
use model::{Disk, Entry, Model};
use opening::Cast;

/// The layouts are those of this version; programs that read them ask for it.
pub const LAYOUT_VERSION: &str = "fio-3.33";

/// Which reports are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    pub normal: bool,
    pub terse: bool,
    pub json: bool,
    /// JSON with the buckets of histograms.
    pub json_bins: bool,
}

impl Formats {
    /// The words for them.
    pub const NAMES: [&str; 4] = ["normal", "terse", "json", "json+"];
}

/// How to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaceOptions {
    pub formats: Formats,
    pub terse_version: TerseVersion,
    /// Shown as the process of each job.
    pub pid: u32,
    /// A full report each time this has passed.
    pub status_interval_ns: Option<u64>,
    /// The least time between two status lines; `None` for none at all.
    pub status_line_ns: Option<u64>,
}

/// What of a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    /// Sections and lines of each client, and nothing of all together.
    EachClient,
}

/// What one event gives to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// For the report.
    pub report: String,
    /// For standard error, as they come: what is wrong with data.
    pub messages: String,
    /// For the terminal: replaces the line before.
    pub status_line: Option<String>,
}

/// Folds the events of an execution into what fio would print.
#[derive(Debug)]
pub struct Face {
    options: FaceOptions,
    model: Model,
    cast: Cast,
    verdict: act::Verdict,
    reported_unix_ns: u64,
    status_unix_ns: u64,
    /// What the result that the events come from has lost.
    damage: Option<String>,
    idleness: Option<Idleness>,
}

impl Default for Formats {
    fn default() -> Self {
        Self {
            normal: true,
            terse: false,
            json: false,
            json_bins: false,
        }
    }
}

impl Formats {
    /// Reads a list such as `normal,json+`.
    ///
    /// # Errors
    /// The word that names no format.
    pub fn parse(list: &str) -> Result<Self, String> {
        let mut formats = Self {
            normal: false,
            ..Self::default()
        };
        for word in list.split(',').map(str::trim) {
            match word {
                "normal" => formats.normal = true,
                "terse" | "minimal" | "csv" => formats.terse = true,
                "json" => formats.json = true,
                "json+" => (formats.json, formats.json_bins) = (true, true),
                other => return Err(other.to_owned()),
            }
        }
        Ok(formats)
    }
}

impl Face {
    pub fn new(options: FaceOptions) -> Self {
        Self {
            options,
            model: Model::default(),
            cast: Cast::default(),
            verdict: act::Verdict::default(),
            reported_unix_ns: 0,
            status_unix_ns: 0,
            damage: None,
            idleness: None,
        }
    }

    /// Lets the reports from now on say how idle the CPUs were.
    pub fn set_idleness(&mut self, idleness: Idleness) {
        self.idleness = Some(idleness);
    }

    /// Lets each report say that the result is damaged, and what is lost.
    pub fn set_damage(&mut self, text: &str) {
        self.damage = Some(format!(
            "this result is damaged: {text}; figures are of what is left"
        ));
    }

    /// Takes the next event.
    pub fn on_event(&mut self, event: &Event) -> Printed {
        self.model.on_event(event);
        self.verdict.on_event(event);
        let mut printed = Printed::default();
        match event {
            Event::ExecutionStarted(started) => {
                (self.reported_unix_ns, self.status_unix_ns) = (started.unix_ns, started.unix_ns);
                self.cast = Cast::of(started);
                if self.options.formats.normal {
                    printed.report = self.cast.opening(&self.model.clients);
                }
            }
            Event::RunStarted(run) => self.cast.begin(run),
            Event::Interval(interval) => {
                self.cast.add(interval);
                let now_ns = interval.unix_ns;
                let passed = |since_ns, length_ns| now_ns.saturating_sub(since_ns) >= length_ns;
                let options = &self.options;
                if options
                    .status_interval_ns
                    .is_some_and(|ns| passed(self.reported_unix_ns, ns))
                {
                    printed.report = self.put(self.in_between());
                    self.reported_unix_ns = now_ns;
                }
                if options
                    .status_line_ns
                    .is_some_and(|ns| passed(self.status_unix_ns, ns))
                {
                    printed.status_line = Some(self.cast.status_line(interval));
                    self.status_unix_ns = now_ns;
                }
            }
            Event::RunFinished(run) => self.cast.finish(run),
            Event::ExecutionFinished(_) => printed.report = self.report(),
            Event::IoFailure(failure) => printed.messages = self.cast.failure_lines(failure),
            Event::Remark(_) | Event::DataWritten(_) => {}
        }
        let losses = self.model.take_losses();
        printed.messages.extend(losses.iter().map(Loss::line));
        let ends = losses
            .iter()
            .map(Fault::of_loss)
            .chain(self.model.take_end());
        for end in ends {
            let line = end.line(self.options.pid);
            // Among JSON or terse lines it would make them unreadable.
            match self.options.formats.normal {
                true => printed.report += &line,
                false => printed.messages += &line,
            }
        }
        printed
    }

    /// Says that no further event comes, though the execution did not end: jobs without an end are marked.
    pub fn break_off(&mut self) {
        self.model.is_broken_off = true;
    }

    /// The report of everything so far, in all formats that were asked for: terse, JSON, normal.
    pub fn report(&self) -> String {
        self.put(Extent::Whole)
    }

    /// As in fio, clients are told of together when all have ended, and have one document then.
    fn in_between(&self) -> Extent {
        match self.model.clients.are_some() {
            true => Extent::EachClient,
            false => Extent::Whole,
        }
    }

    fn put(&self, extent: Extent) -> String {
        let (mut entries, disks) = (self.model.entries(), self.model.disks());
        // The one field of fio's that is for words, in the block of each job and at the end of each terse line.
        for entry in entries.iter_mut().filter(|_| self.damage.is_some()) {
            let words = entry.description.take().into_iter();
            let words: Vec<String> = words.chain(self.damage.clone()).collect();
            entry.description = Some(words.join("; "));
        }
        let time = self.local_time();
        let formats = self.options.formats;
        let mut out = String::new();
        let is_whole = extent == Extent::Whole;
        if formats.terse {
            let version = self.options.terse_version;
            out.push_str(&self.terse(&entries, &disks, version, extent));
        }
        if formats.json && is_whole {
            let globals: Vec<(String, String)> = self
                .model
                .globals
                .iter()
                .filter(|label| !label.value.is_empty())
                .filter_map(|label| {
                    let name = label.key.strip_prefix("global.")?;
                    Some((name.to_owned(), label.value.clone()))
                })
                .collect();
            let heading = Heading {
                program: LAYOUT_VERSION,
                unix_ns: self.model.now_unix_ns,
                time: &time,
                elapsed_s: self.model.elapsed_s(),
                globals: &globals,
                idleness: self.idleness.as_ref(),
            };
            let bins = match formats.json_bins {
                true => Bins::Shown,
                false => Bins::Hidden,
            };
            out.push_str(&json::report(
                &entries,
                &disks,
                &self.model.clients,
                heading,
                bins,
            ));
        }
        if formats.normal {
            let around = text::Surroundings {
                pid: self.options.pid,
                time: &time,
            };
            out.push_str(&self.text(&entries, &disks, around, extent));
            if is_whole {
                out.extend(self.idleness.as_ref().map(Idleness::text));
                out.push_str(&self.verdict.text());
            }
        }
        out
    }

    fn text(
        &self,
        entries: &[Entry],
        disks: &[Disk],
        around: text::Surroundings<'_>,
        extent: Extent,
    ) -> String {
        let clients = &self.model.clients;
        if !clients.are_some() {
            return text::report(entries, disks, around);
        }
        let each = together::each(clients, entries, disks);
        let mut out: String = each
            .map(|(_, entries, disks)| text::report(&entries, &disks, around))
            .collect();
        if let Some(all) = together::all(entries).filter(|_| extent == Extent::Whole) {
            out.push_str(&text::all(&all, around));
        }
        out
    }

    fn terse(
        &self,
        entries: &[Entry],
        disks: &[Disk],
        version: TerseVersion,
        extent: Extent,
    ) -> String {
        let clients = &self.model.clients;
        if !clients.are_some() {
            return terse::report(entries, disks, version, LAYOUT_VERSION);
        }
        let each = together::each(clients, entries, disks).map(|(_, entries, disks)| {
            let lines = terse::report(&entries, &[], version, LAYOUT_VERSION);
            format!("\n{lines}{}", terse::disks(&disks))
        });
        let mut out: String = each.collect();
        if let Some(all) = together::all(entries).filter(|_| extent == Extent::Whole) {
            let all = [all];
            out.push_str(&terse::report(&all, &[], version, LAYOUT_VERSION));
        }
        out
    }

    /// `Sat Nov 21 07:30:37 2026`.
    fn local_time(&self) -> String {
        let offset_s = self
            .model
            .started
            .as_ref()
            .map_or(0, |started| started.utc_offset_s);
        let offset = Offset::from_seconds(offset_s).unwrap_or(Offset::UTC);
        let at = Timestamp::from_nanosecond(i128::from(self.model.now_unix_ns));
        let at = offset.to_datetime(at.unwrap_or(Timestamp::UNIX_EPOCH));
        at.strftime("%a %b %e %H:%M:%S %Y").to_string()
    }
}

#[cfg(test)]
mod tests;
