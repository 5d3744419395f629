use super::*;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

fn root(folder: &Path) -> SysRoot {
    SysRoot {
        state: Some(folder.join("state")),
        ..SysRoot::real()
    }
}

fn storage(name: &str) -> Storage {
    Storage {
        bearer: Some(Bearer {
            within: None,
            name: name.to_owned(),
        }),
        base: None,
        offset: 0,
        size: None,
    }
}

fn record(of: &str, size: u64, parts: &[Part]) -> Record {
    Record {
        of: of.to_owned(),
        size,
        is_open: false,
        has_places: false,
        parts: parts.to_vec(),
        laws: Vec::new(),
        seed: 7,
        digest: 0,
    }
}

fn digest(file: &File, record: &Record) -> io::Result<u64> {
    Source::new(file, file.metadata()?.len(), 0, None).digest(record)
}

/// What the state folder alone remembers of a file.
fn known(root: &SysRoot, file: &File, bearer: &str) -> Option<Known> {
    let bytes = file.metadata().unwrap().len();
    storage(bearer).recorded(root.state.as_deref(), file, bytes)
}

fn beside(root: &SysRoot, file: &File, bearer: &str) -> Option<Vec<Part>> {
    Some(known(root, file, bearer)?.parts)
}

fn keep_record(root: &SysRoot, file: &File, mut record: Record) -> io::Result<()> {
    record.digest = digest(file, &record).unwrap();
    StateFolder::make(root.state.as_deref())?.replace(&record.of, &record.text())
}

fn keep_beside(root: &SysRoot, file: &File, bearer: &str, parts: &[Part]) -> io::Result<()> {
    let bytes = file.metadata().unwrap().len();
    keep_record(root, file, record(bearer, bytes, parts))
}

fn file_of(path: &Path, data: &[u8]) -> File {
    fs::write(path, data).unwrap();
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
fn a_record_counts_while_its_samples_and_its_bearer_fit() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let data = vec![0x5a; 3 << 20];
    let file = file_of(&folder.path().join("data"), &data);
    let parts = [(4096, 1 << 20), (2 << 20, 3 << 20)];
    keep_beside(&root, &file, "one", &parts).unwrap();
    assert_eq!(beside(&root, &file, "one"), Some(parts.to_vec()));
    assert_eq!(beside(&root, &file, "other"), None);
    file.write_all_at(b"x", 0).unwrap();
    assert!(
        beside(&root, &file, "one").is_some(),
        "outside of the parts"
    );
    file.write_all_at(b"x", 3 << 19 | 5).unwrap();
    assert!(
        beside(&root, &file, "one").is_some(),
        "outside of the parts"
    );
    file.write_all_at(b"x", (3 << 20) - 1).unwrap();
    assert_eq!(beside(&root, &file, "one"), None, "a changed byte");
    file.write_all_at(b"\x5a", (3 << 20) - 1).unwrap();
    file.set_len((3 << 20) - 1).unwrap();
    assert_eq!(beside(&root, &file, "one"), None, "cut");
}

#[test]
fn of_long_parts_ends_and_spread_blocks_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = file_of(&folder.path().join("long"), b"");
    file.set_len(3 << 30).unwrap();
    let mut record = record("one", 3 << 30, &[(512, 1 << 30), (2 << 30, 3 << 30)]);
    let taken = samples(&record);
    assert!(taken.windows(2).all(|two| two[0].1 <= two[1].0), "twice");
    let inside = |(low, end): &Part| *low >= 512 && (*end <= 1 << 30 || *low >= 2 << 30);
    assert!(taken.iter().all(inside));
    let blocks = taken.iter().filter(|(low, end)| end - low == 4096);
    let blocks = blocks.count() as u64;
    assert!(
        blocks <= samples::SAMPLES && blocks > samples::SAMPLES / 2,
        "{blocks}"
    );
    let covers = |at: u64| taken.iter().any(|(low, end)| *low <= at && *end > at);
    let mib = 1 << 20;
    for at in [
        512,
        8 * mib - 1,
        1023 * mib,
        2048 * mib,
        (3 << 30) - 8 * mib,
        (3 << 30) - 1,
    ] {
        assert!(covers(at), "{at}");
    }
    assert!(!covers(8 * mib) || !covers(8 * mib + 8192));
    let before = digest(&file, &record).unwrap();
    for (low, end) in taken.iter().step_by(97) {
        file.write_all_at(&[1], (low + end) / 2).unwrap();
        assert_ne!(digest(&file, &record).unwrap(), before);
        file.write_all_at(&[0], (low + end) / 2).unwrap();
    }
    assert_eq!(digest(&file, &record).unwrap(), before);
    // Places of signatures are read where something looks like one.
    let start = 777_u64.next_power_of_two() * mib;
    assert!(!taken.contains(&(start / 2, start / 2 + 4096)));
    record.has_places = true;
    let taken = samples(&record);
    assert!(
        taken
            .iter()
            .any(|(low, end)| *low <= start / 2 && *end > start / 2 + 4000)
    );
}

