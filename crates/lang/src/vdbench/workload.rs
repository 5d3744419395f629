//! Workload definitions: sizes, mixes, seeks, shares.
use super::codes;
use super::declare::Section;
use super::definitions::{Definition, Field};
use super::fields::{Fields, with_defaults};
use super::model::{General, Host, Seek, Storage, Workload};
use super::resolve::{host_labels, open_mode, references, report_duplicates};
use super::runs::Raw;
use super::sink::Sink;
use super::storage::{check_pair, range};
use super::value::{self, Number, Unit};
use crate::nearest::meant;
use plan::{SizeShare, TransferSizes};

/// All workload definitions in order.
pub(crate) fn workloads(
    definitions: &[Definition],
    storages: &[Storage],
    hosts: &[Host],
    general: &General,
    sink: &mut Sink,
) -> Vec<Workload> {
    let all = with_defaults(definitions, Section::Workload);
    report_duplicates(
        all.iter().map(|fields| &fields.name),
        Section::Workload,
        false,
        sink,
    );
    all.into_iter()
        .map(|fields| workload(fields, storages, hosts, general, sink))
        .collect()
}

/// What `wd=default` says at the end of the text.
pub(crate) fn defaults(definitions: &[Definition]) -> Vec<Field> {
    definitions
        .iter()
        .filter(|definition| definition.section == Section::Workload && definition.is_default())
        .flat_map(|definition| definition.fields.iter().cloned())
        .collect()
}

/// The workload of a run that names storage only: the defaults, under the name of the run.
pub(crate) fn workload_of_run(run: &Fields, raw: &Raw<'_>, sink: &mut Sink) -> Workload {
    let mut name = run.name.clone();
    name.text = format!("rd={}", name.text);
    let fields = Fields {
        section: Section::Workload,
        name,
        defaults: raw.workload_defaults.len(),
        all: raw.workload_defaults.clone(),
    };
    workload(fields, raw.storages, raw.hosts, raw.general, sink)
}

fn workload(
    fields: Fields,
    storages: &[Storage],
    hosts: &[Host],
    general: &General,
    sink: &mut Sink,
) -> Workload {
    let names: Vec<&str> = storages
        .iter()
        .map(|storage| storage.name.as_str())
        .collect();
    let used = fields
        .given("sd")
        .map(|field| references(field, &names, Section::Storage, sink));
    check_combinations(&fields, general, sink);
    Workload {
        name: fields.name.text.clone(),
        storages: used,
        skew_pct: given_skew(&fields),
        transfer: fields
            .get("xfersize")
            .and_then(|field| transfer_sizes(field, sink))
            .unwrap_or(TransferSizes::Fixed(bytes!(WORKLOAD, "xfersize").default)),
        read_pct: read_pct(&fields),
        seek: fields
            .get("seekpct")
            .and_then(|field| seek(field, sink))
            // Streams are cursors; who wants seeks between them says so.
            .unwrap_or(Seek::Percent(if fields.has("streams") {
                0.0
            } else {
                decimal!(WORKLOAD, "seekpct").default
            })),
        stride: stride(&fields, sink),
        range: range(&fields, "range", sink),
        hot_band: range(&fields, "hotband", sink),
        read_hit_pct: fields.number_of(decimal!(WORKLOAD, "rhpct")),
        write_hit_pct: fields.number_of(decimal!(WORKLOAD, "whpct")),
        open: fields.get("openflags").map(|field| open_mode(field, sink)),
        priority: fields.number("priority").map(|priority| priority as u32),
        rate: fields.number("iorate"),
        streams: fields.number("streams").map(|streams| streams as u32),
        threads: fields.number("threads").map(|threads| threads as u32),
        is_user_class: fields.has("user"),
        hosts: fields
            .given("host")
            .map(|field| host_labels(field, hosts, sink))
            .unwrap_or_default(),
        fields,
    }
}

/// As in the original, a share of 0 is none that was given: the workload takes a part of the rest.
fn given_skew(fields: &Fields) -> Option<f64> {
    fields.number("skew").filter(|pct| *pct != 0.0)
}

