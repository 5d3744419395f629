use super::*;
use crate::file::OpenFlags;
use crate::requests::RequestMode;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const BLOCK: usize = 4096;

fn config(slots: u32, batch: u32, reap_in_memory: bool) -> QueueConfig {
    QueueConfig {
        slots,
        batch,
        buffer_bytes: BLOCK,
        buffer_align: BLOCK,
        reap_in_memory,
        mode: RequestMode::default(),
    }
}

/// A queue, or a printed reason why this machine has none.
fn queue_or_skip(config: &QueueConfig, files: Vec<Arc<File>>) -> Option<Queue> {
    Queue::new(config, files)
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
    let flags = OpenFlags {
        read: true,
        write: true,
        direct,
        ..OpenFlags::default()
    };
    file::open(path, &flags).map(Arc::new)
}

/// Submits all that is queued and reaps everything outstanding, in order of slots.
fn finish(queue: &mut Queue) -> Vec<(u32, i32)> {
    let mut done = Vec::new();
    while queue.queued() + queue.in_flight() > 0 {
        queue.enter(1, None).unwrap();
        queue.reap(|slot, result| done.push((slot, result)));
    }
    done.sort_unstable();
    done
}

/// Pushes one request per slot, entering whenever the queue is full.
fn push_all(queue: &mut Queue, request_of: impl Fn(u32) -> Request) {
    for slot in 0..queue.slots() {
        if queue.queue_full() {
            queue.enter(0, None).unwrap();
        }
        queue.push(slot, request_of(slot));
    }
}

/// Queues what the kernel ends only when there is something to read in the pipe: a request that stays in flight.
fn push_until_readable(queue: &mut Queue, slot: u32, pipe: &impl AsRawFd) {
    const POLLIN: u64 = 1;
    let control = Control {
        opcode: context::POLL,
        descriptor: pipe.as_raw_fd() as u32,
        buffer: POLLIN,
        ..Control::default()
    };
    queue.push_control(slot, control);
}

fn round_trip(config: &QueueConfig, direct: bool) {
    let folder = tempfile::NamedTempFile::new().unwrap();
    let Ok(file) = read_write(folder.path(), direct) else {
        return println!("skipped: no direct I/O in the temporary folder");
    };
    let Some(mut queue) = queue_or_skip(config, vec![file]) else {
        return;
    };
    assert_eq!(queue.features().reaps_in_memory, config.reap_in_memory);
    let slots = queue.slots();
    let place = |slot: u32| u64::from(slots - 1 - slot) * BLOCK as u64;
    for slot in 0..slots {
        queue.buffer_mut(slot).fill(slot as u8 + 1);
    }
    push_all(&mut queue, |slot| {
        request(RequestKind::Write, place(slot), BLOCK as u32)
    });
    assert_eq!(queue.queued() + queue.in_flight(), slots);
    let all_whole: Vec<_> = (0..slots).map(|slot| (slot, BLOCK as i32)).collect();
    assert_eq!(finish(&mut queue), all_whole);

    for (slot, kind) in [(0, RequestKind::Fsync), (slots - 1, RequestKind::Fdatasync)] {
        queue.push(slot, request(kind, 0, 0));
        assert_eq!(finish(&mut queue), [(slot, 0)]);
    }
    // By another way: what an ordinary read sees.
    let content = std::fs::read(folder.path()).unwrap();
    assert_eq!(content.len(), slots as usize * BLOCK);
    for slot in 0..slots {
        let start = place(slot) as usize;
        let block = &content[start..start + BLOCK];
        assert!(block.iter().all(|byte| *byte == slot as u8 + 1));
        queue.buffer_mut(slot).fill(0);
    }
    push_all(&mut queue, |slot| {
        request(RequestKind::Read, place(slot), BLOCK as u32)
    });
    assert_eq!(finish(&mut queue), all_whole);
    for slot in 0..slots {
        let buffer = queue.buffer(slot);
        assert!(buffer.iter().all(|byte| *byte == slot as u8 + 1));
    }
    assert_eq!(queue.refusals(), 0);
}

