//! Jobs that order their own I/O, beside the installed fio: the same job has the same counts.
use crate::lab::{Ended, Lab};
use serde_json::Value;

fn words<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let common = ["--name=job", "--filename=data", "--output-format=json"];
    [&common, arguments].concat()
}

/// What a program reports of its job.
fn checked(ended: Ended, arguments: &[&str]) -> Value {
    let report = ended.json();
    // What a job bears stands in its report and is no failure of it.
    let bears = arguments
        .iter()
        .any(|one| one.starts_with("--ignore_error"));
    let is_fine = bears || report["jobs"][0]["error"] == 0;
    assert_eq!(ended.code == Some(0), is_fine, "{ended}");
    report
}

fn report(lab: &Lab, arguments: &[&str]) -> Value {
    checked(lab.fio(words(arguments)), arguments)
}

/// Ours and theirs, each over files of its own.
fn both(arguments: &[&str]) -> Option<(Value, Value)> {
    let theirs = Lab::new().reference_fio(words(arguments))?;
    let ours = report(&Lab::new(), arguments);
    Some((ours, checked(theirs, arguments)))
}

fn count(report: &Value, of: &str) -> u64 {
    report["jobs"][0][of]["total_ios"].as_u64().unwrap()
}

#[test]
fn syncs_behind_writes_are_as_many() {
    for engine in ["psync", "io_uring"] {
        for every in ["--fsync=8", "--fsync=10", "--fsync=1", "--fsync=1000"] {
            let engine = format!("--ioengine={engine}");
            let Some((ours, theirs)) = both(&[&engine, "--rw=write", "--size=1m", every]) else {
                return;
            };
            assert_eq!(count(&ours, "write"), 256);
            for of in ["write", "sync"] {
                assert_eq!(
                    count(&ours, of),
                    count(&theirs, of),
                    "{engine} {every} {of}"
                );
            }
            let latency = &ours["jobs"][0]["sync"]["lat_ns"];
            assert_eq!(latency["N"].as_u64(), Some(count(&ours, "sync")));
        }
    }
}

#[test]
fn a_sync_at_the_end_belongs_to_the_job() {
    let lab = Lab::new();
    let arguments = ["--rw=write", "--size=1m", "--end_fsync=1", "--bs=64k"];
    let ours = report(&lab, &arguments);
    assert_eq!((count(&ours, "write"), count(&ours, "sync")), (16, 1));
    let sync_ms = ours["jobs"][0]["sync"]["lat_ns"]["max"].as_u64().unwrap() / 1_000_000;
    let runtime_ms = ours["jobs"][0]["write"]["runtime"].as_u64().unwrap();
    assert!(
        runtime_ms >= sync_ms,
        "{runtime_ms} ms with {sync_ms} ms of sync"
    );
}

/// Two files of one file system, which is synced once; the installed version does not know the option.
#[test]
fn a_sync_of_the_file_system_at_the_end_belongs_to_the_job() {
    let lab = Lab::new();
    let job = ["--rw=write", "--size=2m", "--filename=other", "--bs=64k"];
    let counts = |more: &[&str]| {
        let arguments = [&job[..], more].concat();
        let ours = report(&lab, &arguments);
        assert_eq!(count(&ours, "write"), 32, "{more:?}");
        let sync_ms = ours["jobs"][0]["sync"]["lat_ns"]["max"].as_u64().unwrap() / 1_000_000;
        let runtime_ms = ours["jobs"][0]["write"]["runtime"].as_u64().unwrap();
        assert!(
            runtime_ms >= sync_ms,
            "{runtime_ms} ms with {sync_ms} ms of sync"
        );
        count(&ours, "sync")
    };
    for engine in [
        "--ioengine=psync",
        "--ioengine=io_uring",
        "--ioengine=libaio",
        "--ioengine=mmap",
    ] {
        assert_eq!(counts(&[engine]), 0, "{engine}");
        assert_eq!(counts(&[engine, "--end_syncfs=1"]), 1, "{engine}");
        assert_eq!(
            counts(&[engine, "--end_syncfs=1", "--end_fsync=1"]),
            3,
            "{engine}"
        );
    }
    // What only reads leaves nothing to sync.
    let read = ["--rw=read", "--size=1m", "--end_syncfs=1"];
    let ours = report(&lab, &read);
    assert_eq!((count(&ours, "read"), count(&ours, "sync")), (256, 0));
}

