//! Where, how urgently and as whom threads work.
use crate::error::EngineError;
use plan::{IoPriority, MemoryPolicy, Owner, Placement};
use std::io;
use sys::thread::MemoryMode;

/// Puts the calling thread where its pool asks for.
pub(crate) fn place(placement: &Placement) -> Result<(), EngineError> {
    let refused = |what: String| move |error| EngineError::Placement { what, error };
    if !placement.cpus.is_empty() {
        let what = format!("CPUs {:?}", placement.cpus);
        sys::thread::allow_cpus(&placement.cpus).map_err(refused(what))?;
    }
    if placement.nice != 0 {
        let what = format!("priority {} for the CPU", placement.nice);
        sys::thread::set_nice(placement.nice).map_err(refused(what))?;
    }
    if let Some(priority) = placement.io_priority {
        let IoPriority { class, level, hint } = priority;
        let what = match hint {
            0 => format!("I/O priority of class {class}, level {level}"),
            _ => format!("I/O priority of class {class}, level {level}, hint {hint}"),
        };
        sys::thread::set_io_priority(priority.word()).map_err(refused(what))?;
    }
    if let Some(memory) = &placement.memory {
        let (mode, nodes) = match memory {
            MemoryPolicy::Local => (MemoryMode::Local, &[][..]),
            MemoryPolicy::Prefer(node) => (MemoryMode::Prefer, std::slice::from_ref(node)),
            MemoryPolicy::Bind(nodes) => (MemoryMode::Bind, nodes.as_slice()),
            MemoryPolicy::Interleave(nodes) => (MemoryMode::Interleave, nodes.as_slice()),
        };
        let what = format!("memory of nodes {nodes:?}");
        sys::thread::set_memory_policy(mode, nodes).map_err(refused(what))?;
    }
    // Last of all, as the rest may take rights that are lost by it.
    if let Some(owner) = placement.owner {
        let what = format!("the rights of {owner}");
        sys::thread::work_as(owner.user, owner.group).map_err(refused(what))?;
    }
    Ok(())
}

/// Does something as this owner, on a thread that ends with it: rights that were given up do not come back.
///
/// # Errors
/// When this process may not do so, or has no thread for it.
pub fn as_owner<T: Send>(owner: Owner, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("owner".to_owned());
        let thread = thread.spawn_scoped(scope, move || {
            sys::thread::work_as(owner.user, owner.group)?;
            Ok(work())
        })?;
        let ended = thread.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
