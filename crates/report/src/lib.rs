//! Every output format as a fold over events: the HTML report, the faces of older tools, the
//! summary for the terminal. Never sees the engine; computes nothing that the events do not hold.
#![forbid(unsafe_code)]

pub mod comparison;
mod conclusion;
pub mod fio;
pub mod html;
mod opener;
pub mod repetitions;
pub mod shown;
pub mod summary;
pub mod vdbench;

pub use conclusion::Conclusion;
pub use opener::{Opener, Opening, Plain, SharedOpener};

#[cfg(test)]
mod testing;
