//! The run that lays out what jobs read: the files of a job one after the other, jobs side by side. A stream for each
//! file would have ten thousand pools for ten thousand small files.
use plan::{
    AddressOrder, AlignRule, Coupling, DataSpec, FirstBlock, Flow, Generator, Label, LocalStop,
    Nanos, OpSource, OpenMode, OperationMix, Origin, Owner, Pacing, PerDirection, Placement, Pool,
    PoolId, Region, RunSpec, RunTemplate, SequentialEnd, SequentialStart, SizeRule, Stream, Target,
    TargetId, TargetOrder, TemplateId, TransferSizes,
};
use std::collections::BTreeMap;

/// The name of the run.
const LAYOUT: &str = "layout";
/// Of one I/O, at most.
const LAYOUT_BYTES: u64 = 1 << 20;
/// I/Os in flight for a file, and for all files of a job.
const LAYOUT_SLOTS: u32 = 4;
const LAYOUT_SLOTS_MAX: u32 = 16;

/// A target that may have to be laid out, with how.
pub(super) struct Layout {
    pub target: TargetId,
    pub data: DataSpec,
    pub job: String,
    /// As whom it is made.
    pub owner: Option<Owner>,
}

/// Files of a job that are laid out in one way, by I/Os of one size: that of the smallest, which is at least half of
/// that of the largest.
struct Alike<'a> {
    first: &'a Layout,
    targets: Vec<TargetId>,
    transfer: u64,
}

/// The streams that lay everything out; `None` where there is nothing.
pub(super) fn template(layouts: &[Layout], targets: &[Target]) -> Option<RunTemplate> {
    let alike = alike(layouts, targets);
    if alike.is_empty() {
        return None;
    }
    let share_pct = 100.0 / alike.len() as f64;
    let mut template = RunTemplate {
        pools: Vec::new(),
        streams: Vec::new(),
        coupling: Coupling::Independent,
    };
    for files in alike {
        let first = &targets[files.targets[0].index()].name;
        let name = match files.targets.len() {
            1 => format!("{LAYOUT} {first}"),
            count => format!("{LAYOUT} {first} and {} more", count - 1),
        };
        let slots = LAYOUT_SLOTS.saturating_mul(files.targets.len() as u32);
        let slots = slots.min(LAYOUT_SLOTS_MAX);
        template.pools.push(Pool::new(&name, slots));
        let pool = PoolId::at(template.pools.len() - 1);
        template.streams.push(stream(files, name, pool, share_pct));
    }
    Some(template)
}

/// The run with these streams.
pub(super) fn run(template: TemplateId) -> RunSpec {
    let why = "files that jobs read are laid out where they are missing or short";
    RunSpec::filling(LAYOUT.to_owned(), template, Origin::Derived(why.to_owned()))
}

fn alike<'a>(layouts: &'a [Layout], targets: &[Target]) -> Vec<Alike<'a>> {
    let mut all: Vec<Alike<'a>> = Vec::new();
    let mut known: BTreeMap<(&str, u32), Vec<usize>> = BTreeMap::new();
    for layout in layouts {
        let size = targets[layout.target.index()].size;
        let (SizeRule::Bytes(bytes) | SizeRule::BeyondFound(bytes)) = size else {
            continue;
        };
        let transfer = LAYOUT_BYTES.min(bytes);
        let size = transfer.checked_ilog2().unwrap_or(0);
        let key = (layout.job.as_str(), size);
        let places = known.entry(key).or_default();
        let mut own = places.iter().copied();
        let is_alike = |first: &Layout| first.data == layout.data && first.owner == layout.owner;
        match own.find(|place| is_alike(all[*place].first)) {
            Some(place) => {
                all[place].transfer = all[place].transfer.min(transfer);
                all[place].targets.push(layout.target);
            }
            None => {
                places.push(all.len());
                all.push(Alike {
                    first: layout,
                    targets: vec![layout.target],
                    transfer,
                });
            }
        }
    }
    all
}

fn stream(files: Alike<'_>, name: String, pool: PoolId, share_pct: f64) -> Stream {
    Stream {
        name,
        targets: files.targets,
        target_order: TargetOrder::OneAfterTheOther,
        pool,
        source: OpSource::Generator(Generator {
            operations: OperationMix::reads(0.0),
            transfer: PerDirection::all(TransferSizes::Fixed(files.transfer)),
            order: AddressOrder::Sequential {
                // What is there stays as it is, to the last byte; so the page cache takes what follows.
                start: SequentialStart::PresentEnd { rounded_to: 1 },
                end: SequentialEnd::Stop,
            },
            region: Region::whole(1, FirstBlock::Used),
            align: AlignRule::Transfer,
            sequences: plan::Sequences::Shared,
            hits: None,
            redraws_sizes: false,
        }),
        pacing: Pacing::None,
        flow: Flow {
            placement: Placement {
                owner: files.first.owner,
                ..Placement::default()
            },
            ..Flow::default()
        },
        share_pct,
        priority: None,
        data: files.first.data,
        open: Some(OpenMode {
            sync_on_close: true,
            ..OpenMode::default()
        }),
        stop: LocalStop::default(),
        start_delay: Nanos(0),
        seed: None,
        lifetime: None,
        labels: vec![Label::new("job", files.first.job.clone())],
    }
}
