//! Patterns of places, and options that are done in another way or refused with a way out.
use crate::fio_traps::{plan, read, streams};
use plan::{AddressOrder, OpSource, StepPattern, Stream, TargetOrder, TransferSizes};

fn stream(options: &str) -> Stream {
    let text = format!("[j]\nsize=1m\n{}\n", options.replace(' ', "\n"));
    streams(&plan(&text)).remove(0)
}

fn order(options: &str) -> AddressOrder {
    let OpSource::Generator(generator) = stream(options).source else {
        unreachable!("jobs draw their I/O")
    };
    generator.order
}

fn pattern(options: &str) -> StepPattern {
    match order(options) {
        AddressOrder::Stepped(steps) => steps.pattern,
        other => panic!("{options}: {other:?}"),
    }
}

/// The messages that keep a job from being run.
fn refusals(options: &str) -> Vec<String> {
    let text = format!("[j]\nsize=1m\n{}\n", options.replace(' ', "\n"));
    let reading = read(&text);
    let all = reading.diagnostics.iter().chain(&reading.run_blockers);
    all.map(|found| found.message.clone()).collect()
}

#[test]
fn a_number_behind_the_direction_is_a_gap_or_a_burst() {
    assert_eq!(pattern("rw=write:8k"), StepPattern::gap(8192));
    assert_eq!(pattern("rw=read:-8k"), StepPattern::gap(-8192));
    let burst = pattern("rw=randread:8 rw_sequencer=identical norandommap");
    let expected = StepPattern::Bursts {
        operations: 8,
        repeats: true,
        law: plan::RandomLaw::Uniform,
        seeks: None,
    };
    assert_eq!(burst, expected);
    assert!(matches!(order("rw=randread:1"), AddressOrder::Random(_)));
    assert_eq!(
        pattern("rw=read:-2k bsrange=4k-8k"),
        StepPattern::gap(-2048)
    );
}

#[test]
fn trims_and_writes_come_in_pairs_and_count_apart() {
    let stream = stream("rw=trimwrite filename=/dev/sdx number_ios=10");
    assert_eq!(stream.stop.operations, Some(20));
    assert_eq!(stream.stop.bytes, Some(2 << 20));
    assert!(matches!(
        order("rw=randtrimwrite filename=/dev/sdx"),
        AddressOrder::Stepped(steps) if steps.trims_first
    ));
    let partly = pattern("rw=randtrimwrite filename=/dev/sdx percentage_random=100,100,30");
    let StepPattern::Bursts {
        seeks: Some(seeks), ..
    } = partly
    else {
        panic!("some pairs take a random place: {partly:?}")
    };
    assert_eq!(seeks.random_pct.trim, 30.0);
}

#[test]
fn each_direction_has_its_share_of_random_places() {
    let AddressOrder::Mixed { random_pct, .. } = order("rw=randrw percentage_random=10,25") else {
        panic!("some of both are random")
    };
    assert_eq!((random_pct.read, random_pct.write), (10.0, 25.0));
    // What is not used does not count.
    let reads = order("rw=randread percentage_random=0,25,0");
    assert!(matches!(reads, AddressOrder::Sequential { .. }));
}

#[test]
fn sizes_may_belong_to_orders() {
    let size = |options: &str| match stream(options).source {
        OpSource::Generator(generator) => generator.transfer.read,
        _ => unreachable!("jobs draw their I/O"),
    };
    let sizes = "bs=8k,16k bs_is_seq_rand=1";
    assert_eq!(
        size(&format!("rw=read {sizes}")),
        TransferSizes::Fixed(8192)
    );
    assert_eq!(
        size(&format!("rw=randread {sizes}")),
        TransferSizes::Fixed(16384)
    );
}

