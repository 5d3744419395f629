//! `fathom curve`: a latency curve or a sweep over threads, without a job file.
use crate::arguments::{CurveOptions, nanos};
use crate::exit::Exit;
use crate::face::Neutral;
use crate::launch::{Findings, Launch, launch};
use crate::machine;
use crate::seed::Seeds;
use plan::{
    AddressOrder, AlignRule, ArrivalLaw, Coupling, DataSpec, ErrorBudget, FirstBlock,
    FirstInterval, Generator, Label, Ledger, Load, LocalStop, Nanos, OpSource, OpenMode,
    OperationMix, Origin, Override, Pacing, PerDirection, Plan, Pool, PoolAdmission, PoolId,
    Preparation, RandomLaw, Region, RunKind, RunSpec, RunStop, RunTemplate, Search, SearchId,
    SequentialEnd, SequentialStart, SizeRule, SourceMap, StartAlign, Stream, Swept, Target,
    TargetId, TargetKind, TargetOrder, TemplateId, Timing, TransferSizes, Window,
};
use std::path::Path;
use std::time::Duration;

/// Far above any curve, and far below a rate that cannot be scheduled.
const POINT_PCT_MAX: f64 = 1000.0;
const FILL_BYTES: u64 = 1 << 20;

/// What was asked, as numbers.
#[derive(Debug)]
struct Asked {
    transfer_bytes: u64,
    size_bytes: Option<u64>,
    read_pct: f64,
    threads: Vec<u32>,
    points_pct: Vec<f64>,
}

