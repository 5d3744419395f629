//! What streams, pools, workers, targets, devices and interfaces tell of an interval, as one row for each host, and what a
//! machine as a whole did, as another. Both directions stand side by side, so that they cannot disagree.
use crate::columns::{self, Row};
use crate::error::{Outcome, Problem};
use crate::latency;
use measure::{
    CpuTimes, DeviceCounters, DeviceSample, Gap, Histogram, HostEvidence, HostSample, Interval,
    LatencyFigures, LostParts, MountSample, NetworkSample, Pause, PoolSample, Pressure,
    SampledReads, SlowResponse, StillTimes, StreamSample, StreamSpan, TargetEvidence,
    WorkerEvidence,
};
use plan::{StreamId, TargetId};
use rusqlite::types::Value;
use std::collections::BTreeMap;

/// What is added up over intervals: as much as no interval has would overflow the sums (64 PiB).
pub(crate) const AMOUNT_MAX: u64 = 1 << 56;

/// The host that tells of streams, pools and devices.
const FIRST: u32 = 0;

/// The hosts that an interval has something of; the first in any case.
pub(crate) fn hosts(interval: &Interval) -> Vec<u32> {
    let others = interval.engine.hosts.iter().map(|host| host.host);
    let mut hosts: Vec<u32> = std::iter::once(FIRST).chain(others).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// What each host did, by its place: of several each its own, of which that of all is the sum.
pub(crate) fn machines(interval: &Interval) -> Vec<(u32, &HostSample)> {
    let engine = &interval.engine;
    match engine.is_of_several() {
        true => {
            let hosts = engine.hosts.iter();
            let told = hosts.filter_map(|one| Some((one.host, one.sample.as_ref()?)));
            told.collect()
        }
        false if interval.lost.cpu => Vec::new(),
        false => vec![(FIRST, &interval.host)],
    }
}

/// The row of one host after event and host, and its histograms.
pub(crate) fn pack(interval: &Interval, host: u32) -> Outcome<(Vec<Value>, Packings)> {
    let engine = &interval.engine;
    let is_first = host == FIRST;
    let streams: &[StreamSample] = match is_first && !interval.lost.arrivals {
        true => &engine.streams,
        false => &[],
    };
    let pools: &[PoolSample] = match is_first && !interval.lost.slots {
        true => &engine.pools,
        false => &[],
    };
    let evidence = engine.hosts.iter().find(|one| one.host == host);
    let nothing = HostEvidence::default();
    let evidence = evidence.unwrap_or(&nothing);
    let mut row = vec![
        Value::from(columns::pack(&all(streams, stream_row))),
        Value::from(columns::pack(&all(pools, pool_row))),
        Value::from(columns::pack(&all(&evidence.workers, worker_row))),
        Value::from(columns::pack(&all(&evidence.targets, target_row))),
        Value::from(columns::pack(&all(&evidence.gaps, gap_row))),
        Value::from(columns::pack(&all(&evidence.slow, slow_row))),
    ];
    row.extend(of_machine(match engine.is_of_several() {
        true => evidence.sample.as_ref(),
        false => Some(&interval.host).filter(|_| is_first && !interval.lost.devices),
    })?);
    let histograms = histograms_of(streams, &evidence.workers)?;
    row.push(Value::from(histograms.len() as i64));
    row.push(Value::from(columns::pack(&all(
        &evidence.pauses,
        pause_row,
    ))));
    Ok((row, histograms))
}

/// Kind, place and code of each histogram that is not empty.
pub(crate) type Packings = Vec<(&'static str, usize, Vec<u8>)>;

/// What histograms are of.
const KINDS: [&str; 5] = [
    "lateness",
    "free_lateness",
    "unserved_age",
    "loop_lag",
    "reap_gap",
];

fn histograms_of(streams: &[StreamSample], workers: &[WorkerEvidence]) -> Outcome<Packings> {
    let mut packings = Packings::new();
    let mut add = |kind: usize, place: usize, figures: Option<&LatencyFigures>| {
        if let Some(figures) = figures.filter(|one| !one.histogram.is_empty()) {
            packings.push((KINDS[kind], place, latency::pack(&figures.histogram)?));
        }
        Ok::<(), Problem>(())
    };
    for (place, stream) in streams.iter().enumerate() {
        add(0, place, Some(&stream.lateness))?;
        add(1, place, stream.free_lateness.as_ref())?;
        add(2, place, Some(&stream.unserved))?;
    }
    for (place, worker) in workers.iter().enumerate() {
        add(3, place, worker.loop_lag.as_ref())?;
        add(4, place, worker.reap_gap.as_ref())?;
    }
    Ok(packings)
}

/// One row of `sample_histograms` after the event.
pub(crate) struct OneHistogram {
    pub(crate) host: u32,
    pub(crate) kind: String,
    pub(crate) place: u32,
    pub(crate) code: Vec<u8>,
}

/// The histograms of a kind, one for each row of numbers.
fn of_kind(found: &[OneHistogram], kind: usize, rows: usize) -> Outcome<Vec<Histogram>> {
    let mut all = vec![Histogram::default(); rows];
    for one in found.iter().filter(|one| one.kind == KINDS[kind]) {
        let place = all.get_mut(one.place as usize);
        let outside = || Problem::Damaged("a histogram of nothing in `samples`".to_owned());
        *place.ok_or_else(outside)? = latency::unpack(&one.code)?;
    }
    Ok(all)
}

fn of_machine(sample: Option<&HostSample>) -> Outcome<Vec<Value>> {
    let Some(sample) = sample else {
        return Ok(vec![Value::Null; 7]);
    };
    let (devices, networks, mounts) = (&sample.devices, &sample.networks, &sample.mounts);
    let states: Vec<&Option<String>> = devices.iter().map(|one| &one.state).collect();
    let states = states.iter().any(|state| state.is_some()).then_some(states);
    Ok(vec![
        names(devices.iter().map(|one| &one.device))?,
        Value::from(states.map(|states| text(&states)).transpose()?),
        Value::from(columns::pack(&all(devices, device_row))),
        names(networks.iter().map(|one| &one.interface))?,
        Value::from(columns::pack(&all(networks, network_row))),
        names(mounts.iter().map(|one| &one.point))?,
        Value::from(columns::pack(&all(mounts, mount_row))),
    ])
}

/// A list of names as JSON; nothing for none, which is told as an empty list.
fn names<'a>(names: impl Iterator<Item = &'a String>) -> Outcome<Value> {
    Ok(Value::from(text(&names.collect::<Vec<_>>())?))
}

fn text<T: serde::Serialize>(value: &T) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| Problem::Unrepresentable(error.to_string()))
}

