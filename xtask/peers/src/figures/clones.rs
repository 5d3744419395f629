//! A thousand clones of a job: how soon they run, and what memory they take.
use super::{column, contender, mean};
use crate::process::watch;
use crate::reading::{MEMORY, RATE, Reading, START_UP};
use crate::session::Session;
use crate::statistics::Bar;
use crate::table::{Held, Row, shown};
use crate::{fio, ours};
use measure::Event;
use std::path::Path;

const FIGURE: u8 = 21;
const START_UP_NS_MAX: f64 = 5e8;

pub fn measure(session: &mut Session) -> Result<Vec<Row>, String> {
    let window_s = session.settings.window_s.min(5);
    let text = |threads: &str| {
        format!(
            "[clone]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\niodepth=32\nnumjobs=1000\n{threads}\
             filename={}/clones\nsize=64m\ntime_based\nruntime={window_s}\ngroup_reporting\n",
            session.folder.display()
        )
    };
    let (plain, threaded) = (text(""), text("thread\n"));
    let plain = super::jobs::write(session, "clones", &plain)?;
    let threaded = super::jobs::write(session, "clones-thread", &threaded)?;
    let contenders = [
        contender("fathom", |session| fathom(session, &plain)),
        contender("fio", |session| peer(session, &plain)),
        contender("fio, threads", |session| peer(session, &threaded)),
    ];
    let rounds = session.rounds(FIGURE, session.settings.pairs.min(5), &contenders)?;
    let columns: Vec<Vec<Reading>> = (0..3).map(|place| column(&rounds, place)).collect();
    let compared = |what: &str, place: usize, name: &str, bar| {
        let peer = (name, columns[place].as_slice());
        Row::compared(FIGURE, what, MEMORY, &columns[0], peer, bar)
    };
    let in_time = |reading: &&Reading| reading.get(START_UP) < START_UP_NS_MAX;
    let held = Held {
        windows: columns[0].iter().filter(in_time).count(),
        of: columns[0].len(),
    };
    Ok(vec![
        Row::held(
            FIGURE,
            "1000 clones, depth 32, one file: start-up",
            shown(START_UP, mean(&columns[0], START_UP)),
            String::new(),
            "< 500 ms",
            held,
        ),
        compared("the same: memory", 1, "fio", Some(Bar::AtMost(0.5))),
        compared("the same: memory", 2, "fio, threads", None),
    ])
}

fn fathom(session: &mut Session, job: &Path) -> Result<Reading, String> {
    let output = ours::empty_output(session)?;
    let words = ours::job_file_words(session, job, &output);
    let watched = watch(&mut session.commands, session.fathom.clone(), &words)?;
    if !watched.is_success {
        return Err("fathom failed with a thousand clones".to_owned());
    }
    let reader = store::Reader::open(output.join("result.fathom")).map_err(|e| e.to_string())?;
    let measured = reader.events().find_map(|event| match event {
        Ok(Event::RunStarted(run)) if run.kind == plan::RunKind::Measure => Some(run.unix_ns),
        _ => None,
    });
    let started = measured.ok_or("the result holds no run")?;
    Ok(Reading::default()
        .with(MEMORY, watched.memory_bytes_max as f64)
        .with(
            START_UP,
            started.saturating_sub(watched.started_unix_ns) as f64,
        ))
}

fn peer(session: &mut Session, job: &Path) -> Result<Reading, String> {
    let file = session.results.join("fio.json");
    let words = [
        job.display().to_string(),
        "--output-format=json".to_owned(),
        format!("--output={}", file.display()),
    ];
    let watched = watch(&mut session.commands, "fio", &words)?;
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file:?}: {error}"))?;
    if !watched.is_success {
        return Err("fio failed with a thousand clones".to_owned());
    }
    let rate = fio::read(&text)?.window.reading().get(RATE);
    Ok(Reading::default()
        .with(MEMORY, watched.memory_bytes_max as f64)
        .with(RATE, rate))
}
