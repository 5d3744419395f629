//! Which streams and pools the workloads of a run become: one stream per workload and storage
//! definition, one per slice where a workload has `streams`, and one over all of its storage where
//! definitions are concatenated.
use super::expand::RawRun;
use super::groups::stays_together;
use super::lower::{Job, swept_seek, swept_threads};
use super::model::{LoopKind, LoopValue, RunDefinition, Workload};
use plan::{Pool, Slice};
use std::collections::HashMap;

/// What becomes one stream.
pub(crate) struct Lane {
    /// Place in the list of workloads.
    pub workload: usize,
    /// Places in the list of storage definitions; one where they are not concatenated.
    pub storages: Vec<usize>,
    pub is_concatenated: bool,
    pub slice: Option<Slice>,
    /// Place in the list of pools.
    pub pool: usize,
    /// Place in the list of reporting groups.
    pub group: usize,
}

impl Lane {
    /// The only one, over one storage definition as a whole.
    pub(crate) fn over(storage: usize, pool: usize, group: usize) -> Self {
        Self {
            workload: 0,
            storages: vec![storage],
            is_concatenated: false,
            slice: None,
            pool,
            group,
        }
    }
}

/// The pools of a run with the lanes that use them.
pub(crate) fn lanes(
    job: &Job<'_>,
    run: &RawRun,
    definition: &RunDefinition,
) -> (Vec<Pool>, Vec<Lane>) {
    if job.general.concatenates {
        concatenated(job, run, definition)
    } else {
        separate(job, run, definition)
    }
}

/// For each lane, into how many parts the share of its workload is cut: equally over its storage,
/// and there over groups and slices.
pub(crate) fn parts(lanes: &[Lane]) -> Vec<f64> {
    let key = |lane: &Lane| (lane.workload, lane.storages.first().copied());
    let mut on_storage: HashMap<_, u32> = HashMap::new();
    let mut storages: HashMap<usize, u32> = HashMap::new();
    for lane in lanes {
        let count = on_storage.entry(key(lane)).or_insert(0);
        if *count == 0 {
            *storages.entry(lane.workload).or_insert(0) += 1;
        }
        *count += 1;
    }
    let parts = |lane| f64::from(on_storage[&key(lane)]) * f64::from(storages[&lane.workload]);
    lanes.iter().map(parts).collect()
}

/// How many slices the only workload of a run has; one where it has none.
pub(crate) fn slice_count(definition: &RunDefinition) -> u32 {
    let mut counts = definition
        .workloads
        .iter()
        .filter_map(|found| found.streams);
    counts.next().unwrap_or(1).max(1)
}

/// The threads of one pool when a run asks for so many: per storage definition, or in all where they
/// are concatenated. Slices share them, rounded up.
pub(crate) fn slots_each(definition: &RunDefinition, threads: u32) -> u32 {
    threads.div_ceil(slice_count(definition)).max(1)
}

/// The threads that a run asks for in its first combination of loops.
pub(crate) fn threads_of_run(definition: &RunDefinition) -> Option<u32> {
    let found = definition
        .loops
        .iter()
        .find(|found| found.kind == LoopKind::Threads)?;
    match found.values.first()? {
        LoopValue::Number(threads) => Some((*threads as u32).max(1)),
        _ => None,
    }
}

/// The threads of a workload over concatenated storage.
pub(crate) fn threads_of_workload(workload: &Workload) -> u32 {
    workload.threads.unwrap_or(1)
}

/// All threads of a run over concatenated storage, of which `swept` are asked by a loop.
pub(crate) fn concatenated_threads(definition: &RunDefinition, swept: Option<u32>) -> u64 {
    let rounded = |threads| u64::from(slots_each(definition, threads) * slice_count(definition));
    let each = definition.workloads.iter().map(threads_of_workload);
    swept.map_or_else(|| each.map(rounded).sum(), rounded)
}

/// Pools by what they belong to, in the order in which they are first needed.
#[derive(Default)]
struct Pools {
    all: Vec<Pool>,
    places: HashMap<(usize, usize, u32), usize>,
}

impl Pools {
    /// The place of the pool of an owner, a group and a slice.
    fn place(&mut self, key: (usize, usize, u32), make: impl FnOnce() -> Pool) -> usize {
        *self.places.entry(key).or_insert_with(|| {
            self.all.push(make());
            self.all.len() - 1
        })
    }
}

