//! `fathom compare`: results beside each other, with an answer.
use crate::arguments::{CompareOptions, SideWord};
use crate::exit::Exit;
use crate::import::{events_of_fio, text_of};
use crate::in_turn::{self, Job};
use crate::outputs::{Outputs, Own, check_place};
use crate::results::{NAME, result_file};
use analysis::{
    ComparedResult, ComparedRun, Comparing, Comparison, Difference, FigureKind, Side, Watch,
};
use host::text_file::read_head;
use measure::Event;
use plan::Label;
use report::vdbench::{is_flatfile, runs_of_flatfile, unfinished_of_flatfile};
use report::{comparison, shown};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use store::Salvage;

/// What Vdbench calls its columns of figures.
const FLATFILE: &str = "flatfile.html";

/// How a file of SQLite begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

pub fn main(options: &CompareOptions, arguments: &[String]) -> Exit {
    let compared = sides(options, arguments)
        .map(|(sides, is_in_turn)| compare_all(sides, is_in_turn, options));
    match compared.unwrap_or_else(Ok) {
        Ok(exit) => exit,
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

/// What is compared, and whether it was run in turn.
///
/// # Errors
/// How the program is to end, which has said why.
fn sides(options: &CompareOptions, arguments: &[String]) -> Result<(Vec<Side>, bool), Exit> {
    let refused = |message: String| crate::exit::fail(Exit::Usage, &message);
    let shown = |path: &PathBuf| path.display().to_string();
    let mut names: Vec<String> = options.results.iter().map(shown).collect();
    let mut paths: Vec<PathBuf> = options
        .results
        .iter()
        .map(|path| in_turn::labelled(path))
        .collect();
    if let (Some(output), false) = (&options.output, options.run.is_empty()) {
        let jobs = Job::all_of(&SideWord::all_of(arguments)).map_err(refused)?;
        check_files(output).map_err(refused)?;
        in_turn::run(&jobs, output, options)?;
        paths = (0..jobs.len())
            .map(|side| Job::folder(output, side))
            .collect();
        names = paths.iter().map(shown).collect();
    }
    let paired = in_turn::paired(&paths).map_err(refused)?;
    let blocks = paired.map(|paired| {
        // Sides that the user has chosen by a label are named by it.
        let by_label = options.results.iter().zip(&paths);
        let by_label: Vec<bool> = by_label.map(|(given, path)| given != path).collect();
        for (side, name) in names.iter_mut().enumerate() {
            if !by_label.get(side).copied().unwrap_or(false) {
                name.clone_from(&paired.names[side]);
            }
        }
        paired.blocks
    });
    let is_in_turn = blocks.is_some();
    let mut chosen: Vec<Chosen> = paths.into_iter().map(Chosen::of).collect();
    for (side, blocks) in chosen.iter_mut().zip(blocks.into_iter().flatten()) {
        side.blocks = Some(blocks);
    }
    let sides: Result<Vec<Side>, String> = std::thread::scope(|scope| {
        let read = |(chosen, name): (Chosen, String)| scope.spawn(move || read_side(&chosen, name));
        let threads: Vec<_> = chosen.into_iter().zip(names).map(read).collect();
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().expect("reading a result panics nowhere"))
            .collect()
    });
    let mut sides = sides.map_err(refused)?;
    name_apart(&mut sides);
    Ok((sides, is_in_turn))
}

fn compare_all(
    mut sides: Vec<Side>,
    is_in_turn: bool,
    options: &CompareOptions,
) -> Result<Exit, String> {
    let rules = Comparing {
        margin: options.margin,
        is_paired: is_in_turn,
        ignores_load: options.force,
    };
    let base = sides.remove(0);
    let comparisons = analysis::compare_all(&base, &sides, &rules);
    if let Some(folder) = &options.output {
        write_files(folder, &comparisons)?;
    }
    let common = comparisons.iter().filter(|one| !one.cells.is_empty());
    for comparison in common {
        out!(
            "{}\n",
            comparison::text(comparison, crate::printing::columns())
        );
    }
    if let Some(folder) = &options.output {
        outln!("report:  {}", folder.join(PAGE).display());
    }
    let nothing = comparisons.iter().find(|one| one.cells.is_empty());
    if let Some(nothing) = nothing {
        return Err(nothing_in_common(nothing));
    }
    Ok(judge_bars(options, &comparisons))
}

fn nothing_in_common(comparison: &Comparison) -> String {
    let list = |runs: &[String]| match runs {
        [] => "no run that measures".to_owned(),
        runs => runs.join(", "),
    };
    let differ = comparison
        .nearest_difference()
        .map_or(String::new(), |differences| {
            let text = |one: &Difference| format!("{} {} / {}", one.name, one.base, one.other);
            let all: Vec<String> = differences.iter().map(text).collect();
            format!("; the first two differ in {}", all.join(", "))
        });
    format!(
        "`{}` ({}) and `{}` ({}) have no load in common{differ}; `--force` compares runs of one name whatever their load",
        comparison.base,
        list(&comparison.only_base),
        comparison.other,
        list(&comparison.only_other),
    )
}

fn judge_bars(options: &CompareOptions, comparisons: &[Comparison]) -> Exit {
    let mut exit = Exit::Fine;
    for (text, bar) in &options.fail_if {
        for comparison in comparisons {
            let beyond = comparison.beyond(*bar);
            let names = |cells: &[&analysis::Cell]| {
                let names: Vec<&str> = cells.iter().map(|cell| &*cell.name).collect();
                names.join(", ")
            };
            let other = &comparison.other;
            if beyond.judged == 0 {
                let why = why_not_judged(comparison, bar.kind);
                errln!("error: no load can be judged by `{text}`: {why}");
            }
            if !beyond.cells.is_empty() {
                errln!(
                    "error: `{other}` is beyond `{text}`: {}",
                    names(&beyond.cells)
                );
                exit = Exit::Beyond;
            } else if !beyond.unsure.is_empty() || beyond.judged == 0 {
                if !beyond.unsure.is_empty() {
                    errln!(
                        "note: whether `{other}` is beyond `{text}` cannot be told: {}",
                        names(&beyond.unsure)
                    );
                }
                // A bar that judges nothing would pass for ever.
                let is_unsure = options.fail_if_unsure || beyond.judged == 0;
                if is_unsure && exit == Exit::Fine {
                    exit = Exit::Unsure;
                }
            }
        }
    }
    exit
}

/// The first reason, where a figure is shown and not compared.
fn why_not_judged(comparison: &Comparison, kind: FigureKind) -> String {
    let mut figures = comparison
        .cells
        .iter()
        .filter_map(|cell| cell.judged_by(kind));
    match figures.find_map(|figure| figure.unfit) {
        Some(unfit) => format!("it is not compared ({})", comparison::unfit_name(unfit)),
        None => format!("no load has a figure `{}` on both sides", kind.name()),
    }
}

const PAGE: &str = "comparison.html";
const TABLE: &str = "comparison.csv";
const DOCUMENT: &str = "comparison.json";

/// Refuses, before the first run, what the files of the comparison would replace.
fn check_files(folder: &Path) -> Result<(), String> {
    let own = [
        (PAGE, Own::Page),
        (TABLE, Own::ComparisonTable),
        (DOCUMENT, Own::ComparisonJson),
    ];
    let outputs = Outputs::default();
    own.into_iter()
        .try_for_each(|(name, own)| outputs.check_own(&folder.join(name), own))
}

fn write_files(folder: &Path, comparisons: &[Comparison]) -> Result<(), String> {
    let outputs = Outputs::default();
    check_place(folder)?;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("folder `{}` cannot be made: {error}", folder.display()))?;
    let files = [
        (TABLE, Own::ComparisonTable, comparison::csv(comparisons)),
        (DOCUMENT, Own::ComparisonJson, comparison::json(comparisons)),
    ];
    outputs.replace_own(&folder.join(PAGE), Own::Page, |out| {
        comparison::page(comparisons, out)
    })?;
    files.into_iter().try_for_each(|(name, own, text)| {
        outputs.replace_own(&folder.join(name), own, |out| {
            out.write_all(text.as_bytes())
        })
    })
}

