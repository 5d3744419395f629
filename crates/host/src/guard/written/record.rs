//! A record as text.

use super::{Law, Part};

/// Of records of any version: nothing else is replaced by one.
pub(super) const FIRST_WORDS: &str = "fathom written ";
const FIRST_LINE: &str = "fathom written 2";
/// Longer records than that were not made here; file systems take attributes of this length.
pub(super) const RECORD_BYTES_MAX: usize = 4000;
pub(super) const PARTS_MAX: usize = 24;
/// Laws of earlier executions, which may have left data between those of later ones.
pub(super) const LAWS_MAX: usize = 6;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The name of the bearer.
    pub of: String,
    /// Bytes that it had.
    pub size: u64,
    /// Its execution has not said that it came to an end: data inside of laws may be those of before or those of the law.
    pub is_open: bool,
    /// Samples were taken of all places of signatures too.
    pub has_places: bool,
    /// What the digest is of, in ascending order.
    pub parts: Vec<Part>,
    pub laws: Vec<Law>,
    /// Tells which samples were taken.
    pub seed: u64,
    pub digest: u64,
}

impl Record {
    /// Laws are left out where they would make it too long.
    pub(super) fn text(&self) -> String {
        let Self {
            of, size, digest, ..
        } = self;
        let state = if self.is_open { "open" } else { "closed" };
        let samples = if self.has_places { "places" } else { "plain" };
        let mut text =
            format!("{FIRST_LINE}\nof {of}\nsize {size}\nstate {state}\nsamples {samples}\n");
        for (low, end) in &self.parts {
            text += &format!("part {low} {end}\n");
        }
        let last = format!("seed {:016x}\ndigest {digest:016x}\n", self.seed);
        for law in self.laws.iter().take(LAWS_MAX) {
            let line = format!("law {}\n", law.text());
            if text.len() + line.len() + last.len() <= RECORD_BYTES_MAX {
                text += &line;
            }
        }
        text + &last
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut value = |key: &str| lines.next()?.strip_prefix(key)?.strip_prefix(' ');
        let of = value("of")?.to_owned();
        let size = value("size")?.parse().ok()?;
        let is_open = one_of(value("state")?, "closed", "open")?;
        let has_places = one_of(value("samples")?, "plain", "places")?;
        let (mut parts, mut laws): (Vec<Part>, _) = (Vec::new(), Vec::new());
        let seed = loop {
            let (key, value) = lines.next()?.split_once(' ')?;
            match key {
                "seed" => break u64::from_str_radix(value, 16).ok()?,
                "law" if laws.len() < LAWS_MAX => laws.push(Law::parse(value)?),
                "part" if parts.len() < PARTS_MAX => {
                    let (low, end) = value.split_once(' ')?;
                    let part: Part = (low.parse().ok()?, end.parse().ok()?);
                    let follows = parts.last().is_none_or(|last| last.1 <= part.0);
                    if part.0 >= part.1 || part.1 > size || !follows {
                        return None;
                    }
                    parts.push(part);
                }
                _ => return None,
            }
        };
        let digest = lines.next()?.strip_prefix("digest ")?;
        // A digest that was cut is another one.
        let digest = (digest.len() == 16).then(|| u64::from_str_radix(digest, 16))?;
        Some(Self {
            of,
            size,
            is_open,
            has_places,
            parts,
            laws,
            seed,
            digest: digest.ok()?,
        })
    }
}

fn one_of(text: &str, no: &str, yes: &str) -> Option<bool> {
    (text == yes || text == no).then_some(text == yes)
}
