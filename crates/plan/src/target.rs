//! What is tested: a device, a file, a set of files or a tree.
use crate::flow::is_zero;
use crate::ids::TargetId;
use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A place that I/O goes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// The user's name for it, unique in the plan.
    pub name: String,
    /// The host that reaches it.
    pub host: String,
    /// The target of the first host where several hosts reach one storage, and this is of a further one: the first host
    /// makes it, and keeps others away from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_from: Option<TargetId>,
    pub path: PathBuf,
    pub kind: TargetKind,
    pub size: SizeRule,
    /// Where the size that the user gave begins to count, in bytes: a job may count it from an offset on. The sizes above are
    /// those of the whole target.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub size_from_bytes: u64,
    pub open: OpenMode,
    pub preparation: Preparation,
    pub ledger: Ledger,
    /// Where the target was named, for messages about it.
    pub origin: Origin,
}

/// What a target is expected to be. `bind` compares it with what is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A block device; it must exist and is never created.
    Device,
    /// A regular file, which may have to be made.
    File,
    /// Several files that one stream visits.
    FileSet,
    /// A tree of directories and files.
    Tree,
    /// Nothing: I/O completes at once and moves no data.
    Nothing,
    /// Simulated storage, for exact tests.
    Simulated,
}

/// How large the target is taken to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeRule {
    /// As large as it is found.
    AsFound,
    /// This many bytes; a file is made or extended to it, a smaller device is an error.
    Bytes(u64),
    /// This share of what is found.
    PercentOfFound(f64),
    /// This many bytes more than it is found with; a file is extended.
    BeyondFound(u64),
    /// As large as its file system lets it become.
    Unlimited,
}

/// What [`SizeRule::Unlimited`] counts as, far behind what file systems can hold.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// How it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenMode {
    /// Past the page cache (O_DIRECT).
    pub direct: bool,
    pub sync: SyncMode,
    /// Flush before close.
    pub sync_on_close: bool,
    /// Further bits for open(2), as the user wrote them.
    pub raw_flags: i32,
    /// What the page cache holds of it is dropped when it is opened.
    #[serde(default)]
    pub drops_cache: bool,
    /// All of it is read into the page cache when it is opened; without effect past the cache.
    #[serde(default)]
    pub fills_cache: bool,
    /// What the page cache is told of how it will be read.
    #[serde(default)]
    pub advice: Option<AccessAdvice>,
    /// What a regular file gets up to the size of the target before a measured run writes it.
    #[serde(default)]
    pub reserves: Option<Reservation>,
    /// Where it is mapped: in huge pages, as far as the kernel has them.
    #[serde(default)]
    pub huge_pages: bool,
}

/// Space for a file that is shorter than its target. Without it a file grows as it is written, which file systems make
/// slow: each direct write behind the end waits for the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reservation {
    /// Blocks and length, where the file system reserves blocks.
    Space,
    /// Blocks, behind the end of the file.
    SpaceBehindEnd,
    /// The length, with a hole.
    Length,
}

/// How a target will be read, as the page cache is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessAdvice {
    Random,
    Sequential,
    /// Nothing of it comes twice.
    Once,
}

/// Whether the page cache may answer for the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Past the page cache (O_DIRECT).
    Direct,
    /// Reads may come from the page cache; each write is on the storage before it completes (O_SYNC, O_DSYNC).
    WriteThrough,
    /// Reads may come from the page cache, and writes end there.
    WriteBack,
}

impl OpenMode {
    /// Whether the page cache may answer for a target that is opened so.
    pub fn cache_mode(&self) -> CacheMode {
        match (self.direct, self.sync) {
            (true, _) => CacheMode::Direct,
            (false, SyncMode::None) => CacheMode::WriteBack,
            (false, SyncMode::Data | SyncMode::All) => CacheMode::WriteThrough,
        }
    }
}

/// Whether each write is made durable by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    #[default]
    None,
    /// O_DSYNC
    Data,
    /// O_SYNC
    All,
}

/// What is done to the target before its first run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preparation {
    /// Used as found; a file that is missing or short comes to be when it is written.
    AsFound,
    /// Used as found, and has to be there with all its size.
    MustExist,
    /// Written from its present end to its size by a run of [`crate::RunKind::Prepare`].
    MakeOrExtend,
    /// Written whole by such a run, in place.
    Rewrite,
}

/// What must be remembered of a target beyond a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ledger {
    #[default]
    None,
    /// A generation per block, for checking what is read back.
    BlockKeys,
    /// The same, with a journal that survives a crash.
    JournaledBlockKeys,
    /// Which files and directories exist, and how full they are.
    TreeState,
    /// Which blocks were visited, so that each is visited once.
    VisitedBlocks,
    /// How far a verification has come.
    VerifyState,
}

impl SizeRule {
    /// In bytes, of a target that is found with so many.
    pub fn of_found(self, found_bytes: u64) -> u64 {
        match self {
            SizeRule::AsFound => found_bytes,
            SizeRule::Bytes(bytes) => bytes,
            SizeRule::PercentOfFound(pct) => (found_bytes as f64 * pct / 100.0) as u64,
            SizeRule::BeyondFound(bytes) => found_bytes.saturating_add(bytes),
            SizeRule::Unlimited => UNLIMITED_BYTES,
        }
    }
}

impl Target {
    /// Whether I/O to it reaches storage at all.
    pub fn is_real(&self) -> bool {
        !matches!(self.kind, TargetKind::Nothing | TargetKind::Simulated)
    }
}

/// A target for the user: its path, after the name that it has in the job. A name that is only made of the path would be
/// one that the user never wrote.
///
/// ```
/// use std::path::Path;
/// assert_eq!(plan::target_text("sd1", Path::new("/dev/sdb")), "`sd1` (/dev/sdb)");
/// assert_eq!(plan::target_text("sdb", Path::new("/dev/sdb")), "`/dev/sdb`");
/// ```
#[must_use]
pub fn target_text(name: &str, path: &Path) -> String {
    let shown = path.display();
    match path.ends_with(name) {
        true => format!("`{shown}`"),
        false => format!("`{name}` ({shown})"),
    }
}
