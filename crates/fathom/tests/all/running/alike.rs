//! Jobs once directly and once on one host that a launcher reaches, which is this machine: the same files are left, the same
//! is said, and the end is the same.
use crate::lab::{Ended, FATHOM, Lab, ended};
use std::collections::BTreeMap;
use std::path::PathBuf;

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

fn carry_out(case: &Case<'_>, on_host: bool) -> (Lab, Ended) {
    let lab = Lab::new();
    lab.write("file", vec![7; 1 << 20]);
    lab.write("launch", LAUNCHER);
    std::fs::create_dir(lab.path("home")).unwrap();
    let mut make = std::process::Command::new("chmod");
    ended(make.args(["755".as_ref(), lab.path("launch").as_os_str()])).expect(0);
    for (name, text) in case.files {
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

#[test]
fn one_host_does_what_this_machine_does() {
    for case in CASES {
        let name = case.name;
        let (here, direct) = carry_out(case, false);
        let (there, spread) = carry_out(case, true);
        direct.expect(case.exit).says(case.says);
        let spread = spread.expect(case.exit).says(case.says);
        assert_eq!(left(&here), left(&there), "{name}: {}", spread.err);
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
    lab.write("launch", SILENT);
    let mut make = std::process::Command::new("chmod");
    ended(make.args(["755".as_ref(), lab.path("launch").as_os_str()])).expect(0);
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
