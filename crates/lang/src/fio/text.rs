//! Job files and words of the command line to sections of options, with the place of each. Knows
//! comments, includes and variables; must not know what an option means.
use super::{Assignment, Input, codes};
use crate::Environment;
use crate::environment::NO_SUCH_FILE;
use crate::sink::Sink;
use crate::text_bytes::{TEXTS_BYTES_MAX, text_of};
use plan::{Diagnostic, SourceId, SourceMap, Span};

/// A piece of text as it is to be read, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub text: String,
    pub span: Span,
}

/// One option as written.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub name: Words,
    pub value: Option<Words>,
}

/// A section with its options in order.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub name: Words,
    pub lines: Vec<Line>,
    pub place: Place,
}

/// Where a section stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    CommandLine,
    /// The job file with this number.
    File(usize),
}

/// Includes below includes; the original has no limit and runs out of stack.
const INCLUDE_DEPTH_MAX: usize = 16;

/// Everything that the inputs say, in order. Sections that only the command line leaves out by name
/// are still there.
pub(crate) fn sections(
    inputs: &[Input],
    environment: &Environment<'_>,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Vec<Section> {
    let mut scan = Scan {
        environment,
        sources,
        sink,
        out: Vec::new(),
        has_outsider: false,
        bytes: 0,
    };
    let mut files = 0;
    for input in inputs {
        match input {
            Input::Options(options) => scan.command_line(options),
            Input::Path(path) => {
                match environment.files.read(path) {
                    Ok(bytes) => scan.file(path, &bytes, files),
                    Err(reason) => scan.unreadable(path, &reason),
                }
                files += 1;
            }
            Input::Unreadable { name, reason } => {
                scan.unreadable(name, reason);
                files += 1;
            }
            Input::Text { name, bytes } => {
                scan.file(name, bytes, files);
                files += 1;
            }
        }
    }
    scan.out
}

struct Scan<'a, 'e> {
    environment: &'a Environment<'e>,
    sources: &'a mut SourceMap,
    sink: &'a mut Sink,
    out: Vec<Section>,
    /// Whether an option outside of all sections was reported for the file at hand.
    has_outsider: bool,
    /// Of all texts so far.
    bytes: usize,
}

/// One line of a file that means something.
struct Content<'t> {
    text: &'t str,
    span: Span,
}

impl Scan<'_, '_> {
    fn command_line(&mut self, options: &[Assignment]) {
        let mut text = String::new();
        let mut lines = Vec::new();
        for option in options {
            let start = text.len() + usize::from(!text.is_empty());
            if !text.is_empty() {
                text.push(' ');
            }
            text += "--";
            text += &option.name;
            let name = (start, text.len());
            let value = option.value.as_ref().map(|value| {
                text.push('=');
                let start = text.len();
                text += value;
                (value.clone(), (start, text.len()))
            });
            lines.push((option.name.clone(), name, value));
        }
        let source = self.sources.add("command line", text);
        let words = |text: String, at: (usize, usize)| Words {
            text,
            span: span(source, at.0, at.1),
        };
        for (name, at, value) in lines {
            let line = Line {
                name: words(name, at),
                value: value.map(|(text, at)| words(text, at)),
            };
            match (&line.name.text[..], &line.value) {
                ("name", Some(value)) => self.open(value.clone(), Place::CommandLine),
                _ if self.out.is_empty() => {
                    let global = words("global".to_owned(), at);
                    self.open(global, Place::CommandLine);
                }
                _ => {}
            }
            // The name stays an option of what it begins: outputs list it among the others.
            let last = self.out.last_mut().expect("a section was opened");
            last.lines.push(line);
        }
    }

    fn file(&mut self, name: &str, bytes: &[u8], number: usize) {
        self.has_outsider = false;
        let text = match self.taken(bytes) {
            Ok(text) => text,
            Err(reason) => return self.unreadable(name, &reason),
        };
        let source = self.sources.add(name, text);
        let text = self.sources.file(source).text.clone();
        let opened_before = self.out.len();
        for content in contents(&text, source) {
            if content.text.starts_with('[') {
                if let Some(name) = self.section_name(&content) {
                    self.open(name, Place::File(number));
                }
                continue;
            }
            if self.out.len() == opened_before {
                self.report_outsider(&content);
                continue;
            }
            self.line(&content, name, &mut vec![name.to_owned()]);
        }
    }

    fn unreadable(&mut self, name: &str, reason: &str) {
        let error = Diagnostic::error(codes::FILE, format!("`{name}` cannot be read: {reason}"));
        self.sink.push(error);
    }

    /// The text of a file, as long as all of them together are not too long.
    fn taken(&mut self, bytes: &[u8]) -> Result<String, String> {
        let text = text_of(bytes)?;
        self.bytes += text.len();
        match self.bytes > TEXTS_BYTES_MAX {
            true => Err(format!(
                "more than {} MiB of job files",
                TEXTS_BYTES_MAX >> 20
            )),
            false => Ok(text),
        }
    }

    fn open(&mut self, name: Words, place: Place) {
        self.out.push(Section {
            name,
            lines: Vec::new(),
            place,
        });
    }

