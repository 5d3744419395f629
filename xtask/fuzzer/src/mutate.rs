//! Makes new inputs out of old ones: by bytes, by words, by lines, and by joining two.

/// Numbers at which readers tend to break.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "00",
    "1.5",
    "1e9",
    ".",
    "99",
    "100",
    "101",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "99999999999999999999",
    "1k",
    "8191p",
    "1m",
    "0x10",
    "NaN",
];

const BYTES: &[u8] = &[
    0, 1, 9, 10, 13, 32, 34, 36, 39, 40, 41, 42, 44, 45, 58, 61, 64, 127, 128, 192, 255,
];

/// Inputs never grow beyond this, so that one execution stays short. A result file with all its tables fits.
const LONGEST_BYTES: usize = 1 << 18;

/// How an input is cut into pieces that may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Lines and the words in them.
    Text,
    /// Blocks, and big-endian numbers.
    Binary,
}

/// A stream of inputs that depends on nothing but the seed and what it is asked.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
    grain: Grain,
    words: &'static [&'static str],
}

impl Mutator {
    /// `words` are put into texts now and then.
    pub fn new(seed: u64, grain: Grain, words: &'static [&'static str]) -> Self {
        Self {
            state: seed,
            grain,
            words,
        }
    }

    /// An input, changed in one place or several, some of it taken from the other.
    pub fn next(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut data = input.to_vec();
        let changes = [1, 1, 1, 1, 2, 2, 4, 8][self.below(8)];
        for _ in 0..changes {
            self.change(&mut data, other);
        }
        data.truncate(LONGEST_BYTES);
        data
    }

    /// A number under `limit`, which is not zero.
    pub fn below(&mut self, limit: usize) -> usize {
        // SplitMix64. The remainder favours small numbers by less than one in 2^40 here.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    fn change(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        match (self.grain, self.below(10)) {
            (Grain::Text, 0) => self.change_bytes(data),
            (Grain::Text, 1) => self.splice(data, other),
            (Grain::Text, 2) => self.move_range(data),
            (Grain::Text, 3..=5) => self.change_lines(data, other),
            (Grain::Text, _) => self.change_words(data, other),
            // A file of pages of which one byte is missing is refused as a whole, so that is rare.
            (Grain::Binary, 0) if self.below(8) == 0 => self.splice(data, other),
            (Grain::Binary, 0) if self.below(8) == 0 => self.move_range(data),
            (Grain::Binary, 0..=7) => self.change_number(data),
            (Grain::Binary, _) => self.copy_block(data, other),
        }
    }

    fn change_bytes(&mut self, data: &mut Vec<u8>) {
        let at = self.below(data.len() + 1);
        let byte = BYTES[self.below(BYTES.len())];
        match self.below(4) {
            0 => data.insert(at, byte),
            1 if at < data.len() => data[at] = byte,
            2 if at < data.len() => data[at] ^= 1 << self.below(8),
            _ if at < data.len() => {
                data.remove(at);
            }
            _ => data.push(byte),
        }
    }

    /// The beginning of one and the end of the other.
    fn splice(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        data.truncate(self.below(data.len() + 1));
        data.extend_from_slice(&other[self.below(other.len() + 1)..]);
    }

    /// Doubles, moves or cuts out a piece.
    fn move_range(&mut self, data: &mut Vec<u8>) {
        let start = self.below(data.len() + 1);
        let length = self.below(64.min(data.len() - start) + 1);
        let piece = data[start..start + length].to_vec();
        if self.below(2) == 0 {
            data.drain(start..start + length);
        }
        if self.below(2) == 0 {
            let at = self.below(data.len() + 1);
            data.splice(at..at, piece);
        }
    }

    fn change_lines(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        let mut lines: Vec<Vec<u8>> = data
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let at = self.below(lines.len());
        let place = self.below(lines.len());
        match self.below(6) {
            0 => {
                let line = lines[at].clone();
                lines.insert(at, line);
            }
            1 => {
                lines.remove(at);
            }
            2 => lines.swap(at, place),
            3 => {
                let line = lines.remove(at);
                lines.insert(place.min(lines.len()), line);
            }
            4 => {
                let others: Vec<&[u8]> = other.split(|byte| *byte == b'\n').collect();
                lines.insert(at, others[self.below(others.len())].to_vec());
            }
            _ => {
                // Joins a line with the one behind it.
                let line = lines.remove(at);
                match lines.get_mut(at) {
                    Some(next) => next.splice(0..0, line).for_each(drop),
                    None => lines.push(line),
                }
            }
        }
        *data = lines.join(&b'\n');
    }

    fn change_words(&mut self, data: &mut Vec<u8>, other: &[u8]) {
        let words = words(data);
        if words.is_empty() {
            return;
        }
        let range = words[self.below(words.len())].clone();
        let text: Vec<u8> = match self.below(6) {
            0 => NUMBERS[self.below(NUMBERS.len())].into(),
            1 | 2 if !self.words.is_empty() => self.words[self.below(self.words.len())].into(),
            3 => {
                let theirs = self::words(other);
                let taken = (!theirs.is_empty()).then(|| theirs[self.below(theirs.len())].clone());
                taken.map(|taken| other[taken].to_vec()).unwrap_or_default()
            }
            4 => {
                let own = words[self.below(words.len())].clone();
                data[own].to_vec()
            }
            _ => {
                let mut list = b"(".to_vec();
                list.extend_from_slice(&data[range.clone()]);
                list.extend_from_slice(b",");
                list.extend_from_slice(NUMBERS[self.below(NUMBERS.len())].as_bytes());
                list.extend_from_slice(b")");
                list
            }
        };
        data.splice(range, text);
    }

    fn change_number(&mut self, data: &mut [u8]) {
        let width = 1 << self.below(4);
        if data.len() < width {
            return;
        }
        let at = self.below(data.len() - width + 1);
        let value = match self.below(4) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << self.below(64),
            _ => self.below(300) as u64,
        };
        data[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
    }

    /// Lays a block of the other over one of this.
    fn copy_block(&mut self, data: &mut [u8], other: &[u8]) {
        let block = [16, 256, 4096][self.below(3)];
        let (own_blocks, other_blocks) = (data.len() / block, other.len() / block);
        if own_blocks == 0 || other_blocks == 0 {
            return;
        }
        let (to, from) = (
            self.below(own_blocks) * block,
            self.below(other_blocks) * block,
        );
        data[to..to + block].copy_from_slice(&other[from..from + block]);
    }
}

