//! Every option that all engines know.
use super::declare::{Kind, Parameter};
use crate::Status;
use crate::parameter::{DefaultValue, TimeUnit};

use DefaultValue::{
    Bytes, Computed, Decimal, Decimals, FromTarget, Nanos, Nothing, Number, On, SameAs, Text, Word,
};
use Status::{Honoured, Refused, Translated};

const fn p(
    names: &'static [&'static str],
    kind: Kind,
    default: DefaultValue,
    status: Status,
    doc: &'static str,
) -> Parameter {
    Parameter::new(names, kind, default, status, doc)
}

const fn number(min: i64, max: i64) -> Kind {
    Kind::Number { min, max }
}

const fn at_least(min: i64) -> Kind {
    Kind::Number { min, max: i64::MAX }
}

const fn numbers(min: i64, max: i64) -> Kind {
    Kind::Numbers { min, max }
}

const SECONDS: Kind = Kind::Time(TimeUnit::Seconds);
const MICROSECONDS: Kind = Kind::Time(TimeUnit::Microseconds);
const MANY: i64 = i64::MAX;
/// The number above it means none.
const OWNER_MAX: i64 = u32::MAX as i64 - 1;
const ZONES: Status =
    Refused("zoned block devices are not supported; `zonemode=strided` is not about them");
const PLACEMENT: Status = Refused("placement hints need pass-through commands, which are not sent");
const NEWER: Status = Refused("fio 3.33 does not know it, and nothing here does it");
const OLD_CGROUPS: Status =
    Refused("control groups of version 1; start the command inside a control group instead");
const RECORDED: Status =
    Translated("all latencies are always recorded; what is printed follows the option");
const SAMPLED: Status =
    Translated("one time serves both kinds of samples, the shorter one, from 100 ms to 10 s");

pub(crate) static JOBS: &[Parameter] = &[
    p(
        &["name"],
        Kind::Text,
        Computed("the section"),
        Honoured,
        "name in reports",
    ),
    p(
        &["description"],
        Kind::Text,
        Nothing,
        Honoured,
        "text for reports",
    ),
    p(
        &["numjobs"],
        number(0, 1 << 20),
        Number(1),
        Honoured,
        "clones of the job",
    ),
    p(
        &["thread", "threads"],
        Kind::Flag,
        On(false),
        Translated("workers are always threads"),
        "clones are threads and not processes",
    ),
    p(
        &["group_reporting"],
        Kind::Flag,
        On(false),
        Honoured,
        "one report for clones and jobs of a group",
    ),
    p(
        &["new_group"],
        Kind::Flag,
        On(false),
        Honoured,
        "begins a group for reports without waiting",
    ),
    p(
        &["stonewall", "wait_for_previous"],
        Kind::Flag,
        On(false),
        Honoured,
        "begins when all earlier jobs have ended",
    ),
    p(
        &["wait_for"],
        Kind::Text,
        Nothing,
        Honoured,
        "begins when this earlier job has ended",
    ),
    p(
        &["startdelay"],
        Kind::TimeRange(TimeUnit::Seconds),
        Nanos(0),
        Honoured,
        "waits before it begins; counted from the begin of its group",
    ),
    p(
        &["exitall"],
        Kind::Flag,
        On(false),
        Honoured,
        "the end of one job ends the others",
    )
    .inert(&["0"]),
    p(
        &["exit_what"],
        Kind::Words(&["group", "stonewall", "all"]),
        Word("group"),
        Honoured,
        "which jobs `exitall` ends",
    )
    .part_of("exitall"),
    p(
        &["exitall_on_error"],
        Kind::Flag,
        On(false),
        Honoured,
        "as `exitall`, for jobs that fail",
    ),
    p(
        &["loops"],
        number(0, 1 << 40),
        Number(1),
        Honoured,
        "times that the amount of I/O is done",
    ),
    p(
        &["stats"],
        Kind::Truth,
        On(true),
        Honoured,
        "whether the job is in the report",
    )
    .inert(&["1"]),
    p(
        &["profile"],
        Kind::Words(&["tiobench", "act"]),
        Nothing,
        Refused(
            "in a job file it does nothing in fio 3.33 either; `--profile=NAME` on the command line makes the jobs, and `--showcmd` beside it shows them",
        ),
        "a built-in set of jobs",
    ),
];

pub(crate) static TIME: &[Parameter] = &[
    p(
        &["runtime", "timeout"],
        SECONDS,
        Nanos(0),
        Honoured,
        "longest time; 0 is without limit",
    ),
    p(
        &["time_based"],
        Kind::Flag,
        On(false),
        Honoured,
        "goes on for all of `runtime`, over and over the same range",
    ),
    p(
        &["ramp_time"],
        SECONDS,
        Nanos(0),
        Honoured,
        "time before the measurement",
    ),
    p(
        &["ramp_size"],
        at_least(0),
        Number(0),
        Honoured,
        "bytes of I/O before the measurement, of each clone, or of all together with `group_reporting`; not beside `ramp_time`",
    ),
    p(
        &["clocksource"],
        Kind::Words(&["gettimeofday", "clock_gettime", "cpu"]),
        Nothing,
        Translated("one calibrated clock serves all; reports name it"),
        "clock",
    ),
    p(
        &["gtod_reduce"],
        Kind::Truth,
        On(false),
        RECORDED,
        "leaves latencies out",
    ),
    p(
        &["gtod_cpu"],
        at_least(0),
        Nothing,
        Refused("no thread serves the time; the clock costs a few nanoseconds"),
        "CPU for a thread that tells the time",
    ),
    p(
        &["job_start_clock_id"],
        at_least(0),
        Number(0),
        NEWER,
        "clock of the start in JSON",
    ),
];

