//! `--resume`: an execution that was interrupted goes on at its first run that is not finished, in
//! its own result file. Read [`Earlier`] first.
use crate::results::{self, is_missing, result_file};
use crate::sinks::Sinks;
use conduct::Done;
use measure::{Event, ExecutionStarted, FinishReason, Remark, RunFold, RunTotals};
use plan::{BoundPlan, ErrorBudget, Plan, Preparation, RunKind, Severity, SourceMap, TargetId};
use serde_json::Value;
use std::path::{Path, PathBuf};
use store::{Reader, Writer};

/// Differences that are told; people need to see the first ones.
const TOLD: usize = 6;

/// An execution as its result file has it.
#[derive(Debug)]
pub struct Earlier {
    path: PathBuf,
    pub started: ExecutionStarted,
    pub bound: BoundPlan,
    pub done: Done,
    /// Events up to the end of the last finished run.
    kept: u64,
    /// How it said to have ended; `None` when it was killed.
    reason: Option<FinishReason>,
}

impl Earlier {
    /// Reads a result file, or the one in a folder.
    ///
    /// # Errors
    /// In words, when there is none, or none that can go on.
    pub fn read(given: &Path) -> Result<Self, String> {
        let path = resumable_file(given)?;
        let reader = Reader::open(&path).map_err(|error| error.to_string())?;
        let mut events = reader.events();
        let first = events.next().transpose().map_err(|e| e.to_string())?;
        let Some(Event::ExecutionStarted(started)) = first else {
            let path = path.display();
            return Err(format!(
                "`{path}` has no beginning: there is nothing to resume"
            ));
        };
        let bound: BoundPlan = serde_json::from_str(&started.plan_json).map_err(|error| {
            let version = &started.fathom_version;
            format!(
                "the plan in `{}` is of Fathom {version} and cannot be read: {error}",
                path.display()
            )
        })?;
        let mut earlier = Self {
            path: path.clone(),
            started,
            bound,
            done: Done::default(),
            kept: 1,
            reason: None,
        };
        let (mut fold, mut errors) = (RunFold::default(), 0);
        let mut held = Vec::new();
        for (place, event) in events.enumerate() {
            let event = event.map_err(|error| error.to_string())?;
            match &event {
                Event::RunStarted(_) => errors = 0,
                Event::Interval(interval) => {
                    errors += interval
                        .figures
                        .iter()
                        .map(|figure| figure.errors)
                        .sum::<u64>();
                }
                Event::ExecutionFinished(finished) => {
                    earlier.reason = Some(finished.reason.clone())
                }
                _ => {}
            }
            if let Some(totals) = fold.fold(&event)
                && earlier.is_finished(&totals, errors, held.len() as u32)
            {
                let next = u64::from(totals.started.run) + 1;
                held.push((totals, errors));
                // What was written is known to the process that wrote it, so both are done or neither.
                if !earlier.reads_back(next) {
                    for (totals, errors) in held.drain(..) {
                        earlier.done.add(&earlier.bound, &totals, errors);
                    }
                    earlier.kept = place as u64 + 2;
                }
            }
        }
        Ok(earlier)
    }

    /// Whether the run with this number reads back what the run before it has written.
    fn reads_back(&self, number: u64) -> bool {
        let next = self.bound.numbered(number);
        next.is_some_and(|(id, _)| self.bound.plan.reads_records(id))
    }

    /// Whether a run came to its planned end and did not end the execution by its errors; so many
    /// before it are held back.
    fn is_finished(&self, totals: &RunTotals, errors: u64, held: u32) -> bool {
        let Some((id, _)) = self.bound.numbered(u64::from(totals.started.run)) else {
            return false;
        };
        if totals.started.run != self.done.runs() + held {
            return false;
        }
        let counts = matches!(self.bound.plan.spec(id).stop.errors, ErrorBudget::Count(_));
        let is_planned = totals.finished.as_ref().is_some_and(|finished| {
            matches!(
                finished.reason,
                FinishReason::Complete | FinishReason::ReachedTotal
            )
        });
        is_planned && !(counts && errors > 0)
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        match &self.reason {
            Some(FinishReason::SearchEnded { .. }) => true,
            Some(_) => self.bound.run_count() == Some(u64::from(self.done.runs())),
            None => false,
        }
    }

