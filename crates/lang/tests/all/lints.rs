//! Lints: each has its name, its page and its switch, and says nothing where nothing is wrong.
use lang::vdbench::{self, InputFile, Reading};
use lang::{Environment, LintSelection, MemoryFiles};
use plan::Severity;

fn read(text: &str, selection: &[&str]) -> Reading {
    let files = MemoryFiles::default();
    let mut environment = Environment::bare(&files);
    environment.memory_bytes = 1 << 30;
    let mut lints = LintSelection::default();
    for one in selection {
        lints.set(one).unwrap();
    }
    environment.command_line.lints = lints;
    let input = InputFile::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    vdbench::read(&[input], &environment)
}

fn codes(reading: &Reading) -> Vec<&str> {
    let found = reading.diagnostics.iter();
    found.map(|found| found.code.as_str()).collect()
}

const GOOD: &str = "sd=sd1,lun=/data/a,size=10g,openflags=o_direct\nwd=wd1,sd=sd1\n";

/// What the reader itself finds; the others need the machine and are tested beside it.
const FOUND_IN_TEXT: [(&str, &str); 11] = [
    ("lost-text", "rd=r,wd=wd1,iorate=max elapsed=60\n"),
    ("downward-range", "rd=r,wd=wd1,iorate=max,threads=(9-1,1)\n"),
    (
        "maybe-variable",
        "wd=wd2,sd=sd1\nrd=x$y,wd=wd1,iorate=max\n",
    ),
    ("same-device", "rd=r,wd=wd1,iorate=max\n"),
    ("surprising-value", "rd=r,wd=wd1,iorate=max\n"),
    (
        "long-warmup",
        "rd=r,wd=wd1,iorate=max,elapsed=10,warmup=60\n",
    ),
    ("cached-storage", "rd=r,wd=wd1,iorate=max\n"),
    (
        "beyond-storage",
        "wd=wd2,sd=sd1,range=(1g,20g)\nrd=r,wd=wd2,iorate=max\n",
    ),
    ("few-samples", "rd=r,wd=wd1,iorate=(500,5),elapsed=60\n"),
    ("error-budget", "rd=r,wd=wd1,iorate=1000,elapsed=600\n"),
    ("odd-rate", "rd=r,wd=wd1,iorate=1k,elapsed=60\n"),
];

/// In front of the runs, where the finding is not in the run itself.
fn job(name: &str, rest: &str) -> String {
    match name {
        "same-device" => {
            format!("sd=default,openflags=o_direct\nsd=sd0,lun=/data//a,size=10g\n{GOOD}{rest}")
        }
        "surprising-value" => format!("report_run_totals=maybe\n{GOOD}{rest}"),
        "cached-storage" => format!(
            "{}{rest}",
            GOOD.replace(",openflags=o_direct", "").replace("10g", "1g")
        ),
        "error-budget" => format!("data_errors=50\n{GOOD}{rest}"),
        _ => format!("{GOOD}{rest}"),
    }
}

#[test]
fn each_is_found_alone_and_switched_by_its_name() {
    for (name, rest) in FOUND_IN_TEXT {
        let text = job(name, rest);
        let lint = lang::lints().iter().find(|lint| lint.name == name);
        let code = lint.expect("a lint of the table").codes[0];
        let found = read(&text, &[]);
        let lints: Vec<&str> = found
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Warning)
            .map(|found| found.code.as_str())
            .collect();
        assert_eq!(lints, [code], "{name}: {:?}", found.diagnostics);
        assert!(found.plan.is_some(), "{name}");
        let off = read(&text, &[&format!("{name}=off")]);
        assert!(!codes(&off).contains(&code), "{name}");
        assert_eq!(off.plan, found.plan, "{name}");
        let fatal = read(&text, &[&format!("{code}=error")]);
        assert!(fatal.has_errors() && fatal.plan.is_none(), "{name}");
        let quiet = read(&text, &["all=off"]);
        assert!(!codes(&quiet).contains(&code), "{name}");
    }
}

#[test]
fn a_sound_job_has_no_findings() {
    for runs in [
        "rd=r,wd=wd1,iorate=max,elapsed=60,warmup=10\n",
        "rd=r,wd=wd1,iorate=(100,1000),elapsed=60\n",
        "rd=r,wd=wd1,iorate=curve,curve=(10-100,10),elapsed=60\n",
    ] {
        let reading = read(&format!("{GOOD}{runs}"), &[]);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }
}

#[test]
fn close_calls_are_no_findings() {
    let quiet = |text: &str, code: &str| {
        let found = read(text, &[]);
        assert!(!found.has_errors(), "{:?}", found.diagnostics);
        assert!(!codes(&found).contains(&code), "{text}");
    };
    let run = "wd=wd1,sd=sd*\nrd=r,wd=wd1,iorate=max\n";
    // Parts beside each other, in any order.
    quiet(
        &format!("sd=sd1,lun=/a,range=(50,100)\nsd=sd2,lun=/a,range=(0,50)\n{run}"),
        "vdb-0013",
    );
    // Five hundred seconds at two a second are just enough, with a warm-up.
    let rate = |times: &str| format!("{GOOD}rd=r,wd=wd1,iorate=2,{times}\n");
    quiet(&rate("elapsed=500,warmup=1"), "vdb-0019");
    assert!(codes(&read(&rate("elapsed=500"), &[])).contains(&"vdb-0019"));
    // Who stops at the first error, tests for minutes only or says nothing of errors.
    let budget = |general: &str, elapsed| {
        format!("{general}{GOOD}rd=r,wd=wd1,iorate=1000,elapsed={elapsed}\n")
    };
    quiet(&budget("data_errors=1\n", 600), "vdb-0021");
    quiet(&budget("data_errors=50\n", 299), "vdb-0021");
    quiet(&budget("", 600), "vdb-0021");
    quiet(&budget("data_errors=60000\n", 600), "vdb-0021");
    quiet(
        &format!("{GOOD}rd=r,wd=wd1,iorate=5d,elapsed=600\n"),
        "vdb-0022",
    );
    // The end of the storage is within it.
    quiet(
        &format!("{GOOD}wd=wd2,sd=sd1,range=(1g,10g)\nrd=r,wd=wd2,iorate=max\n"),
        "vdb-0017",
    );
}

/// The page has a section per lint, headed by its name, with its code, and no others.
#[test]
fn every_lint_has_its_section_on_the_page() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/lints.md");
    let page = std::fs::read_to_string(path).unwrap();
    let found: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    let expected: Vec<String> = lang::lints().iter().map(lang::Lint::heading).collect();
    assert_eq!(found, expected);
}
