//! Names of loads: what differs among those that are compared. What all of them have in common is said once.
use super::load::{Asked, LoadKind, Loaded};
use super::{Cell, Comparison};
use std::collections::BTreeSet;

/// A load as it was called on either side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NamedLoad {
    /// Of the base and of the other; one of them where only one has it.
    pub names: Vec<String>,
    /// Of the base, or of the side that has it.
    pub loops: String,
    pub load: Loaded,
}

/// Values of sweeps that have a place of their own in a load.
const PLACED: [(&str, Asked); 4] = [
    ("transfer_size_bytes", Asked::TransferSize),
    ("read_pct", Asked::Reads),
    ("seek_pct", Asked::Random),
    ("threads", Asked::QueueDepth),
];

impl NamedLoad {
    fn name(&self) -> String {
        let mut names = self.names.clone();
        names.dedup();
        names.join(" / ")
    }

    fn swept(&self, name: &str) -> Option<f64> {
        let mut swept = self.load.swept.iter();
        swept
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    }

    /// A dash for one that the jobs were not given; `None` where nobody tells of options.
    fn option(&self, name: &str) -> Option<&str> {
        let mut options = self.load.options.iter();
        let value = options.find(|(known, _)| known == name);
        let is_told = self.load.jobs.is_some();
        value.map(|(_, value)| &**value).or(is_told.then_some("-"))
    }

    /// What was written in place of what came out of it.
    fn text(&self, asked: Asked) -> Option<String> {
        let mut load = self.load.clone();
        for (name, _) in PLACED.iter().filter(|(_, placed)| *placed == asked) {
            match (asked, self.swept(name)) {
                (Asked::TransferSize, Some(bytes)) => load.operation_bytes = bytes,
                (Asked::Reads, Some(pct)) => load.read_share = pct / 100.0,
                (Asked::Random, Some(pct)) => load.random_pct = Some(pct),
                (Asked::QueueDepth, Some(threads)) => return Some(format!("threads {threads}")),
                _ => {}
            }
        }
        load.text(asked)
    }
}

/// In what loads differ.
struct Differing {
    is_name: bool,
    asked: Vec<Asked>,
    swept: Vec<String>,
    options: Vec<String>,
}

impl Differing {
    fn of(all: &[&NamedLoad]) -> Self {
        let asked = Asked::ALL.into_iter().filter(|asked| differ(all, *asked));
        let asked: Vec<Asked> = asked.collect();
        let is_placed = |name: &str| PLACED.iter().any(|(known, _)| *known == name);
        let swept = all.iter().flat_map(|one| &one.load.swept);
        let swept = swept.map(|(name, _)| name).filter(|name| !is_placed(name));
        let swept: BTreeSet<&String> = swept.collect();
        let options = all.iter().flat_map(|one| &one.load.options);
        let options: BTreeSet<&String> = options.map(|(name, _)| name).collect();
        let has_others =
            |name: &&String| are_several(all.iter().filter_map(|one| one.option(name)));
        Self {
            is_name: are_several(all.iter().map(|one| one.name())),
            asked,
            swept: swept
                .into_iter()
                .filter(|name| {
                    are_several(
                        all.iter()
                            .filter_map(|one| one.swept(name))
                            .map(f64::to_bits),
                    )
                })
                .cloned()
                .collect(),
            options: options.into_iter().filter(has_others).cloned().collect(),
        }
    }

    fn name(&self, one: &NamedLoad) -> String {
        if one.load.kind == LoadKind::Curve {
            return one.name();
        }
        let mut parts = Vec::new();
        let is_unnamed = self.asked.is_empty() && self.swept.is_empty() && self.options.is_empty();
        if self.is_name || is_unnamed {
            parts.push(one.name());
        }
        let values = self.values(one, &self.asked);
        parts.extend(Some(values).filter(|values| !values.is_empty()));
        if one.load.kind == LoadKind::Interpolated {
            parts.push("interpolated".to_owned());
        }
        parts.retain(|part| !part.is_empty());
        parts.join(", ")
    }

    /// What loads have in common that differ in the rate alone.
    fn family(&self, one: &NamedLoad) -> String {
        let asked = self.asked.iter().filter(|asked| **asked != Asked::Rate);
        self.values(one, &asked.copied().collect::<Vec<_>>())
    }

    fn values(&self, one: &NamedLoad, asked: &[Asked]) -> String {
        let mut parts: Vec<String> = asked.iter().filter_map(|asked| one.text(*asked)).collect();
        let swept = self.swept.iter();
        parts.extend(swept.filter_map(|name| Some(format!("{name}={}", one.swept(name)?))));
        let (given, missing): (Vec<_>, Vec<_>) = self
            .options
            .iter()
            .filter_map(|name| Some((name, one.option(name)?)))
            .partition(|(_, value)| *value != "-");
        let text = |(name, value): (&String, &str)| option_text(name, value);
        parts.extend(given.into_iter().map(text));
        // What others have been given says nothing where there is something to say.
        if parts.is_empty() {
            parts.extend(missing.into_iter().map(text));
        }
        parts.join(", ")
    }
}

