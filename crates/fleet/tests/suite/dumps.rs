//! Every job of `conduct`'s canonical dumps over a line: the figures are the same to the last one.
#[path = "../../../conduct/tests/suite/dumps/jobs.rs"]
pub mod jobs;
#[path = "../../../conduct/tests/suite/dumps/told.rs"]
pub mod told;

use crate::near::Far;
use conduct::SimulatedHost;

#[test]
fn every_kind_of_operation_is_told_over_a_line_as_without() {
    told::compare(|job, workers, world| {
        let host = SimulatedHost::new(job.script.clone(), workers);
        Far::new(match world {
            Some(world) => host.with_files(world.files()),
            None => host,
        })
    });
}
