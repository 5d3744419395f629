//! Built-in sets of jobs (`--profile`) and the options that belong to them, as words of a command line
//! that are read like any others. Must not know what an option of a job does.

use crate::nearest::instead_of;

/// A set of jobs.
#[derive(Debug)]
pub struct Profile {
    pub name: &'static str,
    pub doc: &'static str,
    pub options: &'static [ProfileOption],
    words: fn(&Given) -> Result<Vec<String>, String>,
}

/// An option of a set of jobs.
#[derive(Debug)]
pub struct ProfileOption {
    pub name: &'static str,
    pub default: &'static str,
    pub doc: &'static str,
    /// Whether it is given or not, and has no value.
    pub is_flag: bool,
}

/// A command line in which a profile was replaced by what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expanded {
    pub words: Vec<String>,
    /// The name of the profile.
    pub profile: Option<&'static str>,
}

/// All sets.
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "tiobench",
        doc: "four files written in order and at random, and read in order and at random",
        options: &[
            option(
                "size",
                "",
                "MiB of each job; 4 KiB for each MiB of memory without it",
            ),
            option("block", "4096", "bytes of an I/O"),
            option("numruns", "1", "times that each job is done"),
            option("dir", "./", "folder of the files"),
            option("threads", "1", "clones of each job"),
        ],
        words: tiobench,
    },
    Profile {
        name: "act",
        doc: "small random reads at a rate, beside large reads and writes, and how many of the reads were slow",
        options: &[
            option("device-names", "", "targets, separated by commas"),
            option(
                "load",
                "1",
                "thousands of small writes that each target would take in a second",
            ),
            option("test-duration", "24h", "time of the test"),
            option(
                "threads-per-queue",
                "8",
                "clones that read small blocks, for each target",
            ),
            option(
                "read-req-num-512-blocks",
                "3",
                "size of a small read in 512 bytes",
            ),
            option(
                "large-block-op-kbytes",
                "128",
                "size of a large read or write in KiB",
            ),
            ProfileOption {
                is_flag: true,
                ..option("prep", "", "writes all of the targets, and tests nothing")
            },
        ],
        words: act,
    },
];

/// Small reads per second and target at a load of 1, and small writes that come with them.
const ACT_READS: u64 = 2_000;
const ACT_WRITES: u64 = 1_000;

/// Replaces `--profile=NAME` and the options that belong to it, which may stand anywhere.
///
/// # Errors
/// What is wrong, in words: no such profile, a value that cannot be, or a job beside it.
pub fn expand_profile(words: &[String]) -> Result<Expanded, String> {
    let Some(name) = value_of(words, "profile")? else {
        return Ok(Expanded {
            words: words.to_vec(),
            profile: None,
        });
    };
    let profile = PROFILES.iter().find(|profile| profile.name == name);
    let Some(profile) = profile else {
        let help = instead_of(name, PROFILES.iter().map(|profile| profile.name));
        return Err(format!("no profile is named `{name}`; {help}"));
    };
    let (given, mut rest) = Given::take(words, profile)?;
    if rest
        .iter()
        .any(|word| named(word).is_some_and(|(name, _)| name == "name"))
    {
        return Err(format!(
            "`--profile={name}` stands for all jobs; leave `--name` out"
        ));
    }
    rest.extend((profile.words)(&given)?);
    Ok(Expanded {
        words: rest,
        profile: Some(profile.name),
    })
}

const fn option(name: &'static str, default: &'static str, doc: &'static str) -> ProfileOption {
    ProfileOption {
        name,
        default,
        doc,
        is_flag: false,
    }
}

