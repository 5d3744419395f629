//! Bytes and nanoseconds as types of their own, with the text forms that people read.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// A count of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A time span, or an instant on the clock of one host, in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Bytes {
    pub const KIB: u64 = 1 << 10;
    pub const MIB: u64 = 1 << 20;
    pub const GIB: u64 = 1 << 30;
    pub const TIB: u64 = 1 << 40;
}

impl Nanos {
    pub const SECOND: u64 = 1_000_000_000;

    /// Whole seconds as a span.
    pub fn from_secs(seconds: u64) -> Self {
        Self(seconds * Self::SECOND)
    }

    /// A span of seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * Self::SECOND as f64).round().max(0.0) as u64)
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / Self::SECOND as f64
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Nanos {
    type Output = Self;

    /// The span since `other`; zero when `other` is later.
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Powers of two: `4 KiB`, `1.5 GiB`; a count that is no round number of a unit has two decimals.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (Self::TIB, "TiB"),
            (Self::GIB, "GiB"),
            (Self::MIB, "MiB"),
            (Self::KIB, "KiB"),
        ];
        for (size, unit) in units {
            if self.0 < size {
                continue;
            }
            if self.0.is_multiple_of(size) {
                return write!(f, "{} {unit}", self.0 / size);
            }
            return write!(f, "{:.2} {unit}", self.0 as f64 / size as f64);
        }
        write!(f, "{} B", self.0)
    }
}

/// Three significant digits in the unit that fits: `812 ns`, `15.2 µs`, `3.41 ms`, `12.0 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        let (scaled, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (value / 1e3, "µs"),
            1_000_000..1_000_000_000 => (value / 1e6, "ms"),
            _ => (value / 1e9, "s"),
        };
        let decimals = if scaled < 10.0 {
            2
        } else {
            usize::from(scaled < 100.0)
        };
        write!(f, "{scaled:.decimals$} {unit}")
    }
}

/// A count with its noun: `1 run`, `2 runs`. The noun takes an `s` at its end.
///
/// ```
/// assert_eq!(plan::counted(1, "operation"), "1 operation");
/// assert_eq!(plan::counted(0, "operation"), "0 operations");
/// ```
#[must_use]
pub fn counted(count: u64, singular: &str) -> String {
    format!("{count} {}", noun(count, singular))
}

/// A noun as it stands after a count.
#[must_use]
pub fn noun(count: u64, singular: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{singular}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_as_powers_of_two() {
        assert_eq!(Bytes(512).to_string(), "512 B");
        assert_eq!(Bytes(4096).to_string(), "4 KiB");
        assert_eq!(Bytes(1536).to_string(), "1.50 KiB");
        assert_eq!(Bytes(3 << 40).to_string(), "3 TiB");
    }

    #[test]
    fn times_read_with_three_digits() {
        assert_eq!(Nanos(812).to_string(), "812 ns");
        assert_eq!(Nanos(15_234).to_string(), "15.2 µs");
        assert_eq!(Nanos(3_412_000).to_string(), "3.41 ms");
        assert_eq!(Nanos(123_000_000_000).to_string(), "123 s");
    }
}
