//! `fathom check`, as text and as JSON.
use crate::lab::{FATHOM, Lab, ended, has, job, skip};
use crate::schema;
use serde_json::Value;

/// Hosts and devices that no machine has.
const ELSEWHERE: &str = "messagescan=no
hd=default,user=root,shell=ssh
hd=one,system=one.invalid
hd=two,system=two.invalid
sd=sd1,lun=/dev/sdX1,threads=4,openflags=o_direct
sd=sd2,lun=/dev/sdX2,size=1g,threads=4,openflags=o_direct
wd=wd1,sd=sd*,xfersize=8k,rdpct=70
rd=rd1,wd=wd1,iorate=curve,curve=(50),elapsed=60,interval=5,warmup=10,pause=20
";

fn json(lab: &Lab, words: &[&str], code: i32) -> Value {
    let mut all = vec!["check", "--json"];
    all.extend(words);
    let value: Value = serde_json::from_str(&lab.fathom(&all).expect(code).out).unwrap();
    schema::check(&value);
    value
}

#[test]
fn a_job_is_checked_without_its_devices_and_hosts() {
    let lab = Lab::new();
    lab.write("job", ELSEWHERE);
    let before = lab.everything();
    let value = json(&lab, &["job"], 0);
    let runs = value["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["name"], "rd1_(50%)");
    let times = ["elapsed_s", "warmup_s", "interval_s", "pause_s"].map(|name| &runs[1][name]);
    assert_eq!(times.map(|time| time.as_u64().unwrap()), [60, 10, 5, 20]);
    // Two runs of 70 s with one pause between.
    assert_eq!(value["total_s"], 160);
    assert_eq!(value["targets"][0]["found"], "missing");
    assert_eq!(value["targets"][0]["overwrite"], Value::Null);
    assert_eq!(
        value["targets"][1]["overwrite"],
        serde_json::json!([8192, 1_u64 << 30])
    );
    let all = value["diagnostics"].as_array().unwrap();
    assert!(all.iter().all(|one| one["severity"] != "error"));
    let text = lab.fathom(&["check", "job"]).expect(0);
    assert!(text.out.contains("total time: 2 min 40 s"));
    assert!(
        text.out
            .contains("sd1@one (/dev/sdX1): not here, size not known here")
    );
    assert_eq!(lab.everything(), before);
    // Where the hosts are asked, too, each is told that is not reached, before anything is made.
    if !has("ssh") {
        return skip("`ssh` is missing");
    }
    for words in [
        &["check", "--connect", "job"][..],
        &["run", "job", "-o", "out"],
    ] {
        let ended = lab.fathom(words).expect(2);
        ended.says(&["host `one`: `ssh root@one.invalid` failed", "host `two`: "]);
        assert_eq!(lab.everything(), before);
    }
}

#[test]
fn every_problem_comes_in_one_pass() {
    let lab = Lab::new();
    lab.write(
        "job",
        "sd=sd1,lun=disk,sise=1m\nwd=wd1,sd=sd9,rdpct=150\nrd=rd1,wd=wd1,iorate=abc,elapsed=1,interval=1\n",
    );
    let value = json(&lab, &["job"], 2);
    let mut lines: Vec<u64> = value["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["severity"] == "error")
        .map(|one| one["line"].as_u64().unwrap())
        .collect();
    assert!(lines.len() >= 4, "{value:#}");
    lines.dedup();
    assert_eq!(lines, [1, 2, 3]);
    assert_eq!(value["diagnostics"][0]["file"], "job");
    let help = value["diagnostics"][0]["help"].as_str().unwrap();
    assert!(help.contains("size"), "{help}");
    lab.fathom(&["check", "job"])
        .expect(2)
        .says(&["--> job:1:", "--> job:2:", "--> job:3:"]);
}

#[test]
fn warnings_are_no_errors() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let value = json(&lab, &["job"], 0);
    assert_eq!(value["diagnostics"][0]["severity"], "warning");
    // A file to be made: a run with no end in time comes first.
    assert_eq!(value["runs"][0]["name"], "SD_format");
    assert_eq!(value["runs"][0]["elapsed_s"], Value::Null);
    assert_eq!(value["runs"][0]["ends_at_size"], true);
    assert_eq!(value["total_s"], Value::Null);
    assert_eq!(value["targets"][0]["is_prepared"], true);
}

/// What would be refused is told with the word that frees it, and the list that `check` writes is
/// one that a run takes.
#[test]
fn refusals_are_foreseen_and_their_words_written() {
    let lab = Lab::new();
    lab.write("disk", "not ours\n".repeat(1 << 17));
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let value = json(&lab, &["job", "--write-overwrite", "words"], 0);
    let target = &value["targets"][0];
    assert_eq!(target["refused"].as_array().unwrap().len(), 1);
    let word = target["overwrite_word"].as_str().unwrap();
    assert!(lab.text("words").lines().any(|line| line == word));
    assert_eq!(target["overwrite"], serde_json::json!([0, 1 << 20]));
    lab.fathom(&["vdbench", "-f", "job"])
        .expect(3)
        .says(&[&format!("--overwrite {word}")]);
    lab.fathom(&["vdbench", "-f", "job", "--overwrite", "@words"])
        .expect(0);
}

/// What the file alone tells is told by `check` with the exit code of `run`.
#[test]
fn what_a_run_refuses_for_its_file_is_refused_by_check() {
    let raw = |sd: &str, rd: &str| job(sd, &format!("iorate=100,elapsed=2,interval=1{rd}"));
    let disk = "lun=disk,size=1m";
    let fio = |more: &str| format!("[a]\nfilename=disk\nsize=1m\nruntime=1\n{more}\n");
    let tree = |operation: &str| {
        format!(
            "fsd=fsd1,anchor=tree,depth=1,width=2,files=2,size=4k\n\
             fwd=fwd1,fsd=fsd1,operation={operation},threads=1\n\
             rd=rd1,fwd=fwd1,fwdrate=10,elapsed=2,interval=1\n"
        )
    };
    let files = [
        ("raw", raw(disk, ""), 0),
        ("validation", format!("validate=yes\n{}", raw(disk, "")), 2),
        ("tree", tree("read"), 2),
        ("unknown", raw("lun=disk,sise=1m", ""), 2),
        ("short", raw(disk, ",warmup=abc"), 2),
        ("fio", fio("rw=read"), 0),
        ("engine", fio("rw=read\nioengine=rbd"), 2),
        ("word", fio("rw=sideways"), 2),
        ("size", fio("rw=read\nbs=2x"), 2),
        ("nojob", "[global]\nrw=read\n".to_owned(), 2),
    ];
    for (name, text, code) in files {
        let lab = Lab::new();
        lab.write(name, text);
        let check = lab.fathom(&["check", name]);
        let run = lab.fathom(&["run", name, "-o", "out", "--backend", "null"]);
        let codes = (check.code, run.code);
        assert_eq!(
            codes,
            (Some(code), Some(code)),
            "{name}: {}\n{}",
            check.err,
            run.err
        );
    }
}

#[test]
fn anchors_are_among_the_targets() {
    let lab = Lab::new();
    let text = |operation: &str| {
        format!(
            "fsd=fsd1,anchor=tree,depth=2,width=10,files=5000,size=4k\n\
             fsd=unused,anchor=other,depth=1,width=1,files=1\n\
             fwd=fwd1,fsd=fsd1,operation={operation},threads=1\n\
             rd=rd1,fwd=fwd1,fwdrate=10,elapsed=2,interval=1\n"
        )
    };
    lab.write("job", text("read"));
    let value = json(&lab, &["job"], 2);
    let targets = value["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 1, "{value:#}");
    let [name, path, found] = ["name", "path", "found"].map(|key| targets[0][key].as_str());
    assert_eq!(
        [name, path, found],
        [Some("fsd1"), Some("tree"), Some("missing")]
    );
    assert_eq!(targets[0]["files"], 500_000);
    assert_eq!(targets[0]["bytes"], 500_000 * 4096_u64);
    assert_eq!(targets[0]["is_written"], false);
    std::fs::create_dir(lab.path("tree")).unwrap();
    lab.write("job", text("delete"));
    let shown = lab.fathom(&["check", "job"]).expect(2).out;
    let line = "fsd1 (tree): anchor, directory, 500000 files, 1.91 GiB, files in it may be made, changed and removed";
    assert!(shown.contains(line), "{shown}");
    assert!(shown.lines().count() <= 60, "{shown}");
}

/// Nobody says how large the file is that a run would have to make. It may be on the machine that the job is for, as a
/// device may.
#[test]
fn a_missing_file_without_a_size_is_a_remark_and_refused_by_a_run() {
    let lab = Lab::new();
    let load = "iorate=50,elapsed=2,interval=1";
    lab.write("vdbench", job("lun=none", load));
    lab.write("folder", job("lun=/no/folder/file1", load));
    lab.write(
        "fio",
        "[j]\nfilename=none\nrw=read\nallow_file_create=1\nruntime=1\n",
    );
    for name in ["vdbench", "folder", "fio"] {
        let checked = lab.fathom(&["check", name]).expect(0);
        checked.says(&["warning[bind-0003]: size of `"]);
        lab.fathom(&["run", name]).expect(2).says(&["size of `"]);
    }
    let value = json(&lab, &["vdbench"], 0);
    assert_eq!(value["targets"][0]["bytes"], Value::Null);
    // One that is here and empty is not on another machine.
    lab.write("empty", "");
    lab.write("emptied", job("lun=empty", load));
    lab.fathom(&["check", "emptied"]).expect(2);
    let unused = "sd=sd2,lun=other\n";
    lab.write("unused", unused.to_owned() + &job("lun=none,size=1m", load));
    lab.fathom(&["check", "unused"]).expect(0);
    lab.write("device", job("lun=/dev/sdX9,openflags=o_direct", load));
    lab.fathom(&["check", "device"]).expect(0);
}

/// What is folded can be told apart again: only numbers that go up by one are left out.
#[test]
fn neighbours_that_are_not_numbered_have_entries_of_their_own() {
    let lab = Lab::new();
    let names = ["a09", "a10", "a11", "a13", "b14"].map(String::from);
    let names = names
        .into_iter()
        .chain((0..20).map(|n| format!("z{n}.dat")));
    lab.write(
        "job",
        format!(
            "[j]\nrw=write\nfilesize=4k\nfilename={}\n[k]\nrw=write\nfilename=z20.dat\nfilesize=8k\n",
            names.collect::<Vec<_>>().join(":")
        ),
    );
    let value = json(&lab, &["job"], 0);
    let entry = |target: &Value| {
        let last = target["last"]["path"].as_str().unwrap_or("-");
        format!(
            "{} {} {last}",
            target["path"].as_str().unwrap(),
            target["count"]
        )
    };
    let targets = value["targets"].as_array().unwrap().iter();
    let targets: Vec<String> = targets.map(entry).collect();
    let expected = [
        "a09 3 a11",
        "a13 1 -",
        "b14 1 -",
        "z0.dat 20 z19.dat",
        "z20.dat 1 -",
    ];
    assert_eq!(targets, expected);
}

/// A line for each is no help where there are so many.
#[test]
fn many_files_are_told_in_a_few_lines() {
    let lab = Lab::in_memory();
    let text = |count: u32| {
        format!("[a]\nrw=randwrite\ndirectory=.\nnrfiles={count}\nfilesize=4k\nruntime=1\n")
    };
    let lines = |lab: &Lab| {
        let ended = lab.fathom(&["check", "job"]).expect(0);
        let lines = ended.out.lines().count() + ended.err.lines().count();
        assert!(lines <= 60, "{lines} lines: {}{}", ended.out, ended.err);
        ended
    };
    lab.write("job", text(20_000));
    let told = lines(&lab).out;
    assert!(told.contains("20000 alike, "), "{told}");
    assert!(told.contains("not here, 4 KiB each"), "{told}");
    // A program is told the first and the last of them.
    let value = json(&lab, &["job"], 0);
    let targets = value["targets"].as_array().unwrap();
    assert_eq!((targets.len(), &targets[0]["count"]), (1, &20_000.into()));
    assert_eq!(targets[0]["path"], "./a.0.0");
    assert_eq!(targets[0]["last"]["path"], "./a.0.19999");
    // Files of somebody else, each of which a run would ask about.
    for number in 0..40 {
        lab.write(&format!("a.0.{number}"), "not ours\n".repeat(500));
    }
    lab.write("job", text(40));
    let told = lines(&lab);
    assert!(told.err.contains("… and 35 targets more"), "{}", told.err);
    // A few have a line each.
    lab.write("job", text(3));
    let told = lines(&lab).out;
    assert!(told.contains("./a.0.2 (./a.0.2): file, "), "{told}");
}

/// What there is of each file is a name, a path, and what was found: half a kilobyte.
#[test]
fn half_a_million_files_take_the_memory_of_their_names() {
    if !has("/usr/bin/time") {
        return skip("/usr/bin/time is missing");
    }
    let lab = Lab::new();
    let folder = lab.path("files");
    std::fs::create_dir(&folder).unwrap();
    let job = format!(
        "[j]\nrw=randread\nsize=4g\nnrfiles=500000\ndirectory={}\n",
        folder.display()
    );
    lab.write("job", job);
    let mut command = lab.command("/usr/bin/time");
    let told = ended(command.args(["-f", "%M", FATHOM, "check", "job"])).expect(0);
    assert!(told.out.contains("500000 alike"), "{}", told.out);
    assert!(told.out.lines().count() + told.err.lines().count() <= 60);
    // Its folder may be named at length, and is in each path twice. An allocation takes whole units of 16 bytes, with its head.
    let name_bytes = folder.as_os_str().len() as u64 + "/j.0.499999".len() as u64 + 8;
    let names_bytes = 500_000 * 2 * name_bytes.next_multiple_of(16);
    let kib: u64 = told.err.lines().last().unwrap().parse().unwrap();
    let least = kib - names_bytes / 1024;
    // A list of half a million entries that grows is copied or not, as the allocator finds room: 28 MiB.
    assert!(least < 296_000, "{kib} KiB, without names {least} KiB");
}

/// What is the same in all loops of a job is no loop.
#[test]
fn a_run_without_loops_names_none() {
    let lab = Lab::new();
    lab.write("job.fio", "[one]\nfilename=disk\nsize=1m\nrw=randread\n");
    lab.write("job", job("lun=disk,size=1m", "iorate=50,elapsed=2"));
    lab.write(
        "loops",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,forthreads=(1,2)"),
    );
    for (file, has_loops) in [("job.fio", false), ("job", false), ("loops", true)] {
        let out = lab.fathom(&["check", file]).expect(0).out;
        let is_measured = |line: &&str| line.starts_with("  rd1") || line.starts_with("  one");
        let measured = out.lines().find(is_measured).unwrap();
        assert_eq!(measured.contains("; loops: "), has_loops, "{out}");
        assert!(!out.contains("loops: None"), "{out}");
    }
}

/// A refused job writes no results, so that where they would go does not matter.
#[test]
fn a_target_in_a_missing_folder_is_refused_in_the_words_of_run() {
    let lab = Lab::new();
    lab.write(
        "job.fio",
        "[one]\nfilename=none/disk\nsize=1m\nrw=randwrite\n",
    );
    lab.write("job", job("lun=none/disk,size=1m", "iorate=50,elapsed=2"));
    let before = lab.everything();
    for file in ["job", "job.fio"] {
        let run = lab.fathom(&["run", file]).expect(2);
        let refusal = run.err.lines().next_back().unwrap_or_default();
        let checked = lab.fathom(&["check", file]).expect(2);
        assert!(
            refusal.contains("does not exist; create it first"),
            "{refusal}"
        );
        assert!(
            !checked.err.contains("on the storage under test"),
            "{}",
            checked.err
        );
        checked.says(&["a run would be refused", refusal]);
        let value = json(&lab, &[file], 2);
        let refused = &value["targets"][0]["refused"][0];
        assert!(
            refused.as_str().is_some_and(|text| refusal.contains(text)),
            "{refused}"
        );
    }
    assert_eq!(lab.everything(), before);
}