/// All I/Os of the report, and their service times together, ns.
fn served(report: &Value) -> (u64, f64) {
    let each = ["read", "write"].map(|of| {
        let latency = &report["jobs"][0][of]["lat_ns"];
        let (count, mean_ns) = (
            latency["N"].as_u64().unwrap_or(0),
            latency["mean"].as_f64().unwrap_or(0.0),
        );
        (count, count as f64 * mean_ns)
    });
    (each[0].0 + each[1].0, each[0].1 + each[1].1)
}

/// While one I/O of the file is served no other is, so that all service times fit into the time that has passed.
#[test]
fn a_locked_file_has_one_io_at_a_time() {
    let lab = Lab::new();
    let run = |more: &[&str]| {
        let job = [
            "--rw=randrw",
            "--size=4m",
            "--numjobs=4",
            "--group_reporting",
            "--norandommap",
        ];
        let arguments = [&job[..], more].concat();
        let begun = std::time::Instant::now();
        let ours = report(&lab, &arguments);
        (ours, begun.elapsed().as_nanos() as f64)
    };
    for more in [
        &["--ioengine=psync", "--direct=1"][..],
        &["--ioengine=libaio", "--iodepth=4", "--direct=1"],
        &["--ioengine=io_uring", "--iodepth=4", "--rate_iops=20000"],
        &["--ioengine=mmap"],
        // What fails gives the lock back, too.
        &[
            "--ioengine=pvsync2",
            "--nowait=1",
            "--rw=randread",
            "--ignore_error=EAGAIN",
        ],
    ] {
        let lock = ["--lockfile=exclusive", "--number_ios=256"];
        let (ours, passed_ns) = run(&[&lock[..], more].concat());
        let (count, served_ns) = served(&ours);
        let failed = ours["jobs"][0]["total_err"].as_u64().unwrap_or(0);
        assert!(count + failed > 0, "{more:?}");
        if failed == 0 {
            assert_eq!(ours["jobs"][0]["error"], 0, "{more:?}");
            assert_eq!(count, 4 * 256, "{more:?}");
        }
        assert!(
            served_ns <= passed_ns,
            "{served_ns} ns within {passed_ns} ns: {more:?}"
        );
    }
    // A limit of time ends what waits.
    let timed = [
        "--lockfile=readwrite",
        "--runtime=1",
        "--time_based",
        "--ioengine=psync",
    ];
    let (ours, _) = run(&timed);
    assert!(served(&ours).0 > 4);
    let runtime_ms = ours["jobs"][0]["write"]["runtime"].as_u64().unwrap();
    assert!((950..10_000).contains(&runtime_ms), "{runtime_ms}");
}

#[test]
fn think_time_takes_its_time() {
    for more in [
        &["--ioengine=psync"][..],
        &["--ioengine=io_uring", "--iodepth=4"],
    ] {
        let think = ["--rw=randread", "--size=1m", "--number_ios=16"];
        let pauses = ["--thinktime=20ms", "--thinktime_blocks_type=issue"];
        let Some((ours, theirs)) = both(&[&think[..], &pauses, more].concat()) else {
            return;
        };
        for report in [&ours, &theirs] {
            assert_eq!(count(report, "read"), 16);
            let runtime_ms = report["jobs"][0]["read"]["runtime"].as_u64().unwrap();
            assert!(runtime_ms >= 15 * 20, "{runtime_ms} ms");
        }
    }
}

#[test]
fn batches_are_as_large() {
    let depth = ["--ioengine=io_uring", "--iodepth=16", "--rw=randread"];
    let batches = ["--iodepth_batch=8", "--iodepth_batch_complete_min=16"];
    let Some((ours, theirs)) = both(&[&depth[..], &batches, &["--size=1m"]].concat()) else {
        return;
    };
    for report in [&ours, &theirs] {
        let job = &report["jobs"][0];
        assert_eq!(job["iodepth_submit"]["8"].as_f64(), Some(100.0), "{job:#}");
        assert_eq!(
            job["iodepth_complete"]["16"].as_f64(),
            Some(100.0),
            "{job:#}"
        );
    }
}

