//! A machine at the other end of a line carries out runs as the one that leads does. [`Piped`] stands here and is a
//! [`conduct::Host`]; [`Agent`] stands there and has one. Between them go the words of [`words`], each in a frame of a
//! [`Line`].
//!
//! The plan goes over once; a run is then a number, a set-point and a start. The agent reads its intervals by its own clock
//! and tells them, so that a line that is silent for a while loses none.
#![forbid(unsafe_code)]

mod agent;
pub mod joining;
mod line;
mod operations;
mod piped;
pub mod settle;
mod several;
mod words;

pub use agent::{Agent, OnSite, serve};
pub use line::{FRAME_BYTES_MAX, Line, LineError, MARK, PipeLine, frame, skip_to, unframe};
pub use operations::Gathering;
pub use piped::{Piped, lead};
pub use several::Several;
