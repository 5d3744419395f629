//! From an event to rows. Structures are taken apart completely, so that a new field cannot be
//! forgotten here.
use crate::error::{Outcome, Problem};
use crate::latency::pack;
use crate::sample;
use crate::schema::{self, Table, operation_number};
use crate::words;
use measure::{
    CpuTimes, DataFigures, DataWritten, EngineSample, Event, ExecutionFinished, ExecutionStarted,
    ExecutionTarget, Figure, Handover, Interval, IoFailure, LatencyFigures, PoolInfo, Remark,
    RunFinished, RunStarted, ServiceParts, SpanLevel, StreamInfo, ThreadUsage, WorkerSample,
};
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, params, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Adds an event as the last one. The caller holds a transaction.
pub(crate) fn insert(connection: &Connection, event: &Event) -> Outcome<()> {
    add(&Rows::begin(connection, kind_of(event))?, event)
}

/// Adds what several intervals add up to.
pub(crate) fn insert_span(
    connection: &Connection,
    level: SpanLevel,
    span: &Interval,
) -> Outcome<()> {
    let rows = Rows::begin(connection, schema::SPAN_KIND)?;
    let first = span
        .within
        .first()
        .map_or(span.number, |first| first.number);
    let place = vec![
        Value::from(rows.event),
        Value::from(words::span_level(level).to_owned()),
        Value::from(first),
    ];
    rows.add_values(&schema::SPANS, place.into_iter().chain(interval_row(span)))?;
    parts(&rows, span)
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
fn kind_of(event: &Event) -> &'static str {
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

    fn add_values(&self, table: &Table, values: impl Iterator<Item = Value>) -> Outcome<()> {
        self.connection
            .prepare_cached(&table.insert())?
            .execute(params_from_iter(values))?;
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
        hosts,
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
            None::<String>,
            None::<String>,
        ],
    )?;
    // One that works alone is the one that leads.
    let hosts = match hosts.as_slice() {
        [] => std::slice::from_ref(host),
        several => several,
    };
    let nothing = None::<i64>;
    for (index, facts) in hosts.iter().enumerate() {
        rows.add(
            &schema::HOSTS,
            params![
                rows.event,
                place(index),
                json(facts)?,
                nothing,
                nothing,
                nothing,
                nothing
            ],
        )?;
    }
    let mut targets = targets.iter().enumerate();
    targets.try_for_each(|(index, one)| target(rows, index, one))
}

fn target(rows: &Rows, index: usize, target: &ExecutionTarget) -> Outcome<()> {
    let ExecutionTarget {
        name,
        path,
        bytes,
        is_written,
        identity,
        host,
        open_mode,
        hole_bytes,
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
            json(identity)?,
            host,
            open_mode,
            whole_or_null(*hole_bytes),
            rusqlite::types::Null,
            rusqlite::types::Null,
        ],
    )
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
        swept,
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
            json_with_fractions(swept)?,
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

fn stream_info(rows: &Rows, index: usize, stream: &StreamInfo) -> Outcome<()> {
    let StreamInfo {
        name,
        targets,
        pool,
        asked_rate,
        share_pct,
        labels,
        law,
        host,
        cache_mode,
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
            law.map(words::law),
            host,
            cache_mode.map(words::cache_mode),
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
        starts,
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
            (!starts.is_empty()).then(|| json(starts)).transpose()?,
        ],
    )
}

fn interval(rows: &Rows, interval: &Interval) -> Outcome<()> {
    let place = [Value::from(rows.event)];
    rows.add_values(
        &schema::INTERVALS,
        place.into_iter().chain(interval_row(interval)),
    )?;
    parts(rows, interval)?;
    for (index, stream) in interval.engine.streams.iter().enumerate() {
        if let Some(handover) = &stream.handover {
            add_handover(rows, interval.run, interval.number, index, handover)?;
        }
    }
    Ok(())
}

/// The row of an interval after the number of its event.
fn interval_row(interval: &Interval) -> impl Iterator<Item = Value> {
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
        lost,
        within: _,
    } = interval;
    let EngineSample {
        streams: _,
        pools: _,
        workers,
        oldest_in_flight_ns,
        in_flight,
        hosts: _,
    } = engine;
    let number_of = |value: &u64| Value::from(whole(*value));
    let mut row = vec![Value::from(*run), Value::from(*number)];
    row.extend([start_ns, end_ns, unix_ns].map(number_of));
    row.push(Value::from(words::phase(*phase).to_owned()));
    row.extend([Value::from(*in_flight), number_of(oldest_in_flight_ns)]);
    row.extend(worker_row(workers));
    row.push(Value::from(place(figures.len())));
    let is_of_several = engine.is_of_several();
    let told_by = is_of_several.then(|| place(engine.told_by()));
    row.push(Value::from(told_by));
    row.extend(sums(interval));
    let cpu = host.cpu.as_ref().filter(|_| !lost.cpu);
    for of in [CpuTimes::busy_ns, CpuTimes::total_ns] {
        row.push(Value::from(cpu.map(|cpu| whole(of(cpu)))));
    }
    row.extend(latencies_of_all(interval));
    row.into_iter()
}

