//! Whether a target that was to be written whole was: synced when it was written, and looked at
//! afterwards. Nothing is taken on trust that the file system can tell.
use door::{Grants, Purpose, waiting};
use plan::{
    BoundPlan, Bytes, OpSource, OpenMode, Plan, Preparation, RunKind, RunTemplate, TargetId,
};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::PathBuf;
use sys::file::OpenFlags;

const BLOCK: u64 = 4096;

/// Blocks that are read back where nothing else tells.
const SAMPLES: u64 = 512;

/// What a look at a target has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filled {
    /// The map of extents shows every byte as written.
    Whole { extents: u64 },
    /// Nothing maps what was written; blocks that were read back hold data.
    Sampled { blocks: u64, because: String },
    /// Not all of it is there.
    Missing { bytes: u64, first: u64 },
    /// A block that was read back is empty.
    Empty { at: u64 },
    /// A block that was read back holds other data.
    Foreign { at: u64 },
    /// The look itself failed.
    Unknown(String),
}

/// Makes every stream that fills a target flush it at the end of its run.
pub fn sync_fills(plan: &mut Plan) {
    let mut fills: Vec<Vec<bool>> = plan
        .templates
        .iter()
        .map(|template| vec![false; template.streams.len()])
        .collect();
    for spec in &plan.runs {
        let template = spec.template.index();
        for stream in filling(&plan.templates[template], &spec.overrides) {
            fills[template][stream] = true;
        }
    }
    for (template, fills) in plan.templates.iter_mut().zip(fills) {
        let streams = template.streams.iter_mut().zip(fills);
        for (stream, _) in streams.filter(|(_, fills)| *fills) {
            let of_target = plan.targets[stream.targets[0].index()].open;
            stream.open = Some(OpenMode {
                sync_on_close: true,
                ..stream.open.unwrap_or(of_target)
            });
        }
    }
}

/// A part of a target that was to be written whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fill {
    pub name: String,
    pub path: PathBuf,
    /// First byte, and the byte behind the last.
    pub extent: (u64, u64),
    /// Every 4 KiB begins with our mark, as all data do that were not asked for otherwise.
    pub is_marked: bool,
}

/// What the runs of a plan fill.
pub fn fills(plan: &BoundPlan) -> Vec<Fill> {
    let mut found = Vec::new();
    let mut is_known = vec![false; plan.targets.len()];
    for id in &plan.runs {
        let spec = plan.plan.spec(*id);
        if spec.kind == RunKind::Prepare {
            continue;
        }
        let template = &plan.plan.templates[spec.template.index()];
        for number in filling(template, &spec.overrides) {
            let stream = &template.streams[number];
            let id = stream.targets[0];
            if std::mem::replace(&mut is_known[id.index()], true) {
                continue;
            }
            let target = plan.plan.target(id);
            let extent = plan.write_extent(id);
            if let Some(extent) = extent.filter(|_| target.is_real()) {
                found.push(Fill {
                    name: target.name.clone(),
                    path: target.path.clone(),
                    extent,
                    // Other runs of the plan may have written other data to it meanwhile.
                    is_marked: false,
                });
            }
        }
    }
    found
}

/// Streams that fill their one target.
fn filling<'a>(
    template: &'a RunTemplate,
    overrides: &'a [plan::Override],
) -> impl Iterator<Item = usize> + 'a {
    let fills = |stream: &plan::Stream| match &stream.source {
        OpSource::Generator(generator) => stream.targets.len() == 1 && generator.fills(overrides),
        _ => false,
    };
    let streams = template.streams.iter().enumerate();
    streams
        .filter(move |(_, stream)| fills(stream))
        .map(|(number, _)| number)
}

/// Whether the targets that were to be written whole still stand at their paths: what was written went to what was
/// examined, and what is there now is not filled.
///
/// # Errors
/// The first that does not, in words.
pub fn are_in_place(plan: &BoundPlan, fills: &[Fill], grants: &Grants) -> Result<(), String> {
    if grants.is_empty() {
        return Ok(());
    }
    let is_filled = |target: &plan::Target| {
        target.preparation == Preparation::Rewrite
            || fills.iter().any(|fill| fill.path == target.path)
    };
    let targets = plan.plan.targets.iter().zip(&plan.targets).enumerate();
    let filled = targets
        .filter(|(_, (target, bound))| target.is_real() && bound.is_written() && is_filled(target));
    for (number, _) in filled {
        let id = TargetId::at(number);
        let open = || {
            grants
                .open(id, Purpose::Read, &OpenFlags::default())
                .map(drop)
        };
        let opened = waiting::on(&plan.plan.target(id).path, open);
        // Whether it can be read at all is for the look at its content to say.
        match opened {
            Err(error) if error.is_refusal() => return Err(error.to_string()),
            _ => {}
        }
    }
    Ok(())
}

/// Looks whether all of it was written, and says it in words.
pub fn found(fill: &Fill) -> conduct::Filled {
    let found = look(fill);
    conduct::Filled {
        target: plan::target_text(&fill.name, &fill.path).to_string(),
        bytes: fill.extent.1 - fill.extent.0,
        is_whole: found.is_whole(),
        found: found.to_string(),
    }
}

