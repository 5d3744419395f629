//! Moments at which a test exchanges what stands at a path: it names one, and the command that is carried out there. The
//! build that people use has none of it.

/// Has the test's command carried out where it named this moment, once: `FATHOM_TEST_MOMENT=open:2=mv a b` at the second
/// time that `open` is reached.
#[cfg(debug_assertions)]
pub fn reached(moment: &str) {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, OnceLock};

    static ASKED: OnceLock<Option<(String, u64, String)>> = OnceLock::new();
    static COUNTS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    let asked = ASKED.get_or_init(|| {
        let text = std::env::var("FATHOM_TEST_MOMENT").ok()?;
        let (when, command) = text.split_once('=')?;
        let (name, number) = when.split_once(':').unwrap_or((when, "1"));
        Some((name.to_owned(), number.parse().ok()?, command.to_owned()))
    });
    let Some((name, number, command)) = asked else {
        return;
    };
    if name != moment {
        return;
    }
    let mut counts = COUNTS.lock().expect("nothing panics while it is held");
    let count = counts.entry(moment.to_owned()).or_insert(0);
    *count += 1;
    if count == number {
        let ended = std::process::Command::new("sh")
            .args(["-c", command])
            .status();
        assert!(
            ended.is_ok_and(|status| status.success()),
            "the test's command `{command}` failed"
        );
    }
}

/// Nothing.
#[cfg(not(debug_assertions))]
#[inline]
pub fn reached(_moment: &str) {}