fn worker_row(workers: &WorkerSample) -> Vec<Value> {
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
    let ThreadUsage {
        user_ns,
        system_ns,
        context_switches,
        minor_faults,
        major_faults,
        cpu_wait_ns,
    } = usage;
    let mut row = vec![Value::from(*workers)];
    let numbers = [
        cpu_ns,
        submit_calls,
        submit_ns,
        reaps,
        reap_gap_sum_ns,
        reap_gap_max_ns,
        wakeups,
        clamped,
        user_ns,
        system_ns,
        context_switches,
        minor_faults,
        major_faults,
    ];
    row.extend(numbers.map(|number| Value::from(whole(*number))));
    row.push(Value::from(whole_or_null(*cpu_wait_ns)));
    row
}

/// What an interval adds up to over streams, pools and targets, without syncs.
fn sums(interval: &Interval) -> Vec<Value> {
    let (streams, pools) = (&interval.engine.streams, &interval.engine.pools);
    let counted = || {
        interval
            .figures
            .iter()
            .filter(|one| !one.key.operation.is_sync())
    };
    let (mut sums, mut told) = ([0_u64; 9], [true; 9]);
    (told[6], told[7], told[8]) = (
        !interval.lost.slots,
        !interval.lost.slots,
        !interval.lost.slots,
    );
    let mut add = |place: usize, value: u64| sums[place] = sums[place].saturating_add(value);
    for figure in counted() {
        add(0, figure.operations);
        add(1, figure.bytes);
    }
    interval.figures.iter().for_each(|one| add(2, one.errors));
    for stream in streams {
        add(3, stream.scheduled);
        add(4, stream.submitted);
        add(5, stream.backlog);
    }
    for pool in pools {
        add(6, pool.slots.into());
        add(7, pool.busy_ns);
        add(8, pool.exhausted_ns);
    }
    let values = sums.into_iter().zip(told);
    values
        .map(|(sum, told)| Value::from(told.then(|| whole(sum))))
        .collect()
}

/// Sums, maxima and percentiles of service and response over all figures but syncs.
fn latencies_of_all(interval: &Interval) -> Vec<Value> {
    let mut row = Vec::new();
    for all in [interval.service(), interval.response()] {
        row.extend([all.sum_ns, all.max_ns].map(|ns| Value::from(whole(ns))));
        row.extend(percentiles(&all));
    }
    row
}

fn percentiles(figures: &LatencyFigures) -> [Value; 4] {
    let told = figures.kept_percentiles_ns();
    std::array::from_fn(|place| Value::from(told.map(|kept| whole(kept[place]))))
}

/// Figures and samples of an interval or a span.
fn parts(rows: &Rows, interval: &Interval) -> Outcome<()> {
    for (index, one) in interval.figures.iter().enumerate() {
        figure(rows, index, one)?;
    }
    for host in sample::hosts(interval) {
        let (row, histograms) = sample::pack(interval, host)?;
        let place = [Value::from(rows.event), Value::from(host)];
        rows.add_values(&schema::SAMPLES, place.into_iter().chain(row))?;
        for (kind, index, code) in histograms {
            let values = params![rows.event, host, kind, self::place(index), code];
            rows.add(&schema::SAMPLE_HISTOGRAMS, values)?;
        }
    }
    for (host, sample) in sample::machines(interval) {
        let place = [Value::from(rows.event), Value::from(host)];
        let row = sample::machine_row(sample)?;
        rows.add_values(&schema::MACHINE_SAMPLES, place.into_iter().chain(row))?;
    }
    Ok(())
}

fn figure(rows: &Rows, index: usize, figure: &Figure) -> Outcome<()> {
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
    let apart = (response != service).then_some(response);
    let histogram = apart.filter(|response| response.histogram != service.histogram);
    let mut row = vec![Value::from(rows.event), Value::from(place(index))];
    row.extend([
        Value::from(0),
        Value::from(key.stream.0),
        Value::from(key.target.0),
        Value::from(operation_number(key.operation)),
    ]);
    let counts = [
        operations,
        bytes,
        errors,
        short_transfers,
        &service.sum_ns,
        &service.max_ns,
    ];
    row.extend(counts.map(|count| Value::from(whole(*count))));
    row.extend(percentiles(service));
    row.push(Value::from(apart.map(|response| whole(response.sum_ns))));
    row.push(Value::from(apart.map(|response| whole(response.max_ns))));
    match apart {
        Some(response) => row.extend(percentiles(response)),
        None => row.extend([const { Value::Null }; 4]),
    }
    row.push(Value::from(pack(&service.histogram)?));
    let histogram = histogram.map(|one| pack(&one.histogram)).transpose()?;
    row.push(Value::from(histogram));
    rows.add_values(&schema::COUNTS, row.into_iter())
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
            // Its figures are those above.
            sample: _,
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
        host,
        worker,
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
            host,
            worker,
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
