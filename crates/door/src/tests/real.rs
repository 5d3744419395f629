use crate::{
    ClaimError, Door, DoorError, Found, Grant, Grants, Intent, Kernel, Purpose, RemoveError,
};
use plan::{Access, TargetId};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use sys::file::OpenFlags;

const TARGET: TargetId = TargetId(0);

fn door() -> Arc<Door<Kernel>> {
    Arc::new(Door::new(0))
}

fn granted(door: &Arc<Door<Kernel>>, path: &Path, access: Access) -> Grants<Kernel> {
    let intent = match access {
        Access::Read | Access::Share => Intent::Look,
        Access::Write | Access::Create => Intent::Write,
    };
    let approach = door.approach(path, intent).unwrap();
    assert!(approach.unclaimed.is_none());
    let object = approach.object.expect("it can be a target");
    let grant = Grant::issue(TARGET, access, object, approach.real_path);
    Grants::new(Arc::clone(door), vec![grant])
}

fn open(grants: &Grants<Kernel>, purpose: Purpose) -> Result<Arc<fs::File>, DoorError> {
    grants.open(TARGET, purpose, &OpenFlags::default())
}

#[test]
fn what_was_missing_is_made_once_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let grants = granted(&door(), &path, Access::Create);
    assert!(!path.exists());
    assert!(matches!(
        open(&grants, Purpose::Read),
        Err(DoorError::Io { .. })
    ));
    sys::file::pwrite(&open(&grants, Purpose::Write).unwrap(), b"first", 0).unwrap();
    open(&grants, Purpose::Cut).unwrap();
    open(&grants, Purpose::Read).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first");
}

#[test]
fn what_has_come_in_between_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, theirs) = (folder.path().join("data"), folder.path().join("theirs"));
    fs::write(&theirs, "kept").unwrap();
    for how in ["moved", "link", "dangling"] {
        let grants = granted(&door(), &path, Access::Create);
        match how {
            "moved" => fs::rename(&theirs, &path).unwrap(),
            "link" => symlink(&theirs, &path).unwrap(),
            _ => symlink(folder.path().join("nowhere"), &path).unwrap(),
        }
        let refused = open(&grants, Purpose::Write).unwrap_err();
        assert!(
            matches!(refused, DoorError::Came { .. }),
            "{how}: {refused}"
        );
        let entry = grants.entry(TARGET, |_| true).unwrap();
        let refused = entry.make().err().unwrap();
        assert_eq!(refused.raw_os_error(), Some(17), "{how}");
        match how {
            "moved" => fs::rename(&path, &theirs).unwrap(),
            _ => fs::remove_file(&path).unwrap(),
        }
        assert_eq!(fs::read(&theirs).unwrap(), b"kept");
        assert!(!folder.path().join("nowhere").exists());
    }
}

#[test]
fn what_another_host_makes_is_opened_and_neither_made_nor_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let (first, second) = (door(), door());
    let makes = granted(&first, &path, Access::Create);
    let shares = granted(&second, &path, Access::Share);
    assert!(matches!(
        open(&shares, Purpose::Write),
        Err(DoorError::NotShared { .. })
    ));
    symlink(folder.path().join("nowhere"), &path).unwrap();
    assert!(matches!(
        open(&shares, Purpose::Write),
        Err(DoorError::Replaced { .. })
    ));
    fs::remove_file(&path).unwrap();
    let made = open(&makes, Purpose::Write).unwrap();
    // The lock of the first keeps other executions away, and not a host that shares the file.
    sys::file::pwrite(&open(&shares, Purpose::Write).unwrap(), b"second", 0).unwrap();
    sys::file::pwrite(&made, b"f", 0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"fecond");
    assert!(matches!(
        open(&shares, Purpose::Cut),
        Err(DoorError::NotOurs { .. })
    ));
    fs::rename(&path, folder.path().join("other")).unwrap();
    fs::write(&path, "kept").unwrap();
    assert!(matches!(
        open(&shares, Purpose::Write),
        Err(DoorError::Replaced { .. })
    ));
    assert_eq!(fs::read(&path).unwrap(), b"kept");
}