/// What a side is made of: all results at a place, or `PLACE@NAME=VALUE`, those of them with a label.
struct Chosen {
    path: PathBuf,
    label: Option<Label>,
    /// Of a side that was run in turn: the results that have a partner on each other side.
    blocks: Option<Vec<PathBuf>>,
}

impl Chosen {
    fn of(path: PathBuf) -> Self {
        let text = path.to_string_lossy();
        let parts = text.rsplit_once('@').filter(|_| !path.exists());
        let label = parts.and_then(|(place, label)| Some((place, label.split_once('=')?)));
        match label {
            Some((place, (name, value))) => Self {
                path: place.into(),
                label: Some(Label::new(name, value)),
                blocks: None,
            },
            None => Self {
                path,
                label: None,
                blocks: None,
            },
        }
    }

    fn files(&self) -> Result<Vec<PathBuf>, String> {
        match &self.blocks {
            Some(blocks) => blocks.iter().map(|folder| result_file(folder)).collect(),
            None => files_of(&self.path),
        }
    }

    fn has(&self, labels: &[Label]) -> bool {
        self.label
            .as_ref()
            .is_none_or(|label| labels.contains(label))
    }
}

/// The runs of a result, or of all results in a folder.
fn read_side(chosen: &Chosen, name: String) -> Result<Side, String> {
    let mut side = Side {
        name,
        ..Side::default()
    };
    let mut labels = BTreeSet::new();
    for file in chosen.files()? {
        let added = add_runs(&mut side, &file, chosen);
        labels.extend(added.map_err(|reason| format!("`{}`: {reason}", file.display()))?);
    }
    match &chosen.label {
        Some(Label { key, value }) if side.runs.is_empty() => {
            let there: Vec<String> = labels.into_iter().collect();
            let there = match &*there {
                [] => "none has a label; `fathom run --label NAME=VALUE` gives one".to_owned(),
                there => format!("there are {}", there.join(", ")),
            };
            let place = chosen.path.display();
            Err(format!(
                "no result of `{place}` has the label `{key}={value}`: {there}"
            ))
        }
        _ => Ok(side),
    }
}

