//! The engine: workers that draw operations, submit them through a backend, and record what came
//! back. It knows plans, bound to numbers, and nothing of languages, reports or decisions; it opens
//! only targets for which it holds a [`door::Grant`], and it reads no defaults.
//!
//! Read [`worker::Worker`] first: one loop serves every backend. [`session`] runs workers on
//! threads, [`sim`] runs them in simulated time.
#![forbid(unsafe_code)]

mod account;
mod admit;
mod agenda;
pub mod arrivals;
pub mod backend;
mod balance;
mod check;
mod collect;
mod data;
mod deal;
mod depth_search;
mod descriptors;
mod error;
mod failing;
mod files;
mod flow;
mod free_slots;
mod gate;
mod generations;
mod grouping;
mod handover;
mod kind;
mod locks;
mod notes;
mod op;
mod operation_log;
mod operations;
mod overlaps;
mod own;
mod pace;
mod passes;
mod placement;
mod priorities;
mod random;
mod record;
mod requests;
mod rest;
mod rule;
pub mod session;
mod setup;
pub mod sim;
mod sleep;
mod source;
mod state;
mod time;
mod worker;
mod zeros;

pub use check::sum_of_block;
pub use collect::Collector;
pub use data::BLOCK_MARK;
pub use deal::planned_workers;
pub use descriptors::descriptors_needed;
pub use error::EngineError;
pub use files::{OpenError, OpenTargets, Reopened, files_of_run, open_targets};
pub use generations::Generations;
pub use kind::{BackendKind, Backends};
pub use operation_log::OperationReader;
pub use pace::{Pace, own_rates, paces};
pub use placement::as_owner;
pub use rule::{BackendChoice, WorkerRule, choose_backend};
pub use session::{EngineConfig, Session};
pub use setup::{unsupported, unsupported_load};