#[test]
fn sizes_follow_the_order_of_each_single_io() {
    let sizes = "bs=8k,16k bs_is_seq_rand=1";
    let of = |options: &str| match stream(&format!("{options} {sizes}")).source {
        OpSource::Generator(generator) => (generator.transfer.read.clone(), generator.order),
        _ => unreachable!("jobs draw their I/O"),
    };
    for (options, every) in [
        ("rw=randread percentage_random=30", 1),
        ("rw=randread:4", 4),
    ] {
        let (seeking, order) = of(options);
        assert_eq!(seeking, TransferSizes::Fixed(16384), "{options}");
        let AddressOrder::Mixed { following, .. } = order else {
            panic!("{options}: {order:?}")
        };
        let expected = plan::Following {
            every,
            repeats: false,
            sizes: Some(TransferSizes::Fixed(8192)),
        };
        assert_eq!(following, expected, "{options}");
    }
    // In bytes per second: 30 % of 16 KiB and 70 % of 8 KiB are 10.4 KiB.
    let paced = stream(&format!(
        "rw=randread percentage_random=30 rate=104k {sizes}"
    ));
    let plan::Pacing::Rate { per_second, .. } = paced.pacing else {
        panic!("{:?}", paced.pacing)
    };
    assert!((per_second.read.unwrap() - 10.0).abs() < 1e-9);
}

#[test]
fn bursts_with_several_sizes_or_seeking_by_chance_go_on_behind_the_one_before() {
    let following = |options: &str| match order(options) {
        AddressOrder::Mixed {
            random_pct,
            following,
            ..
        } => (random_pct.read, following.every, following.repeats),
        other => panic!("{options}: {other:?}"),
    };
    assert_eq!(following("rw=randread:4 bsrange=4k-64k"), (100.0, 4, false));
    assert_eq!(
        following("rw=randread:4 percentage_random=50"),
        (50.0, 4, false)
    );
    let repeating = "rw=randread:8 rw_sequencer=identical bssplit=4k/50:64k/50";
    assert_eq!(following(repeating), (100.0, 8, true));
    let files = "rw=randread:4 nrfiles=4 file_service_type=random";
    assert_eq!(following(files), (100.0, 4, false));
}

#[test]
fn places_of_mixed_directions_are_multiples_of_the_size_of_each() {
    let align = |options: &str| match stream(options).source {
        OpSource::Generator(generator) => generator.align,
        _ => unreachable!("jobs draw their I/O"),
    };
    let of = |options: &str| match align(options) {
        plan::AlignRule::ByDirection(units) => (units.read, units.write),
        plan::AlignRule::Bytes(bytes) => (bytes, bytes),
        plan::AlignRule::Transfer => (0, 0),
    };
    assert_eq!(of("rw=randrw bs=4k,64k"), (4096, 65_536));
    assert_eq!(of("rw=randrw bsrange=1k-4k,8k-16k"), (1024, 8192));
    assert_eq!(of("rw=randrw bs=4k,64k ba=512"), (512, 512));
    assert_eq!(of("rw=randrw bs=8k"), (8192, 8192));
    // The other direction is never used.
    assert_eq!(of("rw=randread bs=4k,64k"), (4096, 4096));
}

#[test]
fn what_ends_with_a_colon_is_read_as_fio_reads_it() {
    let read = |option: &str| {
        let text = format!("[a]\nrw=randread\nsize=1m\n{option}\n");
        !crate::fio_traps::read(&text).has_errors()
    };
    let ends = [
        "percentile_list=50:99:",
        "random_distribution=zoned:50/10:30/20:",
        "random_distribution=zoned:50/10:50/90:",
        "percentile_list=50::99",
    ];
    assert_eq!(ends.map(read), [true, false, true, false]);
}

#[test]
fn random_places_by_a_law_may_be_multiples_of_other_bytes_in_each_direction() {
    let options = "rw=randrw ba=4k,64k random_distribution=zipf:1.2";
    let OpSource::Generator(generator) = stream(options).source else {
        unreachable!("jobs draw their I/O")
    };
    assert!(matches!(generator.align, plan::AlignRule::ByDirection(units) if units.write == 65536));
    assert!(matches!(
        generator.order,
        AddressOrder::Random(plan::RandomLaw::Zipf { .. })
    ));
}

#[test]
fn pairs_of_trim_and_write_come_at_the_rate_of_the_writes() {
    let rate = |options: &str| match stream(&format!("{options} filename=/dev/sdx")).pacing {
        plan::Pacing::TotalRate { per_second, .. } => per_second,
        other => panic!("{options}: {other:?}"),
    };
    assert_eq!(rate("rw=trimwrite rate_iops=100"), 200.0);
    assert_eq!(rate("rw=trimwrite rate_iops=,50,100"), 100.0);
    assert_eq!(rate("rw=randtrimwrite rate=,,40k"), 20.0);
}

