//! Known answers of comparisons.
use super::*;

pub(super) fn run(name: &str, load: Loaded, values: &[(FigureKind, f64)]) -> ComparedRun {
    let mut all = [None; FigureKind::ALL.len()];
    for (kind, value) in values {
        all[kind.place()] = Some(*value);
    }
    ComparedRun {
        name: name.to_owned(),
        loops: String::new(),
        load,
        values: all,
        samples: 1_000_000,
        doubts: Vec::new(),
        is_closed_loop: false,
        curve: None,
    }
}

pub(super) fn load(asked_per_s: Option<f64>) -> Loaded {
    Loaded {
        asked_per_s,
        operation_bytes: 4096.0,
        read_share: 0.7,
        slots: Some(32),
        ..Loaded::default()
    }
}

pub(super) fn side(name: &str, runs: Vec<ComparedRun>) -> Side {
    let name = name.to_owned();
    Side {
        name,
        runs,
        ..Side::default()
    }
}

fn rates(name: &str, rates: &[f64]) -> Side {
    let of = |rate: &f64| run("r", load(None), &[(FigureKind::Rate, *rate)]);
    side(name, rates.iter().map(of).collect())
}

fn answer_of(base: &[f64], other: &[f64]) -> ComparedFigure {
    let compared = compare(&rates("a", base), &rates("b", other), &Comparing::default());
    compared.cells[0].figures[0].clone()
}

#[test]
fn one_run_a_side_gives_a_ratio_and_no_interval() {
    let figure = answer_of(&[1000.0], &[1100.0]);
    assert!((figure.ratio - 1.1).abs() < 1e-12);
    assert_eq!((figure.interval, figure.answer), (None, Answer::TooFew));
}

#[test]
fn repeats_give_an_interval_as_a_table_of_t_has_it() {
    // Logs -d, 0, d on both sides: variance d², standard error d √(2/3), 4 degrees of freedom, t 2.776445.
    let d: f64 = 0.01;
    let around = |middle: f64| [-d, 0.0, d].map(|off| middle * off.exp());
    let figure = answer_of(&around(1000.0), &around(1100.0));
    let half_width = 2.776_445 * d * (2.0_f64 / 3.0).sqrt();
    let interval = figure.interval.unwrap();
    assert!((interval.from.ln() - (1.1_f64.ln() - half_width)).abs() < 1e-6);
    assert!((interval.to.ln() - (1.1_f64.ln() + half_width)).abs() < 1e-6);
    assert_eq!(figure.answer, Answer::Better);
    let worse = answer_of(&around(1100.0), &around(1000.0));
    assert_eq!(worse.answer, Answer::Worse);
    assert_eq!(
        answer_of(&around(1000.0), &around(1000.0)).answer,
        Answer::Same
    );
    // One per cent is seen where runs scatter by a thousandth, and is within the margin.
    let near = |middle: f64| [-1e-3, 0.0, 1e-3].map(|off: f64| middle * off.exp());
    assert_eq!(
        answer_of(&near(1000.0), &near(1010.0)).answer,
        Answer::DiffersLess
    );
    // Half-width 0.2267 against ln 1.05: 3 × (0.2267 ÷ 0.04879)² = 64.8.
    let far = |middle: f64| [-0.1, 0.0, 0.1].map(|off: f64| middle * off.exp());
    assert_eq!(
        answer_of(&far(1000.0), &far(1010.0)).answer,
        Answer::CannotTell { repeats: 65 }
    );
}

