//! Generated documents: manual page, completions, the reference of the parameters.
use crate::arguments::{ManualOptions, ManualPart};
use crate::exit::Exit;
use clap_complete::Shell;
use std::io::{self, Write};

pub fn main(options: &ManualOptions, command: &mut clap::Command) -> Exit {
    let mut out = io::stdout().lock();
    let written = match options.what {
        ManualPart::Man => clap_mangen::Man::new(command.clone()).render(&mut out),
        ManualPart::Vdbench => out.write_all(lang::vdbench::reference_markdown().as_bytes()),
        ManualPart::Bash => complete(command, Shell::Bash, &mut out),
        ManualPart::Zsh => complete(command, Shell::Zsh, &mut out),
        ManualPart::Fish => complete(command, Shell::Fish, &mut out),
    };
    match written {
        Ok(()) => Exit::Fine,
        Err(_) => Exit::Failed,
    }
}

fn complete(command: &mut clap::Command, shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, command, "fathom", &mut text);
    out.write_all(&text)
}