#[test]
fn what_is_written_is_read_back_with_every_kind_of_queue() {
    for direct in [false, true] {
        for (slots, batch) in [(1, 1), (1, 64), (32, 4), (33, 33), (100, 3)] {
            for in_memory in [false, true] {
                round_trip(&config(slots, batch, in_memory), direct);
            }
        }
    }
}

/// The ring of the kernel has a little more room than there are slots, so that it runs around many times.
#[test]
fn completions_are_neither_lost_nor_doubled_when_the_ring_runs_around() {
    for in_memory in [false, true] {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        let Some(mut queue) = queue_or_skip(&config(5, 5, in_memory), vec![Arc::new(file)]) else {
            return;
        };
        for round in 0..1_000_u64 {
            let used = (round % 5 + 1) as u32;
            for slot in 0..used {
                queue.push(slot, request(RequestKind::Read, round % 200 * 512, 512));
            }
            let expected: Vec<_> = (0..used).map(|slot| (slot, 512)).collect();
            assert_eq!(finish(&mut queue), expected, "round {round}");
        }
    }
}

#[test]
fn failures_arrive_as_negative_errno_and_hold_up_nothing() {
    let folder = tempfile::NamedTempFile::new().unwrap();
    let read_only = OpenFlags {
        read: true,
        ..OpenFlags::default()
    };
    let file = Arc::new(file::open(folder.path(), &read_only).unwrap());
    let Some(mut queue) = queue_or_skip(&config(4, 4, true), vec![file]) else {
        return;
    };
    for slot in [3, 0] {
        queue.push(slot, request(RequestKind::Write, 0, 512));
    }
    queue.push(1, request(RequestKind::Read, 0, 512));
    queue.push(2, request(RequestKind::Write, 0, 512));
    assert_eq!(
        finish(&mut queue),
        [
            (0, -libc::EBADF),
            (1, 0),
            (2, -libc::EBADF),
            (3, -libc::EBADF)
        ]
    );
    // Reading own memory at address 0 fails with EIO, as a broken device does.
    let memory = Arc::new(file::open(Path::new("/proc/self/mem"), &read_only).unwrap());
    let Some(mut queue) = queue_or_skip(&config(1, 1, true), vec![memory]) else {
        return;
    };
    queue.push(0, request(RequestKind::Read, 0, 512));
    let done = finish(&mut queue);
    assert!(done[0].1 < 0, "{done:?}");
}

#[test]
fn reads_are_short_at_the_end_of_a_file() {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(&[5; 700], 0).unwrap();
    let Some(mut queue) = queue_or_skip(&config(2, 2, true), vec![Arc::new(file)]) else {
        return;
    };
    queue.push(0, request(RequestKind::Read, 512, 512));
    queue.push(1, request(RequestKind::Read, 4096, 512));
    assert_eq!(finish(&mut queue), [(0, 188), (1, 0)]);
}

#[test]
fn what_waits_in_the_submitting_call_is_told() {
    let folder = tempfile::NamedTempFile::new().unwrap();
    let buffered = read_write(folder.path(), false).unwrap();
    let read = || request(RequestKind::Read, 0, BLOCK as u32);
    let Some(mut queue) = queue_or_skip(&config(4, 4, true), vec![buffered.clone()]) else {
        return;
    };
    assert!(!queue.waits_in_submission());
    queue.push(0, request(RequestKind::Fsync, 0, 0));
    assert!(!queue.waits_in_submission());
    queue.push(1, read());
    assert!(queue.waits_in_submission());
    finish(&mut queue);
    assert!(!queue.waits_in_submission());
    queue.push(2, request(RequestKind::SyncFileSystem, 0, 0));
    assert!(queue.waits_in_submission());
    finish(&mut queue);
    let Ok(direct) = read_write(folder.path(), true) else {
        return println!("skipped: no direct I/O in the temporary folder");
    };
    queue.put_file(0, direct);
    queue.push(0, read());
    assert!(!queue.waits_in_submission());
    finish(&mut queue);
    queue.put_file(0, buffered);
    queue.push(0, read());
    assert!(queue.waits_in_submission());
    finish(&mut queue);
}

