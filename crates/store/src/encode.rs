//! From an event to rows. Structures are taken apart completely, so that a new field cannot be
//! forgotten here.
use crate::error::{Outcome, Problem};
use crate::latency::pack;
use crate::schema::{self, Table, operation_number};
use crate::words;
use measure::{
    DataFigures, DataWritten, DeviceSample, EngineSample, Event, ExecutionFinished,
    ExecutionStarted, ExecutionTarget, Figure, Handover, HostSample, Interval, IoFailure,
    LatencyFigures, PoolInfo, PoolSample, Remark, RunFinished, RunStarted, ServiceParts,
    StreamInfo, StreamSample, ThreadUsage, WorkerSample,
};
use rusqlite::{Connection, ToSql, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Adds an event as the last one. The caller holds a transaction.
pub(crate) fn insert(connection: &Connection, event: &Event) -> Outcome<()> {
    add(&Rows::begin(connection, kind_of(event))?, event)
}

/// Puts an event in a place of its own, where nothing but its kind may stand.
pub(crate) fn insert_at(connection: &Connection, number: i64, event: &Event) -> Outcome<()> {
    let sql = "INSERT OR REPLACE INTO events VALUES (?, ?)";
    connection.execute(sql, params![number, kind_of(event)])?;
    let rows = Rows {
        connection,
        event: number,
    };
    add(&rows, event)
}

fn add(rows: &Rows, event: &Event) -> Outcome<()> {
    match event {
        Event::ExecutionStarted(started) => execution_started(rows, started),
        Event::RunStarted(started) => run_started(rows, started),
        Event::Interval(one) => interval(rows, one),
        Event::DataWritten(written) => data_written(rows, written),
        Event::RunFinished(finished) => run_finished(rows, finished),
        Event::IoFailure(failure) => io_failure(rows, failure),
        Event::Remark(one) => remark(rows, one),
        Event::ExecutionFinished(finished) => execution_finished(rows, finished),
    }
}

/// The word in the column `kind` of `events`.
pub(crate) fn kind_of(event: &Event) -> &'static str {
    match event {
        Event::ExecutionStarted(_) => "execution_started",
        Event::RunStarted(_) => "run_started",
        Event::Interval(_) => "interval",
        Event::DataWritten(_) => "data_written",
        Event::RunFinished(_) => "run_finished",
        Event::IoFailure(_) => "io_failure",
        Event::Remark(_) => "remark",
        Event::ExecutionFinished(_) => "execution_finished",
    }
}

/// The rows of one event.
struct Rows<'a> {
    connection: &'a Connection,
    event: i64,
}

impl<'a> Rows<'a> {
    fn begin(connection: &'a Connection, kind: &str) -> Outcome<Self> {
        let sql = schema::EVENTS.insert();
        let event = connection
            .prepare_cached(&sql)?
            .insert(params![None::<i64>, kind])?;
        Ok(Self { connection, event })
    }

    fn add(&self, table: &Table, values: &[&dyn ToSql]) -> Outcome<()> {
        self.connection
            .prepare_cached(&table.insert())?
            .execute(values)?;
        Ok(())
    }
}

/// The bits of an unsigned number in SQLite's signed one.
fn whole(value: u64) -> i64 {
    value.cast_signed()
}

fn whole_or_null(value: Option<u64>) -> Option<i64> {
    value.map(whole)
}

fn json<T: Serialize>(value: &T) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| Problem::Unrepresentable(error.to_string()))
}

/// JSON of something that holds fractions: one that is not a number would be lost on the way.
fn json_with_fractions<T: Serialize + DeserializeOwned + PartialEq>(value: &T) -> Outcome<String> {
    let text = json(value)?;
    match serde_json::from_str::<T>(&text) {
        Ok(read) if read == *value => Ok(text),
        _ => Err(Problem::Unrepresentable(format!(
            "`{text}`: a number is infinite or none"
        ))),
    }
}

fn finite(value: f64) -> Outcome<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(Problem::Unrepresentable(format!("the number `{value}`")))
}

fn finite_or_null(value: Option<f64>) -> Outcome<Option<f64>> {
    value.map(finite).transpose()
}

fn place(index: usize) -> i64 {
    i64::try_from(index).expect("a vector holds fewer than 2^63 items")
}

