//! What a run says of itself, in words with their figures. Each word is explained in docs/concepts/verdict.md.
use crate::curve::{
    CurvePoint, MISSED_SHARE, STOLEN_SHARE, ScheduleCheck, THROTTLED_SHARE, is_machine_taken,
    is_without_cpu, point, waited_share,
};
use crate::gap::{Gap, GapCause, Reach, response_gap};
use crate::hints::{Hints, OwnLimit, argument, with_size};
use crate::lost;
use crate::moment::Step;
use crate::recovery::Happened;
use crate::standstill::Standstill;
use crate::steady::{LatencyCourse, Steadiness};
use crate::words::{counted, latency, percent, rate, span};
use measure::{ExecutionTarget, FinishReason, RunTotals};
use plan::{Operation, RunKind, TargetId};
use std::collections::BTreeSet;

/// Late submissions below this share do not move a p99.
/// What waited is sent in a burst after a stall, and a little of that is late, too.
const STALL_LATE_FACTOR: f64 = 1.5;

/// A generator that stands still by itself does so for less.
const STALL_NS_OF_STORAGE: u64 = 1_000_000_000;

/// A rate that falls by less is held.
const STEP_RATE_SHARE: f64 = 0.05;

const LATE_SHARE: f64 = 0.01;

/// Ten of them are beyond a p99.
const SAMPLES_FOR_P99: u64 = 1000;

/// Devices read no less than this share of what was asked of them, but for what was on its way at either end.
const MOVED_SHARE: f64 = 0.95;

/// From this share on, room that holds nothing answers for a target.
const SPARSE_SHARE: f64 = 0.01;
const ZERO_SHARE: f64 = 0.5;
/// Fewer reads say nothing of a target.
const ZERO_READS_LEAST: u64 = 16;

/// Targets that a sentence names at most.
const NAMED: usize = 3;

/// File systems whose devices move fewer bytes than programs do, as they may compress.
const COMPRESSING: [&str; 4] = ["btrfs", "zfs", "bcachefs", "f2fs"];

/// From this share on slots count as nearly all in use, on average over the whole window.
const ALL_SLOTS_SHARE: f64 = 0.95;

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
    GeneratorBound,
    Stalled,
    DepthBound,
    Unstable,
    RateMissed,
    Unserved,
    Changed,
    Unsteady,
    TooFewSamples,
    NotChecked,
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
    /// Whether there were enough intervals, and not too many, to tell changes and stalls.
    pub is_course_known: bool,
    /// What happened beside the I/O, and what that did.
    pub happened: Happened,
    /// The words that hold, the first of which leads.
    pub findings: Vec<Finding>,
    /// How much of the run the leading word takes, to compare runs with the same word.
    pub(crate) severity: f64,
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
    pub const ALL: [Word; 27] = [
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
        Word::GeneratorBound,
        Word::Stalled,
        Word::DepthBound,
        Word::Unstable,
        Word::RateMissed,
        Word::Unserved,
        Word::Changed,
        Word::Unsteady,
        Word::TooFewSamples,
        Word::NotChecked,
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
            Word::GeneratorBound => "generator-bound",
            Word::Stalled => "stalled",
            Word::DepthBound => "depth-bound",
            Word::Unstable => "unstable",
            Word::RateMissed => "rate missed",
            Word::Unserved => "unserved arrivals",
            Word::Changed => "changed",
            Word::Waited => "response above service",
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
    (steady, happened): (Option<&Steadiness>, Happened),
    reach: Reach,
    targets: &[Ground<'_>],
) -> Judged {
    let mut point = point(totals);
    let standstill = happened.standstill.as_ref();
    let is_still = standstill.is_some_and(|still| still.is_stall);
    if standstill.is_some_and(|still| explains(still, totals, &point)) {
        point.is_sent_late = false;
        point.is_generator_bound = is_machine_taken(totals);
    }
    point.is_stalled = is_still || steady.is_some_and(|steady| steady.stall.is_some());
    point.is_generator_bound |= reach == Reach::Nothing;
    let is_course_known = steady.is_some_and(|steady| steady.drift.is_some());
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
    };
    let mut findings: Vec<Finding> = scene.findings();
    findings.sort_by_key(|finding| finding.word);
    let (hints, leading) = (scene.hints(), findings.first());
    Judged {
        severity: leading.map_or(0.0, |one| scene.severity(one.word)),
        hints,
        point,
        is_course_known,
        findings,
        happened,
    }
}

