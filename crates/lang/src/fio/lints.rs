//! What the findings of a look at the machine are called in this language.
use super::codes;
use crate::machine_lints::Words;

pub(crate) const MACHINE_WORDS: Words = Words {
    same_device: codes::SAME_DEVICE,
    cached: codes::CACHED,
    has_judged_given_sizes: false,
    beyond_storage: codes::BEYOND_STORAGE,
    kernel_limits: codes::KERNEL_LIMITS,
    unwritten: codes::UNWRITTEN,
    results_on_storage: codes::RESULTS_ON_STORAGE,
    use_fewer: "lower `iodepth` or `numjobs`",
    use_smaller: "lower `iodepth` or `numjobs`, or use a smaller `bs`",
    open_direct: "add `direct=1`",
    write_first: "or a job with `rw=write` over all of it",
    move_results: "with `-o FOLDER` (`--result FOLDER` of `fathom fio`)",
};
