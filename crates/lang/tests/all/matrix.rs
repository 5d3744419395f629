//! Every parameter of the language does what its declared status says: none is accepted and ignored.
use lang::vdbench::{self, InputFile, Parameter, Reading, Section, Status};
use lang::{Environment, MemoryFiles};

/// A value that differs from the default, with what it needs beside it. Where it is `1` it is left
/// out of the list; it is empty for what the job below cannot do without.
const EXAMPLES: &[(Section, &str, &str)] = &[
    (Section::General, "concatenatesds", "yes"),
    (Section::General, "compression", "50"),
    (Section::General, "compratio", "2"),
    (Section::General, "compressionseed", "7"),
    (Section::General, "dedupratio", "2,dedupunit=4k"),
    (Section::General, "dedupsets", "10%,dedupunit=4k"),
    (Section::General, "deduphotsets", "(2,4),dedupunit=4k"),
    (Section::General, "dedupflipflop", "yes,dedupunit=4k"),
    (Section::General, "dedupacross", "no,dedupunit=4k"),
    (Section::General, "dedupunit", "4k"),
    (Section::General, "pattern", "four"),
    (Section::General, "data_errors", "7"),
    (Section::General, "validate", "yes"),
    (Section::General, "formatxfersize", "64k"),
    (Section::General, "formatsds", "yes"),
    (Section::General, "showlba", "yes"),
    (Section::General, "report", "host_detail"),
    (Section::General, "messagescan", "no"),
    (Section::General, "journal", "yes"),
    (Section::General, "loop", "3"),
    (Section::Host, "hd", ""),
    (Section::Host, "system", "localhost"),
    (Section::Host, "vdbench", "/opt/vdbench"),
    (Section::Host, "shell", "ssh,user=me"),
    (Section::Host, "jvms", "2"),
    (Section::Host, "clients", "2"),
    (Section::ReplayGroup, "rg", ""),
    (Section::Storage, "sd", ""),
    (Section::Storage, "host", "localhost"),
    (Section::Storage, "lun", ""),
    (Section::Storage, "count", "(1,2)"),
    (Section::Storage, "size", "512m"),
    (Section::Storage, "threads", "3"),
    (Section::Storage, "hitarea", "2m"),
    (Section::Storage, "openflags", "o_direct"),
    (Section::Storage, "range", "(0,50)"),
    (Section::Storage, "align", "64k"),
    (Section::Storage, "offset", "64k"),
    (Section::Storage, "dedupratio", "2,dedupunit=4k"),
    (Section::Storage, "dedupunit", "4k"),
    (Section::Storage, "dedupsets", "7,dedupunit=4k"),
    (Section::Storage, "deduphotsets", "(2,4),dedupunit=4k"),
    (Section::Storage, "dedupflipflop", "yes,dedupunit=4k"),
    (Section::Storage, "dedupacross", "no,dedupunit=4k"),
    (Section::Workload, "wd", ""),
    (Section::Workload, "sd", "sd2"),
    (Section::Workload, "skew", "100"),
    (Section::Workload, "xfersize", "8k"),
    (Section::Workload, "rdpct", "30"),
    (Section::Workload, "writepct", "30"),
    (Section::Workload, "range", "(0,50)"),
    (Section::Workload, "hotband", "(10,20)"),
    (Section::Workload, "seekpct", "eof"),
    (Section::Workload, "stride", "(64k,128k)"),
    (Section::Workload, "priority", "1"),
    (Section::Workload, "iorate", "100,priority=1"),
    (Section::Workload, "rhpct", "20"),
    (Section::Workload, "whpct", "20"),
    (Section::Workload, "host", "localhost"),
    (Section::Workload, "openflags", "o_direct"),
    (Section::Workload, "user", "myclass"),
    (Section::Workload, "threads", "4"),
    (Section::Workload, "streams", "2"),
    (Section::Run, "rd", ""),
    (Section::Run, "wd", ""),
    (Section::Run, "sd", "sd2"),
    (Section::Run, "iorate", "5000"),
    (Section::Run, "curve", "(20,40)"),
    (Section::Run, "maxdata", "1g"),
    (Section::Run, "maxdataread", "1g"),
    (Section::Run, "maxdatawritten", "1g"),
    (Section::Run, "stopcurve", "5"),
    (Section::Run, "elapsed", "40"),
    (Section::Run, "interval", "5"),
    (Section::Run, "warmup", "10"),
    (Section::Run, "pause", "10"),
    (Section::Run, "xfersize", "8k"),
    (Section::Run, "threads", "3"),
    (Section::Run, "rdpct", "30"),
    (Section::Run, "rhpct", "30"),
    (Section::Run, "whpct", "30"),
    (Section::Run, "seekpct", "eof"),
    (Section::Run, "hitarea", "2m"),
    (Section::Run, "compratio", "2"),
    (Section::Run, "compression", "50"),
    (Section::Run, "distribution", "deterministic"),
    (Section::Run, "openflags", "o_direct"),
];

