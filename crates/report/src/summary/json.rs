//! The summary for programs: what an execution comes to, and its runs.
use super::{CSV_HEADER, HostRow, Row, records};
use analysis::{Evidence, Phase, Seen, Verdict};
use serde::Serialize;
use serde_json::{Map, Value};

/// The form of the document. Members may be added to one; anything else is a new form.
const FORM: u32 = 1;

/// How the document begins.
const MARK: &str = "{\"fathom_summary\":";

/// Fields that are words, whatever they look like.
const WORDS: [&str; 4] = ["run", "loops", "longest_gap_target", "job"];

/// Fields of several words.
const LISTS: [&str; 2] = ["marks", "lower_bounds"];

#[derive(Serialize)]
struct Document<'a> {
    fathom_summary: u32,
    verdict: Option<Told>,
    backend: &'a str,
    backend_reason: &'a str,
    runs: Vec<Map<String, Value>>,
}

#[derive(Serialize)]
struct Told {
    word: &'static str,
    is_believed: bool,
    text: String,
    failure: Option<String>,
    speed: String,
    belief: String,
    next: String,
    doubts: Vec<&'static str>,
}

/// The same as [`super::csv`], with the verdict in front, and with the backend and the reason for it.
pub fn json(rows: &[Row], verdict: Option<&Verdict>, backend: (&str, &str)) -> String {
    let told = |verdict: &Verdict| Told {
        word: verdict.word.name(),
        is_believed: !verdict.word.is_doubt(),
        text: verdict.text(),
        failure: verdict.failure.clone(),
        speed: verdict.speed.clone(),
        belief: verdict.belief.clone(),
        next: verdict.next.clone(),
        doubts: verdict.doubts.iter().map(|word| word.name()).collect(),
    };
    let document = Document {
        fathom_summary: FORM,
        verdict: verdict.map(told),
        backend: backend.0,
        backend_reason: backend.1,
        runs: records(rows)
            .map(|(row, record)| run(row, record))
            .collect(),
    };
    let text = serde_json::to_string(&document).expect("names are texts");
    text + "\n"
}

/// Whether a file with this start is such a document.
pub fn is_json(head: &[u8]) -> bool {
    head.starts_with(MARK.as_bytes())
}

fn run(row: &Row, record: [String; CSV_HEADER.len()]) -> Map<String, Value> {
    let fields = CSV_HEADER.into_iter().zip(record);
    let mut members: Map<String, Value> = fields
        .map(|(name, field)| (name.to_owned(), value(name, field)))
        .collect();
    let event = |(at_s, text): (f64, &str)| serde_json::json!({"at_s": at_s, "text": text});
    members.insert("events".into(), row.events().map(event).collect());
    members.insert("is_believed".into(), (row.doubts == 0).into());
    let evidence = row.evidence.iter().map(seen);
    members.insert("evidence".into(), Value::Object(evidence.collect()));
    if !row.named.is_empty() {
        let named = row.named.iter();
        let value = |(name, field): &(String, String)| {
            let value = match name.starts_with(super::LABEL) {
                true => field.clone().into(),
                false => value(name, field.clone()),
            };
            (name.clone(), value)
        };
        let named = named.map(value);
        members.insert("named".into(), Value::Object(named.collect()));
    }
    if !row.phases.is_empty() {
        let caught_up_s = row.caught_up_ns.map(|ns| ns as f64 / 1e9);
        members.insert("caught_up_s".into(), caught_up_s.into());
        members.insert("phases".into(), row.phases.iter().map(phase).collect());
    }
    if !row.hosts.is_empty() {
        members.insert("hosts".into(), row.hosts.iter().map(host).collect());
    }
    members
}

/// A check by its name, with `good`, `bad`, or why it was not seen.
fn seen(one: &Evidence) -> (String, Value) {
    let text = match &one.seen {
        Seen::Good => "good".to_owned(),
        Seen::Bad => "bad".to_owned(),
        Seen::NotSeen(why) => format!("not seen: {why}"),
    };
    (one.check.name().to_owned(), text.into())
}

fn phase(phase: &Phase) -> Value {
    let ms = |percentile: f64| {
        let is_known = !phase.response.histogram.is_empty();
        is_known.then(|| phase.response.percentile_ns(percentile) as f64 / 1e6)
    };
    serde_json::json!({
        "phase": phase.name,
        "from_s": phase.from_ns as f64 / 1e9,
        "to_s": phase.to_ns as f64 / 1e9,
        "achieved_rate_per_s": phase.rate,
        "response_p50_ms": ms(50.0),
        "response_p99_ms": ms(99.0),
        "above_1_5_10_30_60_s": phase.above,
        "errors": phase.errors,
        "waiting": phase.backlog,
    })
}

fn host(row: &HostRow) -> Value {
    let point = &row.point;
    let ms = |percentile: f64| {
        let is_known = !point.response.histogram.is_empty();
        is_known.then(|| point.response.percentile_ns(percentile) as f64 / 1e6)
    };
    serde_json::json!({
        "host": row.name,
        "achieved_rate_per_s": point.rate,
        "throughput_mb_per_s": point.bytes_per_s / 1e6,
        "response_p50_ms": ms(50.0),
        "response_p99_ms": ms(99.0),
        "cpu_busy_pct": point.cpu_busy.map(|share| share * 100.0),
        "host_cpu_per_io_us": point.cpu_ns_per_operation.map(|ns| ns / 1e3),
        "is_slowest": row.is_slowest,
    })
}

fn value(name: &str, field: String) -> Value {
    if LISTS.contains(&name) {
        let words = field.split("; ").filter(|word| !word.is_empty());
        return words.collect();
    }
    if field.is_empty() {
        return Value::Null;
    }
    match field.parse::<serde_json::Number>() {
        Ok(number) if !WORDS.contains(&name) => number.into(),
        _ => field.into(),
    }
}
