//! Jobs once directly and once on one host that a launcher reaches, which is this machine: the same files are left, the same
//! is said, and the end is the same.
use crate::lab::{Ended, FATHOM, Lab, ended};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Runs what it is given after the name of a host.
const LAUNCHER: &str = "#!/bin/sh\nshift\nexec \"$@\"\n";

struct Case<'a> {
    name: &'a str,
    files: &'a [(&'a str, &'a str)],
    words: &'a [&'a str],
    /// A moment of the door, and what is done then.
    moment: &'a str,
    exit: i32,
    says: &'a [&'a str],
    /// A file that is left, with the same text.
    leaves: Option<&'a str>,
}

const CASES: &[Case<'_>] = &[
    Case {
        name: "lints that are errors",
        files: &[(
            "job",
            "sd=sd1,lun=file\nsd=sd2,lun=./file\nwd=wd1,sd=sd*,xfersize=4k,rdpct=100\nrd=r,wd=wd1,iorate=50,elapsed=2\n",
        )],
        words: &["run", "job", "-o", "out", "--lint", "same-device=error"],
        moment: "",
        exit: 2,
        says: &["vdb-0013"],
        leaves: None,
    },
    Case {
        name: "lints that warn",
        files: &[(
            "job",
            "sd=sd1,lun=file\nsd=sd2,lun=./file\nwd=wd1,sd=sd*,xfersize=4k,rdpct=100\nrd=r,wd=wd1,iorate=50,elapsed=2\n",
        )],
        words: &["run", "job", "-o", "out"],
        moment: "",
        exit: 0,
        says: &["warning[vdb-0013]"],
        leaves: None,
    },
    Case {
        name: "files that are to go again",
        files: &[(
            "job.fio",
            "[j]\nfilename=made:file\nrw=write\nbs=4k\nsize=64k\nunlink=1\n",
        )],
        words: &["run", "job.fio", "-o", "out", "--overwrite", "file"],
        moment: "",
        exit: 0,
        says: &["`file` is left in place: it was there before"],
        leaves: None,
    },
    Case {
        name: "what was written is kept for a later check",
        files: &[(
            "job.fio",
            "[j]\nfilename=data\nrw=write\nbs=4k\nsize=64k\nverify=crc32c\ndo_verify=0\nverify_state_save=1\n",
        )],
        words: &["run", "job.fio", "-o", "out"],
        moment: "",
        exit: 0,
        says: &[],
        leaves: Some("local-j-0-verify.state"),
    },
    Case {
        name: "runs that are repeated",
        files: &[(
            "job.fio",
            "[j]\nfilename=data\nrw=randread\nbs=4k\nsize=64k\n",
        )],
        words: &["run", "job.fio", "-o", "out", "--repeat", "2"],
        moment: "",
        exit: 0,
        says: &[],
        leaves: None,
    },
    Case {
        name: "files that are made, checked, and loops over them",
        files: &[(
            "job",
            "data_errors=1\nsd=sd1,lun=one,size=1m\nsd=sd2,lun=two,size=1m\n\
             wd=w1,sd=sd*,xfersize=(4k,50,8k,50),rdpct=50,skew=70\nwd=w2,sd=sd1,xfersize=4k,seekpct=0\n\
             rd=r,wd=w*,iorate=(100,200),elapsed=2,threads=(1,2),startcmd=\"echo it begins\",openflags=o_direct\n",
        )],
        words: &["run", "job", "-o", "out"],
        moment: "",
        exit: 0,
        says: &[],
        leaves: None,
    },
    Case {
        name: "a file that holds something",
        files: &[(
            "job",
            "sd=sd1,lun=file\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\nrd=r,wd=wd1,iorate=50,elapsed=2\n",
        )],
        words: &["run", "job", "-o", "out"],
        moment: "",
        exit: 3,
        says: &["may not be overwritten"],
        leaves: None,
    },
    Case {
        name: "a word that names nothing",
        files: &[(
            "job",
            "sd=sd1,lun=new,size=1m\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\nrd=r,wd=wd1,iorate=50,elapsed=2\n",
        )],
        words: &["run", "job", "-o", "out", "--overwrite", "news"],
        moment: "",
        exit: 2,
        says: &["`--overwrite news` names no target of this job"],
        leaves: None,
    },
    Case {
        name: "a file that is written over and recorded",
        files: &[(
            "job.fio",
            "[j]\nfilename=file\nrw=write\nbs=4k\nsize=1m\nrefill_buffers=1\nbuffer_compress_percentage=50\n",
        )],
        words: &["run", "job.fio", "-o", "out", "--overwrite", "file"],
        moment: "",
        exit: 0,
        says: &[],
        leaves: None,
    },
    Case {
        name: "failures that a job bears",
        files: &[(
            "job.fio",
            "[j]\nfilename=file\nrw=read\nbs=4k\nsize=1m\nerror_dump=1\nignore_error=EIO\nend_fsync=1\n[k]\nstonewall\nfilename=file\nrw=randread\nrate_iops=100\nruntime=1\nsize=1m\n",
        )],
        words: &["run", "job.fio", "-o", "out"],
        moment: "",
        exit: 0,
        says: &[],
        leaves: None,
    },
    Case {
        name: "another file at a path",
        files: &[
            ("job.fio", "[j]\nfilename=data\nrw=write\nbs=4k\nsize=64k\n"),
            ("theirs", "a letter\n"),
        ],
        words: &["run", "job.fio", "-o", "out"],
        moment: "open=mv theirs data",
        exit: 3,
        says: &["data` was missing when it was examined"],
        leaves: None,
    },
];

