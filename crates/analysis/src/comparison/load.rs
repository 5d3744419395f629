//! What was asked of a run, as far as its record tells: two runs are compared where that is alike.
use measure::{RunTotals, StreamInfo};
use plan::{ArrivalLaw, CacheMode, Label, Operation};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Rates that were asked for are the same within this share.
const RATE_SHARE: f64 = 0.01;

/// Sizes of transfers are drawn where a job mixes them, and so is what is read.
const SIZE_SHARE: f64 = 0.05;
const READ_SHARE: f64 = 0.05;

/// Jobs side by side have shares that are rounded.
const RANDOM_PCT: f64 = 1.0;

/// How far two shares that were drawn may lie apart, in standard deviations.
const CHANCE_DEVIATIONS: f64 = 4.0;

/// A rate that was asked for is fixed where both sides held so much of it.
const HELD_SHARE: f64 = 0.98;

/// How far a count of random arrivals may lie from what was asked for, in standard deviations.
const ARRIVAL_DEVIATIONS: f64 = 3.0;

/// Numbers of a sweep are those that were written.
const SAME_SHARE: f64 = 1e-9;

/// What a load stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadKind {
    #[default]
    Run,
    /// No run but what several are together: a knee, or where they saturate.
    Curve,
    /// Between two points of a curve.
    Interpolated,
}

/// What can be asked of a run, in the order in which names tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Rate,
    TransferSize,
    Reads,
    Random,
    /// Of each job.
    JobDepth,
    Jobs,
    /// Of the whole run.
    QueueDepth,
    Engine,
    PageCache,
}

/// The load of a run: what was asked of it, as far as its record tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    pub kind: LoadKind,
    /// Arrivals per second; `None` when flat out.
    pub asked_per_s: Option<f64>,
    /// Whether arrivals came at random, so that a run may have fewer or more of them than were asked for.
    pub is_random_in_time: bool,
    /// What a sweep gave it, by name.
    pub swept: Vec<(String, f64)>,
    /// Bytes of an operation on average; zero where nothing came back.
    pub operation_bytes: f64,
    /// Of the operations that move data, those that read; 0 to 1.
    pub read_share: f64,
    /// How many that was seen of; zero where nobody tells.
    pub operations: u64,
    /// Of the operations, those at random places, in percent; `None` where nobody tells.
    pub random_pct: Option<f64>,
    /// How many may be in flight; `None` where nobody tells.
    pub slots: Option<u32>,
    /// How many each job may have in flight, where jobs say it; those of jobs that differ are a list.
    pub job_depth: Option<String>,
    pub jobs: Option<u32>,
    /// By what the I/O of jobs was submitted.
    pub engine: Option<String>,
    /// Whether it went past the page cache.
    pub page_cache: Option<String>,
    /// What else the jobs were given, by option: it tells loads of one side apart, and is no reason not to compare two sides.
    pub options: Vec<(String, String)>,
}

/// Options of jobs that say how a load is told of and for how long, or what has a place of its own in [`Loaded`].
const NO_LOAD: [&str; 25] = [
    "name",
    "description",
    "group_reporting",
    "per_job_logs",
    "runtime",
    "time_based",
    "ramp_time",
    "startdelay",
    "randseed",
    "bs",
    "blocksize",
    "rw",
    "readwrite",
    "rwmixread",
    "rwmixwrite",
    "rate_iops",
    "iodepth",
    "numjobs",
    "ioengine",
    "direct",
    "buffered",
    "output",
    "output-format",
    "thread",
    "stonewall",
];

/// How their names begin.
const NO_LOAD_FRONTS: [&str; 4] = ["write_", "log_", "status", "eta"];

/// The options of the jobs of a run of fio.
struct JobOptions<'a> {
    streams: &'a [StreamInfo],
    globals: &'a [Label],
}

impl<'a> JobOptions<'a> {
    /// `None` for jobs that were not told.
    fn of(totals: &'a RunTotals, globals: &'a [Label]) -> Option<Self> {
        let streams = &*totals.started.streams;
        let has =
            |labels: &[Label], front: &str| labels.iter().any(|label| label.key.starts_with(front));
        let is_told =
            |stream: &StreamInfo| has(&stream.labels, "option.") || has(globals, "global.");
        (!streams.is_empty() && streams.iter().all(is_told)).then_some(Self { streams, globals })
    }

