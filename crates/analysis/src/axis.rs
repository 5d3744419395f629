//! A quantity that runs differ in, by the name that plans give it: what it is called, and its values with their unit.
use crate::words::size;

/// A quantity with the values that it takes, ascending.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// As [`plan::Swept::name`].
    pub name: String,
    pub values: Vec<f64>,
}

/// What the names of quantities end in, where they have a unit.
const UNITS: [&str; 3] = ["_bytes", "_pct", "_per_s"];

impl Axis {
    /// Without values.
    pub fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            values: Vec::new(),
        }
    }

    fn unit(&self) -> &str {
        let mut units = UNITS.into_iter();
        units.find(|unit| self.name.ends_with(unit)).unwrap_or("")
    }

    /// The quantity in words, without its unit.
    pub fn title(&self) -> String {
        let name = self.name.strip_suffix(self.unit());
        name.unwrap_or(&self.name).replace('_', " ")
    }

    /// A value with its unit.
    pub fn text(&self, value: f64) -> String {
        match self.unit() {
            "_bytes" => size(value as u64),
            "_pct" => format!("{value} %"),
            "_per_s" => format!("{value}/s"),
            _ => value.to_string(),
        }
    }
}
