//! What a word means that is no file: the code of a diagnostic, a lint, a word of a verdict, an option or a value of a job,
//! an option of Fathom, a term. The texts are the pages of the reference and on concepts, which are built in, and the
//! declarations of the readers. Begin with [`meaning`].
use crate::own_options::{self, Named};

const LINTS: &str = include_str!("../../../docs/reference/lints.md");
const VERDICT: &str = include_str!("../../../docs/concepts/verdict.md");
const DIAGNOSTICS: &str = include_str!("../../../docs/reference/diagnostics.md");

/// The pages on concepts.
const CONCEPTS: [(&str, &str); 8] = [
    ("latency", include_str!("../../../docs/concepts/latency.md")),
    (
        "open-loop",
        include_str!("../../../docs/concepts/open-loop.md"),
    ),
    (
        "intervals",
        include_str!("../../../docs/concepts/intervals.md"),
    ),
    (
        "backends",
        include_str!("../../../docs/concepts/backends.md"),
    ),
    ("verdict", VERDICT),
    (
        "evidence",
        include_str!("../../../docs/concepts/evidence.md"),
    ),
    (
        "addresses",
        include_str!("../../../docs/concepts/addresses.md"),
    ),
    (
        "write-data",
        include_str!("../../../docs/concepts/write-data.md"),
    ),
];

/// Terms that are not headings themselves, and the heading of the text that tells what they mean.
const TERMS: &[(&[&str], &str)] = &[
    (
        &[
            "latency",
            "service time",
            "service",
            "response time",
            "response",
            "lateness",
            "due",
        ],
        "# Latency: service and response",
    ),
    (
        &[
            "percentile",
            "median",
            "tail latency",
            "p50",
            "p90",
            "p95",
            "p99",
            "p99.9",
            "p99.99",
            "p999",
        ],
        "## Percentiles",
    ),
    (&["open loop"], "## Open: on a schedule"),
    (
        &["closed loop", "flat out"],
        "## Closed: as fast as answers come",
    ),
    (&["knee"], "## The knee"),
    (
        &["slot", "slots", "queue depth", "in flight"],
        "## Slots still matter",
    ),
    (&["iops", "throughput"], "## Rates"),
    (
        &["window", "warm up", "average"],
        "# Intervals and averages",
    ),
    (&["backend", "uring", "aio", "sim"], "# Backends"),
    (&["deduplication", "dedup"], "## Duplicates"),
];

/// A value of more options of a language is told by their names alone.
const TAKERS_MAX: usize = 3;

/// What the reference says of a word; `None` if nothing has this name. The case of letters does not matter, nor whether
/// the parts of a term are joined by spaces or by hyphens. What begins with a dash is an option.
pub fn meaning(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    if lower.starts_with('-') {
        let bare = lower.trim_start_matches('-').split('=').next();
        return together([
            own_options::help(word),
            own_options::help_of_faces(word, Named::First),
        ])
        .or_else(|| option(bare?))
        .or_else(|| own_options::help_of_faces(word, Named::Anywhere));
    }
    let spellings = spellings(&lower);
    let of = |look: &dyn Fn(&str) -> Option<String>| spellings.iter().find_map(|one| look(one));
    let of_jobs = of(&option);
    let own = own_options::help(word).or_else(|| of(&own_options::help));
    let has_options = of_jobs.is_some() || own.is_some();
    let value = of(&value).filter(|_| of_jobs.is_none());
    let term = of(&term).filter(|_| !has_options);
    together([of(&explanation), term, of_jobs, value, own])
        .or_else(|| of(&|one| own_options::help_of_faces(one, Named::Anywhere)))
}

fn together(texts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let found: Vec<String> = texts.into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("\n\n"))
}

/// A word as it is written, and with its parts joined in the other ways.
fn spellings(word: &str) -> [String; 4] {
    let joined = |by: &str| word.replace([' ', '-'], by);
    [word.to_owned(), joined("-"), joined(" "), joined("_")]
}

