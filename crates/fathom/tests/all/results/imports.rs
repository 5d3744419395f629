//! `fathom import` of files that are large, damaged or nothing of fio's: what is whole is kept, the rest has a reason.
use crate::lab::{Ended, FATHOM, Lab, ended, has, is_root, skip};

/// Longer than any of it takes, and only there so that a hang ends the test.
const TOO_LONG_S: &str = "60";

/// In KiB, of a debug build.
const MEMORY_MAX: u64 = 200 << 10;

const NOTHING: &str = "no JSON document of fio with a whole job";

/// What is imported goes to a folder of its own each time.
fn import(lab: &Lab, name: &str) -> Ended {
    let _ = std::fs::remove_dir_all(lab.path("in"));
    let mut command = lab.command("timeout");
    command.args(["-s", "KILL", TOO_LONG_S, FATHOM]);
    let told = ended(command.args(["import", name, "-o", "in"]));
    assert!(!told.err.contains("panicked"), "{name}: {}", told.err);
    let is_there = lab.path("in/report.html").exists();
    assert_eq!(is_there, told.code != Some(2), "{name}: {}", told.err);
    told
}

fn direction(operations: u64) -> String {
    format!(
        "{{\"total_ios\": {operations}, \"io_bytes\": {}, \"runtime\": 1000, \"short_ios\": 0,\n\
         \"clat_ns\": {{\"min\": 1000, \"max\": 9000, \"mean\": 4000.0, \"N\": {operations},\n\
         \"percentile\": {{\"50.000000\": 4000, \"99.000000\": 8000}}}},\n\
         \"lat_ns\": {{\"min\": 1000, \"max\": 9000, \"mean\": 4000.0, \"N\": {operations}}}}}",
        operations * 4096
    )
}

fn job(name: &str) -> String {
    format!(
        "{{\"jobname\": \"{name}\", \"groupid\": 0, \"error\": 0, \"job options\": {{\"rw\": \"read\", \"iodepth\": \"4\"}},\n\
         \"read\": {}}}",
        direction(500)
    )
}

fn document(jobs: &[String]) -> String {
    format!(
        "{{\n\"fio version\": \"fio-3.33\",\n\"timestamp\": 1700000000,\n\"jobs\": [\n{}\n]\n}}\n",
        jobs.join(",\n")
    )
}

fn two() -> String {
    document(&[job("first"), job("second")])
}

#[test]
fn a_text_of_another_encoding_or_with_messages_around_it_is_whole() {
    let lab = Lab::new();
    lab.write("plain", two());
    import(&lab, "plain").expect(0);
    let table = lab.text("in/summary.csv");
    assert!(
        table.contains(",first,") && table.contains(",second,"),
        "{table}"
    );
    let wide = |unit: fn(u16) -> [u8; 2]| {
        let text = format!("\u{feff}{}", two());
        text.encode_utf16().flat_map(unit).collect::<Vec<u8>>()
    };
    let messages =
        "fio: warning: `a` {b} has \"c\nnote: both iodepth >= 1 and {\"synchronous\": 1}\n";
    for (name, bytes) in [
        ("little", wide(u16::to_le_bytes)),
        ("big", wide(u16::to_be_bytes)),
        ("odd", [wide(u16::to_le_bytes), vec![0]].concat()),
        ("marked", format!("\u{feff}{}", two()).into_bytes()),
        (
            "told",
            format!("{messages}{}{messages}", two()).into_bytes(),
        ),
        ("latin", [b"gepr\xfcft\n", two().as_bytes()].concat()),
        // What a power failure leaves of a file.
        ("zeros", [two().as_bytes(), &[0; 9000]].concat()),
    ] {
        lab.write(name, bytes);
        import(&lab, name).expect(0);
        assert_eq!(lab.text("in/summary.csv"), table, "{name}");
    }
}

