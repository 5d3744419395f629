//! Priorities of single I/Os.
use super::codes;
use super::jobs::Job;
use super::number::{Base, quantity};
use super::setting::Setting;
use crate::sink::Sink;
use plan::{Direction, IoPriority, PriorityShare};

const CLASSES: std::ops::RangeInclusive<u8> = 0..=3;
const LEVELS: std::ops::RangeInclusive<u8> = 0..=7;
const HINTS: std::ops::RangeInclusive<u16> = 0..=1023;

/// The shares that a job asks for. Mistakes go to the sink.
pub(super) fn shares(job: &Job, base: Base, sink: &mut Sink) -> Vec<PriorityShare> {
    let pcts = job.numbers("cmdprio_percentage").unwrap_or([None; 3]);
    let by_size = job.given("cmdprio_bssplit");
    let has_pcts = pcts.iter().flatten().any(|pct| *pct > 0);
    if has_pcts && let Some(by_size) = by_size {
        let message = "`cmdprio_percentage` and `cmdprio_bssplit` exclude each other";
        let help = "`cmdprio_bssplit` has shares by size; remove the other one";
        sink.error(
            codes::CONFLICT,
            by_size.span(),
            message,
            "shares again",
            help,
        );
        return Vec::new();
    }
    let mut shares = Vec::new();
    let lists: Vec<&str> = by_size
        .map_or("", |given| given.text())
        .split(',')
        .collect();
    for (place, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
        let own = own_priority(job, place);
        if let Some(pct) = pcts[place].or(pcts[0]).filter(|pct| *pct > 0) {
            shares.push(PriorityShare {
                direction,
                length_bytes: None,
                pct: pct.min(100) as u8,
                priority: own,
            });
        }
        let list = lists.get(place).unwrap_or(&lists[0]);
        let before = shares.len();
        for entry in list
            .split(':')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            let Some(share) = share(entry, base, direction, own) else {
                let message = format!("`{entry}` is no size with a share and a priority");
                let help = "write `size/percent`, `size/percent/class/level` or `size/percent/class/level/hint`, such as `4k/10/1/0`";
                let place = job.place_of("cmdprio_bssplit");
                sink.error(codes::FORM, place, message, "in this list", help);
                return Vec::new();
            };
            shares.push(share);
        }
        if let Some(bytes) = too_much(&shares[before..]) {
            let message = format!("the shares of {bytes} bytes are more than 100 %");
            let place = job.place_of("cmdprio_bssplit");
            sink.error(
                codes::SHARES,
                place,
                message,
                "in this list",
                "lower some of them",
            );
            return Vec::new();
        }
    }
    // Without a class, they go out as all others.
    shares.retain(|share| share.pct > 0 && share.priority.word() > 0);
    shares
}

/// The priority that a job names for reads or writes.
fn own_priority(job: &Job, place: usize) -> IoPriority {
    let number = |setting: Setting<i64>| {
        let numbers = job.numbers(setting.name).unwrap_or([None; 3]);
        numbers[place].or(numbers[0]).unwrap_or(setting.default)
    };
    IoPriority {
        class: number(number!("cmdprio_class")) as u8,
        level: number(number!("cmdprio")) as u8,
        hint: number(number!("cmdprio_hint")) as u16,
    }
}

fn share(entry: &str, base: Base, direction: Direction, own: IoPriority) -> Option<PriorityShare> {
    let parts: Vec<&str> = entry.split('/').map(str::trim).collect();
    let bytes = quantity(parts[0], base).ok()?.value;
    let pct = match parts.get(1) {
        None | Some(&"") => 0,
        Some(text) => text.parse().ok().filter(|pct| *pct <= 100)?,
    };
    let priority = match parts.as_slice() {
        [_] | [_, _] => own,
        [_, _, class, level] | [_, _, class, level, _] => IoPriority {
            class: class.parse().ok().filter(|class| CLASSES.contains(class))?,
            level: level.parse().ok().filter(|level| LEVELS.contains(level))?,
            hint: match parts.get(4) {
                None => own.hint,
                Some(hint) => hint.parse().ok().filter(|hint| HINTS.contains(hint))?,
            },
        },
        _ => return None,
    };
    Some(PriorityShare {
        direction,
        length_bytes: Some(u64::try_from(bytes).ok()?),
        pct,
        priority,
    })
}

/// The first size whose shares make more than all of it.
fn too_much(shares: &[PriorityShare]) -> Option<u64> {
    let sum = |length: Option<u64>| {
        let same = shares.iter().filter(|share| share.length_bytes == length);
        same.map(|share| u32::from(share.pct)).sum::<u32>()
    };
    let mut sized = shares.iter().filter(|share| share.length_bytes.is_some());
    sized
        .find(|share| sum(share.length_bytes) > 100)?
        .length_bytes
}
