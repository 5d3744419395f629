//! A plan of a thousand storage definitions and ten thousand runs stays factored: what is common is
//! held once, and what is looked at before a run is looked at a few times.
use lang::vdbench::{self, InputFile};
use lang::{Environment, MemoryFiles};
use plan::{Alignment, Facts, FoundKind, RunKind, TargetFacts};

const STORAGES: usize = 1000;

#[test]
fn a_thousand_storages_and_ten_thousand_runs_stay_factored() {
    let storages: String = (1..=STORAGES)
        .map(|number| format!("sd=sd{number},lun=/data/sd{number},size=1g,openflags=o_direct\n"))
        .collect();
    let text = format!(
        "{storages}wd=wd1,sd=sd*,xfersize=4k,rdpct=70\nrd=rd1,wd=wd1,iorate=max,elapsed=60,\
         interval=1,forthreads=(1-100,1),forrdpct=(1-100,1)\n"
    );
    let input = InputFile::Text {
        name: "job".to_owned(),
        bytes: text.into_bytes(),
    };
    let files = MemoryFiles::default();
    let reading = vdbench::read(&[input], &Environment::bare(&files));
    let plan = reading.plan.expect("the job is right");
    let measured = |plan: &plan::Plan| {
        let runs = plan.runs.iter();
        runs.filter(|run| run.kind == RunKind::Measure).count()
    };
    assert_eq!(measured(&plan), 10_000);
    assert!(plan.templates.len() <= 2, "{}", plan.templates.len());
    let streams: usize = plan.templates.iter().map(|one| one.streams.len()).sum();
    assert!(streams <= 2 * STORAGES, "{streams}");
    let overrides: usize = plan.runs.iter().map(|run| run.overrides.len()).sum();
    assert!(overrides <= 20_000, "{overrides}");
    let found = TargetFacts {
        found: FoundKind::File,
        bytes: 1 << 30,
        alignment: Alignment {
            offset: 512,
            memory: 512,
        },
        ram_backed: false,
    };
    let facts = Facts {
        same: Vec::new(),
        targets: vec![found; STORAGES],
    };
    let bound = plan::bind(plan, &facts).expect("the files fit");
    // Runs that read and write, and those that only read.
    let looked_at = bound.distinct_runs();
    assert_eq!(looked_at.len(), 2);
    for id in looked_at {
        assert_eq!(bound.run(id).slots(), 100 * STORAGES as u32);
    }
}

/// Looking up the nearest option takes a tenth of a millisecond: a file that is no job has an unknown one in each line.
#[test]
fn of_many_unknown_options_the_first_thousand_are_looked_up() {
    let text = format!("[job]\n{}", "bbs=4k\n".repeat(3000));
    let input = lang::fio::Input::Text {
        name: "job".to_owned(),
        bytes: text.into_bytes(),
    };
    let files = MemoryFiles::default();
    let reading = lang::fio::read(&[input], &[], &Environment::bare(&files));
    let found = reading.diagnostics.iter().map(|one| format!("{one:?}"));
    let is_unknown = |one: &String| one.contains("unknown option");
    let unknown: Vec<String> = found.filter(is_unknown).collect();
    assert_eq!(unknown.len(), 3000);
    let looked_up = unknown.iter().filter(|one| one.contains("did you mean"));
    assert_eq!(looked_up.count(), 1000);
}