    /// The folder of the result, and of the reports.
    pub fn folder(&self) -> PathBuf {
        let folder = self
            .path
            .parent()
            .filter(|path| !path.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).to_owned()
    }

    /// The texts that the plan was read from.
    pub fn sources(&self) -> SourceMap {
        let mut sources = SourceMap::default();
        for (name, text) in &self.started.inputs {
            sources.add(name, text);
        }
        sources
    }

    /// What keeps the rest of the runs from belonging to those that are done, before the machine is
    /// looked at; empty when nothing does.
    pub fn plan_differences(&self, plan: &Plan) -> Vec<String> {
        let mut found = Vec::new();
        let value = |plan: &Plan| {
            let mut value = serde_json::to_value(plan).expect("a plan is plain data");
            // For `explain` only, and full of places in the text.
            value.as_object_mut().map(|fields| fields.remove("values"));
            value
        };
        compare("", &value(&self.bound.plan), &value(plan), &mut found);
        shortened(found)
    }

    /// The same of what is found on the machine.
    pub fn machine_differences(&self, plan: &BoundPlan, now: &ExecutionStarted) -> Vec<String> {
        let mut found = Vec::new();
        let mut differ = |what: &str, then: &str, now: &str| {
            if then != now {
                found.push(format!("{what} was {then}, is {now}"));
            }
        };
        differ("the host", &self.started.host.name, &now.host.name);
        differ("the backend", &self.started.backend, &now.backend);
        let workers = [&self.started, now].map(|started| started.workers.to_string());
        differ(
            "the number of workers (`--workers`)",
            &workers[0],
            &workers[1],
        );
        let labels = [&self.started, now].map(|started| format!("{:?}", started.labels));
        differ("the list of labels (`--label`)", &labels[0], &labels[1]);
        for (then, now) in self.started.targets.iter().zip(&now.targets) {
            let name = plan::target_text(&now.name, Path::new(&now.path));
            let what = |what: &str| format!("{what} of {name}");
            differ(
                &what("the size"),
                &then.bytes.to_string(),
                &now.bytes.to_string(),
            );
            if then.identity.kind != "missing" {
                let (then, now) = (&then.identity, &now.identity);
                differ(&what("the kind"), &then.kind, &now.kind);
                differ(&what("the serial number"), &then.serial, &now.serial);
                differ(&what("the WWN"), &then.wwn, &now.wwn);
            }
        }
        found.extend(lost_files(plan, self.done.runs() as usize));
        shortened(found)
    }

    /// Opens the result behind its last finished run, and gives it to what writes reports.
    ///
    /// # Errors
    /// In words.
    pub fn reopen(
        &self,
        sinks: impl FnOnce(Writer) -> Result<Sinks, String>,
    ) -> Result<Sinks, String> {
        let text = |error: store::StoreError| error.to_string();
        let writer = Writer::go_on(&self.path, self.kept).map_err(text)?;
        let mut sinks = sinks(writer)?;
        let reader = Reader::open(&self.path).map_err(text)?;
        for event in reader.events() {
            sinks
                .replay(event.map_err(text)?)
                .map_err(|error| error.to_string())?;
        }
        sinks.settle().map_err(|error| error.to_string())?;
        Ok(sinks)
    }

    /// What the record says where the two parts meet.
    pub fn remark(&self, now: &ExecutionStarted) -> Event {
        let next = u64::from(self.done.runs()) + 1;
        let all = self.bound.run_count();
        let mut message = match all {
            Some(all) if next > all => format!("went on after the last of {all} runs"),
            _ => {
                let of = all.map_or(String::new(), |all| format!(" of {all}"));
                format!(
                    "went on with run {next}{of}; what was measured of it before is not counted"
                )
            }
        };
        if now.fathom_version != self.started.fathom_version {
            message += &format!(" (by Fathom {})", now.fathom_version);
        }
        Event::Remark(Remark {
            run: None,
            unix_ns: now.unix_ns,
            severity: Severity::Note,
            code: "resumed".to_owned(),
            message,
        })
    }
}

