//! Everything that is tested from outside: golden pairs, mistakes, properties, the shared corpus.
mod defaults;
mod fio_corpus;
mod fio_golden;
mod fio_layout;
mod fio_lifetimes;
mod fio_patterns;
mod fio_placement;
mod fio_properties;
mod fio_traps;
mod golden;
mod large;
mod lints;
mod matrix;
mod oracle;
mod pages;
mod properties;
mod render;
