//! The sides of a comparison before its first block: each is checked as its run would be, and gets the words of
//! `--overwrite` that name its own targets. Read [`settle`] first.
use super::{Job, SIDE, Schedule};
use crate::arguments::{Arguments, RunOptions, Verb};
use crate::exit::{Exit, fail};
use crate::launch::{Rehearsal, rehearse};
use crate::mistakes;
use crate::refusals::UnusedWords;
use crate::resume::Earlier;
use crate::run::{self, Telling};
use clap::Parser;
use host::guard::Overwrite;
use plan::Plan;
use std::path::Path;

/// A side that nothing refuses.
#[derive(Debug)]
pub struct ReadySide {
    /// For each of its runs.
    pub options: Vec<String>,
    pub rehearsal: Rehearsal,
}

/// Words of `--overwrite` of one side.
#[derive(Debug, Default)]
struct Words {
    all: Vec<String>,
    /// Those that name none of its targets; `None` if that is not known.
    unused: Option<Vec<String>>,
}

/// Checks all sides without any I/O, and prints everything that is wrong with any of them.
///
/// # Errors
/// The exit code of the first side that is refused.
pub fn settle(
    jobs: &[Job],
    output: &Path,
    schedule: &Schedule,
    further: &[String],
) -> Result<Vec<ReadySide>, Exit> {
    let (mut sides, mut words, mut refusal) = (Vec::new(), Vec::new(), None);
    for (side, job) in jobs.iter().enumerate() {
        let of_block = |block: &usize| Job::run_folder(output, side, *block);
        let complete = schedule.complete(&[side]);
        let next = (1..).find(|block| !complete.contains(block));
        let next = next.expect("blocks are finite");
        let further = of_job(job, further);
        let options = run_options(job, &of_block(&next), &further)?;
        let earlier = complete.first().map(of_block);
        let mut of_side = Words::default();
        match settle_side(options, earlier.as_deref(), &further, &mut of_side) {
            Ok(side) => sides.push(side),
            Err(exit) => {
                errln!("note: this refuses {SIDE}{}, `{}`", side + 1, job.name());
                refusal.get_or_insert(exit);
            }
        }
        words.push(of_side);
    }
    for word in unused_by_all(&words) {
        let message = format!("`--overwrite {word}` names no target of these jobs");
        refusal.get_or_insert(fail(Exit::Usage, &message));
    }
    match refusal {
        None => Ok(sides),
        Some(exit) => Err(fail(exit, "no run was started")),
    }
}

/// The options of a run as its command line has them.
fn run_options(job: &Job, folder: &Path, further: &[String]) -> Result<RunOptions, Exit> {
    let refused = |message: &str| Err(fail(Exit::Usage, message));
    let folder = folder.display().to_string();
    let words = ["fathom", "run", "-o", &folder].map(str::to_owned);
    let words = words.iter().chain(&job.words).chain(further);
    match Arguments::try_parse_from(words)
        .map_err(mistakes::tell)?
        .verb
    {
        Verb::Run(options) if options.common.resume.is_some() => {
            refused("`--resume` of a single run cannot be given after `--`")
        }
        Verb::Run(options) if options.inputs.iter().any(|input| input == "-") => {
            refused("each run reads its job again, so `-` (standard input) cannot be a job here")
        }
        Verb::Run(options) => Ok(options),
        _ => refused("options after `--` have to be those of `fathom run`"),
    }
}

/// `earlier` is a complete run of this side, if there is one.
fn settle_side(
    mut options: RunOptions,
    earlier: Option<&Path>,
    further: &[String],
    words: &mut Words,
) -> Result<ReadySide, Exit> {
    let overwrite = Overwrite::from_arguments(&options.common.overwrite);
    words.all = overwrite
        .map_err(|error| fail(Exit::Usage, &error.to_string()))?
        .words;
    // It gives its seed, so that all else is the same in an unchanged job.
    options.common.resume = earlier.map(Path::to_owned);
    let launch = run::read(&options, &[], Ok, Telling::ErrorsOnly)?;
    let mut unused = UnusedWords::Collected(None);
    let rehearsed = rehearse(launch, &mut unused);
    if let UnusedWords::Collected(unused) = unused {
        words.unused = unused;
    }
    let rehearsal = rehearsed?;
    if let Some(earlier) = earlier {
        check_unchanged(earlier, &rehearsal.plan)?;
    }
    let unused = words.unused.as_deref().unwrap_or_default();
    let own = words.all.iter().filter(|word| !unused.contains(word));
    Ok(ReadySide {
        options: with_words(further, own),
        rehearsal,
    })
}

/// Refuses a job that is another one than that of an earlier run.
fn check_unchanged(result: &Path, plan: &Plan) -> Result<(), Exit> {
    let earlier = Earlier::read(result).map_err(|message| fail(Exit::Usage, &message))?;
    let differences = earlier.plan_differences(plan);
    if differences.is_empty() {
        return Ok(());
    }
    errln!("error: the job has changed since `{}`:", result.display());
    for difference in differences {
        errln!("  - {difference}");
    }
    Err(Exit::Usage)
}

/// Options of all sides, and labels of this one.
fn of_job(job: &Job, further: &[String]) -> Vec<String> {
    let labels = job.labels.iter().map(|label| format!("--label={label}"));
    further.iter().cloned().chain(labels).collect()
}

/// Options without `--overwrite` and its words.
pub fn without_words(options: &[String]) -> Vec<String> {
    with_words(options, std::iter::empty())
}

/// Options with these words of `--overwrite` in place of those that they have.
fn with_words<'a>(options: &[String], own: impl Iterator<Item = &'a String>) -> Vec<String> {
    const NAME: &str = "--overwrite";
    let (mut out, mut options) = (Vec::new(), options.iter());
    while let Some(option) = options.next() {
        match option.strip_prefix(NAME) {
            Some("") => {
                options.next();
            }
            Some(value) if value.starts_with('=') => {}
            _ => out.push(option.clone()),
        }
    }
    out.extend(own.map(|word| format!("{NAME}={word}")));
    out
}

/// Words that name no target of any side; none if that is not known of a side.
fn unused_by_all(sides: &[Words]) -> Vec<&String> {
    let is_unused = |side: &Words, word: &String| {
        let unused = side.unused.as_ref();
        unused.is_some_and(|unused| unused.contains(word))
    };
    let first = sides.first().map_or(&[][..], |side| &side.all);
    let words = first.iter();
    words
        .filter(|word| sides.iter().all(|side| is_unused(side, word)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_words_take_the_place_of_all() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(String::from).collect() };
        let options = words("--overwrite a --label x=1 --overwrite=@list -e 5");
        let own = words("b c");
        assert_eq!(
            with_words(&options, own.iter()),
            words("--label x=1 -e 5 --overwrite=b --overwrite=c")
        );
    }

    #[test]
    fn a_word_is_refused_only_if_every_side_knows_that_it_names_nothing() {
        let words = |unused: Option<&str>| Words {
            all: vec!["a".to_owned(), "b".to_owned()],
            unused: unused.map(|text| text.split(' ').map(String::from).collect()),
        };
        let refused = |one, other| unused_by_all(&[words(one), words(other)]).len();
        assert_eq!(refused(Some("a"), Some("b")), 0);
        assert_eq!(refused(Some("a b"), Some("b")), 1);
        assert_eq!(refused(Some("a b"), None), 0);
    }
}