/// The content of all but what is known, at the first block of a place.
fn others<'a>(file: &'a File, known: &'a Known) -> Content<'a> {
    Content::others(file, 0, file.metadata().unwrap().len(), known)
}

#[test]
fn a_signature_counts_where_no_sample_covers_its_very_place() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let file = file_of(&folder.path().join("data"), b"");
    let size = 200 << 20;
    file.set_len(size).unwrap();
    keep_beside(&root, &file, "one", &[(0, size)]).unwrap();
    let taken = known(&root, &file, "one").unwrap();
    let spread = (9..190).map(|mib| mib << 20);
    let free = spread.filter(|at| {
        let block = (*at, *at + 4096);
        taken
            .samples
            .iter()
            .all(|one| one.1 <= block.0 || one.0 >= block.1)
    });
    let free: Vec<u64> = free.take(12).collect();
    assert_eq!(free.len(), 12);
    for at in free {
        file.write_all_at(b"XFSB", at).unwrap();
        let known = known(&root, &file, "one").expect("no sample was changed");
        let hits = places::search_starts(&others(&file, &known));
        let is_start = !places::search_starts(&Content::new(&file, size)).is_empty();
        assert_eq!(!hits.is_empty(), is_start, "{at}");
        let block = others(&file, &known).get(at, 4).unwrap().into_owned();
        assert_eq!(block, b"XFSB", "{at}");
        file.write_all_at(&[0; 4], at).unwrap();
    }
    // Where samples cover the place, it is ours for as long as nothing changes.
    for at in [0, 65_536, size - 4096] {
        file.write_all_at(b"XFSB", at).unwrap();
        assert_eq!(known(&root, &file, "one"), None, "{at}");
        keep_beside(&root, &file, "one", &[(0, size)]).unwrap();
        let known = known(&root, &file, "one").unwrap();
        assert!(!signatures::search(&Content::new(&file, size)).is_empty() || at > 0);
        assert!(signatures::search(&others(&file, &known)).is_empty());
    }
}