/// Sections of raw jobs. The parameters of file systems are read, checked and listed as a whole, and
/// a run refuses the section.
const SECTIONS: [Section; 5] = [
    Section::General,
    Section::Host,
    Section::Storage,
    Section::Workload,
    Section::Run,
];

/// Honoured, and rightly without any effect on a job of one host: they choose the host that is used
/// anyway.
const CHOOSE_THE_ONLY_HOST: [(Section, &str); 4] = [
    (Section::Host, "system"),
    (Section::Host, "user"),
    (Section::Storage, "host"),
    (Section::Workload, "host"),
];

/// Check only, and an error in the job below, as in the original: they belong to file systems.
const OF_OTHER_JOBS: [(Section, &str); 6] = [
    (Section::Run, "fsd"),
    (Section::Run, "fwd"),
    (Section::Run, "fwdrate"),
    (Section::Run, "operations"),
    (Section::Run, "foroperations"),
    (Section::Run, "format"),
];

fn example(section: Section, parameter: &Parameter) -> Option<&'static str> {
    let name = parameter.name();
    EXAMPLES
        .iter()
        .find(|(of, known, _)| *of == section && *known == name)
        .map(|(_, _, value)| *value)
}

/// A job with `assignment` in the definition of the section; later words of a definition win.
fn job(section: Section, assignment: &str) -> String {
    let at = |of: Section| {
        if of == section && !assignment.is_empty() {
            format!(",{assignment}")
        } else {
            String::new()
        }
    };
    let of_workload = section == Section::Workload && assignment.starts_with("threads");
    let general = match section {
        Section::General if !assignment.is_empty() => format!("{assignment}\n"),
        // Threads of a workload are those of concatenated storage.
        _ if of_workload => "concatenatesds=yes\n".to_owned(),
        _ => String::new(),
    };
    let threads = if assignment.starts_with("concatenatesds") {
        ",threads=4"
    } else {
        ""
    };
    // A hit area matters where something hits it, a curve where there is one.
    let uses_hits = assignment.starts_with("hitarea");
    let hits = if uses_hits { ",rhpct=10" } else { "" };
    let rate = if ["curve=", "stopcurve="]
        .iter()
        .any(|name| assignment.starts_with(name))
    {
        "curve"
    } else {
        "max"
    };
    format!(
        "{general}hd=localhost{host}\nsd=sd1,lun=/data/a,size=1g{storage}\nsd=sd2,lun=/data/c,size=1g\n\
         wd=wd1,sd=sd1*{hits}{workload}\nrd=rd1,wd=wd1,iorate={rate},elapsed=20{threads}{run}\n",
        host = at(Section::Host),
        storage = at(Section::Storage),
        workload = at(Section::Workload),
        run = at(Section::Run),
    )
}

