//! What a run says of itself, in words with their figures. Each word is explained in docs/concepts/verdict.md.
mod generator;
mod limits;

use crate::courses::JobCourse;
use crate::curve::{
    CurvePoint, MISSED_SHARE, ScheduleCheck, is_machine_taken, point, waited_share,
};
use crate::evidence::{Check, Evidence, Seen, not_checked};
use crate::gap::{Gap, GapCause, Reach, response_gap};
use crate::hints::{Hints, argument, with_size};
use crate::jobs::{self, JobFigures};
use crate::lost;
use crate::medium::{Medium, medium};
use crate::moment::Step;
use crate::recovery::Happened;
use crate::standstill::Standstill;
use crate::steady::{COURSE_INTERVALS_MIN, LatencyCourse, Steadiness};
use crate::target_view::TargetView;
use crate::words::{counted, latency, percent, rate, span};
use measure::{FinishReason, RunTotals};
use plan::{Load, Operation, RunKind, TargetId};

/// What waited is sent in a burst after a stall, and a little of that is late, too.
const STALL_LATE_FACTOR: f64 = 1.5;

/// A generator that stands still by itself does so for less.
const STALL_NS_OF_STORAGE: u64 = 1_000_000_000;

/// A rate that falls by less is held.
const STEP_RATE_SHARE: f64 = 0.05;

/// Ten of them are beyond a p99.
const SAMPLES_FOR_P99: u64 = 1000;

/// From this share on, room that holds nothing answers for a target.
const SPARSE_SHARE: f64 = 0.01;
const ZERO_SHARE: f64 = 0.5;
/// Fewer reads say nothing of a target.
const ZERO_READS_LEAST: u64 = 16;

/// Targets that a sentence names at most.
const NAMED: usize = 3;

/// From this share on slots count as nearly all in use, on average over the whole window.
const ALL_SLOTS_SHARE: f64 = 0.95;

/// What a run that was not steady is called.
const OF_COURSE: [Word; 5] = [
    Word::Uneven,
    Word::Changed,
    Word::Unsteady,
    Word::Unstable,
    Word::Stalled,
];

/// What a rate that was not held is called.
const OF_RATE: [Word; 3] = [Word::Unstable, Word::RateMissed, Word::Unserved];

/// A part beyond this many times the whole shows that the whole was not seen; less is noise of the counters.
const UNDERCOUNTED: f64 = 1.05;

/// A word on a run, in the order in which they lead: what came of the run before what was measured, causes before
/// symptoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    Failed,
    TooManyErrors,
    NotReturned,
    Stopped,
    Unfinished,
    NothingMeasured,
    LostFigures,
    Errors,
    ShortTransfers,
    CacheSuspect,
    Sparse,
    Zeros,
    GeneratorBound,
    Stalled,
    SubmissionBlocks,
    Uneven,
    DepthBound,
    Unstable,
    RateMissed,
    Unserved,
    Changed,
    Unsteady,
    Shared,
    TooFewSamples,
    NotChecked,
    Capped,
    StorageBound,
    ClosedLoop,
    Clean,
    CameLate,
    Waited,
    Undercounted,
}

/// A word that holds, with its figures in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub word: Word,
    pub text: String,
}

/// What the analysis makes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub point: CurvePoint,
    /// What happened beside the I/O, and what that did.
    pub happened: Happened,
    /// The words that hold, the first of which leads.
    pub findings: Vec<Finding>,
    /// What was seen of each check.
    pub evidence: Vec<Evidence>,
    /// How much of the run the leading word takes, to compare runs with the same word.
    pub(crate) severity: f64,
    /// The slowest of its jobs, where these have no common p99.
    pub(crate) worst_job: Option<JobFigures>,
    pub(crate) hints: Hints,
}

/// Whether no more I/Os were late than were due in a stall: a submitting call that waits for the storage sends late.
fn explains(still: &Standstill, totals: &RunTotals, point: &CurvePoint) -> bool {
    let share = still.length_ns() as f64 / totals.length_ns.max(1) as f64;
    let late = point
        .late
        .map_or(0.0, |late| late.free_share.unwrap_or(late.share));
    still.length_ns() >= STALL_NS_OF_STORAGE && still.is_stall && late <= STALL_LATE_FACTOR * share
}

