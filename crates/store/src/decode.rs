//! From rows to events. Believes nothing: a value that does not fit is a damaged file.
use crate::error::{Outcome, Problem};
use crate::latency::unpack;
use crate::sample::{self, AMOUNT_MAX, OneHistogram, Packed};
use crate::schema::{self, OPERATIONS, Table};
use crate::words;
use measure::{
    DataFigures, DataWritten, EngineSample, Event, ExecutionFinished, ExecutionStarted,
    ExecutionTarget, Figure, FigureKey, Handover, Histogram, HostSample, Interval, IntervalBrief,
    IoFailure, LatencyFigures, PoolInfo, Remark, RunFinished, RunStarted, ServiceParts, StreamInfo,
    ThreadUsage, WorkerSample,
};
use plan::{Operation, StreamId, TargetId};
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Connection, Row, params};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Reads the events of one file.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// What the numbers of operations mean in this file.
    operations: Vec<(u32, Operation)>,
    /// No event of a file of this size has more rows in one table.
    rows_max: u64,
    /// Of the layout of this file.
    version: u32,
}

/// The columns of a row, one after the other.
struct Fields<'a> {
    row: &'a Row<'a>,
    table: &'static str,
    place: usize,
}

impl Decoder {
    pub(crate) fn new(connection: &Connection, rows_max: u64) -> Outcome<Self> {
        let sql = format!("SELECT operation, name FROM {OPERATIONS}");
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut operations = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(1)?;
            // An operation of a later version is refused when a figure names it.
            if let Some(operation) = Operation::from_name(&name) {
                operations.push((row.get(0)?, operation));
            }
        }
        let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok(Self {
            operations,
            rows_max,
            version,
        })
    }

    /// The event with this number, of which `kind` is known.
    pub(crate) fn event(&self, connection: &Connection, event: i64, kind: &str) -> Outcome<Event> {
        let rows = Details {
            connection,
            event,
            rows_max: self.rows_max,
            version: self.version,
        };
        match kind {
            "execution_started" => execution_started(&rows),
            "run_started" => run_started(&rows),
            "interval" => self.interval(&rows),
            "data_written" => data_written(&rows),
            "run_finished" => rows.one(&schema::RUN_ENDS, run_finished),
            "io_failure" => rows.one(&schema::FAILURES, |fields| self.io_failure(fields)),
            "remark" => rows.one(&schema::REMARKS, remark),
            "execution_finished" => rows.one(&schema::EXECUTION_ENDS, execution_finished),
            other => Err(Problem::Damaged(format!(
                "event {event} is of unknown kind `{other}`"
            ))),
        }
    }

    fn operation(&self, number: u32) -> Outcome<Operation> {
        self.operations
            .iter()
            .find(|(known, _)| *known == number)
            .map(|(_, operation)| *operation)
            .ok_or_else(|| Problem::Damaged(format!("operation {number} is unknown")))
    }

    /// The sum of intervals with this number of an event.
    pub(crate) fn span(&self, connection: &Connection, event: i64) -> Outcome<Interval> {
        let rows = Details {
            connection,
            event,
            rows_max: self.rows_max,
            version: self.version,
        };
        let (first, mut span, parts) = rows.one(&schema::SPANS, |fields| {
            fields.skip(1);
            let first: u32 = fields.get()?;
            let (span, parts) = whole_interval(fields)?;
            Ok((first, span, parts))
        })?;
        self.parts(&rows, &mut span, &parts)?;
        let most = u64::from(span.number).saturating_sub(first.into()) + 1;
        span.within = rows.briefs(&span, first, most)?;
        Ok(span)
    }

    fn interval(&self, rows: &Details) -> Outcome<Event> {
        let (mut interval, parts) = rows.one(&schema::INTERVALS, whole_interval)?;
        self.parts(rows, &mut interval, &parts)?;
        self.handovers(rows, &mut interval)?;
        Ok(Event::Interval(interval))
    }

    /// Figures and samples, of which there is a row for each host.
    fn parts(&self, rows: &Details, interval: &mut Interval, counted: &Counted) -> Outcome<()> {
        let figures = counted.figures;
        interval.figures = rows.all(&schema::COUNTS, |fields| self.count(fields))?;
        if interval.figures.len() as u64 != figures {
            let found = interval.figures.len();
            let message = format!("{found} of {figures} figures of an interval are there");
            return Err(Problem::Damaged(message));
        }
        let machines = rows.all(&schema::MACHINE_SAMPLES, machine_sample)?;
        let mut devices = BTreeMap::new();
        let samples = rows.all(&schema::SAMPLES, packed)?;
        if samples.is_empty() {
            sample::without_samples(&mut interval.lost);
        }
        let mut histograms = rows.all(&schema::SAMPLE_HISTOGRAMS, one_histogram)?;
        for packed in samples {
            let is_own = |one: &OneHistogram| one.host == packed.host;
            let (own, others): (Vec<_>, Vec<_>) = histograms.into_iter().partition(is_own);
            histograms = others;
            let host = packed.host;
            if let Some(told) = sample::unpack(packed, &own, interval)? {
                devices.insert(host, told);
            }
        }
        let machines = machines.into_iter().collect();
        sample::gather(interval, counted.told_by, machines, devices);
        Ok(())
    }

    fn count(&self, fields: &mut Fields) -> Outcome<Figure> {
        fields.skip(2);
        let key = FigureKey {
            stream: StreamId(fields.get()?),
            target: TargetId(fields.get()?),
            operation: self.operation(fields.get()?)?,
        };
        let (operations, bytes) = (fields.amount()?, fields.amount()?);
        let (errors, short_transfers) = (fields.amount()?, fields.amount()?);
        let mut service = LatencyFigures {
            sum_ns: fields.whole()?,
            max_ns: fields.whole()?,
            histogram: Histogram::default(),
        };
        fields.skip(4);
        let apart = fields.whole_or_null()?.zip(fields.whole_or_null()?);
        fields.skip(4);
        service.histogram = unpack(&fields.get::<Vec<u8>>()?)?;
        let own: Option<Vec<u8>> = fields.get()?;
        let mut response = service.clone();
        if let Some((sum_ns, max_ns)) = apart {
            (response.sum_ns, response.max_ns) = (sum_ns, max_ns);
        }
        if let Some(own) = own {
            response.histogram = unpack(&own)?;
        }
        Ok(Figure {
            key,
            operations,
            bytes,
            errors,
            short_transfers,
            service,
            response,
        })
    }

    fn handovers(&self, rows: &Details, interval: &mut Interval) -> Outcome<()> {
        let outside = |what: &str| Problem::Damaged(format!("a {what} that the interval has not"));
        for (place, handover) in rows.all(&schema::HANDOVERS, handover)? {
            let sample = interval.engine.streams.get_mut(place);
            sample
                .ok_or_else(|| outside("handover of a stream"))?
                .handover = Some(handover);
        }
        let parts = rows.all(&schema::SERVICE_PARTS, |fields| self.service_parts(fields))?;
        for (place, parts) in parts {
            let sample = interval.engine.streams.get_mut(place);
            let handover = sample.and_then(|sample| sample.handover.as_mut());
            handover
                .ok_or_else(|| outside("service time of a handover"))?
                .parts
                .push(parts);
        }
        Ok(())
    }

    fn service_parts(&self, fields: &mut Fields) -> Outcome<(usize, ServiceParts)> {
        let place = fields.get::<u32>()? as usize;
        let parts = ServiceParts {
            operation: self.operation(fields.get()?)?,
            submission: fields.latency()?,
            completion: fields.latency()?,
            priority: fields.get()?,
            service: fields.latency()?,
        };
        Ok((place, parts))
    }

    fn io_failure(&self, fields: &mut Fields) -> Outcome<Event> {
        Ok(Event::IoFailure(IoFailure {
            run: fields.get()?,
            unix_ns: fields.whole()?,
            stream: StreamId(fields.get()?),
            target: TargetId(fields.get()?),
            operation: self.operation(fields.get()?)?,
            offset: fields.whole()?,
            length: fields.get()?,
            errno: fields.get()?,
            message: fields.get()?,
            misfit: fields.json_or_null()?,
            host: fields.get()?,
            worker: fields.get()?,
        }))
    }
}

