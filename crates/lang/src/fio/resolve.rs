//! Jobs to values that fit each other: what is done, how much, where, how fast.
use super::amounts;
use super::codes;
use super::engines::Engine;
use super::files::{self, FILES_MAX, Naming};
use super::flow;
use super::forms::{self, Pattern};
use super::jobs::{Job, at_job};
use super::names;
use super::number::Base;
use super::places::{random_pct, used};
use super::priorities;
use super::record::{self, Record};
use super::requests;
use super::space;
use super::state;
use super::steps::{self, Shape};
use super::support::{push_once, refused};
use super::timing;
use super::value::{Size, Value};
use super::verify::{self, Checked, Places, Rehearsed, Verify};
use crate::Environment;
use crate::sink::Sink;
use plan::{
    AccessAdvice, AlignRule, ArrivalLaw, DataSpec, Diagnostic, Direction, DuplicateSource,
    Duplicates, Extent, Flow, Following, IoMethod, OpenMode, OperationMix, PerDirection,
    PriorityShare, RandomLaw, Refresh, Rounds, Steps, SyncMode, TargetOrder, TransferSizes,
};

/// A job with everything resolved that does not need the machine.
#[derive(Clone, Debug)]
pub(crate) struct Spec<'a> {
    pub job: &'a Job,
    pub clones: u32,
    /// Absent where the engine is not built.
    pub method: Option<IoMethod>,
    pub depth: u32,
    pub operations: OperationMix,
    pub is_random: bool,
    pub transfer: PerDirection<TransferSizes>,
    /// Of the directions that are used.
    pub smallest: u64,
    pub law: RandomLaw,
    /// Share of I/Os that take a new place.
    pub random_pct: PerDirection<f64>,
    /// I/Os that take no new place.
    pub following: Following,
    /// Places by the number of the I/O, in the stead of the law.
    pub steps: Option<Steps>,
    pub align: AlignRule,
    pub naming: Naming,
    pub file_order: TargetOrder,
    pub file_size: FileSize,
    pub offset: Size,
    pub offset_increment: Size,
    pub amount: Amount,
    pub times: Times,
    pub pace: Option<Pace>,
    pub flow: Flow,
    pub open: OpenMode,
    pub data: DataSpec,
    /// Bytes that are written over and over.
    pub pattern: Option<Pattern>,
    /// How data are checked.
    pub verify: Option<Verify>,
    pub lays_out: bool,
    /// Of single I/Os.
    pub priorities: Vec<PriorityShare>,
    /// In place of everything that is drawn.
    pub records: Vec<Record>,
    /// By clone, what earlier executions wrote and this one reads; empty where all is read.
    pub written: Vec<Vec<Extent>>,
    /// The writes that it reads in place of making them, where they do not follow from what it reads.
    pub rehearsed: Option<Rehearsed>,
}

/// Bytes of each file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FileSize {
    AsFound,
    /// Of the range, behind the offset.
    Bytes(u64),
    /// Of the file, offset included.
    Whole(u64),
    /// Of the range, behind the offset, in files that are longer.
    Within {
        range: u64,
        file: u64,
    },
    Percent(f64),
    /// Of the range, behind what the file holds.
    Appended(u64),
    /// Until nothing is left.
    UntilFull,
    /// Of each file, drawn between the two, in whole blocks.
    Drawn(u64, u64),
}

/// Where a clone ends by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Amount {
    pub bytes: Option<u64>,
    /// Times the whole range, where its size is not known here.
    pub passes: Option<u64>,
    /// Of each pass, where that is not all.
    pub pass_millionths: Option<u32>,
    pub operations: Option<u64>,
    pub rounds: Option<Rounds>,
}

impl Amount {
    /// Where places are trimmed and written, each amount counts both apart.
    fn for_steps(self, steps: Option<&Steps>) -> Self {
        let times = match steps {
            Some(steps) if steps.trims_first => 2,
            _ => 1,
        };
        let twice = |amount: Option<u64>| amount.map(|amount| amount.saturating_mul(times));
        Self {
            bytes: twice(self.bytes),
            passes: twice(self.passes),
            pass_millionths: self.pass_millionths,
            operations: twice(self.operations),
            rounds: self.rounds,
        }
    }
}

