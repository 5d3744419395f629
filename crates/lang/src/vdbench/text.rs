//! Physical lines to one stream of characters, each of which remembers where it stands in the
//! user's text: comments, continuation, quotes, variables, includes, run overrides.
//! Must not know any keyword but `include` and `eof`.
use super::InputFile;
use super::codes;
use super::sink::Sink;
use crate::Environment;
use crate::environment::NO_SUCH_FILE;
use crate::text_bytes::{TEXTS_BYTES_MAX, text_of, unpacked};
use plan::{Diagnostic, SourceId, SourceMap, Span};

/// A character and its place. What a variable put in has the place of the variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glyph {
    pub ch: char,
    pub span: Span,
    /// Inside quotes: no character has a meaning there.
    pub quoted: bool,
}

/// Ends a line that is complete; nothing else is this character.
pub(crate) const LINE_END: char = '\n';

/// What stands where bytes are no text, and what no text holds.
const NO_TEXT: [char; 2] = [char::REPLACEMENT_CHARACTER, '\0'];

const BYTE_ORDER_MARK: char = '\u{feff}';

const LINES_MAX: usize = 32_768;

/// Reads all files into one stream.
pub(crate) fn scan(
    files: &[InputFile],
    environment: &Environment<'_>,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Vec<Glyph> {
    let mut scanner = Scanner {
        environment,
        sources,
        sink,
        glyphs: Vec::new(),
        lines: 0,
        bytes: 0,
        used: vec![false; environment.command_line.variables.len()],
        overrides: Vec::new(),
    };
    scanner.read_overrides();
    for file in files {
        scanner.file(file);
    }
    scanner.report_unused();
    scanner.glyphs
}

struct Scanner<'a, 'e> {
    environment: &'a Environment<'e>,
    sources: &'a mut SourceMap,
    sink: &'a mut Sink,
    glyphs: Vec<Glyph>,
    lines: usize,
    bytes: usize,
    used: Vec<bool>,
    /// Appended to each complete line that defines a run.
    overrides: Vec<Glyph>,
}

/// Whether reading of a file goes on.
enum Next {
    Line,
    EndOfFile,
}

impl Scanner<'_, '_> {
    fn read_overrides(&mut self) {
        let Some(text) = self.environment.command_line.run_overrides.clone() else {
            return;
        };
        let text = text.trim().trim_matches(',').to_owned();
        let source = self.sources.add("command line", text.clone());
        let glyphs = glyphs_of(&text, source, 0);
        if let Some(blank) = glyphs.iter().find(|glyph| glyph.ch.is_whitespace()) {
            self.sink.error(
                codes::OVERRIDE_BLANK,
                blank.span,
                "run overrides contain a blank",
                "a blank ends the overrides",
                "separate overrides with commas only",
            );
        }
        self.overrides = glyphs
            .into_iter()
            .filter(|glyph| !glyph.ch.is_whitespace())
            .collect();
    }

    fn file(&mut self, file: &InputFile) {
        let (name, bytes) = match file {
            InputFile::Text { name, bytes } => (name.clone(), Ok(bytes.clone())),
            InputFile::Path(path) => (path.clone(), self.environment.files.read(path)),
            InputFile::Unreadable { name, reason } => (name.clone(), Err(reason.clone())),
        };
        match bytes {
            Ok(bytes) => self.text(&name, &bytes, false),
            Err(reason) => {
                let message = format!("cannot read `{name}`: {reason}");
                self.sink.push(Diagnostic::error(codes::FILE, message));
            }
        }
    }

