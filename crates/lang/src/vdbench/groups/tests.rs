use crate::vdbench::{InputFile, Reading, read};
use crate::{Environment, MemoryFiles};
use plan::{Label, Plan, RunId};
use std::collections::BTreeMap;

fn reading(text: &str, processes: Option<u32>) -> Reading {
    let files = MemoryFiles::default();
    let input = InputFile::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let mut environment = Environment::bare(&files);
    environment.command_line.processes = processes;
    read(&[input], &environment)
}

fn plan(text: &str) -> Plan {
    let reading = reading(text, None);
    assert!(
        reading.run_blockers.is_empty(),
        "{:?}",
        reading.run_blockers
    );
    reading.plan.expect("the job is right")
}

/// Stream, group, slots of its pool and share, one per line.
fn streams(plan: &Plan, run: usize) -> Vec<String> {
    let run = plan.run(RunId::at(run));
    let line = |stream: &plan::Stream| {
        let group = Label::find(&stream.labels, "group").unwrap_or("-");
        let slots = run.pools[stream.pool.index()].slots;
        format!("{} {group} {slots} {:.2}", stream.name, stream.share_pct)
    };
    run.streams.iter().map(line).collect()
}

const TWO: &str = "sd=sd1,lun=/dev/a,openflags=o_direct,threads=4
sd=sd2,lun=/dev/b,openflags=o_direct,threads=4
";

#[test]
fn random_work_is_spread_over_all_groups() {
    let text = format!("hd=localhost,jvms=2\n{TWO}wd=wd1,sd=sd*\nrd=r,wd=wd1,iorate=2000\n");
    let plan = plan(&text);
    let expected = [
        "wd1.sd1 localhost-0 2 25.00",
        "wd1.sd1 localhost-1 2 25.00",
        "wd1.sd2 localhost-0 2 25.00",
        "wd1.sd2 localhost-1 2 25.00",
    ];
    assert_eq!(streams(&plan, 0), expected);
    let labels: Vec<(&str, &str)> = plan
        .reporting
        .labels
        .iter()
        .map(|label| (label.key.as_str(), label.value.as_str()))
        .collect();
    let expected = [
        ("host", "localhost"),
        ("group", "localhost-0"),
        ("group", "localhost-1"),
    ];
    assert_eq!(labels, expected);
}

/// A beginning of a word is enough.
#[test]
fn pages_of_devices_are_asked_for_in_the_reporting() {
    let details = |report: &str| -> Vec<String> {
        let text = format!("{report}\n{TWO}wd=wd1,sd=sd*\nrd=r,wd=wd1,iorate=max\n");
        let labels = plan(&text).reporting.labels;
        let details = labels.into_iter().filter(|label| label.key == "detail");
        details.map(|label| label.value).collect()
    };
    assert_eq!(details("report=host_detail"), ["host"]);
    assert_eq!(details("report=(slave,no_sd)"), ["slave", "no_sd"]);
    assert_eq!(details("report=no_fsd_detail"), [""; 0]);
}

#[test]
fn sequential_work_stays_in_the_group_with_the_fewest_slots() {
    let text =
        format!("hd=localhost,jvms=3\n{TWO}wd=wd1,sd=sd*,seekpct=0\nrd=r,wd=wd1,iorate=max\n");
    let expected = ["wd1.sd1 localhost-0 4 50.00", "wd1.sd2 localhost-1 4 50.00"];
    assert_eq!(streams(&plan(&text), 0), expected);
}

#[test]
fn sequential_work_has_a_slot_beside_random_work() {
    let text = "hd=localhost,jvms=4\nsd=sd1,lun=/dev/a,openflags=o_direct,threads=1\n\
                wd=wd1,sd=sd1,skew=20\nwd=wd2,sd=sd1,seekpct=eof,skew=80\nrd=r,wd=wd*,iorate=max\n";
    let expected = ["wd1.sd1 localhost-0 1 20.00", "wd2.sd1 localhost-0 1 80.00"];
    assert_eq!(streams(&plan(text), 0), expected);
}

#[test]
fn slots_are_dealt_to_hosts_in_turn_and_then_to_their_groups() {
    let text = "hd=localhost,clients=2,jvms=2\nsd=sd1,lun=/dev/a,openflags=o_direct,threads=5\n\
                wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max,forthreads=(1,5)\n";
    let plan = plan(text);
    assert_eq!(streams(&plan, 0), ["wd1.sd1 localhost_cl0-0 1 100.00"]);
    let expected = [
        "wd1.sd1 localhost_cl0-0 2 25.00",
        "wd1.sd1 localhost_cl0-1 1 25.00",
        "wd1.sd1 localhost_cl1-0 1 25.00",
        "wd1.sd1 localhost_cl1-1 1 25.00",
    ];
    assert_eq!(streams(&plan, 1), expected);
}