#[test]
fn runs_far_off_are_told_and_left_out_beside() {
    let near = |middle: f64| [-2e-3, -1e-3, 0.0, 1e-3, 2e-3].map(|off: f64| middle * off.exp());
    let mut slow = near(1100.0).to_vec();
    assert_eq!(answer_of(&near(1000.0), &slow).without, None);
    slow.push(300.0);
    let figure = answer_of(&near(1000.0), &slow);
    assert!(matches!(figure.answer, Answer::CannotTell { .. }));
    let without = figure.without.unwrap();
    assert_eq!((without.runs, without.answer), (1, Answer::Better));
    assert!((without.ratio - 1.1).abs() < 1e-9);
    let words = figure.words();
    assert!(
        words.contains("; without 1 run far off the others +10.0 %"),
        "{words}"
    );
    // Of four nobody can say which one is.
    assert_eq!(answer_of(&near(1000.0), &slow[2..]).without, None);
}

#[test]
fn loads_are_summed_up_with_repeats_as_units() {
    // A day that falls on all loads of a repeat: logs -d, 0, d of each.
    let d: f64 = 0.01;
    let side = |name: &str, factor: f64| {
        let mut runs = Vec::new();
        for (asked, p50) in [(100.0, 1e6), (200.0, 3e6)] {
            for off in [-d, 0.0, d] {
                let values = [(FigureKind::ResponseP50, p50 * factor * off.exp())];
                runs.push(run(&format!("r{asked}"), load(Some(asked)), &values));
            }
        }
        super::tests::side(name, runs)
    };
    let compared = compare(&side("a", 1.0), &side("b", 1.1), &Comparing::default());
    let [figure] = &*compared.overall else {
        panic!("{:?}", compared.overall)
    };
    let half_width = 2.776_445 * d * (2.0_f64 / 3.0).sqrt();
    assert!((figure.ratio - 1.1).abs() < 1e-9);
    let interval = figure.interval.unwrap();
    assert!((interval.from.ln() - (1.1_f64.ln() - half_width)).abs() < 1e-6);
    assert!(
        compared
            .sentence()
            .contains("response p50 +10.0 % (+7.5 % to +12.5 %) over all, 2 worse"),
        "{}",
        compared.sentence()
    );
}

#[test]
fn runs_are_matched_by_load_and_never_by_place() {
    let named = |name: &str, asked: f64| {
        let values = [(FigureKind::ResponseP99, asked)];
        run(name, load(Some(asked)), &values)
    };
    let base = side(
        "a",
        vec![named("r1", 100.0), named("r2", 200.0), named("x", 50.0)],
    );
    // The second has other names, another order, and one rate that nobody else has.
    let other = side(
        "b",
        vec![named("q2", 201.0), named("q1", 100.0), named("q3", 300.0)],
    );
    let compared = compare(&base, &other, &Comparing::default());
    let names: Vec<&str> = compared.cells.iter().map(|cell| &*cell.name).collect();
    assert_eq!(names, ["r1 / q1, 100/s", "r2 / q2, 200/s"]);
    assert_eq!(compared.only_base, ["x, 50/s"]);
    assert_eq!(compared.only_other, ["q3, 300/s"]);
    // With the same names and other loads only a user who insists has them compared.
    let other = side("b", vec![named("r1", 300.0)]);
    let strict = compare(&base, &other, &Comparing::default());
    assert!(strict.cells.is_empty());
    let forced = Comparing {
        ignores_load: true,
        ..Comparing::default()
    };
    assert_eq!(compare(&base, &other, &forced).cells.len(), 1);
}

#[test]
fn what_a_sweep_varied_tells_loads_apart() {
    let swept = |values: &[(&str, f64)]| Loaded {
        swept: values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
        ..load(None)
    };
    let eight = swept(&[("threads", 8.0), ("hit_area_bytes", 1e6)]);
    assert!(eight.is_like(&swept(&[("threads", 8.0)])));
    assert!(eight.is_like(&load(None)));
    assert!(!eight.is_like(&swept(&[("hit_area_bytes", 2e6)])));
}

