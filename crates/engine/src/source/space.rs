//! The addresses of a stream as one range from zero, with the cursor that its operations share.
use super::grid::Grid;
use super::pairs::Pairs;
use super::sizes::cut;
use super::track::Track;
use super::visits::Visits;
use super::zones::Zones;
use crate::own::Own;
use plan::{BoundRegion, PerDirection, TargetId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One address space: a region of a target, or the regions of several end to end.
#[derive(Clone, Debug)]
pub(super) struct Space {
    pub width: u64,
    /// What is before this is the hit area, which sequences and misses leave out.
    pub first: u64,
    /// In the order of addresses, without gaps; most spaces have one.
    pieces: Vec<Piece>,
    /// Of all directions the first, or of each direction its own.
    tracks: [Track; 3],
    /// Visits so far, where a law has to know.
    visits: Own<AtomicU64>,
    /// Operations so far, where their number is not that of the stream.
    steps: Own<AtomicU64>,
    pub grid: Option<Grid>,
    /// In place of the grid where directions have blocks of different sizes.
    pub grids: Option<Box<PerDirection<Grid>>>,
    /// In place of the grid where each block is visited once by transfers of several sizes.
    pub map: Option<Visits>,
    pub zones: Option<Zones>,
    /// Where both of a pair take what one of them has found.
    pub pairs: Option<Pairs>,
}

/// From `start` to `end` of a space lies the range of a target that begins at `low`.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    place: u32,
    low: u64,
}

impl Space {
    /// The regions one behind the other; a wrapped region is two of them.
    pub(super) fn new(regions: &[BoundRegion], places: &BTreeMap<TargetId, u32>) -> Self {
        let mut pieces = Vec::new();
        let mut width = 0;
        for region in regions {
            let place = places.get(&region.target).copied();
            let place = place.expect("a region lies on a target of its stream");
            let seam = match region.wrap_at {
                Some(end) if region.low + region.width > end => end - region.low,
                _ => region.width,
            };
            for (low, bytes) in [
                (region.low, seam),
                (region.wrap_to, region.width.saturating_sub(seam)),
            ] {
                if bytes > 0 {
                    pieces.push(Piece {
                        start: width,
                        end: width + bytes,
                        place,
                        low,
                    });
                    width += bytes;
                }
            }
        }
        Self {
            width,
            first: 0,
            pieces,
            tracks: std::array::from_fn(|_| {
                Track::from(regions.first().map_or(0, |region| region.start))
            }),
            visits: Own::<AtomicU64>::new(0),
            steps: Own::<AtomicU64>::new(0),
            grid: None,
            grids: None,
            map: None,
            zones: None,
            pairs: None,
        }
    }

    /// The address on the target that holds `relative`.
    #[inline]
    pub(super) fn locate(&self, relative: u64) -> (u32, u64) {
        let piece = &self.pieces[self.piece_at(relative)];
        (piece.place, piece.low + (relative - piece.start))
    }

    #[inline]
    fn piece_at(&self, relative: u64) -> usize {
        if self.pieces.len() == 1 {
            return 0;
        }
        let behind = self.pieces.partition_point(|piece| piece.end <= relative);
        behind.min(self.pieces.len() - 1)
    }

    /// A transfer that would span two pieces begins with the second.
    #[inline]
    pub(super) fn settle(&self, relative: u64, length: u32) -> (u64, u32) {
        if self.pieces.len() == 1 {
            return (relative, length);
        }
        let at = self.piece_at(relative);
        let piece = &self.pieces[at];
        if relative + u64::from(length) <= piece.end {
            return (relative, length);
        }
        match self.pieces.get(at + 1) {
            Some(next) => (next.start, cut(length, next.end - next.start)),
            None => (relative, cut(length, piece.end - relative)),
        }
    }

    /// The next position of a track, and how much `length` says of the room up to the end of the piece there.
    #[inline]
    pub(super) fn next(
        &self,
        track: usize,
        length: impl Fn(u64) -> u32,
        stops: bool,
    ) -> Option<(u64, u32)> {
        let cursor = &self.tracks[track].cursor;
        let mut found = cursor.load(Relaxed);
        let mut at = found;
        loop {
            if at >= self.width && stops {
                return None;
            }
            let from = if at >= self.width { self.first } else { at };
            let end = self.pieces[self.piece_at(from)].end;
            let length = match length(end - from) {
                // A region for which all sizes are too large is transferred at once.
                0 if from == self.first => cut(u32::MAX, end - from),
                length => length,
            };
            if length == 0 {
                at = end;
                continue;
            }
            let to = from + u64::from(length);
            match cursor.compare_exchange_weak(found, to, Relaxed, Relaxed) {
                Ok(_) => return Some((from, length)),
                Err(now) => (found, at) = (now, now),
            }
        }
    }