fn separate(job: &Job<'_>, run: &RawRun, definition: &RunDefinition) -> (Vec<Pool>, Vec<Lane>) {
    let used = job.storages_of_run(definition, run.choice);
    let dealt = job.groups.deal(job, run, definition, &used);
    // Without groups, an override of the run sets the slots.
    let swept = swept_threads(run).filter(|_| job.groups.are_several());
    let slices = slices(definition);
    let mut pools = Pools::default();
    let mut pool_of = |place: usize, group: usize, slice: Option<Slice>| {
        let storage = &job.storages[used[place]];
        let slots = match slice {
            Some(_) => slots_each(definition, swept.unwrap_or(storage.threads)),
            None => dealt[place].slots[group],
        };
        let key = (place, group, slice.map_or(0, |slice| slice.index));
        pools.place(key, || Pool::new(sliced(&storage.name, slice), slots))
    };
    for (place, dealt) in dealt.iter().enumerate().filter(|_| slices == [None]) {
        for group in (0..dealt.slots.len()).filter(|group| dealt.slots[*group] > 0) {
            pool_of(place, group, None);
        }
    }
    let mut place_of = vec![0; job.storages.len()];
    for (place, index) in used.iter().enumerate() {
        place_of[*index] = place;
    }
    let mut lanes = Vec::new();
    for (workload, found) in definition.workloads.iter().enumerate() {
        for index in job.storages_of(definition, run.choice, found) {
            let place = place_of[*index];
            // Where no host has both, the storage has no part in the workload.
            let groups = &dealt[place].groups[workload];
            for (slice, group) in spread(&slices, groups) {
                lanes.push(Lane {
                    workload,
                    storages: vec![*index],
                    is_concatenated: false,
                    slice,
                    pool: pool_of(place, group, slice),
                    group,
                });
            }
        }
    }
    (pools.all, lanes)
}

/// One address space per workload and group, and one pool for the run or one per workload, which the
/// groups share in equal parts, rounded up.
fn concatenated(job: &Job<'_>, run: &RawRun, definition: &RunDefinition) -> (Vec<Pool>, Vec<Lane>) {
    let slices = slices(definition);
    let of_run = swept_threads(run);
    let mut pools = Pools::default();
    let mut lanes = Vec::new();
    for (workload, found) in definition.workloads.iter().enumerate() {
        let storages = job.storages_of(definition, run.choice, found).to_vec();
        let seek = swept_seek(run).unwrap_or(found.seek);
        let Some(first) = storages.first() else {
            continue;
        };
        let all = job.groups.of_workload(&job.storages[*first], found);
        let groups = if stays_together(found, seek) {
            &all[..all.len().min(1)]
        } else {
            &all[..]
        };
        let (owner, name) = match of_run {
            Some(_) => (0, &definition.name),
            None => (workload, &found.name),
        };
        let threads = of_run.unwrap_or_else(|| threads_of_workload(found));
        let sharing = if of_run.is_some() { &all[..] } else { groups };
        for (slice, group) in spread(&slices, groups) {
            let slots = match slice {
                Some(_) => slots_each(definition, threads),
                None => threads.div_ceil(sharing.len().max(1) as u32),
            };
            let key = (owner, group, slice.map_or(0, |slice| slice.index));
            lanes.push(Lane {
                workload,
                storages: storages.clone(),
                is_concatenated: true,
                slice,
                pool: pools.place(key, || Pool::new(sliced(name, slice), slots)),
                group,
            });
        }
    }
    (pools.all, lanes)
}

/// Every group has a stream, or, where there are slices, each of these one in a group in turn.
fn spread(slices: &[Option<Slice>], groups: &[usize]) -> Vec<(Option<Slice>, usize)> {
    match slices {
        [None] => groups.iter().map(|group| (None, *group)).collect(),
        _ => slices
            .iter()
            .copied()
            .zip(groups.iter().copied().cycle())
            .collect(),
    }
}

fn slices(definition: &RunDefinition) -> Vec<Option<Slice>> {
    match slice_count(definition) {
        1 => vec![None],
        count => (0..count)
            .map(|index| Some(Slice { index, count }))
            .collect(),
    }
}

/// A name with the number of its slice, from one.
pub(crate) fn sliced(name: &str, slice: Option<Slice>) -> String {
    match slice {
        Some(slice) => format!("{name}/{}", slice.index + 1),
        None => name.to_owned(),
    }
}
