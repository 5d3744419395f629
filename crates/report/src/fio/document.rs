//! The last document of fio in a text, read job by job: of a text that ends early, or breaks in the middle, the jobs before
//! that are kept. Time is linear in the text, memory is what is kept. Knows nothing of figures. Read [`last`] first.
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Value};
use std::fmt;

/// Values and bytes of text of one job; one with all buckets and options has a tenth of it.
const JOB_VALUES_MAX: usize = 1 << 16;
const JOB_TEXT_BYTES_MAX: usize = 1 << 20;

/// fio itself has 4096 jobs at most; this is a fleet of them.
const JOBS_MAX: usize = 1 << 17;

/// Places of a text at which a document is looked for: reports have two thousand bytes and more, so that a text of many
/// times as many braces is none of them.
const TRIES_MAX: usize = 1 << 20;

/// What a document says outside of its jobs.
const HEAD: [&str; 5] = [
    "fio version",
    "timestamp",
    "timestamp_ms",
    "global options",
    "disk_util",
];

/// Why a text is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// It holds no JSON document, or one that is cut off; the words of the parser.
    NoDocument(String),
    /// The document has no `jobs` and no `client_stats`.
    NoJobs,
    /// The jobs have no figures.
    NoFigures,
    /// None that can be; what is wrong with the first.
    Impossible(String),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::NoDocument(why) => {
                write!(
                    f,
                    "no JSON document of fio with a whole job: {why}; use its `--output-format=json`"
                )
            }
            ImportError::NoJobs => write!(f, "the document has neither `jobs` nor `client_stats`"),
            ImportError::Impossible(why) => write!(f, "no figures are left: {why}"),
            ImportError::NoFigures => {
                write!(
                    f,
                    "no job of the document has figures of reads, writes or trims"
                )
            }
        }
    }
}

impl std::error::Error for ImportError {}

/// One document, with what a caller makes of its jobs.
pub(super) struct Document<T> {
    pub head: Map<String, Value>,
    pub jobs: Vec<T>,
    has_jobs: bool,
    /// Where and why reading ended, in words, if not at its end.
    pub damage: Option<String>,
}

/// The last whole document that has jobs; without one, what is whole of the last that is damaged. Text around documents
/// is skipped.
///
/// # Errors
/// [`ImportError`].
pub(super) fn last<T>(
    text: &str,
    take: &mut dyn FnMut(&Map<String, Value>) -> Option<T>,
) -> Result<Document<T>, ImportError> {
    let (mut whole, mut part, mut broken) = (None, None, None);
    let (mut failure, mut has_other) = ("there is no `{`".to_owned(), false);
    let mut at = Place { byte: 0, line: 1 };
    let mut tries = 0;
    while let Some(brace) = text[at.byte..].find('{') {
        tries += 1;
        if tries > TRIES_MAX {
            broken = Some(format!(
                "more than {TRIES_MAX} places look like the start of a document"
            ));
            break;
        }
        at = at.moved(text, at.byte + brace);
        let mut document = Document::empty();
        let mut reader = Deserializer::from_str(&text[at.byte..]);
        let read = Filling(&mut document, take).deserialize(&mut reader);
        let Err(error) = read else {
            match document.has_jobs {
                true => (whole, part, broken) = (Some(document), None, None),
                false => has_other = true,
            }
            match reader.end() {
                Ok(()) => break,
                Err(trailing) => at = at.past(text, &trailing),
            }
            continue;
        };
        let end = at.past(text, &error);
        let words = end.words(text, &error);
        if document.is_of_fio() || error.is_eof() {
            broken = Some(words.clone());
        } else if failure.starts_with("there is no") {
            failure = words.clone();
        }
        if !document.jobs.is_empty() {
            document.damage = Some(words);
            part = Some(document);
        }
        if error.is_eof() {
            break;
        }
        at = end;
    }
    if let Some(mut whole) = whole {
        let later = |words| format!("of a later document, {words}");
        whole.damage = broken.map(later);
        return Ok(whole);
    }
    part.ok_or(match broken {
        Some(words) => ImportError::NoDocument(words),
        None if has_other => ImportError::NoJobs,
        None => ImportError::NoDocument(failure),
    })
}

/// A place in a text.
#[derive(Clone, Copy)]
struct Place {
    byte: usize,
    line: usize,
}