#[test]
fn what_took_the_place_of_ours_is_neither_opened_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, theirs) = (folder.path().join("data"), folder.path().join("theirs"));
    fs::write(&theirs, "kept").unwrap();
    let grants = granted(&door(), &path, Access::Create);
    drop(open(&grants, Purpose::Write).unwrap());
    fs::rename(&theirs, &path).unwrap();
    for purpose in [Purpose::Read, Purpose::Write, Purpose::Cut] {
        assert!(matches!(
            open(&grants, purpose),
            Err(DoorError::Replaced { .. })
        ));
    }
    let entry = grants.entry(TARGET, |_| true).unwrap();
    assert!(matches!(entry.set_aside(), Err(RemoveError::Replaced)));
    assert_eq!(fs::read(&path).unwrap(), b"kept");
    // A hard link to another file, and a link.
    fs::remove_file(&path).unwrap();
    fs::write(&theirs, "kept").unwrap();
    symlink(&theirs, &path).unwrap();
    assert!(matches!(
        open(&grants, Purpose::Write),
        Err(DoorError::Replaced { .. })
    ));
    drop((entry, grants));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn what_is_kept_from_removal_counts_as_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (path, theirs) = (folder.path().join("data"), folder.path().join("theirs"));
    fs::write(&theirs, "kept").unwrap();
    let grants = granted(&door(), &path, Access::Create);
    drop(open(&grants, Purpose::Write).unwrap());
    fs::rename(&theirs, &path).unwrap();
    assert!(!grants.door().has_refused());
    let entry = grants.entry(TARGET, |_| true).unwrap();
    assert!(matches!(entry.set_aside(), Err(RemoveError::Replaced)));
    assert!(grants.door().has_refused());
}

#[test]
fn ours_is_removed_and_may_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let grants = granted(&door(), &path, Access::Create);
    let entry = grants.entry(TARGET, |_| true).unwrap();
    for _ in 0..3 {
        let fresh = entry.make().unwrap();
        entry.remember(&fresh).unwrap();
        assert!(path.exists());
        let aside = entry.set_aside().unwrap();
        entry.unlink(aside).unwrap();
        assert!(!path.exists());
        assert!(matches!(entry.set_aside(), Err(RemoveError::Gone)));
    }
    let fresh = entry.make().unwrap();
    entry.remember(&fresh).unwrap();
    entry.put_back(entry.set_aside().unwrap()).unwrap();
    assert!(path.exists());
    drop((entry, grants));
    // The folder of ours has gone with the door.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_was_there_before_is_neither_cut_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::write(&path, "theirs").unwrap();
    let grants = granted(&door(), &path, Access::Write);
    open(&grants, Purpose::Write).unwrap();
    assert!(matches!(
        open(&grants, Purpose::Cut),
        Err(DoorError::NotOurs { .. })
    ));
    let entry = grants.entry(TARGET, |_| true).unwrap();
    assert!(matches!(entry.set_aside(), Err(RemoveError::NotOurs)));
}

#[test]
fn what_grew_after_it_was_examined_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    fs::write(&path, "").unwrap();
    let grants = granted(&door(), &path, Access::Write);
    fs::write(&path, "theirs").unwrap();
    assert!(matches!(
        open(&grants, Purpose::Write),
        Err(DoorError::Changed { .. })
    ));
    // What was written through the door itself is no change by others.
    fs::write(folder.path().join("other"), "").unwrap();
    let grants = granted(&door(), &folder.path().join("other"), Access::Write);
    sys::file::pwrite(&open(&grants, Purpose::Write).unwrap(), b"ours", 0).unwrap();
    open(&grants, Purpose::Write).unwrap();
}

#[test]
fn two_executions_never_write_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    // Both find it missing; the second is refused once the first has made it.
    let (first, second) = (door(), door());
    let one = granted(&first, &path, Access::Create);
    let other = granted(&second, &path, Access::Create);
    open(&one, Purpose::Write).unwrap();
    assert!(matches!(
        open(&other, Purpose::Write),
        Err(DoorError::Came { .. })
    ));
    // A third finds it there.
    let third = door().approach(&path, Intent::Write).unwrap();
    assert!(matches!(third.unclaimed, Some(ClaimError::Locked)));
    assert_eq!((third.found, third.file.is_some()), (Found::File, true));
    // To look disturbs nobody, and is not disturbed.
    assert!(
        door()
            .approach(&path, Intent::Look)
            .unwrap()
            .unclaimed
            .is_none()
    );
    drop((one, first));
    let fourth = door().approach(&path, Intent::Write).unwrap();
    assert!(fourth.unclaimed.is_none());
}

