//! What a job says about checking data.
use super::codes;
use super::forms::{self, Pattern};
use super::jobs::Job;
use super::record::Record;
use crate::environment::Files;
use crate::sink::Sink;
use plan::{
    AddressOrder, AlignRule, ArrivalLaw, Backlog, Check, CheckMethod, Coupling, Discards, Flow,
    Following, Generator, Label, Load, LocalStop, Nanos, OpSource, OperationMix, Origin, Pacing,
    PerDirection, PoolId, RunKind, RunSpec, RunStop, RunTemplate, StepPattern, Steps, TemplateId,
    Timing, Tolerance, TransferSizes, Window,
};

/// What the runs and streams that read back are labelled with.
const CHECK_LABEL: (&str, &str) = ("phase", "check");

/// How a job checks its data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Verify {
    /// Without the number of its pattern, which the plan gives.
    pub check: Check,
    pub pattern: Option<Pattern>,
    pub phase: Phase,
}

/// What of it the job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Reads what is there and checks it; writes nothing.
    Reads,
    /// Writes so that others can check.
    Writes,
    /// Writes, and reads everything back behind that.
    WritesAndReadsBack,
}

/// What a job does, as far as its checks depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked {
    writes: bool,
    smallest: u64,
    /// Every transfer is a multiple, and of a record every address too.
    grain: u64,
    places: Places,
}

/// Where the transfers of a job may begin, apart from behind one another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    /// Every place is a multiple of this and of what is transferred.
    multiple: u64,
    /// Counted from the end, too.
    from_end: bool,
}

impl Places {
    pub(crate) fn of(align: AlignRule, steps: Option<&Steps>) -> Self {
        let aligned = align.bytes().into_iter().fold(0, common_divisor);
        let step = match steps.map(|steps| &steps.pattern) {
            Some(StepPattern::Gap { bytes, .. }) => bytes.unsigned_abs(),
            Some(StepPattern::Zones {
                zone_bytes,
                skip_bytes,
                ..
            }) => zone_bytes.saturating_add(*skip_bytes),
            Some(StepPattern::Bursts { .. }) | None => 0,
        };
        let pattern = steps.map(|steps| &steps.pattern);
        Self {
            multiple: common_divisor(aligned, step),
            from_end: matches!(pattern, Some(StepPattern::Gap { bytes: ..0, .. })),
        }
    }
}

impl Checked {
    pub(crate) fn of(
        operations: &OperationMix,
        (transfer, following): (&PerDirection<TransferSizes>, &Following),
        records: &[Record],
        places: Places,
    ) -> Self {
        if !records.is_empty() {
            let replays = || records.iter().map(|record| &record.replay);
            let grains = replays().map(|replay| replay.grain_bytes);
            let grain = grains.fold(0, common_divisor);
            return Self {
                writes: replays().any(|replay| replay.envelope.operations.write_pct > 0.0),
                smallest: grain,
                grain,
                places: Places::default(),
            };
        }
        let sizes = [
            (operations.read_pct, &transfer.read),
            (operations.write_pct, &transfer.write),
        ];
        let used = || {
            let drawn = sizes.iter().filter(|(pct, _)| *pct > 0.0);
            drawn.map(|(_, sizes)| *sizes).chain(&following.sizes)
        };
        let smallest = used().map(TransferSizes::smallest).min();
        let grains = used().map(TransferSizes::grain);
        Self {
            writes: operations.write_pct > 0.0,
            smallest: smallest.unwrap_or(4096).max(1),
            grain: grains.fold(0, common_divisor),
            places,
        }
    }

    /// Bytes with a header of their own: no more than the smallest transfer, and every transfer is a
    /// multiple.
    fn block(self, job: &Job) -> u64 {
        let asked = job.number("verify_interval").filter(|bytes| *bytes > 0);
        let asked = asked.map_or(self.smallest, |bytes| (bytes as u64).min(self.smallest));
        common_divisor(asked, self.grain)
    }
}

impl Verify {
    /// Where nothing is stored, reads are made as asked and there is nothing to compare.
    pub(crate) fn of_nothing(self) -> Self {
        let check = Check {
            method: CheckMethod::Nothing,
            header_at: 0,
            saves: false,
            ..self.check
        };
        Self { check, ..self }
    }
}

/// Whether the header fits into a block, apart from the bytes that it is swapped with.
fn header_has_room(job: &Job, (at, bytes): (u64, u64), block_bytes: u64, sink: &mut Sink) -> bool {
    let option = if at > 0 { "verify_offset" } else { "verify" };
    let (message, label, help) = match () {
        () if at > 0 && at < bytes => (
            format!("a header of {bytes} bytes cannot begin at {at}, within its own length"),
            "would overlap the bytes that it is swapped with",
            format!("use 0, or {bytes} and more"),
        ),
        () if at + bytes > block_bytes => (
            format!(
                "a header of {bytes} bytes at {at} does not fit into a block of {block_bytes} bytes"
            ),
            "has no room",
            "use larger blocks (`bs`, `verify_interval`), or a place nearer to their start"
                .to_owned(),
        ),
        () => return true,
    };
    let place = job.place_of(option);
    sink.error(codes::OUT_OF_RANGE, place, message, label, help);
    false
}