fn option_text(name: &str, value: &str) -> String {
    match value {
        "" => name.to_owned(),
        "-" => format!("no {name}"),
        value => format!("{name}={value}"),
    }
}

/// Depth and jobs apart say more than their product.
fn differ(all: &[&NamedLoad], asked: Asked) -> bool {
    let is_told = |asked| all.iter().all(|one| one.load.text(asked).is_some());
    if asked == Asked::QueueDepth && is_told(Asked::JobDepth) && is_told(Asked::Jobs) {
        return false;
    }
    let mut known = all.iter().filter(|one| one.load.text(asked).is_some());
    let first = known.next();
    let by_sweep = PLACED.iter().filter(|(_, placed)| *placed == asked);
    let mut by_sweep = by_sweep.map(|(name, _)| {
        are_several(
            all.iter()
                .filter_map(|one| one.swept(name))
                .map(f64::to_bits),
        )
    });
    by_sweep.any(|is_several| is_several)
        || first.is_some_and(|first| known.any(|one| !one.load.agrees(&first.load, asked)))
}

fn are_several<T: PartialEq>(mut all: impl Iterator<Item = T>) -> bool {
    let first = all.next();
    first.is_some_and(|first| all.any(|one| one != first))
}

/// Names the loads of comparisons with one base, all by the same rule.
pub(super) fn name_loads(comparisons: &mut [Comparison]) {
    let is_run = |one: &&NamedLoad| one.load.kind != LoadKind::Curve;
    let of_cells = comparisons.iter().flat_map(|one| &one.cells);
    let alone = comparisons.iter().flat_map(|one| &one.alone).flatten();
    let all = of_cells.map(|cell| &cell.named).chain(alone).filter(is_run);
    let all: Vec<&NamedLoad> = all.collect();
    let differing = Differing::of(&all);
    let common = common(&all, &differing);
    for comparison in comparisons {
        comparison.common.clone_from(&common);
        let [base, other] = &comparison.alone;
        let name = |one: &NamedLoad| differing.name(one);
        comparison.only_base = base.iter().map(name).collect();
        comparison.only_other = other.iter().map(name).collect();
        for cell in &mut comparison.cells {
            cell.name = name(&cell.named);
            cell.family = differing.family(&cell.named);
        }
        tell_apart(&mut comparison.cells);
        split_families(&mut comparison.cells);
    }
}

/// Loads with the same values and the same rate are on curves of their own, by the names of their runs.
fn split_families(cells: &mut [Cell]) {
    let key = |cell: &Cell| {
        (
            cell.family.clone(),
            cell.load().asked_per_s.map(f64::to_bits),
        )
    };
    let keys: Vec<_> = cells.iter().map(key).collect();
    let is_twice = |cell: &Cell| keys.iter().filter(|one| **one == key(cell)).count() > 1;
    let split = cells.iter().filter(|cell| is_twice(cell));
    let split: BTreeSet<String> = split.map(|cell| cell.family.clone()).collect();
    for cell in cells.iter_mut().filter(|cell| split.contains(&cell.family)) {
        let parts = [cell.named.name(), cell.family.clone()];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        cell.family = parts.collect::<Vec<_>>().join(", ");
    }
}

/// What they have in common; nothing for one load, whose name says less than its values.
fn common(all: &[&NamedLoad], differing: &Differing) -> String {
    let Some(first) = all.first() else {
        return String::new();
    };
    let mut parts = Vec::new();
    if !differing.is_name && all.len() > 1 {
        parts.push(first.name());
    }
    let is_common = |asked: &Asked| {
        let is_product = *asked == Asked::QueueDepth && first.text(Asked::Jobs).is_some();
        !differing.asked.contains(asked) && !is_product
    };
    let asked = Asked::ALL.into_iter().filter(is_common);
    parts.extend(asked.filter_map(|asked| all.iter().find_map(|one| one.text(asked))));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// Adds loop values to the names of loads that would have the same name, and a number where that is not enough.
fn tell_apart(cells: &mut [Cell]) {
    for is_by_loops in [true, false] {
        let names: Vec<String> = cells.iter().map(|cell| cell.name.clone()).collect();
        for (place, cell) in cells.iter_mut().enumerate() {
            let same = |name: &&String| **name == names[place];
            if names.iter().filter(same).count() < 2 {
                continue;
            }
            match is_by_loops {
                true if cell.named.loops.is_empty() => {}
                true => cell.name += &format!(" ({})", cell.named.loops),
                false => {
                    let number = names[..=place].iter().filter(same).count();
                    cell.name += &format!(" #{number}");
                }
            }
        }
    }
}
