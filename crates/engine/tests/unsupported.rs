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
fn as_many_streams_and_targets_as_workers_can_number() {
    let streams = |count: usize| refused(|streams| streams.resize(count, streams[0].clone()));
    assert_eq!(streams(1 << 16), [""; 0]);
    assert_eq!(streams((1 << 16) + 1), ["more than 65536 streams in a run"]);
    let targets = |others: usize, count| {
        refused(|streams| {
            streams.resize(1 + others, streams[0].clone());
            streams[0].targets.resize(count, TargetId(0));
        })
    };
    // The fewer streams, the more targets.
    let most = (1 << 16) - 1;
    assert_eq!(targets(0, 1 << 20), [""; 0]);
    assert_eq!(targets(most, 1 << 16), [""; 0]);
    assert_eq!(
        targets(most, (1 << 16) + 1),
        ["more than 65536 targets in a stream"]
    );
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
