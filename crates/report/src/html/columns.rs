//! The time series of a run in a bounded number of columns: when they are full, neighbours are
//! merged, histograms added, so that every percentile is one of real I/Os and never an average of
//! percentiles.
use super::text::Short;
use measure::{Histogram, HistogramBuilder, Interval, IntervalPhase, LatencyFigures};
use plan::Load;
use serde::Serialize;

/// Those that pages show.
pub(super) const PERCENTILES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// I/O that is out for less is in the latencies soon enough.
const OLDEST_US_LEAST: f64 = 100_000.0;

/// Collects the intervals of a run.
#[derive(Debug)]
pub(super) struct Columns {
    capacity: usize,
    /// Intervals that a column spans.
    group: u32,
    columns: Vec<Column>,
    /// A load whose rate changes in the course of the run.
    load: Option<Load>,
    warmup_end_ns: u64,
    builder: HistogramBuilder,
}

/// One value of each series per column, ready for the page. Times in seconds since the start of
/// the run, latencies in microseconds.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct TimeSeries {
    /// Intervals per column; 1 when nothing was merged.
    pub group: u32,
    pub warmup_s: Short,
    pub start: Vec<Short3>,
    pub end: Vec<Short3>,
    pub rate: Vec<Short>,
    /// Where the rate that is asked changes in the course of the run; else left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<Short>,
    /// The slowest and the fastest interval; left out when a column is one interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_min: Vec<Short>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_max: Vec<Short>,
    pub bytes: Vec<Short>,
    pub p50: Vec<Short>,
    pub p90: Vec<Short>,
    pub p99: Vec<Short>,
    pub p999: Vec<Short>,
    pub max: Vec<Short>,
    pub mean: Vec<Short>,
    pub service: Vec<Short>,
    pub busy: Vec<Short>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub busy_max: Vec<Short>,
    /// Left out when no arrival ever waited.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backlog: Vec<u64>,
    /// Age of what has been out the longest at the end, in microseconds; left out when it was never long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub oldest: Vec<Short>,
    /// Left out when nothing failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<u64>,
    /// Share of all CPUs that was busy, in percent; left out where the host does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu: Vec<Short>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_max: Vec<Short>,
    pub own_cpu: Vec<Short>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steal: Vec<Short>,
}

/// Seconds to the millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Short3(pub f64);

#[derive(Clone, Debug, Default)]
struct Column {
    start_ns: u64,
    end_ns: u64,
    intervals: u32,
    operations: u64,
    bytes: u64,
    errors: u64,
    rate_min: f64,
    rate_max: f64,
    response: LatencyFigures,
    service_sum_ns: u64,
    service_count: u64,
    busy_ns: u64,
    /// The time in which it is known which slots were in use, and of which the CPU time of Fathom is known.
    slots_ns: u64,
    own_known_ns: u64,
    busy_max: f64,
    backlog: u64,
    oldest_ns: u64,
    host_busy_ns: u64,
    host_total_ns: u64,
    host_steal_ns: u64,
    own_ns: u64,
    cpu_max: f64,
}

impl Columns {
    /// At most `capacity` columns, at least two.
    pub fn new(capacity: usize, load: &Load) -> Self {
        Self {
            capacity: capacity.max(2),
            group: 1,
            columns: Vec::new(),
            load: matches!(load, Load::Steps { .. }).then(|| load.clone()),
            warmup_end_ns: 0,
            builder: HistogramBuilder::default(),
        }
    }

    pub fn add(&mut self, interval: &Interval) {
        if interval.phase == IntervalPhase::Warmup {
            self.warmup_end_ns = self.warmup_end_ns.max(interval.end_ns);
        }
        let column = self.column(interval);
        // Where what comes is a sum of several intervals, a column holds at least as many.
        self.group = self.group.max(interval.count());
        match self.columns.last_mut() {
            Some(last) if last.intervals < self.group => last.merge(&column),
            _ => {
                if self.columns.len() == self.capacity {
                    self.halve();
                }
                self.columns.push(column);
            }
        }
    }

    /// The series as they stand.
    pub fn series(&self) -> TimeSeries {
        let mut series = TimeSeries {
            group: self.group,
            warmup_s: Short(self.warmup_end_ns as f64 / 1e9),
            ..TimeSeries::default()
        };
        for column in &self.columns {
            series.push(column);
            let asked = self.load.as_ref();
            let asked = asked.and_then(|load| load.mean_rate(column.start_ns, column.end_ns));
            series.asked.extend(asked.map(Short));
        }
        series.leave_out_what_says_nothing();
        series
    }

