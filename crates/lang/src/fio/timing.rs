//! Which jobs run side by side, in which order, and for how long.
use super::codes;
use super::jobs::Job;
use super::resolve::Spec;
use super::setting::Setting;
use crate::sink::Sink;
use plan::{Diagnostic, Nanos, Window};

/// Jobs that run side by side.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Places of the jobs, each with its number for reports.
    pub members: Vec<(usize, u32)>,
    /// By member, where its time is not that of all.
    pub lives: Vec<Option<Life>>,
    pub window: Window,
    pub warmup: Nanos,
    /// How often figures are taken.
    pub interval: Nanos,
    /// Whether windows of logs are too short for that, so that they need single I/Os.
    pub has_short_windows: bool,
}

impl Group {
    /// How long the last of its jobs is measured, where the clock ends all; syncs may come after that.
    pub fn clock_end_ns(&self) -> Option<u64> {
        let mut windows = self.lives.iter().map(|life| life.as_ref()?.window);
        windows.try_fold(0, |last, window| Some(last.max(window?.0)))
    }
}

/// The time of a job among those that run beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Life {
    pub warmup: Nanos,
    /// In place of that time: how much is done before.
    pub warmup_bytes: Option<u64>,
    pub window: Option<Nanos>,
    /// The place of the job that it waits for.
    pub after: Option<usize>,
    pub ends: Ends,
}

/// Which others the end of a clone ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ends {
    #[default]
    Nothing,
    /// Of its group for reports.
    Group,
    /// All that run beside it.
    All,
}

/// Figures are taken no more often than this, in milliseconds.
const INTERVAL_LEAST_MS: u64 = 10;
const NS_PER_MS: u64 = 1_000_000;