    fn value(&self, stream: &'a StreamInfo, name: &str) -> Option<&'a str> {
        let own = Label::find(&stream.labels, &format!("option.{name}"));
        own.or_else(|| Label::find(self.globals, &format!("global.{name}")))
    }

    /// Of all jobs; each once where they differ.
    fn all(&self, of: &dyn Fn(&'a StreamInfo) -> String) -> String {
        let all: BTreeSet<String> = self.streams.iter().map(of).collect();
        all.into_iter().collect::<Vec<_>>().join(" + ")
    }

    /// Or what the language takes where nobody says it.
    fn text(&self, name: &str, default: &str) -> String {
        self.all(&|stream| self.value(stream, name).unwrap_or(default).to_owned())
    }

    fn page_cache(&self) -> String {
        let is_on = |stream, name| self.value(stream, name).map(|text| text != "0");
        self.all(&|stream| {
            let is_direct = is_on(stream, "direct")
                .or(is_on(stream, "buffered").map(|is_buffered| !is_buffered));
            let mode = match is_direct {
                Some(true) => CacheMode::Direct,
                _ => CacheMode::WriteBack,
            };
            page_cache_text(mode).to_owned()
        })
    }

    /// Streams, or where one stands for several members of a group, these.
    fn jobs(&self) -> u32 {
        let members = |stream: &StreamInfo| {
            let label = Label::find(&stream.labels, Label::IMPORTED_MEMBERS);
            label.and_then(|text| text.parse::<u32>().ok()).unwrap_or(1)
        };
        self.streams.iter().map(members).sum()
    }

    /// All others that make a load, by name.
    fn further(&self) -> Vec<(String, String)> {
        let own = self.streams.iter().flat_map(|stream| &stream.labels);
        let own = own.filter_map(|label| label.key.strip_prefix("option."));
        let globals = self.globals.iter();
        let globals = globals.filter_map(|label| label.key.strip_prefix("global."));
        let is_load = |name: &&str| {
            !NO_LOAD.contains(name) && !NO_LOAD_FRONTS.iter().any(|front| name.starts_with(front))
        };
        let names: BTreeSet<&str> = own.chain(globals).filter(is_load).collect();
        let text =
            |name: &str| self.all(&|stream| self.value(stream, name).unwrap_or("-").to_owned());
        names
            .into_iter()
            .map(|name| (name.to_owned(), text(name)))
            .collect()
    }
}

fn page_cache_text(mode: CacheMode) -> &'static str {
    match mode {
        CacheMode::Direct => "direct",
        CacheMode::WriteThrough => "synced",
        CacheMode::WriteBack => "buffered",
    }
}

/// Jobs of Vdbench say it of a run, those of fio of each stream, or of all.
fn random_pct_of(totals: &RunTotals, globals: &[Label]) -> Option<f64> {
    if let Some(text) = Label::find(&totals.started.labels, "flat.seekpct") {
        return text.parse().ok().map(|pct: f64| pct.max(0.0));
    }
    let global = Label::find(globals, "global.rw");
    let streams = totals.started.streams.iter();
    let shares = streams.map(|stream| {
        let rw = Label::find(&stream.labels, "option.rw").or(global)?;
        let pct = if rw.starts_with("rand") { 100.0 } else { 0.0 };
        Some((pct * stream.share_pct, stream.share_pct))
    });
    let shares: Option<Vec<(f64, f64)>> = shares.collect();
    let shares = shares?;
    let all: f64 = shares.iter().map(|(_, share)| share).sum();
    // Jobs side by side may have all of their own rate each.
    (all > 0.0).then(|| shares.iter().map(|(random, _)| random).sum::<f64>() / all)
}

impl Loaded {
    /// With the labels of the whole job.
    pub fn of(totals: &RunTotals, globals: &[Label]) -> Self {
        let moves = |operation: Operation| !operation.is_sync();
        let moving = || totals.figures.iter().filter(|one| moves(one.key.operation));
        let operations: u64 = moving().map(|one| one.operations).sum();
        let bytes: u64 = moving().map(|one| one.bytes).sum();
        let reads = moving().filter(|one| one.key.operation == Operation::Read);
        let reads: u64 = reads.map(|one| one.operations).sum();
        let each = |amount: u64| amount as f64 / operations.max(1) as f64;
        let swept = totals.started.swept.iter();
        let options = JobOptions::of(totals, globals);
        let options = options.as_ref();
        let modes = totals.started.streams.iter();
        let modes = modes.filter_map(|stream| stream.cache_mode).max();
        Self {
            kind: LoadKind::Run,
            asked_per_s: totals.started.asked_rate,
            is_random_in_time: totals.started.law.is_some_and(ArrivalLaw::scatters),
            swept: swept.map(|one| (one.name.clone(), one.value)).collect(),
            operation_bytes: each(bytes),
            read_share: each(reads),
            operations,
            random_pct: random_pct_of(totals, globals),
            slots: Some(totals.slots()),
            job_depth: options.map(|jobs| jobs.text("iodepth", "1")),
            jobs: options.map(JobOptions::jobs),
            engine: options.map(|jobs| jobs.text("ioengine", "psync")),
            page_cache: options
                .map(JobOptions::page_cache)
                .or(modes.map(|mode| page_cache_text(mode).to_owned())),
            options: options.map_or(Vec::new(), JobOptions::further),
        }
    }

