use super::Files;
use crate::{
    budget::{Account, Budget},
    config::FilesConfig,
    metrics::Metrics,
    principal::Principal,
    private_file::TestDirectory,
};
use crossfeed_core::InputError;
use proptest::prelude::*;
use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

const LIMIT: u64 = 200_000;

/// A root with a secret beside it.
struct World {
    home: TestDirectory,
    files: Files,
}

impl World {
    fn new() -> Self {
        let home = TestDirectory::new();
        fs::create_dir_all(home.0.join("root/sub")).unwrap();
        fs::create_dir_all(home.0.join("root-2")).unwrap();
        fs::write(home.0.join("root/sub/a b.txt"), "inside").unwrap();
        fs::write(home.0.join("root-2/secret"), "secret").unwrap();
        let mut config = FilesConfig::new(vec![home.0.join("root")]);
        config.max_bytes = LIMIT;
        Self {
            files: Files::new(&config),
            home,
        }
    }

    fn path(&self, path: &str) -> String {
        self.home.0.join(path).to_str().unwrap().to_owned()
    }

    async fn read(&self, name: &str) -> Result<String, InputError> {
        let read = self.files.read(name, None, &Account::unlimited()).await?;
        Ok(String::from_utf8(read.bytes.to_vec()).unwrap())
    }
}

