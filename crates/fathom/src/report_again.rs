//! `fathom report`: every report again from a result file, also of an execution that was killed.
use crate::arguments::ReportOptions;
use crate::ending::{self, Told};
use crate::exit::Exit;
use crate::outputs::{Outputs, check_folder};
use crate::results::result_file;
use crate::sinks::write_reports;
use measure::{Event, RunTotals};
use plan::{BoundPlan, Plan};
use report::fio::Formats;
use report::vdbench::{Face, FaceOptions};
use report::{Conclusion, shown};
use std::path::Path;
use store::{Loss, Salvage, StoreError};

/// The page merges the intervals of a run that has more.
const INTERVALS_SHOWN: u64 = 2_000;

pub fn main(options: &ReportOptions) -> Exit {
    match write_all(options) {
        Ok(exit) => exit,
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

fn write_all(options: &ReportOptions) -> Result<Exit, String> {
    let path = result_file(&options.result)?;
    let folder = options
        .output
        .clone()
        .unwrap_or_else(|| path.parent().unwrap_or(Path::new(".")).to_owned());
    let Some((mut salvage, first)) = begin(&path, options)? else {
        return Ok(Exit::Failed);
    };
    let plan = plan_of(&first);
    let outputs = Outputs::default();
    check_folder(&outputs, &folder)?;
    let refused = |error| format!("folder `{}`: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(refused)?;
    let mut face = vdbench_face(options, &folder)?;
    let mut conclusion = Conclusion::with_page();
    let mut fio = options.fio.as_deref().map(fio_face).transpose()?;
    for event in first.into_iter().chain(&mut salvage) {
        let event = shown::event(&event);
        if let Some(fio) = &mut fio {
            // What it printed along the way is of no interest now.
            let _ = fio.on_event(&event);
        }
        conclusion.on_event(&event);
        if let Some(face) = &mut face {
            face.on_event(&event).map_err(|error| error.to_string())?;
        }
    }
    conclusion.end();
    let damage = salvage.loss().text();
    if let Some(damage) = &damage {
        fio.iter_mut().for_each(|fio| fio.set_damage(damage));
        face.iter_mut().for_each(|face| face.set_damage(damage));
    }
    if let Some(face) = face {
        face.finish().map_err(|error| error.to_string())?;
    }
    if let Some(damage) = &damage {
        errln!(
            "warning: result file `{}` is damaged: {damage}",
            name_of(&path)
        );
        conclusion.set_damage(damage);
        mark_rows(&mut conclusion, salvage.loss());
    } else if !salvage.is_complete().map_err(|error| error.to_string())? {
        errln!(
            "note: the execution did not come to its end; everything until its last interval is here"
        );
    }
    write_reports(&outputs, &conclusion, &folder)?;
    if let Some(fio) = &mut fio {
        fio.break_off();
        out!("{}", fio.report());
    } else {
        crate::printing::table(&conclusion.rows);
        outln!("report:  {}", folder.join("report.html").display());
    }
    tell_out(&conclusion.totals, plan.as_ref(), options);
    if fio.is_none() {
        crate::printing::verdict(&conclusion);
    }
    let exit = exit_of(damage.is_some(), &path);
    Ok(options.strict.exit(exit, &conclusion))
}

fn tell_out(totals: &[RunTotals], plan: Option<&Plan>, options: &ReportOptions) {
    if let Some(plan) = plan {
        ending::tell_unreturned(totals, plan, Told::Again);
        ending::tell_late(totals, plan, options.fio.is_some());
    }
}

/// What was carried out, where the file tells it.
fn plan_of(first: &[Event]) -> Option<Plan> {
    let plan = |event: &Event| match event {
        Event::ExecutionStarted(started) => {
            serde_json::from_str::<BoundPlan>(&started.plan_json).ok()
        }
        _ => None,
    };
    Some(first.iter().find_map(plan)?.plan)
}

/// The events of the file, and those up to the start of its first run; nothing where damage keeps all runs from being read.
fn begin(path: &Path, options: &ReportOptions) -> Result<Option<(Salvage, Vec<Event>)>, String> {
    let begun = open(path, options)?.and_then(|mut salvage| {
        let first = until_first_run(&mut salvage)?;
        Ok((salvage, first))
    });
    let tell = |damage: &String| {
        let path = name_of(path);
        errln!(
            "error: result file `{path}` is damaged and holds no run that can be read: {damage}; \
             `sqlite3 {path} .recover` may show more of it"
        );
    };
    Ok(begun.inspect_err(tell).ok())
}

/// What the file holds, or the damage that keeps all of it from being read.
fn open(path: &Path, options: &ReportOptions) -> Result<Result<Salvage, String>, String> {
    let salvage = match Salvage::open(path) {
        Ok(salvage) => salvage,
        Err(StoreError::Damaged { reason, .. }) => return Ok(Err(reason)),
        Err(error) => return Err(error.to_string()),
    };
    // The pages of both tools tell each interval.
    Ok(Ok(match options.vdbench || options.fio.is_some() {
        true => salvage,
        false => salvage.summed_beyond(INTERVALS_SHOWN),
    }))
}

fn name_of(path: &Path) -> String {
    shown::name(&path.display().to_string()).into_owned()
}

fn exit_of(is_damaged: bool, path: &Path) -> Exit {
    if !is_damaged {
        return Exit::Fine;
    }
    errln!(
        "error: the result file is damaged; the reports hold what is left of it, and `sqlite3 {} .recover` may show more",
        name_of(path)
    );
    Exit::Failed
}

/// The events up to the start of the first run. Of a damaged file that has none, nothing is written.
fn until_first_run(salvage: &mut Salvage) -> Result<Vec<Event>, String> {
    let mut first = Vec::new();
    for event in &mut *salvage {
        let is_run = matches!(event, Event::RunStarted(_));
        first.push(event);
        if is_run {
            return Ok(first);
        }
    }
    match salvage.loss().text() {
        None => Ok(first),
        Some(damage) => Err(damage),
    }
}

/// Marks the runs that are not whole. A run without an end lost it, where the file is damaged.
fn mark_rows(conclusion: &mut Conclusion, loss: &Loss) {
    let rows = conclusion.rows.iter_mut();
    for (row, totals) in rows.zip(&conclusion.totals) {
        let lost = loss.intervals.get(&totals.started.run).copied();
        if lost.is_some() || totals.finished.is_none() {
            row.mark_damaged(lost.unwrap_or(0));
        }
    }
}

fn vdbench_face(options: &ReportOptions, folder: &Path) -> Result<Option<Face>, String> {
    let face = || Face::create(folder, FaceOptions::default());
    let face = options.vdbench.then(face).transpose();
    face.map_err(|error| error.to_string())
}

fn fio_face(formats: &str) -> Result<report::fio::Face, String> {
    let formats = Formats::parse(formats).map_err(|word| {
        let help = lang::instead_of(&word, Formats::NAMES);
        format!("`--fio` does not know `{word}`; {help}")
    })?;
    Ok(report::fio::Face::new(report::fio::FaceOptions {
        formats,
        ..Default::default()
    }))
}
