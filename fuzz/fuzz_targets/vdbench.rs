//! The reader of Vdbench parameter files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lang::vdbench::fuzz_one(data));
