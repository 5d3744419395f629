//! `fathom compare`: results beside each other, with an answer and an exit code.
use crate::lab::{Ended, Lab};

/// In simulated time, at a rate and flat out.
fn simulate(lab: &Lab, folder: &str, threads: u32, seed: u32) {
    lab.write(
        "job",
        format!(
            "sd=sd1,lun={},size=64m,threads={threads}\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\n\
             rd=held,wd=wd1,iorate=500,elapsed=20,interval=1\nrd=most,wd=wd1,iorate=max,elapsed=5,interval=1\n",
            lab.path("file").display()
        ),
    );
    let seed = seed.to_string();
    let words = [
        "run",
        "job",
        "-o",
        folder,
        "--backend",
        "sim",
        "--seed",
        &seed,
    ];
    lab.fathom(&words).expect(0);
}

fn compare(lab: &Lab, words: &[&str]) -> Ended {
    lab.fathom(&[&["compare"], words].concat())
}

#[test]
fn two_results_are_compared_run_by_run() {
    let lab = Lab::new();
    simulate(&lab, "old", 8, 1);
    simulate(&lab, "new", 8, 2);
    let ended = compare(&lab, &["old", "new", "-o", "both"]).expect(0);
    ended.prints(&[
        "held",
        "most",
        "`new` against `old`, 2 loads: ",
        "no interval can be given",
    ]);
    ended.prints(&["differs: seed: 1 / 2"]);
    let csv = lab.text("both/comparison.csv");
    let rates: Vec<&str> = csv.lines().filter(|line| line.contains(",rate,")).collect();
    assert_eq!(rates.len(), 2, "{csv}");
    let told = ",not compared,the rate was asked for,";
    assert!(rates[0].contains(told), "{csv}");
    assert!(rates[0].contains("`new` against `old`, 2 loads: "), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&lab.text("both/comparison.json")).unwrap();
    let loads = json["comparisons"][0]["loads"].as_array().unwrap();
    assert_eq!(loads[0]["asked_rate_per_s"], 500.0);
    let rate = &loads[0]["figures"][0];
    assert_eq!(
        (&rate["answer"], &rate["not_compared"], &rate["margin"]),
        (
            &"not compared".into(),
            &"the rate was asked for".into(),
            &0.05.into()
        )
    );
    // Nobody's file is replaced by ours.
    lab.write("both/comparison.csv", "mine\n");
    compare(&lab, &["old", "new", "-o", "both"]).expect(2);
    assert_eq!(lab.text("both/comparison.csv"), "mine\n");
}

#[test]
fn a_bar_that_is_passed_ends_with_a_code_of_its_own() {
    let lab = Lab::new();
    simulate(&lab, "wide", 8, 1);
    simulate(&lab, "narrow", 2, 1);
    // Slots are part of a load.
    let ended = compare(&lab, &["wide", "narrow"]).expect(2);
    ended.says(&["have no load in common", "--force"]);
    let forced = |bar: &str| compare(&lab, &["wide", "narrow", "--force", "--fail-if", bar]);
    forced("rate<-50%")
        .expect(6)
        .says(&["`narrow` is beyond `rate<-50%`: most"]);
    forced("rate<-90%").expect(0);
    forced("rate>+10%").expect(0);
    forced("rate>10").expect(2).says(&["`rate>10` is no bar"]);
    forced("speed>+10%")
        .expect(2)
        .says(&["`speed` is no figure", "p99.9"]);
    // Two runs a side tell no interval, and a held rate is no figure.
    let unsure = ["wide", "wide", "--fail-if", "mean>+10%", "--fail-if-unsure"];
    compare(&lab, &unsure).expect(0);
}

#[test]
fn results_in_the_folders_of_one_are_repeats() {
    let lab = Lab::new();
    for seed in 1..=3 {
        simulate(&lab, &format!("old/{seed}"), 8, seed);
        simulate(&lab, &format!("new/{seed}"), 8, 10 + seed);
    }
    let ended = compare(&lab, &["old", "new"]).expect(0);
    ended.prints(&["3/3", "the same within 10 %"]);
    assert!(!ended.out.contains("no interval"), "{}", ended.out);
}

#[test]
fn what_cannot_be_compared_has_a_reason() {
    let lab = Lab::new();
    simulate(&lab, "old", 8, 1);
    compare(&lab, &["old"]).expect(2);
    compare(&lab, &["old", "nothing"])
        .expect(2)
        .says(&["`nothing` does not exist"]);
    std::fs::create_dir(lab.path("empty")).unwrap();
    compare(&lab, &["old", "empty"])
        .expect(2)
        .says(&["`empty` holds no result"]);
    lab.write("text", "no report of anything\n");
    compare(&lab, &["old", "text"])
        .expect(2)
        .says(&["`text`: "]);
    let whole = lab.bytes("old/result.fathom");
    lab.write("cut", &whole[..whole.len() / 2]);
    compare(&lab, &["old", "cut"]).expect(2).says(&["`cut`: "]);
}

