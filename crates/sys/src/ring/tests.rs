use super::*;
use crate::file::{self, OpenFlags};
use crate::requests::{RequestMode, Submitter};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

const BLOCK: usize = 4096;

fn config(slots: u32, batch: u32) -> RingConfig {
    RingConfig {
        slots,
        batch,
        buffer_bytes: BLOCK,
        buffer_align: BLOCK,
        register_buffers: true,
        register_files: true,
        mode: RequestMode::default(),
    }
}

/// A ring, or a printed reason why this machine has none.
fn ring_or_skip(config: &RingConfig, files: Vec<Arc<File>>) -> Option<Ring> {
    Ring::new(config, files)
        .inspect_err(|refused| println!("skipped: {refused}"))
        .ok()
}

fn request(kind: RequestKind, offset: u64, length: u32) -> Request {
    Request {
        kind,
        file: 0,
        offset,
        length,
        priority: 0,
    }
}

fn read_write(path: &Path, direct: bool) -> io::Result<Arc<File>> {
    file::open(
        path,
        &OpenFlags {
            read: true,
            write: true,
            direct,
            ..OpenFlags::default()
        },
    )
    .map(Arc::new)
}

/// Submits all that is queued and reaps everything outstanding, in order of slots.
fn finish(ring: &mut Ring) -> Vec<(u32, i32)> {
    let mut done = Vec::new();
    while ring.queued() + ring.in_flight() > 0 {
        ring.enter(1, None).unwrap();
        ring.reap(|slot, result| done.push((slot, result)));
    }
    done.sort_unstable();
    done
}

/// Pushes one request per slot, entering whenever the queue is full.
fn push_all(ring: &mut Ring, request_of: impl Fn(u32) -> Request) {
    for slot in 0..ring.slots() {
        if ring.queue_full() {
            ring.enter(0, None).unwrap();
        }
        ring.push(slot, request_of(slot));
    }
}

fn round_trip(config: &RingConfig, direct: bool) {
    let folder = tempfile::NamedTempFile::new().unwrap();
    let Ok(file) = read_write(folder.path(), direct) else {
        return println!("skipped: no direct I/O in the temporary folder");
    };
    let Some(mut ring) = ring_or_skip(config, vec![file]) else {
        return;
    };
    let slots = ring.slots();
    let place = |slot: u32| u64::from(slots - 1 - slot) * BLOCK as u64;
    for slot in 0..slots {
        ring.buffer_mut(slot).fill(slot as u8 + 1);
    }
    push_all(&mut ring, |slot| {
        request(RequestKind::Write, place(slot), BLOCK as u32)
    });
    assert_eq!(ring.queued() + ring.in_flight(), slots);
    let all_whole: Vec<_> = (0..slots).map(|slot| (slot, BLOCK as i32)).collect();
    assert_eq!(finish(&mut ring), all_whole);

    for (slot, kind) in [(0, RequestKind::Fsync), (slots - 1, RequestKind::Fdatasync)] {
        ring.push(slot, request(kind, 0, 0));
        assert_eq!(finish(&mut ring), [(slot, 0)]);
    }
    // By another way: what an ordinary read sees.
    let content = std::fs::read(folder.path()).unwrap();
    assert_eq!(content.len(), slots as usize * BLOCK);
    for slot in 0..slots {
        let start = place(slot) as usize;
        assert!(
            content[start..start + BLOCK]
                .iter()
                .all(|byte| *byte == slot as u8 + 1)
        );
        ring.buffer_mut(slot).fill(0);
    }
    push_all(&mut ring, |slot| {
        request(RequestKind::Read, place(slot), BLOCK as u32)
    });
    assert_eq!(finish(&mut ring), all_whole);
    for slot in 0..slots {
        assert!(ring.buffer(slot).iter().all(|byte| *byte == slot as u8 + 1));
    }
    assert_eq!(ring.refusals(), 0);
}

