//! Who made a device out of others, as far as that tells which devices never overlap on a member that they share.

use crate::block::BlockDevice;

/// Length of the identifiers of LVM, without the dashes that its tools print.
const LVM_ID: usize = 32;

/// The maker of a device, and what it has to share with another device so that the two were given different parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// A logical volume, or a part of one.
    Lvm { group: String, volume: String },
    /// A partition that a program mapped (kpartx), with what the partitioned device is known by.
    Partition { of: String },
    /// A volume of the RAID of a mainboard.
    FirmwareRaid,
    /// A RAID with metadata that the kernel does not manage, and the container that it is a part of.
    Container(String),
    /// Cached devices share the device of the cache.
    Bcache,
    /// Replicated devices may share the device of their metadata.
    Drbd,
}

impl Maker {
    /// Nothing where devices of this kind may overlap.
    pub(crate) fn of(device: &BlockDevice) -> Option<Self> {
        if let Some(uuid) = device.attribute("dm/uuid") {
            return Self::of_mapping(&uuid);
        }
        if let Some(version) = device.attribute("md/metadata_version") {
            // md(4): `external:imsm` for a container, `external:/md127/0` for a volume in it, with a dash while that is
            // read-only.
            let kind = version.strip_prefix("external:")?;
            let inside = kind.strip_prefix(['/', '-']);
            let container = inside.and_then(|path| path.split('/').next());
            return Some(Self::Container(
                container.unwrap_or(&device.name).to_owned(),
            ));
        }
        let numbered = |prefix: &str| {
            let number = device.name.strip_prefix(prefix);
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if numbered("bcache") {
            return Some(Self::Bcache);
        }
        numbered("drbd").then_some(Self::Drbd)
    }

    fn of_mapping(uuid: &str) -> Option<Self> {
        if let Some(ids) = uuid.strip_prefix("LVM-") {
            return Some(Self::Lvm {
                group: ids.get(..LVM_ID)?.to_owned(),
                volume: ids.get(LVM_ID..2 * LVM_ID)?.to_owned(),
            });
        }
        if let Some(rest) = uuid.strip_prefix("part")
            && let Some((number, of)) = rest.split_once('-')
            && number.parse::<u32>().is_ok()
        {
            return Some(Self::Partition { of: of.to_owned() });
        }
        uuid.starts_with("DMRAID-").then_some(Self::FirmwareRaid)
    }

    /// Whether writes to `mine` cannot touch what `other` shows, though both are built on `device`.
    pub(crate) fn are_beside(
        mine: &Option<Self>,
        other: &Option<Self>,
        device: &BlockDevice,
    ) -> bool {
        let (Some(mine), Some(other)) = (mine, other) else {
            return false;
        };
        match (mine, other) {
            (Self::Lvm { group, volume }, Self::Lvm { group: second, .. }) => {
                group == second && !is_origin(device, volume)
            }
            _ => mine == other,
        }
    }
}

/// Whether `device` holds what `volume` shares with its snapshots. What is written to the volume takes room in them, and
/// one without room is lost. What is written to a snapshot stays in it.
fn is_origin(device: &BlockDevice, volume: &str) -> bool {
    let uuid = device.attribute("dm/uuid").unwrap_or_default();
    let layer = uuid.strip_prefix("LVM-").and_then(|ids| ids.get(LVM_ID..));
    layer.and_then(|layer| layer.strip_prefix(volume)) == Some("-real")
}
