//! What failed in the jobs of fio: which failures a job bore and which one ended it, and the words in which fio 3.33
//! says where it met them. Programs look for those words; begin with [`Faults`].
use super::losses::Loss;
use lang::fio::ReportOptions;
use measure::IoFailure;
use plan::{BoundPlan, Tolerance};
use std::borrow::Cow;
use std::collections::BTreeMap;

const EIO: i32 = 5;
const ECONNRESET: i32 = 104;
const ETIMEDOUT: i32 = 110;

/// One kind of failure of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub errno: i32,
    pub text: String,
    /// File and function of fio; `None` where it keeps none.
    place: Option<Place>,
}

type Place = (Cow<'static, str>, Cow<'static, str>);

/// The failures of one job, of which the first of each kind is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// What ended the job.
    fatal: Option<Fault>,
    /// The first one that is counted.
    counted: Option<Fault>,
    /// The first one that it bore.
    borne: Option<Fault>,
    /// Failures that were told one by one; those of slow operations, which did their work, are nowhere else.
    told: u64,
    /// Of those, the ones that are not among the errors that are counted for a job.
    uncounted: u64,
}

/// What a failure is to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bearing {
    IsBorne,
    /// And is among the errors that are counted for the job.
    EndsJobCounted,
    EndsJob,
}

/// What each stream of an execution bears, by name.
#[derive(Debug, Default)]
pub(super) struct Tolerances(BTreeMap<String, Tolerance>);

impl Tolerances {
    pub(super) fn of(bound: &BoundPlan) -> Self {
        let streams = bound.plan.templates.iter().flat_map(|one| &one.streams);
        let tolerances = streams.filter_map(|stream| {
            let tolerance = stream.flow.tolerance.as_ref()?;
            Some((stream.name.clone(), tolerance.clone()))
        });
        Self(tolerances.collect())
    }

    pub(super) fn bearing(&self, stream: &str, failure: &IoFailure) -> Bearing {
        let Some(own) = self.0.get(stream) else {
            return Bearing::EndsJob;
        };
        match own.covers(failure.operation, failure.errno) {
            true => Bearing::IsBorne,
            // fio counts by the kind of I/O that a job goes on for, whatever the error.
            false if own.covers_kind(failure.operation, failure.errno) => Bearing::EndsJobCounted,
            false => Bearing::EndsJob,
        }
    }
}

impl Fault {
    fn of(failure: &IoFailure, options: &ReportOptions, is_borne: bool) -> Self {
        Self {
            errno: failure.errno,
            text: plain_error(&failure.message),
            place: place(failure, options, is_borne)
                .map(|(file, function)| (file.into(), function.into())),
        }
    }

    /// A rate below the floor of a job.
    fn below_floor() -> Self {
        Self {
            errno: EIO,
            text: "Input/output error".to_owned(),
            place: Some(("backend.c:1131".into(), "check_min_rate".into())),
        }
    }

    /// The end of what is heard of a host, which stands in the place of the file.
    pub(super) fn of_loss(loss: &Loss) -> Self {
        Self {
            errno: ECONNRESET,
            text: "Connection reset by peer".to_owned(),
            place: Some((loss.host.clone().into(), loss.words().into())),
        }
    }

    /// What stands in brackets behind `err=`.
    pub(super) fn details(&self) -> String {
        self.place
            .as_ref()
            .map_or_else(String::new, |(file, function)| {
                format!("file:{file}, func={function}, error={}", self.text)
            })
    }

    /// The line with which a job ends.
    pub(super) fn line(&self, pid: u32) -> String {
        format!("fio: pid={pid}, err={}/{}\n", self.errno, self.details())
    }
}

fn place(
    failure: &IoFailure,
    options: &ReportOptions,
    is_borne: bool,
) -> Option<(&'static str, &'static str)> {
    let is_sync = is_sync(options);
    match (failure.misfit.is_some(), is_borne) {
        (true, true) => None,
        (true, false) if is_sync => Some(("io_u.c:2152", "io_u_sync_complete")),
        (true, false) => Some(("io_u.c:2190", "io_u_queued_complete")),
        (false, _) if is_too_slow(failure, options) => {
            Some(("io_u.c:1432", "max latency exceeded"))
        }
        (false, true) if !options.tells_ignored => {
            is_sync.then_some(("engines/sync.c:126", "xfer"))
        }
        (false, _) => Some(("io_u.c:1876", "io_u error")),
    }
}

fn is_sync(options: &ReportOptions) -> bool {
    let engine = options.engine.as_str();
    matches!(engine, "psync" | "sync" | "vsync" | "pvsync" | "pvsync2")
}

/// Whether the operation did its work, and took longer than the job allows.
fn is_too_slow(failure: &IoFailure, options: &ReportOptions) -> bool {
    failure.errno == ETIMEDOUT && options.bounds_latency
}

impl Faults {
    /// Takes a failure; says whether it is the one that ended the job.
    pub(super) fn note(
        &mut self,
        failure: &IoFailure,
        options: &ReportOptions,
        bearing: Bearing,
    ) -> bool {
        self.told += 1;
        let is_borne = bearing == Bearing::IsBorne;
        let fault = Fault::of(failure, options, is_borne);
        // Queues of fio end a job before they count its last failure.
        let is_queued = failure.misfit.is_none() && !is_sync(options);
        if bearing == Bearing::EndsJob || bearing == Bearing::EndsJobCounted && is_queued {
            self.uncounted += 1;
        } else {
            self.counted.get_or_insert_with(|| fault.clone());
        }
        let place = if is_borne {
            &mut self.borne
        } else {
            &mut self.fatal
        };
        let is_first = place.is_none();
        place.get_or_insert(fault);
        is_first && !is_borne
    }

    /// Takes the end of a job whose rate was below its floor; says whether nothing had ended it before.
    pub(super) fn note_below_floor(&mut self) -> bool {
        let is_end = self.fatal.is_none();
        self.fatal.get_or_insert_with(Fault::below_floor);
        is_end
    }

    /// Takes the loss of the host of the job.
    pub(super) fn note_loss(&mut self, loss: &Loss) {
        self.fatal.get_or_insert_with(|| Fault::of_loss(loss));
    }

    /// What is told at the head of the job.
    pub(super) fn first(&self) -> Option<&Fault> {
        self.fatal.as_ref().or(self.borne.as_ref())
    }

    /// The first one that is counted.
    pub(super) fn first_counted(&self) -> Option<&Fault> {
        self.counted.as_ref()
    }

    /// What is counted of a job in whose figures `errors` are.
    pub(super) fn counted(&self, errors: u64) -> u64 {
        errors.max(self.told).saturating_sub(self.uncounted)
    }
}

/// An error in the words of the system, without its number.
pub(super) fn plain_error(message: &str) -> String {
    message
        .split(" (os error")
        .next()
        .unwrap_or(message)
        .to_owned()
}