pub(crate) fn read(text: &str) -> Reading {
    let mut files = MemoryFiles::default();
    files.0.insert("four".to_owned(), b"abcd".to_vec());
    let input = InputFile::Text {
        name: "job".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    vdbench::read(&[input], &Environment::bare(&files))
}

/// What a run is made of. The values for `explain` are left out: they show what was written even
/// if nobody looked at it; and so are places in the text.
fn effect(reading: &Reading) -> String {
    let mut plan = reading.plan.clone().expect("the job is right");
    plan.values.clear();
    for target in &mut plan.targets {
        target.origin = plan::Origin::Default(String::new());
    }
    for run in &mut plan.runs {
        run.origin = plan::Origin::Default(String::new());
    }
    format!("{plan:?}")
}

fn has(reading: &Reading, code: &str) -> bool {
    reading.diagnostics.iter().any(|found| found.code == code)
}

#[test]
fn every_parameter_does_what_its_status_says() {
    let mut failures = Vec::new();
    for section in SECTIONS {
        for parameter in section.parameters() {
            let name = parameter.name();
            let value = match example(section, parameter) {
                Some("") => continue,
                Some(value) => value,
                None => "1",
            };
            let assignment = format!("{name}={value}");
            let text = job(section, &assignment);
            let reading = read(&text);
            let is_refused = has(&reading, "vdb-0200");
            let is_noted = has(&reading, "vdb-0202");
            let is_blocked = !reading.run_blockers.is_empty();
            let is_rejected = reading.has_errors() && !is_refused;
            let without = if name == "concatenatesds" {
                text.replace(&assignment, "concatenatesds=no")
            } else if (section, name) == (Section::Workload, "threads") {
                text.replace(&assignment, "threads=5")
            } else if name == "hitarea" || name.ends_with("curve") {
                text.replace(&format!(",{assignment}"), "")
            } else {
                job(section, "")
            };
            let is_honoured = || {
                let hosts_only = CHOOSE_THE_ONLY_HOST.contains(&(section, name));
                !is_noted && (hosts_only || effect(&reading) != effect(&read(&without)))
            };
            let (is_true, status) = match parameter.status {
                Status::Honoured => (
                    !is_refused && !is_rejected && !is_blocked && is_honoured(),
                    "honoured",
                ),
                Status::Translated(_) => (is_noted && !is_refused && !is_rejected, "translated"),
                Status::CheckOnly => {
                    let is_other_job = OF_OTHER_JOBS.contains(&(section, name)) && is_rejected;
                    ((is_blocked || is_other_job) && !is_refused, "check only")
                }
                Status::Refused(_) => (is_refused, "refused"),
            };
            if !is_true {
                failures.push(format!(
                    "{section:?} {assignment} is not {status}: refused={is_refused} noted={is_noted} \
                     rejected={is_rejected} blocked={is_blocked} {:?}",
                    reading.diagnostics.first().map(|found| &found.message)
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Values of honoured parameters that a run cannot carry out, as their entries on the page say, and
/// their neighbours that it can.
#[test]
fn values_that_are_check_only_block_a_run() {
    let job = |general: &str, workload: &str, run: &str| {
        format!("{general}sd=sd1,lun=/data/a\nwd=wd1,sd=sd1{workload}\nrd=r,wd=wd1{run}\n")
    };
    for (text, is_blocked) in [
        (job("data_errors=stop\n", "", ",iorate=max"), false),
        (job("data_errors=(5,10)\n", "", ",iorate=max"), false),
        (job("data_errors=remove_device\n", "", ",iorate=max"), false),
        (job("", "", ",iorate=500,distribution=uniform"), false),
        (job("", "", ",iorate=500,distribution=spike"), false),
        (job("", "", ",iorate=(500,5),distribution=variable"), false),
        (job("", ",seekpct=seqnz", ",iorate=max"), false),
        (job("", "", ",iorate=max,maxdata=1g"), false),
        (job("", "", ",iorate=max,maxdata=2"), false),
        (
            job(
                "hd=a,system=localhost\nhd=b,system=localhost\n",
                "",
                ",iorate=max",
            ),
            false,
        ),
        (
            job(
                "hd=a,system=localhost\nhd=b,system=localhost\n",
                "",
                ",iorate=max",
            )
            .replace("lun=/data/a", "host=a,lun=/data/a,host=b,lun=/data/b"),
            true,
        ),
    ] {
        let reading = read(&text);
        assert!(!reading.has_errors(), "{text}: {:?}", reading.diagnostics);
        assert_eq!(!reading.run_blockers.is_empty(), is_blocked, "{text}");
    }
}

/// Each storage definition is a target of the host that it is bound to, and one of each where it is bound to none.
#[test]
fn targets_are_those_of_their_hosts() {
    let reading = read(
        "hd=a,system=10.0.0.1,user=root\nhd=b,system=10.0.0.2\nhd=c,system=10.0.0.2\nhd=d,system=localhost\n\
         sd=sd1,hd=a,lun=/data/b,size=1g\nsd=sd2,lun=/data/c,size=1g,threads=4\n\
         wd=wd1,sd=sd*,xfersize=4k\nrd=r,wd=wd1,iorate=max\n",
    );
    assert!(reading.run_blockers.is_empty() && !reading.has_errors());
    let plan = reading.plan.expect("the job is right");
    let hosts: Vec<_> = plan
        .hosts
        .iter()
        .map(|one| (&*one.name, &one.reach))
        .collect();
    let reach = |system: &str, user: Option<&str>| {
        let user = user.map(str::to_owned);
        let system = system.to_owned();
        Some(plan::Reach { system, user })
    };
    let (a, b) = (reach("10.0.0.1", Some("root")), reach("10.0.0.2", None));
    assert_eq!(hosts, [("a", &a), ("b", &b), ("localhost", &None)]);
    let targets: Vec<_> = plan
        .targets
        .iter()
        .map(|one| (&*one.name, &*one.host))
        .collect();
    let expected = [
        ("sd1", "a"),
        ("sd2@a", "a"),
        ("sd2@b", "b"),
        ("sd2@localhost", "localhost"),
    ];
    assert_eq!(targets, expected);
    let each = read(
        "hd=a,system=10.0.0.1\nhd=b,system=10.0.0.2\nsd=sd1,host=a,lun=/data/a,host=b,lun=/data/b,size=1g\n\
         wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n",
    );
    assert!(each.run_blockers.is_empty() && !each.has_errors());
    let each = each.plan.unwrap();
    // What is missing is made under each path.
    let made = each.templates[0].streams.iter();
    let made: Vec<_> = made.map(|stream| stream.targets.clone()).collect();
    assert_eq!(made, [[plan::TargetId(0)], [plan::TargetId(1)]]);
    let paths: Vec<_> = each.targets.into_iter().map(|one| one.path).collect();
    assert_eq!(
        paths,
        [
            std::path::Path::new("/data/a"),
            std::path::Path::new("/data/b")
        ]
    );
    // A slot on each of the four hosts of the text, two of which are in one place.
    let streams = &plan.templates[1].streams;
    let shared = streams.iter().filter(|one| one.name == "wd1.sd2");
    let places: Vec<_> = shared.map(|one| plan.host_of(one)).collect();
    assert_eq!(places, [Some(0), Some(1), Some(1), Some(2)]);
}

#[test]
fn amounts_that_the_releases_read_differently_are_noted() {
    use plan::DataLimit::{Bytes, TimesTargets};
    for (limit, expected, is_noted) in [
        ("2", TimesTargets(2.0), true),
        ("100", TimesTargets(100.0), true),
        ("50%", TimesTargets(0.5), false),
        ("250%", TimesTargets(2.5), false),
        ("101", Bytes(101), false),
        ("10g", Bytes(10 << 30), false),
    ] {
        let text = format!(
            "sd=sd1,lun=/data/a\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max,maxdataread={limit}\n"
        );
        let reading = read(&text);
        assert!(
            reading.run_blockers.is_empty(),
            "{:?}",
            reading.run_blockers
        );
        assert_eq!(has(&reading, "vdb-0202"), is_noted, "{limit}");
        let plan = reading.plan.expect("the job is right");
        assert_eq!(plan.runs[0].stop.read_bytes, Some(expected), "{limit}");
    }
}

#[test]
fn gaps_beside_a_spike_are_noted() {
    for (distribution, is_noted) in [
        ("spike", false),
        ("(deterministic,spike)", false),
        ("(spike,exponential)", true),
        ("(uniform,spike)", true),
    ] {
        let text = format!(
            "sd=sd1,lun=/data/a\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=9,distribution={distribution}\n"
        );
        assert_eq!(has(&read(&text), "vdb-0202"), is_noted, "{distribution}");
    }
}

/// A run refuses what belongs to file systems and replay, whatever the parameter.
#[test]
fn whole_sections_that_are_not_built_block_a_run() {
    let trees = "fsd=fsd1,anchor=/data/t,depth=1,width=1,files=10\nfwd=fwd1,fsd=fsd1\nrd=r,fwd=fwd1,fwdrate=max\n";
    let reading = read(trees);
    assert!(!reading.has_errors(), "{:?}", reading.diagnostics);
    assert!(!reading.listing.is_empty() && !reading.run_blockers.is_empty());
    for section in [
        Section::FileSystem,
        Section::FileWorkload,
        Section::ReplayGroup,
    ] {
        for parameter in section.parameters() {
            let status = parameter.status;
            let is_kept = matches!(status, Status::CheckOnly | Status::Refused(_));
            assert!(is_kept, "{section:?} {}: {status:?}", parameter.name());
        }
    }
}
