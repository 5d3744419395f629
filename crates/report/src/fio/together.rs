//! A part of each report for every host, and what all of them did together.
use super::clients::Clients;
use super::faults::Fault;
use super::model::{Disk, Entry};
use super::settings::Unified;

/// The name of the entry of all.
const ALL: &str = "All clients";

/// What each did, and its disks.
pub(super) fn each<'a>(
    clients: &'a Clients,
    entries: &'a [Entry],
    disks: &'a [Disk],
) -> impl Iterator<Item = (&'a str, Vec<Entry>, Vec<Disk>)> {
    let places = clients.names.iter().enumerate();
    places.map(move |(place, name)| {
        let own = entries.iter().filter(|one| one.client as usize == place);
        let front = format!("{name}:");
        let disks = disks.iter().filter_map(|disk| {
            // Where there is one host, its disks have no other name.
            let name = match clients.names.len() {
                1 => disk.name.as_str(),
                _ => disk.name.strip_prefix(&front)?,
            };
            Some(Disk {
                name: name.to_owned(),
                ..disk.clone()
            })
        });
        (name.as_str(), own.cloned().collect(), disks.collect())
    })
}

/// What all did together, as one entry; `None` where there is one only. Repetitions have figures of their own.
pub(super) fn all(entries: &[Entry]) -> Option<Entry> {
    let mut told = entries.iter().filter(|one| one.is_told());
    let mut all = told.next()?.clone();
    all.members = 1;
    let rest: Vec<&Entry> = told.collect();
    let last = rest.last()?;
    (all.name, all.group) = (ALL.to_owned(), last.group);
    (all.own_options, all.description) = (Vec::new(), None);
    (all.error, all.errors, all.first_counted) = (None, 0, None);
    // fio leaves out who was lost; here it is in the sums, up to when it was.
    let losses = entries.iter().filter_map(|one| one.loss.as_ref());
    all.error = losses.map(Fault::of_loss).next();
    for one in &rest {
        let mut one = (*one).clone();
        (one.members, one.error, one.errors, one.first_counted) = (1, None, 0, None);
        all.join(one);
    }
    all.own_options.clear();
    if all.settings.unified != Unified::Apart {
        all.mixed = Some(super::model::mixed(&all.directions));
    }
    Some(all)
}
