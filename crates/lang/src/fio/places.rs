//! Where I/Os go: laws of places, what they are multiples of, and sizes that depend on it.
use super::forms::{self, Distribution};
use super::jobs::Job;
use super::resolve::Resolving;
use super::steps;
use plan::{AlignRule, OperationMix, PerDirection, RandomLaw, TransferSizes};

/// How often I/Os take a new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seeks {
    Never,
    Sometimes,
    Always,
}

/// How often those of the directions that are used do.
pub(super) fn seeks(operations: &OperationMix, random_pct: &PerDirection<f64>) -> Seeks {
    let shares = [
        (operations.read_pct, random_pct.read),
        (operations.write_pct, random_pct.write),
        (operations.trim_pct, random_pct.trim),
    ];
    let used = || shares.iter().filter(|(pct, _)| *pct > 0.0);
    match () {
        () if used().all(|(_, random)| *random <= 0.0) => Seeks::Never,
        () if used().any(|(_, random)| *random < 100.0) => Seeks::Sometimes,
        () => Seeks::Always,
    }
}

/// The sizes of the directions that are used.
pub(super) fn used<'t>(
    operations: &OperationMix,
    transfer: &'t PerDirection<TransferSizes>,
) -> impl Iterator<Item = &'t TransferSizes> {
    let all = [
        (operations.read_pct, &transfer.read),
        (operations.write_pct, &transfer.write),
        (operations.trim_pct, &transfer.trim),
    ];
    all.into_iter()
        .filter(|(pct, _)| *pct > 0.0)
        .map(|(_, sizes)| sizes)
}

/// How many directions are used.
pub(super) fn directions(operations: &OperationMix) -> usize {
    let shares = [
        operations.read_pct,
        operations.write_pct,
        operations.trim_pct,
    ];
    shares.iter().filter(|pct| **pct > 0.0).count()
}

/// The share of I/Os of each direction that take a new place, in percent.
pub(super) fn random_pct(job: &Job) -> PerDirection<f64> {
    let numbers = job.each_of(number!("percentage_random"));
    let of = |place: usize| numbers[place] as f64;
    PerDirection {
        read: of(0),
        write: of(1),
        trim: of(2),
    }
}

impl Resolving<'_, '_> {
    /// The law of random places, and what they are multiples of.
    pub(super) fn places(
        &mut self,
        operations: &OperationMix,
        transfer: &PerDirection<TransferSizes>,
        smallest: u64,
    ) -> Option<(RandomLaw, AlignRule)> {
        let job = self.job;
        let named = match job.given("random_distribution") {
            Some(given) => forms::distribution(given, given.text(), self.base(), self.sink)?,
            None => Distribution::Even,
        };
        let aligned = match self.aligned(operations, transfer) {
            AlignRule::Transfer => AlignRule::Bytes(smallest),
            given => given,
        };
        // It visits each place once without a map.
        let is_shifted = job
            .word("random_generator")
            .is_some_and(|(word, _)| word == "lfsr");
        let has_map =
            (is_shifted || !job.is_on(on!("norandommap"))) && aligned == AlignRule::Bytes(smallest);
        let law = match named {
            Distribution::Law(law) => law,
            Distribution::Even if has_map => RandomLaw::OncePerBlock(plan::SequentialEnd::Wrap),
            Distribution::Even => RandomLaw::Uniform,
        };
        Some((law, aligned))
    }

    /// What random places are multiples of, by the directions that are used: the smallest size of each, unless it is given.
    fn aligned(
        &self,
        operations: &OperationMix,
        transfer: &PerDirection<TransferSizes>,
    ) -> AlignRule {
        let numbers = self.job.numbers("ba");
        let bytes = match numbers {
            Some(numbers) => numbers.map(|number| number.unwrap_or(1).max(1) as u64),
            None => [&transfer.read, &transfer.write, &transfer.trim]
                .map(|sizes| sizes.smallest().max(1)),
        };
        let shares = [
            operations.read_pct,
            operations.write_pct,
            operations.trim_pct,
        ];
        let mut used = bytes.iter().zip(shares).filter(|(_, pct)| *pct > 0.0);
        let first = used.next().map_or(bytes[0], |(bytes, _)| *bytes);
        if used.all(|(bytes, _)| *bytes == first) {
            return match numbers {
                Some(_) => AlignRule::Bytes(first),
                None => AlignRule::Transfer,
            };
        }
        let [read, write, trim] = bytes;
        AlignRule::ByDirection(PerDirection { read, write, trim })
    }

    /// With `bs_is_seq_rand` the first size is that of sequences, the second that of random places.
    pub(super) fn by_order(
        &self,
        transfer: PerDirection<TransferSizes>,
    ) -> (PerDirection<TransferSizes>, Option<TransferSizes>) {
        let job = self.job;
        if !job.is_on(on!("bs_is_seq_rand")) {
            return (transfer, None);
        }
        let (operations, is_random) = self.operations();
        if !is_random || seeks(&operations, &random_pct(job)) == Seeks::Never {
            return (PerDirection::all(transfer.read), None);
        }
        let goes_on = seeks(&operations, &random_pct(job)) == Seeks::Sometimes
            || steps::burst(job, self.base()).is_some();
        let behind = goes_on.then_some(transfer.read);
        (PerDirection::all(transfer.write), behind)
    }
}