#[test]
fn data_of_a_law_are_known_and_nothing_else_inside_of_it() {
    let law = |cell| Law::new((1000, 1 << 20), cell, b"abc").unwrap();
    let known = |laws: &[Law]| Known {
        laws: laws.to_vec(),
        ..Known::default()
    };
    let block = |at: u64, cell: u64| -> Vec<u8> {
        let byte = |at: u64| b"abc"[((at - 1000) % cell % 3) as usize];
        (at..at + 4096).map(byte).collect()
    };
    for cell in [512, 1000, 4096, 6144] {
        let known = known(&[law(cell)]);
        for at in [4096, 8192, 40_960] {
            let good = block(at, cell);
            assert!(known.explains(at, &good), "{cell} {at}");
            for place in [0, 511, 2048, 4095] {
                let mut bad = good.clone();
                bad[place] ^= 1;
                assert!(!known.explains(at, &bad), "{cell} {at} {place}");
                let mut seen = bad.clone();
                known.hide(at, &mut seen);
                assert_eq!(seen, bad);
            }
            let mut seen = good.clone();
            known.hide(at, &mut seen);
            assert!(is_blank(&seen));
            assert!(!known.explains(at + (2 << 20), &good), "outside");
        }
    }
    // The first bytes are not of the part.
    let mut first = block(4096, 4096);
    first[1000..].copy_from_slice(&block(1000, 4096)[..3096]);
    assert!(!known(&[law(4096)]).explains(0, &first));
    first[..1000].fill(0);
    assert!(known(&[law(4096)]).explains(0, &first));
    // A mark says nothing of what stands behind it.
    let mut marked = block(4096, 4096);
    marked[..8].copy_from_slice(&DATA_MARK);
    let seen = marked.clone();
    known(&[law(4096)]).hide(4096, &mut marked);
    assert_eq!(marked, seen);
    // Pieces of two laws, and blanks.
    let other = Law::new((0, 1 << 20), 512, b"x").unwrap();
    let mut mixed = block(4096, 512);
    mixed[..1000].fill(0);
    let cell = 1000 + 512 * 8 - 4096;
    mixed[..cell].fill(b'x');
    mixed[cell + 512..cell + 1024].fill(b'x');
    assert!(known(&[law(512), other.clone()]).explains(4096, &mixed));
    assert!(!known(&[law(512)]).explains(4096, &mixed));
}

#[test]
fn patterns_that_would_explain_anything_are_no_law() {
    assert_eq!(Law::new((0, 4096), 64, b"abc"), None);
    assert_eq!(Law::new((0, 4096), 4096, &[1; 257]), None);
    assert_eq!(Law::new((0, 4096), 4096, b""), None);
}

#[test]
fn an_open_record_excuses_by_its_laws_and_a_closed_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let file = file_of(&folder.path().join("data"), &[0x5a; 65_536]);
    let parts = &[(8192, 32_768)];
    let laws = [Law::new(parts[0], 4096, b"\x5a").unwrap()];
    let written = |known| Written {
        known,
        parts,
        laws: &laws,
        is_all_ours: true,
    };
    let storage = Storage::of_file(&file);
    let look = || storage.known(root.state.as_deref(), &file, 65_536);
    let nothing = Known::default();
    announce(&root, &file, written(&nothing)).unwrap();
    let opened = look();
    assert!(opened.explains(8192, &[0x5a; 4096]));
    assert!(!opened.explains(8192, &[0x5b; 4096]));
    assert!(!opened.explains(4096, &[0x5a; 4096]), "beside it");
    keep(&root, &file, written(&opened)).unwrap();
    let closed = look();
    assert_eq!((&closed.parts[..], closed.laws.len()), (&parts[..], 0));
    assert_eq!(closed.all_laws, laws);
    file.write_all_at(b"x", 9000).unwrap();
    assert!(look().is_empty(), "a digest alone counts by now");
    // What is not going to be written keeps its digest.
    file.write_all_at(b"\x5a", 9000).unwrap();
    let more = Written {
        parts: &[(16_384, 65_536)],
        ..written(&closed)
    };
    announce(&root, &file, more).unwrap();
    assert_eq!(look().parts, [(8192, 16_384)]);
    file.write_all_at(b"x", 20_000).unwrap();
    assert!(look().explains(8192, b"anything"));
    file.write_all_at(b"x", 9000).unwrap();
    assert!(look().is_empty());
}

#[test]
fn the_rest_of_a_block_that_was_ours_is_recorded() {
    let known = Known {
        offset: 512,
        parts: vec![(0, 512)],
        ..Known::default()
    };
    let written = |is_all_ours| Written {
        known: &known,
        parts: &[(1000, 6144)],
        laws: &[],
        is_all_ours,
    };
    let (parts, _) = written(true).in_storage(512, 1 << 20, false);
    assert_eq!(parts, [(0, 8704)]);
    let (parts, _) = written(false).in_storage(512, 1 << 20, false);
    assert_eq!(parts, [(0, 512), (1512, 6656)]);
    let (parts, _) = written(true).in_storage(512, 1 << 20, true);
    assert_eq!(parts, [(0, 1512), (6656, 8704)]);
}

