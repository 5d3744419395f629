//! A backend over more files than may be open: the least needed one is closed when another is opened.
//!
//! A file is opened when a request for it is queued, which is before its time of service begins. What is in flight keeps
//! its file open.
use super::{AioBackend, Backend, OneSlot, Request, UringBackend};
use crate::files::OnDemand;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// EIO, of failures that have no number.
const EIO: i32 = 5;

/// A backend whose requests name places, and whose places take other files while it works.
pub(crate) trait Places: Backend {
    /// Gives a place another file, or makes it the next place. No request in flight names it. `number` is that of the
    /// file among those of the run.
    ///
    /// # Errors
    /// When the file cannot be used; the one before stays.
    fn put_file(&mut self, place: u32, number: u32, file: Arc<File>) -> io::Result<()>;
}

/// Files of calls, by place.
pub(crate) trait CallPlaces {
    /// As [`Places::put_file`].
    fn put_file(&mut self, place: u32, number: u32, file: Arc<File>) -> io::Result<()>;
}

/// Puts a file at a place, or after the last one.
pub(super) fn put<T>(all: &mut Vec<T>, place: u32, one: T) {
    match place as usize {
        next if next == all.len() => all.push(one),
        known => all[known] = one,
    }
}

/// Requests name files of the run here, and places of the backend within.
pub(crate) struct FilesOnDemand<B> {
    inner: B,
    files: Arc<OnDemand>,
    held: Held,
    /// Of what each slot has in flight.
    place_of_slot: Vec<u32>,
    /// By slot: what could not be opened and was not yet entered, and what was not yet reaped of that.
    refused: Vec<(u32, i32)>,
    ended: Vec<(u32, i32)>,
}

impl<B: Places> FilesOnDemand<B> {
    /// `room` files may be open, at least one for each slot or all of them.
    pub(crate) fn new(inner: B, files: Arc<OnDemand>, slots: usize, room: usize) -> Self {
        Self {
            inner,
            held: Held::new(files.files.len(), room),
            files,
            place_of_slot: vec![0; slots],
            refused: Vec::with_capacity(slots),
            ended: Vec::with_capacity(slots),
        }
    }

    /// Opens a file in the place of one that is not in use.
    #[cold]
    #[inline(never)]
    fn open(&mut self, number: u32) -> io::Result<u32> {
        let file = self.files.open(number)?;
        let place = self.held.vacate();
        self.inner.put_file(place, number, file)?;
        self.held.settle(place, number);
        Ok(place)
    }
}

impl<B: Places> Backend for FilesOnDemand<B> {
    const SUBMIT_SAMPLE: u64 = B::SUBMIT_SAMPLE;

    #[inline]
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer_mut(slot)
    }

    #[inline]
    fn push(&mut self, slot: u32, request: Request) {
        let opened = match self.held.take(request.file) {
            Some(place) => Ok(place),
            None => self.open(request.file),
        };
        match opened {
            Ok(place) => {
                self.place_of_slot[slot as usize] = place;
                let file = place;
                self.inner.push(slot, Request { file, ..request });
            }
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(EIO);
                self.refused.push((slot, -errno));
            }
        }
    }

    fn unmap(&mut self) {
        self.inner.unmap();
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.inner.is_full()
    }

    #[inline]
    fn enter(&mut self, want: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        self.ended.append(&mut self.refused);
        match self.ended.len() {
            0 => self.inner.enter(want, timeout_ns),
            // Something can be reaped.
            _ => self.inner.enter(0, None),
        }
    }

    #[inline]
    fn reap(&mut self, mut completed: impl FnMut(u32, i32)) {
        for (slot, result) in self.ended.drain(..) {
            completed(slot, result);
        }
        let (held, places) = (&mut self.held, &self.place_of_slot);
        self.inner.reap(|slot, result| {
            held.give_back(places[slot as usize]);
            completed(slot, result);
        });
    }

    #[inline]
    fn ready(&mut self) -> u32 {
        self.ended.len() as u32 + self.inner.ready()
    }

    #[inline]
    fn queued(&self) -> u32 {
        self.refused.len() as u32 + self.inner.queued()
    }

    #[inline]
    fn waits_in_submission(&self) -> bool {
        self.inner.waits_in_submission()
    }

    fn brings_data(&self) -> bool {
        self.inner.brings_data()
    }

    fn abandon(self) {
        self.inner.abandon();
    }
}

impl Places for UringBackend {
    fn put_file(&mut self, place: u32, _number: u32, file: Arc<File>) -> io::Result<()> {
        self.ring.put_file(place, file)
    }
}

impl Places for AioBackend {
    fn put_file(&mut self, place: u32, _number: u32, file: Arc<File>) -> io::Result<()> {
        self.queue.put_file(place, file);
        Ok(())
    }
}

impl<C: super::Call + CallPlaces> Places for OneSlot<C> {
    fn put_file(&mut self, place: u32, number: u32, file: Arc<File>) -> io::Result<()> {
        self.call.put_file(place, number, file)
    }
}

/// Which files are open, and at which places. A clock: its hand passes over what was used since it came by last.
struct Held {
    /// By number, the place of a file and one; zero where it is not open.
    place_of: Vec<u32>,
    places: Vec<Place>,
    room: usize,
    hand: usize,
}

struct Place {
    number: u32,
    in_flight: u32,
    was_used: bool,
}

impl Held {
    fn new(files: usize, room: usize) -> Self {
        Self {
            place_of: vec![0; files],
            places: Vec::with_capacity(room.min(files)),
            room: room.max(1),
            hand: 0,
        }
    }

    /// The place of a file that is open, for one more request.
    #[inline]
    fn take(&mut self, number: u32) -> Option<u32> {
        let place = self.place_of[number as usize].checked_sub(1)?;
        let held = &mut self.places[place as usize];
        held.in_flight += 1;
        held.was_used = true;
        Some(place)
    }

    /// A request is back.
    #[inline]
    fn give_back(&mut self, place: u32) {
        self.places[place as usize].in_flight -= 1;
    }

    /// A place for another file: a new one while there is room, then one without a request. What is there stays until
    /// [`Held::settle`].
    fn vacate(&mut self) -> u32 {
        if self.places.len() < self.room {
            return self.places.len() as u32;
        }
        // Twice around: once to pass over what was used, and once more to find it.
        for _ in 0..2 * self.places.len() {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.places.len();
            let held = &mut self.places[place];
            if held.in_flight == 0 && !std::mem::take(&mut held.was_used) {
                return place as u32;
            }
        }
        unreachable!("there is a place for each slot, and this one has none in flight");
    }

    /// The file is open at a place, for one request.
    fn settle(&mut self, place: u32, number: u32) {
        let settled = Place {
            number,
            in_flight: 1,
            // What is used once must not push out what is used time and again.
            was_used: false,
        };
        if let Some(before) = self.places.get(place as usize) {
            self.place_of[before.number as usize] = 0;
        }
        put(&mut self.places, place, settled);
        self.place_of[number as usize] = place + 1;
    }
}

#[cfg(test)]
mod tests;