#[test]
fn one_file_under_two_names_is_claimed_once() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("data"), folder.path().join("hard"));
    fs::write(&path, "").unwrap();
    fs::hard_link(&path, &link).unwrap();
    symlink(&path, folder.path().join("soft")).unwrap();
    let door = door();
    let one = granted(&door, &path, Access::Write);
    let other = granted(&door, &link, Access::Write);
    let third = granted(&door, &folder.path().join("soft"), Access::Write);
    sys::file::pwrite(&open(&one, Purpose::Write).unwrap(), b"ours", 0).unwrap();
    open(&other, Purpose::Write).unwrap();
    open(&third, Purpose::Write).unwrap();
}

#[test]
fn claims_take_no_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let door = door();
    let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open_files();
    for number in 0..500 {
        let path = folder.path().join(number.to_string());
        fs::write(&path, "").unwrap();
        let approach = door.approach(&path, Intent::Write).unwrap();
        assert!(approach.unclaimed.is_none());
    }
    // Other tests open files at the same time; 500 they do not.
    assert!(open_files() < before + 100);
    assert_eq!(door.unheld(), 0);
}

#[test]
fn folders_beyond_those_that_are_held_are_compared() {
    let root = tempfile::tempdir().unwrap();
    let door = door();
    let make = |number: usize| {
        let folder = root.path().join(number.to_string());
        fs::create_dir(&folder).unwrap();
        granted(&door, &folder.join("data"), Access::Create)
    };
    let all: Vec<_> = (0..100).map(make).collect();
    let last = root.path().join("99");
    let entry = all[99].entry(TARGET, |_| true).unwrap();
    entry.remember(&entry.make().unwrap()).unwrap();
    let aside = entry.set_aside().unwrap();
    entry.unlink(aside).unwrap();
    assert_eq!(fs::read_dir(&last).unwrap().count(), 0);
    fs::rename(&last, root.path().join("moved")).unwrap();
    fs::create_dir(&last).unwrap();
    assert!(matches!(
        open(&all[99], Purpose::Write),
        Err(DoorError::Replaced { .. })
    ));
    assert_eq!(fs::read_dir(&last).unwrap().count(), 0);
    // One that is held stays the same folder, wherever it goes.
    fs::rename(root.path().join("0"), root.path().join("elsewhere")).unwrap();
    open(&all[0], Purpose::Write).unwrap();
    assert!(root.path().join("elsewhere/data").exists());
}

#[test]
fn what_is_no_target_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let found = |path: &Path| door().approach(path, Intent::Write).unwrap().found;
    assert_eq!(found(folder.path()), Found::Folder);
    assert_eq!(found(Path::new("/")), Found::Folder);
    assert_eq!(found(Path::new("/dev/null")), Found::Other);
    assert_eq!(found(&folder.path().join("data")), Found::Missing);
    assert_eq!(found(&folder.path().join("no/data")), Found::FolderMissing);
    symlink(folder.path().join("no"), folder.path().join("dangling")).unwrap();
    let dangling = door().approach(&folder.path().join("dangling"), Intent::Write);
    assert_eq!(dangling.unwrap().real_path, folder.path().join("no"));
}

#[test]
fn what_is_behind_a_target_is_shared_by_those_who_write_parts_of_it() {
    use crate::{Behind, ClaimError, Sharing};
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    fs::write(&path, "content").unwrap();
    let facts = fs::metadata(&path).unwrap();
    let it = Behind::File {
        device: facts.dev(),
        inode: facts.ino(),
    };
    let claim = |sharing| {
        let door = door();
        let claimed = door.claim_behind(&path, it, sharing);
        (door, claimed)
    };
    let parts = [claim(Sharing::Parts), claim(Sharing::Parts)];
    assert!(parts.iter().all(|(_, claimed)| claimed.is_ok()));
    let whole = claim(Sharing::Alone).1;
    assert!(matches!(whole, Err(ClaimError::Locked)), "{whole:?}");
    let as_file = door().approach(&path, Intent::Write).unwrap();
    assert!(matches!(as_file.unclaimed, Some(ClaimError::Locked)));
    drop(parts);
    let (_door, whole) = claim(Sharing::Alone);
    whole.unwrap();
    assert!(matches!(claim(Sharing::Parts).1, Err(ClaimError::Locked)));
    // What takes its place is nobody's concern.
    fs::rename(&path, folder.path().join("away")).unwrap();
    fs::write(&path, "other").unwrap();
    let replaced = claim(Sharing::Alone).1;
    assert!(matches!(replaced, Err(ClaimError::Refused(_))));
    door().approach(&path, Intent::Write).unwrap();
}
