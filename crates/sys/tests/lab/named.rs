//! Names that tell whose they are, for what outlives a killed test: files behind loop devices, mount points, programs.
//! `cargo xtask clean-lab` removes what carries the name of a dead process. Tests of several crates take this file in.
use std::sync::OnceLock;
use tempfile::Builder;

/// Begins every such name: the process, and the time of its start in ticks since the system started.
pub fn prefix() -> &'static str {
    static PREFIX: OnceLock<String> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let id = std::process::id();
        format!("fathom-lab-{id}-{}-", begun(id).unwrap_or_default())
    })
}

/// Makes folders and files with such a name.
pub fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(prefix());
    builder
}

/// Field 22 of `/proc/PID/stat`; the name in the second field may hold blanks and brackets.
pub fn begun(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    fields.split(' ').nth(19)?.parse().ok()
}
