//! Files of Fathom replace nothing but their like; files that the user names, nothing beyond a link, and no target.
use crate::lab::{FATHOM, Lab, ended, job};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::Path;
use std::process::Command;

const FIO: &[&str] = &[
    "fio",
    "--name=a",
    "--rw=write",
    "--size=64k",
    "--filename=disk",
];

fn fio<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [FIO, more].concat()
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.write("mine", "what a user wrote\n");
    std::fs::create_dir(lab.path("out")).unwrap();
    std::fs::create_dir(lab.path("elsewhere")).unwrap();
    lab.write("elsewhere/mine", "what a user wrote there\n");
    lab
}

/// What a name of ours may stand for, by kinds.
fn plant(lab: &Lab, kind: &str, name: &str) {
    let path = lab.path("out").join(name);
    match kind {
        "file" => std::fs::write(path, "what a user wrote\n").unwrap(),
        "link" => symlink(lab.path("elsewhere/mine"), path).unwrap(),
        "dangling link" => symlink(lab.path("elsewhere/none"), path).unwrap(),
        "hard link" => std::fs::hard_link(lab.path("mine"), path).unwrap(),
        "folder" => std::fs::create_dir(path).unwrap(),
        _ => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
    }
}

#[test]
fn names_of_ours_replace_nothing_of_others() {
    let kinds = [
        "file",
        "link",
        "dangling link",
        "hard link",
        "folder",
        "pipe",
    ];
    for name in [
        "report.html",
        "summary.csv",
        "summary.json",
        "result.fathom",
    ] {
        for kind in kinds {
            let lab = lab();
            plant(&lab, kind, name);
            let before = lab.everything();
            for words in [
                vec!["run", "job", "-o", "out"],
                vec!["vdbench", "-f", "job", "-o", "out"],
                fio(&["--result", "out"]),
                vec!["curve", "disk", "--size", "1m", "-o", "out"],
            ] {
                let mut command = lab.command("timeout");
                command.args(["-s", "KILL", "60", FATHOM]).args(&words);
                let ended = ended(&mut command);
                assert_eq!(
                    ended.code,
                    Some(2),
                    "{kind} {name} {words:?}: {}",
                    ended.err
                );
                assert!(
                    ended.err.contains(name),
                    "{kind} {name} {words:?}: {}",
                    ended.err
                );
                assert_eq!(lab.everything(), before, "{kind} {name} {words:?}");
            }
        }
    }
}

#[test]
fn pages_of_others_are_refused_before_the_first_io() {
    let kinds = [
        "file",
        "link",
        "dangling link",
        "hard link",
        "folder",
        "pipe",
    ];
    for name in ["summary.html", "sd1.histogram.html", "flatfile.html"] {
        for kind in kinds {
            let lab = lab();
            plant(&lab, kind, name);
            std::fs::write(
                lab.path("out/old.html"),
                "<title>Vdbench out/old.html</title><pre>\n",
            )
            .unwrap();
            let before = lab.everything();
            let mut command = lab.command("timeout");
            command.args([
                "-s", "KILL", "60", FATHOM, "vdbench", "-f", "job", "-o", "out",
            ]);
            let ended = ended(&mut command);
            assert_eq!(ended.code, Some(2), "{kind} {name}: {}", ended.err);
            assert!(ended.err.contains(name), "{kind} {name}: {}", ended.err);
            assert_eq!(lab.everything(), before, "{kind} {name}");
        }
    }
}

#[test]
fn an_output_folder_that_cannot_be_one_is_refused_before_the_start() {
    let lab = lab();
    symlink(lab.path("none"), lab.path("dangling")).unwrap();
    symlink(lab.path("mine"), lab.path("to file")).unwrap();
    let mut folders = vec![
        ("mine", "regular file"),
        ("mine/below", "regular file"),
        ("dangling", "leads to nothing"),
        ("dangling/below", "leads to nothing"),
        ("to file", "regular file"),
        ("/dev/null", "character device"),
        ("/proc/none", "cannot be made"),
    ];
    if !rustix::process::geteuid().is_root() {
        folders.push(("/none", "permission denied"));
    }
    let before = lab.everything();
    for (folder, reason) in folders {
        for words in [
            vec!["run", "job", "-o", folder],
            vec!["vdbench", "-f", "job", "-o", folder],
            fio(&["--result", folder]),
            vec!["curve", "disk", "--size", "1m", "-o", folder],
            vec!["prefill", "disk", "--size", "1m", "-o", folder],
        ] {
            lab.fathom(&words).expect(2).says(&[reason]);
            assert_eq!(lab.everything(), before, "{words:?}");
        }
    }
    symlink(lab.path("elsewhere"), lab.path("linked")).unwrap();
    lab.fathom(&["run", "job", "-o", "linked"]).expect(0);
    assert!(lab.path("elsewhere/report.html").is_file());
}

