//! Plain positional calls.
use super::on_demand::put;
use super::{Call, CallPlaces, Request, RequestKind};
use std::fs::File;
use std::io;
use std::sync::Arc;
use sys::requests::RequestMode;

pub(crate) struct PlainCalls {
    files: Vec<Arc<File>>,
    /// Absent where nothing is asked for.
    asking: Option<Asking>,
}

/// What is asked for with each transfer.
struct Asking {
    mode: RequestMode,
    /// Share of transfers that are polled for, percent, and what of one has come together.
    polled_pct: u32,
    polled: u32,
}

impl PlainCalls {
    pub(crate) fn new(files: Vec<Arc<File>>, mode: RequestMode, polled_pct: u8) -> Self {
        let asking = (mode != RequestMode::default()).then(|| Asking {
            mode,
            polled_pct: u32::from(polled_pct),
            polled: 0,
        });
        Self { files, asking }
    }
}

impl Asking {
    fn next(&mut self) -> RequestMode {
        self.polled += self.polled_pct;
        let is_polled = self.polled >= 100;
        self.polled %= 100;
        RequestMode {
            is_polled,
            ..self.mode
        }
    }
}

impl Call for PlainCalls {
    const BRINGS_DATA: bool = true;

    #[inline]
    fn carry_out(&mut self, request: &Request, buffer: &mut [u8]) -> io::Result<usize> {
        let file = &self.files[request.file as usize];
        let length = request.length as usize;
        let asked = self.asking.as_mut().map(Asking::next);
        match request.kind {
            RequestKind::Read => match asked {
                None => sys::file::pread(file, &mut buffer[..length], request.offset),
                Some(mode) => {
                    sys::file::pread_as(file, &mut buffer[..length], request.offset, mode)
                }
            },
            RequestKind::Write => match asked {
                None => sys::file::pwrite(file, &buffer[..length], request.offset),
                Some(mode) => sys::file::pwrite_as(file, &buffer[..length], request.offset, mode),
            },
            RequestKind::Discard => {
                door::space::discard(file, request.offset, u64::from(request.length)).map(|()| 0)
            }
            kind => sync(file, kind).map(|()| 0),
        }
    }
}

impl CallPlaces for PlainCalls {
    fn put_file(&mut self, place: u32, _number: u32, file: Arc<File>) -> io::Result<()> {
        put(&mut self.files, place, file);
        Ok(())
    }
}

/// Carries out what is no transfer.
pub(super) fn sync(file: &File, kind: RequestKind) -> io::Result<()> {
    match kind {
        RequestKind::Fsync => sys::file::fsync(file),
        RequestKind::Fdatasync => sys::file::fdatasync(file),
        RequestKind::SyncFileSystem => sys::file::sync_file_system(file),
        RequestKind::SyncRange { flags } => sys::file::sync_range(file, flags),
        RequestKind::Read | RequestKind::Write | RequestKind::Discard => {
            unreachable!("its range is what matters")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_polled_for_in_even_steps() {
        let polled = |pct: u8, of: usize| {
            let mode = RequestMode {
                is_polled: true,
                ..RequestMode::default()
            };
            let mut calls = PlainCalls::new(Vec::new(), mode, pct);
            let asking = calls.asking.as_mut().unwrap();
            let polled = (0..of).map(|_| asking.next().is_polled);
            polled.collect::<Vec<bool>>()
        };
        assert_eq!(polled(100, 3), [true; 3]);
        assert_eq!(polled(50, 4), [false, true, false, true]);
        assert_eq!(polled(30, 100).iter().filter(|is| **is).count(), 30);
        assert!(
            PlainCalls::new(Vec::new(), RequestMode::default(), 0)
                .asking
                .is_none()
        );
    }
}
