//! Which words of `--overwrite` count on which host.
use conduct::machine::Examined;
use measure::HostId;
use plan::{Plan, PlanHost};

/// The words that each host is given: its own without its name, and those that name no host.
pub fn by_host(plan: &Plan, words: &[String]) -> Vec<Vec<String>> {
    match plan.is_spread() {
        false => vec![words.to_vec(); plan.hosts.len().max(1)],
        true => {
            let hosts = plan.hosts.iter();
            hosts
                .map(|host| words_for(host, &plan.hosts, words))
                .collect()
        }
    }
}

fn words_for(host: &PlanHost, hosts: &[PlanHost], words: &[String]) -> Vec<String> {
    let own = |word: &String| match bare(word, hosts) {
        own if own == word => Some(word.clone()),
        own => word
            .starts_with(&format!("{}:", host.name))
            .then(|| own.to_owned()),
    };
    words.iter().filter_map(own).collect()
}

/// A word without the name of a host.
fn bare<'a>(word: &'a str, hosts: &[PlanHost]) -> &'a str {
    let own = |host: &PlanHost| word.strip_prefix(&host.name)?.strip_prefix(':');
    hosts.iter().find_map(own).unwrap_or(word)
}

/// What hosts can do with the words that they were given.
pub struct Uses {
    /// Each word without a host, and whether it named one.
    words: Vec<Word>,
    /// Of each host, the words that name a target there.
    granted: Vec<Vec<String>>,
    /// Names of hosts, where there are several.
    hosts: Vec<String>,
    is_reached: bool,
}

struct Word {
    text: String,
    bare: String,
}

impl Uses {
    pub fn of(
        plan: &Plan,
        words: &[String],
        mut given: Vec<Vec<String>>,
        examined: &[(HostId, Examined)],
    ) -> Self {
        let hosts: &[PlanHost] = match plan.is_spread() {
            true => &plan.hosts,
            false => &[],
        };
        for (host, given) in given.iter_mut().enumerate() {
            let told = examined.iter().find(|(one, _)| *one as usize == host);
            let is_used = |word: &String| told.is_some_and(|(_, told)| !told.unused.contains(word));
            given.retain(is_used);
        }
        let word = |text: &String| Word {
            bare: bare(text, hosts).to_owned(),
            text: text.clone(),
        };
        Self {
            words: words.iter().map(word).collect(),
            granted: given,
            hosts: hosts.iter().map(|host| host.name.clone()).collect(),
            is_reached: examined.iter().any(|(_, told)| told.reaches_storage),
        }
    }

    /// Those that a host may use.
    pub fn granted(&self, host: HostId) -> Vec<String> {
        self.granted[host as usize].clone()
    }

    /// Where no storage is reached nothing is overwritten, whatever is named.
    pub fn on_no_host(&self) -> Vec<String> {
        let is_unused = |word: &&Word| self.users(word).next().is_none() && self.is_reached;
        let unused = self.words.iter().filter(is_unused);
        unused.map(|word| word.text.clone()).collect()
    }

    /// A word without a host that several hosts have a target for.
    pub fn doubt(&self) -> Option<String> {
        let is_doubtful =
            |word: &&Word| word.bare == word.text && self.users(word).nth(1).is_some();
        let word = self.words.iter().find(is_doubtful)?;
        let users: Vec<&str> = self.users(word).map(|host| &*self.hosts[host]).collect();
        Some(format!(
            "`--overwrite {}` names a target on each of {}; say which, as in `--overwrite {}:{}`",
            word.text,
            users.join(", "),
            users[0],
            word.text
        ))
    }

    fn users(&self, word: &Word) -> impl Iterator<Item = usize> {
        let all = self.granted.iter().enumerate();
        let users = all.filter(|(_, words)| words.contains(&word.bare));
        let users: Vec<usize> = users.map(|(host, _)| host).collect();
        users.into_iter()
    }
}
