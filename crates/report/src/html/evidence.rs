//! The evidence for the verdict as a table: what was seen of each check, in each measured run or, of many runs, in how
//! many of them.
use super::Page;
use super::record::RunRecord;
use super::text::Escaped;
use super::tiles::name_of;
use analysis::words::counted;
use analysis::{Check, Seen};
use std::io::{self, Write};

/// Measured runs that have a column each; of more runs the table has counts.
const MAX_COLUMNS: usize = 6;

/// Reasons that are listed for a check that was not made.
const MAX_REASONS: usize = 3;

/// What a cell shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown<'a> {
    Good,
    Bad,
    NotChecked(&'a str),
    /// All slots of a closed loop are meant to be in use.
    ClosedLoop,
}

/// Writes the table; nothing where no measured run was judged.
pub(super) fn write(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    let judged = (0..page.runs.len()).filter(|run| {
        let run = &page.runs[*run];
        run.measures && !run.evidence.is_empty()
    });
    let judged: Vec<usize> = judged.collect();
    if judged.is_empty() {
        return Ok(());
    }
    let has_columns = judged.len() <= MAX_COLUMNS;
    let heads: Vec<String> = match has_columns {
        true => judged.iter().map(|run| name_of(page, *run)).collect(),
        false => ["✓", "✗", "not checked"].map(String::from).into(),
    };
    write!(
        out,
        "<div class=\"scroll\"><table class=\"evidence\"><thead><tr><th scope=\"col\" class=\"text\">Check</th>"
    )?;
    for head in heads {
        write!(
            out,
            "<th scope=\"col\" class=\"text\">{}</th>",
            Escaped(head)
        )?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for check in Check::ALL {
        let statement = check.statement();
        write!(out, "<tr><th scope=\"row\">{}</th>", Escaped(statement))?;
        let shown = judged.iter().map(|run| shown(&page.runs[*run], check));
        let shown: Vec<Option<Shown>> = shown.collect();
        match has_columns {
            true => shown.iter().try_for_each(|one| write_cell(*one, out))?,
            false => write_counts(&shown, out)?,
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")
}

fn shown(run: &RunRecord, check: Check) -> Option<Shown<'_>> {
    let row = run.evidence.iter().find(|row| row.check == check)?;
    Some(match &row.seen {
        Seen::Good if check == Check::QueueDepth && !run.open => Shown::ClosedLoop,
        Seen::Good => Shown::Good,
        Seen::Bad => Shown::Bad,
        Seen::NotSeen(why) => Shown::NotChecked(why),
    })
}

fn write_cell(shown: Option<Shown>, out: &mut dyn Write) -> io::Result<()> {
    let (class, text) = match shown {
        None => ("", "–".to_owned()),
        Some(Shown::Good) => (" good", "✓".to_owned()),
        Some(Shown::Bad) => (" failed", "✗".to_owned()),
        Some(Shown::NotChecked(why)) => ("", format!("not checked: {why}")),
        Some(Shown::ClosedLoop) => ("", "closed loop".to_owned()),
    };
    write!(out, "<td class=\"text{class}\">{}</td>", Escaped(text))
}

/// Three cells: in how many runs the check was good, bad, and not made.
fn write_counts(shown: &[Option<Shown>], out: &mut dyn Write) -> io::Result<()> {
    let of = |is_such: &dyn Fn(&Shown) -> bool| {
        let such = shown.iter().flatten().filter(|one| is_such(one));
        match such.count() {
            0 => "–".to_owned(),
            count => format!("{count} of {}", counted(shown.len() as u64, "run")),
        }
    };
    // Of a closed loop it is said how its latency is to be read.
    let good = of(&|one| matches!(one, Shown::Good | Shown::ClosedLoop));
    let bad = of(&|one| *one == Shown::Bad);
    let mut not_checked = of(&|one| matches!(one, Shown::NotChecked(_)));
    let mut reasons: Vec<&str> = Vec::new();
    for one in shown.iter().flatten() {
        if let Shown::NotChecked(why) = *one
            && !reasons.contains(&why)
            && reasons.len() < MAX_REASONS
        {
            reasons.push(why);
        }
    }
    if !reasons.is_empty() {
        not_checked += &format!(": {}", reasons.join("; "));
    }
    for (class, text) in [(" good", good), (" failed", bad), ("", not_checked)] {
        write!(out, "<td class=\"text{class}\">{}</td>", Escaped(text))?;
    }
    Ok(())
}
