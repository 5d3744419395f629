//! Events as reports show them: the texts of others in them are harmless. What is stored stays as it
//! came.
use super::{name, text};
use measure::{Event, ExecutionStarted, FinishReason, HostFacts, RunStarted};
use plan::Label;
use std::borrow::Cow;

/// An event whose names, paths and messages neither steer a terminal nor forge a line.
pub fn event(event: &Event) -> Cow<'_, Event> {
    changed(event, |kind, value| {
        let shown = match kind {
            Kind::Name => name(value),
            Kind::Text => text(value),
        };
        if let Cow::Owned(shown) = shown {
            *value = shown;
        }
    })
}

/// The same for pages that are marked up and take names as they are: no name begins a tag.
pub fn without_tags(event: &Event) -> Cow<'_, Event> {
    if !matches!(event, Event::ExecutionStarted(_) | Event::RunStarted(_)) {
        return Cow::Borrowed(event);
    }
    changed(event, |_, value| {
        if value.contains('<') {
            *value = value.replace('<', "\\x3c");
        }
    })
}

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// One line.
    Name,
    /// Has lines of its own.
    Text,
}

fn changed(event: &Event, mut change: impl FnMut(Kind, &mut String)) -> Cow<'_, Event> {
    if let Event::Interval(_) | Event::DataWritten(_) = event {
        return Cow::Borrowed(event);
    }
    let mut event = event.clone();
    match &mut event {
        Event::ExecutionStarted(started) => of_execution(started, &mut change),
        Event::RunStarted(started) => of_run(started, &mut change),
        Event::RunFinished(finished) => of_reason(&mut finished.reason, &mut change),
        Event::ExecutionFinished(finished) => of_reason(&mut finished.reason, &mut change),
        Event::IoFailure(failure) => change(Kind::Name, &mut failure.message),
        Event::Remark(remark) => change(Kind::Text, &mut remark.message),
        Event::Interval(_) | Event::DataWritten(_) => {}
    }
    Cow::Owned(event)
}

fn of_host(host: &mut HostFacts, change: &mut impl FnMut(Kind, &mut String)) {
    for (fact, value) in &mut host.details {
        change(Kind::Name, fact);
        change(Kind::Text, value);
    }
    let facts = [
        &mut host.name,
        &mut host.kernel,
        &mut host.distribution,
        &mut host.cpu_model,
        &mut host.clock_source,
        &mut host.virtualization,
    ];
    facts.into_iter().for_each(|fact| change(Kind::Name, fact));
}

fn of_execution(started: &mut ExecutionStarted, change: &mut impl FnMut(Kind, &mut String)) {
    for (file, content) in &mut started.inputs {
        change(Kind::Name, file);
        change(Kind::Text, content);
    }
    for label in started.labels.iter_mut().chain(&mut started.reporting) {
        change(Kind::Name, &mut label.key);
        change(Kind::Text, &mut label.value);
    }
    for host in std::iter::once(&mut started.host).chain(&mut started.hosts) {
        of_host(host, change);
    }
    let facts = [
        &mut started.backend,
        &mut started.backend_reason,
        &mut started.fathom_version,
        &mut started.clock,
        &mut started.time_zone,
    ];
    facts
        .into_iter()
        .chain(&mut started.arguments)
        .for_each(|fact| change(Kind::Name, fact));
    for target in &mut started.targets {
        let identity = &mut target.identity;
        let words = [
            &mut target.name,
            &mut target.path,
            &mut identity.path,
            &mut identity.real_path,
            &mut identity.kind,
            &mut identity.device,
            &mut identity.model,
            &mut identity.vendor,
            &mut identity.serial,
            &mut identity.wwn,
            &mut identity.firmware,
            &mut identity.transport,
            &mut identity.scheduler,
        ];
        let words = words.into_iter().chain(&mut identity.members);
        words.for_each(|word| change(Kind::Name, word));
        if let Some(mount) = &mut identity.mount {
            let words = [&mut mount.point, &mut mount.source];
            let words = words
                .into_iter()
                .chain([&mut mount.kind, &mut mount.options]);
            words.for_each(|word| change(Kind::Name, word));
        }
    }
}

fn of_run(started: &mut RunStarted, change: &mut impl FnMut(Kind, &mut String)) {
    change(Kind::Name, &mut started.name);
    of_labels(&mut started.labels, change);
    for pool in &mut started.pools {
        change(Kind::Name, &mut pool.name);
    }
    for stream in &mut started.streams {
        change(Kind::Name, &mut stream.name);
        of_labels(&mut stream.labels, change);
    }
}

/// A label may hold lines that a report takes apart.
fn of_labels(labels: &mut [Label], change: &mut impl FnMut(Kind, &mut String)) {
    for label in labels {
        change(Kind::Text, &mut label.value);
    }
}

fn of_reason(reason: &mut FinishReason, change: &mut impl FnMut(Kind, &mut String)) {
    if let FinishReason::Failed { message } | FinishReason::SearchEnded { message } = reason {
        change(Kind::Text, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RunShape, Scenario};
    use crate::vdbench::{Face, FaceOptions};

    const HOSTILE: &str = "x\x1b]0;owned\x07\ny\u{202e}<script>alert(1)</script>";

    fn events() -> Vec<Event> {
        let mut started = Scenario {
            targets: vec![(HOSTILE.into(), format!("/tmp/{HOSTILE}"), 1 << 30)],
            runs: vec![RunShape {
                name: HOSTILE.into(),
                ..RunShape::default()
            }],
            ..Scenario::default()
        }
        .events();
        if let Event::ExecutionStarted(started) = &mut started[0] {
            started.labels.push(Label::new(HOSTILE, HOSTILE));
            started.inputs.push((HOSTILE.into(), HOSTILE.into()));
            started.arguments.push(HOSTILE.into());
        }
        started
    }

    /// Whether a text holds nothing that a terminal or a reader would be led by.
    fn is_harmless(text: &str) -> bool {
        let steers = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        !text.contains(steers)
    }

    #[test]
    fn no_page_holds_what_a_name_smuggles_in() {
        let folder = tempfile::tempdir().unwrap();
        let mut face = Face::create(folder.path(), FaceOptions::default()).unwrap();
        let mut conclusion = crate::Conclusion::with_page();
        for raw in events() {
            let event = event(&raw);
            conclusion.on_event(&event);
            for line in face.on_event(&event).unwrap() {
                assert!(is_harmless(&line), "{line:?}");
            }
        }
        face.finish().unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            assert!(is_harmless(&text) && !text.contains("<script"), "{text}");
        }
        let mut html = Vec::new();
        conclusion.write_page(&mut html).unwrap();
        let html = String::from_utf8(html).unwrap();
        // The script that is inlined has control characters of its own.
        let ours = html.split("<script>").next().unwrap();
        assert!(is_harmless(ours));
        assert!(!html.contains("<script>alert") && !html.contains("\u{202e}<script"));
        assert!(ours.contains(r"x\x1b]0;owned\x07\ny\u202e&lt;script&gt;"));
        for text in [
            crate::summary::table(&conclusion.rows, 120),
            crate::summary::csv(&conclusion.rows),
        ] {
            assert!(is_harmless(&text), "{text:?}");
            assert!(text.contains(r"\x1b]0;"), "{text}");
        }
    }
}
