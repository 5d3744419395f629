//! Golden pairs: `fio/X.fio` gives `fio/X.plan`, `fio/mistakes/X.fio` gives `fio/mistakes/X.diag`.
//! `UPDATE=1` rewrites them.
use crate::golden::{Folder, compare};
use crate::render;
use lang::Environment;
use lang::fio::{self, Input, Reading};
use plan::{Plan, RunKind, SizeRule, Stream};
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fio")
}

fn read(folder: &Path, name: &str) -> Reading {
    let files = Folder(folder.to_owned());
    let mut environment = Environment::bare(&files);
    (environment.cpus, environment.memory_bytes) = (4, 8 << 30);
    let variable = ("block".to_owned(), "8k".to_owned());
    environment.process_variables.extend([variable]);
    fio::read(&[Input::Path(name.to_owned())], &[], &environment)
}

fn fixtures(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".fio"))
        .collect();
    names.sort();
    names
}

#[test]
fn job_files_read_as_their_plans_say() {
    let (folder, mut failures) = (folder(), Vec::new());
    let names = fixtures(&folder);
    assert!(names.len() >= 10, "{names:?}");
    for name in names {
        let reading = read(&folder, &name);
        let plan = reading.plan.as_ref();
        let plan = plan.unwrap_or_else(|| panic!("{name}: {:?}", reading.diagnostics));
        let text = findings(&reading) + &plan_text(plan);
        let path = folder.join(&name).with_extension("plan");
        compare(&path, &text, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_mistake_in_a_job_file_is_told_at_its_place() {
    let (folder, mut failures) = (folder().join("mistakes"), Vec::new());
    let names = fixtures(&folder);
    assert!(names.len() >= 20, "{} mistakes", names.len());
    for name in names {
        let found = findings(&read(&folder, &name));
        if found.is_empty() {
            failures.push(format!("{name} gives no message"));
        }
        compare(
            &folder.join(&name).with_extension("diag"),
            &found,
            &mut failures,
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn findings(reading: &Reading) -> String {
    let mut out = String::new();
    for found in &reading.diagnostics {
        out += &render::diagnostic(found, &reading.sources);
    }
    for found in &reading.run_blockers {
        out += "blocks a run: ";
        out += &render::diagnostic(found, &reading.sources);
    }
    out
}

/// What a reader decides, in words that stay when a plan learns more.
fn plan_text(plan: &Plan) -> String {
    let mut out = format!("seed {} method {:?}\n", plan.seed, plan.method);
    for target in &plan.targets {
        let size = match target.size {
            SizeRule::Bytes(bytes) => format!("{bytes} bytes"),
            other => format!("{other:?}"),
        };
        let path = target.path.display();
        let (kind, preparation) = (target.kind, target.preparation);
        writeln!(out, "target {path} {kind:?} {size} {preparation:?}").unwrap();
    }
    for run in &plan.runs {
        let (kind, timing) = (run.kind, &run.timing);
        writeln!(
            out,
            "run {} {kind:?} {:?} warmup={} interval={}",
            run.name, timing.window, timing.warmup, timing.interval
        )
        .unwrap();
        if run.kind == RunKind::Prepare {
            // Their targets say it.
            continue;
        }
        let template = &plan.templates[run.template.index()];
        for stream in &template.streams {
            out += &stream_text(stream, template.pools[stream.pool.index()].slots);
        }
    }
    out
}

fn stream_text(stream: &Stream, slots: u32) -> String {
    let label = |key: &str| plan::Label::find(&stream.labels, key).unwrap_or("-");
    let targets: Vec<usize> = stream.targets.iter().map(|id| id.index()).collect();
    let mut out = format!(
        "  stream {} group={} slots={slots} targets={targets:?} {:?} delay={} pace={:?}\n",
        stream.name,
        label("group"),
        stream.target_order,
        stream.start_delay,
        stream.pacing,
    );
    let laws = stream.source.laws().expect("fio has no others");
    let mix = &laws.operations;
    let shares = [mix.read_pct, mix.write_pct, mix.trim_pct];
    let sizes = [
        &laws.transfer.read,
        &laws.transfer.write,
        &laws.transfer.trim,
    ];
    for ((name, share), size) in ["read", "write", "trim"].iter().zip(shares).zip(sizes) {
        if share > 0.0 {
            writeln!(out, "    {name} {share} % {size:?}").unwrap();
        }
    }
    if let Some(replay) = stream.source.replay() {
        let (name, places) = (&replay.name, &replay.places);
        writeln!(
            out,
            "    record {name} times={} {places:?}",
            replay.follows_times
        )
        .unwrap();
        for one in &replay.operations[..] {
            writeln!(out, "      {one:?}").unwrap();
        }
        return out;
    }
    let region = &laws.region;
    let (low, high, stop) = (region.low, region.high, stream.stop);
    let trim = region.trim.map_or(String::new(), |trim| {
        format!(" (up to {}, width {:?})", trim.low_up_to, trim.width)
    });
    writeln!(out, "    {:?} {:?}", laws.order, laws.align).unwrap();
    writeln!(
        out,
        "    from {low:?} to {high:?} + {}{trim}; ends: operations={:?} bytes={:?} passes={:?}",
        region.offset_bytes, stop.operations, stop.bytes, stop.passes
    )
    .unwrap();
    let data = &stream.data;
    writeln!(
        out,
        "    data: ratio={} pattern={:?} {:?} {:?}",
        data.compression_ratio, data.pattern, data.refresh, data.duplicates
    )
    .unwrap();
    out
}
