//! Which backend is chosen where nobody asks for one, and with which reason.
mod plans;

use engine::{BackendChoice, BackendKind, choose_backend};
use plan::*;
use plans::*;
use std::path::Path;

fn bound(direct: bool, ram_backed: bool) -> BoundPlan {
    let mut disk = target(Path::new("/dev/disk"), TargetKind::Device, MIB);
    disk.open.direct = direct;
    let facts = Facts {
        same: Vec::new(),
        targets: vec![TargetFacts {
            found: FoundKind::BlockDevice,
            bytes: MIB,
            alignment: Alignment {
                offset: 512,
                memory: 512,
            },
            ram_backed,
        }],
    };
    let streams = vec![stream(0, 0, |_| {})];
    bind(
        plan(vec![disk], &[4], streams, vec![flat_out(SECOND, SECOND)]),
        &facts,
    )
    .unwrap()
}

fn refused(what: &str) -> impl Fn() -> Option<String> {
    let what = (!what.is_empty()).then(|| what.to_owned());
    move || what.clone()
}

fn chosen(plan: &BoundPlan, no_ring: &str, no_aio: &str) -> (BackendKind, String) {
    let BackendChoice { kind, reason, .. } =
        choose_backend(plan, None, refused(no_ring), refused(no_aio));
    (kind, reason)
}

#[test]
fn rings_go_before_native_aio_and_that_before_plain_calls() {
    let plan = bound(true, false);
    assert_eq!(chosen(&plan, "", "").0, BackendKind::Uring);
    let (kind, reason) = chosen(&plan, "EPERM", "");
    assert_eq!(kind, BackendKind::Aio);
    assert_eq!(reason, "io_uring is unavailable: EPERM");
    let (kind, reason) = chosen(&plan, "EPERM", "ENOSYS");
    assert_eq!(kind, BackendKind::Sync);
    assert!(
        reason.contains("EPERM") && reason.ends_with("ENOSYS"),
        "{reason}"
    );
}

#[test]
fn the_page_cache_is_served_by_plain_calls() {
    for no_ring in ["", "EPERM"] {
        let (kind, reason) = chosen(&bound(false, false), no_ring, "");
        assert_eq!(kind, BackendKind::Sync);
        assert!(reason.contains("without direct I/O"), "{reason}");
    }
}

#[test]
fn memory_is_served_by_plain_calls_and_a_wish_goes_before_all() {
    let plan = bound(true, true);
    assert_eq!(chosen(&plan, "", "").0, BackendKind::Sync);
    let asked = choose_backend(&plan, Some(BackendKind::Aio), refused("x"), refused("x"));
    assert_eq!(asked.kind, BackendKind::Aio);
}
