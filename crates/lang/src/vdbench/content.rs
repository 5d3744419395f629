//! What is written: duplicates, of the job and of single storage definitions, and patterns.
use super::codes;
use super::fields::Fields;
use super::model::{RunDefinition, Storage, StorageChoice};
use super::resolve::{check_sector_multiple, conflict};
use super::sink::Sink;
use crate::Environment;
use plan::{Diagnostic, DuplicatePool, ReplacePolicy, SetCount, TargetId};

/// Every parameter that asks for duplicates.
pub(crate) const DUPLICATE_PARAMETERS: [&str; 6] = [
    "dedupratio",
    "dedupunit",
    "dedupsets",
    "deduphotsets",
    "dedupflipflop",
    "dedupacross",
];

/// Shortest pattern, and what its length is cut to a multiple of.
const PATTERN_WORD: usize = 4;

/// Sets of blocks at the beginning are at most so many blocks.
const HOT_BLOCKS_MAX: f64 = 1_048_576.0;

/// A pattern to write.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub bytes: Vec<u8>,
    /// It is repeated in a buffer of so many bytes at least.
    pub buffer_bytes: u64,
}

/// What the parameters of one place say of duplicates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Duplicates {
    ratio: Option<f64>,
    unit_bytes: Option<u64>,
    sets: Option<SetCount>,
    hot_sets: Option<Vec<(u64, u64)>>,
    replace: Option<ReplacePolicy>,
    across: Option<bool>,
    is_asked: bool,
}

/// What becomes of a duplicate that is written again.
fn replace_policy(word: &str) -> ReplacePolicy {
    match word.to_ascii_lowercase().as_bytes().first() {
        Some(b'y') => ReplacePolicy::Alternate,
        Some(b'h') => ReplacePolicy::AlternateHotOnly,
        _ => ReplacePolicy::SameContent,
    }
}

impl Duplicates {
    pub(crate) fn read(fields: &Fields, sink: &mut Sink) -> Self {
        if let Some(unit) = fields.number("dedupunit") {
            check_sector_multiple(unit, fields, "dedupunit", sink);
        }
        let replace = fields.text("dedupflipflop");
        let replace = replace.map(|word| replace_policy(&word.text));
        Self {
            ratio: fields.number("dedupratio"),
            unit_bytes: fields.number("dedupunit").map(|bytes| bytes as u64),
            sets: sets(fields, sink),
            hot_sets: hot_sets(fields, sink),
            replace,
            across: fields
                .has("dedupacross")
                .then(|| fields.is_yes(on!(GENERAL, "dedupacross"))),
            is_asked: DUPLICATE_PARAMETERS.iter().any(|name| fields.has(name)),
        }
    }

    /// What is asked of a place whose own parameters these are, `base` being those of the job.
    /// A mistake is reported where the parameters of `fields` are the ones in question.
    pub(crate) fn pool(
        &self,
        base: &Self,
        fields: &Fields,
        sink: &mut Sink,
    ) -> Option<DuplicatePool> {
        if !self.is_asked && !base.is_asked {
            return None;
        }
        let Some(unit_bytes) = self.unit_bytes.or(base.unit_bytes) else {
            if let Some(used) = DUPLICATE_PARAMETERS.iter().find(|name| fields.has(name)) {
                sink.error(
                    codes::MISSING,
                    fields.place(used),
                    format!("`{used}` without `dedupunit`"),
                    "needs the size of a duplicate block",
                    "add `dedupunit=BYTES`",
                );
            }
            return None;
        };
        let pool = DuplicatePool {
            ratio: (self.ratio.or(base.ratio)).unwrap_or(decimal!(GENERAL, "dedupratio").default),
            unit_bytes,
            sets: (self.sets.or(base.sets))
                .unwrap_or(SetCount::Percent(percent!(GENERAL, "dedupsets").default)),
            hot_sets: (self.hot_sets.clone())
                .or_else(|| base.hot_sets.clone())
                .unwrap_or_default(),
            replace: (self.replace.or(base.replace))
                .unwrap_or_else(|| replace_policy(word!(GENERAL, "dedupflipflop").default)),
            across_targets: (self.across.or(base.across))
                .unwrap_or(on!(GENERAL, "dedupacross").default),
            targets: Vec::new(),
        };
        let hot: u64 = pool.hot_sets.iter().map(|(sets, _)| sets).sum();
        if let SetCount::Count(count) = pool.sets
            && hot >= count
            && (fields.has("dedupsets") || fields.has("deduphotsets"))
        {
            sink.error(
                codes::OUT_OF_RANGE,
                fields.place("deduphotsets"),
                format!("{hot} hot sets of {count} sets"),
                "hot sets are some of the sets",
                "ask for fewer hot sets, or for more `dedupsets`",
            );
        }
        Some(pool)
    }
}

