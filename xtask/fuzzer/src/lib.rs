//! Fuzzing on the stable tool chain: inputs of our own are mutated and fed to the readers of files that users bring,
//! for a stated time. Instead of coverage it is
//! guided by what a target shows of itself; the targets of `fuzz/` at the root are the same functions under libFuzzer.
//!
//! A target panics when the reader is wrong and for no other reason. Read [`targets::Target`] first, then [`hunt()`].
#![forbid(unsafe_code)]
mod hunt;
mod mutate;
pub mod targets;

pub use hunt::{Budget, Failure, Hunt, hunt};
pub use mutate::{Grain, Mutator};
