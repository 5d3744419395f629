//! What fio passes over, with one remark of `check` each; beside the original where it is installed.
use crate::lab::Lab;
use serde_json::Value;

const BASE: &str = "[a]\nioengine=null\nsize=1m\nrw=read\n";

/// A line, and the same in plain words.
const PASSED_OVER: &[(&str, &str)] = &[
    ("size=512k}", "size=512k"),
    ("size=512k,", "size=512k"),
    ("bs=8k]", "bs=8k"),
    ("iodepth=4)", "iodepth=4"),
    ("rw=read,", "rw=read"),
    ("direct=0,", "direct=0"),
    ("group_reporting=1]", "group_reporting=1"),
    ("runtime=9s,", "runtime=9s"),
    ("percentile_list=50:99]", "percentile_list=50:99"),
    ("cpus_allowed=0,", "cpus_allowed=0"),
    ("bssplit= 4k/50:8k/50", "bssplit=4k/50:8k/50"),
    ("bssplit=4k/50]", "bssplit=4k/100"),
    ("bs= 8192", "bs=8192"),
    ("bs=4096, 8192", "bs=4096,8192"),
    ("iodepth= 4", "iodepth=4"),
    ("runtime= 9", "runtime=9"),
    ("direct= 0", "direct=0"),
    ("cpus_allowed= 0", "cpus_allowed=0"),
    ("percentile_list=50: 99", "percentile_list=50:99"),
    (
        "random_distribution=zipf: 1.2",
        "random_distribution=zipf:1.2",
    ),
    ("rw=randread: 8", "rw=randread:8"),
    ("rw=read: 8k", "rw=read:8k"),
    ("file_service_type=random: 5", "file_service_type=random:5"),
    ("rwmixread=100%", "rwmixread=100"),
    ("rwmixwrite=0%", "rwmixwrite=0"),
];

/// Sizes and counts of the job, from its report.
fn done(report: &Value) -> Vec<Value> {
    let jobs = report["jobs"].as_array().unwrap();
    let read = |job: &Value| job["read"]["io_bytes"].clone();
    jobs.iter().map(read).collect()
}

const JSON: &str = "--output-format=json";

fn ours(lab: &Lab, job: &str) -> Value {
    lab.fio([JSON, job]).expect(0).json()
}

#[test]
fn what_follows_a_value_is_passed_over_with_one_remark() {
    let lab = Lab::new();
    for (loose, plain) in PASSED_OVER {
        lab.write("loose", format!("{BASE}{loose}\n"));
        lab.write("plain", format!("{BASE}{plain}\n"));
        let remarks = |job: &str| {
            let told = lab.fathom(&["check", job]).expect(0).err;
            told.matches("[fio-0203]").count() + told.matches("[fio-0137]").count()
        };
        let more = 1 + usize::from(loose.contains("/50]"));
        assert_eq!(remarks("loose"), remarks("plain") + more, "{loose}");
        assert_eq!(
            done(&ours(&lab, "loose")),
            done(&ours(&lab, "plain")),
            "{loose}"
        );
    }
}

#[test]
fn fio_reads_them_likewise() {
    let lab = Lab::new();
    for (loose, _) in PASSED_OVER {
        lab.write("loose", format!("{BASE}{loose}\n"));
        let Some(theirs) = lab.reference_fio([JSON, "loose"]) else {
            return;
        };
        let theirs = theirs.expect(0).json();
        assert_eq!(done(&ours(&lab, "loose")), done(&theirs), "{loose}");
    }
}

/// `fio` gives what is left to the largest share, of equal ones to the last.
#[test]
fn shares_below_a_hundred_leave_the_rest_to_the_largest() {
    let lab = Lab::new();
    for (split, large_pct) in [("4k/50:8k/30", 30.0), ("4k/10:8k/10", 90.0)] {
        let size = "[a]\nioengine=null\nsize=64m\nrw=read\n";
        lab.write("job", format!("{size}bssplit={split}\n"));
        let report = ours(&lab, "job");
        let read = &report["jobs"][0]["read"];
        let [bytes, count] = ["io_bytes", "total_ios"].map(|key| read[key].as_f64().unwrap());
        let found_pct = (bytes / count / 4096.0 - 1.0) * 100.0;
        assert!((found_pct - large_pct).abs() < 5.0, "{split}: {found_pct}");
    }
}

/// `fio` takes the smallest share first, and gives the largest what is left.
#[test]
fn shares_above_a_hundred_are_cut_from_the_largest() {
    let lab = Lab::new();
    let splits = [
        ("4k/60:8k/60", 40.0),
        ("8k/60:4k/60", 60.0),
        ("4k/80:8k/40", 40.0),
        ("4k/100:8k/50", 50.0),
        ("4k/150:8k/20", 20.0),
    ];
    for (split, large_pct) in splits {
        let size = "[a]\nioengine=null\nsize=64m\nrw=read\n";
        lab.write("job", format!("{size}bssplit={split}\n"));
        let told = lab.fathom(&["check", "job"]).expect(0).err;
        assert_eq!(told.matches("[fio-0137]").count(), 1, "{split}: {told}");
        let report = ours(&lab, "job");
        let read = &report["jobs"][0]["read"];
        let [bytes, count] = ["io_bytes", "total_ios"].map(|key| read[key].as_f64().unwrap());
        let found_pct = (bytes / count / 4096.0 - 1.0) * 100.0;
        assert!((found_pct - large_pct).abs() < 5.0, "{split}: {found_pct}");
    }
}