#[test]
fn two_runs_with_one_load_and_other_names_are_not_mixed_up() {
    let named = |name: &str, rate: f64| run(name, load(None), &[(FigureKind::Rate, rate)]);
    let base = side(
        "a",
        vec![named("random", 100.0), named("sequential", 900.0)],
    );
    let other = side("b", vec![named("sequential", 990.0), named("other", 1.0)]);
    let compared = compare(&base, &other, &Comparing::default());
    assert_eq!(compared.cells[0].name, "random / other");
    assert_eq!(compared.cells[1].name, "sequential");
    assert!((compared.cells[1].figures[0].ratio - 1.1).abs() < 1e-12);
}

#[test]
fn what_the_load_fixes_is_shown_and_not_compared() {
    let all = |rate: f64, asked: Option<f64>| {
        let values = [
            (FigureKind::Rate, rate),
            (FigureKind::ResponseP99, 1e6),
            (FigureKind::CpuPerOperation, 5e3),
        ];
        side("a", vec![run("r", load(asked), &values)])
    };
    let unfit = |base: &Side, other: &Side| {
        let compared = compare(base, other, &Comparing::default());
        let figures = compared.cells[0].figures.iter();
        figures.map(|figure| figure.unfit).collect::<Vec<_>>()
    };
    let fixed = all(100.0, Some(100.0));
    assert_eq!(unfit(&fixed, &fixed), [Some(Unfit::RateAsked), None, None]);
    let [slow, fast] = [all(100.0, None), all(120.0, None)];
    let flat_out = Some(Unfit::FlatOut);
    assert_eq!(unfit(&slow, &slow), [None, flat_out, None]);
    assert_eq!(
        unfit(&slow, &fast),
        [None, flat_out, Some(Unfit::OtherRates)]
    );
    let mut few = all(100.0, Some(100.0));
    few.runs[0].samples = 900;
    assert_eq!(unfit(&fixed, &few)[1], Some(Unfit::FewSamples));
}

#[test]
fn a_rate_that_a_side_missed_is_compared_and_leads() {
    let of = |rate: f64| {
        let values = [(FigureKind::Rate, rate), (FigureKind::ResponseP99, 1e6)];
        side("a", vec![run("r", load(Some(5_000.0)), &values)])
    };
    let [held, nearly, missed] = [5_010.0, 4_905.0, 2_995.0].map(of);
    let rate_of = |base: &Side, other: &Side| {
        let compared = compare(base, other, &Comparing::default());
        let unfit = compared.cells[0].figure(FigureKind::Rate).unwrap().unfit;
        (unfit, compared.sentence())
    };
    assert_eq!(rate_of(&held, &nearly).0, Some(Unfit::RateAsked));
    for (base, other) in [(&held, &missed), (&missed, &held), (&missed, &missed)] {
        assert_eq!(rate_of(base, other).0, None);
    }
    let (_, sentence) = rate_of(&held, &missed);
    assert!(sentence.contains(": I/O/s -40.2 %; "), "{sentence}");
    assert_eq!(bar("rate<-5%", &held, &missed), (1, 0));
    assert_eq!(bar("rate<-5%", &held, &nearly), (0, 0));
}

fn bar(text: &str, base: &Side, other: &Side) -> (usize, usize) {
    let compared = compare(base, other, &Comparing::default());
    let beyond = compared.beyond(Bar::parse(text).unwrap());
    (beyond.cells.len(), beyond.unsure.len())
}