/// The rows of one event.
struct Details<'a> {
    connection: &'a Connection,
    event: i64,
    rows_max: u64,
    version: u32,
}

impl Details<'_> {
    fn all<T>(
        &self,
        table: &Table,
        mut read: impl FnMut(&mut Fields) -> Outcome<T>,
    ) -> Outcome<Vec<T>> {
        let mut statement = self
            .connection
            .prepare_cached(&table.select(self.version))?;
        let mut rows = statement.query([self.event])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if found.len() as u64 >= self.rows_max {
                let message = format!("table `{}` has more rows than fit", table.name);
                return Err(Problem::Damaged(message));
            }
            found.push(read(&mut Fields {
                row,
                table: table.name,
                place: 1,
            })?);
        }
        Ok(found)
    }

    /// The single intervals of a span, which stand in front of it.
    fn briefs(&self, span: &Interval, first: u32, most: u64) -> Outcome<Vec<IntervalBrief>> {
        let sql = "SELECT event, interval, start_ns, end_ns, operations, in_flight, backlog, busy_ns, cpu_busy_ns,
            cpu_total_ns, service_ns_p50 FROM intervals WHERE event < ? AND run = ? AND interval >= ? ORDER BY event DESC LIMIT ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let most = most.min(self.rows_max).cast_signed();
        let mut rows = statement.query(params![self.event, span.run, first, most])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let table = schema::INTERVALS.name;
            found.push(brief(&mut Fields {
                row,
                table,
                place: 1,
            })?);
        }
        found.reverse();
        Ok(found)
    }

    fn one<T>(&self, table: &Table, read: impl FnMut(&mut Fields) -> Outcome<T>) -> Outcome<T> {
        let found = self.all(table, read)?;
        found.into_iter().next().ok_or_else(|| {
            Problem::Damaged(format!(
                "event {} has no row in `{}`",
                self.event, table.name
            ))
        })
    }
}

