//! Holds a planted panic: when it is not found, the set-up does not work.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (fuzzer::targets::CANARY.execute)(data);
});
