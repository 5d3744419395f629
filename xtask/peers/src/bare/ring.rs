//! Random reads through a ring and nothing else: no stamps, no figures, no schedule. What Fathom spends beyond it is
//! the price of measuring.
use super::Random;
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use sys::clock::Clock;
use sys::file::OpenFlags;
use sys::ring::{Request, RequestKind, Ring, RingConfig};

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What to read, past the page cache.
    #[arg(long)]
    pub file: PathBuf,
    #[arg(long, default_value_t = 4096)]
    pub bytes: u32,
    #[arg(long, default_value_t = 32)]
    pub depth: u32,
    /// Completions awaited at once; what they free is submitted with the next call.
    #[arg(long, default_value_t = 4)]
    pub group: u32,
    #[arg(long)]
    pub seconds: u64,
    #[arg(long, default_value_t = 1)]
    pub warmup: u64,
}

/// How long a wait for a group may last before the clock is looked at, ns.
const WAIT_NS: u64 = 1_000_000;

/// Runs the loop on this thread.
///
/// # Errors
/// A message when the file cannot be read this way or a read fails.
pub fn run(options: &Options) -> Result<Value, String> {
    let shown = options.file.display();
    let flags = OpenFlags {
        read: true,
        direct: true,
        ..OpenFlags::default()
    };
    let file =
        sys::file::open(&options.file, &flags).map_err(|error| format!("{shown}: {error}"))?;
    let bytes = sys::file::device_bytes(&file)
        .or_else(|_| file.metadata().map(|facts| facts.len()))
        .map_err(|error| format!("{shown}: {error}"))?;
    let blocks = bytes / u64::from(options.bytes.max(1));
    if blocks == 0 || options.depth == 0 || options.group == 0 {
        return Err("nothing to read, or a depth or a group of 0".to_owned());
    }
    let config = RingConfig {
        slots: options.depth,
        batch: options.depth,
        buffer_bytes: options.bytes as usize,
        buffer_align: 4096,
        register_buffers: true,
        register_files: true,
        mode: sys::requests::RequestMode::default(),
    };
    let mut ring = Ring::new(&config, vec![Arc::new(file)]).map_err(|error| error.to_string())?;
    let mut reader = Reader {
        random: Random::new(1),
        blocks,
        bytes: options.bytes,
        operations: 0,
        errno: 0,
    };
    let clock = Clock::calibrate();
    for slot in 0..options.depth {
        reader.push(&mut ring, slot);
    }
    reader.until(&mut ring, options.group, &clock, options.warmup)?;
    let (before, cpu_ns) = (reader.operations, sys::thread::process_cpu_ns());
    let begin_ns = clock.now_ns();
    reader.until(&mut ring, options.group, &clock, options.seconds)?;
    Ok(json!({
        "operations": reader.operations - before,
        "window_ns": clock.now_ns() - begin_ns,
        "cpu_ns": sys::thread::process_cpu_ns() - cpu_ns,
    }))
}

struct Reader {
    random: Random,
    blocks: u64,
    bytes: u32,
    operations: u64,
    errno: i32,
}

impl Reader {
    fn push(&mut self, ring: &mut Ring, slot: u32) {
        let request = Request {
            kind: RequestKind::Read,
            file: 0,
            offset: self.random.below(self.blocks) * u64::from(self.bytes),
            length: self.bytes,
            priority: 0,
        };
        ring.push(slot, request);
    }

    fn until(
        &mut self,
        ring: &mut Ring,
        group: u32,
        clock: &Clock,
        seconds: u64,
    ) -> Result<(), String> {
        let end_ns = clock.now_ns() + seconds * 1_000_000_000;
        let mut free = Vec::with_capacity(ring.slots() as usize);
        while clock.now_ns() < end_ns {
            ring.enter(group, Some(WAIT_NS))
                .map_err(|error| format!("io_uring_enter: {error}"))?;
            ring.reap(|slot, result| {
                if result < self.bytes as i32 {
                    self.errno = if result < 0 { -result } else { 61 };
                }
                free.push(slot);
            });
            if self.errno != 0 {
                let error = std::io::Error::from_raw_os_error(self.errno);
                return Err(format!("a read failed: {error}"));
            }
            self.operations += free.len() as u64;
            while let Some(slot) = free.pop() {
                self.push(ring, slot);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            file: folder.path().join("file"),
            bytes: 4096,
            depth: 4,
            group: 2,
            seconds: 1,
            warmup: 0,
        };
        assert!(run(&options).is_err(), "there is no file yet");
        std::fs::write(&options.file, vec![7; 1 << 20]).unwrap();
        match run(&options) {
            Ok(found) => {
                assert!(found["operations"].as_u64() > Some(0));
                assert!(found["window_ns"].as_u64() >= Some(1_000_000_000));
            }
            Err(reason) if reason.contains("refused") || reason.contains("Invalid argument") => {
                println!("skipped: {reason}");
            }
            Err(reason) => panic!("{reason}"),
        }
    }
}
