//! Under a filter of system calls, as containers have: what is refused has something in its place.
use crate::lab::{Ended, FATHOM, Lab, ended, has, skip};

/// Lets a command run with one system call refused.
const DENY: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
    unsigned call = words[1][0] == 's' ? SYS_statx : 425;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, 2, &program)) return 99;
    execv(words[2], words + 2);
    return 98;
}
"#;

/// `None` where there is no compiler, or no filter.
fn without(lab: &Lab, call: &str, words: &[&str]) -> Option<Ended> {
    if !has("cc") {
        skip("no C compiler");
        return None;
    }
    lab.write("deny.c", DENY);
    ended(lab.command("cc").args(["-o", "deny", "deny.c"])).expect(0);
    let mut command = lab.command(lab.path("deny").to_str().unwrap());
    let ended = ended(command.args([call, FATHOM]).args(words));
    if ended.code == Some(99) {
        skip("no filter can be set here");
        return None;
    }
    Some(ended)
}

const JOB: &str = "sd=sd1,lun=data,openflags=o_direct\nwd=wd1,sd=sd1,xfersize=4k,rdpct=100\n\
                   rd=r,wd=wd1,iorate=100,elapsed=2\n";

#[test]
fn native_aio_takes_the_place_of_a_ring_that_is_refused() {
    let lab = Lab::new();
    lab.write("data", vec![7; 1 << 20]);
    lab.write("job", JOB);
    let Some(ran) = without(&lab, "io_uring_setup", &["run", "job", "-o", "out"]) else {
        return;
    };
    if ran.code == Some(2) && ran.err.contains("direct I/O") {
        return skip("no direct I/O on this file system");
    }
    let ran = ran.expect(0);
    if lab
        .text("out/summary.json")
        .contains("all targets are in memory")
    {
        return skip("files are in memory here, and no ring is tried");
    }
    let told: serde_json::Value = serde_json::from_str(&lab.text("out/summary.json")).unwrap();
    assert_eq!(told["backend"], "aio");
    let reason = told["backend_reason"].as_str().unwrap();
    assert!(reason.starts_with("io_uring is unavailable: "), "{reason}");
    let line = ran
        .err
        .lines()
        .find(|line| line.starts_with("note: io_uring is unavailable"));
    assert!(
        line.unwrap().ends_with("`aio` is used in its place"),
        "{}",
        ran.err
    );
}

#[test]
fn an_older_call_takes_the_place_of_statx() {
    let lab = Lab::new();
    lab.write("data", vec![7; 1 << 20]);
    lab.write("job", JOB.replace(",openflags=o_direct", ""));
    let run = ["run", "job", "-o", "out"];
    let made = [
        "fio",
        "--name=a",
        "--filename=new",
        "--size=64k",
        "--rw=write",
    ];
    for words in [&run[..], &made] {
        let Some(ran) = without(&lab, "statx", words) else {
            return;
        };
        ran.expect(0);
    }
    assert_eq!(std::fs::metadata(lab.path("new")).unwrap().len(), 64 << 10);
}
