//! Logs in windows that are shorter than an interval, folded from single operations.
//!
//! Workers hand over what they have seen in blocks, so that operations of one clone do not come in
//! the order of time. Windows are kept until the run ends, or until there are very many of them.
use super::logs::{Files, Place, Row, Wants, per_second};
use super::model::direction_of;
use super::stat::{BUCKETS, index_of};
use measure::OperationRecord;
use std::collections::BTreeMap;
use std::io::{self, Write};

const NS_PER_MS: u64 = 1_000_000;

/// Windows that are kept of one clone: some 30 MB.
const WINDOWS_MAX: usize = 1 << 18;
/// The same of histograms, which are larger.
const HISTOGRAMS_MAX: usize = 1 << 14;

/// The windows of one clone.
#[derive(Debug)]
pub(super) struct Folded {
    means: Option<Kept<Means>>,
    histograms: Option<Kept<Counts>>,
}

/// Windows of one length by their number since the start of the run, and by direction.
#[derive(Debug)]
struct Kept<T> {
    length_ns: u64,
    windows: BTreeMap<(u64, usize), T>,
    /// Those before are written.
    first: u64,
    most: usize,
}

/// What a window adds up to.
#[derive(Clone, Copy, Debug, Default)]
struct Means {
    operations: u64,
    bytes: u64,
    total: Latencies,
    submission: Latencies,
    completion: Latencies,
}

#[derive(Clone, Copy, Debug, Default)]
struct Latencies {
    count: u64,
    sum_ns: u64,
    max_ns: u64,
}

/// Completions by bucket, and the bytes of all of them.
#[derive(Clone, Debug, Default)]
struct Counts {
    operations: u64,
    bytes: u64,
    by_bucket: BTreeMap<usize, u64>,
}

impl Folded {
    /// `None` where single operations are not what windows are folded from.
    pub(super) fn of(wants: &Wants) -> Option<Self> {
        wants.logs.folds_operations.then(|| Self {
            means: wants
                .logs
                .window_ns
                .map(|length_ns| Kept::new(length_ns, WINDOWS_MAX)),
            histograms: (wants.logs.histogram_window_ns > 0)
                .then(|| Kept::new(wants.logs.histogram_window_ns, HISTOGRAMS_MAX)),
        })
    }

    pub(super) fn add(&mut self, record: &OperationRecord) {
        let Some(direction) = direction_of(record.operation) else {
            return;
        };
        let completion_ns = record.completion_ns;
        if let Some(means) = &mut self.means {
            let window = means.at(record.seen_ns, direction);
            window.operations += 1;
            window.bytes += u64::from(record.length);
            window.total.add(record.service_ns);
            window.completion.add(completion_ns);
            if let Some(submission_ns) = record.submission_ns {
                window.submission.add(submission_ns);
            }
        }
        if let Some(histograms) = &mut self.histograms {
            let window = histograms.at(record.seen_ns, direction);
            window.operations += 1;
            window.bytes += u64::from(record.length);
            *window.by_bucket.entry(index_of(completion_ns)).or_default() += 1;
        }
    }

    /// Writes the windows that are too many to be kept, or all of them.
    pub(super) fn write(
        &mut self,
        is_over: bool,
        (wants, files): (&Wants, &mut Files),
        place: &Place,
        epoch_ns: u64,
    ) -> io::Result<()> {
        if let Some(means) = &mut self.means {
            let length_ns = means.length_ns;
            for ((number, direction), window) in means.take(is_over) {
                let at_ns = epoch_ns + (number + 1) * length_ns;
                window.write((at_ns, direction, length_ns), (wants, files), place)?;
            }
        }
        let Some(histograms) = &mut self.histograms else {
            return Ok(());
        };
        let length_ns = histograms.length_ns;
        for ((number, direction), window) in histograms.take(is_over) {
            let at_ms = (epoch_ns + (number + 1) * length_ns) / NS_PER_MS;
            window.write((at_ms, direction), (wants, files), place)?;
        }
        Ok(())
    }
}

impl<T: Default> Kept<T> {
    fn new(length_ns: u64, most: usize) -> Self {
        Self {
            length_ns,
            windows: BTreeMap::new(),
            first: 0,
            most,
        }
    }

    /// The window of a moment. What comes after its window was written counts in the first that is
    /// left, so that nothing is lost.
    fn at(&mut self, seen_ns: u64, direction: usize) -> &mut T {
        let number = (seen_ns / self.length_ns).max(self.first);
        self.windows.entry((number, direction)).or_default()
    }

    /// All windows, or the older half of them where they are too many.
    fn take(&mut self, is_over: bool) -> BTreeMap<(u64, usize), T> {
        if is_over {
            return std::mem::take(&mut self.windows);
        }
        if self.windows.len() <= self.most {
            return BTreeMap::new();
        }
        let middle = self.windows.keys().nth(self.windows.len() / 2);
        let middle = middle.map_or(0, |(number, _)| *number);
        self.first = self.first.max(middle);
        let later = self.windows.split_off(&(self.first, 0));
        std::mem::replace(&mut self.windows, later)
    }
}

impl Means {
    fn write(
        &self,
        (at_ns, direction, length_ns): (u64, usize, u64),
        (wants, files): (&Wants, &mut Files),
        place: &Place,
    ) -> io::Result<()> {
        let row = Row {
            at_ns,
            direction,
            length: 0,
            offset: 0,
            priority: 0,
            issued_ns: 0,
        };
        for (kind, latencies) in [
            ("slat", self.submission),
            ("clat", self.completion),
            ("lat", self.total),
        ] {
            if latencies.count > 0 {
                files.put(place, wants, kind, row, latencies.values())?;
            }
        }
        let bandwidth = per_second(self.bytes, length_ns) / 1024;
        files.put(place, wants, "bw", row, (bandwidth, bandwidth))?;
        let rate = per_second(self.operations, length_ns);
        files.put(place, wants, "iops", row, (rate, rate))
    }
}

impl Latencies {
    fn add(&mut self, value_ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// The mean, rounded, and the maximum.
    fn values(self) -> (u64, u64) {
        (
            (self.sum_ns + self.count / 2) / self.count.max(1),
            self.max_ns,
        )
    }
}

impl Counts {
    fn write(
        &self,
        (at_ms, direction): (u64, usize),
        (wants, files): (&Wants, &mut Files),
        place: &Place,
    ) -> io::Result<()> {
        let mut counts = vec![0_u64; BUCKETS >> wants.logs.coarseness];
        for (bucket, count) in &self.by_bucket {
            counts[bucket >> wants.logs.coarseness] += count;
        }
        let Some(out) = files.of(place, wants, "clat_hist") else {
            return Ok(());
        };
        let mean_bytes = self.bytes / self.operations.max(1);
        write!(out, "{at_ms}, {direction}, {mean_bytes}")?;
        counts
            .iter()
            .try_for_each(|count| write!(out, ", {count}"))?;
        writeln!(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_windows_are_written_and_what_is_late_counts_in_the_next() {
        let mut kept: Kept<u64> = Kept::new(10, 4);
        for seen_ns in [3, 15, 45, 22, 38] {
            *kept.at(seen_ns, 0) += 1;
        }
        let written: Vec<u64> = kept.take(false).into_keys().map(|(n, _)| n).collect();
        assert_eq!(written, [0, 1]);
        *kept.at(4, 0) += 1;
        assert!(kept.take(false).is_empty());
        let left: Vec<(u64, u64)> = kept
            .take(true)
            .into_iter()
            .map(|((number, _), count)| (number, count))
            .collect();
        assert_eq!(left, [(2, 2), (3, 1), (4, 1)]);
    }
}
