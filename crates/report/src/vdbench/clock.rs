//! Local wall-clock texts of the old reports, from UTC nanoseconds and the offset that the
//! execution recorded. Knows no clock: the same events give the same texts on any machine.
use jiff::{Timestamp, civil::DateTime, tz::Offset};

/// The zone in which an execution prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    offset: Offset,
    name: String,
}

impl Zone {
    /// An offset that no zone has (beyond ±26 h) counts as UTC. An unnamed zone is shown as its
    /// offset, such as `+0100`, since scripts split the text on `-`.
    pub fn new(offset_s: i32, name: &str) -> Self {
        let offset = Offset::from_seconds(offset_s).unwrap_or(Offset::UTC);
        let minutes = offset.seconds() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        let plain = format!("{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60);
        let name = match name.trim() {
            "" if minutes == 0 => "UTC".to_string(),
            "" => plain,
            // Names such as Europe/Berlin are ambiguous between summer and winter.
            text if text.contains('/') => plain,
            text => text.to_string(),
        };
        Self { offset, name }
    }

    /// `07:43:57.009`.
    pub fn time(&self, unix_ns: u64) -> String {
        self.civil(unix_ns).strftime("%H:%M:%S.%3f").to_string()
    }

    /// `Nov 21, 2026`, as long as [`Zone::time`].
    pub fn date(&self, unix_ns: u64) -> String {
        self.civil(unix_ns).strftime("%b %d, %Y").to_string()
    }

    /// `07:43:55 Nov 21 2026 UTC`.
    pub fn created(&self, unix_ns: u64) -> String {
        let civil = self.civil(unix_ns);
        format!("{} {}", civil.strftime("%H:%M:%S %b %d %Y"), self.name)
    }

    /// `11/21/2026-07:43:58-UTC`.
    pub fn stamp(&self, unix_ns: u64) -> String {
        let civil = self.civil(unix_ns);
        format!("{}-{}", civil.strftime("%m/%d/%Y-%H:%M:%S"), self.name)
    }

    fn civil(&self, unix_ns: u64) -> DateTime {
        let at = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
        self.offset.to_datetime(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_follow_the_offset() {
        let at = 1_795_247_037_009_999_999; // 2026-11-21 07:43:57.009… UTC
        let utc = Zone::new(0, "UTC");
        assert_eq!(utc.time(at), "07:43:57.009");
        assert_eq!(utc.date(at), "Nov 21, 2026");
        assert_eq!(utc.created(at), "07:43:57 Nov 21 2026 UTC");
        let india = Zone::new(19_800, "IST");
        assert_eq!(india.stamp(at), "11/21/2026-13:13:57-IST");
    }

    #[test]
    fn zones_without_a_short_name_show_their_offset() {
        assert_eq!(
            Zone::new(7_200, "Europe/Berlin").stamp(0),
            "01/01/1970-02:00:00-+0200"
        );
        assert_eq!(Zone::new(-12_600, "").stamp(0), "12/31/1969-20:30:00--0330");
        assert_eq!(Zone::new(0, "").stamp(0), "01/01/1970-00:00:00-UTC");
    }
}
