//! What something that happened during a run did to it: how it was before, and when it was so again. Judged at the resolution
//! of the intervals.
use crate::answer::median;
use crate::course::Course;
use crate::courses::PartCourses;
use crate::moment::{
    BEFORE_NS_LEAST, LATE_NS, Moment, Step, WINDOW_NS, Window, note_pause, percentile_ns, step,
    windows,
};
use crate::standstill::{Mark, Standstill, Standstills};
use crate::words::{counted, lasted, span};
use measure::{LatencyFigures, RunTotals};
use plan::Load;
use plan::TargetId;
use std::fmt::Write;

/// As before for so long is normal again.
const HELD_NS: u64 = 10_000_000_000;

/// How far nine in ten windows may lie from what was before, and the others at most twice as far, as chance moves some of many:
/// the rate by this share or so many standard deviations, the median by this share, and the p99 by this factor of what all but
/// a few of the windows before had.
const LIKE_SHARE: f64 = 0.9;
const TIMES_NEAR: f64 = 2.0;
const RATE_SHARE: f64 = 0.05;
const RATE_DEVIATIONS: f64 = 3.0;
const MEDIAN_SHARE: f64 = 0.2;
const P99_FACTOR: f64 = 2.0;
const P99_WINDOWS_SHARE: f64 = 0.95;

const LATE_FACTOR: u64 = 10;

/// What happened in a run beside its I/O, and what that did to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Happened {
    /// What was marked while it was going.
    pub marks: Vec<Mark>,
    /// The text of the one that led to what happened.
    pub(crate) lead: Option<String>,
    /// The longest time without a success; `None` where all targets answered all the time, and where nobody told.
    pub standstill: Option<Standstill>,
    /// For how long a target was without a success because this process did not run, in nanoseconds.
    pub own_pause_ns: u64,
    /// I/Os that failed in the whole run, its warm-up among it, and in words where, why and when first.
    pub failed: u64,
    pub(crate) failed_text: String,
    /// What each job and each target did by itself.
    pub(crate) parts: PartCourses,
    /// Whether I/Os were queued by calls that return before they are done (io_uring, native AIO).
    pub is_queued: bool,
    /// What came after a mark, a stall or a step; `None` without one.
    pub recovery: Option<Recovery>,
    /// Of a run in which something happened, in order.
    pub phases: Vec<Phase>,
    /// Where it was marked several times.
    pub cycles: Vec<Cycle>,
}

impl Happened {
    /// Of a run that began then. Where the rate is asked to change, a step of latency says nothing.
    pub(crate) fn of(
        mut moments: Vec<Moment>,
        (standstill, standstills): (Option<Standstill>, &Standstills),
        marks: Vec<Mark>,
        totals: &RunTotals,
    ) -> Self {
        let begun_unix_ns = totals.started.unix_ns;
        let is_one_rate = !matches!(totals.started.load, Load::Steps { .. });
        let since_start = |mark: &Mark| (mark.unix_ns - begun_unix_ns, mark.text.clone());
        let of_run: Vec<(u64, String)> = marks.iter().map(since_start).collect();
        if let Some(last) = moments.last_mut() {
            // What was out at the end, with its age or when it came.
            let out = totals.unreturned.iter().chain(&totals.late);
            last.add(&out.map(|one| one.response_ns).collect::<Vec<u64>>());
        }
        for (_, pause) in &totals.pauses {
            note_pause(&mut moments, pause);
        }
        let step = step(&moments).filter(|_| is_one_rate);
        let stall = standstill.as_ref().filter(|still| still.is_stall);
        let stall = stall.map(|still| still.gap);
        let course = Course::of(&moments, (stall, standstills), &of_run, step);
        let recovery = course.as_ref().map(|course| Recovery {
            unanswered: totals.unreturned.len() as u64,
            never_sent: totals
                .finished
                .as_ref()
                .map_or(0, |finished| finished.unsent),
            ..recovery(&moments, course, step)
        });
        let phases = course.iter().zip(&recovery);
        let phases =
            phases.flat_map(|(course, recovery)| phases_of(&moments, course, recovery.again));
        let phases: Vec<Phase> = phases.collect();
        let cycles = course.as_ref().map_or_else(Vec::new, |course| {
            cycles(&moments, course, standstills, &of_run)
        });
        Self {
            cycles,
            lead: course.and_then(|course| course.lead(&of_run)),
            marks,
            standstill,
            own_pause_ns: 0,
            failed: 0,
            parts: PartCourses::default(),
            is_queued: false,
            failed_text: String::new(),
            recovery,
            phases,
        }
    }
}

