use super::*;
use crate::vdbench::{InputFile, read};
use crate::{Environment, MemoryFiles};

const TWO_FILES: &str =
    "sd=sd1,lun=/data/a,size=1g,threads=32\nsd=sd2,lun=/data/b,size=1g,threads=32\nwd=wd1,sd=sd*\n";

fn plan(text: &str) -> Plan {
    let files = MemoryFiles::default();
    let input = InputFile::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let reading = read(&[input], &Environment::bare(&files));
    reading.plan.expect("the job is right")
}

fn messages(plan: &Plan, facts: &MachineFacts) -> Vec<String> {
    machine_lints(plan, facts, Language::Vdbench, &LintSelection::default())
        .into_iter()
        .map(|found| {
            // One is a line without a place, with its way out at the end.
            let is_drawn = found.help.is_some() && found.span.is_some();
            let is_line = found.code == "vdb-0023";
            assert!(crate::is_lint(&found));
            assert!(is_drawn || is_line, "{}", found.message);
            format!("{}: {}", found.code, found.message)
        })
        .collect()
}

fn storage(identity: u64, devices: &[u64], allocated_bytes: u64) -> StorageFacts {
    StorageFacts {
        identity: Some((1, identity)),
        devices: devices.into(),
        bytes: 1 << 30,
        allocated_bytes: Some(allocated_bytes),
    }
}

#[test]
fn without_facts_nothing_is_said() {
    let plan = plan(&format!("{TWO_FILES}rd=r,wd=wd1,iorate=max\n"));
    assert!(messages(&plan, &MachineFacts::default()).is_empty());
}

#[test]
fn two_names_of_one_file_are_found() {
    let plan = plan(&format!("{TWO_FILES}rd=r,wd=wd1,iorate=max\n"));
    let facts = |second| MachineFacts {
        targets: vec![storage(7, &[], 1 << 30), storage(second, &[], 1 << 30)],
        ..MachineFacts::default()
    };
    assert_eq!(
        messages(&plan, &facts(7)),
        ["vdb-0013: `sd1` and `sd2` are the same device or file"]
    );
    assert!(messages(&plan, &facts(8)).is_empty());
}

#[test]
fn the_largest_run_is_held_against_the_limits() {
    let plan = plan(&format!(
        "{TWO_FILES}rd=small,wd=wd1,iorate=max\nrd=large,wd=wd1,iorate=max,threads=(64,500),xfersize=1m\n"
    ));
    let limit = |max, name: &str| {
        Some(Limit {
            max,
            name: name.to_owned(),
            raise: "raise it".to_owned(),
        })
    };
    let at = |in_flight, files, bytes| MachineFacts {
        limits: Limits {
            in_flight: limit(in_flight, "`pids.max`"),
            open_files: limit(files, "`ulimit -n`"),
            buffer_bytes: limit(bytes, "the free memory"),
        },
        ..MachineFacts::default()
    };
    assert!(messages(&plan, &at(1000, 2, 1000 << 20)).is_empty());
    assert_eq!(
        messages(&plan, &at(999, 1, 999 << 20)),
        [
            "vdb-0018: run `large` keeps 1000 I/Os in flight, and `pids.max` leaves room for 999",
            // The preparation opens both files as well.
            "vdb-0018: run `small` needs 2 files open at a time, and `ulimit -n` leaves room for 1",
            "vdb-0018: run `large` needs buffers of 1000 MiB, and the free memory leaves 999 MiB",
        ]
    );
}

