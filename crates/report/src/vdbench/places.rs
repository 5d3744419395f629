//! Hosts and their slaves, as pages and tables name them: what the language left in the labels of
//! the reporting (`host`, each followed by how it is reached, `reach`, and its `group`s) and of streams (`group`).
use plan::Label;

/// What stands for this process where the text names no host.
const HOST: &str = "localhost";

/// All hosts and slaves of an execution, in order; at least one of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    pub hosts: Vec<String>,
    pub slaves: Vec<Slave>,
}

/// A slave, and the place of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slave {
    pub name: String,
    pub host: usize,
    /// How its host is reached; `None` where it works in the process that leads.
    pub reach: Option<String>,
}

impl Default for Places {
    fn default() -> Self {
        Self {
            hosts: vec![HOST.to_string()],
            slaves: vec![Slave {
                name: format!("{HOST}-0"),
                host: 0,
                reach: None,
            }],
        }
    }
}

impl Places {
    pub fn of(reporting: &[Label]) -> Self {
        let (mut hosts, mut slaves) = (Vec::new(), Vec::new());
        let mut reach = None;
        for label in reporting {
            match label.key.as_str() {
                "host" => {
                    hosts.push(label.value.clone());
                    reach = None;
                }
                "reach" => reach = Some(label.value.clone()),
                "group" if !hosts.is_empty() => slaves.push(Slave {
                    name: label.value.clone(),
                    host: hosts.len() - 1,
                    reach: reach.clone(),
                }),
                _ => {}
            }
        }
        if slaves.is_empty() {
            return Self::default();
        }
        Self { hosts, slaves }
    }

    /// The place of the slave that a stream belongs to.
    pub fn slave_of(&self, labels: &[Label]) -> usize {
        self.slave_named(Label::find(labels, "group"))
    }

    /// The place of a slave by its name; the first where there is none of this name.
    pub fn slave_named(&self, group: Option<&str>) -> usize {
        let is_it = |slave: &Slave| Some(slave.name.as_str()) == group;
        self.slaves.iter().position(is_it).unwrap_or(0)
    }

    /// The slaves of a host.
    pub fn slaves_of(&self, host: usize) -> impl Iterator<Item = &Slave> {
        self.slaves.iter().filter(move |slave| slave.host == host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slaves_follow_their_hosts() {
        let labels = [
            ("host", "one"),
            ("group", "one-0"),
            ("host", "two"),
            ("group", "two-0"),
            ("group", "two-1"),
        ]
        .map(|(key, value)| Label::new(key, value));
        let places = Places::of(&labels);
        assert_eq!(places.hosts, ["one", "two"]);
        let names: Vec<&str> = places
            .slaves_of(1)
            .map(|slave| slave.name.as_str())
            .collect();
        assert_eq!(names, ["two-0", "two-1"]);
        assert_eq!(places.slave_of(&[Label::new("group", "two-1")]), 2);
        assert_eq!(Places::of(&[]), Places::default());
    }
}