impl Happened {
    /// How long nothing succeeded, where that was a stall.
    pub(crate) fn stall_ns(&self) -> Option<u64> {
        let stall = self.standstill.as_ref().filter(|still| still.is_stall);
        stall.map(Standstill::length_ns)
    }

    /// When targets stood still, from and to since the start of the run.
    pub(crate) fn stalls(&self) -> Vec<(u64, u64)> {
        let targets = self.standstill.iter().flat_map(|still| &still.by_target);
        let stalls = targets.filter(|target| target.is_stall);
        stalls.map(|one| (one.gap.from_ns, one.gap.to_ns)).collect()
    }

    /// What happened to a job on these targets, as far as it is known of a part of a run.
    pub(crate) fn of_job(&self, is_of_job: impl Fn(TargetId) -> bool) -> Self {
        let of_run = self.standstill.as_ref();
        let own = of_run.and_then(|still| still.of_targets(is_of_job));
        Self {
            standstill: own,
            is_queued: self.is_queued,
            ..Self::default()
        }
    }

    /// How long nothing succeeded, and what came after it.
    pub fn words(&self) -> String {
        let still = self.standstill.as_ref();
        let text = match still.filter(|still| still.is_stall) {
            Some(still) => still.words(),
            None => {
                let after = self.lead.as_ref();
                let after = after.map_or(String::new(), |text| format!(" after `{text}`"));
                let most = still.map_or(String::new(), |still| {
                    format!(" ({} without a success at most)", lasted(still.length_ns()))
                });
                format!("I/O did not stand still{after}{most}")
            }
        };
        match &self.recovery {
            Some(recovery) => format!("{text}; {}", recovery.words()),
            None => text,
        }
    }

    /// Where the course of the run is not known in single intervals.
    pub(crate) fn of_sums(mut self) -> Self {
        let unknown = Again::Unknown("the run is too long to be followed in single intervals");
        if let Some(recovery) = &mut self.recovery {
            (recovery.again, recovery.caught_up_ns) = (unknown, None);
        }
        self.cycles
            .iter_mut()
            .for_each(|cycle| cycle.again = unknown);
        self.phases.clear();
        self
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// What is counted from, since the start of the run: the mark that led to what happened, else its beginning.
    pub zero_ns: u64,
    pub is_from_mark: bool,
    /// For how long nothing succeeded then, where that was a stall.
    pub still_ns: Option<u64>,
    /// Where latency alone tells that something happened.
    pub step: Option<Step>,
    /// The longest response since then; of I/Os that never came back, their age.
    pub longest_ns: u64,
    /// Responses above [`Recovery::late_limit_ns`] since the first trouble of the run, and failures.
    pub late: u64,
    pub late_limit_ns: u64,
    pub failed: u64,
    /// Of the whole run: I/Os that never came back, and arrivals that were never sent.
    pub unanswered: u64,
    pub never_sent: u64,
    /// When no more arrivals waited than before, since zero; `None` where that is not seen.
    pub caught_up_ns: Option<u64>,
    pub again: Again,
}

/// A part of a run, by what happened in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub name: &'static str,
    /// Since the start of the run; to the borders of intervals.
    pub from_ns: u64,
    pub to_ns: u64,
    /// Successes per second.
    pub rate: f64,
    /// From when I/Os were due.
    pub response: LatencyFigures,
    pub errors: u64,
    /// Arrivals that waited to be sent at the end of an interval, at most.
    pub backlog: u64,
    /// Responses above 1, 5, 10, 30 and 60 s.
    pub above: [u64; LATE_NS.len()],
}

/// What came of one mark, until the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    pub text: String,
    /// Since the start of the run.
    pub at_ns: u64,
    /// The longest time without a success; `None` where there was none of 10 ms.
    pub still_ns: Option<u64>,
    pub again: Again,
    pub failed: u64,
}