pub(crate) static PATTERN: &[Parameter] = &[
    p(
        &["rw", "readwrite"],
        Kind::Words(&[
            "read",
            "write",
            "trim",
            "randread",
            "randwrite",
            "randtrim",
            "rw",
            "readwrite",
            "randrw",
            "trimwrite",
            "randtrimwrite",
        ]),
        Word("read"),
        Honoured,
        "direction and order; a number after `:` is how many random places are drawn together, or bytes skipped between sequential ones",
    ),
    p(
        &["rw_sequencer"],
        Kind::Words(&["sequential", "identical"]),
        Word("sequential"),
        Honoured,
        "what a number after `rw=rand…:` repeats",
    )
    .inert(&["sequential"]),
    p(
        &["rwmixread"],
        number(0, 100),
        Number(50),
        Honoured,
        "share of reads in a mix, percent",
    ),
    p(
        &["rwmixwrite"],
        number(0, 100),
        Number(50),
        Honoured,
        "share of writes in a mix, percent",
    ),
    p(
        &["rwmixcycle"],
        at_least(0),
        Nothing,
        Refused("the original fails on it too; it has had no effect for years"),
        "no longer known",
    ),
    p(
        &["percentage_random"],
        numbers(0, 100),
        Number(100),
        Honoured,
        "share of random I/Os that take a new place; one value for all directions",
    ),
    p(
        &["percentage_sequential"],
        at_least(0),
        Nothing,
        Refused("the original fails on it too; use `percentage_random`"),
        "no longer known",
    ),
    p(
        &["norandommap"],
        Kind::Flag,
        On(false),
        Honoured,
        "places are drawn without memory; otherwise each block comes once before any block again",
    ),
    p(
        &["softrandommap"],
        Kind::Truth,
        On(false),
        Translated("the map needs no memory"),
        "goes on where there is no memory for the map",
    ),
    p(
        &["random_generator"],
        Kind::Words(&["tausworthe", "tausworthe64", "lfsr"]),
        Word("tausworthe"),
        Translated("one generator, which draws by number, serves all"),
        "generator of places",
    ),
    p(
        &["randrepeat"],
        Kind::Truth,
        On(true),
        Honoured,
        "whether every run draws the same",
    ),
    p(
        &["allrandrepeat"],
        Kind::Truth,
        On(false),
        Honoured,
        "whether every run draws the same, also where `randrepeat=0` says otherwise",
    ),
    p(
        &["randseed"],
        at_least(0),
        Computed("that of the execution"),
        Honoured,
        "seed of the draws of the job",
    ),
    p(
        &["random_distribution"],
        Kind::Form(
            "`random`, `zipf:θ[:centre]`, `pareto:h[:centre]`, `normal:deviation[:centre]`, `zoned:access/size:…`, `zoned_abs:access/bytes:…`",
        ),
        Text("random"),
        Honoured,
        "law of random places; one value for all directions",
    ),
    p(
        &["random_sequence_stride"],
        Kind::Truth,
        On(false),
        NEWER,
        "moves a fixed sequence of places on",
    ),
    p(
        &["offset", "fileoffset"],
        Kind::Size,
        Bytes(0),
        Honoured,
        "begin of the range in every file",
    ),
    p(
        &["offset_align"],
        at_least(0),
        Number(0),
        Honoured,
        "what an `offset` in percent is rounded to",
    )
    .inert(&["0"]),
    p(
        &["offset_increment"],
        Kind::Size,
        Bytes(0),
        Honoured,
        "added to `offset` for each clone",
    ),
    p(
        &["number_ios"],
        at_least(0),
        Number(0),
        Honoured,
        "ends after this many I/Os",
    ),
    p(
        &["bs", "blocksize"],
        numbers(1, MANY),
        Number(4096),
        Honoured,
        "size of an I/O",
    ),
    p(
        &["bsrange", "blocksize_range"],
        Kind::Ranges,
        Nothing,
        Honoured,
        "sizes drawn between two ends",
    ),
    p(
        &["bssplit"],
        Kind::Form("size/percent:…, up to three lists"),
        Nothing,
        Honoured,
        "sizes with their shares",
    ),
    p(
        &["bs_unaligned", "blocksize_unaligned"],
        Kind::Flag,
        On(false),
        Honoured,
        "sizes of `bsrange` need no rounding",
    ),
    p(
        &["bs_is_seq_rand"],
        Kind::Truth,
        On(false),
        Honoured,
        "the size for reads serves sequential I/O, that for writes random I/O",
    )
    .inert(&["0"]),
    p(
        &["ba", "blockalign"],
        numbers(1, MANY),
        SameAs("bs"),
        Honoured,
        "what random places are multiples of",
    ),
    p(
        &["fsync"],
        at_least(0),
        Number(0),
        Honoured,
        "a sync after this many writes",
    )
    .inert(&["0"]),
    p(
        &["fdatasync"],
        at_least(0),
        Number(0),
        Honoured,
        "a sync of data after this many writes",
    )
    .inert(&["0"]),
    p(
        &["sync_file_range"],
        Kind::Form("`wait_before`, `write`, `wait_after`, `:N`"),
        Nothing,
        Honoured,
        "starts writing back every N writes",
    ),
    p(
        &["write_barrier"],
        at_least(0),
        Number(0),
        Refused("the kernel knows no barriers any more; use `fsync`"),
        "every N-th write is a barrier",
    )
    .inert(&["0"]),
    p(
        &["end_fsync"],
        Kind::Truth,
        On(false),
        Honoured,
        "a sync at the end",
    )
    .inert(&["0"]),
    p(
        &["end_syncfs"],
        Kind::Truth,
        On(false),
        Honoured,
        "a sync of the file systems at the end",
    )
    .inert(&["0"]),
    p(
        &["fsync_on_close"],
        Kind::Truth,
        On(false),
        Honoured,
        "a sync before a file is closed",
    ),
    p(
        &["sync"],
        Kind::Words(&["none", "0", "sync", "1", "dsync"]),
        Word("none"),
        Honoured,
        "each write is durable when it returns",
    ),
    p(
        &["direct"],
        Kind::Truth,
        On(false),
        Honoured,
        "past the page cache",
    ),
    p(
        &["buffered"],
        Kind::Truth,
        On(true),
        Honoured,
        "through the page cache",
    ),
    p(
        &["atomic"],
        Kind::Truth,
        On(false),
        Honoured,
        "each write is stored as a whole or not at all; sets `direct`",
    )
    .inert(&["0"]),
    p(
        &["flow"],
        number(0, 1000),
        Number(0),
        Honoured,
        "weight of the job among those of its flow",
    )
    .inert(&["0"]),
    p(&["flow_id"], at_least(0), Number(0), Honoured, "which flow").part_of("flow"),
    p(
        &["flow_sleep"],
        MICROSECONDS,
        Nanos(0),
        Honoured,
        "wait of a job that is ahead",
    )
    .part_of("flow"),
    p(
        &["flow_watermark"],
        at_least(0),
        Nothing,
        Translated("the original reads it and does nothing"),
        "no longer known",
    ),
];