    /// A transfer begins there, and others will repeat its place.
    pub(super) fn note(&self, track: usize, relative: u64) {
        self.tracks[track].note(relative);
    }

    /// The first track.
    pub(super) fn track(&self) -> &Track {
        &self.tracks[0]
    }

    /// Moves on by a gap from the end of the last transfer, at first from the start. Behind the end, or
    /// where no `smallest` transfer has room, it begins anew; before the start it goes on from the end.
    pub(super) fn step_by(&self, track: usize, gap: i64, smallest: u64, length: u32) -> (u64, u32) {
        let cursor = &self.tracks[track].cursor;
        let mut at = cursor.load(Relaxed);
        loop {
            let to = match at.checked_add_signed(gap) {
                _ if at == 0 => 0,
                Some(to) => to,
                None => self.width.saturating_sub(gap.unsigned_abs()),
            };
            let has_room = to.saturating_add(smallest) <= self.width;
            let to = if has_room { to } else { 0 };
            let length = cut_to(length, self.width - to, smallest);
            let end = to + u64::from(length);
            match cursor.compare_exchange_weak(at, end, Relaxed, Relaxed) {
                Ok(_) => return (to, length),
                Err(now) => at = now,
            }
        }
    }

    /// Once more where the last transfer began.
    pub(super) fn repeat(&self, track: usize, length: u32) -> (u64, u32) {
        let Track { cursor, last } = &self.tracks[track];
        let at = last.load(Relaxed);
        let length = cut(length, self.pieces[self.piece_at(at)].end - at);
        cursor.store(at + u64::from(length), Relaxed);
        (at, length)
    }

    /// Moves the first track on by `distance` from the end of the previous transfer, and up to a multiple of `grain`;
    /// back to the start at the end.
    pub(super) fn skip(&self, distance: u64, grain: u64, length: u32) -> (u64, u32) {
        let cursor = &self.tracks[0].cursor;
        let mut at = cursor.load(Relaxed);
        loop {
            let to = at.saturating_add(distance).div_ceil(grain);
            let to = to.saturating_mul(grain);
            let is_past = to.saturating_add(u64::from(length)) > self.width;
            let to = if is_past { self.first } else { to };
            let (to, length) = self.settle(to, length);
            let end = to + u64::from(length);
            match cursor.compare_exchange_weak(at, end, Relaxed, Relaxed) {
                Ok(_) => return (to, length),
                Err(now) => at = now,
            }
        }
    }

    /// Visits free blocks behind the hit area, from block `from` on. `length` is asked how many bytes are wanted of the room
    /// that is left in the piece; a block that is visited already ends the transfer before.
    pub(super) fn visit_free(
        &self,
        map: &Visits,
        from: u64,
        length: impl Fn(u64) -> u32,
    ) -> Option<(u64, u32)> {
        let room = |block: u64| {
            let at = self.first + block * map.unit;
            self.pieces[self.piece_at(at)].end.saturating_sub(at)
        };
        let length = |block: u64| match length(room(block)) {
            0 => cut(u32::MAX, room(block)),
            length => length,
        };
        let wanted = |block: u64| u64::from(length(block)).div_ceil(map.unit);
        let (block, count) = map.visit(from, wanted)?;
        let length = cut(length(block), count * map.unit);
        Some((self.first + block * map.unit, length))
    }

    /// A sequence goes on at `relative`.
    #[inline]
    pub(super) fn move_cursor(&self, track: usize, relative: u64) {
        self.tracks[track].move_to(relative);
    }

    /// A pass that is at its end begins anew.
    pub(super) fn rewind(&self) {
        if let Some(map) = &self.map {
            map.begin_pass();
        }
        for Track { cursor, .. } in &self.tracks {
            let _ = cursor.compare_exchange(self.width, self.first, Relaxed, Relaxed);
        }
    }

    /// The number of the next visit.
    #[inline]
    pub(super) fn visit(&self) -> u64 {
        self.visits.fetch_add(1, Relaxed)
    }

    /// The number of the next operation.
    #[inline]
    pub(super) fn step(&self) -> u64 {
        self.steps.fetch_add(1, Relaxed)
    }

    /// Sets the hit area aside: about `bytes`, at most half of the space, in whole units.
    pub(super) fn set_hit_area(&mut self, bytes: u64, unit: u64) {
        let half = self.width / 2 / unit * unit;
        self.first = bytes.max(1).next_multiple_of(unit).min(half);
        for Track { cursor, .. } in &mut self.tracks {
            let cursor = cursor.get_mut();
            *cursor = (*cursor).max(self.first);
        }
    }
}

/// A multiple of `unit` where there is less room than is asked for.
#[inline]
fn cut_to(length: u32, room: u64, unit: u64) -> u32 {
    match u64::from(length) > room {
        true => cut(length, room / unit * unit),
        false => length,
    }
}