/// Of each mark of a run, where there are several; all are compared with the same.
fn cycles(
    moments: &[Moment],
    course: &Course,
    standstills: &Standstills,
    marks: &[(u64, String)],
) -> Vec<Cycle> {
    if marks.len() < 2 {
        return Vec::new();
    }
    let end_ns = moments.last().map_or(0, |last| last.end_ns);
    let cycle = |place: usize| {
        let (at_ns, text) = &marks[place];
        let next_ns = marks.get(place + 1).map_or(end_ns, |(at_ns, _)| *at_ns);
        let gap = standstills.longest_in(*at_ns..next_ns);
        let own = course.of_mark(marks, place, gap, end_ns);
        Cycle {
            text: text.clone(),
            at_ns: *at_ns,
            still_ns: gap.map(|gap| gap.to_ns - gap.from_ns),
            again: again(moments, &own),
            failed: between(moments, *at_ns, next_ns)
                .iter()
                .map(|one| one.errors)
                .sum(),
        }
    };
    (0..marks.len()).map(cycle).collect()
}

/// Those that end in a span.
fn between(moments: &[Moment], from_ns: u64, to_ns: u64) -> &[Moment] {
    let place = |ns: u64| moments.partition_point(|moment| moment.end_ns <= ns);
    let (from, to) = (place(from_ns), place(to_ns));
    &moments[from..to.max(from)]
}

/// The phases of a run in which something happened: before, without a success, until it was normal again, and after. They
/// follow each other without a hole.
fn phases_of(moments: &[Moment], course: &Course, again: Again) -> Vec<Phase> {
    let end_ns = moments.last().map_or(0, |last| last.end_ns);
    let zero_ns = course.zero_ns;
    let (still_from, still_to) = match course.stall {
        Some(gap) => (gap.from_ns, gap.to_ns.min(end_ns)),
        None => (zero_ns, zero_ns),
    };
    let normal_ns = match again {
        Again::Normal { after_ns } => (zero_ns + after_ns).max(still_to),
        _ => still_to,
    };
    let borders = [
        ("before", course.before_ns.min(still_from)),
        ("earlier", zero_ns.min(still_from)),
        ("until it stood still", still_from),
        ("stood still", still_to),
        ("until normal", normal_ns),
        ("after", course.until_ns),
        ("later", end_ns),
    ];
    let mut from_ns = 0;
    let spans = borders.map(|(name, to_ns)| {
        let span = (name, from_ns, to_ns.max(from_ns));
        from_ns = span.2;
        span
    });
    let phase = |(name, from_ns, to_ns): (&'static str, u64, u64)| {
        // What lies in both has most of it in one.
        let is_in = |one: &&Moment| (from_ns..to_ns).contains(&(one.start_ns / 2 + one.end_ns / 2));
        let all: Vec<&Moment> = moments.iter().filter(is_in).collect();
        let (first, last) = (all.first()?, all.last()?);
        let operations: u64 = all.iter().map(|one| one.operations).sum();
        let length_ns: u64 = all.iter().map(|one| one.length_ns()).sum();
        Some(Phase {
            name,
            from_ns: first.start_ns,
            to_ns: last.end_ns,
            rate: operations as f64 * 1e9 / length_ns as f64,
            response: LatencyFigures::sum(all.iter().map(|one| &one.response)),
            errors: all.iter().map(|one| one.errors).sum(),
            backlog: all.iter().map(|one| one.backlog).max().unwrap_or(0),
            above: std::array::from_fn(|limit| all.iter().map(|one| one.above[limit]).sum()),
        })
    };
    spans.into_iter().filter_map(phase).collect()
}

/// Whether the run was as before in the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Again {
    /// So long after zero.
    Normal { after_ns: u64 },
    /// Not until the end: its last seconds beside what was before, as factors.
    Degraded {
        median: f64,
        rate: f64,
        p99: f64,
        /// Whether the rate is farther off than it was before by itself.
        is_rate_off: bool,
    },
    /// Why it is not known.
    Unknown(&'static str),
}

/// What all but a few do not exceed; zero without values.
fn most_of(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * P99_WINDOWS_SHARE) as usize;
    values.get(place).copied().unwrap_or(0.0)
}

/// How it was before.
struct Usual {
    rate: f64,
    rate_off: f64,
    median_ns: f64,
    p99_ns: f64,
    p99_ns_most: f64,
}