#[test]
fn what_fio_printed_is_compared_too() {
    let lab = Lab::new();
    let job = "[j]\nfilename=file\nsize=1m\nrw=randread\nbs=4k\nnumber_ios=200\nioengine=sync\nruntime=20\n";
    lab.write("job.fio", job);
    for name in ["one.json", "two.json"] {
        let words = [
            "fio",
            "--output-format=json",
            &format!("--output={name}"),
            "job.fio",
        ];
        lab.fathom(&words).expect(0);
    }
    let text = format!("a line before it\n{}", lab.text("two.json"));
    lab.write("two.json", text);
    let ended = compare(&lab, &["one.json", "two.json"]).expect(0);
    ended.prints(&["`two.json` against `one.json`, 1 load: "]);
    // Other places are another load, and options that a load does not tell are conditions.
    let print = |name: &str, job: String| {
        lab.write("other.fio", job);
        let output = format!("--output={name}");
        let words = ["fio", "--output-format=json", &output, "other.fio"];
        lab.fathom(&words).expect(0);
    };
    print("ahead.json", job.replace("randread", "read"));
    let ended = compare(&lab, &["one.json", "ahead.json"]).expect(2);
    ended.says(&["have no load in common"]);
    let ended = compare(&lab, &["one.json", "ahead.json", "--force"]).expect(0);
    ended.prints(&["differs: random places: 100 % / 0 %"]);
    print("direct.json", format!("{job}fadvise_hint=0\n"));
    let ended = compare(&lab, &["one.json", "direct.json"]).expect(0);
    ended.prints(&["differs: options of fio: - / fadvise_hint=0"]);
    // Another engine is another load; in a folder the content counts, not the name.
    print("engine.json", job.replace("=sync", "=io_uring"));
    let ended = compare(&lab, &["one.json", "engine.json"]).expect(2);
    ended.says(&["differ in engine sync / io_uring"]);
    std::fs::create_dir(lab.path("results")).unwrap();
    lab.write("results/repeat.out", lab.text("one.json"));
    lab.write("results/notes.json", "{\"of\": \"somebody else\"}");
    compare(&lab, &["one.json", "results"]).expect(0);
    // Of a document that is cut off, what comes before it is compared, and that is said.
    let cut = format!("{}{}", lab.text("one.json"), &lab.text("one.json")[..2000]);
    lab.write("cut.json", cut);
    let ended = compare(&lab, &["one.json", "cut.json"]).expect(0);
    ended.says(&["warning: `cut.json`: of a later document, it ends early"]);
}

#[test]
fn amounts_of_fio_2_are_kibibytes() {
    let lab = Lab::new();
    let document = |version: &str, bytes: &str, latency: &str| {
        format!(
            "{{\"fio version\": \"{version}\", \"jobs\": [{{\"jobname\": \"j\", \"groupid\": 0, \"read\": \
             {{\"total_ios\": 1000, {bytes}, \"runtime\": 1000, {latency}}}}}]}}"
        )
    };
    let old = document(
        "fio-2.16",
        "\"io_bytes\": 4000",
        "\"lat\": {\"min\": 90, \"max\": 110, \"mean\": 100.0}",
    );
    let new = document(
        "fio-3.33",
        "\"io_bytes\": 4096000, \"io_kbytes\": 4000",
        "\"lat_ns\": {\"min\": 90000, \"max\": 110000, \"mean\": 100000.0, \"N\": 1000}",
    );
    lab.write("old.json", old);
    lab.write("new.json", new);
    let both = ["old.json", "new.json", "-o", "both"];
    compare(&lab, &both).expect(0);
    let csv = lab.text("both/comparison.csv");
    let throughput = csv.lines().find(|line| line.contains(",throughput,"));
    assert!(throughput.unwrap().contains(",4.096000,4.096000,"), "{csv}");
}

#[test]
fn columns_of_vdbench_are_compared_with_a_result() {
    let lab = Lab::new();
    simulate(&lab, "ours", 8, 1);
    let job = ["vdbench", "-f", "job", "-o", "theirs", "--backend", "sim"];
    lab.fathom(&job).expect(0);
    // What the original leaves there.
    std::fs::remove_file(lab.path("theirs/result.fathom")).unwrap();
    let ended = compare(&lab, &["ours", "theirs"]).expect(0);
    ended.prints(&["`theirs` against `ours`, 2 loads: "]);
    let ended = compare(&lab, &["theirs", "theirs/flatfile.html"]).expect(0);
    ended.prints(&["2 loads: "]);
}