/// What is only said when other work leaves this machine no time.
const OF_A_SLOW_MACHINE: [&str; 6] = [
    "could not keep up",
    " was slow: intervals waited",
    " stood still until ",
    " was silent for ",
    "workers waited ",
    "operations that hang were not looked for",
];

fn carry_out(case: &Case<'_>, on_host: bool) -> (Lab, Ended) {
    let lab = Lab::new();
    lab.write("file", vec![7; 1 << 20]);
    lab.write_script("launch", LAUNCHER);
    std::fs::create_dir(lab.path("home")).unwrap();
    for (name, text) in case.files {
        if let Some(folder) = Path::new(name).parent() {
            std::fs::create_dir_all(lab.path("").join(folder)).unwrap();
        }
        lab.write(name, text);
    }
    let mut fathom = lab.command(FATHOM);
    fathom.args(case.words).env("HOME", lab.path("home"));
    if !case.moment.is_empty() {
        fathom.env("FATHOM_TEST_MOMENT", case.moment);
    }
    if on_host {
        fathom.args(["--hosts", "here", "--launcher", "./launch {host}"]);
    }
    let ended = ended(&mut fathom);
    (lab, ended)
}

/// Names of files with their lengths, but for results and what belongs to a host. What is written differs each time.
fn left(lab: &Lab) -> BTreeMap<PathBuf, usize> {
    let own = ["out", "home", ".cache"].map(|name| lab.path(name));
    let all = lab.everything().into_iter();
    let all = all.filter(|(path, _)| !own.iter().any(|own| path.starts_with(own)));
    let root = lab.path("");
    all.map(|(path, bytes)| (path.strip_prefix(&root).unwrap().to_owned(), bytes.len()))
        .collect()
}

/// Without numbers and the host. One machine does not ask how far apart clocks are, and a host that has to be reached does
/// not know that the results go to its own storage.
fn said(lab: &Lab, ended: &Ended) -> Vec<String> {
    let apart = ["hosts start together", "results go to"];
    let lines = ended.err.lines();
    let is_left_out = |line: &&str| {
        let mut parts = apart.iter().chain(&OF_A_SLOW_MACHINE);
        parts.any(|part| line.contains(part))
    };
    let lines = lines.filter(|line| !is_left_out(line));
    let masked = |line: &str| -> String {
        let line = line.replace("@here", "").replace("host `here`: ", "");
        let line = line.replace("here:", "");
        let line = line.replace(&lab.path("").display().to_string(), "");
        let digit = |c: char| if c.is_ascii_digit() { '#' } else { c };
        line.chars().map(digit).collect()
    };
    lines.map(masked).collect()
}

