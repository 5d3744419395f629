//! What is read as text is read up to a limit and never waited for without one, whatever the path is.
use crate::lab::{Ended, FATHOM, Lab, ended, is_root, skip};
use std::io::Write;
use std::process::{Command, Stdio};

/// Longer than any limit, and only there so that a defect ends the test.
const TOO_LONG_S: &str = "20";
/// In KiB; the program itself takes a tenth.
const MEMORY_MAX: u64 = 200 << 10;

const VDBENCH: &str =
    "sd=sd1,lun=disk,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=9,elapsed=2,interval=1\n";
const FIO: &str = "[global]\nioengine=null\nsize=64k\n[one]\nrw=read\n";

/// Runs `fathom` under a clock that ends it.
fn bounded(lab: &Lab, words: &[&str]) -> Ended {
    let mut command = lab.command("timeout");
    command.args(["-s", "KILL", TOO_LONG_S, FATHOM]).args(words);
    ended(&mut command)
}

fn pipe(lab: &Lab, name: &str) {
    let made = Command::new("mkfifo").arg(lab.path(name)).status();
    assert!(made.unwrap().success());
}

#[test]
fn what_has_no_end_or_no_beginning_is_refused() {
    let lab = Lab::new();
    pipe(&lab, "silent");
    pipe(&lab, "held");
    // A writer that never writes.
    let open = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(lab.path("held"));
    let _writer = open.unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    let job = std::fs::File::create(lab.path("job")).unwrap();
    job.set_len(100_000_000).unwrap();
    let mut noise = std::fs::File::create(lab.path("noise")).unwrap();
    let block: Vec<u8> = (0..100_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    (0..1000).for_each(|_| noise.write_all(&block).unwrap());
    lab.write("fio", FIO);
    lab.write("record", "[one]\nioengine=null\nread_iolog=noise\n");
    lab.write("endless", "[one]\nioengine=null\nread_iolog=/dev/zero\n");
    lab.write("list", VDBENCH);
    let cases = [
        ("/dev/zero", "a character device"),
        ("/dev/urandom", "a character device"),
        ("silent", "did not end"),
        ("held", "did not end"),
        ("socket", "a socket"),
        (".", "a directory"),
        ("job", "larger than 4 MiB"),
        ("noise", "larger than 4 MiB"),
    ];
    for (path, says) in cases {
        let list = format!("@{path}");
        let jobs: [&[&str]; 6] = [
            &["check", path],
            &["run", path, "-o", "out"],
            &["vdbench", "-f", path, "-o", "out"],
            &["fio", path],
            &[
                "fio",
                "--name=a",
                "--ioengine=null",
                "--size=4k",
                "--overwrite",
                &list,
            ],
            &["import", path, "-o", "out"],
        ];
        for (number, words) in jobs.into_iter().enumerate() {
            let ended = bounded(&lab, words);
            assert_eq!(ended.code, Some(2), "{words:?}: {}{}", ended.out, ended.err);
            let limits = ["larger than 1 MiB", "larger than 64 MiB"];
            let is_known = ended.err.contains(says)
                || number > 3
                    && says.contains("larger")
                    && limits.iter().any(|limit| ended.err.contains(limit));
            assert!(is_known, "{words:?}: {}", ended.err);
        }
    }
    for (job, says) in [("record", "no record"), ("endless", "a character device")] {
        bounded(&lab, &["fio", job]).expect(2).says(&[says]);
    }
    assert!(!lab.path("out").exists());
}

/// Compressed, a text of any size is small.
#[test]
fn memory_stays_below_a_limit_whatever_is_read() {
    if !std::path::Path::new("/usr/bin/time").exists() {
        return skip("/usr/bin/time is missing");
    }
    let lab = Lab::new();
    let job = std::fs::File::create(lab.path("job")).unwrap();
    job.set_len(100_000_000).unwrap();
    lab.write("line", vec![b'x'; 4 << 20]);
    lab.write("lines", b"rw=read\nzz=1\n".repeat(4 << 16));
    let packed = Command::new("gzip").arg("-c").arg(lab.path("job")).output();
    lab.write("packed.gz", packed.unwrap().stdout);
    for (path, says) in [
        ("job", "larger than"),
        ("line", ""),
        ("lines", "more of this kind"),
        ("packed.gz", "expands to more than 4 MiB"),
        ("/dev/zero", "a character device"),
    ] {
        let mut command = lab.command("/usr/bin/time");
        let words = [
            "-f", "%M", "timeout", "-s", "KILL", "60", FATHOM, "vdbench", "-s", "-f", path,
        ];
        let ended = ended(command.args(words)).expect(2).says(&[says]);
        let kib: u64 = ended.err.lines().last().unwrap().parse().unwrap();
        assert!(kib < MEMORY_MAX, "{path}: {kib} KiB");
    }
    let mut command = lab.command("timeout");
    command.args(["-s", "KILL", TOO_LONG_S, FATHOM, "check", "-"]);
    let zeros = std::fs::File::open("/dev/zero").unwrap();
    ended(command.stdin(Stdio::from(zeros)))
        .expect(2)
        .says(&["standard input", "larger than 4 MiB"]);
}

/// What numbers multiply to is refused before anything of it is made, and takes the memory of a small job.
#[test]
fn numbers_that_multiply_are_refused_before_they_are_expanded() {
    let lab = Lab::new();
    let fio = |lines: &str| format!("[a]\nioengine=null\nsize=1g\nrw=read\n{lines}\n");
    let vdbench = |sd: &str, wd: &str, rd: &str| {
        format!(
            "sd=sd1,lun=/nowhere/sd,size=1g{sd}\nwd=wd1,sd=sd*{wd}\nrd=rd1,wd=wd1,iorate=max,elapsed=5{rd}\n"
        )
    };
    let trees = |fsd: &str| {
        format!(
            "fsd=fsd1,anchor=/nowhere/a,depth=1,width=1,files=2,size=1m{fsd}\n\
             fwd=fwd1,fsd=fsd*,operation=read\nrd=rd1,fwd=fwd1,fwdrate=max,elapsed=5\n"
        )
    };
    let copies: String = (1..=12)
        .map(|number| format!("sd=s{number}_,lun=/nowhere/{number},size=1g,count=(1,10000)\n"))
        .collect();
    for (job, says) in [
        (
            fio("nrfiles=2000000000"),
            "more than 1048576 files of one clone",
        ),
        (
            fio("numjobs=1000\nnrfiles=1000000"),
            "more than 1048576 files",
        ),
        (fio("numjobs=2000000000"), "`numjobs` is 0 to 1048576"),
        (fio("numjobs=1000000"), "more than 4096 clones"),
        (fio("iodepth=2000000000"), "`iodepth` is 1 to 65536"),
        (
            vdbench(",count=(1,2000000000)", "", ""),
            "between 1 and 10240",
        ),
        (
            vdbench(",threads=2000000000", "", ""),
            "between 1 and 262144",
        ),
        (
            vdbench("", "", ",forxfersize=(1-2000000000,1)"),
            "more than 10240 values",
        ),
        (
            vdbench("", "", ",forthreads=(1-10000,1),forrdpct=(1-100,1)"),
            "more than 200000 runs",
        ),
        (trees(",count=(1,2000000000)"), "between 1 and 10240"),
        (
            copies + &vdbench("", "", ""),
            "more than 102400 definitions",
        ),
    ] {
        lab.write("job", &job);
        // In KiB, of addresses: threads and the program itself take a part.
        let limited = "ulimit -v 1000000; exec timeout -s KILL 20 \"$0\" check job";
        let mut command = lab.command("sh");
        let ended = ended(command.args(["-c", limited, FATHOM])).expect(2);
        assert!(ended.err.contains(says), "{job}: {}", ended.err);
    }
}

/// A pipe gives its text once.
#[test]
fn jobs_come_from_pipes_with_marks_and_in_old_encodings() {
    let lab = Lab::new();
    for (text, name) in [(VDBENCH, "vdbench"), (FIO, "fio")] {
        pipe(&lab, name);
        let path = lab.path(name);
        let writer = std::thread::spawn(move || std::fs::write(path, text));
        bounded(&lab, &["check", name]).expect(0);
        writer.join().unwrap().unwrap();
    }
    let marked = |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat();
    lab.write("parm", marked(VDBENCH));
    lab.write("jobs", marked(FIO));
    lab.write(
        "latin.parm",
        [b"* gepr\xfcft am 3.\n", VDBENCH.as_bytes()].concat(),
    );
    lab.write("latin.fio", [b"; gepr\xfcft\n", FIO.as_bytes()].concat());
    for job in ["parm", "jobs", "latin.parm", "latin.fio"] {
        lab.fathom(&["check", job]).expect(0);
    }
    lab.write("list", marked("disk\n"));
    lab.write(
        "wide",
        VDBENCH
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>(),
    );
    lab.fathom(&["check", "wide"])
        .expect(2)
        .says(&["UTF-16", "save it as UTF-8"]);
    std::fs::copy(FATHOM, lab.path("program")).unwrap();
    lab.fathom(&["check", "program"]).expect(2);
    lab.write("words", "disk\n\0");
    lab.fathom(&["run", "parm", "-o", "out", "--overwrite", "@words"])
        .expect(2)
        .says(&["not a UTF-8 text file"]);
}

/// What may not be read is told apart from what is not there, below an include too.
#[test]
fn permission_denied_is_said_so() {
    if is_root() && !crate::lab::has("setpriv") {
        return skip("`setpriv` is missing, and root reads everything");
    }
    let lab = Lab::new();
    lab.write("parm", "include=secret\n");
    lab.write("jobs", "[one]\ninclude secret\n");
    lab.write("secret", VDBENCH);
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(lab.path("secret"), closed).unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(lab.path("."), open).unwrap();
    let program = lab.path("fathom");
    std::fs::copy(FATHOM, &program).unwrap();
    for words in [
        &["check", "secret"][..],
        &["check", "parm"],
        &["fio", "jobs"],
        &["import", "secret"],
    ] {
        let mut command = match is_root() {
            true => lab.command("setpriv"),
            false => lab.command(&program),
        };
        if is_root() {
            command
                .args(["--reuid=65534", "--clear-groups"])
                .arg(&program);
        }
        ended(command.args(words))
            .expect(2)
            .says(&["permission denied"]);
    }
}

/// What a file of one long line has printed, in each face that takes it.
fn printed_of_a_long_line(lab: &Lab, name: &str, words: &[&str]) -> String {
    let mut words = words.to_vec();
    words.push(name);
    let refused = lab.fathom(&words).expect(2);
    let longest = refused.err.lines().map(|line| line.chars().count()).max();
    // The renderer counts what has no width as nothing, and it is shown escaped.
    let most = if name.starts_with("reversed") {
        2000
    } else {
        500
    };
    assert!(
        longest < Some(most),
        "{words:?} {name}: {longest:?} columns"
    );
    assert!(
        refused.err.len() < 200_000,
        "{words:?} {name}: {} bytes",
        refused.err.len()
    );
    refused.err
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let lab = Lab::new();
    let long = 300_000;
    for (name, word) in [
        ("plain", "y".repeat(long)),
        ("wide", "漢".repeat(long)),
        ("combined", "e\u{301}".repeat(long)),
        ("reversed", "\u{202e}\u{200b}".repeat(long)),
    ] {
        let section = format!("[j]\nrw={word}\n{word}=1\n");
        lab.write(&format!("{name}.fio"), section);
        let pairs = format!("sd=sd1,lun=/x,{word}=1,size={word},nope=1\nwd=wd1,sd=sd1\n");
        lab.write(
            &format!("{name}.parm"),
            pairs + "rd=r,wd=wd1,iorate=max,elapsed=2\n",
        );
    }
    lab.write(
        "tabs.fio",
        format!("[j]\nrw=read\n{}nope=1\n", "\t".repeat(long)),
    );
    lab.write("steering.fio", "[j]\nrw=\x1b[31m\x7f".repeat(1000) + "\n");
    for name in ["plain", "wide", "combined", "reversed", "tabs", "steering"] {
        for words in [&["check"][..], &["run"], &["fio"]] {
            printed_of_a_long_line(&lab, &format!("{name}.fio"), words);
        }
    }
    for name in ["plain", "wide", "combined", "reversed"] {
        for words in [&["check"][..], &["run"], &["vdbench", "-f"]] {
            let told = printed_of_a_long_line(&lab, &format!("{name}.parm"), words);
            assert!(told.contains("unknown parameter `nope`"), "{told}");
        }
    }
    // The place is that of the file, however much of the line is left out.
    let column = "sd=sd1,lun=/x,=1,size=,".len() + 2 * long + 1;
    let told = printed_of_a_long_line(&lab, "plain.parm", &["check"]);
    assert!(told.contains(&format!("plain.parm:1:{column}\n")), "{told}");
    let told = lab.fathom(&["check", "--json", "wide.parm"]).expect(2);
    assert!(told.out.len() < 20_000, "{} bytes", told.out.len());
}

/// Writes of later loops go to space that is allocated already, which fio's would not.
#[test]
fn files_that_stay_between_loops_are_told_of() {
    let lab = Lab::new();
    let job = [
        "fio",
        "--name=a",
        "--rw=write",
        "--size=64k",
        "--filename=data",
        "--loops=2",
    ];
    let told = |more: &[&str]| lab.fathom(&[&job[..], more].concat()).expect(0).err;
    assert_eq!(told(&[]), "");
    let told = told(&["--unlink_each_loop=1"]);
    assert!(
        told.contains("each loop goes over the same files"),
        "{told}"
    );
}
