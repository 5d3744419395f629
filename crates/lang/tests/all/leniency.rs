//! What one of the two takes and the other refuses, Fathom or a release of the original: each is read with its
//! meaning, or refused at its place with the way out.
use lang::vdbench::{self, InputFile, Preparations, Reading};
use lang::{Environment, MemoryFiles};
use plan::Severity;

const SD: &str = "sd=sd1,lun=/dev/a,openflags=o_direct,size=1g";
const WD: &str = "wd=wd1,sd=sd1";
const RD: &str = "rd=rd1,wd=wd1,iorate=max,elapsed=60";

fn read(text: &str) -> Reading {
    let files = MemoryFiles::default();
    let input = InputFile::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    vdbench::read(&[input], &Environment::bare(&files))
}

/// The only error of a job: its code, the text at its place, and the way out.
#[track_caller]
fn error(text: &str) -> (String, String, String) {
    let reading = read(text);
    let errors = reading.diagnostics.iter();
    let errors = errors.filter(|one| one.severity == Severity::Error);
    let [error] = errors.collect::<Vec<_>>()[..] else {
        panic!("{text}\n{:?}", reading.diagnostics);
    };
    let span = error.span.expect("a place in the text");
    let at = &text[span.start as usize..span.end as usize];
    let help = error.help.clone().expect("a way out");
    (error.code.clone(), at.to_owned(), help)
}

/// The list of runs of a job without a mistake.
#[track_caller]
fn runs(text: &str) -> Vec<String> {
    let reading = read(text);
    assert!(!reading.has_errors(), "{text}\n{:?}", reading.diagnostics);
    vdbench::simulate_lines(&reading, Preparations::LeftOut)
}

#[test]
fn byte_order_marks_say_nothing() {
    let plain = runs(&format!("{SD}\n{WD}\n{RD}\n"));
    assert!(plain[0].starts_with("Simulating RD=rd1;"), "{plain:?}");
    // Windows editors write one; files put together have one in the middle.
    for text in [
        format!("\u{feff}{SD}\n{WD}\n{RD}\n"),
        format!("\u{feff}\u{feff}{SD}\n\u{feff}{WD}\n{RD}\n"),
        format!("\u{feff}* first\n{SD}\n{WD}\n \u{feff}# second\n{RD}\n\u{feff}\n"),
    ] {
        assert_eq!(runs(&text), plain, "{text:?}");
    }
    // The mark moves no place: columns count what is seen.
    let text = format!("{SD}\n\u{feff}wd=wd1,sd=sd1,rdpct=x\n{RD}\n");
    assert_eq!(error(&text).1, "x");
}

#[test]
fn parentheses_left_over_at_the_end_are_told_as_what_they_are() {
    let job = format!("{SD}\n{WD}\n{RD}");
    for (end, at) in [
        ("(", "("),
        (",(", "("),
        ("\n(\n", "("),
        (",xfersize=(", "("),
        (",xfersize=(4k", "("),
        (",xfersize=(4k,\n", "("),
        (",xfersize=((4k)", "("),
        (",(4k,8k)", "(4k"),
        (")", ")"),
        (",)", ")"),
        ("\n)\n", ")"),
        ("\n()\n", "()"),
    ] {
        let (code, found, help) = error(&format!("{job}{end}"));
        assert_eq!((code.as_str(), found.as_str()), ("vdb-0101", at), "{end:?}");
        assert!(!help.contains("(="), "{end:?}: {help}");
    }
}