pub(crate) static FILES: &[Parameter] = &[
    p(
        &["filename"],
        Kind::Text,
        Nothing,
        Honoured,
        "files or devices, separated by `:`; all clones use the same",
    ),
    p(
        &["filename_format"],
        Kind::Text,
        Text("$jobname.$jobnum.$filenum"),
        Honoured,
        "how names are made",
    ),
    p(
        &["directory"],
        Kind::Text,
        Nothing,
        Honoured,
        "folder of the files, or several separated by `:`, dealt to the clones",
    ),
    p(
        &["unique_filename"],
        Kind::Truth,
        On(true),
        Translated("matters with several hosts only"),
        "puts the address before names",
    ),
    p(
        &["opendir"],
        Kind::Text,
        Nothing,
        Honoured,
        "all files below a folder",
    ),
    p(
        &["nrfiles", "nr_files"],
        number(0, 1 << 40),
        Number(1),
        Honoured,
        "files of each clone",
    ),
    p(
        &["openfiles"],
        at_least(0),
        SameAs("nrfiles"),
        Translated("files of a clone stay open as far as there are file descriptors for them; with 1 they are done one after the other, otherwise none waits for another to be done"),
        "files open at a time",
    ),
    p(
        &["file_service_type"],
        Kind::Form(
            "`roundrobin`, `random`, `sequential`, `zipf[:θ]`, `pareto[:h]`, `normal[:d]`, `gauss[:d]`, with `:N`",
        ),
        Text("roundrobin"),
        Honoured,
        "which file is next",
    ),
    p(
        &["filetype"],
        Kind::Words(&["none", "file", "block", "char"]),
        Nothing,
        Translated("what a path is, is always looked at"),
        "kind of the files",
    ),
    p(
        &["lockfile"],
        Kind::Words(&["none", "exclusive", "readwrite"]),
        Word("none"),
        Honoured,
        "a lock on the file around each I/O, with the other jobs that have one",
    )
    .inert(&["none"]),
    p(
        &["size"],
        Kind::Size,
        FromTarget,
        Honoured,
        "bytes of all files of a clone together",
    ),
    p(
        &["filesize", "file_size"],
        Kind::Ranges,
        Nothing,
        Honoured,
        "bytes of each file, or a range to draw them from",
    ),
    p(
        &["io_size", "io_limit"],
        Kind::Size,
        SameAs("size"),
        Honoured,
        "bytes to move",
    ),
    p(
        &["fill_device", "fill_fs"],
        Kind::Truth,
        On(false),
        Honoured,
        "writes until nothing is left",
    )
    .inert(&["0"]),
    p(
        &["file_append"],
        Kind::Truth,
        On(false),
        Honoured,
        "begins at the end of the file",
    )
    .inert(&["0"]),
    p(
        &["fallocate"],
        Kind::Words(&["none", "native", "posix", "keep", "truncate", "0", "1"]),
        Word("native"),
        Honoured,
        "space of a file that is missing or short, reserved before it is written",
    ),
    p(
        &["create_serialize"],
        Kind::Truth,
        On(true),
        Translated("jobs are laid out side by side and the files of each one after another, which makes no difference to their content"),
        "lays files out one after another",
    )
    .inert(&["0"]),
    p(
        &["create_fsync"],
        Kind::Truth,
        On(true),
        Translated("files are always flushed when they are laid out"),
        "sync after the layout",
    )
    .inert(&["1"]),
    p(
        &["create_on_open"],
        Kind::Truth,
        On(false),
        Honoured,
        "no layout; files are made when they are opened",
    ),
    p(
        &["create_only"],
        Kind::Truth,
        On(false),
        Honoured,
        "ends after the layout",
    )
    .inert(&["0"]),
    p(
        &["allow_file_create"],
        Kind::Truth,
        On(true),
        Honoured,
        "whether missing files are made, and short ones extended",
    ),
    p(
        &["allow_mounted_write"],
        Kind::Truth,
        On(false),
        Refused("nothing overrides the guard for mounted targets; unmount it"),
        "writes to what is mounted",
    )
    .inert(&["0"]),
    p(
        &["overwrite"],
        Kind::Truth,
        On(false),
        Honoured,
        "lays files out before they are written",
    ),
    p(
        &["pre_read"],
        Kind::Truth,
        On(false),
        Honoured,
        "reads files into the cache first",
    )
    .inert(&["0"]),
    p(
        &["invalidate"],
        Kind::Truth,
        On(true),
        Honoured,
        "drops the cache of a file when it is opened",
    ),
    p(
        &["unlink"],
        Kind::Truth,
        On(false),
        Translated("files that this execution made are removed at its end; others stay"),
        "removes files at the end",
    )
    .inert(&["0"]),
    p(
        &["unlink_each_loop"],
        Kind::Truth,
        On(false),
        Translated("each loop goes over the same files, and nothing is removed between loops; `unlink` removes what this execution made at its end"),
        "removes files after each loop",
    )
    .inert(&["0"]),
    p(
        &["fadvise_hint"],
        Kind::Words(&["0", "1", "random", "sequential", "noreuse"]),
        Word("1"),
        Honoured,
        "advice to the page cache",
    )
    .inert(&["0"]),
    p(
        &["write_hint"],
        Kind::Words(&["none", "short", "medium", "long", "extreme"]),
        Word("none"),
        Refused("hints about the life of data are not sent"),
        "expected life of data",
    )
    .inert(&["none"]),
    p(
        &["ioscheduler"],
        Kind::Text,
        Nothing,
        Refused("the scheduler of a device is not changed; set it in /sys before"),
        "scheduler of the device",
    ),
    p(
        &["zonemode"],
        Kind::Words(&["none", "strided", "zbd"]),
        Computed("`strided` with `zonesize`, otherwise `none`"),
        Honoured,
        "steps through zones; `zbd` is refused",
    )
    .inert(&["none"]),
    p(
        &["zonesize"],
        Kind::Size,
        Bytes(0),
        Honoured,
        "bytes of each zone that are used",
    )
    .inert(&["0"]),
    p(
        &["zonerange"],
        Kind::Size,
        SameAs("zonesize"),
        Honoured,
        "bytes of a zone",
    )
    .inert(&["0"]),
    p(
        &["zoneskip"],
        Kind::Size,
        Bytes(0),
        Honoured,
        "bytes skipped after a zone",
    )
    .inert(&["0"]),
    p(
        &["zonecapacity"],
        Kind::Size,
        Bytes(0),
        ZONES,
        "bytes of a zone that can be written",
    )
    .inert(&["0"]),
    p(
        &["read_beyond_wp"],
        Kind::Truth,
        On(false),
        ZONES,
        "reads beyond the write pointer",
    )
    .inert(&["0"]),
    p(
        &["max_open_zones"],
        number(0, 4096),
        Number(0),
        ZONES,
        "open zones of all jobs",
    )
    .inert(&["0"]),
    p(
        &["job_max_open_zones"],
        number(0, 4096),
        Number(0),
        ZONES,
        "open zones of a job",
    )
    .inert(&["0"]),
    p(
        &["ignore_zone_limits"],
        Kind::Truth,
        On(false),
        ZONES,
        "goes beyond the limits of the device",
    )
    .inert(&["0"]),
    p(
        &["zone_reset_threshold"],
        Kind::Decimals {
            min: 0.0,
            max: 1.0,
            most: 1,
        },
        Nothing,
        ZONES,
        "when zones are reset",
    ),
    p(
        &["zone_reset_frequency"],
        Kind::Decimals {
            min: 0.0,
            max: 1.0,
            most: 1,
        },
        Nothing,
        ZONES,
        "how often zones are reset",
    ),
    p(
        &["recover_zbd_write_error"],
        Kind::Truth,
        On(false),
        ZONES,
        "goes on after a failed write",
    )
    .inert(&["0"]),
    p(
        &["write_zone_remainder"],
        Kind::Truth,
        On(false),
        ZONES,
        "writes the rest of a zone",
    )
    .inert(&["0"]),
];

