//! fio jobs as people use them: through a link named `fio`, interrupted and gone on with, beside the
//! installed fio, and with programs made for its output.
use crate::lab::{FATHOM, Lab, ended, has, skip};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[test]
fn a_link_named_fio_takes_the_options_of_fio() {
    let lab = Lab::new();
    std::os::unix::fs::symlink(FATHOM, lab.path("fio")).unwrap();
    let job = ["--name=x", "--ioengine=null", "--size=1m", "--rw=randread"];
    let done = ended(lab.command("./fio").args(job)).expect(0);
    assert!(
        done.out.contains("x: (groupid=0, jobs=1): err= 0: pid="),
        "{}",
        done.out
    );
    let version = ended(lab.command("./fio").arg("--version")).expect(0);
    // Scripts compare the first word.
    assert_eq!(version.out.split_whitespace().next(), Some("fio-3.33"));
    let help = ended(lab.command("./fio").arg("--help")).expect(0);
    help.tells(&["follows fio 3.33", "--version              print `fio-3.33"]);
    assert_eq!(help.out, lab.fathom(&["help", "fio"]).expect(0).out);
}

/// The page of reference lists them; nothing in the list may be an option of the release that is followed.
#[test]
fn options_of_later_releases_are_known_here_and_not_to_fio_3_33() {
    let page = include_str!("../../../../../docs/reference/fio.md");
    let chapter = page.split("## Options of later releases").nth(1).unwrap();
    let chapter = chapter.split("\n## ").next().unwrap();
    let rows = chapter
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'));
    let names = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 35, "{names:?}");
    let lab = Lab::new();
    let has_fio = has("fio");
    if !has_fio {
        skip("`fio` is not installed");
    }
    for name in names {
        let option = name.split('=').next().unwrap();
        lab.fio([format!("--cmdhelp={option}")]).expect(0);
        if has_fio {
            let word = if option == name {
                format!("--{name}=1")
            } else {
                format!("--{name}")
            };
            let words = ["--parse-only", "--name=a", "--size=1m", &word];
            let told = lab.reference_fio(words).unwrap().all();
            let is_unknown = [
                "unrecognized option",
                "failed parsing",
                "not loadable",
                "failed to load",
            ];
            assert!(
                is_unknown.iter().any(|word| told.contains(word)),
                "{name}: {told}"
            );
        }
    }
}

#[test]
fn an_interrupted_file_of_jobs_goes_on_at_its_first_unfinished_one() {
    let lab = Lab::new();
    let one = |name: &str| {
        format!(
            "[{name}]\nstonewall\nioengine=psync\nrw=randread\nfilename=f\nsize=1m\nrate_iops=100\ntime_based\nruntime=2\n"
        )
    };
    lab.write("job.fio", ["a", "b", "c"].map(one).concat());
    let mut going = lab.start(&["run", "job.fio", "-o", "out"]);
    going.hear_until(|line| line.contains("run 3/4 b"));
    std::thread::sleep(Duration::from_millis(700));
    going.signal("KILL");
    going.end();
    lab.fathom(&["run", "job.fio", "--resume", "out"]).expect(0);
    let csv = lab.text("out/summary.csv");
    let names: Vec<&str> = csv
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next())
        .collect();
    assert_eq!(names, ["layout", "a", "b", "c"]);
    // The report of fio has each job once.
    let report = lab.fathom(&["report", "out", "--fio", "json"]).expect(0);
    let document: Value = serde_json::from_str(&report.out).unwrap();
    let jobs = document["jobs"].as_array().unwrap().iter();
    let jobs: Vec<&str> = jobs.filter_map(|job| job["jobname"].as_str()).collect();
    assert_eq!(jobs, ["a", "b", "c"]);
}

#[test]
fn writes_differ_by_a_stamp_in_each_sector_or_in_every_byte_or_not_at_all() {
    let lab = Lab::new();
    for (name, option, differing) in [
        ("stamps", "scramble_buffers=1", 8..=80),
        // Blocks may share their noise, and then one byte of the sixteen that tell them apart.
        ("refilled", "refill_buffers=1", 3_500..=4_096),
        (
            "compressible",
            "buffer_compress_percentage=50",
            1_500..=2_200,
        ),
        ("same", "scramble_buffers=0", 0..=0),
    ] {
        let job = format!("[w]\nrw=write\nbs=4k\nsize=64k\nfilename={name}\n{option}\n");
        lab.write("job.fio", job);
        lab.fathom(&["fio", "job.fio"]).expect(0);
        let written = std::fs::read(lab.path(name)).unwrap();
        assert_eq!(written.len(), 64 << 10);
        for (block, next) in written.chunks(4096).zip(written.chunks(4096).skip(1)) {
            let bytes = block.iter().zip(next).filter(|(a, b)| a != b).count();
            assert!(differing.contains(&bytes), "{name}: {bytes} bytes differ");
        }
    }
}

