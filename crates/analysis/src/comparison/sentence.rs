//! What a comparison comes to, in words.
use super::{Answer, Cell, ComparedFigure, Comparison, FigureKind, Interval};
use crate::words::{counted, latency};
use std::fmt::Write;

/// The figures that a sentence tells; the others are in tables.
const TOLD: [FigureKind; 6] = [
    FigureKind::Rate,
    FigureKind::Knee,
    FigureKind::Saturation,
    FigureKind::ResponseP50,
    FigureKind::ResponseP99,
    FigureKind::CpuPerOperation,
];

impl Comparison {
    /// All of it in a few words: how the other side stands to the base.
    pub fn sentence(&self) -> String {
        let (base, other) = (&self.base, &self.other);
        if self.cells.is_empty() {
            return format!("`{other}` and `{base}` have no run in common.");
        }
        let is_load = |cell: &&Cell| !cell.figures.iter().any(|one| one.kind.is_of_curve());
        let runs = match self.cells.iter().filter(is_load).count() {
            0 => "all of it".to_owned(),
            count => counted(count as u64, "load"),
        };
        let mut told: Vec<String> = TOLD.iter().filter_map(|kind| self.told(*kind)).collect();
        // Where nobody tells percentiles.
        if self.told(FigureKind::ResponseP50).is_none() {
            let means = [FigureKind::ResponseMean, FigureKind::ServiceMean];
            told.extend(means.iter().find_map(|kind| self.told(*kind)));
        }
        // Where nobody tells how many CPUs there are.
        if self.told(FigureKind::CpuPerOperation).is_none() {
            told.extend(self.told(FigureKind::HostCpu));
        }
        let mut text = format!("`{other}` against `{base}`, {runs}: ");
        text += &match (told.is_empty(), self.closed_loop()) {
            (_, Some(closed)) => closed,
            (true, _) => "nothing that can be compared".to_owned(),
            (false, _) => told.join("; "),
        };
        if self.is_single() {
            text += "; of one or two runs a side no interval can be given";
        }
        text + "."
    }

    /// Whether no load has runs enough for an interval.
    fn is_single(&self) -> bool {
        let figures = self.cells.iter().flat_map(|cell| &cell.figures);
        figures.into_iter().all(|figure| figure.interval.is_none())
    }

    /// One load flat out on few slots: what changed is the latency.
    fn closed_loop(&self) -> Option<String> {
        let [cell] = &*self.cells else { return None };
        let is_such = cell.is_closed_loop && cell.load().asked_per_s.is_none();
        let kinds = [FigureKind::ResponseMean, FigureKind::ServiceMean];
        let mut means = kinds.iter().filter_map(|kind| cell.figure(*kind));
        let mean = means.next().filter(|_| is_such)?;
        let rate = cell.figure(FigureKind::Rate)?;
        // Slots ÷ rate is the latency, so the one follows from the other; else something else changed.
        let (latency_change, rate_change) = (mean.ratio.ln(), rate.ratio.ln());
        let is_followed = (latency_change + rate_change).abs()
            <= FOLLOWED_SHARE * latency_change.abs().min(rate_change.abs());
        if latency_change * rate_change >= 0.0 || !is_followed || is_shown_as_none(mean.ratio) {
            return None;
        }
        let rate = Some(rate).filter(|rate| rate.interval.is_some());
        let answer = rate.map_or(String::new(), |rate| format!(": I/O/s {}", rate.words()));
        Some(format!(
            "closed loop: latency {}, from {} to {} on average; the rate followed{answer}",
            change(mean.ratio),
            latency(mean.base),
            latency(mean.other)
        ))
    }

    fn told(&self, kind: FigureKind) -> Option<String> {
        let figures = self.cells.iter().filter_map(|cell| cell.figure(kind));
        let figures: Vec<&ComparedFigure> =
            figures.filter(|figure| figure.unfit.is_none()).collect();
        let name = kind.title();
        match &*figures {
            [] => None,
            [one] => Some(format!("{name} {}", one.words())),
            several => {
                let overall = self.overall.iter().find(|figure| figure.kind == kind);
                let overall = overall.map_or(String::new(), |figure| {
                    format!("{} over all, ", figure.changed())
                });
                let counts = counts(several);
                // Loads that all changed alike need no word for each.
                let is_said = overall.strip_suffix(" over all, ") == Some(&*counts);
                let overall = if is_said { "" } else { &*overall };
                Some(format!("{name} {overall}{counts}"))
            }
        }
    }
}

/// By so much of either change, as logarithms, the rate may miss what latency makes of it.
const FOLLOWED_SHARE: f64 = 0.5;

fn is_shown_as_none(ratio: f64) -> bool {
    change(ratio) == change(1.0)
}