/// An option or engine of the job languages; in both, if both have one of this name.
fn option(word: &str) -> Option<String> {
    let vdbench = lang::vdbench::help_of(word);
    let vdbench = vdbench.map(|text| format!("Vdbench parameter\n\n{text}"));
    let fio = lang::fio::help(Some(word)).map(|text| format!("fio option\n\n{text}"));
    let engine = crate::fio_face::engine_help(Some(word)).ok();
    let engine = engine.map(|text| format!("fio engine\n\n{text}"));
    let found: Vec<String> = [vdbench, fio, engine].into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.join("\n").trim_end().to_owned())
}

/// The options that take a word as a value.
fn value(word: &str) -> Option<String> {
    let fio_help = |name: &str| lang::fio::help(Some(name));
    together([
        value_of(lang::fio::takers(word), "fio option", fio_help),
        value_of(
            lang::vdbench::takers(word),
            "Vdbench parameter",
            lang::vdbench::help_of,
        ),
    ])
}

fn value_of(
    takers: impl Iterator<Item = &'static str>,
    what: &str,
    help: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in takers {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let heading = match quoted.as_slice() {
        [] => return None,
        [one] => format!("a value of the {what} {one}"),
        several => format!("a value of the {what}s {}", several.join(", ")),
    };
    if names.len() > TAKERS_MAX {
        return Some(heading);
    }
    let helps = names.iter().filter_map(|name| help(name));
    let helps: Vec<String> = helps.map(|text| text.trim_end().to_owned()).collect();
    Some(format!("{heading}\n\n{}", helps.join("\n")))
}

/// What the pages on concepts say of a term, or below a heading.
fn term(word: &str) -> Option<String> {
    let mut rows = TERMS.iter();
    let named = rows.find(|(names, _)| names.contains(&word));
    CONCEPTS.iter().find_map(|(name, page)| {
        let text = match named {
            Some((_, heading)) => section(page, heading),
            None => ["#", "##"]
                .iter()
                .find_map(|level| section(page, &format!("{level} {word}"))),
        };
        text.map(|text| format!("{word} (docs/concepts/{name}.md)\n\n{text}"))
    })
}

/// What the reference says of a code, or of the name of a lint.
pub fn explanation(word: &str) -> Option<String> {
    let found = lang::lints().iter().find(|lint| lint.is_called(word));
    if let Some(lint) = found {
        let heading = lint.heading();
        let text = section(LINTS, &format!("## {heading}"))?;
        let (name, finds) = (lint.name, lint.finds);
        return Some(format!(
            "{heading}: {finds}\n\n{text}\n\n`--lint {name}=off` says nothing of it, `--lint {name}=error` refuses the job."
        ));
    }
    if let Some(text) = section(VERDICT, &format!("### {word}")) {
        return Some(format!("{word}\n\n{text}"));
    }
    is_code(word)
        .then(|| section(DIAGNOSTICS, &format!("### {word}")))?
        .map(|text| format!("{word}\n\n{text}"))
}

/// The word with a meaning that is nearest to one without; none that is far off.
pub fn near(word: &str) -> Option<String> {
    let mut known = own_options::names();
    let mut add = |names: &mut dyn Iterator<Item = &'static str>| {
        known.extend(names.map(str::to_owned));
    };
    add(&mut lang::fio::names());
    let bare = word.strip_prefix("--");
    if bare.is_none() {
        let codes = DIAGNOSTICS.lines();
        add(&mut lang::lints().iter().map(|lint| lint.name));
        add(&mut analysis::Word::ALL.map(analysis::Word::name).into_iter());
        add(&mut lang::vdbench::names());
        add(&mut codes.filter_map(|line| line.strip_prefix("### ")));
        add(&mut TERMS.iter().flat_map(|(names, _)| names.iter().copied()));
        add(&mut lang::fio::words());
    }
    let dashes = bare.map_or("", |_| "--");
    let known = known.iter().map(String::as_str);
    let near = lang::nearest_slip(bare.unwrap_or(word), known)?;
    Some(format!("{dashes}{near}"))
}