    fn text(&mut self, name: &str, bytes: &[u8], is_included: bool) {
        let text = match readable(name, bytes) {
            Ok(text) => text,
            Err(message) => {
                self.sink.push(Diagnostic::error(codes::FILE, message));
                return;
            }
        };
        self.bytes += text.len();
        if self.bytes > TEXTS_BYTES_MAX {
            let limit = TEXTS_BYTES_MAX >> 20;
            let message = format!("more than {limit} MiB of parameters, with `{name}`");
            self.sink.push(Diagnostic::error(codes::TOO_LONG, message));
            return;
        }
        let source = self.sources.add(name, text.clone());
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            self.lines += 1;
            if self.lines > LINES_MAX {
                let place = span_of(source, start, start);
                let message = format!("more than {LINES_MAX} lines of parameters");
                let error = Diagnostic::error(codes::TOO_LONG, message)
                    .at(place, "the first line too many");
                self.sink.push(error);
                return;
            }
            if let Next::EndOfFile = self.line(line, source, start, name, is_included) {
                break;
            }
            start += line.len();
        }
        // An unfinished continuation does not reach into the next file.
        if self.glyphs.last().is_some_and(|glyph| glyph.ch != LINE_END) {
            self.end_line(span_of(source, text.len(), text.len()));
        }
    }

    fn line(
        &mut self,
        line: &str,
        source: SourceId,
        start: usize,
        name: &str,
        is_included: bool,
    ) -> Next {
        let trimmed = line.trim_start_matches(is_before_text);
        let offset = start + (line.len() - trimmed.len());
        let glyphs = self.substitute(glyphs_of(trimmed.trim_end(), source, offset));
        let first: String = glyphs.iter().take(8).map(|glyph| glyph.ch).collect();
        let lower = first.to_ascii_lowercase();
        if lower.starts_with("eof") {
            return Next::EndOfFile;
        }
        if glyphs.is_empty() || first.starts_with(['/', '#', '*']) {
            return Next::Line;
        }
        if lower.starts_with("include=") {
            self.include(&glyphs, name, is_included);
            return Next::Line;
        }
        let glyphs = self.without_comment(glyphs);
        if let Some(glyph) = glyphs.iter().find(|glyph| NO_TEXT.contains(&glyph.ch)) {
            self.report_no_text(*glyph, name);
            return Next::EndOfFile;
        }
        self.report_unset(&glyphs);
        let Some(last) = glyphs.last().copied() else {
            return Next::Line;
        };
        self.glyphs.extend_from_slice(&glyphs);
        if last.ch == ',' && !last.quoted {
            return Next::Line;
        }
        if lower.starts_with("rd") && !self.overrides.is_empty() {
            self.glyphs.push(Glyph { ch: ',', ..last });
            self.glyphs.extend_from_slice(&self.overrides.clone());
        }
        self.end_line(span_of(
            source,
            last.span.end as usize,
            last.span.end as usize,
        ));
        Next::Line
    }

    /// Comments may hold anything; a parameter with another name than the one written may not run.
    fn report_no_text(&mut self, glyph: Glyph, name: &str) {
        self.sink.error(
            codes::FILE,
            glyph.span,
            format!(
                "cannot read parameter file `{name}` as text: it has a character that no text has"
            ),
            "no text",
            "save the file as UTF-8, and check that it is a parameter file",
        );
    }

    fn end_line(&mut self, span: Span) {
        self.glyphs.push(Glyph {
            ch: LINE_END,
            span,
            quoted: false,
        });
    }

    /// The longest name wins where one is the start of another.
    fn substitute(&mut self, glyphs: Vec<Glyph>) -> Vec<Glyph> {
        let variables = &self.environment.command_line.variables;
        if variables.is_empty() {
            return glyphs;
        }
        let mut out = Vec::with_capacity(glyphs.len());
        let mut at = 0;
        while at < glyphs.len() {
            let glyph = glyphs[at];
            let found = (glyph.ch == '$' || glyph.ch == '!')
                .then(|| longest_variable(variables, &glyphs[at + 1..]))
                .flatten();
            let Some((index, count)) = found else {
                out.push(glyph);
                at += 1;
                continue;
            };
            self.used[index] = true;
            let span = Span {
                end: glyphs[at + count].span.end,
                ..glyph.span
            };
            out.extend(variables[index].value.chars().map(|ch| Glyph {
                ch,
                span,
                quoted: false,
            }));
            at += count + 1;
        }
        out
    }

    fn include(&mut self, glyphs: &[Glyph], name: &str, is_included: bool) {
        let place = cover(glyphs);
        let rest: String = glyphs["include=".len()..]
            .iter()
            .map(|glyph| glyph.ch)
            .collect();
        let path = rest
            .split_whitespace()
            .next()
            .unwrap_or("")
            .trim_matches('"');
        if path.is_empty() {
            self.sink.error(
                codes::NO_VALUE,
                place,
                "`include=` names no file",
                "a file name is missing",
                "write `include=FILE` on a line of its own",
            );
            return;
        }
        if is_included {
            self.sink.error(
                codes::NESTED_INCLUDE,
                place,
                "an included file includes another",
                "one level of includes is allowed",
                "include both files from the first one",
            );
            return;
        }
        let folder = name.rfind(['/', '\\']).map(|at| &name[..=at]);
        let beside = folder
            .filter(|_| !path.contains(['/', '\\']))
            .map(|folder| format!("{folder}{path}"));
        let files = self.environment.files;
        let found = match beside.map(|beside| (files.read(&beside), beside)) {
            Some((Ok(bytes), beside)) => Ok((beside, bytes)),
            Some((Err(reason), _)) if reason != NO_SUCH_FILE => Err(reason),
            _ => files.read(path).map(|bytes| (path.to_owned(), bytes)),
        };
        match found {
            Ok((found, bytes)) => self.text(&found, &bytes, true),
            Err(reason) => self.sink.error(
                codes::FILE,
                place,
                format!("cannot read included file `{path}`: {reason}"),
                "this file cannot be read",
                "a name without a folder is looked up beside this file, then in the current folder",
            ),
        }
    }

    /// Cuts at the first blank outside quotes and takes the quotes out.
    fn without_comment(&mut self, glyphs: Vec<Glyph>) -> Vec<Glyph> {
        let mut out = Vec::with_capacity(glyphs.len());
        let mut opening: Option<Span> = None;
        for (at, glyph) in glyphs.iter().enumerate() {
            if glyph.ch == '"' {
                opening = match opening {
                    None => Some(glyph.span),
                    Some(_) => None,
                };
                continue;
            }
            if glyph.ch.is_whitespace() && opening.is_none() {
                self.report_lost(&out, &glyphs[at..]);
                return out;
            }
            out.push(Glyph {
                quoted: opening.is_some(),
                ..*glyph
            });
        }
        if let Some(span) = opening {
            self.sink.error(
                codes::QUOTE,
                span,
                "a quote is not closed on its line",
                "opened here",
                "add the closing `\"`",
            );
        }
        out
    }

    /// A trailing comment is fine; something that looks like a parameter is not.
    fn report_lost(&mut self, before: &[Glyph], rest: &[Glyph]) {
        let text: String = rest.iter().map(|glyph| glyph.ch).collect();
        let text = text.trim();
        let is_marked = text.starts_with(['#', '*', '/']);
        let looks_like_parameter = text.split([',', ' ', '\t']).any(|piece| {
            let keyword = piece.split('=').next().unwrap_or("");
            piece.contains('=')
                && keyword.len() >= 2
                && keyword
                    .chars()
                    .all(|ch| ch.is_ascii_alphabetic() || ch == '_')
        });
        if !is_marked && looks_like_parameter {
            let skip = rest
                .iter()
                .take_while(|glyph| glyph.ch.is_whitespace())
                .count();
            let repair = match before.last() {
                Some(last) if last.ch == ',' => "remove the blank",
                _ => "put a comma in place of the blank",
            };
            self.sink.warning(
                codes::LOST_TEXT,
                cover(&rest[skip..]),
                "text after a blank is a comment and is not read",
                "not read",
                format!(
                    "{repair} to make it count, or put `#` in front to say that it is a comment"
                ),
            );
        }
    }

    fn report_unset(&mut self, glyphs: &[Glyph]) {
        for (at, glyph) in glyphs.iter().enumerate() {
            let starts = (glyph.ch == '$' || glyph.ch == '!') && !glyph.quoted;
            if !starts {
                continue;
            }
            let name: String = glyphs[at + 1..]
                .iter()
                .map(|glyph| glyph.ch)
                .take_while(|ch| ch.is_alphanumeric() || *ch == '_')
                .collect();
            if name.starts_with("host") {
                continue;
            }
            let place = cover(&glyphs[at..=at + name.chars().count()]);
            let behind_equals = at > 0 && glyphs[at - 1].ch == '=' && !glyphs[at - 1].quoted;
            if behind_equals {
                self.sink.error(
                    codes::UNSET_VARIABLE,
                    place,
                    format!("variable `{}{name}` is not set", glyph.ch),
                    "not set",
                    format!("add `{name}=VALUE` to the command line"),
                );
            } else if !name.is_empty() && glyph.ch == '$' {
                self.sink.warning(
                    codes::MAYBE_VARIABLE,
                    place,
                    format!("`${name}` looks like a variable and is not set"),
                    "taken as it stands",
                    format!("add `{name}=VALUE` to the command line if it is one"),
                );
            }
        }
    }

    fn report_unused(&mut self) {
        let variables = &self.environment.command_line.variables;
        for (variable, used) in variables.iter().zip(&self.used) {
            if !used {
                let name = &variable.name;
                let message = format!("variable `{name}` of the command line is never used");
                let help = format!("remove it, or write `${name}` where it belongs");
                self.sink
                    .push(Diagnostic::error(codes::UNUSED_VARIABLE, message).with_help(help));
            }
        }
    }
}