#[test]
fn jobs_are_run_in_turn_and_compared() {
    let lab = Lab::new();
    let file = lab.path("file").display().to_string();
    lab.write(
        "job",
        format!(
            "sd=sd1,lun={file},size=64m,threads=$threads\nwd=wd1,sd=sd1,xfersize=4k,rdpct=70\n\
             rd=rd1,wd=wd1,iorate=500,elapsed=10,interval=1\n"
        ),
    );
    let jobs = [
        "--run",
        "job",
        "threads=8",
        "--run",
        "job",
        "threads=08",
        "--repeat",
        "3",
    ];
    let further = ["-o", "turn", "--", "--backend", "sim"];
    let ended = compare(&lab, &[&jobs[..], &further].concat()).expect(0);
    let ended = ended.says(&[
        "6 runs in 3 blocks: about 1 min 00 s plus 128 MiB of I/O",
        "block 1 of 3, side-1: job threads=8",
        "block 3 of 3, side-2: job threads=08",
    ]);
    ended.prints(&[
        "`job threads=08` against `job threads=8`, 1 load: ",
        "the same within",
    ]);
    assert!(
        lab.text("turn/comparison.html")
            .contains("in random order within each block")
    );
    for side in ["side-1", "side-2"] {
        assert_eq!(lab.names(&format!("turn/{side}")), ["1", "2", "3"]);
    }
    // What was run can be compared again, and not run into.
    compare(&lab, &["turn/side-1", "turn/side-2"]).expect(0);
    compare(&lab, &[&jobs[..], &further].concat())
        .expect(2)
        .says(&["is there already"]);
    // A side that cannot be run is refused before the first run.
    let wrong = [
        "--run",
        "job",
        "threads=8",
        "job",
        "threads=x",
        "-o",
        "wrong",
        "--",
        "--backend",
        "sim",
    ];
    compare(&lab, &wrong).expect(2).says(&[
        "`x` is not a number",
        "this refuses side-2, `job threads=x`",
    ]);
    compare(&lab, &["--run", "job", "threads=8", "-o", "one"])
        .expect(2)
        .says(&["two jobs at least"]);
}

/// A job of two seconds, without the words that name its target.
fn write_short_job(lab: &Lab) {
    lab.write(
        "short",
        "sd=sd1,lun=$lun,size=1m,threads=1\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n",
    );
}

/// Files that hold what Fathom did not write.
fn write_foreign(lab: &Lab, names: &[&str]) -> Vec<String> {
    let write = |name: &&str| {
        lab.write(name, vec![7; 1 << 20]);
        lab.path(name).display().to_string()
    };
    names.iter().map(write).collect()
}

fn of_lun(path: &str) -> String {
    format!("lun={path}")
}

#[test]
fn a_word_of_overwrite_goes_to_the_side_that_has_the_target() {
    let lab = Lab::new();
    write_short_job(&lab);
    let files = write_foreign(&lab, &["a", "b"]);
    let luns: Vec<String> = files.iter().map(|path| of_lun(path)).collect();
    lab.write("list", format!("{}\n", files[1]));
    let sides = [
        "--run", "short", &luns[0], "short", &luns[1], "--repeat", "2", "-o", "turn", "--",
    ];
    let with = |words: &[&str]| compare(&lab, &[&sides[..], words].concat());
    // A word that names no target is refused. So is each target that no word names.
    let ended = with(&["--overwrite", "nothing"]).expect(3);
    ended.says(&[
        "this refuses side-1",
        "this refuses side-2",
        &format!("--overwrite {}", files[1]),
        "`--overwrite nothing` names no target of these jobs",
        "no run was started",
    ]);
    with(&[
        "--overwrite",
        &files[0],
        "--overwrite",
        "@list",
        "--overwrite=x",
    ])
    .expect(2)
    .says(&["`--overwrite x` names no target of these jobs"]);
    assert!(!lab.path("turn").exists());
    with(&["--overwrite", &files[0], "--overwrite", "@list"]).expect(0);
    assert_eq!(lab.names("turn/side-2"), ["1", "2"]);
}

