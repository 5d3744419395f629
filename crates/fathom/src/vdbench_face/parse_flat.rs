//! `parseflat`: chosen columns of a flat file of either release as CSV.
use crate::exit::Exit;
use crate::outputs::Outputs;
use host::text_file::read_whole;
use report::Opening;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// The longest flat file that is read; a day of seconds with long names is a tenth of it.
const FLAT_BYTES_MAX: u64 = 256 << 20;

const USAGE: &str = "usage: vdbench parseflat -i FLATFILE -c COLUMN… [-o FILE.csv] [-a] \
                     [-f COLUMN VALUE …] [-q]";

#[derive(Debug, Default)]
struct Options {
    input: Option<String>,
    columns: Vec<String>,
    output: Option<String>,
    is_of_averages: bool,
    /// Column and text.
    filters: Vec<(String, String)>,
    is_quiet: bool,
}

/// The table as CSV.
struct Chosen {
    csv: String,
    /// Below its heading.
    rows: usize,
    /// Of the flat file, with too few or too many values.
    incomplete: usize,
}

pub fn main(words: &[String]) -> Exit {
    let options = match options(words) {
        Ok(options) => options,
        Err(message) => {
            errln!("{USAGE}");
            errln!("error: {message}");
            return Exit::Usage;
        }
    };
    match parse(&options) {
        Ok(()) => Exit::Fine,
        Err(message) => {
            errln!("error: {message}");
            Exit::Usage
        }
    }
}

fn options(words: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = words.iter().map(String::as_str).peekable();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("`{word}` needs a value"));
        match word {
            "-i" => options.input = Some(value()?.to_owned()),
            "-o" => options.output = Some(value()?.to_owned()),
            "-a" => options.is_of_averages = true,
            "-q" => options.is_quiet = true,
            "-c" => {
                while let Some(column) = rest.next_if(|next| !next.starts_with('-')) {
                    let columns = column.split(',').filter(|column| !column.is_empty());
                    options.columns.extend(columns.map(String::from));
                }
            }
            "-f" => {
                let before = options.filters.len();
                while let Some(column) = rest.next_if(|next| !next.starts_with('-')) {
                    let text = rest.next();
                    let text = text.ok_or_else(|| format!("filter `{column}` needs a value"))?;
                    options.filters.push((column.to_owned(), text.to_owned()));
                }
                if options.filters.len() == before {
                    return Err("`-f` needs a column and its value".to_owned());
                }
            }
            other => return Err(format!("`{other}` is not an option of `parseflat`")),
        }
    }
    match (&options.input, options.columns.is_empty()) {
        (None, _) => Err("no flat file is named; use `-i FLATFILE`".to_owned()),
        (_, true) => Err("no column is chosen; use `-c COLUMN…`".to_owned()),
        _ => Ok(options),
    }
}

fn parse(options: &Options) -> Result<(), String> {
    let name = options.input.as_deref().unwrap_or_default();
    let bytes = read_whole(Path::new(name), FLAT_BYTES_MAX);
    let bytes = bytes.map_err(|error| format!("cannot read `{name}`: {error}"))?;
    let text = String::from_utf8_lossy(&bytes);
    let found = chosen(&text, options).map_err(|reason| format!("`{name}`: {reason}"))?;
    let Chosen { csv, rows, .. } = found;
    if found.incomplete > 0 {
        errln!(
            "note: `{name}` has incomplete rows, which are left out: {}",
            found.incomplete
        );
    }
    match &options.output {
        None => out!("{csv}"),
        Some(path) => {
            let outputs = Outputs::of_texts(std::iter::once(Path::new(name)));
            let file = outputs.open_named(Path::new(path), Opening::Replace);
            let written = file?.write_all(csv.as_bytes());
            written.map_err(|error| format!("cannot write `{path}`: {error}"))?;
        }
    }
    if !options.is_quiet {
        let into = options.output.as_deref().unwrap_or("standard output");
        errln!("parseflat completed: {rows} rows written to {into}");
    }
    Ok(())
}

fn chosen(text: &str, options: &Options) -> Result<Chosen, String> {
    let is_data = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with(['*', '<'])
    };
    let mut lines = text.lines().filter(is_data);
    let names: Vec<&str> = lines.next().unwrap_or("").split_whitespace().collect();
    if names.first() != Some(&"tod") {
        return Err("this is not a flat file: no line begins with `tod`".to_owned());
    }
    let place = |name: &str| {
        let found = names
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let help = lang::instead_of(name, names.iter().copied());
            format!("no column is named `{name}`; {help}")
        })
    };
    let places = |names: &mut dyn Iterator<Item = &String>| -> Result<Vec<usize>, String> {
        names.map(|name| place(name)).collect()
    };
    let wanted = places(&mut options.columns.iter())?;
    let filtered = places(&mut options.filters.iter().map(|(column, _)| column))?;
    let (run, interval) = (place("run")?, place("interval")?);
    let mut csv = String::new();
    let (mut rows, mut incomplete) = (0, 0);
    add_row(&mut csv, wanted.iter().map(|place| names[*place]));
    for line in lines {
        let cells: Vec<&str> = line.split_whitespace().collect();
        // The last row of an execution that was killed may end anywhere.
        if cells.len() != names.len() {
            incomplete += 1;
            continue;
        }
        let makes_files = cells[run].starts_with("format_for_") || cells[run] == "SD_format";
        let is_average = cells[interval].starts_with("avg");
        let mut filters = filtered.iter().zip(&options.filters);
        let passes = filters.all(|(place, (_, text))| cells[*place] == text);
        if !makes_files && is_average == options.is_of_averages && passes {
            add_row(&mut csv, wanted.iter().map(|place| cells[*place]));
            rows += 1;
        }
    }
    Ok(Chosen {
        csv,
        rows,
        incomplete,
    })
}

fn add_row<'a>(csv: &mut String, cells: impl Iterator<Item = &'a str>) {
    for (place, cell) in cells.enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let cell = match cell.contains([',', '"']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.to_owned(),
        };
        let _ = write!(csv, "{comma}{cell}");
    }
    csv.push('\n');
}