fn sets(fields: &Fields, sink: &mut Sink) -> Option<SetCount> {
    let value = fields.number("dedupsets")?;
    if value == 0.0 || value < -100.0 {
        sink.error(
            codes::OUT_OF_RANGE,
            fields.place("dedupsets"),
            "`dedupsets` is at least one set, and at most 100 %",
            "out of range",
            "write a number of sets, or a share of all blocks such as `5%`",
        );
        return None;
    }
    // A percentage is kept as a negative number.
    Some(if value < 0.0 {
        SetCount::Percent(-value)
    } else {
        SetCount::Count((value as u64).max(1))
    })
}

fn hot_sets(fields: &Fields, sink: &mut Sink) -> Option<Vec<(u64, u64)>> {
    let field = fields.get("deduphotsets")?;
    let numbers: Vec<f64> = field.numbers.iter().map(|number| number.value).collect();
    let pairs = numbers.chunks(2);
    let blocks: f64 = pairs.map(|pair| pair.iter().product::<f64>()).sum();
    let is_whole = |number: &f64| *number >= 1.0;
    if numbers.len() % 2 == 1 || !numbers.iter().all(is_whole) || blocks > HOT_BLOCKS_MAX {
        sink.error(
            codes::OUT_OF_RANGE,
            field.span,
            "`deduphotsets` is pairs of sets and blocks of each, up to 1 Mi blocks together",
            "not such pairs",
            "write (sets,blocks,…), such as `deduphotsets=(12,8)`",
        );
        return None;
    }
    let pair = |pair: &[f64]| (pair[0] as u64, pair[1] as u64);
    Some(numbers.chunks_exact(2).map(pair).collect())
}

/// The pattern of the job, read.
pub(crate) fn pattern(
    fields: &Fields,
    environment: &Environment<'_>,
    sink: &mut Sink,
) -> Option<Pattern> {
    let others = ["compratio", "compression"].iter();
    for other in others.chain(&DUPLICATE_PARAMETERS) {
        if fields.has("pattern") && fields.has(other) {
            conflict(fields, "pattern", other, sink);
        }
    }
    let word = fields.text("pattern")?;
    let mut bytes = match environment.files.read_data(&word.text) {
        Ok(bytes) => bytes,
        Err(reason) => {
            sink.error(
                codes::FILE,
                word.span,
                format!("pattern `{}` cannot be read: {reason}", word.text),
                "file of a pattern",
                "give the path of a file of at least 4 bytes",
            );
            return None;
        }
    };
    if bytes.len() < PATTERN_WORD {
        sink.error(
            codes::OUT_OF_RANGE,
            word.span,
            format!("pattern `{}` has fewer than 4 bytes", word.text),
            "too short",
            "give a file of at least 4 bytes",
        );
        return None;
    }
    let buffer_bytes = (fields.number_of(decimal!(GENERAL, "pattern_buffer")) as u64).max(1) << 20;
    let used = (bytes.len() / PATTERN_WORD * PATTERN_WORD).min(buffer_bytes as usize);
    if used < bytes.len() {
        let message = format!(
            "of pattern `{}`, the first {used} bytes are written",
            word.text
        );
        let note = Diagnostic::note(codes::TRANSLATED, message).at(word.span, "longer than that");
        sink.push(note.with_help("its length counts in multiples of 4, up to `pattern_buffer`"));
        bytes.truncate(used);
    }
    Some(Pattern {
        bytes,
        buffer_bytes,
    })
}

