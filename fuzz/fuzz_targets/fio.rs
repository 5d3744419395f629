//! The reader of fio job files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| lang::fio::fuzz_one(data));
