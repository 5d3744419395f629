//! Numbers with units, times, and arithmetic with the three words that stand for facts of the host.
use crate::Environment;
use crate::parameter::TimeUnit;

/// What a number was written as, beside its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    pub value: i128,
    /// Whether it has a decimal point, which the original cuts.
    pub is_decimal: bool,
    /// Whether the unit has three letters with an `i`, which mean the other base.
    pub is_swapped: bool,
}

/// Why a text is no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NumberError {
    NoDigits,
    /// What follows is no unit.
    Unit(String),
    TooLarge,
}

/// Powers of this for `k`, `m`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Binary,
    Decimal,
}

/// A count or a size with a suffix.
pub(crate) fn quantity(text: &str, base: Base) -> Result<Number, NumberError> {
    let (digits, unit) = split(text)?;
    let (multiplier, is_swapped) =
        size_unit(unit, base).ok_or_else(|| NumberError::Unit(unit.to_owned()))?;
    scaled(&digits, multiplier, is_swapped)
}

/// A span of time in nanoseconds.
pub(crate) fn time(text: &str, bare: TimeUnit) -> Result<Number, NumberError> {
    let (digits, unit) = split(text)?;
    let nanoseconds = match unit.to_ascii_lowercase().as_str() {
        "" => i128::from(bare.nanos()),
        "d" => 86_400_000_000_000,
        "h" => 3_600_000_000_000,
        "m" => 60_000_000_000,
        "s" => 1_000_000_000,
        "ms" | "msec" => 1_000_000,
        "us" | "usec" => 1_000,
        _ => return Err(NumberError::Unit(unit.to_owned())),
    };
    scaled(&digits, nanoseconds, false)
}

/// Digits as they stand: sign, whole part, fraction, in base ten or sixteen.
struct Digits {
    is_negative: bool,
    whole: i128,
    fraction: String,
    is_decimal: bool,
}