#[test]
fn a_bar_is_passed_where_that_is_sure() {
    // A run a side says what it says.
    let [base, other] = [rates("a", &[1000.0]), rates("b", &[940.0])];
    assert_eq!(bar("rate<-5%", &base, &other), (1, 0));
    assert_eq!(bar("rate<-7%", &base, &other), (0, 0));
    assert_eq!(bar("rate>+5%", &base, &other), (0, 0));
    assert_eq!(bar("rate>0%", &other, &base), (1, 0));
    assert_eq!(bar("rate<0%", &other, &base), (0, 0));
    // Of several the bound counts: 6 % less, where each side scatters by a thousandth, and where by a tenth.
    let near = |middle: f64| [-1e-3, 0.0, 1e-3].map(|off: f64| middle * off.exp());
    let far = |middle: f64| [-0.1, 0.0, 0.1].map(|off: f64| middle * off.exp());
    let [base, other] = [rates("a", &near(1000.0)), rates("b", &near(940.0))];
    assert_eq!(bar("rate<-5%", &base, &other), (1, 0));
    assert_eq!(bar("rate<-7%", &base, &other), (0, 0));
    let [base, other] = [rates("a", &far(1000.0)), rates("b", &far(940.0))];
    assert_eq!(bar("rate<-5%", &base, &other), (0, 1));
    for wrong in [
        "p99",
        "p98>1%",
        "rate>5",
        "rate>-5%",
        "rate<5%",
        "rate<-100%",
        "rate>x%",
    ] {
        assert!(Bar::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Bar::parse("p98>1%").unwrap_err().contains("p99.9"));
}

#[test]
fn a_sentence_says_what_changed() {
    let [base, other] = [rates("a", &[1000.0]), rates("b", &[1100.0])];
    let sentence =
        |base: &Side, other: &Side| compare(base, other, &Comparing::default()).sentence();
    assert_eq!(
        sentence(&base, &other),
        "`b` against `a`, 1 load: I/O/s +10.0 %; of one or two runs a side no interval can be given."
    );
    // The averages of a healthy array and of one that rebuilds, measured with two threads.
    let threads = |name: &str, rate: f64, latency_ms: f64| {
        let values = [
            (FigureKind::Rate, rate),
            (FigureKind::ResponseMean, latency_ms * 1e6),
        ];
        let mut run = run("r", load(None), &values);
        run.is_closed_loop = true;
        side(name, vec![run])
    };
    let [healthy, rebuild] = [threads("a", 4367.64, 0.454), threads("b", 2946.38, 0.673)];
    let text = sentence(&healthy, &rebuild);
    assert!(text.contains("closed loop: latency +48.2 %"), "{text}");
    assert!(
        text.contains("the rate followed") && !text.contains("I/O/s"),
        "{text}"
    );
    let near = |middle: f64| [-1e-3, 0.0, 1e-3].map(|off: f64| middle * off.exp());
    let text = sentence(&rates("a", &near(1000.0)), &rates("b", &near(1100.0)));
    assert!(
        text.contains("I/O/s +10.0 % (+9.8 % to +10.2 %), better."),
        "{text}"
    );
}

#[test]
fn conditions_that_differ_are_told_and_what_nobody_knows_is_not() {
    let of = |kernel: &str, firmware: &str, scheduler: &str, memory: u64| {
        let mut started = crate::testing::started();
        started.host.kernel = kernel.to_owned();
        started.host.memory_bytes = memory;
        let mut target = measure::ExecutionTarget::default();
        target.identity.firmware = firmware.to_owned();
        target.identity.scheduler = scheduler.to_owned();
        started.targets = vec![target];
        started
    };
    let conditions = |all: &[measure::ExecutionStarted]| {
        let mut conditions = Conditions::default();
        all.iter().for_each(|started| conditions.add(started));
        conditions
    };
    let old = conditions(&[of("6.1", "A", "none", 1 << 30)]);
    assert_eq!(old.differences(&old), []);
    let new = conditions(&[
        of("6.1", "", "mq-deadline", 1 << 30),
        of("6.8", "", "none", 1 << 30),
    ]);
    let told: Vec<(&str, String, String)> = old
        .differences(&new)
        .into_iter()
        .map(|one| (one.name, one.base, one.other))
        .collect();
    assert_eq!(
        told,
        [
            ("kernel", "-".to_owned(), "6.8".to_owned()),
            ("scheduler", "-".to_owned(), "mq-deadline".to_owned()),
        ]
    );
}

#[test]
fn what_did_not_follow_is_not_said_to() {
    let of = |rate: f64, mean: f64| {
        let values = [(FigureKind::Rate, rate), (FigureKind::ResponseMean, mean)];
        let mut one = run("r", load(None), &values);
        one.is_closed_loop = true;
        side("s", vec![one])
    };
    let sentence =
        |other: Side| compare(&of(1000.0, 1e6), &other, &Comparing::default()).sentence();
    assert!(sentence(of(800.0, 1.25e6)).contains("the rate followed"));
    assert!(!sentence(of(1030.0, 1.03e6)).contains("the rate followed"));
    // Twice the slots: more of both.
    let both = sentence(of(1690.0, 1.19e6));
    assert!(
        !both.contains("the rate followed") && both.contains("I/O/s +69.0 %"),
        "{both}"
    );
}

#[test]
fn sides_in_turn_are_compared_whatever_they_vary_and_it_is_told() {
    let of = |name: &str, slots: u32| {
        let load = Loaded {
            slots: Some(slots),
            ..load(None)
        };
        side(name, vec![run("r", load, &[(FigureKind::Rate, 100.0)])])
    };
    let (one, two) = (of("a", 8), of("b", 16));
    assert!(compare(&one, &two, &Comparing::default()).cells.is_empty());
    let rules = Comparing {
        is_paired: true,
        ..Comparing::default()
    };
    let compared = compare(&one, &two, &rules);
    assert_eq!(compared.cells.len(), 1);
    let told = &compared.differences[0];
    let told = (told.name, &*told.base, &*told.other);
    assert_eq!(told, ("queue depth", "8", "16"));
}

#[test]
fn few_operations_leave_the_share_of_reads_open() {
    let of = |read_share: f64, operations: u64| Loaded {
        read_share,
        operations,
        ..load(Some(50.0))
    };
    assert!(of(0.64, 100).is_like(&of(0.78, 100)));
    assert!(!of(0.64, 100_000).is_like(&of(0.78, 100_000)));
    assert!(!of(0.5, 100).is_like(&of(1.0, 100)));
}

/// A file of fio for each depth and count of jobs, all under one name.
fn of_jobs(depths: &[u32], jobs: &[u32]) -> Vec<ComparedRun> {
    let pairs = depths
        .iter()
        .flat_map(|depth| jobs.iter().map(move |jobs| (*depth, *jobs)));
    let of = |(depth, jobs): (u32, u32)| {
        let load = Loaded {
            slots: Some(depth * jobs),
            job_depth: Some(depth.to_string()),
            jobs: Some(jobs),
            engine: Some("libaio".to_owned()),
            read_share: 1.0,
            ..load(None)
        };
        run(
            "FIOJOB",
            load,
            &[(FigureKind::Rate, f64::from(depth * jobs))],
        )
    };
    pairs.map(of).collect()
}

#[test]
fn loads_of_one_name_are_named_by_what_differs() {
    let all = [1, 2, 4, 8, 16, 32, 64];
    let runs = of_jobs(&all, &all);
    let compared = compare(
        &side("a", runs.clone()),
        &side("b", runs),
        &Comparing::default(),
    );
    let names: std::collections::BTreeSet<&str> =
        compared.cells.iter().map(|cell| &*cell.name).collect();
    assert_eq!((compared.cells.len(), names.len()), (49, 49));
    assert_eq!(compared.cells[1].name, "depth 1, 2 jobs");
    assert_eq!(compared.common, "FIOJOB, flat out, 4 KiB, reads, libaio");
    assert!(compared.cells.iter().all(|cell| cell.runs == [1, 1]));
    // One of depth 64 is not 64 of depth 1.
    let [deep, wide] = [of_jobs(&[64], &[1]), of_jobs(&[1], &[64])];
    let compared = compare(&side("a", deep), &side("b", wide), &Comparing::default());
    assert!(compared.cells.is_empty());
    assert_eq!(compared.only_base, ["depth 64, 1 job"]);
    // Nor is it where loads are not looked at: those of one side stay apart.
    let all = of_jobs(&[1, 64], &[1]);
    let forced = Comparing {
        ignores_load: true,
        ..Comparing::default()
    };
    let compared = compare(&side("a", all.clone()), &side("b", all), &forced);
    assert_eq!(compared.cells.len(), 2);
}

#[test]
fn options_tell_repeats_of_one_side_apart() {
    let with = |option: &str, value: &str| {
        let mut run = of_jobs(&[1], &[1]).remove(0);
        run.load.options = vec![(option.to_owned(), value.to_owned())];
        run
    };
    let both = || vec![with("fsync", "1"), with("fsync", "32")];
    let compared = compare(
        &side("a", both()),
        &side("b", both()),
        &Comparing::default(),
    );
    let names: Vec<&str> = compared.cells.iter().map(|cell| &*cell.name).collect();
    assert_eq!(names, ["fsync=1", "fsync=32"]);
    // What only the sides differ in is a condition.
    let of = |value: &str| side("a", vec![with("bssplit", value)]);
    let compared = compare(&of("4k/50"), &of("4k/60"), &Comparing::default());
    assert_eq!(compared.cells.len(), 1);
}

#[test]
fn chance_of_arrivals_is_no_missed_rate() {
    let of = |rate: f64, is_random_in_time: bool| {
        let load = Loaded {
            is_random_in_time,
            operations: (rate * 20.0) as u64,
            ..load(Some(20.0))
        };
        side("a", vec![run("r", load, &[(FigureKind::Rate, rate)])])
    };
    // 400 arrivals at random scatter by 5 %: 18.4/s is none that was missed, 12/s is.
    assert_eq!(bar("rate<-5%", &of(20.2, true), &of(18.4, true)), (0, 0));
    assert_eq!(bar("rate<-5%", &of(20.2, true), &of(12.0, true)), (1, 0));
    assert_eq!(bar("rate<-5%", &of(20.2, false), &of(18.4, false)), (1, 0));
}

#[test]
fn a_rate_follows_where_latency_changed_and_no_load_is_without_a_name() {
    let of = |rate: f64, mean: f64| {
        let values = [(FigureKind::Rate, rate), (FigureKind::ServiceMean, mean)];
        let mut one = run("r", load(None), &values);
        one.is_closed_loop = true;
        side("s", vec![one])
    };
    let sentence =
        |rate: f64, mean: f64| compare(&of(1000.0, 1e6), &of(rate, mean), &Comparing::default());
    assert!(
        sentence(1200.0, 0.83e6)
            .sentence()
            .contains("the rate followed")
    );
    for (rate, mean) in [(1100.0, 1e6), (1000.0, 1e6), (1100.0, 0.9999e6)] {
        let text = sentence(rate, mean).sentence();
        assert!(!text.contains("the rate followed"), "{text}");
    }
    // A bar on means is about the only mean that there is.
    let mut asked = [of(100.0, 1e6), of(100.0, 2e6)];
    for side in &mut asked {
        side.runs[0].load.asked_per_s = Some(100.0);
    }
    assert_eq!(bar("mean>+10%", &asked[0], &asked[1]), (1, 0));
    let with = |options: &[(&str, &str)]| {
        let mut run = of_jobs(&[1], &[1]).remove(0);
        let options = options.iter();
        run.load.options = options
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        run
    };
    let both = || {
        vec![
            with(&[]),
            with(&[("random_distribution", "zipf:1.2")]),
            with(&[("filename", "b")]),
        ]
    };
    let compared = compare(
        &side("a", both()),
        &side("b", both()),
        &Comparing::default(),
    );
    let names: Vec<&str> = compared.cells.iter().map(|cell| &*cell.name).collect();
    assert_eq!(
        names,
        [
            "no filename, no random_distribution",
            "random_distribution=zipf:1.2",
            "filename=b"
        ]
    );
}
