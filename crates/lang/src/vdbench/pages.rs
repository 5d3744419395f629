//! The pages of an output folder: two that would have one name are refused before anything runs. Knows the names that
//! `report::vdbench` gives them, and nothing of what is in them.
use super::codes;
use super::groups::Groups;
use super::lower::Job;
use super::model::Workload;
use super::sink::Sink;
use plan::{Diagnostic, Label, Plan, Span};
use std::collections::{HashMap, HashSet};

/// Pages of the execution as a whole, without the extension.
pub(crate) const OF_ALL: [&str; 11] = [
    "errorlog",
    "flatfile",
    "histogram",
    "logfile",
    "parmfile",
    "parmscan",
    "report",
    "skew",
    "status",
    "summary",
    "totals",
];

/// What a page is of.
#[derive(Clone, Debug)]
struct Owner {
    /// `storage definition`; empty for a page of the execution as a whole.
    kind: &'static str,
    /// How its definition begins, which a name that does not collide can begin with.
    keyword: &'static str,
    /// As the text has it.
    name: String,
    /// Its pages begin so.
    stem: String,
    /// Where the name is written; `None` where no text gives it.
    span: Option<Span>,
}

/// The pages that are known so far, by their names without the extension.
#[derive(Default)]
struct Pages {
    owner_of: HashMap<String, Owner>,
    /// What was found to collide.
    told: HashSet<(&'static str, String)>,
    found: Vec<Diagnostic>,
}

/// Reports names of a job that would give two pages one name. File systems here tell capitals from small letters.
pub(crate) fn check(job: &Job<'_>, workloads: &[Workload], plan: &Plan, sink: &mut Sink) {
    let mut pages = Pages::default();
    for name in OF_ALL {
        let owner = Owner {
            kind: "",
            keyword: "",
            name: name.to_owned(),
            stem: name.to_owned(),
            span: None,
        };
        pages.owner_of.insert(name.to_owned(), owner);
    }
    let asks = |word: &str| {
        let mut details = job.general.details.iter();
        details.any(|label| label.value == word)
    };
    add_places(job, &mut pages);
    let used = super::lower::used(job);
    let storages = job.storages.iter().enumerate();
    let storages = storages.filter(|(index, _)| used[*index]);
    let storages = storages.map(|(_, storage)| Owner {
        kind: "storage definition",
        keyword: "sd",
        name: storage.name.clone(),
        stem: storage.name.clone(),
        span: Some(storage.fields.name.span),
    });
    let storages: Vec<Owner> = storages.collect();
    for owner in storages.iter().filter(|_| !asks("no_sd")) {
        pages.add(owner, &["", ".histogram"]);
    }
    let used = workloads_of(plan);
    // The page of the only one would be that of the whole.
    let definitions = workloads
        .iter()
        .map(|one| (one.name.as_str(), one.fields.name.span));
    let span_of: HashMap<&str, Span> = definitions.collect();
    for name in used.iter().filter(|_| used.len() > 1) {
        let owner = Owner {
            kind: "workload definition",
            keyword: "wd",
            name: (*name).to_owned(),
            stem: (*name).to_owned(),
            span: span_of.get(name).copied(),
        };
        pages.add(&owner, &["", ".histogram"]);
    }
    for place in places_in_detail(&job.groups, asks("host"), asks("slave")) {
        for owner in &storages {
            let detail = Owner {
                stem: format!("{place}.{}", owner.name),
                ..owner.clone()
            };
            pages.add(&detail, &["", ".histogram"]);
        }
    }
    pages.found.into_iter().for_each(|one| sink.push(one));
}

fn add_places(job: &Job<'_>, pages: &mut Pages) {
    let hosts = job.groups.hosts();
    let of_host: &[&str] = match hosts.len() {
        1 => &[""],
        _ => &["", ".histogram"],
    };
    let of_slave: &[&str] = match job.groups.are_several() {
        true => &["", ".histogram", ".stdout"],
        false => &["", ".stdout"],
    };
    let owner = |kind, place: usize, name: &str| Owner {
        kind,
        keyword: "hd",
        name: name.to_owned(),
        stem: name.to_owned(),
        span: hosts[place].span,
    };
    for (place, host) in hosts.iter().enumerate() {
        pages.add(&owner("host", place, &host.label), of_host);
    }
    for (place, slave) in job.groups.slaves() {
        pages.add(&owner("slave", place, slave), of_slave);
    }
}

fn places_in_detail<'a>(groups: &'a Groups<'_>, of_hosts: bool, of_slaves: bool) -> Vec<&'a str> {
    let hosts = groups.hosts().iter().map(|host| host.label.as_str());
    let slaves = groups.slaves().map(|(_, slave)| slave);
    let all = hosts
        .filter(|_| of_hosts)
        .chain(slaves.filter(|_| of_slaves));
    all.collect()
}

/// Those of all runs, and what makes files among them, once each.
fn workloads_of(plan: &Plan) -> Vec<&str> {
    let streams = plan.templates.iter().flat_map(|one| &one.streams);
    let names = streams.map(|stream| Label::find(&stream.labels, "wd").unwrap_or(&stream.name));
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

impl Pages {
    /// Adds the pages of something; those that are known are told once.
    fn add(&mut self, owner: &Owner, suffixes: &[&str]) {
        for suffix in suffixes {
            // As the pages do with letters that a file name cannot have.
            let page = format!("{}{suffix}", owner.stem).replace(['/', '\0'], "_");
            let Some(other) = self.owner_of.get(&page) else {
                self.owner_of.insert(page, owner.clone());
                continue;
            };
            let is_same = (other.keyword, other.span) == (owner.keyword, owner.span)
                && other.name == owner.name;
            if !is_same && self.told.insert((owner.keyword, owner.name.clone())) {
                self.found.push(collision(&page, other, owner));
            }
        }
    }
}

fn collision(page: &str, first: &Owner, second: &Owner) -> Diagnostic {
    let words = |owner: &Owner| format!("{} `{}`", owner.kind, owner.name);
    // What the text names can be changed; a slave has its name from its host.
    let is_second = second.span.is_some() && (second.kind != "slave" || first.span.is_none());
    let (shown, other) = match is_second {
        true => (second, first),
        false => (first, second),
    };
    let text = match other.kind {
        "" => format!(
            "{} would have the page `{page}.html`, which the whole job has",
            words(shown)
        ),
        _ => format!(
            "{} and {} would both have the page `{page}.html`",
            words(shown),
            words(other)
        ),
    };
    let mut found = Diagnostic::error(codes::RESERVED_NAME, text);
    if let Some(span) = shown.span {
        found = found.at(span, "its pages have this name");
    }
    if let Some(span) = other.span {
        found = found.with_related(span, "so have the pages of this one");
    }
    found.with_help(format!(
        "choose another name, such as `{}_{}`",
        shown.keyword, shown.name
    ))
}
