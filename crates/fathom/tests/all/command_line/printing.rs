//! Where text goes that nobody can read: a closed, full or broken stream ends no run and no verb
//! with a panic, and a full one is exit code 1. And what names of others may do on a terminal: nothing.
use crate::lab::{Ended, FATHOM, Lab, ended, interval_label, job, must};
use measure::Event;
use std::io::{BufRead, BufReader, Write};
use std::time::{Duration, Instant};

/// How a shell breaks a stream of the program before it.
const BROKEN: [&str; 7] = [
    "2>&-",
    "2>/dev/full",
    ">&-",
    ">/dev/full",
    ">/dev/full 2>&1",
    "<&- >&- 2>&-",
    "2>&1 | true",
];

/// What a verb that is fine otherwise ends with: who closes a stream does not want it, who names a full one is told.
fn code_with(how: &str) -> i32 {
    i32::from(how.starts_with(">/dev/full"))
}

/// The words of each door that measures, for the lab of [`doors`].
const DOORS: [(&str, &str); 5] = [
    ("run", "run job -o OUT --lint all=off"),
    (
        "curve",
        "curve disk --bs 4k --elapsed 1 --warmup 0 --points 50 -o OUT",
    ),
    ("prefill", "prefill OUT.disk --size 1m -o OUT"),
    ("vdbench", "vdbench -f job -o OUT"),
    (
        "fio",
        "fio --name=a --filename=disk --size=1m --rw=read --result OUT",
    ),
];

fn shell(lab: &Lab, line: &str) -> Ended {
    ended(lab.command("bash").args(["-c", line]))
}

/// Runs a line of words with a broken stream; the code is that of the program.
fn broken(lab: &Lab, words: &str, how: &str) -> Ended {
    shell(
        lab,
        &format!("{FATHOM} {words} {how}; exit ${{PIPESTATUS[0]}}"),
    )
}

fn lab_with_disk() -> Lab {
    let lab = Lab::new();
    lab.write("disk", vec![0; 1 << 20]);
    lab.write(
        "job",
        "sd=sd1,lun=disk,threads=2\nwd=wd1,sd=sd1,xfersize=4k\nrd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n",
    );
    lab
}

#[test]
fn a_broken_stream_ends_no_measurement() {
    let lab = lab_with_disk();
    let before = lab.bytes("disk");
    let one = |door: &str, words: &str, number: usize, how: &str| {
        let out = format!("{door}{number}");
        let ended = broken(&lab, &words.replace("OUT", &out), how);
        assert_eq!(ended.code, Some(code_with(how)), "{door} {how}: {ended:?}");
        if how == ">/dev/full" {
            let last = ended.err.lines().next_back().unwrap_or_default();
            let reason = "error: cannot write standard output: No space left";
            assert!(last.starts_with(reason), "{door}: {ended:?}");
        }
        let again = format!("{out}-again");
        let report = lab.fathom(&["report", &out, "-o", &again]).expect(0);
        assert!(!report.err.contains("its end"), "{door} {how}: {report:?}");
        assert!(lab.text(&format!("{again}/summary.csv")).lines().count() > 1);
    };
    std::thread::scope(|scope| {
        for (door, words) in DOORS {
            for (number, how) in BROKEN.iter().enumerate() {
                scope.spawn(move || one(door, words, number, how));
            }
        }
    });
    // A target that took the number of a closed stream would hold text now.
    assert!(lab.bytes("disk") == before);
}

