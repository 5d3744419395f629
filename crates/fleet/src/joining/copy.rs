//! This program on a host: a shell over there looks for its copy and takes one where there is none.
use super::image::Image;

/// What a shell over there says that has no agent of this build; the kind of its machine follows.
pub const LACKS_AGENT: &[u8] = b"\x01fathom lacks\x02";

/// What it ends with where it cannot take this program.
pub const COPY_FAILED: i32 = 91;

/// What stands before the reason for which it runs nothing there.
pub const REFUSES: &str = "fathom refuses: ";

/// What a shell does that has digest, length and name of the copy.
const BODY: &str = include_str!("copy.sh");

/// For a shell over there, as one command in braces: a shell reads it as a whole before it does any of it, and what follows on
/// its input is the program.
pub fn script(image: &Image, copy_name: &str, keeps: bool) -> String {
    let (digest, bytes) = (&image.digest, image.bytes);
    let keeps = if keeps { "yes" } else { "" };
    let body = BODY.replace("@HEX@", &"[0-9a-f]".repeat(digest.len()));
    format!("{{ digest={digest} bytes={bytes} name={copy_name} keeps={keeps}\n{body}}}\n")
}

/// Whether a machine runs what is built for this one.
pub fn fits(theirs: &str) -> Result<(), String> {
    let mine = format!("Linux {}", std::env::consts::ARCH);
    match theirs == mine {
        true => Ok(()),
        false => Err(format!(
            "this program is built for {mine}, and the host is `{theirs}`; start the job from a machine of its kind"
        )),
    }
}

#[cfg(test)]
mod tests;