pub(crate) static QUEUE: &[Parameter] = &[
    p(
        &["ioengine"],
        Kind::Text,
        Text("psync"),
        Honoured,
        "how I/O is done; the engines stand below",
    ),
    p(
        &["iodepth"],
        number(1, 1 << 16),
        Number(1),
        Honoured,
        "I/Os in flight of each clone",
    ),
    p(
        &["iodepth_batch", "iodepth_batch_submit"],
        at_least(0),
        Number(1),
        Honoured,
        "I/Os per submitting call",
    ),
    p(
        &["iodepth_batch_complete_min", "iodepth_batch_complete"],
        at_least(0),
        Number(1),
        Honoured,
        "I/Os waited for at a time",
    ),
    p(
        &["iodepth_batch_complete_max"],
        at_least(0),
        SameAs("iodepth_batch_complete_min"),
        Honoured,
        "I/Os taken at a time",
    ),
    p(
        &["iodepth_low"],
        at_least(0),
        SameAs("iodepth"),
        Honoured,
        "once full, I/Os in flight before more are submitted",
    )
    .inert(&["0"]),
    p(
        &["serialize_overlap"],
        Kind::Truth,
        On(false),
        Honoured,
        "no two I/Os on the same block in flight",
    )
    .inert(&["0"]),
    p(
        &["io_submit_mode"],
        Kind::Words(&["inline", "offload"]),
        Word("inline"),
        Translated("one way for both: workers follow the schedule of a rate whatever is in flight, and response times begin at the arrival"),
        "who submits",
    )
    .inert(&["inline"]),
    p(
        &["mem", "iomem"],
        Kind::Form("`malloc`, `shm`, `shmhuge`, `mmap`, `mmapshared`, `mmaphuge`"),
        Text("malloc"),
        Translated("buffers are private pages, aligned for direct I/O"),
        "memory of buffers",
    )
    .inert(&["malloc"]),
    p(
        &["iomem_align", "mem_align"],
        at_least(0),
        Nothing,
        Translated("buffers are aligned to a page or more"),
        "alignment of buffers",
    ),
    p(
        &["hugepage-size"],
        at_least(0),
        Bytes(2 << 20),
        Translated("no huge pages are used"),
        "size of a huge page",
    ),
    p(
        &["lockmem"],
        at_least(0),
        Number(0),
        Honoured,
        "memory that each clone takes away from all others",
    )
    .inert(&["0"]),
    p(
        &["cpus_allowed"],
        Kind::Cpus,
        Nothing,
        Honoured,
        "CPUs that clones may use",
    ),
    p(
        &["cpumask"],
        at_least(0),
        Nothing,
        Honoured,
        "the same as a mask",
    ),
    p(
        &["cpus_allowed_policy"],
        Kind::Words(&["shared", "split"]),
        Word("shared"),
        Honoured,
        "whether clones share the CPUs",
    )
    .part_of("cpus_allowed"),
    p(
        &["numa_cpu_nodes"],
        Kind::Text,
        Nothing,
        Honoured,
        "nodes whose CPUs clones may use: numbers and ranges, or `all`",
    ),
    p(
        &["numa_mem_policy"],
        Kind::Text,
        Nothing,
        Honoured,
        "nodes of the memory: `default`, `local`, `prefer:N`, `bind:LIST` or `interleave:LIST`",
    ),
    p(&["prio"], number(0, 7), Number(0), Honoured, "priority of I/O"),
    p(
        &["prioclass"],
        number(0, 3),
        Number(2),
        Honoured,
        "class of the priority, where one is named",
    ),
    p(
        &["priohint"],
        number(0, 1023),
        Number(0),
        Honoured,
        "hint of the priority",
    ),
];

