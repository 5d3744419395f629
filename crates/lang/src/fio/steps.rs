//! Patterns of places beyond plainly sequential and plainly random: gaps, bursts, zones, and pairs of
//! trim and write.
use super::jobs::Job;
use super::number::{Base, quantity};
use super::support::{not_built, push_once};
use super::value::Size;
use plan::{
    Diagnostic, PerDirection, RandomLaw, SequentialEnd, StepPattern, Steps, TransferSizes,
    ZoneOrder,
};

/// What the pattern of a job depends on.
pub(crate) struct Shape<'a> {
    pub is_random: bool,
    pub law: &'a RandomLaw,
    pub transfer: &'a PerDirection<TransferSizes>,
    pub smallest: u64,
    pub files: u64,
    pub is_paced: bool,
    pub base: Base,
}

/// The steps of a job; `None` where its places need none.
pub(crate) fn steps(job: &Job, shape: &Shape<'_>, blockers: &mut Vec<Diagnostic>) -> Option<Steps> {
    let (word, suffix) = job.word("rw").unwrap_or(("read", None));
    let trims_first = word.ends_with("trimwrite");
    let number = suffix.map(str::trim).filter(|text| !text.is_empty());
    let number = number.and_then(|text| signed(text, shape.base));
    let pattern = match zones(job, shape) {
        Some(zones) => Some(zones),
        None if shape.is_random => number.and_then(|count| bursts(job, shape, count)),
        None => number
            .filter(|bytes| *bytes != 0)
            .map(|bytes| StepPattern::Gap { bytes }),
    };
    let pattern = match pattern {
        Some(pattern) => pattern,
        None if !trims_first => return None,
        None if shape.is_random => StepPattern::Bursts {
            operations: 1,
            repeats: false,
            law: shape.law.clone(),
        },
        None => StepPattern::Gap { bytes: 0 },
    };
    misfits(job, shape, &pattern, trims_first, blockers);
    Some(Steps {
        pattern,
        trims_first,
    })
}

fn signed(text: &str, base: Base) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let number = quantity(digits, base).ok()?.value;
    i64::try_from(number).ok().map(|number| sign * number)
}

fn bursts(job: &Job, shape: &Shape<'_>, count: i64) -> Option<StepPattern> {
    let operations = u64::try_from(count).ok().filter(|count| *count > 1)?;
    let sequencer = job.word("rw_sequencer").map(|(word, _)| word);
    Some(StepPattern::Bursts {
        operations,
        repeats: sequencer == Some("identical"),
        law: shape.law.clone(),
    })
}

fn zones(job: &Job, shape: &Shape<'_>) -> Option<StepPattern> {
    let bytes = |name: &str| match job.size(name) {
        Some(Size::Bytes(bytes)) if bytes > 0 => Some(bytes),
        _ => None,
    };
    let is_strided = match job.word("zonemode").map(|(word, _)| word) {
        Some(word) => word == "strided",
        None => job.given("zonesize").is_some(),
    };
    let used_bytes = bytes("zonesize").filter(|_| is_strided)?;
    let order = match shape.law {
        _ if !shape.is_random => ZoneOrder::Sequential,
        RandomLaw::OncePerBlock(SequentialEnd::Wrap) => ZoneOrder::EachOnce,
        _ => ZoneOrder::Random,
    };
    Some(StepPattern::Zones {
        used_bytes,
        zone_bytes: bytes("zonerange").unwrap_or(used_bytes),
        skip_bytes: bytes("zoneskip").unwrap_or(0),
        order,
    })
}

/// What a pattern cannot be combined with yet.
fn misfits(
    job: &Job,
    shape: &Shape<'_>,
    pattern: &StepPattern,
    trims_first: bool,
    blockers: &mut Vec<Diagnostic>,
) {
    let is_zoned = matches!(pattern, StepPattern::Zones { .. });
    let place = job.place_of(if is_zoned { "zonesize" } else { "rw" });
    let mut refuse = |what: &str| push_once(blockers, not_built(what, place));
    let sizes = [
        &shape.transfer.read,
        &shape.transfer.write,
        &shape.transfer.trim,
    ];
    let is_fixed = sizes
        .iter()
        .all(|sizes| **sizes == TransferSizes::Fixed(shape.smallest));
    // Pairs at random places have one size each, whatever it is.
    let is_one_by_one = matches!(pattern, StepPattern::Bursts { operations: 1, .. });
    let may_differ = trims_first && is_one_by_one;
    if !is_fixed && !may_differ {
        refuse("a pattern of places with several sizes of I/O");
    }
    if trims_first && shape.is_paced {
        refuse("a pattern of trims and writes at a rate");
    }
    if is_zoned && shape.is_random && !is_even(shape.law) {
        refuse("`zonemode=strided` with `random_distribution`");
    }
    if let StepPattern::Gap { bytes } = pattern
        && *bytes < 0
        && bytes.unsigned_abs() <= shape.smallest
    {
        refuse("a step back that is no longer than the I/O");
    }
    let in_turn = job
        .text("file_service_type")
        .is_none_or(|text| text.trim() == "roundrobin");
    if shape.files > 1 && !in_turn {
        refuse("a pattern of places with files in another order than `roundrobin`");
    }
}

fn is_even(law: &RandomLaw) -> bool {
    matches!(law, RandomLaw::Uniform | RandomLaw::OncePerBlock(_))
}
