//! Jobs drawn from tables of options. What a comparison has to know of a job is kept beside its words.

/// A job of one section.
#[derive(Clone, Debug)]
pub struct Job {
    /// Names and values, in the order of the command line.
    pub options: Vec<(&'static str, String)>,
    pub clones: u64,
    pub way: Way,
    pub is_random: bool,
    /// Places are drawn, but each comes once before any comes again.
    pub has_map: bool,
    /// Whether all I/Os have one size.
    pub has_one_size: bool,
    /// Whether one I/O at a time is in flight.
    pub is_one_by_one: bool,
    /// Whether the next file follows from the number of the I/O.
    pub has_plain_files: bool,
    /// How often the whole range is gone through, at least.
    pub passes: u64,
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    One,
    /// Reads and writes by a share.
    Mix,
    /// A trim, then a write of the same place.
    Pairs,
}

/// Numbers from a seed.
struct Numbers(u64);

const SEQUENTIAL: &[&str] = &["read", "write", "trim", "rw", "trimwrite"];
const RANDOM: &[&str] = &[
    "randread",
    "randwrite",
    "randtrim",
    "randrw",
    "randtrimwrite",
];
const SIZES: &[u64] = &[
    16 << 10,
    64 << 10,
    100_000,
    64_000,
    65_537,
    128 << 10,
    96 << 10,
];
const BLOCKS: &[u64] = &[512, 1024, 1536, 3072, 4096, 8192, 5000, 16 << 10];
const SPLITS: &[&str] = &[
    "4k/50:8k/50",
    "1k/10:4k/60:16k/30",
    "512/30:3k/70",
    "4k/100",
    "2k/25:8k/",
];
const RANGES: &[&str] = &["1k-4k", "512-8k", "4k-4k", "3k-9k", "2k-16k"];
const TRIPLES: &[&str] = &["4k,8k", "8k,4k", "4k,4k,8k", "1k,,2k", ",8k"];
const GAPS: &[&str] = &[
    "1k", "4k", "8k", "512", "12k", "64k", "-4k", "-8k", "-12k", "-1k", "-16k", "3k",
];
const LAWS: &[&str] = &["zipf:1.2", "pareto:0.3", "normal:20", "zoned:60/10:40/90"];
const SERVICES: &[&str] = &[
    "sequential",
    "random",
    "roundrobin",
    "roundrobin:3",
    "random:2",
    "sequential:2",
];

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn in_100(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

impl Job {
    /// The job of a number.
    pub fn drawn(number: u64) -> Self {
        let mut draw = Numbers(number);
        // Neighbours would begin alike.
        draw.0 = draw.next();
        let is_random = draw.in_100(45);
        let mut job = Self {
            options: Vec::new(),
            clones: 1,
            way: Way::One,
            is_random,
            has_map: is_random,
            has_one_size: true,
            is_one_by_one: true,
            has_plain_files: true,
            passes: 0,
        };
        job.set("name", "j");
        job.set("ioengine", "null");
        job.set("thread", "1");
        job.direction(&mut draw);
        let block = job.blocks(&mut draw);
        if draw.in_100(25) {
            job.set("iodepth", draw.of(&[2_u64, 4, 16]));
            job.is_one_by_one = false;
        }
        if draw.in_100(15) {
            job.clones = draw.of(&[2, 3]);
            job.set("numjobs", job.clones);
        }
        let size = job.files(&mut draw);
        job.offsets(&mut draw, block);
        if draw.in_100(15) {
            job.zones(&mut draw, block);
        }
        if job.is_random {
            job.places(&mut draw, block);
        }
        job.amount(&mut draw, block, size);
        if job.way == Way::Mix && job.value("bs").is_some_and(|sizes| sizes.contains(',')) {
            // Each direction has places of its own, which come again.
            job.has_map = false;
        }
        if job.value("filesize").is_some() {
            // A pass may end within the range.
            job.passes = 0;
        }
        job
    }

    fn set(&mut self, name: &'static str, value: impl ToString) {
        self.options.push((name, value.to_string()));
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn direction(&mut self, draw: &mut Numbers) {
        let word = draw.of(if self.is_random { RANDOM } else { SEQUENTIAL });
        self.way = match word {
            "rw" | "randrw" => Way::Mix,
            "trimwrite" | "randtrimwrite" => Way::Pairs,
            _ => Way::One,
        };
        let suffix = match self.is_random {
            true if draw.in_100(15) => format!(":{}", draw.of(&[2, 3, 8])),
            false if draw.in_100(25) => format!(":{}", draw.of(GAPS)),
            _ => String::new(),
        };
        self.set("rw", format!("{word}{suffix}"));
        if !suffix.is_empty() && draw.in_100(30) {
            self.set("rw_sequencer", "identical");
        }
        if self.way == Way::Mix && draw.in_100(50) {
            self.set("rwmixread", draw.of(&[0_u64, 10, 30, 70, 100]));
        }
    }

    /// Sets the sizes of I/Os, and tells the largest.
    fn blocks(&mut self, draw: &mut Numbers) -> u64 {
        let kind = draw.below(100);
        let block = draw.of(BLOCKS);
        match kind {
            0..70 => self.set("bs", block),
            70..78 => self.set("bs", draw.of(TRIPLES)),
            78..88 => self.set("bssplit", draw.of(SPLITS)),
            _ => {
                self.set("bsrange", draw.of(RANGES));
                if draw.in_100(20) {
                    self.set("bs_unaligned", "1");
                }
            }
        }
        // A triple gives each direction one size.
        self.has_one_size = kind < 70 || (kind < 78 && self.way == Way::One);
        if self.is_random && draw.in_100(6) {
            self.set("bs_is_seq_rand", "1");
            self.has_one_size = false;
        }
        if kind < 70 { block } else { 4096 }
    }

    /// Sets the files, and tells the bytes of all of them.
    fn files(&mut self, draw: &mut Numbers) -> u64 {
        let size = draw.of(SIZES);
        let mut count = 1;
        if draw.in_100(25) {
            count = draw.of(&[2, 3, 5]);
            match draw.in_100(20) {
                true => self.set(
                    "filename",
                    ["a", "b", "c", "d", "e"][..count as usize].join(":"),
                ),
                false => self.set("nrfiles", count),
            }
            if draw.in_100(50) {
                let service = draw.of(SERVICES);
                self.set("file_service_type", service);
                self.has_plain_files = !service.starts_with("random");
            }
            if draw.in_100(15) {
                self.set("openfiles", draw.of(&[1_u64, 2]));
                self.has_plain_files = false;
            }
        }
        match draw.below(100) {
            0..84 => self.set("size", size * count),
            84..92 => {
                self.set("filesize", size);
                self.set("size", size * count / 2 + draw.below(size / 2));
            }
            _ => {
                self.set("filesize", size);
                self.set("size", format!("{}%", draw.of(&[10, 30, 50])));
            }
        }
        size * count
    }

    fn offsets(&mut self, draw: &mut Numbers, block: u64) {
        if draw.in_100(15) {
            let offset = draw.of(&[512, 4096, block, 3 * block, 10_000, 1 << 20]);
            self.set("offset", offset);
        }
        if draw.in_100(5) {
            self.set("offset", format!("{}%", draw.of(&[10, 25, 50])));
            if draw.in_100(50) {
                self.set("offset_align", draw.of(&[512_u64, 4096]));
            }
        }
        if self.clones > 1 && draw.in_100(40) {
            self.set("offset_increment", draw.of(&[block, 8192, 32 << 10]));
        }
    }

    fn zones(&mut self, draw: &mut Numbers, block: u64) {
        self.set("zonemode", "strided");
        let size = block * draw.of(&[1, 2, 3, 4]);
        self.set("zonesize", size);
        if draw.in_100(50) {
            self.set("zonerange", size * draw.of(&[1, 2, 3]));
        }
        if draw.in_100(60) {
            self.set("zoneskip", draw.of(&[block, 4096, 2 * size]));
        }
    }

    fn places(&mut self, draw: &mut Numbers, block: u64) {
        if draw.in_100(15) {
            self.set("norandommap", "1");
            self.has_map = false;
        }
        if draw.in_100(15) {
            self.set("random_distribution", draw.of(LAWS));
            self.has_map = false;
        }
        if draw.in_100(15) {
            self.set("random_generator", draw.of(&["lfsr", "tausworthe64"]));
        }
        if draw.in_100(12) {
            self.set("percentage_random", draw.of(&["0", "50", "80", "100,30"]));
            self.has_map = false;
        }
        if draw.in_100(8) {
            self.set("ba", draw.of(&[512, block, 2 * block, 4096]));
            self.has_map = false;
        }
        if self.value("rw").is_some_and(|word| word.contains(':')) {
            self.has_map = false;
        }
    }

    fn amount(&mut self, draw: &mut Numbers, block: u64, size: u64) {
        match draw.below(100) {
            // So often that each place comes in all likelihood.
            0..35 if self.is_random => {
                self.set("io_size", size * 24);
                self.passes = 24;
            }
            0..60 => self.passes = 1,
            60..75 => {
                let loops = draw.of(&[2, 3]);
                self.set("loops", loops);
                self.passes = loops;
            }
            75..82 => self.set("io_size", size / 3),
            82..88 => self.set("io_size", size * 2 + block),
            88..90 => self.set("io_size", "40%"),
            _ => self.set("number_ios", draw.of(&[1_u64, 5, 7, 40])),
        }
    }

    pub fn arguments(&self) -> impl Iterator<Item = String> {
        let all = self.options.iter();
        all.map(|(name, value)| format!("--{name}={value}"))
    }

    /// As it is typed.
    pub fn line(&self) -> String {
        self.arguments().collect::<Vec<_>>().join(" ")
    }
}