pub fn main(options: &CurveOptions, arguments: &[String]) -> Exit {
    let asked = match asked(options) {
        Ok(asked) => asked,
        Err(message) => {
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    let is_here = options.common.fleet.hosts.is_none();
    if let Some(message) = missing(&options.target, &asked).filter(|_| is_here) {
        errln!("error: {message}");
        return Exit::Usage;
    }
    launch(Launch {
        plan: plan(options, &asked),
        sources: SourceMap::default(),
        arguments: arguments.to_vec(),
        folder: Some(options.common.output.clone()),
        common: options.common.clone(),
        face: Box::new(Neutral(options.strict.clone())),
        // A curve of a file is a quick look, and most folders are on the disk that the file is on.
        findings: Findings {
            printed: Vec::new(),
            unprinted: if machine::is_device(&options.target) {
                &[]
            } else {
                &["results-on-storage"]
            },
            ..Findings::default()
        },
    })
}

/// A file of a size that nobody has asked for is not made. What a device lacks is told where it is looked at.
fn missing(target: &Path, asked: &Asked) -> Option<String> {
    let exists = door::waiting::on(target, || target.exists());
    let is_missing = !exists && !machine::is_device(target);
    (is_missing && asked.size_bytes.is_none()).then(|| {
        format!(
            "`{}` does not exist; check the name, or add `--size 1g` to make a file of 1 GiB",
            target.display()
        )
    })
}

fn asked(options: &CurveOptions) -> Result<Asked, String> {
    let transfer_bytes = bytes("--bs", &options.bs)?;
    if transfer_bytes == 0 || !transfer_bytes.is_multiple_of(512) {
        return Err(format!(
            "`--bs {}` is not a multiple of 512 bytes",
            options.bs
        ));
    }
    if !(0.0..=100.0).contains(&options.read) {
        return Err(format!(
            "`--read {}` is not a percentage from 0 to 100",
            options.read
        ));
    }
    let list = |name: &str, text: &str| -> Result<Vec<f64>, String> {
        let number = |part: &str| {
            part.trim()
                .parse::<f64>()
                .ok()
                .filter(|number| *number > 0.0)
        };
        let parts: Option<Vec<f64>> = text.split(',').map(number).collect();
        parts.ok_or_else(|| {
            let example = match name {
                "--threads" => "1,4,16",
                _ => "10,50,90",
            };
            format!("`{name} {text}` is not a list of numbers above zero, such as {example}")
        })
    };
    let threads = list("--threads", &options.threads)?;
    if threads
        .iter()
        .any(|threads| threads.fract() != 0.0 || *threads > 65_536.0)
    {
        return Err(format!(
            "`--threads {}` is not a list of whole numbers up to 65536",
            options.threads
        ));
    }
    let points_pct = list("--points", &options.points)?;
    if points_pct.iter().any(|pct| *pct > POINT_PCT_MAX) {
        return Err(format!(
            "`--points {}` asks for more than {POINT_PCT_MAX} % of the maximum",
            options.points
        ));
    }
    Ok(Asked {
        transfer_bytes,
        size_bytes: options
            .size
            .as_ref()
            .map(|size| bytes("--size", size))
            .transpose()?,
        read_pct: options.read,
        threads: threads.iter().map(|threads| *threads as u32).collect(),
        points_pct,
    })
}

/// A number with an optional k, m, g or t, powers of 1024.
pub fn bytes(name: &str, text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.trim_end_matches("ib").trim_end_matches('b');
    let (number, shift) = match number.chars().last() {
        Some('k') => (&number[..number.len() - 1], 10),
        Some('m') => (&number[..number.len() - 1], 20),
        Some('g') => (&number[..number.len() - 1], 30),
        Some('t') => (&number[..number.len() - 1], 40),
        _ => (number, 0),
    };
    let value: Option<f64> = number
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite() && *value >= 0.0);
    let value = value
        .map(|value| value * (1_u64 << shift) as f64)
        .filter(|value| *value < (1_u64 << 62) as f64);
    value.map(|value| value as u64).ok_or_else(|| {
        format!("`{name} {text}` is not a size; use a number such as 4096, 4k or 1.5g")
    })
}

fn plan(options: &CurveOptions, asked: &Asked) -> Plan {
    let path = &options.target;
    let is_device = machine::is_device(path);
    let size = asked.size_bytes.map_or(SizeRule::AsFound, SizeRule::Bytes);
    let target = Target {
        name: path.display().to_string(),
        host: "localhost".to_owned(),
        shared_from: None,
        path: path.clone(),
        kind: if is_device {
            TargetKind::Device
        } else {
            TargetKind::File
        },
        size,
        open: OpenMode {
            direct: !options.buffered,
            ..OpenMode::default()
        },
        preparation: if is_device {
            Preparation::AsFound
        } else {
            Preparation::MakeOrExtend
        },
        ledger: Ledger::None,
        origin: Origin::Argument(path.display().to_string()),
    };
    let sweep = asked.threads.len() > 1;
    let mut runs = vec![fill_run()];
    if sweep {
        runs.extend(
            asked
                .threads
                .iter()
                .map(|threads| sweep_run(options, *threads)),
        );
    } else {
        runs.extend(curve_runs(options, &asked.points_pct));
    }
    Plan {
        targets: vec![target],
        templates: vec![fill_template(path), measure_template(asked, path)],
        runs,
        searches: vec![Search {
            points_pct: asked.points_pct.clone(),
            stop: None,
        }],
        seed: Seeds::of_execution(&options.common).draws,
        ..Plan::default()
    }
}

fn generator(operations: OperationMix, transfer_bytes: u64, order: AddressOrder) -> Generator {
    Generator {
        operations,
        transfer: PerDirection::all(TransferSizes::Fixed(transfer_bytes)),
        order,
        region: Region::whole(transfer_bytes, FirstBlock::SparedOnDevices),
        align: AlignRule::Transfer,
        sequences: plan::Sequences::Shared,
        hits: None,
    }
}

fn template(name: &str, slots: u32, generator: Generator) -> RunTemplate {
    let stream = Stream {
        name: name.to_owned(),
        targets: vec![TargetId(0)],
        target_order: TargetOrder::RoundRobin,
        pool: PoolId(0),
        source: OpSource::Generator(generator),
        pacing: Pacing::FromRun,
        flow: plan::Flow::default(),
        share_pct: 100.0,
        priority: None,
        data: DataSpec::default(),
        open: None,
        stop: LocalStop::default(),
        start_delay: Nanos(0),
        seed: None,
        lifetime: None,
        labels: Vec::new(),
    };
    let pool = Pool {
        name: name.to_owned(),
        slots,
        admission: PoolAdmission::FirstCome,
        method: None,
        requests: plan::RequestMode::default(),
        priorities: Vec::new(),
    };
    RunTemplate {
        pools: vec![pool],
        streams: vec![stream],
        coupling: Coupling::Independent,
    }
}

fn fill_template(path: &Path) -> RunTemplate {
    let start = SequentialStart::PresentEnd {
        rounded_to: FILL_BYTES,
    };
    let order = AddressOrder::Sequential {
        start,
        end: SequentialEnd::Stop,
    };
    let mut fill = generator(OperationMix::reads(0.0), FILL_BYTES, order);
    // A size that is no multiple of a whole write still has to be filled to its end.
    fill.region.granule_bytes = 512;
    template(&path.display().to_string(), 4, fill)
}

fn measure_template(asked: &Asked, path: &Path) -> RunTemplate {
    let order = AddressOrder::Random(RandomLaw::Uniform);
    let measure = generator(
        OperationMix::reads(asked.read_pct),
        asked.transfer_bytes,
        order,
    );
    template(&path.display().to_string(), asked.threads[0], measure)
}

fn spec(name: String, kind: RunKind, template: u32, load: Load, timing: Timing) -> RunSpec {
    RunSpec {
        name,
        kind,
        template: TemplateId(template),
        overrides: Vec::new(),
        coupling: None,
        load,
        law: ArrivalLaw::Exponential,
        timing,
        stop: RunStop {
            errors: ErrorBudget::default(),
            ..RunStop::default()
        },
        labels: Vec::new(),
        swept: Vec::new(),
        origin: Origin::Default("fathom curve".to_owned()),
    }
}

fn timing(warmup: Duration, window: Window) -> Timing {
    Timing {
        start: StartAlign::AtOnce,
        warmup: nanos(warmup),
        window,
        interval: Nanos::from_secs(1),
        first_interval: FirstInterval::Counted,
        pause_after: Nanos(0),
    }
}

fn fill_run() -> RunSpec {
    let timing = timing(Duration::ZERO, Window::UntilDone { at_most: None });
    spec(
        "fill".to_owned(),
        RunKind::Prepare,
        0,
        Load::FlatOut,
        timing,
    )
}

fn curve_runs(options: &CurveOptions, points_pct: &[f64]) -> Vec<RunSpec> {
    let timing = timing(options.warmup, Window::For(nanos(options.elapsed)));
    let search = SearchId(0);
    let base = spec(
        "maximum".to_owned(),
        RunKind::Measure,
        1,
        Load::SearchBase { search },
        timing,
    );
    let point = |pct: &f64| {
        spec(
            format!("{pct} %"),
            RunKind::Measure,
            1,
            Load::SearchPoint { search, pct: *pct },
            timing,
        )
    };
    std::iter::once(base)
        .chain(points_pct.iter().map(point))
        .collect()
}

fn sweep_run(options: &CurveOptions, threads: u32) -> RunSpec {
    let timing = timing(options.warmup, Window::For(nanos(options.elapsed)));
    let mut run = spec(
        match threads {
            1 => "1 thread".to_owned(),
            _ => format!("{threads} threads"),
        },
        RunKind::Measure,
        1,
        Load::FlatOut,
        timing,
    );
    run.overrides.push(Override::Slots(threads));
    run.labels
        .push(Label::new("loops", format!("threads={threads}")));
    run.swept.push(Swept::new("threads", f64::from(threads)));
    run
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(bytes("--bs", "4k"), Ok(4096));
        assert_eq!(bytes("--bs", "1.5G"), Ok(3 << 29));
        assert_eq!(bytes("--bs", "2MiB"), Ok(2 << 20));
        assert!(bytes("--bs", "4 apples").is_err());
        assert!(bytes("--bs", "-1").is_err());
        assert!(bytes("--bs", "").is_err());
    }
}
