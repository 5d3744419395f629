//! Sections to jobs: what each option was set to, what comes from the global sections above, which
//! engine it is for.
use super::codes;
use super::declare::{self, Parameter};
use super::engines::{self, Engine};
use super::number::Base;
use super::resolve::CLONES_MAX;
use super::setting::{Held, Setting};
use super::text::{Line, Place, Section, Words};
use super::value::{self, Context, Value};
use crate::nearest::nearest;
use crate::sink::Sink;
use crate::{Environment, Status};
use plan::{Diagnostic, Span};

/// One option of a job with its value.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub parameter: &'static Parameter,
    /// As the user wrote it.
    pub name: Words,
    pub written: Option<Words>,
    pub value: Value,
}

/// Options of which each one given adds to those before, also to those of globals.
pub(crate) const ADDED: &[&str] = &["filename", "opendir"];

/// A section that makes clones.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub section: Words,
    /// From the global sections above, in order.
    pub inherited: Vec<Given>,
    pub own: Vec<Given>,
    pub engine: EngineChoice,
    /// Whether everything before it has to end first because it is the first of another file.
    pub opens_file: bool,
}

/// What `ioengine` says.
#[derive(Clone, Debug)]
pub(crate) enum EngineChoice {
    Known(&'static Engine),
    /// Not known, or loaded from a file; reported where it is used.
    Foreign(String),
}

/// The jobs of all sections, and every global option in order.
pub(crate) struct Jobs {
    pub jobs: Vec<Job>,
    pub globals: Vec<Given>,
}

/// Mistakes up to which the nearest option is looked up for an unknown one.
const LOOKED_UP_MAX: usize = 1000;

/// The engine where none is named.
pub(crate) const DEFAULT_ENGINE: &str = text!("ioengine").default;

/// Reads all sections; `wanted` names those that are to run, all where it is empty.
pub(crate) fn read(
    sections: &[Section],
    wanted: &[String],
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> Jobs {
    let mut out = Jobs {
        jobs: Vec::new(),
        globals: Vec::new(),
    };
    let mut base: Vec<Given> = Vec::new();
    let mut inherited: Vec<Given> = Vec::new();
    let mut place = Place::CommandLine;
    let mut opens_file = false;
    for section in sections {
        // Each makes a clone at least. One too many is refused, and what follows would cost memory only.
        if out.jobs.len() as u64 > CLONES_MAX {
            break;
        }
        if section.place != place {
            // A file begins with what the command line says for all.
            if place == Place::CommandLine {
                base.clone_from(&inherited);
            }
            inherited.clone_from(&base);
            // Files for another host go there as one.
            opens_file = environment.client_address.is_none()
                && !out.jobs.is_empty()
                && matches!(section.place, Place::File(n) if n > 0);
            place = section.place;
        }
        let mut typed = Typing {
            inherited: &inherited,
            environment,
            sink,
        };
        let own = typed.section(section);
        if section.name.text.starts_with("global") {
            out.globals.extend(own.iter().cloned());
            inherited.extend(own);
            continue;
        }
        if !wanted.is_empty() && !wanted.contains(&section.name.text) {
            continue;
        }
        let engine = engine_of(&own, &inherited);
        out.jobs.push(Job {
            section: section.name.clone(),
            inherited: inherited.clone(),
            own,
            engine,
            opens_file: std::mem::take(&mut opens_file),
        });
    }
    out
}

fn engine_of(own: &[Given], inherited: &[Given]) -> EngineChoice {
    let all = inherited.iter().chain(own);
    let named = all.rev().find_map(|given| match &given.value {
        Value::Text(text) if given.parameter.name() == "ioengine" => Some(text.trim()),
        _ => None,
    });
    let name = named.unwrap_or(DEFAULT_ENGINE);
    let first = name.split([':', ',']).next().unwrap_or(name);
    match engines::find(first) {
        Some(engine) if !engines::is_external(name) => EngineChoice::Known(engine),
        _ => EngineChoice::Foreign(name.to_owned()),
    }
}

struct Typing<'a, 'e> {
    inherited: &'a [Given],
    environment: &'a Environment<'e>,
    sink: &'a mut Sink,
}

impl Typing<'_, '_> {
    /// The options of a section. The engine holds for lines above it too, and in a file so does the base of units; on the
    /// command line that holds from where it stands.
    fn section(&mut self, section: &Section) -> Vec<Given> {
        let is_file = section.place != Place::CommandLine;
        let knows_facts = is_file;
        let mut context = Context {
            environment: self.environment,
            base: Base::Binary,
            knows_facts,
        };
        let first = |line: &&Line| matches!(&*line.name.text, "ioengine" | "kb_base" | "unit_base");
        let mut out = Vec::new();
        for line in section.lines.iter().filter(first) {
            out.extend(self.option(line, None, &context));
        }
        context.base = base_of(&out, self.inherited);
        let engine = engine_of(&out, self.inherited);
        let of_engine = out.len();
        for (number, line) in section.lines.iter().enumerate() {
            if first(&line) {
                continue;
            }
            if !is_file {
                let before = section.lines[..number].iter().filter(first).count();
                context.base = base_of(&out[..before.min(of_engine)], self.inherited);
            }
            out.extend(self.option(line, Some(&engine), &context));
        }
        out
    }

    fn option(
        &mut self,
        line: &Line,
        engine: Option<&EngineChoice>,
        context: &Context<'_, '_>,
    ) -> Option<Given> {
        let name = &*line.name.text;
        let private = match engine {
            Some(EngineChoice::Known(engine)) => declare::find_private(name, engine.name),
            _ => None,
        };
        let Some(parameter) = private.or_else(|| declare::find(name)) else {
            self.report_unknown(line, engine);
            return None;
        };
        let value = value::read(
            parameter,
            &line.name,
            line.value.as_ref(),
            context,
            self.sink,
        )?;
        Some(Given {
            parameter,
            name: line.name.clone(),
            written: line.value.clone(),
            value,
        })
    }

    fn report_unknown(&mut self, line: &Line, engine: Option<&EngineChoice>) {
        let name = &*line.name.text;
        let engine_name = match engine {
            // Options of an engine that is not here cannot be told from mistakes.
            Some(EngineChoice::Foreign(_)) => return,
            Some(EngineChoice::Known(engine)) if matches!(engine.status, Status::Refused(_)) => {
                return;
            }
            Some(EngineChoice::Known(engine)) => engine.name,
            None => DEFAULT_ENGINE,
        };
        let owners: Vec<&str> = declare::private(name)
            .flat_map(|parameter| parameter.engines.iter().copied())
            .collect();
        if !owners.is_empty() {
            let message = format!("`{name}` is an option of engine `{}`", owners.join("`, `"));
            let help = format!(
                "this section uses `{engine_name}`; remove it, or name the engine above it"
            );
            self.sink.error(
                codes::OTHER_ENGINE,
                line.name.span,
                message,
                "not known by the engine of this section",
                help,
            );
            return;
        }
        let known = declare::common().flat_map(|parameter| parameter.names.iter().copied());
        // A look through all options for each line of a file that is no job would take a minute.
        let is_looked_up = self.sink.errors() < LOOKED_UP_MAX;
        let near = is_looked_up.then(|| nearest(name, known)).flatten();
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if is_of_the_program(name) => {
                format!("`--{name}` is an option of the command, not of a job")
            }
            None => "every option: docs/reference/fio.md".to_owned(),
        };
        self.sink.error(
            codes::UNKNOWN_OPTION,
            line.name.span,
            format!("unknown option `{name}`"),
            "not an option of a job",
            help,
        );
    }
}

/// Words that people put into files although they belong to the command.
fn is_of_the_program(name: &str) -> bool {
    [
        "output",
        "output-format",
        "minimal",
        "eta",
        "status-interval",
        "section",
        "client",
        "server",
        "bandwidth-log",
        "terse-version",
    ]
    .contains(&name)
}

fn base_of(own: &[Given], inherited: &[Given]) -> Base {
    let word = inherited
        .iter()
        .chain(own)
        .rev()
        .find_map(|given| match given.value {
            Value::Word(word, _) if given.parameter.name() == "kb_base" => Some(word),
            _ => None,
        });
    match word {
        Some("1000") => Base::Decimal,
        _ => Base::Binary,
    }
}

impl Given {
    /// The place of the value, or of the name where there is none.
    pub(crate) fn span(&self) -> Span {
        self.written
            .as_ref()
            .map_or(self.name.span, |words| words.span)
    }