#[test]
fn all_sides_are_checked_before_the_first_block() {
    let lab = Lab::new();
    write_short_job(&lab);
    let files = write_foreign(&lab, &["a", "b"]);
    let before = lab.bytes("a");
    let (one, other) = (of_lun(&files[0]), of_lun(&files[1]));
    lab.write(
        "wrong",
        "sd=sd1,lun=$lun,size=1m\nwd=wd1,sd=sd1,rdpct=200\n",
    );
    for (wrong, code, text) in [
        (["short", &*other], 3, "may not be overwritten"),
        (["short", "lun=/dev/nowhere"], 2, "/dev/nowhere"),
        (["wrong", &other], 2, "rdpct=200"),
    ] {
        // The side without a mistake is the first or the last.
        for runs in [
            ["short", &one, wrong[0], wrong[1]],
            [wrong[0], wrong[1], "short", &one],
        ] {
            let words = [
                &["--run"],
                &runs[..],
                &["-o", "turn", "--", "--overwrite", &files[0]],
            ];
            let ended = compare(&lab, &words.concat()).expect(code);
            let ended = ended.says(&[text, "no run was started"]);
            assert!(!ended.all().contains("block 1"), "{ended}");
            assert!(!lab.path("turn").exists() && lab.bytes("a") == before);
        }
    }
}

#[test]
fn files_of_others_are_refused_before_the_first_block() {
    let lab = Lab::new();
    write_short_job(&lab);
    let lun = of_lun(&lab.path("a").display().to_string());
    let words = [
        "--run", "short", &lun, "short", &lun, "--repeat", "1", "-o", "turn",
    ];
    std::fs::create_dir(lab.path("turn")).unwrap();
    for name in [
        "comparison.csv",
        "comparison.html",
        "comparison.json",
        "in-turn.json",
    ] {
        lab.write(&format!("turn/{name}"), "mine");
        let ended = compare(&lab, &words).expect(2);
        let ended = ended.says(&["Fathom did not write what is there"]);
        assert!(!ended.all().contains("block 1"), "{ended}");
        lab.remove(&format!("turn/{name}"));
    }
    assert!(!lab.path("a").exists());
}

#[test]
fn an_interrupted_comparison_is_compared_by_its_complete_blocks() {
    let lab = Lab::new();
    write_short_job(&lab);
    let luns = ["a", "b"].map(|name| of_lun(&lab.path(name).display().to_string()));
    let words = [
        "compare", "--run", "short", &luns[0], "short", &luns[1], "--repeat", "2", "-o", "turn",
    ];
    let mut going = lab.start(&words);
    // The second run of the second block.
    for _ in 0..2 {
        going.hear_until(|line| line.contains("block 2 of 2"));
    }
    going.hear_until(|line| line.starts_with("run 1/"));
    going.signal("INT");
    going.end().expect(4);
    assert!(!lab.path("turn/comparison.json").exists());
    assert_eq!(
        lab.names("turn/side-1").len() + lab.names("turn/side-2").len(),
        4
    );
    let ended = compare(&lab, &["turn/side-1", "turn/side-2", "-o", "both"]).expect(0);
    ended.prints(&["1/1"]);
    let page = lab.text("both/comparison.html");
    assert!(page.contains("in random order within each block"));
}

