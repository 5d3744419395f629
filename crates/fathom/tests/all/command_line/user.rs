//! As an ordinary user.
use crate::lab::{Ended, FATHOM, Lab, ended, has, is_root, job, skip};
use std::os::unix::fs::PermissionsExt;

const NOBODY: &str = "65534";

/// More than may be open at a time with a limit of 100.
const FILES: usize = 60;

/// A lab that everybody may write to, with a copy of the program that everybody may call.
fn open_lab() -> Result<Lab, &'static str> {
    if !is_root() || !has("setpriv") {
        return Err("becoming an ordinary user needs root and `setpriv`");
    }
    let lab = Lab::new();
    let mode = |name: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(lab.path(name), permissions).unwrap();
    };
    mode(".", 0o777);
    std::fs::copy(FATHOM, lab.path("fathom")).unwrap();
    mode("fathom", 0o755);
    Ok(lab)
}

fn as_nobody(lab: &Lab, words: &[&str]) -> Ended {
    let identity = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let mut command = lab.command("setpriv");
    command
        .args(identity)
        .arg("--clear-groups")
        .arg("./fathom")
        .args(words);
    ended(&mut command)
}

#[test]
fn an_ordinary_user_measures_files() {
    let lab = match open_lab() {
        Ok(lab) => lab,
        Err(reason) => return skip(reason),
    };
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    as_nobody(&lab, &["vdbench", "-f", "job", "-o", "out"]).expect(0);
    assert_eq!(lab.bytes("disk").len(), 1 << 20);
    as_nobody(&lab, &["report", "out", "-o", "again"]).expect(0);
}

