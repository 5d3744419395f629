//! How a job orders its own I/O: what it does behind its writes, when it pauses, how it batches.
use super::codes;
use super::jobs::Job;
use super::resolve::Times;
use crate::sink::Sink;
use plan::{Batches, Diagnostic, Flow, Nanos, OperationMix, RangeSync, Syncs, Think, ThinkCount};

/// The rules of the clones of a job.
pub(crate) fn flow(
    job: &Job,
    operations: &OperationMix,
    times: Times,
    depth: u32,
    sink: &mut Sink,
) -> Flow {
    Flow {
        syncs: syncs(job, operations, times, sink),
        think: think(job, sink),
        batches: batches(job, depth),
    }
}

/// Whether files are flushed when they are closed: where it is asked, and where the sync at the end
/// comes behind a limit of time.
pub(crate) fn flushes_on_close(job: &Job, times: Times) -> bool {
    let is_cut = times.runtime.is_some() && job.is_on("end_fsync", false);
    job.is_on("fsync_on_close", false) || is_cut
}

fn think(job: &Job, sink: &mut Sink) -> Option<Think> {
    let pause = job.nanos("thinktime").filter(|pause| *pause > 0)?;
    if job.nanos("thinktime_spin").is_some_and(|spin| spin > 0) {
        let place = job.place_of("thinktime_spin");
        let message = "`thinktime_spin`: the pause is as long, and burns no CPU";
        let note = Diagnostic::note(codes::TRANSLATED, message);
        sink.push(note.at(place, "done in another way"));
    }
    let every = job.nanos("thinktime_iotime").filter(|every| *every > 0);
    let blocks = job
        .number("thinktime_blocks")
        .map(|blocks| blocks.max(1) as u64);
    // fio: with a time, the count of one that nobody asked for does not apply.
    let after = blocks.or(every.is_none().then_some(1));
    Some(Think {
        pause: Nanos(pause),
        after,
        counts: match job.word("thinktime_blocks_type") {
            Some(("issue", _)) => ThinkCount::Issued,
            _ => ThinkCount::Completed,
        },
        every: every.map(Nanos),
        moves_schedule: job.is_on("rate_ignore_thinktime", false),
    })
}

fn batches(job: &Job, depth: u32) -> Batches {
    let count = |name: &str| {
        let count = job.number(name).filter(|count| *count > 0)?;
        Some(count.min(i64::from(depth)) as u32)
    };
    let reap_least = count("iodepth_batch_complete_min").filter(|least| *least > 1);
    // Once full, so many have to come back at least, and what is left may not be above the low mark.
    let left = reap_least.map(|least| depth - least);
    let low = count("iodepth_low").filter(|low| *low < depth);
    Batches {
        submit_most: count("iodepth_batch"),
        refill_at: left.into_iter().chain(low).min(),
        reap_least,
    }
}

fn syncs(job: &Job, operations: &OperationMix, times: Times, sink: &mut Sink) -> Syncs {
    let every = |name: &str| {
        let count = job.number(name).filter(|count| *count > 0)?;
        Some(count as u64)
    };
    let (range, range_every) = range(job, sink);
    let at_end = job.is_on("end_fsync", false) && operations.changes_data();
    if at_end && times.is_time_based {
        let place = job.place_of("end_fsync");
        let message = "`end_fsync`: behind a limit of time, the sync comes after what is measured and lowers no bandwidth";
        let note = Diagnostic::note(codes::TRANSLATED, message)
            .at(place, "done in another way")
            .with_help("without `time_based`, the sync belongs to the time of the job");
        sink.push(note);
    }
    Syncs {
        full_every: every("fsync"),
        data_every: every("fdatasync"),
        range_every,
        range,
        at_end: at_end && !times.is_time_based,
    }
}

/// What `sync_file_range` does, and every how many writes.
fn range(job: &Job, sink: &mut Sink) -> (RangeSync, Option<u64>) {
    let mut range = RangeSync::default();
    let Some(given) = job.given("sync_file_range") else {
        return (range, None);
    };
    let (words, count) = match given.text().split_once(':') {
        Some((words, count)) => (words, count.trim().parse::<u64>().ok()),
        None => (given.text(), Some(1)),
    };
    for word in words.split(',').map(str::trim) {
        match word {
            "wait_before" => range.waits_before = true,
            "write" => range.writes = true,
            "wait_after" => range.waits_after = true,
            _ => {
                let message = format!("`{word}` is no part of `sync_file_range`");
                let help = "write `wait_before`, `write` or `wait_after`, several with commas, such as `write:8`";
                sink.error(codes::FORM, given.span(), message, "in this list", help);
                return (range, None);
            }
        }
    }
    if count.is_none() {
        let message = "`sync_file_range` ends with a number of writes";
        let help = "write `sync_file_range=write:8`";
        sink.error(codes::FORM, given.span(), message, "no number", help);
    }
    (range, count.filter(|count| *count > 0))
}
