//! The parameters that hold for one definition: defaults first, its own behind them.
use super::declare::{Section, Status};
use super::definitions::{Definition, Field};
use super::token::Word;
use crate::parameter::Setting;
use plan::{Origin, Span};

/// Defaults and own parameters of a definition, in order; later ones win.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub section: Section,
    pub name: Word,
    pub all: Vec<Field>,
    /// How many of `all` come from defaults.
    pub defaults: usize,
}

/// Every definition of a section with its defaults; the defaults themselves are left out.
pub(crate) fn with_defaults(definitions: &[Definition], section: Section) -> Vec<Fields> {
    let mut defaults: Vec<Field> = Vec::new();
    let mut out = Vec::new();
    for definition in definitions
        .iter()
        .filter(|definition| definition.section == section)
    {
        if definition.is_default() {
            defaults.extend(definition.fields.iter().cloned());
            continue;
        }
        let mut all = defaults.clone();
        all.extend(definition.fields.iter().cloned());
        out.push(Fields {
            section,
            name: definition.name.clone(),
            all,
            defaults: defaults.len(),
        });
    }
    out
}

impl Fields {
    /// The last field of this name, whether its values are valid or not.
    pub(crate) fn given(&self, name: &str) -> Option<&Field> {
        debug_assert!(
            self.section
                .parameters()
                .iter()
                .any(|parameter| parameter.name() == name),
            "`{name}` is declared"
        );
        self.all
            .iter()
            .rev()
            .find(|field| field.parameter.name() == name)
    }

    /// The last field of this name if its values can be used.
    pub(crate) fn get(&self, name: &str) -> Option<&Field> {
        self.given(name).filter(|field| field.is_valid)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// The first number of a parameter.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.numbers.first().map(|number| number.value)
    }

    /// The first word of a parameter.
    pub(crate) fn text(&self, name: &str) -> Option<&Word> {
        self.get(name)?.words.first()
    }

    pub(crate) fn is_yes(&self, setting: Setting<bool>) -> bool {
        match self.text(setting.name) {
            Some(word) => is_yes(&word.text),
            None => setting.default,
        }
    }

    /// The first number of a parameter, or its declared default.
    pub(crate) fn number_of(&self, setting: Setting<f64>) -> f64 {
        self.number(setting.name).unwrap_or(setting.default)
    }

    /// Its own fields, without those of defaults.
    pub(crate) fn own(&self) -> &[Field] {
        &self.all[self.defaults..]
    }

    /// Where a value comes from.
    pub(crate) fn origin(&self, name: &str) -> Origin {
        self.given(name).map_or_else(
            || Origin::Default(format!("{} without `{name}`", self.section.title())),
            |field| Origin::Written(field.span),
        )
    }

    /// The place of a parameter, or of the name of the definition.
    pub(crate) fn place(&self, name: &str) -> Span {
        self.given(name).map_or(self.name.span, |field| field.span)
    }
}

/// Anything that starts with `y`.
pub(crate) fn is_yes(text: &str) -> bool {
    text.starts_with(['y', 'Y'])
}

impl Field {
    /// Whether its values ask for nothing.
    pub(crate) fn is_inert(&self) -> bool {
        let inert = self.parameter.inert;
        let is_no =
            |text: &str| inert.contains(&"no") && text.to_ascii_lowercase().starts_with('n');
        !inert.is_empty()
            && self
                .words
                .iter()
                .all(|word| inert.contains(&word.text.as_str()) || is_no(&word.text))
    }

    /// The status for the values given.
    pub(crate) fn status(&self) -> Status {
        if self.is_inert() {
            Status::Honoured
        } else {
            self.parameter.status
        }
    }
}
