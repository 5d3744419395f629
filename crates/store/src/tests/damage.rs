//! Systematic damage of a file: what is left of the figures is kept, and nothing that was not there appears.
use super::draw::Draw;
use super::write;
use crate::Salvage;
use measure::{Event, Interval, PoolInfo, StreamSample};
use std::collections::BTreeMap;
use std::path::Path;

const PAGE: usize = 4096;

/// Three runs of thirty intervals.
fn record(path: &Path) {
    let mut draw = Draw(3);
    let mut events = Vec::new();
    let mut send = |event: Event| events.push(event);
    let start = loop {
        if let Event::ExecutionStarted(started) = draw.event() {
            break started;
        }
    };
    send(Event::ExecutionStarted(start));
    for run in 0..3 {
        let mut started = loop {
            if let Event::RunStarted(started) = draw.event() {
                break started;
            }
        };
        started.run = run;
        started.pools = vec![PoolInfo {
            name: "pool".to_owned(),
            slots: 32,
        }];
        send(Event::RunStarted(started));
        for number in 1..=30 {
            // The devices of a run are the same throughout.
            let mut interval = loop {
                let interval = draw.typical(number, 2, 500);
                if interval.host.devices.len() == 1 {
                    break interval;
                }
            };
            interval.run = run;
            send(Event::Interval(interval));
        }
        let mut finished = loop {
            if let Event::RunFinished(finished) = draw.event() {
                break finished;
            }
        };
        finished.run = run;
        (finished.first_measured, finished.last_measured) = (1, 30);
        send(Event::RunFinished(finished));
    }
    write(path, &events).unwrap();
}

type Intervals = BTreeMap<(u32, u32), Interval>;

fn kept(path: &Path) -> (Intervals, bool) {
    let Ok(mut salvage) = Salvage::open(path) else {
        return (Intervals::new(), true);
    };
    let mut found = Intervals::new();
    for event in &mut salvage {
        if let Event::Interval(interval) = event {
            found.insert((interval.run, interval.number), interval);
        }
    }
    let is_damaged = !salvage.loss().is_none();
    (found, is_damaged)
}

struct Case {
    folder: tempfile::TempDir,
    whole: Vec<u8>,
    all: Intervals,
}

/// Each part of an interval is what it was, or is absent and known to be lost.
#[track_caller]
fn is_true_or_lost(was: &Interval, is: &Interval, what: &str) {
    assert_eq!(was.figures, is.figures, "{what}");
    let arrivals = |interval: &Interval| -> Vec<StreamSample> {
        let streams = interval.engine.streams.iter();
        // What was handed over is left out without more words.
        let bare = |stream: &StreamSample| StreamSample {
            handover: None,
            ..stream.clone()
        };
        streams.map(bare).collect()
    };
    match is.lost.arrivals {
        true => assert!(is.engine.streams.is_empty(), "{what}"),
        false => assert_eq!(arrivals(was), arrivals(is), "{what}"),
    }
    match is.lost.slots {
        true => assert!(is.engine.pools.is_empty(), "{what}"),
        false => assert_eq!(was.engine.pools, is.engine.pools, "{what}"),
    }
    if !is.lost.cpu {
        assert_eq!(was.host.cpu, is.host.cpu, "{what}");
        let own_ns = |of: &Interval| (of.host.fathom_user_ns, of.host.fathom_system_ns);
        assert_eq!(own_ns(was), own_ns(is), "{what}");
    }
    // Whether a run without any row of them had devices, nothing tells.
    if !is.lost.devices && !is.host.devices.is_empty() {
        assert_eq!(was.host.devices, is.host.devices, "{what}");
    }
    if !is.lost.submission {
        assert_eq!(was.engine.workers, is.engine.workers, "{what}");
        assert_eq!(was.engine.in_flight, is.engine.in_flight, "{what}");
    }
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("whole.fathom");
        record(&path);
        let (all, is_damaged) = kept(&path);
        assert!(!is_damaged && all.len() == 90);
        Self {
            whole: std::fs::read(&path).unwrap(),
            folder,
            all,
        }
    }

    /// How many intervals are kept. Each of them has the figures that it had.
    #[track_caller]
    fn check(&self, bytes: &[u8], what: &str) -> usize {
        let path = self.folder.path().join("damaged.fathom");
        std::fs::write(&path, bytes).unwrap();
        let (found, is_damaged) = kept(&path);
        for (key, interval) in &found {
            is_true_or_lost(&self.all[key], interval, &format!("{what}: {key:?}"));
        }
        assert!(is_damaged || found.len() == self.all.len(), "{what}");
        found.len()
    }
}

#[test]
fn most_pages_cost_what_they_held_and_no_more() {
    let case = Case::new();
    let pages = case.whole.len() / PAGE;
    let mut costs = Vec::new();
    for page in 0..pages {
        let mut bytes = case.whole.clone();
        bytes[page * PAGE..][..PAGE].fill(0);
        let lost = case.all.len() - case.check(&bytes, &format!("page {page}"));
        costs.push(lost);
    }
    // A page of figures holds a dozen intervals; without the root of a tree, or the tables, all of them are lost.
    costs.sort_unstable();
    println!("{costs:?}");
    assert!(costs[pages / 2] <= 15, "{costs:?}");
}

#[test]
fn a_cut_file_keeps_the_figures_in_front_of_the_cut() {
    let case = Case::new();
    let kept: Vec<usize> = (1..20)
        .map(|part| {
            let length = case.whole.len() * part / 20;
            case.check(&case.whole[..length], &format!("{length} bytes"))
        })
        .collect();
    assert!(kept[13] > 0, "{kept:?}");
    assert!(kept[18] > 60, "{kept:?}");
}

/// First byte of a page that holds the end of an index.
const INDEX_LEAF: u8 = 10;

#[test]
fn pages_in_each_others_place_add_nothing() {
    let case = Case::new();
    let (pages, mut draw) = (case.whole.len() / PAGE, Draw(5));
    for number in 0..200 {
        let (from, to) = (
            draw.below(pages as u64) as usize,
            draw.below(pages as u64) as usize,
        );
        // Rows have no checksums: a page of one index in another leads to rows of other events, and a page that goes on
        // with a row does not say of which.
        let kind = |page: usize| case.whole[page * PAGE];
        if kind(from) == kind(to) && [0, INDEX_LEAF].contains(&kind(to)) {
            continue;
        }
        let mut bytes = case.whole.clone();
        bytes.copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE);
        case.check(
            &bytes,
            &format!("{number}: page {from} in the place of {to}"),
        );
    }
}