    fn column(&mut self, interval: &Interval) -> Column {
        let known_ns = |is_lost: bool| match is_lost {
            true => 0,
            false => interval.length_ns(),
        };
        let mut column = Column {
            start_ns: interval.start_ns,
            end_ns: interval.end_ns,
            intervals: interval.count(),
            slots_ns: known_ns(interval.lost.slots),
            own_known_ns: known_ns(interval.lost.cpu),
            oldest_ns: interval.engine.oldest_in_flight_ns,
            own_ns: interval.host.fathom_user_ns + interval.host.fathom_system_ns,
            ..Column::default()
        };
        let counted = |figure: &&measure::Figure| !figure.key.operation.is_sync();
        for figure in interval.figures.iter().filter(counted) {
            column.operations += figure.operations;
            column.bytes += figure.bytes;
            column.errors += figure.errors;
            column.service_sum_ns += figure.service.sum_ns;
            column.service_count += figure.service.histogram.count();
            column.add_response(&figure.response, &mut self.builder);
        }
        for stream in &interval.engine.streams {
            column.backlog += stream.backlog;
            // As in the totals of a run: what is unserved at the end counts with its age.
            column.add_response(&stream.unserved, &mut self.builder);
        }
        column.response.histogram = self.builder.drain();
        column.busy_ns = interval.engine.pools.iter().map(|pool| pool.busy_ns).sum();
        if let Some(cpu) = &interval.host.cpu {
            column.host_busy_ns = cpu.busy_ns();
            column.host_total_ns = cpu.total_ns();
            column.host_steal_ns = cpu.steal_ns;
        }
        column.set_extremes(interval);
        column
    }

    fn halve(&mut self) {
        let merged = self.columns.chunks(2).map(|pair| {
            let mut column = pair[0].clone();
            pair[1..].iter().for_each(|next| column.merge(next));
            column
        });
        self.columns = merged.collect();
        self.group *= 2;
    }
}

impl Column {
    fn add_response(&mut self, figures: &LatencyFigures, builder: &mut HistogramBuilder) {
        self.response.sum_ns += figures.sum_ns;
        self.response.max_ns = self.response.max_ns.max(figures.max_ns);
        builder.add(&figures.histogram);
    }

    /// The slowest and the fastest of the single intervals.
    fn set_extremes(&mut self, interval: &Interval) {
        (self.rate_min, self.rate_max) = (f64::INFINITY, f64::NEG_INFINITY);
        (self.busy_max, self.cpu_max) = (f64::NAN, f64::NAN);
        for brief in interval.briefs() {
            let rate = per_second(brief.operations, brief.length_ns());
            self.rate_min = self.rate_min.min(rate);
            self.rate_max = self.rate_max.max(rate);
            let busy = brief
                .busy_ns
                .map(|ns| share_pct(ns, brief.length_ns()) / 100.0);
            self.busy_max = self.busy_max.max(busy.unwrap_or(f64::NAN));
            let cpu = brief.cpu_busy_ns.zip(brief.cpu_total_ns);
            let cpu = cpu.map_or(f64::NAN, |(busy, total)| share_pct(busy, total));
            self.cpu_max = self.cpu_max.max(cpu);
        }
    }

    fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    fn rate(&self) -> f64 {
        per_second(self.operations, self.length_ns())
    }

    /// Not a number where it is not known.
    fn busy(&self) -> f64 {
        share_pct(self.busy_ns, self.slots_ns) / 100.0
    }

    fn merge(&mut self, next: &Column) {
        self.end_ns = next.end_ns;
        self.intervals += next.intervals;
        self.operations += next.operations;
        self.bytes += next.bytes;
        self.errors += next.errors;
        self.rate_min = self.rate_min.min(next.rate_min);
        self.rate_max = self.rate_max.max(next.rate_max);
        self.response.merge(&next.response);
        self.service_sum_ns += next.service_sum_ns;
        self.service_count += next.service_count;
        self.busy_ns += next.busy_ns;
        self.slots_ns += next.slots_ns;
        self.own_known_ns += next.own_known_ns;
        self.busy_max = self.busy_max.max(next.busy_max);
        self.backlog = self.backlog.max(next.backlog);
        self.oldest_ns = self.oldest_ns.max(next.oldest_ns);
        self.host_busy_ns += next.host_busy_ns;
        self.host_total_ns += next.host_total_ns;
        self.host_steal_ns += next.host_steal_ns;
        self.own_ns += next.own_ns;
        self.cpu_max = self.cpu_max.max(next.cpu_max);
    }
}

impl TimeSeries {
    /// Without percentiles that an import does not tell.
    pub fn recorded(mut self, has: impl Fn(f64) -> bool) -> Self {
        let columns = [&mut self.p50, &mut self.p90, &mut self.p99, &mut self.p999];
        let columns = PERCENTILES.into_iter().zip(columns);
        for (_, values) in columns.filter(|(percentile, _)| !has(*percentile)) {
            values.fill(Short(f64::NAN));
        }
        self
    }