/// The result file that is meant, under the name that it needs.
fn resumable_file(given: &Path) -> Result<PathBuf, String> {
    if is_missing(given) {
        let shown = given.display();
        return Err(format!(
            "`{shown}` does not exist, so there is nothing to resume; leave out `--resume` to begin (`-o {shown}`)"
        ));
    }
    let path = result_file(given)?;
    match path.file_name().is_some_and(|name| name == results::NAME) {
        true => Ok(path),
        false => Err(format!(
            "`{}`: only a file named result.fathom goes on; copy it under this name to a folder of its own",
            path.display()
        )),
    }
}

/// Files that were made for the runs and are no longer as they were made. `done` runs are over.
fn lost_files(plan: &BoundPlan, done: usize) -> Vec<String> {
    let targets = plan.plan.targets.iter().zip(&plan.targets).enumerate();
    let lost = targets.filter_map(|(number, (target, bound))| {
        let made = match target.preparation {
            Preparation::AsFound | Preparation::MustExist => return None,
            Preparation::MakeOrExtend if !bound.is_prepared => return None,
            Preparation::MakeOrExtend => bound.bytes,
            Preparation::Rewrite => prepared_end(plan, done, TargetId::at(number)),
        };
        (bound.facts.bytes < made).then(|| {
            format!(
                "{} was made with {made} bytes, and has {}",
                plan::target_text(&target.name, &target.path),
                bound.facts.bytes
            )
        })
    });
    lost.collect()
}

/// How far the preparations among the runs that are over have written a target.
fn prepared_end(plan: &BoundPlan, done: usize, target: TargetId) -> u64 {
    let over = plan.runs[..done].iter();
    let preparations = over.filter(|id| plan.plan.spec(**id).kind == RunKind::Prepare);
    preparations
        .flat_map(|id| plan.run(*id).streams)
        .flat_map(|stream| stream.regions)
        .filter(|region| region.target == target)
        .map(|region| region.extent().1)
        .max()
        .unwrap_or(0)
}

fn shortened(mut found: Vec<String>) -> Vec<String> {
    if found.len() > TOLD {
        let more = found.len() - TOLD;
        found.truncate(TOLD);
        found.push(format!("and {more} more"));
    }
    found
}

/// Every place at which two values differ. Where a value was written in the text does not count.
fn compare(place: &str, then: &Value, now: &Value, found: &mut Vec<String>) {
    let named = |name: &str| match place {
        "" => name.to_owned(),
        _ => format!("{place} · {name}"),
    };
    match (then, now) {
        (Value::Object(before), Value::Object(after)) => {
            let fields = before
                .keys()
                .chain(after.keys().filter(|key| !before.contains_key(*key)));
            for field in fields.filter(|field| *field != "origin") {
                let of = |fields: &serde_json::Map<String, Value>| {
                    fields.get(field).cloned().unwrap_or_default()
                };
                compare(&named(field), &of(before), &of(after), found);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            if before.len() != after.len() {
                found.push(format!(
                    "{place}: {} then, {} now",
                    before.len(),
                    after.len()
                ));
            }
            for (number, (before, after)) in before.iter().zip(after).enumerate() {
                let name = before.get("name").and_then(Value::as_str);
                let number = number + 1;
                let part = name.map_or(number.to_string(), |name| format!("{number} ({name})"));
                compare(&format!("{place} {part}"), before, after, found);
            }
        }
        _ if then != now => found.push(format!("{place}: {then} then, {now} now")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use serde_json::json;

    #[test]
    fn differences_are_named_by_their_place() {
        let then = json!({"seed": 1, "runs": [{"name": "rd1", "load": "flat_out", "origin": 3}]});
        let mut now = then.clone();
        now["runs"][0]["origin"] = json!(9);
        let differences = |now: &serde_json::Value| {
            let mut found = Vec::new();
            compare("", &then, now, &mut found);
            found.sort();
            found
        };
        assert!(differences(&now).is_empty());
        now["runs"][0]["load"] = json!({"rate": {"per_second": 5.0}});
        now["seed"] = json!(2);
        let told = [
            "runs 1 (rd1) · load: \"flat_out\" then, {\"rate\":{\"per_second\":5.0}} now",
            "seed: 1 then, 2 now",
        ];
        assert_eq!(differences(&now), told);
        now["runs"] = json!([]);
        assert_eq!(differences(&now)[0], "runs: 1 then, 0 now");
    }
}