/// The groups in the order in which they run.
pub(crate) fn groups(specs: &[Spec<'_>], notes: &mut Vec<Diagnostic>) -> Vec<Group> {
    let mut blocks: Vec<Vec<(usize, u32)>> = Vec::new();
    let mut report_group = 0;
    for (index, spec) in specs.iter().enumerate() {
        if spec.clones == 0 {
            continue;
        }
        let job = spec.job;
        let waits = job.is_on(on!("stonewall")) || job.opens_file;
        let is_first = blocks.is_empty();
        if (waits || job.is_on(on!("new_group"))) && !is_first {
            report_group += 1;
        }
        if waits || is_first {
            blocks.push(Vec::new());
        }
        let last = blocks.last_mut().expect("the first job begins a block");
        last.push((index, report_group));
    }
    let segments: Vec<Vec<(usize, u32)>> = blocks
        .into_iter()
        .flat_map(|block| in_turn(&block, specs).unwrap_or_else(|| vec![block]))
        .collect();
    let kept = ends_everything(&segments, specs, notes).map_or(segments.len(), |last| last + 1);
    segments
        .into_iter()
        .take(kept)
        .map(|members| group(members, specs))
        .collect()
}

/// Jobs each of which waits for just what runs before it, so that they run one after the other;
/// `None` where some run on while others wait, or end others.
fn in_turn(block: &[(usize, u32)], specs: &[Spec<'_>]) -> Option<Vec<Vec<(usize, u32)>>> {
    let mut parts: Vec<Vec<(usize, u32)>> = Vec::new();
    for member in block {
        let job = specs[member.0].job;
        let running = parts.last().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = running
            .iter()
            .map(|(index, _)| specs[*index].job.name())
            .collect();
        let waits = awaited(block, specs, job);
        let ends_others = ends(job) != Ends::Nothing || ends_on_error(job) != Ends::Nothing;
        if ends_others && block.len() > 1 {
            return None;
        }
        match waits.map(|index| specs[index].job.name()) {
            Some(name) if names == [name] => parts.push(vec![*member]),
            Some(_) => return None,
            None if parts.len() > 1 => return None,
            None if parts.is_empty() => parts.push(vec![*member]),
            None => parts[0].push(*member),
        }
    }
    Some(parts)
}

/// The job of the same block that a job waits for; others have ended before.
fn awaited(block: &[(usize, u32)], specs: &[Spec<'_>], job: &Job) -> Option<usize> {
    let name = job.text("wait_for").map(str::trim)?;
    let mut indexes = block.iter().map(|(index, _)| *index);
    indexes.find(|index| specs[*index].job.name() == name)
}

fn ends(job: &Job) -> Ends {
    match job.is_on(on!("exitall")) {
        true => which(job),
        false => Ends::Nothing,
    }
}

/// Which others end where a failure ends a job.
pub(crate) fn ends_on_error(job: &Job) -> Ends {
    match job.is_on(on!("exitall_on_error")) {
        true => which(job),
        false => Ends::Nothing,
    }
}

fn which(job: &Job) -> Ends {
    match job.word_of(word!("exit_what")) {
        "stonewall" | "all" => Ends::All,
        _ => Ends::Group,
    }
}

/// The amount of I/O in front of what is measured.
pub(crate) fn ramp_bytes(job: &Job, sink: &mut Sink) -> Option<u64> {
    let bytes = job.number("ramp_size").filter(|bytes| *bytes > 0)?;
    if job.nanos("ramp_time").is_some_and(|time| time > 0) {
        let message = "`ramp_time` and `ramp_size` exclude each other";
        let error = Diagnostic::error(codes::CONFLICT, message)
            .at(job.place_of("ramp_size"), "an amount")
            .with_related(job.place_of("ramp_time"), "a time")
            .with_help("keep the one after which figures are to count");
        sink.push(error);
    }
    u64::try_from(bytes).ok()
}

/// The place of the group with whose end all is over, as one of its jobs takes those behind it along.
fn ends_everything(
    segments: &[Vec<(usize, u32)>],
    specs: &[Spec<'_>],
    notes: &mut Vec<Diagnostic>,
) -> Option<usize> {
    let ends_all = |job: &Job| {
        let of_all = job.word_of(word!("exit_what")) == "all";
        of_all && ends(job) != Ends::Nothing
    };
    let job_of = |members: &Vec<(usize, u32)>| {
        let mut jobs = members.iter().map(|(index, _)| specs[*index].job);
        jobs.find(|job| ends_all(job))
    };
    let place = segments
        .iter()
        .position(|members| job_of(members).is_some())?;
    let job = job_of(&segments[place])?;
    let skipped = segments[place + 1..].iter().flatten();
    let names: Vec<String> = skipped
        .map(|(index, _)| format!("`{}`", specs[*index].job.name()))
        .collect();
    if !names.is_empty() {
        let message = format!(
            "`exit_what=all`: the end of `{}` is the end of all, and {} never begin",
            job.name(),
            names.join(", ")
        );
        let note = Diagnostic::note(codes::TRANSLATED, message);
        notes.push(note.at(job.place_of("exit_what"), "ends what comes after it, too"));
    }
    Some(place)
}

fn group(members: Vec<(usize, u32)>, specs: &[Spec<'_>]) -> Group {
    let (interval, has_short_windows) = interval(&members, specs);
    let life = |(index, _): &(usize, u32)| {
        let spec = &specs[*index];
        Life {
            warmup: Nanos(spec.times.ramp),
            warmup_bytes: spec.times.ramp_bytes,
            window: spec.times.runtime.map(Nanos),
            after: awaited(&members, specs, spec.job),
            ends: ends(spec.job),
        }
    };
    let lives: Vec<Life> = members.iter().map(life).collect();
    let times = || members.iter().map(|(index, _)| &specs[*index].times);
    // Syncs at the end come after the last I/O of a job, and their time belongs to it.
    let has_last_syncs = members
        .iter()
        .any(|(index, _)| specs[*index].flow.syncs.are_at_end());
    let is_time_based = times().any(|times| times.is_time_based);
    let is_limited = times().any(|times| times.runtime.is_some());
    let is_shared = !(has_last_syncs && is_limited)
        && lives.iter().all(|life| *life == lives[0])
        && (lives[0].ends == Ends::Nothing && lives[0].after.is_none())
        && lives[0].warmup_bytes.is_none()
        && times().all(|times| times.delay == (0, 0))
        && members
            .iter()
            .all(|(index, _)| specs[*index].flow.depth_search.is_none())
        && (lives[0].warmup.0 == 0
            || !members.iter().any(|(index, _)| ends_itself(&specs[*index])));
    if is_shared && lives[0].warmup.0.is_multiple_of(interval.0) {
        let window = match lives[0].window {
            Some(window) if is_time_based => Window::For(window),
            at_most => Window::UntilDone { at_most },
        };
        return Group {
            window,
            warmup: lives[0].warmup,
            interval,
            has_short_windows,
            lives: vec![None; members.len()],
            members,
        };
    }
    let (warmup, at_most) = common_times(&lives, &members, specs, interval);
    let at_most = at_most.filter(|_| !has_last_syncs);
    Group {
        window: Window::UntilDone { at_most },
        warmup,
        interval,
        has_short_windows,
        lives: lives.into_iter().map(Some).collect(),
        members,
    }
}

/// Whether a job may come to its end before the clock ends it. What it did is told also where it was not yet warm.
fn ends_itself(spec: &Spec<'_>) -> bool {
    !spec.times.is_time_based || spec.amount.operations.is_some()
}

/// What none of the jobs measures, in whole intervals, and when the last of them ends behind it,
/// where all end by the clock.
fn common_times(
    lives: &[Life],
    members: &[(usize, u32)],
    specs: &[Spec<'_>],
    interval: Nanos,
) -> (Nanos, Option<Nanos>) {
    let mut warmup = u64::MAX;
    let mut end = Some(0_u64);
    for (life, (index, _)) in lives.iter().zip(members) {
        let spec = &specs[*index];
        let times = &spec.times;
        if life.after.is_none() {
            let ramp = if ends_itself(spec) { 0 } else { life.warmup.0 };
            warmup = warmup.min(times.delay.0.saturating_add(ramp));
        }
        let begins_by_clock = life.after.is_none() && life.warmup_bytes.is_none();
        let own_end = life.window.filter(|_| begins_by_clock).map(|window| {
            let measured = times.delay.1.saturating_add(life.warmup.0);
            measured.saturating_add(window.0)
        });
        end = end.zip(own_end).map(|(end, own)| end.max(own));
    }
    let warmup = warmup - warmup % interval.0;
    (Nanos(warmup), end.map(|end| Nanos(end - warmup)))
}

/// As long as the shortest sample that a job asks for, and such that every window of a log ends with
/// an interval; whether windows ask for shorter ones than there are.
fn interval(members: &[(usize, u32)], specs: &[Spec<'_>]) -> (Nanos, bool) {
    let jobs = || members.iter().map(|(index, _)| specs[*index].job);
    let mut asked = members
        .iter()
        .map(|(index, _)| specs[*index].times.interval);
    let sampled = || {
        let samples = jobs().flat_map(|job| {
            [number!("bwavgtime"), number!("iopsavgtime")].map(|of| sample_ms(job, of))
        });
        samples.fold(10_000, u64::min).max(100)
    };
    let asked_ms = asked.find_map(|interval| Some(interval? / NS_PER_MS));
    let sample_ms = asked_ms.unwrap_or_else(sampled);
    let step_ms = jobs().flat_map(log_windows).fold(0, common_divisor);
    // Samples that are judged end with an interval, too, unless that would leave logs without rows.
    let judged_ms = jobs().filter_map(judged).fold(step_ms, common_divisor);
    let step_ms = match judged_ms {
        ..INTERVAL_LEAST_MS => step_ms,
        judged_ms => judged_ms,
    };
    let length_ns = match step_ms {
        ..INTERVAL_LEAST_MS => sample_ms * NS_PER_MS,
        step_ms => step_ms.saturating_mul(NS_PER_MS) / step_ms.div_ceil(sample_ms),
    };
    let is_short = (1..INTERVAL_LEAST_MS).contains(&step_ms);
    (Nanos(length_ns), is_short)
}

/// The lengths of windows of logs that are written, in milliseconds.
fn log_windows(job: &Job) -> impl Iterator<Item = u64> {
    let has = |logs: &[&str]| logs.iter().any(|log| job.given(log).is_some());
    let means = has(&["write_bw_log", "write_iops_log", "write_lat_log"]);
    [
        ("log_avg_msec", means),
        ("log_hist_msec", has(&["write_hist_log"])),
    ]
    .into_iter()
    .filter(|(_, is_written)| *is_written)
    .filter_map(|(option, _)| milliseconds(job, option))
}

/// How often a steady state is looked for, in milliseconds, where that was asked.
fn judged(job: &Job) -> Option<u64> {
    job.nanos("steadystate_duration")
        .filter(|window| *window > 0)?;
    Some(job.nanos("steadystate_check_interval")? / NS_PER_MS)
}

/// The length of a sample of rates, in milliseconds; none is as not asked for.
fn sample_ms(job: &Job, setting: Setting<i64>) -> u64 {
    milliseconds(job, setting.name).unwrap_or(setting.default as u64)
}

fn milliseconds(job: &Job, option: &str) -> Option<u64> {
    let asked = u64::try_from(job.number(option)?).ok();
    asked.filter(|asked| *asked > 0)
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}