/// How many of several cells have which answer.
fn counts(figures: &[&ComparedFigure]) -> String {
    let margin = figures[0].margin;
    let with = |is_it: &dyn Fn(Answer) -> bool| -> Vec<f64> {
        let such = figures.iter().filter(|figure| is_it(figure.answer));
        such.map(|figure| figure.ratio).collect()
    };
    let mut parts = Vec::new();
    for (answer, word) in [(Answer::Better, "better"), (Answer::Worse, "worse")] {
        let ratios = with(&|one| one == answer);
        if !ratios.is_empty() {
            parts.push(format!("{} {word} ({})", ratios.len(), range(&ratios)));
        }
    }
    for (answer, word) in [
        (Answer::Same, "the same within"),
        (Answer::DiffersLess, "different by less than"),
    ] {
        let count = with(&|one| one == answer).len();
        if count > 0 {
            parts.push(format!("{count} {word} {:.0} %", margin * 100.0));
        }
    }
    let unsure = with(&|one| matches!(one, Answer::CannotTell { .. })).len();
    if unsure > 0 {
        let repeats = figures.iter().filter_map(|figure| match figure.answer {
            Answer::CannotTell { repeats } => Some(repeats),
            _ => None,
        });
        let most = repeats.max().unwrap_or(0);
        parts.push(format!("{unsure} undecided ({})", would_tell(most)));
    }
    let single = with(&|one| one == Answer::TooFew);
    if !single.is_empty() {
        parts.push(range(&single));
    }
    let far_off = figures.iter().filter(|figure| figure.is_other_without());
    if let far_off @ 1.. = far_off.count() {
        parts.push(format!(
            "{far_off} of them because of runs far off the others"
        ));
    }
    parts.join(", ")
}

/// More than anybody runs.
const REPEATS_MAX: u32 = 1000;

fn would_tell(repeats: u32) -> String {
    match repeats > REPEATS_MAX {
        true => format!("not even {REPEATS_MAX} runs a side would decide it"),
        false => format!("{repeats} runs a side would decide it"),
    }
}

fn range(ratios: &[f64]) -> String {
    let (mut sorted, mut text) = (ratios.to_vec(), String::new());
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (change(sorted[0]), change(sorted[sorted.len() - 1]));
    text += &least;
    if least != most {
        let _ = write!(text, " to {most}");
    }
    text
}

/// A ratio as a change: `+9.1 %`.
pub fn change(ratio: f64) -> String {
    let pct = (ratio - 1.0) * 100.0;
    match pct.abs() {
        large if large >= 1000.0 => format!("×{ratio:.1}"),
        large if large >= 99.95 => format!("{pct:+.0} %"),
        small if small < 0.05 => "±0.0 %".to_owned(),
        _ => format!("{pct:+.1} %"),
    }
}

impl ComparedFigure {
    /// The change with its interval.
    fn changed(&self) -> String {
        changed(self.ratio, self.interval)
    }

    /// Whether runs that lie far off decide the answer.
    fn is_other_without(&self) -> bool {
        let kind = |answer: &Answer| std::mem::discriminant(answer);
        self.without
            .as_ref()
            .is_some_and(|without| kind(&without.answer) != kind(&self.answer))
    }

    /// The change with its interval and what can be said of it, with runs that lie far off and without them.
    pub fn words(&self) -> String {
        let words = self.said(self.changed(), self.answer);
        let Some(without) = &self.without else {
            return words;
        };
        let rest = self.said(changed(without.ratio, without.interval), without.answer);
        let runs = counted(without.runs as u64, "run");
        format!("{words}; without {runs} far off the others {rest}")
    }

    fn said(&self, text: String, answer: Answer) -> String {
        let margin = format!("{:.0} %", self.margin * 100.0);
        match answer {
            Answer::Better => text + ", better",
            Answer::Worse => text + ", worse",
            Answer::Same => format!("{text}, the same within {margin}"),
            Answer::DiffersLess => format!("{text}, different by less than {margin}"),
            Answer::CannotTell { repeats } => {
                format!("{text}, undecided ({})", would_tell(repeats))
            }
            Answer::TooFew => text,
        }
    }
}

fn changed(ratio: f64, interval: Option<Interval>) -> String {
    let mut text = change(ratio);
    if let Some(interval) = interval {
        let (from, to) = (change(interval.from), change(interval.to));
        let _ = write!(text, " ({from} to {to})");
    }
    text
}

impl FigureKind {
    /// As text has it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rate => "I/O/s",
            Self::Knee => "I/O/s at the knee",
            Self::Saturation => "I/O/s before saturation",
            Self::Throughput => "MB/s",
            Self::ResponseP50 => "response p50",
            Self::ResponseP90 => "response p90",
            Self::ResponseP99 => "response p99",
            Self::ResponseP999 => "response p99.9",
            Self::ResponseMean => "response mean",
            Self::ServiceP50 => "service p50",
            Self::ServiceP90 => "service p90",
            Self::ServiceP99 => "service p99",
            Self::ServiceP999 => "service p99.9",
            Self::ServiceMean => "service mean",
            Self::CpuPerOperation => "CPU per I/O",
            Self::HostCpu => "host CPU",
        }
    }
}

impl Cell {
    /// The words that make a side doubtful, as text has them.
    pub fn doubts_of(&self, side: usize) -> String {
        let names: Vec<&str> = self.doubts[side].iter().map(|word| word.name()).collect();
        names.join(", ")
    }
}