pub(crate) static RATE: &[Parameter] = &[
    p(
        &["rate"],
        numbers(0, MANY),
        Number(0),
        Honoured,
        "bytes per second of each clone and direction",
    ),
    p(
        &["rate_iops"],
        numbers(0, MANY),
        Number(0),
        Honoured,
        "I/Os per second of each clone and direction",
    ),
    p(
        &["rate_min", "ratemin"],
        numbers(0, MANY),
        Number(0),
        Honoured,
        "ends a job that is slower, bytes per second",
    )
    .inert(&["0"]),
    p(
        &["rate_iops_min"],
        numbers(0, MANY),
        Number(0),
        Honoured,
        "ends a job that is slower, I/Os per second",
    )
    .inert(&["0"]),
    p(
        &["rate_cycle", "ratecycle"],
        at_least(0),
        Number(1000),
        Honoured,
        "window of the minimum, milliseconds",
    )
    .part_of("rate_min"),
    p(
        &["rate_process"],
        Kind::Words(&["linear", "poisson"]),
        Word("linear"),
        Honoured,
        "law of arrivals",
    ),
    p(
        &["rate_ignore_thinktime"],
        Kind::Truth,
        On(false),
        Honoured,
        "does not catch up for think time",
    )
    .part_of("thinktime"),
    p(
        &["thinktime"],
        MICROSECONDS,
        Nanos(0),
        Honoured,
        "pause after I/Os",
    )
    .inert(&["0"]),
    p(
        &["thinktime_spin"],
        MICROSECONDS,
        Nanos(0),
        Translated("the pause is as long, and burns no CPU"),
        "busy part of the pause",
    )
    .part_of("thinktime"),
    p(
        &["thinktime_blocks"],
        at_least(0),
        Number(1),
        Honoured,
        "I/Os between pauses",
    )
    .part_of("thinktime"),
    p(
        &["thinktime_blocks_type"],
        Kind::Words(&["complete", "issue"]),
        Word("complete"),
        Honoured,
        "which I/Os are counted",
    )
    .part_of("thinktime"),
    p(
        &["thinktime_iotime"],
        SECONDS,
        Nanos(0),
        Honoured,
        "time between pauses",
    )
    .part_of("thinktime"),
    p(
        &["thinkcycles"],
        at_least(0),
        Nothing,
        NEWER,
        "busy rounds before each I/O",
    ),
    p(
        &["max_latency"],
        Kind::Form("up to three times, microseconds without a unit"),
        Text("0"),
        Honoured,
        "a slower I/O ends the job",
    )
    .inert(&["0"]),
    p(
        &["latency_target"],
        MICROSECONDS,
        Nanos(0),
        Honoured,
        "looks for the depth that keeps this latency",
    )
    .inert(&["0"]),
    p(
        &["latency_window"],
        MICROSECONDS,
        Nanos(0),
        Honoured,
        "time to hold the target",
    )
    .part_of("latency_target"),
    p(
        &["latency_percentile"],
        Kind::Decimals {
            min: 0.0,
            max: 100.0,
            most: 1,
        },
        Decimal(100.0),
        Honoured,
        "share of I/Os that hold the target",
    )
    .part_of("latency_target"),
    p(
        &["latency_run"],
        Kind::Truth,
        On(false),
        Honoured,
        "goes on looking",
    )
    .part_of("latency_target"),
    p(
        &["steadystate", "ss"],
        Kind::Form("`iops`, `iops_slope`, `bw`, `bw_slope`, with `:limit[%]`"),
        Text("iops_slope:0.01%"),
        Honoured,
        "ends once figures are steady",
    )
    .part_of("steadystate_duration"),
    p(
        &["steadystate_duration", "ss_dur"],
        SECONDS,
        Nanos(0),
        Honoured,
        "window of the figures",
    )
    .inert(&["0"]),
    p(
        &["steadystate_ramp_time", "ss_ramp"],
        SECONDS,
        Nanos(0),
        Honoured,
        "time before figures count",
    )
    .part_of("steadystate_duration"),
    p(
        &["steadystate_check_interval", "ss_interval"],
        SECONDS,
        Nanos(1_000_000_000),
        Honoured,
        "time between looks, at least a second, of which `steadystate_duration` is a multiple",
    )
    .part_of("steadystate_duration"),
];

