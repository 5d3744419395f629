//! Transports compared as a paper has them: four of them, four mixes of reads and writes, three repeats each.
use super::open;
use analysis::{
    Answer, ComparedRun, Comparing, Comparison, FigureKind, Loaded, Side, Word, compare,
};
use report::comparison;

const TRANSPORTS: [(&str, f64, f64); 4] = [
    // Rate and CPU per I/O in percent of the first.
    ("tcp", 100.0, 100.0),
    ("iwarp", 125.0, 80.0),
    ("roce", 150.0, 70.0),
    // Within what chance makes of three runs.
    ("tcp again <b>&amp;", 100.5, 99.8),
];

const MIXES: [f64; 4] = [0.0, 50.0, 70.0, 100.0];

fn side(name: &str, rate_pct: f64, cpu_pct: f64) -> Side {
    let mut runs = Vec::new();
    for (mix, read_pct) in MIXES.into_iter().enumerate() {
        // As far apart as runs of one day are, and not in the same order everywhere.
        for noise in [0.99, 1.0, 1.01] {
            let noise = if mix % 2 == 0 { noise } else { 2.0 - noise };
            let mut values = [None; FigureKind::ALL.len()];
            values[FigureKind::Rate as usize] =
                Some(1000.0 * (mix + 1) as f64 * rate_pct / 100.0 * noise);
            values[FigureKind::CpuPerOperation as usize] = Some(40_000.0 * cpu_pct / 100.0 * noise);
            runs.push(ComparedRun {
                name: "ran".to_owned(),
                loops: format!("rdpct={read_pct}"),
                load: Loaded {
                    swept: vec![("read_pct".to_owned(), read_pct)],
                    operation_bytes: 4096.0,
                    read_share: read_pct / 100.0,
                    slots: Some(32),
                    ..Loaded::default()
                },
                values,
                samples: 100_000,
                doubts: Vec::new(),
                is_closed_loop: false,
                curve: None,
            });
        }
    }
    let name = name.to_owned();
    Side {
        name,
        runs,
        ..Side::default()
    }
}

fn transports() -> Vec<Comparison> {
    let sides = TRANSPORTS.map(|(name, rate_pct, cpu_pct)| side(name, rate_pct, cpu_pct));
    let others = sides[1..].iter();
    others
        .map(|other| compare(&sides[0], other, &Comparing::default()))
        .collect()
}

#[test]
fn transports_come_out_as_bars_in_percent_of_the_first() {
    let comparisons = transports();
    for (comparison, (name, rate_pct, _)) in comparisons.iter().zip(&TRANSPORTS[1..]) {
        assert_eq!(comparison.cells.len(), MIXES.len());
        for cell in &comparison.cells {
            assert_eq!(cell.runs, [3, 3], "{name}");
            let rate = cell.figure(FigureKind::Rate).unwrap();
            assert!((rate.ratio * 100.0 - rate_pct).abs() < 1e-6, "{name}");
            let interval = rate.interval.unwrap();
            assert!(interval.from < rate.ratio && rate.ratio < interval.to);
            let expected = match *rate_pct > 110.0 {
                true => Answer::Better,
                false => Answer::Same,
            };
            assert_eq!(rate.answer, expected, "{name} {}", cell.name);
        }
    }
    let text = comparison::text(&comparisons[0], 80);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(
        text.contains(
            "`iwarp` against `tcp`, 4 loads: I/O/s +25.0 % (+25.0 % to +25.0 %) over all, 4"
        ),
        "{text}"
    );
    let csv = comparison::csv(&comparisons);
    // CPU per I/O is compared where the rates are alike, and shown elsewhere.
    let cpu = csv.lines().filter(|line| line.contains(",cpu,"));
    let unfit = cpu.filter(|line| line.contains("other rates")).count();
    assert_eq!(unfit, 2 * MIXES.len(), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&comparison::json(&comparisons)).unwrap();
    let ratio = &json["comparisons"][1]["loads"][3]["figures"][0]["ratio"];
    assert!((ratio.as_f64().unwrap() - 1.5).abs() < 1e-9);
}

