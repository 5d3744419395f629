//! Names of a job after which two pages of the output folder would have one name: each pair is refused at the name.
use lang::vdbench::{self, InputFile};
use lang::{Environment, MemoryFiles};

const RUN: &str = "rd=r,wd=wd*,iorate=100,elapsed=60\n";
/// A storage, and a workload that uses all of them.
const SD: &str = "sd=sd1,lun=/dev/a,openflags=o_direct\n";
const WD: &str = "wd=wd1,sd=*\n";

/// The name that is refused with what is said of it, or nothing.
fn refused(lines: &[&str]) -> Option<(String, String)> {
    let text = format!("{}{RUN}", lines.concat());
    let files = MemoryFiles::default();
    let input = InputFile::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let reading = vdbench::read(&[input], &Environment::bare(&files));
    let errors = reading
        .diagnostics
        .iter()
        .filter(|one| one.severity == plan::Severity::Error);
    let errors: Vec<_> = errors.collect();
    assert!(errors.len() < 2, "{errors:?}");
    let error = errors.first()?;
    assert_eq!(error.code, "vdb-0121", "{error:?}");
    assert!(error.help.is_some() && reading.plan.is_none());
    let span = error.span.unwrap();
    let named = &text[span.start as usize..span.end as usize];
    Some((named.to_owned(), error.message.clone()))
}

#[track_caller]
fn is_refused(lines: &[&str], named: &str, page: &str) {
    let (at, message) = refused(lines).expect(page);
    assert_eq!(at, named, "{message}");
    assert!(message.contains(&format!("`{page}.html`")), "{message}");
}

#[test]
fn pages_of_the_whole_job_have_their_names() {
    for name in [
        "errorlog",
        "flatfile",
        "histogram",
        "logfile",
        "parmfile",
        "parmscan",
        "report",
        "skew",
        "status",
        "summary",
        "totals",
    ] {
        let sd = format!("sd={name},lun=/dev/a,openflags=o_direct\n");
        is_refused(&[&sd, WD], name, name);
        let hd = format!("hd={name},system=a,user=root\n");
        is_refused(&[&hd, SD, WD], name, name);
        // Of several workloads each has a page.
        let wd = format!("wd={name},sd=*\n");
        assert_eq!(refused(&[SD, &wd.replace("wd=", "wd=wd")]), None);
        let run = format!("rd=first,wd={name},iorate=100,elapsed=60\n");
        is_refused(&[SD, WD, &wd, &run], name, name);
    }
}

#[test]
fn two_definitions_have_two_pages() {
    let two = "sd=one,lun=/dev/b,openflags=o_direct\n";
    let hosts = "hd=one,system=a,user=root\nhd=two,system=b,user=root\n";
    is_refused(&[hosts, two, WD], "one", "one");
    is_refused(
        &[&two.replace("one", "localhost"), WD],
        "localhost",
        "localhost",
    );
    is_refused(
        &[&two.replace("one", "localhost-0"), WD],
        "localhost-0",
        "localhost-0",
    );
    is_refused(
        &[&two.replace("one", "localhost-0.stdout"), WD],
        "localhost-0.stdout",
        "localhost-0.stdout",
    );
    is_refused(
        &[&two.replace("one", "wd2"), WD, "wd=wd2,sd=*\n"],
        "wd2",
        "wd2",
    );
    is_refused(
        &[SD, &two.replace("one", "sd1.histogram"), WD],
        "sd1.histogram",
        "sd1.histogram",
    );
    let slave = "hd=one,system=a,user=root\nhd=one-0,system=b,user=root\n";
    is_refused(&[slave, SD, WD], "one-0", "one-0");
    let detail = "report=slave_detail\n";
    is_refused(
        &[detail, &two.replace("one", "stdout"), WD],
        "stdout",
        "localhost-0.stdout",
    );
}

#[test]
fn names_without_a_page_of_their_own_are_free() {
    let sd = |name: &str| format!("sd={name},lun=/dev/a,openflags=o_direct\n");
    for lines in [
        // File systems here tell capitals from small letters.
        [sd("Summary"), WD.to_owned()],
        [sd("config"), WD.to_owned()],
        // The only workload has no page, and runs have none.
        [sd("wd1"), WD.to_owned()],
        [sd("r"), WD.to_owned()],
        [
            format!("report=no_sd_detail\n{}", sd("summary")),
            WD.to_owned(),
        ],
    ] {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(refused(&lines), None, "{lines:?}");
    }
}