/// Whether a word has the form of a code: letters, a hyphen, four digits.
pub fn is_code(word: &str) -> bool {
    word.split_once('-').is_some_and(|(reader, number)| {
        !reader.is_empty()
            && reader.bytes().all(|byte| byte.is_ascii_lowercase())
            && number.len() == 4
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The text below a heading, up to the next. The case of letters does not matter.
fn section(page: &str, heading: &str) -> Option<String> {
    let mut lines = page
        .lines()
        .skip_while(|line| !line.eq_ignore_ascii_case(heading));
    lines.next()?;
    let text: Vec<&str> = lines
        .take_while(|line| !line.starts_with("## ") && !line.starts_with("### "))
        .collect();
    Some(text.join("\n").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{TERMS, explanation, meaning, near};

    #[test]
    fn every_lint_is_explained_by_its_name_and_by_its_code() {
        for lint in lang::lints() {
            let text = explanation(lint.name).unwrap_or_else(|| panic!("{}", lint.name));
            assert!(text.contains(lint.finds) && text.len() > 200, "{text}");
            for code in lint.codes {
                assert_eq!(explanation(code).as_ref(), Some(&text));
            }
        }
    }

    #[test]
    fn every_word_of_a_verdict_is_explained() {
        for word in analysis::Word::ALL {
            let text = explanation(word.name()).unwrap_or_else(|| panic!("{word:?}"));
            assert!(text.len() > 60, "{text}");
        }
    }

    #[test]
    fn every_option_of_both_languages_is_explained() {
        for name in lang::vdbench::names().chain(lang::fio::names()) {
            let text = meaning(name).unwrap_or_else(|| panic!("{name}"));
            assert!(text.contains(name), "{name}: {text}");
        }
        let both = meaning("Threads").unwrap();
        assert!(both.contains("Vdbench parameter") && both.contains("fio option"));
        assert!(meaning("libaio").unwrap().starts_with("fio engine"));
        assert_eq!(near("bsplit").as_deref(), Some("bssplit"));
        assert_eq!(near("vdb-013").as_deref(), Some("vdb-0013"));
    }

    #[test]
    fn every_term_leads_to_a_text() {
        for (names, heading) in TERMS {
            for name in *names {
                let text = meaning(name).unwrap_or_else(|| panic!("{name}: {heading}"));
                assert!(text.len() > 100, "{name}: {text}");
            }
        }
        assert_eq!(meaning("open-loop"), meaning("Open Loop"));
        let closed = meaning("closed-loop").unwrap();
        assert!(closed.contains("docs/concepts/open-loop.md"), "{closed}");
        assert!(meaning("cpu undercounted").is_some());
    }

    #[test]
    fn a_value_leads_to_its_option() {
        for word in lang::fio::words() {
            assert!(meaning(word).is_some(), "{word}");
        }
        let text = meaning("randread").unwrap();
        assert!(text.starts_with("a value of the fio option `rw`\n\nrw, readwrite: "));
        assert!(meaning("seqnz").unwrap().contains("`seekpct`"));
    }

    #[test]
    fn what_is_near_by_chance_is_not_offered() {
        for word in ["kne", "not", "kubernetes", "floppy"] {
            assert_eq!(near(word), None, "{word}");
        }
        assert_eq!(near("--repat").as_deref(), Some("--repeat"));
        assert_eq!(near("repat").as_deref(), Some("repeat"));
        assert_eq!(near("randred").as_deref(), Some("randread"));
    }

    #[test]
    fn codes_are_explained_and_other_words_are_not() {
        let text = explanation("vdb-0002").unwrap();
        assert!(text.contains("One level is allowed") && !text.contains("vdb-0003"));
        assert_eq!(explanation(&format!("vdb-{}", 9999)), None);
        assert_eq!(explanation("job.vdb"), None);
    }
}
