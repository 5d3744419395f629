//! Going on with an earlier result.
use super::{read, some_events, write};
use crate::{Reader, StoreError, Writer};

#[test]
fn what_is_kept_stays_and_what_follows_comes_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let (earlier, later) = (some_events(3, 12), some_events(4, 5));
    write(&path, &earlier).unwrap();
    for kept in [12, 9, 0] {
        let writer = Writer::go_on(&path, kept).unwrap();
        later.iter().for_each(|event| writer.append(event).unwrap());
        writer.finish().unwrap();
        let mut expected = earlier[..kept as usize].to_vec();
        expected.extend(later.clone());
        assert_eq!(read(&path), expected);
    }
    // Each time the file as it was is kept, too.
    assert_eq!(read(&folder.path().join("result.1.fathom")), earlier);
    assert_eq!(
        read(&folder.path().join("result.3.fathom"))[..9],
        earlier[..9]
    );
}

#[test]
fn a_result_in_use_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.fathom");
    let writer = Writer::create(&path).unwrap();
    let events = some_events(5, 3);
    events
        .iter()
        .for_each(|event| writer.append(event).unwrap());
    writer.flush().unwrap();
    let refused = Writer::go_on(&path, 1);
    assert!(
        matches!(refused, Err(StoreError::InUse { .. })),
        "{refused:?}"
    );
    writer.finish().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.events().count(), 3);
    assert!(!folder.path().join("result.1.fathom").exists());
}
