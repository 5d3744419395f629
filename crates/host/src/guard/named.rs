//! Which words of the user stand for which targets. Every word and every target is looked at once, as a plan of many
//! files comes with a list of as many words.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use plan::{Access, FoundKind, TargetId, TargetKind};

use super::examine::identify;
use super::{Examination, Overwrite, Request};
use crate::root::SysRoot;

/// What the words stand for: names of targets, paths, and what stands at these paths.
#[derive(Debug, Default)]
pub(super) struct Named<'a> {
    words: BTreeSet<&'a str>,
    paths: BTreeSet<&'a Path>,
    places: BTreeSet<Place>,
    standing: BTreeSet<TargetId>,
}

/// A device by its number, or a file by device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Device(u64),
    File(u64, u64),
}

impl<'a> Named<'a> {
    pub(super) fn by(overwrite: &'a Overwrite) -> Self {
        let words = overwrite.words.iter().map(String::as_str);
        Self {
            words: words.clone().collect(),
            paths: words.clone().map(Path::new).collect(),
            places: words.filter_map(place_of_word).collect(),
            standing: overwrite.standing.clone(),
        }
    }

    /// Whether a word stands for this target: one of its names, or a path that leads to it.
    pub(super) fn has(&self, examination: &Examination) -> bool {
        let mut names = examination.words.iter();
        names.any(|name| self.words.contains(name.as_str()))
            || self.paths.contains(examination.real_path.as_path())
            || place_of(examination).is_some_and(|place| self.places.contains(&place))
            || self.standing.contains(&examination.request.target)
    }
}

/// Words that name none of the targets: most likely mistyped, or left over.
#[must_use]
pub fn unused_words(examinations: &[Examination], overwrite: &Overwrite) -> Vec<String> {
    let all = Named {
        words: examinations
            .iter()
            .flat_map(|one| one.words.iter().map(String::as_str))
            .collect(),
        paths: examinations
            .iter()
            .map(|one| one.real_path.as_path())
            .collect(),
        places: examinations.iter().filter_map(place_of).collect(),
        standing: BTreeSet::new(),
    };
    let is_unused = |word: &&String| {
        !all.words.contains(word.as_str())
            && !all.paths.contains(Path::new(word))
            && place_of_word(word).is_none_or(|place| !all.places.contains(&place))
    };
    overwrite.words.iter().filter(is_unused).cloned().collect()
}

/// Whether each path leads to what the words name for being written over. This permits nothing: [`super::judge`] does.
#[must_use]
pub fn are_named(root: &SysRoot, paths: &[&Path], overwrite: &Overwrite) -> Vec<bool> {
    if overwrite.words.is_empty() {
        return vec![false; paths.len()];
    }
    let request = |(number, path): (usize, &&Path)| Request {
        target: TargetId::at(number),
        path: path.to_path_buf(),
        kind: TargetKind::Device,
        // As a reader, nobody is asked who it is.
        access: Access::Write,
        extent: (0, 0),
        takes: (0, 0),
        bears_full: false,
        is_ours: false,
    };
    let requests: Vec<Request> = paths.iter().enumerate().map(request).collect();
    let named = Named::by(overwrite);
    let all = identify(root, &requests);
    all.iter().map(|one| named.has(one)).collect()
}

fn place_of(examination: &Examination) -> Option<Place> {
    let (one, other) = examination.identity?;
    match examination.found {
        FoundKind::BlockDevice => Some(Place::Device(one)),
        FoundKind::File => Some(Place::File(one, other)),
        _ => None,
    }
}

fn place_of_word(word: &str) -> Option<Place> {
    let facts = fs::metadata(word).ok()?;
    Some(match facts.file_type().is_block_device() {
        true => Place::Device(facts.rdev()),
        false => Place::File(facts.dev(), facts.ino()),
    })
}
