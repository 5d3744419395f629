//! What has to be the same in the logs of both programs. What a generator draws is compared by what must hold of any
//! generator: counts, the set of places, how often each comes, what is covered.
use super::Outcome;
use super::draw::{Job, Way};
use super::known;
use super::logs::Row;
use std::collections::{BTreeMap, BTreeSet};

/// What became of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Equal,
    /// fio refuses it, crashes or never ends.
    Unusable,
    /// The row of the documentation, and what is otherwise.
    Known(&'static str, String),
    Different(String),
}

/// `timeout` says so, and signals lie above it.
const ENDED_BY_FORCE: i32 = 124;
/// Draws for each place before all of them have come in all likelihood.
const DRAWS_FOR_ALL: u64 = 20;

pub fn verdict(job: &Job, fio: &Outcome, ours: &Outcome) -> Verdict {
    let is_usable = |outcome: &Outcome| outcome.code.is_some_and(|code| code < ENDED_BY_FORCE);
    // Now and then, and not for each clone; then it does nothing, and ends well.
    let has_failed = fio.text.contains("failed initializing LFSR");
    if !is_usable(fio) || fio.code != Some(0) || has_failed {
        // What fio refuses may be done.
        return match is_usable(ours) {
            true => Verdict::Unusable,
            false => Verdict::Different("fathom does not end".to_owned()),
        };
    }
    if let Some(what) = ours.logs.iter().find_map(|log| lacking(job, log)) {
        return Verdict::Different(what);
    }
    let Some(what) = difference(job, fio, ours) else {
        return Verdict::Equal;
    };
    match known::ALL
        .iter()
        .find(|known| (known.is_it)(job, fio, ours))
    {
        Some(known) => Verdict::Known(known.row, what),
        None => Verdict::Different(what),
    }
}

/// The same of two logs of one program.
pub fn logs_verdict(job: &Job, one: &Outcome, other: &Outcome) -> Verdict {
    difference(job, one, other).map_or(Verdict::Equal, Verdict::Different)
}

fn difference(job: &Job, fio: &Outcome, ours: &Outcome) -> Option<String> {
    if ours.code != Some(0) {
        let first = ours.text.lines().find(|line| line.contains("error"));
        let first = first.unwrap_or(ours.text.trim());
        return Some(format!("fathom ends with {:?}: {first}", ours.code));
    }
    let clones = fio.logs.iter().zip(&ours.logs).enumerate();
    clones
        .filter_map(|(clone, (fio, ours))| {
            let what = of_logs(job, fio, ours)?;
            Some(format!("clone {}: {what}", clone + 1))
        })
        .next()
}

/// What no documented difference excuses: a trim without its write, and a hole in what a whole pass covers.
fn lacking(job: &Job, ours: &[Row]) -> Option<String> {
    if job.way == Way::Pairs {
        let mut open: BTreeMap<(u64, u64), i64> = BTreeMap::new();
        for row in ours {
            let change = if row.direction == 2 { 1 } else { -1 };
            *open.entry((row.offset, row.length)).or_default() += change;
        }
        let lone: Vec<_> = open.iter().filter(|(_, count)| **count != 0).collect();
        // Each file has its trim before any has its write, and a count of I/Os may end between them.
        let files = job.value("nrfiles").and_then(|count| count.parse().ok());
        let named = job.value("filename").map(|names| names.split(':').count());
        let files = files.or(named).unwrap_or(1);
        let allowed = match job.value("number_ios") {
            Some(_) => files,
            None => files - 1,
        };
        if lone.len() > allowed {
            let (count, (place, _)) = (lone.len(), lone[0]);
            return Some(format!(
                "{count} places not trimmed as often as written, as {place:?}"
            ));
        }
    }
    // Sizes that are no multiples of the smallest leave the rest of a block out, in fio as well.
    let has_rests = job
        .value("zonemode")
        .or(job.value("bs_unaligned"))
        .is_some();
    let is_whole = job.has_map && job.passes > 0 && !has_rests;
    let covered = covered(ours);
    (is_whole && covered.len() > 1).then(|| format!("holes between what is covered: {covered:?}"))
}

