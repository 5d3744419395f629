//! A device of which one block cannot be read: a network block device behind FUSE.
use crate::lab::{Lab, has, skip};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SIZE: u64 = 16 << 20;

/// In the middle of this block.
const BAD: u64 = 65_536 + 512;

/// A file in the lab, named `a bad/disk`, whose byte [`BAD`] gives an I/O error.
struct Failing {
    server: Child,
    path: String,
}

impl Failing {
    fn new(lab: &Lab) -> Result<Self, String> {
        if !(has("nbdfuse") && has("nbdkit") && has("fusermount3")) {
            return Err("`nbdfuse`, `nbdkit` or `fusermount3` is missing".to_owned());
        }
        if std::fs::File::open("/dev/fuse").is_err() {
            return Err("/dev/fuse cannot be opened".to_owned());
        }
        std::fs::create_dir(lab.path("a bad")).unwrap();
        lab.write("a bad/disk", "");
        let path = lab.path("a bad/disk").display().to_string();
        let read = format!(
            "pread=if [ $4 -le {BAD} ] && [ $(($4 + $3)) -gt {BAD} ]; then echo EIO no >&2; exit 1; \
             else head -c $3 /dev/zero; fi"
        );
        let server = Command::new("nbdfuse")
            .args([&path, "--command", "nbdkit", "-s", "eval"])
            .args([&format!("get_size=echo {SIZE}"), &read])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let failing = Self { server, path };
        let since = Instant::now();
        while std::fs::metadata(&failing.path).map_or(0, |facts| facts.len()) != SIZE {
            if since.elapsed() > Duration::from_secs(10) {
                return Err("the device did not come up".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(failing)
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        let _ = Command::new("fusermount3")
            .args(["-u", "-z", &self.path])
            .status();
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The path holds a blank: as a variable of the shell it stays one word.
#[test]
fn the_command_of_an_error_is_told_where_it_was() {
    let lab = Lab::new();
    let failing = match Failing::new(&lab) {
        Ok(failing) => failing,
        Err(reason) => return skip(&reason),
    };
    lab.write(
        "tell",
        "printf '%s|' \"$lun\" $1 $2 \"$output\" >seen; echo called\n",
    );
    let job = "data_errors=\"sh tell $lba $size\"\n\
               sd=sd1,lun=\"a bad/disk\",threads=1,openflags=o_direct\n\
               wd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=seq\n\
               rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1\n";
    lab.write("job", job);
    let ended = lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(1);
    let output = std::fs::canonicalize(lab.path("out")).unwrap();
    let expected = format!("a bad/disk|65536|4096|{}|", output.display());
    assert_eq!(lab.text("seen"), expected);
    assert!(ended.out.contains("called"), "{}", ended.out);
    let log = lab.text("out/errorlog.html");
    assert!(log.contains("65536") || log.contains("0x10000"), "{log}");
    drop(failing);
}
