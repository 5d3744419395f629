//! Paths that are unlike the file that they lead to.
use super::{Verdicts, digest};
use crate::lab::{Ended, Lab, has, must, skip};
use std::os::unix::fs::symlink;
use std::path::Path;

const TEXT: &str = "something of value, one line of it and no more\n";

/// Writes to a path by words that take it as it is.
fn doors(lab: &Lab, path: &str) -> [(&'static str, Ended); 3] {
    let size = ["--size", "128k", "-o", "out"];
    let curve = [
        "--read",
        "0",
        "--elapsed",
        "1",
        "--warmup",
        "0",
        "--points",
        "50",
    ];
    let name = format!("--filename={}", path.replace(':', "\\:"));
    let line = [
        "fio",
        "--name=j",
        "--rw=write",
        "--bs=4k",
        "--size=128k",
        "--result=out",
    ];
    [
        (
            "prefill",
            lab.fathom(&[&["prefill", path], &size[..]].concat()),
        ),
        (
            "curve",
            lab.fathom(&[&["curve", path], &size[..], &curve[..]].concat()),
        ),
        ("fio line", lab.fathom(&[&line[..], &[&name]].concat())),
    ]
}

/// Refused, by the guard or as no target at all, and the same as before.
fn stays(ended: &Ended, before: &str, path: &Path) -> Result<(), String> {
    match ended.code {
        Some(2 | 3) if digest(path) == before => Ok(()),
        code => Err(format!("exit code {code:?}: {}", super::first_error(ended))),
    }
}

#[test]
fn every_path_to_a_file_that_holds_something_is_refused() {
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    std::fs::create_dir(lab.path("folder")).unwrap();
    let held = lab.path("folder/held");
    std::fs::write(&held, TEXT.repeat(3000)).unwrap();
    let before = digest(&held);
    symlink("folder/held", lab.path("link")).unwrap();
    symlink("link", lab.path("link to link")).unwrap();
    std::fs::hard_link(&held, lab.path("hard")).unwrap();
    std::fs::write(lab.path("a b\nc"), TEXT.repeat(3000)).unwrap();
    let whole = held.display().to_string();
    for path in [
        "link",
        "link to link",
        "hard",
        "folder/held",
        "./folder/../folder/held",
        "a b\nc",
        &whole,
    ] {
        for (door, ended) in doors(&lab, path) {
            let path = path.replace(&whole, "whole path");
            let outcome = stays(&ended, &before, &held).and_then(|()| {
                let of_name = stays(&ended, &before, &lab.path("a b\nc"));
                let code = ended.code == Some(3);
                of_name.and_then(|()| code.then_some(()).ok_or("not by the guard".to_owned()))
            });
            verdicts.note(&format!("{path:?}, {door}"), outcome);
        }
    }
    assert!(lab.path("link").is_symlink() && lab.path("link to link").is_symlink());
    verdicts.judge();
}

#[test]
fn a_dangling_link_stays_a_link_and_leads_to_nothing_foreign() {
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    for door in 0..3 {
        let _ = std::fs::remove_file(lab.path("link"));
        let _ = std::fs::remove_file(lab.path("nothing"));
        symlink("nothing", lab.path("link")).unwrap();
        let (name, ended) = through_link(&lab, door);
        let is_link =
            std::fs::read_link(lab.path("link")).is_ok_and(|to| to == Path::new("nothing"));
        // Refused, or made where it leads, as the original does.
        let is_sound = match ended.code {
            Some(2 | 3) => !lab.path("nothing").exists(),
            Some(0) => lab.path("nothing").exists(),
            _ => false,
        };
        let outcome = (is_link && is_sound).then_some(()).ok_or(format!(
            "exit code {:?}, still a link: {is_link}",
            ended.code
        ));
        verdicts.note(&format!("dangling link, {name}"), outcome);
    }
    verdicts.judge();
}

/// One of the doors alone, as each finds what the one before has left.
fn through_link(lab: &Lab, number: usize) -> (&'static str, Ended) {
    let line = [
        "fio",
        "--name=j",
        "--bs=4k",
        "--size=128k",
        "--filename=link",
        "--result=out",
    ];
    let with = |more: &str| lab.fathom(&[&line[..], &[more]].concat());
    match number {
        0 => {
            let fill = ["prefill", "link", "--size", "128k", "-o", "out"];
            ("prefill", lab.fathom(&fill))
        }
        1 => ("fio line", with("--rw=write")),
        _ => ("fio line that only reads", with("--rw=read")),
    }
}

#[test]
fn a_path_with_blanks_and_line_ends_is_a_path() {
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    for name in ["with blank", "line\nend", "-dash", "quote'\"", "ünï"] {
        let path = format!("./{name}");
        let ended = lab.fathom(&["prefill", &path, "--size", "128k", "-o", "out"]);
        let outcome = super::passed(&ended).and_then(|()| {
            let length = std::fs::metadata(lab.path(name)).map_or(0, |facts| facts.len());
            (length == 128 << 10)
                .then_some(())
                .ok_or(format!("{length} bytes"))
        });
        verdicts.note(&format!("{name:?}, made"), outcome);
        std::fs::remove_dir_all(lab.path("out")).unwrap();
    }
    verdicts.judge();
}

#[test]
fn what_is_no_file_or_device_is_refused_without_waiting() {
    if !has("mkfifo") {
        return skip("`mkfifo` is missing");
    }
    let lab = Lab::new();
    let mut verdicts = Verdicts::default();
    must("mkfifo", &[&lab.path("pipe").display().to_string()]);
    std::fs::create_dir(lab.path("folder")).unwrap();
    lab.write("folder/kept", TEXT);
    let before = digest(&lab.path("folder/kept"));
    for path in [
        "pipe",
        "folder",
        "/proc/version",
        "/proc/self/mem",
        "missing/file",
        "/dev/null",
        "/dev/nothing",
    ] {
        for (door, ended) in doors(&lab, path) {
            // The original writes to character devices, and to a file in a folder that it makes itself.
            let outcome = stays(&ended, &before, &lab.path("folder/kept"));
            verdicts.note(&format!("{path:?}, {door}"), outcome);
        }
    }
    verdicts.judge();
}
