//! Intervals as files up to the ninth layout have them: a table for each part.
use crate::encode::{self, Rows, add_handover, place, whole, whole_or_null};
use crate::error::Outcome;
use crate::latency::pack;
use crate::schema::{self, operation_number};
use crate::words;
use measure::{
    DeviceSample, EngineSample, Event, Figure, HostSample, Interval, LatencyFigures, PoolSample,
    StreamSample, ThreadUsage, WorkerSample,
};
use rusqlite::params;
use std::path::Path;

/// A file of an earlier layout.
pub(super) fn write(path: &Path, version: u32, events: &[Event]) {
    let connection = rusqlite::Connection::open(path).unwrap();
    schema::create_all(&connection).unwrap();
    connection
        .pragma_update(None, "application_id", schema::APPLICATION_ID)
        .unwrap();
    connection
        .pragma_update(None, "user_version", version)
        .unwrap();
    for event in events {
        match event {
            Event::Interval(one) => {
                interval(&Rows::begin(&connection, "interval").unwrap(), one).unwrap();
            }
            other => encode::insert(&connection, other).unwrap(),
        }
    }
}

fn insert_interval() -> String {
    let columns = schema::INTERVALS.columns[..18].iter();
    let columns: Vec<&str> = columns.map(|(name, _)| *name).collect();
    let places = ["?"; 18].join(", ");
    let columns = columns.join(", ");
    format!("INSERT INTO intervals ({columns}) VALUES ({places})")
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
        ..
    } = interval;
    let EngineSample {
        streams,
        pools,
        workers,
        oldest_in_flight_ns,
        in_flight,
        ..
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
    let sql = insert_interval();
    rows.connection.execute(
        &sql,
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
        ..
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
        cpu_wait_ns: _,
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
        ],
    )
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
        ..
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
    let DeviceSample {
        device, counters, ..
    } = sample;
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
