//! The engines of the language, and the options that only some of them know.
use super::declare::{Kind, Parameter};
use crate::Status;
use crate::parameter::DefaultValue;
use plan::{IoMethod, NameCall, SpaceCall};

use DefaultValue::{Nothing, Number, On, Word};
use Status::{Honoured, Refused, Translated};

/// A way to do I/O, by its name in the language.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    pub name: &'static str,
    pub status: Status,
    pub doc: &'static str,
    /// What it is in the plan; absent where it cannot be.
    pub(crate) method: Option<IoMethod>,
    /// Whether one I/O is in flight whatever the depth.
    pub(crate) is_synchronous: bool,
}

const fn calls(name: &'static str, doc: &'static str) -> Engine {
    Engine {
        name,
        status: Honoured,
        doc,
        method: Some(IoMethod::Calls),
        is_synchronous: true,
    }
}

const fn names(name: &'static str, call: NameCall, doc: &'static str) -> Engine {
    Engine {
        name,
        status: Honoured,
        doc,
        method: Some(IoMethod::Names(call)),
        is_synchronous: true,
    }
}

const fn space(name: &'static str, call: SpaceCall, doc: &'static str) -> Engine {
    Engine {
        name,
        status: Honoured,
        doc,
        method: Some(IoMethod::Space(call)),
        is_synchronous: true,
    }
}

const fn refused(name: &'static str, reason: &'static str, doc: &'static str) -> Engine {
    Engine {
        name,
        status: Refused(reason),
        doc,
        method: None,
        is_synchronous: false,
    }
}

const NO_NETWORK: &str = "measures a network and no storage; use a tool for networks";
const NO_OBJECTS: &str = "object stores are not reached; mount it, or map it as a block device";
const NO_CEPH: &str = "no library of Ceph is linked; map the image (`rbd map`) and use libaio";
const NO_PASS_THROUGH: &str =
    "commands past the block layer are not sent; use io_uring on the block device";
const NO_LIBRARY: &str =
    "needs a library that is not linked; use io_uring on a block device or file";
const NEWER: &str = "fio 3.33 does not know it, and nothing here makes or removes folders";
const NO_LOAD: &str = "makes no I/O; run a load generator beside";

