//! Diagnostics for people: the user's text with the place marked.
use crate::printing::Channel;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use plan::{Diagnostic, Severity, SourceMap, Span};
use report::shown::{message, name};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// Problems that are drawn. A file that is no job at all has one in each line.
const SHOWN_MAX: usize = 200;

/// Characters of a message, and what is shown of the start and the end of a longer one.
const TEXT_MAX: usize = 400;
const TEXT_START: usize = 240;
const TEXT_END: usize = 120;

/// Characters that are marked as a whole, and of what is longer. The renderer cuts the line around them.
const MARKED_MAX: usize = 200;
const MARKED_START: usize = 60;

/// Of a long line, what the renderer is given before the first mark and after the last.
const NEAR_BYTES: usize = 2000;

/// Lines of one kind of message.
const LINES_OF_KIND_MAX: usize = 60;

/// How much of each kind of message was shown. What does not fit is counted, with a line of its own at the end.
#[derive(Default)]
pub struct Kinds {
    all: BTreeMap<String, Kind>,
}

#[derive(Default)]
struct Kind {
    lines: usize,
    /// Messages, not lines.
    left_out: usize,
}

impl Kinds {
    /// Whether a message is still to be shown. The first of a kind always is; after one that is not, none is.
    pub fn shows(&mut self, kind: &str, message: &str) -> bool {
        let kind = self.all.entry(kind.to_owned()).or_default();
        let lines = kind.lines + message.lines().count();
        let is_shown = kind.left_out == 0 && (kind.lines == 0 || lines < LINES_OF_KIND_MAX);
        match is_shown {
            true => kind.lines = lines,
            false => kind.left_out += 1,
        }
        is_shown
    }

    fn leave_out(&mut self, kind: &str) {
        self.all.entry(kind.to_owned()).or_default().left_out += 1;
    }

    /// Says of each kind how many were not shown.
    pub fn tell_left_out(&self) {
        for (name, kind) in self.all.iter().filter(|(_, kind)| kind.left_out > 0) {
            errln!("… and {} more of this kind ({name})", kind.left_out);
        }
    }
}

/// Prints diagnostics to standard error, with colours on a terminal.
pub fn print(diagnostics: &[Diagnostic], sources: &SourceMap) {
    let coloured = Channel::Err.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut kinds = Kinds::default();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        let text = text(diagnostic, sources, coloured) + "\n";
        if kinds.shows(&kind(diagnostic), &text) {
            Channel::Err.coloured(&text);
        }
    }
    // Not drawn, which would take long.
    for diagnostic in diagnostics.iter().skip(SHOWN_MAX) {
        kinds.leave_out(&kind(diagnostic));
    }
    kinds.tell_left_out();
}

fn kind(diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    format!("{severity} {}", diagnostic.code)
}

/// Prints diagnostics in front of a run: what changes nothing takes a line each.
pub fn print_briefly(diagnostics: &[Diagnostic], sources: &SourceMap) {
    let (notes, rest): (Vec<&Diagnostic>, Vec<&Diagnostic>) = diagnostics
        .iter()
        .partition(|diagnostic| diagnostic.severity == Severity::Note);
    let mut kinds = Kinds::default();
    for note in notes {
        let line = line(note, sources);
        if kinds.shows(&kind(note), &line) {
            errln!("{line}");
        }
    }
    kinds.tell_left_out();
    let rest: Vec<Diagnostic> = rest.into_iter().cloned().collect();
    print(&rest, sources);
}

/// A diagnostic in one line, with its place at the end.
fn line(diagnostic: &Diagnostic, sources: &SourceMap) -> String {
    let place = diagnostic.span.map_or(String::new(), |span| {
        let at = sources.position(span);
        format!(
            " ({}:{}:{})",
            sources.file(span.source).name,
            at.line,
            at.column
        )
    });
    format!("note: {}{place}", diagnostic.message)
}

/// One diagnostic as text.
pub fn text(diagnostic: &Diagnostic, sources: &SourceMap, coloured: bool) -> String {
    let diagnostic = &shown(diagnostic);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code.as_str());
    let mut place = Place::default();
    let group = match diagnostic.span {
        Some(span) if says_all(diagnostic) => {
            let (file, at) = (sources.file(span.source), sources.position(span));
            let origin = Origin::path(name(&file.name))
                .line(at.line as usize)
                .char_column(at.column as usize);
            title.element(origin)
        }
        Some(span) => {
            let (snippet, told) = snippet(diagnostic, span, sources);
            place = told;
            title.element(snippet)
        }
        None => Group::with_title(title),
    };
    let renderer = if coloured {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    match (&diagnostic.help, diagnostic.span) {
        (None, _) => place.correct(renderer.render(&[group])),
        (Some(help), Some(_)) => {
            let group = group.element(Level::HELP.message(help.as_str()));
            place.correct(renderer.render(&[group]))
        }
        // The renderer would hang the help below a snippet that there is not.
        (Some(help), None) => format!("{}\n  help: {help}", renderer.render(&[group])),
    }
}

