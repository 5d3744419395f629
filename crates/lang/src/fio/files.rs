//! The names of the files of each clone.
use super::codes;
use super::jobs::{ADDED, Given, Job, at_job};
use super::support::{push_once, refused};
use crate::Environment;
use crate::environment::Files;
use crate::sink::Sink;
use plan::{Diagnostic, Reservation, Span};
use std::fmt::Write;

/// How the files of a job are named.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    rule: Rule,
    directories: Vec<String>,
    pub place: Span,
}

#[derive(Clone, Debug)]
enum Rule {
    /// The same for all clones.
    Listed(Vec<String>),
    Made {
        format: String,
        job: String,
        /// Of the host whose files they are; empty for this one.
        address: String,
        /// Of each name.
        prefix: String,
        files: u64,
    },
}

/// `fs.nr_open` as Linux has it. A result file takes the plan as one text of at most 1e9 bytes, which is less than twice as many.
pub(crate) const FILES_MAX: u64 = 1 << 20;
const TOO_MANY: &str = "a process opens no more on Linux (`fs.nr_open`, unless it was raised), \
                        and a result file names each of them";

/// Room for a usual name; a longer one takes more.
const NAME_BYTES: usize = 48;

impl Naming {
    /// The rule of a job; `None` when it has none that can be used, which was reported.
    /// `smallest` is the shortest I/O of the job.
    pub(crate) fn of(
        job: &Job,
        smallest: u64,
        environment: &Environment<'_>,
        blockers: &mut Vec<Diagnostic>,
        sink: &mut Sink,
    ) -> Option<Self> {
        let (address, prefix) = of_client(job, environment);
        let directories: Vec<String> = job
            .text("directory")
            .map(|text| split_names(text, false))
            .unwrap_or_default();
        if let Some(given) = job.last_of(ADDED) {
            let mut names = Vec::new();
            for given in job.all() {
                names.extend(match given.parameter.name() {
                    "filename" => listed(given, directories.first(), &prefix, sink)?,
                    "opendir" => found(job, given, smallest, environment.files, blockers)?,
                    _ => continue,
                });
            }
            // As in the original: a number that stands behind it leaves out the rest, one before it nothing.
            let last = |names: &[&str]| job.last_of(names).map(|last| last.parameter.name());
            if last(&["opendir"]).is_some() && last(&["opendir", "nrfiles"]) == Some("nrfiles") {
                names.truncate(job.get(number!("nrfiles")).max(1) as usize);
            }
            return Some(Self {
                rule: Rule::Listed(names),
                directories: Vec::new(),
                place: given.span(),
            });
        }
        let files = job.get(number!("nrfiles")).max(1) as u64;
        let section = &job.section.text;
        if section.starts_with("/dev/") && files == 1 {
            // A device as the name of a section is the target.
            return Some(Self {
                rule: Rule::Listed(vec![section.clone()]),
                directories: Vec::new(),
                place: job.section.span,
            });
        }
        if section.is_empty() && job.given("filename_format").is_none() {
            let message = "a job without a name has no file".to_owned();
            sink.push(
                at_job(job, codes::MISSING, message, "no name")
                    .with_help("name the section, or a file with `filename`"),
            );
            return None;
        }
        if files > FILES_MAX {
            refuse_too_many(job, blockers);
        }
        let place = match (job.given("filename_format"), job.given("directory")) {
            (Some(given), _) | (None, Some(given)) => given.span(),
            (None, None) => job.section.span,
        };
        Some(Self {
            rule: Rule::Made {
                format: job.text_of(text!("filename_format")).to_owned(),
                job: section.clone(),
                address,
                prefix,
                // Of a job that is refused, nothing is made and listed.
                files: if files > FILES_MAX { 1 } else { files },
            },
            directories,
            place,
        })
    }

    /// How many files each clone has.
    pub(crate) fn count(&self) -> u64 {
        match &self.rule {
            Rule::Listed(names) => names.len() as u64,
            Rule::Made { files, .. } => *files,
        }
    }

    /// Files that each clone has to itself.
    pub(crate) fn own_count(&self) -> u64 {
        match &self.rule {
            Rule::Listed(_) => 0,
            Rule::Made { files, .. } => *files,
        }
    }

    /// What stands before the names of a clone: nothing, or a directory with its slash.
    pub(crate) fn directory(&self, clone: u32) -> String {
        match self.directories.as_slice() {
            [] => String::new(),
            some => format!(
                "{}/",
                some[clone as usize % some.len()].trim_end_matches('/')
            ),
        }
    }

    /// The paths of a clone, which is counted from zero.
    pub(crate) fn paths(&self, clone: u32) -> Vec<String> {
        let (format, job, address, prefix, files) = match &self.rule {
            Rule::Listed(names) => return names.clone(),
            Rule::Made {
                format,
                job,
                address,
                prefix,
                files,
            } => (format, job, address, prefix, *files),
        };
        let mut format = parts(format, (job, address), clone);
        format.insert(0, Part::Text(self.directory(clone) + prefix));
        let longest = filled(&format, files.saturating_sub(1), NAME_BYTES).len();
        (0..files)
            .map(|file| filled(&format, file, longest))
            .collect()
    }
}

/// Whether a path means a device.
pub(crate) fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") && !path.starts_with("/dev/shm/")
}

/// The address of the host whose files they are, empty for this one, and what names begin with that have to differ there.
fn of_client(job: &Job, environment: &Environment<'_>) -> (String, String) {
    let address = environment.client_address.clone().unwrap_or_default();
    let is_apart = !address.is_empty()
        && job.given("directory").is_some()
        && job.is_on(on!("unique_filename"));
    let prefix = match is_apart {
        true => format!("{address}."),
        false => String::new(),
    };
    (address, prefix)
}