impl Usual {
    fn of(windows: &[Window]) -> Self {
        let of = |of: fn(&Window) -> f64| windows.iter().map(of).collect::<Vec<f64>>();
        let rates = of(|one| one.rate);
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let deviation = (squares / (rates.len() - 1).max(1) as f64).sqrt();
        Self {
            rate: mean,
            rate_off: (RATE_SHARE * mean).max(RATE_DEVIATIONS * deviation),
            median_ns: median(of(|one| one.median_ns)),
            p99_ns: median(of(|one| one.p99_ns)),
            p99_ns_most: P99_FACTOR * most_of(of(|one| one.p99_ns)),
        }
    }

    /// Whether a window lies within so many times what is allowed.
    fn is_within(&self, times: f64, window: &Window) -> bool {
        (window.rate - self.rate).abs() <= times * self.rate_off
            && (window.median_ns - self.median_ns).abs() <= times * MEDIAN_SHARE * self.median_ns
            && window.p99_ns <= times * self.p99_ns_most
    }

    /// Whether that is so from the first of these windows on until `until_ns`.
    fn is_held(&self, windows: &[Window], until_ns: u64) -> bool {
        let all = windows.partition_point(|window| window.end_ns <= until_ns);
        let all = &windows[..all];
        let like = all.iter().filter(|window| self.is_within(1.0, window));
        all.iter().all(|window| self.is_within(TIMES_NEAR, window))
            && like.count() as f64 >= LIKE_SHARE * all.len() as f64
    }
}

fn recovery(moments: &[Moment], course: &Course, step: Option<Step>) -> Recovery {
    let zero_ns = course.zero_ns;
    let before = between(moments, 0, course.before_ns);
    let usual = LatencyFigures::sum(before.iter().map(|one| &one.response));
    let late = LATE_NS
        .iter()
        .position(|limit_ns| *limit_ns >= LATE_FACTOR * percentile_ns(&usual, 99.9));
    let late = late.unwrap_or(LATE_NS.len() - 1);
    let usual_backlog = before.iter().map(|one| one.backlog).max().unwrap_or(0);
    let waits = |one: &Moment| one.backlog > usual_backlog;
    let after = between(moments, zero_ns, course.until_ns);
    let last_waiting = after.iter().rposition(waits);
    let caught_up = last_waiting.map_or(Some(zero_ns), |last| {
        after.get(last + 1).map(|_| after[last].end_ns)
    });
    let all = between(moments, course.before_ns, u64::MAX);
    Recovery {
        zero_ns,
        is_from_mark: course.is_from_mark,
        still_ns: course.stall.map(|gap| gap.to_ns - gap.from_ns),
        step,
        longest_ns: all.iter().map(|one| one.response.max_ns).max().unwrap_or(0),
        late: all.iter().map(|one| one.above[late]).sum(),
        late_limit_ns: LATE_NS[late],
        failed: all.iter().map(|one| one.errors).sum(),
        unanswered: 0,
        never_sent: 0,
        // Slots may hold all that waits while nothing succeeds.
        caught_up_ns: caught_up.map(|at_ns| at_ns.max(answered_ns(course)) - zero_ns),
        again: again(moments, course),
    }
}

fn answered_ns(course: &Course) -> u64 {
    course.stall.map_or(0, |gap| gap.to_ns)
}

/// Whether it was as before within a course. While Fathom itself did not run, nobody saw when it was.
fn again(moments: &[Moment], course: &Course) -> Again {
    let again = seen_again(moments, course);
    let until_ns = match again {
        Again::Normal { after_ns } => course.zero_ns + after_ns,
        _ => course.until_ns,
    };
    let mut meanwhile = between(moments, course.zero_ns, until_ns).iter();
    match meanwhile.any(|one| one.is_own_pause) {
        true => Again::Unknown("Fathom itself stood still meanwhile"),
        false => again,
    }
}

