//! What jobs of all kinds tell in simulated time, to the last figure, beside what is written down of them: a change of the
//! engine's inside leaves every line as it stands. `UPDATE=1` writes them anew.
pub mod jobs;
pub mod told;

use conduct::SimulatedHost;

#[test]
fn every_kind_of_operation_is_told_as_before() {
    told::compare(|job, workers, world| {
        let host = SimulatedHost::new(job.script.clone(), workers);
        match world {
            Some(world) => host.with_files(world.files()),
            None => host,
        }
    });
}
