//! Options with the values that hold where they are not given. Both come out of the declaration
//! while this is compiled: a reader that names an option without a default of that type is no
//! program.
use super::engines;
use super::tables;
use super::value::{Size, Value};
pub(crate) use crate::parameter::Setting;
use crate::parameter::{DefaultValue, Parameter, declared_among};
use plan::Nanos;

/// What an option of one type holds.
pub(crate) trait Held: Sized {
    fn of(value: &Value) -> Option<Self>;
}

impl Held for bool {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::On(on) => Some(*on),
            _ => None,
        }
    }
}

impl Held for i64 {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl Held for f64 {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Decimals(decimals) => decimals.first().copied(),
            _ => None,
        }
    }
}

impl Held for Size {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Size(size) => Some(*size),
            _ => None,
        }
    }
}

impl Held for Nanos {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Nanos(nanos) => Some(Nanos(*nanos)),
            _ => None,
        }
    }
}

const TABLES: [&[Parameter]; 13] = [
    tables::JOBS,
    tables::TIME,
    tables::PATTERN,
    tables::FILES,
    tables::QUEUE,
    tables::RATE,
    tables::DATA,
    tables::VERIFICATION,
    tables::MEASUREMENT,
    tables::REPLAY,
    tables::PROCESS,
    tables::SPECIAL,
    engines::PRIVATE,
];

/// The default of the option with this full name.
pub(crate) const fn declared(name: &str) -> DefaultValue {
    declared_among(&TABLES, name)
}

/// A size with its declared default in bytes.
pub(crate) const fn size(name: &'static str) -> Setting<Size> {
    let bytes = Setting::bytes(name, declared(name));
    Setting {
        name,
        default: Size::Bytes(bytes.default),
    }
}

macro_rules! on {
    ($name:literal) => {
        const { $crate::parameter::Setting::on($name, $crate::fio::setting::declared($name)) }
    };
}

macro_rules! number {
    ($name:literal) => {
        const { $crate::parameter::Setting::number($name, $crate::fio::setting::declared($name)) }
    };
}

macro_rules! decimal {
    ($name:literal) => {
        const { $crate::parameter::Setting::decimal($name, $crate::fio::setting::declared($name)) }
    };
}

macro_rules! nanos {
    ($name:literal) => {
        const { $crate::parameter::Setting::nanos($name, $crate::fio::setting::declared($name)) }
    };
}

macro_rules! word {
    ($name:literal) => {
        const { $crate::parameter::Setting::word($name, $crate::fio::setting::declared($name)) }
    };
}

macro_rules! text {
    ($name:literal) => {
        const { $crate::parameter::Setting::text($name, $crate::fio::setting::declared($name)) }
    };
}

macro_rules! size {
    ($name:literal) => {
        const { $crate::fio::setting::size($name) }
    };
}
