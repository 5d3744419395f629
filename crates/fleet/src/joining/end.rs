//! How an attempt to reach a host ended, in words with the way out.
use super::Way;
use super::copy::{COPY_FAILED, REFUSES};
use plan::Reach;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// What `ssh` ends with where it does not reach a host.
const UNREACHED: i32 = 255;

/// What a shell ends with where a file is there and its loader is not, and a loader where a library is not.
const LACKS_LIBRARY: i32 = 127;

/// How an attempt ended.
pub struct End {
    pub code: Option<i32>,
    pub said: Vec<String>,
    pub text: String,
    /// Whether it was waited for in vain.
    pub is_late: bool,
}

impl End {
    pub fn text(&self, who: &str) -> String {
        let said = self.said.join("; ");
        match (said.is_empty(), self.is_late) {
            (true, _) => format!("{who}: {}", self.text),
            (false, true) => format!("{who}: {}; before that it said: {said}", self.text),
            (false, false) => format!("{who}: {said}"),
        }
    }

    /// With the way out, where the C library over there is older than the one that this program needs, or none is there.
    fn library(&self) -> Option<String> {
        let version = |line: &String| {
            let (_, rest) = line.split_once("version `")?;
            let (version, _) = rest.split_once("' not found")?;
            version.starts_with("GLIBC").then(|| version.to_owned())
        };
        let reason = match self.said.iter().rev().find_map(version) {
            Some(version) => format!("its C library has no `{version}`"),
            None if self.code == Some(LACKS_LIBRARY) => {
                let said = self.said.join("; ");
                format!("{said}: the C library that this program needs, or another, is not there")
            }
            None => return None,
        };
        Some(format!(
            "Fathom does not start there: {reason}; start the job with the program that `cargo xtask static` builds, \
             which needs no library of the host"
        ))
    }

    /// With the way out, where `ssh` or the launcher itself failed.
    pub fn reached(&self, reach: &Reach, way: &Way, called: &str) -> String {
        if self.is_late {
            return self.text("the host does not answer");
        }
        let refusal = |line: &String| Some(line.split_once(REFUSES)?.1.to_owned());
        if let Some(text) = self.said.iter().find_map(refusal) {
            return text;
        }
        if self.code == Some(COPY_FAILED) {
            return self.text("this program cannot be copied there");
        }
        if let Some(text) = self.library() {
            return text;
        }
        if way.launcher.is_some() {
            return self.text(&format!("`{called}` starts no Fathom"));
        }
        if self.code != Some(UNREACHED) {
            return self.text("Fathom does not start there");
        }
        let whom = match &reach.user {
            Some(user) => format!("{user}@{}", reach.system),
            None => reach.system.clone(),
        };
        let said = self.said.join("; ");
        let way_out = match &said {
            said if said.contains("Permission denied") => {
                format!("; put a key there with `ssh-copy-id {whom}`")
            }
            said if said.contains("Host key verification failed") => {
                format!("; look at its key once with `ssh {whom}`")
            }
            _ if has_other_server(&reach.system) => format!(
                "; a `fio --server` listens there, and none is needed: let `ssh` in, put a key there with `ssh-copy-id {whom}`, \
                 or name another command with `--launcher`, such as 'kubectl exec -i {{host}} --'"
            ),
            _ => String::new(),
        };
        format!("`ssh {whom}` failed: {said}{way_out}")
    }
}

/// Where the server of fio listens.
const OTHER_SERVER_PORT: u16 = 8765;

/// How long it may take to take a connection.
const OTHER_SERVER_PATIENCE: Duration = Duration::from_millis(500);

/// Whether a server of fio seems to be there; it is told nothing.
fn has_other_server(system: &str) -> bool {
    let addresses = (system, OTHER_SERVER_PORT).to_socket_addrs();
    let mut addresses = addresses.into_iter().flatten();
    addresses.any(|address| TcpStream::connect_timeout(&address, OTHER_SERVER_PATIENCE).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: i32, said: &[&str]) -> String {
        let end = End {
            code: Some(code),
            said: said.iter().map(|line| (*line).to_owned()).collect(),
            text: "the line ended".to_owned(),
            is_late: false,
        };
        let reach = Reach {
            system: "old".to_owned(),
            user: None,
        };
        end.reached(&reach, &Way::default(), "")
    }

    #[test]
    fn a_host_with_another_c_library_is_told_the_way_out() {
        let way_out = "; start the job with the program that `cargo xtask static` builds, which needs no library of the host";
        let loader = |version: &str| {
            format!("/h/f: /lib/libc.so.6: version `{version}' not found (required by /h/f)")
        };
        assert_eq!(
            told(1, &[&loader("GLIBC_2.33"), &loader("GLIBC_2.34")]),
            format!("Fathom does not start there: its C library has no `GLIBC_2.34`{way_out}")
        );
        for said in [
            "sh: 1: exec: /h/f: not found",
            "sh: line 1: /h/f: No such file or directory",
            "/h/f: error while loading shared libraries: libgcc_s.so.1: cannot open shared object file",
        ] {
            let text = told(127, &[said]);
            assert!(text.contains(said) && text.ends_with(way_out), "{text}");
        }
    }

    #[test]
    fn what_a_shell_refuses_stands_alone() {
        let refusal = format!("{REFUSES}`/h/.cache` is open");
        for code in [92, 1, UNREACHED] {
            let said = [
                "a greeting",
                &refusal,
                "command terminated with exit code 92",
            ];
            assert_eq!(told(code, &said), "`/h/.cache` is open");
        }
    }

    #[test]
    fn another_end_has_another_reason() {
        assert_eq!(
            told(126, &["sh: 1: exec: /h/f: Permission denied"]),
            "Fathom does not start there: sh: 1: exec: /h/f: Permission denied"
        );
        assert_eq!(told(1, &[]), "Fathom does not start there: the line ended");
    }
}
