//! The reader of fio jobs never panics, whatever it is given, and what it yields is consistent.
use lang::fio;
use proptest::prelude::*;

const SAMPLES: &[&str] = &[
    include_str!("../fio/everyday.fio"),
    include_str!("../fio/mixed.fio"),
];

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "[", "]", "[global]", "[job]", "\n", "=", " ", ";", "#", ",", ":", "-", "/", "%", "(", ")",
    "${v}", "${", "}", "$ncpus", "$mb_memory", "$pagesize", "*", "+", "include i", "rw=",
    "randrw", "trimwrite", "bs=", "4k", "1.5g", "0x", "-1", "kib", "size=", "io_size=",
    "filesize=", "offset=", "offset_increment=", "50%", "numjobs=", "nrfiles=", "bsrange=",
    "1k-4k", "bssplit=", "4k/50:8k", "random_distribution=", "zipf:1.2", "zoned:60/10:40/90",
    "zoned_abs:100/", "rate=", "rate_iops=", "runtime=", "time_based", "ramp_time=",
    "startdelay=", "5-15", "stonewall", "wait_for=", "job", "new_group", "filename=",
    "/dev/sda", "directory=/a:/b", "filename_format=$jobname.$jobnum", "ioengine=", "libaio",
    "null", "external:x", "kb_base=1000", "buffer_pattern=", "0xdeadbeef", "\"x\"", "'", "é",
    "\0", "99999999999999999999", "cpus_allowed=0-3", "percentile_list=1:99.9", "loops=",
    "number_ios=", "<CPU_cores>", "2x<RAM>", "iodepth=", "--name=x", "-rw=read",
];

fn pieces() -> impl Strategy<Value = String> {
    let words = prop::sample::select(PIECES);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        fio::fuzz_one(text.as_bytes());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        fio::fuzz_one(&bytes);
    }

    #[test]
    fn no_mixture_of_the_language_panics(text in pieces()) {
        fio::fuzz_one(text.as_bytes());
        fio::fuzz_one(format!("[job]\n{text}").as_bytes());
    }

    #[test]
    fn no_change_of_a_sample_panics(
        pick in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        piece in pieces(),
    ) {
        let mut bytes = pick.get(SAMPLES).as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes.splice(at..at, piece.bytes());
        fio::fuzz_one(&bytes);
    }
}

#[test]
fn no_prefix_of_a_sample_panics() {
    for sample in SAMPLES {
        for end in 0..=sample.len() {
            fio::fuzz_one(&sample.as_bytes()[..end]);
        }
    }
}