/// Batches are of a job, however many CPUs there are.
#[test]
fn a_batch_is_as_large_as_the_depth() {
    let depth = ["--ioengine=libaio", "--iodepth=32", "--rw=randread"];
    let batches = ["--iodepth_batch=32", "--iodepth_batch_complete_min=32"];
    let two = ["--numjobs=2", "--size=4m", "--number_ios=640"];
    let Some((ours, theirs)) = both(&[&depth[..], &batches, &two].concat()) else {
        return;
    };
    for report in [&ours, &theirs] {
        for job in report["jobs"].as_array().unwrap() {
            for calls in ["iodepth_submit", "iodepth_complete"] {
                assert_eq!(job[calls]["32"].as_f64(), Some(100.0), "{job:#}");
            }
        }
    }
}

#[test]
fn ios_go_out_and_are_seen_one_by_one() {
    for engine in ["io_uring", "libaio"] {
        let engine = format!("--ioengine={engine}");
        let job = [&engine, "--iodepth=16", "--rw=randread", "--size=1m"];
        // Only what goes out first is more.
        let batch = [&job[..], &["--iodepth_batch=16"]].concat();
        for words in [&job[..], &batch] {
            let Some((ours, theirs)) = both(words) else {
                return;
            };
            for report in [&ours, &theirs] {
                let job = &report["jobs"][0];
                for calls in ["iodepth_submit", "iodepth_complete"] {
                    let few_pct = job[calls]["4"].as_f64().unwrap();
                    assert!(few_pct > 90.0, "{words:?}: {job:#}");
                }
            }
        }
    }
}

#[test]
fn jobs_that_are_too_slow_end_with_the_same_error() {
    let read = ["--rw=randread", "--size=1m", "--runtime=20", "--time_based"];
    let slow = ["--rate_iops_min=90", "--thinktime=50ms"];
    for (more, error) in [(&["--max_latency=1us"][..], 110), (&slow, 5)] {
        let Some((ours, theirs)) = both(&[&read[..], more].concat()) else {
            return;
        };
        for report in [&ours, &theirs] {
            assert_eq!(report["jobs"][0]["error"], error, "{more:?}");
            let runtime_ms = report["jobs"][0]["read"]["runtime"].as_u64().unwrap();
            assert!(runtime_ms < 10_000, "{runtime_ms} ms");
        }
    }
}

#[test]
fn a_latency_that_is_too_high_ends_jobs_that_go_on_after_errors() {
    let read = ["--rw=randread", "--size=1m", "--runtime=20", "--time_based"];
    let tolerant = ["--max_latency=1us", "--continue_on_error=all"];
    let Some((ours, theirs)) = both(&[&read[..], &tolerant].concat()) else {
        return;
    };
    for report in [&ours, &theirs] {
        assert_eq!(report["jobs"][0]["error"], 110);
        assert_eq!(report["jobs"][0]["total_err"], 1);
        assert_eq!(count(report, "read"), 1);
    }
}

#[test]
fn options_of_the_command_line_are_listed_with_the_name() {
    let first = ["--ioengine=null", "--size=1m", "--rw=read"];
    let global = ["--name=global", "--bs=8k"];
    let other = ["--name=other", "--filename=data"];
    let Some((ours, theirs)) = both(&[&first[..], &global, &other, &first].concat()) else {
        return;
    };
    assert_eq!(ours["global options"], theirs["global options"]);
    for job in 0..2 {
        let options = &ours["jobs"][job]["job options"];
        assert_eq!(options, &theirs["jobs"][job]["job options"]);
        assert!(options["name"].is_string(), "{options}");
    }
}

#[test]
fn the_depth_that_keeps_a_latency_is_found_and_shown() {
    let read = ["--rw=read", "--size=1g", "--runtime=20", "--time_based"];
    let null = ["--ioengine=null", "--iodepth=6", "--latency_window=200ms"];
    let target = ["--latency_target=5s", "--latency_percentile=95"];
    let Some((ours, theirs)) = both(&[&read[..], &null, &target].concat()) else {
        return;
    };
    for report in [&ours, &theirs] {
        let job = &report["jobs"][0];
        assert_eq!(job["latency_depth"], 6);
        assert_eq!(job["latency_target"], 5_000_000_000_u64);
        assert_eq!(job["latency_window"], 200_000);
        assert_eq!(job["latency_percentile"], 95.0);
        // One window of the depth that was found, and nothing of the search.
        let runtime_ms = job["read"]["runtime"].as_u64().unwrap();
        assert!((200..2_000).contains(&runtime_ms), "{runtime_ms} ms");
    }
}

