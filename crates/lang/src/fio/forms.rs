//! Values with a form of their own: splits of sizes, laws of places, patterns of data.
use super::codes;
use super::jobs::Given;
use super::number::{Base, quantity};
use super::value::lost_unit;
use crate::environment::Files;
use crate::nearest::meant;
use crate::sink::Sink;
use plan::{Diagnostic, RandomLaw, SizeShare, TargetLaw, TransferSizes, WritePattern};

/// A law of places as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Distribution {
    Even,
    Law(RandomLaw),
}

/// Entries of one list beyond which nobody writes by hand.
const SPLIT_MAX: usize = 64;
const ZONES_MAX: usize = 256;
/// Of a pattern that stands in a file.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// The sizes of `bssplit` for reads, writes and trims; `None` is a mistake, which was reported.
pub(crate) fn splits(
    given: &Given,
    text: &str,
    base: Base,
    unsplit: &[TransferSizes; 3],
    sink: &mut Sink,
) -> Option<[TransferSizes; 3]> {
    let lists: Vec<&str> = text.split(',').map(str::trim).collect();
    if lists.len() > 3 {
        let message = "`bssplit` takes up to three lists, for reads, writes and trims";
        sink.error(
            codes::VALUE_COUNT,
            given.span(),
            message,
            "too many",
            "remove some",
        );
        return None;
    }
    let mut out = Vec::new();
    for (list, unsplit) in lists.iter().zip(unsplit) {
        out.push(match list.is_empty() && lists.len() > 1 {
            true => unsplit.clone(),
            false => split(given, list, base, sink)?,
        });
    }
    let last = out.last()?.clone();
    out.resize(3, last);
    out.try_into().ok()
}

fn split(given: &Given, list: &str, base: Base, sink: &mut Sink) -> Option<TransferSizes> {
    let mut sizes: Vec<(u64, Option<f64>)> = Vec::new();
    let list = list.trim();
    for entry in list.strip_suffix(':').unwrap_or(list).split(':') {
        let (size, share) = entry.split_once('/').unwrap_or((entry, ""));
        if let Some(warning) = lost_unit(&given.name.text, size.trim_end(), given.span()) {
            sink.push(warning);
        }
        let bytes = quantity(size, base).ok().map(|number| number.value);
        let bytes = bytes
            .and_then(|value| u64::try_from(value).ok())
            .filter(|bytes| *bytes > 0);
        let share = match share.trim() {
            "" => Some(None),
            text => share_above(text).map(|pct| Some(pct.min(100.0)).filter(|pct| *pct > 0.0)),
        };
        let (Some(bytes), Some(share)) = (bytes, share) else {
            let message = format!("`{entry}` is no size with a share");
            let help = "write `size/percent`, such as `4k/70:64k/30`";
            sink.error(codes::FORM, given.span(), message, "in this list", help);
            return None;
        };
        sizes.push((bytes, share));
    }
    if sizes.len() > SPLIT_MAX {
        let message = format!("`bssplit` takes up to {SPLIT_MAX} sizes");
        sink.error(
            codes::VALUE_COUNT,
            given.span(),
            message,
            "too many",
            "remove some",
        );
        return None;
    }
    let shares: Vec<Option<f64>> = sizes.iter().map(|(_, share)| *share).collect();
    let shares = cut(with_rest(shares, given, sink), given, sink);
    let shares = completed(shares, given, sink)?;
    let mix = sizes.iter().zip(shares).filter(|(_, pct)| *pct > 0.0);
    let mix: Vec<SizeShare> = mix
        .map(|((bytes, _), pct)| SizeShare { bytes: *bytes, pct })
        .collect();
    match mix.as_slice() {
        [one] => Some(TransferSizes::Fixed(one.bytes)),
        _ => Some(TransferSizes::Mix(mix)),
    }
}

fn share_of(text: &str) -> Option<f64> {
    share_above(text).filter(|number| *number <= 100.0)
}

