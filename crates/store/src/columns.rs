//! Rows of numbers as bytes, column by column: what many rows have in common takes one place, and what nobody told takes
//! none. A later layout may add columns at the end.
//!
//! The form, all numbers as varints (seven bits each, the lowest first, the highest bit set but in the last byte): how
//! many rows, how many columns; then each column: a byte 0 where no row tells it, 1 and one value where all are the same,
//! 2 and a value for each row. A value is 0 for what is not told, else the number plus one.
use crate::error::{Outcome, Problem};

/// More rows than any interval has.
const ROWS_MAX: u64 = 1 << 20;
const COLUMNS_MAX: u64 = 1 << 8;

/// What stands in front of a column.
const NONE_TOLD: u8 = 0;
const ALL_THE_SAME: u8 = 1;
const EACH: u8 = 2;

/// A row of numbers, some of which are not told.
pub(crate) type Row<const N: usize> = [Option<u64>; N];

/// `None` without rows.
pub(crate) fn pack<const N: usize>(rows: &[Row<N>]) -> Option<Vec<u8>> {
    let first = rows.first()?;
    let mut bytes = Vec::with_capacity(rows.len() * N * 2);
    put(&mut bytes, rows.len() as u128);
    put(&mut bytes, N as u128);
    for column in 0..N {
        let value = |row: &Row<N>| row[column].map_or(0, |number| u128::from(number) + 1);
        let is_same = rows.iter().all(|row| row[column] == first[column]);
        match (is_same, first[column]) {
            (true, None) => bytes.push(NONE_TOLD),
            (true, Some(_)) => {
                bytes.push(ALL_THE_SAME);
                put(&mut bytes, value(first));
            }
            (false, _) => {
                bytes.push(EACH);
                rows.iter().for_each(|row| put(&mut bytes, value(row)));
            }
        }
    }
    Some(bytes)
}

/// The rows that [`pack`] made these bytes of; columns that it did not know are not told.
pub(crate) fn unpack<const N: usize>(bytes: Option<Vec<u8>>) -> Outcome<Vec<Row<N>>> {
    let Some(bytes) = bytes else {
        return Ok(Vec::new());
    };
    read(&mut bytes.as_slice()).ok_or_else(torn)
}

fn read<const N: usize>(bytes: &mut &[u8]) -> Option<Vec<Row<N>>> {
    let count = take(bytes)?;
    let columns = take(bytes)?;
    if count > u128::from(ROWS_MAX) || columns > u128::from(COLUMNS_MAX) {
        return None;
    }
    let mut rows = vec![[None; N]; count as usize];
    for column in 0..columns as usize {
        let form = take_byte(bytes)?;
        let mut same = None;
        for row in &mut rows {
            let value = match (form, same) {
                (NONE_TOLD, _) => None,
                (ALL_THE_SAME, Some(same)) => same,
                (ALL_THE_SAME, None) => *same.insert(value(take(bytes)?)?),
                (EACH, _) => value(take(bytes)?)?,
                _ => return None,
            };
            if let Some(place) = row.get_mut(column) {
                *place = value;
            }
        }
    }
    bytes.is_empty().then_some(rows)
}

fn value(told: u128) -> Option<Option<u64>> {
    match told.checked_sub(1) {
        None => Some(None),
        Some(number) => u64::try_from(number).ok().map(Some),
    }
}

fn torn() -> Problem {
    Problem::Damaged("numbers of a sample cannot be unpacked".to_owned())
}

fn put(bytes: &mut Vec<u8>, mut number: u128) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(*first)
}

fn take(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let byte = take_byte(bytes)?;
        number |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = Option<u64>> {
        (any::<bool>(), 0_u32..64, any::<u64>())
            .prop_map(|(is_told, shift, value)| is_told.then_some(value >> shift))
    }

    proptest! {
        #[test]
        fn rows_come_back(
            rows in proptest::collection::vec((number(), number()), 0..20),
            same in number()
        ) {
            let rows: Vec<Row<4>> = rows.into_iter().map(|(a, b)| [a, same, None, b]).collect();
            prop_assert_eq!(unpack::<4>(pack(&rows)).unwrap(), rows.clone());
            // An earlier and a later layout.
            let fewer: Vec<Row<2>> = rows.iter().map(|row| [row[0], row[1]]).collect();
            prop_assert_eq!(unpack::<2>(pack(&rows)).unwrap(), fewer);
            let more: Vec<Row<5>> = rows.iter().map(|row| [row[0], row[1], row[2], row[3], None]).collect();
            prop_assert_eq!(unpack::<5>(pack(&rows)).unwrap(), more);
        }

        #[test]
        fn arbitrary_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(rows) = unpack::<3>(Some(bytes)) {
                prop_assert!(rows.len() as u64 <= ROWS_MAX);
            }
        }
    }
}
