//! The standing list of a user, at every door that writes.
use crate::lab::{Ended, FATHOM, Lab, ended, has, is_root, skip};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

const TEXT: &[u8] = b"something of value, one line of it and no more\n";

/// Runs that write to `bench/disk`.
const DOORS: &[(&str, &[&str])] = &[
    ("run", &["run", "job", "-o", "out"]),
    (
        "curve",
        &[
            "curve",
            "bench/disk",
            "--read",
            "0",
            "--elapsed",
            "1",
            "--warmup",
            "0",
            "--points",
            "50",
            "-o",
            "out",
        ],
    ),
    (
        "prefill",
        &["prefill", "bench/disk", "--size", "256k", "-o", "out"],
    ),
    ("vdbench", &["vdbench", "-f", "job", "-o", "out"]),
    ("fio", &["fio", "--result", "out", "job.fio"]),
    (
        "line",
        &[
            "fio",
            "--result",
            "out",
            "--name=j",
            "--filename=bench/disk",
            "--rw=write",
            "--bs=4k",
            "--size=256k",
        ],
    ),
];

fn lab(list: &str) -> Lab {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("bench")).unwrap();
    lab.write(
        "job",
        "sd=sd1,lun=bench/disk,size=256k,threads=2\nwd=wd1,sd=sd1,xfersize=4k,rdpct=0\n\
         rd=rd1,wd=wd1,iorate=50,elapsed=2,interval=1\n",
    );
    lab.write(
        "job.fio",
        "[j]\nfilename=bench/disk\nrw=write\nbs=4k\nsize=256k\n",
    );
    lab.write(
        "list",
        list.replace("HERE", &lab.path("").display().to_string()),
    );
    mode(&lab, "list", 0o600);
    hold(&lab);
    lab
}

/// Something stands where the jobs write.
fn hold(lab: &Lab) {
    lab.write("bench/disk", TEXT.repeat((256 << 10) / TEXT.len() + 1));
}

fn mode(lab: &Lab, name: &str, mode: u32) {
    std::fs::set_permissions(lab.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

fn with<'a>(command: &'a mut Command, lab: &Lab, list: &str) -> &'a mut Command {
    let list = format!("@{}", lab.path(list).display());
    command.env("FATHOM_OVERWRITE", list)
}

fn fathom(lab: &Lab, list: &str, words: &[&str]) -> Ended {
    let mut command = lab.command(FATHOM);
    ended(with(&mut command, lab, list).args(words))
}

#[test]
fn what_the_list_names_passes_at_every_door() {
    let lab = lab("# of this machine\nVM17\nHERE/nothing\nHEREbench/*\n");
    for (door, words) in DOORS {
        hold(&lab);
        let before = lab.bytes("bench/disk");
        let refused = lab.fathom(words).expect(3);
        assert!(lab.bytes("bench/disk") == before, "{door}: {}", refused.err);
        let passed = fathom(&lab, "list", words).expect(0);
        assert!(lab.bytes("bench/disk") != before, "{door}");
        let told = passed.err.matches("the standing list").count();
        assert_eq!(
            told,
            usize::from(!words.contains(&"fio")),
            "{door}: {}",
            passed.err
        );
        let page = lab.text("out/report.html");
        assert!(page.contains("allowed overwriting"), "{door}");
        assert!(page.contains("bench/*"), "{door}");
        std::fs::remove_dir_all(lab.path("out")).unwrap();
    }
}

#[test]
fn check_shows_what_the_list_would_let_pass() {
    let lab = lab("HEREbench/*\n");
    let before = lab.everything();
    for job in ["job", "job.fio"] {
        let ended = fathom(&lab, "list", &["check", job]).expect(0);
        assert!(ended.out.contains("the standing list"), "{}", ended.out);
        assert!(!ended.err.contains("would be refused"), "{}", ended.err);
        let ended = fathom(&lab, "list", &["check", "--json", job]).expect(0);
        let output: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        let target = &output["targets"][0];
        let word = target["standing_word"].as_str().unwrap();
        assert!(word.ends_with("/bench/*"), "{word}");
        assert_eq!(target["refused"].as_array().unwrap().len(), 0);
        let without = lab.fathom(&["check", "--json", job]).expect(0);
        let output: serde_json::Value = serde_json::from_str(&without.out).unwrap();
        assert!(output["targets"][0]["standing_word"].is_null());
    }
    assert!(lab.everything() == before);
}

