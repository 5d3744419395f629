//! Where and how urgently the clones of a job run.
use crate::fio_traps::{plan, read, streams};
use plan::{IoPriority, Placement};

fn placements(options: &str) -> Vec<Placement> {
    let text = format!("[a]\nrw=read\nsize=1m\nnumjobs=3\n{options}\n");
    let streams = streams(&plan(&text));
    streams.into_iter().map(|one| one.flow.placement).collect()
}

fn cpus(options: &str) -> Vec<Vec<u32>> {
    placements(options)
        .into_iter()
        .map(|one| one.cpus)
        .collect()
}

#[test]
fn clones_share_their_cpus_or_split_them() {
    let all = vec![1, 2, 4];
    let shared = vec![all.clone(), all.clone(), all];
    assert_eq!(cpus("cpus_allowed=1-2,4"), shared);
    assert_eq!(
        cpus("cpus_allowed=1-2,4\ncpus_allowed_policy=shared"),
        shared
    );
    let split = "cpus_allowed_policy=split";
    let each = |cpus: [u32; 3]| cpus.map(|cpu| vec![cpu]).to_vec();
    assert_eq!(
        cpus(&format!("cpus_allowed=1-2,4\n{split}")),
        each([1, 2, 4])
    );
    // With fewer CPUs than clones, they begin again.
    assert_eq!(cpus(&format!("cpus_allowed=0,3\n{split}")), each([0, 3, 0]));
}

#[test]
fn a_mask_names_cpus_by_its_bits() {
    assert_eq!(cpus("cpumask=11")[0], [0, 1, 3]);
    // The last one given counts.
    assert_eq!(cpus("cpumask=11\ncpus_allowed=2")[0], [2]);
    assert_eq!(cpus("cpus_allowed=2\ncpumask=0x10")[0], [4]);
}

#[test]
fn nodes_stand_for_their_cpus() {
    assert_eq!(cpus("numa_cpu_nodes=1")[0], [2, 3]);
    assert_eq!(cpus("numa_cpu_nodes=0-1")[2], [0, 1, 2, 3]);
    assert_eq!(cpus("numa_cpu_nodes=all")[0], [0, 1, 2, 3]);
    // Nodes are not dealt out one by one.
    let split = cpus("numa_cpu_nodes=1\ncpus_allowed_policy=split");
    assert_eq!(split[0], [2, 3]);
    for wrong in ["3", "2", "x", "1-"] {
        let reading = read(&format!("[a]\nrw=read\nsize=1m\nnuma_cpu_nodes={wrong}\n"));
        assert_eq!(reading.run_blockers.len(), 1, "{wrong}");
        assert!(reading.run_blockers[0].message.contains("node"), "{wrong}");
    }
}

#[test]
fn memory_comes_from_the_nodes_that_are_named() {
    use plan::MemoryPolicy::{Bind, Interleave, Local, Prefer};
    let of = |policy: &str| {
        let first = placements(&format!("numa_mem_policy={policy}")).swap_remove(0);
        first.memory
    };
    assert_eq!(of("default"), None);
    assert_eq!(of("local"), Some(Local));
    assert_eq!(of("prefer:1"), Some(Prefer(1)));
    assert_eq!(of("bind:0-1"), Some(Bind(vec![0, 1])));
    assert_eq!(of("interleave:all"), Some(Interleave(vec![0, 1, 2])));
    for wrong in ["prefer", "prefer:0-1", "bind:7", "near:1"] {
        let reading = read(&format!("[a]\nrw=read\nsize=1m\nnuma_mem_policy={wrong}\n"));
        assert_eq!(reading.run_blockers.len(), 1, "{wrong}");
    }
}

#[test]
fn locks_are_waited_for_by_threads() {
    use plan::{IoMethod, TargetLock};
    let of = |options: &str| {
        let text = format!("[a]\nrw=read\nsize=1m\n{options}\n");
        let plan = plan(&text);
        let lock = streams(&plan)[0].flow.lock;
        (lock, plan.templates[0].pools[0].method)
    };
    let (exclusive, shared) = (TargetLock::Exclusive, TargetLock::ReadWrite);
    let aio = "ioengine=libaio\nlockfile";
    assert_eq!(
        of(&format!("{aio}=none")),
        (None, Some(IoMethod::KernelQueue))
    );
    assert_eq!(
        of(&format!("{aio}=exclusive")),
        (Some(exclusive), Some(IoMethod::Calls))
    );
    assert_eq!(
        of(&format!("{aio}=readwrite")),
        (Some(shared), Some(IoMethod::Calls))
    );
    let mapped = of("ioengine=mmap\nlockfile=exclusive");
    assert_eq!(mapped, (Some(exclusive), Some(IoMethod::Mapping)));
}

#[test]
fn priorities_have_a_class() {
    let of = |options: &str| {
        let first = placements(options).swap_remove(0);
        (first.io_priority, first.nice)
    };
    let hinted = |class, level, hint| Some(IoPriority { class, level, hint });
    let priority = |class, level| hinted(class, level, 0);
    assert_eq!(of("prio=3"), (priority(2, 3), 0));
    assert_eq!(of("prioclass=3"), (priority(3, 0), 0));
    assert_eq!(of("prioclass=1\nprio=7\nnice=-4"), (priority(1, 7), -4));
    assert_eq!(of("nice=5"), (None, 5));
    assert_eq!(of("priohint=0"), (None, 0));
    assert_eq!(of("priohint=3"), (hinted(2, 0, 3), 0));
    assert_eq!(of("priohint=7\nprioclass=3"), (hinted(3, 0, 7), 0));
}
