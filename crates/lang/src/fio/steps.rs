//! Patterns of places beyond plainly sequential and plainly random: gaps, bursts, zones, and pairs of
//! trim and write.
use super::jobs::Job;
use super::number::{Base, quantity};
use super::places::{Seeks, directions, seeks, used};
use super::support::{push_once, refused};
use super::value::Size;
use plan::{
    Diagnostic, Direction, Following, OperationMix, PerDirection, RandomLaw, SequentialEnd,
    StepPattern, Steps, TransferSizes, ZoneOrder,
};

/// What the pattern of a job depends on.
pub(crate) struct Shape<'a> {
    pub is_random: bool,
    pub operations: &'a OperationMix,
    pub law: &'a RandomLaw,
    pub transfer: &'a PerDirection<TransferSizes>,
    pub following: Following,
    pub random_pct: PerDirection<f64>,
    pub smallest: u64,
    pub files: u64,
    /// Of each file, where that is not what it has.
    pub file_bytes: Option<u64>,
    pub base: Base,
}

impl Shape<'_> {
    /// Whether places follow from the number of the I/O alone.
    fn is_even(&self) -> bool {
        let fixed = TransferSizes::Fixed(self.smallest);
        used(self.operations, self.transfer).all(|sizes| *sizes == fixed)
            && self.following.sizes.is_none()
            && (!self.is_random || seeks(self.operations, &self.random_pct) == Seeks::Always)
    }

    fn seeks(&self) -> plan::Seeks {
        plan::Seeks {
            random_pct: self.random_pct,
            following: self.following.clone(),
        }
    }

    /// The mean size of an I/O of a direction, in bytes.
    pub(super) fn mean(&self, direction: Direction) -> f64 {
        let random_pct = match self.is_random {
            true => *self.random_pct.of(direction),
            false => 0.0,
        };
        self.following.mean(self.transfer.of(direction), random_pct)
    }
}

/// How I/Os that take no new place follow the one before, with sizes of their own where they have them.
pub(crate) fn following(job: &Job, base: Base, sizes: Option<TransferSizes>) -> Following {
    Following {
        every: burst(job, base).unwrap_or(1),
        repeats: job.word_of(word!("rw_sequencer")) == "identical",
        sizes,
    }
}

/// How many I/Os belong to a random place, where that is more than one.
pub(super) fn burst(job: &Job, base: Base) -> Option<u64> {
    let is_random = job.word_of(word!("rw")).starts_with("rand");
    let count = number(job, base).filter(|_| is_random)?;
    u64::try_from(count).ok().filter(|count| *count > 1)
}

/// The steps of a job; `None` where laws of places tell all.
pub(crate) fn steps(job: &Job, shape: &Shape<'_>, blockers: &mut Vec<Diagnostic>) -> Option<Steps> {
    let trims_first = job.word_of(word!("rw")).ends_with("trimwrite");
    let pattern = match zones(job, shape, trims_first) {
        Some(zones) => Some(zones),
        None if shape.is_random => bursts(job, shape, trims_first),
        None => number(job, shape.base)
            .filter(|bytes| *bytes != 0)
            .map(|bytes| StepPattern::Gap {
                bytes,
                target_bytes: shape.file_bytes,
            }),
    };
    let pattern = match pattern {
        Some(pattern) => pattern,
        None if !trims_first => return None,
        None => StepPattern::gap(0),
    };
    misfits(job, shape, &pattern, blockers);
    Some(Steps {
        pattern,
        trims_first,
    })
}

/// The number behind the direction.
fn number(job: &Job, base: Base) -> Option<i64> {
    let text = job
        .suffix_of("rw")
        .map(str::trim)
        .filter(|text| !text.is_empty())?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let number = quantity(digits, base).ok()?.value;
    i64::try_from(number).ok().map(|number| sign * number)
}

/// Bursts whose places follow from the number of the I/O; others are those of a law.
fn bursts(job: &Job, shape: &Shape<'_>, trims_first: bool) -> Option<StepPattern> {
    let is_counted = shape.following.every > 1
        && directions(shape.operations) == 1
        && shape.is_even()
        && serves_in_turn(job, shape);
    let follows = seeks(shape.operations, &shape.random_pct) != Seeks::Always
        || shape.following.sizes.is_some();
    (trims_first || is_counted).then(|| StepPattern::Bursts {
        operations: shape.following.every,
        repeats: shape.following.repeats,
        law: shape.law.clone(),
        seeks: follows.then(|| shape.seeks()),
    })
}

fn zones(job: &Job, shape: &Shape<'_>, trims_first: bool) -> Option<StepPattern> {
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
        RandomLaw::Uniform => ZoneOrder::Random,
        law => ZoneOrder::ByLaw(law.clone()),
    };
    let follows =
        shape.following.every > 1 || seeks(shape.operations, &shape.random_pct) != Seeks::Always;
    let seeks = (shape.is_random && follows).then(|| shape.seeks());
    Some(StepPattern::Zones {
        // A trim and a write count both.
        used_bytes: if trims_first {
            used_bytes.div_ceil(2)
        } else {
            used_bytes
        },
        zone_bytes: bytes("zonerange").unwrap_or(used_bytes),
        skip_bytes: match job.get(size!("zoneskip")) {
            Size::Bytes(bytes) => bytes,
            Size::Percent(_) => 0,
        },
        order,
        seeks,
    })
}

/// What a pattern cannot be combined with.
fn misfits(job: &Job, shape: &Shape<'_>, pattern: &StepPattern, blockers: &mut Vec<Diagnostic>) {
    let has_gap = !shape.is_random && number(job, shape.base).is_some_and(|bytes| bytes != 0);
    if has_gap && matches!(pattern, StepPattern::Zones { .. }) {
        let what = "a number of bytes after `rw` with zones";
        let reason = "the gaps would lead out of the zones";
        let help = "use `zonesize` and `zoneskip` alone: a zone of one I/O with a skip is a gap";
        push_once(blockers, refused(what, reason, help, job.place_of("rw")));
    }
}

/// Whether one file is served, or each in its turn.
fn serves_in_turn(job: &Job, shape: &Shape<'_>) -> bool {
    let order = job.text("file_service_type");
    let is_plain = order.is_none_or(|text| text.trim() == "roundrobin");
    shape.files <= 1 || (is_plain && job.number("openfiles") != Some(1))
}