#[test]
fn a_latency_that_no_depth_keeps_ends_the_job_with_an_error() {
    let read = ["--rw=randread", "--size=1m", "--runtime=20", "--time_based"];
    let target = ["--latency_target=1us", "--latency_window=200ms"];
    let arguments = [&read[..], &["--ioengine=io_uring", "--iodepth=8"], &target].concat();
    let Some((ours, theirs)) = both(&arguments) else {
        return;
    };
    for report in [&ours, &theirs] {
        let job = &report["jobs"][0];
        assert_eq!(
            (&job["error"], &job["latency_depth"]),
            (&110.into(), &1.into())
        );
    }
}

#[test]
fn a_job_ends_in_its_steady_state() {
    let read = ["--rw=randread", "--size=1m", "--runtime=30", "--time_based"];
    let steady = [
        "--thinktime=5ms",
        "--ss=iops:100%",
        "--ss_dur=2",
        "--ss_ramp=1",
    ];
    let Some((ours, theirs)) = both(&[&read[..], &steady].concat()) else {
        return;
    };
    let of = |report: &Value| {
        report["jobs"][0]["steadystate"]
            .as_object()
            .unwrap()
            .clone()
    };
    let (ours_of, theirs_of) = (of(&ours), of(&theirs));
    assert!(ours_of.keys().eq(theirs_of.keys()), "{ours_of:?}");
    for key in ["ss", "duration", "attained"] {
        assert_eq!(ours_of[key], theirs_of[key], "{key}");
    }
    for report in [&ours, &theirs] {
        let data = &report["jobs"][0]["steadystate"]["data"];
        assert_eq!(data["iops"].as_array().unwrap().len(), 2);
        let runtime_ms = report["jobs"][0]["read"]["runtime"].as_u64().unwrap();
        assert!(runtime_ms < 20_000, "{runtime_ms} ms");
    }
}

#[test]
fn jobs_of_one_flow_keep_to_their_weights() {
    let read = ["--rw=randread", "--size=8m", "--runtime=1", "--time_based"];
    let heavy = [
        "--ioengine=io_uring",
        "--iodepth=4",
        "--flow=8",
        "--flow_id=1",
    ];
    let arguments = [&read[..], &heavy, &["--name=light", "--filename=data"]].concat();
    // The second has what stands in front of both, and weights of its own.
    let light = [
        "--rw=randread",
        "--size=8m",
        "--ioengine=io_uring",
        "--iodepth=4",
    ];
    let rest = ["--runtime=1", "--time_based", "--flow=2", "--flow_id=1"];
    // A thread that the host keeps from ending with the other goes on alone: only what all of a few show is a fault.
    let ratios = (0..3).map_while(|_| {
        let (ours, theirs) = both(&[&arguments[..], &light, &rest].concat())?;
        Some([ours, theirs].map(|report| {
            let of = |job: usize| report["jobs"][job]["read"]["total_ios"].as_f64().unwrap();
            of(0) / of(1)
        }))
    });
    let mut seen: Vec<[f64; 2]> = Vec::new();
    for pair in ratios {
        seen.push(pair);
        if (0..2).all(|who| seen.iter().any(|pair| (3.5..4.5).contains(&pair[who]))) {
            return;
        }
    }
    assert!(seen.is_empty(), "ours and theirs: {seen:?}");
}

#[test]
fn one_direction_of_a_mix_may_have_a_rate() {
    let mix = ["--rw=randrw", "--size=1m", "--runtime=2", "--time_based"];
    let rate = ["--ioengine=null", "--rate_iops=1000,0"];
    let Some((ours, theirs)) = both(&[&mix[..], &rate].concat()) else {
        return;
    };
    for report in [&ours, &theirs] {
        let reads = count(report, "read");
        // A host that takes the CPU away at the end leaves some of them out.
        assert!((1_000..=2_050).contains(&reads), "{reads} reads");
        assert!(count(report, "write") > 4 * reads);
    }
}

