//! What runs, but probably not as meant, as far as only a look at the machine tells: limits of the
//! host, links, holes in files, where results go. The facts come in as values; nothing is looked up.
use crate::lint::LintSelection;
use plan::{
    Bound, Bytes, Diagnostic, Generator, IoMethod, OpSource, Origin, Override, Plan, RunKind,
    RunSpec, SizeRule, Stream, Target, TargetId,
};
use std::collections::HashMap;
use std::rc::Rc;

/// The language that a job is written in: codes and advice are in its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    Vdbench,
    Fio,
    /// Nobody wrote a job: a target was named on the command line.
    #[default]
    Options,
}

impl Language {
    const ALL: [Self; 3] = [Self::Vdbench, Self::Fio, Self::Options];

    pub fn name(self) -> &'static str {
        match self {
            Self::Vdbench => "vdbench",
            Self::Fio => "fio",
            Self::Options => "options",
        }
    }

    /// The one of this name; that of options where there is none.
    pub fn of(name: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|one| one.name() == name).unwrap_or_default()
    }
}

/// The codes are those of Vdbench, which has each of these findings.
static OPTION_WORDS: Words = Words {
    use_fewer: "use fewer `--threads`",
    use_smaller: "use fewer `--threads`, or a smaller `--bs`",
    open_direct: "leave out `--buffered`",
    write_first: "or use a target that is full",
    ..crate::vdbench::MACHINE_WORDS
};

impl Language {
    fn words(self) -> &'static Words {
        match self {
            Self::Vdbench => &crate::vdbench::MACHINE_WORDS,
            Self::Fio => &crate::fio::MACHINE_WORDS,
            Self::Options => &OPTION_WORDS,
        }
    }
}

/// How a language says what is found.
pub(crate) struct Words {
    pub same_device: &'static str,
    pub cached: &'static str,
    /// Whether the lints of its text have judged targets whose sizes the job gives.
    pub has_judged_given_sizes: bool,
    pub beyond_storage: &'static str,
    pub kernel_limits: &'static str,
    pub unwritten: &'static str,
    pub results_on_storage: &'static str,
    /// Clauses in the imperative, from here on.
    pub use_fewer: &'static str,
    pub use_smaller: &'static str,
    pub open_direct: &'static str,
    pub write_first: &'static str,
    pub move_results: &'static str,
}

/// What is known of the machine that a job is to run on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// One per target of the plan, in order; those that are missing are not judged.
    pub targets: Vec<StorageFacts>,
    pub limits: Limits,
    pub results: Option<ResultPlace>,
    /// Memory of the host; zero where it is not known.
    pub memory_bytes: u64,
}

/// What stands at the path of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageFacts {
    /// The same for two paths that lead to one file or device, links followed. For a file the
    /// numbers of its file system and of its inode, for a device its own number and zero.
    pub identity: Option<(u64, u64)>,
    /// Numbers of the block devices that hold it: the device itself and those that it is a part of
    /// or is made from; for a file, those of its file system.
    pub devices: Rc<[u64]>,
    /// The present length of a file, or the size of a device; zero where it is not known.
    pub bytes: u64,
    /// What of the length has blocks; `None` for devices, and where the file system does not say.
    pub allocated_bytes: Option<u64>,
}

/// What the kernel and the host allow; `None` where it is not known or not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// I/Os in flight of one process.
    pub in_flight: Option<Limit>,
    /// Files open at a time, those that the process needs for itself left out.
    pub open_files: Option<Limit>,
    /// Bytes for the buffers of I/Os in flight.
    pub buffer_bytes: Option<Limit>,
}

/// How much there may be, what says so, and how that is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    pub max: u64,
    /// Such as `ulimit -n`, with the backticks.
    pub name: String,
    /// A clause in the imperative.
    pub raise: String,
}

/// Where results are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultPlace {
    pub path: String,
    /// Numbers of the block devices that hold it, as in [`StorageFacts::devices`].
    pub devices: Rc<[u64]>,
}

/// A file with less than this share of its length in blocks has holes: metadata and compression
/// blur the rest.
const WRITTEN_SHARE: f64 = 0.95;

