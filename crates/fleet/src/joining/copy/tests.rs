//! The script is run by each shell that is here, in a home of its own. The program that it starts is a script, too.
use super::*;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const PROGRAM: &str = "#!/bin/sh\necho ran \"$@\"\n";
const EVIL: &str = "#!/bin/sh\necho evil\n";
const OTHER: u32 = 65534;

struct Home {
    folder: TempDir,
    shell: &'static [&'static str],
    image: Image,
}

#[derive(Debug)]
struct Ran {
    /// Whether the program was asked for.
    lacked: bool,
    out: String,
    err: String,
    code: Option<i32>,
}

impl Ran {
    #[track_caller]
    fn is_fine(&self, lacked: bool) {
        let told = (self.lacked, self.out.as_str(), self.code);
        assert_eq!(told, (lacked, "ran agent\n", Some(0)), "{self:?}");
    }

    #[track_caller]
    fn is_refused(&self, words: &[&str]) {
        assert!(!self.lacked && self.out.is_empty(), "{self:?}");
        let text = self.err.split_once(REFUSES).expect("a reason").1;
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
}

/// In a home for each shell that is here.
fn each(test: impl Fn(&Home)) {
    const SHELLS: &[&[&str]] = &[&["sh"], &["dash"], &["bash"], &["busybox", "sh"]];
    for shell in SHELLS {
        let mut probe = Command::new(shell[0]);
        probe.args(&shell[1..]).args(["-c", "true"]);
        if !probe.status().is_ok_and(|status| status.success()) {
            println!("skipped: `{}` is not here", shell[0]);
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("program"), PROGRAM).unwrap();
        fs::create_dir_all(folder.path().join("home/.cache")).unwrap();
        let image = Image::of(File::open(folder.path().join("program")).unwrap()).unwrap();
        test(&Home {
            folder,
            shell,
            image,
        });
    }
}

impl Home {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn cache(&self) -> PathBuf {
        self.path("home/.cache/fathom")
    }

    fn copy(&self) -> PathBuf {
        self.cache().join(&self.image.digest)
    }

    /// What a shell finds first.
    fn fake(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path("bin")).unwrap();
        put(&self.path("bin").join(name), text, 0o755);
    }

    fn run(&self) -> Ran {
        self.run_with(&script(&self.image, &self.image.digest, true))
    }