#[test]
fn nothing_but_an_earlier_record_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let file = file_of(&folder.path().join("data"), &[1; 8192]);
    keep_beside(&root, &file, "one", &[(0, 4096)]).unwrap();
    keep_beside(&root, &file, "one", &[(0, 8192)]).unwrap();
    assert_eq!(beside(&root, &file, "one"), Some(vec![(0, 8192)]));
    let records = folder.path().join("state/fathom/written");
    assert_eq!(fs::read_dir(&records).unwrap().count(), 1);
    assert_eq!(fs::metadata(&records).unwrap().mode() & 0o777, 0o700);
    let record = records.join(StateFolder::file_name("one"));
    assert_eq!(fs::metadata(&record).unwrap().mode() & 0o777, 0o600);
    fs::write(&record, "Dear reader,\n").unwrap();
    assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
    assert_eq!(fs::read_to_string(&record).unwrap(), "Dear reader,\n");
    fs::remove_file(&record).unwrap();
    symlink("/dev/null", &record).unwrap();
    assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
    fs::remove_file(&record).unwrap();
    fs::set_permissions(&records, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
}

#[test]
fn a_regular_file_in_the_place_of_the_folder_stays() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    fs::create_dir(folder.path().join("state")).unwrap();
    fs::write(folder.path().join("state/fathom"), "a file").unwrap();
    let file = file_of(&folder.path().join("data"), &[1; 8192]);
    assert!(keep_beside(&root, &file, "one", &[(0, 4096)]).is_err());
    let text = fs::read_to_string(folder.path().join("state/fathom")).unwrap();
    assert_eq!(text, "a file");
}

#[test]
fn parts_are_merged_and_cut() {
    let parts = [(10, 20), (0, 5), (20, 30), (4, 6), (50, 90)];
    assert_eq!(merged(&parts, 60), [(0, 6), (10, 30), (50, 60)]);
    assert_eq!(merged(&[(9, 9), (70, 80)], 60), []);
    let left = without(
        &[(0, 10), (20, 30), (40, 50)],
        &[(5, 25), (42, 44), (60, 70)],
    );
    assert_eq!(left, [(0, 5), (25, 30), (40, 42), (44, 50)]);
}

#[test]
fn of_many_parts_gaps_are_filled_where_they_are_ours() {
    let many: Vec<Part> = (1..40).map(|n| (n * 100, n * 100 + n)).collect();
    let kept = fewer(many.clone(), false);
    assert_eq!(kept.len(), PARTS_MAX);
    assert_eq!(kept[0], (1600, 1616));
    let kept = fewer(many.clone(), true);
    assert_eq!(kept.len(), PARTS_MAX);
    assert!(
        many.iter()
            .all(|(low, end)| kept.iter().any(|one| one.0 <= *low && one.1 >= *end))
    );
    assert_eq!(kept[0], (100, 101), "wide gaps stay");
}

#[test]
fn damaged_records_are_none() {
    let mut record = record("one", 1 << 20, &[(0, 4096), (8192, 9000)]);
    record
        .laws
        .push(Law::new((0, 4096), 512, b"ab\xff").unwrap());
    record.is_open = true;
    let text = record.text();
    assert_eq!(Record::parse(&text), Some(record.clone()));
    for end in 0..text.len() - 1 {
        assert_eq!(Record::parse(&text[..end]), None, "{end}");
    }
    for (from, to) in [
        ("part 0 4096", "part 5000 4096"),
        ("part 0 4096", "part 0 9000"),
        ("size 1048576", "size 8999"),
        ("6162ff", "6162f"),
        ("6162ff", "6162fg"),
        ("open", "ajar"),
    ] {
        let damaged = text.replace(from, to);
        assert_eq!(Record::parse(&damaged), None, "{damaged}");
    }
    // Laws that do not fit are left out.
    record.laws = vec![Law::new((0, 4096), 512, &[7; 256]).unwrap(); 20];
    let text = record.text();
    assert!(text.len() <= record::RECORD_BYTES_MAX);
    assert_eq!(Record::parse(&text).unwrap().laws.len(), record::LAWS_MAX);
}
