//! File-system jobs: trees, their workloads, formats, and the list of runs. Nothing is lowered yet.
use super::definitions::Definition;
use super::expand::ListedRun;
use super::model::Host;
use super::sink::Sink;
use crate::Environment;

pub(crate) fn list(
    _definitions: &[Definition],
    _hosts: &[Host],
    _environment: &Environment<'_>,
    _sink: &mut Sink,
) -> Vec<ListedRun> {
    Vec::new()
}
