//! Histograms as bytes. Most of a result file is histograms, so they are packed to about the
//! number of bits that they carry.
//!
//! The form: nothing for an empty histogram; else a byte whose high half is the order of the code
//! for gaps and whose low half is the order of the code for counts; then the number of occupied
//! buckets less one (code of order 8), then for each the gap to the bucket before (its index less
//! the one before less one; for the first its index) and its count less one.
use crate::bits::{BitReader, BitWriter};
use crate::error::{Outcome, Problem};
use measure::{BUCKETS, Histogram};
use serde::Deserialize;
use serde::de::value::{Error as ValueError, SeqDeserializer};

const LENGTH_ORDER: u32 = 8;
const MAX_ORDER: u32 = 15;

/// Packs a histogram.
pub(crate) fn pack(histogram: &Histogram) -> Outcome<Vec<u8>> {
    let buckets = histogram.buckets();
    let Some(last) = buckets.last() else {
        return Ok(Vec::new());
    };
    let length = buckets.len() as u64;
    let gaps = u64::from(last.index) + 1 - length.min(u64::from(last.index) + 1);
    let counts = buckets
        .iter()
        .fold(0_u64, |sum, bucket| sum.saturating_add(bucket.count));
    let (gap_order, count_order) = (
        order_for(gaps, length),
        order_for(counts - length.min(counts), length),
    );
    let mut writer = BitWriter::after(vec![((gap_order << 4) | count_order) as u8]);
    writer.put(length - 1, LENGTH_ORDER);
    let mut next = 0;
    for bucket in buckets {
        let gap = bucket.index.checked_sub(next);
        let (Some(gap), Some(count)) = (gap, bucket.count.checked_sub(1)) else {
            return Err(Problem::Unrepresentable(
                "a histogram whose buckets are out of order or empty".into(),
            ));
        };
        writer.put(u64::from(gap), gap_order);
        writer.put(count, count_order);
        next = bucket.index + 1;
    }
    Ok(writer.finish())
}

/// The histogram that [`pack`] made these bytes of.
pub(crate) fn unpack(bytes: &[u8]) -> Outcome<Histogram> {
    let Some((orders, bits)) = bytes.split_first() else {
        return Ok(Histogram::default());
    };
    let buckets = read_buckets(u32::from(*orders), &mut BitReader::new(bits))
        .ok_or_else(|| Problem::Damaged("a histogram cannot be unpacked".into()))?;
    // The plain constructor goes through all buckets of the range; these are in order already.
    let pairs = buckets
        .into_iter()
        .map(|pair| SeqDeserializer::<_, ValueError>::new(pair.into_iter()));
    Histogram::deserialize(SeqDeserializer::new(pairs))
        .map_err(|error| Problem::Damaged(format!("a histogram cannot be unpacked: {error}")))
}

fn read_buckets(orders: u32, reader: &mut BitReader) -> Option<Vec<[u64; 2]>> {
    let length = reader.take(LENGTH_ORDER)?.checked_add(1)?;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= BUCKETS)?;
    let mut buckets = Vec::with_capacity(length);
    let mut next = 0_u64;
    for _ in 0..length {
        let index = next.checked_add(reader.take(orders >> 4)?)?;
        let count = reader.take(orders & 15)?.checked_add(1)?;
        if index >= BUCKETS as u64 {
            return None;
        }
        buckets.push([index, count]);
        next = index + 1;
    }
    Some(buckets)
}

/// The order that suits values of this mean.
fn order_for(sum: u64, length: u64) -> u32 {
    let mean = sum / length;
    (63 - (mean | 1).leading_zeros()).min(MAX_ORDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{Bucket, HistogramBuilder};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn histograms_come_back(
            buckets in proptest::collection::vec((0..BUCKETS as u32, 0_u32..60, any::<u64>()), 0..400)
        ) {
            let mut builder = HistogramBuilder::default();
            for (index, shift, count) in buckets {
                builder.add_count(index as usize, (count >> shift >> 10).max(1));
            }
            let histogram = builder.build();
            prop_assert_eq!(unpack(&pack(&histogram).unwrap()).unwrap(), histogram);
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(histogram) = unpack(&bytes) {
                prop_assert!(histogram.buckets().windows(2).all(|pair| pair[0].index < pair[1].index));
            }
        }
    }

    #[test]
    fn the_extremes_come_back() {
        let ends = [(0, u64::MAX), (BUCKETS as u32 - 1, u64::MAX)];
        let histogram = Histogram::from_buckets(ends.map(|(index, count)| Bucket { index, count }));
        assert_eq!(unpack(&pack(&histogram).unwrap()).unwrap(), histogram);
        let full =
            Histogram::from_buckets((0..BUCKETS as u32).map(|index| Bucket { index, count: 1 }));
        assert_eq!(unpack(&pack(&full).unwrap()).unwrap(), full);
        assert!(pack(&Histogram::default()).unwrap().is_empty());
    }
}
