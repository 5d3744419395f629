//! Tests of the machine and of Fathom's own arithmetic that fio offers beside jobs: `--crctest` and
//! `--cpuclock-test`. Each does real work for a moment and prints what came out.
use crate::exit::Exit;
use engine::sum_of_block;
use plan::CheckMethod;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use sys::clock::{Clock, ClockSource};

/// Sums by the names that fio gives them, in its order.
const SUMS: &[(&str, CheckMethod)] = &[
    ("md5", CheckMethod::Md5),
    ("crc64", CheckMethod::Crc64),
    ("crc32", CheckMethod::Crc32),
    ("crc32c", CheckMethod::Crc32c),
    ("crc16", CheckMethod::Crc16),
    ("crc7", CheckMethod::Crc7),
    ("sha1", CheckMethod::Sha1),
    ("sha256", CheckMethod::Sha256),
    ("xxhash", CheckMethod::Xxh32),
    ("sha3-224", CheckMethod::Sha3Of224),
    ("sha3-256", CheckMethod::Sha3Of256),
    ("sha3-384", CheckMethod::Sha3Of384),
    ("sha3-512", CheckMethod::Sha3Of512),
];

/// Of fio's list, with the reason why there is no speed to show.
const NO_SUMS: &[(&str, &str)] = &[
    (
        "sha512",
        "`verify=sha512` keeps no digest, as in fio 3.33, so there is nothing to measure",
    ),
    ("murmur3", "it is no method of `verify`"),
    ("jhash", "it is no method of `verify`"),
    ("fnv", "it is no method of `verify`"),
];

/// Bytes that one sum is of.
const CHUNK_BYTES: usize = 128 << 10;
/// How long each kind of sum is made.
const SUM_SPAN: Duration = Duration::from_millis(100);

/// How long all CPUs read the clock at once.
const CLOCK_SPAN: Duration = Duration::from_millis(500);
/// Spans over which the clock is compared with that of the kernel.
const RATE_SPANS: u32 = 10;
const RATE_SPAN: Duration = Duration::from_millis(20);
/// A reading may be this far out of order with its neighbours: it is not ordered against them.
const DISORDER_NS_MAX: u64 = 100;
/// Calibration over 40 ms, and the kernel's own steering, leave this much.
const DRIFT_PPM_MAX: f64 = 100.0;

