//! A device of which one block cannot be read.
use crate::lab::{FATHOM, Lab, skip};
use crate::served::{BYTES, Served};
use crate::support::fio::{FIO, has_fio};
use serde_json::Value;

/// In the middle of this block.
const BAD: u64 = 65_536 + 512;

/// The one before, itself, and the one behind: the device starts a shell for each.
const THREE_BLOCKS: [&str; 2] = ["--offset=60k", "--size=12k"];

/// A file in the lab, named `a bad/disk`, whose byte [`BAD`] gives an I/O error.
fn failing(lab: &Lab) -> Result<Served, String> {
    let size = format!("get_size=echo {BYTES}");
    let read = format!(
        "pread=if [ $4 -le {BAD} ] && [ $(($4 + $3)) -gt {BAD} ]; then echo EIO no >&2; exit 1; \
         else head -c $3 /dev/zero; fi"
    );
    Served::new(lab, "a bad", &["eval", &size, &read])
}

/// The path holds a blank: as a variable of the shell it stays one word.
#[test]
fn the_command_of_an_error_is_told_where_it_was() {
    let lab = Lab::new();
    let failing = match failing(&lab) {
        Ok(failing) => failing,
        Err(reason) => return skip(&reason),
    };
    lab.write(
        "tell",
        "printf '%s|' \"$lun\" $1 $2 \"$output\" >seen; echo called\n",
    );
    let job = "data_errors=\"sh tell $lba $size\"\n\
               sd=sd1,lun=\"a bad/disk\",threads=1,openflags=o_direct\n\
               wd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=seq\n\
               rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1\n";
    lab.write("job", job);
    let ended = lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(1);
    let output = std::fs::canonicalize(lab.path("out")).unwrap();
    let expected = format!("a bad/disk|65536|4096|{}|", output.display());
    assert_eq!(lab.text("seen"), expected);
    assert!(ended.out.contains("called"), "{}", ended.out);
    let log = lab.text("out/errorlog.html");
    assert!(log.contains("65536") || log.contains("0x10000"), "{log}");
    drop(failing);
}

/// One job fails, one beside it goes on, and one comes behind.
fn three(global: &str, of_first: &str) -> String {
    format!(
        "[global]\nioengine=psync\nbs=4k\nthread\nrw=read\n{global}\n\
         [fails]\nfilename=a bad/disk\ndirect=1\noffset=60k\nsize=12k\n{of_first}\n\
         [beside]\nfilename=other\nsize=1m\nrate_iops=200\n\
         [behind]\nstonewall\nfilename=other\nsize=1m\n"
    )
}

/// The document of a program for the job in the lab, and where it says what failed: ours beside the document, theirs among it
/// where clones are threads.
fn told(lab: &Lab, program: &str) -> (Value, String) {
    let words = ["--output-format=json", "--output=report", "job.fio"];
    let ended = lab.fio_by(program, words);
    assert!(ended.code.is_some_and(|code| code <= 1), "{ended}");
    let said = &ended.err;
    let report = lab.text("report");
    let document = &report[report.find('{').expect(said)..=report.rfind('}').expect(said)];
    let document = serde_json::from_str(document).unwrap();
    match program == FATHOM {
        true => (document, ended.err),
        false => (document, report),
    }
}

#[test]
fn an_error_keeps_the_jobs_behind_it_from_beginning() {
    let lab = Lab::new();
    let _failing = match failing(&lab) {
        Ok(failing) => failing,
        Err(reason) => return skip(&reason),
    };
    lab.write("other", vec![1; 1 << 20]);
    let global = "exitall_on_error\nexit_what=all";
    lab.write("job.fio", three(global, ""));
    let (ours, _) = told(&lab, FATHOM);
    let names = |document: &Value| -> Vec<String> {
        let jobs = document["jobs"].as_array().unwrap();
        let did = |job: &&Value| job["read"]["io_bytes"].as_u64() > Some(0);
        let name = |job: &Value| job["jobname"].as_str().unwrap().to_owned();
        jobs.iter().filter(did).map(name).collect()
    };
    assert_eq!(names(&ours), ["fails", "beside"], "{ours}");
    if !has_fio() {
        return;
    }
    let (theirs, _) = told(&lab, FIO);
    assert_eq!(names(&theirs), ["fails", "beside"], "{theirs}");
}

