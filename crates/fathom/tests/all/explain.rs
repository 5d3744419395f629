//! `fathom explain` prints what is used, as the bound plan holds it, and where it comes from.
use crate::lab::Lab;

/// The value and the origin of a parameter, as words; `None` where it has no line.
fn line(text: &str, name: &str) -> Option<Vec<String>> {
    let mut lines = text.lines().map(str::split_whitespace);
    let found = lines.find(|words| words.clone().next() == Some(name))?;
    Some(found.skip(1).map(str::to_owned).collect())
}

fn has(text: &str, name: &str, expected: &str) {
    let found = line(text, name).unwrap_or_else(|| panic!("no {name} in\n{text}"));
    assert_eq!(found.join(" "), expected, "{name} in\n{text}");
}

#[test]
fn options_of_fio_are_shown_as_they_are_used() {
    let lab = Lab::new();
    lab.write("disk", vec![1; 3 << 20]);
    lab.write(
        "job",
        "[global]\nfilename=disk\niodepth=32\n[a]\nrw=randread\nrwmixread=30\nruntime=90\n",
    );
    let shown = lab.fathom(&["explain", "job"]).expect(0).out;
    has(
        &shown,
        "randseed",
        "another one for each execution default: that of the execution",
    );
    // The engine has one I/O in flight, whatever is written.
    has(&shown, "iodepth", "1 job:3:9");
    has(&shown, "size", "3m this machine");
    has(&shown, "bs", "4k default");
    has(&shown, "runtime", "90s job:7:9");
    has(
        &shown,
        "rwmixread",
        "30 job:6:11 (has no effect on this job)",
    );
    has(&shown, "direct", "0 default");
    for idle in ["fsync", "rate", "thinktime_blocks", "verify_state_save"] {
        assert_eq!(line(&shown, idle), None, "{idle} in\n{shown}");
    }
    lab.write(
        "job",
        "[a]\nfilename=disk\nrw=randread\nrandseed=77\nrandrepeat=0\n",
    );
    let shown = lab.fathom(&["explain", "job"]).expect(0).out;
    has(&shown, "randseed", "77 job:4:10");
    lab.write(
        "job",
        "[a]\nfilename=disk\nzonesize=64k\nverify=crc32c\nrw=write\n",
    );
    let shown = lab.fathom(&["explain", "job"]).expect(0).out;
    has(&shown, "zonerange", "64k default: that of `zonesize`");
    has(&shown, "verify_interval", "4k default: that of `bs`");
    assert_eq!(line(&shown, "random_distribution"), None, "{shown}");
}

#[test]
fn parameters_of_vdbench_are_shown_as_they_are_used() {
    let lab = Lab::new();
    lab.write("disk", vec![1; 3 << 20]);
    lab.write(
        "job",
        "sd=sd1,lun=disk\nwd=wd1,sd=sd1,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=max,elapsed=20,forthreads=(1,4),interval=5\n",
    );
    let shown = lab.fathom(&["explain", "job"]).expect(0).out;
    has(&shown, "size", "3m this machine");
    has(&shown, "xfersize", "4k default");
    has(&shown, "elapsed", "20 job:3:26");
    has(&shown, "skew", "100 default: an equal part of the rest");
    for idle in [
        "hitarea",
        "rhpct",
        "offset",
        "dedupsets",
        "compratio",
        "curve",
    ] {
        assert_eq!(line(&shown, idle), None, "{idle} in\n{shown}");
    }
}
