//! The figures that are published, each with its contenders and its bars.
mod arrivals;
mod file;
mod null;

pub use arrivals::arrival_rate;

use crate::machine::Machine;
use crate::reading::Reading;
use crate::session::{Contender, Session};
use crate::table::Row;

/// The figures by number; the gaps are of figures that are no longer measured.
pub const NUMBERS: &[u8] = &[15, 16, 18];

/// The number of a figure, as it stands on a command line.
///
/// # Errors
/// A message with the list for any other text.
pub fn number(text: &str) -> Result<u8, String> {
    let number = NUMBERS.iter().find(|number| number.to_string() == text);
    number
        .copied()
        .ok_or_else(|| format!("the figures are {NUMBERS:?}"))
}

/// Measures one figure. What cannot be measured here is a row that says why.
pub fn measure(session: &mut Session, machine: &Machine, figure: u8) -> Vec<Row> {
    let (name, needs_fio) = match figure {
        15 => ("null", true),
        16 => ("file", true),
        _ => ("arrivals", false),
    };
    if needs_fio && machine.fio.is_none() {
        let reason = "skipped: fio is not installed".to_owned();
        return vec![Row::without(figure, name, reason)];
    }
    let outcome = match figure {
        15 => null::measure(session, machine),
        16 => file::measure(session),
        _ => arrivals::measure(session, machine),
    };
    outcome.unwrap_or_else(|message| {
        eprintln!("# figure {figure}: {message}");
        vec![Row::without(figure, name, message)]
    })
}

fn contender<'a>(
    name: &str,
    run: impl Fn(&mut Session) -> Result<Reading, String> + 'a,
) -> Contender<'a> {
    Contender {
        name: name.to_owned(),
        run: Box::new(move |session| run(session).map(|reading| vec![reading])),
    }
}

/// The readings of one contender, by round.
fn column(rounds: &[Vec<Reading>], place: usize) -> Vec<Reading> {
    rounds.iter().map(|round| round[place].clone()).collect()
}

/// The mean of a number over readings; not a number when one of them has none.
fn mean(readings: &[Reading], name: &str) -> f64 {
    readings
        .iter()
        .map(|reading| reading.get(name))
        .sum::<f64>()
        / readings.len() as f64
}
