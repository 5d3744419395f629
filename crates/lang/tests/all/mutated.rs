//! Our own job files, changed in a few places: the readers never panic, and what they give is consistent. The same changes
//! each time, or other ones for some minutes where `FATHOM_LONG` is set.
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Numbers at which readers tend to break, and what gives a text another meaning.
#[rustfmt::skip]
const ODD: &[&str] = &[
    "0", "1", "-1", "00", "1.5", "1e9", ".", "99", "100", "101", "255", "256", "65536", "2147483647", "2147483648",
    "4294967296", "9223372036854775807", "18446744073709551616", "99999999999999999999", "1k", "8191p", "1m", "0x10",
    "NaN", "$v", "${v}", "$ncpus", "include=i", "include i", "\"", "'", "(", ")", ",", "-", "*", "=", "\\:", ";", "#",
    "\0", "\r", "\u{7f}", "é", "(1-9,d)", "(1-9,1)", "(512,50,4k,50)", "50%", "[j]", "[global]",
];

/// In a row: enough for a minute of nobody's time.
const CASES: u32 = 3_000;

/// Of each language, where time is no matter.
const LONG: Duration = Duration::from_secs(200);

/// One change; places are parts of whatever there is.
#[derive(Clone, Debug)]
enum Change {
    /// A word gives way to one of another file.
    Word(Index, Index),
    /// A word gives way to something odd.
    Odd(Index, &'static str),
    /// Something odd is put between two characters.
    Insert(Index, &'static str),
    /// A line comes again at another place.
    Copy(Index, Index),
    Remove(Index),
    /// A line of another file.
    Take(Index, Index),
    /// A line goes on with the next.
    Join(Index),
    /// One bit of a byte.
    Bit(Index, u8),
    Cut(Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = any::<Index>;
    let odd = || prop::sample::select(ODD);
    let one = prop_oneof![
        4 => (place(), place()).prop_map(|(at, of)| Change::Word(at, of)),
        3 => (place(), odd()).prop_map(|(at, odd)| Change::Odd(at, odd)),
        2 => (place(), odd()).prop_map(|(at, odd)| Change::Insert(at, odd)),
        1 => (place(), place()).prop_map(|(from, to)| Change::Copy(from, to)),
        1 => place().prop_map(Change::Remove),
        2 => (place(), place()).prop_map(|(at, of)| Change::Take(at, of)),
        1 => place().prop_map(Change::Join),
        1 => (place(), 0_u8..8).prop_map(|(at, bit)| Change::Bit(at, bit)),
        1 => place().prop_map(Change::Cut),
    ];
    prop::collection::vec(one, 1..8)
}

fn apply(text: &mut Vec<u8>, change: &Change, others: &[&[u8]]) {
    match change {
        Change::Word(at, of) => {
            let word = of.get(others);
            replace_word(text, *at, word);
        }
        Change::Odd(at, odd) => replace_word(text, *at, odd.as_bytes()),
        Change::Insert(at, odd) => {
            let at = at.index(text.len() + 1);
            text.splice(at..at, odd.bytes());
        }
        Change::Bit(at, bit) => {
            if !text.is_empty() {
                let at = at.index(text.len());
                text[at] ^= 1 << bit;
            }
        }
        Change::Cut(at) => text.truncate(at.index(text.len() + 1)),
        _ => change_lines(text, change, others),
    }
}

fn replace_word(text: &mut Vec<u8>, at: Index, by: &[u8]) {
    let words = words(text);
    if !words.is_empty() {
        let place = words[at.index(words.len())].clone();
        text.splice(place, by.iter().copied());
    }
}

fn change_lines(text: &mut Vec<u8>, change: &Change, others: &[&[u8]]) {
    let mut lines: Vec<Vec<u8>> = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let count = lines.len();
    match change {
        Change::Copy(from, to) => {
            let line = lines[from.index(count)].clone();
            lines.insert(to.index(count), line);
        }
        Change::Remove(at) => drop(lines.remove(at.index(count))),
        Change::Take(at, of) => lines.insert(at.index(count), of.get(others).to_vec()),
        Change::Join(at) if count > 1 => {
            let at = at.index(count - 1);
            let line = lines.remove(at + 1);
            lines[at].extend(line);
        }
        _ => {}
    }
    *text = lines.join(&b'\n');
}

/// Where letters and digits stand together.
fn words(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut words: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() && !b"._-".contains(byte) {
            continue;
        }
        match words.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => words.push(at..at + 1),
        }
    }
    words
}

/// In the order of their names, so that a change means the same everywhere.
fn collect(folder: &Path, end: &str, found: &mut Vec<Vec<u8>>) {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, end, found);
        } else if path.extension().is_some_and(|extension| extension == end) {
            found.push(std::fs::read(path).unwrap());
        }
    }
}

/// Files of a language, and those that once failed.
fn files(language: &str, end: &str) -> Vec<Vec<u8>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    collect(&own.join("tests"), end, &mut found);
    collect(
        &own.join("../../fuzz/seeds").join(language),
        end,
        &mut found,
    );
    assert!(found.len() >= 15, "{language}: {}", found.len());
    found
}

fn change_and_read(language: &str, end: &str, read: fn(&[u8])) {
    let files = files(language, end);
    for file in &files {
        read(file);
    }
    let mut others: Vec<&[u8]> = Vec::new();
    for file in &files {
        others.extend(words(file).into_iter().map(|place| &file[place]));
        others.extend(file.split(|byte| *byte == b'\n'));
    }
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
        let outcome = runner.run(&(any::<Index>(), changes()), |(pick, changes)| {
            let mut text = pick.get(&files).clone();
            for change in &changes {
                apply(&mut text, change, &others);
            }
            let told = String::from_utf8_lossy(&text).into_owned();
            std::panic::catch_unwind(|| read(&text))
                .map_err(|_| TestCaseError::fail(format!("the reader panics at:\n{told}")))
        });
        if let Err(wrong) = outcome {
            panic!("{wrong}");
        }
        if !is_long || begun.elapsed() > LONG {
            return;
        }
    }
}

#[test]
fn no_change_of_a_parameter_file_panics() {
    change_and_read("vdbench", "parm", lang::vdbench::fuzz_one);
}

#[test]
fn no_change_of_a_job_file_panics() {
    change_and_read("fio", "fio", lang::fio::fuzz_one);
}

/// What finds nothing may also look for nothing.
#[test]
#[should_panic(expected = "the reader panics at")]
fn a_planted_panic_is_found() {
    change_and_read("vdbench", "parm", |text| {
        let is_twice = text
            .split(|byte| *byte == b'\n')
            .collect::<Vec<_>>()
            .windows(2)
            .any(|pair| pair[0] == pair[1] && pair[0].starts_with(b"rd="));
        assert!(!is_twice, "planted");
    });
}