/// In nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Times {
    pub runtime: Option<u64>,
    /// Goes on for all of the runtime.
    pub is_time_based: bool,
    pub ramp: u64,
    /// That the command line asks for.
    pub interval: Option<u64>,
    /// In place of that time, in bytes.
    pub ramp_bytes: Option<u64>,
    /// Each clone takes one between the two.
    pub delay: (u64, u64),
}

/// I/Os per second.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pace {
    pub per_second: PerDirection<Option<f64>>,
    /// Whether it was given so, and holds whatever the sizes are.
    pub in_bytes: bool,
    pub law: ArrivalLaw,
}

/// Of what is written, where no seed is named: it does not follow from the seed of the execution, so that executions
/// share what repeats.
const SEED_OF_DATA: i64 = 0;
/// As many clones as a plan can hold, and as many as the original starts.
pub(crate) const CLONES_MAX: u64 = 4096;

/// All jobs. Mistakes go to the sink; what only a run refuses, to the blockers.
pub(crate) fn specs<'a>(
    jobs: &'a [Job],
    environment: &Environment<'_>,
    blockers: &mut Vec<Diagnostic>,
    sink: &mut Sink,
) -> Vec<Spec<'a>> {
    let mut out: Vec<Spec<'a>> = Vec::new();
    let (mut clones, mut files) = (0_u64, 0_u64);
    for (number, job) in jobs.iter().enumerate() {
        let Some(engine) = job.engine() else { continue };
        let mut resolving = Resolving {
            job,
            engine,
            environment,
            blockers,
            sink,
        };
        let Some(spec) = resolving.spec() else {
            continue;
        };
        clones += u64::from(spec.clones);
        if clones > CLONES_MAX {
            let message = format!("all jobs together make more than {CLONES_MAX} clones");
            let place = job.place_of("numjobs");
            sink.error(
                codes::TOO_MANY,
                place,
                message,
                "one too many",
                "use a larger `iodepth` in place of clones",
            );
            return out;
        }
        files = files.saturating_add(u64::from(spec.clones) * spec.naming.own_count());
        if files > FILES_MAX {
            sink.error(
                codes::TOO_MANY,
                job.place_of("nrfiles"),
                format!("all jobs together have more than {FILES_MAX} files"),
                "too many here",
                "use fewer files, or several calls with some of the jobs each",
            );
            return out;
        }
        wait_for(job, &jobs[..number], sink);
        out.push(spec);
    }
    out
}

fn wait_for(job: &Job, before: &[Job], sink: &mut Sink) {
    let Some(given) = job.given("wait_for") else {
        return;
    };
    let name = given.text().trim();
    let found = before.iter().filter(|other| other.name() == name).count();
    let (message, label) = match found {
        1 => return,
        _ if job.name() == name => ("a job cannot wait for itself".to_owned(), "its own name"),
        0 => (
            format!("no job above is named `{name}`"),
            "not defined above",
        ),
        _ => (format!("{found} jobs are named `{name}`"), "not one job"),
    };
    let help = "name one job that stands above";
    sink.error(codes::UNKNOWN_REFERENCE, given.span(), message, label, help);
}

pub(super) struct Resolving<'a, 'b> {
    pub(super) job: &'a Job,
    pub(super) engine: &'static Engine,
    environment: &'b Environment<'b>,
    pub(super) blockers: &'b mut Vec<Diagnostic>,
    pub(super) sink: &'b mut Sink,
}

