//! `fathom explain` prints what is used, as the bound plan holds it, and where it comes from; and what words mean.
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

/// The lines of one subject.
fn of<'t>(text: &'t str, subject: &str) -> &'t str {
    let from = text.find(&format!("{subject}\n")).unwrap() + subject.len();
    let rest = &text[from..];
    &rest[..rest.find("\n[").unwrap_or(rest.len())]
}

#[test]
fn the_seed_that_each_job_uses_is_told() {
    let lab = Lab::new();
    lab.write("disk", vec![1; 3 << 20]);
    let shown = |text: &str| {
        lab.write("job", text);
        lab.fathom(&["explain", "job"]).expect(0).out
    };
    let both = "[a]\nfilename=disk\nrw=randread\n[b]\nfilename=disk\nrw=randread\nrandseed=7\n";
    let told = shown(both);
    let drawn = "0 drawn anew by each execution of `run`";
    has(of(&told, "[a]"), "randrepeat", drawn);
    let another = "another one for each execution default: that of the execution";
    has(of(&told, "[a]"), "randseed", another);
    has(of(&told, "[b]"), "randseed", "7 job:7:10");
    has(of(&told, "[b]"), "randrepeat", "1 default");
    let alone = shown("[a]\nfilename=disk\nrw=randread\n");
    has(&alone, "randrepeat", drawn);
    let repeated = shown("[a]\nfilename=disk\nrw=randread\nrandrepeat=1\n");
    has(&repeated, "randrepeat", "1 job:4:12");
    has(&repeated, "randseed", "1 default: that of the execution");
    let named = shown("[a]\nfilename=disk\nrw=randread\nrandrepeat=0\nrandseed=5\n");
    has(
        &named,
        "randrepeat",
        "0 job:4:12 (has no effect on this job)",
    );
}

#[test]
fn what_a_job_of_fio_does_not_use_is_told() {
    let lab = Lab::new();
    lab.write("disk", vec![1; 3 << 20]);
    let shown = |lines: &str| {
        lab.write("job", format!("[a]\nfilename=disk\nsize=1m\n{lines}\n"));
        lab.fathom(&["explain", "job"]).expect(0).out
    };
    let idle = |lines: &str, name: &str| {
        let told = shown(lines);
        let line = line(&told, name).unwrap_or_else(|| panic!("{name}: {told}"));
        assert!(
            line.join(" ").ends_with("(has no effect on this job)"),
            "{told}"
        );
    };
    idle("rw=randread\nrate=,1m", "rate");
    idle("rw=randread\ntime_based", "time_based");
    idle("rw=randread\ntime_based\nruntime=5\nloops=3", "loops");
    idle("rw=randrw\nrwmixread=30\nrwmixwrite=40", "rwmixread");
    has(
        &shown("rw=randrw\nrwmixread=30\nrwmixwrite=40"),
        "rwmixwrite",
        "40 job:6:12",
    );
    has(
        &shown("rw=randrw\nrwmixread=100"),
        "rwmixread",
        "100 job:5:11",
    );
    has(
        &shown("rw=randread\nbssplit=4k/60:8k/60"),
        "bssplit",
        "4k/60:8k/40 job:5:9",
    );
    has(
        &shown("rw=write\nloops=3"),
        "io_size",
        "1m default: that of `size`",
    );
    has(
        &shown("rw=randtrimwrite"),
        "io_size",
        "1m default: that of `size`",
    );
    has(&shown("rw=write"), "scramble_buffers", "1 default");
    assert_eq!(
        line(&shown("rw=write\nzero_buffers"), "scramble_buffers"),
        None
    );
    assert_eq!(
        line(&shown("rw=write\nrefill_buffers"), "scramble_buffers"),
        None
    );
}