fn execution_started(rows: &Rows, started: &ExecutionStarted) -> Outcome<()> {
    let ExecutionStarted {
        unix_ns,
        utc_offset_s,
        time_zone,
        fathom_version,
        arguments,
        inputs,
        plan_json,
        seed,
        host,
        targets,
        backend,
        backend_reason,
        workers,
        clock,
        labels,
        reporting,
    } = started;
    rows.add(
        &schema::EXECUTIONS,
        params![
            rows.event,
            whole(*unix_ns),
            utc_offset_s,
            time_zone,
            fathom_version,
            json(arguments)?,
            json(inputs)?,
            plan_json,
            whole(*seed),
            json(host)?,
            backend,
            backend_reason,
            workers,
            clock,
            json(labels)?,
            json(reporting)?,
        ],
    )?;
    for (index, target) in targets.iter().enumerate() {
        let ExecutionTarget {
            name,
            path,
            bytes,
            is_written,
            identity,
        } = target;
        rows.add(
            &schema::TARGETS,
            params![
                rows.event,
                place(index),
                name,
                path,
                whole(*bytes),
                is_written,
                json(identity)?
            ],
        )?;
    }
    Ok(())
}

fn execution_finished(rows: &Rows, finished: &ExecutionFinished) -> Outcome<()> {
    let ExecutionFinished { unix_ns, reason } = finished;
    let (word, message) = words::reason(reason);
    rows.add(
        &schema::EXECUTION_ENDS,
        params![rows.event, whole(*unix_ns), word, message],
    )
}

fn run_started(rows: &Rows, started: &RunStarted) -> Outcome<()> {
    let RunStarted {
        run,
        runs,
        name,
        kind,
        unix_ns,
        interval_ns,
        warmup_ns,
        window_ns,
        unmeasured_intervals,
        load,
        asked_rate,
        law,
        is_open_loop,
        pools,
        streams,
        expected_bytes,
        labels,
    } = started;
    rows.add(
        &schema::RUNS,
        params![
            rows.event,
            run,
            runs,
            name,
            words::run_kind(*kind),
            whole(*unix_ns),
            whole(*interval_ns),
            whole(*warmup_ns),
            whole_or_null(*window_ns),
            unmeasured_intervals,
            json_with_fractions(load)?,
            finite_or_null(*asked_rate)?,
            is_open_loop,
            whole_or_null(*expected_bytes),
            json(labels)?,
            law.map(words::law),
        ],
    )?;
    for (index, PoolInfo { name, slots }) in pools.iter().enumerate() {
        rows.add(
            &schema::POOLS,
            params![rows.event, place(index), name, slots],
        )?;
    }
    streams
        .iter()
        .enumerate()
        .try_for_each(|(index, stream)| stream_info(rows, index, stream))
}

/// One more stream of a run that has begun.
pub(crate) fn insert_stream(
    connection: &Connection,
    event: i64,
    index: usize,
    stream: &StreamInfo,
) -> Outcome<()> {
    stream_info(&Rows { connection, event }, index, stream)
}

fn stream_info(rows: &Rows, index: usize, stream: &StreamInfo) -> Outcome<()> {
    let StreamInfo {
        name,
        targets,
        pool,
        asked_rate,
        share_pct,
        labels,
    } = stream;
    rows.add(
        &schema::STREAMS,
        params![
            rows.event,
            place(index),
            name,
            json(targets)?,
            pool,
            finite_or_null(*asked_rate)?,
            finite(*share_pct)?,
            json(labels)?,
        ],
    )
}

fn run_finished(rows: &Rows, finished: &RunFinished) -> Outcome<()> {
    let RunFinished {
        run,
        unix_ns,
        reason,
        first_measured,
        last_measured,
        scheduled,
        submitted,
        unsent,
        drain_ns,
        outstanding,
        late,
    } = finished;
    let (word, message) = words::reason(reason);
    rows.add(
        &schema::RUN_ENDS,
        params![
            rows.event,
            run,
            whole(*unix_ns),
            word,
            message,
            first_measured,
            last_measured,
            whole(*scheduled),
            whole(*submitted),
            whole(*unsent),
            whole(*drain_ns),
            json(&outstanding.iter().chain(late).collect::<Vec<_>>())?,
        ],
    )
}