#[test]
fn of_a_text_that_is_cut_off_whole_jobs_are_kept() {
    let lab = Lab::new();
    let text = two();
    let second = text.find("\"second\"").unwrap();
    for end in (0..text.len()).step_by(97) {
        lab.write("cut", &text[..end]);
        let told = import(&lab, "cut");
        let is_kept = end > second;
        assert_eq!(
            told.code,
            Some(if is_kept { 1 } else { 2 }),
            "{end}: {}",
            told.err
        );
        let reason = if end == 0 {
            "there is no `{`"
        } else {
            "it ends early"
        };
        told.says(&[reason, if is_kept { "is not whole" } else { NOTHING }]);
    }
}

#[test]
fn what_is_no_report_of_fio_has_a_reason() {
    let lab = Lab::new();
    let deep = "[".repeat(100_000);
    let with = |more: &str| document(&[job("a").replacen('{', &format!("{{{more}, "), 1)]);
    let early = two().replace("1700000000", "1e400");
    for (name, text, says) in [
        ("empty", String::new(), "there is no `{`"),
        ("blank", " \n\n".to_owned(), "there is no `{`"),
        ("deep", deep.clone(), "there is no `{`"),
        ("nested", "{\"a\":".repeat(100_000), "it ends early"),
        ("within", with(&format!("\"x\": {deep}")), "recursion limit"),
        (
            "closed",
            with(&format!("\"x\": {deep}{}", "]".repeat(100_000))),
            "recursion limit",
        ),
        (
            "other",
            "{\"jobs_of_others\": 1}".to_owned(),
            "neither `jobs` nor `client_stats`",
        ),
        ("none", document(&[]), "has figures of reads"),
        (
            "twice",
            two().replace("\"jobs\": [", "\"jobs\": [], \"jobs\": ["),
            "has figures of reads",
        ),
        // Before any job, and so with nothing to keep.
        ("early", early, "damaged at line 3"),
        // As many places to begin as bytes.
        ("braces", "\0{".repeat(1 << 22), "more than 1048576 places"),
        ("pairs", "{}".repeat(1 << 22), "more than 1048576 places"),
    ] {
        lab.write(name, text);
        import(&lab, name).expect(2).says(&["error: ", says]);
    }
    let sparse = std::fs::File::create(lab.path("sparse")).unwrap();
    sparse.set_len(100 << 20).unwrap();
    import(&lab, "sparse")
        .expect(2)
        .says(&["larger than 64 MiB"]);
    std::fs::create_dir(lab.path("folder")).unwrap();
    assert!(
        std::process::Command::new("mkfifo")
            .arg(lab.path("silent"))
            .status()
            .unwrap()
            .success()
    );
    for (name, says) in [
        ("folder", "a directory"),
        ("missing", "no such file"),
        ("silent", "did not end within"),
        ("/dev/zero", "a character device"),
    ] {
        import(&lab, name).expect(2).says(&[says]);
    }
    if is_root() {
        return skip("root reads everything");
    }
    lab.write("secret", two());
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    std::fs::set_permissions(lab.path("secret"), closed).unwrap();
    import(&lab, "secret")
        .expect(2)
        .says(&["permission denied"]);
}

/// A figure that cannot be is left out and told; a number that JSON has not ends the text there.
#[test]
fn numbers_that_cannot_be_are_left_out_or_end_the_text() {
    let lab = Lab::new();
    let second = |key: &str, value: &str| {
        let (from, text) = (job("second"), format!("\"{key}\": "));
        let start = from.find(&text).unwrap() + text.len();
        let end = start + from[start..].find([',', '}']).unwrap();
        let changed = format!("{}{value}{}", &from[..start], &from[end..]);
        document(&[job("first"), changed])
    };
    for key in [
        "total_ios",
        "io_bytes",
        "runtime",
        "min",
        "max",
        "mean",
        "error",
    ] {
        for value in ["1e400", "NaN", "-nan", "Infinity", "+1", "01"] {
            lab.write("number", second(key, value));
            let told = import(&lab, "number").expect(1);
            told.says(&["it is damaged at line", "is not whole"]);
            let table = lab.text("in/summary.csv");
            assert!(
                table.contains("first") && !table.contains("second"),
                "{key} {value}: {table}"
            );
        }
        for value in ["-1", "18446744073709551616", "1e300", "null", "\"x\""] {
            lab.write("number", second(key, value));
            let told = import(&lab, "number").expect(0);
            let is_told =
                told.err.contains(&format!("`{key}` is")) || told.err.contains("left out");
            assert!(
                is_told || key == "error" || key == "max",
                "{key} {value}: {}",
                told.err
            );
        }
    }
    // Of a key that comes twice the last one counts, as in other readers of JSON.
    let twice = job("a").replacen(
        "\"total_ios\": 500",
        "\"total_ios\": 7, \"total_ios\": 500",
        1,
    );
    lab.write("once", document(&[job("a")]));
    import(&lab, "once").expect(0);
    let table = lab.text("in/summary.csv");
    lab.write("twice", document(&[twice]));
    import(&lab, "twice").expect(0);
    assert_eq!(lab.text("in/summary.csv"), table);
}