/// The word of `verify`. A pattern without it is checked after a header; fio 3.33 does so and has no word for it.
fn asked(job: &Job) -> &str {
    let has_pattern = || job.given("verify_pattern").is_some();
    match job.given("verify") {
        None if has_pattern() => "pattern_hdr",
        _ => job.word_of(word!("verify")),
    }
}

fn is_pattern(method: CheckMethod) -> bool {
    matches!(method, CheckMethod::Pattern | CheckMethod::HeaderAndPattern)
}

/// The check that a job asks for. Mistakes go to the sink.
pub(crate) fn verify(job: &Job, of: Checked, files: &dyn Files, sink: &mut Sink) -> Option<Verify> {
    let method = method(asked(job))?;
    let is_only = job.is_on(on!("verify_only"));
    let phase = match () {
        () if !of.writes || is_only => Phase::Reads,
        () if job.is_on(on!("do_verify")) => Phase::WritesAndReadsBack,
        () => Phase::Writes,
    };
    let pattern = match job.given("verify_pattern") {
        Some(given) => Some(Pattern {
            restart_bytes: count(job, "verify_pattern_interval").unwrap_or(0),
            ..forms::pattern(given, given.text(), files, sink)?
        }),
        None => None,
    };
    if is_pattern(method) && pattern.is_none() {
        sink.error(
            codes::MISSING,
            job.place_of("verify"),
            format!("`verify={}` needs `verify_pattern`", asked(job)),
            "which pattern is not said",
            "add `verify_pattern=0xdeadbeef`",
        );
        return None;
    }
    let block_bytes = of.block(job);
    let header_at = job.get(number!("verify_offset")).max(0) as u64;
    let header_bytes = method.header_bytes() as u64;
    if header_bytes > 0 && !header_has_room(job, (header_at, header_bytes), block_bytes, sink) {
        return None;
    }
    Some(Verify {
        check: Check {
            method,
            block_bytes,
            address_bytes: common_divisor(block_bytes, of.places.multiple),
            from_end: of.places.from_end,
            header_at: if header_bytes > 0 { header_at } else { 0 },
            pattern: None,
            reads: phase == Phase::Reads,
            records: phase == Phase::WritesAndReadsBack,
            saves: phase != Phase::Reads && job.is_on(on!("verify_state_save")),
            dumps: job.is_on(on!("verify_dump")),
            any_write: !job.is_on(on!("verify_header_seed"))
                && !job.is_on(on!("verify_write_sequence")),
            backlog: backlog(job).filter(|_| phase == Phase::WritesAndReadsBack),
            discards: discards(job, sink).filter(|_| phase == Phase::WritesAndReadsBack),
        },
        pattern,
        phase,
    })
}

/// What a job that only checks would do if it wrote.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rehearsed {
    pub operations: OperationMix,
    pub transfer: PerDirection<TransferSizes>,
}

/// A job that only checks reads where it would have written. Between its writes it may do something
/// else, or they may cover each other in part; then which blocks to read is known from them alone.
pub(crate) fn turned(
    verify: &Option<Verify>,
    operations: OperationMix,
    transfer: PerDirection<TransferSizes>,
) -> (OperationMix, PerDirection<TransferSizes>, Option<Rehearsed>) {
    let only_checks = verify
        .as_ref()
        .is_some_and(|verify| verify.phase == Phase::Reads);
    if only_checks && operations.write_pct > 0.0 {
        let covers = |check: Check| check.address_bytes < check.block_bytes;
        let is_plain =
            operations.write_pct >= 100.0 && !verify.as_ref().is_some_and(|of| covers(of.check));
        let all = PerDirection::all(transfer.write.clone());
        let rehearsed = Rehearsed {
            operations,
            transfer,
        };
        let rehearsed = (!is_plain).then_some(rehearsed);
        return (OperationMix::reads(100.0), all, rehearsed);
    }
    (operations, transfer, None)
}

/// The streams of a template that are to be read back, as streams that do so.
pub(crate) fn reading_back(written: &RunTemplate) -> Option<RunTemplate> {
    let mut template = RunTemplate {
        pools: Vec::new(),
        streams: Vec::new(),
        coupling: Coupling::Independent,
    };
    for stream in &written.streams {
        let Some(check) = stream.data.check.filter(|check| check.records) else {
            continue;
        };
        let Some(source) = source_of_check(&stream.source) else {
            continue;
        };
        let mut back = stream.clone();
        back.source = source;
        back.name.push_str(" (check)");
        back.pacing = Pacing::None;
        back.flow = Flow {
            placement: back.flow.placement.clone(),
            held_memory_bytes: back.flow.held_memory_bytes,
            // Others stand beside it than beside the writes.
            tolerance: back.flow.tolerance.map(|tolerance| Tolerance {
                ends: Vec::new(),
                ..tolerance
            }),
            ..Flow::default()
        };
        back.lifetime = None;
        back.start_delay = Nanos(0);
        back.stop = LocalStop::default();
        back.labels.push(Label::new(CHECK_LABEL.0, CHECK_LABEL.1));
        back.data.check = Some(Check {
            reads: true,
            records: false,
            saves: false,
            backlog: None,
            discards: None,
            ..check
        });
        template
            .pools
            .push(written.pools[stream.pool.index()].clone());
        back.pool = PoolId::at(template.pools.len() - 1);
        template.streams.push(back);
    }
    let share_pct = 100.0 / template.streams.len().max(1) as f64;
    let streams = template.streams.iter_mut();
    streams.for_each(|stream| stream.share_pct = share_pct);
    (!template.streams.is_empty()).then_some(template)
}

