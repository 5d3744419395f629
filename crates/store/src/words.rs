//! The words that stand for the cases of an enumeration in the tables.
use measure::{FinishReason, IntervalPhase, SpanLevel};
use plan::{ArrivalLaw, CacheMode, RunKind, Severity};

pub(crate) fn run_kind(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Measure => "measure",
        RunKind::Prepare => "prepare",
    }
}

pub(crate) fn run_kind_of(word: &str) -> Option<RunKind> {
    [RunKind::Measure, RunKind::Prepare]
        .into_iter()
        .find(|kind| run_kind(*kind) == word)
}

pub(crate) fn law(law: ArrivalLaw) -> &'static str {
    match law {
        ArrivalLaw::Exponential => "exponential",
        ArrivalLaw::Uniform => "uniform",
        ArrivalLaw::Deterministic => "deterministic",
        ArrivalLaw::Spike => "spike",
    }
}

pub(crate) fn law_of(word: &str) -> Option<ArrivalLaw> {
    let laws = [
        ArrivalLaw::Exponential,
        ArrivalLaw::Uniform,
        ArrivalLaw::Deterministic,
        ArrivalLaw::Spike,
    ];
    laws.into_iter().find(|one| law(*one) == word)
}

pub(crate) fn cache_mode(mode: CacheMode) -> &'static str {
    match mode {
        CacheMode::Direct => "direct",
        CacheMode::WriteThrough => "write_through",
        CacheMode::WriteBack => "write_back",
    }
}

pub(crate) fn cache_mode_of(word: &str) -> Option<CacheMode> {
    [
        CacheMode::Direct,
        CacheMode::WriteThrough,
        CacheMode::WriteBack,
    ]
    .into_iter()
    .find(|one| cache_mode(*one) == word)
}

pub(crate) fn phase(phase: IntervalPhase) -> &'static str {
    match phase {
        IntervalPhase::Warmup => "warmup",
        IntervalPhase::Measured => "measured",
    }
}

pub(crate) fn phase_of(word: &str) -> Option<IntervalPhase> {
    [IntervalPhase::Warmup, IntervalPhase::Measured]
        .into_iter()
        .find(|one| phase(*one) == word)
}

pub(crate) fn span_level(level: SpanLevel) -> &'static str {
    match level {
        SpanLevel::Minute => "minute",
        SpanLevel::Quarter => "quarter",
        SpanLevel::Run => "run",
    }
}

pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

pub(crate) fn severity_of(word: &str) -> Option<Severity> {
    [Severity::Note, Severity::Warning, Severity::Error]
        .into_iter()
        .find(|one| severity(*one) == word)
}

/// The word and the message, where there is one.
pub(crate) fn reason(reason: &FinishReason) -> (&'static str, Option<&str>) {
    match reason {
        FinishReason::Complete => ("complete", None),
        FinishReason::ReachedTotal => ("reached_total", None),
        FinishReason::SearchEnded { message } => ("search_ended", Some(message)),
        FinishReason::TooManyErrors => ("too_many_errors", None),
        FinishReason::StoppedByUser => ("stopped_by_user", None),
        FinishReason::Failed { message } => ("failed", Some(message)),
    }
}

pub(crate) fn reason_of(word: &str, message: Option<String>) -> Option<FinishReason> {
    let message = message.unwrap_or_default();
    let candidates = [
        FinishReason::Complete,
        FinishReason::ReachedTotal,
        FinishReason::TooManyErrors,
        FinishReason::StoppedByUser,
        FinishReason::SearchEnded {
            message: message.clone(),
        },
        FinishReason::Failed { message },
    ];
    candidates.into_iter().find(|one| reason(one).0 == word)
}
