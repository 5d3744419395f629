//! Commands of jobs: before the jobs that begin together, and behind them.
use super::resolve::Spec;
use super::timing::Group;
use plan::{Around, Command, CommandOutput, RunId};

/// The commands around the run of each group; `first` is the run of the first group. Each clone has
/// its own call.
pub(crate) fn around(groups: &[Group], specs: &[Spec<'_>], first: usize) -> Vec<Around> {
    let commands = |group: &Group, option: &str| -> Vec<Command> {
        let members = group.members.iter().map(|(index, _)| &specs[*index]);
        let calls = members.flat_map(|spec| {
            let text = spec.job.text(option).map(str::trim);
            let text = text.filter(|text| !text.is_empty());
            let times = text.map_or(0, |_| spec.clones as usize);
            std::iter::repeat_n(text.unwrap_or_default(), times)
        });
        let command = |text: &str| Command {
            text: text.to_owned(),
            output: CommandOutput::Log,
            on_hosts: false,
        };
        calls.map(command).collect()
    };
    let of_group = |(place, group): (usize, &Group)| Around {
        runs: vec![RunId::at(first + place)],
        before: commands(group, "exec_prerun"),
        after: commands(group, "exec_postrun"),
    };
    let all = groups.iter().enumerate().map(of_group);
    all.filter(|around| !around.before.is_empty() || !around.after.is_empty())
        .collect()
}