/// How deep below a folder results are looked for.
const LEVELS: usize = 2;

/// A file, the result in a folder, what Vdbench left there, or those in the folders of one.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    let result_in = |folder: &PathBuf| {
        let files = [NAME, FLATFILE].map(|name| folder.join(name));
        files.into_iter().find(|file| file.exists())
    };
    if !path.is_dir() {
        return Ok(vec![result_file(path)?]);
    }
    let (mut level, mut documents) = (vec![path.to_owned()], Vec::new());
    for _ in 0..=LEVELS {
        let mut results: Vec<PathBuf> = level.iter().filter_map(result_in).collect();
        if !results.is_empty() {
            results.sort();
            return Ok(results);
        }
        let mut below = Vec::new();
        for folder in &level {
            let entries = std::fs::read_dir(folder)
                .map_err(|error| format!("`{}`: {error}", folder.display()))?;
            below.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
        documents.extend(below.iter().filter(|path| is_of_fio(path)).cloned());
        level = below.into_iter().filter(|path| path.is_dir()).collect();
    }
    // What fio printed, in the folder or in one below for each repeat.
    documents.sort();
    match documents.is_empty() {
        true => Ok(vec![result_file(path)?]),
        false => Ok(documents),
    }
}

/// Before its JSON fio may have said something.
const HEAD_OF_FIO: usize = 64 << 10;

