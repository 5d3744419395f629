//! `fathom report`: every report again from a result file, also of an execution that was killed.
use crate::arguments::ReportOptions;
use crate::exit::Exit;
use crate::outputs::{Outputs, check_folder};
use crate::sinks::write_reports;
use measure::{Event, RunFold};
use report::fio::Formats;
use report::html::Page;
use report::shown;
use report::vdbench::{Face, FaceOptions};
use std::path::{Path, PathBuf};
use store::Reader;

pub fn main(options: &ReportOptions) -> Exit {
    match write_all(options) {
        Ok(()) => Exit::Fine,
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

fn write_all(options: &ReportOptions) -> Result<(), String> {
    let path = result_file(&options.result);
    let folder = options
        .output
        .clone()
        .unwrap_or_else(|| path.parent().unwrap_or(Path::new(".")).to_owned());
    let reader = Reader::open(&path).map_err(|error| error.to_string())?;
    let outputs = Outputs::default();
    check_folder(&outputs, &folder)?;
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("folder `{}`: {error}", folder.display()))?;
    let mut face = match options.vdbench {
        true => {
            Some(Face::create(&folder, FaceOptions::default()).map_err(|error| error.to_string())?)
        }
        false => None,
    };
    let (mut page, mut fold, mut totals) = (Page::default(), RunFold::default(), Vec::new());
    let mut run_is_open = false;
    let mut fio = options.fio.as_deref().map(fio_face).transpose()?;
    for event in reader.events() {
        let event = event.map_err(|error| error.to_string())?;
        let event = shown::event(&event);
        if let Some(fio) = &mut fio {
            // What it printed along the way is of no interest now.
            let _ = fio.on_event(&event);
        }
        page.on_event(&event);
        totals.extend(fold.fold(&event));
        if let Event::RunStarted(_) = &*event {
            // A run that was cut off before its end still has totals, from the intervals below.
            run_is_open = true;
        } else if let Event::RunFinished(_) = &*event {
            run_is_open = false;
        }
        if let Some(face) = &mut face {
            face.on_event(&event).map_err(|error| error.to_string())?;
        }
    }
    if run_is_open {
        totals.extend(fold.totals(None));
    }
    if let Some(face) = face {
        face.finish().map_err(|error| error.to_string())?;
    }
    if !reader.is_complete().map_err(|error| error.to_string())? {
        errln!(
            "note: the execution did not come to its end; everything until its last interval is here"
        );
    }
    let rows = report::summary::rows(&totals);
    write_reports(&outputs, &mut page, &rows, &folder)?;
    if let Some(fio) = &fio {
        out!("{}", fio.report());
        return Ok(());
    }
    out!("{}\n", report::summary::table(&rows));
    out!("{}", report::repetitions::text(&rows));
    outln!("report:  {}", folder.join("report.html").display());
    Ok(())
}

fn fio_face(formats: &str) -> Result<report::fio::Face, String> {
    let formats = Formats::parse(formats).map_err(|word| {
        format!("`--fio {word}`: there are `normal`, `terse`, `json` and `json+`")
    })?;
    Ok(report::fio::Face::new(report::fio::FaceOptions {
        formats,
        ..Default::default()
    }))
}

fn result_file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join("result.fathom")
    } else {
        path.to_owned()
    }
}
