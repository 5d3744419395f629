//! What this machine is and holds: target probing and identity, the overwrite guard, and the counters of host,
//! process and devices.
//!
//! Nothing here knows of job languages, runs or reports, and nothing writes to a target: the door opens what is examined.
//! A record of what was written is kept beside the data ([`guard::written`]), never in it. Every reader takes a
//! [`SysRoot`], so that tests can hand in a faked machine. Read [`guard`] first.
#![forbid(unsafe_code)]

mod block;
pub mod command;
mod facts;
mod folder;
pub mod guard;
mod limits;
mod loops;
mod missing;
mod mounts;
#[cfg(test)]
#[path = "../../sys/tests/lab/named.rs"]
mod named;
mod place;
mod probe;
pub mod rights;
mod root;
mod same;
mod sampler;
mod space;
mod storage;
pub mod text_file;

pub use facts::{cpus_by_node, cpus_by_node_of, facts, facts_of, own_addresses};
pub use folder::files_below;
pub use limits::{Limit, ProcessLimits, process_limits, raise_own_limits};
pub use place::{StoragePlace, devices_of_folder, storage_place};
pub use probe::{target_facts, target_identity};
pub use root::{DeviceNumber, SysRoot};
pub use same::same_name;
pub use sampler::{Sampler, cpu_times_each};
pub use space::{NoSpace, SpaceNeed, check_free_space};
pub use storage::Storage;
