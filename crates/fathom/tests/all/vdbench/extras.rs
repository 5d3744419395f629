//! General parameters of Vdbench that few jobs use.
use crate::lab::{Lab, job};

const RUN: &str = "iorate=200,elapsed=2,interval=1";

/// A line for each I/O, in a file for each slave; the counts are those of the summary.
#[test]
fn every_address_is_listed_where_the_job_asks() {
    let lab = Lab::new();
    let text = job("lun=disk,size=64k", RUN);
    lab.write("job", format!("showlba=yes\nhd=localhost,jvms=2\n{text}"));
    lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    let mut reads = 0;
    let mut measured = 0;
    for slave in ["localhost-0", "localhost-1"] {
        let list = lab.text(&format!("out/{slave}.showlba.txt"));
        for line in list.lines().filter(|line| line.contains(" wd1 ")) {
            let fields: Vec<&str> = line.split(' ').collect();
            assert_eq!((fields.len(), fields[0]), (5, "sd1"), "{line}");
            reads += fields[2].parse::<u64>().unwrap();
            let (offset, at_ms): (u64, u64) =
                (fields[3].parse().unwrap(), fields[4].parse().unwrap());
            assert!(
                offset < 65_536 && offset % 4096 == 0 && at_ms < 60_000,
                "{line}"
            );
            measured += 1;
        }
        assert!(!list.is_empty(), "{slave} had no part");
    }
    // Two seconds of 200: the warm-up is listed too.
    assert!((300..500).contains(&measured), "{measured}");
    let share = reads as f64 / measured as f64;
    assert!((0.3..0.7).contains(&share), "{share}");
    lab.write("job", format!("showlba=no\n{text}"));
    lab.fathom(&["vdbench", "-f", "job", "-o", "none"])
        .expect(0);
    assert!(
        !lab.names("none")
            .iter()
            .any(|name| name.contains("showlba"))
    );
}

#[test]
fn parameters_that_cannot_be_meant_here_say_why() {
    let lab = Lab::new();
    for (general, host, reason) in [
        ("auxreport=(Some,script)\n", "", "class of Java"),
        ("", "hd=localhost,mount=\"mount /mnt\"\n", "mount it first"),
        ("timeout=soon\n", "", "number of seconds"),
    ] {
        let text = job("lun=disk,size=64k", RUN);
        lab.write("job", format!("{general}{host}{text}"));
        lab.fathom(&["run", "job"]).expect(2).says(&[reason]);
    }
}

/// Names that are numbers are names on console, pages and in the flat file.
#[test]
fn names_may_be_numbers() {
    let lab = Lab::new();
    let text = format!("sd=1,lun=disk,size=64k,threads=2\nwd=2,sd=1\nrd=3,wd=2,{RUN}\n");
    lab.write("job", text);
    let ended = lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    assert!(ended.out.contains("Starting RD=3;"), "{}", ended.out);
    let names = lab.names("out");
    assert!(names.iter().any(|name| name == "1.html"), "{names:?}");
    let flat = lab.text("out/flatfile.html");
    let rows = flat.lines().filter(|line| line.contains(" avg_2-2 "));
    let run = rows.map(|row| row.split_whitespace().nth(2).unwrap());
    assert_eq!(run.collect::<Vec<_>>(), ["3"], "{flat}");
}

/// Pages show names of workloads as text, whatever they hold.
#[test]
fn a_name_is_no_markup_in_any_page() {
    let lab = Lab::new();
    let text = "sd=a<u>b,lun=disk,size=1m,threads=2\nwd=w<u>x,sd=a<u>b,xfersize=4k,rdpct=50\n\
                wd=v&y,sd=a<u>b,xfersize=4k,rdpct=50\n\
                rd=r<u>z,wd=(w<u>x,v&y),iorate=50,elapsed=2,interval=1\n";
    lab.write("job", text);
    lab.fathom(&["vdbench", "-f", "job", "-o", "out"]).expect(0);
    let pages: Vec<String> = lab.names("out");
    let pages = pages.iter().filter(|name| name.ends_with(".html"));
    let mut named = 0;
    for page in pages {
        let html = lab.text(&format!("out/{page}"));
        assert!(!html.contains("<u>"), "{page}");
        named += html.matches(r"\x3cu>").count();
    }
    assert!(named > 3, "{named}");
}