#[test]
fn what_is_written_is_read_back_with_every_kind_of_ring() {
    for direct in [false, true] {
        for (slots, batch) in [(1, 1), (1, 64), (32, 4), (33, 33), (100, 3)] {
            for registered in [false, true] {
                let config = RingConfig {
                    register_buffers: registered,
                    register_files: registered,
                    mode: RequestMode::default(),
                    ..config(slots, batch)
                };
                round_trip(&config, direct);
            }
        }
    }
}

#[test]
fn the_queue_is_sized_by_batch_and_all_slots_can_be_out() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let reader = Arc::new(File::from(OwnedFd::from(reader)));
    let Some(mut ring) = ring_or_skip(&config(21, 6), vec![reader]) else {
        return;
    };
    for slot in 0..8 {
        assert!(!ring.queue_full());
        ring.push(slot, request(RequestKind::Read, 0, 1));
        assert_eq!((ring.queued(), ring.in_flight()), (slot + 1, 0));
    }
    assert!(ring.queue_full());
    ring.enter(0, None).unwrap();
    assert_eq!((ring.queued(), ring.in_flight()), (0, 8));
    for slot in 8..21 {
        if ring.queue_full() {
            ring.enter(0, None).unwrap();
        }
        ring.push(slot, request(RequestKind::Read, 0, 1));
    }
    ring.enter(0, None).unwrap();
    assert_eq!(ring.in_flight(), 21);
    assert!((0..21).all(|slot| ring.is_busy(slot)));
    assert_eq!(ring.ready(), 0);
    (&_writer).write_all(&[9; 21]).unwrap();
    assert_eq!(
        finish(&mut ring),
        (0..21).map(|slot| (slot, 1)).collect::<Vec<_>>()
    );
    assert!((0..21).all(|slot| !ring.is_busy(slot) && ring.buffer(slot)[0] == 9));
}

#[test]
fn failures_arrive_as_negative_errno() {
    let folder = tempfile::NamedTempFile::new().unwrap();
    let read_only = OpenFlags {
        read: true,
        ..OpenFlags::default()
    };
    let file = Arc::new(file::open(folder.path(), &read_only).unwrap());
    let directory = Arc::new(file::open(Path::new("/"), &read_only).unwrap());
    let Some(mut ring) = ring_or_skip(&config(4, 4), vec![file, directory]) else {
        return;
    };
    ring.push(2, request(RequestKind::Write, 0, 512));
    ring.push(
        0,
        Request {
            file: 1,
            ..request(RequestKind::Read, 0, 512)
        },
    );
    ring.push(1, request(RequestKind::Read, 0, 512));
    assert_eq!(
        finish(&mut ring),
        [(0, -libc::EISDIR), (1, 0), (2, -libc::EBADF)]
    );
    // Reading own memory at address 0 fails with EIO, as a broken device does.
    let memory = Arc::new(file::open(Path::new("/proc/self/mem"), &read_only).unwrap());
    let Some(mut ring) = ring_or_skip(&config(1, 1), vec![memory]) else {
        return;
    };
    ring.push(0, request(RequestKind::Read, 0, 512));
    assert_eq!(finish(&mut ring), [(0, -libc::EIO)]);
}

#[test]
fn reads_are_short_at_the_end_of_a_file() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&[5; 700], 0).unwrap();
    let Some(mut ring) = ring_or_skip(&config(2, 2), vec![Arc::new(file)]) else {
        return;
    };
    ring.push(0, request(RequestKind::Read, 512, 512));
    ring.push(1, request(RequestKind::Read, 4096, 512));
    assert_eq!(finish(&mut ring), [(0, 188), (1, 0)]);
}

