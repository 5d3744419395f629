//! Engines that give files space, take it away, and cut them.
use super::codes;
use super::files::is_device;
use super::resolve::Spec;
use super::support::push_once;
use plan::{Diagnostic, IoMethod, OperationMix, Refresh, SpaceCall};

/// What needs data that are moved, or a file that grows by being written.
const OF_DATA: &[(&str, &str)] = &[
    ("verify", "no data are written that could be checked"),
    (
        "verify_pattern",
        "no data are written that could be checked",
    ),
    ("fill_device", "no write ends where a device is full"),
    ("file_append", "nothing is added after what is there"),
    ("read_iolog", "a record is one of data"),
];

/// A job of these engines, whose writes send nothing.
pub(super) fn by_calls<'a>(spec: Spec<'a>, blockers: &mut Vec<Diagnostic>) -> Spec<'a> {
    let Some(IoMethod::Space(call)) = spec.method else {
        return spec;
    };
    check(&spec, call, blockers);
    let mut data = spec.data;
    data.refresh = Refresh::Never;
    Spec { data, ..spec }
}

/// Whether files are to be there in full before the job.
pub(super) fn needs_what_is_there(method: Option<IoMethod>, operations: &OperationMix) -> bool {
    let takes = method == Some(IoMethod::Space(SpaceCall::Reserve)) && operations.trim_pct > 0.0;
    operations.read_pct > 0.0 || method == Some(IoMethod::Mapping) || takes
}

fn check(spec: &Spec<'_>, call: SpaceCall, blockers: &mut Vec<Diagnostic>) {
    let job = spec.job;
    let engine = job.engine().map_or("", |engine| engine.name);
    let mut refuse = |option: &str, message: String, label: &str, help: &str| {
        let error = Diagnostic::error(codes::CONFLICT, message);
        let error = error.at(job.place_of(option), label).with_help(help);
        push_once(blockers, error);
    };
    for (option, why) in OF_DATA {
        if job.given(option).is_some() {
            let message = format!("`{option}` and `ioengine={engine}` exclude each other");
            refuse(option, message, why, "`psync` moves data by calls");
        }
    }
    if spec.naming.paths(0).iter().any(|path| is_device(path)) {
        let message = format!("`ioengine={engine}` works on files, and not on devices");
        refuse("ioengine", message, "this engine", "name a file");
    }
    let only_writes = spec.operations.read_pct == 0.0 && spec.operations.trim_pct == 0.0;
    if call == SpaceCall::SetLength && !only_writes {
        let message = format!("`ioengine={engine}` does nothing but write");
        let label = "each other I/O fails in fio (EINVAL)";
        refuse("rw", message, label, "use `rw=write` or `rw=randwrite`");
    }
}