#[test]
fn a_result_is_reported_beside_files_of_others_only_elsewhere() {
    let lab = lab();
    lab.fathom(&fio(&[
        "--result",
        "first",
        "--output-format=json",
        "--output=json",
    ]))
    .expect(0);
    plant(&lab, "file", "summary.csv");
    let before = lab.everything();
    for words in [
        &["report", "first", "-o", "out"][..],
        &["import", "json", "-o", "out"],
    ] {
        lab.fathom(words)
            .expect(2)
            .says(&["summary.csv", "did not write what is there"]);
        assert_eq!(lab.everything(), before);
    }
    // Ours is replaced, whole, and under one name only.
    std::fs::hard_link(lab.path("first/summary.csv"), lab.path("kept")).unwrap();
    lab.write("first/report.html", "");
    lab.fathom(&["report", "first"]).expect(0);
    let inode = |name: &str| lab.path(name).metadata().unwrap().ino();
    assert_ne!(inode("kept"), inode("first/summary.csv"));
    assert_eq!(lab.text("kept"), lab.text("first/summary.csv"));
    let html = lab.text("first/report.html");
    assert!(html.contains("content=\"Fathom\"") && html.trim_end().ends_with("</html>"));
    assert!(lab.names("first").iter().all(|name| !name.starts_with('.')));
}

#[test]
fn parts_of_a_result_that_is_not_there_are_not_taken() {
    let lab = lab();
    lab.write("out/result.fathom-wal", "what a user wrote\n");
    lab.fathom(&fio(&["--result", "out"]))
        .expect(2)
        .says(&["result.fathom-wal"]);
    assert_eq!(lab.text("out/result.fathom-wal"), "what a user wrote\n");
}

