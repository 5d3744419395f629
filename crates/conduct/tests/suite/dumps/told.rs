//! A story as lines of text, and all of them beside what is written down.
use super::jobs::{self, Job, World};
use crate::story::{Story, carry_out};
use conduct::{Control, Crew};
use measure::{Event, Handover, Histogram, Interval, LatencyFigures, Outstanding, RunFinished};
use std::fmt::Write;
use std::path::Path;

/// Carries out every job on machines that `machine` makes, with one worker and with three.
pub fn compare<C: Crew>(machine: impl Fn(&Job, u32, Option<&World>) -> C) {
    let mut text = String::new();
    for job in jobs::all() {
        let [one, three] = [1, 3].map(|workers| told(&job, |world| machine(&job, workers, world)));
        writeln!(text, "== {}, one worker\n{one}", job.name).unwrap();
        match one == three {
            true => writeln!(text, "== three workers: the same\n").unwrap(),
            // Each worker keeps to itself what it may read back, and what it has drawn that has to wait.
            false => writeln!(text, "== three workers\n{three}").unwrap(),
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conduct/tests/suite/dumps/all.dump");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    for (place, (mine, theirs)) in text.lines().zip(known.lines()).enumerate() {
        assert_eq!(mine, theirs, "line {} of {}", place + 1, path.display());
    }
    assert_eq!(text.lines().count(), known.lines().count());
}

fn told<C: Crew>(job: &Job, machine: impl Fn(Option<&World>) -> C) -> String {
    let world = job.files.as_ref().map(|files| files());
    let mut crew = machine(world.as_ref());
    let story = carry_out(&job.plan, &mut crew, &Control::default());
    drop(crew);
    let mut text = of_story(&story);
    if let Some(world) = world {
        match world.contents() {
            Some(contents) => writeln!(text, "the file holds #{:016x}", digest(&contents)).unwrap(),
            None => writeln!(text, "the file is gone").unwrap(),
        }
    }
    text
}

fn of_story(story: &Story) -> String {
    let mut text = String::new();
    for event in &story.events {
        match event {
            Event::ExecutionStarted(_) | Event::DataWritten(_) => {}
            Event::RunStarted(run) => {
                let law = run.law.map_or("closed".into(), |law| format!("{law:?}"));
                writeln!(text, "run {} {:?}, {law}", run.run, run.kind).unwrap();
            }
            Event::Interval(interval) => of_interval(&mut text, interval),
            Event::RunFinished(run) => of_run_finished(&mut text, run),
            Event::IoFailure(one) => writeln!(
                text,
                "failure s{} t{} {:?} at {} of {}: {} {:?}",
                one.stream.0,
                one.target.0,
                one.operation,
                one.offset,
                one.length,
                one.errno,
                one.misfit
            )
            .unwrap(),
            Event::Remark(remark) => {
                writeln!(text, "remark {}: {}", remark.code, remark.message).unwrap();
            }
            Event::ExecutionFinished(finished) => {
                writeln!(text, "finished {:?}", finished.reason).unwrap();
            }
        }
    }
    text
}

fn of_interval(text: &mut String, interval: &Interval) {
    let engine = &interval.engine;
    writeln!(
        text,
        "interval {} to {} {:?}, {} in flight, oldest {}",
        interval.number,
        interval.end_ns,
        interval.phase,
        engine.in_flight,
        engine.oldest_in_flight_ns
    )
    .unwrap();
    for figure in &interval.figures {
        let key = figure.key;
        writeln!(
            text,
            "  s{} t{} {:?} {} of {} bytes, {} errors, {} short, service {}, response {}",
            key.stream.0,
            key.target.0,
            key.operation,
            figure.operations,
            figure.bytes,
            figure.errors,
            figure.short_transfers,
            latency(&figure.service),
            latency(&figure.response)
        )
        .unwrap();
    }
    for (number, sample) in engine.streams.iter().enumerate() {
        writeln!(
            text,
            "  s{number} scheduled {} submitted {} backlog {}, late {}, unserved {}, span {:?}, depth {:?}",
            sample.scheduled,
            sample.submitted,
            sample.backlog,
            latency(&sample.lateness),
            latency(&sample.unserved),
            sample.span.map(|span| (span.from_ns, span.to_ns)),
            sample.depth
        )
        .unwrap();
        if let Some(handover) = &sample.handover {
            of_handover(text, handover);
        }
    }
    for (number, pool) in engine.pools.iter().enumerate() {
        writeln!(
            text,
            "  p{number} busy {} exhausted {}",
            pool.busy_ns, pool.exhausted_ns
        )
        .unwrap();
    }
}

fn of_handover(text: &mut String, handover: &Handover) {
    for parts in &handover.parts {
        writeln!(
            text,
            "    {:?} of priority {}: submission {}, completion {}, service {}",
            parts.operation,
            parts.priority,
            latency(&parts.submission),
            latency(&parts.completion),
            latency(&parts.service)
        )
        .unwrap();
    }
    // How many go out or come back together depends on the workers.
    writeln!(text, "    last seen {}", handover.last_seen_ns).unwrap();
}

fn of_run_finished(text: &mut String, run: &RunFinished) {
    writeln!(
        text,
        "run {} {:?}, measured {} to {}, scheduled {} submitted {} unsent {}, drained in {}",
        run.run,
        run.reason,
        run.first_measured,
        run.last_measured,
        run.scheduled,
        run.submitted,
        run.unsent,
        run.drain_ns
    )
    .unwrap();
    let mut outstanding: Vec<&Outstanding> = run.outstanding.iter().collect();
    outstanding.sort_by_key(|one| (one.stream, one.target, one.offset, one.age_ns));
    for one in outstanding.into_iter().chain(&run.late) {
        writeln!(
            text,
            "  out: s{} t{} {:?} at {} of {}, age {}, returned after {:?}",
            one.stream.0,
            one.target.0,
            one.operation,
            one.offset,
            one.length,
            one.age_ns,
            one.returned_after_ns
        )
        .unwrap();
    }
}

fn latency(figures: &LatencyFigures) -> String {
    match figures.histogram.count() {
        0 => "none".to_owned(),
        _ => format!(
            "{} max {} {}",
            figures.sum_ns,
            figures.max_ns,
            histogram(&figures.histogram)
        ),
    }
}

fn histogram(histogram: &Histogram) -> String {
    match histogram.buckets() {
        [only] => format!("{}*{}", only.count, only.index),
        many => format!("#{:016x}", digest(&format!("{many:?}"))),
    }
}

/// FNV-1a: the same on every machine.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
