//! What runs and workloads an execution will have, read from its stored plan: the pages open with
//! links to runs that are still to come.
use super::storages;
use crate::shown;
use measure::ExecutionTarget;
use plan::{BoundPlan, Label, Load, Nanos, Plan, Preparation, RunId, RunKind, RunStop, TargetId};
use std::collections::{BTreeSet, HashMap};

/// More links than these help nobody; then only the first pass has them.
const LINKS_MAX: u64 = 20_000;

/// The caption of a run in links and titles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunCaption {
    pub name: String,
    /// What follows `For loops:`.
    pub loops: String,
}

/// All that is known beforehand.
#[derive(Debug, Default)]
pub struct Captions {
    /// Waited after a run, in seconds; by place in the execution.
    pauses_s: Vec<f64>,
    /// When runs stop before their time; by place in the execution.
    limits: Vec<RunStop>,
    /// The service time above which a point of a curve ends the execution; by place in the execution.
    curve_limits: Vec<Option<Nanos>>,
    workloads: Vec<String>,
    /// Which reporting group uses what; without a name where there is only one.
    uses: BTreeSet<(String, TargetId)>,
    shared: Vec<(TargetId, String)>,
    values: Vec<String>,
    links: Vec<String>,
    anchors_given: HashMap<RunCaption, u32>,
}

impl RunCaption {
    /// Of a run with this name and these labels.
    pub fn of(name: &str, labels: &[Label]) -> Self {
        Self {
            name: harmless(name),
            loops: harmless(Label::find(labels, "loops").unwrap_or("None")),
        }
    }
}

/// Names come from the plan as well, around the events that are shown harmlessly.
fn harmless(name: &str) -> String {
    shown::name(name).replace('<', "\\x3c")
}

/// The runs of all passes, as far as they are known and people would look at their links.
fn all_runs(bound: &BoundPlan) -> Vec<RunId> {
    match bound.run_count() {
        Some(count @ 0..=LINKS_MAX) => (0..count)
            .map_while(|number| bound.numbered(number).map(|(id, _)| id))
            .collect(),
        _ => bound.runs.clone(),
    }
}

impl Captions {
    /// `None` when the text is no plan of this version. `found` is what stood at the targets, in
    /// their order: it tells which preparations are carried out where the plan is not bound.
    pub fn of(plan_json: &str, found: &[ExecutionTarget]) -> Option<Self> {
        if let Ok(bound) = serde_json::from_str::<BoundPlan>(plan_json) {
            return Some(Self::of_runs(&bound.plan, &all_runs(&bound)));
        }
        let plan: Plan = serde_json::from_str(plan_json).ok()?;
        let is_carried_out = |id: &RunId| {
            let spec = plan.spec(*id);
            let streams = &plan.templates[spec.template.index()].streams;
            let mut targets = streams.iter().flat_map(|stream| &stream.targets);
            spec.kind == RunKind::Measure || targets.any(|id| is_prepared(&plan, *id, found))
        };
        let runs: Vec<RunId> = plan.run_ids().filter(is_carried_out).collect();
        Some(Self::of_runs(&plan, &runs))
    }

    /// In the order of first use.
    pub fn workloads(&self) -> &[String] {
        &self.workloads
    }

    /// Which reporting group uses which target, in some run.
    pub fn uses(&self) -> impl Iterator<Item = (&str, TargetId)> {
        self.uses
            .iter()
            .map(|(group, target)| (group.as_str(), *target))
    }

    /// Which targets are the same on several hosts.
    pub fn shared(&self) -> &[(TargetId, String)] {
        &self.shared
    }

    /// Each value of the plan in the words of its file.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// The pause between run `place` and a next one, in seconds.
    pub fn pause_after_s(&self, place: u32) -> Option<f64> {
        let place = place as usize;
        // Passes that are not known beforehand have no pauses announced.
        let pause_s = *self.pauses_s.get(place)?;
        (pause_s > 0.0 && place + 1 < self.pauses_s.len()).then_some(pause_s)
    }

    /// What stops run `place` before its time.
    pub fn limits(&self, place: u32) -> Option<&RunStop> {
        self.limits.get(place as usize)
    }

    /// The service time above which run `place`, a point of a curve, ends the execution.
    pub fn curve_limit(&self, place: u32) -> Option<Nanos> {
        *self.curve_limits.get(place as usize)?
    }

    /// An empty line, a link per run, and an empty line.
    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// The anchor of the next run with this caption.
    pub fn next_anchor(&mut self, run: &RunCaption) -> String {
        anchor(run, count(&mut self.anchors_given, run))
    }

