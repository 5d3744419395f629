//! Hosts that are named on the command line, and what starts agents on them.
use plan::{PlanHost, Reach};
use std::collections::BTreeSet;

/// More hosts than anybody means.
const HOSTS_MAX: usize = 10_000;

/// The hosts of `--hosts`.
#[derive(Clone, Debug, Default)]
pub struct HostList(pub Vec<PlanHost>);

/// Names with commas between them, as in `a,root@b,node[01-16,20]`; or `@FILE` with such names in its lines, where text after
/// a `#` is a comment.
///
/// # Errors
/// In words, where a name is none, comes twice, or the file cannot be read.
pub fn hosts(text: &str) -> Result<HostList, String> {
    let mut names = Vec::new();
    match text.strip_prefix('@') {
        Some(path) => {
            let content = std::fs::read_to_string(path)
                .map_err(|error| format!("`{path}` cannot be read: {error}"))?;
            for line in content.lines() {
                let line = line.split('#').next().unwrap_or_default();
                for words in line.split_whitespace() {
                    expand(words, &mut names)?;
                }
            }
        }
        None => expand(text, &mut names)?,
    }
    if names.is_empty() {
        return Err("no host is named".to_owned());
    }
    let mut seen = BTreeSet::new();
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let (user, system) = match name.split_once('@') {
            Some((user, system)) => (Some(user.to_owned()), system.to_owned()),
            None => (None, name),
        };
        let odd = |c: char| c.is_whitespace() || c.is_control();
        if system.is_empty() || system.starts_with('-') || system.contains(odd) {
            return Err(format!("`{}` is no name of a host", system.escape_debug()));
        }
        if !seen.insert(system.clone()) {
            return Err(format!("`{system}` is named twice"));
        }
        all.push(PlanHost {
            name: system.clone(),
            reach: Some(Reach { system, user }),
        });
    }
    Ok(HostList(all))
}

/// Adds the names of a list whose brackets hold numbers and ranges, as resource managers write them.
fn expand(text: &str, names: &mut Vec<String>) -> Result<(), String> {
    let mut depth = 0;
    let is_end = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    for name in text.split(is_end).filter(|name| !name.is_empty()) {
        expand_one(name, names)?;
    }
    Ok(())
}

fn expand_one(name: &str, names: &mut Vec<String>) -> Result<(), String> {
    // An IPv6 address may stand in brackets, and has no range.
    let Some((head, rest)) = name.split_once('[').filter(|_| !name.contains(':')) else {
        names.push(name.to_owned());
        return match names.len() <= HOSTS_MAX {
            true => Ok(()),
            false => Err(format!("more than {HOSTS_MAX} hosts are named")),
        };
    };
    let odd = || format!("`{name}` is no range of hosts; write one as in `node[01-16,20]`");
    let (ranges, tail) = rest.split_once(']').ok_or_else(odd)?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<u64>().map_err(|_| odd());
        let (from, to) = (number(first)?, number(last)?);
        if to < from || to - from >= HOSTS_MAX as u64 {
            return Err(odd());
        }
        for number in from..=to {
            let width = first.len();
            expand_one(&format!("{head}{number:0width$}{tail}"), names)?;
        }
    }
    Ok(())
}

/// What starts a program on a host: its words, with `{host}` in place of the host.
#[derive(Clone, Debug)]
pub struct Launcher(pub Vec<String>);

/// Splits a command as a shell does; no shell runs it.
///
/// # Errors
/// In words, where quotes are open, or no place is there for the host.
pub fn launcher(text: &str) -> Result<Launcher, String> {
    let words = shlex::split(text).ok_or("a quote is open")?;
    match words.iter().any(|word| word.contains("{host}")) {
        true => Ok(Launcher(words)),
        false => Err(
            "it lacks `{host}`, which stands for the name of each host, as in `srun -N1 -w {host}`"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let names = |list: HostList| list.0.into_iter().map(|host| host.name).collect();
        hosts(text).map(names)
    }

    #[test]
    fn lists_and_ranges_are_hosts() {
        let all = ["a", "n08", "n09", "n10", "n3", "b"].map(str::to_owned);
        assert_eq!(names("a,n[08-10,3],root@b").unwrap(), all);
        let user = hosts("root@b").unwrap().0.remove(0).reach.unwrap().user;
        assert_eq!(user.as_deref(), Some("root"));
        let two = ["r1n1", "r1n2", "r2n1", "r2n2"].map(str::to_owned);
        assert_eq!(names("r[1-2]n[1-2]").unwrap(), two);
        assert_eq!(names("fe80::1").unwrap(), ["fe80::1"]);
        for odd in [
            "",
            "a,a",
            "-v",
            "a b",
            "n[3-1]",
            "n[1",
            "n[x]",
            "n[1-99999]",
            "@/nowhere",
        ] {
            assert!(names(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn a_file_holds_hosts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts");
        std::fs::write(&path, "# all\na\nb c # two\n\n").unwrap();
        assert_eq!(
            names(&format!("@{}", path.display())).unwrap(),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn words_of_a_launcher_are_those_of_a_shell() {
        let Launcher(words) = launcher("ssh -o 'User=x y' {host} sudo\\ -n").unwrap();
        assert_eq!(words, ["ssh", "-o", "User=x y", "{host}", "sudo -n"]);
        assert!(launcher("srun").is_err() && launcher("'{host}").is_err());
    }
}