impl Fields<'_> {
    fn skip(&mut self, columns: usize) {
        self.place += columns;
    }

    fn get<T: FromSql>(&mut self) -> Outcome<T> {
        let value = self.row.get(self.place)?;
        self.place += 1;
        Ok(value)
    }

    fn whole(&mut self) -> Outcome<u64> {
        Ok(self.get::<i64>()?.cast_unsigned())
    }

    /// What is added up over intervals: as much as no interval has would overflow the sums.
    fn amount(&mut self) -> Outcome<u64> {
        let value = self.whole()?;
        match value <= AMOUNT_MAX {
            true => Ok(value),
            false => Err(Problem::Damaged(format!(
                "an amount of {value} in table `{}`",
                self.table
            ))),
        }
    }

    fn amount_or_null(&mut self) -> Outcome<Option<u64>> {
        match self.row.get_ref(self.place)? {
            ValueRef::Null => {
                self.skip(1);
                Ok(None)
            }
            _ => self.amount().map(Some),
        }
    }

    fn whole_or_null(&mut self) -> Outcome<Option<u64>> {
        Ok(self.get::<Option<i64>>()?.map(i64::cast_unsigned))
    }

    fn json_or_null<T: DeserializeOwned>(&mut self) -> Outcome<Option<T>> {
        let text: Option<String> = self.get()?;
        let read = text.map(|text| serde_json::from_str(&text)).transpose();
        read.map_err(|error| Problem::Unrepresentable(error.to_string()))
    }

    fn json<T: DeserializeOwned>(&mut self) -> Outcome<T> {
        let text: String = self.get()?;
        self.parsed(&text)
    }

    fn parsed<T: DeserializeOwned>(&self, text: &str) -> Outcome<T> {
        serde_json::from_str(text)
            .map_err(|error| Problem::Damaged(format!("JSON in table `{}`: {error}", self.table)))
    }

    fn word<T>(&mut self, known: impl FnOnce(&str) -> Option<T>) -> Outcome<T> {
        let word: String = self.get()?;
        known(&word).ok_or_else(|| {
            Problem::Damaged(format!("`{word}` in table `{}` is unknown", self.table))
        })
    }

    fn word_or_null<T>(&mut self, known: impl FnOnce(&str) -> Option<T>) -> Outcome<Option<T>> {
        let word: Option<String> = self.get()?;
        let Some(word) = word else { return Ok(None) };
        let found = known(&word).ok_or_else(|| {
            Problem::Damaged(format!("`{word}` in table `{}` is unknown", self.table))
        })?;
        Ok(Some(found))
    }

    fn reason(&mut self) -> Outcome<measure::FinishReason> {
        let (word, message): (String, Option<String>) = (self.get()?, self.get()?);
        words::reason_of(&word, message)
            .ok_or_else(|| Problem::Damaged(format!("reason `{word}` is unknown")))
    }

    fn latency(&mut self) -> Outcome<LatencyFigures> {
        Ok(LatencyFigures {
            sum_ns: self.whole()?,
            max_ns: self.whole()?,
            histogram: unpack(&self.get::<Vec<u8>>()?)?,
        })
    }
}