/// A share that may be more than all.
fn share_above(text: &str) -> Option<f64> {
    let number: f64 = text.trim().trim_end_matches('%').parse().ok()?;
    (number >= 0.0 && number.is_finite()).then_some(number)
}

/// Where the shares of a split make more than 100 %, the original takes the smallest first, of equal ones the first,
/// until nothing is left. With one that is left out, it counts below zero.
fn cut(mut shares: Vec<Option<f64>>, given: &Given, sink: &mut Sink) -> Vec<Option<f64>> {
    let sum: f64 = shares.iter().flatten().sum();
    if sum <= 100.0 + 1e-6 || shares.iter().any(Option::is_none) {
        return shares;
    }
    let mut order: Vec<&mut f64> = shares.iter_mut().flatten().collect();
    order.sort_by(|a, b| a.total_cmp(b));
    let mut left = 100.0;
    for share in order {
        *share = share.min(left);
        left -= *share;
    }
    let kept: Vec<String> = shares.iter().flatten().map(f64::to_string).collect();
    let message = format!(
        "the shares of `{}` make {sum} %; as in fio, the smallest come first, which leaves {} %",
        given.name.text,
        kept.join(", ")
    );
    let note = Diagnostic::note(codes::SHARES_REST, message);
    let note = note.at(given.span(), "more than 100 %");
    sink.push(note.with_help("write shares that make 100"));
    shares
}

/// Where the shares of a split make less than 100 %, the original gives what is left to the largest one, of equal ones
/// to the last.
fn with_rest(mut shares: Vec<Option<f64>>, given: &Given, sink: &mut Sink) -> Vec<Option<f64>> {
    let sum: f64 = shares.iter().flatten().sum();
    let is_short = sum < 100.0 - 1e-6 && shares.iter().all(Option::is_some);
    let largest = shares.iter_mut().flatten().max_by(|a, b| a.total_cmp(b));
    if let Some(largest) = largest.filter(|_| is_short) {
        *largest += 100.0 - sum;
        let message = format!(
            "the shares of `{}` make {sum} %; as in fio, the largest is {largest} %",
            given.name.text
        );
        let note = Diagnostic::note(codes::SHARES_REST, message);
        let note = note.at(given.span(), "less than 100 %");
        sink.push(note.with_help("an entry without a share takes what is left"));
    }
    shares
}

/// Shares with the missing ones filled in; all of them make 100 %.
fn completed(
    shares: impl IntoIterator<Item = Option<f64>>,
    given: &Given,
    sink: &mut Sink,
) -> Option<Vec<f64>> {
    let shares: Vec<Option<f64>> = shares.into_iter().collect();
    let sum: f64 = shares.iter().flatten().sum();
    let missing = shares.iter().filter(|share| share.is_none()).count();
    let is_whole = (sum - 100.0).abs() < 1e-6;
    if sum > 100.0 + 1e-6 || (missing == 0 && !is_whole) {
        let message = format!("the shares of `{}` make {sum} %", given.name.text);
        let help = "they have to make 100; an entry without a share takes what is left";
        sink.error(codes::SHARES, given.span(), message, "not 100 %", help);
        return None;
    }
    let rest = (100.0 - sum).max(0.0) / missing.max(1) as f64;
    Some(
        shares
            .into_iter()
            .map(|share| share.unwrap_or(rest))
            .collect(),
    )
}

/// What a normal law without a number, or with a zero, has for a deviation: there the mean of twelve
/// even draws decides.
const USUAL_DEVIATION_PCT: f64 = 100.0 / 12.0;

