//! The standing list: what may stand in it, whose it has to be, and what its lines cover.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use super::{words, write_to_file};
use crate::guard::{
    Examination, Overwrite, Standing, StandingError, StandingPlaces, examine, judge, unused_words,
};
use crate::root::SysRoot;

fn named(list: &Path) -> StandingPlaces {
    let mut variable = OsString::from("@");
    variable.push(list);
    StandingPlaces {
        variable: Some(variable),
        ..StandingPlaces::default()
    }
}

fn read(list: &Path) -> Result<Option<Standing>, StandingError> {
    Standing::read(&named(list), &SysRoot::real())
}

/// A list of these lines, taken as it has to be.
pub(super) fn list(folder: &Path, lines: &str) -> Standing {
    let path = folder.join("standing list");
    fs::write(&path, lines).unwrap();
    set_mode(&path, 0o600);
    read(&path).unwrap().unwrap()
}

fn refusal(folder: &Path, line: &str) -> String {
    let path = folder.join("standing list");
    fs::write(&path, format!("# first\n{line}\n")).unwrap();
    set_mode(&path, 0o600);
    read(&path).expect_err(line).to_string()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A file that holds something.
fn held(path: &Path) -> Examination {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "something of value").unwrap();
    looked_at(path)
}

fn looked_at(path: &Path) -> Examination {
    let examination = examine(&SysRoot::real(), &[write_to_file(path)]).remove(0);
    assert!(!examination.findings.is_empty(), "{}", path.display());
    examination
}

/// Whether the list lets a target pass that is refused without it.
fn passes(standing: &Standing, examination: &Examination) -> bool {
    let all = std::slice::from_ref(examination);
    assert!(judge(all, &Overwrite::default()).is_err());
    let mut overwrite = Overwrite::default();
    let passed = standing.let_pass(all, &mut overwrite);
    assert!(unused_words(all, &overwrite).is_empty());
    let is_granted = judge(all, &overwrite).is_ok();
    assert_eq!(is_granted, !passed.is_empty());
    is_granted
}

#[test]
fn what_may_not_stand_in_a_list_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home/ann");
    fs::create_dir_all(&home).unwrap();
    for (line, reason) in [
        ("/dev/sdb", "WWN, serial number or PARTUUID"),
        ("/dev/disk/by-id/*", "WWN, serial number or PARTUUID"),
        ("/dev", "WWN, serial number or PARTUUID"),
        ("data/file", "no absolute path"),
        ("./file", "no absolute path"),
        ("~/file", "no absolute path"),
        ("@/other/list", "no absolute path"),
        ("naa.5*", "whole id"),
        ("/data/../etc/shadow", "`..`"),
        ("/data/./x*", "`..`"),
        ("/", "is a folder"),
        ("/etc", "is a folder"),
        ("/data/", "is a folder"),
        ("/*", "`/`, which is a folder that many share"),
        ("/**", "`/`"),
        ("/da*/file", "`/`"),
        ("/home/*", "many share"),
        ("/home/*/disk", "many share"),
        ("/home/ann/*", "a home folder"),
        ("/root/*", "a home folder"),
        ("/tmp/*", "many share"),
        ("/etc/*", "part of the system"),
        ("/usr/local/data/*", "part of the system"),
        ("/boot/*.img", "part of the system"),
        ("/proc/*", "part of the system"),
        ("/data/a**", "no pattern"),
        ("/data/[x", "no pattern"),
    ] {
        let told = refusal(folder.path(), line);
        assert!(told.contains(reason), "{line}: {told}");
        assert!(told.contains("line 2 of the standing list"), "{told}");
    }
}

#[test]
fn a_pattern_covers_no_home_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("standing list");
    let home = folder.path().join("homes/ann");
    fs::create_dir_all(home.join("bench")).unwrap();
    symlink(&home, folder.path().join("elsewhere")).unwrap();
    symlink("/etc", folder.path().join("mine")).unwrap();
    let attempt = |pattern: &str| {
        let line = format!("{}/{pattern}\n", folder.path().display());
        fs::write(&path, line).unwrap();
        set_mode(&path, 0o600);
        let places = StandingPlaces {
            home: Some(home.clone().into_os_string()),
            ..named(&path)
        };
        Standing::read(&places, &SysRoot::real()).map_err(|error| error.to_string())
    };
    for (pattern, reason) in [
        ("homes/ann/*", "a home folder"),
        ("homes/**", "that holds home folders"),
        ("elsewhere/*", "a home folder"),
        ("mine/*", "part of the system"),
    ] {
        let told = attempt(pattern).unwrap_err();
        assert!(told.contains(reason), "{pattern}: {told}");
    }
    assert!(attempt("homes/ann/bench/*").unwrap().is_some());
}

