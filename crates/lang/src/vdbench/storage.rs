//! Storage definitions: paths, numbered copies, hosts, sizes. Must not look at any device.
use super::codes;
use super::content::Duplicates;
use super::declare::Section;
use super::definitions::Definition;
use super::fields::{Fields, with_defaults};
use super::model::{General, Host, Storage};
use super::resolve::{check_sector_multiple, conflict, host_labels, open_mode, report_duplicates};
use super::sink::Sink;
use super::token::Word;
use plan::Diagnostic;

/// What one definition may be copied to.
const COPIES_MAX: f64 = 10_240.0;

/// All copies together: each is a definition as if somebody had written it.
const DEFINITIONS_MAX: f64 = 102_400.0;

/// All storage definitions in order.
pub(crate) fn storages(
    definitions: &[Definition],
    hosts: &[Host],
    general: &General,
    sink: &mut Sink,
) -> Vec<Storage> {
    report_defaults(definitions, sink);
    let mut out = Vec::new();
    for fields in with_defaults(definitions, Section::Storage) {
        copies(storage(fields, hosts, general, sink), sink, &mut out);
    }
    let names: Vec<Word> = out
        .iter()
        .map(|storage| Word {
            text: storage.name.clone(),
            span: storage.fields.name.span,
        })
        .collect();
    report_duplicates(&names, Section::Storage, false, sink);
    out
}

fn report_defaults(definitions: &[Definition], sink: &mut Sink) {
    let defaults = definitions
        .iter()
        .filter(|definition| definition.section == Section::Storage && definition.is_default());
    for field in defaults.flat_map(|definition| &definition.fields) {
        if field.parameter.name() == "lun" {
            sink.error(
                codes::NOT_ON_DEFAULT,
                field.span,
                "`lun` on `sd=default`",
                "each definition has its own",
                "move `lun` to the definitions that follow",
            );
        }
    }
}

fn storage(fields: Fields, hosts: &[Host], general: &General, sink: &mut Sink) -> Storage {
    let name = fields.name.text.clone();
    if name == "concat" {
        sink.error(
            codes::RESERVED_NAME,
            fields.name.span,
            "a storage definition cannot be named `concat`",
            "reserved",
            "choose another name",
        );
    }
    let (lun, labels, luns) = paths(&fields, hosts, sink);
    let range = range(&fields, "range", sink);
    let offset = fields.number_of(decimal!(STORAGE, "offset"));
    check_sector_multiple(offset, &fields, "offset", sink);
    let align = fields.number("align").filter(|align| *align > 0.0);
    if let Some(align) = align {
        check_sector_multiple(align, &fields, "align", sink);
    }
    let open = fields.get("openflags").map(|field| open_mode(field, sink));
    if general.validates {
        check_validated(&fields, sink);
    }
    if general.concatenates {
        for parameter in ["hitarea", "offset", "align", "range"] {
            if fields.has(parameter) {
                concatenation_conflict(&fields, parameter, sink);
            }
        }
        if let Some(field) = fields.get("threads") {
            let message =
                "`threads`: with `concatenatesds`, those of the run or of its workloads count";
            sink.push(
                Diagnostic::note(codes::TRANSLATED, message)
                    .at(field.span, "no effect on concatenated storage"),
            );
        }
    }
    Storage {
        name,
        lun,
        luns,
        hosts: labels,
        bytes: size_bytes(&fields, sink),
        threads: threads(&fields, sink),
        hit_area_bytes: fields
            .number("hitarea")
            .map_or(bytes!(STORAGE, "hitarea").default, |bytes| bytes as u64),
        offset_bytes: offset as u64,
        align_bytes: align.map(|align| align as u64),
        range,
        open,
        duplicates: Duplicates::read(&fields, sink).pool(&general.duplicates, &fields, sink),
        fields,
    }
}

/// A value, or (value,divisor) rounded down.
fn divided(fields: &Fields, name: &str, sink: &mut Sink) -> Option<f64> {
    check_divisor(fields, name, sink).then_some(())?;
    let numbers = &fields.get(name)?.numbers;
    let divisor = numbers.get(1).map_or(1.0, |number| number.value);
    Some((numbers[0].value / divisor).floor())
}

/// Whether the second value of (value,divisor), where there is one, divides anything.
pub(crate) fn check_divisor(fields: &Fields, name: &str, sink: &mut Sink) -> bool {
    let divisor = fields.get(name).and_then(|field| field.numbers.get(1));
    let Some(divisor) = divisor.filter(|divisor| divisor.value <= 0.0) else {
        return true;
    };
    sink.error(
        codes::OUT_OF_RANGE,
        divisor.span,
        format!("the divisor of `{name}` is above zero"),
        "divides nothing",
        format!("write `{name}=N`, or `{name}=(N,DIVISOR)`"),
    );
    false
}

