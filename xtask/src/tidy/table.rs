//! Reads a table out of a Markdown document.

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// From 1.
    pub line: usize,
    /// Without blanks around them and without backticks.
    pub cells: Vec<String>,
}

/// The rows of the first table below a heading, without its head. Empty when there is no such heading or table.
pub fn rows(document: &str, heading: &str) -> Vec<Row> {
    let mut lines = document.lines().enumerate();
    if !lines
        .any(|(_, line)| line.starts_with('#') && line.trim_start_matches('#').trim() == heading)
    {
        return Vec::new();
    }
    lines
        .take_while(|(_, line)| !line.starts_with('#'))
        .skip_while(|(_, line)| !line.starts_with('|'))
        .take_while(|(_, line)| line.starts_with('|'))
        .skip(2)
        .map(|(index, line)| Row {
            line: index + 1,
            cells: line.trim().trim_matches('|').split('|').map(cell).collect(),
        })
        .collect()
}

fn cell(text: &str) -> String {
    text.trim().replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn the_table_below_the_heading_is_read() {
        let document = "# A\n| x | y |\n|---|---|\n| 1 | 2 |\n\n## B\ntext\n| x | y |\n|---|---|\n| `a` | b, `c` |\n\n| z |\n";
        let found = rows(document, "B");
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].line, &found[0].cells[..]),
            (10, &["a".to_owned(), "b, c".to_owned()][..])
        );
        assert!(rows(document, "C").is_empty());
    }
}
