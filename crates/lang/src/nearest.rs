//! "Did you mean": the closest of some words, by edit distance.

/// The candidate closest to `word`, if it is close enough to be a slip of the fingers.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = match length {
        0..3 => 1,
        3..6 => 2,
        _ => 3,
    };
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        // Each letter more or less is one step. A file that is no job asks this for every line.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= limit)
        .filter(|candidate| *candidate != word)
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(far, candidate)| *far <= limit && *far < candidate.chars().count())
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 3 {
        return usize::MAX;
    }
    let width = b.len() + 1;
    let mut table = vec![0; (a.len() + 1) * width];
    for row in 0..=a.len() {
        for column in 0..=b.len() {
            let at = row * width + column;
            table[at] = if row == 0 || column == 0 {
                row + column
            } else {
                let same = usize::from(a[row - 1] != b[column - 1]);
                let mut least = (table[at - width - 1] + same)
                    .min(table[at - width] + 1)
                    .min(table[at - 1] + 1);
                let swapped = row > 1
                    && column > 1
                    && a[row - 1] == b[column - 2]
                    && a[row - 2] == b[column - 1];
                if swapped {
                    least = least.min(table[at - 2 * width - 2] + 1);
                }
                least
            };
        }
    }
    table[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_none() {
        let words = ["xfersize", "seekpct", "rdpct"];
        assert_eq!(nearest("xfersise", words), Some("xfersize"));
        assert_eq!(nearest("rdptc", words), Some("rdpct"));
        assert_eq!(nearest("banana", words), None);
    }
}