/// The size given; none for 0, which is the size of the target.
fn size_bytes(fields: &Fields, sink: &mut Sink) -> Option<u64> {
    let bytes = divided(fields, "size", sink).filter(|bytes| *bytes > 0.0)? as u64;
    // Nothing smaller than a sector is ever transferred.
    if bytes < 512 {
        sink.error(
            codes::OUT_OF_RANGE,
            fields.place("size"),
            "`size` is less than 512 bytes, which no I/O fits into",
            format!("{bytes} bytes"),
            "sizes take the suffixes k, m, g and t; without `size`, all of the target is used",
        );
        return None;
    }
    Some(bytes / 512 * 512)
}

fn threads(fields: &Fields, sink: &mut Sink) -> u32 {
    let default = decimal!(STORAGE, "threads").default;
    let threads = divided(fields, "threads", sink).unwrap_or(default);
    if threads < 1.0 {
        sink.error(
            codes::OUT_OF_RANGE,
            fields.place("threads"),
            "`threads` divided is less than one thread",
            "rounds down to 0",
            "write a smaller divisor, or more threads",
        );
    }
    (threads as u32).max(1)
}

fn check_validated(fields: &Fields, sink: &mut Sink) {
    for parameter in ["offset", "align"] {
        if fields.number(parameter).is_some_and(|bytes| bytes > 0.0) {
            sink.error(
                codes::CONFLICT,
                fields.place(parameter),
                format!("`{parameter}` and data validation exclude each other"),
                "set here",
                "remove it, or do without validation",
            );
        }
    }
    if fields.name.text.len() > 8 {
        sink.error(
            codes::RESERVED_NAME,
            fields.name.span,
            "with data validation, names have 8 characters at most",
            "too long",
            "shorten the name",
        );
    }
}

/// Reports a parameter that has no meaning where storage definitions are concatenated.
pub(crate) fn concatenation_conflict(fields: &Fields, parameter: &str, sink: &mut Sink) {
    sink.error(
        codes::CONFLICT,
        fields.place(parameter),
        format!("`{parameter}` and `concatenatesds` exclude each other"),
        "set here",
        "remove one of them",
    );
}

/// The path, the hosts that use it, and the path on each host where there are several.
fn paths(
    fields: &Fields,
    hosts: &[Host],
    sink: &mut Sink,
) -> (Word, Vec<String>, Vec<(String, Word)>) {
    let own = |name: &str| {
        fields
            .own()
            .iter()
            .filter(|field| field.parameter.name() == name && field.is_valid)
            .collect::<Vec<_>>()
    };
    let (luns, own_hosts) = (own("lun"), own("host"));
    let (mut labels, mut paired) = (Vec::new(), Vec::new());
    if own_hosts.is_empty()
        && let Some(field) = fields.get("host")
    {
        labels = host_labels(field, hosts, sink);
    }
    for (place, field) in own_hosts.iter().enumerate() {
        let of_field = host_labels(field, hosts, sink);
        if let (Some(lun), true) = (luns.get(place), luns.len() > 1) {
            let pair = |label: &String| (label.clone(), lun.words[0].clone());
            paired.extend(of_field.iter().map(pair));
        }
        labels.extend(of_field);
    }
    let Some(first) = luns.first() else {
        sink.error(
            codes::MISSING,
            fields.name.span,
            format!("storage definition `{}` has no `lun`", fields.name.text),
            "no device or file",
            "add `lun=DEVICE-OR-FILE`",
        );
        // A place to stand, so that references to it are no mistakes.
        return (fields.name.clone(), labels, paired);
    };
    if luns.len() > 1 && luns.len() != own_hosts.len() {
        sink.push(
            Diagnostic::error(codes::CONFLICT, "several `lun` without a `host` for each")
                .at(luns[1].span, "second path")
                .with_related(first.span, "first path")
                .with_help("pair them, `host=A,lun=…,host=B,lun=…`, or define two `sd=`"),
        );
    }
    if own_hosts.len() > 1 && luns.len() == 1 {
        sink.push(
            Diagnostic::error(codes::CONFLICT, "several `host` for one `lun`")
                .at(own_hosts[1].span, "second host")
                .with_related(own_hosts[0].span, "first host")
                .with_help("write the hosts as a list, `host=(A,B)`, or give each a `lun`"),
        );
    }
    (first.words[0].clone(), labels, paired)
}

