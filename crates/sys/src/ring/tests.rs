use super::*;
use crate::file::{self, OpenFlags};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
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
    let file = tempfile::NamedTempFile::new().unwrap();
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
        if !forbid_rings_on_this_thread() {
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

/// A filter that answers EPERM to `io_uring_setup` and allows everything else.
fn forbid_rings_on_this_thread() -> bool {
    let (load, equal, answer) = (0x20, 0x15, 0x06);
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut steps = [
        step(load, 0, 0, 0),
        step(equal, 0, 1, libc::SYS_io_uring_setup as u32),
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
