//! How much a stream does that goes over its regions in rounds: by whole transfers, each round up to where the order of
//! places ends, or until the amount is reached.
use super::BoundRegion;
use crate::operation::OperationMix;
use crate::stream::{
    AddressOrder, AlignRule, Generator, LocalStop, RandomLaw, Rounds, Sequences, StepPattern,
    Steps, ZoneOrder,
};

/// What of a stream tells where its rounds end.
struct Lap {
    /// Of each transfer.
    bytes: u64,
    /// Of a direction that may not be used: with less than that left, no round follows.
    largest: u64,
    /// Transfers of a round in all regions; `None` where no round ends.
    transfers: Option<u64>,
    /// How many transfers each place gets: 2 where it is trimmed and written.
    times: u64,
}

/// Makes bytes of rounds.
///
/// `ends` are the ends of the targets, by region: what goes on behind a region goes on there in fio, too.
pub(crate) fn settle(
    stop: &mut LocalStop,
    generator: &Generator,
    regions: &[BoundRegion],
    ends: &[u64],
) {
    let (Some(rounds), Some(bytes)) = (stop.rounds.take(), stop.bytes) else {
        return;
    };
    stop.whole = true;
    let times = if generator.order.trims_first() { 2 } else { 1 };
    let widths = regions.iter().map(|region| region.width - region.start);
    let widths: u64 = widths.fold(0, u64::saturating_add);
    // Pairs that cover all end with whole rounds, whatever their sizes.
    let of_pairs = || (times > 1 && rounds.until_done).then(|| generator.paired_unit());
    let Some(size) = generator.one_size().or_else(|| of_pairs().flatten()) else {
        let of_rounds = widths.saturating_mul(rounds.count).saturating_mul(times);
        if generator.covers_all() && !rounds.until_done {
            stop.bytes = Some(bytes.min(of_rounds));
        }
        return;
    };
    let laps = regions.iter().zip(ends);
    let laps = laps.map(|(region, end)| generator.lap(size, region, *end));
    let lap = Lap {
        bytes: size,
        largest: generator.transfer.largest(),
        transfers: laps.sum(),
        times,
    };
    stop.bytes = Some(lap.bytes_of(rounds, bytes / times));
}

impl Lap {
    /// What moves before a stream with this amount for each of a pair ends.
    fn bytes_of(&self, rounds: Rounds, amount: u64) -> u64 {
        let needed = amount.div_ceil(self.bytes);
        let transfers = match self.transfers.filter(|transfers| *transfers > 0) {
            None => needed,
            Some(lap) => {
                let first = needed.min(lap.saturating_mul(rounds.count));
                match rounds.until_done {
                    true => first.saturating_add(self.further(first, lap, amount / rounds.count)),
                    false => first,
                }
            }
        };
        transfers
            .saturating_mul(self.bytes)
            .saturating_mul(self.times)
    }

    /// What follows behind so many transfers.
    fn further(&self, done: u64, lap: u64, amount: u64) -> u64 {
        let moved = |transfers: u64| transfers.saturating_mul(self.bytes);
        let left = amount.saturating_sub(moved(done).saturating_mul(self.times));
        if left < self.largest {
            return 0;
        }
        let lap_bytes = moved(lap).saturating_mul(self.times);
        let rest = left % lap_bytes;
        let whole = left / lap_bytes * lap;
        match rest < self.largest {
            true => whole,
            // Both of a pair count for the amount, and each has to reach it to end a round early.
            false if self.times > 1 => whole.saturating_add(lap),
            false => whole.saturating_add(rest.div_ceil(self.bytes)),
        }
    }
}

impl Generator {
    /// The size of all transfers where they have one.
    fn one_size(&self) -> Option<u64> {
        let (largest, smallest) = (self.largest_transfer(), self.smallest_transfer());
        (largest == smallest && largest > 0).then_some(largest)
    }

    /// What a round of pairs consists of, where each place is drawn, and each once.
    fn paired_unit(&self) -> Option<u64> {
        let AddressOrder::Stepped(steps) = &self.order else {
            return None;
        };
        let smallest = self.smallest_transfer();
        let is_once = matches!(steps.paired_seeks()?, RandomLaw::OncePerBlock(_));
        (is_once && smallest > 0).then_some(smallest)
    }

