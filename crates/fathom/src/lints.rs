//! What probably is not as meant, told by a look at the machine: the facts come from `host`, the
//! judgement from `lang`.
use crate::descriptors;
use engine::{BackendChoice, BackendKind};
use host::{Limit, Storage, SysRoot, process_limits};
use lang::{
    Language, Limits, LintSelection, MachineFacts, ResultPlace, StorageFacts, machine_lints,
};
use plan::{BoundPlan, Diagnostic, Target};
use std::path::Path;

/// Threads that the process has for itself: writer, signals, conductor.
const OWN_THREADS: u64 = 8;

/// I/Os in flight of one ring.
const RING_SLOTS_MAX: u64 = 65_536;

/// Levels of lints from the words of `--lint`.
///
/// # Errors
/// The first word that selects nothing, in words.
pub fn selection(words: &[String]) -> Result<LintSelection, String> {
    let mut selection = LintSelection::default();
    for word in words {
        let set = selection.set(word);
        set.map_err(|error| format!("`--lint {word}`: {error}"))?;
    }
    Ok(selection)
}

/// Judges a plan by this machine, on which the run that has most has so many workers. `output` is the folder that the results go to.
pub fn judge(
    plan: &BoundPlan,
    choice: &BackendChoice,
    workers: u32,
    output: Option<&Path>,
    (language, selection): (Language, &LintSelection),
    machine: &Storage,
) -> Vec<Diagnostic> {
    if matches!(choice.kind, BackendKind::Null | BackendKind::Sim) {
        return Vec::new();
    }
    let host = host::facts();
    let facts = MachineFacts {
        targets: plan
            .plan
            .targets
            .iter()
            .map(|target| storage(target, machine))
            .collect(),
        limits: limits(choice, workers, machine.root()),
        results: output.map(|output| ResultPlace {
            path: output.display().to_string(),
            devices: host::devices_of_folder(machine, output),
        }),
        memory_bytes: host.memory_bytes,
    };
    machine_lints(&plan.plan, &facts, language, selection)
}

fn storage(target: &Target, machine: &Storage) -> StorageFacts {
    if !target.is_real() {
        return StorageFacts::default();
    }
    let place = host::storage_place(machine, &target.path);
    StorageFacts {
        identity: place.identity,
        devices: place.devices,
        bytes: place.bytes,
        allocated_bytes: place.written_bytes,
    }
}

fn limits(choice: &BackendChoice, workers: u32, root: &SysRoot) -> Limits {
    let found = process_limits(root);
    let rings = match choice.kind {
        BackendKind::Uring => u64::from(workers),
        _ => 0,
    };
    let in_flight = match choice.kind {
        BackendKind::Aio => found.aio_requests.map(|limit| lang_limit(limit, 0)),
        BackendKind::Uring => Some(lang::Limit {
            max: RING_SLOTS_MAX * rings,
            name: format!("the size of {rings} rings"),
            raise: "use more `--workers`".to_owned(),
        }),
        _ => found.threads.map(|limit| {
            let limit = lang_limit(limit, OWN_THREADS);
            lang::Limit {
                name: format!("{}, with a thread for each,", limit.name),
                ..limit
            }
        }),
    };
    Limits {
        in_flight,
        open_files: found
            .open_files
            .map(|limit| lang_limit(limit, descriptors::OWN_FILES + rings)),
        buffer_bytes: found.memory_bytes.map(|limit| lang_limit(limit, 0)),
    }
}

fn lang_limit(limit: Limit, own: u64) -> lang::Limit {
    lang::Limit {
        max: limit.left.saturating_sub(own),
        name: limit.name,
        raise: limit.raise,
    }
}
