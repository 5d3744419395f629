//! Lines about what happens (`--debug`), by the subjects that fio names. They follow from the plan, from
//! events, and from records of single operations that a run keeps only where they are asked for; nothing
//! is told from within a worker.
use measure::{Event, ExecutionStarted, Interval, IoFailure, OperationRecord, RunStarted};
use plan::{BoundPlan, Label, RunId, RunKind};

/// A subject, and what is told about it; of those that cannot be told, why.
struct Subject {
    name: &'static str,
    doc: &'static str,
    is_told: bool,
}

const fn told(name: &'static str, doc: &'static str) -> Subject {
    Subject {
        name,
        doc,
        is_told: true,
    }
}

const fn untold(name: &'static str, doc: &'static str) -> Subject {
    Subject {
        name,
        doc,
        is_told: false,
    }
}

const SUBJECTS: &[Subject] = &[
    told("process", "executions, runs and jobs as they begin and end"),
    told("file", "targets, and which job uses which"),
    told(
        "io",
        "each I/O that came back, with its place and its latency",
    ),
    untold(
        "mem",
        "buffers are taken once for each slot, before the first I/O",
    ),
    untold("blktrace", "binary traces of block devices are not read"),
    told("verify", "reading back, and what was wrong"),
    told("random", "from which numbers places and data are drawn"),
    told("parse", "the options of each job as they were understood"),
    told("diskutil", "what devices did in each interval"),
    untold("mutex", "workers wait for no lock while they do I/O"),
    told("profile", "what a profile stands for"),
    told("time", "the clock, and when each interval ends by it"),
    untold("net", "there is one host only"),
    told(
        "rate",
        "what was due and what was submitted in each interval",
    ),
    untold("compress", "no logs are kept compressed"),
    untold(
        "steadystate",
        "the object `steadystate` of JSON has all samples",
    ),
    untold(
        "helperthread",
        "there is none; events tell what it would do",
    ),
    untold("zbd", "zoned block devices are not supported"),
];

/// What is to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topics {
    subjects: Vec<&'static str>,
    /// One job only, by its number over all clones, from 1.
    job: Option<usize>,
}

/// Tells of one execution.
#[derive(Debug)]
pub struct Trace {
    topics: Topics,
    run: Run,
    jobs: usize,
    paths: Vec<String>,
}

/// The run that is going.
#[derive(Debug, Default)]
struct Run {
    name: String,
    streams: Vec<String>,
    /// The number of the first of its jobs; `None` of a run that measures none.
    first_job: Option<usize>,
    number: u32,
}

/// Tells of single operations.
#[derive(Debug)]
pub struct IoTrace {
    topics: Topics,
    paths: Vec<String>,
    /// Runs that measure, with the number of the first of their jobs.
    runs: Vec<(RunId, usize)>,
}

impl Topics {
    /// From a list such as `process,io,job:2`; later lists add to earlier ones.
    ///
    /// # Errors
    /// What is unknown, or cannot be told, in words.
    pub fn add(&mut self, list: &str) -> Result<(), String> {
        for word in list
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            if let Some(number) = word.strip_prefix("job:") {
                let number = number.parse().ok().filter(|number| *number > 0);
                self.job = Some(
                    number.ok_or_else(|| format!("`--debug={word}`: jobs are numbered from 1"))?,
                );
                continue;
            }
            if word == "all" {
                let told = SUBJECTS.iter().filter(|subject| subject.is_told);
                self.subjects.extend(told.map(|subject| subject.name));
                continue;
            }
            let subject = SUBJECTS.iter().find(|subject| subject.name == word);
            let subject = subject.ok_or_else(|| {
                let help = lang::meant(word, SUBJECTS.iter().map(|subject| subject.name));
                let help = help.unwrap_or_else(|| "`--debug=?` lists all".to_owned());
                format!("`--debug` does not know `{word}`; {help}")
            })?;
            if !subject.is_told {
                return Err(format!("`--debug={word}` is refused: {}", subject.doc));
            }
            self.subjects.push(subject.name);
        }
        self.subjects.sort_unstable();
        self.subjects.dedup();
        Ok(())
    }

    /// What can be told, and what not.
    pub fn help() -> String {
        let mut out = String::from("fio: dumping debug options:\n");
        for subject in SUBJECTS {
            let prefix = if subject.is_told { "" } else { "refused: " };
            out += &format!("  {:<14} {prefix}{}\n", subject.name, subject.doc);
        }
        out + "  job:N          only what concerns job N, counted over all clones from 1\n  all            all that is not refused\n"
    }

    /// A line for each subject, as fio begins.
    pub fn opening(&self) -> String {
        let line = |subject: &&str| format!("fio: set debug option {subject}\n");
        self.subjects.iter().map(line).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.subjects.is_empty()
    }

    /// Whether each single operation is to be told.
    pub fn has_operations(&self) -> bool {
        self.has("io")
    }

    fn has(&self, subject: &str) -> bool {
        self.subjects.contains(&subject)
    }

    /// Lines about a subject that concern no job.
    pub fn tell(&self, subject: &str, texts: impl IntoIterator<Item = String>) -> String {
        let is_told = self.has(subject) && self.job.is_none();
        let texts = texts.into_iter().filter(|_| is_told);
        texts.map(|text| line(subject, &text) + "\n").collect()
    }

    fn concerns(&self, job: Option<usize>) -> bool {
        self.job.is_none() || self.job == job
    }
}

