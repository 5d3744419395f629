//! Every parameter of the language, per section in the order in which abbreviations are tried
//! (release 5.04.06; what only 5.04.07 knows comes last).
use super::declare::{Kind, Parameter, Status};
use super::value::SECONDS_MAX;
use crate::parameter::DefaultValue;

use DefaultValue::{
    Bytes, Computed, Decimal, Decimals, FromTarget, Inherited, Nothing, Number, On, Percent,
    SameAs, Text, Word,
};
use Status::{CheckOnly, Honoured, Refused, Translated};

const fn number(min: f64, max: f64) -> Kind {
    Kind::List {
        is_time: false,
        least: 1,
        most: 1,
        min,
        max,
    }
}

const fn some_numbers(least: usize, most: usize, min: f64) -> Kind {
    Kind::List {
        is_time: false,
        least,
        most,
        min,
        max: f64::INFINITY,
    }
}

const fn list(min: f64, max: f64) -> Kind {
    Kind::List {
        is_time: false,
        least: 1,
        most: usize::MAX,
        min,
        max,
    }
}

const fn seconds(min: f64) -> Kind {
    Kind::List {
        is_time: true,
        least: 1,
        most: 1,
        min,
        max: SECONDS_MAX as f64,
    }
}

/// More than a kernel keeps in flight; sums over all storage stay within 32 bits.
const COUNT_MAX: f64 = (1 << 18) as f64;

const ANY: f64 = f64::NEG_INFINITY;
const UNBOUNDED: f64 = f64::INFINITY;

const fn p(
    names: &'static [&'static str],
    kind: Kind,
    default: DefaultValue,
    status: Status,
    doc: &'static str,
) -> Parameter {
    Parameter::new(names, kind, default, status, doc)
}

const MESSAGES: Status = Translated("kernel messages are not copied into the report");
const BY_SSH: Status = Translated("hosts are reached by `ssh`, and need no installation");
const SUN: Status = Refused("a facility of Solaris");
const SHELL: Kind = Kind::Words(&["rsh", "ssh", "vdbench"]);
const COMMAND: Kind = Kind::Form("(\"command\",…) with `cons`, `sum`, `log`, `master`, `slave`");

const DEDUP_RATIO: Parameter = p(
    &["dedupratio"],
    number(1.0, UNBOUNDED),
    Decimal(1.0),
    Honoured,
    "blocks written ÷ blocks that are unique or first of their set",
);
const DEDUP_UNIT: Parameter = p(
    &["dedupunit"],
    number(512.0, UNBOUNDED),
    Nothing,
    Honoured,
    "size of a duplicate block in bytes, a multiple of 512",
);
const DEDUP_SETS: Parameter = p(
    &["dedupsets"],
    number(ANY, UNBOUNDED),
    Percent(5.0),
    Honoured,
    "number of sets of equal blocks, or their share of all blocks",
);
const DEDUP_HOT_SETS: Parameter = p(
    &["deduphotsets"],
    some_numbers(2, usize::MAX, 1.0),
    Nothing,
    Honoured,
    "(sets,blocks,…): small sets at the start of the range",
);
const DEDUP_FLIP_FLOP: Parameter = p(
    &["dedupflipflop"],
    Kind::Words(&["yes", "no", "hotsets"]),
    Word("no"),
    Honoured,
    "whether a rewritten duplicate changes its content",
);
const DEDUP_ACROSS: Parameter = p(
    &["dedupacross"],
    Kind::YesNo,
    On(true),
    Honoured,
    "whether duplicates are shared between storage definitions",
);

