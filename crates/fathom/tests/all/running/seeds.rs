//! A second measurement is no replay of the first, unless somebody asks for one.
use crate::lab::{Ended, Lab};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

/// 16 384 blocks of 4 KiB.
const FILE_BYTES: usize = 64 << 20;

const JOB: &str = "showlba=yes\nsd=a,lun=file,threads=4\nwd=w,sd=a,xfersize=4k,rdpct=100\n\
                   rd=r,wd=w,iorate=500,elapsed=2,interval=1\n";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("file", vec![7; FILE_BYTES]);
    lab.write("job", JOB);
    lab
}

/// Offsets that an execution read.
fn read(lab: &Lab, arguments: &[&str], folder: &str) -> BTreeSet<u64> {
    let arguments = [arguments, &["-o", folder]].concat();
    lab.fathom(&arguments).expect(0);
    offsets(lab, folder)
}

fn offsets(lab: &Lab, folder: &str) -> BTreeSet<u64> {
    let list = lab.text(&format!("{folder}/localhost-0.showlba.txt"));
    let offsets = list.lines().map(|line| line.split(' ').nth(3).unwrap());
    offsets.map(|offset| offset.parse().unwrap()).collect()
}

fn seed_of(ended: &Ended) -> &str {
    let line = ended
        .out
        .lines()
        .find_map(|line| line.strip_prefix("seed:"));
    line.unwrap().trim().split(' ').next().unwrap()
}

/// Of 1000 out of 16 384 blocks, 61 are in another such draw by chance, with a deviation of 7.6.
#[test]
fn two_executions_share_addresses_by_chance_only() {
    let lab = lab();
    for words in [&["run", "job"][..], &["vdbench", "-f", "job"]] {
        let [first, second] = ["one", "two"].map(|folder| read(&lab, words, folder));
        assert!(first.len() > 800, "{}", first.len());
        let shared = first.intersection(&second).count();
        assert!(
            shared < 61 + 6 * 8,
            "{words:?}: {shared} of {}",
            first.len()
        );
    }
}

#[test]
fn the_seed_that_is_printed_repeats_the_addresses() {
    let lab = lab();
    let first = lab.fathom(&["run", "job", "-o", "out"]).expect(0);
    let seed = seed_of(&first).to_owned();
    let stored = lab.text("out/report.html");
    assert!(stored.contains(&seed), "the page has the seed {seed}");
    let of = |folder: &str| {
        let list = lab.text(&format!("{folder}/localhost-0.showlba.txt"));
        let offsets = list
            .lines()
            .map(|line| line.split(' ').nth(3).unwrap().to_owned());
        offsets.collect::<BTreeSet<_>>()
    };
    lab.fathom(&["run", "job", "-o", "again", "--seed", &seed])
        .expect(0);
    let (one, two) = (of("out"), of("again"));
    let fewer = one.len().min(two.len());
    // Either may have had a little more time.
    assert!(
        one.intersection(&two).count() * 100 >= fewer * 98,
        "{fewer}"
    );
}

#[test]
fn a_job_of_fio_that_repeats_its_addresses_is_said_so() {
    let lab = lab();
    let mut said = Vec::new();
    for words in ["", "randrepeat=1", "randseed=5", "randrepeat=0"] {
        let mut job = "[j]\nioengine=null\nrw=randread\nsize=1m\n".to_owned();
        writeln!(job, "{words}").unwrap();
        lab.write("j.fio", job);
        let seeds = ["a", "b"].map(|folder| {
            let ended = lab.fathom(&["run", "j.fio", "-o", folder]).expect(0);
            let is_told = ended.err.contains("repeats its addresses");
            (seed_of(&ended).to_owned(), is_told)
        });
        said.push((seeds[0].0 == seeds[1].0, seeds[0].1));
    }
    assert_eq!(
        said,
        [(false, false), (true, true), (true, true), (false, false)]
    );
}

/// Where the jobs of a text go in an execution of the fio face, job by job.
fn places(lab: &Lab, jobs: &str) -> Vec<Vec<String>> {
    let job = format!(
        "[global]\nioengine=null\nrw=randread\nsize=1m\nwrite_lat_log=log\nlog_offset=1\n{jobs}"
    );
    lab.write("j.fio", job);
    lab.fathom(&["fio", "j.fio"]).expect(0);
    let of = |job: usize| {
        let log = lab.text(&format!("log_lat.{job}.log"));
        let place = |line: &str| line.split(", ").nth(4).unwrap().to_owned();
        log.lines().map(place).collect()
    };
    (1..=jobs.matches('[').count()).map(of).collect()
}

#[test]
fn each_job_draws_from_a_seed_of_its_own() {
    let lab = Lab::new();
    let text = "[a]\n[b]\nrandseed=7\n[c]\nrandrepeat=0\n[d]\nrandrepeat=1\n";
    let [first, second] = [places(&lab, text), places(&lab, text)];
    let same: Vec<bool> = first.iter().zip(&second).map(|(a, b)| a == b).collect();
    assert_eq!(same, [true, true, false, true], "{first:?}\n{second:?}");
    let alone = places(&lab, "[a]\n[b]\n[c]\n[d]\nrandseed=9\n");
    let same: Vec<bool> = first.iter().zip(&alone).map(|(a, b)| a == b).collect();
    assert_eq!(same, [true, false, false, false]);
    // What all name is what each of them names.
    let all = places(&lab, "[a]\nrandseed=7\n[b]\nrandseed=7\n");
    assert_eq!((&all[1], all[0] == first[0]), (&first[1], false));
}

#[test]
fn of_several_jobs_those_that_repeat_their_addresses_are_named() {
    let lab = Lab::new();
    let job =
        "[global]\nioengine=null\nrw=randread\nsize=1m\n[a]\n[b]\nrandseed=7\n[c]\nrandrepeat=1\n";
    lab.write("j.fio", job);
    let told = ["one", "two"].map(|folder| lab.fathom(&["run", "j.fio", "-o", folder]).expect(0));
    let named = "note: [b], [c] repeat their addresses in every execution";
    assert!(told[0].err.contains(named), "{}", told[0].err);
    assert_ne!(seed_of(&told[0]), seed_of(&told[1]));
}

/// What a program and its children read from devices, bytes.
fn device_reads(lab: &Lab, words: &str) -> u64 {
    let fathom = crate::lab::FATHOM;
    let script = format!("{fathom} {words} >/dev/null 2>&1; cat /proc/$$/io");
    let mut shell = Command::new("sh");
    let told = shell.arg("-c").arg(script).current_dir(lab.path("."));
    let told = String::from_utf8(told.output().unwrap().stdout).unwrap();
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes: "));
    line.unwrap_or("0").parse().unwrap()
}

/// Through the page cache, which the first execution has filled with what it read: by chance that answers 6 % of the
/// second, which is judged by what it came to on this machine.
#[test]
fn a_second_execution_is_not_answered_from_what_the_first_has_read() {
    let lab = lab();
    let file = std::fs::File::open(lab.path("file")).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let reads = ["one", "two"].map(|folder| device_reads(&lab, &format!("run job -o {folder}")));
    if reads[0] < 1 << 20 {
        println!(
            "skipped: files of this folder stay in memory ({} bytes were read)",
            reads[0]
        );
        return;
    }
    let asked_bytes = 4096 * offsets(&lab, "two").len();
    assert!(asked_bytes >= 1 << 20, "{asked_bytes}");
    assert!(
        reads[1] as f64 >= 0.85 * asked_bytes as f64,
        "{reads:?} of {asked_bytes}"
    );
}
