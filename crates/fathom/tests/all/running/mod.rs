//! Executions under way: devices that fail or do not answer, signals, ends, and going on.
mod failing;
mod few_tags;
mod hang;
mod kept;
mod late;
mod many;
mod memory;
mod paces;
mod prefill;
mod prepare;
mod repeat;
mod resume;
mod seeds;
mod signals;
mod stall;
mod steering;
pub mod stop;
