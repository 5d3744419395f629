//! What a run says of itself, in words with their figures, and what an execution comes to. Each word is explained in
//! docs/concepts/verdict.md.
use crate::curve::{
    CurvePoint, KNEE_POINTS_LEAST, MISSED_SHARE, STOLEN_SHARE, ScheduleCheck, THROTTLED_SHARE,
    knee, point,
};
use crate::gap::{Gap, GapCause, Reach, response_gap};
use crate::lost;
use crate::series::{RunOutline, SeriesKind, series};
use crate::steady::{LatencyCourse, Steadiness};
use crate::words::{bounded, counted, latency, percent, rate, span};
use measure::{ExecutionTarget, FinishReason, RunTotals};
use plan::{Operation, RunKind, TargetId};
use std::collections::BTreeSet;

/// Late submissions below this share do not move a p99.
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

/// Of twice the slots: less is no gain.
const FLAT_GAIN: f64 = 0.03;

/// What is said where no other word leads.
const CLEAN: &str = "all checks passed; caches inside the storage cannot be seen from the host";

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
    /// The words that hold, the first of which leads.
    pub findings: Vec<Finding>,
    /// What took the CPUs, where that was not Fathom.
    others: Option<String>,
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
    fn leading(&self) -> Option<&Finding> {
        self.findings.first().filter(|one| one.word < Word::Clean)
    }

    /// Whether nothing makes its figures doubtful.
    pub fn is_believed(&self) -> bool {
        !self.headline().is_doubt()
    }
}

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
    pub word: Word,
    /// What took the CPUs, where the generator was bound by that.
    pub others: Option<String>,
    /// The rate and the latency that lead, and where they were reached.
    pub speed: String,
    /// Whether that can be believed, with the figures that say so.
    pub belief: String,
    pub next: &'static str,
}

impl Verdict {
    /// All of it on one line.
    pub fn text(&self) -> String {
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
    let worst = doubts
        .iter()
        .copied()
        .min_by_key(|run| run.judged.headline());
    let worst = worst.unwrap_or(lead);
    let mut word = worst.judged.headline();
    let mut text = worst
        .judged
        .leading()
        .map_or(CLEAN, |one| &one.text)
        .to_owned();
    if word == Word::ClosedLoop
        && let Some(flat) = storage_bound(&measured, lead)
    {
        (word, text) = (Word::StorageBound, flat);
    }
    let like = doubts.iter().filter(|run| run.judged.headline() == word);
    let curve = curve_text(&measured).map_or(String::new(), |text| format!("; {text}"));
    let others = worst.judged.others.clone();
    Some(Verdict {
        word,
        others: others.filter(|_| word == Word::GeneratorBound),
        speed: lead.speed() + &curve,
        belief: belief(lead, worst, &text, (like.count(), measured.len())),
        next: next(word, points),
    })
}

/// Where latency begins to rise on a curve, or why that is not known; nothing of less than two rates.
fn curve_text(measured: &[&Heard]) -> Option<String> {
    let points = measured.iter().filter(|run| run.asked().is_some());
    let points: Vec<CurvePoint> = points.map(|run| run.judged.point.clone()).collect();
    if points.len() < 2 {
        return None;
    }
    if let Some(knee) = knee(&points) {
        let point = &points[knee.point];
        return Some(format!(
            "the knee is at {} I/O/s, `{}`",
            rate(point.achieved_per_s),
            point.name
        ));
    }
    let (all, missed) = (
        points.len(),
        points.iter().filter(|point| point.is_missed()).count(),
    );
    let held = points
        .iter()
        .filter(|point| point.shows_the_storage())
        .count();
    Some(match (held >= KNEE_POINTS_LEAST, missed) {
        (true, _) => "no knee: latency rises evenly up to the highest rate".into(),
        (false, 0) => format!(
            "no knee: it needs {KNEE_POINTS_LEAST} points that show the storage, and this curve has {held}"
        ),
        (false, _) => format!("no knee: {missed} of {all} points missed their rate"),
    })
}

/// Twice the slots or more bring next to nothing: in words, where that is so for the run.
fn storage_bound(runs: &[&Heard], lead: &Heard) -> Option<String> {
    let outlines: Vec<RunOutline> = runs.iter().map(|run| run.outline.clone()).collect();
    let sweeps = series(&outlines)
        .into_iter()
        .filter(|one| one.kind == SeriesKind::SlotSweep);
    let place = runs.iter().position(|run| std::ptr::eq(*run, lead))?;
    let sweep = sweeps
        .map(|one| one.runs)
        .find(|of_sweep| of_sweep.contains(&place))?;
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

fn belief(lead: &Heard, worst: &Heard, text: &str, (like, all): (usize, usize)) -> String {
    let also = match like {
        0 | 1 => String::new(),
        _ => format!(" ({like} of {all} runs are affected)"),
    };
    match (lead.judged.is_believed(), worst.judged.is_believed()) {
        (true, true) => format!("It can be believed: {text}"),
        (true, false) => format!("It can be believed; `{}` cannot: {text}{also}", worst.name),
        (false, _) => format!("It cannot be believed: {text}{also}"),
    }
}

/// What is to be done about a word, where so many rates were asked.
fn next(word: Word, points: usize) -> &'static str {
    match word {
        Word::Failed => "fix what the message names, and run it again",
        Word::TooManyErrors | Word::Errors => {
            "see in report.html which I/Os failed, fix the cause, and run it again"
        }
        Word::Stopped | Word::Unfinished => "use `--resume` to do the missing runs",
        Word::NothingMeasured => "ask for more time than the warm-up takes",
        Word::LostFigures => "run it again if the lost part matters",
        Word::NotReturned => "look for the device in the system log at the time of the run",
        Word::ShortTransfers => "make sure that the target is as large as the job says",
        Word::CacheSuspect => "use more data than memory holds, or direct I/O",
        Word::Sparse => "fill it with `fathom prefill`, and run it again",
        Word::GeneratorBound => "stop other programs that use the CPUs, and run it again",
        Word::Stalled => "look at that time in report.html and in the system log",
        Word::DepthBound => "run it again with twice as many slots",
        Word::Unstable | Word::RateMissed | Word::Unserved => {
            "ask for a lower rate, or let `fathom curve` find where latency rises"
        }
        Word::Changed | Word::Unsteady => {
            "warm up and measure for longer, until rate and latency are steady"
        }
        Word::TooFewSamples => "run it for longer",
        Word::NotChecked => "read in docs/concepts/verdict.md what such a target can show",
        Word::ClosedLoop | Word::Clean if points > 1 => {
            "repeat it on another day to see how far the figures vary"
        }
        Word::StorageBound => "run `fathom curve` to see at which rate latency begins to rise",
        Word::CameLate | Word::Undercounted | Word::Waited | Word::ClosedLoop | Word::Clean => {
            "run `fathom curve` to see the latency at every rate up to the maximum"
        }
    }
}

impl Heard {
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

