//! Which runs belong in one picture: the points of one search, runs at fixed rates that differ in
//! nothing else, and runs that differ in their slots alone.
//!
//! What a run was made of is known here only as far as its totals show it: streams, targets,
//! shares, load, and the transfer size and read share that came out.
use crate::axis::Axis;
use measure::{RunTotals, StreamInfo};
use plan::{Label, Load, Operation, RunKind, SearchId, Swept, TargetId};
use std::collections::{BTreeSet, HashMap};

/// What grouping needs of a run; small, so that it can be kept when the totals are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutline {
    pub name: String,
    pub kind: RunKind,
    pub load: Load,
    pub slots: u32,
    /// Threads that sent I/Os.
    pub workers: u32,
    pub labels: Vec<Label>,
    pub streams: Vec<StreamOutline>,
    pub operations: u64,
    /// Means over the successful operations; zero without any.
    pub bytes_per_operation: f64,
    pub read_share: f64,
    /// What a sweep gave it.
    pub swept: Vec<Swept>,
}

/// A stream, as far as it matters for grouping.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamOutline {
    pub name: String,
    pub targets: Vec<TargetId>,
    pub share_pct: f64,
    pub asked_per_s: Option<f64>,
}

/// Runs for one picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    pub kind: SeriesKind,
    pub title: String,
    /// Places in what was given: of a curve in the order in which they ran, of a sweep by slots.
    pub runs: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Base and points of a search.
    Curve { search: SearchId },
    /// Fixed rates, of which no search decides.
    Rates,
    /// Everything the same but the slots.
    SlotSweep,
}

/// Sizes and shares that came out this close to each other were asked the same.
const SIZE_TOLERANCE: f64 = 0.1;
const READ_SHARE_TOLERANCE: f64 = 0.03;

/// All series among runs: curves first, then sweeps, each in the order of its first run. A run that
/// is in none stands for itself.
pub fn series(runs: &[RunOutline]) -> Vec<Series> {
    let mut found = curves(runs);
    found.extend(lists_of_rates(runs));
    for cluster in clusters(runs) {
        for part in split_repeated(runs, cluster) {
            found.extend(sweep(runs, part));
        }
    }
    tell_apart(runs, &mut found);
    found
}

/// Sweeps of one name are told apart by what else was varied.
fn tell_apart(runs: &[RunOutline], found: &mut [Series]) {
    let titles: Vec<String> = found.iter().map(|series| series.title.clone()).collect();
    let is_shared = |title: &String| titles.iter().filter(|known| *known == title).count() > 1;
    for series in found {
        if series.kind == SeriesKind::SlotSweep && is_shared(&series.title) {
            series.title += &common_values(runs, &series.runs);
        }
    }
}

/// What a sweep gave all of these runs, each value after a comma; empty where it gave them nothing.
pub fn common_values(runs: &[RunOutline], places: &[usize]) -> String {
    let [first, .., last] = places else {
        return String::new();
    };
    let [first, last] = [first, last].map(|place| &runs[*place].swept);
    let common = first.iter().filter(|one| last.contains(one));
    let text = |one: &Swept| {
        let axis = Axis {
            name: one.name.clone(),
            values: Vec::new(),
        };
        format!(", {} {}", axis.title(), axis.text(one.value))
    };
    common.map(text).collect()
}

impl RunOutline {
    pub fn of(totals: &RunTotals) -> Self {
        let operations = totals.operations();
        let reads = totals
            .figures
            .iter()
            .filter(|figure| figure.key.operation == Operation::Read);
        let reads: u64 = reads.map(|figure| figure.operations).sum();
        let per_operation = |count: u64| count as f64 / operations.max(1) as f64;
        let started = &totals.started;
        Self {
            name: started.name.clone(),
            kind: started.kind,
            load: started.load.clone(),
            slots: totals.slots(),
            workers: totals.workers.workers,
            labels: started.labels.clone(),
            streams: streams_of(&started.streams),
            operations,
            bytes_per_operation: per_operation(totals.bytes()),
            read_share: per_operation(reads),
            swept: started.swept.clone(),
        }
    }

    /// How many targets it reaches.
    pub(crate) fn targets(&self) -> usize {
        let all = self.streams.iter().flat_map(|stream| &stream.targets);
        all.collect::<BTreeSet<_>>().len()
    }

    /// Whether a search has decided its load.
    pub(crate) fn is_searched(&self) -> bool {
        self.search().is_some()
    }

    fn search(&self) -> Option<SearchId> {
        match self.load {
            Load::SearchBase { search } | Load::SearchPoint { search, .. } => Some(search),
            _ => None,
        }
    }