fn interval(rows: &Rows, interval: &Interval) -> Outcome<()> {
    let Interval {
        run,
        number,
        start_ns,
        end_ns,
        unix_ns,
        phase,
        figures,
        engine,
        host,
        lost: _,
    } = interval;
    let EngineSample {
        streams,
        pools,
        workers,
        oldest_in_flight_ns,
        in_flight,
    } = engine;
    let WorkerSample {
        workers,
        cpu_ns,
        usage,
        submit_calls,
        submit_ns,
        reaps,
        reap_gap_sum_ns,
        reap_gap_max_ns,
        wakeups,
        clamped,
    } = workers;
    rows.add(
        &schema::INTERVALS,
        params![
            rows.event,
            run,
            number,
            whole(*start_ns),
            whole(*end_ns),
            whole(*unix_ns),
            words::phase(*phase),
            in_flight,
            whole(*oldest_in_flight_ns),
            workers,
            whole(*cpu_ns),
            whole(*submit_calls),
            whole(*submit_ns),
            whole(*reaps),
            whole(*reap_gap_sum_ns),
            whole(*reap_gap_max_ns),
            whole(*wakeups),
            whole(*clamped),
        ],
    )?;
    thread_usage(rows, usage)?;
    for one in figures {
        figure(rows, *run, *number, one)?;
    }
    for (index, stream) in streams.iter().enumerate() {
        stream_sample(rows, *run, *number, index, stream)?;
    }
    pools
        .iter()
        .enumerate()
        .try_for_each(|(index, pool)| pool_sample(rows, index, pool))?;
    host_sample(rows, host)
}

fn figure(rows: &Rows, run: u32, interval: u32, figure: &Figure) -> Outcome<()> {
    let Figure {
        key,
        operations,
        bytes,
        errors,
        short_transfers,
        service,
        response,
    } = figure;
    // In a closed loop both are the same, and histograms are most of a file.
    let response_histogram = (response.histogram != service.histogram)
        .then(|| pack(&response.histogram))
        .transpose()?;
    rows.add(
        &schema::FIGURES,
        params![
            rows.event,
            run,
            interval,
            key.stream.0,
            key.target.0,
            operation_number(key.operation),
            whole(*operations),
            whole(*bytes),
            whole(*errors),
            whole(*short_transfers),
            whole(service.sum_ns),
            whole(service.max_ns),
            pack(&service.histogram)?,
            whole(response.sum_ns),
            whole(response.max_ns),
            response_histogram,
        ],
    )
}

fn stream_sample(
    rows: &Rows,
    run: u32,
    interval: u32,
    index: usize,
    sample: &StreamSample,
) -> Outcome<()> {
    let StreamSample {
        scheduled,
        submitted,
        backlog,
        lateness,
        unserved,
        handover,
        span,
        depth,
    } = sample;
    if let Some(handover) = handover {
        add_handover(rows, run, interval, index, handover)?;
    }
    let LatencyFigures {
        sum_ns: lateness_ns_sum,
        max_ns: lateness_ns_max,
        histogram: lateness_histogram,
    } = lateness;
    rows.add(
        &schema::STREAM_SAMPLES,
        params![
            rows.event,
            run,
            interval,
            place(index),
            whole(*scheduled),
            whole(*submitted),
            whole(*backlog),
            whole(*lateness_ns_sum),
            whole(*lateness_ns_max),
            pack(lateness_histogram)?,
            whole(unserved.sum_ns),
            whole(unserved.max_ns),
            pack(&unserved.histogram)?,
            span.map(|span| whole(span.from_ns)),
            span.and_then(|span| whole_or_null(span.to_ns)),
            depth,
        ],
    )
}

fn thread_usage(rows: &Rows, usage: &ThreadUsage) -> Outcome<()> {
    let ThreadUsage {
        user_ns,
        system_ns,
        context_switches,
        minor_faults,
        major_faults,
        cpu_wait_ns,
    } = usage;
    rows.add(
        &schema::WORKER_USAGE,
        params![
            rows.event,
            whole(*user_ns),
            whole(*system_ns),
            whole(*context_switches),
            whole(*minor_faults),
            whole(*major_faults),
            whole_or_null(*cpu_wait_ns),
        ],
    )
}

fn add_handover(
    rows: &Rows,
    run: u32,
    interval: u32,
    stream: usize,
    handover: &Handover,
) -> Outcome<()> {
    let Handover {
        parts,
        depths,
        submitted_together,
        seen_together,
        last_seen_ns,
    } = handover;
    rows.add(
        &schema::HANDOVERS,
        params![
            rows.event,
            place(stream),
            run,
            interval,
            json(depths)?,
            json(submitted_together)?,
            json(seen_together)?,
            whole(*last_seen_ns),
        ],
    )?;
    for one in parts {
        let ServiceParts {
            operation,
            priority,
            submission,
            completion,
            service,
        } = one;
        rows.add(
            &schema::SERVICE_PARTS,
            params![
                rows.event,
                place(stream),
                operation_number(*operation),
                whole(submission.sum_ns),
                whole(submission.max_ns),
                pack(&submission.histogram)?,
                whole(completion.sum_ns),
                whole(completion.max_ns),
                pack(&completion.histogram)?,
                priority,
                whole(service.sum_ns),
                whole(service.max_ns),
                pack(&service.histogram)?,
            ],
        )?;
    }
    Ok(())
}