    /// Whether the same was asked, as far as both tell.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.kind == LoadKind::Curve) == (other.kind == LoadKind::Curve)
            && self.is_swept_like(other)
            && Asked::ALL.iter().all(|asked| self.agrees(other, *asked))
    }

    /// Whether two runs of one side are repeats.
    pub(super) fn is_repeat_of(&self, other: &Self) -> bool {
        self.is_like(other) && self.options == other.options
    }

    /// Whether a rate is less than what was asked for, by more than chance makes of it.
    pub(super) fn is_missed_by(&self, rate: f64) -> bool {
        let chance = match self.operations {
            0 => 0.0,
            _ if !self.is_random_in_time => 0.0,
            operations => ARRIVAL_DEVIATIONS / (operations as f64).sqrt(),
        };
        let asked = self.asked_per_s;
        asked.is_some_and(|asked| rate < (HELD_SHARE - chance) * asked)
    }

    /// From the least that was asked to the most.
    pub(super) fn by_amount(&self, other: &Self) -> Ordering {
        let amounts = |load: &Self| {
            let depth = load.job_depth.as_ref().and_then(|text| text.parse().ok());
            [
                load.asked_per_s.unwrap_or(f64::INFINITY),
                load.operation_bytes,
                depth.unwrap_or(0.0),
                f64::from(load.jobs.or(load.slots).unwrap_or(0)),
            ]
        };
        let pairs = amounts(self).into_iter().zip(amounts(other));
        let by_each = pairs.map(|(one, other): (f64, f64)| one.total_cmp(&other));
        by_each.fold(Ordering::Equal, Ordering::then)
    }

    /// What nobody tells agrees with anything.
    pub(super) fn agrees(&self, other: &Self, asked: Asked) -> bool {
        match asked {
            Asked::Rate => match (self.asked_per_s, other.asked_per_s) {
                (Some(one), Some(other)) => is_near(one, other, RATE_SHARE),
                (one, other) => one == other,
            },
            Asked::TransferSize => is_near(self.operation_bytes, other.operation_bytes, SIZE_SHARE),
            Asked::Reads => self.reads_like(other),
            Asked::Random => {
                let both = Option::zip(self.random_pct, other.random_pct);
                both.is_none_or(|(one, other)| (one - other).abs() <= RANDOM_PCT)
            }
            Asked::JobDepth => are_alike(&self.job_depth, &other.job_depth),
            Asked::Jobs => are_alike(&self.jobs, &other.jobs),
            Asked::QueueDepth => are_alike(&self.slots, &other.slots),
            Asked::Engine => are_alike(&self.engine, &other.engine),
            Asked::PageCache => are_alike(&self.page_cache, &other.page_cache),
        }
    }