fn execution_started(rows: &Details) -> Outcome<Event> {
    let mut started = rows.one(&schema::EXECUTIONS, |fields| {
        Ok(ExecutionStarted {
            unix_ns: fields.whole()?,
            utc_offset_s: fields.get()?,
            time_zone: fields.get()?,
            fathom_version: fields.get()?,
            arguments: fields.json()?,
            inputs: fields.json()?,
            plan_json: fields.get()?,
            seed: fields.whole()?,
            host: fields.json()?,
            hosts: Vec::new(),
            targets: Vec::new(),
            backend: fields.get()?,
            backend_reason: fields.get()?,
            workers: fields.get()?,
            clock: fields.get()?,
            labels: fields.json()?,
            reporting: fields.json()?,
        })
    })?;
    let hosts = rows.all(&schema::HOSTS, |fields| {
        fields.skip(1);
        fields.json()
    })?;
    // One that works alone is the one that leads.
    started.hosts = if hosts.len() > 1 { hosts } else { Vec::new() };
    started.targets = rows.all(&schema::TARGETS, |fields| {
        fields.skip(1);
        Ok(ExecutionTarget {
            name: fields.get()?,
            path: fields.get()?,
            bytes: fields.whole()?,
            is_written: fields.get()?,
            identity: fields.json()?,
            host: fields.get()?,
            open_mode: fields.get()?,
            hole_bytes: fields.whole_or_null()?,
        })
    })?;
    Ok(Event::ExecutionStarted(started))
}

fn execution_finished(fields: &mut Fields) -> Outcome<Event> {
    Ok(Event::ExecutionFinished(ExecutionFinished {
        unix_ns: fields.whole()?,
        reason: fields.reason()?,
    }))
}

