//! Systematic damage of a file: what is left of the figures is kept, and nothing that was not there appears.
use super::draw::Draw;
use crate::{Salvage, Writer};
use measure::{Event, Figure, Interval};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PAGE: usize = 4096;

fn figures(interval: &Interval) -> Vec<Figure> {
    interval.figures.clone()
}

/// Three runs of thirty intervals.
fn record(path: &Path) {
    let mut draw = Draw(3);
    let writer = Writer::create(path).unwrap();
    let send = |event: Event| writer.append(&event).unwrap();
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
        send(Event::RunStarted(started));
        for number in 1..=30 {
            let mut interval = draw.typical(number, 2, 500);
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
    writer.finish().unwrap();
}

type Intervals = BTreeMap<(u32, u32), Vec<Figure>>;

fn kept(path: &Path) -> (Intervals, bool) {
    let Ok(mut salvage) = Salvage::open(path) else {
        return (Intervals::new(), true);
    };
    let mut found = Intervals::new();
    for event in &mut salvage {
        if let Event::Interval(interval) = event {
            found.insert((interval.run, interval.number), figures(&interval));
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
        for (key, figures) in &found {
            assert_eq!(self.all.get(key), Some(figures), "{what}: {key:?}");
        }
        assert!(is_damaged || found.len() == self.all.len(), "{what}");
        found.len()
    }
}

#[test]
fn a_page_costs_what_it_held_and_no_more() {
    let case = Case::new();
    let pages = case.whole.len() / PAGE;
    let mut costs = BTreeSet::new();
    for page in 0..pages {
        let mut bytes = case.whole.clone();
        bytes[page * PAGE..][..PAGE].fill(0);
        let lost = case.all.len() - case.check(&bytes, &format!("page {page}"));
        // A page of figures holds a dozen intervals; roots of trees, and tables of starts, are not needed.
        assert!(lost <= 45, "page {page} costs {lost} intervals");
        costs.insert(lost);
    }
    assert!(costs.len() > 2, "{costs:?}");
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
    assert!(kept[10] > 0, "{kept:?}");
    assert!(kept[18] > 60, "{kept:?}");
}

#[test]
fn pages_in_each_others_place_add_nothing() {
    let case = Case::new();
    let (pages, mut draw) = (case.whole.len() / PAGE, Draw(5));
    for number in 0..100 {
        let (from, to) = (
            draw.below(pages as u64) as usize,
            draw.below(pages as u64) as usize,
        );
        let mut bytes = case.whole.clone();
        bytes.copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE);
        case.check(
            &bytes,
            &format!("{number}: page {from} in the place of {to}"),
        );
    }
}