fn all<T, const N: usize>(things: &[T], row: fn(&T) -> Row<N>) -> Vec<Row<N>> {
    things.iter().map(row).collect()
}

/// The columns of a row of `samples` after event and host, as they are read.
pub(crate) struct Packed {
    pub(crate) host: u32,
    pub(crate) blobs: [Option<Vec<u8>>; 10],
    pub(crate) texts: [Option<String>; 4],
    pub(crate) histograms: u64,
}

/// Puts the row of a host into an interval; gives what its devices, interfaces and mounts counted, where that is told.
pub(crate) fn unpack(
    packed: Packed,
    histograms: &[OneHistogram],
    interval: &mut Interval,
) -> Outcome<Option<HostSample>> {
    let Packed {
        host,
        blobs,
        texts,
        histograms: count,
    } = packed;
    if histograms.len() as u64 != count {
        let message = "histograms of a sample are missing".to_owned();
        return Err(Problem::Damaged(message));
    }
    let [
        streams,
        pools,
        workers,
        targets,
        gaps,
        slow,
        devices,
        networks,
        mounts,
        pauses,
    ] = blobs;
    let [device_names, device_states, network_names, mount_names] = texts;
    let engine = &mut interval.engine;
    if host == FIRST {
        let rows = columns::unpack(streams)?;
        engine.streams = read_streams(&rows, histograms)?;
        engine.pools = read_all(columns::unpack(pools)?, read_pool)?;
    }
    let is_told = device_names.is_some();
    let sample = HostSample {
        devices: read_devices(device_names, device_states, columns::unpack(devices)?)?,
        networks: read_networks(network_names, columns::unpack(networks)?)?,
        mounts: read_mounts(mount_names, columns::unpack(mounts)?)?,
        ..HostSample::default()
    };
    let evidence = HostEvidence {
        host,
        workers: read_workers(&columns::unpack(workers)?, histograms)?,
        targets: read_all(columns::unpack(targets)?, read_target)?,
        gaps: read_all(columns::unpack(gaps)?, read_gap)?,
        slow: read_all(columns::unpack(slow)?, read_slow)?,
        pauses: read_all(columns::unpack(pauses)?, read_pause)?,
        sample: None,
    };
    engine.hosts.push(evidence);
    Ok(is_told.then_some(sample))
}