#[test]
fn an_error_ends_its_job_and_no_other() {
    let lab = Lab::new();
    let _failing = match failing(&lab) {
        Ok(failing) => failing,
        Err(reason) => return skip(&reason),
    };
    if !has_fio() {
        return;
    }
    lab.write("other", vec![1; 1 << 20]);
    for (global, of_first) in [
        ("", ""),
        ("continue_on_error=all", ""),
        ("", "ignore_error=EIO:28,ENOSPC"),
        ("", "ignore_error=ENOSPC,5"),
        ("", "ignore_error=5\nerror_dump=1"),
        ("exitall_on_error", ""),
    ] {
        lab.write("job.fio", three(global, of_first));
        let (theirs, other) = told(&lab, FIO);
        let (ours, said) = told(&lab, FATHOM);
        let case = format!("{global} {of_first}");
        for place in 0..3 {
            let (ours, theirs) = (&ours["jobs"][place], &theirs["jobs"][place]);
            for key in ["jobname", "error", "total_err", "first_error"] {
                assert_eq!(ours[key], theirs[key], "{case}: {place} {key}");
            }
            let bytes = |job: &Value| job["read"]["io_bytes"].as_u64().unwrap();
            let (ours, theirs) = (bytes(ours), bytes(theirs));
            if place == 1 && global == "exitall_on_error" {
                assert!(ours < 1 << 20 && theirs < 1 << 20, "{ours} {theirs}");
            } else {
                assert_eq!(ours, theirs, "{case}: {place}");
            }
        }
        let count = |text: &str| text.matches("io_u error on file a bad/disk: Input").count();
        assert_eq!(count(&said), count(&other), "{case}: {said}");
    }
}

/// What is told of failures, without process and time: of stdout the end of a job, its head, and its errors.
fn told_of_failures(lab: &Lab, program: &str, words: &[&str]) -> Vec<String> {
    let job = [
        "--name=j",
        "--filename=a bad/disk",
        "--rw=read",
        "--bs=4k",
        THREE_BLOCKS[0],
        THREE_BLOCKS[1],
        "--direct=1",
        "--eta=never",
    ];
    let text = lab.fio_by(program, [&job, words].concat()).out;
    let is_told = |line: &&str| {
        let starts = ["fio: pid=", "j: (groupid=", "     errors    : "];
        starts.iter().any(|start| line.starts_with(start))
    };
    let without_process = |line: &str| match line.rsplit_once("pid=") {
        Some((before, after)) => {
            let rest = after.trim_start_matches(|one: char| one.is_ascii_digit());
            let rest = if rest.starts_with(',') { rest } else { "" };
            format!("{before}pid=N{rest}")
        }
        None => line.to_owned(),
    };
    text.lines().filter(is_told).map(without_process).collect()
}

/// Log readers look for these words.
#[test]
fn failures_are_told_in_the_words_of_the_original() {
    let lab = Lab::new();
    let _failing = match failing(&lab) {
        Ok(failing) => failing,
        Err(reason) => return skip(&reason),
    };
    let text = "error=Input/output error";
    let ended = format!("fio: pid=N, err=5/file:io_u.c:1876, func=io_u error, {text}");
    let ours = told_of_failures(&lab, FATHOM, &[]);
    assert_eq!(ours[0], ended);
    if !has_fio() {
        return;
    }
    for engine in [
        "--ioengine=psync",
        "--ioengine=libaio",
        "--ioengine=pvsync2",
    ] {
        for bearing in [
            "--thread",
            "--continue_on_error=all",
            "--continue_on_error=verify",
            "--continue_on_error=write",
            "--ignore_error=EIO",
            "--ignore_error=ENOSPC",
            "--ignore_error=,EIO",
            "--ignore_error=EIO --error_dump=1",
        ] {
            let words: Vec<&str> = bearing.split(' ').chain([engine]).collect();
            let ours = told_of_failures(&lab, FATHOM, &words);
            let theirs = told_of_failures(&lab, FIO, &words);
            assert_eq!(ours, theirs, "{words:?}");
        }
    }
}
