//! The codes of this reader's diagnostics. A code never changes its meaning.

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)+) => {
        $($(#[doc = $doc])+ pub(crate) const $name: &str = $code;)+
        /// Every code with its meaning.
        pub(crate) const ALL: &[(&str, &str)] = &[$(($code, concat!($($doc),+))),+];
    };
}

codes! {
    /// a file cannot be read
    FILE = "fio-0001";
    /// an include that nests too deeply or opens a section
    INCLUDE = "fio-0002";
    /// an option before the first section
    OUTSIDE = "fio-0003";
    /// an environment variable that is not set
    UNSET_VARIABLE = "fio-0004";
    /// a section line that is not of the form `[name]`
    SECTION_LINE = "fio-0005";
    /// more jobs or clones than can be carried out
    TOO_MANY = "fio-0006";
    /// an unknown option
    UNKNOWN_OPTION = "fio-0100";
    /// an option of another engine
    OTHER_ENGINE = "fio-0101";
    /// an option without a value
    NO_VALUE = "fio-0102";
    /// a word that the option does not know
    UNKNOWN_WORD = "fio-0103";
    /// text where a number is expected, or after one
    NOT_A_NUMBER = "fio-0104";
    /// a value out of its range
    OUT_OF_RANGE = "fio-0105";
    /// too many values
    VALUE_COUNT = "fio-0106";
    /// arithmetic that has no result
    ARITHMETIC = "fio-0107";
    /// a value of another form than the option takes
    FORM = "fio-0108";
    /// a placeholder that was to be replaced
    PLACEHOLDER = "fio-0109";
    /// a name that no job has
    UNKNOWN_REFERENCE = "fio-0120";
    /// no job is defined
    NO_JOB = "fio-0121";
    /// options that exclude each other
    CONFLICT = "fio-0130";
    /// an option that is required is missing
    MISSING = "fio-0131";
    /// a size that holds no block
    TOO_SMALL = "fio-0132";
    /// shares that do not add up to 100 %
    SHARES = "fio-0133";
    /// a record of I/O that cannot be replayed
    RECORD = "fio-0134";
    /// a state of `verify` that cannot be loaded
    STATE = "fio-0135";
    /// a folder whose files cannot be found
    FOLDER = "fio-0136";
    /// shares that do not make 100 % and what becomes of them
    SHARES_REST = "fio-0137";
    /// an option that is refused
    REFUSED = "fio-0200";
    /// an engine that is refused
    REFUSED_ENGINE = "fio-0201";
    /// honoured in another way than the original
    TRANSLATED = "fio-0203";
    /// a decimal, which the original cuts
    DECIMAL = "fio-0300";
    /// a unit or a value that reads differently from what it looks like
    SURPRISING_VALUE = "fio-0301";
    /// `time_based` without a time
    NO_TIME = "fio-0302";
    /// a synchronous engine holds one I/O in flight
    DEPTH_OF_ONE = "fio-0303";
    /// a unit that the original drops, as a blank stands before the number
    LOST_UNIT = "fio-0304";
    /// one device or file under two names
    SAME_DEVICE = "fio-0310";
    /// storage that memory can hold, without direct I/O
    CACHED = "fio-0311";
    /// a range beyond the end of its storage
    BEYOND_STORAGE = "fio-0312";
    /// more I/Os in flight, files or buffers than the host allows
    KERNEL_LIMITS = "fio-0313";
    /// reads of a file that was never written whole
    UNWRITTEN = "fio-0314";
    /// results on the storage under test
    RESULTS_ON_STORAGE = "fio-0315";
}