impl<'a> Resolving<'a, '_> {
    fn spec(&mut self) -> Option<Spec<'a>> {
        let job = self.job;
        let (operations, is_random) = self.operations();
        let (transfer, behind) = self.transfer()?;
        let smallest = used(&operations, &transfer).chain(&behind);
        let smallest = smallest.map(TransferSizes::smallest).min()?;
        let (law, align) = self.places(&operations, &transfer, smallest)?;
        let naming = self.naming(smallest)?;
        let file_size = self.file_size(&naming, smallest);
        self.check_fill(&operations, file_size);
        let times = self.times();
        let amount = self.amount(naming.count(), file_size, smallest, times);
        let shape = Shape {
            is_random,
            operations: &operations,
            law: &law,
            transfer: &transfer,
            following: steps::following(job, self.base(), behind),
            random_pct: random_pct(job),
            smallest,
            files: naming.count(),
            file_bytes: self.unmade_bytes(naming.count(), file_size),
            base: self.base(),
        };
        let pace = self.pace(&shape);
        let steps = steps::steps(job, &shape, self.blockers);
        let (following, random_pct) = (shape.following, shape.random_pct);
        let (data, pattern) = self.data(&transfer, file_size, naming.count());
        let records = record::read(job, self.environment, self.blockers, self.sink);
        let places = Places::of(align, steps.as_ref());
        let of = Checked::of(&operations, (&transfer, &following), &records, places);
        let verify = self.verify(of, file_size);
        let (operations, transfer, rehearsed) = verify::turned(&verify, operations, transfer);
        let depth = self.depth();
        let flow = self.flow(&operations, depth);
        let spec = Spec {
            job,
            clones: job.get(number!("numjobs")).clamp(0, 1 << 20) as u32,
            method: flow::method_with(flow.lock, names::method(job, self.engine.method)),
            depth,
            lays_out: self.lays_out(&operations),
            operations,
            is_random,
            transfer,
            smallest,
            law,
            random_pct,
            following,
            amount: amount.for_steps(steps.as_ref()),
            steps,
            align,
            file_order: self.file_order(naming.count()),
            naming,
            file_size,
            offset: job.get(size!("offset")),
            offset_increment: job.get(size!("offset_increment")),
            times,
            pace,
            flow,
            open: self.open_mode(is_random),
            data,
            pattern,
            verify,
            priorities: priorities::shares(job, self.base(), self.sink),
            records,
            written: Vec::new(),
            rehearsed,
        };
        Some(self.finished(spec))
    }

    /// What is left to say once all parts are there.
    fn finished(&mut self, spec: Spec<'a>) -> Spec<'a> {
        self.conflicts();
        let spec = names::by_visits(spec.governed_by_record(), self.blockers);
        let spec = state::load(spec, self.environment, self.blockers);
        self.check_parts(&spec);
        amounts::layout_only_if_asked(spec)
    }

    fn naming(&mut self, smallest: u64) -> Option<Naming> {
        Naming::of(
            self.job,
            smallest,
            self.environment,
            self.blockers,
            self.sink,
        )
    }

    fn is_stored(&self) -> bool {
        matches!(self.engine.method, Some(method) if method != IoMethod::Nothing)
    }

    fn lays_out(&self, operations: &OperationMix) -> bool {
        let reads = space::needs_what_is_there(self.engine.method, operations);
        self.is_stored() && lays_out(self.job, reads)
    }

    fn flow(&mut self, operations: &OperationMix, depth: u32) -> Flow {
        let flow = flow::flow(self.job, operations, depth, self.sink);
        flow::on_nodes(flow, self.job, &self.environment.cpu_nodes, self.blockers)
    }

    fn verify(&mut self, of: Checked, file_size: FileSize) -> Option<Verify> {
        let files = self.environment.files;
        let verify = verify::verify(self.job, of, files, self.sink)?;
        let verify = match file_size {
            FileSize::UntilFull => self.verify_of_fill(verify),
            _ => verify,
        };
        let is_nothing = self.engine.method == Some(IoMethod::Nothing);
        Some(if is_nothing {
            verify.of_nothing()
        } else {
            verify
        })
    }

    /// What single parts of a job cannot be together yet.
    fn check_parts(&mut self, spec: &Spec<'_>) {
        requests::tell(spec.job, self.sink);
        requests::check(spec, self.environment.cpus, self.blockers);
        if spec.verify.is_none() || spec.records.is_empty() {
            return;
        }
        for setting in [on!("verify_only"), on!("verify_state_load")] {
            let option = setting.name;
            if self.job.is_on(setting) {
                let what = format!("`{option}` with `read_iolog`");
                let reason = "the record says what is read and written";
                let help = "leave it out; a record that only reads is checked";
                let refusal = refused(&what, reason, help, self.job.place_of(option));
                push_once(self.blockers, refusal);
            }
        }
    }

    pub(super) fn operations(&self) -> (OperationMix, bool) {
        let word = self.job.word_of(word!("rw"));
        let mix = |read_pct, write_pct, trim_pct| OperationMix {
            read_pct,
            write_pct,
            trim_pct,
        };
        let is_random = word.starts_with("rand");
        let operations = match word.trim_start_matches("rand") {
            "read" => mix(100.0, 0.0, 0.0),
            "write" => mix(0.0, 100.0, 0.0),
            "trim" => mix(0.0, 0.0, 100.0),
            "trimwrite" => mix(0.0, 50.0, 50.0),
            _ => OperationMix::reads(self.read_share()),
        };
        (operations, is_random)
    }

    /// The last of both shares given decides.
    fn read_share(&self) -> f64 {
        match self.job.last_of(&["rwmixread", "rwmixwrite"]) {
            Some(given) => match (given.parameter.name(), &given.value) {
                ("rwmixread", Value::Number(pct)) => *pct as f64,
                (_, Value::Number(pct)) => 100.0 - *pct as f64,
                _ => number!("rwmixread").default as f64,
            },
            None => number!("rwmixread").default as f64,
        }
    }

    /// The sizes of I/Os, and where those that go on behind the one before have others, these.
    fn transfer(&mut self) -> Option<(PerDirection<TransferSizes>, Option<TransferSizes>)> {
        let job = self.job;
        let sizes = job.each_of(number!("bs"));
        let fixed = sizes.map(|size| TransferSizes::Fixed(size as u64));
        let [read, write, trim] = if let Some(given) = job.given("bssplit") {
            forms::splits(given, given.text(), self.base(), &fixed, self.sink)?
        } else {
            match job.given("bsrange").map(|given| &given.value) {
                Some(Value::Ranges(ranges)) => {
                    let step_one = job.is_on(on!("bs_unaligned"));
                    let mut out = fixed;
                    for (index, range) in ranges.iter().enumerate() {
                        if let Some((low, high)) = range {
                            out[index] = uniform(*low, *high, step_one);
                        }
                    }
                    out
                }
                _ => fixed,
            }
        };
        let too_large = [&read, &write, &trim]
            .into_iter()
            .find(|sizes| sizes.largest() >= u64::from(u32::MAX));
        if let Some(sizes) = too_large {
            let given = job.last_of(&["bs", "bsrange", "bssplit"]);
            let place = given.map_or(job.section.span, super::jobs::Given::span);
            let message = format!("an I/O of {} bytes is too large", sizes.largest());
            self.sink.error(
                codes::OUT_OF_RANGE,
                place,
                message,
                "4 GiB or more",
                "use a smaller size",
            );
            return None;
        }
        let is_paired = job.word_of(word!("rw")).ends_with("trimwrite");
        // What was trimmed is written, and no more and no less.
        let write = if is_paired { trim.clone() } else { write };
        Some(self.by_order(PerDirection { read, write, trim }))
    }

    pub(super) fn base(&self) -> Base {
        match self.job.word_of(word!("kb_base")) {
            "1000" => Base::Decimal,
            _ => Base::Binary,
        }
    }

    fn depth(&mut self) -> u32 {
        let job = self.job;
        let depth = job.get(number!("iodepth")).max(1) as u32;
        if depth > 1 && self.engine.is_synchronous {
            let message = format!("engine `{}` has one I/O in flight", self.engine.name);
            self.sink.push(
                Diagnostic::note(codes::DEPTH_OF_ONE, message)
                    .at(job.place_of("iodepth"), "has no effect with it")
                    .with_help(
                        "more clones (`numjobs`), or an asynchronous engine, keep more in flight",
                    ),
            );
            return 1;
        }
        depth
    }

    fn times(&mut self) -> Times {
        let job = self.job;
        let line = &self.environment.command_line;
        let asked = |seconds: Option<u64>| Some(seconds?.saturating_mul(1_000_000_000));
        let of_job = job.nanos("runtime").filter(|nanos| *nanos > 0);
        let runtime = asked(line.elapsed_s).or(of_job);
        let mut is_time_based = line.elapsed_s.is_some() || job.is_on(on!("time_based"));
        if is_time_based && runtime.is_none() {
            is_time_based = false;
            let message = "`time_based` without `runtime` changes nothing: the job ends with its amount of I/O";
            self.sink.push(
                Diagnostic::warning(codes::NO_TIME, message)
                    .at(
                        job.given("time_based")
                            .map_or(job.section.span, |given| given.name.span),
                        "no time is given",
                    )
                    .with_help("add `runtime=60`"),
            );
        }
        let delay = match job.given("startdelay").map(|given| &given.value) {
            Some(Value::NanosRange(low, high)) => (*low, *high),
            _ => {
                let delay = job.get(nanos!("startdelay")).0;
                (delay, delay)
            }
        };
        Times {
            runtime,
            is_time_based,
            ramp: asked(line.warmup_s).unwrap_or(job.get(nanos!("ramp_time")).0),
            interval: asked(line.interval_s),
            ramp_bytes: timing::ramp_bytes(job, self.sink),
            delay,
        }
    }

    fn pace(&mut self, shape: &Shape<'_>) -> Option<Pace> {
        let operations = shape.operations;
        let job = self.job;
        let positive = |name: &str| {
            let numbers = job.numbers(name)?;
            numbers
                .iter()
                .any(|number| number.is_some_and(|number| number > 0))
                .then_some(numbers)
        };
        let (bytes, counts) = (positive("rate"), positive("rate_iops"));
        if let (Some(_), Some(_)) = (bytes, counts) {
            let message = "`rate` and `rate_iops` exclude each other";
            self.sink.push(
                Diagnostic::error(codes::CONFLICT, message)
                    .at(job.place_of("rate_iops"), "I/Os per second")
                    .with_related(job.place_of("rate"), "bytes per second")
                    .with_help("keep one of them"),
            );
            return None;
        }
        let numbers = bytes.or(counts)?;
        let means = [Direction::Read, Direction::Write, Direction::Trim]
            .map(|direction| shape.mean(direction));
        let shares = [
            operations.read_pct,
            operations.write_pct,
            operations.trim_pct,
        ];
        let of = |index: usize| {
            let number = numbers[index].filter(|number| *number > 0 && shares[index] > 0.0)? as f64;
            Some(if bytes.is_some() {
                number / means[index]
            } else {
                number
            })
        };
        let per_second = PerDirection {
            read: of(0),
            write: of(1),
            trim: of(2),
        };
        let is_paced = [per_second.read, per_second.write, per_second.trim]
            .iter()
            .any(Option::is_some);
        let law = match job.word_of(word!("rate_process")) {
            "poisson" => ArrivalLaw::Exponential,
            _ => ArrivalLaw::Deterministic,
        };
        is_paced.then_some(Pace {
            per_second,
            in_bytes: bytes.is_some(),
            law,
        })
    }

    fn open_mode(&self, is_random: bool) -> OpenMode {
        let job = self.job;
        let direct = requests::is_direct(job);
        let fills_cache = job.is_on(on!("pre_read")) && !direct;
        OpenMode {
            direct,
            sync: match job.word_of(word!("sync")) {
                "sync" | "1" => SyncMode::All,
                "dsync" => SyncMode::Data,
                _ => SyncMode::None,
            },
            sync_on_close: flow::flushes_on_close(job),
            drops_cache: job.is_on(on!("invalidate")) && !direct && !fills_cache,
            fills_cache,
            advice: advice(job, is_random),
            reserves: files::reservation(job),
            huge_pages: job.is_on(on!("thp")),
            ..OpenMode::default()
        }
    }

    fn data(
        &mut self,
        transfer: &PerDirection<TransferSizes>,
        file_size: FileSize,
        files: u64,
    ) -> (DataSpec, Option<Pattern>) {
        let job = self.job;
        let mut data = DataSpec {
            seed: job.number("randseed").unwrap_or(SEED_OF_DATA) as u64,
            chunk_bytes: job.get(number!("buffer_compress_chunk")) as u64,
            ..DataSpec::default()
        };
        let mut pattern = None;
        match job.number("buffer_compress_percentage") {
            Some(pct) if pct >= 100 => pattern = Some(Pattern::zeros()),
            Some(pct) if pct > 0 => data.compression_ratio = 100.0 / (100 - pct) as f64,
            _ => {}
        }
        if let Some(given) = job.given("buffer_pattern") {
            pattern = forms::pattern(given, given.text(), self.environment.files, self.sink);
        }
        if job.is_on(on!("zero_buffers")) {
            pattern = Some(Pattern::zeros());
        }
        data.duplicates = self.duplicates(transfer, file_size, files);
        let is_plain = data.compression_ratio <= 1.0 && pattern.is_none();
        let is_stamped = job.is_on(on!("scramble_buffers"));
        data.refresh = match is_stamped {
            _ if job.is_on(on!("refill_buffers")) || data.duplicates.is_some() => {
                Refresh::EachWrite
            }
            true if is_plain => Refresh::Stamps,
            true => Refresh::EachWrite,
            false => Refresh::Never,
        };
        (data, pattern)
    }

    fn duplicates(
        &mut self,
        transfer: &PerDirection<TransferSizes>,
        file_size: FileSize,
        files: u64,
    ) -> Option<Duplicates> {
        let job = self.job;
        let pct = job.number("dedupe_percentage").filter(|pct| *pct > 0)? as f64;
        let of = match job.word_of(word!("dedupe_mode")) {
            "working_set" => {
                let (FileSize::Bytes(bytes) | FileSize::Whole(bytes)) = file_size else {
                    let place = job.place_of("dedupe_mode");
                    let message = "`dedupe_mode=working_set` needs `size`";
                    self.sink.error(
                        codes::MISSING,
                        place,
                        message,
                        "a share of what is not known",
                        "add `size=`",
                    );
                    return None;
                };
                let share = job.get(number!("dedupe_working_set_percentage")) as u64;
                let blocks = bytes.saturating_mul(files) / transfer.write.smallest().max(1);
                DuplicateSource::WorkingSet {
                    contents: (blocks / 100).saturating_mul(share).max(1),
                    is_shared: job.is_on(on!("dedupe_global")),
                }
            }
            _ => DuplicateSource::Previous,
        };
        Some(Duplicates::ByWrite { pct, of })
    }

    fn histogram_log(&mut self) {
        let job = self.job;
        let has_window = job.number("log_hist_msec").is_some_and(|ms| ms > 0);
        if let Some(given) = job.given("write_hist_log").filter(|_| !has_window) {
            let message = "`write_hist_log` without `log_hist_msec` writes an empty log";
            let note = Diagnostic::note(codes::MISSING, message);
            let note = note.at(given.name.span, "no window is given");
            self.sink.push(note.with_help("add `log_hist_msec=1000`"));
        }
        let is_both = job.word_of(word!("log_window_value")) == "both";
        let alone = [
            ("write_hist_log", has_window),
            ("log_issue_time", job.is_on(on!("log_issue_time"))),
            ("log_window_value", is_both),
        ];
        for (name, is_asked) in alone {
            let given = job.given(name).filter(|_| is_asked);
            let Some(given) = given.filter(|_| job.is_on(on!("log_store_compressed"))) else {
                continue;
            };
            self.sink.error(
                codes::CONFLICT,
                given.name.span,
                format!("`log_store_compressed` has no place for `{name}`"),
                "a sample holds one value",
                "remove one of the two",
            );
        }
    }

    fn conflicts(&mut self) {
        let job = self.job;
        self.histogram_log();
        if job.is_on(on!("pre_read")) && self.open_mode(false).direct {
            let message = "`pre_read` fills the page cache, and direct I/O goes past it";
            self.sink.push(
                Diagnostic::warning(codes::CONFLICT, message)
                    .at(job.place_of("pre_read"), "nothing is read before")
                    .with_help("use `direct=0`, or leave `pre_read` out"),
            );
        }
        if let (Some(cpus), Some(nodes)) = (job.given("cpus_allowed"), job.given("numa_cpu_nodes"))
        {
            let error = Diagnostic::error(
                codes::CONFLICT,
                "`cpus_allowed` and `numa_cpu_nodes` exclude each other",
            )
            .at(nodes.span(), "nodes")
            .with_related(cpus.span(), "CPUs")
            .with_help("keep one of them");
            self.sink.push(error);
        }
        if let Some(Value::Cpus(cpus)) = job.given("cpus_allowed").map(|given| &given.value)
            && let Some(cpu) = cpus.iter().find(|cpu| **cpu >= self.environment.cpus)
        {
            let message = format!("this host has no CPU {cpu}");
            let label = format!("it has {}, counted from 0", self.environment.cpus);
            push_once(
                self.blockers,
                Diagnostic::error(codes::OUT_OF_RANGE, message)
                    .at(job.place_of("cpus_allowed"), label),
            );
        }
        let is_null = self.engine.method == Some(IoMethod::Nothing);
        let is_sized = matches!(job.size("size"), Some(Size::Bytes(bytes)) if bytes > 0)
            || job.given("filesize").is_some();
        if is_null && !is_sized && job.given("read_iolog").is_none() {
            let message = "a job that reaches no storage needs `size`".to_owned();
            push_once(
                self.blockers,
                at_job(job, codes::MISSING, message, "how much is not known")
                    .with_help("add `size=1g`"),
            );
        }
        let is_strided = job
            .word("zonemode")
            .is_some_and(|(word, _)| word == "strided");
        if is_strided && job.size("zonesize").is_none() {
            let message = "`zonemode=strided` needs `zonesize`";
            let place = job.place_of("zonemode");
            self.sink.error(
                codes::MISSING,
                place,
                message,
                "no size of a zone",
                "add `zonesize=`",
            );
        }
    }
}

/// What the page cache is told, which is the order of places unless something else is asked.
fn advice(job: &Job, is_random: bool) -> Option<AccessAdvice> {
    match job.word_of(word!("fadvise_hint")) {
        "0" => None,
        "random" => Some(AccessAdvice::Random),
        "sequential" => Some(AccessAdvice::Sequential),
        "noreuse" => Some(AccessAdvice::Once),
        _ if is_random => Some(AccessAdvice::Random),
        _ => Some(AccessAdvice::Sequential),
    }
}

/// Whether files are made before the job begins; what is mapped has its length before.
fn lays_out(job: &Job, reads: bool) -> bool {
    (reads || job.is_on(on!("overwrite")))
        && !job.is_on(on!("create_on_open"))
        && !job.is_on(on!("verify_only"))
}

/// Sizes between two ends, in multiples of the smaller one unless every byte counts.
fn uniform(min: u64, max: u64, step_one: bool) -> TransferSizes {
    let step = if step_one { 1 } else { min };
    match max {
        _ if max == min => TransferSizes::Fixed(min),
        _ if max.is_multiple_of(step) && !step_one => TransferSizes::Uniform { min, max, step },
        _ => TransferSizes::Capped { min, max, step },
    }
}