/// The same, as intervals show it: not before the end of its standstill.
fn seen_again(moments: &[Moment], course: &Course) -> Again {
    let length_ns = |all: &[Moment]| all.iter().map(Moment::length_ns).sum::<u64>();
    let before = between(moments, 0, course.before_ns);
    let after = between(moments, course.zero_ns, course.until_ns);
    let (usual, then) = (windows(before), windows(after));
    // That needs nothing to compare it with.
    let end_ns = after.last().map_or(0, |last| last.end_ns);
    let at_end = after.iter().filter(|one| one.start_ns + HELD_NS >= end_ns);
    let is_dead = { at_end }.all(|one| one.operations == 0);
    if is_dead && length_ns(after) >= HELD_NS {
        return Again::Degraded {
            median: 0.0,
            rate: 0.0,
            is_rate_off: true,
            p99: 0.0,
        };
    }
    if length_ns(before) < BEFORE_NS_LEAST || usual.is_empty() {
        return Again::Unknown("less than 30 s were measured before");
    }
    let usual = Usual::of(&usual);
    let end_ns = then.last().map_or(0, |last| last.end_ns);
    let is_held = |from: usize| {
        let until_ns = then[from].start_ns + HELD_NS;
        until_ns <= end_ns
            && usual.is_within(1.0, &then[from])
            && usual.is_held(&then[from..], until_ns)
    };
    // An interval that holds the moment itself is of both times.
    let least_ns = course.zero_ns.max(answered_ns(course));
    let first = (0..then.len()).find(|from| then[*from].start_ns >= least_ns && is_held(*from));
    if let Some(from) = first {
        let after_ns = then[from].start_ns - course.zero_ns;
        return Again::Normal { after_ns };
    }
    if length_ns(after) < HELD_NS {
        return Again::Unknown("less than 10 s were measured after it");
    }
    let last: Vec<&Window> = then
        .iter()
        .filter(|window| window.start_ns + HELD_NS >= end_ns)
        .collect();
    let of = |of: fn(&Window) -> f64| median(last.iter().map(|window| of(window)).collect());
    let rate = of(|one| one.rate);
    Again::Degraded {
        median: of(|one| one.median_ns) / usual.median_ns.max(1.0),
        rate: rate / usual.rate.max(f64::MIN_POSITIVE),
        is_rate_off: (rate - usual.rate).abs() > usual.rate_off,
        p99: last.iter().map(|one| one.p99_ns).fold(0.0, f64::max) / usual.p99_ns.max(1.0),
    }
}

impl Recovery {
    /// When it was as before, and what it cost.
    pub(crate) fn words(&self) -> String {
        let since = match self.is_from_mark {
            true => "after it",
            false => "after that began",
        };
        let again = match self.again {
            Again::Normal { after_ns }
                if after_ns < WINDOW_NS && self.late == 0 && self.still_ns.is_none() =>
            {
                "rate and latency stayed as before".to_owned()
            }
            Again::Normal { after_ns } => format!("normal again {} {since}", lasted(after_ns)),
            Again::Degraded { rate, .. } if rate <= 0.0 => {
                "nothing succeeded any more until the end".to_owned()
            }
            Again::Degraded {
                median,
                rate,
                is_rate_off: true,
                ..
            } => format!(
                "{} until the end: the rate was {rate:.2} ×, the median response {median:.2} × what it had been",
                if rate < 1.0 {
                    "degraded"
                } else {
                    "not as before"
                }
            ),
            Again::Degraded { median, .. } if median < 1.0 - MEDIAN_SHARE => {
                format!("faster until the end: {median:.2} × the median response that it had been")
            }
            Again::Degraded { median, .. } if (median - 1.0).abs() > MEDIAN_SHARE => {
                format!("degraded at {median:.2} × the median response until the end")
            }
            Again::Degraded { p99, .. } => format!(
                "not as before for 10 s in a row until the end, with a p99 of up to {p99:.1} × what it had been"
            ),
            Again::Unknown(reason) => format!("whether it was normal again is not known: {reason}"),
        };
        let late = match self.late {
            0 => "no I/O".to_owned(),
            late => counted(late, "I/O"),
        };
        let late_limit = span(self.late_limit_ns);
        let failed = match self.failed {
            0 => "none failed".to_owned(),
            failed => format!("{failed} failed"),
        };
        let mut text = format!("{again}; {late} took more than {late_limit}, {failed}");
        // What was due at the end of a run that is as before has nothing to do with it.
        let is_over = matches!(self.again, Again::Normal { .. });
        let never_sent = if is_over { 0 } else { self.never_sent };
        for (count, what) in [
            (self.unanswered, "never answered"),
            (never_sent, "never sent"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text
    }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
