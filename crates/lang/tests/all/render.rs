//! A reading as text for golden files: short, complete where it matters, exact in numbers.
use lang::vdbench::{self, Preparations, Reading};
use plan::{Diagnostic, Generator, OpSource, Plan, PlanValue, RunSpec, SourceMap, Stream};
use std::fmt::Write;

/// Everything that a reading yields.
pub fn reading(reading: &Reading) -> String {
    let mut out = String::new();
    for line in vdbench::simulate_lines(reading, Preparations::Shown) {
        writeln!(out, "{line}").unwrap();
    }
    for run in &reading.listing {
        writeln!(
            out,
            "run {} {:?} rate={:?} threads={} elapsed={:?} ends_at_size={} warmup={} interval={} pause={}",
            run.name,
            run.kind,
            run.rate,
            run.threads,
            run.elapsed_s,
            run.ends_at_size,
            run.warmup_s,
            run.interval_s,
            run.pause_s
        )
        .unwrap();
    }
    for found in &reading.diagnostics {
        out += &diagnostic(found, &reading.sources);
    }
    for found in &reading.run_blockers {
        out += "blocks a run: ";
        out += &diagnostic(found, &reading.sources);
    }
    if let Some(plan) = &reading.plan {
        out += &whole_plan(plan);
    }
    out
}

/// One finding: severity, code, place, message, label, help.
pub fn diagnostic(found: &Diagnostic, sources: &SourceMap) -> String {
    let mut out = format!("{:?}[{}]", found.severity, found.code).to_lowercase();
    if let Some(span) = found.span {
        let place = sources.position(span);
        let file = &sources.file(span.source).name;
        let text = sources.text(span);
        write!(out, " {file}:{}:{} `{text}`", place.line, place.column).unwrap();
    }
    write!(out, "\n    {}", found.message).unwrap();
    if !found.label.is_empty() {
        write!(out, "\n    ^ {}", found.label).unwrap();
    }
    for related in &found.related {
        let place = sources.position(related.span);
        let text = sources.text(related.span);
        write!(
            out,
            "\n    {}:{} `{text}` {}",
            place.line, place.column, related.label
        )
        .unwrap();
    }
    if let Some(help) = &found.help {
        write!(out, "\n    help: {help}").unwrap();
    }
    out + "\n"
}

fn whole_plan(plan: &Plan) -> String {
    let mut out = String::new();
    if plan.steering != plan::Steering::default() {
        writeln!(out, "{:?}", plan.steering).unwrap();
    }
    for target in &plan.targets {
        writeln!(
            out,
            "target {} {} {:?} {:?} {:?} {:?}",
            target.name,
            target.path.display(),
            target.kind,
            target.size,
            target.preparation,
            target.open
        )
        .unwrap();
    }
    for (index, template) in plan.templates.iter().enumerate() {
        writeln!(out, "template {index} {:?}", template.coupling).unwrap();
        for pool in &template.pools {
            writeln!(
                out,
                "  pool {} {} {:?}",
                pool.name, pool.slots, pool.admission
            )
            .unwrap();
        }
        let mut before = String::new();
        for one in &template.streams {
            let text = stream(one);
            let (head, body) = text.split_once('\n').unwrap_or_default();
            // Groups differ in their heads only.
            let body_of_one = format!("{}\n{body}", one.name);
            writeln!(out, "{head}").unwrap();
            if body_of_one != before {
                out += body;
            }
            before = body_of_one;
        }
    }
    for search in &plan.searches {
        writeln!(out, "search {:?} {:?}", search.points_pct, search.stop).unwrap();
    }
    for run in &plan.runs {
        out += &spec(run);
    }
    out
}

fn stream(stream: &Stream) -> String {
    let OpSource::Generator(generator) = &stream.source else {
        return format!("  stream {:?}\n", stream.source);
    };
    let order_of_targets = match stream.target_order {
        plan::TargetOrder::RoundRobin => String::new(),
        other => format!(" {other:?}"),
    };
    let Generator {
        operations,
        transfer,
        order,
        region,
        align,
        sequences,
        hits,
        redraws_sizes: _,
    } = generator;
    let sequences = match sequences {
        plan::Sequences::Shared => "",
        plan::Sequences::ByDirection => " by direction",
    };
    let region = format!("{region:?}")
        .replace(", trim: None", "")
        .replace(", slice: None", "");
    let group = plan::Label::find(&stream.labels, "group");
    let group = group.map_or(String::new(), |group| format!(" of {group}"));
    format!(
        "  stream {}{group} targets={:?}{order_of_targets} pool={} share={} read={} size={:?}\n    {order:?}{sequences} {align:?}\n    {region}\n    hits={hits:?} open={:?} data={:?} pacing={:?}\n",
        stream.name,
        stream.targets,
        stream.pool.0,
        stream.share_pct,
        operations.read_pct,
        transfer.read,
        stream.open,
        stream.data,
        stream.pacing,
    )
}

fn spec(run: &RunSpec) -> String {
    let labels: Vec<String> = run
        .labels
        .iter()
        .map(|label| format!("{}={}", label.key, label.value))
        .collect();
    format!(
        "spec {} {:?} template={} {:?} {:?}\n  {:?}\n  {:?}\n  {:?}\n  {}\n",
        run.name,
        run.kind,
        run.template.0,
        run.load,
        run.law,
        run.overrides,
        run.timing,
        run.stop,
        labels.join("; ")
    )
}

/// The values for `explain`, one per line.
pub fn values(values: &[PlanValue], sources: &SourceMap) -> String {
    let mut out = String::new();
    for value in values {
        let origin = match &value.origin {
            plan::Origin::Written(span) => {
                let place = sources.position(*span);
                format!("{}:{}", sources.file(span.source).name, place.line)
            }
            plan::Origin::Argument(argument) => format!("argument {argument}"),
            plan::Origin::Default(rule) => format!("default: {rule}"),
            plan::Origin::Derived(rule) => format!("derived: {rule}"),
        };
        writeln!(
            out,
            "{} {}={} ({origin})",
            value.subject, value.name, value.value
        )
        .unwrap();
    }
    out
}