/// Puts together what hosts did: what they are as a whole, and what their devices counted. `told_by` is how many of
/// several told; the first has a row in any case.
pub(crate) fn gather(
    interval: &mut Interval,
    told_by: Option<u32>,
    mut machines: BTreeMap<u32, HostSample>,
    mut devices: BTreeMap<u32, HostSample>,
) {
    let hosts = &mut interval.engine.hosts;
    let Some(told_by) = told_by else {
        hosts.retain(|one| *one != nothing_of(one.host));
        let (whole, told) = (machines.remove(&FIRST), devices.remove(&FIRST));
        interval.lost.cpu = whole.is_none();
        interval.lost.devices = told.is_none();
        interval.host = with_devices(whole.unwrap_or_default(), told);
        return;
    };
    let is_first_silent = hosts.len() > told_by as usize;
    hosts.retain(|one| one.host != FIRST || !is_first_silent);
    let rowless = |host: &&u32| hosts.iter().all(|one| one.host != **host);
    let rowless: Vec<u32> = machines.keys().filter(rowless).copied().collect();
    hosts.extend(rowless.into_iter().map(nothing_of));
    hosts.sort_by_key(|one| one.host);
    let is_whole = hosts.len() == told_by as usize;
    interval.lost.devices |= !is_whole;
    for one in hosts.iter_mut() {
        let own = devices.remove(&one.host);
        interval.lost.devices |= own.is_none();
        let whole = machines.remove(&one.host);
        one.sample = whole.map(|whole| with_devices(whole, own));
    }
    let whole = HostEvidence::together(hosts).filter(|_| is_whole);
    interval.lost.cpu = whole.is_none();
    interval.host = whole.unwrap_or_default();
}

fn nothing_of(host: u32) -> HostEvidence {
    HostEvidence {
        host,
        ..HostEvidence::default()
    }
}

fn with_devices(whole: HostSample, own: Option<HostSample>) -> HostSample {
    let own = own.unwrap_or_default();
    HostSample {
        devices: own.devices,
        networks: own.networks,
        mounts: own.mounts,
        ..whole
    }
}

/// What is absent where a host has no row.
pub(crate) fn without_samples(lost: &mut LostParts) {
    lost.arrivals = true;
    lost.slots = true;
    lost.devices = true;
}

fn read_all<T, const N: usize>(
    rows: Vec<Row<N>>,
    read: fn(Row<N>) -> Outcome<T>,
) -> Outcome<Vec<T>> {
    rows.into_iter().map(read).collect()
}

