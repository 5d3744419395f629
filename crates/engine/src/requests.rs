//! What pools ask for with each of their requests, as the kernel is told.
use crate::kind::BackendKind;
use plan::{Pool, RequestMode};
use sys::requests::{RequestMode as Asked, Submitter};

/// What a backend asks the kernel for.
///
/// # Errors
/// In words, what the backend cannot do.
pub(crate) fn asked(pool: &Pool, kind: BackendKind) -> Result<Asked, &'static str> {
    let has_no_queue = matches!(kind, BackendKind::Sync);
    if has_no_queue && !pool.priorities.is_empty() {
        return Err("give single requests a priority");
    }
    mode(pool.requests, kind)
}

fn mode(mode: RequestMode, kind: BackendKind) -> Result<Asked, &'static str> {
    let asks_threads = mode.handed_off_every > 0 || mode.submitter.is_some();
    match kind {
        BackendKind::Uring if !matches!(mode.polled_pct, 0 | 100) => {
            return Err("poll for a part of its requests");
        }
        BackendKind::Aio if mode.polled_pct > 0 => return Err("poll for completions"),
        BackendKind::Aio | BackendKind::Sync if asks_threads => {
            return Err("leave requests to threads of the kernel");
        }
        BackendKind::Mapped | BackendKind::Names | BackendKind::Space if mode.writes_whole => {
            return Err("have writes stored as a whole");
        }
        BackendKind::Uring | BackendKind::Aio | BackendKind::Sync => {}
        // They reach no data, or by no request.
        _ => return Ok(Asked::default()),
    }
    Ok(Asked {
        never_waits: mode.never_waits,
        leaves_no_cache: mode.leaves_no_cache,
        writes_whole: mode.writes_whole,
        is_polled: mode.polled_pct > 0,
        handed_off_every: mode.handed_off_every,
        submitter: mode
            .submitter
            .map(|submitter| Submitter { cpu: submitter.cpu }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_backend_cannot_do_is_refused() {
        let none = RequestMode::default();
        let half = RequestMode {
            polled_pct: 50,
            ..none
        };
        let handed = RequestMode {
            handed_off_every: 2,
            ..none
        };
        let whole = RequestMode {
            writes_whole: true,
            ..none
        };
        for (kind, mode, is_done) in [
            (BackendKind::Uring, half, false),
            (BackendKind::Uring, handed, true),
            (BackendKind::Aio, half, false),
            (BackendKind::Aio, handed, false),
            (BackendKind::Sync, half, true),
            (BackendKind::Sync, handed, false),
            (BackendKind::Null, handed, true),
            (BackendKind::Aio, whole, true),
            (BackendKind::Mapped, whole, false),
        ] {
            assert_eq!(super::mode(mode, kind).is_ok(), is_done, "{kind} {mode:?}");
        }
        for kind in [BackendKind::Uring, BackendKind::Aio, BackendKind::Sync] {
            assert_eq!(mode(none, kind), Ok(Asked::default()));
        }
    }
}
