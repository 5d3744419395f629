//! Runs of a sweep as the cells of a grid: one axis for each quantity that varies.
use crate::axis::Axis;
use crate::series::RunOutline;
use plan::RunKind;

/// Runs that differ in one or more quantities.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    pub title: String,
    /// The one with the most values first; of equal ones the one that the sweep varies most often.
    pub axes: Vec<Axis>,
    /// Places in what was given, each with its place on every axis.
    pub cells: Vec<(usize, Vec<usize>)>,
}

/// All grids among runs, in the order of their first runs. Points of a search belong to its curve.
pub fn grids(runs: &[RunOutline]) -> Vec<Grid> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        if run.kind != RunKind::Measure || run.swept.is_empty() || run.is_searched() {
            continue;
        }
        let names = |run: &RunOutline| -> Vec<String> {
            run.swept.iter().map(|one| one.name.clone()).collect()
        };
        let is_of = |group: &&mut Vec<usize>| {
            let first = &runs[group[0]];
            first.name == run.name && names(first) == names(run)
        };
        match groups.iter_mut().find(is_of) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
        .iter()
        .filter_map(|group| grid(runs, group))
        .collect()
}

/// `None` where nothing varies.
fn grid(runs: &[RunOutline], group: &[usize]) -> Option<Grid> {
    let first = &runs[group[0]];
    let axis = |number: usize| {
        let values = group.iter().map(|place| runs[*place].swept[number].value);
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        (number, values)
    };
    let mut axes: Vec<(usize, Vec<f64>)> = (0..first.swept.len()).map(axis).collect();
    axes.retain(|(_, values)| values.len() > 1);
    // The last loop is the innermost.
    axes.sort_by_key(|(number, values)| {
        (std::cmp::Reverse(values.len()), std::cmp::Reverse(*number))
    });
    let cell = |place: &usize| {
        let at = axes.iter().map(|(number, values)| {
            let value = runs[*place].swept[*number].value;
            values.partition_point(|known| known.total_cmp(&value).is_lt())
        });
        (*place, at.collect())
    };
    let cells = group.iter().map(cell).collect();
    let named = |(number, values): &(usize, Vec<f64>)| Axis {
        name: first.swept[*number].name.clone(),
        values: values.clone(),
    };
    (!axes.is_empty()).then(|| Grid {
        title: first.name.clone(),
        axes: axes.iter().map(named).collect(),
        cells,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::closed;
    use plan::{Load, SearchId, Swept};

    fn outline(name: &str, swept: &[(&str, f64)]) -> RunOutline {
        let swept = swept.iter().map(|(name, value)| Swept::new(name, *value));
        RunOutline {
            name: name.to_owned(),
            swept: swept.collect(),
            ..RunOutline::of(&closed(0, &[1_000; 10]))
        }
    }

    #[test]
    fn each_run_of_a_sweep_has_its_cell() {
        let mut runs = vec![outline("other", &[])];
        for size in [8192.0, 4096.0] {
            for reads in [0.0, 100.0] {
                for threads in [1.0, 2.0, 4.0] {
                    let swept = [
                        ("size", size),
                        ("reads", reads),
                        ("fixed", 7.0),
                        ("threads", threads),
                    ];
                    runs.push(outline("rd", &swept));
                }
            }
        }
        let all = grids(&runs);
        assert_eq!(all.len(), 1);
        let names: Vec<&str> = all[0].axes.iter().map(|axis| &*axis.name).collect();
        assert_eq!(names, ["threads", "reads", "size"]);
        assert_eq!(all[0].axes[2].values, [4096.0, 8192.0]);
        assert_eq!(all[0].cells.len(), 12);
        assert_eq!(all[0].cells[0], (1, vec![0, 0, 1]));
        assert_eq!(all[0].cells[11], (12, vec![2, 1, 0]));
    }

    #[test]
    fn what_does_not_vary_or_searches_makes_no_grid() {
        assert_eq!(
            grids(&[
                outline("a", &[("threads", 8.0)]),
                outline("a", &[("threads", 8.0)])
            ]),
            []
        );
        let mut point = outline("a", &[("threads", 8.0)]);
        point.load = Load::SearchPoint {
            search: SearchId(0),
            pct: 50.0,
        };
        let runs = [outline("a", &[("threads", 4.0)]), point];
        assert_eq!(grids(&runs), []);
        // Two definitions are two sweeps.
        let two = |name| [outline(name, &[("x", 1.0)]), outline(name, &[("x", 2.0)])];
        let runs = [two("a"), two("b")].concat();
        assert_eq!(grids(&runs).len(), 2);
    }
}
