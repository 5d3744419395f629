//! Several machines as one: each does its part of a run, and what they tell is added.
use crate::settle::of_host;
use conduct::{
    Answer, Clock, CommandCall, CommandEnd, CommandOrder, Commands, Control, Filled, Host,
    HostError, Left, NamedHost, Prepared, SetPoint, has_part,
};
use measure::{DataFigures, Ended, Failures, HostEvidence, HostId, HostInterval, Outstanding};
use plan::{BoundPlan, BoundRun};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often those that run a command are asked for its end.
const COMMAND_LOOK: Duration = Duration::from_millis(20);

/// Machines that carry out a plan together, and who leads them. Each is asked with the places of the whole run, as a
/// [`conduct::Part`] is.
pub struct Several<C> {
    lead: C,
    members: Vec<Member>,
    /// Whether the others go on where one is lost.
    goes_on: bool,
}

struct Member {
    host: HostId,
    /// Its name in the plan, where there are others.
    name: Option<String>,
    machine: Box<dyn Host>,
    /// Whether it has a stream of the run.
    is_in: bool,
    prepared: Option<Prepared>,
    /// What it has told of intervals that others have not.
    intervals: BTreeMap<u64, HostInterval>,
    ended: Option<Ended>,
    /// Why nothing more is heard of it.
    lost: Option<HostError>,
    /// Whether that was before this run, in which it has no part then.
    is_gone: bool,
    data_written: Option<Vec<DataFigures>>,
}

impl<C> Several<C> {
    /// Machines by the place of their host in the plan.
    pub fn new(lead: C, machines: impl IntoIterator<Item = (HostId, Box<dyn Host>)>) -> Self {
        let member = |(host, machine)| Member {
            host,
            name: None,
            machine,
            is_in: false,
            prepared: None,
            intervals: BTreeMap::new(),
            ended: None,
            lost: None,
            is_gone: false,
            data_written: None,
        };
        Self {
            lead,
            members: machines.into_iter().map(member).collect(),
            goes_on: false,
        }
    }

    /// Whether the others go on where one is lost, in this run and in all that follow.
    #[must_use]
    pub fn going_on(mut self, goes_on: bool) -> Self {
        self.goes_on = goes_on;
        self
    }

    fn members(&mut self) -> impl Iterator<Item = &mut Member> {
        let here = |member: &&mut Member| member.is_in && !member.is_gone;
        self.members.iter_mut().filter(here)
    }

    /// That have a part in the run and have not told.
    fn silent(&self, has_told: impl Fn(&Member) -> bool) -> Vec<HostId> {
        let silent = self.members.iter();
        let silent = silent.filter(|member| member.is_in && (member.is_gone || !has_told(member)));
        silent.map(|member| member.host).collect()
    }

    /// What ends the run: that one is lost, or where the others go on, all of them.
    fn loss(&mut self) -> Option<HostError> {
        let lost = self.members().filter_map(|member| member.lost.clone());
        let lost: Vec<HostError> = lost.collect();
        let goes_on = self.goes_on && lost.len() < self.members().count();
        (!lost.is_empty() && !goes_on).then(|| together(&lost))
    }

