//! Jobs of both languages with one quantity varied.
use plan::{Held, Plan, Quantity, Run, ScaleError, Scaling};

/// Four files, of which the second is commented out.
const VDBENCH: &str = "sd=sd1,lun=/a/1,size=8m,threads=4\n*sd=sd2,lun=/a/2,size=8m\nsd=sd3,lun=/a/3,size=8m,threads=4\n\
    sd=sd4,lun=/a/4,size=8m,threads=4\nwd=wd1,sd=sd*,rdpct=100,xfersize=4k,range=(0,50)\n\
    rd=rd1,wd=wd1,iorate=max,elapsed=5,interval=1,forthreads=(4,8)\n";

const FIO: &str = "[global]\nrw=randread\nsize=4m\nruntime=5\ntime_based\niodepth=6\nioengine=libaio\n[one]\nfilename=/a/1:/a/2\n\
    [two]\nfilename=/a/3\n[three]\nfilename=/a/4\nrate_iops=100\n";

fn of_vdbench(text: &str) -> Plan {
    let reading = crate::matrix::read(text);
    reading
        .plan
        .unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
}

fn of_fio(text: &str) -> Plan {
    crate::fio_traps::plan(text)
}

fn scaling(quantity: Quantity, values: &[f64]) -> Scaling {
    Scaling {
        quantity,
        values: values.to_vec(),
        held: Held::default(),
    }
}

/// The runs that measure.
fn runs(plan: &Plan) -> Vec<Run> {
    let all = plan.run_ids().map(|id| plan.run(id));
    all.filter(|run| run.kind == plan::RunKind::Measure)
        .collect()
}

/// Targets, streams, slots of all pools, and the sum of the shares.
fn shape(run: &Run) -> (usize, usize, u32, f64) {
    let targets = run.streams.iter().map(|stream| stream.targets.len()).sum();
    let slots = run.pools.iter().map(|pool| pool.slots).sum();
    let shares: f64 = run.streams.iter().map(|stream| stream.share_pct).sum();
    (
        targets,
        run.streams.len(),
        slots,
        (shares * 1e6).round() / 1e6,
    )
}