    fn speed(&self) -> String {
        let point = &self.judged.point;
        if point.operations == 0 {
            return format!("no I/O succeeded in `{}`", self.name);
        }
        let p99_ns = point.response.p99;
        let is_bound = point.response_bound_ns.is_some_and(|at| p99_ns >= at);
        format!(
            "{} I/O/s with a response p99 of {} in `{}`",
            rate(point.achieved_per_s),
            bounded(is_bound, latency(p99_ns as f64)),
            self.name
        )
    }
}

/// Whether nearly all slots were in use nearly all the time.
fn are_nearly_all(busy: f64, slots: u32) -> bool {
    busy >= ALL_SLOTS_SHARE * f64::from(slots)
}

/// Judges a run by its totals and, where its intervals were followed, by its course.
pub fn judge(
    totals: &RunTotals,
    steady: Option<&Steadiness>,
    reach: Reach,
    targets: &[Ground<'_>],
) -> Judged {
    let mut point = point(totals);
    point.is_stalled = steady.is_some_and(|steady| steady.stall.is_some());
    let is_course_known = steady.is_some_and(|steady| steady.drift.is_some());
    let gap = totals
        .started
        .is_open_loop
        .then(|| response_gap(totals, reach));
    let scene = Scene {
        totals,
        steady,
        reach,
        point: &point,
        gap: gap.flatten(),
        targets,
    };
    let others = scene.others();
    let mut findings: Vec<Finding> = scene.findings();
    findings.sort_by_key(|finding| finding.word);
    Judged {
        point,
        is_course_known,
        findings,
        others,
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

/// What words are found in.
struct Scene<'a> {
    totals: &'a RunTotals,
    steady: Option<&'a Steadiness>,
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
        let texts = self.grounds_read().filter_map(|ground| {
            let target = ground.target;
            let hole_bytes = target.hole_bytes.filter(|_| !ground.is_written);
            let holes = hole_bytes.unwrap_or(0) as f64 / target.bytes.max(1) as f64;
            let sampled = self
                .totals
                .sampled
                .get(&ground.id)
                .copied()
                .unwrap_or_default();
            let zeros = sampled.zeros as f64 / sampled.reads.max(1) as f64;
            let is_zeros = sampled.reads >= ZERO_READS_LEAST && zeros >= ZERO_SHARE;
            match (holes > SPARSE_SHARE, is_zeros) {
                (true, _) => Some(format!("{} of `{}` is holes", percent(holes), target.name)),
                (_, true) => Some(format!(
                    "{} of a sample of {} of `{}` brought only zeros",
                    percent(zeros),
                    counted(sampled.reads, "read"),
                    target.name
                )),
                _ => None,
            }
        });
        let mut texts = texts.take(NAMED + 1).collect::<Vec<_>>();
        if texts.len() > NAMED {
            texts[NAMED] = "and more".to_owned();
        }
        (!texts.is_empty()).then(|| texts.join(", "))
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
        let signs = [
            self.stolen(),
            self.throttled(),
            self.late(),
            self.overhead(),
        ];
        let signs: Vec<String> = signs.into_iter().flatten().collect();
        (!signs.is_empty()).then(|| signs.join("; "))
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

    fn overhead(&self) -> Option<String> {
        let told = "Fathom itself took the time, as nothing that stores data was reached";
        matches!(self.cause(), Some(GapCause::Overhead)).then(|| told.into())
    }

    fn cause(&self) -> Option<GapCause> {
        self.gap.map(|gap| gap.cause)
    }

    fn stalled(&self) -> Option<String> {
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
        let are_full = || are_nearly_all(self.point.slots_busy.unwrap_or(0.0), self.point.slots);
        is_closed.then(|| {
            let is_slots = if are_full() { "is slots ÷ rate and " } else { "" };
            format!(
                "the next I/O was sent only after an answer, so that latency {is_slots}hides waiting before the I/O"
            )
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
