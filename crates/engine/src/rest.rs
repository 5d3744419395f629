//! How long a worker sleeps that has nothing in flight and waits for arrivals.

/// Wake-ups for arrivals beside I/O in flight are so far apart at least.
pub(crate) const APART_NS: u64 = 50_000;

/// Arrivals that come within this of the first one share its wake-up, which is then for the last of
/// them. A wake-up costs 8 to 16 µs of CPU, more than many a read.
const SHARED_NS: u64 = 50_000;

/// Where arrivals are no farther apart than the most in the mean, two of an even schedule share one.
const SHARED_NS_MIN: u64 = 25_000;
const SHARED_NS_MAX: u64 = 60_000;

/// Arrivals closer than this come in such numbers that wake-ups need not be for one of them.
const DENSE_GAP_NS: f64 = 12_500.0;

/// An arrival that has to wait longer than this is put off. Of all arrivals fewer than half are, so
/// that the median of lateness is that of the others: so many may be for each of those.
const PUT_OFF_NS: u64 = 30_000;
const PUT_OFF_SHARE: f64 = 0.9;
const CREDIT_MAX: f64 = 4.0;

/// A thread wakes some time after its timer ends, so the timer is set as much earlier. By these steps
/// the head start comes to what one wake-up in eight is faster than; that one waits for the moment
/// itself.
const LEAD_STEP_UP_NS: u64 = 100;
const LEAD_STEP_DOWN_NS: u64 = 700;
const LEAD_NS_MAX: u64 = 80_000;

/// By this the median of what an I/O takes is followed. It counts for this much at most: with close
/// arrivals, longer I/O mostly gives up the turn, and then keeps this thread from nothing.
const IO_STEP_NS: u64 = 50;
const IO_NS_MAX: u64 = 20_000;

/// What a worker knows of its sleeps.
#[derive(Debug)]
pub(crate) struct Rest {
    /// The last arrival that the present wake-up is for.
    group_end_ns: u64,
    /// How many more arrivals may be put off.
    credit: f64,
    lead_ns: u64,
    /// What an I/O takes of the thread's time, in the median.
    io_ns: u64,
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            group_end_ns: 0,
            credit: CREDIT_MAX,
            lead_ns: 0,
            io_ns: 0,
        }
    }
}

impl Rest {
    /// At which moment to be awake, and at which one after that, by the next arrivals in their order and
    /// the mean gap between them.
    pub(crate) fn next(&mut self, times_ns: &[u64], gap_ns: f64) -> (u64, u64) {
        let first_ns = times_ns[0];
        if gap_ns < DENSE_GAP_NS {
            let end_ns = first_ns + SHARED_NS;
            return (end_ns, end_ns + gap_ns as u64 + SHARED_NS);
        }
        if first_ns > self.group_end_ns {
            (self.group_end_ns, self.credit) = self.group(times_ns, gap_ns, self.credit);
        }
        let end_ns = self.group_end_ns;
        let (group, later) = split(times_ns, end_ns);
        let beyond_ns = match later {
            [] => end_ns.saturating_add(SHARED_NS.max(gap_ns as u64)),
            later => {
                let (end_ns, _) = self.group(later, gap_ns, self.credit);
                self.begin_ns(split(later, end_ns).0)
            }
        };
        (self.begin_ns(group), beyond_ns)
    }

    /// When to begin with arrivals that share a wake-up, so that the last of them is met.
    fn begin_ns(&self, group_ns: &[u64]) -> u64 {
        let last = group_ns.len() - 1;
        let before_ns = self.io_ns * last as u64;
        group_ns[last].saturating_sub(before_ns).max(group_ns[0])
    }

    /// The last of the arrivals that share a wake-up with the first, and the credit that this leaves.
    fn group(&self, times_ns: &[u64], gap_ns: f64, credit: f64) -> (u64, f64) {
        let shared_ns = match gap_ns as u64 {
            // The gap of an even schedule is rounded at both ends.
            gap_ns @ ..=SHARED_NS_MAX => (gap_ns + 2).max(SHARED_NS_MIN),
            _ => SHARED_NS,
        };
        let left = |end: usize| {
            let put_off = times_ns[..end].partition_point(|at| at + PUT_OFF_NS < times_ns[end]);
            let timely = (end + 1 - put_off) as f64;
            credit - put_off as f64 + PUT_OFF_SHARE * timely
        };
        let within = times_ns.partition_point(|at_ns| *at_ns <= times_ns[0] + shared_ns);
        let end = (1..within).rev().find(|end| left(*end) >= 0.0).unwrap_or(0);
        (times_ns[end], left(end).min(CREDIT_MAX))
    }

    /// The thread did an I/O, which kept it from the next arrival for so long.
    pub(crate) fn note_io(&mut self, ns: u64) {
        self.io_ns = match ns > self.io_ns {
            true => (self.io_ns + IO_STEP_NS).min(IO_NS_MAX),
            false => self.io_ns.saturating_sub(IO_STEP_NS),
        };
    }

    /// How long before a moment the timer for it ends.
    pub(crate) fn lead_ns(&self) -> u64 {
        self.lead_ns
    }

    /// A thread woke so long after its timer ended.
    pub(crate) fn note(&mut self, after_ns: u64) {
        self.lead_ns = match after_ns > self.lead_ns {
            true => (self.lead_ns + LEAD_STEP_UP_NS).min(LEAD_NS_MAX),
            false => self.lead_ns.saturating_sub(LEAD_STEP_DOWN_NS),
        };
    }
}

