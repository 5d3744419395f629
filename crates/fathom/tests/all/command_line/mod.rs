//! What verbs, options and messages are to who calls them.
mod check;
mod explain;
mod inputs;
mod lints;
mod manual;
mod mistakes;
mod outside;
mod printing;
mod terminal;
mod times;
mod user;
mod version;
mod wording;