#[test]
fn a_timeout_returns_and_loses_nothing() {
    for in_memory in [false, true] {
        let (reader, writer) = std::io::pipe().unwrap();
        let Some(mut queue) = queue_or_skip(&config(2, 2, in_memory), Vec::new()) else {
            return;
        };
        let start = Instant::now();
        queue.enter(1, Some(3_000_000)).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(3), "it sleeps");
        queue.enter(1, None).unwrap();

        push_until_readable(&mut queue, 1, &reader);
        for _ in 0..2 {
            let start = Instant::now();
            queue.enter(2, Some(5_000_000)).unwrap();
            assert!(start.elapsed() >= Duration::from_millis(5));
            assert_eq!((queue.queued(), queue.in_flight()), (0, 1));
            assert_eq!(queue.reap(|_, _| panic!("nothing was written")), 0);
        }
        assert!(
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| queue.buffer(1).len()))
                .is_err()
        );
        (&writer).write_all(b"late").unwrap();
        // Capped to what is outstanding: no time limit, and yet no hang.
        queue.enter(2, None).unwrap();
        assert_eq!(queue.ready(), 1);
        assert_eq!(queue.reap(|slot, _| assert_eq!(slot, 1)), 1);
        assert_eq!((queue.in_flight(), queue.ready()), (0, 0));
    }
}

#[test]
fn dropping_with_a_request_that_never_completes_is_bounded_and_frees_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    let Some(mut queue) = queue_or_skip(&config(1, 1, true), Vec::new()) else {
        return;
    };
    push_until_readable(&mut queue, 0, &reader);
    queue.enter(0, None).unwrap();
    let memory = queue.slots.pointer(0, 0) as usize;
    let start = Instant::now();
    drop(queue);
    let took = start.elapsed();
    let bound = Duration::from_nanos(DROP_WAIT_NS)..Duration::from_secs(60);
    assert!(bound.contains(&took), "{took:?}");
    assert!(is_mapped(memory), "the kernel may still write here");
    // A process with requests in flight does not end.
    (&writer).write_all(b"late").unwrap();
}

#[test]
fn abandoning_is_immediate_and_keeps_the_buffers() {
    let (reader, writer) = std::io::pipe().unwrap();
    let Some(mut queue) = queue_or_skip(&config(1, 1, true), Vec::new()) else {
        return;
    };
    push_until_readable(&mut queue, 0, &reader);
    queue.enter(0, None).unwrap();
    let memory = queue.slots.pointer(0, 0) as usize;
    queue.abandon();
    assert!(is_mapped(memory));
    (&writer).write_all(b"late").unwrap();
}

#[test]
fn dropping_a_drained_queue_gives_all_back_and_submits_nothing() {
    if !crate::testing::is_alone(
        "aio::tests::dropping_a_drained_queue_gives_all_back_and_submits_nothing",
    ) {
        return;
    }
    let file = Arc::new(tempfile::tempfile().unwrap());
    let config = QueueConfig {
        buffer_bytes: 64 << 20,
        ..config(1, 1, true)
    };
    let contexts = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.matches("/[aio]").count()
    };
    let Some(mut queue) = queue_or_skip(&config, vec![file.clone()]) else {
        return;
    };
    let middle = queue.slots.pointer(0, 0) as usize + (32 << 20);
    assert!(is_mapped(middle));
    assert_eq!(contexts(), 1);
    queue.push(0, request(RequestKind::Write, 0, 512));
    drop(queue);
    assert!(!is_mapped(middle));
    assert_eq!(contexts(), 0);
    assert_eq!(file.metadata().unwrap().len(), 0);
    assert_eq!(Arc::strong_count(&file), 1);
}