pub(crate) static ENGINES: &[Engine] = &[
    calls("sync", "calls, one I/O in flight"),
    calls("psync", "positional calls, one I/O in flight"),
    calls("vsync", "calls with vectors, one I/O in flight"),
    calls("pvsync", "positional calls with vectors, one I/O in flight"),
    calls("pvsync2", "positional calls with flags, one I/O in flight"),
    Engine {
        name: "libaio",
        status: Honoured,
        doc: "asynchronous I/O of the kernel",
        method: Some(IoMethod::KernelQueue),
        is_synchronous: false,
    },
    Engine {
        name: "io_uring",
        status: Honoured,
        doc: "rings",
        method: Some(IoMethod::Ring),
        is_synchronous: false,
    },
    Engine {
        name: "posixaio",
        status: Translated("calls by a thread per I/O in flight, as the C library does it"),
        doc: "asynchronous I/O of the C library",
        method: Some(IoMethod::Calls),
        is_synchronous: false,
    },
    Engine {
        name: "null",
        status: Honoured,
        doc: "completes at once and moves nothing",
        method: Some(IoMethod::Nothing),
        is_synchronous: false,
    },
    Engine {
        name: "mmap",
        status: Honoured,
        doc: "copies to and from mapped files, one I/O in flight",
        method: Some(IoMethod::Mapping),
        is_synchronous: true,
    },
    names("filecreate", NameCall::Make, "makes files"),
    names("filestat", NameCall::Look, "looks at files"),
    names(
        "filedelete",
        NameCall::Remove,
        "removes files that it has laid out itself",
    ),
    refused("dircreate", NEWER, "makes folders"),
    refused("dirstat", NEWER, "looks at folders"),
    refused("dirdelete", NEWER, "removes folders"),
    space(
        "falloc",
        SpaceCall::Reserve,
        "gives files space, and takes it away by trims",
    ),
    space(
        "ftruncate",
        SpaceCall::SetLength,
        "cuts and extends files that it has made itself",
    ),
    refused(
        "e4defrag",
        "moves extents of ext4, which measures no storage",
        "defragmentation of ext4",
    ),
    refused("splice", "pipes are no storage; use `sync`", "pipes"),
    refused("cpuio", NO_LOAD, "keeps a CPU busy"),
    refused(
        "exec",
        "runs commands of a job file, which is a risk; run them beside",
        "runs a program",
    ),
    refused("net", NO_NETWORK, "sockets"),
    refused("netsplice", NO_NETWORK, "sockets and pipes"),
    refused("rdma", NO_NETWORK, "remote memory"),
    refused("http", NO_OBJECTS, "object stores"),
    refused("rbd", NO_CEPH, "images of Ceph"),
    refused("rados", NO_CEPH, "objects of Ceph"),
    refused("gfapi", "mount the volume and use libaio", "GlusterFS"),
    refused(
        "gfapi_async",
        "mount the volume and use libaio",
        "GlusterFS",
    ),
    refused("libhdfs", NO_OBJECTS, "HDFS"),
    refused("dfs", NO_LIBRARY, "DAOS"),
    refused("nfs", "mount the export and use libaio", "NFS"),
    refused(
        "nbd",
        "connect it (`nbd-client`) and use libaio",
        "network block devices",
    ),
    refused("libiscsi", "log in (`iscsiadm`) and use libaio", "iSCSI"),
    refused("ime_psync", NO_LIBRARY, "IME"),
    refused("ime_psyncv", NO_LIBRARY, "IME"),
    refused("ime_aio", NO_LIBRARY, "IME"),
    refused("sg", NO_PASS_THROUGH, "SCSI generic"),
    refused("io_uring_cmd", NO_PASS_THROUGH, "NVMe commands by rings"),
    refused("xnvme", NO_LIBRARY, "xNVMe"),
    refused("libblkio", NO_LIBRARY, "libblkio"),
    refused("libzbc", NO_LIBRARY, "zoned devices"),
    refused("libpmem", NO_LIBRARY, "persistent memory"),
    refused("pmemblk", NO_LIBRARY, "persistent memory"),
    refused("dev-dax", NO_LIBRARY, "persistent memory"),
    refused("libcufile", NO_LIBRARY, "GPUDirect"),
    refused("libhipfile", NO_LIBRARY, "hipFile"),
    refused("mtd", NO_LIBRARY, "raw flash"),
    refused("spdk", NO_LIBRARY, "SPDK, NVMe"),
    refused("spdk_bdev", NO_LIBRARY, "SPDK, bdev"),
    refused(
        "page_fault",
        "measures memory and no storage",
        "page faults",
    ),
    refused("guasi", "no longer exists", "asynchronous calls"),
    refused(
        "windowsaio",
        "an engine of Windows; `libaio` is the one of Linux",
        "asynchronous I/O of Windows",
    ),
    refused(
        "solarisaio",
        "an engine of Solaris; `libaio` is the one of Linux",
        "asynchronous I/O of Solaris",
    ),
];

const fn o(
    name: &'static [&'static str],
    kind: Kind,
    default: DefaultValue,
    status: Status,
    doc: &'static str,
) -> Parameter {
    Parameter::new(name, kind, default, status, doc)
}

const fn at_least(min: i64) -> Kind {
    Kind::Number { min, max: i64::MAX }
}

/// Needs no status of its own: the engine is refused as a whole.
const WITH_ENGINE: Status = Refused("belongs to an engine that is refused");

const fn foreign(
    names: &'static [&'static str],
    engines: &'static [&'static str],
    doc: &'static str,
) -> Parameter {
    Parameter::new(names, Kind::OptionalText, Nothing, WITH_ENGINE, doc).of(engines)
}