#[test]
fn a_comparison_that_was_killed_is_resumed() {
    let lab = Lab::new();
    write_short_job(&lab);
    let luns = ["a", "b"].map(|name| of_lun(&lab.path(name).display().to_string()));
    let words = ["--run", "short", &luns[0], "short", &luns[1]];
    let with = |more: &[&str]| compare(&lab, &[&words[..], &["-o", "turn"], more].concat());
    with(&["--resume"])
        .expect(2)
        .says(&["holds no comparison to resume"]);
    let start = [&["compare"], &words[..], &["--repeat", "2", "-o", "turn"]];
    let mut going = lab.start(&start.concat());
    for _ in 0..2 {
        going.hear_until(|line| line.contains("block 1 of 2"));
    }
    going.hear_until(|line| line.starts_with("run 1/"));
    going.signal("KILL");
    going.end();
    let sides = ["turn/side-1", "turn/side-2"];
    compare(&lab, &sides)
        .expect(2)
        .says(&["no block of", "is complete"]);
    lab.write("turn/side-1/notes", "mine");
    let kept =
        || ["side-1", "side-2"].map(|side| lab.bytes(&format!("turn/{side}/1/result.fathom")));
    let before = kept();
    with(&[])
        .expect(2)
        .says(&["resume an interrupted comparison with --resume"]);
    // Runs of other jobs and options are no repeats of those that are there.
    let other = [
        "--run", "short", &luns[1], "short", &luns[0], "-o", "turn", "--resume",
    ];
    compare(&lab, &other).expect(2).says(&["the jobs were"]);
    with(&["--resume", "--", "-e", "3"])
        .expect(2)
        .says(&["the options after `--` were none, are `-e`, `3`"]);
    let ended = loop {
        let ended = with(&["--resume"]);
        // The run that was going ends by itself.
        if !ended.all().contains("still writes to") {
            break ended.expect(0);
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    let ended = ended.says(&["3 runs in 2 blocks: about 6 s", "block 2 of 2, side-2"]);
    ended.prints(&["2/2"]);
    let after = kept();
    let same = (0..2).filter(|side| before[*side] == after[*side]).count();
    assert_eq!((same, lab.text("turn/side-1/notes").as_str()), (1, "mine"));
    with(&["--resume"])
        .expect(0)
        .says(&["all runs of `turn` are complete"]);
    // More blocks belong to it only while the job is the same.
    let job = lab.text("short");
    lab.write("short", job.replace("iorate=50", "iorate=60"));
    let ended = with(&["--resume", "--repeat", "3"]).expect(2);
    ended.says(&["the job has changed since `turn/side-1/1`", "50", "60"]);
}

#[test]
fn sides_that_are_run_in_turn_keep_their_labels() {
    let lab = Lab::new();
    write_short_job(&lab);
    let lun = of_lun(&lab.path("a").display().to_string());
    let sides = [
        "--run",
        "short",
        &lun,
        "--label",
        "fabric=tcp",
        "--run",
        "short",
        &lun,
    ];
    let rest = [
        "--label",
        "fabric=roce",
        "--repeat",
        "2",
        "-o",
        "turn",
        "--",
        "--backend",
        "sim",
        "--label",
        "site=a",
    ];
    let ended = compare(&lab, &[&sides[..], &rest].concat()).expect(0);
    let (tcp, roce) = (
        format!("short {lun} (fabric=tcp)"),
        format!("short {lun} (fabric=roce)"),
    );
    let ended = ended.says(&[&format!("side-1: {tcp}"), &format!("side-2: {roce}")]);
    let squeezed = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        squeezed.contains(&format!("`{roce}` against `{tcp}`")),
        "{ended}"
    );
    for file in ["comparison.csv", "comparison.html", "comparison.json"] {
        let text = lab.text(&format!("turn/{file}"));
        assert!(text.contains(&tcp) && text.contains(&roce), "{file}");
    }
    // Each result has those of its side and those of all, and can be chosen by them.
    for (side, label) in [("side-1", "fabric=tcp"), ("side-2", "fabric=roce")] {
        for label in [label, "site=a"] {
            let chosen = format!("turn/{side}@{label}");
            compare(&lab, &[&chosen, &chosen]).expect(0);
        }
    }
    let by_label = ["turn@fabric=tcp", "turn@fabric=roce", "-o", "again"];
    let ended = compare(&lab, &by_label).expect(0);
    ended.prints(&["`turn@fabric=roce` against `turn@fabric=tcp`", "2/2"]);
    assert!(
        lab.text("again/comparison.html")
            .contains("in random order within each block")
    );
    compare(&lab, &["turn@site=a", "turn@fabric=tcp"]).expect(0);
    let wrong = [
        "--label", "k=1", "--run", "short", &lun, "short", &lun, "-o", "new",
    ];
    compare(&lab, &wrong)
        .expect(2)
        .says(&["`--label k=1` names no side"]);
    let wrong = [
        "--run", "short", &lun, "short", &lun, "--label", "tcp", "-o", "new",
    ];
    compare(&lab, &wrong)
        .expect(2)
        .says(&["`--label tcp` has no `=`", "this refuses side-2"]);
}

#[test]
fn results_in_one_folder_are_told_apart_by_label() {
    let lab = Lab::new();
    for (place, label) in [(1, "fabric=tcp"), (2, "fabric=roce")] {
        let folder = format!("all/{place}");
        let file = lab.path("file").display().to_string();
        let words = [
            "curve",
            &file,
            "--size",
            "64m",
            "--backend",
            "sim",
            "--elapsed",
            "1",
            "--warmup",
            "0",
            "--label",
            label,
            "-o",
            &folder,
        ];
        lab.fathom(&words).expect(0);
    }
    let ended = compare(&lab, &["all@fabric=tcp", "all@fabric=roce"]).expect(0);
    ended.prints(&[
        "`all@fabric=roce` against `all@fabric=tcp`",
        "interpolated",
        "1/1",
    ]);
    let ended = compare(&lab, &["all@fabric=tcp", "all@fabric=rdma"]).expect(2);
    ended.says(&[
        "no result of `all` has the label `fabric=rdma`",
        "fabric=roce, fabric=tcp",
    ]);
}
