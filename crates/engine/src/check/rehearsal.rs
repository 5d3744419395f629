//! What writes would leave, learned by drawing them without making any.
use super::grid;
use crate::generations::Writing;
use crate::op::places;
use crate::random::mix;
use crate::record::{Parts, Record, Walk, tag};
use crate::source::Source;
use plan::{AddressOrder, BoundRegion, OpSource, Operation, Stream};
use std::sync::Arc;

/// Whether a stream rehearses its writes.
pub(super) fn is_asked(stream: &Stream) -> bool {
    let laws = match &stream.source {
        OpSource::Generator(generator) => Some(generator),
        _ => None,
    };
    laws.is_some_and(|laws| matches!(laws.order, AddressOrder::Rehearsed(_)))
}

/// A walk over what these writes of a stream would leave. They have to end.
pub(crate) fn rehearsed(writing: &Writing<'_>, number: usize, writes: &Source) -> Walk {
    let stream = &writing.run.run.streams[number];
    let check = stream.data.check.expect("asked for by `unsupported`");
    let places = places(&stream.targets);
    let part = |region: &BoundRegion| {
        let place = *places.get(&region.target)?;
        let bytes = writing.plan.targets[region.target.index()].bytes;
        let (low, end) = region.extent();
        let record = Record::new(grid(&check, region), bytes);
        Some((place, Arc::new(record), low..end))
    };
    let regions = &writing.run.streams[number].regions;
    let parts: Parts = regions.iter().filter_map(part).collect();
    let drawn = (0..).map_while(|index| Some((index, writes.next(index, None)?)));
    for (index, write) in drawn.filter(|(_, drawn)| drawn.operation == Operation::Write) {
        let of_place = parts.iter().find(|(place, ..)| *place == write.place);
        if let Some((_, record, _)) = of_place {
            let length = write.length.into();
            record.begin(write.offset, length);
            record.end(write.offset, length, tag(mix(index)));
        }
    }
    let longest = stream
        .source
        .laws()
        .map_or(0, |laws| laws.largest_transfer());
    Walk::new(parts, longest)
}
