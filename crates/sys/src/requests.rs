//! How requests are put to the kernel, beyond what they do.
use rustix::io::ReadWriteFlags;

/// `RWF_DONTCACHE`, linux/fs.h; since Linux 6.14.
const DONT_CACHE: u32 = 0x80;

/// What a ring, a queue or a call asks for with each of its requests. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestMode {
    /// A transfer that would have to wait before it is under way fails with EAGAIN instead.
    pub never_waits: bool,
    /// What a transfer has brought into the page cache leaves it at once. EOPNOTSUPP where the kernel or the file
    /// system cannot do that.
    pub leaves_no_cache: bool,
    /// The device is polled for completions. On a ring: EOPNOTSUPP where it has no queue for that, and only transfers
    /// past the page cache can be requested. Of a call: a wish. Native AIO has no such thing.
    pub is_polled: bool,
    /// One in so many requests is carried out by another thread of the kernel; 0 for none. Rings only.
    pub handed_off_every: u32,
    /// A thread of the kernel takes requests from the ring. Rings only.
    pub submitter: Option<Submitter>,
}

/// A thread of the kernel that looks for requests, and sleeps when there was none for a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submitter {
    /// The only CPU on which it may be.
    pub cpu: Option<u32>,
}

impl RequestMode {
    /// Flags of `preadv2(2)` that rings and queues take, too.
    pub(crate) fn transfer_flags(self) -> ReadWriteFlags {
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::NOWAIT, self.never_waits);
        flags.set(
            ReadWriteFlags::from_bits_retain(DONT_CACHE),
            self.leaves_no_cache,
        );
        flags
    }

    /// Flags of a plain call.
    pub(crate) fn call_flags(self) -> ReadWriteFlags {
        let mut flags = self.transfer_flags();
        flags.set(ReadWriteFlags::HIPRI, self.is_polled);
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wish_is_a_flag_of_its_own() {
        let none = RequestMode::default();
        assert_eq!(none.call_flags().bits(), 0);
        let polled = RequestMode {
            is_polled: true,
            ..none
        };
        // RWF_HIPRI, which a ring has for all of its requests.
        assert_eq!(
            (polled.call_flags().bits(), polled.transfer_flags().bits()),
            (1, 0)
        );
        let hurried = RequestMode {
            never_waits: true,
            ..none
        };
        assert_eq!(
            (hurried.call_flags().bits(), hurried.transfer_flags().bits()),
            (8, 8)
        );
        let passing = RequestMode {
            leaves_no_cache: true,
            ..none
        };
        assert_eq!(
            (passing.call_flags().bits(), passing.transfer_flags().bits()),
            (0x80, 0x80)
        );
    }
}