#[test]
fn an_id_that_is_the_name_of_a_file_here_gets_one_word() {
    let lab = lab("VM17\nmissing.1\nfio.5\n");
    lab.write("fio.5", "");
    let says = format!("to name the file, write `{}`", lab.path("fio.5").display());
    for (door, words) in DOORS {
        hold(&lab);
        let refused = fathom(&lab, "list", words).expect(3);
        let count = refused.err.matches("names a device by its id").count();
        assert_eq!(
            count,
            usize::from(!words.contains(&"fio")),
            "{door}: {}",
            refused.err
        );
        assert_eq!(
            refused.err.contains(&says),
            count == 1,
            "{door}: {}",
            refused.err
        );
        assert!(
            !refused.err.contains("missing.1"),
            "{door}: {}",
            refused.err
        );
    }
    fathom(&lab, "list", &["check", "job.fio"]).says(&[&says]);
}

#[test]
fn a_list_that_cannot_be_used_is_refused_at_every_door() {
    let lab = lab("HEREbench/*\n");
    lab.write("wrong", "/dev/sdb\n");
    lab.write("open", format!("{}/bench/*\n", lab.path("").display()));
    mode(&lab, "wrong", 0o600);
    mode(&lab, "open", 0o666);
    let doors = DOORS.iter().map(|(_, words)| words.to_vec());
    for words in doors.chain([vec!["check", "job"]]) {
        let before = lab.everything();
        for (list, reason) in [
            ("wrong", "WWN, serial number or PARTUUID"),
            ("open", "others can write to"),
            ("missing", "No such file"),
        ] {
            fathom(&lab, list, &words).expect(2).says(&[reason]);
        }
        let mut command = lab.command(FATHOM);
        let named = command.env("FATHOM_OVERWRITE", lab.path("bench/disk"));
        ended(named.args(&words))
            .expect(2)
            .says(&["FATHOM_OVERWRITE=@FILE"]);
        assert!(lab.everything() == before, "{words:?}");
    }
}

#[test]
fn the_configuration_of_the_user_has_a_list_too() {
    let lab = lab("");
    std::fs::create_dir_all(lab.path("home/.config/fathom")).unwrap();
    let list = format!("{}\n", lab.path("bench/disk").display());
    lab.write("home/.config/fathom/overwrite", list);
    let mut command = lab.command(FATHOM);
    let command = command
        .env_remove("XDG_CONFIG_HOME")
        .env("HOME", lab.path("home"));
    ended(command.args(DOORS[0].1))
        .expect(0)
        .says(&["the standing list"]);
}

#[test]
fn an_ordinary_user_has_a_list_of_their_own() {
    if !is_root() || !has("setpriv") {
        return skip("becoming an ordinary user needs root and `setpriv`");
    }
    const NOBODY: u32 = 65534;
    let lab = lab("HEREbench/*\n");
    std::fs::copy(FATHOM, lab.path("fathom")).unwrap();
    mode(&lab, ".", 0o755);
    mode(&lab, "fathom", 0o755);
    std::fs::create_dir(lab.path("own")).unwrap();
    for name in ["bench", "bench/disk", "own"] {
        chown(lab.path(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let attempt = || {
        let mut command = lab.command("setpriv");
        let identity = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
        command.args(identity).arg("--clear-groups").arg("./fathom");
        command.args(["run", "job", "-o", "own/out"]);
        // A home that cannot be looked into has no list.
        ended(with(&mut command, &lab, "list").env("HOME", "/root"))
    };
    // Root's list is good for everybody who can read it.
    attempt().expect(2).says(&["ermission denied"]);
    mode(&lab, "list", 0o644);
    attempt().expect(0).says(&["the standing list"]);
    hold(&lab);
    chown(lab.path("list"), Some(NOBODY), None).unwrap();
    attempt().expect(0).says(&["the standing list"]);
    chown(lab.path("list"), Some(NOBODY - 1), None).unwrap();
    attempt().expect(2).says(&["belongs to user 65533"]);
}

#[test]
fn what_is_in_use_stays_refused() {
    let lab = lab("");
    let device = match crate::guard::held::loop_device(&lab, "bench/image") {
        Ok(device) => device,
        Err(reason) => return skip(reason),
    };
    let _detach =
        crate::running::stop::OnDrop(|| drop(crate::lab::must("losetup", &["-d", &device])));
    crate::lab::must("mkfs.ext4", &["-q", "-F", &device]);
    let before = lab.bytes("bench/image");
    let list = format!("{0}/bench/*\n{0}/bench/image\n", lab.path("").display());
    lab.write("list", list);
    let job = lab.text("job").replace("bench/disk", "bench/image");
    lab.write("job", job);
    fathom(&lab, "list", DOORS[0].1)
        .expect(3)
        .says(&["nothing overrides this"]);
    assert!(lab.bytes("bench/image") == before);
}