/// The span of a stretch of characters; of the first one where they come from two texts.
pub(crate) fn cover(glyphs: &[Glyph]) -> Span {
    let nowhere = Span {
        source: SourceId(0),
        start: 0,
        end: 0,
    };
    match (glyphs.first(), glyphs.last()) {
        (Some(first), Some(last)) => cover_spans(first.span, last.span),
        _ => nowhere,
    }
}

/// From one span to another; the first where they come from two texts.
pub(crate) fn cover_spans(first: Span, last: Span) -> Span {
    if first.source == last.source && last.end >= first.start {
        first.to(last)
    } else {
        first
    }
}

/// Blanks, and the byte order marks that stay in the middle of files put together.
fn is_before_text(ch: char) -> bool {
    ch.is_whitespace() || ch == BYTE_ORDER_MARK
}

fn glyphs_of(text: &str, source: SourceId, offset: usize) -> Vec<Glyph> {
    text.char_indices()
        .map(|(at, ch)| Glyph {
            ch,
            span: span_of(source, offset + at, offset + at + ch.len_utf8()),
            quoted: false,
        })
        .collect()
}

fn span_of(source: SourceId, start: usize, end: usize) -> Span {
    let clamp = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span {
        source,
        start: clamp(start),
        end: clamp(end),
    }
}

/// The variable with the longest name that `rest` begins with, and how many characters that is.
fn longest_variable(variables: &[crate::Variable], rest: &[Glyph]) -> Option<(usize, usize)> {
    variables
        .iter()
        .enumerate()
        .filter(|(_, variable)| !variable.name.is_empty())
        .map(|(index, variable)| (index, variable.name.chars().count(), &variable.name))
        .filter(|(_, count, name)| {
            rest.len() >= *count && name.chars().zip(rest).all(|(ch, glyph)| ch == glyph.ch)
        })
        .max_by_key(|(_, count, _)| *count)
        .map(|(index, count, _)| (index, count))
}

/// The text of a file, unpacked where its name says so; or what to tell the user.
fn readable(name: &str, bytes: &[u8]) -> Result<String, String> {
    let plain;
    let bytes = match name.ends_with(".gz") || name.ends_with(".jz1") {
        true => {
            plain = unpacked(bytes)
                .map_err(|reason| format!("cannot unpack parameter file `{name}`: {reason}"))?;
            &plain
        }
        false => bytes,
    };
    text_of(bytes)
        .map_err(|reason| format!("cannot read parameter file `{name}` as text: {reason}"))
}