    fn push(&mut self, column: &Column) {
        let length_ns = column.length_ns();
        self.start.push(Short3(column.start_ns as f64 / 1e9));
        self.end.push(Short3(column.end_ns as f64 / 1e9));
        self.rate.push(Short(column.rate()));
        self.rate_min.push(Short(column.rate_min));
        self.rate_max.push(Short(column.rate_max));
        self.bytes.push(Short(per_second(column.bytes, length_ns)));
        let percentile = percentiles_us(&column.response);
        self.p50.push(percentile(50.0));
        self.p90.push(percentile(90.0));
        self.p99.push(percentile(99.0));
        self.p999.push(percentile(99.9));
        self.max.push(percentile(100.0));
        self.mean.push(mean_us(
            column.response.sum_ns,
            column.response.histogram.count(),
        ));
        self.service
            .push(mean_us(column.service_sum_ns, column.service_count));
        self.busy.push(Short(column.busy()));
        self.busy_max.push(Short(column.busy_max));
        self.backlog.push(column.backlog);
        self.oldest.push(Short(column.oldest_ns as f64 / 1e3));
        self.errors.push(column.errors);
        self.cpu
            .push(Short(share_pct(column.host_busy_ns, column.host_total_ns)));
        self.cpu_max.push(Short(column.cpu_max));
        self.steal
            .push(Short(share_pct(column.host_steal_ns, column.host_total_ns)));
        self.own_cpu
            .push(Short(share_pct(column.own_ns, column.own_known_ns)));
    }

    fn leave_out_what_says_nothing(&mut self) {
        if self.group == 1 {
            self.rate_min.clear();
            self.rate_max.clear();
            self.busy_max.clear();
            self.cpu_max.clear();
        }
        if self.oldest.iter().all(|us| us.0 < OLDEST_US_LEAST) {
            self.oldest.clear();
        }
        for counts in [&mut self.backlog, &mut self.errors] {
            if counts.iter().all(|count| *count == 0) {
                counts.clear();
            }
        }
        if self.cpu.iter().all(|share| share.0.is_nan()) {
            self.cpu.clear();
            self.cpu_max.clear();
        }
        if self
            .steal
            .iter()
            .all(|share| share.0.is_nan() || share.0 == 0.0)
        {
            self.steal.clear();
        }
    }
}

impl Serialize for Short3 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = (self.0 * 1e3).round() / 1e3;
        if rounded.fract() == 0.0 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// Percentiles in microseconds; no value when nothing was recorded.
fn percentiles_us(figures: &LatencyFigures) -> impl Fn(f64) -> Short + '_ {
    let empty = figures.histogram.is_empty();
    move |percentile| match percentile {
        _ if empty => Short(f64::NAN),
        100.0 => Short(figures.max_ns as f64 / 1e3),
        percentile => Short(figures.percentile_ns(percentile) as f64 / 1e3),
    }
}

fn mean_us(sum_ns: u64, count: u64) -> Short {
    if count == 0 {
        Short(f64::NAN)
    } else {
        Short(sum_ns as f64 / count as f64 / 1e3)
    }
}

fn per_second(count: u64, length_ns: u64) -> f64 {
    if length_ns == 0 {
        0.0
    } else {
        count as f64 * 1e9 / length_ns as f64
    }
}

fn share_pct(part_ns: u64, whole_ns: u64) -> f64 {
    if whole_ns == 0 {
        f64::NAN
    } else {
        part_ns as f64 * 100.0 / whole_ns as f64
    }
}

/// How many buckets of a histogram one bin of the page joins: 16 bins per power of two, 4 %.
const BUCKETS_PER_BIN: u32 = 16;

