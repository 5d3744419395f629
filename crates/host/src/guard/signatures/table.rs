//! The table. Sources: libblkid's documentation of what it recognises, the headers of the Linux kernel and of the
//! tools named in each line, and the published on-disk formats.

use super::checks::{has_jmicron_sum, has_mbr_entry, has_sun_sum, has_via_sum};
use super::{Check, Family, Field, Form, Place, Signature};
use Family::{
    Data, DiskImage, Encryption, FileSystem, PartitionTable, Raid, Storage, Swap, Volume,
};
use Form::{Big16, Big32, Byte, Little16, Little32};
use Place::{At, Each, End, EndOf};

/// All of them. Weak ones (a magic under four bytes) have fields or a check.
#[rustfmt::skip]
pub(crate) const SIGNATURES: &[Signature] = &[
    // Partition tables.
    of(PartitionTable, "GPT partition table", b"EFI PART", GPT),
    of(PartitionTable, "MBR partition table", b"\x55\xaa", &[At(510)]).checked(has_mbr_entry),
    of(PartitionTable, "Apple partition map", b"ER\x02\x00", &[At(0)]),
    of(PartitionTable, "Apple partition map", b"ER\x08\x00", &[At(0)]),
    of(PartitionTable, "Apple partition map", b"ER\x10\x00", &[At(0)]),
    of(PartitionTable, "Apple partition map", b"PM\x00\x00", APPLE).with(&[field(4, Big32, 1, 256)]),
    of(PartitionTable, "BSD disk label", b"\x57\x45\x56\x82", BSD)
        .with(&[field(132, Little32, 0x8256_4557, 0x8256_4557)]),
    of(PartitionTable, "BSD disk label", b"\x82\x56\x45\x57", BSD).with(&[field(132, Big32, 0x8256_4557, 0x8256_4557)]),
    of(PartitionTable, "Sun disk label", b"\xda\xbe", &[At(508)]).checked(has_sun_sum),
    of(PartitionTable, "Solaris x86 label", b"\xee\xde\x0d\x60", &[At(524)]),
    of(PartitionTable, "SGI disk label", b"\x0b\xe5\xa9\x41", &[At(0)]),
    of(PartitionTable, "AIX boot record", b"\xc9\xc2\xd4\xc1", &[At(0)]),
    of(PartitionTable, "UnixWare label", b"\x0d\x60\x5e\xca", &[At(14852)]),
    of(PartitionTable, "Ultrix label", b"\x57\x29\x03\x00", &[At(16312)]),
    of(PartitionTable, "Amiga disk block", b"RDSK", &[sectors(0, 16)]),
    of(PartitionTable, "Windows dynamic disk", b"PRIVHEAD", &[At(3072), End(512), End(98_304)]),
    of(PartitionTable, "S/390 volume label", b"\xe5\xd6\xd3\xf1", DASD),
    of(PartitionTable, "S/390 volume label", b"\xd3\xd5\xe7\xf1", DASD),
    of(PartitionTable, "S/390 volume label", b"\xc3\xd4\xe2\xf1", DASD),
    // File systems.
    of(FileSystem, "ext2, ext3 or ext4 file system", b"\x53\xef", &[At(1080)])
        .with(&[field(-32, Little32, 0, 6), field(20, Little32, 0, 1)]),
    of(FileSystem, "XFS file system", b"XFSB", &[At(0)]),
    of(FileSystem, "XFS external log", b"\xfe\xed\xba\xbe", &[sectors(0, 256)]).with(&[field(8, Big32, 1, 2)]),
    of(FileSystem, "btrfs file system", b"_BHRfS_M", &[At(65_600), At(67_108_928), At(274_877_907_008)]),
    of(FileSystem, "F2FS file system", b"\x10\x20\xf5\xf2", &[At(1024), At(5120)]),
    of(FileSystem, "NTFS file system", b"NTFS    ", &[At(3), End(509)]),
    of(FileSystem, "ReFS file system", b"\0\0\0ReFS\0", &[At(0)]),
    of(FileSystem, "FAT file system", b"FAT32   ", &[At(82)]),
    of(FileSystem, "FAT file system", b"FAT16   ", &[At(54)]),
    of(FileSystem, "FAT file system", b"FAT12   ", &[At(54)]),
    of(FileSystem, "FAT file system", b"FAT     ", &[At(54)]),
    of(FileSystem, "FAT file system", b"MSDOS", &[At(54)]),
    of(FileSystem, "FAT file system", b"MSWIN", &[At(54), At(82)]),
    // The parameter block of a FAT without a name: jump, sector bytes, number of tables, media.
    of(FileSystem, "FAT file system", b"\x55\xaa", &[At(510)])
        .with(&[
            field(-510, Byte, 0xeb, 0xeb),
            field(-508, Byte, 0x90, 0x90),
            field(-499, Little16, 512, 4096),
            field(-494, Byte, 1, 2),
            field(-489, Byte, 0xf0, 0xff),
        ]),
    of(FileSystem, "exFAT file system", b"EXFAT   ", &[At(3)]),
    of(FileSystem, "HPFS file system", b"\x49\xe8\x95\xf9", &[At(8192)]),
    of(FileSystem, "ISO 9660 file system", b"CD001", VOLUME_DESCRIPTORS),
    of(FileSystem, "High Sierra file system", b"CDROM", &[At(32_777)]),
    of(FileSystem, "UDF file system", b"NSR02", VOLUME_DESCRIPTORS),
    of(FileSystem, "UDF file system", b"NSR03", VOLUME_DESCRIPTORS),
    of(FileSystem, "UDF file system", b"BEA01", VOLUME_DESCRIPTORS),
    of(FileSystem, "UDF file system", b"BOOT2", VOLUME_DESCRIPTORS),
    of(FileSystem, "SquashFS file system", b"hsqs", &[At(0)]),
    of(FileSystem, "SquashFS file system", b"sqsh", &[At(0)]),
    of(FileSystem, "SquashFS file system", b"hsqt", &[At(0)]),
    of(FileSystem, "SquashFS file system", b"qshs", &[At(0)]),
    of(FileSystem, "EROFS file system", b"\xe2\xe1\xf5\xe0", &[At(1024)]),
    of(FileSystem, "ReiserFS file system", b"ReIsErFs", REISER),
    of(FileSystem, "ReiserFS file system", b"ReIsEr2Fs", REISER),
    of(FileSystem, "ReiserFS file system", b"ReIsEr3Fs", REISER),
    of(FileSystem, "Reiser4 file system", b"ReIsEr4", &[At(65_536)]),
    of(FileSystem, "JFS file system", b"JFS1", &[At(32_768), At(61_440)]),
    of(FileSystem, "NILFS2 file system", b"\x34\x34", &[At(1030), EndOf { unit: 4096, before: 4090, }])
        .with(&[field(-6, Little32, 2, 2), field(14, Little32, 0, 6)]),
    of(FileSystem, "OCFS2 file system", b"OCFSV2", &[At(1024), At(2048), At(4096), At(8192)]),
    of(FileSystem, "OCFS file system", b"OracleCFS", &[At(8)]),
    of(FileSystem, "GFS or GFS2 file system", b"\x01\x16\x19\x70", &[At(65_536)]).with(&[field(4, Big32, 1, 1)]),
    of(FileSystem, "HFS file system", b"BD", &[At(1024)])
        .with(&[
            field(18, Big16, 1, 65_535),
            field(20, Big32, 512, 0x0200_0000),
            field(24, Big32, 512, 0x0200_0000),
            field(36, Byte, 1, 27),
        ]),
    of(FileSystem, "HFS+ file system", b"H+\x00\x04", &[At(1024), End(1024)]),
    of(FileSystem, "HFS+ file system", b"HX\x00\x05", &[At(1024), End(1024)]),
    of(FileSystem, "APFS container", b"NXSB", &[At(32)]),
    of(FileSystem, "Minix file system", b"\x7f\x13", &[At(1040)]).with(MINIX_LITTLE),
    of(FileSystem, "Minix file system", b"\x8f\x13", &[At(1040)]).with(MINIX_LITTLE),
    of(FileSystem, "Minix file system", b"\x68\x24", &[At(1040)]).with(MINIX_LITTLE),
    of(FileSystem, "Minix file system", b"\x78\x24", &[At(1040)]).with(MINIX_LITTLE),
    of(FileSystem, "Minix file system", b"\x13\x7f", &[At(1040)]).with(MINIX_BIG),
    of(FileSystem, "Minix file system", b"\x13\x8f", &[At(1040)]).with(MINIX_BIG),
    of(FileSystem, "Minix file system", b"\x24\x68", &[At(1040)]).with(MINIX_BIG),
    of(FileSystem, "Minix file system", b"\x24\x78", &[At(1040)]).with(MINIX_BIG),
    of(FileSystem, "Minix file system", b"\x5a\x4d", &[At(1048)])
        .with(&[
            field(-20, Little16, 0, 0),
            field(-18, Little16, 1, 65_535),
            field(-12, Little16, 0, 0),
            field(4, Little16, 512, 65_535),
        ]),
    of(FileSystem, "UFS file system", b"\x54\x19\x01\x00", UFS),
    of(FileSystem, "UFS file system", b"\x00\x01\x19\x54", UFS),
    of(FileSystem, "UFS file system", b"\x19\x01\x54\x19", UFS),
    of(FileSystem, "UFS file system", b"\x19\x54\x01\x19", UFS),
    of(FileSystem, "UFS file system", b"\x12\x56\x19\x00", UFS),
    of(FileSystem, "UFS file system", b"\x00\x19\x56\x12", UFS),
    of(FileSystem, "UFS file system", b"\x14\x50\x09\x00", UFS),
    of(FileSystem, "UFS file system", b"\x00\x09\x50\x14", UFS),
    of(FileSystem, "UFS file system", b"\x95\x21\x61\x00", UFS),
    of(FileSystem, "UFS file system", b"\x00\x61\x21\x95", UFS),
    of(FileSystem, "UFS file system", b"\x94\x19\x23\x05", UFS),
    of(FileSystem, "UFS file system", b"\x05\x23\x19\x94", UFS),
    // Uberblocks and the list of names in each of the four labels.
    of(FileSystem, "ZFS pool member", b"\x0c\xb1\xba\x00\x00\x00\x00\x00", ZFS_UBERBLOCKS),
    of(FileSystem, "ZFS pool member", b"\x00\x00\x00\x00\x00\xba\xb1\x0c", ZFS_UBERBLOCKS),
    of(FileSystem, "ZFS pool member", b"\x01\x01\0\0\0\0\0\0\0\0\0\x01", ZFS_LISTS),
    of(FileSystem, "ZFS pool member", b"\x01\x00\0\0\0\0\0\0\0\0\0\x01", ZFS_LISTS),
    of(FileSystem, "bcachefs file system", BCACHEFS, &[At(4120), At(3584)]),
    of(FileSystem, "VMFS volume", b"\x0d\xd0\x01\xc0", &[At(1_048_576)]),
    of(FileSystem, "VMFS file system", b"\x5e\xf1\xab\x2f", &[At(2_097_152)]),
    of(FileSystem, "VxFS file system", b"\xf5\xfc\x01\xa5", &[At(1024)]),
    of(FileSystem, "VxFS file system", b"\xa5\x01\xfc\xf5", &[At(1024), At(8192)]),
    of(FileSystem, "cramfs file system", b"\x45\x3d\xcd\x28", &[At(0), At(512)]),
    of(FileSystem, "cramfs file system", b"\x28\xcd\x3d\x45", &[At(0), At(512)]),
    of(FileSystem, "romfs file system", b"-rom1fs-", &[At(0)]),
    of(FileSystem, "BeOS file system", b"1SFB", &[At(32), At(544)]),
    of(FileSystem, "BeOS file system", b"BFS1", &[At(32), At(544)]),
    of(FileSystem, "SCO BFS file system", b"\xce\xfa\xad\x1b", &[At(0)]),
    of(FileSystem, "System V file system", b"\x20\x7e\x18\xfd", SYSV),
    of(FileSystem, "System V file system", b"\xfd\x18\x7e\x20", SYSV),
    of(FileSystem, "Xenix file system", b"\x44\x55\x2b\x00", &[At(2040)]),
    of(FileSystem, "Xenix file system", b"\x00\x2b\x55\x44", &[At(2040)]),
    of(FileSystem, "QNX6 file system", b"\x22\x11\x19\x68", &[At(8192)]),
    of(FileSystem, "EFS file system", b"\x00\x07\x29\x59", &[At(540)]),
    of(FileSystem, "EFS file system", b"\x00\x07\x29\x5a", &[At(540)]),
    of(FileSystem, "HAMMER file system", b"\x31\x30\x52\xc5\x4d\x4d\x41\xc8", &[At(0)]),
    of(FileSystem, "HAMMER2 file system", b"\x11\x20\x17\x05\x32\x4d\x41\x48", &[At(0)]),
    of(FileSystem, "Amiga file system", b"DOS\x00", &[At(0)]),
    of(FileSystem, "Amiga file system", b"DOS\x01", &[At(0)]),
    of(FileSystem, "Amiga file system", b"DOS\x02", &[At(0)]),
    of(FileSystem, "Amiga file system", b"DOS\x03", &[At(0)]),
    of(FileSystem, "Amiga file system", b"DOS\x04", &[At(0)]),
    of(FileSystem, "Amiga file system", b"DOS\x05", &[At(0)]),
    of(FileSystem, "NetWare file system", b"SPB5", &[At(4096)]),
    of(FileSystem, "UBI volume", b"UBI#", &[At(0)]),
    of(FileSystem, "UBIFS file system", b"\x31\x18\x10\x06", &[At(0)]),
    of(FileSystem, "JFFS2 file system", b"\x85\x19\x03\x20", &[At(0)]),
    of(FileSystem, "JFFS2 file system", b"\x85\x19\x01\xe0", &[At(0)]),
    of(FileSystem, "JFFS2 file system", b"\x85\x19\x02\xe0", &[At(0)]),
    of(FileSystem, "zonefs file system", b"SFOZ", &[At(0)]),
    of(FileSystem, "LogFS file system", b"\x7a\x3a\x8e\x5c\xb9\xd5\xbf\x67", &[At(0)]),
    // Volume managers and device mapper.
    of(Volume, "bcache device", BCACHE, &[At(4120), At(3584)]),
    of(Volume, "LVM2 physical volume", b"LABELONE", &[sectors(0, 4)]),
    of(Volume, "LVM1 physical volume", b"HM\x01\x00", &[At(0)]),
    of(Volume, "LVM1 physical volume", b"HM\x02\x00", &[At(0)]),
    of(Volume, "AIX LVM physical volume", b"_LVM", &[At(3584)]),
    of(Volume, "dm-snapshot store", b"SnAp", &[At(0)]),
    of(Volume, "dm-integrity device", b"integrt\0", &[At(0)]),
    of(Volume, "dm-verity hash device", b"verity\0\0", &[At(0)]),
    of(Volume, "dm-writecache cache", b"\x21\x93\x48\x23", &[At(0)]),
    of(Volume, "dm-thin metadata", &DM_THIN, &[At(32)]),
    of(Volume, "dm-cache metadata", &DM_CACHE, &[At(32)]),
    of(Volume, "dm-era metadata", &DM_ERA, &[At(32)]),
    of(Volume, "dm-clone metadata", &DM_CLONE, &[At(32)]),
    of(Volume, "dm-zoned device", b"DBZD", &[At(0)]),
    of(Volume, "Stratis pool member", b"!Stra0tis\x86\xff\x02^\x41rh", &[At(516), At(4612)]),
    of(Volume, "VDO volume", b"dmvdo001", &[At(0)]),
    of(Volume, "VDO index", b"*ALBIREO*", &[At(0)]),
    of(Volume, "FreeBSD GEOM member", b"GEOM::", &[End(512), End(4096)]),
    of(Volume, "NVDIMM namespace", b"BTT_ARENA_INFO", &[At(4096)]),
    of(Volume, "NVDIMM namespace", b"NVDIMM_PFN_INFO", &[At(4096)]),
    of(Volume, "NVDIMM namespace", b"NVDIMM_DAX_INFO", &[At(4096)]),
    of(Volume, "Windows storage space", b"SPACEDB ", &[At(4096)]),
    // RAID.
    of(Raid, "Linux RAID member", b"\xfc\x4e\x2b\xa9", MD),
    of(Raid, "Linux RAID member", b"\xa9\x2b\x4e\xfc", MD),
    of(Raid, "Intel RAID member", b"Intel Raid ISM Cfg Sig. ", &[End(1024), End(8192)]),
    of(Raid, "DDF RAID member", b"\xde\x11\xde\x11", &[End(512), End(131_584), End(4096)]),
    of(Raid, "DDF RAID member", b"\x11\xde\x11\xde", &[End(512), End(131_584), End(4096)]),
    of(Raid, "nVidia RAID member", b"NVIDIA", &[End(1024)]),
    of(Raid, "Promise RAID member", b"Promise Technology, Inc.", PROMISE),
    of(Raid, "LSI MegaRAID member", b"$XIDE$", &[End(512)]),
    of(Raid, "VIA RAID member", b"\x55\xaa", &[End(512)]).with(&[field(2, Byte, 0, 2)]).checked(has_via_sum),
    of(Raid, "Silicon Image RAID member", b"\x00\x00\x00\x2f", &[End(416)]),
    of(Raid, "JMicron RAID member", b"JM", &[End(512)]).checked(has_jmicron_sum),
    of(Raid, "Adaptec RAID member", b"\x37\xfc\x4d\x1e", &[End(512)]),
    of(Raid, "HighPoint RAID member", b"\xf0\x16\x78\x5a", &[At(4640)]),
    of(Raid, "HighPoint RAID member", b"\xfd\x16\x78\x5a", &[At(4640), End(5632)]),
    of(Raid, "HighPoint RAID member", b"\xf3\x16\x78\x5a", &[End(5632)]),
    of(Raid, "OpenBSD softraid member", b"marcCRAM", &[At(8192)]),
    // Encryption.
    of(Encryption, "LUKS volume", b"LUKS\xba\xbe", &[At(0)]),
    of(Encryption, "LUKS second header", b"SKUL\xba\xbe", LUKS_SECOND),
    of(Encryption, "BitLocker volume", b"-FVE-FS-", &[At(3)]),
    of(Encryption, "BitLocker volume", BITLOCKER, &[At(424), At(160)]),
    // Swap and hibernation, at the end of the first page of every page size.
    of(Swap, "swap space", b"SWAPSPACE2", PAGE_ENDS),
    of(Swap, "swap space", b"SWAP-SPACE", PAGE_ENDS),
    of(Swap, "hibernation image", b"S1SUSPEND", PAGE_ENDS),
    of(Swap, "hibernation image", b"S2SUSPEND", PAGE_ENDS),
    of(Swap, "hibernation image", b"ULSUSPEND", PAGE_ENDS),
    of(Swap, "hibernation image", b"LINHIB0001", PAGE_ENDS),
    of(Swap, "hibernation image", b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c", &[At(0)]),
    // Storage software.
    of(Storage, "Ceph BlueStore device", b"bluestore block device", &[At(0)]),
    of(Storage, "DRBD metadata", b"\x83\x74\x02\x6a", DRBD),
    of(Storage, "DRBD metadata", b"\x83\x74\x02\x6b", DRBD),
    of(Storage, "DRBD metadata", b"\x83\x74\x02\x6c", DRBD),
    of(Storage, "DRBD metadata", b"\x83\x74\x02\x6d", DRBD),
    of(Storage, "Oracle ASM disk", b"ORCLDISK", &[At(32)]),
    of(Storage, "SBD fencing device", b"SBD_SBD_", &[At(0)]),
    of(Storage, "sanlock leases", b"\x10\x20\x21\x12", &[At(0)]),
    of(Storage, "sanlock leases", b"\x10\x20\x15\x06", &[At(0)]),
    // Images of disks, mostly in files.
    of(DiskImage, "QCOW disk image", b"QFI\xfb", &[At(0)]),
    of(DiskImage, "QED disk image", b"QED\0", &[At(0)]),
    of(DiskImage, "VMDK disk image", b"KDMV", &[At(0)]),
    of(DiskImage, "VMDK disk image", b"COWD", &[At(0)]),
    of(DiskImage, "VMDK disk image", b"# Disk DescriptorFile", &[At(0)]),
    of(DiskImage, "VDI disk image", b"\x7f\x10\xda\xbe", &[At(64)]),
    of(DiskImage, "VHD disk image", b"conectix", &[At(0), End(512), End(511)]),
    of(DiskImage, "VHDX disk image", b"vhdxfile", &[At(0)]),
    of(DiskImage, "Parallels disk image", b"WithoutFreeSpace", &[At(0)]),
    of(DiskImage, "Parallels disk image", b"WithouFreSpacExt", &[At(0)]),
    of(DiskImage, "Apple disk image", b"koly", &[End(512)]),
    of(DiskImage, "Bochs disk image", b"Bochs Virtual HD Image", &[At(0)]),
    of(DiskImage, "EWF disk image", b"EVF\x09\x0d\x0a\xff\x00", &[At(0)]),
    of(DiskImage, "WIM image", b"MSWIM\0\0\0", &[At(0)]),
    // Data that are often written to devices without a file system.
    of(Data, "tar archive", b"ustar", &[At(257)]),
    of(Data, "SQLite database", b"SQLite format 3\0", &[At(0)]),
];

const GPT: &[Place] = &[
    At(512),
    At(1024),
    At(2048),
    At(4096),
    End(512),
    End(1024),
    End(2048),
    End(4096),
];
const APPLE: &[Place] = &[At(512), At(2048)];
const BSD: &[Place] = &[At(0), At(64), At(128), At(512)];
const DASD: &[Place] = &[At(1024), At(4096), At(8192), At(8196)];
/// ECMA-167 and ISO 9660: descriptors of 2 KiB from 32 KiB on, the identifier behind one byte of type.
const VOLUME_DESCRIPTORS: &[Place] = &[Each {
    first: 32_769,
    step: 2048,
    count: 32,
}];
const REISER: &[Place] = &[At(8244), At(65_588)];
/// The superblock begins at 0, 8, 64 or 256 KiB; the magic stands at its byte 1372.
const UFS: &[Place] = &[At(1372), At(9564), At(66_908), At(263_516)];
/// Labels of 256 KiB, two at either end; a ring of uberblocks in the second half of each.
const ZFS_UBERBLOCKS: &[Place] = &[
    Each {
        first: 131_072,
        step: 1024,
        count: 128,
    },
    Each {
        first: 393_216,
        step: 1024,
        count: 128,
    },
    EndOf {
        unit: 262_144,
        before: 393_216,
    },
    EndOf {
        unit: 262_144,
        before: 389_120,
    },
    EndOf {
        unit: 262_144,
        before: 131_072,
    },
    EndOf {
        unit: 262_144,
        before: 126_976,
    },
];
const ZFS_LISTS: &[Place] = &[
    At(16_384),
    At(278_528),
    EndOf {
        unit: 262_144,
        before: 507_904,
    },
    EndOf {
        unit: 262_144,
        before: 245_760,
    },
];
const SYSV: &[Place] = &[At(1016), At(10_232), At(16_376), At(19_448)];
/// Format 0.90 at the last whole 64 KiB but one, 1.0 at 8 KiB before the end, 1.1 at the beginning, 1.2 at 4 KiB.
const MD: &[Place] = &[
    At(0),
    At(4096),
    EndOf {
        unit: 65_536,
        before: 65_536,
    },
    EndOf {
        unit: 4096,
        before: 8192,
    },
];
const PROMISE: &[Place] = &[
    End(63 * 512),
    End(255 * 512),
    End(256 * 512),
    End(16 * 512),
    End(399 * 512),
    End(591 * 512),
    End(675 * 512),
    End(735 * 512),
    End(911 * 512),
    End(974 * 512),
    End(991 * 512),
    End(951 * 512),
    End(3087 * 512),
];
const LUKS_SECOND: &[Place] = &[
    At(0x4000),
    At(0x8000),
    At(0x1_0000),
    At(0x2_0000),
    At(0x4_0000),
    At(0x8_0000),
    At(0x10_0000),
    At(0x20_0000),
    At(0x40_0000),
];
const PAGE_ENDS: &[Place] = &[
    At(2038),
    At(4086),
    At(8182),
    At(16_374),
    At(32_758),
    At(65_526),
];
/// Byte 60 of the last whole 4 KiB.
const DRBD: &[Place] = &[EndOf {
    unit: 4096,
    before: 4036,
}];

/// Zone size exponent 0, and map sizes as they follow from 16-bit inode numbers and blocks of 1 KiB.
const MINIX_LITTLE: &[Field] = &[
    field(-12, Little16, 1, 8),
    field(-10, Little16, 1, 65_535),
    field(-6, Little16, 0, 0),
];
const MINIX_BIG: &[Field] = &[
    field(-12, Big16, 1, 8),
    field(-10, Big16, 1, 65_535),
    field(-6, Big16, 0, 0),
];

const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
const BITLOCKER: &[u8] = b"\x3b\xd6\x67\x49\x29\x2e\xd8\x4a\x83\x99\xf6\xa3\x39\xe3\xd0\x01";
const DM_THIN: [u8; 8] = 27_022_010_u64.to_le_bytes();
/// Octal in the kernel's source.
const DM_CACHE: [u8; 8] = 0o6_142_003_u64.to_le_bytes();
const DM_ERA: [u8; 8] = 2_126_579_579_u64.to_le_bytes();
const DM_CLONE: [u8; 8] = 0x8af2_7f64_u64.to_le_bytes();

const fn of(
    family: Family,
    name: &'static str,
    magic: &'static [u8],
    places: &'static [Place],
) -> Signature {
    Signature {
        family,
        name,
        magic,
        places,
        fields: &[],
        check: None,
    }
}

const fn field(from_magic: i64, form: Form, low: u32, high: u32) -> Field {
    Field {
        from_magic,
        form,
        low,
        high,
    }
}

const fn sectors(first: u64, count: u64) -> Place {
    Each {
        first,
        step: 512,
        count,
    }
}

impl Signature {
    const fn with(self, fields: &'static [Field]) -> Self {
        Self { fields, ..self }
    }

    const fn checked(self, check: Check) -> Self {
        Self {
            check: Some(check),
            ..self
        }
    }
}
