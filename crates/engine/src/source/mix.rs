//! Which operation is next, by the shares of reads, writes and trims.
use crate::random::{Draws, Purpose, share_limit};
use plan::{Generator, Operation};

#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    read_limit: u64,
    /// Reads and writes together; what is above is a trim.
    write_limit: u64,
    draws: Draws,
}

impl Mix {
    pub(super) fn new(generator: &Generator, draws: impl Fn(Purpose) -> Draws) -> Self {
        let both = generator.operations.read_pct + generator.operations.write_pct;
        Self {
            read_limit: share_limit(generator.operations.read_pct),
            write_limit: share_limit(both),
            draws: draws(Purpose::Operation),
        }
    }

    #[inline]
    pub(super) fn operation(&self, index: u64) -> Operation {
        if self.read_limit == u64::MAX {
            return Operation::Read;
        }
        let draw = self.draws.at(index);
        if draw < self.read_limit {
            Operation::Read
        } else if draw < self.write_limit || self.write_limit == u64::MAX {
            Operation::Write
        } else {
            Operation::Trim
        }
    }
}
