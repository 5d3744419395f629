//! How one job is to be reported: what its options say, in the terms of what is printed.
use super::number::{Base, UnitStyle};
use lang::fio::ReportOptions;
pub(super) use lang::fio::{Shown as Kind, Unified};

/// How one job is to be reported.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub percentiles: Vec<f64>,
    pub submission: Kind,
    pub completion: Kind,
    pub total: Kind,
    pub unified: Unified,
    pub units: UnitStyle,
    pub goes_on_after_errors: bool,
    pub shows_disks: bool,
    pub depth: u32,
    pub latency_target_ns: u64,
    pub latency_window_us: u64,
    pub latency_percentile: f64,
}

impl Settings {
    /// `slots` are those of the pool, for jobs that do not say how deep they are.
    pub(super) fn of(options: &ReportOptions, slots: u32) -> Self {
        Self {
            percentiles: options.percentiles.clone(),
            submission: options.submission,
            completion: options.completion,
            total: options.total,
            unified: options.unified,
            units: UnitStyle {
                width: options.figures,
                first: match options.is_decimal {
                    true => Base::Decimal,
                    false => Base::Binary,
                },
                bits: options.shows_bits,
            },
            goes_on_after_errors: options.bears_errors,
            shows_disks: options.shows_disks,
            depth: options.depth.unwrap_or(slots),
            latency_target_ns: options.latency_target_ns,
            latency_window_us: options.latency_window_ns / 1_000,
            latency_percentile: options.latency_percentile,
        }
    }
}
