//! The errors that were printed: the first of several is the reason that is said again at the end, where other lines stand
//! below it. Of a single diagnostic the end names place and code: its text is still in sight. Knows nothing of streams; read
//! [`Reasons::note`] first.

/// What was printed of errors so far.
#[derive(Debug, Default)]
pub struct Reasons {
    /// In one line, with its first detail.
    first: Option<String>,
    /// Of the first, where it is a diagnostic.
    code: Option<String>,
    /// Of the first, where it is in a file: `job:2:36`.
    place: Option<String>,
    count: usize,
    /// The line after the next error may say where or what.
    wants_detail: bool,
    last_line: String,
}

/// The longest reason that is said again, characters.
const SAID_AGAIN_MAX: usize = 300;

impl Reasons {
    pub const fn new() -> Self {
        Self {
            first: None,
            code: None,
            place: None,
            count: 0,
            wants_detail: false,
            last_line: String::new(),
        }
    }

    /// Takes what goes to standard error.
    pub fn note(&mut self, text: &str) {
        for line in text.lines() {
            let line = without_colours(line);
            if line.trim().is_empty() {
                continue;
            }
            if let Some(message) = message_of(&line) {
                self.count += 1;
                self.wants_detail = self.first.is_none();
                if self.first.is_none() {
                    self.first = Some(message.to_owned());
                    self.code = code_of(&line).map(str::to_owned);
                }
            } else if std::mem::take(&mut self.wants_detail) {
                self.add_detail(line.trim());
            }
            self.last_line = line;
        }
    }

    fn add_detail(&mut self, line: &str) {
        let Some(first) = &mut self.first else {
            return;
        };
        if let Some(place) = line.strip_prefix("--> ") {
            self.place = Some(place.to_owned());
            *first += &format!(" ({place})");
        } else if let Some(finding) = line.strip_prefix("- ")
            && first.ends_with(':')
        {
            *first += &format!(" {finding}");
        }
    }

    /// What to say last, unless the last line is an error that says all.
    pub fn to_say(&self) -> Option<String> {
        if message_of(&self.last_line).is_some_and(|message| !message.ends_with(':')) {
            return None;
        }
        let first = self.first.as_ref()?;
        if self.count > 1 {
            let place = self.place.as_ref();
            let place = place.map_or(String::new(), |place| format!(", the first at {place}"));
            return Some(format!("{} errors above{place}", self.count));
        }
        if let (1, Some(code)) = (self.count, &self.code) {
            let place = self.place.as_ref().map(|place| format!(" at {place}"));
            let place = place.unwrap_or_default();
            return Some(format!("refused{place}; `fathom explain {code}` says more"));
        }
        let mut said: String = first.chars().take(SAID_AGAIN_MAX).collect();
        if said.len() < first.len() {
            said.push('…');
        }
        Some(said)
    }

    /// Whether the last line is an error with these words.
    pub fn ends_with(&self, words: &str) -> bool {
        message_of(&self.last_line).is_some_and(|message| message.contains(words))
    }

    /// Whether the last line is an error.
    pub fn ends_with_any(&self) -> bool {
        message_of(&self.last_line).is_some()
    }
}

/// What stands in `error[code]: `.
fn code_of(line: &str) -> Option<&str> {
    Some(line.strip_prefix("error[")?.split_once(']')?.0)
}

/// What follows `error: ` or `error[code]: `.
fn message_of(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("error")?;
    let rest = match rest.strip_prefix('[') {
        Some(coded) => coded.split_once(']')?.1,
        None => rest,
    };
    rest.strip_prefix(": ")
}

fn without_colours(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += part.split_once('m').map_or(part, |(_, text)| text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::Reasons;

    fn after(texts: &[&str]) -> Reasons {
        let mut reasons = Reasons::new();
        texts.iter().for_each(|text| reasons.note(text));
        reasons
    }

    #[test]
    fn an_error_in_the_last_line_is_enough() {
        let reasons = after(&["note: a\n", "error: no room\n", "\n"]);
        assert_eq!(reasons.to_say(), None);
        assert!(reasons.ends_with("no room") && !reasons.ends_with("no file"));
        assert_eq!(after(&["note: a\n"]).to_say(), None);
    }

    #[test]
    fn an_error_that_stands_further_up_is_named_with_its_place_or_finding() {
        let coloured = "\x1b[1m\x1b[91merror[vdb-0107]\x1b[0m: \x1b[1munknown `x`\x1b[0m\n";
        let reasons = after(&[coloured, " \x1b[94m--> \x1b[0mjob:2:36\n", "  |\n"]);
        assert_eq!(
            reasons.to_say().unwrap(),
            "refused at job:2:36; `fathom explain vdb-0107` says more"
        );
        let reasons = after(&[coloured, "--> job:2:36\n", coloured, "  |\n"]);
        assert_eq!(
            reasons.to_say().unwrap(),
            "2 errors above, the first at job:2:36"
        );
        let refusal = [
            "error: `sd1` may not be overwritten:\n",
            "  - ext4 at byte 1080\n",
            "  - blkid finds ext4\n",
            "error: `sd2` may not be overwritten:\n",
        ];
        assert_eq!(after(&refusal).to_say().unwrap(), "2 errors above");
    }

    #[test]
    fn a_long_reason_is_cut() {
        let long = format!("error: {}\nnote\n", "ä".repeat(5000));
        assert_eq!(after(&[&long]).to_say().unwrap().chars().count(), 301);
    }
}
