//! The curve of hot spots: how much of the accesses falls within how many bytes. Between two points
//! it is a straight line.

/// Megabytes (10⁶ bytes) with the share of accesses below them.
const CURVE: [(u64, f64); 29] = [
    (0, 0.0),
    (1 << 4, 0.087_217),
    (1 << 5, 0.101_01),
    (1 << 6, 0.132_206),
    (1 << 7, 0.159_946),
    (1 << 8, 0.201_713),
    (1 << 9, 0.262_602),
    (1 << 10, 0.326_45),
    (1 << 11, 0.366_902),
    (1 << 12, 0.386_175),
    (1 << 13, 0.436_941),
    (1 << 14, 0.482_631),
    (1 << 15, 0.523_752),
    (1 << 16, 0.560_76),
    (1 << 17, 0.594_068),
    (1 << 18, 0.624_045),
    (1 << 19, 0.651_024),
    (1 << 20, 0.675_305),
    (1 << 21, 0.697_159),
    (1 << 22, 0.716_827),
    (1 << 23, 0.734_528),
    (1 << 24, 0.750_459),
    (1 << 25, 0.764_797),
    (1 << 26, 0.777_701),
    (1 << 27, 0.789_314),
    (1 << 28, 0.799_767),
    (1 << 29, 0.809_174),
    (1 << 30, 0.817_64),
    (10 << 30, 1.0),
];

/// The byte below which a share `unit` (from 0 to 1) of the accesses falls.
#[inline]
pub(super) fn byte_at(unit: f64) -> f64 {
    let above = CURVE.partition_point(|(_, share)| *share < unit);
    let (upper_mb, upper) = CURVE[above.clamp(1, CURVE.len() - 1)];
    let (lower_mb, lower) = CURVE[above.clamp(1, CURVE.len() - 1) - 1];
    let part = (unit - lower) / (upper - lower);
    (lower_mb as f64 + part * (upper_mb - lower_mb) as f64) * 1e6
}

/// The share of accesses below a byte: what [`byte_at`] undoes.
#[cfg(test)]
pub(super) fn share_below(byte: f64) -> f64 {
    let mb = byte / 1e6;
    let above = CURVE
        .partition_point(|(limit, _)| (*limit as f64) < mb)
        .clamp(1, CURVE.len() - 1);
    let ((upper_mb, upper), (lower_mb, lower)) = (CURVE[above], CURVE[above - 1]);
    lower + (upper - lower) * (mb - lower_mb as f64) / (upper_mb - lower_mb) as f64
}
