//! This program on a host: a shell over there looks for its copy and takes one where there is none.
use super::image::Image;

/// What a shell over there says that has no agent of this build; the kind of its machine follows.
pub const LACKS_AGENT: &[u8] = b"\x01fathom lacks\x02";

/// What it ends with where it cannot take this program.
pub const COPY_FAILED: i32 = 91;

/// For a shell over there: starts the agent with our digest where it is copied to; where there is none, says what machine it is, and takes the program from its input. It is one command in braces, which a shell reads
/// as a whole before it does any of it: what follows on its input is the program.
pub fn script(image: &Image, copy_name: &str, keeps: bool) -> String {
    let (digest, bytes, word) = (
        &image.digest,
        image.bytes,
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