    /// The value as the user wrote it, of a form of its own without what is passed over.
    pub(crate) fn text(&self) -> &str {
        match &self.value {
            Value::Text(text) => text,
            _ => self.written.as_ref().map_or("", |words| &words.text),
        }
    }
}

impl Job {
    /// The value of an option that counts: the last one given.
    pub(crate) fn given(&self, name: &str) -> Option<&Given> {
        debug_assert!(
            declare::find(name).is_some() || declare::private(name).next().is_some(),
            "`{name}` is declared"
        );
        self.last_of(&[name])
    }

    /// The last given of several options.
    pub(crate) fn last_of(&self, names: &[&str]) -> Option<&Given> {
        self.all()
            .rev()
            .find(|given| names.contains(&given.parameter.name()))
    }

    /// Everything that holds for it, defaults first.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Given> {
        self.inherited.iter().chain(&self.own)
    }

    /// Each option once, with the value that counts, in the order of the text.
    pub(crate) fn effective(&self) -> Vec<&Given> {
        let mut seen = Vec::new();
        let mut out: Vec<&Given> = Vec::new();
        for given in self.all().rev() {
            let name = given.parameter.name();
            if !seen.contains(&name) || ADDED.contains(&name) {
                seen.push(given.parameter.name());
                out.push(given);
            }
        }
        out.reverse();
        out
    }