#[test]
fn a_timeout_returns_and_loses_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    let reader = Arc::new(File::from(OwnedFd::from(reader)));
    let Some(mut ring) = ring_or_skip(&config(2, 2), vec![reader]) else {
        return;
    };
    let start = Instant::now();
    ring.enter(1, Some(3_000_000)).unwrap();
    assert!(
        start.elapsed() >= Duration::from_millis(3),
        "with nothing outstanding it sleeps"
    );
    ring.enter(1, None).unwrap();

    ring.push(1, request(RequestKind::Read, 0, 4));
    let start = Instant::now();
    ring.enter(2, Some(5_000_000)).unwrap();
    // The call that submits hides a timeout behind its count; in both cases nothing has come.
    assert!(start.elapsed() >= Duration::from_millis(5));
    assert_eq!((ring.queued(), ring.in_flight(), ring.ready()), (0, 1, 0));
    let start = Instant::now();
    ring.enter(1, Some(5_000_000)).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(5));
    assert_eq!(ring.reap(|_, _| panic!("nothing was written")), 0);
    (&writer).write_all(b"late").unwrap();
    // Capped to what is outstanding: no time limit, and yet no hang.
    ring.enter(2, None).unwrap();
    assert_eq!(ring.ready(), 1);
    assert_eq!(
        ring.reap(|slot, result| assert_eq!((slot, result), (1, 4))),
        1
    );
    assert_eq!(ring.buffer(1)[..4], *b"late");
}

#[test]
fn dropping_with_a_request_that_never_completes_is_bounded_and_frees_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    let reader = Arc::new(File::from(OwnedFd::from(reader)));
    let Some(mut ring) = ring_or_skip(&config(1, 1), vec![reader.clone()]) else {
        return;
    };
    ring.push(0, request(RequestKind::Read, 0, 4));
    ring.enter(0, None).unwrap();
    let memory = ring.slots.pointer(0, 0);
    let start = Instant::now();
    drop(ring);
    let took = start.elapsed();
    assert!(
        took >= Duration::from_nanos(DROP_WAIT_NS) && took < Duration::from_secs(60),
        "{took:?}"
    );
    assert!(
        is_mapped(memory as usize),
        "the kernel may still write here"
    );
    (&writer).write_all(b"late").unwrap();
}

#[test]
fn abandoning_is_immediate_and_keeps_the_buffers() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let reader = Arc::new(File::from(OwnedFd::from(reader)));
    let Some(mut ring) = ring_or_skip(&config(1, 1), vec![reader]) else {
        return;
    };
    ring.push(0, request(RequestKind::Read, 0, 4));
    ring.enter(0, None).unwrap();
    let memory = ring.slots.pointer(0, 0);
    ring.abandon();
    assert!(is_mapped(memory as usize));
}

#[test]
fn dropping_a_drained_ring_gives_the_memory_back_and_submits_nothing() {
    if !crate::testing::is_alone(
        "ring::tests::dropping_a_drained_ring_gives_the_memory_back_and_submits_nothing",
    ) {
        return;
    }
    let file = Arc::new(tempfile::tempfile().unwrap());
    let config = RingConfig {
        buffer_bytes: 64 << 20,
        register_buffers: false,
        ..config(1, 1)
    };
    let Some(mut ring) = ring_or_skip(&config, vec![file.clone()]) else {
        return;
    };
    let middle = ring.slots.pointer(0, 0) as usize + (32 << 20);
    assert!(is_mapped(middle));
    ring.push(0, request(RequestKind::Write, 0, 512));
    drop(ring);
    assert!(!is_mapped(middle));
    assert_eq!(file.metadata().unwrap().len(), 0);
    assert_eq!(Arc::strong_count(&file), 1);
}

#[test]
fn discarding_makes_a_hole_in_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![3; 4 * BLOCK]).unwrap();
    let Some(mut ring) = ring_or_skip(&config(1, 1), vec![read_write(file.path(), false).unwrap()])
    else {
        return;
    };
    ring.push(
        0,
        request(RequestKind::Discard, BLOCK as u64, 2 * BLOCK as u32),
    );
    match finish(&mut ring)[..] {
        [(0, 0)] => {}
        [(0, refused)] if refused == -libc::EOPNOTSUPP => {
            return println!("skipped: no holes in this file system");
        }
        ref other => panic!("{other:?}"),
    }
    let content = std::fs::read(file.path()).unwrap();
    let expected = [vec![3; BLOCK], vec![0; 2 * BLOCK], vec![3; BLOCK]].concat();
    assert!(content == expected, "same length, a hole in the middle");
}