#[test]
fn a_record_is_replayed_once_whatever_else_is_asked() {
    let lab = Lab::new();
    lab.write("data", [7; 1 << 16]);
    let data = lab.path("data");
    let file = data.display();
    let mut text = format!("fio version 2 iolog\n{file} add\n{file} open\n");
    for row in 0..10 {
        text += &format!("{file} read {} 4096\n", row * 4096);
    }
    lab.write("record", text + &format!("{file} close\n"));
    let name = format!("--read_iolog={}", lab.path("record").display());
    for more in [
        &["--loops=3"][..],
        &["--time_based", "--runtime=20"],
        &["--rate_iops=1"],
    ] {
        let replay = ["--ioengine=psync", "--rw=read", "--size=1m", name.as_str()];
        let Some((ours, theirs)) = both(&[&replay[..], more].concat()) else {
            return;
        };
        for report in [&ours, &theirs] {
            let runtime_ms = report["jobs"][0]["job_runtime"].as_u64().unwrap();
            assert_eq!(count(report, "read"), 10, "{more:?}");
            assert!(runtime_ms < 5_000, "{more:?}: {runtime_ms} ms");
        }
    }
}

#[test]
fn figures_begin_behind_an_amount() {
    let lab = Lab::new();
    let run = |more: &[&str]| {
        let write = ["--rw=write", "--size=1m", "--bs=4k"];
        let arguments = [&write[..], more].concat();
        report(&lab, &arguments)
    };
    assert_eq!(count(&run(&["--ramp_size=256k"]), "write"), 192);
    // Two jobs do it together; what is in flight as they reach it may count to either side.
    let both = ["--numjobs=2", "--group_reporting", "--ramp_size=512k"];
    let counted = count(&run(&both), "write");
    assert!((380..=384).contains(&counted), "{counted}");
    // Over before: all of it is told, and a note says so.
    let small = ["--rw=write", "--size=1m", "--bs=4k", "--ramp_size=2m"];
    let ended = lab.fio(words(&small)).expect(0);
    ended.tells(&["job ended within the warm-up"]);
    assert_eq!(count(&ended.json(), "write"), 256);
}

#[test]
fn a_job_that_is_over_within_its_ramp_is_reported() {
    for more in [
        &["--rw=read", "--size=1m", "--bs=64k"][..],
        &["--rw=randread", "--size=1m", "--number_ios=40"],
        &["--rw=write", "--size=256k", "--rate_iops=640"],
        // Beside one that is warm.
        &[
            "--rw=read",
            "--size=1m",
            "--name=long",
            "--filename=data",
            "--rw=read",
            "--size=1m",
            "--time_based",
            "--runtime=1",
            "--ramp_time=0",
        ],
    ] {
        let arguments = [&["--ramp_time=3"], more].concat();
        let Some((ours, theirs)) = both(&arguments) else {
            return;
        };
        for of in ["read", "write"] {
            assert_eq!(count(&ours, of), count(&theirs, of), "{more:?} {of}");
        }
    }
    let job = ["--name=job", "--ramp_time=3", "--rw=read", "--size=1m"];
    let told = Lab::new().fio(job).expect(0);
    told.tells(&["job ended within the warm-up"]);
}

#[test]
fn no_job_waits_for_the_calls_of_another() {
    let lab = Lab::new();
    // What is read stays cached, so that a busy disk is no reason for a job to be slower than the others.
    let timed = [
        "--size=1m",
        "--invalidate=0",
        "--time_based",
        "--runtime=1",
        "--output-format=json",
    ];
    for engine in ["libaio", "io_uring"] {
        let ioengine = format!("--ioengine={engine}");
        for more in [
            &["--name=a", "--rw=randread", "--numjobs=4"][..],
            &["--name=a", "--rw=randread", "--numjobs=3", "--iodepth=2"],
            &["--name=a", "--rw=randread", "--name=b", "--rw=randwrite"],
        ] {
            let words = [&timed[..2], &timed[2..], &[&ioengine], more].concat();
            let report = lab.fio(words).expect(0).json();
            let jobs = report["jobs"].as_array().unwrap();
            let count = |job: &Value, of: &str| job[of]["total_ios"].as_u64().unwrap();
            let counts = jobs
                .iter()
                .map(|job| count(job, "read") + count(job, "write"));
            let counts: Vec<u64> = counts.collect();
            let most = counts.iter().max().unwrap();
            assert!(
                counts.len() > 1 && counts.iter().all(|count| count * 100 > *most),
                "{counts:?}"
            );
        }
    }
}