/// The options that were given, by name.
#[derive(Debug)]
struct Given(Vec<(&'static ProfileOption, String)>);

impl Given {
    /// Those of a profile, and all other words.
    fn take(words: &[String], profile: &Profile) -> Result<(Self, Vec<String>), String> {
        let options: &'static [ProfileOption] = profile.options;
        let (mut given, mut others) = (Vec::new(), Vec::new());
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let Some((name, value)) = named(word) else {
                others.push(word.clone());
                continue;
            };
            let own = options.iter().find(|option| option.name == name);
            if own.is_none() && name != "profile" {
                others.push(word.clone());
                continue;
            }
            let is_flag = own.is_some_and(|own| own.is_flag);
            let value = match value {
                Some(value) => value.to_owned(),
                None if is_flag => "1".to_owned(),
                None => rest
                    .next()
                    .cloned()
                    .ok_or(format!("`--{name}` needs a value"))?,
            };
            given.extend(own.map(|own| (own, value)));
        }
        Ok((Self(given), others))
    }

    fn text(&self, name: &str) -> Option<&str> {
        let mut given = self.0.iter().rev();
        let found = given.find(|(option, _)| option.name == name);
        found.map(|(_, value)| value.trim())
    }

    /// A whole number above zero, of the option or of its default.
    fn number(&self, profile: &str, name: &str) -> Result<u64, String> {
        let text = match self.text(name) {
            Some(text) => text,
            None => default_of(profile, name),
        };
        let number = text.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("`--{name}={text}`: a whole number above zero is expected"))
    }
}

fn default_of(profile: &str, name: &str) -> &'static str {
    let options = PROFILES
        .iter()
        .filter(|own| own.name == profile)
        .flat_map(|own| own.options);
    let mut own = options.filter(|option| option.name == name);
    own.next().map_or("", |option| option.default)
}

/// A long option of a command line, with the value behind its `=`.
fn named(word: &str) -> Option<(&str, Option<&str>)> {
    let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    Some(match body.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (body, None),
    })
}

fn value_of<'w>(words: &'w [String], wanted: &str) -> Result<Option<&'w str>, String> {
    let place = words
        .iter()
        .position(|word| named(word).is_some_and(|(name, _)| name == wanted));
    let Some(place) = place else { return Ok(None) };
    let attached = named(&words[place]).and_then(|(_, value)| value);
    let value = attached.or_else(|| words.get(place + 1).map(String::as_str));
    value
        .map(Some)
        .ok_or_else(|| format!("`--{wanted}` needs a value"))
}

fn tiobench(given: &Given) -> Result<Vec<String>, String> {
    let number = |name: &str| given.number("tiobench", name);
    let size = match given.text("size") {
        None => "4*1024*$mb_memory".to_owned(),
        Some(_) => format!("{}m", number("size")?),
    };
    let folder = given.text("dir").unwrap_or("./").replace(':', "\\:");
    let mut words = vec![
        "--buffered=0".to_owned(),
        format!("--size={size}"),
        format!("--bs={}", number("block")?),
        format!("--loops={}", number("numruns")?),
        format!("--directory={folder}"),
        format!("--numjobs={}", number("threads")?),
    ];
    words.extend(
        [
            "--timeout=600",
            "--group_reporting",
            "--thread",
            "--overwrite=1",
            "--filename=.fio.tio.1:.fio.tio.2:.fio.tio.3:.fio.tio.4",
            "--ioengine=sync",
        ]
        .map(str::to_owned),
    );
    for (place, (name, pattern)) in [
        ("seqwrite", "write"),
        ("randwrite", "randwrite"),
        ("seqread", "read"),
        ("randread", "randread"),
    ]
    .into_iter()
    .enumerate()
    {
        words.push(format!("--name={name}"));
        words.push(format!("--rw={pattern}"));
        if place > 0 {
            words.push("--stonewall".to_owned());
        }
        if pattern.ends_with("write") {
            words.push("--end_fsync=1".to_owned());
        }
    }
    Ok(words)
}