fn of_logs(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    let checks = [counts, sequence, pairs, places, coverage, chains, sizes];
    checks.iter().find_map(|check| check(job, fio, ours))
}

fn differs<T: PartialEq + std::fmt::Debug>(what: &str, fio: &T, ours: &T) -> Option<String> {
    (fio != ours).then(|| format!("{what}: fio {fio:?}, fathom {ours:?}"))
}

/// I/Os of each direction where the job decides them, of all directions elsewhere; with sizes that are drawn, bytes to
/// within one I/O.
fn counts(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    let by_direction =
        |rows: &[Row]| [0, 1, 2].map(|of| rows.iter().filter(|row| row.direction == of).count());
    let bytes = |rows: &[Row]| rows.iter().map(|row| row.length).sum::<u64>();
    if job.has_one_size {
        if job.way != Way::Mix {
            return differs("I/Os by direction", &by_direction(fio), &by_direction(ours));
        }
        return differs("I/Os", &fio.len(), &ours.len());
    }
    if job.value("number_ios").is_some() {
        // How many bytes they are is drawn.
        return None;
    }
    let largest = fio
        .iter()
        .chain(ours)
        .map(|row| row.length)
        .max()
        .unwrap_or(0);
    let (of_fio, of_us) = (bytes(fio), bytes(ours));
    // fio begins no round with less than the largest I/O left of the amount, and Fathom ends with one that reaches beyond.
    let has_rounds = job.value("io_size").or(job.value("loops")).is_some();
    let largest = match job.way == Way::Pairs || has_rounds {
        true => 2 * largest,
        false => largest,
    };
    (of_fio.abs_diff(of_us) > largest).then(|| format!("bytes: fio {of_fio}, fathom {of_us}"))
}

/// Where nothing is drawn, all of it; of a mix, what each direction does.
fn sequence(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    if job.is_random || !job.has_one_size || !job.has_plain_files {
        return None;
    }
    if job.way == Way::Mix {
        return None;
    }
    let in_order = |rows: &[Row]| {
        let mut rows = rows.to_vec();
        if !job.is_one_by_one {
            rows.sort_unstable();
        }
        rows
    };
    let (fio, ours) = (in_order(fio), in_order(ours));
    let first = fio.iter().zip(&ours).position(|(fio, ours)| fio != ours);
    let first = first.or((fio.len() != ours.len()).then_some(fio.len().min(ours.len())))?;
    let shown = |rows: &[Row]| {
        let from = first.saturating_sub(2).min(rows.len());
        let some = rows[from..].iter().take(6).map(Row::to_string);
        some.collect::<Vec<_>>().join(" ")
    };
    let (fio, ours) = (shown(&fio), shown(&ours));
    Some(format!(
        "I/O {first} and around it: fio {fio}, fathom {ours}"
    ))
}

/// Each write goes where a trim went before.
fn pairs(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    let lone = |rows: &[Row]| {
        let mut open: BTreeMap<(u64, u64), i64> = BTreeMap::new();
        for row in rows {
            let change = if row.direction == 2 { 1 } else { -1 };
            *open.entry((row.offset, row.length)).or_default() += change;
        }
        open.values().filter(|count| **count != 0).count()
    };
    if job.way != Way::Pairs {
        return None;
    }
    let (fio, ours) = (lone(fio), lone(ours));
    (ours > fio.max(1)).then(|| format!("places trimmed and not written: fio {fio}, fathom {ours}"))
}

