//! Which parts of targets were written, as a list that outlives the execution.
use super::{common_divisor, form, grid};
use crate::generations::{Generations, Writing};
use crate::op::places;
use crate::record::{BLOCKS_MAX, Grid, Known, Parts, Record};
use plan::{AddressOrder, BoundPlan, BoundRegion, BoundRun, Check, Extent, OpSource, Stream};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

impl Generations {
    /// What is known to have been written in the regions of a stream, by target and address. Parts
    /// that touch are one. `None` where its check saves nothing, or a target has too many blocks to
    /// be remembered.
    pub fn written(&self, plan: &BoundPlan, run: &BoundRun, stream: usize) -> Option<Vec<Extent>> {
        let targets = &run.run.streams[stream].targets;
        let check = run.run.streams[stream].data.check?;
        let mut extents = Vec::new();
        let places = places(targets);
        for region in &run.streams[stream].regions {
            let place = *places.get(&region.target)?;
            let form = form(&check, region);
            if !are_saved(&check, form.grid, plan.targets[region.target.index()].bytes) {
                return None;
            }
            let record = self.recorded(region.target, form)?;
            let (low, end) = region.extent();
            record.written(low..end, |offset, bytes| {
                extents.push(Extent {
                    place,
                    offset,
                    bytes,
                });
            });
        }
        Some(extents)
    }
}

impl Record {
    /// Each part of `range` that was written.
    fn written(&self, range: Range<u64>, mut each: impl FnMut(u64, u64)) {
        let grid = self.grid();
        let mut begin = None;
        let mut at = range.start;
        while at + grid.block_bytes <= range.end {
            let is_written = !matches!(self.known(at), Known::Nothing | Known::Zeros);
            match (is_written, begin) {
                (true, None) => begin = Some(at),
                (false, Some(from)) => {
                    each(from, at - from);
                    begin = None;
                }
                _ => {}
            }
            at += match is_written {
                true => grid.block_bytes,
                false => grid.part_bytes,
            };
        }
        if let Some(from) = begin {
            each(from, at - from);
        }
    }
}

/// Whether a target of so many bytes is remembered for later executions.
pub(super) fn are_saved(check: &Check, grid: Grid, bytes: u64) -> bool {
    check.saves && bytes / grid.part_bytes <= BLOCKS_MAX
}

/// The parts that the order of a stream lists.
pub(super) fn listed(stream: &Stream) -> Option<&[Extent]> {
    match &stream.source {
        OpSource::Generator(generator) => match &generator.order {
            AddressOrder::Listed(extents) => Some(extents),
            _ => None,
        },
        _ => None,
    }
}

/// Of blocks that begin with each of these parts.
fn listed_grid<'a>(
    check: &Check,
    region: &BoundRegion,
    parts: impl Iterator<Item = &'a &'a Extent>,
) -> Grid {
    let grid = grid(check, region);
    let starts = parts.map(|part| part.offset.abs_diff(region.low));
    let part_bytes = starts.fold(grid.part_bytes, common_divisor);
    Grid {
        part_bytes,
        phase: region.low % part_bytes,
        ..grid
    }
}

/// What a walk over the listed parts goes through.
pub(super) fn parts(writing: &Writing<'_>, number: usize, list: &[Extent]) -> Option<Parts> {
    let stream = &writing.run.run.streams[number];
    let check = stream.data.check?;
    let places = places(&stream.targets);
    // In the order in which they are listed.
    let mut by_place: BTreeMap<u32, Vec<&Extent>> = BTreeMap::new();
    for extent in list {
        by_place.entry(extent.place).or_default().push(extent);
    }
    let part = |region: &BoundRegion| {
        let place = *places.get(&region.target)?;
        let bytes = writing.plan.targets[region.target.index()].bytes;
        let of_target = || by_place.get(&place).into_iter().flatten();
        let record = Record::new(listed_grid(&check, region, of_target()), bytes);
        of_target().for_each(|extent| record.note(extent.offset, extent.bytes));
        let (low, end) = region.extent();
        Some((place, Arc::new(record), low..end))
    };
    let regions = &writing.run.streams[number].regions;
    Some(regions.iter().filter_map(part).collect())
}
