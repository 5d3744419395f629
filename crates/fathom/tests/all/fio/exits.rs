//! With which code a job of fio ends whose I/Os fail: zero exactly where the original has zero.
use crate::lab::{Ended, FATHOM, Lab, ended, has, is_long, is_tried, skip};
use crate::served::{BYTES, Served};
use crate::support::fio::FIO;

/// In the middle of this block.
const BAD: u64 = 65_536 + 512;

/// Everything that decides which failures a job bears.
const BEARING: &[&str] = &[
    "",
    "continue_on_error=none",
    "continue_on_error=read",
    "continue_on_error=write",
    "continue_on_error=io",
    "continue_on_error=verify",
    "continue_on_error=all",
    "ignore_error=EIO",
    "ignore_error=5,ENOSPC",
    "ignore_error=,ENOSPC",
    "ignore_error=ENOSPC,EIO",
    "ignore_error=,,84",
    "continue_on_error=all\nignore_error=ENOSPC,EIO,5",
    "ignore_error=EIO,EIO\ncontinue_on_error=none",
    "ignore_error=EIO\ncontinue_on_error=write",
    "ignore_error=,EIO\ncontinue_on_error=read",
    "continue_on_error=none\nignore_error=EIO,EIO",
];

/// A file named `bad/disk` that cannot be read nor written at [`BAD`]: EIO and ENOSPC.
fn failing(lab: &Lab) -> Result<Served, String> {
    let size = format!("get_size=echo {BYTES}");
    let meets = format!("[ $4 -le {BAD} ] && [ $(($4 + $3)) -gt {BAD} ]");
    let read =
        format!("pread=if {meets}; then echo EIO no >&2; exit 1; else head -c $3 /dev/zero; fi");
    let write = format!(
        "pwrite=if {meets}; then cat >/dev/null; echo ENOSPC no >&2; exit 1; else cat >/dev/null; fi"
    );
    Served::new(lab, "bad", &["eval", &size, &read, &write])
}

fn run(lab: &Lab, program: &str, job: &str) -> Ended {
    lab.write("job.fio", job);
    let mut command = lab.fio_command(program);
    // A block that cannot be read may hold something, which the guard asks about.
    if program == FATHOM && job.contains("rw=write") && job.contains("bad/disk") {
        command.arg("--overwrite-target=bad/disk");
    }
    ended(command.args(["--output=report", "job.fio"]))
}

/// Whether both end with zero or both do not; the code of ours.
#[track_caller]
fn alike(lab: &Lab, job: &str) -> Option<i32> {
    let ours = run(lab, FATHOM, job);
    assert!(
        matches!(ours.code, Some(0 | 1)),
        "{job}: {:?} {}",
        ours.code,
        ours.err
    );
    if has(FIO) {
        let theirs = run(lab, FIO, job);
        assert_eq!(
            ours.code == Some(0),
            theirs.code == Some(0),
            "{job}: {:?}, and {:?} of the original\n{}",
            ours.code,
            theirs.code,
            ours.err
        );
    }
    ours.code
}

/// Whichever cases are tried, some are borne and some end the job.
#[track_caller]
fn both_were_seen(codes: &[i32]) {
    assert!(codes.contains(&0) && codes.contains(&1), "{codes:?}");
}

#[test]
fn failures_of_io_end_with_the_code_of_the_original() {
    let lab = Lab::new();
    let _failing = match failing(&lab) {
        Ok(failing) => failing,
        Err(reason) => return skip(&reason),
    };
    let mut codes = Vec::new();
    for (row, direction) in ["read", "write"].into_iter().enumerate() {
        for (column, bearing) in BEARING.iter().enumerate() {
            let job = format!(
                "[j]\nioengine=psync\nthread\ndirect=1\nbs=4k\noffset=60k\nsize=12k\nfilename=bad/disk\n\
                 rw={direction}\n{bearing}\n"
            );
            if is_tried(row, column) {
                codes.extend(alike(&lab, &job));
            }
        }
    }
    if !is_long() {
        return both_were_seen(&codes);
    }
    let zeros = codes.iter().filter(|code| **code == 0).count();
    // Reads: what names reads, or EIO among them. Writes: those that name ENOSPC for writes.
    assert_eq!(
        (zeros, codes.len()),
        (7 + 2, 2 * BEARING.len()),
        "{codes:?}"
    );
}

#[test]
fn a_job_that_fails_is_told_among_jobs_that_bear_it() {
    let lab = Lab::new();
    let _failing = match failing(&lab) {
        Ok(failing) => failing,
        Err(reason) => return skip(&reason),
    };
    let job = |of_one: &str, of_other: &str| {
        format!(
            "[global]\nioengine=psync\nthread\ndirect=1\nbs=4k\noffset=60k\nsize=12k\nfilename=bad/disk\nrw=read\n\
             [one]\n{of_one}\n[other]\n{of_other}\n[behind]\nstonewall\noffset=32k\n"
        )
    };
    let bears = "continue_on_error=io";
    assert_eq!(alike(&lab, &job(bears, bears)), Some(0));
    assert_eq!(alike(&lab, &job(bears, "")), Some(1));
    let report = run(&lab, FATHOM, &job(bears, bears));
    // Scripts take what stands on standard error for trouble.
    assert!(!report.err.contains("operations failed"), "{}", report.err);
}