fn read_list<T: serde::de::DeserializeOwned>(text: Option<String>) -> Outcome<Vec<T>> {
    let read = text.map_or(Ok(Vec::new()), |text| serde_json::from_str(&text));
    read.map_err(|error| Problem::Damaged(format!("names in `samples`: {error}")))
}

/// A number that has to be there.
fn told(number: Option<u64>) -> Outcome<u64> {
    number.ok_or_else(|| Problem::Damaged("a number in `samples` is missing".to_owned()))
}

fn small(number: Option<u64>) -> Outcome<u32> {
    u32::try_from(told(number)?).map_err(|_| too_large())
}

fn small_or_none(number: Option<u64>) -> Outcome<Option<u32>> {
    number.map(|number| small(Some(number))).transpose()
}

fn amount(number: Option<u64>) -> Outcome<u64> {
    amount_or_none(Some(told(number)?)).map(Option::unwrap_or_default)
}

fn amount_or_none(number: Option<u64>) -> Outcome<Option<u64>> {
    match number {
        Some(number) if number > AMOUNT_MAX => Err(too_large()),
        number => Ok(number),
    }
}

fn too_large() -> Problem {
    Problem::Damaged("a number in `samples` is too large".to_owned())
}

fn figures(
    sum_ns: Option<u64>,
    max_ns: Option<u64>,
    histogram: Histogram,
) -> Option<LatencyFigures> {
    Some(LatencyFigures {
        sum_ns: sum_ns?,
        max_ns: max_ns?,
        histogram,
    })
}

fn stream_row(sample: &StreamSample) -> Row<12> {
    let StreamSample {
        scheduled,
        submitted,
        backlog,
        lateness,
        free_lateness,
        unserved,
        handover: _,
        span,
        depth,
    } = sample;
    let free = free_lateness.as_ref();
    [
        Some(*scheduled),
        Some(*submitted),
        Some(*backlog),
        Some(lateness.sum_ns),
        Some(lateness.max_ns),
        free.map(|one| one.sum_ns),
        free.map(|one| one.max_ns),
        Some(unserved.sum_ns),
        Some(unserved.max_ns),
        span.map(|span| span.from_ns),
        span.and_then(|span| span.to_ns),
        depth.map(u64::from),
    ]
}

fn read_streams(rows: &[Row<12>], histograms: &[OneHistogram]) -> Outcome<Vec<StreamSample>> {
    let of = |kind: usize| of_kind(histograms, kind, rows.len());
    let histograms = of(0)?.into_iter().zip(of(1)?).zip(of(2)?);
    let stream =
        |(row, ((lateness, free), unserved)): (&Row<12>, ((Histogram, Histogram), Histogram))| {
            Ok(StreamSample {
                scheduled: amount(row[0])?,
                submitted: amount(row[1])?,
                backlog: amount(row[2])?,
                lateness: LatencyFigures {
                    sum_ns: told(row[3])?,
                    max_ns: told(row[4])?,
                    histogram: lateness,
                },
                free_lateness: figures(row[5], row[6], free),
                unserved: LatencyFigures {
                    sum_ns: told(row[7])?,
                    max_ns: told(row[8])?,
                    histogram: unserved,
                },
                handover: None,
                span: row[9].map(|from_ns| StreamSpan {
                    from_ns,
                    to_ns: row[10],
                }),
                depth: small_or_none(row[11])?,
            })
        };
    rows.iter().zip(histograms).map(stream).collect()
}

fn pool_row(sample: &PoolSample) -> Row<3> {
    let PoolSample {
        slots,
        busy_ns,
        exhausted_ns,
    } = sample;
    [Some(u64::from(*slots)), Some(*busy_ns), Some(*exhausted_ns)]
}

fn read_pool([slots, busy_ns, exhausted_ns]: Row<3>) -> Outcome<PoolSample> {
    Ok(PoolSample {
        slots: small(slots)?,
        busy_ns: amount(busy_ns)?,
        exhausted_ns: amount(exhausted_ns)?,
    })
}

