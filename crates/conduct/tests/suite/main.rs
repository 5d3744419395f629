//! The engine under the conductor: one behaviour on every backend, exact figures in simulated
//! time, faults, and the rules over whole runs.
#![forbid(unsafe_code)]

mod addresses;
mod backends;
mod behaviour;
mod depth_search;
mod determinism;
mod distant;
mod dumps;
mod fairness;
mod faults;
mod few_tags;
mod file_systems;
mod flow;
mod gaps;
mod go_on;
mod handover;
#[path = "../../../sys/tests/lab/keeper.rs"]
mod keeper;
mod known_latency;
mod laws;
mod lifetimes;
#[path = "../../../sys/tests/lab/named.rs"]
mod named;
mod places;
#[path = "../../../engine/tests/plans/mod.rs"]
mod plans;
mod real_faults;
mod response;
mod rules;
mod scaling;
mod shares;
mod sinks;
mod steering;
mod stopped;
mod story;
