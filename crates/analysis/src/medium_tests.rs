use super::*;
use crate::testing::{closed, figure};
use measure::{DeviceCounters, DeviceSample, ExecutionTarget, MountFacts, MountSample};
use plan::TargetId;

const OPERATIONS: usize = 1_000;
const BYTES: u64 = OPERATIONS as u64 * 4096;

/// A stream on a target of its own: how it opens that, what it does, and what is below.
struct Shape {
    cache: CacheMode,
    operation: Operation,
    target: ExecutionTarget,
}

fn on(kind: &str, devices: &[&str]) -> ExecutionTarget {
    let mut target = ExecutionTarget::default();
    target.identity.kind = "file".into();
    target.identity.counted_devices = devices.iter().map(|name| (*name).into()).collect();
    target.identity.mount = Some(MountFacts {
        point: "/mnt".into(),
        kind: kind.into(),
        ..MountFacts::default()
    });
    target
}

fn read(cache: CacheMode, target: ExecutionTarget) -> Shape {
    Shape {
        cache,
        operation: Operation::Read,
        target,
    }
}

fn write(cache: CacheMode, target: ExecutionTarget) -> Shape {
    Shape {
        operation: Operation::Write,
        ..read(cache, target)
    }
}

/// What each device moved, and what the process had moved, as shares of what one stream asked for.
fn found(shapes: &[Shape], moved: &[(&str, f64)], own: Option<f64>) -> Medium {
    let mut totals = closed(0, &[1_000; OPERATIONS]);
    let one = totals.started.streams.remove(0);
    totals.figures.clear();
    let bytes = |share: f64| (BYTES as f64 * share) as u64;
    let mut targets = Vec::new();
    for (place, shape) in shapes.iter().enumerate() {
        let mut stream = one.clone();
        stream.name = format!("s{place}");
        stream.cache_mode = Some(shape.cache);
        totals.started.streams.push(stream);
        let mut figure = figure(
            place as u32,
            shape.operation,
            &[1_000; OPERATIONS],
            &[1_000; OPERATIONS],
        );
        figure.key.target = TargetId::at(place);
        totals.figures.push(figure);
        targets.push(ExecutionTarget {
            name: format!("t{place}"),
            ..shape.target.clone()
        });
    }
    totals.host.fathom_read_bytes = own.map(bytes);
    totals.host.fathom_written_bytes = own.map(bytes);
    let device = |(name, share): &(&str, f64)| DeviceSample {
        device: (*name).into(),
        counters: DeviceCounters {
            read_bytes: bytes(*share),
            written_bytes: bytes(*share),
            ..DeviceCounters::default()
        },
        ..DeviceSample::default()
    };
    totals.host.devices = moved.iter().map(device).collect();
    totals.host.mounts = vec![MountSample {
        point: "/mnt".into(),
        server_read_bytes: own.map(bytes),
        ..MountSample::default()
    }];
    let grounds = targets
        .iter()
        .enumerate()
        .map(|(place, target)| TargetView {
            id: TargetId::at(place),
            target,
            is_written: false,
        });
    medium(&totals, &grounds.collect::<Vec<_>>())
}

#[track_caller]
fn is_reached(medium: &Medium) {
    let texts = (medium.memory_text(false), medium.not_seen_text());
    assert_eq!(texts, (None, None));
}

#[track_caller]
fn is_memory(medium: &Medium, words: &str) {
    let text = medium.memory_text(false).unwrap_or_default();
    assert!(text.contains(words), "{medium:?}");
    assert_eq!(medium.not_seen_text(), None);
}

#[track_caller]
fn is_not_seen(medium: &Medium, words: &str) {
    let text = medium.not_seen_text().unwrap_or_default();
    assert!(text.contains(words), "{medium:?}");
    assert_eq!(medium.memory_text(false), None);
}

use CacheMode::{Direct, WriteBack, WriteThrough};