#[test]
fn names_of_errors_are_refused_where_the_original_refuses_them() {
    let lab = Lab::new();
    let values = [
        "EIO",
        "eio",
        "EIO:",
        ":EIO",
        ",",
        ",,",
        ",,,",
        "EIO,EIO,EIO,EIO",
        "EPERM:ERANGE",
        "EIO:ENODATA",
        "EIO::EIO",
        ",,EILSEQ",
        ",,84",
        "EIO,,EILSEQ",
        "EWOULDBLOCK",
        "ENOTSUP",
        "ESRCH,ECHILD,ENOEXEC",
        "EDEADLK",
        "ENOSYS",
        "E",
        "EIOX",
        "EIO: ENOSPC",
        "EIO :ENOSPC",
        "5",
        "0",
        "-5",
        "+5",
        "005",
        "0x5",
        "5k",
        "4096",
        "r:EIO",
    ];
    let mut refused = 0;
    for value in values {
        let job = format!("[j]\nioengine=null\nsize=4k\nrw=read\nignore_error={value}\n");
        let ours = run(&lab, FATHOM, &job);
        refused += u32::from(ours.code == Some(2));
        assert!(matches!(ours.code, Some(0 | 2)), "{value}: {}", ours.err);
        if has(FIO) {
            let theirs = run(&lab, FIO, &job);
            assert_eq!(
                ours.code == Some(0),
                theirs.code == Some(0),
                "{value}: {}\n{}",
                ours.err,
                theirs.err
            );
        }
    }
    assert_eq!(refused, 17);
    let job = "[j]\nioengine=null\nsize=4k\nignore_error=,,EILSEQ\n";
    run(&lab, FATHOM, job).says(&["`84`"]);
}

/// 256 blocks with headers; with `harm`, the data of three are other than they were.
fn checked(lab: &Lab, harm: bool) {
    lab.write("job.fio", "");
    let write = ["--name=w", "--rw=write", "--bs=4k", "--size=1m"];
    let check = ["--filename=data", "--verify=crc32c", "--do_verify=0"];
    let _ = std::fs::remove_file(lab.path("data"));
    lab.fio([&write[..], &check].concat()).expect(0);
    let mut data = lab.bytes("data");
    for block in [10, 20, 30].into_iter().filter(|_| harm) {
        data[block * 4096 + 2000] ^= 1;
    }
    lab.write("data", data);
}

#[test]
fn data_that_are_not_what_was_written_end_with_the_code_of_the_original() {
    let lab = Lab::new();
    let job = |more: &str| {
        format!(
            "[j]\nioengine=psync\nthread\nbs=4k\nsize=1m\nfilename=data\nrw=read\nverify=crc32c\n{more}\n"
        )
    };
    checked(&lab, false);
    assert_eq!(alike(&lab, &job("verify_fatal=1")), Some(0));
    checked(&lab, true);
    let mut codes = Vec::new();
    for (row, fatal) in ["", "verify_fatal=1\n"].into_iter().enumerate() {
        let tried = BEARING.iter().enumerate();
        for (_, bearing) in tried.filter(|(column, _)| is_tried(row, *column)) {
            codes.extend(alike(&lab, &job(&format!("{fatal}{bearing}"))));
        }
    }
    let zeros = codes.iter().filter(|code| **code == 0).count();
    // verify, all, 84, and all with a list that leaves the reads of checks alone.
    let counts = (zeros, codes.len());
    assert!(
        !is_long() || counts == (2 * 3, 2 * BEARING.len()),
        "{codes:?}"
    );
    both_were_seen(&codes);
    // The first difference ends the job nevertheless.
    let fatal = job("verify_fatal=1\ncontinue_on_error=verify");
    let said = run(&lab, FATHOM, &fatal).expect(0).err;
    assert_eq!(said.matches("verify failed").count(), 1, "{said}");
    assert!(!lab.text("report").contains("verify failed"));
}

/// The failure of one job comes while another has more of them than are listed.
#[test]
fn the_failure_that_ends_a_job_is_never_lost_among_others() {
    let lab = Lab::new();
    lab.write("other", vec![b'A'; 8 << 20]);
    let job = |bearing: &str| {
        format!(
            "[global]\nioengine=psync\nthread\nbs=512\nverify=crc32c\nrw=randread\nfilename=other\n\
             norandommap\ntime_based\nruntime=3\n\
             [floods]\ncontinue_on_error=verify\nnumjobs=2\n\
             [fails]\nstartdelay=1\nsize=512\n{bearing}\n"
        )
    };
    run(&lab, FATHOM, &job("")).expect(1);
    run(&lab, FATHOM, &job("continue_on_error=verify")).expect(0);
}
