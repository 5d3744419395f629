//! Whether targets can store writes as a whole or not at all, looked at before a run asks them to.
use super::{OpenError, OpenTargets};
use plan::{BoundPlan, BoundRun, Stream, TransferSizes};
use std::path::PathBuf;

/// Looks at each target that a run writes so.
///
/// # Errors
/// The first target that cannot store a write of the run.
pub(crate) fn check(plan: &BoundPlan, run: &BoundRun, open: &OpenTargets) -> Result<(), OpenError> {
    let asks = |stream: &Stream| {
        let pool = &run.run.pools[stream.pool.index()];
        let writes = match (stream.source.replay(), stream.source.laws()) {
            (None, Some(laws)) => laws.operations.write_pct > 0.0,
            _ => run.run.changes_data(stream),
        };
        pool.requests.writes_whole && writes && run.run.name_call(stream).is_none()
    };
    for (number, stream) in run.run.streams.iter().enumerate() {
        if !asks(stream) {
            continue;
        }
        let lengths = match (stream.source.replay(), stream.source.laws()) {
            (None, Some(laws)) => lengths(&laws.transfer.write),
            // A record has its own, which the kernel looks at.
            _ => Vec::new(),
        };
        for (id, file) in stream.targets.iter().zip(&open.by_stream[number]) {
            let target = plan.plan.target(*id);
            if !target.is_real() {
                continue;
            }
            let path = || PathBuf::from(&target.path);
            let limits = sys::file::whole_writes(&*open.file(*file)?);
            let limits = limits.map_err(|error| OpenError::Io {
                path: path(),
                direct: false,
                error,
            })?;
            let fits = |bytes: &u64| {
                limits.is_some_and(|limits| {
                    let range = u64::from(limits.min)..=u64::from(limits.max);
                    bytes.is_power_of_two() && range.contains(bytes)
                })
            };
            let misfit = lengths.iter().find(|bytes| !fits(bytes)).copied();
            if limits.is_none() || misfit.is_some() {
                return Err(OpenError::NotWhole {
                    path: path(),
                    bytes: misfit,
                    limits: limits.map(|limits| (limits.min, limits.max)),
                });
            }
        }
    }
    Ok(())
}

/// Lengths that are drawn; of a range its ends and the first behind the begin, of which one is no power of two
/// where any is none.
fn lengths(sizes: &TransferSizes) -> Vec<u64> {
    match sizes {
        TransferSizes::Fixed(bytes) => vec![*bytes],
        TransferSizes::Mix(shares) => shares.iter().map(|share| share.bytes).collect(),
        TransferSizes::Uniform { min, max, step } | TransferSizes::Capped { min, max, step } => {
            let mut lengths = vec![*min, *max];
            lengths.extend((min + 2 * step <= *max).then_some(min + 2 * step));
            lengths.extend((min + step <= *max).then_some(min + step));
            lengths
        }
    }
}
