//! Records of I/O (`read_iolog`, versions 2 and 3) to operations that a plan can hold. What is wrong
//! with one stops a run, and no reading: the record may still have to be made.
use super::codes;
use super::jobs::{Given, Job};
use super::resolve::Spec;
use super::support::push_once;
use crate::Environment;
use crate::sink::Sink;
use plan::{
    AddressOrder, AlignRule, Diagnostic, FirstBlock, Generator, Nanos, Operation, OperationMix,
    PerDirection, RecordedOperation, RecordedPlace, Region, Replay, SequentialEnd, SequentialStart,
    TransferSizes,
};
use std::collections::HashMap;

/// What one clone replays.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// The files that are used, in the order in which they first are.
    pub files: Vec<String>,
    pub replay: Replay,
}

/// How the operations of a record are to be changed.
#[derive(Clone, Debug, Default)]
struct Changes {
    redirect: Option<String>,
    /// Offsets are divided by this; 0 and 1 change nothing.
    divisor: u64,
    /// Offsets are rounded down to a multiple of this; 0 changes nothing.
    multiple: u64,
    skipped: Vec<String>,
    /// Speed in percent; `None` takes no times at all.
    speed_pct: Option<u64>,
}

/// Waits that are shorter (in microseconds) are left out.
const SHORTEST_WAIT_US: u64 = 100;
/// Files of a clone.
const FILES_MAX: usize = 1 << 16;
/// How a binary trace of block devices begins, in either order of bytes.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
/// Actions on a file as such.
const OF_FILES: [&str; 3] = ["add", "open", "close"];
/// How every record begins.
const FIRST_WORD: &[u8] = b"fio version";
const BINARY_MARKS: [[u8; 4]; 2] = [[0x07, 0x74, 0x61, 0x65], [0x65, 0x61, 0x74, 0x07]];

/// The records of a job: clone `i` takes number `i`, and begins again behind the last. Empty where
/// the job replays nothing, and where a record cannot be used, which was reported.
pub(crate) fn read(
    job: &Job,
    environment: &Environment<'_>,
    blockers: &mut Vec<Diagnostic>,
    sink: &mut Sink,
) -> Vec<Record> {
    let Some(given) = job.given("read_iolog") else {
        return Vec::new();
    };
    let changes = Changes::of(job);
    let names = given.text().split(':').map(str::trim);
    let mut records = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        match one(name, &changes, environment) {
            Ok(record) => records.push(record),
            Err(problem) => {
                push_once(blockers, (*problem).at(given.span(), "this record"));
                return Vec::new();
            }
        }
    }
    if records.is_empty() {
        push_once(
            blockers,
            problem("`read_iolog` names no file").at(given.span(), "empty"),
        );
    }
    note_what_does_nothing(job, given, sink);
    records
}

impl Spec<'_> {
    /// With a record, nothing else says how fast the job goes or that it fills its time.
    pub(crate) fn governed_by_record(mut self) -> Self {
        if !self.records.is_empty() {
            self.pace = None;
            self.times.is_time_based = false;
        }
        self
    }
}

/// Options that say when a job ends or how fast it goes, which here the record says.
fn note_what_does_nothing(job: &Job, record: &Given, sink: &mut Sink) {
    let ended = [
        ("loops", job.get(number!("loops")) > 1),
        ("time_based", job.is_on(on!("time_based"))),
    ];
    let paced = ["rate", "rate_iops"].into_iter().filter(|name| {
        let numbers = job.numbers(name).unwrap_or([None; 3]);
        numbers.iter().flatten().any(|number| *number > 0)
    });
    let ended = ended.into_iter().filter(|(_, asks)| *asks);
    for name in ended.map(|(name, _)| name).chain(paced) {
        let message = format!("`{name}` does nothing beside `read_iolog`, in the original neither");
        let note = Diagnostic::note(codes::TRANSLATED, message)
            .at(job.place_of(name), "the record says when, and how often")
            .with_related(record.span(), "the record")
            .with_help("use `replay_time_scale` for another speed, `--repeat` for another time");
        sink.push(note);
    }
}

fn problem(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::RECORD, message.into())
}

