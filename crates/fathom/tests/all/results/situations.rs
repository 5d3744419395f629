//! Situations of known truth on real targets: what the verdict says of each, and what it must not say. They need the machine
//! for themselves, root for most, and take ten minutes: `cargo xtask long` carries them out.
use crate::lab::{Ended, FATHOM, Lab, has, is_alone, is_root, skip};
use std::process::{Command, Stdio};

/// A situation. Scripts are of `sh`, in the folder of the lab; `@T` in a job is what `setup` has written into `target`.
struct Situation {
    truth: &'static str,
    setup: &'static str,
    job: &'static str,
    /// What goes on beside it; `$P` is the process of Fathom.
    meanwhile: &'static str,
    /// A shell command that runs first, in the process that becomes Fathom.
    within: &'static str,
    /// Undoes what `setup` did outside of the folder.
    after: &'static str,
    options: &'static [&'static str],
    /// Words that may lead.
    words: &'static [&'static str],
    says: &'static [&'static str],
    never: &'static [&'static str],
}

/// A file of 64 MiB of data that are on the storage, and what `setup` does beside.
macro_rules! filled {
    ($more:literal) => {
        concat!("dd if=/dev/urandom of=disk bs=1M count=64 conv=fsync status=none; echo disk > target; ", $more)
    };
}

/// A file on a file system in memory.
macro_rules! in_memory {
    ($kind:literal) => {
        concat!(
            "mkdir m; mount -t ",
            $kind,
            " fathom-test m; dd if=/dev/urandom of=m/disk bs=1M count=64 status=none; echo m/disk > target"
        )
    };
}

/// A file that a server of nbdkit answers for, through FUSE.
macro_rules! served {
    ($plugin:literal) => {
        concat!(
            "mkdir f; touch f/disk; nbdfuse f/disk --command nbdkit -s ",
            $plugin,
            " > /dev/null 2>&1 & echo $! > server; sleep 1; echo f/disk > target"
        )
    };
}

/// A control group with a limit on the disk below the folder.
macro_rules! limited {
    ($limit:literal, $file:literal) => {
        concat!(
            filled!("mkdir -p /sys/fs/cgroup/blkio/fathom-test; "),
            "echo $(stat -c %Hd:%Ld disk) ",
            $limit,
            " > /sys/fs/cgroup/blkio/fathom-test/",
            $file
        )
    };
}

/// A job of twelve seconds on the target.
macro_rules! job {
    ($more:literal) => {
        concat!(
            "[a]\nfilename=@T\nsize=64m\nbs=4k\nioengine=io_uring\niodepth=4\nruntime=12\ntime_based\n",
            $more
        )
    };
}

const PLAIN: Situation = Situation {
    truth: "",
    setup: filled!(""),
    job: "",
    meanwhile: "",
    within: "",
    after: "",
    options: &[],
    words: STEADY,
    says: &[],
    never: &[
        "cannot be believed: the devices",
        "in memory",
        "stood still",
    ],
};

/// Where nothing is wrong on a disk that others may use as well.
const STEADY: &[&str] = &[
    "closed loop",
    "storage-bound",
    "unsteady",
    "changed",
    "clean",
];

const MOUNT: &str = "mkdir -p m l u w; dd if=/dev/urandom of=l/disk bs=1M count=64 conv=fsync status=none; mount -t overlay fathom-test -o lowerdir=l,upperdir=u,workdir=w m; echo m/disk > target";
const UNMOUNT: &str = "umount -l m";
const LOOPED: &str = "dd if=/dev/urandom of=image bs=1M count=64 conv=fsync status=none; cat image > /dev/null; losetup -f --show image > target";
const UNLOOP: &str = "losetup -d $(cat target)";
const UNFUSE: &str = "pkill -CONT -P $(cat server) ; kill -CONT $(cat server); fusermount3 -uz f/disk; kill $(cat server)";
const UNGROUP: &str = "sleep 0.2; rmdir /sys/fs/cgroup/blkio/fathom-test";
const IN_GROUP: &str = "echo $$ > /sys/fs/cgroup/blkio/fathom-test/cgroup.procs;";