/// A distribution in bins: `counts[i]` belongs to bin `first + i`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Distribution {
    pub first: u32,
    pub counts: Vec<u64>,
}

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Self {
        let buckets = histogram.buckets();
        let (Some(low), Some(high)) = (buckets.first(), buckets.last()) else {
            return Self::default();
        };
        let first = low.index / BUCKETS_PER_BIN;
        let mut counts = vec![0; (high.index / BUCKETS_PER_BIN - first + 1) as usize];
        for bucket in buckets {
            counts[(bucket.index / BUCKETS_PER_BIN - first) as usize] += bucket.count;
        }
        Self { first, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{EngineSample, Figure, FigureKey, HostSample};
    use plan::{Operation, StreamId, TargetId};

    fn interval(number: u32, latency_ns: u64, operations: u64) -> Interval {
        let histogram: Histogram = (0..operations).map(|_| latency_ns).collect();
        let figures = LatencyFigures {
            sum_ns: latency_ns * operations,
            max_ns: latency_ns,
            histogram,
        };
        let start_ns = u64::from(number - 1) * 1_000_000_000;
        Interval {
            run: 0,
            number,
            start_ns,
            end_ns: start_ns + 1_000_000_000,
            unix_ns: 0,
            phase: if number == 1 {
                IntervalPhase::Warmup
            } else {
                IntervalPhase::Measured
            },
            figures: vec![Figure {
                key: FigureKey {
                    stream: StreamId(0),
                    target: TargetId(0),
                    operation: Operation::Read,
                },
                operations,
                bytes: operations * 4096,
                errors: 0,
                short_transfers: 0,
                service: figures.clone(),
                response: figures,
            }],
            engine: EngineSample::default(),
            host: HostSample::default(),
            lost: measure::LostParts::default(),
            within: Vec::new(),
        }
    }

    #[test]
    fn a_sum_of_intervals_is_a_column_that_knows_its_extremes() {
        let mut sum = interval(1, 400, 100).for_span();
        sum.phase = IntervalPhase::Measured;
        for number in 2..=60 {
            sum.append(&interval(number, 400, if number == 7 { 10 } else { 100 }));
        }
        let mut columns = Columns::new(4, &Load::FlatOut);
        columns.add(&sum);
        for number in 61..=63 {
            columns.add(&interval(number, 400, 50));
        }
        let series = columns.series();
        assert_eq!((series.group, series.rate.len()), (60, 2));
        assert_eq!(series.rate_min, [Short(10.0), Short(50.0)]);
        assert_eq!(series.rate_max, [Short(100.0), Short(50.0)]);
        assert_eq!(series.rate[0], Short(98.5));
        assert_eq!((series.end[0].0, series.end[1].0), (60.0, 63.0));
    }

    #[test]
    fn merging_keeps_extremes_and_adds_histograms() {
        let mut columns = Columns::new(4, &Load::FlatOut);
        for number in 1..=8 {
            let (latency_ns, operations) = if number == 6 { (500, 10) } else { (400, 100) };
            columns.add(&interval(number, latency_ns, operations));
        }
        let series = columns.series();
        assert_eq!((series.group, series.rate.len()), (2, 4));
        assert_eq!(series.rate[2], Short(55.0));
        assert_eq!(
            (series.rate_min[2], series.rate_max[2]),
            (Short(10.0), Short(100.0))
        );
        // 100 fast and 10 slow I/Os: the 90th percentile is still a fast one.
        assert_eq!((series.p90[2], series.p99[2]), (Short(0.4), Short(0.5)));
        assert_eq!(series.max[2], Short(0.5));
        assert_eq!((series.start[2].0, series.end[2].0), (4.0, 6.0));
        assert_eq!(series.warmup_s, Short(1.0));
    }

    #[test]
    fn a_rate_that_changes_is_shown_column_by_column() {
        let seconds = plan::Nanos::from_secs;
        let load = Load::Steps {
            steps: vec![(100.0, seconds(2)), (400.0, seconds(1))],
        };
        let mut columns = Columns::new(4, &load);
        for number in 1..=8 {
            columns.add(&interval(number, 400, 100));
        }
        let asked = columns.series().asked;
        assert_eq!(asked, [100.0, 250.0, 250.0, 100.0].map(Short));
        let mut flat_out = Columns::new(4, &Load::FlatOut);
        flat_out.add(&interval(1, 400, 100));
        assert!(flat_out.series().asked.is_empty());
    }

    #[test]
    fn columns_never_exceed_their_bound() {
        let mut columns = Columns::new(100, &Load::FlatOut);
        for number in 1..=10_007 {
            columns.add(&interval(number, 500, 3));
        }
        let series = columns.series();
        assert!(series.rate.len() <= 100 && series.rate.len() > 40);
        assert_eq!(series.end.last().map(|end| end.0), Some(10_007.0));
        let operations: f64 = (0..series.rate.len())
            .map(|i| series.rate[i].0 * (series.end[i].0 - series.start[i].0))
            .sum();
        assert_eq!(operations.round(), 30_021.0);
    }

    #[test]
    fn an_interval_without_completions_has_no_latency() {
        let mut columns = Columns::new(4, &Load::FlatOut);
        columns.add(&interval(1, 500, 0));
        let series = columns.series();
        assert!(series.p50[0].0.is_nan() && series.mean[0].0.is_nan());
        assert_eq!(series.rate[0], Short(0.0));
    }

    #[test]
    fn bins_hold_every_value() {
        let histogram: Histogram = (1..100_000).collect();
        let distribution = Distribution::from(&histogram);
        assert_eq!(distribution.counts.iter().sum::<u64>(), 99_999);
        assert_eq!(distribution.first, 0);
        assert_eq!(Distribution::from(&Histogram::default()).counts.len(), 0);
    }
}
