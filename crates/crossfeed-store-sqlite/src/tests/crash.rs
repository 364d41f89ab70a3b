//! A process that is killed while it writes.

use super::{Directory, artifact, options, run};
use crate::SqliteStore;
use crossfeed_store::{ArtifactLookup, MemoryLimits, ResultStore};
use crossfeed_wire::{CallId, Scope};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

const TEST: &str = "tests::crash::a_kill_loses_nothing_that_was_acknowledged";
/// Tells the test that it is the process to be killed: where to write, and as what.
const WRITER: &str = "CROSSFEED_TEST_WRITER";
/// What stands before the name of each artifact that was acknowledged.
const ACKNOWLEDGED: &str = "acknowledged ";

/// Small ones, and such as are files.
const SIZES: [usize; 4] = [10, 900, 5000, 200_000];

fn store(directory: &Path) -> SqliteStore {
    let limits = MemoryLimits::default()
        .with_session_artifacts(usize::MAX >> 1)
        .with_artifact_bytes(usize::MAX >> 1);
    let options = options()
        .with_limits(limits)
        .with_busy_timeout(Duration::from_secs(30));
    SqliteStore::open(directory, options).unwrap()
}

fn scope() -> Scope {
    Scope::parse("t", "p", "s").unwrap()
}

fn size(name: &str) -> usize {
    let number = name.rsplit('-').next().unwrap();
    SIZES[number.parse::<usize>().unwrap() % SIZES.len()]
}

/// Writes until it is killed.
fn write(place: &str) -> ! {
    let (round, directory) = place.split_once(' ').unwrap();
    let store = store(Path::new(directory));
    let mut out = std::io::stdout();
    // Away from what the test runner has begun to say.
    writeln!(out).unwrap();
    let mut number = 0;
    loop {
        let name = format!("{round}-{number}");
        let made = artifact(&name, size(&name));
        run(store.put_artifact(&scope(), made)).unwrap();
        writeln!(out, "{ACKNOWLEDGED}{name}").unwrap();
        number += 1;
    }
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "only another process can be killed, and it is told what to do"
)]
fn a_kill_loses_nothing_that_was_acknowledged() {
    if let Ok(place) = std::env::var(WRITER) {
        write(&place);
    }
    let directory = Directory::new();
    // Open all the time, as another process of the host may be.
    let witness = store(&directory.0);
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
            .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
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
            // A line may have been cut by the kill, but its artifact has then been written.
            if let Some(name) = line.strip_prefix(ACKNOWLEDGED) {
                acknowledged.push(name.to_owned());
            }
        }
        assert_all_there(&witness, &acknowledged, round);
        assert_all_there(&store(&directory.0), &acknowledged, round);
    }
    assert!(acknowledged.len() >= 64);
}

/// That what was acknowledged is there, and nothing is there in part.
fn assert_all_there(store: &SqliteStore, acknowledged: &[String], round: usize) {
    let listed = run(store.list_artifacts(&scope())).unwrap();
    let names: Vec<&str> = listed
        .iter()
        .map(|line| line.artifact_id.as_str())
        .collect();
    for name in acknowledged {
        assert!(names.contains(&name.as_str()), "round {round} lost {name}");
    }
    // Beside them only what the kill kept from being told: one a round.
    assert!(names.len() <= acknowledged.len() + round + 1);
    for name in names {
        let made = artifact(name, size(name));
        let found =
            run(store.get_artifact(&scope(), made.artifact_id(), &CallId::parse("c1").unwrap()));
        let ArtifactLookup::Found(found) = found.unwrap() else {
            panic!("round {round}: {name} is listed and not there");
        };
        assert!(found.is_same_record(&made), "round {round}: {name}");
    }
}
