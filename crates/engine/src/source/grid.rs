//! Laws over a fixed grid of blocks, computed once per space: a hot block is the same block whatever
//! the size of a transfer, and a block visited is visited.
use super::permutation::Permutation;
use crate::random::{Chain, Draws, Purpose, share_limit};
use plan::{RandomLaw, SequentialEnd};

/// Draws from outside of the region before a normal law gives up and takes its center.
const TRIES: u32 = 64;

/// A law over the blocks of a space.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    pub unit: u64,
    blocks: u64,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    Zipf {
        ranks: Zipf,
        spread: Spread,
    },
    Pareto {
        exponent: f64,
        spread: Spread,
    },
    /// In blocks.
    Normal {
        center: f64,
        deviation: f64,
    },
    Zoned(Vec<Zone>),
    Once {
        permutation: Permutation,
        keys: Draws,
        end: SequentialEnd,
    },
}

/// Where the block of a rank lies.
#[derive(Clone, Debug)]
enum Spread {
    Scattered { permutation: Permutation, key: u64 },
    From(u64),
}

/// Blocks with their upper limit of 64 random bits, ascending.
#[derive(Clone, Debug)]
struct Zone {
    limit: u64,
    first: u64,
    blocks: u64,
}

impl Grid {
    /// The law over as many blocks of `unit` bytes as have room for `smallest` bytes each within
    /// `width`; `None` for laws that need no grid.
    pub(super) fn new(
        law: &RandomLaw,
        width: u64,
        unit: u64,
        smallest: u64,
        draws: impl Fn(Purpose) -> Draws,
    ) -> Option<Self> {
        let unit = unit.max(1);
        let blocks = width.saturating_sub(smallest) / unit + 1;
        let permutation = Permutation::new(blocks);
        let spread = |center_pct: Option<f64>| match center_pct {
            Some(pct) => Spread::From(at_share(blocks, pct).min(blocks - 1)),
            None => Spread::Scattered {
                permutation,
                key: draws(Purpose::Spread).at(0),
            },
        };
        let shape = match law {
            RandomLaw::Uniform | RandomLaw::Poisson { .. } | RandomLaw::HotBand => return None,
            RandomLaw::Zipf { theta, center_pct } => Shape::Zipf {
                ranks: Zipf::new(*theta, blocks),
                spread: spread(*center_pct),
            },
            RandomLaw::Pareto { power, center_pct } => Shape::Pareto {
                exponent: power.ln() / (1.0 - power).ln(),
                spread: spread(*center_pct),
            },
            RandomLaw::Normal {
                deviation_pct,
                center_pct,
            } => Shape::Normal {
                center: blocks as f64 * center_pct.unwrap_or(50.0) / 100.0,
                deviation: blocks as f64 * deviation_pct / 100.0,
            },
            RandomLaw::Zoned(zones) => Shape::Zoned(zones_by_share(zones, blocks)),
            RandomLaw::ZonedBytes(zones) => Shape::Zoned(zones_by_bytes(zones, blocks, unit)),
            RandomLaw::OncePerBlock(end) => Shape::Once {
                permutation,
                keys: draws(Purpose::Pass),
                end: *end,
            },
        };
        Some(Self {
            unit,
            blocks,
            shape,
        })
    }

    /// Blocks of a pass over all of it.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The block of a draw. `visit` numbers the visits of this space, for laws that count them;
    /// `None` behind the last one.
    #[inline]
    pub(super) fn block(&self, draws: Draws, index: u64, visit: impl Fn() -> u64) -> Option<u64> {
        let block = match &self.shape {
            Shape::Once {
                permutation,
                keys,
                end,
            } => {
                let visit = visit();
                let pass = visit / self.blocks;
                if pass > 0 && *end == SequentialEnd::Stop {
                    return None;
                }
                permutation.of(visit % self.blocks, keys.at(pass))
            }
            Shape::Zipf { ranks, spread } => {
                let rank = ranks.draw(draws.chain(index)) - 1;
                spread.of(rank, self.blocks)
            }
            Shape::Pareto { exponent, spread } => {
                let rank = self.blocks as f64 * draws.unit(index).powf(*exponent);
                spread.of((rank as u64).min(self.blocks - 1), self.blocks)
            }
            Shape::Normal { center, deviation } => {
                self.normal(*center, *deviation, draws.chain(index))
            }
            Shape::Zoned(zones) => {
                let mut chain = draws.chain(index);
                let draw = chain.next();
                let zone = zones.iter().find(|zone| draw < zone.limit);
                let zone = zone.or(zones.last()).expect("zones have been checked");
                zone.first + chain.below(zone.blocks)
            }
        };
        Some(block)
    }

    fn normal(&self, center: f64, deviation: f64, mut chain: Chain) -> u64 {
        for _ in 0..TRIES {
            // Box and Muller: two uniform numbers make a normal one.
            let radius = (-2.0 * chain.unit().ln()).sqrt();
            let angle = std::f64::consts::TAU * chain.unit();
            let block = center + deviation * radius * angle.cos();
            if (0.0..self.blocks as f64).contains(&block) {
                return block as u64;
            }
        }
        (center as u64).min(self.blocks - 1)
    }
}

