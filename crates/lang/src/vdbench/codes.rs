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
    FILE = "vdb-0001";
    /// an include inside an included file
    NESTED_INCLUDE = "vdb-0002";
    /// more than 32768 lines
    TOO_LONG = "vdb-0003";
    /// a variable that is not set
    UNSET_VARIABLE = "vdb-0004";
    /// a variable of the command line that no line uses
    UNUSED_VARIABLE = "vdb-0005";
    /// a blank inside run overrides
    OVERRIDE_BLANK = "vdb-0006";
    /// text after a blank is not read
    LOST_TEXT = "vdb-0010";
    /// a range that runs downward and yields its first value only
    DOWNWARD_RANGE = "vdb-0011";
    /// text that looks like a variable and is taken as it stands
    MAYBE_VARIABLE = "vdb-0012";
    /// the same device or file in two storage definitions
    SAME_DEVICE = "vdb-0013";
    /// a value that reads differently from what it looks like
    SURPRISING_VALUE = "vdb-0014";
    /// a warm-up longer than what is measured
    LONG_WARMUP = "vdb-0015";
    /// storage that the page cache can hold, without direct I/O
    CACHED = "vdb-0016";
    /// a range or an offset beyond the size of its storage
    BEYOND_STORAGE = "vdb-0017";
    /// more I/Os in flight, open files or buffers than this host allows
    KERNEL_LIMITS = "vdb-0018";
    /// too few I/Os for a 99th percentile
    FEW_SAMPLES = "vdb-0019";
    /// a file that is read before all of it was written
    UNWRITTEN = "vdb-0020";
    /// an error budget that a failure uses up at once
    SMALL_BUDGET = "vdb-0021";
    /// a rate or a point of a curve that is not the number it looks like
    ODD_RATE = "vdb-0022";
    /// results on the storage under test
    RESULTS_ON_STORAGE = "vdb-0023";
    /// a word without `=`
    NO_EQUALS = "vdb-0100";
    /// parentheses that do not match
    PARENTHESES = "vdb-0101";
    /// a parameter without a value
    NO_VALUE = "vdb-0102";
    /// a keyword of one letter
    SHORT_KEYWORD = "vdb-0103";
    /// a second `=`, or text after a closing parenthesis
    LOST_COMMA = "vdb-0104";
    /// a quote that is not closed
    QUOTE = "vdb-0105";
    /// an unknown parameter
    UNKNOWN_PARAMETER = "vdb-0107";
    /// a parameter of another section
    OTHER_SECTION = "vdb-0108";
    /// a definition after the section where it belongs
    OUT_OF_ORDER = "vdb-0109";
    /// text where a number is expected
    NOT_A_NUMBER = "vdb-0110";
    /// numbers and text in one list
    MIXED_LIST = "vdb-0111";
    /// the wrong count of values
    VALUE_COUNT = "vdb-0112";
    /// a value out of its range
    OUT_OF_RANGE = "vdb-0113";
    /// a word that the parameter does not know
    UNKNOWN_WORD = "vdb-0114";
    /// a parameter given twice where once is allowed
    REPEATED = "vdb-0115";
    /// a name defined twice
    DUPLICATE = "vdb-0120";
    /// a name that cannot be used
    RESERVED_NAME = "vdb-0121";
    /// a reference that matches nothing
    UNKNOWN_REFERENCE = "vdb-0122";
    /// a parameter that is required is missing
    MISSING = "vdb-0130";
    /// two parameters that exclude each other
    CONFLICT = "vdb-0131";
    /// a parameter that a default definition cannot have
    NOT_ON_DEFAULT = "vdb-0132";
    /// shares that do not add up to 100 %
    SHARES = "vdb-0140";
    /// times that do not fit each other
    TIMES = "vdb-0150";
    /// a device would be measured through the page cache
    NO_OPEN_FLAGS = "vdb-0133";
    /// a path that this host cannot have
    FOREIGN_PATH = "vdb-0134";
    /// no run is defined
    NO_RUN = "vdb-0160";
    /// a host that no workload uses
    UNUSED_HOST = "vdb-0161";
    /// a parameter that is refused
    REFUSED = "vdb-0200";
    /// read and checked, but not built yet
    NOT_BUILT = "vdb-0201";
    /// honoured in another way than the original
    TRANSLATED = "vdb-0202";
}
