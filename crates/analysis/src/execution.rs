//! What an execution comes to: one sentence from the words of its runs. Begin with [`Verdict`].
use crate::advice::{Compared, next};
use crate::curve::{CurvePoint, KNEE_POINTS_LEAST, SAMPLES_FOR_KNEE, knee};
use crate::jobs::JobFigures;
use crate::recovery::Happened;
use crate::saturation::saturation;
use crate::series::{RunOutline, SeriesKind, series};
use crate::verdict::{Judged, Word};
use crate::words::{bounded, latency, percent, rate};
use plan::{Label, RunKind};
use std::collections::{BTreeMap, BTreeSet};

/// Of twice the slots: less is no gain.
const FLAT_GAIN: f64 = 0.03;

/// What is said where no other word leads.
const CLEAN: &str = "all checks passed; caches inside the storage cannot be seen from the host";

/// A run that is over, as the verdict on an execution needs it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    /// With its loop values.
    pub name: String,
    pub judged: Judged,
    pub outline: RunOutline,
}

/// What an execution comes to: how fast, whether that can be believed, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The run whose figures it gives: its place among the runs that are over.
    pub lead: usize,
    pub word: Word,
    /// All words that make measured runs doubtful, the one that leads among them; each once, in their order.
    pub doubts: Vec<Word>,
    /// What took the CPUs, where the generator was bound by that.
    pub others: Option<String>,
    /// How long I/O stood still and when it was normal again, where somebody marked what happened.
    pub failure: Option<String>,
    /// The rate and the latency that lead, and where they were reached.
    pub speed: String,
    /// Whether that can be believed, with the figures that say so.
    pub belief: String,
    pub next: String,
}

impl Verdict {
    /// All of it on one line.
    pub fn text(&self) -> String {
        let failure = self.failure.as_ref();
        let failure = failure.map_or(String::new(), |failure| format!(" {failure}."));
        self.text_of_word() + &failure
    }

    /// Without what happened where something was marked.
    pub fn text_of_word(&self) -> String {
        let others = self.others.as_ref();
        let others = others.map_or(String::new(), |others| format!("{others}. "));
        let Self {
            speed,
            belief,
            next,
            ..
        } = self;
        let word = self.word.name();
        format!("{word}: {others}{speed}. {belief}. Next: {next}.")
    }
}