/// Each way out of the root is refused, and says nothing of what is there.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "pipes are made by a program on every system"
)]
async fn no_path_leads_out_of_the_root() {
    let world = World::new();
    let root = world.home.0.join("root");
    let secret = world.path("root-2/secret");
    symlink(&secret, root.join("link")).unwrap();
    symlink("sub/a b.txt", root.join("near")).unwrap();
    symlink(world.home.0.join("root-2"), root.join("directory")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    let is_made = std::process::Command::new("mkfifo")
        .arg(root.join("pipe"))
        .status();
    assert!(is_made.unwrap().success());
    let outside = "it is outside of the directories that may be read";
    let special = "it is not a regular file: links are not followed";
    let not_a_uri = "it is not the URI of a file of this machine";
    let is_link = |name: &str| format!("`{name}` is not a directory: links are not followed");
    let dots = "the path has `.` or `..` as a name";
    let root = world.path("root");
    let root = root.as_str();
    for (name, why) in [
        // Traversal.
        ("../root-2/secret".to_owned(), dots.to_owned()),
        ("sub/../../root-2/secret".to_owned(), dots.to_owned()),
        ("sub/..".to_owned(), dots.to_owned()),
        ("./sub/a b.txt".to_owned(), dots.to_owned()),
        (
            "..\\root-2\\secret".to_owned(),
            "the path has a backslash".to_owned(),
        ),
        (
            "sub//a b.txt".to_owned(),
            "the path has an empty name".to_owned(),
        ),
        // Absolute.
        ("/etc/passwd".to_owned(), outside.to_owned()),
        ("/".to_owned(), outside.to_owned()),
        (root.to_owned(), outside.to_owned()),
        (format!("{root}-2/secret"), outside.to_owned()),
        (format!("{root}/../root-2/secret"), dots.to_owned()),
        (format!("{root}//sub"), "the path is absolute".to_owned()),
        ("/proc/self/environ".to_owned(), outside.to_owned()),
        ("/dev/zero".to_owned(), outside.to_owned()),
        // Links at each component.
        ("link".to_owned(), special.to_owned()),
        ("near".to_owned(), special.to_owned()),
        ("loop".to_owned(), special.to_owned()),
        ("directory".to_owned(), special.to_owned()),
        ("directory/secret".to_owned(), is_link("directory")),
        ("magic/etc/passwd".to_owned(), is_link("magic")),
        ("link/x".to_owned(), is_link("link")),
        (format!("{root}/directory/secret"), is_link("directory")),
        // What is no regular file; a pipe must not be waited for.
        ("sub".to_owned(), special.to_owned()),
        ("pipe".to_owned(), special.to_owned()),
        ("socket".to_owned(), special.to_owned()),
        // URIs and encodings.
        (
            format!("file://{root}/%2e%2e/root-2/secret"),
            dots.to_owned(),
        ),
        (
            format!("file://{root}%2f..%2froot-2/secret"),
            dots.to_owned(),
        ),
        (
            format!("FILE://LocalHost{root}/directory/secret"),
            is_link("directory"),
        ),
        (
            format!("file://elsewhere{root}/sub/a b.txt"),
            not_a_uri.to_owned(),
        ),
        ("file:sub/a b.txt".to_owned(), not_a_uri.to_owned()),
        (format!("file://{root}/sub?x"), not_a_uri.to_owned()),
        ("file:///%ff".to_owned(), not_a_uri.to_owned()),
        (
            format!("file://{root}/a%00"),
            "the path has a control character or an invisible one".to_owned(),
        ),
        (format!("file://{secret}"), outside.to_owned()),
        // Names that mean something elsewhere.
        (
            "nul".to_owned(),
            "a name in the path is a device of Windows".to_owned(),
        ),
        (
            "sub /a b.txt".to_owned(),
            "a name in the path ends with a dot or a blank".to_owned(),
        ),
        (
            "sub\u{200b}/a b.txt".to_owned(),
            "the path has a control character or an invisible one".to_owned(),
        ),
        // Long ones.
        (
            "a".repeat(256),
            "a name in the path is longer than 255 bytes".to_owned(),
        ),
        (
            vec!["a"; 17].join("/"),
            "the path has more than 16 names".to_owned(),
        ),
        (
            vec!["abcdefg"; 150].join("/"),
            "the path is longer than 1024 bytes".to_owned(),
        ),
    ] {
        let read = world.read(&name).await;
        let Err(InputError::Refused { why: said, .. }) = &read else {
            panic!("{name}: {read:?}");
        };
        assert_eq!(*said, why, "{name}");
    }
    // Another case, what is encoded in a plain path, and what is not there.
    for name in [
        "SUB/A B.TXT",
        "sub/a%20b.txt",
        "sub/none",
        "none/a",
        "%2e%2e/root-2/secret",
        "~/a",
    ] {
        let read = world.read(name).await;
        assert!(
            matches!(read, Err(InputError::Unavailable { .. })),
            "{name}: {read:?}"
        );
    }
    for name in [
        "sub/a b.txt".to_owned(),
        format!("{root}/sub/a b.txt"),
        format!("file://{root}/sub/a%20b.txt"),
        format!("file:{root}/sub/a b.txt"),
    ] {
        assert_eq!(world.read(&name).await.unwrap(), "inside", "{name}");
    }
}

#[tokio::test]
async fn a_file_is_read_up_to_the_limit_however_long_it_says_that_it_is() {
    let world = World::new();
    let at = |name: &str| world.home.0.join("root").join(name);
    fs::write(at("fits"), vec![b'x'; LIMIT as usize]).unwrap();
    fs::write(at("long"), vec![b'x'; LIMIT as usize + 1]).unwrap();
    assert_eq!(world.read("fits").await.unwrap().len(), LIMIT as usize);
    let too_large = InputError::TooLarge { limit: LIMIT };
    assert_eq!(world.read("long").await, Err(too_large.clone()));
    // Files of `/proc` say that they are empty.
    #[cfg(target_os = "linux")]
    {
        let mut config = FilesConfig::new(vec!["/proc/self".into()]);
        config.max_bytes = 20;
        let read = Files::new(&config)
            .read("maps", None, &Account::unlimited())
            .await;
        assert_eq!(
            read.map(|read| read.path),
            Err(InputError::TooLarge { limit: 20 })
        );
    }
}

#[test]
fn a_file_that_grows_meanwhile_is_read_up_to_the_limit() {
    let world = World::new();
    let growing = world.home.0.join("root/growing");
    File::create(&growing).unwrap();
    let ends = AtomicBool::new(false);
    let (mut read, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = File::options().append(true).open(&growing).unwrap();
            while !ends.load(Ordering::Relaxed) {
                if file.metadata().unwrap().len() > 4 * LIMIT {
                    file.set_len(0).unwrap();
                }
                file.write_all(&[b'x'; 9_999]).unwrap();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let mut longest = 0;
        for _ in 0..100 {
            match runtime.block_on(world.read("growing")) {
                Ok(text) => {
                    longest = longest.max(text.len() as u64);
                    read += 1;
                }
                Err(InputError::TooLarge { limit: LIMIT }) => refused += 1,
                // What is wrong must end the other thread, too.
                Err(_) => longest = u64::MAX,
            }
        }
        ends.store(true, Ordering::Relaxed);
        assert!(longest <= LIMIT, "{longest}");
    });
    assert_eq!(read + refused, 100);
}

/// A directory and a link, and a file and a link, change places while files are read.
#[cfg(target_os = "linux")]
#[test]
fn what_changes_places_meanwhile_leads_nowhere() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let world = World::new();
    let at = |name: &str| world.home.0.join("root").join(name);
    fs::write(at("sub/secret"), "mine").unwrap();
    fs::write(at("file"), "mine").unwrap();
    symlink(world.home.0.join("root-2"), at("other")).unwrap();
    symlink(world.home.0.join("root-2/secret"), at("link")).unwrap();
    let ends = AtomicBool::new(false);
    let (mut seen, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                for (one, other) in [("sub", "other"), ("file", "link")] {
                    renameat_with(CWD, at(one), CWD, at(other), RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        for _ in 0..2_000 {
            for path in ["sub/secret", "file"] {
                match runtime.block_on(world.read(path)) {
                    Ok(text) => {
                        assert_eq!(text, "mine");
                        seen += 1;
                    }
                    Err(InputError::Refused { .. }) => refused += 1,
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
        ends.store(true, Ordering::Relaxed);
    });
    assert!(seen > 0 && refused > 0, "{seen} read, {refused} refused");
}

#[tokio::test]
async fn the_first_root_that_has_a_file_counts() {
    let home = TestDirectory::new();
    for root in ["a", "b"] {
        fs::create_dir_all(home.0.join(root)).unwrap();
    }
    fs::write(home.0.join("a/both"), "a").unwrap();
    fs::write(home.0.join("b/both"), "b").unwrap();
    fs::write(home.0.join("b/one"), "b").unwrap();
    let roots = ["a", "b"].map(|root| home.0.join(root)).to_vec();
    let files = Files::new(&FilesConfig::new(roots));
    let account = Account::unlimited();
    let in_b = home.0.join("b/both");
    for (name, content) in [("both", "a"), ("one", "b"), (in_b.to_str().unwrap(), "b")] {
        let read = files.read(name, None, &account).await.unwrap();
        assert_eq!(
            (&read.bytes[..], &read.path[..1]),
            (
                content.as_bytes(),
                &name[name.len() - read.path.len()..][..1]
            )
        );
    }
    let missing = files.read("none", None, &account).await.unwrap_err();
    assert!(matches!(missing, InputError::Unavailable { .. }));
    // A root that is not there yet.
    let late = home.0.join("late");
    let files = Files::new(&FilesConfig::new(vec![late.clone(), home.0.join("a")]));
    assert_eq!(files.read("both", None, &account).await.unwrap().bytes, "a");
    let missing = files.read("x", None, &account).await.unwrap_err();
    assert!(matches!(missing, InputError::Unavailable { .. }));
    fs::create_dir(&late).unwrap();
    fs::write(late.join("x"), "late").unwrap();
    assert_eq!(files.read("x", None, &account).await.unwrap().bytes, "late");
}

#[tokio::test]
async fn what_is_read_is_charged_for_as_long_as_it_is_held() {
    let world = World::new();
    fs::write(world.home.0.join("root/file"), vec![b'x'; 150_000]).unwrap();
    let budget = Budget::new(200_000, 0, 0, &Metrics::new());
    let account = budget.account(&Principal::Local);
    let first = world.files.read("file", None, &account).await.unwrap();
    let second = world.files.read("file", None, &account).await.unwrap_err();
    assert!(
        matches!(second, InputError::Unavailable { .. }),
        "{second:?}"
    );
    drop(first);
    assert!(world.files.read("file", None, &account).await.is_ok());
}

proptest! {
    /// Whatever a path or a URI is: what is read is beneath the root, and what the path names there.
    #[test]
    fn what_is_read_is_what_the_path_names(
        name in prop_oneof![
            r"([a-z./\\ ]|\.\./|%2e|%2F|sub/|a b\.txt|file://){1,8}",
            r"(ROOT|ROOT-2|file://ROOT|file:ROOT)(/|/sub|/\.\.|%2f|/a b\.txt|/secret|-2){1,4}",
        ],
    ) {
        let world = World::new();
        let name = name.replace("ROOT", &world.path("root"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        if let Ok(text) = runtime.block_on(world.read(&name)) {
            prop_assert_eq!(text, "inside", "{}", name);
            prop_assert!(Path::new(&name).ends_with("a b.txt") || name.contains('%'), "{}", name);
        }
    }
}
