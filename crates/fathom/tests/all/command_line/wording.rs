//! What messages say: no line twice, the nearest word, what makes a result, and no name that the user never wrote.
use crate::lab::{Ended, Lab, job};

const USERS_JOB: &str = "iorate=50,elapsed=2,interval=1";

/// The words of an error without its code, so that the same words under two codes are one line.
fn bare(line: &str) -> &str {
    match line.strip_prefix("error[") {
        Some(coded) => coded.split_once("]: ").map_or(line, |(_, words)| words),
        None => line.strip_prefix("error: ").unwrap_or(line),
    }
}

#[track_caller]
fn says_nothing_twice(words: &[&str], ended: &Ended) {
    let is_drawn = |line: &str| line.starts_with(' ') || line.contains(" |");
    let lines = ended.err.lines().filter(|line| !is_drawn(line));
    let lines: Vec<&str> = lines.map(bare).collect();
    for (at, line) in lines.iter().enumerate() {
        let again = lines[at + 1..].iter().any(|later| later.contains(line));
        assert!(!again, "{words:?}: {}", ended.err);
    }
    let last = ended.err.lines().next_back().unwrap_or_default();
    assert!(last.starts_with("error"), "{words:?}: {}", ended.err);
}

#[test]
fn a_single_error_is_said_once_and_last() {
    let lab = Lab::new();
    lab.write("rnd", job("lun=disk,size=1m", "iorate=rnd"));
    lab.write("folder.job", job("lun=folder,size=1m", USERS_JOB));
    lab.write("fio.job", "[j]\nfilename=disk\nsize=1m\nrw=randred\n");
    std::fs::create_dir(lab.path("folder")).unwrap();
    for words in [
        &["run", "--sise"][..],
        &["run"],
        &["curve"],
        &["rum"],
        &["curve", "disk", "--sise", "1m"],
        &["curve", "disk", "--read", "many"],
        &["curve", "nowhere"],
        &["curve", "nowhere/disk", "--size", "1m"],
        &["curve", "folder"],
        &["manual", "vdbenc"],
        &["run", "nowhere"],
        &["check", "nowhere"],
        &["prefill", "nowhere"],
        &["explain", "nowhere"],
        &["report", "nowhere"],
        &["report", "folder"],
        &["import", "nowhere"],
        &["vdbench", "-f", "nowhere"],
        &["vdbench", "--sise"],
        &["vdbench", "parseflat"],
        &["fio", "nowhere"],
        &["fio", "--sise"],
        &["run", "rnd"],
        &["check", "rnd"],
        &["run", "folder.job"],
        &["vdbench", "-f", "folder.job"],
        &["run", "fio.job"],
        &["fio", "fio.job"],
    ] {
        says_nothing_twice(words, &lab.fathom(words).expect(2));
    }
}

#[test]
fn a_single_error_in_a_file_ends_with_its_place_and_code() {
    let lab = Lab::new();
    lab.write("fio.job", "[j]\nfilename=disk\nsize=1m\nrw=randred\n");
    let refused = lab.fathom(&["run", "fio.job"]).expect(2);
    let last = refused.err.lines().next_back().unwrap_or_default();
    assert_eq!(
        last,
        "error: refused at fio.job:4:4; `fathom explain fio-0103` says more"
    );
}

#[test]
fn a_refusal_of_the_guard_is_said_once_with_the_way_out_last() {
    let lab = Lab::new();
    lab.write("theirs", "a letter that somebody else wrote\n".repeat(1000));
    let mut table = vec![0; 1 << 20];
    table[446..462].copy_from_slice(&[0, 0, 2, 0, 0x83, 0, 9, 0, 1, 0, 0, 0, 0, 4, 0, 0]);
    table[510..512].copy_from_slice(&[0x55, 0xaa]);
    lab.write("table", table);
    let both = "sd=sd1,lun=theirs\nsd=sd2,lun=table\nwd=wd1,sd=*,rdpct=0\nrd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n";
    lab.write("both", both);
    for (words, named) in [
        (&["curve", "theirs", "--read", "0"][..], "theirs"),
        (&["curve", "table", "--read", "0"], "table"),
        (&["prefill", "table", "--size", "1m"], "table"),
        (&["run", "both", "--lint", "all=off"], "table"),
        (&["vdbench", "-f", "both"], "table"),
        (
            &["fio", "--name=j", "--filename=table", "--rw=write"],
            "table",
        ),
    ] {
        let ended = lab.fathom(words).expect(3);
        says_nothing_twice(words, &ended);
        let way_out = format!("to overwrite it anyway, add --overwrite {named}\n");
        assert!(ended.err.ends_with(&way_out), "{words:?}: {}", ended.err);
    }
}

#[test]
fn a_bare_call_prints_help_and_nothing_red() {
    let ended = Lab::new().fathom(&[]).expect(0);
    assert!(ended.out.contains("Usage: fathom <COMMAND>"));
    assert_eq!(ended.err, "");
}

#[test]
fn a_mistaken_option_offers_the_nearest_and_the_help() {
    let lab = Lab::new();
    let ended = lab.fathom(&["curve", "disk", "--sise", "1m"]).expect(2);
    ended.says(&["'--sise'", "'--size'", "see `fathom curve --help`"]);
    let ended = lab.fathom(&["run"]).expect(2);
    ended.says(&["usage: fathom run", "not provided: <FILE|NAME=VALUE>..."]);
}

