//! The reader of result files: each event of one that can be opened.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let folder = tempfile::tempdir().expect("the folder for temporary files can be written");
    let path = folder.path().join("result.fathom");
    std::fs::write(&path, data).expect("the folder can be written");
    if let Ok(reader) = store::Reader::open(&path) {
        reader.events().for_each(drop);
    }
});
