//! The hosts of a job that is spread over several, and how they are reached.
use crate::arguments::{Common, HostOptions};
use crate::exit::Exit;
use crate::refusals;
use conduct::machine::States;
use conduct::{Clock, Host, LocalLead, OperationSink};
use fleet::joining::{self, Joined};
use fleet::settle::Machines;
use fleet::{Gathering, PipeLine, Piped, Several};
use measure::HostId;
use plan::{Plan, PlanHost};
use std::time::Duration;

/// The plan on the hosts of the command line; `None` where it names none.
///
/// # Errors
/// In words, where the job names hosts itself.
pub fn spread(plan: &Plan, options: &HostOptions) -> Result<Option<Plan>, String> {
    match &options.hosts {
        None => Ok(None),
        Some(_) if plan.is_spread() => {
            Err("`--hosts` is for jobs that name no hosts; this one has `hd=`".to_owned())
        }
        Some(hosts) => {
            let mut spread = plan.on_hosts(hosts.0.clone());
            lang::vdbench::name_hosts(&mut spread);
            Ok(Some(spread))
        }
    }
}

/// Asks hosts for what has to be known before their parts are, all at once.
pub fn ask_before(
    asked: &[(PlanHost, joining::Question)],
    common: &Common,
) -> Result<Vec<joining::Told>, Exit> {
    let way = way(common);
    let told: Vec<_> = std::thread::scope(|scope| {
        let ask = |(host, question): &'_ (PlanHost, joining::Question)| {
            joining::ask(host, question, &way)
        };
        let threads: Vec<_> = asked
            .iter()
            .map(|one| scope.spawn(move || ask(one)))
            .collect();
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().expect("asking a host panics nowhere"))
            .collect()
    });
    let (mut all, mut refusals) = (Vec::new(), Vec::new());
    for ((host, _), told) in asked.iter().zip(told) {
        match told {
            Ok(told) => all.push(told),
            Err(refusal) => refusals.push((host.name.clone(), refusal)),
        }
    }
    match refusals.is_empty() {
        true => Ok(all),
        false => Err(refusals::told(&refusals)),
    }
}

/// A host that is busy takes a while to let somebody in, however short a silence may be later.
const CONNECT_S_MIN: u64 = 10;

fn way(common: &Common) -> joining::Way {
    joining::Way {
        launcher: common.fleet.launcher.clone().map(|launcher| launcher.0),
        keeps: !common.fleet.no_keep,
        patience_s: common.fleet.host_timeout.as_secs().max(CONNECT_S_MIN),
    }
}

/// Hosts that have granted their parts, as one. Single operations of all of them come to `operations`, what streams write to
/// `states`.
pub fn several(
    hosts: Vec<(HostId, Piped<PipeLine>)>,
    lead: LocalLead,
    operations: Option<Box<dyn OperationSink>>,
    states: &States,
) -> Several<LocalLead> {
    let operations = operations.map(Gathering::new);
    let boxed = |(host, piped): (HostId, Piped<PipeLine>)| {
        let clock = lead.clone();
        let piped = piped.with_clock(move || clock.now_ns());
        let piped = piped.with_operations(operations.clone());
        let piped = piped.with_states(states);
        (host, Box::new(piped) as Box<dyn Host>)
    };
    let machines: Vec<_> = hosts.into_iter().map(boxed).collect();
    Several::new(lead, machines)
}

/// With a line that is cut where the host is lost: `ssh` would wait for it for as long as the network does.
fn piped(name: String, joined: Joined, silence: Duration) -> Piped<PipeLine> {
    let piped = Piped::new(name, joined.line, silence);
    match joined.carrier {
        None => piped,
        Some(mut carrier) => piped.with_cut(move || {
            let _ = carrier.kill();
            let _ = carrier.wait();
        }),
    }
}

/// Reaches all hosts at once.
///
/// # Errors
/// In words, when this program cannot be given to others.
pub fn reach(plan: &Plan, common: &Common) -> Result<Machines<Piped<PipeLine>>, String> {
    let binary = joining::Image::own()?;
    let way = way(common);
    let (binary, way, silence) = (&binary, &way, common.fleet.host_timeout);
    let reached: Vec<_> = std::thread::scope(|scope| {
        let hosts = plan.hosts.iter().enumerate();
        let threads: Vec<_> = hosts
            .map(|host| scope.spawn(move || joining::join(host, binary, way)))
            .collect();
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().expect("reaching a host panics nowhere"))
            .collect()
    });
    let mut machines = Machines {
        all: Vec::new(),
        refusals: Vec::new(),
    };
    for (number, (host, reached)) in plan.hosts.iter().zip(reached).enumerate() {
        let number = number as HostId;
        match reached {
            Ok(joined) => {
                let machine = piped(host.name.clone(), joined, silence);
                machines.all.push((number, machine));
            }
            Err(refusal) => machines.refusals.push((number, refusal)),
        }
    }
    Ok(machines)
}
