//! The rules that are changed, and to what. A text stands once in its file; the expression in «» is what changes.
use super::Place;

const fn place(file: &'static str, text: &'static str, changes: &'static [&'static str]) -> Place {
    Place {
        file,
        text,
        changes,
    }
}

const CURVE: &str = "crates/analysis/src/curve.rs";
const GAP: &str = "crates/analysis/src/gap.rs";
const STEADY: &str = "crates/analysis/src/steady.rs";
const DECISION: &str = "crates/analysis/src/decision.rs";
const SETTLED: &str = "crates/analysis/src/settled.rs";
const SHARES: &str = "crates/analysis/src/shares.rs";
const SPREAD: &str = "crates/analysis/src/spread.rs";
const SERIES: &str = "crates/analysis/src/series.rs";

pub(super) const PLACES: &[Place] = &[
    place(
        CURVE,
        "let is_exhausted = «totals.started.is_open_loop && share > EXHAUSTED_SHARE»;",
        &[
            "totals.started.is_open_loop && share < EXHAUSTED_SHARE",
            "totals.started.is_open_loop && share > EXHAUSTED_SHARE * 20.0",
            "totals.started.is_open_loop && share > EXHAUSTED_SHARE / 100.0",
            "share > EXHAUSTED_SHARE",
            "false",
        ],
    ),
    place(
        CURVE,
        "achieved_per_s: «totals.rate()»,",
        &[
            "0.0",
            "started.asked_rate.unwrap_or(totals.rate())",
            "totals.rate() * 2.0",
        ],
    ),
    place(
        CURVE,
        "bytes_per_s: «totals.bytes_per_second()»,",
        &["totals.rate()"],
    ),
    place(
        CURVE,
        "operations: «totals.operations()»,\n        response,",
        &["totals.errors()"],
    ),
    place(CURVE, "service_ns_mean: «service.mean_ns()»,", &["0.0"]),
    place(
        CURVE,
        "service_ns_p99: «service.percentile_ns(99.0)»,",
        &["service.percentile_ns(50.0)", "response.p99"],
    ),
    place(
        CURVE,
        "has_service: «!service.histogram.is_empty()»,",
        &["true"],
    ),
    place(
        CURVE,
        "response_bound_ns: «totals.response_bound_ns()»,",
        &["None"],
    ),
    place(
        CURVE,
        "service_bound_ns: «totals.service_bound_ns()»,",
        &["None"],
    ),
    place(
        CURVE,
        "slots_busy: «totals.slots_busy()»,",
        &["Some(0.0)", "Some(f64::from(totals.slots()))"],
    ),
    place(
        CURVE,
        "late: late(scheduled, «scheduled.completed_service_ns_mean()»),",
        &["0.0"],
    ),
    place(
        CURVE,
        "is_generator_bound: «is_machine_taken(totals)\n            || (!exhausted.is_exhausted && is_own_lateness(scheduled, response_ns_p99))»,",
        &[
            "false",
            "is_machine_taken(totals)",
            "!exhausted.is_exhausted && is_own_lateness(scheduled, response_ns_p99)",
            "is_machine_taken(totals) || is_own_lateness(scheduled, response_ns_p99)",
        ],
    ),
    place(
        CURVE,
        "host_cpu_ns_per_operation: «totals.host_cpu_ns_per_operation()»,",
        &["totals.fathom_cpu_ns_per_operation()", "None"],
    ),
    place(
        CURVE,
        "fathom_cpu_ns_per_operation: «totals.fathom_cpu_ns_per_operation()»,",
        &["totals.host_cpu_ns_per_operation()"],
    ),
    place(
        CURVE,
        ".filter(|(_, point)| point.response.samples >= SAMPLES_FOR_P99 && «point.shows_the_storage()»)",
        &["true", "point.schedule.is_some()", "!point.is_missed()"],
    ),
    place(
        CURVE,
        "if «by_rate.len() < KNEE_POINTS_LEAST» {",
        &["by_rate.len() < 2", "by_rate.len() < KNEE_POINTS_LEAST * 2"],
    ),
    place(
        CURVE,
        "point.achieved_per_s, «point.response.p99 as f64»))",
        &["point.response.p50 as f64", "point.service_ns_p99 as f64"],
    ),
    place(
        CURVE,
        "bend: «(rate - first.1) / width - (latency - first.2) / height»,",
        &[
            "(latency - first.2) / height - (rate - first.1) / width",
            "(rate - first.1) / width",
        ],
    ),
    place(
        CURVE,
        ".filter(|knee| «knee.bend >= KNEE_BEND_LEAST»)",
        &["knee.bend < KNEE_BEND_LEAST", "true"],
    ),
    place(
        CURVE,
        ".max_by(|a, b| «a.bend.total_cmp(&b.bend)»)",
        &["b.bend.total_cmp(&a.bend)"],
    ),
    place(
        CURVE,
        ".filter(|(_, point)| «!point.is_missed()»)",
        &["true"],
    ),
    place(
        CURVE,
        ".filter(|(_, point)| «point.response.p99 <= limit_ns»)",
        &[
            "point.response.p99 >= limit_ns",
            "point.response.p50 <= limit_ns",
        ],
    ),
    place(
        CURVE,
        ".max_by(|a, b| «a.1.achieved_per_s.total_cmp(&b.1.achieved_per_s)»)",
        &["b.1.achieved_per_s.total_cmp(&a.1.achieved_per_s)"],
    ),
    place(
        CURVE,
        "«self.schedule.is_some_and(|check| check.is_missed)»",
        &[
            "false",
            "self.schedule.is_some_and(|check| !check.is_missed)",
        ],
    ),
    place(CURVE, "&& «!self.exhausted.is_exhausted»\n", &["true"]),
    place(CURVE, "&& «!self.is_stalled»\n", &["true"]),
    place(CURVE, "&& «!self.is_generator_bound»\n", &["true"]),
    place(
        CURVE,
        "p50: «figures.percentile_ns(50.0)»,",
        &["figures.percentile_ns(99.0)", "0"],
    ),
    place(
        CURVE,
        "p99: «figures.percentile_ns(99.0)»,",
        &[
            "figures.percentile_ns(50.0)",
            "figures.percentile_ns(99.9)",
            "figures.max_ns",
        ],
    ),
    place(
        CURVE,
        "p99_9: «figures.percentile_ns(99.9)»,",
        &["figures.percentile_ns(99.0)"],
    ),
    place(
        CURVE,
        "p90: «figures.percentile_ns(90.0)»,",
        &["figures.percentile_ns(99.0)"],
    ),
    place(CURVE, "max: «figures.max_ns»,", &["0"]),
    place(CURVE, "samples: «figures.histogram.count()»,", &["0"]),
    place(
        CURVE,
        "let completed = «totals.operations() + totals.errors()»;",
        &[
            "totals.operations()",
            "totals.streams.iter().map(|stream| stream.submitted).sum()",
        ],
    ),
    place(
        CURVE,
        "let in_flight = «f64::from(totals.slots())»;",
        &["0.0", "f64::from(totals.slots()) * 4.0"],
    ),
    place(
        CURVE,
        "let allowance = «allowance.max(MISSED_SHARE * scheduled as f64)»;",
        &[
            "allowance.max(MISSED_SHARE * 10.0 * scheduled as f64)",
            "allowance",
        ],
    ),
    place(
        CURVE,
        "is_missed: «shortfall > allowance»,",
        &[
            "shortfall < allowance",
            "shortfall >= 0.0",
            "shortfall > allowance * 4.0",
        ],
    ),
    place(
        CURVE,
        "let chance = if scatters { «3.0 * expected.sqrt()» } else { 0.0 };",
        &["0.0"],
    ),
    place(
        CURVE,
        "let expected = asked * «totals.length_ns as f64 / 1e9»;",
        &["totals.length_ns as f64 / 1e6"],
    ),
    place(
        CURVE,
        ".is_some_and(|cpu| «cpu.steal_ns as f64 > cpu.total_ns() as f64 * STEAL_SHARE»);",
        &[
            "cpu.steal_ns as f64 > cpu.total_ns() as f64 * STEAL_SHARE * 4.0",
            "cpu.steal_ns > 0",
            "cpu.user_ns as f64 > cpu.total_ns() as f64 * STEAL_SHARE",
        ],
    ),
    place(
        CURVE,
        "stolen || «throttled_ns as f64 > totals.length_ns as f64 * THROTTLED_SHARE»",
        &[
            "false",
            "throttled_ns as f64 > totals.length_ns as f64 * 0.5",
        ],
    ),
    place(
        CURVE,
        "&& «lateness_ns_p99 as f64 > response_ns_p99 as f64 * OWN_LATENESS_SHARE»",
        &[
            "lateness_ns_p99 as f64 > response_ns_p99 as f64 * OWN_LATENESS_SHARE * 2.0",
            "lateness_ns_p99 > 0",
        ],
    ),
    place(
        CURVE,
        "share: «(count - in_time) as f64 / count as f64»,",
        &["in_time as f64 / count as f64", "0.0"],
    ),
    place(
        CURVE,
        "let limit_ns = «LATE_NS_LEAST.max((service_ns_mean * LATE_SERVICE_SHARE) as u64)»;",
        &[
            "LATE_NS_LEAST",
            "(service_ns_mean * LATE_SERVICE_SHARE) as u64",
            "LATE_NS_LEAST / 2",
        ],
    ),
    place(
        GAP,
        "let is_gap = «gap_ns as f64 > service_ns_p99 as f64 * GAP_SHARE\n        && gap_ns > wake_ups_ns(&lateness, had_slots(totals, gap_ns))»;",
        &[
            "gap_ns > wake_ups_ns(&lateness, had_slots(totals, gap_ns))",
            "gap_ns as f64 > service_ns_p99 as f64 * GAP_SHARE",
            "gap_ns as f64 > service_ns_p99 as f64 * 10.0 && gap_ns > wake_ups_ns(&lateness, had_slots(totals, gap_ns))",
            "false",
        ],
    ),
    place(
        GAP,
        "service_ns_p99: «(!service.histogram.is_empty()).then_some(service_ns_p99)»,",
        &["Some(service_ns_p99)", "Some(response_ns_p99)"],
    ),
    place(
        GAP,
        "is_service_bound: «is_beyond(service_ns_p99, columns.service_bound_ns())»,",
        &["false", "true"],
    ),
    place(
        GAP,
        "is_response_bound: «is_beyond(response_ns_p99, totals.response_bound_ns())»,",
        &["false", "true"],
    ),
    place(GAP, "unsent: «backlog.sum()»,", &["0"]),
    place(
        GAP,
        "let late_ns = «lateness.percentile_ns(99.0).saturating_mul(2)»;",
        &["0"],
    ),
    place(
        GAP,
        "let usual_ns = «lateness.percentile_ns(50.0).saturating_mul(GAP_WAKE_UPS)»;",
        &[
            "0",
            "lateness.percentile_ns(99.0).saturating_mul(GAP_WAKE_UPS)",
        ],
    ),
    place(GAP, "«wake_ups_ns.min(WAKE_UPS_NS_MAX)»", &["wake_ups_ns"]),
    place(
        GAP,
        "let enough_ns = «gap_ns.min(totals.length_ns / 2)»;",
        &["gap_ns", "totals.length_ns / 2"],
    ),
    place(
        GAP,
        "worst_pool(totals).is_none_or(|(_, exhausted_ns)| «exhausted_ns < enough_ns»)",
        &["exhausted_ns > enough_ns", "true", "false"],
    ),
    place(
        GAP,
        ".max_by_key(|(_, exhausted_ns)| «*exhausted_ns»)",
        &["u64::MAX - *exhausted_ns"],
    ),
    place(
        GAP,
        "let longest_ns = «service.max_ns.max(totals.oldest_in_flight_ns)»;",
        &["service.max_ns", "totals.oldest_in_flight_ns"],
    ),
    place(
        GAP,
        "is_bound: «longest_ns > service.max_ns\n            || totals.service_bound_ns().is_some_and(|at| longest_ns >= at)»,",
        &["false", "true"],
    ),
    place(
        GAP,
        "None if «lateness_ns_p99 >= gap_ns / 2» =>",
        &["false", "true"],
    ),
    place(
        GAP,
        "exhausted_share: «totals.exhausted_share().unwrap_or(0.0)»,",
        &["0.0"],
    ),
    place(
        GAP,
        "let hangs = «out.map(|one| one.service_ns).max() == Some(longest_ns)»;",
        &["false"],
    ),
    place(
        GAP,
        "let are_few = «is_beyond(99.0) && held_ns >= gap_ns / 2»;",
        &["false", "is_beyond(99.0)", "held_ns >= gap_ns / 2"],
    ),
    place(
        GAP,
        "let held_slots = «is_beyond(50.0) && held_ns >= totals.pools[pool].exhausted_ns / 2»;",
        &[
            "false",
            "is_beyond(50.0)",
            "held_ns >= totals.pools[pool].exhausted_ns / 2",
        ],
    ),
    place(
        GAP,
        "«longest_ns >= gap_ns / 2 && is_long»",
        &["is_long", "false"],
    ),
    place(
        GAP,
        ".filter(|(from_ns, _)| «*from_ns >= least_ns»)",
        &["true"],
    ),
    place(GAP, "«long_ns / u64::from(slots)»", &["long_ns"]),
    place(
        STEADY,
        "is_waiting: «engine.in_flight > 0 || backlog > 0»,",
        &["engine.in_flight > 0", "true", "false"],
    ),
    place(
        STEADY,
        ".filter(|figure| «!figure.key.operation.is_sync()»)",
        &["true"],
    ),
    place(
        STEADY,
        "&& «length_ns(span) as f64 > least_ns»;",
        &["true", "length_ns(span) as f64 > least_ns * 5.0"],
    ),
    place(STEADY, "first: «span[0].number»,", &["1"]),
    place(STEADY, "intervals: «span.len() as u32»,", &["0"]),
    place(
        STEADY,
        "length_ns: «length_ns(span)»,",
        &["span[0].length_ns"],
    ),
    place(
        STEADY,
        ".max_by_key(|stall| «(stall.length_ns, std::cmp::Reverse(stall.first))»)",
        &["(0, std::cmp::Reverse(stall.first))"],
    ),
    place(
        STEADY,
        "«STALL_NS_LEAST.max(STALL_GAPS * explained_ns)»",
        &[
            "STALL_NS_LEAST",
            "STALL_GAPS * explained_ns",
            "STALL_NS_LEAST.max(STALL_GAPS / 10.0 * explained_ns)",
        ],
    ),
    place(
        STEADY,
        "if «rates.len() < DRIFT_INTERVALS_LEAST» || mean <= 0.0 {",
        &["rates.len() < 3", "rates.len() < DRIFT_INTERVALS_LEAST * 3"],
    ),
    place(
        STEADY,
        "(true, _) => «last / first - 1.0»,",
        &[
            "1.0 - last / first",
            "first / last - 1.0",
            "(last - first) / mean",
            "last - first",
        ],
    ),
    place(
        STEADY,
        "let third = «rates.len() / 3»;",
        &["rates.len() / 2"],
    ),
    place(
        STEADY,
        "is_drifting: «errors.abs() >= errors_least(rates.len())\n            && change_share.abs() >= DRIFT_SHARE_LEAST\n            && change_share.signum() == errors.signum()»,",
        &[
            "false",
            "errors.abs() >= errors_least(rates.len())",
            "change_share.abs() >= DRIFT_SHARE_LEAST",
            "errors.abs() >= errors_least(rates.len()) && change_share.abs() >= DRIFT_SHARE_LEAST * 10.0",
            "errors.abs() >= errors_least(rates.len()) && change_share.abs() >= DRIFT_SHARE_LEAST && change_share.signum() != errors.signum()",
        ],
    ),
    place(
        STEADY,
        "let (z, freedom) = («DRIFT_NORMAL_QUANTILE», intervals as f64 - 2.0);",
        &[
            "DRIFT_NORMAL_QUANTILE / 2.0",
            "DRIFT_NORMAL_QUANTILE * 10.0",
        ],
    ),
    place(
        STEADY,
        "«facts.operations == 0 && facts.is_waiting»",
        &["facts.operations == 0", "facts.is_waiting"],
    ),
    place(
        DECISION,
        "let exact = «u128::from(base) * u128::from(pct.max(0.0) as u64) / 100»;",
        &[
            "u128::from(base)",
            "u128::from(base) * u128::from(pct.max(0.0) as u64) / 50",
        ],
    ),
    place(
        DECISION,
        "let step = «if exact > 1_000 { 100 } else { 10 }»;",
        &["if exact < 1_000 { 100 } else { 10 }", "1"],
    ),
    place(
        DECISION,
        "«exact.div_ceil(step).max(1).saturating_mul(step) as f64»",
        &[
            "(exact / step).max(1).saturating_mul(step) as f64",
            "exact.div_ceil(step).saturating_mul(step) as f64",
        ],
    ),
    place(DECISION, "if «pct.fract() != 0.0» {", &["false"]),
    place(
        DECISION,
        "«(last.service_mean_ns > limit_ns)».then(|| {",
        &["(last.service_mean_ns < limit_ns)", "false"],
    ),
    place(
        DECISION,
        "rate: «totals.rate()»,",
        &["0.0", "totals.started.asked_rate.unwrap_or(totals.rate())"],
    ),
    place(
        DECISION,
        "if «totals.started.kind == RunKind::Prepare» {",
        &["false"],
    ),
    place(
        DECISION,
        "«count as f64 * 100.0 / operations as f64»",
        &["count as f64 / operations as f64"],
    ),
    place(
        DECISION,
        ".filter(|_| «uncontrolled»)",
        &["!uncontrolled", "true"],
    ),
    place(
        DECISION,
        "service_mean_ns: «totals.completed_service_ns_mean()»,",
        &["totals.service(None).max_ns as f64"],
    ),
    place(
        SETTLED,
        "if «interval.phase != IntervalPhase::Measured» || self.is_settled {",
        &["false"],
    ),
    place(
        SETTLED,
        "if «interval.start_ns < begun_ns + self.rule.after.0» {",
        &["false"],
    ),
    place(
        SETTLED,
        "if «is_mine(figure.key.stream.index()) && !figure.key.operation.is_sync()» {",
        &[
            "is_mine(figure.key.stream.index())",
            "!figure.key.operation.is_sync()",
        ],
    ),
    place(
        SETTLED,
        "let per_second = |count: u64| «count as f64 * 1e9 / self.length_ns as f64»;",
        &["count as f64"],
    ),
    place(
        SETTLED,
        "self.is_settled = «is_full && self.value().abs() < self.rule.limit»;",
        &[
            "is_full",
            "self.value().abs() < self.rule.limit",
            "is_full && self.value() < self.rule.limit",
            "is_full && self.value().abs() > self.rule.limit",
        ],
    ),
    place(
        SETTLED,
        "let deviations = values.iter().map(|value| «(value - mean).abs()»);",
        &["value - mean", "mean - value"],
    ),
    place(
        SETTLED,
        "SteadyCriterion::Slope => «slope(&values, mean)»,",
        &["slope(&values, mean).abs()", "0.0"],
    ),
    place(SETTLED, "Amount::Bytes => «sample.1»,", &["sample.0"]),
    place(
        SETTLED,
        "true if mean > 0.0 => «value * 100.0 / mean»,",
        &["value / mean"],
    ),
    place(
        SETTLED,
        "bandwidth_mean: mean(«|sample| sample.1»),",
        &["|sample| sample.0"],
    ),
    place(
        SETTLED,
        "rate_mean: mean(«|sample| sample.0»),",
        &["|sample| sample.1"],
    ),
    place(
        SHARES,
        "(Some(rate), true) => «rate * seconds * 100.0 / all»,",
        &["*share_pct"],
    ),
    place(
        SHARES,
        "(None, true) => «share_pct * rest / all»,",
        &["*share_pct"],
    ),
    place(
        SHARES,
        "None => (completed, «(completed - paced * seconds).max(0.0)»),",
        &["completed", "completed - paced * seconds"],
    ),
    place(
        SHARES,
        "let observed_pct = «count as f64 * 100.0 / completed.max(1.0)»;",
        &["asked[number]"],
    ),
    place(SHARES, "share.asked_pct += «asked[number]»;", &["0.0"]),
    place(SHARES, "share.observed_pct += «observed_pct»;", &["0.0"]),
    place(
        SPREAD,
        "let median = «(values[(count - 1) / 2] + values[count / 2]) / 2.0»;",
        &[
            "values[count / 2]",
            "values.iter().sum::<f64>() / count as f64",
            "least",
        ],
    ),
    place(
        SPREAD,
        "(squares / «(count - 1) as f64»).sqrt()",
        &["count as f64"],
    ),
    place(
        SPREAD,
        "let (least, most) = «(*values.first()?, *values.last()?)»;",
        &["(*values.last()?, *values.first()?)"],
    ),
    place(
        SERIES,
        "&& «size_gap <= SIZE_TOLERANCE * sizes[0].max(sizes[1])»",
        &["true"],
    ),
    place(
        SERIES,
        "&& «read_gap <= READ_SHARE_TOLERANCE + chance»",
        &["true", "read_gap <= READ_SHARE_TOLERANCE"],
    ),
    place(
        SERIES,
        "first.slots == run.slots && «first.is_same_work(run)»",
        &["true"],
    ),
    place(
        SERIES,
        "if «!has_rate || run.kind != RunKind::Measure» {",
        &["!has_rate", "run.kind != RunKind::Measure"],
    ),
    place(
        SERIES,
        "|| run.kind != RunKind::Measure || «run.operations == 0» {",
        &["false"],
    ),
    place(
        SERIES,
        "part.sort_by_key(|place| «runs[*place].slots»);",
        &["0"],
    ),
    place(
        SERIES,
        "title: «common_name(runs, &part)»,",
        &["runs[part[0]].name.clone()"],
    ),
];