fn one(
    name: &str,
    changes: &Changes,
    environment: &Environment<'_>,
) -> Result<Record, Box<Diagnostic>> {
    let failed = |message: String, help: &str| Box::new(problem(message).with_help(help));
    if name == "-" {
        let message = "a record cannot come from standard input".to_owned();
        return Err(failed(message, "write it to a file first"));
    }
    let bytes = environment.files.read_data(name).map_err(|reason| {
        let message = format!("`{name}` cannot be read: {reason}");
        Box::new(Diagnostic::error(codes::FILE, message))
    })?;
    if BINARY_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
        let message = format!("`{name}` is a binary trace of a block device");
        let help = "binary traces are not read; convert it to a record of version 2";
        return Err(failed(message, help));
    }
    let bytes = bytes.strip_prefix(UTF8_MARK).unwrap_or(&bytes);
    // What is no record may be large, and is not turned into text first.
    let text = match bytes.starts_with(FIRST_WORD) {
        true => String::from_utf8_lossy(bytes),
        false => "".into(),
    };
    parse(name, &text, changes).map_err(|(line, what)| {
        let message = format!("`{name}`, line {line}: {what}");
        failed(
            message,
            "`fathom explain fio-0134` tells what a record holds",
        )
    })
}

impl Changes {
    fn of(job: &Job) -> Self {
        let count = |setting| job.get::<i64>(setting).max(0) as u64;
        let redirect = job.text("replay_redirect").map(str::trim);
        Self {
            redirect: redirect.filter(|path| !path.is_empty()).map(str::to_owned),
            divisor: count(number!("replay_scale")),
            multiple: count(number!("replay_align")),
            skipped: job
                .text("replay_skip")
                .into_iter()
                .flat_map(|words| words.split(','))
                .map(|word| word.trim().to_owned())
                .collect(),
            speed_pct: (!job.is_on(on!("replay_no_stall")))
                .then(|| count(number!("replay_time_scale")).max(1)),
        }
    }

    fn skips(&self, action: &str) -> bool {
        let kind = if action == "datasync" { "sync" } else { action };
        self.skipped.iter().any(|skipped| skipped == kind)
    }

    fn offset(&self, offset: u64) -> u64 {
        let scaled = offset / self.divisor.max(1);
        scaled - scaled % self.multiple.max(1)
    }
}

/// A record while it is read.
#[derive(Default)]
struct Reading<'a> {
    files: Vec<String>,
    numbers: HashMap<&'a str, u16>,
    places: Vec<RecordedPlace>,
    operations: Vec<RecordedOperation>,
    bytes: u64,
    grain_bytes: u64,
    /// Of the present line, in microseconds.
    now_us: u64,
    first_us: Option<u64>,
}

/// Reads a text; an error has the number of its line.
fn parse(name: &str, text: &str, changes: &Changes) -> Result<Record, (usize, String)> {
    let mut lines = text.lines().enumerate();
    let header = lines.next().map_or("", |(_, line)| line.trim());
    let is_timed = match header {
        "fio version 2 iolog" => false,
        "fio version 3 iolog" => true,
        "fio version 1 iolog" => return Err((1, "records of version 1 are not read".to_owned())),
        _ => {
            return Err((
                1,
                "no record: `fio version 2 iolog` or `3` is expected".to_owned(),
            ));
        }
    };
    let mut reading = Reading::default();
    for (number, line) in lines {
        let line = line.trim();
        // A log that was appended to has its header again.
        if line.is_empty() || line == header {
            continue;
        }
        reading
            .line(line, is_timed, changes)
            .map_err(|what| (number + 1, what))?;
    }
    reading.finish(name, changes).map_err(|what| (1, what))
}