/// The verdict on runs; `None` where none of them measures. The fastest run that can be believed leads, on a curve the
/// fastest of its points; and of the words that make others doubtful the first.
pub(crate) fn verdict(runs: &[Heard]) -> Option<Verdict> {
    let measures = |run: &&Heard| run.outline.kind == RunKind::Measure;
    let measured: Vec<&Heard> = runs.iter().filter(measures).collect();
    let points = measured.iter().filter(|run| run.asked().is_some()).count();
    let fastest = |is_such: &dyn Fn(&Heard) -> bool| {
        let such = measured.iter().copied().filter(|run| is_such(run));
        such.max_by(|one, other| one.rate().total_cmp(&other.rate()))
    };
    let is_believed = |run: &Heard| run.judged.is_believed();
    let lead = fastest(&|run| is_believed(run) && (points < 2 || run.asked().is_some()))
        .or_else(|| fastest(&is_believed))
        .or_else(|| fastest(&|_| true))?;
    // That more was asked than can be had is what the end of a curve is for.
    let is_doubt = |run: &&&Heard| !is_believed(run) && !run.is_end_of_curve(lead);
    let doubts: Vec<&Heard> = measured.iter().filter(is_doubt).copied().collect();
    let findings = doubts.iter().flat_map(|run| &run.judged.findings);
    let words = findings.map(|one| one.word).filter(|word| word.is_doubt());
    let words: BTreeSet<Word> = words.collect();
    let worst = worst(&doubts, lead).unwrap_or(lead);
    let mut word = worst.judged.headline();
    let leading = worst.judged.leading();
    let mut text = leading.map_or(CLEAN, |one| &one.text).to_owned();
    let sweep = sweep(&measured, lead);
    let flat = sweep
        .as_ref()
        .and_then(|sweep| storage_bound(&measured, sweep));
    if let Some(flat) = flat.filter(|_| word == Word::ClosedLoop) {
        (word, text) = (Word::StorageBound, flat);
    }
    let of_sweep = sweep.as_ref().map(|sweep| {
        let points = sweep
            .iter()
            .map(|place| measured[*place].judged.point.clone());
        points.collect::<Vec<CurvePoint>>()
    });
    let saturated = of_sweep.and_then(|points| saturation(&points));
    let saturated = saturated.map(|one| one.words());
    let compared = match (points, sweep) {
        (2.., _) => Compared::Rates,
        (_, Some(_)) => Compared::Slots,
        _ => Compared::Nothing,
    };
    let failure = failure(&measured);
    let may_fail = measured.iter().any(|run| run.is_meant_to_fail());
    let is_meant = may_fail && is_of_failure(word);
    if is_meant && word == Word::Stalled {
        text.clear();
    }
    let like = doubts.iter().filter(|run| run.judged.headline() == word);
    let curve = curve_text(&measured).or(saturated);
    let curve = curve.map_or(String::new(), |text| format!("; {text}"));
    let hints = &worst.judged.hints;
    let others = hints.others_to_blame();
    let others = others.filter(|_| word == Word::GeneratorBound);
    let told = belief(lead, worst, &text, (like.count(), measured.len()));
    let place = runs.iter().position(|run| std::ptr::eq(run, lead));
    Some(Verdict {
        lead: place.expect("the run that leads is one of them"),
        word,
        doubts: words.into_iter().collect(),
        others: others.cloned(),
        failure,
        speed: lead.speed() + &curve,
        belief: if is_meant { held(&text) } else { told },
        next: match is_meant || (may_fail && word == Word::Clean) {
            true => after_failure(&measured).to_owned(),
            false => next(word, hints, (compared, worst.is_failover())),
        },
    })
}

/// Of figures of a run in which somebody made something fail.
fn held(text: &str) -> String {
    match text {
        "" => "Its averages hold what happened".to_owned(),
        text => format!("Its averages hold what happened: {text}"),
    }
}

fn after_failure(measured: &[&Heard]) -> &'static str {
    let mut all = measured.iter().map(|run| &run.judged.happened);
    match all.any(|happened| happened.cycles.len() > 1) {
        true => "see its phases in report.html, and how far its repetitions differ",
        false => "see its phases in report.html, and do it again: one failure alone says little",
    }
}

/// Whether a word tells what a failure does that somebody caused to see it.
fn is_of_failure(word: Word) -> bool {
    matches!(
        word,
        Word::Errors
            | Word::Stalled
            | Word::Unstable
            | Word::RateMissed
            | Word::Unserved
            | Word::Uneven
            | Word::Changed
            | Word::Unsteady
    )
}

/// Of the runs whose word comes first, the one that it takes most of; of equal ones the one that leads, or the earliest.
fn worst<'a>(doubts: &[&'a Heard], lead: &Heard) -> Option<&'a Heard> {
    let leading = doubts.iter().filter(|run| std::ptr::eq(**run, lead));
    let doubts = leading.chain(doubts).copied();
    doubts.min_by(|one, other| {
        let [one, other] = [one, other].map(|run| &run.judged);
        let words = one.headline().cmp(&other.headline());
        words.then_with(|| other.severity.total_cmp(&one.severity))
    })
}

/// What a user who marked a moment, or asked for what a failure costs, wants to know: how long nothing came back. Of several
/// runs that which stood still for longest tells.
fn failure(measured: &[&Heard]) -> Option<String> {
    let is_told = |run: &&&Heard| run.is_failover() || !run.judged.happened.marks.is_empty();
    let told = measured
        .iter()
        .filter(is_told)
        .map(|run| &run.judged.happened);
    // Of equal ones the first.
    told.rev()
        .max_by_key(|happened| happened.stall_ns())
        .map(Happened::words)
}