fn filling(options: &str) -> (Stream, Vec<String>) {
    let text = format!("[j]\nfill_device=1\n{}\n", options.replace(' ', "\n"));
    let warnings = read(&text).diagnostics;
    let messages = warnings.iter().map(|found| found.message.clone());
    (streams(&plan(&text)).remove(0), messages.collect())
}

#[test]
fn a_file_system_is_filled_in_zones_too_and_with_headers_that_others_check() {
    let (zoned, _) = filling("rw=write filename=f zonesize=1m zoneskip=1m");
    assert!(zoned.stop.when_full && zoned.stop.bytes.is_none());
    let OpSource::Generator(generator) = zoned.source else {
        unreachable!("jobs draw their I/O")
    };
    assert!(matches!(generator.order, AddressOrder::Stepped(_)));
    let (checked, warnings) = filling("rw=write filename=f verify=crc32c");
    let check = checked.data.check.expect("headers are written");
    assert!(!check.reads && !check.records);
    assert!(warnings.iter().any(|text| text.contains("not read back")));
    // A device ends where it ends.
    let (device, _) = filling("rw=randwrite filename=/dev/sdx");
    assert_eq!(device.stop.passes, Some(1));
}

#[test]
fn a_file_system_is_not_filled_where_no_place_can_be_drawn() {
    for options in [
        "rw=randwrite",
        "rw=write:-64k",
        "rw=write verify=md5 verify_backlog=8",
    ] {
        let text = format!(
            "[j]\nfill_device=1\nfilename=f\n{}\n",
            options.replace(' ', "\n")
        );
        let refusals = read(&text).run_blockers;
        let is_told = |found: &plan::Diagnostic| found.message.contains("is refused");
        assert!(refusals.iter().any(is_told), "{options}: {refusals:?}");
    }
}

#[test]
fn zones_take_any_sizes_laws_bursts_and_shares_of_random_places() {
    let zones = |options: &str| match pattern(&format!("{options} zonesize=64k zoneskip=64k")) {
        StepPattern::Zones {
            used_bytes,
            order,
            seeks,
            ..
        } => (used_bytes >> 10, order, seeks),
        other => panic!("{options}: {other:?}"),
    };
    assert_eq!(
        zones("rw=read bsrange=4k-16k nrfiles=2 file_service_type=random"),
        (64, plan::ZoneOrder::Sequential, None)
    );
    let (_, order, seeks) = zones("rw=randread random_distribution=zipf:1.2");
    assert!(matches!(
        order,
        plan::ZoneOrder::ByLaw(plan::RandomLaw::Zipf { .. })
    ));
    assert_eq!(seeks, None);
    let (_, order, seeks) = zones("rw=randread:4 percentage_random=50");
    let seeks = seeks.expect("some go on behind the one before");
    assert_eq!(order, plan::ZoneOrder::EachOnce);
    assert_eq!((seeks.random_pct.read, seeks.following.every), (50.0, 4));
    // Both of a pair count.
    assert_eq!(zones("rw=trimwrite filename=/dev/sdx").0, 32);
    let refused = refusals("rw=read:4k zonesize=64k");
    assert!(refused.iter().any(|text| text.contains("out of the zones")));
}

#[test]
fn files_are_served_in_batches() {
    let order = stream("rw=read nrfiles=4 file_service_type=random:16").target_order;
    let expected = TargetOrder::Batches {
        operations: 16,
        is_random: true,
    };
    assert_eq!(order, expected);
}

#[test]
fn ios_go_out_and_are_seen_one_by_one_unless_batches_are_asked_for() {
    let batches = |options: &str| {
        let all = format!("rw=read ioengine=libaio iodepth=16 {options}");
        let found = stream(&all).flow.batches;
        (found.submit_most, found.reap_least, found.reap_most)
    };
    assert_eq!(batches(""), (Some(1), None, Some(1)));
    assert_eq!(batches("iodepth_batch=8"), (Some(8), None, Some(1)));
    // As many as there are.
    for all in ["iodepth_batch_submit=0", "iodepth_batch=64"] {
        assert_eq!(batches(all), (Some(16), None, Some(1)), "{all}");
    }
    let least = "iodepth_batch_complete_min=4";
    assert_eq!(batches(least), (Some(1), Some(4), Some(4)));
    let most = format!("{least} iodepth_batch_complete_max=8");
    assert_eq!(batches(&most), (Some(1), Some(4), Some(8)));
    let all = "iodepth_batch_complete_max=16";
    assert_eq!(batches(all), (Some(1), None, None));
    assert_eq!(stream("rw=read").flow.batches, plan::Batches::default());
}

