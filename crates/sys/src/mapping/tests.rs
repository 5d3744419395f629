use super::*;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

const PAGE: usize = 4096;

fn open(path: &Path) -> Arc<File> {
    let mut options = OpenOptions::new();
    Arc::new(options.read(true).write(true).open(path).unwrap())
}

fn made(bytes: usize) -> (tempfile::TempDir, Arc<File>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let content: Vec<u8> = (0..bytes).map(|at| (at / 512) as u8).collect();
    std::fs::write(&path, content).unwrap();
    let file = open(&path);
    (folder, file)
}

#[test]
fn what_is_written_is_in_the_file_and_what_is_in_the_file_is_read() {
    let (_folder, file) = made(5 * PAGE);
    let mut mapping = Mapping::new(Arc::clone(&file), MappingAdvice::default()).unwrap();
    assert_eq!(mapping.bytes(), 5 * PAGE as u64);
    assert_eq!(mapping.write(&[200; 700], 4000).unwrap(), 700);
    mapping.sync().unwrap();
    let mut found = [0; 1000];
    file.read_exact_at(&mut found, 4000).unwrap();
    assert!(found[..700].iter().all(|byte| *byte == 200));
    assert_eq!(found[700], (4700 / 512) as u8);
    file.write_all_at(&[9; 10], 1).unwrap();
    let mut read = [0; 11];
    assert_eq!(mapping.read(&mut read, 0).unwrap(), 11);
    assert_eq!((read[0], &read[1..]), (0, &[9; 10][..]));
}

#[test]
fn nothing_is_reached_behind_the_end() {
    let (_folder, file) = made(PAGE + 100);
    let mut mapping = Mapping::new(Arc::clone(&file), MappingAdvice::default()).unwrap();
    let mut buffer = [1; 512];
    assert_eq!(mapping.read(&mut buffer, PAGE as u64).unwrap(), 100);
    assert_eq!(mapping.read(&mut buffer, 9 * PAGE as u64).unwrap(), 0);
    let refused = mapping.write(&buffer, PAGE as u64).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::ENOSPC));
    assert_eq!(file.metadata().unwrap().len(), PAGE as u64 + 100);
    let (_folder, empty) = made(0);
    let mut mapping = Mapping::new(empty, MappingAdvice::default()).unwrap();
    assert_eq!(mapping.read(&mut buffer, 0).unwrap(), 0);
}

#[test]
fn a_window_moves_where_not_all_is_mapped() {
    let (_folder, file) = made(40 * PAGE);
    let advice = MappingAdvice {
        order: Some(file::AccessAdvice::Random),
        huge_pages: false,
    };
    let mut mapping = Mapping::new(Arc::clone(&file), advice).unwrap();
    mapping.window_bytes = 4 * PAGE as u64;
    mapping.window = None;
    let mut buffer = vec![0; 8 * PAGE];
    for offset in [0, 3 * PAGE, 33 * PAGE + 10, 7, 20 * PAGE] {
        // Longer than a window, too.
        for length in [100, 2 * PAGE, 6 * PAGE] {
            let read = &mut buffer[..length];
            assert_eq!(mapping.read(read, offset as u64).unwrap(), length);
            let is_right = |(at, byte): (usize, &u8)| *byte == ((offset + at) / 512) as u8;
            assert!(
                read.iter().enumerate().all(is_right),
                "{length} at {offset}"
            );
        }
    }
    mapping.write(&[77; 9], 39 * PAGE as u64).unwrap();
    mapping.sync().unwrap();
    let mut found = [0; 9];
    file.read_exact_at(&mut found, 39 * PAGE as u64).unwrap();
    assert_eq!(found, [77; 9]);
}

#[test]
fn a_file_that_somebody_cut_is_an_error_and_the_next_copy_goes_on() {
    let (_folder, file) = made(8 * PAGE);
    let mut mapping = Mapping::new(Arc::clone(&file), MappingAdvice::default()).unwrap();
    file.set_len(2 * PAGE as u64).unwrap();
    let mut buffer = vec![0; 4 * PAGE];
    for _ in 0..2 {
        let failed = mapping.read(&mut buffer, PAGE as u64).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(libc::EIO));
        let failed = mapping.write(&buffer, 3 * PAGE as u64).unwrap_err();
        assert_eq!(failed.raw_os_error(), Some(libc::EIO));
        assert_eq!(mapping.read(&mut buffer[..PAGE], 0).unwrap(), PAGE);
        assert_eq!(buffer[512], 1);
    }
    // What the copies came by is not in the file.
    file.set_len(8 * PAGE as u64).unwrap();
    let mut found = vec![1; 6 * PAGE];
    file.read_exact_at(&mut found, 2 * PAGE as u64).unwrap();
    assert!(found.iter().all(|byte| *byte == 0));
    assert_eq!(
        mapping.read(&mut buffer, 4 * PAGE as u64).unwrap(),
        4 * PAGE
    );
}

#[test]
fn a_file_for_reading_takes_no_writes() {
    let (folder, _file) = made(PAGE);
    let file = Arc::new(File::open(folder.path().join("file")).unwrap());
    let mut mapping = Mapping::new(file, MappingAdvice::default()).unwrap();
    let refused = mapping.write(&[0; 4], 0).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
}