/// The arrivals until `end_ns`, and those behind.
fn split(times_ns: &[u64], end_ns: u64) -> (&[u64], &[u64]) {
    times_ns.split_at(times_ns.partition_point(|at_ns| *at_ns <= end_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    /// The moments for which a worker wakes, µs, by arrivals in µs.
    fn wakes(arrivals_us: &[u64], gap_us: f64) -> Vec<u64> {
        let times: Vec<u64> = arrivals_us.iter().map(|at| at * US).collect();
        let (mut rest, mut place, mut ends) = (Rest::default(), 0, Vec::new());
        while place < times.len() {
            let known = &times[place..times.len().min(place + 8)];
            let (end_ns, _) = rest.next(known, gap_us * 1e3);
            ends.push(end_ns / US);
            place += known.iter().filter(|at| **at <= end_ns).count();
        }
        ends
    }

    #[test]
    fn close_arrivals_share_a_wake_up_and_distant_ones_are_met() {
        let arrivals = [100, 120, 130, 400, 449, 451, 2_000];
        assert_eq!(wakes(&arrivals, 300.0), [130, 449, 451, 2_000]);
    }

    #[test]
    fn most_arrivals_are_met_where_two_share_a_wake_up() {
        for gap_us in [31, 40, 50, 60] {
            let arrivals: Vec<u64> = (1..=1_000).map(|number| number * gap_us).collect();
            let ends = wakes(&arrivals, gap_us as f64);
            assert!((520..540).contains(&ends.len()), "{}", ends.len());
        }
        let arrivals: Vec<u64> = (1..=100).map(|number| number * 61).collect();
        assert_eq!(wakes(&arrivals, 61.0), arrivals);
        // Here none waits for long.
        let arrivals: Vec<u64> = (1..=100).map(|number| number * 20).collect();
        assert_eq!(wakes(&arrivals, 20.0).len(), 50);
    }

    #[test]
    fn the_last_of_those_that_share_is_met_behind_the_io_of_the_others() {
        let mut rest = Rest::default();
        (0..400).for_each(|_| rest.note_io(10 * US));
        let times = [100, 110, 145, 400, 440, 900].map(|at| at * US);
        assert_eq!(rest.next(&times, 300e3), (125 * US, 430 * US));
        // The first two are done.
        assert_eq!(rest.next(&times[2..], 300e3), (145 * US, 430 * US));
        // I/O that takes longer than the gap begins with the first.
        (0..400).for_each(|_| rest.note_io(19 * US));
        assert_eq!(rest.next(&[1_000 * US, 1_010 * US], 300e3).0, 1_000 * US);
    }

    #[test]
    fn io_that_does_not_keep_the_thread_counts_for_nothing() {
        let mut rest = Rest::default();
        (0..400).for_each(|_| rest.note_io(10 * US));
        (0..400).for_each(|_| rest.note_io(0));
        let times = [100, 145].map(|at| at * US);
        assert_eq!(rest.next(&times, 300e3).0, 145 * US);
    }

    #[test]
    fn the_wake_up_behind_is_known_beforehand() {
        let times: Vec<u64> = (1..=200).map(|number| number * 50 * US).collect();
        let (mut rest, mut place, mut expected_ns) = (Rest::default(), 0, None);
        while place + 8 < times.len() {
            let (end_ns, beyond_ns) = rest.next(&times[place..place + 8], 50e3);
            assert_eq!(expected_ns.replace(beyond_ns).unwrap_or(end_ns), end_ns);
            place = times.partition_point(|at| *at <= end_ns);
        }
    }

    #[test]
    fn to_look_again_changes_nothing() {
        let times: Vec<u64> = (1..=8).map(|number| number * 50 * US).collect();
        let mut rest = Rest::default();
        let first = rest.next(&times, 50e3);
        for _ in 0..20 {
            assert_eq!(rest.next(&times, 50e3), first);
        }
    }

    #[test]
    fn a_moment_that_nothing_is_known_to_follow_is_met() {
        for gap_ns in [50e3, 1e9, f64::INFINITY] {
            let (end_ns, beyond_ns) = Rest::default().next(&[100 * US], gap_ns);
            assert_eq!(end_ns, 100 * US);
            assert!(beyond_ns >= 150 * US, "{beyond_ns}");
        }
    }

    #[test]
    fn dense_arrivals_share_wake_ups_at_even_distances() {
        let times: Vec<u64> = (1..=8).map(|number| number * 2 * US).collect();
        let ends = Rest::default().next(&times, 2e3);
        assert_eq!(ends, (52 * US, 104 * US));
    }

    #[test]
    fn a_timer_leads_by_what_most_wake_ups_take() {
        let mut rest = Rest::default();
        // One in eight takes 10 µs, the others 20 µs, and now and then one is held up.
        for number in 0..4_000_u64 {
            rest.note(match number % 64 {
                0 => 3_000 * US,
                number if number % 8 == 1 => 10 * US,
                _ => 20 * US,
            });
        }
        assert!((9 * US..21 * US).contains(&rest.lead_ns()), "{rest:?}");
        // The machine is faster now.
        (0..100).for_each(|_| rest.note(2 * US));
        assert!(rest.lead_ns() < 4 * US, "{rest:?}");
        (0..10_000).for_each(|_| rest.note(1_000 * US));
        assert_eq!(rest.lead_ns(), LEAD_NS_MAX);
    }
}