#[test]
fn what_an_ordinary_user_may_not_touch_stays() {
    let lab = match open_lab() {
        Ok(lab) => lab,
        Err(reason) => return skip(reason),
    };
    lab.write("disk", vec![0; 1 << 20]);
    lab.write(
        "job",
        job("lun=disk,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    let before = lab.everything();
    let refused = as_nobody(&lab, &["run", "job", "-o", "out"]).expect(2);
    refused.says(&[
        "`sd1` (disk) cannot be used: it cannot be opened for writing: permission denied (user `",
        "has no write permission (`w`); owner `root:root`, mode 644)",
    ]);
    assert_eq!(lab.everything(), before);
    std::fs::set_permissions(lab.path("disk"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let refused = as_nobody(&lab, &["run", "job", "-o", "out"]).expect(2);
    assert!(
        refused.err.to_lowercase().contains("permission"),
        "{}",
        refused.err
    );
    assert_eq!(lab.everything(), before);
}

/// The last line on standard error.
fn last(ended: &Ended) -> &str {
    ended.err.lines().next_back().unwrap_or_default()
}

#[test]
fn a_folder_without_the_right_is_named_before_anything_starts() {
    let lab = match open_lab() {
        Ok(lab) => lab,
        Err(reason) => return skip(reason),
    };
    for (folder, mode) in [("closed", 0o755), ("dark", 0o700)] {
        std::fs::create_dir(lab.path(folder)).unwrap();
        std::fs::set_permissions(lab.path(folder), PermissionsExt::from_mode(mode)).unwrap();
    }
    for (target, folder, right) in [
        (
            "closed/disk",
            "closed",
            "no write permission (`w`) for the directory",
        ),
        (
            "dark/disk",
            "dark",
            "no search permission (`x`) for the directory",
        ),
        ("closed/none/disk", "closed/none", "does not exist"),
    ] {
        let pair = format!("lun={target},size=1m");
        lab.write("job", job(&pair, "iorate=50,elapsed=2,interval=1"));
        let text = format!("[j]\nfilename={target}\nsize=64k\nrw=write\n");
        lab.write("job.fio", text);
        let before = lab.everything();
        // For fio, a job without the right has failed.
        let of_fio = if right == "does not exist" { 2 } else { 1 };
        for (words, code) in [
            (&["run", "job", "-o", "out"][..], 2),
            (&["run", "job.fio", "-o", "out"], 2),
            (&["vdbench", "-f", "job", "-o", "out"], 2),
            (&["curve", target, "--size", "1m", "-o", "out"], 2),
            (&["prefill", target, "--size", "1m", "-o", "out"], 2),
            (&["fio", "job.fio"], of_fio),
        ] {
            let refused = as_nobody(&lab, words).expect(code);
            let last = last(&refused);
            let named = lab.path(folder).display().to_string();
            let names = last.starts_with("error: ") && last.contains(&format!("`{named}`"));
            assert!(names && last.contains(right), "{words:?}: {}", refused.err);
            assert!(!refused.out.contains("Starting"), "{}", refused.out);
            assert_eq!(lab.everything(), before, "{words:?}");
        }
        let checked = as_nobody(&lab, &["check", "job"]).expect(2);
        checked.says(&["a run would be refused"]);
    }
}

/// In a folder that this user may not even look into, nothing tells what is there.
#[test]
fn an_output_folder_without_the_right_is_one_line_that_names_the_right() {
    let lab = match open_lab() {
        Ok(lab) => lab,
        Err(reason) => return skip(reason),
    };
    for (folder, mode) in [("closed", 0o755), ("dark", 0o700)] {
        std::fs::create_dir(lab.path(folder)).unwrap();
        std::fs::set_permissions(lab.path(folder), PermissionsExt::from_mode(mode)).unwrap();
    }
    let pair = "lun=disk,size=1m,openflags=o_direct";
    lab.write("job", job(pair, "iorate=50,elapsed=120,interval=1"));
    for (output, right, mode) in [
        ("closed/out", "no write permission (`w`)", "755"),
        (
            "dark/out",
            "no search permission (`x`) for the directory",
            "700",
        ),
    ] {
        for words in [
            &["run", "job", "--lint", "all=off", "-o", output][..],
            &["curve", "disk", "--size", "1m", "-o", output],
            &["vdbench", "-f", "job", "--lint", "all=off", "-o", output],
        ] {
            let ended = as_nobody(&lab, words).expect(2);
            assert_eq!(ended.err.lines().count(), 1, "{words:?}: {}", ended.err);
            let owner = format!("owner `root:root`, mode {mode}); choose another (-o)");
            ended.says(&["permission denied (user `", right, &owner]);
        }
    }
}

#[test]
fn a_read_only_file_system_is_named_before_anything_starts() {
    let lab = match open_lab() {
        Ok(lab) if has("unshare") => lab,
        Ok(_) => return skip("a file system of its own needs `unshare`"),
        Err(reason) => return skip(reason),
    };
    std::fs::create_dir(lab.path("fixed")).unwrap();
    lab.write("job.fio", "[j]\nfilename=fixed/disk\nsize=64k\nrw=write\n");
    let script = "mount -t tmpfs -o ro none fixed || exit 99; ./fathom run job.fio -o out";
    let mut command = lab.command("unshare");
    let refused = ended(command.args(["--mount", "sh", "-c", script]));
    if refused.code == Some(99) {
        return skip("nothing can be mounted here");
    }
    let refused = refused.expect(2);
    assert!(
        last(&refused).contains("is on a read-only file system"),
        "{}",
        refused.err
    );
    assert!(!lab.path("out").exists());
}

#[test]
fn a_denial_says_whose_right_is_missing_for_what() {
    let lab = match open_lab() {
        Ok(lab) => lab,
        Err(reason) => return skip(reason),
    };
    let closed = |name: &str| {
        let mode = PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(lab.path(name), mode).unwrap();
    };
    lab.write("disk", vec![0; 1 << 20]);
    lab.write(
        "secret.job",
        job("lun=disk", "iorate=50,elapsed=2,interval=1"),
    );
    ["disk", "secret.job"].into_iter().for_each(closed);
    std::fs::create_dir(lab.path("theirs")).unwrap();
    std::fs::set_permissions(lab.path("theirs"), PermissionsExt::from_mode(0o755)).unwrap();
    lab.write(
        "job",
        job("lun=new,size=1m", "iorate=50,elapsed=2,interval=1"),
    );
    for (words, right, mode) in [
        (&["curve", "disk"][..], "read permission (`r`)", "600"),
        (&["run", "secret.job"], "read permission (`r`)", "600"),
        (
            &["run", "job", "-o", "theirs"],
            "write permission (`w`)",
            "755",
        ),
    ] {
        let refused = as_nobody(&lab, words).expect(2);
        let says = format!("has no {right}; owner `root:root`, mode {mode})");
        assert!(last(&refused).contains(&says), "{words:?}: {}", refused.err);
    }
}

/// A job that only reads needs no right to write, and is told of none: neither where it may read, nor where it may not, nor
/// where its file is too short.
#[test]
fn a_job_that_only_reads_is_told_of_reading_only() {
    let lab = match open_lab() {
        Ok(lab) => lab,
        Err(reason) => return skip(reason),
    };
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(lab.path("disk"), permissions).unwrap();
    };
    let write_jobs = |size: &str| {
        lab.write(
            "job.fio",
            format!("[j]\nfilename=disk\nrw=randread\nioengine=psync\nsize={size}\n"),
        );
        lab.write(
            "job",
            format!(
                "sd=sd1,lun=disk,size={size}\nwd=wd1,sd=sd1,rdpct=100,seekpct=100,xfersize=4k\n\
                 rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n"
            ),
        );
    };
    let faces = [
        &["fio", "job.fio"][..],
        &["run", "job.fio", "-o", "out"],
        &["run", "job", "-o", "out"],
        &["vdbench", "-f", "job", "-o", "out"],
    ];
    let foreign = b"letter\n".repeat(1 << 18);
    let zeros = vec![0; 1_835_008];
    let short = "has 1.75 MiB, but the job reads 16 MiB; ";
    let size = "lower the size to 1835008 bytes, or name a new file";
    let unread = "has no read permission (`r`); owner `root:root`, mode 200)";
    for (content, bits, size_read, says) in [
        (&foreign, 0o444, "64k", &[][..]),
        (
            &foreign,
            0o444,
            "16m",
            &[short, "(data of unknown kind", size],
        ),
        (&zeros, 0o444, "16m", &[short, size]),
        (
            &Vec::new(),
            0o444,
            "16m",
            &["has 0 B, but the job reads 16 MiB; name a file with data, or"],
        ),
        (&foreign, 0o200, "64k", &[unread]),
        (&foreign, 0o200, "16m", &[unread]),
    ] {
        lab.write("disk", content);
        mode(bits);
        write_jobs(size_read);
        for words in faces {
            let ended = as_nobody(&lab, words);
            assert_eq!(ended.code == Some(0), says.is_empty(), "{ended:?}");
            for missing in ["write permission", "writing", "overwr"] {
                assert!(!ended.err.contains(missing), "{ended:?}");
            }
            ended.says(says);
        }
        assert_eq!(&lab.bytes("disk"), content);
    }
}

/// The files are more than may be open at a time, so that each is opened again during the run. One of them changes then.
#[test]
fn a_file_that_cannot_be_opened_during_a_run_is_named_with_the_missing_right() {
    let lab = match open_lab() {
        Ok(lab) if cfg!(debug_assertions) => lab,
        Ok(_) => return skip("the moments of the door are in builds with assertions only"),
        Err(reason) => return skip(reason),
    };
    let files: Vec<String> = (0..FILES).map(|number| format!("f{number}")).collect();
    let job = |rw| {
        format!(
            "[j]\nfilename={}\nopenfiles=1\nsize={}k\nrw={rw}\nbs=4k\nioengine=psync\n",
            files.join(":"),
            8 * FILES
        )
    };
    for (rw, command, says) in [
        (
            "read",
            "chmod 0 f10",
            "has no read permission (`r`); owner `",
        ),
        (
            "rw",
            "chmod 444 f10",
            "has no write permission (`w`); owner `",
        ),
        ("read", "rm f10", "No such file or directory"),
    ] {
        for name in &files {
            let _ = std::fs::remove_file(lab.path(name));
            lab.write(name, our_block().repeat(2));
            std::os::unix::fs::chown(lab.path(name), Some(65_534), Some(65_534)).unwrap();
        }
        lab.write("job.fio", job(rw));
        // All are opened once before the run, and some in it.
        let moment = format!("open:{}={command}", FILES + 5);
        let mut limited = lab.command("/bin/sh");
        let script = format!(
            "ulimit -n 64; exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups \
             ./fathom run job.fio -o out"
        );
        limited
            .args(["-c", &script])
            .env("FATHOM_TEST_MOMENT", moment);
        let failed = ended(&mut limited).expect(1).says(&[says]);
        let told = failed
            .err
            .lines()
            .find(|line| line.starts_with("`j` ended: "));
        let told = told.unwrap_or_else(|| panic!("{failed}"));
        assert!(
            told.contains("of `f10` failed: ") && told.contains(says),
            "{told}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_opened_for_the_second_run_is_named_with_the_missing_right() {
    let lab = match open_lab() {
        Ok(lab) if cfg!(debug_assertions) => lab,
        Ok(_) => return skip("the moments of the door are in builds with assertions only"),
        Err(reason) => return skip(reason),
    };
    lab.write("disk", our_block().repeat(16));
    std::os::unix::fs::chown(lab.path("disk"), Some(65_534), Some(65_534)).unwrap();
    lab.write(
        "job",
        "sd=sd1,lun=disk\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\nrd=rd2,wd=wd1,iorate=50,elapsed=2,interval=1\n",
    );
    let mut second = lab.command("setpriv");
    let identity = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    second
        .args(identity)
        .args(["--clear-groups", "./fathom", "run", "job", "-o", "out"])
        .env("FATHOM_TEST_MOMENT", "run:2=chmod 0 disk");
    let refused = ended(&mut second).expect_failure();
    let path = std::fs::canonicalize(lab.path("disk")).unwrap();
    let says = format!(
        "`{}` cannot be opened: permission denied (user `",
        path.display()
    );
    assert!(last(&refused).contains(&says), "{refused}");
    assert!(
        last(&refused).contains("has no read permission (`r`); owner `"),
        "{refused}"
    );
}

/// A block that the guard knows for one of ours.
fn our_block() -> Vec<u8> {
    let mut block = vec![b'x'; 4096];
    block[..8].copy_from_slice(b"FATHOM\x01\x00");
    block
}
