//! The console and the output files of Vdbench.
use super::{Ended, Face, Job, Listener, tell_notes};
use crate::exit::Exit;
use crate::{fill, outputs};
use conduct::SinkError;
use measure::{Event, ExecutionStarted};
use report::vdbench::FaceOptions;

/// The console and the output files of Vdbench.
pub struct Vdbench(pub FaceOptions);

struct Pages(Box<report::vdbench::Face>);

impl Face for Vdbench {
    fn check_outputs(&self, job: &Job<'_>, started: &ExecutionStarted) -> Result<(), String> {
        let Some(folder) = job.folder else {
            return Ok(());
        };
        outputs::check_pages(&job.plan.plan, folder)?;
        let checked = report::vdbench::Face::check(folder, self.0.clone(), started);
        checked.map_err(|error| error.to_string())
    }

    fn listeners(&self, job: &Job<'_>) -> Result<Vec<Box<dyn Listener>>, String> {
        let Some(folder) = job.folder else {
            return Err("its pages need a folder".to_owned());
        };
        let face = report::vdbench::Face::create(folder, self.0.clone())
            .map_err(|error| format!("folder `{}`: {error}", folder.display()))?;
        Ok(vec![Box::new(Pages(Box::new(face)))])
    }

    fn conclude(&self, ended: &Ended<'_>) {
        if ended.exit == Exit::Fine {
            fill::tell(ended.fills);
        }
    }
}

impl Listener for Pages {
    fn on_event(&mut self, event: &Event) -> Result<Vec<String>, SinkError> {
        let shown = self.0.on_event(event);
        shown.map_err(|error| SinkError(format!("output folder: {error}")))
    }

    fn on_shown(&mut self, event: &Event) -> Result<(), SinkError> {
        tell_notes(event);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), String> {
        self.0.finish().map_err(|error| error.to_string())
    }
}