    /// Whether the same is done, at whatever load.
    fn is_same_work(&self, other: &Self) -> bool {
        let sizes = [self.bytes_per_operation, other.bytes_per_operation];
        let size_gap = (sizes[0] - sizes[1]).abs();
        // Of a few operations the share of reads is uncertain by itself.
        let fewest = self.operations.min(other.operations).max(1) as f64;
        let chance = 3.0 * (self.read_share * (1.0 - self.read_share) / fewest).sqrt();
        let read_gap = (self.read_share - other.read_share).abs();
        let work = |one: &StreamOutline| (one.name.clone(), one.targets.clone(), one.share_pct);
        self.streams
            .iter()
            .map(work)
            .eq(other.streams.iter().map(work))
            && size_gap <= SIZE_TOLERANCE * sizes[0].max(sizes[1])
            && read_gap <= READ_SHARE_TOLERANCE + chance
    }

    /// Whether the same is asked as well.
    fn is_alike(&self, other: &Self) -> bool {
        self.load == other.load && self.streams == other.streams && self.is_same_work(other)
    }

    /// What is asked: the load, and what it means for each stream.
    fn asked(&self) -> (&Load, Vec<Option<f64>>) {
        let rates = self.streams.iter().map(|stream| stream.asked_per_s);
        (&self.load, rates.collect())
    }
}

/// Streams that do the same for several groups are one: how many groups take part may follow from
/// the slots.
fn streams_of(streams: &[StreamInfo]) -> Vec<StreamOutline> {
    let mut out: Vec<StreamOutline> = Vec::with_capacity(streams.len());
    let mut places: HashMap<(&str, &[TargetId]), usize> = HashMap::new();
    for stream in streams {
        let place = *places
            .entry((&stream.name, &stream.targets))
            .or_insert(out.len());
        match out.get_mut(place) {
            Some(known) => {
                known.share_pct += stream.share_pct;
                let both = known.asked_per_s.zip(stream.asked_rate);
                known.asked_per_s = both.map(|(one, other)| one + other);
            }
            None => out.push(StreamOutline {
                name: stream.name.clone(),
                targets: stream.targets.clone(),
                share_pct: stream.share_pct,
                asked_per_s: stream.asked_rate,
            }),
        }
    }
    out
}

/// Runs at fixed rates, the same but for the rate.
fn lists_of_rates(runs: &[RunOutline]) -> Vec<Series> {
    let mut lists: Vec<Vec<usize>> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        let has_rate = matches!(run.load, Load::Rate { .. } | Load::PercentOfPrevious { .. });
        if !has_rate || run.kind != RunKind::Measure {
            continue;
        }
        let alike = |list: &&mut Vec<usize>| {
            let first = &runs[list[0]];
            first.slots == run.slots && first.is_same_work(run)
        };
        match lists.iter_mut().find(alike) {
            Some(list) => list.push(place),
            None => lists.push(vec![place]),
        }
    }
    lists.retain(|list| {
        let first = runs[list[0]].asked();
        list.iter().any(|place| runs[*place].asked() != first)
    });
    let series = |list: Vec<usize>| Series {
        kind: SeriesKind::Rates,
        title: runs[list[0]].name.clone(),
        runs: list,
    };
    lists.into_iter().map(series).collect()
}

fn curves(runs: &[RunOutline]) -> Vec<Series> {
    let mut searches: Vec<(SearchId, Vec<usize>)> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        let Some(search) = run.search() else {
            continue;
        };
        match searches.iter_mut().find(|(known, _)| *known == search) {
            Some((_, places)) => places.push(place),
            None => searches.push((search, vec![place])),
        }
    }
    let mut found: Vec<Series> = searches
        .into_iter()
        .filter(|(_, places)| places.iter().any(|place| is_point(&runs[*place])))
        .map(|(search, places)| Series {
            kind: SeriesKind::Curve { search },
            title: runs[places[0]].name.clone(),
            runs: places,
        })
        .collect();
    let titles: Vec<String> = found.iter().map(|series| series.title.clone()).collect();
    for series in &mut found {
        if titles
            .iter()
            .filter(|title| **title == series.title)
            .count()
            > 1
        {
            series.title += &format!(", {} slots", runs[series.runs[0]].slots);
        }
    }
    found
}

fn is_point(run: &RunOutline) -> bool {
    matches!(run.load, Load::SearchPoint { .. })
}

/// Runs that are alike but for slots and labels.
fn clusters(runs: &[RunOutline]) -> Vec<Vec<usize>> {
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        if run.search().is_some() || run.kind != RunKind::Measure || run.operations == 0 {
            continue;
        }
        let known = clusters
            .iter_mut()
            .find(|cluster| runs[cluster[0]].is_alike(run));
        match known {
            Some(cluster) => cluster.push(place),
            None => clusters.push(vec![place]),
        }
    }
    clusters
}

