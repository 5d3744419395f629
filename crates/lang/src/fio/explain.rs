//! What the options of each job hold in the bound plan, for `explain`.
use super::declare::{common, find, find_private};
use super::engines;
use super::number::{Base, quantity};
use crate::Status;
use crate::explain::{Explained, Held, explained, sizes_text, time_text};
use crate::parameter::{Parameter, bytes_text};
use plan::{
    AddressOrder, BoundPlan, BoundRun, BoundStream, Generator, Label, Lifetime, Nanos, OpSource,
    OpenMode, Origin, Pacing, PlanValue, RunId, RunKind, StepPattern, Stream, TargetId, TemplateId,
    Window, ZoneOrder,
};
use std::ops::Range;

/// Where a job stands in the plan.
#[derive(Clone, Debug)]
pub struct JobPlace {
    /// As the user named it.
    pub(crate) subject: String,
    pub(crate) engine: &'static str,
    /// What was given, among the values of the plan.
    pub(crate) values: Range<usize>,
    /// Its first clone; `None` where none is made.
    pub(crate) stream: Option<(TemplateId, usize)>,
    pub(crate) clones: u32,
    /// Whether its draws are the same in each execution.
    pub(crate) repeats: bool,
}

impl JobPlace {
    /// As the user named the job, where its draws are the same in each execution.
    pub fn repeating(&self) -> Option<&str> {
        self.repeats.then_some(&*self.subject)
    }
}

/// What jobs became.
pub struct JobsOfPlan<'a> {
    pub bound: &'a BoundPlan,
    pub jobs: &'a [JobPlace],
    /// Whether the size of a target is known here.
    pub is_known: &'a dyn Fn(TargetId) -> bool,
}

/// Each option of each job that was given or has an effect, with the value that is used.
pub fn explain(jobs: &JobsOfPlan<'_>) -> Vec<Explained> {
    let mut out = Vec::new();
    let mut run: Option<BoundRun> = None;
    for job in jobs.jobs {
        let given = &jobs.bound.plan.values[job.values.clone()];
        run = run_of(jobs, job, run);
        let view = run.as_ref().zip(job.stream).map(|(run, (_, place))| View {
            jobs,
            job,
            stream: &run.run.streams[place],
            bound: &run.streams[place],
            run,
            given,
        });
        let defaults: Vec<PlanValue> = defaults(job, given);
        let line = |value: &PlanValue| {
            let parameter = declared(&value.name, job.engine)?;
            // A job without a clone does nothing.
            let held = (view.as_ref()).map_or(Held::Nothing, |view| view.held(parameter));
            let line = explained(value, parameter, held)?;
            Some(drawn_anew(job, line))
        };
        out.extend(given.iter().chain(&defaults).filter_map(line));
    }
    out
}

/// The verb `run` draws a seed where the original has one that never changes.
fn drawn_anew(job: &JobPlace, line: Explained) -> Explained {
    if line.name != "randrepeat" || job.repeats || !line.is_default() || line.note.is_some() {
        return line;
    }
    Explained {
        origin: Origin::Derived("drawn anew by each execution of `run`".to_owned()),
        ..line
    }
}

/// The run of a job, which may be the one of the job before.
fn run_of(jobs: &JobsOfPlan<'_>, job: &JobPlace, before: Option<BoundRun>) -> Option<BoundRun> {
    let (template, _) = job.stream?;
    let plan = &jobs.bound.plan;
    let is_it = |id: &RunId| {
        let spec = plan.spec(*id);
        spec.template == template && spec.kind == RunKind::Measure
    };
    before.filter(|run| is_it(&run.id)).or_else(|| {
        let id = jobs.bound.runs.iter().copied().find(is_it)?;
        Some(jobs.bound.run(id))
    })
}

/// The declared defaults of what is not given.
fn defaults(job: &JobPlace, given: &[PlanValue]) -> Vec<PlanValue> {
    let own = engines::PRIVATE.iter();
    let own = own.filter(|parameter| parameter.engines.contains(&job.engine));
    common()
        .chain(own)
        .filter(|parameter| parameter.status == Status::Honoured)
        .filter(|parameter| given.iter().all(|given| given.name != parameter.name()))
        .map(|parameter| PlanValue {
            subject: job.subject.clone(),
            name: parameter.name().to_owned(),
            value: parameter.default_text(),
            origin: Origin::Default(String::new()),
        })
        .collect()
}