impl<'a> Reading<'a> {
    fn line(&mut self, line: &'a str, is_timed: bool, changes: &Changes) -> Result<(), String> {
        let mut rest = line;
        if is_timed {
            let (time, after) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            self.now_us = number(Some(time), "a time")?;
            rest = after.trim_start();
        }
        let Some((file, action, numbers)) = parts(rest) else {
            return Err("a file and an action are expected".to_owned());
        };
        if OF_FILES.contains(&action) {
            return Ok(());
        }
        let mut words = numbers.split_whitespace();
        let (offset, length) = (
            number(words.next(), "an offset")?,
            number(words.next(), "a length")?,
        );
        let operation = match action {
            "wait" if is_timed => return Err("version 3 has no `wait`".to_owned()),
            "wait" => {
                if offset >= SHORTEST_WAIT_US {
                    self.now_us = self.now_us.saturating_add(offset);
                }
                return Ok(());
            }
            _ if changes.skips(action) => return Ok(()),
            "read" => Operation::Read,
            "write" => Operation::Write,
            "trim" => Operation::Trim,
            "sync" => return self.push(file, Operation::Sync, (0, 0), changes),
            "datasync" => return self.push(file, Operation::DataSync, (0, 0), changes),
            other => return Err(format!("unknown action `{}`", shown(other))),
        };
        let offset = changes.offset(offset);
        let length = u32::try_from(length)
            .ok()
            .filter(|length| *length > 0 && offset.checked_add(u64::from(*length)).is_some())
            .ok_or_else(|| format!("a length of {length} bytes at {offset} cannot be"))?;
        self.push(file, operation, (offset, length), changes)
    }

    fn push(
        &mut self,
        file: &'a str,
        operation: Operation,
        (offset, length): (u64, u32),
        changes: &Changes,
    ) -> Result<(), String> {
        let file = match &changes.redirect {
            Some(_) => "",
            None => file,
        };
        let place = match self.numbers.get(file) {
            Some(place) => *place,
            None => {
                if self.files.len() == FILES_MAX {
                    return Err(format!("more than {FILES_MAX} files"));
                }
                let place = self.files.len() as u16;
                self.numbers.insert(file, place);
                let path = changes.redirect.clone();
                self.files.push(path.unwrap_or_else(|| file.to_owned()));
                self.places.push(RecordedPlace::default());
                place
            }
        };
        self.places[usize::from(place)].note(operation, offset, u64::from(length));
        self.bytes = self.bytes.saturating_add(u64::from(length));
        self.grain_bytes = common_divisor(common_divisor(self.grain_bytes, offset), length.into());
        let first_us = *self.first_us.get_or_insert(self.now_us);
        let since_us = self.now_us.saturating_sub(first_us);
        let at_ns = changes.speed_pct.map_or(0, |speed_pct| {
            (u128::from(since_us) * 100_000 / u128::from(speed_pct)).min(u64::MAX.into()) as u64
        });
        // A time that goes back is no time to wait for.
        let before = self.operations.last().map_or(Nanos(0), |last| last.at);
        self.operations.push(RecordedOperation {
            at: Nanos(at_ns).max(before),
            offset,
            length,
            place,
            operation,
        });
        Ok(())
    }

    fn finish(self, name: &str, changes: &Changes) -> Result<Record, String> {
        let last = self.operations.last().filter(|_| self.bytes > 0);
        let last = last.ok_or("it holds no I/O")?;
        if let Some(unused) = self.places.iter().position(|place| place.end == 0) {
            let file = &self.files[unused];
            return Err(format!(
                "`{file}` is only synced, and nothing else is done to it"
            ));
        }
        let follows_times = changes.speed_pct.is_some() && last.at > Nanos(0);
        Ok(Record {
            replay: Replay {
                name: name.to_owned(),
                envelope: envelope(&self.operations),
                follows_times,
                count: self.operations.len() as u64,
                bytes: self.bytes,
                places: self.places,
                grain_bytes: self.grain_bytes,
                operations: self.operations.into(),
            },
            files: self.files,
        })
    }
}

/// The name of a file, an action, and what follows. A name may hold blanks, so that the end of a line says what its
/// parts are, where it is one that can be.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    fn last(text: &str) -> Option<(&str, &str)> {
        let (front, word) = text.rsplit_once(char::is_whitespace)?;
        Some((front.trim_end(), word))
    }
    if let Some((file, action)) = last(line).filter(|(_, word)| OF_FILES.contains(word)) {
        return Some((file, action, ""));
    }
    let is_number = |(_, word): &(&str, &str)| word.parse::<u64>().is_ok();
    let of_numbers = || {
        let (front, _length) = last(line).filter(is_number)?;
        let (front, _offset) = last(front).filter(is_number)?;
        let (file, action) = last(front)?;
        Some((file, action, &line[front.len()..]))
    };
    of_numbers().or_else(|| {
        let (file, after) = line.split_once(char::is_whitespace)?;
        let after = after.trim_start();
        let (action, numbers) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
        (!action.is_empty()).then_some((file, action, numbers))
    })
}

