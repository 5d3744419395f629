//! `SIGUSR1` asks how far it is, in every verb and at any moment, and ends none. The console of fio
//! answers with its report of what is running; all others answer with a line.
use measure::Event;
use report::{shown, summary};
use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the answer is.
#[derive(Debug)]
struct Status {
    /// The run that is going or was last, by number and name.
    run: Option<String>,
    line: String,
    /// Answered by a report of its own with the next event.
    by_report: bool,
}

static STATUS: Mutex<Status> = Mutex::new(Status {
    run: None,
    line: String::new(),
    by_report: false,
});

static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// Begins to answer. Without signals nobody can ask, and everything else goes on.
pub fn watch() {
    let Ok(mut signals) = Signals::new([SIGUSR1]) else {
        return;
    };
    let answer = move || {
        for _ in signals.forever() {
            let status = status();
            if status.by_report && status.run.is_some() {
                IS_ASKED.store(true, SeqCst);
                continue;
            }
            match &status.run {
                None => errln!("status: no run has started yet"),
                Some(run) => errln!("status: {run}: {}", status.line),
            }
        }
    };
    // Whoever sends the signal gets no answer without a thread for it, but ends nothing either.
    let _ = sys::thread::start("status", answer);
}

/// From now on a report answers, once a run is going.
pub fn answer_by_report() {
    status().by_report = true;
}

/// Whether somebody has asked since the last call.
pub fn takes_question() -> bool {
    IS_ASKED.swap(false, SeqCst)
}

/// Keeps what is to be answered.
pub fn on_event(event: &Event) {
    match event {
        Event::RunStarted(started) => {
            let name = started.full_name();
            let name = shown::name(&name);
            let run = format!("run {}/{} {name}", started.run + 1, started.runs);
            let mut status = status();
            (status.run, status.line) = (Some(run), "started".to_owned());
        }
        Event::Interval(interval) => status().line = summary::live_line(interval),
        Event::RunFinished(_) => status().line = "finished".to_owned(),
        _ => {}
    }
}

fn status() -> MutexGuard<'static, Status> {
    STATUS.lock().unwrap_or_else(PoisonError::into_inner)
}