#[test]
fn a_share_of_the_amount_is_bytes() {
    assert_eq!(stream("rw=read io_size=25%").stop.bytes, Some(256 << 10));
}

/// Each as fio 3.33 does it.
#[test]
fn a_share_of_the_amount_is_one_of_the_files_and_bounded_by_the_size() {
    let bytes = |options: &str| {
        let job = format!("[j]\nioengine=null\nrw=read\nbs=4k\n{options}");
        streams(&plan(&job))[0].stop.bytes
    };
    let of = |options: &str| bytes(&options.replace(' ', "\n"));
    assert_eq!(of("size=64k filesize=1m io_size=50%"), Some(64 << 10));
    assert_eq!(of("size=64k filesize=1m io_size=3%"), Some(31_457));
    assert_eq!(
        of("size=30k filesize=64k nrfiles=2 io_size=50%"),
        Some(30 << 10)
    );
    assert_eq!(of("size=1m filesize=64k io_size=50%"), Some(32 << 10));
    assert_eq!(of("size=50% filesize=1m io_size=50%"), Some(256 << 10));
}

#[test]
fn what_makes_no_sense_here_is_refused_with_a_way_out() {
    let found = refusals("profile=tiobench");
    let says = |text: &String| text.contains("--profile=NAME");
    assert!(found.iter().any(says), "{found:?}");
}

#[test]
fn commands_of_jobs_stand_around_the_run_of_their_group() {
    let text = "[global]\nsize=1m\n[a]\nexec_prerun=echo a\nnumjobs=2\n[b]\nstonewall\nexec_postrun=echo b\n";
    let plan = plan(text);
    // The files are laid out first.
    let commands = |number: u32| {
        let (before, after) = plan.steering.of_run(plan::RunId(number));
        let texts = |of: &[plan::Command]| of.iter().map(|one| one.text.clone()).collect();
        (texts(before), texts(after))
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(plan.runs.len(), 3);
    assert_eq!(commands(0), (none.clone(), none.clone()));
    assert_eq!(commands(1), (vec!["echo a".to_owned(); 2], none.clone()));
    assert_eq!(commands(2), (none, vec!["echo b".to_owned()]));
}

#[test]
fn trims_between_writes_need_a_share_and_a_count() {
    let of = |options: &str| {
        let text = format!("[a]\nrw=randwrite\nsize=1m\nverify=crc32c\n{options}\n");
        let stream = crate::fio_traps::streams(&crate::fio_traps::plan(&text)).remove(0);
        stream.data.check.unwrap().discards
    };
    let all = "trim_backlog=4\ntrim_backlog_batch=2\ntrim_verify_zero=0\n";
    for nothing in [
        all,
        "trim_percentage=10",
        "trim_percentage=0\ntrim_backlog=4",
        "trim_percentage=10\ntrim_backlog=4\ndo_verify=0",
    ] {
        assert_eq!(of(nothing), None, "{nothing}");
    }
    let discards = |pct, after, batch, reads_zeros| {
        Some(plan::Discards {
            pct,
            after,
            batch,
            reads_zeros,
        })
    };
    let asked = "trim_percentage=10\n";
    assert_eq!(of(&format!("{asked}{all}")), discards(10.0, 4, 2, false));
    let plain = format!("{asked}trim_backlog=8");
    assert_eq!(of(&plain), discards(10.0, 8, 8, true));
    let said = crate::fio_traps::read("[a]\nrw=write\nsize=1m\nverify=md5\ntrim_percentage=10\n");
    let warned = |found: &plan::Diagnostic| found.message.contains("trim_backlog");
    assert!(said.diagnostics.iter().any(warned));
}
