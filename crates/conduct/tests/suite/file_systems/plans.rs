//! Small plans by chance, none of which fails where nobody disturbs it.
use crate::plans::{BLOCK, MS, fill, generator, pool, target, until_done};
use door::model::Dice;
use plan::*;
use std::path::Path;

const BYTES: u64 = 4 * BLOCK;

/// What is known of a target while runs are drawn.
#[derive(Clone, Copy)]
struct Known {
    is_device: bool,
    was_missing: bool,
    is_there: bool,
    /// All of it can be read.
    is_full: bool,
}

/// One to three targets, laid out or not, two to four runs of some operations each, and a cleaning up or none.
pub fn plan(dice: &mut Dice, paths: &[&str], facts: &Facts) -> Plan {
    let is_laid_out = dice.below(2) == 0;
    let mut plan = Plan {
        seed: dice.below(1 << 30),
        ..Plan::default()
    };
    let mut known = Vec::new();
    for (path, found) in paths.iter().zip(&facts.targets) {
        let is_device = found.found == FoundKind::BlockDevice;
        let is_there = found.found != FoundKind::Missing;
        let kind = if is_device {
            TargetKind::Device
        } else {
            TargetKind::File
        };
        let mut one = target(Path::new(path), kind, BYTES);
        if is_laid_out && !is_device {
            one.preparation = Preparation::MakeOrExtend;
        }
        one.open.reserves = dice.pick(&[None, Some(Reservation::Space), Some(Reservation::Length)]);
        known.push(Known {
            is_device,
            was_missing: !is_there,
            is_there: is_there || is_laid_out,
            is_full: is_device || is_laid_out || found.bytes >= BYTES,
        });
        plan.targets.push(one);
    }
    if is_laid_out {
        let streams = each(&known, |one| !one.is_device, layout);
        add(&mut plan, RunKind::Prepare, None, streams);
    }
    for _ in 0..2 + dice.below(3) {
        draw(dice, &mut plan, &mut known);
    }
    if plan.runs.iter().all(|run| run.kind == RunKind::Prepare) {
        let streams = each(&known, |_| true, |number| io(dice, number, &known[number]));
        add(&mut plan, RunKind::Measure, None, streams);
    }
    if dice.below(2) == 0 {
        let files = known.iter().enumerate().filter(|(_, one)| !one.is_device);
        plan.steering.remove_made = files.map(|(number, _)| TargetId::at(number)).collect();
    }
    plan
}

/// One more run, where the state of targets lets it pass.
fn draw(dice: &mut Dice, plan: &mut Plan, known: &mut [Known]) {
    let names = |call| Some(IoMethod::Names(call));
    let space = |call| Some(IoMethod::Space(call));
    let (method, fits): (_, fn(&Known) -> bool) = match dice.below(8) {
        0 => (names(NameCall::Make), |one| !one.is_device),
        1 => {
            let looks = [NameCall::Look, NameCall::LookAtLink, NameCall::LookWhole];
            (names(dice.pick(&looks)), |one| one.is_there)
        }
        2 | 3 => (names(NameCall::Remove), |one| {
            one.was_missing && one.is_there
        }),
        4 => (space(SpaceCall::Reserve), |one| !one.is_device),
        5 => (space(SpaceCall::SetLength), |one| one.was_missing),
        _ => (None, |_| true),
    };
    let streams = each(known, fits, |number| match method {
        Some(IoMethod::Names(_)) => some(number, OperationMix::reads(100.0), 1),
        Some(_) => some(number, OperationMix::reads(0.0), 3),
        None => io(dice, number, &known[number]),
    });
    if streams.is_empty() {
        return;
    }
    add(plan, RunKind::Measure, method, streams);
    for one in known.iter_mut().filter(|one| fits(one)) {
        // What is opened to be written is made; what it holds depends on draws.
        one.is_there = method != names(NameCall::Remove);
        one.is_full &= one.is_device
            || method.is_none()
            || !matches!(
                method,
                Some(IoMethod::Names(NameCall::Remove) | IoMethod::Space(SpaceCall::SetLength))
            );
    }
}

fn each(
    known: &[Known],
    fits: impl Fn(&Known) -> bool,
    stream: impl FnMut(usize) -> Stream,
) -> Vec<Stream> {
    let numbers = (0..known.len()).filter(|number| fits(&known[*number]));
    numbers.map(stream).collect()
}

fn layout(number: usize) -> Stream {
    crate::plans::stream(0, number, fill)
}

/// Some operations at random places.
fn some(number: usize, operations: OperationMix, count: u64) -> Stream {
    let mut stream = crate::plans::stream(0, number, |one| {
        *one = generator();
        one.operations = operations;
    });
    stream.stop.operations = Some(count);
    stream
}

/// Reads only where all can be read.
fn io(dice: &mut Dice, number: usize, known: &Known) -> Stream {
    let read_pct = if known.is_full { 30.0 } else { 0.0 };
    let trim_pct = dice.pick(&[0.0, 30.0]);
    let mix = OperationMix {
        read_pct,
        write_pct: 100.0 - read_pct - trim_pct,
        trim_pct,
    };
    some(number, mix, 2 + dice.below(6))
}

fn add(plan: &mut Plan, kind: RunKind, method: Option<IoMethod>, streams: Vec<Stream>) {
    let template = TemplateId(plan.templates.len() as u32);
    let share_pct = 100.0 / streams.len().max(1) as f64;
    let streams = streams.into_iter().map(|stream| Stream {
        share_pct,
        ..stream
    });
    plan.templates.push(RunTemplate {
        pools: vec![Pool { method, ..pool(3) }],
        streams: streams.collect(),
        coupling: Coupling::Independent,
    });
    plan.runs.push(RunSpec {
        kind,
        template,
        ..until_done(50 * MS)
    });
}