const ASYNC: &[&str] = &["libaio", "io_uring", "io_uring_cmd"];
const RINGS: &[&str] = &["io_uring", "io_uring_cmd"];
const COMMANDS: &[&str] = &["io_uring_cmd"];
const CEPH: &[&str] = &["rbd", "rados"];
const SOCKETS: &[&str] = &["net", "netsplice", "rdma"];
const HTTP: &[&str] = &["http"];
const BLKIO: &[&str] = &["libblkio"];
const XNVME: &[&str] = &["xnvme"];
const SPDK: &[&str] = &["spdk", "spdk_bdev"];

/// Options that only some engines know.
pub(crate) static PRIVATE: &[Parameter] = &[
    o(
        &["cmdprio_percentage"],
        Kind::Numbers { min: 0, max: 100 },
        Number(0),
        Honoured,
        "share of I/Os with a priority",
    )
    .of(ASYNC),
    o(
        &["cmdprio_class"],
        Kind::Numbers { min: 0, max: 3 },
        Number(1),
        Honoured,
        "class of these I/Os",
    )
    .of(ASYNC),
    o(
        &["cmdprio"],
        Kind::Numbers { min: 0, max: 7 },
        Number(0),
        Honoured,
        "priority of these I/Os",
    )
    .of(ASYNC),
    o(
        &["cmdprio_hint"],
        Kind::Numbers { min: 0, max: 1023 },
        Number(0),
        Honoured,
        "hint of these I/Os",
    )
    .of(ASYNC),
    o(
        &["cmdprio_bssplit"],
        Kind::Text,
        Nothing,
        Honoured,
        "shares with a priority by size",
    )
    .of(ASYNC),
    o(
        &["userspace_reap"],
        Kind::Flag,
        On(false),
        Translated("completions are taken in the cheapest way there is"),
        "takes completions without a call",
    )
    .of(&["libaio"]),
    o(
        &["nowait"],
        Kind::Truth,
        On(false),
        Honoured,
        "I/Os that would wait fail",
    )
    .of(&["libaio", "io_uring", "io_uring_cmd", "pvsync2"]),
    o(
        &["atomic"],
        Kind::Truth,
        On(false),
        Honoured,
        "each write is stored as a whole or not at all; sets `direct`",
    )
    .inert(&["0"])
    .of(&["libaio", "io_uring", "pvsync2"]),
    o(
        &["hipri"],
        Kind::Flag,
        On(false),
        Honoured,
        "polls for completions",
    )
    .of(&["io_uring", "io_uring_cmd", "pvsync2", "sg"]),
    o(
        &["hipri_percentage"],
        Kind::Number { min: 0, max: 100 },
        Number(100),
        Honoured,
        "share of polled I/Os",
    )
    .part_of("hipri")
    .of(&["pvsync2"]),
    o(
        &["uncached"],
        at_least(0),
        Number(0),
        Honoured,
        "leaves nothing in the page cache",
    )
    .of(&["io_uring", "io_uring_cmd", "pvsync2"]),
    o(
        &["fixedbufs"],
        Kind::Flag,
        On(false),
        Translated("buffers are registered wherever the kernel takes them"),
        "registers buffers",
    )
    .of(RINGS),
    o(
        &["registerfiles"],
        Kind::Flag,
        On(false),
        Translated("files are registered wherever the kernel takes them"),
        "registers files",
    )
    .of(RINGS),
    o(
        &["sqthread_poll"],
        Kind::Flag,
        On(false),
        Honoured,
        "a thread of the kernel submits",
    )
    .of(RINGS),
    o(
        &["sqthread_poll_cpu"],
        at_least(0),
        Nothing,
        Honoured,
        "its CPU",
    )
    .part_of("sqthread_poll")
    .of(RINGS),
    o(
        &["nonvectored"],
        Kind::Number { min: -1, max: 1 },
        Number(-1),
        Translated("I/Os have no vectors"),
        "without vectors",
    )
    .of(RINGS),
    o(
        &["force_async"],
        at_least(0),
        Number(0),
        Honoured,
        "every N-th I/O goes to a thread of the kernel",
    )
    .of(RINGS),
    o(
        &["stat_type"],
        Kind::Words(&["stat", "lstat", "statx"]),
        Word("stat"),
        Honoured,
        "which call looks",
    )
    .of(&["filestat", "dirstat"]),
    o(
        &["thp"],
        Kind::Truth,
        On(false),
        Translated(
            "asked of the shared mapping; with the private one of fio no write reaches the file",
        ),
        "asks for huge pages",
    )
    .inert(&["0"])
    .of(&["mmap"]),
    o(
        &["posixaio_respect_iodepth_batch_complete_max"],
        Kind::Truth,
        On(false),
        Translated("`iodepth_batch_complete_max` holds with every engine"),
        "takes no more completions at a time than `iodepth_batch_complete_max`",
    )
    .inert(&["0"])
    .of(&["posixaio"]),
    foreign(&["cmd_type"], COMMANDS, "kind of the commands"),
    foreign(&["cdb_len"], COMMANDS, "length of a command"),
    foreign(&["write_mode"], COMMANDS, "command of writes"),
    foreign(
        &["deac"],
        &["io_uring_cmd"],
        "gives blocks back as it writes zeros",
    ),
    foreign(&["verify_mode"], COMMANDS, "command of checks"),
    foreign(&["read_mode"], COMMANDS, "command of reads"),
    foreign(&["verify_bytchk"], COMMANDS, "what a check compares"),
    foreign(
        &["readfua"],
        &["io_uring_cmd", "sg"],
        "reads from the medium",
    ),
    foreign(
        &["writefua"],
        &["io_uring_cmd", "sg"],
        "writes to the medium",
    ),
    foreign(
        &["md_per_io_size"],
        &["io_uring_cmd", "xnvme"],
        "bytes of metadata",
    ),
    foreign(
        &["pi_act"],
        &["io_uring_cmd", "xnvme"],
        "protection by the device",
    ),
    foreign(
        &["pi_chk"],
        &["io_uring_cmd", "xnvme"],
        "what protection checks",
    ),
    foreign(&["apptag"], &["io_uring_cmd", "xnvme"], "tag of protection"),
    foreign(
        &["apptag_mask"],
        &["io_uring_cmd", "xnvme"],
        "mask of the tag",
    ),
    foreign(&["hostname"], SOCKETS, "the other host"),
    foreign(&["port"], &["net", "netsplice", "rdma", "libhdfs"], "port"),
    foreign(&["protocol", "proto"], &["net", "netsplice"], "protocol"),
    foreign(
        &["listen"],
        &["net", "netsplice"],
        "waits for the other side",
    ),
    foreign(&["pingpong"], &["net", "netsplice"], "answers each I/O"),
    foreign(&["nodelay"], &["net", "netsplice"], "sends at once"),
    foreign(&["interface"], &["net", "netsplice"], "interface"),
    foreign(&["ttl"], &["net", "netsplice"], "hops"),
    foreign(
        &["window_size"],
        &["net", "netsplice"],
        "buffer of a socket",
    ),
    foreign(&["mss"], &["net", "netsplice"], "segment size"),
    foreign(&["verb"], &["rdma"], "kind of transfer"),
    foreign(&["bindname"], &["rdma"], "own address"),
    foreign(
        &[
            "http_host",
            "http_mode",
            "https",
            "http_user",
            "http_pass",
            "http_verbose",
            "http_object_mode",
        ],
        HTTP,
        "the server and how it is spoken to",
    ),
    foreign(
        &[
            "http_s3_key",
            "http_s3_keyid",
            "http_s3_region",
            "http_s3_security_token",
            "http_s3_storage_class",
            "http_s3_sse_customer_key",
            "http_s3_sse_customer_algorithm",
        ],
        HTTP,
        "S3",
    ),
    foreign(&["http_swift_auth_token"], HTTP, "Swift"),
    foreign(&["clustername"], CEPH, "cluster"),
    foreign(&["rbdname"], &["rbd"], "image"),
    foreign(&["pool"], &["rbd", "rados", "dfs"], "pool"),
    foreign(&["clientname"], CEPH, "client"),
    foreign(&["busy_poll"], CEPH, "polls for completions"),
    foreign(&["conf"], &["rados"], "configuration"),
    foreign(&["touch_objects"], &["rados"], "makes objects first"),
    foreign(
        &["rbd_encryption_format", "rbd_encryption_passphrase"],
        &["rbd"],
        "encryption",
    ),
    foreign(
        &["volume", "brick"],
        &["gfapi", "gfapi_async"],
        "volume and server",
    ),
    foreign(
        &["namenode", "hdfsdirectory"],
        &["libhdfs"],
        "server and folder",
    ),
    foreign(&["chunk_size"], &["libhdfs", "dfs"], "chunk"),
    foreign(&["cont", "object_class"], &["dfs"], "container and class"),
    foreign(&["nfs_url"], &["nfs"], "export"),
    foreign(&["uri"], &["nbd"], "address"),
    foreign(&["sg_write_mode"], &["sg"], "command of writes"),
    foreign(&["stream_id"], &["sg"], "stream"),
    foreign(&["gpu_dev_ids"], &["libcufile", "libhipfile"], "cards"),
    foreign(&["cuda_io"], &["libcufile"], "how data go"),
    foreign(&["rocm_io"], &["libhipfile"], "how data go"),
    foreign(
        &[
            "libblkio_driver",
            "libblkio_path",
            "libblkio_pre_connect_props",
            "libblkio_pre_start_props",
            "libblkio_num_entries",
            "libblkio_queue_size",
            "libblkio_vectored",
            "libblkio_write_zeroes_on_trim",
            "libblkio_wait_mode",
            "libblkio_force_enable_completion_eventfd",
        ],
        BLKIO,
        "how the library is used",
    ),
    foreign(
        &[
            "xnvme_async",
            "xnvme_sync",
            "xnvme_admin",
            "xnvme_mem",
            "xnvme_dev_nsid",
            "xnvme_dev_subnqn",
            "xnvme_iovec",
        ],
        XNVME,
        "how the library is used",
    ),
    foreign(
        &[
            "spdk_json_conf",
            "spdk_conf",
            "spdk_mem",
            "spdk_single_seg",
            "spdk_env_context",
            "spdk_env_options",
            "spdk_log_level",
            "spdk_rpc_listen_addr",
            "bdev_timeout",
            "log_flags",
            "json_conf",
            "mem_size_mb",
            "shm_id",
            "enable_sgl",
            "sge_size",
            "disable_pcie_sgl_merge",
            "bit_bucket_data_len",
            "hostnqn",
            "pi_act",
            "pi_chk",
            "md_per_io_size",
            "apptag",
            "apptag_mask",
            "digest_enable",
            "enable_vmd",
            "initial_zone_reset",
            "zone_append",
            "print_qid_mappings",
            "enable_qos",
            "io_channel_create_rcu",
            "mem_mb",
        ],
        SPDK,
        "how the library is used",
    ),
    foreign(&["skip_bad"], &["mtd"], "leaves bad blocks out"),
    foreign(
        &["no_completion_thread"],
        &["windowsaio"],
        "without a thread for completions",
    ),
    foreign(
        &["donorname", "inplace"],
        &["e4defrag"],
        "the file that gives blocks",
    ),
    foreign(
        &["cpuload", "cpuchunks", "cpumode", "exit_on_io_done"],
        &["cpuio"],
        "how busy",
    ),
    foreign(
        &["program", "arguments", "grace_time", "std_redirect"],
        &["exec"],
        "what is run",
    ),
];

/// The engine with this name; a name with a path or a suffix `.so` is one from outside.
pub(crate) fn find(name: &str) -> Option<&'static Engine> {
    ENGINES.iter().find(|engine| engine.name == name)
}

/// Whether the name means an engine that is loaded from a file.
pub(crate) fn is_external(name: &str) -> bool {
    name.starts_with("external:") || name.starts_with('/') || name.ends_with(".so")
}
