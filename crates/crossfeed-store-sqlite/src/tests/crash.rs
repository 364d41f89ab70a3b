//! A process that is killed while it writes.

use super::{Directory, artifact, options, results, run};
use crate::{SqliteDurability, SqliteStore};
use crossfeed_store::{MemoryLimits, ResultStore};
use crossfeed_wire::{CallId, Scope};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// Tells the test that it is the process to be killed: where to write, and as what.
const WRITER: &str = "CROSSFEED_TEST_WRITER";
/// What stands before the name of each record that was acknowledged.
const ACKNOWLEDGED: &str = "acknowledged ";

/// Small ones, and such as are files.
const SIZES: [usize; 4] = [10, 900, 5000, 200_000];

/// What is written.
#[derive(Clone, Copy)]
enum Kind {
    Artifacts,
    Results(SqliteDurability),
}

impl Kind {
    fn open(self, directory: &Path) -> SqliteStore {
        let most = usize::MAX >> 1;
        let limits = MemoryLimits::default()
            .with_session_artifacts(most)
            .with_artifact_bytes(most)
            .with_session_results(most)
            .with_session_bytes(most)
            .with_total_bytes(most);
        let options = options()
            .with_limits(limits)
            .with_busy_timeout(Duration::from_secs(30));
        let options = match self {
            Self::Artifacts => options,
            Self::Results(durability) => {
                options.with_keep_results(true).with_durability(durability)
            }
        };
        SqliteStore::open(directory, options).unwrap()
    }

    fn put(self, store: &SqliteStore, name: &str) {
        match self {
            Self::Artifacts => {
                let made = artifact(name, size(name));
                run(store.put_artifact(&scope(), made)).unwrap();
            }
            Self::Results(_) => {
                let made = results::result(name, size(name));
                run(store.put(&scope(), &CallId::parse(name).unwrap(), made)).unwrap();
            }
        }
    }

    /// The names of what is there.
    fn list(self, store: &SqliteStore) -> Vec<String> {
        match self {
            Self::Artifacts => {
                let listed = run(store.list_artifacts(&scope())).unwrap().into_iter();
                listed.map(|line| line.artifact_id.to_string()).collect()
            }
            Self::Results(_) => {
                let listed = run(store.list(&scope())).unwrap().into_iter();
                listed.map(|line| line.call_id.to_string()).collect()
            }
        }
    }

    /// Whether a record is there as it was made.
    fn is_whole(self, store: &SqliteStore, name: &str) -> bool {
        match self {
            Self::Artifacts => {
                let made = artifact(name, size(name));
                let call = CallId::parse("c1").unwrap();
                let found = run(store.get_artifact(&scope(), made.artifact_id(), &call));
                let found = found.unwrap().found();
                found.is_some_and(|found| found.is_same_record(&made))
            }
            Self::Results(_) => {
                let made = results::result(name, size(name));
                let found = run(store.get(&scope(), &CallId::parse(name).unwrap()));
                let found = found.unwrap().found();
                found.is_some_and(|found| found.is_same_record(&made))
            }
        }
    }
}

fn scope() -> Scope {
    Scope::parse("t", "p", "s").unwrap()
}

fn size(name: &str) -> usize {
    let number = name.rsplit('-').next().unwrap();
    SIZES[number.parse::<usize>().unwrap() % SIZES.len()]
}

/// Writes until it is killed.
fn write(kind: Kind, place: &str) -> ! {
    let (round, directory) = place.split_once(' ').unwrap();
    let store = kind.open(Path::new(directory));
    let mut out = std::io::stdout();
    // Away from what the test runner has begun to say.
    writeln!(out).unwrap();
    let mut number = 0;
    loop {
        let name = format!("{round}-{number}");
        kind.put(&store, &name);
        writeln!(out, "{ACKNOWLEDGED}{name}").unwrap();
        number += 1;
    }
}

#[test]
fn a_kill_loses_no_artifact_that_was_acknowledged() {
    check(
        Kind::Artifacts,
        "a_kill_loses_no_artifact_that_was_acknowledged",
    );
}

#[test]
fn a_kill_loses_no_result_that_was_acknowledged() {
    check(
        Kind::Results(SqliteDurability::Process),
        "a_kill_loses_no_result_that_was_acknowledged",
    );
}

#[test]
fn a_kill_loses_no_result_that_was_flushed() {
    check(
        Kind::Results(SqliteDurability::Flushed),
        "a_kill_loses_no_result_that_was_flushed",
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "only another process can be killed, and it is told what to do"
)]
fn check(kind: Kind, test: &str) {
    if let Ok(place) = std::env::var(WRITER) {
        write(kind, &place);
    }
    let directory = Directory::new();
    // Open all the time, as another process of the host may be.
    let witness = kind.open(&directory.0);
    let mut acknowledged = Vec::new();
    for (round, (wanted, pause)) in [
        (0, 0),
        (1, 1),
        (2, 0),
        (5, 3),
        (9, 2),
        (13, 5),
        (30, 1),
        (4, 7),
    ]
    .into_iter()
    .enumerate()
    {
        let place = format!("{round} {}", directory.0.display());
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("tests::crash::{test}")])
            .args(["--nocapture", "--test-threads=1"])
            .env(WRITER, place)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        while seen < wanted {
            let line = lines.next().unwrap().unwrap();
            if let Some(name) = line.strip_prefix(ACKNOWLEDGED) {
                acknowledged.push(name.to_owned());
                seen += 1;
            }
        }
        // Somewhere in the next write.
        thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            // A line may have been cut by the kill, but its record has then been written.
            if let Some(name) = line.strip_prefix(ACKNOWLEDGED) {
                acknowledged.push(name.to_owned());
            }
        }
        assert_all_there(kind, &witness, &acknowledged, round);
        assert_all_there(kind, &kind.open(&directory.0), &acknowledged, round);
    }
    assert!(acknowledged.len() >= 64);
}

/// That what was acknowledged is there, and nothing is there in part.
fn assert_all_there(kind: Kind, store: &SqliteStore, acknowledged: &[String], round: usize) {
    let names = kind.list(store);
    for name in acknowledged {
        assert!(names.contains(name), "round {round} lost {name}");
    }
    // Beside them only what the kill kept from being told: one a round.
    assert!(names.len() <= acknowledged.len() + round + 1);
    for name in names {
        assert!(kind.is_whole(store, &name), "round {round}: {name}");
    }
}