impl Trace {
    pub fn new(topics: Topics) -> Self {
        Self {
            topics,
            run: Run::default(),
            jobs: 0,
            paths: Vec::new(),
        }
    }

    /// The lines that an event gives.
    pub fn on_event(&mut self, event: &Event) -> Vec<String> {
        let mut out = Vec::new();
        if self.topics.is_empty() {
            return out;
        }
        match event {
            Event::ExecutionStarted(started) => self.begin(started, &mut out),
            Event::RunStarted(run) => self.begin_run(run, &mut out),
            Event::Interval(interval) => self.interval(interval, &mut out),
            Event::IoFailure(failure) => self.failure(failure, &mut out),
            Event::RunFinished(run) => {
                let text = format!("run `{}` ends: {:?}", self.run.name, run.reason);
                self.put("process", None, text, &mut out);
            }
            Event::ExecutionFinished(_) => {
                self.put("process", None, "all is over".to_owned(), &mut out)
            }
            Event::Remark(_) | Event::DataWritten(_) => {}
        }
        out
    }

    fn put(&self, subject: &'static str, job: Option<usize>, text: String, out: &mut Vec<String>) {
        if self.topics.has(subject) && self.topics.concerns(job) {
            out.push(line(subject, &text));
        }
    }

    fn begin(&mut self, started: &ExecutionStarted, out: &mut Vec<String>) {
        let text = format!(
            "{} workers, {}: {}",
            started.workers, started.backend, started.backend_reason
        );
        self.put("process", None, text, out);
        self.put("time", None, format!("the clock is {}", started.clock), out);
        for target in &started.targets {
            let use_of = if target.is_written {
                "written"
            } else {
                "read only"
            };
            let text = format!("add file {}, {} bytes, {use_of}", target.path, target.bytes);
            self.put("file", None, text, out);
        }
        self.paths = started
            .targets
            .iter()
            .map(|target| target.path.clone())
            .collect();
        if let Ok(bound) = serde_json::from_str::<BoundPlan>(&started.plan_json) {
            let text = format!("the seed of the execution is {}", bound.plan.seed);
            self.put("random", None, text, out);
            let streams = |of: &plan::RunTemplate| of.streams.clone();
            for stream in bound.plan.templates.iter().flat_map(streams) {
                let Some(seed) = stream.seed else { continue };
                let text = format!("the seed of {} is {seed}", stream.name);
                self.put("random", None, text, out);
            }
        }
    }

    fn begin_run(&mut self, run: &RunStarted, out: &mut Vec<String>) {
        let is_check = Label::find(&run.labels, "phase") == Some("check");
        let is_measured = run.kind == RunKind::Measure && !is_check;
        self.run = Run {
            name: run.name.clone(),
            streams: run
                .streams
                .iter()
                .map(|stream| stream.name.clone())
                .collect(),
            first_job: is_measured.then_some(self.jobs + 1),
            number: run.run,
        };
        if is_measured {
            self.jobs += run.streams.len();
        }
        let text = format!(
            "run `{}` begins, {} of {}: {:?}",
            run.name,
            run.run + 1,
            run.runs,
            run.kind
        );
        self.put("process", None, text, out);
        if is_check {
            self.put(
                "verify",
                None,
                format!("`{}` reads back what was written", run.name),
                out,
            );
        }
        for (place, stream) in run.streams.iter().enumerate() {
            let (job, name) = self.job(place);
            let slots = run
                .pools
                .get(stream.pool as usize)
                .map_or(1, |pool| pool.slots);
            self.put(
                "process",
                job,
                format!("{name} begins, with {slots} in flight at most"),
                out,
            );
            for target in &stream.targets {
                let path = self.paths.get(target.index()).map_or("?", String::as_str);
                self.put("file", job, format!("{name} uses {path}"), out);
            }
            let text = format!("{name} draws as stream {place} of run {}", self.run.number);
            self.put("random", job, text, out);
            if let Some(rate) = stream.asked_rate {
                self.put(
                    "rate",
                    job,
                    format!("{name} is to do {rate:.3} I/Os per second"),
                    out,
                );
            }
        }
    }

    fn interval(&self, interval: &Interval, out: &mut Vec<String>) {
        let text = format!(
            "interval {} of `{}`: {} to {} ns, {:?}",
            interval.number, self.run.name, interval.start_ns, interval.end_ns, interval.phase
        );
        self.put("time", None, text, out);
        for (place, sample) in interval.engine.streams.iter().enumerate() {
            if sample.scheduled == 0 && sample.backlog == 0 {
                continue;
            }
            let (job, name) = self.job(place);
            let text = format!(
                "{name}: {} were due, {} submitted, {} wait, the latest by {} ns",
                sample.scheduled, sample.submitted, sample.backlog, sample.lateness.max_ns
            );
            self.put("rate", job, text, out);
        }
        for device in &interval.host.devices {
            let counters = &device.counters;
            let text = format!(
                "{}: {} reads of {} bytes, {} writes of {} bytes, busy {} ns",
                device.device,
                counters.reads,
                counters.read_bytes,
                counters.writes,
                counters.written_bytes,
                counters.busy_ns
            );
            self.put("diskutil", None, text, out);
        }
    }

