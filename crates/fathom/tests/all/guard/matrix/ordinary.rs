//! The same as an ordinary user: what is exchanged, and every path.
use crate::lab::{Lab, ended, has, is_root, must, skip};
use std::process::Command;

#[test]
fn an_ordinary_user_destroys_nothing_either() {
    if !is_root() || !has("setpriv") {
        return skip("only root can become somebody else, with `setpriv`");
    }
    let lab = Lab::new();
    must("chmod", &["755", lab.path("").to_str().unwrap()]);
    std::fs::create_dir(lab.path("home")).unwrap();
    let home = lab.path("home").display().to_string();
    must("chown", &["65534:65534", &home]);
    let tests = std::env::current_exe().unwrap();
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(&tests).args(words);
        ended(command.envs([("TMPDIR", &home), ("HOME", &home)]))
    };
    // A checkout in a home folder is closed to others.
    if as_nobody(&["--list"]).code != Some(0) {
        return skip("an ordinary user cannot run the tests from here");
    }
    let told = as_nobody(&["exchange::", "matrix::paths::"]).expect(0);
    assert!(told.out.contains("test guard::exchange::"), "{}", told.out);
}
