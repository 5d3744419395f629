//! The door before real files, and before a model of a file system with an adversary.
mod adversary;
mod real;