#[test]
fn discarding_on_a_block_device_discards() {
    let file = crate::named::builder().tempfile().unwrap();
    std::fs::write(file.path(), vec![3; 1 << 20]).unwrap();
    let output = Command::new("losetup")
        .args(["--find", "--show"])
        .arg(file.path())
        .output();
    let device = match output {
        Ok(output) if output.status.success() => {
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }
        _ => return println!("skipped: losetup is missing or refused"),
    };
    let done = read_write(Path::new(&device), true)
        .ok()
        .and_then(|opened| {
            let mut ring = ring_or_skip(&config(1, 1), vec![opened])?;
            ring.push(0, request(RequestKind::Discard, 1 << 16, 1 << 17));
            Some(finish(&mut ring)[0].1)
        });
    let _ = Command::new("losetup").args(["--detach", &device]).status();
    match done {
        Some(0) => {}
        Some(refused) => return println!("skipped: discard refused with {refused}"),
        None => return println!("skipped: no ring on a loop device"),
    }
    let content = std::fs::read(file.path()).unwrap();
    for (index, byte) in content.iter().enumerate() {
        let discarded = (1 << 16..3 << 16).contains(&index);
        assert_eq!(*byte, if discarded { 0 } else { 3 }, "at {index}");
    }
}

#[test]
fn an_ordinary_user_registers_as_many_buffers_as_may_be_locked() {
    // On a thread of its own, whose user the raw system calls change for it alone.
    let outcome = std::thread::spawn(|| {
        // SAFETY: changes the credentials of this thread only, and touches no memory.
        let changed = unsafe { libc::syscall(libc::SYS_setresgid, 54_321, 54_321, 54_321) } == 0
            // SAFETY: as above.
            && unsafe { libc::syscall(libc::SYS_setresuid, 54_321, 54_321, 54_321) } == 0;
        if !changed {
            println!("not root: as the user who runs the tests");
        }
        let Some(limit) =
            crate::memory::memlock_limit().filter(|limit| (1 << 20..1 << 30).contains(limit))
        else {
            return println!("skipped: memory may be locked without a useful limit");
        };
        let buffer_bytes = 256 << 10;
        let slots = (limit / buffer_bytes as u64) as u32 * 2 + 1;
        let file = Arc::new(tempfile::tempfile().unwrap());
        let config = RingConfig {
            buffer_bytes,
            ..config(slots, 16)
        };
        let Some(mut ring) = ring_or_skip(&config, vec![file]) else {
            return;
        };
        let features = *ring.features();
        if features.registered_buffers == slots {
            return println!("skipped: this user is exempt from the limit");
        }
        assert!(features.registered_buffers > 0, "{features}");
        assert!(
            u64::from(features.registered_buffers) * buffer_bytes as u64 <= limit,
            "{features}"
        );
        assert_eq!(features.buffers_errno, libc::ENOMEM);
        assert!(features.to_string().contains("RLIMIT_MEMLOCK"));
        // Slots on both sides of the border work alike.
        for slot in [
            0,
            features.registered_buffers - 1,
            features.registered_buffers,
            slots - 1,
        ] {
            ring.buffer_mut(slot).fill(slot as u8);
            ring.push(
                slot,
                request(
                    RequestKind::Write,
                    u64::from(slot) * buffer_bytes as u64,
                    buffer_bytes as u32,
                ),
            );
            assert_eq!(finish(&mut ring), [(slot, buffer_bytes as i32)]);
        }
    });
    outcome.join().unwrap();
}

#[test]
fn a_seccomp_filter_is_named_as_the_cause() {
    let outcome = std::thread::spawn(|| {
        if !forbid_on_this_thread(libc::SYS_io_uring_setup) {
            return println!("skipped: no seccomp here");
        }
        let refused = Ring::new(&config(1, 1), Vec::new()).unwrap_err();
        assert_eq!(refused.errno, libc::EPERM);
        let text = refused.to_string();
        assert!(
            text.contains("seccomp") || text.contains("io_uring_disabled"),
            "{text}"
        );
    });
    outcome.join().unwrap();
}

