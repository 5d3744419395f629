use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

const READ_WRITE: OpenFlags = OpenFlags {
    read: true,
    write: true,
    create: false,
    direct: false,
    dsync: false,
    sync: false,
    exclusive: false,
    raw: 0,
};

/// A loop device over a new file, detached again at the end; nothing where that is not possible.
struct LoopDevice {
    path: std::path::PathBuf,
    _file: tempfile::NamedTempFile,
}

impl LoopDevice {
    fn attach(bytes: u64, options: &[&str]) -> Option<LoopDevice> {
        let file = crate::named::builder().tempfile().unwrap();
        file.as_file().set_len(bytes).unwrap();
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .args(options)
            .arg(file.path())
            .output()
            .ok()?;
        let path = String::from_utf8(output.stdout).unwrap().trim().into();
        output
            .status
            .success()
            .then_some(LoopDevice { path, _file: file })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .arg("--detach")
            .arg(&self.path)
            .status();
    }
}

#[test]
fn opening_never_truncates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    fs::write(&path, b"content").unwrap();
    for create in [false, true] {
        for write_only in [false, true] {
            for (dsync, sync) in [(false, false), (true, false), (false, true)] {
                let flags = OpenFlags {
                    create,
                    read: !write_only,
                    dsync,
                    sync,
                    ..READ_WRITE
                };
                drop(open(&path, &flags).unwrap());
                assert_eq!(fs::read(&path).unwrap(), b"content");
            }
        }
    }
    for raw in [
        libc::O_TRUNC,
        libc::O_TRUNC | libc::O_NOFOLLOW,
        libc::O_APPEND,
        libc::O_RDWR,
        libc::O_WRONLY,
    ] {
        let error = open(&path, &OpenFlags { raw, ..READ_WRITE }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(fs::read(&path).unwrap(), b"content");
    }
}

#[test]
fn flags_reach_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let created = open(
        &path,
        &OpenFlags {
            create: true,
            exclusive: true,
            ..READ_WRITE
        },
    )
    .unwrap();
    assert_eq!(created.metadata().unwrap().permissions().mode() & 0o7111, 0);
    let again = open(
        &path,
        &OpenFlags {
            create: true,
            exclusive: true,
            ..READ_WRITE
        },
    )
    .unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    let missing = open(&folder.path().join("missing"), &READ_WRITE).unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);

    let flags_of =
        |flags: OpenFlags| rustix::fs::fcntl_getfl(open(&path, &flags).unwrap()).unwrap();
    assert!(
        flags_of(OpenFlags {
            dsync: true,
            ..READ_WRITE
        })
        .contains(OFlags::DSYNC)
    );
    assert!(
        flags_of(OpenFlags {
            sync: true,
            ..READ_WRITE
        })
        .contains(OFlags::SYNC)
    );
    assert!(
        flags_of(OpenFlags {
            raw: libc::O_NOATIME,
            ..READ_WRITE
        })
        .contains(OFlags::NOATIME)
    );
    assert!(!flags_of(READ_WRITE).intersects(OFlags::DSYNC | OFlags::DIRECT));

    for flags in [
        OpenFlags::default(),
        OpenFlags {
            read: true,
            create: true,
            ..OpenFlags::default()
        },
    ] {
        assert_eq!(
            open(&path, &flags).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}

#[test]
fn reads_return_what_was_written_and_are_short_at_the_end() {
    let file = tempfile::tempfile().unwrap();
    assert_eq!(pwrite(&file, b"abcdef", 10).unwrap(), 6);
    fsync(&file).unwrap();
    fdatasync(&file).unwrap();
    let mut buffer = [1; 8];
    assert_eq!(pread(&file, &mut buffer, 12).unwrap(), 4);
    assert_eq!(&buffer, b"cdef\x01\x01\x01\x01");
    assert_eq!(pread(&file, &mut buffer, 0).unwrap(), 8);
    assert_eq!(buffer, [0; 8]);
    assert_eq!(pread(&file, &mut buffer, 100).unwrap(), 0);
}

#[test]
fn extending_refuses_to_shrink() {
    let file = tempfile::tempfile().unwrap();
    pwrite(&file, b"12345", 0).unwrap();
    for len in [0, 4] {
        assert_eq!(
            extend(&file, len).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(file.metadata().unwrap().len(), 5);
    }
    extend(&file, 5).unwrap();
    extend(&file, 9).unwrap();
    let mut buffer = [1; 10];
    assert_eq!(pread(&file, &mut buffer, 0).unwrap(), 9);
    assert_eq!(&buffer[..9], b"12345\0\0\0\0");
    let device = fs::File::options().write(true).open("/dev/null").unwrap();
    assert_eq!(
        extend(&device, 9).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
}

#[test]
fn the_lock_is_one_open_files() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let first = open(file.path(), &READ_WRITE).unwrap();
    let second = open(file.path(), &READ_WRITE).unwrap();
    assert!(lock_exclusive(&first).unwrap());
    assert!(lock_exclusive(&first).unwrap());
    assert!(!lock_exclusive(&second).unwrap());
    drop(first);
    assert!(lock_exclusive(&second).unwrap());
}

#[test]
fn a_block_device_tells_its_size_and_blocks() {
    let Some(device) = LoopDevice::attach(3 << 20, &["--read-only", "--sector-size", "4096"])
    else {
        return println!("skipped: losetup is missing or refused");
    };
    let file = open(
        &device.path,
        &OpenFlags {
            read: true,
            ..OpenFlags::default()
        },
    )
    .unwrap();
    assert_eq!(device_bytes(&file).unwrap(), 3 << 20);
    assert!(is_read_only(&file).unwrap());
    assert_eq!(logical_block_bytes(&file).unwrap(), 4096);
    assert!(physical_block_bytes(&file).unwrap() >= 4096);
    assert_eq!(direct_io_alignment(&device.path).unwrap().offset, 4096);
    assert_eq!(
        file_system(&device.path).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );

    let Some(writable) = LoopDevice::attach(1 << 20, &[]) else {
        return println!("skipped: only one loop device");
    };
    let claim = OpenFlags {
        exclusive: true,
        ..READ_WRITE
    };
    let first = open(&writable.path, &claim).unwrap();
    assert!(!is_read_only(&first).unwrap());
    assert_eq!(
        open(&writable.path, &claim).unwrap_err().raw_os_error(),
        Some(libc::EBUSY)
    );
}

#[test]
fn a_regular_file_is_no_device() {
    let file = tempfile::tempfile().unwrap();
    let errors = [
        device_bytes(&file).unwrap_err(),
        is_read_only(&file).unwrap_err(),
        logical_block_bytes(&file).unwrap_err(),
        physical_block_bytes(&file).unwrap_err(),
    ];
    assert!(
        errors
            .iter()
            .all(|error| error.raw_os_error() == Some(libc::ENOTTY))
    );
}

#[test]
fn direct_reads_with_the_told_alignment_work() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), vec![7; 1 << 16]).unwrap();
    let Some(alignment) = direct_io_alignment(file.path()) else {
        return println!("skipped: no direct I/O in the temporary folder");
    };
    let (memory, offset) = (alignment.memory as usize, alignment.offset as usize);
    assert!(memory.is_power_of_two() && offset.is_power_of_two());
    let direct = open(
        file.path(),
        &OpenFlags {
            direct: true,
            ..READ_WRITE
        },
    )
    .unwrap();
    let mut buffers = crate::buffer::AlignedBuffers::new(2, offset, memory).unwrap();
    assert_eq!(
        pread(&direct, buffers.get_mut(1), offset as u64).unwrap(),
        offset
    );
    assert!(buffers.get(1).iter().all(|byte| *byte == 7));
    assert_eq!(direct_io_alignment(Path::new("/no such path")), None);
}

