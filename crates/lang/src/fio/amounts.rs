//! How large files are, and how much of them a job does.
use super::codes;
use super::files::{Naming, is_device};
use super::forms;
use super::resolve::{Amount, FileSize, Resolving, Spec, Times};
use super::support::{push_once, refused};
use super::value::{Size, Value};
use super::verify::{Phase, Verify};
use plan::{Diagnostic, Flow, IoMethod, OperationMix, Rounds, TargetOrder};
use std::collections::HashMap;

/// A file that is appended to belongs to one clone: where the next one would begin depends on which
/// of them comes first.
pub(super) fn check_appended(specs: &[Spec<'_>], blockers: &mut Vec<Diagnostic>) {
    let is_appended = |spec: &&Spec<'_>| matches!(spec.file_size, FileSize::Appended(_));
    if !specs.iter().any(|spec| is_appended(&spec)) {
        return;
    }
    let mut users: HashMap<String, u32> = HashMap::new();
    for spec in specs {
        let paths = (0..spec.clones).flat_map(|clone| spec.naming.paths(clone));
        paths.for_each(|path| *users.entry(path).or_default() += 1);
    }
    for spec in specs.iter().filter(is_appended) {
        let mut paths = (0..spec.clones).flat_map(|clone| spec.naming.paths(clone));
        if paths.any(|path| users[&path] > 1) {
            let what = "`file_append` to a file that another clone or job uses, too,";
            let reason = "who comes first would decide where data go";
            let help = "give each clone a file of its own";
            let refusal = refused(what, reason, help, spec.job.place_of("file_append"));
            push_once(blockers, refusal);
        }
    }
}

/// A job with `create_only` makes its files and does no I/O of its own. It counts as one that reads, so that nobody
/// has to ask whether it may write to what is there.
pub(super) fn layout_only_if_asked(spec: Spec<'_>) -> Spec<'_> {
    if !spec.job.is_on(on!("create_only")) {
        return spec;
    }
    let is_stored = spec
        .method
        .is_some_and(|method| method != IoMethod::Nothing);
    let amount = Amount {
        bytes: None,
        passes: None,
        pass_millionths: None,
        operations: Some(0),
        rounds: None,
    };
    Spec {
        operations: OperationMix::reads(100.0),
        amount,
        times: Times::default(),
        pace: None,
        flow: Flow::default(),
        verify: None,
        lays_out: is_stored && !spec.job.is_on(on!("create_on_open")),
        records: Vec::new(),
        ..spec
    }
}

impl Resolving<'_, '_> {
    pub(super) fn file_size(&mut self, naming: &Naming, smallest: u64) -> FileSize {
        let files = naming.count().max(1);
        let size = self.plain_size(files, smallest);
        self.check_share(naming);
        let job = self.job;
        // On devices it means nothing.
        let appends =
            job.is_on(on!("file_append")) && naming.paths(0).iter().any(|path| !is_device(path));
        match size {
            FileSize::Bytes(bytes) | FileSize::Whole(bytes) if appends => FileSize::Appended(bytes),
            FileSize::Drawn(..) if appends => {
                let what = "`file_append` with a range of `filesize`";
                let reason = "the range says how large files are, and not how much is added";
                let help = "say with `size` how much is added";
                let refusal = refused(what, reason, help, job.place_of("filesize"));
                push_once(self.blockers, refusal);
                size
            }
            FileSize::AsFound if job.is_on(on!("fill_device")) => {
                // A device has an end.
                match naming.paths(0).iter().all(|path| is_device(path)) {
                    true => FileSize::AsFound,
                    false => FileSize::UntilFull,
                }
            }
            other if appends => {
                let message = "`file_append` needs `size`";
                let place = job.place_of("file_append");
                let help = "add `size=`, in bytes: how much is added";
                self.sink.error(
                    codes::MISSING,
                    place,
                    message,
                    "how much is not known",
                    help,
                );
                other
            }
            other => other,
        }
    }

    /// More than all of what is there is all of it; where only the share says how long files are, the original makes
    /// one without an end.
    fn check_share(&mut self, naming: &Naming) {
        let job = self.job;
        let (Some(Size::Percent(pct)), Some(given)) = (job.size("size"), job.given("size")) else {
            return;
        };
        if pct <= 100.0 {
            return;
        }
        let is_known =
            job.given("filesize").is_some() || naming.paths(0).iter().all(|path| is_device(path));
        if is_known {
            let message = "`size` is read as fio reads it: more than 100 % is 100 %";
            let note = Diagnostic::note(codes::TRANSLATED, message);
            return self.sink.push(note.at(given.span(), "all of it"));
        }
        let message = format!("`size` cannot be {pct} % of a file");
        let help = "write `size=100%` for a file that is there, or give bytes";
        let label = "of no length that is known";
        (self.sink).error(codes::OUT_OF_RANGE, given.span(), message, label, help);
    }

    /// Which of several files is next.
    pub(super) fn file_order(&mut self, files: u64) -> TargetOrder {
        if self.job.number("openfiles") == Some(1) && files > 1 {
            // The next one is opened when the one before is done.
            return TargetOrder::OneAfterTheOther;
        }
        let Some(given) = self.job.given("file_service_type") else {
            return TargetOrder::RoundRobin;
        };
        let text = given.text();
        let (word, count) = text.split_once(':').unwrap_or((text, ""));
        let count = match count.trim() {
            "" => Some(1),
            count => count.parse().ok(),
        };
        let batches = |operations, is_random| TargetOrder::Batches {
            operations,
            is_random,
        };
        match (word.trim(), count) {
            ("sequential", Some(_)) => TargetOrder::OneAfterTheOther,
            ("random", Some(0 | 1)) => TargetOrder::Random,
            ("random", Some(operations)) => batches(operations, true),
            ("roundrobin", Some(0 | 1)) => TargetOrder::RoundRobin,
            ("roundrobin", Some(operations)) => batches(operations, false),
            _ => {
                let law = forms::law_of_files(given, self.base(), self.sink);
                law.map_or(TargetOrder::RoundRobin, TargetOrder::ByLaw)
            }
        }
    }

    fn plain_size(&mut self, files: u64, smallest: u64) -> FileSize {
        let job = self.job;
        if let Some(Value::Ranges(ranges)) = job.given("filesize").map(|given| &given.value)
            && let Some((low, high)) = ranges[0]
        {
            let (low, high) = (low.min(high), low.max(high));
            self.check_holds_block(low, smallest, "filesize");
            let pct = match job.size("size") {
                Some(Size::Percent(pct)) => pct.min(100.0),
                _ => 100.0,
            };
            let of = |bytes: u64| (bytes as f64 * pct / 100.0) as u64;
            if low < high {
                return FileSize::Drawn(of(low), of(high));
            }
            if pct >= 100.0 {
                return FileSize::Whole(high);
            }
            let whole = of(high) - of(high) % smallest;
            self.check_holds_block(whole, smallest, "size");
            // What is made holds whole blocks; where nothing is, gaps lead to the exact end.
            let range = match self.engine.method {
                Some(IoMethod::Nothing) => of(high),
                _ => whole,
            };
            return FileSize::Within { range, file: high };
        }
        match job.size("size") {
            Some(Size::Bytes(0)) | None => FileSize::AsFound,
            Some(Size::Bytes(bytes)) => {
                self.check_holds_block(bytes / files, smallest, "size");
                FileSize::Bytes(bytes / files)
            }
            Some(Size::Percent(pct)) if pct >= 100.0 => FileSize::AsFound,
            Some(Size::Percent(pct)) => FileSize::Percent(pct),
        }
    }

    /// How long a file that is never made counts as where `filesize` is given, which decides whether gaps that lead out of
    /// the range lead out of the file: with `size` in percent it has no end.
    pub(super) fn unmade_bytes(&self, files: u64, file_size: FileSize) -> Option<u64> {
        let job = self.job;
        if self.engine.method != Some(IoMethod::Nothing) {
            return None;
        }
        let (FileSize::Whole(_) | FileSize::Within { .. }) = file_size else {
            return None;
        };
        match (file_size, job.size("size")) {
            (FileSize::Whole(file), Some(Size::Bytes(bytes))) => {
                Some(file.max(bytes / files.max(1)))
            }
            (_, Some(Size::Percent(_))) => Some(u64::MAX),
            _ => None,
        }
    }

    fn check_holds_block(&mut self, bytes: u64, smallest: u64, option: &'static str) {
        if bytes >= smallest {
            return;
        }
        let message = format!("a file of {bytes} bytes holds no I/O of {smallest}");
        push_once(
            self.blockers,
            Diagnostic::error(codes::TOO_SMALL, message)
                .at(self.job.place_of(option), "too small")
                .with_help(
                    "`size` is shared by all files of a clone; make it larger, or `bs` smaller",
                ),
        );
    }

    /// What a job that goes on until nothing is left cannot be.
    pub(super) fn check_fill(&mut self, operations: &OperationMix, file_size: FileSize) {
        let job = self.job;
        if !job.is_on(on!("fill_device")) {
            return;
        }
        let place = job.place_of("fill_device");
        if operations.read_pct > 0.0 {
            let what = "`fill_device` of a job that reads";
            let reason = "a job that reads fills nothing";
            let help = "fill by a job that writes, and read by another after a `stonewall`";
            push_once(self.blockers, refused(what, reason, help, place));
        }
        let number = job.suffix_of("rw");
        let word = job.word_of(word!("rw"));
        let is_backward = number.is_some_and(|number| number.trim().starts_with('-'));
        if file_size == FileSize::UntilFull && (word.starts_with("rand") || is_backward) {
            let what = "`fill_device` without `size` at random places or backwards";
            let reason = "a range without an end has no such places";
            let help = "add `size`, or write from the start on";
            push_once(self.blockers, refused(what, reason, help, place));
        }
    }

    /// How many blocks there will be is not known, so they cannot be remembered until they are read back.
    pub(super) fn verify_of_fill(&mut self, mut verify: Verify) -> Verify {
        let job = self.job;
        if verify.check.backlog.is_some() || verify.check.discards.is_some() {
            let what = "`verify_backlog` or `trim_percentage` with `fill_device` without `size`";
            let reason = "how many blocks there will be to remember is not known";
            let help = "add `size`";
            let place = job.place_of("fill_device");
            push_once(self.blockers, refused(what, reason, help, place));
        }
        if verify.phase == Phase::WritesAndReadsBack {
            let message = "what `fill_device` writes without `size` is not read back";
            let warning = Diagnostic::warning(codes::CONFLICT, message)
                .at(job.place_of("verify"), "for others to check")
                .with_help("add `size`, or check by a job with `rw=read` after a `stonewall`");
            self.sink.push(warning);
            verify.phase = Phase::Writes;
            verify.check.records = false;
        }
        verify
    }

    pub(super) fn amount(
        &mut self,
        files: u64,
        file_size: FileSize,
        smallest: u64,
        times: Times,
    ) -> Amount {
        let job = self.job;
        let loops = job.get(number!("loops")).max(1) as u64;
        let operations = job
            .number("number_ios")
            .filter(|count| *count > 0)
            .map(|count| (count as u64).saturating_mul(loops));
        let mut amount = Amount {
            bytes: None,
            passes: None,
            pass_millionths: None,
            operations,
            rounds: None,
        };
        if times.is_time_based || file_size == FileSize::UntilFull {
            return amount;
        }
        let whole = match file_size {
            FileSize::Bytes(bytes) | FileSize::Whole(bytes) | FileSize::Appended(bytes) => {
                Some(bytes.saturating_mul(files))
            }
            FileSize::Within { range, .. } => {
                Some((range - range % smallest).saturating_mul(files))
            }
            _ => None,
        };
        let asked = match (job.size("io_size"), job.size("size")) {
            (Some(Size::Percent(pct)), _) if pct < 100.0 => {
                amount.pass_millionths = Some((pct * 10_000.0) as u32).filter(|_| whole.is_none());
                let before = match (file_size, job.get(size!("offset"))) {
                    (FileSize::Whole(_), Size::Bytes(offset)) => offset.saturating_mul(files),
                    _ => 0,
                };
                let of = |whole: u64| whole.saturating_sub(before) as f64 * pct / 100.0;
                let share = whole.map(|whole| of(whole) as u64);
                // `size` in bytes bounds it, and may be less than the files hold.
                match job.size("size") {
                    Some(Size::Bytes(size)) if size > 0 => share.map(|share| share.min(size)),
                    _ => share,
                }
            }
            (Some(Size::Bytes(bytes)), _) if bytes > 0 => Some(bytes),
            (_, Some(Size::Bytes(bytes))) if bytes > 0 => whole.map(|whole| whole.min(bytes)),
            _ => whole,
        };
        amount.rounds = Some(Rounds {
            count: loops,
            until_done: job
                .size("io_size")
                .is_some_and(|size| size != Size::Bytes(0)),
        });
        if let (FileSize::Drawn(..), Some(Size::Bytes(bytes))) = (file_size, job.size("size")) {
            // What the files hold together may be less.
            amount.bytes = Some((bytes - bytes % smallest).saturating_mul(loops))
                .filter(|bytes| *bytes > 0 && asked.is_none());
        }
        match asked {
            Some(bytes) => amount.bytes = Some(bytes.saturating_mul(loops)),
            None => amount.passes = Some(loops),
        }
        amount
    }
}