/// What of a law has no meaning; readers refuse it, so only a plan made by hand holds it.
pub(super) fn misfit(law: &RandomLaw) -> Option<&'static str> {
    let has_shares =
        |shares: &[f64]| shares.iter().all(|pct| *pct >= 0.0) && shares.iter().sum::<f64>() > 0.0;
    let is_right = match law {
        RandomLaw::Uniform | RandomLaw::HotBand | RandomLaw::OncePerBlock(_) => true,
        RandomLaw::Poisson { midpoint } => *midpoint > 0.0,
        RandomLaw::Zipf { theta, .. } => *theta > 0.0 && theta.is_finite(),
        RandomLaw::Pareto { power, .. } => *power > 0.0 && *power < 1.0,
        RandomLaw::Normal { deviation_pct, .. } => *deviation_pct >= 0.0,
        RandomLaw::Zoned(zones) => {
            has_shares(&zones.iter().map(|(pct, _)| *pct).collect::<Vec<_>>())
                && zones.iter().all(|(_, size_pct)| *size_pct >= 0.0)
        }
        RandomLaw::ZonedBytes(zones) => {
            has_shares(&zones.iter().map(|(pct, _)| *pct).collect::<Vec<_>>())
        }
    };
    (!is_right).then_some("a law of addresses with such numbers")
}

/// `pct` percent of `blocks`, rounded down.
fn at_share(blocks: u64, pct: f64) -> u64 {
    (blocks as f64 * (pct / 100.0).clamp(0.0, 1.0)) as u64
}

fn zones_by_share(zones: &[(f64, f64)], blocks: u64) -> Vec<Zone> {
    let (mut accesses_pct, mut sizes_pct) = (0.0, 0.0);
    let zone = |(access_pct, size_pct): &(f64, f64)| {
        let first = at_share(blocks, sizes_pct).min(blocks - 1);
        accesses_pct += access_pct;
        sizes_pct += size_pct;
        // Thirds do not quite add up.
        let is_last = sizes_pct > 100.0 - 1e-6;
        let end = if is_last {
            blocks
        } else {
            at_share(blocks, sizes_pct)
        };
        Zone {
            limit: share_limit(accesses_pct),
            first,
            blocks: end.saturating_sub(first).max(1),
        }
    };
    zones.iter().map(zone).collect()
}

fn zones_by_bytes(zones: &[(f64, u64)], blocks: u64, unit: u64) -> Vec<Zone> {
    let mut end_bytes = 0_u64;
    let mut present = Vec::new();
    for (access_pct, bytes) in zones {
        let first = end_bytes / unit;
        end_bytes = end_bytes.saturating_add(*bytes);
        let end = (end_bytes / unit).min(blocks);
        if first < blocks {
            present.push((*access_pct, first, end.saturating_sub(first).max(1)));
        }
    }
    let whole: f64 = present.iter().map(|(pct, ..)| pct).sum();
    let mut sum_pct = 0.0;
    let zone = |(access_pct, first, blocks): (f64, u64, u64)| {
        sum_pct += access_pct * 100.0 / whole;
        Zone {
            limit: share_limit(sum_pct),
            first,
            blocks,
        }
    };
    present.into_iter().map(zone).collect()
}

impl Spread {
    #[inline]
    fn of(&self, rank: u64, blocks: u64) -> u64 {
        match self {
            Spread::Scattered { permutation, key } => permutation.of(rank, *key),
            Spread::From(center) => (center + rank) % blocks,
        }
    }
}

/// Ranks in proportion to rank^−theta by rejection and inversion (Hörmann and Derflinger 1996): exact
/// for any number of ranks, without a table.
#[derive(Clone, Debug)]
struct Zipf {
    theta: f64,
    ranks: u64,
    integral_first: f64,
    integral_last: f64,
    sure: f64,
}

impl Zipf {
    fn new(theta: f64, ranks: u64) -> Self {
        let mut zipf = Self {
            theta,
            ranks,
            integral_first: 0.0,
            integral_last: 0.0,
            sure: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(ranks as f64 + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    /// From 1 to the number of ranks.
    #[inline]
    fn draw(&self, mut chain: Chain) -> u64 {
        loop {
            let area =
                self.integral_last + chain.unit() * (self.integral_first - self.integral_last);
            let at = self.inverse(area);
            let rank = ((at + 0.5) as u64).clamp(1, self.ranks);
            let number = rank as f64;
            if number - at <= self.sure || area >= self.integral(number + 0.5) - self.weight(number)
            {
                return rank;
            }
        }
    }

    fn weight(&self, rank: f64) -> f64 {
        (-self.theta * rank.ln()).exp()
    }

    /// The integral of the weight from 1, in a form that holds for a theta of 1 too.
    fn integral(&self, rank: f64) -> f64 {
        let log = rank.ln();
        let exponent = (1.0 - self.theta) * log;
        let factor = if exponent.abs() > 1e-8 {
            exponent.exp_m1() / exponent
        } else {
            1.0 + exponent / 2.0
        };
        factor * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        let factor = if scaled.abs() > 1e-8 {
            scaled.ln_1p() / scaled
        } else {
            1.0 - scaled / 2.0
        };
        (factor * area).exp()
    }
}