#[test]
fn sizes_out_of_range_are_refused() {
    for (slots, batch, buffer_bytes, buffer_align) in [
        (0, 1, 1, 1),
        (1, 0, 1, 1),
        (65_537, 1, 1, 1),
        (1, 32_769, 1, 1),
        (1, 1, 0, 1),
        (1, 1, 1, 3),
    ] {
        let config = RingConfig {
            buffer_bytes,
            buffer_align,
            ..config(slots, batch)
        };
        match Ring::new(&config, Vec::new()) {
            Err(refused) if refused.errno == libc::EINVAL => {
                assert!(refused.to_string().contains("possible"))
            }
            Err(refused) => println!("skipped: {refused}"),
            Ok(_) => panic!("{config:?} was taken"),
        }
    }
}

/// Each misuse must panic, and leave the ring usable.
#[test]
fn misuse_panics_before_the_kernel_sees_it() {
    let file = Arc::new(tempfile::tempfile().unwrap());
    let Some(mut ring) = ring_or_skip(&config(2, 1), vec![file]) else {
        return;
    };
    let mut refuses = |what: &str, slot: u32, wrong: Request| {
        let pushed =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ring.push(slot, wrong)));
        assert!(pushed.is_err(), "{what}");
        assert_eq!(ring.queued(), 0);
    };
    let read = request(RequestKind::Read, 0, 512);
    refuses("slot", 2, read);
    refuses("file", 0, Request { file: 1, ..read });
    refuses(
        "length",
        0,
        Request {
            length: BLOCK as u32 + 1,
            ..read
        },
    );
    refuses(
        "offset",
        0,
        Request {
            offset: u64::MAX,
            ..read
        },
    );
    refuses(
        "sync of a part",
        0,
        Request {
            kind: RequestKind::Fsync,
            ..read
        },
    );

    ring.push(0, read);
    for wrong in [0, 1] {
        let again =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ring.push(wrong, read)));
        assert!(again.is_err(), "slot busy, then queue full");
    }
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ring.buffer(0).len())).is_err()
    );
    assert!(
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ring.buffer_mut(0).len()))
            .is_err()
    );
    assert_eq!(finish(&mut ring), [(0, 0)]);
}

fn is_mapped(address: usize) -> bool {
    std::fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .any(|line| {
            let range = line.split(' ').next().unwrap().split_once('-').unwrap();
            let ends = [range.0, range.1].map(|end| usize::from_str_radix(end, 16).unwrap());
            (ends[0]..ends[1]).contains(&address)
        })
}

/// A filter that answers EPERM to a call and allows everything else.
fn forbid_on_this_thread(call: libc::c_long) -> bool {
    let (load, equal, answer) = (0x20, 0x15, 0x06);
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(load, 0, 0, 0),
        step(equal, 0, 1, call as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: takes plain numbers.
    let no_new = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the program and its steps live through the call, which copies them; it binds this thread alone.
    no_new == 0
        && unsafe {
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            )
        } == 0
}

/// Names of the threads of this process that begin so.
fn threads_named(begin: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with(begin)).count()
}

fn cached_file() -> Arc<File> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; 8 * BLOCK]).unwrap();
    Arc::new(file)
}

/// One read after another; what each came back with.
fn reads(ring: &mut Ring, count: u64) -> Vec<i32> {
    let mut results = Vec::new();
    for number in 0..count {
        ring.push(
            0,
            request(RequestKind::Read, number * BLOCK as u64, BLOCK as u32),
        );
        while ring.reap(|_, result| results.push(result)) == 0 {
            ring.enter(1, Some(100_000_000)).unwrap();
        }
    }
    results
}

#[test]
fn what_shows_already_is_waited_for_without_a_call() {
    let outcome = std::thread::spawn(|| {
        let Some(mut ring) = ring_or_skip(&config(2, 2), vec![cached_file()]) else {
            return;
        };
        let read = |offset| request(RequestKind::Read, offset, BLOCK as u32);
        ring.push(0, read(0));
        ring.push(1, read(0));
        while ring.ready() < 2 {
            ring.enter(2, Some(100_000_000)).unwrap();
        }
        if !forbid_on_this_thread(libc::SYS_io_uring_enter) {
            return println!("skipped: no seccomp here");
        }
        ring.enter(2, Some(100_000_000)).unwrap();
        ring.enter(1, None).unwrap();
        assert!(ring.enter(0, None).is_err(), "a look is a call");
        assert_eq!(ring.reap(|_, _| ()), 2);
        ring.push(0, read(0));
        assert!(ring.enter(0, None).is_err(), "and so is a submission");
    });
    outcome.join().unwrap();
}