/// The mix and the sizes of operations.
fn envelope(operations: &[RecordedOperation]) -> Generator {
    let transfers = operations.iter().filter(|one| !one.operation.is_sync());
    let of = |wanted: Operation| {
        let lengths = transfers
            .clone()
            .filter(move |one| one.operation == wanted)
            .map(|one| u64::from(one.length));
        let pct = lengths.clone().count() as f64 * 100.0 / transfers.clone().count() as f64;
        let sizes = match (lengths.clone().min(), lengths.max()) {
            (Some(min), Some(max)) if min < max => TransferSizes::Uniform { min, max, step: 1 },
            (Some(min), _) => TransferSizes::Fixed(min),
            _ => TransferSizes::Fixed(
                transfers
                    .clone()
                    .map(|one| one.length)
                    .max()
                    .unwrap_or(0)
                    .into(),
            ),
        };
        (pct, sizes)
    };
    let (read_pct, read) = of(Operation::Read);
    let (write_pct, write) = of(Operation::Write);
    let (trim_pct, trim) = of(Operation::Trim);
    Generator {
        operations: OperationMix {
            read_pct,
            write_pct,
            trim_pct,
        },
        transfer: PerDirection { read, write, trim },
        order: AddressOrder::Sequential {
            start: SequentialStart::First,
            end: SequentialEnd::Wrap,
        },
        region: Region::whole(1, FirstBlock::Used),
        align: AlignRule::Bytes(1),
        sequences: plan::Sequences::Shared,
        hits: None,
        redraws_sizes: false,
    }
}

fn number(word: Option<&str>, what: &str) -> Result<u64, String> {
    let word = word.ok_or_else(|| format!("{what} is missing"))?;
    word.parse()
        .map_err(|_| format!("{what} is expected, not `{}`", shown(word)))
}