/// What was written is known to the process that wrote it: it is written anew before it is read back.
#[test]
fn what_was_not_read_back_is_written_again() {
    let lab = Lab::new();
    let job = "[w]\nioengine=psync\nrw=randwrite\nbs=4k\nsize=256k\nfilename=f\nverify=crc32c\n";
    lab.write("job.fio", job);
    let once = "echo x >> looks; test -e go || test $(wc -l < looks) -lt 2";
    let going = lab.start(&["run", "job.fio", "-o", "out", "--wait-until", once]);
    while lab.text_if_there("looks").lines().count() < 2 {
        std::thread::sleep(Duration::from_millis(20));
    }
    going.signal("KILL");
    going.end();
    lab.write("go", "");
    let words = ["run", "--resume", "out", "--overwrite", "f"];
    lab.fathom(&words).expect(0);
    let report = lab.fathom(&["report", "out", "--fio", "json"]).expect(0);
    let document: Value = serde_json::from_str(&report.out).unwrap();
    let job = &document["jobs"][0];
    assert_eq!(job["write"]["total_ios"], 64, "{document:#}");
    assert_eq!(job["read"]["total_ios"], 64, "{document:#}");
}

#[test]
fn a_file_that_must_exist_is_neither_made_nor_extended() {
    let lab = Lab::new();
    let job = |size: &str| {
        let size = format!("--size={size}");
        let words = ["--name=x", "--filename=f", "--rw=randread", "--bs=4k"];
        let mut all = vec!["fio", "--allow_file_create=0", &size, "--number_ios=10"];
        all.extend(words);
        lab.fathom(&all)
    };
    job("64k").expect(2).says(&["`f` does not exist"]);
    assert!(!lab.path("f").exists());
    lab.write("f", vec![7; 65536]);
    job("128k")
        .expect(2)
        .says(&["`f` asks for 128 KiB, and there are 64 KiB"]);
    assert_eq!(lab.bytes("f"), vec![7; 65536]);
    job("64k").expect(0);
}

#[test]
fn only_files_that_a_job_made_are_taken_away_again() {
    let lab = Lab::new();
    let job = |name: &str, more: &[&str]| {
        let name = format!("--filename={name}");
        let words = ["fio", "--name=x", "--rw=randread", "--bs=4k", "--size=64k"];
        lab.fathom(&[&words[..], &[&name, "--unlink=1"], more].concat())
    };
    job("made", &["--parse-only"])
        .expect(0)
        .says(&["files that this execution made"]);
    assert_eq!(job("made", &[]).expect(0).err, "");
    assert!(!lab.path("made").exists());
    lab.write("found", vec![7; 65536]);
    job("found", &[])
        .expect(0)
        .says(&["`found` is left in place"]);
    assert_eq!(lab.bytes("found"), vec![7; 65536]);
}

#[test]
fn the_same_job_reaches_about_what_it_reaches_with_fio() {
    if !has("fio") {
        return skip("`fio` is not installed");
    }
    crate::lab::alone();
    let lab = Lab::new();
    let job = "[global]\nioengine=psync\nfilename=f\nsize=4m\nbs=4k\n[paced]\nrw=randrw\n\
               rate_iops=500,500\nnumber_ios=1000\nrandseed=7\n[counted]\nstonewall\nrw=randread\n\
               number_ios=1000\n";
    lab.write("job.fio", job);
    let report = |program: &mut Command| -> Value {
        let printed = ended(program.args(["--output-format=json", "job.fio"])).expect(0);
        serde_json::from_str(&printed.out).unwrap()
    };
    let theirs = report(&mut lab.command("fio"));
    // Ours may write to what fio left behind.
    let ours = report(lab.command(FATHOM).args(["fio", "--overwrite", "f"]));
    let total = |report: &Value, job: usize, key: &str| -> f64 {
        let of = |direction: &str| report["jobs"][job][direction][key].as_f64().unwrap();
        of("read") + of("write")
    };
    for key in ["total_ios", "io_bytes"] {
        for job in 0..2 {
            assert_eq!(total(&ours, job, key), total(&theirs, job, key), "{key}");
        }
    }
    // A rate is a rate on any machine that is not stopped for half of the time.
    let rates = (total(&ours, 0, "iops"), total(&theirs, 0, "iops"));
    assert!((0.5..2.0).contains(&(rates.0 / rates.1)), "{rates:?}");
    // Hits in the page cache take some microseconds with either; the bound is for busy machines.
    let median = |report: &Value| {
        let percentiles = &report["jobs"][1]["read"]["clat_ns"]["percentile"];
        percentiles["50.000000"].as_f64().unwrap()
    };
    let medians = (median(&ours), median(&theirs));
    assert!(
        (0.02..50.0).contains(&(medians.0 / medians.1)),
        "{medians:?}"
    );
}