/// Whether the message is enough: nothing is said of the words at its place, so that the place need not be drawn.
fn says_all(diagnostic: &Diagnostic) -> bool {
    diagnostic.label.is_empty() && diagnostic.related.is_empty()
}

/// The same with the names in it shown harmlessly: beside our colours nobody could tell theirs.
fn shown(diagnostic: &Diagnostic) -> Diagnostic {
    let mut shown = diagnostic.clone();
    let related = shown.related.iter_mut().map(|related| &mut related.label);
    let texts = [&mut shown.message, &mut shown.label];
    for text in texts.into_iter().chain(&mut shown.help).chain(related) {
        *text = message(&shortened(text)).into_owned();
    }
    shown
}

/// A text without the middle of what is too long for one that people read: a word of a file may have megabytes.
pub fn shortened(text: &str) -> Cow<'_, str> {
    let start = |count: usize| text.char_indices().nth(count).map(|(at, _)| at);
    let mut from_end = text.char_indices().rev();
    match (
        start(TEXT_MAX),
        from_end.nth(TEXT_END - 1),
        start(TEXT_START),
    ) {
        (Some(_), Some((end, _)), Some(start)) => {
            Cow::Owned(format!("{} … {}", &text[..start], &text[end..]))
        }
        _ => Cow::Borrowed(text),
    }
}

fn snippet<'a>(
    diagnostic: &'a Diagnostic,
    span: Span,
    sources: &'a SourceMap,
) -> (Snippet<'a, Annotation<'a>>, Place) {
    let file = sources.file(span.source);
    let related = || {
        let related = diagnostic.related.iter();
        related.filter(|related| related.span.source == span.source)
    };
    let all = || std::iter::once(span).chain(related().map(|related| related.span));
    // The renderer looks at all that it is given: there may be a problem in each line of a long text, or megabytes
    // in a line.
    let first = all().map(|span| span.start).min().unwrap_or(span.start);
    let last = all()
        .map(|span| marked(&file.text, range(span, file.text.len())).end)
        .max();
    let lines = lines_around(&file.text, first as usize, last.unwrap_or_default());
    let part = near(&file.text, &lines, first as usize, last.unwrap_or_default());
    let from = part.start;
    let within = |span: Span| {
        let range = marked(&file.text, range(span, part.end));
        range.start.max(from) - from..range.end.max(from) - from
    };
    let primary = AnnotationKind::Primary
        .span(within(span))
        .label(diagnostic.label.as_str());
    let line = sources.position(Span {
        start: from as u32,
        end: from as u32,
        ..span
    });
    let mut snippet = Snippet::source(&file.text[part.clone()])
        .path(name(&file.name))
        .line_start(line.line as usize)
        .fold(true)
        .annotation(primary);
    for related in related() {
        snippet = snippet.annotation(
            AnnotationKind::Context
                .span(within(related.span))
                .label(related.label.as_str()),
        );
    }
    let at = sources.position(span);
    let left_out = file.text[lines.start..from].chars().count();
    let told = |column: usize| format!("{}:{}:{column}", name(&file.name), at.line);
    let place = Place {
        told: told((at.column as usize).saturating_sub(left_out)),
        right: told(at.column as usize),
    };
    (snippet, place)
}

/// Where the start of a line is left out, the renderer counts the columns of what is left.
#[derive(Default)]
struct Place {
    told: String,
    right: String,
}

impl Place {
    fn correct(&self, text: String) -> String {
        if self.told == self.right {
            return text;
        }
        let Some((title, rest)) = text.split_once("--> ") else {
            return text;
        };
        format!("{title}--> {}", rest.replacen(&self.told, &self.right, 1))
    }
}

/// Of whole lines, what is near to these bytes.
fn near(text: &str, lines: &Range<usize>, first: usize, last: usize) -> Range<usize> {
    let start = first.saturating_sub(NEAR_BYTES).max(lines.start);
    let end = last.saturating_add(NEAR_BYTES).min(lines.end);
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let start = (lines.start..=start).rev().find(is_boundary);
    let end = (end..=lines.end).find(is_boundary);
    start.unwrap_or(lines.start)..end.unwrap_or(lines.end)
}

/// The whole lines that hold these bytes.
fn lines_around(text: &str, first: usize, last: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let (first, last) = (first.min(bytes.len()), last.min(bytes.len()));
    let before = bytes[..first].iter().rposition(|byte| *byte == b'\n');
    let behind = bytes[last..].iter().position(|byte| *byte == b'\n');
    before.map_or(0, |at| at + 1)..behind.map_or(bytes.len(), |at| last + at)
}

/// The start of what is too long to be marked whole.
fn marked(text: &str, range: Range<usize>) -> Range<usize> {
    let from = text.get(range.clone()).unwrap_or_default();
    let length = |count| from.char_indices().nth(count).map(|(at, _)| at);
    match (length(MARKED_MAX), length(MARKED_START)) {
        (Some(_), Some(length)) if !from.contains('\n') => range.start..range.start + length,
        _ => range,
    }
}

fn range(span: Span, length: usize) -> Range<usize> {
    let start = (span.start as usize).min(length);
    start..(span.end as usize).clamp(start, length)
}
