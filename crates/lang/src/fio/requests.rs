//! What a job asks for with each of its requests.
use super::codes;
use super::jobs::Job;
use super::resolve::Spec;
use super::support::push_once;
use super::value::Value;
use crate::sink::Sink;
use plan::{Diagnostic, RequestMode, Submitter};

/// The wishes of a job; they belong to its engine.
pub(super) fn mode(job: &Job) -> RequestMode {
    let polled_pct = match job.is_on(on!("hipri")) {
        true => job.get(number!("hipri_percentage")).clamp(0, 100) as u8,
        false => 0,
    };
    let submitter = job.is_on(on!("sqthread_poll")).then(|| Submitter {
        cpu: job.number("sqthread_poll_cpu").map(|cpu| cpu as u32),
    });
    RequestMode {
        never_waits: job.is_on(on!("nowait")),
        leaves_no_cache: job.get(number!("uncached")) > 0,
        writes_whole: job.is_on(on!("atomic")),
        polled_pct,
        handed_off_every: job.get(number!("force_async")).clamp(0, 1 << 30) as u32,
        submitter,
    }
}

/// Whether transfers go past the page cache; writes that are stored as a whole do, whatever else is said.
pub(super) fn is_direct(job: &Job) -> bool {
    let says = match job.last_of(&["direct", "buffered"]) {
        Some(given) => (given.parameter.name() == "direct") == (given.value == Value::On(true)),
        None => false,
    };
    says || job.is_on(on!("atomic"))
}

/// What is done in another way than a job says.
pub(super) fn tell(job: &Job, sink: &mut Sink) {
    let Some(given) = job.last_of(&["direct", "buffered"]) else {
        return;
    };
    let says = (given.parameter.name() == "direct") == (given.value == Value::On(true));
    if !says && job.is_on(on!("atomic")) {
        let message = "`atomic` goes past the page cache, whatever else is said";
        let note = Diagnostic::note(codes::TRANSLATED, message);
        sink.push(note.at(given.span(), "has no effect"));
    }
}

/// What of it cannot be on this host.
pub(super) fn check(spec: &Spec<'_>, cpus: u32, blockers: &mut Vec<Diagnostic>) {
    let cpu = mode(spec.job).submitter.and_then(|submitter| submitter.cpu);
    if let Some(cpu) = cpu.filter(|cpu| *cpu >= cpus) {
        let message = format!("this host has no CPU {cpu}");
        let label = format!("it has {cpus}, counted from 0");
        let place = spec.job.place_of("sqthread_poll_cpu");
        push_once(
            blockers,
            Diagnostic::error(codes::OUT_OF_RANGE, message).at(place, label),
        );
    }
}