#[test]
fn file_systems_are_told_apart() {
    let here = file_system(tempfile::tempdir().unwrap().path()).unwrap();
    assert!(here.total_bytes >= here.free_bytes && here.total_bytes > 0);
    assert!(!here.name.is_empty());
    match file_system(Path::new("/dev/shm")) {
        Ok(shm) if shm.kind == 0x0102_1994 => assert!(shm.ram_backed && shm.name == "tmpfs"),
        _ => println!("skipped: no tmpfs at /dev/shm"),
    }
    let proc = file_system(Path::new("/proc/self/status")).unwrap();
    assert_eq!(
        (proc.name.as_str(), proc.ram_backed, proc.kind),
        ("proc", false, 0x9fa0)
    );
    assert!(file_system(Path::new("/no such path")).is_err());
}

#[test]
fn extents_tell_holes_unwritten_and_written_apart() {
    let file = tempfile::tempfile().unwrap();
    extend(&file, 4 << 20).unwrap();
    let Ok(hole) = extents(&file) else {
        return println!("skipped: no extent map in the temporary folder");
    };
    assert_eq!(hole, Extents::default());
    let allocated = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1 << 20);
    if allocated.is_err() {
        return println!("skipped: no fallocate in the temporary folder");
    }
    let unwritten = extents(&file).unwrap();
    assert_eq!(
        (unwritten.mapped_bytes, unwritten.unwritten_bytes),
        (1 << 20, 1 << 20)
    );
    // More separate pieces than one FIEMAP call returns, not synced by us.
    for piece in 0..600 {
        pwrite(&file, &[1; 4096], (1 << 20) + piece * 8192).unwrap();
    }
    let mixed = extents(&file).unwrap();
    assert_eq!(mixed.unwritten_bytes, 1 << 20);
    assert!(mixed.mapped_bytes >= (1 << 20) + 600 * 4096);
    assert!(mixed.count > 300 && mixed.first_physical.is_some());
    assert!(memory_bytes() > 1 << 20);
}

#[test]
fn space_is_reserved_around_what_a_file_holds() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    for keeps_length in [false, true] {
        let path = folder.path().join(keeps_length.to_string());
        std::fs::write(&path, [7; 5000]).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        if let Err(error) = reserve(&file, 0, 1 << 20, keeps_length) {
            return println!("skipped: no fallocate in the temporary folder: {error}");
        }
        let metadata = file.metadata().unwrap();
        assert!(metadata.blocks() * 512 >= 1 << 20);
        let length = if keeps_length { 5000 } else { 1 << 20 };
        assert_eq!(metadata.len(), length);
        let content = std::fs::read(&path).unwrap();
        assert!(content[..5000].iter().all(|byte| *byte == 7));
        assert!(content[5000..].iter().all(|byte| *byte == 0));
    }
}
