//! Ends a process that is waited for in vain: a shell that says nothing, a home that hangs, a link that is down.
use rustix::process::{Pid, Signal, kill_process_group};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is looked whether the time is over.
const LOOK: Duration = Duration::from_millis(100);

/// Kills a process and its group once nothing has come on for so long; dropped, it watches no more.
pub struct Watch {
    shared: Arc<Shared>,
    patience: Duration,
    _alive: Option<Sender<()>>,
}

struct Shared {
    heard: Mutex<Instant>,
    has_ended: AtomicBool,
}

impl Watch {
    /// Over the group that a process leads. Without a thread for it nothing is watched.
    pub fn over(group: u32, patience: Duration) -> Self {
        let shared = Arc::new(Shared {
            heard: Mutex::new(Instant::now()),
            has_ended: AtomicBool::new(false),
        });
        let (alive, dropped) = channel::<()>();
        let watched = Arc::clone(&shared);
        let work = move || {
            while dropped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let heard = *watched.heard.lock().unwrap_or_else(PoisonError::into_inner);
                if heard.elapsed() >= patience {
                    watched.has_ended.store(true, SeqCst);
                    let group = Pid::from_raw(group as i32);
                    let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                    return;
                }
            }
        };
        let thread = sys::thread::start("watch over a host", work);
        Self {
            shared,
            patience,
            _alive: thread.is_ok().then_some(alive),
        }
    }

    /// Something came on: the time begins anew.
    pub fn hear(&self) {
        let heard = self.shared.heard.lock();
        *heard.unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long was waited in vain, where that was the end.
    pub fn ended_after(&self) -> Option<Duration> {
        let has_ended = self.shared.has_ended.load(SeqCst);
        has_ended.then_some(self.patience)
    }
}
