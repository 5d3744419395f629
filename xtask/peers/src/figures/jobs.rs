//! Job files of fio, the everyday ones of virtual machines, through both tools: same engine, depth and batches.
use super::{column, contender};
use crate::reading::{CPU, RATE};
use crate::session::Session;
use crate::statistics::Bar;
use crate::table::Row;
use crate::{fio, ours};
use std::path::{Path, PathBuf};

const FIGURE: u8 = 20;
const CLONES: u32 = 4;

/// What differs between the profiles.
#[derive(Clone, Copy, Debug)]
struct Profile {
    name: &'static str,
    pattern: &'static str,
    block: &'static str,
    engine: &'static str,
    /// The most CPU per I/O against fio's.
    cpu_at_most: f64,
}

/// The read profiles come first, so that the files exist when they are written.
const PROFILES: &[Profile] = &[
    profile("randread", "randread", "4k", "libaio", 0.95),
    profile("seqread", "read", "1m", "libaio", 1.02),
    profile("randwrite", "randwrite", "4k", "libaio", 0.95),
    profile("randrw", "randrw\nrwmixread=70", "4k", "libaio", 0.95),
    profile("seqwrite", "write", "1m", "libaio", 1.02),
    profile("expand", "write\nfallocate=0", "16m", "sync", 1.02),
];

const fn profile(
    name: &'static str,
    pattern: &'static str,
    block: &'static str,
    engine: &'static str,
    cpu_at_most: f64,
) -> Profile {
    Profile {
        name,
        pattern,
        block,
        engine,
        cpu_at_most,
    }
}

pub fn measure(session: &mut Session) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for profile in PROFILES {
        rows.extend(compared(session, profile)?);
    }
    Ok(rows)
}

fn compared(session: &mut Session, profile: &Profile) -> Result<[Row; 2], String> {
    let folder = session.folder.join("jobs");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let settings = session.settings;
    let text = job(profile, &folder, (settings.ramp_s, settings.window_s));
    let file = write(session, profile.name, &text)?;
    let targets: Vec<PathBuf> = (0..CLONES)
        .map(|clone| folder.join(format!("peer.{clone}")))
        .collect();
    let contenders = [
        contender("fathom", |session| {
            ours::job_file(session, &file, &targets).map(|ours| ours.reading())
        }),
        contender("fio", |session| fio::job_file(session, &file)),
    ];
    let rounds = session.rounds(FIGURE, settings.pairs, &contenders)?;
    let (ours, peer) = (column(&rounds, 0), column(&rounds, 1));
    let named = format!("fio {}", profile.engine);
    let row = |what: &str, name, bar| {
        let what = format!(
            "{} of {CLONES} files, {}: {what}",
            profile.name, profile.block
        );
        Row::compared(FIGURE, &what, name, &ours, (&named, &peer), Some(bar))
    };
    Ok([
        row("rate", RATE, Bar::AtLeast(0.97)),
        row("CPU per I/O", CPU, Bar::AtMost(profile.cpu_at_most)),
    ])
}

/// Writes a job file and keeps its text for the record.
pub(super) fn write(session: &mut Session, name: &str, text: &str) -> Result<PathBuf, String> {
    let file = session.folder.join(format!("{name}.fio"));
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    session.commands.push(text.to_owned());
    Ok(file)
}

fn job(profile: &Profile, folder: &Path, (ramp_s, window_s): (u64, u64)) -> String {
    let Profile {
        name,
        pattern,
        block,
        engine,
        ..
    } = profile;
    format!(
        "[{name}]\nrw={pattern}\nsize=256m\nnumjobs={CLONES}\nbs={block}\nioengine={engine}\niodepth=32\n\
         time_based\nramp_time={ramp_s}\nruntime={window_s}\ndirect=1\ngroup_reporting\n\
         filename_format=peer.$jobnum\nthread\ndirectory={}\n",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_a_job_that_both_languages_read() {
        for profile in PROFILES {
            let text = job(profile, Path::new("/x"), (3, 30));
            assert!(
                text.starts_with(&format!("[{}]\nrw=", profile.name)),
                "{text}"
            );
            let options = text.lines().skip(1).filter(|line| *line != "thread");
            let options = options.filter(|line| !matches!(*line, "time_based" | "group_reporting"));
            assert!(options.into_iter().all(|line| line.contains('=')), "{text}");
        }
    }
}