/// The law that `file_service_type` names; `None` where it is none, which was reported.
pub(crate) fn law_of_files(given: &Given, base: Base, sink: &mut Sink) -> Option<TargetLaw> {
    let text = given.text();
    let name = text.split(':').next().unwrap_or_default().trim();
    let is_law = matches!(name, "zipf" | "pareto" | "normal" | "gauss");
    let law = is_law.then(|| distribution(given, text, base, sink));
    match law {
        Some(Some(Distribution::Law(RandomLaw::Zipf { theta, .. }))) => {
            Some(TargetLaw::Zipf { theta })
        }
        Some(Some(Distribution::Law(RandomLaw::Pareto { power, .. }))) => {
            Some(TargetLaw::Pareto { power })
        }
        Some(Some(Distribution::Law(RandomLaw::Normal { deviation_pct, .. }))) => {
            Some(TargetLaw::Normal { deviation_pct })
        }
        Some(_) => None,
        None => {
            let message = format!("`{}` is not an order of files", text.trim());
            let known = [
                "roundrobin",
                "random",
                "sequential",
                "zipf",
                "pareto",
                "normal",
                "gauss",
            ];
            let help = meant(name, known).unwrap_or_else(|| "use `roundrobin`, `random`, `sequential`, `zipf`, `pareto`, `normal` or `gauss`, the first three with a number of I/Os such as `random:8`".to_owned());
            sink.error(codes::FORM, given.span(), message, "not understood", help);
            None
        }
    }
}

/// The law that `random_distribution` names.
pub(crate) fn distribution(
    given: &Given,
    text: &str,
    base: Base,
    sink: &mut Sink,
) -> Option<Distribution> {
    // One law for each direction is noted elsewhere; the first stands for the check.
    let first = text.split(',').next().unwrap_or(text).trim();
    let (name, rest) = first.split_once(':').unwrap_or((first, ""));
    let numbers: Option<Vec<f64>> = rest
        .split(':')
        .filter(|part| !part.is_empty())
        .map(|part| part.trim().parse().ok())
        .collect();
    let number = |at: usize, default: f64| {
        let numbers = numbers.as_ref()?;
        Some(numbers.get(at).copied().unwrap_or(default))
    };
    let center = || match &numbers {
        Some(numbers) => numbers.get(1).map(|center| center * 100.0),
        None => None,
    };
    let law = match name {
        "random" => return Some(Distribution::Even),
        "zipf" => number(0, 1.1)
            .filter(|theta| *theta > 0.0 && *theta < 1000.0 && *theta != 1.0)
            .map(|theta| RandomLaw::Zipf {
                theta,
                center_pct: center(),
            }),
        "pareto" => number(0, 0.2)
            .filter(|power| *power > 0.0 && *power < 1.0)
            .map(|power| RandomLaw::Pareto {
                power,
                center_pct: center(),
            }),
        "normal" | "gauss" => number(0, 0.0)
            .filter(|deviation| (0.0..=100.0).contains(deviation))
            .map(|deviation_pct| RandomLaw::Normal {
                deviation_pct: match deviation_pct {
                    0.0 => USUAL_DEVIATION_PCT,
                    given => given,
                },
                center_pct: center(),
            }),
        "zoned" => return zones(given, rest, sink).map(Distribution::Law),
        "zoned_abs" => return byte_zones(given, rest, base, sink).map(Distribution::Law),
        _ => None,
    };
    let is_inside = |law: &RandomLaw| match law {
        RandomLaw::Zipf { center_pct, .. }
        | RandomLaw::Pareto { center_pct, .. }
        | RandomLaw::Normal { center_pct, .. } => {
            center_pct.is_none_or(|center| (0.0..=100.0).contains(&center))
        }
        _ => true,
    };
    if let Some(law) = law.filter(is_inside) {
        return Some(Distribution::Law(law));
    }
    not_a_distribution(given, first, name, sink);
    None
}

fn not_a_distribution(given: &Given, text: &str, name: &str, sink: &mut Sink) {
    let known = [
        "random",
        "zipf",
        "pareto",
        "normal",
        "gauss",
        "zoned",
        "zoned_abs",
    ];
    let near = meant(name, known).filter(|_| !known.contains(&name));
    let help = near.unwrap_or_else(|| "such as `zipf:1.2` (above 0, not 1), `pareto:0.2` (0 to 1), `normal:20` (0 to 100), `zoned:60/10:30/20:10/70`; a centre is 0 to 1".to_owned());
    let message = format!("`{text}` is not a distribution");
    sink.error(codes::FORM, given.span(), message, "not understood", help);
}

