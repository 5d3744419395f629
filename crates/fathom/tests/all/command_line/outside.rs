//! What was found from outside, through the printed face alone.
use crate::lab::{Lab, skip};
use crate::served::Served;

/// A job's command may take longer than a moment.
#[test]
fn a_command_of_a_fio_job_is_waited_for() {
    let lab = Lab::new();
    let job = ["--name=j", "--filename=t", "--size=8k", "--rw=write"];
    let command = ["--exec_prerun=sleep 0.3; echo done >said"];
    let words = [&["fio"][..], &job, &command].concat();
    lab.fathom(&words).expect(0);
    assert_eq!(lab.text("said"), "done\n");
    let limited = [
        &["fio", "--command-timeout=1"][..],
        &job,
        &["--exec_prerun=sleep 9"],
    ]
    .concat();
    lab.fathom(&limited)
        .expect(1)
        .says(&["was ended after 1 s", "--command-timeout"]);
}

#[test]
fn what_a_job_was_read_from_is_no_output() {
    let lab = Lab::new();
    let job = "[j]\nfilename=t\nrw=write\nsize=8k\nioengine=psync\n";
    lab.write("job.fio", job);
    lab.write("t", "foreign");
    let check = ["check", "job.fio", "--write-overwrite", "job.fio"];
    lab.fathom(&check)
        .expect(2)
        .says(&["the job was read from it"]);
    let output = ["fio", "job.fio", "--output=job.fio"];
    lab.write("words", "t\n");
    lab.fathom(&[&output[..], &["--overwrite=@words"]].concat())
        .expect(2)
        .says(&["the job was read from it"]);
    let words = ["fio", "job.fio", "--overwrite=@words", "--output=words"];
    lab.fathom(&words)
        .expect(2)
        .says(&["the job was read from it"]);
    assert_eq!(
        (lab.text("job.fio").as_str(), lab.text("words").as_str()),
        (job, "t\n")
    );
    assert_eq!(lab.text("t"), "foreign");
}

#[test]
fn a_target_is_no_folder_for_results() {
    let lab = Lab::new();
    let curve = [
        "curve",
        "t",
        "--size",
        "1m",
        "--elapsed",
        "1",
        "--points",
        "50",
        "-o",
        "t",
    ];
    lab.fathom(&curve)
        .expect(2)
        .says(&["it is a target of the job"]);
    let fio = [
        "fio",
        "--name=j",
        "--filename=t",
        "--size=8k",
        "--rw=write",
        "--result=t",
    ];
    lab.fathom(&fio)
        .expect(2)
        .says(&["it is a target of the job"]);
    assert!(!lab.path("t").exists());
}

#[test]
fn a_word_that_fio_does_not_know_is_refused() {
    let lab = Lab::new();
    for word in ["foo", "io;x"] {
        let option = format!("--continue_on_error={word}");
        let words = ["fio", "--name=j", "--ioengine=null", "--size=4k", &option];
        lab.fathom(&words)
            .expect(2)
            .says(&["`continue_on_error` cannot be"]);
    }
}

/// The renderer of messages looks at all that it is given.
#[test]
fn a_message_shows_its_line_and_no_more() {
    let lab = Lab::new();
    let mut text = "messagescan=no\n".to_owned();
    text.extend((0..1000).map(|n| format!("zz{n}=1\n")));
    lab.write("job", text);
    let told = lab.fathom(&["check", "job"]).expect(2);
    assert!(told.err.contains("--> job:3:1"), "{}", told.err);
    assert!(told.err.contains("3 | zz1=1"), "{}", told.err);
    let lines = told.err.lines().filter(|line| line.starts_with("error["));
    let shown = lines.count();
    assert!(told.err.lines().count() < 70, "{}", told.err);
    let rest = format!("… and {} more of this kind (error vdb-", 1000 - shown);
    assert!(told.err.contains(&rest), "{shown} {}", told.err);
}

/// What a file full of one mistake says must not hide another one behind it.
#[test]
fn each_kind_of_message_is_cut_off_by_itself() {
    let lab = Lab::new();
    let mut text = String::new();
    text.extend((0..100).map(|n| format!("sd=sd{n},lun=/no/folder/{n}\n")));
    text.push_str("wd=wd1,sd=sd*\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n");
    lab.write("job", &text);
    let told = lab.fathom(&["check", "job"]).expect(0);
    let lines = told.err.lines().filter(|line| line.contains("[bind-0003]"));
    let shown = lines.count();
    assert!((1..60).contains(&shown), "{}", told.err);
    let rest = format!(
        "… and {} more of this kind (warning bind-0003)",
        100 - shown
    );
    assert!(told.err.contains(&rest), "{}", told.err);
    // All of them for a program.
    let json = lab.fathom(&["check", "--json", "job"]).expect(0);
    let lines = json.out.lines();
    assert_eq!(lines.filter(|line| line.contains("bind-0003")).count(), 100);
    // A mistake among them is still told, and 200 refused targets take no more room.
    lab.write("job", text.replacen("iorate=max", "iorate=lots", 1));
    lab.fathom(&["check", "job"]).expect(2).says(&["lots"]);
    let mut text = String::new();
    for n in 0..80 {
        lab.write(&format!("disk{n}"), "not ours\n".repeat(1000));
        text.push_str(&format!("sd=sd{n},lun=disk{n}\n"));
    }
    text.push_str(
        "wd=wd1,sd=sd*,rdpct=0,xfersize=4k\nrd=rd1,wd=wd1,iorate=max,elapsed=2,interval=1\n",
    );
    lab.write("job", &text);
    let told = lab.fathom(&["run", "job", "--lint", "all=off"]).expect(3);
    let is_shown = |line: &&str| line.starts_with("error: ") && !line.ends_with(" above");
    let shown = told.err.lines().filter(is_shown).count();
    assert!(shown < 60, "{}", told.err);
    let rest = format!("… and {} more of this kind (refused targets", 80 - shown);
    assert!(told.err.contains(&rest), "{}", told.err);
}

/// Two executions that begin at the same time do not refuse each other.
#[test]
fn of_two_executions_over_many_files_one_runs() {
    let lab = Lab::new();
    let job = |more: &[&'static str]| {
        let job: &[&str] = &[
            "fio",
            "--name=a",
            "--directory=.",
            "--nrfiles=1500",
            "--size=6000k",
            "--bs=4k",
            "--ioengine=psync",
        ];
        [job, more].concat()
    };
    lab.fathom(&job(&["--rw=write"])).expect(0);
    for _ in 0..3 {
        let again = job(&["--rw=randwrite", "--runtime=3", "--time_based"]);
        let mut codes = std::thread::scope(|scope| {
            let run = || lab.fathom(&again).code;
            let both = [scope.spawn(run), scope.spawn(run)];
            both.map(|one| one.join().unwrap())
        });
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(3)]);
    }
}

/// A file system of a program that tells no size is not full.
#[test]
fn a_file_system_without_a_size_has_room() {
    let lab = Lab::new();
    let served = match Served::new(&lab, "mnt", &["memory", "16M"]) {
        Ok(served) => served,
        Err(reason) => return skip(&reason),
    };
    for _ in 0..2 {
        let job = [
            "fio",
            "--name=a",
            "--rw=write",
            "--bs=4k",
            "--size=4m",
            "--filename=mnt/disk",
        ];
        lab.fathom(&job).expect(0).says(&[]);
    }
    drop(served);
}