fn run_started(rows: &Details) -> Outcome<Event> {
    let mut started = rows.one(&schema::RUNS, |fields| {
        Ok(RunStarted {
            run: fields.get()?,
            runs: fields.get()?,
            name: fields.get()?,
            kind: fields.word(words::run_kind_of)?,
            unix_ns: fields.whole()?,
            interval_ns: fields.whole()?,
            warmup_ns: fields.whole()?,
            window_ns: fields.whole_or_null()?,
            unmeasured_intervals: fields.get()?,
            load: fields.json()?,
            asked_rate: fields.get()?,
            is_open_loop: fields.get()?,
            pools: Vec::new(),
            streams: Vec::new(),
            expected_bytes: fields.whole_or_null()?,
            labels: fields.json()?,
            law: fields.word_or_null(words::law_of)?,
            swept: fields.json_or_null()?.unwrap_or_default(),
        })
    })?;
    started.pools = rows.all(&schema::POOLS, |fields| {
        fields.skip(1);
        Ok(PoolInfo {
            name: fields.get()?,
            slots: fields.get()?,
        })
    })?;
    started.streams = rows.all(&schema::STREAMS, stream_info)?;
    Ok(Event::RunStarted(started))
}

fn stream_info(fields: &mut Fields) -> Outcome<StreamInfo> {
    fields.skip(1);
    Ok(StreamInfo {
        name: fields.get()?,
        targets: fields.json()?,
        pool: fields.get()?,
        asked_rate: fields.get()?,
        share_pct: fields.get()?,
        labels: fields.json()?,
        law: fields.word_or_null(words::law_of)?,
        host: fields.get::<Option<u32>>()?.unwrap_or(0),
        cache_mode: fields.word_or_null(words::cache_mode_of)?,
    })
}

fn run_finished(fields: &mut Fields) -> Outcome<Event> {
    let mut finished = RunFinished {
        run: fields.get()?,
        unix_ns: fields.whole()?,
        reason: fields.reason()?,
        first_measured: fields.get()?,
        last_measured: fields.get()?,
        scheduled: fields.whole()?,
        submitted: fields.whole()?,
        unsent: fields.whole()?,
        drain_ns: fields.whole()?,
        outstanding: fields.json()?,
        late: Vec::new(),
        starts: fields.json_or_null()?.unwrap_or_default(),
    };
    let all = std::mem::take(&mut finished.outstanding).into_iter();
    (finished.late, finished.outstanding) = all.partition(|one| one.returned_after_ns.is_some());
    Ok(Event::RunFinished(finished))
}

fn interval(fields: &mut Fields) -> Outcome<Interval> {
    let (run, number) = (fields.get()?, fields.get()?);
    let (start_ns, end_ns, unix_ns) = (fields.whole()?, fields.whole()?, fields.whole()?);
    let phase = fields.word(words::phase_of)?;
    let (in_flight, oldest_in_flight_ns) = (fields.get()?, fields.whole()?);
    Ok(Interval {
        run,
        number,
        start_ns,
        end_ns,
        unix_ns,
        phase,
        figures: Vec::new(),
        engine: EngineSample {
            streams: Vec::new(),
            pools: Vec::new(),
            workers: WorkerSample {
                workers: fields.get()?,
                cpu_ns: fields.amount()?,
                usage: ThreadUsage::default(),
                submit_calls: fields.amount()?,
                submit_ns: fields.amount()?,
                reaps: fields.amount()?,
                reap_gap_sum_ns: fields.amount()?,
                reap_gap_max_ns: fields.amount()?,
                wakeups: fields.amount()?,
                clamped: fields.amount()?,
            },
            oldest_in_flight_ns,
            in_flight,
            hosts: Vec::new(),
        },
        host: HostSample::default(),
        lost: measure::LostParts::default(),
        within: Vec::new(),
    })
}

/// What an interval has beside its row.
struct Counted {
    figures: u64,
    /// Of several hosts, how many told.
    told_by: Option<u32>,
}

/// An interval with what threads used, and what it has beside.
fn whole_interval(fields: &mut Fields) -> Outcome<(Interval, Counted)> {
    let mut interval = interval(fields)?;
    interval.engine.workers.usage = thread_usage(fields)?;
    interval.engine.workers.usage.cpu_wait_ns = fields.amount_or_null()?;
    let counted = Counted {
        figures: fields.amount()?,
        told_by: fields.get()?,
    };
    Ok((interval, counted))
}

