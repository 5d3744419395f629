//! Writes the page of a large result that never was and prints its size: 64 targets, an hour in
//! intervals of a second.
//!
//! ```text
//! cargo run --release -p report --example big_report -- big.html          one run of an hour
//! cargo run --release -p report --example big_report -- sweep.html sweep  16 runs of some minutes
//! cargo run --release -p report --example big_report -- wide.html wide    40 runs of half an hour
//! ```
#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use report::Conclusion;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};
use synthetic::Synthetic;

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "big_report.html".into());
    let shape = arguments.next().unwrap_or_else(|| "hour".into());
    let mut execution = match shape.as_str() {
        "hour" => Synthetic::new(64, 60, "sd"),
        "sweep" => Synthetic::new(8, 400, "sd"),
        "wide" => Synthetic::new(2, 20, "sd"),
        "hostile" => Synthetic::new(3, 400, synthetic::HOSTILE),
        "many" => Synthetic::new(1, 20, "sd"),
        other => panic!("unknown shape {other}: hour, sweep, wide, hostile or many"),
    };
    if shape == "hour" {
        let load = plan::Load::Rate {
            per_second: 300_000.0,
        };
        execution.push("hour", load, Some(300_000.0), 300_000.0, 2_048, 3_600);
    } else if shape == "many" {
        for slots in 0..10_000 {
            let load = plan::Load::FlatOut;
            execution.push("one", load, None, 2_000.0, 1 + slots, 1);
        }
    } else if shape == "wide" {
        for search in 0..5 {
            execution.curve(8 << search, 1_800, search);
        }
    } else {
        execution.curve(128, 120, 0);
        execution.sweep(60);
        execution.runs[3].errors = 2;
    }
    let started = Instant::now();
    let mut conclusion = Conclusion::with_page();
    let mut folded = Duration::ZERO;
    execution.events(|event| {
        let before = Instant::now();
        conclusion.on_event(&event);
        folded += before.elapsed();
    });
    let made_up = started.elapsed();
    let before = Instant::now();
    let verdict = conclusion.verdict();
    let judged = before.elapsed();
    let mut file = BufWriter::new(File::create(&path)?);
    conclusion.end();
    conclusion.write_page(&mut file)?;
    file.flush()?;
    let bytes = std::fs::metadata(&path)?.len();
    println!(
        "verdict in {:.3} s: {}",
        judged.as_secs_f64(),
        verdict.map_or("none".to_owned(), |verdict| verdict.text())
    );
    println!(
        "{path}: {:.2} MB; folding took {:.1} s, writing {:.2} s",
        bytes as f64 / 1e6,
        folded.as_secs_f64(),
        (started.elapsed() - made_up).as_secs_f64()
    );
    Ok(())
}
