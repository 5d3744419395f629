//! Bad input of every kind: a clear message, exit 2, and nothing left behind.
use crate::lab::{Lab, job};

/// Words of a command line, and what standard error must say.
type Case<'a> = (&'a [&'a str], &'a str);

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.write("empty", "");
    let garbage: Vec<u8> = (0..4000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    lab.write("garbage", garbage);
    lab.write(
        "latin",
        b"sd=sd1,lun=caf\xe9,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9,elapsed=2,interval=1\n",
    );
    lab.write(
        "nul",
        "sd=sd1,lun=di\0sk,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9,elapsed=2,interval=1\n",
    );
    lab.write("fio", "[global]\nrw=randread\n[one]\nfilename=disk\n");
    lab.write("file", "a file where a folder belongs");
    std::fs::create_dir(lab.path("folder")).unwrap();
    lab
}

#[track_caller]
fn refuse_all(lab: &Lab, cases: &[Case<'_>]) {
    let before = lab.everything();
    for (words, text) in cases {
        let ended = lab.fathom(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}{}", ended.out, ended.err);
        assert!(
            ended.err.contains(text),
            "{words:?} says no `{text}`: {}",
            ended.err
        );
        assert!(!ended.err.contains("panicked"), "{words:?}: {}", ended.err);
        assert_eq!(lab.everything(), before, "{words:?} left something");
    }
}

#[test]
fn inputs_that_are_no_jobs() {
    let lab = lab();
    let inputs = [
        ("missing", "`missing`: no such file"),
        ("folder", "`folder`: "),
        ("empty", "`empty` is empty; a Vdbench file has"),
        ("garbage", "cannot read parameter file `garbage` as text"),
        ("latin", "cannot read parameter file `latin` as text"),
        ("nul", "cannot read parameter file `nul` as text"),
    ];
    for (input, text) in inputs {
        let cases: [&[&str]; 3] = [
            &["run", input, "-o", "out"],
            &["vdbench", "-f", input, "-o", "out"],
            &["check", input],
        ];
        refuse_all(&lab, &cases.map(|words| (words, text)));
    }
    refuse_all(
        &lab,
        &[
            (&["run", "fio", "-o", "out"], "size of `disk` is unknown"),
            (&["explain", "missing"], "no such file"),
        ],
    );
}

#[test]
fn command_lines_that_cannot_be_meant() {
    let cases: &[Case<'_>] = &[
        (&["nonsense"], "nonsense"),
        (&["run"], "FILE"),
        (&["run", "job", "--nonsense"], "--nonsense"),
        (&["run", "job", "--workers", "0"], "--workers"),
        (&["run", "job", "--workers", "many"], "many"),
        (&["run", "job", "--seed", "-1"], "-1"),
        (&["run", "job", "--backend", "floppy"], "use `uring`, `aio`"),
        (&["run", "job", "--label", "transport"], "key=value"),
        (&["run", "job", "--overwrite", "@missing"], "`missing`"),
        (
            &["run", "job", "--overwrite", "/dev/other"],
            "names no target",
        ),
        (&["run", "job", "other=1"], "`other`"),
        (&["report", "missing"], "missing"),
        (&["report", "garbage"], "garbage"),
        (&["report", "empty"], "empty"),
        (&["report", "folder"], "result.fathom"),
        (&["vdbench"], "usage"),
        (&["vdbench", "-f"], "`-f` needs a value"),
        (&["vdbench", "-z", "-f", "job"], "`-z` is not an option"),
        (&["vdbench", "-é", "-f", "job"], "is not an option"),
        (
            &["vdbench", "-f", "job", "-e", "soon"],
            "`-e soon`: give whole seconds, as",
        ),
        (&["vdbench", "-f", "job", "-m", "0"], "above zero"),
        (&["vdbench", "-f", "job", "-l", "5x"], "5x"),
        (
            &["vdbench", "-f", "job", "-v"],
            "data validation (`-v`) is not built yet",
        ),
        (
            &["vdbench", "-f", "job", "-jr"],
            "a journal (`-j`) is not built yet",
        ),
        (&["vdbench", "-tf"], "not built yet"),
        (
            &["vdbench", "-f", "job", "--resp", "mean"],
            "`service` or `arrival`",
        ),
        (&["vdbench", "-f", "job", "other=1"], "`other`"),
    ];
    refuse_all(&lab(), cases);
}

#[test]
fn a_text_that_is_no_job_is_one_line() {
    let lab = lab();
    lab.write(
        "passwd",
        "daemon:x:1:1:daemon:/sbin:/bin/false\n".repeat(58),
    );
    lab.write("options", "rw=read\nioengine=libaio\n");
    let neither = "`passwd` is neither a Vdbench nor a fio file; a Vdbench file has";
    let cases: &[Case<'_>] = &[
        (&["run", "passwd"], neither),
        (&["check", "passwd"], neither),
        (&["explain", "passwd"], neither),
        (&["scale", "--vary", "threads=1,2", "passwd"], neither),
        (&["prefill", "passwd"], neither),
        (&["vdbench", "-f", "passwd"], neither),
        (&["fio", "passwd"], neither),
        (&["run", "empty"], "`empty` is empty"),
        (&["fio", "empty"], "`empty` is empty"),
        (
            &["run", "options"],
            "no section; put a line such as `[job]`",
        ),
        (&["run", "folder"], "a directory; name a regular file"),
    ];
    refuse_all(&lab, cases);
    for (words, _) in cases {
        let ended = lab.fathom(words);
        assert_eq!(ended.err.lines().count(), 1, "{words:?}: {}", ended.err);
    }
}

/// The message names what is there and the way out, so that its place is enough.
#[test]
fn a_directory_as_target_is_a_message_its_place_and_one_line_more() {
    let lab = lab();
    lab.write("job.fio", "[one]\nfilename=folder\nsize=1m\nrw=randread\n");
    lab.write("job.vdb", job("lun=folder,size=1m", "iorate=50,elapsed=2"));
    for (words, place) in [
        (&["run", "job.fio"][..], "--> job.fio:2:10"),
        (&["check", "job.fio"], "--> job.fio:2:10"),
        (&["fio", "job.fio"], "--> job.fio:2:10"),
        (&["run", "job.vdb", "--lint", "all=off"], "--> job.vdb:1:12"),
    ] {
        let ended = lab.fathom(words).expect(2);
        assert_eq!(ended.err.lines().count(), 3, "{words:?}: {}", ended.err);
        ended.says(&["is a directory; name a regular file", place]);
    }
}

/// What newcomers type who know other tools: one line with what to type instead.
#[test]
fn verbs_and_options_in_the_wrong_place_are_one_line_with_the_way_out() {
    let lab = lab();
    let cases: &[Case<'_>] = &[
        (&["man"], "`fathom manual man` prints"),
        (&["completions"], "`fathom manual bash`, `zsh` or `fish`"),
        (&["completion", "bash"], "`fathom manual bash`"),
        (&["version"], "use `fathom --version`"),
        (&["validate", "job"], "use `fathom check FILE`"),
        (
            &["run", "job", "--threads", "4"],
            "`fathom run` has no option `--threads`; the job file sets `threads=`",
        ),
        (&["run", "--iodepth=4", "job"], "curve TARGET --threads N`"),
        (&["run", "job", "--bs", "4k"], "curve TARGET --bs BYTES`"),
        (&["run", "job", "--runtime", "9"], "use `--elapsed TIME`"),
        (
            &["curve", "--write", "disk"],
            "`fathom curve` has no option `--write`; use `--read PERCENT`: `--read 0`",
        ),
        (&["curve", "disk", "--rw=write"], "`--read 0` only writes"),
        (&["curve", "disk", "--iodepth", "4"], "use `--threads N`"),
        (&["curve", "folder"], "a directory; name a regular file or"),
        (&["curve", "nowhere/disk", "--size", "1m"], "`mkdir -p`"),
        (&["prefill", "folder"], "a directory; name a file in it"),
    ];
    refuse_all(&lab, cases);
    for (words, _) in cases {
        let ended = lab.fathom(words);
        assert_eq!(ended.err.lines().count(), 1, "{words:?}: {}", ended.err);
    }
}

/// Only its name is looked at; the devices of this machine are not opened.
#[test]
fn a_device_in_place_of_a_job_names_the_verb_for_devices() {
    let devices = std::fs::read_dir("/sys/block").into_iter().flatten();
    let nodes = devices.flatten().map(|entry| entry.file_name());
    let mut nodes = nodes.map(|name| format!("/dev/{}", name.to_string_lossy()));
    let Some(device) = nodes.find(|node| std::path::Path::new(node).exists()) else {
        eprintln!("skipped: no block device here");
        return;
    };
    let way_out = format!("it is a block device; to measure it, use `fathom curve {device}`");
    let calls: [&[&str]; 4] = [&["run"], &["check"], &["fio"], &["vdbench", "-f"]];
    for words in calls {
        let words: Vec<&str> = words.iter().copied().chain([device.as_str()]).collect();
        let ended = lab().fathom(&words);
        assert_eq!(ended.err.lines().count(), 1, "{words:?}: {}", ended.err);
        ended.expect(2).says(&[way_out.as_str()]);
    }
}

#[test]
fn curves_that_cannot_be_drawn() {
    let cases: &[Case<'_>] = &[
        (&["curve", "folder"], "is a directory"),
        (&["curve", "/dev/null"], "neither file nor block device"),
        (&["curve", "/dev/sdX1"], "does not exist"),
        (&["curve", "nowhere/disk"], "does not exist"),
        (&["curve", "disk", "--read", "101"], "--read"),
        (&["curve", "disk", "--read", "NaN"], "--read"),
        (&["curve", "disk", "--threads", "0"], "--threads"),
        (&["curve", "disk", "--threads", "1.5"], "--threads"),
        (&["curve", "disk", "--bs", "1000"], "--bs"),
        (&["curve", "disk", "--bs", "big"], "--bs"),
        (&["curve", "disk", "--size", "0"], "size"),
        (&["curve", "disk", "--size", "1k"], "too little"),
        (&["curve", "disk", "--points", "ten"], "--points"),
        (&["curve", "disk", "--points", "inf"], "--points"),
        (&["curve", "disk", "--elapsed", "0"], "--elapsed"),
    ];
    refuse_all(&lab(), cases);
}

#[test]
fn output_folders_that_cannot_be_written() {
    let cases: &[Case<'_>] = &[
        (&["run", "job", "-o", "file"], "`file`"),
        (&["run", "job", "-o", "file/below"], "`file/below`"),
        (&["run", "job", "-o", "/proc/out"], "/proc/out"),
        (&["vdbench", "-f", "job", "-o", "file"], "`file`"),
        (&["vdbench", "-f", "job", "-o", "/proc/out"], "/proc/out"),
    ];
    refuse_all(&lab(), cases);
}

/// A result that is no result is not replaced by one.
#[test]
fn a_foreign_result_file_is_kept() {
    let lab = lab();
    std::fs::create_dir(lab.path("out")).unwrap();
    lab.write("out/result.fathom", "something of somebody\n");
    refuse_all(&lab, &[(&["run", "job", "-o", "out"], "result.fathom")]);
}

#[test]
fn an_argument_that_is_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let lab = lab();
    let word = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let ended = crate::lab::ended(lab.command(crate::lab::FATHOM).arg("curve").arg(word));
    ended.expect(2).says(&["is not UTF-8 text"]);
}
