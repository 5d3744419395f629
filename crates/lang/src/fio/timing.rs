//! Which jobs run side by side, in which order, and for how long.
use super::jobs::Job;
use super::resolve::Spec;
use super::support::{not_built, push_once};
use plan::{Diagnostic, Nanos, Window};

/// Jobs that run side by side.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Places of the jobs, each with its number for reports.
    pub members: Vec<(usize, u32)>,
    pub window: Window,
    pub warmup: Nanos,
    /// How often figures are taken.
    pub interval: Nanos,
}

/// The usual time of a sample of rates, in milliseconds.
const SAMPLE_MS: u64 = 500;
/// Figures are taken no more often than this, in milliseconds.
const INTERVAL_LEAST_MS: u64 = 10;
const NS_PER_MS: u64 = 1_000_000;

/// The groups in the order in which they run.
pub(crate) fn groups(specs: &[Spec<'_>], blockers: &mut Vec<Diagnostic>) -> Vec<Group> {
    let mut segments: Vec<Vec<(usize, u32)>> = Vec::new();
    let mut report_group = 0;
    let mut is_first = true;
    for (index, spec) in specs.iter().enumerate() {
        if spec.clones == 0 {
            continue;
        }
        let job = spec.job;
        let waits = job.is_on("stonewall", false) || job.opens_file;
        if (waits || job.is_on("new_group", false)) && !is_first {
            report_group += 1;
        }
        let begins = is_first || waits || waits_for_all(job, segments.last(), specs, blockers);
        is_first = false;
        if begins {
            segments.push(Vec::new());
        }
        let last = segments.last_mut().expect("the first job begins a segment");
        last.push((index, report_group));
    }
    segments
        .into_iter()
        .map(|members| Group {
            window: window(&members, specs, blockers),
            warmup: warmup(&members, specs, blockers),
            interval: interval(&members, specs, blockers),
            members,
        })
        .collect()
}

/// Whether a job has to wait for just what runs before it.
fn waits_for_all(
    job: &Job,
    running: Option<&Vec<(usize, u32)>>,
    specs: &[Spec<'_>],
    blockers: &mut Vec<Diagnostic>,
) -> bool {
    let awaited = job.text("wait_for").map(str::trim);
    let running = running.map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = running
        .iter()
        .map(|(index, _)| specs[*index].job.name())
        .collect();
    match awaited {
        Some(name) if names == [name] => true,
        Some(name) if names.contains(&name) => {
            let what = "`wait_for` while other jobs go on";
            push_once(blockers, not_built(what, job.place_of("wait_for")));
            false
        }
        // What it waits for has ended before these began.
        Some(_) => false,
        None => {
            let besides = running
                .iter()
                .find_map(|(index, _)| specs[*index].job.given("wait_for"));
            if let Some(given) = besides {
                push_once(
                    blockers,
                    not_built("`wait_for` while other jobs go on", given.span()),
                );
            }
            false
        }
    }
}

/// How long a group runs. Jobs that end at different times each by the clock are not built yet.
fn window(members: &[(usize, u32)], specs: &[Spec<'_>], blockers: &mut Vec<Diagnostic>) -> Window {
    let end = |index: usize| {
        let times = specs[index].times;
        let runtime = times.runtime?;
        Some(runtime.saturating_add(times.delay.1))
    };
    let ends: Vec<Option<u64>> = members.iter().map(|(index, _)| end(*index)).collect();
    for ((index, _), own) in members.iter().zip(&ends) {
        let (low, high) = specs[*index].times.delay;
        let differs = *own != ends[0] || (own.is_some() && low != high);
        if differs {
            let job = specs[*index].job;
            let option = if job.given("runtime").is_some() {
                "runtime"
            } else {
                "startdelay"
            };
            let place = job.place_of(option);
            push_once(
                blockers,
                not_built(
                    "jobs side by side that end at different times by the clock",
                    place,
                ),
            );
        }
    }
    let at_most = ends.iter().flatten().max().map(|nanos| Nanos(*nanos));
    let is_time_based = members
        .iter()
        .any(|(index, _)| specs[*index].times.is_time_based);
    match at_most {
        Some(time) if is_time_based => Window::For(time),
        at_most => Window::UntilDone { at_most },
    }
}

fn warmup(members: &[(usize, u32)], specs: &[Spec<'_>], blockers: &mut Vec<Diagnostic>) -> Nanos {
    let first = specs[members[0].0].times.ramp;
    for (index, _) in members {
        if specs[*index].times.ramp != first {
            let place = specs[*index].job.place_of("ramp_time");
            push_once(
                blockers,
                not_built("jobs side by side with different `ramp_time`", place),
            );
        }
    }
    Nanos(first)
}

/// As long as the shortest sample that a job asks for, and such that every window of a log ends with
/// an interval.
fn interval(members: &[(usize, u32)], specs: &[Spec<'_>], blockers: &mut Vec<Diagnostic>) -> Nanos {
    let jobs = || members.iter().map(|(index, _)| specs[*index].job);
    let sample_ms = jobs()
        .flat_map(|job| ["bwavgtime", "iopsavgtime"].map(|name| milliseconds(job, name)))
        .map(|asked| asked.unwrap_or(SAMPLE_MS))
        .min()
        .unwrap_or(SAMPLE_MS)
        .clamp(100, 10_000);
    let mut step_ms = 0;
    for job in jobs() {
        for (option, window_ms) in log_windows(job) {
            step_ms = common_divisor(step_ms, window_ms);
            if step_ms < INTERVAL_LEAST_MS {
                let what = format!("a step below {INTERVAL_LEAST_MS} ms for the windows of logs");
                push_once(blockers, not_built(&what, job.place_of(option)));
                return Nanos(SAMPLE_MS * NS_PER_MS);
            }
        }
    }
    match step_ms {
        0 => Nanos(sample_ms * NS_PER_MS),
        step_ms => Nanos(step_ms.saturating_mul(NS_PER_MS) / step_ms.div_ceil(sample_ms)),
    }
}

/// The options that give lengths of windows of logs that are written, in milliseconds.
fn log_windows(job: &Job) -> impl Iterator<Item = (&'static str, u64)> {
    let has = |logs: &[&str]| logs.iter().any(|log| job.given(log).is_some());
    let means = has(&["write_bw_log", "write_iops_log", "write_lat_log"]);
    [
        ("log_avg_msec", means),
        ("log_hist_msec", has(&["write_hist_log"])),
    ]
    .into_iter()
    .filter(|(_, is_written)| *is_written)
    .filter_map(|(option, _)| Some((option, milliseconds(job, option)?)))
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