/// Reports that a job has more files than one may have.
fn refuse_too_many(job: &Job, blockers: &mut Vec<Diagnostic>) {
    let what = format!("more than {FILES_MAX} files of one clone");
    let help = "use fewer files, or several calls with some of the files each";
    let refusal = refused(&what, TOO_MANY, help, job.place_of("nrfiles"));
    push_once(blockers, refusal);
}

/// The files that a job lists, below its folder if it has one.
fn listed(
    given: &Given,
    directory: Option<&String>,
    prefix: &str,
    sink: &mut Sink,
) -> Option<Vec<String>> {
    let names = split_names(given.text(), true);
    if names.is_empty() || names.iter().any(|name| name == "-") {
        let message = "standard input and output are no targets";
        let help = "name a file or a device";
        sink.error(codes::REFUSED, given.span(), message, "refused", help);
        return None;
    }
    let names = names.into_iter().map(|name| match directory {
        Some(directory) => format!("{directory}/{prefix}{name}"),
        None => name,
    });
    Some(names.collect())
}

/// What is found below a folder of `opendir`.
fn found(
    job: &Job,
    given: &Given,
    smallest: u64,
    files: &dyn Files,
    blockers: &mut Vec<Diagnostic>,
) -> Option<Vec<String>> {
    let folder = given.text();
    let mut refuse = |what: &str| {
        let message = format!("the folder `{folder}` {what}");
        let error = Diagnostic::error(codes::FOLDER, message).at(given.span(), "to be searched");
        let help = "`opendir` takes a folder of this machine that holds files; `directory` says \
                    where files are made";
        push_once(blockers, error.with_help(help));
    };
    let found = match files.below(folder) {
        Ok(found) => found,
        Err(reason) => {
            refuse(&format!("cannot be searched: {reason}"));
            return None;
        }
    };
    // Without a size, what holds no I/O takes no part.
    let is_sized = job.given("size").is_some() || job.given("filesize").is_some();
    let takes_part = |(path, bytes): (String, u64)| (is_sized || bytes >= smallest).then_some(path);
    let found: Vec<String> = found.into_iter().filter_map(takes_part).collect();
    if found.is_empty() {
        refuse("holds no file that is as long as an I/O");
        return None;
    }
    if found.len() as u64 > FILES_MAX {
        refuse(&format!("holds more than {FILES_MAX} files"));
        return None;
    }
    Some(found)
}

/// The names of a list; `\:` is a colon.
fn split_names(text: &str, trims: bool) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                chars.next();
                out.last_mut().expect("never empty").push(':');
            }
            ':' => out.push(String::new()),
            other => out.last_mut().expect("never empty").push(other),
        }
    }
    let trimmed = |name: String| if trims { name.trim().to_owned() } else { name };
    out.into_iter()
        .map(trimmed)
        .filter(|name| !name.is_empty())
        .collect()
}

/// A piece of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    FileNumber,
}

/// The format with its words replaced, whatever their case, but for the number of the file.
fn parts(format: &str, (job, address): (&str, &str), clone: u32) -> Vec<Part> {
    let words = [
        ("$jobname", Some(job.to_owned())),
        ("$jobnum", Some(clone.to_string())),
        ("$filenum", None),
        ("$clientuid", Some(address.to_owned())),
    ];
    let mut out = Vec::new();
    let mut text = String::new();
    let mut rest = format;
    while let Some(start) = rest.find('$') {
        text += &rest[..start];
        rest = &rest[start..];
        let found = words.iter().find(|(word, _)| {
            rest.get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        });
        match found {
            Some((_, Some(value))) => text += value,
            Some((_, None)) => {
                out.push(Part::Text(std::mem::take(&mut text)));
                out.push(Part::FileNumber);
            }
            None => text.push('$'),
        }
        rest = &rest[found.map_or(1, |(word, _)| word.len())..];
    }
    text += rest;
    out.push(Part::Text(text));
    out
}

fn filled(format: &[Part], file: u64, bytes: usize) -> String {
    let mut out = String::with_capacity(bytes);
    for part in format {
        match part {
            Part::Text(text) => out += text,
            Part::FileNumber => write!(out, "{file}").expect("text grows"),
        }
    }
    out
}

/// The space that files get before they are written.
pub(crate) fn reservation(job: &Job) -> Option<Reservation> {
    // Their length is what the job finds out, or comes of opening them.
    let grows = [
        on!("create_on_open"),
        on!("fill_device"),
        on!("file_append"),
    ];
    if grows.into_iter().any(|option| job.is_on(option)) {
        return None;
    }
    match job.word_of(word!("fallocate")) {
        "none" | "0" => None,
        "keep" => Some(Reservation::SpaceBehindEnd),
        "truncate" => Some(Reservation::Length),
        _ => Some(Reservation::Space),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_whatever_their_case_and_quotes_stay() {
        let name = |format, clone, file| filled(&parts(format, ("j", ""), clone), file, 0);
        assert_eq!(name("__testfile'$jobnum'", 3, 0), "__testfile'3'");
        assert_eq!(name("$JobName.$jobnum.$FILENUM", 1, 2), "j.1.2");
        assert_eq!(name("a$b$clientuid$", 1, 2), "a$b$");
    }

    #[test]
    fn a_colon_with_a_backslash_belongs_to_the_name() {
        assert_eq!(split_names("/a: /b\\:c:", true), ["/a", "/b:c"]);
    }
}
