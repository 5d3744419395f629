//! A record of all I/O of a job, in fio's version 3: a line per operation with its time in
//! microseconds, its file, offset and length, in the order in which they were submitted.
use measure::OperationRecord;
use plan::Operation;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

const HEADER: &str = "fio version 3 iolog";

/// Operations are told when they complete. So many wait for others that were submitted before them;
/// one that took longer than all of these stands behind them, with its true time.
const HELD_MAX: usize = 1 << 16;

/// The record of all clones that name the same file.
#[derive(Debug)]
pub(super) struct Record {
    out: BufWriter<File>,
    /// By target: its path, and whether lines say that it is used.
    files: Vec<(String, bool)>,
    held: BinaryHeap<Reverse<Held>>,
    last_us: u64,
}

/// In the order of submission: microseconds, and which came first of those of one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    at_us: u64,
    seen_ns: u64,
    offset: u64,
    target: u32,
    length: u32,
    action: &'static str,
}

impl Record {
    /// Goes on behind what is in the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(file: File, targets: &[String]) -> io::Result<Self> {
        let is_new = file.metadata()?.len() == 0;
        let mut out = BufWriter::new(file);
        if is_new {
            writeln!(out, "{HEADER}")?;
        }
        let files = targets.iter().map(|path| (path.clone(), false));
        Ok(Self {
            out,
            files: files.collect(),
            held: BinaryHeap::new(),
            last_us: 0,
        })
    }

    pub(super) fn take(&mut self, record: &OperationRecord) -> io::Result<()> {
        let action = match record.operation {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Trim => "trim",
            Operation::Sync => "sync",
            Operation::DataSync => "datasync",
            _ => return Ok(()),
        };
        self.held.push(Reverse(Held {
            at_us: record.seen_ns.saturating_sub(record.service_ns) / 1_000,
            seen_ns: record.seen_ns,
            offset: record.offset,
            target: record.target.0,
            length: record.length,
            action,
        }));
        match self.held.len() > HELD_MAX {
            true => self.write_earliest(),
            false => Ok(()),
        }
    }

    fn write_earliest(&mut self) -> io::Result<()> {
        let Some(Reverse(held)) = self.held.pop() else {
            return Ok(());
        };
        let at_us = held.at_us;
        self.last_us = self.last_us.max(at_us);
        let Some((path, is_open)) = self.files.get_mut(held.target as usize) else {
            return Ok(());
        };
        if !*is_open {
            *is_open = true;
            writeln!(self.out, "{at_us} {path} add\n{at_us} {path} open")?;
        }
        let Held {
            action,
            offset,
            length,
            ..
        } = held;
        writeln!(self.out, "{at_us} {path} {action} {offset} {length}")
    }

    /// Writes what is left, and that the files are closed.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        while !self.held.is_empty() {
            self.write_earliest()?;
        }
        for (path, is_open) in &mut self.files {
            if std::mem::take(is_open) {
                writeln!(self.out, "{} {path} close", self.last_us)?;
            }
        }
        self.out.flush()
    }
}
