//! Paths that leave a root, or mean something else than they say: each is refused.

#![cfg(unix)]

use super::{Existing, FileDigest, FileError, PathError, RelativePath, RootDirectory, unix};
use crate::private_file::TestDirectory;
use proptest::prelude::*;
use std::{
    fs,
    io::Read as _,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

/// A root with a directory outside of it that holds a secret.
struct World {
    home: TestDirectory,
    root: RootDirectory,
}

impl World {
    fn new() -> Self {
        let home = TestDirectory::new();
        fs::create_dir_all(home.0.join("root/sub")).unwrap();
        fs::create_dir_all(home.0.join("outside")).unwrap();
        fs::write(home.0.join("outside/secret"), "secret").unwrap();
        let root = RootDirectory::open(&home.0.join("root")).unwrap();
        Self { home, root }
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.home.0.join(path)
    }

    fn write(&self, path: &str, content: &str, existing: Existing) -> Result<(), FileError> {
        let written = self.root.write(&parse(path), content.as_bytes(), existing);
        let written = written?;
        assert_eq!(written, FileDigest::new(content.as_bytes()));
        assert_eq!(self.read(path).unwrap(), content);
        Ok(())
    }

    fn read(&self, path: &str) -> Result<String, FileError> {
        let mut file = self.root.open_file(&parse(path))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text)
    }

    /// A path is neither read nor written, whatever may be replaced, and nothing is left behind.
    fn refuses(&self, path: &str, expected: &str) {
        let before = listing(&self.home.0);
        let message = |error: FileError| error.to_string();
        assert_eq!(self.read(path).map_err(message), Err(expected.to_owned()));
        let digest = FileDigest::new(b"secret");
        for existing in [
            Existing::Keep,
            Existing::Replace,
            Existing::ReplaceIf(digest),
        ] {
            let written = self.write(path, "new", existing).map_err(message);
            assert_eq!(written, Err(expected.to_owned()), "{path}: {existing:?}");
        }
        assert_eq!(listing(&self.home.0), before, "{path}");
        let secret = fs::read_to_string(self.at("outside/secret")).unwrap();
        assert_eq!(secret, "secret");
    }
}

fn parse(path: &str) -> RelativePath {
    RelativePath::parse(path).unwrap()
}

/// The names of everything in a directory.
fn listing(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.path().to_str().unwrap().to_owned());
        if entry.file_type().unwrap().is_dir() {
            names.extend(listing(&entry.path()));
        }
    }
    names.sort();
    names
}

#[test]
fn paths_that_are_not_plain_names_are_refused() {
    use PathError::*;
    let long_name = "a".repeat(256);
    let long = format!("a/{}", ["b".repeat(255).as_str(); 4].join("/"));
    let deep = ["a"; 17].join("/");
    for (path, expected) in [
        ("", Empty),
        ("/", Absolute),
        ("/etc/passwd", Absolute),
        ("//host/share", Absolute),
        ("..", Dots),
        (".", Dots),
        ("../secret", Dots),
        ("a/../../secret", Dots),
        ("a/..", Dots),
        ("./a", Dots),
        ("a/./b", Dots),
        ("a//b", EmptyName),
        ("a/", EmptyName),
        ("..\\secret", Backslash),
        ("C:\\secret", Backslash),
        ("\\\\host\\share", Backslash),
        ("a\0", Invisible),
        ("a\n", Invisible),
        ("a\u{7f}b", Invisible),
        ("a\u{85}b", Invisible),
        ("a\u{200b}b", Invisible),
        ("a\u{202e}gpj.exe", Invisible),
        ("a\u{feff}", Invisible),
        ("a\u{2028}b", Invisible),
        ("a.", Ending),
        ("a ", Ending),
        ("...", Ending),
        (".. ", Ending),
        ("a./b", Ending),
        ("a /b", Ending),
        ("a\u{a0}", Ending),
        ("NUL", Device),
        ("nul.json", Device),
        ("a/Con", Device),
        ("aux .txt", Device),
        ("COM1", Device),
        ("com9.tar.gz", Device),
        ("LPT¹", Device),
        ("CONIN$", Device),
        ("nul:stream", Device),
        (&long_name, LongName),
        (&long, TooLong),
        (&deep, TooDeep),
    ] {
        assert_eq!(RelativePath::parse(path), Err(expected), "{path:?}");
    }
}

#[test]
fn nothing_in_a_path_is_decoded() {
    let world = World::new();
    let deep = ["d"; 16].join("/");
    let long = "a".repeat(255);
    for path in [
        "a",
        "%2e%2e",
        "%2e%2e%2f/secret",
        "..%2fsecret",
        "%00",
        "~",
        "~root/a",
        "$HOME",
        "..a",
        ".a",
        "a..b",
        "*",
        "con1",
        "nulls",
        "com10",
        "-rf",
        "a b",
        "июнь/é.json",
        "sub/a",
        &deep,
        &long,
    ] {
        world.write(path, "text", Existing::Keep).unwrap();
        let file = world.at(&format!("root/{path}"));
        assert_eq!(fs::read_to_string(file).unwrap(), "text", "{path}");
    }
    assert_eq!(listing(&world.at("outside")).len(), 1);
}