/// Without threads nothing is measured, and without a divisor or a whole sector the size is that of the target.
#[test]
fn storage_without_threads_or_size_is_refused() {
    let refused = |storage: &str, run: &str, at: &str| {
        let text = format!("{SD}{storage}\n{WD}\n{RD}{run}\n");
        let (code, found, _) = error(&text);
        assert_eq!((code.as_str(), found.as_str()), ("vdb-0113", at), "{text}");
    };
    refused(",threads=0", "", "0");
    refused(",threads=(8,0)", "", "0");
    refused(",threads=(4,8)", "", "threads=(4,8)");
    refused("", ",threads=0", "0");
    refused("", ",forthreads=(0,1)", "0");
    refused(",size=(1g,0)", "", "0");
    refused(",size=100", "", "size=100");
    refused(",size=(1k,4)", "", "size=(1k,4)");
    let plan = |storage: &str| {
        let reading = read(&format!("{SD}{storage}\n{WD}\n{RD}\n"));
        assert!(!reading.has_errors(), "{:?}", reading.diagnostics);
        reading.plan.unwrap()
    };
    assert_eq!(plan(",size=(1g,4)").targets, plan(",size=256m").targets);
    assert_eq!(
        plan(",threads=(9,2)").templates,
        plan(",threads=4").templates
    );
    let trees = "fsd=f,anchor=/d,depth=1,width=1,files=2,wss=(4k,0)\nfwd=w,fsd=f\n";
    let text = format!("{trees}rd=r,fwd=w,fwdrate=max,format=yes\n");
    assert_eq!(error(&text).1, "0");
}

#[test]
fn streams_are_one_count() {
    let refused = |streams: &str| error(&format!("{SD}\n{WD},streams={streams}\n{RD}\n"));
    let (code, at, help) = refused("(4,10m)");
    assert_eq!(
        (code.as_str(), at.as_str()),
        ("vdb-0112", "streams=(4,10m)")
    );
    assert!(help.contains("write `streams=4`"), "{help}");
    let (code, at, help) = refused("1");
    assert_eq!((code.as_str(), at.as_str()), ("vdb-0113", "1"));
    assert!(help.contains("remove it for one stream"), "{help}");
    assert_eq!(refused("0").1, "0");
    runs(&format!("{SD}\n{WD},streams=4\n{RD}\n"));
    runs(&format!("{SD}\n{WD},streams=(4)\n{RD}\n"));
}

#[test]
fn shares_are_between_none_and_all() {
    for name in [
        "rdpct", "readpct", "wrpct", "writepct", "rhpct", "whpct", "skew",
    ] {
        let refused = |value: &str| error(&format!("{SD}\n{WD},{name}={value}\n{RD}\n"));
        let (code, at, help) = refused("101");
        assert_eq!((code.as_str(), at.as_str()), ("vdb-0113", "101"), "{name}");
        assert!(help.contains("between 0 and 100"), "{help}");
        let (_, at, help) = refused("50%");
        assert_eq!(at, "50%");
        assert!(help.contains("write `50`, without `%`"), "{help}");
    }
    // A share is what was asked for, also between two whole numbers.
    let plan = read(&format!("{SD}\n{WD},rdpct=70.5\n{RD}\n"))
        .plan
        .unwrap();
    let stream = format!("{:?}", plan.templates[0].streams[0]);
    assert!(stream.contains("70.5"), "{stream}");
    let refused = |run: &str| error(&format!("{SD}\n{WD}\n{RD},{run}\n")).1;
    assert_eq!(refused("rdpct=101"), "101");
    assert_eq!(refused("forrdpct=(0,50,101)"), "101");
    assert_eq!(refused("forrdpct=(90-110,20)"), "90-110");
    assert_eq!(error(&format!("{SD}\n{WD},seekpct=101\n{RD}\n")).1, "101");
}

/// Whatever a number could also be, a name stays the text that was written.
#[test]
fn names_may_be_numbers() {
    let storage = |name: &str| format!("sd={name},lun=/dev/{name},openflags=o_direct,size=1g\n");
    let all = ["1", "2", "3", "4k", "1e5", "0.5"].map(storage).concat();
    for (used, count) in [
        ("1", 1),
        ("(1,3)", 2),
        ("(1-3)", 3),
        ("*", 6),
        ("4*", 1),
        ("(4k,1e5,0.5)", 3),
    ] {
        let reading = read(&format!(
            "{all}wd=10,sd={used}\nrd=20,wd=10,iorate=max,elapsed=60\n"
        ));
        assert!(!reading.has_errors(), "{used}: {:?}", reading.diagnostics);
        let plan = reading.plan.unwrap();
        assert_eq!(plan.templates[0].streams.len(), count, "{used}");
        assert_eq!(plan.runs[0].name, "20");
    }
    // One name for two things is refused where both have pages: of a single workload there is none.
    let one = format!(
        "{}wd=1,sd=1\nrd=1,wd=*,iorate=max,elapsed=60\n",
        storage("1")
    );
    assert!(runs(&one)[0].starts_with("Simulating RD=1;"));
    let (code, at, _) = error(&one.replace("rd=", "wd=2,sd=1\nrd="));
    assert_eq!((code.as_str(), at.as_str()), ("vdb-0121", "1"));
    assert_eq!(
        error(&format!("{all}wd=10,sd=(2-5)\nrd=20,wd=10,iorate=max\n")).0,
        "vdb-0122"
    );
}

