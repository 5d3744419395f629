//! Result files with other bytes: reading ends in events or errors, never in a panic. The same changes each time, or other
//! ones for some minutes where `FATHOM_LONG` is set.
use super::{some_events, write};
use crate::Reader;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::path::Path;
use std::time::{Duration, Instant};

/// In a row; a file for each.
const CASES: u32 = 150;

/// Where time is no matter.
const LONG: Duration = Duration::from_secs(200);

/// One change; places are parts of the file.
#[derive(Clone, Debug)]
enum Change {
    /// A big-endian number of this many bytes.
    Number(Index, usize, u64),
    Bit(Index, u8),
    /// A block is laid over another.
    Copy(Index, Index, usize),
    /// A file of pages of which a part is missing.
    Cut(Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = any::<Index>;
    let value = prop_oneof![
        Just(0),
        Just(u64::MAX),
        (0_u32..64).prop_map(|bit| 1 << bit),
        0_u64..300
    ];
    let width = prop::sample::select(&[1_usize, 2, 4, 8]);
    let block = prop::sample::select(&[16_usize, 256, 4096]);
    let one = prop_oneof![
        8 => (place(), width, value).prop_map(|(at, width, value)| Change::Number(at, width, value)),
        4 => (place(), 0_u8..8).prop_map(|(at, bit)| Change::Bit(at, bit)),
        2 => (place(), place(), block).prop_map(|(from, to, block)| Change::Copy(from, to, block)),
        1 => place().prop_map(Change::Cut),
    ];
    prop::collection::vec(one, 1..8)
}

fn apply(file: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Number(at, width, value) if file.len() > *width => {
            let at = at.index(file.len() - width);
            file[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
        }
        Change::Bit(at, bit) if !file.is_empty() => {
            let at = at.index(file.len());
            file[at] ^= 1 << bit;
        }
        Change::Copy(from, to, block) if file.len() >= *block => {
            let blocks = file.len() / block;
            let from = from.index(blocks) * block;
            file.copy_within(from..from + block, to.index(blocks) * block);
        }
        Change::Cut(at) => file.truncate(at.index(file.len() + 1)),
        _ => {}
    }
}

/// How many events are read.
fn events_of(path: &Path) -> usize {
    let Ok(reader) = Reader::open(path) else {
        return 0;
    };
    let _ = reader.is_complete();
    reader.events().filter(Result::is_ok).count()
}

#[test]
fn no_change_of_a_result_panics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    write(&path, &some_events(5, 40)).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(events_of(&path), 40);
    let is_long = std::env::var_os("FATHOM_LONG").is_some();
    let begun = Instant::now();
    loop {
        let seed = match is_long {
            true => RngSeed::Random,
            false => RngSeed::Fixed(831_545_878),
        };
        let mut runner = TestRunner::new(Config {
            cases: CASES,
            failure_persistence: None,
            rng_seed: seed,
            ..Config::default()
        });
        let outcome = runner.run(&changes(), |changes| {
            let mut file = whole.clone();
            changes.iter().for_each(|change| apply(&mut file, change));
            std::fs::write(&path, file)?;
            events_of(&path);
            Ok(())
        });
        outcome.unwrap_or_else(|wrong| panic!("{wrong}"));
        if !is_long || begun.elapsed() > LONG {
            return;
        }
    }
}
