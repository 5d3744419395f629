//! Curves, decisions and steady state: pure functions over totals of runs. Nothing here reads a
//! clock, a file or a device.
#![forbid(unsafe_code)]

mod decision;

pub use decision::{Decision, History, Next, next, point_rate};
