//! Inputs that are no job of either language, refused in one line instead of an error for each of their lines. Whatever
//! may be a job with mistakes is left to the readers, which know where these are. Begin with [`refuse`].
use lang::vdbench::InputFile;
use lang::{fio, vdbench};

const BOTH_LANGUAGES: &str = "a Vdbench file has lines such as `sd=sd1,lun=FILE`, \
    a fio file has sections such as `[job]`; without a job file, use `fathom curve TARGET`";

/// Lines that are looked at: a job shows itself near its start, and a text may have megabytes.
const LINES_MAX: usize = 1000;

/// Options that are read before any parameter.
const INCLUDE: &str = "include";

/// Refuses inputs of which one is foreign, or all are empty.
///
/// # Errors
/// What the text is and what a job looks like, in words.
pub fn refuse(inputs: &[InputFile]) -> Result<(), String> {
    // What is not text, or could not be read, has an error of its own.
    fn text(input: &InputFile) -> Option<(&str, &str)> {
        match input {
            InputFile::Text { name, bytes } => Some((name, std::str::from_utf8(bytes).ok()?)),
            _ => None,
        }
    }
    let texts: Option<Vec<(&str, &str)>> = inputs.iter().map(text).collect();
    refuse_texts(&texts.unwrap_or_default())
}

/// The same for the face of fio, whose inputs may be jobs of the command line, too.
///
/// # Errors
/// As [`refuse`].
pub fn refuse_of_fio(inputs: &[fio::Input]) -> Result<(), String> {
    fn text(input: &fio::Input) -> Option<(&str, &str)> {
        match input {
            fio::Input::Text { name, bytes } => Some((name, std::str::from_utf8(bytes).ok()?)),
            _ => None,
        }
    }
    let texts: Option<Vec<(&str, &str)>> = inputs.iter().map(text).collect();
    refuse_texts(&texts.unwrap_or_default())
}

fn refuse_texts(texts: &[(&str, &str)]) -> Result<(), String> {
    if let Some((name, _)) = texts.first()
        && texts.iter().all(|(_, text)| lines(text).next().is_none())
    {
        return Err(format!("`{name}` is empty; {BOTH_LANGUAGES}"));
    }
    match texts.iter().find_map(|(name, text)| foreign(name, text)) {
        Some(message) => Err(message),
        None => Ok(()),
    }
}

/// Why a text is no job; `None` if it may be one.
fn foreign(name: &str, text: &str) -> Option<String> {
    if text.contains('\0') || fio::looks_like(text) || vdbench::looks_like(text) {
        return None;
    }
    let all: Vec<&str> = lines(text).take(LINES_MAX).collect();
    let keys: Vec<String> = all.iter().filter_map(|line| key(line)).collect();
    let is_vdbench = |key: &String| key == INCLUDE || vdbench::names().any(|name| name == key);
    let is_fio = |key: &String| fio::names().any(|name| name == key);
    let is_near = |key: &String| lang::nearest(key, vdbench::names()).is_some();
    if all.is_empty() || keys.iter().any(is_vdbench) {
        None
    } else if keys.len() == all.len() && keys.iter().all(is_fio) {
        Some(format!(
            "`{name}` has options of fio, but no section; put a line such as `[job]` above them"
        ))
    } else if keys.iter().any(is_near) {
        None
    } else {
        Some(format!(
            "`{name}` is neither a Vdbench nor a fio file; {BOTH_LANGUAGES}"
        ))
    }
}

/// The lines that are neither blank nor comments of a language.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '*', ';', '/']))
}

/// The word before the first `=`.
fn key(line: &str) -> Option<String> {
    let (key, _) = line.split_once('=')?;
    Some(key.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::refuse;
    use lang::vdbench::InputFile;

    fn refusal(texts: &[&str]) -> Option<String> {
        let input = |text: &&str| InputFile::Text {
            name: "f".to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        let inputs: Vec<InputFile> = texts.iter().map(input).collect();
        refuse(&inputs).err()
    }

    #[test]
    fn texts_that_are_no_job_are_told_from_jobs_with_mistakes() {
        let foreign = "root:x:0:0:root:/root:/bin/bash\n";
        for text in [foreign, "<html>\n", "KERNEL_LOCATION=/boot\n", "{\n}\n"] {
            let message = refusal(&[text]).unwrap_or_default();
            assert!(
                message.starts_with("`f` is neither a Vdbench nor"),
                "{text}"
            );
        }
        let options = refusal(&["# mine\nrw=read\nioengine=libaio\n"]).unwrap();
        assert!(options.starts_with("`f` has options of fio, but no section"));
        for text in ["", "\n\n", "* nothing\n", "; nothing\n# more\n"] {
            assert!(refusal(&[text]).unwrap().starts_with("`f` is empty"));
        }
        for text in [
            "sd=sd1,lun=f\n",
            "sdd=sd1,lun=f\n",
            "[job]\nrw=read\n",
            "include=other\n",
            "messagescan=no\n",
        ] {
            assert_eq!(refusal(&[text]), None, "{text}");
        }
        assert_eq!(refusal(&["sd=sd1,lun=f\n", ""]), None);
        assert!(refusal(&["sd=sd1,lun=f\n", foreign]).is_some());
    }
}
