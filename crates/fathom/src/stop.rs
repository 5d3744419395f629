//! Ctrl-C: the first drains, the second stops at once.
use conduct::{Control, Haste};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Watches for signals for as long as the process lives.
pub fn watch(control: &Control) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let control = control.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut count = 0;
        for _ in signals.forever() {
            count += 1;
            match control.hurry() {
                Haste::Drain => errln!(
                    "\nstopping: waiting for what is in flight (30 s at most); once more to stop at once"
                ),
                _ if count == 2 => errln!("\nstopping at once"),
                // Something does not let go: the result file is safe up to its last interval.
                _ => std::process::exit(4),
            }
        }
    })?;
    Ok(())
}
