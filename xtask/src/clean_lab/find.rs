//! Finds what dead owners left, from the tables of the kernel.
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// Begins a name that tells its owner.
pub const MARK: &str = "fathom-lab-";

/// Of the environment of programs that tests start.
const VARIABLE: &str = "FATHOM_LAB=";

/// Each thing with what is needed to remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    Process { id: u32, begun: u64, name: String },
    Swap(String),
    NameSpace(String),
    Mount { at: String, is_fuse: bool },
    Loop { device: String, file: String },
    Path(String),
}

impl Display for Left {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Left::Process { id, name, .. } => write!(out, "process {id} ({name})"),
            Left::Swap(path) => write!(out, "swap {path}"),
            Left::NameSpace(name) => write!(out, "network namespace {name}"),
            Left::Mount { at, .. } => write!(out, "mount {at}"),
            Left::Loop { device, file } => write!(out, "loop device {device} over {file}"),
            Left::Path(path) => write!(out, "{path}"),
        }
    }
}

/// Where the tables are, and the folders below which tests make theirs.
pub struct Machine {
    pub root: PathBuf,
    pub folders: Vec<PathBuf>,
}

/// In the order in which things can be removed.
pub const STAGES: [fn(&Machine) -> Vec<Left>; 6] = [
    Machine::processes,
    Machine::swaps,
    Machine::name_spaces,
    Machine::mounts,
    Machine::loops,
    Machine::paths,
];

