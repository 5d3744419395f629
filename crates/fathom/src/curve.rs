//! `fathom curve`: a latency curve or a sweep over threads, without a job file.
use crate::arguments::{CurveOptions, nanos};
use crate::exit::Exit;
use crate::face::Neutral;
use crate::launch::{Launch, launch};
use crate::one_target::{OneTarget, fill_run, spec, timing};
use crate::seed::Seeds;
use plan::{
    Label, Load, Override, Plan, RunKind, RunSpec, Search, SearchId, SourceMap, Swept, Timing,
    Window,
};

/// Far above any curve, and far below a rate that cannot be scheduled.
const POINT_PCT_MAX: f64 = 1000.0;

/// What was asked, as numbers.
#[derive(Debug)]
struct Asked {
    seeds: Seeds,
    on: OneTarget,
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
    if let Some(message) = asked.on.missing().filter(|_| is_here) {
        errln!("error: {message}");
        return Exit::Usage;
    }
    launch(Launch {
        plan: plan(options, &asked),
        sources: SourceMap::default(),
        arguments: arguments.to_vec(),
        folder: Some(options.common.output.clone()),
        common: options.common.clone(),
        face: Box::new(Neutral::strict(&options.strict)),
        findings: asked.on.findings(),
    })
}

fn asked(options: &CurveOptions) -> Result<Asked, String> {
    let seeds = Seeds::of_execution(&options.common)?;
    let on = OneTarget::of(&options.on)?;
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
        seeds,
        on,
        threads: threads.iter().map(|threads| *threads as u32).collect(),
        points_pct,
    })
}

fn plan(options: &CurveOptions, asked: &Asked) -> Plan {
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
        searches: vec![Search {
            points_pct: asked.points_pct.clone(),
            stop: None,
        }],
        seed: asked.seeds.draws,
        ..asked.on.plan(asked.threads[0], runs)
    }
}

fn measured(options: &CurveOptions) -> Timing {
    timing(options.warmup, Window::For(nanos(options.elapsed)))
}

fn curve_runs(options: &CurveOptions, points_pct: &[f64]) -> Vec<RunSpec> {
    let timing = measured(options);
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
    let timing = measured(options);
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
