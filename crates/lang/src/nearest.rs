//! "Did you mean": the closest of some words, by edit distance.

/// The candidate closest to `word`, if it is close enough to be a slip of the fingers.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = match length {
        0..3 => 1,
        3..6 => 2,
        _ => 3,
    };
    within(limit, word, candidates)
}

/// The same for words of which few are near by chance: of a long list, a short word is always near to something.
pub fn nearest_slip<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = match word.chars().count() {
        0..4 => return None,
        4..6 => 1,
        _ => 2,
    };
    within(limit, word, candidates)
}

/// The candidate with the fewest steps to `word`, and at most `limit` of them.
fn within<'a>(
    limit: usize,
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = word.chars().count();
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

/// The word of a list that is meant by `word`: the closest one, and before one that differs in more than a letter the first
/// that it shortens, as `rnd` shortens `random`.
pub(crate) fn nearest_word<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> Option<&'a str> {
    let candidates = candidates.into_iter();
    let lower = word.to_lowercase();
    let close = nearest(word, candidates.clone());
    let is_slip = |near: &&str| distance(&lower, &near.to_lowercase()) <= 1;
    close
        .filter(is_slip)
        .or_else(|| candidates.clone().find(|long| shortens(&lower, long)))
        .or(close)
}

/// Asks whether the word of a list was meant that is nearest to `word`.
pub fn meant<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> Option<String> {
    nearest_word(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// What to write in place of a word that a list lacks: the nearest of them, or any of them where none is near.
pub fn instead_of<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> String {
    let known = known.into_iter();
    meant(word, known.clone()).unwrap_or_else(|| {
        let known: Vec<String> = known.map(|one| format!("`{one}`")).collect();
        match known.as_slice() {
            [others @ .., last] if !others.is_empty() => {
                format!("use {} or {last}", others.join(", "))
            }
            all => format!("use {}", all.concat()),
        }
    })
}

/// Letters that are all left out of a longer word tell nothing.
const SHORT_LETTERS_MIN: usize = 3;
const LONGER_TIMES_MAX: usize = 3;

/// Whether all letters of `short` stand in `long` in their order, from the first on.
fn shortens(short: &str, long: &str) -> bool {
    let long = long.to_lowercase();
    let count = short.chars().count();
    if count < SHORT_LETTERS_MIN || long.chars().count() > LONGER_TIMES_MAX * count {
        return false;
    }
    let mut letters = long.chars();
    short.chars().next() == long.chars().next()
        && short.chars().all(|one| letters.any(|other| other == one))
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
    fn a_short_word_is_near_to_nothing_by_chance() {
        let words = ["net", "report", "randread"];
        assert_eq!(nearest_slip("not", words), None);
        assert_eq!(nearest_slip("knee", words), None);
        assert_eq!(nearest_slip("repotr", words), Some("report"));
        assert_eq!(nearest_slip("randred", words), Some("randread"));
        assert_eq!(nearest_slip("random", words), None);
    }

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_none() {
        let words = ["xfersize", "seekpct", "rdpct"];
        assert_eq!(nearest("xfersise", words), Some("xfersize"));
        assert_eq!(nearest("rdptc", words), Some("rdpct"));
        assert_eq!(nearest("banana", words), None);
    }

    #[test]
    fn a_short_form_finds_the_first_word_that_it_shortens() {
        let seeks = ["random", "sequential", "seqnz", "eof", "poisson"];
        assert_eq!(nearest_word("rnd", seeks), Some("random"));
        assert_eq!(nearest_word("RAND", seeks), Some("random"));
        assert_eq!(nearest_word("seqn", seeks), Some("seqnz"));
        assert_eq!(nearest_word("ponies", seeks), None);
        assert_eq!(nearest_word("rn", seeks), None);
        let kinds = ["read", "write", "randread", "randrw"];
        assert_eq!(nearest_word("rnd", kinds), Some("randread"));
        assert_eq!(nearest_word("raed", kinds), Some("read"));
    }
}