const SITUATIONS: &[Situation] = &[
    Situation {
        truth: "direct reads of a disk",
        job: job!("rw=randread\ndirect=1\n"),
        never: &[
            "Not checked",
            "memory answered",
            "cannot be believed: the devices",
        ],
        ..PLAIN
    },
    Situation {
        truth: "direct writes of a disk",
        job: job!("rw=randwrite\ndirect=1\n"),
        never: &["Not checked", "memory took"],
        ..PLAIN
    },
    Situation {
        truth: "reads that the page cache answers",
        setup: filled!("cat disk > /dev/null"),
        job: job!("rw=randread\ninvalidate=0\n"),
        words: &["cache-suspect"],
        says: &["memory answered for the rest"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "the same beside a program that reads the disk",
        setup: filled!(
            "dd if=/dev/urandom of=other bs=1M count=256 conv=fsync status=none; cat disk > /dev/null"
        ),
        job: job!("rw=randread\ninvalidate=0\nrate_iops=2000\n"),
        meanwhile: "while kill -0 $P; do dd if=other of=/dev/null bs=1M iflag=direct; done",
        words: &["cache-suspect"],
        says: &["memory answered for the rest"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "buffered writes, as most jobs begin",
        setup: "echo disk > target",
        job: "[first]\nfilename=@T\nrw=randwrite\nsize=256m\n",
        words: &["cache-suspect"],
        says: &["memory took the rest"],
        never: &["can be believed: all"],
        ..PLAIN
    },
    Situation {
        truth: "buffered writes beside a program that writes the disk",
        job: job!("rw=randwrite\nrate_iops=1500\n"),
        meanwhile: "while kill -0 $P; do dd if=/dev/zero of=other bs=1M count=64 oflag=direct; done",
        words: &[
            "not checked",
            "generator-bound",
            "shared",
            "unsteady",
            "changed",
            "stalled",
        ],
        says: &[],
        never: &["It can be believed", "Credible"],
        ..PLAIN
    },
    Situation {
        truth: "buffered writes with a sync after each",
        job: job!("rw=randwrite\nfsync=1\n"),
        says: &["syncs/s with p50 "],
        never: &["memory took", "Not checked"],
        ..PLAIN
    },
    Situation {
        truth: "writes with O_SYNC",
        job: job!("rw=randwrite\nsync=1\n"),
        never: &["memory took", "Not checked"],
        ..PLAIN
    },
    Situation {
        truth: "data syncs after each eighth write",
        job: job!("rw=randwrite\nfdatasync=8\n"),
        says: &["syncs/s with p50 "],
        never: &["memory took", "stood still"],
        ..PLAIN
    },
    Situation {
        truth: "a file that is written once and synced at the end",
        setup: "echo disk > target",
        job: "[a]\nfilename=@T\nsize=512m\nbs=1m\nrw=write\nend_fsync=1\n",
        words: &["not checked", "too few samples", "closed loop"],
        says: &["one sync of "],
        never: &["memory took", "stood still", "stalled"],
        ..PLAIN
    },
    Situation {
        truth: "a file that is synced when it is closed",
        setup: "echo disk > target",
        job: "[a]\nfilename=@T\nsize=512m\nbs=1m\nrw=write\nfsync_on_close=1\n",
        words: &["not checked", "too few samples", "closed loop"],
        says: &["one sync of "],
        never: &["memory took", "stood still", "stalled"],
        ..PLAIN
    },
    Situation {
        truth: "a file in memory, opened for direct I/O",
        setup: in_memory!("tmpfs"),
        after: UNMOUNT,
        job: job!("rw=randread\ndirect=1\n"),
        words: &["cache-suspect"],
        says: &["is in memory"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "writes of a file in memory with O_SYNC",
        setup: in_memory!("tmpfs"),
        after: UNMOUNT,
        job: job!("rw=randwrite\nsync=1\n"),
        words: &["cache-suspect"],
        says: &["is in memory"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a file on ramfs",
        setup: in_memory!("ramfs"),
        after: UNMOUNT,
        job: job!("rw=randread\n"),
        words: &["cache-suspect"],
        says: &["is in memory"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "cached reads on an overlay, as in a container",
        setup: MOUNT,
        after: UNMOUNT,
        job: job!("rw=randread\ninvalidate=0\n"),
        words: &["cache-suspect"],
        says: &["memory answered for the rest"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "direct reads on an overlay",
        setup: MOUNT,
        after: UNMOUNT,
        job: job!("rw=randread\ndirect=1\n"),
        never: &["Not checked", "memory answered"],
        ..PLAIN
    },
    Situation {
        truth: "buffered writes on an overlay",
        setup: MOUNT,
        after: UNMOUNT,
        job: job!("rw=randwrite\n"),
        words: &["not checked", "unsteady"],
        says: &["are buffered, and nothing tells when they reach its storage"],
        never: &["can be believed"],
        ..PLAIN
    },
    Situation {
        truth: "a loop device over a file in the page cache",
        setup: LOOPED,
        after: UNLOOP,
        job: job!("rw=randread\ndirect=1\n"),
        words: &["cache-suspect"],
        says: &["the page cache below"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a loop device that reads past the page cache",
        setup: "dd if=/dev/urandom of=image bs=1M count=64 conv=fsync status=none; losetup -f --show --direct-io=on image > target",
        after: UNLOOP,
        job: job!("rw=randread\ndirect=1\n"),
        never: &["Not checked", "page cache below"],
        ..PLAIN
    },
    Situation {
        truth: "a loop device over memory",
        setup: "mkdir m; mount -t tmpfs fathom-test m; dd if=/dev/urandom of=m/image bs=1M count=64 status=none; losetup -f --show m/image > target",
        after: "losetup -d $(cat target); umount -l m",
        job: job!("rw=randread\ndirect=1\n"),
        words: &["cache-suspect"],
        says: &["is in memory"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a file with holes",
        setup: "truncate -s 64m disk; echo disk > target",
        job: job!("rw=randread\ndirect=1\n"),
        words: &["sparse"],
        says: &["was never written (holes)"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a file that was allocated and never written",
        setup: "fallocate -l 64m disk; echo disk > target",
        job: job!("rw=randread\ndirect=1\n"),
        words: &["sparse"],
        says: &["was never written"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a file into which zeros were written",
        setup: "dd if=/dev/zero of=disk bs=1M count=64 conv=fsync status=none; echo disk > target",
        job: job!("rw=randread\ndirect=1\n"),
        words: &["zeros"],
        says: &["returned zeros: compressing or thin storage may skip the medium"],
        never: &["holes"],
        ..PLAIN
    },
    Situation {
        truth: "nothing that does I/O",
        job: job!("rw=randread\n"),
        options: &["--backend", "null"],
        words: &["generator-bound"],
        says: &["nothing that stores data was reached"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a model of storage",
        job: job!("rw=randread\n"),
        options: &["--backend", "sim"],
        words: &["generator-bound"],
        says: &["the storage was simulated"],
        never: &["can be believed:"],
        ..PLAIN
    },
    Situation {
        truth: "Fathom stopped for four seconds, at a rate",
        job: job!("rw=randread\ndirect=1\nrate_iops=200\n"),
        meanwhile: "sleep 4; kill -STOP $P; sleep 4; kill -CONT $P",
        words: &["generator-bound"],
        says: &["Fathom itself stood still for 4"],
        never: &["I/O to", "the device held"],
        ..PLAIN
    },
    Situation {
        truth: "Fathom stopped for four seconds, flat out",
        job: job!("rw=randread\ndirect=1\n"),
        meanwhile: "sleep 4; kill -STOP $P; sleep 4; kill -CONT $P",
        words: &["generator-bound"],
        says: &["Fathom itself stood still for 4"],
        never: &["I/O to"],
        ..PLAIN
    },
    Situation {
        truth: "Fathom stopped for four seconds, with plain calls",
        job: "[a]\nfilename=@T\nsize=64m\nbs=4k\nioengine=psync\nrw=randread\ndirect=1\nruntime=12\ntime_based\n",
        meanwhile: "sleep 4; kill -STOP $P; sleep 4; kill -CONT $P",
        words: &["generator-bound"],
        says: &["Fathom itself stood still for 4"],
        never: &["I/O to"],
        ..PLAIN
    },
    Situation {
        truth: "a server that stands still for three seconds",
        setup: served!("random 16M rdelay=1ms --filter=delay"),
        after: UNFUSE,
        job: "[a]\nfilename=@T\nsize=16m\nbs=4k\nioengine=psync\nrw=randread\ndirect=1\nrate_iops=50\nruntime=12\ntime_based\n",
        meanwhile: "sleep 4; kill -STOP $(cat server); sleep 3; kill -CONT $(cat server)",
        words: &["stalled"],
        says: &["stood still for "],
        never: &["Fathom itself", "other programs"],
        ..PLAIN
    },
    Situation {
        truth: "a FUSE server that answers after a millisecond",
        setup: served!("random 16M rdelay=1ms --filter=delay"),
        after: UNFUSE,
        job: "[a]\nfilename=@T\nsize=16m\nbs=4k\nioengine=psync\nrw=randread\ndirect=1\nruntime=12\ntime_based\n",
        words: &["not checked", "unsteady", "changed"],
        says: &["does not tell what reached the storage"],
        never: &["can be believed"],
        ..PLAIN
    },
    Situation {
        truth: "a FUSE server that fails one read in ten",
        setup: served!("random 16M --filter=error error-pread=EIO error-pread-rate=10%"),
        after: UNFUSE,
        job: "[a]\nfilename=@T\nsize=16m\nbs=4k\nioengine=psync\nrw=randread\ndirect=1\nruntime=12\ntime_based\ncontinue_on_error=all\nrate_iops=200\n",
        words: &["errors"],
        says: &["EIO (Input/output error), first after "],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "native AIO through the page cache of a server that takes eight milliseconds",
        setup: served!("random 16M rdelay=8ms --filter=delay"),
        after: UNFUSE,
        job: "[a]\nfilename=@T\nsize=16m\nbs=4k\nioengine=libaio\niodepth=16\nrw=randread\ninvalidate=0\nrandom_distribution=random\nruntime=12\ntime_based\nrate_iops=60\n",
        words: &["submission blocks"],
        says: &["submitting calls waited for "],
        never: &["other programs"],
        ..PLAIN
    },
    Situation {
        truth: "two threads for a rate that takes eight",
        setup: served!("random 16M rdelay=20ms --filter=delay"),
        after: UNFUSE,
        job: "[a]\nfilename=@T\nsize=16m\nbs=4k\nioengine=psync\nnumjobs=2\nrw=randread\ndirect=1\nrate_iops=200\nruntime=12\ntime_based\n",
        words: &["depth-bound"],
        says: &[],
        never: &["other programs", "stood still"],
        ..PLAIN
    },
    Situation {
        truth: "a rate beside eight busy programs on the CPUs",
        job: job!("rw=randread\ndirect=1\nrate_iops=2000\n"),
        meanwhile: "for n in 1 2 3 4 5 6 7 8; do (while kill -0 $P; do :; done) & done; wait",
        words: &["generator-bound"],
        says: &["other programs used "],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a rate on an idle machine",
        job: job!("rw=randread\ndirect=1\nrate_iops=200\n"),
        words: &["clean", "generator-bound", "unsteady", "changed"],
        never: &["other programs", "stood still"],
        ..PLAIN
    },
    Situation {
        truth: "a control group that may use a tenth of a CPU",
        setup: filled!(
            "G=/sys/fs/cgroup/cpu/fathom-test; mkdir -p $G; echo 100000 > $G/cpu.cfs_period_us; echo 10000 > $G/cpu.cfs_quota_us"
        ),
        within: "echo $$ > /sys/fs/cgroup/cpu/fathom-test/cgroup.procs;",
        after: "sleep 0.2; rmdir /sys/fs/cgroup/cpu/fathom-test",
        job: job!("rw=randread\ndirect=1\n"),
        words: &["generator-bound"],
        says: &["the control group was throttled"],
        never: &["other programs"],
        ..PLAIN
    },
    Situation {
        truth: "a control group that may read 500 times a second",
        setup: limited!("500", "blkio.throttle.read_iops_device"),
        within: IN_GROUP,
        after: UNGROUP,
        job: job!("rw=randread\ndirect=1\n"),
        words: &["capped", "unsteady", "changed"],
        says: &["the control group limits"],
        never: &["can be believed: 4 slots"],
        ..PLAIN
    },
    Situation {
        truth: "a control group that may write 4 MB a second",
        setup: limited!("4000000", "blkio.throttle.write_bps_device"),
        within: IN_GROUP,
        after: UNGROUP,
        job: job!("rw=randwrite\ndirect=1\n"),
        words: &["capped", "unsteady", "changed"],
        says: &["the control group limits"],
        never: &[],
        ..PLAIN
    },
    Situation {
        truth: "a limit that falls from 3000 to 300 reads a second after six seconds",
        setup: limited!("3000", "blkio.throttle.read_iops_device"),
        within: IN_GROUP,
        after: UNGROUP,
        meanwhile: "sleep 6; echo $(stat -c %Hd:%Ld disk) 300 > /sys/fs/cgroup/blkio/fathom-test/blkio.throttle.read_iops_device",
        job: job!("rw=randread\ndirect=1\n"),
        words: &["changed"],
        says: &["fell by"],
        never: &["stood still"],
        ..PLAIN
    },
    Situation {
        truth: "a rate above the limit of the control group",
        setup: limited!("300", "blkio.throttle.read_iops_device"),
        within: IN_GROUP,
        after: UNGROUP,
        job: job!("rw=randread\ndirect=1\nrate_iops=600\n"),
        words: &["depth-bound", "unstable", "rate missed"],
        says: &["the control group limits"],
        never: &["other programs"],
        ..PLAIN
    },
    Situation {
        truth: "a second user of the disk",
        setup: filled!("dd if=/dev/urandom of=other bs=1M count=256 conv=fsync status=none"),
        job: job!("rw=randread\ndirect=1\nrate_iops=100\n"),
        meanwhile: "while kill -0 $P; do dd if=other of=/dev/null bs=1M iflag=direct; done",
        words: &["shared", "generator-bound", "unsteady", "changed"],
        says: &["something else uses the storage"],
        never: &["can be believed: all"],
        ..PLAIN
    },
    Situation {
        truth: "four seconds in intervals of half a second, too few to tell a change",
        job: "[a]\nfilename=@T\nsize=64m\nbs=4k\nioengine=io_uring\niodepth=4\nrw=randread\ndirect=1\nruntime=4\ntime_based\n",
        words: &["not checked"],
        says: &["whether rate and latency were steady (8 intervals of the 10 that it takes)"],
        never: &["can be believed"],
        ..PLAIN
    },
    Situation {
        truth: "five reads a second",
        job: job!("rw=randread\ndirect=1\nrate_iops=5\n"),
        words: &["too few samples", "generator-bound"],
        says: &["p99 rests on "],
        never: &["all checks passed"],
        ..PLAIN
    },
    Situation {
        truth: "a cached job beside a direct one",
        setup: filled!(
            "dd if=/dev/urandom of=other bs=1M count=64 conv=fsync status=none; cat other > /dev/null"
        ),
        job: "[global]\nsize=64m\nbs=4k\nioengine=io_uring\niodepth=2\nrw=randread\nruntime=12\ntime_based\n[point]\nfilename=disk\ndirect=1\n[scan]\nfilename=other\ninvalidate=0\n",
        words: &["cache-suspect"],
        says: &["`scan`: the devices moved"],
        never: &["`point`: the devices"],
        ..PLAIN
    },
    Situation {
        truth: "jobs that differ: a log with syncs and a scan",
        job: "[global]\nbs=4k\nruntime=12\ntime_based\n[log]\nfilename=log\nsize=16m\nrw=write\nsync=1\n[scan]\nfilename=disk\nsize=64m\nrw=randread\ndirect=1\n",
        says: &["slowest job `log`: "],
        never: &["memory"],
        ..PLAIN
    },
];

/// What a situation left.
struct Told {
    word: String,
    text: String,
    /// All words of the run, and all texts of the page.
    marks: Vec<String>,
    page: String,
    ended: Ended,
}

/// Runs a script in the folder of the lab.
fn script(lab: &Lab, text: &str) {
    let mut command = lab.command("sh");
    let command = command.args(["-c", text]).stdin(Stdio::null());
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("`sh` is there");
}

/// Undoes a situation, however it ends.
struct After<'a>(&'a Lab, &'static str);

impl Drop for After<'_> {
    fn drop(&mut self) {
        if !self.1.is_empty() {
            script(self.0, self.1);
        }
    }
}

fn told(lab: &Lab, situation: &Situation) -> Told {
    let _after = After(lab, situation.after);
    script(lab, situation.setup);
    let target = lab.text("target");
    lab.write("job.fio", situation.job.replace("@T", target.trim()));
    let within = situation.within;
    let options = situation.options.join(" ");
    let line = format!(
        "{within} exec {FATHOM} run job.fio -o out --overwrite {} {options}",
        target.trim()
    );
    let mut command = lab.command("sh");
    command.args(["-c", &line]);
    let going = crate::lab::Going::of(command);
    let meanwhile = format!("P={}; {}", going.id(), situation.meanwhile);
    let mut beside = beside(lab, &meanwhile);
    let ended = going.end();
    let _ = beside.kill();
    let _ = beside.wait();
    let json = lab.text_if_there("out/summary.json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    let of = |key: &str| json["verdict"][key].as_str().unwrap_or_default().to_owned();
    let marks = json["runs"][0]["marks"].as_array();
    let marks = marks.into_iter().flatten().filter_map(|mark| mark.as_str());
    let page = lab.text_if_there("out/report.html");
    Told {
        word: of("word"),
        text: of("text"),
        marks: marks.map(str::to_owned).collect(),
        page: plain(page.split("<script").next().unwrap_or_default()),
        ended,
    }
}

/// Text without markup.
fn plain(html: &str) -> String {
    let parts = html
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text: String = parts.collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Situation {
    /// What a hypervisor takes is as true as what the situation is about, and leads: the rest is looked for in the page.
    fn is_false(&self, told: &Told) -> bool {
        let is_word = |word: &str| self.words.contains(&word);
        let is_taken = told.text.contains("the hypervisor took");
        let has_word = told.marks.iter().any(|mark| is_word(mark));
        let is_right = is_word(&told.word)
            || (is_taken && (has_word || self.words.iter().any(|word| STEADY.contains(word))));
        !is_right || self.never.iter().any(|text| told.text.contains(text))
    }

    /// What a busy machine does may lead the sentence, and a disk that others use as well; the page then has the rest.
    fn is_missed(&self, told: &Told) -> bool {
        let of_machine = ["the hypervisor took", "wake-ups of this machine are late"];
        let is_of_machine =
            told.word == "unsteady" || of_machine.iter().any(|text| told.text.contains(text));
        let plain = |text: &str| text.replace('`', "");
        let is_said = |text: &&str| {
            told.text.contains(*text) || (is_of_machine && told.page.contains(&plain(text)))
        };
        !self.says.iter().all(is_said)
    }
}

fn beside(lab: &Lab, text: &str) -> std::process::Child {
    let mut command: Command = lab.command("sh");
    let command = command.args(["-c", text]).stdin(Stdio::null());
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("`sh` is there")
}

#[test]
fn each_situation_is_told_as_it_is() {
    if !is_alone() || !is_root() {
        return skip("needs the machine for itself, and root: `cargo xtask long`");
    }
    if !(has("nbdfuse") && has("nbdkit") && has("losetup")) {
        return skip("`nbdfuse`, `nbdkit` or `losetup` is missing");
    }
    let (mut wrong, mut missed) = (Vec::new(), Vec::new());
    for situation in SITUATIONS {
        let lab = Lab::new();
        let told = told(&lab, situation);
        let truth = situation.truth;
        let (is_false, is_missed) = (situation.is_false(&told), situation.is_missed(&told));
        let verdict = match (is_false, is_missed) {
            (true, _) => "WRONG",
            (false, true) => "MISSED",
            (false, false) => "right",
        };
        println!("{verdict}: {truth}: {}", told.text);
        if told.text.is_empty() {
            println!("{}", told.ended);
        }
        match (is_false, is_missed) {
            (true, _) => wrong.push(truth),
            (false, true) => missed.push(truth),
            (false, false) => {}
        }
    }
    assert!(SITUATIONS.len() >= 40);
    assert!(
        wrong.is_empty() && missed.len() <= 2,
        "wrong: {wrong:#?}\nmissed: {missed:#?}"
    );
}
