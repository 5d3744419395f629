//! The one door to storage: nothing else in the workspace opens, makes, extends, truncates, discards or removes a target.
//!
//! [`Door::approach`] finds what a path leads to, claims it where it will be written, and remembers its identity. The
//! guard examines it through the descriptor that it gets then. What the guard lets pass is a [`Grant`], and [`Grants`]
//! open, make and remove by it: each time what stands at the place is compared with what was examined, before its first
//! byte. What was missing is made where nothing has the name, below a folder that is held, and is ours from then on.
//!
//! The protocol is written over the calls that it makes ([`Calls`]), so that it runs on a [`model`] of a file system as
//! well, where others act between any two of them. It must not know of runs or streams. Read [`Door`] first.
#![forbid(unsafe_code)]

mod approach;
mod behind;
mod calls;
mod error;
mod folders;
mod grants;
mod kernel;
mod look;
pub mod model;
pub mod moments;
mod object;
mod removal;
pub mod space;
#[cfg(test)]
mod tests;
pub mod waiting;

pub use approach::{Approach, Door, Found, Intent};
pub use behind::{Behind, Sharing};
pub use calls::{Calls, Identity};
pub use error::{ClaimError, DoorError};
pub use grants::{Entry, Fresh, Grant, Grants, Named, Purpose};
pub use kernel::{Kernel, resolve};
pub use look::look;
pub use object::ObjectId;
pub use removal::{Aside, RemoveError};
pub use sys::file::at::{Facts, Kind};
