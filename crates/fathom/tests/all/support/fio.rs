//! Jobs of fio in a lab: by Fathom, and by the installed fio where there is one.
use crate::lab::{Ended, FATHOM, Lab, ended, has, skip};
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// The original.
pub const FIO: &str = "fio";

/// Fathom, and the original if [`has_fio`].
pub fn programs() -> impl Iterator<Item = &'static str> {
    [FATHOM].into_iter().chain(has_fio().then_some(FIO))
}

/// False, and said as a skip, where the original is not installed.
pub fn has_fio() -> bool {
    let is_there = has(FIO);
    if !is_there {
        skip("`fio` is not installed");
    }
    is_there
}

impl Lab {
    /// Runs `fathom fio` to its end.
    pub fn fio(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
        self.fio_by(FATHOM, words)
    }

    /// The same by the original; `None`, said as a skip, where it is not installed.
    pub fn reference_fio(
        &self,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Option<Ended> {
        has_fio().then(|| self.fio_by(FIO, words))
    }

    /// The same by [`FATHOM`] or [`FIO`].
    pub fn fio_by(
        &self,
        program: &str,
        words: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Ended {
        let words: Vec<OsString> = words.into_iter().map(|word| word.as_ref().into()).collect();
        if program != FIO {
            return ended(self.fio_command(program).args(words));
        }
        // The original may wait for ever at the end of a compressed log, about once in some hundred runs.
        let mut tries = (0..3).map(|_| {
            let limit = ["-s", "KILL", "150", FIO];
            ended(self.command("timeout").args(limit).args(&words))
        });
        let ended = tries.find(|ended| ended.code != Some(128 + 9));
        ended.expect("the original hangs each time")
    }

    /// What to add the words of a job to.
    pub fn fio_command(&self, program: &str) -> Command {
        let mut command = self.command(program);
        command.args((program == FATHOM).then_some("fio"));
        command
    }
}
