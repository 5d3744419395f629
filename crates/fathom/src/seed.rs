//! From which number places and arrivals are drawn. Two executions with the same one touch the same addresses in the same
//! order, and the second would be a measurement of caches; so it is drawn anew unless somebody asks for one.
use crate::arguments::Common;
use crate::resume::Earlier;

/// Where nothing is to change between two readings of a job.
const FIXED: u64 = 1;

/// Seeds of one execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Of places and arrivals.
    pub draws: u64,
    /// Of what has to be as it was for the next execution to find it: sizes of files that are drawn.
    pub content: u64,
}

impl Seeds {
    /// The same for every reading, unless a seed is given.
    pub fn fixed(common: &Common) -> Self {
        let seed = common.seed.unwrap_or(FIXED);
        Self {
            draws: seed,
            content: seed,
        }
    }

    /// Draws that no other execution has, unless a seed is given, or an execution is resumed.
    ///
    /// # Errors
    /// In words, when there is no result that can be resumed.
    pub fn of_execution(common: &Common) -> Result<Self, String> {
        let earlier = common.resume.as_deref().map(Earlier::read).transpose()?;
        let earlier = earlier.map(|one| one.started.seed);
        Ok(Self {
            draws: common.seed.or(earlier).unwrap_or_else(drawn),
            ..Self::fixed(common)
        })
    }
}

/// A seed that nobody chose; short enough to be typed.
pub fn drawn() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mixed =
        now.map_or(FIXED, |since| since.as_nanos() as u64) ^ u64::from(std::process::id()) << 32;
    // The bits that change from one moment to the next are the low ones of both.
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32).max(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_counts_for_all_and_nothing_else_repeats() {
        let given = Common {
            seed: Some(7),
            ..Common::default()
        };
        let both = Seeds {
            draws: 7,
            content: 7,
        };
        assert_eq!(
            (Seeds::of_execution(&given), Seeds::fixed(&given)),
            (Ok(both), both)
        );
        let free = Common::default();
        let drawn: Vec<Seeds> = (0..3)
            .map(|_| Seeds::of_execution(&free).unwrap())
            .collect();
        assert!(drawn[0].draws != drawn[1].draws && drawn[1].draws != drawn[2].draws);
        assert!(
            drawn
                .iter()
                .all(|one| one.content == FIXED && one.draws > FIXED)
        );
        assert_eq!(Seeds::fixed(&free).draws, FIXED);
    }
}
