//! What is fuzzed, and with what it begins.
use crate::mutate::Grain;
use measure::{Event, ExecutionFinished, ExecutionStarted, FinishReason, Remark};
use plan::Severity;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A function that takes any bytes and panics only when it is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    pub execute: fn(&[u8]) -> Sight,
    /// The inputs to begin with, given the root of the workspace.
    pub seeds: fn(&Path) -> Result<Vec<Vec<u8>>, String>,
    pub grain: Grain,
    /// Words that its inputs are made of.
    pub words: &'static [&'static str],
}

/// What can be seen of how the target took an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// Nothing was found wrong with the input.
    pub is_sound: bool,
    /// Inputs that the target treats alike have the same.
    pub signature: u64,
}

/// The reader of Vdbench parameter files.
pub const VDBENCH: Target = Target {
    name: "vdbench",
    execute: read_parameters,
    seeds: parameter_files,
    grain: Grain::Text,
    words: PARAMETER_WORDS,
};

/// The reader of fio job files.
pub const FIO: Target = Target {
    name: "fio",
    execute: read_jobs,
    seeds: job_files,
    grain: Grain::Text,
    words: JOB_WORDS,
};

/// The reader of result files.
pub const RESULT_FILE: Target = Target {
    name: "result_file",
    execute: read_result,
    seeds: result_files,
    grain: Grain::Binary,
    words: &[],
};

/// Holds a planted panic: a fuzzer that does not find it finds nothing.
pub const CANARY: Target = Target {
    name: "canary",
    execute: canary,
    seeds: parameter_files,
    grain: Grain::Text,
    words: PARAMETER_WORDS,
};

/// Those that have to stand every input.
pub const TARGETS: &[&Target] = &[&VDBENCH, &FIO, &RESULT_FILE];

const PARAMETER_WORDS: &[&str] = &[
    "sd",
    "wd",
    "rd",
    "hd",
    "fsd",
    "fwd",
    "default",
    "lun",
    "size",
    "threads",
    "openflags",
    "align",
    "offset",
    "count",
    "range",
    "xfersize",
    "rdpct",
    "seekpct",
    "rhpct",
    "whpct",
    "skew",
    "iorate",
    "elapsed",
    "interval",
    "warmup",
    "pause",
    "forthreads",
    "forxfersize",
    "forrdpct",
    "curve",
    "max",
    "seq",
    "eof",
    "include=i",
    "$v",
    "sd*",
    "o_direct",
    "system",
    "localhost",
    "compratio",
    "dedupratio",
    "hitarea",
    "replay",
    "(1-9,d)",
    "(1-9,1)",
    "(512,50,4k,50)",
    "*",
    "\"",
];

const JOB_WORDS: &[&str] = &[
    "[global]",
    "[j]",
    "include i",
    "rw=",
    "randrw",
    "bs=",
    "bsrange=",
    "bssplit=",
    "size=",
    "io_size=",
    "offset=",
    "offset_increment=",
    "filename=",
    "filename_format=",
    "directory=",
    "nrfiles=",
    "numjobs=",
    "stonewall",
    "wait_for=",
    "new_group",
    "group_reporting",
    "ioengine=",
    "io_uring",
    "null",
    "iodepth=",
    "rate=",
    "rate_iops=",
    "runtime=",
    "time_based",
    "ramp_time=",
    "startdelay=",
    "random_distribution=",
    "zipf:1.2",
    "zoned:50/10:50/90",
    "percentage_random=",
    "read_iolog=i",
    "buffer_pattern=0x",
    "cpus_allowed=",
    "percentile_list=",
    "$ncpus",
    "$mb_memory",
    "${v}",
    "4k",
    "50%",
    "1.5g",
    "8k,,16k",
    "\\:",
    ";",
    "#",
];

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.ancestors().nth(2);
    root.expect("this crate lies two folders below the root")
        .to_owned()
}

/// Parameter files of our own, wherever tests keep them.
fn parameter_files(root: &Path) -> Result<Vec<Vec<u8>>, String> {
    let mut seeds = Vec::new();
    for folder in ["fuzz/seeds/vdbench", "crates/lang/tests"] {
        collect(&root.join(folder), "parm", &mut seeds)
            .map_err(|error| format!("{folder}: {error}"))?;
    }
    Ok(seeds)
}

/// Job files of our own.
fn job_files(root: &Path) -> Result<Vec<Vec<u8>>, String> {
    let mut seeds = Vec::new();
    for folder in ["fuzz/seeds/fio", "crates/lang/tests/fio"] {
        collect(&root.join(folder), "fio", &mut seeds)
            .map_err(|error| format!("{folder}: {error}"))?;
    }
    Ok(seeds)
}

/// In the order of their names, so that a seed of the mutator means the same everywhere.
fn collect(folder: &Path, end: &str, seeds: &mut Vec<Vec<u8>>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        entries.push(entry?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, end, seeds)?;
        } else if path.extension().is_some_and(|extension| extension == end) {
            seeds.push(std::fs::read(&path)?);
        }
    }
    Ok(())
}