pub(crate) static GENERAL: &[Parameter] = &[
    p(&["compression"], number(0.0, 100.0), Nothing, Honoured, "percent that remains after compression; older form of `compratio`").inert(&["100"]).exact(),
    p(&["compratio"], number(1.0, 25.0), Decimal(1.0), Honoured, "size of written data ÷ its size after compression").inert(&["1", "1.0"]),
    p(&["compressionseed"], Kind::Form("number or `tod`"), Number(0), Honoured, "seed of the generated data; `tod` is another one each time").inert(&["0"]),
    DEDUP_RATIO.exact(),
    DEDUP_UNIT.exact(),
    DEDUP_SETS.exact(),
    DEDUP_HOT_SETS.exact(),
    DEDUP_FLIP_FLOP.exact(),
    DEDUP_ACROSS.exact(),
    p(&["dedupmaxkey"], number(1.0, UNBOUNDED), Decimal(2.0), Translated("a duplicate alternates between two contents"), "how many contents a rewritten duplicate alternates between").exact(),
    p(&["port"], number(1.0, 65535.0), Decimal(5570.0), Translated("no port is opened on one host"), "port of the master"),
    p(&["pattern"], Kind::Text, Nothing, Honoured, "file whose content is written over and over"),
    p(&["data_errors", "dataerrors"], Kind::Form("n · (n,seconds) · `stop` · `remove_device` · \"command\""), Number(50), Honoured, "failed I/Os that end the execution; seconds after the last one that do; end at the first; go on without the storage that failed; a command for the first, with `$output`, `$lun`, `$lba` and `$size`"),
    p(&["swat"], Kind::Texts, Nothing, Refused("the original refuses it too"), "link to another tool"),
    p(&["validate"], Kind::Words(&["yes", "no", "read_after_write", "no_preread", "time", "ignore_zero_reads", "reportdedupsets", "continue_old_map"]), Word("no"), CheckOnly, "check what is read against what was written").inert(&["no"]),
    p(&["journal"], Kind::Form("list of `yes`, `no`, `recover`, `noflush`, `maponly`, `only`, `skip_read_all`, `ignore_pending`, `max=size`"), Text("no"), CheckOnly, "keep the state of validation across crashes").inert(&["no"]).exact(),
    p(&["startcmd", "start_cmd"], COMMAND, Nothing, Honoured, "commands before the first run; they run where the job was started, with `slave` on each host").exact(),
    p(&["endcmd", "end_cmd"], COMMAND, Nothing, Honoured, "commands after the last run, or the one that failed; they run where those of `startcmd` do").exact(),
    p(&["heartbeat_error"], Kind::Texts, Nothing, Translated("there is no heartbeat within one process"), "command for a lost heartbeat").exact(),
    p(&["debug"], list(0.0, UNBOUNDED), Nothing, Translated("switches of the original's own code have no effect"), "internal switches").exact(),
    p(&["unix2windows"], Kind::Texts, Nothing, Refused("there are no Windows hosts"), "path translation"),
    p(&["formatxfersize"], number(512.0, UNBOUNDED), Bytes(128 << 10), Honoured, "transfer size when a file is made or extended"),
    p(&["create_anchors"], Kind::YesNo, On(false), Translated("matters for file-system workloads only"), "make missing parent directories of anchors"),
    p(&["formatsds"], Kind::Words(&["yes", "no"]), Nothing, Honoured, "`yes` writes every storage definition whole before the first run, `no` never makes or extends files"),
    p(&["report"], Kind::Words(&["host_detail", "slave_detail", "no_sd_detail", "no_fsd_detail"]), Nothing, Honoured, "pages of each storage definition for each host or slave, or none of storage definitions; `no_fsd_detail` is for file systems"),
    p(&["report_run_totals"], Kind::YesNo, On(false), Translated("totals of every run are always reported"), "running totals"),
    p(&["histogram"], Kind::Texts, Nothing, Translated("histograms are recorded finer than any list of buckets; reports keep their own"), "buckets of the printed histogram"),
    p(&["psrset"], Kind::Texts, Nothing, SUN, "processor set"),
    p(&["auxreport"], Kind::Texts, Nothing, Refused("it calls a class of Java, and there is none here; a program of `startcmd` can write counters of its own, `summary.csv` and the result file hold those of the job"), "columns from a class of the user"),
    p(&["monitor"], Kind::Text, Nothing, Honoured, "file that ends a run (`shutdown`, `end_rd`) or everything (`terminate`, `end_vdbench`) when its first line says so"),
    p(&["concatenatesds"], Kind::YesNo, On(false), Honoured, "the storage definitions of each workload form one address space, in their order; threads then belong to the run or to its workloads"),
    p(&["messagescan"], Kind::Form("`yes`, `no`, `nodisplay` or number"), Text("yes"), MESSAGES, "look for kernel messages"),
    p(&["abort_failed_skew"], number(0.0, 100.0), Nothing, Honoured, "ends everything after a run at a given rate in which the share of a workload is off by more than this, in percent of all I/O"),
    p(&["misc"], Kind::Texts, Nothing, Translated("options of the original's own processes have no effect"), "options for the original's processes"),
    p(&["pattern_buffer"], number(1.0, UNBOUNDED), Decimal(1.0), Translated("it is the period of a `pattern`; other data are generated, not cut from a buffer"), "size of the data buffer, MiB").exact(),
    p(&["showlba"], Kind::YesNo, On(false), Honoured, "lists each I/O that succeeded in `<slave>.showlba.txt` in the output folder: storage, workload, 1 for a read, address, ms since the first run began").exact(),
    p(&["loop"], Kind::Form("n, ns, nm or nh"), Text("1"), Honoured, "repeat all runs, so often or until this time has passed; making files is not repeated").exact(),
    p(&["ios_per_jvm"], number(1.0, UNBOUNDED), Decimal(100000.0), Translated("one process serves all rates"), "rate above which processes are added (5.04.07)"),
    p(&["fwd_thread_adjust"], Kind::YesNo, On(true), Translated("matters for file-system workloads only"), "whether thread counts of file workloads may be raised (5.04.07)"),
    p(&["timeout"], Kind::Form("(seconds,\"command\")"), Nothing, Honoured, "once an I/O has not returned for this long, runs the command, with `$output`, `$lun`, `$lba` and `$size`, and ends everything (5.04.07)"),
];

