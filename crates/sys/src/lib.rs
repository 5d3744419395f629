//! The only unsafe code of the workspace: rings, aligned buffers, ioctls, affinity and clocks behind a safe API.
//!
//! Nothing here knows of plans, runs or reports. Everything is Linux; a figure that the kernel does not give is an
//! `Option` or an error, never a guess. Read [`ring::Ring`] first.

pub mod buffer;
pub mod clock;
pub mod file;
pub mod loopdev;
pub mod memory;
pub mod ring;
pub mod thread;