fn split(text: &str) -> Result<(Digits, &str), NumberError> {
    let text = text.trim();
    let (is_negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(hex) = body.strip_prefix("0x").or(body.strip_prefix("0X")) {
        let end = hex
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(hex.len());
        if end == 0 {
            return Err(NumberError::NoDigits);
        }
        let whole = i128::from_str_radix(&hex[..end], 16).map_err(|_| NumberError::TooLarge)?;
        let digits = Digits {
            is_negative,
            whole,
            fraction: String::new(),
            is_decimal: false,
        };
        return Ok((digits, hex[end..].trim_start()));
    }
    let is_digit = |c: char| c.is_ascii_digit();
    let end = body.find(|c| !is_digit(c)).unwrap_or(body.len());
    let (whole, mut rest) = body.split_at(end);
    let mut fraction = "";
    let mut is_decimal = false;
    if let Some(behind) = rest.strip_prefix('.')
        && behind.starts_with(is_digit)
    {
        let end = behind.find(|c| !is_digit(c)).unwrap_or(behind.len());
        (fraction, rest) = behind.split_at(end);
        is_decimal = true;
    }
    if whole.is_empty() && fraction.is_empty() {
        return Err(NumberError::NoDigits);
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let digits = Digits {
        is_negative,
        whole: whole.parse().map_err(|_| NumberError::TooLarge)?,
        fraction: fraction.chars().take(18).collect(),
        is_decimal,
    };
    Ok((digits, rest.trim_start()))
}

fn scaled(digits: &Digits, multiplier: i128, is_swapped: bool) -> Result<Number, NumberError> {
    let mut value = digits
        .whole
        .checked_mul(multiplier)
        .ok_or(NumberError::TooLarge)?;
    if !digits.fraction.is_empty() {
        let ten = 10_i128.pow(digits.fraction.len() as u32);
        let part: i128 = digits.fraction.parse().map_err(|_| NumberError::TooLarge)?;
        let part = part.checked_mul(multiplier).ok_or(NumberError::TooLarge)?;
        value = value.checked_add(part / ten).ok_or(NumberError::TooLarge)?;
    }
    if value > i128::from(u64::MAX) {
        return Err(NumberError::TooLarge);
    }
    Ok(Number {
        value: if digits.is_negative { -value } else { value },
        is_decimal: digits.is_decimal,
        is_swapped,
    })
}

/// The factor of a unit, and whether it is one of those whose base is swapped.
fn size_unit(unit: &str, base: Base) -> Option<(i128, bool)> {
    let unit = unit.to_ascii_lowercase();
    let (here, other): (i128, i128) = match base {
        Base::Binary => (1024, 1000),
        Base::Decimal => (1000, 1024),
    };
    let power = |letter: &str| Some(1 + "kmgtp".find(letter)? as u32);
    match unit.as_bytes() {
        [] | [b'b'] => Some((1, false)),
        [_] | [_, b'b'] | [_, b'i'] => Some((here.pow(power(&unit[..1])?), false)),
        [_, b'i', b'b'] => Some((other.pow(power(&unit[..1])?), true)),
        _ => None,
    }
}

/// The value with `$ncpus`, `$pagesize` and `$mb_memory` replaced; the flag says whether any was.
pub(crate) fn with_facts(text: &str, environment: &Environment<'_>) -> (String, bool) {
    if !text.contains('$') {
        return (text.to_owned(), false);
    }
    let facts = [
        ("$mb_memory", environment.memory_bytes >> 20),
        ("$pagesize", environment.page_bytes),
        ("$ncpus", u64::from(environment.cpus)),
    ];
    let mut out = text.to_owned();
    for (word, value) in facts {
        out = out.replace(word, &value.to_string());
    }
    let is_changed = out != text;
    (out, is_changed)
}

/// Whether a value is to be computed: the original does so behind a replaced word only.
pub(crate) fn is_arithmetic(text: &str, has_facts: bool) -> bool {
    let operators = text.contains(['+', '-', '*', '/']);
    let has_parentheses = text.starts_with('(') && text.ends_with(')');
    (has_facts && operators && !text.contains('\'')) || has_parentheses
}

/// The value of whole numbers with `+ - * /` and parentheses, from left to right as usual; units
/// may follow a number. `None` when it has no value.
pub(crate) fn calculate(text: &str, base: Base) -> Option<i128> {
    let mut rest = text.trim();
    let value = sum(&mut rest, base, 0)?;
    rest.trim().is_empty().then_some(value)
}

const NESTING_MAX: u32 = 64;

fn sum(rest: &mut &str, base: Base, depth: u32) -> Option<i128> {
    let mut value = product(rest, base, depth)?;
    loop {
        *rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('+') {
            *rest = behind;
            value = value.checked_add(product(rest, base, depth)?)?;
        } else if let Some(behind) = rest.strip_prefix('-') {
            *rest = behind;
            value = value.checked_sub(product(rest, base, depth)?)?;
        } else {
            return Some(value);
        }
    }
}

fn product(rest: &mut &str, base: Base, depth: u32) -> Option<i128> {
    let mut value = operand(rest, base, depth)?;
    loop {
        *rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('*') {
            *rest = behind;
            value = value.checked_mul(operand(rest, base, depth)?)?;
        } else if let Some(behind) = rest.strip_prefix('/') {
            *rest = behind;
            value = value.checked_div(operand(rest, base, depth)?)?;
        } else {
            return Some(value);
        }
    }
}

fn operand(rest: &mut &str, base: Base, depth: u32) -> Option<i128> {
    *rest = rest.trim_start();
    if let Some(behind) = rest.strip_prefix('(') {
        if depth >= NESTING_MAX {
            return None;
        }
        *rest = behind;
        let value = sum(rest, base, depth + 1)?;
        *rest = rest.trim_start().strip_prefix(')')?;
        return Some(value);
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let (word, behind) = rest.split_at(end);
    *rest = behind;
    Some(quantity(word, base).ok()?.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str, base: Base) -> i128 {
        quantity(text, base).unwrap().value
    }

    #[test]
    fn units_follow_the_base_and_three_letters_swap_it() {
        for (text, binary, decimal) in [
            ("12", 12, 12),
            ("0x10k", 16 << 10, 16_000),
            ("4k", 4096, 4000),
            ("4KB", 4096, 4000),
            ("4Ki", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("1gib", 1_000_000_000, 1 << 30),
            ("2T", 2 << 40, 2_000_000_000_000),
            ("512B", 512, 512),
        ] {
            assert_eq!(bytes(text, Base::Binary), binary, "{text}");
            assert_eq!(bytes(text, Base::Decimal), decimal, "{text}");
        }
    }

    #[test]
    fn decimals_are_read_as_meant_and_marked() {
        let number = quantity("1.5g", Base::Binary).unwrap();
        assert_eq!(number.value, 3 << 29);
        assert!(number.is_decimal);
        assert_eq!(
            time("0.5m", TimeUnit::Seconds).unwrap().value,
            30_000_000_000
        );
    }

    #[test]
    fn what_follows_a_number_must_be_a_unit() {
        for text in ["12abc", "2x<RAM>", "4kk", "1.2.3", "5%"] {
            assert!(
                matches!(quantity(text, Base::Binary), Err(NumberError::Unit(_))),
                "{text}"
            );
        }
        for text in ["1min", "1sec", "5 seconds"] {
            assert!(
                matches!(time(text, TimeUnit::Seconds), Err(NumberError::Unit(_))),
                "{text}"
            );
        }
        assert_eq!(quantity("", Base::Binary), Err(NumberError::NoDigits));
        assert_eq!(
            quantity("99999999999999999999999999p", Base::Binary),
            Err(NumberError::TooLarge)
        );
    }

    #[test]
    fn bare_times_are_in_the_unit_of_their_option() {
        assert_eq!(time("5", TimeUnit::Seconds).unwrap().value, 5_000_000_000);
        assert_eq!(time("5", TimeUnit::Microseconds).unwrap().value, 5_000);
        assert_eq!(
            time("5ms", TimeUnit::Microseconds).unwrap().value,
            5_000_000
        );
    }

    #[test]
    fn arithmetic_is_whole_and_from_the_left() {
        assert_eq!(
            calculate("2*7963*1024*1024/2", Base::Binary),
            Some(7963 << 20)
        );
        assert_eq!(calculate("(1+2)*3k", Base::Binary), Some(9 << 10));
        assert_eq!(calculate("7/2*2", Base::Binary), Some(6));
        for text in ["1/0", "1+", "(1", "1)", "", &"(".repeat(9999)] {
            assert_eq!(calculate(text, Base::Binary), None, "{text}");
        }
    }
}
