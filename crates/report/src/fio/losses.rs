//! A host that was lost in the middle of a run, and what is said of it.

const NS_PER_MS: u64 = 1_000_000;

/// A host of which nothing more was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub host: String,
    /// The first interval of the run that it did not tell, from one.
    pub interval: u32,
    /// Where that one begins, since the start of the run: the figures of the host end there.
    pub from_ns: u64,
}

impl Loss {
    /// When it was lost.
    pub(super) fn words(&self) -> String {
        format!("lost in interval {} at {}msec", self.interval, self.at_ms())
    }

    /// For standard error: it begins as the line with which fio says that it has lost a server.
    pub(super) fn line(&self) -> String {
        format!(
            "client: host={} disconnected in interval {}: its figures end at {}msec\n",
            self.host,
            self.interval,
            self.at_ms()
        )
    }

    pub(super) fn at_ms(&self) -> u64 {
        self.from_ns / NS_PER_MS
    }
}