/// Which places are used, and how often where each comes once in a pass.
fn places(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    let set = |rows: &[Row]| rows.iter().map(|row| row.offset).collect::<BTreeSet<_>>();
    let (places, ours_places) = (set(fio), set(ours));
    let often = fio.len() as u64 >= DRAWS_FOR_ALL * places.len().max(1) as u64;
    let is_whole = job.has_map && job.has_one_size && job.passes > 0 && job.way != Way::Mix;
    if is_whole && fio.len().is_multiple_of(places.len().max(1)) {
        let times = |rows: &[Row]| {
            let mut all: Vec<u64> = rows.iter().map(|row| row.offset).collect();
            all.sort_unstable();
            all
        };
        let (fio, ours) = (times(fio), times(ours));
        if fio != ours && fio.len() == ours.len() {
            let at = (0..fio.len()).find(|at| fio[*at] != ours[*at]);
            let at = at.unwrap_or(0);
            return Some(format!(
                "places in order, number {at}: fio {}, fathom {}",
                fio[at], ours[at]
            ));
        }
    }
    let is_even = job.value("random_distribution").is_none();
    if (often && is_even && job.has_one_size) || is_whole {
        let of_fio: Vec<_> = places.difference(&ours_places).take(5).collect();
        let mut of_us: Vec<_> = ours_places.difference(&places).take(5).collect();
        if !job.has_map && !of_us.is_empty() && is_on_grid(&places, &ours_places) {
            // fio draws the same places again in each round.
            of_us.clear();
        }
        if !of_fio.is_empty() || !of_us.is_empty() {
            return Some(format!(
                "places: only fio {of_fio:?}, only fathom {of_us:?}"
            ));
        }
    }
    None
}

/// Whether all of them lie between the others, or as far from each other.
fn is_on_grid(of: &BTreeSet<u64>, all: &BTreeSet<u64>) -> bool {
    let Some(first) = of.first() else {
        return all.is_empty();
    };
    let divisor = |mut one: u64, mut other: u64| {
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one
    };
    let step = of.iter().map(|at| at - first).fold(0, divisor).max(1);
    all.iter().all(|at| at.abs_diff(*first) % step == 0)
}

/// What a pass over all of it covers, whatever the sizes.
fn coverage(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    let is_whole = !job.is_random || (job.has_map && job.passes > 1);
    if !is_whole || job.passes == 0 || (job.way == Way::Mix && job.passes < 24) {
        return None;
    }
    differs("ranges covered", &covered(fio), &covered(ours))
}

/// Ranges that touch are one.
fn covered(rows: &[Row]) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = rows
        .iter()
        .map(|row| (row.offset, row.offset + row.length))
        .collect();
    all.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (from, to) in all {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// In a mix in order, how the I/Os of each direction follow each other: the steps between their places.
fn chains(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    let has_files = ["nrfiles", "filename"]
        .iter()
        .any(|name| job.value(name).is_some());
    let is_once = job.passes <= 1 && job.value("io_size").is_none();
    if job.is_random || job.way != Way::Mix || !job.has_one_size || has_files || !is_once {
        return None;
    }
    for direction in [0, 1] {
        let of = |rows: &[Row]| {
            let own = rows.iter().filter(|row| row.direction == direction);
            own.map(|row| row.offset).collect::<Vec<_>>()
        };
        let (mut fio, mut ours) = (of(fio), of(ours));
        let both = fio.len().min(ours.len());
        fio.truncate(both);
        ours.truncate(both);
        if let Some(at) = (0..both).find(|at| fio[*at] != ours[*at]) {
            let shown =
                |rows: &[u64]| format!("{:?}", &rows[at.saturating_sub(2)..both.min(at + 4)]);
            let (fio, ours) = (shown(&fio), shown(&ours));
            return Some(format!(
                "direction {direction}, place {at} and around it: fio {fio}, fathom {ours}"
            ));
        }
    }
    None
}

/// Which sizes come, where there are enough I/Os that each has to.
fn sizes(job: &Job, fio: &[Row], ours: &[Row]) -> Option<String> {
    // In a map, a block that was visited ends an I/O early.
    let is_drawn = job.value("bssplit").is_some() && !job.has_map;
    if fio.len() < 400 || ours.len() < 400 || !is_drawn {
        return None;
    }
    let common = |rows: &[Row]| {
        let mut counts: BTreeMap<(u8, u64), usize> = BTreeMap::new();
        for row in rows {
            *counts.entry((row.direction, row.length)).or_default() += 1;
        }
        // Those that an end has cut come now and then.
        counts.retain(|_, count| *count * 20 > rows.len());
        counts.into_keys().collect::<Vec<_>>()
    };
    differs("common sizes", &common(fio), &common(ours))
}

#[cfg(test)]
mod tests;