#[test]
fn links_are_refused_at_every_place() {
    let world = World::new();
    let outside = world.at("outside");
    symlink(&outside, world.at("root/link")).unwrap();
    symlink(&outside, world.at("root/sub/link")).unwrap();
    symlink("../sub", world.at("root/sub/inside")).unwrap();
    symlink(outside.join("secret"), world.at("root/file")).unwrap();
    symlink(outside.join("new"), world.at("root/dangling")).unwrap();
    symlink("sub", world.at("root/near")).unwrap();
    symlink("loop", world.at("root/loop")).unwrap();
    symlink("/proc/self/root", world.at("root/magic")).unwrap();
    let directory = |name: &str| format!("`{name}` is not a directory: links are not followed");
    for (path, expected) in [
        ("link/secret", directory("link")),
        ("link/new", directory("link")),
        ("link/sub/secret", directory("link")),
        ("sub/link/secret", directory("link")),
        ("sub/inside/new", directory("inside")),
        ("near/a", directory("near")),
        ("loop/a", directory("loop")),
        ("magic/etc/passwd", directory("magic")),
        ("file/a", directory("file")),
    ] {
        world.refuses(path, &expected);
    }
    for path in [
        "file", "dangling", "link", "near", "loop", "magic", "sub/link",
    ] {
        world.refuses(path, &FileError::NotRegular.to_string());
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "pipes are made by a program on every system"
)]
fn only_regular_files_are_read_or_replaced() {
    let world = World::new();
    let _socket = UnixListener::bind(world.at("root/socket")).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(world.at("root/fifo"))
        .status()
        .unwrap();
    assert!(made.success());
    for path in ["socket", "fifo", "sub"] {
        world.refuses(path, &FileError::NotRegular.to_string());
    }
    for path in ["socket/a", "fifo/a"] {
        let (name, _) = path.split_once('/').unwrap();
        let expected = format!("`{name}` is not a directory: links are not followed");
        world.refuses(path, &expected);
    }
    let devices = RootDirectory::open(Path::new("/dev")).unwrap();
    for device in ["null", "zero", "tty", "random"] {
        let read = devices.open_file(&parse(device));
        assert!(matches!(read, Err(FileError::NotRegular)), "{read:?}");
        let written = devices.write(&parse(device), b"a", Existing::Replace);
        assert!(matches!(written, Err(FileError::NotRegular)), "{written:?}");
    }
}

#[test]
fn a_file_stays_unless_it_may_be_replaced() {
    let world = World::new();
    let own = FileDigest::new(b"one");
    let is_kept = |written: Result<(), FileError>, content: &str| {
        assert!(matches!(written, Err(FileError::Exists)), "{written:?}");
        assert_eq!(world.read("sub/a").unwrap(), content);
    };
    world.write("sub/a", "one", Existing::Keep).unwrap();
    is_kept(world.write("sub/a", "two", Existing::Keep), "one");
    world
        .write("sub/a", "two", Existing::ReplaceIf(own))
        .unwrap();
    is_kept(
        world.write("sub/a", "three", Existing::ReplaceIf(own)),
        "two",
    );
    // Longer, and the same from the beginning.
    fs::write(world.at("root/sub/a"), "one more").unwrap();
    is_kept(
        world.write("sub/a", "three", Existing::ReplaceIf(own)),
        "one more",
    );
    world.write("sub/a", "three", Existing::Replace).unwrap();
    // Another name of a file is another file.
    fs::hard_link(world.at("outside/secret"), world.at("root/hard")).unwrap();
    world.write("hard", "four", Existing::Replace).unwrap();
    let secret = fs::read_to_string(world.at("outside/secret")).unwrap();
    assert_eq!(secret, "secret");
    assert_eq!(listing(&world.at("root")).len(), 3);
}

#[test]
fn what_is_missing_is_not_found() {
    let world = World::new();
    world.write("a", "one", Existing::Keep).unwrap();
    for missing in ["c", "c/d", "sub/c"] {
        let read = world.read(missing);
        assert!(matches!(read, Err(FileError::NotFound)), "{missing}");
    }
}

/// What a file system without case answers: it finds a name that is not in the list of the directory.
#[test]
fn another_spelling_is_told_from_the_name_itself() {
    let world = World::new();
    world.write("Report", "one", Existing::Keep).unwrap();
    let root = || fs::File::open(world.at("root")).unwrap();
    assert!(unix::check_spelling(root(), "Report").is_ok());
    for other in ["report", "REPORT", "Repor", "Report "] {
        let checked = unix::check_spelling(root(), other);
        assert!(matches!(checked, Err(FileError::OtherSpelling { .. })));
    }
}