/// Reads of what a stream has written.
fn source_of_check(written: &OpSource) -> Option<OpSource> {
    let (mut generator, transfer) = match written {
        OpSource::Generator(generator) => {
            let sizes = [
                Some(&generator.transfer.write),
                generator.order.sizes_behind(),
            ];
            let longest = sizes
                .into_iter()
                .flatten()
                .max_by_key(|sizes| sizes.largest());
            (generator.clone(), longest?.clone())
        }
        OpSource::Replay(replay) => {
            // Each of its files holds such a transfer.
            let ends = replay.places.iter().map(|place| place.end);
            let shortest = ends.min().unwrap_or(0);
            let largest = replay.envelope.transfer.write.largest();
            let generator = Generator {
                align: AlignRule::Transfer,
                sequences: plan::Sequences::Shared,
                ..replay.envelope.clone()
            };
            (generator, TransferSizes::Fixed(largest.min(shortest)))
        }
        _ => return None,
    };
    generator.operations = OperationMix::reads(100.0);
    generator.transfer = PerDirection::all(transfer);
    generator.order = AddressOrder::AsRecorded;
    Some(OpSource::Generator(generator))
}

/// The run of that template, behind the run that has written.
pub(crate) fn check_run(written: &RunSpec, template: TemplateId) -> RunSpec {
    RunSpec {
        name: format!("{} (check)", written.name),
        kind: RunKind::Measure,
        template,
        overrides: Vec::new(),
        coupling: None,
        load: Load::PerStream,
        law: ArrivalLaw::Deterministic,
        timing: Timing {
            warmup: Nanos(0),
            window: Window::UntilDone { at_most: None },
            ..written.timing
        },
        stop: RunStop {
            errors: written.stop.errors,
            ..RunStop::default()
        },
        labels: vec![Label::new(CHECK_LABEL.0, CHECK_LABEL.1)],
        swept: Vec::new(),
        origin: Origin::Derived("what was written is read back and checked".to_owned()),
    }
}

fn backlog(job: &Job) -> Option<Backlog> {
    let after = count(job, "verify_backlog")?;
    Some(Backlog {
        after,
        batch: count(job, "verify_backlog_batch").unwrap_or(after),
    })
}

fn discards(job: &Job, sink: &mut Sink) -> Option<Discards> {
    let pct = count(job, "trim_percentage")?;
    let Some(after) = count(job, "trim_backlog") else {
        sink.warning(
            codes::MISSING,
            job.place_of("trim_percentage"),
            "`trim_percentage` without `trim_backlog` trims nothing",
            "when is not said",
            "add `trim_backlog=64`: trims follow each time that so many writes are remembered",
        );
        return None;
    };
    Some(Discards {
        pct: pct as f64,
        after,
        batch: count(job, "trim_backlog_batch").unwrap_or(after),
        reads_zeros: job.is_on(on!("trim_verify_zero")),
    })
}

/// A number above zero.
fn count(job: &Job, name: &str) -> Option<u64> {
    let given = job.number(name).filter(|count| *count > 0);
    given.map(|count| count as u64)
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

fn method(word: &str) -> Option<CheckMethod> {
    Some(match word {
        "md5" => CheckMethod::Md5,
        "crc64" => CheckMethod::Crc64,
        "crc32" => CheckMethod::Crc32,
        "crc32c" | "crc32c-intel" => CheckMethod::Crc32c,
        "crc16" => CheckMethod::Crc16,
        "crc7" => CheckMethod::Crc7,
        "sha1" => CheckMethod::Sha1,
        "sha256" => CheckMethod::Sha256,
        "sha512" => CheckMethod::Sha512,
        "sha3-224" => CheckMethod::Sha3Of224,
        "sha3-256" => CheckMethod::Sha3Of256,
        "sha3-384" => CheckMethod::Sha3Of384,
        "sha3-512" => CheckMethod::Sha3Of512,
        "xxhash" => CheckMethod::Xxh32,
        "meta" => CheckMethod::HeaderOnly,
        "pattern" => CheckMethod::Pattern,
        "pattern_hdr" => CheckMethod::HeaderAndPattern,
        "null" => CheckMethod::Nothing,
        _ => return None,
    })
}