fn zones(given: &Given, text: &str, sink: &mut Sink) -> Option<RandomLaw> {
    let pairs = pairs(given, text, sink)?;
    let accesses = completed(pairs.iter().map(|(access, _)| *access), given, sink)?;
    let mut sizes = Vec::new();
    for (_, size) in &pairs {
        let share = match *size {
            "" => Some(None),
            text => share_of(text).map(Some),
        };
        sizes.push(share.or_else(|| bad_zone(given, size, sink))?);
    }
    let given_pct: f64 = sizes.iter().flatten().sum();
    let is_short = sizes.iter().all(Option::is_some) && given_pct < 100.0 - 1e-6;
    if is_short {
        let message = format!(
            "the zones of `{}` take {given_pct} % of the range; as in fio, the rest is never used",
            given.name.text
        );
        let note = Diagnostic::note(codes::SHARES_REST, message);
        sink.push(note.at(given.span(), "less than 100 %"));
        sizes.push(Some(100.0 - given_pct));
    }
    let sizes = completed(sizes, given, sink)?;
    let accesses = accesses.into_iter().chain(is_short.then_some(0.0));
    Some(RandomLaw::Zoned(accesses.zip(sizes).collect()))
}

fn byte_zones(given: &Given, text: &str, base: Base, sink: &mut Sink) -> Option<RandomLaw> {
    let pairs = pairs(given, text, sink)?;
    let accesses = completed(pairs.iter().map(|(access, _)| *access), given, sink)?;
    let mut out = Vec::new();
    for ((_, size), access) in pairs.iter().zip(accesses) {
        let bytes = quantity(size, base).ok().map(|number| number.value);
        let bytes = bytes.and_then(|value| u64::try_from(value).ok());
        out.push((access, bytes.or_else(|| bad_zone(given, size, sink))?));
    }
    Some(RandomLaw::ZonedBytes(out))
}

fn bad_zone<T>(given: &Given, text: &str, sink: &mut Sink) -> Option<T> {
    let message = format!("`{text}` is no size of a zone");
    let help = "write `access/size:…`; `zoned` takes percent, `zoned_abs` bytes";
    sink.error(codes::FORM, given.span(), message, "not understood", help);
    None
}

/// Shares of accesses with the texts behind `/`.
fn pairs<'t>(given: &Given, text: &'t str, sink: &mut Sink) -> Option<Vec<(Option<f64>, &'t str)>> {
    let mut out = Vec::new();
    for entry in text.split(':') {
        // What comes after two colons, or after a last one, is dropped by fio.
        if entry.trim().is_empty() && !out.is_empty() {
            break;
        }
        let (access, size) = entry.split_once('/').unwrap_or((entry, ""));
        let access = match access.trim() {
            "" => Some(None),
            text => share_of(text).map(Some),
        };
        out.push((
            access.or_else(|| bad_zone(given, entry, sink))?,
            size.trim(),
        ));
    }
    if out.len() > ZONES_MAX {
        return bad_zone(given, "more than 256 zones", sink);
    }
    Some(out)
}

/// What is written over and over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    pub bytes: Vec<u8>,
    /// Where the address of the I/O stands, in eight bytes.
    pub addresses: Vec<u32>,
    /// It begins anew each time that this many bytes of an I/O have passed; zero is never.
    pub restart_bytes: u64,
}

impl Pattern {
    pub(crate) fn zeros() -> Self {
        Self {
            bytes: vec![0],
            addresses: Vec::new(),
            restart_bytes: 0,
        }
    }
}

/// What stands for the address of an I/O, which patterns of checks alone may have.
const ADDRESS: &str = "%o";