#[test]
fn direct_io_reached_the_medium_where_its_counters_moved() {
    let one = |moved: f64| {
        found(
            &[read(Direct, on("ext4", &["sda"]))],
            &[("sda", moved)],
            Some(1.0),
        )
    };
    is_reached(&one(0.951));
    is_memory(
        &one(0.949),
        "the devices moved 95 % of the bytes that were read",
    );
    is_not_seen(
        &one(0.0),
        "the counters of `sda` stood still while direct I/O succeeded",
    );
    let untold = found(&[read(Direct, on("ext4", &["sda"]))], &[], Some(1.0));
    is_not_seen(&untold, "nothing tells what `sda` moved");
}

#[test]
fn a_neighbour_does_not_hide_the_page_cache() {
    let one = |own: Option<f64>| {
        found(
            &[read(WriteBack, on("ext4", &["sda"]))],
            &[("sda", 9.0)],
            own,
        )
    };
    is_memory(
        &one(Some(0.2)),
        "the devices moved 20 % of the bytes that were read",
    );
    is_reached(&one(Some(0.96)));
    // Where the kernel does not account, devices are all that there is, and others hide it.
    is_not_seen(&one(None), "others use `sda` as well");
}

#[test]
fn a_cached_stream_beside_a_direct_one_is_named() {
    let both = |own: f64| {
        let shapes = [
            read(Direct, on("ext4", &["sda"])),
            read(WriteBack, on("ext4", &["sda"])),
        ];
        found(&shapes, &[("sda", own)], Some(own))
    };
    is_memory(&both(1.0), "`s1`: the devices moved 0 % of the bytes");
    is_memory(&both(1.9), "`s1`: the devices moved 90 % of the bytes");
    is_reached(&both(1.96));
    // By itself, too: the bytes of the process are those of all streams.
    let of = |stream| both(1.0).of_streams(&[StreamId(stream)]);
    is_reached(&of(0));
    is_memory(&of(1), "the devices moved 0 % of the bytes");
}

#[test]
fn buffered_writes_count_once_their_dirty_pages_are_out() {
    let one = |cache, moved: f64| {
        found(
            &[write(cache, on("ext4", &["sda"]))],
            &[("sda", moved)],
            Some(1.0),
        )
    };
    is_memory(
        &one(WriteBack, 0.5),
        "the devices wrote 50 % of the bytes within the run; memory took the rest",
    );
    is_reached(&one(WriteBack, 0.96));
    is_reached(&one(WriteThrough, 1.0));
    is_reached(&one(Direct, 1.0));
}

/// Unlike reads, dirty pages are written for nobody: who else writes hides whether these got out.
#[test]
fn a_neighbour_hides_buffered_writes_and_that_is_said() {
    let one = |moved: f64| {
        found(
            &[write(WriteBack, on("ext4", &["sda"]))],
            &[("sda", moved)],
            Some(1.0),
        )
    };
    is_reached(&one(1.49));
    is_not_seen(&one(1.51), "others use `sda` as well");
    let mut looped = on("", &["loop0"]);
    looped.identity.cached_below = Some(vec!["sda".into()]);
    let below = |moved: f64| {
        let moved = [("loop0", 1.0), ("sda", moved)];
        found(&[read(Direct, looped.clone())], &moved, Some(1.0))
    };
    is_reached(&below(1.49));
    is_not_seen(&below(1.51), "others use the devices below `t0` as well");
}

#[test]
fn memory_is_no_medium_whatever_the_flags() {
    for cache in [Direct, WriteThrough, WriteBack] {
        let mut target = on("tmpfs", &[]);
        target.identity.ram_backed = true;
        is_memory(
            &found(&[write(cache, target.clone())], &[], Some(1.0)),
            "`t0` is in memory",
        );
        is_memory(
            &found(&[read(cache, target)], &[], Some(1.0)),
            "`t0` is in memory",
        );
    }
}

