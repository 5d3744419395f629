//! The binary as its users meet it: real processes on real files, in a folder of their own for each
//! test. What a machine lacks is skipped with a reason. Read `support/lab.rs` first.
mod command_line;
mod fio;
mod guard;
mod results;
mod running;
mod support;
mod vdbench;

use support::{hosts, keeper, lab, named, schema, served};