/// A pattern: numbers, `0x…`, `"text"`, what is in `'file'` and addresses, one after another.
/// `None` where it has an address (`%o`) or cannot be read; the latter was reported.
pub(crate) fn pattern(
    given: &Given,
    text: &str,
    files: &dyn Files,
    sink: &mut Sink,
) -> Option<Pattern> {
    let may_have_addresses = given.parameter.name() == "verify_pattern";
    let mut addresses = Vec::new();
    let mut out = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let taken = if rest.starts_with(ADDRESS) && may_have_addresses {
            addresses.push(out.len() as u32);
            out.extend([0; WritePattern::ADDRESS_BYTES]);
            Some(ADDRESS.len())
        } else if let Some((name, behind)) = file_name(rest) {
            out.extend(pattern_file(given, name, files, sink)?);
            Some(rest.len() - behind.len())
        } else if let Some(quoted) = rest.strip_prefix('"') {
            quoted.find('"').map(|end| {
                out.extend_from_slice(&quoted.as_bytes()[..end]);
                end + 2
            })
        } else {
            number_bytes(rest, &mut out)
        };
        let Some(taken) = taken else {
            let message = format!("`{text}` is no pattern");
            let help = match rest.starts_with(ADDRESS) {
                true => {
                    "`%o` stands in `verify_pattern` only: addresses that nobody checks have no use"
                }
                false => "write a number, `0x…`, a text in double quotes, or a file in single ones",
            };
            sink.error(codes::FORM, given.span(), message, "not understood", help);
            return None;
        };
        rest = rest[taken..].trim_start();
    }
    let pattern = Pattern {
        bytes: out,
        addresses,
        restart_bytes: 0,
    };
    (!pattern.bytes.is_empty()).then_some(pattern)
}

/// The name of a file in single quotes, and what is behind it.
fn file_name(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('\'')?.split_once('\'')
}

fn pattern_file(given: &Given, name: &str, files: &dyn Files, sink: &mut Sink) -> Option<Vec<u8>> {
    let (message, help) = match files.read_data(name) {
        Ok(bytes) if bytes.is_empty() => (
            format!("`{name}` is empty"),
            "a pattern has at least one byte",
        ),
        Ok(bytes) if bytes.len() > PATTERN_BYTES_MAX => (
            format!("`{name}` has {} bytes", bytes.len()),
            "a pattern has 1 MiB at most",
        ),
        Ok(bytes) => return Some(bytes),
        Err(reason) => (
            format!("the pattern `{name}` cannot be read: {reason}"),
            "names count from the folder that the command is started in",
        ),
    };
    sink.error(codes::FORM, given.span(), message, "this file", help);
    None
}

/// Takes a number: hexadecimal digits as they stand, decimals with the low byte first.
fn number_bytes(text: &str, out: &mut Vec<u8>) -> Option<usize> {
    if let Some(hex) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        let end = hex
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(hex.len());
        let digits = &hex[..end];
        if digits.is_empty() {
            return None;
        }
        let padded = format!("{}{digits}", if digits.len() % 2 == 1 { "0" } else { "" });
        for at in (0..padded.len()).step_by(2) {
            out.push(u8::from_str_radix(&padded[at..at + 2], 16).ok()?);
        }
        return Some(2 + end);
    }
    let sign = usize::from(text.starts_with('-'));
    let body = &text[sign..];
    let end = body
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(body.len());
    // In `-120xab`, the zero belongs to what follows.
    let begins_hex = body[end..].starts_with(['x', 'X']) && body[..end].ends_with('0') && end > 1;
    let end = end - usize::from(begins_hex);
    let number: i64 = text[..sign + end].parse().ok()?;
    let bytes = number.to_le_bytes();
    let used = if number < 0 {
        4
    } else {
        (8 - number.leading_zeros() as usize / 8).max(1)
    };
    out.extend_from_slice(&bytes[..used]);
    Some(sign + end)
}
