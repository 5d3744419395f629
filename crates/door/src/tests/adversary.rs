//! Whatever others do between any two calls of the door, what is theirs keeps its bytes, and its name. Whole executions
//! with the engine are in the tests of `conduct`; here the door is called in orders that no execution has.
use crate::model::{Dice, File, Model, Node, Others, ROOT, Theirs, Tree};
use crate::{Door, Found, Grant, Grants, Intent, Purpose, RemoveError};
use plan::{Access, TargetId};
use std::ffi::CString;
use std::path::Path;
use std::sync::{Arc, Mutex};
use sys::file::OpenFlags;

const SEEDS: u64 = 10_000;
const OURS: &[u8] = b"ours";
const TARGET: TargetId = TargetId(0);

struct World {
    tree: Arc<Mutex<Tree>>,
    theirs: Arc<Mutex<Theirs>>,
}

/// Two folders with files of others, blank ones, a disk, and free names, and a file system to mount; others at work.
fn world(dice: &mut Dice, seed: u64) -> (World, Others) {
    let mut tree = Tree::new();
    let theirs = Arc::new(Mutex::new(Theirs::default()));
    let names = [c"target", c"other", c"third"].map(CString::from);
    let a = tree.add_folder((ROOT, c"a".to_owned())).unwrap();
    let b = tree.add_folder((ROOT, c"b".to_owned())).unwrap();
    let mounted = tree.add_file_system(dice.below(2) == 0);
    let folders = [a, b, mounted];
    for folder in folders {
        for name in &names {
            let bytes: &[u8] = match dice.below(4) {
                0 => continue,
                1 => b"",
                _ => b"their data",
            };
            let place = (folder, name.clone());
            tree.add_at(place.clone(), Node::file(bytes)).unwrap();
            theirs.lock().unwrap().own(&tree, &place);
        }
    }
    let disk = Node::Disk {
        number: 7,
        sequence: 3,
        bytes: b"their file system"[..].into(),
    };
    let place = (a, c"disk".to_owned());
    tree.add_at(place.clone(), disk).unwrap();
    theirs.lock().unwrap().own(&tree, &place);
    let others = Others::new(seed, &tree, &theirs, &folders, &names);
    let tree = Arc::new(Mutex::new(tree));
    (World { tree, theirs }, others)
}

/// Claims, examines and judges as the guard does.
fn judged(door: &Arc<Door<Model>>, path: &Path) -> Option<Grants<Model>> {
    let approach = door.approach(path, Intent::Write).ok()?;
    let is_free = |file: &File| {
        let mut bytes = vec![0; 1 << 16];
        let length = file.read_at(&mut bytes, 0).unwrap();
        assert!(length < bytes.len(), "all of it is looked at");
        bytes.iter().all(|byte| *byte == 0) || &bytes[..length] == OURS
    };
    let access = match (approach.found, &approach.file) {
        (Found::Missing, _) => Access::Create,
        (Found::File | Found::BlockDevice, Some(file)) if is_free(file) => Access::Write,
        _ => return None,
    };
    if approach.unclaimed.is_some() {
        return None;
    }
    let grant = Grant::issue(TARGET, access, approach.object?, approach.real_path);
    Some(Grants::new(Arc::clone(door), vec![grant]))
}

/// One execution; how often somebody took a name while what stood there was looked at, and how often ours was written.
fn execute(others: Others, world: &World, dice: &mut Dice) -> (usize, u64) {
    let mut others = others;
    let model = Model::new(&world.tree, move |tree| others.act(tree));
    let door = Arc::new(Door::over(model, 4));
    let path = dice.pick(&["/a/target", "/b/target", "/a/other", "/a/disk"]);
    let Some(grants) = judged(&door, Path::new(path)) else {
        return (0, 0);
    };
    let (mut stranded, mut writes) = (0, 0);
    for _ in 0..6 {
        match dice.below(4) {
            0 | 1 => {
                let purpose = dice.pick(&[Purpose::Write, Purpose::Cut, Purpose::Read]);
                let opened = grants.open(TARGET, purpose, &OpenFlags::default());
                if let (Ok(file), Purpose::Write | Purpose::Cut) = (opened, purpose) {
                    file.begin_use();
                    file.write_at(OURS, 0).unwrap();
                    writes += 1;
                }
            }
            2 => {
                let entry = grants.entry(TARGET, |_| true).unwrap();
                if let Ok(fresh) = entry.make() {
                    let _ = entry.remember(&fresh);
                }
            }
            _ => {
                let entry = grants.entry(TARGET, |_| true).unwrap();
                let removed = entry.set_aside().and_then(|aside| entry.unlink(aside));
                stranded += usize::from(matches!(removed, Err(RemoveError::Stranded { .. })));
            }
        }
    }
    (stranded, writes)
}

#[test]
fn what_others_own_keeps_its_bytes_and_names() {
    let (mut all_stranded, mut writes) = (0, 0);
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let (world, others) = world(&mut dice, seed ^ 0x5eed);
        let (stranded, written) = execute(others, &world, &mut dice);
        all_stranded += stranded as u64;
        writes += written;
        let tree = world.tree.lock().unwrap();
        let compared = world
            .theirs
            .lock()
            .unwrap()
            .compare(&tree, ".fathom-removes-");
        match compared {
            // One file may have several names.
            Ok(displaced) => assert!(stranded > 0 || displaced == 0, "seed {seed}"),
            Err(harm) => panic!("seed {seed}: {harm}"),
        }
    }
    // The proof is worth something only where the door gets to write, and where it is hindered.
    assert!(writes > SEEDS / 10, "{writes} writes");
    assert!(all_stranded < SEEDS / 100, "{all_stranded} stranded");
}