/// Where letters and digits stand together.
fn words(data: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut words: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, byte) in data.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() && !b"._-".contains(byte) {
            continue;
        }
        match words.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => words.push(at..at + 1),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: &[u8] = b"sd=a,lun=/b\nrd=c,elapsed=10\n";

    #[test]
    fn the_same_seed_makes_the_same_inputs() {
        for grain in [Grain::Text, Grain::Binary] {
            let make = |seed| {
                let mut mutator = Mutator::new(seed, grain, &["word"]);
                let made = (0..500).map(|_| mutator.next(INPUT, b"x=1"));
                made.collect::<Vec<_>>()
            };
            assert_eq!(make(1), make(1));
            assert_ne!(make(1), make(2));
        }
    }

    #[test]
    fn inputs_of_any_length_can_be_changed_and_stay_bounded() {
        let mut mutator = Mutator::new(7, Grain::Text, &[]);
        let long = vec![b'\n'; LONGEST_BYTES];
        let mut pool = [INPUT.to_vec(), Vec::new(), b"x".to_vec()];
        for round in 0..2_000 {
            let other = if round % 100 == 0 { &long } else { &pool[1] };
            let made = mutator.next(&pool[round % 3], other);
            assert!(made.len() <= LONGEST_BYTES);
            pool[(round + 1) % 3] = made;
        }
    }

    #[test]
    fn most_inputs_differ_from_their_origin() {
        let mut mutator = Mutator::new(3, Grain::Text, &["word"]);
        let changed = (0..1_000)
            .filter(|_| mutator.next(INPUT, b"y") != INPUT)
            .count();
        assert!(changed > 800, "{changed} of 1000");
    }
}