/// Runs with the same slots in one cluster differ in something that only labels tell. A label whose
/// values are the same for every count of slots is such a thing; it splits the cluster.
fn split_repeated(runs: &[RunOutline], cluster: Vec<usize>) -> Vec<Vec<usize>> {
    if slots_of(runs, &cluster).len() == cluster.len() {
        return vec![cluster];
    }
    let keys: BTreeSet<&str> = cluster
        .iter()
        .flat_map(|place| runs[*place].labels.iter().map(|label| label.key.as_str()))
        .filter(|key| is_independent_of_slots(runs, &cluster, key))
        .collect();
    let values = |place: usize| -> Vec<Option<&str>> {
        keys.iter()
            .map(|key| Label::find(&runs[place].labels, key))
            .collect()
    };
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for place in cluster {
        match parts
            .iter_mut()
            .find(|part| values(part[0]) == values(place))
        {
            Some(part) => part.push(place),
            None => parts.push(vec![place]),
        }
    }
    parts
}

fn is_independent_of_slots(runs: &[RunOutline], cluster: &[usize], key: &str) -> bool {
    let values_at = |slots: u32| -> BTreeSet<Option<&str>> {
        let same = cluster.iter().filter(|place| runs[**place].slots == slots);
        same.map(|place| Label::find(&runs[*place].labels, key))
            .collect()
    };
    let mut sets = slots_of(runs, cluster).into_iter().map(values_at);
    let first = sets.next();
    sets.all(|set| Some(set) == first)
}

fn slots_of(runs: &[RunOutline], places: &[usize]) -> BTreeSet<u32> {
    places.iter().map(|place| runs[*place].slots).collect()
}

/// A sweep needs two counts of slots, and no count twice: which of the two would be the dot?
fn sweep(runs: &[RunOutline], mut part: Vec<usize>) -> Option<Series> {
    if part.len() < 2 || slots_of(runs, &part).len() != part.len() {
        return None;
    }
    part.sort_by_key(|place| runs[*place].slots);
    Some(Series {
        kind: SeriesKind::SlotSweep,
        title: common_name(runs, &part),
        runs: part,
    })
}