/// Where latency begins to rise on a curve, or why that is not known; nothing of less than two rates.
fn curve_text(measured: &[&Heard]) -> Option<String> {
    let all = measured.iter().filter(|run| run.asked().is_some());
    let all: Vec<&Judged> = all.map(|run| &run.judged).collect();
    if all.len() < 2 {
        return None;
    }
    let shown = all.iter().filter(|judged| not_shown(judged).is_none());
    let shown: Vec<CurvePoint> = shown.map(|judged| judged.point.clone()).collect();
    if let Some(knee) = knee(&shown) {
        let point = &shown[knee.point];
        return Some(format!(
            "the knee is at {} I/O/s, `{}`",
            rate(point.achieved_per_s),
            point.name
        ));
    }
    if shown.len() >= KNEE_POINTS_LEAST {
        return Some("no knee: latency rises evenly up to the highest rate".into());
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in all.iter().filter_map(|judged| not_shown(judged)) {
        *reasons.entry(reason).or_default() += 1;
    }
    let most = reasons.into_iter().max_by_key(|(_, count)| *count);
    Some(match most {
        Some((reason, count)) => format!("no knee: {count} of {} points {reason}", all.len()),
        None => format!(
            "no knee: it needs {KNEE_POINTS_LEAST} points that show the storage, and this curve has {}",
            shown.len()
        ),
    })
}

/// Why the latency of a point is not that of the storage at its rate.
fn not_shown(judged: &Judged) -> Option<&'static str> {
    let point = &judged.point;
    match judged.headline() {
        Word::CacheSuspect => Some("are cache-suspect"),
        Word::Sparse => Some("are sparse"),
        Word::Zeros => Some("read zeros"),
        Word::GeneratorBound => Some("are generator-bound"),
        Word::Stalled => Some("are stalled"),
        _ if point.is_generator_bound => Some("are generator-bound"),
        _ if point.is_missed() => Some("missed their rate"),
        Word::DepthBound => Some("are depth-bound"),
        _ if !point.shows_the_storage() => Some("had no free slot for a time"),
        _ if point.response.samples < SAMPLES_FOR_KNEE => Some("have too few samples"),
        _ => None,
    }
}

/// The places of the runs that differ from this one in their slots alone.
fn sweep(runs: &[&Heard], lead: &Heard) -> Option<Vec<usize>> {
    let outlines: Vec<RunOutline> = runs.iter().map(|run| run.outline.clone()).collect();
    let sweeps = series(&outlines).into_iter();
    let mut sweeps = sweeps.filter(|one| one.kind == SeriesKind::SlotSweep);
    let place = runs.iter().position(|run| std::ptr::eq(*run, lead))?;
    let sweep = sweeps.find(|of_sweep| of_sweep.runs.contains(&place))?;
    Some(sweep.runs)
}

/// Twice the slots or more bring next to nothing: in words, where that is so for the runs of a sweep.
fn storage_bound(runs: &[&Heard], sweep: &[usize]) -> Option<String> {
    let slots = |place: usize| runs[place].judged.point.slots;
    let most = sweep.iter().copied().max_by_key(|place| slots(*place))?;
    let fewer = sweep
        .iter()
        .copied()
        .filter(|place| slots(*place) * 2 <= slots(most));
    let fewer = fewer.max_by_key(|place| slots(*place))?;
    let gain = runs[most].rate() / runs[fewer].rate() - 1.0;
    (gain < FLAT_GAIN).then(|| {
        format!(
            "{} instead of {} slots changed the rate by {}{}, so the storage or a limit in front of it sets the rate",
            slots(most),
            slots(fewer),
            if gain < 0.0 { "-" } else { "" },
            percent(gain.abs())
        )
    })
}