#[test]
fn requests_are_handed_to_other_threads_where_that_is_asked() {
    if !crate::testing::is_alone(
        "ring::tests::requests_are_handed_to_other_threads_where_that_is_asked",
    ) {
        return;
    }
    for every in [0, 2] {
        let mode = RequestMode {
            handed_off_every: every,
            ..RequestMode::default()
        };
        let config = RingConfig {
            mode,
            ..config(1, 1)
        };
        let Some(mut ring) = ring_or_skip(&config, vec![cached_file()]) else {
            return;
        };
        assert_eq!(reads(&mut ring, 1), [BLOCK as i32]);
        assert_eq!(threads_named("iou-wrk"), 0);
        assert_eq!(reads(&mut ring, 1), [BLOCK as i32]);
        assert_eq!(threads_named("iou-wrk") > 0, every > 0);
    }
}

#[test]
fn a_thread_of_the_kernel_takes_requests_where_that_is_asked() {
    if !crate::testing::is_alone(
        "ring::tests::a_thread_of_the_kernel_takes_requests_where_that_is_asked",
    ) {
        return;
    }
    assert_eq!(threads_named("iou-sqp"), 0);
    for cpu in [None, Some(0)] {
        let mode = RequestMode {
            submitter: Some(Submitter { cpu }),
            ..RequestMode::default()
        };
        let config = RingConfig {
            mode,
            ..config(4, 2)
        };
        let Some(mut ring) = ring_or_skip(&config, vec![cached_file()]) else {
            return;
        };
        assert!(ring.features().has_submitter);
        // It takes its name when it begins to run, and that of the ring before ends at its leisure.
        let begun = Instant::now();
        while threads_named("iou-sqp") != 1 && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(threads_named("iou-sqp"), 1);
        assert_eq!(reads(&mut ring, 3), [BLOCK as i32; 3]);
        for slot in 0..4 {
            ring.push(
                slot,
                request(
                    RequestKind::Read,
                    u64::from(slot) * BLOCK as u64,
                    BLOCK as u32,
                ),
            );
        }
        assert!(
            ring.queue_full() && ring.ready() == 0,
            "nobody has seen them yet"
        );
        let mut slots = Vec::new();
        while slots.len() < 4 {
            ring.enter(4, Some(100_000_000)).unwrap();
            ring.reap(|slot, result| slots.push((slot, result)));
        }
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2, 3].map(|slot| (slot, BLOCK as i32)));
        assert_eq!((ring.queued(), ring.in_flight()), (0, 0));
        // Longer than the thread waits before it sleeps, once.
        if cpu.is_none() {
            std::thread::sleep(Duration::from_millis(1500));
            assert_eq!(reads(&mut ring, 2), [BLOCK as i32; 2]);
        }
        ring.enter(1, Some(1000)).unwrap();
    }
}

#[test]
fn completions_are_polled_for_where_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, [7; 4 * BLOCK]).unwrap();
    let Ok(file) = read_write(&path, true) else {
        println!("skipped: no direct I/O there");
        return;
    };
    let mode = RequestMode {
        is_polled: true,
        ..RequestMode::default()
    };
    let config = RingConfig {
        mode,
        ..config(1, 1)
    };
    let Some(mut ring) = ring_or_skip(&config, vec![file]) else {
        return;
    };
    assert!(ring.features().is_polled);
    for result in reads(&mut ring, 4) {
        // The second is how a device says that it has no queue for it.
        assert!(
            [BLOCK as i32, -libc::EOPNOTSUPP].contains(&result),
            "{result}"
        );
    }
    // No call waits for what is not outstanding.
    ring.enter(1, Some(1000)).unwrap();
}