    /// The name between the brackets; the original takes all up to the last byte of the line.
    fn section_name(&mut self, content: &Content<'_>) -> Option<Words> {
        let Some(end) = content.text.rfind(']') else {
            self.sink.error(
                codes::SECTION_LINE,
                content.span,
                "a section line has no `]`",
                "opened and not closed",
                "write `[name]`",
            );
            return None;
        };
        if end + 1 < content.text.len() {
            let start = content.span.start as usize + end + 1;
            self.sink.warning(
                codes::SECTION_LINE,
                span(content.span.source, start, content.span.end as usize),
                "text after the name of a section is not read",
                "lost",
                "put it on a line of its own, or after `#`",
            );
        }
        let start = content.span.start as usize;
        let at = span(content.span.source, start + 1, start + end);
        let text = self.replaced(&content.text[1..end], at);
        Some(Words { text, span: at })
    }

    fn report_outsider(&mut self, content: &Content<'_>) {
        if std::mem::replace(&mut self.has_outsider, true) {
            return;
        }
        self.sink.error(
            codes::OUTSIDE,
            content.span,
            "an option stands before the first section",
            "belongs to no section",
            "put `[global]` above it, or include the file from within a section",
        );
    }

    fn line(&mut self, content: &Content<'_>, file: &str, including: &mut Vec<String>) {
        if let Some(path) = content.text.strip_prefix("include")
            && path.starts_with([' ', '\t'])
        {
            let path = self.replaced(path.trim(), content.span);
            self.include(&path, content.span, file, including);
            return;
        }
        let line = self.option(content);
        let last = self.out.last_mut().expect("lines stand in a section");
        last.lines.push(line);
    }

    fn include(&mut self, path: &str, at: Span, file: &str, including: &mut Vec<String>) {
        if including.len() > INCLUDE_DEPTH_MAX {
            let message = format!("includes nest more than {INCLUDE_DEPTH_MAX} deep");
            let help = "look for a file that includes itself";
            self.sink
                .error(codes::INCLUDE, at, message, "one include too many", help);
            return;
        }
        // The current folder first, then the folder of the file that includes.
        let beside = file
            .rfind('/')
            .filter(|_| !path.starts_with('/'))
            .map(|end| format!("{}/{path}", &file[..end]));
        let (path, text) = match self.included(path, beside) {
            Ok(found) => found,
            Err(reason) => {
                let message = format!("included file `{path}` cannot be read: {reason}");
                let help = "it is looked for in the current folder, then beside this file";
                self.sink.error(codes::FILE, at, message, "this file", help);
                return;
            }
        };
        let source = self.sources.add(&*path, text);
        let text = self.sources.file(source).text.clone();
        including.push(path.clone());
        for content in contents(&text, source) {
            if content.text.starts_with('[') {
                self.sink.error(
                    codes::INCLUDE,
                    content.span,
                    "an included file opens a section",
                    "options only may stand here",
                    "name the file on the command line instead",
                );
                break;
            }
            self.line(&content, &path, including);
        }
        including.pop();
    }

    /// The first of two names under which there is something, and its text.
    fn included(&mut self, path: &str, beside: Option<String>) -> Result<(String, String), String> {
        let mut last = NO_SUCH_FILE.to_owned();
        for path in std::iter::once(path.to_owned()).chain(beside) {
            match self.environment.files.read(&path) {
                Ok(bytes) => return Ok((path, self.taken(&bytes)?)),
                Err(reason) if reason == NO_SUCH_FILE => last = reason,
                Err(reason) => return Err(reason),
            }
        }
        Err(last)
    }

    fn option(&mut self, content: &Content<'_>) -> Line {
        let Span { source, start, end } = content.span;
        let (start, end) = (start as usize, end as usize);
        let Some(equals) = content.text.find('=') else {
            let text = self.replaced(content.text, content.span);
            let name = Words {
                text,
                span: content.span,
            };
            return Line { name, value: None };
        };
        let name = content.text[..equals].trim_end();
        let name_span = span(source, start, start + name.len());
        let value = &content.text[equals + 1..];
        let value_span = span(source, start + equals + 1, end);
        Line {
            name: Words {
                text: self.replaced(name, name_span),
                span: name_span,
            },
            value: Some(Words {
                text: self.replaced(value, value_span),
                span: value_span,
            }),
        }
    }

    /// The text with `${NAME}` replaced.
    fn replaced(&mut self, text: &str, at: Span) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else {
                break;
            };
            out += &rest[..start];
            let name = &rest[start + 2..start + length];
            match self.environment.process_variables.get(name) {
                Some(value) => out += value,
                None => self.report_unset(name, at),
            }
            rest = &rest[start + length + 1..];
        }
        out += rest;
        out
    }

    fn report_unset(&mut self, name: &str, at: Span) {
        let help = if name.contains([':', '-', ' ']) {
            "forms of the shell are not known here; write `${NAME}`".to_owned()
        } else {
            format!("run with `{name}=VALUE` before the command")
        };
        self.sink.error(
            codes::UNSET_VARIABLE,
            at,
            format!("the environment variable `{name}` is not set"),
            "would be read as empty",
            help,
        );
    }
}

/// The lines that hold something, without comments and blanks around.
fn contents(text: &str, source: SourceId) -> impl Iterator<Item = Content<'_>> {
    let mut next = 0;
    text.split('\n').filter_map(move |line| {
        let begin = next;
        next += line.len() + 1;
        let end = line.find([';', '#']).unwrap_or(line.len());
        let blank = |c: char| c.is_ascii_whitespace() || c == '\0';
        let cut = line[..end].trim_end_matches(blank);
        let body = cut.trim_start_matches(blank);
        let start = begin + cut.len() - body.len();
        (!body.is_empty()).then(|| Content {
            text: body,
            span: span(source, start, start + body.len()),
        })
    })
}

pub(crate) fn span(source: SourceId, start: usize, end: usize) -> Span {
    let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span {
        source,
        start: narrow(start),
        end: narrow(end),
    }
}