pub(crate) static DATA: &[Parameter] = &[
    p(
        &["zero_buffers"],
        Kind::Flag,
        On(false),
        Honoured,
        "writes zeros",
    ),
    p(
        &["refill_buffers"],
        Kind::Flag,
        On(false),
        Honoured,
        "every byte is new in every write, in place of a stamp in each sector",
    ),
    p(
        &["scramble_buffers"],
        Kind::Truth,
        On(true),
        Honoured,
        "a stamp in each sector tells writes apart; 0 sends the same buffers over and over",
    ),
    p(
        &["buffer_pattern"],
        Kind::Form("number, `0x…`, `\"text\"`, `'file'`, or several in a row"),
        Nothing,
        Honoured,
        "content that repeats",
    ),
    p(
        &["buffer_compress_percentage"],
        number(0, 100),
        Nothing,
        Honoured,
        "share of written data that compresses to nothing",
    ),
    p(
        &["buffer_compress_chunk"],
        at_least(0),
        Number(512),
        Honoured,
        "bytes in which the share is kept; 0 is the whole write",
    ),
    p(
        &["dedupe_percentage"],
        number(0, 100),
        Nothing,
        Honoured,
        "share of writes equal to an earlier one",
    ),
    p(
        &["dedupe_mode"],
        Kind::Words(&["repeat", "working_set"]),
        Word("repeat"),
        Honoured,
        "which earlier write",
    )
    .part_of("dedupe_percentage"),
    p(
        &["dedupe_working_set_percentage"],
        number(0, 100),
        Number(5),
        Honoured,
        "share of the blocks that repeat",
    )
    .part_of("dedupe_percentage"),
    p(
        &["dedupe_global"],
        Kind::Truth,
        On(false),
        Honoured,
        "jobs share what repeats",
    )
    .part_of("dedupe_percentage"),
];

pub(crate) static VERIFICATION: &[Parameter] = &[
    p(
        &["verify"],
        Kind::Words(&[
            "0",
            "md5",
            "crc64",
            "crc32",
            "crc32c-intel",
            "crc32c",
            "crc16",
            "crc7",
            "sha1",
            "sha256",
            "sha512",
            "sha3-224",
            "sha3-256",
            "sha3-384",
            "sha3-512",
            "xxhash",
            "meta",
            "pattern",
            "pattern_hdr",
            "null",
        ]),
        Word("0"),
        Honoured,
        "checks what is read against what was written",
    )
    .inert(&["0"]),
    p(
        &["do_verify"],
        Kind::Truth,
        On(true),
        Honoured,
        "reads back after the writes",
    )
    .part_of("verify"),
    p(
        &["verify_only"],
        Kind::Flag,
        On(false),
        Honoured,
        "writes nothing, checks only",
    )
    .inert(&["0"]),
    p(
        &["verify_interval"],
        number(0, MANY),
        SameAs("bs"),
        Honoured,
        "bytes with a header of their own",
    )
    .part_of("verify"),
    p(
        &["verify_offset"],
        at_least(0),
        Number(0),
        Honoured,
        "place of the header",
    )
    .part_of("verify"),
    p(
        &["verify_pattern"],
        Kind::Text,
        Nothing,
        Honoured,
        "content that repeats, as `buffer_pattern`; `%o` is the address of the I/O, eight bytes; without `verify` it is checked as by `verify=pattern_hdr`",
    ),
    p(
        &["verify_pattern_interval"],
        at_least(0),
        Number(0),
        Honoured,
        "bytes of an I/O after which `verify_pattern` begins anew; `%o` is then the address of that place; 0 is never",
    )
    .part_of("verify_pattern"),
    p(
        &["verify_fatal"],
        Kind::Truth,
        On(false),
        Honoured,
        "the first difference ends the job",
    )
    .part_of("verify"),
    p(
        &["verify_dump"],
        Kind::Truth,
        On(false),
        Honoured,
        "keeps both contents of a wrong block in files",
    )
    .part_of("verify"),
    p(
        &["verify_async"],
        at_least(0),
        Number(0),
        Translated("the worker that takes a completion checks it, and no other thread"),
        "threads that check",
    )
    .part_of("verify"),
    p(
        &["verify_async_cpus"],
        Kind::Cpus,
        Nothing,
        Translated("the worker that takes a completion checks it, where that worker runs"),
        "CPUs of these threads",
    )
    .part_of("verify"),
    p(
        &["verify_backlog"],
        at_least(0),
        Nothing,
        Honoured,
        "reads back between writes, each time that so many wait",
    )
    .part_of("verify"),
    p(
        &["verify_backlog_batch"],
        at_least(0),
        SameAs("verify_backlog"),
        Honoured,
        "how many are read back then",
    )
    .part_of("verify_backlog"),
    p(
        &["verify_state_save"],
        Kind::Truth,
        On(true),
        Honoured,
        "keeps in a file what the job has written",
    )
    .part_of("verify"),
    p(
        &["verify_state_load"],
        Kind::Truth,
        On(false),
        Honoured,
        "checks only what an earlier run of the job has written, by that file",
    )
    .part_of("verify"),
    p(
        &["verify_write_sequence"],
        Kind::Truth,
        On(true),
        Honoured,
        "a block of an earlier write is wrong; passes where this and `verify_header_seed` are 0",
    )
    .part_of("verify"),
    p(
        &["verify_header_seed"],
        Kind::Truth,
        On(true),
        Honoured,
        "a block of an earlier write is wrong; passes where this and `verify_write_sequence` are 0",
    )
    .part_of("verify"),
    p(&["verify_policy"], Kind::Text, Nothing, NEWER, "what is checked"),
    p(
        &["experimental_verify"],
        Kind::Truth,
        On(false),
        Translated(
            "what was written is known from a record in any case, which also knows what a later write has replaced",
        ),
        "another way to remember",
    )
    .inert(&["0"]),
    p(
        &["trim_percentage"],
        number(0, 100),
        Number(0),
        Honoured,
        "share of the writes that are trimmed while a job with `verify` writes; needs `trim_backlog`",
    )
    .part_of("verify"),
    p(
        &["trim_verify_zero"],
        Kind::Truth,
        On(true),
        Honoured,
        "what was trimmed must be read as zeros; 0 does not read it",
    )
    .part_of("trim_percentage"),
    p(
        &["trim_backlog"],
        at_least(0),
        Nothing,
        Honoured,
        "trims follow each time that a multiple of so many writes is remembered",
    )
    .part_of("trim_percentage"),
    p(
        &["trim_backlog_batch"],
        at_least(0),
        SameAs("trim_backlog"),
        Honoured,
        "how many are trimmed then; as many as `trim_backlog` if not given",
    )
    .part_of("trim_percentage"),
    p(
        &["verifysort"],
        Kind::Truth,
        Nothing,
        Translated("the original reads it and does nothing"),
        "no longer known",
    ),
    p(
        &["verifysort_nr"],
        at_least(0),
        Nothing,
        Translated("the original reads it and does nothing"),
        "no longer known",
    ),
];