fn check_combinations(fields: &Fields, general: &General, sink: &mut Sink) {
    if given_skew(fields).is_some() {
        check_pair(fields, "iorate", "skew", sink);
    }
    if let Some(field) = fields.get("iorate") {
        if field.numbers.len() > 1 {
            sink.error(
                codes::VALUE_COUNT,
                field.span,
                "`iorate` of a workload is one number",
                "a list",
                "lists of rates belong to `rd=`",
            );
        }
        if !fields.has("priority") {
            sink.error(
                codes::MISSING,
                field.span,
                "`iorate` of a workload needs `priority`",
                "no priority",
                "add `priority=N`, or set the rate on `rd=`",
            );
        }
    }
    check_hot_band(fields, sink);
    if fields.has("threads") && !general.concatenates {
        sink.error(
            codes::CONFLICT,
            fields.place("threads"),
            "`threads` of a workload needs `concatenatesds=yes`",
            "threads belong to the storage here",
            "set `threads` on `sd=` or `rd=`",
        );
    }
    if general.concatenates {
        for parameter in ["range", "rhpct", "whpct"] {
            if fields.has(parameter) {
                super::storage::concatenation_conflict(fields, parameter, sink);
            }
        }
    }
}

/// A band has a law for its seeks; another one beside it would be ignored.
fn check_hot_band(fields: &Fields, sink: &mut Sink) {
    if !fields.has("hotband") {
        return;
    }
    let is_poisson = fields.get("seekpct").is_some_and(|field| {
        let word = field.words[0].text.to_ascii_lowercase();
        word.len() >= 2 && "poisson".starts_with(&word)
    });
    let other = if is_poisson {
        "seekpct"
    } else if fields.has("stride") {
        "stride"
    } else {
        return;
    };
    sink.error(
        codes::CONFLICT,
        fields.place(other),
        format!("`hotband` and this `{other}` are two laws for one address"),
        "says where seeks go",
        "remove one of them, or use `range` in place of `hotband`",
    );
}

/// The later of `rdpct` and `writepct` counts.
fn read_pct(fields: &Fields) -> f64 {
    fields
        .all
        .iter()
        .rev()
        .filter(|field| field.is_valid)
        .find_map(|field| match field.parameter.name() {
            "rdpct" => field.numbers.first().map(|number| number.value),
            "writepct" => field.numbers.first().map(|number| 100.0 - number.value),
            _ => None,
        })
        .unwrap_or(decimal!(WORKLOAD, "rdpct").default)
}

fn stride(fields: &Fields, sink: &mut Sink) -> Option<(u64, u64)> {
    let field = fields.get("stride")?;
    let (min, max) = (field.numbers[0].value, field.numbers[1].value);
    if max < min {
        sink.error(
            codes::OUT_OF_RANGE,
            field.span,
            "`stride` is (min,max)",
            "the second is smaller",
            "write the smaller distance first",
        );
        return None;
    }
    Some((min as u64, max as u64))
}

/// Bytes, (bytes,percent,…) or (min,max,step).
pub(crate) fn transfer_sizes(field: &Field, sink: &mut Sink) -> Option<TransferSizes> {
    let values: Vec<f64> = field.numbers.iter().map(|number| number.value).collect();
    let sizes: Vec<f64> = match values.len() {
        1 | 3 => values.clone(),
        _ => values.iter().copied().step_by(2).collect(),
    };
    for (at, size) in sizes.iter().enumerate() {
        if *size <= 0.0 || size % 512.0 != 0.0 {
            let index = if values.len() == 3 || values.len() == 1 {
                at
            } else {
                at * 2
            };
            part_of_sector(field, &field.numbers[index], sink);
            return None;
        }
    }
    match values.as_slice() {
        [bytes] => Some(TransferSizes::Fixed(*bytes as u64)),
        [min, max, step] => {
            if min >= max {
                sink.error(
                    codes::OUT_OF_RANGE,
                    field.span,
                    "three values are (min,max,step), and min is not below max",
                    "read as (min,max,step)",
                    "for a list of sizes give each its percentage, or loop over them on `rd=`",
                );
                return None;
            }
            Some(TransferSizes::Uniform {
                min: *min as u64,
                max: *max as u64,
                step: *step as u64,
            })
        }
        pairs => size_mix(field, pairs, sink),
    }
}

