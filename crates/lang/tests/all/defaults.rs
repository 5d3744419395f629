//! Readers take defaults from the declaration. What can be seen in their text is a value that
//! stands in for a parameter: `number("depth").unwrap_or(1)`. What cannot be seen this way is a
//! default in an arm of a `match`, or one that takes the way over a variable; so jobs are read with
//! each default written and without it, too.
use lang::{DefaultValue, Environment, MemoryFiles, Status, fio, vdbench};
use plan::{Origin, Plan};
use std::path::Path;

/// Stand-ins that are no default of the parameter, with the reason.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "randseed",
    "what is written has a seed of its own, which does not follow the one of the execution",
)];

/// What gives the value of a parameter by its name.
const ACCESSORS: [&str; 10] = [
    "number", "numbers", "nanos", "decimal", "size", "text", "word", "get", "given", "count",
];

fn names() -> Vec<&'static str> {
    let sections = vdbench::Section::ALL.iter();
    let chapters = fio::Chapter::ALL.iter();
    let all = sections
        .flat_map(|section| section.parameters())
        .chain(chapters.flat_map(|chapter| chapter.parameters()));
    all.flat_map(|parameter| parameter.names.iter().copied())
        .collect()
}

/// The text without comments and blanks; blanks within strings go, too.
fn condensed(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    lines
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect()
}