pub(crate) static MEASUREMENT: &[Parameter] = &[
    p(
        &["write_bw_log"],
        Kind::OptionalText,
        Nothing,
        Honoured,
        "log of bytes per second",
    ),
    p(
        &["write_lat_log"],
        Kind::OptionalText,
        Nothing,
        Honoured,
        "log of latencies",
    ),
    p(
        &["write_iops_log"],
        Kind::OptionalText,
        Nothing,
        Honoured,
        "log of I/Os per second",
    ),
    p(
        &["write_hist_log"],
        Kind::OptionalText,
        Nothing,
        Honoured,
        "log of histograms",
    ),
    p(
        &["per_job_logs"],
        Kind::Truth,
        On(true),
        Honoured,
        "a log for each clone",
    ),
    p(
        &["log_avg_msec"],
        at_least(0),
        Number(0),
        Honoured,
        "means over this many milliseconds; 0 is a line for each I/O",
    ),
    p(
        &["log_hist_msec"],
        at_least(0),
        Number(0),
        Honoured,
        "milliseconds of a histogram; 0 writes none",
    )
    .part_of("write_hist_log"),
    p(
        &["log_hist_coarseness"],
        number(0, 6),
        Number(0),
        Honoured,
        "coarser histograms",
    )
    .part_of("write_hist_log"),
    p(
        &["log_window_value", "log_max_value"],
        Kind::Words(&["avg", "max", "both", "0", "1"]),
        Word("avg"),
        Honoured,
        "mean or largest value of a window",
    ),
    p(
        &["log_offset"],
        Kind::Truth,
        On(false),
        Honoured,
        "a column with the place",
    ),
    p(
        &["log_prio"],
        Kind::Truth,
        On(false),
        Honoured,
        "the column of the priority in full",
    ),
    p(
        &["log_issue_time"],
        Kind::Truth,
        On(false),
        Honoured,
        "a last column with the time of issue, in nanoseconds since the start; 0 in a row of a window",
    ),
    p(
        &["log_entries"],
        number(1, MANY),
        Number(1024),
        Translated("logs grow as they need"),
        "lines to make room for",
    ),
    p(
        &["log_compression"],
        Kind::Size,
        Nothing,
        Translated("logs are written as they come, plain"),
        "compresses logs in memory",
    ),
    p(
        &["log_compression_cpus"],
        Kind::Cpus,
        Nothing,
        Translated("logs are written as they come, plain"),
        "CPUs that compress",
    ),
    p(
        &["log_store_compressed"],
        Kind::Truth,
        On(false),
        Honoured,
        "keeps logs compressed, in files that `--inflate-log` prints",
    ),
    p(
        &["log_unix_epoch"],
        Kind::Truth,
        On(false),
        Honoured,
        "times since 1970",
    ),
    p(
        &["log_alternate_epoch"],
        Kind::Truth,
        On(false),
        Honoured,
        "times of another clock",
    ),
    p(
        &["log_alternate_epoch_clock_id"],
        at_least(0),
        Number(0),
        Translated("the clock of 1970 serves"),
        "which clock",
    ),
    p(
        &["bwavgtime"],
        at_least(0),
        Number(500),
        SAMPLED,
        "milliseconds of a sample of bytes per second",
    )
    .inert(&["500"]),
    p(
        &["iopsavgtime"],
        at_least(0),
        Number(500),
        SAMPLED,
        "milliseconds of a sample of I/Os per second",
    )
    .inert(&["500"]),
    p(
        &["clat_percentiles"],
        Kind::Truth,
        On(true),
        Honoured,
        "prints percentiles of completion",
    ),
    p(
        &["lat_percentiles"],
        Kind::Truth,
        On(false),
        Honoured,
        "prints percentiles of the whole",
    ),
    p(
        &["slat_percentiles"],
        Kind::Truth,
        On(false),
        Honoured,
        "prints percentiles of submission",
    ),
    p(
        &["percentile_list"],
        Kind::Decimals {
            min: 0.0,
            max: 100.0,
            most: 20,
        },
        Decimals(&[
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
            99.95, 99.99,
        ]),
        Honoured,
        "which percentiles",
    ),
    p(
        &["significant_figures"],
        number(1, 10),
        Number(4),
        Honoured,
        "digits of rates",
    ),
    p(
        &["disable_lat"],
        Kind::Truth,
        On(false),
        RECORDED,
        "leaves the whole latency out",
    ),
    p(
        &["disable_clat"],
        Kind::Truth,
        On(false),
        RECORDED,
        "leaves completion out",
    ),
    p(
        &["disable_slat"],
        Kind::Truth,
        On(false),
        RECORDED,
        "leaves submission out",
    ),
    p(
        &["disable_bw_measurement", "disable_bw"],
        Kind::Truth,
        On(false),
        RECORDED,
        "leaves rows of single I/Os out of a log of bandwidths",
    ),
    p(
        &["unified_rw_reporting"],
        Kind::Words(&["none", "mixed", "both", "0", "1", "2"]),
        Word("none"),
        Honoured,
        "directions added up",
    ),
    p(
        &["disk_util"],
        Kind::Truth,
        On(true),
        Honoured,
        "prints counters of disks",
    ),
    p(
        &["kb_base"],
        Kind::Words(&["1024", "1000"]),
        Word("1024"),
        Honoured,
        "what `k` means",
    ),
    p(
        &["unit_base"],
        Kind::Words(&["0", "8", "1"]),
        Word("0"),
        Honoured,
        "bytes or bits in reports",
    ),
    p(
        &["block_error_percentiles"],
        Kind::Truth,
        On(false),
        Refused("life times of trimmed blocks are not recorded"),
        "histogram of failed trims",
    )
    .inert(&["0"]),
    p(
        &["continue_on_error"],
        Kind::Form("`none`, `read`, `write`, `io`, `verify`, `all`"),
        Text("none"),
        Honoured,
        "which errors do not end the job",
    ),
    p(
        &["ignore_error"],
        Kind::Text,
        Nothing,
        Honoured,
        "numbers or names of errors that do not end the job: of reads, of writes, of checks",
    ),
    p(
        &["error_dump"],
        Kind::Truth,
        On(false),
        Honoured,
        "prints errors that do not end the job",
    ),
];

