//! How requests are put to the kernel, beyond what they do.
use rustix::io::ReadWriteFlags;

/// `RWF_ATOMIC`, linux/fs.h; since Linux 6.11.
const ATOMIC: u32 = 0x40;

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
    /// A write is stored as a whole or not at all. EOPNOTSUPP without direct I/O and where the target cannot do that,
    /// EINVAL for a length or place that it cannot take so; see [`crate::file::whole_writes`].
    pub writes_whole: bool,
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
    pub(crate) fn read_flags(self) -> ReadWriteFlags {
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::NOWAIT, self.never_waits);
        flags.set(
            ReadWriteFlags::from_bits_retain(DONT_CACHE),
            self.leaves_no_cache,
        );
        flags
    }

    /// The same of `pwritev2(2)`.
    pub(crate) fn write_flags(self) -> ReadWriteFlags {
        let mut flags = self.read_flags();
        flags.set(ReadWriteFlags::from_bits_retain(ATOMIC), self.writes_whole);
        flags
    }

    /// What a plain call has beside them.
    pub(crate) fn polling_flag(self) -> ReadWriteFlags {
        match self.is_polled {
            true => ReadWriteFlags::HIPRI,
            false => ReadWriteFlags::empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wish_is_a_flag_of_its_own() {
        let none = RequestMode::default();
        let bits = |mode: RequestMode| {
            [mode.read_flags(), mode.write_flags(), mode.polling_flag()].map(|flags| flags.bits())
        };
        assert_eq!(bits(none), [0; 3]);
        let polled = RequestMode {
            is_polled: true,
            ..none
        };
        // RWF_HIPRI, which a ring has for all of its requests.
        assert_eq!(bits(polled), [0, 0, 1]);
        let hurried = RequestMode {
            never_waits: true,
            ..none
        };
        assert_eq!(bits(hurried), [8, 8, 0]);
        let passing = RequestMode {
            leaves_no_cache: true,
            ..none
        };
        assert_eq!(bits(passing), [0x80, 0x80, 0]);
        // The kernel refuses reads with it.
        let whole = RequestMode {
            writes_whole: true,
            ..none
        };
        assert_eq!(bits(whole), [0, 0x40, 0]);
    }
}
