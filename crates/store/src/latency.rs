//! Histograms as bytes. Most of a result file is histograms, so they are packed to about the
//! information that they carry.
//!
//! The form: nothing for an empty histogram; else the code of [`crate::coder`] of the number of
//! occupied buckets and of the index of the first (14 plain bits each), the count of the first less
//! one, and for each further one the empty buckets before it and its count less one. What is
//! expected of a gap or a count depends on the counts of the two buckets before it.
use crate::coder::{Decoder, Encoder, Number};
use crate::error::{Outcome, Problem};
use measure::{BUCKETS, Histogram};
use serde::Deserialize;
use serde::de::value::{Error as ValueError, SeqDeserializer};

const INDEX_BITS: u32 = 14;
const _: () = assert!(BUCKETS <= 1 << INDEX_BITS);

/// Magnitudes of what stood before.
const CONTEXTS: usize = 12;

/// What is expected, by the magnitude of the neighbours.
#[derive(Debug, Default)]
struct Models {
    gaps: [Number; CONTEXTS],
    counts: [Number; CONTEXTS],
    /// Counts of the two buckets before the current one.
    before: [u64; 2],
}

/// Packs a histogram.
pub(crate) fn pack(histogram: &Histogram) -> Outcome<Vec<u8>> {
    let buckets = histogram.buckets();
    let Some(first) = buckets.first() else {
        return Ok(Vec::new());
    };
    let (mut encoder, mut models) = (Encoder::default(), Models::default());
    encoder.plain(buckets.len() as u64, INDEX_BITS);
    encoder.plain(u64::from(first.index), INDEX_BITS);
    let mut next = first.index;
    for bucket in buckets {
        let gap = bucket.index.checked_sub(next).map(u64::from);
        let (Some(gap), Some(count)) = (gap, bucket.count.checked_sub(1)) else {
            return Err(Problem::Unrepresentable(
                "a histogram whose buckets are out of order or empty".into(),
            ));
        };
        if bucket.index > first.index {
            encoder.number(models.gap(), gap);
        }
        models.pass(gap);
        encoder.number(models.count(), count);
        models.push(bucket.count);
        next = bucket.index + 1;
    }
    Ok(encoder.finish())
}

/// The histogram that [`pack`] made these bytes of.
pub(crate) fn unpack(bytes: &[u8]) -> Outcome<Histogram> {
    if bytes.is_empty() {
        return Ok(Histogram::default());
    }
    let buckets = read_buckets(&mut Decoder::new(bytes))
        .ok_or_else(|| Problem::Damaged("a histogram cannot be unpacked".into()))?;
    // The plain constructor goes through all buckets of the range; these are in order already.
    let pairs = buckets
        .into_iter()
        .map(|pair| SeqDeserializer::<_, ValueError>::new(pair.into_iter()));
    Histogram::deserialize(SeqDeserializer::new(pairs))
        .map_err(|error| Problem::Damaged(format!("a histogram cannot be unpacked: {error}")))
}

fn read_buckets(decoder: &mut Decoder) -> Option<Vec<[u64; 2]>> {
    let length = decoder.plain(INDEX_BITS) as usize;
    let mut next = decoder.plain(INDEX_BITS);
    let mut models = Models::default();
    let mut buckets = Vec::with_capacity(length);
    for place in 0..length {
        let gap = match place {
            0 => 0,
            _ => decoder.number(models.gap())?,
        };
        let index = next.checked_add(gap)?;
        if index >= BUCKETS as u64 {
            return None;
        }
        models.pass(gap);
        let count = decoder.number(models.count())?.checked_add(1)?;
        models.push(count);
        buckets.push([index, count]);
        next = index + 1;
    }
    Some(buckets)
}

impl Models {
    fn context(&self) -> usize {
        let sum = self.before[0].saturating_add(self.before[1]);
        ((64 - sum.leading_zeros()) as usize).min(CONTEXTS - 1)
    }

    fn gap(&mut self) -> &mut Number {
        let context = self.context();
        &mut self.gaps[context]
    }

    fn count(&mut self) -> &mut Number {
        let context = self.context();
        &mut self.counts[context]
    }

    /// Goes over empty buckets.
    fn pass(&mut self, empty: u64) {
        (0..empty.min(2)).for_each(|_| self.push(0));
    }

    fn push(&mut self, count: u64) {
        self.before = [count, self.before[0]];
    }
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

    /// The program of the reference page reads what [`pack`] writes.
    #[test]
    fn the_documented_program_unpacks() {
        let page = include_str!("../../../docs/reference/result-file.md");
        let program = page
            .split("```python\n")
            .nth(1)
            .unwrap()
            .split("```")
            .next()
            .unwrap();
        let values = (0..3000_u64).map(|n| 20_000 + (n * n) % 70_001 + (n % 50 / 49) * 90_000_000);
        let histogram: Histogram = values.collect();
        let hex: String = pack(&histogram)
            .unwrap()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let script = format!(
            "{program}\nfor low, count in unpack(bytes.fromhex('{hex}')): print(low, count)"
        );
        let Ok(output) = std::process::Command::new("python3")
            .args(["-c", &script])
            .output()
        else {
            println!("skipped: python3 is missing");
            return;
        };
        let expected: String = histogram
            .buckets()
            .iter()
            .map(|bucket| {
                (
                    measure::bucket_bounds(bucket.index as usize).0,
                    bucket.count,
                )
            })
            .map(|(low, count)| format!("{low} {count}\n"))
            .collect();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    }
}