    fn failure(&self, failure: &IoFailure, out: &mut Vec<String>) {
        let (job, name) = self.job(failure.stream.index());
        let what = place_of(
            &self.paths,
            failure.target.index(),
            failure.offset,
            failure.length,
        );
        let text = format!(
            "{name}: {} failed: {what}: {}",
            failure.operation.name(),
            failure.message
        );
        self.put("io", job, text, out);
        if let Some(misfit) = &failure.misfit {
            let text = format!(
                "{name}: {:?} in the block at {}: expected {}, found {}",
                misfit.what, misfit.block_offset, misfit.expected, misfit.found
            );
            self.put("verify", job, text, out);
        }
    }

    /// The number and the name of a job of the present run.
    fn job(&self, place: usize) -> (Option<usize>, String) {
        let name = self.run.streams.get(place).map_or("?", String::as_str);
        match self.run.first_job {
            Some(first) => (
                Some(first + place),
                format!("job {} `{name}`", first + place),
            ),
            None => (None, format!("`{name}`")),
        }
    }
}

impl IoTrace {
    /// `None` where single operations are not asked for.
    pub fn new(topics: &Topics, paths: &[String]) -> Option<Self> {
        topics.has_operations().then(|| Self {
            topics: topics.clone(),
            paths: paths.to_vec(),
            runs: Vec::new(),
        })
    }

    /// A run that measures has jobs behind so many others.
    pub fn measures(&mut self, run: RunId, jobs_before: usize) {
        self.runs.push((run, jobs_before + 1));
    }

    /// A line for each operation.
    pub fn lines(&self, run: RunId, operations: &[OperationRecord]) -> String {
        let known = self.runs.iter().find(|(known, _)| *known == run);
        let job = |record: &OperationRecord| Some(known?.1 + record.stream.index());
        let told = operations
            .iter()
            .filter(|record| self.topics.concerns(job(record)));
        let line_of = |record: &OperationRecord| {
            let place = place_of(
                &self.paths,
                record.target.index(),
                record.offset,
                record.length,
            );
            let text = format!(
                "complete: job {}: {}: {place}, seen at {} ns, took {} ns",
                job(record).unwrap_or(0),
                record.operation.name(),
                record.seen_ns,
                record.service_ns
            );
            line("io", &text) + "\n"
        };
        told.map(line_of).collect()
    }
}

fn place_of(paths: &[String], target: usize, offset: u64, length: u32) -> String {
    let path = paths.get(target).map_or("?", String::as_str);
    format!("off={offset:#x},len={length:#x},file={path}")
}

fn line(subject: &str, text: &str) -> String {
    format!("{subject:<8} {}  {text}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics(list: &str) -> Result<Topics, String> {
        let mut topics = Topics::default();
        topics.add(list).map(|()| topics)
    }

    #[test]
    fn lists_name_subjects_and_a_job() {
        let own = topics("process, io,job:2").unwrap();
        assert!(own.has_operations() && own.has("process") && !own.has("file"));
        assert!(own.concerns(Some(2)) && !own.concerns(Some(1)) && !own.concerns(None));
        let all = topics("all").unwrap();
        assert!(
            SUBJECTS
                .iter()
                .all(|subject| all.has(subject.name) == subject.is_told)
        );
        for (list, expected) in [
            ("mutex", "refused"),
            ("nothing", "--debug=?"),
            ("job:0", "from 1"),
            ("job:x", "from 1"),
        ] {
            let message = topics(list).unwrap_err();
            assert!(message.contains(expected), "{list}: {message}");
        }
    }

    #[test]
    fn each_operation_of_the_job_has_a_line() {
        let mut trace = IoTrace::new(&topics("io,job:4").unwrap(), &["a".to_owned()]).unwrap();
        trace.measures(RunId(7), 2);
        let record = |stream| OperationRecord {
            stream: plan::StreamId(stream),
            target: plan::TargetId(0),
            operation: plan::Operation::Write,
            offset: 4096,
            length: 512,
            priority: 0,
            seen_ns: 9,
            measured_from_ns: 0,
            service_ns: 5,
            submission_ns: None,
            completion_ns: 5,
        };
        let text = trace.lines(RunId(7), &[record(0), record(1)]);
        assert_eq!(text.lines().count(), 1);
        assert!(text.starts_with("io  "), "{text}");
        let expected = "job 4: write: off=0x1000,len=0x200,file=a, seen at 9 ns, took 5 ns\n";
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(IoTrace::new(&topics("file").unwrap(), &[]).map(drop), None);
    }
}
