//! Differences that `docs/differences.md` names, and of which jobs they are. Each is of a combination of options; what a
//! job does that has none of them is compared in full.
use super::Outcome;
use super::draw::{Job, Way};

/// A difference with words of the row that names it.
pub struct Known {
    pub row: &'static str,
    pub is_it: fn(&Job, &Outcome, &Outcome) -> bool,
}

pub const ALL: &[Known] = &[
    Known {
        row: "`rw=read:N` with zones",
        is_it: |job, _, ours| {
            has_zones(job) && has_number(job) && ours.text.contains("with zones is refused")
        },
    },
    Known {
        row: "a job whose range holds no I/O",
        is_it: |_, _, ours| ours.code == Some(2) && is_too_small(&ours.text),
    },
    Known {
        row: "`rw=randtrimwrite` with `offset`",
        is_it: |job, _, _| is_random_pairs(job) && has_offset(job),
    },
    Known {
        row: "`rw=randtrimwrite` with a law, `:N`, `ba`",
        is_it: |job, _, _| {
            let has_law = ["random_distribution", "ba", "percentage_random"];
            let has_law = has_law.iter().any(|name| job.value(name).is_some());
            is_random_pairs(job) && (has_law || has_number(job) || !job.has_one_size)
        },
    },
    Known {
        row: "`rw=trimwrite` with sizes that differ",
        is_it: |job, _, _| {
            job.way == Way::Pairs && (differs_by_direction(job) || !job.has_one_size)
        },
    },
    Known {
        row: "`random_generator=lfsr` with `ba` or sizes that are drawn",
        is_it: |job, _, _| {
            let is_shifted = job.value("random_generator") == Some("lfsr");
            is_shifted && (job.value("ba").is_some() || !job.has_one_size)
        },
    },
    Known {
        row: "`rw=trimwrite:N`",
        is_it: |job, _, _| job.way == Way::Pairs && has_number(job),
    },
    Known {
        row: "`rw=trimwrite` or `randtrimwrite` with several files, or with several I/Os in flight",
        is_it: |job, _, _| job.way == Way::Pairs && (has_files(job) || !job.is_one_by_one),
    },
    Known {
        row: "`bs_unaligned` at random places",
        is_it: |job, _, _| job.is_random && job.has_map && job.value("bs_unaligned").is_some(),
    },
    Known {
        row: "`rw=trimwrite` with zones",
        is_it: |job, _, _| job.way == Way::Pairs && has_zones(job),
    },
    Known {
        row: "sizes that differ by direction, at random places",
        is_it: |job, fio, ours| {
            let is_it = job.is_random && differs_by_direction(job);
            is_it && (!is_whole_by_direction(job) || has_whole_sizes(fio, ours))
        },
    },
    Known {
        row: "`rw=read:-N` where the range does not begin and end with the file",
        is_it: |job, _, _| {
            let is_part = has_offset(job) || job.value("filesize").is_some();
            goes_back(job) && is_part
        },
    },
    Known {
        row: "`rw=rw:N`",
        is_it: |job, _, _| job.way == Way::Mix && !job.is_random && has_number(job),
    },
    Known {
        row: "`rw=read:N` with sizes that are drawn",
        is_it: |job, _, _| !job.is_random && has_number(job) && !job.has_one_size,
    },
    Known {
        row: "`rw=read:N` with `offset`, or with `loops` or `io_size`",
        is_it: |job, _, _| {
            !job.is_random && has_number(job) && (has_offset(job) || has_rounds(job))
        },
    },
    Known {
        row: "`rw=randread:N` and `percentage_random`",
        is_it: |job, _, _| {
            job.is_random && (has_number(job) || job.value("percentage_random").is_some())
        },
    },
    Known {
        row: "`loops` with `rw=rw`, and `io_size` beyond the range",
        is_it: |job, _, _| job.way == Way::Mix && !job.is_random && has_rounds(job),
    },
    Known {
        row: "`file_service_type=…:N` where a file is no multiple",
        is_it: |job, _, _| {
            let service = job.value("file_service_type");
            service.is_some_and(|service| service.starts_with("roundrobin:"))
        },
    },
    Known {
        row: "`rw=read:N` that leads beyond the end of a file, with `file_service_type=sequential` or `openfiles=1`",
        is_it: |job, _, _| {
            let service = job.value("file_service_type");
            let is_in_turn = service.is_some_and(|service| service.starts_with("sequential"))
                || job.value("openfiles") == Some("1");
            !job.is_random && has_number(job) && is_in_turn
        },
    },
    Known {
        row: "`rw=read:N` with `ioengine=null`, `filesize` and `size` in percent",
        is_it: |job, _, _| !job.is_random && has_number(job) && has_size_in_percent(job),
    },
    Known {
        row: "`io_size` beyond a `size` that is less than `filesize` times the files, with several I/Os in flight",
        is_it: |job, _, _| {
            let is_part = job.value("filesize").is_some() && !has_size_in_percent(job);
            is_part && job.value("io_size").is_some() && !job.is_one_by_one
        },
    },
    Known {
        row: "`io_size` that is no multiple of the I/O, at random places with several I/Os in flight",
        is_it: |job, fio, ours| {
            let number = |name| job.value(name)?.parse::<u64>().ok();
            let has_rest = match (number("io_size"), number("bs")) {
                (Some(amount), Some(size)) => !amount.is_multiple_of(size),
                _ => false,
            };
            let is_one_more = || {
                let mut logs = fio.logs.iter().zip(&ours.logs);
                logs.all(|(fio, ours)| ours.len() - fio.len().min(ours.len()) <= 1)
            };
            job.is_random && !job.is_one_by_one && has_rest && is_one_more()
        },
    },
    Known {
        row: "rounds of zones (`loops`, `io_size`) with several I/Os in flight",
        is_it: |job, _, _| has_zones(job) && has_rounds(job) && !job.is_one_by_one,
    },
    Known {
        row: "zones of several files",
        is_it: |job, _, _| has_zones(job) && has_files(job),
    },
    Known {
        row: "mixes with `zonemode=strided`",
        is_it: |job, _, _| has_zones(job) && job.way == Way::Mix,
    },
    Known {
        row: "random places in zones",
        is_it: |job, _, _| has_zones(job) && job.is_random,
    },
    Known {
        row: "zones in a part of a file",
        is_it: |job, _, _| has_zones(job) && (has_offset(job) || job.value("filesize").is_some()),
    },
    Known {
        row: "zones with sizes that are drawn",
        is_it: |job, _, _| has_zones(job) && !job.has_one_size,
    },
    Known {
        row: "`random_distribution` over a range that is no multiple of the I/O",
        is_it: |job, _, _| job.value("random_distribution").is_some(),
    },
    Known {
        row: "`offset` in percent with `ioengine=null`",
        is_it: |job, _, _| {
            let offset = job.value("offset");
            let is_moved = has_rounds(job) || job.value("filesize").is_some() || !job.has_one_size;
            is_moved && offset.is_some_and(|offset| offset.ends_with('%'))
        },
    },
    Known {
        row: "a file that is done, with `file_service_type`",
        is_it: |job, _, _| !job.has_plain_files,
    },
    Known {
        row: "`bs_unaligned`: what is left at the end",
        is_it: |job, _, _| job.value("bs_unaligned").is_some(),
    },
];