/// A percentile that may not be known.
fn known(ns: Option<u64>) -> String {
    ns.map_or("-".to_owned(), |ns| latency(ns as f64))
}

fn p99_text(p99_ns: Option<u64>, bound_ns: Option<u64>) -> String {
    let Some(p99_ns) = p99_ns else {
        return "no response p99 recorded".to_owned();
    };
    let is_bound = bound_ns.is_some_and(|at| p99_ns >= at);
    format!(
        "a response p99 of {}",
        bounded(is_bound, latency(p99_ns as f64))
    )
}

fn belief(lead: &Heard, worst: &Heard, text: &str, (like, all): (usize, usize)) -> String {
    let also = match like {
        0 | 1 => String::new(),
        _ => format!(" ({like} of {all} measured runs are affected)"),
    };
    let place = match std::ptr::eq(lead, worst) {
        true => String::new(),
        false => format!("in `{}`, ", worst.name),
    };
    let is_unchecked = worst.judged.headline() == Word::NotChecked;
    match (lead.judged.is_believed(), worst.judged.is_believed()) {
        (true, true) => format!("It can be believed: {text}"),
        // Nothing speaks against it, and not enough for it.
        (_, false) if is_unchecked => format!("Not checked: {place}{text}{also}"),
        (true, false) => format!("Not all of it can be believed: {place}{text}{also}"),
        (false, _) => format!("It cannot be believed: {place}{text}{also}"),
    }
}

impl Heard {
    /// Whether somebody named what happened in it, or waited for it.
    fn is_meant_to_fail(&self) -> bool {
        let recovery = self.judged.happened.recovery.as_ref();
        recovery.is_some_and(|one| one.is_from_mark || self.is_failover())
    }

    /// Whether it is done to see what a failure costs.
    fn is_failover(&self) -> bool {
        Label::find(&self.outline.labels, Label::FAILOVER).is_some()
    }

    fn rate(&self) -> f64 {
        self.judged.point.achieved_per_s
    }

    fn asked(&self) -> Option<f64> {
        self.judged.point.asked_per_s
    }

    /// Whether it only asked for more than another run, which held its rate, has shown to be there.
    fn is_end_of_curve(&self, held: &Heard) -> bool {
        let is_beyond = self
            .asked()
            .zip(held.asked())
            .is_some_and(|(own, held)| own > held);
        let limits = [
            Word::DepthBound,
            Word::Unstable,
            Word::RateMissed,
            Word::Unserved,
        ];
        is_beyond && held.judged.is_believed() && limits.contains(&self.judged.headline())
    }

    /// Jobs that differ have no p99 in common: the worst of them leads, by name.
    fn speed_of_jobs(&self, worst: &JobFigures) -> String {
        format!(
            "slowest job `{}`: {} I/O/s with {}; {} I/O/s in all in `{}`",
            worst.name,
            rate(worst.rate_per_s),
            p99_text(worst.response.p99, worst.response_bound_ns),
            rate(self.judged.point.achieved_per_s),
            self.name
        )
    }

    fn speed(&self) -> String {
        let point = &self.judged.point;
        if point.operations == 0 {
            return format!("no I/O succeeded in `{}`", self.name);
        }
        if let Some(job) = &self.judged.worst_job {
            return self.speed_of_jobs(job) + &self.syncs();
        }
        format!(
            "{} I/O/s with {} in `{}`",
            rate(point.achieved_per_s),
            p99_text(point.response.p99, point.response_bound_ns),
            self.name
        ) + &self.syncs()
    }

    /// What syncs cost, where there were any.
    fn syncs(&self) -> String {
        let point = &self.judged.point;
        let syncs = point.syncs;
        match syncs.samples {
            0 => String::new(),
            1 => format!(", and one sync of {}", latency(syncs.max as f64)),
            _ => format!(
                ", and {} syncs/s with p50 {} and p99 {}",
                rate(point.syncs_per_s),
                known(syncs.p50),
                known(syncs.p99)
            ),
        }
    }
}
