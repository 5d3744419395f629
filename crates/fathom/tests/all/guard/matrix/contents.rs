//! What targets hold. Each content is made once, and copied for its targets.
use super::{BYTES, copy, sparse};
use crate::lab::{Lab, ended, has};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

/// How a content comes to be on a blank file of [`BYTES`].
#[derive(Clone, Copy)]
pub enum Made {
    /// By these words of a shell; `$1` is the file, `$2` a folder for the rest. The first word is a program.
    By(&'static str, &'static str),
    /// Bytes at their places.
    Of(&'static [(u64, &'static [u8])]),
    /// Lines of text at the start.
    Text,
}

/// Every content that is refused.
pub const HELD: &[(&str, Made)] = &[
    ("ext4", Made::By("mkfs.ext4", "mkfs.ext4 -q -F $1")),
    (
        "XFS",
        Made::By(
            "mkfs.xfs",
            // Without these it makes none of less than 300 MiB.
            "TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 mkfs.xfs -q -f $1",
        ),
    ),
    (
        "btrfs",
        Made::By("mkfs.btrfs", "mkfs.btrfs -q -f --mixed $1"),
    ),
    ("swap", Made::By("mkswap", "mkswap -q $1")),
    (
        "LUKS",
        Made::Of(&[(0, b"LUKS\xba\xbe\x00\x01aes"), (0x8000, b"key material")]),
    ),
    (
        "LVM",
        Made::Of(&[(
            512,
            b"LABELONE\x01\0\0\0\0\0\0\0\x12\x34\x56\x78\x20\0\0\0LVM2 001",
        )]),
    ),
    (
        "md",
        Made::Of(&[(
            4096,
            b"\xfc\x4e\x2b\xa9\x01\0\0\0\0\0\0\0\0\0\0\0name of the array",
        )]),
    ),
    ("GPT", Made::By("sgdisk", "sgdisk -n 1:2048:+20M $1")),
    ("MBR", Made::By("sfdisk", "echo ,20M | sfdisk -q -X dos $1")),
    (
        "zip",
        Made::By(
            "zip",
            "seq 100000 >$2/numbers && zip -q $2/made.zip $2/numbers && \
             dd if=$2/made.zip of=$1 conv=notrunc status=none",
        ),
    ),
    (
        "tar",
        Made::By(
            "tar",
            "seq 100000 >$2/numbers && tar -C $2 -cf $2/made.tar numbers && \
             dd if=$2/made.tar of=$1 conv=notrunc status=none",
        ),
    ),
    (
        "database",
        Made::Of(&[
            (0, b"SQLite format 3\0\x10\0\x01\x01\0"),
            (4096, b"\x0d row of a table"),
        ]),
    ),
    (
        "qcow2",
        Made::Of(&[(0, b"QFI\xfb\0\0\0\x03"), (1 << 20, b"of a guest")]),
    ),
    ("text", Made::Text),
    (
        "zapped ext4",
        Made::By(
            "sgdisk",
            "truncate -s 40M $2/part && mkfs.ext4 -q -F $2/part && sgdisk -n 1:2048:+40M $1 && \
             dd if=$2/part of=$1 bs=1M seek=1 conv=notrunc,sparse status=none && sgdisk --zap-all $1",
        ),
    ),
    (
        "zapped XFS",
        Made::By(
            "mkfs.xfs",
            "truncate -s 40M $2/part && TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 mkfs.xfs -q -f $2/part && \
             sgdisk -n 1:2048:+40M $1 && \
             dd if=$2/part of=$1 bs=1M seek=1 conv=notrunc,sparse status=none && sgdisk --zap-all $1",
        ),
    ),
    (
        "zapped btrfs",
        Made::By(
            "mkfs.btrfs",
            "truncate -s 40M $2/part && mkfs.btrfs -q -f --mixed $2/part && \
             sgdisk -n 1:2048:+40M $1 && \
             dd if=$2/part of=$1 bs=1M seek=1 conv=notrunc,sparse status=none && sgdisk --zap-all $1",
        ),
    ),
];

/// A file of [`BYTES`] with the content, or what is missing here.
pub fn template(lab: &Lab, made: Made) -> Result<PathBuf, String> {
    let path = sparse(lab, "template", BYTES);
    let rest = lab.path("rest");
    let _ = std::fs::remove_dir_all(&rest);
    std::fs::create_dir(&rest).unwrap();
    match made {
        Made::By(program, _) if !has(program) => return Err(format!("`{program}` is missing")),
        Made::By(_, words) => {
            let mut shell = Command::new("sh");
            shell.args(["-e", "-c", words, "sh"]).args([&path, &rest]);
            let made = ended(&mut shell);
            if made.code != Some(0) {
                return Err(format!("`{words}` failed: {}", made.err));
            }
        }
        Made::Of(parts) => {
            let file = File::options().write(true).open(&path).unwrap();
            for (offset, bytes) in parts {
                file.write_all_at(bytes, *offset).unwrap();
            }
        }
        Made::Text => {
            let file = File::options().write(true).open(&path).unwrap();
            let text = "something of value, one line of it and no more\n".repeat(2000);
            file.write_all_at(text.as_bytes(), 0).unwrap();
        }
    }
    Ok(path)
}

/// A target with this content, under a name of the lab.
pub fn target(lab: &Lab, made: Made, name: &str) -> Result<PathBuf, String> {
    let made = template(lab, made)?;
    copy(&made, &lab.path(name));
    Ok(lab.path(name))
}
