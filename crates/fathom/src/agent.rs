//! `fathom agent`: this machine does its part of a job that another one leads, over a pair of pipes.
use crate::exit::{Exit, fail};
use crate::here::Here;
use crate::printing;
use std::io::Write;
use sys::clock::Clock;

/// Serves until the line ends.
pub fn main() -> Exit {
    // It was started by a descriptor, whose number would be its name.
    let _ = sys::thread::set_name("fathom");
    let mut out = match printing::Channel::Out.descriptor() {
        Ok(descriptor) => std::fs::File::from(descriptor),
        Err(error) => return fail(Exit::Failed, &error.to_string()),
    };
    if out
        .write_all(fleet::MARK)
        .and_then(|()| out.flush())
        .is_err()
    {
        return Exit::Failed;
    }
    let here = Here::new(Clock::calibrate());
    match fleet::serve(here, std::io::stdin(), out) {
        Ok(_) => Exit::Fine,
        Err(error) => fail(Exit::Failed, &error.to_string()),
    }
}