/// The pools of a job, and the one of each storage definition: those that some run uses and that
/// ask for the same share one.
pub(crate) fn pools(
    storages: &[Storage],
    definitions: &[RunDefinition],
) -> (Vec<DuplicatePool>, Vec<Option<usize>>) {
    let used = definitions.iter().flat_map(used_storages).flatten();
    let mut is_used = vec![false; storages.len()];
    used.for_each(|index| is_used[index] = true);
    let mut pools: Vec<DuplicatePool> = Vec::new();
    let mut pool_of = vec![None; storages.len()];
    for (index, storage) in storages.iter().enumerate() {
        let Some(asked) = storage.duplicates.as_ref().filter(|_| is_used[index]) else {
            continue;
        };
        let is_same = |pool: &DuplicatePool| {
            DuplicatePool {
                targets: Vec::new(),
                ..pool.clone()
            } == *asked
        };
        let place = pools.iter().position(is_same).unwrap_or_else(|| {
            pools.push(asked.clone());
            pools.len() - 1
        });
        pools[place].targets.push(TargetId::at(index));
        pool_of[index] = Some(place);
    }
    (pools, pool_of)
}

/// The storage that each choice of a definition uses.
fn used_storages(definition: &RunDefinition) -> Vec<Vec<usize>> {
    match &definition.storage {
        StorageChoice::OfWorkloads => {
            let lists = definition
                .workloads
                .iter()
                .map(|workload| &workload.storages);
            vec![lists.flatten().flatten().copied().collect()]
        }
        StorageChoice::These(list) => vec![list.clone()],
        StorageChoice::Repeated(lists) => lists.iter().map(|(_, list)| list.clone()).collect(),
    }
}

/// A ratio holds for the storage definitions of a pool as a whole, and blocks have one size.
pub(crate) fn check_duplicates(
    definitions: &[RunDefinition],
    storages: &[Storage],
    sink: &mut Sink,
) {
    let (pools, pool_of) = pools(storages, definitions);
    check_units(storages, sink);
    for definition in definitions {
        let lists = used_storages(definition);
        let is_split = |list: &Vec<usize>| {
            pools.iter().enumerate().any(|(number, pool)| {
                let members = |index: &&usize| pool_of[**index] == Some(number);
                let mut found: Vec<&usize> = list.iter().filter(members).collect();
                found.sort_unstable();
                found.dedup();
                !found.is_empty() && found.len() < pool.targets.len()
            })
        };
        if lists.iter().any(is_split) {
            sink.error(
                codes::CONFLICT,
                definition.fields.name.span,
                "a run that uses some of the storage definitions that hold duplicates together",
                "the ratio holds over all of them",
                "use all of them in each run, or give them `dedup…` parameters of their own",
            );
        }
    }
}

/// One size of blocks for the whole job.
fn check_units(storages: &[Storage], sink: &mut Sink) {
    let is_own = |storage: &&Storage| storage.fields.has("dedupunit");
    let unit_of = |storage: &Storage| storage.duplicates.as_ref().map(|pool| pool.unit_bytes);
    // Those without a size of their own have that of the job.
    let common = storages
        .iter()
        .filter(|storage| !is_own(storage))
        .find_map(unit_of);
    let Some(first) = common.or_else(|| storages.iter().find_map(unit_of)) else {
        return;
    };
    let differs = |storage: &&Storage| unit_of(storage).is_some_and(|unit| unit != first);
    for storage in storages.iter().filter(is_own).filter(differs) {
        sink.error(
            codes::CONFLICT,
            storage.fields.place("dedupunit"),
            format!("`dedupunit` differs from the {first} bytes of other storage definitions"),
            "another size of blocks",
            "use one size for all",
        );
    }
}