/// Judges a plan by the machine, with the levels of the selection. One finding per kind and target.
pub fn machine_lints(
    plan: &Plan,
    facts: &MachineFacts,
    language: Language,
    selection: &LintSelection,
) -> Vec<Diagnostic> {
    let words = language.words();
    let mut found = same_device(plan, facts, words);
    found.extend(limits(plan, &facts.limits, words));
    found.extend(cached(plan, facts, words));
    found.extend(beyond(plan, facts, words));
    found.extend(unwritten(plan, facts, words));
    found.extend(results_on_storage(plan, facts, words));
    found
        .into_iter()
        .filter_map(|diagnostic| selection.apply(diagnostic))
        .collect()
}

fn at_target(diagnostic: Diagnostic, target: &Target, label: impl Into<String>) -> Diagnostic {
    match target.origin {
        Origin::Written(span) => diagnostic.at(span, label),
        _ => diagnostic,
    }
}

/// Two names that lead to one place. The reader has compared the names as they are written.
fn same_device(plan: &Plan, facts: &MachineFacts, words: &Words) -> Vec<Diagnostic> {
    let mut seen: HashMap<(u64, u64), &Target> = HashMap::new();
    let mut found = Vec::new();
    for (target, facts) in plan.targets.iter().zip(&facts.targets) {
        let Some(identity) = facts.identity else {
            continue;
        };
        let Some(first) = seen.get(&identity) else {
            seen.insert(identity, target);
            continue;
        };
        if first.path == target.path {
            continue;
        }
        let message = format!(
            "`{}` and `{}` are the same device or file",
            first.name, target.name
        );
        let warning = Diagnostic::warning(words.same_device, message)
            .with_help("give each its own device or file; links lead to one place");
        let mut warning = at_target(
            warning,
            target,
            format!("leads to {}", first.path.display()),
        );
        if let Origin::Written(span) = first.origin {
            warning = warning.with_related(span, "first here");
        }
        found.push(warning);
    }
    found
}

