//! The reader never panics, whatever it is given, and what it yields is consistent.
use crate::golden::{fixtures, folder};
use lang::vdbench::{self, Section, Status};
use proptest::prelude::*;

fn pieces() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "sd=",
        "wd=",
        "rd=",
        "fsd=",
        "fwd=",
        "hd=",
        "default",
        "sd1",
        "sd*",
        "(",
        ")",
        ",",
        "\n",
        "\"",
        " ",
        "=",
        "-",
        "%",
        "$v",
        "!v",
        "$host",
        "#host",
        "lun=/dev/a",
        "iorate=curve",
        "iorate=max",
        "xfersize=",
        "4k",
        "1-64,d",
        "100-0,10",
        "elapsed=",
        "forthreads=",
        "count=(1,5)",
        "size=1g",
        "range=",
        "é",
        "include=i",
        "eof",
        "#",
        "curve=(1-100,1)",
        "sd=range",
        "sd=single",
        "sd=setsof2",
        "seekpct=eof",
        "format=",
        "yes",
        "fwdrate=",
        "anchor=/a",
        "1e308",
        "99999999999999999999",
        "operation=read",
        "skew=",
        "hitarea=",
        "stride=",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        vdbench::fuzz_one(text.as_bytes());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        vdbench::fuzz_one(&bytes);
    }

    #[test]
    fn no_mixture_of_the_language_panics(text in pieces()) {
        vdbench::fuzz_one(text.as_bytes());
    }

    #[test]
    fn no_change_of_a_fixture_panics(
        pick in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        piece in pieces(),
    ) {
        let names = fixtures(&folder());
        let mut bytes = std::fs::read(folder().join(pick.get(&names))).unwrap();
        let at = at.index(bytes.len());
        bytes.splice(at..at, piece.bytes());
        vdbench::fuzz_one(&bytes);
    }
}

#[test]
fn no_prefix_of_a_fixture_panics() {
    for folder in [folder(), folder().join("mistakes")] {
        for name in fixtures(&folder) {
            let bytes = std::fs::read(folder.join(&name)).unwrap();
            for end in 0..=bytes.len() {
                vdbench::fuzz_one(&bytes[..end]);
            }
        }
    }
}

/// A name of a parameter means that parameter, unless an earlier one of the section starts with it.
#[test]
fn every_parameter_can_be_reached_by_its_name() {
    for section in Section::ALL {
        for parameter in section.parameters() {
            for name in parameter.names {
                let found = section.find(name).expect("a declared name is found");
                assert_eq!(found.name(), parameter.name(), "{section:?} {name}");
            }
        }
    }
}

/// Abbreviations take the first match in the order of the original.
#[test]
fn abbreviations_take_the_first_match() {
    let found =
        |section: Section, typed: &str| section.find(typed).map(|parameter| parameter.name());
    for (section, typed, name) in [
        (Section::General, "co", "compratio"),
        (Section::General, "con", "concatenatesds"),
        (Section::General, "cr", "create_anchors"),
        (Section::General, "fo", "formatxfersize"),
        (Section::General, "formats", "formatsds"),
        (Section::General, "re", "report"),
        (Section::Run, "el", "elapsed"),
        (Section::Run, "in", "interval"),
        (Section::Run, "io", "iorate"),
        (Section::Run, "th", "forthreads"),
        (Section::Run, "xf", "forxfersize"),
        (Section::Run, "forx", "forxfersize"),
        (Section::Run, "maxdatar", "maxdataread"),
        (Section::Storage, "openflag", "openflags"),
        (Section::FileSystem, "size", "sizes"),
        (Section::FileWorkload, "xfersize", "xfersizes"),
    ] {
        assert_eq!(found(section, typed), Some(name), "{typed}");
    }
    assert_eq!(found(Section::General, "journ"), None);
}

#[test]
fn the_reference_page_shows_every_parameter_once_and_no_fifth_kind() {
    let page = vdbench::reference_markdown();
    for section in Section::ALL {
        for parameter in section.parameters() {
            let row = format!("| `{}`", parameter.name());
            assert!(page.contains(&row), "{row}");
            let kind = match parameter.status {
                Status::Honoured => "honoured",
                Status::Translated(note) => note,
                Status::CheckOnly => "check only",
                Status::Refused(reason) => reason,
            };
            assert!(page.contains(kind));
            assert!(!parameter.doc.is_empty());
        }
        assert!(!vdbench::help(section).is_empty());
    }
}
