//! Jobs of fio, beside the installed fio where there is one.
mod addresses;
mod engines;
mod exits;
mod files;
mod flow;
mod leniency;
mod logs;
mod output;
mod places;
mod process;
mod profiles;
mod quiet;
mod replay;
mod traps;
mod usage;
mod verify;
mod verify_state;
