//! What is told where service times alone would tell another story than response times.
use crate::summary;
use analysis::{Gap, Reach, response_gap};
use measure::RunTotals;
use plan::{Nanos, RunKind};

/// A line on the run whose gap is the widest; empty where no run has one.
pub fn text(all: &[RunTotals]) -> String {
    let measured = all
        .iter()
        .filter(|totals| totals.started.kind == RunKind::Measure);
    let gaps: Vec<_> = measured
        .clone()
        .filter_map(|totals| {
            Some((
                response_gap(totals, Reach::Device)?,
                summary::run_name(&totals.started),
            ))
        })
        .collect();
    // A run of which no service time is known is wider than any.
    let ratio = |gap: &Gap| gap.ratio().unwrap_or(f64::INFINITY);
    let widest = gaps
        .iter()
        .max_by(|(one, _), (other, _)| ratio(one).total_cmp(&ratio(other)));
    let Some((gap, name)) = widest else {
        return String::new();
    };
    let [response, service] = gap_words(gap);
    let others = match gaps.len() {
        1 => String::new(),
        count => format!("; also in {} more of {} runs", count - 1, measured.count()),
    };
    format!(
        "arrivals waited: in `{name}` response p99 is {response}, service p99 is {service}{others}\n"
    )
}

/// Response and service p99: what is an age is a lower bound, what is not known is no zero.
pub(crate) fn gap_words(gap: &Gap) -> [String; 2] {
    let bounded = |is_bound, ns| summary::bounded(is_bound, Nanos(ns).to_string());
    let service = gap.service_ns_p99.map_or("-".to_owned(), |service_ns| {
        bounded(gap.is_service_bound, service_ns)
    });
    [bounded(gap.is_response_bound, gap.response_ns_p99), service]
}
