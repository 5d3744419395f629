//! Diagnostics for people: the user's text with the place marked.
use crate::printing::Channel;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use plan::{Diagnostic, Severity, SourceMap, Span};
use report::shown::{message, name};

/// A file that is no job at all has a problem in each line.
const SHOWN_MAX: usize = 200;

/// Prints diagnostics to standard error, with colours on a terminal.
pub fn print(diagnostics: &[Diagnostic], sources: &SourceMap) {
    let coloured = Channel::Err.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        Channel::Err.coloured(&(text(diagnostic, sources, coloured) + "\n"));
    }
    if let Some(more) = diagnostics.len().checked_sub(SHOWN_MAX + 1) {
        errln!("note: {} more problems are not shown", more + 1);
    }
}

/// Prints diagnostics in front of a run: what changes nothing takes a line each.
pub fn print_briefly(diagnostics: &[Diagnostic], sources: &SourceMap) {
    let (notes, rest): (Vec<&Diagnostic>, Vec<&Diagnostic>) = diagnostics
        .iter()
        .partition(|diagnostic| diagnostic.severity == Severity::Note);
    for note in notes {
        errln!("{}", line(note, sources));
    }
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
    let group = match diagnostic.span {
        Some(span) => title.element(snippet(diagnostic, span, sources)),
        None => Group::with_title(title),
    };
    let renderer = if coloured {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    match (&diagnostic.help, diagnostic.span) {
        (None, _) => renderer.render(&[group]),
        (Some(help), Some(_)) => {
            renderer.render(&[group.element(Level::HELP.message(help.as_str()))])
        }
        // The renderer would hang the help below a snippet that there is not.
        (Some(help), None) => format!("{}\n  help: {help}", renderer.render(&[group])),
    }
}

/// The same with the names in it shown harmlessly: beside our colours nobody could tell theirs.
fn shown(diagnostic: &Diagnostic) -> Diagnostic {
    let mut shown = diagnostic.clone();
    let related = shown.related.iter_mut().map(|related| &mut related.label);
    let texts = [&mut shown.message, &mut shown.label];
    for text in texts.into_iter().chain(&mut shown.help).chain(related) {
        *text = message(text).into_owned();
    }
    shown
}

fn snippet<'a>(
    diagnostic: &'a Diagnostic,
    span: Span,
    sources: &'a SourceMap,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let file = sources.file(span.source);
    let primary = AnnotationKind::Primary
        .span(range(span, file.text.len()))
        .label(diagnostic.label.as_str());
    let mut snippet = Snippet::source(file.text.as_str())
        .path(name(&file.name))
        .fold(true)
        .annotation(primary);
    for related in diagnostic
        .related
        .iter()
        .filter(|related| related.span.source == span.source)
    {
        let range = range(related.span, file.text.len());
        snippet = snippet.annotation(
            AnnotationKind::Context
                .span(range)
                .label(related.label.as_str()),
        );
    }
    snippet
}

fn range(span: Span, length: usize) -> std::ops::Range<usize> {
    let start = (span.start as usize).min(length);
    start..(span.end as usize).clamp(start, length)
}