#[test]
fn duplicates_are_shown_as_each_storage_definition_has_them() {
    let lab = Lab::new();
    let shown = |first: &str, second: &str| {
        let job = format!(
            "dedupratio=2\ndedupunit=8k\nsd=sd1,lun=one,size=1m{first}\nsd=sd2,lun=two,size=1m{second}\n\
             wd=wd1,sd=sd*,rdpct=0\nrd=rd1,wd=wd1,iorate=max,elapsed=20\n"
        );
        lab.write("job", job);
        let told = lab.fathom(&["explain", "job"]).expect(0).out;
        let ratios = told.lines().filter(|line| line.contains("dedupratio"));
        ratios
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let derived = "dedupratio 2 other parameters of the job";
    assert_eq!(shown("", ""), ["dedupratio 2 job:1:1", derived, derived]);
    let own = shown(",dedupratio=3", "");
    assert_eq!(own[0], "dedupratio 2 job:1:1");
    assert!(own[1].starts_with("dedupratio 3 job:3:"), "{own:?}");
    assert_eq!(own[2], derived);
    let none = shown(",dedupratio=3", ",dedupratio=3");
    assert_eq!(none[0], "dedupratio 2 job:1:1 (has no effect on this job)");
}

#[test]
fn a_number_that_another_parameter_replaces_is_not_the_origin() {
    let lab = Lab::new();
    lab.write(
        "job",
        "sd=sd1,lun=one,size=1m,threads=4\nwd=wd1,sd=sd1,iorate=9,priority=1\nwd=wd2,sd=sd1,priority=2\n\
         rd=rd1,wd=*,iorate=100,elapsed=20,forthreads=(1,2)\n",
    );
    let told = lab.fathom(&["explain", "job"]).expect(0).out;
    let threads = "1, 2 other parameters of the job (`4` is written)";
    has(&told, "threads", threads);
    let skews = told.lines().filter(|line| line.trim().starts_with("skew"));
    assert_eq!(skews.count(), 1, "{told}");
}

#[test]
fn words_are_explained_and_mistyped_ones_get_the_nearest() {
    let lab = Lab::new();
    let says = |words: &[&str], text: &str| {
        let words = [&["explain"], words].concat();
        let out = lab.fathom(&words).expect(0).out;
        assert!(out.contains(text), "{words:?}: {out}");
    };
    says(&["bssplit"], "fio option");
    says(&["BSSPLIT"], "fio option");
    says(&["xfersize"], "Vdbench parameter");
    says(&["generator-bound"], "generator-bound");
    says(&["vdb-0013", "libaio"], "fio engine");
    says(&["--repeat"], "verbs:   run");
    says(&["repeat"], "Repeat all runs");
    says(&["--strict"], "--strict");
    says(&["-o"], "-o, --output <FOLDER>");
    says(&["on-loss"], "takes:   end, continue");
    says(&["--overwrite", "--lint"], "--lint");
    says(&["overwrite"], "fio option");
    says(&["overwrite"], "Fathom option");
    says(&["--iodepth"], "fio option");
    says(&["not", "checked"], "Something that has to be seen was not");
    says(&["open", "loop"], "Operations are due at times");
    says(&["open-loop"], "Operations are due at times");
    says(&["knee"], "curve turns up");
    says(&["p99"], "A percentile");
    says(&["service", "time"], "submitted → seen");
    says(&["read"], "a value of the fio options `rw`, ");
    says(&["randread"], "a value of the fio option `rw`");
    let refuses = |word: &str, text: &str| {
        let err = lab.fathom(&["explain", word]).expect(2).err;
        assert!(err.contains(text) && err.lines().count() == 1, "{err}");
    };
    refuses("bsplit", "did you mean `bssplit`?");
    refuses("xfersise", "did you mean `xfersize`?");
    refuses("generator-bond", "did you mean `generator-bound`?");
    refuses("vdb-013", "did you mean `vdb-0013`?");
    refuses("--repaet", "did you mean `--repeat`?");
    refuses(
        "--kubernetes",
        "no verb has this option; `fathom VERB --help`",
    );
    refuses(
        "not",
        "`fathom manual vdbench` and `fathom manual fio` list",
    );
    refuses(
        "kubernetes",
        "`fathom manual vdbench` and `fathom manual fio` list",
    );
    let err = lab
        .fathom(&["fio", "--cmdhelp=bsplit"])
        .expect_failure()
        .err;
    assert!(err.contains("did you mean `bssplit`?"), "{err}");
}