    /// Asks all. One that is lost has told what it told before, and is left out of the rest; the others go on.
    fn ask_all(&mut self, mut ask: impl FnMut(&mut Member) -> Answer<()>) -> Answer<()> {
        let mut whole = Answer::Told(());
        let (mut refused, mut lost, mut all) = (None, Vec::new(), 0);
        for member in self.members() {
            all += 1;
            match ask(member) {
                Answer::Told(()) => {}
                Answer::NotYet if member.lost.is_none() => whole = Answer::NotYet,
                Answer::NotYet => lost.extend(member.lost.clone()),
                Answer::Never(error @ HostError::Lost(_)) => {
                    lost.push(error.clone());
                    member.lost = Some(error);
                }
                Answer::Never(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) => Answer::Never(error),
            None if all > 0 && lost.len() == all => Answer::Never(together(&lost)),
            None => whole,
        }
    }
}

/// All that were lost, each with its reason.
fn together(lost: &[HostError]) -> HostError {
    let reasons: Vec<String> = lost.iter().map(ToString::to_string).collect();
    HostError::Lost(reasons.join("; "))
}

/// Keeps what is told, so that it is there when the others have told.
fn keep<T>(kept: &mut Option<T>, ask: impl FnOnce() -> Answer<T>) -> Answer<()> {
    if kept.is_some() {
        return Answer::Told(());
    }
    ask().map(|told| *kept = Some(told))
}

/// What one of several hosts tells, with what it did meanwhile under its own name. One that is alone stands for the whole.
fn apart(host: HostId, name: Option<&str>, told: &mut HostInterval) {
    let Some(name) = name else { return };
    let sample = told.sample.take();
    let hosts = &mut told.collected.engine.hosts;
    if hosts.is_empty() {
        hosts.push(HostEvidence {
            host,
            ..HostEvidence::default()
        });
    }
    hosts[0].sample = sample.map(|sample| sample.of_host(name));
}

/// Sets what all did together, where they are several.
fn sum_up(whole: &mut HostInterval) {
    let engine = &whole.collected.engine;
    if engine.is_of_several() {
        whole.sample = HostEvidence::together(&engine.hosts);
    }
}

impl<C> Host for Several<C> {
    fn prepare(&mut self, plan: &BoundPlan, run: &BoundRun, point: &SetPoint) {
        let (is_one, goes_on) = (self.members.len() == 1, self.goes_on);
        for member in &mut self.members {
            let name = plan.plan.hosts.get(member.host as usize);
            member.name = name.filter(|_| !is_one).map(|host| host.name.clone());
            member.is_in = has_part(plan, run, member.host);
            (member.prepared, member.ended, member.data_written) = (None, None, None);
            member.is_gone |= member.lost.is_some() && goes_on;
            member.intervals.clear();
            if !member.is_gone {
                member.lost = None;
                if member.is_in {
                    member.machine.prepare(plan, run, point);
                }
            }
        }
    }

    fn prepared(&mut self) -> Answer<Prepared> {
        let told = self.ask_all(|member| keep(&mut member.prepared, || member.machine.prepared()));
        if self.members().next().is_none() {
            return Answer::Never(HostError::Lost("all hosts are lost".to_owned()));
        }
        if let Some(error) = self.loss() {
            return Answer::Never(error);
        }
        told.map(|()| {
            let mut whole = Prepared::default();
            for one in self.members().filter_map(|member| member.prepared.take()) {
                whole.workers += one.workers;
                whole.shortfall = whole.shortfall.or(one.shortfall);
                whole.start_bound_ns = whole.start_bound_ns.max(one.start_bound_ns);
            }
            whole
        })
    }

    fn start(&mut self, start_ns: u64) {
        self.members()
            .for_each(|member| member.machine.start(start_ns));
    }

    fn stop_at(&mut self, stop_ns: u64) {
        self.members()
            .for_each(|member| member.machine.stop_at(stop_ns));
    }

    /// A host that is lost ends the run, unless the others go on.
    fn is_done(&mut self) -> Answer<bool> {
        let mut are_done = true;
        let told = self.ask_all(|member| {
            member.machine.is_done().map(|is_done| {
                are_done &= is_done;
            })
        });
        match (self.loss(), told) {
            (Some(error), _) | (None, Answer::Never(error)) => Answer::Never(error),
            (None, told) => Answer::Told(are_done && told == Answer::Told(())),
        }
    }

    fn fatal(&mut self) -> Option<HostError> {
        let goes_on = self.goes_on;
        let fatal = self.members().find_map(|member| {
            let fatal = member.machine.fatal()?;
            match goes_on && matches!(fatal, HostError::Lost(_)) {
                true => {
                    member.lost = Some(fatal);
                    None
                }
                false => Some(fatal),
            }
        });
        fatal.or_else(|| self.loss())
    }

    fn collect(&mut self, number: u64, end_ns: u64) -> Answer<HostInterval> {
        let told = self.ask_all(|member| {
            if member.intervals.contains_key(&number) {
                return Answer::Told(());
            }
            let told = member.machine.collect(number, end_ns);
            told.map(|mut told| {
                apart(member.host, member.name.as_deref(), &mut told);
                member.intervals.insert(number, told);
            })
        });
        told.map(|()| {
            let silent = self.silent(|member| member.intervals.contains_key(&number));
            let goes_on = self.goes_on;
            let parts = self.members();
            let parts = parts.filter_map(|member| member.intervals.remove(&number));
            HostInterval {
                silent,
                goes_on,
                ..merged(parts.collect())
            }
        })
    }

