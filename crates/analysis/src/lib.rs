//! Curves, decisions and steady state: pure functions over totals of runs. Nothing here reads a
//! clock, a file or a device. Read [`next`] for what a run is asked, [`point`] for what it says.
#![forbid(unsafe_code)]

mod advice;
mod answer;
mod axis;
mod comparison;
mod course;
mod courses;
#[cfg(test)]
mod courses_tests;
mod curve;
mod decision;
mod evidence;
mod execution;
mod failed;
mod gap;
mod grid;
mod hints;
mod hosts;
mod jobs;
mod lost;
mod medium;
mod moment;
mod recovery;
mod saturation;
mod scaling;
mod scheduled;
mod series;
mod settled;
mod shares;
mod spread;
mod standstill;
mod steady;
mod target_view;
#[cfg(test)]
mod testing;
mod verdict;
mod watch;
pub mod words;

pub use axis::Axis;
pub use comparison::{
    Answer, Bar, Beyond, Cell, ComparedFigure, ComparedResult, ComparedRun, Comparing, Comparison,
    Conditions, Difference, FigureKind, Interval, LoadKind, Loaded, OnCurve, Side, Unfit, Without,
    change, compare, compare_all,
};
pub use curve::{
    CurvePoint, EXHAUSTED_SHARE, Exhausted, Knee, LATE_NS_LEAST, LATE_RESPONSE_SHARE, Late,
    MISSED_SHARE, Percentiles, ScheduleCheck, curve, highest_rate_under, knee, point,
};
pub use decision::{Decision, History, Next, next, point_rate};
pub use evidence::{Check, Evidence, Seen};
pub use execution::Verdict;
pub use gap::{GAP_SHARE, Gap, GapCause, Reach, response_gap, response_gap_beside};
pub use grid::{Grid, grids};
pub use hosts::{HostPoint, SLOWER_RATE, SLOWER_RESPONSE, SlowerBy, Slowest, host_points, slowest};
pub use moment::Step;
pub use recovery::{Again, Cycle, Happened, Phase, Recovery};
pub use saturation::{Saturation, saturation};
pub use scaling::{Gain, ScaledLevel, Scaling, Shape, scalings};
pub use series::{RunOutline, Series, SeriesKind, StreamOutline, common_values, series};
pub use settled::{SettleWatch, Settled};
pub use shares::{Share, asked_shares, shares};
pub use spread::Spread;
pub use standstill::{Mark, Standstill, StillTarget};
pub use steady::{Drift, IntervalFacts, Stall, Steadiness, Variation, steadiness};
pub use target_view::TargetView;
pub use verdict::{Finding, Judged, Word, judge};
pub use watch::{EndedRun, Watch};