/// Shows how fast sums are made that `verify` uses: all of them, or those of a list.
pub fn sums(list: Option<&str>) -> Exit {
    let names = SUMS.iter().map(|(name, _)| *name);
    let wanted: Vec<&str> = match list.map(str::trim).filter(|list| !list.is_empty()) {
        None => names.collect(),
        Some(list) => list.split(',').map(str::trim).collect(),
    };
    let mut methods = Vec::new();
    for name in wanted {
        match method(name) {
            Ok(method) => methods.push((name, method)),
            Err(message) => {
                errln!("error: {message}");
                return Exit::Usage;
            }
        }
    }
    let data: Vec<u8> = (0..CHUNK_BYTES as u64)
        .map(|place| (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect();
    for (name, method) in methods {
        let mib_per_second = speed(method, &data) / f64::from(1 << 20);
        let tabs = if name.len() + 1 < 8 { "\t\t" } else { "\t" };
        outln!("{name}:{tabs}{mib_per_second:8.2} MiB/sec");
    }
    Exit::Fine
}

fn method(name: &str) -> Result<CheckMethod, String> {
    if let Some((_, method)) = SUMS.iter().find(|(known, _)| *known == name) {
        return Ok(*method);
    }
    if let Some((_, reason)) = NO_SUMS.iter().find(|(known, _)| *known == name) {
        return Err(format!("`--crctest={name}`: {reason}"));
    }
    let help = lang::instead_of(name, SUMS.iter().map(|(known, _)| *known));
    Err(format!("no sum is named `{name}`; {help}"))
}

/// Bytes per second.
fn speed(method: CheckMethod, data: &[u8]) -> f64 {
    // Tables are made, and caches warm, before the time begins.
    std::hint::black_box(sum_of_block(method, data));
    let begin = Instant::now();
    let mut bytes = 0;
    while begin.elapsed() < SUM_SPAN {
        std::hint::black_box(sum_of_block(method, std::hint::black_box(data)));
        bytes += data.len();
    }
    bytes as f64 / begin.elapsed().as_secs_f64()
}

/// Tests that the clock of a run goes forward whichever CPU reads it, and at the rate of the kernel's.
pub fn clock() -> Exit {
    let clock = Clock::calibrate();
    let is_counter = matches!(clock.source(), ClockSource::Tsc { .. });
    let word = if is_counter { "yes" } else { "no" };
    outln!("cs: reliable_tsc: {word}");
    outln!("cs: reads {}", clock.source());
    let drifts: Vec<f64> = (0..RATE_SPANS).map(|_| drift_ppm(&clock)).collect();
    let worst_ppm = drifts.iter().fold(0.0_f64, |most, ppm| most.max(ppm.abs()));
    outln!(
        "cs: {worst_ppm:.1} ppm at most off CLOCK_MONOTONIC, over {RATE_SPANS} spans of {} ms",
        RATE_SPAN.as_millis()
    );
    let cpus = sys::thread::available_cpus();
    outln!("cs: Testing {} CPUs", cpus.len());
    let readings = match read_everywhere(&clock, &cpus) {
        Ok(readings) => readings,
        Err(message) => {
            outln!("cs: Failed: {message}");
            return Exit::Failed;
        }
    };
    let mut all: Vec<(u64, u64)> = Vec::new();
    for (cpu, own) in cpus.iter().zip(&readings) {
        let first = own.first().map_or(0, |(_, at_ns)| *at_ns);
        outln!("cs: cpu {cpu:2}: {} clocks seen, first {first}", own.len());
        all.extend(own);
    }
    all.sort_unstable();
    let (count, largest_ns) = disorder(&all);
    outln!(
        "cs: {count} of {} readings lie before an earlier one, by {largest_ns} ns at most",
        all.len()
    );
    let is_fine = largest_ns <= DISORDER_NS_MAX && worst_ppm <= DRIFT_PPM_MAX;
    if is_fine {
        outln!("cs: Pass!");
        return Exit::Fine;
    }
    outln!("cs: Failed: at most {DISORDER_NS_MAX} ns and {DRIFT_PPM_MAX:.0} ppm are fine");
    Exit::Failed
}

/// By how much the clock goes faster than the kernel's, in millionths.
fn drift_ppm(clock: &Clock) -> f64 {
    let before_ns = clock.drift_ns();
    let begin = Instant::now();
    std::thread::sleep(RATE_SPAN);
    let after_ns = clock.drift_ns();
    (after_ns - before_ns) as f64 * 1e6 / begin.elapsed().as_nanos() as f64
}

/// Readings of all CPUs at once: the number of each in the order of all, and its time.
fn read_everywhere(clock: &Clock, cpus: &[usize]) -> Result<Vec<Vec<(u64, u64)>>, String> {
    let (next, together) = (AtomicU64::new(0), Barrier::new(cpus.len()));
    std::thread::scope(|scope| {
        let read = |cpu: usize| {
            let (next, together) = (&next, &together);
            scope.spawn(move || {
                let pinned = sys::thread::pin_to_cpu(cpu);
                together.wait();
                pinned.map_err(|error| format!("no thread on CPU {cpu}: {error}"))?;
                Ok(readings(clock, next))
            })
        };
        let threads: Vec<_> = cpus.iter().map(|cpu| read(*cpu)).collect();
        let ended = threads.into_iter().map(|one| one.join());
        ended
            .map(|result| {
                result.unwrap_or_else(|_| Err("a thread has ended by a panic".to_owned()))
            })
            .collect()
    })
}

/// Reads the clock for a while. A reading has a number if no other thread took one meanwhile, so that the
/// one with the higher number was taken later.
fn readings(clock: &Clock, next: &AtomicU64) -> Vec<(u64, u64)> {
    let (begin, mut out) = (Instant::now(), Vec::new());
    while begin.elapsed() < CLOCK_SPAN {
        for _ in 0..256 {
            let number = next.load(SeqCst);
            let at_ns = clock.now_ns();
            if next
                .compare_exchange(number, number + 1, SeqCst, SeqCst)
                .is_ok()
            {
                out.push((number, at_ns));
            }
        }
    }
    out
}

/// How many times lie before that of a lower number, and by how much at most.
fn disorder(readings: &[(u64, u64)]) -> (u64, u64) {
    let (mut count, mut largest_ns, mut latest_ns) = (0, 0, 0);
    for (_, at_ns) in readings {
        if *at_ns < latest_ns {
            count += 1;
            largest_ns = largest_ns.max(latest_ns - at_ns);
        }
        latest_ns = latest_ns.max(*at_ns);
    }
    (count, largest_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_go_back_are_seen() {
        assert_eq!(disorder(&[(0, 10), (1, 20), (2, 30)]), (0, 0));
        assert_eq!(
            disorder(&[(0, 10), (1, 50), (2, 30), (3, 40), (4, 60)]),
            (2, 20)
        );
    }

    #[test]
    fn names_are_those_of_the_original() {
        assert!(method("sha3-384").is_ok());
        assert!(method("sha512").unwrap_err().contains("no digest"));
        assert!(method("nothing").unwrap_err().contains("crc32c"));
    }
}