    fn patience_ns(&self) -> u64 {
        let all = self.members.iter();
        let most = all.map(|member| member.machine.patience_ns()).max();
        most.unwrap_or(0)
    }

    fn finish(&mut self, number: u64, end_ns: u64, control: &Control) -> Answer<Ended> {
        let told = self.ask_all(|member| {
            keep(&mut member.ended, || {
                let ended = member.machine.finish(number, end_ns, control);
                ended.map(|mut ended| {
                    apart(member.host, member.name.as_deref(), &mut ended.last);
                    ended
                })
            })
        });
        told.map(|()| {
            let silent = self.silent(|member| member.ended.is_some());
            let goes_on = self.goes_on;
            let mut parts = self.members().filter_map(|member| member.ended.take());
            let mut whole = parts.next().unwrap_or_default();
            parts.for_each(|part| whole.merge(&part));
            (whole.last.silent, whole.last.goes_on) = (silent, goes_on);
            sum_up(&mut whole.last);
            whole
        })
    }

    fn failures(&mut self) -> Failures {
        let mut whole = Failures::default();
        self.members()
            .for_each(|member| whole.merge(member.machine.failures()));
        whole
    }

    /// Of those that tell; what the others have in flight may be older.
    fn outstanding(&mut self) -> Answer<Vec<Outstanding>> {
        let mut told = false;
        let mut whole = Vec::new();
        for member in self.members() {
            if let Answer::Told(outstanding) = member.machine.outstanding() {
                told = true;
                whole.extend(outstanding);
            }
        }
        whole.sort_by_key(|one| std::cmp::Reverse(one.age_ns));
        match told {
            true => Answer::Told(whole),
            false => Answer::NotYet,
        }
    }

    fn data_written(&mut self) -> Answer<Vec<DataFigures>> {
        let told =
            self.ask_all(|member| keep(&mut member.data_written, || member.machine.data_written()));
        told.map(|()| {
            let parts = self.members();
            let kinds = parts.filter_map(|member| member.data_written.take());
            let mut whole: Vec<DataFigures> = Vec::new();
            for kind in kinds.flatten() {
                match whole.iter_mut().find(|one| one.is_like(&kind)) {
                    Some(one) => one.merge(&kind),
                    None => whole.push(kind),
                }
            }
            whole
        })
    }

    fn leave(&mut self, is_whole: bool) -> Left {
        let mut whole = Left::default();
        for member in &mut self.members {
            // One that is lost has not done its part.
            let is_whole = is_whole && member.lost.is_none();
            let left = member.machine.leave(is_whole);
            let name = member.name.as_deref();
            let notes = left.notes.into_iter();
            let notes = notes.map(|(severity, text)| (severity, of_host(name, text)));
            whole.notes.extend(notes);
            whole.refused = whole.refused.or(left.refused);
            whole.displaced = whole.displaced.or(left.displaced);
            let fills = left.fills.into_iter().map(|fill| Filled {
                target: of_host(name, fill.target),
                ..fill
            });
            whole.fills.extend(fills);
        }
        whole
    }

    fn retire(&mut self, streams: &[usize], have_failed: bool) {
        self.members()
            .for_each(|member| member.machine.retire(streams, have_failed));
    }
}

fn merged(parts: Vec<HostInterval>) -> HostInterval {
    let mut parts = parts.into_iter();
    let mut whole = parts.next().unwrap_or_default();
    for part in parts {
        whole.collected.merge(&part.collected);
        whole.stood_still.extend(part.stood_still);
        whole.was_silent.extend(part.was_silent);
    }
    sum_up(&mut whole);
    whole
}

impl<C: Clock> Clock for Several<C> {
    fn now_ns(&self) -> u64 {
        self.lead.now_ns()
    }

    fn unix_ns(&self, at_ns: u64) -> u64 {
        self.lead.unix_ns(at_ns)
    }

    fn wait_until(&mut self, until_ns: u64, control: &Control) {
        self.lead.wait_until(until_ns, control);
    }
}

impl<C: Clock + Commands> Commands for Several<C> {
    fn command(
        &mut self,
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&str),
    ) -> CommandEnd {
        self.lead.command(call, control, said)
    }