/// A target that data are read from or written to, as far as anything is known of what lies below it.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    pub id: TargetId,
    pub target: &'a ExecutionTarget,
    /// Whether a run has written to it since the execution began.
    pub is_written: bool,
}

/// A target that holds nothing where it was read.
struct Unwritten<'a> {
    ground: &'a Ground<'a>,
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
    targets: &'a [Ground<'a>],
}

impl Scene<'_> {
    fn findings(&self) -> Vec<Finding> {
        let mut findings = ending(self.totals);
        let told = [
            (Word::NothingMeasured, self.nothing_measured()),
            (Word::LostFigures, self.lost_figures()),
            (Word::Errors, self.errors()),
            (Word::ShortTransfers, self.short_transfers()),
            (Word::CacheSuspect, self.cache_suspect()),
            (Word::Sparse, self.sparse()),
            (Word::GeneratorBound, self.generator_bound()),
            (Word::Stalled, self.stalled()),
            (Word::DepthBound, self.depth_bound()),
            (Word::Unstable, self.unstable()),
            (Word::RateMissed, self.rate_missed()),
            (Word::Unserved, self.unserved()),
            (Word::Changed, self.changed()),
            (Word::Unsteady, self.unsteady()),
            (Word::TooFewSamples, self.too_few_samples()),
            (Word::NotChecked, self.not_checked()),
            (Word::Waited, self.waited()),
            (Word::Undercounted, self.undercounted()),
            (Word::ClosedLoop, self.closed_loop()),
        ];
        let told = told.into_iter();
        findings.extend(told.filter_map(|(word, text)| text.map(|text| Finding { word, text })));
        findings
    }

    fn measures(&self) -> bool {
        self.totals.started.kind == RunKind::Measure
    }

    fn nothing_measured(&self) -> Option<String> {
        let has_nothing = self.totals.intervals == 0 && self.measures();
        has_nothing.then(|| "it has no figures".into())
    }

    fn lost_figures(&self) -> Option<String> {
        let lost = lost::texts(&self.totals.lost, self.totals.intervals);
        let told = || format!("{}; these figures are of the others", lost.join(", "));
        (!lost.is_empty()).then(told)
    }

    fn errors(&self) -> Option<String> {
        let errors = self.totals.errors();
        let share = errors as f64 / (errors + self.totals.operations()) as f64;
        let told = || format!("{} failed ({})", counted(errors, "I/O"), percent(share));
        (errors > 0).then(told)
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
    fn grounds_read(&self) -> impl Iterator<Item = &Ground<'_>> {
        let grounds = self.targets.iter();
        grounds.filter(|ground| self.read_bytes(|id| id == ground.id) > 0)
    }

    fn cache_suspect(&self) -> Option<String> {
        if let Some(ground) = self
            .grounds_read()
            .find(|one| one.target.identity.ram_backed)
        {
            return Some(format!("`{}` never leaves memory", ground.target.name));
        }
        // Room that was never written is a cause of its own.
        let (asked, moved) = self.moved().filter(|_| self.sparse().is_none())?;
        (moved < MOVED_SHARE * asked).then(|| {
            format!(
                "the devices moved {} of the bytes that were read; memory answered for the rest",
                percent(moved / asked)
            )
        })
    }

    /// Bytes that were read, and those that came from devices or servers for it; `None` where not all of them tell.
    fn moved(&self) -> Option<(f64, f64)> {
        let (mut devices, mut points) = (BTreeSet::new(), BTreeSet::new());
        for ground in self.grounds_read() {
            let identity = &ground.target.identity;
            match &identity.mount {
                Some(mount) if COMPRESSING.contains(&mount.kind.as_str()) => return None,
                Some(mount) if mount.kind.starts_with("nfs") => {
                    points.insert(mount.point.as_str());
                }
                _ if identity.counted_devices.is_empty() => return None,
                _ => devices.extend(identity.counted_devices.iter().map(String::as_str)),
            }
        }
        let asked = self.read_bytes(|id| self.targets.iter().any(|ground| ground.id == id));
        let host = &self.totals.host;
        if asked == 0 || self.totals.lost.devices.intervals > 0 {
            return None;
        }
        let counted = host
            .devices
            .iter()
            .filter(|one| devices.contains(&*one.device));
        let counted: Vec<u64> = counted.map(|one| one.counters.read_bytes).collect();
        let served = host
            .mounts
            .iter()
            .filter(|one| points.contains(&*one.point));
        let served: Vec<u64> = served.filter_map(|one| one.server_read_bytes).collect();
        let is_told = counted.len() == devices.len() && served.len() == points.len();
        let moved = counted.iter().chain(&served).sum::<u64>() as f64;
        is_told.then_some((asked as f64, moved))
    }

    /// What was never written holds no data that a device has to fetch.
    fn sparse(&self) -> Option<String> {
        let texts = self.unwritten();
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
            let (share, text) = match (holes > SPARSE_SHARE, is_zeros) {
                (true, _) => (
                    holes,
                    format!("{} of `{}` is holes", percent(holes), target.name),
                ),
                (_, true) => (
                    zeros,
                    format!(
                        "{} of a sample of {} of `{}` brought only zeros",
                        percent(zeros),
                        counted(sampled.reads, "read"),
                        target.name
                    ),
                ),
                _ => return None,
            };
            Some(Unwritten {
                ground,
                share,
                text,
            })
        })
    }

    /// Evidence that such targets can give and did not.
    fn not_checked(&self) -> Option<String> {
        let is_device = |ground: &&Ground<'_>| ground.target.identity.kind == "block device";
        let unknown = self.grounds_read().filter(is_device);
        let names: Vec<&str> = unknown
            .map(|ground| &*ground.target.name)
            .take(NAMED)
            .collect();
        let is_missing = !names.is_empty() && self.moved().is_none();
        is_missing.then(|| {
            format!(
                "what the devices of `{}` moved is not known",
                names.join("`, `")
            )
        })
    }

    /// What was measured is this machine: its CPUs were taken away, or I/Os were sent late while slots were free.
    fn generator_bound(&self) -> Option<String> {
        let taken = || {
            let signs = [
                self.stolen(),
                self.throttled(),
                self.without_cpu(),
                self.late(),
            ];
            let signs: Vec<String> = signs.into_iter().flatten().collect();
            (!signs.is_empty()).then(|| signs.join("; "))
        };
        // Whatever else took time, without storage there was nothing to measure.
        self.no_storage().or_else(taken)
    }

    /// The first of them.
    fn own_limit(&self) -> Option<OwnLimit> {
        let limits = [
            (OwnLimit::NoStorage, self.no_storage()),
            (OwnLimit::Stolen, self.stolen()),
            (OwnLimit::Throttled, self.throttled()),
            (OwnLimit::Cpu, self.without_cpu().or_else(|| self.late())),
        ];
        let mut limits = limits.into_iter().filter(|(_, text)| text.is_some());
        limits.next().map(|(limit, _)| limit)
    }

    fn hints(&self) -> Hints {
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
        }
    }

    /// How much of the run a word takes; comparable for one word alone.
    fn severity(&self, word: Word) -> f64 {
        let totals = self.totals;
        let shares = match word {
            Word::Errors => vec![totals.errors() as f64 / totals.operations().max(1) as f64],
            Word::CacheSuspect => {
                vec![
                    self.moved()
                        .map_or(1.0, |(asked, moved)| 1.0 - moved / asked),
                ]
            }
            Word::Sparse => self.unwritten().map(|one| one.share).collect(),
            // Of all of it.
            Word::GeneratorBound if self.no_storage().is_some() => vec![1.0],
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

    /// Workers that wait for a CPU neither send nor see what is back.
    fn without_cpu(&self) -> Option<String> {
        let share = percent(waited_share(self.totals).filter(|_| is_without_cpu(self.totals))?);
        Some(format!(
            "threads that send I/Os were ready and without a CPU for {share} of the time"
        ))
    }

    /// What other programs took of the CPUs, where that is more than our own part.
    fn others(&self) -> Option<String> {
        let host = &self.totals.host;
        let cpu = host.cpu.filter(|cpu| cpu.total_ns() > 0)?;
        let own_ns = host.fathom_user_ns + host.fathom_system_ns;
        let others_ns = cpu.busy_ns().saturating_sub(own_ns);
        let share = percent(others_ns as f64 / cpu.total_ns() as f64);
        (others_ns > own_ns).then(|| format!("other programs used {share} of the CPUs"))
    }

    fn stolen(&self) -> Option<String> {
        let share = self
            .totals
            .stolen_share()
            .filter(|share| *share > STOLEN_SHARE)?;
        let share = percent(share);
        Some(format!("the hypervisor took {share} of the CPU time"))
    }

    fn throttled(&self) -> Option<String> {
        self.totals
            .throttled_share()
            .filter(|share| *share > THROTTLED_SHARE)?;
        let length = span(self.totals.host.throttled_ns?);
        Some(format!("the control group was throttled for {length}"))
    }

    fn late(&self) -> Option<String> {
        let is_cause = matches!(self.cause(), Some(GapCause::Lateness { .. }));
        let late = self.point.late?;
        let still = self.happened.standstill.as_ref();
        if still.is_some_and(|still| explains(still, self.totals, self.point)) {
            return None;
        }
        let (share, limit_ns) = (late.free_share.unwrap_or(late.share), late.limit_ns);
        // Where nobody told which of them found a free slot, slots explain it.
        let is_explained = late.free_share.is_none() && self.point.exhausted.is_exhausted;
        let is_late = share > LATE_SHARE && !is_explained;
        (is_late || is_cause || self.point.is_sent_late).then(|| {
            format!(
                "{} of the I/Os were sent more than {} late",
                percent(share),
                latency(limit_ns as f64)
            )
        })
    }

    fn no_storage(&self) -> Option<String> {
        let told = "Fathom itself took the time, as nothing that stores data was reached";
        (self.measures() && self.reach == Reach::Nothing).then(|| told.into())
    }

    fn cause(&self) -> Option<GapCause> {
        self.gap.map(|gap| gap.cause)
    }

    fn stalled(&self) -> Option<String> {
        if self.happened.stall_ns().is_some() {
            return Some(self.happened.words());
        }
        // Of an older record.
        let stall = self.steady?.stall?;
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
        if !exhausted.is_exhausted || !is_of_slots {
            return None;
        }
        let used = format!(
            "no slot was free for {} of the time, and {:.1} of {} were in use on average",
            percent(exhausted.share),
            exhausted.busy,
            exhausted.slots
        );
        let has_set =
            self.reach == Reach::Device && are_nearly_all(exhausted.busy, exhausted.slots);
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
        let steady = self.steady?;
        let Some(drift) = steady.drift.filter(|drift| drift.is_drifting) else {
            return latency_changed(steady.latency?);
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
        let steady = self.steady.filter(|_| self.changed().is_none())?;
        let Some(variation) = steady.variation.filter(|one| one.is_beyond_chance) else {
            return latency_jumps(steady.latency?);
        };
        Some(format!(
            "the rate of single intervals varies by {} around its mean",
            percent(variation.share)
        ))
    }

    fn too_few_samples(&self) -> Option<String> {
        let samples = self.point.response.samples;
        let is_few = self.measures() && samples > 0 && samples < SAMPLES_FOR_P99;
        is_few.then(|| {
            format!(
                "p99 rests on {}; it takes {SAMPLES_FOR_P99} for ten beyond it",
                counted(samples, "I/O")
            )
        })
    }

    fn waited(&self) -> Option<String> {
        let gap = self.gap?;
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
                "{} or the storage limited it, and twice as many tell which; the next I/O was sent only after an answer, so that latency is slots ÷ rate and hides waiting before the I/O",
                counted(self.point.slots.into(), "slot")
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
