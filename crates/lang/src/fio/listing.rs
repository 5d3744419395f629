//! What `check` shows of a job file: one line per group of jobs that run side by side.
use super::lower::group_name;
use super::resolve::Spec;
use super::timing::Group;
use crate::vdbench::{ListedKind, ListedRun};
use plan::Window;

pub(crate) fn list(specs: &[Spec<'_>], groups: &[Group]) -> Vec<ListedRun> {
    groups
        .iter()
        .map(|group| {
            let members = || group.members.iter().map(|(index, _)| &specs[*index]);
            let name = group_name(group, specs);
            let is_paced = members().any(|spec| spec.pace.is_some());
            let seconds = |nanos: u64| nanos.div_ceil(1_000_000_000);
            let elapsed = match group.window {
                Window::For(time) => Some(time.0),
                Window::UntilDone { at_most } => {
                    at_most.map(|time| time.0).or_else(|| group.clock_end_ns())
                }
            };
            ListedRun {
                simulated: name.clone(),
                name,
                kind: ListedKind::Measure,
                rate: if is_paced { "as given per job" } else { "max" }.to_owned(),
                loops: "None".to_owned(),
                threads: members()
                    .map(|spec| u64::from(spec.clones) * u64::from(spec.depth))
                    .sum(),
                elapsed_s: elapsed.map(seconds),
                ends_at_size: matches!(group.window, Window::UntilDone { .. }),
                warmup_s: seconds(group.warmup.0),
                interval_s: seconds(group.interval.0).max(1),
                pause_s: 0,
            }
        })
        .collect()
}