fn act(given: &Given) -> Result<Vec<String>, String> {
    let number = |name: &str| given.number("act", name);
    let names = given.text("device-names").unwrap_or_default();
    let targets: Vec<String> = names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(|name| name.replace(':', "\\:"))
        .collect();
    if targets.is_empty() {
        return Err("`--profile=act` needs `--device-names=LIST`".to_owned());
    }
    let is_preparing = given.text("prep").is_some_and(|value| value != "0");
    let large = number("large-block-op-kbytes")? << 10;
    let small = number("read-req-num-512-blocks")? * 512;
    let (load, clones) = (number("load")?, number("threads-per-queue")?);
    let mut words = [
        "--direct=1",
        "--ioengine=sync",
        "--thread",
        "--group_reporting",
    ]
    .map(str::to_owned)
    .to_vec();
    if !is_preparing {
        let duration = given.text("test-duration").unwrap_or("24h");
        words.extend(["--time_based".to_owned(), format!("--runtime={duration}")]);
    }
    for target in &targets {
        let mut job = |name: &str, pattern: &str, bytes: u64, rate: Option<u64>, clones: u64| {
            words.extend([
                format!("--name={name}"),
                format!("--filename={target}"),
                format!("--rw={pattern}"),
                format!("--bs={bytes}"),
                format!("--numjobs={clones}"),
                "--new_group".to_owned(),
            ]);
            words.extend(rate.map(|rate| format!("--rate={rate}")));
        };
        if is_preparing {
            job("act-prep", "write", large, None, 1);
            continue;
        }
        // What is written in small pieces is gathered into large blocks, and as much is read to make
        // room for it.
        let gathered = Some(ACT_WRITES * load * small);
        job(
            "act-read",
            "randread",
            small,
            Some(ACT_READS * load * small / clones),
            clones,
        );
        job("act-large-read", "randread", large, gathered, 1);
        job("act-large-write", "randwrite", large, gathered, 1);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(line: &str) -> Result<Expanded, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        expand_profile(&words)
    }

    #[test]
    fn own_options_are_taken_and_others_stand_in_front_of_the_jobs() {
        let found =
            expanded("--block 8192 --profile=tiobench --iodepth=2 --size=16 --output=o").unwrap();
        assert_eq!(found.profile, Some("tiobench"));
        assert_eq!(found.words[..2], ["--iodepth=2", "--output=o"]);
        for word in [
            "--bs=8192",
            "--size=16m",
            "--loops=1",
            "--directory=./",
            "--numjobs=1",
        ] {
            assert!(found.words.iter().any(|own| own == word), "{word}");
        }
        let jobs = found
            .words
            .iter()
            .filter(|word| word.starts_with("--name="));
        assert_eq!(jobs.count(), 4);
        let waits = found.words.iter().filter(|word| *word == "--stonewall");
        assert_eq!(waits.count(), 3);
    }

    #[test]
    fn a_command_line_without_a_profile_is_left_as_it_is() {
        let found = expanded("--name=a --size=1m --block_error_percentiles=0").unwrap();
        assert_eq!((found.words.len(), found.profile), (3, None));
    }

    #[test]
    fn each_target_has_its_reads_and_its_large_blocks() {
        let found =
            expanded("--profile act --device-names=/dev/a,/dev/b --load=3 --threads-per-queue=4")
                .unwrap();
        let count = |word: &str| found.words.iter().filter(|own| *own == word).count();
        assert_eq!(count("--name=act-read"), 2);
        assert_eq!(count("--filename=/dev/b"), 3);
        // 6 000 reads of 1.5 KiB by four clones, 3 000 writes of 1.5 KiB in large blocks.
        assert_eq!(count("--rate=2304000"), 2);
        assert_eq!(count("--rate=4608000"), 4);
        assert_eq!(count("--bs=131072"), 4);
        assert_eq!(count("--runtime=24h"), 1);
        let prepared = expanded("--profile=act --device-names=/dev/a --prep").unwrap();
        assert!(prepared.words.contains(&"--rw=write".to_owned()));
        assert!(!prepared.words.iter().any(|word| word.starts_with("--rate")));
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (line, expected) in [
            ("--profile=nothing", "use `tiobench` or `act`"),
            ("--profile", "needs a value"),
            ("--profile=act", "--device-names"),
            ("--profile=tiobench --block=many", "above zero"),
            ("--profile=tiobench --threads=0", "above zero"),
            ("--profile=tiobench --name=a", "--name"),
        ] {
            let message = expanded(line).unwrap_err();
            assert!(message.contains(expected), "{line}: {message}");
        }
    }
}
