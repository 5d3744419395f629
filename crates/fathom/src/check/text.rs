//! What `fathom check` says to people. A job of a million files is told in a few lines; `--json` lists all.
use super::{Looked, TargetOutput, listed, targets, total_seconds};
use crate::launch::{planned_text, print_refusal, timed_seconds};
use crate::plan_file::Reading;
use crate::render;
use host::guard::Refused;
use plan::{Bytes, Diagnostic, Plan, Repeat, When};
use std::collections::BTreeMap;

/// Targets with a line each. More of them are told by what they have in common.
const TARGETS_MAX: usize = 16;

/// Refused targets that are shown.
const REFUSALS_MAX: usize = 5;

pub fn print(reading: &Reading, looked: &Looked, diagnostics: &[Diagnostic]) {
    render::print(diagnostics, &reading.sources);
    if reading.listing.is_empty() {
        return;
    }
    outln!("runs, in order:");
    for run in listed(reading, looked) {
        let elapsed = match (run.elapsed_s, run.ends_at_size) {
            (Some(seconds), false) => format!("{seconds} s"),
            (Some(seconds), true) => format!("to its end or {seconds} s"),
            (None, _) => "to its end".to_owned(),
        };
        let warmup = if run.warmup_s > 0 {
            format!(" after {} s of warm-up", run.warmup_s)
        } else {
            String::new()
        };
        let pause = if run.pause_s > 0 {
            format!(", then a pause of {} s", run.pause_s)
        } else {
            String::new()
        };
        outln!(
            "  {}: rate {}, {}, {elapsed}{warmup}{pause}, every {} s; loops: {}",
            run.name,
            run.rate,
            plan::counted(run.threads, "thread"),
            run.interval_s,
            run.loops
        );
    }
    let timed_s = looked
        .plan
        .as_ref()
        .map_or(0, |plan| timed_seconds(plan, 0));
    outln!(
        "total time: {}",
        planned_text(total_seconds(reading, looked), timed_s)
    );
    if let Some(plan) = &reading.plan {
        print_steering(plan);
    }
    print_targets(reading, looked);
    if let Some(doubt) = looked.passed.doubt() {
        errln!("note: {doubt}");
    }
    if let Some(told) = looked.passed.told() {
        outln!("{told}");
    }
    if let (Some(refused), Some(plan)) = (&looked.refused, &looked.plan) {
        errln!("\na run would be refused:");
        print_refusal(&first_of(refused), plan);
        if let Some(more) = refused.refusals.len().checked_sub(REFUSALS_MAX + 1) {
            errln!(
                "… and {} targets more; --write-overwrite FILE writes the words for all",
                more + 1
            );
        }
    }
}

/// What is not shown of them is counted.
fn first_of(refused: &Refused) -> Refused {
    let most = |count: usize| count.min(REFUSALS_MAX);
    Refused {
        refusals: refused.refusals[..most(refused.refusals.len())].to_vec(),
        no_space: refused.no_space[..most(refused.no_space.len())].to_vec(),
    }
}

/// Commands, repetition and the rest that surrounds the runs. Nothing of it happens here.
fn print_steering(plan: &Plan) {
    match plan.steering.repeat {
        Repeat::Once => {}
        Repeat::Times(times) => outln!("all runs {times} times"),
        Repeat::For(time) => outln!("all runs over and over, until {time} have passed"),
        Repeat::Endless => outln!("all runs over and over, without end"),
    }
    for (when, command) in plan.steering.commands() {
        outln!("command {}: {}", when_text(plan, when), command.text);
    }
    if let Some(command) = &plan.steering.failures.command {
        outln!("command at the first failed I/O: {command}");
    }
    if let Some(path) = &plan.steering.stop_file {
        outln!("ended by words in: {}", path.display());
    }
}

pub fn when_text(plan: &Plan, when: When) -> String {
    let runs = |at: usize| {
        let runs = &plan.steering.around[at].runs;
        let name = runs.first().map_or("", |id| &plan.spec(*id).name);
        match runs.len() {
            1 => format!("`{name}`"),
            count => format!("each of {count} runs from `{name}` on"),
        }
    };
    match when {
        When::BeforeAll => "before the first run".to_owned(),
        When::BeforeEach(at) => format!("before {}", runs(at)),
        When::AfterEach(at) => format!("after {}", runs(at)),
        When::AfterAll => "after the last run".to_owned(),
    }
}

/// Targets that differ in nothing but name and path.
struct Alike {
    first: TargetOutput,
    count: usize,
    /// Name and path of the last.
    last: (String, String),
}

fn print_targets(reading: &Reading, looked: &Looked) {
    let mut shown = Vec::new();
    let mut groups: Vec<Alike> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = 0;
    for target in targets(reading, looked) {
        all += 1;
        let told = told(&target, false);
        if shown.len() < TARGETS_MAX {
            shown.push(format!("  {} ({}): {told}", target.name, target.path));
        }
        match places.get(&told) {
            Some(place) => {
                let group = &mut groups[*place];
                group.count += 1;
                group.last = (target.name, target.path);
            }
            None => {
                places.insert(told, groups.len());
                groups.push(Alike {
                    last: (target.name.clone(), target.path.clone()),
                    first: target,
                    count: 1,
                });
            }
        }
    }
    if all > 0 {
        outln!("targets:");
    }
    if all <= TARGETS_MAX {
        shown.iter().for_each(|line| outln!("{line}"));
        return;
    }
    for group in groups.iter().take(TARGETS_MAX) {
        print_alike(group);
    }
    let left_out = groups.iter().skip(TARGETS_MAX).map(|group| group.count);
    match left_out.sum::<usize>() {
        0 => {}
        count => outln!("  … and {count} more; --json lists all"),
    }
}

fn print_alike(group: &Alike) {
    let Alike { first, count, last } = group;
    let one = |name: &str, path: &str| match name == path {
        true => path.to_owned(),
        false => format!("{name} ({path})"),
    };
    let told = told(first, *count > 1);
    let first = one(&first.name, &first.path);
    match count {
        1 => outln!("  {first}: {told}"),
        count => outln!(
            "  {count} alike, {first} to {}: {told}",
            one(&last.0, &last.1)
        ),
    }
}

/// All of a target but its name and path.
fn told(target: &TargetOutput, is_one_of_many: bool) -> String {
    let each = if is_one_of_many { " each" } else { "" };
    let size = target.bytes.map(|bytes| format!("{}{each}", Bytes(bytes)));
    if let Some(files) = target.files {
        let size = size.unwrap_or_default();
        let found = match target.found {
            "missing" => "not here",
            found => found,
        };
        let write = match target.is_written {
            true => "files in it may be made, changed and removed",
            false => "only read",
        };
        return format!("anchor, {found}, {files} files, {size}, {write}");
    }
    let size = size.unwrap_or("size not known here".to_owned());
    let write = match (target.is_written, target.overwrite) {
        (false, _) => "only read".to_owned(),
        (true, None) => "may be overwritten, all of it".to_owned(),
        (true, Some((low, end))) => format!("bytes {low} to {end} may be overwritten"),
    };
    let made = if target.is_prepared {
        ", made or extended first"
    } else {
        ""
    };
    let found = match target.found {
        "missing" if !target.is_prepared => "not here",
        found => found,
    };
    format!("{found}, {size}, {write}{made}")
}