#[test]
fn holes_are_found_where_they_are_read_before_they_are_filled() {
    let holed = MachineFacts {
        targets: vec![storage(1, &[], 1 << 30), storage(2, &[], 1 << 28)],
        ..MachineFacts::default()
    };
    let read = plan(&format!("{TWO_FILES}rd=r,wd=wd1,iorate=max\n"));
    assert_eq!(
        messages(&read, &holed),
        ["vdb-0020: run `r` reads `/data/b`, of which 256 MiB of 1 GiB were ever written"]
    );
    let filled = "wd=fill,sd=sd*,rdpct=0,seekpct=eof,xfersize=1m\n\
        rd=fill,wd=fill,iorate=max,elapsed=10h\nrd=r,wd=wd1,iorate=max\n";
    assert!(messages(&plan(&format!("{TWO_FILES}{filled}")), &holed).is_empty());
    let swept = "rd=fill,wd=wd1,iorate=max,rdpct=0,seekpct=eof\nrd=r,wd=wd1,iorate=max\n";
    assert!(messages(&plan(&format!("{TWO_FILES}{swept}")), &holed).is_empty());
    let part = filled.replace("seekpct=eof", "seekpct=eof,range=(0,50)");
    assert_eq!(
        messages(&plan(&format!("{TWO_FILES}{part}")), &holed).len(),
        1
    );
    let rewritten = format!("formatsds=yes\n{TWO_FILES}rd=r,wd=wd1,iorate=max\n");
    assert!(messages(&plan(&rewritten), &holed).is_empty());
    let written = plan(&format!("{TWO_FILES}rd=r,wd=wd1,iorate=max,rdpct=0\n"));
    assert!(messages(&written, &holed).is_empty());
}

#[test]
fn results_beside_the_storage_are_found_and_can_be_allowed() {
    let plan = plan(&format!("{TWO_FILES}rd=r,wd=wd1,iorate=max\n"));
    let facts = |device| MachineFacts {
        targets: vec![storage(1, &[3], 1 << 30), storage(2, &[8, 5], 1 << 30)],
        results: Some(ResultPlace {
            path: "output".to_owned(),
            devices: [device].into(),
        }),
        ..MachineFacts::default()
    };
    assert_eq!(
        messages(&plan, &facts(5)),
        [
            "vdb-0023: results go to `output`, which is on the storage under test (`/data/b`); \
             write them to another disk, with `-o FOLDER`"
        ]
    );
    assert!(messages(&plan, &facts(4)).is_empty());
    let mut selection = LintSelection::default();
    selection.set("results-on-storage=off").unwrap();
    assert!(machine_lints(&plan, &facts(5), Language::Vdbench, &selection).is_empty());
    selection.set("results-on-storage=error").unwrap();
    let found = machine_lints(&plan, &facts(5), Language::Vdbench, &selection);
    assert_eq!(found[0].severity, ::plan::Severity::Error);
}

#[test]
fn sizes_that_only_the_machine_knows_are_judged_by_it() {
    let job = |storage: &str, workload: &str| {
        plan(&format!(
            "sd=sd1,lun=/data/a{storage}\nwd=wd1,sd=sd1{workload}\nrd=r,wd=wd1,iorate=max\n"
        ))
    };
    let facts = |memory_bytes| MachineFacts {
        targets: vec![storage(1, &[], 1 << 30)],
        memory_bytes,
        ..MachineFacts::default()
    };
    let buffered = job("", "");
    assert_eq!(
        messages(&buffered, &facts(600 << 20)),
        ["vdb-0016: run `r` uses 1 GiB through the page cache of a host with 600 MiB"]
    );
    assert!(messages(&buffered, &facts(500 << 20)).is_empty());
    assert!(messages(&buffered, &facts(0)).is_empty());
    assert!(messages(&job(",openflags=o_direct", ""), &facts(1 << 40)).is_empty());
    // With a size in the text the reader has said it.
    assert!(messages(&job(",size=1g", ""), &facts(1 << 40)).is_empty());
    let ranged = job(",openflags=o_direct", ",range=(0,2g)");
    assert_eq!(
        messages(&ranged, &facts(0)),
        ["vdb-0017: the range on `sd1` ends at 2 GiB, and `/data/a` at 1 GiB"]
    );
    assert!(messages(&job(",openflags=o_direct", ",range=(0,1g)"), &facts(0)).is_empty());
}
