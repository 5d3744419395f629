//! Machines at the other end of a line tell what they tell without one.
#![forbid(unsafe_code)]

mod broken;
mod dumps;
mod near;
mod parted;
#[path = "../../../engine/tests/plans/mod.rs"]
mod plans;
#[allow(dead_code, reason = "a part of it is used here")]
#[path = "../../../conduct/tests/suite/story.rs"]
mod story;
