//! Engines that make, look at and remove files, and leave alone what they hold. Each file counts as one
//! I/O of a block in each pass, whatever its size.
use super::files::is_device;
use super::jobs::Job;
use super::resolve::{Amount, Spec};
use super::space;
use super::support::{push_once, refused};
use plan::{
    Bound, Diagnostic, FirstBlock, IoMethod, NameCall, PerDirection, Refresh, Region, TransferSizes,
};

/// What would have to be done with an open file, or at places within it.
const OF_CONTENT: &[&str] = &[
    "fsync",
    "fdatasync",
    "sync_file_range",
    "verify",
    "verify_pattern",
    "read_iolog",
    "fill_device",
    "file_append",
    "offset",
    "offset_increment",
];

/// The method of an engine, with the call that the job asks for.
pub(super) fn method(job: &Job, method: Option<IoMethod>) -> Option<IoMethod> {
    if method != Some(IoMethod::Names(NameCall::Look)) {
        return method;
    }
    Some(IoMethod::Names(match job.word_of(word!("stat_type")) {
        "lstat" => NameCall::LookAtLink,
        "statx" => NameCall::LookWhole,
        _ => NameCall::Look,
    }))
}

/// What these engines cannot be together with.
fn check(spec: &Spec<'_>, call: NameCall, blockers: &mut Vec<Diagnostic>) {
    let job = spec.job;
    let engine = job.engine().map_or("", |engine| engine.name);
    let only_makes = (call == NameCall::Make).then_some(&"create_only");
    for option in OF_CONTENT.iter().chain(only_makes) {
        if job.given(option).is_some() {
            let what = format!("`{option}` with `ioengine={engine}`");
            let reason = "nothing in the files is read or written";
            let help = "leave it out, or use an engine that does I/O, such as `psync`";
            let refusal = refused(&what, reason, help, job.place_of(option));
            push_once(blockers, refusal);
        }
    }
    if spec.naming.paths(0).iter().any(|path| is_device(path)) {
        let what = format!("`ioengine={engine}` on a device");
        let reason = "a device is neither made nor removed for a measurement";
        let help = "name files, or a `directory` for them";
        let refusal = refused(&what, reason, help, job.place_of("ioengine"));
        push_once(blockers, refusal);
    }
}

/// A job of these engines with one call for each file in each pass; those that change space keep their
/// places.
pub(super) fn by_visits<'a>(spec: Spec<'a>, blockers: &mut Vec<Diagnostic>) -> Spec<'a> {
    let Some(IoMethod::Names(call)) = spec.method else {
        return space::by_calls(spec, blockers);
    };
    check(&spec, call, blockers);
    let job = spec.job;
    let loops = job.get(number!("loops")).max(1) as u64;
    let is_counted = spec.times.is_time_based || job.given("io_size").is_some();
    let amount = match is_counted {
        true => spec.amount,
        false => Amount {
            bytes: None,
            passes: Some(loops),
            pass_millionths: None,
            operations: spec.amount.operations,
            rounds: None,
        },
    };
    let mut data = spec.data;
    // Nothing of it is sent.
    data.refresh = Refresh::Never;
    Spec {
        is_random: false,
        transfer: PerDirection::all(TransferSizes::Fixed(spec.smallest)),
        steps: None,
        amount,
        data,
        lays_out: call != NameCall::Make && !job.is_on(on!("create_on_open")),
        ..spec
    }
}

/// The block for which a file counts.
pub(super) fn region(spec: &Spec<'_>) -> Option<Region> {
    let is_named = matches!(spec.method, Some(IoMethod::Names(_)));
    is_named.then(|| Region {
        high: Bound::Bytes(spec.smallest),
        ..Region::whole(1, FirstBlock::Used)
    })
}
