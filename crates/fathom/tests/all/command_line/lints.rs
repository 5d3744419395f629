//! Lints as people meet them: found by `check`, said by a run, switched by name and by code.
use crate::lab::{FATHOM, Lab, ended, job, skip};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::{FileExt, symlink};

const MIB: u64 = 1 << 20;

/// Name, code, and a job that has the finding, beside others.
const FOUND: &[(&str, &str, &str)] = &[
    (
        "lost-text",
        "vdb-0010",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max elapsed=60\n",
    ),
    (
        "downward-range",
        "vdb-0011",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max,threads=(9-1,1)\n",
    ),
    (
        "maybe-variable",
        "vdb-0012",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=x$y,wd=wd1,iorate=max\n",
    ),
    (
        "same-device",
        "vdb-0013",
        "sd=sd1,lun=full\nsd=sd2,lun=link\nwd=wd1,sd=sd*\nrd=r,wd=wd1,iorate=max\n",
    ),
    (
        "surprising-value",
        "vdb-0014",
        "report_run_totals=maybe\nsd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n",
    ),
    (
        "long-warmup",
        "vdb-0015",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max,elapsed=10,warmup=60\n",
    ),
    (
        "cached-storage",
        "vdb-0016",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n",
    ),
    (
        "beyond-storage",
        "vdb-0017",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1,range=(0,2m)\nrd=r,wd=wd1,iorate=max\n",
    ),
    (
        "few-samples",
        "vdb-0019",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=5,elapsed=60\n",
    ),
    (
        "unwritten-file",
        "vdb-0020",
        "sd=sd1,lun=holes\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n",
    ),
    (
        "error-budget",
        "vdb-0021",
        "data_errors=50\nsd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=1000,elapsed=600\n",
    ),
    (
        "odd-rate",
        "vdb-0022",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=1k,elapsed=60\n",
    ),
    (
        "results-on-storage",
        "vdb-0023",
        "sd=sd1,lun=full\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max\n",
    ),
];

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("full", vec![7; MIB as usize]);
    symlink(lab.path("full"), lab.path("link")).unwrap();
    let holes = File::create(lab.path("holes")).unwrap();
    holes.set_len(MIB).unwrap();
    holes.write_all_at(&[7; 4096], 0).unwrap();
    lab
}

/// Codes that `check` finds with a severity, and its exit code.
fn codes(lab: &Lab, words: &[&str], severity: &str) -> (Vec<String>, i32) {
    let mut all = vec!["check", "--json", "job"];
    all.extend(words);
    let ended = lab.fathom(&all);
    let value: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{ended:?}"));
    let found = value["diagnostics"].as_array().unwrap().iter();
    let found = found.filter(|one| one["severity"] == severity);
    let codes = found.map(|one| one["code"].as_str().unwrap().to_owned());
    (codes.collect(), ended.code.unwrap())
}

#[test]
fn each_is_found_and_switched_by_name_and_by_code() {
    let lab = lab();
    for (name, code, text) in FOUND {
        lab.write("job", text);
        let (warned, exit) = codes(&lab, &[], "warning");
        if *name == "unwritten-file" && !warned.iter().any(|one| one == code) {
            skip("this file system does not tell what of a file was written");
            continue;
        }
        assert!(warned.iter().any(|one| one == code), "{name}: {warned:?}");
        assert_eq!(exit, 0, "{name}");
        for off in [
            format!("{name}=off"),
            format!("{code}=off"),
            "all=off".to_owned(),
        ] {
            let (warned, exit) = codes(&lab, &["--lint", &off], "warning");
            assert!(!warned.iter().any(|one| one == code), "{off}: {warned:?}");
            assert_eq!(exit, 0, "{off}");
        }
        let fatal = format!("{name}=error");
        let (refused, exit) = codes(&lab, &["--lint", &fatal], "error");
        assert_eq!((refused, exit), (vec![(*code).to_owned()], 2), "{name}");
        let on = format!("{name}=on");
        let (warned, _) = codes(&lab, &["--lint", "all=off", "--lint", &on], "warning");
        assert_eq!(warned, [*code], "{name}");
        lab.fathom(&["run", "job", "--lint", &fatal])
            .expect(2)
            .says(&[code]);
        lab.fathom(&["vdbench", "-f", "job", "--lint", &fatal])
            .expect(2)
            .says(&[code]);
    }
    assert_eq!(lab.names("."), ["full", "holes", "job", "link"]);
}

/// The list of the command is the list of the language; this one needs a limit of its own.
#[test]
fn a_limit_is_named_with_the_way_to_raise_it() {
    let lab = Lab::new();
    let storages: String = (0..60)
        .map(|number| format!("sd=sd{number},lun=disk{number},size=1m\n"))
        .collect();
    lab.write(
        "job",
        format!("{storages}wd=wd1,sd=*\nrd=r,wd=wd1,iorate=max,elapsed=2,interval=1\n"),
    );
    let limited = |rest: &str| {
        let script = format!("ulimit -n 64; exec {FATHOM} {rest}");
        ended(lab.command("/bin/sh").args(["-c", &script]))
    };
    limited("check job").expect(0).says(&[
        "warning[vdb-0018]",
        "needs 60 files open at a time, and `ulimit -n` leaves room for",
        "raise it with `ulimit -n N`",
    ]);
    // A soft limit is raised by a run, so a check does not count it.
    let script = format!("ulimit -Sn 64; exec {FATHOM} check job");
    let raised = ended(lab.command("/bin/sh").args(["-c", &script])).expect(0);
    assert!(!raised.err.contains("vdb-0018"), "{}", raised.err);
    limited("run job --lint kernel-limits=error")
        .expect(2)
        .says(&["error[vdb-0018]"]);
    let quiet = limited("check job --lint kernel-limits=off").expect(0);
    assert!(!quiet.err.contains("vdb-0018"), "{}", quiet.err);
    let mut names: Vec<&str> = FOUND.iter().map(|(name, ..)| *name).collect();
    names.push("kernel-limits");
    names.sort_unstable();
    let mut all: Vec<&str> = lang::lints().iter().map(|lint| lint.name).collect();
    all.sort_unstable();
    assert_eq!(names, all);
}

