//! A disk that does not answer: a recording thread that takes one event and does not come back.
use super::some_events;
use crate::{StoreError, Writer};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Counts what it takes; with the first it waits until `release` is gone, and sends the count at its end.
fn hanging(timeout: Duration, release: Receiver<()>) -> (Writer, Receiver<usize>) {
    let (sender, count) = channel();
    let path = Path::new("result.fathom");
    let writer = Writer::begin_by(path, timeout, move |messages, _, _| {
        let mut taken = 0;
        while messages.next().is_some() {
            taken += 1;
            if taken == 1 {
                let _ = release.recv();
            }
        }
        // Who gave the disk up is not there any more.
        let _ = sender.send(taken);
    });
    (writer.unwrap(), count)
}

#[test]
fn a_disk_that_answers_within_its_time_has_lost_nothing() {
    let (release, released) = channel();
    let (writer, count) = hanging(Duration::from_secs(600), released);
    let events = some_events(7, 300);
    for event in &events {
        writer.append(event).unwrap();
    }
    assert!(writer.unanswered().0 > Duration::ZERO);
    let (mut looks, mut release) = (0, Some(release));
    let finished = writer.finish_watched(|time, waiting| {
        looks += 1;
        if looks == 1 {
            assert!(time > Duration::ZERO && waiting == events.len() - 1);
            drop(release.take());
        }
    });
    assert_eq!(finished, Ok(()));
    assert_eq!(count.recv(), Ok(events.len()));
}

#[test]
fn a_disk_that_does_not_answer_is_given_up_and_not_waited_for() {
    let (_release, released) = channel();
    let (writer, count) = hanging(Duration::from_millis(50), released);
    let events = some_events(7, 2);
    writer.append(&events[0]).unwrap();
    while writer.unanswered().0 < Duration::from_millis(50) {
        std::thread::yield_now();
    }
    let path = writer.path().to_owned();
    let unanswered = Err(StoreError::Unanswered { path });
    assert_eq!(writer.append(&events[1]), unanswered);
    assert_eq!(writer.flush(), unanswered);
    assert_eq!(writer.finish(), unanswered);
    assert!(count.try_recv().is_err(), "it still hangs");
}
