//! The run that lays files out.
use crate::fio_traps::plan;
use plan::{OpSource, Plan, RunKind, SizeRule, Stream, TransferSizes};

fn layout(plan: &Plan) -> &[Stream] {
    let run = plan.runs.iter().find(|run| run.kind == RunKind::Prepare);
    let template = run.expect("there are files to lay out").template;
    &plan.templates[template.index()].streams
}

fn transfer(stream: &Stream) -> u64 {
    match &stream.source {
        OpSource::Generator(generator) => match generator.transfer.write {
            TransferSizes::Fixed(bytes) => bytes,
            _ => panic!("of one size"),
        },
        _ => panic!("files are generated"),
    }
}

#[test]
fn many_files_of_a_job_are_few_streams() {
    let plan = plan("[j]\nrw=read\nnrfiles=1000\nfilesize=20k\n");
    let [one] = layout(&plan) else {
        panic!("files of one size are one stream")
    };
    assert_eq!((one.targets.len(), transfer(one)), (1000, 20 << 10));
    assert_eq!(plan.templates.last().unwrap().pools[0].slots, 16);
}

#[test]
fn files_of_several_sizes_go_by_transfers_that_fit_each() {
    let plan = plan("[j]\nrw=read\nnrfiles=1000\nfilesize=4k-4m\n[k]\nrw=read\nfilesize=1m\n");
    let streams = layout(&plan);
    assert!(streams.len() <= 10, "{}", streams.len());
    let mut laid_out = vec![0; plan.targets.len()];
    for stream in streams {
        let bytes = |id: &plan::TargetId| match plan.target(*id).size {
            SizeRule::Bytes(bytes) => bytes,
            _ => panic!("sizes are given"),
        };
        let smallest = stream.targets.iter().map(bytes).min().unwrap();
        assert_eq!(transfer(stream), smallest.min(1 << 20));
        stream
            .targets
            .iter()
            .for_each(|id| laid_out[id.index()] += 1);
    }
    assert!(laid_out.iter().all(|count| *count == 1));
}
