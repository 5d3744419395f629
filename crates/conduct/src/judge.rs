//! What a job wants judged besides failures: operations that do not return, and shares that were
//! missed.
use crate::Answer;
use crate::execution::{Conductor, Going, SinkError};
use measure::{FinishReason, RunTotals};
use plan::{Nanos, RunKind, Severity};

impl Conductor<'_> {
    /// Whether some operation has been in flight for longer than the job allows.
    pub(crate) fn check_hang(
        &mut self,
        going: &mut Going<'_>,
    ) -> Result<Option<FinishReason>, SinkError> {
        let Some(rule) = &self.plan.plan.steering.hang else {
            return Ok(None);
        };
        let Answer::Told(outstanding) = self.host.outstanding() else {
            return Ok(None);
        };
        going.hearing.note_in_flight();
        let oldest = outstanding.into_iter().next();
        let Some(oldest) = oldest.filter(|oldest| oldest.age_ns >= rule.after.0) else {
            return Ok(None);
        };
        let message = format!(
            "an operation ({}) of {} bytes at {} of `{}` has not returned for {}",
            oldest.operation.name(),
            oldest.length,
            oldest.offset,
            self.plan.plan.target(oldest.target).name,
            Nanos(oldest.age_ns),
        );
        self.remark(
            Some(going.number),
            Severity::Warning,
            "hang",
            message.clone(),
        )?;
        if let Some(command) = &rule.command {
            let place = (oldest.target, oldest.offset, oldest.length);
            self.command_at(going, command, place)?;
        }
        Ok(Some(FinishReason::Failed { message }))
    }

    /// How a run missed the shares asked of it by more than the job allows. Flat out there is no
    /// rate to share.
    pub(crate) fn find_missed_shares(&self, totals: &RunTotals) -> Option<String> {
        let rule = self.plan.plan.steering.shares.as_ref()?;
        let started = &totals.started;
        if started.kind != RunKind::Measure || !started.is_open_loop {
            return None;
        }
        let shares = analysis::shares(totals, &rule.label);
        let most = rule.distance_pct_max;
        let is_missed =
            |share: &&analysis::Share| (share.asked_pct - share.observed_pct).abs() > most;
        let told = |share: &analysis::Share| {
            format!(
                "`{}` took {:.2} % where {:.2} % was asked",
                share.name, share.observed_pct, share.asked_pct
            )
        };
        let missed: Vec<String> = shares.iter().filter(is_missed).map(told).collect();
        (!missed.is_empty()).then(|| {
            format!(
                "shares of run `{}` were missed by more than {most} %: {}",
                started.name,
                missed.join(", ")
            )
        })
    }

    /// A run that missed its shares is the last one.
    pub(crate) fn judge_shares(&mut self, reason: FinishReason) -> FinishReason {
        match (reason, self.missed_shares.take()) {
            (FinishReason::Complete | FinishReason::ReachedTotal, Some(message)) => {
                FinishReason::Failed { message }
            }
            (reason, _) => reason,
        }
    }
}
