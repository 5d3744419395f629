//! Logs of single I/Os, as both programs write them: `time, latency, direction, size, offset, priority`.
use std::fmt;
use std::path::Path;

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub direction: u8,
    pub offset: u64,
    pub length: u64,
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = ["R", "W", "T"].get(usize::from(self.direction));
        let letter = letter.unwrap_or(&"?");
        write!(out, "{letter}{}+{}", self.offset, self.length)
    }
}

/// The I/Os of a log in their order; none where there is no log.
pub fn read(path: &Path) -> Result<Vec<Row>, String> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Ok(Vec::new());
    };
    rows(&text).map_err(|line| format!("{}: `{line}`", path.display()))
}

/// A last line without its end is what a program wrote that was ended by force.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let row = |line: &str| row(line).ok_or_else(|| line.to_owned());
    whole.lines().map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split(',').map(str::trim).skip(2);
    Some(Row {
        direction: words.next()?.parse().ok()?,
        length: words.next()?.parse().ok()?,
        offset: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_direction_size_and_offset() {
        let row = row("12, 928, 1, 4096, 8192, 0").unwrap();
        assert_eq!(row.to_string(), "W8192+4096");
        assert!(super::row("12, 928, 1").is_none());
    }

    #[test]
    fn a_log_that_was_cut_short_is_read_up_to_there() {
        let lines = "1, 2, 0, 512, 0, 0\n1, 2, 0, 512, 512, 0\n";
        assert_eq!(rows(&format!("{lines}130")).unwrap().len(), 2);
        assert_eq!(rows("130"), Ok(Vec::new()));
        assert!(rows("130\n1").is_err());
    }
}
