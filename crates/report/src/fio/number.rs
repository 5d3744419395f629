//! Numbers as fio prints them.

/// What prefixes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Powers of 1000: `k`, `M` …
    Decimal,
    /// Powers of 1024: `Ki`, `Mi` …
    Binary,
}

const DECIMAL_PREFIXES: [&str; 6] = ["k", "M", "G", "T", "P", "E"];
const BINARY_PREFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A number in at most `width` characters before its prefix; the decimal point counts as one.
/// Only the remainder of the last division is kept, as in fio.
pub fn short(value: u64, width: usize, base: Base, unit: &str) -> String {
    let (divisor, prefixes) = match base {
        Base::Decimal => (1000, DECIMAL_PREFIXES),
        Base::Binary => (1024, BINARY_PREFIXES),
    };
    let (mut whole, mut rest, mut prefix) = (value, 0, None);
    while digits(whole) > width && prefix.is_none_or(|at| at + 1 < prefixes.len()) {
        rest = whole % divisor;
        whole /= divisor;
        prefix = Some(prefix.map_or(0, |at| at + 1));
    }
    let Some(at) = prefix else {
        return format!("{value}{unit}");
    };
    let prefix = prefixes[at];
    let left = width.saturating_sub(digits(whole));
    if left <= 1 {
        let rounded = whole + u64::from(rest >= divisor / 2);
        return format!("{rounded}{prefix}{unit}");
    }
    let decimals = left - 1;
    let scale = 10_u64.pow(decimals as u32);
    let fraction = (rest as f64 / divisor as f64 * scale as f64).round() as u64;
    let (whole, fraction) = if fraction >= scale {
        (whole + 1, 0)
    } else {
        (whole, fraction)
    };
    format!("{whole}.{fraction:0decimals$}{prefix}{unit}")
}

/// Bytes per second: in the first base, and in brackets in the other.
pub fn rates(bytes_per_second: u64, style: UnitStyle) -> (String, String) {
    let (value, unit) = style.rate(bytes_per_second);
    let (first, second) = style.bases();
    (
        short(value, style.width, first, unit),
        short(value, style.width, second, unit),
    )
}

/// Amounts of bytes in both bases. They stay bytes where rates are of bits, as in fio.
pub fn amounts(bytes: u64, style: UnitStyle) -> (String, String) {
    let (first, second) = style.bases();
    (
        short(bytes, style.width, first, "B"),
        short(bytes, style.width, second, "B"),
    )
}

/// How amounts and rates are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitStyle {
    pub width: usize,
    pub first: Base,
    pub bits: bool,
}

impl Default for UnitStyle {
    fn default() -> Self {
        Self {
            width: 4,
            first: Base::Binary,
            bits: false,
        }
    }
}

impl UnitStyle {
    fn bases(self) -> (Base, Base) {
        match self.first {
            Base::Binary => (Base::Binary, Base::Decimal),
            Base::Decimal => (Base::Decimal, Base::Binary),
        }
    }

    fn rate(self, bytes: u64) -> (u64, &'static str) {
        match self.bits {
            true => (bytes.saturating_mul(8), "bit/s"),
            false => (bytes, "B/s"),
        }
    }
}

fn digits(value: u64) -> usize {
    value.checked_ilog10().unwrap_or(0) as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_width_that_fio_gives_them() {
        let cases = [
            (5_375, 4, Base::Decimal, "", "5375"),
            (12_673, 4, Base::Decimal, "", "12.7k"),
            (198_000, 4, Base::Decimal, "", "198k"),
            (51_904_512, 4, Base::Binary, "B/s", "49.5MiB/s"),
            (51_904_512, 4, Base::Decimal, "B/s", "51.9MB/s"),
            (1_048_576_000, 4, Base::Binary, "B/s", "1000MiB/s"),
            (1_048_576_000, 4, Base::Decimal, "B/s", "1049MB/s"),
            (4_194_304, 4, Base::Binary, "B", "4096KiB"),
            (4_194_304, 4, Base::Decimal, "B", "4194kB"),
            (2_013_900, 6, Base::Decimal, "", "2013.9k"),
            (287_148_000, 6, Base::Decimal, "", "287148k"),
            (0, 4, Base::Binary, "B", "0B"),
            (16 << 20, 4, Base::Binary, "B", "16.0MiB"),
            (9_999_960, 4, Base::Decimal, "", "10000k"),
            (u64::MAX, 4, Base::Decimal, "", "18.4E"),
        ];
        for (value, width, base, unit, expected) in cases {
            assert_eq!(short(value, width, base, unit), expected, "{value}");
        }
    }
}