/// Time and memory follow the size of the text, and not its square: two thousand jobs took 6 GB.
#[test]
fn many_jobs_side_by_side_take_the_memory_of_their_text() {
    if !has("/usr/bin/time") {
        return skip("/usr/bin/time is missing");
    }
    let lab = Lab::new();
    let jobs: Vec<String> = (0..2000)
        .map(|number| job(&format!("job{number}")))
        .collect();
    lab.write("many", document(&jobs));
    let noise: Vec<u8> = (0..60_000_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80)
        .collect();
    lab.write("noise", noise);
    for (name, code) in [("many", 0), ("noise", 2)] {
        let mut command = lab.command("/usr/bin/time");
        let words = ["-f", "%M", "timeout", "-s", "KILL", TOO_LONG_S, FATHOM];
        command.args(words).args(["import", name, "-o", "in"]);
        let told = ended(&mut command).expect(code);
        let kib: u64 = told.err.lines().last().unwrap().parse().unwrap();
        assert!(kib < MEMORY_MAX, "{name}: {kib} KiB");
    }
    let table = lab.text("in/summary.csv");
    assert_eq!(table.lines().count(), 2002);
    assert!(
        table.lines().last().unwrap().contains(",job1999,"),
        "{table}"
    );
}

/// An option has a value for reads, and after a comma for writes; bytes per second are a rate, too.
#[test]
fn the_rate_that_jobs_were_held_to_is_read() {
    let lab = Lab::new();
    for (option, value, asked) in [
        ("rate_iops", "700,300", "1000.0"),
        ("rate_iops", "700", "1400.0"),
        ("rate_iops", "4k", "8192.0"),
        ("rate_iops", "0,3000", ""),
        ("rate_iops", "700,", ""),
        ("rate", "1m", "512.0"),
        ("rate", "1m,512KiB", "381.0"),
    ] {
        let both = format!(
            "\"read\": {},\n\"write\": {}",
            direction(500),
            direction(500)
        );
        let options = format!("\"rw\": \"randrw\", \"{option}\": \"{value}\"");
        let text = format!(
            "{{\"fio version\": \"fio-3.33\", \"timestamp\": 1700000000, \"jobs\": [{{\"jobname\": \"j\", \"groupid\": 0, \"error\": 0,\n\
             \"job options\": {{{options}}},\n{both}}}]}}\n"
        );
        lab.write("rated.json", text);
        import(&lab, "rated.json").expect(0);
        let csv = lab.text("in/summary.csv");
        let mut lines = csv.lines();
        let place = lines
            .next()
            .unwrap()
            .split(',')
            .position(|name| name == "asked_rate_per_s");
        let told = lines
            .next()
            .unwrap()
            .split(',')
            .nth(place.unwrap())
            .unwrap();
        let number = |text: &str| text.parse::<f64>().ok();
        let (told, asked) = (number(told), number(asked));
        let is_near = told
            .zip(asked)
            .is_none_or(|(told, asked)| (told - asked).abs() < 1.0);
        assert!(
            told.is_some() == asked.is_some() && is_near,
            "{option}={value}: {csv}"
        );
    }
}