#[test]
fn a_list_that_others_can_write_or_replace_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("list");
    fs::write(&path, "naa.5\n").unwrap();
    let modes = |of_folder: u32, of_list: u32| {
        set_mode(&inner, of_folder);
        set_mode(&path, of_list);
        read(&path).map(|_| ()).map_err(|error| error.to_string())
    };
    for (of_folder, of_list) in [(0o755, 0o644), (0o700, 0o400), (0o1777, 0o644)] {
        modes(of_folder, of_list).unwrap();
    }
    for (of_folder, of_list, culprit) in [
        (0o755, 0o664, "inner/list` (mode 664)"),
        (0o755, 0o646, "inner/list` (mode 646)"),
        (0o777, 0o600, "inner` (mode 777)"),
        (0o775, 0o600, "inner` (mode 775)"),
    ] {
        let told = modes(of_folder, of_list).unwrap_err();
        assert!(
            told.contains(culprit) && told.contains("chmod go-w"),
            "{told}"
        );
    }
    // The way through a link is a way to replace it, too.
    modes(0o755, 0o600).unwrap();
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    symlink(&path, open.join("link")).unwrap();
    set_mode(&open, 0o755);
    assert!(read(&open.join("link")).is_ok());
    set_mode(&open, 0o777);
    let told = read(&open.join("link")).unwrap_err().to_string();
    assert!(told.contains("open` (mode 777)"), "{told}");
}

#[test]
fn a_list_of_somebody_else_is_not_used() {
    if !is_root() {
        return println!("skipped: giving files away requires root");
    }
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let path = inner.join("list");
    fs::write(&path, "naa.5\n").unwrap();
    for given in [&path, &inner] {
        chown(given, Some(65534), None).unwrap();
        let told = read(&path).unwrap_err().to_string();
        assert!(told.contains("belongs to user 65534"), "{told}");
        chown(given, Some(0), None).unwrap();
    }
    // A configuration that another user left, as when HOME is kept.
    let config = folder.path().join(".config/fathom");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("overwrite"), "naa.5\n").unwrap();
    let places = StandingPlaces {
        home: Some(folder.path().as_os_str().to_owned()),
        ..StandingPlaces::default()
    };
    assert!(Standing::read(&places, &SysRoot::real()).unwrap().is_some());
    chown(config.join("overwrite"), Some(65534), None).unwrap();
    assert!(matches!(
        Standing::read(&places, &SysRoot::real()),
        Err(StandingError::NotTrusted { .. })
    ));
}

#[test]
fn what_is_no_text_of_a_usual_length_is_no_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    for (content, reason) in [
        (vec![0xff, 0xfe, 0x00], "UTF-8"),
        (vec![b'#'; 2 << 20], "longer than 1 MiB"),
    ] {
        fs::write(&path, content).unwrap();
        let told = read(&path).unwrap_err().to_string();
        assert!(told.contains(reason), "{told}");
    }
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let told = read(&path).unwrap_err().to_string();
    assert!(told.contains("no regular file"), "{told}");
}

#[test]
fn a_list_is_found_by_the_variable_or_in_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "naa.5000\n").unwrap();
        path
    };
    let mut places = StandingPlaces {
        home: Some(folder.into()),
        ..StandingPlaces::default()
    };
    let found = |places: &StandingPlaces| -> Option<PathBuf> {
        let list = Standing::read(places, &SysRoot::real()).unwrap()?;
        Some(list.path)
    };
    assert_eq!(found(&places), None);
    let of_home = write(".config/fathom/overwrite");
    assert_eq!(found(&places), Some(of_home.clone()));
    places.config_home = Some("relative".into());
    assert_eq!(found(&places), Some(of_home.clone()));
    places.config_home = Some(folder.join("xdg").into());
    assert_eq!(found(&places), None);
    let of_config = write("xdg/fathom/overwrite");
    assert_eq!(found(&places), Some(of_config.clone()));
    places.variable = Some("".into());
    assert_eq!(found(&places), Some(of_config));
    places.variable = Some(format!("@{}", of_home.display()).into());
    assert_eq!(found(&places), Some(of_home));
    // What is named has to be there, and is never a target.
    places.variable = Some(format!("@{}/none", folder.display()).into());
    assert!(Standing::read(&places, &SysRoot::real()).is_err());
    for value in ["/dev/sdb", "@"] {
        places.variable = Some(value.into());
        let told = Standing::read(&places, &SysRoot::real())
            .unwrap_err()
            .to_string();
        assert!(told.contains("FATHOM_OVERWRITE=@FILE"), "{told}");
    }
}

