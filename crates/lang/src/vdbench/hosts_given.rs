//! The hosts that a command line gives to a job: reports name them, and a slave of each, as those that the text names.
use super::groups::told;
use super::pages::OF_ALL;
use plan::{Label, Plan};
use std::collections::BTreeSet;

/// Names the hosts of a plan of this language that was spread over hosts; any other is left as it is, and so is one in which
/// two pages would have one name then.
pub fn name_hosts(plan: &mut Plan) {
    let streams = plan.templates.iter().flat_map(|one| &one.streams);
    let is_ours = |labels: &[Label]| Label::find(labels, "wd").is_some();
    if plan.hosts.is_empty() || !streams.into_iter().any(|stream| is_ours(&stream.labels)) {
        return;
    }
    let is_place = |label: &Label| ["host", "reach", "group"].contains(&label.key.as_str());
    let groups = plan.reporting.labels.iter();
    let mut numbers: Vec<String> = groups
        .filter(|label| label.key == "group")
        .map(|label| number(&label.value))
        .collect();
    if numbers.is_empty() {
        numbers.push("0".to_owned());
    }
    let mut labels = Vec::new();
    for host in &plan.hosts {
        labels.push(Label::new("host", host.name.clone()));
        labels.extend(
            host.reach
                .as_ref()
                .map(|reach| Label::new("reach", told(reach))),
        );
        let groups = numbers.iter();
        labels.extend(groups.map(|number| Label::new("group", format!("{}-{number}", host.name))));
    }
    if !are_free(plan, &labels) {
        return;
    }
    plan.reporting.labels.retain(|label| !is_place(label));
    plan.reporting.labels.splice(0..0, labels);
    let mut templates = std::mem::take(&mut plan.templates);
    for stream in templates.iter_mut().flat_map(|one| &mut one.streams) {
        let Some(place) = plan.host_of(stream) else {
            continue;
        };
        let number = Label::find(&stream.labels, "group").map_or("0".to_owned(), number);
        let group = format!("{}-{number}", plan.hosts[place].name);
        stream.labels.retain(|label| label.key != "group");
        stream.labels.push(Label::new("group", group));
    }
    plan.templates = templates;
}

/// Whether pages can be named after these hosts and slaves.
fn are_free(plan: &Plan, labels: &[Label]) -> bool {
    let streams = plan.templates.iter().flat_map(|one| &one.streams);
    let workloads = streams.filter_map(|stream| Label::find(&stream.labels, "wd"));
    let targets = plan.targets.iter().map(|target| target.name.as_str());
    let mut taken: BTreeSet<&str> = OF_ALL.into_iter().chain(targets).chain(workloads).collect();
    let mut places = labels.iter().filter(|label| label.key != "reach");
    places.all(|place| taken.insert(&place.value))
}

/// That of a slave on its host.
fn number(group: &str) -> String {
    let (_, number) = group.rsplit_once('-').unwrap_or(("", "0"));
    number.to_owned()
}
