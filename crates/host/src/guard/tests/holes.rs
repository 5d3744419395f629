//! Loop devices over files with holes: what is not in a hole is looked at, all of it. Needs root and losetup, else
//! skipped.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::devices::Loop;
use super::{noise, our_data};
use crate::guard::Finding;
use crate::guard::stack::FileBehind;

const BYTES: u64 = 4 << 30;
const OFFSET: u64 = 1 << 20;
/// Where no end, no usual start of a partition and no sample is, in so large a device.
const LONELY: u64 = (2 << 30) + 77 * 4096;

fn behind(image: &Path) -> FileBehind {
    let facts = std::fs::metadata(image).unwrap();
    FileBehind {
        path: image.to_path_buf(),
        identity: (facts.dev(), facts.ino()),
    }
}

fn has_unknown_data(findings: &[Finding]) -> bool {
    let is_one = |finding: &Finding| matches!(finding, Finding::UnknownData { offset, .. } if *offset == LONELY);
    findings.iter().any(is_one)
}

#[test]
fn the_only_block_that_is_not_in_a_hole_is_found() {
    let fill = |file: &File| file.write_all_at(&noise(4096, 5), LONELY).unwrap();
    let made = Loop::over(crate::named::builder().tempdir().unwrap(), BYTES, &[], fill);
    let Some(device) = made else {
        return;
    };
    let found = device.examine().findings;
    assert!(has_unknown_data(&found), "{found:?}");
}

#[test]
fn what_the_kernel_has_not_yet_handed_to_the_file_is_found() {
    let Some(device) = Loop::new(BYTES, &[]) else {
        return;
    };
    // As long as this one is open, nothing makes the kernel write it.
    let writer = File::options().write(true).open(&device.device).unwrap();
    writer.write_all_at(&noise(4096, 5), LONELY).unwrap();
    let found = device.examine().findings;
    assert!(has_unknown_data(&found), "{found:?}");
}

#[test]
fn the_map_is_that_of_the_part_that_the_device_shows() {
    let fill = |file: &File| {
        file.write_all_at(&our_data(8192, 5), OFFSET - 4096)
            .unwrap();
        file.write_all_at(&our_data(65_536, 6), OFFSET + (1 << 24))
            .unwrap();
    };
    let options = ["--offset", "1048576", "--sizelimit", "33554432"];
    let made = Loop::over(
        crate::named::builder().tempdir().unwrap(),
        BYTES,
        &options,
        fill,
    );
    let Some(device) = made else {
        return;
    };
    let open = File::open(&device.device).unwrap();
    let file = behind(&device.image);
    let map = file.data_map(&open, 1 << 25).unwrap();
    let told: u64 = map.areas.iter().map(|(low, end)| end - low).sum();
    assert!(map.touches(0) && map.touches(1 << 24) && map.touches((1 << 24) + 61_440));
    assert!(told < 1 << 20, "{map:?}");
    // Another file at its path, or a device that shows another one, tells nothing.
    std::fs::rename(&device.image, device.directory.path().join("away")).unwrap();
    assert_eq!(file.data_map(&open, 1 << 25), None);
    File::create(&device.image).unwrap().set_len(BYTES).unwrap();
    assert_eq!(file.data_map(&open, 1 << 25), None);
    assert_eq!(behind(&device.image).data_map(&open, 1 << 25), None);
    // Nor does one that ends before the device does.
    let away = behind(&device.directory.path().join("away"));
    assert!(away.data_map(&open, 1 << 25).is_some());
    assert_eq!(away.data_map(&open, BYTES), None);
}
