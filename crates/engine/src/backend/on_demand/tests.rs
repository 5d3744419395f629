use super::*;
use crate::backend::RequestKind;
use crate::files::ToOpen;
use door::{Grants, Purpose};
use plan::{Access, OpenMode, TargetId};

/// Takes a file as a worker does; whether it had to be opened, and where it is.
fn used(held: &mut Held, number: u32) -> (bool, u32) {
    if let Some(place) = held.take(number) {
        return (false, place);
    }
    let place = held.vacate();
    held.settle(place, number);
    (true, place)
}

#[test]
fn what_fits_is_opened_once() {
    let mut held = Held::new(8, 8);
    for round in 0..5 {
        for number in 0..8 {
            let (was_opened, place) = used(&mut held, number);
            assert_eq!(was_opened, round == 0);
            held.give_back(place);
        }
    }
}

#[test]
fn what_is_in_flight_stays_and_no_more_are_open_than_there_is_room() {
    const FILES: usize = 50;
    const ROOM: usize = 7;
    let mut held = Held::new(FILES, ROOM);
    let mut in_flight: Vec<(u32, u32)> = Vec::new();
    let mut state = 1_u32;
    for _ in 0..20_000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if in_flight.len() == ROOM || state >> 31 == 1 && !in_flight.is_empty() {
            let (_, place) = in_flight.swap_remove((state >> 8) as usize % in_flight.len());
            held.give_back(place);
        }
        let number = (state >> 12) % FILES as u32;
        let (_, place) = used(&mut held, number);
        in_flight.push((number, place));
        assert!(held.places.len() <= ROOM);
        for (number, place) in &in_flight {
            assert_eq!(held.places[*place as usize].number, *number);
            assert_eq!(held.place_of[*number as usize], place + 1);
        }
        let open = held.place_of.iter().filter(|place| **place > 0).count();
        assert_eq!(open, held.places.len());
    }
}

#[test]
fn a_file_that_is_used_again_outlives_many_that_are_not() {
    let mut held = Held::new(1000, 4);
    let mut openings = 0;
    for number in 1..1000 {
        for number in [0, number] {
            let (was_opened, place) = used(&mut held, number);
            openings += u32::from(was_opened && number == 0);
            held.give_back(place);
        }
    }
    assert_eq!(openings, 1);
}

/// Completes what was pushed with the number that stands at its place.
struct Recording {
    files: Vec<u32>,
    queued: Vec<(u32, u32)>,
    done: Vec<(u32, u32)>,
    buffer: [u8; 1],
}

impl Backend for Recording {
    fn buffer_mut(&mut self, _slot: u32) -> &mut [u8] {
        &mut self.buffer
    }

    fn push(&mut self, slot: u32, request: Request) {
        self.queued.push((slot, request.file));
    }

    fn is_full(&self) -> bool {
        false
    }

    fn enter(&mut self, _want: u32, _timeout_ns: Option<u64>) -> io::Result<()> {
        self.done.append(&mut self.queued);
        Ok(())
    }

    fn reap(&mut self, mut completed: impl FnMut(u32, i32)) {
        for (slot, place) in self.done.drain(..) {
            completed(slot, self.files[place as usize] as i32);
        }
    }

    fn ready(&mut self) -> u32 {
        self.done.len() as u32
    }

    fn queued(&self) -> u32 {
        self.queued.len() as u32
    }

    fn abandon(self) {}
}

impl Places for Recording {
    fn put_file(&mut self, place: u32, number: u32, _file: Arc<File>) -> io::Result<()> {
        put(&mut self.files, place, number);
        Ok(())
    }
}

#[test]
fn requests_reach_the_files_that_they_name_and_what_is_gone_fails_alone() {
    const GONE: u32 = 4;
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = (0..6)
        .map(|n| folder.path().join(format!("f{n}")))
        .collect();
    for path in &paths {
        std::fs::write(path, b"data").unwrap();
    }
    let targets = paths.iter().enumerate();
    let targets = targets.map(|(at, path)| (TargetId::at(at), path.as_path(), Access::Read));
    let mut on_demand = OnDemand::new(Grants::unexamined(targets), 2);
    on_demand.files = (0..6)
        .map(|at| ToOpen {
            target: TargetId::at(at),
            purpose: Purpose::Read,
            mode: OpenMode::default(),
        })
        .collect();
    std::fs::remove_file(&paths[GONE as usize]).unwrap();
    let on_demand = Arc::new(on_demand);
    let inner = Recording {
        files: Vec::new(),
        queued: Vec::new(),
        done: Vec::new(),
        buffer: [0],
    };
    let mut backend = FilesOnDemand::new(inner, Arc::clone(&on_demand), 2, 2);
    let mut results = Vec::new();
    for first in 0..5 {
        for (slot, file) in [(0, first), (1, first + 1)] {
            backend.push(
                slot,
                Request {
                    kind: RequestKind::Read,
                    file,
                    offset: 0,
                    length: 1,
                    priority: 0,
                },
            );
        }
        assert_eq!(backend.queued(), 2);
        backend.enter(2, None).unwrap();
        assert_eq!((backend.queued(), backend.ready()), (0, 2));
        backend.reap(|slot, result| results.push((first + slot, result)));
    }
    let expected = |file: u32| if file == GONE { -2 } else { file as i32 };
    assert_eq!(results.len(), 10);
    for (file, result) in results {
        assert_eq!(result, expected(file));
    }
    // Each of the second in its place was still open when it was the first.
    assert_eq!(on_demand.openings(), 7);
}