fn worker_row(worker: &WorkerEvidence) -> Row<7> {
    let WorkerEvidence {
        worker,
        cpu_ns,
        run_queue_ns,
        loop_lag,
        reap_gap,
    } = worker;
    let sum = |of: &Option<LatencyFigures>| of.as_ref().map(|one| one.sum_ns);
    let max = |of: &Option<LatencyFigures>| of.as_ref().map(|one| one.max_ns);
    [
        Some(u64::from(*worker)),
        *cpu_ns,
        *run_queue_ns,
        sum(loop_lag),
        max(loop_lag),
        sum(reap_gap),
        max(reap_gap),
    ]
}

fn read_workers(rows: &[Row<7>], histograms: &[OneHistogram]) -> Outcome<Vec<WorkerEvidence>> {
    let of = |kind: usize| of_kind(histograms, kind, rows.len());
    let histograms = of(3)?.into_iter().zip(of(4)?);
    let worker = |(row, (lag, gap)): (&Row<7>, (Histogram, Histogram))| {
        Ok(WorkerEvidence {
            worker: small(row[0])?,
            cpu_ns: row[1],
            run_queue_ns: row[2],
            loop_lag: figures(row[3], row[4], lag),
            reap_gap: figures(row[5], row[6], gap),
        })
    };
    rows.iter().zip(histograms).map(worker).collect()
}

fn target_row(one: &TargetEvidence) -> Row<7> {
    let TargetEvidence {
        target,
        in_flight,
        oldest_ns,
        sampled,
        still,
    } = one;
    let is_still = still.count > 0;
    let is_sampled = sampled.reads > 0;
    [
        Some(u64::from(target.0)),
        in_flight.map(u64::from),
        *oldest_ns,
        is_sampled.then_some(sampled.reads),
        is_sampled.then_some(sampled.zeros),
        is_still.then_some(still.count),
        is_still.then_some(still.sum_ns),
    ]
}

fn read_target(
    [target, in_flight, oldest_ns, reads, zeros, count, sum_ns]: Row<7>,
) -> Outcome<TargetEvidence> {
    Ok(TargetEvidence {
        target: TargetId(small(target)?),
        in_flight: small_or_none(in_flight)?,
        oldest_ns,
        sampled: SampledReads {
            reads: reads.unwrap_or(0),
            zeros: zeros.unwrap_or(0),
        },
        still: StillTimes {
            count: count.unwrap_or(0),
            sum_ns: sum_ns.unwrap_or(0),
        },
    })
}

fn gap_row(gap: &Gap) -> Row<3> {
    let Gap {
        target,
        from_ns,
        to_ns,
    } = gap;
    [Some(u64::from(target.0)), Some(*from_ns), Some(*to_ns)]
}

fn read_gap([target, from_ns, to_ns]: Row<3>) -> Outcome<Gap> {
    Ok(Gap {
        target: TargetId(small(target)?),
        from_ns: told(from_ns)?,
        to_ns: told(to_ns)?,
    })
}

fn slow_row(slow: &SlowResponse) -> Row<4> {
    let SlowResponse {
        stream,
        target,
        due_ns,
        response_ns,
    } = slow;
    [
        Some(u64::from(stream.0)),
        Some(u64::from(target.0)),
        Some(*due_ns),
        Some(*response_ns),
    ]
}

fn read_slow([stream, target, due_ns, response_ns]: Row<4>) -> Outcome<SlowResponse> {
    Ok(SlowResponse {
        stream: StreamId(small(stream)?),
        target: TargetId(small(target)?),
        due_ns: told(due_ns)?,
        response_ns: told(response_ns)?,
    })
}

fn pause_row(pause: &Pause) -> Row<2> {
    let Pause { from_ns, to_ns } = pause;
    [Some(*from_ns), Some(*to_ns)]
}