/// A job that writes every kind of log.
fn with_logs() -> Lab {
    let lab = Lab::new();
    let job = "[j]\nioengine=null\nrw=randrw\nbs=4k\nsize=64m\nrate_iops=2000\nruntime=2\n\
               time_based\nnorandommap\nwrite_bw_log=b\nwrite_iops_log=i\nwrite_lat_log=l\n\
               log_avg_msec=100\nwrite_hist_log=h\nlog_hist_msec=500\n";
    lab.write("job.fio", job);
    let arguments = ["fio", "--output=j.json", "--output-format=json+", "job.fio"];
    lab.fathom(&arguments).expect(0);
    lab
}

/// A program of the distribution's package, unpacked where it is packed.
fn packaged(lab: &Lab, name: &str) -> Option<PathBuf> {
    let packed = PathBuf::from(format!("/usr/share/doc/fio/{name}.gz"));
    let plain = PathBuf::from(format!("/usr/bin/{name}"));
    if plain.exists() {
        return Some(plain);
    }
    if !packed.exists() || !has("zcat") {
        skip(&format!("`{name}` is not installed"));
        return None;
    }
    let unpacked = lab.command("zcat").arg(&packed).output().unwrap();
    assert!(unpacked.status.success());
    lab.write(name, unpacked.stdout);
    Some(lab.path(name))
}

/// What a script prints; `None` where it or something that it needs is not there.
fn script(lab: &Lab, name: &str, arguments: &[&str]) -> Option<String> {
    let path = packaged(lab, name)?;
    let own = installed_readers().map(|folder| folder.join("python3"));
    let python = own.unwrap_or_else(|| "python3".into());
    let Ok(output) = lab.command(&python).arg(path).args(arguments).output() else {
        skip("`python3` is not installed");
        return None;
    };
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    if err.contains("ModuleNotFoundError") {
        skip(&format!("`{name}` needs what is not installed: {err}"));
        return None;
    }
    assert!(output.status.success(), "{name} {arguments:?}: {out}{err}");
    Some(out)
}

/// Where `cargo xtask long` installs programs that read the output of fio.
fn installed_readers() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/bin");
    folder.canonicalize().ok()
}

#[test]
fn the_parser_of_percentiles_reads_our_histogram_logs() {
    let lab = with_logs();
    let arguments = ["--percentiles", "50", "99", "--", "h_clat_hist.1.log"];
    let Some(printed) = script(&lab, "fio-histo-log-pctiles.py", &arguments) else {
        return;
    };
    let rows: Vec<&str> = printed
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    assert!(rows.len() >= 2, "{printed}");
    let samples: f64 = rows
        .iter()
        .map(|row| {
            row.split(',')
                .nth(1)
                .unwrap()
                .trim()
                .parse::<f64>()
                .unwrap()
        })
        .sum();
    assert!(samples > 1000.0, "{printed}");
}

#[test]
fn the_parser_of_histograms_reads_our_histogram_logs() {
    let lab = with_logs();
    let arguments = ["--interval", "1000", "h_clat_hist.1.log"];
    let Some(printed) = script(&lab, "fiologparser_hist.py", &arguments) else {
        return;
    };
    assert!(printed.lines().count() >= 2, "{printed}");
    assert!(printed.starts_with("end-time"), "{printed}");
}