/// Reports a transfer that is no whole number of sectors.
pub(crate) fn part_of_sector(field: &Field, number: &Number, sink: &mut Sink) {
    let mut words = field.words.iter().filter(|word| word.span == number.span);
    // A number below a sector without a suffix is KiB whose suffix was forgotten.
    let short = words.find(|word| number.value < 512.0 && word.text.parse::<u32>().is_ok());
    let help = match short.filter(|_| number.value > 0.0) {
        Some(word) => format!("did you mean `{}k`?", word.text),
        None => "use a multiple of 512; sizes take the suffixes k, m and g".to_owned(),
    };
    sink.error(
        codes::OUT_OF_RANGE,
        number.span,
        "a transfer size is a multiple of 512 bytes",
        format!("{} bytes", number.value),
        help,
    );
}

fn size_mix(field: &Field, pairs: &[f64], sink: &mut Sink) -> Option<TransferSizes> {
    if pairs.len() % 2 == 1 {
        sink.error(
            codes::VALUE_COUNT,
            field.span,
            "a mix of sizes is (size,percent,…)",
            "an odd count of values",
            "give each size its percentage",
        );
        return None;
    }
    let total: f64 = pairs.iter().skip(1).step_by(2).sum();
    // The original cuts the sum to an integer: published mixes that add up to 100.01 are accepted.
    if (total - 100.0).abs() > 0.01 && total.trunc() != 100.0 {
        sink.error(
            codes::SHARES,
            field.span,
            format!("the percentages of a mix add up to {total}, not 100"),
            "percentages are the second, fourth, … value",
            "make them add up to 100",
        );
        return None;
    }
    let shares = pairs
        .chunks_exact(2)
        .map(|pair| SizeShare {
            bytes: pair[0] as u64,
            pct: pair[1] * 100.0 / total,
        })
        .collect();
    Some(TransferSizes::Mix(shares))
}

/// What `seekpct` asks for.
pub(crate) fn seek(field: &Field, sink: &mut Sink) -> Option<Seek> {
    let first = &field.words[0];
    let lower = first.text.to_ascii_lowercase();
    if let Some(number) = value::number(&first.text, Unit::Plain) {
        if number == -1.0 && !lower.ends_with('%') {
            return Some(Seek::UntilEnd);
        }
        let percent = number.abs();
        if percent <= 100.0 && (number >= 0.0 || lower.ends_with('%')) {
            return Some(Seek::Percent(percent));
        }
        sink.error(
            codes::OUT_OF_RANGE,
            first.span,
            "`seekpct` is between 0 and 100",
            "out of range",
            "0 is sequential, 100 is random, `eof` is sequential to the end",
        );
        return None;
    }
    // Prefixes count; two letters tell all words apart but `seqnz`.
    let is = |word: &str| lower.len() >= 2 && word.starts_with(&lower);
    if is("random") || lower.starts_with("rand") {
        Some(Seek::Percent(100.0))
    } else if lower == "seqnz" || lower == "sequentialnz" {
        Some(Seek::SequentialFromRandom)
    } else if is("sequential") || lower.starts_with("seq") {
        Some(Seek::Percent(0.0))
    } else if is("eof") {
        Some(Seek::UntilEnd)
    } else if is("poisson") {
        let midpoint = field
            .words
            .get(1)
            .map_or(Some(3.0), |word| value::number(&word.text, Unit::Plain));
        match midpoint {
            Some(midpoint) if midpoint > 0.0 => Some(Seek::Poisson(midpoint)),
            _ => {
                sink.error(
                    codes::NOT_A_NUMBER,
                    field.words[1].span,
                    "the midpoint of `poisson` is a number above zero",
                    "here",
                    "write `seekpct=(poisson,3)`",
                );
                None
            }
        }
    } else {
        let known = ["random", "sequential", "seqnz", "eof", "poisson"];
        let help = meant(&lower, known).unwrap_or_else(|| {
            "use a percentage, `random`, `seq`, `seqnz`, `eof` or `poisson`".to_owned()
        });
        sink.error(
            codes::UNKNOWN_WORD,
            first.span,
            format!("`{}` is not a value of `seekpct`", first.text),
            "not known",
            help,
        );
        None
    }
}