/// `range=(low,high)`, checked.
pub(crate) fn range(fields: &Fields, name: &str, sink: &mut Sink) -> Option<(f64, f64)> {
    let field = fields.get(name)?;
    // `10%` is kept as a negative number; here a percentage is meant either way.
    let (low, high) = (field.numbers[0].value.abs(), field.numbers[1].value.abs());
    let wraps_whole = low <= 100.0 && high <= 200.0 && high - low > 100.0;
    if low >= high || wraps_whole {
        let texts: Vec<&str> = field.words.iter().map(|word| word.text.as_str()).collect();
        let help = match texts[..] {
            [first, second] if low > high && (low <= 100.0) == (high <= 100.0) => {
                format!("write `{name}=({second},{first})`, the lower first")
            }
            _ => "write (low,high): percent up to 100 (200 to wrap around the end), bytes above"
                .to_owned(),
        };
        sink.error(
            codes::OUT_OF_RANGE,
            field.span,
            format!("`{name}=({})` is no part of the storage", texts.join(",")),
            if wraps_whole {
                "more than the whole"
            } else {
                "ends before it begins"
            },
            help,
        );
        return None;
    }
    Some((low, high))
}

fn copies(storage: Storage, sink: &mut Sink, out: &mut Vec<Storage>) {
    let Some(numbers) = copy_numbers(&storage.fields, out.len(), sink) else {
        out.push(storage);
        return;
    };
    for number in numbers {
        let mut copy = storage.clone();
        copy.name = format!("{}{number}", storage.name);
        copy.lun.text = numbered_path(&storage.lun.text, number);
        for (_, lun) in &mut copy.luns {
            lun.text = numbered_path(&lun.text, number);
        }
        out.push(copy);
    }
}

/// The numbers of the copies that `count` makes, beside as many definitions as there are already: none where it is missing,
/// and an empty range where it is refused.
pub(crate) fn copy_numbers(
    fields: &Fields,
    definitions: usize,
    sink: &mut Sink,
) -> Option<std::ops::Range<u64>> {
    let field = fields.get("count")?;
    let (start, count) = (field.numbers[0].value, field.numbers[1].value);
    let mut refuse = |label: &str, help: String| {
        sink.error(
            codes::OUT_OF_RANGE,
            field.span,
            "`count` is (first number, how many)",
            label,
            help,
        );
        Some(0..0)
    };
    if start < 0.0 || !(1.0..=COPIES_MAX).contains(&count) {
        let help = format!("the second value is between 1 and {COPIES_MAX}");
        return refuse("out of range", help);
    }
    if definitions as f64 + count > DEFINITIONS_MAX {
        let label = format!("makes more than {DEFINITIONS_MAX} definitions, with those before it");
        return refuse(&label, "use fewer copies, or several files".to_owned());
    }
    Some(start as u64..start as u64 + count as u64)
}

/// A number in place of a mask such as `%04d`, of the first `*`, or behind the path.
pub(crate) fn numbered_path(path: &str, number: u64) -> String {
    if let Some(at) = path.find('%') {
        let mask = &path[at + 1..];
        let digits = mask.len()
            - mask
                .trim_start_matches(|ch: char| ch.is_ascii_digit())
                .len();
        if mask[digits..].starts_with('d') {
            let width = &mask[..digits];
            let count: usize = width.parse().unwrap_or(0).min(64);
            let text = if width.starts_with('0') {
                format!("{number:0count$}")
            } else {
                format!("{number:count$}")
            };
            return format!("{}{text}{}", &path[..at], &mask[digits + 1..]);
        }
    }
    if path.contains('*') {
        return path.replacen('*', &number.to_string(), 1);
    }
    format!("{path}{number}")
}

/// Reports what the original refuses about a pair of exclusive parameters.
pub(crate) fn check_pair(fields: &Fields, one: &str, other: &str, sink: &mut Sink) {
    if fields.has(one) && fields.has(other) {
        conflict(fields, one, other, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::numbered_path;

    #[test]
    fn a_number_goes_into_mask_star_or_end() {
        assert_eq!(numbered_path("/d/file%04d", 7), "/d/file0007");
        assert_eq!(numbered_path("/d/f*x", 12), "/d/f12x");
        assert_eq!(numbered_path("/d/f", 3), "/d/f3");
        assert_eq!(numbered_path("/d/100%", 3), "/d/100%3");
        assert_eq!(numbered_path("/d/%da", 3), "/d/3a");
    }
}