const MOUNT: Status = Refused(
    "what may be overwritten is settled before any command of a job is run, and a mount would change what was looked at; mount it first",
);

pub(crate) static HOST: &[Parameter] = &[
    p(
        &["hd", "host"],
        Kind::Name,
        Nothing,
        Honoured,
        "label of the host; `default` sets defaults",
    )
    .exact(),
    p(
        &["system"],
        Kind::Text,
        Computed("the label"),
        Honoured,
        "name or address, as `ssh` knows it",
    ),
    p(
        &["vdbench"],
        Kind::Text,
        Nothing,
        BY_SSH,
        "where the program is installed there",
    ),
    p(
        &["shell"],
        SHELL,
        Word("rsh"),
        BY_SSH,
        "how the host is reached",
    ),
    p(&["user"], Kind::Text, Nothing, Honoured, "login there"),
    p(
        &["jvms"],
        number(1.0, 1000.0),
        Decimal(1.0),
        Honoured,
        "processes on the host, as which reports show its one",
    ),
    p(
        &["clients"],
        number(1.0, 1000.0),
        Decimal(1.0),
        Honoured,
        "the host counts as this many hosts in reports",
    ),
    p(
        &["mount"],
        Kind::Text,
        Nothing,
        MOUNT,
        "mount command run there",
    ),
    p(
        &["master"],
        Kind::Text,
        Nothing,
        BY_SSH,
        "address at which the master is reached (5.04.07)",
    ),
];

pub(crate) static REPLAY_GROUP: &[Parameter] = &[
    p(&["rg"], Kind::Name, Nothing, CheckOnly, "name of the group").exact(),
    p(
        &["devices"],
        list(0.0, UNBOUNDED),
        Nothing,
        CheckOnly,
        "device numbers of the trace",
    ),
];

