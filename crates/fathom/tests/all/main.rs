//! The binary as its users meet it: real processes on real files, in a folder of their own for each
//! test. What a machine lacks is skipped with a reason. Read `lab` first.
mod check;
mod curve;
mod extras;
mod face;
mod failing;
mod fio_flow;
mod fio_output;
mod guard;
mod lab;
mod lints;
mod manual;
mod many;
mod mistakes;
mod paces;
mod prefill;
mod prepare;
mod repeat;
mod report_again;
mod resume;
mod run;
mod schema;
mod stall;
mod steering;
mod stop;
mod terminal;
mod user;