/// What the names have in common at their beginning, or the first name.
fn common_name(runs: &[RunOutline], places: &[usize]) -> String {
    let first = runs[places[0]].name.as_str();
    let common = places.iter().fold(first, |common, place| {
        let same = common
            .chars()
            .zip(runs[*place].name.chars())
            .take_while(|(a, b)| a == b);
        let bytes: usize = same.map(|(letter, _)| letter.len_utf8()).sum();
        &common[..bytes]
    });
    if common == first {
        return first.to_owned();
    }
    // A number that goes on differently is none of the common name.
    let whole = common.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match whole.trim_end_matches(|letter: char| !letter.is_alphanumeric()) {
        "" => first.to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed;

    fn outline(name: &str, slots: u32, load: Load) -> RunOutline {
        let mut outline = RunOutline::of(&closed(0, &[1_000; 10]));
        outline.name = name.into();
        outline.slots = slots;
        outline.load = load;
        outline
    }

    fn labelled(name: &str, slots: u32, labels: &[(&str, &str)]) -> RunOutline {
        let labels = labels.iter().map(|(key, value)| Label::new(*key, *value));
        RunOutline {
            labels: labels.collect(),
            ..outline(name, slots, Load::FlatOut)
        }
    }

    fn base(name: &str, slots: u32, search: u32) -> RunOutline {
        outline(
            name,
            slots,
            Load::SearchBase {
                search: SearchId(search),
            },
        )
    }

    fn search_point(search: u32, pct: f64) -> RunOutline {
        outline(
            "point",
            8,
            Load::SearchPoint {
                search: SearchId(search),
                pct,
            },
        )
    }

    #[test]
    fn an_outline_has_the_means() {
        let outline = RunOutline::of(&closed(0, &[1_000; 10]));
        assert_eq!((outline.operations, outline.slots), (10, 8));
        assert_eq!(
            (outline.bytes_per_operation, outline.read_share),
            (4096.0, 1.0)
        );
    }

    #[test]
    fn what_prepares_or_brought_nothing_belongs_to_no_picture() {
        let rate = |name: &str, per_second: f64| outline(name, 8, Load::Rate { per_second });
        let mut prepares = rate("a", 100.0);
        prepares.kind = RunKind::Prepare;
        let runs = [prepares, rate("b", 200.0)];
        assert_eq!(series(&runs), []);
        let mut empty = outline("c", 8, Load::FlatOut);
        empty.operations = 0;
        let sweep = [
            outline("a", 1, Load::FlatOut),
            outline("b", 4, Load::FlatOut),
        ];
        let found = series(&[&sweep[..], &[empty]].concat());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].runs, [0, 1]);
    }

    #[test]
    fn searches_are_curves() {
        let runs = [
            base("a", 8, 0),
            search_point(0, 10.0),
            outline("between", 8, Load::FlatOut),
            search_point(0, 50.0),
            base("a", 16, 1),
            search_point(1, 10.0),
            base("cut short", 8, 2),
        ];
        let found = series(&runs);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].kind,
            SeriesKind::Curve {
                search: SearchId(0)
            }
        );
        assert_eq!(
            (found[0].title.as_str(), &found[0].runs[..]),
            ("a, 8 slots", &[0, 1, 3][..])
        );
        assert_eq!(
            (found[1].title.as_str(), &found[1].runs[..]),
            ("a, 16 slots", &[4, 5][..])
        );
    }

    #[test]
    fn slots_alone_make_a_sweep() {
        let mut runs = vec![
            labelled("run_(16)", 16, &[("loops", "16")]),
            labelled("run_(1)", 1, &[("loops", "1")]),
            labelled("run_(4)", 4, &[("loops", "4")]),
        ];
        let sweep = |runs: &[usize]| Series {
            kind: SeriesKind::SlotSweep,
            title: "run".into(),
            runs: runs.to_vec(),
        };
        assert_eq!(series(&runs), [sweep(&[1, 2, 0])]);
        runs[2].bytes_per_operation *= 2.0;
        assert_eq!(series(&runs), [sweep(&[1, 0])], "another transfer size");
        runs[1].load = Load::Rate { per_second: 5.0 };
        assert_eq!(series(&runs), [], "another load");
        runs[1].load = Load::FlatOut;
        runs[1].streams[0].targets = vec![TargetId(1)];
        assert_eq!(series(&runs), [], "another target");
    }

    #[test]
    fn rates_without_a_search_are_a_curve_too() {
        let rate = |per_second: f64| outline("rd", 8, Load::Rate { per_second });
        let mut runs = vec![rate(300.0), rate(100.0), outline("max", 8, Load::FlatOut)];
        let expected = Series {
            kind: SeriesKind::Rates,
            title: "rd".into(),
            runs: vec![0, 1],
        };
        assert_eq!(series(&runs), [expected]);
        runs[1].bytes_per_operation *= 2.0;
        assert_eq!(series(&runs), [], "another transfer size");
        assert_eq!(series(&[rate(9.0), rate(9.0)]), [], "one rate is no curve");
    }

    /// With one slot a single group has work, with two both have.
    #[test]
    fn groups_that_share_a_stream_do_not_hide_a_sweep() {
        let of_groups = |slots: u32, groups: u32| {
            let mut totals = closed(0, &[1_000; 10]);
            let mut stream = totals.started.streams[0].clone();
            stream.share_pct = 100.0 / f64::from(groups);
            totals.started.streams = vec![stream; groups as usize];
            totals.started.pools[0].slots = slots;
            RunOutline::of(&totals)
        };
        let found = series(&[of_groups(1, 1), of_groups(2, 2)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].runs, [0, 1]);
    }

    #[test]
    fn a_second_swept_thing_splits_a_sweep_by_its_label() {
        let runs: Vec<_> = [(1, "0"), (8, "0"), (1, "100"), (8, "100")]
            .iter()
            .map(|(slots, order)| {
                let loops = format!("{slots} {order}");
                labelled("run", *slots, &[("loops", &loops), ("order", order)])
            })
            .collect();
        let found: Vec<_> = series(&runs)
            .into_iter()
            .map(|series| series.runs)
            .collect();
        assert_eq!(found, [[0, 1], [2, 3]]);
        let repeated = [
            labelled("a", 1, &[]),
            labelled("a", 8, &[]),
            labelled("a", 8, &[]),
        ];
        assert_eq!(
            series(&repeated),
            [],
            "nobody knows which of the two it would be"
        );
    }

    #[test]
    fn a_read_share_within_chance_is_the_same() {
        let mut runs = [labelled("a", 1, &[]), labelled("a", 8, &[])];
        runs[0].read_share = 0.7;
        runs[1].read_share = 0.75;
        assert_eq!(series(&runs).len(), 1, "of ten operations that is chance");
        runs.iter_mut().for_each(|run| run.operations = 100_000);
        assert_eq!(series(&runs).len(), 0);
    }
}