pub(crate) static REPLAY: &[Parameter] = &[
    p(
        &["write_iolog"],
        Kind::Text,
        Nothing,
        Honoured,
        "records all I/O",
    ),
    p(
        &["read_iolog"],
        Kind::Text,
        Nothing,
        Honoured,
        "replays a record",
    ),
    p(
        &["read_iolog_chunked"],
        Kind::Truth,
        On(false),
        Translated("the record is read as a whole before the run, 32 bytes of memory for each I/O"),
        "reads the record in parts",
    ),
    p(
        &["replay_no_stall"],
        Kind::Truth,
        On(false),
        Honoured,
        "without the times of the record",
    )
    .part_of("read_iolog"),
    p(
        &["replay_time_scale"],
        at_least(1),
        Number(100),
        Honoured,
        "speed in percent",
    )
    .part_of("read_iolog"),
    p(
        &["replay_redirect"],
        Kind::Text,
        Nothing,
        Honoured,
        "one device for all I/O",
    )
    .part_of("read_iolog"),
    p(
        &["replay_scale"],
        at_least(0),
        Number(1),
        Honoured,
        "divides places",
    )
    .part_of("read_iolog"),
    p(
        &["replay_align"],
        at_least(0),
        Number(0),
        Honoured,
        "aligns places",
    )
    .part_of("read_iolog"),
    p(
        &["replay_skip"],
        Kind::Text,
        Nothing,
        Honoured,
        "directions left out",
    )
    .part_of("read_iolog"),
    p(
        &["merge_blktrace_file"],
        Kind::Text,
        Nothing,
        Refused("binary traces are not read; convert them to an iolog of version 2"),
        "merges traces",
    ),
    p(
        &["merge_blktrace_scalars"],
        Kind::Text,
        Nothing,
        Refused("binary traces are not read"),
        "speeds of traces",
    ),
    p(
        &["merge_blktrace_iters"],
        Kind::Text,
        Nothing,
        Refused("binary traces are not read"),
        "rounds of traces",
    ),
];

pub(crate) static PROCESS: &[Parameter] = &[
    p(
        &["nice"],
        number(-20, 19),
        Number(0),
        Honoured,
        "priority for the CPU",
    )
    .inert(&["0"]),
    p(
        &["comm"],
        Kind::Text,
        Nothing,
        Translated("threads keep the names that show what they do"),
        "name of the process",
    ),
    p(
        &["uid"],
        number(0, OWNER_MAX),
        Nothing,
        Honoured,
        "user of the job",
    ),
    p(
        &["gid"],
        number(0, OWNER_MAX),
        Nothing,
        Honoured,
        "group of the job",
    ),
    p(
        &["exec_prerun"],
        Kind::Text,
        Nothing,
        Translated(
            "each clone's is run before the jobs that begin together with it; what it prints is in the record",
        ),
        "command before the job",
    ),
    p(
        &["exec_postrun"],
        Kind::Text,
        Nothing,
        Translated(
            "each clone's is run after the jobs that ran beside it; what it prints is in the record",
        ),
        "command after the job",
    ),
    p(
        &["cgroup"],
        Kind::Text,
        Nothing,
        OLD_CGROUPS,
        "control group",
    ),
    p(
        &["cgroup_weight"],
        number(100, 1000),
        Nothing,
        OLD_CGROUPS,
        "its weight",
    ),
    p(
        &["cgroup_nodelete"],
        Kind::Truth,
        On(false),
        OLD_CGROUPS,
        "keeps it",
    )
    .inert(&["0"]),
];

pub(crate) static SPECIAL: &[Parameter] = &[
    p(
        &["fdp"],
        Kind::Truth,
        On(false),
        PLACEMENT,
        "placement of data",
    )
    .inert(&["0"]),
    p(
        &["dataplacement"],
        Kind::Text,
        Text("none"),
        PLACEMENT,
        "placement of data",
    )
    .inert(&["none"]),
    p(
        &["plid_select", "fdp_pli_select"],
        Kind::Text,
        Nothing,
        PLACEMENT,
        "how a placement is chosen",
    ),
    p(
        &["plids", "fdp_pli"],
        Kind::Text,
        Nothing,
        PLACEMENT,
        "placements",
    ),
    p(
        &["dp_scheme"],
        Kind::Text,
        Nothing,
        PLACEMENT,
        "file with placements",
    ),
    p(
        &["sprandom"],
        Kind::Truth,
        On(false),
        NEWER,
        "fills a drive with invalid blocks in random order",
    )
    .inert(&["0"]),
    p(
        &["spr_num_regions"],
        at_least(0),
        Number(100),
        NEWER,
        "regions of `sprandom`",
    ),
    p(
        &["spr_op"],
        Kind::Decimals {
            min: 0.0,
            max: 100.0,
            most: 1,
        },
        Decimal(0.15),
        NEWER,
        "spare share of `sprandom`",
    ),
    p(
        &["spr_cs"],
        Kind::Size,
        Bytes(0),
        NEWER,
        "cache of `sprandom`",
    ),
    p(
        &["num_range"],
        at_least(1),
        Number(1),
        NEWER,
        "ranges of one trim",
    )
    .inert(&["1"]),
    p(
        &["gpu_dev_id"],
        at_least(0),
        Number(0),
        Refused("memory of graphics cards is not used"),
        "which card",
    ),
];