#[test]
fn a_blank_beside_a_number_is_told_of_and_one_before_a_word_is_a_remark() {
    let lab = Lab::new();
    lab.write(
        "job",
        "[a]\nioengine = null\nsize = 512k\nrw = read\niodepth = 2\n",
    );
    let told = lab.fathom(&["check", "job"]).expect(0).err;
    assert_eq!(told.matches("fio-0304").count(), 1, "{told}");
    assert!(told.contains("fio reads `512`"), "{told}");
    assert_eq!(done(&ours(&lab, "job")), [Value::from(512 << 10)]);
}

#[test]
fn a_comment_after_a_number_is_dropped() {
    let lab = Lab::new();
    for line in [
        "size=512k // half of it",
        "size=512k //half of it",
        "size=512k /* half of it */",
        "size=512k\nbs=4k,4k // text",
        "size=512k\nbssplit=4k/50:8k/50 // text",
        "size=512k\nruntime=20s // text",
    ] {
        lab.write("job", format!("[a]\nioengine=null\n{line}\n"));
        let told = lab.fathom(&["check", "job"]).expect(0).all();
        assert!(told.contains("has no effect"), "{line}: {told}");
        assert_eq!(done(&ours(&lab, "job")), [Value::from(512 << 10)], "{line}");
    }
    for line in [
        "size=512k text",
        "size=512k/ / text",
        "bs=4kx",
        "rw=read // text",
    ] {
        lab.write("job", format!("[a]\nioengine=null\nsize=1m\n{line}\n"));
        lab.fathom(&["check", "job"]).expect(2);
    }
}

/// In a file for the whole section, on the command line from where it stands.
#[test]
fn the_base_of_units_holds_as_in_fio() {
    let lab = Lab::new();
    let kib = |words: &[&str]| -> u64 {
        let front = [
            "--ioengine=null",
            "--bs=4k",
            "--output-format=terse",
            "--output=o",
        ];
        lab.fio([&front[..], words].concat()).expect(0);
        lab.text("o").split(';').nth(5).unwrap().parse().unwrap()
    };
    let base = "--kb_base=1000";
    assert_eq!(
        kib(&[base, "--name=a", "--size=8m"]),
        8_000_000 / 4096 * 4096 / 1024
    );
    assert_eq!(kib(&["--name=a", "--size=8m", base]), 8 << 10);
    lab.write("job", "[a]\nioengine=null\nsize=8m\nbs=4k\nkb_base=1000\n");
    lab.fio(["job", "--output=o"]).expect(0);
    let text = lab.text("o");
    assert!(text.contains("io=8000kB (7813KiB)"), "{text}");
    // Amounts are of bytes where rates are of bits.
    let bits = [
        "--name=a",
        "--ioengine=null",
        "--size=8m",
        "--unit_base=1",
        "--output=o",
    ];
    lab.fio(bits).expect(0);
    let text = lab.text("o");
    assert!(
        text.contains("io=8192KiB (8389kB)") && text.contains("bit/s"),
        "{text}"
    );
}

#[test]
fn what_could_be_another_magnitude_is_refused() {
    let lab = Lab::new();
    for (line, help) in [
        ("size=2x", "is no unit"),
        ("size=10z", "in zones is refused"),
        ("runtime=1min", "is no unit"),
        (
            "iodepth=128*1",
            "write `iodepth=(128*1)` to have it computed",
        ),
        ("rwmixread=70%", "fio takes it for another number"),
        ("rwmixread=70%", "write `rwmixread=70`"),
        ("rwmixread=0%", "fio takes it for another number"),
        ("io_size=200%", "`io_size` is 0 to 100 %"),
        ("io_size=101%%", "give bytes, or go over all of it again"),
        ("offset=101%", "`offset` is 0 to 100 %"),
        ("filename=f\nioengine=psync\nsize=200%", "write `size=100%`"),
        (
            "file_service_type=random : 5",
            "write `file_service_type=random:5`",
        ),
        ("steadystate=iops : 10%", "write `steadystate=iops:10%`"),
        ("rw=randread :8", "write `rw=randread:8`"),
        (
            "random_distribution=zipf : 1.2",
            "write `random_distribution=zipf:1.2`",
        ),
        ("bssplit=4k/60:8k/60:16k", "make 120 %"),
    ] {
        lab.write("job", format!("{BASE}{line}\n"));
        lab.fathom(&["check", "job"]).expect(2).says(&[help]);
    }
}

#[test]
fn a_look_at_the_machine_has_codes_of_the_language() {
    let lab = Lab::new();
    lab.write("f", vec![1; 1 << 20]);
    lab.write("job", "[a]\nfilename=f\nsize=1m\n");
    let found = lab.fathom(&["check", "job"]).expect(0);
    assert!(!found.err.contains("vdb-"), "{}", found.err);
    found.says(&["warning[fio-0315]", "--result FOLDER"]);
    let off = lab.fathom(&["check", "job", "--lint", "results-on-storage=off"]);
    assert!(!off.expect(0).err.contains("fio-0315"));
}
