//! What a run in the manner of fio shows: reports on the console or into a file, and the status line on a terminal.
use crate::ending::{self, Told};
use crate::exit::Exit;
use crate::face::{Beside, Ended, Face, Job, Listener, tell_notes};
use crate::outputs::{self, Outputs};
use crate::printing::Channel;
use crate::status;
use crate::trace::Trace;
use conduct::{Outcome, SinkError};
use host::SysRoot;
use measure::{CpuTimes, Event, ExecutionStarted};
use plan::Plan;
use report::Opening;
use report::fio::{FaceOptions, IdleProfile, Idleness};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How a run in the manner of fio talks.
#[derive(Clone, Debug, Default)]
pub struct FioStyle {
    pub face: FaceOptions,
    /// The status line is left standing each time this has passed.
    pub newline_ns: Option<u64>,
    /// Where reports go, and nothing else does; the console when left out.
    pub output: Option<PathBuf>,
    pub beside: Beside,
    pub idle_profile: Option<IdleProfile>,
}

impl Face for FioStyle {
    fn prepare(&self, plan: &mut Plan) {
        plan.reporting.operations |= self.beside.topics.has_operations();
        self.beside.trigger.prepare(plan);
    }

    fn beside(&self) -> Beside {
        self.beside.clone()
    }

    fn check_outputs(&self, job: &Job<'_>, _: &ExecutionStarted) -> Result<(), String> {
        let output = self.output.iter().cloned();
        outputs::check_named(job.outputs, output.map(|path| (path, Opening::Replace)))
    }

    fn listeners(&self, job: &Job<'_>) -> Result<Vec<Box<dyn Listener>>, String> {
        Ok(vec![Box::new(FioReport::create(self, job.outputs)?)])
    }

    /// Scripts take what fio does not say for trouble.
    fn tells_findings(&self) -> bool {
        false
    }

    fn folder_option(&self) -> &'static str {
        "--result"
    }

    /// A job says itself which failures it bears; another one has ended its stream.
    /// As fio, for which it is a job that failed.
    fn exit_without_rights(&self) -> Exit {
        Exit::Failed
    }

    fn has_failed(&self, outcome: &Outcome) -> bool {
        outcome.streams_failed > 0
    }

    /// Zero would be the end of a job that is well, which is what fio says of 256.
    fn exit_of_failures(&self, outcome: &Outcome) -> Exit {
        let jobs = u8::try_from(outcome.streams_failed).unwrap_or(u8::MAX);
        Exit::JobsFailed(jobs)
    }

    fn conclude(&self, ended: &Ended<'_>) {
        ending::tell_unreturned(&ended.conclusion.totals, ended.plan, Told::AtOnce);
        ending::tell_late(&ended.conclusion.totals, ended.plan, true);
    }
}

/// Reports and status line of one execution.
struct FioReport {
    face: report::fio::Face,
    trace: Trace,
    output: Option<File>,
    status_line: Option<String>,
    /// Characters of the status line that stands on the terminal.
    shown: usize,
    newline: Option<Duration>,
    newline_at: Instant,
    /// CPU time of each CPU when the execution began.
    idle_since: Option<(IdleProfile, Vec<CpuTimes>)>,
}

impl FioReport {
    /// # Errors
    /// In words, when the file for reports cannot be made.
    fn create(style: &FioStyle, outputs: &Outputs) -> Result<Self, String> {
        status::answer_by_report();
        let open = |path| outputs.open_named(path, Opening::Replace);
        Ok(Self {
            face: report::fio::Face::new(style.face),
            trace: Trace::new(style.beside.topics.clone()),
            output: style.output.as_deref().map(open).transpose()?,
            status_line: None,
            shown: 0,
            newline: style.newline_ns.map(Duration::from_nanos),
            newline_at: Instant::now(),
            idle_since: (style.idle_profile)
                .map(|profile| (profile, host::cpu_times_each(&SysRoot::real()))),
        })
    }

    fn tell_idleness(&mut self) {
        let Some((profile, since)) = &self.idle_since else {
            return;
        };
        let now = host::cpu_times_each(&SysRoot::real());
        let cpus = now.iter().zip(since);
        self.face.set_idleness(Idleness {
            profile: *profile,
            cpus: cpus.map(|(now, since)| now.since(since)).collect(),
        });
    }

    /// Reports what is running, as it stands.
    fn show_now(&mut self) -> io::Result<()> {
        let report = self.face.report();
        match &mut self.output {
            Some(output) => output.write_all(report.as_bytes()),
            None => {
                out!("{report}");
                Ok(())
            }
        }
    }

    /// Puts the newest status line in the place of the one before.
    fn show_status(&mut self) {
        let Some(line) = self.status_line.take() else {
            return;
        };
        let length = line.chars().count();
        let width = self.shown.max(length);
        let ends = self
            .newline
            .is_some_and(|length| self.newline_at.elapsed() >= length);
        Channel::Out.over(&line, width, ends);
        self.shown = length;
        if ends {
            (self.shown, self.newline_at) = (0, Instant::now());
        }
    }
}

impl Listener for FioReport {
    fn on_event(&mut self, event: &Event) -> Result<Vec<String>, SinkError> {
        let mut lines = self.trace.on_event(event);
        if matches!(event, Event::ExecutionFinished(_)) {
            self.tell_idleness();
        }
        let printed = self.face.on_event(event);
        self.status_line = printed.status_line;
        // As in fio: a file for reports holds nothing else, so that programs can read it.
        err!("{}", printed.messages);
        match &mut self.output {
            Some(output) => {
                let written = output.write_all(printed.report.as_bytes());
                written.map_err(unwritten)?;
            }
            None => lines.extend(printed.report.lines().map(str::to_owned)),
        }
        Ok(lines)
    }

    fn on_shown(&mut self, event: &Event) -> Result<(), SinkError> {
        self.show_status();
        tell_notes(event);
        // The last event brings the whole report anyway.
        if status::takes_question() && !matches!(event, Event::ExecutionFinished(_)) {
            self.show_now().map_err(unwritten)?;
        }
        Ok(())
    }
}

fn unwritten(error: io::Error) -> SinkError {
    SinkError(format!("the file for reports: {error}"))
}
