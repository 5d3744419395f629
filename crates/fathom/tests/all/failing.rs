//! A device of which one block cannot be read.
use crate::lab::{Lab, skip};
use crate::served::{BYTES, Served};

/// In the middle of this block.
const BAD: u64 = 65_536 + 512;

/// A file in the lab, named `a bad/disk`, whose byte [`BAD`] gives an I/O error.
fn failing(lab: &Lab) -> Result<Served, String> {
    let size = format!("get_size=echo {BYTES}");
    let read = format!(
        "pread=if [ $4 -le {BAD} ] && [ $(($4 + $3)) -gt {BAD} ]; then echo EIO no >&2; exit 1; \
         else head -c $3 /dev/zero; fi"
    );
    Served::new(lab, "a bad", &["eval", &size, &read])
}

/// The path holds a blank: as a variable of the shell it stays one word.
#[test]
fn the_command_of_an_error_is_told_where_it_was() {
    let lab = Lab::new();
    let failing = match failing(&lab) {
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