impl Word {
    pub const ALL: [Word; 32] = [
        Word::Failed,
        Word::TooManyErrors,
        Word::NotReturned,
        Word::Stopped,
        Word::Unfinished,
        Word::NothingMeasured,
        Word::LostFigures,
        Word::Errors,
        Word::ShortTransfers,
        Word::CacheSuspect,
        Word::Sparse,
        Word::Zeros,
        Word::GeneratorBound,
        Word::Stalled,
        Word::SubmissionBlocks,
        Word::Uneven,
        Word::DepthBound,
        Word::Unstable,
        Word::RateMissed,
        Word::Unserved,
        Word::Changed,
        Word::Unsteady,
        Word::Shared,
        Word::TooFewSamples,
        Word::NotChecked,
        Word::Capped,
        Word::StorageBound,
        Word::ClosedLoop,
        Word::Clean,
        Word::CameLate,
        Word::Waited,
        Word::Undercounted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Word::Failed => "failed",
            Word::TooManyErrors => "too many errors",
            Word::Stopped => "stopped",
            Word::Unfinished => "unfinished",
            Word::NothingMeasured => "no measured interval",
            Word::LostFigures => "lost figures",
            Word::Errors => "errors",
            Word::NotReturned => "not returned",
            Word::CameLate => "came late",
            Word::ShortTransfers => "short transfers",
            Word::CacheSuspect => "cache-suspect",
            Word::Sparse => "sparse",
            Word::Zeros => "zeros",
            Word::SubmissionBlocks => "submission blocks",
            Word::Shared => "shared",
            Word::Capped => "capped",
            Word::GeneratorBound => "generator-bound",
            Word::Stalled => "stalled",
            Word::DepthBound => "depth-bound",
            Word::Unstable => "unstable",
            Word::RateMissed => "rate missed",
            Word::Unserved => "unserved arrivals",
            Word::Changed => "changed",
            Word::Waited => "response above service",
            Word::Uneven => "uneven",
            Word::Unsteady => "unsteady",
            Word::TooFewSamples => "too few samples",
            Word::NotChecked => "not checked",
            Word::Undercounted => "CPU undercounted",
            Word::StorageBound => "storage-bound",
            Word::ClosedLoop => "closed loop",
            Word::Clean => "clean",
        }
    }

    /// Whether it makes the figures of its run doubtful; the others only say how they are to be read.
    pub fn is_doubt(self) -> bool {
        self <= Word::NotChecked
    }
}

impl Judged {
    /// The word that leads.
    pub fn headline(&self) -> Word {
        self.leading().map_or(Word::Clean, |one| one.word)
    }

    /// Nothing where the run is clean, whatever is to be noted beside.
    pub(crate) fn leading(&self) -> Option<&Finding> {
        self.findings.first().filter(|one| one.word < Word::Clean)
    }

    /// Whether nothing makes its figures doubtful.
    pub fn is_believed(&self) -> bool {
        !self.headline().is_doubt()
    }
}

/// Whether nearly all slots were in use nearly all the time.
fn are_nearly_all(busy: f64, slots: u32) -> bool {
    busy >= ALL_SLOTS_SHARE * f64::from(slots)
}