    /// Transfers of one size from the start of a region, the end of its target, until its places end.
    pub fn transfers_of(&self, region: &BoundRegion) -> Option<u64> {
        let size = self.one_size()?;
        self.lap(size, region, region.low + region.width)
    }

    /// Whether a round moves each byte of the regions once, whatever the sizes.
    fn covers_all(&self) -> bool {
        match &self.order {
            AddressOrder::Sequential { .. } => self.has_one_sequence(),
            AddressOrder::Random(RandomLaw::OncePerBlock(_)) => true,
            AddressOrder::Stepped(steps) => {
                let is_once = |law| matches!(law, &RandomLaw::OncePerBlock(_));
                matches!(steps.pattern, StepPattern::Gap { bytes: 0, .. })
                    || steps.paired_seeks().is_some_and(is_once)
            }
            _ => false,
        }
    }

    /// Whether all transfers go on behind the one before.
    fn has_one_sequence(&self) -> bool {
        let OperationMix {
            read_pct,
            write_pct,
            trim_pct,
        } = self.operations;
        let shares = [read_pct, write_pct, trim_pct];
        let directions = shares.iter().filter(|pct| **pct > 0.0).count();
        directions <= 1 || self.sequences == Sequences::Shared
    }

    /// Transfers of `size` from the start of a region until its places end; `None` where they go on for ever.
    fn lap(&self, size: u64, region: &BoundRegion, end: u64) -> Option<u64> {
        let width = region.width - region.start;
        match &self.order {
            AddressOrder::Sequential { .. } if self.has_one_sequence() => Some(width / size),
            AddressOrder::Random(RandomLaw::OncePerBlock(_)) => match self.align {
                AlignRule::Bytes(unit) => Some(width.checked_sub(size)? / unit.max(1) + 1),
                AlignRule::Transfer | AlignRule::ByDirection(_) => Some(width / size),
            },
            AddressOrder::Stepped(steps) => {
                let is_shared =
                    steps.trims_first || steps.has_random_zones() || self.has_one_sequence();
                steps.lap(size, region, end).filter(|_| is_shared)
            }
            _ => None,
        }
    }
}

impl Steps {
    /// The law of places that are trimmed and written, where each of them is drawn anew.
    pub fn paired_seeks(&self) -> Option<&RandomLaw> {
        match &self.pattern {
            StepPattern::Bursts {
                operations: 1,
                law,
                seeks: None,
                ..
            } => Some(law).filter(|_| self.trims_first),
            _ => None,
        }
    }

    fn has_random_zones(&self) -> bool {
        match &self.pattern {
            StepPattern::Zones { order, .. } => *order != ZoneOrder::Sequential,
            StepPattern::Gap { .. } | StepPattern::Bursts { .. } => false,
        }
    }

    fn lap(&self, size: u64, region: &BoundRegion, end: u64) -> Option<u64> {
        let width = region.width - region.start;
        match &self.pattern {
            StepPattern::Gap {
                bytes,
                target_bytes,
            } => lap_of_gap(*bytes, size, width, target_bytes.unwrap_or(end).max(end)),
            StepPattern::Zones {
                used_bytes,
                zone_bytes,
                skip_bytes,
                order,
                ..
            } if region.low + region.width >= end => {
                let zones = ZoneSpan::of([*used_bytes, *zone_bytes, *skip_bytes], size, width);
                let rest = zones.rest?;
                let rest = if *order == ZoneOrder::Sequential {
                    rest
                } else {
                    0
                };
                Some(zones.count * zones.in_zone + rest)
            }
            StepPattern::Bursts {
                operations: 1,
                law: RandomLaw::OncePerBlock(_),
                seeks: None,
                ..
            } => Some(width / size),
            StepPattern::Zones { .. } | StepPattern::Bursts { .. } => None,
        }
    }
}

/// A sequence ends at the end of the region, or where the next transfer has no room, unless it would begin behind the end
/// of the target: then it begins anew.
fn lap_of_gap(gap: i64, size: u64, width: u64, target_end: u64) -> Option<u64> {
    let step = size.checked_add_signed(gap).filter(|step| *step > 0)?;
    let transfers = width.checked_sub(size)? / step + 1;
    let end = (transfers - 1) * step + size;
    (end == width || transfers * step < target_end).then_some(transfers)
}

