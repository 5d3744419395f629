//! Lists of which most entries tell nothing, in short: how many there are, and those that do. One of many hosts tells of its
//! own streams alone, among those of all.
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// More entries than any plan has streams.
const COUNT_MAX: usize = 1 << 24;

pub(crate) fn serialize<T, S>(all: &[T], serializer: S) -> Result<S::Ok, S::Error>
where
    T: Serialize + Default + PartialEq,
    S: Serializer,
{
    let empty = T::default();
    let told = all.iter().enumerate().filter(|(_, one)| **one != empty);
    let told: Vec<(usize, &T)> = told.collect();
    (all.len(), told).serialize(serializer)
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    let (count, told): (usize, Vec<(usize, T)>) = Deserialize::deserialize(deserializer)?;
    if count > COUNT_MAX {
        return Err(D::Error::custom("a list of too many entries"));
    }
    let mut all: Vec<T> = Vec::new();
    all.resize_with(count, T::default);
    for (place, one) in told {
        let entry = all.get_mut(place);
        *entry.ok_or_else(|| D::Error::custom("an entry beyond its list"))? = one;
    }
    Ok(all)
}