#[test]
fn the_first_files_are_those_that_are_no_comments() {
    let plan = of_vdbench(VDBENCH);
    let scaled = scaling(Quantity::Files, &[1.0, 2.0, 3.0])
        .apply(&plan)
        .unwrap();
    assert!(scaled.inconsistencies().is_empty());
    let shapes: Vec<_> = runs(&scaled).iter().map(shape).collect();
    // Each value has all loops of the job.
    let of = |files: usize, threads: u32| (files, files, files as u32 * threads, 100.0);
    assert_eq!(
        shapes,
        [of(1, 4), of(1, 8), of(2, 4), of(2, 8), of(3, 4), of(3, 8)]
    );
    let run = &runs(&scaled)[3];
    let names: Vec<&str> = run
        .streams
        .iter()
        .map(|one| &*scaled.target(one.targets[0]).name)
        .collect();
    assert_eq!(names, ["sd1", "sd3"]);
    let swept: Vec<(&str, f64)> = run
        .swept
        .iter()
        .map(|one| (&*one.name, one.value))
        .collect();
    assert_eq!(swept, [("files", 2.0), ("threads", 8.0)]);
    let error = scaling(Quantity::Files, &[1.0, 4.0])
        .apply(&plan)
        .unwrap_err();
    assert!(
        matches!(error, ScaleError::Beyond { there: 3, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("commented out are none"));
}

#[test]
fn files_of_one_job_and_of_several_count_alike() {
    let plan = of_fio(FIO);
    let scaled = scaling(Quantity::Files, &[1.0, 2.0, 4.0])
        .apply(&plan)
        .unwrap();
    assert!(scaled.inconsistencies().is_empty());
    let shapes: Vec<_> = runs(&scaled)
        .iter()
        .map(|run| (shape(run).0, shape(run).2))
        .collect();
    // Two files of one job share its slots.
    assert_eq!(shapes, [(1, 6), (2, 6), (4, 18)]);
}

#[test]
fn slots_that_are_held_are_those_of_the_largest_value() {
    let plan = of_vdbench(VDBENCH);
    let mut held = scaling(Quantity::Files, &[1.0, 2.0, 3.0]);
    held.held.slots = true;
    let slots = |run: &Run| {
        run.pools
            .iter()
            .map(|pool| pool.slots)
            .collect::<Vec<u32>>()
    };
    let all: Vec<_> = runs(&held.apply(&plan).unwrap())
        .iter()
        .map(slots)
        .collect();
    assert_eq!(all[0], [12]);
    assert_eq!(all[2], [6, 6]);
    assert_eq!(all[5], [8, 8, 8]);
    let mut itself = scaling(Quantity::Threads, &[1.0, 2.0]);
    itself.held.slots = true;
    assert_eq!(
        itself.apply(&plan),
        Err(ScaleError::HoldsItself(Quantity::Threads))
    );
}

#[test]
fn bytes_that_are_held_are_those_of_the_smallest_value() {
    let plan = of_vdbench(VDBENCH);
    let mut held = scaling(Quantity::Files, &[1.0, 2.0]);
    held.held.bytes = true;
    let high = |run: &Run| {
        let plan::OpSource::Generator(generator) = &run.streams[0].source else {
            panic!("{run:?}")
        };
        generator.region.high
    };
    let all: Vec<_> = runs(&held.apply(&plan).unwrap()).iter().map(high).collect();
    assert_eq!(all[0], plan::Bound::Percent(50.0));
    assert_eq!(all[2], plan::Bound::Percent(25.0));
    let half = scaling(Quantity::Range, &[10.0, 100.0])
        .apply(&plan)
        .unwrap();
    let all: Vec<_> = runs(&half).iter().map(high).collect();
    assert_eq!(
        (all[0], all[2]),
        (plan::Bound::Percent(5.0), plan::Bound::Percent(50.0))
    );
}

#[test]
fn what_looks_for_rates_or_has_no_hosts_is_not_varied() {
    let curve = of_vdbench(&VDBENCH.replace("iorate=max", "iorate=curve"));
    let error = scaling(Quantity::Files, &[1.0, 2.0])
        .apply(&curve)
        .unwrap_err();
    assert!(matches!(error, ScaleError::Searches(_)), "{error}");
    let alone = scaling(Quantity::Hosts, &[1.0, 2.0]).apply(&of_vdbench(VDBENCH));
    assert_eq!(alone, Err(ScaleError::WithoutHosts));
    let threads = scaling(Quantity::Threads, &[2.0, 16.0])
        .apply(&of_vdbench(VDBENCH))
        .unwrap();
    let slots: Vec<u32> = runs(&threads).iter().map(|run| shape(run).2).collect();
    // The loop of the job is replaced.
    assert_eq!(slots, [6, 48]);
}

#[test]
fn a_run_that_reaches_none_of_the_files_is_left_out_and_none_at_all_is_refused() {
    let job = |of: [&str; 2]| {
        let second = format!("wd=wd2,sd={},rdpct=100,xfersize=4k\nrd=rd1", of[1]);
        let text = VDBENCH.replace("sd=sd*", &format!("sd={}", of[0]));
        let text = text
            .replace(",forthreads=(4,8)", "")
            .replace("rd=rd1", &second);
        of_vdbench(&(text + "rd=rd2,wd=wd2,iorate=max,elapsed=5,interval=1\n"))
    };
    let two = scaling(Quantity::Files, &[1.0, 2.0]);
    let names = |plan: &Plan| {
        runs(plan)
            .into_iter()
            .map(|run| run.name)
            .collect::<Vec<String>>()
    };
    assert_eq!(
        names(&two.apply(&job(["sd1", "sd3"])).unwrap()),
        ["rd1", "rd1", "rd2"]
    );
    let error = two.apply(&job(["sd3", "sd4"])).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no run of the job reaches the first 1 of its files"),
        "{error}"
    );
}

#[test]
fn bytes_of_unequal_files_are_held_by_their_sizes() {
    let plan = of_vdbench(&VDBENCH.replace("sd=sd3,lun=/a/3,size=8m", "sd=sd3,lun=/a/3,size=24m"));
    let mut held = scaling(Quantity::Files, &[1.0, 2.0]);
    held.held.bytes = true;
    let all = runs(&held.apply(&plan).unwrap());
    let plan::OpSource::Generator(generator) = &all[2].streams[1].source else {
        panic!("{all:?}")
    };
    // A quarter of half of both is half of the first.
    assert_eq!(generator.region.high, plan::Bound::Percent(12.5));
}