#[test]
fn without_counters_below_the_account_of_the_process_tells() {
    let overlay = |shape: fn(CacheMode, ExecutionTarget) -> Shape, cache, own| {
        found(&[shape(cache, on("overlay", &[]))], &[], own)
    };
    is_reached(&overlay(read, Direct, Some(1.0)));
    is_reached(&overlay(read, WriteBack, Some(1.0)));
    is_memory(
        &overlay(read, WriteBack, Some(0.1)),
        "moved 10 % of the bytes",
    );
    is_not_seen(
        &overlay(read, WriteBack, None),
        "overlay does not tell what reached the storage",
    );
    is_reached(&overlay(write, WriteThrough, Some(1.0)));
    is_not_seen(
        &overlay(write, WriteBack, Some(1.0)),
        "writes of `t0` are buffered",
    );
    // No process is charged for what goes through FUSE.
    for cache in [Direct, WriteBack] {
        let fuse = found(&[read(cache, on("fuse.nbdfuse", &[]))], &[], Some(0.0));
        is_not_seen(
            &fuse,
            "fuse.nbdfuse does not tell what reached the storage of `t0`",
        );
    }
}

#[test]
fn syncs_tell_that_writes_are_out_where_nothing_counts() {
    let synced = |syncs: usize| {
        let mut totals = closed(0, &[]);
        let write = figure(
            0,
            Operation::Write,
            &[1_000; OPERATIONS],
            &[1_000; OPERATIONS],
        );
        let values = vec![1_000; syncs];
        totals.figures = vec![write, figure(0, Operation::Sync, &values, &values)];
        totals.host.fathom_written_bytes = Some(BYTES);
        let target = on("overlay", &[]);
        let ground = TargetView {
            id: TargetId(0),
            target: &target,
            is_written: true,
        };
        medium(&totals, &[ground])
    };
    is_reached(&synced(50));
    is_not_seen(&synced(49), "are buffered");
}

#[test]
fn a_loop_device_over_a_cached_file_is_looked_below() {
    let one = |below: Option<&[&str]>, moved: &[(&str, f64)]| {
        let mut target = on("", &["loop0"]);
        target.identity.kind = "block device".into();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        target.identity.cached_below = below.map(names);
        found(&[read(Direct, target)], moved, Some(1.0))
    };
    is_reached(&one(None, &[("loop0", 1.0)]));
    is_reached(&one(Some(&["sda"]), &[("loop0", 1.0), ("sda", 1.0)]));
    is_memory(
        &one(Some(&["sda"]), &[("loop0", 1.0), ("sda", 0.3)]),
        "the page cache below `t0` answered: the devices below it moved 30 % of the bytes",
    );
    is_not_seen(
        &one(Some(&[]), &[("loop0", 1.0)]),
        "a page cache lies below `t0`, and nothing below that counts",
    );
}

#[test]
fn servers_and_compressing_file_systems_are_judged_by_what_they_tell() {
    let nfs = |own| found(&[read(Direct, on("nfs4", &[]))], &[], own);
    is_reached(&nfs(Some(1.0)));
    is_memory(&nfs(Some(0.5)), "moved 50 % of the bytes");
    is_not_seen(&nfs(None), "nothing tells what the server of `/mnt` moved");
    let btrfs = |options: &str| {
        let mut target = on("btrfs", &["sda"]);
        target.identity.mount.as_mut().unwrap().options = options.into();
        found(&[read(Direct, target)], &[("sda", 0.4)], Some(0.4))
    };
    is_not_seen(&btrfs("rw,compress=zstd:3"), "btrfs may compress");
    is_memory(&btrfs("rw"), "moved 40 % of the bytes");
}

#[test]
fn targets_of_which_nothing_is_known_are_not_seen() {
    let totals = closed(0, &[1_000; OPERATIONS]);
    is_not_seen(
        &medium(&totals, &[]),
        "the record does not say where its targets are stored",
    );
}

/// Many targets on one device, and devices that targets share, are one layer.
#[test]
fn what_targets_share_is_judged_together() {
    let shapes = [
        read(Direct, on("btrfs", &["sda", "sdb"])),
        read(Direct, on("ext4", &["sdb"])),
        read(Direct, on("ext4", &["sdc"])),
    ];
    is_reached(&found(
        &shapes,
        &[("sda", 0.5), ("sdb", 1.5), ("sdc", 1.0)],
        Some(3.0),
    ));
    let medium = found(
        &shapes,
        &[("sda", 0.5), ("sdb", 1.5), ("sdc", 0.5)],
        Some(3.0),
    );
    is_memory(&medium, "`s2`: the devices moved 50 %");
}