/// Two lines alike that follow each other, and a number that no integer holds: neither is in the seeds, and no single
/// mutation makes both.
fn canary(data: &[u8]) -> Sight {
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let is_doubled = lines
        .windows(2)
        .any(|pair| pair[0] == pair[1] && pair[0].starts_with(b"rd="));
    let is_huge = data
        .windows(20)
        .any(|digits| digits.iter().all(u8::is_ascii_digit));
    assert!(!(is_doubled && is_huge), "the planted panic");
    Sight {
        is_sound: false,
        signature: 0,
    }
}

/// The reader's own entry for fuzzing, and once more for what it has to say.
fn read_parameters(data: &[u8]) -> Sight {
    lang::vdbench::fuzz_one(data);
    let files = lang::MemoryFiles::default();
    let input = lang::vdbench::InputFile::Text {
        name: "fuzz".to_owned(),
        bytes: data.to_vec(),
    };
    let reading = lang::vdbench::read(&[input], &lang::Environment::bare(&files));
    let codes: BTreeSet<&str> = reading
        .diagnostics
        .iter()
        .map(|found| found.code.as_str())
        .collect();
    let kinds: BTreeSet<String> = reading
        .listing
        .iter()
        .map(|run| format!("{:?}", run.kind))
        .collect();
    Sight {
        is_sound: !reading.has_errors(),
        signature: signature(&(codes, kinds, reading.listing.len().min(8))),
    }
}

/// The same for jobs.
fn read_jobs(data: &[u8]) -> Sight {
    lang::fio::fuzz_one(data);
    let files = lang::MemoryFiles::default();
    let input = lang::fio::Input::Text {
        name: "fuzz".to_owned(),
        bytes: data.to_vec(),
    };
    let reading = lang::fio::read(&[input], &[], &lang::Environment::bare(&files));
    let found = reading.diagnostics.iter().chain(&reading.run_blockers);
    let codes: BTreeSet<&str> = found.map(|found| found.code.as_str()).collect();
    let streams = reading.plan.as_ref().map_or(0, |plan| {
        plan.templates.iter().map(|one| one.streams.len()).sum()
    });
    Sight {
        is_sound: !reading.has_errors(),
        signature: signature(&(codes, reading.listing.len().min(8), streams.min(8))),
    }
}

/// Opens the bytes as a result file and reads every event.
fn read_result(data: &[u8]) -> Sight {
    let file = Scratch::new();
    std::fs::write(&file.0, data).expect("the folder for temporary files can be written");
    let reader = match store::Reader::open(&file.0) {
        Ok(reader) => reader,
        Err(error) => {
            return Sight {
                is_sound: false,
                signature: signature(&(false, std::mem::discriminant(&error))),
            };
        }
    };
    let events: Vec<bool> = reader.events().map(|event| event.is_ok()).collect();
    Sight {
        is_sound: events.iter().all(|is_read| *is_read),
        signature: signature(&(true, reader.is_complete().ok(), events)),
    }
}

fn signature(seen: &impl Hash) -> u64 {
    // The same in every process, unlike that of a hash map.
    let mut hasher = DefaultHasher::new();
    seen.hash(&mut hasher);
    hasher.finish()
}

/// One file of an execution that was ended, and one of an execution that was not.
fn result_files(_root: &Path) -> Result<Vec<Vec<u8>>, String> {
    let started = Event::ExecutionStarted(ExecutionStarted {
        fathom_version: "0".to_owned(),
        arguments: vec!["run".to_owned(), "a".to_owned()],
        inputs: vec![("a".to_owned(), "sd=sd1,lun=/b\n".to_owned())],
        plan_json: "{}".to_owned(),
        ..ExecutionStarted::default()
    });
    let remark = Event::Remark(Remark {
        run: None,
        unix_ns: 1,
        severity: Severity::Note,
        code: "note".to_owned(),
        message: "text".to_owned(),
    });
    let finished = Event::ExecutionFinished(ExecutionFinished {
        unix_ns: 2,
        reason: FinishReason::Complete,
    });
    let whole = [started.clone(), remark, finished];
    [&whole[..], &whole[..1]]
        .into_iter()
        .map(result_file)
        .collect()
}

fn result_file(events: &[Event]) -> Result<Vec<u8>, String> {
    let file = Scratch::new();
    let write = || {
        let writer = store::Writer::create(&file.0)?;
        for event in events {
            writer.append(event)?;
        }
        writer.finish()
    };
    write().map_err(|error: store::StoreError| error.to_string())?;
    std::fs::read(&file.0).map_err(|error| error.to_string())
}

/// A file that goes when this goes.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("fuzzer-{}-{number}.fathom", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut path = self.0.clone().into_os_string();
            path.push(end);
            // It need not be there, and one that stays behind in the folder for temporary files does no harm.
            let _ = std::fs::remove_file(path);
        }
    }
}