fn pool_sample(rows: &Rows, index: usize, sample: &PoolSample) -> Outcome<()> {
    let PoolSample {
        slots,
        busy_ns,
        exhausted_ns,
    } = sample;
    rows.add(
        &schema::POOL_SAMPLES,
        params![
            rows.event,
            place(index),
            slots,
            whole(*busy_ns),
            whole(*exhausted_ns)
        ],
    )
}

fn host_sample(rows: &Rows, host: &HostSample) -> Outcome<()> {
    let HostSample {
        cpu,
        fathom_user_ns,
        fathom_system_ns,
        fathom_memory_bytes,
        throttled_ns,
        throttled_periods,
        devices,
    } = host;
    let cpu = |of: fn(&measure::CpuTimes) -> u64| whole_or_null(cpu.as_ref().map(of));
    rows.add(
        &schema::HOST_SAMPLES,
        params![
            rows.event,
            cpu(|times| times.user_ns),
            cpu(|times| times.nice_ns),
            cpu(|times| times.system_ns),
            cpu(|times| times.idle_ns),
            cpu(|times| times.io_wait_ns),
            cpu(|times| times.irq_ns),
            cpu(|times| times.softirq_ns),
            cpu(|times| times.steal_ns),
            whole(*fathom_user_ns),
            whole(*fathom_system_ns),
            whole(*fathom_memory_bytes),
            whole_or_null(*throttled_ns),
            whole_or_null(*throttled_periods),
        ],
    )?;
    devices
        .iter()
        .enumerate()
        .try_for_each(|(index, device)| device_sample(rows, index, device))
}

fn device_sample(rows: &Rows, index: usize, sample: &DeviceSample) -> Outcome<()> {
    let DeviceSample { device, counters } = sample;
    rows.add(
        &schema::DEVICE_SAMPLES,
        params![
            rows.event,
            place(index),
            device,
            whole(counters.reads),
            whole(counters.read_bytes),
            whole(counters.read_ns),
            whole(counters.writes),
            whole(counters.written_bytes),
            whole(counters.write_ns),
            whole(counters.discards),
            whole(counters.flushes),
            whole(counters.busy_ns),
            whole(counters.weighted_ns),
        ],
    )?;
    rows.add(
        &schema::DEVICE_MERGES,
        params![
            rows.event,
            place(index),
            whole(counters.read_merges),
            whole(counters.write_merges),
        ],
    )
}

fn data_written(rows: &Rows, written: &DataWritten) -> Outcome<()> {
    let DataWritten { run, kinds } = written;
    for (index, kind) in kinds.iter().enumerate() {
        let DataFigures {
            streams,
            asked_compression,
            asked_duplicates,
            block_bytes,
            blocks,
            contents,
            sampled_contents,
            sampled_bytes,
            compressed_bytes,
        } = kind;
        rows.add(
            &schema::WRITTEN_DATA,
            params![
                rows.event,
                place(index),
                run,
                json(streams)?,
                finite_or_null(*asked_compression)?,
                finite_or_null(*asked_duplicates)?,
                whole(*block_bytes),
                finite(*blocks)?,
                finite_or_null(*contents)?,
                whole(*sampled_contents),
                whole(*sampled_bytes),
                whole(*compressed_bytes),
            ],
        )?;
    }
    Ok(())
}

fn io_failure(rows: &Rows, failure: &IoFailure) -> Outcome<()> {
    let IoFailure {
        run,
        unix_ns,
        stream,
        target,
        operation,
        offset,
        length,
        errno,
        message,
        misfit,
    } = failure;
    rows.add(
        &schema::FAILURES,
        params![
            rows.event,
            run,
            whole(*unix_ns),
            stream.0,
            target.0,
            operation_number(*operation),
            whole(*offset),
            length,
            errno,
            message,
            misfit.as_ref().map(json).transpose()?,
        ],
    )
}

fn remark(rows: &Rows, remark: &Remark) -> Outcome<()> {
    let Remark {
        run,
        unix_ns,
        severity,
        code,
        message,
    } = remark;
    rows.add(
        &schema::REMARKS,
        params![
            rows.event,
            run,
            whole(*unix_ns),
            words::severity(*severity),
            code,
            message
        ],
    )
}