#[test]
fn discarding_makes_a_hole_in_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![3; 4 * BLOCK]).unwrap();
    let opened = read_write(file.path(), false).unwrap();
    let Some(mut queue) = queue_or_skip(&config(1, 1, true), vec![opened]) else {
        return;
    };
    let hole = request(RequestKind::Discard, BLOCK as u64, 2 * BLOCK as u32);
    queue.push(0, hole);
    match finish(&mut queue)[..] {
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
            let mut queue = queue_or_skip(&config(1, 1, true), vec![opened])?;
            queue.push(0, request(RequestKind::Discard, 1 << 16, 1 << 17));
            Some(finish(&mut queue)[0].1)
        });
    let _ = Command::new("losetup").args(["--detach", &device]).status();
    match done {
        Some(0) => {}
        Some(refused) => return println!("skipped: discard refused with {refused}"),
        None => return println!("skipped: no queue on a loop device"),
    }
    let content = std::fs::read(file.path()).unwrap();
    for (index, byte) in content.iter().enumerate() {
        let discarded = (1 << 16..3 << 16).contains(&index);
        assert_eq!(*byte, if discarded { 0 } else { 3 }, "at {index}");
    }
}

#[test]
fn what_no_context_can_have_is_refused() {
    for (slots, batch, buffer_bytes, buffer_align) in [
        (0, 1, 1, 1),
        (1, 0, 1, 1),
        (65_537, 1, 1, 1),
        (1, 1, 0, 1),
        (1, 1, 1, 3),
    ] {
        let config = QueueConfig {
            buffer_bytes,
            buffer_align,
            ..config(slots, batch, true)
        };
        match Queue::new(&config, Vec::new()) {
            Err(refused) => {
                assert_eq!(refused.errno, libc::EINVAL, "{refused}");
                assert!(refused.to_string().contains("possible"));
            }
            Ok(_) => panic!("{config:?} was taken"),
        }
    }
}

/// Each misuse must panic, and leave the queue usable.
#[test]
fn misuse_panics_before_the_kernel_sees_it() {
    let file = Arc::new(tempfile::tempfile().unwrap());
    let Some(mut queue) = queue_or_skip(&config(2, 1, true), vec![file]) else {
        return;
    };
    let mut refuses = |what: &str, slot: u32, wrong: Request| {
        let pushed =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| queue.push(slot, wrong)));
        assert!(pushed.is_err(), "{what}");
        assert_eq!(queue.queued(), 0);
    };
    let read = request(RequestKind::Read, 0, 512);
    refuses("slot", 2, read);
    refuses("file", 0, Request { file: 1, ..read });
    let length = BLOCK as u32 + 1;
    refuses("length", 0, Request { length, ..read });
    let offset = u64::MAX;
    refuses("offset", 0, Request { offset, ..read });
    let kind = RequestKind::Fsync;
    refuses("sync of a part", 0, Request { kind, ..read });

    queue.push(0, read);
    for wrong in [0, 1] {
        let again =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| queue.push(wrong, read)));
        assert!(again.is_err(), "slot busy, then queue full");
    }
    assert_eq!(finish(&mut queue), [(0, 0)]);
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

#[test]
fn what_would_wait_fails_where_that_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, [7; 64 * BLOCK]).unwrap();
    let file = Arc::new(File::options().read(true).write(true).open(&path).unwrap());
    file::fsync(&file).unwrap();
    file::drop_cache(&file).unwrap();
    let mode = RequestMode {
        never_waits: true,
        ..RequestMode::default()
    };
    let hurried = QueueConfig {
        mode,
        ..config(1, 1, true)
    };
    let Some(mut queue) = queue_or_skip(&hurried, vec![Arc::clone(&file)]) else {
        return;
    };
    let mut read = || {
        queue.push(0, request(RequestKind::Read, 0, BLOCK as u32));
        let mut results = Vec::new();
        while results.is_empty() {
            queue.enter(1, Some(100_000_000)).unwrap();
            queue.reap(|_, result| results.push(result));
        }
        results[0]
    };
    let cold = read();
    if cold != -libc::EAGAIN {
        println!("skipped: this file system keeps its files cached, or cannot say ({cold})");
        return;
    }
    file.read_at(&mut [0; BLOCK], 0).unwrap();
    assert_eq!(read(), BLOCK as i32);
    let polled = RequestMode {
        is_polled: true,
        ..mode
    };
    let polled = QueueConfig {
        mode: polled,
        ..config(1, 1, true)
    };
    assert!(Queue::new(&polled, Vec::new()).is_err());
}