#[test]
fn ranges_run_upward() {
    for name in ["range", "hotband"] {
        let refused = |range: &str, help: &str| {
            let found = error(&format!("{SD}\n{WD},{name}={range}\n{RD}\n"));
            assert_eq!(
                (found.0.as_str(), found.1),
                ("vdb-0113", format!("{name}={range}"))
            );
            assert!(found.2.contains(help), "{}", found.2);
        };
        refused("(60,40)", &format!("write `{name}=(40,60)`"));
        refused("(60m,40m)", &format!("write `{name}=(40m,60m)`"));
        refused("(40,40)", "write (low,high)");
        // One is bytes, the other is percent: turned round it would be something else.
        refused("(40m,90)", "percent up to 100");
        refused("(0,200)", "write (low,high)");
    }
    let (_, at, help) = error(&format!("{SD},range=(60,40)\n{WD}\n{RD}\n"));
    assert_eq!(at, "range=(60,40)");
    assert!(help.contains("`range=(40,60)`"), "{help}");
    let (_, at, _) = error(&format!("{SD}\n{WD},stride=(64k,4k)\n{RD}\n"));
    assert_eq!(at, "stride=(64k,4k)");
}

#[test]
fn transfers_are_whole_sectors() {
    let of_workload = |sizes: &str| error(&format!("{SD}\n{WD},xfersize={sizes}\n{RD}\n"));
    let of_run = |sizes: &str| error(&format!("{SD}\n{WD}\n{RD},{sizes}\n"));
    for (found, at, help) in [
        (of_workload("256"), "256", "did you mean `256k`?"),
        (of_workload("(256,50,4k,50)"), "256", "did you mean `256k`?"),
        (of_workload("(512,4k,256)"), "256", "did you mean `256k`?"),
        (of_workload("0.25k"), "0.25k", "multiple of 512"),
        (of_workload("700"), "700", "multiple of 512"),
        (of_workload("0"), "0", "multiple of 512"),
        (of_run("xfersize=256"), "256", "did you mean `256k`?"),
        (of_run("forxfersize=(4k,700)"), "700", "multiple of 512"),
        (of_run("forxfersize=(0,4k)"), "0", "at least"),
        (of_run("xfersize=(4k,50,8k,50)"), "50", "belong to `wd=`"),
    ] {
        assert_eq!((found.0.as_str(), found.1.as_str()), ("vdb-0113", at));
        assert!(found.2.contains(help), "{at}: {}", found.2);
    }
    for sizes in ["512", "(512,50,4k,50)", "(512,4k,512)"] {
        runs(&format!("{SD}\n{WD},xfersize={sizes}\n{RD}\n"));
    }
}

#[test]
fn open_flags_are_those_of_linux() {
    for flag in ["foo", "directio_off", "0xzz", "1234"] {
        for text in [
            format!("{SD}\n{WD},openflags={flag}\n{RD}\n"),
            format!("{SD}\n{WD},openflags=(o_direct,{flag})\n{RD}\n"),
            format!("{SD}\n{WD}\n{RD},openflags={flag}\n"),
            format!("sd=sd1,lun=/dev/a,openflags={flag},size=1g\n{WD}\n{RD}\n"),
        ] {
            let (code, at, help) = error(&text);
            assert_eq!((code.as_str(), at.as_str()), ("vdb-0114", flag), "{text}");
            assert!(
                help.contains("o_direct") || help.contains("directio"),
                "{help}"
            );
        }
    }
}
