//! What the engine cannot carry out is said in words before a run.
mod plans;

use engine::unsupported;
use plan::*;
use plans::*;

/// A run of one stream, as changed, whose other numbers are in order.
fn refused(change: impl FnOnce(&mut Vec<Stream>)) -> Vec<String> {
    let streams = vec![stream(0, 0, |_| {})];
    let runs = vec![flat_out(SECOND, SECOND)];
    let bound = bind_unreal(plan(vec![simulated(MIB)], &[1], streams, runs));
    let mut run = bound.run(RunId(0));
    change(&mut run.run.streams);
    unsupported(&run)
}

#[test]
fn as_many_streams_and_targets_as_memory_holds() {
    let many = refused(|streams| {
        streams.resize((1 << 16) + 1, streams[0].clone());
        streams[0].targets.resize((1 << 16) + 1, TargetId(0));
    });
    assert_eq!(many, [""; 0]);
}

#[test]
fn transfers_shorter_than_256_mib() {
    let largest = |bytes| {
        refused(|streams| {
            let OpSource::Generator(generator) = &mut streams[0].source else {
                unreachable!("a generator");
            };
            generator.transfer.read = TransferSizes::Fixed(bytes);
        })
    };
    assert_eq!(largest((256 * MIB) - 512), [""; 0]);
    assert_eq!(largest(256 * MIB), ["transfers of 256 MiB or more"]);
}
