//! This program on a host: a shell over there looks for its copy and takes one where there is none.
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};

/// What a shell over there says that has no agent of this build; the kind of its machine follows.
pub const LACKS_AGENT: &[u8] = b"\x01fathom lacks\x02";

/// What it ends with where it cannot take this program.
pub const COPY_FAILED: i32 = 91;

/// This program.
pub struct Binary {
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub digest: String,
    bytes: u64,
}

impl Binary {
    /// # Errors
    /// In words, when it cannot be read.
    pub fn own() -> Result<Self, String> {
        // The file that runs, also where another has taken its name.
        let read = || -> io::Result<Self> {
            let mut file = File::open("/proc/self/exe")?;
            let (mut hash, mut part) = (Sha256::new(), vec![0; 1 << 20]);
            let mut bytes = 0;
            loop {
                match file.read(&mut part)? {
                    0 => break,
                    count => {
                        hash.update(&part[..count]);
                        bytes += count as u64;
                    }
                }
            }
            let digest = hash.finalize();
            Ok(Self {
                digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
                bytes,
            })
        };
        read().map_err(|error| format!("this program cannot be read: {error}"))
    }

    /// # Errors
    /// When it cannot be read, or is not taken.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        io::copy(&mut File::open("/proc/self/exe")?, to).map(drop)
    }
}

/// For a shell over there: starts the agent with our digest where it is copied to; where there is none, says what machine it is, and takes the program from its input. It is one command in braces, which a shell reads
/// as a whole before it does any of it: what follows on its input is the program.
pub fn script(binary: &Binary, copy_name: &str, keeps: bool) -> String {
    let (digest, bytes, word) = (
        &binary.digest,
        binary.bytes,
        if keeps { "" } else { " --no-keep" },
    );
    format!(
        "{{ d=\"$HOME/.cache/fathom\"; c=\"$d/{copy_name}\"; \
         is_ours() {{ [ \"$(sha256sum <\"$1\")\" = \"{digest}  -\" ]; }}; \
         if [ -x \"$c\" ] && is_ours \"$c\"; then exec \"$c\" agent{word}; fi; \
         printf '\\001fathom lacks\\002%s\\n' \"$(uname -sm)\"; \
         umask 077; mkdir -p \"$d\" && chmod 700 \"$d\" && head -c {bytes} >\"$c.$$\" && is_ours \"$c.$$\" && \
         chmod 700 \"$c.$$\" && mv \"$c.$$\" \"$c\" || {{ rm -f \"$c.$$\"; exit {COPY_FAILED}; }}; \
         exec \"$c\" agent{word}; }}\n"
    )
}

/// Whether a machine runs what is built for this one.
pub fn fits(theirs: &str) -> Result<(), String> {
    let mine = format!("Linux {}", std::env::consts::ARCH);
    match theirs == mine {
        true => Ok(()),
        false => Err(format!(
            "this program is built for {mine}, and the host is `{theirs}`; put a Fathom of this build there by hand"
        )),
    }
}

/// On the far side: removes the copy that runs, which goes on without its name.
pub fn remove_copy() {
    if let Ok(own) = std::env::current_exe()
        && own
            .parent()
            .is_some_and(|folder| folder.ends_with(".cache/fathom"))
    {
        let _ = std::fs::remove_file(own);
    }
}