fn read_pause([from_ns, to_ns]: Row<2>) -> Outcome<Pause> {
    Ok(Pause {
        from_ns: told(from_ns)?,
        to_ns: told(to_ns)?,
    })
}

fn device_row(sample: &DeviceSample) -> Row<13> {
    let DeviceCounters {
        reads,
        read_bytes,
        read_ns,
        writes,
        written_bytes,
        write_ns,
        discards,
        flushes,
        busy_ns,
        weighted_ns,
        read_merges,
        write_merges,
    } = sample.counters;
    let [a, b, c, d, e, f, g, h, i, j, k, l] = [
        reads,
        read_bytes,
        read_ns,
        writes,
        written_bytes,
        write_ns,
        discards,
        flushes,
        busy_ns,
        weighted_ns,
        read_merges,
        write_merges,
    ]
    .map(Some);
    [a, b, c, d, e, f, g, h, i, j, k, l, sample.in_flight]
}

fn read_devices(
    names: Option<String>,
    states: Option<String>,
    rows: Vec<Row<13>>,
) -> Outcome<Vec<DeviceSample>> {
    let states: Vec<Option<String>> = read_list(states)?;
    let states = states.into_iter().chain(std::iter::repeat(None));
    let device = |((device, row), state): ((String, Row<13>), Option<String>)| {
        let counters = DeviceCounters {
            reads: amount(row[0])?,
            read_bytes: amount(row[1])?,
            read_ns: amount(row[2])?,
            writes: amount(row[3])?,
            written_bytes: amount(row[4])?,
            write_ns: amount(row[5])?,
            discards: amount(row[6])?,
            flushes: amount(row[7])?,
            busy_ns: amount(row[8])?,
            weighted_ns: amount(row[9])?,
            read_merges: amount(row[10])?,
            write_merges: amount(row[11])?,
        };
        Ok(DeviceSample {
            device,
            counters,
            in_flight: row[12],
            state,
        })
    };
    named(names, rows)?.zip(states).map(device).collect()
}

/// Rows with their names.
fn named<const N: usize>(
    names: Option<String>,
    rows: Vec<Row<N>>,
) -> Outcome<impl Iterator<Item = (String, Row<N>)>> {
    let names: Vec<String> = read_list(names)?;
    match names.len() == rows.len() {
        true => Ok(names.into_iter().zip(rows)),
        false => Err(Problem::Damaged(
            "names in `samples` are missing".to_owned(),
        )),
    }
}

fn network_row(sample: &NetworkSample) -> Row<5> {
    let NetworkSample {
        interface: _,
        received_bytes,
        sent_bytes,
        received_drops,
        sent_drops,
        speed_mbit,
    } = sample;
    [
        *received_bytes,
        *sent_bytes,
        *received_drops,
        *sent_drops,
        *speed_mbit,
    ]
}

fn read_networks(names: Option<String>, rows: Vec<Row<5>>) -> Outcome<Vec<NetworkSample>> {
    let network = |(interface, row): (String, Row<5>)| {
        Ok(NetworkSample {
            interface,
            received_bytes: amount_or_none(row[0])?,
            sent_bytes: amount_or_none(row[1])?,
            received_drops: amount_or_none(row[2])?,
            sent_drops: amount_or_none(row[3])?,
            speed_mbit: row[4],
        })
    };
    named(names, rows)?.map(network).collect()
}

fn mount_row(sample: &MountSample) -> Row<6> {
    let MountSample {
        point: _,
        read_bytes,
        written_bytes,
        server_read_bytes,
        server_written_bytes,
        operations,
        retransmits,
    } = sample;
    [
        *read_bytes,
        *written_bytes,
        *server_read_bytes,
        *server_written_bytes,
        *operations,
        *retransmits,
    ]
}

