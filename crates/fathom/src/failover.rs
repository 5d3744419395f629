//! `fathom failover`: a steady rate on one target while somebody makes its storage fail, without a job file.
use crate::arguments::{FailoverOptions, nanos};
use crate::at::At;
use crate::exit::Exit;
use crate::face::Neutral;
use crate::launch::{Launch, launch};
use crate::one_target::{OneTarget, fill_run, spec, timing};
use crate::seed::Seeds;
use plan::{ErrorBudget, Label, Load, Nanos, Plan, RunKind, SourceMap, Window};
use std::time::Duration;

/// Of an I/O stack, so many are in flight at most.
const SLOTS_MAX: f64 = 4096.0;

/// Fine enough to see when it is normal again, and coarse enough that each interval has some I/Os.
const INTERVAL: Nanos = Nanos(100_000_000);

/// The rate may rise by itself when a stall is over: arrivals wait meanwhile.
const CATCH_UP: f64 = 2.0;

pub fn main(options: &FailoverOptions, arguments: &[String]) -> Exit {
    let asked = match Asked::of(options) {
        Ok(asked) => asked,
        Err(message) => return crate::exit::fail(Exit::Usage, &message),
    };
    errln!("note: {}", asked.slots_text(options));
    let mut common = options.common.clone();
    common.at.clone_from(&asked.at);
    launch(Launch {
        plan: plan(options, &asked),
        sources: SourceMap::default(),
        arguments: arguments.to_vec(),
        folder: Some(common.output.clone()),
        face: Box::new(Neutral::of_failover(options.limit.clone())),
        findings: asked.on.findings(),
        common,
    })
}

struct Asked {
    seeds: Seeds,
    on: OneTarget,
    slots: u32,
    length: Duration,
    at: Vec<At>,
}

impl Asked {
    fn of(options: &FailoverOptions) -> Result<Self, String> {
        let seeds = Seeds::of_execution(&options.common)?;
        let on = OneTarget::of(&options.on)?;
        let is_here = options.common.fleet.hosts.is_none();
        if let Some(message) = on.missing().filter(|_| is_here) {
            return Err(message);
        }
        if !(options.rate > 0.0 && options.rate.is_finite()) {
            return Err(format!("`--rate {}` is no rate above zero", options.rate));
        }
        let at = repeated(options)?;
        let last = at.iter().map(|at| at.after).max().unwrap_or_default();
        if last >= options.length {
            return Err(format!(
                "the last command is due after {} s, and the run ends after {} s: make it longer (--for)",
                last.as_secs(),
                options.length.as_secs()
            ));
        }
        let wanted = CATCH_UP * options.rate * options.stall.as_secs_f64();
        Ok(Self {
            seeds,
            on,
            slots: wanted.ceil().clamp(1.0, SLOTS_MAX) as u32,
            length: options.length,
            at,
        })
    }

    fn slots_text(&self, options: &FailoverOptions) -> String {
        let seconds = f64::from(self.slots) / options.rate;
        format!(
            "{} slots: a stall of {seconds:.1} s at {}/s fills them; what is due beyond that waits with its age, and is sent \
             when slots are free",
            self.slots, options.rate
        )
    }
}

/// The commands of each cycle.
fn repeated(options: &FailoverOptions) -> Result<Vec<At>, String> {
    let (Some(cycles), Some(every)) = (options.cycles, options.every) else {
        return Ok(options.common.at.clone());
    };
    if options.common.at.is_empty() {
        return Err("`--cycles` repeats what `--at` does: name a command".to_owned());
    }
    let cycle = |number: u32| {
        let all = options.common.at.iter();
        all.map(move |at| At {
            after: at.after + every * number,
            name: at.name.clone(),
            command: at.command.clone(),
        })
    };
    Ok((0..cycles).flat_map(cycle).collect())
}

fn plan(options: &FailoverOptions, asked: &Asked) -> Plan {
    let mut timing = timing(Duration::ZERO, Window::For(nanos(asked.length)));
    timing.interval = INTERVAL;
    let load = Load::Rate {
        per_second: options.rate,
    };
    let mut run = spec("failover".to_owned(), RunKind::Measure, 1, load, timing);
    // What fails is what is looked at.
    run.stop.errors = ErrorBudget::Unlimited;
    run.labels.push(Label::new(Label::FAILOVER, "yes"));
    Plan {
        seed: asked.seeds.draws,
        ..asked.on.plan(asked.slots, vec![fill_run(), run])
    }
}
