//! Where in the user's text something stands. Positions are byte offsets; lines and columns are
//! computed when somebody asks.
use serde::{Deserialize, Serialize};

/// A text that was read: a file, standard input, or the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceId(pub u32);

/// A piece of a source text, `start` inclusive, `end` exclusive, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    pub source: SourceId,
    pub start: u32,
    pub end: u32,
}

/// A line and a column, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// One text with the name that diagnostics show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    pub name: String,
    pub text: String,
}

/// All texts of one reading, in the order in which they were opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl Span {
    /// The smallest span that covers both; both must be of one source.
    pub fn to(self, other: Span) -> Span {
        debug_assert_eq!(self.source, other.source);
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl SourceMap {
    /// Adds a text and returns its id.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> SourceId {
        let id = SourceId(u32::try_from(self.files.len()).expect("fewer than 2^32 sources"));
        self.files.push(SourceFile {
            name: name.into(),
            text: text.into(),
        });
        id
    }

    /// The text with this id.
    pub fn file(&self, id: SourceId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// All texts in order.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Line and column of the start of a span.
    pub fn position(&self, span: Span) -> Position {
        let text = &self.file(span.source).text;
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Position {
            line: line as u32,
            column: before[line_start..].chars().count() as u32 + 1,
        }
    }

    /// The text under a span.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.source)
            .text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_characters_not_bytes() {
        let mut map = SourceMap::default();
        let source = map.add("f", "ä=1\nzwö=2\n");
        let span = Span {
            source,
            start: 9,
            end: 10,
        };
        assert_eq!(map.position(span), Position { line: 2, column: 4 });
        assert_eq!(map.text(span), "=");
    }
}
