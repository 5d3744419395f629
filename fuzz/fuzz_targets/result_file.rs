//! The reader of result files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    (fuzzer::targets::RESULT_FILE.execute)(data);
});