    fn run_with(&self, script: &str) -> Ran {
        let paths = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(self.shell[0]);
        command.args(&self.shell[1..]);
        command.env("HOME", self.path("home"));
        command.env("PATH", format!("{}:{paths}", self.path("bin").display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut out = String::new();
        reader.read_line(&mut out).unwrap();
        let lacked = out.as_bytes().starts_with(LACKS_AGENT);
        if lacked {
            out.clear();
            self.image.write_to(&mut input).unwrap();
        }
        drop(input);
        reader.read_to_string(&mut out).unwrap();
        let ended = child.wait_with_output().unwrap();
        Ran {
            lacked,
            out,
            err: String::from_utf8(ended.stderr).unwrap(),
            code: ended.status.code(),
        }
    }
}

fn put(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    set_mode(path, mode);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn is_root(test: &str) -> bool {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        println!("skipped: {test} requires root");
    }
    is_root
}

#[test]
fn a_copy_is_taken_once_and_found_again() {
    each(|home| {
        home.run().is_fine(true);
        assert_eq!((mode(&home.cache()), mode(&home.copy())), (0o700, 0o700));
        assert_eq!(fs::read_dir(home.cache()).unwrap().count(), 2);
        home.run().is_fine(false);
    });
}

#[test]
fn a_copy_that_is_not_kept_is_gone_when_it_runs() {
    each(|home| {
        home.run_with(&script(&home.image, "for-once", false))
            .is_fine(true);
        assert_eq!(fs::read_dir(home.cache()).unwrap().count(), 0);
    });
}

#[test]
fn a_wrong_copy_is_taken_anew() {
    each(|home| {
        fs::create_dir(home.cache()).unwrap();
        put(&home.copy(), EVIL, 0o700);
        home.run().is_fine(true);
        // Others can write to it, or it cannot be run.
        for mode in [0o722, 0o600] {
            set_mode(&home.copy(), mode);
            home.run().is_fine(true);
        }
    });
}

#[test]
fn what_lies_in_a_folder_that_others_can_write_to_is_removed() {
    each(|home| {
        for bits in [0o777, 0o770, 0o702] {
            home.run();
            fs::write(home.cache().join("other"), "").unwrap();
            set_mode(&home.cache(), bits);
            home.run().is_fine(true);
            assert_eq!(mode(&home.cache()), 0o700);
            assert!(home.cache().join("other").exists());
        }
    });
}

#[test]
fn a_folder_that_is_a_link_is_refused() {
    each(|home| {
        fs::create_dir(home.path("elsewhere")).unwrap();
        put(
            &home.path("elsewhere").join(&home.image.digest),
            PROGRAM,
            0o700,
        );
        symlink(home.path("elsewhere"), home.cache()).unwrap();
        home.run()
            .is_refused(&["/.cache/fathom`", "is a symbolic link"]);
    });
}

#[test]
fn folders_above_that_others_can_write_to_are_refused() {
    each(|home| {
        home.run();
        for above in ["home", "home/.cache"] {
            for bits in [0o777, 0o720] {
                set_mode(&home.path(above), bits);
                let way_out = format!("`chmod go-w {}`", home.path(above).display());
                home.run().is_refused(&["others can write to", &way_out]);
            }
            set_mode(&home.path(above), 0o1777);
            home.run().is_fine(false);
            set_mode(&home.path(above), 0o755);
        }
    });
}

#[test]
fn folders_of_somebody_else_are_refused() {
    if !is_root("folders_of_somebody_else_are_refused") {
        return;
    }
    each(|home| {
        home.run();
        for folder in ["home", "home/.cache", "home/.cache/fathom"] {
            chown(home.path(folder), Some(OTHER), None).unwrap();
            let named = format!("`{}` belongs to user 65534", home.path(folder).display());
            home.run().is_refused(&[&named]);
            chown(home.path(folder), Some(0), None).unwrap();
        }
        home.run().is_fine(false);
        // The right file of somebody else, who may write to it later.
        chown(home.copy(), Some(OTHER), None).unwrap();
        home.run().is_fine(true);
    });
}

#[test]
fn what_runs_is_what_was_hashed() {
    each(|home| {
        home.run();
        // As somebody would who can exchange the file between digest and start.
        home.fake(
            "sha256sum",
            &format!(
                "#!/bin/sh\nPATH=${{PATH#*:}}\ncp '{0}/evil' '{1}.new'; mv '{1}.new' '{1}'\nexec sha256sum\n",
                home.folder.path().display(),
                home.copy().display(),
            ),
        );
        put(&home.path("evil"), EVIL, 0o700);
        fs::remove_file(home.cache().join(format!("{}.seen", home.image.digest))).unwrap();
        let ran = home.run();
        match home.shell[0] {
            // It may have a digest of its own.
            "busybox" if fs::read_to_string(home.copy()).unwrap() == PROGRAM => {
                println!("skipped: busybox looks for no `sha256sum`");
            }
            _ => assert_eq!(fs::read_to_string(home.copy()).unwrap(), EVIL),
        }
        ran.is_fine(false);
    });
}

#[test]
fn a_file_under_the_path_of_whoever_leads_is_not_run() {
    let image = Image::own().unwrap();
    let own = std::env::current_exe().unwrap();
    assert!(!script(image, &image.digest, true).contains(own.to_str().unwrap()));
}

/// Has `sha256sum` count, and stay right; gives the count.
fn counting(home: &Home) -> impl Fn() -> usize {
    let counted = home.path("counted");
    let text = format!(
        "#!/bin/sh\necho >>'{}'\nPATH=${{PATH#*:}} exec sha256sum\n",
        counted.display()
    );
    home.fake("sha256sum", &text);
    move || fs::read_to_string(&counted).map_or(0, |text| text.lines().count())
}

#[test]
fn a_copy_is_hashed_once_and_again_when_it_has_changed() {
    each(|home| {
        let count = counting(home);
        home.run().is_fine(true);
        if count() == 0 {
            return println!("skipped: {:?} looks for no `sha256sum`", home.shell);
        }
        home.run().is_fine(false);
        assert_eq!(count(), 1);
        // The same content at another time.
        put(&home.copy(), PROGRAM, 0o700);
        home.run().is_fine(false);
        home.run().is_fine(false);
        assert_eq!(count(), 2);
        // Another content of the same length, with the time of before.
        let was = fs::metadata(home.copy()).unwrap().modified().unwrap();
        put(&home.copy(), &PROGRAM.replace("ran", "bad"), 0o700);
        let file = File::options().write(true).open(home.copy()).unwrap();
        file.set_modified(was).unwrap();
        home.run().is_fine(true);
        // Once for what was there, and once for what came.
        assert_eq!(count(), 4);
    });
}

#[test]
fn a_mark_of_before_the_machine_started_does_not_count() {
    each(|home| {
        let count = counting(home);
        home.run();
        let seen = home.cache().join(format!("{}.seen", home.image.digest));
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let text = fs::read_to_string(&seen).unwrap();
        fs::write(&seen, text.replace(boot.trim(), "earlier")).unwrap();
        let before = count();
        home.run().is_fine(false);
        assert!(count() == before + 1 || before == 0, "{before} {}", count());
        assert_eq!(fs::read_to_string(&seen).unwrap().lines().count(), 2);
    });
}

#[test]
fn without_stat_a_copy_is_hashed_each_time() {
    each(|home| {
        let count = counting(home);
        home.fake("stat", "#!/bin/sh\nexit 1\n");
        home.run().is_fine(true);
        home.run().is_fine(false);
        assert!([0, 2].contains(&count()), "{}", count());
    });
}

#[test]
fn what_others_have_marked_does_not_count() {
    each(|home| {
        let count = counting(home);
        home.run();
        let before = count();
        set_mode(&home.cache(), 0o777);
        home.run().is_fine(true);
        assert!(count() == before + 1 || before == 0, "{before} {}", count());
    });
}

#[test]
fn what_came_in_part_is_not_run() {
    each(|home| {
        let longer = script(&home.image, &home.image.digest, true)
            .replace(&format!("bytes={}", home.image.bytes), "bytes=9");
        let ran = home.run_with(&longer);
        assert_eq!(
            (ran.out.as_str(), ran.code),
            ("", Some(COPY_FAILED)),
            "{ran:?}"
        );
        assert_eq!(fs::read_dir(home.cache()).unwrap().count(), 0);
    });
}
