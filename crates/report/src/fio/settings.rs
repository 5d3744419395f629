//! Options of a job that shape its report. They travel as labels: `option.NAME` on the stream for
//! the job's own section, `global.NAME` on the plan.
use super::number::{Base, UnitStyle};
use super::stat::PERCENTILES;
use plan::Label;

/// How one job is to be reported.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub percentiles: Vec<f64>,
    pub submission: Kind,
    pub completion: Kind,
    pub total: Kind,
    pub shows_bandwidth: bool,
    pub unified: Unified,
    pub units: UnitStyle,
    pub goes_on_after_errors: bool,
    pub shows_disks: bool,
    pub depth: u32,
    pub latency_target_ns: u64,
    pub latency_window_us: u64,
    pub latency_percentile: f64,
}

/// Whether one kind of latency is shown, and with percentiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub is_shown: bool,
    pub has_percentiles: bool,
}

/// `unified_rw_reporting`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unified {
    Apart,
    Mixed,
    Both,
}

/// Looks options up: the job's own before the global ones.
pub(super) struct Options<'a> {
    pub own: &'a [Label],
    pub global: &'a [Label],
}

impl Options<'_> {
    /// The value of the first of several names of an option.
    pub(super) fn text(&self, names: &[&str]) -> Option<&str> {
        let own = names
            .iter()
            .find_map(|name| Label::find(self.own, &format!("option.{name}")));
        own.or_else(|| {
            names
                .iter()
                .find_map(|name| Label::find(self.global, &format!("global.{name}")))
        })
    }

    /// Whether a flag is given and not switched off.
    pub(super) fn is_on(&self, names: &[&str]) -> bool {
        self.flag(names, false)
    }

    /// A flag: named without a value it is on.
    fn flag(&self, names: &[&str], default: bool) -> bool {
        match self.text(names).map(str::trim) {
            None => default,
            Some("0" | "false" | "no" | "off" | "none") => false,
            Some(_) => true,
        }
    }

    fn number<T: std::str::FromStr>(&self, name: &str, default: T) -> T {
        let text = self.text(&[name]).map(str::trim);
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    }
}

impl Settings {
    pub(super) fn of(options: &Options<'_>, slots: u32) -> Self {
        let reduced = options.flag(&["gtod_reduce"], false);
        let kind = |disable: &str, percentiles: &str, default: bool| {
            let is_shown = !reduced && !options.flag(&[disable], false);
            Kind {
                is_shown,
                has_percentiles: is_shown && options.flag(&[percentiles], default),
            }
        };
        Self {
            percentiles: percentiles(options.text(&["percentile_list"])),
            submission: kind("disable_slat", "slat_percentiles", false),
            completion: kind("disable_clat", "clat_percentiles", true),
            total: kind("disable_lat", "lat_percentiles", false),
            shows_bandwidth: !reduced
                && !options.flag(&["disable_bw_measurement", "disable_bw"], false),
            unified: match options.text(&["unified_rw_reporting"]).map(str::trim) {
                Some("both" | "2") => Unified::Both,
                Some("mixed" | "1" | "") => Unified::Mixed,
                _ => Unified::Apart,
            },
            units: UnitStyle {
                width: options.number("significant_figures", 4_usize).clamp(1, 10),
                first: match options.text(&["kb_base"]).map(str::trim) {
                    Some("1000") => Base::Decimal,
                    _ => Base::Binary,
                },
                bits: options.number("unit_base", 0_u32) == 1,
            },
            goes_on_after_errors: options.flag(&["continue_on_error"], false)
                || options.flag(&["ignore_error"], false),
            shows_disks: options.flag(&["disk_util"], true),
            depth: options.number("iodepth", slots),
            latency_target_ns: options
                .text(&["latency_target"])
                .and_then(time_ns)
                .unwrap_or(0),
            latency_window_us: options
                .text(&["latency_window"])
                .and_then(time_ns)
                .unwrap_or(0)
                / 1_000,
            latency_percentile: options.number("latency_percentile", 100.0),
        }
    }
}

/// A time whose bare number is microseconds.
fn time_ns(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "ns" | "nsec" => 1,
        "" | "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

fn percentiles(text: Option<&str>) -> Vec<f64> {
    let mut list: Vec<f64> = text
        .unwrap_or("")
        .split(':')
        .filter_map(|word| word.trim().parse().ok())
        .filter(|value: &f64| *value > 0.0 && *value <= 100.0)
        .collect();
    if list.is_empty() {
        return PERCENTILES.to_vec();
    }
    list.sort_by(f64::total_cmp);
    list
}
