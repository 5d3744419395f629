//! Ways to do I/O.
use crate::space::SpaceCall;
use serde::{Deserialize, Serialize};

/// A way to do I/O. Nothing else takes its place because it would be faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoMethod {
    /// Rings that the kernel shares with the process.
    Ring,
    /// The older queue of the kernel for asynchronous I/O.
    KernelQueue,
    /// Plain calls, a thread for each.
    Calls,
    /// Copies to and from memory to which the kernel maps the target, a thread for each. A target is not
    /// made longer by that.
    Mapping,
    /// None: everything completes at once and moves nothing.
    Nothing,
    /// Calls on the names of files, a thread for each; what they hold is left alone.
    Names(NameCall),
    /// Calls on the space of files, a thread for each; no data are moved.
    Space(SpaceCall),
}

/// What is done to a file by its name. Each operation of a stream is one such call on its target;
/// direction and length say only as what it is counted, and nothing is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameCall {
    /// Opens it for reading and writing, which makes it where it is missing. What is there stays as it
    /// is. Closing it is no part of the operation.
    Make,
    /// Asks what the file system knows of it (stat), following a link.
    Look,
    /// The same, of a link itself (lstat).
    LookAtLink,
    /// The same as `Look`, with all that the newer call tells (statx).
    LookWhole,
    /// Takes it away; only what this execution has made itself.
    Remove,
}