fn brief(fields: &mut Fields) -> Outcome<IntervalBrief> {
    Ok(IntervalBrief {
        number: fields.get()?,
        start_ns: fields.whole()?,
        end_ns: fields.whole()?,
        operations: fields.amount()?,
        in_flight: fields.get()?,
        backlog: fields.amount()?,
        busy_ns: fields.amount_or_null()?,
        cpu_busy_ns: fields.amount_or_null()?,
        cpu_total_ns: fields.amount_or_null()?,
        service_ns_p50: fields.whole_or_null()?,
    })
}

fn packed(fields: &mut Fields) -> Outcome<Packed> {
    let mut packed = Packed {
        host: fields.get()?,
        blobs: [const { None }; 10],
        texts: [const { None }; 4],
        histograms: 0,
    };
    for blob in &mut packed.blobs[..6] {
        *blob = fields.get()?;
    }
    (packed.texts[0], packed.texts[1]) = (fields.get()?, fields.get()?);
    packed.blobs[6] = fields.get()?;
    (packed.texts[2], packed.blobs[7]) = (fields.get()?, fields.get()?);
    (packed.texts[3], packed.blobs[8]) = (fields.get()?, fields.get()?);
    packed.histograms = fields.amount()?;
    packed.blobs[9] = fields.get()?;
    Ok(packed)
}

fn one_histogram(fields: &mut Fields) -> Outcome<OneHistogram> {
    Ok(OneHistogram {
        host: fields.get()?,
        kind: fields.get()?,
        place: fields.get()?,
        code: fields.get()?,
    })
}

fn machine_sample(fields: &mut Fields) -> Outcome<(u32, HostSample)> {
    let host = fields.get()?;
    let mut numbers = [None; 24];
    for number in &mut numbers[..19] {
        *number = fields.whole_or_null()?;
    }
    let io_max = fields.get()?;
    for number in &mut numbers[19..] {
        *number = fields.whole_or_null()?;
    }
    Ok((host, sample::machine(numbers, io_max)?))
}

fn thread_usage(fields: &mut Fields) -> Outcome<ThreadUsage> {
    Ok(ThreadUsage {
        user_ns: fields.amount()?,
        system_ns: fields.amount()?,
        context_switches: fields.amount()?,
        minor_faults: fields.amount()?,
        major_faults: fields.amount()?,
        cpu_wait_ns: None,
    })
}

fn handover(fields: &mut Fields) -> Outcome<(usize, Handover)> {
    let place = fields.get::<u32>()? as usize;
    fields.skip(2);
    let handover = Handover {
        parts: Vec::new(),
        depths: fields.json()?,
        submitted_together: fields.json()?,
        seen_together: fields.json()?,
        last_seen_ns: fields.whole()?,
    };
    Ok((place, handover))
}

fn data_written(rows: &Details) -> Outcome<Event> {
    let found = rows.all(&schema::WRITTEN_DATA, |fields| {
        fields.skip(1);
        let run = fields.get()?;
        let kind = DataFigures {
            streams: fields.json()?,
            asked_compression: fields.get()?,
            asked_duplicates: fields.get()?,
            block_bytes: fields.whole()?,
            blocks: fields.get()?,
            contents: fields.get()?,
            sampled_contents: fields.whole()?,
            sample: measure::ContentSample::default(),
            sampled_bytes: fields.whole()?,
            compressed_bytes: fields.whole()?,
        };
        Ok((run, kind))
    })?;
    let Some((run, _)) = found.first() else {
        return Err(Problem::Damaged("written data of no kind".to_owned()));
    };
    Ok(Event::DataWritten(DataWritten {
        run: *run,
        kinds: found.iter().map(|(_, kind)| kind.clone()).collect(),
    }))
}

fn remark(fields: &mut Fields) -> Outcome<Event> {
    Ok(Event::Remark(Remark {
        run: fields.get()?,
        unix_ns: fields.whole()?,
        severity: fields.word(words::severity_of)?,
        code: fields.get()?,
        message: fields.get()?,
    }))
}