pub(crate) static STORAGE: &[Parameter] = &[
    p(
        &["sd"],
        Kind::Name,
        Nothing,
        Honoured,
        "name; `default` sets defaults",
    )
    .exact(),
    p(
        &["host", "hd"],
        Kind::Texts,
        Computed("all hosts"),
        Honoured,
        "hosts that use it, each with a `lun` of its own where there are several",
    ),
    p(&["lun"], Kind::Text, Nothing, Honoured, "device or file"),
    p(
        &["count"],
        some_numbers(2, 2, ANY),
        Nothing,
        Honoured,
        "(start,n): n definitions with numbered names and paths",
    ),
    p(
        &["size"],
        some_numbers(1, 2, 0.0),
        FromTarget,
        Honoured,
        "bytes to use, or (bytes,divisor); a file is made or extended to it",
    ),
    p(
        &["threads"],
        Kind::List {
            is_time: false,
            least: 1,
            most: 2,
            min: 1.0,
            max: COUNT_MAX,
        },
        Decimal(8.0),
        Honoured,
        "I/Os in flight, or (n,divisor), shared by all its workloads",
    ),
    p(
        &["hitarea"],
        number(0.0, UNBOUNDED),
        Bytes(1 << 20),
        Honoured,
        "bytes that `rhpct` and `whpct` revisit",
    ),
    p(
        &["offset"],
        number(0.0, UNBOUNDED),
        Decimal(0.0),
        Honoured,
        "bytes added to each address, a multiple of 512",
    ),
    p(
        &["align"],
        number(0.0, UNBOUNDED),
        SameAs("xfersize"),
        Honoured,
        "random addresses are multiples of this, itself a multiple of 512",
    ),
    p(
        &["kstat"],
        Kind::Texts,
        Nothing,
        SUN,
        "statistics of a device",
    ),
    p(
        &["instance"],
        Kind::Texts,
        Nothing,
        SUN,
        "statistics of a device",
    ),
    p(
        &["replay"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "devices of a trace to replay",
    ),
    p(
        &["journal"],
        Kind::Text,
        Computed("current directory"),
        CheckOnly,
        "where its journal is kept",
    ),
    p(
        &["resetlun"],
        seconds(0.0),
        Decimal(0.0),
        SUN,
        "SCSI resets",
    ),
    p(
        &["resetbus"],
        seconds(0.0),
        Decimal(0.0),
        SUN,
        "SCSI resets",
    ),
    p(
        &["openflags"],
        Kind::Texts,
        Nothing,
        Honoured,
        "`o_direct`, `directio`, `o_sync`, `o_dsync`, `o_rsync`, `fsync`, or bits as 0x…",
    ),
    p(
        &["range"],
        some_numbers(2, 2, ANY),
        Decimals(&[0.0, 100.0]),
        Honoured,
        "part that is used: percent up to 100, bytes above",
    ),
    DEDUP_RATIO,
    DEDUP_UNIT,
    DEDUP_SETS,
    DEDUP_HOT_SETS,
    DEDUP_FLIP_FLOP,
    DEDUP_ACROSS,
    p(
        &["streams"],
        Kind::Texts,
        Nothing,
        Refused("it belongs to a workload definition"),
        "several sequential streams",
    ),
];

pub(crate) static WORKLOAD: &[Parameter] = &[
    p(
        &["wd"],
        Kind::Name,
        Nothing,
        Honoured,
        "name; `default` sets defaults",
    )
    .exact(),
    p(
        &["sd"],
        Kind::Texts,
        Nothing,
        Honoured,
        "storage definitions used: names, lists, ranges, `name*`",
    )
    .exact(),
    p(
        &["skew"],
        number(0.0, 100.0),
        Computed("an equal part of the rest"),
        Honoured,
        "share of the run's load, percent",
    ),
    p(
        &["xfersize"],
        some_numbers(1, usize::MAX, 0.0),
        Bytes(4 << 10),
        Honoured,
        "transfer size: bytes, (bytes,percent,…) or (min,max,step)",
    ),
    p(
        &["rdpct", "readpct"],
        number(0.0, 100.0),
        Decimal(100.0),
        Honoured,
        "share of reads, percent",
    ),
    p(
        &["writepct", "wrpct"],
        number(0.0, 100.0),
        Decimal(0.0),
        Honoured,
        "share of writes, percent",
    ),
    p(
        &["range"],
        some_numbers(2, 2, ANY),
        Inherited("the storage"),
        Honoured,
        "part that is used",
    ),
    p(
        &["hotband"],
        some_numbers(2, 2, ANY),
        Nothing,
        Honoured,
        "part that is used, with hot spots: seeks follow a fixed curve over it",
    ),
    p(
        &["seekpct"],
        Kind::Form("percent · `random` · `seq` · `seqnz` · `eof` · `poisson` · (poisson,midpoint)"),
        Decimal(100.0),
        Honoured,
        "share of I/Os that seek; `seq` never, `eof` never and stops at the end, `seqnz` never and starts at a random block",
    ),
    p(
        &["stride"],
        some_numbers(2, 2, 0.0),
        Nothing,
        Honoured,
        "(min,max): seeks go forward by this many bytes",
    ),
    p(
        &["priority"],
        number(1.0, COUNT_MAX),
        Nothing,
        Honoured,
        "1, 2, 3, … over the workloads of a run: of what waits for a thread of a storage, the lowest number goes first",
    ),
    p(
        &["iorate"],
        some_numbers(1, usize::MAX, 0.0),
        Nothing,
        Honoured,
        "rate of its own, with `priority`: taken out of the rate of the run, of which the other workloads share the rest",
    ),
    p(
        &["rhpct"],
        number(0.0, 100.0),
        Decimal(0.0),
        Honoured,
        "reads that go to the hit area, percent",
    ),
    p(
        &["whpct"],
        number(0.0, 100.0),
        Decimal(0.0),
        Honoured,
        "writes that go to the hit area, percent",
    ),
    p(
        &["host", "hd"],
        Kind::Texts,
        Computed("all hosts"),
        Honoured,
        "hosts that run it",
    ),
    p(
        &["openflags"],
        Kind::Texts,
        Inherited("the storage"),
        Honoured,
        "replaces the open flags of the storage",
    ),
    p(
        &["user"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "a class of the user",
    )
    .exact(),
    p(
        &["threads"],
        number(1.0, COUNT_MAX),
        Nothing,
        Honoured,
        "I/Os in flight; with `concatenatesds` only",
    ),
    p(
        &["streams"],
        number(2.0, COUNT_MAX),
        Nothing,
        Honoured,
        "equal slices with a cursor and an equal part of the threads each; sequential unless `seekpct` is given",
    ),
];

pub(crate) static FILE_SYSTEM: &[Parameter] = &[
    p(
        &["fsd"],
        Kind::Name,
        Nothing,
        CheckOnly,
        "name; `default` sets defaults",
    )
    .exact(),
    p(
        &["anchor"],
        Kind::Text,
        Nothing,
        CheckOnly,
        "directory that holds the tree",
    ),
    p(
        &["journal"],
        Kind::Text,
        Computed("current directory"),
        CheckOnly,
        "where its journal is kept",
    ),
    p(
        &["host"],
        Kind::Texts,
        Nothing,
        Refused("hosts belong to the workload definition, `fwd=`"),
        "hosts",
    ),
    p(
        &["width"],
        number(1.0, UNBOUNDED),
        Decimal(1.0),
        CheckOnly,
        "directories per directory",
    ),
    p(
        &["depth"],
        number(0.0, UNBOUNDED),
        Decimal(1.0),
        CheckOnly,
        "levels of directories",
    ),
    p(
        &["sizes"],
        some_numbers(1, usize::MAX, 0.0),
        Decimal(4096.0),
        CheckOnly,
        "file size: bytes, (bytes,percent,…) or (average,0)",
    ),
    p(
        &["shared"],
        Kind::YesNo,
        On(false),
        CheckOnly,
        "several hosts use one tree",
    ),
    p(
        &["wss", "workingsetsize"],
        some_numbers(1, 2, ANY),
        Nothing,
        CheckOnly,
        "bytes of the tree that are visited",
    ),
    p(
        &["totalsize", "total_size"],
        some_numbers(1, 2, ANY),
        Nothing,
        CheckOnly,
        "bytes after which no more files are made",
    ),
    p(
        &["files"],
        list(ANY, UNBOUNDED),
        Decimal(10.0),
        CheckOnly,
        "files per directory",
    ),
    p(
        &["distribution"],
        Kind::Words(&["bottom", "all"]),
        Word("bottom"),
        CheckOnly,
        "which directories hold files",
    ),
    p(
        &["cleanup"],
        Kind::Texts,
        Nothing,
        Refused("the original refuses it too; use `format=clean`"),
        "remove the tree",
    ),
    p(
        &["openflags"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "how files are opened",
    ),
    p(
        &["log"],
        Kind::YesNo,
        On(false),
        CheckOnly,
        "log of operations",
    )
    .exact(),
    p(
        &["count"],
        some_numbers(2, 2, ANY),
        Nothing,
        CheckOnly,
        "(start,n): n definitions with numbered names and anchors",
    ),
    p(
        &[
            "dedupratio",
            "dedupunit",
            "dedupsets",
            "deduphotsets",
            "dedupflipflop",
            "dedupacross",
        ],
        Kind::Texts,
        Nothing,
        Refused("duplicates are set for all definitions together, as general parameters"),
        "duplicates",
    ),
    p(
        &["mask"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "names of files and directories (5.04.07)",
    ),
];

pub(crate) static FILE_WORKLOAD: &[Parameter] = &[
    p(
        &["fwd"],
        Kind::Name,
        Nothing,
        CheckOnly,
        "name; `default` sets defaults, `format` those of formats",
    )
    .exact(),
    p(
        &["fsd"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "file system definitions used",
    )
    .exact(),
    p(
        &["rdpct", "readpct"],
        number(0.0, 100.0),
        Nothing,
        CheckOnly,
        "share of reads within a file, percent",
    ),
    p(
        &["stopafter"],
        number(ANY, UNBOUNDED),
        Computed("the file size"),
        CheckOnly,
        "blocks, or percent of the file, before the next file",
    ),
    p(
        &["operation"],
        Kind::Texts,
        Text("read"),
        CheckOnly,
        "what is done",
    ),
    p(
        &["fileselect"],
        Kind::Texts,
        Text("sequential"),
        CheckOnly,
        "which file is next",
    ),
    p(
        &["fileio"],
        Kind::Words(&[
            "random",
            "sequential",
            "shared",
            "delete",
            "seqdelete",
            "sequentialnz",
        ]),
        Word("sequential"),
        CheckOnly,
        "order within a file",
    )
    .exact(),
    p(
        &["xfersizes"],
        some_numbers(1, usize::MAX, 0.0),
        Decimal(4096.0),
        CheckOnly,
        "transfer size: bytes or (bytes,percent,…)",
    ),
    p(
        &["skew"],
        number(0.0, 100.0),
        Computed("an equal part of the rest"),
        CheckOnly,
        "share of the run's load, percent",
    ),
    p(
        &["threads"],
        number(1.0, COUNT_MAX),
        Decimal(1.0),
        CheckOnly,
        "operations in flight",
    ),
    p(
        &["target"],
        Kind::Text,
        Nothing,
        CheckOnly,
        "where copies and moves go",
    ),
    p(
        &["host", "hd"],
        Kind::Texts,
        Computed("all hosts"),
        CheckOnly,
        "hosts that run it",
    ),
    p(
        &["openflags"],
        Kind::Texts,
        Inherited("the file system"),
        CheckOnly,
        "how files are opened",
    ),
];

const LOOP: &str = "one value replaces that of the workloads; several repeat the run for each";

const fn swept(names: &'static [&'static str], min: f64, max: f64, status: Status) -> Parameter {
    p(names, list(min, max), Nothing, status, LOOP)
}

pub(crate) static RUN: &[Parameter] = &[
    p(
        &["rd"],
        Kind::Name,
        Nothing,
        Honoured,
        "name; `default` sets defaults",
    )
    .exact(),
    p(
        &["wd"],
        Kind::Texts,
        Nothing,
        Honoured,
        "workloads that run together: names, lists, ranges, `name*`",
    )
    .exact(),
    p(
        &["sd"],
        Kind::Texts,
        Inherited("the workloads"),
        Honoured,
        "replaces the storage of the workloads; `single`, `range`, `setsofN` repeat the run",
    )
    .exact(),
    p(
        &["fsd"],
        Kind::Texts,
        Inherited("the workloads"),
        CheckOnly,
        "replaces the file systems of the workloads",
    )
    .exact(),
    p(
        &["iorate"],
        Kind::Form("numbers, ranges, `max`, `curve` or n%"),
        Nothing,
        Honoured,
        "I/Os per second of the run; with `distribution=variable` (rate,seconds,rate,seconds,…), where n% is a share of the first rate, or of `elapsed`",
    ),
    p(
        &["maxdata"],
        number(ANY, UNBOUNDED),
        Nothing,
        Honoured,
        "ends one interval after this many bytes; up to 100: this many times the storage of the run; n%: this share of it",
    ),
    p(
        &["maxdataread"],
        number(ANY, UNBOUNDED),
        Nothing,
        Honoured,
        "the same as `maxdata`, for bytes read",
    ),
    p(
        &["maxdatawritten"],
        number(ANY, UNBOUNDED),
        Nothing,
        Honoured,
        "the same as `maxdata`, for bytes written",
    ),
    p(
        &["curve"],
        list(0.0, UNBOUNDED),
        Decimals(&[10.0, 50.0, 70.0, 80.0, 90.0, 100.0]),
        Honoured,
        "percentages of the highest rate",
    ),
    p(
        &["stopcurve"],
        number(0.0, UNBOUNDED),
        Nothing,
        Honoured,
        "ends the execution after a point with a longer mean response, ms",
    ),
    p(
        &["elapsed"],
        seconds(0.0),
        Decimal(30.0),
        Honoured,
        "length of the run",
    ),
    p(
        &["interval"],
        seconds(0.0),
        Decimal(1.0),
        Honoured,
        "length of a reporting interval",
    ),
    p(
        &["warmup"],
        seconds(0.0),
        Decimal(0.0),
        Honoured,
        "time before the measured part",
    ),
    p(
        &["replay"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "trace to replay",
    )
    .exact(),
    p(
        &["pause"],
        seconds(0.0),
        Decimal(0.0),
        Honoured,
        "time before the next run",
    ),
    swept(&["xfersize", "forxfersize"], 1.0, UNBOUNDED, Honoured),
    swept(&["threads", "forthreads"], 1.0, COUNT_MAX, Honoured),
    swept(&["rdpct", "forrdpct"], 0.0, 100.0, Honoured),
    swept(&["rhpct", "forrhpct"], 0.0, 100.0, Honoured),
    swept(&["whpct", "forwhpct"], 0.0, 100.0, Honoured),
    p(
        &["seekpct", "forseekpct"],
        Kind::Form("percentages, or one of `random`, `seq`, `seqnz`, `eof`, `poisson`"),
        Nothing,
        Honoured,
        LOOP,
    ),
    swept(&["hitarea", "forhitarea"], 0.0, UNBOUNDED, Honoured),
    swept(&["compratio", "forcompratio"], 1.0, 25.0, Honoured).inert(&["1", "1.0"]),
    swept(&["compression", "forcompression"], 0.0, 100.0, Honoured).inert(&["100"]),
    swept(&["depth", "fordepth"], 0.0, UNBOUNDED, CheckOnly),
    swept(&["width", "forwidth"], 1.0, UNBOUNDED, CheckOnly),
    swept(&["files", "forfiles"], 1.0, UNBOUNDED, CheckOnly),
    swept(&["sizes", "forsizes"], 0.0, UNBOUNDED, CheckOnly),
    swept(&["totalsize", "fortotalsize"], ANY, UNBOUNDED, CheckOnly),
    swept(
        &["wss", "forwss", "forworkingsetsize", "workingsetsize"],
        ANY,
        UNBOUNDED,
        CheckOnly,
    ),
    p(
        &["foroperations"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "repeats the run for each operation",
    ),
    p(
        &["distribution"],
        Kind::Words(&[
            "exponential",
            "uniform",
            "deterministic",
            "variable",
            "spike",
        ]),
        Word("exponential"),
        Honoured,
        "law of the time between I/Os; with `spike` all I/Os of a second come at its start; with `variable` the rate is (rate,seconds,…), over and over from the start of the run",
    ),
    p(
        &["startcmd", "start_cmd"],
        COMMAND,
        Nothing,
        Honoured,
        "commands before each of its runs; they run where the job was started, with `slave` on each host of the run",
    ),
    p(
        &["endcmd", "end_cmd"],
        COMMAND,
        Nothing,
        Honoured,
        "commands after each of its runs; they run where the job was started, with `slave` on each host of the run",
    ),
    p(
        &["fwd"],
        Kind::Texts,
        Nothing,
        CheckOnly,
        "file system workloads that run together",
    )
    .exact(),
    p(
        &["fwdrate"],
        Kind::Form("numbers, ranges, `max` or `curve`"),
        Nothing,
        CheckOnly,
        "operations per second of the run",
    ),
    p(
        &["operations"],
        Kind::Texts,
        Inherited("the workloads"),
        CheckOnly,
        "operations that run together",
    ),
    p(
        &["format"],
        Kind::Words(&[
            "yes",
            "no",
            "restart",
            "only",
            "clean",
            "directories",
            "once",
            "limited",
            "complete",
        ]),
        Word("no"),
        CheckOnly,
        "what becomes of the tree before the run",
    )
    .inert(&["no"]),
    p(
        &["openflags"],
        Kind::Texts,
        Inherited("the workloads"),
        Honoured,
        "replaces all other open flags",
    ),
    p(
        &["mount"],
        Kind::Text,
        Nothing,
        MOUNT,
        "options for the mount command of the hosts",
    ),
];
