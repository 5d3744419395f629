//! `fathom import`: what fio printed as JSON becomes a result file, with all reports of one.
use crate::arguments::ImportOptions;
use crate::exit::Exit;
use crate::outputs::{Outputs, check_folder};
use crate::sinks::Sinks;
use conduct::Tempo;
use host::text_file::read_whole;
use measure::Event;
use plan::Severity;
use std::path::Path;

/// The longest report of fio that is read; one of a thousand jobs with all buckets has half of it.
const REPORT_BYTES_MAX: u64 = 64 << 20;

pub fn main(options: &ImportOptions) -> Exit {
    match import(options) {
        Ok(exit) => exit,
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

/// Some shells redirect as UTF-16. Bytes that are no text become question marks, one each: what is longer could take
/// three times the memory of the file.
fn decoded(mut bytes: Vec<u8>) -> String {
    let unit: fn([u8; 2]) -> u16 = match bytes.as_slice() {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => {
            let mut at = 0;
            while let Err(error) = std::str::from_utf8(&bytes[at..]) {
                let from = at + error.valid_up_to();
                at = error.error_len().map_or(bytes.len(), |count| from + count);
                bytes[from..at].fill(b'?');
            }
            return String::from_utf8(bytes).expect("all that was none is replaced");
        }
    };
    let pairs = bytes[2..].chunks_exact(2);
    let units = pairs.map(|pair| unit([pair[0], pair[1]]));
    let characters =
        char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER));
    characters.collect()
}

/// What a tool printed.
///
/// # Errors
/// In words without the path, where it cannot be read.
pub fn text_of(path: &Path) -> Result<String, String> {
    let bytes = read_whole(path, REPORT_BYTES_MAX).map_err(|error| error.to_string())?;
    Ok(decoded(bytes))
}

/// What fio printed, as the events of an execution.
///
/// # Errors
/// In words without the path, where there is no whole job of fio.
pub fn events_of_fio(path: &Path) -> Result<Vec<Event>, String> {
    let name = path.display().to_string();
    report::fio::import(&name, &text_of(path)?).map_err(|error| error.to_string())
}

fn import(options: &ImportOptions) -> Result<Exit, String> {
    let (path, folder) = (&options.file, &options.output);
    let name = path.display().to_string();
    let events = events_of_fio(path).map_err(|reason| format!("`{name}`: {reason}"))?;
    let outputs = Outputs::default();
    check_folder(&outputs, folder)?;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("folder `{}` cannot be made: {error}", folder.display()))?;
    let writer = store::Writer::create(folder.join("result.fathom"));
    let writer = writer.map_err(|error| error.to_string())?;
    let mut sinks = Sinks::new(Tempo::Patient, Some(writer), Vec::new(), None, &outputs)?;
    let mut is_damaged = false;
    for event in &events {
        if let Event::Remark(remark) = event {
            let severity = match remark.severity {
                Severity::Note => "note",
                _ => "warning",
            };
            errln!("{severity}: {}", remark.message);
            is_damaged |= remark.code == report::fio::DAMAGED;
        }
        sinks.take(event).map_err(|error| error.to_string())?;
    }
    let conclusion = sinks.finish(Some(folder));
    if let Some(reason) = outputs.failure() {
        return Err(format!("the result is not whole: {reason}"));
    }
    let absolute = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
    let place = |name: &str| Path::new(&absolute).join(name).display().to_string();
    crate::printing::table(&conclusion.rows);
    outln!("report:  {}", place("report.html"));
    outln!("result:  {}", place("result.fathom"));
    if is_damaged {
        errln!("error: `{name}` is not whole; the result holds what is left of it");
        return Ok(Exit::Failed);
    }
    crate::printing::verdict(&conclusion);
    Ok(Exit::Fine)
}