    fn of_runs(plan: &Plan, runs: &[RunId]) -> Self {
        let value = |value: &plan::PlanValue| {
            let text = format!("{}: {}={}", value.subject, value.name, value.value);
            shown::text(&text).replace('<', "&lt;")
        };
        let mut captions = Self {
            values: plan.values.iter().map(value).collect(),
            shared: storages::shared(plan),
            ..Self::default()
        };
        let mut captions_of = Vec::with_capacity(runs.len());
        let mut is_seen = vec![false; plan.templates.len()];
        for id in runs {
            let spec = plan.spec(*id);
            captions_of.push(RunCaption::of(&spec.name, &spec.labels));
            captions.limits.push(spec.stop.clone());
            let search = match spec.load {
                Load::SearchPoint { search, .. } => plan.search(search).stop.as_ref(),
                _ => None,
            };
            captions
                .curve_limits
                .push(search.map(|stop| stop.service_above));
            captions
                .pauses_s
                .push(spec.timing.pause_after.as_secs_f64());
            if std::mem::replace(&mut is_seen[spec.template.index()], true) {
                continue;
            }
            for stream in &plan.templates[spec.template.index()].streams {
                let group = Label::find(&stream.labels, "group").unwrap_or_default();
                let targets = stream.targets.iter();
                captions
                    .uses
                    .extend(targets.map(|target| (group.to_string(), *target)));
                let name = harmless(workload(&stream.name, &stream.labels));
                if !captions.workloads.contains(&name) {
                    captions.workloads.push(name);
                }
            }
        }
        captions.links = links(&captions_of);
        captions
    }
}

/// Whether `bind` keeps a preparation for this target.
fn is_prepared(plan: &Plan, id: TargetId, found: &[ExecutionTarget]) -> bool {
    let Some(found) = found.get(id.index()) else {
        return false;
    };
    match plan.target(id).preparation {
        Preparation::AsFound | Preparation::MustExist => false,
        Preparation::Rewrite => true,
        Preparation::MakeOrExtend => {
            let is_file = ["missing", "file"].contains(&found.identity.kind.as_str());
            is_file && found.identity.bytes < found.bytes
        }
    }
}

/// The workload that a stream belongs to in reports.
pub fn workload<'a>(stream: &'a str, labels: &'a [Label]) -> &'a str {
    Label::find(labels, "wd").unwrap_or(stream)
}

/// Where only the last loop value differs from the run before, what is the same is left blank.
fn links(runs: &[RunCaption]) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut given = HashMap::new();
    let mut previous: Option<(String, String)> = None;
    for run in runs {
        let (prefix, last) = split(run);
        let is_same = previous
            .as_ref()
            .is_some_and(|(before, _)| *before == prefix);
        let href = anchor(run, count(&mut given, run));
        let heading = if lines.len() == 1 {
            "Link to Run Definitions:"
        } else {
            ""
        };
        lines.push(if is_same && !prefix.is_empty() {
            format!(
                "{heading:<33}{:width$}<A HREF=\"#{href}\">{last}</A>",
                "",
                width = prefix.len()
            )
        } else {
            format!("{heading:<33}<A HREF=\"#{href}\">{prefix}{last}</A>")
        });
        previous = Some((prefix, last));
    }
    lines.push(String::new());
    lines
}

/// The part that may be left blank, and the rest; the first is empty for a run without loops.
fn split(run: &RunCaption) -> (String, String) {
    let text = format!("{} For loops: {}", run.name, run.loops);
    if run.loops == "None" {
        return (String::new(), text);
    }
    let last = run.loops.rsplit(' ').next().unwrap_or_default().to_string();
    (text[..text.len() - last.len()].to_string(), last)
}

fn count(given: &mut HashMap<RunCaption, u32>, run: &RunCaption) -> u32 {
    let count = given.entry(run.clone()).or_default();
    *count += 1;
    *count
}

/// FNV-1a, cut to 31 bits: the same run has the same anchor in every execution.
fn anchor(run: &RunCaption, occurrence: u32) -> String {
    let text = format!("{}\n{}\n{occurrence}", run.name, run.loops);
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("_{}", hash >> 33)
}

/// A label that the language keeps for these pages. Older results have it without the name of the language.
pub(super) fn own_label<'a>(labels: &'a [Label], key: &str) -> Option<&'a str> {
    let own = labels
        .iter()
        .find(|label| label.key.strip_prefix("vdbench.") == Some(key));
    own.map(|label| label.value.as_str())
        .or_else(|| Label::find(labels, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_fields_are_left_blank() {
        let run = |name: &str, loops: &str| RunCaption {
            name: name.into(),
            loops: loops.into(),
        };
        let lines = links(&[
            run("mix", "None"),
            run("loops", "threads=1 iorate=500"),
            run("loops", "threads=1 iorate=1000"),
            run("loops", "threads=4 iorate=500"),
            run("mix", "None"),
        ]);
        let shown: Vec<String> = lines
            .iter()
            .map(|line| {
                let (before, after) = line.split_once("<A HREF").unwrap_or((line, ">"));
                let text = after.split_once('>').unwrap().1.trim_end_matches("</A>");
                format!("{}|{text}", before.len())
            })
            .collect();
        let expected = [
            "0|",
            "33|mix For loops: None",
            "33|loops For loops: threads=1 iorate=500",
            "60|iorate=1000",
            "33|loops For loops: threads=4 iorate=500",
            "33|mix For loops: None",
            "0|",
        ];
        assert_eq!(shown, expected);
        assert_ne!(lines[1], lines[5], "two runs of one name have two anchors");
    }
}