#[test]
fn the_page_draws_its_bars_and_takes_no_name_for_markup() {
    let mut page = Vec::new();
    comparison::page(&transports(), &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(report::html::is_page(page.as_bytes()));
    assert!(page.contains("tcp again &lt;b&gt;&amp;amp;") && !page.contains("again <b>"));
    let Some(opened) = open(&page) else { return };
    assert_eq!(opened.console(), [""; 0]);
    // Rates of all transports, and the CPU time of those that are alike.
    assert_eq!(
        opened.dom.matches("data-drawn=\"true\"").count(),
        2,
        "{}",
        opened.log
    );
    assert!(opened.dom.contains("iwarp") && opened.dom.contains("tcp (100 %)"));
}

/// Three rates, of which the second was missed.
fn rates(name: &str, missed: Option<f64>) -> Side {
    let run = |asked: f64| {
        let is_missed = missed == Some(asked);
        let mut values = [None; FigureKind::ALL.len()];
        values[FigureKind::Rate as usize] = Some(if is_missed { asked * 0.4 } else { asked });
        values[FigureKind::ResponseP99 as usize] = Some(1e6);
        ComparedRun {
            name: "rate".to_owned(),
            loops: format!("iorate={asked}"),
            load: Loaded {
                asked_per_s: Some(asked),
                operation_bytes: 4096.0,
                read_share: 1.0,
                slots: Some(32),
                ..Loaded::default()
            },
            values,
            samples: 100_000,
            doubts: if is_missed {
                vec![Word::RateMissed]
            } else {
                Vec::new()
            },
            is_closed_loop: false,
            curve: None,
        }
    };
    Side {
        name: name.to_owned(),
        runs: [1_000.0, 2_000.0, 3_000.0].map(run).into(),
        ..Side::default()
    }
}

#[test]
fn the_line_of_a_curve_ends_before_a_point_that_missed_its_rate() {
    let (base, other) = (rates("base", None), rates("other", Some(2_000.0)));
    let comparison = compare(&base, &other, &Comparing::default());
    let (page, data) = page_of(comparison);
    let held = |curve: usize| data["curves"][curve]["held"].as_u64();
    assert_eq!((held(0), held(1)), (Some(3), Some(1)), "{data}");
    let rates: Vec<f64> = serde_json::from_value(data["curves"][1]["rate"].clone()).unwrap();
    assert_eq!(rates, [1_000.0, 800.0, 3_000.0]);
    let Some(opened) = open(&page) else { return };
    assert_eq!(opened.console(), [""; 0]);
}

/// The page of a comparison, and what its charts are drawn from.
fn page_of(comparison: Comparison) -> (String, serde_json::Value) {
    let mut page = Vec::new();
    comparison::page(&[comparison], &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let json = page.split("id=\"data\">").nth(1).unwrap();
    let data: serde_json::Value =
        serde_json::from_str(json.split("</script>").next().unwrap()).unwrap();
    (page, data)
}

/// Loads whose names begin alike, four of them, whose bars stand, and two that only many letters tell apart.
#[test]
fn labels_of_bars_keep_what_differs() {
    for (count, common) in [
        (4, "FIOJOB, depth "),
        (2, "a name of many letters without an end, "),
    ] {
        let named = |name: &str, pct: f64| {
            let mut side = side(name, pct, pct);
            for run in &mut side.runs {
                let mix = run.load.swept[0].1;
                run.name = format!("{common}{mix}, on a target of some length");
                run.loops = String::new();
            }
            let is_kept = |run: &ComparedRun| MIXES[..count].contains(&run.load.swept[0].1);
            side.runs.retain(is_kept);
            side
        };
        let comparison = compare(
            &named("one", 100.0),
            &named("other", 120.0),
            &Comparing::default(),
        );
        let mut page = Vec::new();
        comparison::page(&[comparison], &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let Some(opened) = open(&page) else { return };
        assert_eq!(opened.console(), [""; 0]);
        let ticks = opened.dom.split("tick\"><text").skip(1);
        let texts = ticks.map(|text| text.split('>').nth(1).unwrap().split('<').next().unwrap());
        let labels: std::collections::BTreeSet<&str> =
            texts.filter(|text| text.contains('…')).collect();
        assert_eq!(labels.len(), count, "{labels:?}");
    }
}

/// Loads of several sizes, with three rates each.
fn families(name: &str, sizes: &[f64]) -> Side {
    let mut side = rates(name, None);
    let runs = std::mem::take(&mut side.runs);
    for bytes in sizes {
        side.runs.extend(runs.iter().cloned().map(|mut run| {
            run.load.operation_bytes = *bytes;
            run
        }));
    }
    side
}

#[test]
fn a_load_takes_two_lines_of_a_terminal_at_most_and_curves_are_of_one_family() {
    let sizes: Vec<f64> = (0..8).map(|power| 4096.0 * 2_f64.powi(power)).collect();
    let (mut base, mut other) = (families("base", &sizes), families("other", &sizes));
    for side in [&mut base, &mut other] {
        side.runs[0].name = "a name that alone is longer than the table has room for it".to_owned();
    }
    let comparison = compare(&base, &other, &Comparing::default());
    let text = comparison::text(&comparison, 80);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let from = lines
        .iter()
        .position(|line| line.starts_with("---"))
        .unwrap();
    let to = lines
        .iter()
        .position(|line| line.starts_with("(...)"))
        .unwrap();
    assert!(to - from <= 2 * comparison.cells.len() + 1, "{text}");
    let (page, data) = page_of(comparison);
    let curves = data["curves"].as_array().unwrap();
    let labels = curves
        .iter()
        .map(|curve| format!("{} {}", curve["name"], curve["family"]));
    let labels: std::collections::BTreeSet<String> = labels.collect();
    assert_eq!((curves.len(), labels.len()), (16, 16), "{labels:?}");
    // What the load fixes is folded.
    let folded = page.split("<details>").nth(1).unwrap();
    assert!(folded.contains("figures not compared") && folded.contains("the rate was asked for"));
    assert!(
        !page
            .split("<details>")
            .next()
            .unwrap()
            .contains("the rate was asked for")
    );
    let Some(opened) = open(&page) else { return };
    assert_eq!(opened.console(), [""; 0]);
}

#[test]
fn means_have_columns_where_there_are_no_percentiles() {
    let of = |mean_ns: f64| {
        let mut side = rates("a", None);
        for run in &mut side.runs {
            run.values[FigureKind::ResponseP99 as usize] = None;
            run.values[FigureKind::ServiceMean as usize] = Some(mean_ns);
            run.values[FigureKind::HostCpu as usize] = Some(0.25);
        }
        side
    };
    let comparison = compare(&of(2e6), &of(3e6), &Comparing::default());
    let text = comparison::text(&comparison, 80);
    assert!(text.contains("mean ms") && !text.contains("p99"), "{text}");
    assert!(text.contains("2.000 3.000 +50.0 %"), "{text}");
    let csv = comparison::csv(&[comparison]);
    assert!(csv.contains("host-cpu,pct,1,1,25.000000"), "{csv}");
}
