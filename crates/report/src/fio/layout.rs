//! The lines that fio prints of files that it makes or extends before its jobs begin: one for each clone with files that
//! are shorter than its range, whatever it does there. Knows the bound plan alone.
use super::model::is_check;
use lang::fio::ReportOptions;
use plan::{
    BoundPlan, BoundRun, IoMethod, Label, NameCall, OpSource, RunKind, SizeRule, Stream, TargetId,
    TargetKind,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The lines of all clones of a host, in the order of the plan.
pub(super) fn lines(bound: &BoundPlan, host: usize) -> String {
    let mut out = String::new();
    // It may come from a file that is damaged.
    let is_whole = bound.targets.len() == bound.plan.targets.len();
    if !is_whole || !bound.plan.inconsistencies().is_empty() {
        return out;
    }
    // How long files are once the clones before have theirs.
    let mut present: BTreeMap<TargetId, u64> = BTreeMap::new();
    for id in &bound.runs {
        let spec = bound.plan.runs.get(id.index());
        if spec.is_none_or(|spec| spec.kind != RunKind::Measure || is_check(&spec.labels)) {
            continue;
        }
        let Some(run) = bound.try_run(*id) else {
            continue;
        };
        let is_of_host = |place: &usize| {
            let stream = &run.run.streams[*place];
            bound.plan.host_of(stream).is_none_or(|own| own == host)
        };
        for place in (0..run.run.streams.len()).filter(is_of_host) {
            line(bound, &run, place, &mut present, &mut out);
        }
    }
    out
}

fn line(
    bound: &BoundPlan,
    run: &BoundRun,
    place: usize,
    present: &mut BTreeMap<TargetId, u64>,
    out: &mut String,
) {
    let stream = &run.run.streams[place];
    if !lays_out(bound, run, stream) {
        return;
    }
    let (mut files, mut total) = (0_u64, 0_u64);
    for region in &run.streams[place].regions {
        let at = region.target.index();
        let (Some(target), Some(found)) = (bound.plan.targets.get(at), bound.targets.get(at))
        else {
            continue;
        };
        if target.kind != TargetKind::File {
            continue;
        }
        let found = found.facts.bytes;
        let present = present.entry(region.target).or_insert(found);
        let end = region.low.saturating_add(region.width);
        let needed = needed_bytes(end, target.size, stream);
        if needed > *present {
            files += 1;
            total = total.saturating_add(needed);
            *present = needed;
        }
    }
    let name = Label::find(&stream.labels, "job").unwrap_or(&stream.name);
    let mib = total >> 20;
    let _ = match files {
        0 => Ok(()),
        1 => writeln!(out, "{name}: Laying out IO file (1 file / {mib}MiB)"),
        files => writeln!(
            out,
            "{name}: Laying out IO files ({files} files / total {mib}MiB)"
        ),
    };
}

/// Whether the files of a clone are there before it begins.
fn lays_out(bound: &BoundPlan, run: &BoundRun, stream: &Stream) -> bool {
    let pool = run.run.pools.get(stream.pool.index());
    let method = pool.and_then(|pool| pool.method);
    let makes_them = matches!(
        method,
        Some(IoMethod::Nothing | IoMethod::Names(NameCall::Make))
    );
    let is_recorded = matches!(stream.source, OpSource::Replay(_));
    let options = ReportOptions::of(&stream.labels, &bound.plan.labels);
    !makes_them && !is_recorded && !options.makes_files_on_open
}

/// How long a file has to be for a range with this end, which is cut to whole blocks.
fn needed_bytes(end: u64, size: SizeRule, stream: &Stream) -> u64 {
    let OpSource::Generator(generator) = &stream.source else {
        return end;
    };
    let sizes = &generator.transfer;
    let smallest = [&sizes.read, &sizes.write, &sizes.trim]
        .into_iter()
        .map(plan::TransferSizes::smallest)
        .min()
        .unwrap_or(1);
    match size {
        SizeRule::Unlimited => u64::MAX,
        SizeRule::Bytes(bytes) if (end..end.saturating_add(smallest)).contains(&bytes) => bytes,
        _ => end,
    }
}