/// Far more than any host allows, so that nothing has to be set for it.
#[test]
fn requests_of_native_aio_have_a_limit_of_their_own() {
    let lab = Lab::new();
    let storages: String = (0..60)
        .map(|number| format!("sd=sd{number},lun=disk{number},size=1m\n"))
        .collect();
    lab.write(
        "job",
        format!("{storages}wd=wd1,sd=*\nrd=r,wd=wd1,iorate=max,threads=262144\n"),
    );
    let arguments = "run job --backend aio --lint kernel-limits=error";
    let refused = lab.fathom(&arguments.split(' ').collect::<Vec<_>>());
    refused.expect(2).says(&[
        "error[vdb-0018]",
        "`fs.aio-max-nr` leaves room for",
        "raise it with `sysctl fs.aio-max-nr=N`",
    ]);
}

#[test]
fn a_run_says_what_it_found_and_goes_on() {
    let lab = lab();
    lab.write("job", job("lun=full", "iorate=50,elapsed=2,interval=1"));
    let said = ["vdb-0016", "vdb-0023"];
    let common = ["--overwrite", "full", "--backend", "sync"];
    lab.fathom(&[&["run", "job", "-o", "out"], &common[..]].concat())
        .expect(0)
        .says(&said);
    for backend in ["null", "sim"] {
        for verb in [&["run", "job"][..], &["vdbench", "-f", "job"]] {
            let ended = lab
                .fathom(&[verb, &["-o", backend, "--backend", backend]].concat())
                .expect(0);
            assert!(!ended.err.contains("vdb-0016"), "{}", ended.err);
        }
    }
    // Whoever reads the report later has not seen the console.
    let report = lab.text("out/report.html");
    assert!(said.iter().all(|code| report.contains(code)));
    let quiet = lab
        .fathom(&[&["run", "job", "--lint", "all=off"], &common[..]].concat())
        .expect(0);
    assert!(!quiet.err.contains("vdb-00"), "{}", quiet.err);
    lab.fathom(&["curve", "full", "--lint", "results-on-storage=error"])
        .expect(2)
        .says(&["vdb-0023"]);
    lab.fathom(&["run", "job", "--lint", "cached=off"])
        .expect(2)
        .says(&["no lint is named `cached`"]);
}

#[test]
fn where_results_go_is_one_line_and_nothing_of_a_refused_run() {
    let lab = Lab::new();
    let said = |ended: &crate::lab::Ended| {
        let lines = ended.err.lines().map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    lab.write("theirs", "a letter\n".repeat(9000));
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.write("job.fio", "[j]\nfilename=disk\nsize=64k\nrw=write\n");
    let only = ["--lint", "all=off", "--lint", "results-on-storage=on"];
    for job in ["job", "job.fio"] {
        let ended = lab.fathom(&[&["run", job], &only[..]].concat()).expect(0);
        let lines = said(&ended);
        let warned = lines.iter().filter(|line| line.starts_with("warning["));
        let warned: Vec<&String> = warned.collect();
        assert_eq!(warned.len(), 1, "{lines:?}");
        assert!(warned[0].contains(
            "which is on the storage under test (`disk`); write them to another disk, with `-o FOLDER`"
        ));
        assert!(!ended.err.contains(" --> "), "{lines:?}");
    }
    lab.write(
        "refused",
        job("lun=theirs", "iorate=50,elapsed=2,interval=1"),
    );
    lab.write(
        "missing",
        job("lun=nowhere/disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    std::fs::create_dir(lab.path("out")).unwrap();
    lab.write("out/report.html", "theirs");
    for (words, code) in [
        (&["run", "refused"][..], 3),
        (&["run", "missing"], 2),
        (&["run", "job", "-o", "out"], 2),
        (&["run", "job", "--overwrite", "other"], 2),
    ] {
        let ended = lab.fathom(&[words, &only[..]].concat()).expect(code);
        assert_eq!(said(&ended).len(), 1, "{words:?}: {}", ended.err);
    }
}

#[test]
fn codes_and_names_are_explained() {
    let lab = Lab::new();
    let by_name = lab.fathom(&["explain", "results-on-storage"]).expect(0);
    assert!(by_name.out.contains("Choose another folder with `-o`"));
    assert_eq!(
        lab.fathom(&["explain", "vdb-0023"]).expect(0).out,
        by_name.out
    );
    let bound = lab.fathom(&["explain", "bind-0001"]).expect(0);
    assert!(bound.out.starts_with("bind-0001\n"), "{}", bound.out);
    lab.fathom(&["explain", "vdb-9999"])
        .expect(2)
        .says(&["no diagnostic has the code"]);
}

/// `rw=randwrite` with a size and nothing else is how most begin, and it measures memory.
#[test]
fn the_usual_first_job_of_fio_is_told_of_the_page_cache() {
    let lab = Lab::new();
    let job = "[first]\nrw=randwrite\nsize=4m\nfilename=disk\n";
    let warns = |more: &str| {
        lab.write("job.fio", format!("{job}{more}\n"));
        let ended = lab.fathom(&["check", "job.fio"]).expect(0);
        ended.err.contains("fio-0311")
    };
    assert!(warns(""));
    assert!(!warns("direct=1"));
}