#[test]
fn the_converter_of_buckets_reads_our_json() {
    let lab = with_logs();
    if script(&lab, "fio_jsonplus_clat2csv", &["j.json", "out.csv"]).is_none() {
        return;
    }
    let table = lab.text("out_job0.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].contains("read_clat_ns_count"), "{table}");
    // Cumulative shares come to the whole.
    assert!(rows.len() > 10 && table.contains("1.0"), "{table}");
}

#[test]
fn the_drawer_of_the_package_reads_our_logs() {
    let lab = with_logs();
    if script(&lab, "fio2gnuplot", &["-p", "b_bw*.log"]).is_none() {
        return;
    }
    let whole = lab.text("b_bw.global");
    let average = whole.lines().find_map(|line| line.strip_prefix("avg="));
    let average: f64 = average
        .unwrap_or_else(|| panic!("{whole}"))
        .parse()
        .unwrap();
    // 2000 operations of 4 KiB in a second, in KiB.
    assert!((4000.0..=8400.0).contains(&average), "{whole}");
}

/// Charts from JSON and from logs.
#[test]
fn fio_plot_draws_our_json_and_our_logs() {
    let Some(readers) = installed_readers().filter(|folder| folder.join("fio-plot").exists())
    else {
        return skip("`fio-plot` is not in target/readers, where `cargo xtask long` installs it");
    };
    let lab = Lab::new();
    std::fs::create_dir(lab.path("data")).unwrap();
    for depth in ["1", "4"] {
        let name = format!("data/randread-iodepth-{depth}-numjobs-1");
        let job = format!(
            "[global]\nioengine=null\nrw=randread\nbs=4k\nsize=64m\nrate_iops=2000\nruntime=2\n\
             time_based\nnumjobs=1\ngroup_reporting\nwrite_bw_log={name}\n\
             write_iops_log={name}\nwrite_lat_log={name}\nlog_avg_msec=200\n\
             [test]\niodepth={depth}\n"
        );
        lab.write("job.fio", job);
        let output = format!("--output=data/randread-{depth}-1.json");
        lab.fathom(&["fio", &output, "--output-format=json", "job.fio"])
            .expect(0);
    }
    for (name, options) in [
        ("bars.png", &["-l", "-d", "1", "4", "-n", "1"][..]),
        ("depth.png", &["-L", "-t", "iops"][..]),
        ("histogram.png", &["-H", "-d", "4", "-n", "1"][..]),
        (
            "logs.png",
            &["-g", "-t", "iops", "lat", "bw", "-d", "1", "4", "-n", "1"][..],
        ),
    ] {
        let common = ["-i", "data", "-T", "title", "-r", "randread", "-o", name];
        let mut plot = lab.command(readers.join("fio-plot"));
        let drawn = ended(plot.args(common).args(options)).expect(0);
        let is_drawn = lab.path(name).exists() && lab.bytes(name).starts_with(b"\x89PNG");
        assert!(is_drawn, "{name}: {}{}", drawn.out, drawn.err);
    }
}

/// Zeros have no header, so that each job ends with its first block.
#[test]
fn the_exit_code_is_the_number_of_jobs_that_failed() {
    let lab = Lab::new();
    lab.write("zeros", vec![0; 1 << 20]);
    let wrong =
        "[global]\nfilename=zeros\nrw=read\nsize=1m\nbs=4k\n[fine]\n[wrong]\nverify=crc32c\n";
    for (more, code) in [("numjobs=3", 3), ("", 1), ("continue_on_error=verify", 0)] {
        lab.write("j.fio", format!("{wrong}{more}\n"));
        lab.fathom(&["fio", "j.fio"]).expect(code);
    }
}

#[test]
fn mixed_directions_have_places_of_their_own_and_whole_sizes() {
    let lab = Lab::new();
    let job =
        "[j]\nioengine=null\nrw=randrw\nbs=4k,64k\nsize=16m\nwrite_lat_log=log\nlog_offset=1\n";
    lab.write("j.fio", job);
    lab.fathom(&["fio", "j.fio"]).expect(0);
    let log = lab.text("log_lat.1.log");
    let mut counts = [0; 2];
    for line in log.lines() {
        let words: Vec<u64> = line
            .split(", ")
            .map(|word| word.parse().unwrap_or(0))
            .collect();
        let bytes = [4096, 65_536][words[2] as usize];
        assert_eq!((words[3], words[4] % bytes), (bytes, 0), "{line}");
        counts[words[2] as usize] += 1;
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}