#[test]
fn verbs_that_only_print_end_quietly() {
    let lab = lab_with_disk();
    lab.fathom(&["run", "job", "-o", "out", "--lint", "all=off"])
        .expect(0);
    let fio = lab.fathom(&[
        "fio",
        "--name=a",
        "--filename=disk",
        "--size=1m",
        "--rw=read",
        "--output=old.json",
        "--output-format=json",
        "--result",
        "fio",
    ]);
    fio.expect(0);
    let verbs = [
        ("check job", 0),
        ("check job --json", 0),
        ("explain job", 0),
        ("explain vdb-0107", 0),
        ("report out", 0),
        ("import old.json -o imported", 0),
        ("--help", 0),
        ("--version", 0),
        ("help run", 0),
        ("help vdbench", 0),
        ("help fio", 0),
        ("manual man", 0),
        ("manual bash", 0),
        ("manual fio", 0),
        ("vdbench -f job -s", 0),
        ("fio --cmdhelp=all", 0),
        ("check missing", 2),
        ("--nonsense", 2),
        ("fio --nonsense", 2),
        ("vdbench -f missing", 2),
        ("report missing", 2),
    ];
    for (words, code) in verbs {
        for how in BROKEN.iter().chain(&["| head -1 >/dev/null"]) {
            let ended = broken(&lab, words, how);
            let code = if code == 0 { code_with(how) } else { code };
            assert_eq!(ended.code, Some(code), "{words} {how}: {ended:?}");
            assert!(!ended.err.contains("panicked"), "{words} {how}: {ended:?}");
        }
    }
}

/// A second interrupt prints, too, on a thread that nobody joins.
#[test]
fn an_interrupt_needs_no_console() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=60,interval=1"),
    );
    let line = format!(
        "{FATHOM} run job -o out >/dev/full 2>/dev/full & \
         until [ -s out/result.fathom ]; do sleep 0.1; done; sleep 2; kill -INT $!; wait $!"
    );
    assert_eq!(shell(&lab, &line).code, Some(4));
    assert!(lab.text("out/summary.csv").contains("stopped"));
}

#[test]
fn the_last_line_of_what_is_refused_is_an_error() {
    let lab = Lab::new();
    lab.write("bad.parm", "sd=sd1,lumn=/x\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n");
    lab.write("theirs", "a letter that somebody else wrote\n".repeat(1000));
    for (words, code) in [
        (&["run", "--nope"][..], 2),
        (&["check", "bad.parm"], 2),
        (&["run", "bad.parm"], 2),
        (&["vdbench", "-f", "bad.parm"], 2),
        (&["vdbench", "--zz"], 2),
        (&["fio", "--nope=1"], 2),
        (&["fio", "missing.fio"], 2),
        (&["report", "theirs"], 2),
        (&["curve", "theirs", "--read", "0"], 3),
        (&["fio", "--name=j", "--filename=theirs", "--rw=write"], 3),
    ] {
        let ended = lab.fathom(words).expect(code);
        let last = ended.err.lines().next_back().unwrap_or_default();
        assert!(last.starts_with("error"), "{words:?}: {}", ended.err);
        assert!(
            !last.contains("above") || last.contains(" errors above"),
            "{last}"
        );
    }
    let refused = lab.fathom(&["run", "bad.parm"]).expect(2);
    let last = refused.err.lines().next_back().unwrap_or_default();
    let says = [" errors above", "the first at bad.parm:1:8"];
    assert!(says.iter().all(|text| last.contains(text)), "{last}");
    let refused = lab.fathom(&["fio", "--name=j", "--filename=theirs", "--rw=write"]);
    let last = refused.err.lines().next_back().unwrap_or_default();
    assert!(last.contains("overwritten: data of unknown kind"), "{last}");
}

/// Whether the result file holds the end of its execution.
fn is_recorded(lab: &Lab) -> bool {
    let Ok(reader) = store::Reader::open(lab.path("out/result.fathom")) else {
        return false;
    };
    let mut events = reader.events();
    events.any(|event| matches!(event, Ok(Event::ExecutionFinished(_))))
}