#[test]
fn files_that_the_user_names_are_replaced_but_not_beyond_links() {
    let lab = lab();
    symlink("elsewhere/mine", lab.path("away")).unwrap();
    symlink("elsewhere/none", lab.path("nowhere")).unwrap();
    symlink("mine", lab.path("near")).unwrap();
    std::fs::create_dir(lab.path("a_bw.1.log")).unwrap();
    symlink("elsewhere/mine", lab.path("b_bw.1.log")).unwrap();
    let before = lab.everything();
    for (word, says) in [
        ("--output=away", "a link into another folder"),
        ("--output=nowhere", "a link into another folder"),
        ("--output=out", "a directory"),
        ("--output=none/x", "no such file or folder"),
        ("--write_bw_log=a", "a directory"),
        ("--write_bw_log=b", "a link into another folder"),
        ("--write_iolog=away", "a link into another folder"),
    ] {
        lab.fathom(&fio(&[word]))
            .expect(2)
            .says(&[says, "is not written"]);
        assert_eq!(lab.everything(), before, "{word}");
    }
    // As fio does.
    lab.fathom(&fio(&["--output=near"])).expect(0);
    assert!(lab.text("mine").contains("write: IOPS="));
    assert_eq!(lab.text("elsewhere/mine"), "what a user wrote there\n");
    // Under its other name, the content stays.
    std::fs::hard_link(lab.path("elsewhere/mine"), lab.path("second")).unwrap();
    lab.fathom(&fio(&["--output=second"])).expect(0);
    assert!(lab.text("second").contains("write: IOPS="));
    assert_eq!(lab.text("elsewhere/mine"), "what a user wrote there\n");
    lab.write("words", "old");
    lab.write("target", "data of somebody");
    lab.write(
        "parm",
        job("lun=target,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.fathom(&["check", "parm", "--write-overwrite", "words"]);
    assert!(lab.text("words").contains("target"));
    lab.fathom(&["check", "parm", "--write-overwrite", "target"])
        .expect(2)
        .says(&["target of the job"]);
    assert_eq!(lab.text("target"), "data of somebody");
}

#[test]
fn no_target_is_an_output() {
    let lab = lab();
    lab.fathom(FIO).expect(0);
    std::fs::hard_link(lab.path("disk"), lab.path("second")).unwrap();
    symlink("disk", lab.path("near")).unwrap();
    let before = lab.bytes("disk");
    for word in [
        "--output=disk",
        "--output=./out/../disk",
        "--output=second",
        "--output=near",
        "--write_iolog=disk",
    ] {
        lab.fathom(&fio(&[word]))
            .expect(2)
            .says(&["it is a target of the job"]);
        assert!(lab.bytes("disk") == before, "{word}");
    }
    // One that is not there yet.
    let new = [
        "fio",
        "--name=a",
        "--rw=write",
        "--size=64k",
        "--filename=new",
        "--output=new",
    ];
    lab.fathom(&new)
        .expect(2)
        .says(&["it is a target of the job"]);
    assert!(!lab.path("new").exists());
    for name in [
        "report.html",
        "summary.csv",
        "summary.json",
        "result.fathom",
    ] {
        let path = format!("--filename={name}");
        lab.fathom(&[
            "fio",
            "--name=a",
            "--rw=write",
            "--size=64k",
            &path,
            "--result",
            ".",
        ])
        .expect(2)
        .says(&["it is a target of the job"]);
        assert!(!lab.path(name).exists());
    }
    lab.write(
        "page",
        job("lun=sd1.html,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.fathom(&["vdbench", "-f", "page", "-o", "."])
        .expect(2)
        .says(&["among the pages"]);
}

/// Whether the directory is there or not, and however it is named.
#[test]
fn a_target_in_the_output_folder_is_refused() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("there")).unwrap();
    symlink("there", lab.path("link")).unwrap();
    let run = "iorate=50,elapsed=2,interval=1";
    for (path, output) in [
        ("out/t.img", "out"),
        ("out/deep/t.img", "./out/"),
        ("there/t.img", "there"),
        ("there/t.img", "link"),
        ("link/report.html", "there"),
        ("there/../out/t.img", "out"),
    ] {
        lab.write("job", job(&format!("lun={path},size=1m"), run));
        lab.write(
            "j.fio",
            format!("[j]\nfilename={path}\nrw=write\nsize=64k\n"),
        );
        let told =
            format!("target `{path}` lies in the output folder `{output}`; choose another folder");
        for words in [
            &["run", "job"][..],
            &["run", "j.fio"],
            &["vdbench", "-f", "job"],
            &["check", "job"],
            &["curve", path, "--size", "1m"],
            &["prefill", path, "--size", "1m"],
        ] {
            let ended = lab.fathom(&[words, &["-o", output]].concat()).expect(2);
            let ended = ended.says(&[&told, "(-o)"]);
            assert!(!ended.err.contains("mkdir"), "{}", ended.err);
        }
        let fio = ["fio", "j.fio", "--result", output];
        lab.fathom(&fio).expect(2).says(&[&told, "(--result)"]);
        assert!(!lab.path("out").exists() && lab.names("there").is_empty());
    }
}

/// Of the folder for results, in the current directory, which is no refusal by itself.
#[test]
fn a_check_refuses_what_a_run_refuses_of_the_output_folder() {
    let lab = lab();
    let run = "iorate=50,elapsed=2,interval=1";
    lab.write("same", job("lun=report.html,size=1m", run));
    lab.write("disk", vec![0; 1 << 20]);
    std::fs::hard_link(lab.path("disk"), lab.path("marks")).unwrap();
    lab.write("linked", job("lun=disk", run));
    lab.write("out/summary.csv", "what a user wrote\n");
    for (file, output, told) in [
        (
            "same",
            ".",
            "`./report.html` is not written: it is a target of the job",
        ),
        ("linked", ".", "`./marks` is not written: "),
        (
            "job",
            "mine",
            "`mine` cannot be the output folder: it is a regular file",
        ),
        (
            "job",
            "out",
            "`out/summary.csv` is not written: Fathom did not write",
        ),
    ] {
        for verb in ["run", "check"] {
            let words = [verb, file, "-o", output];
            let ended = lab.fathom(&words);
            assert!(ended.code != Some(0), "{words:?}: {}", ended.err);
            if verb == "check" {
                ended.expect(2).says(&["fathom-0002", told]);
            }
        }
    }
    lab.fathom(&["check", "job", "-o", "new"]).expect(0);
}

/// Whoever names the current directory wants the results beside the targets; fio keeps none unless it is asked; and
/// directories of other hosts are others.
#[test]
fn results_may_stand_beside_targets_in_the_current_directory() {
    let lab = Lab::new();
    lab.write(
        "job",
        job("lun=t.img,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    lab.fathom(&["check", "job", "-o", "."]).expect(0);
    lab.fathom(&["run", "job", "-o", "."]).expect(0);
    assert!(lab.path("t.img").exists() && lab.path("report.html").exists());
    let fio = ["--name=a", "--rw=write", "--size=64k", "--filename=out/new"];
    std::fs::create_dir(lab.path("out")).unwrap();
    let log = ["fio", "--write_lat_log=out/log", "--output=out/text"];
    lab.fathom(&[&log[..], &fio].concat()).expect(0);
    assert!(lab.names("out").contains(&"new".to_owned()));
    // A path of another host is not in a directory of this one.
    let path = lab.path("out/t.img").display().to_string();
    let elsewhere = job(
        &format!("host=far,lun={path},size=1m"),
        "iorate=50,elapsed=2,interval=1",
    );
    lab.write(
        "hosts",
        format!("hd=far,system=192.0.2.1,user=nobody\n{elsewhere}"),
    );
    lab.fathom(&["check", "hosts", "-o", "out"]).expect(0);
    // A name that only begins alike.
    lab.fathom(&[&["fio", "--result=ou"][..], &fio].concat())
        .expect(0);
}

#[test]
fn devices_that_hold_nothing_and_pipes_stay() {
    let lab = lab();
    for output in ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1"] {
        let ended = lab.fathom(&fio(&["--output", output])).expect(0);
        let shown = if output.ends_with("stderr") {
            ended.err
        } else {
            ended.out
        };
        assert_eq!(
            shown.contains("write: IOPS="),
            output != "/dev/null",
            "{output}"
        );
    }
    assert!(
        std::fs::metadata("/dev/null")
            .unwrap()
            .file_type()
            .is_char_device()
    );
    // What a shell has opened is written on.
    let line = format!(
        "echo first > log; {FATHOM} {} --output=/dev/stdout >> log",
        FIO.join(" ")
    );
    assert_eq!(ended(lab.command("sh").args(["-c", &line])).code, Some(0));
    let log = lab.text("log");
    assert!(
        log.starts_with("first\n") && log.contains("write: IOPS="),
        "{log}"
    );
    assert!(
        Command::new("mkfifo")
            .arg(lab.path("pipe"))
            .status()
            .unwrap()
            .success()
    );
    lab.fathom(&fio(&["--output=pipe"]))
        .expect(2)
        .says(&["nobody reads from this pipe"]);
    let path = lab.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
    lab.fathom(&fio(&["--output=pipe"])).expect(0);
    assert!(reader.join().unwrap().contains("write: IOPS="));
    for device in ["/dev/loop0", "/dev/vda", "/dev/sda", "/dev/nvme0n1"].map(Path::new) {
        let is_block = |device: &Path| {
            device
                .metadata()
                .is_ok_and(|found| found.file_type().is_block_device())
        };
        if is_block(device) {
            let word = format!("--output={}", device.display());
            lab.fathom(&fio(&[&word]))
                .expect(2)
                .says(&["a block device"]);
        }
    }
}

/// What takes a place while jobs run costs this file, and nothing else.
#[test]
fn a_log_that_cannot_be_opened_loses_no_result() {
    let lab = lab();
    let all = [
        "--write_bw_log=x",
        "--write_lat_log=y",
        "--result=out",
        "--wait-until",
    ];
    let words = [
        &all[..],
        &["mkdir -p x_bw.1.log && ln -sf ../mine out/report.html"],
    ]
    .concat();
    let ended = lab.fathom(&fio(&words)).expect(1);
    let ended = ended.says(&[
        "x_bw.1.log",
        "a directory",
        "report.html",
        "a symbolic link",
    ]);
    assert!(ended.out.contains("write: IOPS="));
    let last = ended.err.lines().last().unwrap();
    assert!(last.starts_with("error: some files"), "{last}");
    assert!(!lab.text("y_lat.1.log").is_empty());
    assert_eq!(lab.text("mine"), "what a user wrote\n");
    assert!(lab.text("out/summary.csv").starts_with("run,"));
    lab.fathom(&["report", "out", "-o", "again"]).expect(0);
}

/// The signal of such a limit would end the program without a word.
#[test]
fn a_limit_of_the_size_of_files_is_told() {
    let lab = Lab::new();
    lab.write("disk", vec![0; 1 << 20]);
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    for verb in ["run job", "vdbench -f job"] {
        let script = format!("ulimit -f 20; exec {FATHOM} {verb} -o out");
        let ended = ended(lab.command("bash").args(["-c", &script]));
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(
            ended.err.contains("result.fathom`: File too large"),
            "{}",
            ended.err
        );
    }
}