    /// Of few operations the share of reads is uncertain by itself.
    fn reads_like(&self, other: &Self) -> bool {
        let fewest = self.operations.min(other.operations).max(1) as f64;
        let share = (self.read_share + other.read_share) / 2.0;
        let chance = match self.operations.min(other.operations) {
            0 => 0.0,
            _ => CHANCE_DEVIATIONS * (2.0 * share * (1.0 - share) / fewest).sqrt(),
        };
        (self.read_share - other.read_share).abs() <= READ_SHARE + chance
    }

    /// In what two loads differ, by name, as text has them.
    pub fn differences(&self, other: &Self) -> Vec<(&'static str, String, String)> {
        let differ = Asked::ALL.into_iter();
        let differ = differ.filter(|asked| !self.agrees(other, *asked));
        let text = |load: &Self, asked| load.value(asked).unwrap_or("-".to_owned());
        differ
            .map(|asked| (asked.name(), text(self, asked), text(other, asked)))
            .collect()
    }

    /// One value, as lists of names and values have it; `None` where nobody tells.
    fn value(&self, asked: Asked) -> Option<String> {
        match asked {
            Asked::Rate => Some(match self.asked_per_s {
                Some(rate) => format!("{}/s", (rate * 100.0).round() / 100.0),
                None => "flat out".to_owned(),
            }),
            Asked::TransferSize => Some(crate::words::size(self.operation_bytes.round() as u64)),
            Asked::Reads => Some(format!("{:.0} %", self.read_share * 100.0)),
            Asked::Random => Some(format!("{:.0} %", self.random_pct?)),
            Asked::JobDepth => self.job_depth.clone(),
            Asked::Jobs => Some(self.jobs?.to_string()),
            Asked::QueueDepth => Some(self.slots?.to_string()),
            Asked::Engine => self.engine.clone(),
            Asked::PageCache => self.page_cache.clone(),
        }
    }

    /// The same as names of loads have it.
    pub(super) fn text(&self, asked: Asked) -> Option<String> {
        let value = self.value(asked)?;
        Some(match (asked, &*value) {
            (Asked::Reads, "100 %") => "reads".to_owned(),
            (Asked::Reads, "0 %") => "writes".to_owned(),
            (Asked::Reads, _) => format!("{value} reads"),
            (Asked::Random, "100 %") => "random".to_owned(),
            (Asked::Random, "0 %") => "sequential".to_owned(),
            (Asked::Random, _) => format!("{value} random"),
            (Asked::JobDepth, _) => format!("depth {value}"),
            (Asked::Jobs, "1") => "1 job".to_owned(),
            (Asked::Jobs, _) => format!("{value} jobs"),
            (Asked::QueueDepth, _) => format!("queue depth {value}"),
            _ => value,
        })
    }

    /// What only one of them names may have been written out in the other.
    fn is_swept_like(&self, other: &Self) -> bool {
        let same = |(name, value): &(String, f64)| {
            let mut others = other.swept.iter().filter(|(known, _)| known == name);
            others.all(|(_, other)| is_near(*value, *other, SAME_SHARE))
        };
        self.swept.iter().all(same)
    }
}

fn is_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= one.abs().max(other.abs()) * share
}

fn are_alike<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
    Option::zip(one.as_ref(), other.as_ref()).is_none_or(|(one, other)| one == other)
}

impl Asked {
    pub(super) const ALL: [Self; 9] = [
        Self::Rate,
        Self::TransferSize,
        Self::Reads,
        Self::Random,
        Self::JobDepth,
        Self::Jobs,
        Self::QueueDepth,
        Self::Engine,
        Self::PageCache,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Rate => "target rate",
            Self::TransferSize => "transfer size",
            Self::Reads => "share of reads",
            Self::Random => "random places",
            Self::JobDepth => "queue depth of a job",
            Self::Jobs => "jobs",
            Self::QueueDepth => "queue depth",
            Self::Engine => "engine",
            Self::PageCache => "page cache",
        }
    }
}