fn read_mounts(names: Option<String>, rows: Vec<Row<6>>) -> Outcome<Vec<MountSample>> {
    let mount = |(point, row): (String, Row<6>)| {
        Ok(MountSample {
            point,
            read_bytes: amount_or_none(row[0])?,
            written_bytes: amount_or_none(row[1])?,
            server_read_bytes: amount_or_none(row[2])?,
            server_written_bytes: amount_or_none(row[3])?,
            operations: amount_or_none(row[4])?,
            retransmits: amount_or_none(row[5])?,
        })
    };
    named(names, rows)?.map(mount).collect()
}

/// The row of `machine_samples` after event and host.
pub(crate) fn machine_row(sample: &HostSample) -> Outcome<Vec<Value>> {
    let HostSample {
        cpu,
        fathom_user_ns,
        fathom_system_ns,
        fathom_memory_bytes,
        fathom_read_bytes,
        fathom_written_bytes,
        throttled_ns,
        throttled_periods,
        devices: _,
        busiest_softirq_ns,
        pressure,
        io_max,
        temperature_mc,
        tcp_sent,
        tcp_retransmits,
        networks: _,
        mounts: _,
    } = sample;
    let cpu = |of: fn(&CpuTimes) -> u64| cpu.as_ref().map(of);
    let numbers = [
        cpu(|times| times.user_ns),
        cpu(|times| times.nice_ns),
        cpu(|times| times.system_ns),
        cpu(|times| times.idle_ns),
        cpu(|times| times.io_wait_ns),
        cpu(|times| times.irq_ns),
        cpu(|times| times.softirq_ns),
        cpu(|times| times.steal_ns),
        Some(*fathom_user_ns),
        Some(*fathom_system_ns),
        Some(*fathom_memory_bytes),
        *throttled_ns,
        *throttled_periods,
        *busiest_softirq_ns,
        pressure.cpu_some_ns,
        pressure.io_some_ns,
        pressure.io_full_ns,
        pressure.memory_some_ns,
        pressure.memory_full_ns,
    ];
    let value = |number: Option<u64>| Value::from(number.map(u64::cast_signed));
    let mut row: Vec<Value> = numbers.into_iter().map(value).collect();
    let limits = (!io_max.is_empty()).then(|| text(io_max)).transpose()?;
    row.push(Value::from(limits));
    let rest = [
        *temperature_mc,
        *tcp_sent,
        *tcp_retransmits,
        *fathom_read_bytes,
        *fathom_written_bytes,
    ];
    row.extend(rest.map(value));
    Ok(row)
}

/// The sample that [`machine_row`] made these of: numbers in their order, and the limit.
pub(crate) fn machine(numbers: [Option<u64>; 24], io_max: Option<String>) -> Outcome<HostSample> {
    for number in numbers {
        amount_or_none(number)?;
    }
    let all: Option<Vec<u64>> = numbers[..8].iter().copied().collect();
    Ok(HostSample {
        cpu: all.map(|all| CpuTimes {
            user_ns: all[0],
            nice_ns: all[1],
            system_ns: all[2],
            idle_ns: all[3],
            io_wait_ns: all[4],
            irq_ns: all[5],
            softirq_ns: all[6],
            steal_ns: all[7],
        }),
        fathom_user_ns: told(numbers[8])?,
        fathom_system_ns: told(numbers[9])?,
        fathom_memory_bytes: told(numbers[10])?,
        throttled_ns: numbers[11],
        throttled_periods: numbers[12],
        busiest_softirq_ns: numbers[13],
        pressure: Pressure {
            cpu_some_ns: numbers[14],
            io_some_ns: numbers[15],
            io_full_ns: numbers[16],
            memory_some_ns: numbers[17],
            memory_full_ns: numbers[18],
        },
        io_max: read_list(io_max)?,
        temperature_mc: numbers[19],
        tcp_sent: numbers[20],
        tcp_retransmits: numbers[21],
        fathom_read_bytes: numbers[22],
        fathom_written_bytes: numbers[23],
        ..HostSample::default()
    })
}