/// Judges a run by its totals and, where its intervals were followed, by its course.
pub fn judge(
    totals: &RunTotals,
    course: (Option<&Steadiness>, Happened),
    reach: Reach,
    targets: &[TargetView<'_>],
) -> Judged {
    let medium = medium(totals, targets);
    let (_, happened) = &course;
    let jobs = jobs::of_jobs(totals).enumerate();
    let jobs: Vec<JobSeen> = jobs
        .map(|(place, (streams, of_job))| {
            let medium = medium.of_streams(&streams);
            let judged = judge_job(&of_job, (place, happened), reach, (targets, medium));
            JobSeen {
                name: of_job.started.name,
                findings: judged.findings,
                evidence: judged.evidence,
            }
        })
        .collect();
    judge_as(totals, course, (reach, false), (targets, medium), &jobs)
}

/// Judges one of several jobs of a run, of which machine and rate are judged with the run. `medium` is what the run saw
/// of its streams.
pub(crate) fn judge_job(
    totals: &RunTotals,
    (place, of_run): (usize, &Happened),
    reach: Reach,
    (targets, medium): (&[TargetView<'_>], Medium),
) -> Judged {
    let steady = of_run.parts.jobs.get(place).map(JobCourse::steadiness);
    let is_own = |id: TargetId| totals.figures.iter().any(|one| one.key.target == id);
    let course = (steady.as_ref(), of_run.of_job(is_own));
    judge_as(totals, course, (reach, true), (targets, medium), &[])
}

/// What was seen of one of several jobs.
struct JobSeen {
    name: String,
    findings: Vec<Finding>,
    evidence: Vec<Evidence>,
}

/// A run is no better than each of its jobs: what speaks against one of them speaks against the run, by its name.
fn tell_jobs(jobs: &[JobSeen], findings: &mut Vec<Finding>, evidence: &mut [Evidence]) {
    for job in jobs {
        let named = |text: &str| format!("`{}`: {text}", job.name);
        for finding in job
            .findings
            .iter()
            .filter(|one| one.word < Word::NotChecked)
        {
            let is_same = |known: &Finding| {
                let both = [known.word, finding.word];
                both[0] == both[1] || both.iter().all(|word| OF_RATE.contains(word))
            };
            if !findings.iter().any(is_same) {
                findings.push(Finding {
                    word: finding.word,
                    text: named(&finding.text),
                });
            }
        }
        for row in evidence.iter_mut() {
            let same = job.evidence.iter().find(|one| one.check == row.check);
            row.seen = match (&row.seen, same.map(|one| &one.seen)) {
                (Seen::Good | Seen::NotSeen(_), Some(Seen::Bad)) => Seen::Bad,
                (Seen::Good, Some(Seen::NotSeen(why))) => Seen::NotSeen(named(why)),
                (seen, _) => (*seen).clone(),
            };
        }
    }
    let is_late = findings.iter().any(|one| one.word == Word::GeneratorBound);
    let on_time = evidence.iter_mut().find(|row| row.check == Check::OnTime);
    if let Some(row) = on_time.filter(|_| is_late) {
        row.seen = Seen::Bad;
    }
}

fn judge_as(
    totals: &RunTotals,
    (steady, happened): (Option<&Steadiness>, Happened),
    (reach, is_part): (Reach, bool),
    (targets, medium): (&[TargetView<'_>], Medium),
    jobs: &[JobSeen],
) -> Judged {
    let mut point = point(totals);
    let standstill = happened.standstill.as_ref();
    let is_still = standstill.is_some_and(|still| still.is_stall);
    if standstill.is_some_and(|still| explains(still, totals, &point)) {
        point.is_sent_late = false;
        point.is_generator_bound = is_machine_taken(totals);
    }
    point.is_stalled = is_still || steady.is_some_and(|steady| steady.stall.is_some());
    point.is_generator_bound |= reach != Reach::Device;
    let gap = totals
        .started
        .is_open_loop
        .then(|| response_gap(totals, reach));
    let scene = Scene {
        totals,
        steady,
        happened: &happened,
        reach,
        point: &point,
        gap: gap.flatten(),
        targets,
        medium,
        is_part,
        worst_job: jobs::worst(totals).filter(|_| !is_part),
    };
    let mut findings: Vec<Finding> = scene.findings();
    let mut evidence = scene.evidence(&findings);
    tell_jobs(jobs, &mut findings, &mut evidence);
    let not_checked = not_checked(&evidence).map(|text| Finding {
        word: Word::NotChecked,
        text,
    });
    findings.extend(not_checked);
    findings.sort_by_key(|finding| scene.rank(finding.word));
    tell_limit(&mut findings);
    let (hints, leading) = (scene.hints(&evidence), findings.first());
    Judged {
        severity: leading.map_or(0.0, |one| scene.severity(one.word)),
        hints,
        worst_job: scene.worst_job,
        point,
        findings,
        evidence,
        happened,
    }
}

/// A limit that was reached is told with what leads, as it may well be the reason.
fn tell_limit(findings: &mut [Finding]) {
    let limit = findings.iter().find(|one| one.word == Word::Capped);
    let limit = limit.map(|one| format!("; {}", one.text));
    if let (Some(limit), Some(first)) = (limit, findings.first_mut())
        && first.word != Word::Capped
    {
        first.text += &limit;
    }
}

/// A target that holds nothing where it was read.
struct Unwritten<'a> {
    ground: &'a TargetView<'a>,
    /// Its extents are missing or were never written; else only what reads returned tells it.
    is_hole: bool,
    share: f64,
    text: String,
}

/// What words are found in.
struct Scene<'a> {
    totals: &'a RunTotals,
    steady: Option<&'a Steadiness>,
    happened: &'a Happened,
    reach: Reach,
    point: &'a CurvePoint,
    gap: Option<Gap>,
    targets: &'a [TargetView<'a>],
    medium: Medium,
    /// Whether it is one of several jobs of the run.
    is_part: bool,
    worst_job: Option<JobFigures>,
}

impl Scene<'_> {
    fn findings(&self) -> Vec<Finding> {
        let mut findings = ending(self.totals);
        // What ended it is told with that it did.
        let too_many = findings
            .iter_mut()
            .find(|one| one.word == Word::TooManyErrors);
        if let Some((finding, errors)) = too_many.zip(self.errors()) {
            finding.text = format!("{}: {errors}", finding.text);
        }
        let told = [
            (Word::NothingMeasured, self.nothing_measured()),
            (Word::LostFigures, self.lost_figures()),
            (Word::Errors, self.errors()),
            (Word::ShortTransfers, self.short_transfers()),
            (Word::CacheSuspect, self.cache_suspect()),
            (Word::Sparse, self.sparse()),
            (Word::Zeros, self.zeros()),
            (Word::GeneratorBound, self.generator_bound()),
            (Word::Stalled, self.stalled()),
            (Word::SubmissionBlocks, self.submission_blocks()),
            (Word::Uneven, self.uneven()),
            (Word::DepthBound, self.depth_bound()),
            (Word::Unstable, self.unstable()),
            (Word::RateMissed, self.rate_missed()),
            (Word::Unserved, self.unserved()),
            (Word::Changed, self.changed()),
            (Word::Unsteady, self.unsteady()),
            (Word::Shared, self.shared()),
            (Word::TooFewSamples, self.too_few_samples()),
            (Word::Waited, self.waited()),
            (Word::Undercounted, self.undercounted()),
            (Word::Capped, self.capped()),
            (Word::ClosedLoop, self.closed_loop()),
        ];
        let told = told.into_iter();
        findings.extend(told.filter_map(|(word, text)| text.map(|text| Finding { word, text })));
        findings
    }

    /// Causes lead, and where nothing answered for long, that does: neither late threads nor lost CPUs explain it.
    fn rank(&self, word: Word) -> (Word, bool) {
        let stall_ns = self.happened.stall_ns().unwrap_or(0);
        let is_long = stall_ns >= STALL_NS_OF_STORAGE && !self.is_paused() && !self.is_unreal();
        match word == Word::Stalled && is_long {
            true => (Word::GeneratorBound, false),
            false => (word, true),
        }
    }

    fn measures(&self) -> bool {
        self.totals.started.kind == RunKind::Measure
    }

    fn nothing_measured(&self) -> Option<String> {
        let text = match self.totals.intervals {
            0 => "it has no figures",
            _ if self.totals.is_of_warmup => "it ended in its warm-up, and its figures are of that",
            _ => return None,
        };
        self.measures().then(|| text.into())
    }

    fn lost_figures(&self) -> Option<String> {
        let lost = lost::texts(&self.totals.lost, self.totals.intervals);
        let told = || format!("{}; these figures are of the others", lost.join(", "));
        (!lost.is_empty()).then(told)
    }

    /// I/Os that failed in the whole run, or, of a job, in its measured part.
    fn failed(&self) -> u64 {
        self.happened.failed.max(self.totals.errors())
    }

    fn errors(&self) -> Option<String> {
        let failed = self.failed();
        let share = failed as f64 / (failed + self.totals.operations()) as f64;
        let told = || {
            let count = counted(failed, "I/O");
            let kinds = match &*self.happened.failed_text {
                "" => String::new(),
                text => format!(": {text}"),
            };
            format!("{count} failed ({}){kinds}", percent(share))
        };
        (failed > 0).then(told)
    }

    fn short_transfers(&self) -> Option<String> {
        let figures = self.totals.figures.iter();
        let short: u64 = figures.map(|figure| figure.short_transfers).sum();
        let told = || format!("{} moved fewer bytes than asked", counted(short, "I/O"));
        (short > 0).then(told)
    }

    /// Bytes that were read of these targets.
    fn read_bytes(&self, is_such: impl Fn(TargetId) -> bool) -> u64 {
        let reads =
            self.totals.figures.iter().filter(|figure| {
                figure.key.operation == Operation::Read && is_such(figure.key.target)
            });
        reads.map(|figure| figure.bytes).sum()
    }

    /// The targets that were read, with what is known of them.
    fn grounds_read(&self) -> impl Iterator<Item = &TargetView<'_>> {
        let grounds = self.targets.iter();
        grounds.filter(|ground| self.read_bytes(|id| id == ground.id) > 0)
    }

    fn cache_suspect(&self) -> Option<String> {
        // Room that was never written is a cause of its own.
        let is_empty = self.sparse().is_some() || self.zeros().is_some();
        self.medium.memory_text(is_empty)
    }

    /// What was seen of each check, where the run measures.
    fn evidence(&self, findings: &[Finding]) -> Vec<Evidence> {
        if !self.measures() || self.totals.intervals == 0 {
            return Vec::new();
        }
        let has = |words: &[Word]| findings.iter().any(|one| words.contains(&one.word));
        let row = |check: Check| {
            let (bad, missing) = match check {
                Check::Medium => (
                    has(&[Word::CacheSuspect, Word::Sparse, Word::Zeros]) || self.is_unreal(),
                    self.medium_missing(),
                ),
                Check::OnTime => (has(&[Word::GeneratorBound]), self.timing_missing()),
                Check::QueueDepth => (has(&[Word::DepthBound]), self.slots_missing()),
                Check::Samples => {
                    let response = &self.point.response;
                    let is_missing = response.samples > 0 && response.p99.is_none();
                    let missing = is_missing.then(|| "no p99 was recorded".to_owned());
                    (has(&[Word::TooFewSamples]), missing)
                }
                Check::Steady => (has(&OF_COURSE) || self.is_paused(), self.course_missing()),
            };
            let seen = match (bad, missing) {
                (true, _) => Seen::Bad,
                (false, Some(why)) => Seen::NotSeen(why),
                (false, None) => Seen::Good,
            };
            Evidence { check, seen }
        };
        let checks = Check::ALL.into_iter();
        checks.filter(|check| self.is_of(*check)).map(row).collect()
    }

    /// What the machine did is seen of the run as a whole, and belongs to none of its jobs.
    fn is_of(&self, check: Check) -> bool {
        !self.is_part || check != Check::OnTime
    }

    /// Whether nothing that stores data was reached.
    fn is_unreal(&self) -> bool {
        self.no_storage().is_some()
    }

    fn medium_missing(&self) -> Option<String> {
        if self.totals.operations() == 0 {
            return Some("no I/O succeeded".to_owned());
        }
        let has_data = self.totals.bytes() > 0;
        let without_data = || "no operation moved data, and nothing counts the others".to_owned();
        match has_data {
            true => self.medium.not_seen_text(),
            false => Some(without_data()),
        }
    }

    fn timing_missing(&self) -> Option<String> {
        // A closed loop has no intended arrivals, but its threads may have had no CPU.
        let waited = self.totals.workers.usage.cpu_wait_ns;
        let is_told = match self.totals.started.is_open_loop {
            true => self.point.late.is_some() || self.totals.operations() == 0,
            false => waited.is_some() && self.totals.lost.cpu.intervals == 0,
        };
        (!is_told).then(|| "nothing tells how long threads waited for a CPU".to_owned())
    }

    fn slots_missing(&self) -> Option<String> {
        if let Some(GapCause::Unsettled { off_cpu_share, .. }) = self.cause()
            && self.point.exhausted.is_exhausted
        {
            return Some(format!(
                "no slot was free for {} of the time, and Fathom was without a CPU for up to {}",
                percent(self.point.exhausted.share),
                percent(off_cpu_share)
            ));
        }
        let is_told = self.point.slots_busy.is_some() || !self.totals.started.is_open_loop;
        (!is_told).then(|| "the record does not tell".to_owned())
    }

    fn course_missing(&self) -> Option<String> {
        if matches!(self.totals.started.load, Load::Steps { .. }) {
            return Some("the rate was to change".to_owned());
        }
        let Some(steady) = self.steady else {
            return Some("the run is too long to keep its intervals".to_owned());
        };
        let count = counted(steady.intervals as u64, "interval");
        let takes = format!("of the {COURSE_INTERVALS_MIN} that it takes");
        if self.is_part {
            let is_few = steady.intervals < COURSE_INTERVALS_MIN;
            return is_few.then(|| format!("{count} with enough I/Os {takes}"));
        }
        if steady.drift.is_none() {
            return Some(format!("{count} {takes}"));
        }
        let parts = &self.happened.parts;
        if parts.is_cut {
            return Some("too long, or too many jobs and targets, to follow each".to_owned());
        }
        let text = |(few, of)| format!("{few} of {of} targets had too few I/Os to tell");
        parts.untold.map(text)
    }

    /// What was never written holds no data that a device has to fetch.
    fn sparse(&self) -> Option<String> {
        self.unwritten_text(|one| one.is_hole)
    }

    /// Zeros that were written, or that a thin volume makes of what was never written.
    fn zeros(&self) -> Option<String> {
        let text = self.unwritten_text(|one| !one.is_hole)?;
        Some(format!(
            "{text}: compressing or thin storage may skip the medium"
        ))
    }

    fn unwritten_text(&self, is_such: impl Fn(&Unwritten<'_>) -> bool) -> Option<String> {
        let texts = self.unwritten().filter(is_such);
        let mut texts = texts
            .take(NAMED + 1)
            .map(|one| one.text)
            .collect::<Vec<_>>();
        if texts.len() > NAMED {
            texts[NAMED] = "and more".to_owned();
        }
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// The targets whose reads found nothing.
    fn unwritten(&self) -> impl Iterator<Item = Unwritten<'_>> {
        self.grounds_read().filter_map(|ground| {
            let target = ground.target;
            let hole_bytes = target.hole_bytes.filter(|_| !ground.is_written);
            let holes = hole_bytes.unwrap_or(0) as f64 / target.bytes.max(1) as f64;
            let sampled = self.totals.sampled.get(&ground.id);
            let sampled = sampled.copied().unwrap_or_default();
            let zeros = sampled.zeros as f64 / sampled.reads.max(1) as f64;
            let is_zeros = sampled.reads >= ZERO_READS_LEAST && zeros >= ZERO_SHARE;
            let is_hole = holes > SPARSE_SHARE;
            let (share, text) = match (is_hole, is_zeros) {
                (true, _) => (
                    holes,
                    format!(
                        "{} of `{}` was never written (holes)",
                        percent(holes),
                        target.name
                    ),
                ),
                (_, true) => (
                    zeros,
                    format!(
                        "{} of a sample of {} of `{}` returned zeros",
                        percent(zeros),
                        counted(sampled.reads, "read"),
                        target.name
                    ),
                ),
                _ => return None,
            };
            Some(Unwritten {
                ground,
                is_hole,
                share,
                text,
            })
        })
    }

    fn hints(&self, evidence: &[Evidence]) -> Hints {
        let mut arguments = self.targets.iter().map(|ground| argument(ground.target));
        let target = arguments.next().flatten();
        let mut unwritten = self.unwritten();
        let fill = unwritten
            .next()
            .and_then(|one| with_size(one.ground.target));
        Hints {
            others: self.others(),
            target: target.filter(|_| arguments.next().is_none()),
            fill: fill.map(|fill| (fill, 1 + unwritten.count())),
            limit: self.own_limit(),
            is_in_memory: self.medium.is_in_memory(),
            lacks_time: self.lacks_time(evidence),
            lacks_slots: evidence
                .iter()
                .any(|row| row.check == Check::QueueDepth && row.missing().is_some()),
        }
    }

    /// Whether only the course could not be seen, for want of intervals.
    fn lacks_time(&self, evidence: &[Evidence]) -> bool {
        let missing = evidence.iter().filter(|row| row.missing().is_some());
        let is_short = self
            .steady
            .is_some_and(|steady| steady.intervals < COURSE_INTERVALS_MIN);
        is_short && missing.map(|row| row.check).eq([Check::Steady])
    }

    /// How much of the run a word takes; comparable for one word alone.
    fn severity(&self, word: Word) -> f64 {
        let totals = self.totals;
        let shares = match word {
            Word::Errors => vec![self.failed() as f64 / totals.operations().max(1) as f64],
            Word::CacheSuspect => vec![self.medium.memory_share()],
            Word::Sparse | Word::Zeros => self.unwritten().map(|one| one.share).collect(),
            // Of all of it.
            Word::GeneratorBound if self.no_storage().is_some() => vec![1.0],
            Word::SubmissionBlocks => vec![self.submission_blocked_share()],
            Word::GeneratorBound => {
                let late = self.point.late;
                let late = late.map(|late| late.free_share.unwrap_or(late.share));
                let (stolen, throttled) = (totals.stolen_share(), totals.throttled_share());
                let shares = [late, stolen, throttled, waited_share(totals)];
                shares.into_iter().flatten().collect()
            }
            Word::Stalled => {
                let stall = self.steady.and_then(|steady| steady.stall);
                let still = self.happened.standstill.as_ref().map(Standstill::length_ns);
                let length_ns = still.or(stall.map(|stall| stall.length_ns));
                vec![length_ns.unwrap_or(0) as f64]
            }
            Word::DepthBound => vec![self.point.exhausted.share],
            Word::Unstable | Word::RateMissed => {
                let check = self.point.schedule;
                vec![check.map_or(0.0, |one| 1.0 - one.completed as f64 / one.scheduled as f64)]
            }
            Word::Unserved => vec![totals.unserved() as f64],
            Word::Changed => {
                let drift = self.steady.and_then(|steady| steady.drift);
                vec![drift.map_or(0.0, |drift| drift.change_share.abs())]
            }
            Word::Unsteady => {
                let variation = self.steady.and_then(|steady| steady.variation);
                vec![variation.map_or(0.0, |variation| variation.share)]
            }
            Word::TooFewSamples => vec![-(self.point.response.samples as f64)],
            _ => Vec::new(),
        };
        shares.into_iter().max_by(f64::total_cmp).unwrap_or(0.0)
    }

    fn cause(&self) -> Option<GapCause> {
        self.gap.map(|gap| gap.cause)
    }

    fn stalled(&self) -> Option<String> {
        if self.happened.stall_ns().is_some() {
            return Some(self.happened.words());
        }
        // Of an older record.
        let stall = self.steady.filter(|_| !self.is_paused())?.stall?;
        Some(format!(
            "no I/O succeeded for at least {} from interval {} on",
            span(stall.length_ns),
            stall.first
        ))
    }

    /// Only where the slots were in use throughout may they have set the rate, and whether the storage
    /// would have set it anyway, another depth tells.
    fn depth_bound(&self) -> Option<String> {
        let exhausted = &self.point.exhausted;
        let is_of_slots = match self.cause() {
            Some(GapCause::Slots { .. }) => true,
            // Slots fill while nothing answers, and while nobody looks.
            Some(_) => false,
            None => !self.point.is_stalled,
        };
        // They fill while the process does not run, too.
        if !exhausted.is_exhausted || !is_of_slots || self.is_paused() {
            return None;
        }
        let used = format!(
            "no slot was free for {} of the time, and {:.1} of {} were in use on average",
            percent(exhausted.share),
            exhausted.busy,
            exhausted.slots
        );
        let has_set =
            self.reach != Reach::Nothing && are_nearly_all(exhausted.busy, exhausted.slots);
        Some(match has_set {
            true => {
                used + ": depth or storage set the rate, and a run at another depth tells which"
            }
            false => used + ": with more slots the same rate may have lower latency",
        })
    }

    fn rate_missed(&self) -> Option<String> {
        let is_backlog = self.unstable().is_some();
        let check = self.point.schedule;
        let check = check.filter(|check| check.is_missed && !is_backlog)?;
        Some(self.reached(&check))
    }

    fn reached(&self, check: &ScheduleCheck) -> String {
        let seconds = self.totals.length_ns as f64 / 1e9;
        format!(
            "{} of {} I/Os per second reached ({})",
            rate(check.completed as f64 / seconds),
            rate(check.scheduled as f64 / seconds),
            percent(check.completed as f64 / check.scheduled as f64)
        )
    }

    /// What is in flight when a window ends is no sign of anything.
    fn unserved(&self) -> Option<String> {
        let unserved = self.totals.unserved();
        let allowance = self.point.schedule.map_or(0.0, |check| check.allowance);
        let is_told = self.unstable().is_some();
        (!is_told && unserved as f64 > allowance).then(|| {
            format!(
                "{} had not been sent at the end and entered the response times with their age",
                counted(unserved, "arrival")
            )
        })
    }

    fn changed(&self) -> Option<String> {
        let recovery = self.happened.recovery.as_ref();
        if let Some(step) = recovery.and_then(|recovery| recovery.step) {
            return Some(self.stepped(&step));
        }
        let steady = self.steady.filter(|_| !self.is_paused())?;
        let Some(drift) = steady.drift.filter(|drift| drift.is_drifting) else {
            return self.latency_told(steady.latency, latency_changed);
        };
        let change = drift.change_share;
        if !change.is_finite() {
            return Some("the rate rose from nothing in the first third".into());
        }
        let direction = if change < 0.0 { "fell" } else { "rose" };
        let share = percent(change.abs());
        Some(format!(
            "the rate {direction} by {share} from the first third to the last"
        ))
    }

    /// What the latency did, of all or else of a job.
    fn latency_told(
        &self,
        of_all: Option<LatencyCourse>,
        text: fn(LatencyCourse) -> Option<String>,
    ) -> Option<String> {
        let of_job = |job: &JobCourse| Some(format!("`{}`: {}", job.name, text(job.latency?)?));
        of_all
            .and_then(text)
            .or_else(|| self.happened.parts.jobs.iter().find_map(of_job))
    }

    /// Targets that were not like the others all the time.
    fn uneven(&self) -> Option<String> {
        let uneven = self.happened.parts.uneven.clone();
        uneven.filter(|_| !self.is_paused())
    }

    /// Without a rate, latency sets the rate; a rate that is held shows latency alone.
    fn stepped(&self, step: &Step) -> String {
        let when = format!("from {} to {}", span(step.from_ns), span(step.to_ns));
        let (usual, then) = (latency(step.usual_ns), latency(step.median_ns));
        let fell = 1.0 - step.rate / step.usual_rate.max(f64::MIN_POSITIVE);
        match (self.totals.started.is_open_loop, fell > STEP_RATE_SHARE) {
            (false, true) => format!(
                "closed loop: the rate fell by {} because latency rose by {}, capacity was not tested ({when})",
                percent(fell),
                percent(step.median_ns / step.usual_ns.max(1.0) - 1.0)
            ),
            (_, true) => format!(
                "the rate fell by {} and response p50 rose from {usual} to {then} ({when})",
                percent(fell)
            ),
            (_, false) => format!("it held its rate; response p50 from {usual} to {then} ({when})"),
        }
    }

    /// Arrivals pile up without end: each third of the run leaves more of them than the one before.
    fn unstable(&self) -> Option<String> {
        // What a stall holds up is no more than the stall.
        let check = self.point.schedule.filter(|_| !self.point.is_stalled)?;
        let backlogs = self.steady?.backlogs?;
        let least = (MISSED_SHARE * check.scheduled as f64 / 3.0).max(f64::from(self.point.slots));
        let grows = backlogs
            .windows(2)
            .all(|pair| pair[1] as f64 > pair[0] as f64 + least);
        grows.then(|| {
            let waiting = counted(backlogs[2], "arrival");
            format!(
                "{}; {waiting} waited at the end, more from third to third of the run",
                self.reached(&check)
            )
        })
    }

    fn unsteady(&self) -> Option<String> {
        let steady = self.steady.filter(|_| !self.is_paused())?;
        if self.changed().is_some() {
            return None;
        }
        let Some(variation) = steady.variation.filter(|one| one.is_beyond_chance) else {
            return self.latency_told(steady.latency, latency_jumps);
        };
        Some(format!(
            "the rate of single intervals varies by {} around its mean",
            percent(variation.share)
        ))
    }

    /// For the percentile that is given: that of all, or of the job that leads by name.
    fn too_few_samples(&self) -> Option<String> {
        let (samples, of) = match &self.worst_job {
            Some(job) => (job.response.samples, format!(" of `{}`", job.name)),
            None => (self.point.response.samples, String::new()),
        };
        let has_p99 = self.point.response.p99.is_some();
        let is_few = self.measures() && has_p99 && samples > 0 && samples < SAMPLES_FOR_P99;
        is_few.then(|| {
            format!(
                "p99{of} rests on {}; it takes {SAMPLES_FOR_P99} for ten beyond it",
                counted(samples, "I/O")
            )
        })
    }

    fn waited(&self) -> Option<String> {
        let gap = self.gap.filter(|_| !self.is_paused())?;
        let why = match gap.cause {
            GapCause::Slots { .. } => "I/Os waited for a slot".into(),
            GapCause::Device { .. } => "the device held I/Os up".into(),
            GapCause::Lateness { .. } => "Fathom sent I/Os late while slots were free".into(),
            GapCause::Unsettled {
                exhausted_share,
                off_cpu_share,
            } => format!(
                "the cause is not settled: no slot was free for {} of the time, and Fathom was without a CPU for up to {}",
                percent(exhausted_share),
                percent(off_cpu_share)
            ),
            GapCause::Overhead => {
                "Fathom itself took that time, as nothing that stores data was reached".into()
            }
        };
        let [response, service] = gap.texts(|ns| latency(ns as f64));
        Some(format!(
            "response p99 is {response}, service p99 {service}: {why}"
        ))
    }

    fn undercounted(&self) -> Option<String> {
        let own = self.totals.fathom_cpu_ns_per_operation()?;
        let host = self.totals.host_cpu_ns_per_operation()?;
        (self.measures() && own > host * UNDERCOUNTED).then(|| {
            format!(
                "Fathom alone took {} per I/O, the host counted {} for everything, most likely by ticks",
                latency(own),
                latency(host)
            )
        })
    }

    fn closed_loop(&self) -> Option<String> {
        let is_closed = self.measures() && !self.totals.started.is_open_loop;
        let are_full = are_nearly_all(self.point.slots_busy.unwrap_or(0.0), self.point.slots);
        is_closed.then(|| match are_full {
            true => format!(
                "{} or the storage limited it, and twice as many tell which; the next I/O was sent only after an answer, so that latency is slots ÷ {} and hides waiting before the I/O",
                counted(self.point.slots.into(), "slot"),
                // Syncs take slots, too.
                if self.point.syncs.samples > 0 { "(rate of I/Os and syncs)" } else { "rate" }
            ),
            false => "the next I/O was sent only after an answer, so that latency hides waiting before the I/O".into(),
        })
    }
}

fn latency_changed(course: LatencyCourse) -> Option<String> {
    let LatencyCourse::Changed { first_ns, last_ns } = course else {
        return None;
    };
    let [first, last] = [first_ns, last_ns].map(|ns| latency(ns as f64));
    Some(format!(
        "the median latency went from {first} in the first third to {last} in the last"
    ))
}

fn latency_jumps(course: LatencyCourse) -> Option<String> {
    let LatencyCourse::Jumps {
        low_ns,
        high_ns,
        high_share,
    } = course
    else {
        return None;
    };
    let [low, high] = [low_ns, high_ns].map(|ns| latency(ns as f64));
    let share = percent(high_share);
    Some(format!(
        "the median latency jumps between {low} and {high}, where it is for {share} of the intervals"
    ))
}

/// What came of the run itself.
fn ending(totals: &RunTotals) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |word, text| findings.push(Finding { word, text });
    let Some(finished) = &totals.finished else {
        let text = format!(
            "its end was not recorded, as it was killed or is still running; the figures cover the {} that were",
            span(totals.length_ns)
        );
        find(Word::Unfinished, text);
        return findings;
    };
    match &finished.reason {
        FinishReason::Complete | FinishReason::ReachedTotal | FinishReason::SearchEnded { .. } => {}
        FinishReason::TooManyErrors => find(Word::TooManyErrors, "it ended early".into()),
        FinishReason::StoppedByUser => find(Word::Stopped, "it was stopped by the user".into()),
        FinishReason::Failed { message } => find(Word::Failed, message.clone()),
    }
    if let Some(oldest) = finished.outstanding.iter().map(|one| one.age_ns).max() {
        let text = format!(
            "{} never came back, the oldest {} old; they entered the latencies with their age, a lower bound (≥)",
            counted(finished.outstanding.len() as u64, "I/O"),
            span(oldest)
        );
        find(Word::NotReturned, text);
    }
    if let Some(oldest) = finished.came_late().map(|one| one.age_ns).max() {
        let text = format!(
            "{} came back well after the end, the longest after {}; they entered the latencies with their true times and do not count as completions",
            counted(finished.came_late().count() as u64, "I/O"),
            span(oldest)
        );
        find(Word::CameLate, text);
    }
    findings
}