/// What stands between a bracket at the start of the text and its other end, and what follows.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut is_quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some((&text[1..at], &text[at + 1..]));
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether an expression names nothing that could come from a declaration.
fn is_constant(text: &str) -> bool {
    if text == "[None;3]" {
        return false;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = text
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .peekable();
    let is_quoted = text.starts_with('"');
    words.peek().is_some()
        && (is_quoted
            || words.all(|word| {
                let first = word.chars().next().unwrap();
                !first.is_lowercase() || ["true", "false"].contains(&word)
            }))
}

/// Parameters for which a value stands in.
fn stand_ins(text: &str, names: &[&str]) -> Vec<String> {
    let text = condensed(text);
    let mut found = Vec::new();
    for (at, _) in text.match_indices("(\"") {
        let before = &text[..at];
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_');
        let accessor = &before[start.map_or(0, |start| start + 1)..];
        let Some((name, mut rest)) = bracketed(&text[at..]) else {
            continue;
        };
        let name = name.trim_matches('"');
        if !ACCESSORS.contains(&accessor) || !names.contains(&name) {
            continue;
        }
        let mut is_plain = !["get", "given"].contains(&accessor);
        while let Some(chain) = rest.strip_prefix(['.', '?']) {
            if chain.starts_with('.') {
                rest = chain;
                continue;
            }
            let Some(open) = chain.find('(') else { break };
            let Some((arguments, behind)) = bracketed(&chain[open..]) else {
                break;
            };
            let first = arguments.split(",|").next().unwrap();
            let is_stand_in = match &chain[..open] {
                "unwrap_or" => is_constant(arguments),
                "map_or" => is_constant(first),
                "unwrap_or_default" => is_plain,
                _ => false,
            };
            // What is made of a value may well be empty without one.
            is_plain &= !["map", "and_then"].contains(&&chain[..open]);
            if is_stand_in {
                found.push(name.to_owned());
            }
            rest = behind;
        }
    }
    found
}

#[test]
fn readers_hold_no_defaults_of_their_own() {
    let names = names();
    let mut found = Vec::new();
    let mut files = 0;
    for language in ["fio", "vdbench"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src")
            .join(language);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            files += 1;
            let text = std::fs::read_to_string(&path).unwrap();
            let excused = |name: &String| EXCEPTIONS.iter().any(|(known, _)| known == name);
            let all = stand_ins(&text, &names).into_iter();
            let file = path.file_name().unwrap().display().to_string();
            found.extend(
                all.filter(|name| !excused(name))
                    .map(|name| format!("{file}: {name}")),
            );
        }
    }
    assert!(files > 60, "{files} files");
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn stand_ins_are_found_and_values_of_others_are_none() {
    let names = names();
    let found = |text: &str| stand_ins(text, &names);
    for planted in [
        "let depth = job.number(\"iodepth\").unwrap_or(1).max(1);",
        "job\n    .number(\"iodepth\") // one\n    .unwrap_or(1)",
        "fields.number(\"threads\").map_or(8, |threads| threads as u32)",
        "job.text(\"steadystate\").unwrap_or(\"iops\")",
        "fields.get(\"sizes\").map(|one| one.value).unwrap_or(USUAL)",
        "count(\"replay_scale\").filter(|count| *count > 0).unwrap_or_default()",
    ] {
        assert_eq!(found(planted).len(), 1, "{planted}");
    }
    for fine in [
        "job.number(\"iodepth\").unwrap_or(setting.default)",
        "job.number(\"iodepth\").filter(|depth| *depth > 1)",
        "fields.number(\"ratio\").unwrap_or(1.0)",
        "job.given(\"size\").map_or(job.section.span, Given::span)",
    ] {
        assert!(found(fine).is_empty(), "{fine}");
    }
}

/// Whether a default is a value that can be written.
fn is_value(default: DefaultValue) -> bool {
    !matches!(
        default,
        DefaultValue::Nothing
            | DefaultValue::SameAs(_)
            | DefaultValue::Inherited(_)
            | DefaultValue::FromTarget
            | DefaultValue::Drawn
            | DefaultValue::Computed(_)
    )
}

/// The plan without what says how it was written; `None` where the text is refused.
fn bare(plan: Option<Plan>) -> Option<Plan> {
    let mut plan = plan?;
    plan.values.clear();
    let is_neutral = |label: &plan::Label| !label.key.starts_with("option.");
    for stream in plan.templates.iter_mut().flat_map(|one| &mut one.streams) {
        stream.labels.retain(is_neutral);
    }
    // Places in the text move.
    for run in &mut plan.runs {
        run.origin = Origin::Default(String::new());
    }
    for target in &mut plan.targets {
        target.origin = Origin::Default(String::new());
    }
    Some(plan)
}

fn plan_of_job(text: &str) -> Option<Plan> {
    let files = MemoryFiles::default();
    let input = fio::Input::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let reading = fio::read(&[input], &[], &Environment::bare(&files));
    bare(reading.plan)
}

/// Jobs in which different options have an effect.
const JOBS: [&str; 9] = [
    "",
    "rw=write\nnrfiles=3\n",
    "rw=randrw\nioengine=libaio\niodepth=8\n",
    "rw=randwrite\nverify=crc32c\nverify_backlog=8\ntrim_percentage=10\ntrim_backlog=16\n",
    "rw=write\ndedupe_percentage=20\nbuffer_compress_percentage=50\n",
    "rate_iops=100\nrate_iops_min=10\nthinktime=1ms\nthinktime_iotime=1\nflow=1\n",
    "runtime=20\ntime_based\nsteadystate_duration=10\nexitall\n",
    "latency_target=10ms\nruntime=20\nioengine=io_uring\niodepth=8\nhipri\n",
    "rw=write\nzonesize=64k\nwrite_hist_log=x\nlog_hist_msec=1000\nexitall_on_error\n",
];

/// Options for which it counts that they are given, and why.
const COUNTS_WHEN_GIVEN: [(&str, &str); 3] = [
    ("prio", "a priority is set, whatever it is"),
    ("prioclass", "a class is set, whatever it is"),
    ("thinktime_blocks", "with a time it would not count without"),
];

#[test]
fn a_default_of_fio_that_is_written_changes_nothing() {
    let chapters = fio::Chapter::ALL.iter();
    let all = chapters.flat_map(|chapter| chapter.parameters());
    let is_used = |one: &&fio::Parameter| {
        is_value(one.default) && matches!(one.status, Status::Honoured | Status::Translated(_))
    };
    let (mut written, mut wrong) = (0, Vec::new());
    let jobs = JOBS.map(|more| {
        let base = format!("[a]\nsize=1m\n{more}");
        let plan = plan_of_job(&base).unwrap_or_else(|| panic!("{base}"));
        (base, plan)
    });
    for parameter in all.filter(is_used) {
        let (name, default) = (parameter.name(), parameter.default_text());
        for (base, plan) in &jobs {
            // The last one given counts, and what it would replace is no default.
            if parameter
                .names
                .iter()
                .any(|name| base.contains(&format!("\n{name}")))
            {
                continue;
            }
            written += 1;
            if plan_of_job(&format!("{base}{name}={default}\n")).as_ref() != Some(plan) {
                wrong.push(format!("{name}={default} in {base:?}"));
            }
        }
    }
    assert!(written > 800, "{written}");
    // Nobody needs an exception that makes no difference.
    let mut idle = Vec::new();
    for (name, _) in COUNTS_WHEN_GIVEN {
        let count = wrong.len();
        wrong.retain(|line| !line.starts_with(&format!("{name}=")));
        if wrong.len() == count {
            idle.push(name);
        }
    }
    assert!(idle.is_empty(), "{idle:?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_default_of_vdbench_that_is_written_changes_nothing() {
    let sections = vdbench::Section::ALL.iter();
    let all =
        sections.flat_map(|section| section.parameters().iter().map(move |one| (*section, one)));
    let (mut written, mut wrong) = (0, Vec::new());
    let read = |at: vdbench::Section, more: &str| {
        let add = |section: vdbench::Section| match section == at {
            true => format!(",{more}"),
            false => String::new(),
        };
        let general = match at {
            vdbench::Section::General => format!("{more}\n"),
            _ => String::new(),
        };
        let text = format!(
            "dedupunit=4k\n{general}sd=sd1,lun=disk,size=1g{}\nwd=wd1,sd=sd1{}\nrd=rd1,wd=wd1,iorate=100{}\n",
            add(vdbench::Section::Storage),
            add(vdbench::Section::Workload),
            add(vdbench::Section::Run),
        );
        let files = MemoryFiles::default();
        let input = vdbench::InputFile::Text {
            name: "job".to_owned(),
            bytes: text.into_bytes(),
        };
        bare(vdbench::read(&[input], &Environment::bare(&files)).plan)
    };
    let plain = read(vdbench::Section::Host, "").unwrap();
    for (section, parameter) in all {
        use vdbench::Section::{General, Run, Storage, Workload};
        let is_used = [General, Storage, Workload, Run].contains(&section)
            && is_value(parameter.default)
            && matches!(parameter.status, Status::Honoured | Status::Translated(_));
        if !is_used {
            continue;
        }
        written += 1;
        let text = format!("{}={}", parameter.name(), parameter.default_text());
        if read(section, &text).as_ref() != Some(&plain) {
            wrong.push(format!("{section:?} {text}"));
        }
    }
    assert!(written > 25, "{written}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