impl Place {
    fn moved(self, text: &str, byte: usize) -> Self {
        let newlines = text.as_bytes()[self.byte..byte].iter();
        let lines = newlines.filter(|byte| **byte == b'\n').count();
        let line = self.line + lines;
        Self { byte, line }
    }

    /// Where reading from here has ended; at least one byte on, so that every brace is tried once.
    fn past(self, text: &str, error: &serde_json::Error) -> Self {
        let rest = &text[self.byte..];
        let newlines = rest.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let start = match error.line() {
            0 | 1 => 0,
            line => newlines
                .map(|(at, _)| at + 1)
                .nth(line - 2)
                .unwrap_or(rest.len()),
        };
        let mut byte = match error.is_eof() {
            true => text.len(),
            false => self.byte + start + error.column().saturating_sub(1),
        };
        byte = byte.max(self.byte + 1);
        while !text.is_char_boundary(byte) && byte < text.len() {
            byte += 1;
        }
        self.moved(text, byte.min(text.len()))
    }

    fn words(self, text: &str, error: &serde_json::Error) -> String {
        let Place { byte, line } = self;
        if error.is_eof() {
            return format!("it ends early, at line {line}, byte {}", text.len());
        }
        let all = error.to_string();
        let why = all.split(" at line ").next().unwrap_or(&all);
        format!("it is damaged at line {line}, byte {}: {why}", byte + 1)
    }
}

impl<T> Document<T> {
    fn empty() -> Self {
        Self {
            head: Map::new(),
            jobs: Vec::new(),
            has_jobs: false,
            damage: None,
        }
    }

    /// Whether what was read of it tells that it is one of fio.
    fn is_of_fio(&self) -> bool {
        self.has_jobs || self.head.contains_key(HEAD[0])
    }
}

type Take<'a, T> = dyn FnMut(&Map<String, Value>) -> Option<T> + 'a;

/// Fills a document, so that it has what came before an error.
struct Filling<'a, 'b, T>(&'a mut Document<T>, &'a mut Take<'b, T>);

impl<'de, T> DeserializeSeed<'de> for Filling<'_, '_, T> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, T> Visitor<'de> for Filling<'_, '_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document of fio")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self(document, take) = self;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "jobs" | "client_stats" if !document.has_jobs => {
                    document.has_jobs = true;
                    map.next_value_seed(Jobs(document, take))?;
                }
                key if HEAD.contains(&key) => {
                    let value = map.next_value_seed(Part(&mut Room::default()))?;
                    document.head.insert(key.to_owned(), value);
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct Jobs<'a, 'b, T>(&'a mut Document<T>, &'a mut Take<'b, T>);

impl<'de, T> DeserializeSeed<'de> for Jobs<'_, '_, T> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de, T> Visitor<'de> for Jobs<'_, '_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of jobs")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self(document, take) = self;
        while let Some(entry) = list.next_element_seed(Part(&mut Room::default()))? {
            let job = entry.as_object().and_then(&mut *take);
            if job.is_some() && document.jobs.len() == JOBS_MAX {
                return Err(A::Error::custom(format!("more than {JOBS_MAX} jobs")));
            }
            document.jobs.extend(job);
        }
        Ok(())
    }
}

/// What a part of a document may still hold.
struct Room {
    values: usize,
    text_bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            values: JOB_VALUES_MAX,
            text_bytes: JOB_TEXT_BYTES_MAX,
        }
    }
}

impl Room {
    fn take<E: serde::de::Error>(&mut self, values: usize, text_bytes: usize) -> Result<(), E> {
        let left = self.values.checked_sub(values);
        let text_left = self.text_bytes.checked_sub(text_bytes);
        let (Some(values), Some(text_bytes)) = (left, text_left) else {
            return Err(E::custom(format!(
                "a part of more than {JOB_VALUES_MAX} values or {JOB_TEXT_BYTES_MAX} bytes of text"
            )));
        };
        *self = Self { values, text_bytes };
        Ok(())
    }
}

/// Any value, as far as there is room.
struct Part<'a>(&'a mut Room);

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.0.take(0, text.len())?;
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(value) = list.next_element_seed(Part(self.0))? {
            self.0.take(1, 0)?;
            all.push(value);
        }
        Ok(Value::from(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.0.take(1, key.len())?;
            let value = map.next_value_seed(Part(self.0))?;
            all.insert(key, value);
        }
        Ok(Value::from(all))
    }
}