/// Zones of a region that are gone through in order by transfers of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneSpan {
    /// Whole zones; above zero.
    pub count: u64,
    /// Transfers in each of them.
    pub in_zone: u64,
    /// Transfers in the zone behind them, which is cut short; `None` where there is none.
    pub rest: Option<u64>,
}

impl ZoneSpan {
    /// Of zones of which so many bytes are used, so long, and so far apart.
    pub fn of([used, zone, skip]: [u64; 3], size: u64, width: u64) -> Self {
        let in_zone = used.max(1).div_ceil(size).max(1);
        let period = zone.saturating_add(skip).max(1);
        let needed = in_zone.min(zone.div_ceil(size).max(1)).saturating_mul(size);
        let count = match width.checked_sub(needed) {
            Some(room) => room / period + 1,
            None => 0,
        };
        let left = width.saturating_sub(count.saturating_mul(period));
        let rest = (left > 0).then_some(left / size);
        match count {
            // Nothing but the zone that is cut short.
            0 => Self {
                count: 1,
                in_zone: (width / size).max(1),
                rest: Some(0),
            },
            _ => Self {
                count,
                in_zone,
                rest,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    fn bytes(lap: Option<u64>, times: u64, rounds: (u64, bool), amount: u64) -> u64 {
        let (count, until_done) = rounds;
        let lap = Lap {
            bytes: 8 * KIB,
            largest: 8 * KIB,
            transfers: lap,
            times,
        };
        lap.bytes_of(Rounds { count, until_done }, amount) / (8 * KIB)
    }

    /// Each as fio 3.33 does it, by its logs: `bs=8k` and `size=60k`, seven transfers a round.
    #[test]
    fn rounds_end_where_the_original_ends() {
        assert_eq!(bytes(Some(7), 1, (1, false), 60 * KIB), 7);
        assert_eq!(bytes(Some(7), 1, (2, false), 120 * KIB), 14);
        assert_eq!(bytes(None, 1, (2, false), 120 * KIB), 15);
        assert_eq!(bytes(Some(7), 1, (1, true), 62 * KIB), 7);
        assert_eq!(bytes(Some(7), 1, (1, true), 65 * KIB), 9);
        assert_eq!(bytes(Some(7), 1, (1, true), 150 * KIB), 19);
        assert_eq!(bytes(Some(7), 1, (2, true), 80 * KIB), 10);
        assert_eq!(bytes(Some(7), 1, (2, true), 200 * KIB), 14);
        assert_eq!(bytes(Some(7), 2, (1, true), 36 * KIB), 10);
        assert_eq!(bytes(Some(7), 2, (1, true), 64 * KIB), 14);
        assert_eq!(bytes(Some(7), 2, (1, true), 150 * KIB), 28);
    }

    #[test]
    fn a_gap_ends_a_round_unless_it_leads_behind_the_end() {
        let lap = |gap: i64, width| lap_of_gap(gap << 10, 8 * KIB, width, width);
        assert_eq!(lap(8, 64 * KIB), None);
        assert_eq!(lap(8, 72 * KIB), Some(5));
        assert_eq!(lap(4, 64 * KIB), Some(5));
        assert_eq!(lap(4, 60 * KIB), None);
        assert_eq!(lap(4, 61 * KIB), Some(5));
        assert_eq!(lap(4, 68 * KIB), Some(6));
        assert_eq!(lap(-12, 64 * KIB), None);
        // On a file that is longer.
        assert_eq!(lap_of_gap(8 * 1024, 8 * KIB, 64 * KIB, KIB * KIB), Some(4));
    }

    #[test]
    fn a_zone_that_is_cut_short_is_the_last_of_a_round() {
        let of = |used, zone, skip, size, width| {
            let span = ZoneSpan::of([used, zone, skip], size, width);
            (span.count, span.in_zone, span.rest)
        };
        let k = KIB;
        assert_eq!(of(8 * k, 8 * k, 8 * k, 4 * k, 64 * k), (4, 2, None));
        assert_eq!(of(8 * k, 8 * k, 4 * k, 4 * k, 64 * k), (5, 2, Some(1)));
        assert_eq!(of(5000, 5000, 4096, 5000, 65_537), (7, 1, Some(0)));
        assert_eq!(of(6 * k, 6 * k, 8 * k, 4 * k, 64 * k), (5, 2, None));
        assert_eq!(of(16 * k, 8 * k, 8 * k, 4 * k, 64 * k), (4, 4, None));
    }
}