/// The test runs itself again where no file may have a byte, as on a disk that is full.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a limit of the whole process is for a process of its own"
)]
fn a_file_that_cannot_be_written_leaves_no_directory() {
    let home = TestDirectory::new();
    fs::create_dir_all(home.0.join("sub")).unwrap();
    if fs::write(home.0.join("sub/probe"), "x").is_ok() {
        let run = "trap '' XFSZ; ulimit -f 0; exec \"$0\" --exact \"$1\"";
        let name = std::thread::current().name().unwrap().to_owned();
        let output = std::process::Command::new("sh")
            .args(["-c", run])
            .arg(std::env::current_exe().unwrap())
            .arg(name)
            .output()
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && shown.contains("1 passed"),
            "{shown}"
        );
        return;
    }
    let before = listing(&home.0);
    let root = RootDirectory::open(&home.0).unwrap();
    for path in ["a", "new/a", "new/er/a", "sub/a", "sub/new/er/a"] {
        let written = root.write(&parse(path), b"text", Existing::Keep);
        assert!(matches!(written, Err(FileError::Io(_))), "{written:?}");
        assert_eq!(listing(&home.0), before, "{path}");
    }
}

#[test]
fn a_root_that_was_moved_is_still_the_root() {
    let world = World::new();
    fs::rename(world.at("root"), world.at("moved")).unwrap();
    symlink(world.at("outside"), world.at("root")).unwrap();
    world.write("secret", "mine", Existing::Keep).unwrap();
    let moved = fs::read_to_string(world.at("moved/secret")).unwrap();
    assert_eq!(moved, "mine");
    fs::remove_dir_all(world.at("moved")).unwrap();
    for path in ["a", "b/c"] {
        let written = world.write(path, "text", Existing::Keep);
        assert!(matches!(written, Err(FileError::NotFound)), "{written:?}");
    }
}

/// Another program exchanges a directory and a link, and a file and a link, as fast as it can.
#[cfg(target_os = "linux")]
#[test]
fn what_is_exchanged_meanwhile_leads_nowhere() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let world = World::new();
    fs::write(world.at("root/sub/secret"), "mine").unwrap();
    fs::write(world.at("root/file"), "mine").unwrap();
    symlink(world.at("outside"), world.at("root/other")).unwrap();
    symlink(world.at("outside/secret"), world.at("root/link")).unwrap();
    let ends = AtomicBool::new(false);
    let (mut seen, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                for (one, other) in [("sub", "other"), ("file", "link")] {
                    let [one, other] = [one, other].map(|name| world.at(&format!("root/{name}")));
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        // A failure ends the other thread, too.
        let _ends = scopeguard::guard((), |()| ends.store(true, Ordering::Relaxed));
        for round in 0..20_000 {
            for path in ["sub/secret", "file"] {
                match world.read(path) {
                    Ok(text) => {
                        assert_eq!(text, "mine");
                        seen += 1;
                    }
                    Err(FileError::NotDirectory { .. } | FileError::NotRegular) => refused += 1,
                    Err(error) => panic!("{error:?}"),
                }
            }
            // Writing waits for the disk.
            if round % 100 == 0 {
                let _ = world
                    .root
                    .write(&parse("sub/secret"), b"mine", Existing::Replace);
                let _ = world
                    .root
                    .write(&parse("sub/new"), b"mine", Existing::Replace);
                let _ = world
                    .root
                    .write(&parse("sub/a/b"), b"mine", Existing::Replace);
            }
        }
    });
    assert!(seen > 0 && refused > 0, "{seen} read, {refused} refused");
    assert_eq!(listing(&world.at("outside")).len(), 1);
    let secret = fs::read_to_string(world.at("outside/secret")).unwrap();
    assert_eq!(secret, "secret");
}

proptest! {
    /// Whatever is written is at the place that the path names, beneath the root, and nowhere else.
    #[test]
    fn a_path_means_what_it_says(path in r"([a-z.%/\\ 🦀]|\.\./|CON){1,12}") {
        let Ok(parsed) = RelativePath::parse(&path) else {
            return Ok(());
        };
        let world = World::new();
        // A name may stand in the way.
        let Ok(_) = world.root.write(&parsed, b"text", Existing::Keep) else {
            return Ok(());
        };
        let file = world.at("root").join(&path).canonicalize().unwrap();
        let root = world.at("root").canonicalize().unwrap();
        prop_assert_eq!(file.strip_prefix(root).unwrap(), Path::new(&path));
        prop_assert_eq!(listing(&world.at("outside")).len(), 1);
    }
}