/// A file of which the page cache holds nothing; `None` where it does not let go.
fn cold_file(path: &Path) -> Arc<File> {
    std::fs::write(path, [7; 64 * BLOCK]).unwrap();
    let file = read_write(path, false).unwrap();
    file::fsync(&file).unwrap();
    file::drop_cache(&file).unwrap();
    file
}

/// Whether the page cache holds the first block; `None` where that cannot be asked.
fn is_cached(file: &File) -> Option<bool> {
    let mode = RequestMode {
        never_waits: true,
        ..RequestMode::default()
    };
    match file::pread_as(file, &mut [0; BLOCK], 0, mode) {
        Ok(BLOCK) => Some(true),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Some(false),
        _ => None,
    }
}

#[test]
fn what_would_wait_fails_where_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    if is_cached(&cold_file(&folder.path().join("other"))) != Some(false) {
        println!("skipped: this file system keeps its files cached");
        return;
    }
    let file = cold_file(&folder.path().join("data"));
    let mode = RequestMode {
        never_waits: true,
        ..RequestMode::default()
    };
    let hurried = RingConfig {
        mode,
        ..config(1, 1)
    };
    let Some(mut ring) = ring_or_skip(&hurried, vec![Arc::clone(&file)]) else {
        return;
    };
    assert_eq!(reads(&mut ring, 1), [-libc::EAGAIN]);
    let mut plain = Ring::new(&config(1, 1), vec![file]).unwrap();
    assert_eq!(reads(&mut plain, 1), [BLOCK as i32]);
    assert_eq!(reads(&mut ring, 1), [BLOCK as i32]);
}

/// Each file is looked at once: looking begins to read it.
#[test]
fn nothing_stays_in_the_page_cache_where_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let cold = |name: &str| cold_file(&folder.path().join(name));
    let mode = RequestMode {
        leaves_no_cache: true,
        ..RequestMode::default()
    };
    let passing = RingConfig {
        mode,
        ..config(1, 1)
    };
    let file = cold("ring");
    let Some(mut ring) = ring_or_skip(&passing, vec![Arc::clone(&file)]) else {
        return;
    };
    let read = reads(&mut ring, 1);
    if read == [-libc::EOPNOTSUPP] || is_cached(&cold("other")) != Some(false) {
        println!("skipped: not on this kernel or file system");
        return;
    }
    assert_eq!((read, is_cached(&file)), (vec![BLOCK as i32], Some(false)));
    let file = cold("call");
    let read = file::pread_as(&file, &mut [0; BLOCK], 0, mode).unwrap();
    assert_eq!((read, is_cached(&file)), (BLOCK, Some(false)));
    let file = cold("plain");
    let mut plain = Ring::new(&config(1, 1), vec![Arc::clone(&file)]).unwrap();
    reads(&mut plain, 1);
    assert_eq!(is_cached(&file), Some(true));
}

#[test]
fn a_file_system_is_flushed_within_entering() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, [7; BLOCK]).unwrap();
    let file = read_write(&path, false).unwrap();
    // A descriptor that names a file and opens nothing is refused, by this call like by others.
    let named = File::options()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(&path)
        .unwrap();
    let plain = config(2, 2);
    let with_submitter = RingConfig {
        mode: RequestMode {
            submitter: Some(Submitter { cpu: None }),
            ..RequestMode::default()
        },
        ..config(2, 2)
    };
    for config in [&plain, &with_submitter] {
        let Some(mut ring) = ring_or_skip(config, vec![Arc::clone(&file)]) else {
            continue;
        };
        ring.push(1, request(RequestKind::SyncFileSystem, 0, 0));
        ring.push(0, request(RequestKind::Read, 0, BLOCK as u32));
        assert_eq!((ring.queued(), ring.ready()), (2, 0));
        let mut done = finish(&mut ring);
        done.sort_unstable();
        assert_eq!(done, [(0, BLOCK as i32), (1, 0)]);
        assert!(!ring.is_busy(1));
    }
    let Some(mut ring) = ring_or_skip(&plain, vec![Arc::new(named)]) else {
        return;
    };
    ring.push(0, request(RequestKind::SyncFileSystem, 0, 0));
    assert_eq!(finish(&mut ring), [(0, -libc::EBADF)]);
}
