//! Answers that come after the end of a run, or never: what the old faces make of them.
use crate::lab::{Ended, FATHOM, Lab, skip};
use crate::served::Served;
use crate::support::fio::programs;

/// A file named `slow/disk` whose reads take so many seconds.
fn slow(lab: &Lab, seconds: u32) -> Result<Served, String> {
    let delay = format!("rdelay={seconds}");
    Served::new(lab, "slow", &["--filter=delay", "memory", "16M", &delay])
}

fn report_of(lab: &Lab, program: &str, words: &[&str]) -> Ended {
    let job = ["--name=j", "--rw=randread", "--bs=4k", "--eta=never"];
    lab.fio_by(program, [&job, words].concat()).expect(0)
}

/// The number behind some words.
fn number_behind(text: &str, words: &str) -> u64 {
    let found = text.split_once(words);
    let (_, rest) = found.unwrap_or_else(|| panic!("no `{words}`: {text}"));
    let end = rest.find(|one: char| !one.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().unwrap()
}

/// The original waits for the last answer and counts it.
#[test]
fn a_job_whose_answers_all_come_after_its_time_has_its_block() {
    let lab = Lab::new();
    let _slow = match slow(&lab, 2) {
        Ok(slow) => slow,
        Err(reason) => return skip(&reason),
    };
    // How many are out with a queue depends on whether the kernel waits in the submitting call.
    let engines: [&[&str]; 2] = [&["--ioengine=psync"], &["--ioengine=libaio", "--iodepth=2"]];
    for engine in engines {
        let time = ["--filename=slow/disk", "--direct=1", "--time_based"];
        let words = [&time[..], &["--runtime=1"], engine].concat();
        for program in programs() {
            let done = report_of(&lab, program, &words);
            let count = number_behind(&done.out, "issued rwts: total=");
            assert!(
                matches!((count, engine.len()), (1, _) | (2, 2)),
                "{program}: {}",
                done.out
            );
            let io = format!("io={}B", count * 4096);
            assert!(done.out.contains(&io), "{program}: {}", done.out);
            assert!(
                number_behind(&done.out, " run=") >= 2_000,
                "{program}: {}",
                done.out
            );
        }
        let json = [&words[..], &["--output-format=json"]].concat();
        let document = report_of(&lab, FATHOM, &json).json();
        let read = &document["jobs"][0]["read"];
        for kind in ["clat_ns", "lat_ns"] {
            assert_eq!(read[kind]["N"], read["total_ios"], "{read}");
        }
        // The smallest is that of its bucket, which begins up to 0.4 % below.
        let mean_ns = read["lat_ns"]["mean"].as_f64();
        assert!(mean_ns >= Some(2e9), "{read}");
    }
}

/// A submitting call may wait for the device: what would be submitted after it is not, once the time is over.
#[test]
fn nothing_is_submitted_after_the_end_of_a_run() {
    let lab = Lab::new();
    let slow = ["--filter=delay", "memory", "16M", "wdelay=3"];
    let _slow = match Served::new(&lab, "slow", &slow) {
        Ok(slow) => slow,
        Err(reason) => return skip(&reason),
    };
    let libaio = ["--filename=slow/disk", "--ioengine=libaio", "--iodepth=16"];
    let time = ["--rw=randwrite", "--time_based", "--runtime=1"];
    for program in programs() {
        let done = report_of(&lab, program, &[&libaio[..], &time].concat());
        assert!(!done.err.contains("never came back"), "{done}");
        done.prints(&["issued rwts: total=0,1,0,0"]);
    }
    lab.write(
        "job",
        "sd=sd1,lun=slow/disk,threads=4\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n",
    );
    let words = ["run", "job", "-o", "out", "--backend", "aio"];
    let done = lab.fathom(&[&words[..], &["--overwrite", "slow/disk"]].concat());
    done.expect(0)
        .says(&["1 operation was out at the end of its run"]);
}

/// The report from a result has them, too; the summary has them in its latencies and not in its rate.
#[test]
fn a_result_tells_late_answers_in_the_manner_of_the_report() {
    let lab = Lab::new();
    let _slow = match slow(&lab, 2) {
        Ok(slow) => slow,
        Err(reason) => return skip(&reason),
    };
    let job =
        "[j]\nfilename=slow/disk\nrw=randread\nioengine=psync\ndirect=1\nruntime=1\ntime_based\n";
    lab.write("job.fio", job);
    lab.fathom(&["run", "job.fio", "-o", "out"]).expect(0);
    let report = lab.fathom(&["report", "out", "--fio", "normal"]).expect(0);
    assert!(
        report.out.contains("issued rwts: total=1,0,0,0"),
        "{}",
        report.out
    );
    let csv = lab.text("out/summary.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    let at = |name: &str| rows[0].iter().position(|one| *one == name).unwrap();
    let value = |name: &str| rows[1][at(name)].parse::<f64>().unwrap();
    assert_eq!(value("achieved_rate_per_s"), 0.0, "{csv}");
    assert!(value("response_p99_ms") >= 2_000.0, "{csv}");
}

/// As in the original, a job is at work until its time is over, also where it had nothing to do at the end.
#[test]
fn the_time_of_a_job_is_whole_where_its_last_answer_came_early() {
    let lab = Lab::new();
    lab.write("f", vec![1; 1 << 20]);
    let sparse: [&[&str]; 3] = [
        &["--rate_iops=1", "--ioengine=psync"],
        &["--rate_iops=1", "--ioengine=libaio", "--iodepth=4"],
        &["--thinktime=1300ms", "--ioengine=libaio", "--iodepth=4"],
    ];
    for words in sparse {
        let time = ["--filename=f", "--time_based", "--runtime=1500ms"];
        let words = [&time[..], words].concat();
        for program in programs() {
            let done = report_of(&lab, program, &words);
            assert!(number_behind(&done.out, " run=") >= 1_500, "{}", done.out);
            // One that ends by its size ends with it.
            let sized = ["--filename=f", "--size=64k", "--runtime=60"];
            let done = report_of(&lab, program, &sized);
            assert!(number_behind(&done.out, " run=") < 30_000, "{}", done.out);
        }
    }
}

/// What hangs at the end is on the clock of its job until it is given up.
#[test]
fn what_never_came_back_is_in_the_time_of_its_job() {
    let lab = Lab::new();
    let _hung = match slow(&lab, 3600) {
        Ok(hung) => hung,
        Err(reason) => return skip(&reason),
    };
    // Reads of zeroes beside it, so that there is something to tell.
    lab.write("f", vec![1; 1 << 20]);
    let mut going = lab.start(&[
        "fio",
        "--name=j",
        "--rw=read",
        "--bs=4k",
        "--ioengine=libaio",
        "--iodepth=8",
        "--direct=1",
        "--filename=f:slow/disk",
        "--size=2m",
        "--eta=never",
        "--runtime=600",
        "--time_based",
    ]);
    std::thread::sleep(std::time::Duration::from_secs(3));
    going.signal("INT");
    going.hear_until(|line| line.contains("once more to stop at once"));
    std::thread::sleep(std::time::Duration::from_secs(1));
    going.signal("INT");
    let done = going.end().expect(4);
    assert!(number_behind(&done.out, " run=") >= 3_000, "{}", done.out);
}

/// The line about arrivals is of the same figures as the summary, the drain included.
#[test]
fn the_line_on_arrivals_agrees_with_the_summary() {
    let lab = Lab::new();
    let _hung = match slow(&lab, 3600) {
        Ok(hung) => hung,
        Err(reason) => return skip(&reason),
    };
    lab.write(
        "job",
        "sd=sd1,lun=slow/disk,threads=2,openflags=o_direct\n\
         wd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=600,interval=1\n",
    );
    let mut going = lab.start(&["vdbench", "-f", "job", "-o", "out", "--backend", "uring"]);
    going.read_until(|line| crate::lab::interval_label(line) == Some("2"));
    going.signal("INT");
    going.hear_until(|line| line.contains("once more to stop at once"));
    std::thread::sleep(std::time::Duration::from_secs(1));
    going.signal("INT");
    let done = going.end().expect(4);
    let csv = lab.text("out/summary.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|row| row.split(',').collect()).collect();
    let at = |name: &str| rows[0].iter().position(|one| *one == name).unwrap();
    let cell = |name: &str| rows[1][at(name)];
    assert_eq!(cell("not_returned"), "2", "{csv}");
    let line = done
        .out
        .lines()
        .find(|line| line.contains("*** response time"));
    let line = line.unwrap_or_else(|| panic!("{}", done.out));
    let p99_ns = (cell("response_p99_ms").parse::<f64>().unwrap() * 1e6).round() as u64;
    let expected = format!("is p99 ≥{}, against p99 - of", plan::Nanos(p99_ns));
    assert!(line.contains(&expected), "{line}\n{csv}");
    let never = format!("; {} arrivals were never served", cell("unserved"));
    assert!(line.contains(&never), "{line}\n{csv}");
}