#[test]
fn a_file_is_named_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let one = held(&folder.join("one file"));
    let other = held(&folder.join("other"));
    let standing = list(
        folder,
        &format!(
            "{}\n/no/such/file\nVM17\n",
            folder.join("one file").display()
        ),
    );
    assert!(passes(&standing, &one));
    assert!(!passes(&standing, &other));
    // Links on the way to its folder lead to the same file.
    symlink(folder, folder.join("way")).unwrap();
    assert!(passes(&standing, &looked_at(&folder.join("way/one file"))));
    let standing = list(folder, &format!("{}\n", folder.join("way/other").display()));
    assert!(passes(&standing, &other));
    // What a link in the place of the file leads to was not named.
    fs::remove_file(folder.join("one file")).unwrap();
    symlink(folder.join("other"), folder.join("one file")).unwrap();
    let standing = list(folder, &format!("{}\n", folder.join("one file").display()));
    assert!(!passes(&standing, &other));
    assert!(!passes(&standing, &looked_at(&folder.join("one file"))));
}

#[test]
fn a_pattern_covers_regular_files_below_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let at = |name: &str| folder.join(name);
    let inside = held(&at("bench/job.0"));
    let deep = held(&at("bench/deep/job.0"));
    let hidden = held(&at("bench/.job"));
    let outside = held(&at("outside/job.0"));
    let pattern = |pattern: &str| list(folder, &format!("{}\n", at(pattern).display()));
    let files = pattern("bench/*");
    assert!(passes(&files, &inside));
    for other in [&deep, &hidden, &outside] {
        assert!(!passes(&files, other), "{}", other.real_path.display());
    }
    assert!(passes(&pattern("bench/**"), &deep));
    assert!(passes(&pattern("bench/d*/job.[0-3]"), &deep));
    assert!(!passes(&pattern("bench/**"), &outside));
    assert!(!passes(&pattern("gone/*"), &outside));
    // Links and `..` lead out of the folder.
    symlink(at("outside/job.0"), at("bench/link")).unwrap();
    symlink(at("outside"), at("bench/folder")).unwrap();
    for way in ["bench/link", "bench/folder/job.0", "bench/../outside/job.0"] {
        assert!(!passes(&pattern("bench/**"), &looked_at(&at(way))), "{way}");
    }
    // Into it they do no harm.
    symlink(at("bench"), at("alias")).unwrap();
    for way in ["alias/job.0", "outside/../bench/job.0"] {
        assert!(passes(&files, &looked_at(&at(way))), "{way}");
        assert!(passes(&pattern("alias/*"), &looked_at(&at(way))), "{way}");
    }
    fs::hard_link(at("outside/job.0"), at("bench/second")).unwrap();
    assert!(!passes(&files, &looked_at(&at("bench/second"))));
    let exact = list(folder, &format!("{}\n", at("bench/second").display()));
    assert!(passes(&exact, &looked_at(&at("bench/second"))));
}

#[test]
fn a_file_that_took_the_place_of_the_examined_one_is_not_let_pass() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench/job");
    let examined = held(&path);
    let standing = list(
        folder.path(),
        &format!("{}/bench/*\n", folder.path().display()),
    );
    fs::write(folder.path().join("newcomer"), "of somebody").unwrap();
    fs::rename(folder.path().join("newcomer"), &path).unwrap();
    assert!(!passes(&standing, &examined));
}

#[test]
fn what_is_told_is_what_needed_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut all = vec![held(&at("bench/a")), held(&at("bench/b")), held(&at("c"))];
    fs::write(at("bench/blank"), [0; 4096]).unwrap();
    all.push(examine(&SysRoot::real(), &[write_to_file(&at("bench/blank"))]).remove(0));
    for (number, one) in all.iter_mut().enumerate() {
        one.request.target = plan::TargetId(number as u32);
    }
    let lines = format!(
        "\u{feff}# all\r\nVM17\r\n  {}/bench/*  \r\n",
        folder.path().display()
    );
    let standing = list(folder.path(), &lines);
    let mut overwrite = words(&[at("bench/b").to_str().unwrap()]);
    let passed = standing.let_pass(&all, &mut overwrite);
    assert_eq!(passed.len(), 1);
    assert_eq!((passed[0].line, &passed[0].examinations), (3, &vec![0]));
    let refused = judge(&all, &overwrite).unwrap_err();
    let targets: Vec<_> = refused.refusals.iter().map(|one| one.target.0).collect();
    assert_eq!(targets, [2]);
}