/// The declaration of an option of a job with this engine.
fn declared(name: &str, engine: &str) -> Option<&'static Parameter> {
    find_private(name, engine).or_else(|| find(name))
}

/// One job of the bound plan.
struct View<'a> {
    jobs: &'a JobsOfPlan<'a>,
    job: &'a JobPlace,
    run: &'a BoundRun,
    stream: &'a Stream,
    bound: &'a BoundStream,
    given: &'a [PlanValue],
}

impl View<'_> {
    fn generator(&self) -> Option<&Generator> {
        match &self.stream.source {
            OpSource::Generator(generator) => Some(generator),
            _ => None,
        }
    }

    fn open(&self) -> OpenMode {
        self.stream.open.unwrap_or_default()
    }

    fn slots(&self) -> u32 {
        self.run.run.pools[self.stream.pool.index()].slots
    }

    fn changes_data(&self) -> bool {
        self.generator()
            .is_none_or(|generator| generator.operations.read_pct < 100.0)
    }

    fn steps(&self) -> Option<&StepPattern> {
        match &self.generator()?.order {
            AddressOrder::Stepped(steps) => Some(&steps.pattern),
            _ => None,
        }
    }

    fn is_random(&self) -> bool {
        let order = self.generator().map(|generator| &generator.order);
        match self.steps() {
            Some(StepPattern::Gap { .. }) => false,
            Some(StepPattern::Zones { order, .. }) => *order != ZoneOrder::Sequential,
            _ => !matches!(order, Some(AddressOrder::Sequential { .. })),
        }
    }

    fn has_given(&self, name: &str) -> bool {
        self.given.iter().any(|value| value.name == name)
    }

    /// Whether the other one of two options that say the same is given after this one.
    fn is_overridden(&self, name: &str, other: &str) -> bool {
        let place = |name: &str| self.given.iter().position(|value| value.name == name);
        place(name).is_some() && place(other) > place(name)
    }

    /// The bytes of one loop, of one operation at each place.
    fn bytes_of_loop(&self) -> Option<u64> {
        let stop = &self.stream.stop;
        let given = self.given.iter().find(|value| value.name == "loops");
        let loops = given.and_then(|value| quantity(&value.value, Base::Binary).ok());
        let loops = loops.map_or(1, |loops| loops.value.clamp(1, i128::from(u64::MAX)) as u64);
        let is_paired = matches!(
            self.generator().map(|generator| &generator.order),
            Some(AddressOrder::Stepped(steps)) if steps.trims_first
        );
        let times = loops.saturating_mul(if is_paired { 2 } else { 1 });
        stop.bytes.map(|bytes| bytes / times)
    }

    /// Whether it goes on until its time is over.
    fn ends_by_time(&self) -> bool {
        let stop = &self.stream.stop;
        stop.bytes.is_none() && stop.passes.is_none() && stop.rounds.is_none()
    }

    /// Whether reads and writes are mixed by shares, all of one among them.
    fn asks_for_a_mix(&self) -> bool {
        let rw = self.given.iter().find(|value| value.name == "rw");
        let word = rw.and_then(|rw| rw.value.split([':', ',']).next());
        word.is_some_and(|word| ["rw", "readwrite", "randrw"].contains(&word.trim()))
    }

    /// Whether a given option asks for something.
    fn is_active(&self, name: &str) -> bool {
        let value = self.given.iter().find(|value| value.name == name);
        value.is_some_and(|value| {
            let text = value.value.trim();
            let is_inert = |parameter: &Parameter| parameter.inert.contains(&text);
            text != "0" && !declared(name, self.job.engine).is_some_and(is_inert)
        })
    }

    fn held(&self, parameter: &Parameter) -> Held {
        if !parameter.part_of.is_empty() && !self.is_active(parameter.part_of) {
            return Held::Nothing;
        }
        let name = parameter.name();
        let held = self.of_time(name).or_else(|| self.of_places(name));
        let held = held.or_else(|| self.of_files(name));
        let held = held.or_else(|| self.of_zones(name));
        let held = held.or_else(|| self.of_queue(name));
        held.or_else(|| self.of_data(name)).unwrap_or(Held::AsSaid)
    }

    fn of_time(&self, name: &str) -> Option<Held> {
        let timing = &self.run.run.timing;
        let life = self.stream.lifetime.as_ref();
        let time = |time: Nanos| match time {
            Nanos(0) => Held::Nothing,
            time => Held::Value(time_text(time)),
        };
        Some(match name {
            "runtime" => {
                let of_run = match timing.window {
                    Window::For(window) => Some(window),
                    Window::UntilDone { at_most } => at_most,
                };
                let window = life.map_or(of_run, |life: &Lifetime| life.window);
                window.map_or(Held::Nothing, time)
            }
            "ramp_time" => time(life.map_or(timing.warmup, |life| life.warmup)),
            "startdelay" => time(self.stream.start_delay),
            "name" => match Label::find(&self.stream.labels, "job") {
                Some(name) => Held::value(name),
                None => Held::AsSaid,
            },
            "numjobs" => Held::value(self.job.clones),
            "rate" | "rate_iops" | "rate_process" => {
                Held::said_if(!matches!(self.stream.pacing, Pacing::None))
            }
            "time_based" => Held::said_if(self.ends_by_time()),
            // Operations are counted over all loops.
            "loops" => Held::said_if(!self.ends_by_time() || self.stream.stop.operations.is_some()),
            "exit_what" => Held::said_if(self.is_active("exitall")),
            _ => return None,
        })
    }

    fn of_places(&self, name: &str) -> Option<Held> {
        let is_random = self.is_random();
        let Some(generator) = self.generator() else {
            // The record says where, and how much at a time.
            let is_drawn = ["bs", "rwmixread", "rwmixwrite", "random_distribution", "ba"];
            return is_drawn.contains(&name).then_some(Held::Nothing);
        };
        let mix = &generator.operations;
        let is_mixed = (mix.read_pct > 0.0 && mix.read_pct < 100.0) || self.asks_for_a_mix();
        let share = |pct: f64| match is_mixed {
            true => Held::value(pct),
            false => Held::Nothing,
        };
        Some(match name {
            "rwmixread" if self.is_overridden("rwmixread", "rwmixwrite") => Held::Nothing,
            "rwmixwrite" if self.is_overridden("rwmixwrite", "rwmixread") => Held::Nothing,
            "rwmixread" => share(mix.read_pct),
            "rwmixwrite" => share(100.0 - mix.read_pct),
            "bs" | "bsrange" if self.has_given("bssplit") => Held::Nothing,
            "bs" if self.has_given("bsrange") => Held::Nothing,
            "bsrange" | "bssplit" if !self.has_given(name) => Held::Nothing,
            "bs" | "bsrange" | "bssplit" => {
                let sizes = &generator.transfer;
                let each = [
                    (mix.read_pct, &sizes.read),
                    (mix.write_pct, &sizes.write),
                    (mix.trim_pct, &sizes.trim),
                ];
                let mut texts: Vec<String> = Vec::new();
                for (_, sizes) in each.into_iter().filter(|(pct, _)| *pct > 0.0) {
                    let text = sizes_text(sizes);
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
                Held::Value(texts.join(","))
            }
            "ba" if is_random => {
                let texts: Vec<String> = generator
                    .align
                    .bytes()
                    .into_iter()
                    .map(bytes_text)
                    .collect();
                Held::Value(texts.join(","))
            }
            "ba" | "random_distribution" | "percentage_random" | "norandommap" | "rw_sequencer" => {
                Held::said_if(is_random)
            }
            _ => return None,
        })
    }

    fn of_zones(&self, name: &str) -> Option<Held> {
        let is_of_zones = ["zonemode", "zonesize", "zonerange", "zoneskip"].contains(&name);
        let Some(StepPattern::Zones {
            zone_bytes,
            skip_bytes,
            ..
        }) = self.steps()
        else {
            return is_of_zones.then_some(Held::Nothing);
        };
        Some(match name {
            "zonemode" => Held::value("strided"),
            "zonerange" => Held::Value(bytes_text(*zone_bytes)),
            "zoneskip" if *skip_bytes > 0 => Held::Value(bytes_text(*skip_bytes)),
            "zoneskip" => Held::Nothing,
            _ => return None,
        })
    }

    fn of_files(&self, name: &str) -> Option<Held> {
        let regions = &self.bound.regions;
        let open = self.open();
        let is_given = self.has_given(name);
        Some(match name {
            "size" if self.generator().is_none() => Held::said_if(is_given),
            "size" => {
                let bytes = regions.iter().map(|region| region.width);
                let is_known = |id: &TargetId| (self.jobs.is_known)(*id);
                match self.stream.targets.iter().all(is_known) {
                    true => Held::Found(bytes_text(bytes.fold(0, u64::saturating_add))),
                    false => Held::Found("as found".to_owned()),
                }
            }
            "offset" => match regions.first().map_or(0, |region| region.low) {
                0 => Held::said_if(is_given),
                low => Held::Value(bytes_text(low)),
            },
            "io_size" => match self.bytes_of_loop() {
                Some(bytes) => Held::Value(bytes_text(bytes)),
                None => Held::Nothing,
            },
            "nrfiles" => Held::value(self.stream.targets.len()),
            "file_service_type" => Held::said_if(is_given || self.stream.targets.len() > 1),
            "filename_format" => {
                Held::said_if(!self.has_given("filename") && !self.has_given("opendir"))
            }
            "direct" => Held::on(open.direct),
            "buffered" if is_given => Held::on(!open.direct),
            "buffered" => Held::Nothing,
            "invalidate" if is_given || open.drops_cache => Held::on(open.drops_cache),
            "invalidate" => Held::Nothing,
            "fadvise_hint" => Held::said_if(is_given || (open.advice.is_some() && !open.direct)),
            "fallocate" => Held::said_if(is_given || self.changes_data()),
            _ => return None,
        })
    }

    fn of_queue(&self, name: &str) -> Option<Held> {
        let flow = &self.stream.flow;
        let batches = flow.batches;
        let count = |count: Option<u32>| count.map_or(Held::Nothing, Held::value);
        let priority = flow.placement.io_priority;
        Some(match name {
            "iodepth" => Held::value(self.slots()),
            "iodepth_batch" | "iodepth_batch_complete_min" if self.slots() == 1 => Held::Nothing,
            "iodepth_batch" => count(batches.submit_most),
            "iodepth_batch_complete_min" => Held::value(batches.reap_least.unwrap_or(1)),
            "iodepth_batch_complete_max" => count(batches.reap_most),
            "iodepth_low" => count(batches.refill_at),
            "prioclass" => priority.map_or(Held::Nothing, |set| Held::value(set.class)),
            "prio" => priority.map_or(Held::Nothing, |set| Held::value(set.level)),
            "priohint" => match priority {
                Some(set) if set.hint > 0 => Held::value(set.hint),
                _ => Held::Nothing,
            },
            "cmdprio_class" | "cmdprio" | "cmdprio_hint" => {
                let pool = &self.run.run.pools[self.stream.pool.index()];
                Held::said_if(!pool.priorities.is_empty())
            }
            _ => return None,
        })
    }

    fn of_data(&self, name: &str) -> Option<Held> {
        let data = &self.stream.data;
        let logs = [
            "write_bw_log",
            "write_iops_log",
            "write_lat_log",
            "write_hist_log",
        ];
        let has_logs = || logs.iter().any(|log| self.has_given(log));
        Some(match name {
            "randrepeat" if self.has_given(name) && !self.is_active(name) && self.job.repeats => {
                Held::Nothing
            }
            "randrepeat" => Held::on(self.job.repeats),
            "allrandrepeat" => Held::said_if(self.has_given(name)),
            "randseed" if !self.job.repeats => Held::value("another one for each execution"),
            "randseed" => Held::value(self.bound.seed),
            "buffer_compress_chunk" => {
                let chunk = bytes_text(data.chunk_bytes);
                match data.compression_ratio > 1.0 {
                    true => Held::Value(chunk),
                    false => Held::Nothing,
                }
            }
            "verify_interval" => match data.check {
                Some(check) => Held::Value(bytes_text(check.block_bytes)),
                None => Held::Nothing,
            },
            "scramble_buffers" => {
                let is_whole = data.pattern.is_some() || data.duplicates.is_some();
                let is_refilled = self.is_active("refill_buffers") || is_whole;
                Held::said_if(self.changes_data() && !is_refilled)
            }
            "per_job_logs" | "log_window_value" | "log_entries" => Held::said_if(has_logs()),
            _ => return None,
        })
    }
}