impl Machine {
    pub fn real() -> Self {
        let mut folders = vec![std::env::temp_dir(), PathBuf::from("/dev/shm")];
        folders.dedup();
        Self {
            root: PathBuf::from("/"),
            folders,
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.root.join(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn names(&self, path: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(path));
        let mut names: Vec<String> = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Fields of `/proc/PID/stat` from the third on: the name before may hold blanks and brackets.
    fn fields(&self, id: u32) -> Option<Vec<String>> {
        let text = self.text(&format!("proc/{id}/stat"))?;
        let (_, fields) = text.rsplit_once(") ")?;
        Some(fields.split(' ').map(str::to_owned).collect())
    }

    /// When a process started.
    pub fn begun(&self, id: u32) -> Option<u64> {
        self.fields(id)?.get(19)?.parse().ok()
    }

    /// A process that nobody has waited for yet counts as dead.
    pub fn is_alive(&self, id: u32, begun: u64) -> bool {
        let fields = self.fields(id);
        let has_ended = |fields: Vec<String>| matches!(&*fields[0], "Z" | "X");
        self.begun(id) == Some(begun) && !fields.is_none_or(has_ended)
    }

    /// Whether a path has owners, all of them dead.
    fn is_left(&self, path: &str) -> bool {
        let owners = owners(path);
        !owners.is_empty() && !owners.iter().any(|(id, begun)| self.is_alive(*id, *begun))
    }

    fn processes(&self) -> Vec<Left> {
        let ids = self.names(Path::new("proc"));
        let ids = ids.iter().filter_map(|name| name.parse().ok());
        let left = ids.filter_map(|id: u32| {
            let environment = self.text(&format!("proc/{id}/environ"))?;
            let mut pairs = environment.split('\0');
            let owner = pairs.find_map(|pair| pair.strip_prefix(VARIABLE))?;
            let begun = self.begun(id)?;
            let name = self.text(&format!("proc/{id}/comm"))?.trim_end().to_owned();
            let is_it = self.is_left(owner)
                && self.is_alive(id, begun)
                && !owners(owner).contains(&(id, begun))
                && id != std::process::id();
            is_it.then_some(Left::Process { id, begun, name })
        });
        left.collect()
    }

    fn swaps(&self) -> Vec<Left> {
        let table = self.text("proc/swaps").unwrap_or_default();
        let loops = self.left_loops();
        let paths = table
            .lines()
            .skip(1)
            .filter_map(|line| line.split(' ').next());
        let paths = paths.map(plain).filter(|path| {
            self.is_left(path) || loops.iter().any(|(name, _)| is_of_loop(path, name))
        });
        paths.map(Left::Swap).collect()
    }

    /// Network namespaces that have a name; others end with their processes.
    fn name_spaces(&self) -> Vec<Left> {
        let names = self.names(Path::new("run/netns")).into_iter();
        names
            .filter(|name| self.is_left(name))
            .map(Left::NameSpace)
            .collect()
    }

    fn mount_table(&self) -> Vec<[String; 3]> {
        let table = self.text("proc/mounts").unwrap_or_default();
        let rows = table.lines().filter_map(|line| {
            let mut fields = line.split(' ');
            Some([
                plain(fields.next()?),
                plain(fields.next()?),
                plain(fields.next()?),
            ])
        });
        rows.collect()
    }

    pub fn mount_points(&self) -> impl Iterator<Item = String> {
        self.mount_table().into_iter().map(|[_, at, _]| at)
    }

    /// The last mount first: it may stand on another one.
    fn mounts(&self) -> Vec<Left> {
        let loops = self.left_loops();
        let left = self
            .mount_table()
            .into_iter()
            .rev()
            .filter_map(|[source, at, kind]| {
                let is_it =
                    self.is_left(&at) || loops.iter().any(|(name, _)| is_of_loop(&source, name));
                let is_fuse = kind.starts_with("fuse");
                is_it.then_some(Left::Mount { at, is_fuse })
            });
        left.collect()
    }

    /// Names and files of loop devices that dead owners left, and of those on top of them, the lowest first.
    fn left_loops(&self) -> Vec<(String, String)> {
        let names = self.names(Path::new("sys/block")).into_iter();
        let names = names.filter(|name| name.starts_with("loop"));
        let (mut left, mut others): (Vec<_>, Vec<_>) = names
            .filter_map(|name| {
                let file = self.text(&format!("sys/block/{name}/loop/backing_file"))?;
                Some((name, file.trim_end_matches('\n').to_owned()))
            })
            .partition(|(_, file)| self.is_left(file));
        let mut next = 0;
        while next < left.len() {
            let below = left[next].0.clone();
            let (above, rest): (Vec<_>, Vec<_>) = others
                .into_iter()
                .partition(|(_, file)| is_of_loop(file, &below));
            left.extend(above);
            others = rest;
            next += 1;
        }
        left
    }

    fn loops(&self) -> Vec<Left> {
        let left = self.left_loops().into_iter().rev();
        let left = left.map(|(name, file)| Left::Loop {
            device: format!("/dev/{name}"),
            file,
        });
        left.collect()
    }

    fn paths(&self) -> Vec<Left> {
        let mut left = Vec::new();
        for folder in &self.folders {
            let names = self.names(folder).into_iter();
            let names = names.filter(|name| name.starts_with(MARK) && self.is_left(name));
            left.extend(names.map(|name| Left::Path(folder.join(name).display().to_string())));
        }
        left
    }
}

/// Process and start time of each name in a path that tells its owner.
fn owners(path: &str) -> Vec<(u32, u64)> {
    let names = path.split('/').filter_map(|name| {
        let mut words = name.strip_prefix(MARK)?.splitn(3, '-');
        let owner = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        words.next().map(|_| owner)
    });
    names.collect()
}

/// Whether a path is a loop device or a partition of it.
fn is_of_loop(path: &str, name: &str) -> bool {
    let device = path.strip_prefix("/dev/").unwrap_or_default();
    match device.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('p')
            .is_some_and(|number| number.parse::<u32>().is_ok()),
        None => false,
    }
}

/// A field of a table of the kernel, which writes blanks and backslashes as three octal digits.
fn plain(field: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = field.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = more
            .get(..3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if *first == b'\\' => {
                bytes.push(code);
                rest = &more[3..];
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
