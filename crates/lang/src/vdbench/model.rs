//! Definitions with every value read and every reference resolved, before loops are unfolded.
use super::content::{Duplicates, Pattern};
use super::fields::Fields;
use super::token::Word;
use plan::{
    ArrivalLaw, DuplicatePool, ErrorBudget, Label, OpenMode, Reach, Span, Steering, TransferSizes,
};

/// A host, or one of the several that `clients=` makes of it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub label: String,
    pub span: Option<Span>,
    /// How it is reached; `None` for the host that reads the text.
    pub reach: Option<Reach>,
    /// How many processes of the original would work there.
    pub processes: u32,
}

/// What the general parameters ask for.
#[derive(Clone, Debug)]
pub(crate) struct General {
    pub errors: ErrorBudget,
    pub steering: Steering,
    pub format_transfer_bytes: Option<u64>,
    pub format_storage: FormatStorage,
    pub compression_ratio: f64,
    pub compression_seed: u64,
    pub duplicates: Duplicates,
    pub pattern: Option<Pattern>,
    pub concatenates: bool,
    pub validates: bool,
    /// Whether each I/O is written down.
    pub lists_addresses: bool,
    /// `detail` labels of the reporting: `host`, `slave`, `no_sd`.
    pub details: Vec<Label>,
}

/// When storage definitions are written before the first run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatStorage {
    /// Where a file is missing or short.
    WhereNeeded,
    Always,
    Never,
}

/// A storage definition.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub fields: Fields,
    pub name: String,
    pub lun: Word,
    /// The path on each host, by label, where it is not the same on all.
    pub luns: Vec<(String, Word)>,
    /// Labels; empty means all.
    pub hosts: Vec<String>,
    pub bytes: Option<u64>,
    pub threads: u32,
    pub hit_area_bytes: u64,
    pub offset_bytes: u64,
    pub align_bytes: Option<u64>,
    pub range: Option<(f64, f64)>,
    pub open: Option<OpenMode>,
    /// Without targets; equal ones share a pool.
    pub duplicates: Option<DuplicatePool>,
}

impl Storage {
    pub(crate) fn is_device(&self) -> bool {
        self.lun.text.starts_with("/dev/")
    }
}

/// A share of I/Os that seek, or a law for where they go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Seek {
    Percent(f64),
    /// Sequential, from a random block.
    SequentialFromRandom,
    /// Sequential, and the stream stops at the end.
    UntilEnd,
    Poisson(f64),
}

/// A workload definition.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub fields: Fields,
    pub name: String,
    /// Places in the list of storage definitions; `None` when it names none.
    pub storages: Option<Vec<usize>>,
    pub skew_pct: Option<f64>,
    pub transfer: TransferSizes,
    pub read_pct: f64,
    pub seek: Seek,
    pub stride: Option<(u64, u64)>,
    pub range: Option<(f64, f64)>,
    pub hot_band: Option<(f64, f64)>,
    pub read_hit_pct: f64,
    pub write_hit_pct: f64,
    pub open: Option<OpenMode>,
    pub priority: Option<u32>,
    pub rate: Option<f64>,
    pub streams: Option<u32>,
    /// For concatenated storage only.
    pub threads: Option<u32>,
    pub is_user_class: bool,
    pub hosts: Vec<String>,
}

/// What is asked of a run, before lists are unfolded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RateSpec {
    Max,
    Curve,
    /// Rates per second; negative ones are percentages of what the run before reached.
    Numbers(Vec<f64>),
    /// (rate, seconds) over and over.
    Steps(Vec<(f64, f64)>),
}

/// What a loop varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopKind {
    TransferSize,
    Threads,
    ReadPct,
    ReadHitPct,
    WriteHitPct,
    SeekPct,
    HitArea,
    CompressionRatio,
    Depth,
    Width,
    Files,
    Sizes,
    TotalSize,
    WorkingSet,
    Operation,
    FileRate,
}

/// One value of a loop.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LoopValue {
    Number(f64),
    /// Ratio of compression, and the number as it is written: a ratio, or the percent that remain.
    Ratio(f64, f64),
    Seek(Seek),
    Word(String),
}

/// A loop with its values.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub kind: LoopKind,
    pub values: Vec<LoopValue>,
}

/// Which storage a run uses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StorageChoice {
    OfWorkloads,
    These(Vec<usize>),
    /// The run is repeated for each list; the text goes into its name.
    Repeated(Vec<(String, Vec<usize>)>),
}

/// Times of a run in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub elapsed_s: u64,
    pub interval_s: u64,
    pub warmup_s: u64,
    pub pause_s: u64,
}

/// Amounts that end a run: bytes, or multiples of the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DataLimits {
    pub total: Option<f64>,
    pub read: Option<f64>,
    pub written: Option<f64>,
}

/// A run definition.
#[derive(Clone, Debug)]
pub(crate) struct RunDefinition {
    pub fields: Fields,
    pub name: String,
    pub workloads: Vec<Workload>,
    pub storage: StorageChoice,
    pub rate: RateSpec,
    pub law: ArrivalLaw,
    pub curve_pct: Vec<f64>,
    pub stop_curve_ms: Option<f64>,
    pub times: Times,
    pub limits: DataLimits,
    pub loops: Vec<Loop>,
    pub open: Option<OpenMode>,
}

impl LoopKind {
    /// As it is shown in the text of a run.
    pub(crate) fn label(self) -> &'static str {
        match self {
            LoopKind::TransferSize => "xfersize",
            LoopKind::Threads => "threads",
            LoopKind::ReadPct => "rdpct",
            LoopKind::ReadHitPct => "rhpct",
            LoopKind::WriteHitPct => "whpct",
            LoopKind::SeekPct => "seekpct",
            LoopKind::HitArea => "hitarea",
            LoopKind::CompressionRatio => "comp",
            LoopKind::Depth => "depth",
            LoopKind::Width => "width",
            LoopKind::Files => "files",
            LoopKind::Sizes => "sizes",
            LoopKind::TotalSize => "totalsize",
            LoopKind::WorkingSet => "wss",
            LoopKind::Operation => "operation",
            LoopKind::FileRate => "fwdrate",
        }
    }

    /// The loop that a parameter of a run declares.
    pub(crate) fn of_parameter(name: &str) -> Option<Self> {
        Some(match name {
            "xfersize" => LoopKind::TransferSize,
            "threads" => LoopKind::Threads,
            "rdpct" => LoopKind::ReadPct,
            "rhpct" => LoopKind::ReadHitPct,
            "whpct" => LoopKind::WriteHitPct,
            "seekpct" => LoopKind::SeekPct,
            "hitarea" => LoopKind::HitArea,
            "compratio" | "compression" => LoopKind::CompressionRatio,
            "depth" => LoopKind::Depth,
            "width" => LoopKind::Width,
            "files" => LoopKind::Files,
            "sizes" => LoopKind::Sizes,
            "totalsize" => LoopKind::TotalSize,
            "wss" => LoopKind::WorkingSet,
            "foroperations" => LoopKind::Operation,
            _ => return None,
        })
    }

    /// Whether it changes the tree that a format makes.
    pub(crate) fn changes_tree(self) -> bool {
        matches!(
            self,
            LoopKind::Depth
                | LoopKind::Width
                | LoopKind::Files
                | LoopKind::Sizes
                | LoopKind::TotalSize
                | LoopKind::WorkingSet
        )
    }
}