/// Says of each whether all of it was written; whether it was so of all.
pub fn tell(fills: &[conduct::Filled]) -> bool {
    for one in fills {
        let (target, found) = (&one.target, &one.found);
        match one.is_whole {
            true => errln!("filled: {target}: {}, synced; {found}", Bytes(one.bytes)),
            false => errln!("warning: {target} is not filled: {found}"),
        }
    }
    fills.iter().all(|one| one.is_whole)
}

/// Looks whether all of it was written.
pub fn look(fill: &Fill) -> Filled {
    let found = waiting::on(&fill.path, || look_at(fill));
    found.unwrap_or_else(|error| Filled::Unknown(error.to_string()))
}

fn look_at(fill: &Fill) -> io::Result<Filled> {
    let end = fill.extent.1;
    let file = door::look(&fill.path)?;
    let metadata = file.metadata()?;
    if metadata.file_type().is_block_device() {
        return sampled(&file, fill, "a device has no map of extents".to_owned());
    }
    if metadata.len() < end {
        return Ok(Filled::Missing {
            bytes: end - metadata.len(),
            first: metadata.len(),
        });
    }
    let unmapped = match sys::file::coverage(&file, end) {
        Ok(coverage) => match coverage.first_missing {
            Some(first) => {
                return Ok(Filled::Missing {
                    bytes: coverage.hole_bytes + coverage.unwritten_bytes,
                    first,
                });
            }
            None if fill.is_marked => {
                let extents = coverage.extents;
                return Ok(match sampled(&file, fill, String::new())? {
                    Filled::Sampled { .. } => Filled::Whole { extents },
                    found => found,
                });
            }
            None => {
                let extents = coverage.extents;
                return Ok(Filled::Whole { extents });
            }
        },
        Err(_) => sys::file::file_system(&fill.path)
            .map_or("its file system".to_owned(), |system| system.name),
    };
    match sys::file::first_hole(&file)? {
        Some(first) if first < end => Ok(Filled::Missing {
            bytes: end - first,
            first,
        }),
        _ => sampled(&file, fill, format!("{unmapped} has no map of extents")),
    }
}

/// Reads blocks that are spread evenly. Written ones begin with something other than zeros.
fn sampled(file: &File, fill: &Fill, because: String) -> io::Result<Filled> {
    let (low, end) = fill.extent;
    let last = end.saturating_sub(BLOCK).max(low);
    let step = ((last - low) / SAMPLES).next_multiple_of(BLOCK).max(BLOCK);
    let (mut at, mut blocks) = (low, 0);
    let mut head = [0; 16];
    while at <= last && at + 16 <= end {
        file.read_exact_at(&mut head, at)?;
        if head == [0; 16] {
            return Ok(Filled::Empty { at });
        }
        if fill.is_marked && !head.starts_with(&engine::BLOCK_MARK) {
            return Ok(Filled::Foreign { at });
        }
        blocks += 1;
        at += step;
    }
    Ok(Filled::Sampled { blocks, because })
}

impl Filled {
    /// Whether nothing speaks against it.
    pub fn is_whole(&self) -> bool {
        matches!(self, Filled::Whole { .. } | Filled::Sampled { .. })
    }
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Filled::Whole { extents } => {
                write!(f, "no holes and nothing unwritten in {extents} extents")
            }
            Filled::Sampled { blocks, because } => {
                write!(f, "{because}; all of {blocks} blocks read back hold data")
            }
            Filled::Missing { bytes, first } => {
                let bytes = Bytes(*bytes);
                write!(f, "{bytes} were not written, the first at byte {first}")
            }
            Filled::Empty { at } => write!(f, "the block at byte {at} holds nothing but zeros"),
            Filled::Foreign { at } => write!(f, "the block at byte {at} holds other data"),
            Filled::Unknown(error) => write!(f, "cannot be looked at: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn fill(path: &Path, end: u64, is_marked: bool) -> Fill {
        Fill {
            name: "a".to_owned(),
            path: path.to_owned(),
            extent: (0, end),
            is_marked,
        }
    }

    #[test]
    fn holes_are_found_and_whole_files_are_not_blamed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let end = 1 << 20;
        std::fs::write(&path, vec![3; end as usize]).unwrap();
        let look = |end| look(&fill(&path, end, false));
        assert!(look(end).is_whole(), "{}", look(end));
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(2 * end).unwrap();
        assert!(!look(2 * end).is_whole(), "{}", look(2 * end));
        assert!(look(end).is_whole());
        assert!(!look(3 * end).is_whole());
        assert!(!super::look(&fill(&folder.path().join("none"), 1, false)).is_whole());
    }

    #[test]
    fn blocks_that_are_not_ours_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut data = vec![1; 64 << 10];
        let sample = |data: &[u8], is_marked| {
            std::fs::write(&path, data).unwrap();
            let fill = fill(&path, 64 << 10, is_marked);
            sampled(&File::open(&path).unwrap(), &fill, String::new()).unwrap()
        };
        let whole = Filled::Sampled {
            blocks: 16,
            because: String::new(),
        };
        assert_eq!(sample(&data, false), whole);
        assert_eq!(sample(&data, true), Filled::Foreign { at: 0 });
        for block in data.chunks_mut(4096) {
            block[..8].copy_from_slice(&engine::BLOCK_MARK);
        }
        assert_eq!(sample(&data, true), whole);
        data[8192..12_288].fill(0);
        assert_eq!(sample(&data, false), Filled::Empty { at: 8192 });
    }
}