/// Of each run what does not depend on time: name, loops, slots, errors. A rate may be one of what was reached.
fn results(lab: &Lab) -> Vec<String> {
    let text = lab.text_if_there("out/summary.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let wanted = ["run", "loops", "slots", "errors"];
    let places = wanted.map(|wanted| names.iter().position(|name| *name == wanted));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let fields = places.iter().flatten().map(|place| fields[*place]);
        fields.collect::<Vec<_>>().join(",")
    };
    lines.map(row).collect()
}

fn check_alike(case: &Case<'_>) -> [(Lab, Ended); 2] {
    let name = case.name;
    let ((here, direct), (there, spread)) = std::thread::scope(|scope| {
        let spread = scope.spawn(|| carry_out(case, true));
        (carry_out(case, false), spread.join().unwrap())
    });
    assert_eq!(direct.code, spread.code, "{name}: {}", spread.all());
    assert_eq!(said(&here, &direct), said(&there, &spread), "{name}");
    assert_eq!(results(&here), results(&there), "{name}");
    assert_eq!(left(&here), left(&there), "{name}: {}", spread.err);
    [(here, direct), (there, spread)]
}

/// Fixtures with many runs: each takes minutes.
const LONG: [&str; 4] = ["copies", "loops", "overrides", "references"];

/// Those that are refused say the same, too. Some name hosts themselves.
#[test]
fn fixtures_of_vdbench_end_alike() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../lang/tests/vdbench");
    let parts: Vec<_> = texts(&format!("{folder}/parts"));
    let parts: Vec<(String, &str)> = parts
        .iter()
        .map(|(name, text)| (format!("parts/{name}"), text.as_str()))
        .collect();
    let mut count = 0;
    for (file, text) in texts(folder) {
        let Some(name) = file.strip_suffix(".parm") else {
            continue;
        };
        if LONG.contains(&name) || text.contains("hd=") {
            continue;
        }
        let files = parts.iter().map(|(name, text)| (name.as_str(), *text));
        let files: Vec<_> = files.chain([("job", text.as_str())]).collect();
        check_alike(&Case {
            name,
            files: &files,
            words: &["run", "job", "-o", "out", "--backend", "null", "-e2"],
            moment: "",
            exit: 0,
            says: &[],
            leaves: None,
        });
        count += 1;
    }
    assert!(count >= 15, "{count}");
}

fn texts(folder: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.is_file());
    let mut texts: Vec<_> = files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    texts.sort();
    texts
}

#[test]
fn one_host_does_what_this_machine_does() {
    for case in CASES {
        let [(here, direct), (there, spread)] = check_alike(case);
        direct.expect(case.exit).says(case.says);
        spread.expect(case.exit).says(case.says);
        if let Some(file) = case.leaves {
            assert_eq!(here.text(file), there.text(file));
        }
    }
}

/// One host says nothing, one takes no copy, and one waits in what its shell does first.
const SILENT: &str = "#!/bin/sh\ncase $1 in\na) ;;\nb) printf '\\001fathom lacks\\002Linux %s\\n' $(uname -m) ;;\n\
    c) echo loading modules >&2 ;;\nesac\nsleep 300\n";

#[test]
fn a_host_that_falls_silent_while_it_joins_is_named_with_what_was_waited_for() {
    let lab = Lab::new();
    lab.write_script("launch", SILENT);
    lab.write(
        "job",
        "sd=sd1,lun=file\nwd=wd1,sd=sd1,xfersize=4k\nrd=r,wd=wd1,iorate=50,elapsed=2\n",
    );
    let words = [
        "run",
        "job",
        "-o",
        "out",
        "--hosts",
        "a,b,c",
        "--launcher",
        "./launch {host}",
    ];
    let mut fathom = lab.command(FATHOM);
    fathom.args(words).args(["--host-timeout", "2s"]);
    ended(&mut fathom).expect(2).says(&[
        "host `a`: the host does not answer: its shell was waited for in vain for 10 s",
        "host `b`: the host does not answer: the copy of this program there was waited for in vain",
        "host `c`: the host does not answer: its shell was waited for in vain for 10 s",
        "before that it said: loading modules",
    ]);
    assert!(!lab.path("out").exists());
}