    fn order(&self, call: &CommandCall<'_>) -> CommandOrder {
        self.lead.order(call)
    }

    /// A host that is lost where the others go on is left out.
    fn command_on(
        &mut self,
        hosts: &[NamedHost],
        call: &CommandCall<'_>,
        control: &Control,
        said: &mut dyn FnMut(&NamedHost, &str),
    ) -> Vec<(NamedHost, CommandEnd)> {
        let order = self.lead.order(call);
        let mut ends: Vec<Option<CommandEnd>> = vec![None; hosts.len()];
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (place, member) in self.members.iter_mut().enumerate() {
            let named = hosts.iter().position(|(host, _)| *host == member.host);
            if let Some(named) = named.filter(|_| !(self.goes_on && member.lost.is_some())) {
                member.machine.begin_command(&order);
                open.push((named, place));
            }
        }
        while !open.is_empty() {
            open.retain(|(named, place)| {
                let (member, host) = (&mut self.members[*place], &hosts[*named]);
                let mut said = |line: &str| said(host, line);
                match member.machine.command_end(control, &mut said) {
                    Answer::NotYet => return true,
                    Answer::Told(end) => ends[*named] = Some(end),
                    Answer::Never(error) if self.goes_on => {
                        said(&format!("did not tell its end: {error}"));
                        member.lost = Some(error);
                    }
                    Answer::Never(error) => {
                        ends[*named] = Some(CommandEnd::Lost(error.to_string()));
                    }
                }
                false
            });
            match (open.is_empty(), control.is_stopping()) {
                (true, _) => {}
                // The clock of who leads does not wait any more.
                (false, true) => std::thread::sleep(COMMAND_LOOK),
                (false, false) => {
                    let next_ns = self.lead.now_ns() + COMMAND_LOOK.as_nanos() as u64;
                    self.lead.wait_until(next_ns, control);
                }
            }
        }
        let ended = hosts.iter().cloned().zip(ends);
        ended.filter_map(|(host, end)| Some((host, end?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{CpuTimes, DeviceSample, HostSample};

    fn told(busy_ns: u64) -> HostInterval {
        HostInterval {
            sample: Some(HostSample {
                cpu: Some(CpuTimes {
                    user_ns: busy_ns,
                    ..CpuTimes::default()
                }),
                devices: vec![DeviceSample {
                    device: "sdb".into(),
                    ..DeviceSample::default()
                }],
                ..HostSample::default()
            }),
            ..HostInterval::default()
        }
    }

    fn of_host(host: HostId, name: &str, mut told: HostInterval) -> HostInterval {
        apart(host, Some(name), &mut told);
        told
    }

    #[test]
    fn what_hosts_did_is_added_and_stays_apart() {
        let whole = merged(vec![of_host(0, "a", told(3)), of_host(2, "c", told(4))]);
        let sample = whole.sample.unwrap();
        assert_eq!(sample.cpu.unwrap().user_ns, 7);
        let devices: Vec<&str> = sample.devices.iter().map(|one| &*one.device).collect();
        assert_eq!(devices, ["a:sdb", "c:sdb"]);
        let hosts = &whole.collected.engine.hosts;
        let own = hosts.iter().map(|one| {
            let sample = one.sample.as_ref().unwrap();
            (one.host, sample.cpu.unwrap().user_ns)
        });
        assert_eq!(own.collect::<Vec<_>>(), [(0, 3), (2, 4)]);
    }

    #[test]
    fn a_host_that_does_not_tell_is_absent_and_so_is_the_sum() {
        let silent = HostInterval::default();
        let whole = merged(vec![of_host(0, "a", told(3)), of_host(1, "b", silent)]);
        assert_eq!(whole.sample, None);
        let hosts = &whole.collected.engine.hosts;
        assert_eq!(whole.collected.engine.told_by(), 2);
        assert!(hosts[0].sample.is_some() && hosts[1].sample.is_none());
    }

    #[test]
    fn one_host_alone_is_the_whole() {
        let mut alone = told(3);
        apart(0, None, &mut alone);
        let whole = merged(vec![alone]);
        assert_eq!(whole, told(3));
    }
}
