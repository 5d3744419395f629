//! What a reader needs from outside, as a value. Must not know where any of it comes from.
use crate::lint::LintSelection;
use std::collections::BTreeMap;

/// The reason for a file that is not there; others say that there is something.
pub const NO_SUCH_FILE: &str = "no such file";

/// Reads whole files by the path that the user wrote.
pub trait Files {
    /// A text of at most [`crate::TEXT_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// The reason, in words for a diagnostic, such as [`NO_SUCH_FILE`].
    fn read(&self, path: &str) -> Result<Vec<u8>, String>;

    /// A file of data of at most [`crate::DATA_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// As [`Files::read`].
    fn read_data(&self, path: &str) -> Result<Vec<u8>, String> {
        self.read(path)
    }

    /// The regular files below a folder at any depth, each with the folder in front and its length in
    /// bytes, in the order of their names. Links below it are not followed.
    ///
    /// # Errors
    /// The reason, in words for a diagnostic, such as `no such folder`.
    fn below(&self, folder: &str) -> Result<Vec<(String, u64)>, String> {
        let _ = folder;
        Err("no such folder".to_owned())
    }
}

/// Everything outside of the text that decides what it means.
pub struct Environment<'a> {
    pub files: &'a dyn Files,
    pub cpus: u32,
    /// CPUs by the number of their node.
    pub cpu_nodes: BTreeMap<u32, Vec<u32>>,
    /// Zero where it is not known.
    pub memory_bytes: u64,
    /// Of a page of memory.
    pub page_bytes: u64,
    /// The variables of the process, for texts that name them.
    pub process_variables: BTreeMap<String, String>,
    /// The name of this host, and others that mean it.
    pub host_names: Vec<String>,
    /// Of the host for which jobs are read here, where that is another: how names of its files begin that have to differ from
    /// those of others.
    pub client_address: Option<String>,
    /// All random draws of the execution follow from this.
    pub seed: u64,
    /// What a job wants drawn anew follows from this already while its plan is made.
    pub fresh_seed: u64,
    pub command_line: CommandLine,
}

/// Arguments that change what the text means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub variables: Vec<Variable>,
    /// Text behind `+`, without the `+`.
    pub run_overrides: Option<String>,
    /// In seconds; replaces that of every run.
    pub elapsed_s: Option<u64>,
    pub interval_s: Option<u64>,
    pub warmup_s: Option<u64>,
    /// Processes per host.
    pub processes: Option<u32>,
    pub format: Option<FormatOverride>,
    /// Starts at the first definition whose name starts with this.
    pub first_run: Option<String>,
    /// Checking of data read back was asked for.
    pub validate: bool,
    /// A journal was asked for.
    pub journal: bool,
    /// Repetition of all runs, as [`crate::vdbench::repeat`] reads it.
    pub repeat: Option<String>,
    /// Where files of an earlier execution stand that belong to no result; the working folder where
    /// it is left out.
    pub auxiliary: Option<String>,
    /// What becomes of findings that are no errors.
    pub lints: LintSelection,
    /// It names a backend that reaches no storage, so that none has a cache.
    pub reaches_no_storage: bool,
    /// Each execution draws anew where a job does not say that it repeats its draws.
    pub draws_anew: bool,
}

/// `name=value` on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: String,
}

/// What becomes of the formats that run definitions ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatOverride {
    Yes,
    No,
    Only,
}

/// Files held in memory, for tests and for built-in texts.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(pub BTreeMap<String, Vec<u8>>);

impl Files for MemoryFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0
            .get(path)
            .cloned()
            .ok_or_else(|| NO_SUCH_FILE.to_owned())
    }

    fn below(&self, folder: &str) -> Result<Vec<(String, u64)>, String> {
        let front = format!("{}/", folder.trim_end_matches('/'));
        let found = self.0.iter().filter(|(path, _)| path.starts_with(&front));
        let found: Vec<(String, u64)> = found
            .map(|(path, bytes)| (path.clone(), bytes.len() as u64))
            .collect();
        match found.is_empty() {
            true => Err("no such folder".to_owned()),
            false => Ok(found),
        }
    }
}

impl<'a> Environment<'a> {
    /// One CPU on one node, memory unknown, no names of this host but `localhost`, no arguments: for tests.
    pub fn bare(files: &'a dyn Files) -> Self {
        Self {
            files,
            cpus: 1,
            cpu_nodes: BTreeMap::from([(0, vec![0])]),
            memory_bytes: 0,
            page_bytes: 4096,
            process_variables: BTreeMap::new(),
            host_names: Vec::new(),
            client_address: None,
            seed: 1,
            fresh_seed: 1,
            command_line: CommandLine::default(),
        }
    }
}
