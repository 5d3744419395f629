//! As an ordinary user.
use crate::lab::{Ended, FATHOM, Lab, ended, has, is_root, job, skip};
use std::os::unix::fs::PermissionsExt;

const NOBODY: &str = "65534";

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
    assert!(
        refused.err.to_lowercase().contains("permission denied"),
        "{}",
        refused.err
    );
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
