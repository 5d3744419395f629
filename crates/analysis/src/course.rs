//! Which moment of a run in which something happened all is counted from, and what that is compared with.
use crate::moment::{BEFORE_NS_LEAST, Moment, Step, WINDOW_NS};
use crate::standstill::{MARK_SLACK_NS, Standstills, is_like};
use measure::Gap;

/// How a run is followed. All times are since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Course {
    /// The mark that led to what happened, else the beginning of what happened.
    pub zero_ns: u64,
    pub is_from_mark: bool,
    /// The end of what all is compared with.
    pub before_ns: u64,
    /// The same is marked again then, or the run ends.
    pub until_ns: u64,
    /// The longest time without a success that began or went on then; only one that is a stall.
    pub stall: Option<Gap>,
}

impl Course {
    /// `None` where nothing happened: no mark, no stall, no step of the latency and no failure.
    pub fn of(
        moments: &[Moment],
        (stall, standstills): (Option<Gap>, &Standstills),
        marks: &[(u64, String)],
        step: Option<Step>,
    ) -> Option<Self> {
        let first_ns = marks.first().map_or(0, |(at_ns, _)| *at_ns);
        // What was over before anything was marked belongs to no mark.
        let stall = stall.filter(|gap| gap.to_ns > first_ns);
        let step_ns = step
            .map(|step| step.from_ns)
            .filter(|at_ns| *at_ns + WINDOW_NS > first_ns);
        let failed = moments
            .iter()
            .find(|one| one.end_ns > first_ns && one.errors > 0);
        // The latest moment at which somebody who caused it marked it.
        let latest_ns = stall
            .map(|gap| gap.from_ns + MARK_SLACK_NS)
            .or(step_ns.map(|at_ns| at_ns + WINDOW_NS))
            .or(failed.map(|one| one.end_ns));
        let cause = latest_ns
            .and_then(|latest_ns| marks.iter().rposition(|(at_ns, _)| *at_ns <= latest_ns));
        let place = cause.or((!marks.is_empty()).then_some(0));
        let begun_ns = stall.map(|gap| gap.from_ns).or(step_ns);
        let begun_ns = begun_ns.or(failed.map(|one| one.start_ns));
        let zero_ns = place.map(|place| marks[place].0).or(begun_ns)?;
        let alike = place.and_then(|place| marks.iter().find(|(_, text)| *text == marks[place].1));
        let troubles = [
            alike.map(|(at_ns, _)| *at_ns),
            stall.and_then(|gap| standstills.first_like(gap)),
            failed.map(|one| one.start_ns),
        ];
        let before_ns = troubles.into_iter().flatten().fold(zero_ns, u64::min);
        let end_ns = moments.last().map_or(0, |last| last.end_ns);
        Some(Self {
            zero_ns,
            is_from_mark: place.is_some(),
            before_ns: if before_ns < BEFORE_NS_LEAST {
                zero_ns
            } else {
                before_ns
            },
            until_ns: place.map_or(end_ns, |place| again_ns(marks, place, end_ns)),
            stall,
        })
    }

    /// What was marked when it begins.
    pub fn lead(&self, marks: &[(u64, String)]) -> Option<String> {
        let mut marks = marks.iter().filter(|_| self.is_from_mark);
        let lead = marks.find(|(at_ns, _)| *at_ns == self.zero_ns);
        lead.map(|(_, text)| text.clone())
    }

    /// That of one mark, which is compared with the same. `gap` is the longest until the next mark.
    pub fn of_mark(
        &self,
        marks: &[(u64, String)],
        place: usize,
        gap: Option<Gap>,
        end_ns: u64,
    ) -> Self {
        let is_like = |gap: &Gap| self.stall.is_some_and(|worst| is_like(gap, &worst));
        Self {
            zero_ns: marks[place].0,
            is_from_mark: true,
            before_ns: self.before_ns,
            until_ns: again_ns(marks, place, end_ns),
            stall: gap.filter(is_like),
        }
    }
}

/// When the same is marked again.
fn again_ns(marks: &[(u64, String)], place: usize, end_ns: u64) -> u64 {
    let text = &marks[place].1;
    let next = marks[place + 1..].iter().find(|(_, other)| other == text);
    next.map_or(end_ns, |(at_ns, _)| *at_ns)
}