fn has_size_in_percent(job: &Job) -> bool {
    job.value("size").is_some_and(|size| size.ends_with('%'))
}

fn has_zones(job: &Job) -> bool {
    job.value("zonemode").is_some()
}

fn has_rounds(job: &Job) -> bool {
    job.value("loops").or(job.value("io_size")).is_some()
}

fn has_offset(job: &Job) -> bool {
    job.value("offset")
        .or(job.value("offset_increment"))
        .is_some()
}

fn has_files(job: &Job) -> bool {
    job.value("nrfiles").or(job.value("filename")).is_some()
}

/// Whether a number stands behind the direction.
fn has_number(job: &Job) -> bool {
    job.value("rw").is_some_and(|word| word.contains(':'))
}

fn goes_back(job: &Job) -> bool {
    job.value("rw").is_some_and(|word| word.contains(":-"))
}

fn is_random_pairs(job: &Job) -> bool {
    job.way == Way::Pairs && job.is_random
}

fn differs_by_direction(job: &Job) -> bool {
    job.value("bs").is_some_and(|sizes| sizes.contains(','))
        || job.value("bs_is_seq_rand").is_some()
}

/// Whether each direction has one size, of which places are multiples from the start of a file.
fn is_whole_by_direction(job: &Job) -> bool {
    let others = ["bs_is_seq_rand", "ba", "percentage_random"];
    let has_other = others.iter().any(|name| job.value(name).is_some());
    job.way == Way::Mix && !has_other && !has_offset(job) && !has_zones(job) && !has_number(job)
}

/// Whether I/Os of Fathom have the size of their direction in fio, and begin at multiples of it.
fn has_whole_sizes(fio: &Outcome, ours: &Outcome) -> bool {
    let rows = |outcome: &Outcome| outcome.logs.iter().flatten().copied().collect::<Vec<_>>();
    let fio = rows(fio);
    rows(ours).iter().all(|row| {
        let mut alike = fio.iter().filter(|other| other.direction == row.direction);
        let is_known = alike.next().is_none_or(|other| other.length == row.length);
        is_known && row.offset.is_multiple_of(row.length)
    })
}

fn is_too_small(text: &str) -> bool {
    text.contains("too little for transfers") || text.contains("holds no I/O")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_known_difference_is_documented() {
        let page = include_str!("../../../docs/differences.md");
        for known in ALL {
            assert!(page.contains(known.row), "`{}` is not there", known.row);
        }
    }

    /// What is compared would otherwise be little.
    #[test]
    fn most_jobs_have_no_known_difference() {
        let nothing = || Outcome {
            code: Some(0),
            text: String::new(),
            logs: Vec::new(),
        };
        let is_free = |number: &u64| {
            let job = Job::drawn(*number);
            let of_job = |known: &Known| (known.is_it)(&job, &nothing(), &nothing());
            !ALL.iter().any(of_job)
        };
        let free = (0..1000).filter(is_free).count();
        assert!(free > 400, "{free} of 1000");
    }
}
