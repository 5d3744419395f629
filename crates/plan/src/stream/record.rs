//! Operations that were recorded, to be issued again in their order.
use super::Generator;
use crate::operation::Operation;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A record as the source of a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Where it was read from.
    pub name: String,
    /// What the operations have in common: the mix and the sizes. Addresses and orders of it mean
    /// nothing.
    pub envelope: Generator,
    /// Whether operations arrive at their times; otherwise each follows as soon as a slot is free.
    pub follows_times: bool,
    /// How many operations there are, and their bytes together.
    pub count: u64,
    pub bytes: u64,
    /// What is done to each target of the stream, in the order of its targets.
    pub places: Vec<RecordedPlace>,
    /// Addresses and lengths are multiples of this many bytes.
    pub grain_bytes: u64,
    /// Not part of what is written down of a plan; whoever reads it there has none of them.
    #[serde(skip)]
    pub operations: RecordedOperations,
}

/// The part of a target that a record uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPlace {
    /// Behind the last byte that is used.
    pub end: u64,
    /// The first byte that is changed, and the one behind the last.
    pub written: Option<(u64, u64)>,
    pub is_read: bool,
}

/// One operation of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedOperation {
    /// Since the start of the stream.
    pub at: Nanos,
    pub offset: u64,
    pub length: u32,
    /// Which target of the stream.
    pub place: u16,
    /// Of syncs, a full one or one of data; they have no offset and no length.
    pub operation: Operation,
}

/// All operations of a record, in ascending order of time.
#[derive(Clone, Default, PartialEq)]
pub struct RecordedOperations(Arc<[RecordedOperation]>);

impl Replay {
    /// Whether it changes what a target holds.
    pub fn changes_data(&self) -> bool {
        self.places.iter().any(|place| place.written.is_some())
    }

    /// Whether something of it is made durable, as far as the operations are at hand.
    pub fn has_syncs(&self) -> bool {
        self.operations.iter().any(|one| one.operation.is_sync())
    }

    /// Whether the operations are at hand.
    pub fn is_whole(&self) -> bool {
        self.operations.len() as u64 == self.count
    }
}

impl RecordedPlace {
    /// Takes an operation into account.
    pub fn note(&mut self, operation: Operation, offset: u64, length: u64) {
        let end = offset + length;
        self.end = self.end.max(end);
        self.is_read |= operation == Operation::Read;
        if operation.changes_data() {
            let (low, high) = self.written.unwrap_or((offset, end));
            self.written = Some((low.min(offset), high.max(end)));
        }
    }
}

impl From<Vec<RecordedOperation>> for RecordedOperations {
    fn from(operations: Vec<RecordedOperation>) -> Self {
        Self(operations.into())
    }
}

impl Deref for RecordedOperations {
    type Target = [RecordedOperation];

    fn deref(&self) -> &[RecordedOperation] {
        &self.0
    }
}

/// Not the operations one by one: there may be millions.
impl fmt::Debug for RecordedOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} operations]", self.len())
    }
}