/// A word of a damaged file may have any length.
fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `write_iolog` has them.
    #[test]
    fn names_of_files_may_hold_blanks() {
        let text = "fio version 3 iolog\n0 a  b add\n0 a  b open\n7 a  b write 0 4096\n\
                    8 x read 0 4 read 4096 512\n9 a  b sync 0 0\n9 a  b close\n";
        let record = parse("r", text, &changes()).unwrap();
        assert_eq!(record.files, ["a  b", "x read 0 4"]);
        let expected = [
            (0, 0, Operation::Write, 0, 4096),
            (1, 1, Operation::Read, 4096, 512),
            (2, 0, Operation::Sync, 0, 0),
        ];
        assert_eq!(rows(&record), expected);
    }

    fn changes() -> Changes {
        Changes {
            divisor: 1,
            speed_pct: Some(100),
            ..Changes::default()
        }
    }

    fn rows(record: &Record) -> Vec<(u64, u16, Operation, u64, u32)> {
        let row = |one: &RecordedOperation| {
            (
                one.at.0 / 1000,
                one.place,
                one.operation,
                one.offset,
                one.length,
            )
        };
        record.replay.operations.iter().map(row).collect()
    }

    const TIMED: &str = "fio version 3 iolog\n20 a add\n30 a open\n100 a read 8192 4096\n\
                         350 b write 4096 512\n340 a trim 0 4096\n900 a close\n";

    #[test]
    fn times_count_from_the_first_operation_and_never_go_back() {
        let record = parse("r", TIMED, &changes()).unwrap();
        assert_eq!(record.files, ["a", "b"]);
        let expected = [
            (0, 0, Operation::Read, 8192, 4096),
            (250, 1, Operation::Write, 4096, 512),
            (250, 0, Operation::Trim, 0, 4096),
        ];
        assert_eq!(rows(&record), expected);
        let replay = &record.replay;
        assert_eq!(
            (replay.count, replay.bytes, replay.grain_bytes),
            (3, 8704, 512)
        );
        assert_eq!(replay.places[0].end, 12288);
        assert_eq!(
            replay.places[0].written,
            Some((0, 4096)),
            "what is read is not written"
        );
        assert_eq!(replay.places[1].written, Some((4096, 4608)));
        assert!(replay.follows_times);
    }

    #[test]
    fn syncs_have_no_bytes_and_do_not_count_in_the_mix() {
        let text =
            "fio version 2 iolog\na write 4096 512\na sync 4096 0\na datasync 0 0\na read 0 512\n";
        let record = parse("r", text, &changes()).unwrap();
        let expected = [
            (0, 0, Operation::Write, 4096, 512),
            (0, 0, Operation::Sync, 0, 0),
            (0, 0, Operation::DataSync, 0, 0),
            (0, 0, Operation::Read, 0, 512),
        ];
        assert_eq!(rows(&record), expected);
        let Replay {
            envelope,
            count,
            bytes,
            grain_bytes,
            ..
        } = record.replay;
        assert_eq!((count, bytes, grain_bytes), (4, 1024, 512));
        assert_eq!(envelope.operations.write_pct, 50.0);
        let skipping = Changes {
            skipped: vec!["sync".to_owned()],
            ..changes()
        };
        assert_eq!(parse("r", text, &skipping).unwrap().replay.count, 2);
    }

    #[test]
    fn offsets_files_speed_and_directions_are_changed_as_asked() {
        let changed = Changes {
            redirect: Some("/x".to_owned()),
            divisor: 3,
            multiple: 1024,
            skipped: vec!["trim".to_owned()],
            speed_pct: Some(50),
        };
        let record = parse("r", TIMED, &changed).unwrap();
        assert_eq!(record.files, ["/x"]);
        let expected = [
            (0, 0, Operation::Read, 2048, 4096),
            (500, 0, Operation::Write, 1024, 512),
        ];
        assert_eq!(rows(&record), expected);
        let changed = Changes {
            speed_pct: None,
            ..changed
        };
        let record = parse("r", TIMED, &changed).unwrap();
        assert!(!record.replay.follows_times);
        assert_eq!(rows(&record)[1].0, 0);
    }

    #[test]
    fn waits_add_up_and_short_ones_are_left_out() {
        let text = "fio version 2 iolog\na add\na open\na read 0 512\na wait 99 0\na read 512 512\n\
                    a wait 100 0\na wait 2000 0\na write 0 512\na close\n";
        let record = parse("r", text, &changes()).unwrap();
        let times: Vec<u64> = rows(&record).iter().map(|row| row.0).collect();
        assert_eq!(times, [0, 0, 2100]);
        let text = "fio version 2 iolog\na read 0 512\na read 512 512\n";
        assert!(!parse("r", text, &changes()).unwrap().replay.follows_times);
    }

    #[test]
    fn what_is_no_record_is_told_with_its_line() {
        for (text, line, what) in [
            ("", 1, "no record"),
            ("fio version 1 iolog\n", 1, "version 1"),
            ("fio version 3 iolog\n", 1, "no I/O"),
            (
                "fio version 3 iolog\nx a read 0 1\n",
                2,
                "a time is expected, not `x`",
            ),
            ("fio version 3 iolog\n1 a wait 5 0\n", 2, "no `wait`"),
            ("fio version 2 iolog\na read 0\n", 2, "a length is missing"),
            ("fio version 2 iolog\na read 0 0\n", 2, "a length of 0"),
            (
                "fio version 2 iolog\na read 18446744073709551615 1\n",
                2,
                "cannot be",
            ),
            (
                "fio version 2 iolog\na jump 0 1\n",
                2,
                "unknown action `jump`",
            ),
            ("fio version 2 iolog\na sync 0 0\n", 1, "no I/O"),
            (
                "fio version 2 iolog\na read 0 1\nb sync 0 0\n",
                1,
                "`b` is only synced",
            ),
        ] {
            let (at, said) = parse("r", text, &changes()).map(|_| ()).unwrap_err();
            assert_eq!(at, line, "{text}: {said}");
            assert!(said.contains(what), "{text}: {said}");
        }
    }
}
