//! Parameters with the values that hold where they are not given. Both come out of the declaration
//! while this is compiled: a reader that names a parameter without a default of that type is no
//! program.

/// One macro per type of default; the first argument is the table of the section.
macro_rules! on {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(on, $table, $name)
    };
}

macro_rules! number {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(number, $table, $name)
    };
}

macro_rules! decimal {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(decimal, $table, $name)
    };
}

macro_rules! decimals {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(decimals, $table, $name)
    };
}

macro_rules! percent {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(percent, $table, $name)
    };
}

macro_rules! bytes {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(bytes, $table, $name)
    };
}

macro_rules! word {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(word, $table, $name)
    };
}

macro_rules! text {
    ($table:ident, $name:literal) => {
        $crate::vdbench::setting::declared!(text, $table, $name)
    };
}

macro_rules! declared {
    ($type:ident, $table:ident, $name:literal) => {
        const {
            let tables = [$crate::vdbench::tables::$table];
            let default = $crate::parameter::declared_among(&tables, $name);
            $crate::parameter::Setting::$type($name, default)
        }
    };
}
pub(crate) use declared;