#[test]
fn hosts_keep_to_their_storage() {
    let text = format!(
        "hd=one,system=localhost\nhd=two,system=localhost\n{TWO}sd=sd3,lun=/dev/c,host=two,\
         openflags=o_direct,threads=4\nwd=wd1,sd=(sd1,sd3),host=two\nwd=wd2,sd=sd2,host=one\n\
         rd=r,wd=wd*,iorate=max\n"
    );
    let expected = [
        "wd1.sd1 two-0 4 25.00",
        "wd1.sd3 two-0 4 25.00",
        "wd2.sd2 one-0 4 50.00",
    ];
    assert_eq!(streams(&plan(&text), 0), expected);
}

#[test]
fn a_host_that_nothing_uses_has_no_place_in_the_plan() {
    let text = "hd=a,system=a\nhd=b,system=b\nhd=c,system=c\nsd=sd1,lun=/dev/a,host=a,openflags=o_direct\n\
                sd=sd2,lun=/dev/b,host=c,openflags=o_direct\nwd=wd1,sd=sd*\nrd=r,wd=wd1,iorate=100\n";
    let reading = reading(text, None);
    let told: Vec<_> = reading.diagnostics.iter().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (&*told[0].code, told[0].severity),
        ("vdb-0161", plan::Severity::Note)
    );
    let plan = reading.plan.unwrap();
    let hosts = plan.hosts.iter().map(|host| host.name.as_str());
    assert_eq!(hosts.collect::<Vec<_>>(), ["a", "c"]);
    let expected = ["wd1.sd1 a-0 8 50.00", "wd1.sd2 c-0 8 50.00"];
    assert_eq!(streams(&plan, 0), expected);
    assert!(plan.inconsistencies().is_empty());
}

#[test]
fn the_command_line_gives_processes_to_all_hosts() {
    let text = format!("hd=localhost,jvms=2\n{TWO}wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n");
    let plan = reading(&text, Some(4)).plan.unwrap();
    assert_eq!(streams(&plan, 0).len(), 4);
}

#[test]
fn a_loop_over_seeks_decides_anew_where_work_goes() {
    let text = format!(
        "hd=localhost,jvms=2\n{TWO}wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max,forseekpct=(0,50,100)\n"
    );
    let plan = plan(&text);
    let counts: Vec<usize> = (0..3).map(|run| streams(&plan, run).len()).collect();
    assert_eq!(counts, [1, 2, 2]);
}

#[test]
fn the_sum_of_slots_and_shares_does_not_depend_on_groups() {
    let job = |jvms: u32| {
        plan(&format!(
            "hd=localhost,jvms={jvms}\nsd=default,openflags=o_direct,threads=7\n\
             sd=sd1,lun=/dev/a\nsd=sd2,lun=/dev/b,threads=3\nwd=wd1,sd=sd*,skew=30\n\
             wd=wd2,sd=sd2,skew=70,seekpct=0\nrd=r,wd=wd*,iorate=900\n"
        ))
    };
    let sums = |plan: &Plan| {
        let run = plan.run(RunId::at(0));
        let mut slots: BTreeMap<String, u32> = BTreeMap::new();
        run.pools
            .iter()
            .for_each(|pool| *slots.entry(pool.name.clone()).or_default() += pool.slots);
        let mut shares: BTreeMap<String, f64> = BTreeMap::new();
        for stream in &run.streams {
            *shares.entry(stream.name.clone()).or_default() += stream.share_pct;
        }
        let rounded = |share: f64| (share * 1e9).round();
        let shares: Vec<f64> = shares.into_values().map(rounded).collect();
        (slots, shares)
    };
    let alone = sums(&job(1));
    for jvms in 2..12 {
        assert_eq!(sums(&job(jvms)), alone, "{jvms} groups");
    }
}

#[test]
fn work_that_no_host_has_keeps_a_run_from_starting() {
    for (text, words) in [
        (
            "hd=one,system=localhost\nhd=two,system=localhost\nsd=sd1,lun=/data/a,host=one\n\
             sd=sd2,lun=/data/b,host=two\nwd=wd1,sd=sd1,host=two\nwd=wd2,sd=sd*\nrd=r,wd=wd*,iorate=max\n",
            "no host in common",
        ),
        (
            "hd=one,system=localhost\nhd=two,system=localhost\nsd=sd1,lun=/data/a,threads=1\n\
             wd=wd1,sd=sd1,host=two\nwd=wd2,sd=sd1,host=one\nrd=r,wd=wd*,iorate=max\n",
            "gets no thread",
        ),
    ] {
        let reading = reading(text, None);
        assert!(!reading.has_errors(), "{:?}", reading.diagnostics);
        let found = reading.run_blockers.iter().map(|found| &found.message);
        assert!(
            found.into_iter().any(|found| found.contains(words)),
            "{text}"
        );
    }
}
