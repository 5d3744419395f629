//! What `fathom check` says to people. A job of a million files is told in a few lines.
use super::{Around, Looked, TARGETS_MAX, TargetOutput, Traits, listed, targets, total_seconds};
use crate::launch::{planned_text, timed_seconds};
use crate::plan_file::Reading;
use crate::refusals::print_refusal;
use crate::render;
use host::guard::Refused;
use plan::{Bytes, Diagnostic, Plan, Repeat, When};
use std::collections::BTreeMap;

/// Refused targets that are shown.
const REFUSALS_MAX: usize = 5;

pub fn print(reading: &Reading, looked: &Looked, diagnostics: &[Diagnostic], around: &Around) {
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
        // `None` is how the listing of the original says it, for the scripts that read it.
        let loops = match run.loops.as_str() {
            "" | "None" => String::new(),
            loops => format!("; loops: {loops}"),
        };
        outln!(
            "  {}: rate {}, {}, {elapsed}{warmup}{pause}, every {} s{loops}",
            run.name,
            run.rate,
            plan::counted(run.threads, "thread"),
            run.interval_s,
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
    out!("{}", around.text);
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

/// Commands, repetition and the rest that surrounds the runs, in lines. Nothing of it happens here.
pub fn steering_text(plan: &Plan) -> String {
    let mut lines = Vec::new();
    match plan.steering.repeat {
        Repeat::Once => {}
        Repeat::Times(times) => lines.push(format!("all runs {times} times")),
        Repeat::For(time) => {
            lines.push(format!("all runs over and over, until {time} have passed"));
        }
        Repeat::Endless => lines.push("all runs over and over, without end".to_owned()),
    }
    for (when, command) in plan.steering.commands() {
        let when = when_text(plan, when);
        lines.push(format!("command {when}: {}", command.text));
    }
    if let Some(command) = &plan.steering.failures.command {
        lines.push(format!("command at the first failed I/O: {command}"));
    }
    if let Some(path) = &plan.steering.stop_file {
        lines.push(format!("ended by words in: {}", path.display()));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
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
struct Alike<'a> {
    first: TargetOutput<'a>,
    count: usize,
    last: Option<TargetOutput<'a>>,
}

fn print_targets(reading: &Reading, looked: &Looked) {
    let mut shown = Vec::new();
    let mut groups: Vec<Alike> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = 0;
    let mut place_before: Option<usize> = None;
    for target in targets(reading, looked) {
        all += 1;
        if shown.len() < TARGETS_MAX {
            let told = told(&target.traits, false);
            shown.push(format!("  {} ({}): {told}", target.name, target.path));
        }
        // Most are as the one before: words are made for the others only.
        let as_before =
            place_before.filter(|place| groups[*place].traits_of_last() == &target.traits);
        let place = as_before.unwrap_or_else(|| {
            let place = places.entry(told(&target.traits, false));
            *place.or_insert(groups.len())
        });
        place_before = Some(place);
        match groups.get_mut(place) {
            Some(group) => {
                group.count += 1;
                group.last = Some(target);
            }
            None => groups.push(Alike {
                first: target,
                count: 1,
                last: None,
            }),
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

impl Alike<'_> {
    fn traits_of_last(&self) -> &Traits {
        &self.last.as_ref().unwrap_or(&self.first).traits
    }
}

fn print_alike(group: &Alike) {
    let Alike { first, count, last } = group;
    let one = |target: &TargetOutput| match target.name == target.path {
        true => target.path.to_string(),
        false => format!("{} ({})", target.name, target.path),
    };
    let told = told(&first.traits, last.is_some());
    let first = one(first);
    match last {
        None => outln!("  {first}: {told}"),
        Some(last) => outln!("  {count} alike, {first} to {}: {told}", one(last)),
    }
}

fn told(target: &Traits, is_one_of_many: bool) -> String {
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
