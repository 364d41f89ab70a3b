//! A process that is killed while it writes to a directory.

use super::{TestDirectory, open, scope};
use bytes::Bytes;
use crossfeed_store::{BlobName, BlobStore, Digest};
use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    slice, thread,
    time::{Duration, SystemTime},
};

const TEST: &str = "tests::crash::a_kill_leaves_whole_blobs_or_none";
/// Tells the test that it is the process to be killed: where to write, and from which number on.
const WRITER: &str = "CROSSFEED_TEST_WRITER";
/// What stands before the number of each blob that was acknowledged.
const ACKNOWLEDGED: &str = "acknowledged ";

const SIZES: [usize; 4] = [10, 5000, 3_000_000, 9_000_000];

fn blob(number: u64) -> (BlobName, Bytes) {
    let size = SIZES[number as usize % SIZES.len()];
    let bytes = Bytes::from(vec![number as u8; size]);
    (BlobName::new(&scope(), Digest::of(&bytes), number), bytes)
}

/// Writes until it is killed.
async fn write(place: &str) {
    let (first, url) = place.split_once(' ').unwrap();
    let blobs = open(url);
    let mut out = std::io::stdout();
    // Away from what the test runner has begun to say.
    writeln!(out).unwrap();
    for number in first.parse().unwrap().. {
        let (name, bytes) = blob(number);
        blobs.put(&scope(), &name, bytes).await.unwrap();
        writeln!(out, "{ACKNOWLEDGED}{number}").unwrap();
    }
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "only another process can be killed, and it is told what to do"
)]
async fn a_kill_leaves_whole_blobs_or_none() {
    if let Ok(place) = std::env::var(WRITER) {
        return write(&place).await;
    }
    let directory = TestDirectory::new();
    let mut acknowledged = BTreeSet::new();
    for (round, pause) in [0, 1, 3, 5, 8, 11, 14, 20].into_iter().enumerate() {
        let first = round as u64 * 1000;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
            .env(WRITER, format!("{first} {}", directory.url()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let number_of = |line: String| line.strip_prefix(ACKNOWLEDGED)?.parse::<u64>().ok();
        let mut seen = 0;
        while seen < 1 + round {
            let number = number_of(lines.next().unwrap().unwrap());
            seen += usize::from(number.is_some());
            acknowledged.extend(number);
        }
        // Somewhere in the next write.
        thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged.extend(lines.map_while(Result::ok).filter_map(number_of));

        let blobs = open(&directory.url());
        let listed = blobs
            .list_old(Duration::ZERO, None, usize::MAX)
            .await
            .unwrap();
        for name in &listed {
            let (expected, bytes) = blob(name.token());
            assert!(*name == expected && blobs.get(&scope(), name).await.unwrap() == Some(bytes));
        }
        let listed: BTreeSet<_> = listed.iter().map(BlobName::token).collect();
        assert!(acknowledged.is_subset(&listed), "round {round}");
        // Beside them only what the kill kept from being told.
        assert!(listed.len() <= acknowledged.len() + round + 1);
    }
    assert!(acknowledged.len() >= 36);
}

#[tokio::test]
async fn what_a_crash_left_goes_after_a_while() {
    let directory = TestDirectory::new();
    let blobs = open(&directory.url());
    let (name, bytes) = blob(1);
    blobs.put(&scope(), &name, bytes.clone()).await.unwrap();
    let object = directory.files().remove(0);
    let session = object.parent().unwrap();
    let left = |name: &str| {
        let path = session.with_file_name(name).join("object#1");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "a part").unwrap();
        path
    };
    let (old, new) = (left("old"), left("new"));
    let age = |path: &std::path::Path| {
        let then = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
        fs::File::open(path).unwrap().set_modified(then).unwrap();
    };
    age(&old);
    let list = || blobs.list_old(Duration::ZERO, None, 10);
    assert_eq!(list().await.unwrap(), slice::from_ref(&name));
    assert!(!old.exists() && new.exists());
    // A directory goes when it has been empty for as long.
    let directory = old.parent().unwrap();
    assert!(directory.exists());
    age(directory);
    age(session);
    assert_eq!(list().await.unwrap(), slice::from_ref(&name));
    assert!(!directory.exists());
    assert_eq!(blobs.get(&scope(), &name).await.unwrap(), Some(bytes));
}