#[test]
fn a_folder_without_a_result_says_what_makes_one() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("folder")).unwrap();
    for words in [&["report", "folder"][..], &["run", "--resume", "folder"]] {
        lab.fathom(words).expect(2).says(&[
            "`folder` holds no result",
            "`fathom run FILE -o folder` writes one there",
        ]);
    }
    lab.fathom(&["report", "nowhere"])
        .expect(2)
        .says(&["`nowhere` does not exist", "`fathom-output`"]);
}

/// Nothing is said of the job, which is not at fault.
#[test]
fn a_result_to_resume_that_is_missing_says_how_to_begin() {
    let lab = Lab::new();
    lab.write("job", job("lun=disk,size=1m", USERS_JOB));
    let told = "error: `nowhere` does not exist, so there is nothing to resume; leave out `--resume` to begin (`-o nowhere`)\n";
    for words in [
        &["run", "job"][..],
        &["run"],
        &["vdbench", "-f", "job"],
        &["vdbench"],
        &["curve", "disk", "--size", "1m"],
    ] {
        let ended = lab.fathom(&[words, &["--resume", "nowhere"]].concat());
        assert_eq!(ended.expect(2).err, told, "{words:?}");
    }
    assert!(!lab.path("disk").exists());
}

#[test]
fn a_target_has_the_name_that_the_user_wrote() {
    let lab = Lab::new();
    let folder = lab.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.display().to_string();
    let told = format!("error[bind-0004]: `{path}` is a directory");
    for words in [
        &["curve", &path][..],
        &["prefill", &path, "--size", "1m"],
        &["fio", "--name=j", "--rw=read", "--filename", &path],
    ] {
        lab.fathom(words).expect(2).says(&[&told]);
    }
    lab.fathom(&["curve", "."])
        .expect(2)
        .says(&["`.` is a directory"]);
    lab.write("job", job("lun=folder,size=1m", USERS_JOB));
    lab.fathom(&["run", "job"])
        .expect(2)
        .says(&["`sd1` (folder) is a directory"]);
    let small = lab.fathom(&["curve", "disk", "--size", "1k"]).expect(2);
    let small = small.says(&["`disk` has 1 KiB to use, too little"]);
    assert!(!small.err.contains("`fill`"), "{}", small.err);
}

#[test]
fn an_unknown_word_of_a_list_offers_the_nearest() {
    let lab = Lab::new();
    let vdbench = |workload: &str, run: &str| {
        format!(
            "sd=sd1,lun=disk,size=1m\nwd=wd1,sd=sd1,{workload}\nrd=rd1,wd=wd1,elapsed=2,interval=1,{run}\n"
        )
    };
    let fio = |line: &str| format!("[j]\nfilename=disk\nsize=1m\n{line}\n");
    for (text, word) in [
        (vdbench("seekpct=rnd", "iorate=50"), "random"),
        (vdbench("seekpct=sqeuential", "iorate=50"), "sequential"),
        (vdbench("seekpct=0", "iorate=mx"), "max"),
        (
            vdbench("seekpct=0", "iorate=50,distribution=uniformm"),
            "uniform",
        ),
        (fio("rw=rnd"), "randread"),
        (fio("rw=randred"), "randread"),
        (fio("rw=read\nioengine=io_urin"), "io_uring"),
        (fio("rw=randread\nrandom_distribution=ziph"), "zipf"),
        (fio("rw=read\nfile_service_type=rndom"), "random"),
        (fio("rw=read\ncontinue_on_error=al"), "all"),
        (fio("rw=write\nsync_file_range=wirte:8"), "write"),
    ] {
        lab.write("job", &text);
        let says = format!("did you mean `{word}`?");
        lab.fathom(&["check", "job"]).expect(2).says(&[&says]);
    }
    lab.write("job", job("lun=disk,size=1m", USERS_JOB));
    for (words, word) in [
        (&["run", "job", "--backend", "urin"][..], "uring"),
        (&["fio", "--name=j", "--eta", "nevr"], "never"),
        (&["fio", "--name=j", "--output-format=jsn"], "json"),
        (&["fio", "--name=j", "--debug=fil"], "file"),
        (&["fio", "--enghelp=libaoi"], "libaio"),
        (&["fio", "--crctest=md4"], "md5"),
        (&["fio", "--profile=tiobenc"], "tiobench"),
        (&["vdbench", "-f", "job", "--resp", "arrivl"], "arrival"),
        (&["run", "job", "--lint", "all=of"], "off"),
        (
            &["run", "job", "--strict=gnerator-bound"],
            "generator-bound",
        ),
        (&["explain", "generator-bond"], "generator-bound"),
    ] {
        let says = format!("did you mean `{word}`?");
        lab.fathom(words).expect(2).says(&[&says]);
    }
    lab.fathom(&["rn"])
        .expect(2)
        .says(&["a similar subcommand exists: 'run'"]);
}

#[test]
fn the_help_of_a_curve_begins_with_what_most_curves_need() {
    let help = Lab::new().fathom(&["curve", "--help"]).expect(0).out;
    let (everyday, further) = help.split_once("\nFurther options:\n").unwrap();
    let options = [
        "--size",
        "--bs",
        "--read",
        "--threads",
        "--points",
        "--elapsed",
        "--warmup",
        "--output",
    ];
    let places = options.map(|option| everyday.find(&format!("{option} <")));
    assert!(places.iter().all(Option::is_some), "{help}");
    assert!(places.is_sorted(), "{help}");
    assert!(further.contains("--backend") && further.contains("--lint"));
    assert!(further.contains("\n  fathom curve disk --size 1g"));
}