/// Whether a file holds JSON of fio, whatever its name.
fn is_of_fio(path: &Path) -> bool {
    let mark = b"\"fio version\"";
    let head = path.is_file().then(|| read_head(path, HEAD_OF_FIO).ok());
    let head = head.flatten().unwrap_or_default();
    head.windows(mark.len()).any(|window| window == mark)
}

/// Adds what is chosen of a file. Gives the labels that it has.
fn add_runs(side: &mut Side, file: &Path, chosen: &Chosen) -> Result<Vec<String>, String> {
    let (mut labels, mut is_chosen) = (Vec::new(), chosen.has(&[]));
    let mut watch = Watch::default();
    let mut result = ComparedResult::default();
    let mut take = |event: &Event| {
        let event = shown::event(event);
        if let Event::ExecutionStarted(started) = &*event {
            let all = started.labels.iter();
            labels.extend(all.map(|label| format!("{}={}", label.key, label.value)));
            is_chosen = chosen.has(&started.labels);
            if is_chosen {
                result.globals = labels_of_job(&started.plan_json);
                side.conditions.add(started);
                side.conditions.add_options(&result.globals);
            }
        }
        if let Event::Remark(remark) = &*event
            && remark.code == report::fio::DAMAGED
        {
            errln!("warning: `{}`: {}", file.display(), remark.message);
        }
        if let Some(ended) = watch.on_event(&event)
            && is_chosen
            && result.add(&ended)
        {
            side.conditions.add_run(&ended);
        }
    };
    if is_result(file)? {
        let salvage = Salvage::open(file).map_err(|error| error.to_string())?;
        // Sums have all that runs are compared by.
        let mut salvage = salvage.summed_beyond(1);
        (&mut salvage).for_each(|event| take(&event));
        if let Some(damage) = salvage.loss().text() {
            return Err(format!("it is damaged: {damage}"));
        }
    } else if let Some(runs) = runs_of_vdbench(file)? {
        result.runs = if is_chosen { runs } else { Vec::new() };
    } else {
        events_of_fio(file)?.iter().for_each(take);
    }
    if is_chosen && result.runs.is_empty() {
        return Err("it holds no run that has measured anything".to_owned());
    }
    side.add(result);
    Ok(labels)
}

/// Those of the plan of a result; none where it has no plan that is known.
fn labels_of_job(plan_json: &str) -> Vec<Label> {
    #[derive(Default, serde::Deserialize)]
    struct Labelled {
        labels: Vec<Label>,
    }
    #[derive(serde::Deserialize)]
    struct Bound {
        #[serde(default)]
        plan: Labelled,
    }
    let bound = serde_json::from_str::<Bound>(plan_json);
    bound.map_or(Vec::new(), |bound| bound.plan.labels)
}

/// Of a flat file; `None` where it is something else.
fn runs_of_vdbench(file: &Path) -> Result<Option<Vec<ComparedRun>>, String> {
    let text = text_of(file)?;
    let is_named_so = file.file_name().is_some_and(|name| name == FLATFILE);
    if !is_flatfile(&text) && !is_named_so {
        return Ok(None);
    }
    for run in unfinished_of_flatfile(&text) {
        errln!(
            "warning: `{}`: run `{run}` has no averages and is left out: it was aborted, or is still running",
            file.display()
        );
    }
    runs_of_flatfile(&text).map(Some)
}

fn is_result(file: &Path) -> Result<bool, String> {
    let head = read_head(file, SQLITE.len()).map_err(|error| error.to_string())?;
    Ok(head == SQLITE)
}

/// Sides that are named alike are told apart by their places.
fn name_apart(sides: &mut [Side]) {
    for place in 1..sides.len() {
        if sides[..place]
            .iter()
            .any(|side| side.name == sides[place].name)
        {
            sides[place].name += &format!(" ({})", place + 1);
        }
    }
}