    /// The value of an option, or its declared default.
    pub(crate) fn get<T: Held>(&self, setting: Setting<T>) -> T {
        let given = self.given(setting.name);
        given
            .and_then(|given| T::of(&given.value))
            .unwrap_or(setting.default)
    }

    pub(crate) fn is_on(&self, setting: Setting<bool>) -> bool {
        self.get(setting)
    }

    /// Those for reads, writes and trims.
    pub(crate) fn each_of(&self, setting: Setting<i64>) -> [i64; 3] {
        let given = self.numbers(setting.name).unwrap_or([None; 3]);
        given.map(|number| number.unwrap_or(setting.default))
    }

    pub(crate) fn word_of(&self, setting: Setting<&'static str>) -> &'static str {
        self.word(setting.name)
            .map_or(setting.default, |(word, _)| word)
    }

    pub(crate) fn text_of(&self, setting: Setting<&'static str>) -> &str {
        self.text(setting.name).unwrap_or(setting.default)
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        match self.given(name)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn numbers(&self, name: &str) -> Option<[Option<i64>; 3]> {
        match self.given(name)?.value {
            Value::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    pub(crate) fn nanos(&self, name: &str) -> Option<u64> {
        match self.given(name)?.value {
            Value::Nanos(nanos) => Some(nanos),
            _ => None,
        }
    }

    pub(crate) fn size(&self, name: &str) -> Option<value::Size> {
        match self.given(name)?.value {
            Value::Size(size) => Some(size),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        match &self.given(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What stands behind the `:` of a word.
    pub(crate) fn suffix_of(&self, name: &str) -> Option<&str> {
        self.word(name)?.1
    }

    /// The word given and what stands behind its `:`.
    pub(crate) fn word(&self, name: &str) -> Option<(&'static str, Option<&str>)> {
        match &self.given(name)?.value {
            Value::Word(word, suffix) => Some((word, suffix.as_deref())),
            _ => None,
        }
    }

    /// The name in reports.
    pub(crate) fn name(&self) -> &str {
        let own = self.own.iter().rev().find_map(|given| match &given.value {
            Value::Text(text) if given.parameter.name() == "name" => Some(text.as_str()),
            _ => None,
        });
        own.unwrap_or(&self.section.text)
    }

    /// The engine, unless it is refused.
    pub(crate) fn engine(&self) -> Option<&'static Engine> {
        match self.engine {
            EngineChoice::Known(engine) if !matches!(engine.status, Status::Refused(_)) => {
                Some(engine)
            }
            _ => None,
        }
    }

    /// The place of its name.
    pub(crate) fn place_of(&self, option: &str) -> Span {
        self.given(option).map_or(self.section.span, Given::span)
    }
}

/// An error at a job that no option of it is to blame for.
pub(crate) fn at_job(job: &Job, code: &str, message: String, label: &str) -> Diagnostic {
    Diagnostic::error(code, message).at(job.section.span, label)
}
