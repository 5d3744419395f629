//! A bar that a user sets, such as `p99>+10%`, and whether it is passed.
use super::{Cell, ComparedFigure, Comparison, FigureKind};

/// How often chance alone may be called a pass of a bar, over all cells together.
const CHANCE: f64 = 0.05;

/// A change of a figure that is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    pub kind: FigureKind,
    /// As a share: 0.1 is 10 %. Negative for a figure that must not fall.
    pub change: f64,
}

/// What comes of a bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beyond<'a> {
    /// Cells in which the change is surely beyond it; where a side has fewer than three runs, in which it is.
    pub cells: Vec<&'a Cell>,
    /// Those in which it may be.
    pub unsure: Vec<&'a Cell>,
    /// How many cells could be judged.
    pub judged: usize,
}

impl Bar {
    /// # Errors
    /// In words, where it has another form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}` is no bar: write a figure, `>` or `<`, and a change, as in `p99>+10%` or `rate<-5%`"
            )
        };
        let (name, sign, change) = text
            .split_once('>')
            .map(|(name, change)| (name, 1.0, change))
            .or_else(|| {
                text.split_once('<')
                    .map(|(name, change)| (name, -1.0, change))
            })
            .ok_or_else(form)?;
        let name = name.trim();
        let kind = FigureKind::of(name).ok_or_else(|| {
            let names: Vec<&str> = FigureKind::ALL.iter().map(|kind| kind.name()).collect();
            format!("`{name}` is no figure; there are {}", names.join(", "))
        })?;
        let number = change.trim().strip_suffix('%').ok_or_else(form)?;
        let change: f64 = number.trim().parse().map_err(|_| form())?;
        let is_such = change.is_finite() && change * sign >= 0.0 && change > -100.0;
        match is_such {
            true => Ok(Self {
                kind,
                change: match (sign > 0.0, change == 0.0) {
                    (false, true) => -0.0,
                    _ => change / 100.0,
                },
            }),
            false => Err(format!(
                "`{text}` can never be told: a rise is written as `>+10%`, a fall as `<-10%`, of less than 100 %"
            )),
        }
    }

    fn is_rise(self) -> bool {
        self.change.is_sign_positive()
    }

    fn is_beyond(self, ratio: f64) -> bool {
        match self.is_rise() {
            true => ratio > 1.0 + self.change,
            false => ratio < 1.0 + self.change,
        }
    }
}

impl Cell {
    /// The figure that a bar is about: where there is one mean only, it is that one.
    pub fn judged_by(&self, kind: FigureKind) -> Option<&ComparedFigure> {
        let own = self.figure(kind);
        let is_mean = kind == FigureKind::ResponseMean;
        let service = || self.figure(FigureKind::ServiceMean).filter(|_| is_mean);
        own.or_else(service)
    }
}

impl Comparison {
    /// Where a bar is passed. Over several cells each has to be surer (Holm, 1979).
    pub fn beyond(&self, bar: Bar) -> Beyond<'_> {
        let mut out = Beyond::default();
        let mut chances: Vec<(f64, &Cell)> = Vec::new();
        for cell in &self.cells {
            let figure = cell.judged_by(bar.kind);
            let Some(figure) = figure.filter(|figure| figure.unfit.is_none()) else {
                continue;
            };
            out.judged += 1;
            let limit = (1.0 + bar.change).ln();
            match &figure.estimate {
                Some(estimate) => {
                    chances.push((estimate.chance_beyond(limit, bar.is_rise()), cell))
                }
                None if bar.is_beyond(figure.ratio) => out.cells.push(cell),
                None => {}
            }
        }
        chances.sort_by(|one, other| one.0.total_cmp(&other.0));
        let all = chances.len();
        let passed = chances
            .iter()
            .enumerate()
            .take_while(|(place, (chance, _))| *chance <= CHANCE / (all - place) as f64)
            .count();
        let (beyond, rest) = chances.split_at(passed);
        out.cells.extend(beyond.iter().map(|(_, cell)| *cell));
        // Not surely beyond, and not surely within.
        let unsure = rest.iter().filter(|(chance, _)| *chance < 1.0 - CHANCE);
        out.unsure.extend(unsure.map(|(_, cell)| *cell));
        out
    }
}