#[test]
fn a_console_that_nobody_reads_delays_no_interval() {
    let lab = Lab::new();
    let storage = format!("lun={},size=1m", lab.path("disk").display());
    lab.write("job", job(&storage, "iorate=50,elapsed=3,interval=1"));
    let (reader, mut writer) = std::io::pipe().unwrap();
    let mut command = lab.command(FATHOM);
    command.args(["vdbench", "-f", "job", "-o", "out"]);
    command.stderr(std::process::Stdio::null());
    let mut child = command.stdout(writer.try_clone().unwrap()).spawn().unwrap();
    drop(command);
    let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("Starting RD")));
    // Fills the pipe, and is held up itself until somebody reads.
    let filling = std::thread::spawn(move || writer.write_all(&[b'\n'; 1 << 20]));
    let since = Instant::now();
    while !is_recorded(&lab) {
        assert!(since.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(child.try_wait().unwrap(), None, "it has more to print");
    let labels: Vec<String> = lines
        .filter_map(|line| interval_label(&line).map(str::to_owned))
        .collect();
    filling.join().unwrap().unwrap();
    assert!(child.wait().unwrap().success());
    let last = labels.rsplit(|label| label == "1").next().unwrap();
    assert!(
        last.starts_with(&["2".to_owned(), "3".to_owned()]),
        "{labels:?}"
    );
}

/// A verb on a pipe that is full before it starts and that nobody ever reads.
fn unread(lab: &Lab, words: &str, name: &str) -> std::process::Child {
    let script = format!(
        "mkfifo {name}; exec 3<>{name}; head -c 65536 /dev/zero >&3; exec {FATHOM} {words} >&3 2>&3"
    );
    let mut command = lab.command("bash");
    command.args(["-c", &script]).spawn().unwrap()
}

/// The code of what ends by itself soon.
#[track_caller]
fn code_of(mut child: std::process::Child) -> Option<i32> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("it waits for its reader");
}

#[test]
fn a_reader_that_reads_nothing_delays_no_run_and_no_end() {
    let lab = lab_with_disk();
    std::thread::scope(|scope| {
        for (door, words) in DOORS {
            let lab = &lab;
            scope.spawn(move || {
                let out = format!("{door}-unread");
                let child = unread(lab, &words.replace("OUT", &out), &format!("{door}-pipe"));
                assert_eq!(code_of(child), Some(0), "{door}");
                let report = lab.fathom(&["report", &out, "-o", &format!("{out}-again")]);
                assert!(!report.expect(0).err.contains("its end"), "{door}");
            });
        }
    });
}

#[test]
fn signals_end_a_run_whose_text_nobody_reads() {
    let lab = lab_with_disk();
    let long = lab.text("job").replace("elapsed=2", "elapsed=600");
    lab.write("long", long);
    let signals: [(&str, &[&str]); 4] = [
        ("once", &["-INT"]),
        ("twice", &["-INT", "-INT"]),
        ("term", &["-TERM"]),
        ("hup", &["-HUP"]),
    ];
    std::thread::scope(|scope| {
        for (name, signals) in signals {
            let lab = &lab;
            scope.spawn(move || {
                let words = format!("run long -o {name} --lint all=off");
                let child = unread(lab, &words, &format!("{name}-pipe"));
                let result = lab.path(&format!("{name}/result.fathom"));
                while !result.exists() {
                    std::thread::sleep(Duration::from_millis(20));
                }
                std::thread::sleep(Duration::from_secs(3));
                for signal in signals {
                    must("kill", &[signal, &child.id().to_string()]);
                    std::thread::sleep(Duration::from_millis(200));
                }
                assert_eq!(code_of(child), Some(4), "{name}");
                let again = format!("{name}-again");
                lab.fathom(&["report", name, "-o", &again]).expect(0);
                let rows = lab.text(&format!("{again}/summary.csv"));
                assert!(rows.lines().count() > 1, "{name}: {rows}");
            });
        }
    });
}

/// A pager shows a page and reads on much later: nothing of a document is lost.
#[test]
fn a_slow_reader_of_a_document_has_all_of_it() {
    let lab = Lab::new();
    let job = "fio --name=a --ioengine=null --rw=read --size=64k --numjobs=60 --output-format=json";
    let read = "{ head -c 1; sleep 6; cat; }";
    let document = shell(&lab, &format!("{FATHOM} {job} | {read}")).expect(0);
    assert!(document.out.len() > 1 << 17);
    assert_eq!(document.json()["jobs"].as_array().unwrap().len(), 60);
}
