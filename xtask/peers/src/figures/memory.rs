//! Threads that block, on a device in memory: the price of an operation without any waiting.
use super::{column, contender};
use crate::fio;
use crate::ours::{self, Job};
use crate::process::owned;
use crate::reading::{CPU, RATE};
use crate::session::Session;
use crate::statistics::Bar;
use crate::table::Row;
use crate::targets;

const FIGURE: u8 = 17;

pub fn measure(session: &mut Session) -> Result<Vec<Row>, String> {
    let target = targets::memory(session)?;
    let storage = target.storage(32);
    let job = Job {
        name: "memory",
        storage: &storage,
        work: "xfersize=4k,rdpct=100,seekpct=100",
        run: "iorate=max",
        options: &["--backend", "sync"],
    };
    let mut options = target.fio_options();
    options.extend(owned(&[
        "--ioengine=psync",
        "--numjobs=32",
        "--rw=randread",
        "--norandommap",
        "--bs=4k",
    ]));
    let contenders = [
        contender("fathom", |session| {
            ours::run(session, &job).map(|ours| ours.reading())
        }),
        contender("fio psync", |session| fio::run(session, &options)),
    ];
    let rounds = session.rounds(FIGURE, session.settings.pairs, &contenders)?;
    let (ours, peer) = (column(&rounds, 0), column(&rounds, 1));
    let compared = |what: &str, name, bar| {
        let peer = ("fio psync, 32 jobs", peer.as_slice());
        Row::compared(FIGURE, what, name, &ours, peer, Some(bar))
    };
    let what = format!("4 KiB random read of {}, 32 threads, `sync`", target.kind);
    Ok(vec![
        compared(&format!("{what}: rate"), RATE, Bar::AtLeast(0.97)),
        compared(&format!("{what}: CPU per I/O"), CPU, Bar::AtMost(1.05)),
    ])
}
