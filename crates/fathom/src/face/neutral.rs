//! The verbs of Fathom: progress while it runs, a table at the end.
use super::{Ended, Face, Job, Listener};
use crate::arguments::StrictOptions;
use crate::ending::{self, Told};
use crate::exit::Exit;
use crate::limits::Limit;
use crate::progress::Progress;
use crate::{fill, launch, printing};
use conduct::{Outcome, SinkError};
use measure::Event;
use plan::BoundPlan;
use report::Conclusion;

/// Progress on standard error, a table and the verdict at the end.
#[derive(Default)]
pub struct Neutral {
    strict: StrictOptions,
    /// Of a failover, in which failed operations are what is looked at.
    limits: Option<Vec<Limit>>,
    has_no_notes: bool,
}

impl Neutral {
    pub fn strict(strict: &StrictOptions) -> Self {
        Self {
            strict: strict.clone(),
            ..Self::default()
        }
    }

    /// For a job whose runs print the notes themselves.
    pub fn without_notes() -> Self {
        Self {
            has_no_notes: true,
            ..Self::default()
        }
    }

    pub fn of_failover(limits: Vec<Limit>) -> Self {
        Self {
            limits: Some(limits),
            ..Self::default()
        }
    }
}

struct Shown(Progress);

impl Face for Neutral {
    fn listeners(&self, job: &Job<'_>) -> Result<Vec<Box<dyn Listener>>, String> {
        Ok(vec![Box::new(Shown(progress(job.plan, job.runs_done)))])
    }

    fn tells_findings(&self) -> bool {
        !self.has_no_notes
    }

    fn judged(&self, exit: Exit, conclusion: &Conclusion) -> Exit {
        let exit = self.strict.exit(exit, conclusion);
        if exit != Exit::Fine {
            return exit;
        }
        let rows = || conclusion.rows.iter();
        let all = self.limits.iter().flatten();
        let beyond =
            all.flat_map(|limit| rows().filter_map(move |row| Some((limit, limit.beyond(row)?))));
        beyond.fold(Exit::Fine, |_, (limit, how)| {
            errln!("error: `--limit {}`: {how}", limit.text);
            Exit::Beyond
        })
    }

    fn has_failed(&self, outcome: &Outcome) -> bool {
        self.limits.is_none() && (outcome.errors > 0 || outcome.streams_failed > 0)
    }

    fn conclude(&self, ended: &Ended<'_>) {
        let folder = ended
            .folder
            .map(|folder| std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()));
        printing::table(&ended.conclusion.rows);
        if let Some(folder) = folder {
            if ended.are_outputs_whole {
                outln!("report:  {}", folder.join("report.html").display());
            }
            outln!("result:  {}", folder.join("result.fathom").display());
        }
        outln!(
            "seed:    {} (`--seed` repeats these addresses and arrival times)",
            ended.seed
        );
        ending::tell_unreturned(&ended.conclusion.totals, ended.plan, Told::AtOnce);
        ending::tell_late(&ended.conclusion.totals, ended.plan, false);
        if ended.exit == Exit::Fine {
            fill::tell(ended.fills);
        }
        printing::verdict(ended.conclusion);
    }
}

impl Listener for Shown {
    fn on_event(&mut self, _event: &Event) -> Result<Vec<String>, SinkError> {
        Ok(Vec::new())
    }

    fn on_shown(&mut self, event: &Event) -> Result<(), SinkError> {
        self.0.on_event(event);
        Ok(())
    }
}

fn progress(plan: &BoundPlan, but_first: usize) -> Progress {
    let bytes = launch::sized_bytes(plan, but_first, |_| true);
    Progress::new(launch::timed_seconds(plan, but_first), bytes)
}