/// What the largest run needs.
#[derive(Default)]
struct Needs<'a> {
    in_flight: (u64, Option<&'a RunSpec>),
    open_files: (u64, Option<&'a RunSpec>),
    buffer_bytes: (u64, Option<&'a RunSpec>),
}

fn limits(plan: &Plan, limits: &Limits, words: &Words) -> Vec<Diagnostic> {
    let needs = needs(plan);
    let kinds = [
        (needs.in_flight, &limits.in_flight, Kind::InFlight),
        (needs.open_files, &limits.open_files, Kind::OpenFiles),
        (needs.buffer_bytes, &limits.buffer_bytes, Kind::Buffers),
    ];
    kinds
        .into_iter()
        .filter_map(|((needed, run), limit, kind)| {
            let (run, limit) = (run?, limit.as_ref()?);
            (needed > limit.max).then(|| beyond_limit(run, needed, limit, kind, words))
        })
        .collect()
}

#[derive(Clone, Copy)]
enum Kind {
    InFlight,
    OpenFiles,
    Buffers,
}

fn beyond_limit(
    run: &RunSpec,
    needed: u64,
    limit: &Limit,
    kind: Kind,
    words: &Words,
) -> Diagnostic {
    let (run_name, max, name) = (&run.name, limit.max, &limit.name);
    let (message, instead) = match kind {
        Kind::InFlight => (
            format!(
                "run `{run_name}` keeps {needed} I/Os in flight, and {name} leaves room for {max}"
            ),
            words.use_fewer,
        ),
        Kind::OpenFiles => (
            format!(
                "run `{run_name}` needs {needed} files open at a time, and {name} leaves room for {max}"
            ),
            words.use_fewer,
        ),
        Kind::Buffers => (
            format!(
                "run `{run_name}` needs buffers of {}, and {name} leaves {}",
                Bytes(needed),
                Bytes(max)
            ),
            words.use_smaller,
        ),
    };
    let warning = Diagnostic::warning(words.kernel_limits, message)
        .with_help(format!("{}; or {instead}", limit.raise));
    match run.origin {
        Origin::Written(span) => warning.at(span, "this run"),
        _ => warning,
    }
}

/// Per template first: runs are many, and most of them share one.
fn needs(plan: &Plan) -> Needs<'_> {
    struct PerTemplate {
        slots: u64,
        pools: u64,
        targets: u64,
        transfer: u64,
    }
    let templates: Vec<PerTemplate> = plan
        .templates
        .iter()
        .map(|template| {
            let opens = |stream: &&Stream| {
                let method = template.pools[stream.pool.index()].method;
                !matches!(method, Some(IoMethod::Names(_)))
            };
            let mut used: Vec<TargetId> = template
                .streams
                .iter()
                .filter(opens)
                .flat_map(|stream| stream.targets.iter().copied())
                .collect();
            used.sort_unstable();
            used.dedup();
            let transfers = template.streams.iter().filter_map(generator);
            PerTemplate {
                slots: template
                    .pools
                    .iter()
                    .map(|pool| u64::from(pool.slots))
                    .sum(),
                pools: template.pools.len() as u64,
                targets: used.len() as u64,
                transfer: transfers
                    .map(Generator::largest_transfer)
                    .max()
                    .unwrap_or(0),
            }
        })
        .collect();
    let mut needs = Needs::default();
    for run in &plan.runs {
        let template = &templates[run.template.index()];
        let mut slots = template.slots;
        let mut transfer = template.transfer;
        for change in &run.overrides {
            match change {
                Override::Slots(each) => slots = u64::from(*each) * template.pools,
                Override::TransferBytes(bytes) => transfer = *bytes,
                _ => {}
            }
        }
        let raise = |need: &mut (u64, Option<_>), needed: u64| {
            // A preparation may turn out not to be needed, and has no place in the text.
            let is_better_known = needed == need.0
                && need
                    .1
                    .is_some_and(|known: &RunSpec| known.kind == RunKind::Prepare);
            if needed > need.0 || is_better_known {
                *need = (needed, Some(run));
            }
        };
        raise(&mut needs.in_flight, slots);
        // Of files without an I/O in flight none needs to be open.
        raise(&mut needs.open_files, template.targets.min(slots));
        raise(&mut needs.buffer_bytes, slots.saturating_mul(transfer));
    }
    needs
}

fn generator(stream: &Stream) -> Option<&Generator> {
    match &stream.source {
        OpSource::Generator(generator) => Some(generator),
        _ => None,
    }
}

/// Storage without direct I/O that fits in twice the memory, where only the machine knows how large it
/// is. The reader has judged what the text gives the sizes of.
fn cached(plan: &Plan, facts: &MachineFacts, words: &Words) -> Option<Diagnostic> {
    let bytes_of = |id: TargetId| {
        let found = facts.targets.get(id.index())?.bytes;
        Some(plan.target(id).size.of_found(found)).filter(|bytes| *bytes > 0)
    };
    let mut buffered: Vec<Option<(TargetId, u64)>> = Vec::new();
    for template in &plan.templates {
        let mut used: Vec<TargetId> = template
            .streams
            .iter()
            .flat_map(|stream| stream.targets.iter().map(move |id| (stream, *id)))
            .filter(|(stream, id)| !stream.open_mode(plan.target(*id)).direct)
            .map(|(_, id)| id)
            .collect();
        used.sort_unstable();
        used.dedup();
        let is_judged = |id: &TargetId| {
            words.has_judged_given_sizes && matches!(plan.target(*id).size, SizeRule::Bytes(_))
        };
        let total: Option<u64> = used.iter().copied().map(bytes_of).sum();
        let first = used
            .first()
            .copied()
            .filter(|_| !used.iter().all(is_judged));
        buffered.push(first.zip(total));
    }
    let (run, first, total) = plan.runs.iter().find_map(|run| {
        let (first, total) = buffered[run.template.index()]?;
        let is_judged = run.kind == RunKind::Measure && facts.memory_bytes > 0;
        (is_judged && total < facts.memory_bytes.saturating_mul(2)).then_some((run, first, total))
    })?;
    let (total, memory) = (Bytes(total), Bytes(facts.memory_bytes));
    let message = format!(
        "run `{}` uses {total} through the page cache of a host with {memory}",
        run.name
    );
    let direct = words.open_direct;
    let warning = Diagnostic::warning(words.cached, message)
        .with_help(format!("{direct}, or use more than twice the memory"));
    Some(at_target(
        warning,
        plan.target(first),
        "memory may answer for the storage",
    ))
}

/// A range in bytes that ends behind a target whose size only the machine knows.
fn beyond(plan: &Plan, facts: &MachineFacts, words: &Words) -> Vec<Diagnostic> {
    let mut found: Vec<(TargetId, Diagnostic)> = Vec::new();
    let streams = plan.templates.iter().flat_map(|template| &template.streams);
    for stream in streams {
        let Some(Bound::Bytes(high)) = generator(stream).map(|one| one.region.high) else {
            continue;
        };
        for id in &stream.targets {
            let target = plan.target(*id);
            let bytes = facts.targets.get(id.index()).map_or(0, |facts| facts.bytes);
            let is_known = found.iter().any(|(known, _)| known == id);
            if is_known || target.size != SizeRule::AsFound || bytes == 0 || high <= bytes {
                continue;
            }
            let message = format!(
                "the range on `{}` ends at {}, and `{}` at {}",
                target.name,
                Bytes(high),
                target.path.display(),
                Bytes(bytes)
            );
            let warning = Diagnostic::warning(words.beyond_storage, message)
                .with_help("end the range within the storage, or write percentages");
            found.push((*id, at_target(warning, target, "ends before the range")));
        }
    }
    found
        .into_iter()
        .map(|(_, diagnostic)| diagnostic)
        .collect()
}

/// Files with holes that are read before they are written from beginning to end: a hole is read from
/// no storage. A file that is missing is made by a preparation, which writes all of it.
fn unwritten(plan: &Plan, facts: &MachineFacts, words: &Words) -> Vec<Diagnostic> {
    let mut holes: HashMap<TargetId, (u64, u64)> = HashMap::new();
    for (index, facts) in facts.targets.iter().enumerate().take(plan.targets.len()) {
        if let Some(allocated) = facts.allocated_bytes
            && (allocated as f64) < facts.bytes as f64 * WRITTEN_SHARE
        {
            holes.insert(TargetId::at(index), (allocated, facts.bytes));
        }
    }
    let mut found = Vec::new();
    for spec in &plan.runs {
        if holes.is_empty() {
            break;
        }
        let overrides = &spec.overrides;
        for stream in &plan.templates[spec.template.index()].streams {
            let Some(generator) = generator(stream) else {
                continue;
            };
            let (reads, fills) = (reads(generator, overrides), generator.fills(overrides));
            for id in &stream.targets {
                if fills {
                    holes.remove(id);
                } else if let Some((allocated, bytes)) = holes.get(id).copied().filter(|_| reads) {
                    holes.remove(id);
                    let target = plan.target(*id);
                    found.push(reads_holes(target, &spec.name, allocated, bytes, words));
                }
            }
        }
    }
    found
}

fn reads(generator: &Generator, overrides: &[Override]) -> bool {
    let mut read_pct = generator.operations.read_pct;
    for change in overrides {
        if let Override::ReadPct(pct) = change {
            read_pct = *pct;
        }
    }
    read_pct > 0.0
}

fn reads_holes(
    target: &Target,
    run: &str,
    allocated: u64,
    bytes: u64,
    words: &Words,
) -> Diagnostic {
    let (allocated, bytes) = (Bytes(allocated), Bytes(bytes));
    let message = format!(
        "run `{run}` reads `{}`, of which {allocated} of {bytes} were ever written",
        target.path.display()
    );
    let warning = Diagnostic::warning(words.unwritten, message).with_help(format!(
        "write it first: `fathom prefill`, {}",
        words.write_first
    ));
    at_target(warning, target, "has holes, which no storage answers for")
}

/// Writing down results is I/O too.
fn results_on_storage(plan: &Plan, facts: &MachineFacts, words: &Words) -> Option<Diagnostic> {
    let results = facts.results.as_ref()?;
    let mut targets = plan.targets.iter().zip(&facts.targets);
    let (target, _) = targets.find(|(_, facts)| {
        facts
            .devices
            .iter()
            .any(|device| results.devices.contains(device))
    })?;
    let message = format!(
        "results go to `{}`, which is on the storage under test (`{}`); write them to another disk, {}",
        results.path,
        target.path.display(),
        words.move_results
    );
    // One line without its place in the file: nothing there is wrong.
    Some(Diagnostic::warning(words.results_on_storage, message))
}

#[cfg(test)]
mod tests;
