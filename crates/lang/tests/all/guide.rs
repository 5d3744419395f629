//! The parameter files in the guide are read without an error.
use lang::vdbench::{InputFile, read};
use lang::{Environment, MemoryFiles, Variable};

#[test]
fn the_examples_of_the_guide_can_be_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut examples = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let document = std::fs::read_to_string(&path).unwrap();
        for example in document.split("```parm\n").skip(1) {
            let text = example.split("```").next().unwrap();
            examples += 1;
            let files = MemoryFiles::default();
            let mut environment = Environment::bare(&files);
            environment.command_line.variables = variables(text);
            let name = path.display().to_string();
            let bytes = text.as_bytes().to_vec();
            let reading = read(&[InputFile::Text { name, bytes }], &environment);
            assert!(!reading.has_errors(), "{text}\n{:#?}", reading.diagnostics);
            assert!(
                reading.run_blockers.is_empty(),
                "{:#?}",
                reading.run_blockers
            );
            assert!(!reading.listing.is_empty());
        }
    }
    assert!(examples >= 2, "the guide has examples");
}

/// A value for each `$name` of the text.
fn variables(text: &str) -> Vec<Variable> {
    let names = text.split('$').skip(1).map(|rest| {
        let end = rest.find(|letter: char| !letter.is_alphanumeric());
        rest[..end.unwrap_or(rest.len())].to_owned()
    });
    names
        .map(|name| Variable {
            name,
            value: "/dev/sdb".to_owned(),
        })
        .collect()
}
